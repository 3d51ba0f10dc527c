//! What a message is made of, and the reasons for which one cannot be composed.

use std::fmt;

/// A mailbox: `Name <address>`, or the address alone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MimeMailbox<'a> {
    /// The display name as a person reads it, neither quoted nor encoded.
    pub name: Option<&'a str>,
    /// `local@domain`, the domain as A-labels.
    pub address: &'a str,
}

/// A file that travels with the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MimeAttachment<'a> {
    pub filename: Option<&'a str>,
    /// What the sender says it is; guessed from the filename when absent.
    pub content_type: Option<&'a str>,
    /// The decoded bytes.
    pub content: &'a [u8],
}

/// The parts of one message, borrowed from wherever they are kept.
///
/// The subject, the names and the bodies are the final text: merge fields and tracking links
/// are resolved before.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub from: MimeMailbox<'a>,
    pub to: &'a [MimeMailbox<'a>],
    pub cc: &'a [MimeMailbox<'a>],
    pub reply_to: &'a [MimeMailbox<'a>],
    pub subject: &'a str,
    /// Milliseconds since 1970, the `Date` of the message.
    pub date_ms: i64,
    /// Without the angle brackets.
    pub message_id: &'a str,
    /// Further header fields in the order they are to appear, already allowed by the API.
    pub headers: &'a [(&'a str, &'a str)],
    /// `None` derives a text part from the html. An empty text beside an html part declines
    /// the text part, as the compatible API defines it.
    pub text: Option<&'a str>,
    pub html: Option<&'a str>,
    pub attachments: &'a [MimeAttachment<'a>],
}

impl Message<'_> {
    /// Returns whether the header section needs the SMTPUTF8 extension (RFC 6531).
    ///
    /// Only a local part outside ASCII does: it has no other spelling.
    pub fn needs_smtputf8(&self) -> bool {
        std::iter::once(&self.from)
            .chain(self.to)
            .chain(self.cc)
            .chain(self.reply_to)
            .any(|party| !party.address.is_ascii())
    }
}

/// The part of a message that a [`ComposeError`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    Subject,
    DisplayName,
    Address,
    MessageId,
    HeaderName,
    HeaderValue,
    Filename,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Subject => "subject",
            Self::DisplayName => "display name",
            Self::Address => "address",
            Self::MessageId => "message id",
            Self::HeaderName => "header name",
            Self::HeaderValue => "header value",
            Self::Filename => "filename",
        })
    }
}

/// Why a message cannot be composed.
///
/// The API refuses all of these where the message enters; here they are the second line of
/// defence, so a variant names the field and never repeats its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ComposeError {
    /// A control character, CR, LF and NUL among them.
    ControlCharacter(Field),
    /// The value does not have the form its field must have.
    Malformed(Field),
    /// A word that cannot be broken leaves no line within 998 octets (RFC 5322 §2.1.1).
    TooLong(Field),
    /// A custom header bears the name of a field that only the composer or a signer writes.
    ReservedHeader,
    /// The date lies outside the years 1900 to 9999 (RFC 5322 §3.3, §4.3).
    DateOutOfRange,
}

impl fmt::Display for ComposeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ControlCharacter(field) => write!(f, "{field} holds a control character"),
            Self::Malformed(field) => write!(f, "{field} is malformed"),
            Self::TooLong(field) => write!(f, "{field} does not fit a line of 998 octets"),
            Self::ReservedHeader => f.write_str("header name is reserved"),
            Self::DateOutOfRange => f.write_str("date is not within the years 1900 to 9999"),
        }
    }
}

impl std::error::Error for ComposeError {}

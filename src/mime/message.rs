//! The parts of a message, and the errors of composition.

use std::fmt;

/// A mailbox: `Name <address>`, or only the address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MimeMailbox<'a> {
    /// Display name, neither quoted nor encoded.
    pub name: Option<&'a str>,
    /// `local@domain`, the domain in A-labels.
    pub address: &'a str,
}

/// Form of an address in `To` and `Cc` whose local part is not ASCII.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum AddressForm {
    /// The address in UTF-8 (RFC 6532). The transaction then needs SMTPUTF8 and 8BITMIME.
    #[default]
    Unicode,
    /// An empty group whose name contains the address in encoded words, as RFC 6857 §3.1 writes it for readers without
    /// UTF-8. The header is then plain ASCII (RFC 5322 §3.4), so any server accepts it for the other recipients.
    Ascii,
}

/// A file attached to the message, or an image of its HTML part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MimeAttachment<'a> {
    pub filename: Option<&'a str>,
    /// Content type that the sender declares. An invalid one becomes `application/octet-stream`.
    pub content_type: &'a str,
    /// Content-ID without angle brackets, of an image that the HTML part displays. `None` for a file.
    pub content_id: Option<&'a str>,
    /// Decoded bytes.
    pub content: &'a [u8],
}

/// The parts of one message, borrowed from the caller.
///
/// The subject, the names and the bodies are final: the caller has replaced merge fields and tracking links.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    pub from: MimeMailbox<'a>,
    pub to: &'a [MimeMailbox<'a>],
    pub cc: &'a [MimeMailbox<'a>],
    pub reply_to: &'a [MimeMailbox<'a>],
    pub address_form: AddressForm,
    pub subject: &'a str,
    /// `Date` of the message, in milliseconds since 1970.
    pub date_ms: i64,
    /// Message-ID without angle brackets.
    pub message_id: &'a str,
    /// Custom header fields in output order. The API has validated them.
    pub headers: &'a [(&'a str, &'a str)],
    /// `None` derives a text part from the HTML part. An empty text with an HTML part omits the text part, as in the
    /// compatible API.
    pub text: Option<&'a str>,
    pub html: Option<&'a str>,
    pub attachments: &'a [MimeAttachment<'a>],
}

impl Message<'_> {
    /// Returns whether the header section needs the SMTPUTF8 extension (RFC 6531).
    ///
    /// Only a non-ASCII local part needs it. In `From` and `Reply-To` it has no ASCII form: DMARC and replies need the
    /// address.
    pub fn needs_smtputf8(&self) -> bool {
        let recipients = self.to.iter().chain(self.cc).filter(|_| self.address_form == AddressForm::Unicode);
        std::iter::once(&self.from).chain(self.reply_to).chain(recipients).any(|mailbox| !mailbox.address.is_ascii())
    }
}

/// Part of a message that caused a [`ComposeError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageField {
    Subject,
    DisplayName,
    Address,
    MessageId,
    ContentId,
    HeaderName,
    HeaderValue,
    Filename,
}

impl fmt::Display for MessageField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Subject => "subject",
            Self::DisplayName => "display name",
            Self::Address => "address",
            Self::MessageId => "message id",
            Self::ContentId => "content id",
            Self::HeaderName => "header name",
            Self::HeaderValue => "header value",
            Self::Filename => "filename",
        })
    }
}

/// Reason why a message cannot be composed.
///
/// The API checks the same rules when it accepts a message. These checks are a second defence, so a variant contains
/// the field and never its value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ComposeError {
    /// The value contains a control character, such as CR, LF or NUL.
    #[error("{0} holds a control character")]
    ControlCharacter(MessageField),
    #[error("{0} is malformed")]
    Malformed(MessageField),
    /// A word that cannot be broken exceeds the line limit of 998 octets (RFC 5322 §2.1.1).
    #[error("{0} does not fit a line of 998 octets")]
    TooLong(MessageField),
    /// A custom header has the name of a field that only the composer or a signer writes.
    #[error("header name is reserved")]
    ReservedHeader,
    /// The date is not within the years 1900 to 9999 (RFC 5322 §3.3, §4.3).
    #[error("date is not within the years 1900 to 9999")]
    DateOutOfRange,
}

//! The server's side of a conversation, without a socket: bytes in, replies and messages out.

use std::borrow::Cow;
use std::slice::Iter;

use smtp_proto::{Error, MAIL_BODY_BINARYMIME, MailFrom, RcptTo, Request};

use super::message::{DataProgress, DataReader, Refused};
use super::{ERRORS_MAX, LINE_BYTES_MAX, MESSAGE_BYTES_MAX, RECIPIENTS_MAX};
use crate::base::id::CapturedId;
use crate::delivery::smtp::Envelope;

/// What is to be done once the bytes at hand have been read this far.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerAction {
    /// All are read: the replies go out, and more is awaited.
    Read,
    /// A message is to be kept; [`ServerSession::kept`] is told how that went before any more is read.
    Keep(Envelope, Vec<u8>),
    /// The conversation is over when the replies have gone out.
    Close,
}

/// Why the server ends a conversation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The program is stopping.
    Stopping,
    /// The client has been silent for too long.
    Idle,
}

/// A conversation with one client.
pub(super) struct ServerSession {
    /// What has been answered and not yet been sent.
    replies: Vec<u8>,
    /// A command line whose end has not come.
    line: Vec<u8>,
    /// Whether EHLO or HELO has been said.
    is_greeted: bool,
    /// From MAIL to the end of the message.
    envelope: Option<Envelope>,
    /// From DATA to the end of the message.
    message: Option<DataReader>,
    errors: u32,
}

impl ServerSession {
    /// Begins a conversation; its greeting is the first reply.
    pub(super) fn new() -> Self {
        let mut conversation = Self {
            replies: Vec::with_capacity(256),
            line: Vec::new(),
            is_greeted: false,
            envelope: None,
            message: None,
            errors: 0,
        };
        conversation.reply("220 localhost ESMTP Ringmail mailbox, nothing leaves from here");
        conversation
    }

    /// Returns what has been answered, for the socket to take.
    pub(super) fn replies(&mut self) -> &mut Vec<u8> {
        &mut self.replies
    }

    /// Returns how many bytes of an unfinished message are held.
    pub(super) fn held_bytes(&self) -> usize {
        self.message.as_ref().map_or(0, DataReader::held_bytes)
    }

    /// Gives up the message under way: its rest is read and not kept.
    pub(super) fn refuse_message(&mut self, why: Refused) {
        if let Some(message) = &mut self.message {
            message.refuse(why);
        }
    }

    /// Answers the message that [`ServerAction::Keep`] handed out; `None` when it could not be kept.
    pub(super) fn kept(&mut self, id: Option<CapturedId>) {
        match id {
            // The id makes its way into the transcript of the attempt: the email leads to its capture.
            Some(id) => self.reply(&format!("250 2.0.0 kept as {id}")),
            None => self.reply("451 4.3.0 the message could not be stored, try again later"),
        }
    }

    /// Takes leave of the client (RFC 5321 §3.8: a server that must close says 421 first).
    pub(super) fn end(&mut self, why: End) {
        self.reply(match why {
            End::Stopping => "421 4.3.2 the mailbox is stopping",
            End::Idle => "421 4.4.2 nothing came for too long",
        });
    }

    /// Reads on, until all of `input` is read or something has to be done.
    pub(super) fn advance(&mut self, input: &mut Iter<'_, u8>) -> ServerAction {
        while input.len() > 0 {
            let step = if self.message.is_some() { self.read_message(input) } else { self.read_line(input) };
            if let Some(step) = step {
                return step;
            }
        }
        ServerAction::Read
    }

    fn read_message(&mut self, input: &mut Iter<'_, u8>) -> Option<ServerAction> {
        let received = self.message.as_mut()?.receive(input);
        if received == DataProgress::Part {
            return None;
        }
        self.message = None;
        let envelope = self.envelope.take();
        match received {
            DataProgress::Part => None,
            DataProgress::Whole(message) => envelope.map(|envelope| ServerAction::Keep(envelope, message)),
            DataProgress::Refused(why) => {
                self.refused(why);
                None
            }
            DataProgress::Lost(why) => {
                match why {
                    Some(why) => self.refused(why),
                    None => self.reply("554 5.6.0 a bare CR stands where the message may end"),
                }
                Some(ServerAction::Close)
            }
        }
    }

    fn refused(&mut self, why: Refused) {
        match why {
            Refused::TooLarge => self.reply(&format!("552 5.3.4 a message has at most {MESSAGE_BYTES_MAX} bytes")),
            Refused::NoRoom => self.reply("452 4.3.1 too many large messages at once, try again later"),
        }
    }

    fn read_line(&mut self, input: &mut Iter<'_, u8>) -> Option<ServerAction> {
        let bytes = input.as_slice();
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *input = rest.iter();
        // One byte over the limit is enough to know.
        let room = (LINE_BYTES_MAX + 1).saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(room)]);
        let is_too_long = self.line.len() > LINE_BYTES_MAX;
        match (end, is_too_long) {
            (Some(_), true) => {
                self.line.clear();
                self.error("500 5.5.2 the line is too long")
            }
            (Some(_), false) => {
                let mut line = std::mem::take(&mut self.line);
                let step = self.read_command(&line);
                line.clear();
                self.line = line;
                step
            }
            // A line without an end is as many errors as it takes reads.
            (None, true) => self.count_error(),
            (None, false) => None,
        }
    }

    fn read_command(&mut self, line: &[u8]) -> Option<ServerAction> {
        match Request::parse(&mut line.iter()) {
            Ok(request) => self.handle_command(request, line),
            Err(Error::UnknownCommand) => self.error("500 5.5.1 there is no such command"),
            Err(Error::InvalidSenderAddress) => self.error("553 5.1.7 the sender is not an address"),
            Err(Error::InvalidRecipientAddress) => self.error("553 5.1.3 the recipient is not an address"),
            Err(Error::SyntaxError { syntax }) => self.error(&format!("501 5.5.4 the command is: {syntax}")),
            Err(Error::InvalidParameter { param }) => {
                self.error(&format!("501 5.5.4 the value of {param} is not valid"))
            }
            // RFC 5321 §4.1.1.11: a parameter that was not announced.
            Err(Error::UnsupportedParameter { .. }) => self.error("555 5.5.4 a parameter is not known here"),
            Err(Error::NeedsMoreData { .. } | Error::ResponseTooLong | Error::InvalidResponse { .. }) => {
                self.error("500 5.5.2 the command cannot be read")
            }
        }
    }

    fn handle_command(&mut self, request: Request<Cow<'_, str>>, line: &[u8]) -> Option<ServerAction> {
        match request {
            Request::Ehlo { .. } => {
                self.greet();
                self.reply("250-localhost");
                self.reply("250-PIPELINING");
                self.reply(&format!("250-SIZE {MESSAGE_BYTES_MAX}"));
                self.reply("250-8BITMIME");
                self.reply("250-SMTPUTF8");
                self.reply("250 ENHANCEDSTATUSCODES");
                None
            }
            Request::Helo { .. } => {
                self.greet();
                self.reply("250 localhost");
                None
            }
            Request::Mail { from } => self.begin(&from),
            Request::Rcpt { to } => self.add_recipient(&to, line),
            Request::Data => self.begin_message(),
            Request::Rset => {
                self.envelope = None;
                self.reply("250 2.0.0 forgotten");
                None
            }
            Request::Noop { .. } => {
                self.reply("250 2.0.0 ok");
                None
            }
            // RFC 5321 §3.5.3: 252, since nothing is known of any address and every one is accepted.
            Request::Vrfy { .. } => {
                self.reply("252 2.1.5 every recipient is accepted");
                None
            }
            Request::Quit => {
                self.reply("221 2.0.0 bye");
                Some(ServerAction::Close)
            }
            // What follows is a part of a message, and no command.
            Request::Bdat { .. } | Request::Burl { .. } => {
                self.reply("502 5.5.1 CHUNKING is not offered");
                Some(ServerAction::Close)
            }
            Request::Auth { .. } => self.error("502 5.5.1 AUTH is not offered, and not needed"),
            Request::StartTls => self.error("502 5.5.1 STARTTLS is not offered"),
            Request::Lhlo { .. }
            | Request::Expn { .. }
            | Request::Help { .. }
            | Request::Etrn { .. }
            | Request::Atrn { .. } => self.error("502 5.5.1 the command is not offered"),
        }
    }

    /// RFC 5321 §4.1.4: EHLO in the middle of a session clears what RSET clears.
    fn greet(&mut self) {
        self.is_greeted = true;
        self.envelope = None;
    }

    fn begin(&mut self, from: &MailFrom<Cow<'_, str>>) -> Option<ServerAction> {
        if !self.is_greeted {
            return self.error("503 5.5.1 EHLO comes first");
        }
        if self.envelope.is_some() {
            return self.error("503 5.5.1 a message has been begun; RSET forgets it");
        }
        // RFC 3030 §3: BODY=BINARYMIME needs CHUNKING.
        if from.flags & MAIL_BODY_BINARYMIME != 0 {
            return self.error("555 5.5.4 BINARYMIME is not offered");
        }
        // RFC 1870 §6.1: a message that declares itself too large is refused before it is sent.
        if from.size > MESSAGE_BYTES_MAX {
            self.refused(Refused::TooLarge);
            return None;
        }
        self.envelope = Some(Envelope { sender: written(&from.address), recipients: Vec::new() });
        self.reply("250 2.1.0 ok");
        None
    }

    fn add_recipient(&mut self, to: &RcptTo<Cow<'_, str>>, line: &[u8]) -> Option<ServerAction> {
        // The parser shows `<>` and the one recipient without a domain (RFC 5321 §4.1.1.3) alike.
        let recipient = match to.address.as_ref() {
            "" if !names_postmaster(line) => return self.error("553 5.1.3 there is no recipient"),
            "" => "postmaster".to_owned(),
            address => written(address),
        };
        let Some(envelope) = &mut self.envelope else { return self.error("503 5.5.1 MAIL comes first") };
        if envelope.recipients.len() == RECIPIENTS_MAX {
            // RFC 5321 §4.5.3.1.10: 452 for the recipients past the limit, and the others stand.
            self.reply(&format!("452 4.5.3 a message has at most {RECIPIENTS_MAX} recipients"));
            return None;
        }
        envelope.recipients.push(recipient);
        self.reply("250 2.1.5 ok");
        None
    }

    fn begin_message(&mut self) -> Option<ServerAction> {
        match &self.envelope {
            None => self.error("503 5.5.1 MAIL comes first"),
            Some(envelope) if envelope.recipients.is_empty() => self.error("554 5.5.1 there is no recipient"),
            Some(_) => {
                self.message = Some(DataReader::new());
                self.reply("354 end with a dot on a line of its own");
                None
            }
        }
    }

    fn error(&mut self, reply: &str) -> Option<ServerAction> {
        self.reply(reply);
        self.count_error()
    }

    fn count_error(&mut self) -> Option<ServerAction> {
        self.errors += 1;
        if self.errors < ERRORS_MAX {
            return None;
        }
        self.reply("421 4.7.0 too many errors");
        Some(ServerAction::Close)
    }

    fn reply(&mut self, line: &str) {
        self.replies.extend_from_slice(line.as_bytes());
        self.replies.extend_from_slice(b"\r\n");
    }
}

fn names_postmaster(line: &[u8]) -> bool {
    let name = b"<postmaster>";
    line.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
}

/// Returns an address as it is written in a command: the parser has taken the quotes off.
fn written(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else { return address.to_owned() };
    // RFC 5321 §4.1.2: what is no dot-string is a quoted string.
    let is_atom = |atom: &str| {
        !atom.is_empty()
            && atom.chars().all(|c| c.is_ascii_alphanumeric() || !c.is_ascii() || "!#$%&'*+-/=?^_`{|}~".contains(c))
    };
    if local.split('.').all(is_atom) {
        return address.to_owned();
    }
    let escaped = local.replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{escaped}\"@{domain}")
}

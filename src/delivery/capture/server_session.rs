//! The server side of an SMTP session, without a socket: bytes in, replies and messages out.

use std::borrow::Cow;
use std::slice::Iter;

use smtp_proto::{Error, MAIL_BODY_BINARYMIME, MailFrom, RcptTo, Request};

use super::message::{DataProgress, DataReader, Refused};
use super::{ERRORS_MAX, LINE_BYTES_MAX, MESSAGE_BYTES_MAX, RECIPIENTS_MAX};
use crate::base::id::CapturedId;
use crate::delivery::smtp::Envelope;

/// Next action of the caller of [`ServerSession::advance`].
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ServerAction {
    /// Send the replies and read more bytes. All input has been consumed.
    Read,
    /// Store this message, and call [`ServerSession::message_stored`] before the next `advance`.
    Store(Envelope, Vec<u8>),
    /// Send the replies and close the connection.
    Close,
}

/// Reason why the server ends a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CloseReason {
    /// The server shuts down.
    Stopping,
    /// The client sent nothing within the idle timeout.
    Idle,
}

/// Server side of a session with one client.
pub(super) struct ServerSession {
    /// Replies that have not been sent.
    replies: Vec<u8>,
    /// Start of a command line whose end has not been received.
    line: Vec<u8>,
    /// Whether the client has sent EHLO or HELO.
    is_greeted: bool,
    /// Present from MAIL to the end of the message.
    envelope: Option<Envelope>,
    /// Present from DATA to the end of the message.
    message: Option<DataReader>,
    /// Number of refused commands.
    errors: u32,
}

impl ServerSession {
    /// Returns a new session with the greeting as its first reply.
    pub(super) fn new() -> Self {
        let mut session = Self {
            replies: Vec::with_capacity(256),
            line: Vec::new(),
            is_greeted: false,
            envelope: None,
            message: None,
            errors: 0,
        };
        session.reply("220 localhost ESMTP Ringmail mailbox, nothing leaves from here");
        session
    }

    /// Returns the replies that have not been sent. The caller sends and clears them.
    pub(super) fn replies(&mut self) -> &mut Vec<u8> {
        &mut self.replies
    }

    /// Returns the number of buffered bytes of the current message.
    pub(super) fn buffered_bytes(&self) -> usize {
        self.message.as_ref().map_or(0, DataReader::buffered_bytes)
    }

    /// Refuses the current message. Its remaining bytes are read and discarded.
    pub(super) fn refuse_message(&mut self, why: Refused) {
        if let Some(message) = &mut self.message {
            message.refuse(why);
        }
    }

    /// Adds the reply to a message of [`ServerAction::Store`]. `id` is `None` if it could not be stored.
    pub(super) fn message_stored(&mut self, id: Option<CapturedId>) {
        match id {
            // The transcript of the attempt contains this reply, so operators can find the captured message.
            Some(id) => self.reply(&format!("250 2.0.0 kept as {id}")),
            None => self.reply("451 4.3.0 the message could not be stored, try again later"),
        }
    }

    /// Adds the 421 that a server sends before it closes (RFC 5321 §3.8).
    pub(super) fn end(&mut self, reason: CloseReason) {
        self.reply(match reason {
            CloseReason::Stopping => "421 4.3.2 the mailbox is stopping",
            CloseReason::Idle => "421 4.4.2 nothing came for too long",
        });
    }

    /// Processes bytes of `input` until all are consumed or the caller must act.
    pub(super) fn advance(&mut self, input: &mut Iter<'_, u8>) -> ServerAction {
        while input.len() > 0 {
            let action = if self.message.is_some() { self.read_message(input) } else { self.read_line(input) };
            if let Some(action) = action {
                return action;
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
            DataProgress::Whole(message) => envelope.map(|envelope| ServerAction::Store(envelope, message)),
            DataProgress::Refused(why) => {
                self.refused(why);
                None
            }
            DataProgress::Lost(why) => {
                match why {
                    Some(why) => self.refused(why),
                    None => self.reply("554 5.6.0 a bare CR precedes a possible end of the message"),
                }
                Some(ServerAction::Close)
            }
        }
    }

    fn refused(&mut self, why: Refused) {
        match why {
            Refused::TooLarge => self.reply(&format!("552 5.3.4 a message has at most {MESSAGE_BYTES_MAX} bytes")),
            Refused::OutOfMemory => self.reply("452 4.3.1 too many large messages at once, try again later"),
        }
    }

    fn read_line(&mut self, input: &mut Iter<'_, u8>) -> Option<ServerAction> {
        let bytes = input.as_slice();
        let end = bytes.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let (part, rest) = bytes.split_at(end.unwrap_or(bytes.len()));
        *input = rest.iter();
        // Stores at most one byte over the limit, which is enough to detect a line that is too long.
        let bytes_max = (LINE_BYTES_MAX + 1).saturating_sub(self.line.len());
        self.line.extend_from_slice(&part[..part.len().min(bytes_max)]);
        let is_too_long = self.line.len() > LINE_BYTES_MAX;
        match (end, is_too_long) {
            (Some(_), true) => {
                self.line.clear();
                self.error("500 5.5.2 the line is too long")
            }
            (Some(_), false) => {
                let mut line = std::mem::take(&mut self.line);
                let action = self.read_command(&line);
                line.clear();
                self.line = line;
                action
            }
            // While a line that is too long has no end, each read counts as one error.
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
            // RFC 5321 §4.1.1.11: 555 for an unknown parameter.
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
            // RFC 5321 §3.5.3: 252, because the server accepts every address without verification.
            Request::Vrfy { .. } => {
                self.reply("252 2.1.5 every recipient is accepted");
                None
            }
            Request::Quit => {
                self.reply("221 2.0.0 bye");
                Some(ServerAction::Close)
            }
            // Closes, because the following bytes are part of a message and not commands.
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

    /// Starts or restarts the session. RFC 5321 §4.1.4: a later EHLO has the effect of RSET.
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
        // RFC 1870 §6.1: a server refuses MAIL if the declared size is too large.
        if from.size > MESSAGE_BYTES_MAX {
            self.refused(Refused::TooLarge);
            return None;
        }
        self.envelope = Some(Envelope { sender: quoted(&from.address), recipients: Vec::new() });
        self.reply("250 2.1.0 ok");
        None
    }

    fn add_recipient(&mut self, to: &RcptTo<Cow<'_, str>>, line: &[u8]) -> Option<ServerAction> {
        // The parser returns "" for `<>` and for `<postmaster>`, the one recipient without a domain
        // (RFC 5321 §4.1.1.3).
        let recipient = match to.address.as_ref() {
            "" if !contains_postmaster(line) => return self.error("553 5.1.3 there is no recipient"),
            "" => "postmaster".to_owned(),
            address => quoted(address),
        };
        let Some(envelope) = &mut self.envelope else { return self.error("503 5.5.1 MAIL comes first") };
        if envelope.recipients.len() == RECIPIENTS_MAX {
            // RFC 5321 §4.5.3.1.10: 452 for the recipients over the limit. The others stay accepted.
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

    /// Adds the reply to a refused command.
    fn error(&mut self, reply: &str) -> Option<ServerAction> {
        self.reply(reply);
        self.count_error()
    }

    /// Counts a refused command. Closes the session after [`ERRORS_MAX`].
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

fn contains_postmaster(line: &[u8]) -> bool {
    let name = b"<postmaster>";
    line.windows(name.len()).any(|part| part.eq_ignore_ascii_case(name))
}

/// Returns an address with the quotes that the parser has removed, if its local part needs them.
fn quoted(address: &str) -> String {
    let Some((local, domain)) = address.rsplit_once('@') else { return address.to_owned() };
    // RFC 5321 §4.1.2: a local part is a dot-string or a quoted string.
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

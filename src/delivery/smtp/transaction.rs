//! One SMTP transaction on an open session, with one result for each recipient.

use tokio::time::Instant;

use super::SmtpPhase;
use super::body::DotStuffer;
use super::conversation::{Cause, ConversationFailure};
use super::envelope::{Envelope, EnvelopePlan, MessageEncoding};
use super::outcome::{ConnectionState, IncompleteReason, RecipientResult, Transaction};
use super::reply::{Reply, ReplyError};
use super::session::{SessionError, SmtpSession};
use super::stream::{Flushed, WRITE_BYTES};
use super::transcript::LineSource;

/// Results of a transaction in progress.
struct Progress {
    /// By position in the envelope; `None` if the result is not known yet.
    results: Vec<Option<RecipientResult>>,
    /// Positions of the recipients that the server accepted at RCPT.
    accepted: Vec<usize>,
}

impl Progress {
    /// Sets the result of all recipients that have none.
    fn complete_remaining(&mut self, result: &RecipientResult) {
        for open in self.results.iter_mut().filter(|result| result.is_none()) {
            *open = Some(result.clone());
        }
    }

    fn refuse_remaining(&mut self, phase: SmtpPhase, reply: Reply) {
        self.complete_remaining(&RecipientResult::Refused { phase, reply });
    }

    fn has_remaining(&self) -> bool {
        self.results.iter().any(Option::is_none)
    }
}

/// Result of writing the message and the final dot.
enum SendResult {
    /// Everything was sent. The next reply is the one to the final dot.
    Whole,
    /// The caller withdrew the message. The final dot was not sent.
    Withdrawn,
    /// The server replied or closed early. The final dot was not sent.
    Interrupted,
    /// Writing failed. The final dot was not sent.
    Failed(Cause),
    /// Writing failed after the socket had accepted the final dot.
    Unknown(Cause),
}

impl SmtpSession {
    /// Sends one message, given in pieces, and returns a result for every recipient.
    ///
    /// Sends the final dot, with which the server takes the message, only after `may_end`. If that is `false`, closes the
    /// session, and the server has no message: the reason is [`IncompleteReason::Withdrawn`].
    ///
    /// Takes no longer than [`Timeouts::transaction`](super::Timeouts::transaction), plus the times of a pending RSET and of
    /// `may_end`.
    pub async fn deliver(
        &mut self,
        envelope: &Envelope,
        message: &[&[u8]],
        may_end: impl Future<Output = bool>,
    ) -> Transaction {
        let message_bytes = message.iter().map(|piece| piece.len() as u64).sum();
        let encoding = MessageEncoding::of(message);
        let plan = EnvelopePlan::new(envelope, message_bytes, encoding, &self.facts().capabilities);
        let results = plan.recipients.iter().map(|planned| planned.as_ref().err().cloned());
        let mut progress = Progress { results: results.collect(), accepted: Vec::new() };

        if self.state == ConnectionState::Closed {
            progress.complete_remaining(&RecipientResult::NotTried {
                reason: IncompleteReason::SessionClosed,
                phase: SmtpPhase::Precheck,
                reply: None,
            });
        }
        if progress.has_remaining() {
            let limit = self.timeouts.transaction;
            self.conversation.set_transaction_limit(Some(limit));
            if let Err(failure) = self.run_transaction(&plan, (message, message_bytes), &mut progress, may_end).await {
                self.abort(failure, &mut progress);
            }
            self.conversation.set_transaction_limit(None);
            self.last_used_at = Instant::now();
        }
        Transaction {
            recipients: progress.results.into_iter().flatten().collect(),
            connection: self.state,
            transcript: self.conversation.stream().transcript.take(),
        }
    }

    /// Closes the session and sets the result of all recipients that have none.
    fn abort(&mut self, mut failure: ConversationFailure, progress: &mut Progress) {
        let note = SessionError::from(failure.clone()).to_string();
        let stream = self.conversation.stream();
        stream.transcript.record(LineSource::Note, note.as_bytes());
        self.close();
        // Some servers close a connection after a number of messages, at the next MAIL. The close does not concern
        // the message, so the attempt does not count.
        if self.transactions > 1
            && failure.phase == SmtpPhase::Mail
            && matches!(failure.cause, Cause::Closing(_) | Cause::Lost)
        {
            failure.phase = SmtpPhase::Precheck;
        }
        progress.complete_remaining(&failure.into());
    }

    async fn run_transaction(
        &mut self,
        plan: &EnvelopePlan,
        (message, message_bytes): (&[&[u8]], u64),
        progress: &mut Progress,
        may_end: impl Future<Output = bool>,
    ) -> Result<(), ConversationFailure> {
        self.prepare().await?;
        self.transactions += 1;
        // Until the reply to the final dot, the server can have an unfinished transaction.
        self.state = ConnectionState::NeedsReset;

        let data = if self.may_pipeline() {
            self.send_envelope_pipelined(plan, progress).await?
        } else {
            self.send_envelope_sequential(plan, progress).await?
        };
        let Some(data) = data else {
            return Ok(());
        };
        if data.is_positive() {
            // After a 2xx reply to DATA, it is unknown whether the server expects a message.
            return Err(invalid_reply(SmtpPhase::Data));
        }
        if !data.is_intermediate() {
            progress.refuse_remaining(SmtpPhase::Data, data);
            return Ok(());
        }
        if progress.accepted.is_empty() {
            return self.send_empty_message().await;
        }
        let sent = self.send_message(message, message_bytes, may_end).await;
        self.read_final_reply(sent, progress).await
    }

    /// Ensures that the server expects MAIL: the connection is open, and a failed transaction is reset.
    async fn prepare(&mut self) -> Result<(), ConversationFailure> {
        let phase = SmtpPhase::Precheck;
        // If the server ended the idle connection, its 421 or its close can be read now.
        if self.conversation.stream().is_readable().await {
            let reply = self.conversation.last_reply(phase).await?;
            let cause = Cause::Closing(reply);
            return Err(ConversationFailure { phase, cause });
        }
        self.reset().await;
        if self.state == ConnectionState::Closed {
            let cause = Cause::Lost;
            return Err(ConversationFailure { phase, cause });
        }
        Ok(())
    }

    /// Sends MAIL, RCPT and DATA in one write (RFC 2920 §3.1). Returns the reply to DATA.
    async fn send_envelope_pipelined(
        &mut self,
        plan: &EnvelopePlan,
        progress: &mut Progress,
    ) -> Result<Option<Reply>, ConversationFailure> {
        let stream = self.conversation.stream();
        stream.queue(plan.mail.as_bytes());
        for rcpt in plan.recipients.iter().flatten() {
            stream.queue(rcpt.as_bytes());
        }
        stream.queue(b"DATA\r\n");
        self.conversation.flush(SmtpPhase::Mail, self.timeouts.mail).await?;

        let mail = self.conversation.reply(SmtpPhase::Mail, self.timeouts.mail).await?;
        apply_mail_reply(mail, progress)?;
        for (index, _) in planned_commands(plan) {
            // Every command has a reply, even after a refused MAIL.
            let rcpt = self.conversation.reply(SmtpPhase::Rcpt, self.timeouts.rcpt).await?;
            apply_rcpt_reply(index, rcpt, progress)?;
        }
        let data = self.conversation.reply(SmtpPhase::Data, self.timeouts.data).await?;
        Ok(Some(data))
    }

    /// Sends one command at a time. Returns the reply to DATA; `None` if no recipient was accepted.
    async fn send_envelope_sequential(
        &mut self,
        plan: &EnvelopePlan,
        progress: &mut Progress,
    ) -> Result<Option<Reply>, ConversationFailure> {
        let conversation = &mut self.conversation;
        let mail = conversation.command(SmtpPhase::Mail, &plan.mail, self.timeouts.mail).await?;
        apply_mail_reply(mail, progress)?;
        if !progress.has_remaining() {
            return Ok(None);
        }
        for (index, rcpt) in planned_commands(plan) {
            let reply = conversation.command(SmtpPhase::Rcpt, rcpt, self.timeouts.rcpt).await?;
            apply_rcpt_reply(index, reply, progress)?;
        }
        if progress.accepted.is_empty() {
            return Ok(None);
        }
        let data = conversation.command(SmtpPhase::Data, "DATA\r\n", self.timeouts.data).await?;
        Ok(Some(data))
    }

    /// Sends an empty message after a 354 without accepted recipients (RFC 2920 §3.1). Ignores the reply, because it
    /// concerns no recipient.
    async fn send_empty_message(&mut self) -> Result<(), ConversationFailure> {
        self.conversation.command(SmtpPhase::Body, ".\r\n", self.timeouts.rset).await?;
        Ok(())
    }

    /// Writes the message, and the final dot after `may_end`. Writes each time the buffer reaches [`WRITE_BYTES`], and at the
    /// end.
    async fn send_message(
        &mut self,
        message: &[&[u8]],
        message_bytes: u64,
        may_end: impl Future<Output = bool>,
    ) -> SendResult {
        let block = self.timeouts.block;
        let end = Instant::now() + self.timeouts.body(message_bytes);
        let conversation = &mut self.conversation;
        let note = format!("{message_bytes} bytes of message");
        conversation.stream().transcript.record(LineSource::Note, note.as_bytes());

        let mut stuffer = DotStuffer::default();
        for part in message.iter().flat_map(|piece| piece.chunks(WRITE_BYTES)) {
            stuffer.push(part, conversation.stream().outbound());
            if conversation.stream().outbound().len() < WRITE_BYTES {
                continue;
            }
            let deadline = conversation.block_deadline(block, end);
            match conversation.flush_block(deadline).await {
                Ok(Flushed::All) => {}
                Ok(Flushed::Interrupted) => return SendResult::Interrupted,
                Err(error) => return SendResult::Failed(write_cause(&error)),
            }
        }
        if !may_end.await {
            return SendResult::Withdrawn;
        }
        // A reply that arrives before the final dot is not the reply to it.
        if conversation.stream().is_readable().await {
            return SendResult::Interrupted;
        }
        stuffer.finish(conversation.stream().outbound());
        let deadline = conversation.block_deadline(block, end);
        let result = conversation.flush_block(deadline).await;
        // The final dot is the last part of the buffer. It was sent if the socket accepted the whole buffer.
        let was_dot_sent = !conversation.stream().has_unsent_bytes();
        match result {
            Ok(Flushed::All) => SendResult::Whole,
            Ok(Flushed::Interrupted) if was_dot_sent => SendResult::Unknown(Cause::Lost),
            Ok(Flushed::Interrupted) => SendResult::Interrupted,
            Err(error) if was_dot_sent => SendResult::Unknown(write_cause(&error)),
            Err(error) => SendResult::Failed(write_cause(&error)),
        }
    }

    /// Reads the reply to the message and sets the result of the accepted recipients.
    async fn read_final_reply(&mut self, sent: SendResult, progress: &mut Progress) -> Result<(), ConversationFailure> {
        let phase = SmtpPhase::Body;
        if matches!(sent, SendResult::Withdrawn) {
            let reason = IncompleteReason::Withdrawn;
            self.conversation.stream().transcript.record(LineSource::Note, reason.to_string().as_bytes());
            progress.complete_remaining(&RecipientResult::NotTried { reason, phase, reply: None });
            self.close();
            return Ok(());
        }
        let is_whole = matches!(sent, SendResult::Whole);
        let may_have_arrived = matches!(sent, SendResult::Whole | SendResult::Unknown(_));
        let final_dot = self.timeouts.final_dot;
        let answer = match is_whole {
            true => self.conversation.reply(phase, final_dot).await,
            false => self.conversation.last_reply(phase).await,
        };
        match answer {
            Ok(reply) if reply.is_transient() || reply.is_permanent() => {
                progress.refuse_remaining(phase, reply);
            }
            Ok(reply) if reply.is_positive() && may_have_arrived => {
                progress.complete_remaining(&RecipientResult::Accepted { reply });
                self.state = ConnectionState::Reusable;
            }
            // A 421 to the final dot is a refusal: the server did not accept the message.
            Err(failure) if matches!(failure.cause, Cause::Closing(_)) => return Err(failure),
            answer => {
                let cause = match (sent, answer) {
                    (SendResult::Failed(cause) | SendResult::Unknown(cause), _) => cause,
                    (_, Err(failure)) => failure.cause,
                    (_, Ok(_)) => Cause::InvalidReply(ReplyError::NotAReply),
                };
                if may_have_arrived {
                    let reason = IncompleteReason::from(&cause);
                    progress.complete_remaining(&RecipientResult::Ambiguous { reason });
                }
                return Err(ConversationFailure { phase, cause });
            }
        }
        if !is_whole {
            self.close();
        }
        Ok(())
    }
}

/// Returns the RCPT commands with the positions of their recipients in the envelope.
fn planned_commands(plan: &EnvelopePlan) -> impl Iterator<Item = (usize, &str)> {
    let recipients = plan.recipients.iter().enumerate();
    recipients.filter_map(|(index, planned)| Some((index, planned.as_deref().ok()?)))
}

fn apply_mail_reply(reply: Reply, progress: &mut Progress) -> Result<(), ConversationFailure> {
    if reply.is_intermediate() {
        return Err(invalid_reply(SmtpPhase::Mail));
    }
    if !reply.is_positive() {
        progress.refuse_remaining(SmtpPhase::Mail, reply);
    }
    Ok(())
}

fn apply_rcpt_reply(index: usize, reply: Reply, progress: &mut Progress) -> Result<(), ConversationFailure> {
    if reply.is_intermediate() {
        return Err(invalid_reply(SmtpPhase::Rcpt));
    }
    let result = &mut progress.results[index];
    if result.is_some() {
        // MAIL was refused. The reply to RCPT follows from that and does not concern the recipient.
        return Ok(());
    }
    if reply.is_positive() {
        progress.accepted.push(index);
    } else {
        let phase = SmtpPhase::Rcpt;
        *result = Some(RecipientResult::Refused { phase, reply });
    }
    Ok(())
}

fn invalid_reply(phase: SmtpPhase) -> ConversationFailure {
    let cause = Cause::InvalidReply(ReplyError::NotAReply);
    ConversationFailure { phase, cause }
}

fn write_cause(error: &std::io::Error) -> Cause {
    match error.kind() {
        std::io::ErrorKind::TimedOut => Cause::TimedOut,
        _ => Cause::Lost,
    }
}

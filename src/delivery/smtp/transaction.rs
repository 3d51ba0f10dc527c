//! One message on an open session, and one result for each of its recipients.

use tokio::time::Instant;

use super::SmtpPhase;
use super::body::DotStuffer;
use super::conversation::{Cause, ConversationFailure};
use super::envelope::{Envelope, Plan};
use super::outcome::{ConnectionState, RecipientResult, Transaction, Undecided};
use super::reply::{Reply, ReplyError};
use super::session::{SessionError, SmtpSession};
use super::stream::{Flushed, WRITE_BYTES};
use super::transcript::Speaker;

/// What has been decided so far.
struct Progress {
    results: Vec<Option<RecipientResult>>,
    /// The recipients that the server has accepted at RCPT.
    accepted: Vec<usize>,
}

impl Progress {
    /// Decides for everyone who is still open.
    fn decide_open(&mut self, result: &RecipientResult) {
        for open in self.results.iter_mut().filter(|result| result.is_none()) {
            *open = Some(result.clone());
        }
    }

    fn refuse_open(&mut self, phase: SmtpPhase, reply: Reply) {
        self.decide_open(&RecipientResult::Refused { phase, reply });
    }

    fn is_open(&self) -> bool {
        self.results.iter().any(Option::is_none)
    }
}

/// How the message and its final dot left.
enum Sent {
    /// All of it: the reply to the final dot is next.
    Whole,
    /// The server interrupted. The final dot has not left.
    Interrupted,
    /// Writing failed. The final dot has not left.
    Failed(Cause),
    /// Writing failed after the final dot had been given to the connection.
    Unknown(Cause),
}

impl SmtpSession {
    /// Delivers one message, given in pieces that are written one after the other.
    ///
    /// Never fails: every end is a result for every recipient. Takes no longer than
    /// [`Timeouts::transaction`](super::Timeouts::transaction), after a RSET where one is due.
    pub async fn deliver(&mut self, envelope: &Envelope, message: &[&[u8]]) -> Transaction {
        let message_bytes = message.iter().map(|piece| piece.len() as u64).sum();
        let plan = Plan::new(envelope, message_bytes, &self.facts().capabilities);
        let results = plan.recipients.iter().map(|planned| planned.as_ref().err().cloned());
        let mut progress = Progress { results: results.collect(), accepted: Vec::new() };

        if self.state == ConnectionState::Closed {
            progress.decide_open(&RecipientResult::NotTried {
                reason: Undecided::SessionClosed,
                phase: SmtpPhase::Precheck,
                reply: None,
            });
        }
        if progress.is_open() {
            let watchdog = self.timeouts.transaction;
            self.conversation.set_watchdog(Some(watchdog));
            let conversed = self.converse(&plan, message, message_bytes, &mut progress);
            if let Err(broken) = conversed.await {
                self.break_off(broken, &mut progress);
            }
            self.conversation.set_watchdog(None);
            self.last_used_at = Instant::now();
        }
        Transaction {
            recipients: progress.results.into_iter().flatten().collect(),
            connection: self.state,
            transcript: self.conversation.stream().transcript.take(),
        }
    }

    /// Closes the session and decides for everyone whom nothing was decided about.
    fn break_off(&mut self, mut broken: ConversationFailure, progress: &mut Progress) {
        let note = SessionError::from(broken.clone()).to_string();
        let stream = self.conversation.stream();
        stream.transcript.record(Speaker::Note, note.as_bytes());
        self.close();
        // A server that tires of a connection after some messages shows it at the next MAIL. That says nothing about
        // the message, which has not been looked at.
        if self.transactions > 1
            && broken.phase == SmtpPhase::Mail
            && matches!(broken.cause, Cause::Closing(_) | Cause::Lost)
        {
            broken.phase = SmtpPhase::Precheck;
        }
        progress.decide_open(&broken.into());
    }

    async fn converse(
        &mut self,
        plan: &Plan,
        message: &[&[u8]],
        message_bytes: u64,
        progress: &mut Progress,
    ) -> Result<(), ConversationFailure> {
        self.make_ready().await?;
        self.transactions += 1;
        // Whatever happens short of a reply to the final dot, the server may hold half a transaction.
        self.state = ConnectionState::NeedsReset;

        let data = if self.may_pipeline() {
            self.envelope_at_once(plan, progress).await?
        } else {
            self.envelope_by_steps(plan, progress).await?
        };
        let Some(data) = data else {
            return Ok(());
        };
        if data.is_positive() {
            // This leaves it open whether the server waits for a message.
            return Err(garbled(SmtpPhase::Data));
        }
        if !data.is_intermediate() {
            progress.refuse_open(SmtpPhase::Data, data);
            return Ok(());
        }
        if progress.accepted.is_empty() {
            return self.send_nothing().await;
        }
        let sent = self.send_message(message, message_bytes).await;
        self.conclude(sent, progress).await
    }

    /// Sees to it that the server waits for MAIL.
    async fn make_ready(&mut self) -> Result<(), ConversationFailure> {
        let phase = SmtpPhase::Precheck;
        // A server that gave up on an idle connection has said so, or has hung up, before this.
        if self.conversation.stream().has_peer_spoken().await {
            let reply = self.conversation.parting_reply(phase).await?;
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

    /// MAIL, RCPT and DATA in one write (RFC 2920 §3.1). Returns the reply to DATA.
    async fn envelope_at_once(
        &mut self,
        plan: &Plan,
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
        judge_mail(mail, progress)?;
        for (index, _) in asked(plan) {
            // Every command has its reply, also those that a refused MAIL has made pointless.
            let rcpt = self.conversation.reply(SmtpPhase::Rcpt, self.timeouts.rcpt).await?;
            judge_rcpt(index, rcpt, progress)?;
        }
        let data = self.conversation.reply(SmtpPhase::Data, self.timeouts.data).await?;
        Ok(Some(data))
    }

    /// One command at a time. Returns the reply to DATA, or `None` where DATA had no one left to go to.
    async fn envelope_by_steps(
        &mut self,
        plan: &Plan,
        progress: &mut Progress,
    ) -> Result<Option<Reply>, ConversationFailure> {
        let conversation = &mut self.conversation;
        let mail = conversation.command(SmtpPhase::Mail, &plan.mail, self.timeouts.mail).await?;
        judge_mail(mail, progress)?;
        if !progress.is_open() {
            return Ok(None);
        }
        for (index, rcpt) in asked(plan) {
            let reply = conversation.command(SmtpPhase::Rcpt, rcpt, self.timeouts.rcpt).await?;
            judge_rcpt(index, reply, progress)?;
        }
        if progress.accepted.is_empty() {
            return Ok(None);
        }
        let data = conversation.command(SmtpPhase::Data, "DATA\r\n", self.timeouts.data).await?;
        Ok(Some(data))
    }

    /// Answers a 354 that no recipient is behind.
    ///
    /// RFC 2920 §3.1: a client whose recipients were all refused sends an empty message; whatever the answer, it is
    /// about no one.
    async fn send_nothing(&mut self) -> Result<(), ConversationFailure> {
        self.conversation.command(SmtpPhase::Body, ".\r\n", self.timeouts.rset).await?;
        Ok(())
    }

    /// Writes the message and the final dot, as few writes as its size allows.
    async fn send_message(&mut self, message: &[&[u8]], message_bytes: u64) -> Sent {
        let block = self.timeouts.block;
        let end = Instant::now() + self.timeouts.body(message_bytes);
        let conversation = &mut self.conversation;
        let note = format!("{message_bytes} bytes of message");
        conversation.stream().transcript.record(Speaker::Note, note.as_bytes());

        let mut stuffer = DotStuffer::default();
        for part in message.iter().flat_map(|piece| piece.chunks(WRITE_BYTES)) {
            stuffer.push(part, conversation.stream().outbound());
            if conversation.stream().outbound().len() < WRITE_BYTES {
                continue;
            }
            let deadline = conversation.block_deadline(block, end);
            match conversation.flush_block(deadline).await {
                Ok(Flushed::All) => {}
                Ok(Flushed::PeerSpoke) => return Sent::Interrupted,
                Err(error) => return Sent::Failed(write_cause(&error)),
            }
        }
        // A reply that is there before the final dot is no reply to it.
        if conversation.stream().has_peer_spoken().await {
            return Sent::Interrupted;
        }
        stuffer.finish(conversation.stream().outbound());
        let deadline = conversation.block_deadline(block, end);
        let result = conversation.flush_block(deadline).await;
        // What the connection has not taken has not left, and the dot is the last of it.
        let has_dot_left = !conversation.stream().has_outbound();
        match result {
            Ok(Flushed::All) => Sent::Whole,
            Ok(Flushed::PeerSpoke) if has_dot_left => Sent::Unknown(Cause::Lost),
            Ok(Flushed::PeerSpoke) => Sent::Interrupted,
            Err(error) if has_dot_left => Sent::Unknown(write_cause(&error)),
            Err(error) => Sent::Failed(write_cause(&error)),
        }
    }

    /// Reads what the server makes of the message.
    async fn conclude(&mut self, sent: Sent, progress: &mut Progress) -> Result<(), ConversationFailure> {
        let phase = SmtpPhase::Body;
        let is_whole = matches!(sent, Sent::Whole);
        let may_have_arrived = matches!(sent, Sent::Whole | Sent::Unknown(_));
        let final_dot = self.timeouts.final_dot;
        let answer = match is_whole {
            true => self.conversation.reply(phase, final_dot).await,
            false => self.conversation.parting_reply(phase).await,
        };
        match answer {
            Ok(reply) if reply.is_transient() || reply.is_permanent() => {
                progress.refuse_open(phase, reply);
            }
            Ok(reply) if reply.is_positive() && may_have_arrived => {
                progress.decide_open(&RecipientResult::Accepted { reply });
                self.state = ConnectionState::Reusable;
            }
            // A 421 to the final dot is an answer: the message was not taken.
            Err(broken) if matches!(broken.cause, Cause::Closing(_)) => return Err(broken),
            answer => {
                let cause = match (sent, answer) {
                    (Sent::Failed(cause) | Sent::Unknown(cause), _) => cause,
                    (_, Err(broken)) => broken.cause,
                    (_, Ok(_)) => Cause::Garbled(ReplyError::NotAReply),
                };
                if may_have_arrived {
                    let reason = Undecided::from(&cause);
                    progress.decide_open(&RecipientResult::Ambiguous { reason });
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

/// The recipients that are asked of the server, by their place in the envelope.
fn asked(plan: &Plan) -> impl Iterator<Item = (usize, &str)> {
    let recipients = plan.recipients.iter().enumerate();
    recipients.filter_map(|(index, planned)| Some((index, planned.as_deref().ok()?)))
}

fn judge_mail(reply: Reply, progress: &mut Progress) -> Result<(), ConversationFailure> {
    if reply.is_intermediate() {
        return Err(garbled(SmtpPhase::Mail));
    }
    if !reply.is_positive() {
        progress.refuse_open(SmtpPhase::Mail, reply);
    }
    Ok(())
}

fn judge_rcpt(index: usize, reply: Reply, progress: &mut Progress) -> Result<(), ConversationFailure> {
    if reply.is_intermediate() {
        return Err(garbled(SmtpPhase::Rcpt));
    }
    let result = &mut progress.results[index];
    if result.is_some() {
        // MAIL was refused: what follows from that is not about the recipient.
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

fn garbled(phase: SmtpPhase) -> ConversationFailure {
    let cause = Cause::Garbled(ReplyError::NotAReply);
    ConversationFailure { phase, cause }
}

fn write_cause(error: &std::io::Error) -> Cause {
    match error.kind() {
        std::io::ErrorKind::TimedOut => Cause::TimedOut,
        _ => Cause::Lost,
    }
}

//! The stored rows of delivery: queue, leases, rows that were set aside, attempts, receiving hosts, sites and captured
//! messages.

use serde::{Deserialize, Serialize};

use super::smtp::TlsFacts;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::store::{NodeId, Row, packed_text};

/// Class of an email. Transactional email is sent first. The numbers are part of stored keys and
/// must not change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Sent by an API request.
    Transactional,
    /// Sent by a broadcast.
    Broadcast,
}

impl Class {
    /// Returns the number in the key.
    pub const fn number(self) -> u8 {
        match self {
            Self::Transactional => 0,
            Self::Broadcast => 1,
        }
    }

    /// Returns the class of a number in the key. Unknown numbers are broadcasts.
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Transactional,
            _ => Self::Broadcast,
        }
    }
}

/// A queued recipient group.
///
/// The row of a new email of a broadcast has only the team: the other fields follow from its key and its email.
/// `queue::complete` adds them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueRow {
    pub team: TeamId,
    /// Domain of the recipients in A-labels. Empty only in the stored row of a new email of a broadcast.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub destination: String,
    /// Number of attempts that counted.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempts: u16,
    /// Start of the retry period: the first due time. For an email of a broadcast, it is the time of the first attempt,
    /// and [`DueRow::exclude_wait`] moves it. 0 only in the stored row of a new email of a broadcast.
    #[serde(default, skip_serializing_if = "is_epoch")]
    pub first_due_ms: TimestampMs,
    /// Time of the first attempt, if the start of the retry period was moved after it. The date of the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub date_ms: Option<TimestampMs>,
    /// Time of the first attempt that found the destination missing: no such domain, no address of its hosts, or a
    /// reply that says so. `None` after an attempt with another result.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vanished_ms: Option<TimestampMs>,
    /// Whether the next attempt sends one command at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_pipelining: bool,
    /// Number of recorded `email.delivery_delayed` events.
    #[serde(default, skip_serializing_if = "is_unreported")]
    pub delays_reported: u8,
    /// Whether an attempt ended without a stored outcome and may have delivered the message.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possible_duplicate: bool,
    /// Host that did not reply to the message at the last attempt and may have it. It is tried first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ambiguous_host: Option<String>,
    /// Time from the last requeueing to the due time; `None` if the group was due immediately.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<i64>,
    /// Whether a hold of its email or API key has moved the due time. The end of the hold makes the group due at once.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_postponed: bool,
}
impl Row for DueRow {}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_zero(number: &u16) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_unreported(number: &u8) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature of serde")]
fn is_epoch(at_ms: &TimestampMs) -> bool {
    *at_ms == 0
}

impl DueRow {
    /// Returns the stored row of a new email of a broadcast.
    pub fn of_broadcast(team: TeamId) -> Self {
        Self::fresh(team, String::new(), 0)
    }

    /// Returns the row of a group without attempts.
    pub fn fresh(team: TeamId, destination: String, due_ms: TimestampMs) -> Self {
        Self {
            team,
            destination,
            attempts: 0,
            first_due_ms: due_ms,
            date_ms: None,
            vanished_ms: None,
            without_pipelining: false,
            delays_reported: 0,
            possible_duplicate: false,
            ambiguous_host: None,
            wait_ms: None,
            is_postponed: false,
        }
    }

    /// Moves the retry period by a wait that does not count. The date of the message stays the same.
    pub fn exclude_wait(&mut self, waited_ms: i64) {
        if waited_ms > 0 {
            self.date_ms.get_or_insert(self.first_due_ms);
            self.first_due_ms += waited_ms;
        }
    }
}

/// A team whose broadcasts together send one message a second.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowedTeamRow {
    /// Earliest time of the next message.
    pub next_ms: TimestampMs,
}
impl Row for SlowedTeamRow {}

/// A hold of the operator on a part of the queue.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HoldRow {
    /// Name of the site or the domain, or the id. The key has its hash or its bytes.
    pub name: String,
    /// Time of the hold.
    pub since_ms: TimestampMs,
    /// Team that is held, or the team of the held email. The hold is deleted with the team.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<TeamId>,
}
impl Row for HoldRow {}

/// A leased recipient group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeaseRow {
    /// Row of the group before it left the queue.
    pub due: DueRow,
    pub class: Class,
    /// Holder of the lease. The lease ends with the node, whose row contains the time of its end.
    pub node: NodeId,
    /// Time of the claim.
    pub leased_ms: TimestampMs,
}
impl Row for LeaseRow {}

/// A row that was removed from the queue because it, or its email, cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAsideRow {
    /// Name of its table.
    pub table: String,
    /// Bytes of its key.
    #[serde(with = "serde_bytes")]
    pub key: Vec<u8>,
    /// Bytes of its value.
    #[serde(with = "serde_bytes")]
    pub value: Vec<u8>,
}
impl Row for SetAsideRow {}

/// One attempt for one recipient group, with its transcript.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SmtpAttemptRow {
    /// End of the attempt.
    pub at_ms: TimestampMs,
    pub group: u16,
    /// Number of earlier attempts that counted, plus 1.
    pub number: u16,
    /// Name of the site, with the source address if there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub site: Option<String>,
    /// Source address that the settings name; `None` if the system chose it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Name of the receiving host; `None` if the site has no address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// IP address and port of the host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// `None` in clear text or if no session was opened.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<AttemptTlsRow>,
    /// Whether the session was in clear text although the host had TLS within the last days.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub tls_downgraded: bool,
    /// Whether an earlier attempt may have delivered the message already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possible_duplicate: bool,
    /// Positions of the recipients of the attempt in the email; empty if the email has one recipient.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tried_recipients: Vec<u16>,
    /// Outcome in one line.
    pub summary: String,
    /// Reason why recipients returned to the queue: the reply of the server for the first of them, or another cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deferral_reason: Option<String>,
    /// Commands and replies without the message; at most 8 KiB for each connection.
    #[serde(default, skip_serializing_if = "String::is_empty", with = "packed_text")]
    pub transcript: String,
}
impl Row for SmtpAttemptRow {}

/// TLS of the session of an attempt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttemptTlsRow {
    /// `TLSv1.2` or `TLSv1.3`.
    pub version: String,
    /// Name of the cipher suite.
    pub cipher: String,
    /// Whether the certificate was verified.
    pub verified: bool,
}

impl From<&TlsFacts> for AttemptTlsRow {
    fn from(TlsFacts { version, cipher, verified }: &TlsFacts) -> Self {
        Self { version: (*version).to_owned(), cipher: cipher.clone(), verified: *verified }
    }
}

/// The TLS history and the pause of a receiving host. The pause of another port than 25 has a row of its own, and so has
/// that for destinations that require TLS.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivingHostRow {
    /// Host name, with the port or the TLS of a pause that has a row of its own, for operators. The key is its hash.
    pub name: String,
    /// Start of the day (UTC) of the last session with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_ms: Option<TimestampMs>,
    /// Failures of STARTTLS since the last session with TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls_failures: Option<TlsFailuresRow>,
    /// Time until which STARTTLS is not tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub broken_tls_until_ms: Option<TimestampMs>,
    /// Pause after connection failures; `None` after an answer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pause: Option<HostPauseRow>,
}

/// The pause of a host that could not be connected to, as of its last change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HostPauseRow {
    /// Number of failures since the last answer.
    pub failures: u32,
    /// End of the pause.
    pub until_ms: TimestampMs,
    /// Whether the host accepted a connection and sent no greeting in time. It gets more time at the next attempt.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_slow: bool,
    /// Time at which the operator ended the pauses of a destination with this host.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_ms: Option<TimestampMs>,
    /// Time of the last change.
    pub changed_ms: TimestampMs,
}

/// Failures of STARTTLS with one host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TlsFailuresRow {
    /// Time of the first failure.
    pub first_ms: TimestampMs,
    /// Time of the last failure.
    pub last_ms: TimestampMs,
    pub failures: u32,
    /// Number of sessions with a failure. Concurrent sessions count as one.
    pub sessions: u32,
}
impl Row for ReceivingHostRow {}

/// The throttle of a site, as of its last change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SiteRow {
    /// Name of the site, for operators. The key is its hash.
    pub name: String,
    /// Limit of the sessions.
    pub sessions: u16,
    /// Time of the last change of the limit; `None` if it is the first one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sessions_changed_ms: Option<TimestampMs>,
    /// Number of failures since the last success.
    #[serde(default)]
    pub failures: u32,
    /// End of the last pause.
    pub paused_until_ms: TimestampMs,
    /// Time of the last change of the failures or the pause; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failures_changed_ms: Option<TimestampMs>,
    /// End of a suspension for the reputation of this server.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_until_ms: Option<TimestampMs>,
    /// Whether the suspension allows no message at all.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_stopped: bool,
    /// Number of such suspensions since the last success.
    #[serde(default)]
    pub stops: u32,
    /// Time at which the last suspension began or was ended by an accepted message; `None` without one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspension_changed_ms: Option<TimestampMs>,
    /// Last refusal, without addresses.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reply: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_reply_ms: Option<TimestampMs>,
    /// Time of the row.
    pub changed_ms: TimestampMs,
}
impl Row for SiteRow {}

/// The messages that a site got on a day, for the warm-up plan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarmUpRow {
    /// Number of messages that were sent.
    pub sent: u32,
    /// Number of them after which a recipient was deferred.
    #[serde(default)]
    pub deferred: u32,
    /// Number of them with a bounce.
    #[serde(default)]
    pub bounced: u32,
    /// Number of complaints.
    #[serde(default)]
    pub complained: u32,
}
impl Row for WarmUpRow {}

/// A message in the built-in mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedRow {
    /// Time of arrival.
    pub received_ms: TimestampMs,
    /// Return path.
    pub sender: String,
    /// Recipients of the envelope.
    pub recipients: Vec<String>,
    /// Email that the message was composed from; `None` if another program sent the message.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<EmailId>,
    /// Size of the message in bytes.
    pub size: u64,
    /// Time of the release; `None` if the message was not released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub released_ms: Option<TimestampMs>,
    /// First sender of the header; `None` if it has none, and for a message of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Subject; `None` if the header has none, and for a message of an earlier version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}
impl Row for CapturedRow {}

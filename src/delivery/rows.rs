//! What delivery keeps on disk: the queue, leases, conversations, what was learned of a site, and
//! the built-in mailbox.

use serde::{Deserialize, Serialize};

use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::store::Row;

/// Which mail goes first. The numbers are part of a key and can never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Class {
    /// Sent by a call: never behind a broadcast.
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

    /// Reads the number in the key.
    pub const fn from_number(number: u8) -> Self {
        match number {
            0 => Self::Transactional,
            _ => Self::Broadcast,
        }
    }
}

/// A recipient group that waits for delivery.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DueRow {
    /// Whose email it is.
    pub team: TeamId,
    /// The recipients' domain, an A-label.
    pub destination: String,
    /// Conversations that have been charged to it.
    pub attempts: u16,
    /// When it was first due: what the expiry counts from.
    pub first_due_ms: TimestampMs,
    /// Since when its destination's name does not exist, while that waits to be confirmed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vanished_ms: Option<TimestampMs>,
    /// The next conversation uses one command at a time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_pipelining: bool,
    /// How often its delay has been told.
    #[serde(default)]
    pub delays_reported: u8,
    /// A conversation was cut off by a stop and may have delivered it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possible_duplicate: bool,
}
impl Row for DueRow {}

impl DueRow {
    /// Returns the row of a group that has not been tried.
    pub fn fresh(team: TeamId, destination: String, due_ms: TimestampMs) -> Self {
        Self {
            team,
            destination,
            attempts: 0,
            first_due_ms: due_ms,
            vanished_ms: None,
            without_pipelining: false,
            delays_reported: 0,
            possible_duplicate: false,
        }
    }
}

/// A recipient group whose delivery is under way.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LeaseRow {
    /// What it was in the queue.
    pub due: DueRow,
    /// Its class.
    pub class: Class,
    /// The boot that holds it. A lease of another boot is void.
    pub epoch: u32,
    /// When it was taken.
    pub leased_ms: TimestampMs,
}
impl Row for LeaseRow {}

/// One SMTP conversation about one recipient group.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SmtpAttemptRow {
    /// When it ended.
    pub at_ms: TimestampMs,
    /// The recipient group.
    pub group: u16,
    /// Which attempt it was, from 1.
    pub number: u16,
    /// The host talked to; none when none was reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Its address and port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<String>,
    /// TLS version and cipher; none in clear.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<String>,
    /// An earlier conversation was cut off by a stop and may have delivered the message already.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub possible_duplicate: bool,
    /// What became of it, in one line.
    pub summary: String,
    /// The conversation, without message content; at most 8 KiB.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub transcript: String,
}
impl Row for SmtpAttemptRow {}

/// What was learned about a receiving host: its STARTTLS does not work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceivingHostRow {
    /// Its name, for people.
    pub name: String,
    /// Until when STARTTLS is not tried.
    pub broken_tls_until_ms: TimestampMs,
}
impl Row for ReceivingHostRow {}

/// What was learned about a destination domain: that mail reached it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DestinationRow {
    /// Its name, for people.
    pub name: String,
    /// When mail last reached it, to the day.
    pub delivered_ms: TimestampMs,
}
impl Row for DestinationRow {}

/// A message in the built-in mailbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CapturedRow {
    /// When it arrived.
    pub received_ms: TimestampMs,
    /// The return path.
    pub sender: String,
    /// The envelope's recipients.
    pub recipients: Vec<String>,
    /// The email it came from; none for a message another program handed in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub email: Option<EmailId>,
    /// The message's size in bytes.
    pub size: u64,
}
impl Row for CapturedRow {}

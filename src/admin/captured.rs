//! The messages in the built-in mailbox. The mailbox belongs to the instance, not to a team.

use clap::Subcommand;
use serde::{Deserialize, Serialize};

use super::pages::page_after;
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::clock::to_iso;
use crate::base::id::{CapturedId, EmailId};
use crate::delivery::CapturedRow;
use crate::delivery::capture::{ReleaseError, ReleasedMessage};

/// Maximum number of bytes of a message in a response.
const SHOWN_BYTES_MAX: usize = 256 << 10;

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum CapturedVerb {
    /// List the captured messages, newest first.
    #[serde(rename = "captured_list")]
    List {
        /// Maximum number of messages.
        #[arg(long, value_name = "N", default_value_t = super::LISTED_DEFAULT, value_parser = super::listed_max())]
        #[serde(skip)]
        limit: usize,
        #[arg(skip)]
        after: Option<CapturedId>,
    },
    /// Show a captured message as it was received.
    #[serde(rename = "captured_show")]
    Show {
        /// Id of the message.
        id: String,
    },
    /// Deliver a captured message to its recipients, through the transport of --release.
    #[serde(rename = "captured_release")]
    Release {
        /// Id of the message.
        id: String,
    },
}

/// A captured message without its content.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedView {
    pub id: CapturedId,
    pub received_at: String,
    /// Return path.
    pub sender: String,
    pub recipients: Vec<String>,
    /// Email that the message was composed from; `None` if another program sent the message.
    pub email_id: Option<EmailId>,
    /// Size in bytes.
    pub size: u64,
    /// Time of the release; `None` if the message was not released.
    pub released_at: Option<String>,
}

/// A captured message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CapturedMessageView {
    #[serde(flatten)]
    pub captured: CapturedView,
    /// The message with its header. Bytes that are not UTF-8 are replaced.
    pub message: String,
    /// Whether `message` is only the beginning.
    pub is_truncated: bool,
}

/// A released message.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ReleasedView {
    pub id: CapturedId,
    pub email_id: EmailId,
    pub recipients: Vec<String>,
    /// Transport that delivers the message.
    pub transport: String,
}

impl From<(CapturedId, CapturedRow)> for CapturedView {
    fn from((id, row): (CapturedId, CapturedRow)) -> Self {
        let CapturedRow { received_ms, sender, recipients, email, size, released_ms, from: _, subject: _ } = row;
        Self {
            id,
            received_at: to_iso(received_ms),
            sender,
            recipients,
            email_id: email,
            size,
            released_at: released_ms.map(to_iso),
        }
    }
}

pub(super) async fn execute(services: &AdminServices, verb: CapturedVerb) -> VerbResult {
    let mailbox = &services.mailbox;
    match verb {
        CapturedVerb::List { limit: _, after } => {
            Ok(Rows::of(mailbox.list(page_after(after)).await?, CapturedView::from).into())
        }
        CapturedVerb::Show { id } => {
            let id = parse(&id)?;
            let (row, mut bytes) = mailbox.message(id).await?.ok_or_else(|| not_found(id))?;
            let is_truncated = bytes.len() > SHOWN_BYTES_MAX;
            bytes.truncate(SHOWN_BYTES_MAX);
            let message = String::from_utf8_lossy(&bytes).into_owned();
            Ok(CapturedMessageView { captured: (id, row).into(), message, is_truncated }.into())
        }
        CapturedVerb::Release { id } => {
            let id = parse(&id)?;
            let transport = services.release.clone().ok_or_else(|| {
                AdminError::failed(
                    "no transport is set for released messages; start the server with --release direct (or \
                     RINGMAIL_RELEASE), or with the name of a smarthost",
                )
            })?;
            let released = mailbox.release(Actor::CommandLine, id, &services.queue_notifier).await;
            let ReleasedMessage { email, recipients } = released.map_err(|error| refusal(id, error))?;
            Ok(ReleasedView { id, email_id: email, recipients, transport }.into())
        }
    }
}

fn parse(text: &str) -> Result<CapturedId, AdminError> {
    CapturedId::parse(text)
        .ok_or_else(|| AdminError::not_found(format!("`{text}` is not the id of a captured message")))
}

fn not_found(id: CapturedId) -> AdminError {
    AdminError::not_found(format!("the mailbox has no message {id}; `ringmail captured list` lists the messages"))
}

fn refusal(id: CapturedId, error: ReleaseError) -> AdminError {
    match error {
        ReleaseError::NotFound => not_found(id),
        ReleaseError::Released(at_ms) => {
            AdminError::conflict(format!("the message {id} was released at {}", to_iso(at_ms)))
        }
        ReleaseError::NoEmail => AdminError::conflict(format!(
            "another program sent the message {id} to the mailbox, so that no email can be sent; send it again with the \
             API"
        )),
        ReleaseError::EmailDeleted => AdminError::conflict(format!(
            "the email of the message {id} or its content was deleted, so that it cannot be sent; send it again with the \
             API"
        )),
        ReleaseError::NoRecipient => AdminError::conflict(format!(
            "no recipient of the message {id} can be sent to: each has another outcome since, or was erased; \
             `ringmail email show` has the outcomes"
        )),
        ReleaseError::Store(error) => error.into(),
    }
}

//! The message of an email as its delivery composes it, to show it.

use std::sync::Arc;

use super::engine::Engine;
use super::message::{Composed, MessageError};
use super::queue::{Claimed, DueKey};
use super::rows::DueRow;
use crate::base::id::{EmailId, TeamId};
use crate::emails;
use crate::mime::AddressForm;
use crate::store::{ReadTx, StoreError, from_store_error};

/// Reason why the message of an email cannot be composed.
#[derive(Debug)]
pub enum ShowMessageError {
    /// The team has no such email.
    NotFound,
    /// The content, the domain of the sender, or each recipient was deleted.
    Deleted,
    /// The stored fields are not a valid message.
    Invalid(String),
    Store(StoreError),
}

from_store_error!(ShowMessageError);

impl From<MessageError> for ShowMessageError {
    fn from(error: MessageError) -> Self {
        match error {
            MessageError::ContentDeleted | MessageError::DomainDeleted => Self::Deleted,
            MessageError::Invalid(why) => Self::Invalid(why),
            MessageError::Store(error) => Self::Store(error),
        }
    }
}

impl Engine {
    /// Composes the message of an email for its first recipient, and for those who share it. The signatures are new; the
    /// rest is the same in every attempt.
    pub async fn show_message(self: &Arc<Self>, team: TeamId, id: EmailId) -> Result<Vec<u8>, ShowMessageError> {
        let find = move |tx: &ReadTx| emails::find_row(tx, team, id);
        let row = self.context.store.read::<_, StoreError>(find).await?;
        let row = row.filter(|row| !row.hidden).ok_or(ShowMessageError::NotFound)?;
        let first = row.recipients.iter().find(|recipient| !recipient.mailbox.is_erased());
        let (group, destination) = match first {
            Some(first) => (first.group, emails::destination_of(first).into_owned()),
            None => return Err(ShowMessageError::Deleted),
        };
        let is_in_group = |index: &usize| {
            let recipient = &row.recipients[*index];
            recipient.group == group && !recipient.mailbox.is_erased()
        };
        let recipients = (0..row.recipients.len()).filter(is_in_group).collect();
        let due_ms = row.created_ms;
        let lane = emails::lane_of(team, row.broadcast.as_ref(), &destination);
        let key = DueKey { lane, due_ms, email: id, group };
        let _memory = self.reserve_message_memory(&row).await;
        let claimed = Claimed { key, due: DueRow::fresh(team, destination, due_ms), row, recipients };
        let composed = self.compose(Arc::new(claimed), AddressForm::Unicode).await?;
        let Composed { signatures, message, .. } = composed;
        let mut bytes = signatures;
        bytes.extend_from_slice(&message);
        Ok(bytes)
    }
}

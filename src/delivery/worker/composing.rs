//! Composition of the messages of a claim. Small messages behind the next one are composed with it, so that all are signed
//! together.

use std::sync::{Arc, Mutex};

use tokio::sync::OwnedSemaphorePermit;

use super::super::engine::Engine;
use super::super::message::{Composed, MessageError};
use super::super::queue::Claimed;
use super::claiming::LeasedGroup;
use crate::base::sync;
use crate::mime::AddressForm;
use crate::mime::dkim::BATCH_MAX;

/// The groups of a claim behind the current one, with the messages that were composed before their turn.
#[derive(Default)]
pub(super) struct ComposedMessages(Mutex<GroupsBehind>);

#[derive(Default)]
struct GroupsBehind {
    groups: Vec<Arc<Claimed>>,
    messages: Vec<EarlyMessage>,
}

struct EarlyMessage {
    claimed: Arc<Claimed>,
    form: AddressForm,
    composed: Composed,
    memory: OwnedSemaphorePermit,
}

impl ComposedMessages {
    /// Sets the groups behind the current one.
    pub(super) fn set_behind<'a>(&self, groups: impl IntoIterator<Item = &'a LeasedGroup>) {
        let mut behind = sync::lock(&self.0);
        behind.groups.clear();
        behind.groups.extend(groups.into_iter().map(|group| Arc::clone(&group.claimed)));
    }

    /// Forgets the groups behind the current one, which return to the queue, and their messages.
    pub(super) fn clear(&self) {
        *sync::lock(&self.0) = GroupsBehind::default();
    }

    /// Returns the message of a group, and its share of the memory of all messages.
    pub(super) async fn compose(
        &self,
        engine: &Arc<Engine>,
        claimed: &Arc<Claimed>,
        form: AddressForm,
    ) -> (Result<Composed, MessageError>, Option<OwnedSemaphorePermit>) {
        if let Some(EarlyMessage { composed, memory, .. }) = sync::lock(&self.0).take(claimed, form) {
            return (Ok(composed), Some(memory));
        }
        let own_memory = engine.reserve_message_memory(&claimed.row).await;
        let reserved =
            |claimed: &Arc<Claimed>| Some((Arc::clone(claimed), engine.reserve_early_message_memory(&claimed.row)?));
        let early: Vec<_> = sync::lock(&self.0).groups.iter().take(BATCH_MAX - 1).map_while(reserved).collect();
        let groups = early.iter().map(|(claimed, _)| Arc::clone(claimed)).collect();
        let mut results = engine.compose_together(Arc::clone(claimed), groups, form).await.into_iter();
        let first = results.next().expect("the group has a result");
        // A message that cannot be signed now is composed again at its turn.
        let messages = early.into_iter().zip(results).filter_map(|((claimed, memory), result)| {
            Some(EarlyMessage { claimed, form, composed: result.ok()?, memory })
        });
        sync::lock(&self.0).keep(messages);
        (first, own_memory)
    }
}

impl GroupsBehind {
    /// Takes the message of a group. If it was not composed in this form, drops all messages, so that a worker that waits for
    /// memory holds none.
    fn take(&mut self, claimed: &Arc<Claimed>, form: AddressForm) -> Option<EarlyMessage> {
        let is_current = |message: &EarlyMessage| Arc::ptr_eq(&message.claimed, claimed) && message.form == form;
        let index = self.messages.iter().position(is_current);
        if index.is_none() {
            self.messages.clear();
        }
        index.map(|index| self.messages.swap_remove(index))
    }

    /// Keeps the messages of groups that have not returned to the queue meanwhile.
    fn keep(&mut self, messages: impl Iterator<Item = EarlyMessage>) {
        let Self { groups, messages: kept } = self;
        kept.extend(messages.filter(|message| groups.iter().any(|group| Arc::ptr_eq(group, &message.claimed))));
    }
}

//! Opened contents of the broadcasts that are being sent. A content does not change after its broadcast is sent.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

use super::content::{BroadcastContent, read_content};
use crate::base::id::BroadcastId;
use crate::base::sync;
use crate::store::{Keyring, Reads, StoreError};

/// Maximum number of contents in memory.
const CONTENTS_MAX: usize = 64;
/// Maximum size of the contents in memory. A larger one is opened for each message.
const BYTES_MAX: usize = 16 << 20;

/// Contents of sent broadcasts in memory, the last used one first.
#[derive(Debug, Default)]
pub(crate) struct BroadcastContentCache(Mutex<VecDeque<(BroadcastId, Arc<BroadcastContent>)>>);

impl BroadcastContentCache {
    /// Returns the content of a broadcast that has been sent; `None` if none is stored.
    pub(crate) fn find(
        &self,
        tx: &impl Reads,
        keyring: &Keyring,
        id: BroadcastId,
    ) -> Result<Option<Arc<BroadcastContent>>, StoreError> {
        if let Some(known) = self.get(id) {
            return Ok(Some(known));
        }
        let content = read_content(tx, keyring, id)?.map(Arc::new);
        if let Some(content) = &content {
            self.insert(id, Arc::clone(content));
        }
        Ok(content)
    }

    fn get(&self, id: BroadcastId) -> Option<Arc<BroadcastContent>> {
        let mut contents = sync::lock(&self.0);
        let at = contents.iter().position(|(other, _)| *other == id)?;
        let known = contents.remove(at)?;
        let content = Arc::clone(&known.1);
        contents.push_front(known);
        Some(content)
    }

    fn insert(&self, id: BroadcastId, content: Arc<BroadcastContent>) {
        let mut contents = sync::lock(&self.0);
        contents.retain(|(other, _)| *other != id);
        contents.push_front((id, content));
        let mut bytes = 0;
        let fits = |(_, content): &&(BroadcastId, Arc<BroadcastContent>)| {
            bytes += content.bytes();
            bytes <= BYTES_MAX
        };
        let kept = contents.iter().take(CONTENTS_MAX).take_while(fits).count();
        contents.truncate(kept);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::broadcast_rows::content::{delete_content, put_content, seal_content};
    use crate::context::Context;

    #[tokio::test]
    async fn the_contents_in_memory_have_a_bound_and_the_last_used_ones_stay() {
        let (_directory, context) = Context::temporary();
        let cache = BroadcastContentCache::default();
        let ids: Vec<BroadcastId> = (0..5).map(|_| context.id()).collect();
        for id in ids.clone() {
            let content = BroadcastContent { html: Some("a".repeat(BYTES_MAX / 3)), ..BroadcastContent::default() };
            let sealed = seal_content(&context.keyring, id, &content);
            context.commit(move |tx| put_content(tx, id, &sealed)).await;
        }
        let find = |id| context.read(|tx| cache.find(tx, &context.keyring, id)).is_some();

        assert!([0, 1, 2, 0, 3].iter().all(|number| find(ids[*number])));

        for id in ids.clone() {
            context.commit(move |tx| delete_content(tx, id)).await;
        }
        assert_eq!([0, 1, 2, 3, 4].map(|number| find(ids[number])), [true, false, true, true, false]);
    }
}

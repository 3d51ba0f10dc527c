//! Messages that are composed before their turn.

use super::*;
use crate::delivery::engine::MESSAGE_MEMORY_KIB;
use crate::delivery::queue::claim_lane;
use crate::emails::AttachmentInfo;
use crate::tables::EMAIL_BODIES;

/// Memory of a small message.
const SMALL_KIB: usize = 64;

/// Leases all groups of the first lane, the oldest first.
async fn lease_all(engine: &Engine) -> Vec<LeasedGroup> {
    let (lane, context) = (first_due(engine).key.lane, engine.context.clone());
    let claiming = move |tx: &WriteTx<'_>| claim_lane(tx, &context, lane, None, 8);
    let claim = engine.context.store.write::<_, StoreError>(claiming).await.unwrap();
    let servers = Arc::new(servers(Vec::new()));
    let group = |claimed| LeasedGroup { claimed: Arc::new(claimed), servers: Arc::clone(&servers) };
    claim.groups.into_iter().map(group).collect()
}

/// Queues emails with these texts and leases them.
async fn leased(texts: &[&str]) -> (Disk, Arc<Engine>, Vec<LeasedGroup>) {
    let disk = Disk::default();
    let context = Context::on_disk(&disk);
    for text in texts {
        queue_text(&context, text).await;
    }
    let engine = engine(&context, &CancellationToken::new());
    let groups = lease_all(&engine).await;
    assert_eq!(groups.len(), texts.len());
    (disk, engine, groups)
}

fn reserved_kib(engine: &Engine) -> usize {
    MESSAGE_MEMORY_KIB - engine.message_memory.available_permits()
}

/// Composes the message of each group at its turn. Returns the first characters of its text, or `None` if it cannot be
/// composed, and the number of small messages in memory.
async fn compose_in_turn(engine: &Arc<Engine>, groups: &[LeasedGroup]) -> Vec<(Option<String>, usize)> {
    let messages = ComposedMessages::default();
    let mut composed = Vec::new();
    for (index, group) in groups.iter().enumerate() {
        messages.set_behind(&groups[index + 1..]);
        let (message, _memory) = messages.compose(engine, &group.claimed, AddressForm::Unicode).await;
        let text = message.ok().map(|composed| {
            let message = String::from_utf8(composed.message).unwrap();
            message.split("\r\n\r\n").nth(1).unwrap().chars().take(3).collect()
        });
        composed.push((text, reserved_kib(engine) / SMALL_KIB));
    }
    assert_eq!(reserved_kib(engine), 0);
    composed
}

fn expected(messages: &[(&str, usize)]) -> Vec<(Option<String>, usize)> {
    messages.iter().map(|(text, memory)| (Some((*text).to_owned()), *memory)).collect()
}

#[tokio::test]
async fn small_messages_are_composed_together_and_hold_memory_until_their_turn() {
    let large = "x".repeat(100_000);
    let (_disk, engine, groups) = leased(&["one", "two", "three", &large, &large, "six"]).await;

    let composed = compose_in_turn(&engine, &groups).await;

    // No large message is composed before its turn, and none with a large one.
    let texts = [("one", 3), ("two", 2), ("thr", 1), ("xxx", 1), ("xxx", 1), ("six", 1)];
    assert_eq!(composed, expected(&texts));
}

#[tokio::test]
async fn a_group_whose_message_cannot_be_composed_fails_at_its_turn() {
    let (_disk, engine, groups) = leased(&["one", "two", "three", "four"]).await;
    let email = groups[1].claimed.key.email;
    engine.context.commit(move |tx| tx.delete(&EMAIL_BODIES, &(email, 0))).await;

    let composed = compose_in_turn(&engine, &groups).await;

    let mut messages = expected(&[("one", 1), ("", 1), ("thr", 2), ("fou", 1)]);
    messages[1].0 = None;
    assert_eq!(composed, messages);
}

#[tokio::test]
async fn a_message_with_attachments_is_composed_at_its_turn() {
    let (_disk, engine, mut groups) = leased(&["one", "two", "three"]).await;
    let (filename, content_type) = ("a.txt".to_owned(), "text/plain".to_owned());
    let file = AttachmentInfo { id: Id::MIN, filename, size: 0, content_type, content_id: None };
    let mut second = groups[1].claimed.as_ref().clone();
    second.row.attachments.push(file);
    groups[1].claimed = Arc::new(second);
    let messages = ComposedMessages::default();
    messages.set_behind(&groups[1..]);

    let (message, memory) = messages.compose(&engine, &groups[0].claimed, AddressForm::Unicode).await;

    assert!(message.is_ok() && memory.is_some());
    assert_eq!(reserved_kib(&engine), SMALL_KIB);
}

#[tokio::test]
async fn a_message_in_another_form_is_composed_again() {
    let (_disk, engine, groups) = leased(&["one", "two"]).await;
    let messages = ComposedMessages::default();
    messages.set_behind(&groups[1..]);
    messages.compose(&engine, &groups[0].claimed, AddressForm::Unicode).await.0.unwrap();
    assert_eq!(reserved_kib(&engine), SMALL_KIB);

    messages.set_behind(&[]);
    let (message, memory) = messages.compose(&engine, &groups[1].claimed, AddressForm::Ascii).await;

    assert!(message.is_ok());
    assert_eq!(reserved_kib(&engine), SMALL_KIB);
    drop(memory);
    assert_eq!(reserved_kib(&engine), 0);
}

#[tokio::test]
async fn groups_that_return_to_the_queue_release_the_memory_of_their_messages() {
    let (_disk, engine, groups) = leased(&["one", "two", "three"]).await;
    let messages = ComposedMessages::default();
    messages.set_behind(&groups[1..]);
    let (_, memory) = messages.compose(&engine, &groups[0].claimed, AddressForm::Unicode).await;
    assert_eq!(reserved_kib(&engine), 3 * SMALL_KIB);

    messages.clear();

    assert_eq!(reserved_kib(&engine), SMALL_KIB);
    drop(memory);
    assert_eq!(reserved_kib(&engine), 0);
}

#[tokio::test]
async fn no_message_is_composed_before_its_turn_if_messages_use_half_of_the_memory() {
    let (_disk, engine, groups) = leased(&["one", "two"]).await;
    let others = Arc::clone(&engine.message_memory);
    let half = MESSAGE_MEMORY_KIB / 2;
    let _others = others.try_acquire_many(u32::try_from(half - SMALL_KIB).unwrap()).unwrap();
    let messages = ComposedMessages::default();
    messages.set_behind(&groups[1..]);

    let (message, memory) = messages.compose(&engine, &groups[0].claimed, AddressForm::Unicode).await;

    assert!(message.is_ok() && memory.is_some());
    assert_eq!(reserved_kib(&engine), half);
    drop(memory);
    assert_eq!(reserved_kib(&engine), half - SMALL_KIB);
}

#[tokio::test]
async fn messages_of_groups_that_return_to_the_queue_during_the_composition_are_not_kept() {
    let (_disk, engine, groups) = leased(&["one", "two"]).await;
    let messages = ComposedMessages::default();
    messages.set_behind(&groups[1..]);

    // The composition waits for its thread while the group behind returns to the queue.
    let composing = messages.compose(&engine, &groups[0].claimed, AddressForm::Unicode);
    let ((message, _memory), ()) = tokio::join!(composing, async { messages.clear() });

    assert!(message.is_ok());
    assert_eq!(reserved_kib(&engine), SMALL_KIB);
}

//! What does not read ends neither an erasure nor the others.

use super::*;
use crate::events::{AudienceKind, Detail};
use crate::store::Encoded;
use crate::tables::{
    ATTEMPTS, AUDIENCE_EVENTS, CAPTURED, EVENT_MESSAGES, EVENTS, SUPPRESSION_ADDRESSES, SUPPRESSIONS, SuppressionIdRow,
    WEBHOOK_DELIVERIES,
};

/// Puts bytes that no table reads under a key.
async fn spoil<K: Key + Clone + Send + 'static, V: Value + 'static>(context: &Context, table: Table<K, V>, key: K) {
    write(context, move |tx| tx.put_encoded(&table, &key, &Encoded::unreadable())).await;
}

#[tokio::test]
async fn an_erasure_that_does_not_read_leaves_the_others_going() {
    let (_directory, context) = Context::temporary();
    let spoiled = request(&context, &["eve@example.com"]).await;
    spoil(&context, ERASURES, spoiled).await;
    let foreign = request(&context, &["bob@example.com"]).await;
    let row = ErasureRow { sealed: vec![1; 80], ..erasure(&context, foreign).unwrap() };
    write(&context, move |tx| tx.put(&ERASURES, &foreign, &row)).await;
    let id = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    request(&context, &["ada@example.com"]).await;

    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    for _ in 0..10 {
        erasures.run_round().await.unwrap();
    }

    assert_eq!(mailboxes(&context, id), ["[erased]"]);
    assert_eq!(pending(&context), [spoiled, foreign]);
}

#[tokio::test]
async fn an_erasure_that_failed_is_tried_again_ever_more_rarely() {
    let (_directory, context) = Context::temporary();
    let key = request(&context, &["ada@example.com"]).await;
    let row = erasure(&context, key).unwrap();
    spoil(&context, ERASURES, key).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    for _ in 0..100 {
        erasures.run_round().await.unwrap();
    }
    write(&context, move |tx| tx.put(&ERASURES, &key, &row)).await;

    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.run_round().await.unwrap();
        rounds += 1;
        assert!(rounds <= 128);
    }

    assert!(rounds > 20, "{rounds}");
}

#[tokio::test]
async fn a_row_that_does_not_read_is_passed_over_and_those_beside_it_are_not() {
    let (_directory, context) = Context::temporary();
    let to_ada = || email(&["ada@example.com"], RecipientState::Settled);
    let spoiled = put_email(&context, to_ada()).await;
    scrubbing::record(&context, spoiled, &["ada@example.com"], Detail::None).await;
    spoil(&context, EMAILS, (TEAM, spoiled)).await;
    let whole = put_email(&context, to_ada()).await;
    let spoiled_event = (whole, context.id());
    spoil(&context, EVENTS, spoiled_event).await;
    scrubbing::record(&context, whole, &["ada@example.com"], Detail::None).await;
    spoil(&context, ATTEMPTS, (whole, context.id())).await;
    spoil(&context, CAPTURED, (context.id(),)).await;
    let captured = scrubbing::capture(&context, None, &["ada@example.com"]).await;
    spoil(&context, AUDIENCE_EVENTS, (TEAM, context.id())).await;
    scrubbing::tell(&context, AudienceKind::ContactDeleted, "ada@example.com").await;
    spoil(&context, EVENT_MESSAGES, (TEAM, context.id())).await;
    spoil(&context, WEBHOOK_DELIVERIES, (TEAM, context.id(), context.id())).await;
    let entry = context.id();
    let hash = address("ada@example.com").identity_hash();
    write(&context, move |tx| tx.put(&SUPPRESSION_ADDRESSES, &(TEAM, hash), &SuppressionIdRow { id: entry })).await;
    spoil(&context, SUPPRESSIONS, (TEAM, entry)).await;

    let key = request(&context, &["ada@example.com"]).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert_eq!(mailboxes(&context, whole), ["[erased]"]);
    write(&context, move |tx| tx.delete(&EVENTS, &spoiled_event)).await;
    for id in [spoiled, whole] {
        assert_eq!(scrubbing::timeline(&context, id)[0].recipients, ["[erased]"]);
    }
    assert_eq!(scrubbing::is_captured(&context, captured), [false; 2]);
    assert_eq!(scrubbing::told(&context), ["\"[erased]\" null null"]);
}

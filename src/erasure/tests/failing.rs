//! Corrupt rows.

use super::*;
use crate::events::{AudienceKind, EventDetail};
use crate::tables::{
    ATTEMPTS, AUDIENCE_EVENTS, CAPTURED, EVENT_MESSAGES, EVENTS, SUPPRESSION_ADDRESSES, SUPPRESSIONS, SuppressionIdRow,
    WEBHOOK_DELIVERIES,
};

#[tokio::test]
async fn a_corrupt_erasure_does_not_stop_the_others() {
    let (_directory, context) = Context::temporary();
    let corrupt = request(&context, &["eve@example.com"]).await;
    context.corrupt(&ERASURES, corrupt).await;
    let foreign = request(&context, &["bob@example.com"]).await;
    let row = ErasureRow { sealed: vec![1; 80], ..erasure(&context, foreign).unwrap() };
    context.commit(move |tx| tx.put(&ERASURES, &foreign, &row)).await;
    let id = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    request(&context, &["ada@example.com"]).await;

    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    for _ in 0..10 {
        erasures.run_round().await.unwrap();
    }

    assert_eq!(mailboxes(&context, id), ["[erased]"]);
    assert_eq!(pending(&context), [corrupt, foreign]);
}

#[tokio::test]
async fn the_delay_of_a_failed_erasure_grows() {
    let (_directory, context) = Context::temporary();
    let key = request(&context, &["ada@example.com"]).await;
    let row = erasure(&context, key).unwrap();
    context.corrupt(&ERASURES, key).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    for _ in 0..100 {
        erasures.run_round().await.unwrap();
    }
    context.commit(move |tx| tx.put(&ERASURES, &key, &row)).await;

    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.run_round().await.unwrap();
        rounds += 1;
        assert!(rounds <= 128);
    }

    assert!(rounds > 20, "{rounds}");
}

#[tokio::test]
async fn a_corrupt_row_is_skipped_and_its_neighbors_are_erased() {
    let (_directory, context) = Context::temporary();
    let to_ada = || email(&["ada@example.com"], RecipientState::Settled);
    let corrupt = put_email(&context, to_ada()).await;
    effects::record(&context, corrupt, &["ada@example.com"], EventDetail::None).await;
    context.corrupt(&EMAILS, (TEAM, corrupt)).await;
    let valid = put_email(&context, to_ada()).await;
    let corrupt_event = (valid, context.id());
    context.corrupt(&EVENTS, corrupt_event).await;
    effects::record(&context, valid, &["ada@example.com"], EventDetail::None).await;
    context.corrupt(&ATTEMPTS, (valid, context.id())).await;
    context.corrupt(&CAPTURED, (context.id(),)).await;
    let captured = effects::capture(&context, None, &["ada@example.com"]).await;
    context.corrupt(&AUDIENCE_EVENTS, (TEAM, context.id())).await;
    effects::record_contact_event(&context, AudienceKind::ContactDeleted, "ada@example.com").await;
    context.corrupt(&EVENT_MESSAGES, (TEAM, context.id())).await;
    context.corrupt(&WEBHOOK_DELIVERIES, (TEAM, context.id(), context.id())).await;
    let entry = context.id();
    let hash = address("ada@example.com").identity_hash();
    context.commit(move |tx| tx.put(&SUPPRESSION_ADDRESSES, &(TEAM, hash), &SuppressionIdRow { id: entry })).await;
    context.corrupt(&SUPPRESSIONS, (TEAM, entry)).await;

    let key = request(&context, &["ada@example.com"]).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert_eq!(mailboxes(&context, valid), ["[erased]"]);
    context.commit(move |tx| tx.delete(&EVENTS, &corrupt_event)).await;
    for id in [corrupt, valid] {
        assert_eq!(effects::timeline(&context, id)[0].recipients, ["[erased]"]);
    }
    assert_eq!(effects::is_captured(&context, captured), [false; 2]);
    assert_eq!(effects::contact_events(&context), ["\"[erased]\" null null"]);
}

//! An erasure that is cut off goes on where it was.

use super::*;
use crate::base::clock::Clock;
use crate::erasure::store::{LogSpan, Stage};
use crate::store::{Keyring, OpenOptions, Store, StoreKind};

/// Opens the store of a directory again, as the next start does.
async fn reopen(directory: &tempfile::TempDir, context: Context) -> Context {
    context.store.close().await;
    let options = OpenOptions { directory: directory.path().into(), kind: StoreKind::Dev, cache_bytes: 1 << 20 };
    let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
    let clock = Clock::manual(context.now_ms() + 1_000);
    Context::new(Store::open(&options).unwrap(), clock, keyring)
}

#[tokio::test]
async fn a_start_after_every_step_loses_nothing_and_repeats_nothing() {
    let (directory, mut context) = Context::temporary();
    let mut ids = Vec::new();
    for number in 0..250 {
        let other = format!("r{number}@example.com");
        let row = email(
            &[if number % 2 == 0 { "ada@example.com" } else { "bob@example.com" }, &other],
            RecipientState::Settled,
        );
        ids.push(put_email(&context, row).await);
    }
    let key = request(&context, &["ada@example.com"]).await;
    let stage = |context: &Context| erasure(context, key).map(|row| row.stage);
    let erased = |context: &Context| ids.iter().filter(|id| mailboxes(context, **id)[0] == "[erased]").count();

    assert_eq!(stage(&context), Some(Stage::Suppressions));
    let mut seen = Vec::new();
    while erasure(&context, key).is_some() {
        step(&context, key).await;
        context = reopen(&directory, context).await;
        seen.push((stage(&context), erased(&context)));
        assert!(seen.len() < 20, "{seen:?}");
    }

    let emails = |after| Some(Stage::Emails { after });
    let expected = [
        (emails(Id::MIN), 0),
        (emails(ids[99]), 50),
        (emails(ids[199]), 100),
        (Some(Stage::Captured { after: Id::MIN }), 125),
        (Some(Stage::AudienceEvents { after: Id::MIN }), 125),
        (Some(Stage::Messages { after: Id::MIN }), 125),
        (Some(Stage::Deliveries { after: (Id::MIN, Id::MIN) }), 125),
        (Some(Stage::RequestLog(LogSpan::START)), 125),
        (Some(Stage::RequestLog(LogSpan { after: Id::MIN, until: Some(Id::MIN) })), 125),
        (None, 125),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn the_addresses_lie_sealed_in_the_row() {
    let (_directory, context) = Context::temporary();
    let key = request(&context, &["ada@example.com"]).await;

    let bytes = erasure(&context, key).unwrap().to_bytes();

    assert!(!String::from_utf8_lossy(&bytes).contains("example"));
    let other = crate::context::Context::temporary().1;
    assert!(store::target(&other.keyring, key, &erasure(&context, key).unwrap()).is_err());
}

#[tokio::test]
async fn a_request_of_many_addresses_is_cut_into_rows_of_a_thousand() {
    let (_directory, context) = Context::temporary();
    let names: Vec<String> = (0..2_001).map(|number| format!("r{number}@example.com")).collect();
    let id = put_email(&context, email(&["r0@example.com", "r2000@example.com"], RecipientState::Settled)).await;

    request(&context, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(count(&context, &ERASURES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX)), 3);
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(mailboxes(&context, id), ["[erased]"; 2]);
    write(&context, {
        let requesting = context.clone();
        move |tx| crate::erasure::request(tx, &requesting, TEAM, Vec::new())
    })
    .await;
    assert_eq!(count(&context, &ERASURES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX)), 0);
}

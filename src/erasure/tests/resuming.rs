//! Erasures after a restart, and their rows.

use super::*;
use crate::base::clock::Clock;
use crate::erasure::stages::ErasureStage;
use crate::events::EmailEventKind;
use crate::store::{Keyring, OpenOptions, Store, StoreKind, Value as _};
use crate::suppressions::SuppressionCause;

/// Closes the store and opens it again, as a restart does.
async fn reopen(directory: &tempfile::TempDir, context: Context) -> Context {
    context.store.close().await;
    let options = OpenOptions { directory: directory.path().into(), kind: StoreKind::Dev, cache_bytes: 1 << 20 };
    let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
    let clock = Clock::manual(context.now_ms() + 1_000);
    Context::new(Store::open(&options).unwrap(), clock, keyring)
}

#[tokio::test]
async fn an_erasure_continues_after_a_restart_at_every_step() {
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

    assert_eq!(stage(&context), Some(ErasureStage::FIRST));
    let mut seen = Vec::new();
    while erasure(&context, key).is_some() {
        step(&context, key).await;
        context = reopen(&directory, context).await;
        seen.push((stage(&context), erased(&context)));
        assert!(seen.len() < 20, "{seen:?}");
    }

    let emails = |after| Some(ErasureStage::Emails { after });
    let expected = [
        (emails(Id::MIN), 0),
        (emails(ids[99]), 50),
        (emails(ids[199]), 100),
        (Some(ErasureStage::Suppressions), 125),
        (Some(ErasureStage::Captured { after: Id::MIN }), 125),
        (Some(ErasureStage::AudienceEvents { after: Id::MIN }), 125),
        (Some(ErasureStage::Messages { after: Id::MIN }), 125),
        (Some(ErasureStage::Deliveries { after: (Id::MIN, Id::MIN) }), 125),
        (Some(ErasureStage::RequestLog { after: Id::MIN, until: None }), 125),
        (None, 125),
    ];
    assert_eq!(seen, expected);
}

#[tokio::test]
async fn the_second_run_continues_after_a_restart_at_every_step() {
    let (directory, mut context) = Context::temporary();
    let bounced = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let mut steps = 0;
    while step(&context, key).await != StepResult::Waiting {
        context = reopen(&directory, context).await;
        steps += 1;
        assert!(steps < 20);
    }
    waiting::report(&context, bounced, EmailEventKind::Bounced, SuppressionCause::bounce(bounced)).await;

    while erasure(&context, key).is_some() {
        step(&context, key).await;
        context = reopen(&directory, context).await;
        steps += 1;
        assert!(steps < 20);
    }

    assert_eq!(mailboxes(&context, bounced), ["[erased]"]);
    assert_eq!(waiting::listed(&context), ["[erased]"]);
    assert_eq!(waiting::stored_data(&context).1, [None]);
}

#[tokio::test]
async fn the_addresses_are_sealed_in_the_row() {
    let (_directory, context) = Context::temporary();
    let key = request(&context, &["ada@example.com"]).await;

    let bytes = erasure(&context, key).unwrap().to_bytes();

    assert!(!String::from_utf8_lossy(&bytes).contains("example"));
    let other = crate::context::Context::temporary().1;
    assert!(store::target(&other.keyring, key, &erasure(&context, key).unwrap()).is_err());
}

#[tokio::test]
async fn a_request_with_many_addresses_adds_a_row_for_each_thousand() {
    let (_directory, context) = Context::temporary();
    let names: Vec<String> = (0..2_001).map(|number| format!("r{number}@example.com")).collect();
    let id = put_email(&context, email(&["r0@example.com", "r2000@example.com"], RecipientState::Settled)).await;

    request(&context, &names.iter().map(String::as_str).collect::<Vec<_>>()).await;
    assert_eq!(pending(&context).len(), 3);
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(mailboxes(&context, id), ["[erased]"; 2]);
    let requesting = context.clone();
    context.commit(move |tx| crate::erasure::request(tx, &requesting, TEAM, Vec::new())).await;
    assert_eq!(pending(&context).len(), 0);
}

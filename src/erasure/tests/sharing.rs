//! Requests of one team that share a run, and round-robin over teams.

use super::*;
use crate::erasure::stages::ErasureStage;
use crate::store::{Keyring, Value as _};
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::SUPPRESSIONS;

const OTHER_TEAM: TeamId = Id::from_bytes([2; 16]);

/// Stores emails of a team to another address.
async fn put_emails(context: &Context, team: TeamId, count: usize) -> Vec<EmailId> {
    let ids: Vec<EmailId> = (0..count).map(|_| context.id()).collect();
    let (writing, row) = (ids.clone(), email(&["bob@example.com"], RecipientState::Settled));
    context.commit(move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(team, *id), &row))).await;
    ids
}

/// Runs an erasure step by step to its end. Returns the number of steps and of commits.
async fn run_to_the_end(context: &Context, key: ErasureKey) -> (usize, usize) {
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    let mut run = erasures.begin(key).await.unwrap().unwrap();
    let (mut steps, mut commits) = (0, 0);
    while let Some(before) = erasure(context, key) {
        erasures.step(&mut run).await.unwrap();
        steps += 1;
        commits += usize::from(erasure(context, key).is_none_or(|after| after.stage != before.stage));
        assert!(steps < 200);
    }
    (steps, commits)
}

#[tokio::test]
async fn a_page_without_a_match_costs_no_commit() {
    let (_directory, context) = Context::temporary();
    put_emails(&context, TEAM, 450).await;
    let id = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    put_emails(&context, TEAM, 9_549).await;
    let key = request(&context, &["ada@example.com"]).await;

    let (steps, commits) = run_to_the_end(&context, key).await;

    // Commits: the page with the match, and the end of each of the eight stages. In production, the ends of
    // five turns add one commit each.
    assert_eq!((steps, commits), (108, 9));
    assert_eq!(mailboxes(&context, id), ["[erased]"]);
}

#[tokio::test]
async fn new_requests_of_a_team_share_one_run() {
    let (_directory, context) = Context::temporary();
    let names: Vec<String> = (0..300).map(|number| format!("r{number}@example.com")).collect();
    let mut ids = Vec::new();
    for name in &names {
        ids.push(put_email(&context, email(&[name, "bob@example.com"], RecipientState::Settled)).await);
        request(&context, &[name]).await;
    }
    let first = pending(&context)[0];
    let erasures = Erasures::new(context.clone(), PendingEntries::default());

    erasures.begin(first).await.unwrap().unwrap();

    assert_eq!(pending(&context), [first]);
    let bytes = erasure(&context, first).unwrap().to_bytes();
    assert!(!String::from_utf8_lossy(&bytes).contains("example"));
    // After a restart, the one row contains all of them.
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
    assert_eq!(pending(&context), []);
    assert!(ids.iter().all(|id| mailboxes(&context, *id) == ["[erased]", "bob@example.com"]));
}

#[tokio::test]
async fn each_request_of_a_run_covers_the_data_from_before_it() {
    let (_directory, context) = Context::temporary();
    let both = || email(&["ada@example.com", "bob@example.com"], RecipientState::Settled);
    let list = async |name: &'static str| {
        let listing = context.clone();
        let cause = SuppressionCause::listed(SuppressionOrigin::Manual, crate::events::ChangeSource::Api);
        context.commit(move |tx| suppressions::add(tx, &listing, TEAM, &address(name), cause)).await;
    };
    let one = put_email(&context, both()).await;
    request(&context, &["ada@example.com"]).await;
    let two = put_email(&context, both()).await;
    list("ada@example.com").await;
    effects::record_contact_event(&context, crate::events::AudienceKind::ContactCreated, "ada@example.com").await;
    list("bob@example.com").await;
    request(&context, &["bob@example.com"]).await;
    let three = put_email(&context, both()).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(mailboxes(&context, one), ["[erased]", "[erased]"]);
    assert_eq!(mailboxes(&context, two), ["ada@example.com", "[erased]"]);
    assert_eq!(mailboxes(&context, three), ["ada@example.com", "bob@example.com"]);
    let events = effects::contact_events(&context);
    let ada = "\"ada@example.com\"";
    assert_eq!(
        events,
        [format!("{ada} null null"), format!("{ada} \"Ada\" \"Lovelace\""), "\"[erased]\" null null".into()]
    );
    let listed: Vec<_> = context.rows(&SUPPRESSIONS).into_iter().map(|(_, row)| row.email).collect();
    assert_eq!(listed, [Some("ada@example.com".to_owned()), None]);
}

#[tokio::test]
async fn a_request_that_cannot_be_opened_does_not_join() {
    let (_directory, context) = Context::temporary();
    let first = request(&context, &["ada@example.com"]).await;
    let foreign = request(&context, &["bob@example.com"]).await;
    let directory = tempfile::tempdir().unwrap();
    let other_keys = Keyring::open(&directory.path().join("master.key")).unwrap();
    let row = ErasureRow { sealed: other_keys.seal(b"elsewhere", b"x"), ..erasure(&context, foreign).unwrap() };
    context.commit(move |tx| tx.put(&ERASURES, &foreign, &row)).await;
    request(&context, &["eve@example.com"]).await;

    Erasures::new(context.clone(), PendingEntries::default()).begin(first).await.unwrap().unwrap();

    assert_eq!(pending(&context), [first, foreign]);
}

#[tokio::test]
async fn later_erasures_drop_waiting_recipients_at_once_and_share_a_run_after_the_earlier_one() {
    let (_directory, context) = Context::temporary();
    put_emails(&context, TEAM, 2_500).await;
    let first = request(&context, &["ada@example.com"]).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    assert!(erasures.run_team(TEAM).await.unwrap());

    let mut later = Vec::new();
    for name in ["dan@example.com", "eve@example.com"] {
        let id = put_email(&context, email(&[name], RecipientState::Waiting { due_ms: 1 })).await;
        queue(&context, id).await;
        let key = request(&context, &[name]).await;

        assert!(erasures.run_team(TEAM).await.unwrap());

        assert_eq!(mailboxes(&context, id), ["[erased]"]);
        assert_eq!(erasure(&context, key).unwrap().stage, ErasureStage::AFTER_QUEUE);
        later.push(key);
    }
    assert!(matches!(erasure(&context, first).unwrap().stage, ErasureStage::Emails { .. }));
    assert!(erasures.run_team(TEAM).await.unwrap());
    assert_eq!(pending(&context), later, "the first erasure is complete");
    assert!(erasures.run_team(TEAM).await.unwrap());
    assert_eq!(pending(&context), later[..1]);
    assert!(erasures.run_team(TEAM).await.unwrap());
    assert_eq!(pending(&context), []);
}

#[tokio::test]
async fn each_team_gets_a_turn_of_limited_length() {
    let (_directory, context) = Context::temporary();
    let ids = put_emails(&context, TEAM, 2_500).await;
    let long = request(&context, &["ada@example.com"]).await;
    let (requesting, ada) = (context.clone(), address("ada@example.com"));
    context.commit(move |tx| crate::erasure::request(tx, &requesting, OTHER_TEAM, vec![ada.clone()])).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());

    assert!(erasures.run_team(TEAM).await.unwrap());
    assert!(erasures.run_team(OTHER_TEAM).await.unwrap());

    assert_eq!(pending(&context), [long]);
    // The position after pages without a match is stored at the end of the turn. The first page is that of the queue.
    assert_eq!(
        erasure(&context, long).unwrap().stage,
        crate::erasure::stages::ErasureStage::Emails { after: ids[1_899] }
    );
    assert!(!erasures.run_team(OTHER_TEAM).await.unwrap());
    assert!(erasures.run_team(TEAM).await.unwrap());
    assert_eq!(pending(&context), []);
}

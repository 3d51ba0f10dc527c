//! Claiming groups from the queue, and requeueing them.

use super::*;
use crate::base::address::EmailAddress;
use crate::events::{self, ChangeSource};
use crate::suppressions::{self, Origin, SuppressionCause};

pub(in crate::delivery) const TEAM: TeamId = Id::from_bytes([1; 16]);
pub(in crate::delivery) const ADA: &str = "ada@example.com";
pub(in crate::delivery) const BOB: &str = "bob@example.org";

/// Stores an email with one queued group for each recipient.
pub(in crate::delivery) async fn put_due(
    context: &Context,
    recipients: &[(RecipientKind, &str)],
) -> (EmailId, Vec<DueKey>) {
    let (id, now_ms) = (context.id(), context.now_ms());
    let recipient = |(group, (kind, address)): (usize, &(RecipientKind, &str))| RecipientRow {
        kind: *kind,
        group: u16::try_from(group).unwrap(),
        ..RecipientRow::example(address, RecipientState::Waiting { due_ms: now_ms }, LastEvent::Queued)
    };
    let row = EmailRow {
        created_ms: now_ms,
        from: "shop@example.net".into(),
        subject: "Hello".into(),
        ..EmailRow::example(recipients.iter().enumerate().map(recipient).collect(), LastEvent::Queued)
    };
    let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
    let key = |group| DueKey { lane, due_ms: now_ms, email: id, group };
    let keys: Vec<DueKey> = row.recipients.iter().map(|recipient| key(recipient.group)).collect();
    let putting = keys.clone();
    let put = move |tx: &WriteTx<'_>| {
        tx.put(&EMAILS, &(TEAM, id), &row)?;
        let due = |key: &DueKey| tx.put(&DUE, &key.parts(), &DueRow::fresh(TEAM, "example.com".into(), key.due_ms));
        putting.iter().try_for_each(due)
    };
    context.store.write::<_, StoreError>(put).await.unwrap();
    (id, keys)
}

async fn suppress(context: &Context, address: &str) {
    let (context, address) = (context.clone(), EmailAddress::parse(address).unwrap());
    let store = context.store.clone();
    let cause = SuppressionCause::listed(Origin::Manual, ChangeSource::Api);
    let add = move |tx: &WriteTx<'_>| suppressions::add(tx, &context, TEAM, &address, cause);
    store.write::<_, StoreError>(add).await.unwrap();
}

/// Claims the groups and returns the addresses of their recipients.
async fn claimed(context: &Context, keys: &[DueKey]) -> Vec<String> {
    let (claiming, keys) = (context.clone(), keys.to_vec());
    let claims = context.store.write::<_, StoreError>(move |tx| claim(tx, &claiming, &keys)).await.unwrap();
    claims.iter().flat_map(Claimed::addresses).collect()
}

pub(in crate::delivery) fn row(context: &Context, id: EmailId) -> EmailRow {
    context.store.read_now::<_, StoreError>(|tx| tx.get(&EMAILS, &(TEAM, id))).unwrap().unwrap()
}

#[tokio::test]
async fn an_address_suppressed_right_after_the_send_gets_no_message() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA), (RecipientKind::To, BOB)]).await;
    suppress(&context, ADA).await;

    assert_eq!(claimed(&context, &keys).await, [BOB]);

    let recipients = row(&context, id).recipients;
    assert_eq!((recipients[0].state, recipients[0].last_event), (RecipientState::Settled, LastEvent::Suppressed));
}

#[tokio::test]
async fn a_group_of_a_removed_team_leaves_the_queue_without_an_event() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let remove = |tx: &WriteTx<'_>| teams::remove(tx, TEAM, 0);
    context.store.write::<_, StoreError>(remove).await.unwrap();

    assert_eq!(claimed(&context, &keys).await, [] as [String; 0]);

    let key = keys[0];
    let read =
        |tx: &crate::store::ReadTx| Ok((tx.contains(&DUE, &key.parts())?, events::email_timeline(tx, id)?.len()));
    assert_eq!(context.store.read_now::<_, StoreError>(read).unwrap(), (false, 0));
    assert_eq!(row(&context, id).last_event, LastEvent::Queued);
}

#[tokio::test]
async fn a_suppressed_address_gets_no_message_after_the_clock_was_set_back() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let earlier = EmailRow { created_ms: context.now_ms() + 3_600_000, ..row(&context, id) };
    context.store.write::<_, StoreError>(move |tx| tx.put(&EMAILS, &(TEAM, id), &earlier)).await.unwrap();
    suppress(&context, ADA).await;

    assert_eq!(claimed(&context, &keys).await, [] as [String; 0]);
}

#[tokio::test]
async fn a_recipient_with_a_reported_outcome_is_settled_instead_of_requeued() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    for (last_event, state) in [
        (LastEvent::Sent, RecipientState::Waiting { due_ms: 7 }),
        (LastEvent::DeliveryDelayed, RecipientState::Waiting { due_ms: 7 }),
        (LastEvent::Delivered, RecipientState::Settled),
        (LastEvent::Bounced, RecipientState::Settled),
        (LastEvent::Complained, RecipientState::Settled),
        (LastEvent::Failed, RecipientState::Settled),
    ] {
        let mut row = row(&context, id);
        (row.recipients[0].state, row.recipients[0].last_event) = (RecipientState::InFlight, last_event);
        let key = keys[0];
        let requeueing = move |tx: &WriteTx<'_>| {
            let (mut row, due) = (row.clone(), DueRow::fresh(TEAM, "example.com".into(), 7));
            requeue(tx, &mut row, key.email, key.group, key.lane.class, 7, &due)?;
            Ok(row)
        };

        let row = context.store.write::<_, StoreError>(requeueing).await.unwrap();

        assert_eq!(row.recipients[0].state, state, "{last_event:?}");
    }
}

#[tokio::test]
async fn no_copies_are_sent_if_all_to_recipients_are_suppressed() {
    let (_directory, context) = Context::temporary();
    let (to, cc, bcc) = (RecipientKind::To, RecipientKind::Cc, RecipientKind::Bcc);
    let (id, keys) =
        put_due(&context, &[(to, ADA), (cc, BOB), (bcc, "eve@example.net"), (to, "joe@example.com")]).await;
    suppress(&context, ADA).await;
    suppress(&context, "joe@example.com").await;

    // The rule applies to whichever group is claimed first.
    assert_eq!(claimed(&context, &keys[1..2]).await, [] as [String; 0]);

    let row = row(&context, id);
    assert_eq!(row.last_event, LastEvent::Suppressed);
    assert!(row.recipients.iter().all(|recipient| recipient.state == RecipientState::Settled));
    assert!(row.recipients.iter().all(|recipient| recipient.last_event == LastEvent::Suppressed));
    assert_eq!(claimed(&context, &keys).await, [] as [String; 0]);
}

#[tokio::test]
async fn copies_are_sent_while_a_to_recipient_is_or_was_deliverable() {
    let (_directory, context) = Context::temporary();
    let (to, cc) = (RecipientKind::To, RecipientKind::Cc);
    let (_, keys) = put_due(&context, &[(to, ADA), (to, "joe@example.com"), (cc, BOB)]).await;
    suppress(&context, ADA).await;

    assert_eq!(claimed(&context, &keys[..1]).await, [] as [String; 0]);
    assert_eq!(claimed(&context, &keys[1..2]).await, ["joe@example.com"]);
    suppress(&context, "joe@example.com").await;
    assert_eq!(claimed(&context, &keys[2..]).await, [BOB]);
}

#[tokio::test]
async fn a_corrupt_email_does_not_stop_the_recovery() {
    let (_directory, context) = Context::temporary();
    let (corrupt, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let (other, other_keys) = put_due(&context, &[(RecipientKind::To, BOB)]).await;
    let claiming = context.clone();
    let lease = move |tx: &WriteTx<'_>| {
        claim(tx, &claiming, &[keys[0], other_keys[0]])?;
        tx.put_encoded(&EMAILS, &(TEAM, corrupt), &crate::store::Encoded::unreadable())?;
        for id in [corrupt, other] {
            let lease = tx.get(&LEASES, &(id, 0))?.unwrap();
            tx.put(&LEASES, &(id, 0), &LeaseRow { epoch: lease.epoch - 1, ..lease })?;
        }
        Ok(())
    };
    context.store.write::<_, StoreError>(lease).await.unwrap();

    assert_eq!(recover(&context).await.unwrap(), 2);

    assert!(matches!(row(&context, other).recipients[0].state, RecipientState::Waiting { .. }));
    let is_leased = context.store.read_now::<_, StoreError>(|tx| tx.contains(&LEASES, &(corrupt, 0)));
    assert!(!is_leased.unwrap());
}

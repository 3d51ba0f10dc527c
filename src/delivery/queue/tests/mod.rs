//! Claiming groups from the queue, and requeueing them. `broadcasts.rs`: groups of broadcasts. `broadcast_counts.rs`: the
//! counts of a broadcast. `unreadable.rs`: scans of groups that cannot be read.

mod broadcast_counts;
pub(in crate::delivery) mod broadcasts;
mod unreadable;

use std::time::Duration;

use super::stored_rows::rebuilt_row;
use super::*;
use crate::base::address::EmailAddress;
use crate::delivery::rows::Class;
use crate::events::{self, ChangeSource};
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::EMAILS;

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
    context.commit(put).await;
    (id, keys)
}

async fn suppress(context: &Context, address: &str) {
    let (adding, address) = (context.clone(), EmailAddress::parse(address).unwrap());
    let cause = SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api);
    context.commit(move |tx| suppressions::add(tx, &adding, TEAM, &address, cause)).await;
}

/// Claims the groups and returns the addresses of their recipients.
pub(in crate::delivery) async fn claimed(context: &Context, keys: &[DueKey]) -> Vec<String> {
    let (claiming, keys) = (context.clone(), keys.to_vec());
    let claims = context.commit(move |tx| claim(tx, &claiming, &keys)).await;
    claims.iter().flat_map(Claimed::addresses).collect()
}

pub(in crate::delivery) fn row(context: &Context, id: EmailId) -> EmailRow {
    context.read(|tx| tx.get(&EMAILS, &(TEAM, id))).unwrap()
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
    context.commit(|tx| teams::remove(tx, TEAM, 0)).await;

    assert_eq!(claimed(&context, &keys).await, [] as [String; 0]);

    let key = keys[0];
    let found = context.read(|tx| Ok((tx.contains(&DUE, &key.parts())?, events::email_timeline(tx, id)?.len())));
    assert_eq!(found, (false, 0));
    assert_eq!(row(&context, id).last_event, LastEvent::Queued);
}

#[tokio::test]
async fn a_suppressed_address_gets_no_message_after_the_clock_was_set_back() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let earlier = EmailRow { created_ms: context.now_ms() + 3_600_000, ..row(&context, id) };
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &earlier)).await;
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
            requeue(tx, &mut row, key.email, key.group, 7, &due)?;
            Ok(row)
        };

        let row = context.commit(requeueing).await;

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
            tx.put(&LEASES, &(id, 0), &LeaseRow { node: NodeId::new(99), ..lease })?;
        }
        Ok(())
    };
    context.commit(lease).await;

    assert_eq!(recover(&context).await.unwrap(), 2);

    assert!(matches!(row(&context, other).recipients[0].state, RecipientState::Waiting { .. }));
    assert!(!context.read(|tx| tx.contains(&LEASES, &(corrupt, 0))));
}

/// Leases an email to Ada in the name of another node.
async fn leased_by(context: &Context, node: NodeId) -> EmailId {
    let (id, keys) = put_due(context, &[(RecipientKind::To, ADA)]).await;
    claimed(context, &keys).await;
    let rename = move |tx: &WriteTx<'_>| {
        let lease = tx.get(&LEASES, &(id, 0))?.expect("a lease");
        tx.put(&LEASES, &(id, 0), &LeaseRow { node, ..lease })
    };
    context.commit(rename).await;
    id
}

/// Returns whether a group is in flight: it has a lease, and no row in the queue.
fn is_leased(context: &Context, id: EmailId) -> bool {
    let has_lease = context.read(|tx| tx.contains(&LEASES, &(id, 0)));
    assert_eq!(has_lease, row(context, id).recipients[0].state == RecipientState::InFlight);
    has_lease
}

#[tokio::test]
async fn only_the_leases_of_nodes_that_have_ended_are_recovered() {
    let (_directory, context) = Context::temporary();
    let [alive, ended] = [7, 8].map(NodeId::new);
    let own = leased_by(&context, context.store.node()).await;
    let [others, lost] = [leased_by(&context, alive).await, leased_by(&context, ended).await];
    let now_ms = context.now_ms();
    context.commit(move |tx| renew(tx, alive, now_ms)).await;

    assert_eq!(recover(&context).await.unwrap(), 1);
    assert_eq!([own, others, lost].map(|id| is_leased(&context, id)), [true, true, false]);
    let lanes = context.read(|tx| read_lanes(tx, None, 10));
    let due: Vec<_> = lanes.into_iter().map(|due| (due.key.email, due.key.due_ms)).collect();
    assert_eq!(due, [(lost, now_ms)], "the group is due immediately");

    // The other node is killed. The own one does not lose its lease, however long the attempt takes.
    context.clock.advance(Duration::from_secs(24 * 60 * 60));
    assert_eq!(recover(&context).await.unwrap(), 1);
    assert_eq!([own, others].map(|id| is_leased(&context, id)), [true, false]);
    assert_eq!(recover(&context).await.unwrap(), 0);
}

#[tokio::test]
async fn a_lane_is_found_although_its_first_row_is_corrupt() {
    let (_directory, context) = Context::temporary();
    let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let first = keys[0];
    context.corrupt(&DUE, first.parts()).await;
    let lanes = || context.read(|tx| read_lanes(tx, None, 10));

    // The email has the fields of the row.
    assert_eq!(lanes(), [Due { key: first, team: TEAM, destination: "example.com".into(), vanished: false }]);
    assert_eq!(claimed(&context, &keys).await, [ADA]);

    let orphan = DueKey { email: Id::MIN, due_ms: 0, ..first };
    let second = DueKey { due_ms: 1, ..orphan };
    let put = move |tx: &WriteTx<'_>| {
        tx.put_encoded(&DUE, &orphan.parts(), &crate::store::Encoded::unreadable())?;
        tx.put(&DUE, &second.parts(), &DueRow::fresh(TEAM, "example.com".into(), 1))
    };
    context.commit(put).await;
    assert_eq!(lanes(), [Due { key: second, team: TEAM, destination: "example.com".into(), vanished: false }]);
}

#[tokio::test]
async fn a_corrupt_row_gets_the_destination_of_the_recipient_that_waits() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, BOB), (RecipientKind::To, ADA)]).await;
    let mut released = row(&context, id);
    released.recipients[0].state = RecipientState::Settled;
    released.recipients[1].group = 0;
    released.recipients[1].destination = emails::QueueDestination::Release;
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &released)).await;

    let rebuilt = context.read(|tx| rebuilt_row(tx, keys[0]));

    assert_eq!(rebuilt.map(|due| due.destination), Some("release:example.com".to_owned()));
}

/// Leases an email to Ada, and makes the lease corrupt.
pub(in crate::delivery) async fn corruptly_leased(context: &Context) -> EmailId {
    let (id, keys) = put_due(context, &[(RecipientKind::To, ADA)]).await;
    claimed(context, &keys).await;
    let corrupt = move |tx: &WriteTx<'_>| {
        teams::put(tx, &teams::Team { id: TEAM, name: "one".into(), created_ms: 0 })?;
        tx.put_encoded(&LEASES, &(id, 0), &crate::store::Encoded::unreadable())
    };
    context.commit(corrupt).await;
    id
}

// A corrupt lease names no node, so that no recovery found it: its group was in flight forever.
#[tokio::test]
async fn a_group_with_a_corrupt_lease_is_requeued_unless_this_process_holds_it() {
    let (_directory, context) = Context::temporary();
    let [lost, held] = [corruptly_leased(&context).await, corruptly_leased(&context).await];

    assert_eq!(recover(&context).await.unwrap(), 0);
    assert_eq!(recover_corrupt(&context, |(email, _)| email == held).await.unwrap(), 1);

    assert_eq!([lost, held].map(|id| is_leased(&context, id)), [false, true]);
    let lane = LaneKey::new("example.com", Class::Transactional, TEAM.cast());
    let key = DueKey { lane, due_ms: context.now_ms(), email: lost, group: 0 };
    let due = context.read(|tx| tx.get(&DUE, &key.parts()));
    assert!(due.is_some_and(|due| due.possible_duplicate));
    assert_eq!(claimed(&context, &[key]).await, [ADA]);
}

#[tokio::test]
async fn a_corrupt_lease_waits_while_another_node_is_alive() {
    let (_directory, context) = Context::temporary();
    let leased = corruptly_leased(&context).await;
    let (other, now_ms) = (NodeId::MAX, context.now_ms());
    context.commit(move |tx| renew(tx, other, now_ms)).await;

    assert_eq!(recover_corrupt(&context, |_| false).await.unwrap(), 0);
    assert!(is_leased(&context, leased));

    context.clock.advance(Duration::from_secs(61));
    assert_eq!(recover_corrupt(&context, |_| false).await.unwrap(), 1);
}

#[tokio::test]
async fn a_claim_by_key_omits_the_groups_of_a_held_domain() {
    let (_directory, context) = Context::temporary();
    let (id, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
    let domain = QueueSelector::Domain("example.com".into());
    let (held, now_ms) = (domain.clone(), context.now_ms());
    context.commit(move |tx| add_hold(tx, &held, now_ms)).await;

    assert_eq!(claimed(&context, &keys).await, [] as [String; 0]);
    assert!(matches!(row(&context, id).recipients[0].state, RecipientState::Waiting { .. }));

    context.commit(move |tx| remove_hold(tx, &domain)).await;
    assert_eq!(claimed(&context, &keys).await, [ADA]);
}

//! Emails that have not settled at the time of the request.

use super::*;
use crate::base::address::AddressSet;
use crate::base::id::ErasureId;
use crate::emails::{EmailErasure, PreparedErasure, QueueDestination};
use crate::erasure::email_pages::PENDING_EMAILS_MAX;
use crate::events::{
    self, AudienceEvent, AudienceKind, AudienceSubject, ChangeSource, EmailEventKind, Event, EventDetail, EventTypes,
};
use crate::suppressions::{self, SuppressionCause, SuppressionOrigin};
use crate::tables::{AUDIENCE_EVENTS, EVENT_MESSAGES, SUPPRESSIONS};

async fn settle(context: &Context, id: EmailId) {
    let mut row = email_row(context, id);
    for recipient in &mut row.recipients {
        recipient.state = RecipientState::Settled;
    }
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &row)).await;
}

pub(super) fn listed(context: &Context) -> Vec<String> {
    let email_of = |event: AudienceEvent| match event.subject {
        AudienceSubject::Suppression(entry) => entry.email,
        AudienceSubject::Contact { .. } => panic!("no other events"),
    };
    context.rows(&AUDIENCE_EVENTS).into_iter().map(|(_, event)| email_of(event)).collect()
}

#[tokio::test]
async fn a_waiting_recipient_is_dropped_and_an_email_in_flight_is_unchanged_until_it_settles() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], RecipientState::Waiting { due_ms: 1 })).await;
    let in_flight = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let settled = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    let mut mixed = email(&["ada@example.com", "bob@example.com"], RecipientState::Waiting { due_ms: 1 });
    mixed.recipients[1].state = RecipientState::InFlight;
    let mixed = put_email(&context, mixed).await;
    let key = request(&context, &["ada@example.com"]).await;
    let run_rounds = async || {
        for _ in 0..3 {
            Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
        }
    };

    run_rounds().await;
    assert_eq!(mailboxes(&context, settled), ["[erased]"]);
    assert_eq!(mailboxes(&context, waiting), ["[erased]"]);
    assert_eq!(email_row(&context, waiting).recipients[0].state, RecipientState::Settled);
    assert_eq!(mailboxes(&context, mixed), ["[erased]", "bob@example.com"]);
    assert_eq!(email_row(&context, mixed).recipients[1].state, RecipientState::InFlight);
    assert_eq!(mailboxes(&context, in_flight), ["ada@example.com"]);
    assert_eq!(erasure(&context, key).unwrap().pending_emails, [in_flight, mixed]);
    settle(&context, in_flight).await;
    settle(&context, mixed).await;
    run_rounds().await;

    assert_eq!(mailboxes(&context, in_flight), ["[erased]"]);
    assert!(erasure(&context, key).is_none());
}

// The destination of a released message, and of an address that `--deliver-only` selects, is not a domain.
#[tokio::test]
async fn the_first_stage_drops_the_recipients_of_every_form_of_destination() {
    let (_directory, context) = Context::temporary();
    let mut queued = Vec::new();
    for destination in [QueueDestination::Domain, QueueDestination::Address, QueueDestination::Release] {
        let mut row = email(&["ada@example.com"], RecipientState::Waiting { due_ms: 1 });
        row.recipients[0].destination = destination;
        let id = put_email(&context, row).await;
        queue(&context, id).await;
        queued.push(id);
    }
    let key = request(&context, &["ada@example.com"]).await;

    step(&context, key).await;

    assert!(queued.iter().all(|id| mailboxes(&context, *id) == ["[erased]"]));
}

// The header of a message names all visible recipients. A message that was composed before the erasure arrived in the
// built-in mailbox after it, and stayed there with the address.
#[tokio::test]
async fn a_message_in_flight_to_another_recipient_leaves_no_captured_copy_with_the_address() {
    for is_queued in [false, true] {
        let (_directory, context) = Context::temporary();
        let mut row = email(&["ada@example.com", "bob@example.com"], RecipientState::Settled);
        row.recipients[1].state = RecipientState::InFlight;
        if is_queued {
            // The first stage already drops this recipient.
            row.recipients[0].state = RecipientState::Waiting { due_ms: 1 };
        }
        let mixed = put_email(&context, row).await;
        if is_queued {
            queue(&context, mixed).await;
        }
        let key = request(&context, &["ada@example.com"]).await;
        let run_rounds = async || {
            for _ in 0..3 {
                Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
            }
        };

        run_rounds().await;
        assert_eq!(mailboxes(&context, mixed), ["[erased]", "bob@example.com"]);
        let captured = effects::capture(&context, Some(mixed), &["bob@example.com"]).await;
        run_rounds().await;
        assert!(erasure(&context, key).is_some(), "the attempt has not ended");
        settle(&context, mixed).await;
        run_rounds().await;

        assert_eq!(effects::is_captured(&context, captured), [false; 2], "queued: {is_queued}");
        assert!(erasure(&context, key).is_none());
    }
}

#[tokio::test]
async fn an_email_whose_last_recipient_was_dropped_before_is_canceled() {
    let (_directory, context) = Context::temporary();
    let recipient = RecipientRow::example("ada@example.com", RecipientState::InFlight, LastEvent::DeliveryDelayed);
    let row = EmailRow::example(vec![recipient], LastEvent::DeliveryDelayed);
    let id = put_email(&context, row.clone()).await;
    let run: ErasureId = context.id();
    let addresses = AddressSet::new(&[address("ada@example.com")]);
    let prepare = || context.read(|tx| emails::prepare_erasure(tx, &context.keyring, TEAM, id, &addresses));
    let erase = async |prepared: PreparedErasure| {
        let (context, addresses) = (context.clone(), addresses.clone());
        let erasing = context.clone();
        let work = move |tx: &WriteTx<'_>| emails::erase(tx, &erasing, (TEAM, run), &prepared, &addresses, &mut 10);
        context.commit(work).await
    };
    let in_flight = prepare();
    // The attempt ends after the scan and before the transaction.
    let mut deferred = row;
    deferred.recipients[0].state = RecipientState::Waiting { due_ms: 1 };
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, id), &deferred)).await;

    assert_eq!(erase(in_flight).await, EmailErasure::NotSettled);
    for _ in 0..2 {
        assert_eq!(erase(prepare()).await, EmailErasure::Erased);
    }

    assert_eq!(email_row(&context, id).last_event, LastEvent::Canceled);
    let kinds: Vec<EmailEventKind> = effects::timeline(&context, id).into_iter().map(|event| event.kind).collect();
    assert_eq!(kinds, [EmailEventKind::Canceled]);
}

#[tokio::test]
async fn the_sender_of_an_email_in_progress_is_erased_after_it_settles() {
    let (_directory, context) = Context::temporary();
    let row = email(&["bob@example.com"], RecipientState::Waiting { due_ms: 1 });
    let id = put_email(&context, EmailRow { from: "Ada <ada@example.com>".into(), ..row }).await;
    let key = request(&context, &["ada@example.com"]).await;
    let run = async || Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    run().await;
    assert_eq!(email_row(&context, id).from.to_string(), "Ada <ada@example.com>");
    settle(&context, id).await;
    run().await;

    assert_eq!(email_row(&context, id).from.to_string(), "[erased]");
    assert!(erasure(&context, key).is_none());
}

#[tokio::test]
async fn a_bounce_of_a_pending_email_leaves_no_address() {
    let (_directory, context) = Context::temporary();
    let bounced = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    request(&context, &["ada@example.com", "bob@example.com"]).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
    let listing = context.clone();
    let list = move |tx: &WriteTx<'_>| {
        suppressions::add(tx, &listing, TEAM, &address("ada@example.com"), SuppressionCause::bounce(bounced))?;
        // The team adds this address after the request.
        let manual = SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api);
        suppressions::add(tx, &listing, TEAM, &address("bob@example.com"), manual)
    };
    context.commit(list).await;
    settle(&context, bounced).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(listed(&context), ["[erased]", "bob@example.com"]);
    assert_eq!(pending(&context).len(), 0);
}

/// Settles an email to one recipient as a delivery report does: with a suppression and an event.
pub(super) async fn report(context: &Context, id: EmailId, kind: EmailEventKind, cause: SuppressionCause) {
    let reporting = context.clone();
    let change = move |tx: &WriteTx<'_>| {
        let mut row = tx.get(&EMAILS, &(TEAM, id))?.unwrap();
        let mailbox = row.recipients[0].mailbox.to_string();
        suppressions::add(tx, &reporting, TEAM, &address(&mailbox), cause)?;
        let event = Event { kind, at_ms: 0, recipients: vec![mailbox], detail: EventDetail::None };
        emails::record(tx, &reporting, TEAM, id, &row, event)?;
        row.recipients[0].state = RecipientState::Settled;
        tx.put(&EMAILS, &(TEAM, id), &row)
    };
    context.commit(change).await;
}

/// Returns the event messages and the addresses of the suppression list.
pub(super) fn stored_data(context: &Context) -> (Vec<String>, Vec<Option<String>>) {
    let bodies = context.rows(&EVENT_MESSAGES).into_iter().map(|(_, row)| row.body).collect();
    (bodies, context.rows(&SUPPRESSIONS).into_iter().map(|(_, row)| row.email).collect())
}

#[tokio::test]
async fn a_report_between_the_request_and_the_scan_of_its_email_leaves_no_address() {
    let (_directory, context) = Context::temporary();
    let subscribing = context.clone();
    context.commit(move |tx| events::subscribe(tx, TEAM, (subscribing.id(), 0), EventTypes::all())).await;
    let to = async |mailbox, state| put_email(&context, email(&[mailbox], state)).await;
    let bounced = to("ada@example.com", RecipientState::InFlight).await;
    let complained = to("bob@example.com", RecipientState::Settled).await;
    let deleted = to("eve@example.com", RecipientState::Settled).await;
    let key = request(&context, &["ada@example.com", "bob@example.com", "eve@example.com", "dan@example.com"]).await;
    report(&context, bounced, EmailEventKind::Bounced, SuppressionCause::bounce(bounced)).await;
    report(&context, complained, EmailEventKind::Complained, SuppressionCause::complaint(complained)).await;
    report(&context, deleted, EmailEventKind::Complained, SuppressionCause::complaint(deleted)).await;
    // The email is from after the request.
    let later = to("dan@example.com", RecipientState::InFlight).await;
    report(&context, later, EmailEventKind::Bounced, SuppressionCause::bounce(later)).await;
    context.commit(move |tx| tx.delete(&EMAILS, &(TEAM, deleted))).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert_eq!(listed(&context), ["[erased]", "[erased]", "[erased]", "dan@example.com"]);
    let (bodies, entries) = stored_data(&context);
    assert_eq!(entries, [None, None, None, Some("dan@example.com".to_owned())]);
    assert_eq!(bodies.len(), 8, "{bodies:?}");
    let (erased, new) = bodies.split_at(6);
    assert!(erased.iter().all(|body| body.contains("[erased]") && !body.contains("@example.com")), "{erased:?}");
    assert!(new.iter().all(|body| body.contains("dan@example.com")), "{new:?}");
}

#[tokio::test]
async fn more_pending_emails_than_one_row_lists_are_erased_too() {
    let (_directory, context) = Context::temporary();
    let count = PENDING_EMAILS_MAX + 5;
    let ids: Vec<EmailId> = (0..count).map(|_| context.id()).collect();
    let (writing, row) = (ids.clone(), email(&["ada@example.com"], RecipientState::InFlight));
    context.commit(move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    let key = request(&context, &["ada@example.com"]).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();
    assert_eq!(erasure(&context, key).unwrap().pending_emails, ids[..PENDING_EMAILS_MAX]);
    let (writing, row) = (ids.clone(), email(&["ada@example.com"], RecipientState::Settled));
    context.commit(move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    let last = ids[count - 1];
    report(&context, last, EmailEventKind::Bounced, SuppressionCause::bounce(last)).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert!(ids.iter().all(|id| mailboxes(&context, *id) == ["[erased]"]));
    assert_eq!((listed(&context), stored_data(&context).1), (vec!["[erased]".to_owned()], vec![None]));
}

#[tokio::test]
async fn other_data_is_erased_before_the_pending_emails_settle() {
    let (_directory, context) = Context::temporary();
    let row = email(&["ada@example.com"], RecipientState::InFlight);
    let pending: Vec<EmailId> = (0..PENDING_EMAILS_MAX + 150).map(|_| context.id()).collect();
    let writing = pending.clone();
    context.commit(move |tx| writing.iter().try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    let settled = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    let captured = effects::capture(&context, None, &["ada@example.com"]).await;
    effects::record_contact_event(&context, AudienceKind::ContactDeleted, "ada@example.com").await;
    let key = request(&context, &["ada@example.com"]).await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(mailboxes(&context, settled), ["[erased]"]);
    assert_eq!(effects::is_captured(&context, captured), [false; 2]);
    assert_eq!(effects::contact_events(&context), ["\"[erased]\" null null"]);
    let row = erasure(&context, key).unwrap();
    assert_eq!(row.pending_emails, pending[..PENDING_EMAILS_MAX]);
    assert_eq!(row.resume_after, Some(pending[PENDING_EMAILS_MAX - 1]));
    // The scan for the others starts when half of the listed emails have been erased.
    let half = pending[..PENDING_EMAILS_MAX / 2].to_vec();
    let row = email(&["ada@example.com"], RecipientState::Settled);
    let last = pending[PENDING_EMAILS_MAX + 149];
    context.commit(move |tx| half.iter().chain([&last]).try_for_each(|id| tx.put(&EMAILS, &(TEAM, *id), &row))).await;
    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(mailboxes(&context, last), ["[erased]"]);
    let row = erasure(&context, key).unwrap();
    assert_eq!(row.pending_emails, pending[PENDING_EMAILS_MAX / 2..PENDING_EMAILS_MAX + 149]);
    assert_eq!(row.resume_after, None);
}

#[tokio::test]
async fn the_delay_of_a_waiting_erasure_grows() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    for _ in 0..20 {
        erasures.run_round().await.unwrap();
    }
    settle(&context, waiting).await;

    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.run_round().await.unwrap();
        rounds += 1;
        assert!(rounds <= 64);
    }

    assert!(rounds > 5, "{rounds}");
}

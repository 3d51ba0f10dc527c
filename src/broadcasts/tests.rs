//! The statuses of a broadcast, and the conditions of a send.

use std::sync::{Arc, Mutex};

use super::planner::SendLimits;
use super::*;
use crate::audit::{Actor, AuditFilter, AuditLog};
use crate::base::address::{EmailAddress, Mailbox};
use crate::base::id::{BroadcastId, ContactId, EmailId, Id, SegmentId, TeamId, TopicId};
use crate::base::patch::Patch;
use crate::base::sync;
use crate::broadcast_rows::*;
use crate::contacts::ContactRow;
use crate::context::Context;
use crate::domains::{SenderDomainRow, SenderTracking};
use crate::emails::{BroadcastEmailRow, BroadcastPause, NeverPaused, Sender, SendingGuard, SendingPause};
use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
use crate::segments::Segments;
use crate::store::page::{Cursor, PageQuery};
use crate::store::{ReadTx, Reads as _, StoreError, WriteTx, name_hash};
use crate::tables::{
    BROADCAST_COUNTS, BROADCAST_DOMAINS, BROADCAST_EMAILS, BROADCAST_FAN_OUTS, BROADCAST_OUTCOMES, CONTACTS,
    SENDER_DOMAINS,
};

const TEAM: TeamId = Id::MIN;
const SENDER: Sender = Sender { team: TEAM, actor: Actor::CommandLine, key: None, domain: None };

/// Guard whose pause a test sets.
#[derive(Default)]
struct SetPause(Mutex<Option<SendingPause>>);

impl SendingGuard for SetPause {
    fn sending_pause(&self, _tx: &WriteTx<'_>, _team: TeamId) -> Result<Option<SendingPause>, StoreError> {
        Ok(sync::lock(&self.0).clone())
    }
}

/// Returns broadcasts whose links are at `public_url`.
fn broadcasts(context: &Context, public_url: &str, limits: SendLimits, guard: Arc<dyn SendingGuard>) -> Broadcasts {
    let settings = LinkSettings { public_url: public_url.into(), audience: LinkAudience::Delivered };
    Broadcasts::new(
        context.clone(),
        PreferenceLinks::new(context.keyring.clone(), settings),
        Arc::new(Segments::new(context.clone(), |_, _, _| Ok(false))),
        SendEstimates::new(limits, 30),
        guard,
        Arc::default(),
    )
}

fn reachable(context: &Context) -> Broadcasts {
    broadcasts(context, "https://mail.example.com", SendLimits::default(), Arc::new(NeverPaused))
}

fn draft(text: Option<&str>) -> NewBroadcast {
    NewBroadcast {
        name: None,
        from: Mailbox::parse("news@example.com").unwrap(),
        subject: "June".into(),
        reply_to: Vec::new(),
        preview_text: None,
        segment: None,
        topic: None,
        content: BroadcastContent { html: None, text: text.map(Into::into), source: None },
    }
}

/// Adds contacts; the first `unsubscribed` of them have opted out.
async fn add_contacts(context: &Context, contacts: usize, unsubscribed: usize) {
    let ids: Vec<ContactId> = (0..contacts).map(|_| context.id()).collect();
    let add = move |tx: &WriteTx<'_>| {
        ids.iter().enumerate().try_for_each(|(number, id)| {
            let contact = ContactRow::new(EmailAddress::parse(&format!("c{number}@example.net")).unwrap());
            let unsubscribed_ms = (number < unsubscribed).then_some(1);
            tx.put(&CONTACTS, &(TEAM, *id), &ContactRow { unsubscribed_ms, ..contact })
        })
    };
    context.commit(add).await;
}

async fn verify_domain(context: &Context) {
    let tracking = SenderTracking::default();
    let domain = SenderDomainRow { id: Id::MIN, verified: true, tracked: false, ed25519: false, tracking };
    context.commit(move |tx| tx.put(&SENDER_DOMAINS, &(TEAM, name_hash("example.com")), &domain)).await;
}

async fn set_status(context: &Context, id: BroadcastId, status: BroadcastStatus) {
    let set = move |tx: &WriteTx<'_>| {
        let row = find(tx, TEAM, id)?.unwrap();
        put(tx, TEAM, id, &BroadcastRow { status, ..row })
    };
    context.commit(set).await;
}

fn status(context: &Context, id: BroadcastId) -> Option<BroadcastStatus> {
    context.read(|tx| find(tx, TEAM, id)).map(|row| row.status)
}

#[tokio::test]
async fn each_call_accepts_only_its_statuses() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    verify_domain(&context).await;
    let name = || BroadcastChanges { name: Patch::Set(BroadcastName::parse("New").unwrap()), ..Default::default() };
    for before in BroadcastStatus::ALL {
        let is_draft = before == BroadcastStatus::Draft;
        let new = async || {
            let id = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();
            set_status(&context, id, before).await;
            id
        };

        let id = new().await;
        let updated = broadcasts.update(SENDER, id, name()).await;
        assert!(if is_draft {
            updated.is_ok()
        } else {
            matches!(updated, Err(DraftError::NotDraft(it)) if it == before)
        });
        assert_eq!(status(&context, id), Some(before));

        let id = new().await;
        let sent = broadcasts.send(SENDER, id, None).await;
        assert_eq!(sent.is_ok(), is_draft, "{before:?}");
        assert_eq!(status(&context, id), Some(if is_draft { BroadcastStatus::Queued } else { before }));

        let id = new().await;
        let is_started = matches!(before, BroadcastStatus::Scheduled | BroadcastStatus::Queued);
        let canceled = broadcasts.cancel(SENDER, id).await;
        assert_eq!(canceled.is_ok(), is_started, "{before:?}");
        assert_eq!(status(&context, id), Some(if is_started { BroadcastStatus::Canceled } else { before }));

        let id = new().await;
        assert_eq!(broadcasts.delete(SENDER, id).await.is_ok(), is_draft, "{before:?}");
        assert_eq!(status(&context, id), (!is_draft).then_some(before));

        let id = new().await;
        let copy = broadcasts.duplicate(SENDER, id).await.unwrap();
        assert_eq!((status(&context, copy), status(&context, id)), (Some(BroadcastStatus::Draft), Some(before)));
    }
}

#[tokio::test]
async fn the_conditions_of_a_send_are_checked_in_order() {
    let (_directory, context) = Context::temporary();
    let guard = Arc::new(SetPause::default());
    let pause = |pause| *sync::lock(&guard.0) = pause;
    let one_a_day = SendLimits { per_second: None, per_day: Some(1) };
    let unreachable = broadcasts(&context, "http://127.0.0.1", one_a_day, guard.clone());
    let limited = broadcasts(&context, "https://mail.example.com", one_a_day, guard.clone());
    let unlimited = broadcasts(&context, "https://mail.example.com", SendLimits::default(), guard.clone());
    add_contacts(&context, 5, 0).await;
    let id = limited.create(SENDER, draft(None)).await.unwrap();
    let scoped = Sender { domain: Some(Id::MAX), ..SENDER };

    pause(Some(SendingPause::example()));
    let refused = unreachable.send(scoped, id, None).await;
    assert!(matches!(refused, Err(SendBroadcastError::Link(_))), "{refused:?}");
    let refused = limited.send(scoped, id, None).await;
    assert!(matches!(refused, Err(SendBroadcastError::Paused(BroadcastPause::Team(_)))), "{refused:?}");
    pause(None);
    let refused = limited.send(scoped, id, None).await;
    assert!(matches!(&refused, Err(SendBroadcastError::DomainNotVerified(it)) if it == "example.com"), "{refused:?}");
    verify_domain(&context).await;
    let refused = limited.send(scoped, id, None).await;
    assert!(matches!(refused, Err(SendBroadcastError::KeyOfAnotherDomain)), "{refused:?}");
    let refused = limited.send(SENDER, id, None).await;
    assert!(matches!(refused, Err(SendBroadcastError::NoContent)), "{refused:?}");
    let changes = BroadcastChanges { text: Patch::Set("Hi".into()), ..Default::default() };
    limited.update(SENDER, id, changes).await.unwrap();
    let refused = limited.send(SENDER, id, None).await;
    assert!(matches!(refused, Err(SendBroadcastError::TooLarge(24))), "{refused:?}");
    assert_eq!(status(&context, id), Some(BroadcastStatus::Draft));
    let is_queued = |tx: &ReadTx| tx.contains(&BROADCAST_FAN_OUTS, &(id,));
    assert!(!context.read(is_queued));

    let plan = unlimited.send(SENDER, id, None).await.unwrap();

    assert!(plan.finishes_ms.is_some_and(|finishes_ms| finishes_ms > context.now_ms()));
    assert!(context.read(is_queued));
    assert_eq!(status(&context, id), Some(BroadcastStatus::Queued));
}

#[tokio::test]
async fn a_sent_broadcast_stores_what_the_emails_need() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    verify_domain(&context).await;
    // A key that is revoked during the request.
    let key = Sender { actor: Actor::ApiKey(Id::MAX), key: Some(Id::MAX), ..SENDER };
    let new = NewBroadcast { subject: "{{{PLAN}}} for {{{EMAIL}}}".into(), ..draft(Some("Hi {{{FIRST_NAME|you}}}")) };
    let id = broadcasts.create(key, new).await.unwrap();
    let due_ms = context.now_ms() + 3_600_000;

    broadcasts.send(key, id, Some(due_ms)).await.unwrap();

    let (row, fan_out) = context.read(|tx| Ok((find(tx, TEAM, id)?.unwrap(), tx.get(&BROADCAST_FAN_OUTS, &(id,))?)));
    assert_eq!((row.status, row.scheduled_ms), (BroadcastStatus::Scheduled, Some(due_ms)));
    assert_eq!((row.key, row.domain), (key.key, Some(Id::MIN)));
    let entries = AuditLog::new(context.clone()).list(TEAM, AuditFilter::default(), None, 1).await.unwrap();
    assert_eq!(entries.rows[0].actor, key.actor);
    assert_eq!(row.fields, ["FIRST_NAME", "PLAN"]);
    assert_eq!(fan_out, Some(FanOutRow { is_scheduled: true, ..FanOutRow::due(TEAM, due_ms) }));
}

#[tokio::test]
async fn the_audience_has_the_contacts_that_receive_the_broadcast() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    verify_domain(&context).await;
    add_contacts(&context, 7, 3).await;
    let id = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();

    broadcasts.send(SENDER, id, Some(context.now_ms() + 1_000)).await.unwrap();

    let (broadcast, _) = broadcasts.find(TEAM, id).await.unwrap().unwrap();
    assert_eq!(broadcast.row.audience, 4);
    assert!(broadcast.finishes_ms.is_some());
    assert_eq!(broadcasts.cancel(SENDER, id).await.unwrap(), 4);
}

#[tokio::test]
async fn recipients_are_listed_by_outcome_and_address() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    let id = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();
    add_contacts(&context, 1, 0).await;
    let contact = context.read(|tx| crate::contacts::newest(tx, TEAM)).unwrap();
    let emails: Vec<EmailId> = (0..4).map(|_| context.id()).collect();
    let stored = emails.clone();
    let store = move |tx: &WriteTx<'_>| {
        let outcomes = [("delivered", true), ("suppressed", false), ("queued", false), ("delivered", true)];
        for (number, (email, (event, is_attempted))) in stored.iter().zip(outcomes).enumerate() {
            let contact = if number == 0 { contact } else { ContactId::MAX };
            let row = serde_json::json!({
                "b": id, "c": contact, "a": format!("C{number}@example.net"), "e": event, "t": is_attempted,
                "u": (number == 3).then_some(1),
            });
            let row: BroadcastEmailRow = serde_json::from_value(row).unwrap();
            tx.put(&BROADCAST_EMAILS, &(TEAM, *email), &row)?;
        }
        tx.put(&BROADCAST_OUTCOMES, &(id, BroadcastOutcome::Suppressed.number(), stored[1]), &())?;
        // The list of opt-outs.
        tx.put(&BROADCAST_OUTCOMES, &(id, 10, stored[3]), &())?;
        let range = Some((stored[0], stored[3]));
        let counts = BroadcastCountsRow { range, attempted: 2, ..BroadcastCountsRow::default() };
        tx.put(&BROADCAST_COUNTS, &(id,), &counts)
    };
    context.commit(store).await;
    for (kind, address, expected) in [
        (RecipientType::Sent, None, vec![3, 0]),
        (RecipientType::Delivered, None, vec![3, 0]),
        (RecipientType::Delivered, Some("c3@"), vec![3]),
        (RecipientType::Suppressed, None, vec![1]),
        (RecipientType::Bounced, None, vec![]),
        (RecipientType::Opened, None, vec![]),
        (RecipientType::Unsubscribed, None, vec![3]),
    ] {
        let filter = RecipientFilter { kind, address: address.map(Into::into), bounce: None };
        let query = PageQuery { limit: 10, cursor: Cursor::Newest };

        let page = broadcasts.recipients(TEAM, id, filter, query).await.unwrap().unwrap();

        let found: Vec<EmailId> = page.rows.iter().map(|recipient| recipient.email).collect();
        assert_eq!(found, expected.iter().map(|number| emails[*number]).collect::<Vec<_>>(), "{kind:?} {address:?}");
        for recipient in page.rows {
            assert_eq!(recipient.contact, (recipient.email == emails[0]).then_some(contact));
        }
    }
    let filter = RecipientFilter { kind: RecipientType::Sent, address: None, bounce: None };
    let query = PageQuery { limit: 1, cursor: Cursor::After(emails[3]) };
    let page = broadcasts.recipients(TEAM, id, filter.clone(), query).await.unwrap().unwrap();
    assert_eq!((page.rows[0].address.as_str(), page.has_more), ("C0@example.net", false));
    assert!(broadcasts.recipients(Id::MAX, id, filter, query).await.unwrap().is_none());
}

#[tokio::test]
async fn concurrent_updates_of_html_and_text_are_both_stored() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    let id = broadcasts.create(SENDER, draft(None)).await.unwrap();
    let html = BroadcastChanges { html: Patch::Set("<p>Hi</p>".into()), ..Default::default() };
    let text = BroadcastChanges { text: Patch::Set("Hi".into()), ..Default::default() };

    let (html, text) = tokio::join!(broadcasts.update(SENDER, id, html), broadcasts.update(SENDER, id, text));

    html.unwrap();
    text.unwrap();
    let (_, content) = broadcasts.find(TEAM, id).await.unwrap().unwrap();
    assert_eq!((content.html.as_deref(), content.text.as_deref()), (Some("<p>Hi</p>"), Some("Hi")));
}

#[tokio::test]
async fn of_two_changes_of_the_same_revision_one_is_stored() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    let id = broadcasts.create(SENDER, draft(None)).await.unwrap();
    let on_first = BroadcastChanges { revision: Some(0), ..Default::default() };
    let html = BroadcastChanges { html: Patch::Set("<p>Hi</p>".into()), ..on_first.clone() };
    let subject = BroadcastChanges { subject: Some("July".into()), ..on_first };

    let (html, subject) = tokio::join!(broadcasts.update(SENDER, id, html), broadcasts.update(SENDER, id, subject));

    let (row, content) = broadcasts.read_draft(TEAM, id).await.unwrap().unwrap();
    assert_eq!(row.revision, 1);
    let (stored, refused) = if content.html.is_some() { (html, subject) } else { (subject, html) };
    assert_eq!(content.html.is_some(), row.subject == "June");
    assert!(matches!(stored, Ok(1)) && matches!(refused, Err(DraftError::StaleRevision)), "{stored:?} {refused:?}");
}

#[tokio::test]
async fn a_topic_is_in_use_until_the_broadcast_ends() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    let id = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();
    let (segment, topic): (SegmentId, TopicId) = (context.id(), context.id());
    let target = move |tx: &WriteTx<'_>| {
        let row = find(tx, TEAM, id)?.unwrap();
        put(tx, TEAM, id, &BroadcastRow { segment: Some(segment), topic: Some(topic), ..row })
    };
    context.commit(target).await;
    for status in BroadcastStatus::ALL {
        set_status(&context, id, status).await;

        let used = context.read(|tx| {
            assert!(!uses_segment(tx, TEAM, context.id())? && !uses_topic(tx, Id::MAX, topic)?);
            Ok([uses_segment(tx, TEAM, segment)?, uses_topic(tx, TEAM, topic)?, has_started(tx, TEAM)?])
        });
        let is_used = status.is_active();
        let expected = [is_used, is_used, status.is_started()];
        assert_eq!(used, expected, "{status:?}");
    }
}

#[tokio::test]
async fn a_team_has_at_most_1000_active_broadcasts() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    let last = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();
    let ids: Vec<BroadcastId> = (1..ACTIVE_MAX).map(|_| context.id()).collect();
    let fill = move |tx: &WriteTx<'_>| {
        let row = find(tx, TEAM, last)?.unwrap();
        ids.iter().try_for_each(|id| put(tx, TEAM, *id, &row))
    };
    context.commit(fill).await;

    let refused = broadcasts.create(SENDER, draft(None)).await;
    assert!(matches!(refused, Err(DraftError::TooMany)), "{refused:?}");
    let refused = broadcasts.duplicate(SENDER, last).await;
    assert!(matches!(refused, Err(DraftError::TooMany)), "{refused:?}");
    broadcasts.create(Sender { team: Id::MAX, ..SENDER }, draft(None)).await.unwrap();
    set_status(&context, last, BroadcastStatus::Sent).await;
    broadcasts.create(SENDER, draft(None)).await.unwrap();
}

#[tokio::test]
async fn the_rows_of_a_removed_team_are_deleted() {
    let (_directory, context) = Context::temporary();
    let broadcasts = reachable(&context);
    verify_domain(&context).await;
    let mut of_corrupt = (Id::MIN, BroadcastOutcome::Bounced.number(), EmailId::MAX);
    for _ in 0..20 {
        let id = broadcasts.create(SENDER, draft(Some("Hi"))).await.unwrap();
        broadcasts.send(SENDER, id, None).await.unwrap();
        of_corrupt.0 = id;
        let fill = move |tx: &WriteTx<'_>| {
            tx.put(&BROADCAST_OUTCOMES, &of_corrupt, &())?;
            tx.put(&BROADCAST_DOMAINS, &(id, [7; 32]), &BroadcastDomainRow::default())
        };
        context.commit(fill).await;
    }
    let kept = broadcasts.create(Sender { team: Id::MAX, ..SENDER }, draft(Some("Hi"))).await.unwrap();

    let (mut deleted, mut page) = (0, 1);
    while page > 0 {
        page = context.store.write_bulk(|tx| delete_page_of_team(tx, TEAM)).await.unwrap();
        deleted += page;
    }

    assert_eq!(deleted, 20);
    assert!(!context.read(|tx| tx.contains(&BROADCAST_OUTCOMES, &of_corrupt)));
    let domain = (of_corrupt.0, [7; 32]);
    assert!(!context.read(|tx| tx.contains(&BROADCAST_DOMAINS, &domain)));
    assert!(!context.read(|tx| has_started(tx, TEAM)));
    let (_, content) = broadcasts.find(Id::MAX, kept).await.unwrap().unwrap();
    assert_eq!(content.text.as_deref(), Some("Hi"));
}

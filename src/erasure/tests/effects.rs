//! The effect of an erasure on each kind of data.

use super::*;
use crate::base::address::StoredMailbox;
use crate::base::id::CapturedId;
use crate::delivery::{CapturedRow, SmtpAttemptRow};
use crate::emails::AttachmentInfo;
use crate::events::{
    self, AudienceEvent, AudienceKind, AudienceSubject, Bounce, BounceType, ChangeSource, ContactSnapshot,
    EmailEventKind, Event, EventDetail, TopicSnapshot,
};
use crate::store::Blob;
use crate::suppressions::{self, SendKind, SuppressionCause, SuppressionOrigin};
use crate::tables::{ATTACHMENTS, ATTEMPTS, AUDIENCE_EVENTS, CAPTURED, CAPTURED_MESSAGES, EMAIL_BODIES};
use crate::teams;

const SETTLED: RecipientState = RecipientState::Settled;

fn attempt(summary: &str, transcript: &str) -> SmtpAttemptRow {
    SmtpAttemptRow {
        at_ms: 0,
        group: 0,
        number: 1,
        site: Some("example.net".into()),
        source: None,
        host: Some("mx.example.net".into()),
        address: Some("192.0.2.1:25".into()),
        tls: None,
        tls_downgraded: false,
        possible_duplicate: false,
        tried_recipients: Vec::new(),
        summary: summary.into(),
        deferral_reason: None,
        transcript: transcript.into(),
    }
}

pub(super) async fn record(context: &Context, email: EmailId, recipients: &[&str], detail: EventDetail) {
    let event = Event {
        kind: EmailEventKind::Bounced,
        at_ms: 0,
        recipients: recipients.iter().map(|text| (*text).to_owned()).collect(),
        detail,
    };
    let recording = context.clone();
    let headers = || unreachable!("no endpoint is subscribed");
    context.commit(move |tx| events::record(tx, &recording, TEAM, email, event.clone(), headers)).await;
}

pub(super) fn timeline(context: &Context, email: EmailId) -> Vec<Event> {
    context.read(|tx| events::email_timeline(tx, email))
}

async fn put_content(context: &Context, email: EmailId, attachment_chunks: u32) {
    let put = move |tx: &WriteTx<'_>| {
        tx.put(&EMAIL_BODIES, &(email, 0), &Blob(vec![1]))?;
        (0..attachment_chunks).try_for_each(|chunk| tx.put(&ATTACHMENTS, &(email, 0, chunk), &Blob(vec![1])))
    };
    context.commit(put).await;
}

fn chunks(context: &Context, email: EmailId) -> usize {
    let bodies = context.keys(&EMAIL_BODIES).into_iter().filter(|(of, _)| *of == email).count();
    bodies + context.keys(&ATTACHMENTS).into_iter().filter(|(of, ..)| *of == email).count()
}

pub(super) async fn capture(context: &Context, email: Option<EmailId>, recipients: &[&str]) -> CapturedId {
    let id: CapturedId = context.id();
    let recipients = recipients.iter().map(|text| (*text).to_owned()).collect();
    let row = CapturedRow {
        received_ms: 0,
        sender: "b@send.example.org".into(),
        recipients,
        email,
        size: 1,
        released_ms: None,
        from: None,
        subject: None,
    };
    let put = move |tx: &WriteTx<'_>| {
        tx.put(&CAPTURED, &(id,), &row)?;
        tx.put(&CAPTURED_MESSAGES, &(id, 0), &Blob(vec![1]))
    };
    context.commit(put).await;
    id
}

pub(super) fn is_captured(context: &Context, id: CapturedId) -> [bool; 2] {
    context.read(|tx| Ok([tx.contains(&CAPTURED, &(id,))?, tx.contains(&CAPTURED_MESSAGES, &(id, 0))?]))
}

pub(super) async fn record_contact_event(context: &Context, kind: AudienceKind, email: &str) {
    let contact = ContactSnapshot {
        id: context.id(),
        email: email.into(),
        first_name: Some("Ada".into()),
        last_name: Some("Lovelace".into()),
        unsubscribed: false,
        updated_ms: 0,
        segments: Vec::new(),
    };
    let topic = Some(TopicSnapshot { id: Id::MIN, name: "News".into() });
    let subject = AudienceSubject::Contact { contact, source: ChangeSource::Api, topic };
    let (recording, event) = (context.clone(), AudienceEvent { kind, at_ms: 0, subject });
    context.commit(move |tx| events::record_audience(tx, &recording, TEAM, &event)).await;
}

/// Returns the address and the names in each event about a contact or a suppression.
pub(super) fn contact_events(context: &Context) -> Vec<String> {
    let keys = context.keys(&AUDIENCE_EVENTS).into_iter();
    let events = keys.filter_map(|key| context.read(|tx| tx.get_valid(&AUDIENCE_EVENTS, &key)));
    let data = events.map(|event| event.payload(TEAM)["data"].clone());
    data.map(|data| format!("{} {} {}", data["email"], data["first_name"], data["last_name"])).collect()
}

fn file(name: &str, content_id: Option<&str>) -> AttachmentInfo {
    let content_id = content_id.map(ToOwned::to_owned);
    AttachmentInfo { id: Id::MIN, filename: name.to_owned(), size: 1, content_type: "a/b".to_owned(), content_id }
}

#[tokio::test]
async fn the_address_is_erased_from_every_field_of_an_email() {
    let (_directory, context) = Context::temporary();
    let row = EmailRow {
        from: "Ada <ADA@example.com>".into(),
        reply_to: vec!["bob@example.com".into(), "ada@example.com".into()],
        subject: "For Ada@Example.com".into(),
        attachments: vec![
            file("ada@example.com.pdf", None),
            file("bob.pdf", Some("ada@example.com")),
            file("logo.png", Some("logo")),
        ],
        ..email(&["\"Lovelace, Ada\" <Ada@example.com>", "Bob <bob@example.com>", "nada@example.com"], SETTLED)
    };
    let id = put_email(&context, row).await;

    erase(&context, &["aDa@example.COM"]).await;

    let row = email_row(&context, id);
    assert_eq!(row.from.to_string(), "[erased]");
    assert_eq!(row.reply_to, ["bob@example.com", "[erased]"].map(StoredMailbox::from));
    assert_eq!(row.subject, "For [erased]");
    assert_eq!(mailboxes(&context, id), ["[erased]", "Bob <bob@example.com>", "nada@example.com"]);
    let names: Vec<&str> = row.attachments.iter().map(|info| info.filename.as_str()).collect();
    assert_eq!(names, ["[erased]", "bob.pdf", "logo.png"]);
    let content_ids: Vec<Option<&str>> = row.attachments.iter().map(|info| info.content_id.as_deref()).collect();
    assert_eq!(content_ids, [None, Some("[erased]"), Some("logo")]);
    let part_ids: Vec<Option<&str>> = row.attachments.iter().map(AttachmentInfo::part_content_id).collect();
    assert_eq!(part_ids, [None, None, Some("logo")]);
    assert_eq!(pending(&context).len(), 0);
}

#[tokio::test]
async fn texts_of_events_and_attempts_that_contain_the_address_are_erased() {
    let (_directory, context) = Context::temporary();
    // Only the replies about the email contain the address, not its row.
    let id = put_email(&context, email(&["bob@example.com"], SETTLED)).await;
    let reply = || "550 5.1.1 forwarded to ADA@example.com".to_owned();
    let bounce = Bounce {
        message: reply(),
        bounce_type: BounceType::Permanent,
        subtype: "General".into(),
        diagnostic: vec!["smtp; 550 No".into(), reply()],
    };
    record(&context, id, &["bob@example.com", "ada@example.com"], EventDetail::Bounce(bounce)).await;
    record(&context, id, &["bob@example.com"], EventDetail::Reply { reply: reply() }).await;
    let failed = EventDetail::Failed { reason: "expired".into(), diagnostic: vec![reply(), "Later".into()] };
    record(&context, id, &[], failed).await;
    let (one, two) = (context.id(), context.id());
    let put = move |tx: &WriteTx<'_>| {
        let refused = attempt("refused <ada@example.com>", "RCPT TO:<Ada@example.com>");
        let deferral_reason = Some("451 later for ada@example.com".to_owned());
        tx.put(&ATTEMPTS, &(id, one), &SmtpAttemptRow { deferral_reason, ..refused })?;
        tx.put(&ATTEMPTS, &(id, two), &attempt("delivered", "RCPT TO:<bob@example.com>"))
    };
    context.commit(put).await;

    erase(&context, &["ada@example.com"]).await;

    let erased = || "[erased]".to_owned();
    let events = timeline(&context, id);
    assert_eq!(events[0].recipients, ["bob@example.com", "[erased]"]);
    let EventDetail::Bounce(bounce) = &events[0].detail else { panic!("a bounce") };
    assert_eq!((&bounce.message, &bounce.diagnostic), (&erased(), &vec!["smtp; 550 No".to_owned(), erased()]));
    assert_eq!(bounce.subtype, "General");
    assert_eq!(events[1].detail, EventDetail::Reply { reply: erased() });
    let failed = EventDetail::Failed { reason: "expired".into(), diagnostic: vec![erased(), "Later".into()] };
    assert_eq!(events[2].detail, failed);
    let attempt_texts = |key| {
        let row = context.read(|tx| tx.get(&ATTEMPTS, &(id, key))).unwrap();
        (row.summary, row.transcript, row.deferral_reason)
    };
    assert_eq!(attempt_texts(one), (erased(), erased(), Some(erased())));
    assert_eq!(attempt_texts(two), ("delivered".to_owned(), "RCPT TO:<bob@example.com>".to_owned(), None));
}

#[tokio::test]
async fn content_is_deleted_when_the_last_recipient_is_erased() {
    let (_directory, context) = Context::temporary();
    let alone = put_email(&context, email(&["ada@example.com"], SETTLED)).await;
    let shared = put_email(&context, email(&["ada@example.com", "bob@example.com"], SETTLED)).await;
    // More chunks than one transaction deletes.
    put_content(&context, alone, 600).await;
    put_content(&context, shared, 2).await;

    erase(&context, &["ada@example.com"]).await;
    assert_eq!((chunks(&context, alone), chunks(&context, shared)), (0, 3));
    assert_eq!(mailboxes(&context, shared), ["[erased]", "bob@example.com"]);
    erase(&context, &["bob@example.com"]).await;

    assert_eq!(chunks(&context, shared), 0);
    assert_eq!(mailboxes(&context, shared), ["[erased]", "[erased]"]);
}

#[tokio::test]
async fn captured_messages_are_deleted_except_those_of_other_people_and_teams() {
    let (_directory, context) = Context::temporary();
    let other_team = teams::create(&context, "Other").await.unwrap().unwrap().id;
    let own = put_email(&context, email(&["ada@example.com", "bob@example.com"], SETTLED)).await;
    let unrelated = put_email(&context, email(&["bob@example.com"], SETTLED)).await;
    let (theirs, deleted): (EmailId, EmailId) = (context.id(), context.id());
    let their_row = email(&["ada@example.com"], SETTLED);
    context.commit(move |tx| tx.put(&EMAILS, &(other_team, theirs), &their_row)).await;
    let deleted_messages = [
        capture(&context, Some(own), &["Ada@Example.com"]).await,
        // Its header contains the other recipient.
        capture(&context, Some(own), &["bob@example.com"]).await,
        capture(&context, None, &["x@example.com", "ada@example.com"]).await,
        capture(&context, Some(deleted), &["ada@example.com"]).await,
    ];
    let mut kept = vec![
        capture(&context, Some(unrelated), &["bob@example.com"]).await,
        capture(&context, Some(theirs), &["ada@example.com"]).await,
        capture(&context, None, &["bob@example.com"]).await,
    ];
    request(&context, &["ada@example.com"]).await;
    // Data from after the request stays.
    let later = put_email(&context, email(&["ada@example.com"], SETTLED)).await;
    kept.push(capture(&context, Some(later), &["ada@example.com"]).await);
    kept.push(capture(&context, None, &["ada@example.com"]).await);

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(deleted_messages.map(|id| is_captured(&context, id)), [[false; 2]; 4]);
    for id in kept {
        assert_eq!(is_captured(&context, id), [true; 2]);
    }
    assert_eq!(mailboxes(&context, later), ["ada@example.com"]);
    let their_row = context.read(|tx| tx.get(&EMAILS, &(other_team, theirs)));
    assert_eq!(their_row.unwrap().recipients[0].mailbox.to_string(), "ada@example.com");
}

#[tokio::test]
async fn an_erasure_deletes_no_captured_message_of_an_email_that_only_an_earlier_one_changed() {
    let (_directory, context) = Context::temporary();
    let quoting =
        put_email(&context, EmailRow { subject: "Invoice [erased]".into(), ..email(&["bob@example.com"], SETTLED) });
    let quoting = quoting.await;
    let waiting = RecipientState::Waiting { due_ms: 1 };
    let shared = put_email(&context, email(&["ada@example.com", "bob@example.com"], waiting)).await;
    erase(&context, &["ada@example.com"]).await;
    let kept = [
        capture(&context, Some(quoting), &["bob@example.com"]).await,
        // Sent after the erasure, without the address.
        capture(&context, Some(shared), &["bob@example.com"]).await,
    ];

    erase(&context, &["carol@example.com"]).await;

    assert_eq!(kept.map(|id| is_captured(&context, id)), [[true; 2]; 2]);
    assert_eq!(mailboxes(&context, shared), ["[erased]", "bob@example.com"]);
}

#[tokio::test]
async fn names_are_erased_with_the_address_from_events_about_a_contact() {
    let (_directory, context) = Context::temporary();
    record_contact_event(&context, AudienceKind::ContactCreated, "Ada@example.com").await;
    record_contact_event(&context, AudienceKind::ContactCreated, "bob@example.com").await;
    record_contact_event(&context, AudienceKind::ContactDeleted, "ada@EXAMPLE.com").await;
    request(&context, &["ada@example.com"]).await;
    record_contact_event(&context, AudienceKind::ContactCreated, "ada@example.com").await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert_eq!(
        contact_events(&context),
        [
            "\"[erased]\" null null",
            "\"bob@example.com\" \"Ada\" \"Lovelace\"",
            "\"[erased]\" null null",
            "\"ada@example.com\" \"Ada\" \"Lovelace\"",
        ]
    );
}

#[tokio::test]
async fn an_erased_suppression_still_blocks() {
    let (_directory, context) = Context::temporary();
    let listing = context.clone();
    let list = move |tx: &WriteTx<'_>| {
        for name in ["ada", "bob"] {
            let address = address(&format!("{name}@example.com"));
            suppressions::add(
                tx,
                &listing,
                TEAM,
                &address,
                SuppressionCause::listed(SuppressionOrigin::Manual, ChangeSource::Api),
            )?;
        }
        Ok(())
    };
    context.commit(list).await;

    erase(&context, &["ADA@example.com"]).await;

    let hash = address("ada@example.com").identity_hash();
    assert!(context.read(|tx| suppressions::blocks(tx, TEAM, &hash, SendKind::Transactional)));
    assert_eq!(contact_events(&context), ["\"[erased]\" null null", "\"bob@example.com\" null null"]);
}

#[tokio::test]
async fn a_repeated_erasure_changes_nothing() {
    let (_directory, context) = Context::temporary();
    let id = put_email(&context, email(&["ada@example.com", "bob@example.com"], SETTLED)).await;
    record(&context, id, &["ada@example.com"], EventDetail::None).await;
    record_contact_event(&context, AudienceKind::ContactDeleted, "ada@example.com").await;
    let all = || (mailboxes(&context, id), timeline(&context, id), contact_events(&context));
    erase(&context, &["ada@example.com"]).await;
    let first = all();

    erase(&context, &["ada@example.com", "nobody@example.com"]).await;

    assert_eq!(all(), first);
    assert_eq!(first.0, ["[erased]", "bob@example.com"]);
}

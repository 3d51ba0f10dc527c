//! What webhooks deliver, and what endpoints answered.

use serde_json::{Value as Json, json};

use super::*;
use crate::base::id::{EventId, SuppressionId, WebhookDeliveryId, WebhookId};
use crate::erasure::stages;
use crate::events::{self, EventType, MessageRow};
use crate::suppressions::{self, SuppressionCause};
use crate::tables::{EVENT_MESSAGES, SUPPRESSIONS, WEBHOOK_DELIVERIES};
use crate::webhooks::{self, DeliveryRow, WebhookAttemptRow};

async fn tell(context: &Context, team: TeamId, body: &Json) -> EventId {
    let event: EventId = context.id();
    let message = MessageRow { event_type: EventType::EmailSent, at_ms: 0, body: body.to_string() };
    write(context, move |tx| events::put_message(tx, team, event, &message)).await;
    event
}

fn told(context: &Context, team: TeamId, event: EventId) -> Json {
    let row = context.store.read_now::<_, StoreError>(|tx| tx.get(&EVENT_MESSAGES, &(team, event))).unwrap().unwrap();
    serde_json::from_str(&row.body).unwrap()
}

/// Puts a delivery whose endpoint answered these texts, and that still waits.
async fn answer(context: &Context, team: TeamId, answers: &[&str]) -> (WebhookId, WebhookDeliveryId) {
    let place: (WebhookId, WebhookDeliveryId) = (context.id(), context.id());
    let attempt = |response: &&str| WebhookAttemptRow {
        id: context.id(),
        sent_ms: 0,
        took_ms: 0,
        status: Some(500),
        response: (*response).to_owned(),
    };
    let row = DeliveryRow {
        event: context.id(),
        event_type: EventType::EmailSent,
        at_ms: 0,
        activation: 0,
        queued_ms: 0,
        state: webhooks::WebhookDeliveryState::Queued { due_ms: 7 },
        counted: 1,
        attempts: answers.iter().map(attempt).collect(),
    };
    write(context, move |tx| tx.put(&WEBHOOK_DELIVERIES, &(team, place.0, place.1), &row)).await;
    place
}

fn answers(context: &Context, team: TeamId, (webhook, id): (WebhookId, WebhookDeliveryId)) -> Vec<String> {
    let read = context.store.read_now::<_, StoreError>(|tx| tx.get(&WEBHOOK_DELIVERIES, &(team, webhook, id)));
    let row = read.unwrap().unwrap();
    assert_eq!((row.state, row.counted), (webhooks::WebhookDeliveryState::Queued { due_ms: 7 }, 1), "the rest stays");
    row.attempts.into_iter().map(|attempt| attempt.response).collect()
}

#[tokio::test]
async fn bodies_and_answers_lose_the_address_and_those_of_others_nothing() {
    let (_directory, context) = Context::temporary();
    let other: TeamId = Id::from_bytes([2; 16]);
    let email = |to: &str| json!({ "type": "email.sent", "data": { "to": [to], "subject": "Hello" } });
    let contact = json!({ "type": "contact.created", "data": { "email": "ADA@example.com", "first_name": "Ada" } });
    let (meant, foreign) = (email("ada@example.com"), email("eve@example.com"));
    // More than one page of each.
    let mut events = Vec::new();
    for _ in 0..600 {
        events.push(tell(&context, TEAM, &meant).await);
    }
    let (of_eve, of_contact) = (tell(&context, TEAM, &foreign).await, tell(&context, TEAM, &contact).await);
    let of_others = tell(&context, other, &meant).await;
    let mut places = Vec::new();
    for _ in 0..600 {
        places.push(answer(&context, TEAM, &["ok", "no such user: Ada@Example.com"]).await);
    }
    let at_others = answer(&context, other, &["ada@example.com"]).await;

    erase(&context, &["ada@example.com"]).await;

    for event in [events[0], events[300], events[599]] {
        assert_eq!(told(&context, TEAM, event)["data"], json!({ "to": ["[erased]"], "subject": "Hello" }));
    }
    assert_eq!(told(&context, TEAM, of_eve), foreign);
    let data = json!({ "email": "[erased]", "first_name": null, "last_name": null });
    assert_eq!(told(&context, TEAM, of_contact)["data"], data);
    assert_eq!(told(&context, other, of_others), meant);
    for place in [places[0], places[300], places[599]] {
        assert_eq!(answers(&context, TEAM, place), ["ok", "[erased]"]);
    }
    assert_eq!(answers(&context, other, at_others), ["ada@example.com"]);
}

#[tokio::test]
async fn what_is_told_after_the_request_is_new_but_for_what_came_of_an_email_on_its_way() {
    let (_directory, context) = Context::temporary();
    let waiting = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let erasures = Erasures::new(context.clone(), PendingEntries::default());
    erasures.run_round().await.unwrap();
    assert!(erasure(&context, key).is_some(), "the email is waited for");

    let later = put_email(&context, email(&["ada@example.com"], RecipientState::Settled)).await;
    let sent = |id: EmailId| json!({ "type": "email.sent", "data": { "email_id": id, "to": ["ada@example.com"] } });
    let (of_waiting, of_later) = (tell(&context, TEAM, &sent(waiting)).await, tell(&context, TEAM, &sent(later)).await);
    let again = json!({ "type": "contact.created", "data": { "email": "ada@example.com", "first_name": "Ada" } });
    let of_contact = tell(&context, TEAM, &again).await;
    let (listing, ada) = (context.clone(), address("ada@example.com"));
    write(&context, move |tx| suppressions::add(tx, &listing, TEAM, &ada, SuppressionCause::bounce(waiting))).await;
    let entry = listed(&context);
    let added = json!({ "type": "suppression.added", "data": { "id": entry, "email": "ada@example.com" } });
    let of_entry = tell(&context, TEAM, &added).await;
    let place = answer(&context, TEAM, &["thanks for ada@example.com"]).await;
    write(&context, move |tx| tx.put(&EMAILS, &(TEAM, waiting), &email(&["ada@example.com"], RecipientState::Settled)))
        .await;

    Erasures::new(context.clone(), PendingEntries::default()).run_round().await.unwrap();

    assert!(erasure(&context, key).is_none());
    assert_eq!(told(&context, TEAM, of_waiting)["data"]["to"], json!(["[erased]"]));
    assert_eq!(told(&context, TEAM, of_later), sent(later));
    assert_eq!(told(&context, TEAM, of_contact), again);
    assert_eq!(told(&context, TEAM, of_entry)["data"]["email"], "[erased]");
    assert_eq!(answers(&context, TEAM, place), ["[erased]"]);
}

#[tokio::test]
async fn who_holds_bodies_in_memory_hears_with_the_commit_that_they_have_been_erased() {
    let (_directory, context) = Context::temporary();
    let event = tell(&context, TEAM, &json!({ "type": "email.sent", "data": { "to": ["ada@example.com"] } })).await;
    let key = request(&context, &["ada@example.com"]).await;
    while !matches!(erasure(&context, key).unwrap().stage, store::Stage::Messages { .. }) {
        step(&context, key).await;
    }
    let row = erasure(&context, key).unwrap();
    let target = store::target(&context.keyring, key, &row).unwrap();
    let look = |tx: &crate::store::ReadTx| stages::scan_stage(tx, &context.keyring, &row, &target);
    let found = context.store.read_now(look).unwrap();
    let announcer = context.event_bus.clone();
    let (heard, hearing) = std::sync::mpsc::channel();

    write(&context, move |tx| {
        stages::erase_matches(tx, &announcer, key, row.clone(), &target, &found)?;
        // After the commit, before another command begins.
        let (announcer, heard) = (announcer.clone(), heard.clone());
        tx.after_commit(move || heard.send(announcer.erasure_generation()).unwrap());
        Ok(())
    })
    .await;

    assert_eq!(hearing.recv().unwrap(), 1);
    assert_eq!(told(&context, TEAM, event)["data"]["to"], json!(["[erased]"]));
}

/// Returns the one entry of the suppression list.
fn listed(context: &Context) -> SuppressionId {
    let mut found = None;
    let read = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&SUPPRESSIONS, &(TEAM, Id::MIN), &(TEAM, Id::MAX), Order::Ascending, |(_, id), _| {
            found = Some(id);
            NEXT
        })
    });
    read.unwrap();
    found.unwrap()
}

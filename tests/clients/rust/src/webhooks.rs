//! Webhook endpoints and their deliveries. An endpoint with a type that the SDK lacks cannot be decoded.

use resend_rs::events::{ContactEventType, EmailEventType, EventType, SuppressionEventType};
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    AddSuppressionOptions, CreateContactOptions, CreateWebhookOptions, UpdateWebhookOptions, Webhook,
    WebhookEventAttempt, WebhookEventStatus, WebhookId, WebhookStatus,
};
use resend_rs::{Method, Resend};
use serde_json::json;

use crate::check::{Checked, Suite, UNKNOWN_ID, poll, refused, same};
use crate::receiver::{BROKEN, Receiver, nowhere};

// The suite causes no open and no click, so this endpoint gets no delivery.
const ENDPOINT: &str = "https://hooks.example.com/rust";
const EVENTS: [EmailEventType; 2] = [EmailEventType::EmailOpened, EmailEventType::EmailClicked];
const EMAIL: &str = "rust-webhooks@customer.example.net";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    endpoints(suite, client).await?;
    unknown_types(suite, client).await?;
    let receiver = Receiver::start()?;
    deliveries(suite, client, &receiver).await?;
    failures(suite, client, &receiver).await
}

async fn endpoints(suite: &Suite, client: &Resend) -> Checked {
    let created = call!(suite, client, webhooks.create(CreateWebhookOptions::new(ENDPOINT, EVENTS)))?;
    let id = created.id;
    let unsupported = [EmailEventType::EmailReceived];
    let refusal = call!(suite, client, webhooks.create(CreateWebhookOptions::new(ENDPOINT, unsupported)));
    suite.must_fail("webhooks.create", "a type that the server does not emit", 422, "validation_error", refusal);
    let changes = UpdateWebhookOptions::default().with_events(unsupported);
    let refusal = call!(suite, client, webhooks.update(&id, changes));
    suite.must_fail("webhooks.update", "a type that the server does not emit", 422, "validation_error", refusal);
    suite
        .check("webhooks.create", "with a secret; no types and another scheme are 422", async {
            ensure!(created.signing_secret.starts_with("whsec_"), "secret {:?}", created.signing_secret);
            let without_types = CreateWebhookOptions::new(ENDPOINT, Vec::<EmailEventType>::new());
            refused(422, "validation_error", call!(suite, client, webhooks.create(without_types)))?;
            let other = CreateWebhookOptions::new("ftp://hooks.example.com/", EVENTS);
            refused(422, "validation_error", call!(suite, client, webhooks.create(other)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.get", "every field; an unknown id is 404", async {
            let read = call!(suite, client, webhooks.get(&id))?;
            same((&read.id, read.endpoint.as_str(), read.status.as_str()), (&id, ENDPOINT, "enabled"))?;
            same(names(&read)?, ["email.clicked", "email.opened"].map(str::to_owned).to_vec())?;
            let unknown = refused(404, "not_found", call!(suite, client, webhooks.get(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Webhook endpoint not found")
        })
        .await;
    suite
        .check("webhooks.list", "newest first, limit and cursors", async {
            let other = call!(suite, client, webhooks.create(CreateWebhookOptions::new(ENDPOINT, EVENTS)))?.id;
            let page = call!(suite, client, webhooks.list(ListOptions::default().with_limit(2)))?;
            same([&page[0].id, &page[1].id], [&other, &id])?;
            let options = ListOptions::default().with_limit(1).list_after(&other);
            same(&call!(suite, client, webhooks.list(options))?[0].id, &id)?;
            let options = ListOptions::default().with_limit(1).list_before(&id);
            same(&call!(suite, client, webhooks.list(options))?[0].id, &other)?;
            same(call!(suite, client, webhooks.delete(&other))?, true)
        })
        .await;
    suite
        .check("webhooks.update", "URL, types and status, each separately", async {
            let moved = format!("{ENDPOINT}/moved");
            for changes in [
                UpdateWebhookOptions::default().with_endpoint(&moved),
                UpdateWebhookOptions::default().with_events([EmailEventType::EmailClicked]),
                UpdateWebhookOptions::default().with_status(WebhookStatus::Disabled),
            ] {
                same(&call!(suite, client, webhooks.update(&id, changes))?.id, &id)?;
            }
            let read = call!(suite, client, webhooks.get(&id))?;
            same((read.endpoint.as_str(), read.status.as_str()), (moved.as_str(), "disabled"))?;
            same(names(&read)?, vec!["email.clicked".to_owned()])?;
            let changes = UpdateWebhookOptions::default().with_status(WebhookStatus::Enabled);
            refused(404, "not_found", call!(suite, client, webhooks.update(UNKNOWN_ID, changes)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.rotate_signing_secret", "a new secret; an unknown id is 404", async {
            let rotated = call!(suite, client, webhooks.rotate_signing_secret(&id))?;
            same((rotated.object.as_str(), &rotated.id), ("webhook", &id))?;
            ensure!(rotated.signing_secret.starts_with("whsec_"), "secret {:?}", rotated.signing_secret);
            ensure!(rotated.signing_secret != created.signing_secret, "the secret is the same");
            refused(404, "not_found", call!(suite, client, webhooks.rotate_signing_secret(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.delete", "deleted, then 404", async {
            same(call!(suite, client, webhooks.delete(&id))?, true)?;
            refused(404, "not_found", call!(suite, client, webhooks.get(&id)))?;
            refused(404, "not_found", call!(suite, client, webhooks.delete(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

/// Returns the sorted names of the types in the form of the API.
fn names(webhook: &Webhook) -> Checked<Vec<String>> {
    let name = |event: &EventType| Ok(serde_json::from_value(serde_json::to_value(event)?)?);
    let mut names = webhook.events.iter().map(name).collect::<Checked<Vec<String>>>()?;
    names.sort();
    Ok(names)
}

/// Checks that an endpoint with an unknown type cannot be decoded. The list of types in the SDK is closed, so the list
/// of endpoints cannot be decoded either.
async fn unknown_types(suite: &Suite, client: &Resend) -> Checked {
    let webhook = json!({ "endpoint": ENDPOINT, "events": ["contact.unsubscribed"] });
    let made = client.send_raw(Method::POST, "/webhooks", None::<()>, Some(webhook), None).await?;
    let id = made["id"].as_str().ok_or("no id")?;
    let note = "the SDK has no type `contact.unsubscribed`";
    suite.must_not_decode("webhooks.get", note, call!(suite, client, webhooks.get(id)));
    suite.must_not_decode("webhooks.list", note, call!(suite, client, webhooks.list(ListOptions::default())));
    call!(suite, client, webhooks.delete(id))?;
    Ok(())
}

async fn deliveries(suite: &Suite, client: &Resend, receiver: &Receiver) -> Checked {
    let types = [ContactEventType::ContactCreated, ContactEventType::ContactDeleted];
    let create = CreateWebhookOptions::new(receiver.url("/events"), types);
    let webhook = call!(suite, client, webhooks.create(create))?.id;
    call!(suite, client, contacts.create(CreateContactOptions::new(EMAIL).with_first_name("Zoë")))?;
    call!(suite, client, contacts.delete(EMAIL))?;
    let received = receiver.until("/events", |deliveries| deliveries.len() == 2).await?;
    let delivered = async || {
        let rows = call!(suite, client, webhooks.list_events(&webhook, ListOptions::default()))?.data;
        Ok(rows.iter().all(|row| row.status == WebhookEventStatus::Success).then_some(rows))
    };
    let rows = poll(delivered).await?;
    let event = &*rows[1].id;
    suite
        .check("webhooks.list_events", "the deliveries, newest first, limit and after", async {
            same([rows[0].event_type.as_str(), rows[1].event_type.as_str()], ["contact.deleted", "contact.created"])?;
            let first = ListOptions::default().with_limit(1);
            let first = call!(suite, client, webhooks.list_events(&webhook, first))?;
            same((first.has_more, &first.data[0].id), (true, &rows[0].id))?;
            let second = ListOptions::default().with_limit(1).list_after(&rows[0].id);
            let second = call!(suite, client, webhooks.list_events(&webhook, second))?;
            same((second.has_more, &second.data[0].id), (false, &rows[1].id))?;
            let unknown = call!(suite, client, webhooks.list_events(UNKNOWN_ID, ListOptions::default()));
            refused(404, "not_found", unknown)?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.get_event", "one event with the delivered body", async {
            let read = call!(suite, client, webhooks.get_event(&webhook, event))?;
            same((read.object.as_str(), read.event_type.as_str()), ("webhook_event", "contact.created"))?;
            same((read.status, read.next_attempt_at), (WebhookEventStatus::Success, None))?;
            let delivered = received.iter().find(|delivery| delivery.id() == event);
            same(Some(&read.payload), delivered.map(|delivery| &delivery.event))?;
            refused(404, "not_found", call!(suite, client, webhooks.get_event(&webhook, UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.replay_event", "delivered again under the same id", async {
            let response = call!(suite, client, webhooks.replay_event(&webhook, event))?;
            same((response.object.as_str(), &*response.id), ("webhook_event", event))?;
            let all = receiver.until("/events", |deliveries| deliveries.len() == 3).await?;
            let bodies = all.iter().filter(|delivery| delivery.id() == event).map(|copy| &copy.body);
            let bodies: Vec<&String> = bodies.collect();
            ensure!(bodies.len() == 2 && bodies[0] == bodies[1], "{bodies:?}");
            refused(404, "not_found", call!(suite, client, webhooks.replay_event(&webhook, UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.list_event_attempts", "the attempts with their responses, limit and after", async {
            let rows = attempts(suite, client, &webhook, event, 2).await?;
            for row in &rows {
                same((row.http_status_code, row.response.as_str()), (200, "received"))?;
            }
            let first = ListOptions::default().with_limit(1);
            let first = call!(suite, client, webhooks.list_event_attempts(&webhook, event, first))?;
            same((first.has_more, &first.data[0].id), (true, &rows[0].id))?;
            let second = ListOptions::default().with_limit(1).list_after(&rows[0].id);
            let second = call!(suite, client, webhooks.list_event_attempts(&webhook, event, second))?;
            same((second.has_more, &second.data[0].id), (false, &rows[1].id))
        })
        .await;
    call!(suite, client, webhooks.delete(&webhook))?;
    Ok(())
}

/// Checks an endpoint that responds with an error, and one that does not respond.
async fn failures(suite: &Suite, client: &Resend, receiver: &Receiver) -> Checked {
    for (endpoint, status) in [(receiver.url(BROKEN), 500), (nowhere()?, 0)] {
        let note = format!("a response of {status} is shown and retried");
        suite
            .check("webhooks.list_event_attempts", &note, async {
                let create = CreateWebhookOptions::new(endpoint, [SuppressionEventType::SuppressionAdded]);
                let webhook = call!(suite, client, webhooks.create(create))?.id;
                let add = AddSuppressionOptions::new().with_email(EMAIL);
                drop(call!(suite, client, suppressions.add(add))?);
                let queued = async || {
                    let rows = call!(suite, client, webhooks.list_events(&webhook, ListOptions::default()))?.data;
                    Ok(rows.into_iter().next())
                };
                let event = poll(queued).await?.id;
                let rows = attempts(suite, client, &webhook, &event, 1).await?;
                let oldest = &rows[rows.len() - 1];
                same(oldest.http_status_code, status)?;
                ensure!(!oldest.response.is_empty(), "the response is empty");
                let read = call!(suite, client, webhooks.get_event(&webhook, &event))?;
                ensure!(
                    matches!(read.status, WebhookEventStatus::Pending | WebhookEventStatus::Attempting),
                    "status {:?}",
                    read.status
                );
                call!(suite, client, webhooks.delete(&webhook))?;
                drop(call!(suite, client, suppressions.remove(EMAIL))?);
                Ok(())
            })
            .await;
    }
    Ok(())
}

/// Polls until an event has at least `attempts_min` attempts. Returns them.
async fn attempts(
    suite: &Suite,
    client: &Resend,
    webhook: &WebhookId,
    event: &str,
    attempts_min: usize,
) -> Checked<Vec<WebhookEventAttempt>> {
    poll(async || {
        let page = call!(suite, client, webhooks.list_event_attempts(webhook, event, ListOptions::default()))?;
        Ok((page.data.len() >= attempts_min).then_some(page.data))
    })
    .await
}

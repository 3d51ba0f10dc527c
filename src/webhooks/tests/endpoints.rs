//! Creating, updating and deleting endpoints, and rotating their secrets.

use std::time::Duration;

use super::*;
use crate::base::signature::WebhookSecret;
use crate::store::page::{Cursor, PageQuery};
use crate::tables::WEBHOOK_HEALTH;

const HOUR_MS: i64 = 3_600_000;

/// Returns the stored secrets.
fn secrets(context: &Context, id: WebhookId) -> (String, Option<(String, i64)>) {
    let open = |sealed: &[u8]| store::open_secret(&context.keyring, id, sealed).unwrap();
    let row = row(context, TEAM, id);
    let previous = row.previous.map(|previous| (open(&previous.secret), previous.expires_ms));
    (open(&row.secret), previous)
}

fn rotation(overlap_hours: u8) -> SecretRotation {
    SecretRotation { overlap_hours, secret: None }
}

fn status(change: StatusChange) -> WebhookChanges {
    WebhookChanges { status: Some(change), ..WebhookChanges::default() }
}

/// Returns whether the dispatcher was notified of the endpoint since the last call.
fn was_notified(webhooks: &Webhooks, id: WebhookId) -> bool {
    webhooks.notifier().take().hints.contains(&id)
}

#[tokio::test]
async fn a_new_endpoint_subscribes_to_its_types_and_its_secret_is_sealed() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let named = types(&[EventType::EmailSent, EventType::EmailPrefetched]);

    let (id, secret) = webhooks.create(TEAM, new(SubscribedEvents::Named(named))).await.unwrap();
    let (all, _) = webhooks.create(TEAM, new(SubscribedEvents::All)).await.unwrap();

    assert_eq!(subscriptions(&context, TEAM), [(id, named), (all, EventTypes::all())]);
    assert_eq!(subscriptions(&context, OTHER), []);
    let row = row(&context, TEAM, id);
    assert_eq!((row.status, row.activation, row.previous), (WebhookStatus::Enabled, 0, None));
    assert!(!row.secret.windows(6).any(|bytes| bytes == b"whsec_"));
    let (found, shown) = webhooks.find(TEAM, id).await.unwrap().unwrap();
    assert_eq!((found.endpoint.as_str(), shown), ("https://hooks.example.com/mail", secret));
    assert_eq!(webhooks.find(OTHER, id).await.unwrap(), None);
    assert!(webhooks.notifier().take().hints.contains(&id));
}

#[tokio::test]
async fn each_team_can_have_200_endpoints() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let last = create(&webhooks, TEAM).await;
    let filler = row(&context, TEAM, last);
    let ids: Vec<WebhookId> = (1..WEBHOOKS_MAX).map(|_| context.id()).collect();
    context.commit(move |tx| ids.iter().try_for_each(|id| tx.put(&WEBHOOKS, &(TEAM, *id), &filler))).await;

    let refused = webhooks.create(TEAM, new(SubscribedEvents::All)).await;
    assert!(matches!(refused, Err(CreateWebhookError::TooMany)), "{refused:?}");
    assert_eq!(subscriptions(&context, TEAM).len(), 1, "a refused endpoint stores nothing");
    create(&webhooks, OTHER).await;
    webhooks.delete(TEAM, last).await.unwrap();
    create(&webhooks, TEAM).await;
    let query = PageQuery { limit: 100, cursor: Cursor::Newest };
    assert!(webhooks.list(TEAM, query).await.unwrap().has_more);
}

#[tokio::test]
async fn an_update_changes_the_given_fields_and_notifies_of_a_change() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let id = create(&webhooks, TEAM).await;
    let before = row(&context, TEAM, id);
    webhooks.notifier().take();

    webhooks.update(TEAM, id, WebhookChanges::default()).await.unwrap();
    webhooks.update(TEAM, id, status(StatusChange::Enable)).await.unwrap();
    assert_eq!(row(&context, TEAM, id), before);
    assert!(!was_notified(&webhooks, id), "nothing has changed");

    let url = CustomerUrl::parse("https://hooks.example.net/", &UrlPolicy::default()).unwrap();
    let changes = WebhookChanges { endpoint: Some(url), ..WebhookChanges::default() };
    webhooks.update(TEAM, id, changes).await.unwrap();
    assert_eq!(row(&context, TEAM, id), WebhookRow { endpoint: "https://hooks.example.net/".into(), ..before });
    assert!(was_notified(&webhooks, id));

    let named = types(&[EventType::EmailOpened]);
    let changes = WebhookChanges { subscription: Some(SubscribedEvents::Named(named)), ..WebhookChanges::default() };
    webhooks.update(TEAM, id, changes.clone()).await.unwrap();
    assert_eq!(subscriptions(&context, TEAM), [(id, named)]);
    let foreign = webhooks.update(OTHER, id, changes).await;
    assert!(matches!(foreign, Err(UpdateWebhookError::NotFound)), "{foreign:?}");
}

#[tokio::test]
async fn a_disabled_endpoint_has_no_subscription_and_enabling_resets_its_health() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let id = create(&webhooks, TEAM).await;
    let notified = HealthRow { backlog_notified_ms: Some(7), ..HealthRow::default() };
    let failed_attempts = Some(FailedAttemptsRow { count: 3, since_ms: 1, last_ms: 2, status: None });
    let health =
        HealthRow { consecutive_failures: 19, failing_notified_ms: Some(5), failed_attempts, ..notified.clone() };
    context.commit(move |tx| tx.put(&WEBHOOK_HEALTH, &(TEAM, id), &health)).await;
    context.clock.advance(Duration::from_secs(60));
    webhooks.notifier().take();
    let health = || context.read(|tx| tx.get(&WEBHOOK_HEALTH, &(TEAM, id)));

    webhooks.update(TEAM, id, status(StatusChange::Disable)).await.unwrap();
    assert_eq!(subscriptions(&context, TEAM), []);
    assert_eq!((row(&context, TEAM, id).status, health().is_some()), (WebhookStatus::Disabled, true));
    assert!(was_notified(&webhooks, id));

    // The types can be changed while the endpoint is disabled. It still has no subscription.
    let named = types(&[EventType::EmailOpened]);
    let changes = WebhookChanges { subscription: Some(SubscribedEvents::Named(named)), ..WebhookChanges::default() };
    webhooks.update(TEAM, id, changes).await.unwrap();
    assert_eq!(subscriptions(&context, TEAM), []);
    assert_eq!(row(&context, TEAM, id).activation, 0);

    webhooks.update(TEAM, id, status(StatusChange::Enable)).await.unwrap();
    let enabled = row(&context, TEAM, id);
    assert_eq!((enabled.status, enabled.activation), (WebhookStatus::Enabled, 1));
    let reset = HealthRow { failing_notified_ms: Some(5), ..notified };
    assert_eq!((subscriptions(&context, TEAM), health()), (vec![(id, named)], Some(reset)));
    assert!(was_notified(&webhooks, id));

    let disable = move |tx: &WriteTx<'_>| {
        let row = WebhookRow { status: WebhookStatus::AutoDisabled, ..enabled.clone() };
        tx.put(&WEBHOOKS, &(TEAM, id), &row)
    };
    context.commit(disable).await;
    webhooks.update(TEAM, id, status(StatusChange::Disable)).await.unwrap();
    assert_eq!(row(&context, TEAM, id).status, WebhookStatus::AutoDisabled);
    webhooks.update(TEAM, id, status(StatusChange::Enable)).await.unwrap();
    assert_eq!(row(&context, TEAM, id).status, WebhookStatus::Enabled);
}

#[tokio::test]
async fn at_most_two_secrets_sign_after_several_rotations() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let id = create(&webhooks, TEAM).await;
    let (first, _) = secrets(&context, id);
    let now_ms = context.now_ms();
    let chosen = WebhookSecret::generate();
    webhooks.notifier().take();

    let second = webhooks.rotate(TEAM, id, rotation(24)).await.unwrap();
    assert_eq!(second.previous_expires_ms, Some(now_ms + 24 * HOUR_MS));
    let second = second.secret.reveal().to_owned();
    assert_eq!(secrets(&context, id), (second.clone(), Some((first, now_ms + 24 * HOUR_MS))));
    assert!(was_notified(&webhooks, id));

    let rotation_to_chosen = SecretRotation { overlap_hours: 72, secret: Some(chosen.clone()) };
    webhooks.rotate(TEAM, id, rotation_to_chosen).await.unwrap();
    assert_eq!(secrets(&context, id), (chosen.reveal().to_owned(), Some((second, now_ms + 72 * HOUR_MS))));

    let last = webhooks.rotate(TEAM, id, rotation(0)).await.unwrap();
    assert_eq!(last.previous_expires_ms, None);
    assert_eq!(secrets(&context, id), (last.secret.reveal().to_owned(), None));
    let foreign = webhooks.rotate(OTHER, id, rotation(0)).await;
    assert!(matches!(foreign, Err(RotateSecretError::NotFound)), "{foreign:?}");
}

#[tokio::test]
async fn concurrent_rotations_leave_the_last_two_secrets() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let id = create(&webhooks, TEAM).await;

    let rotate = || webhooks.rotate(TEAM, id, rotation(24));
    let (a, b, c) = tokio::join!(rotate(), rotate(), rotate());

    let secrets_returned = [a, b, c].map(|rotated| rotated.unwrap().secret.reveal().to_owned());
    let (current, previous) = secrets(&context, id);
    let previous = previous.unwrap().0;
    assert!(secrets_returned.contains(&current) && secrets_returned.contains(&previous) && current != previous);
}

#[tokio::test]
async fn an_expired_previous_secret_is_not_shown() {
    let (_directory, context) = Context::temporary();
    let webhooks = webhooks(&context);
    let id = create(&webhooks, TEAM).await;
    let expires_ms = webhooks.rotate(TEAM, id, rotation(1)).await.unwrap().previous_expires_ms;
    let shown = async || webhooks.find(TEAM, id).await.unwrap().unwrap().0.previous_secret_expires_ms;

    context.clock.advance(Duration::from_millis(3_599_999));
    assert_eq!(shown().await, expires_ms);
    context.clock.advance(Duration::from_millis(1));
    assert_eq!(shown().await, None);
}

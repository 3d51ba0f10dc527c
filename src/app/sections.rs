//! Routes of three sections of the API: broadcasts, templates and webhooks.

use salvo::Router;

use crate::{broadcasts, templates, webhooks};

/// Returns the routes of broadcasts.
pub(super) fn broadcasts() -> Router {
    use broadcasts::api as broadcasts;

    Router::new()
        .push(Router::with_path("broadcasts").post(broadcasts::create_broadcast).get(broadcasts::list_broadcasts))
        .push(
            Router::with_path("broadcasts/{id}")
                .get(broadcasts::get_broadcast)
                .patch(broadcasts::update_broadcast)
                .delete(broadcasts::delete_broadcast),
        )
        .push(Router::with_path("broadcasts/{id}/send").post(broadcasts::send_broadcast))
        .push(Router::with_path("broadcasts/{id}/cancel").post(broadcasts::cancel_broadcast))
        .push(Router::with_path("broadcasts/{id}/duplicate").post(broadcasts::duplicate_broadcast))
        .push(Router::with_path("broadcasts/{id}/recipients").get(broadcasts::list_broadcast_recipients))
        .push(Router::with_path("broadcasts/{id}/clicked-links").get(broadcasts::list_broadcast_clicked_links))
}

/// Returns the routes of templates.
pub(super) fn templates() -> Router {
    use templates::api as templates;

    Router::new()
        .push(Router::with_path("templates").post(templates::create_template).get(templates::list_templates))
        .push(
            Router::with_path("templates/{id}")
                .get(templates::get_template)
                .patch(templates::update_template)
                .delete(templates::delete_template),
        )
        .push(Router::with_path("templates/{id}/publish").post(templates::publish_template))
        .push(Router::with_path("templates/{id}/duplicate").post(templates::duplicate_template))
}

/// Returns the routes of webhooks.
pub(super) fn webhooks() -> Router {
    use webhooks::api as webhooks;
    use webhooks::deliveries;

    Router::new()
        .push(Router::with_path("webhooks").post(webhooks::create_webhook).get(webhooks::list_webhooks))
        .push(
            Router::with_path("webhooks/{id}")
                .get(webhooks::get_webhook)
                .patch(webhooks::update_webhook)
                .delete(webhooks::delete_webhook),
        )
        .push(Router::with_path("webhooks/{id}/rotate").post(webhooks::rotate_webhook))
        .push(Router::with_path("webhooks/{id}/signing-secret/rotate").post(webhooks::rotate_signing_secret))
        .push(Router::with_path("webhooks/{id}/test").post(deliveries::test_webhook))
        .push(Router::with_path("webhooks/{id}/events").get(deliveries::list_webhook_events))
        .push(Router::with_path("webhooks/{id}/events/{event_id}").get(deliveries::get_webhook_event))
        .push(Router::with_path("webhooks/{id}/events/{event_id}/replay").post(deliveries::replay_webhook_event))
        .push(
            Router::with_path("webhooks/{id}/events/{event_id}/attempts").get(deliveries::list_webhook_event_attempts),
        )
}

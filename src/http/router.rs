//! Every route of the server. Reading it top to bottom is reading the product.

use std::sync::Arc;

use salvo::catcher::Catcher;
use salvo::http::Method;
use salvo::{Router, Service};

use super::edge::{Cors, Edge};
use super::query::{self, QueryParameters};
use super::rate_limit::RateLimiter;
use super::state::Services;
use super::{auth, edge, openapi};
use crate::id::IdSource;
use crate::{api_keys, contact_properties, dashboard, domains, emails, preferences, topics};

/// The routes of the API, each behind a key. A literal path stands before one with a parameter
/// that would match it.
fn api() -> Router {
    use api_keys::api as keys;
    use contact_properties::api as properties;
    use domains::api as domains;
    use emails::api as emails;
    use topics::api as topics;

    Router::new()
        .push(Router::with_path("emails").post(emails::send_email).get(emails::list_emails))
        .push(Router::with_path("emails/batch").post(emails::send_batch))
        .push(
            Router::with_path("emails/{id}")
                .get(emails::get_email)
                .patch(emails::update_email)
                .delete(emails::delete_email),
        )
        .push(Router::with_path("emails/{id}/cancel").post(emails::cancel_email))
        .push(Router::with_path("emails/{id}/attachments").get(emails::list_attachments))
        .push(Router::with_path("emails/{id}/attachments/{attachment_id}").get(emails::get_attachment))
        .push(Router::with_path("domains").post(domains::create_domain).get(domains::list_domains))
        .push(
            Router::with_path("domains/{id}")
                .get(domains::get_domain)
                .patch(domains::update_domain)
                .delete(domains::delete_domain),
        )
        .push(Router::with_path("domains/{id}/verify").post(domains::verify_domain))
        .push(
            Router::with_path("contact-properties")
                .post(properties::create_contact_property)
                .get(properties::list_contact_properties),
        )
        .push(
            Router::with_path("contact-properties/{id}")
                .get(properties::get_contact_property)
                .patch(properties::update_contact_property)
                .delete(properties::delete_contact_property),
        )
        .push(Router::with_path("topics").post(topics::create_topic).get(topics::list_topics))
        .push(
            Router::with_path("topics/{id}")
                .get(topics::get_topic)
                .patch(topics::update_topic)
                .delete(topics::delete_topic),
        )
        .push(Router::with_path("api-keys").post(keys::create_api_key).get(keys::list_api_keys))
        .push(Router::with_path("api-keys/{id}").patch(keys::update_api_key).delete(keys::delete_api_key))
        .push(Router::with_path("openapi.json").get(openapi::get_description))
}

/// Paths of the compatible API that this server does not have, and methods that a path has not,
/// where a path with a parameter would otherwise match: they are unknown like any other.
fn absent() -> Router {
    let mut router = Router::new();
    for path in ["emails/metrics", "emails/receiving", "emails/receiving/{**rest}", "domains/claim"] {
        router = router.push(Router::with_path(path).goal(openapi::unknown));
    }
    // With another method, a path with a parameter would match this one.
    let batch = Router::with_path("emails/batch").filter_fn(|req, _| req.method() != Method::POST);
    router.push(batch.goal(openapi::wrong_method))
}

/// The routes that need no key.
fn open() -> Router {
    use preferences::api as preferences;

    Router::new()
        .push(Router::with_path("health").get(openapi::health))
        .push(Router::with_path("docs/openapi.json").get(openapi::get_description))
        .push(
            Router::with_hoop(dashboard::known_host)
                .push(Router::new().get(dashboard::serve_file))
                .push(Router::with_path("dashboard").get(dashboard::serve_file))
                .push(Router::with_path("dashboard/{**path}").get(dashboard::serve_file)),
        )
        .push(
            Router::with_path("unsubscribe/{token}")
                .get(preferences::show_unsubscribe)
                .head(preferences::show_unsubscribe)
                .post(preferences::unsubscribe),
        )
}

/// Joins the routes with the checks around them.
pub fn service(services: Services, limiter: Arc<RateLimiter>, ids: IdSource, cors: Cors) -> Service {
    let parameters = QueryParameters::of(&document());
    let services = services.with(Arc::clone(&limiter)).with(Arc::new(parameters)).with(Arc::new(openapi::rendered()));
    let keyed = api().hoop(auth::authenticate).hoop(query::refuse_unknown);
    let edge = Edge { services: Arc::new(services), limiter, ids, cors };
    Service::new(Router::new().push(absent()).push(open()).push(keyed))
        .hoop(edge)
        .catcher(Catcher::default().hoop(edge::shape_errors))
}

/// Returns the description of the API, made from the routes and their handlers' types.
pub(super) fn document() -> salvo::oapi::OpenApi {
    openapi::describe(&api())
}

/// Returns the router of the API, so that a test can hold its routes against the description.
#[cfg(test)]
pub(super) fn api_routes() -> Router {
    api()
}

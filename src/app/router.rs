//! All routes of the server.

use std::sync::{Arc, LazyLock};

use salvo::catcher::Catcher;
use salvo::http::Method;
use salvo::oapi::OpenApi;
use salvo::routing::{FilterInfo, filters};
use salvo::{Router, Service};

use super::examples;
use super::services::HttpServices;
use crate::http::openapi::OpenApiDocument;
use crate::http::{
    Edge, OpenApiJson, QueryParameters, RequestRecorder, SpaceGuard, auth, compression, edge, health, metrics, openapi,
    query, response_limits,
};
use crate::store::Store;
use crate::{
    api_keys, contact_properties, contacts, dashboard, domains, emails, ingest, logs, preferences, segments,
    suppressions, topics, usage, webhooks,
};

/// Returns the routes of the API that need an API key. A literal path must precede a path with a
/// parameter that also matches it.
fn api() -> Router {
    use api_keys::api as keys;
    use domains::api as domains;
    use emails::api as emails;
    use logs::api as logs;

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
        .push(Router::with_path("emails/{id}/attempts").get(emails::list_email_attempts))
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
        .push(Router::with_path("api-keys").post(keys::create_api_key).get(keys::list_api_keys))
        .push(Router::with_path("api-keys/{id}").patch(keys::update_api_key).delete(keys::delete_api_key))
        .push(audience())
        .push(Router::with_path("usage").get(usage::api::get_usage))
        .push(events())
        .push(Router::with_path("logs").get(logs::list_logs))
        .push(Router::with_path("logs/{id}").get(logs::get_log))
        .push(Router::with_path("openapi.json").get(openapi::get_description))
}

/// Returns the routes of contacts, properties, topics, suppressions, segments and audiences.
fn audience() -> Router {
    use contact_properties::api as properties;
    use contacts::api as contacts;
    use preferences::api as preferences;
    use segments::api as segments;
    use segments::audiences;
    use suppressions::api as suppressions;
    use topics::api as topics;

    Router::new()
        .push(Router::with_path("contacts").post(contacts::create_contact).get(contacts::list_contacts))
        .push(Router::with_path("contacts/batch").post(contacts::create_contacts))
        .push(
            Router::with_path("contacts/batch/get")
                .hoop(response_limits::bound_read)
                .post(contacts::batch_get_contacts),
        )
        .push(Router::with_path("contacts/batch/remove").post(contacts::batch_remove_contacts))
        .push(
            Router::with_path("contacts/{id}")
                .get(contacts::get_contact)
                .patch(contacts::update_contact)
                .delete(contacts::delete_contact),
        )
        .push(
            Router::with_path("contacts/{id}/topics")
                .get(contacts::list_contact_topics)
                .patch(contacts::update_contact_topics),
        )
        .push(Router::with_path("contacts/{id}/segments").get(contacts::list_contact_segments))
        .push(Router::with_path("contacts/{id}/preferences-link").post(preferences::create_preferences_link))
        .push(
            Router::with_path("contacts/{id}/segments/{segment_id}")
                .post(contacts::join_segment)
                .delete(contacts::leave_segment),
        )
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
        .push(
            Router::with_path("suppressions")
                .post(suppressions::create_suppression)
                .get(suppressions::list_suppressions),
        )
        .push(Router::with_path("suppressions/batch/add").post(suppressions::add_suppressions))
        .push(Router::with_path("suppressions/batch/remove").post(suppressions::remove_suppressions))
        .push(
            Router::with_path("suppressions/{id}")
                .get(suppressions::get_suppression)
                .delete(suppressions::delete_suppression),
        )
        .push(Router::with_path("segments").post(segments::create_segment).get(segments::list_segments))
        .push(
            Router::with_path("segments/{id}")
                .get(segments::get_segment)
                .patch(segments::update_segment)
                .delete(segments::delete_segment),
        )
        .push(Router::with_path("segments/{id}/contacts").get(segments::list_segment_contacts))
        .push(Router::with_path("audiences").post(audiences::create_audience).get(audiences::list_audiences))
        .push(Router::with_path("audiences/{id}").get(audiences::get_audience).delete(audiences::delete_audience))
        .push(
            Router::with_path("audiences/{id}/contacts")
                .post(audiences::create_audience_contact)
                .get(audiences::list_audience_contacts),
        )
        .push(
            Router::with_path("audiences/{id}/contacts/{contact_id}")
                .get(audiences::get_audience_contact)
                .patch(audiences::update_audience_contact)
                .delete(audiences::delete_audience_contact),
        )
}

/// Returns the routes of webhooks.
fn events() -> Router {
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

/// Returns routes that some clients use for a route of [`api`]. The OpenAPI document does not have them.
fn aliases() -> Router {
    Router::with_path("email").post(emails::api::send_email)
}

/// Returns routes for paths and methods of the Resend API that this server does not support, and that a
/// path with a parameter would match. They answer like any unknown route.
fn absent() -> Router {
    let mut router = Router::new();
    for path in [
        "emails/metrics",
        "emails/receiving",
        "emails/receiving/{**rest}",
        "domains/claim",
        "domains/claims",
        "contacts/imports",
        "contacts/imports/{**rest}",
    ] {
        router = router.push(Router::with_path(path).goal(edge::unknown));
    }
    // For other methods, `emails/{id}` and `contacts/{id}` would match these paths.
    for path in ["emails/batch", "contacts/batch"] {
        let batch = Router::with_path(path).filter_fn(|req, _| req.method() != Method::POST);
        router = router.push(batch.goal(edge::only_post));
    }
    router
}

/// Returns the routes that need no API key, except the event stream of the dashboard.
fn open() -> Router {
    use preferences::api as preferences;

    Router::new()
        .push(Router::with_path("health").get(health::health))
        .push(Router::with_path("metrics").get(metrics::metrics))
        .push(Router::with_path("docs/openapi.json").get(openapi::get_description))
        .push(
            Router::with_hoop(dashboard::known_host)
                .push(Router::new().get(dashboard::serve_file))
                .push(Router::with_path("dashboard/api/events").hoop(auth::authenticate).get(dashboard::stream_events))
                .push(Router::with_path("dashboard").get(dashboard::serve_file))
                .push(Router::with_path("dashboard/{**path}").get(dashboard::serve_file)),
        )
        .push(
            Router::with_path("unsubscribe/{token}").get(preferences::show_unsubscribe).post(preferences::unsubscribe),
        )
        .push(reports())
}

/// Returns the routes of reports. The reporting system signs these requests.
fn reports() -> Router {
    use ingest::api as ingest;

    Router::new()
        .push(Router::with_path("ingest/events").post(ingest::ingest_events))
        .push(Router::with_path("ingest/message").post(ingest::ingest_message))
}

/// Adds a HEAD route beside each GET route (RFC 9110 §9.3.2). It has the handler of the GET route, and salvo removes
/// the body.
fn add_head_routes(router: &mut Router) {
    let is_get =
        |route: &&Router| route.filters().iter().any(|filter| matches!(filter.info(), FilterInfo::Method(Method::GET)));
    let heads: Vec<Router> = router
        .routers()
        .iter()
        .filter(is_get)
        .map(|get| {
            let mut head = Router::new().filter(filters::head());
            head.goal.clone_from(&get.goal);
            head
        })
        .collect();
    let routes = router.routers_mut();
    routes.extend(heads);
    routes.iter_mut().for_each(add_head_routes);
}

/// Builds the HTTP service: all routes with their checks.
pub(super) fn service(edge: Edge<HttpServices>, store: Store) -> Service {
    let keyed = api()
        .push(aliases())
        .hoop(RequestRecorder(Arc::clone(&edge.services.request_log)))
        .hoop(auth::authenticate)
        .hoop(query::refuse_unknown)
        .hoop(SpaceGuard(store))
        .hoop(response_limits::bound_response);
    behind(edge, Router::with_hoop(compression::compress).push(absent()).push(open()).push(keyed))
}

/// Builds the HTTP service of `--metrics-listen`, which needs no key.
pub(super) fn metrics_service(edge: Edge<HttpServices>) -> Service {
    let routes = Router::new()
        .push(Router::with_path("metrics").get(metrics::open_metrics))
        .push(Router::with_path("health").get(health::health));
    behind(edge, Router::with_hoop(compression::compress).push(routes))
}

fn behind(edge: Edge<HttpServices>, mut routes: Router) -> Service {
    add_head_routes(&mut routes);
    Service::new(routes).hoop(edge).catcher(Catcher::default().hoop(edge::shape_errors))
}

/// The description of the API, which depends on no setting: all servers of a process share it.
#[derive(Clone)]
pub(super) struct ApiDescription {
    pub(super) openapi: Arc<OpenApiJson>,
    pub(super) query_parameters: Arc<QueryParameters>,
}

/// Returns the description of the API. The first call generates it, which takes longer than the rest of a start.
pub(super) fn description() -> ApiDescription {
    static DESCRIPTION: LazyLock<ApiDescription> = LazyLock::new(|| {
        let operations = openapi_document();
        let query_parameters = Arc::new(QueryParameters::of(&operations));
        ApiDescription { openapi: Arc::new(OpenApiJson::new(&complete(operations))), query_parameters }
    });
    DESCRIPTION.clone()
}

/// Returns the description of the operations. It is generated from the routes and the types of their handlers.
fn openapi_document() -> OpenApi {
    openapi::describe(&api().push(reports()))
}

/// Returns the OpenAPI document, completed with the events of webhooks.
fn complete(mut operations: OpenApi) -> OpenApiDocument {
    let events = webhooks::api::describe_events(&mut operations.components);
    OpenApiDocument::of(&operations, events, &examples::of_operations())
}

/// Returns the OpenAPI document as indented JSON.
pub fn openapi_json() -> String {
    serde_json::to_string_pretty(&complete(openapi_document())).expect("an OpenAPI document is plain data")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Collects method and path of every handler of a router.
    fn handlers(router: &Router, path: &str, method: &str, found: &mut Vec<String>) {
        let (mut path, mut method) = (path.to_owned(), method.to_owned());
        for filter in router.filters() {
            match filter.info() {
                FilterInfo::Path(part) => path = format!("{path}/{}", part.trim_matches('/')),
                FilterInfo::Method(its) => method = its.to_string(),
                other => panic!("add the OpenAPI form of a route with {other:?} here"),
            }
        }
        if router.goal.is_some() {
            found.push(format!("{method} {path}"));
        }
        for child in router.routers() {
            handlers(child, &path, &method, found);
        }
    }

    #[test]
    fn the_openapi_document_has_every_route_of_the_api() {
        let mut routes = Vec::new();
        handlers(&api().push(reports()), "", "", &mut routes);
        let document = openapi_document();
        let mut described = Vec::new();
        for (path, item) in document.paths.iter() {
            for method in item.operations.keys() {
                described.push(format!("{} {path}", format!("{method:?}").to_uppercase()));
            }
        }
        routes.sort();
        described.sort();

        assert!(routes.len() > 15, "{routes:?}");
        assert_eq!(routes, described);
    }
}

//! All routes of the server.

use std::sync::Arc;

use salvo::catcher::Catcher;
use salvo::http::Method;
use salvo::http::header::AUTHORIZATION;
use salvo::routing::{FilterInfo, PathState, filters};
use salvo::{Request, Router, Service};

use super::sections;
use super::services::HttpServices;
use crate::http::{
    Edge, RequestRecorder, SpaceGuard, auth, compression, edge, health, metrics, openapi, query, response_limits,
};
use crate::store::Store;
use crate::tracking::api::TrackingHostGuard;
use crate::{
    api_keys, captured, contact_properties, contacts, dashboard, deliverability, domains, email_metrics, emails,
    ingest, insights, logs, preferences, segments, suppressions, topics, tracking, usage,
};

/// Returns the routes of the API that need an API key. A literal path must precede a path with a
/// parameter that also matches it.
pub(super) fn api() -> Router {
    use api_keys::api as keys;
    use domains::api as domains;
    use emails::api as emails;
    use logs::api as logs;

    Router::new()
        .push(Router::with_path("emails").post(emails::send_email).get(emails::list_emails))
        .push(Router::with_path("emails/batch").post(emails::send_batch))
        .push(Router::with_path("emails/metrics").get(email_metrics::api::get_email_metrics))
        .push(
            Router::with_path("emails/{id}")
                .get(emails::get_email)
                .patch(emails::update_email)
                .delete(emails::delete_email),
        )
        .push(Router::with_path("emails/{id}/cancel").post(emails::cancel_email))
        .push(Router::with_path("emails/{id}/attempts").get(emails::list_email_attempts))
        .push(Router::with_path("emails/{id}/insights").get(insights::api::get_email_insights))
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
        .push(sections::broadcasts())
        .push(sections::templates())
        .push(Router::with_path("captured").get(captured::api::list_captured))
        .push(Router::with_path("captured/{id}").get(captured::api::get_captured))
        .push(Router::with_path("usage").get(usage::api::get_usage))
        .push(Router::with_path("deliverability").get(deliverability::api::get_deliverability))
        .push(sections::webhooks())
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

/// Returns routes that some clients use for a route of [`api`]. The OpenAPI document does not have them.
fn aliases() -> Router {
    Router::with_path("email").post(emails::api::send_email)
}

/// Returns routes for paths and methods of the Resend API that this server does not support, and that a
/// path with a parameter would match. They answer like any unknown route.
fn absent() -> Router {
    let mut router = Router::new();
    for path in [
        "emails/receiving",
        "emails/receiving/{**rest}",
        "domains/claim",
        "domains/claims",
        "contacts/imports",
        "contacts/imports/{**rest}",
    ] {
        router = router.push(Router::with_path(path).goal(edge::unknown));
    }
    // For other methods, `emails/{id}` would match this path.
    let metrics = Router::with_path("emails/metrics").filter_fn(|req, _| req.method() != Method::GET);
    router = router.push(metrics.filter_fn(|req, _| req.method() != Method::HEAD).goal(edge::only_get));
    // For other methods, `emails/{id}` and `contacts/{id}` would match these paths.
    for path in ["emails/batch", "contacts/batch"] {
        let batch = Router::with_path(path).filter_fn(|req, _| req.method() != Method::POST);
        router = router.push(batch.goal(edge::only_post));
    }
    router
}

/// Returns the routes that need no API key, and those of the dashboard.
fn open(store: Store) -> Router {
    use preferences::api as preferences;

    Router::new()
        .push(Router::with_path("health").get(health::health))
        .push(Router::with_path("metrics").get(metrics::metrics))
        .push(docs())
        .push(pages(store))
        .push(
            Router::with_path("unsubscribe/{token}").get(preferences::show_unsubscribe).post(preferences::unsubscribe),
        )
        .push(Router::with_path("t/o/{token}").get(tracking::api::load_pixel))
        .push(Router::with_path("t/c/{token}").get(tracking::api::follow_link))
        .push(reports())
}

/// Returns the routes of the served documentation.
fn docs() -> Router {
    Router::new()
        .push(Router::with_path("llms.txt").get(dashboard::serve_llms))
        .push(Router::with_path("docs/openapi.json").get(openapi::get_description))
        .push(Router::with_path("docs/a/{hash}/{file}").get(dashboard::serve_docs_file))
        .push(Router::with_path("docs").get(dashboard::serve_doc))
        .push(Router::with_path("docs/{name}").get(dashboard::serve_doc))
}

/// Returns the routes of the dashboard.
fn pages(store: Store) -> Router {
    Router::with_hoop(dashboard::known_host)
        .push(Router::new().get(dashboard::serve_page))
        .push(dashboard_data(store))
        .push(dashboard::access::pages())
        .push(Router::with_path("dashboard/a/{hash}/{**path}").get(dashboard::serve_asset))
        .push(Router::with_path("dashboard/a/{**path}").get(edge::unknown))
        .push(Router::with_path("dashboard").get(dashboard::serve_page))
        .push(Router::with_path("dashboard/{**path}").get(dashboard::serve_page))
}

/// Returns the routes of the data of the dashboard: those of its own, and all of [`api`]. The session of a user takes
/// the place of an API key. A request with a session is not in the request log, which is that of the API.
fn dashboard_data(store: Store) -> Router {
    use dashboard::access::authenticate_session;

    let events = || Router::with_path("events");
    let with_session = Router::with_hoop(authenticate_session)
        .hoop(SpaceGuard(store))
        .hoop(response_limits::bound_response)
        .push(dashboard_api())
        .push(Router::with_hoop(query::refuse_unknown).push(api()));
    Router::with_path("dashboard/api")
        .push(absent())
        .push(events().filter_fn(has_key).hoop(auth::authenticate).get(dashboard::stream_events))
        .push(events().hoop(authenticate_session).get(dashboard::stream_events))
        .push(with_session)
        .push(Router::with_path("{**rest}").get(edge::unknown))
}

/// Returns the routes below `/dashboard/api` that the API does not have.
fn dashboard_api() -> Router {
    Router::new().push(dashboard::access::session_routes()).push(dashboard::api::routes())
}

fn has_key(req: &mut Request, _: &mut PathState<'_>) -> bool {
    req.headers().contains_key(AUTHORIZATION)
}

/// Returns the routes of reports. The reporting system signs these requests.
pub(super) fn reports() -> Router {
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
pub(super) fn service(edge: Edge<HttpServices>, store: Store, hosts: TrackingHostGuard) -> Service {
    let keyed = api()
        .push(aliases())
        .hoop(RequestRecorder(Arc::clone(&edge.services.request_log)))
        .hoop(auth::authenticate)
        .hoop(dashboard::api::note_sdk)
        .hoop(query::refuse_unknown)
        .hoop(SpaceGuard(store.clone()))
        .hoop(response_limits::bound_response);
    let routes = Router::with_hoop(compression::compress).push(absent()).push(open(store)).push(keyed);
    behind(edge, Some(hosts), routes)
}

/// Builds the HTTP service of `--metrics-listen`, which needs no key.
pub(super) fn metrics_service(edge: Edge<HttpServices>) -> Service {
    let routes = Router::new()
        .push(Router::with_path("metrics").get(metrics::open_metrics))
        .push(Router::with_path("health").get(health::health));
    behind(edge, None, Router::with_hoop(compression::compress).push(routes))
}

fn behind(edge: Edge<HttpServices>, hosts: Option<TrackingHostGuard>, mut routes: Router) -> Service {
    add_head_routes(&mut routes);
    let service = Service::new(routes).hoop(edge);
    let service = match hosts {
        Some(hosts) => service.hoop(hosts),
        None => service,
    };
    service.catcher(Catcher::default().hoop(edge::shape_errors))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::description::openapi_document;
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
    fn the_table_of_roles_has_exactly_the_routes_of_the_dashboard() {
        let mut routes = vec!["GET /events".to_owned()];
        handlers(&api().push(dashboard_api()), "", "", &mut routes);
        let without_name = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
        let without_names = |route: &String| route.split('/').map(without_name).collect::<Vec<_>>().join("/");

        let routes: BTreeSet<String> = routes.iter().map(without_names).collect();
        let listed: BTreeSet<String> =
            dashboard::access::roles::listed().map(|(method, path)| format!("{method} /{path}")).collect();

        assert!(routes.len() > 100, "{routes:?}");
        let missing: Vec<&String> = routes.difference(&listed).collect();
        assert!(missing.is_empty(), "add these routes to src/dashboard/access/roles.rs: {missing:?}");
        let unknown: Vec<&String> = listed.difference(&routes).collect();
        assert!(unknown.is_empty(), "remove these routes from src/dashboard/access/roles.rs: {unknown:?}");
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

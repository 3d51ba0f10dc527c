//! Data of the pages below `/dashboard/api`, in addition to the endpoints of the API.
//!
//! The handlers call the use cases that the API and the command line call. They answer JSON in the forms of the API. A
//! handler about the whole instance, such as its queue, answers the first team only, which is that of the operator.
//!
//! Files in reading order:
//! - `instance.rs`: settings that pages show, and the operator's team;
//! - `me.rs`: the user and the team;
//! - `revision.rs`: changes of drafts;
//! - `broadcasts/`: drafts, checks and results of broadcasts;
//! - `captured.rs`: captured mail;
//! - `preview.rs`: the HTML of an email for a frame; pure;
//! - `emails.rs`: one email;
//! - `search.rs`, `logs.rs`, `audit.rs`: emails by their fields, the request log, the audit log;
//! - `templates.rs`: drafts and previews;
//! - `setup.rs`: API keys, domains and webhooks with further fields;
//! - `webhooks.rs`: deliveries;
//! - `queue.rs`, `health.rs`: the queue by site, and the checks of `ringmail doctor`;
//! - `attention.rs`: the sentences of the overview; pure;
//! - `overview.rs`: the overview;
//! - `connect.rs`: client libraries;
//! - `deliverability.rs`: the score and its figures;
//! - `query.rs`: values of query parameters;
//! - `reply.rs`: lists and files.
//!
//! Invariants:
//! - No handler reads a row of another team.
//! - The HTML of an email is sent only with the policy of a preview.

mod attention;
mod audit;
mod broadcasts;
mod captured;
mod connect;
mod deliverability;
mod emails;
mod health;
mod instance;
mod logs;
mod me;
mod overview;
mod preview;
mod query;
mod queue;
mod reply;
mod revision;
mod search;
mod setup;
mod templates;
mod webhooks;

pub(crate) use connect::note_sdk;
pub use health::HealthReports;
pub use instance::DashboardInstance;
use instance::operator_only;

use salvo::Router;

use crate::webhooks::api as webhooks_api;

/// Returns the routes that the API does not have, or has with less. They precede those of the API, some of which match
/// the same paths.
pub(crate) fn routes() -> Router {
    Router::new()
        .push(Router::with_path("me").get(me::get_me))
        .push(Router::with_path("search").get(search::search_emails))
        .push(Router::with_path("overview").get(overview::get_overview))
        .push(Router::with_path("connect").get(connect::get_connect))
        .push(Router::with_path("deliverability").get(deliverability::get_deliverability))
        .push(Router::with_path("logs").get(logs::list_logs))
        .push(Router::with_path("audit").get(audit::list_audit))
        .push(Router::with_path("api-keys").get(setup::list_api_keys))
        .push(Router::with_path("domains/{id}").get(setup::get_domain))
        .push(broadcasts::routes())
        .push(captured_routes())
        .push(email_routes())
        .push(template_routes())
        .push(operator_routes())
        .push(webhook_routes())
}

/// Lists of captured mail are those of the API.
fn captured_routes() -> Router {
    Router::with_path("captured").delete(captured::clear_captured).push(
        Router::with_path("{id}")
            .get(captured::get_captured)
            .delete(captured::delete_captured)
            .push(Router::with_path("raw").get(captured::get_raw))
            .push(Router::with_path("preview").get(captured::get_preview))
            .push(Router::with_path("parts/{index}").get(captured::get_part))
            .push(Router::with_path("release").post(captured::release_captured)),
    )
}

fn email_routes() -> Router {
    let one = Router::with_path("{id}")
        .push(Router::with_path("preview").get(emails::get_preview))
        .push(Router::with_path("raw").get(emails::get_raw))
        .push(Router::with_path("request").get(emails::get_request))
        .push(Router::with_path("deliveries").get(emails::list_deliveries))
        .push(Router::with_path("resend").post(emails::resend_email));
    Router::with_path("emails").get(emails::list_emails).push(one)
}

fn template_routes() -> Router {
    Router::with_path("templates/{id}")
        .get(templates::get_template)
        .patch(templates::update_template)
        .push(Router::with_path("preview").get(templates::get_preview))
        .push(Router::with_path("rendered").get(templates::get_rendered))
}

/// Routes about the whole instance.
fn operator_routes() -> Router {
    Router::with_hoop(operator_only)
        .push(Router::with_path("health").get(health::get_health))
        .push(Router::with_path("health/run").post(health::run_health))
        .push(queue_routes())
}

fn queue_routes() -> Router {
    let site = Router::with_path("{site}")
        .get(queue::get_site)
        .push(Router::with_path("pause").post(queue::pause_site))
        .push(Router::with_path("resume").post(queue::resume_site))
        .push(Router::with_path("flush").post(queue::flush_site));
    Router::with_path("queue")
        .get(queue::list_sites)
        .push(Router::with_path("pause").post(queue::pause_queue))
        .push(Router::with_path("resume").post(queue::resume_queue))
        .push(site)
}

fn webhook_routes() -> Router {
    let one = Router::with_path("{id}")
        .get(setup::get_webhook)
        .push(Router::with_path("deliveries").get(webhooks::list_deliveries))
        .push(Router::with_path("deliveries/{event_id}").get(webhooks::get_delivery))
        .push(Router::with_path("deliveries/{event_id}/replay").post(webhooks_api::deliveries::replay_webhook_event))
        .push(Router::with_path("rotate-secret").post(webhooks_api::rotate_webhook));
    Router::with_path("webhooks").get(setup::list_webhooks).push(one)
}

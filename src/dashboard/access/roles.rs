//! Role that each route below `/dashboard/api` needs: one table for all routes.
//!
//! The table lists reads too, because a response can have a secret. A route that the table lacks is refused for every
//! role, and a test requires it to have all routes.

use salvo::http::Method;

use crate::users::Role;

/// Method, path with its parameters as `{}`, and the lowest role.
const ROUTES: &[(&str, &str, Role)] = &[
    // The response has the signing secret.
    ("GET", "webhooks/{}", Role::Admin),
    // The log has the addresses of the users and their actions.
    ("GET", "audit", Role::Admin),
    // Reads of the team's data. None has a secret.
    ("GET", "emails", Role::Viewer),
    ("GET", "emails/{}", Role::Viewer),
    ("GET", "emails/{}/attempts", Role::Viewer),
    ("GET", "emails/{}/insights", Role::Viewer),
    ("GET", "emails/{}/attachments", Role::Viewer),
    ("GET", "emails/{}/attachments/{}", Role::Viewer),
    ("GET", "emails/{}/preview", Role::Viewer),
    ("GET", "emails/{}/raw", Role::Viewer),
    ("GET", "emails/{}/request", Role::Viewer),
    ("GET", "emails/{}/deliveries", Role::Viewer),
    ("GET", "broadcasts/{}/content", Role::Viewer),
    ("GET", "broadcasts/{}/preview", Role::Viewer),
    ("GET", "broadcasts/{}/rendered", Role::Viewer),
    ("GET", "broadcasts/{}/report", Role::Viewer),
    ("GET", "captured", Role::Viewer),
    ("GET", "captured/{}", Role::Viewer),
    ("GET", "captured/{}/raw", Role::Viewer),
    ("GET", "captured/{}/preview", Role::Viewer),
    ("GET", "captured/{}/parts/{}", Role::Viewer),
    ("GET", "contacts", Role::Viewer),
    ("POST", "contacts/batch/get", Role::Viewer),
    ("GET", "contacts/{}", Role::Viewer),
    ("GET", "contacts/{}/topics", Role::Viewer),
    ("GET", "contacts/{}/segments", Role::Viewer),
    ("GET", "contact-properties", Role::Viewer),
    ("GET", "contact-properties/{}", Role::Viewer),
    ("GET", "topics", Role::Viewer),
    ("GET", "topics/{}", Role::Viewer),
    ("GET", "segments", Role::Viewer),
    ("GET", "segments/{}", Role::Viewer),
    ("GET", "segments/{}/contacts", Role::Viewer),
    ("GET", "broadcasts", Role::Viewer),
    ("GET", "broadcasts/{}", Role::Viewer),
    ("GET", "broadcasts/{}/recipients", Role::Viewer),
    ("GET", "broadcasts/{}/clicked-links", Role::Viewer),
    ("GET", "audiences", Role::Viewer),
    ("GET", "audiences/{}", Role::Viewer),
    ("GET", "audiences/{}/contacts", Role::Viewer),
    ("GET", "audiences/{}/contacts/{}", Role::Viewer),
    ("GET", "templates", Role::Viewer),
    ("GET", "templates/{}", Role::Viewer),
    ("GET", "templates/{}/preview", Role::Viewer),
    ("GET", "templates/{}/rendered", Role::Viewer),
    ("GET", "suppressions", Role::Viewer),
    ("GET", "suppressions/{}", Role::Viewer),
    ("GET", "domains", Role::Viewer),
    ("GET", "domains/{}", Role::Viewer),
    ("GET", "api-keys", Role::Viewer),
    ("GET", "webhooks", Role::Viewer),
    ("GET", "webhooks/{}/events", Role::Viewer),
    ("GET", "webhooks/{}/events/{}", Role::Viewer),
    ("GET", "webhooks/{}/events/{}/attempts", Role::Viewer),
    ("GET", "webhooks/{}/deliveries", Role::Viewer),
    ("GET", "webhooks/{}/deliveries/{}", Role::Viewer),
    ("GET", "logs", Role::Viewer),
    ("GET", "logs/{}", Role::Viewer),
    ("GET", "usage", Role::Viewer),
    ("GET", "emails/metrics", Role::Viewer),
    ("GET", "deliverability", Role::Viewer),
    ("GET", "events", Role::Viewer),
    ("GET", "search", Role::Viewer),
    ("GET", "overview", Role::Viewer),
    // The response has the key of a development server for an admin only.
    ("GET", "connect", Role::Viewer),
    ("GET", "queue", Role::Viewer),
    ("GET", "queue/{}", Role::Viewer),
    ("GET", "health", Role::Viewer),
    ("GET", "openapi.json", Role::Viewer),
    // The own user, its sessions and the team that the session shows.
    ("GET", "me", Role::Viewer),
    ("GET", "sessions", Role::Viewer),
    ("DELETE", "sessions", Role::Viewer),
    ("DELETE", "sessions/{}", Role::Viewer),
    ("POST", "me/team", Role::Viewer),
    // Sending.
    ("POST", "emails", Role::Member),
    ("POST", "emails/batch", Role::Member),
    ("PATCH", "emails/{}", Role::Member),
    ("DELETE", "emails/{}", Role::Member),
    ("POST", "emails/{}/cancel", Role::Member),
    ("POST", "broadcasts", Role::Member),
    ("PATCH", "broadcasts/{}", Role::Member),
    ("DELETE", "broadcasts/{}", Role::Member),
    ("POST", "broadcasts/{}/send", Role::Member),
    ("POST", "broadcasts/{}/cancel", Role::Member),
    ("POST", "broadcasts/{}/duplicate", Role::Member),
    ("POST", "emails/{}/resend", Role::Member),
    ("PUT", "broadcasts/{}/content", Role::Member),
    ("POST", "broadcasts/{}/check", Role::Member),
    ("POST", "broadcasts/{}/test", Role::Member),
    ("POST", "markdown", Role::Member),
    ("POST", "captured/{}/release", Role::Member),
    ("DELETE", "captured/{}", Role::Member),
    ("DELETE", "captured", Role::Member),
    ("POST", "templates", Role::Member),
    ("PATCH", "templates/{}", Role::Member),
    ("DELETE", "templates/{}", Role::Member),
    ("POST", "templates/{}/publish", Role::Member),
    ("POST", "templates/{}/duplicate", Role::Member),
    // The audience.
    ("POST", "contacts", Role::Member),
    ("POST", "contacts/batch", Role::Member),
    ("POST", "contacts/batch/remove", Role::Member),
    ("PATCH", "contacts/{}", Role::Member),
    ("DELETE", "contacts/{}", Role::Member),
    ("PATCH", "contacts/{}/topics", Role::Member),
    ("POST", "contacts/{}/preferences-link", Role::Member),
    ("POST", "contacts/{}/segments/{}", Role::Member),
    ("DELETE", "contacts/{}/segments/{}", Role::Member),
    ("POST", "contact-properties", Role::Member),
    ("PATCH", "contact-properties/{}", Role::Member),
    ("DELETE", "contact-properties/{}", Role::Member),
    ("POST", "topics", Role::Member),
    ("PATCH", "topics/{}", Role::Member),
    ("DELETE", "topics/{}", Role::Member),
    ("POST", "segments", Role::Member),
    ("PATCH", "segments/{}", Role::Member),
    ("DELETE", "segments/{}", Role::Member),
    ("POST", "audiences", Role::Member),
    ("DELETE", "audiences/{}", Role::Member),
    ("POST", "audiences/{}/contacts", Role::Member),
    ("PATCH", "audiences/{}/contacts/{}", Role::Member),
    ("DELETE", "audiences/{}/contacts/{}", Role::Member),
    // The setup of the team.
    ("POST", "domains", Role::Admin),
    ("PATCH", "domains/{}", Role::Admin),
    ("DELETE", "domains/{}", Role::Admin),
    ("POST", "domains/{}/verify", Role::Admin),
    ("POST", "api-keys", Role::Admin),
    ("PATCH", "api-keys/{}", Role::Admin),
    ("DELETE", "api-keys/{}", Role::Admin),
    ("POST", "suppressions", Role::Admin),
    ("POST", "suppressions/batch/add", Role::Admin),
    ("POST", "suppressions/batch/remove", Role::Admin),
    ("DELETE", "suppressions/{}", Role::Admin),
    ("POST", "webhooks", Role::Admin),
    ("PATCH", "webhooks/{}", Role::Admin),
    ("DELETE", "webhooks/{}", Role::Admin),
    ("POST", "webhooks/{}/rotate", Role::Admin),
    ("POST", "webhooks/{}/rotate-secret", Role::Admin),
    ("POST", "webhooks/{}/signing-secret/rotate", Role::Admin),
    ("POST", "webhooks/{}/test", Role::Admin),
    ("POST", "webhooks/{}/events/{}/replay", Role::Admin),
    ("POST", "webhooks/{}/deliveries/{}/replay", Role::Admin),
    // The queue and the checks of the server.
    ("POST", "queue/pause", Role::Admin),
    ("POST", "queue/resume", Role::Admin),
    ("POST", "queue/{}/pause", Role::Admin),
    ("POST", "queue/{}/resume", Role::Admin),
    ("POST", "queue/{}/flush", Role::Admin),
    ("POST", "health/run", Role::Admin),
];

/// Returns the lowest role that can request a route; `None` if the table lacks it. `path` is the path with its
/// parameters, below `/dashboard/api`.
pub(crate) fn required_role(method: &Method, path: &str) -> Option<Role> {
    let method = if *method == Method::HEAD { "GET" } else { method.as_str() };
    let path = without_names(path);
    let listed = ROUTES.iter().find(|(listed, route, _)| *listed == method && *route == path);
    listed.map(|(_, _, role)| *role)
}

/// Returns method and path of each row of the table.
#[cfg(test)]
pub(crate) fn listed() -> impl Iterator<Item = (&'static str, &'static str)> {
    ROUTES.iter().map(|(method, path, _)| (*method, *path))
}

/// Replaces the names of the parameters, because equal routes may name them differently.
fn without_names(path: &str) -> String {
    let part = |part: &str| if part.starts_with('{') { "{}".to_owned() } else { part.to_owned() };
    path.trim_matches('/').split('/').map(part).collect::<Vec<_>>().join("/")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::audit::AuditAction;

    #[test]
    fn a_route_needs_the_role_of_the_table_and_an_unknown_one_is_refused() {
        for (method, path, expected) in [
            (Method::GET, "emails", Some(Role::Viewer)),
            (Method::GET, "/anything/{id}", None),
            (Method::GET, "", None),
            (Method::HEAD, "emails/{id}", Some(Role::Viewer)),
            (Method::GET, "webhooks/{id}", Some(Role::Admin)),
            (Method::HEAD, "webhooks/{webhook_id}", Some(Role::Admin)),
            (Method::POST, "emails", Some(Role::Member)),
            (Method::POST, "contacts/{id}/segments/{segment_id}", Some(Role::Member)),
            (Method::POST, "api-keys", Some(Role::Admin)),
            (Method::DELETE, "/sessions/{id}", Some(Role::Viewer)),
            (Method::POST, "anything", None),
            (Method::PUT, "emails", None),
            (Method::DELETE, "", None),
        ] {
            assert_eq!(required_role(&method, path), expected, "{method} {path}");
        }
    }

    /// Changes that leave an entry in the audit log, with its action.
    const AUDITED: &[(&str, &str, AuditAction)] = &[
        ("DELETE", "sessions", AuditAction::SessionEnded),
        ("DELETE", "sessions/{}", AuditAction::SessionEnded),
        // Only if the request sends the broadcast.
        ("POST", "broadcasts", AuditAction::BroadcastSent),
        ("DELETE", "broadcasts/{}", AuditAction::BroadcastDeleted),
        ("POST", "broadcasts/{}/send", AuditAction::BroadcastSent),
        ("POST", "broadcasts/{}/cancel", AuditAction::BroadcastCanceled),
        ("POST", "captured/{}/release", AuditAction::CapturedReleased),
        ("DELETE", "captured/{}", AuditAction::CapturedDeleted),
        ("DELETE", "captured", AuditAction::CapturedDeleted),
        ("DELETE", "templates/{}", AuditAction::TemplateDeleted),
        // Only if the request erases the addresses.
        ("POST", "contacts/batch/remove", AuditAction::ContactsErased),
        ("DELETE", "contacts/{}", AuditAction::ContactsErased),
        ("DELETE", "audiences/{}/contacts/{}", AuditAction::ContactsErased),
        ("POST", "domains", AuditAction::DomainCreated),
        ("PATCH", "domains/{}", AuditAction::DomainUpdated),
        ("DELETE", "domains/{}", AuditAction::DomainDeleted),
        ("POST", "domains/{}/verify", AuditAction::DomainVerificationRequested),
        ("POST", "api-keys", AuditAction::ApiKeyCreated),
        ("PATCH", "api-keys/{}", AuditAction::ApiKeyUpdated),
        ("DELETE", "api-keys/{}", AuditAction::ApiKeyDeleted),
        ("POST", "suppressions", AuditAction::SuppressionsAdded),
        ("POST", "suppressions/batch/add", AuditAction::SuppressionsAdded),
        ("POST", "suppressions/batch/remove", AuditAction::SuppressionsRemoved),
        ("DELETE", "suppressions/{}", AuditAction::SuppressionsRemoved),
        ("POST", "webhooks", AuditAction::WebhookCreated),
        ("PATCH", "webhooks/{}", AuditAction::WebhookUpdated),
        ("DELETE", "webhooks/{}", AuditAction::WebhookDeleted),
        ("POST", "webhooks/{}/rotate", AuditAction::WebhookSecretRotated),
        ("POST", "webhooks/{}/rotate-secret", AuditAction::WebhookSecretRotated),
        ("POST", "webhooks/{}/signing-secret/rotate", AuditAction::WebhookSecretRotated),
        ("POST", "webhooks/{}/test", AuditAction::WebhookTested),
        ("POST", "webhooks/{}/events/{}/replay", AuditAction::WebhookReplayed),
        ("POST", "webhooks/{}/deliveries/{}/replay", AuditAction::WebhookReplayed),
        ("POST", "queue/pause", AuditAction::QueuePaused),
        ("POST", "queue/resume", AuditAction::QueueResumed),
        ("POST", "queue/{}/pause", AuditAction::QueuePaused),
        ("POST", "queue/{}/resume", AuditAction::QueueResumed),
        ("POST", "queue/{}/flush", AuditAction::QueueFlushed),
    ];

    /// Changes that are not administrative: sending, drafts, contacts, and requests that store
    /// nothing about the team.
    const NOT_AUDITED: &[(&str, &str)] = &[
        ("POST", "contacts"),
        ("PATCH", "contacts/{}"),
        ("POST", "contacts/batch"),
        ("POST", "contacts/batch/get"),
        ("PATCH", "contacts/{}/topics"),
        ("POST", "contacts/{}/preferences-link"),
        ("POST", "contacts/{}/segments/{}"),
        ("DELETE", "contacts/{}/segments/{}"),
        ("POST", "contact-properties"),
        ("PATCH", "contact-properties/{}"),
        ("DELETE", "contact-properties/{}"),
        ("POST", "topics"),
        ("PATCH", "topics/{}"),
        ("DELETE", "topics/{}"),
        ("POST", "segments"),
        ("PATCH", "segments/{}"),
        ("DELETE", "segments/{}"),
        ("POST", "audiences"),
        ("DELETE", "audiences/{}"),
        ("POST", "audiences/{}/contacts"),
        ("PATCH", "audiences/{}/contacts/{}"),
        ("POST", "me/team"),
        ("POST", "emails"),
        ("POST", "emails/batch"),
        ("PATCH", "emails/{}"),
        ("DELETE", "emails/{}"),
        ("POST", "emails/{}/cancel"),
        ("POST", "emails/{}/resend"),
        ("PATCH", "broadcasts/{}"),
        ("POST", "broadcasts/{}/duplicate"),
        ("PUT", "broadcasts/{}/content"),
        ("POST", "broadcasts/{}/check"),
        ("POST", "broadcasts/{}/test"),
        ("POST", "markdown"),
        ("POST", "templates"),
        ("PATCH", "templates/{}"),
        ("POST", "templates/{}/publish"),
        ("POST", "templates/{}/duplicate"),
        ("POST", "health/run"),
    ];

    #[test]
    fn each_change_is_audited_or_is_not_administrative() {
        let audited = AUDITED.iter().map(|(method, path, _)| (*method, *path));
        let named: Vec<_> = audited.chain(NOT_AUDITED.iter().copied()).collect();
        let changes: Vec<_> = listed().filter(|(method, _)| *method != "GET").collect();

        for change in &changes {
            let count = named.iter().filter(|named| *named == change).count();
            assert_eq!(count, 1, "{change:?} must be in one list of this test, and its use case calls `audit::record`");
        }
        let unknown: Vec<_> = named.iter().filter(|named| !changes.contains(named)).collect();
        assert!(unknown.is_empty(), "{unknown:?} are no routes");
    }

    #[test]
    fn the_table_lists_each_route_once() {
        for (at, (method, path, _)) in ROUTES.iter().enumerate() {
            assert_eq!(without_names(path), *path);
            assert!(!ROUTES[..at].iter().any(|(other, route, _)| other == method && route == path), "{method} {path}");
        }
    }
}

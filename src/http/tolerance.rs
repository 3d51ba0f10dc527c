//! Fields that official SDKs add to bodies without effect. They are skipped on these routes. All other
//! unknown fields are rejected.

/// Fields that SDKs add to an email, alone or in a batch.
const EMAIL_ECHOES: &[&str] = &["created_at"];
/// Fields that SDKs add to each email of a batch.
pub(crate) const EMAIL_ITEM_ECHOES: &[&str] = EMAIL_ECHOES;

/// Method, matched path, and the skipped fields.
const TOLERATED: &[(&str, &str, &[&str])] = &[
    ("POST", "emails", EMAIL_ECHOES),
    ("POST", "email", EMAIL_ECHOES),
    ("PATCH", "emails/{id}", &["id", "email_id"]),
    ("PATCH", "domains/{id}", &["id"]),
    ("PATCH", "contacts/{id}", &["id"]),
    ("PATCH", "topics/{id}", &["id", "topic_id"]),
    ("PATCH", "contact-properties/{id}", &["id"]),
    ("POST", "segments", &["audience_id"]),
    ("PATCH", "audiences/{id}/contacts/{contact_id}", &["id"]),
    ("PATCH", "api-keys/{id}", &["id"]),
    ("PATCH", "webhooks/{id}", &["webhook_id"]),
];

/// Returns the skipped fields of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    TOLERATED
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

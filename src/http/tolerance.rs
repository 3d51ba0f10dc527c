//! Fields that official SDKs add to bodies, and query parameters that they add, without effect. They are skipped on
//! these routes. All other unknown fields and parameters are rejected.

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

/// Method, matched path, query parameter, and the path parameter that it repeats.
const QUERY_ECHOES: &[(&str, &str, &str, &str)] = &[
    ("GET", "audiences/{id}/contacts", "audience_id", "id"),
    ("GET", "contacts/{id}/segments", "contact_id", "id"),
    ("GET", "contacts/{id}/segments", "email", "id"),
    ("GET", "contacts/{id}/topics", "contact_id", "id"),
    ("GET", "contacts/{id}/topics", "email", "id"),
];

/// Returns whether a query parameter of a route only repeats a path parameter, or is empty. `path_value` returns the
/// value of a path parameter.
pub(crate) fn is_query_echo<'v>(
    method: &str,
    matched_path: &str,
    name: &str,
    value: &str,
    path_value: impl FnOnce(&str) -> Option<&'v str>,
) -> bool {
    QUERY_ECHOES
        .iter()
        .find(|(its_method, path, its_name, _)| *its_method == method && *path == matched_path && *its_name == name)
        .is_some_and(|(.., repeated)| {
            value.is_empty() || path_value(repeated).is_some_and(|path_value| path_value.eq_ignore_ascii_case(value))
        })
}

//! Fields that official SDKs echo into bodies where they mean nothing: left out, route by route,
//! while every other unknown field is refused.

/// Method, matched path, and the fields that are left out.
const TOLERATED: &[(&str, &str, &[&str])] = &[
    ("POST", "emails", &["created_at"]),
    ("POST", "emails/batch", &["created_at"]),
    ("PATCH", "emails/{id}", &["id", "email_id"]),
    ("PATCH", "domains/{id}", &["id"]),
    ("PATCH", "api-keys/{id}", &["id"]),
];

/// Returns the fields that are left out of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    TOLERATED
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

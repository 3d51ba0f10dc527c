//! Fields that official SDKs echo into bodies where they mean nothing: left out, route by route,
//! while every other unknown field is refused.

/// What SDKs echo into an email, sent alone or in a batch.
const EMAIL_ECHOES: &[&str] = &["created_at"];
/// The same for each email of a batch, which is read by itself.
pub(crate) const EMAIL_ITEM_ECHOES: &[&str] = EMAIL_ECHOES;

/// What SDKs echo into a contact: alone, in a batch, or under the older name of a segment.
const CONTACT_ECHOES: &[&str] = &["audience_id", "segment_id"];
/// The same for each contact of a batch, which is read by itself.
pub(crate) const CONTACT_ITEM_ECHOES: &[&str] = CONTACT_ECHOES;

/// Method, matched path, and the fields that are left out.
const TOLERATED: &[(&str, &str, &[&str])] = &[
    ("POST", "emails", EMAIL_ECHOES),
    ("PATCH", "emails/{id}", &["id", "email_id"]),
    ("PATCH", "domains/{id}", &["id"]),
    ("POST", "contacts", CONTACT_ECHOES),
    ("PATCH", "contacts/{id}", &["id", "audience_id", "segment_id"]),
    ("PATCH", "topics/{id}", &["id", "topic_id"]),
    ("PATCH", "contact-properties/{id}", &["id"]),
    ("POST", "segments", &["audience_id"]),
    ("POST", "audiences/{id}/contacts", CONTACT_ECHOES),
    ("PATCH", "audiences/{id}/contacts/{contact_id}", &["id", "audience_id", "segment_id"]),
    ("PATCH", "api-keys/{id}", &["id"]),
    ("POST", "webhooks", &["status"]),
    ("PATCH", "webhooks/{id}", &["webhook_id"]),
];

/// Returns the fields that are left out of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    TOLERATED
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

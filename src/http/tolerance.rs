//! Fields that official SDKs add to bodies without effect. They are skipped on these routes. All other
//! unknown fields are rejected.

/// Fields that SDKs add to an email, alone or in a batch.
const EMAIL_ECHOES: &[&str] = &["created_at"];
/// Fields that SDKs add to each email of a batch.
pub(crate) const EMAIL_ITEM_ECHOES: &[&str] = EMAIL_ECHOES;

/// Fields that SDKs add to a contact: alone, in a batch, or under the deprecated name of a segment.
const CONTACT_ECHOES: &[&str] = &["audience_id", "segment_id"];
/// Fields that SDKs add to each contact of a batch.
pub(crate) const CONTACT_ITEM_ECHOES: &[&str] = CONTACT_ECHOES;

/// Method, matched path, and the skipped fields.
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

/// Returns the skipped fields of the bodies of a route.
pub(crate) fn of_route(method: &str, matched_path: &str) -> &'static [&'static str] {
    TOLERATED
        .iter()
        .find(|(its_method, path, _)| *its_method == method && *path == matched_path)
        .map_or(&[], |(_, _, fields)| fields)
}

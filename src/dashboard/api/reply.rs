//! Responses that several handlers share: lists and files.

use salvo::Response;
use salvo::http::HeaderValue;
use salvo::http::header::{CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE};
use serde::Serialize;

use crate::base::id::EmailId;
use crate::emails::EmailRow;
use crate::emails::api::{EmailSummary, TagResponse};

/// An email in a list: that of the API, and its tags.
#[derive(Serialize)]
pub(super) struct ListedEmail {
    #[serde(flatten)]
    summary: EmailSummary,
    tags: Vec<TagResponse>,
}

impl ListedEmail {
    pub(super) fn of((id, row): &(EmailId, EmailRow)) -> Self {
        let tag = |(name, value): &(String, String)| TagResponse { name: name.clone(), value: value.clone() };
        Self { summary: EmailSummary::of(*id, row), tags: row.tags.iter().map(tag).collect() }
    }
}

/// A list, as those of the API.
#[derive(Serialize)]
pub(super) struct DataList<T> {
    object: &'static str,
    has_more: bool,
    data: Vec<T>,
}

impl<T> DataList<T> {
    pub(super) fn new(data: Vec<T>, has_more: bool) -> Self {
        Self { object: "list", has_more, data }
    }
}

/// Result of a change.
#[derive(Serialize)]
pub(super) struct ChangedResponse {
    pub(super) object: &'static str,
    pub(super) id: String,
}

/// Result of a deletion.
#[derive(Serialize)]
pub(super) struct DeletedResponse {
    pub(super) object: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) id: Option<String>,
    pub(super) deleted: bool,
    /// Number of deleted items, if there can be several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) count: Option<usize>,
}

/// Writes a file that the browser stores and never shows. Its bytes come from an email.
pub(super) fn write_file(res: &mut Response, content_type: &str, filename: &str, bytes: Vec<u8>) {
    let headers = res.headers_mut();
    let content_type =
        HeaderValue::from_str(content_type).unwrap_or_else(|_| HeaderValue::from_static("application/octet-stream"));
    headers.insert(CONTENT_TYPE, content_type);
    let disposition = HeaderValue::from_str(&disposition(filename));
    headers.insert(CONTENT_DISPOSITION, disposition.unwrap_or_else(|_| HeaderValue::from_static("attachment")));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static("sandbox; default-src 'none'"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    res.body(bytes);
}

/// Returns the `Content-Disposition` of a file (RFC 6266 §4.3): its name in ASCII, and as it is in RFC 8187.
fn disposition(filename: &str) -> String {
    let plain: String = filename
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || "._- ".contains(c) { c } else { '_' })
        .take(120)
        .collect();
    let encoded = percent_encoded(&filename.chars().take(120).collect::<String>());
    format!("attachment; filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

/// Returns a text as a value of a query or of RFC 8187.
pub(super) fn percent_encoded(text: &str) -> String {
    let encode = |byte: u8| match byte {
        byte if byte.is_ascii_alphanumeric() || b"._-".contains(&byte) => char::from(byte).to_string(),
        byte => format!("%{byte:02X}"),
    };
    text.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_cannot_change_the_header() {
        assert_eq!(
            disposition("a\"; x=\"\r\nB: c/é.pdf"),
            "attachment; filename=\"a__ x____B_ c__.pdf\"; \
             filename*=UTF-8''a%22%3B%20x%3D%22%0D%0AB%3A%20c%2F%C3%A9.pdf"
        );
    }
}

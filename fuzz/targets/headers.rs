//! Parses arbitrary JSON as custom headers. The parser does not panic. Accepted headers cannot start a new line, and
//! stay within the limits.

use ringmail::base::compat::Compat;
use ringmail::emails::headers::{self, HEADERS_BYTES_MAX, HEADERS_MAX, RawHeaders};
use ringmail::mime;

pub(crate) fn check(json: &[u8]) {
    let Ok(RawHeaders(raw)) = serde_json::from_slice(json) else {
        return;
    };
    for compat in [Compat::NONE, Compat::ALL] {
        check_with(raw.clone(), compat);
    }
}

fn check_with(raw: Vec<(String, String)>, compat: Compat) {
    let Ok(headers) = headers::parse(raw, compat) else {
        return;
    };
    assert!(!headers.reply_to.is_some_and(|value| value.contains(['\r', '\n', '\0'])));
    let headers = headers.custom;

    assert!(headers.iter().len() <= HEADERS_MAX);
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(bytes <= HEADERS_BYTES_MAX);
    for (name, value) in headers.iter() {
        assert!(name.bytes().all(|b| b.is_ascii_graphic() && b != b':'));
        assert!(!value.chars().any(|c| c.is_control() && c != '\t'));
        let reserved = name.to_ascii_lowercase();
        assert!(!reserved.starts_with("x-ringmail-") && !reserved.starts_with("x-ses-"));
    }
    assert!(headers.value("list-unsubscribe").is_some() || !headers.has_unsubscribe_pair());
    assert!(compat == Compat::ALL || headers.value("list-unsubscribe").is_some() == headers.has_unsubscribe_pair());
    for (name, value) in headers.iter() {
        assert_eq!(mime::check_header(name, value), Ok(()));
    }
    assert_eq!(headers::parse(headers.clone().into(), compat).map(|parsed| parsed.custom), Ok(headers));
}

//! Parses arbitrary JSON as custom headers. The parser does not panic. Accepted headers cannot start a new line, and
//! stay within the limits.

use ringmail::emails::headers::{self, HEADERS_BYTES_MAX, HEADERS_MAX, RawHeaders};

pub(crate) fn check(json: &[u8]) {
    let Ok(RawHeaders(raw)) = serde_json::from_slice(json) else {
        return;
    };
    let Ok(headers) = headers::parse(raw) else {
        return;
    };

    assert!(headers.iter().len() <= HEADERS_MAX);
    let bytes: usize = headers.iter().map(|(name, value)| name.len() + value.len()).sum();
    assert!(bytes <= HEADERS_BYTES_MAX);
    for (name, value) in headers.iter() {
        assert!(name.bytes().all(|b| b.is_ascii_graphic() && b != b':'));
        assert!(!value.chars().any(|c| c.is_control() && c != '\t'));
        let reserved = name.to_ascii_lowercase();
        assert!(!reserved.starts_with("x-ringmail-") && !reserved.starts_with("x-ses-"));
    }
    assert_eq!(headers.value("list-unsubscribe").is_some(), headers.has_unsubscribe_pair());
    assert_eq!(headers::parse(headers.clone().into()), Ok(headers));
}

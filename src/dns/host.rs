//! The one spelling of a host name: A-labels, lowercase, no dot at the end.

/// RFC 1035 §2.3.4: 255 octets on the wire are 253 characters of text.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Returns `raw` as lowercase A-labels without the final dot, or `None` when it can name no host.
///
/// Underscores pass, because record names such as `_dmarc.example.com` are asked for through
/// here too. A name that ends in a number does not: it is an address somebody took for a name.
pub fn normalize(raw: &str) -> Option<String> {
    // Bounded before IDNA, whose work grows with its input.
    if raw.len() > 4 * NAME_BYTES_MAX {
        return None;
    }
    let name = if raw.is_ascii() { raw.to_ascii_lowercase() } else { idna::domain_to_ascii(raw).ok()? };
    let name = name.strip_suffix('.').unwrap_or(&name);
    if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.split('.').all(is_label) {
        return None;
    }
    let last = name.rsplit('.').next().unwrap_or(name);
    if last.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(name.to_owned())
}

fn is_label(label: &str) -> bool {
    !label.is_empty()
        && label.len() <= LABEL_BYTES_MAX
        && !label.starts_with('-')
        && !label.ends_with('-')
        && label.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'-' | b'_'))
}

/// Tells whether `name` is `parent` or stands below it; both are normalized names.
pub fn is_within(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn names_are_brought_to_one_spelling() {
        for (raw, want) in [
            ("Example.COM.", Some("example.com")),
            ("_dmarc.example.com", Some("_dmarc.example.com")),
            ("bücher.example", Some("xn--bcher-kva.example")),
            ("localhost", Some("localhost")),
            ("", None),
            (".", None),
            ("a..b", None),
            ("-a.example", None),
            ("a-.example", None),
            ("10.0.0.1", None),
            ("[10.0.0.1]", None),
            ("::1", None),
            ("a b.example", None),
            ("a\\.b.example", None),
            ("example.com..", None),
            ("x\u{0}.example", None),
        ] {
            assert_eq!(normalize(raw).as_deref(), want, "{raw:?}");
        }
        assert_eq!(normalize(&format!("{}.example", "a".repeat(64))), None);
        assert_eq!(normalize(&"a.".repeat(128)), None, "one label past 253 characters");
    }

    #[test]
    fn a_suffix_counts_only_on_a_label_boundary() {
        assert!(is_within("mx.example.com", "example.com"));
        assert!(is_within("example.com", "example.com"));
        assert!(!is_within("badexample.com", "example.com"));
        assert!(!is_within("example.com.evil.test", "example.com"));
    }

    proptest! {
        #[test]
        fn normalizing_never_panics_and_is_idempotent(raw in "\\PC{0,300}") {
            if let Some(name) = normalize(&raw) {
                prop_assert!(name.len() <= NAME_BYTES_MAX);
                prop_assert_eq!(normalize(&name), Some(name));
            }
        }
    }
}

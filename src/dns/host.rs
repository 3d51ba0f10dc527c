//! Normalization of host names: lowercase A-labels without a final dot.

/// Longest name. RFC 1035 §2.3.4: 255 octets in a message are 253 characters of text.
const NAME_BYTES_MAX: usize = 253;
const LABEL_BYTES_MAX: usize = 63;

/// Returns `raw` as lowercase A-labels without the final dot; `None` if it is not a valid name.
///
/// Underscores are valid, because record names such as `_dmarc.example.com` are normalized here too. A name with an
/// all-digit last label is not valid: it is an IPv4 address.
pub fn normalize(raw: &str) -> Option<String> {
    // Checked before IDNA, whose cost grows with its input.
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

/// Returns whether `name` is `parent` or a subdomain of it. Both must be normalized.
pub fn is_within(name: &str, parent: &str) -> bool {
    name.strip_suffix(parent).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_valid_name_is_lower_case_without_a_final_dot_and_other_text_is_no_name() {
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
    fn a_parent_matches_only_at_a_label_boundary() {
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

//! The URL that a team redirects recipients to after an opt-out. Pure.

/// Longest URL, in bytes.
const BYTES_MAX: usize = 2_000;

/// An http or https URL that is safe in a header field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RedirectUrl {
    url: String,
    /// Length of scheme, host and port, in bytes.
    origin_end: usize,
}

impl RedirectUrl {
    /// Parses an absolute http or https URL in ASCII. An internationalized host must be given as its
    /// A-label. A user name is refused, because phishing links use it to imitate another host.
    pub fn parse(text: &str) -> Option<Self> {
        if text.len() > BYTES_MAX
            || !text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte))
        {
            return None;
        }
        let scheme = ["https://", "http://"]
            .into_iter()
            .find(|scheme| text.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))?;
        let rest = &text[scheme.len()..];
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let (host, port) = match authority.strip_prefix('[') {
            Some(literal) => {
                let (ip, after) = literal.split_once(']')?;
                ip.parse::<std::net::Ipv6Addr>().ok()?;
                (ip, if after.is_empty() { None } else { Some(after.strip_prefix(':')?) })
            }
            None => {
                let (host, port) =
                    authority.split_once(':').map_or((authority, None), |(host, port)| (host, Some(port)));
                // The host is written into a security policy. No character may end or widen the policy.
                if !host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte)) {
                    return None;
                }
                (host, port)
            }
        };
        let is_port = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit()) && port.parse::<u16>().is_ok();
        if host.is_empty()
            || !host.bytes().any(|byte| byte.is_ascii_alphanumeric())
            || port.is_some_and(|p| !is_port(p))
        {
            return None;
        }
        Some(Self { origin_end: scheme.len() + authority.len(), url: text.to_owned() })
    }

    pub fn as_str(&self) -> &str {
        &self.url
    }

    /// Returns the scheme, host and port.
    pub fn origin(&self) -> &str {
        &self.url[..self.origin_end]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn only_an_absolute_web_url_is_a_redirect() {
        for (text, origin) in [
            ("https://example.com", "https://example.com"),
            ("https://example.com/bye?a=1&b=%20#x", "https://example.com"),
            ("http://example.com:8080/", "http://example.com:8080"),
            ("HTTPS://Example.com/x", "HTTPS://Example.com"),
            ("http://[2001:db8::1]:80/x", "http://[2001:db8::1]:80"),
            ("https://example.com?x", "https://example.com"),
        ] {
            let url = RedirectUrl::parse(text).unwrap_or_else(|| panic!("{text} is refused"));
            assert_eq!((url.as_str(), url.origin()), (text, origin));
        }
        for text in [
            "",
            "/bye",
            "//example.com",
            "example.com",
            "javascript:alert(1)",
            "data:text/html,x",
            "ftp://example.com",
            "https:example.com",
            "https://",
            "https:///x",
            "https://.",
            "https://?x",
            "https://user@example.com",
            "https://example.com@evil.test",
            "https://example.com:x",
            "https://example.com:99999",
            "https://exa mple.com",
            "https://example.com/a b",
            "https://example.com\r\nx: y",
            "https://bücher.example",
            "https://example.com;default-src",
            "https://*.example.com",
            "https://example.com,evil.test",
            "https://[::1",
            "https://[::g]",
            "https://[::1]x",
            " https://example.com",
        ] {
            assert_eq!(RedirectUrl::parse(text), None, "{text:?}");
        }
        assert!(RedirectUrl::parse(&format!("https://example.com/{}", "x".repeat(2_000))).is_none());
    }

    proptest! {
        #[test]
        fn every_accepted_url_is_safe_in_a_policy(text in "https?://.{0,40}|https?://[a-z;:@ ,*'.-]{0,20}/.{0,10}") {
            if let Some(url) = RedirectUrl::parse(&text) {
                let rest = url.origin().split_once("://").unwrap().1;
                prop_assert!(!rest.is_empty());
                prop_assert!(rest.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_:[]".contains(&byte)));
                prop_assert!(url.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
            }
        }
    }
}

//! Accepted and rejected URLs.

use proptest::prelude::*;

use super::{CustomerUrl, UrlPolicy, policy};
use crate::base::address::AddressError;
use crate::http_client::UrlError;
use crate::http_client::url::{URL_CHARS_MAX, UrlScheme};

fn public() -> UrlPolicy {
    UrlPolicy::default()
}

fn development() -> UrlPolicy {
    policy(&["127.0.0.0/8", "::1"])
}

/// Returns the `Host` header and the request target.
fn parts(url: &CustomerUrl) -> (String, String) {
    (url.authority(), url.target.to_string())
}

#[test]
fn an_accepted_url_keeps_its_text_and_is_split_into_parts() {
    let longest = format!("https://example.com/{}", "a".repeat(URL_CHARS_MAX - 20));
    for (text, authority, target) in [
        ("https://example.com", "example.com", "/"),
        ("https://example.com/", "example.com", "/"),
        ("HTTPS://Example.COM./Hook", "example.com", "/Hook"),
        ("https://example.com:443/a", "example.com", "/a"),
        ("https://example.com:8443/a", "example.com:8443", "/a"),
        ("https://example.com:65535", "example.com:65535", "/"),
        ("https://example.com?a=b", "example.com", "/?a=b"),
        ("https://example.com/?", "example.com", "/?"),
        ("https://example.com/a/../b//c?d=/e?f", "example.com", "/a/../b//c?d=/e?f"),
        ("https://example.com//evil.example/", "example.com", "//evil.example/"),
        ("https://example.com/http://127.0.0.1/@x", "example.com", "/http://127.0.0.1/@x"),
        ("https://example.com/*", "example.com", "/*"),
        ("https://example.com/%00%0d%0a?%zz", "example.com", "/%00%0d%0a?%zz"),
        ("https://example.com/{a}|^~!$&'()*+,;=:@", "example.com", "/{a}|^~!$&'()*+,;=:@"),
        ("https://bücher.example/a", "xn--bcher-kva.example", "/a"),
        ("https://8.8.8.8/a", "8.8.8.8", "/a"),
        ("https://[2606:4700:0::1111]:444/a", "[2606:4700::1111]:444", "/a"),
        (&longest, "example.com", &longest["https://example.com".len()..]),
    ] {
        let url = CustomerUrl::parse(text, &public()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(url.to_string(), text);
        assert_eq!(url.scheme, UrlScheme::Https);
        assert_eq!(parts(&url), (authority.to_owned(), target.to_owned()), "{text}");
    }
}

#[test]
fn a_rejected_url_returns_the_rule_that_it_violates() {
    let too_long = format!("https://example.com/{}", "a".repeat(URL_CHARS_MAX - 19));
    for (text, error) in [
        (too_long.as_str(), UrlError::TooLong),
        ("", UrlError::Malformed),
        ("example.com/hook", UrlError::Malformed),
        ("//example.com/hook", UrlError::Malformed),
        ("https:/example.com", UrlError::Malformed),
        ("https:example.com", UrlError::Malformed),
        ("javascript:alert(1)", UrlError::Malformed),
        ("http://example.com/", UrlError::NotHttps),
        ("ftp://example.com/", UrlError::NotHttps),
        ("file:///etc/passwd", UrlError::NotHttps),
        ("gopher://example.com/", UrlError::NotHttps),
        ("://example.com/", UrlError::NotHttps),
        ("https://user@example.com/", UrlError::UserInfo),
        ("https://user:password@example.com/", UrlError::UserInfo),
        ("https://example.com@127.0.0.1/", UrlError::UserInfo),
        ("https://example.com\\@127.0.0.1/", UrlError::UserInfo),
        ("https://@example.com/", UrlError::UserInfo),
        ("https://example.com/#a", UrlError::Fragment),
        ("https://example.com#@127.0.0.1", UrlError::Fragment),
        ("https://", UrlError::NoHost),
        ("https:///hook", UrlError::NoHost),
        ("https://?a", UrlError::NoHost),
        ("https://:443/", UrlError::NoHost),
        ("https://example..com/", UrlError::Host(AddressError::DomainLabelEmpty)),
        ("https://exa_mple.com/", UrlError::Host(AddressError::DomainCharacter('_'))),
        ("https://example.com\\.evil.example/", UrlError::Host(AddressError::DomainCharacter('\\'))),
        ("https://ex%61mple.com/", UrlError::Host(AddressError::DomainCharacter('%'))),
        ("https://-a.example.com/", UrlError::Host(AddressError::DomainLabelHyphen)),
        ("https://intranet/", UrlError::Host(AddressError::DomainWithoutDot)),
        // Other programs parse the next seven hosts as 127.0.0.1.
        ("https://2130706433/", UrlError::Host(AddressError::DomainWithoutDot)),
        ("https://0x7f000001/", UrlError::Host(AddressError::DomainWithoutDot)),
        ("https://127.1/", UrlError::Host(AddressError::DomainNumeric)),
        ("https://0177.0.0.1/", UrlError::Host(AddressError::DomainNumeric)),
        ("https://0x7f.0.0.1/", UrlError::Host(AddressError::DomainNumeric)),
        ("https://127.0.0.1./", UrlError::Host(AddressError::DomainNumeric)),
        ("https://１２７.0.0.1/", UrlError::Host(AddressError::DomainNumeric)),
        ("https://::1/", UrlError::Host(AddressError::DomainCharacter(':'))),
        ("https://[127.0.0.1]/", UrlError::AddressLiteral),
        ("https://[fe80::1%25eth0]/", UrlError::AddressLiteral),
        ("https://[::1/", UrlError::AddressLiteral),
        ("https://[2606:4700::1]a/", UrlError::AddressLiteral),
        ("https://[]/", UrlError::AddressLiteral),
        ("https://localhost/", UrlError::Localhost),
        ("https://LOCALHOST.:8443/", UrlError::Localhost),
        ("https://app.localhost/", UrlError::Localhost),
        ("https://app.ｌocalhost/", UrlError::Localhost),
        ("https://example.com:/", UrlError::Port),
        ("https://example.com:0/", UrlError::Port),
        ("https://example.com:65536/", UrlError::Port),
        ("https://example.com:+443/", UrlError::Port),
        ("https://example.com:443a/", UrlError::Port),
        ("https://[2606:4700::1]:x/", UrlError::Port),
        (" https://example.com/", UrlError::Character(' ')),
        ("https://example.com/a b", UrlError::Character(' ')),
        ("https://example.com/\r\nHost: a", UrlError::Character('\r')),
        ("https://example.com/\0", UrlError::Character('\0')),
        ("https://exam\u{ad}ple.com/\u{7f}", UrlError::Character('\u{7f}')),
        ("https://example.com/\u{2028}", UrlError::Character('\u{2028}')),
        ("https://example.com/ü", UrlError::Character('ü')),
        ("https://example.com/?a=\"b\"", UrlError::Character('"')),
        ("https://example.com/<a>", UrlError::Character('<')),
        ("https://example.com/a\\b", UrlError::Character('\\')),
        ("https://example.com/`", UrlError::Character('`')),
    ] {
        assert_eq!(CustomerUrl::parse(text, &public()), Err(error), "{text:?}");
    }
}

#[test]
fn development_accepts_plain_http_and_hosts_without_a_dot() {
    for (text, authority) in [
        ("http://example.com", "example.com"),
        ("http://example.com:80/", "example.com"),
        ("http://example.com:443/", "example.com:443"),
        ("https://localhost:3000/hook", "localhost:3000"),
        ("http://Localhost/", "localhost"),
        ("http://app.localhost:3000/", "app.localhost:3000"),
        ("http://app:3000/", "app:3000"),
        ("http://127.0.0.1:3000/", "127.0.0.1:3000"),
        ("http://[::1]:3000/", "[::1]:3000"),
    ] {
        let url = CustomerUrl::parse(text, &development()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(url.authority(), authority, "{text}");
    }
    for (text, error) in [
        ("ftp://example.com/", UrlError::NotHttp),
        ("http://2130706433/", UrlError::Host(AddressError::DomainWithoutDot)),
        ("http://127.1/", UrlError::Host(AddressError::DomainNumeric)),
        ("http://a:b@localhost/", UrlError::UserInfo),
    ] {
        assert_eq!(CustomerUrl::parse(text, &development()), Err(error), "{text:?}");
    }
}

#[test]
fn plain_http_alone_accepts_no_local_name() {
    let policy = UrlPolicy { local_names: false, ..development() };
    let url = CustomerUrl::parse("http://example.com/a", &policy).unwrap();
    assert_eq!((url.scheme, url.port()), (UrlScheme::Http, 80));
    for (text, error) in [
        ("http://localhost/", UrlError::Localhost),
        ("http://LOCALHOST.:3000/", UrlError::Localhost),
        ("http://app.localhost/", UrlError::Localhost),
        ("http://intranet/", UrlError::Host(AddressError::DomainWithoutDot)),
        ("ftp://example.com/", UrlError::NotHttp),
    ] {
        assert_eq!(CustomerUrl::parse(text, &policy), Err(error), "{text:?}");
        assert_eq!(url.redirect(text, &policy), Err(error), "{text:?}");
    }
}

#[test]
fn an_error_is_a_sentence_for_the_author_of_the_url() {
    for (text, sentence) in [
        ("http://example.com", "the URL does not begin with `https://`, and nothing else is accepted"),
        ("https://10.0.0.1", "the URL's host is a private address; use a host that the Internet can reach"),
        ("https://a b", "the URL contains a space; write it as `%20`"),
        ("https://example.com/<", "the URL contains `<`; percent-encode it, as `%3C`"),
        ("https://example.com/\t", "the URL contains the character U+0009; leave it out or percent-encode it"),
        (
            "https://intranet",
            "the URL's host is not accepted: the domain has no dot; use a full domain name such as `example.com`",
        ),
    ] {
        assert_eq!(CustomerUrl::parse(text, &public()).unwrap_err().to_string(), sentence);
    }
}

#[test]
fn the_debug_form_of_a_url_ends_after_its_host_and_port() {
    let url = CustomerUrl::parse("https://Example.com:8443/secret?token=secret", &public()).unwrap();

    assert_eq!(format!("{url:?}"), "CustomerUrl(Https example.com:8443…)");
    assert_eq!(url.host().to_string(), "example.com");
}

proptest! {
    #[test]
    fn parsing_never_panics_and_display_parses_to_the_same(
        text in "\\PC{0,80}|(https?|HTTPS|ftp)://[\\[\\]a-zA-Z0-9.:@é-]{0,40}[/?#]{0,2}[!-~]{0,60}|https://[a-z]{1,5}\\.example[ -~]{0,60}"
    ) {
        for policy in [public(), development(), UrlPolicy { local_names: false, ..development() }] {
            if let Ok(url) = CustomerUrl::parse(&text, &policy) {
                prop_assert_eq!(url.to_string(), text.clone());
                prop_assert_eq!(CustomerUrl::parse(&url.to_string(), &policy), Ok(url.clone()));
                prop_assert!(url.authority().bytes().all(|byte| byte.is_ascii_graphic()));
                let target = url.target.to_string();
                prop_assert!(target.starts_with('/') && text.ends_with(target.trim_start_matches('/')));
                prop_assert!(target.bytes().all(|byte| byte.is_ascii_graphic()));
                prop_assert!(url.port() > 0);
            }
        }
    }
}

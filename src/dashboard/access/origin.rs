//! Check that a form was posted by a page of this server, so that no other site can sign a browser in or out.
//!
//! A browser names the origin of a posted form. The pages have the referrer policy `same-origin`, under which it does so
//! for their own forms. A request without such a header is not from a browser.

use salvo::http::header::{HOST, ORIGIN};
use salvo::http::{HeaderMap, Method};
use salvo::{FlowCtrl, Request, Response, Writer as _, handler};

use super::replies::write_foreign_form;
use super::settings::AccessSettings;
use crate::http::State;

/// Refuses each posted form that is not from a page of this server.
#[handler]
pub(super) async fn own_forms(
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
    ctrl: &mut FlowCtrl,
) {
    if *req.method() == Method::POST && !is_own(req.headers()) {
        write_foreign_form(res, &settings);
        ctrl.skip_rest();
    }
}

fn is_own(headers: &HeaderMap) -> bool {
    let value = |name: &str| headers.get(name).map(|value| value.to_str().unwrap_or("invalid"));
    // Fetch Metadata: only secure contexts send it. `none` is a request of the user.
    if let Some(site) = value("sec-fetch-site") {
        return matches!(site, "same-origin" | "none");
    }
    let Some(origin) = value(ORIGIN.as_str()) else { return true };
    let (Some((_, authority)), Some(given)) = (origin.split_once("://"), value(HOST.as_str())) else { return false };
    // A proxy may remove the port from `Host`.
    authority == given || authority.rsplit_once(':').is_some_and(|(host, _)| host == given)
}

#[cfg(test)]
mod tests {
    use salvo::http::{HeaderName, HeaderValue};

    use super::*;

    #[test]
    fn only_own_pages_and_programs_post_forms() {
        for (given, expected) in [
            (&[][..], true),
            (&[("sec-fetch-site", "same-origin"), ("origin", "http://localhost:8787")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site"), ("origin", "http://localhost:8787")], false),
            (&[("origin", "http://localhost:8787")], true),
            (&[("origin", "https://localhost:8787")], true),
            (&[("origin", "http://localhost:8788")], false),
            (&[("origin", "http://localhost")], false),
            (&[("origin", "http://evil.example")], false),
            (&[("origin", "http://evil.example/localhost:8787")], false),
            (&[("origin", "null")], false),
            (&[("origin", "")], false),
        ] {
            let mut headers: HeaderMap = given
                .iter()
                .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
                .collect();
            headers.insert(HOST, HeaderValue::from_static("localhost:8787"));
            assert_eq!(is_own(&headers), expected, "{given:?}");
        }
    }

    #[test]
    fn a_host_without_its_port_is_that_of_a_proxy() {
        for (origin, expected) in [
            ("https://mail.example.com:8443", true),
            ("https://mail.example.com", true),
            ("https://mail.example.com.evil.example:443", false),
            ("https://evil.example:8443", false),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, HeaderValue::from_static("mail.example.com"));
            headers.insert(ORIGIN, HeaderValue::from_static(origin));
            assert_eq!(is_own(&headers), expected, "{origin}");
        }
    }
}

//! Content security policies of the dashboard.

use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use salvo::http::{HeaderMap, HeaderValue};

/// Policy of every page: only files of this server, no inline script, and no text that becomes markup.
pub(crate) const PAGE_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                                      font-src 'self'; connect-src 'self'; frame-src 'self'; form-action 'self'; \
                                      base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; \
                                      trusted-types 'none'";

/// Policy of a rendered email without remote images. The sandbox has an opaque origin without scripts, forms, popups and
/// navigation of the page around it.
const PREVIEW_POLICY: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; img-src data:; base-uri 'none'; \
                              form-action 'none'; frame-ancestors 'self'";

/// [`PREVIEW_POLICY`] with remote images.
const PREVIEW_POLICY_WITH_IMAGES: &str = "sandbox; default-src 'none'; style-src 'unsafe-inline'; \
                                          img-src data: https: http:; base-uri 'none'; form-action 'none'; \
                                          frame-ancestors 'self'";

/// Whether a rendered email loads images of other servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RemoteImages {
    /// Images of other servers report that the email was read.
    Blocked,
    Loaded,
}

/// Writes the headers of a page. A page is never cached, because it names the files of this version.
pub(crate) fn write_page_headers(headers: &mut HeaderMap) {
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(PAGE_POLICY));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

/// Writes the headers of a rendered email.
pub(super) fn write_preview_headers(headers: &mut HeaderMap, images: RemoteImages) {
    let policy = match images {
        RemoteImages::Blocked => PREVIEW_POLICY,
        RemoteImages::Loaded => PREVIEW_POLICY_WITH_IMAGES,
    };
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
    headers.insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(policy));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("private, no-store"));
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert("content-disposition", HeaderValue::from_static("inline"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    headers.insert("x-dns-prefetch-control", HeaderValue::from_static("off"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy_of(images: RemoteImages) -> String {
        let mut headers = HeaderMap::new();
        write_preview_headers(&mut headers, images);
        headers[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned()
    }

    #[test]
    fn no_policy_allows_a_script_from_elsewhere_or_inline() {
        let previews = [policy_of(RemoteImages::Blocked), policy_of(RemoteImages::Loaded)];

        for policy in previews.iter().map(String::as_str).chain([PAGE_POLICY]) {
            assert!(policy.contains("default-src 'none'"), "{policy}");
            let scripts = policy.split("; ").filter(|directive| directive.starts_with("script-src"));
            assert!(scripts.eq((policy == PAGE_POLICY).then_some("script-src 'self'")), "{policy}");
        }
    }

    #[test]
    fn a_preview_is_a_sandbox_and_loads_remote_images_only_on_request() {
        let (blocked, loaded) = (policy_of(RemoteImages::Blocked), policy_of(RemoteImages::Loaded));

        assert!(blocked.starts_with("sandbox; ") && loaded.starts_with("sandbox; "), "a word would loosen the sandbox");
        assert!(!blocked.contains("http"), "{blocked}");
        assert!(loaded.contains("img-src data: https: http:;"), "{loaded}");
    }
}

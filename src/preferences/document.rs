//! The HTML document around the content of a page, without JavaScript and without external requests.
//!
//! The style sheet, with the colours of the team, is inline. The security policy allows it by its hash. The
//! page needs no other file, so that it works under any path of a proxy.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, Markup, PreEscaped, html};
use sha2::{Digest as _, Sha256};

use super::strings::PageStrings;
use super::theme::Theme;

const STYLE: &str = include_str!("../../assets/preferences/page.css");

/// An HTML page with its security policy.
#[derive(Debug)]
pub(super) struct HtmlPage {
    pub(super) html: String,
    /// Value of the `Content-Security-Policy` header.
    pub(super) policy: String,
    /// Language of the page (RFC 5646).
    pub(super) language: &'static str,
}

/// Returns the page of an invalid link. It is the same for every reason.
pub(super) fn unknown_link(strings: &'static PageStrings) -> HtmlPage {
    plain(strings, strings.unknown, &[strings.unknown_why, strings.unknown_next])
}

/// Returns the page of a request that could not be processed.
pub(super) fn failure(strings: &'static PageStrings) -> HtmlPage {
    plain(strings, strings.failed, &[strings.failed_next])
}

fn plain(strings: &'static PageStrings, title: &str, sentences: &[&str]) -> HtmlPage {
    let main = html! {
        h1 { (title) }
        @for sentence in sentences {
            p { (sentence) }
        }
    };
    document(strings, title, None, &Theme::default(), &main)
}

/// Returns a page with the content `main`.
pub(super) fn document(
    strings: &'static PageStrings,
    title: &str,
    brand: Option<&str>,
    theme: &Theme,
    main: &Markup,
) -> HtmlPage {
    let style = theme.style() + STYLE;
    let page = html! {
        (DOCTYPE)
        html lang=(strings.tag) dir="ltr" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex, nofollow";
                title {
                    (title)
                    @if let Some(brand) = brand { " – " (brand) }
                }
                style { (PreEscaped(&style)) }
            }
            body {
                @if let Some(brand) = brand {
                    header { p.brand dir="auto" { (brand) } }
                }
                main { (main) }
            }
        }
    };
    HtmlPage { html: page.into_string(), policy: policy(&style, theme), language: strings.tag }
}

/// Returns the security policy of a page. It allows the style sheet and forms that post to this server.
/// Browsers apply `form-action` to redirects as well, so that it also lists the origin of the team's redirect
/// URL.
fn policy(style: &str, theme: &Theme) -> String {
    let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));
    let target = theme.redirect.as_ref().map_or_else(String::new, |url| format!(" {}", url.origin()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'{target}; base-uri 'none'; \
         frame-ancestors 'none'"
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::preferences::redirect::RedirectUrl;
    use crate::preferences::strings::ENGLISH;

    #[test]
    fn the_policy_allows_only_the_style_of_the_page_and_the_redirect_of_the_team() {
        let redirect = RedirectUrl::parse("https://example.com:8443/bye");
        for (theme, form_action) in
            [(Theme::default(), "'self'"), (Theme { redirect, ..Theme::default() }, "'self' https://example.com:8443")]
        {
            let HtmlPage { html, policy, .. } =
                document(&ENGLISH, "Title", Some("Acme"), &theme, &html! { h1 { "Title" } });
            let (_, style) = html.split_once("<style>").unwrap();
            let (style, _) = style.split_once("</style>").unwrap();

            let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));

            assert!(policy.contains(&format!("style-src 'sha256-{hash}';")));
            assert!(policy.contains(&format!("form-action {form_action};")), "{policy}");
            assert!(!html.contains("style=\""));
            // A browser converts CR LF to LF before it computes the hash.
            assert!(!style.contains('\r'));
        }
    }

    #[test]
    fn a_page_without_a_team_has_no_brand() {
        for page in [unknown_link(&ENGLISH), failure(&ENGLISH)] {
            assert!(!page.html.contains("<header>"), "{}", page.html);
            assert!(page.html.contains("name=\"robots\" content=\"noindex, nofollow\""));
        }
    }
}

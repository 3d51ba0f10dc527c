//! The HTML document around the content of a page, without JavaScript and without external requests.
//!
//! The style sheet, with the colours of the team, is inline. The security policy allows it by its hash. The
//! page needs no other file, so that it works under any path of a proxy.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::links::escape_html;
use super::strings::Strings;
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
pub(super) fn unknown_link(strings: &'static Strings) -> HtmlPage {
    plain(strings, strings.unknown, &[strings.unknown_why, strings.unknown_next])
}

/// Returns the page of a request that could not be processed.
pub(super) fn failure(strings: &'static Strings) -> HtmlPage {
    plain(strings, strings.failed, &[strings.failed_next])
}

fn plain(strings: &'static Strings, title: &str, sentences: &[&str]) -> HtmlPage {
    let mut main = format!("<h1>{}</h1>\n", escape_html(title));
    for sentence in sentences {
        let _ = writeln!(main, "<p>{}</p>", escape_html(sentence));
    }
    document(strings, title, None, &Theme::default(), &main)
}

/// Returns a page. `main` is HTML; `title` and `brand` are plain text.
pub(super) fn document(
    strings: &'static Strings,
    title: &str,
    brand: Option<&str>,
    theme: &Theme,
    main: &str,
) -> HtmlPage {
    let style = theme.style() + STYLE;
    let (title, header) = match brand {
        None => (escape_html(title).into_owned(), String::new()),
        Some(brand) => {
            let brand = escape_html(brand);
            (
                format!("{} – {brand}", escape_html(title)),
                format!("<header>\n<p class=\"brand\" dir=\"auto\">{brand}</p>\n</header>\n"),
            )
        }
    };
    let html = format!(
        "<!doctype html>\n<html lang=\"{language}\" dir=\"ltr\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex, nofollow\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{header}<main>\n{main}</main>\n</body>\n</html>\n",
        language = strings.tag,
    );
    HtmlPage { html, policy: policy(&style, theme), language: strings.tag }
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
            let HtmlPage { html, policy, .. } = document(&ENGLISH, "Title", Some("Acme"), &theme, "<h1>Title</h1>\n");
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

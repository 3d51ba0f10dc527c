//! The html around what a page says, without JavaScript and without a request to anywhere.
//!
//! The style stands inside the page, colours of the team included, allowed by its hash: nothing else
//! has to be served, and the page works below any path that a proxy puts it under.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::links::escape_html;
use super::strings::Strings;
use super::theme::Theme;

const STYLE: &str = include_str!("../../assets/preferences/page.css");

/// A page with what a browser may do with it.
#[derive(Debug)]
pub(super) struct HtmlPage {
    pub(super) html: String,
    /// The `Content-Security-Policy`.
    pub(super) policy: String,
    /// The language it is written in.
    pub(super) language: &'static str,
}

/// Returns the page of every link that leads nowhere, whatever the reason.
pub(super) fn unknown(strings: &'static Strings) -> HtmlPage {
    plain(strings, strings.unknown, &[strings.unknown_why, strings.unknown_next])
}

/// Returns the page of a failure on our side.
pub(super) fn failed(strings: &'static Strings) -> HtmlPage {
    plain(strings, strings.failed, &[strings.failed_next])
}

fn plain(strings: &'static Strings, title: &str, sentences: &[&str]) -> HtmlPage {
    let mut main = format!("<h1>{}</h1>\n", escape_html(title));
    for sentence in sentences {
        let _ = writeln!(main, "<p>{}</p>", escape_html(sentence));
    }
    document(strings, title, None, &Theme::default(), &main)
}

/// Returns a page of that title; `main` is html, title and brand are text.
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
        "<!doctype html>\n<html lang=\"{language}\" dir=\"{direction}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex, nofollow\">\n\
         <title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n{header}<main>\n{main}</main>\n</body>\n</html>\n",
        language = strings.tag,
        direction = strings.direction.as_str(),
    );
    HtmlPage { html, policy: policy(&style, theme), language: strings.tag }
}

/// Returns what the browser may do with a page: show it with its style, and post its forms back. A
/// redirect after a form counts as its target, so that the team's own has to be named.
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
    fn the_policy_allows_the_style_of_the_page_and_the_redirect_of_the_team_alone() {
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
            // A browser reads CR LF as LF before it hashes.
            assert!(!style.contains('\r'));
        }
    }
    #[test]
    fn a_page_of_nobody_names_nobody() {
        for page in [unknown(&ENGLISH), failed(&ENGLISH)] {
            assert!(!page.html.contains("<header>"), "{}", page.html);
            assert!(page.html.contains("name=\"robots\" content=\"noindex, nofollow\""));
        }
    }
}

//! The HTML document around the content of a sign-in page, without scripts.
//!
//! The pages have the style sheets of the other pages, which follow the colour scheme of the browser.

use maud::{DOCTYPE, Markup, html};
use salvo::Response;
use salvo::http::header::{CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, REFERRER_POLICY};
use salvo::http::{HeaderValue, StatusCode};

use super::settings::AccessSettings;

/// Content security policy: style sheets, fonts and images of this server, forms that post to it, and no scripts.
const POLICY: &str = "default-src 'none'; style-src 'self'; img-src 'self' data:; font-src 'self'; form-action 'self'; \
                      base-uri 'none'; frame-ancestors 'none'";
/// Style sheets below the path of the files, in the order of their layers.
const STYLE_SHEETS: [&str; 8] = [
    "css/tokens.css",
    "css/base.css",
    "css/shell.css",
    "css/controls.css",
    "css/containers.css",
    "css/auth.css",
    "css/utilities.css",
    "access/access.css",
];

/// Content of a page.
pub(super) struct AccessPage {
    pub(super) status: StatusCode,
    pub(super) title: String,
    /// The card with the form.
    pub(super) card: Markup,
    /// Text below the card.
    pub(super) below: Markup,
}

impl AccessPage {
    /// Returns a page with a card.
    pub(super) fn new(title: impl Into<String>, card: Markup) -> Self {
        Self { status: StatusCode::OK, title: title.into(), card, below: html! {} }
    }

    /// Writes the page to a response.
    pub(super) fn write(self, settings: &AccessSettings, res: &mut Response) {
        let Self { status, title, card, below } = self;
        res.status_code(status);
        write_headers(res);
        res.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/html; charset=utf-8"));
        res.headers_mut().insert(CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
        res.body(render(settings, &title, &card, &below));
    }
}

/// Writes headers that keep a page out of caches and search indexes. They also keep its URL, which can be a secret, out
/// of the logs of other sites. `same-origin` makes browsers name the origin of a posted form, unlike `no-referrer`.
pub(super) fn write_headers(res: &mut Response) {
    let headers = res.headers_mut();
    headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert("x-robots-tag", HeaderValue::from_static("noindex, nofollow"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
}

fn render(settings: &AccessSettings, title: &str, card: &Markup, below: &Markup) -> String {
    let files = &settings.files;
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="robots" content="noindex, nofollow";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ringmail" }
                link rel="icon" href=(format!("{files}mark.svg"));
                @for sheet in STYLE_SHEETS {
                    link rel="stylesheet" href=(format!("{files}{sheet}"));
                }
            }
            body {
                div.auth {
                    header.auth-top {
                        a.auth-name href="/dashboard/" { (mark()) span { "Ringmail" } }
                    }
                    main.auth-main #main { (card) (below) }
                    footer.auth-foot {
                        span { "Ringmail " (env!("CARGO_PKG_VERSION")) }
                        a.link href="/docs" { "Documentation" }
                    }
                }
            }
        }
    };
    page.into_string()
}

fn mark() -> Markup {
    html! {
        svg.mark width="32" height="32" viewBox="0 0 32 32" aria-hidden="true" {
            path d="M16 1.5a14.5 14.5 0 1 0 0 29 14.5 14.5 0 0 0 0-29zm0 3.7a10.8 10.8 0 0 1 9.6 5.9L16 18 6.4 11.1A10.8 10.8 0 0 1 16 5.2z" {}
        }
    }
}

/// A field of a form.
pub(super) struct FormField<'a> {
    pub(super) id: &'static str,
    pub(super) name: &'static str,
    pub(super) label: &'a str,
    pub(super) kind: &'static str,
    pub(super) autocomplete: &'static str,
    pub(super) value: &'a str,
    pub(super) hint: Option<&'a str>,
    pub(super) error: Option<&'a str>,
}

impl FormField<'_> {
    /// Returns an empty field.
    pub(super) const fn new(name: &'static str, label: &'static str, kind: &'static str) -> Self {
        Self { id: name, name, label, kind, autocomplete: "off", value: "", hint: None, error: None }
    }

    /// Returns the label, the field, its hint and its error. `is_first` moves the focus to it.
    pub(super) fn render(&self, is_first: bool) -> Markup {
        let Self { id, name, label, kind, autocomplete, value, hint, error } = self;
        let (error_id, hint_id) = (format!("{id}-error"), format!("{id}-hint"));
        let described: Vec<&str> =
            [error.map(|_| error_id.as_str()), hint.map(|_| hint_id.as_str())].into_iter().flatten().collect();
        let described = (!described.is_empty()).then(|| described.join(" "));
        html! {
            div.field {
                label for=(id) { (label) }
                input.input.input-lg.input-code[*name == "code"] id=(id) name=(name) type=(kind) value=(value)
                    autocomplete=(autocomplete) aria-invalid=[error.map(|_| "true")] aria-describedby=[described]
                    autocapitalize="none" spellcheck="false" required autofocus[is_first];
                @if let Some(error) = error {
                    p.error id=(error_id) role="alert" { (stop_icon()) span { (error) } }
                }
                @if let Some(hint) = hint {
                    p.hint id=(hint_id) { (hint) }
                }
            }
        }
    }
}

fn stop_icon() -> Markup {
    html! {
        svg.i viewBox="0 0 16 16" aria-hidden="true" {
            circle cx="8" cy="8" r="5.75" {}
            path d="M8 5.2v3.2M8 10.7v.01" {}
        }
    }
}

/// Returns a sentence whose parts between backticks are commands.
pub(super) fn with_commands(sentence: &str) -> Markup {
    html! {
        @for (number, part) in sentence.split('`').enumerate() {
            @if number % 2 == 1 { code { (part) } } @else { (part) }
        }
    }
}

/// Returns the main button of a form.
pub(super) fn submit(label: &str) -> Markup {
    html! { button.btn.btn-primary.btn-lg.btn-block type="submit" { (label) } }
}

/// Returns a message above the fields of a form that could not be processed.
pub(super) fn refusal(message: &str) -> Markup {
    html! { div.note.note-red role="alert" { p { (message) } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_of_a_client_cannot_add_markup() {
        let hostile = "\"><script>alert(1)</script>";
        let field = FormField { value: hostile, error: Some(hostile), ..FormField::new("email", "Email", "email") };

        let html = field.render(true).into_string();

        assert!(!html.contains("<script"), "{html}");
        assert!(html.contains("aria-invalid=\"true\"") && html.contains("aria-describedby=\"email-error\""), "{html}");
        assert!(html.contains("autofocus"), "{html}");
    }

    #[test]
    fn a_command_in_a_sentence_is_code() {
        let html = with_commands("Run `ringmail <x>`, then `ringmail dev`.").into_string();

        assert_eq!(html, "Run <code>ringmail &lt;x&gt;</code>, then <code>ringmail dev</code>.");
    }

    #[test]
    fn the_policy_allows_no_script() {
        assert!(POLICY.starts_with("default-src 'none'; ") && !POLICY.contains("script"));
        assert!(!POLICY.contains("unsafe"));
    }
}

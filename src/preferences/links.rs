//! Unsubscribe links: the check that recipients can open them, the placeholders in a body, and the header
//! fields for one-click unsubscribe.

use std::net::{Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use maud::html;

use super::token::UnsubscribeToken;
use crate::store::Keyring;

/// Most placeholders in both parts of one email. Each becomes a link of a few hundred bytes, for each
/// recipient.
pub const PLACEHOLDERS_MAX: usize = 100;

const OPEN: &str = "{{{";
/// Placeholders of the link in a body. The second has the name that the compatible API uses.
const PLACEHOLDERS: [&str; 2] = ["{{{UNSUBSCRIBE_URL}}}", "{{{RESEND_UNSUBSCRIBE_URL}}}"];

/// People who can get the emails of this instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkAudience {
    /// Users of this machine: all emails are captured in the built-in mailbox.
    Captured,
    /// Any recipient.
    Delivered,
}

/// Settings of the operator that links depend on.
#[derive(Clone, Debug)]
pub struct LinkSettings {
    /// Base URL of every generated link, without a trailing slash.
    pub public_url: String,
    /// People who can get the links.
    pub audience: LinkAudience,
}

impl LinkSettings {
    /// Returns whether recipients can open a link. They cannot if the public URL is a loopback address and
    /// emails leave this machine.
    pub fn links_work(&self) -> bool {
        self.audience == LinkAudience::Captured || !is_loopback(&self.public_url)
    }

    /// Returns the header fields that the settings allow.
    fn header_form(&self) -> HeaderForm {
        // RFC 8058 §3.1 requires an https target. Captured emails have the pair with any target, because
        // developers inspect and use it on the machine itself.
        if self.audience == LinkAudience::Captured || self.public_url.starts_with("https://") {
            HeaderForm::Pair
        } else {
            HeaderForm::LinkOnly
        }
    }
}

/// Header fields that are generated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum HeaderForm {
    /// `List-Unsubscribe` and `List-Unsubscribe-Post`.
    Pair,
    /// `List-Unsubscribe` only, for people to open (RFC 2369 §3.2).
    LinkOnly,
}

/// Reason why an email with a link is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkError {
    /// The email is under a topic and needs a link, and recipients cannot open this public URL.
    Loopback(String),
    /// The email is under no topic and has a placeholder, and recipients cannot open this public URL.
    PlaceholderLoopback(String),
    /// The parts contain more than [`PLACEHOLDERS_MAX`] placeholders.
    TooManyPlaceholders,
}

/// Origin of the unsubscribe pair of an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PairOrigin {
    /// The email is under no topic and gets no pair.
    NoPair,
    /// The caller gave a pair, which is sent unchanged.
    Caller,
    /// The server generates the pair.
    Generated,
}

/// Makes the links of the instance. Cheap to clone.
#[derive(Clone, Debug)]
pub struct PreferenceLinks {
    keyring: Keyring,
    settings: Arc<LinkSettings>,
}

impl PreferenceLinks {
    /// Returns the links of an instance with these keys and settings.
    pub fn new(keyring: Keyring, settings: LinkSettings) -> Self {
        Self { keyring, settings: Arc::new(settings) }
    }

    /// Returns the settings that links depend on.
    pub fn settings(&self) -> &LinkSettings {
        &self.settings
    }

    /// Checks the links of an email before it is accepted.
    ///
    /// # Errors
    /// [`LinkError::TooManyPlaceholders`] if the parts have more than [`PLACEHOLDERS_MAX`];
    /// [`LinkError::Loopback`] or [`LinkError::PlaceholderLoopback`] if the email needs a link that recipients cannot
    /// open.
    pub fn check(&self, html: Option<&str>, text: Option<&str>, pair: PairOrigin) -> Result<(), LinkError> {
        let placeholders: usize = [html, text].into_iter().flatten().map(count_placeholders).sum();
        if placeholders > PLACEHOLDERS_MAX {
            return Err(LinkError::TooManyPlaceholders);
        }
        if pair != PairOrigin::Generated && placeholders == 0 {
            return Ok(());
        }
        self.check_reachable().map_err(match pair {
            PairOrigin::NoPair => LinkError::PlaceholderLoopback,
            PairOrigin::Caller | PairOrigin::Generated => LinkError::Loopback,
        })
    }

    /// Checks that recipients can open links.
    ///
    /// # Errors
    /// The public URL, if it is a loopback address and emails leave this machine.
    pub fn check_reachable(&self) -> Result<(), String> {
        if self.settings.links_work() { Ok(()) } else { Err(self.settings.public_url.clone()) }
    }

    /// Returns whether generated header fields have one-click unsubscribe (RFC 8058).
    pub fn have_one_click(&self) -> bool {
        self.settings.header_form() == HeaderForm::Pair
    }

    /// Returns the link of one recipient.
    pub fn link(&self, token: &UnsubscribeToken) -> UnsubscribeLink {
        let url = format!("{}/unsubscribe/{}", self.settings.public_url, token.seal(&self.keyring));
        UnsubscribeLink { url, form: self.settings.header_form() }
    }
}

/// The link of one recipient.
#[derive(Clone, Debug)]
pub struct UnsubscribeLink {
    url: String,
    form: HeaderForm,
}

impl UnsubscribeLink {
    /// Returns the URL of the preference page.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Replaces the placeholders of an HTML part with the link, escaped for an attribute value. The inserted
    /// text is not searched for placeholders.
    pub fn fill_html(&self, html: String) -> String {
        fill(html, &html! { (self.url) }.into_string())
    }

    /// Replaces the placeholders of a text part with the link.
    pub fn fill_text(&self, text: String) -> String {
        fill(text, &self.url)
    }

    /// Returns the header fields that contain the link.
    pub fn headers(&self) -> Vec<(String, String)> {
        let mut headers = vec![("List-Unsubscribe".to_owned(), format!("<{}>", self.url))];
        if self.form == HeaderForm::Pair {
            headers.push(("List-Unsubscribe-Post".to_owned(), "List-Unsubscribe=One-Click".to_owned()));
        }
        headers
    }
}

/// Returns whether a part of an email contains a placeholder.
pub fn has_placeholder(html: Option<&str>, text: Option<&str>) -> bool {
    [html, text].into_iter().flatten().any(|part| split_at_placeholder(part).is_some())
}

/// Returns the text before and after the first placeholder; `None` if there is no placeholder.
fn split_at_placeholder(text: &str) -> Option<(&str, &str)> {
    let mut from = 0;
    while let Some(at) = text[from..].find(OPEN).map(|at| from + at) {
        if let Some(rest) = PLACEHOLDERS.iter().find_map(|placeholder| text[at..].strip_prefix(placeholder)) {
            return Some((&text[..at], rest));
        }
        from = at + 1;
    }
    None
}

fn count_placeholders(text: &str) -> usize {
    let mut count = 0;
    let mut rest = text;
    while let Some((_, after)) = split_at_placeholder(rest) {
        count += 1;
        rest = after;
    }
    count
}

fn fill(text: String, link: &str) -> String {
    let Some((mut before, mut rest)) = split_at_placeholder(&text) else { return text };
    let mut filled = String::with_capacity(text.len() + 2 * link.len());
    loop {
        filled.push_str(before);
        filled.push_str(link);
        match split_at_placeholder(rest) {
            Some(next) => (before, rest) = next,
            None => break,
        }
    }
    filled.push_str(rest);
    filled
}

/// Returns whether the host of a URL is a loopback or unspecified address, or a localhost name.
fn is_loopback(url: &str) -> bool {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split('/').next().unwrap_or_default();
    if let Some((ip, _)) = authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        return ip.parse::<Ipv6Addr>().is_ok_and(|ip| {
            ip.is_loopback() || ip.is_unspecified() || ip.to_ipv4_mapped().is_some_and(is_loopback_ipv4)
        });
    }
    let host = authority.split(':').next().unwrap_or_default().trim_end_matches('.').to_ascii_lowercase();
    // RFC 6761 §6.3: localhost and every name below it.
    host == "localhost" || host.ends_with(".localhost") || host.parse().is_ok_and(is_loopback_ipv4)
}

fn is_loopback_ipv4(ip: Ipv4Addr) -> bool {
    ip.is_loopback() || ip.is_unspecified()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::base::address::EmailAddress;
    use crate::base::id::Id;

    fn links(public_url: &str, audience: LinkAudience) -> PreferenceLinks {
        let directory = tempfile::tempdir().unwrap();
        let keyring = Keyring::open(&directory.path().join("master.key")).unwrap();
        PreferenceLinks::new(keyring, LinkSettings { public_url: public_url.to_owned(), audience })
    }

    fn link(url: &str) -> UnsubscribeLink {
        UnsubscribeLink { url: url.to_owned(), form: HeaderForm::Pair }
    }

    #[test]
    fn a_link_is_the_public_url_and_the_token_of_the_recipient() {
        let links = links("https://mail.example.com/base", LinkAudience::Delivered);
        let address = EmailAddress::parse("ada@example.com").unwrap();
        let token = UnsubscribeToken::of_topic(Id::MIN, Id::MAX, address);

        let url = links.link(&token).url;

        let sealed = url.strip_prefix("https://mail.example.com/base/unsubscribe/").unwrap();
        assert_eq!(UnsubscribeToken::open(sealed, &links.keyring), Some(token));
    }

    #[test]
    fn only_the_two_placeholders_are_replaced() {
        let link = link("https://m.test/u?a=1&b=2");
        for (body, html, text) in [
            ("{{{UNSUBSCRIBE_URL}}}", "https://m.test/u?a=1&amp;b=2", "https://m.test/u?a=1&b=2"),
            (
                "<a href=\"{{{RESEND_UNSUBSCRIBE_URL}}}\">",
                "<a href=\"https://m.test/u?a=1&amp;b=2\">",
                "<a href=\"https://m.test/u?a=1&b=2\">",
            ),
            ("{{{{UNSUBSCRIBE_URL}}}}", "{https://m.test/u?a=1&amp;b=2}", "{https://m.test/u?a=1&b=2}"),
            ("{{UNSUBSCRIBE_URL}}", "{{UNSUBSCRIBE_URL}}", "{{UNSUBSCRIBE_URL}}"),
            ("{{{unsubscribe_url}}}", "{{{unsubscribe_url}}}", "{{{unsubscribe_url}}}"),
            ("{{{OTHER}}} ä{{{", "{{{OTHER}}} ä{{{", "{{{OTHER}}} ä{{{"),
            ("", "", ""),
        ] {
            assert_eq!(link.fill_html(body.to_owned()), html);
            assert_eq!(link.fill_text(body.to_owned()), text);
        }
    }

    #[test]
    fn inserted_text_is_not_searched_for_placeholders() {
        let link = link("{{{UNSUBSCRIBE_URL}}}");

        let filled = link.fill_text("{{{{{{UNSUBSCRIBE_URL}}}UNSUBSCRIBE_URL}}}".to_owned());

        assert_eq!(filled, "{{{{{{UNSUBSCRIBE_URL}}}UNSUBSCRIBE_URL}}}");
    }

    #[test]
    fn the_pair_requires_https_unless_emails_are_captured() {
        for (public_url, audience, names) in [
            ("https://m.test", LinkAudience::Delivered, &["List-Unsubscribe", "List-Unsubscribe-Post"][..]),
            ("http://m.test", LinkAudience::Delivered, &["List-Unsubscribe"]),
            ("http://127.0.0.1:8787", LinkAudience::Captured, &["List-Unsubscribe", "List-Unsubscribe-Post"]),
        ] {
            let form = links(public_url, audience).settings.header_form();

            let headers = UnsubscribeLink { url: format!("{public_url}/u"), form }.headers();

            assert_eq!(headers.iter().map(|(name, _)| name.as_str()).collect::<Vec<_>>(), names);
            assert_eq!(headers[0].1, format!("<{public_url}/u>"));
        }
    }

    #[test]
    fn an_email_is_refused_if_its_recipients_cannot_open_its_link() {
        let with_link = Some("{{{UNSUBSCRIBE_URL}}}");
        let loopback = || Err(LinkError::Loopback("http://localhost:8787".into()));
        let placeholder_loopback = || Err(LinkError::PlaceholderLoopback("http://localhost:8787".into()));
        for (public_url, audience, text, pair, checked) in [
            ("http://localhost:8787", LinkAudience::Delivered, None, PairOrigin::Generated, loopback()),
            ("http://localhost:8787", LinkAudience::Delivered, with_link, PairOrigin::Caller, loopback()),
            ("http://localhost:8787", LinkAudience::Delivered, Some("Hello"), PairOrigin::Caller, Ok(())),
            ("http://localhost:8787", LinkAudience::Delivered, with_link, PairOrigin::NoPair, placeholder_loopback()),
            ("http://localhost:8787", LinkAudience::Delivered, Some("Hello"), PairOrigin::NoPair, Ok(())),
            ("http://localhost:8787", LinkAudience::Captured, with_link, PairOrigin::Generated, Ok(())),
            ("http://m.test", LinkAudience::Delivered, with_link, PairOrigin::Generated, Ok(())),
        ] {
            assert_eq!(
                links(public_url, audience).check(None, text, pair),
                checked,
                "{public_url} {audience:?} {text:?}"
            );
        }
    }

    #[test]
    fn the_placeholder_limit_applies_to_both_parts_together() {
        let links = links("https://m.test", LinkAudience::Delivered);
        let half = PLACEHOLDERS[0].repeat(PLACEHOLDERS_MAX / 2);
        let more = format!("{half}{}", PLACEHOLDERS[1]);

        assert_eq!(links.check(Some(&half), Some(&half), PairOrigin::Caller), Ok(()));
        let refused = links.check(Some(&half), Some(&more), PairOrigin::Caller);

        assert_eq!(refused, Err(LinkError::TooManyPlaceholders));
    }

    #[test]
    fn a_loopback_host_is_detected_in_every_spelling() {
        for (url, loopback) in [
            ("http://127.0.0.1:8787", true),
            ("http://127.9.8.7", true),
            ("http://0.0.0.0:80/base", true),
            ("http://[::1]:8787", true),
            ("http://[::]:8787", true),
            ("http://[::ffff:127.0.0.1]", true),
            ("https://localhost", true),
            ("https://LocalHost.:8787/x", true),
            ("https://mail.localhost", true),
            ("https://mail.example.com", false),
            ("https://localhost.example.com", false),
            ("http://192.0.2.1:8787", false),
            ("http://[2001:db8::1]:8787", false),
        ] {
            assert_eq!(is_loopback(url), loopback, "{url}");
        }
    }

    proptest! {
        #[test]
        fn filling_equals_a_plain_string_replacement(
            parts in proptest::collection::vec("[{}a]{0,5}|\\{\\{\\{UNSUBSCRIBE_URL\\}\\}\\}", 0..8),
        ) {
            let body = parts.concat();

            let filled = link("LINK").fill_text(body.clone());

            prop_assert_eq!(filled, body.replace(PLACEHOLDERS[0], "LINK"));
        }

        #[test]
        fn no_body_panics_the_filler(body in "[{}A-Z_ä]{0,60}") {
            let filled = link("https://m.test/<\"&'>").fill_html(body.clone());

            prop_assert_eq!(filled == body, count_placeholders(&body) == 0);
        }

        #[test]
        fn no_url_panics_the_check(url in ".{0,40}|https?://\\[?.{0,20}\\]?") {
            let _ = is_loopback(&url);
        }
    }
}

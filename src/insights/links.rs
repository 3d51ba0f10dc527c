//! The checks of the links of an email. Pure.

use super::evaluate::{InsightOutcome, ReadEmail, first_hosts, number, only};
use super::hosts::{WebHost, WebUrl, is_same_organization, is_shortener, named_host, web_url};
use super::html::HtmlReading;
use super::model::{InsightDetail, InsightStatus};
use super::unsubscribe::{has_unsubscribe_link, is_unsubscribe_link};
use crate::broadcasts::check::HTML_BYTES_CLIPPED;

/// Bytes that click tracking adds to a link, approximately: the tracking host, and the token without the URL.
const TRACKED_LINK_BYTES: usize = 105;

/// The links of an HTML part.
pub(super) struct LinkFacts {
    /// Links of the web with a host.
    pub(super) web: Vec<WebLink>,
    pub(super) unsubscribe: UnsubscribeLinks,
    /// Bytes that click tracking adds to the part, approximately.
    pub(super) tracking_bytes: usize,
}

/// A link of the web.
pub(super) struct WebLink {
    pub(super) url: WebUrl,
    /// Host that the visible text names.
    named: Option<String>,
    /// Whether the visible text starts with `https://`.
    claims_https: bool,
}

/// The unsubscribe links of an HTML part.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct UnsubscribeLinks {
    pub(super) links: usize,
    visible: usize,
    /// Visible ones before the end of the part that Gmail shows.
    shown: usize,
}

impl LinkFacts {
    /// Returns the links of a part.
    pub(super) fn of(html: &HtmlReading, tracks_clicks: bool) -> Self {
        let mut facts = Self { web: Vec::new(), unsubscribe: UnsubscribeLinks::default(), tracking_bytes: 0 };
        for link in &html.links {
            if is_unsubscribe_link(&link.url, &link.text) {
                facts.unsubscribe.links += 1;
                facts.unsubscribe.visible += usize::from(link.is_visible);
                let is_shown = link.is_visible && link.at + facts.tracking_bytes < HTML_BYTES_CLIPPED;
                facts.unsubscribe.shown += usize::from(is_shown);
            }
            if let Some(url) = web_url(&link.url) {
                if tracks_clicks {
                    // The token has the URL in base64.
                    facts.tracking_bytes += TRACKED_LINK_BYTES + link.url.len() / 3;
                }
                let claims_https =
                    link.text.trim_start().get(..8).is_some_and(|it| it.eq_ignore_ascii_case("https://"));
                facts.web.push(WebLink { url, named: named_host(&link.text), claims_https });
            }
        }
        facts
    }

    /// Returns the result of a check that some links fail, with their hosts.
    fn failing(&self, fails: impl Fn(&WebLink) -> bool) -> InsightOutcome {
        if self.web.is_empty() {
            return only(InsightStatus::NotApplicable);
        }
        let failing: Vec<&WebLink> = self.web.iter().filter(|link| fails(link)).collect();
        let hosts = first_hosts(failing.iter().filter_map(|link| link.url.host.name()));
        let detail = InsightDetail {
            hosts,
            count: number(self.web.len()),
            failing: number(failing.len()),
            ..InsightDetail::default()
        };
        (InsightStatus::failing_if(!failing.is_empty()), detail)
    }
}

/// At least one link leads to the domain of the sender.
pub(super) fn link_domains_match(email: &ReadEmail<'_>) -> InsightOutcome {
    let domain = email.input.domain;
    if !email.links.web.is_empty() && domain.tracks_clicks {
        // Each link leads over the tracking host, which is a name of the sender's domain, or else the host of the server.
        if domain.has_tracking_host {
            return only(InsightStatus::PassedByDesign);
        }
        if let Some(host) = email.input.public_host {
            let is_own = email.is_of_sender(host);
            let (status, detail) = email.links.failing(|_| !is_own);
            let hosts = if is_own { Vec::new() } else { vec![host.to_owned()] };
            return (status, InsightDetail { hosts, ..detail });
        }
    }
    let is_own = |link: &WebLink| link.url.host.name().is_some_and(|host| email.is_of_sender(host));
    let (status, mut detail) = email.links.failing(|link| !is_own(link));
    if status == InsightStatus::NotApplicable {
        return (status, detail);
    }
    let has_own = email.links.web.iter().any(is_own);
    if has_own {
        detail.hosts = Vec::new();
    }
    (InsightStatus::failing_if(!has_own), detail)
}

/// No link leads over a shortener, which hides its target.
pub(super) fn no_shorteners(email: &ReadEmail<'_>) -> InsightOutcome {
    let tracks_clicks = email.input.domain.tracks_clicks;
    email.links.failing(|link| link.url.host.name().is_some_and(|host| is_shortener(host, tracks_clicks)))
}

/// A marketing email has an unsubscribe link that people see.
pub(super) fn visible_unsubscribe(email: &ReadEmail<'_>) -> InsightOutcome {
    if !email.is_marketing {
        return only(InsightStatus::NotApplicable);
    }
    if email.input.html.is_none() {
        return only(InsightStatus::failing_if(!email.input.text.is_some_and(has_unsubscribe_link)));
    }
    let UnsubscribeLinks { links, visible, shown } = email.links.unsubscribe;
    let detail = InsightDetail {
        count: number(links),
        hidden: Some(links > 0 && visible == 0),
        clipped: Some(visible > 0 && shown == 0),
        ..InsightDetail::default()
    };
    (InsightStatus::failing_if(shown == 0), detail)
}

/// No link looks like that of a phishing email. Such a link has an IP address, a text that names another domain than
/// the target, or a text that claims https falsely.
pub(super) fn phishing_links(email: &ReadEmail<'_>) -> InsightOutcome {
    email.links.failing(|link| match &link.url.host {
        WebHost::Address => true,
        WebHost::Name(host) => {
            let is_other = link.named.as_deref().is_some_and(|named| !is_same_organization(named, host));
            is_other || (link.claims_https && !link.url.is_https)
        }
    })
}

/// Each link is encrypted.
pub(super) fn insecure_links(email: &ReadEmail<'_>) -> InsightOutcome {
    email.links.failing(|link| !link.url.is_https)
}

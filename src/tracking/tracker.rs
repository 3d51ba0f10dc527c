//! The tracked HTML of a recipient.

use tracing::debug;

use super::rewrite::{self, Edits};
use super::token::{TrackedRecipient, TrackingTokens};
use crate::domains::SenderTracking;
use crate::preferences::LinkSettings;
use crate::store::Keyring;

/// Adds tracking to the emails of the instance.
#[derive(Clone, Debug)]
pub struct Tracker {
    tokens: TrackingTokens,
    /// Base URL of the links of a domain without a tracking host, without a trailing slash.
    public_url: String,
    /// Scheme of the public URL, with `://`.
    scheme: String,
    /// Port of the public URL with its colon; empty for the default port.
    port: String,
    /// Whether recipients can open links.
    links_work: bool,
}

impl Tracker {
    /// Returns the tracker of an instance with these keys and settings.
    pub fn new(keyring: &Keyring, settings: &LinkSettings) -> Self {
        let public_url = settings.public_url.clone();
        let (scheme, rest) = public_url.split_once("://").unwrap_or(("https", &public_url));
        let authority = rest.split('/').next().unwrap_or_default();
        // The colons of an IPv6 address are in brackets.
        let after_address = authority.rsplit_once(']').map_or(authority, |(_, after)| after);
        let port = after_address.rsplit_once(':').map_or_else(String::new, |(_, port)| format!(":{port}"));
        let scheme = format!("{scheme}://");
        Self { tokens: TrackingTokens::new(keyring), scheme, port, links_work: settings.links_work(), public_url }
    }

    /// Returns the HTML with the pixel and the rewritten links of a recipient. `None` if nothing is tracked, recipients
    /// cannot open the links, or the parser refuses the HTML.
    pub fn track(&self, tracking: &SenderTracking, recipient: TrackedRecipient, html: &str) -> Option<String> {
        if !tracking.is_on() || !self.links_work {
            return None;
        }
        let base = match &tracking.host {
            Some(host) => format!("{}{host}{}", self.scheme, self.port),
            None => self.public_url.clone(),
        };
        let link = |destination: &str| {
            let is_own = [self.public_url.as_str(), base.as_str()].iter().any(|base| is_own_page(destination, base));
            (!is_own).then(|| format!("{base}/t/c/{}", self.tokens.seal_link(recipient, destination)))
        };
        let pixel = tracking.opens.then(|| format!("{base}/t/o/{}", self.tokens.seal_pixel(recipient)));
        let edits = Edits { link: if tracking.clicks { Some(&link) } else { None }, pixel: pixel.as_deref() };
        match rewrite::rewrite(html, &edits) {
            Ok(tracked) => Some(tracked),
            Err(error) => {
                let email = recipient.email;
                debug!(email.id = %email, %error, "sent the html of email {email} without tracking: {error}");
                None
            }
        }
    }
}

/// Returns whether a destination is an unsubscribe page or a preference page of this server. The opt-out of a recipient
/// works without a redirect.
fn is_own_page(destination: &str, base: &str) -> bool {
    let is_at = |start: &str| {
        let (at_start, rest) = destination.split_at_checked(start.len())?;
        at_start.eq_ignore_ascii_case(start).then_some(rest)
    };
    is_at(base).is_some_and(|path| path.starts_with("/unsubscribe/"))
}

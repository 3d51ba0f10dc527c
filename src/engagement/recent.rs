//! The last link requests of each recipient, in memory.
//!
//! The rule of bursts compares a request with the recorded events. A repeat, and an event above the limit of a recipient,
//! are not recorded. Here they are known for a short time, so that a request right after them is part of their burst.
//! Each process knows its own requests.

use std::collections::HashMap;
use std::sync::Mutex;

use super::record::{Hit, HitTarget};
use crate::base::clock::TimestampMs;
use crate::base::id::EmailId;
use crate::base::sync;
use crate::events::ClickDetail;

/// Recipients that are kept at most.
const RECIPIENTS_MAX: usize = 4_096;
/// Links of a recipient that are kept: that of a request and another one.
const LINKS_KEPT: usize = 2;
/// Longest pause between two requests of a link that belong together. Older requests are forgotten first.
const PAUSE_MS: u64 = 1_000;

/// Recent requests of one link, each soon after the one before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecentLink {
    pub(super) link: String,
    pub(super) first_ms: TimestampMs,
    pub(super) last_ms: TimestampMs,
}

impl RecentLink {
    /// Returns whether a recorded click is one of the requests.
    pub(super) fn contains(&self, click: &ClickDetail) -> bool {
        click.link == self.link && (self.first_ms..=self.last_ms).contains(&click.at_ms)
    }

    fn is_recent(&self, now_ms: TimestampMs) -> bool {
        self.last_ms.abs_diff(now_ms) <= PAUSE_MS
    }
}

/// The last link requests of each recipient group.
#[derive(Debug, Default)]
pub(super) struct RecentLinks(Mutex<HashMap<(EmailId, u16), Vec<RecentLink>>>);

impl RecentLinks {
    /// Adds the request of a link. The request of a pixel changes nothing.
    pub(super) fn add(&self, hit: &Hit) {
        let HitTarget::Link(link) = &hit.target else { return };
        let mut recipients = sync::lock(&self.0);
        if recipients.len() >= RECIPIENTS_MAX {
            recipients.retain(|_, links| links.iter().any(|recent| recent.is_recent(hit.at_ms)));
            if recipients.len() > RECIPIENTS_MAX / 2 {
                recipients.clear();
            }
        }
        let links = recipients.entry((hit.email, hit.group)).or_default();
        let earlier = links.iter().position(|recent| recent.link == *link).map(|at| links.remove(at));
        let (first_ms, last_ms) = match earlier {
            Some(earlier) if earlier.is_recent(hit.at_ms) => {
                (earlier.first_ms.min(hit.at_ms), earlier.last_ms.max(hit.at_ms))
            }
            _ => (hit.at_ms, hit.at_ms),
        };
        if links.len() == LINKS_KEPT {
            links.remove(0);
        }
        links.push(RecentLink { link: link.clone(), first_ms, last_ms });
    }

    /// Returns the last links of the recipient of a hit.
    pub(super) fn of_recipient(&self, hit: &Hit) -> Vec<RecentLink> {
        sync::lock(&self.0).get(&(hit.email, hit.group)).cloned().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;

    fn hit(email: EmailId, link: &str, at_ms: TimestampMs) -> Hit {
        Hit {
            team: Id::MIN,
            email,
            group: 0,
            target: HitTarget::Link(link.into()),
            ip_address: String::new(),
            user_agent: String::new(),
            is_prefetch: false,
            at_ms,
        }
    }

    #[test]
    fn the_last_two_links_of_a_recipient_are_kept() {
        let recent = RecentLinks::default();
        for (link, at_ms) in [("a", 0), ("b", 100), ("b", 900), ("c", 950), ("b", 1_900), ("c", 9_000)] {
            recent.add(&hit(Id::MIN, link, at_ms));
        }
        recent.add(&Hit { target: HitTarget::Pixel, ..hit(Id::MIN, "", 9_001) });

        let expected = [("b", 100, 1_900), ("c", 9_000, 9_000)];
        let links = recent.of_recipient(&hit(Id::MIN, "", 0));
        let links: Vec<_> =
            links.iter().map(|recent| (recent.link.as_str(), recent.first_ms, recent.last_ms)).collect();
        assert_eq!(links, expected);
        assert_eq!(recent.of_recipient(&hit(Id::MAX, "", 0)), []);
    }

    #[test]
    fn the_number_of_recipients_is_bounded() {
        let recent = RecentLinks::default();
        for at_ms in 0..20_000_i64 {
            let email = EmailId::first_at(at_ms);
            recent.add(&hit(email, "a", at_ms));
            assert_eq!(recent.of_recipient(&hit(email, "", 0)).len(), 1);
            assert!(sync::lock(&recent.0).len() <= RECIPIENTS_MAX);
        }
    }
}

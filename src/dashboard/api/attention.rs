//! The sentences of the overview: what needs attention, its cause, and the page that changes it. Pure.

use serde::Serialize;

use super::health::check_title;
use super::reply::percent_encoded;
use crate::base::clock::TimestampMs;
use crate::base::printable::printable;
use crate::delivery::{QueueDepth, SiteHold, SiteSnapshot};
use crate::doctor::{CheckStatus, SetupCheck};
use crate::domains::{Domain, DomainStatus};
use crate::webhooks::{DISABLED_AFTER, FailingEndpoint, Webhook, WebhookStatus};

/// Sentences of one kind.
const SENTENCES_MAX: usize = 5;
/// Time that due email may wait before it needs attention.
const WAITING_MAX_S: i64 = 300;
/// Characters of the reply of a site.
const REPLY_CHARS_MAX: usize = 160;

/// A sentence with its cause, and the page that changes it.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(super) struct Attention {
    pub(super) severity: &'static str,
    text: String,
    href: String,
}

#[derive(Clone, Copy, Default, Serialize)]
pub(super) struct QueueSummary {
    waiting: u64,
    oldest_s: i64,
    /// Whether all deliveries are paused.
    #[serde(rename = "paused")]
    is_paused: bool,
}

impl QueueSummary {
    /// Returns the depth of the queue as of the last count; 0 before it.
    pub(super) fn of(depth: Option<&QueueDepth>, is_paused: bool) -> Self {
        let sites = depth.into_iter().flat_map(|depth| {
            let sites = depth.sites.iter().map(|(_, site)| site);
            sites.chain([&depth.other])
        });
        let mut queue = Self { is_paused, ..Self::default() };
        for (_, class) in sites.flatten() {
            queue.waiting += class.due + class.later;
            queue.oldest_s = queue.oldest_s.max(class.oldest_due_ms / 1_000);
        }
        queue
    }
}

/// Returns a sentence for each site that keeps email waiting because it refuses it or fails.
pub(super) fn of_sites(depth: &QueueDepth, snapshots: &[SiteSnapshot]) -> Vec<Attention> {
    let sentence = |snapshot: &SiteSnapshot| {
        let is_suspended = snapshot.suspended.is_some() || matches!(snapshot.hold, Some((SiteHold::Reputation, _)));
        if !is_suspended && !matches!(snapshot.hold, Some((SiteHold::Failure, _))) {
            return None;
        }
        let (name, site) = depth.sites.iter().find(|(name, _)| **name == *snapshot.name)?;
        let waiting: u64 = site.iter().map(|(_, class)| class.due + class.later).sum();
        let cause = match &snapshot.last_reply {
            Some((reply, _)) => format!("its last refusal is {}", printable(reply, REPLY_CHARS_MAX)),
            None => "its mail servers cannot be reached".to_owned(),
        };
        let groups = match waiting {
            1 => "1 group of recipients waits".to_owned(),
            waiting => format!("{waiting} groups of recipients wait"),
        };
        (waiting > 0).then(|| Attention {
            severity: if is_suspended { "red" } else { "amber" },
            text: format!("{groups} for {name}: {cause}"),
            href: format!("/dashboard/queue?open={}", percent_encoded(name)),
        })
    };
    snapshots.iter().filter_map(sentence).take(SENTENCES_MAX).collect()
}

/// Returns a sentence for each part of the server that fails.
pub(super) fn of_problems(problems: &[String]) -> Vec<Attention> {
    let sentence = |problem: &String| Attention {
        severity: "red",
        text: format!("A part of the server fails: {problem}."),
        href: "/dashboard/health".to_owned(),
    };
    problems.iter().take(SENTENCES_MAX).map(sentence).collect()
}

/// Returns a sentence for each check that found a problem, failed ones first.
pub(super) fn of_checks(checks: &[SetupCheck]) -> Vec<Attention> {
    let sentence = |check: &SetupCheck, severity| Attention {
        severity,
        text: format!("{}: {}", check_title(check), printable(&check.seen, REPLY_CHARS_MAX)),
        href: "/dashboard/health".to_owned(),
    };
    let of = |status, severity| {
        checks.iter().filter(move |check| check.status == status).map(move |check| sentence(check, severity))
    };
    of(CheckStatus::Failed, "red").chain(of(CheckStatus::Warning, "amber")).take(SENTENCES_MAX).collect()
}

/// Returns a sentence if all deliveries are paused, or if email has waited for too long.
pub(super) fn of_queue(queue: QueueSummary) -> Option<Attention> {
    if queue.is_paused {
        return Some(Attention {
            severity: "red",
            text: "All deliveries are paused until the queue is resumed.".to_owned(),
            href: "/dashboard/queue".to_owned(),
        });
    }
    (queue.oldest_s > WAITING_MAX_S).then(|| Attention {
        severity: "amber",
        text: format!(
            "{} groups of recipients wait in the queue, the oldest for {}.",
            queue.waiting,
            minutes_in_words(queue.oldest_s / 60)
        ),
        href: "/dashboard/queue".to_owned(),
    })
}

/// Returns a duration such as `3 h 12 min`.
fn minutes_in_words(minutes: i64) -> String {
    match (minutes / 60, minutes % 60) {
        (0, minutes) => format!("{minutes} min"),
        (hours, 0) => format!("{hours} h"),
        (hours, minutes) => format!("{hours} h {minutes} min"),
    }
}

pub(super) fn is_disabled_for_failures(webhook: &Webhook) -> bool {
    webhook.status == WebhookStatus::AutoDisabled
}

/// Returns a sentence for each endpoint that was disabled for its failures, then for each that is failing.
pub(super) fn of_webhooks(webhooks: &[Webhook], failing: &[FailingEndpoint], now_ms: TimestampMs) -> Vec<Attention> {
    let sentence = |severity, webhook: &Webhook, text| {
        let href = format!("/dashboard/webhooks/{}", webhook.id);
        Attention { severity, text, href }
    };
    let disabled = webhooks.iter().filter(|webhook| is_disabled_for_failures(webhook)).map(|webhook| {
        let text = format!("The webhook {} was disabled after too many failed deliveries.", webhook.endpoint);
        sentence("red", webhook, text)
    });
    let failing = failing.iter().filter_map(|failing| {
        let webhook = webhooks.iter().find(|webhook| webhook.id == failing.webhook)?;
        Some(sentence("amber", webhook, failing_in_words(&webhook.endpoint, failing, now_ms)))
    });
    disabled.chain(failing).take(SENTENCES_MAX).collect()
}

fn failing_in_words(endpoint: &str, failing: &FailingEndpoint, now_ms: TimestampMs) -> String {
    let minutes = (now_ms - failing.since_ms).max(0) / 60_000;
    let duration = if minutes == 0 { "less than a minute".to_owned() } else { minutes_in_words(minutes) };
    let cause = match failing.status {
        Some(status) => format!("its last response was {status}"),
        None => "there was no response".to_owned(),
    };
    let text = format!("The webhook {endpoint} has failed for {duration}: {cause}.");
    match failing.exhausted {
        0 => text,
        exhausted => {
            format!("{text} It is disabled after {DISABLED_AFTER} exhausted deliveries in a row; {exhausted} so far.")
        }
    }
}

pub(super) fn is_verified(domain: &Domain) -> bool {
    domain.status == DomainStatus::Verified
}

/// Returns a sentence for each domain that is not verified.
pub(super) fn of_domains(domains: &[Domain]) -> Vec<Attention> {
    let sentence = |domain: &Domain| {
        let (severity, text) = match domain.status {
            DomainStatus::Failed => ("red", format!("The DNS records of {} are wrong or missing.", domain.name)),
            DomainStatus::Pending => ("amber", format!("The DNS records of {} are being checked.", domain.name)),
            DomainStatus::NotStarted | DomainStatus::Verified => {
                ("amber", format!("The DNS records of {} have not been checked.", domain.name))
            }
        };
        Attention { severity, text, href: format!("/dashboard/domains/{}", domain.id) }
    };
    domains.iter().filter(|domain| !is_verified(domain)).take(SENTENCES_MAX).map(sentence).collect()
}

/// Returns a sentence for each domain whose mail was refused, because a server could not authenticate the sender.
pub(super) fn of_refusals(domains: &[Domain]) -> Vec<Attention> {
    let sentence = |domain: &Domain| {
        let reply = printable(&domain.refusal.as_ref()?.reply, REPLY_CHARS_MAX);
        let text = format!("A mail server could not authenticate {}: {reply}", domain.name);
        Some(Attention { severity: "amber", text, href: format!("/dashboard/domains/{}", domain.id) })
    };
    domains.iter().filter_map(sentence).take(SENTENCES_MAX).collect()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;
    use crate::delivery::{ClassDepth, SiteKind};
    use crate::domains::DomainRefusal;
    use crate::webhooks::SubscribedEvents;

    /// Returns severity, text and target of each sentence.
    fn shown(sentences: &[Attention]) -> Vec<(&str, &str, &str)> {
        sentences.iter().map(|one| (one.severity, one.text.as_str(), one.href.as_str())).collect()
    }

    #[test]
    fn an_endpoint_that_fails_or_was_disabled_for_its_failures_is_named() {
        let webhook = |number, status| Webhook {
            id: Id::from_bytes([number; 16]),
            endpoint: format!("https://hooks.example.com/{number}"),
            subscription: SubscribedEvents::All,
            status,
            created_ms: 0,
            previous_secret_expires_ms: None,
        };
        let webhooks = [
            webhook(1, WebhookStatus::Enabled),
            webhook(2, WebhookStatus::AutoDisabled),
            webhook(3, WebhookStatus::Disabled),
            webhook(4, WebhookStatus::Enabled),
        ];
        let failing = |number, status, minutes: i64, exhausted| {
            let webhook = Id::from_bytes([number; 16]);
            FailingEndpoint { webhook, since_ms: -minutes * 60_000, status, exhausted }
        };
        let failing = [failing(4, Some(503), 192, 7), failing(1, None, 0, 0)];

        assert_eq!(
            shown(&of_webhooks(&webhooks, &failing, 59_999)),
            [
                (
                    "red",
                    "The webhook https://hooks.example.com/2 was disabled after too many failed deliveries.",
                    "/dashboard/webhooks/02020202-0202-0202-0202-020202020202"
                ),
                (
                    "amber",
                    "The webhook https://hooks.example.com/4 has failed for 3 h 12 min: its last response was 503. It is \
                     disabled after 20 exhausted deliveries in a row; 7 so far.",
                    "/dashboard/webhooks/04040404-0404-0404-0404-040404040404"
                ),
                (
                    "amber",
                    "The webhook https://hooks.example.com/1 has failed for less than a minute: there was no response.",
                    "/dashboard/webhooks/01010101-0101-0101-0101-010101010101"
                ),
            ]
        );
    }

    #[test]
    fn a_domain_that_is_not_verified_is_named_with_its_state() {
        let domain = |number, status| Domain {
            id: Id::from_bytes([number; 16]),
            name: format!("mail{number}.example.com"),
            status,
            created_ms: 0,
            region: "us-east-1".to_owned(),
            open_tracking: false,
            click_tracking: false,
            tracking_subdomain: None,
            refusal: None,
        };
        let domains = [
            domain(1, DomainStatus::Failed),
            domain(2, DomainStatus::Pending),
            domain(3, DomainStatus::NotStarted),
            domain(4, DomainStatus::Verified),
        ];

        let sentences = of_domains(&domains);

        assert_eq!(
            sentences.iter().map(|one| (one.severity, one.text.as_str())).collect::<Vec<_>>(),
            [
                ("red", "The DNS records of mail1.example.com are wrong or missing."),
                ("amber", "The DNS records of mail2.example.com are being checked."),
                ("amber", "The DNS records of mail3.example.com have not been checked."),
            ]
        );
        assert_eq!(sentences[0].href, "/dashboard/domains/01010101-0101-0101-0101-010101010101");
        let refusal = DomainRefusal { at_ms: 0, email: Id::MIN, host: None, reply: "550 5.7.26 no".into() };
        let refused = Domain { refusal: Some(refusal), ..domain(5, DomainStatus::Verified) };
        let sentences = of_refusals(&[domain(4, DomainStatus::Verified), refused]);
        let href = "/dashboard/domains/05050505-0505-0505-0505-050505050505";
        let text = "A mail server could not authenticate mail5.example.com: 550 5.7.26 no";
        assert_eq!(shown(&sentences), [("amber", text, href)]);
    }

    #[test]
    fn only_a_slow_queue_needs_attention() {
        assert_eq!(of_queue(QueueSummary { waiting: 900, oldest_s: 300, is_paused: false }), None);
        let slow = of_queue(QueueSummary { waiting: 12, oldest_s: 660, is_paused: false }).unwrap();
        assert_eq!(slow.text, "12 groups of recipients wait in the queue, the oldest for 11 min.");
        let slower = of_queue(QueueSummary { waiting: 12, oldest_s: 192 * 60, is_paused: false }).unwrap();
        assert!(slower.text.ends_with("the oldest for 3 h 12 min."), "{}", slower.text);
        let paused = of_queue(QueueSummary { waiting: 0, oldest_s: 0, is_paused: true }).unwrap();
        assert_eq!(paused.text, "All deliveries are paused until the queue is resumed.");
    }

    #[test]
    fn a_site_that_refuses_email_is_named_with_its_reply() {
        let class = |due| ClassDepth { due, later: 0, oldest_due_ms: 0 };
        let site = |due| [("transactional", class(due)), ("broadcast", class(0))];
        let snapshot = |name: &str, hold: Option<SiteHold>, reply: Option<&str>| SiteSnapshot {
            name: name.into(),
            kind: SiteKind::Failing,
            sessions: 0,
            idle: 0,
            sessions_max: 1,
            lanes: 1,
            ready: 1,
            hold: hold.map(|hold| (hold, Duration::from_secs(60))),
            suspended: None,
            last_reply: reply.map(|reply| (reply.into(), 0)),
            delisting: None,
            messages_per_second: None,
            warm_up: None,
        };
        let depth = QueueDepth {
            sites: [("gmail.com", 214), ("one.example", 1), ("slow.example", 9)]
                .map(|(name, due)| (name.to_owned(), site(due)))
                .to_vec(),
            other: site(0),
            waiting_ms: 0,
            counted_ms: 0,
        };
        let snapshots = [
            snapshot("gmail.com", Some(SiteHold::Reputation), Some("421-4.7.28 unusual rate")),
            snapshot("one.example", Some(SiteHold::Failure), None),
            snapshot("slow.example", Some(SiteHold::Rate), None),
            snapshot("empty.example", Some(SiteHold::Failure), None),
        ];

        let sentences = of_sites(&depth, &snapshots);

        assert_eq!(
            shown(&sentences),
            [
                (
                    "red",
                    "214 groups of recipients wait for gmail.com: its last refusal is 421-4.7.28 unusual rate",
                    "/dashboard/queue?open=gmail.com"
                ),
                (
                    "amber",
                    "1 group of recipients waits for one.example: its mail servers cannot be reached",
                    "/dashboard/queue?open=one.example"
                ),
            ]
        );
    }

    #[test]
    fn a_check_that_found_a_problem_is_named_with_what_it_saw() {
        let check = |name: &str, subject: Option<&str>, status| SetupCheck {
            check: name.to_owned(),
            subject: subject.map(str::to_owned),
            status,
            seen: "no PTR record".to_owned(),
            expected: None,
            fix: None,
        };
        let checks = [
            check("disk", None, CheckStatus::Ok),
            check("clock", None, CheckStatus::Warning),
            check("reverse_dns", Some("192.0.2.1"), CheckStatus::Failed),
        ];

        let sentences = of_checks(&checks);

        let shown: Vec<(&str, String)> = sentences.into_iter().map(|one| (one.severity, one.text)).collect();
        let text = |check: &SetupCheck| format!("{}: no PTR record", check_title(check));
        assert_eq!(shown, [("red", text(&checks[2])), ("amber", text(&checks[1]))]);
        assert!(shown[0].1.contains("192.0.2.1"), "{shown:?}");
    }

    #[test]
    fn each_kind_has_a_bounded_number_of_sentences() {
        let problems: Vec<String> = (0..9).map(|number| format!("worker {number}")).collect();

        assert_eq!(of_problems(&problems).len(), SENTENCES_MAX);
        assert_eq!(of_problems(&problems)[0].text, "A part of the server fails: worker 0.");
    }
}

//! The texts of a notice: the line in the log and the email to the owners. Pure.
//!
//! Both contain only the host of an endpoint's URL. The path and the query are often secrets. Operators read the log,
//! and the email appears in the email list of the team that sends it.

use super::model::Notice;
use super::{domain_text, rate_text};
use crate::base::clock::{TimestampMs, to_iso};

/// End of each email.
pub(super) const REASON: &str = "You get this email because you own the team.";

/// Subject and text of the email to an owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct NoticeEmail {
    pub(super) subject: String,
    pub(super) text: String,
}

/// Returns the event as a sentence without a full stop, for the log.
pub(super) fn sentence(notice: &Notice, at_ms: TimestampMs) -> String {
    match notice {
        Notice::WebhookFailing { webhook, endpoint } => {
            let host = host_of(endpoint);
            format!("the last ten deliveries to webhook {webhook} at {host} failed, as of {}", to_iso(at_ms))
        }
        Notice::WebhookDisabled { webhook, endpoint } => format!(
            "the webhook {webhook} at {} was disabled at {}: twenty deliveries in a row failed",
            host_of(endpoint),
            to_iso(at_ms)
        ),
        Notice::WebhookBacklog { webhook, endpoint, oldest_ms } => {
            let (host, oldest) = (host_of(endpoint), to_iso(*oldest_ms));
            format!("deliveries to webhook {webhook} at {host} are waiting, the oldest since {oldest}")
        }
        Notice::DeliverabilityWarning(rate) => rate_text::warning_sentence(rate),
        Notice::DeliverabilityPaused(rate) => rate_text::pause_sentence(rate),
        Notice::BroadcastHeld { broadcast, dashboard_url: _ } => rate_text::held_sentence(*broadcast),
        Notice::DomainRefused { domain: _, name, refusal } => domain_text::refusal_sentence(name, refusal),
    }
}

/// Returns the email about a notice to the team with the name `team`.
pub(super) fn compose(notice: &Notice, at_ms: TimestampMs, team: &str) -> NoticeEmail {
    let (webhook, endpoint, subject, event, time, action) = match notice {
        Notice::WebhookFailing { webhook, endpoint } => (
            webhook,
            endpoint,
            "Webhook deliveries are failing",
            "The last ten deliveries to a webhook endpoint ended without success.",
            format!("As of: {}", to_iso(at_ms)),
            "The endpoint continues to receive events. After twenty deliveries in a row without success it is \
             disabled, and receives no events until it is enabled again."
                .to_owned(),
        ),
        Notice::WebhookDisabled { webhook, endpoint } => (
            webhook,
            endpoint,
            "A webhook endpoint was disabled",
            "A webhook endpoint was disabled, because twenty deliveries in a row ended without success.",
            format!("Since: {}", to_iso(at_ms)),
            format!(
                "The endpoint receives no events until it is enabled again. When it answers with 2xx, enable it \
                 with PATCH /webhooks/{webhook} and the body {{\"status\": \"enabled\"}}."
            ),
        ),
        Notice::WebhookBacklog { webhook, endpoint, oldest_ms } => (
            webhook,
            endpoint,
            "Webhook deliveries are waiting",
            "Deliveries to a webhook endpoint have been waiting for more than six hours.",
            format!("Oldest waiting since: {}", to_iso(*oldest_ms)),
            "The endpoint answers too slowly, does not answer, or refuses them. A delivery that does not succeed within \
             24 hours is given up."
                .to_owned(),
        ),
        Notice::DeliverabilityWarning(rate) => return rate_text::warning(rate, at_ms, team),
        Notice::DeliverabilityPaused(rate) => return rate_text::pause(rate, at_ms, team),
        Notice::BroadcastHeld { broadcast, dashboard_url } => {
            return rate_text::held(*broadcast, dashboard_url, at_ms, team);
        }
        Notice::DomainRefused { domain, name, refusal } => return domain_text::refusal(*domain, name, refusal, team),
    };
    let host = host_of(endpoint);
    let text = format!(
        "{event}\n\nTeam: {team}\nEndpoint: {host}\nWebhook: {webhook}\n{time}\n\n{action}\n\n\
         Requests to the endpoint and its responses: GET /webhooks/{webhook}/events\n\n\
         {REASON}\n"
    );
    NoticeEmail { subject: subject.to_owned(), text }
}

/// Returns the host of a URL, without name, password and port.
fn host_of(url: &str) -> &str {
    // Without a scheme, the position of the host is unknown.
    let Some((_, rest)) = url.split_once("://") else { return "an unknown host" };
    let (authority, _) = rest.split_at(rest.find(['/', '\\', '?', '#']).unwrap_or(rest.len()));
    let (_, host) = authority.rsplit_once('@').unwrap_or(("", authority));
    // The colons of an IPv6 address precede its closing bracket.
    let port_from = host.rfind(']').unwrap_or(0);
    host[port_from..].find(':').map_or(host, |colon| &host[..port_from + colon])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::WebhookId;

    #[test]
    fn every_notice_names_event_endpoint_time_and_action() {
        let webhook = WebhookId::MIN;
        let endpoint = "https://hooks.example/mail".to_owned();
        for (notice, action) in [
            (Notice::WebhookFailing { webhook, endpoint: endpoint.clone() }, "twenty deliveries"),
            (Notice::WebhookDisabled { webhook, endpoint: endpoint.clone() }, "PATCH /webhooks/00000000"),
            (Notice::WebhookBacklog { webhook, endpoint, oldest_ms: 1_767_604_353_456 }, "24 hours"),
        ] {
            let NoticeEmail { subject, text } = compose(&notice, 1_767_604_353_456, "Acme");

            assert!(!subject.is_empty() && !subject.chars().any(char::is_control), "{subject}");
            let request = "GET /webhooks/00000000-0000-0000-0000-000000000000/events";
            for words in ["Acme", "Endpoint: hooks.example\n", "2026-01-05T09:12:33.456Z", action, request] {
                assert!(text.contains(words), "no {words:?} in {text}");
            }
            let line = sentence(&notice, 1_767_604_353_456);
            for words in ["hooks.example", "00000000-0000-0000-0000-000000000000", "2026-01-05T09:12:33.456Z"] {
                assert!(line.contains(words), "no {words:?} in {line}");
            }
        }
    }

    // Webhook receivers often identify their customers by a token in the URL.
    #[test]
    fn a_notice_contains_only_the_host_of_a_url() {
        for (url, host) in [
            ("https://hooks.example/T0KEN", "hooks.example"),
            ("https://hooks.example/services/T0KEN?key=T0KEN", "hooks.example"),
            ("https://hooks.example?T0KEN", "hooks.example"),
            ("https://hooks.example:8443/T0KEN:1@T0KEN", "hooks.example"),
            ("https://T0KEN:T0KEN@hooks.example/", "hooks.example"),
            ("https://hooks.example#T0KEN", "hooks.example"),
            ("http://[2001:db8::1]:8080/T0KEN", "[2001:db8::1]"),
            ("http://[2001:db8::1]/T0KEN", "[2001:db8::1]"),
            ("https://bücher.example/T0KEN", "bücher.example"),
            ("T0KEN", "an unknown host"),
        ] {
            let (webhook, endpoint) = (WebhookId::MIN, url.to_owned());
            for notice in [
                Notice::WebhookFailing { webhook, endpoint: endpoint.clone() },
                Notice::WebhookDisabled { webhook, endpoint: endpoint.clone() },
                Notice::WebhookBacklog { webhook, endpoint, oldest_ms: 0 },
            ] {
                let NoticeEmail { subject, text } = compose(&notice, 0, "Acme");
                let line = sentence(&notice, 0);

                assert!(text.contains(&format!("Endpoint: {host}\n")), "{url}: {text}");
                assert!(line.contains(&format!(" at {host} ")), "{url}: {line}");
                assert!(![subject, text, line].concat().contains("T0KEN"), "{url}");
            }
        }
    }

    // A delivery between two attempts is not due, and an endpoint that answers with errors is not silent.
    #[test]
    fn a_backlog_is_described_as_waiting_deliveries() {
        let endpoint = "https://hooks.example/mail".to_owned();
        let notice = Notice::WebhookBacklog { webhook: WebhookId::MIN, endpoint, oldest_ms: 1_767_604_353_456 };

        let NoticeEmail { subject: _, text } = compose(&notice, 1_767_700_000_000, "Acme");
        let line = sentence(&notice, 1_767_700_000_000);

        assert!(text.contains("Oldest waiting since: 2026-01-05T09:12:33.456Z"), "{text}");
        assert!(text.contains("or refuses them"), "{text}");
        assert!(line.contains("waiting, the oldest since 2026-01-05T09:12:33.456Z"), "{line}");
        for words in [text, line] {
            assert!(!words.contains(" due"), "{words}");
        }
    }
}

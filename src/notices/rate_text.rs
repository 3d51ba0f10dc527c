//! The texts of notices about the rates of a team, and about broadcasts that wait because of them. Pure.

use super::email_text::{NoticeEmail, REASON};
use super::model::RateNotice;
use crate::base::clock::{TimestampMs, to_iso};
use crate::base::id::BroadcastId;
use crate::events::RateMetric;

/// Returns a warning as a sentence without a full stop, for the log.
pub(super) fn warning_sentence(rate: &RateNotice) -> String {
    let effect = if rate.is_observed { "nothing is refused" } else { "new sends are refused at a higher rate" };
    format!("{}, and {effect}", outcome(rate))
}

/// Returns a pause as a sentence without a full stop, for the log.
pub(super) fn pause_sentence(rate: &RateNotice) -> String {
    format!("{}, so that new sends of the team are refused", outcome(rate))
}

/// Returns a held broadcast as a sentence without a full stop, for the log.
pub(super) fn held_sentence(broadcast: BroadcastId) -> String {
    format!("the broadcast {broadcast} waits, because sending is paused")
}

/// Returns the email about a warning.
pub(super) fn warning(rate: &RateNotice, at_ms: TimestampMs, team: &str) -> NoticeEmail {
    let subject = match rate.metric {
        RateMetric::Bounce => "Too many of your emails bounce",
        RateMetric::Complaint => "Too many of your emails are reported as spam",
    };
    let action = if rate.is_observed {
        "The guardrail of this server is off, so that nothing is refused. Mailbox providers refuse the mail of senders with \
         high rates."
    } else {
        "All broadcasts of the team together now send one message a second. At a higher rate, new sends of the team are refused until it \
         falls."
    };
    NoticeEmail { subject: subject.to_owned(), text: rate_text(rate, at_ms, team, action) }
}

/// Returns the email about a pause.
pub(super) fn pause(rate: &RateNotice, at_ms: TimestampMs, team: &str) -> NoticeEmail {
    let action = "New sends are refused with the error sending_paused, and scheduled broadcasts wait. Emails that were \
                  accepted before are still delivered, those of broadcasts at one message a second. Sending continues without an action of yours when the rate of these \
                  days is lower, at the earliest after midnight UTC.";
    NoticeEmail { subject: "Sending is paused".to_owned(), text: rate_text(rate, at_ms, team, action) }
}

/// Returns the email about a held broadcast.
pub(super) fn held(broadcast: BroadcastId, dashboard_url: &str, at_ms: TimestampMs, team: &str) -> NoticeEmail {
    let text = format!(
        "A broadcast waits, because sending is paused: too many emails bounced or were reported as spam.\n\n\
         Team: {team}\nBroadcast: {broadcast}\nSince: {}\n\n\
         The server tries again every 15 minutes, and sends the broadcast when the pause ends. To send nothing, cancel \
         it.\n\nRates: {dashboard_url}\n\n{REASON}\n",
        to_iso(at_ms)
    );
    NoticeEmail { subject: "A broadcast waits".to_owned(), text }
}

fn rate_text(rate: &RateNotice, at_ms: TimestampMs, team: &str, action: &str) -> String {
    let sentence = outcome(rate);
    let mut letters = sentence.chars();
    let first = letters.next().map(|first| first.to_ascii_uppercase()).unwrap_or_default();
    format!(
        "{first}{}.\n\nTeam: {team}\nAs of: {}\n\n{action}\n\n\
         Remove addresses that bounce, and send only to recipients who asked for your emails.\n\nRates: {}\n\n{REASON}\n",
        letters.as_str(),
        to_iso(at_ms),
        rate.dashboard_url
    )
}

fn outcome(rate: &RateNotice) -> String {
    let RateNotice { metric, count, sent, limit_per_10_000, window_days, is_observed: _, dashboard_url: _ } = rate;
    let (verb, whole, hundredths) = (metric.verb(), limit_per_10_000 / 100, limit_per_10_000 % 100);
    format!("{count} of {sent} emails of the last {window_days} days {verb}, and the limit is {whole}.{hundredths:02}%")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(metric: RateMetric) -> RateNotice {
        RateNotice {
            metric,
            count: 12,
            sent: 200,
            limit_per_10_000: 500,
            window_days: 2,
            is_observed: false,
            dashboard_url: "https://mail.example.com/dashboard/metrics/deliverability".into(),
        }
    }

    #[test]
    fn a_notice_about_a_rate_names_its_figures_and_the_page() {
        for metric in [RateMetric::Bounce, RateMetric::Complaint] {
            for NoticeEmail { subject, text } in [warning(&rate(metric), 0, "Acme"), pause(&rate(metric), 0, "Acme")] {
                assert!(!subject.is_empty());
                for words in ["12 of 200 emails of the last 2 days", "5.00%", "Team: Acme", "/metrics/deliverability"] {
                    assert!(text.contains(words), "no {words:?} in {text}");
                }
            }
        }
        assert!(pause_sentence(&rate(RateMetric::Complaint)).contains("were reported as spam, and the limit is 5.00%"));
    }

    #[test]
    fn a_warning_without_the_guardrail_announces_no_refusal() {
        let observed = RateNotice { is_observed: true, ..rate(RateMetric::Bounce) };

        let texts = [warning_sentence(&observed), warning(&observed, 0, "Acme").text];

        for text in texts {
            assert!(
                text.contains("nothing is refused") && !text.contains("new sends") && !text.contains("a second"),
                "{text}"
            );
        }
        assert!(warning(&rate(RateMetric::Bounce), 0, "Acme").text.contains("new sends of the team are refused"));
    }

    #[test]
    fn a_notice_about_a_held_broadcast_names_the_broadcast() {
        let NoticeEmail { subject: _, text } = held(BroadcastId::MIN, "https://mail.example.com/", 0, "Acme");

        assert!(text.contains("Broadcast: 00000000-0000-0000-0000-000000000000"), "{text}");
        assert!(held_sentence(BroadcastId::MIN).contains("00000000-0000"));
    }
}

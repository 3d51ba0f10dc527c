//! The data of the page about deliverability: the days, and the rates of the guardrail.

use std::time::Duration;

use ringmail::base::clock::{DAY_MS, to_iso, utc_day};
use ringmail::email_metrics::DayTotals;
use serde_json::{Value, json};

use super::browser::Browser;
use super::captured::opened;
use crate::deliverability::{deliver_emails, report_outcome, start};
use crate::support::{TestServer, email};

const HOUR: Duration = Duration::from_secs(3_600);
const DAY: Duration = Duration::from_secs(24 * 3_600);
/// The metrics of the guardrail, each with the field of a day that counts its events.
const METRICS: [(&str, &str); 2] = [("bounce", "sent_and_bounced"), ("complaint", "sent_and_complained")];

/// Returns totals in which no two numbers are equal, and no rate reaches a limit.
fn totals(factor: u64) -> DayTotals {
    DayTotals {
        sent: 10_000 * factor,
        delivered: 9_000 * factor,
        bounced_permanent: 150 * factor,
        complained: 5 * factor,
        unique_opened: 3_000 * factor,
        unique_clicked: 400 * factor,
        sent_and_bounced: 200 * factor,
        sent_and_complained: 3 * factor,
        ..DayTotals::default()
    }
}

#[track_caller]
fn number(value: &Value) -> u64 {
    value.as_u64().unwrap()
}

/// Returns the data of the page. Checks that the counts of each window are the sums of its days.
#[track_caller]
fn deliverability(browser: &Browser<'_>) -> Value {
    let shown = browser.api("GET", "/deliverability", None).json(200);
    let days = shown["days"].as_array().unwrap();
    for (metric, field) in METRICS {
        for limit in ["warning", "pause"] {
            let window = &shown["guardrail"][metric][limit];
            let length = usize::try_from(number(&window["window_days"])).unwrap();
            let sum = |field: &str| days.iter().rev().take(length).map(|day| number(&day[field])).sum::<u64>();
            let expected = (number(&window["sent"]), number(&window["count"]));
            assert_eq!((sum("sent"), sum(field)), expected, "{metric}, {limit}");
        }
    }
    shown
}

/// Returns whether the counts of a day alone reach the limit of a pause.
fn is_beyond_a_pause(day: &Value, guardrail: &Value) -> bool {
    METRICS.into_iter().any(|(metric, field)| {
        let pause = &guardrail[metric]["pause"];
        let float = |value: &Value| value.as_f64().unwrap();
        let (count, sent) = (float(&day[field]), float(&day["sent"]));
        let is_crossed = count >= float(&pause["limit"]) * sent;
        is_crossed && count >= float(&pause["min_count"]) && sent >= float(&pause["min_sent"])
    })
}

#[test]
fn each_day_and_each_rate_has_its_own_numbers() {
    let server = TestServer::start();
    server.put_totals(totals(4));
    server.advance(5 * DAY);
    server.put_totals(totals(2));
    server.advance(5 * DAY);
    server.put_totals(totals(1));

    let shown = deliverability(&opened(&server));

    let days = shown["days"].as_array().unwrap();
    assert_eq!((days.len(), &days[0]["date"], &days[29]["date"]), (30, &json!("2025-12-17"), &json!("2026-01-15")));
    for (date, factor) in [("2026-01-05", 4), ("2026-01-10", 2), ("2026-01-14", 0), ("2026-01-15", 1)] {
        let expected = json!({
            "date": date, "sent": 10_000 * factor, "delivered": 9_000 * factor, "sent_and_bounced": 200 * factor,
            "sent_and_complained": 3 * factor, "opened": 3_000 * factor, "clicked": 400 * factor,
        });
        assert_eq!(days.iter().find(|day| day["date"] == date), Some(&expected));
    }
    for (metric, count, rate) in [("bounce", 200, 0.02), ("complaint", 3, 0.0003)] {
        let of_metric = &shown["guardrail"][metric];
        for (figures, factor) in [(of_metric, 7), (&of_metric["warning"], 3), (&of_metric["pause"], 1)] {
            let found = json!([figures["count"], figures["sent"], figures["rate"]]);
            assert_eq!(found, json!([count * factor, 10_000 * factor, rate]), "{of_metric}");
        }
    }
}

#[test]
fn a_pause_ends_when_the_day_of_the_sends_leaves_its_window() {
    // The clock of the instance starts on 5 January at 09:00 UTC, and the reports arrive on 6 January.
    for (is_late, end, next_status) in
        [(true, "2026-01-07T00:00:00.000Z", "warning"), (false, "2026-01-08T00:00:00.000Z", "paused")]
    {
        let server = start("on");
        let browser = opened(&server);
        let of_yesterday = deliver_emails(&server);
        server.advance(DAY);
        let of_today = deliver_emails(&server);
        let reported = if is_late { &of_yesterday } else { &of_today };
        report_outcome(&server, reported, 0..10, "bounced");
        report_outcome(&server, reported, 10..14, "complained");

        let shown = deliverability(&browser);

        let (guardrail, days) = (&shown["guardrail"], shown["days"].as_array().unwrap());
        let counts = json!([guardrail["bounce"]["pause"]["count"], guardrail["complaint"]["pause"]["count"]]);
        assert_eq!((&guardrail["status"], counts), (&json!("paused"), json!([10, 4])));
        let refused = server.post("/emails", &email(&json!({}))).refusal();
        assert!(refused.starts_with("403 sending_paused: ") && refused.contains(end), "{refused}");
        let midnights = if is_beyond_a_pause(days.last().unwrap(), guardrail) { 2 } else { 1 };
        assert_eq!(to_iso((i64::from(utc_day(server.now_ms())) + midnights) * DAY_MS), end);

        server.advance(15 * HOUR);
        assert_eq!(deliverability(&browser)["guardrail"]["status"], next_status);
    }
}

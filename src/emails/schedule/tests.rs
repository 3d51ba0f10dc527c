use chrono::DateTime;
use proptest::prelude::*;

use super::*;

/// A Wednesday.
const NOW: &str = "2026-08-05T11:52:01.858Z";

fn ms(iso: &str) -> i64 {
    DateTime::parse_from_rfc3339(iso).unwrap().timestamp_millis()
}

fn due(text: &str, now: &str) -> Result<String, ScheduleError> {
    let due = DateTime::from_timestamp_millis(parse(text, ms(now))?).unwrap();
    Ok(due.format("%Y-%m-%dT%H:%M:%S%.3fZ").to_string())
}

#[test]
fn iso_8601_is_read_in_its_common_spellings() {
    for (text, expected) in [
        ("2026-08-06T11:52:01.858Z", "2026-08-06T11:52:01.858Z"),
        ("2026-08-06T11:52:01Z", "2026-08-06T11:52:01.000Z"),
        ("2026-08-06t11:52:01z", "2026-08-06T11:52:01.000Z"),
        ("2026-08-06T11:52Z", "2026-08-06T11:52:00.000Z"),
        ("2026-08-06T11:52:01.8Z", "2026-08-06T11:52:01.800Z"),
        ("2026-08-06T11:52:01.858999999Z", "2026-08-06T11:52:01.858Z"),
        ("2026-08-06T11:52:01,5Z", "2026-08-06T11:52:01.500Z"),
        ("2026-08-06T11:52:01+02:00", "2026-08-06T09:52:01.000Z"),
        ("2026-08-06T11:52:01-0530", "2026-08-06T17:22:01.000Z"),
        ("2026-08-06T11:52:01+00", "2026-08-06T11:52:01.000Z"),
        ("2026-08-06 11:52:01.123456+00", "2026-08-06T11:52:01.123Z"),
        ("2026-08-06 11:52:01 UTC", "2026-08-06T11:52:01.000Z"),
        ("2026-08-06T11:52:01.123456", "2026-08-06T11:52:01.123Z"),
        ("2026-08-07T00:30:00+14:00", "2026-08-06T10:30:00.000Z"),
        ("  2026-08-06T11:52:01Z  ", "2026-08-06T11:52:01.000Z"),
        ("2026-08-06", "2026-08-06T00:00:00.000Z"),
        ("2026-08-06 at 9am ET", "2026-08-06T13:00:00.000Z"),
        ("2026-09-04T11:52:01.858Z", "2026-09-04T11:52:01.858Z"),
    ] {
        assert_eq!(due(text, NOW).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn english_counts_from_now() {
    for (text, expected) in [
        ("now", "2026-08-05T11:52:01.858Z"),
        ("in 1 min", "2026-08-05T11:53:01.858Z"),
        ("in 5 minutes", "2026-08-05T11:57:01.858Z"),
        ("In 5Mins", "2026-08-05T11:57:01.858Z"),
        ("  in   30  sec ", "2026-08-05T11:52:31.858Z"),
        ("in an hour", "2026-08-05T12:52:01.858Z"),
        ("in a day", "2026-08-06T11:52:01.858Z"),
        ("in two hours", "2026-08-05T13:52:01.858Z"),
        ("in 2 days", "2026-08-07T11:52:01.858Z"),
        ("in 3 weeks", "2026-08-26T11:52:01.858Z"),
        ("in 30 days", "2026-09-04T11:52:01.858Z"),
        ("in 1 hour 30 minutes", "2026-08-05T13:22:01.858Z"),
        ("in 1 hour and 30 min", "2026-08-05T13:22:01.858Z"),
        ("in 1 day, 2 hours, and 3 minutes", "2026-08-06T13:55:01.858Z"),
        ("10 minutes from now", "2026-08-05T12:02:01.858Z"),
        ("in 0 minutes", "2026-08-05T11:52:01.858Z"),
    ] {
        assert_eq!(due(text, NOW).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn english_names_days_times_and_zones() {
    for (text, expected) in [
        ("today at 17:30", "2026-08-05T17:30:00.000Z"),
        ("today at 11:50", "2026-08-05T11:52:01.858Z"),
        ("tomorrow", "2026-08-06T11:52:01.858Z"),
        ("tomorrow at 9am", "2026-08-06T09:00:00.000Z"),
        ("Tomorrow 9 AM", "2026-08-06T09:00:00.000Z"),
        ("tomorrow, 9:15pm", "2026-08-06T21:15:00.000Z"),
        ("tomorrow at 12am", "2026-08-06T00:00:00.000Z"),
        ("tomorrow at 12:30 pm", "2026-08-06T12:30:00.000Z"),
        ("tomorrow at noon", "2026-08-06T12:00:00.000Z"),
        ("tomorrow at 09:00:05", "2026-08-06T09:00:05.000Z"),
        ("9am tomorrow", "2026-08-06T09:00:00.000Z"),
        ("at 3pm ET on Friday", "2026-08-07T19:00:00.000Z"),
        ("Friday at 3pm ET", "2026-08-07T19:00:00.000Z"),
        ("fri at 3pm", "2026-08-07T15:00:00.000Z"),
        ("on this friday at 15:00", "2026-08-07T15:00:00.000Z"),
        ("friday", "2026-08-07T11:52:01.858Z"),
        ("Wednesday at 17:30", "2026-08-05T17:30:00.000Z"),
        ("Wednesday at 11:50", "2026-08-05T11:52:01.858Z"),
        ("Wednesday at 9am", "2026-08-12T09:00:00.000Z"),
        ("wednesday", "2026-08-12T11:52:01.858Z"),
        ("next monday at 10:00", "2026-08-10T10:00:00.000Z"),
        ("next wednesday at 10:00", "2026-08-12T10:00:00.000Z"),
        ("next friday at 10:00", "2026-08-14T10:00:00.000Z"),
        ("next sunday at 10:00", "2026-08-16T10:00:00.000Z"),
        ("sunday at 10:00", "2026-08-09T10:00:00.000Z"),
        ("tomorrow at 9am utc", "2026-08-06T09:00:00.000Z"),
        ("tomorrow at 9am GMT", "2026-08-06T09:00:00.000Z"),
        ("tomorrow at 9:00Z", "2026-08-06T09:00:00.000Z"),
        ("tomorrow at 9am BST", "2026-08-06T08:00:00.000Z"),
        ("tomorrow at 9am CET", "2026-08-06T08:00:00.000Z"),
        ("tomorrow at 9am CEST", "2026-08-06T07:00:00.000Z"),
        ("tomorrow at 9am EST", "2026-08-06T14:00:00.000Z"),
        ("tomorrow at 9am EDT", "2026-08-06T13:00:00.000Z"),
        ("tomorrow at 9am CT", "2026-08-06T14:00:00.000Z"),
        ("tomorrow at 9am CST", "2026-08-06T15:00:00.000Z"),
        ("tomorrow at 9am CDT", "2026-08-06T14:00:00.000Z"),
        ("tomorrow at 9am MT", "2026-08-06T15:00:00.000Z"),
        ("tomorrow at 9am MST", "2026-08-06T16:00:00.000Z"),
        ("tomorrow at 9am MDT", "2026-08-06T15:00:00.000Z"),
        ("tomorrow at 9am PT", "2026-08-06T16:00:00.000Z"),
        ("tomorrow at 9am PST", "2026-08-06T17:00:00.000Z"),
        ("tomorrow at 9am PDT", "2026-08-06T16:00:00.000Z"),
        ("tomorrow at 9am +02:00", "2026-08-06T07:00:00.000Z"),
        ("tomorrow at 9am -0330", "2026-08-06T12:30:00.000Z"),
    ] {
        assert_eq!(due(text, NOW).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_named_zone_decides_which_day_it_is() {
    // In New York it is Tuesday evening.
    let now = "2026-08-05T02:00:00Z";
    assert_eq!(due("tomorrow at 9am ET", now).as_deref(), Ok("2026-08-05T13:00:00.000Z"));
    assert_eq!(due("tomorrow at 9am", now).as_deref(), Ok("2026-08-06T09:00:00.000Z"));
    assert_eq!(due("today at 11pm ET", now).as_deref(), Ok("2026-08-05T03:00:00.000Z"));
    assert_eq!(due("tuesday at 11pm PT", now).as_deref(), Ok("2026-08-05T06:00:00.000Z"));
}

#[test]
fn zones_of_the_united_states_follow_the_season() {
    for (text, now, expected) in [
        ("tomorrow at 9am ET", "2026-01-10T12:00:00Z", "2026-01-11T14:00:00.000Z"),
        ("tomorrow at 9am PT", "2026-01-10T12:00:00Z", "2026-01-11T17:00:00.000Z"),
        // 2026: daylight saving time from 8 March to 1 November.
        ("sunday at 1:59am ET", "2026-03-06T12:00:00Z", "2026-03-08T06:59:00.000Z"),
        ("sunday at 2:30am ET", "2026-03-06T12:00:00Z", "2026-03-08T07:30:00.000Z"),
        ("sunday at 3am ET", "2026-03-06T12:00:00Z", "2026-03-08T07:00:00.000Z"),
        ("sunday at 12:30am ET", "2026-10-30T12:00:00Z", "2026-11-01T04:30:00.000Z"),
        ("sunday at 1:30am ET", "2026-10-30T12:00:00Z", "2026-11-01T05:30:00.000Z"),
        ("sunday at 2am ET", "2026-10-30T12:00:00Z", "2026-11-01T07:00:00.000Z"),
        ("today at 11pm ET", "2026-11-01T05:59:00Z", "2026-11-02T04:00:00.000Z"),
        ("today at 11:45pm ET", "2026-11-02T04:30:00Z", "2026-11-02T04:45:00.000Z"),
    ] {
        assert_eq!(due(text, now).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn a_time_shortly_in_the_past_is_now_and_an_earlier_one_is_rejected() {
    assert_eq!(due("2026-08-05T11:47:01.858Z", NOW).as_deref(), Ok(NOW));
    assert_eq!(due("2026-08-05T11:47:01.857Z", NOW), Err(ScheduleError::Past));
    for text in ["2020-01-01T00:00:00Z", "2026-08-05", "0000-01-01", "today at 9am", "today at 12:30am"] {
        assert_eq!(due(text, NOW), Err(ScheduleError::Past), "{text}");
    }
}

#[test]
fn a_time_more_than_thirty_days_ahead_is_rejected() {
    for text in [
        "2026-09-04T11:52:01.859Z",
        "9999-12-31T23:59:59Z",
        "in 31 days",
        "in 5 weeks",
        "in 30 days and 1 second",
        "in 99999999999999999999999999 minutes",
        "in 9223372036854775807 weeks, 9223372036854775807 weeks",
    ] {
        assert_eq!(due(text, NOW), Err(ScheduleError::TooFar), "{text}");
    }
}

#[test]
fn other_texts_are_rejected_with_examples_of_accepted_texts() {
    let long = "in 1 minute and ".repeat(100);
    for text in [
        "",
        " ",
        "soon",
        "in",
        "in 5",
        "in minutes",
        "in five parsecs",
        "in 1.5 hours",
        "in -5 minutes",
        "in 5 minutes and",
        "in 1 month",
        "yesterday",
        "tomorrow at",
        "tomorrow at 9",
        "tomorrow at 13pm",
        "tomorrow at 0am",
        "tomorrow at 24:00",
        "tomorrow at 9:60",
        "tomorrow at 9:5",
        "tomorrow at 009:00",
        "tomorrow at 9am XYZ",
        "tomorrow at 9am UTC UTC",
        "tomorrow at 9am +2",
        "tomorrow at 9am +25:00",
        "tomorrow tomorrow",
        "next tomorrow",
        "9am",
        "next",
        "2026-02-30T00:00:00Z",
        "2026-13-01T00:00:00Z",
        "2026-8-5T00:00:00Z",
        "26-08-05T00:00:00Z",
        "2026-08-06T11",
        "2026-08-06T11:52:61Z",
        "2026-08-06T25:00:00Z",
        "2026-08-06T11:52:01Zjunk",
        "2026-08-06T11:52:01+02:0",
        "1785930721",
        "tomorrow\nat 9am",
        "mañana",
        "in 5 minutes\0",
        &long,
    ] {
        let error = due(text, NOW).unwrap_err();
        assert!(matches!(error, ScheduleError::Unreadable(_)), "{text:?}: {error}");
        assert!(error.to_string().contains("`tomorrow at 9am`"));
        assert!(error.to_string().chars().count() < 300);
    }
}

fn schedule_like() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("in".to_owned()),
        Just("next".to_owned()),
        Just("at".to_owned()),
        Just("tomorrow".to_owned()),
        Just("sunday".to_owned()),
        Just("pm".to_owned()),
        Just("ET".to_owned()),
        Just("weeks".to_owned()),
        Just("T".to_owned()),
        Just(":".to_owned()),
        Just("-".to_owned()),
        Just("+".to_owned()),
        "[0-9]{1,20}",
        " ",
    ];
    prop_oneof![
        prop::collection::vec(piece, 0..10).prop_map(|pieces| pieces.join(" ")),
        "(today|tomorrow|next mon|sun|[0-9]{4}-[01][0-9]-[0-3][0-9]) at [0-9]{1,2}:[0-5][0-9] (ET|PT|UTC|CEST|[+-][0-2][0-9]:00)",
        "in [0-9]{1,4} (s|min|hours|days|weeks)",
        any::<String>(),
    ]
}

proptest! {
    #[test]
    fn a_due_time_is_within_thirty_days_of_any_clock(text in schedule_like(), now_ms in prop_oneof![any::<i64>(), 0..4_000_000_000_000_i64]) {
        if let Ok(due_ms) = parse(&text, now_ms) {
            prop_assert!(due_ms >= now_ms);
            prop_assert!(due_ms <= now_ms.saturating_add(AHEAD_MAX_MS));
        }
    }

    #[test]
    fn iso_times_are_parsed_as_chrono_parses_them(due_ms in 1_785_930_721_858..1_785_930_721_858 + AHEAD_MAX_MS) {
        let text = DateTime::from_timestamp_millis(due_ms).unwrap().to_rfc3339();
        prop_assert_eq!(parse(&text, 1_785_930_721_858), Ok(due_ms));
    }

    #[test]
    fn local_times_of_the_united_states_convert_back_to_utc(utc_ms in 0..4_000_000_000_000_i64) {
        let zone = Zone::named("et").unwrap();
        let again_ms = zone.utc_ms(zone.wall_ms(utc_ms));
        // Only the second occurrence of the repeated hour converts to the first.
        prop_assert!(again_ms == utc_ms || again_ms == utc_ms - HOUR_MS);
    }
}

//! Parsing of `scheduled_at`: ISO 8601 or a few English forms. The result is the due time in milliseconds.
//!
//! Every form except for `now` and `in …` is a day, a time of that day, and a zone:
//!
//! - a day is `2026-08-05`, `today`, `tomorrow`, `Friday` or `next Friday`. `Friday` is the next one, or today if the
//!   time is in the future. `next Friday` is in the following week, which starts on Monday;
//! - a time is `9am`, `9:30 pm`, `17:30`, `17:30:05.250` or `noon`. Without a time, a date is at midnight and a word is
//!   at the current time of day;
//! - a zone is an offset such as `+02:00`, `UTC`, `GMT`, `CET`, `CEST`, `BST`, or an American name such as `ET`, `EST`
//!   or `EDT`. The default is UTC.
//!
//! This file has the grammar and the calculation of days. `zone.rs` converts local times to UTC.

use chrono::NaiveDate;

use super::excerpt::excerpt;
use zone::Zone;

#[cfg(test)]
mod tests;
mod zone;

const SECOND_MS: i64 = 1_000;
const MINUTE_MS: i64 = 60 * SECOND_MS;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const DAY_MS: i64 = 24 * HOUR_MS;

/// Maximum time between now and the due time.
pub const AHEAD_MAX_MS: i64 = 30 * DAY_MS;
/// Maximum age of a due time that still means immediately, because clocks differ and requests take time.
pub const PAST_MAX_MS: i64 = 5 * MINUTE_MS;
/// Maximum length of the text. All accepted forms are shorter.
const TEXT_BYTES_MAX: usize = 100;

/// Returns the due time in UTC milliseconds, at least `now_ms` and at most 30 days later.
///
/// # Errors
/// [`ScheduleError`] if the text has no accepted form or the time is out of range.
pub fn parse(text: &str, now_ms: i64) -> Result<i64, ScheduleError> {
    let due_ms = read(text, now_ms).ok_or_else(|| ScheduleError::Unreadable(excerpt(text)))?;
    if due_ms < now_ms.saturating_sub(PAST_MAX_MS) {
        Err(ScheduleError::Past)
    } else if due_ms > now_ms.saturating_add(AHEAD_MAX_MS) {
        Err(ScheduleError::TooFar)
    } else {
        Ok(due_ms.max(now_ms))
    }
}

fn read(text: &str, now_ms: i64) -> Option<i64> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    let text = text.to_ascii_lowercase();
    let tokens = tokens(&text)?;
    match tokens.as_slice() {
        [Word("now")] => Some(now_ms),
        [Word("in"), duration @ ..] | [duration @ .., Word("from"), Word("now")] => {
            Some(now_ms.saturating_add(duration_ms(duration)?))
        }
        tokens => {
            let (day, time_ms, zone) = day_and_time(tokens)?;
            Some(resolve(day, time_ms, zone, now_ms))
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Number(&'a str),
    Word(&'a str),
    Sign(char),
}

use Token::{Number, Sign, Word};

/// Splits a lower-case text at spaces and between letters, digits and signs, so that `5min` equals `5 min`.
fn tokens(text: &str) -> Option<Vec<Token<'_>>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let same_kind: fn(char) -> bool = match first {
            '0'..='9' => |c| c.is_ascii_digit(),
            'a'..='z' => |c| c.is_ascii_lowercase(),
            ' ' => |c| c == ' ',
            ':' | '+' | '-' | '.' | ',' => {
                tokens.push(Sign(first));
                rest = &rest[1..];
                continue;
            }
            _ => return None,
        };
        let (run, after) = rest.split_at(rest.find(|c| !same_kind(c)).unwrap_or(rest.len()));
        match first {
            '0'..='9' => tokens.push(Number(run)),
            ' ' => {}
            _ => tokens.push(Word(run)),
        }
        rest = after;
    }
    Some(tokens)
}

/// `5 min`, `an hour`, `1 hour and 30 minutes`. A number that is too large saturates, because both are out of range.
fn duration_ms(tokens: &[Token<'_>]) -> Option<i64> {
    let mut total_ms: i64 = 0;
    let mut rest = tokens;
    loop {
        let [count, Word(unit), after @ ..] = rest else {
            return None;
        };
        let count = match count {
            Number(digits) => digits.parse().unwrap_or(i64::MAX),
            Word(word) => count_in_words(word)?,
            Sign(_) => return None,
        };
        total_ms = total_ms.saturating_add(count.saturating_mul(unit_ms(unit)?));
        rest = match after {
            [] => return Some(total_ms),
            [Sign(','), Word("and"), more @ ..] | [Sign(',') | Word("and"), more @ ..] => more,
            more => more,
        };
    }
}

fn count_in_words(word: &str) -> Option<i64> {
    Some(match word {
        "a" | "an" | "one" => 1,
        "two" => 2,
        "three" => 3,
        "four" => 4,
        "five" => 5,
        "six" => 6,
        "seven" => 7,
        "eight" => 8,
        "nine" => 9,
        "ten" => 10,
        _ => return None,
    })
}

fn unit_ms(unit: &str) -> Option<i64> {
    Some(match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => SECOND_MS,
        "m" | "min" | "mins" | "minute" | "minutes" => MINUTE_MS,
        "h" | "hr" | "hrs" | "hour" | "hours" => HOUR_MS,
        "d" | "day" | "days" => DAY_MS,
        "w" | "wk" | "wks" | "week" | "weeks" => 7 * DAY_MS,
        _ => return None,
    })
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Day {
    /// Days since 1970-01-01.
    Date(i64),
    Today,
    Tomorrow,
    /// Days after Monday.
    Weekday(i64),
    WeekdayOfNextWeek(i64),
}

/// `<day> [at] <time> [zone]`, `<day>`, or `[at] <time> [zone] [on] <day>`.
fn day_and_time(tokens: &[Token<'_>]) -> Option<(Day, Option<i64>, Zone)> {
    if let Some((day, rest)) = day(skip(tokens, Word("on"))) {
        let rest = match (day, rest) {
            (_, []) => return Some((day, None, Zone::UTC)),
            // The `T` of ISO 8601.
            (Day::Date(_), [Word("t"), rest @ ..]) => rest,
            (_, rest) => skip(skip(rest, Sign(',')), Word("at")),
        };
        let (time_ms, rest) = time_of_day(rest)?;
        let (zone, rest) = zone(rest)?;
        rest.is_empty().then_some((day, Some(time_ms), zone))
    } else {
        let (time_ms, rest) = time_of_day(skip(tokens, Word("at")))?;
        let (zone, rest) = zone(rest)?;
        let (day, rest) = day(skip(skip(rest, Sign(',')), Word("on")))?;
        rest.is_empty().then_some((day, Some(time_ms), zone))
    }
}

fn skip<'t, 'a>(tokens: &'t [Token<'a>], unwanted: Token<'_>) -> &'t [Token<'a>] {
    match tokens {
        [first, rest @ ..] if *first == unwanted => rest,
        tokens => tokens,
    }
}

fn day<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(Day, &'t [Token<'a>])> {
    Some(match tokens {
        [Number(year), Sign('-'), Number(month), Sign('-'), Number(day), rest @ ..] => {
            let date = NaiveDate::from_ymd_opt(digits(year, 4)?.try_into().ok()?, digits(month, 2)?, digits(day, 2)?)?;
            (Day::Date(days_since_epoch(date)), rest)
        }
        [Word("today"), rest @ ..] => (Day::Today, rest),
        [Word("tomorrow"), rest @ ..] => (Day::Tomorrow, rest),
        [Word("next"), Word(name), rest @ ..] => (Day::WeekdayOfNextWeek(weekday(name)?), rest),
        [Word("this"), Word(name), rest @ ..] | [Word(name), rest @ ..] => (Day::Weekday(weekday(name)?), rest),
        _ => return None,
    })
}

fn weekday(name: &str) -> Option<i64> {
    Some(match name {
        "monday" | "mon" => 0,
        "tuesday" | "tue" | "tues" => 1,
        "wednesday" | "wed" => 2,
        "thursday" | "thu" | "thur" | "thurs" => 3,
        "friday" | "fri" => 4,
        "saturday" | "sat" => 5,
        "sunday" | "sun" => 6,
        _ => return None,
    })
}

/// Parses a time as milliseconds since midnight. A number such as `9` alone is rejected, because it is
/// ambiguous.
fn time_of_day<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(i64, &'t [Token<'a>])> {
    let (hour, past_hour_ms, rest) = match tokens {
        [Word("noon"), rest @ ..] => return Some((12 * HOUR_MS, rest)),
        [Number(hour), Word("am" | "pm"), ..] => (hour, 0, &tokens[1..]),
        [Number(hour), Sign(':'), Number(minute), Sign(':'), Number(second), rest @ ..] => {
            let (fraction_ms, rest) = match rest {
                [Sign('.' | ','), Number(fraction), rest @ ..] => (fraction_ms(fraction)?, rest),
                rest => (0, rest),
            };
            (hour, sixtieths(minute)? * MINUTE_MS + sixtieths(second)? * SECOND_MS + fraction_ms, rest)
        }
        [Number(hour), Sign(':'), Number(minute), rest @ ..] => (hour, sixtieths(minute)? * MINUTE_MS, rest),
        _ => return None,
    };
    if hour.len() > 2 {
        return None;
    }
    let hour: i64 = hour.parse().ok()?;
    let (hour, rest) = match rest {
        [Word("am"), rest @ ..] if (1..=12).contains(&hour) => (hour % 12, rest),
        [Word("pm"), rest @ ..] if (1..=12).contains(&hour) => (hour % 12 + 12, rest),
        [Word("am" | "pm"), ..] => return None,
        rest => (hour, rest),
    };
    (hour < 24).then_some((hour * HOUR_MS + past_hour_ms, rest))
}

/// Parses a number of exactly `count` digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    if text.len() == count { text.parse().ok() } else { None }
}

fn sixtieths(text: &str) -> Option<i64> {
    digits(text, 2).filter(|&n| n < 60).map(i64::from)
}

/// Parses the decimals of a second as milliseconds. Further digits are ignored.
fn fraction_ms(text: &str) -> Option<i64> {
    format!("{text:0<3}").get(..3)?.parse().ok()
}

/// Parses a zone. The default is UTC.
fn zone<'t, 'a>(tokens: &'t [Token<'a>]) -> Option<(Zone, &'t [Token<'a>])> {
    let (sign, hours, minutes, rest) = match tokens {
        [Word(name), rest @ ..] => match Zone::named(name) {
            Some(zone) => return Some((zone, rest)),
            None => return Some((Zone::UTC, tokens)),
        },
        [Sign(sign @ ('+' | '-')), Number(hours), Sign(':'), Number(minutes), rest @ ..] => {
            (*sign, *hours, *minutes, rest)
        }
        [Sign(sign @ ('+' | '-')), Number(both), rest @ ..] => {
            let (hours, minutes) = both.split_at_checked(2)?;
            (*sign, hours, if minutes.is_empty() { "00" } else { minutes }, rest)
        }
        _ => return Some((Zone::UTC, tokens)),
    };
    let ahead_ms = i64::from(digits(hours, 2).filter(|&n| n < 24)?) * HOUR_MS + sixtieths(minutes)? * MINUTE_MS;
    Some((Zone::Fixed { ahead_ms: if sign == '-' { -ahead_ms } else { ahead_ms } }, rest))
}

fn days_since_epoch(date: NaiveDate) -> i64 {
    i64::from(date.to_epoch_days())
}

fn resolve(day: Day, time_ms: Option<i64>, zone: Zone, now_ms: i64) -> i64 {
    let wall_ms = zone.wall_ms(now_ms);
    let today = wall_ms.div_euclid(DAY_MS);
    // 1970-01-01 was a Thursday, three days after a Monday.
    let weekday_today = (today + 3).rem_euclid(7);

    let time_or_this_ms = time_ms.unwrap_or(wall_ms.rem_euclid(DAY_MS));
    let on = |day: i64, time_ms: i64| zone.utc_ms(day.saturating_mul(DAY_MS).saturating_add(time_ms));
    match day {
        Day::Date(day) => on(day, time_ms.unwrap_or(0)),
        Day::Today => on(today, time_or_this_ms),
        Day::Tomorrow => on(today + 1, time_or_this_ms),
        Day::Weekday(weekday) => {
            let ahead = (weekday - weekday_today).rem_euclid(7);
            let due_ms = on(today + ahead, time_or_this_ms);
            if ahead == 0 && (time_ms.is_none() || due_ms < now_ms.saturating_sub(PAST_MAX_MS)) {
                on(today + 7, time_or_this_ms)
            } else {
                due_ms
            }
        }
        Day::WeekdayOfNextWeek(weekday) => on(today - weekday_today + 7 + weekday, time_or_this_ms),
    }
}

/// Failure to parse `scheduled_at`.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ScheduleError {
    /// The text has no accepted form. Contains an excerpt of it.
    #[error(
        "`{0}` is not a time; write ISO 8601 such as `2026-08-05T11:52:01Z`, or English such as `in 1 min`, `in 2 days`, `tomorrow at 9am` or `Friday at 3pm ET` (UTC where no zone is named)"
    )]
    Unreadable(String),
    #[error("the time has passed; give one from now to 30 days ahead")]
    Past,
    #[error("the time is too far away; give one at most 30 days ahead")]
    TooFar,
}

//! Values of query parameters.

use salvo::Request;

use crate::base::clock::TimestampMs;
use crate::base::id::Id;
use crate::http::{ApiError, ApiResult, query_value};

/// Returns the text of a parameter; `None` if it is absent or empty.
///
/// # Errors
/// 422 if it is given more than once.
pub(super) fn text<'r>(req: &'r Request, name: &str) -> ApiResult<Option<&'r str>> {
    Ok(query_value(req, name)?.filter(|text| !text.is_empty()))
}

/// Returns the id of a parameter.
///
/// # Errors
/// 422 if it is no id.
pub(super) fn id<R>(req: &Request, name: &str) -> ApiResult<Option<Id<R>>> {
    let parse =
        |text: &str| Id::parse(text).ok_or_else(|| ApiError::validation(format!("The `{name}` must be a valid UUID.")));
    text(req, name)?.map(parse).transpose()
}

/// Returns whether a parameter is `1` or `true`.
///
/// # Errors
/// 422 for any other value than these, `0` and `false`.
pub(super) fn flag(req: &Request, name: &str) -> ApiResult<Option<bool>> {
    let parse = |text: &str| match text {
        "1" | "true" => Ok(true),
        "0" | "false" => Ok(false),
        _ => Err(ApiError::validation(format!("The `{name}` must be `1` or `0`."))),
    };
    text(req, name)?.map(parse).transpose()
}

/// Returns the number of rows of a page.
///
/// # Errors
/// 422 outside of 1 to `max`.
pub(super) fn limit(req: &Request, default: usize, max: usize) -> ApiResult<usize> {
    let parse = |text: &str| {
        let number = text.parse().ok().filter(|number| (1..=max).contains(number));
        number.ok_or_else(|| ApiError::validation(format!("The `limit` must be a number from 1 to {max}.")))
    };
    Ok(text(req, "limit")?.map(parse).transpose()?.unwrap_or(default))
}

/// Returns a time: a date of ISO 8601, or a date and time.
///
/// # Errors
/// 422 for any other text.
pub(super) fn time(req: &Request, name: &str) -> ApiResult<Option<TimestampMs>> {
    let parse = |text: &str| {
        parse_time(text).ok_or_else(|| {
            ApiError::validation(format!("The `{name}` must be a time such as `2026-01-31T09:00:00Z`, or a date."))
        })
    };
    text(req, name)?.map(parse).transpose()
}

fn parse_time(text: &str) -> Option<TimestampMs> {
    if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text) {
        return Some(time.timestamp_millis());
    }
    let date = chrono::NaiveDate::parse_from_str(text, "%Y-%m-%d").ok()?;
    Some(date.and_hms_opt(0, 0, 0)?.and_utc().timestamp_millis())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_a_date_or_a_date_and_time() {
        for (text, expected) in [
            ("2026-01-05T09:12:33.456Z", Some(1_767_604_353_456)),
            ("2026-01-05T10:12:33.456+01:00", Some(1_767_604_353_456)),
            ("2026-01-05", Some(1_767_571_200_000)),
            ("yesterday", None),
            ("1767604353456", None),
        ] {
            assert_eq!(parse_time(text), expected, "{text}");
        }
    }
}

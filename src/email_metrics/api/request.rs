//! The query parameters of the metrics.

use jiff::Timestamp;
use jiff::civil::{Date, DateTime};
use jiff::tz::TimeZone;
use salvo::extract::Metadata;
use salvo::oapi::{Components, EndpointArgRegister, Object, Operation};
use salvo::{Depot, Extractible, Request};

use super::response::ReportedMetric;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, TeamId};
use crate::base::words::words;
use crate::email_metrics::periods::Granularity;
use crate::email_metrics::report::{GroupBy, MetricsQuery};
use crate::http::{ApiError, declare_query, declare_query_list, query_value, schema};

/// Ids of a filter.
const IDS_MAX: usize = 100;
/// Length of a range, in days.
const RANGE_DAYS_MAX: i64 = 3_653;
/// Days of a range without a start.
const RANGE_DAYS_DEFAULT: i64 = 6;
/// Items of a list parameter.
const ITEMS_MAX: usize = 200;
/// Bytes of a time or of the name of a time zone.
const TEXT_BYTES_MAX: usize = 64;

/// The parameters with their descriptions.
const PARAMETERS: [(&str, &str); 9] = [
    (
        "start_date",
        "Start of the range: a date, which begins at midnight in `timezone`, or a time. Six days before the end by default.",
    ),
    (
        "end_date",
        "End of the range, excluding it: a date or a time. A time in the future is replaced by the current time. Now by default.",
    ),
    ("timezone", "IANA name of the time zone of the periods, such as `America/New_York`. `UTC` by default."),
    ("granularity", "Length of a period: `hourly`, `daily`, `weekly` or `monthly`. `daily` by default."),
    ("metrics", "Metrics of the response, separated by commas. All except `prefetched` by default."),
    (
        "dimensions",
        "Dimensions of the rows, separated by commas: `period`, `domain`, `email`, `broadcast`. None by default.",
    ),
    ("domain_id", "Only these domains: up to 100 ids, separated by commas."),
    ("email_id", "Only these emails: up to 100 ids, separated by commas."),
    ("broadcast_id", "Only these broadcasts: up to 100 ids, separated by commas."),
];

words! {
    /// A dimension of the rows.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) enum Dimension {
        Period = "period",
        Domain = "domain",
        Email = "email",
        Broadcast = "broadcast",
    } with ALL
}

/// The parts of a report that the response shows.
#[derive(Debug)]
pub(super) struct ShownMetrics {
    /// End of the range, at most the time of the request.
    pub(super) end_ms: TimestampMs,
    pub(super) metrics: Vec<ReportedMetric>,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) granularity: Granularity,
}

/// The parameters as they were sent.
#[derive(Debug, Default)]
pub(super) struct MetricsParameters {
    start: Option<String>,
    end: Option<String>,
    zone: Option<String>,
    granularity: Option<String>,
    metrics: Vec<String>,
    dimensions: Vec<String>,
    domains: Vec<String>,
    emails: Vec<String>,
    broadcasts: Vec<String>,
}

impl<'ex> Extractible<'ex> for MetricsParameters {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("MetricsParameters");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let text = |name: &str| Ok::<_, ApiError>(query_value(req, name)?.map(str::to_owned));
        Ok(Self {
            start: text("start_date")?,
            end: text("end_date")?,
            zone: text("timezone")?,
            granularity: text("granularity")?,
            metrics: items(req, "metrics")?,
            dimensions: items(req, "dimensions")?,
            domains: items(req, "domain_id")?,
            emails: items(req, "email_id")?,
            broadcasts: items(req, "broadcast_id")?,
        })
    }
}

impl EndpointArgRegister for MetricsParameters {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        for (name, about) in PARAMETERS {
            let list = match name {
                "metrics" => Some((one_of(ReportedMetric::ALL, |item| item.as_str()), ITEMS_MAX)),
                "dimensions" => Some((one_of(&Dimension::ALL, |item| item.as_str()), ITEMS_MAX)),
                "domain_id" | "email_id" | "broadcast_id" => Some((schema::uuid(), IDS_MAX)),
                _ => None,
            };
            match list {
                Some((items, items_max)) => declare_query_list(operation, name, about, items, items_max),
                None if name == "granularity" => {
                    let lengths = one_of(&Granularity::ALL, |item| item.as_str());
                    declare_query(operation, name, about, lengths);
                }
                None => declare_query(operation, name, about, schema::text()),
            }
        }
    }
}

/// Returns the schema of a text that is one of these names.
fn one_of<T>(all: &'static [T], name_of: fn(&T) -> &'static str) -> Object {
    schema::text().enum_values(all.iter().map(name_of))
}

/// Returns the items of a parameter that is a list with commas, given more than once, or both.
fn items(req: &Request, name: &str) -> Result<Vec<String>, ApiError> {
    let values = req.queries().get_vec(name).map(Vec::as_slice).unwrap_or_default();
    let items = values.iter().flat_map(|value| value.split(',')).map(str::trim).filter(|item| !item.is_empty());
    let items: Vec<String> = items.take(ITEMS_MAX + 1).map(str::to_owned).collect();
    if items.len() > ITEMS_MAX {
        return Err(ApiError::validation(format!("The `{name}` parameter has more than {ITEMS_MAX} items.")));
    }
    Ok(items)
}

impl MetricsParameters {
    /// Checks the parameters of a request of a team at `now_ms`.
    ///
    /// # Errors
    /// 422 for the first invalid parameter.
    pub(super) fn parse(self, team: TeamId, now_ms: TimestampMs) -> Result<(MetricsQuery, ShownMetrics), ApiError> {
        let zone = self.zone()?;
        let (start_ms, end_ms) = self.range(&zone, now_ms)?;
        // A range that ends now includes the events of this millisecond.
        let until_ms = if end_ms == now_ms { end_ms.saturating_add(1) } else { end_ms };
        let granularity = match &self.granularity {
            Some(text) => *known(&Granularity::ALL, |item| item.as_str(), "granularity", text)?,
            None => Granularity::Daily,
        };
        let mut metrics = choices(ReportedMetric::ALL, |item| item.as_str(), "metrics", &self.metrics)?;
        if metrics.is_empty() {
            metrics = ReportedMetric::defaults();
        }
        let dimensions = choices(&Dimension::ALL, |item| item.as_str(), "dimensions", &self.dimensions)?;
        let has = |dimension| dimensions.contains(&dimension);
        let (of_email, of_broadcast) = (
            has(Dimension::Email) || !self.emails.is_empty(),
            has(Dimension::Broadcast) || !self.broadcasts.is_empty(),
        );
        if of_email && of_broadcast {
            return Err(ApiError::validation(
                "The `email` dimension and `email_id` cannot be combined with the `broadcast` dimension or `broadcast_id`.",
            ));
        }
        if has(Dimension::Email) && self.emails.is_empty() {
            return Err(ApiError::validation("The `email` dimension needs `email_id`, with up to 100 ids of emails."));
        }
        let query = MetricsQuery {
            team,
            start_ms,
            end_ms: until_ms,
            zone,
            granularity: has(Dimension::Period).then_some(granularity),
            group_by: GroupBy {
                domain: has(Dimension::Domain),
                email: has(Dimension::Email),
                broadcast: has(Dimension::Broadcast),
            },
            domains: ids("domain_id", &self.domains)?,
            emails: ids("email_id", &self.emails)?,
            broadcasts: ids("broadcast_id", &self.broadcasts)?,
        };
        Ok((query, ShownMetrics { end_ms, metrics, dimensions, granularity }))
    }

    fn zone(&self) -> Result<TimeZone, ApiError> {
        let Some(name) = &self.zone else { return Ok(TimeZone::UTC) };
        let zone = if name.len() <= TEXT_BYTES_MAX { TimeZone::get(name).ok() } else { None };
        zone.ok_or_else(|| {
            ApiError::validation("The `timezone` must be the IANA name of a time zone, such as `America/New_York`.")
        })
    }

    /// Returns the start and the end.
    fn range(&self, zone: &TimeZone, now_ms: TimestampMs) -> Result<(TimestampMs, TimestampMs), ApiError> {
        let end = self.end.as_deref().map(|text| time("end_date", text, zone)).transpose()?;
        let end = end.map_or(now_ms, |end| end.min(now_ms));
        let start = self.start.as_deref().map(|text| time("start_date", text, zone)).transpose()?;
        let start = start.unwrap_or_else(|| end.saturating_sub(RANGE_DAYS_DEFAULT * DAY_MS));
        if start > end {
            return Err(ApiError::validation("The `start_date` must be on or before the `end_date`."));
        }
        if end.saturating_sub(start) > RANGE_DAYS_MAX * DAY_MS {
            return Err(ApiError::validation("The range from `start_date` to `end_date` may have at most 10 years."));
        }
        Ok((start, end))
    }
}

/// Parses a date, which is its start in the time zone, or a time with or without an offset.
fn time(name: &str, text: &str, zone: &TimeZone) -> Result<TimestampMs, ApiError> {
    let local = |time: DateTime| zone.to_timestamp(time).ok();
    let parsed = match text.len() {
        10 => text.parse::<Date>().ok().and_then(|date| local(date.at(0, 0, 0, 0))),
        0..=TEXT_BYTES_MAX => {
            let at = text.parse::<Timestamp>().ok();
            at.or_else(|| text.parse::<DateTime>().ok().and_then(local))
        }
        _ => None,
    };
    let invalid = || {
        ApiError::validation(format!(
            "The `{name}` must be a date such as `2026-07-01` or a time such as `2026-07-01T00:00:00Z`."
        ))
    };
    Ok(parsed.ok_or_else(invalid)?.as_millisecond())
}

/// Returns the items of a list of names, each once.
fn choices<T: Copy + PartialEq>(
    all: &'static [T],
    name_of: fn(&T) -> &'static str,
    parameter: &str,
    names: &[String],
) -> Result<Vec<T>, ApiError> {
    let mut chosen = Vec::new();
    for name in names {
        let item = *known(all, name_of, parameter, name)?;
        if !chosen.contains(&item) {
            chosen.push(item);
        }
    }
    Ok(chosen)
}

fn known<T>(
    all: &'static [T],
    name_of: fn(&T) -> &'static str,
    parameter: &str,
    name: &str,
) -> Result<&'static T, ApiError> {
    all.iter().find(|item| name_of(item) == name).ok_or_else(|| {
        let names: Vec<&str> = all.iter().map(name_of).collect();
        ApiError::validation(format!("The `{parameter}` parameter may contain `{}`.", names.join("`, `")))
    })
}

fn ids<R>(name: &str, texts: &[String]) -> Result<Vec<Id<R>>, ApiError> {
    if texts.len() > IDS_MAX {
        return Err(ApiError::validation(format!("The `{name}` parameter may contain up to {IDS_MAX} ids.")));
    }
    let mut ids: Vec<Id<R>> = Vec::with_capacity(texts.len());
    for text in texts {
        let id = Id::parse(text);
        let id = id.ok_or_else(|| ApiError::validation(format!("Each `{name}` must be a valid UUID.")))?;
        if !ids.contains(&id) {
            ids.push(id);
        }
    }
    Ok(ids)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const NOW: &str = "2026-07-10T12:34:56.789Z";

    fn ms(text: &str) -> TimestampMs {
        text.parse::<Timestamp>().unwrap().as_millisecond()
    }

    fn range(start: Option<&str>, end: Option<&str>, zone: &str) -> Option<(TimestampMs, TimestampMs)> {
        let parameters = MetricsParameters {
            start: start.map(str::to_owned),
            end: end.map(str::to_owned),
            zone: Some(zone.to_owned()),
            ..MetricsParameters::default()
        };
        let (query, shown) = parameters.parse(Id::MIN, ms(NOW)).ok()?;
        Some((query.start_ms, shown.end_ms))
    }

    #[test]
    fn a_range_ends_now_and_has_six_days_by_default() {
        let defaults = (ms("2026-07-04T12:34:56.789Z"), ms(NOW));

        assert_eq!(range(None, None, "UTC"), Some(defaults));
        assert_eq!(range(None, Some("2027-01-01"), "UTC"), Some(defaults), "the end is not in the future");
        assert_eq!(
            range(None, Some("2026-07-08"), "UTC"),
            Some((ms("2026-07-02T00:00:00Z"), ms("2026-07-08T00:00:00Z")))
        );
    }

    #[test]
    fn a_date_begins_at_midnight_of_the_time_zone() {
        let expected = (ms("2026-07-01T04:00:00Z"), ms("2026-07-08T04:00:00Z"));
        assert_eq!(range(Some("2026-07-01"), Some("2026-07-08"), "America/New_York"), Some(expected));
        let local = range(Some("2026-07-01T00:00:00"), Some("2026-07-08T00:00:00-04:00"), "America/New_York");
        assert_eq!(local, Some(expected));
    }

    #[test]
    fn an_invalid_range_is_refused() {
        for (start, end, zone) in [
            (Some("2026-07-09"), Some("2026-07-08"), "UTC"),
            (Some("2026-08-01"), None, "UTC"),
            (Some("2016-01-01"), None, "UTC"),
            (Some("2026-02-30"), None, "UTC"),
            (Some("yesterday"), None, "UTC"),
            (Some(""), None, "UTC"),
            (None, None, "Mars/Olympus"),
            (None, None, "../../etc/passwd"),
        ] {
            assert_eq!(range(start, end, zone), None, "{start:?} {end:?} {zone}");
        }
    }

    #[test]
    fn the_lists_and_their_items_are_declared() {
        let mut operation = Operation::new();
        MetricsParameters::register(&mut Components::new(), &mut operation, "");
        let declared = serde_json::to_value(&operation.parameters).unwrap();
        let of = |name: &str| declared.as_array().unwrap().iter().find(|it| it["name"] == name).unwrap().clone();

        let dimensions = of("dimensions");
        assert_eq!((&dimensions["style"], &dimensions["explode"]), (&json!("form"), &json!(false)));
        let names = json!({ "type": "string", "enum": ["period", "domain", "email", "broadcast"] });
        assert_eq!(dimensions["schema"], json!({ "type": "array", "items": names, "maxItems": ITEMS_MAX }));
        let ids = json!({ "type": "array", "items": { "type": "string", "format": "uuid" }, "maxItems": IDS_MAX });
        assert_eq!(of("email_id")["schema"], ids);
        assert_eq!(of("start_date")["schema"], json!({ "type": "string" }));
    }

    #[test]
    fn emails_and_broadcasts_are_not_combined() {
        let id = "01932b1e-7a10-7000-8000-000000000001".to_owned();
        let of = |dimensions: &[&str], emails: usize, broadcasts: usize| {
            let parameters = MetricsParameters {
                dimensions: dimensions.iter().map(|name| (*name).to_owned()).collect(),
                emails: vec![id.clone(); emails],
                broadcasts: vec![id.clone(); broadcasts],
                ..MetricsParameters::default()
            };
            parameters.parse(Id::MIN, ms(NOW)).is_ok()
        };

        assert!(of(&["period", "domain", "broadcast"], 0, 1));
        assert!(of(&["period", "domain", "email"], 100, 0));
        assert!(!of(&["email"], 0, 0), "the emails are needed");
        assert!(!of(&["email"], 101, 0));
        assert!(!of(&["broadcast"], 1, 0));
        assert!(!of(&["email"], 1, 1));
        assert!(!of(&[], 1, 1));
        assert!(!of(&["country"], 0, 0));
    }
}

//! Filters in requests and responses.

use std::fmt;

use salvo::oapi::ToSchema;
use serde::de::{Error, IgnoredAny, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};

use super::condition::ConditionSchema;
use crate::http::schema::{TextUpTo, words_schema};
use crate::http::{ApiError, ApiResult, AtMost};
use crate::segments::filter::{CONDITIONS_MAX, ConditionText, Filter, FilterError, Match, VALUE_CHARS_MAX};

words_schema!(MatchWord = Match::ALL.map(Match::as_str));

/// A filter on the fields of contacts.
///
/// A filter without conditions matches every contact. Text comparisons are case-sensitive.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FilterRequest {
    /// `all` if every condition must be true, `any` if one is enough.
    #[serde(rename = "match")]
    #[salvo(schema(required = true, value_type = MatchWord))]
    matching: Option<String>,
    /// Up to 50 conditions.
    #[salvo(schema(required = true, value_type = AtMost<CONDITIONS_MAX, ConditionSchema>))]
    conditions: Option<ConditionsRequest>,
}

/// The conditions of a filter. Conditions beyond the bound are counted and not parsed.
#[derive(Debug)]
struct ConditionsRequest(AtMost<CONDITIONS_MAX, ConditionRequest>);

impl<'de> Deserialize<'de> for ConditionsRequest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ConditionsVisitor)
    }
}

struct ConditionsVisitor;

impl<'de> Visitor<'de> for ConditionsVisitor {
    type Value = ConditionsRequest;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<ConditionsRequest, A::Error> {
        let mut conditions = Vec::new();
        while conditions.len() < CONDITIONS_MAX {
            match seq.next_element()? {
                Some(condition) => conditions.push(condition),
                None => return Ok(ConditionsRequest(AtMost(conditions))),
            }
        }
        let mut count = conditions.len();
        while seq.next_element::<IgnoredAny>()?.is_some() {
            count += 1;
        }
        if count > CONDITIONS_MAX {
            return Err(A::Error::custom(FilterError::TooManyConditions(count)));
        }
        Ok(ConditionsRequest(AtMost(conditions)))
    }
}

/// One condition.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ConditionRequest {
    /// `email`, `first_name`, `last_name`, `unsubscribed`, `created_at`, or `property:` and the key of a property.
    #[salvo(schema(required = true, value_type = String))]
    field: Option<String>,
    /// For texts and properties: `equals`, `not_equals`, `contains`, `starts_with`, `ends_with`, `is_set` or
    /// `is_not_set`. For properties also `greater_than` or `less_than`, which compare numbers. For `unsubscribed`:
    /// `is_true` or `is_false`. For `created_at`: `before` or `after`.
    #[salvo(schema(required = true, value_type = String))]
    op: Option<String>,
    /// The value to compare with, up to 1,000 characters. Ignored if the operator needs no value.
    #[salvo(schema(value_type = Option<TextUpTo<VALUE_CHARS_MAX>>))]
    value: Option<String>,
}

impl FilterRequest {
    /// Parses the filter, which is in the field `filter` of a body.
    pub(crate) fn parse(self) -> ApiResult<Filter> {
        let Self { matching, conditions } = self;
        let word = matching.ok_or_else(|| ApiError::missing_field("filter.match"))?;
        let matching = Match::parse(&word).ok_or_else(|| {
            ApiError::validation(format!(
                "Invalid `filter.match` field: `{}` are accepted.",
                Match::ALL.map(Match::as_str).join("` and `")
            ))
        })?;
        let conditions = conditions.ok_or_else(|| ApiError::missing_field("filter.conditions"))?;
        let ConditionsRequest(AtMost(conditions)) = conditions;
        let conditions = conditions.into_iter().enumerate().map(|(index, condition)| condition.text(index));
        Ok(Filter::parse(matching, conditions.collect::<Result<_, _>>()?)?)
    }
}

impl ConditionRequest {
    fn text(self, index: usize) -> ApiResult<ConditionText> {
        let Self { field, op, value } = self;
        let missing = |part: &str| ApiError::missing_field(&format!("filter.conditions[{index}].{part}"));
        let field = field.ok_or_else(|| missing("field"))?;
        let op = op.ok_or_else(|| missing("op"))?;
        Ok(ConditionText { field, op, value })
    }
}

impl From<FilterError> for ApiError {
    fn from(error: FilterError) -> Self {
        Self::validation(format!("Invalid `filter.{}` field: {error}.", error.path()))
    }
}

/// A filter as given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct FilterResponse {
    /// `all` if every condition must be true, `any` if one is enough.
    #[serde(rename = "match")]
    #[salvo(schema(value_type = MatchWord))]
    matching: &'static str,
    /// The conditions.
    conditions: Vec<ConditionResponse>,
}

/// One condition as given.
#[derive(Debug, Serialize, ToSchema)]
pub(crate) struct ConditionResponse {
    /// The field.
    field: String,
    /// The operator.
    op: String,
    /// The value to compare with.
    value: Option<String>,
}

impl From<&Filter> for FilterResponse {
    fn from(filter: &Filter) -> Self {
        let respond = |condition: &ConditionText| {
            let ConditionText { field, op, value } = condition.clone();
            ConditionResponse { field, op, value }
        };
        Self { matching: filter.matching().as_str(), conditions: filter.conditions().map(respond).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::parse;

    fn read(raw: &str) -> ApiResult<Filter> {
        parse::<FilterRequest>(raw.as_bytes(), &[])?.parse()
    }

    #[test]
    fn a_filter_has_the_same_format_in_requests_and_responses() {
        for (given, returned) in [
            (r#"{"match":"all","conditions":[]}"#, r#"{"match":"all","conditions":[]}"#),
            (
                r#"{"conditions":[{"value":"a","op":"equals","field":"email"}],"match":"any"}"#,
                r#"{"match":"any","conditions":[{"field":"email","op":"equals","value":"a"}]}"#,
            ),
            (
                r#"{"match":"all","conditions":[{"field":"email","op":"is_set"}]}"#,
                r#"{"match":"all","conditions":[{"field":"email","op":"is_set","value":null}]}"#,
            ),
        ] {
            let filter = read(given).unwrap();

            assert_eq!(serde_json::to_string(&FilterResponse::from(&filter)).unwrap(), returned);
        }
    }

    #[test]
    fn conditions_beyond_the_bound_are_counted_and_not_parsed() {
        let many = |count, last| {
            let conditions = vec![r#"{"field":"email","op":"is_set"}"#; count].join(",");
            read(&format!(r#"{{"match":"all","conditions":[{conditions},{last}]}}"#))
        };
        let ok = r#"{"field":"email","op":"is_set"}"#;

        assert!(many(CONDITIONS_MAX - 1, ok).is_ok());
        for last in [ok, "5", r#"{"field":"nothing"}"#] {
            let error = many(CONDITIONS_MAX, last).unwrap_err();
            let message = "Invalid `conditions` field: there are 51 conditions; up to 50 are accepted.";
            assert_eq!((error.code.status(), error.message.as_str()), (422, message), "{last}");
        }
    }

    #[test]
    fn the_schema_contains_the_bound_of_the_conditions() {
        let mut components = salvo::oapi::Components::new();
        FilterRequest::to_schema(&mut components);

        let schemas = serde_json::to_string(&components).unwrap();

        assert!(schemas.contains(&format!("\"maxItems\":{CONDITIONS_MAX}")), "{schemas}");
    }

    #[test]
    fn every_error_names_the_field_of_the_body() {
        for (raw, message) in [
            ("{}", "Missing `filter.match` field."),
            (r#"{"match":"all"}"#, "Missing `filter.conditions` field."),
            (r#"{"match":"all","conditions":[{}]}"#, "Missing `filter.conditions[0].field` field."),
            (
                r#"{"match":"all","conditions":[{"field":"email","op":null}]}"#,
                "Missing `filter.conditions[0].op` field.",
            ),
            (r#"{"match":"some","conditions":[]}"#, "Invalid `filter.match` field: `all` and `any` are accepted."),
            (
                r#"{"match":"all","conditions":[{"field":"email","op":"equals","value":null}]}"#,
                "Invalid `filter.conditions[0].value` field: `equals` compares with a value; give a string.",
            ),
            (
                r#"{"match":"all","conditions":[{"field":"unsubscribed","op":"is_false"},{"field":"unsubscribed","op":"before","value":"x"}]}"#,
                "Invalid `filter.conditions[1].op` field: `before` is no operator of `unsubscribed`; it takes \
                 `is_true`, `is_false`.",
            ),
            (
                r#"{"match":"all","conditions":[{"field":"email","op":"equals","value":5}]}"#,
                "Invalid `conditions[0].value` field: invalid type: integer `5`, expected a string.",
            ),
            (
                r#"{"match":"all","conditions":[],"rules":[]}"#,
                "Invalid `rules` field: unknown field `rules`, expected `match` or `conditions`.",
            ),
        ] {
            let error = read(raw).unwrap_err();

            assert_eq!((error.code.status(), error.message.as_str()), (422, message), "{raw}");
        }
    }
}

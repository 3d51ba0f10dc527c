//! Tests of the grammar and the evaluation of filters.

mod deciding;
mod grammar;
mod properties;

use std::collections::BTreeMap;

use super::*;

/// A contact in memory.
#[derive(Clone, Debug)]
struct Subject {
    email: String,
    first_name: Option<String>,
    last_name: Option<String>,
    unsubscribed: bool,
    created_ms: TimestampMs,
    properties: BTreeMap<String, String>,
}

impl FilterSubject for Subject {
    fn email(&self) -> &str {
        &self.email
    }
    fn first_name(&self) -> Option<&str> {
        self.first_name.as_deref()
    }
    fn last_name(&self) -> Option<&str> {
        self.last_name.as_deref()
    }
    fn unsubscribed(&self) -> bool {
        self.unsubscribed
    }
    fn created_ms(&self) -> TimestampMs {
        self.created_ms
    }
    fn property(&self, key: &str) -> Option<&str> {
        self.properties.get(key).map(String::as_str)
    }
}

/// Returns a contact with every field; the last name is empty.
fn ada() -> Subject {
    let properties = [("plan", "pro"), ("seats", "4"), ("height", " 1.75 "), ("note", "100%_\\"), ("empty", "")];
    Subject {
        email: "Ada@Example.com".into(),
        first_name: Some("Ada".into()),
        last_name: Some(String::new()),
        unsubscribed: false,
        created_ms: 1_767_604_353_456, // 2026-01-05T09:12:33.456Z
        properties: properties.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    }
}

/// Returns a contact with only an address.
fn unnamed() -> Subject {
    Subject {
        email: "unnamed@example.com".into(),
        first_name: None,
        last_name: None,
        unsubscribed: true,
        created_ms: 0,
        properties: BTreeMap::new(),
    }
}

fn condition(field: &str, op: &str, value: Option<&str>) -> ConditionText {
    ConditionText { field: field.into(), op: op.into(), value: value.map(Into::into) }
}

fn filter(matching: Match, conditions: &[(&str, &str, Option<&str>)]) -> Filter {
    let conditions = conditions.iter().map(|(field, op, value)| condition(field, op, *value)).collect();
    Filter::parse(matching, conditions).unwrap()
}

fn one(field: &str, op: &str, value: Option<&str>) -> Filter {
    filter(Match::All, &[(field, op, value)])
}

fn refusal(field: &str, op: &str, value: Option<&str>) -> (String, String) {
    let error = Filter::parse(Match::All, vec![condition(field, op, value)]).unwrap_err();
    (error.path(), error.to_string())
}

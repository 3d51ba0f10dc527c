//! The grammar and the semantics of filters, as tables.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

/// A contact held in memory.
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

/// Ada has everything but a last name, which is empty.
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

/// Nobody has nothing but an address.
fn nobody() -> Subject {
    Subject {
        email: "nobody@example.com".into(),
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

#[test]
fn every_operator_of_every_field_decides_as_its_name_says() {
    let text = |field: &'static str, op, value, ada, nobody| (field, op, Some(value), ada, nobody);
    for (field, op, value, of_ada, of_nobody) in [
        text("email", "equals", "Ada@Example.com", true, false),
        text("email", "equals", "ada@example.com", false, false),
        text("email", "not_equals", "Ada@Example.com", false, true),
        text("email", "contains", "@Ex", true, false),
        text("email", "contains", "example", false, true),
        text("email", "contains", "", true, true),
        text("email", "starts_with", "Ada@", true, false),
        text("email", "ends_with", ".com", true, true),
        text("email", "ends_with", ".COM", false, false),
        ("email", "is_set", None, true, true),
        ("email", "is_not_set", None, false, false),
        text("first_name", "equals", "Ada", true, false),
        text("first_name", "equals", "", false, false),
        text("first_name", "not_equals", "Ada", false, true),
        text("first_name", "not_equals", "", true, true),
        text("first_name", "contains", "d", true, false),
        text("first_name", "starts_with", "A", true, false),
        text("first_name", "starts_with", "a", false, false),
        text("first_name", "ends_with", "a", true, false),
        ("first_name", "is_set", None, true, false),
        ("first_name", "is_not_set", None, false, true),
        text("last_name", "equals", "", true, false),
        text("last_name", "not_equals", "", false, true),
        text("last_name", "contains", "", true, false),
        text("last_name", "starts_with", "", true, false),
        text("last_name", "ends_with", "x", false, false),
        ("last_name", "is_set", None, false, false),
        ("last_name", "is_not_set", None, true, true),
        text("property:plan", "equals", "pro", true, false),
        text("property:Plan", "equals", "pro", false, false),
        text("property:plan", "not_equals", "pro", false, true),
        text("property:plan", "contains", "r", true, false),
        text("property:plan", "starts_with", "p", true, false),
        text("property:plan", "ends_with", "o", true, false),
        ("property:plan", "is_set", None, true, false),
        ("property:plan", "is_not_set", None, false, true),
        ("property:empty", "is_set", None, false, false),
        ("property:empty", "is_not_set", None, true, true),
        text("property:seats", "equals", "4", true, false),
        text("property:seats", "equals", "4.0", false, false),
        text("property:seats", "greater_than", "3.5", true, false),
        text("property:seats", "greater_than", "4", false, false),
        text("property:seats", "greater_than", "-1", true, false),
        text("property:seats", "less_than", "10", true, false),
        text("property:seats", "less_than", "4", false, false),
        text("property:height", "less_than", " 2e0 ", true, false),
        text("property:plan", "greater_than", "0", false, false),
        text("property:plan", "less_than", "0", false, false),
        text("property:empty", "less_than", "1", false, false),
        ("unsubscribed", "is_true", None, false, true),
        ("unsubscribed", "is_false", None, true, false),
        text("unsubscribed", "is_false", "ignored", true, false),
        text("created_at", "before", "2026-01-05T09:12:33.456Z", false, true),
        text("created_at", "before", "2026-01-05T09:12:33.457Z", true, true),
        text("created_at", "before", "2026-01-05", false, true),
        text("created_at", "after", "2026-01-05", true, false),
        text("created_at", "after", "2026-01-05T09:12:33.456Z", false, false),
        text("created_at", "after", "2026-01-05T10:12:33.455+01:00", true, false),
    ] {
        let filter = one(field, op, value);

        let decided = (filter.matches(&ada()), filter.matches(&nobody()));

        assert_eq!(decided, (of_ada, of_nobody), "{field} {op} {value:?}");
    }
}

#[test]
fn wildcards_and_escapes_of_other_languages_are_characters() {
    for (op, value, matches) in [
        ("contains", "%", true),
        ("contains", "0%_", true),
        ("contains", "1%0", false),
        ("contains", "1_0", false),
        ("starts_with", "%", false),
        ("starts_with", "100%", true),
        ("ends_with", "\\", true),
        ("ends_with", "_", false),
        ("equals", "100%_\\", true),
        ("equals", "%", false),
        ("equals", ".*", false),
        ("contains", "' OR '1'='1", false),
    ] {
        assert_eq!(one("property:note", op, Some(value)).matches(&ada()), matches, "{op} {value}");
    }
}

#[test]
fn all_and_any_join_the_conditions() {
    let yes = ("first_name", "equals", Some("Ada"));
    let no = ("email", "equals", Some("x"));
    for (conditions, all, any) in [
        (&[][..], true, true),
        (&[yes], true, true),
        (&[no], false, false),
        (&[yes, no], false, true),
        (&[no, yes], false, true),
        (&[yes, yes], true, true),
        (&[no, no], false, false),
    ] {
        assert_eq!(filter(Match::All, conditions).matches(&ada()), all, "all of {conditions:?}");
        assert_eq!(filter(Match::Any, conditions).matches(&ada()), any, "any of {conditions:?}");
    }
}

#[test]
fn every_refusal_names_the_place_and_what_is_accepted() {
    let text_ops = "`equals`, `not_equals`, `contains`, `starts_with`, `ends_with`, `is_set`, `is_not_set`";
    let fields = "is no field of a contact; `email`, `first_name`, `last_name`, `unsubscribed`, `created_at` and \
                  `property:<key>` are accepted";
    let date = "is no date; ISO 8601 is accepted, such as `2026-01-05` or `2026-01-05T09:12:33Z`";
    let number = "is no number; one such as `18` or `-2.5` is accepted";
    for (field, op, value, part, sentence) in [
        ("phone", "equals", Some("1"), "field", format!("`phone` {fields}")),
        ("Email", "equals", Some("1"), "field", format!("`Email` {fields}")),
        ("", "equals", Some("1"), "field", format!("`` {fields}")),
        ("properties:plan", "equals", Some("1"), "field", format!("`properties:plan` {fields}")),
        (
            "property:",
            "is_set",
            None,
            "field",
            "the key of a property follows `property:`, as in `property:plan`".into(),
        ),
        ("email", "matches", Some("1"), "op", format!("`matches` is no operator of `email`; it takes {text_ops}")),
        (
            "email",
            "greater_than",
            Some("1"),
            "op",
            format!("`greater_than` is no operator of `email`; it takes {text_ops}"),
        ),
        ("email", "", None, "op", format!("`` is no operator of `email`; it takes {text_ops}")),
        ("last_name", "is_true", None, "op", format!("`is_true` is no operator of `last_name`; it takes {text_ops}")),
        (
            "property:plan",
            "before",
            Some("2026-01-05"),
            "op",
            format!("`before` is no operator of `property:plan`; it takes {text_ops}, `greater_than`, `less_than`"),
        ),
        (
            "unsubscribed",
            "equals",
            Some("true"),
            "op",
            "`equals` is no operator of `unsubscribed`; it takes `is_true`, `is_false`".into(),
        ),
        (
            "created_at",
            "is_set",
            None,
            "op",
            "`is_set` is no operator of `created_at`; it takes `before`, `after`".into(),
        ),
        ("email", "equals", None, "value", "`equals` compares with a value; give a string".into()),
        ("property:a", "less_than", None, "value", "`less_than` compares with a value; give a string".into()),
        ("created_at", "before", None, "value", "`before` compares with a value; give a string".into()),
        ("created_at", "before", Some("soon"), "value", format!("`soon` {date}")),
        ("created_at", "after", Some(""), "value", format!("`` {date}")),
        ("property:a", "greater_than", Some("many"), "value", format!("`many` {number}")),
        ("property:a", "greater_than", Some("inf"), "value", format!("`inf` {number}")),
        ("property:a", "less_than", Some("NaN"), "value", format!("`NaN` {number}")),
    ] {
        let refused = refusal(field, op, value);

        assert_eq!(refused, (format!("conditions[0].{part}"), sentence), "{field} {op} {value:?}");
    }
}

#[test]
fn the_second_condition_is_named_as_such() {
    let conditions = vec![condition("email", "is_set", None), condition("email", "is_true", None)];

    let error = Filter::parse(Match::Any, conditions).unwrap_err();

    assert_eq!(error.path(), "conditions[1].op");
}

#[test]
fn filters_have_bounds() {
    let many = |count| Filter::parse(Match::All, vec![condition("email", "is_set", None); count]);
    assert!(many(CONDITIONS_MAX).is_ok());
    let error = many(CONDITIONS_MAX + 1).unwrap_err();
    assert_eq!(
        (error.path(), error.to_string()),
        ("conditions".into(), "there are 51 conditions; up to 50 are accepted".into())
    );

    let value = |count| Filter::parse(Match::All, vec![condition("email", "equals", Some(&"é".repeat(count)))]);
    assert!(value(VALUE_CHARS_MAX).is_ok());
    assert_eq!(value(VALUE_CHARS_MAX + 1).unwrap_err().to_string(), "a value has at most 1000 characters");
    assert_eq!(refusal("email", "is_set", Some(&"x".repeat(1_001))).0, "conditions[0].value");

    let key =
        |count| Filter::parse(Match::All, vec![condition(&format!("property:{}", "é".repeat(count)), "is_set", None)]);
    assert!(key(KEY_CHARS_MAX).is_ok());
    assert_eq!(key(KEY_CHARS_MAX + 1).unwrap_err().to_string(), "the key of a property has 1 to 200 characters");
}

#[test]
fn a_long_or_broken_word_is_repeated_in_part() {
    let (_, sentence) = refusal(&format!("a\r\n{}", "b".repeat(5_000)), "equals", None);

    assert!(sentence.starts_with(&format!("`a{}…` is no field", "b".repeat(57))), "{sentence}");
}

#[test]
fn a_filter_is_stored_and_shown_as_it_was_given() {
    let given = [("created_at", "before", Some("2026-01-05T10:00+01:00")), ("email", "is_set", Some("ignored"))];
    let filter = filter(Match::Any, &given);

    let stored = serde_json::to_string(&filter).unwrap();
    let packed: Filter = rmp_serde::from_slice(&rmp_serde::to_vec_named(&filter).unwrap()).unwrap();

    assert_eq!(
        stored,
        r#"{"match":"any","conditions":[{"field":"created_at","op":"before","value":"2026-01-05T10:00+01:00"},{"field":"email","op":"is_set","value":"ignored"}]}"#
    );
    assert_eq!(serde_json::from_str::<Filter>(&stored).unwrap(), filter);
    assert_eq!(packed, filter);
    assert_eq!(filter.conditions().next().unwrap(), &condition("created_at", "before", given[0].2));
}

#[test]
fn a_stored_condition_that_breaks_the_grammar_is_corrupt() {
    for stored in [
        r#"{"match":"all","conditions":[{"field":"email","op":"is_true"}]}"#,
        r#"{"match":"none","conditions":[]}"#,
        r#"{"conditions":[]}"#,
    ] {
        assert!(serde_json::from_str::<Filter>(stored).is_err(), "{stored}");
    }
}

#[test]
fn the_words_of_match_are_read_and_printed() {
    for word in Match::WORDS {
        assert_eq!(Match::parse(word).unwrap().as_str(), word);
    }
    assert_eq!(Match::parse("ALL"), None);
}

fn subject() -> impl Strategy<Value = Subject> {
    let text = ".{0,6}";
    let name = proptest::option::of(text);
    let properties = proptest::collection::btree_map("[a-c%' ]{1,2}", "[0-9]{1,3}|.{0,4}", 0..4);
    (text, name.clone(), name, any::<bool>(), any::<i64>(), properties).prop_map(
        |(email, first_name, last_name, unsubscribed, created_ms, properties)| Subject {
            email,
            first_name,
            last_name,
            unsubscribed,
            created_ms,
            properties,
        },
    )
}

fn text_field() -> impl Strategy<Value = String> {
    "email|first_name|last_name|property:[a-c%' ]{1,2}"
}

proptest! {
    #[test]
    fn no_condition_panics_and_one_that_passes_prints_as_it_came(
        field in "email|created_at|unsubscribed|property:.{0,3}|.{0,12}",
        op in "[a-z_]{0,12}|equals|before|greater_than|is_set|is_true",
        value in proptest::option::of(".{0,30}"),
        subject in subject(),
    ) {
        let given = ConditionText { field, op, value };
        match Filter::parse(Match::All, vec![given.clone()]) {
            Ok(filter) => {
                filter.matches(&subject);
                prop_assert_eq!(filter.conditions().collect::<Vec<_>>(), vec![&given]);
                let stored = serde_json::to_string(&filter).unwrap();
                prop_assert_eq!(serde_json::from_str::<Filter>(&stored).unwrap(), filter);
            }
            Err(error) => prop_assert!(error.path().starts_with("conditions[0].") && error.to_string().len() < 500),
        }
    }

    #[test]
    fn a_negation_decides_the_other_way_for_everybody(
        field in text_field(), value in ".{0,3}", subject in subject(),
    ) {
        let decide = |field: &str, op, value| one(field, op, value).matches(&subject);

        prop_assert_ne!(decide(&field, "equals", Some(&*value)), decide(&field, "not_equals", Some(&*value)));
        prop_assert_ne!(decide(&field, "is_set", None), decide(&field, "is_not_set", None));
        prop_assert_ne!(decide("unsubscribed", "is_true", None), decide("unsubscribed", "is_false", None));
    }

    #[test]
    fn all_is_no_wider_than_any_and_both_agree_with_their_conditions(
        conditions in proptest::collection::vec((text_field(), ".{0,2}"), 1..5), subject in subject(),
    ) {
        let texts: Vec<_> = conditions.iter().map(|(field, value)| condition(field, "contains", Some(value))).collect();
        let each = texts.iter().map(|text| Filter::parse(Match::All, vec![text.clone()]).unwrap().matches(&subject));
        let each: Vec<bool> = each.collect();

        let all = Filter::parse(Match::All, texts.clone()).unwrap().matches(&subject);
        let any = Filter::parse(Match::Any, texts).unwrap().matches(&subject);

        prop_assert_eq!((all, any), (each.iter().all(|holds| *holds), each.iter().any(|holds| *holds)));
    }

    #[test]
    fn a_hostile_value_matches_only_itself(value in "['\"\\\\%_*?;(){}\u{0}-]{1,8}", subject in subject()) {
        let mut subject = Subject { email: value.clone(), ..subject };
        let longer = one("email", "equals", Some(&*format!("{value}x"))).matches(&subject);
        prop_assert!(!longer);
        subject.properties.insert(value.clone(), value.clone());
        let key = format!("property:{value}");
        for op in ["equals", "contains", "starts_with", "ends_with", "is_set"] {
            let matches = one(&key, op, Some(&*value)).matches(&subject);
            prop_assert!(matches, "{}", op);
        }
        subject.properties.remove(&value);
        let is_set = one(&key, "is_set", None).matches(&subject);
        prop_assert!(!is_set);
    }
}

//! Accepted and refused filters.

use super::*;
use crate::contact_properties::VALUE_KEY_CHARS_MAX;

#[test]
fn every_error_names_the_position_and_the_accepted_values() {
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
fn an_error_has_the_index_of_its_condition() {
    let conditions = vec![condition("email", "is_set", None), condition("email", "is_true", None)];

    let error = Filter::parse(Match::Any, conditions).unwrap_err();

    assert_eq!(error.path(), "conditions[1].op");
}

#[test]
fn conditions_values_and_keys_are_bounded() {
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
    assert!(key(VALUE_KEY_CHARS_MAX).is_ok());
    assert_eq!(key(VALUE_KEY_CHARS_MAX + 1).unwrap_err().to_string(), "the key of a property has 1 to 200 characters");
}

#[test]
fn an_error_contains_part_of_a_long_text_and_no_control_character() {
    let (_, sentence) = refusal(&format!("a\r\n{}", "b".repeat(5_000)), "equals", None);

    assert!(sentence.starts_with(&format!("`a{}…` is no field", "b".repeat(57))), "{sentence}");
}

#[test]
fn a_filter_is_stored_and_returned_as_given() {
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
fn the_words_of_match_are_parsed_and_written() {
    for word in Match::ALL.map(Match::as_str) {
        assert_eq!(Match::parse(word).unwrap().as_str(), word);
    }
    assert_eq!(Match::parse("ALL"), None);
}

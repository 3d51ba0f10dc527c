//! Evaluation of each operator on each field.

use super::*;

#[test]
fn every_operator_of_every_field_has_its_result() {
    let text = |field: &'static str, op, value, ada, unnamed| (field, op, Some(value), ada, unnamed);
    for (field, op, value, of_ada, of_unnamed) in [
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

        let matches = (filter.matches(&ada()), filter.matches(&unnamed()));

        assert_eq!(matches, (of_ada, of_unnamed), "{field} {op} {value:?}");
    }
}

#[test]
fn wildcards_and_escapes_are_plain_characters() {
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
fn all_and_any_combine_the_conditions() {
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

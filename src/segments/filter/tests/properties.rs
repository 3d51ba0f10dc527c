//! Properties of every filter and every contact.

use proptest::prelude::*;

use super::*;

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
    fn no_condition_panics_and_an_accepted_one_is_returned_as_given(
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
    fn a_negated_operator_has_the_opposite_result_for_every_contact(
        field in text_field(), value in ".{0,3}", subject in subject(),
    ) {
        let matches = |field: &str, op, value| one(field, op, value).matches(&subject);

        prop_assert_ne!(matches(&field, "equals", Some(&*value)), matches(&field, "not_equals", Some(&*value)));
        prop_assert_ne!(matches(&field, "is_set", None), matches(&field, "is_not_set", None));
        prop_assert_ne!(matches("unsubscribed", "is_true", None), matches("unsubscribed", "is_false", None));
    }

    #[test]
    fn all_and_any_agree_with_the_single_conditions(
        conditions in proptest::collection::vec((text_field(), ".{0,2}"), 1..5), subject in subject(),
    ) {
        let texts: Vec<_> = conditions.iter().map(|(field, value)| condition(field, "contains", Some(value))).collect();
        let each = texts.iter().map(|text| Filter::parse(Match::All, vec![text.clone()]).unwrap().matches(&subject));
        let each: Vec<bool> = each.collect();

        let all = Filter::parse(Match::All, texts.clone()).unwrap().matches(&subject);
        let any = Filter::parse(Match::Any, texts).unwrap().matches(&subject);

        prop_assert_eq!((all, any), (each.iter().all(|matches| *matches), each.iter().any(|matches| *matches)));
    }

    #[test]
    fn a_value_with_special_characters_matches_only_itself(value in "['\"\\\\%_*?;(){}\u{0}-]{1,8}", subject in subject()) {
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

use proptest::prelude::*;
use salvo::oapi::{Components, ToSchema};

use super::*;

/// Parses headers without opt-in compatibility.
fn parse(raw: Vec<(String, String)>) -> Result<CustomHeaders, CustomHeaderError> {
    super::parse(raw, Compat::NONE).map(|parsed| {
        assert_eq!(parsed.reply_to, None);
        parsed.custom
    })
}

/// Parses one header with [`CompatFeature::Headers`].
fn one_compatible(name: &str, value: &str) -> Result<ParsedHeaders, CustomHeaderError> {
    let compat = [CompatFeature::Headers].into_iter().collect();
    super::parse(vec![(name.to_owned(), value.to_owned())], compat)
}

fn one(name: &str, value: &str) -> Result<CustomHeaders, CustomHeaderError> {
    parse(vec![(name.to_owned(), value.to_owned())])
}

fn pair(targets: &str, post: &str) -> Result<CustomHeaders, CustomHeaderError> {
    parse(vec![
        ("List-Unsubscribe".to_owned(), targets.to_owned()),
        ("List-Unsubscribe-Post".to_owned(), post.to_owned()),
    ])
}

#[test]
fn allowed_names_are_accepted_in_any_letter_case() {
    for name in [
        "X-Entity-Ref-ID",
        "x-a",
        "X-Ringmail",
        "X-SESSION",
        "In-Reply-To",
        "references",
        "IMPORTANCE",
        "Priority",
        "Comments",
        "Keywords",
        "Organization",
    ] {
        let headers = one(name, "1").unwrap();
        assert_eq!(headers.iter().collect::<Vec<_>>(), [(name, "1")]);
        assert_eq!(headers.value(&name.to_uppercase()), Some("1"));
        assert!(!headers.has_unsubscribe_pair());
    }
}

#[test]
fn other_names_are_refused() {
    for name in [
        "From",
        "to",
        "Subject",
        "Date",
        "Message-ID",
        "Bcc",
        "Return-Path",
        "Sender",
        "Reply-To",
        "Received",
        "Content-Type",
        "MIME-Version",
        "DKIM-Signature",
        "Feedback-ID",
        "List-Id",
        "XFoo",
        "X-",
        "X",
    ] {
        let error = CustomHeaderError::NotAllowed { name: name.to_owned(), compat: Compat::NONE };
        assert_eq!(one(name, "1"), Err(error), "{name}");
    }
    for name in ["X-Ringmail-Id", "x-ringmail-", "X-SES-Configuration-Set", "x-ses-source"] {
        assert_eq!(one(name, "1"), Err(CustomHeaderError::Reserved(name.to_owned())), "{name}");
    }
    for name in ["", "X-a:", "X-a b", "X-é", "X-a\r\nBcc"] {
        assert!(matches!(one(name, "1"), Err(CustomHeaderError::NameCharacters(_))), "{name:?}");
    }
    assert!(one(&format!("X-{}", "a".repeat(74)), "1").is_ok());
    assert!(matches!(one(&format!("X-{}", "a".repeat(75)), "1"), Err(CustomHeaderError::NameTooLong(_))));
}

#[test]
fn values_are_one_line_of_bounded_words() {
    for value in ["1", "a\tb", "naïve 🚀", "<a@b.co> <c@d.co>"] {
        assert!(one("X-A", value).is_ok(), "{value}");
    }
    assert_eq!(one("X-A", " \tpadded\t ").unwrap().value("x-a"), Some("padded"));
    for value in ["a\r\nBcc: x@y.co", "a\nb", "a\rb", "a\0b", "a\u{7F}", "a\u{85}b", "a\u{2028}b", "\u{1B}[2J"] {
        assert!(matches!(one("X-A", value), Err(CustomHeaderError::ControlCharacter(_))), "{value:?}");
    }
    for value in ["", "  ", "\t"] {
        assert!(matches!(one("X-A", value), Err(CustomHeaderError::EmptyValue(_))), "{value:?}");
    }
    assert!(one("X-A", &"a".repeat(WORD_BYTES_MAX)).is_ok());
    assert!(matches!(one("X-A", &"a".repeat(WORD_BYTES_MAX + 1)), Err(CustomHeaderError::ValueTooLong(_))));
    assert!(one("X-A", &"ab ".repeat(VALUE_BYTES_MAX / 3)).is_ok());
    assert!(matches!(one("X-A", &"ab ".repeat(VALUE_BYTES_MAX / 3 + 2)), Err(CustomHeaderError::ValueTooLong(_))));
    assert!(one("Comments", "schön").is_ok());
    assert!(matches!(one("References", "<é@b.co>"), Err(CustomHeaderError::NotAscii(_))));
}

#[test]
fn the_list_of_headers_is_bounded() {
    let headers =
        |count: usize, value: &str| parse((0..count).map(|n| (format!("X-{n}"), value.to_owned())).collect::<Vec<_>>());
    assert!(headers(50, "1").is_ok());
    assert_eq!(headers(51, "1"), Err(CustomHeaderError::TooMany));
    assert!(headers(35, &"a".repeat(900)).is_ok());
    assert_eq!(headers(40, &"a".repeat(900)), Err(CustomHeaderError::TooLarge));

    let twice = parse(vec![("X-A".to_owned(), "1".to_owned()), ("x-a".to_owned(), "2".to_owned())]);
    assert_eq!(twice, Err(CustomHeaderError::Duplicate("x-a".to_owned())));
}

#[test]
fn the_unsubscribe_pair_must_be_complete() {
    for targets in [
        "<https://example.com/u?id=1>",
        "<HTTPS://example.com>",
        "<https://example.com/u>, <mailto:leave@example.com?subject=stop>",
        "<mailto:leave@example.com>,<https://example.com/u>",
        "  <https://example.com/u>\t,\t<https://example.org/u>  ",
    ] {
        assert!(pair(targets, ONE_CLICK).unwrap().has_unsubscribe_pair(), "{targets}");
    }
    for targets in [
        "https://example.com/u",
        "<>",
        "<https://>",
        "<https:///u>",
        "<http://example.com/u>",
        "<ftp://example.com/u>",
        "<mailto:>",
        "<https://example.com/u",
        "<https://exam ple.com/u>",
        "<https://example.com/<u>",
        "<https://example.com/u>,",
        "<https://example.com/u> <mailto:a@b.co>",
        "(comment) <https://example.com/u>",
        ",<https://example.com/u>",
    ] {
        assert_eq!(
            pair(targets, ONE_CLICK),
            Err(CustomHeaderError::Targets("List-Unsubscribe".to_owned())),
            "{targets}"
        );
    }
    assert_eq!(pair("<mailto:a@b.co>", ONE_CLICK), Err(CustomHeaderError::UnsubscribeWithoutHttps));
    for post in ["One-Click", "list-unsubscribe=one-click", "List-Unsubscribe=One-Click; x"] {
        assert_eq!(pair("<https://example.com/u>", post), Err(CustomHeaderError::NotOneClick), "{post}");
    }
    assert_eq!(one("List-Unsubscribe", "<https://example.com/u>"), Err(CustomHeaderError::Unpaired));
    assert_eq!(one("list-unsubscribe-post", ONE_CLICK), Err(CustomHeaderError::Unpaired));
}

#[test]
fn a_name_of_the_table_is_passed_used_or_replaced_with_the_feature() {
    for (name, value) in [
        ("Auto-Submitted", "auto-generated"),
        ("list-id", "Grüße <news.example.com>"),
        ("List-Id", "<news.example.com>"),
        ("Precedence", "bulk"),
        ("Feedback-ID", "campaign:customer:type:sender"),
        ("List-Help", "<https://example.com/help>, <mailto:help@example.com>"),
        ("List-Help", "<mailto:help@example.com>"),
        ("List-Unsubscribe", "<mailto:leave@example.com>"),
        ("List-Unsubscribe", "<https://example.com/u>"),
    ] {
        let parsed = one_compatible(name, value).unwrap();
        assert_eq!(parsed.custom.iter().collect::<Vec<_>>(), [(name, value)]);
        assert_eq!(parsed.reply_to, None);
    }
    for name in ["Sender", "Message-ID", "message-id", "Date"] {
        assert_eq!(one_compatible(name, "any value").unwrap(), ParsedHeaders::default(), "{name}");
    }
    let used = one_compatible("REPLY-TO", " a@example.com ").unwrap();
    assert_eq!((used.custom.is_empty(), used.reply_to.as_deref()), (true, Some("a@example.com")));
}

#[test]
fn a_name_of_the_table_obeys_the_rules_of_values_also_with_the_feature() {
    for rule in &table::RULES {
        for value in ["", "a\r\nBcc: x@y.co", "a\nb", "a\0b", &"a".repeat(WORD_BYTES_MAX + 1)] {
            assert!(one_compatible(rule.name, value).is_err(), "{}: {value:?}", rule.name);
        }
    }
    for value in ["news", "<news>", "<news.example.com> x", "<a.b> <c.d>", "<a..b>", "<a b.c>", "<ä.b>", "a.b"] {
        assert_eq!(one_compatible("List-Id", value), Err(CustomHeaderError::ListId), "{value}");
    }
    let targets = |name: &str| Err(CustomHeaderError::Targets(name.to_owned()));
    for name in ["List-Help", "List-Unsubscribe"] {
        for value in ["https://example.com/", "<ftp://example.com/>", "<http://example.com/>", "<>"] {
            assert_eq!(one_compatible(name, value), targets(name), "{value}");
        }
    }
    for name in ["From", "To", "Bcc", "Subject", "Content-Type", "MIME-Version", "Received", "DKIM-Signature"] {
        let error = one_compatible(name, "x").unwrap_err();
        assert!(matches!(&error, CustomHeaderError::NotAllowed { name: own, .. } if own == name), "{error}");
        let message = error.to_string();
        assert!(message.contains("Organization, ") && message.ends_with(" and List-Help"), "{message}");
    }
    let error = one_compatible("List-Unsubscribe-Post", ONE_CLICK).unwrap_err();
    assert_eq!(error, CustomHeaderError::PostAlone);
    assert!(!error.to_string().contains("RINGMAIL_COMPAT"), "{error}");
    let feature: Compat = [CompatFeature::Headers].into_iter().collect();
    let pair = |targets: &str| {
        let raw = [("List-Unsubscribe", targets), ("List-Unsubscribe-Post", ONE_CLICK)];
        super::parse(raw.map(|(name, value)| (name.to_owned(), value.to_owned())).into(), feature)
    };
    assert_eq!(pair("<mailto:a@b.co>"), Err(CustomHeaderError::UnsubscribeWithoutHttps));
    assert!(pair("<https://example.com/u>").unwrap().custom.has_unsubscribe_pair());
}

#[test]
fn a_refusal_of_a_name_of_the_table_names_the_setting() {
    for rule in table::RULES.iter().filter(|rule| rule.feature.is_some()) {
        let error = one(rule.name, "<https://a.b>").unwrap_err().to_string();
        assert!(error.contains("start the server with `RINGMAIL_COMPAT=headers`"), "{error}");
        let names_requests =
            error.contains("if it repeats `reply_to`, start the server with `RINGMAIL_COMPAT=requests`");
        assert_eq!(names_requests, rule.name == "Reply-To", "{error}");
    }
    assert!(!one("Bcc", "x").unwrap_err().to_string().contains("RINGMAIL_COMPAT"));
}

#[test]
fn a_lone_unsubscribe_can_be_removed() {
    let mut lone = one_compatible("List-Unsubscribe", "<https://example.com/u>").unwrap().custom;
    let mut pair = pair("<https://example.com/u>", ONE_CLICK).unwrap();

    lone.remove_lone_unsubscribe();
    pair.remove_lone_unsubscribe();

    assert!(lone.is_empty());
    assert_eq!(pair.iter().len(), 2);
}

#[test]
fn json_objects_keep_their_order_and_empty_forms_are_empty() {
    let read = serde_json::from_str::<RawHeaders>;
    let owned = |name: &str, value: &str| (name.to_owned(), value.to_owned());

    let headers = read(r#"{"X-Zoo": "1", "X-Ape": "2"}"#).unwrap();
    assert_eq!(headers.0, [owned("X-Zoo", "1"), owned("X-Ape", "2")]);
    for empty in ["{}", "[]", "null"] {
        assert_eq!(read(empty).unwrap(), RawHeaders::default(), "{empty}");
    }
    for (refused, reason) in [
        (r#"{"X-A": "1", "x-a": "2"}"#, "`x-a` is given twice"),
        (r#"["X-A: 1"]"#, "expected an object of header names"),
        (r#""X-A: 1""#, "expected an object of header names"),
        (r#"{"X-A": 1}"#, "expected a string"),
        (r#"{"X-A": null}"#, "expected a string"),
    ] {
        let error = read(refused).unwrap_err().to_string();
        assert!(error.contains(reason), "{refused}: {error}");
    }
    let many = (0..51).map(|n| format!("\"X-{n}\":\"\"")).collect::<Vec<_>>().join(",");
    assert!(read(&format!("{{{many}}}")).unwrap_err().to_string().contains("more than 50"));
}

#[test]
fn an_error_quotes_little_of_its_cause() {
    let error = one(&"é\r\n".repeat(1_000_000), "1").unwrap_err().to_string();
    assert!(error.chars().count() < 200, "{error}");
    assert!(!error.contains(['\r', '\n']), "{error}");
}

#[test]
fn stored_headers_are_checked_by_the_same_rules() {
    let headers = pair("<https://example.com/u>", ONE_CLICK).unwrap();
    let stored = rmp_serde::to_vec_named(&headers).unwrap();
    assert_eq!(rmp_serde::from_slice::<CustomHeaders>(&stored).unwrap(), headers);

    let forged = rmp_serde::to_vec_named(&[("Bcc", "x@y.co")]).unwrap();
    assert!(rmp_serde::from_slice::<CustomHeaders>(&forged).is_err());
}

#[test]
fn the_schema_is_an_object_of_strings() {
    let schema = serde_json::to_value(RawHeaders::to_schema(&mut Components::new())).unwrap();
    assert_eq!(schema["type"], "object");
    assert_eq!(schema["additionalProperties"]["type"], "string");
}

proptest! {
    #[test]
    fn no_accepted_header_contains_a_line_break(
        raw in prop::collection::vec(("(X-[ -~]{1,8}|X-[a-z\r\n:]{1,4}|Comments|References)", any::<String>()), 0..4)
    ) {
        if let Ok(headers) = parse(raw) {
            for (name, value) in headers.iter() {
                prop_assert!(!name.contains(['\r', '\n', ':', ' ']));
                prop_assert!(!value.contains(['\r', '\n', '\0']));
                prop_assert!(!value.trim().is_empty() || !value.is_ascii());
            }
            prop_assert_eq!(parse(headers.clone().into()), Ok(headers));
        }
    }

    #[test]
    fn no_targets_make_the_parser_panic(targets in "(<|>|,| |https://|mailto:|@|é|a){0,20}") {
        let _ = pair(&targets, ONE_CLICK);
    }
}

use proptest::prelude::*;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Sample {
    name: Option<String>,
    inner: Option<Inner>,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Inner {
    count: u32,
}

fn status_and_message(raw: &str) -> (u16, String) {
    let error = parse::<Sample>(raw.as_bytes(), &[]).unwrap_err();
    (error.code.status(), error.message)
}

#[test]
fn null_equals_absent() {
    let sample: Sample = parse(br#"{"name": null}"#, &[]).unwrap();

    assert_eq!(sample, Sample { name: None, inner: None });
}

#[test]
fn a_whole_number_with_a_fraction_of_zero_is_an_integer() {
    for raw in [r#"{"inner": {"count": 5}}"#, r#"{"inner": {"count": 5.0}}"#, r#"{"inner": {"count": 0.5e1}}"#] {
        let sample: Sample = parse(raw.as_bytes(), &[]).unwrap();

        assert_eq!(sample.inner, Some(Inner { count: 5 }), "{raw}");
    }
    for raw in ["5.5", "-1.0", "1e300", "4294967296.0", "9007199254740994.0"] {
        assert_eq!(status_and_message(&format!(r#"{{"inner": {{"count": {raw}}}}}"#)).0, 422, "{raw}");
    }
}

#[test]
fn every_error_names_the_field_and_the_accepted_values() {
    for (raw, status, message) in [
        (
            r#"{"nam": 1}"#,
            422,
            "Invalid `nam` field: unknown field `nam`, expected `name` or `inner`. Did you mean `name`?",
        ),
        (r#"{"name": "a", "name": "b"}"#, 422, "Invalid request body: duplicate field `name`."),
        (r#"{"name": 5}"#, 422, "Invalid `name` field: invalid type: integer `5`, expected a string."),
        (r#"{"inner": [5]}"#, 422, "Invalid `inner` field: invalid type: sequence, expected an object."),
        (r#"{"inner": {"count": -1}}"#, 422, "Invalid `inner.count` field: invalid value: integer `-1`, expected u32."),
        ("[]", 422, "Invalid request body: invalid type: sequence, expected an object."),
        (r#""text""#, 422, "Invalid request body: invalid type: string \"text\", expected an object."),
        ("", 400, "The request body is not valid JSON: EOF while parsing a value at line 1 column 0."),
        (r#"{"name": "a"} x"#, 400, "The request body is not valid JSON: trailing characters at line 1 column 15."),
    ] {
        assert_eq!(status_and_message(raw), (status, message.to_owned()), "{raw}");
    }
}

#[test]
fn no_error_contains_a_value_that_the_log_omits() {
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are read")]
    struct Secrets {
        html: Option<String>,
        attachments: Option<Vec<Attachment>>,
        signing_secret: Option<u8>,
        subject: Option<u8>,
    }
    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[expect(dead_code, reason = "only errors are read")]
    struct Attachment {
        filename: String,
    }

    for (raw, message) in [
        (r#"{"html": 81726}"#, "Invalid `html` field: invalid type, expected a string."),
        (r#"{"attachments": "Zq9"}"#, "Invalid `attachments` field: invalid type, expected a sequence."),
        (r#"{"attachments": "Zq9, expected Zq9"}"#, "Invalid `attachments` field: invalid type, expected a sequence."),
        (r#"{"attachments": ["Zq9"]}"#, "Invalid `attachments[0]` field: invalid type, expected an object."),
        (
            r#"{"attachments": [{"filename": 8}]}"#,
            "Invalid `attachments[0].filename` field: invalid type, expected a string.",
        ),
        (r#"{"attachments": [{}]}"#, "Invalid `attachments[0]` field: missing field `filename`."),
        (r#"{"signing_secret": 81726}"#, "Invalid `signing_secret` field: invalid value, expected u8."),
        (r#"{"subject": "Zq9"}"#, "Invalid `subject` field: invalid type: string \"Zq9\", expected u8."),
    ] {
        assert_eq!(parse::<Secrets>(raw.as_bytes(), &[]).unwrap_err().message, message, "{raw}");
    }
}

#[test]
fn broken_and_hostile_bytes_are_malformed_json() {
    let deep = "[".repeat(100_000);
    for raw in [b"{\"name\": \"\xff\"}".as_slice(), b"{\"name\": \"a", b"\x00", deep.as_bytes()] {
        let error = parse::<Sample>(raw, &[]).unwrap_err();

        assert!(error.code.status() == 400 || error.code.status() == 422, "{error:?}");
        assert!(error.message.len() < 500);
    }
}

#[test]
fn tolerated_fields_are_skipped_and_others_rejected() {
    let sample: Sample = parse(br#"{"id": {"any": [1]}, "name": "a"}"#, &["id"]).unwrap();

    assert_eq!(sample.name.as_deref(), Some("a"));
    assert!(parse::<Sample>(br#"{"ids": 1}"#, &["id"]).is_err());
    let list: Vec<Sample> = parse(br#"[{"id": 1, "name": "b"}]"#, &["id"]).unwrap();
    assert_eq!(list[0].name.as_deref(), Some("b"));
}

#[test]
fn a_skipped_field_must_be_valid_json() {
    for value in ["[".repeat(1_000), "\"\\ud800\"".to_owned(), "1e999".to_owned(), "{\"a\":}".to_owned()] {
        let error = parse::<Sample>(format!("{{\"id\":{value}}}").as_bytes(), &["id"]).unwrap_err();

        assert_eq!(error.code, ErrorCode::MalformedJson, "{value}");
    }
}

proptest! {
    #[test]
    fn no_bytes_panic_the_parser(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = parse::<Sample>(&raw, &["id"]);
    }
}

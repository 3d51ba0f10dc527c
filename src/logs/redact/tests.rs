use proptest::prelude::*;
use serde_json::{Map, Value, json};

use super::*;

const BYTES_MAX: usize = 16 << 10;

fn copy(text: &str) -> String {
    match redact(text.as_bytes(), BYTES_MAX) {
        BodyCopy::Json(json) => json,
        other => panic!("{text}: {other:?}"),
    }
}

#[test]
fn secret_fields_are_redacted_at_any_depth_and_all_others_are_copied() {
    for (text, expected) in [
        (r#"{ "from" : "a" , "html" : "<p>" }"#, r#"{"from":"a","html":"[redacted]"}"#),
        (r#"[{"text":"x"},{"text":"y","to":["b"]}]"#, r#"[{"text":"[redacted]"},{"text":"[redacted]","to":["b"]}]"#),
        (
            r#"{"attachments":[{"content":"YQ==","filename":"a"}],"n":-1.5e3}"#,
            r#"{"attachments":"[redacted]","n":-1.5e3}"#,
        ),
        (r#"{"id":"k","token":"rm_1"}"#, r#"{"id":"k","token":"[redacted]"}"#),
        (r#"{"a":{"b":[{"signing_secret":null}]}}"#, r#"{"a":{"b":[{"signing_secret":"[redacted]"}]}}"#),
        (r#"{"ht\u006dl":"x","h\u0074ml2":"y"}"#, r#"{"ht\u006dl":"[redacted]","h\u0074ml2":"y"}"#),
        (r#"{"HTML":"x","Content":{"deep":[1,{}]}}"#, r#"{"HTML":"[redacted]","Content":"[redacted]"}"#),
        (r#"{"content_type":"a/b","texts":1,"htm":2,"":3}"#, r#"{"content_type":"a/b","texts":1,"htm":2,"":3}"#),
        (r#"{"subject":"html","to":"text"}"#, r#"{"subject":"html","to":"text"}"#),
        ("{\"s\":\"Gr\u{fc}\u{df}e \\ud83d\\ude00 \\\" \\n\"}", "{\"s\":\"Gr\u{fc}\u{df}e \\ud83d\\ude00 \\\" \\n\"}"),
        (" [ ] ", "[]"),
        ("{ }", "{}"),
        ("true", "true"),
        ("0", "0"),
        ("\"text\"", "\"text\""),
    ] {
        assert_eq!(copy(text), expected);
    }
}

#[test]
fn additional_names_are_redacted() {
    let text = r#"{"url":"https://example.com/t","\u0075rl":1,"urls":["a"],"token":"b","deep":[{"URL":{}}]}"#;

    let copy = redact_also(text.as_bytes(), BYTES_MAX, &["url"]);

    let expected = r#"{"url":"[redacted]","\u0075rl":"[redacted]","urls":["a"],"token":"[redacted]","deep":[{"URL":"[redacted]"}]}"#;
    assert_eq!(copy, BodyCopy::Json(expected.into()));
}

#[test]
fn a_body_that_is_not_json_has_no_copy() {
    let deep = "[".repeat(100_000);
    let too_deep = format!("{}1{}", "[".repeat(128), "]".repeat(128));
    for text in [
        "",
        " ",
        "{",
        "[1,]",
        "{\"a\":1,}",
        "{\"a\" 1}",
        "{a:1}",
        "nul",
        "truex",
        "01",
        "1.",
        "-",
        "1e",
        "1e999",
        "+1",
        "\"",
        "\"\\",
        "\"\\x\"",
        "\"\\u12\"",
        "\"\\ud800\"",
        "\"\\udc00\"",
        "\"\\ud800\\u0041\"",
        "\"a\nb\"",
        "1 2",
        "{\"html\":}",
        "{\"html\":[}",
        "{\"html\":\"a\"",
        "{\"html\":\"\\q\"}",
        "[1}",
        "{\"a\":1]",
        &deep,
        &too_deep,
    ] {
        assert_eq!(redact(text.as_bytes(), BYTES_MAX), BodyCopy::NotJson, "{text:.40}");
    }
    for bytes in [b"\"\xff\"".as_slice(), b"{\"html\":\"\xc3\"}", b"\xef\xbb\xbf{}", b"{\"a\xff\":1}"] {
        assert_eq!(redact(bytes, BYTES_MAX), BodyCopy::NotJson, "{bytes:?}");
    }
    let number = format!("[{}]", "9".repeat(400));
    assert_eq!(redact(number.as_bytes(), BYTES_MAX), BodyCopy::NotJson);
}

#[test]
fn a_copy_above_the_limit_becomes_a_marker_and_secrets_do_not_count() {
    let secret = format!("{{\"html\":\"{}\",\"to\":\"a\"}}", "x".repeat(1 << 20));
    assert_eq!(redact(secret.as_bytes(), 40), BodyCopy::Json(r#"{"html":"[redacted]","to":"a"}"#.into()));

    let large = json!({ "subject": "x".repeat(BYTES_MAX) }).to_string();
    let copy = redact(large.as_bytes(), BYTES_MAX);
    assert_eq!(copy, BodyCopy::TooLarge { bytes: large.len() });
    let marker: Value = serde_json::from_str(&copy.into_json().unwrap()).unwrap();
    assert_eq!(marker, json!({ "truncated": true, "bytes": large.len() }));

    let exact = json!({ "subject": "x".repeat(BYTES_MAX - 14) }).to_string();
    assert_eq!(exact.len(), BYTES_MAX);
    assert_eq!(redact(exact.as_bytes(), BYTES_MAX), BodyCopy::Json(exact));
}

#[test]
fn a_string_of_any_length_ends_at_its_quote() {
    for length in 0..100 {
        for text in ["x".repeat(length), format!("{}\\\"", "x".repeat(length)), "\u{e9}".repeat(length)] {
            let json = format!("[\"{text}\",1]");
            assert_eq!(copy(&json), json);
        }
    }
}

/// Text that only secret values contain.
const MARK: &str = "Zq9sEcReT";

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => "[a-z]{0,6}",
        1 => ".{0,8}",
        2 => proptest::sample::select(SECRET_FIELDS).prop_map(str::to_owned),
        1 => proptest::sample::select(SECRET_FIELDS).prop_map(str::to_uppercase),
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,40}".prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::vec((name(), inner), 0..6)
                .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>())),
        ]
    })
}

/// Appends the mark to every text under a secret name.
fn marked(value: Value, secret: bool) -> Value {
    match value {
        Value::String(text) if secret => format!("{text}{MARK}").into(),
        Value::Array(items) => items.into_iter().map(|item| marked(item, secret)).collect(),
        Value::Object(fields) => {
            let mark = |(name, value): (String, Value)| {
                let secret = secret || SECRET_FIELDS.contains(&name.to_ascii_lowercase().as_str());
                (name, marked(value, secret))
            };
            Value::Object(fields.into_iter().map(mark).collect())
        }
        other => other,
    }
}

/// Redacts a decoded value.
fn expected(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(expected).collect(),
        Value::Object(fields) => {
            let redact = |(name, value): (&String, &Value)| {
                let is_secret = SECRET_FIELDS.contains(&name.to_ascii_lowercase().as_str());
                (name.clone(), if is_secret { "[redacted]".into() } else { expected(value) })
            };
            Value::Object(fields.iter().map(redact).collect())
        }
        other => other.clone(),
    }
}

/// Encodes a value with every letter of every name as an escape.
fn escaped(value: &Value) -> String {
    match value {
        Value::Array(items) => format!("[{}]", items.iter().map(escaped).collect::<Vec<_>>().join(" , ")),
        Value::Object(fields) => {
            let field = |(name, value): (&String, &Value)| {
                let name: String = name.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect();
                format!("\t\"{name}\" : {}", escaped(value))
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(",\n"))
        }
        other => other.to_string(),
    }
}

proptest! {
    #[test]
    fn a_copy_is_the_json_without_its_secrets(value in value()) {
        let value = marked(value, false);
        for text in [value.to_string(), format!("{value:#}"), escaped(&value)] {
            let copy = match redact(text.as_bytes(), usize::MAX) {
                BodyCopy::Json(copy) => copy,
                other => panic!("{text}: {other:?}"),
            };

            prop_assert!(!copy.contains(MARK), "{}", copy);
            let read: Value = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(serde_json::from_str::<Value>(&copy).unwrap(), expected(&read));
        }
    }

    #[test]
    fn no_copy_exceeds_its_limit(value in value(), bytes_max in 0_usize..200) {
        let text = value.to_string();

        match redact(text.as_bytes(), bytes_max) {
            BodyCopy::Json(copy) => prop_assert!(copy.len() <= bytes_max),
            copy => prop_assert_eq!(copy, BodyCopy::TooLarge { bytes: text.len() }),
        }
    }

    #[test]
    fn a_copy_exists_exactly_for_valid_json(bytes in "[\\[\\]{}\",:\\\\a-f0-9u.eE+ \\x00-\\x7f-]{0,40}") {
        let read = serde_json::from_slice::<Value>(bytes.as_bytes());

        match redact(bytes.as_bytes(), BYTES_MAX) {
            BodyCopy::Json(copy) => {
                prop_assert!(read.is_ok());
                prop_assert!(serde_json::from_str::<Value>(&copy).is_ok());
            }
            copy => prop_assert!(copy == BodyCopy::NotJson && read.is_err(), "{:?}", copy),
        }
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
        let _ = redact(&bytes, 50);
    }
}

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use proptest::prelude::*;
use salvo::oapi::Components;

use super::*;

fn read(json: &str) -> Result<Vec<Attachment>, String> {
    let requests: Vec<AttachmentRequest> = serde_json::from_str(json).map_err(|error| error.to_string())?;
    parse(requests, ATTACHMENTS_BYTES_MAX_DEFAULT, Compat::NONE)
        .map(|parsed| parsed.files)
        .map_err(|error| error.to_string())
}

fn read_one(json: &str) -> Attachment {
    let mut attachments = read(&format!("[{json}]")).unwrap_or_else(|error| panic!("{json}: {error}"));
    assert_eq!(attachments.len(), 1);
    attachments.remove(0)
}

#[test]
fn all_three_forms_of_content_give_the_same_bytes() {
    for content in [
        r#""aGkh""#,
        r#""aG\r\nkh\n""#,
        r#"" a G\tk h ""#,
        "[104, 105, 33]",
        r#"{"type": "Buffer", "data": [104, 105, 33]}"#,
        r#"{"data": [104, 105, 33], "type": "Buffer"}"#,
    ] {
        let attachment = read_one(&format!(r#"{{"filename": "a.txt", "content": {content}}}"#));
        assert_eq!(attachment.content(), b"hi!", "{content}");
    }
    for empty in [r#""""#, "[]", r#"{"type": "Buffer", "data": []}"#] {
        assert!(read_one(&format!(r#"{{"content": {empty}}}"#)).content().is_empty(), "{empty}");
    }
    for padded in [r#""aGk=""#, r#""aGk""#] {
        assert_eq!(read_one(&format!(r#"{{"content": {padded}}}"#)).content(), b"hi", "{padded}");
    }
}

#[test]
fn other_content_is_refused() {
    for (content, reason) in [
        (r#""BEGIN:VCALENDAR""#, "not base64"),
        (r#""aGk-_w==""#, "not base64"),
        (r#""aGl=""#, "not base64"),
        (r#""aGk==""#, "not base64"),
        (r#""a""#, "not base64"),
        (r#""aG=k""#, "not base64"),
        (r#""data:text/plain;base64,aGkh""#, "data URL"),
        ("[104, 256]", "256"),
        ("[104, -1]", "-1"),
        ("[1.5]", "1.5"),
        (r#"["a"]"#, "expected an integer from 0 to 255"),
        ("7", "expected base64 text"),
        ("true", "expected base64 text"),
        (r#"{"type": "Blob", "data": []}"#, "other than a serialized Buffer"),
        (r#"{"data": []}"#, "other than a serialized Buffer"),
        (r#"{"type": "Buffer"}"#, "missing field `data`"),
        (r#"{"type": "Buffer", "data": "aGkh"}"#, "array of integers"),
        (r#"{"type": "Buffer", "data": [], "data": []}"#, "duplicate field `data`"),
        (r#"{"0": 104}"#, "other than a serialized Buffer"),
        ("null", "has no `content`"),
    ] {
        let error = read(&format!(r#"[{{"content": {content}}}]"#)).unwrap_err();
        assert!(error.contains(reason), "{content}: {error}");
    }
    assert!(read("[{}]").unwrap_err().contains("has no `content`"));
}

#[test]
fn errors_of_remote_files_and_inline_images_name_the_alternative() {
    for (field, reason) in [
        (r#""path": "https://example.com/a.pdf""#, "never fetched"),
        (r#""path": "", "content": "aGkh""#, "never fetched"),
        (r#""content": "aGkh", "content_id": "logo""#, "inline images are not supported"),
        (r#""content": "aGkh", "inline_content_id": "logo""#, "inline images are not supported"),
        (r#""content": "aGkh", "contentId": "logo""#, "start the server with `RINGMAIL_COMPAT=inline-images`"),
        (r#""content": "aGkh", "content_id": {"a": [1]}"#, "inline images are not supported"),
        (r#""content": "aGkh", "content_id": 5"#, "inline images are not supported"),
        (r#""path": {}"#, "never fetched"),
        (r#""content": "aGkh", "path": [true, 1.5], "content_id": "logo""#, "never fetched"),
        (r#""content": "aGkh", "disposition": "inline""#, "unknown field `disposition`"),
        (r#""content": "aGkh", "content": "aGkh""#, "duplicate field `content`"),
        (r#""content": "aGkh", "content_type": "text/plain", "contentType": "text/plain""#, "duplicate field"),
    ] {
        let error = read(&format!("[{{{field}}}]")).unwrap_err();
        assert!(error.contains(reason), "{field}: {error}");
    }
    read_one(
        r#"{"content": "aGkh", "path": null, "content_id": null, "inline_content_id": null, "content_type": null}"#,
    );
}

#[test]
fn a_content_id_makes_an_inline_image_with_the_feature() {
    let read = |json: &str| -> Result<Vec<Attachment>, String> {
        let requests: Vec<AttachmentRequest> = serde_json::from_str(json).map_err(|error| error.to_string())?;
        let compat = [CompatFeature::InlineImages].into_iter().collect();
        parse(requests, ATTACHMENTS_BYTES_MAX_DEFAULT, compat)
            .map(|parsed| parsed.files)
            .map_err(|error| error.to_string())
    };
    for (fields, content_id) in [
        (r#""content_id": "logo""#, Some("logo")),
        (r#""contentId": "<logo@example.com>""#, Some("logo@example.com")),
        (r#""inline_content_id": "logo""#, Some("logo")),
        (r#""inlineContentId": "logo""#, Some("logo")),
        (r#""content_id": "", "inline_content_id": "logo""#, Some("logo")),
        (r#""content_id": "logo", "inline_content_id": "<logo>""#, Some("logo")),
        (r#""content_id": """#, None),
        (r#""content_id": null"#, None),
    ] {
        let attachments = read(&format!(r#"[{{"content": "aGkh", {fields}}}]"#)).unwrap();
        assert_eq!(attachments[0].content_id().map(ContentId::as_str), content_id, "{fields}");
    }
    let image = r#"{"content": "aGkh", "content_id": "logo"}"#;
    for (json, reason) in [
        (format!("[{image}, {image}]"), "entry 1 has the `content_id` of an earlier entry"),
        (r#"[{"content": "aGkh", "content_id": "a", "inline_content_id": "b"}]"#.to_owned(), "give one of them"),
        (r#"[{"content": "aGkh", "content_id": 5}]"#.to_owned(), "has a `content_id` that is not a text"),
        (r#"[{"content": "aGkh", "content_id": "a b"}]"#.to_owned(), "has the `content_id` `a b`; use at most 128"),
        (r#"[{"content": "aGkh", "content_id": "a\r\nBcc: x@y.co"}]"#.to_owned(), "; use at most 128"),
        (r#"[{"content": "aGkh", "path": "https://example.com/a"}]"#.to_owned(), "never fetched"),
    ] {
        let error = read(&json).unwrap_err();
        assert!(error.contains(reason) && error.len() < 300 && !error.contains('\r'), "{json}: {error}");
    }
}

#[test]
fn an_absent_name_or_type_is_derived_from_the_other() {
    for (fields, filename, content_type) in [
        (r#""filename": "invoice.pdf""#, "invoice.pdf", "application/pdf"),
        (r#""filename": "PHOTO.JPG""#, "PHOTO.JPG", "image/jpeg"),
        (r#""filename": "README""#, "README", "application/octet-stream"),
        (r#""filename": "a.unheard-of""#, "a.unheard-of", "application/octet-stream"),
        (r#""filename": "a.pdf", "content_type": "text/plain""#, "a.pdf", "text/plain"),
        (
            r#""filename": "a.ics", "contentType": "Text/Calendar; method=REQUEST""#,
            "a.ics",
            "text/calendar; method=REQUEST",
        ),
        (r#""filename": "a.bin", "content_type": """#, "a.bin", "application/octet-stream"),
        (r#""filename": false"#, "attachment-1", "application/octet-stream"),
        (r#""filename": null, "content_type": "image/png""#, "attachment-1.png", "image/png"),
        (r#""content_type": "text/calendar; charset=utf-8""#, "attachment-1.ics", "text/calendar; charset=utf-8"),
        (r#""content_type": "x-own/x-type""#, "attachment-1", "x-own/x-type"),
        (r#""filename": "../../etc/passwd""#, "passwd", "application/octet-stream"),
        (r#""filename": "C:\\Users\\me\\a.txt""#, "a.txt", "text/plain"),
        (r#""filename": "/tmp/a.csv ""#, "a.csv", "text/csv"),
        (r#""filename": "dir/""#, "attachment-1", "application/octet-stream"),
        (r#""filename": "..""#, "attachment-1", "application/octet-stream"),
        (r#""filename": "Müller 用户.png""#, "Müller 用户.png", "image/png"),
    ] {
        let attachment = read_one(&format!(r#"{{"content": "aGkh", {fields}}}"#));
        assert_eq!((attachment.filename(), attachment.content_type()), (filename, content_type), "{fields}");
    }
    let two = read(r#"[{"content": "aGkh", "filename": "a.txt"}, {"content": "aGkh"}]"#).unwrap();
    assert_eq!(two[1].filename(), "attachment-2");
}

#[test]
fn unsafe_names_are_refused() {
    for name in [r"a\r\nb.txt", r"a\u0000.txt", r"a\tb", r"a\u007f", r"gpj.\u202eexe", r"a\u2028b", r"a\u0085b"] {
        let error = read(&format!(r#"[{{"content": "aGkh", "filename": "{name}"}}]"#)).unwrap_err();
        assert!(error.contains("control or direction character"), "{name}: {error}");
    }
    let name = |count| format!(r#"{{"content": "aGkh", "filename": "{}"}}"#, "é".repeat(count));
    assert_eq!(read_one(&name(255)).filename().chars().count(), 255);
    assert!(read(&format!("[{}]", name(256))).unwrap_err().contains("longer than 255"));
    assert!(read(r#"[{"content": "aGkh", "filename": true}]"#).unwrap_err().contains("expected a file name"));
    assert!(read(r#"[{"content": "aGkh", "filename": 7}]"#).unwrap_err().contains("expected a file name"));
}

#[test]
fn malformed_types_are_refused() {
    for (given, kept) in [
        ("text/plain", Some("text/plain")),
        ("TEXT/Plain ; Charset=UTF-8", Some("text/plain; Charset=UTF-8")),
        ("text/plain;a=b;c=\"d e\" ; f=g;", Some("text/plain; a=b; c=\"d e\"; f=g")),
        ("application/vnd.api+json", Some("application/vnd.api+json")),
        ("text", None),
        ("/plain", None),
        ("text/", None),
        ("text/plain/x", None),
        ("te xt/plain", None),
        ("text/plain; charset", None),
        ("text/plain; =x", None),
        ("text/plain; a=", None),
        ("text/plain; a=\"b", None),
        ("text/plain; a=\"b\\\"\"", None),
        ("text/plain; a=\"é\"", None),
        ("text/plain; a=\"b\"c", None),
        ("text/plain; a=b c", None),
        ("text/plain\r\nBcc: a@b.co", None),
        ("text/plain; a=\"\r\n\"", None),
        ("téxt/plain", None),
        ("multipart/mixed; boundary=x", None),
        ("Multipart/Alternative", None),
    ] {
        assert_eq!(canonical_type(given).as_deref(), kept, "{given:?}");
        if let Some(kept) = kept {
            assert_eq!(canonical_type(kept).as_deref(), Some(kept));
        }
    }
    assert_eq!(canonical_type(&format!("text/{}", "a".repeat(251))), None);
}

#[test]
fn size_and_count_are_bounded() {
    let entry = |bytes: usize| AttachmentRequest {
        content: Some(AttachmentContent(vec![0; bytes])),
        filename: None,
        content_type: None,
        path: None,
        content_id: None,
        inline_content_id: None,
    };
    assert!(parse(vec![entry(60), entry(40)], 100, Compat::NONE).is_ok());
    let error = parse(vec![entry(60), entry(41)], 100, Compat::NONE).unwrap_err();
    assert_eq!(error, AttachmentError::TooLarge { bytes_max: 100 });

    assert_eq!(parse((0..100).map(|_| entry(0)).collect(), 100, Compat::NONE).unwrap().files.len(), 100);
    assert_eq!(parse((0..101).map(|_| entry(0)).collect(), 100, Compat::NONE), Err(AttachmentError::TooMany));
    assert_eq!(parse(Vec::new(), 100, Compat::NONE), Ok(ParsedAttachments::default()));
}

#[test]
fn an_error_quotes_little_of_its_cause() {
    let error = read(&format!(r#"[{{"content": "aGkh", "content_type": "{}"}}]"#, "x".repeat(100_000))).unwrap_err();
    assert!(error.chars().count() < 300, "{error}");
    let error = read(&format!(r#"[{{"content": "!{}"}}]"#, "x".repeat(100_000))).unwrap_err();
    assert!(error.chars().count() < 300, "{error}");
}

#[test]
fn debug_output_omits_the_content() {
    let attachment = read_one(r#"{"filename": "a.txt", "content": "c2VjcmV0"}"#);
    assert_eq!(
        format!("{attachment:?}"),
        r#"Attachment { filename: "a.txt", content_type: "text/plain", content_bytes: 6 }"#
    );
    assert_eq!(format!("{:?}", AttachmentContent(vec![1, 2])), "Content(2 bytes)");
}

#[test]
fn the_schema_names_the_three_forms_of_content() {
    let schema = serde_json::to_value(AttachmentContent::to_schema(&mut Components::new())).unwrap();
    let forms: Vec<_> = schema["oneOf"].as_array().unwrap().iter().map(|form| form["type"].as_str().unwrap()).collect();
    assert_eq!(forms, ["string", "array", "object"]);
}

#[test]
fn the_schema_of_an_entry_requires_only_content() {
    let mut components = Components::new();
    AttachmentRequest::to_schema(&mut components);
    let components = serde_json::to_value(&components).unwrap();
    let (_, entry) = components["schemas"]
        .as_object()
        .unwrap()
        .iter()
        .find(|(name, _)| name.ends_with("AttachmentRequest"))
        .unwrap();
    assert_eq!(entry["required"], serde_json::json!(["content"]));
    assert_eq!(entry["additionalProperties"], false);
    let fields: Vec<_> = entry["properties"].as_object().unwrap().keys().collect();
    assert_eq!(fields, ["content", "content_type", "filename"]);
}

proptest! {
    #[test]
    fn every_form_of_content_decodes_to_the_original_bytes(bytes in prop::collection::vec(any::<u8>(), 0..200), width in 1_usize..90) {
        let dense = BASE64_STANDARD.encode(&bytes);
        let wrapped = dense.as_bytes().chunks(width).map(|line| str::from_utf8(line).unwrap()).collect::<Vec<_>>().join("\r\n");
        for content in [
            serde_json::json!(dense),
            serde_json::json!(dense.trim_end_matches('=')),
            serde_json::json!(wrapped),
            serde_json::json!(bytes),
            serde_json::json!({"type": "Buffer", "data": bytes}),
        ] {
            let read: AttachmentContent = serde_json::from_str(&content.to_string()).unwrap();
            prop_assert_eq!(&read.0, &bytes);
        }
    }

    #[test]
    fn accepted_names_and_types_are_safe_in_a_header(filename in any::<String>(), content_type in "\\PC{0,20}|[a-z]{1,4}/[a-z]{1,4}(; ?[a-z]{1,3}=(\"[ -~]{0,5}\"|[ -~]{0,4})){0,3}") {
        let request = AttachmentRequest {
            content: Some(AttachmentContent::default()),
            filename: Some(filename),
            content_type: Some(content_type),
            path: None,
            content_id: None,
            inline_content_id: None,
        };
        if let Ok(parsed) = parse(vec![request], 0, Compat::ALL) {
            let attachment = &parsed.files[0];
            prop_assert!(!attachment.filename().chars().any(char::is_control));
            prop_assert!(!attachment.filename().contains(['/', '\\']));
            prop_assert!(attachment.content_type().bytes().all(|b| b == b' ' || b.is_ascii_graphic()));
            prop_assert_eq!(canonical_type(attachment.content_type()), Some(attachment.content_type().to_owned()));
        }
    }
}

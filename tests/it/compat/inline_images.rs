//! `RINGMAIL_COMPAT=inline-images`.

use mail_parser::{MessageParser, MimeHeaders as _};
use serde_json::json;

use super::assert_send_refused_without;
use crate::support::{TestServer, email};

#[test]
fn an_image_is_a_part_related_to_the_html_part() {
    let server = TestServer::start_with(&["--compat", "inline-images"]);

    let id = server.send(&json!({
        "to": "jane@example.net",
        "html": "<p>Hello <img src=\"cid:logo\"> <img src=\"cid:dot@example.com\"></p>",
        "text": null,
        "attachments": [
            { "filename": "logo.png", "content": "UE5H", "content_id": "logo" },
            { "filename": "terms.pdf", "content": "JVBERi0=" },
            { "filename": "dot.gif", "content": "R0lG", "inlineContentId": "<dot@example.com>" },
        ],
    }));
    server.wait_for(&id, "delivered");

    let (_, bytes) = server.captured_messages().pop().expect("a message");
    let message = MessageParser::default().parse(&bytes).unwrap();
    assert!(message.body_text(0).unwrap().contains("Hello"));
    assert!(message.body_html(0).unwrap().contains("cid:logo"));
    let parts = message.attachments().map(|part| {
        let disposition = part.content_disposition().unwrap().ctype();
        (part.attachment_name(), part.content_id(), disposition, part.contents())
    });
    assert_eq!(
        parts.collect::<Vec<_>>(),
        [
            (Some("logo.png"), Some("logo"), "inline", b"PNG".as_slice()),
            (Some("dot.gif"), Some("dot@example.com"), "inline", b"GIF"),
            (Some("terms.pdf"), None, "attachment", b"%PDF-"),
        ]
    );
    let types: Vec<String> = message
        .parts
        .iter()
        .filter_map(|part| part.content_type())
        .map(|kind| format!("{}/{}", kind.ctype(), kind.subtype().unwrap_or_default()))
        .collect();
    let expected = [
        "multipart/mixed",
        "multipart/alternative",
        "text/plain",
        "multipart/related",
        "text/html",
        "image/png",
        "image/gif",
        "application/pdf",
    ];
    assert_eq!(types, expected);
    let related = message.parts[3].content_type().unwrap();
    assert_eq!(related.attribute("type"), Some("text/html"));
}

#[test]
fn an_image_is_read_with_its_content_id() {
    let server = TestServer::start_with(&["--compat", "all"]);
    let id = server.send(&json!({ "html": "<img src='cid:logo'>", "attachments": [
        { "filename": "logo.png", "content": "UE5H", "content_id": "<logo>" },
        { "filename": "a.txt", "content": "YQ==", "content_id": "" },
    ] }));

    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);

    let image = server.get(&format!("/emails/{id}/attachments/{}", list["data"][0]["id"].as_str().unwrap())).ok(200);
    for row in [&list["data"][0], &image] {
        assert_eq!((&row["content_id"], &row["content_disposition"]), (&json!("logo"), &json!("inline")), "{row}");
    }
    let file = &list["data"][1];
    assert_eq!((file.get("content_id"), &file["content_disposition"]), (None, &json!("attachment")));
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["attachments"][0]["filename"], "logo.png");
}

#[test]
fn a_hostile_content_id_is_refused() {
    let server = TestServer::start_with(&["--compat", "inline-images"]);
    let image = |content_id: &str| json!({ "filename": "a.png", "content": "UE5H", "content_id": content_id });
    let long = "a".repeat(129);
    for content_id in
        ["a b", "a\r\nBcc: all@example.net", "a\u{0}", "<a", "a>", "a\"b", "é", "cid:a", "a@b@c", "@", "a%2e", &long]
    {
        let refused = server.post("/emails", &email(&json!({ "attachments": [image(content_id)] }))).refusal();

        let start = "422 validation_error: Invalid `attachments` field: entry 0 has the `content_id` ";
        assert!(refused.starts_with(start), "{content_id:?}: {refused}");
        assert!(refused.len() < 400 && !refused.contains(['\r', '\n']), "{refused:?}");
    }
    let twice = email(&json!({ "attachments": [image("a"), image("<a>")] }));
    let sentence =
        "Invalid `attachments` field: entry 1 has the `content_id` of an earlier entry; give each image its own.";
    server.post("/emails", &twice).refused(422, "validation_error", sentence);
    assert_eq!(server.stored_emails(), 0);
    server.send(&json!({ "attachments": [image("a"), image("A")] }));
}

#[test]
fn inline_images_are_refused_by_default() {
    for name in ["content_id", "contentId", "inline_content_id", "inlineContentId"] {
        let attachment = json!({ "filename": "a.png", "content": "UE5H", name: "logo" });
        assert_send_refused_without("inline-images", &json!({ "attachments": [attachment] }));
    }
}

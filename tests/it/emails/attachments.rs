//! Attachments of `POST /emails` and the attachment endpoints.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::{TestServer, assert_body, assert_lines, email, retry_until_ok};

/// Sends an email with one attachment. Returns the id of the email and the attachment as read back.
fn send_one(server: &TestServer, attachment: &Value) -> (String, Value) {
    let id = server.send(&json!({ "attachments": [attachment] }));
    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let attachment = list["data"][0]["id"].as_str().expect("an attachment").to_owned();
    let read = server.get(&format!("/emails/{id}/attachments/{attachment}")).ok(200);
    (id, read)
}

#[test]
fn every_form_of_content_is_returned_as_base64_of_the_same_bytes() {
    let server = TestServer::start();
    for content in [
        json!("SGk="),
        json!("SGk"),
        json!("S\r\nG\nk ="),
        json!([72, 105]),
        json!({ "type": "Buffer", "data": [72, 105] }),
        json!({ "data": [72, 105], "type": "Buffer" }),
    ] {
        let (_, read) = send_one(&server, &json!({ "filename": "hi.txt", "content": content }));

        assert_eq!((&read["content"], &read["size"]), (&json!("SGk="), &json!(2)), "{content}");
    }
}

#[test]
fn an_attachment_is_listed_without_content_and_read_with_content() {
    let server = TestServer::start();
    let id = server.send(&json!({ "attachments": [
        { "filename": "report.pdf", "content": "JVBERi0=" },
        { "filename": "notes.txt", "content": [72, 105], "content_type": "Text/Plain; charset=utf-8" },
    ] }));

    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let first = list["data"][0]["id"].as_str().unwrap();
    let read = server.get(&format!("/emails/{id}/attachments/{first}")).ok(200);

    assert_eq!(read["content"], "JVBERi0=");
    assert_body!(json!({ "list": list, "read": read }));
}

#[test]
fn a_large_attachment_is_returned_completely() {
    let server = TestServer::start();
    let bytes: Vec<u8> = (0..1_000_000_u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 24) as u8).collect();

    let (_, read) = send_one(&server, &json!({ "filename": "a.bin", "content": bytes }));

    use base64::Engine as _;
    let decoded = base64::engine::general_purpose::STANDARD.decode(read["content"].as_str().unwrap()).unwrap();
    assert!(decoded == bytes, "the bytes differ from the sent bytes");
}

#[test]
fn an_attachment_without_a_name_or_type_gets_a_default() {
    let server = TestServer::start();
    for (attachment, filename, content_type) in [
        (json!({ "content": "YQ==" }), "attachment-1", "application/octet-stream"),
        (json!({ "content": "YQ==", "filename": null }), "attachment-1", "application/octet-stream"),
        (json!({ "content": "YQ==", "filename": false }), "attachment-1", "application/octet-stream"),
        (json!({ "content": "YQ==", "filename": "a.PDF" }), "a.PDF", "application/pdf"),
        (json!({ "content": "YQ==", "filename": "../../etc/passwd" }), "passwd", "application/octet-stream"),
        (json!({ "content": "YQ==", "filename": "C:\\dir\\a.csv" }), "a.csv", "text/csv"),
        (json!({ "content": "YQ==", "contentType": "application/pdf" }), "attachment-1.pdf", "application/pdf"),
        (json!({ "content": "YQ==", "filename": "Grüße.txt" }), "Grüße.txt", "text/plain"),
        (json!({ "content": "", "filename": "empty.txt" }), "empty.txt", "text/plain"),
    ] {
        let (_, read) = send_one(&server, &attachment);

        assert_eq!(
            (&read["filename"], &read["content_type"]),
            (&json!(filename), &json!(content_type)),
            "{attachment}"
        );
    }
}

#[test]
fn remote_inline_and_malformed_attachments_are_refused() {
    let server = TestServer::start();
    let mut lines = Vec::new();
    for attachment in [
        json!({ "filename": "a.txt", "path": "https://example.com/a.txt" }),
        json!({ "filename": "a.txt", "path": "https://example.com/a.txt", "content": "YQ==" }),
        json!({ "filename": "a.txt", "content": "YQ==", "content_id": "logo" }),
        json!({ "filename": "a.txt", "content": "YQ==", "inline_content_id": "logo" }),
        json!({ "filename": "a.txt" }),
        json!({ "filename": "a.txt", "content": null }),
        json!({ "filename": "a.txt", "content": "not base64!" }),
        json!({ "filename": "a.txt", "content": "data:text/plain;base64,YQ==" }),
        json!({ "filename": "a.txt", "content": [256] }),
        json!({ "filename": "a.txt", "content": [-1] }),
        json!({ "filename": "a.txt", "content": { "type": "Blob", "data": [1] } }),
        json!({ "filename": "a.txt", "content": { "type": "Buffer" } }),
        json!({ "filename": "a.txt", "content": 5 }),
        json!({ "filename": "a.txt", "content": "YQ==", "content_type": "text" }),
        json!({ "filename": "a.txt", "content": "YQ==", "content_type": "multipart/mixed" }),
        json!({ "filename": "a\u{202e}fdp.exe", "content": "YQ==" }),
        json!({ "filename": "f".repeat(256), "content": "YQ==" }),
        json!({ "filename": true, "content": "YQ==" }),
        json!({ "filename": "a.txt", "content": "YQ==", "disposition": "inline" }),
        json!("YQ=="),
    ] {
        let refused = server.post("/emails", &email(&json!({ "attachments": [attachment] }))).refusal();

        assert!(refused.starts_with("422 validation_error: Invalid `attachments"), "{attachment}: {refused}");
        lines.push(refused);
    }
    assert_lines!(lines);
    assert_eq!(server.stored_emails(), 0);
}

#[test]
fn a_null_field_of_an_attachment_equals_an_absent_field() {
    let server = TestServer::start();

    let (_, read) = send_one(
        &server,
        &json!({ "filename": "a.txt", "content": "YQ==", "path": null, "content_id": null,
                 "inline_content_id": null, "content_type": null }),
    );

    assert_eq!(read["filename"], "a.txt");
}

#[test]
fn too_many_or_too_large_attachments_are_refused() {
    let server = TestServer::start_with(&["--attachment-mb", "1"]);
    let file = |bytes: usize| json!({ "filename": "a.bin", "content": vec![0_u8; bytes] });
    let half = 512 * 1024;

    let large = server.post("/emails", &email(&json!({ "attachments": [file(half), file(half + 1)] }))).refusal();
    let many = server.post("/emails", &email(&json!({ "attachments": vec![file(1); 101] }))).refusal();

    let sentence = "the attachments are larger than 1048576 bytes together, the most that one email takes.";
    assert_eq!(large, format!("422 validation_error: Invalid `attachments` field: {sentence}"));
    assert_eq!(
        many,
        "422 validation_error: Invalid `attachments` field: more than 100 items, and no more are accepted."
    );
    assert_eq!(server.stored_emails(), 0);
    server.send(&json!({ "attachments": [file(half), file(half)] }));
    server.send(&json!({ "attachments": vec![file(1); 100] }));
}

#[test]
fn the_attachments_of_an_email_are_paged() {
    let server = TestServer::start();
    let files: Vec<Value> = (0..3).map(|n| json!({ "filename": format!("{n}.txt"), "content": "YQ==" })).collect();
    let id = server.send(&json!({ "attachments": files }));
    let names = |query: &str| -> (Vec<String>, bool) {
        let page = server.get(&format!("/emails/{id}/attachments{query}")).ok(200);
        let rows = page["data"].as_array().unwrap().iter();
        (rows.map(|row| row["filename"].as_str().unwrap().to_owned()).collect(), page["has_more"].as_bool().unwrap())
    };
    let all = server.get(&format!("/emails/{id}/attachments")).ok(200);
    let middle = all["data"][1]["id"].as_str().unwrap();

    let (first, more) = names("?limit=2");
    assert_eq!((first.len(), more), (2, true));
    let (after, more) = names(&format!("?after={middle}"));
    assert_eq!((after, more), (vec![all["data"][2]["filename"].as_str().unwrap().to_owned()], false));
    let (before, more) = names(&format!("?before={middle}"));
    assert_eq!((before, more), (vec![all["data"][0]["filename"].as_str().unwrap().to_owned()], false));
    let foreign = server.get(&format!("/emails/{id}/attachments?after={id}")).refusal();
    assert!(foreign.starts_with("422 validation_error: Invalid cursor."), "{foreign}");
}

#[test]
fn an_attachment_of_another_email_is_not_found() {
    let server = TestServer::start();
    let (_, read) = send_one(&server, &json!({ "filename": "a.txt", "content": "YQ==" }));
    let other = server.send(&json!({ "attachments": [{ "filename": "b.txt", "content": "Yg==" }] }));
    let id = read["id"].as_str().unwrap();

    let response = server.get(&format!("/emails/{other}/attachments/{id}"));

    response.refused(404, "not_found", "Attachment not found");
    let malformed = server.get(&format!("/emails/{other}/attachments/1"));
    malformed.refused(422, "validation_error", "The `attachment_id` must be a valid UUID.");
}

#[test]
fn an_email_without_attachments_has_an_empty_list() {
    let server = TestServer::start();
    let id = server.send(&json!({}));

    let list = server.get(&format!("/emails/{id}/attachments")).ok(200);

    assert_eq!(list, json!({ "object": "list", "has_more": false, "data": [] }));
}

#[test]
fn attachments_deleted_by_retention_return_410() {
    let server = TestServer::start();
    let (id, read) = send_one(&server, &json!({ "filename": "a.txt", "content": "YQ==" }));
    server.wait_for(&id, "delivered");
    let path = format!("/emails/{id}/attachments");

    let server = server.restart_after(Duration::from_secs(31 * 86_400), &[]);
    server.wait_for_purge(&id);

    let message = "The attachments of this email have been removed by the retention period.";
    server.get(&path).refused(410, "attachments_purged", message);
    let one = format!("{path}/{}", read["id"].as_str().unwrap());
    server.get(&one).refused(410, "attachments_purged", message);
    assert_eq!(server.get(&format!("/emails/{id}")).ok(200)["attachments"][0]["id"], read["id"]);
}

#[test]
fn attachments_can_have_a_shorter_retention_than_the_content() {
    let server = TestServer::start();
    let file = json!({ "filename": "a.txt", "content": "YQ==" });
    // Messages to simulated recipients are not captured.
    let id = server.send(&json!({ "to": "ada@example.net", "attachments": [file] }));
    server.wait_for(&id, "delivered");
    let attachment = server.get(&format!("/emails/{id}/attachments")).ok(200)["data"][0]["id"].clone();
    assert_eq!(server.captured_messages().len(), 1);

    let flags = ["--attachment-retention-days", "2"];
    let server = server.restart_after(Duration::from_secs(3 * 86_400), &flags);
    server.wait_for_purge(&id);
    // A captured message contains the attachments.
    retry_until_ok("the purge of captured messages", || match server.captured_messages().len() {
        0 => Ok(()),
        kept => Err(format!("{kept} are kept")),
    });

    let one = format!("/emails/{id}/attachments/{}", attachment.as_str().unwrap());
    assert_eq!(server.get(&one).status, 410);
    let email = server.get(&format!("/emails/{id}")).ok(200);
    assert_eq!((&email["attachments"][0]["id"], email["text"].is_string()), (&attachment, true));
}

#[test]
fn attachments_of_29_days_remain() {
    let server = TestServer::start();
    let (id, read) = send_one(&server, &json!({ "filename": "a.txt", "content": "YQ==" }));
    server.wait_for(&id, "delivered");
    let server = server.restart_after(Duration::from_secs(2 * 86_400), &[]);
    let (younger, _) = send_one(&server, &json!({ "filename": "b.txt", "content": "Yg==" }));
    server.wait_for(&younger, "delivered");

    let server = server.restart_after(Duration::from_secs(29 * 86_400), &[]);
    server.wait_for_purge(&id);

    assert!(read["id"].is_string());
    server.get(&format!("/emails/{younger}/attachments")).ok(200);
}

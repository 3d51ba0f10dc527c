//! `POST /webhooks/{id}/rotate` and its alias `POST /webhooks/{id}/signing-secret/rotate`.

use std::time::Duration;

use serde_json::{Value, json};

use super::{SECRET, UNKNOWN, create};
use crate::support::{TestServer, assert_body};

const HOUR: Duration = Duration::from_secs(3_600);

/// Rotates a secret with the bytes of `body`, or without a body.
#[track_caller]
fn rotate(server: &TestServer, path: &str, body: Option<&[u8]>) -> Value {
    server.call("POST", path, server.key(), &[], body).ok(200)
}

#[test]
fn a_rotation_keeps_the_previous_secret_for_a_day() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let before = server.get(&path).ok(200);
    assert_eq!(before["previous_secret_expires_at"], Value::Null);

    let rotated = rotate(&server, &format!("{path}/rotate"), None);

    assert_body!(rotated);
    assert_eq!(rotated["previous_secret_expires_at"], "2026-01-06T09:00:00.000Z");
    assert_ne!(rotated["signing_secret"], before["signing_secret"]);
    let shown = server.get(&path).ok(200);
    for field in ["signing_secret", "previous_secret_expires_at"] {
        assert_eq!(shown[field], rotated[field], "{field}");
    }
    server.advance(HOUR * 24);
    assert_eq!(server.get(&path).ok(200)["previous_secret_expires_at"], Value::Null);
}

#[test]
fn both_paths_accept_an_optional_body() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    for path in [format!("{path}/rotate"), format!("{path}/signing-secret/rotate")] {
        for (body, expires_at) in [
            (None, json!("2026-01-06T09:00:00.000Z")),
            (Some(b"".as_slice()), json!("2026-01-06T09:00:00.000Z")),
            (Some(b"{}"), json!("2026-01-06T09:00:00.000Z")),
            (Some(br#"{"overlap_hours": null}"#), json!("2026-01-06T09:00:00.000Z")),
            (Some(br#"{"overlap_hours": 72}"#), json!("2026-01-08T09:00:00.000Z")),
            (Some(br#"{"overlap_hours": 0}"#), Value::Null),
        ] {
            let rotated = rotate(&server, &path, body);

            assert_eq!(rotated["previous_secret_expires_at"], expires_at, "{path} {body:?}");
        }
    }
}

#[test]
fn an_overlap_of_0_removes_the_previous_secret_immediately() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    rotate(&server, &format!("{path}/rotate"), None);

    let given = json!({ "overlap_hours": 0, "signing_secret": SECRET });
    let rotated = server.post(&format!("{path}/rotate"), &given).ok(200);

    assert_eq!((&rotated["signing_secret"], &rotated["previous_secret_expires_at"]), (&json!(SECRET), &Value::Null));
    let shown = server.get(&path).ok(200);
    assert_eq!((&shown["signing_secret"], &shown["previous_secret_expires_at"]), (&json!(SECRET), &Value::Null));
}

#[test]
fn an_invalid_rotation_is_reported_and_the_secret_is_unchanged() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let before = server.get(&path).ok(200);
    let range = "422 validation_error: Invalid `overlap_hours` field: it must be a whole number from 0 to 72.";
    let secret = "422 validation_error: signing_secret must be whsec_ followed by base64 of 24-64 bytes";
    for (body, start) in [
        (json!({ "overlap_hours": 73 }), range),
        (json!({ "overlap_hours": -1 }), range),
        (json!({ "overlap_hours": 0.5 }), range),
        (json!({ "overlap_hours": "24" }), range),
        (json!({ "signing_secret": "whsec_" }), secret),
        (json!({ "signing_secret": SECRET.trim_start_matches("whsec_") }), secret),
        (json!({ "secret": SECRET }), "422 validation_error: Invalid `secret` field: unknown field `secret`"),
        (json!([24]), "422 validation_error: Invalid request body: "),
    ] {
        let refused = server.post(&format!("{path}/rotate"), &body).refusal();

        assert!(refused.starts_with(start), "{body}: {refused}");
    }
    for path in [format!("{path}/rotate"), format!("{path}/signing-secret/rotate")] {
        for given in [json!(7), json!(-1.5), json!(true), json!([SECRET]), json!({ "secret": SECRET })] {
            assert_eq!(server.post(&path, &json!({ "signing_secret": given })).refusal(), secret, "{path} {given}");
        }
    }
    let malformed = server.call("POST", &format!("{path}/rotate"), server.key(), &[], Some(b"{"));
    assert_eq!(malformed.status, 400);
    assert_eq!(server.get(&path).ok(200), before);
    let unknown = server.post(&format!("{UNKNOWN}/rotate"), &json!({}));
    unknown.refused(404, "not_found", "Webhook endpoint not found");
}

#[test]
fn secrets_survive_a_restart() {
    let server = TestServer::start();
    let path = create(&server, &json!({}));
    let rotated = rotate(&server, &format!("{path}/rotate"), None);

    let server = server.restart_with(&[]);

    let shown = server.get(&path).ok(200);
    assert_eq!(shown["signing_secret"], rotated["signing_secret"]);
    assert_eq!(shown["previous_secret_expires_at"], rotated["previous_secret_expires_at"]);
}

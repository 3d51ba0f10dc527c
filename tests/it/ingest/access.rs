//! Authentication of delivery reports: a current signature of the body with the ingest secret, and limits of the body.

use std::time::Duration;

use ringmail::base::clock::monotonic;
use ringmail::base::signature::WebhookSecret;
use serde_json::json;

use super::{counts, dedup_key_count, deliver, post, server, signature, signature_with};
use crate::support::{ApiResponse, TestServer};

const OTHER_SECRET: &str = "whsec_c2VjcmV0IG9mIGFub3RoZXIgc2VydmVy";
const PATHS: [&str; 2] = ["/ingest/events", "/ingest/message"];
const UNSIGNED: &str = "There is no signature. Send `webhook-id`, `webhook-timestamp` and `webhook-signature`.";
const STALE: &str = "The timestamp of the signature is more than five minutes from this server's time.";
const NOT_A_TIME: &str = "The timestamp of the signature must be in seconds since 1970-01-01T00:00:00Z.";
const WRONG: &str = "The signature is not one of `{id}.{timestamp}.{body}` with the secret of \
                     `RINGMAIL_INGEST_SECRET`.";

#[test]
fn without_an_ingest_secret_both_paths_do_not_exist() {
    let server = TestServer::start();
    for path in PATHS {
        let response = post(&server, path, "msg_1", b"{}");
        response.refused(404, "not_found", "The requested endpoint does not exist.");
        let response = server.post(path, &json!({}));
        response.refused(404, "not_found", "The requested endpoint does not exist.");
    }
}

#[test]
fn an_api_key_does_not_authenticate_a_report() {
    let server = server();
    for path in PATHS {
        server.post(path, &json!({})).refused(401, "invalid_signature", UNSIGNED);
    }
}

#[test]
fn both_paths_allow_only_post() {
    let server = server();
    for path in PATHS {
        assert_eq!(server.get(path).status, 405);
    }
}

/// Posts a body with the three headers of the set `set`: its id, timestamp and signatures.
fn with_headers(server: &TestServer, set: &str, [id, timestamp, signatures]: [&str; 3], body: &[u8]) -> ApiResponse {
    let names = ["id", "timestamp", "signature"].map(|name| format!("{set}-{name}"));
    let values = [id, timestamp, signatures];
    let headers: Vec<(&str, &str)> = names.iter().map(String::as_str).zip(values).collect();
    server.call("POST", "/ingest/events", "", &headers, Some(body))
}

#[test]
fn a_request_without_a_valid_signature_is_refused_and_nothing_is_stored() {
    let server = server();
    let email = deliver(&server, "ada@example.net");
    let bounce = json!({
        "type": "bounced", "email_id": email, "recipient": "ada@example.net", "bounce": { "type": "Permanent" },
    });
    let body = bounce.to_string();
    let body = body.as_bytes();
    let now_s = server.context().now_ms() / 1_000;
    let now = now_s.to_string();
    let valid = signature("msg_1", now_s, body);
    assert!(WebhookSecret::parse(OTHER_SECRET).is_some(), "the other secret has a valid format");
    let other_secret = signature_with(OTHER_SECRET, "msg_1", now_s, body);
    let call = |headers: [&str; 3], body: &[u8]| with_headers(&server, "webhook", headers, body);

    for (headers, sentence) in [
        (["", &now, &valid], UNSIGNED),
        (["msg_1", "", &valid], UNSIGNED),
        (["msg_1", &now, ""], UNSIGNED),
        (["msg_1", "today", &valid], NOT_A_TIME),
        (["msg_1", &(now_s - 301).to_string(), &signature("msg_1", now_s - 301, body)], STALE),
        (["msg_1", &(now_s + 301).to_string(), &signature("msg_1", now_s + 301, body)], STALE),
        (["msg_2", &now, &valid], WRONG),
        (["msg_1", &(now_s - 1).to_string(), &valid], WRONG),
        (["msg_1", &now, &other_secret], WRONG),
        (["msg_1", &now, &valid.replace("v1,", "v1,A")], WRONG),
        (["msg_1", &now, "v1,"], WRONG),
        (["msg_1", &now, valid.strip_prefix("v1,").unwrap()], WRONG),
    ] {
        call(headers, body).refused(401, "invalid_signature", sentence);
    }
    let tampered = bounce.to_string().replace("bounced", "delivered");
    call(["msg_1", &now, &valid], tampered.as_bytes()).refused(401, "invalid_signature", WRONG);

    assert_eq!(dedup_key_count(&server), 0);
    assert_eq!(server.get(&format!("/emails/{email}")).ok(200)["last_event"], "delivered");
    assert_eq!(server.suppressed_addresses(), Vec::<String>::new());
    assert_eq!(counts(call(["msg_1", &now, &valid], body)), (1, 0), "the valid signature is accepted");
}

#[test]
fn both_header_sets_and_one_valid_signature_of_several_are_accepted() {
    let server = server();
    let body = json!({ "type": "delivered", "email_id": "unknown", "recipient": "ada@example.net" }).to_string();
    let now_s = server.context().now_ms() / 1_000;
    for (set, id, offset_s) in [("webhook", "msg_1", 0), ("svix", "msg_2", 300), ("svix", "msg_3", -300)] {
        let timestamp_s = now_s + offset_s;
        let several = format!("v1,AAAA v2,x {}", signature(id, timestamp_s, body.as_bytes()));

        let response = with_headers(&server, set, [id, &timestamp_s.to_string(), &several], body.as_bytes());

        assert_eq!(counts(response), (0, 1));
    }
}

#[test]
fn a_stale_signature_is_refused_before_the_body_is_read() {
    let server = server();
    let too_large = vec![b' '; (4 << 20) + 1];
    let stale = (server.context().now_ms() / 1_000 - 301).to_string();

    for (timestamp, sentence) in [(stale.as_str(), STALE), ("today", NOT_A_TIME)] {
        let headers = ["msg_1", timestamp, "v1,AAAA"];
        with_headers(&server, "webhook", headers, &too_large).refused(401, "invalid_signature", sentence);
    }
}

#[test]
fn each_path_has_its_own_body_limit() {
    let server = server();
    let large = vec![b' '; (1 << 20) + 1];
    let larger = vec![b' '; (4 << 20) + 1];

    let message = post(&server, "/ingest/message", "msg_1", &large).refusal();
    let events = post(&server, "/ingest/events", "msg_2", &larger).refusal();

    assert!(message.starts_with("413 payload_too_large"), "{message}");
    assert!(events.starts_with("413 payload_too_large"), "{events}");
    let spaces = post(&server, "/ingest/events", "msg_3", &large).refusal();
    assert!(spaces.starts_with("400 validation_error"), "{spaces}");
}

#[test]
fn a_body_that_does_not_arrive_gets_its_response_after_five_seconds() {
    let server = server();
    let timestamp_s = server.context().now_ms() / 1_000;
    let request = format!(
        "POST /ingest/events HTTP/1.1\r\nhost: localhost\r\nwebhook-id: msg_1\r\nwebhook-timestamp: {timestamp_s}\r\n\
         webhook-signature: v1,AAAA\r\ncontent-length: 100\r\n\r\n{{"
    );
    let started = monotonic();

    let response = server.send_raw(request.as_bytes());

    assert_eq!(response.header("connection"), Some("close"));
    assert!(response.refusal().starts_with("400 validation_error: The request body broke off"), "{}", response.json);
    let elapsed = started.elapsed();
    assert!(elapsed < Duration::from_secs(12), "the response took {elapsed:?}");
}

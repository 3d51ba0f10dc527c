//! `POST /domains/{id}/verify`, with a DNS server of the test.

use std::time::Duration;

use hickory_server::proto::rr::RecordType;
use ringmail::base::clock::monotonic;
use serde_json::{Value, json};

use super::{create, path, redacted};
use crate::support::{NameServer, TestServer, email};

/// Waits until a domain meets `condition`, and returns the domain.
#[track_caller]
fn wait_until(server: &TestServer, domain: &Value, condition: impl Fn(&Value) -> bool) -> Value {
    let started = monotonic();
    loop {
        let domain = server.get(&path(domain)).ok(200);
        if condition(&domain) {
            return domain;
        }
        assert!(started.elapsed() < Duration::from_secs(20), "{domain:#}");
        std::thread::yield_now();
    }
}

fn start(dns: &NameServer) -> TestServer {
    TestServer::start_with(&["--hostname", "mx.ringmail.example", "--resolver", &dns.address()])
}

#[track_caller]
fn verify(server: &TestServer, domain: &Value) {
    let response = server.call("POST", &format!("{}/verify", path(domain)), server.key(), &[], None).ok(200);
    assert_eq!(response, json!({ "object": "domain", "id": domain["id"] }));
}

#[test]
fn a_domain_with_all_records_is_verified_and_can_send() {
    let dns = NameServer::start();
    let server = start(&dns);
    let domain = create(&server, "shop.example");
    let message = email(&json!({ "from": "hello@shop.example" }));
    server.post("/emails", &message).refused(
        403,
        "validation_error",
        "The shop.example domain is not verified. Please, add and verify your domain.",
    );

    dns.publish(&domain["records"]);
    dns.add("_dmarc.shop IN TXT \"v=DMARC1; p=reject\"\n");
    verify(&server, &domain);

    let verified = wait_until(&server, &domain, |domain| domain["status"] == "verified");
    insta::assert_json_snapshot!(redacted(verified));
    server.post("/emails", &message).ok(200);
}

#[test]
fn each_missing_or_wrong_record_is_reported() {
    let dns = NameServer::start();
    let server = start(&dns);
    let domain = create(&server, "shop.example");
    dns.add("send.shop IN MX 20 mx.ringmail.example.\n");
    dns.add("send.shop IN TXT \"v=spf1 -all\"\n");

    verify(&server, &domain);

    let failed = wait_until(&server, &domain, |domain| domain["status"] == "failed");
    insta::assert_json_snapshot!(redacted_selectors(failed, &domain));
}

/// Does the same as [`redacted`], and also replaces the selectors in the details.
fn redacted_selectors(mut domain: Value, created: &Value) -> Value {
    for number in [2, 3] {
        let name = created["records"][number]["name"].as_str().expect("a name");
        let (selector, _) = name.split_once('.').expect("the name of a DKIM record has labels");
        let detail = domain["records"][number]["detail"].as_str().expect("a detail").replace(selector, "[selector]");
        domain["records"][number]["detail"] = json!(detail);
    }
    redacted(domain)
}

#[test]
fn a_domain_that_loses_a_record_cannot_send_until_the_record_returns() {
    let dns = NameServer::start();
    let server = start(&dns);
    let domain = create(&server, "shop.example");
    let message = email(&json!({ "from": "hello@shop.example" }));
    dns.publish(&domain["records"]);
    verify(&server, &domain);
    wait_until(&server, &domain, |domain| domain["status"] == "verified");

    dns.remove("send.shop.example.", RecordType::TXT);
    server.advance(Duration::from_secs(16 * 60));
    let incomplete = wait_until(&server, &domain, |domain| domain["records"][1]["live"] == "missing");
    assert_eq!(
        (&incomplete["status"], &incomplete["records"][1]["status"]),
        (&"verified".into(), &"temporary_failure".into())
    );
    server.advance(Duration::from_secs(60));
    wait_until(&server, &domain, |domain| domain["status"] == "failed");
    assert_eq!(server.post("/emails", &message).status, 403);

    dns.publish(&domain["records"]);
    server.advance(Duration::from_secs(16 * 60));
    wait_until(&server, &domain, |domain| domain["status"] == "verified");
    server.post("/emails", &message).ok(200);
}

#[test]
fn a_pending_verification_continues_after_a_restart() {
    let dns = NameServer::start();
    let server = start(&dns);
    let domain = create(&server, "shop.example");
    verify(&server, &domain);
    wait_until(&server, &domain, |domain| domain["records"][0]["live"] == "missing");
    assert_eq!(server.get(&path(&domain)).ok(200)["status"], "pending");

    dns.publish(&domain["records"]);
    server.advance(Duration::from_secs(3600));
    let server = server.restart_with(&["--hostname", "mx.ringmail.example", "--resolver", &dns.address()]);

    wait_until(&server, &domain, |domain| domain["status"] == "verified");
}

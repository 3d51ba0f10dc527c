//! The log by its fields, and API keys, domains and webhooks with the further fields of their pages.

use serde_json::{Value, json};

use super::captured::opened;
use crate::support::{NameServer, TestServer, retry_until_ok};

#[test]
fn requests_are_found_by_their_fields() {
    let server = TestServer::start();
    let browser = opened(&server);
    server.send(&json!({ "subject": "One" }));
    server.post("/emails", &json!({ "to": "nobody" })).ok(422);
    server.call("GET", "/domains", server.key(), &[("user-agent", "resend-go/2.0")], None).ok(200);
    let key = server.get("/api-keys").ok(200)["data"][0]["id"].as_str().unwrap().to_owned();
    let found = |query: &str| -> Vec<String> {
        let list = browser.api("GET", &format!("/logs{query}"), None).json(200);
        let rows = list["data"].as_array().unwrap();
        rows.iter().map(|row| format!("{} {} {}", row["method"], row["endpoint"], row["response_status"])).collect()
    };
    let shown = |method: &str, path: &str, status: u16| format!("\"{method}\" \"{path}\" {status}");
    let (sent, refused) = (shown("POST", "/emails", 200), shown("POST", "/emails", 422));
    let (listed, keys) = (shown("GET", "/domains", 200), shown("GET", "/api-keys", 200));

    let of_key = format!("?key={key}&status=2");

    for (query, expected) in [
        ("", vec![&keys, &listed, &refused, &sent]),
        ("?status=4", vec![&refused]),
        ("?status=200&method=post", vec![&sent]),
        ("?method=GET,PATCH", vec![&keys, &listed]),
        ("?q=RESEND-go", vec![&listed]),
        ("?q=/emails", vec![&refused, &sent]),
        (of_key.as_str(), vec![&keys, &listed, &sent]),
        ("?key=019b8d6d-f9b0-7000-8000-000000000017", vec![]),
    ] {
        assert_eq!(found(query), expected.into_iter().cloned().collect::<Vec<_>>(), "{query}");
    }
    let first = browser.api("GET", "/logs?method=POST&limit=1", None).json(200);
    assert_eq!((first["data"].as_array().unwrap().len(), &first["has_more"]), (1, &true.into()));
    assert!(first["searched_until"].as_str().unwrap().starts_with("2026-01-05T"), "{first}");
    let position = first["position"].as_str().unwrap();
    assert_eq!(found(&format!("?method=POST&after={position}")), [sent.as_str()]);
    let whole = browser.api("GET", "/logs?limit=2", None).json(200);
    assert_eq!((whole["data"].as_array().unwrap().len(), &whole["position"]), (2, &Value::Null));
    let newest = whole["data"][0]["id"].as_str().unwrap();
    assert_eq!(found(&format!("?q={newest}")), [keys.as_str()]);
    let before = format!("?status=4&before={newest}");
    for query in ["?status=4xx", "?key=1", before.as_str()] {
        browser.api("GET", &format!("/logs{query}"), None).is_error(422, "validation_error");
    }
}

#[test]
fn an_api_key_is_listed_with_its_permission_and_its_domain() {
    let server = TestServer::start();
    let browser = opened(&server);
    let domain = server.post("/domains", &json!({ "name": "shop.example" })).ok(201)["id"].clone();
    let key = json!({ "name": "Shop", "permission": "sending_access", "domain_id": domain });
    browser.api("POST", "/api-keys", Some(&key)).json(201);

    let keys = browser.api("GET", "/api-keys", None).json(200);

    let rows = keys["data"].as_array().unwrap();
    let of = |name: &str| rows.iter().find(|row| row["name"] == name).unwrap_or_else(|| panic!("{keys}"));
    assert_eq!((&of("Shop")["permission"], &of("Shop")["domain_id"]), (&"sending_access".into(), &domain));
    let other = rows.iter().find(|row| row["name"] != "Shop").unwrap_or_else(|| panic!("{keys}"));
    assert_eq!((&other["permission"], &other["domain_id"]), (&"full_access".into(), &Value::Null));
    assert!(of("Shop").get("token").is_none(), "{keys}");
}

#[test]
fn a_domain_has_the_time_and_the_observations_of_its_last_check() {
    let dns = NameServer::start();
    let server = TestServer::start_with(&["--hostname", "mx.ringmail.example", "--resolver", &dns.address()]);
    let browser = opened(&server);
    let domain = server.post("/domains", &json!({ "name": "shop.example" })).ok(201);
    let path = format!("/domains/{}", domain["id"].as_str().unwrap());
    dns.add("send.shop IN MX 20 mail.elsewhere.example.\n");
    let before = browser.api("GET", &path, None).json(200);
    assert_eq!((&before["checked_at"], &before["name"]), (&Value::Null, &"shop.example".into()));
    assert_eq!(before["records"][0]["seen"], json!([]));

    browser.api("POST", &format!("{path}/verify"), None).json(200);

    let checked = retry_until_ok("the check", || {
        let domain = browser.api("GET", &path, None).json(200);
        if domain["checked_at"].is_null() { Err(domain.to_string()) } else { Ok(domain) }
    });
    assert!(checked["checked_at"].as_str().unwrap().starts_with("2026-01-05T"), "{checked}");
    let records = checked["records"].as_array().unwrap();
    let mx = records.iter().find(|record| record["type"] == "MX").unwrap_or_else(|| panic!("{checked}"));
    assert_eq!((&mx["live"], mx["seen"].as_array().unwrap().len()), (&"mismatch".into(), 1));
    assert!(mx["seen"][0].as_str().unwrap().starts_with("20 mail.elsewhere.example"), "{mx}");
    assert!(records.iter().all(|record| record["name"] == mx["name"] || record["seen"] == json!([])), "{checked}");
    let listed = domain["records"].as_array().unwrap().iter().map(|record| &record["value"]);
    assert!(listed.eq(records.iter().map(|record| &record["value"])), "{checked}");
}

#[test]
fn a_disabled_endpoint_names_who_disabled_it() {
    let server = TestServer::start();
    let browser = opened(&server);
    let new = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.sent"] });
    let id = browser.api("POST", "/webhooks", Some(&new)).json(201)["id"].as_str().unwrap().to_owned();
    let shown = || {
        let one = browser.api("GET", &format!("/webhooks/{id}"), None).json(200);
        let listed = browser.api("GET", "/webhooks", None).json(200)["data"][0].clone();
        assert_eq!((&listed["disabled_by"], listed.get("signing_secret")), (&one["disabled_by"], None));
        assert!(one["signing_secret"].as_str().unwrap().starts_with("whsec_"), "{one}");
        one["disabled_by"].clone()
    };
    assert_eq!(shown(), Value::Null);

    browser.api("PATCH", &format!("/webhooks/{id}"), Some(&json!({ "status": "disabled" }))).json(200);

    assert_eq!(shown(), "team");
}

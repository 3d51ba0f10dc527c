//! `/domains`.

mod change;
mod create;
mod read;
mod verify;

use serde_json::{Value, json};

use crate::support::TestServer;

const UNKNOWN_ID: &str = "01890a5d-ac96-774b-bcce-b302099a8057";

/// Creates a domain and returns it.
#[track_caller]
fn create(server: &TestServer, name: &str) -> Value {
    server.post("/domains", &json!({ "name": name })).ok(201)
}

/// Returns the path of a domain.
fn path(domain: &Value) -> String {
    format!("/domains/{}", domain["id"].as_str().expect("an id"))
}

/// Replaces values that differ between runs: ids, DKIM selectors and public keys.
fn redacted(mut domain: Value) -> Value {
    domain["id"] = json!("[id]");
    for record in domain["records"].as_array_mut().expect("records are a list") {
        let name = record["name"].as_str().expect("a name").to_owned();
        if let Some((selector, rest)) = name.split_once("._domainkey") {
            let (_, kind) = selector.rsplit_once('-').expect("the selector ends with its algorithm");
            if let Some(detail) = record["detail"].as_str() {
                record["detail"] = json!(detail.replace(selector, &format!("[selector]-{kind}")));
            }
            record["name"] = json!(format!("[selector]-{kind}._domainkey{rest}"));
            let (tags, _) = record["value"].as_str().and_then(|value| value.split_once("p=")).expect("a public key");
            record["value"] = json!(format!("{tags}p=[key]"));
        }
    }
    domain
}

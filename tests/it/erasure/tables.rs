//! After an erasure, no table and no captured message contains the address.

use std::path::Path;

use redb::{ReadableDatabase as _, ReadableTable as _, TableDefinition, TableHandle as _};
use serde_json::{Value, json};

use crate::support::TestServer;

const ADDRESS: &str = "Ada.Lovelace@Example.NET";

/// Returns the names of the tables whose keys or values contain `text`, ignoring case. Does not open sealed values.
pub(super) fn tables_that_mention(directory: &Path, text: &str) -> Vec<String> {
    let database = redb::Database::open(directory.join(ringmail::store::FILE_NAME)).unwrap();
    let tx = database.begin_read().unwrap();
    let lower_text = text.to_lowercase();
    let mut found = Vec::new();
    let mut rows = 0;
    for handle in tx.list_tables().unwrap() {
        let table = tx.open_table(TableDefinition::<&[u8], &[u8]>::new(handle.name())).unwrap();
        for row in table.iter().unwrap() {
            let (key, value) = row.unwrap();
            let bytes = [key.value(), value.value()].concat();
            if String::from_utf8_lossy(&bytes).to_lowercase().contains(&lower_text) {
                found.push(handle.name().to_owned());
            }
            rows += 1;
        }
    }
    assert!(rows > 10, "the store has too few rows: {rows}");
    found.sort();
    found.dedup();
    found
}

/// Sends an email and waits until every recipient has the status `delivered`. Returns the id.
fn deliver(server: &TestServer, fields: &Value) -> String {
    let id = server.send(fields);
    server.wait_until(&id, "every delivery", |email| {
        email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
    });
    id
}

/// Starts a server with the address in every table that the API can store it in. Returns the ids of three emails:
/// to the address, to the address and others, and to another recipient.
fn server_with_address() -> (TestServer, [String; 3]) {
    let server = TestServer::start();
    let contact = json!({ "email": ADDRESS, "first_name": "Ada", "last_name": "Lovelace", "unsubscribed": true });
    server.post("/contacts", &contact).ok(201);
    let only_to_address = deliver(
        &server,
        &json!({
            "to": format!("\"Lovelace, Ada\" <{ADDRESS}>"),
            "subject": format!("For {ADDRESS}"),
            "text": format!("Dear {ADDRESS}"),
            "attachments": [{ "filename": "ada.lovelace@example.net.txt", "content": "YQ==" }],
        }),
    );
    let shared = deliver(
        &server,
        &json!({
            "to": ["Bob <bob@example.net>", "eve@elsewhere.example"], "bcc": ADDRESS.to_lowercase(),
            "reply_to": [ADDRESS, "Answers <answers@example.com>"],
        }),
    );
    let unrelated = deliver(&server, &json!({ "to": "bob@example.net" }));
    server.post("/suppressions", &json!({ "email": ADDRESS, "origin": "unsubscribe" })).ok(201);
    (server, [only_to_address, shared, unrelated])
}

#[test]
fn no_table_contains_the_address_after_an_erasure() {
    let (server, _) = server_with_address();
    let before = tables_that_mention(server.into_directory().path(), ADDRESS);
    let expected =
        ["attempts-1", "audience_events-1", "captured-1", "contacts-1", "emails-1", "events-1", "suppressions-1"];
    assert_eq!(before, expected);

    let (server, _) = server_with_address();
    server.delete("/contacts/ADA.LOVELACE@example.net?erase=true").ok(200);
    server.wait_for_erasures(0);
    let messages = server.captured_messages();

    let directory = server.into_directory();
    for trace in [ADDRESS, "lovelace"] {
        assert_eq!(tables_that_mention(directory.path(), trace), [] as [String; 0], "{trace}");
    }
    assert!(!messages.is_empty());
    for (envelope, message) in messages {
        let message = String::from_utf8(message).unwrap().to_lowercase();
        assert!(!message.contains("ada.lovelace"), "{envelope:?}");
    }
}

#[test]
fn an_erasure_replaces_only_the_address_in_emails() {
    let (server, [only_to_address, shared, unrelated]) = server_with_address();
    let unrelated_before = server.get(&format!("/emails/{unrelated}")).ok(200);
    let shared_before = server.get(&format!("/emails/{shared}")).ok(200);

    server.erase(&[ADDRESS]);

    let email = server.get(&format!("/emails/{only_to_address}")).ok(200);
    assert_eq!((&email["to"], &email["subject"]), (&json!(["[erased]"]), &json!("[erased]")));
    assert_eq!((&email["html"], &email["text"]), (&Value::Null, &Value::Null));
    assert_eq!(email["attachments"][0]["filename"], "[erased]");
    assert_eq!(email["recipients"], json!([{ "email": "[erased]", "last_event": "delivered" }]));
    assert!(email["events"].as_array().unwrap().iter().all(|event| event["to"] == json!(["[erased]"])), "{email}");
    assert!(!server.has_content(&only_to_address));
    let attachment = email["attachments"][0]["id"].as_str().unwrap();
    let purged = server.get(&format!("/emails/{only_to_address}/attachments/{attachment}")).refusal();
    assert!(purged.starts_with("410 attachments_purged"), "{purged}");

    let email = server.get(&format!("/emails/{shared}")).ok(200);
    assert_eq!(email["to"], json!(["Bob <bob@example.net>", "eve@elsewhere.example"]));
    assert_eq!(email["bcc"], json!(["[erased]"]));
    assert_eq!(email["reply_to"], json!(["[erased]", "Answers <answers@example.com>"]));
    assert_eq!(email["text"], shared_before["text"]);
    assert_eq!(server.get(&format!("/emails/{unrelated}")).ok(200), unrelated_before);
    assert_eq!(server.get("/emails").ok(200)["data"].as_array().unwrap().len(), 3);
    server.delete(&format!("/emails/{only_to_address}")).ok(200);
}

#[test]
fn an_address_can_be_erased_after_its_contact_is_deleted() {
    let server = TestServer::start();
    let sent = ["ada", "bob"].map(|name| deliver(&server, &json!({ "to": format!("{name}@example.net") })));
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    server.delete("/contacts/ada@example.net").ok(200);

    server.delete("/contacts/ada@example.net?erase=true").refused(404, "not_found", "Contact not found");
    assert_eq!(server.pending_erasures(), 0);
    let removal = json!({ "emails": ["ADA@example.net", "never@example.net"], "erase": true });
    let removed = server.post("/contacts/batch/remove", &removal).ok(200);
    assert_eq!(removed["data"], json!([]));
    server.wait_for_erasures(0);

    let to = sent.map(|id| server.get(&format!("/emails/{id}")).ok(200)["to"][0].clone());
    assert_eq!(to, ["[erased]", "bob@example.net"]);
    // Without `erase`, the removal requests no erasure.
    server.post("/contacts/batch/remove", &json!({ "emails": ["bob@example.net"] })).ok(200);
    assert_eq!(server.pending_erasures(), 0);
}

#[test]
fn a_batch_removal_erases_its_contacts_only_if_requested() {
    let server = TestServer::start();
    let sent = ["ada", "bob", "eve"].map(|name| {
        server.post("/contacts", &json!({ "email": format!("{name}@example.net") })).ok(201);
        deliver(&server, &json!({ "to": format!("{name}@example.net") }))
    });
    let remove = |names: &[&str], erase: bool| {
        let emails: Vec<String> = names.iter().map(|name| format!("{name}@example.net")).collect();
        server.post("/contacts/batch/remove", &json!({ "emails": emails, "erase": erase })).ok(200);
    };

    remove(&["eve"], false);
    remove(&["ADA", "nobody", "bob"], true);
    server.wait_for_erasures(0);

    let to = sent.map(|id| server.get(&format!("/emails/{id}")).ok(200)["to"][0].clone());
    assert_eq!(to, ["[erased]", "[erased]", "eve@example.net"]);
    let payloads = server.audience_events();
    let deleted = payloads.iter().filter(|event| event["type"] == "contact.deleted");
    let addresses: Vec<&Value> = deleted.map(|event| &event["data"]["email"]).collect();
    assert_eq!(addresses, ["eve@example.net", "[erased]", "[erased]"]);
    // A new contact with the erased address keeps its address.
    let added = server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    assert_eq!(server.get(&format!("/contacts/{}", added["id"].as_str().unwrap())).ok(200)["email"], "ada@example.net");
}

#[test]
fn an_erasure_leaves_the_data_of_another_team_unchanged() {
    let (server, _) = server_with_address();
    let other = server.other_team("Other", "other.example");
    let theirs = other.send(&json!({ "to": ADDRESS }));
    let path = format!("/emails/{theirs}");
    // The email is delivered first, because the suppression would stop it.
    other.wait_for(&theirs, "delivered");
    other.post("/suppressions", &json!({ "email": ADDRESS })).ok(201);
    let before = [other.get(&path).ok(200), other.get("/suppressions").ok(200)];

    server.erase(&[ADDRESS]);

    assert_eq!([other.get(&path).ok(200), other.get("/suppressions").ok(200)], before);
    assert!(before[0]["to"][0] == "Ada.Lovelace@example.net");
    let messages = server.captured_messages();
    assert!(messages.iter().any(|(envelope, _)| envelope.recipients == ["Ada.Lovelace@example.net"]));
}

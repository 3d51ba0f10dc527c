//! Removal of a team with all its data.

use std::time::Duration;

use redb::{ReadableDatabase as _, ReadableTable as _, TableDefinition, TableHandle as _};
use ringmail::base::clock::monotonic;
use ringmail::base::id::TeamId;
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use ringmail::tables::REMOVED_TEAMS;
use ringmail::team_removal::{RemoveTeamError, UnsentEmails};
use serde_json::{Value, json};

use crate::support::{OtherTeam, TestServer};

/// Longest wait for the worker.
const DEADLINE: Duration = Duration::from_secs(30);

/// Creates a resource of each kind for a team. Returns the ids of a delivered and of a scheduled email.
fn fill(team: &OtherTeam<'_>) -> [String; 2] {
    let create = |path: &str, body: Value| team.post(path, &body).ok(201)["id"].as_str().unwrap().to_owned();
    let topic = create("/topics", json!({ "name": "News", "default_subscription": "opt_in" }));
    let draft = json!({ "from": "hello@second.example", "subject": "June", "html": "<p>Hi</p>", "topic_id": topic });
    let draft = create("/broadcasts", draft);
    let scheduled = json!({ "scheduled_at": "in 1 hour" });
    team.post(&format!("/broadcasts/{draft}/send"), &scheduled).ok(200);
    team.post(&format!("/broadcasts/{draft}/duplicate"), &json!({})).ok(200);
    create("/contact-properties", json!({ "key": "plan", "type": "string" }));
    let segment = create("/segments", json!({ "name": "All" }));
    let contact = create("/contacts", json!({ "email": "ada@example.net", "properties": { "plan": "pro" } }));
    team.post(&format!("/contacts/{contact}/segments/{segment}"), &json!({})).ok(200);
    let webhook = create("/webhooks", json!({ "endpoint": "https://hooks.example/x", "events": ["email.delivered"] }));
    team.add_webhook_delivery(&webhook);
    create("/suppressions", json!({ "email": "listed@example.net" }));
    create("/api-keys", json!({ "name": "Second" }));
    team.add_owner("owner@example.net");
    let files = json!([{ "filename": "a.txt", "content": "YQ==" }]);
    let delivered = team.send(&json!({ "to": "ada@example.net", "attachments": files }));
    team.wait_for(&delivered, "delivered");
    [delivered, team.send(&json!({ "scheduled_at": "in 1 hour", "topic_id": topic }))]
}

fn is_removal_complete(server: &TestServer) -> bool {
    let mut count = 0;
    let scan = |tx: &ringmail::store::ReadTx| {
        tx.scan(&REMOVED_TEAMS, &(TeamId::MIN,), &(TeamId::MAX,), Order::Ascending, |_, _| {
            count += 1;
            NEXT
        })
    };
    server.context().store.read_now::<_, StoreError>(scan).unwrap();
    count == 0
}

/// Waits until the data of every removed team is deleted.
pub(crate) fn wait_for_removal(server: &TestServer) {
    let started = monotonic();
    while !is_removal_complete(server) {
        assert!(started.elapsed() < DEADLINE, "the data of the team is not deleted");
    }
}

/// Returns the tables with a row that contains one of the byte strings.
pub(crate) fn tables_with(directory: &std::path::Path, wanted: &[Vec<u8>]) -> Vec<String> {
    let database = redb::Database::open(directory.join(ringmail::store::FILE_NAME)).unwrap();
    let tx = database.begin_read().unwrap();
    let mut found = Vec::new();
    for handle in tx.list_tables().unwrap() {
        let table = tx.open_table(TableDefinition::<&[u8], &[u8]>::new(handle.name())).unwrap();
        let mentions = table.iter().unwrap().any(|row| {
            let (key, value) = row.unwrap();
            let bytes = [key.value(), value.value()].concat();
            wanted.iter().any(|wanted| bytes.windows(wanted.len()).any(|window| window == wanted))
        });
        if mentions {
            found.push(handle.name().to_owned());
        }
    }
    found
}

#[test]
fn a_removed_team_leaves_no_row_and_its_keys_are_refused_immediately() {
    let server = TestServer::start();
    let kept = server.send(&json!({ "to": "delivered@ringmail.test" }));
    let team = server.other_team("Second", "second.example");
    let emails = fill(&team);
    let raw = |id: &str| u128::from_str_radix(&id.replace('-', ""), 16).unwrap().to_be_bytes().to_vec();
    let mut ids: Vec<Vec<u8>> = emails.iter().map(|id| raw(id)).collect();
    ids.push(team.team.as_bytes().to_vec());
    let team_id = team.team.to_string();
    let names = ["ada@example.net", "owner@example.net", "second.example"];
    let texts = [team_id.as_str(), emails[0].as_str(), emails[1].as_str()].into_iter().chain(names);
    ids.extend(texts.map(|text| text.as_bytes().to_vec()));

    let refused = team.remove(UnsentEmails::Refuse);
    assert!(matches!(refused, Err(RemoveTeamError::HasUnsentEmails)), "{refused:?}");
    assert_eq!(team.get("/domains").status, 200);
    team.remove(UnsentEmails::Cancel).unwrap();

    assert_eq!(team.get("/domains").status, 403);
    let gone = team.remove(UnsentEmails::Cancel);
    assert!(matches!(gone, Err(RemoveTeamError::NotFound)), "{gone:?}");
    server.advance(Duration::from_secs(10 * 60));
    wait_for_removal(&server);
    assert_eq!(server.get(&format!("/emails/{kept}")).status, 200);
    let directory = server.into_directory();
    // The audit log has the name of its domain and the address of its owner for their retention period.
    assert_eq!(tables_with(directory.path(), &ids), ["audit_log-1"]);
    let recipient = b"ada@example.net".to_vec();
    assert_eq!(tables_with(directory.path(), &[recipient]), Vec::<String>::new());
}

#[test]
fn the_only_team_cannot_be_removed_and_a_team_without_unsent_email_can() {
    let server = TestServer::start();
    let team = server.other_team("Second", "second.example");
    let delivered = team.send(&json!({ "to": "delivered@ringmail.test" }));
    team.wait_for(&delivered, "delivered");

    team.remove(UnsentEmails::Refuse).unwrap();

    let only = server.remove_first_team();
    assert!(matches!(only, Err(RemoveTeamError::OnlyTeam)), "{only:?}");
    assert_eq!(server.get("/domains").status, 200);
}

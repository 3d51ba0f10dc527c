//! Each audited action leaves one entry. A refused action leaves none.

use ringmail::admin::Response;
use ringmail::admin::queue::{QueueVerb, SelectorArgs};
use ringmail::admin::request::AdminVerb;
use ringmail::admin::teams::TeamVerb;
use ringmail::admin::themes::{ThemeArgs, ThemeVerb};
use ringmail::admin::users::UserVerb;
use ringmail::users::Role;
use serde_json::{Value, json};

use super::{actions, recorded};
use crate::dashboard::browser::{Browser, EMAIL, PASSWORD, add_user, set_up};
use crate::support::TestServer;

#[track_caller]
fn id(created: &Value) -> String {
    created["id"].as_str().expect("an id").to_owned()
}

#[test]
fn a_change_with_an_api_key_leaves_one_entry_with_the_name_of_the_key() {
    let server = TestServer::start();
    let mut secrets = Vec::new();
    let entries = recorded(&server, || {
        let key = server.post("/api-keys", &json!({ "name": "build" })).ok(201);
        secrets.push(key["token"].as_str().unwrap().to_owned());
        server.patch(&format!("/api-keys/{}", id(&key)), &json!({ "name": "deploy" })).ok(200);
        server.delete(&format!("/api-keys/{}", id(&key))).ok(200);
        let domain = id(&server.post("/domains", &json!({ "name": "audit.example" })).ok(201));
        server.post(&format!("/domains/{domain}/verify"), &json!({})).ok(200);
        server.patch(&format!("/domains/{domain}"), &json!({ "tracking_subdomain": "go" })).ok(200);
        server.delete(&format!("/domains/{domain}")).ok(200);
        let new = json!({ "endpoint": "https://hooks.example/path-secret?x=1", "events": ["email.sent"] });
        let webhook = server.post("/webhooks", &new).ok(201);
        secrets.push(webhook["signing_secret"].as_str().unwrap().to_owned());
        let webhook = id(&webhook);
        server.patch(&format!("/webhooks/{webhook}"), &json!({ "status": "disabled" })).ok(200);
        server.post(&format!("/webhooks/{webhook}/rotate"), &json!({})).ok(200);
        server.delete(&format!("/webhooks/{webhook}")).ok(200);
        let listed = id(&server.post("/suppressions", &json!({ "email": "gone@example.net" })).ok(201));
        server.delete(&format!("/suppressions/{listed}")).ok(200);
    });

    let expected = [
        "api_key.created",
        "api_key.updated",
        "api_key.deleted",
        "domain.created",
        "domain.verification_requested",
        "domain.updated",
        "domain.deleted",
        "webhook.created",
        "webhook.updated",
        "webhook.secret_rotated",
        "webhook.deleted",
        "suppression.added",
        "suppression.removed",
    ];
    assert_eq!(actions(&entries), expected);
    for entry in &entries {
        assert_eq!(entry.actor.kind, "api_key", "{entry:?}");
        assert!(entry.actor.id.is_some() && entry.actor.name.is_some() && entry.team_id.is_some(), "{entry:?}");
    }
    let target = |at: usize| entries[at].target.as_ref().unwrap();
    assert_eq!((target(0).kind.as_str(), target(0).name.as_deref()), ("api_key", Some("build")));
    assert_eq!(entries[0].detail["permission"], "full_access");
    assert_eq!(entries[1].detail["name"], "deploy");
    assert_eq!(target(2).name.as_deref(), Some("deploy"));
    assert_eq!(entries[5].detail["tracking_subdomain"], "go");
    assert_eq!(target(7).name.as_deref(), Some("https://hooks.example"));
    assert_eq!(entries[8].detail["status"], "disabled");
    assert_eq!((target(11).kind.as_str(), target(11).name.as_deref()), ("suppression", None));
    let stored = serde_json::to_string(&entries).unwrap();
    for secret in secrets.iter().map(String::as_str).chain(["path-secret", "gone@example.net", "whsec_"]) {
        assert!(!stored.contains(secret), "{secret} is in {stored}");
    }
}

#[test]
fn the_deletion_of_a_domain_names_its_keys() {
    let server = TestServer::start();
    let domain = id(&server.post("/domains", &json!({ "name": "audit.example" })).ok(201));
    let key = json!({ "name": "shop", "permission": "sending_access", "domain_id": domain });
    server.post("/api-keys", &key).ok(201);

    let entries = recorded(&server, || {
        server.delete(&format!("/domains/{domain}")).ok(200);
    });

    assert_eq!(actions(&entries), ["domain.deleted", "api_key.deleted"]);
    assert_eq!(entries[1].target.as_ref().unwrap().name.as_deref(), Some("shop"));
    assert_eq!(entries[1].detail["domain_id"], domain.as_str());
}

#[test]
fn a_test_and_a_replay_of_a_webhook_leave_one_entry_each() {
    let server = TestServer::start();
    let endpoint = json!({ "endpoint": "http://127.0.0.1:9/", "events": ["email.sent"] });
    let webhook = id(&server.post("/webhooks", &endpoint).ok(201));

    let entries = recorded(&server, || {
        let event = id(&server.post(&format!("/webhooks/{webhook}/test"), &json!({})).ok(200));
        server.post(&format!("/webhooks/{webhook}/events/{event}/replay"), &json!({})).ok(200);
    });

    assert_eq!(actions(&entries), ["webhook.tested", "webhook.replayed"]);
    assert_eq!(entries[0].detail["event"], "email.sent");
}

#[test]
fn a_canceled_or_deleted_broadcast_and_a_deleted_template_leave_one_entry_each() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201);
    let mut ids = Vec::new();
    let entries = recorded(&server, || {
        let draft = json!({ "name": "June", "from": "Acme <news@example.com>", "subject": "Hello", "text": "Hi" });
        let [canceled, deleted] = [(); 2].map(|()| id(&server.post("/broadcasts", &draft).ok(201)));
        let scheduled = json!({ "scheduled_at": "in 1 hour" });
        server.post(&format!("/broadcasts/{canceled}/send"), &scheduled).ok(200);
        server.post(&format!("/broadcasts/{canceled}/cancel"), &json!({})).ok(200);
        server.delete(&format!("/broadcasts/{deleted}")).ok(200);
        let template = id(&server.post("/templates", &json!({ "name": "Receipt", "html": "<p>Hi</p>" })).ok(201));
        server.delete(&format!("/templates/{template}")).ok(200);
        ids.extend([canceled.clone(), canceled, deleted, template]);
    });

    assert_eq!(actions(&entries), ["broadcast.sent", "broadcast.canceled", "broadcast.deleted", "template.deleted"]);
    for (entry, id) in entries.iter().zip(&ids) {
        let target = entry.target.as_ref().unwrap();
        let expected = if target.kind == "template" { "Receipt" } else { "June" };
        assert_eq!((&target.id, target.name.as_deref()), (id, Some(expected)), "{entry:?}");
        assert_eq!(entry.actor.kind, "api_key", "{entry:?}");
    }
    assert_eq!(entries[1].detail["unsent"], 1);
}

#[test]
fn a_refused_change_leaves_no_entry() {
    let server = TestServer::start();
    let unknown = "00000000-0000-7000-8000-000000000000";
    let entries = recorded(&server, || {
        assert_eq!(server.post("/api-keys", &json!({ "name": "" })).status, 422);
        assert_eq!(server.post("/domains", &json!({ "name": "example.com" })).status, 403);
        assert_eq!(server.post("/webhooks", &json!({ "endpoint": "ftp://x", "events": ["email.sent"] })).status, 422);
        for path in ["api-keys", "domains", "webhooks", "suppressions", "templates", "broadcasts"] {
            assert_eq!(server.delete(&format!("/{path}/{unknown}")).status, 404, "{path}");
        }
        assert_eq!(server.post(&format!("/domains/{unknown}/verify"), &json!({})).status, 404);
        let removed = server.admin(UserVerb::Remove { email: "nobody@example.com".into() });
        assert!(matches!(removed, Response::Refused(_)), "{removed:?}");
        let created = server.admin(TeamVerb::Create { name: "Main".into() });
        assert!(matches!(created, Response::Refused(_)), "{created:?}");
    });

    assert_eq!(actions(&entries), Vec::<&str>::new());
}

#[test]
fn a_request_that_changes_nothing_leaves_no_entry() {
    let server = TestServer::start();
    let key = id(&server.post("/api-keys", &json!({ "name": "build" })).ok(201));
    let domain = id(&server.post("/domains", &json!({ "name": "audit.example" })).ok(201));
    let endpoint = json!({ "endpoint": "https://hooks.example/", "events": ["email.sent"] });
    let webhook = id(&server.post("/webhooks", &endpoint).ok(201));
    server.post("/suppressions", &json!({ "email": "gone@example.net" })).ok(201);
    server.admin(UserVerb::Create { email: "ada@example.com".into(), role: Some(Role::Owner) });
    let entries = recorded(&server, || {
        server.patch(&format!("/api-keys/{key}"), &json!({ "name": "build" })).ok(200);
        server.patch(&format!("/domains/{domain}"), &json!({ "open_tracking": false })).ok(200);
        server.patch(&format!("/webhooks/{webhook}"), &json!({ "status": "enabled" })).ok(200);
        server.post("/suppressions", &json!({ "email": "GONE@example.net" })).ok(201);
        server.post("/suppressions/batch/add", &json!({ "emails": ["gone@example.net"] }));
        let verbs: [AdminVerb; 2] = [
            TeamVerb::Rename { current: "Main".into(), name: "Main".into() }.into(),
            UserVerb::Role { email: "ada@example.com".into(), role: Role::Owner }.into(),
        ];
        for verb in verbs {
            let response = server.admin(verb);
            assert!(!matches!(response, Response::Refused(_)), "{response:?}");
        }
    });

    assert_eq!(actions(&entries), Vec::<&str>::new());
}

#[test]
fn sending_and_the_change_of_a_contact_leave_no_entry() {
    let server = TestServer::start();
    let entries = recorded(&server, || {
        server.send(&json!({ "to": "delivered@ringmail.test" }));
        let contact = id(&server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201));
        server.patch(&format!("/contacts/{contact}"), &json!({ "first_name": "Ada" })).ok(200);
        server.delete(&format!("/contacts/{contact}")).ok(200);
    });

    assert_eq!(actions(&entries), Vec::<&str>::new());
}

#[test]
fn the_erasure_of_a_contact_leaves_an_entry_without_its_address() {
    let server = TestServer::start();
    let entries = recorded(&server, || {
        let contact = id(&server.post("/contacts", &json!({ "email": "ada@example.net" })).ok(201));
        server.delete(&format!("/contacts/{contact}?erase=true")).ok(200);
    });

    assert_eq!(actions(&entries), ["contact.erased"]);
    assert!(!serde_json::to_string(&entries).unwrap().contains("ada@"), "{entries:?}");
}

#[test]
fn each_change_by_the_command_line_leaves_one_entry() {
    let server = TestServer::start();
    let run = |verb: AdminVerb| {
        let response = server.admin(verb);
        assert!(!matches!(response, Response::Refused(_)), "{response:?}");
    };
    let email = || "ada@example.com".to_owned();
    let whole_queue = || SelectorArgs { is_all: true, ..SelectorArgs::default() };
    let entries = recorded(&server, || {
        run(TeamVerb::Create { name: "Shop".into() }.into());
        run(TeamVerb::Rename { current: "Shop".into(), name: "Store".into() }.into());
        run(TeamVerb::Remove { current: "Store".into(), force: true }.into());
        run(UserVerb::Create { email: email(), role: None }.into());
        run(UserVerb::Create { email: "bob@example.com".into(), role: Some(Role::Owner) }.into());
        run(UserVerb::Role { email: email(), role: Role::Viewer }.into());
        run(UserVerb::Remove { email: email() }.into());
        run(ThemeVerb::Set(ThemeArgs { brand: Some("Acme".to_owned()), ..ThemeArgs::default() }).into());
        run(ThemeVerb::Reset.into());
        run(QueueVerb::Pause { selector: whole_queue() }.into());
        run(QueueVerb::Resume { selector: whole_queue(), after: None }.into());
        run(QueueVerb::Flush { selector: whole_queue(), after: None }.into());
        run(QueueVerb::Drop { selector: whole_queue(), yes: true, after: None }.into());
    });

    let expected = [
        "team.created",
        "team.renamed",
        "team.removed",
        "member.added",
        "member.added",
        "member.role_changed",
        "member.removed",
        "theme.changed",
        "theme.reset",
        "queue.paused",
        "queue.resumed",
        "queue.flushed",
        "queue.dropped",
    ];
    assert_eq!(actions(&entries), expected);
    assert!(entries.iter().all(|entry| entry.actor.kind == "command_line" && entry.actor.name.is_none()));
    assert_eq!(entries[6].target.as_ref().unwrap().name.as_deref(), Some("ada@example.com"));
    assert!(entries[..9].iter().all(|entry| entry.team_id.is_some()));
    assert!(entries[9..].iter().all(|entry| entry.team_id.is_none()));
}

#[test]
fn sign_ins_sessions_and_changes_of_the_dashboard_have_the_address_of_the_user() {
    let server = TestServer::serve_with(&[]);
    let entries = recorded(&server, || {
        let ada = set_up(&server);
        let bob = add_user(&server, "bob@example.com", Role::Member);
        let second = Browser::new(&server);
        second.sign_in(EMAIL, "a wrong password");
        second.sign_in("nobody@example.com", "a wrong password");
        second.sign_in(EMAIL, PASSWORD).leads_to("/dashboard/");
        ada.api("DELETE", "/sessions", None).json(200);
        ada.api("POST", "/api-keys", Some(&json!({ "name": "build" }))).json(201);
        ada.api("POST", "/queue/pause", None).json(200);
        assert_eq!(bob.api("POST", "/api-keys", Some(&json!({ "name": "refused" }))).status(), 403);
    });

    let found: Vec<_> = entries.iter().map(|entry| (entry.action.as_str(), entry.actor.name.as_deref())).collect();
    let expected = [
        ("setup_link.created", None),
        ("account.created", Some(EMAIL)),
        ("member.added", None),
        ("user.link_created", None),
        ("user.password_set", Some("bob@example.com")),
        ("sign_in.refused", None),
        ("sign_in.refused", None),
        ("sign_in.succeeded", Some(EMAIL)),
        ("session.ended", Some(EMAIL)),
        ("api_key.created", Some(EMAIL)),
        ("queue.paused", Some(EMAIL)),
    ];
    assert_eq!(found, expected);
    assert_eq!(entries[5].target.as_ref().unwrap().name.as_deref(), Some(EMAIL));
    assert!(entries[6].target.is_none() && entries[6].team_id.is_none(), "{:?}", entries[6]);
    let stored = serde_json::to_string(&entries).unwrap();
    for secret in [PASSWORD, "a wrong password", "nobody@example.com"] {
        assert!(!stored.contains(secret), "{secret} is in {stored}");
    }
}

#[test]
fn refused_sign_ins_above_the_limit_of_a_minute_leave_no_entry() {
    let server = TestServer::serve_with(&[]);
    set_up(&server);
    let browser = Browser::new(&server);
    let entries = recorded(&server, || {
        for number in 0..15 {
            browser.sign_in(&format!("user{number}@example.com"), "a wrong password");
        }
    });

    assert_eq!(actions(&entries), ["sign_in.refused"; 10]);
}

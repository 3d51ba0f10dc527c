//! A store of schema 1 with at least one row in every table. Every later version must open it and read
//! the same rows.
//!
//! `tests/fixtures/store/README.md` describes how to write the file.

use std::collections::BTreeSet;
use std::{env, fs};

use serde_json::{Value as Json, json};

use super::meta::{EPOCH, META, MetaKey};
use super::*;
use crate::base::clock::Clock;
use crate::base::id::{EmailId, EventId, Id, SuppressionId, TeamId};
use crate::context::Context;
use crate::delivery::capture::CaptureMailbox;
use crate::mime::dkim::{Algorithm, SigningKey};
use crate::tables::*;
use crate::{domains, emails};

/// Environment variable that makes the test write the fixture again. Only until the schema is released.
const WRITE: &str = "RINGMAIL_WRITE_FIXTURES";
const FIXTURE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/store/schema-1.redb.zst");
const MASTER_KEY: [u8; 32] = [7; 32];
/// Bound of the decompressed fixture, which is far smaller.
const FIXTURE_BYTES_MAX: usize = 16 << 20;

const TEAM: TeamId = TeamId::from_bytes(id_bytes(1));
const EMAIL: EmailId = EmailId::from_bytes(id_bytes(2));
const AT_MS: i64 = 1_767_604_353_456;
const HASH: [u8; 32] = [9; 32];
const SELECTORS: [&str; 2] = ["rm-a-rsa", "rm-a-ed"];

/// Returns a version 7 id whose timestamp is [`AT_MS`].
const fn id_bytes(number: u8) -> [u8; 16] {
    [0x01, 0x9b, 0x8d, 0x6d, 0xf9, 0xb0, 0x70, 0, 0x80, 0, 0, 0, 0, 0, 0, number]
}

/// Returns the id of a number as text.
fn id(number: u8) -> String {
    Id::<()>::from_bytes(id_bytes(number)).to_string()
}

fn raw<R>(number: u8) -> Id<R> {
    Id::from_bytes(id_bytes(number))
}

/// The writer or the reader of the fixture.
trait Visit {
    fn row<K: Key, R: Row>(&mut self, table: &Table<K, R>, key: &K, row: Json);
    /// Visits a row without a value.
    fn mark<K: Key>(&mut self, table: &Table<K, ()>, key: &K);
    fn sealed<K: Key>(&mut self, table: &Table<K, Blob>, key: &K, place: &[u8], plain: &[u8]);
    /// Returns the random fields of a DKIM key.
    fn drawn(&mut self, selector: &str, algorithm: Algorithm) -> Json;
}

/// Visits every row of the fixture. The rows must not change after schema 1 is released.
fn visit_all(visit: &mut impl Visit) {
    visit.row(&META, &MetaKey::SCHEMA, json!({ "kind": "serve" }));
    visit.row(&TEAMS, &(TEAM,), json!({ "name": "Example", "created_ms": AT_MS }));
    visit_people(visit);
    visit_domain(visit);
    visit_email(visit);
    visit_delivery(visit);
    visit_events(visit);
    visit_audience(visit);
    visit_webhooks(visit);
    visit_logs(visit);
}

fn visit_people(visit: &mut impl Visit) {
    for (number, role) in (10..).zip(["owner", "admin", "member"]) {
        visit.row(&USERS, &(raw(number),), json!({ "email": format!("{role}@example.com"), "created_ms": AT_MS }));
        visit.row(&USER_ADDRESSES, &([number; 32],), json!({ "id": id(number) }));
        visit.row(&MEMBERSHIPS, &(TEAM, raw(number)), json!({ "role": role, "created_ms": AT_MS }));
    }
    for (number, permission) in (13..).zip(["full_access", "sending_access"]) {
        let key = json!({
            "name": "Production", "permission": permission, "domain": id(20), "token_hash": HASH,
            "last_four": "abcd", "created_ms": AT_MS,
        });
        visit.row(&API_KEYS, &(TEAM, raw(number)), key);
        visit.row(&API_KEY_USES, &(TEAM, raw(number)), json!({ "used_ms": AT_MS }));
    }
}

fn visit_domain(visit: &mut impl Visit) {
    let records = [
        json!({ "kind": "return_path_mx", "status": "verified", "live": "found" }),
        json!({ "kind": "return_path_spf", "status": "failed", "live": "mismatch", "detail": "Two SPF records." }),
        json!({ "kind": "dkim_rsa", "status": "temporary_failure", "live": "unknown" }),
        json!({ "kind": "dkim_ed25519", "status": "verified", "live": "found" }),
        json!({ "kind": "tracking", "status": "pending", "live": "missing" }),
        json!({ "kind": "dmarc", "status": "verified", "inherited_from": "example.com", "policy": "reject" }),
    ];
    let rsa = visit.drawn(SELECTORS[0], Algorithm::RsaSha256);
    let ed25519 = visit.drawn(SELECTORS[1], Algorithm::Ed25519Sha256);
    for (number, status) in (20..).zip(["verified", "pending", "not_started", "failed"]) {
        let domain = json!({
            "name": format!("mail{number}.example.com"), "region": "local", "status": status,
            "return_path": "send", "open_tracking": true, "click_tracking": false, "tracking_subdomain": "links",
            "rsa": rsa, "ed25519": ed25519, "records": records,
            "checked_ms": AT_MS, "pending_since_ms": AT_MS, "assumed": true, "created_ms": AT_MS,
        });
        visit.row(&DOMAINS, &(TEAM, raw(number)), domain);
    }
    let sender = json!({ "id": id(20), "verified": true, "tracked": true, "ed25519": true });
    visit.row(&SENDER_DOMAINS, &(TEAM, HASH), sender);
}

fn visit_email(visit: &mut impl Visit) {
    let states = [
        ("to", json!({ "waiting": { "due_ms": AT_MS } }), "scheduled"),
        ("to", json!("in_flight"), "sent"),
        ("cc", json!({ "waiting": { "due_ms": AT_MS } }), "delivery_delayed"),
        ("cc", json!("settled"), "delivered"),
        ("bcc", json!("settled"), "bounced"),
        ("bcc", json!("settled"), "suppressed"),
        ("bcc", json!("settled"), "failed"),
        ("bcc", json!("settled"), "canceled"),
        ("bcc", json!("settled"), "complained"),
        ("bcc", json!("settled"), "queued"),
    ];
    let recipients: Vec<Json> = (0..)
        .zip(states)
        .map(|(group, (kind, state, last_event)): (u16, _)| {
            let mailbox = format!("Recipient <r{group}@example.net>");
            json!({ "kind": kind, "mailbox": mailbox, "group": group, "state": state, "last_event": last_event })
        })
        .collect();
    let email = json!({
        "created_ms": AT_MS, "from": "Sender <sender@mail20.example.com>", "domain": id(20), "key": id(13),
        "recipients": recipients, "reply_to": ["reply@example.com"], "subject": "Grüße", "tags": [["kind", "test"]],
        "topic": id(40), "scheduled_ms": AT_MS,
        "attachments": [{ "id": id(30), "filename": "a.txt", "size": 5, "content_type": "text/plain" }],
        "has_headers": true, "last_event": "delivery_delayed", "hidden": true,
    });
    visit.row(&EMAILS, &(TEAM, EMAIL), email);
    let content = json!({ "html": "<p>Hello</p>", "text": "Hello", "headers": [["X-Kind", "test"]] });
    let content = rmp_serde::to_vec_named(&content).unwrap();
    let content = zstd::bulk::compress(&content, 1).unwrap();
    visit.sealed(&EMAIL_BODIES, &(EMAIL, 0), &[b"c", EMAIL.as_bytes().as_slice()].concat(), &content);
    let place = [b"a", EMAIL.as_bytes().as_slice(), &[0, 1]].concat();
    visit.sealed(&ATTACHMENTS, &(EMAIL, 1, 0), &place, b"bytes");
    let answered = json!({
        "team": TEAM, "key_hash": HASH, "body_hash": HASH, "answer": [EMAIL], "refused": [[3, "No such domain."]],
    });
    visit.row(&IDEMPOTENCY, &(1_767_690_753_456, raw(31)), answered);
}

fn visit_delivery(visit: &mut impl Visit) {
    let due = json!({
        "team": TEAM, "destination": "example.net", "attempts": 2, "first_due_ms": AT_MS,
        "without_pipelining": true, "delays_reported": 1, "possible_duplicate": true,
    });
    visit.row(&DUE, &(1_767_604_353_456, 0, EMAIL, 2), due.clone());
    for (group, class) in (1..).zip(["transactional", "broadcast"]) {
        let lease = json!({ "due": due, "class": class, "epoch": 1, "leased_ms": AT_MS });
        visit.row(&LEASES, &(EMAIL, group), lease);
    }
    let attempt = json!({
        "at_ms": AT_MS, "group": 3, "number": 1, "host": "mx.example.net", "address": "192.0.2.1:25",
        "tls": "TLS 1.3", "summary": "250 2.0.0 Ok", "transcript": "> EHLO mail.example.com\n",
    });
    visit.row(&ATTEMPTS, &(EMAIL, raw(32)), attempt);
    let host = json!({ "name": "mx.example.net", "broken_tls_until_ms": AT_MS });
    visit.row(&RECEIVING_HOSTS, &(HASH,), host);
    visit.row(&DESTINATIONS, &(HASH,), json!({ "name": "example.net", "delivered_ms": AT_MS }));
    let captured = json!({
        "received_ms": AT_MS, "sender": "sender@mail20.example.com", "recipients": ["r0@example.net"],
        "email": EMAIL, "size": 17,
    });
    visit.row(&CAPTURED, &(raw(33),), captured);
    let place = [b"m", id_bytes(33).as_slice()].concat();
    visit.sealed(&CAPTURED_MESSAGES, &(raw(33), 0), &place, b"Subject: x\r\n\r\nHi\r");
}

fn visit_events(visit: &mut impl Visit) {
    let bounce = |bounce_type: &str| {
        let bounce = json!({
            "message": "No such user.", "bounce_type": bounce_type, "subtype": "General",
            "diagnostic": ["smtp; 550 5.1.1 No such user"],
        });
        json!({ "bounce": bounce })
    };
    let opened = json!({ "ip_address": "192.0.2.7", "user_agent": "Mail/1", "at_ms": AT_MS, "reason": "click" });
    let clicked = json!({
        "link": "https://example.com/", "ip_address": "192.0.2.7", "user_agent": "Mail/1", "at_ms": AT_MS,
        "reason": "gateway",
    });
    let events = [
        ("email.scheduled", json!("none")),
        ("email.sent", json!("none")),
        ("email.delivered", json!({ "reply": { "reply": "250 Ok" } })),
        ("email.delivery_delayed", json!({ "reply": { "reply": "450 Later" } })),
        ("email.bounced", bounce("Permanent")),
        ("email.bounced", bounce("Transient")),
        ("email.bounced", bounce("Undetermined")),
        ("email.complained", json!("none")),
        ("email.complained", json!({ "complaint": { "feedback_type": "abuse" } })),
        ("email.opened", json!({ "open": opened })),
        ("email.clicked", json!({ "click": clicked })),
        ("email.prefetched", json!({ "open": opened })),
        ("email.failed", json!({ "failed": { "reason": "expired", "diagnostic": ["smtp; 450 Later"] } })),
        ("email.canceled", json!("none")),
    ];
    for (number, (kind, detail)) in (60..).zip(events) {
        let mut event = json!({ "team": TEAM, "kind": kind, "at_ms": AT_MS, "recipients": ["r0@example.net"] });
        if detail != "none" {
            event["detail"] = detail;
        }
        visit.row(&EVENTS, &(EMAIL, raw::<crate::base::id::resource::Event>(number)), event);
    }
    visit.mark(&INGESTED, &(20_458, HASH));
}

fn visit_audience(visit: &mut impl Visit) {
    for (number, origin) in (50..).zip(["bounce", "complaint", "manual", "unsubscribe"]) {
        let entry = json!({
            "email": "r4@example.net", "hash": vec![number; 32], "origin": origin, "source": EMAIL, "created_ms": AT_MS,
            "opted_out_ms": AT_MS,
        });
        let suppression: SuppressionId = raw(number);
        visit.row(&SUPPRESSIONS, &(TEAM, suppression), entry);
        visit.row(&SUPPRESSION_ADDRESSES, &(TEAM, [number; 32]), json!({ "id": suppression }));
        visit.mark(&SUPPRESSION_ORIGINS, &(TEAM, number - 50, suppression));
        visit.mark(&SUPPRESSION_ORIGINS, &(TEAM, 255, suppression));
    }
    let erasure = json!({
        "sealed": [1, 2, 3], "stage": { "emails": { "after": id(48) } }, "pending_emails": [id(49)],
        "resume_after": id(46), "derived_suppressions": [id(50)],
    });
    visit.row(&ERASURES, &(TEAM, raw(47)), erasure);
    for (number, (default, visibility)) in (40..).zip([("opt_in", "public"), ("opt_out", "private")]) {
        let topic = json!({
            "name": "News", "description": "Once a month.", "default_subscription": default,
            "visibility": visibility, "created_ms": AT_MS,
        });
        visit.row(&TOPICS, &(TEAM, raw(number)), topic);
        visit.row(&TOPIC_CHOICES, &(TEAM, raw(45), raw(number)), json!({ "subscription": default }));
    }
    visit.row(&DELETED_TOPICS, &(TEAM, raw(44)), json!({ "deleted_ms": AT_MS }));
    for (number, kind) in (47..).zip(["string", "number"]) {
        let property = json!({ "key": kind, "kind": kind, "fallback": "12", "created_ms": AT_MS });
        visit.row(&CONTACT_PROPERTIES, &(TEAM, raw(number)), property);
        visit.row(&CONTACT_PROPERTY_KEYS, &(TEAM, [number; 32]), json!({ "id": id(number) }));
    }
    let contact = json!({
        "email": "r0@example.net", "first_name": "Ada", "last_name": "Lovelace", "unsubscribed_ms": AT_MS,
        "properties": { "plan": "pro" }, "updated_ms": AT_MS,
    });
    visit.row(&CONTACTS, &(TEAM, raw(45)), contact);
    visit.row(&CONTACT_ADDRESSES, &(TEAM, HASH), json!({ "id": id(45) }));
    visit.mark(&SEGMENT_MEMBERS, &(TEAM, raw(46), raw(45)));
    visit.mark(&CONTACT_SEGMENTS, &(TEAM, raw(45), raw(46)));
    visit_audience_events(visit);
    visit.row(&AUDIENCES, &(TEAM,), json!({ "contacts": 1, "revision": 7 }));
    visit.row(&SEGMENTS, &(TEAM, raw(46)), json!({ "name": "Everyone", "created_ms": AT_MS }));
    let theme = json!({
        "brand": "Example", "message": "Hello", "success": "Goodbye", "redirect": "https://example.com/bye",
        "background": "#ffffff", "text": "#101010", "accent": "#3b5bdb",
    });
    visit.row(&PREFERENCE_THEMES, &(TEAM,), theme);
    visit.row(&USAGE, &(TEAM, 20_458), json!({ "emails": 12 }));
}

fn visit_logs(visit: &mut impl Visit) {
    let row = json!({
        "method": "POST", "endpoint": "/emails", "status": 200, "key": id(13), "duration_ms": 4,
        "user_agent": "resend-node:6.0.0",
    });
    visit.row(&REQUEST_LOGS, &(TEAM, raw(90)), row);
    let copies = json!({ "request": "{\"to\":\"r0@example.net\"}", "response": "{\"id\":\"1\"}" });
    let packed = [&[0], rmp_serde::to_vec_named(&copies).unwrap().as_slice()].concat();
    visit.sealed(&REQUEST_LOG_BODIES, &(TEAM, raw(90)), &[b"l", id_bytes(90).as_slice()].concat(), &packed);
}

fn visit_audience_events(visit: &mut impl Visit) {
    let contact = json!({
        "id": id(45), "email": "r0@example.net", "first_name": "Ada", "last_name": "Lovelace", "unsubscribed": true,
        "updated_ms": AT_MS, "segments": [id(46)],
    });
    let sources = ["api", "dashboard", "hosted_page", "one_click"];
    let kinds = ["created", "updated", "deleted", "unsubscribed", "resubscribed", "topic_opt_in", "topic_opt_out"];
    for (index, kind) in (0..).zip(kinds) {
        let subject = json!({
            "contact": { "contact": contact, "source": sources[index % 4], "topic": { "id": id(40), "name": "News" } },
        });
        let event = json!({ "kind": format!("contact.{kind}"), "at_ms": AT_MS, "subject": subject });
        visit.row(&AUDIENCE_EVENTS, &(TEAM, raw(70 + index as u8)), event);
    }
    for (number, kind) in (80..).zip(["added", "removed"]) {
        let entry = json!({
            "id": id(50), "email": "r4@example.net", "origin": "manual", "source": "api", "created_ms": AT_MS,
        });
        let event = json!({
            "kind": format!("suppression.{kind}"), "at_ms": AT_MS, "subject": { "suppression": entry },
        });
        visit.row(&AUDIENCE_EVENTS, &(TEAM, raw(number)), event);
    }
}

fn visit_webhooks(visit: &mut impl Visit) {
    visit.row(&EVENT_SUBSCRIPTIONS, &(TEAM,), json!({ "endpoints": [[id(90), 3, 6], [id(91), 0, 1_u64 << 63]] }));
    let message = json!({ "event_type": "contact.created", "at_ms": AT_MS, "body": "{\"type\":\"contact.created\"}" });
    visit.row(&EVENT_MESSAGES, &(TEAM, raw(70)), message);
    visit.row(
        &EVENT_OUTBOX,
        &(TEAM, raw(70)),
        json!({ "event_type": "contact.created", "at_ms": AT_MS, "queued_ms": AT_MS, "endpoints": [[id(90), 3], [id(91), 0]] }),
    );
    let endpoints = [("enabled", json!({ "named": 6 })), ("disabled", json!("all")), ("auto_disabled", json!("all"))];
    for (number, (status, subscription)) in (90..).zip(endpoints) {
        let endpoint = json!({
            "endpoint": "https://hooks.example.com/mail", "subscription": subscription, "status": status,
            "activation": 3, "secret": [1, 2, 3], "previous": { "secret": [4, 5], "expires_ms": AT_MS },
        });
        visit.row(&WEBHOOKS, &(TEAM, raw(number)), endpoint);
    }
    let health = json!({
        "consecutive_failures": 3, "recent_failures": 7, "recent_count": 10, "failing_notified_ms": AT_MS, "backlog_notified_ms": AT_MS,
    });
    visit.row(&WEBHOOK_HEALTH, &(TEAM, raw(90)), health);
    let exhausted = |why: &str| json!({ "exhausted": { "at_ms": AT_MS, "why": why } });
    let states = [
        json!({ "queued": { "due_ms": AT_MS } }),
        json!({ "delivered": { "at_ms": AT_MS } }),
        exhausted("schedule"),
        exhausted("expired"),
        exhausted("disabled"),
        exhausted("payload_missing"),
    ];
    for (number, state) in (93..).zip(states) {
        let attempt = json!({ "id": id(99), "sent_ms": AT_MS, "took_ms": 12, "status": 500, "response": "no" });
        let delivery = json!({
            "event": id(70), "event_type": "contact.created", "at_ms": AT_MS, "queued_ms": AT_MS, "activation": 3,
            "state": state, "counted": 1, "attempts": [attempt],
        });
        visit.row(&WEBHOOK_DELIVERIES, &(TEAM, raw(90), raw(number)), delivery);
    }
    let endpoint = "https://hooks.example.com/mail";
    let notices = [
        json!({ "webhook_failing": { "webhook": id(90), "endpoint": endpoint } }),
        json!({ "webhook_disabled": { "webhook": id(90), "endpoint": endpoint } }),
        json!({ "webhook_backlog": { "webhook": id(90), "endpoint": endpoint, "oldest_ms": AT_MS } }),
    ];
    for (number, notice) in (100..).zip(notices) {
        visit.row(&NOTICES, &(TEAM, raw(number)), json!({ "at_ms": AT_MS, "notice": notice }));
    }
    visit.row(&WEBHOOK_QUEUE, &(raw(90), 1_767_604_353_456, raw(93)), json!({ "team": TEAM, "queued_ms": AT_MS }));
}

struct Writer<'a, 't> {
    tx: &'a WriteTx<'t>,
    keyring: &'a Keyring,
}

impl Visit for Writer<'_, '_> {
    fn row<K: Key, R: Row>(&mut self, table: &Table<K, R>, key: &K, row: Json) {
        if table.name() != META.name() {
            let row: R = serde_json::from_value(row).unwrap();
            self.tx.put(table, key, &row).unwrap();
        }
    }

    fn mark<K: Key>(&mut self, table: &Table<K, ()>, key: &K) {
        self.tx.put(table, key, &()).unwrap();
    }

    fn sealed<K: Key>(&mut self, table: &Table<K, Blob>, key: &K, place: &[u8], plain: &[u8]) {
        self.tx.put(table, key, &Blob(self.keyring.seal(place, plain))).unwrap();
    }

    fn drawn(&mut self, selector: &str, algorithm: Algorithm) -> Json {
        let key = SigningKey::generate(algorithm).unwrap();
        let place = format!("domains/{}/{selector}", id(20));
        let sealed = self.keyring.seal(place.as_bytes(), &key.to_pkcs8().unwrap());
        json!({ "selector": selector, "record": key.public_record(), "sealed": sealed })
    }
}

struct Reader<'t> {
    tx: &'t ReadTx,
    keyring: &'t Keyring,
    tables: BTreeSet<&'static str>,
}

impl Visit for Reader<'_> {
    fn row<K: Key, R: Row>(&mut self, table: &Table<K, R>, key: &K, row: Json) {
        self.tables.insert(table.name());
        let found = self.tx.get(table, key).unwrap().unwrap_or_else(|| panic!("{} lacks {row}", table.name()));
        let found = serde_json::to_value(&found).unwrap();
        assert!(contains_json(&found, &row), "{}: {found} does not contain {row}", table.name());
    }

    fn mark<K: Key>(&mut self, table: &Table<K, ()>, key: &K) {
        self.tables.insert(table.name());
        assert!(self.tx.contains(table, key).unwrap(), "{} lacks a row", table.name());
    }

    fn sealed<K: Key>(&mut self, table: &Table<K, Blob>, key: &K, place: &[u8], plain: &[u8]) {
        self.tables.insert(table.name());
        let Blob(sealed) = self.tx.get(table, key).unwrap().unwrap();
        assert_eq!(self.keyring.open_sealed(place, &sealed).unwrap(), plain);
    }

    fn drawn(&mut self, selector: &str, _: Algorithm) -> Json {
        json!({ "selector": selector })
    }
}

/// Returns whether `found` has all values of `expected`. It may have more, in later fields.
fn contains_json(found: &Json, expected: &Json) -> bool {
    match (found, expected) {
        (Json::Object(found), Json::Object(expected)) => {
            expected.iter().all(|(name, value)| found.get(name).is_some_and(|found| contains_json(found, value)))
        }
        (Json::Array(found), Json::Array(expected)) => {
            found.len() == expected.len()
                && found.iter().zip(expected).all(|(found, expected)| contains_json(found, expected))
        }
        (found, expected) => found == expected,
    }
}

fn serve(directory: &Path) -> OpenOptions {
    OpenOptions { kind: StoreKind::Serve, ..options(directory) }
}

fn keyring(directory: &Path) -> Keyring {
    let path = directory.join("master.key");
    fs::write(&path, MASTER_KEY).unwrap();
    Keyring::open(&path).unwrap()
}

async fn write_fixture() {
    let directory = tempfile::tempdir().unwrap();
    let keyring = keyring(directory.path());
    let store = Store::open(&serve(directory.path())).unwrap();
    store
        .write::<_, StoreError>(move |tx| {
            visit_all(&mut Writer { tx, keyring: &keyring });
            Ok(())
        })
        .await
        .unwrap();
    store.close().await;
    let written = fs::read(directory.path().join(FILE_NAME)).unwrap();
    fs::write(FIXTURE, zstd::bulk::compress(&written, 19).unwrap()).unwrap();
}

#[tokio::test]
async fn the_store_that_schema_1_wrote_reads_as_it_was() {
    if env::var_os(WRITE).is_some() {
        assert_eq!(migrations::SCHEMA_VERSION, 1, "schema 1 has been released: its file stays as it is");
        write_fixture().await;
    }
    let directory = tempfile::tempdir().unwrap();
    let keyring = keyring(directory.path());
    let written = zstd::bulk::decompress(&fs::read(FIXTURE).unwrap(), FIXTURE_BYTES_MAX).unwrap();
    fs::write(directory.path().join(FILE_NAME), written).unwrap();

    let store = Store::open(&serve(directory.path())).unwrap();

    assert_eq!(store.epoch(), 2);
    let tables = store
        .read_now::<_, StoreError>(|tx| {
            let mut reader = Reader { tx, keyring: &keyring, tables: BTreeSet::from([EPOCH.name()]) };
            visit_all(&mut reader);
            let content = emails::read_content(tx, &keyring, EMAIL)?.unwrap();
            assert_eq!(content.text.as_deref(), Some("Hello"));
            assert_eq!(emails::read_attachment(tx, &keyring, EMAIL, 1)?.unwrap(), b"bytes");
            let keys = domains::signing_keys(tx, &keyring, TEAM, raw(20))?.unwrap();
            assert_eq!(keys.keys.iter().map(|(selector, _)| selector.as_str()).collect::<Vec<_>>(), SELECTORS);
            Ok(reader.tables)
        })
        .unwrap();
    // The fixture of a later schema tests the tables that it adds.
    assert_eq!(tables, NAMES.iter().copied().collect());
    let clock = Clock::manual(AT_MS);
    let mailbox = CaptureMailbox::new(Context::new(store, clock, keyring));
    let (row, message) = mailbox.message(raw(33)).await.unwrap().unwrap();
    assert_eq!((row.size, message.as_slice()), (17, b"Subject: x\r\n\r\nHi\r".as_slice()));
}

#[test]
fn every_table_is_listed_once_under_a_versioned_name() {
    let sources = [include_str!("../../tables.rs"), include_str!("../meta.rs")];
    let declared = sources
        .iter()
        .flat_map(|source| source.lines())
        .filter(|line| line.starts_with("pub const ") && line.contains(": Table<"))
        .count();
    let names: BTreeSet<&str> = NAMES.iter().copied().collect();

    assert_eq!(names.len(), NAMES.len(), "two tables share a name");
    assert_eq!(NAMES.len(), declared, "NAMES lacks a table");
    for name in names {
        let version = name.rsplit_once('-').map(|(_, version)| version);
        assert!(version.is_some_and(|version| version.parse::<u32>().is_ok()), "{name} has no version");
    }
}

#[test]
fn the_ids_of_the_fixture_have_its_timestamp() {
    assert_eq!(EMAIL.created_ms(), AT_MS);
    assert_eq!(raw::<crate::base::id::resource::Event>(60), EventId::from_bytes(id_bytes(60)));
}

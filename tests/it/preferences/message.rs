//! The unsubscribe pair and placeholders of an email under a topic.

use std::borrow::Borrow;
use std::hash::Hash;
use std::time::{Duration, Instant};

use mail_auth::common::parse::TxtRecordParser as _;
use mail_auth::common::verify::DomainKey;
use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
use mail_auth::{AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt};
use mail_parser::MessageParser;
use serde_json::json;

use super::{
    FORM, ONE_CLICK, block_on, captured_messages, create_topic, deliver, get_page, header, request, unsubscribe_path,
};
use crate::support::{TestServer, email, retry_until_ok};

const PLACEHOLDERS: &str = "{{{UNSUBSCRIBE_URL}}} {{{RESEND_UNSUBSCRIBE_URL}}}";

#[test]
fn both_placeholders_are_replaced_by_the_link_of_the_header() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News");
    let html = "<p>Hello</p><a href=\"{{{UNSUBSCRIBE_URL}}}\">a</a> <a href=\"{{{RESEND_UNSUBSCRIBE_URL}}}\">b</a>";

    let message = deliver(&server, topic, "ada@example.org", &json!({ "html": html, "text": PLACEHOLDERS }));

    let url = format!("{}{}", server.base(), unsubscribe_path(&server, &message));
    assert_eq!(header(&message, "List-Unsubscribe-Post").as_deref(), Some("List-Unsubscribe=One-Click"));
    let parsed = MessageParser::default().parse(&message).unwrap();
    assert_eq!(parsed.body_text(0).unwrap().trim_end(), format!("{url} {url}"));
    let filled = format!("<p>Hello</p><a href=\"{url}\">a</a> <a href=\"{url}\">b</a>");
    assert_eq!(parsed.body_html(0).unwrap().trim_end(), filled);
}

#[test]
fn the_link_is_escaped_only_in_html() {
    let public_url = "https://mail.example.com/a&b";
    let server = TestServer::start_with(&["--public-url", public_url]);
    let topic = create_topic(&server, "News");

    let fields = json!({ "html": "<a href='{{{UNSUBSCRIBE_URL}}}'>x</a>", "text": "{{{UNSUBSCRIBE_URL}}}" });
    let message = deliver(&server, topic, "ada@example.org", &fields);

    let parsed = MessageParser::default().parse(&message).unwrap();
    assert!(parsed.body_text(0).unwrap().starts_with("https://mail.example.com/a&b/unsubscribe/"));
    let html = parsed.body_html(0).unwrap();
    assert!(html.starts_with("<a href='https://mail.example.com/a&amp;b/unsubscribe/"), "{html}");
}

#[test]
fn the_derived_text_part_has_the_link() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News");

    let fields = json!({ "html": "<a href=\"{{{UNSUBSCRIBE_URL}}}\">Leave</a>", "text": null });
    let message = deliver(&server, topic, "ada@example.org", &fields);

    let parsed = MessageParser::default().parse(&message).unwrap();
    let text = parsed.body_text(0).unwrap();
    assert!(text.contains(&unsubscribe_path(&server, &message)), "{text}");
}

#[test]
fn a_supplied_unsubscribe_pair_is_kept_and_placeholders_are_replaced() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News");
    let own = "<https://example.com/leave?u=1>, <mailto:leave@example.com>";
    let headers = json!({ "list-unsubscribe": own, "List-Unsubscribe-Post": "List-Unsubscribe=One-Click" });

    let fields = json!({ "headers": headers, "text": "{{{UNSUBSCRIBE_URL}}}" });
    let message = deliver(&server, topic, "ada@example.org", &fields);

    assert_eq!(header(&message, "list-unsubscribe").as_deref(), Some(own));
    assert_eq!(header(&message, "List-Unsubscribe"), None);
    assert_eq!(message.matches("List-Unsubscribe=One-Click").count(), 1);
    let parsed = MessageParser::default().parse(&message).unwrap();
    assert!(parsed.body_text(0).unwrap().starts_with(&format!("{}/unsubscribe/", server.base())));
}

#[test]
fn an_email_without_a_topic_and_without_a_placeholder_gets_no_link() {
    let server = TestServer::start();

    let id = server.send(&json!({ "to": ["ada@example.org", "bob@example.org"], "text": "{{{OTHER}}}" }));
    server.wait_for(&id, "delivered");

    let messages = captured_messages(&server);
    let [(recipients, message)] = &messages[..] else { panic!("one message: {messages:?}") };
    assert_eq!(recipients.len(), 2);
    assert!(message.contains("{{{OTHER}}}"), "{message}");
    assert_eq!(header(message, "List-Unsubscribe"), None);
}

/// Returns the path of the only link in the text part of a message without an unsubscribe pair.
#[track_caller]
fn linked_path(server: &TestServer, message: &str) -> String {
    assert_eq!(header(message, "List-Unsubscribe"), None);
    assert_eq!(header(message, "List-Unsubscribe-Post"), None);
    let parsed = MessageParser::default().parse(message).unwrap();
    let text = parsed.body_text(0).unwrap().trim_end().to_owned();
    let (first, second) = text.split_once(' ').expect("the text has both placeholders");
    assert_eq!(first, second);
    first.strip_prefix(server.base()).expect("a link to this server").to_owned()
}

#[test]
fn a_placeholder_without_a_topic_links_to_the_recipients_own_page_of_all_public_topics() {
    let server = TestServer::start();
    let public = json!({ "name": "Offers", "default_subscription": "opt_in", "visibility": "public" });
    server.post("/topics", &public).ok(201);
    server.post("/topics", &json!({ "name": "Secret", "default_subscription": "opt_in" })).ok(201);
    for to in ["ada@example.org", "bob@example.org"] {
        server.post("/contacts", &json!({ "email": to })).ok(201);
    }
    let all_recipients = ["ada@example.org", "bob@example.org", "eve@example.org"];
    let body = json!({
        "to": ["ada@example.org", "bob@example.org"], "bcc": "eve@example.org", "text": PLACEHOLDERS,
        "html": "<a href='{{{UNSUBSCRIBE_URL}}}'>x</a>",
    });
    let mut scheduled = body.clone();
    scheduled["scheduled_at"] = json!("in 1 hour");
    let batch = json!([email(&body), email(&scheduled)]);
    let sent = server.post("/emails/batch", &batch).ok(200);
    server.advance(Duration::from_secs(3_600));
    for sent in sent["data"].as_array().unwrap() {
        server.wait_until(sent["id"].as_str().unwrap(), "every delivery", |email| {
            email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
        });
    }

    let messages = captured_messages(&server);
    assert_eq!(messages.len(), 2 * all_recipients.len());
    for (recipients, message) in &messages {
        let [recipient] = &recipients[..] else { panic!("one recipient: {recipients:?}") };
        let page = get_page(&server, &linked_path(&server, message));
        assert_eq!(page.status, 200);
        // The page shows the first letter and the domain of an address.
        for address in all_recipients {
            let masked = format!("{}•••@example.org", &address[..1]);
            assert_eq!(page.text().contains(&masked), address == recipient, "{address}: {}", page.text());
        }
        // The page lists the public topics to contacts.
        assert_eq!(page.text().contains("Offers"), recipient != "eve@example.org", "{}", page.text());
        assert!(!page.text().contains("Secret"), "{}", page.text());
    }

    // A one-click request to the link of one recipient opts out that recipient only.
    let (_, to_ada) = messages.iter().find(|(to, _)| to[0] == "ada@example.org").unwrap();
    let opted_out = request(&server, "POST", &linked_path(&server, to_ada), &[("content-type", FORM)], ONE_CLICK);
    assert!(opted_out.status < 400, "{}", opted_out.body);
    assert_eq!(server.get("/contacts/ada@example.org").ok(200)["unsubscribed"], true);
    assert_eq!(server.get("/contacts/bob@example.org").ok(200)["unsubscribed"], false);
}

#[test]
fn a_placeholder_without_a_topic_does_not_change_a_simulated_send() {
    let server = TestServer::start();
    for (to, outcome) in [("delivered@ringmail.test", "delivered"), ("bounced@ringmail.test", "bounced")] {
        let id = server.send(&json!({ "to": to, "text": PLACEHOLDERS }));
        server.wait_for(&id, outcome);
    }
}

#[test]
fn each_recipient_has_a_separate_link() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News");
    let to = json!(["ada@example.org", "bob@example.org"]);

    let id = server.send(&json!({ "to": to, "cc": "eve@example.org", "topic_id": topic.to_string() }));
    server.wait_until(&id, "every delivery", |email| {
        email["recipients"].as_array().unwrap().iter().all(|recipient| recipient["last_event"] == "delivered")
    });

    let messages = captured_messages(&server);
    let mut links: Vec<String> = messages.iter().map(|(_, message)| unsubscribe_path(&server, message)).collect();
    links.sort();
    links.dedup();
    assert_eq!(links.len(), 3);
    assert!(messages.iter().all(|(recipients, _)| recipients.len() == 1));
}

#[test]
fn the_dkim_signature_covers_the_unsubscribe_pair() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News");
    let message = deliver(&server, topic, "ada@example.org", &json!({}));
    assert_signed_with_its_pair(&server, &message);
}

#[test]
fn the_dkim_signature_of_a_broadcast_covers_the_unsubscribe_pair() {
    let server = TestServer::start();
    server.post("/contacts", &json!({ "email": "ada@example.org" })).ok(201);
    let body = json!({ "from": "Acme <news@example.com>", "subject": "June", "text": "Hello", "send": true });
    server.post("/broadcasts", &body).ok(201);

    let message = retry_until_ok("the message", || {
        captured_messages(&server).pop().map(|(_, message)| message).ok_or_else(|| "no message".to_owned())
    });

    assert_signed_with_its_pair(&server, &message);
}

/// Asserts that all signatures of a message are valid, and invalid after a change of its unsubscribe link.
fn assert_signed_with_its_pair(server: &TestServer, message: &str) {
    let domains = server.get("/domains").ok(200);
    let domain = server.get(&format!("/domains/{}", domains["data"][0]["id"].as_str().unwrap())).ok(200);
    let records = domain["records"].as_array().unwrap().iter().filter(|record| record["record"] == "DKIM");
    let records = records.map(|record| {
        let (selector, _) = record["name"].as_str().unwrap().split_once('.').unwrap();
        (format!("{selector}._domainkey.example.com."), record["value"].as_str().unwrap().to_owned())
    });
    let records = Records(records.collect());

    let signature = header(message, "DKIM-Signature").unwrap().replace(' ', "").to_ascii_lowercase();
    assert!(signature.contains(":list-unsubscribe:list-unsubscribe-post"), "{signature}");
    let results = dkim_results(&records, message);
    assert!(results.len() == 2 && results.iter().all(|result| *result == DkimResult::Pass), "{results:?}");
    let forged = message.replacen("/unsubscribe/", "/unsubscribe/x", 1);
    assert!(dkim_results(&records, &forged).iter().all(|result| *result != DkimResult::Pass));
}

#[test]
fn an_email_with_a_link_is_refused_without_a_reachable_public_url() {
    let server = TestServer::start_with(&["--delivery", "direct", "--hold"]);
    let topic = create_topic(&server, "News").to_string();
    let refusal = format!(
        "Invalid `topic_id` field: an email under a topic carries an unsubscribe link, and recipients cannot open {}. \
         Start the server with `--public-url` (or `RINGMAIL_PUBLIC_URL`) set to the address they reach it under.",
        server.base()
    );
    let post = |fields| server.post("/emails", &email(&fields));

    post(json!({ "topic_id": topic })).refused(422, "validation_error", &refusal);
    let batch = json!([email(&json!({})), email(&json!({ "topic_id": topic }))]);
    server.post("/emails/batch", &batch).refused(422, "validation_error", &format!("emails.1: {refusal}"));
    assert_eq!(server.get("/emails").ok(200)["data"], json!([]));

    let refused = post(json!({ "text": PLACEHOLDERS })).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid `html` or `text` field: "), "{refused}");
    post(json!({ "text": "Hello" })).ok(200);
    let pair = json!({
        "List-Unsubscribe": "<https://example.com/leave>",
        "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
    });
    post(json!({ "topic_id": topic, "headers": pair })).ok(200);
    let server = server.restart_with(&["--delivery", "direct", "--hold", "--public-url", "https://mail.example.com"]);
    server.post("/emails", &email(&json!({ "topic_id": topic }))).ok(200);
}

#[test]
fn an_email_has_at_most_100_placeholders() {
    let server = TestServer::start();
    let topic = create_topic(&server, "News").to_string();
    let with_placeholders = |count: usize| json!({ "topic_id": topic, "text": "{{{UNSUBSCRIBE_URL}}}".repeat(count) });

    server.post("/emails", &email(&with_placeholders(100))).ok(200);
    server.post("/emails", &email(&with_placeholders(101))).refused(
        422,
        "validation_error",
        "Invalid `html` or `text` field: together they hold more than 100 unsubscribe placeholders.",
    );
}

/// The DKIM records of the domain, as a cache of the verifier. The verifier sends no DNS query.
struct Records(Vec<(String, String)>);

impl ResolverCache<Box<str>, Txt> for Records {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.iter().find_map(|(known, record)| {
            let known = known.clone().into_boxed_str();
            let key = DomainKey::parse(record.as_bytes()).expect("the record has a public key");
            (known.borrow() == name).then(|| Txt::DomainKey(key.into()))
        })
    }

    fn remove<Q>(&self, _: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: Txt, _: Instant) {}
}

/// Verifies each DKIM signature of a message and returns the results. Panics if the message has no signature.
fn dkim_results(records: &Records, message: &str) -> Vec<DkimResult> {
    block_on(async {
        let verifier = MessageAuthenticator::new(ResolverConfig::default(), ResolverOpts::default());
        let verifier = verifier.expect("a verifier");
        let parsed = AuthenticatedMessage::parse(message.as_bytes()).expect("a message");
        let outputs = verifier.verify_dkim(Parameters::new(&parsed).with_txt_cache(records)).await;
        assert!(!outputs.is_empty());
        outputs.iter().map(|output| output.result().clone()).collect()
    })
}

//! Unsubscribe links and preference pages.
//!
//! In reading order:
//!
//! - `message.rs`: the unsubscribe pair and placeholders of an email.
//! - `unsubscribe.rs`: the opt-out of a topic.
//! - `one_click.rs`: one-click requests (RFC 8058), byte by byte.
//! - `choices.rs`: the preference page with all topics.
//! - `undo.rs`: the undo of an opt-out.
//! - `link.rs`: the API call that creates a link.
//! - `appearance.rs`: themes and languages.

mod appearance;
mod choices;
mod link;
mod message;
mod one_click;
mod undo;
mod unsubscribe;

use std::time::Duration;

use ringmail::base::address::EmailAddress;
use ringmail::base::id::{ContactId, Id, TeamId, TopicId};
use ringmail::delivery::capture::CaptureMailbox;
use ringmail::events::{AudienceSubject, ChangeSource};
use ringmail::preferences::UnsubscribeToken;
use ringmail::store::page::{Cursor, PageQuery};
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use ringmail::suppressions::SuppressionOrigin;
use ringmail::tables::{AUDIENCE_EVENTS, SUPPRESSIONS, TEAMS, TOPIC_CHOICES, TOPICS};
use ringmail::topics::{Subscription, TopicRow, TopicVisibility};
use serde_json::{Value, json};

use crate::support::{TestServer, email};

const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const FORM: &str = "application/x-www-form-urlencoded";

/// Response of a hosted page.
struct PageResponse {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl PageResponse {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Returns the body element, without the style sheet.
    fn text(&self) -> &str {
        self.body.split_once("<body>").map_or(self.body.as_str(), |(_, body)| body)
    }

    /// Returns the value of the button or hidden field `name`.
    #[track_caller]
    fn field(&self, name: &str) -> &str {
        let (_, rest) = self.body.split_once(&format!("name=\"{name}\" value=\"")).expect("the page has the field");
        rest.split('"').next().expect("the value has an end")
    }
}

/// Sends a request without a key. Does not follow redirects.
fn request(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> PageResponse {
    let config = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .max_redirects(0)
        .allow_non_standard_methods(true)
        .timeout_global(Some(Duration::from_secs(30)))
        .build();
    let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", server.base()));
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let agent = ureq::Agent::new_with_config(config);
    let response = if method == "POST" {
        agent.run(request.body(body.to_owned()).expect("a request"))
    } else {
        agent.run(request.body(()).expect("a request"))
    };
    let response = response.expect("the server responds");
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("a plain header").to_owned()))
        .collect();
    let body = response.into_body().read_to_string().expect("the body is text");
    PageResponse { status, headers, body }
}

fn get_page(server: &TestServer, path: &str) -> PageResponse {
    request(server, "GET", path, &[], "")
}

/// Posts a form with the content type of a browser.
fn post(server: &TestServer, path: &str, form: &str) -> PageResponse {
    request(server, "POST", path, &[("content-type", FORM)], form)
}

/// Posts a form and follows the redirect to the page.
#[track_caller]
fn post_and_follow(server: &TestServer, path: &str, form: &str) -> PageResponse {
    let response = post(server, path, form);
    assert_eq!((response.status, response.body.as_str()), (303, ""));
    let query = response.header("location");
    assert!(query.starts_with('?'), "{query}");
    let page = get_page(server, &format!("{path}{query}"));
    assert_eq!(page.status, 200);
    page
}

/// Checks that an email to the address under the topic is accepted.
#[track_caller]
fn assert_accepted(server: &TestServer, topic: TopicId, to: &str) {
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).ok(200);
}

/// Checks that an email to the address under the topic is refused, because the recipient is suppressed.
#[track_caller]
fn assert_suppressed(server: &TestServer, topic: TopicId, to: &str) {
    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).refused(status, name, message);
}

/// Returns the origins of all entries on the suppression list.
fn suppression_origins(server: &TestServer) -> Vec<SuppressionOrigin> {
    let team = team_id(server);
    let origins = server.context().store.read_now(|tx| {
        let mut origins = Vec::new();
        tx.scan(&SUPPRESSIONS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
            origins.push(row.decode()?.origin);
            NEXT
        })?;
        Ok::<_, StoreError>(origins)
    });
    origins.expect("the store can be read")
}

/// Returns the stored topic choice of a contact.
fn topic_choice(server: &TestServer, contact: ContactId, topic: TopicId) -> Option<Subscription> {
    let team = team_id(server);
    let read = server.context().store.read_now(|tx| tx.get(&TOPIC_CHOICES, &(team, contact, topic)));
    let choice = read.map_err(|error: StoreError| error).expect("the store can be read");
    choice.map(|choice| choice.subscription)
}

/// Returns the type and the change source of the events about contacts, oldest first.
fn contact_events(server: &TestServer) -> Vec<(&'static str, ChangeSource)> {
    let team = team_id(server);
    let events = server.context().store.read_now(|tx| {
        let mut events = Vec::new();
        tx.scan(&AUDIENCE_EVENTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
            let event = row.decode()?;
            if let AudienceSubject::Contact { source, .. } = event.subject {
                events.push((event.kind.as_str(), source));
            }
            NEXT
        })?;
        Ok::<_, StoreError>(events)
    });
    events.expect("the store can be read")
}

/// Returns the number of counted opt-outs with the links of emails.
fn counted_opt_outs(server: &TestServer) -> u64 {
    let report = server.get("/emails/metrics?metrics=unsubscribed").ok(200);
    report["totals"]["unsubscribed"].as_u64().expect("a number")
}

/// Returns the path of the unsubscribe link for one topic and address.
fn topic_path(server: &TestServer, topic: TopicId, address: &str) -> String {
    let address = EmailAddress::parse(address).expect("an address");
    let token = UnsubscribeToken::of_topic(team_id(server), topic, address);
    format!("/unsubscribe/{}", token.seal(&server.context().keyring))
}

/// Returns the path of the preferences link of an address.
fn preferences_path(server: &TestServer, address: &str) -> String {
    let address = EmailAddress::parse(address).expect("an address");
    let token = UnsubscribeToken::of_everything(team_id(server), address);
    format!("/unsubscribe/{}", token.seal(&server.context().keyring))
}

/// Runs a future to completion.
fn block_on<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Returns the only team of the server.
fn team_id(server: &TestServer) -> TeamId {
    let teams = server.context().store.read_now(|tx| {
        let mut teams = Vec::new();
        tx.scan(&TEAMS, &(TeamId::MIN,), &(TeamId::MAX,), Order::Ascending, |(team,), _| {
            teams.push(team);
            NEXT
        })?;
        Ok::<_, StoreError>(teams)
    });
    teams.expect("the store can be read").into_iter().next().expect("an instance has a team")
}

/// Creates a public topic with the default subscription `opt_in`.
fn create_topic(server: &TestServer, name: &str) -> TopicId {
    create_topic_with(server, name, Subscription::OptIn, TopicVisibility::Public)
}

fn create_topic_with(
    server: &TestServer,
    name: &str,
    default_subscription: Subscription,
    visibility: TopicVisibility,
) -> TopicId {
    let context = server.context();
    let (team, id) = (team_id(server), context.id());
    let row = TopicRow {
        name: name.to_owned(),
        description: None,
        default_subscription,
        visibility,
        created_ms: context.now_ms(),
    };
    block_on(context.store.write(move |tx| tx.put(&TOPICS, &(team, id), &row))).expect("the store can be written");
    id
}

/// Sends an email with `fields` under a topic to one address and returns the captured message.
#[track_caller]
fn deliver(server: &TestServer, topic: TopicId, to: &str, fields: &Value) -> String {
    let mut fields = fields.clone();
    fields["topic_id"] = json!(topic.to_string());
    fields["to"] = json!(to);
    let id = server.send(&fields);
    server.wait_for(&id, "delivered");
    captured_messages(server).into_iter().next().expect("the message is in the mailbox").1
}

/// Returns recipients and content of the messages in the capture mailbox, newest first.
fn captured_messages(server: &TestServer) -> Vec<(Vec<String>, String)> {
    let mailbox = CaptureMailbox::new(server.context().clone());
    let page =
        block_on(mailbox.list(PageQuery { limit: 100, cursor: Cursor::Newest })).expect("the mailbox can be read");
    let messages = page.rows.into_iter().map(|(id, row)| {
        let (_, bytes) =
            block_on(mailbox.message(id)).expect("the mailbox can be read").expect("the listed message exists");
        (row.recipients, String::from_utf8(bytes).expect("a composed message is ASCII"))
    });
    messages.collect()
}

/// Returns the value of a header field, unfolded.
fn header(message: &str, name: &str) -> Option<String> {
    let (head, _) = message.split_once("\r\n\r\n").expect("a header and a body");
    let unfolded = head.replace("\r\n ", " ").replace("\r\n\t", " ");
    let field = unfolded.split("\r\n").find_map(|field| field.strip_prefix(&format!("{name}:")))?;
    Some(field.trim().to_owned())
}

/// Returns the path of the link in the `List-Unsubscribe` header of a message.
#[track_caller]
fn unsubscribe_path(server: &TestServer, message: &str) -> String {
    let value = header(message, "List-Unsubscribe").expect("the message has the field");
    let url = value.trim_matches(['<', '>']);
    url.strip_prefix(server.base()).unwrap_or_else(|| panic!("{url} is not below {}", server.base())).to_owned()
}

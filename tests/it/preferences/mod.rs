//! Links, from the email to the choice.
//!
//! `message.rs` what an email carries; `unsubscribe.rs` the opt-out of a topic; `one_click.rs` mail
//! programs, byte by byte; `choices.rs` the whole page; `undo.rs` the way back; `look.rs` themes and
//! languages.

mod choices;
mod look;
mod message;
mod one_click;
mod undo;
mod unsubscribe;

use std::time::Duration;

use ringmail::address::EmailAddress;
use ringmail::delivery::capture::Mailbox;
use ringmail::events::{AudienceSubject, Source};
use ringmail::id::{ContactId, Id, TeamId, TopicId};
use ringmail::preferences::UnsubscribeToken;
use ringmail::store::page::{Cursor, PageQuery};
use ringmail::store::tables::{AUDIENCE_EVENTS, SUPPRESSIONS, TEAMS, TOPIC_CHOICES, TOPICS};
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use ringmail::suppressions::Origin;
use ringmail::topics::{Subscription, TopicRow, Visibility};
use serde_json::{Value, json};

use crate::support::{TestServer, email};

const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");
const ONE_CLICK: &str = "List-Unsubscribe=One-Click";
const FORM: &str = "application/x-www-form-urlencoded";

/// A page or a short answer.
struct Shown {
    status: u16,
    headers: Vec<(String, String)>,
    body: String,
}

impl Shown {
    fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Returns what the page says, without its style.
    fn text(&self) -> &str {
        self.body.split_once("<body>").map_or(self.body.as_str(), |(_, body)| body)
    }

    /// Returns the value of the button or hidden field of that name.
    #[track_caller]
    fn field(&self, name: &str) -> &str {
        let (_, rest) = self.body.split_once(&format!("name=\"{name}\" value=\"")).expect("the field is there");
        rest.split('"').next().expect("a value ends")
    }
}

/// Makes a request without a key and without following anything.
fn request(server: &TestServer, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> Shown {
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
    let response = response.expect("the server answers");
    let status = response.status().as_u16();
    let headers = response
        .headers()
        .iter()
        .map(|(name, value)| (name.to_string(), value.to_str().expect("a plain header").to_owned()))
        .collect();
    let body = response.into_body().read_to_string().expect("the answer is text");
    Shown { status, headers, body }
}

fn show(server: &TestServer, path: &str) -> Shown {
    request(server, "GET", path, &[], "")
}

/// Posts a form as a browser does.
fn post(server: &TestServer, path: &str, form: &str) -> Shown {
    request(server, "POST", path, &[("content-type", FORM)], form)
}

/// Posts a form and goes where the answer leads, which is back to the page.
#[track_caller]
fn post_and_follow(server: &TestServer, path: &str, form: &str) -> Shown {
    let answer = post(server, path, form);
    assert_eq!((answer.status, answer.body.as_str()), (303, ""));
    let query = answer.header("location");
    assert!(query.starts_with('?'), "{query}");
    let page = show(server, &format!("{path}{query}"));
    assert_eq!(page.status, 200);
    page
}

/// Tries to send to the address under the topic.
#[track_caller]
fn may_send(server: &TestServer, topic: TopicId, to: &str) {
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).ok(200);
}

#[track_caller]
fn may_not_send(server: &TestServer, topic: TopicId, to: &str) {
    let (status, name, message) = SUPPRESSED;
    server.post("/emails", &email(&json!({ "topic_id": topic.to_string(), "to": to }))).refused(status, name, message);
}

/// Returns the origins on the suppression list.
fn suppressed(server: &TestServer) -> Vec<Origin> {
    let team = team(server);
    let origins = server.context().store.read_now(|tx| {
        let mut origins = Vec::new();
        tx.scan(&SUPPRESSIONS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
            origins.push(row.decode()?.origin);
            NEXT
        })?;
        Ok::<_, StoreError>(origins)
    });
    origins.expect("the store reads")
}

fn choice(server: &TestServer, contact: ContactId, topic: TopicId) -> Option<Subscription> {
    let team = team(server);
    let read = server.context().store.read_now(|tx| tx.get(&TOPIC_CHOICES, &(team, contact, topic)));
    let choice = read.map_err(|error: StoreError| error).expect("the store reads");
    choice.map(|choice| choice.subscription)
}

/// Returns the events about contacts, oldest first, with who caused each.
fn contact_events(server: &TestServer) -> Vec<(&'static str, Source)> {
    let team = team(server);
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
    events.expect("the store reads")
}

/// Returns the path of the link to one topic of an address, as an email would carry it.
fn topic_path(server: &TestServer, topic: TopicId, address: &str) -> String {
    let address = EmailAddress::parse(address).expect("an address");
    let token = UnsubscribeToken::of_topic(team(server), topic, address);
    format!("/unsubscribe/{}", token.seal(&server.context().keyring))
}

/// Returns the path of the link to every choice of an address.
fn everything_path(server: &TestServer, address: &str) -> String {
    let address = EmailAddress::parse(address).expect("an address");
    let token = UnsubscribeToken::of_everything(team(server), address);
    format!("/unsubscribe/{}", token.seal(&server.context().keyring))
}

/// Waits for a future of the server's own parts.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(future)
}

/// Returns the only team of the server.
fn team(server: &TestServer) -> TeamId {
    let teams = server.context().store.read_now(|tx| {
        let mut teams = Vec::new();
        tx.scan(&TEAMS, &(TeamId::MIN,), &(TeamId::MAX,), Order::Ascending, |(team,), _| {
            teams.push(team);
            NEXT
        })?;
        Ok::<_, StoreError>(teams)
    });
    teams.expect("the store reads").into_iter().next().expect("an instance has a team")
}

/// Makes a public topic that everyone receives who did not choose.
fn topic(server: &TestServer, name: &str) -> TopicId {
    topic_of(server, name, Subscription::OptIn, Visibility::Public)
}

fn topic_of(server: &TestServer, name: &str, default_subscription: Subscription, visibility: Visibility) -> TopicId {
    let context = server.context();
    let (team, id) = (team(server), context.id());
    let row = TopicRow {
        name: name.to_owned(),
        description: None,
        default_subscription,
        visibility,
        created_ms: context.now_ms(),
    };
    wait(context.store.write(move |tx| tx.put(&TOPICS, &(team, id), &row))).expect("the store writes");
    id
}

/// Sends an email with `fields` under a topic to one address and returns the message that arrives.
#[track_caller]
fn delivered(server: &TestServer, topic: TopicId, to: &str, fields: &Value) -> String {
    let mut fields = fields.clone();
    fields["topic_id"] = json!(topic.to_string());
    fields["to"] = json!(to);
    let id = server.send(&fields);
    server.wait_for(&id, "delivered");
    captured(server).into_iter().next().expect("the message is in the mailbox").1
}

/// Returns the recipients and the messages in the mailbox, newest first.
fn captured(server: &TestServer) -> Vec<(Vec<String>, String)> {
    let mailbox = Mailbox::new(server.context().clone());
    let page = wait(mailbox.list(PageQuery { limit: 100, cursor: Cursor::Newest })).expect("the mailbox reads");
    let messages = page.rows.into_iter().map(|(id, row)| {
        let (_, bytes) = wait(mailbox.message(id)).expect("the mailbox reads").expect("it was listed");
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

/// Returns the path of the link in the header of a message.
#[track_caller]
fn link_path(server: &TestServer, message: &str) -> String {
    let value = header(message, "List-Unsubscribe").expect("the field is there");
    let url = value.trim_matches(['<', '>']);
    url.strip_prefix(server.base()).unwrap_or_else(|| panic!("{url} is not below {}", server.base())).to_owned()
}

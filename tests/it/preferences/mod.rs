//! Unsubscribe links, from the email to the opt-out.

mod message;
mod unsubscribe;

use ringmail::delivery::capture::Mailbox;
use ringmail::id::{TeamId, TopicId};
use ringmail::store::page::{Cursor, PageQuery};
use ringmail::store::tables::{TEAMS, TOPICS};
use ringmail::store::{NEXT, Order, Reads as _, StoreError};
use ringmail::topics::{Subscription, TopicRow, Visibility};
use serde_json::{Value, json};

use crate::support::TestServer;

const SUPPRESSED: (u16, &str, &str) = (422, "all_recipients_suppressed", "All recipients are suppressed");

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

/// Makes a topic that everyone receives who did not choose.
fn topic(server: &TestServer, name: &str) -> TopicId {
    let context = server.context();
    let (team, id) = (team(server), context.id());
    let row = TopicRow {
        name: name.to_owned(),
        description: None,
        default_subscription: Subscription::OptIn,
        visibility: Visibility::Public,
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

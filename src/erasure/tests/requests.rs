//! The log of requests.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::*;
use crate::base::id::LogId;
use crate::logs::{LoggedBody, LoggedRequest, Recording, RequestLog};
use crate::tables::{REQUEST_LOG_BODIES, REQUEST_LOGS};

const SETTLED: RecipientState = RecipientState::Settled;

fn log(context: &Context) -> Arc<RequestLog> {
    RequestLog::new(context.clone(), Recording::On, TaskTracker::new())
}

/// Hands a request to the log and returns its id.
fn ask(context: &Context, log: &RequestLog, team: TeamId, path: &str, bodies: [&str; 2]) -> LogId {
    let id = context.id();
    let [request_body, response_body] = bodies.map(|body| {
        let body = body.as_bytes().to_vec();
        (!body.is_empty()).then(|| LoggedBody::Held(Arc::new(body)))
    });
    let answered = LoggedRequest {
        id,
        team,
        key: Id::MIN,
        method: "POST",
        path,
        user_agent: None,
        status: 200,
        duration: Duration::ZERO,
        request_body,
        response_body,
        response_secrets: &[],
    };
    log.enqueue(log.begin().unwrap(), answered);
    id
}

fn is_logged(context: &Context, team: TeamId, id: LogId) -> [bool; 2] {
    let look = |tx: &crate::store::ReadTx| {
        Ok::<_, StoreError>([tx.contains(&REQUEST_LOGS, &(team, id))?, tx.contains(&REQUEST_LOG_BODIES, &(team, id))?])
    };
    context.store.read_now(look).unwrap()
}

#[tokio::test]
async fn a_request_that_mentions_the_address_goes_whole_and_the_others_stay() {
    let (_directory, context) = Context::temporary();
    let (log, other_team) = (log(&context), Id::from_bytes([2; 16]));
    let ask_own = |path: &str, bodies| ask(&context, &log, TEAM, path, bodies);
    let gone = [
        ask_own("/contacts/ADA%40example.com", ["{}", ""]),
        ask_own("/contacts", [r#"{"email":"ada\u0040example.com"}"#, "{}"]),
        ask_own("/emails/x", ["", r#"{"to":["Ada <Ada@Example.com>"]}"#]),
    ];
    // Between them, so that the walk takes more than one page.
    let kept: Vec<LogId> = (0..150).map(|_| ask_own("/emails", [r#"{"to":"bob@example.com"}"#, "{}"])).collect();
    let last = ask_own("/suppressions/ada@example.com", ["{}", "{}"]);
    let theirs = ask(&context, &log, other_team, "/contacts/ada@example.com", ["{}", ""]);
    log.flush().await;

    erase(&context, &["ada@example.com"]).await;

    for id in gone.into_iter().chain([last]) {
        assert_eq!(is_logged(&context, TEAM, id), [false; 2]);
    }
    for id in kept {
        assert_eq!(is_logged(&context, TEAM, id), [true; 2]);
    }
    assert_eq!(is_logged(&context, other_team, theirs), [true; 2]);
    assert_eq!(count(&context, &ERASURES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX)), 0);
}

#[tokio::test]
async fn a_request_that_is_under_way_is_waited_for() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    let erasures = Erasures::new(context.clone(), log.unwritten());
    let under_way = log.begin().unwrap();
    let key = request(&context, &["ada@example.com"]).await;

    erasures.run_round().await.unwrap();
    assert!(erasure(&context, key).is_some());
    let asked = ask(&context, &log, TEAM, "/contacts/ada@example.com", ["", ""]);
    drop(under_way);
    log.flush().await;
    // One that began since is not waited for.
    let later = log.begin();
    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.run_round().await.unwrap();
        rounds += 1;
        assert!(rounds < 10);
    }

    assert_eq!(is_logged(&context, TEAM, asked), [false; 2]);
    drop(later);
}

#[tokio::test]
async fn what_was_read_of_an_email_on_its_way_goes_when_the_email_has_settled() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    let email_id = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let advance = || async { Erasures::new(context.clone(), log.unwritten()).run_round().await.unwrap() };
    advance().await;
    assert!(erasure(&context, key).is_some());
    let read = ask(&context, &log, TEAM, "/emails/x", ["", r#"{"to":["ada@example.com"]}"#]);
    log.flush().await;
    let mut row = email_row(&context, email_id);
    row.recipients.iter_mut().for_each(|recipient| recipient.state = SETTLED);
    write(&context, move |tx| tx.put(&EMAILS, &(TEAM, email_id), &row)).await;

    advance().await;

    assert!(erasure(&context, key).is_none());
    assert_eq!(is_logged(&context, TEAM, read), [false; 2]);
}

//! The request log.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::*;
use crate::base::id::LogId;
use crate::logs::{LoggedBody, LoggedRequest, RequestLog, RequestLogging};
use crate::tables::{REQUEST_LOG_BODIES, REQUEST_LOGS};

const SETTLED: RecipientState = RecipientState::Settled;

fn log(context: &Context) -> Arc<RequestLog> {
    RequestLog::new(context.clone(), RequestLogging::On, TaskTracker::new())
}

/// Adds a request to the log and returns its id.
fn log_request(context: &Context, log: &RequestLog, team: TeamId, path: &str, bodies: [&str; 2]) -> LogId {
    let id = context.id();
    let [request_body, response_body] = bodies.map(|body| {
        let body = body.as_bytes().to_vec();
        (!body.is_empty()).then(|| LoggedBody::Held(Arc::new(body)))
    });
    let request = LoggedRequest {
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
        detail: None,
        response_secrets: &[],
    };
    log.enqueue(log.begin().unwrap(), request);
    id
}

fn is_logged(context: &Context, team: TeamId, id: LogId) -> [bool; 2] {
    context.read(|tx| Ok([tx.contains(&REQUEST_LOGS, &(team, id))?, tx.contains(&REQUEST_LOG_BODIES, &(team, id))?]))
}

#[tokio::test]
async fn only_requests_that_contain_the_address_are_deleted() {
    let (_directory, context) = Context::temporary();
    let (log, other_team) = (log(&context), Id::from_bytes([2; 16]));
    let log_own = |path: &str, bodies| log_request(&context, &log, TEAM, path, bodies);
    let matching = [
        log_own("/contacts/ADA%40example.com", ["{}", ""]),
        log_own("/contacts", [r#"{"email":"ada\u0040example.com"}"#, "{}"]),
        log_own("/emails/x", ["", r#"{"to":["Ada <Ada@Example.com>"]}"#]),
    ];
    // Between the matches, so that the scan takes more than one page.
    let others: Vec<LogId> = (0..150).map(|_| log_own("/emails", [r#"{"to":"bob@example.com"}"#, "{}"])).collect();
    let last = log_own("/suppressions/ada@example.com", ["{}", "{}"]);
    let theirs = log_request(&context, &log, other_team, "/contacts/ada@example.com", ["{}", ""]);
    log.flush().await;

    erase(&context, &["ada@example.com"]).await;

    for id in matching.into_iter().chain([last]) {
        assert_eq!(is_logged(&context, TEAM, id), [false; 2]);
    }
    for id in others {
        assert_eq!(is_logged(&context, TEAM, id), [true; 2]);
    }
    assert_eq!(is_logged(&context, other_team, theirs), [true; 2]);
    assert_eq!(pending(&context).len(), 0);
}

#[tokio::test]
async fn an_erasure_waits_for_requests_in_progress() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    let erasures = Erasures::new(context.clone(), log.pending_entries());
    let in_progress = log.begin().unwrap();
    let key = request(&context, &["ada@example.com"]).await;

    erasures.run_round().await.unwrap();
    assert!(erasure(&context, key).is_some());
    let logged = log_request(&context, &log, TEAM, "/contacts/ada@example.com", ["", ""]);
    drop(in_progress);
    log.flush().await;
    // The erasure does not wait for a request that starts later.
    let later = log.begin();
    let mut rounds = 0;
    while erasure(&context, key).is_some() {
        erasures.run_round().await.unwrap();
        rounds += 1;
        assert!(rounds < 10);
    }

    assert_eq!(is_logged(&context, TEAM, logged), [false; 2]);
    drop(later);
}

#[tokio::test]
async fn a_request_that_read_a_pending_email_is_deleted_after_the_email_settles() {
    let (_directory, context) = Context::temporary();
    let log = log(&context);
    let email_id = put_email(&context, email(&["ada@example.com"], RecipientState::InFlight)).await;
    let key = request(&context, &["ada@example.com"]).await;
    let run_round = || async { Erasures::new(context.clone(), log.pending_entries()).run_round().await.unwrap() };
    run_round().await;
    assert!(erasure(&context, key).is_some());
    let read = log_request(&context, &log, TEAM, "/emails/x", ["", r#"{"to":["ada@example.com"]}"#]);
    log.flush().await;
    let mut row = email_row(&context, email_id);
    row.recipients.iter_mut().for_each(|recipient| recipient.state = SETTLED);
    context.commit(move |tx| tx.put(&EMAILS, &(TEAM, email_id), &row)).await;

    run_round().await;

    assert!(erasure(&context, key).is_none());
    assert_eq!(is_logged(&context, TEAM, read), [false; 2]);
}

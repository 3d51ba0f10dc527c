//! Bodies that are erased while deliveries of them are under way.

use std::sync::{Mutex, PoisonError, mpsc};

use super::receiver::{Receiver, Reply};
use super::*;
use crate::store::tables::EVENT_MESSAGES;
use crate::webhooks::DeliveryState;

#[tokio::test]
async fn a_body_that_was_erased_while_it_waited_in_memory_is_sent_as_it_is_then() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 20).await;
    for _ in 0..8 {
        receiver.next().await;
    }
    let events: Vec<_> = running.until(|rows| rows.len() == 20).await.iter().map(|row| row.event).collect();
    write(&running.context, move |tx| {
        events.iter().try_for_each(|event| {
            let mut row = tx.get(&EVENT_MESSAGES, &(TEAM, *event))?.unwrap();
            row.body = "{}".into();
            tx.put(&EVENT_MESSAGES, &(TEAM, *event), &row)
        })
    })
    .await;
    running.context.announcer.bodies_erased();

    receiver.go_on(20);

    for _ in 0..12 {
        assert_eq!(receiver.next().await.body, b"{}");
    }
    let rows = running.until(|rows| rows.iter().all(|row| matches!(row.state, DeliveryState::Delivered { .. }))).await;
    let answers = |text: &str| rows.iter().filter(|row| row.attempts[0].response == text).count();
    assert_eq!((answers("[erased]"), answers("ok")), (8, 12), "what the first ones answered may quote what they got");
}

/// Keeps the writer busy until the sender is used or dropped.
async fn hold_writer(context: &Context, tasks: &mut JoinSet<()>) -> mpsc::Sender<()> {
    let (let_go, held) = mpsc::channel();
    let (held, entered) = (Mutex::new(held), Arc::new(tokio::sync::Notify::new()));
    let (context, entering) = (context.clone(), Arc::clone(&entered));
    tasks.spawn(async move {
        let holding = move |_: &WriteTx<'_>| {
            entering.notify_one();
            let _ = held.lock().unwrap_or_else(PoisonError::into_inner).recv();
            Ok(())
        };
        write(&context, holding).await;
    });
    entered.notified().await;
    let_go
}

#[tokio::test]
async fn an_answer_that_waits_for_its_commit_through_an_erasure_is_not_kept() {
    let running = Running::start();
    let mut receiver = Receiver::start(Reply::Held).await;
    endpoint(&running.context, &receiver.url()).await;
    happen(&running.context, 1).await;
    receiver.next().await;
    let (_, _, delivery) = queued(&running.context)[0];
    let mut tasks = JoinSet::new();
    let let_go = hold_writer(&running.context, &mut tasks).await;

    receiver.go_on(1);
    while running.bell.is_attempting(delivery) {
        tokio::task::yield_now().await;
    }
    // The request has ended: its lane takes the outcome up, and asks the writer for a commit.
    for _ in 0..100 {
        tokio::task::yield_now().await;
    }
    running.context.announcer.bodies_erased();
    let_go.send(()).unwrap();

    let rows = running.until(|rows| rows.iter().all(|row| matches!(row.state, DeliveryState::Delivered { .. }))).await;
    assert_eq!((rows[0].attempts[0].status, rows[0].attempts[0].response.as_str()), (Some(200), "[erased]"));
}

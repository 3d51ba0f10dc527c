//! Health of an instance over HTTP, and the requests of a shutdown.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Parser;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::App;
use super::stopping::requests_finished;
use crate::base::clock::Clock;
use crate::config::{DevSettings, InstanceVerb, Settings};
use crate::store::StoreError;
use crate::workers::Supervisor;

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    dev: DevSettings,
}

/// Returns status and body of `GET /health`.
async fn health(address: SocketAddr) -> (u16, Value) {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n").await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head[9..12].parse().unwrap(), serde_json::from_str(body).unwrap())
}

#[tokio::test]
async fn a_worker_that_fails_once_is_a_health_of_503() {
    let directory = tempfile::tempdir().unwrap();
    let data_dir = directory.path().to_str().unwrap();
    let arguments = ["ringmail", "--listen", "127.0.0.1:0", "--data-dir", data_dir];
    let Arguments { settings, dev } = Arguments::try_parse_from(arguments).unwrap();
    let config = settings.into_config(InstanceVerb::Dev(dev.into())).unwrap();
    let app = App::start(config, Clock::System).await.unwrap();
    let (address, failures) = (app.address(), Arc::clone(&app.parts.worker_failures));
    let store = app.parts.context.store.clone();
    let (tasks, stop) = (TaskTracker::new(), CancellationToken::new());
    let served = tasks.spawn(app.serve(stop.clone()));
    assert_eq!(health(address).await, (200, json!({ "ok": true, "status": "ok" })));

    let mut workers = Supervisor::new(stop.clone(), store, failures);
    let has_failed = Arc::new(AtomicBool::new(false));
    workers.start("example", move |_| {
        let is_first = !has_failed.swap(true, Ordering::SeqCst);
        async move { if is_first { Err(StoreError::Panicked) } else { Ok(()) } }
    });
    assert_eq!(workers.wait().await, Ok(()));

    let problems = json!({ "ok": false, "status": "failing", "problems": ["worker example"] });
    assert_eq!(health(address).await, (503, problems));
    stop.cancel();
    served.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_shutdown_waits_for_a_request_that_starts_while_responses_are_written() {
    let in_flight = TaskTracker::new();
    let first = in_flight.token();
    in_flight.close();
    let pause = Duration::from_millis(20);
    let finished = requests_finished(&in_flight, pause);
    tokio::pin!(finished);
    assert!(tokio::time::timeout(Duration::ZERO, &mut finished).await.is_err());
    drop(first);
    // The poll starts the pause.
    assert!(tokio::time::timeout(Duration::ZERO, &mut finished).await.is_err());

    let second = in_flight.token();

    assert!(tokio::time::timeout(10 * pause, &mut finished).await.is_err());
    drop(second);
    tokio::time::timeout(Duration::from_secs(20), finished).await.unwrap();
}

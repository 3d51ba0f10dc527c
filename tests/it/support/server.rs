//! The server under test: the same wiring as the binary's.

use std::time::Duration;

use clap::Parser;
use ringmail::admin::{self, Services};
use ringmail::app::App;
use ringmail::clock::{Clock, monotonic};
use ringmail::config::{DevSettings, Purpose, Settings};
use ringmail::context::Context;
use ringmail::delivery::QueueBell;
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::Answer;

/// 2026-01-05T09:00:00Z, a Monday.
const START_MS: i64 = 1_767_603_600_000;
/// How long a condition is waited for before the test gives up on it.
const DEADLINE: Duration = Duration::from_secs(20);

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    dev: DevSettings,
}

/// A server over a directory of its own. Dropping it stops it in order.
pub(crate) struct TestServer {
    base: String,
    key: String,
    clock: Clock,
    bell: QueueBell,
    services: Services,
    runtime: Handle,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
    directory: Option<tempfile::TempDir>,
    agent: ureq::Agent,
}

struct Started {
    address: std::net::SocketAddr,
    key: String,
    bell: QueueBell,
    services: Services,
    runtime: Handle,
}

impl TestServer {
    /// Starts a development instance in capture mode with the domain example.com.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a development instance with flags as on the command line.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory can be made");
        Self::start_in(directory, Clock::manual(START_MS), flags)
    }

    fn start_in(directory: tempfile::TempDir, clock: Clock, flags: &[&str]) -> Self {
        let data_dir = directory.path().to_str().expect("the path is text").to_owned();
        let common = ["ringmail", "--listen", "127.0.0.1:0", "--data-dir", &data_dir];
        let unlimited: &[&str] = if flags.contains(&"--rate-limit") { &[] } else { &["--rate-limit", "0"] };
        let arguments = common.iter().chain(unlimited).chain(flags).copied();
        let Arguments { settings, dev } = Arguments::try_parse_from(arguments).expect("the flags are right");
        let setup = dev.into();
        let config = settings.into_config(Purpose::Dev(Clone::clone(&setup))).expect("the settings go together");
        let stop = CancellationToken::new();
        let (started_tx, started_rx) = std::sync::mpsc::channel();
        let (stopping, turning) = (stop.clone(), clock.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let app = App::start(config, turning).await.expect("the instance starts");
                let ready = admin::prepare(app.services(), &setup).await.expect("the instance is prepared");
                let key = ready.token.reveal().to_owned();
                let started = Started {
                    address: app.address(),
                    key,
                    bell: app.bell(),
                    services: app.services().clone(),
                    runtime: Handle::current(),
                };
                started_tx.send(started).expect("the test waits for the start");
                app.serve(stopping).await.expect("no worker fails");
            });
        });
        let Started { address, key, bell, services, runtime } = started_rx.recv().expect("the instance starts");
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(Duration::from_secs(30)))
                .build(),
        );
        let base = format!("http://{address}");
        let (directory, thread) = (Some(directory), Some(thread));
        Self { base, key, clock, bell, services, runtime, stop, thread, directory, agent }
    }

    /// Stops the server in order and starts it again over the same directory and clock.
    pub(crate) fn restart_with(self, flags: &[&str]) -> Self {
        self.restart_after(Duration::ZERO, flags)
    }

    /// As [`TestServer::restart_with`], with the clock turned while the server is down.
    pub(crate) fn restart_after(mut self, down: Duration, flags: &[&str]) -> Self {
        self.stop_now();
        let directory = self.directory.take().expect("the directory is there until the end");
        let clock = self.clock.clone();
        clock.advance(down);
        drop(self);
        Self::start_in(directory, clock, flags)
    }

    /// Stops the server in order and returns its directory.
    pub(crate) fn into_directory(mut self) -> tempfile::TempDir {
        self.stop_now();
        self.directory.take().expect("the directory is there until the end")
    }

    /// Returns the address the API is served under.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the token of a key with full access.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the store, the ids and the keys of the server, for what no endpoint can put in or read.
    pub(crate) fn context(&self) -> &Context {
        &self.services.context
    }

    /// Returns the parts behind the front door, for facts that no endpoint makes or shows.
    pub(super) fn services(&self) -> &Services {
        &self.services
    }

    /// Returns the runtime the instance runs on.
    pub(super) fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    /// Runs a use case of the instance to its end.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Turns the clock forward and lets the delivery engine notice.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.bell.wake();
    }

    /// Makes a request with the key of full access.
    pub(crate) fn get(&self, path: &str) -> Answer {
        self.call("GET", path, &self.key, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.call("POST", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> Answer {
        self.call("PATCH", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn delete(&self, path: &str) -> Answer {
        self.call("DELETE", path, &self.key, &[], None)
    }

    /// Makes a request with any key (none when it is empty), headers and bytes.
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> Answer {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let answered = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body);
                self.agent.run(request.expect("the request is one"))
            }
            None => self.agent.run(request.body(()).expect("the request is one")),
        };
        Answer::read(answered.expect("the server answers"))
    }

    /// Sends an email with `fields` over a minimal one and returns its id.
    #[track_caller]
    pub(crate) fn send(&self, fields: &Value) -> String {
        let answer = self.post("/emails", &email(fields)).ok(200);
        answer["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until the email's status is `last_event`, and returns the email.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, last_event: &str) -> Value {
        self.wait_until(id, last_event, |email| email["last_event"] == last_event)
    }

    /// Waits until the email is as `condition` says, and returns it.
    #[track_caller]
    pub(crate) fn wait_until(&self, id: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let is_so = |answer: &Answer| answer.status == 200 && condition(&answer.json);
        self.poll(&format!("/emails/{id}"), what, is_so).ok(200)
    }

    /// Waits until retention has removed the content of an email.
    #[track_caller]
    pub(crate) fn wait_for_purge(&self, id: &str) {
        self.poll(&format!("/emails/{id}/attachments"), "the purge", |answer| answer.status == 410);
    }

    /// Waits until an event is recorded for an email, whether or not it can still be read.
    #[track_caller]
    pub(crate) fn wait_for_record(&self, id: &str, event: &str) {
        await_truth(event, || {
            let recorded = self.recorded_events(id);
            if recorded.contains(&event) { Ok(()) } else { Err(format!("{recorded:?}")) }
        });
    }

    /// Erases addresses from all that is kept of the team, and waits until that is done.
    #[track_caller]
    pub(crate) fn erase(&self, addresses: &[&str]) {
        self.request_erasure(addresses);
        self.wait_for_erasures(0);
    }

    /// Waits until as many erasures as said are left.
    #[track_caller]
    pub(crate) fn wait_for_erasures(&self, left: usize) {
        await_truth("the erasure", || match self.pending_erasures() {
            pending if pending == left => Ok(()),
            pending => Err(format!("{pending} are not done")),
        });
    }

    /// Reads a path until the answer is as `condition` says, and returns it.
    #[track_caller]
    pub(crate) fn poll(&self, path: &str, what: &str, condition: impl Fn(&Answer) -> bool) -> Answer {
        await_truth(what, || {
            let answer = self.get(path);
            if condition(&answer) { Ok(answer) } else { Err(format!("{:#}", answer.json)) }
        })
    }

    fn stop_now(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let stopped = thread.join();
            assert!(stopped.is_ok() || std::thread::panicking(), "the server stops in order");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// Looks again and again until there is something, and gives up with what was seen last.
#[track_caller]
pub(super) fn await_truth<T>(what: &str, look: impl Fn() -> Result<T, String>) -> T {
    let started = monotonic();
    loop {
        match look() {
            Ok(seen) => return seen,
            Err(seen) => assert!(started.elapsed() < DEADLINE, "waited for {what}: {seen}"),
        }
        std::thread::yield_now();
    }
}

/// Returns a minimal email with `fields` in place of its own.
pub(crate) fn email(fields: &Value) -> Value {
    let mut email = json!({
        "from": "Acme <hello@example.com>",
        "to": "delivered@resend.dev",
        "subject": "Hello",
        "text": "Hello there",
    });
    for (name, value) in fields.as_object().expect("fields are an object") {
        email[name] = value.clone();
    }
    email
}

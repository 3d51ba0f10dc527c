//! Starts the server under test with the same `App` as the binary.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::sync::LazyLock;
use std::time::Duration;

use clap::Parser;
use ringmail::admin::request::AdminVerb;
use ringmail::admin::{self, AdminServices, Request, Response};
use ringmail::app::App;
use ringmail::base::clock::{Clock, monotonic};
use ringmail::config::{DevSettings, DevSetup, InstanceVerb, Settings};
use ringmail::context::Context;
use ringmail::delivery::QueueNotifier;
use ringmail::doctor::{DoctorOptions, DoctorReport};
use serde_json::{Value, json};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::{ApiResponse, documented};

/// 2026-01-05T09:00:00Z, a Monday.
const START_MS: i64 = 1_767_603_600_000;
/// Maximum time that a test waits for a condition.
const DEADLINE: Duration = Duration::from_secs(20);
/// Flags that change the rows of a first start.
const SETUP_FLAGS: [&str; 3] = ["--api-key", "--domain", "--regions"];
/// Files of a data directory.
const FILES: [&str; 2] = ["ringmail.redb", "master.key"];

/// Pause between two checks of a condition, in which other tests use the processor.
const POLL_PAUSE: Duration = Duration::from_millis(2);

/// The files of a data directory after the first start, which generates the DKIM keys of a domain. That takes longer than
/// most tests. Ids of a later millisecond follow those of the rows.
static PREPARED: LazyLock<[Vec<u8>; 2]> = LazyLock::new(|| {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let directory =
        TestServer::start_in(directory, Clock::manual(START_MS - 1), InstanceVerb::Dev, &[]).into_directory();
    FILES.map(|name| fs::read(directory.path().join(name)).expect("the server has stopped"))
});

#[derive(Parser)]
struct Arguments {
    #[command(flatten)]
    settings: Settings,
    #[command(flatten)]
    dev: DevSettings,
}

/// A running server with its own data directory. Drop waits for an orderly shutdown.
pub(crate) struct TestServer {
    base: String,
    key: String,
    clock: Clock,
    queue_notifier: QueueNotifier,
    services: AdminServices,
    runtime: Handle,
    stop: CancellationToken,
    thread: Option<std::thread::JoinHandle<()>>,
    directory: Option<tempfile::TempDir>,
    agent: ureq::Agent,
    purpose: PurposeOf,
}

/// Returns the verb that runs the instance. The key and the domains of the setup exist with every verb.
type PurposeOf = fn(DevSetup) -> InstanceVerb;

struct Started {
    address: std::net::SocketAddr,
    key: String,
    queue_notifier: QueueNotifier,
    services: AdminServices,
    runtime: Handle,
}

impl TestServer {
    /// Starts a development instance in capture mode with the domain `example.com`.
    pub(crate) fn start() -> Self {
        Self::start_with(&[])
    }

    /// Starts a development instance with command-line flags. Without `--rate-limit`, requests are unlimited.
    pub(crate) fn start_with(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        if !flags.iter().any(|flag| SETUP_FLAGS.iter().any(|setup| flag.starts_with(setup))) {
            copy_prepared(&directory);
        }
        Self::start_in(directory, Clock::manual(START_MS), InstanceVerb::Dev, flags)
    }

    /// Starts an instance as `ringmail serve` does, with accounts. It has a key and the domain `example.com` too.
    pub(crate) fn serve_with(flags: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self::start_in(directory, Clock::manual(START_MS), |_| InstanceVerb::Serve, flags)
    }

    /// Starts a development instance with a master key that no other instance has.
    pub(crate) fn start_with_own_key() -> Self {
        let directory = tempfile::tempdir().expect("a temporary directory");
        Self::start_in(directory, Clock::manual(START_MS), InstanceVerb::Dev, &[])
    }

    /// Starts a development instance on the data directory of another one. Its clock shows `now_ms`.
    pub(crate) fn start_on(directory: tempfile::TempDir, now_ms: i64) -> Self {
        Self::start_in(directory, Clock::manual(now_ms), InstanceVerb::Dev, &[])
    }

    fn start_in(directory: tempfile::TempDir, clock: Clock, purpose: PurposeOf, flags: &[&str]) -> Self {
        let data_dir = directory.path().to_str().expect("the path is UTF-8").to_owned();
        let common = ["ringmail", "--listen", "127.0.0.1:0", "--data-dir", &data_dir];
        let unlimited: &[&str] = if flags.contains(&"--rate-limit") { &[] } else { &["--rate-limit", "0"] };
        let arguments = common.iter().chain(unlimited).chain(flags).copied();
        let Arguments { settings, dev } = Arguments::try_parse_from(arguments).expect("the flags are valid");
        let setup = DevSetup::from(dev);
        let config = settings.into_config(purpose(setup.clone())).expect("the settings are consistent");
        let stop = CancellationToken::new();
        let (started_tx, started_rx) = std::sync::mpsc::channel();
        let (server_stop, server_clock) = (stop.clone(), clock.clone());
        let thread = std::thread::spawn(move || {
            let runtime =
                tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().expect("a runtime");
            runtime.block_on(async move {
                let app = App::start(config, server_clock).await.expect("the instance starts");
                let ready = admin::prepare(app.services(), &setup).await.expect("the instance is prepared");
                let key = ready.token.reveal().to_owned();
                let started = Started {
                    address: app.address(),
                    key,
                    queue_notifier: app.queue_notifier(),
                    services: app.services().clone(),
                    runtime: Handle::current(),
                };
                started_tx.send(started).expect("the test waits for the start");
                app.serve(server_stop).await.expect("no worker fails");
            });
        });
        let Started { address, key, queue_notifier, services, runtime } =
            started_rx.recv().expect("the instance starts");
        let agent = ureq::Agent::new_with_config(
            ureq::Agent::config_builder()
                .http_status_as_error(false)
                .timeout_global(Some(Duration::from_secs(30)))
                .build(),
        );
        let base = format!("http://{address}");
        let (directory, thread) = (Some(directory), Some(thread));
        Self { base, key, clock, queue_notifier, services, runtime, stop, thread, directory, agent, purpose }
    }

    /// Stops the server and starts it again with the same directory and clock.
    pub(crate) fn restart_with(self, flags: &[&str]) -> Self {
        self.restart_after(Duration::ZERO, flags)
    }

    /// Does the same as [`TestServer::restart_with`]. Advances the clock by `downtime` while the server is stopped.
    pub(crate) fn restart_after(mut self, downtime: Duration, flags: &[&str]) -> Self {
        self.stop_now();
        let directory = self.directory.take().expect("no method took the directory before");
        let (clock, purpose) = (self.clock.clone(), self.purpose);
        clock.advance(downtime);
        drop(self);
        Self::start_in(directory, clock, purpose, flags)
    }

    /// Stops the server and returns its data directory.
    pub(crate) fn into_directory(mut self) -> tempfile::TempDir {
        self.stop_now();
        self.directory.take().expect("no method took the directory before")
    }

    /// Returns the base URL of the API, without a slash at the end.
    pub(crate) fn base(&self) -> &str {
        &self.base
    }

    /// Returns the token of a full access key.
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    /// Returns the context of the server, for data that no endpoint creates or returns.
    pub(crate) fn context(&self) -> &Context {
        &self.services.context
    }

    /// Returns the services of the server, for data that no endpoint creates or returns.
    pub(super) fn services(&self) -> &AdminServices {
        &self.services
    }

    /// Returns the runtime of the server.
    pub(super) fn runtime(&self) -> Handle {
        self.runtime.clone()
    }

    /// Runs a future to completion on the runtime of the server.
    pub(super) fn block_on<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Executes a request of the command line.
    pub(crate) fn admin(&self, verb: impl Into<AdminVerb>) -> Response {
        self.block_on(admin::execute(&self.services, Request { team: None, verb: verb.into() }))
    }

    /// Returns the current time of the clock.
    pub(crate) fn now_ms(&self) -> i64 {
        self.clock.now_ms()
    }

    /// Advances the clock and wakes the delivery engine.
    pub(crate) fn advance(&self, by: Duration) {
        self.clock.advance(by);
        self.queue_notifier.wake();
    }

    /// Counts the queue now, as the server does once a minute.
    pub(crate) fn count_queue(&self) {
        let engine = self.services.doctor.engine.clone().expect("a server runs");
        self.block_on(engine.count_queue()).expect("the queue can be read");
    }

    /// Executes the checks of `ringmail doctor`, and returns the report.
    pub(crate) fn doctor(&self, options: &DoctorOptions) -> DoctorReport {
        self.block_on(self.services.doctor.run(options))
    }

    /// Sends a request with the full access key.
    pub(crate) fn get(&self, path: &str) -> ApiResponse {
        self.call("GET", path, &self.key, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> ApiResponse {
        self.call("POST", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn patch(&self, path: &str, body: &Value) -> ApiResponse {
        self.call("PATCH", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    pub(crate) fn delete(&self, path: &str) -> ApiResponse {
        self.call("DELETE", path, &self.key, &[], None)
    }

    /// Sends a request. An empty `key` sends no `Authorization` header. A request with a body has the content type
    /// `application/json`.
    pub(crate) fn call(
        &self,
        method: &str,
        path: &str,
        key: &str,
        headers: &[(&str, &str)],
        body: Option<&[u8]>,
    ) -> ApiResponse {
        let mut request = ureq::http::Request::builder().method(method).uri(format!("{}{path}", self.base));
        if !key.is_empty() {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let result = match body {
            Some(body) => {
                let request = request.header("content-type", "application/json").body(body);
                self.agent.run(request.expect("a valid request"))
            }
            None => self.agent.run(request.body(()).expect("a valid request")),
        };
        let response = ApiResponse::read(result.expect("the server responds"));
        documented::check(method, path, &response);
        response
    }

    /// Sends [`email`] with `fields` and returns the id of the email.
    #[track_caller]
    pub(crate) fn send(&self, fields: &Value) -> String {
        let sent = self.post("/emails", &email(fields)).ok(200);
        sent["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until the email has the last event `last_event`, and returns the email.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, last_event: &str) -> Value {
        self.wait_until(id, last_event, |email| email["last_event"] == last_event)
    }

    /// Waits until the email meets `condition`, and returns the email.
    #[track_caller]
    pub(crate) fn wait_until(&self, id: &str, what: &str, condition: impl Fn(&Value) -> bool) -> Value {
        let is_met = |response: &ApiResponse| response.status == 200 && condition(&response.json);
        self.poll(&format!("/emails/{id}"), what, is_met).ok(200)
    }

    /// Waits until these email metrics have these values.
    #[track_caller]
    pub(crate) fn wait_for_metrics(&self, expected: &Value) {
        let names = expected.as_object().expect("an object").keys().map(|name| format!("metrics={name}"));
        let path = format!("/emails/metrics?{}", names.collect::<Vec<_>>().join("&"));
        self.poll(&path, "the metrics", |response| response.json["totals"] == *expected);
    }

    /// Waits until retention has deleted the content of an email.
    #[track_caller]
    pub(crate) fn wait_for_purge(&self, id: &str) {
        self.poll(&format!("/emails/{id}/attachments"), "the purge", |response| response.status == 410);
    }

    /// Waits until an event is recorded for an email, even if the email is deleted.
    #[track_caller]
    pub(crate) fn wait_for_recorded_event(&self, id: &str, event: &str) {
        retry_until_ok(event, || {
            let recorded = self.recorded_events(id);
            if recorded.contains(&event) { Ok(()) } else { Err(format!("{recorded:?}")) }
        });
    }

    /// Erases addresses from all data of the team, and waits for the result.
    #[track_caller]
    pub(crate) fn erase(&self, addresses: &[&str]) {
        self.request_erasure(addresses);
        self.wait_for_erasures(0);
    }

    /// Waits until exactly `left` erasures are pending.
    #[track_caller]
    pub(crate) fn wait_for_erasures(&self, left: usize) {
        retry_until_ok("the erasure", || match self.pending_erasures() {
            pending if pending == left => Ok(()),
            pending => Err(format!("{pending} are pending")),
        });
    }

    /// Repeats a GET request until the response meets `condition`, and returns the response.
    #[track_caller]
    pub(crate) fn poll(&self, path: &str, what: &str, condition: impl Fn(&ApiResponse) -> bool) -> ApiResponse {
        retry_until_ok(what, || {
            let response = self.get(path);
            if condition(&response) { Ok(response) } else { Err(format!("{:#}", response.json)) }
        })
    }

    fn stop_now(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let stopped = thread.join();
            assert!(stopped.is_ok() || std::thread::panicking(), "the server thread panicked");
        }
    }
}

impl Drop for TestServer {
    fn drop(&mut self) {
        self.stop_now();
    }
}

/// Writes the files of a first start into a new data directory.
fn copy_prepared(directory: &tempfile::TempDir) {
    for (name, bytes) in FILES.iter().zip(PREPARED.iter()) {
        let mut options = fs::OpenOptions::new();
        let file = options.write(true).create_new(true).mode(0o600).open(directory.path().join(name));
        file.and_then(|mut file| file.write_all(bytes)).expect("the directory is writable");
    }
}

/// Repeats `check` until it returns `Ok`. After [`DEADLINE`], panics with the last error.
#[track_caller]
pub(crate) fn retry_until_ok<T>(what: &str, check: impl Fn() -> Result<T, String>) -> T {
    let started = monotonic();
    loop {
        match check() {
            Ok(value) => return value,
            Err(error) => assert!(started.elapsed() < DEADLINE, "waited for {what}: {error}"),
        }
        std::thread::park_timeout(POLL_PAUSE);
    }
}

/// Returns the body of a minimal email, with `fields` added or replaced.
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

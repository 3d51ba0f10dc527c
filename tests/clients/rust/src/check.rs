//! Checks that print one line each, and calls that record the called method.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt::Debug;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use resend_rs::types::{Email, EmailEvent};
use resend_rs::{Error, Resend};

pub(crate) type Failure = Box<dyn StdError>;
pub(crate) type Checked<T = ()> = Result<T, Failure>;

/// Message of a 404 for a path that does not exist. Other 404 responses are about a row.
const NO_ENDPOINT: &str = "The requested endpoint does not exist.";
pub(crate) const UNKNOWN_ID: &str = "00000000-0000-7000-8000-000000000000";

/// Services under test. Each is a file of the source of the SDK.
const SERVICES: [&str; 14] = [
    "emails",
    "batch",
    "domains",
    "api_keys",
    "receiving",
    "contacts",
    "segments",
    "topics",
    "suppressions",
    "broadcasts",
    "templates",
    "webhooks",
    "logs",
    "usage",
];

const DEADLINE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(50);

/// Calls a method of the SDK and records the call.
macro_rules! call {
    ($suite:expr, $client:expr, $service:ident.$method:ident($($argument:expr),* $(,)?)) => {{
        $suite.called(concat!(stringify!($service), ".", stringify!($method)));
        $client.$service.$method($($argument),*).await
    }};
}

/// Returns an error with this message unless the condition is true.
macro_rules! ensure {
    ($condition:expr, $($sentence:tt)+) => {
        if !$condition {
            return Err(format!($($sentence)+).into());
        }
    };
}

#[derive(Default)]
pub(crate) struct Suite {
    passed: Cell<u32>,
    failed: Cell<u32>,
    methods: RefCell<BTreeSet<&'static str>>,
}

impl Suite {
    pub(crate) fn called(&self, method: &'static str) {
        self.methods.borrow_mut().insert(method);
    }

    pub(crate) async fn check(
        &self,
        method: &str,
        note: &str,
        body: impl Future<Output = Checked>,
    ) {
        match body.await {
            Ok(()) => self.pass(&format!("{method} ok ({note})")),
            Err(error) => self.fail(method, note, &error.to_string()),
        }
    }

    /// Reports the error that ended a part outside its checks.
    pub(crate) fn part(&self, name: &str, result: Checked) {
        if let Err(error) = result {
            self.fail(name, "outside the checks", &error.to_string());
        }
    }

    /// Checks that a call fails that the server does not support.
    pub(crate) fn must_fail<T: Debug>(
        &self,
        method: &str,
        note: &str,
        status: u16,
        name: &str,
        result: Result<T, Error>,
    ) {
        let checked = refused(status, name, result).and_then(|message| {
            ensure!(
                status != 404 || message == NO_ENDPOINT,
                "{message:?} is about a row"
            );
            Ok(())
        });
        match checked {
            Ok(()) => self.pass(&format!("{method} must fail: {status} {name} ({note})")),
            Err(error) => self.fail(method, note, &error.to_string()),
        }
    }

    /// Checks that the types of the SDK cannot represent the response of a call.
    pub(crate) fn must_not_decode<T: Debug>(
        &self,
        method: &str,
        note: &str,
        result: Result<T, Error>,
    ) {
        match result {
            Err(Error::Http(error)) if error.is_decode() => {
                self.pass(&format!("{method} must fail: not decoded ({note})"));
            }
            other => self.fail(method, note, &format!("not a failure to decode: {other:?}")),
        }
    }

    pub(crate) fn pass(&self, text: &str) {
        self.passed.set(self.passed.get() + 1);
        println!("client rust: {text}");
    }

    pub(crate) fn fail(&self, method: &str, note: &str, reason: &str) {
        self.failed.set(self.failed.get() + 1);
        println!("client rust: {method} FAILED ({note}): {reason}");
    }

    /// Returns the number of failed checks.
    pub(crate) fn failures(&self) -> u32 {
        self.failed.get()
    }

    /// Fails each method of the SDK that no check has called.
    pub(crate) fn cover(&self, methods: &[String]) {
        let mut called = 0;
        for method in methods {
            if self.methods.borrow().contains(method.as_str()) {
                called += 1;
            } else {
                self.fail(
                    method,
                    "coverage",
                    "no check calls this method of the SDK",
                );
            }
        }
        println!("client rust: called {called} of {} methods", methods.len());
    }

    pub(crate) fn finish(&self) -> ExitCode {
        println!(
            "client rust: {} passed, {} failed",
            self.passed.get(),
            self.failed.get()
        );
        ExitCode::from(u8::from(self.failed.get() > 0))
    }

    /// Polls an email until its last event is `event`.
    pub(crate) async fn reaches(
        &self,
        client: &Resend,
        id: &str,
        event: EmailEvent,
    ) -> Checked<Email> {
        let polling = async {
            loop {
                let email = call!(self, client, emails.get(id))?;
                if email.last_event == event {
                    return Ok(email);
                }
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::time::timeout(DEADLINE, polling)
            .await
            .map_err(|_| format!("not {event:?} within {DEADLINE:?}"))?
    }
}

/// Returns the message of a refusal. Fails if its status or name is not the expected one.
pub(crate) fn refused<T: Debug>(
    status: u16,
    name: &str,
    result: Result<T, Error>,
) -> Checked<String> {
    match result {
        Ok(value) => Err(format!("accepted: {value:?}").into()),
        Err(Error::Resend(error)) if error.status_code == status && error.name == name => {
            Ok(error.message)
        }
        Err(error) => Err(format!("not {status} {name}: {error:?}").into()),
    }
}

pub(crate) fn same<T: PartialEq + Debug>(seen: T, expected: T) -> Checked {
    ensure!(seen == expected, "{seen:?} is not {expected:?}");
    Ok(())
}

/// Calls `read` until it returns a value.
pub(crate) async fn poll<T>(read: impl AsyncFn() -> Checked<Option<T>>) -> Checked<T> {
    let polling = async {
        loop {
            if let Some(value) = read().await? {
                return Ok(value);
            }
            tokio::time::sleep(PAUSE).await;
        }
    };
    tokio::time::timeout(DEADLINE, polling).await.map_err(|_| format!("not within {DEADLINE:?}"))?
}

pub(crate) fn in_hours(hours: i64) -> String {
    in_seconds(hours * 3600)
}

pub(crate) fn in_seconds(seconds: i64) -> String {
    (now() + chrono::TimeDelta::seconds(seconds)).to_rfc3339_opts(chrono::SecondsFormat::Millis, true)
}

/// Seconds since the Unix epoch.
pub(crate) fn now_s() -> i64 {
    now().timestamp()
}

#[expect(
    clippy::disallowed_methods,
    reason = "a client uses the system clock"
)]
fn now() -> chrono::DateTime<chrono::Utc> {
    chrono::Utc::now()
}

/// Returns all public methods of the services under test as `service.method`.
pub(crate) fn sdk_methods() -> Checked<Vec<String>> {
    let folder = std::env::var("RESEND_RS_SOURCE")?;
    let mut methods = Vec::new();
    for service in SERVICES {
        let source =
            std::fs::read_to_string(Path::new(&folder).join(service).with_extension("rs"))?;
        // The methods are in the first `impl …Svc {`. It ends at the next brace in column 0.
        let block = source
            .split_once("Svc {\n")
            .and_then(|(_, rest)| rest.split_once("\n}"))
            .ok_or_else(|| format!("{service}.rs has no service"))?
            .0;
        let found = block.lines().filter_map(|line| {
            let signature = line.strip_prefix("    pub ")?;
            let name = signature
                .strip_prefix("async ")
                .unwrap_or(signature)
                .strip_prefix("fn ")?;
            Some(format!("{service}.{}", &name[..name.find(['<', '('])?]))
        });
        let before = methods.len();
        methods.extend(found);
        ensure!(methods.len() > before, "{service}.rs has no methods");
    }
    Ok(methods)
}

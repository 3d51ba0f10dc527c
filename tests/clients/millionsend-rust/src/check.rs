//! Checks that print one line each, and calls that record the called method.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::error::Error as StdError;
use std::fmt::Debug;
use std::path::Path;
use std::process::ExitCode;

use millionsend::Error;

pub(crate) type Failure = Box<dyn StdError>;
pub(crate) type Checked<T = ()> = Result<T, Failure>;

pub(crate) const UNKNOWN_ID: &str = "00000000-0000-7000-8000-000000000000";

/// Services under test: file in the source of the SDK, type, and path of the methods.
const SERVICES: [(&str, &str, &str); 10] = [
    ("contacts.rs", "Contacts", "contacts"),
    ("contacts.rs", "ContactTopics", "contacts.topics"),
    ("contacts.rs", "ContactSegments", "contacts.segments"),
    ("contacts.rs", "ContactProperties", "contacts.properties"),
    ("deliverability.rs", "Deliverability", "deliverability"),
    ("segments.rs", "Segments", "segments"),
    ("suppressions.rs", "Suppressions", "suppressions"),
    ("topics.rs", "Topics", "topics"),
    ("usage.rs", "Usage", "usage"),
    ("webhooks.rs", "Webhooks", "webhooks"),
];

/// Calls a method of the SDK and records the call.
macro_rules! call {
    ($suite:expr, $client:expr, $($path:ident).+ ($($argument:expr),* $(,)?)) => {{
        $suite.called(stringify!($($path).+));
        $client.$($path).+($($argument),*).await
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
    methods: RefCell<BTreeSet<String>>,
}

impl Suite {
    /// Records a call. The compiler formats the tokens of `path` with or without spaces.
    pub(crate) fn called(&self, path: &str) {
        self.methods.borrow_mut().insert(path.replace(' ', ""));
    }

    pub(crate) async fn check(&self, method: &str, note: &str, body: impl Future<Output = Checked>) {
        match body.await {
            Ok(()) => {
                self.passed.set(self.passed.get() + 1);
                println!("client millionsend-rust: {method} ok ({note})");
            }
            Err(error) => self.fail(method, note, &error.to_string()),
        }
    }

    /// Reports the error that ended a part outside its checks.
    pub(crate) fn part(&self, name: &str, result: Checked) {
        if let Err(error) = result {
            self.fail(name, "outside the checks", &error.to_string());
        }
    }

    pub(crate) fn fail(&self, method: &str, note: &str, reason: &str) {
        self.failed.set(self.failed.get() + 1);
        println!("client millionsend-rust: {method} FAILED ({note}): {reason}");
    }

    /// Fails each method of the SDK that no check has called.
    pub(crate) fn cover(&self, methods: &[String]) {
        let mut called = 0;
        for method in methods {
            if self.methods.borrow().contains(method) {
                called += 1;
            } else {
                self.fail(method, "coverage", "no check calls this method of the SDK");
            }
        }
        println!("client millionsend-rust: called {called} of {} methods", methods.len());
    }

    pub(crate) fn finish(&self) -> ExitCode {
        println!("client millionsend-rust: {} passed, {} failed", self.passed.get(), self.failed.get());
        ExitCode::from(u8::from(self.failed.get() > 0))
    }
}

/// Returns the message of a refusal. Fails if its status or name is not the expected one.
pub(crate) fn refused<T: Debug>(status: u16, name: &str, result: Result<T, Error>) -> Checked<String> {
    match result {
        Ok(value) => Err(format!("accepted: {value:?}").into()),
        Err(Error::Api(error)) if error.status_code == Some(status) && error.name == name => Ok(error.message),
        Err(error) => Err(format!("not {status} {name}: {error:?}").into()),
    }
}

pub(crate) fn same<T: PartialEq + Debug>(seen: T, expected: T) -> Checked {
    ensure!(seen == expected, "{seen:?} is not {expected:?}");
    Ok(())
}

/// Returns all public methods of the services under test.
pub(crate) fn sdk_methods() -> Checked<Vec<String>> {
    let folder = std::env::var("MILLIONSEND_SOURCE")?;
    let mut methods = Vec::new();
    for (file, service, path) in SERVICES {
        let source = std::fs::read_to_string(Path::new(&folder).join(file))?;
        // The block with the methods ends at the next brace in column 0.
        let block = source
            .split_once(&format!("\nimpl {service} {{\n"))
            .and_then(|(_, rest)| rest.split_once("\n}"))
            .ok_or_else(|| format!("{file} has no {service}"))?
            .0;
        let found = block.lines().filter_map(|line| {
            let signature = line.strip_prefix("    pub async fn ")?;
            Some(format!("{path}.{}", &signature[..signature.find(['<', '('])?]))
        });
        let before = methods.len();
        methods.extend(found);
        ensure!(methods.len() > before, "{service} of {file} has no methods");
    }
    Ok(methods)
}

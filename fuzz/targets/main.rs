//! All fuzz targets in one binary. `FUZZ_TARGET` names the target of a run.
#![no_main]

mod address;
mod captured;
mod csv;
mod customer_url;
mod headers;
mod redact;
mod reply;
mod report;
mod request_body;
mod schedule;

use std::env;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// Checks one input; panics if a property does not hold.
#[derive(Clone, Copy)]
enum Check {
    Bytes(fn(&[u8])),
    /// Takes the longest prefix of the input that is UTF-8.
    Text(fn(&str)),
}

const TARGETS: &[(&str, Check)] = &[
    ("address", Check::Text(address::check)),
    ("captured", Check::Bytes(captured::check)),
    ("csv", Check::Bytes(csv::check)),
    ("customer_url", Check::Text(customer_url::check)),
    ("headers", Check::Bytes(headers::check)),
    ("redact", Check::Bytes(redact::check)),
    ("reply", Check::Bytes(reply::check)),
    ("report", Check::Bytes(report::check)),
    ("request_body", Check::Bytes(request_body::check)),
    ("schedule", Check::Text(schedule::check)),
];

static TARGET: LazyLock<Check> = LazyLock::new(|| {
    let name = env::var("FUZZ_TARGET").unwrap_or_default();
    let target = TARGETS.iter().find(|(target, _)| *target == name);
    target.unwrap_or_else(|| panic!("FUZZ_TARGET is `{name}`, which is not a target")).1
});

fuzz_target!(|input: &[u8]| match *TARGET {
    Check::Bytes(check) => check(input),
    Check::Text(check) => check(utf8_prefix(input)),
});

fn utf8_prefix(input: &[u8]) -> &str {
    let chunk = input.utf8_chunks().next();
    chunk.map_or("", |chunk| chunk.valid())
}

//! Tests the official Rust SDK, unmodified, against a running server.
//!
//! The SDK reads the key and the URL from `RESEND_API_KEY` and `RESEND_BASE_URL`. Rust has no
//! reflection, so `call!` records the called methods, and [`check::sdk_methods`] reads the names of
//! all methods from the source of the SDK.

#[macro_use]
mod check;
mod api_keys;
mod batch;
mod broadcasts;
mod contact_properties;
mod contacts;
mod domains;
mod emails;
mod logs;
mod must_fail;
mod receiver;
mod segments;
mod suppressions;
mod templates;
mod topics;
mod usage;
mod verifiers;
mod webhooks;

use std::process::ExitCode;

use resend_rs::Resend;

use crate::check::Suite;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let suite = Suite::default();
    let client = Resend::default();

    emails::run(&suite, &client).await;
    must_fail::run(&suite, &client).await;
    batch::run(&suite, &client).await;
    domains::run(&suite, &client).await;
    api_keys::run(&suite, &client).await;
    suite.part("contact_properties", contact_properties::run(&suite, &client).await);
    suite.part("topics", topics::run(&suite, &client).await);
    suite.part("segments", segments::run(&suite, &client).await);
    suite.part("contacts", contacts::run(&suite, &client).await);
    suite.part("suppressions", suppressions::run(&suite, &client).await);
    suite.part("broadcasts", broadcasts::run(&suite, &client).await);
    suite.part("templates", templates::run(&suite, &client).await);
    suite.part("webhooks", webhooks::run(&suite, &client).await);
    suite.part("verifiers", verifiers::run(&suite, &client).await);
    suite.part("logs", logs::run(&suite, &client).await);
    suite.part("usage", usage::run(&suite, &client).await);

    match check::sdk_methods() {
        Ok(methods) => suite.cover(&methods),
        Err(error) => suite.fail("coverage", "the SDK's source", &error.to_string()),
    }
    suite.finish()
}

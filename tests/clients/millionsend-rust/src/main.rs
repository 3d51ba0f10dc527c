//! Tests the `millionsend` crate, unmodified, against a running server.
//!
//! It has the batch, erase, rotate and deliverability calls that the compatible API does not have. Its types are
//! strict, so a successful call also proves that the response has the documented fields. Its methods
//! for emails, broadcasts, templates and domains equal those of the official SDK, so this suite does
//! not call them.

#[macro_use]
mod check;
mod audience;
mod batches;
mod contacts;
mod deliverability;
mod webhooks;

use std::process::ExitCode;

use millionsend::MillionSend;

use crate::check::Suite;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let setting = |name: &str| std::env::var(name).unwrap_or_default();
    let client = MillionSend::with_base_url(setting("RESEND_API_KEY"), setting("RESEND_BASE_URL"));
    let suite = Suite::default();

    suite.part("properties", audience::properties(&suite, &client).await);
    suite.part("topics", audience::topics(&suite, &client).await);
    suite.part("segments", audience::segments(&suite, &client).await);
    suite.part("suppressions", audience::suppressions(&suite, &client).await);
    suite.part("contacts", contacts::run(&suite, &client).await);
    suite.part("batches", batches::run(&suite, &client).await);
    suite.part("webhooks", webhooks::run(&suite, &client).await);
    suite.part("deliverability", deliverability::run(&suite, &client).await);
    suite.part("usage", webhooks::usage(&suite, &client).await);

    match check::sdk_methods() {
        Ok(methods) => suite.cover(&methods),
        Err(error) => suite.fail("coverage", "the SDK's source", &error.to_string()),
    }
    suite.finish()
}

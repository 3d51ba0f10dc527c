//! The sample of the dashboard for Rust, in a program. The suite `samples` runs it.
//!
//! The lines from `let resend` are exactly the text of the page. The suite compares them with it.

use resend_rs::types::CreateEmailBaseOptions;

#[rustfmt::skip]
#[tokio::main(flavor = "current_thread")]
async fn main() -> resend_rs::Result<()> {
let resend = resend_rs::Resend::default();
let email = CreateEmailBaseOptions::new(
  "hello@example.com", ["you@example.com"], "Hello",
).with_text("It works.");
resend.emails.send(email).await?;
    Ok(())
}

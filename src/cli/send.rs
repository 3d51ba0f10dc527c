//! `ringmail send`: sends a test email and shows its events until its outcome.

use std::time::Duration;

use clap::Args;

use super::email;
use super::failure::Failure;
use super::output::{Output, print_json, print_line};
use super::store_args::TeamArgs;
use crate::admin::AdminClient;
use crate::admin::emails::{EmailVerb, EmailView, RecipientOutcome, SentView, TestEmail};
use crate::base::clock::monotonic;
use crate::base::id::EmailId;
use crate::config;

/// Pause between two requests for the timeline.
const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct SendArgs {
    #[command(flatten)]
    email: TestEmail,

    /// Maximum wait for the outcome; 0s prints the id and ends.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = config::wait)]
    wait: Duration,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request, and if the email is not delivered to each recipient within the wait.
pub(super) async fn run(args: SendArgs, output: Output) -> Result<(), Failure> {
    let SendArgs { mut email, wait, team } = args;
    if email.text.is_none() && email.html.is_none() {
        email.text = Some("This email shows that sending works.".to_owned());
    }
    let mut client = team.open().await?;
    let sent: SentView = client.request(EmailVerb::Send(email)).await?;
    if output == Output::Text {
        print_line(&sent.id.to_string())?;
    }
    let is_running = client.is_running();
    let wait = if is_running { wait } else { Duration::ZERO };
    let followed = follow(&mut client, sent.id, wait, output).await;
    client.close().await;
    let email = followed?;
    if output == Output::Json {
        print_json(&email)?;
    }
    if !is_running {
        eprintln!("No server is running: the email stays in the queue until the next server starts.");
        return Ok(());
    }
    check_outcome(&email, wait)
}

/// Prints new events until every recipient has an outcome, or until `wait` has passed.
async fn follow(client: &mut AdminClient, id: EmailId, wait: Duration, output: Output) -> Result<EmailView, Failure> {
    let started = monotonic();
    let mut printed = 0;
    loop {
        let email: EmailView = client.request(EmailVerb::Show { id: id.to_string() }).await?;
        if output == Output::Text {
            for event in email.events.iter().skip(printed) {
                print_line(&email::lines(event))?;
            }
            printed = email.events.len();
        }
        let is_open = email.recipients.iter().any(|recipient| recipient.outcome == RecipientOutcome::Open);
        if !is_open || started.elapsed() >= wait {
            return Ok(email);
        }
        tokio::time::sleep(FOLLOW_PAUSE).await;
    }
}

/// Returns a failure unless the email was delivered to each recipient. Without a wait, the outcome is
/// not checked.
fn check_outcome(email: &EmailView, wait: Duration) -> Result<(), Failure> {
    if wait.is_zero() {
        return Ok(());
    }
    let of = |outcome: RecipientOutcome| {
        let recipients = email.recipients.iter().filter(|recipient| recipient.outcome == outcome);
        recipients
            .map(|recipient| format!("{} ({})", recipient.email, recipient.last_event))
            .collect::<Vec<_>>()
            .join(", ")
    };
    let (undelivered, open) = (of(RecipientOutcome::Undelivered), of(RecipientOutcome::Open));
    if !undelivered.is_empty() {
        return Err(Failure::failed(format!("not delivered to {undelivered}")));
    }
    if !open.is_empty() {
        return Err(Failure::failed(format!("not delivered yet to {open}; the server continues to try")));
    }
    let relayed = of(RecipientOutcome::Relayed);
    if !relayed.is_empty() {
        eprintln!("The smarthost accepted the email for {relayed}. Its report brings the outcome.");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::emails::RecipientView;

    fn email(outcomes: &[RecipientOutcome]) -> EmailView {
        let recipient = |outcome: &RecipientOutcome| RecipientView {
            email: "a@example.com".into(),
            last_event: "sent".into(),
            outcome: *outcome,
        };
        EmailView {
            id: EmailId::MIN,
            from: "hello@example.com".into(),
            subject: "x".into(),
            created_at: "2026-01-05T09:12:33.456Z".into(),
            last_event: "sent".into(),
            recipients: outcomes.iter().map(recipient).collect(),
            events: Vec::new(),
            waiting: Vec::new(),
        }
    }

    #[test]
    fn an_email_without_delivery_to_each_recipient_is_a_failure() {
        let wait = Duration::from_secs(1);

        assert!(check_outcome(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Delivered]), wait).is_ok());
        assert!(check_outcome(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Undelivered]), wait).is_err());
        assert!(check_outcome(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Open]), wait).is_err());
        assert!(check_outcome(&email(&[RecipientOutcome::Open]), Duration::ZERO).is_ok());
        assert!(check_outcome(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Relayed]), wait).is_ok());
    }
}

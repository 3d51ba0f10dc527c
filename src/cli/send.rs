//! `ringmail send`: a test email through the same accept as every other, followed to its outcome.

use std::time::Duration;

use clap::Args;

use super::failure::Failure;
use super::output::{Output, print_json, print_line};
use super::store_args::{TeamArgs, ask, unexpected};
use crate::admin::response::{EmailView, EventView, RecipientOutcome, SentView};
use crate::admin::{AdminClient, Request, Response};
use crate::base::clock::monotonic;
use crate::config;

/// The pause between two looks at the timeline.
const FOLLOW_PAUSE: Duration = Duration::from_millis(100);

#[derive(Args)]
pub(super) struct SendArgs {
    /// A recipient; may be repeated.
    #[arg(long, required = true, value_name = "ADDRESS")]
    to: Vec<String>,

    /// The sender, of a verified domain [default: hello at the newest verified domain].
    #[arg(long, value_name = "ADDRESS")]
    from: Option<String>,

    /// The subject.
    #[arg(long, default_value = "A test from Ringmail")]
    subject: String,

    /// The html part.
    #[arg(long, value_name = "HTML")]
    html: Option<String>,

    /// The text part [default: a sentence, where there is no html part either].
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,

    /// How long the outcome is waited for; 0s prints the id and ends.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = config::wait)]
    wait: Duration,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb. It fails when a recipient does not get the email, or none knows in time.
///
/// # Errors
/// What the server or the store refuses, and an email that does not arrive.
pub(super) async fn run(args: SendArgs, output: Output) -> Result<(), Failure> {
    let SendArgs { to, from, subject, html, text, wait, team: TeamArgs { team, place } } = args;
    let text = match (text, &html) {
        (None, None) => Some("This email shows that sending works.".to_owned()),
        (text, _) => text,
    };
    let request = Request::Send { team: team.clone(), from, to, subject, html, text };
    let mut door = place.open().await?;
    let sent = match ask(&mut door, request).await? {
        Response::Sent(sent) => sent,
        other => return Err(unexpected(&other)),
    };
    if output == Output::Text {
        print_line(&sent.id.to_string())?;
    }
    let is_running = door.is_running();
    let wait = if is_running { wait } else { Duration::ZERO };
    let followed = follow(&mut door, team, &sent, wait, output).await;
    door.close().await;
    let email = followed?;
    if output == Output::Json {
        print_json(&email)?;
    }
    if !is_running {
        eprintln!("No server is running: the email waits in the queue until one does.");
        return Ok(());
    }
    verdict(&email, wait)
}

/// Prints the timeline as it grows, until every recipient has an outcome or the time is up.
async fn follow(
    door: &mut AdminClient,
    team: Option<String>,
    sent: &SentView,
    wait: Duration,
    output: Output,
) -> Result<EmailView, Failure> {
    let request = Request::EmailShow { team, email: sent.id };
    let started = monotonic();
    let mut printed = 0;
    loop {
        let email = match ask(door, request.clone()).await? {
            Response::Email(email) => email,
            other => return Err(unexpected(&other)),
        };
        if output == Output::Text {
            for event in email.events.iter().skip(printed) {
                print_line(&line(event))?;
            }
            printed = email.events.len();
        }
        let open = email.recipients.iter().any(|recipient| recipient.outcome == RecipientOutcome::Open);
        if !open || started.elapsed() >= wait {
            return Ok(email);
        }
        tokio::time::sleep(FOLLOW_PAUSE).await;
    }
}

fn line(event: &EventView) -> String {
    let mut line = format!("{}  {:<22}  {}", event.at, event.kind, event.recipients.join(", "));
    if let Some(detail) = &event.detail {
        line.push_str("  ");
        line.push_str(detail);
    }
    line
}

/// Decides whether the email arrived. Without a wait nothing is said about it.
fn verdict(email: &EmailView, wait: Duration) -> Result<(), Failure> {
    if wait.is_zero() {
        return Ok(());
    }
    let of = |outcome: RecipientOutcome| {
        let with = email.recipients.iter().filter(|recipient| recipient.outcome == outcome);
        with.map(|recipient| format!("{} ({})", recipient.email, recipient.last_event)).collect::<Vec<_>>().join(", ")
    };
    let (undelivered, open) = (of(RecipientOutcome::Undelivered), of(RecipientOutcome::Open));
    if !undelivered.is_empty() {
        return Err(Failure::failed(format!("not delivered to {undelivered}")));
    }
    if !open.is_empty() {
        return Err(Failure::failed(format!("not delivered yet to {open}; the server goes on trying")));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admin::response::RecipientView;
    use crate::base::id::EmailId;

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
        }
    }

    #[test]
    fn an_email_has_arrived_when_every_recipient_has_it() {
        let wait = Duration::from_secs(1);

        assert!(verdict(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Delivered]), wait).is_ok());
        assert!(verdict(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Undelivered]), wait).is_err());
        assert!(verdict(&email(&[RecipientOutcome::Delivered, RecipientOutcome::Open]), wait).is_err());
        assert!(verdict(&email(&[RecipientOutcome::Open]), Duration::ZERO).is_ok());
    }
}

//! `ringmail domain`: sending domains and the DNS records they need.

use std::time::Duration;

use super::dns_records;
use super::failure::Failure;
use super::output::{Output, print_line};
use super::store_args::{TeamArgs, TeamVerbArgs};
use crate::admin::AdminClient;
use crate::admin::domains::{CheckedDomain, DomainVerb, RemovedView};
use crate::base::clock::monotonic;
use crate::domains::DomainStatus;
use crate::domains::api::response::DomainResponse;

/// Pause between two requests for the result of a check.
const CHECK_PAUSE: Duration = Duration::from_millis(200);

/// Runs the verb.
///
/// # Errors
/// Any failure of the request. `check` also fails if the domain is not verified.
pub(super) async fn run(TeamVerbArgs { verb, team }: TeamVerbArgs<DomainVerb>, output: Output) -> Result<(), Failure> {
    match verb {
        DomainVerb::Add { verified, .. } => {
            let domain = show(team, verb).await?;
            output.print(&domain, text)?;
            if output == Output::Text && !verified {
                eprintln!("Publish these records, then run `ringmail domain check {}`.", domain.details.domain.name);
            }
            Ok(())
        }
        DomainVerb::List { .. } => list(team, output).await,
        DomainVerb::Show { zone: true, .. } if output == Output::Json => {
            Err(Failure::usage("--zone prints a zone file, and --json prints JSON: choose one of them"))
        }
        DomainVerb::Show { zone: true, .. } => print_line(&dns_records::zone(&show(team, verb).await?.details)),
        DomainVerb::Show { zone: false, .. } => output.print(&show(team, verb).await?, text),
        DomainVerb::Check { domain, wait } => check(team, domain, wait, output).await,
        DomainVerb::Remove { .. } => {
            let removed: RemovedView = team.request(verb).await?;
            output.print(&removed, |removed| removed.id.to_string())
        }
    }
}

/// Executes a verb whose result contains DNS records.
async fn show(team: TeamArgs, verb: DomainVerb) -> Result<CheckedDomain, Failure> {
    let (domain, is_running) = team.request_and_state(verb).await?;
    if !is_running {
        // The settings of the server are unknown here, and a record with a wrong host name could be published.
        eprintln!(
            "No server is running: the records name the host of this shell's settings; \
             set RINGMAIL_HOSTNAME and RINGMAIL_RELAY_RECORDS to the values of the server."
        );
    }
    Ok(domain)
}

async fn list(team: TeamArgs, output: Output) -> Result<(), Failure> {
    let page = |last: Option<&DomainResponse>| DomainVerb::List { after: last.map(|row| row.id) };
    let no_rows = "There is no domain; add one with `ringmail domain add NAME`.";
    output.print_rows(&team.list(page).await?, no_rows, &["ID", "NAME", "STATUS", "CREATED"], |domain| {
        vec![domain.id.to_string(), domain.name.clone(), domain.status.clone(), domain.created_at.clone()]
    })
}

async fn check(team: TeamArgs, domain: String, wait: Duration, output: Output) -> Result<(), Failure> {
    let mut client = team.open().await?;
    let before: CheckedDomain = client.request(DomainVerb::Show { domain: domain.clone(), zone: false }).await?;
    let pending: CheckedDomain = client.request(DomainVerb::Check { domain: domain.clone(), wait }).await?;
    let is_running = client.is_running();
    // `ringmail dev` treats its domains as verified without a check.
    let is_assumed = is_verified(&before) && before.checked_at.is_none();
    let checked =
        if is_running && !is_assumed { wait_for_check(&mut client, &domain, &before, wait).await? } else { None };
    client.close().await;
    output.print(checked.as_ref().unwrap_or(&pending), text)?;
    match checked {
        Some(domain) if is_verified(&domain) => Ok(()),
        Some(checked) => {
            let DomainResponse { name, status, .. } = checked.details.domain;
            Err(Failure::failed(format!("{name} is not verified ({status}): not every record it needs was found")))
        }
        None if is_assumed => Ok(()),
        None if !is_running && is_verified(&pending) => {
            eprintln!(
                "No server is running: this is the result of the last check; the next server checks the records."
            );
            Ok(())
        }
        None if is_running => {
            Err(Failure::failed("the check did not finish in time; run `ringmail domain show` for its result"))
        }
        None => Err(Failure::failed("no server is running: the next server checks the records")),
    }
}

fn is_verified(domain: &CheckedDomain) -> bool {
    domain.details.domain.status == DomainStatus::Verified.as_str()
}

/// Waits for a check that is later than `before`; `None` after `wait`.
async fn wait_for_check(
    client: &mut AdminClient,
    domain: &str,
    before: &CheckedDomain,
    wait: Duration,
) -> Result<Option<CheckedDomain>, Failure> {
    let started = monotonic();
    loop {
        let domain: CheckedDomain = client.request(DomainVerb::Show { domain: domain.to_owned(), zone: false }).await?;
        if domain.checked_at != before.checked_at {
            return Ok(Some(domain));
        }
        if started.elapsed() >= wait {
            return Ok(None);
        }
        tokio::time::sleep(CHECK_PAUSE).await;
    }
}

fn text(CheckedDomain { details, checked_at }: &CheckedDomain) -> String {
    dns_records::blocks(details, checked_at.is_some())
}

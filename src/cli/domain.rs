//! `ringmail domain`: sending domains and the DNS records they need.

use std::time::Duration;

use clap::{Args, Subcommand};

use super::failure::Failure;
use super::output::{Output, table};
use super::store_args::{StoreArgs, TeamArgs, ask, unexpected};
use crate::admin::request::DomainTrust;
use crate::admin::response::{DnsRecordView, DomainView};
use crate::admin::{AdminClient, Request, Response};
use crate::base::clock::monotonic;
use crate::config;
use crate::domains::DomainStatus;

/// The pause between two looks at a check under way.
const CHECK_PAUSE: Duration = Duration::from_millis(200);

#[derive(Subcommand)]
pub(super) enum DomainVerb {
    /// Add a domain and print the DNS records it needs.
    Add(AddArgs),
    /// List the domains.
    List(TeamArgs),
    /// Show a domain and its DNS records.
    Show(DomainArgs),
    /// Look for a domain's DNS records and show what is there; fails unless the domain is verified.
    Check(CheckArgs),
    /// Remove a domain, and the API keys that may send from it alone.
    Remove(DomainArgs),
}

#[derive(Args)]
pub(super) struct AddArgs {
    /// Its name.
    name: String,

    /// Count it as verified without DNS records; of `ringmail dev` alone.
    #[arg(long)]
    verified: bool,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct DomainArgs {
    /// Its name or its id.
    domain: String,

    #[command(flatten)]
    team: TeamArgs,
}

#[derive(Args)]
pub(super) struct CheckArgs {
    /// Its name or its id.
    domain: String,

    /// How long the result is waited for.
    #[arg(long, value_name = "DURATION", default_value = "20s", value_parser = config::wait)]
    wait: Duration,

    #[command(flatten)]
    team: TeamArgs,
}

/// Runs the verb.
///
/// # Errors
/// What the server or the store refuses.
pub(super) async fn run(verb: DomainVerb, output: Output) -> Result<(), Failure> {
    match verb {
        DomainVerb::Add(AddArgs { name, verified, team: TeamArgs { team, place } }) => {
            let trust = if verified { DomainTrust::Given } else { DomainTrust::Records };
            let domain = shown(place, Request::DomainAdd { team, name, trust }).await?;
            output.print(&domain, text)?;
            if output == Output::Text && trust == DomainTrust::Records {
                eprintln!("Publish these records, then run `ringmail domain check {}`.", domain.name);
            }
            Ok(())
        }
        DomainVerb::List(team) => list(team, output).await,
        DomainVerb::Show(DomainArgs { domain: wanted, team: TeamArgs { team, place } }) => {
            let domain = shown(place, Request::DomainShow { team, domain: wanted }).await?;
            output.print(&domain, text)
        }
        DomainVerb::Check(args) => check(args, output).await,
        DomainVerb::Remove(DomainArgs { domain, team: TeamArgs { team, place } }) => {
            match place.ask(Request::DomainRemove { team, domain }).await? {
                Response::Removed(removed) => output.print(&removed, |removed| removed.id.to_string()),
                other => Err(unexpected(&other)),
            }
        }
    }
}

/// Asks for a domain whose records are about to be printed.
async fn shown(place: StoreArgs, request: Request) -> Result<DomainView, Failure> {
    let mut door = place.open().await?;
    let response = ask(&mut door, request).await;
    if response.is_ok() && !door.is_running() {
        // Its own settings are not known here, and a wrong name would be published.
        eprintln!(
            "No server is running: the records name the host of this shell's settings; \
             set RINGMAIL_HOSTNAME and RINGMAIL_RELAY_RECORDS as the server has them."
        );
    }
    door.close().await;
    domain(response?)
}

fn domain(response: Response) -> Result<DomainView, Failure> {
    match response {
        Response::Domain(domain) => Ok(domain),
        other => Err(unexpected(&other)),
    }
}

async fn list(TeamArgs { team, place }: TeamArgs, output: Output) -> Result<(), Failure> {
    let request = |last: Option<&DomainView>| Request::DomainList { team: team.clone(), after: last.map(|row| row.id) };
    let page_of = |response| match response {
        Response::Domains(page) => Ok(page),
        other => Err(unexpected(&other)),
    };
    let rows = place.ask_all(request, page_of).await?;
    let nothing = "There is no domain; add one with `ringmail domain add NAME`.";
    output.print_rows(&rows, nothing, &["ID", "NAME", "STATUS", "CREATED"], |domain| {
        vec![domain.id.to_string(), domain.name.clone(), domain.status.clone(), domain.created_at.clone()]
    })
}

async fn check(args: CheckArgs, output: Output) -> Result<(), Failure> {
    let CheckArgs { domain: wanted, wait, team: TeamArgs { team, place } } = args;
    let mut door = place.open().await?;
    let show = Request::DomainShow { team: team.clone(), domain: wanted.clone() };
    let before = domain(ask(&mut door, show.clone()).await?)?;
    let asked = Request::DomainCheck { team, domain: wanted };
    let pending = domain(ask(&mut door, asked).await?)?;
    let is_running = door.is_running();
    // `ringmail dev` counts its domains as verified without a look.
    let is_assumed = is_verified(&before) && before.checked_at.is_none();
    let checked = if is_running && !is_assumed { settled(&mut door, &show, &before, wait).await? } else { None };
    door.close().await;
    output.print(checked.as_ref().unwrap_or(&pending), text)?;
    match checked {
        Some(domain) if is_verified(&domain) => Ok(()),
        Some(DomainView { name, status, .. }) => {
            Err(Failure::failed(format!("{name} is not verified ({status}): not every record it needs was found")))
        }
        None if is_assumed => Ok(()),
        None if !is_running && is_verified(&pending) => {
            eprintln!(
                "No server is running: this is what the last check found; the records are looked for once one does."
            );
            Ok(())
        }
        None if is_running => {
            Err(Failure::failed("the records have not been looked for in time; run `ringmail domain show`"))
        }
        None => Err(Failure::failed("no server is running: the records are looked for once one does")),
    }
}

fn is_verified(domain: &DomainView) -> bool {
    domain.status == DomainStatus::Verified.as_str()
}

/// Waits for a look at the records that is later than what was known; none when it takes too long.
async fn settled(
    door: &mut AdminClient,
    show: &Request,
    before: &DomainView,
    wait: Duration,
) -> Result<Option<DomainView>, Failure> {
    let started = monotonic();
    loop {
        let domain = domain(ask(door, show.clone()).await?)?;
        if domain.checked_at != before.checked_at {
            return Ok(Some(domain));
        }
        if started.elapsed() >= wait {
            return Ok(None);
        }
        tokio::time::sleep(CHECK_PAUSE).await;
    }
}

fn text(domain: &DomainView) -> String {
    let mut text = format!("{}  {}  {}", domain.id, domain.name, domain.status);
    if !domain.records.is_empty() {
        text.push_str("\n\n");
        text.push_str(&records(&domain.records));
    }
    if !domain.recommended_records.is_empty() {
        text.push_str("\n\nRecommended\n");
        text.push_str(&records(&domain.recommended_records));
    }
    text
}

fn records(records: &[DnsRecordView]) -> String {
    let heading = ["RECORD", "TYPE", "NAME", "PRIORITY", "STATUS", "LIVE", "VALUE"];
    let cells = |record: &DnsRecordView| {
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        vec![
            record.record.clone(),
            record.dns_type.clone(),
            record.name.clone(),
            or_dash(record.priority.map(|priority| priority.to_string())),
            record.status.clone(),
            or_dash(record.live.clone()),
            record.value.clone(),
        ]
    };
    let mut text = table(&heading, records.iter().map(cells));
    for record in records {
        if let Some(detail) = &record.detail {
            text.push_str(&format!("\n{detail}"));
        }
    }
    text
}

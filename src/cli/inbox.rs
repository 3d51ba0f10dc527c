//! `ringmail inbox`: captured mail, for tests of programs that send email.

use std::io::{self, Write as _};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use serde_json::json;

use super::captured;
use super::failure::{Exit, Failure};
use super::output::Output;
use super::store_args::{StoreArgs, StoreVerbArgs, TeamArgs};
use crate::admin::AdminClient;
use crate::admin::captured::CapturedVerb;
use crate::admin::inbox::{
    InboxClearedView, InboxFilter, InboxMessageView, InboxRawView, InboxRowView, InboxVerb, InboxWaitView,
};
use crate::admin::response::Rows;
use crate::admin::{LISTED_DEFAULT, listed_max};
use crate::base::clock::monotonic;
use crate::base::id::CapturedId;
use crate::base::printable::printable;
use crate::config;

/// Characters of the recipients and of the subject in a list.
const CELL_CHARS_MAX: usize = 40;
/// Characters of a field of one message.
const FIELD_CHARS_MAX: usize = 1_000;
/// Longest wait of one request to the server.
const REQUEST_WAIT_MAX: Duration = Duration::from_secs(10);

#[derive(Subcommand)]
pub(super) enum InboxCommand {
    /// List the captured messages, newest first.
    List {
        #[command(flatten)]
        filter: FilterArgs,

        /// Maximum number of messages.
        #[arg(long, value_name = "N", default_value_t = LISTED_DEFAULT, value_parser = listed_max())]
        limit: usize,
    },
    /// Show a captured message with its text, its links and its attachments.
    Show {
        /// Id of the message.
        id: String,
    },
    /// Print a captured message as it was received.
    Raw {
        /// Id of the message.
        id: String,
    },
    /// Wait for a captured message, and print it or the first link or code in it.
    Wait(WaitArgs),
    /// Delete all captured messages.
    Clear,
    /// Deliver a captured message to its recipients, through the transport of --release.
    Release {
        /// Id of the message.
        id: String,
    },
}

// Messages to find. A doc comment would replace the description of the verb.
#[derive(Args)]
pub(super) struct FilterArgs {
    /// Recipient: a whole address, or a part of one.
    #[arg(long, value_name = "ADDRESS")]
    to: Option<String>,

    /// Part of the subject.
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,
}

#[derive(Args)]
pub(super) struct WaitArgs {
    /// Recipient: a whole address, or a part of one.
    #[arg(long, value_name = "ADDRESS")]
    to: String,

    /// Part of the subject.
    #[arg(long, value_name = "TEXT")]
    subject: Option<String>,

    /// Longest wait, up to a day.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = config::wait)]
    timeout: Duration,

    /// Wait for a message that arrives from now on, although earlier ones match.
    #[arg(long = "new")]
    is_new: bool,

    /// Print only the first link of the message.
    #[arg(long = "link", conflicts_with = "is_code")]
    is_link: bool,

    /// Print only the first code of the message: four to eight digits.
    #[arg(long = "code")]
    is_code: bool,
}

impl From<FilterArgs> for InboxFilter {
    fn from(FilterArgs { to, subject }: FilterArgs) -> Self {
        Self { to, subject }
    }
}

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    StoreVerbArgs { verb, store }: StoreVerbArgs<InboxCommand>,
    output: Output,
) -> Result<(), Failure> {
    match verb {
        InboxCommand::List { filter, limit } => list(filter.into(), limit, store, output).await,
        InboxCommand::Show { id } => {
            let message: InboxMessageView = store.request(InboxVerb::Show { id }).await?;
            output.print(&message, show)
        }
        InboxCommand::Raw { id } => raw(id, store, output).await,
        InboxCommand::Wait(args) => wait(args, store, output).await,
        InboxCommand::Clear => {
            let cleared: InboxClearedView = store.request(InboxVerb::Clear).await?;
            output.print(&cleared, |cleared| format!("Deleted {} messages.", cleared.deleted))
        }
        InboxCommand::Release { id } => {
            captured::run(StoreVerbArgs { verb: CapturedVerb::Release { id }, store }, output).await
        }
    }
}

async fn list(filter: InboxFilter, limit: usize, store: StoreArgs, output: Output) -> Result<(), Failure> {
    let page = |last: Option<&InboxRowView>| InboxVerb::List { filter: filter.clone(), after: last.map(|row| row.id) };
    let rows: Rows<InboxRowView> = TeamArgs { team: None, store }.list_up_to(limit, page).await?;
    let heading = ["ID", "RECEIVED", "TO", "SUBJECT", "BYTES"];
    output.print_page(&rows, "There is no captured message.", &heading, |row| {
        vec![
            row.id.to_string(),
            row.received_at.clone(),
            printable(&row.to.join(", "), CELL_CHARS_MAX),
            printable(&row.subject, CELL_CHARS_MAX),
            row.size.to_string(),
        ]
    })
}

/// Prints the bytes of a message, or a JSON object with them in base64.
async fn raw(id: String, store: StoreArgs, output: Output) -> Result<(), Failure> {
    let mut client = TeamArgs { team: None, store }.open().await?;
    let read = read_raw(&mut client, &id).await;
    client.close().await;
    let bytes = read?;
    match output {
        Output::Json => output.print(&json!({ "id": id, "base64": STANDARD.encode(&bytes) }), |_| String::new()),
        Output::Text => io::stdout()
            .write_all(&bytes)
            .and_then(|()| io::stdout().flush())
            .or_else(|error| if error.kind() == io::ErrorKind::BrokenPipe { Ok(()) } else { Err(error) })
            .map_err(|error| Failure::failed(format!("could not write the message: {error}"))),
    }
}

async fn read_raw(client: &mut AdminClient, id: &str) -> Result<Vec<u8>, Failure> {
    let (mut bytes, mut offset) = (Vec::new(), Some(0));
    while let Some(from) = offset {
        let part: InboxRawView = client.request(InboxVerb::Raw { id: id.to_owned(), offset: from }).await?;
        let decoded = STANDARD.decode(&part.base64);
        bytes.extend(decoded.map_err(|_| Failure::failed("the server sent a message that cannot be decoded"))?);
        offset = part.next;
    }
    Ok(bytes)
}

async fn wait(args: WaitArgs, store: StoreArgs, output: Output) -> Result<(), Failure> {
    let mut client = TeamArgs { team: None, store }.open().await?;
    let waited = wait_with(&mut client, &args).await;
    client.close().await;
    let message = waited?;
    let missing = |what: &str| {
        let sentence = format!("the message {} has no {what}; `ringmail inbox show` shows it", message.row.id);
        Failure::new(Exit::NotFound, sentence)
    };
    match (args.is_link, args.is_code) {
        (true, _) => {
            let link = message.links.first().ok_or_else(|| missing("link"))?;
            output.print(&json!({ "id": message.row.id, "link": link }), |_| printable(link, FIELD_CHARS_MAX))
        }
        (false, true) => {
            let code = message.code.as_ref().ok_or_else(|| missing("code"))?;
            output.print(&json!({ "id": message.row.id, "code": code }), |_| code.clone())
        }
        (false, false) => output.print(&message, show),
    }
}

async fn wait_with(client: &mut AdminClient, args: &WaitArgs) -> Result<InboxMessageView, Failure> {
    let started = monotonic();
    let filter = InboxFilter { to: Some(args.to.clone()), subject: args.subject.clone() };
    let newer_than = if args.is_new { newest(client).await? } else { None };
    loop {
        let left = args.timeout.saturating_sub(started.elapsed());
        let wait_ms = u64::try_from(left.min(REQUEST_WAIT_MAX).as_millis()).unwrap_or(u64::MAX);
        // Without a server, no message arrives.
        let wait_ms = if client.is_running() { wait_ms } else { 0 };
        let verb = InboxVerb::Wait { filter: filter.clone(), newer_than, wait_ms };
        let InboxWaitView { message } = client.request(verb).await?;
        if let Some(message) = message {
            return Ok(message);
        }
        if !client.is_running() {
            let sentence = "no server is running, so that no message arrives; start one with `ringmail dev`";
            return Err(Failure::new(Exit::Unreachable, sentence));
        }
        if started.elapsed() >= args.timeout {
            let sentence = format!(
                "no message to {} arrived within {} s; `ringmail inbox list` shows what did",
                printable(&args.to, FIELD_CHARS_MAX),
                args.timeout.as_secs()
            );
            return Err(Failure::new(Exit::NotFound, sentence));
        }
    }
}

/// Returns the newest message of the mailbox.
async fn newest(client: &mut AdminClient) -> Result<Option<CapturedId>, Failure> {
    let verb = InboxVerb::List { filter: InboxFilter::default(), after: None };
    let rows: Rows<InboxRowView> = client.request(verb).await?;
    Ok(rows.data.first().map(|row| row.id))
}

fn show(message: &InboxMessageView) -> String {
    let InboxMessageView { row, headers: _, text, html: _, is_truncated, links, code, attachments } = message;
    let dash = || "-".to_owned();
    let fields = [
        ("Id", row.id.to_string()),
        ("Received", row.received_at.clone()),
        ("From", printable(&row.from, FIELD_CHARS_MAX)),
        ("To", printable(&row.to.join(", "), FIELD_CHARS_MAX)),
        ("Subject", printable(&row.subject, FIELD_CHARS_MAX)),
        ("Email", row.email_id.map_or_else(dash, |id| id.to_string())),
        ("Released", row.released_at.clone().unwrap_or_else(dash)),
        ("Code", code.clone().unwrap_or_else(dash)),
    ];
    let mut lines: Vec<String> = fields.iter().map(|(name, value)| format!("{name:<8}  {value}")).collect();
    lines.extend(links.iter().map(|link| format!("{:<8}  {}", "Link", printable(link, FIELD_CHARS_MAX))));
    lines.extend(attachments.iter().map(|file| {
        let name = printable(&file.filename, FIELD_CHARS_MAX);
        format!("{:<8}  {name} ({}, {} bytes)", "File", printable(&file.content_type, FIELD_CHARS_MAX), file.size)
    }));
    lines.push(String::new());
    lines.extend(text.iter().flat_map(|text| text.lines()).map(|line| printable(line, usize::MAX)));
    if *is_truncated {
        lines.push("(the rest is not shown)".to_owned());
    }
    lines.join("\n")
}

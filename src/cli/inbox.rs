//! `ringmail inbox`: captured mail, for tests of programs that send email.

use std::io::{self, Write as _};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use super::captured;
use super::failure::{Exit, Failure};
use super::output::{Output, cell, field, fields, or_dash};
use super::store_args::{StoreVerbArgs, TeamArgs};
use crate::admin::AdminClient;
use crate::admin::captured::{
    InboxClearedView, InboxFilter, InboxMessageView, InboxRawView, InboxRowView, InboxVerb, InboxWait, WAIT_MAX,
};
use crate::admin::response::Rows;
use crate::base::clock::monotonic;
use crate::base::id::CapturedId;
use crate::base::printable::printable;

/// Runs the verb.
///
/// # Errors
/// Any failure of the request.
pub(super) async fn run(
    StoreVerbArgs { verb, store }: StoreVerbArgs<InboxVerb>,
    output: Output,
) -> Result<(), Failure> {
    let store = TeamArgs::from(store);
    match verb {
        InboxVerb::List { filter, limit, .. } => list(filter, limit, store, output).await,
        InboxVerb::Show { .. } => {
            let message: InboxMessageView = store.request(verb).await?;
            output.print(&message, show)
        }
        InboxVerb::Raw { id, .. } => raw(id, store, output).await,
        InboxVerb::Wait(args) => wait(args, store, output).await,
        InboxVerb::Clear => {
            let cleared: InboxClearedView = store.request(verb).await?;
            output.print(&cleared, |cleared| format!("Deleted {} messages.", cleared.deleted))
        }
        InboxVerb::Release { .. } => captured::release(verb, store, output).await,
    }
}

async fn list(filter: InboxFilter, limit: usize, store: TeamArgs, output: Output) -> Result<(), Failure> {
    let page = |last: Option<&InboxRowView>| {
        let after = last.map(|row| row.id);
        InboxVerb::List { filter: filter.clone(), limit, after }
    };
    let rows = store.list_up_to(limit, page).await?;
    let heading = ["ID", "RECEIVED", "TO", "SUBJECT", "BYTES"];
    output.print_page(&rows, "There is no captured message.", &heading, |row| {
        vec![
            row.id.to_string(),
            row.received_at.clone(),
            cell(&row.to.join(", ")),
            cell(&row.subject),
            row.size.to_string(),
        ]
    })
}

/// Prints the bytes of a message, or a JSON object with them in base64.
async fn raw(id: String, store: TeamArgs, output: Output) -> Result<(), Failure> {
    let bytes = store.with_client(async |client| read_raw(client, &id).await).await?;
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

async fn wait(args: InboxWait, store: TeamArgs, output: Output) -> Result<(), Failure> {
    let message = store.with_client(async |client| wait_with(client, &args).await).await?;
    let missing = |what: &str| {
        let sentence = format!("the message {} has no {what}; `ringmail inbox show` shows it", message.row.id);
        Failure::new(Exit::NotFound, sentence)
    };
    match (args.is_link, args.is_code) {
        (true, _) => {
            let link = message.links.first().ok_or_else(|| missing("link"))?;
            output.print(&json!({ "id": message.row.id, "link": link }), |_| field(link))
        }
        (false, true) => {
            let code = message.code.as_ref().ok_or_else(|| missing("code"))?;
            output.print(&json!({ "id": message.row.id, "code": code }), |_| code.clone())
        }
        (false, false) => output.print(&message, show),
    }
}

async fn wait_with(client: &mut AdminClient, args: &InboxWait) -> Result<InboxMessageView, Failure> {
    let started = monotonic();
    let newer_than = if args.is_new { newest(client).await? } else { None };
    loop {
        let left = args.timeout.saturating_sub(started.elapsed());
        let wait_ms = u64::try_from(left.min(WAIT_MAX).as_millis()).unwrap_or(u64::MAX);
        // Without a server, no message arrives.
        let wait_ms = if client.is_running() { wait_ms } else { 0 };
        let verb = InboxVerb::Wait(InboxWait { newer_than, wait_ms, ..args.clone() });
        let messages: Rows<InboxMessageView> = client.request(verb).await?;
        if let Some(message) = messages.data.into_iter().next() {
            return Ok(message);
        }
        if !client.is_running() {
            let sentence = "no server is running, so that no message arrives; start one with `ringmail dev`";
            return Err(Failure::new(Exit::Unreachable, sentence));
        }
        if started.elapsed() >= args.timeout {
            let sentence = format!(
                "no message to {} arrived within {} s; `ringmail inbox list` shows what did",
                field(&args.to),
                args.timeout.as_secs()
            );
            return Err(Failure::new(Exit::NotFound, sentence));
        }
    }
}

/// Returns the newest message of the mailbox.
async fn newest(client: &mut AdminClient) -> Result<Option<CapturedId>, Failure> {
    let verb = InboxVerb::List { filter: InboxFilter::default(), limit: 1, after: None };
    let rows: Rows<InboxRowView> = client.request(verb).await?;
    Ok(rows.data.first().map(|row| row.id))
}

fn show(message: &InboxMessageView) -> String {
    let InboxMessageView { row, headers: _, text, html: _, is_truncated, links, code, attachments } = message;
    let mut fields = vec![
        ("Id", row.id.to_string()),
        ("Received", row.received_at.clone()),
        ("From", field(&row.from)),
        ("To", field(&row.to.join(", "))),
        ("Subject", field(&row.subject)),
        ("Email", or_dash(row.email_id)),
        ("Released", or_dash(row.released_at.as_ref())),
        ("Code", or_dash(code.as_ref())),
    ];
    fields.extend(links.iter().map(|link| ("Link", field(link))));
    fields.extend(attachments.iter().map(|file| {
        let [name, content_type] = [&file.filename, &file.content_type].map(|text| field(text));
        ("File", format!("{name} ({content_type}, {} bytes)", file.size))
    }));
    let mut lines = vec![self::fields(&fields), String::new()];
    lines.extend(text.iter().flat_map(|text| text.lines()).map(|line| printable(line, usize::MAX)));
    if *is_truncated {
        lines.push("(the rest is not shown)".to_owned());
    }
    lines.join("\n")
}

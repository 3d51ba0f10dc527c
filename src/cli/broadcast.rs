//! `ringmail broadcast`: broadcasts, their check, and their progress.

use super::failure::{Exit, Failure};
use super::output::{Output, cell, field, fields, or_dash, table};
use super::store_args::{TeamVerbArgs, server_name};
use crate::admin::broadcasts::{
    BroadcastCheckView, BroadcastTestView, BroadcastVerb, BroadcastView, CanceledBroadcastView, FindingView,
    SentBroadcastView,
};
use crate::broadcast_rows::BroadcastCounts;
use crate::broadcasts::check::{AudienceFunnel, LinkSummary};

/// Runs the verb.
///
/// # Errors
/// Any failure of the request, and a check that found an error.
pub(super) async fn run(
    TeamVerbArgs { verb, team }: TeamVerbArgs<BroadcastVerb>,
    output: Output,
) -> Result<(), Failure> {
    match verb {
        BroadcastVerb::List { limit, .. } => {
            let page = |last: Option<&BroadcastView>| BroadcastVerb::List { limit, after: last.map(|row| row.id) };
            let rows = team.list_up_to(limit, page).await?;
            let heading = ["ID", "CREATED", "STATUS", "SENT", "RECIPIENTS", "NAME"];
            let no_rows = "There is no broadcast; create one in the dashboard or by the API.";
            output.print_page(&rows, no_rows, &heading, |row| {
                vec![
                    row.id.to_string(),
                    row.created_at.clone(),
                    row.status.clone(),
                    row.counts.attempted.to_string(),
                    row.audience.to_string(),
                    cell(&row.name),
                ]
            })
        }
        BroadcastVerb::Show { .. } => {
            let broadcast: BroadcastView = team.request(verb).await?;
            output.print(&broadcast, show)
        }
        BroadcastVerb::Check { .. } => {
            let check: BroadcastCheckView = team.request(verb).await?;
            output.print(&check, check_text)?;
            let errors = check.findings.iter().filter(|finding| finding.severity == "error").count();
            match errors {
                0 => Ok(()),
                _ => Err(Failure::new(Exit::Failed, "the broadcast cannot be sent as it is")),
            }
        }
        BroadcastVerb::Send { ref test_to, .. } if !test_to.is_empty() => {
            let (test, is_running): (BroadcastTestView, bool) = team.request_and_state(verb).await?;
            output.print(&test, |test| test.email_id.to_string())?;
            note(is_running, &format!("the test email; `ringmail trace {}` shows the result", test.email_id));
            Ok(())
        }
        BroadcastVerb::Send { .. } => {
            let (sent, is_running): (SentBroadcastView, bool) = team.request_and_state(verb).await?;
            output.print(&sent, sent_text)?;
            if let Some(warning) = sent.warning.as_ref().filter(|_| output == Output::Text) {
                eprintln!("{warning}");
            }
            note(is_running, &format!("the broadcast; `ringmail broadcast show {}` shows the progress", sent.id));
            Ok(())
        }
        BroadcastVerb::Cancel { .. } => {
            let canceled: CanceledBroadcastView = team.request(verb).await?;
            output.print(&canceled, |canceled| format!("{} emails are not sent.", canceled.canceled_remaining))
        }
    }
}

fn note(is_running: bool, what: &str) {
    eprintln!("The {} sends {what}.", server_name(is_running));
}

fn show(broadcast: &BroadcastView) -> String {
    let BroadcastView {
        id,
        name,
        from,
        subject,
        status,
        segment_id,
        topic_id,
        created_at,
        scheduled_at,
        started_at,
        sent_at,
        finishes_at,
        audience,
        counts,
    } = broadcast;
    let fields = [
        ("Id", id.to_string()),
        ("Name", field(name)),
        ("From", field(from)),
        ("Subject", field(subject)),
        ("Status", status.clone()),
        ("Segment", segment_id.map_or_else(|| "all contacts".to_owned(), |id| id.to_string())),
        ("Topic", or_dash(topic_id.as_ref())),
        ("Created", created_at.clone()),
        ("Scheduled", or_dash(scheduled_at.as_ref())),
        ("Started", or_dash(started_at.as_ref())),
        ("Finishes", or_dash(finishes_at.as_ref())),
        ("Sent", or_dash(sent_at.as_ref())),
        ("Recipients", audience.to_string()),
    ];
    let fields = self::fields(&fields);
    let BroadcastCounts {
        queued,
        sent,
        delivered,
        bounced,
        complained,
        suppressed,
        failed,
        canceled,
        attempted,
        opened,
        clicked,
        unsubscribed,
    } = *counts;
    let counts = [
        ("attempted", attempted),
        ("queued", queued),
        ("sent", sent),
        ("delivered", delivered),
        ("opened", opened),
        ("clicked", clicked),
        ("unsubscribed", unsubscribed),
        ("bounced", bounced),
        ("complained", complained),
        ("suppressed", suppressed),
        ("failed", failed),
        ("canceled", canceled),
    ];
    let rows = counts.into_iter().map(|(state, emails)| vec![state.to_owned(), emails.to_string()]);
    format!("{fields}\n\n{}", table(&["STATE", "EMAILS"], rows))
}

fn check_text(check: &BroadcastCheckView) -> String {
    let BroadcastCheckView { id: _, audience, findings, html_bytes: _, links } = check;
    let AudienceFunnel { total, unsubscribed, opted_out, suppressed, will_receive, is_complete } = audience;
    let rows = [
        ("contacts", total),
        ("unsubscribed", unsubscribed),
        ("opted out", opted_out),
        ("suppressed", suppressed),
        ("will receive", will_receive),
    ];
    let rows = rows.into_iter().map(|(name, contacts)| vec![name.to_owned(), contacts.to_string()]);
    let mut text = table(&["AUDIENCE", "CONTACTS"], rows);
    if !is_complete {
        text.push_str("\nNot all contacts were counted in time: each number is a lower bound.");
    }
    if let Some(LinkSummary { found, checked, dead }) = links {
        text.push_str(&format!("\n\nLinks: {checked} of {found} were requested, {dead} do not work."));
    }
    if findings.is_empty() {
        return format!("{text}\n\nNothing was found.");
    }
    let findings: Vec<String> = findings.iter().map(finding_text).collect();
    format!("{text}\n\n{}", findings.join("\n"))
}

fn finding_text(finding: &FindingView) -> String {
    let FindingView { kind: _, severity, message, part, line, name: _, url, contacts } = finding;
    let place = match (part, line) {
        (Some(part), Some(line)) => format!(" {part}:{line}"),
        (Some(part), None) => format!(" {part}"),
        (None, _) => String::new(),
    };
    let url = url.as_ref().map(|url| format!(" {}", field(url))).unwrap_or_default();
    let contacts = match contacts {
        Some(1) => " 1 recipient has no value.".to_owned(),
        Some(contacts) => format!(" {contacts} recipients have no value."),
        None => String::new(),
    };
    format!("{severity}{place}: {}{contacts}{url}", field(message))
}

fn sent_text(sent: &SentBroadcastView) -> String {
    let SentBroadcastView { id: _, scheduled_at, finishes_at, warning: _ } = sent;
    let start = match scheduled_at {
        Some(at) => format!("Scheduled for {at}."),
        None => "Queued.".to_owned(),
    };
    match finishes_at {
        Some(at) => format!("{start} The last email goes out at about {at}."),
        None => format!("{start} There is no recipient."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_finding_is_one_line_with_its_place() {
        let finding = FindingView {
            kind: "fallback_missing".into(),
            severity: "warning".into(),
            message: "FIRST_NAME has no fallback.".into(),
            part: Some("html".into()),
            line: Some(3),
            name: Some("FIRST_NAME".into()),
            url: None,
            contacts: Some(2),
        };

        assert_eq!(finding_text(&finding), "warning html:3: FIRST_NAME has no fallback. 2 recipients have no value.");
    }
}

//! `message/delivery-status` (RFC 3464 §2): the outcome of each recipient.

use std::cell::LazyCell;

use super::fields::HeaderFields;
use crate::ingest::model::{RecipientReport, ReportedOutcome, address, one_line};
use crate::ingest::verdict::ReportedRefusal;

/// Lines of the human-readable text that are searched for each recipient. A report about a hundred recipients has a
/// few lines for each.
const LINES_MAX: usize = 1_000;
/// Lines of the human-readable text that are read about one recipient.
const TEXT_LINES_MAX: usize = 4;

/// Parses the groups of a status. Calls `human_text` at most once, if a refusal has no diagnostic code.
pub(super) fn read(text: &str, human_text: impl FnOnce() -> String) -> Vec<RecipientReport> {
    let human_text = LazyCell::new(human_text);
    let mut findings: Vec<RecipientReport> = Vec::new();
    for group in HeaderFields::groups(text) {
        let Some(finding) = finding(&group, &human_text) else { continue };
        // A mailing list has one original recipient and several outcomes. It counts as delivered if one was delivered.
        match findings.iter_mut().find(|known| known.recipients.first() == finding.recipients.first()) {
            Some(known) if rank(&finding.outcome) > rank(&known.outcome) => *known = finding,
            Some(_) => {}
            None => findings.push(finding),
        }
    }
    findings
}

fn finding(group: &HeaderFields, human_text: &LazyCell<String, impl FnOnce() -> String>) -> Option<RecipientReport> {
    // RFC 3464 §2.3.1: the original recipient comes first, because email is forwarded.
    let named = ["Original-Recipient", "Final-Recipient"].into_iter().filter_map(|name| group.one(name));
    let recipients: Vec<String> = named.filter_map(|value| address(after_type(value))).collect();
    let last = recipients.last()?;
    let action = group.one("Action")?.split_whitespace().next()?.to_ascii_lowercase();
    let mut refusal = ReportedRefusal {
        status: group.one("Status"),
        diagnostic: group.one("Diagnostic-Code").map(after_type),
        host: group.one("Remote-MTA").map(after_type),
    };
    let outcome = match action.as_str() {
        "failed" => {
            let explanation = refusal.diagnostic.is_none().then(|| lines_below(human_text, last)).flatten();
            refusal.diagnostic = refusal.diagnostic.or(explanation.as_deref());
            refusal.outcome()
        }
        "delayed" => ReportedOutcome::Delayed { reply: refusal.text() },
        // RFC 3464 §2.3.3: after `relayed` and `expanded`, no further report follows.
        "delivered" | "relayed" | "expanded" => ReportedOutcome::Delivered { reply: refusal.text() },
        _ => return None,
    };
    Some(RecipientReport { recipients, outcome, at_ms: None })
}

/// Returns the rank of an outcome. The highest outcome of a recipient counts.
fn rank(outcome: &ReportedOutcome) -> u8 {
    match outcome {
        ReportedOutcome::Delivered { .. } => 2,
        ReportedOutcome::Delayed { .. } => 1,
        ReportedOutcome::Bounced { .. } | ReportedOutcome::Failed { .. } | ReportedOutcome::Complained { .. } => 0,
    }
}

/// Returns a value without its type prefix, such as the address of `rfc822; ada@example.net`.
fn after_type(value: &str) -> &str {
    match value.split_once(';') {
        Some((kind, rest)) if !kind.contains([' ', '@', '"']) => rest.trim(),
        _ => value.trim(),
    }
}

/// Returns the indented lines below an address in the human-readable text. Exim explains its own refusals there and
/// gives no diagnostic code.
fn lines_below(human_text: &str, address: &str) -> Option<String> {
    let mut lines = human_text.lines().take(LINES_MAX).skip_while(|line| !line.trim().eq_ignore_ascii_case(address));
    let named = lines.next()?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let below = lines.take_while(|line| !line.trim().is_empty() && indent(line) > indent(named));
    one_line(&below.take(TEXT_LINES_MAX).map(str::trim).collect::<Vec<_>>().join(" "))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn status(groups: &str) -> Vec<RecipientReport> {
        read(&format!("Reporting-MTA: dns; mx.example.net\n\n{groups}"), String::new)
    }

    #[test]
    fn each_action_has_its_outcome() {
        for (action, expected) in [
            ("failed", "Failed"),
            ("Failed (bad)", "Failed"),
            ("delayed", "Delayed"),
            ("delivered", "Delivered"),
            ("RELAYED", "Delivered"),
            ("expanded", "Delivered"),
        ] {
            let findings = status(&format!("Final-Recipient: rfc822; ada@example.net\nAction: {action}\n"));
            assert!(format!("{:?}", findings[0].outcome).starts_with(expected), "{action}: {findings:?}");
        }
        assert!(status("Final-Recipient: rfc822; ada@example.net\nAction: pondered\n").is_empty());
        assert!(status("Final-Recipient: rfc822; ada@example.net\n").is_empty());
        assert!(status("Action: failed\n").is_empty());
        assert!(status("Final-Recipient: x400; /c=de/\nAction: failed\n").is_empty());
    }

    #[test]
    fn the_original_recipient_precedes_the_final_recipient() {
        let groups = "Final-Recipient: rfc822; <behind@example.org>\nOriginal-Recipient: RFC822;Ada@example.net\n\
                      Action: failed\nStatus: 5.1.1\n";

        assert_eq!(status(groups)[0].recipients, ["Ada@example.net", "behind@example.org"]);
    }

    #[test]
    fn a_list_address_bounces_only_if_no_member_is_reached() {
        let member = |action: &str, to: &str| {
            format!(
                "Original-Recipient: rfc822;team@example.net\nFinal-Recipient: rfc822;{to}\nAction: {action}\nStatus: 5.1.1\n\n"
            )
        };
        let mixed = status(&(member("failed", "a@example.net") + &member("delivered", "b@example.net")));
        let refused = status(&(member("failed", "a@example.net") + &member("failed", "b@example.net")));

        assert!(
            matches!(mixed.as_slice(), [RecipientReport { outcome: ReportedOutcome::Delivered { .. }, .. }]),
            "{mixed:?}"
        );
        assert!(
            matches!(refused.as_slice(), [RecipientReport { outcome: ReportedOutcome::Bounced { .. }, .. }]),
            "{refused:?}"
        );
    }

    #[test]
    fn the_human_readable_text_is_decoded_once_for_all_recipients() {
        let group = |number: usize| format!("Final-Recipient: rfc822; r{number}@example.net\nAction: failed\n\n");
        let groups: String = (0..100).map(group).collect();
        let calls = Cell::new(0);
        let human_text = || {
            calls.set(calls.get() + 1);
            "r7@example.net\n  Unrouteable address".to_owned()
        };

        let findings = read(&groups, human_text);

        assert_eq!((findings.len(), calls.get()), (100, 1));
        assert!(matches!(findings[7].outcome, ReportedOutcome::Bounced { .. }), "{:?}", findings[7]);
        assert!(
            read("Final-Recipient: rfc822; a@example.net\nAction: delayed\n", || panic!("a delay needs no text")).len()
                == 1
        );
    }

    #[test]
    fn the_human_readable_text_replaces_a_missing_code() {
        let text = "The following address(es) failed:\n\n  Ada@example.net\n    Unrouteable\n    address\n\nBye";

        assert_eq!(lines_below(text, "ada@example.net").as_deref(), Some("Unrouteable address"));
        assert_eq!(lines_below(text, "bob@example.net"), None);
        assert_eq!(lines_below("ada@example.net\nBye", "ada@example.net"), None);
        for (lines_before, expected) in [(LINES_MAX - 2, Some("No")), (LINES_MAX, None)] {
            let text = format!("{}ada@example.net\n  No", "\n".repeat(lines_before));
            assert_eq!(lines_below(&text, "ada@example.net").as_deref(), expected, "{lines_before}");
        }
    }
}

//! `message/delivery-status` (RFC 3464 §2): what became of each recipient.

use std::cell::LazyCell;

use super::fields::HeaderFields;
use crate::ingest::model::{RecipientReport, ReportedOutcome, address, kept};
use crate::ingest::verdict::Refusal;

/// Lines of the words for people that are looked through for each recipient. A notice about a hundred of
/// them has a handful for each.
const LINES_MAX: usize = 1_000;
/// Lines of the words for people that are read about one recipient.
const WORD_LINES_MAX: usize = 4;

/// Reads the groups of a status. `words` are asked for once, when a refusal comes without a code.
pub(super) fn read(text: &str, words: impl FnOnce() -> String) -> Vec<RecipientReport> {
    let words = LazyCell::new(words);
    let mut findings: Vec<RecipientReport> = Vec::new();
    for group in HeaderFields::groups(text) {
        let Some(finding) = finding(&group, &words) else { continue };
        // An address that stands for several reaches some of them: what reached one of them has
        // reached it.
        match findings.iter_mut().find(|known| known.recipients.first() == finding.recipients.first()) {
            Some(known) if rank(&finding.outcome) > rank(&known.outcome) => *known = finding,
            Some(_) => {}
            None => findings.push(finding),
        }
    }
    findings
}

fn finding(group: &HeaderFields, words: &LazyCell<String, impl FnOnce() -> String>) -> Option<RecipientReport> {
    // RFC 3464 §2.3.1: what the sender wrote comes first, because mail is forwarded.
    let named = ["Original-Recipient", "Final-Recipient"].into_iter().filter_map(|name| group.one(name));
    let recipients: Vec<String> = named.filter_map(|value| address(after_type(value))).collect();
    let last = recipients.last()?;
    let action = group.one("Action")?.split_whitespace().next()?.to_ascii_lowercase();
    let mut refusal = Refusal {
        status: group.one("Status"),
        diagnostic: group.one("Diagnostic-Code").map(after_type),
        host: group.one("Remote-MTA").map(after_type),
    };
    let outcome = match action.as_str() {
        "failed" => {
            let said = refusal.diagnostic.is_none().then(|| about(words, last)).flatten();
            refusal.diagnostic = refusal.diagnostic.or(said.as_deref());
            refusal.outcome()
        }
        "delayed" => ReportedOutcome::Delayed { reply: refusal.said() },
        // RFC 3464 §2.3.3: relayed and expanded end the notices, and nothing has gone wrong.
        "delivered" | "relayed" | "expanded" => ReportedOutcome::Delivered { reply: refusal.said() },
        _ => return None,
    };
    Some(RecipientReport { recipients, outcome, at_ms: None })
}

/// Which of two outcomes for one recipient counts.
fn rank(outcome: &ReportedOutcome) -> u8 {
    match outcome {
        ReportedOutcome::Delivered { .. } => 2,
        ReportedOutcome::Delayed { .. } => 1,
        ReportedOutcome::Bounced { .. } | ReportedOutcome::Failed { .. } | ReportedOutcome::Complained { .. } => 0,
    }
}

/// Returns what follows the type of an address, a host or a diagnostic: `rfc822; ada@example.net`.
fn after_type(value: &str) -> &str {
    match value.split_once(';') {
        Some((kind, rest)) if !kind.contains([' ', '@', '"']) => rest.trim(),
        _ => value.trim(),
    }
}

/// Returns what the words for people say about an address: the indented lines below it, as Exim
/// writes them, which gives no code for what it refuses itself.
fn about(words: &str, address: &str) -> Option<String> {
    let mut lines = words.lines().take(LINES_MAX).skip_while(|line| !line.trim().eq_ignore_ascii_case(address));
    let named = lines.next()?;
    let indent = |line: &str| line.len() - line.trim_start().len();
    let below = lines.take_while(|line| !line.trim().is_empty() && indent(line) > indent(named));
    kept(&below.take(WORD_LINES_MAX).map(str::trim).collect::<Vec<_>>().join(" "))
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
    fn the_recipient_the_sender_wrote_to_stands_before_the_one_it_was_forwarded_to() {
        let groups = "Final-Recipient: rfc822; <behind@example.org>\nOriginal-Recipient: RFC822;Ada@example.net\n\
                      Action: failed\nStatus: 5.1.1\n";

        assert_eq!(status(groups)[0].recipients, ["Ada@example.net", "behind@example.org"]);
    }

    #[test]
    fn an_address_that_stands_for_several_bounces_only_when_none_is_reached() {
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
    fn words_for_people_are_decoded_once_however_many_were_refused() {
        let group = |number: usize| format!("Final-Recipient: rfc822; r{number}@example.net\nAction: failed\n\n");
        let groups: String = (0..100).map(group).collect();
        let asked = Cell::new(0);
        let words = || {
            asked.set(asked.get() + 1);
            "r7@example.net\n  Unrouteable address".to_owned()
        };

        let findings = read(&groups, words);

        assert_eq!((findings.len(), asked.get()), (100, 1));
        assert!(matches!(findings[7].outcome, ReportedOutcome::Bounced { .. }), "{:?}", findings[7]);
        assert!(
            read("Final-Recipient: rfc822; a@example.net\nAction: delayed\n", || panic!("not asked for")).len() == 1
        );
    }

    #[test]
    fn words_for_people_are_read_where_there_is_no_code() {
        let words = "The following address(es) failed:\n\n  Ada@example.net\n    Unrouteable\n    address\n\nBye";

        assert_eq!(about(words, "ada@example.net").as_deref(), Some("Unrouteable address"));
        assert_eq!(about(words, "bob@example.net"), None);
        assert_eq!(about("ada@example.net\nBye", "ada@example.net"), None);
        for (lines_before, expected) in [(LINES_MAX - 2, Some("No")), (LINES_MAX, None)] {
            let words = format!("{}ada@example.net\n  No", "\n".repeat(lines_before));
            assert_eq!(about(&words, "ada@example.net").as_deref(), expected, "{lines_before}");
        }
    }
}

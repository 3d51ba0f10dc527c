//! Parses arbitrary messages as delivery reports. Any sender can write to a return path. The results stay
//! within their limits.

use ringmail::ingest::{ReportedOutcome, parse_report};

pub(crate) fn check(message: &[u8]) {
    let Some(report) = parse_report(message) else { return };

    assert!(!report.findings.is_empty() && report.findings.len() <= 200);
    assert!(report.references.len() <= 16);
    for finding in &report.findings {
        assert!(finding.recipients.len() <= 2);
        assert!(finding.recipients.iter().all(|address| address.len() <= 320 && address.contains('@')));
        let texts = match &finding.outcome {
            ReportedOutcome::Delivered { reply } | ReportedOutcome::Delayed { reply } => reply.iter().collect(),
            ReportedOutcome::Bounced { bounce } => bounce.diagnostic.iter().collect(),
            ReportedOutcome::Failed { reason: _, diagnostic } => diagnostic.iter().collect(),
            ReportedOutcome::Complained { feedback_type } => feedback_type.iter().collect::<Vec<_>>(),
        };
        for text in texts {
            assert!(text.chars().count() <= 1_000 && !text.chars().any(char::is_control));
        }
    }
}

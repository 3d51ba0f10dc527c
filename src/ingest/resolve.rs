//! The email of a report, and the evidence for it. Runs before the write transaction, in reads of bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::model::{DeliveryReport, EmailLocator, FallbackRecipient, RecipientReport, ReportedOutcome};
use crate::base::id::{EmailId, TeamId};
use crate::delivery::ReturnPaths;
use crate::delivery::smtp::FailReason;
use crate::emails::{self, EmailRow};
use crate::store::{ReadTx, Store, StoreError};
use crate::teams;

/// Keys that one read gets: one for each email and team.
const GETS_MAX: usize = 1_000;
/// Approximate bytes that one finding adds to the store, without its texts.
const FINDING_BYTES: usize = 1_024;
/// Approximate bytes of the row of an email, and of each of its recipients, without their texts.
const ROW_BYTES: usize = 256;
const RECIPIENT_BYTES: usize = 64;

/// Email that a report is about.
#[derive(Clone, Copy)]
pub(super) struct ResolvedEmail {
    pub(super) team: TeamId,
    pub(super) email: EmailId,
    /// Recipient group in the return path. The report applies to its recipients only.
    pub(super) group: Option<u16>,
    pub(super) evidence: Evidence,
}

/// Evidence that a report concerns an email.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A return path of this server, or an event of an authenticated relay.
    Authenticated,
    /// Knowledge of the message.
    MessageSeen,
}

impl ResolvedEmail {
    /// Returns the trusted part of a finding about an email to `recipients` recipients, and the recipient of a finding
    /// that names none. `None` if the finding is not trusted.
    ///
    /// Any recipient of a message can forge a report that returns it. With that evidence alone, a finding must name
    /// a recipient and does not suppress. A complaint is the exception, because providers redact the rest of the
    /// message: it counts, and suppresses, if the email has one recipient. With several recipients, one could forge it
    /// about another.
    pub(super) fn trusted_finding(
        self,
        finding: &RecipientReport,
        fallback: FallbackRecipient,
        recipients: usize,
    ) -> Option<(RecipientReport, FallbackRecipient)> {
        let mut finding = finding.clone();
        if self.evidence == Evidence::Authenticated {
            return Some((finding, fallback));
        }
        match &mut finding.outcome {
            ReportedOutcome::Complained { .. } => return (recipients == 1).then_some((finding, fallback)),
            ReportedOutcome::Bounced { bounce } => {
                let diagnostic = bounce.diagnostic.pop();
                let reason = FailReason::Rejected.as_str().to_owned();
                finding.outcome = ReportedOutcome::Failed { reason, diagnostic };
            }
            ReportedOutcome::Delivered { .. } | ReportedOutcome::Delayed { .. } | ReportedOutcome::Failed { .. } => {}
        }
        Some((finding, FallbackRecipient::None))
    }
}

/// Returns the reports about emails of this server, each with its email, and the approximate number of bytes to
/// write.
pub(super) async fn resolve_reports(
    store: &Store,
    return_paths: &ReturnPaths,
    reports: Vec<DeliveryReport>,
) -> Result<(Vec<(ResolvedEmail, DeliveryReport)>, usize), StoreError> {
    let candidates: Vec<(Vec<Candidate>, DeliveryReport)> = reports
        .into_iter()
        .map(|report| {
            let located = report.references.iter().filter_map(|reference| resolve(return_paths, reference));
            (located.collect(), report)
        })
        .collect();
    let emails: BTreeSet<EmailId> =
        candidates.iter().flat_map(|(located, _)| located).map(|candidate| candidate.email).collect();
    let known = find(store, emails.into_iter().collect(), GETS_MAX).await?;
    let mut bytes: usize = known.values().map(|found| found.row_bytes).sum();
    let mut resolved = Vec::with_capacity(candidates.len());
    for (located, report) in candidates {
        let first =
            located.into_iter().find_map(|candidate| known.get(&candidate.email).map(|found| (candidate, found.team)));
        let Some((Candidate { email, group, evidence }, team)) = first else { continue };
        // The texts are stored in the event and in its event message.
        bytes += report.findings.len() * FINDING_BYTES + 2 * report.text_bytes();
        resolved.push((ResolvedEmail { team, email, group, evidence }, report));
    }
    Ok((resolved, bytes))
}

/// Email in a locator. It need not exist.
struct Candidate {
    email: EmailId,
    group: Option<u16>,
    evidence: Evidence,
}

fn resolve(return_paths: &ReturnPaths, reference: &EmailLocator) -> Option<Candidate> {
    Some(match reference {
        EmailLocator::ReturnPath(address) => {
            let (email, group) = return_paths.read(address)?;
            Candidate { email, group: Some(group), evidence: Evidence::Authenticated }
        }
        EmailLocator::Email(id) => Candidate { email: *id, group: None, evidence: Evidence::Authenticated },
        EmailLocator::Returned(id) => Candidate { email: *id, group: None, evidence: Evidence::MessageSeen },
    })
}

/// Email of this server.
struct StoredEmail {
    team: TeamId,
    row_bytes: usize,
}

/// Finds the emails that this server stores, with reads of `gets_max` keys each.
async fn find(
    store: &Store,
    emails: Vec<EmailId>,
    gets_max: usize,
) -> Result<BTreeMap<EmailId, StoredEmail>, StoreError> {
    let mut known = BTreeMap::new();
    if emails.is_empty() {
        return Ok(known);
    }
    let teams: Arc<[TeamId]> = store.read(teams::ids).await?.into();
    for chunk in emails.chunks(emails_per_read(teams.len(), gets_max)) {
        let (chunk, teams) = (chunk.to_vec(), Arc::<[TeamId]>::clone(&teams));
        let read = move |tx: &ReadTx| {
            let mut found = Vec::new();
            for email in chunk {
                if let Some((team, row)) = emails::find_of_teams(tx, &teams, email)? {
                    found.push((email, StoredEmail { team, row_bytes: row_bytes(&row) }));
                }
            }
            Ok::<_, StoreError>(found)
        };
        known.extend(store.read(read).await?);
    }
    Ok(known)
}

/// Returns the number of emails for one read: at least one, whatever the number of teams.
fn emails_per_read(teams: usize, gets_max: usize) -> usize {
    (gets_max / teams.max(1)).max(1)
}

/// Returns the approximate size of the encoded row of an email in bytes.
fn row_bytes(row: &EmailRow) -> usize {
    let recipients: usize =
        row.recipients.iter().map(|recipient| recipient.mailbox.to_string().len() + RECIPIENT_BYTES).sum();
    let tags: usize = row.tags.iter().map(|(name, value)| name.len() + value.len()).sum();
    row.from.to_string().len() + row.subject.len() + recipients + tags + ROW_BYTES
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::emails::LastEvent;
    use crate::tables::EMAILS;

    #[test]
    fn a_read_gets_a_bounded_number_of_keys_and_at_least_one_email() {
        for (teams, expected) in [(0, 1_000), (1, 1_000), (3, 333), (1_000, 1), (5_000, 1)] {
            assert_eq!(emails_per_read(teams, GETS_MAX), expected, "{teams}");
        }
    }

    #[tokio::test]
    async fn emails_are_found_across_reads_of_any_size() {
        let (_directory, context) = Context::temporary();
        let mut teams = Vec::new();
        for name in ["one", "two", "three"] {
            teams.push(crate::teams::create(&context, name).await.unwrap().unwrap().id);
        }
        let stored: Vec<(EmailId, TeamId)> = teams.iter().cycle().take(10).map(|team| (context.id(), *team)).collect();
        let rows = stored.clone();
        context
            .commit(move |tx| rows.iter().try_for_each(|(email, team)| tx.put(&EMAILS, &(*team, *email), &row())))
            .await;
        let mut requested: Vec<EmailId> = stored.iter().map(|(email, _)| *email).collect();
        requested.insert(5, Id::MAX);

        for gets_max in [1, 6, GETS_MAX] {
            let found = find(&context.store, requested.clone(), gets_max).await.unwrap();

            let found: Vec<(EmailId, TeamId)> = found.iter().map(|(email, found)| (*email, found.team)).collect();
            assert_eq!(found, stored, "{gets_max}");
        }
    }

    pub(in crate::ingest) fn row() -> EmailRow {
        EmailRow::example(Vec::new(), LastEvent::Sent)
    }
}

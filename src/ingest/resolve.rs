//! Which email a report is about, and what it takes to name it so. Found before the writer is asked,
//! in reads of a bounded size.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use super::model::{DeliveryReport, EmailLocator, FallbackRecipient, RecipientReport, ReportedOutcome};
use crate::base::id::{EmailId, TeamId};
use crate::delivery::ReturnPaths;
use crate::emails::{self, EmailRow};
use crate::events::BounceType;
use crate::store::{ReadTx, Store, StoreError};
use crate::teams;

/// Places that one read looks at: an email is looked for with each team.
const LOOKS_MAX: usize = 1_000;
/// Bytes that what follows from one finding takes beside its texts, about.
const FINDING_BYTES: usize = 1_024;
/// Bytes of an email's row, and of each of its recipients, beside their texts, about.
const ROW_BYTES: usize = 256;
const RECIPIENT_BYTES: usize = 64;

/// An email that a report names.
#[derive(Clone, Copy)]
pub(super) struct ResolvedEmail {
    pub(super) team: TeamId,
    pub(super) email: EmailId,
    /// The recipient group that a return path names, whose recipients alone are meant.
    pub(super) group: Option<u16>,
    pub(super) proof: Evidence,
}

/// What it takes to name an email as a report does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Evidence {
    /// A return path of ours, or the word of a relay of ours.
    Authenticated,
    /// To have seen the message.
    MessageSeen,
}

impl ResolvedEmail {
    /// Returns what is believed of a finding about an email to so many recipients, and who is meant when
    /// it names none of them; `None` when nothing is believed.
    ///
    /// Whoever has seen a message can write a notice that returns it: such a one has to name whom the
    /// email went to, and suppresses nobody. Providers leave nothing else of a message that is complained
    /// about, so that a complaint counts, and suppresses, where nobody but the one recipient has seen it:
    /// of several, each could write it about another.
    pub(super) fn trusted_finding(
        self,
        finding: &RecipientReport,
        stand: FallbackRecipient,
        recipients: usize,
    ) -> Option<(RecipientReport, FallbackRecipient)> {
        let mut finding = finding.clone();
        if self.proof == Evidence::Authenticated {
            return Some((finding, stand));
        }
        match &mut finding.outcome {
            ReportedOutcome::Complained { .. } => return (recipients == 1).then_some((finding, stand)),
            ReportedOutcome::Bounced { bounce, suppresses: suppresses @ true } => {
                *suppresses = false;
                bounce.bounce_type = BounceType::Undetermined;
                bounce.subtype = "Undetermined".to_owned();
            }
            ReportedOutcome::Bounced { .. }
            | ReportedOutcome::Delivered { .. }
            | ReportedOutcome::Delayed { .. }
            | ReportedOutcome::Failed { .. } => {}
        }
        Some((finding, FallbackRecipient::None))
    }
}

/// Returns the reports that name an email of ours, each with it, and about how many bytes there will be
/// to write.
///
/// # Errors
/// [`StoreError`].
pub(super) async fn name(
    store: &Store,
    return_paths: &ReturnPaths,
    reports: Vec<DeliveryReport>,
) -> Result<(Vec<(ResolvedEmail, DeliveryReport)>, usize), StoreError> {
    let naming: Vec<(Vec<Name>, DeliveryReport)> = reports
        .into_iter()
        .map(|report| {
            let names = report.references.iter().filter_map(|reference| resolve(return_paths, reference));
            (names.collect(), report)
        })
        .collect();
    let emails: BTreeSet<EmailId> = naming.iter().flat_map(|(names, _)| names).map(|name| name.email).collect();
    let known = find(store, emails.into_iter().collect(), LOOKS_MAX).await?;
    let mut bytes: usize = known.values().map(|found| found.row_bytes).sum();
    let mut named = Vec::with_capacity(naming.len());
    for (names, report) in naming {
        let first = names.into_iter().find_map(|name| known.get(&name.email).map(|found| (name, found.team)));
        let Some((Name { email, group, proof }, team)) = first else { continue };
        // Its event stands in the timeline, and again among what webhooks deliver.
        bytes += report.findings.len() * FINDING_BYTES + 2 * report.text_bytes();
        named.push((ResolvedEmail { team, email, group, proof }, report));
    }
    Ok((named, bytes))
}

/// What a reference names, which need not exist.
struct Name {
    email: EmailId,
    group: Option<u16>,
    proof: Evidence,
}

fn resolve(return_paths: &ReturnPaths, reference: &EmailLocator) -> Option<Name> {
    Some(match reference {
        EmailLocator::ReturnPath(address) => {
            let (email, group) = return_paths.read(address)?;
            Name { email, group: Some(group), proof: Evidence::Authenticated }
        }
        EmailLocator::Email(id) => Name { email: *id, group: None, proof: Evidence::Authenticated },
        EmailLocator::Returned(id) => Name { email: *id, group: None, proof: Evidence::MessageSeen },
    })
}

/// An email of ours.
struct Found {
    team: TeamId,
    row_bytes: usize,
}

/// Finds which of the emails are ours, in reads that look at `looks_max` places each.
async fn find(store: &Store, emails: Vec<EmailId>, looks_max: usize) -> Result<BTreeMap<EmailId, Found>, StoreError> {
    let mut known = BTreeMap::new();
    if emails.is_empty() {
        return Ok(known);
    }
    let list = |tx: &ReadTx| Ok::<_, StoreError>(teams::list(tx)?.into_iter().map(|team| team.id).collect());
    let teams: Arc<[TeamId]> = store.read(list).await?;
    for some in emails.chunks(emails_at_once(teams.len(), looks_max)) {
        let (some, teams) = (some.to_vec(), Arc::<[TeamId]>::clone(&teams));
        let look = move |tx: &ReadTx| {
            let mut found = Vec::new();
            for email in some {
                if let Some((team, row)) = emails::find_of_teams(tx, &teams, email)? {
                    found.push((email, Found { team, row_bytes: row_bytes(&row) }));
                }
            }
            Ok::<_, StoreError>(found)
        };
        known.extend(store.read(look).await?);
    }
    Ok(known)
}

/// Returns how many emails one read looks for: one at the least, however many teams there are.
fn emails_at_once(teams: usize, looks_max: usize) -> usize {
    (looks_max / teams.max(1)).max(1)
}

/// Returns about how many bytes an email's row takes when it is written again.
fn row_bytes(row: &EmailRow) -> usize {
    let recipients: usize = row.recipients.iter().map(|recipient| recipient.mailbox.len() + RECIPIENT_BYTES).sum();
    let tags: usize = row.tags.iter().map(|(name, value)| name.len() + value.len()).sum();
    row.from.len() + row.subject.len() + recipients + tags + ROW_BYTES
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::emails::LastEvent;
    use crate::tables::EMAILS;

    #[test]
    fn one_read_looks_at_no_more_places_than_it_may_but_for_one_email_of_every_team() {
        for (teams, expected) in [(0, 1_000), (1, 1_000), (3, 333), (1_000, 1), (5_000, 1)] {
            assert_eq!(emails_at_once(teams, LOOKS_MAX), expected, "{teams}");
        }
    }

    #[tokio::test]
    async fn an_email_is_found_whichever_read_it_falls_into() {
        let (_directory, context) = Context::temporary();
        let mut teams = Vec::new();
        for name in ["one", "two", "three"] {
            teams.push(crate::teams::create(&context, name).await.unwrap().unwrap().id);
        }
        let ours: Vec<(EmailId, TeamId)> = teams.iter().cycle().take(10).map(|team| (context.id(), *team)).collect();
        let putting = ours.clone();
        let put = move |tx: &crate::store::WriteTx<'_>| {
            putting.iter().try_for_each(|(email, team)| tx.put(&EMAILS, &(*team, *email), &row()))
        };
        context.store.write::<_, StoreError>(put).await.unwrap();
        let mut asked: Vec<EmailId> = ours.iter().map(|(email, _)| *email).collect();
        asked.insert(5, Id::MAX);

        for looks_max in [1, 6, LOOKS_MAX] {
            let found = find(&context.store, asked.clone(), looks_max).await.unwrap();

            let found: Vec<(EmailId, TeamId)> = found.iter().map(|(email, found)| (*email, found.team)).collect();
            assert_eq!(found, ours, "{looks_max}");
        }
    }

    pub(in crate::ingest) fn row() -> EmailRow {
        EmailRow::example(Vec::new(), LastEvent::Sent)
    }
}

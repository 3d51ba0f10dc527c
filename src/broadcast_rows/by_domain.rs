//! Numbers of recipients of a broadcast by the domain of their address, for its report.

use std::cmp::Reverse;

use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::counts::RecipientChange;
use super::outcome::BroadcastOutcome;
use super::rows::BroadcastCountsRow;
use crate::base::id::BroadcastId;
use crate::store::{NEXT, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::BROADCAST_DOMAINS;

/// Maximum number of domains of a broadcast that are counted one by one.
const DOMAINS_MAX: u32 = 1_000;
/// The key of all further domains. It is the last one, and the SHA-256 of no known text.
const OTHERS: [u8; 32] = [u8::MAX; 32];

/// Claimed emails of a broadcast to the addresses of one domain.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct BroadcastDomainRow {
    /// The domain in lower case; empty in the row of all further domains.
    pub domain: String,
    pub counts: DomainCounts,
}
impl Row for BroadcastDomainRow {}

/// Claimed emails by their state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainCounts {
    /// Emails that the delivery engine has claimed, whatever their outcome.
    pub attempted: u64,
    /// Delivered emails, also those with a complaint.
    pub delivered: u64,
    pub bounced: u64,
    /// Emails without a final outcome. An email whose row became corrupt stays in this number.
    pub waiting: u64,
}

impl DomainCounts {
    /// Adds the change of a recipient.
    fn apply(&mut self, change: &RecipientChange<'_>) {
        self.attempted += u64::from(change.is_attempted && !change.was_attempted);
        for (outcome, step) in [(change.from, -1), (change.to, 1)] {
            let number = match outcome {
                BroadcastOutcome::Sent => &mut self.waiting,
                BroadcastOutcome::Delivered | BroadcastOutcome::Complained => &mut self.delivered,
                BroadcastOutcome::Bounced => &mut self.bounced,
                BroadcastOutcome::Queued
                | BroadcastOutcome::Suppressed
                | BroadcastOutcome::Failed
                | BroadcastOutcome::Canceled => continue,
            };
            *number = number.saturating_add_signed(step);
        }
    }

    fn add(&mut self, other: Self) {
        self.attempted += other.attempted;
        self.delivered += other.delivered;
        self.bounced += other.bounced;
        self.waiting += other.waiting;
    }
}

/// Recipients by domain.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecipientDomains {
    /// The domains with the most claimed emails, most first.
    pub first: Vec<BroadcastDomainRow>,
    /// The sum of the others; `None` if all domains are in `first`.
    pub others: Option<OtherDomains>,
}

/// The sum of several domains.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OtherDomains {
    /// Their number; `None` above [`DOMAINS_MAX`] domains.
    pub domains: Option<u64>,
    pub counts: DomainCounts,
}

/// Counts the change of a claimed email for the domain of the address. `counts` are those of the broadcast, which the caller
/// stores. Does nothing without a domain, such as after an erasure.
pub(super) fn count_domain(
    tx: &WriteTx<'_>,
    broadcast: BroadcastId,
    counts: &mut BroadcastCountsRow,
    change: &RecipientChange<'_>,
) -> Result<(), StoreError> {
    let Some(domain) = change.domain else { return Ok(()) };
    if !change.is_attempted {
        return Ok(());
    }
    let domain = domain.to_ascii_lowercase();
    let mut key = (broadcast, Sha256::digest(domain.as_bytes()).into());
    let mut stored = tx.get_valid(&BROADCAST_DOMAINS, &key)?;
    if stored.is_none() && counts.domains >= DOMAINS_MAX {
        key.1 = OTHERS;
        stored = tx.get_valid(&BROADCAST_DOMAINS, &key)?.or_else(|| Some(BroadcastDomainRow::default()));
    }
    let mut row = match stored {
        Some(row) => row,
        // The row of a domain that was counted before is corrupt or lost.
        None if change.was_attempted => return Ok(()),
        None => {
            counts.domains += 1;
            BroadcastDomainRow { domain, counts: DomainCounts::default() }
        }
    };
    row.counts.apply(change);
    tx.put(&BROADCAST_DOMAINS, &key, &row)
}

/// Deletes the domains of a broadcast; returns their number.
pub(super) fn delete_domains(tx: &WriteTx<'_>, broadcast: BroadcastId) -> Result<usize, StoreError> {
    tx.delete_range(&BROADCAST_DOMAINS, &(broadcast, [0; 32]), &(broadcast, OTHERS), usize::MAX)
}

/// Returns the claimed emails of a broadcast by domain, at most `domains_max` domains one by one. Reads up to 1,001 small
/// rows.
pub(crate) fn domains_of(
    tx: &impl Reads,
    broadcast: BroadcastId,
    domains_max: usize,
) -> Result<RecipientDomains, StoreError> {
    let (mut rows, mut beyond) = (Vec::new(), None);
    let (from, to) = ((broadcast, [0; 32]), (broadcast, OTHERS));
    tx.scan_valid(&BROADCAST_DOMAINS, &from, &to, Order::Ascending, |(_, key), row| {
        match key == OTHERS {
            true => beyond = Some(row.counts),
            false => rows.push(row),
        }
        NEXT
    })?;
    rows.sort_unstable_by(|a, b| {
        (Reverse(a.counts.attempted), &a.domain).cmp(&(Reverse(b.counts.attempted), &b.domain))
    });
    let rest = rows.split_off(rows.len().min(domains_max));
    let mut others = OtherDomains { domains: beyond.is_none().then_some(rest.len() as u64), ..OtherDomains::default() };
    for counts in rest.iter().map(|row| row.counts).chain(beyond) {
        others.counts.add(counts);
    }
    Ok(RecipientDomains { first: rows, others: (!rest.is_empty() || beyond.is_some()).then_some(others) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::EmailId;
    use crate::context::Context;

    fn change<'a>(domain: &'a str, from: BroadcastOutcome, to: BroadcastOutcome) -> RecipientChange<'a> {
        let is_claimed = |outcome: BroadcastOutcome| outcome != BroadcastOutcome::Queued;
        RecipientChange {
            email: EmailId::MIN,
            domain: Some(domain),
            from,
            to,
            was_attempted: is_claimed(from),
            is_attempted: is_claimed(to),
            is_simulated: false,
        }
    }

    /// Counts changes of a new broadcast, and returns its domains and the number of those that are counted one by one.
    async fn counted(
        domains_max: usize,
        changes: Vec<(String, BroadcastOutcome, BroadcastOutcome)>,
    ) -> (RecipientDomains, u32) {
        let (_directory, context) = Context::temporary();
        let id = context.id();
        let write = move |tx: &WriteTx<'_>| {
            let mut counts = BroadcastCountsRow::default();
            for (domain, from, to) in &changes {
                count_domain(tx, id, &mut counts, &change(domain, *from, *to))?;
            }
            let domains = domains_of(tx, id, domains_max)?;
            let rows = delete_domains(tx, id)?;
            assert!(rows <= counts.domains as usize + 1, "{rows} rows of {} domains", counts.domains);
            assert_eq!(domains_of(tx, id, domains_max)?, RecipientDomains::default());
            Ok((domains, counts.domains))
        };
        context.commit(write).await
    }

    fn row(domain: &str, attempted: u64, delivered: u64, bounced: u64, waiting: u64) -> BroadcastDomainRow {
        BroadcastDomainRow {
            domain: domain.to_owned(),
            counts: DomainCounts { attempted, delivered, bounced, waiting },
        }
    }

    #[tokio::test]
    async fn the_states_of_the_emails_of_a_domain_are_counted() {
        use BroadcastOutcome::*;
        let changes = [
            ("A.example", Queued, Sent),
            ("a.example", Queued, Sent),
            ("a.example", Sent, Delivered),
            ("a.EXAMPLE", Delivered, Complained),
            ("b.example", Queued, Sent),
            ("b.example", Sent, Bounced),
            ("b.example", Queued, Sent),
            ("b.example", Queued, Sent),
            ("b.example", Sent, Failed),
            ("d.example", Queued, Sent),
        ];
        let changes = changes.map(|(domain, from, to)| (domain.to_owned(), from, to));

        let (domains, number) = counted(2, changes.into()).await;

        assert_eq!(domains.first, [row("b.example", 3, 0, 1, 1), row("a.example", 2, 1, 0, 1)]);
        let others = OtherDomains { domains: Some(1), counts: row("", 1, 0, 0, 1).counts };
        assert_eq!((domains.others, number), (Some(others), 3));
    }

    #[tokio::test]
    async fn an_email_that_was_never_claimed_has_no_domain() {
        let (_directory, context) = Context::temporary();
        let id = context.id();
        let write = move |tx: &WriteTx<'_>| {
            let mut counts = BroadcastCountsRow::default();
            for to in [BroadcastOutcome::Suppressed, BroadcastOutcome::Canceled, BroadcastOutcome::Failed] {
                let change = change("a.example", BroadcastOutcome::Queued, to);
                count_domain(tx, id, &mut counts, &RecipientChange { is_attempted: false, ..change })?;
                let claimed = RecipientChange { domain: None, ..change };
                count_domain(tx, id, &mut counts, &claimed)?;
            }
            assert_eq!((domains_of(tx, id, 8)?, counts.domains), (RecipientDomains::default(), 0));
            Ok(())
        };
        context.commit(write).await;
    }

    #[tokio::test]
    async fn the_domains_of_a_broadcast_are_bounded() {
        let claims = (0..DOMAINS_MAX + 5)
            .map(|number| (format!("{number}.example"), BroadcastOutcome::Queued, BroadcastOutcome::Sent));
        let delivered = (0..DOMAINS_MAX + 5)
            .map(|number| (format!("{number}.example"), BroadcastOutcome::Sent, BroadcastOutcome::Delivered));

        let (domains, number) = counted(1, claims.chain(delivered).collect()).await;

        assert_eq!((domains.first, number), (vec![row("0.example", 1, 1, 0, 0)], DOMAINS_MAX));
        let sum = u64::from(DOMAINS_MAX) + 4;
        assert_eq!(domains.others, Some(OtherDomains { domains: None, counts: row("", sum, sum, 0, 0).counts }));
    }
}

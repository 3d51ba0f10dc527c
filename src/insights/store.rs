//! Insights, positions and the counts of days in the store.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use super::compute::recipients;
use super::model::InsightCheck;
use super::rows::{InsightDayRow, InsightPositionRow, InsightRow};
use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::{BroadcastId, EmailId, Id, TeamId};
use crate::context::Context;
use crate::emails::EmailRow;
use crate::store::{NEXT, Order, Reads, StoreError, WriteTx, match_keys};
use crate::tables::{BROADCAST_INSIGHTS, EMAIL_INSIGHTS, INSIGHT_DAYS, INSIGHT_POSITIONS, PENDING_BROADCAST_INSIGHTS};
use crate::{email_metrics, teams};

/// Days for which the recipients of failing checks are stored.
const DAYS: u32 = 60;
/// Rows that one transaction of the retention deletes.
const DELETED_MAX: usize = 1_000;

/// A check with the recipients whose email failed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailingCheck {
    /// Id in the API.
    pub check: &'static str,
    pub severity: &'static str,
    pub weight_hundredths: u32,
    pub recipients: u64,
    /// Sum of the tenths of a point by which the score of each of them would be higher without the check. It can be less
    /// than the weight for each recipient.
    pub lost_tenths: u64,
}

/// Returns the checks with a weight that emails of some UTC days have failed, in the order of the checks. Reads at most 17
/// rows for each day.
pub fn failing_checks(
    tx: &impl Reads,
    team: TeamId,
    days: RangeInclusive<u32>,
) -> Result<Vec<FailingCheck>, StoreError> {
    let mut sums: BTreeMap<InsightCheck, InsightDayRow> = BTreeMap::new();
    let (from, to) = ((team, *days.start(), 0), (team, *days.end(), u8::MAX));
    tx.scan_valid(&INSIGHT_DAYS, &from, &to, Order::Ascending, |(.., number), row| {
        if let Some(check) = InsightCheck::of_number(number) {
            sums.entry(check).or_default().add(row);
        }
        NEXT
    })?;
    let failing = sums.into_iter().map(|(check, InsightDayRow { recipients, lost_tenths })| FailingCheck {
        check: check.as_str(),
        severity: check.severity().as_str(),
        weight_hundredths: check.weight_hundredths(),
        recipients,
        lost_tenths,
    });
    Ok(failing.collect())
}

/// Returns the insights of an email of the API; `None` if they are not computed, or the row is corrupt.
pub(super) fn of_email(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<InsightRow>, StoreError> {
    tx.get_valid(&EMAIL_INSIGHTS, &(team, id))
}

pub(super) fn has_email(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<bool, StoreError> {
    tx.contains(&EMAIL_INSIGHTS, &(team, id))
}

pub(super) fn put_email(tx: &WriteTx<'_>, team: TeamId, id: EmailId, row: &InsightRow) -> Result<(), StoreError> {
    tx.put(&EMAIL_INSIGHTS, &(team, id), row)
}

/// Returns the emails with insights in a range, in order.
pub(super) fn ids_between(
    tx: &impl Reads,
    team: TeamId,
    (from, to): (EmailId, EmailId),
) -> Result<Vec<EmailId>, StoreError> {
    tx.collect(&EMAIL_INSIGHTS, ((team, from), (team, to)), Order::Ascending, |(_, id), _| Ok(Some(id)))
}

/// Returns the insights of a broadcast; `None` if they are not computed, or the row is corrupt.
pub(super) fn of_broadcast(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<Option<InsightRow>, StoreError> {
    tx.get_valid(&BROADCAST_INSIGHTS, &(team, id))
}

pub(super) fn put_broadcast(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: BroadcastId,
    row: &InsightRow,
) -> Result<(), StoreError> {
    tx.put(&BROADCAST_INSIGHTS, &(team, id), row)
}

/// Returns up to `rows_max` started broadcasts after `after` whose recipients are not counted yet.
pub(super) fn pending(
    tx: &impl Reads,
    team: TeamId,
    after: BroadcastId,
    rows_max: usize,
) -> Result<Vec<BroadcastId>, StoreError> {
    let to = (team, Id::MAX);
    Ok(match_keys(tx, &PENDING_BROADCAST_INSIGHTS, (team, after), to, rows_max, |_| true)?.map(|(_, id)| id).hits)
}

pub(super) fn is_pending(tx: &impl Reads, team: TeamId, id: BroadcastId) -> Result<bool, StoreError> {
    tx.contains(&PENDING_BROADCAST_INSIGHTS, &(team, id))
}

pub(super) fn forget_pending(tx: &WriteTx<'_>, team: TeamId, id: BroadcastId) -> Result<(), StoreError> {
    tx.delete(&PENDING_BROADCAST_INSIGHTS, &(team, id))?;
    Ok(())
}

/// Returns the position of a team; `None` before its first page.
pub(super) fn position(tx: &impl Reads, team: TeamId) -> Result<Option<InsightPositionRow>, StoreError> {
    tx.get_valid(&INSIGHT_POSITIONS, &(team,))
}

pub(super) fn put_position(tx: &WriteTx<'_>, team: TeamId, row: InsightPositionRow) -> Result<(), StoreError> {
    tx.put(&INSIGHT_POSITIONS, &(team,), &row)
}

/// Recipients by day, for the scores and the failing checks. A page of emails changes each row once.
#[derive(Debug, Default)]
pub(super) struct DayCounts {
    /// By day and number of the check.
    failing: BTreeMap<(u32, u8), InsightDayRow>,
    /// By day and score, with a time of the day.
    scores: BTreeMap<(u32, u8), (TimestampMs, u64)>,
}

impl DayCounts {
    /// Counts the recipients of an email, or of a broadcast. Does nothing if it could not be checked.
    pub(super) fn add(&mut self, at_ms: TimestampMs, recipients: u64, row: &InsightRow) {
        if recipients == 0 || row.is_unknown() {
            return;
        }
        let day = utc_day(at_ms);
        self.scores.entry((day, row.score_tenths)).or_insert((at_ms, 0)).1 += recipients;
        for check in row.failing() {
            let lost_tenths = recipients.saturating_mul(row.lost_tenths(check).into());
            self.failing.entry((day, check.number())).or_default().add(InsightDayRow { recipients, lost_tenths });
        }
    }

    /// Adds the numbers to those in the store.
    pub(super) fn store(self, tx: &WriteTx<'_>, team: TeamId) -> Result<(), StoreError> {
        for ((_, score), (at_ms, recipients)) in self.scores {
            email_metrics::add_score(tx, team, at_ms, recipients, u32::from(score))?;
        }
        for ((day, check), added) in self.failing {
            let key = (team, day, check);
            let mut sums = tx.get_valid(&INSIGHT_DAYS, &key)?.unwrap_or_default();
            sums.add(added);
            tx.put(&INSIGHT_DAYS, &key, &sums)?;
        }
        Ok(())
    }
}

/// Takes back the counts of the recipients of an email that are canceled. `before` and `after` are its rows around the
/// cancellation. Does nothing if the email is not counted yet. Call it in the transaction of the cancellation.
pub fn take_back_canceled(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    before: &EmailRow,
    after: &EmailRow,
) -> Result<(), StoreError> {
    let canceled = recipients(before).saturating_sub(recipients(after));
    if canceled == 0 {
        return Ok(());
    }
    let Some(row) = of_email(tx, team, id)?.filter(|row| !row.is_unknown()) else { return Ok(()) };
    email_metrics::take_back_score(tx, team, before.created_ms, canceled, u32::from(row.score_tenths))?;
    for check in row.failing() {
        let key = (team, utc_day(before.created_ms), check.number());
        let Some(mut sums) = tx.get_valid(&INSIGHT_DAYS, &key)? else { continue };
        let lost_tenths = canceled.saturating_mul(row.lost_tenths(check).into());
        sums.take_back(InsightDayRow { recipients: canceled, lost_tenths });
        tx.put(&INSIGHT_DAYS, &key, &sums)?;
    }
    Ok(())
}

/// Deletes the counts of days that are older than [`DAYS`].
pub async fn purge(context: &Context) -> Result<(), StoreError> {
    let Some(last) = utc_day(context.now_ms()).checked_sub(DAYS + 1) else { return Ok(()) };
    let delete = move |tx: &WriteTx<'_>| {
        let mut left = DELETED_MAX;
        for team in teams::list(tx)? {
            let (from, to) = ((team.id, 0, 0), (team.id, last, u8::MAX));
            left -= tx.delete_range(&INSIGHT_DAYS, &from, &to, left)?;
            if left == 0 {
                return Ok(true);
            }
        }
        Ok(false)
    };
    while context.store.write_bulk::<_, StoreError>(delete).await? {}
    Ok(())
}

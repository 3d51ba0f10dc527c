//! Requeueing of the deferred recipients of a settled group.

use super::Settling;
use crate::base::clock::TimestampMs;
use crate::base::random;
use crate::delivery::outcome::{Charge, Deferral, Grouping};
use crate::delivery::queue::{Due, requeue};
use crate::delivery::retry::{RetryDelay, RetrySchedule, should_report_delay};
use crate::delivery::rows::DueRow;
use crate::emails::{LastEvent, RecipientState};
use crate::events::{EmailEventKind, EventDetail};
use crate::store::StoreError;

impl Settling<'_, '_> {
    /// Requeues the deferred recipients. Recipients with an immediate retry get new groups, because the due time belongs
    /// to the group. A whole group keeps its number, which its attempts and return paths name.
    pub(super) fn defer(
        &mut self,
        schedule: &RetrySchedule,
        deferred: &[(usize, &Deferral)],
    ) -> Result<Vec<Due>, StoreError> {
        let (immediate, later): (Vec<_>, Vec<_>) =
            deferred.iter().copied().partition(|(_, deferral)| deferral.delay == RetryDelay::Immediate);
        let mut requeued = Vec::new();
        let (alone, together): (Vec<_>, Vec<_>) =
            immediate.into_iter().partition(|(_, deferral)| deferral.grouping == Grouping::Alone);
        if !together.is_empty() {
            let claimed = &self.settlement.claimed;
            let is_whole = together.len() == claimed.recipients.len();
            let group = if is_whole { claimed.key.group } else { self.next_group() };
            requeued.extend(self.defer_group(schedule, group, &together)?);
        }
        for recipient in alone {
            let claimed = &self.settlement.claimed;
            let is_whole = claimed.recipients.len() == 1;
            let group = if is_whole { claimed.key.group } else { self.next_group() };
            requeued.extend(self.defer_group(schedule, group, &[recipient])?);
        }
        // Last, because `requeue` requeues every recipient of the group that is still in flight.
        if !later.is_empty() {
            requeued.extend(self.defer_group(schedule, self.settlement.claimed.key.group, &later)?);
        }
        Ok(requeued)
    }

    /// Returns the lowest group number above those in use.
    fn next_group(&self) -> u16 {
        self.row.recipients.iter().map(|recipient| recipient.group).max().map_or(0, |group| group + 1)
    }

    /// Requeues recipients as one group, due at the earliest of their retry times. Fails those whose
    /// retry period has ended. The time of a step forward that has not lasted does not count for it. Returns `None` if
    /// none is left.
    fn defer_group(
        &mut self,
        schedule: &RetrySchedule,
        group: u16,
        deferred: &[(usize, &Deferral)],
    ) -> Result<Option<Due>, StoreError> {
        let mut due = self.due.clone();
        let counted = deferred.iter().any(|(_, deferral)| deferral.charge == Charge::Counted);
        due.attempts = due.attempts.saturating_add(u16::from(counted));
        due.vanished_ms = self.missing_since(deferred);
        if counted {
            due.ambiguous_host = deferred.iter().find_map(|(_, deferral)| deferral.ambiguous_host.clone());
            due.possible_duplicate |= due.ambiguous_host.is_some();
        }
        let class = self.settlement.claimed.key.lane.class;
        let confirmed_ms = self.context.confirmed_time().now_ms;
        let mut next_ms = None;
        let mut waiting = Vec::new();
        for (index, deferral) in deferred {
            let next =
                schedule.next_attempt(deferral.delay, due.attempts, (class, &due), confirmed_ms, random::number());
            match next.filter(|_| !self.has_reached_limit(deferral, confirmed_ms)) {
                Some(at_ms) => {
                    let at_ms = at_ms + (self.now_ms - confirmed_ms);
                    next_ms = Some(next_ms.map_or(at_ms, |known: TimestampMs| known.min(at_ms)));
                    waiting.push((*index, *deferral));
                }
                None => self.expire(*index, deferral.reply.clone())?,
            }
        }
        let Some(next_ms) = next_ms else { return Ok(None) };
        due.wait_ms = Some(next_ms - self.now_ms).filter(|wait_ms| *wait_ms > 0);
        due.without_pipelining =
            due.without_pipelining || waiting.iter().any(|(_, deferral)| deferral.without_pipelining);
        self.record_delay(&mut due, &waiting)?;
        for (index, _) in &waiting {
            self.row.recipients[*index].group = group;
        }
        let email = self.email();
        requeue(self.tx, &mut self.row, email, group, next_ms, &due).map(Some)
    }

    /// Returns since when the destination is missing. A deferral that does not count changes nothing. After another
    /// result, the confirmation starts again.
    fn missing_since(&self, deferred: &[(usize, &Deferral)]) -> Option<TimestampMs> {
        if deferred.iter().any(|(_, deferral)| deferral.delay == RetryDelay::Confirm) {
            return self.due.vanished_ms.or(Some(self.now_ms));
        }
        let counted = deferred.iter().any(|(_, deferral)| deferral.charge == Charge::Counted);
        self.due.vanished_ms.filter(|_| !counted)
    }

    /// Returns whether the time limit of the deferral itself has passed.
    fn has_reached_limit(&self, deferral: &Deferral, now_ms: TimestampMs) -> bool {
        let hours = deferral.hours_max.map(i64::from);
        hours.is_some_and(|hours| now_ms - self.due.first_due_ms >= hours * 3_600_000)
    }

    /// Records `email.delivery_delayed` if it is due, for the recipients without an immediate retry.
    fn record_delay(&mut self, due: &mut DueRow, waiting: &[(usize, &Deferral)]) -> Result<(), StoreError> {
        let delayed: Vec<(usize, &Deferral)> =
            waiting.iter().copied().filter(|(_, deferral)| deferral.delay != RetryDelay::Immediate).collect();
        let Some((_, first)) = delayed.first() else { return Ok(()) };
        if !should_report_delay(due.delays_reported, due, self.now_ms) {
            return Ok(());
        }
        due.delays_reported += 1;
        let reply = first.reply.clone();
        let recipients: Vec<String> = delayed.iter().map(|(index, _)| self.address(*index)).collect();
        for (index, _) in &delayed {
            self.advance(*index, LastEvent::DeliveryDelayed, RecipientState::InFlight);
        }
        let detail = reply.map_or(EventDetail::None, |reply| EventDetail::Reply { reply });
        self.record(EmailEventKind::DeliveryDelayed, recipients, detail)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::Duration;

    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::base::confirmed_clock::CONFIRM_MS;
    use crate::context::Context;
    use crate::delivery::outcome::RecipientDisposition;
    use crate::delivery::queue::tests::{ADA, broadcasts, put_due};
    use crate::delivery::queue::{DueKey, claim};
    use crate::delivery::retry::EXPIRED_TEXT;
    use crate::delivery::rows::Class;
    use crate::delivery::settle::{Settlement, settle};
    use crate::emails::RecipientKind;
    use crate::events;
    use crate::store::WriteTx;

    const HOUR_MS: i64 = 3_600_000;
    const REPLY: &str = "451 4.7.1 later";

    fn schedule() -> RetrySchedule {
        RetrySchedule {
            delays: vec![Duration::from_secs(60)],
            expire_after: Duration::from_secs(48 * 3_600),
            expire_broadcasts_after: Duration::from_secs(72 * 3_600),
            confirm_after: Duration::from_secs(900),
        }
    }

    #[tokio::test]
    async fn a_recipient_fails_with_the_status_of_an_expired_delivery_at_the_end_of_the_period_of_its_class() {
        for (class, age_ms, is_queued) in [
            (Class::Transactional, 48 * HOUR_MS - 1, true),
            (Class::Transactional, 48 * HOUR_MS, false),
            (Class::Broadcast, 72 * HOUR_MS - 1, true),
            (Class::Broadcast, 72 * HOUR_MS, false),
        ] {
            let (_directory, context) = Context::temporary();
            let key = match class {
                Class::Transactional => put_due(&context, &[(RecipientKind::To, ADA)]).await.1[0],
                Class::Broadcast => broadcasts::queue(&context, 1).await[0].0,
            };
            assert_eq!(key.lane.class, class);
            let (settling, now_ms) = (context.clone(), context.now_ms());
            let write = move |tx: &WriteTx<'_>| {
                let mut claimed = claim(tx, &settling, &[key])?.remove(0);
                claimed.due.first_due_ms = now_ms - age_ms;
                let disposition = RecipientDisposition::Deferred(Deferral::ordinary(Some(REPLY.into())));
                settle(tx, &settling, &schedule(), &Settlement::uniform(Arc::new(claimed), disposition, None))
            };

            let requeued = context.commit(write).await;

            assert_eq!(!requeued.is_empty(), is_queued, "{class:?} {age_ms}");
            let timeline = context.read(|tx| events::email_timeline(tx, key.email));
            let detail = &timeline.last().unwrap().detail;
            let diagnostic = vec![EXPIRED_TEXT.to_owned(), REPLY.to_owned()];
            let expired = EventDetail::Failed { reason: "expired".into(), diagnostic };
            assert_eq!(*detail == expired, !is_queued, "{detail:?}");
        }
    }

    #[tokio::test]
    async fn a_step_of_the_clock_ends_a_retry_period_only_if_it_lasts() {
        let (_directory, context) = Context::temporary();
        let (_, keys) = put_due(&context, &[(RecipientKind::To, ADA)]).await;
        let deferred = async |key: DueKey| {
            let settling = context.clone();
            let write = move |tx: &WriteTx<'_>| {
                let claimed = claim(tx, &settling, &[key])?.remove(0);
                let disposition = RecipientDisposition::Deferred(Deferral::ordinary(Some(REPLY.into())));
                settle(tx, &settling, &schedule(), &Settlement::uniform(Arc::new(claimed), disposition, None))
            };
            context.commit(write).await
        };
        context.clock.step(4 * DAY_MS);

        let requeued = deferred(keys[0]).await;
        let wait_ms = requeued[0].key.due_ms - context.now_ms();
        assert!((48_000..=72_000).contains(&wait_ms), "{wait_ms}");
        context.clock.advance(Duration::from_millis(CONFIRM_MS.unsigned_abs()));

        assert_eq!(deferred(requeued[0].key).await, []);
    }
}

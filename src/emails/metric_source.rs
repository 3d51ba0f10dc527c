//! The team, domain and broadcast that the counts of an email belong to, and the count of its opt-outs.

use super::store::{EmailRow, RecipientRow};
use super::stored::{find_valid_row, put_row};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, TeamId};
use crate::broadcast_rows;
use crate::email_metrics::{self, CountedRecipients, EmailMetric, MetricLookups, MetricSource};
use crate::preferences::OptOutCounts;
use crate::store::{Reads, StoreError, WriteTx};

/// The reads of a report of email metrics.
pub(crate) const METRIC_LOOKUPS: MetricLookups = MetricLookups {
    source: |tx, team, id| metric_source(tx, team, id),
    broadcast_name: |tx, team, id| Ok(broadcast_rows::find_valid(tx, team, id)?.map(|row| row.name)),
};

/// The counts of opt-outs with the links of emails.
pub(crate) const OPT_OUT_COUNTS: OptOutCounts = OptOutCounts { count: count_opt_out, take_back: take_back_opt_out };

impl EmailRow {
    /// Returns the domain and the broadcast of the counts of an email of a team.
    pub(crate) fn metric_source(&self, team: TeamId) -> MetricSource {
        MetricSource { team, domain: self.domain, broadcast: self.broadcast.as_ref().map(|send| send.id) }
    }
}

/// Returns the domain and the broadcast of the counts of an email; `None` if the team has no such email.
///
/// # Errors
/// [`StoreError`] if the file cannot be read.
fn metric_source(tx: &impl Reads, team: TeamId, id: EmailId) -> Result<Option<MetricSource>, StoreError> {
    let row = find_valid_row(tx, team, id)?.filter(|row| !row.hidden);
    Ok(row.map(|row| row.metric_source(team)))
}

/// Counts an opt-out of a recipient with the link of an email, also for its broadcast. A recipient counts once for each email.
/// Does nothing if the email is deleted or its address is erased.
fn count_opt_out(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    address: &EmailAddress,
    at_ms: TimestampMs,
) -> Result<(), StoreError> {
    let Some(mut row) = find_valid_row(tx, team, id)?.filter(|row| !row.hidden) else { return Ok(()) };
    let Some(recipient) = recipient_of(&mut row, address).filter(|it| it.unsubscribed_ms.is_none()) else {
        return Ok(());
    };
    recipient.unsubscribed_ms = Some(at_ms);
    let source = row.metric_source(team);
    put_row(tx, team, id, &row, at_ms)?;
    email_metrics::count(tx, source, at_ms, EmailMetric::Unsubscribed, CountedRecipients::Real(1))?;
    source.broadcast.map_or(Ok(()), |broadcast| broadcast_rows::count_unsubscribed(tx, broadcast))
}

/// Takes back the opt-out that [`count_opt_out`] counted. Does nothing if none is counted.
fn take_back_opt_out(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: EmailId,
    address: &EmailAddress,
    at_ms: TimestampMs,
) -> Result<(), StoreError> {
    let Some(mut row) = find_valid_row(tx, team, id)?.filter(|row| !row.hidden) else { return Ok(()) };
    let counted_ms = recipient_of(&mut row, address).and_then(|recipient| recipient.unsubscribed_ms.take());
    let Some(counted_ms) = counted_ms else { return Ok(()) };
    let source = row.metric_source(team);
    put_row(tx, team, id, &row, at_ms)?;
    email_metrics::take_back(tx, source, counted_ms, EmailMetric::Unsubscribed, CountedRecipients::Real(1))?;
    source.broadcast.map_or(Ok(()), |broadcast| broadcast_rows::take_back_unsubscribed(tx, broadcast))
}

fn recipient_of<'r>(row: &'r mut EmailRow, address: &EmailAddress) -> Option<&'r mut RecipientRow> {
    let identity = address.identity();
    let is_meant = |it: &RecipientRow| it.mailbox.address().is_some_and(|other| other.identity() == identity);
    row.recipients.iter_mut().find(|recipient| is_meant(recipient))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::base::id::BroadcastId;
    use crate::broadcast_rows::BroadcastRow;
    use crate::context::Context;
    use crate::emails::{
        BroadcastEmailList, BroadcastEmailScan, NewBroadcastEmail, broadcast_emails_step, queue_broadcast_email,
    };
    use crate::preferences::ChangeOptOuts;
    use crate::store::ReadTx;
    use crate::store::page::{Cursor, PageError, PageQuery};
    use crate::tables::{BROADCASTS, EMAIL_QUARTER_COUNTS};

    const TEAM: TeamId = TeamId::MIN;
    const ADA: &str = "ada@example.net";

    /// Returns the opt-outs in the email metrics and in the counts of the broadcast, and the listed emails.
    fn counted(context: &Context, broadcast: BroadcastId) -> (u64, u64, usize) {
        let total = context.rows(&EMAIL_QUARTER_COUNTS).iter().map(|(_, row)| row.unsubscribed).sum();
        let counts = context.read(|tx| broadcast_rows::read_counts(tx, broadcast));
        let query = PageQuery { cursor: Cursor::Newest, limit: 20 };
        let list = |tx: &ReadTx| {
            let (list, scan) = (BroadcastEmailList::Unsubscribed, BroadcastEmailScan::default());
            broadcast_emails_step(tx, TEAM, broadcast, list, query, scan, |_, _| Ok(true))
        };
        let listed = context.store.read_now::<_, PageError>(list).unwrap().into_page();
        (total, counts.unsubscribed, listed.rows.len())
    }

    #[tokio::test]
    async fn the_opt_out_of_a_recipient_of_a_broadcast_counts_once_and_can_be_taken_back() {
        let (_directory, context) = Context::temporary();
        let (broadcast, storing): (BroadcastId, _) = (context.id(), context.clone());
        let address = || EmailAddress::parse(ADA).unwrap();
        let store = move |tx: &WriteTx<'_>| {
            let row = BroadcastRow::draft("shop@example.com".into(), "Hello".into());
            tx.put(&BROADCASTS, &(TEAM, broadcast), &row)?;
            let due_ms = storing.now_ms();
            let new = NewBroadcastEmail { contact: storing.id(), address: address(), values: Vec::new(), due_ms };
            let due = queue_broadcast_email(tx, &storing, TEAM, broadcast, &row, new)?.unwrap();
            let id = due.key.email;
            broadcast_rows::count_queued(tx, broadcast, 1, (id, id))?;
            Ok(id)
        };
        let id = context.commit(store).await;
        let OptOutCounts { count, take_back } = OPT_OUT_COUNTS;
        let change = async |change: ChangeOptOuts, address: &str, at_ms: TimestampMs| {
            let address = EmailAddress::parse(address).unwrap();
            context.commit(move |tx| change(tx, TEAM, id, &address, at_ms)).await;
        };
        let now_ms = context.now_ms();

        for at_ms in [now_ms, now_ms + 1] {
            change(count, "Ada@example.net", at_ms).await;
            assert_eq!(counted(&context, broadcast), (1, 1, 1));
        }
        change(count, "bob@example.net", now_ms).await;
        assert_eq!(counted(&context, broadcast), (1, 1, 1), "bob is no recipient");
        for at_ms in [now_ms + DAY_MS, now_ms + 2 * DAY_MS] {
            change(take_back, ADA, at_ms).await;
            assert_eq!(counted(&context, broadcast), (0, 0, 0), "the count of the opt-out is taken back");
        }
        change(count, ADA, now_ms).await;
        assert_eq!(counted(&context, broadcast), (1, 1, 1));
    }
}

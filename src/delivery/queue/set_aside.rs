//! Rows that were removed from the queue because they, or their emails, cannot be read.
//!
//! The transaction that removes a row keeps its bytes in one small table, and logs the email. `ringmail doctor` reports the
//! number of these rows. At least the newest [`ROWS_MAX`] minus [`REPLACED`] are kept for [`DAYS`]. The key begins with
//! the team, so that they are deleted with it; with the lowest id if the team is not known.

use tracing::error;

use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{EmailId, Id, SetAsideId, TeamId};
use crate::context::Context;
use crate::delivery::rows::SetAsideRow;
use crate::emails;
use crate::store::{Key, Order, ReadTx, Reads, Store, StoreError, Table, Value, WriteTx, match_keys};
use crate::tables::SET_ASIDE_ROWS;

/// Maximum number of rows. A further one replaces the oldest [`REPLACED`].
const ROWS_MAX: usize = 1_000;
/// Number of rows that are deleted together, because all keys are read to find the oldest.
const REPLACED: usize = 100;
/// Maximum size of a kept value, in bytes. Rows of the queue are far smaller.
const VALUE_BYTES_MAX: usize = 4_096;
/// Number of days for which a row is kept.
const DAYS: i64 = 30;

/// Key of a row: its team, or the lowest id, and its time.
type SetAsideKey = (TeamId, SetAsideId);
const FIRST: SetAsideKey = (Id::MIN, Id::MIN);
const LAST: SetAsideKey = (Id::MAX, Id::MAX);

/// Keeps the bytes of a row that the transaction has removed. `team` is `None` if it is not known.
pub(super) fn set_aside<K: Key, V>(
    tx: &WriteTx<'_>,
    context: &Context,
    team: Option<TeamId>,
    email: EmailId,
    (table, key): (&Table<K, V>, &K),
    mut value: Vec<u8>,
) -> Result<(), StoreError> {
    if tx.row_count(&SET_ASIDE_ROWS)? >= ROWS_MAX as u64 {
        let mut keys = read_keys(tx)?;
        keys.sort_unstable_by_key(|(_, id)| *id);
        keys.iter().take(REPLACED).try_for_each(|key| tx.delete(&SET_ASIDE_ROWS, key).map(drop))?;
    }
    let name = table.name();
    error!(email.id = %email, "set aside a row of {name}, because it or its email {email} cannot be read");
    value.truncate(VALUE_BYTES_MAX);
    let row = SetAsideRow { table: name.to_owned(), key: key.to_bytes().as_ref().to_vec(), value };
    tx.put(&SET_ASIDE_ROWS, &(team.unwrap_or(Id::MIN), context.id()), &row)
}

/// Returns the keys of all rows. There are at most [`ROWS_MAX`].
fn read_keys(tx: &impl Reads) -> Result<Vec<SetAsideKey>, StoreError> {
    tx.collect(&SET_ASIDE_ROWS, (FIRST, LAST), Order::Ascending, |key, _| Ok(Some(key)))
}

/// Keeps a row that the transaction has removed and whose email cannot be read, unless the email is deleted.
pub(super) fn set_aside_with_email<K: Key, V: Value>(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    email: EmailId,
    from: (&Table<K, V>, &K),
    row: &V,
) -> Result<(), StoreError> {
    if emails::has_row(tx, team, email)? {
        set_aside(tx, context, Some(team), email, from, row.to_bytes())?;
    }
    Ok(())
}

/// Returns the number of rows that are set aside.
pub(crate) async fn count_set_aside(store: &Store) -> Result<usize, StoreError> {
    store.read(|tx: &ReadTx| read_keys(tx).map(|keys| keys.len())).await
}

/// Deletes the rows that are older than [`DAYS`], and those from the future, after which the clock was set back.
pub(in crate::delivery) fn purge_set_aside(tx: &WriteTx<'_>, now_ms: TimestampMs) -> Result<(), StoreError> {
    let is_old = |(_, id): SetAsideKey| (now_ms - id.created_ms()).abs() >= DAYS * DAY_MS;
    let old = match_keys(tx, &SET_ASIDE_ROWS, FIRST, LAST, ROWS_MAX, is_old)?;
    old.hits.iter().try_for_each(|key| tx.delete(&SET_ASIDE_ROWS, key).map(drop))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::StoredMailbox;
    use crate::delivery::queue::tests::{ADA, TEAM, broadcasts, claimed, corruptly_leased, put_due};
    use crate::delivery::queue::{DueKey, recover, recover_corrupt};
    use crate::delivery::rows::LeaseRow;
    use crate::emails::RecipientKind;
    use crate::store::tests::disk::Disk;
    use crate::store::{Encoded, NodeId};
    use crate::tables::{self, DUE, EMAILS, LEASES};

    /// Returns the team, the table, and the bytes of the value of each row that is set aside.
    fn found(context: &Context) -> Vec<(TeamId, String, Vec<u8>)> {
        let rows = context.rows(&SET_ASIDE_ROWS);
        rows.into_iter().map(|((team, _), row)| (team, row.table, row.value)).collect()
    }

    /// Stores an email to Ada, and makes its queue row corrupt.
    async fn corruptly_queued(context: &Context) -> DueKey {
        let (_, keys) = put_due(context, &[(RecipientKind::To, ADA)]).await;
        let key = keys[0];
        context.corrupt(&DUE, key.parts()).await;
        key
    }

    /// Returns a value that no row type decodes.
    fn unreadable() -> Vec<u8> {
        vec![0xff; Encoded::<()>::unreadable().len()]
    }

    #[tokio::test]
    async fn a_kill_leaves_a_corrupt_row_in_the_queue_or_set_aside() {
        let disk = Disk::default();
        let context = Context::on_disk(&disk);
        let key = corruptly_queued(&context).await;

        let recording = disk.record();
        assert_eq!(claimed(&context, &[key]).await, [ADA]);

        let row =
            SetAsideRow { table: "due-1".into(), key: key.parts().to_bytes().as_ref().to_vec(), value: unreadable() };
        let mut removed = std::collections::BTreeSet::new();
        recording.each_kill(|store| {
            let read = |tx: &ReadTx| Ok((tx.contains(&DUE, &key.parts())?, tx.rows(&SET_ASIDE_ROWS)?));
            let (is_queued, kept) = store.read_now::<_, StoreError>(read).unwrap();
            let kept: Vec<_> = kept.into_iter().map(|((team, _), row)| (team, row)).collect();
            assert_eq!(kept, if is_queued { Vec::new() } else { vec![(TEAM, row.clone())] });
            removed.insert(!is_queued);
        });
        assert_eq!(removed.len(), 2, "a kill before the commit, and one after it");
    }

    #[tokio::test]
    async fn a_row_is_set_aside_if_its_email_cannot_be_read_but_not_if_it_is_deleted() {
        let (_directory, context) = Context::temporary();
        let [corrupt, unreadable_email, deleted] =
            [corruptly_queued(&context).await, put(&context).await, put(&context).await];
        let emails = [corrupt.email, unreadable_email.email];
        context
            .commit(move |tx| {
                tx.delete(&EMAILS, &(TEAM, deleted.email))?;
                emails.iter().try_for_each(|email| tx.put_encoded(&EMAILS, &(TEAM, *email), &Encoded::unreadable()))
            })
            .await;
        let key = unreadable_email.parts();
        let due = context.read(|tx| tx.get(&DUE, &key)).unwrap();

        assert_eq!(claimed(&context, &[corrupt, unreadable_email, deleted]).await, [] as [String; 0]);

        let kept = |value| (TEAM, "due-1".to_owned(), value);
        assert_eq!(found(&context), [kept(unreadable()), kept(due.to_bytes())]);
    }

    async fn put(context: &Context) -> DueKey {
        put_due(context, &[(RecipientKind::To, ADA)]).await.1[0]
    }

    #[tokio::test]
    async fn a_row_is_not_set_aside_if_its_email_was_erased() {
        let (_directory, context) = Context::temporary();
        let key = broadcasts::queue(&context, 1).await[0].0;
        context
            .commit(move |tx| {
                let mut row = emails::find_row(tx, TEAM, key.email)?.unwrap();
                row.recipients[0].mailbox = StoredMailbox::erased();
                emails::put_row(tx, TEAM, key.email, &row, 1)
            })
            .await;

        assert_eq!(claimed(&context, &[key]).await, [] as [String; 0]);

        assert!(found(&context).is_empty());
        assert!(!context.read(|tx| tx.contains(&DUE, &key.parts())));
    }

    #[tokio::test]
    async fn a_lease_is_set_aside_if_it_or_its_email_cannot_be_read() {
        let (_directory, context) = Context::temporary();
        let (requeued, lost) = (corruptly_leased(&context).await, corruptly_leased(&context).await);
        let ended = put(&context).await;
        claimed(&context, &[ended]).await;
        context
            .commit(move |tx| {
                for email in [lost, ended.email] {
                    tx.put_encoded(&EMAILS, &(TEAM, email), &Encoded::unreadable())?;
                }
                let lease = tx.get(&LEASES, &(ended.email, 0))?.expect("a lease");
                tx.put(&LEASES, &(ended.email, 0), &LeaseRow { node: NodeId::new(99), ..lease })
            })
            .await;

        assert_eq!(recover(&context).await.unwrap(), 1);
        let lease = found(&context).remove(0);
        assert_eq!((lease.0, lease.1.as_str(), lease.2.len() > unreadable().len()), (TEAM, "leases-1", true));

        assert_eq!(recover_corrupt(&context, |_| false).await.unwrap(), 1);
        // The team of an email that cannot be read is not known.
        let kept = |team| (team, "leases-1".to_owned(), unreadable());
        assert_eq!(found(&context), [kept(Id::MIN), lease, kept(TEAM)]);
        let is_leased = |email| context.read(|tx| tx.contains(&LEASES, &(email, 0)));
        assert_eq!([requeued, lost, ended.email].map(is_leased), [false; 3]);
        assert_eq!(count_set_aside(&context.store).await.unwrap(), 3);
    }

    /// Stores rows of two teams that were set aside at these times.
    async fn put_rows(context: &Context, times: impl IntoIterator<Item = TimestampMs>) {
        let times: Vec<_> = times.into_iter().collect();
        let row = SetAsideRow { table: "due-1".into(), key: Vec::new(), value: Vec::new() };
        context
            .commit(move |tx| {
                (0..).zip(&times).try_for_each(|(number, at_ms): (usize, _)| {
                    let team = if number.is_multiple_of(2) { TEAM } else { Id::MIN };
                    tx.put(&SET_ASIDE_ROWS, &(team, SetAsideId::first_at(*at_ms)), &row)
                })
            })
            .await;
    }

    /// Returns the times of the rows that are set aside, in their order.
    fn times(context: &Context) -> Vec<TimestampMs> {
        let rows = context.rows(&SET_ASIDE_ROWS);
        let mut times: Vec<_> = rows.iter().map(|((_, id), _)| id.created_ms()).collect();
        times.sort_unstable();
        times
    }

    #[tokio::test]
    async fn a_further_row_replaces_the_oldest_rows_of_all_teams() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let first_ms = now_ms - i64::try_from(ROWS_MAX).unwrap();
        put_rows(&context, first_ms..now_ms).await;
        let mut keys = Vec::new();
        for _ in 0..=REPLACED {
            keys.push(corruptly_queued(&context).await);
        }

        // In one transaction, which deletes old rows twice.
        claimed(&context, &keys).await;

        let times = times(&context);
        let replaced_ms = i64::try_from(2 * REPLACED).unwrap();
        assert_eq!((times.len(), times[0]), (ROWS_MAX + 1 - REPLACED, first_ms + replaced_ms));
        let newer = times.iter().filter(|at_ms| **at_ms == now_ms).count();
        assert_eq!(newer, keys.len());
    }

    #[tokio::test]
    async fn a_value_is_kept_up_to_its_maximum_size() {
        let (_directory, context) = Context::temporary();
        let (setting, key) = (context.clone(), put(&context).await);
        let value = vec![7; VALUE_BYTES_MAX + 1];
        context.commit(move |tx| set_aside(tx, &setting, None, key.email, (&DUE, &key.parts()), value.clone())).await;

        assert_eq!(found(&context)[0].2, vec![7; VALUE_BYTES_MAX]);
    }

    #[tokio::test]
    async fn a_row_is_deleted_after_thirty_days_or_with_its_team() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let kept = [now_ms - DAYS * DAY_MS + 1, now_ms, now_ms + DAY_MS];
        put_rows(&context, [now_ms - DAYS * DAY_MS, now_ms + DAYS * DAY_MS].into_iter().chain(kept)).await;

        context.commit(move |tx| purge_set_aside(tx, now_ms)).await;
        assert_eq!(times(&context), kept);

        context.commit(|tx| tables::delete_of_team(tx, TEAM, 10).map(drop)).await;
        assert_eq!(times(&context), [now_ms]);
    }
}

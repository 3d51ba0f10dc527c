//! Retention of attempts, receiving hosts, throttles of sites, counts of the warm-up plan, holds and rows that were set aside.

use super::warm_up;
use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::{AttemptId, EmailId};
use crate::context::Context;
use crate::delivery::queue::{forget_holds_of_deleted_emails, purge_set_aside};
use crate::store::{NameHash, Row, StoreError, Table, WriteTx, match_keys, match_page};
use crate::tables::{ATTEMPTS, RECEIVING_HOSTS, SITES, WARM_UP};

/// Maximum number of rows scanned or deleted in one transaction.
const PAGE_ROWS: usize = 1_000;

const FIRST: NameHash = [0; 32];
const LAST: NameHash = [0xff; 32];

/// Deletes the following rows, one page a transaction:
/// - attempts before `attempts_before_ms`;
/// - receiving hosts whose TLS history and pause have expired, and expired throttles of sites;
/// - old counts of the warm-up plan, and the holds of deleted emails;
/// - rows that were set aside long ago.
pub async fn purge(context: &Context, attempts_before_ms: TimestampMs) -> Result<(), StoreError> {
    let (store, now_ms) = (&context.store, context.now_ms());
    let purge_attempts = move |tx: &WriteTx<'_>, after| purge_attempts_page(tx, after, attempts_before_ms, now_ms);
    store.write_pages((EmailId::MIN, AttemptId::MIN), purge_attempts).await?;
    store.write_bulk::<_, StoreError>(forget_holds_of_deleted_emails).await?;
    store.write_bulk::<_, StoreError>(move |tx| purge_set_aside(tx, now_ms)).await?;
    let purge_hosts =
        move |tx: &WriteTx<'_>, after| purge_page(tx, &RECEIVING_HOSTS, after, |row| row.is_expired(now_ms));
    store.write_pages((FIRST,), purge_hosts).await?;
    let purge_sites = move |tx: &WriteTx<'_>, after| purge_page(tx, &SITES, after, |row| row.is_expired(now_ms));
    store.write_pages((FIRST,), purge_sites).await?;
    let first_day = utc_day(now_ms).saturating_sub(warm_up::DAYS);
    store.write_pages((FIRST, 0), move |tx, after| purge_warm_up_page(tx, after, first_day)).await
}

/// Deletes the counts of days before `before` from one page. Returns the key after which the next page starts; `None` at
/// the end.
fn purge_warm_up_page(
    tx: &WriteTx<'_>,
    after: (NameHash, u32),
    before: u32,
) -> Result<Option<(NameHash, u32)>, StoreError> {
    let page = match_keys(tx, &WARM_UP, after, (LAST, u32::MAX), PAGE_ROWS, |(_, day)| day < before)?;
    for key in &page.hits {
        tx.delete(&WARM_UP, key)?;
    }
    Ok(page.next)
}

/// Deletes the attempts of a page that began before a time. Scans only attempts for emails that were accepted before it,
/// from the oldest.
fn purge_attempts_page(
    tx: &WriteTx<'_>,
    after: (EmailId, AttemptId),
    before_ms: TimestampMs,
    now_ms: TimestampMs,
) -> Result<Option<(EmailId, AttemptId)>, StoreError> {
    let (end, attempts_end) = ((EmailId::first_at(before_ms), AttemptId::MIN), AttemptId::first_at(before_ms));
    let page = match_keys(tx, &ATTEMPTS, after, end, PAGE_ROWS, |(_, attempt)| attempt < attempts_end)?;
    for key in &page.hits {
        tx.delete_listed(&ATTEMPTS, key, now_ms)?;
    }
    Ok(page.next)
}

/// Deletes the expired rows of a page of a table with names. Skips corrupt rows.
fn purge_page<V: Row>(
    tx: &WriteTx<'_>,
    table: &Table<(NameHash,), V>,
    after: (NameHash,),
    is_expired: impl Fn(&V) -> bool,
) -> Result<Option<(NameHash,)>, StoreError> {
    let page = match_page(tx, table, after, (LAST,), PAGE_ROWS, |_, row| Ok(row.as_ref().is_some_and(&is_expired)))?;
    for key in &page.hits {
        tx.delete(table, key)?;
    }
    Ok(page.next)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::delivery::{ReceivingHostRow, SiteRow, SmtpAttemptRow, WarmUpRow};
    use crate::store::{Encoded, Reads as _};

    fn key(number: u32) -> (NameHash,) {
        let mut key = FIRST;
        key[..4].copy_from_slice(&number.to_be_bytes());
        (key,)
    }

    fn host(tls_ms: TimestampMs) -> ReceivingHostRow {
        serde_json::from_value(json!({ "name": "mx", "tls_ms": tls_ms })).unwrap()
    }

    fn site(changed_ms: TimestampMs) -> SiteRow {
        serde_json::from_value(
            json!({ "name": "a.example", "sessions": 3, "paused_until_ms": 0, "changed_ms": changed_ms }),
        )
        .unwrap()
    }

    #[tokio::test]
    async fn old_attempts_are_deleted_from_all_pages_and_later_attempts_of_old_emails_stay() {
        let (_directory, context) = Context::temporary();
        let before_ms = context.now_ms();
        let row: SmtpAttemptRow =
            serde_json::from_value(json!({ "at_ms": before_ms, "group": 0, "number": 1, "summary": "1 delivered" }))
                .unwrap();
        let emails: Vec<EmailId> = (0..3).map(|day| EmailId::first_at(before_ms - day * DAY_MS - 1)).collect();
        let (written, per_email) = (emails.clone(), i64::try_from(PAGE_ROWS).unwrap());
        let put = move |tx: &WriteTx<'_>| {
            for email in &written {
                for number in 1..=per_email {
                    tx.put(&ATTEMPTS, &(*email, AttemptId::first_at(before_ms - number)), &row)?;
                }
                tx.put(&ATTEMPTS, &(*email, AttemptId::first_at(before_ms)), &row)?;
            }
            Ok(())
        };
        context.commit(put).await;

        purge(&context, before_ms).await.unwrap();

        let expected: Vec<_> = emails.iter().rev().map(|email| (*email, AttemptId::first_at(before_ms))).collect();
        assert_eq!(context.keys(&ATTEMPTS), expected);
    }

    #[tokio::test]
    async fn counts_of_the_warm_up_plan_are_deleted_after_a_year() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let today = utc_day(now_ms);
        let total = u32::try_from(PAGE_ROWS).unwrap();
        let put = move |tx: &WriteTx<'_>| {
            for number in 0..total {
                for age in [0, 365, 366] {
                    tx.put(&WARM_UP, &(key(number).0, today - age), &WarmUpRow::default())?;
                }
            }
            Ok(())
        };
        context.commit(put).await;

        purge(&context, now_ms).await.unwrap();

        for number in 0..total {
            for (age, is_left) in [(0, true), (365, true), (366, false)] {
                let key = (key(number).0, today - age);
                assert_eq!(context.read(|tx| tx.contains(&WARM_UP, &key)), is_left, "{number} {age}");
            }
        }
    }

    #[tokio::test]
    async fn old_rows_are_deleted_from_all_pages() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let total = u32::try_from(2 * PAGE_ROWS).unwrap() + 7;
        let put = move |tx: &WriteTx<'_>| {
            for number in 0..total {
                let at_ms = if number % 3 == 0 { now_ms } else { now_ms - 31 * DAY_MS };
                tx.put(&RECEIVING_HOSTS, &key(number), &host(at_ms))?;
                tx.put(&SITES, &key(number), &site(at_ms))?;
            }
            Ok(())
        };
        context.commit(put).await;

        purge(&context, now_ms).await.unwrap();

        let are_left = |number: u32| {
            let key = key(number);
            context.read(|tx| Ok((tx.contains(&RECEIVING_HOSTS, &key)?, tx.contains(&SITES, &key)?)))
        };
        for number in 0..total {
            assert_eq!(are_left(number), (number % 3 == 0, number % 3 == 0), "{number}");
        }
    }

    #[tokio::test]
    async fn a_corrupt_host_stays_and_the_others_are_deleted() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let put = move |tx: &WriteTx<'_>| {
            tx.put_encoded(&RECEIVING_HOSTS, &key(1), &Encoded::unreadable())?;
            tx.put(&RECEIVING_HOSTS, &key(2), &host(now_ms - 31 * DAY_MS))
        };
        context.commit(put).await;

        purge(&context, now_ms).await.unwrap();

        let is_left = |number: u32| context.read(|tx| tx.contains(&RECEIVING_HOSTS, &key(number)));
        assert_eq!((is_left(1), is_left(2)), (true, false));
    }
}

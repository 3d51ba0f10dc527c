//! The stored pauses of receiving hosts, so that a start beside thousands of dead hosts does not try each of them again as
//! if it were new, and a host with a slow greeting does not fail once more.
//!
//! Each change of a pause is stored in the background, together with the other changes of that moment: a session does not
//! wait for it. One write runs at a time and stores the state in memory, so that an older state never replaces a newer one.
//! If the process is killed before the commit, the next start tries the host once more. The pauses of a destination are
//! read with its first lookup.

use std::sync::Arc;

use tracing::{Instrument as _, error};

use super::engine::Engine;
use super::receiving_host::change_row;
use super::rows::{HostPauseRow, ReceivingHostRow};
use super::schedule::{FAILED_KEPT_MS, HostChange};
use crate::base::clock::TimestampMs;
use crate::store::{Reads, StoreError, WriteTx, name_hash};
use crate::tables::RECEIVING_HOSTS;

/// Maximum number of hosts whose pauses one transaction stores.
const HOSTS_MAX: usize = 500;

/// Starts to store the pauses that have changed, unless a task does so already.
pub(super) fn start(engine: &Arc<Engine>) {
    if !engine.context.store.is_available() || !engine.schedule().has_changed_hosts() {
        return;
    }
    let Ok(permit) = Arc::clone(&engine.host_writes).try_lock_owned() else { return };
    let storing = Arc::clone(engine);
    let store = async move {
        store_changes(&storing).await;
        drop(permit);
    };
    engine.tasks.spawn(store.in_current_span());
}

/// Stores all pauses that have changed. While the store does not work, the changes stay in memory.
pub(super) async fn store_changes(engine: &Engine) {
    loop {
        let changes = engine.schedule().take_changed_hosts(HOSTS_MAX, engine.now());
        if changes.is_empty() {
            return;
        }
        let (changes, now_ms) = (Arc::new(changes), engine.context.now_ms());
        let storing = Arc::clone(&changes);
        let put = move |tx: &WriteTx<'_>| storing.iter().try_for_each(|change| put_change(tx, change, now_ms));
        match engine.context.store.write_bulk::<_, StoreError>(put).await {
            Ok(()) => {}
            Err(error) if error.is_outage() => {
                let hosts = changes.iter().map(|change| change.host.clone());
                engine.schedule().put_changed_hosts_back(hosts);
                return;
            }
            Err(error) => {
                error!(%error, "could not store the pauses of receiving hosts: {error}");
                return;
            }
        }
    }
}

fn put_change(tx: &WriteTx<'_>, change: &HostChange, now_ms: TimestampMs) -> Result<(), StoreError> {
    change_row(tx, &change.host, now_ms, |row| row.set_pause(change.pause.clone(), now_ms))?;
    Ok(())
}

/// Returns the stored pauses of the hosts of one destination. If the operator ended the pauses of the destination and did
/// not know all its hosts, those of the others end too.
pub(super) fn stored_pauses(
    tx: &impl Reads,
    hosts: Vec<String>,
    now_ms: TimestampMs,
) -> Result<Vec<(String, HostPauseRow)>, StoreError> {
    let mut pauses = Vec::new();
    for host in hosts {
        let row = tx.get_valid(&RECEIVING_HOSTS, &(name_hash(&host),))?;
        let pause = row.and_then(|row| row.pause).filter(|pause| !pause.is_expired(now_ms));
        pauses.extend(pause.map(|pause| (host, pause)));
    }
    let ended_ms = pauses.iter().filter_map(|(_, pause)| pause.ended_ms).max();
    for (_, pause) in &mut pauses {
        if let Some(ended_ms) = ended_ms.filter(|ended_ms| pause.changed_ms <= *ended_ms) {
            pause.until_ms = pause.until_ms.min(ended_ms);
        }
    }
    Ok(pauses)
}

/// Ends the stored pause of a host, so that it does not continue after a restart. Its failures stay: the next one doubles
/// the pause as if it had not been ended.
pub(super) fn end_stored_host_pause(tx: &WriteTx<'_>, host: &str, now_ms: TimestampMs) -> Result<(), StoreError> {
    change_row(tx, host, now_ms, |row| {
        let Some(pause) = row.pause.as_mut().filter(|pause| !pause.is_expired(now_ms)) else { return false };
        pause.until_ms = pause.until_ms.min(now_ms);
        (pause.ended_ms, pause.changed_ms) = (Some(now_ms), now_ms);
        true
    })?;
    Ok(())
}

impl ReceivingHostRow {
    /// Replaces the pause: with several processes, the last change stays. So does the time of a request of the operator.
    /// Returns whether the row changed.
    fn set_pause(&mut self, pause: Option<HostPauseRow>, now_ms: TimestampMs) -> bool {
        let known = self.pause.as_ref().filter(|known| !known.is_expired(now_ms));
        let pause = pause.map(|pause| HostPauseRow { ended_ms: known.and_then(|known| known.ended_ms), ..pause });
        let is_changed = self.pause != pause;
        self.pause = pause;
        is_changed
    }
}

impl HostPauseRow {
    /// Returns whether the pause ended long ago, or would end long after the longest pause because the clock was set back.
    pub(super) fn is_expired(&self, now_ms: TimestampMs) -> bool {
        (now_ms - self.until_ms).abs() >= FAILED_KEPT_MS
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::context::Context;
    use crate::delivery::engine::tests::engine;
    use crate::delivery::receiving_host::{record_tls, tls_history};
    use crate::store::tests::disk::Disk;

    const HOST: &str = "mx.example.net";
    /// The shortest pause of a host.
    const PAUSE_MS: i64 = 60_000;

    fn row(context: &Context, host: &str) -> Option<ReceivingHostRow> {
        context.read(|tx| tx.get(&RECEIVING_HOSTS, &(name_hash(host),)))
    }

    fn pause(context: &Context, host: &str) -> Option<HostPauseRow> {
        row(context, host).and_then(|row| row.pause)
    }

    /// Records a failure and stores it.
    async fn fail(engine: &Engine, host: &str, is_slow: bool) {
        engine.schedule().host_failed(host, is_slow, engine.now());
        store_changes(engine).await;
    }

    async fn end_pause(context: &Context, host: &'static str) {
        let now_ms = context.now_ms();
        context.commit(move |tx| end_stored_host_pause(tx, host, now_ms)).await;
    }

    fn pauses(context: &Context, hosts: &[&str]) -> Vec<(String, HostPauseRow)> {
        let (hosts, now_ms) = (hosts.iter().map(|host| (*host).to_owned()).collect(), context.now_ms());
        context.read(|tx| stored_pauses(tx, hosts, now_ms))
    }

    #[tokio::test]
    async fn a_failure_is_stored_and_an_answer_deletes_the_row() {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context, &CancellationToken::new());

        fail(&engine, HOST, true).await;
        let now_ms = context.now_ms();
        let expected = HostPauseRow {
            failures: 1,
            until_ms: now_ms + PAUSE_MS,
            is_slow: true,
            ended_ms: None,
            changed_ms: now_ms,
        };
        assert_eq!(pause(&context, HOST), Some(expected.clone()));
        assert_eq!(
            pauses(&context, &["mx.example.net:2525", HOST]),
            [(HOST.to_owned(), expected)],
            "a port of its own"
        );

        engine.schedule().host_answered(HOST, engine.now());
        store_changes(&engine).await;
        assert_eq!(row(&context, HOST), None);
    }

    #[tokio::test]
    async fn a_pause_and_the_tls_history_of_a_host_do_not_overwrite_each_other() {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context, &CancellationToken::new());

        fail(&engine, HOST, false).await;
        record_tls(&context, &tls_history(&context, HOST).await).await;
        assert!(pause(&context, HOST).is_some());
        engine.schedule().host_answered(HOST, engine.now());
        store_changes(&engine).await;

        let row = row(&context, HOST).unwrap();
        assert!(row.pause.is_none() && row.had_tls(context.now_ms()), "{row:?}");
    }

    #[tokio::test]
    async fn the_failures_before_an_answer_are_forgotten_also_if_the_answer_was_not_stored_alone() {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context, &CancellationToken::new());
        for _ in 0..3 {
            fail(&engine, HOST, false).await;
            context.clock.advance(Duration::from_secs(4 * 60));
        }
        assert_eq!(pause(&context, HOST).unwrap().failures, 3);

        engine.schedule().host_answered(HOST, engine.now());
        fail(&engine, HOST, false).await;

        let pause = pause(&context, HOST).unwrap();
        assert_eq!((pause.failures, pause.until_ms), (1, context.now_ms() + PAUSE_MS));
    }

    #[tokio::test]
    async fn a_change_that_cannot_be_stored_stays_in_memory() {
        let disk = Disk::default();
        let context = Context::on_disk(&disk);
        let engine = engine(&context, &CancellationToken::new());
        disk.fill_after(0);

        fail(&engine, HOST, false).await;
        assert!(engine.schedule().has_changed_hosts());
        start(&engine);
        assert!(engine.tasks.is_empty(), "no write is tried while the store does not work");
        disk.mend();
        context.store.available().await;
        start(&engine);
        engine.tasks.close();
        engine.tasks.wait().await;

        assert!(pause(&context, HOST).is_some() && !engine.schedule().has_changed_hosts());
    }

    #[tokio::test]
    async fn a_pause_that_the_operator_ends_ends_for_all_hosts_of_the_destination() {
        let (_directory, context) = Context::temporary();
        let engine = engine(&context, &CancellationToken::new());
        let (first, last) = ("mx1.example.net", "mx2.example.net");
        for host in [first, last] {
            fail(&engine, host, false).await;
        }
        context.clock.advance(Duration::from_secs(1));
        let ended_ms = context.now_ms();

        end_pause(&context, last).await;
        end_pause(&context, "mx3.example.net").await;

        assert_eq!(row(&context, "mx3.example.net"), None);
        let until =
            |hosts: &[&str]| pauses(&context, hosts).iter().map(|(_, pause)| pause.until_ms).collect::<Vec<_>>();
        assert_eq!(until(&[first, last]), [ended_ms, ended_ms]);
        assert_eq!(until(&[first]), [ended_ms - 1_000 + PAUSE_MS], "without the other host");
        assert!(pauses(&context, &[first, last]).iter().all(|(_, pause)| pause.failures == 1));

        // A later failure counts again, and the request of the operator stays known.
        context.clock.advance(Duration::from_secs(60));
        fail(&engine, first, false).await;
        fail(&engine, last, false).await;
        let paused_ms = context.now_ms() + 2 * PAUSE_MS;
        assert_eq!(until(&[first, last]), [paused_ms, paused_ms]);
        assert_eq!(pause(&context, last).unwrap().ended_ms, Some(ended_ms));
    }

    #[test]
    fn a_pause_expires_an_hour_after_its_end_or_if_the_clock_is_set_back() {
        let pause = HostPauseRow { failures: 1, until_ms: 0, is_slow: false, ended_ms: None, changed_ms: -PAUSE_MS };
        for (now_ms, is_expired) in [
            (-PAUSE_MS, false),
            (FAILED_KEPT_MS - 1, false),
            (FAILED_KEPT_MS, true),
            (1 - FAILED_KEPT_MS, false),
            (-FAILED_KEPT_MS, true),
        ] {
            assert_eq!(pause.is_expired(now_ms), is_expired, "{now_ms}");
        }
        let host = serde_json::json!({ "name": HOST, "pause": pause });
        let host: ReceivingHostRow = serde_json::from_value(host).unwrap();
        assert!(!host.is_expired(0) && host.is_expired(FAILED_KEPT_MS));
    }
}

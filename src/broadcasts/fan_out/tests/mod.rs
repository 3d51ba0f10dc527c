//! Tests of the fan-out over a temporary store. The delivery engine does not run.
//!
//! Files:
//! - `progress.rs`: pages, kills and cancellations;
//! - `queue_rows.rs`: the queue rows of stored emails;
//! - `audience.rs`: the recipients and their values;
//! - `pacing.rs`: the sending limits;
//! - `holding.rs`: pauses of sending.

mod audience;
mod holding;
mod pacing;
mod progress;
mod queue_rows;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use serde_json::json;

use super::enqueue::{enqueue_page, rows_beside};
use super::page::{PAGE_AWAITED_QUEUE_ROWS, PAGE_QUEUE_ROWS, PAGE_RECIPIENTS, PageResult, PageSource, STEP_RECIPIENTS};
use super::walk::Walk;
use super::*;
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{BroadcastId, ContactId, EmailId, Id, TeamId};
use crate::broadcast_rows::{BroadcastCountsRow, BroadcastRow, BroadcastStatus, find, put, read_counts};
use crate::broadcasts::planner::SendLimits;
use crate::broadcasts::{FanOutRow, SendEstimates};
use crate::contacts::{ContactChanges, ContactWriter, NewContact};
use crate::context::Context;
use crate::delivery::{DeliverOnly, DueRow, QueueKey, QueueNotifier};
use crate::emails::{BroadcastEmailRow, NeverPaused, SendingGuard};
use crate::events::ChangeSource;
use crate::store::{Reads as _, ScanLimit, StoreError, WriteTx};
use crate::tables::{BROADCAST_EMAILS, BROADCAST_FAN_OUTS, DUE};

const TEAM: TeamId = Id::MIN;

/// A team with contacts in a temporary store.
struct Instance {
    _directory: tempfile::TempDir,
    context: Context,
    estimates: SendEstimates,
}

impl Instance {
    fn new() -> Self {
        Self::with_limits(SendLimits::default())
    }

    fn with_limits(limits: SendLimits) -> Self {
        let (directory, context) = Context::temporary();
        Self { _directory: directory, context, estimates: SendEstimates::new(limits, 30) }
    }

    async fn write<T: Send + 'static>(
        &self,
        work: impl Fn(&WriteTx<'_>, &Context) -> Result<T, StoreError> + Send + 'static,
    ) -> T {
        let context = self.context.clone();
        self.context.store.write_bulk(move |tx| work(tx, &context)).await.unwrap()
    }

    /// Adds contacts with the addresses `0@a.example`, `1@b.example` and so on, oldest first.
    async fn add(&self, from: usize, to: usize, changes: ContactChanges) -> Vec<ContactId> {
        self.write(move |tx, context| {
            let mut writer = ContactWriter::new(tx, context, TEAM, ChangeSource::Api);
            let mut ids = Vec::new();
            for number in from..to {
                let email = EmailAddress::parse(&address(number)).unwrap();
                let hash = email.identity_hash();
                ids.push(writer.create(&NewContact { email, changes: changes.clone() }, &hash)?);
            }
            writer.finish()?;
            Ok(ids)
        })
        .await
    }

    /// Stores a broadcast that starts at `due_ms`. `fields` replaces fields of its row.
    async fn send(&self, due_ms: TimestampMs, fields: serde_json::Value) -> BroadcastId {
        let mut row = json!({
            "created_ms": 0, "name": "June", "from": "a@example.com", "subject": "Hi", "status": "queued", "audience": 10,
        });
        row.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
        let row: BroadcastRow = serde_json::from_value(row).unwrap();
        self.write(move |tx, context| {
            let id: BroadcastId = context.id();
            put(tx, TEAM, id, &row)?;
            let is_scheduled = row.status == BroadcastStatus::Scheduled;
            tx.put(&BROADCAST_FAN_OUTS, &(id,), &FanOutRow { is_scheduled, ..FanOutRow::due(TEAM, due_ms) })?;
            Ok(id)
        })
        .await
    }

    async fn send_now(&self) -> BroadcastId {
        self.send(self.context.now_ms(), json!({})).await
    }

    async fn cancel(&self, id: BroadcastId) {
        self.write(move |tx, _| {
            let row = find(tx, TEAM, id)?.unwrap();
            put(tx, TEAM, id, &BroadcastRow { status: BroadcastStatus::Canceled, ..row })?;
            stop_fan_out(tx, TEAM, id)
        })
        .await;
    }

    fn worker(&self) -> BroadcastWorker {
        self.worker_with(Arc::new(NeverPaused))
    }

    fn worker_with(&self, guard: Arc<dyn SendingGuard>) -> BroadcastWorker {
        let settings = BroadcastWorkerSettings {
            estimates: self.estimates.clone(),
            deliver_only: DeliverOnly::default(),
            guard,
            notifier: Arc::default(),
            queue_notifier: QueueNotifier::default(),
        };
        BroadcastWorker::new(self.context.clone(), settings)
    }

    /// Starts a broadcast and stores one page, as a process that is then killed.
    async fn store_page(&self, id: BroadcastId) -> PageResult {
        self.store_page_in(self.context.clone(), id).await
    }

    /// Starts a broadcast and stores one page in another process.
    async fn store_page_in(&self, context: Context, id: BroadcastId) -> PageResult {
        let now_ms = self.context.now_ms();
        self.write(move |tx, _| start::start(tx, id, now_ms, &NeverPaused)).await;
        self.store(self.read_page_in(context, id)).await
    }

    /// Stores a page to its end.
    async fn store(&self, page: page::FanOutPage) -> PageResult {
        let page = Arc::new(page);
        let mut first = 0;
        loop {
            let part = Arc::clone(&page);
            // A transaction that a request waits for ends early.
            match self.write(move |tx, _| part.store(tx, first)).await {
                PageResult::Stored { next: Some(next), .. } => first = next,
                result => return result,
            }
        }
    }

    fn read_page(&self, id: BroadcastId) -> page::FanOutPage {
        self.read_page_in(self.context.clone(), id)
    }

    /// Reads a page in another process.
    fn read_page_in(&self, context: Context, id: BroadcastId) -> page::FanOutPage {
        let estimates = self.estimates.clone();
        // A busy machine must not make the page smaller.
        let scan_limit = ScanLimit { time_max: Duration::from_secs(600), ..ScanLimit::STEP };
        let source = PageSource { context, estimates, deliver_only: DeliverOnly::default(), scan_limit };
        self.context.read(|tx| {
            let fan_out = tx.get(&BROADCAST_FAN_OUTS, &(id,))?.unwrap();
            let walk = Walk::load(tx, id, &fan_out)?.unwrap();
            Ok(source.read(tx, &walk)?.unwrap())
        })
    }

    /// Returns the emails of a broadcast, by address.
    fn emails(&self, id: BroadcastId) -> BTreeMap<String, (EmailId, BroadcastEmailRow)> {
        let mut emails = BTreeMap::new();
        for ((_, email), row) in self.context.rows(&BROADCAST_EMAILS) {
            if row.broadcast == id {
                let again = emails.insert(row.mailbox.bare(), (email, row));
                assert!(again.is_none(), "a contact has two emails");
            }
        }
        emails
    }

    fn addresses(&self, id: BroadcastId) -> Vec<String> {
        self.emails(id).into_keys().collect()
    }

    fn due_times(&self, id: BroadcastId) -> Vec<TimestampMs> {
        let emails = self.emails(id);
        let mut due_times: Vec<_> =
            emails.values().filter_map(|(email, row)| Some(email.created_ms() + row.wait_ms?)).collect();
        due_times.sort_unstable();
        due_times
    }

    fn queued_groups(&self) -> usize {
        self.queue_rows().len()
    }

    fn queue_rows(&self) -> Vec<(QueueKey, DueRow)> {
        self.context.rows(&DUE)
    }

    fn row(&self, id: BroadcastId) -> (BroadcastRow, BroadcastCountsRow, Option<FanOutRow>) {
        self.context.read(|tx| {
            let row = find(tx, TEAM, id)?.unwrap();
            Ok((row, read_counts(tx, id)?, tx.get(&BROADCAST_FAN_OUTS, &(id,))?))
        })
    }
}

fn address(number: usize) -> String {
    format!("{number}@{}.example", ["a", "b", "c"][number % 3])
}

fn sorted(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    let mut addresses: Vec<String> = numbers.into_iter().map(address).collect();
    addresses.sort_unstable();
    addresses
}

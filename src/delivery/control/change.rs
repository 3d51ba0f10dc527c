//! Changes of the queue by the operator: holds, flush and drop. One transaction changes one page of groups.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::sites::LookedUpSites;
use super::walk::PageEnd;
use super::{QueueControl, QueuePosition};
use crate::audit::{self, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::delivery::host_store::end_stored_host_pause;
use crate::delivery::queue::{
    Due, DueKey, Hold, LaneKey, QueueSelector, add_hold, forget_corrupt, move_group, read_row, remove_hold,
    waiting_recipients,
};
use crate::delivery::rows::DueRow;
use crate::delivery::site_store::end_stored_pause;
use crate::emails::{self, LastEvent, RecipientState};
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{ReadTx, StoreError, WriteTx};
use crate::tables::DUE;

/// Maximum number of groups that one transaction makes due.
const FLUSHED_MAX: usize = 200;
/// Maximum number of groups that one transaction drops. Each recipient has an event.
const DROPPED_MAX: usize = 50;
/// Reason in the events of dropped emails.
const DROPPED: &str = "dropped";

/// Result of one page of a change.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct QueueChange {
    /// Number of groups that the page changed.
    pub groups: usize,
    /// Number of scheduled groups that keep their time.
    pub scheduled: usize,
    /// Position of the next page; `None` at the end.
    pub next: Option<QueuePosition>,
    /// Number of skipped lanes whose site is not known.
    pub unknown: usize,
}

/// Groups that a page makes due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flush {
    /// Groups with a later due time, except scheduled emails.
    All,
    /// Groups that a hold has postponed.
    Postponed,
}

impl QueueControl {
    /// Holds a part of the queue: its groups are not claimed. Returns the hold; `None` if there are too many.
    pub async fn pause(&self, by: impl Into<TeamActor>, selector: QueueSelector) -> Result<Option<Hold>, StoreError> {
        let (by, context) = (by.into(), self.context.clone());
        let (now_ms, notifier) = (context.now_ms(), self.notifier.clone());
        let pause = move |tx: &WriteTx<'_>| {
            let hold = add_hold(tx, &selector, now_ms)?;
            if hold.is_some() {
                audit::record(tx, &context, by, entry(AuditAction::QueuePaused, &selector))?;
            }
            let notifier = notifier.clone();
            tx.after_commit(move || notifier.rescan());
            Ok(hold)
        };
        self.context.store.write(pause).await
    }

    /// Ends a hold. Returns whether there was one. The postponed groups of an email or key also need
    /// [`QueueControl::release`].
    pub async fn resume(&self, by: impl Into<TeamActor>, selector: QueueSelector) -> Result<bool, StoreError> {
        let (by, context, notifier) = (by.into(), self.context.clone(), self.notifier.clone());
        let resume = move |tx: &WriteTx<'_>| {
            let existed = remove_hold(tx, &selector)?;
            if existed {
                audit::record(tx, &context, by, entry(AuditAction::QueueResumed, &selector))?;
            }
            let notifier = notifier.clone();
            tx.after_commit(move || notifier.rescan());
            Ok(existed)
        };
        self.context.store.write(resume).await
    }

    /// Makes one page of the groups that a hold has postponed due.
    pub async fn release(
        &self,
        selector: QueueSelector,
        after: Option<QueuePosition>,
    ) -> Result<QueueChange, StoreError> {
        self.make_due(None, selector, after, Flush::Postponed).await
    }

    /// Makes one page of groups due, and ends the pauses of their sites and hosts, also for the next start. Scheduled emails
    /// keep their time.
    pub async fn flush(
        &self,
        by: impl Into<TeamActor>,
        selector: QueueSelector,
        after: Option<QueuePosition>,
    ) -> Result<QueueChange, StoreError> {
        // One request has many pages, and one entry.
        let by = by.into();
        self.make_due(after.is_none().then_some(by), selector, after, Flush::All).await
    }

    async fn make_due(
        &self,
        recorded: Option<TeamActor>,
        selector: QueueSelector,
        after: Option<QueuePosition>,
        flush: Flush,
    ) -> Result<QueueChange, StoreError> {
        let flushed_entry = entry(AuditAction::QueueFlushed, &selector);
        let (Page { keys, servers }, end) = self.page(selector, after, FLUSHED_MAX).await?;
        let context = self.context.clone();
        let lanes: BTreeSet<LaneKey> = keys.iter().map(|key| key.lane).collect();
        let servers = if flush == Flush::All { servers } else { PageServers::default() };
        let (now_ms, notifier, paused) = (self.context.now_ms(), self.notifier.clone(), servers.clone());
        let write = move |tx: &WriteTx<'_>| {
            let mut flushed = Flushed::default();
            if let Some(by) = recorded {
                audit::record(tx, &context, by, flushed_entry.clone())?;
            }
            for key in &keys {
                flush_group(tx, *key, now_ms, flush, &mut flushed)?;
            }
            paused.end_stored_pauses(tx, now_ms)?;
            let (notifier, queued) = (notifier.clone(), std::mem::take(&mut flushed.queued));
            tx.after_commit(move || notifier.groups_queued(queued));
            Ok::<_, StoreError>((flushed.groups, flushed.scheduled))
        };
        let (groups, scheduled) = self.context.store.write_bulk(write).await?;
        if let (Flush::All, Some(engine)) = (flush, &self.engine) {
            let now = engine.now();
            for lane in lanes {
                engine.schedule().end_pauses(lane, now);
            }
            for site in servers.sites {
                engine.schedule().end_site_pause(&site, now);
            }
            for host in servers.hosts {
                engine.schedule().end_host_pause(&host, now);
            }
            engine.notifier.wake();
        }
        Ok(QueueChange { groups, scheduled, next: end.next, unknown: end.unknown })
    }

    /// Drops one page of groups: their waiting recipients fail with the reason `dropped`, each with an event. Groups in
    /// flight are not changed.
    pub async fn drop_groups(
        &self,
        by: impl Into<TeamActor>,
        selector: QueueSelector,
        after: Option<QueuePosition>,
    ) -> Result<QueueChange, StoreError> {
        let (by, dropped_entry) = (by.into(), entry(AuditAction::QueueDropped, &selector));
        let is_first = after.is_none();
        let (Page { keys, .. }, end) = self.page(selector, after, DROPPED_MAX).await?;
        let context = self.context.clone();
        let write = move |tx: &WriteTx<'_>| {
            let mut dropped = 0;
            if is_first {
                audit::record(tx, &context, by, dropped_entry.clone())?;
            }
            for key in &keys {
                dropped += usize::from(drop_group(tx, &context, *key)?);
            }
            Ok::<_, StoreError>(dropped)
        };
        let groups = self.context.store.write_bulk(write).await?;
        Ok(QueueChange { groups, scheduled: 0, next: end.next, unknown: end.unknown })
    }

    async fn page(
        &self,
        selector: QueueSelector,
        after: Option<QueuePosition>,
        groups_max: usize,
    ) -> Result<(Page, PageEnd), StoreError> {
        let read = move |control: &Self, tx: &ReadTx, looked_up: &LookedUpSites| {
            let (keys, end) = control.groups_after(tx, &selector, after, groups_max, looked_up)?;
            let (mut servers, mut last) = (PageServers::default(), None);
            for key in &keys {
                if last.replace(key.lane) != Some(key.lane) {
                    let known = control.site_of_group(tx, *key)?;
                    servers.sites.extend(known.or_else(|| looked_up.get(key.lane).flatten()));
                    servers.hosts.extend(control.hosts_of_group(tx, *key)?);
                }
            }
            Ok::<_, StoreError>((Page { keys, servers }, end))
        };
        self.read_page(read).await
    }
}

/// Returns an entry about a part of the queue.
fn entry(action: AuditAction, selector: &QueueSelector) -> AuditEntry {
    AuditEntry::new(action).of(AuditTargetKind::Queue, selector.kind().as_str()).named(&selector.name())
}

/// The groups of one page, and the servers of their lanes.
struct Page {
    keys: Vec<DueKey>,
    servers: PageServers,
}

/// The known sites and hosts of the lanes of a page.
#[derive(Clone, Debug, Default)]
struct PageServers {
    sites: BTreeSet<Arc<str>>,
    hosts: BTreeSet<String>,
}

impl PageServers {
    /// Ends their stored pauses.
    fn end_stored_pauses(&self, tx: &WriteTx<'_>, now_ms: i64) -> Result<(), StoreError> {
        self.sites.iter().try_for_each(|site| end_stored_pause(tx, site, now_ms))?;
        self.hosts.iter().try_for_each(|host| end_stored_host_pause(tx, host, now_ms))
    }
}

/// Groups of one page that were made due.
#[derive(Default)]
struct Flushed {
    groups: usize,
    scheduled: usize,
    queued: Vec<Due>,
}

fn flush_group(
    tx: &WriteTx<'_>,
    key: DueKey,
    now_ms: i64,
    flush: Flush,
    flushed: &mut Flushed,
) -> Result<(), StoreError> {
    // The group may have been leased or canceled since the read.
    let Some(due) = read_row(tx, key)? else { return Ok(()) };
    if flush == Flush::Postponed && !due.is_postponed {
        return Ok(());
    }
    if key.due_ms <= now_ms {
        flushed.groups += 1;
        return Ok(());
    }
    let Some(mut row) = emails::find_valid_row(tx, due.team, key.email)? else { return Ok(()) };
    // The due time of an email of a broadcast without an attempt keeps the sending limits.
    let is_paced = row.broadcast.is_some() && row.last_event == LastEvent::Queued && !due.is_postponed;
    if row.last_event == LastEvent::Scheduled || is_paced {
        flushed.scheduled += 1;
        return Ok(());
    }
    tx.delete(&DUE, &key.parts())?;
    let due = DueRow { is_postponed: false, wait_ms: None, ..due };
    let key = move_group(tx, key, now_ms, &due, &mut row)?;
    emails::put_row(tx, due.team, key.email, &row, now_ms)?;
    flushed.groups += 1;
    flushed.queued.push(Due::new(key, &due));
    Ok(())
}

/// Drops a queued group. Returns whether it was in the queue.
fn drop_group(tx: &WriteTx<'_>, context: &Context, key: DueKey) -> Result<bool, StoreError> {
    let Some(due) = read_row(tx, key)? else { return Ok(false) };
    tx.delete(&DUE, &key.parts())?;
    let team: TeamId = due.team;
    let Some(mut row) = emails::find_valid_row(tx, team, key.email)? else {
        forget_corrupt(tx, key, team, context.now_ms())?;
        return Ok(true);
    };
    let mut recorder = emails::EventRecorder::new(team, key.email);
    for index in waiting_recipients(&row, key) {
        let recipient = &mut row.recipients[index];
        recipient.state = RecipientState::Settled;
        recipient.last_event.advance(LastEvent::Failed);
        let address = recipient.mailbox.bare();
        row.last_event.advance(LastEvent::Failed);
        let detail = EventDetail::Failed { reason: DROPPED.to_owned(), diagnostic: Vec::new() };
        let kind = EmailEventKind::Failed;
        recorder.record(
            tx,
            context,
            &row,
            Event { kind, at_ms: context.now_ms(), recipients: vec![address], detail },
        )?;
    }
    emails::put_settled(tx, team, key.email, &row, context.now_ms())?;
    Ok(true)
}

//! The stored state of sites, so that it survives a restart: throttles, and the messages of each day for the warm-up plan.
//!
//! Both are written in the transaction of the outcome that changes them. If the process is killed before that commit, the
//! next message gets the same reply. They are read with the lookup of a destination, in one transaction with the pauses of
//! its hosts (`host_store.rs`).

use std::sync::Arc;

use tracing::error;

use super::host_store::stored_pauses;
use super::providers::provider_of;
use super::rows::{SiteRow, WarmUpRow};
use super::schedule::{StoredSite, UnreadState};
use super::site_merge::merged;
use super::source::site_from;
use super::transport::Servers;
use super::warm_up::{self, Allowance, WarmUpPlan};
use crate::base::clock::{TimestampMs, utc_day};
use crate::base::id::{AttemptId, EmailId};
use crate::context::Context;
use crate::store::{NEXT, NameHash, Order, Reads, STOP, StoreError, WriteTx, name_hash};
use crate::tables::{ATTEMPTS, SITES, WARM_UP};

/// Number of attempts of an email that are read for a report.
const ATTEMPTS_READ_MAX: usize = 50;

/// Changes of a site by one message.
#[derive(Clone, Debug, Default)]
pub(super) struct SiteUpdate {
    /// Throttle of the site, if it changed.
    pub(super) row: Option<SiteRow>,
    /// Counts of the message, with [`Servers::warm_up_site`], if the site has a warm-up plan.
    pub(super) warm_up: Option<(Arc<str>, WarmUpRow)>,
}

impl SiteUpdate {
    /// Stores the changes. The throttle is merged with the stored one, which another session or process can have changed.
    pub(super) fn put(&self, tx: &WriteTx<'_>, now_ms: TimestampMs) -> Result<(), StoreError> {
        if let Some(row) = &self.row {
            let key = (name_hash(&row.name),);
            let stored = tx.get_valid(&SITES, &key)?;
            let row = stored.map_or_else(|| row.clone(), |stored| merged(&stored, row, now_ms));
            tx.put(&SITES, &key, &row)?;
        }
        if let Some((site, counts)) = &self.warm_up {
            add_warm_up(tx, site, now_ms, *counts)?;
        }
        Ok(())
    }
}

/// Ends the stored pause of a site, so that it does not continue after a restart. A suspension stays: the next refusal
/// pauses the site again.
pub(super) fn end_stored_pause(tx: &WriteTx<'_>, site: &str, now_ms: TimestampMs) -> Result<(), StoreError> {
    let key = (name_hash(site),);
    let Some(row) = tx.get_valid(&SITES, &key)? else { return Ok(()) };
    if row.paused_until_ms <= now_ms {
        return Ok(());
    }
    let ended = SiteRow { paused_until_ms: now_ms, failures_changed_ms: Some(now_ms), changed_ms: now_ms, ..row };
    tx.put(&SITES, &key, &ended)
}

/// Adds counts to the day of a site, which [`Servers::warm_up_site`] names.
pub(super) fn add_warm_up(
    tx: &WriteTx<'_>,
    site: &str,
    now_ms: TimestampMs,
    counts: WarmUpRow,
) -> Result<(), StoreError> {
    let key = (name_hash(site), utc_day(now_ms));
    let mut row = tx.get_valid(&WARM_UP, &key)?.unwrap_or_default();
    row.add(counts);
    tx.put(&WARM_UP, &key, &row)
}

/// Returns the stored state of the site and of the hosts of a destination, as far as `unread` names it, and the allowance of
/// the warm-up plan. Logs a store error, after which the site and the hosts start as new ones.
pub(super) async fn stored_site(
    context: &Context,
    servers: &Arc<Servers>,
    plan: Option<WarmUpPlan>,
    unread: UnreadState,
) -> StoredSite {
    let now_ms = context.now_ms();
    let own = servers.of_destination();
    let site = own.filter(|_| unread.has_site).map(|own| name_hash(&own.site));
    let warm_up = own.filter(|own| provider_of(own).is_some()).map(|own| name_hash(&own.warm_up_site())).zip(plan);
    if site.is_none() && warm_up.is_none() && unread.hosts.is_empty() {
        return StoredSite::default();
    }
    let stored = context.store.read::<_, StoreError>(move |tx| {
        let row = site.map(|site| tx.get_valid(&SITES, &(site,))).transpose()?.flatten();
        let allowance = warm_up.map(|(site, plan)| allowance(tx, site, plan, now_ms)).transpose()?;
        Ok(StoredSite { row, allowance, hosts: stored_pauses(tx, unread.hosts, now_ms)?, is_unread: false })
    });
    stored.await.unwrap_or_else(|error| {
        error!(%error, "could not read the stored state of a site: {error}");
        StoredSite { is_unread: true, ..StoredSite::default() }
    })
}

/// Returns the allowance of a site today. Reads one row for each of the last [`warm_up::DAYS`] days.
fn allowance(tx: &impl Reads, site: NameHash, plan: WarmUpPlan, now_ms: TimestampMs) -> Result<Allowance, StoreError> {
    let today = utc_day(now_ms);
    let range = ((site, today.saturating_sub(warm_up::DAYS)), (site, today));
    let mut days =
        tx.collect(&WARM_UP, range, Order::Ascending, |(_, day), row| Ok(row.valid().map(|row| (day, row))))?;
    let used = days.pop_if(|(day, _)| *day == today).map_or(0, |(_, row)| row.sent);
    Ok(Allowance::new(today, plan.allowance(days, today), used))
}

/// Counts a complaint or a later bounce of an email for the warm-up plan. The count belongs to the site and the day of
/// the last attempt of the group. Has no effect if the messages of that day were not counted.
pub(crate) fn count_report(tx: &WriteTx<'_>, email: EmailId, group: u16, counts: WarmUpRow) -> Result<(), StoreError> {
    let mut last = None;
    let (from, to) = ((email, AttemptId::MIN), (email, AttemptId::MAX));
    let mut rows = 0;
    tx.scan_valid(&ATTEMPTS, &from, &to, Order::Descending, |_, row| {
        rows += 1;
        if row.group == group {
            let site = row.site.map(|site| match &row.source {
                Some(source) => site_from(&site, source),
                None => site,
            });
            last = site.map(|site| (site, row.at_ms));
        }
        if last.is_some() || rows == ATTEMPTS_READ_MAX { STOP } else { NEXT }
    })?;
    let Some((site, at_ms)) = last else { return Ok(()) };
    if tx.contains(&WARM_UP, &(name_hash(&site), utc_day(at_ms)))? {
        add_warm_up(tx, &site, at_ms, counts)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::base::clock::DAY_MS;
    use crate::base::id::Id;
    use crate::delivery::smtp::TlsPolicy;
    use crate::delivery::source::Source;
    use crate::delivery::transport::MailHost;

    const PLAN: WarmUpPlan = WarmUpPlan { start: 4, growth_percent: 150, target: 1_000 };

    fn google() -> Arc<Servers> {
        let hosts = vec![MailHost { name: "aspmx.l.google.com".into(), tls: TlsPolicy::Never, addresses: Vec::new() }];
        Arc::new(Servers::new("google".into(), hosts))
    }

    /// Returns the servers with the only configured source address.
    fn google_from(address: &str) -> Arc<Servers> {
        let source = Source { address: address.parse().unwrap(), ehlo_name: "mail.example.com".into() };
        Arc::new(Servers { source: Some(source), ..Servers::clone(&google()) })
    }

    /// Returns the state to read with a lookup whose hosts are in memory.
    fn unread(has_site: bool) -> UnreadState {
        UnreadState { has_site, hosts: Vec::new() }
    }

    async fn put(context: &Context, update: SiteUpdate, at_ms: TimestampMs) {
        context.commit(move |tx| update.put(tx, at_ms)).await;
    }

    #[tokio::test]
    async fn the_messages_of_a_day_add_up_and_determine_the_next_allowance() {
        let (_directory, context) = Context::temporary();
        let today_ms = context.now_ms();
        let counts = WarmUpRow { sent: 1, ..WarmUpRow::default() };
        let update = || SiteUpdate { row: None, warm_up: Some(("google".into(), counts)) };
        for _ in 0..4 {
            put(&context, update(), today_ms - DAY_MS).await;
        }
        put(&context, update(), today_ms).await;

        let stored = stored_site(&context, &google(), Some(PLAN), unread(true)).await;
        let without_plan = stored_site(&context, &google(), None, unread(true)).await;
        let small = Arc::new(Servers { hosts: Vec::new(), ..Servers::clone(&google()) });

        assert_eq!(stored.allowance, Some(Allowance::new(utc_day(today_ms), Some(6), 1)));
        assert_eq!(without_plan.allowance, None);
        assert_eq!(stored_site(&context, &small, Some(PLAN), unread(true)).await.allowance, None);
    }

    #[tokio::test]
    async fn each_configured_source_address_has_its_own_plan() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let counts = WarmUpRow { sent: 4, ..WarmUpRow::default() };
        let (old, new) = (google_from("192.0.2.1"), google_from("192.0.2.2"));
        for day_ms in [now_ms - 2 * DAY_MS, now_ms - DAY_MS] {
            let warm_up = Some((old.warm_up_site().into(), counts));
            put(&context, SiteUpdate { row: None, warm_up }, day_ms).await;
        }

        let mut allowed = Vec::new();
        for servers in [&old, &new, &google()] {
            let stored = stored_site(&context, servers, Some(PLAN), unread(false)).await;
            allowed.push(stored.allowance.and_then(|allowance| allowance.messages_max));
        }

        assert_eq!(allowed, [Some(9), Some(4), Some(4)]);
        let among_several = Servers { site: "google from 192.0.2.1".into(), ..Servers::clone(&old) };
        assert_eq!(among_several.warm_up_site(), old.warm_up_site(), "a second source address continues the plan");
        assert_eq!(google().warm_up_site(), "google");
    }

    #[tokio::test]
    async fn the_throttle_of_a_known_site_is_not_read() {
        let (_directory, context) = Context::temporary();
        let now_ms = context.now_ms();
        let row = json!({ "name": "google", "sessions": 3, "paused_until_ms": 0, "changed_ms": now_ms });
        let row: SiteRow = serde_json::from_value(row).unwrap();
        put(&context, SiteUpdate { row: Some(row.clone()), warm_up: None }, now_ms).await;

        for (plan, is_unread, expected) in
            [(None, true, Some(&row)), (None, false, None), (Some(PLAN), true, Some(&row)), (Some(PLAN), false, None)]
        {
            let stored = stored_site(&context, &google(), plan, unread(is_unread)).await;

            assert_eq!((stored.row.as_ref(), stored.allowance.is_some()), (expected, plan.is_some()), "{is_unread}");
        }
    }

    #[tokio::test]
    async fn two_interleaved_updates_keep_the_newer_change_of_each_part() {
        for is_stopped_first in [true, false] {
            let (_directory, context) = Context::temporary();
            let (now_ms, until_ms) = (context.now_ms(), context.now_ms() + DAY_MS);
            let stopped = json!({
                "name": "google", "sessions": 1, "sessions_changed_ms": now_ms - 2, "failures": 1,
                "paused_until_ms": until_ms, "failures_changed_ms": now_ms - 2, "suspended_until_ms": until_ms,
                "is_stopped": true, "stops": 1, "suspension_changed_ms": now_ms - 2, "changed_ms": now_ms - 2,
            });
            let grown = json!({
                "name": "google", "sessions": 3, "sessions_changed_ms": now_ms - 1, "paused_until_ms": now_ms - 1,
                "changed_ms": now_ms - 1,
            });
            let update = |row: &serde_json::Value| SiteUpdate {
                row: Some(serde_json::from_value(row.clone()).unwrap()),
                warm_up: None,
            };
            let rows = if is_stopped_first { [&stopped, &grown] } else { [&grown, &stopped] };
            tokio::join!(put(&context, update(rows[0]), now_ms), put(&context, update(rows[1]), now_ms));

            let row = context.read(|tx| tx.get(&SITES, &(name_hash("google"),))).unwrap();
            assert_eq!((row.sessions, row.suspended_until_ms, row.paused_until_ms), (3, Some(until_ms), until_ms));
        }
    }

    #[tokio::test]
    async fn a_complaint_counts_at_the_site_and_on_the_day_of_the_last_attempt() {
        let (_directory, context) = Context::temporary();
        let yesterday_ms = context.now_ms() - DAY_MS;
        let counts = WarmUpRow { sent: 1_000, ..WarmUpRow::default() };
        // With several source addresses, each has its own site.
        let sites = ["google from 192.0.2.1", "google from 192.0.2.2"];
        for site in sites {
            put(&context, SiteUpdate { row: None, warm_up: Some((site.into(), counts)) }, yesterday_ms).await;
        }
        let attempt = |group: u16, site: &str, source: Option<&str>| {
            let row = json!({
                "at_ms": yesterday_ms, "group": group, "number": 1, "site": site, "source": source,
                "summary": "1 delivered",
            });
            serde_json::from_value(row).unwrap()
        };
        let rows = [
            attempt(1, sites[1], Some("192.0.2.2")),
            attempt(2, "example.net", None),
            attempt(3, "yahoo from 192.0.2.1", Some("192.0.2.1")),
            // The only source address of that time is not part of the name of the site.
            attempt(4, "google", Some("192.0.2.1")),
            attempt(5, "google", None),
        ];
        let email = Id::MIN;
        let complained = WarmUpRow { complained: 1, ..WarmUpRow::default() };
        let put = move |tx: &WriteTx<'_>| {
            for (number, row) in (1..).zip(&rows) {
                tx.put(&ATTEMPTS, &(email, Id::from_bytes([number; 16])), row)?;
            }
            for group in 0..=5 {
                count_report(tx, email, group, complained)?;
            }
            count_report(tx, email, 1, complained)
        };
        context.commit(put).await;

        let stored = |site: &str| context.read(|tx| tx.get(&WARM_UP, &(name_hash(site), utc_day(yesterday_ms))));
        assert_eq!(stored(sites[1]), Some(WarmUpRow { complained: 2, ..counts }));
        assert_eq!(stored(sites[0]), Some(WarmUpRow { complained: 1, ..counts }));
        assert_eq!(stored("google"), None);
        assert_eq!((stored("yahoo from 192.0.2.1"), stored("example.net")), (None, None));
    }
}

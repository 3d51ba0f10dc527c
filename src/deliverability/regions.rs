//! Pauses of broadcasts by region, from the rates of all teams together.
//!
//! A team with domains in several regions counts in each of them. One team cannot pause the broadcasts of the others: the
//! rest of its region must reach the same limit.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use tracing::{info, warn};

use super::days::pause_window;
use super::guardrail::{METRICS, RateLimitLine, SENT_MIN, WindowCounts};
use super::service::TeamDeliverability;
use super::store::{RegionPauseRow, paused_regions};
use crate::base::clock::TimestampMs;
use crate::base::id::{DomainId, TeamId};
use crate::domains;
use crate::emails::RegionPause;
use crate::events::RateMetric;
use crate::store::{ReadTx, Reads, StoreError, WriteTx, name_hash};
use crate::tables::REGION_PAUSES;
use crate::teams;

/// Recipients in a region below which its broadcasts are not paused.
const REGION_SENT_MIN: u64 = 1_000;

/// Counts of the teams of a region.
#[derive(Clone, Debug, Default)]
struct RegionCounts {
    /// Sums of the teams.
    counts: WindowCounts,
    teams: Vec<WindowCounts>,
}

impl RegionCounts {
    fn add(&mut self, team: WindowCounts) {
        self.counts = self.counts.plus(team);
        self.teams.push(team);
    }

    fn is_paused(&self) -> bool {
        METRICS.into_iter().any(|metric| self.is_paused_by(metric))
    }

    /// Returns whether all teams together reach the limit of a metric, also without the team with the most events of
    /// it. One team has its own limits.
    fn is_paused_by(&self, metric: RateMetric) -> bool {
        let line = RateLimitLine::of_pause(metric);
        let largest = self.teams.iter().max_by_key(|team| (team.count(metric), Reverse(team.sent)));
        let rest = self.counts.minus(largest.copied().unwrap_or_default());
        line.is_crossed_from(self.counts.count(metric), self.counts.sent, REGION_SENT_MIN)
            && line.is_crossed_from(rest.count(metric), rest.sent, SENT_MIN)
    }
}

impl TeamDeliverability {
    /// Sums the counts of all teams by region, and stores the regions whose broadcasts are paused.
    ///
    /// # Errors
    /// [`StoreError`]; the stored pauses do not change.
    pub async fn sweep_regions(&self) -> Result<(), StoreError> {
        let now_ms = self.context.now_ms();
        let teams = self.context.store.read::<_, StoreError>(teams::list).await?;
        let mut regions: BTreeMap<String, RegionCounts> = BTreeMap::new();
        for team in teams {
            let read = move |tx: &ReadTx| regions_with_counts(tx, team.id, now_ms);
            let (of_team, counts) = self.context.store.read::<_, StoreError>(read).await?;
            for region in of_team {
                regions.entry(region).or_default().add(counts);
            }
        }
        let paused: BTreeMap<String, WindowCounts> = regions
            .into_iter()
            .filter(|(_, region)| region.is_paused())
            .map(|(name, region)| (name, region.counts))
            .collect();
        let stored = self.context.store.read::<_, StoreError>(paused_regions).await?;
        let stored: BTreeSet<String> = stored.into_iter().map(|row| row.region).collect();
        if paused.keys().eq(stored.iter()) {
            return Ok(());
        }
        self.context.store.write_bulk::<_, StoreError>(move |tx| store(tx, &paused, now_ms)).await
    }
}

/// Stores the paused regions. The start of a pause that lasts does not change.
fn store(tx: &WriteTx<'_>, paused: &BTreeMap<String, WindowCounts>, now_ms: TimestampMs) -> Result<(), StoreError> {
    let before = paused_regions(tx)?;
    for row in &before {
        if !paused.contains_key(&row.region) {
            info!(region = %row.region, "broadcasts from region {} continue", row.region);
            tx.delete(&REGION_PAUSES, &(name_hash(&row.region),))?;
        }
    }
    for (region, counts) in paused {
        if before.iter().any(|row| row.region == *region) {
            continue;
        }
        let WindowCounts { sent, bounced, complained } = *counts;
        warn!(%region, sent, bounced, complained, "paused broadcasts from region {region}: its rates are too high");
        let row = RegionPauseRow { region: region.clone(), since_ms: now_ms, sent, bounced, complained };
        tx.put(&REGION_PAUSES, &(name_hash(region),), &row)?;
    }
    Ok(())
}

/// Returns the regions of a team's domains, and its sums over the window of a pause.
fn regions_with_counts(
    tx: &impl Reads,
    team: TeamId,
    now_ms: TimestampMs,
) -> Result<(BTreeSet<String>, WindowCounts), StoreError> {
    let counts = pause_window(tx, team, now_ms)?;
    if counts == WindowCounts::default() {
        return Ok((BTreeSet::new(), counts));
    }
    let regions = domains::regions(tx, team)?.into_iter().map(|(_, region)| region).collect();
    Ok((regions, counts))
}

/// Returns the pause of the region of a domain. Reads the domain only if a region is paused. A corrupt domain has no pause.
pub(super) fn pause_of(tx: &impl Reads, team: TeamId, domain: DomainId) -> Result<Option<RegionPause>, StoreError> {
    let paused = paused_regions(tx)?;
    if paused.is_empty() {
        return Ok(None);
    }
    let Some(domain) = domains::find_valid(tx, team, domain)? else { return Ok(None) };
    let row = paused.into_iter().find(|row| row.region == domain.region);
    Ok(row.map(|RegionPauseRow { region, since_ms, .. }| RegionPause { region, since_ms }))
}

/// Returns whether broadcasts of a region of the team's domains are paused.
pub(super) fn is_paused_for(tx: &impl Reads, team: TeamId) -> Result<bool, StoreError> {
    let paused = paused_regions(tx)?;
    if paused.is_empty() {
        return Ok(false);
    }
    let regions = domains::regions(tx, team)?;
    Ok(regions.iter().any(|(_, region)| paused.iter().any(|row| row.region == *region)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::clock::utc_day;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::deliverability::GuardrailMode;
    use crate::domains::{DkimKeyRow, DomainRow, DomainStatus};
    use crate::email_metrics::DayTotals;
    use crate::emails::SendingGuard as _;
    use crate::tables::{DOMAINS, EMAIL_DAY_TOTALS};

    fn is_paused(teams: &[(u64, u64, u64)]) -> bool {
        let mut region = RegionCounts::default();
        for &(sent, bounced, complained) in teams {
            region.add(WindowCounts { sent, bounced, complained });
        }
        region.is_paused()
    }

    #[test]
    fn a_region_is_paused_exactly_at_the_limits_of_all_its_teams() {
        for (teams, expected) in [
            ([(500, 25, 0), (500, 25, 0)], true),
            ([(500, 25, 0), (501, 25, 0)], false),
            ([(500, 25, 0), (499, 25, 0)], false),
            ([(3_000, 0, 3), (3_000, 0, 3)], true),
            ([(3_000, 0, 3), (3_001, 0, 3)], false),
        ] {
            assert_eq!(is_paused(&teams), expected, "{teams:?}");
        }
    }

    #[test]
    fn one_team_does_not_pause_the_region_of_the_others() {
        for (teams, expected) in [
            (vec![(1_000, 500, 0)], false),
            (vec![(1_000, 500, 0), (1, 0, 0), (1, 1, 0)], false),
            // The rest: too few recipients, too few events, below the limit, and exactly at the limit.
            (vec![(1_000, 500, 0), (99, 99, 0)], false),
            (vec![(1_000, 500, 0), (100, 9, 0)], false),
            (vec![(1_000, 500, 0), (201, 10, 0)], false),
            (vec![(1_000, 500, 0), (200, 10, 0)], true),
            (vec![(1_000, 500, 0), (100, 5, 0), (100, 5, 0)], true),
            (vec![(1_000, 0, 9), (3_001, 0, 3)], false),
            (vec![(1_000, 0, 9), (3_000, 0, 3)], true),
            // The limits of two metrics, each reached by another team alone.
            (vec![(1_000, 500, 0), (1_000, 0, 500)], false),
        ] {
            assert_eq!(is_paused(&teams), expected, "{teams:?}");
        }
    }

    #[tokio::test]
    async fn a_pause_lasts_until_the_first_sweep_below_the_limits() {
        let (_directory, context) = Context::temporary();
        let sweep = async |regions: &[&str], now_ms: i64| {
            let counts = WindowCounts { sent: 1_000, bounced: 50, complained: 0 };
            let paused: BTreeMap<String, WindowCounts> =
                regions.iter().map(|region| ((*region).to_owned(), counts)).collect();
            context.commit(move |tx| store(tx, &paused, now_ms)).await;
            let rows = context.read(paused_regions);
            let mut rows: Vec<(String, i64)> = rows.into_iter().map(|row| (row.region, row.since_ms)).collect();
            rows.sort_unstable();
            rows
        };
        let (east, west) = ("us-east-1", "us-west-2");

        assert_eq!(sweep(&[east], 1).await, [(east.to_owned(), 1)]);
        assert_eq!(sweep(&[east, west], 2).await, [(east.to_owned(), 1), (west.to_owned(), 2)]);
        assert_eq!(sweep(&[west], 3).await, [(west.to_owned(), 2)]);
        assert_eq!(sweep(&[], 4).await, []);
    }

    fn domain(region: &str) -> DomainRow {
        let key = DkimKeyRow { selector: "s".to_owned(), record: String::new(), sealed: Vec::new() };
        DomainRow {
            name: "shop.example".to_owned(),
            region: region.to_owned(),
            status: DomainStatus::Verified,
            return_path: "send".to_owned(),
            open_tracking: false,
            click_tracking: false,
            tracking_subdomain: None,
            rsa: key.clone(),
            ed25519: key,
            records: Vec::new(),
            checked_ms: None,
            pending_since_ms: None,
            assumed: true,
            refusal: None,
            created_ms: 0,
        }
    }

    #[tokio::test]
    async fn broadcasts_of_a_paused_region_are_held_until_its_counts_leave_the_window() {
        let (_directory, context) = Context::temporary();
        let first = teams::create(&context, "First").await.unwrap().unwrap().id;
        let second = teams::create(&context, "Second").await.unwrap().unwrap().id;
        let (east, west): (DomainId, DomainId) = (context.id(), context.id());
        let day = utc_day(context.now_ms());
        let fill = move |tx: &WriteTx<'_>| {
            for team in [first, second] {
                let totals = DayTotals { sent: 500, sent_and_bounced: 25, ..DayTotals::default() };
                tx.put(&EMAIL_DAY_TOTALS, &(team, day), &totals)?;
                tx.put(&DOMAINS, &(team, east), &domain("us-east-1"))?;
            }
            tx.put(&DOMAINS, &(first, west), &domain("us-west-2"))
        };
        context.commit(fill).await;
        let with_mode = |mode| TeamDeliverability::new(context.clone(), mode, "https://mail.example.com/dashboard/");
        let (enforcing, observing) = (with_mode(GuardrailMode::Enforce), with_mode(GuardrailMode::Observe));
        let is_held = |guard: &TeamDeliverability, domain: Option<DomainId>| {
            context.read(|tx| guard.is_fan_out_held(tx, first, domain))
        };
        assert!(!is_held(&enforcing, Some(east)));

        enforcing.sweep_regions().await.unwrap();
        assert!(is_held(&enforcing, Some(east)));
        assert!(!is_held(&enforcing, Some(west)), "only 500 recipients");
        assert!(!is_held(&enforcing, None) && !is_held(&observing, Some(east)));
        assert!(enforcing.overview(first).await.unwrap().is_region_paused);
        assert!(!observing.overview(first).await.unwrap().is_region_paused);

        context.clock.advance(Duration::from_secs(2 * 24 * 60 * 60));
        assert!(is_held(&enforcing, Some(east)), "no sweep yet");
        enforcing.sweep_regions().await.unwrap();
        assert!(!is_held(&enforcing, Some(east)));
        assert!(!enforcing.overview(first).await.unwrap().is_region_paused);
    }

    #[tokio::test]
    async fn a_corrupt_domain_has_no_pause() {
        let (_directory, context) = Context::temporary();
        let (team, domain): (TeamId, DomainId) = (context.id(), context.id());
        let paused = BTreeMap::from([("us-east-1".to_owned(), WindowCounts::default())]);
        context.commit(move |tx| store(tx, &paused, 1)).await;
        context.corrupt(&DOMAINS, (team, domain)).await;

        for id in [domain, Id::MAX] {
            let found = context.read(|tx| pause_of(tx, team, id));
            assert!(found.is_none(), "{found:?}");
        }
    }
}

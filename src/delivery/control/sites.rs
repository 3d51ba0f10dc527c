//! The sites and hosts of lanes: as of the last lookup of the schedule, or of the last attempt of a group, or of a lookup.
//!
//! After a start, the schedule has no lanes of groups that are due later. The attempts of a group name its last site, also
//! without a server. A running server looks up the other destinations of a page.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::task::JoinSet;

use super::QueueControl;
use super::facts::last_attempt;
use super::walk::PageEnd;
use crate::delivery::queue::{DueKey, LaneKey};
use crate::delivery::simulated;
use crate::delivery::transport::{Destination, health_name};
use crate::dns::Freshness;
use crate::store::{ReadTx, Reads, StoreError};

/// Maximum number of lookups of one page.
pub(super) const LOOKUPS_MAX: usize = 64;

/// The sites of lanes that were looked up for one page; `None` if the destination has no site.
#[derive(Clone, Debug, Default)]
pub(super) struct LookedUpSites(BTreeMap<LaneKey, Option<Arc<str>>>);

impl LookedUpSites {
    /// Returns the result for a lane; `None` if it was not looked up.
    pub(super) fn get(&self, lane: LaneKey) -> Option<Option<Arc<str>>> {
        self.0.get(&lane).cloned()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl QueueControl {
    /// Returns whether a server runs that can look up destinations.
    pub(super) fn can_look_up(&self) -> bool {
        self.engine.is_some()
    }

    /// Returns the site of the lane of a group, as of its last lookup or of the last attempt of the group. `None` if
    /// neither is known.
    pub(super) fn site_of_group(&self, tx: &impl Reads, key: DueKey) -> Result<Option<Arc<str>>, StoreError> {
        if let Some(site) = self.engine.as_ref().and_then(|engine| engine.schedule().site_of(key.lane)) {
            return Ok(Some(site));
        }
        let last = last_attempt(tx, key.email, key.group)?;
        Ok(last.and_then(|attempt| attempt.site).map(Arc::from))
    }

    /// Returns the names under which failures of the hosts of a group are recorded, as of the last lookup of its lane. If none
    /// is known, those of the host of its last attempt.
    pub(super) fn hosts_of_group(&self, tx: &impl Reads, key: DueKey) -> Result<Vec<String>, StoreError> {
        let known = self.engine.as_ref().map(|engine| engine.schedule().hosts_of(key.lane)).unwrap_or_default();
        if !known.is_empty() {
            return Ok(known);
        }
        let last = last_attempt(tx, key.email, key.group)?.and_then(|attempt| attempt.host.zip(attempt.address));
        let Some((host, Ok(address))) = last.map(|(host, address)| (host, address.parse::<SocketAddr>())) else {
            return Ok(Vec::new());
        };
        // The destination may require TLS.
        Ok([false, true].map(|requires_tls| health_name(&host, address.port(), requires_tls).into_owned()).into())
    }

    /// Reads a page. If it needs sites that are not known, looks them up and reads it again, once.
    pub(super) async fn read_page<T: Send + 'static>(
        &self,
        read: impl Fn(&Self, &ReadTx, &LookedUpSites) -> Result<(T, PageEnd), StoreError> + Clone + Send + 'static,
    ) -> Result<(T, PageEnd), StoreError> {
        let mut sites = LookedUpSites::default();
        loop {
            let (control, known, read) = (self.clone(), sites, read.clone());
            let (page, end) = self.context.store.read(move |tx: &ReadTx| read(&control, tx, &known)).await?;
            if end.lookups.is_empty() {
                return Ok((page, end));
            }
            sites = self.look_up(end.lookups).await;
        }
    }

    /// Looks up the sites of lanes, each with its destination. The deadlines of the resolver bound its time.
    async fn look_up(&self, lanes: Vec<(LaneKey, String)>) -> LookedUpSites {
        let mut sites: BTreeMap<LaneKey, Option<Arc<str>>> = lanes.iter().map(|(lane, _)| (*lane, None)).collect();
        let Some(engine) = &self.engine else { return LookedUpSites(sites) };
        let (mut lookups, now_ms) = (JoinSet::new(), self.context.now_ms());
        for (lane, destination) in lanes.into_iter().filter(|(_, name)| name != simulated::DESTINATION) {
            let routes = engine.settings.routes.clone();
            lookups.spawn(async move {
                let route = routes.table().key(&destination, lane).route;
                let found = routes.destination(route, &destination, now_ms, Freshness::Cached).await;
                (lane, found.destination)
            });
        }
        while let Some(found) = lookups.join_next().await {
            if let Ok((lane, Destination::Servers(servers))) = found {
                sites.insert(lane, Some(servers.site.as_str().into()));
            }
        }
        LookedUpSites(sites)
    }
}

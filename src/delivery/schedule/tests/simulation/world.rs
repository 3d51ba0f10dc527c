//! The dispatcher, the workers and the mail servers of the simulation.

use std::collections::BTreeMap;

use super::checks::Delivered;
use super::health::{Health, health, works_from};
use super::*;
use crate::base::id::EmailId;
use crate::delivery::smtp::SiteThrottle;
use crate::delivery::warm_up::Allowance;

/// Planned change of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// An email is accepted: site and stream.
    Accept(u64, u8),
    /// A session has a connection, or has failed to open.
    Opened(usize),
    /// The server of a session has not answered for three seconds.
    Slow(usize),
    /// The session has sent the groups that it took.
    Sent(usize),
    /// A session without groups or tokens looks again.
    Look(usize),
    /// The schedule has work.
    Advance,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Group {
    due_ms: i64,
    number: u64,
    accepted_ms: i64,
}

pub(super) struct Session {
    slot: Slot,
    site: u64,
    is_open: bool,
    is_idle: bool,
    /// Whether the session continues after its idle time, because it then has tokens or groups.
    stays_open: bool,
    messages: u32,
    /// Leased groups with their lanes.
    pub(super) groups: Vec<(LaneKey, Group)>,
    /// Incremented when the planned event of the session is replaced.
    version: u64,
}

pub(super) struct World {
    pub(super) run: Run,
    schedule: Schedule,
    random: u64,
    now: Now,
    events: BinaryHeap<Reverse<(i64, u64, Event, u64)>>,
    numbers: u64,
    pub(super) table: HashMap<LaneKey, BTreeSet<Group>>,
    pub(super) sessions: BTreeMap<usize, Session>,
    next_session: usize,
    advance_ms: i64,
    pub(super) accepted: usize,
    /// Number of messages that each site refused.
    refused: HashMap<u64, u32>,
    /// Messages of each provider on each day.
    counts: BTreeMap<(u64, u32), WarmUpRow>,
    /// Times of the messages and of the connections of the sites that work until the end.
    pub(super) messages: BTreeMap<u64, Vec<i64>>,
    pub(super) connections: BTreeMap<u64, Vec<i64>>,
    pub(super) delivered: Vec<Delivered>,
    pub(super) failing_most: usize,
    pub(super) sessions_most: usize,
}

impl World {
    pub(super) fn new(run: Run) -> Self {
        let mut limits = schedule().limits;
        limits.sessions_max = SESSIONS_MAX;
        limits.rates = rates(MESSAGES_PER_SECOND, CONNECTIONS_PER_MINUTE);
        limits.rates.defaults.sessions_max = SITE_SESSIONS_MAX;
        Self {
            run,
            schedule: Schedule::new(limits, RouteTable::single(false)),
            random: run.seed,
            now: at_time(0),
            events: BinaryHeap::new(),
            numbers: 0,
            table: HashMap::new(),
            sessions: BTreeMap::new(),
            next_session: 0,
            advance_ms: i64::MAX,
            accepted: 0,
            refused: HashMap::new(),
            counts: BTreeMap::new(),
            messages: BTreeMap::new(),
            connections: BTreeMap::new(),
            delivered: Vec::new(),
            failing_most: 0,
            sessions_most: 0,
        }
    }

    /// Returns a random number below `below` (xorshift).
    pub(super) fn below(&mut self, below: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % below
    }

    /// Plans emails of a stream that are accepted at the same time.
    pub(super) fn plan_accepted(&mut self, at_ms: i64, site: u64, stream: u8, emails: usize) {
        for _ in 0..emails {
            self.plan_event(at_ms, Event::Accept(site, stream), 0);
        }
    }

    fn plan_event(&mut self, at_ms: i64, event: Event, version: u64) {
        self.numbers += 1;
        self.events.push(Reverse((at_ms, self.numbers, event, version)));
    }

    /// Plans the next event of a session, which replaces an earlier one.
    fn after(&mut self, wait_ms: i64, id: usize, event: Event) {
        let Some(session) = self.sessions.get_mut(&id) else { return };
        session.version += 1;
        let version = session.version;
        self.plan_event(self.now.elapsed_ms + wait_ms, event, version);
    }

    /// Runs until the end of the last day.
    pub(super) fn run(&mut self) {
        while let Some(Reverse((at_ms, _, event, version))) = self.events.pop() {
            if at_ms >= self.run.days * DAY_MS {
                break;
            }
            self.now = at_time(at_ms);
            self.happen(event, version);
            self.dispatch();
        }
    }

    fn happen(&mut self, event: Event, version: u64) {
        let is_current = |id: usize| self.sessions.get(&id).is_some_and(|session| session.version == version);
        match event {
            Event::Accept(site, stream) => {
                self.numbers += 1;
                self.accepted += 1;
                let (due_ms, accepted_ms) = (self.now.wall_ms, self.now.elapsed_ms);
                self.put(lane_of(site, stream), site, Group { due_ms, number: self.numbers, accepted_ms });
            }
            Event::Opened(id) if is_current(id) => self.opened(id),
            Event::Slow(id) if is_current(id) => self.slow(id),
            Event::Sent(id) if is_current(id) => self.sent(id),
            Event::Look(id) if is_current(id) => self.look(id),
            Event::Advance if self.now.elapsed_ms >= self.advance_ms => self.advance_ms = i64::MAX,
            Event::Opened(_) | Event::Slow(_) | Event::Sent(_) | Event::Look(_) | Event::Advance => {}
        }
    }

    fn put(&mut self, lane: LaneKey, site: u64, group: Group) {
        self.table.entry(lane).or_default().insert(group);
        let key = DueKey { lane, due_ms: group.due_ms, email: EmailId::MIN, group: 0 };
        self.schedule
            .queued(&Due { key, team: lane.stream.cast(), destination: name_of(site), vanished: false }, self.now);
        let idle: Vec<usize> =
            self.sessions.iter().filter(|(_, it)| it.site == site && it.is_idle).map(|(id, _)| *id).collect();
        for id in idle {
            self.after(0, id, Event::Look(id));
            self.sessions.get_mut(&id).unwrap().stays_open = true;
        }
    }

    /// Does the work of the dispatcher.
    fn dispatch(&mut self) {
        let now = self.now;
        self.schedule.advance(now);
        while let Some(lookup) = self.schedule.next_lookup() {
            let site = site_of(&lookup.name);
            let allowance = (site < 3).then(|| self.allowance(site));
            let stored = StoredSite { allowance, ..StoredSite::default() };
            self.schedule.routed(&lookup, servers_of(site), &stored, now);
        }
        for slot in self.schedule.reserve_sessions(now) {
            let (id, site) = (self.next_session, site_of(&slot.site));
            self.next_session += 1;
            let session = Session {
                slot,
                site,
                is_open: false,
                is_idle: false,
                stays_open: false,
                messages: 0,
                groups: Vec::new(),
                version: 0,
            };
            self.sessions.insert(id, session);
            self.look(id);
        }
        if self.schedule.shares.needs_eviction() {
            let idle: Vec<usize> = self.sessions.iter().filter(|(_, it)| it.is_idle).map(|(id, _)| *id).collect();
            for id in idle {
                self.end(id);
            }
        }
        if let Some(wait) = self.schedule.time_until_work(now) {
            let at_ms = now.elapsed_ms + i64::try_from(wait.as_millis()).unwrap().max(1);
            if at_ms < self.advance_ms {
                self.advance_ms = at_ms;
                self.plan_event(at_ms, Event::Advance, 0);
            }
        }
        let failing = self.sessions.values().filter(|it| it.slot.kind == SiteKind::Failing).count();
        self.failing_most = self.failing_most.max(failing);
        self.sessions_most = self.sessions_most.max(self.sessions.len());
    }

    /// Returns the allowance of a provider, as it is read with each lookup.
    fn allowance(&self, site: u64) -> Allowance {
        let today = utc_day(self.now.wall_ms);
        let days = self.counts.range((site, 0)..(site, today)).map(|((_, day), row)| (*day, *row));
        let used = self.counts.get(&(site, today)).map_or(0, |row| row.sent);
        Allowance::new(today, PLAN.allowance(days, today), used)
    }

    fn health(&self, site: u64) -> Health {
        health(self.run.seed, site, self.now.elapsed_ms)
    }

    /// Returns whether a site works now and until the end, so that its limits are checked.
    fn is_checked(&self, site: u64) -> bool {
        works_from(self.run.seed, site, self.now.elapsed_ms)
    }

    /// Does the work of a worker between messages.
    fn look(&mut self, id: usize) {
        let (now, site) = (self.now, self.sessions[&id].site);
        let session = self.sessions.get_mut(&id).unwrap();
        if std::mem::take(&mut session.is_idle) {
            self.schedule.set_idle(&session.slot, Idle::Ends);
            if !session.stays_open {
                return self.end(id);
            }
        }
        loop {
            let session = self.sessions.get_mut(&id).unwrap();
            let messages_max = self.schedule.session_messages_max(&session.slot);
            let left = session.is_open.then(|| messages_max - session.messages);
            match self.schedule.take(&mut session.slot, now, left, |_| true) {
                Take::Groups { first, part } => {
                    let mut lanes = vec![first];
                    self.schedule.take_further(&mut session.slot, now, |_| true, part, &mut lanes);
                    let groups_max: usize = lanes.iter().map(|lane| lane.groups_max).sum();
                    let groups: Vec<_> = lanes.iter().flat_map(|lane| self.claim(lane)).collect();
                    let session = self.sessions.get_mut(&id).unwrap();
                    self.schedule.unsent(&session.slot, groups_max - groups.len());
                    if groups.is_empty() {
                        continue;
                    }
                    let (count, is_open) = (groups.len(), session.is_open);
                    session.groups = groups;
                    if self.is_checked(site) {
                        self.messages.entry(site).or_default().extend(vec![now.elapsed_ms; count]);
                    }
                    return if is_open { self.send(id) } else { self.connect(id) };
                }
                Take::Wait { tokens_in, .. } if session.is_open => {
                    session.is_idle = true;
                    session.stays_open = tokens_in.is_some();
                    self.schedule.set_idle(&session.slot, Idle::Begins);
                    let wait = tokens_in.unwrap_or(Duration::from_secs(10));
                    let wait_ms = i64::try_from(wait.as_millis()).unwrap();
                    return self.after(wait_ms, id, Event::Look(id));
                }
                Take::Wait { .. } | Take::OtherServers | Take::End => return self.end(id),
            }
        }
    }

    fn claim(&mut self, TakenLane { taken, groups_max, .. }: &TakenLane) -> Vec<(LaneKey, Group)> {
        let queued = self.table.entry(taken.lane).or_default();
        let now_ms = self.now.wall_ms;
        let groups: Vec<Group> =
            queued.iter().copied().take_while(|it| it.due_ms <= now_ms).take(*groups_max).collect();
        for group in &groups {
            queued.remove(group);
        }
        let ready = queued.iter().take(READY_COUNTED_MAX).filter(|it| it.due_ms <= now_ms).count();
        let rest = LaneRest { ready, next_due_ms: queued.first().map(|it| it.due_ms) };
        self.schedule.claimed(taken, rest, self.now);
        groups.into_iter().map(|group| (taken.lane, group)).collect()
    }

    fn connect(&mut self, id: usize) {
        let now = self.now;
        let session = self.sessions.get_mut(&id).unwrap();
        let site = session.site;
        session.messages = 0;
        self.schedule.connecting(&mut session.slot, &servers_of(site).hosts[0].name, now);
        if self.is_checked(site) {
            self.connections.entry(site).or_default().push(now.elapsed_ms);
        }
        let wait_ms = i64::try_from(20 + self.below(300)).unwrap();
        match self.health(site) {
            Health::Silent | Health::Slow => self.after(3_000, id, Event::Slow(id)),
            _ => self.after(wait_ms, id, Event::Opened(id)),
        }
    }

    fn send(&mut self, id: usize) {
        let session = &self.sessions[&id];
        let (site, count) = (session.site, i64::try_from(session.groups.len()).unwrap());
        let slow_ms = if self.health(site) == Health::Slow { 1_500 } else { 0 };
        let message_ms = slow_ms + i64::try_from(20 + self.below(100)).unwrap();
        self.after(count * message_ms, id, Event::Sent(id));
    }

    fn slow(&mut self, id: usize) {
        let (now, health) = (self.now, self.health(self.sessions[&id].site));
        let session = self.sessions.get_mut(&id).unwrap();
        if self.schedule.opening_is_slow(&mut session.slot, now) {
            let wait_ms = if health == Health::Silent { 60_000 } else { 5_000 };
            return self.after(wait_ms, id, Event::Opened(id));
        }
        self.schedule.opening_interrupted(&session.slot, now);
        self.requeue(id, 0);
        self.end(id);
    }

    fn opened(&mut self, id: usize) {
        let (now, health) = (self.now, self.health(self.sessions[&id].site));
        let session = self.sessions.get_mut(&id).unwrap();
        let host = servers_of(session.site).hosts[0].name.clone();
        if matches!(health, Health::Down | Health::Silent) {
            self.schedule.host_failed(&host, false, now);
            self.schedule.opening_failed(&session.slot, now);
            self.requeue(id, HOUR_MS);
            return self.end(id);
        }
        self.schedule.session_opened(&mut session.slot, &host, now);
        session.is_open = true;
        self.send(id);
    }

    fn sent(&mut self, id: usize) {
        let (now, site) = (self.now, self.sessions[&id].site);
        let health = self.health(site);
        while let Some((lane, group)) = self.sessions.get_mut(&id).and_then(|session| {
            let group = session.groups.first().copied();
            group.inspect(|_| session.messages += 1)
        }) {
            let is_blocked = health == Health::Blocks && self.refused.get(&site).is_none_or(|it| *it < BLOCKED);
            let blocks = is_blocked || health == Health::Refuses;
            if blocks || (health == Health::Limits && self.below(10) == 0) {
                *self.refused.entry(site).or_default() += 1;
                let throttle = if blocks { SiteThrottle::Trickle { minutes: 90 } } else { SiteThrottle::Halve };
                let refusal = SiteRefusal { throttle, ..SiteRefusal::broken_off("421 no".into()) };
                self.schedule.refused(&self.sessions[&id].slot, &refusal, now);
                self.requeue(id, 300_000);
                return self.end(id);
            }
            let session = self.sessions.get_mut(&id).unwrap();
            session.groups.remove(0);
            let stream = lane.stream.as_bytes()[0];
            let (accepted_ms, wait_ms) = (group.accepted_ms, now.elapsed_ms - group.accepted_ms);
            let due_ms = group.due_ms - (now.wall_ms - now.elapsed_ms);
            self.delivered.push(Delivered { site, stream, accepted_ms, due_ms, wait_ms });
            if site < 3 {
                self.counts.entry((site, utc_day(now.wall_ms))).or_default().sent += 1;
            }
            self.schedule.succeeded(&mut self.sessions.get_mut(&id).unwrap().slot, now);
        }
        let messages_max = self.schedule.session_messages_max(&self.sessions[&id].slot);
        let session = self.sessions.get_mut(&id).unwrap();
        session.is_open = session.messages < messages_max;
        self.look(id);
    }

    /// Returns the groups of a session to the queue: the first one after a delay, the others now.
    fn requeue(&mut self, id: usize, delay_ms: i64) {
        let session = self.sessions.get_mut(&id).unwrap();
        let site = session.site;
        let groups = std::mem::take(&mut session.groups);
        self.schedule.unsent(&session.slot, groups.len());
        for (number, (lane, group)) in groups.into_iter().enumerate() {
            let delay_ms = if number == 0 { delay_ms } else { 0 };
            self.put(lane, site, Group { due_ms: self.now.wall_ms + delay_ms, ..group });
        }
    }

    fn end(&mut self, id: usize) {
        let Some(session) = self.sessions.remove(&id) else { return };
        if session.is_idle {
            self.schedule.set_idle(&session.slot, Idle::Ends);
        }
        self.schedule.session_ended(&session.slot, self.now);
    }
}

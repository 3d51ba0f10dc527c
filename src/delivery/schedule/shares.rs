//! The sessions of the process, shared between three kinds of site.
//!
//! Each kind has a guaranteed part. Silent servers therefore cannot use up the sessions of working sites, and a backlog
//! for working sites cannot use up those of new sites.

use std::collections::VecDeque;
use std::sync::Arc;

/// Kind of a site, by its latest sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SiteKind {
    /// A session was opened recently.
    Working,
    /// No session was tried recently.
    New,
    /// Sessions could not be opened, or a server takes long to answer.
    Failing,
}

/// All kinds, in the order in which they get free sessions.
pub(super) const KINDS: [SiteKind; 3] = [SiteKind::New, SiteKind::Working, SiteKind::Failing];

impl SiteKind {
    const fn index(self) -> usize {
        match self {
            Self::Working => 0,
            Self::New => 1,
            Self::Failing => 2,
        }
    }
}

/// Of this many sessions of a kind, a site that waits long gets one.
const LONG_WAIT_EVERY: u32 = 5;

/// The sites of one kind that wait for a session. Each site is in it at most once.
///
/// The site whose mail is newest goes first, so that it does not wait behind a backlog or thousands of silent servers.
/// Because of [`LONG_WAIT_EVERY`], no stream of such sites keeps the others from their turn.
#[derive(Debug, Default)]
struct WaitingSites {
    /// Sites that had no mail before, the newest last.
    first: VecDeque<Arc<str>>,
    /// Sites with a backlog, in turn.
    last: VecDeque<Arc<str>>,
    turns: u32,
}

impl WaitingSites {
    fn push(&mut self, site: Arc<str>, turn: Turn) {
        match turn {
            Turn::First => self.first.push_back(site),
            Turn::Last => self.last.push_back(site),
        }
    }

    fn pop(&mut self) -> Option<Arc<str>> {
        self.turns = self.turns.wrapping_add(1);
        if self.turns.is_multiple_of(2 * LONG_WAIT_EVERY) {
            return self.last.pop_front().or_else(|| self.first.pop_front());
        }
        let is_oldest = self.turns.is_multiple_of(LONG_WAIT_EVERY);
        let first = if is_oldest { self.first.pop_front() } else { self.first.pop_back() };
        first.or_else(|| self.last.pop_front())
    }

    fn is_empty(&self) -> bool {
        self.first.is_empty() && self.last.is_empty()
    }

    /// Returns whether a site other than this one waits.
    fn has_other(&self, site: &Arc<str>) -> bool {
        self.first.iter().chain(&self.last).any(|other| other != site)
    }
}

/// The session counts, and the sites that wait for a session.
#[derive(Debug)]
pub(super) struct Shares {
    sessions_max: usize,
    used: [usize; 3],
    waiting: [WaitingSites; 3],
}

impl Shares {
    pub(super) fn new(sessions_max: usize) -> Self {
        Self { sessions_max, used: [0; 3], waiting: Default::default() }
    }

    /// Returns the guaranteed number of sessions of a kind: 40 %, 20 % and 10 %, at least one.
    fn guaranteed(&self, kind: SiteKind) -> usize {
        let percent = match kind {
            SiteKind::Working => 40,
            SiteKind::New => 20,
            SiteKind::Failing => 10,
        };
        (self.sessions_max * percent / 100).max(1)
    }

    /// Returns whether one more session of a kind may start. The guaranteed parts of the other kinds stay free, and
    /// failing sites get at most a third.
    pub(super) fn admits(&self, kind: SiteKind) -> bool {
        let used: usize = self.used.iter().sum();
        if kind == SiteKind::Failing && self.used[kind.index()] >= self.failing_max() {
            return false;
        }
        if self.used[kind.index()] < self.guaranteed(kind) {
            return used < self.sessions_max.max(KINDS.len());
        }
        let others = KINDS.into_iter().filter(|other| *other != kind);
        let reserved: usize = others.map(|other| self.guaranteed(other).saturating_sub(self.used[other.index()])).sum();
        used + reserved < self.sessions_max
    }

    /// Returns the number of sessions of a kind.
    pub(super) fn used(&self, kind: SiteKind) -> usize {
        self.used[kind.index()]
    }

    pub(super) fn start(&mut self, kind: SiteKind) {
        self.used[kind.index()] += 1;
    }

    pub(super) fn end(&mut self, kind: SiteKind) {
        self.used[kind.index()] = self.used[kind.index()].saturating_sub(1);
    }

    /// Adds a site to those that wait for a session.
    pub(super) fn wait(&mut self, kind: SiteKind, site: Arc<str>, turn: Turn) {
        self.waiting[kind.index()].push(site, turn);
    }

    /// Removes and returns the next site of a kind that waits for a session.
    pub(super) fn pop(&mut self, kind: SiteKind) -> Option<Arc<str>> {
        self.waiting[kind.index()].pop()
    }

    /// Returns whether other sites wait that could use a session of this kind instead of its site.
    pub(super) fn has_competitors(&self, kind: SiteKind, site: &Arc<str>) -> bool {
        let others_wait = |kind: SiteKind| self.waiting[kind.index()].has_other(site);
        match kind {
            SiteKind::Failing => others_wait(SiteKind::Failing),
            SiteKind::Working | SiteKind::New => others_wait(SiteKind::Working) || others_wait(SiteKind::New),
        }
    }

    /// Returns whether the end of an idle session lets a waiting site start one.
    pub(super) fn needs_eviction(&self) -> bool {
        let failing = SiteKind::Failing;
        let may_fail = self.used[failing.index()] < self.failing_max();
        self.has_waiting(SiteKind::Working)
            || self.has_waiting(SiteKind::New)
            || (may_fail && self.has_waiting(failing))
    }

    fn failing_max(&self) -> usize {
        (self.sessions_max / 3).max(1)
    }

    /// Returns whether sites of a kind wait for a session.
    fn has_waiting(&self, kind: SiteKind) -> bool {
        !self.waiting[kind.index()].is_empty()
    }
}

/// Position of a site among those that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The site had no mail before: its mail must not wait behind a backlog.
    First,
    /// The site had sessions and has a backlog.
    Last,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(mut shares: Shares, kind: SiteKind) -> (Shares, usize) {
        let mut started = 0;
        while shares.admits(kind) {
            shares.start(kind);
            started += 1;
        }
        (shares, started)
    }

    #[test]
    fn each_kind_keeps_its_guaranteed_part_whatever_the_others_use() {
        let (shares, working) = filled(Shares::new(200), SiteKind::Working);
        let (shares, failing) = filled(shares, SiteKind::Failing);
        let (_, new) = filled(shares, SiteKind::New);

        assert_eq!((working, failing, new), (140, 20, 40));
    }

    #[test]
    fn the_newest_site_goes_first_and_no_stream_of_new_ones_starves_the_others() {
        let mut shares = Shares::new(200);
        let mut wait = |name: &str, turn| shares.wait(SiteKind::Working, name.into(), turn);
        for name in ["backlog1", "backlog2"] {
            wait(name, Turn::Last);
        }
        for name in ["old", "middle"] {
            wait(name, Turn::First);
        }

        // Each session that ends is followed by mail for another site.
        let next: Vec<Arc<str>> = (0..20)
            .map(|number| {
                shares.wait(SiteKind::Working, format!("new{number}").into(), Turn::First);
                shares.pop(SiteKind::Working).unwrap()
            })
            .collect();

        let names: Vec<&str> = next.iter().map(AsRef::as_ref).collect();
        assert_eq!(names[..4], ["new0", "new1", "new2", "new3"]);
        assert_eq!([names[4], names[9], names[14], names[19]], ["old", "backlog1", "middle", "backlog2"]);
    }

    #[test]
    fn failing_sites_get_at_most_a_third() {
        let (shares, failing) = filled(Shares::new(200), SiteKind::Failing);
        let (_, new) = filled(shares, SiteKind::New);

        assert_eq!((failing, new), (66, 54));
    }

    #[test]
    fn a_server_with_few_sessions_serves_each_kind() {
        for sessions_max in 1..=4 {
            let (shares, failing) = filled(Shares::new(sessions_max), SiteKind::Failing);
            let (shares, new) = filled(shares, SiteKind::New);
            let (_, working) = filled(shares, SiteKind::Working);

            assert!(failing >= 1 && new >= 1 && working >= 1, "{sessions_max}: {failing}, {new}, {working}");
        }
    }
}

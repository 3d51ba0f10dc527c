//! The position of the scan that finds the lanes of the queue. No I/O.
//!
//! A pass reads each lane of the table once. If the schedule has no room, the pass ends, and the next one continues behind
//! the last lane that fit. Each process begins at another lane, and a request for a scan continues there as well. Therefore
//! every lane is found, however many lanes precede it, and however often the process starts.

use super::queue::LaneKey;
use super::rows::Class;
use crate::base::id::Id;
use crate::base::random;

/// The position of the scan.
#[derive(Debug, Default)]
pub(super) struct LaneScan {
    is_running: bool,
    /// Whether a page of the pass has been read.
    has_read: bool,
    /// Last lane that was read; `None` before the first one.
    after: Option<LaneKey>,
    /// Lane behind which the pass began, and with which it ends; `None` if it began with the first one.
    began_after: Option<LaneKey>,
    /// Whether the pass has continued with the first lane.
    has_wrapped: bool,
    /// Whether the schedule has made room in this pass.
    has_made_room: bool,
}

impl LaneScan {
    /// Returns a scan that begins behind a random lane.
    pub(super) fn at_random() -> Self {
        Self::behind(LaneKey { destination: random::bytes(), class: Class::Transactional, stream: Id::MIN })
    }

    /// Returns a scan that begins behind a lane.
    pub(super) fn behind(lane: LaneKey) -> Self {
        Self { after: Some(lane), ..Self::default() }
    }

    /// Starts a pass behind the last lane that was read, unless a pass runs.
    pub(super) fn start(&mut self) {
        if !self.is_running {
            *self = Self { is_running: true, after: self.after, began_after: self.after, ..Self::default() };
        }
    }

    /// Starts a pass behind the last lane that was read. If one runs, it reads each lane again.
    pub(super) fn restart(&mut self) {
        self.is_running = false;
        self.start();
    }

    pub(super) fn is_running(&self) -> bool {
        self.is_running
    }

    /// Returns whether the next page is the first one of its pass.
    pub(super) fn is_first_page(&self) -> bool {
        !self.has_read
    }

    /// Returns the lane behind which the next page begins.
    pub(super) fn after(&self) -> Option<LaneKey> {
        self.after
    }

    /// Records a page whose lanes all fit. `is_end` is whether the table has no further lane.
    pub(super) fn read(&mut self, last: Option<LaneKey>, is_end: bool) {
        self.has_read = true;
        self.after = last.or(self.after);
        if self.has_wrapped && (is_end || self.after >= self.began_after) {
            self.is_running = false;
        } else if is_end {
            self.after = None;
            self.has_wrapped = true;
            self.is_running = self.began_after.is_some();
        }
    }

    /// Records a page of which only the lanes up to `last` fit. `make_room` forgets other lanes and returns their number;
    /// it is called once in a pass. Without room, the pass ends.
    pub(super) fn overflowed(&mut self, last: Option<LaneKey>, make_room: impl FnOnce() -> usize) {
        self.has_read = true;
        self.after = last.or(self.after);
        self.is_running = !std::mem::replace(&mut self.has_made_room, true) && make_room() > 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LANES: u8 = 10;
    const PAGE: usize = 3;

    fn lane(number: u8) -> LaneKey {
        LaneKey { destination: [number; 16], class: Class::Transactional, stream: Id::MIN }
    }

    /// Runs a pass that reads the lanes 1 to 10, of which `room` fit, and `more` after room is made. Returns those that did.
    fn pass(scan: &mut LaneScan, mut room: usize, mut more: usize) -> Vec<u8> {
        let mut found = Vec::new();
        while scan.is_running() {
            let after = scan.after().map_or(0, |lane| lane.destination[0]);
            let page: Vec<u8> = (after + 1..=LANES).take(PAGE).collect();
            let fitting = &page[..page.len().min(room)];
            room -= fitting.len();
            found.extend(fitting);
            let last = fitting.last().map(|number| lane(*number));
            if fitting.len() == page.len() {
                scan.read(last, page.len() < PAGE);
            } else {
                scan.overflowed(last, || {
                    room = std::mem::take(&mut more);
                    room
                });
            }
        }
        found
    }

    #[test]
    fn a_pass_reads_each_lane_once() {
        let mut scan = LaneScan::default();
        for _ in 0..2 {
            scan.start();

            assert_eq!(pass(&mut scan, 100, 0), (1..=10).collect::<Vec<_>>());
        }
    }

    #[test]
    fn the_next_pass_continues_behind_the_last_lane_that_fit() {
        let mut scan = LaneScan::default();
        scan.start();
        assert_eq!(pass(&mut scan, 4, 0), [1, 2, 3, 4]);
        scan.start();
        assert!(pass(&mut scan, 0, 0).is_empty());
        scan.start();
        assert_eq!(pass(&mut scan, 4, 0), [5, 6, 7, 8]);

        scan.start();
        let found = pass(&mut scan, 100, 0);

        assert_eq!(found[..2], [9, 10]);
        assert!((1..=8).all(|number| found.contains(&number)), "{found:?}");
    }

    #[test]
    fn a_scan_begins_behind_any_lane_and_reads_all() {
        for after in 0..=LANES + 1 {
            let mut scan = LaneScan::behind(lane(after));
            scan.start();

            let mut found = pass(&mut scan, 100, 0);

            assert_eq!(found[0], if after < LANES { after + 1 } else { 1 });
            found.sort_unstable();
            found.dedup();
            assert_eq!(found, (1..=LANES).collect::<Vec<_>>(), "{after}");
        }
        let (mut one, mut other) = (LaneScan::at_random(), LaneScan::at_random());
        one.start();
        other.start();
        assert_ne!(one.after(), other.after());
    }

    #[test]
    fn requests_for_a_scan_during_a_pass_do_not_return_to_its_beginning() {
        let mut scan = LaneScan::default();
        let mut pages = Vec::new();
        for _ in 0..4 {
            scan.restart();
            let after = scan.after().map_or(0, |lane| lane.destination[0]);
            let page: Vec<u8> = (after + 1..=LANES).take(PAGE).collect();
            scan.read(page.last().map(|number| lane(*number)), page.len() < PAGE);
            pages.push(page);
        }
        assert_eq!(pages, [vec![1, 2, 3], vec![4, 5, 6], vec![7, 8, 9], vec![10]]);

        scan.restart();
        assert_eq!(pass(&mut scan, 100, 0), (1..=LANES).collect::<Vec<_>>());
    }

    #[test]
    fn each_pass_has_one_first_page() {
        let mut scan = LaneScan::default();
        scan.start();
        assert!(scan.is_first_page());

        scan.read(Some(lane(3)), false);
        scan.start();
        assert!(!scan.is_first_page(), "the pass runs");
        scan.overflowed(Some(lane(4)), || 1);
        assert!(!scan.is_first_page());

        scan.restart();
        assert!(scan.is_first_page());
    }

    #[test]
    fn a_page_without_lanes_is_read_again_unless_the_table_has_no_further_lane() {
        let mut scan = LaneScan::behind(lane(3));
        scan.start();

        scan.read(None, false);
        assert_eq!((scan.is_running(), scan.after()), (true, Some(lane(3))));
        scan.read(None, true);
        assert_eq!((scan.is_running(), scan.after()), (true, None));
        scan.read(None, false);
        assert_eq!((scan.is_running(), scan.after()), (true, None));
        scan.read(None, true);
        assert!(!scan.is_running());
    }

    #[test]
    fn a_pass_makes_room_once() {
        let mut scan = LaneScan::default();
        scan.start();

        assert_eq!(pass(&mut scan, 4, 3), [1, 2, 3, 4, 5, 6, 7]);

        scan.start();
        assert_eq!(pass(&mut scan, 0, 2), [8, 9]);
    }
}

//! The part of the groups of a site that a session takes.

use super::*;

#[test]
fn a_session_takes_its_part_of_the_groups_of_its_site_from_one_lane() {
    for (lanes, groups, expected) in [(1, 8, 2), (10, 6, 6), (10, 20, 8), (10, 1, 1)] {
        let mut schedule = Schedule::new(schedule().limits, RouteTable::single(true));
        for lane in 0..lanes {
            for _ in 0..groups {
                schedule.queued(&due(&format!("d{lane}.example")), at(0));
            }
        }
        route(&mut schedule, at(0), |_| Some(smarthost()));
        let mut slots = schedule.reserve_sessions(at(0));

        let (_, groups_max) = taken(&mut schedule, &mut slots[0], at(0)).unwrap();

        assert_eq!((slots.len(), groups_max), (4, expected), "{lanes} lanes of {groups} groups");
    }
}

#[test]
fn a_session_takes_groups_of_further_lanes_up_to_its_part() {
    // Groups of each lane, the messages that the connection can carry, whether further lanes fit, and the groups of each
    // taken lane.
    let cases: [(usize, Option<u32>, bool, &[usize]); 6] = [
        (3, Some(100), true, &[3, 3, 2]),
        (1, Some(100), true, &[1, 1, 1]),
        (8, Some(100), true, &[8]),
        (3, Some(4), true, &[3, 1]),
        (3, None, true, &[3, 3, 2]),
        (3, None, false, &[3]),
    ];
    for (groups, left, fits, expected) in cases {
        let mut schedule = Schedule::new(schedule().limits, RouteTable::single(true));
        for lane in 0..10 {
            for _ in 0..groups {
                schedule.queued(&due(&format!("d{lane}.example")), at(0));
            }
        }
        route(&mut schedule, at(0), |_| Some(smarthost()));
        let mut slots = schedule.reserve_sessions(at(0));
        let Take::Groups { first, part } = schedule.take(&mut slots[0], at(0), left, |_| true) else {
            panic!("no lane of {groups} groups");
        };
        let mut lanes = vec![first];

        schedule.take_further(&mut slots[0], at(0), |_| fits, part, &mut lanes);

        let numbers: Vec<usize> = lanes.iter().map(|lane| lane.groups_max).collect();
        assert_eq!(numbers, expected, "lanes of {groups} groups");
    }
}

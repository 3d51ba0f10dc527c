//! A day of traffic for 10,000 sites with random health, with a turned clock.
//!
//! `world.rs` stands for the dispatcher, the workers and the mail servers. This file checks the limits and the waiting
//! times.

mod world;

use std::collections::BTreeSet;

use world::World;

use super::*;
use crate::base::clock::DAY_MS;

const SITES: u64 = 10_000;
const SESSIONS_MAX: usize = 60;
const SITE_SESSIONS_MAX: usize = 5;
const MESSAGES_PER_SECOND: u32 = 2;
const CONNECTIONS_PER_MINUTE: u32 = 30;
/// Messages that each provider may get on this day.
const ALLOWANCE: u32 = 900;
/// Number of messages that a site which blocks refuses before it accepts one.
const BLOCKED: u32 = 5;
const BULK_STREAM: u8 = 9;
const HOUR_MS: i64 = 3_600_000;
const PROVIDERS: [&str; 3] = ["google", "yahoo", "outlook"];

/// Behaviour of the mail server of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Health {
    Works,
    /// Refuses connections.
    Down,
    /// Accepts connections and sends nothing.
    Silent,
    /// Limits one of ten messages.
    Limits,
    /// Refuses the first messages for reputation.
    Blocks,
}

fn health(site: u64) -> Health {
    match site % 50 {
        3 => Health::Down,
        7 => Health::Silent,
        11 => Health::Limits,
        13 => Health::Blocks,
        _ => Health::Works,
    }
}

fn name_of(site: u64) -> String {
    let provider = usize::try_from(site).ok().and_then(|site| PROVIDERS.get(site));
    provider.map_or_else(|| format!("s{site}.example"), |name| (*name).into())
}

fn host_of(site: u64) -> &'static str {
    ["aspmx.l.google.com", "mx.yahoodns.net", "x.olc.protection.outlook.com"][usize::try_from(site).unwrap()]
}

fn servers_of(site: u64) -> Arc<Servers> {
    if site < 3 { servers(&name_of(site), &[host_of(site)]) } else { servers(&name_of(site), &[&name_of(site)]) }
}

fn at_time(ms: i64) -> Now {
    Now { wall_ms: 20_000 * DAY_MS + ms, elapsed_ms: ms }
}

fn lane_of(site: u64, stream: u8) -> LaneKey {
    let class = if stream == BULK_STREAM { Class::Broadcast } else { Class::Transactional };
    LaneKey::new(&name_of(site), class, Id::from_bytes([stream; 16]))
}

fn site_of(name: &str) -> u64 {
    let provider = PROVIDERS.iter().position(|known| *known == name);
    provider.map_or_else(
        || name.trim_start_matches('s').trim_end_matches(".example").parse().unwrap(),
        |at| u64::try_from(at).unwrap(),
    )
}

/// Checks that in each period of `times` at most `burst` and those of the rate occur.
fn check_rate(times: &[i64], burst: i64, per_minute: i64, what: &str) {
    for (first, start_ms) in times.iter().enumerate() {
        for (number, end_ms) in times[first..].iter().enumerate() {
            let allowed = burst + (end_ms - start_ms) * per_minute / 60_000;
            assert!(i64::try_from(number).unwrap() < allowed, "{what}: {number} from {start_ms} to {end_ms} ms");
        }
    }
}

#[test]
fn a_day_of_traffic_for_ten_thousand_sites_keeps_all_limits_and_delays_no_healthy_site() {
    let mut world = World::new(0x5eed_0123_4567_89ab);
    world.plan(12_000);
    world.run();

    // No limit is exceeded.
    assert!(world.sessions_most <= SESSIONS_MAX, "{}", world.sessions_most);
    assert!((3..=SESSIONS_MAX / 3).contains(&world.failing_most), "{}", world.failing_most);
    for (site, times) in &world.messages {
        check_rate(times, 2, 120, &format!("messages of site {site}"));
    }
    for (site, times) in &world.connections {
        check_rate(times, 5, 30, &format!("connections of site {site}"));
    }
    let sent = |site| world.delivered.iter().filter(|it| it.site == site).count();
    let allowance = usize::try_from(ALLOWANCE).unwrap();
    assert!((0..3).all(|site| sent(site) <= allowance), "{:?}", [sent(0), sent(1), sent(2)]);
    let bulk = world.waits(|it| it.stream == BULK_STREAM).len();
    assert!(bulk > 300 && sent(0) - bulk > 250 && sent(0) > allowance * 95 / 100, "{bulk} of {}", sent(0));

    // Healthy sites get their mail within seconds, and no stream waits behind the backlog of another.
    let healthy = world.waits(|it| it.site >= 3 && health(it.site) == Health::Works);
    assert!(healthy.len() > 8_000 && healthy[healthy.len() - 1] < 3_000, "{:?}", healthy.last());
    let beside_bulk = world.waits(|it| {
        it.site == 0 && it.stream != BULK_STREAM && (0..10 * 60_000).contains(&(it.accepted_ms - 6 * HOUR_MS))
    });
    assert!(beside_bulk.last().is_none_or(|wait_ms| *wait_ms < 15_000), "{beside_bulk:?}");
    let beside_burst =
        world.waits(|it| it.site == 1 && it.stream < 3 && (0..60_000).contains(&(it.accepted_ms - 3 * HOUR_MS)));
    assert!(beside_burst.len() >= 2 && beside_burst.iter().all(|wait_ms| *wait_ms < 15_000), "{beside_burst:?}");
    let burst = world.waits(|it| it.site == 1 && it.accepted_ms == 3 * HOUR_MS);
    assert!(burst.len() == 200 && burst[199] > 60_000, "the burst takes its time: {:?}", burst.last());

    // A site that blocks gets its mail after the block. Nothing is lost.
    let blocked = world.waits(|it| health(it.site) == Health::Blocks);
    assert!(blocked.len() > 80, "{}", blocked.len());
    let in_sessions: usize = world.sessions.values().map(|session| session.groups.len()).sum();
    let queued: usize = world.table.values().map(BTreeSet::len).sum();
    assert_eq!(world.delivered.len() + queued + in_sessions, world.accepted);
}

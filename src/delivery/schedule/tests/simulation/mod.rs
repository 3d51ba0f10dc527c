//! Days of traffic for thousands of sites whose health changes, with a turned clock.
//!
//! - `world.rs` stands for the dispatcher, the workers and the mail servers;
//! - `health.rs`: the health of the mail servers;
//! - `traffic.rs`: the emails;
//! - `checks.rs`: the limits and the waiting times.

mod checks;
mod health;
mod traffic;
mod world;

use std::collections::BTreeSet;

use world::World;

use super::*;
use crate::base::clock::{DAY_MS, utc_day};
use crate::delivery::rows::WarmUpRow;
use crate::delivery::warm_up::WarmUpPlan;

const SESSIONS_MAX: usize = 60;
const SITE_SESSIONS_MAX: usize = 5;
const MESSAGES_PER_SECOND: u32 = 2;
const CONNECTIONS_PER_MINUTE: u32 = 30;
/// Plan of the messages to each provider.
const PLAN: WarmUpPlan = WarmUpPlan { start: 900, growth_percent: 150, target: 100_000 };
/// Number of messages that a site which blocks refuses before it accepts one.
const BLOCKED: u32 = 5;
const BULK_STREAM: u8 = 9;
/// Number of bulk emails to the first provider on each day.
const BULK_EMAILS: usize = 1_200;
/// Site that is down for some hours, with a backlog at their end.
const BACKLOG_SITE: u64 = 20;
/// Time beyond the longest pause in which a site that works again gets its mail: failing sites share few sessions.
const RETURN_MARGIN_MS: i64 = 2 * MINUTE_MS;
const MINUTE_MS: i64 = 60_000;
const HOUR_MS: i64 = 60 * MINUTE_MS;
const PROVIDERS: [&str; 3] = ["google", "yahoo", "outlook"];

/// The traffic of a simulation.
#[derive(Clone, Copy, Debug)]
struct Run {
    seed: u64,
    sites: u64,
    /// Number of emails to single sites. They are accepted on the first day.
    emails: usize,
    days: i64,
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

/// Simulates the traffic and checks the result.
fn run(run: Run) -> World {
    let mut world = World::new(run);
    world.plan_first_day();
    for day in 1..run.days {
        world.plan_later_day(day);
    }
    world.run();
    world.check();
    world
}

#[test]
fn a_day_of_traffic_for_ten_thousand_sites_keeps_all_limits_and_delays_no_healthy_site() {
    run(Run { seed: 0x5eed_0123_4567_89ab, sites: 10_000, emails: 10_800, days: 1 });
}

#[test]
fn a_day_of_other_traffic_keeps_all_limits_and_delays_no_healthy_site() {
    run(Run { seed: 0x0dd_ba11_cafe_f00d, sites: 1_500, emails: 1_800, days: 1 });
}

#[test]
fn three_days_of_traffic_keep_all_limits_while_the_allowance_of_a_provider_grows() {
    let world = run(Run { seed: 0xfeed_5678_9abc_def1, sites: 1_500, emails: 1_800, days: 3 });
    world.check_growth();
}

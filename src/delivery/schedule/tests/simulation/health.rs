//! The health of the mail servers of the simulation, which changes during the first day.

use super::HOUR_MS;

/// Behaviour of the mail server of a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Health {
    Works,
    /// Refuses connections.
    Down,
    /// Accepts connections and sends nothing.
    Silent,
    /// Takes seconds for its greeting and for each message.
    Slow,
    /// Limits one of ten messages.
    Limits,
    /// Refuses the first messages for reputation.
    Blocks,
    /// Refuses every message for reputation.
    Refuses,
}

/// Health of a site during some hours. The site works before and after them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Fault {
    pub(super) health: Health,
    pub(super) from_ms: i64,
    pub(super) until_ms: i64,
}

/// Returns the hours in which a site does not work, which depend on the seed; `None` if its health is constant.
pub(super) fn fault(seed: u64, site: u64) -> Option<Fault> {
    let health = match site % 200 {
        20 => Health::Down,
        70 => Health::Refuses,
        120 => Health::Slow,
        _ => return None,
    };
    let random = mixed(seed, site);
    let below_ms = |random: u64, below_ms: i64| i64::try_from(random >> 32).unwrap() % below_ms;
    let from_ms = HOUR_MS + below_ms(random, 8 * HOUR_MS);
    let until_ms = from_ms + 2 * HOUR_MS + below_ms(random << 32, 4 * HOUR_MS);
    Some(Fault { health, from_ms, until_ms })
}

/// Returns a random number that depends on the seed and the site (SplitMix64).
fn mixed(seed: u64, site: u64) -> u64 {
    let mixed = seed ^ site.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed ^ (mixed >> 27)
}

/// Returns the health of a site at a time.
pub(super) fn health(seed: u64, site: u64, at_ms: i64) -> Health {
    match fault(seed, site) {
        Some(fault) if (fault.from_ms..fault.until_ms).contains(&at_ms) => fault.health,
        _ => constant(site),
    }
}

/// Returns whether a site works all the time.
pub(super) fn always_works(seed: u64, site: u64) -> bool {
    constant(site) == Health::Works && fault(seed, site).is_none()
}

/// Returns whether a site works from a time on.
pub(super) fn works_from(seed: u64, site: u64, at_ms: i64) -> bool {
    constant(site) == Health::Works && fault(seed, site).is_none_or(|fault| fault.until_ms <= at_ms)
}

/// Returns the health of a site outside of its fault.
pub(super) fn constant(site: u64) -> Health {
    match site % 50 {
        3 => Health::Down,
        7 => Health::Silent,
        11 => Health::Limits,
        13 => Health::Blocks,
        _ => Health::Works,
    }
}

//! Settings of the limits of all messages of this server, which the planner of broadcasts keeps.

use clap::{Args, value_parser};

use crate::broadcasts::planner::SendLimits;

/// Settings of sending limits as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct SendLimitSettings {
    /// Number of messages per second that this server may send, up to 100000. Broadcasts are paced to leave room for other
    /// email; 0 is no limit.
    #[arg(long, env = "RINGMAIL_SEND_RATE", value_name = "N", default_value_t = 0,
          value_parser = value_parser!(u32).range(0..=100_000), help_heading = "Delivering")]
    send_rate: u32,

    /// Number of messages that this server may send in any 24 hours, up to 1000000000, such as the quota of a smarthost.
    /// Broadcasts use at most 70% of it; 0 is no limit.
    #[arg(long, env = "RINGMAIL_SEND_QUOTA", value_name = "N", default_value_t = 0,
          value_parser = value_parser!(u64).range(0..=1_000_000_000), help_heading = "Delivering")]
    send_quota: u64,
}

impl From<SendLimitSettings> for SendLimits {
    fn from(settings: SendLimitSettings) -> Self {
        let SendLimitSettings { send_rate, send_quota } = settings;
        Self { per_second: (send_rate > 0).then_some(send_rate), per_day: (send_quota > 0).then_some(send_quota) }
    }
}

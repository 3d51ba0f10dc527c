//! Settings of retries.

use std::time::Duration;

use clap::Args;

use super::values;
use crate::delivery::RetrySchedule;

/// Settings of retries as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct RetrySettings {
    /// Delays between attempts, each 100ms to 5d; the last one repeats.
    #[arg(long, env = "RINGMAIL_RETRY_DELAYS", value_name = "DURATION", value_delimiter = ',',
          default_value = "1m,3m,5m,10m,20m,40m,1h,2h,4h", value_parser = values::retry_delay,
          help_heading = "Delivering")]
    retry_delays: Vec<Duration>,

    /// Retry period of a transactional email: 1s to 5d.
    #[arg(long, env = "RINGMAIL_EXPIRE_AFTER", value_name = "DURATION", default_value = "48h",
          value_parser = values::expire_after, help_heading = "Delivering")]
    expire_after: Duration,

    /// Retry period of an email of a broadcast: 1s to 5d.
    #[arg(long, env = "RINGMAIL_EXPIRE_BROADCASTS_AFTER", value_name = "DURATION", default_value = "72h",
          value_parser = values::expire_after, help_heading = "Delivering")]
    expire_broadcasts_after: Duration,

    /// Time before the second lookup of a missing domain, 100ms to 5d. For tests.
    #[arg(long, env = "RINGMAIL_CONFIRM_AFTER", value_name = "DURATION", default_value = "15m", hide = true,
          value_parser = values::retry_delay, help_heading = "Delivering")]
    confirm_after: Duration,
}

impl From<RetrySettings> for RetrySchedule {
    fn from(settings: RetrySettings) -> Self {
        let RetrySettings { retry_delays, expire_after, expire_broadcasts_after, confirm_after } = settings;
        Self { delays: retry_delays, expire_after, expire_broadcasts_after, confirm_after }
    }
}

//! Settings of opens and clicks.

use std::time::Duration;

use clap::{Args, value_parser};

/// Settings of opens and clicks as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct EngagementSettings {
    /// Seconds after delivery in which no person opens an email or follows a link, up to 3600: earlier requests are those of
    /// software; 0 disables the rule.
    #[arg(long, env = "RINGMAIL_PREFETCH_WINDOW_S", value_name = "SECONDS", default_value_t = 10,
          value_parser = value_parser!(u32).range(0..=3_600), help_heading = "Delivering")]
    prefetch_window_s: u32,
}

impl EngagementSettings {
    /// Returns the time after delivery in which requests are those of software.
    pub(super) fn prefetch_window(&self) -> Duration {
        Duration::from_secs(self.prefetch_window_s.into())
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::engagement::PREFETCH_WINDOW;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        settings: EngagementSettings,
    }

    fn window(arguments: &[&str]) -> Option<Duration> {
        let line = Line::try_parse_from([&["ringmail"], arguments].concat()).ok()?;
        Some(line.settings.prefetch_window())
    }

    #[test]
    fn the_default_is_that_of_the_rules_and_zero_is_accepted() {
        assert_eq!(window(&[]), Some(*PREFETCH_WINDOW));
        assert_eq!(window(&["--prefetch-window-s", "0"]), Some(Duration::ZERO));
        assert_eq!(window(&["--prefetch-window-s", "3601"]), None);
    }
}

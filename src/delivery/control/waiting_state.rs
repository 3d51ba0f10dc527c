//! The states of a group that waits in the queue.

use crate::base::words::words;

words! {
    /// State of a queued group. The words are part of the API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum WaitingState {
        /// The email is scheduled.
        Scheduled = "scheduled",
        /// The emails of its broadcast are still being put into the queue.
        FanOut = "fan_out",
        /// The next attempt follows after a delay.
        Retry = "retry",
        /// It waits for a session.
        Session = "session",
        /// The mail servers are being looked up.
        Lookup = "lookup",
        /// The lookup of the mail servers failed.
        LookupFailed = "lookup_failed",
        /// The mail servers cannot be connected to.
        HostsPaused = "hosts_paused",
        /// The mail servers refused or limited mail of this server.
        SitePaused = "site_paused",
        /// The rate of the site is reached.
        RateLimited = "rate_limited",
        /// The warm-up plan allows no further message today.
        WarmUp = "warm_up",
        /// The broadcasts of the team are slowed down.
        Slowed = "slowed",
        /// The operator holds it.
        Held = "held",
        /// The server delivers no mail.
        QueueHeld = "queue_held",
        /// No server runs.
        Stopped = "stopped",
    }
}

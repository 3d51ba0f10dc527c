//! The states of a group that waits in the queue.

/// State of a queued group. The words are part of the API.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitingState {
    /// The email is scheduled.
    Scheduled,
    /// The emails of its broadcast are still being put into the queue.
    FanOut,
    /// The next attempt follows after a delay.
    Retry,
    /// It waits for a session.
    Session,
    /// The mail servers are being looked up.
    Lookup,
    /// The lookup of the mail servers failed.
    LookupFailed,
    /// The mail servers cannot be connected to.
    HostsPaused,
    /// The mail servers refused or limited mail of this server.
    SitePaused,
    /// The rate of the site is reached.
    RateLimited,
    /// The warm-up plan allows no further message today.
    WarmUp,
    /// The broadcasts of the team are slowed down.
    Slowed,
    /// The operator holds it.
    Held,
    /// The server delivers no mail.
    QueueHeld,
    /// No server runs.
    Stopped,
}

impl WaitingState {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Scheduled => "scheduled",
            Self::FanOut => "fan_out",
            Self::Retry => "retry",
            Self::Session => "session",
            Self::Lookup => "lookup",
            Self::LookupFailed => "lookup_failed",
            Self::HostsPaused => "hosts_paused",
            Self::SitePaused => "site_paused",
            Self::RateLimited => "rate_limited",
            Self::WarmUp => "warm_up",
            Self::Slowed => "slowed",
            Self::Held => "held",
            Self::QueueHeld => "queue_held",
            Self::Stopped => "stopped",
        }
    }
}

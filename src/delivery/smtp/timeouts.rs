//! How long each phase may take.

use std::time::Duration;

/// The limits of one conversation. The defaults keep the minima of RFC 5321 §4.5.3.2 where waiting is useful and are
/// shorter before the first message, where a slow host has an alternative: the next one.
#[derive(Clone, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// 60 s, for a first attempt; see [`Timeouts::patient`].
    pub greeting: Duration,
    pub ehlo: Duration,
    /// STARTTLS and the handshake together, or the handshake alone.
    pub tls: Duration,
    /// The whole SASL exchange, per command.
    pub auth: Duration,
    pub mail: Duration,
    pub rcpt: Duration,
    pub data: Duration,
    /// One block of the message, without progress in between.
    pub block: Duration,
    /// The whole message must travel at least this fast, after `block` as a start.
    pub data_rate_min_bytes_per_second: u64,
    pub final_dot: Duration,
    pub rset: Duration,
    /// For what changes nothing any more: the reply to QUIT, the last words of a server that has hung up.
    pub quit: Duration,
    /// The watchdog: from MAIL to the reply to the final dot.
    pub transaction: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(30),
            greeting: seconds(60),
            ehlo: seconds(120),
            tls: seconds(30),
            auth: seconds(120),
            // RFC 5321 §4.5.3.2.2 and §4.5.3.2.3: five minutes for MAIL and for RCPT.
            mail: seconds(300),
            rcpt: seconds(300),
            // RFC 5321 §4.5.3.2.4: two minutes for DATA.
            data: seconds(120),
            // RFC 5321 §4.5.3.2.5: three minutes for a block.
            block: seconds(180),
            data_rate_min_bytes_per_second: 500,
            // RFC 5321 §4.5.3.2.6: ten minutes for the final dot, since giving up early makes duplicates.
            final_dot: seconds(600),
            rset: seconds(30),
            quit: seconds(5),
            transaction: seconds(20 * 60),
        }
    }
}

impl Timeouts {
    /// Returns the limits for a host that has kept a first attempt waiting.
    ///
    /// RFC 5321 §4.5.3.2.1: five minutes for the greeting, which some hosts delay on purpose.
    pub fn patient(self) -> Self {
        Self { greeting: Duration::from_secs(300), ..self }
    }

    /// Returns how long a message of this many bytes may take to be written.
    pub(super) fn body(&self, message_bytes: u64) -> Duration {
        let rate = self.data_rate_min_bytes_per_second.max(1);
        self.block + Duration::from_secs(message_bytes / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_larger_message_may_take_longer() {
        let timeouts = Timeouts::default();

        assert_eq!(timeouts.body(0), Duration::from_secs(180));
        assert_eq!(timeouts.body(50_000), Duration::from_secs(280));
        assert!(timeouts.body(u64::MAX) > Duration::from_secs(180));
    }
}

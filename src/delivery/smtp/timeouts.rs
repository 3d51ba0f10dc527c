//! Time limits of the phases of a session.

use std::time::Duration;

/// Time limits of one session.
///
/// From MAIL to the final dot, the defaults are the minima of RFC 5321 §4.5.3.2. Before MAIL they are shorter, because
/// the next host is an alternative to a slow one.
#[derive(Clone, Debug)]
pub struct Timeouts {
    pub connect: Duration,
    /// The default is 60 s. See [`Timeouts::for_slow_greeting`].
    pub greeting: Duration,
    pub ehlo: Duration,
    /// STARTTLS and the handshake together, or the handshake alone.
    pub tls: Duration,
    /// Each command of the SASL exchange.
    pub auth: Duration,
    pub mail: Duration,
    pub rcpt: Duration,
    pub data: Duration,
    /// One write of up to 32 KiB of the message.
    pub block: Duration,
    /// Minimum rate of the whole message. Its limit is `block` plus the time of the message at this rate.
    pub data_rate_min_bytes_per_second: u64,
    pub final_dot: Duration,
    pub rset: Duration,
    /// The reply to QUIT, and a last reply from a server that has stopped reading.
    pub quit: Duration,
    /// The whole transaction, from MAIL to the reply to the final dot.
    pub transaction: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connect: seconds(10),
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
            // RFC 5321 §4.5.3.2.6: ten minutes for the final dot. A shorter limit causes duplicates.
            final_dot: seconds(600),
            rset: seconds(30),
            quit: seconds(5),
            transaction: seconds(20 * 60),
        }
    }
}

impl Timeouts {
    /// Returns the limits for a host that sent no greeting in time before.
    ///
    /// RFC 5321 §4.5.3.2.1: five minutes for the greeting. Some hosts delay it intentionally.
    pub fn for_slow_greeting(self) -> Self {
        Self { greeting: Duration::from_secs(300), ..self }
    }

    /// Returns the time limit for writing a message of this size.
    pub(super) fn body(&self, message_bytes: u64) -> Duration {
        let rate = self.data_rate_min_bytes_per_second.max(1);
        self.block + Duration::from_secs(message_bytes / rate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_host_that_was_slow_before_gets_five_minutes_for_its_greeting() {
        let (first, slow) = (Timeouts::default(), Timeouts::default().for_slow_greeting());

        assert_eq!((first.connect, first.greeting), (Duration::from_secs(10), Duration::from_secs(60)));
        assert_eq!((slow.connect, slow.greeting), (Duration::from_secs(10), Duration::from_secs(300)));
    }

    #[test]
    fn a_larger_message_may_take_longer() {
        let timeouts = Timeouts::default();

        assert_eq!(timeouts.body(0), Duration::from_secs(180));
        assert_eq!(timeouts.body(50_000), Duration::from_secs(280));
        assert!(timeouts.body(u64::MAX) > Duration::from_secs(180));
    }
}

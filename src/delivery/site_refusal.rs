//! The refusal of a site: how it limits the following mail, and the pause that its reply names. No I/O.

use std::time::Duration;

use super::smtp::{Action, Reply, SiteThrottle, SmtpPhase, classify};

/// Characters of a reply that are kept.
const REPLY_CHARS_MAX: usize = 300;
/// Longest pause that a reply can name. A longer one is shortened to it.
const NAMED_PAUSE_MAX: Duration = Duration::from_secs(4 * 60 * 60);
/// Words of which one must be in a reply that names a pause.
const PAUSE_WORDS: [&str; 9] = ["again", "retry", "wait", "delay", "grey", "defer", "come back", "later", "slow"];

/// A reply or a lost connection after which the site gets less mail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SiteRefusal {
    pub(super) throttle: SiteThrottle,
    /// The reply without addresses, or the description of the failure.
    pub(super) reply: String,
    /// Pause that the reply names.
    pub(super) pause: Option<Duration>,
    /// URL to request removal from a blocklist.
    pub(super) delisting: Option<&'static str>,
}

impl SiteRefusal {
    /// Returns the refusal of a site that broke a session off.
    pub(super) fn broken_off(reason: String) -> Self {
        Self { throttle: SiteThrottle::Halve, reply: reason, pause: None, delisting: None }
    }

    /// Returns the refusal that a reply is about the whole site. `action` is that of its verdict.
    pub(super) fn new(reply: &Reply, action: Action) -> Self {
        let (throttle, delisting) = match action {
            Action::HoldSite { throttle, delist } => (throttle, delist),
            Action::ThrottleSite { throttle } => (throttle, None),
            _ => (SiteThrottle::Halve, None),
        };
        Self { throttle, reply: without_addresses(&reply.to_string()), pause: named_pause(reply), delisting }
    }

    /// Returns the refusal by a reply with which the site closes the connection, or by which it refuses a session.
    pub(super) fn of_session(phase: SmtpPhase, reply: &Reply, host: &str) -> Self {
        Self::new(reply, classify(phase, reply, host).action)
    }

    /// Returns whether the refusal concerns the reputation of this server, and not only its number of connections.
    pub(super) fn is_suspension(&self) -> bool {
        self.throttle != SiteThrottle::Halve
    }

    /// Returns the more severe of two refusals.
    pub(super) fn or_worse(self, other: Self) -> Self {
        if severity(other.throttle) > severity(self.throttle) { other } else { self }
    }
}

/// Returns the order of throttles.
pub(super) fn severity(throttle: SiteThrottle) -> u32 {
    match throttle {
        SiteThrottle::Halve => 0,
        SiteThrottle::Trickle { .. } => 1,
        SiteThrottle::Stop { .. } => 2,
    }
}

/// Returns a reply with each address replaced, and shortened to [`REPLY_CHARS_MAX`] characters.
pub(crate) fn without_addresses(reply: &str) -> String {
    let is_edge = |c: char| !(c.is_alphanumeric() || c == '@');
    let mut text = String::new();
    for (number, word) in reply.split_whitespace().enumerate() {
        if number > 0 {
            text.push(' ');
        }
        match word.contains('@') {
            false => text.push_str(word),
            true => {
                let (start, end) = (word.trim_start_matches(is_edge), word.trim_end_matches(is_edge));
                text.push_str(&word[..word.len() - start.len()]);
                text.push_str("[address]");
                text.push_str(&word[end.len().max(word.len() - start.len())..]);
            }
        }
    }
    text.chars().take(REPLY_CHARS_MAX).collect()
}

/// Returns the pause that a reply requests, such as "try again in 5 minutes", at most [`NAMED_PAUSE_MAX`]. A reply with
/// the code 4.7 needs no word such as "again", because it limits the sender.
pub(super) fn named_pause(reply: &Reply) -> Option<Duration> {
    let text = reply.text.to_ascii_lowercase();
    if !matches!(reply.enhanced, Some((4, 7, _))) && !PAUSE_WORDS.iter().any(|word| text.contains(word)) {
        return None;
    }
    let words = text.split(|c: char| c.is_whitespace() || "()[],;".contains(c)).map(|word| word.trim_matches('.'));
    // The empty word is the unit of a number at the end.
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).chain([""]).collect();
    let seconds = words.windows(3).find_map(|window| {
        let follows = ["in", "after", "for", "least", "about", "wait", "within", "another"].contains(&window[0]);
        follows.then(|| seconds_of(window[1], window[2])).flatten()
    })?;
    Some(Duration::from_secs(seconds).min(NAMED_PAUSE_MAX)).filter(|pause| !pause.is_zero())
}

/// Returns the seconds of a number with its unit, such as `5 minutes`, `300s` or `00:04:59`.
fn seconds_of(number: &str, unit: &str) -> Option<u64> {
    let parts: Vec<&str> = number.split(':').collect();
    if let [hours, minutes, seconds] = parts[..] {
        let part = |text: &str| text.parse::<u64>().ok().filter(|part| *part < 60);
        return Some(part(hours)? * 3_600 + part(minutes)? * 60 + part(seconds)?);
    }
    let digits = number.bytes().take_while(u8::is_ascii_digit).count();
    let (count, attached) = number.split_at(digits);
    let count: u64 = count.parse().ok()?;
    let unit = if attached.is_empty() { unit } else { attached };
    let seconds = match unit {
        "s" | "sec" | "secs" | "second" | "seconds" => 1,
        "m" | "min" | "mins" | "minute" | "minutes" => 60,
        "h" | "hr" | "hrs" | "hour" | "hours" => 3_600,
        _ => return None,
    };
    count.checked_mul(seconds)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reply(code: u16, text: &str) -> Reply {
        crate::delivery::smtp::parse_reply(format!("{code} {text}\r\n").as_bytes()).unwrap().0
    }

    fn refusal(code: u16, text: &str) -> SiteRefusal {
        SiteRefusal::of_session(SmtpPhase::Mail, &reply(code, text), "mx.example.net")
    }

    #[test]
    fn a_reply_names_its_pause() {
        for (text, seconds) in [
            ("Please try again in 300 seconds.", Some(300)),
            ("Greylisted, retry in 5 min", Some(300)),
            ("Greylisted for 5 minutes (see https://postmaster.example/)", Some(300)),
            ("Too many messages, try again in 2 hours", Some(7_200)),
            ("Try again after 90s", Some(90)),
            ("Rate limited. Please wait 10 mins before trying again", Some(600)),
            ("Try again in at least 1 minute", Some(60)),
            ("Greylisting in effect, please come back in 00:04:59", Some(299)),
            ("deferred for 7 days, try again in 9 hours", Some(4 * 3_600)),
            ("try again in 900 hours", Some(4 * 3_600)),
            ("try again in 99999999999999999999 hours", None),
            ("try again in 0 seconds", None),
            ("try again later", None),
            ("you have sent 100 messages in 10 minutes", None),
            ("try again, error 42", None),
            ("4.7.0 Rate limit: new messages are accepted in 15 minutes", Some(900)),
            ("4.3.0 Maintenance ends in 15 minutes", None),
            ("", None),
        ] {
            assert_eq!(named_pause(&reply(450, text)), seconds.map(Duration::from_secs), "{text}");
        }
    }

    #[test]
    fn a_kept_reply_has_no_address() {
        for (reply, expected) in [
            ("421 4.7.0 slow down", "421 4.7.0 slow down"),
            ("450 <ada@shop.example>: not yet", "450 <[address]>: not yet"),
            ("450 ada@shop.example deferred", "450 [address] deferred"),
            ("450 (to=ada+x@shop.example)", "450 ([address])"),
            ("450 \"a@b\"@c.example,<d@e.example> x", "450 \"[address]> x"),
            ("450 @ no", "450 [address] no"),
        ] {
            assert_eq!(without_addresses(reply), expected);
            assert!(!without_addresses(reply).contains("example>"), "{reply}");
        }
        assert_eq!(without_addresses(&"é".repeat(1_000)).chars().count(), REPLY_CHARS_MAX);
    }

    #[test]
    fn a_refusal_has_the_throttle_of_its_reply() {
        for (code, text, throttle) in [
            (421, "4.3.2 closing, too many connections", SiteThrottle::Halve),
            (421, "4.7.28 unusual rate of unsolicited mail", SiteThrottle::Trickle { minutes: 90 }),
            (421, "4.7.0 your server is temporarily rate limited", SiteThrottle::Trickle { minutes: 90 }),
            (421, "4.7.0 try again later, closing connection", SiteThrottle::Halve),
            (421, "4.7.0 [TSS04] Messages temporarily deferred", SiteThrottle::Stop { minutes: 120 }),
            (421, "4.7.0 [TS04] Messages temporarily deferred", SiteThrottle::Stop { minutes: 120 }),
            (550, "5.7.606 Access denied, banned sending IP", SiteThrottle::Trickle { minutes: 90 }),
        ] {
            let refusal = refusal(code, text);
            assert_eq!(refusal.throttle, throttle, "{text}");
            assert_eq!(refusal.is_suspension(), throttle != SiteThrottle::Halve);
        }
        let (halve, stop) = (refusal(421, "closing"), refusal(421, "[TSS04] deferred"));
        assert!(stop.delisting.is_some());
        assert_eq!(halve.clone().or_worse(stop.clone()), stop);
        assert_eq!(stop.clone().or_worse(halve), stop);
    }
}

//! Recipients whose outcome is known beforehand: they exist in every mode, never touch the
//! network and never reach the suppression list.

use crate::address::EmailAddress;

/// The domains of simulated recipients: the compatible API's, and our own.
const DOMAINS: [&str; 2] = ["resend.dev", "ringmail.test"];

/// What becomes of a simulated recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Delivered.
    Delivered,
    /// Bounced for good.
    Bounced,
    /// Delivered, then reported as spam.
    Complained,
    /// Counted as suppressed when the send is accepted.
    Suppressed,
    /// Delayed once, then delivered.
    Delayed,
}

/// Returns the outcome of a simulated recipient; `None` for a real one. A `+label` is ignored.
pub fn outcome(address: &EmailAddress) -> Option<Outcome> {
    if !DOMAINS.contains(&address.domain().as_str()) {
        return None;
    }
    let local = address.local().split('+').next().unwrap_or_default();
    match local.to_ascii_lowercase().as_str() {
        "delivered" => Some(Outcome::Delivered),
        "bounced" => Some(Outcome::Bounced),
        "complained" => Some(Outcome::Complained),
        "suppressed" => Some(Outcome::Suppressed),
        "delayed" => Some(Outcome::Delayed),
        _ => None,
    }
}

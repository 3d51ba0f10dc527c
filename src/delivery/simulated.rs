//! Simulated recipients: test addresses whose outcome is in their local part. They work in every
//! delivery mode, use no network and add no suppressions.

/// Domains of simulated recipients: that of the compatible API, and that of this server.
const DOMAINS: [&str; 2] = ["resend.dev", "ringmail.test"];
/// Destination of all simulated recipients. A real domain has a dot.
pub const DESTINATION: &str = "simulated";

/// Outcome of a simulated recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOutcome {
    Delivered,
    /// Permanent bounce.
    Bounced,
    /// Delivered, then reported as spam.
    Complained,
    /// Suppressed when the email is accepted.
    Suppressed,
    /// Deferred once, then delivered.
    Delayed,
}

/// Returns the outcome of a bare address; `None` if the recipient is not simulated. Ignores case and
/// a `+label`.
pub fn outcome(address: &str) -> Option<SimulatedOutcome> {
    let (local, domain) = address.rsplit_once('@')?;
    if !DOMAINS.contains(&domain) {
        return None;
    }
    let local = local.split('+').next().unwrap_or_default();
    match local.to_ascii_lowercase().as_str() {
        "delivered" => Some(SimulatedOutcome::Delivered),
        "bounced" => Some(SimulatedOutcome::Bounced),
        "complained" => Some(SimulatedOutcome::Complained),
        "suppressed" => Some(SimulatedOutcome::Suppressed),
        "delayed" => Some(SimulatedOutcome::Delayed),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_and_case_are_ignored() {
        for (address, expected) in [
            ("delivered@resend.dev", Some(SimulatedOutcome::Delivered)),
            ("Bounced+order-7@ringmail.test", Some(SimulatedOutcome::Bounced)),
            ("complained+@resend.dev", Some(SimulatedOutcome::Complained)),
            ("suppressed@ringmail.test", Some(SimulatedOutcome::Suppressed)),
            ("delayed@resend.dev", Some(SimulatedOutcome::Delayed)),
            ("someone@resend.dev", None),
            ("delivered@example.com", None),
            ("delivered", None),
        ] {
            assert_eq!(outcome(address), expected, "{address}");
        }
    }
}

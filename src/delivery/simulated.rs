//! Recipients whose outcome is known beforehand: they exist in every mode, never touch the
//! network and never reach the suppression list.

/// The domains of simulated recipients: the compatible API's, and our own.
const DOMAINS: [&str; 2] = ["resend.dev", "ringmail.test"];
/// Where their mail goes. It has no dot, so that no domain is called so.
pub const DESTINATION: &str = "simulated";

/// What becomes of a simulated recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SimulatedOutcome {
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

/// Returns the outcome of a bare address; `None` for a real one. A `+label` is ignored.
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
    fn a_label_and_the_case_do_not_matter() {
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

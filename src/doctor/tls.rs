//! The encryption of the sessions of direct delivery. Gmail requires TLS of all senders.

use super::DoctorSettings;
use super::report::SetupCheck;
use crate::delivery::Engine;

const NAME: &str = "tls";
/// Sessions below which their encryption is not judged.
const SESSIONS_MIN: u64 = 20;
/// Maximum percentage of sessions without TLS. Some mail servers do not offer it.
const WITHOUT_TLS_PERCENT_MAX: u64 = 10;

/// Judges the sessions of a running server since its start.
pub(super) fn check(settings: &DoctorSettings, engine: Option<&Engine>) -> SetupCheck {
    if settings.delivery.direct.is_none() {
        return SetupCheck::not_checked(
            NAME,
            "only direct delivery opens sessions with the mail servers of recipients",
        );
    }
    match engine {
        None => SetupCheck::not_checked(NAME, "no server runs, so that no session is opened"),
        Some(engine) => judge(engine.figures().direct_openings),
    }
}

/// Judges the numbers of sessions with TLS, and without.
fn judge([with_tls, without_tls]: [u64; 2]) -> SetupCheck {
    let sessions = with_tls + without_tls;
    let seen = format!("{without_tls} of {sessions} SMTP sessions since the start of the server had no TLS");
    if sessions < SESSIONS_MIN {
        return SetupCheck::not_checked(NAME, format!("{seen}, and at least {SESSIONS_MIN} sessions are needed"));
    }
    let expected =
        format!("at most {WITHOUT_TLS_PERCENT_MAX}% of the sessions have no TLS, which large providers require");
    if without_tls.saturating_mul(100) <= sessions.saturating_mul(WITHOUT_TLS_PERCENT_MAX) {
        return SetupCheck::ok(NAME, seen, expected);
    }
    let fix = "Read a transcript with `ringmail trace`. If no mail server offers STARTTLS, a firewall of your network or \
               of your provider removes it: turn off its inspection of SMTP.";
    SetupCheck::failed(NAME, seen, expected, fix).into_warning()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus::{NotChecked, Ok as Passed, Warning};
    use crate::doctor::host_name::tests::direct_from;

    #[test]
    fn many_sessions_without_tls_are_a_warning() {
        for (sessions, without_tls, status) in [
            (0, 0, NotChecked),
            (19, 19, NotChecked),
            (20, 0, Passed),
            (20, 2, Passed),
            (20, 3, Warning),
            (1_000, 100, Passed),
            (1_000, 101, Warning),
        ] {
            let check = judge([sessions - without_tls, without_tls]);
            assert_eq!(check.status, status, "{check:?}");
            assert!(check.seen.starts_with(&format!("{without_tls} of {sessions} SMTP sessions")), "{check:?}");
            assert_eq!(check.fix.is_some(), status == Warning, "{check:?}");
        }
    }

    #[test]
    fn sessions_are_checked_in_direct_delivery_by_a_running_server() {
        let direct = direct_from("mail.example.com", &[]);
        let mut relayed = direct.clone();
        relayed.delivery.direct = None;

        for (settings, words) in [(direct, "no server runs"), (relayed, "only direct delivery")] {
            let check = check(&settings, None);
            assert!(check.status == NotChecked && check.seen.contains(words), "{check:?}");
        }
    }
}

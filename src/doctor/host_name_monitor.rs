//! The checks of the EHLO names in a running server: at the start and every six hours.
//!
//! Large providers refuse email from an EHLO name that the DNS does not confirm. A change of the result is one line in the
//! log, and the result is a metric. A failed lookup does not change the result, and is repeated soon.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::sync::Mutex;
use std::time::Duration;

use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::report::{CheckStatus, SetupCheck};
use super::{Doctor, DoctorSettings, TIME_MAX, host_name};
use crate::base::clock::Clock;
use crate::base::printable::printable;
use crate::base::sync;
use crate::dns::Resolver;
use crate::workers::every;

/// Interval for polling the time of the next check. A poll costs one lock and one comparison.
const POLL_EVERY: Duration = Duration::from_secs(1);
/// Time between two checks.
const CHECK_EVERY_MS: i64 = 6 * 60 * 60 * 1_000;
/// Time until the next check if a lookup failed.
const REPEAT_AFTER_MS: i64 = 5 * 60 * 1_000;
/// Characters of a problem in the log. Other servers write parts of it.
const PROBLEM_CHARS_MAX: usize = 600;

/// Name and subject of a check.
type CheckKey = (String, Option<String>);

/// The last result of the checks of the EHLO names, in memory.
#[derive(Debug, Default)]
pub(super) struct HostNameMonitor(Mutex<MonitorState>);

#[derive(Debug, Default)]
struct MonitorState {
    /// Time of the next check on the monotonic clock; `None` before the first check.
    next_check_ms: Option<i64>,
    /// Checks that failed; `None` before the first result.
    failed: Option<BTreeSet<CheckKey>>,
}

/// Change of the result.
#[derive(Clone, Debug, PartialEq, Eq)]
enum HostNameChange {
    /// A further check fails. Contains all that fail.
    Failed(String),
    /// No check fails any more.
    Confirmed,
}

impl Doctor {
    /// Checks the EHLO names of direct delivery until the stop, and logs each change of the result. Without direct delivery,
    /// returns at once.
    pub async fn watch_host_names(&self, clock: &Clock, stop: CancellationToken) -> Result<(), Infallible> {
        let Ok(resolver) = &self.resolver else { return Ok(()) };
        if self.settings.delivery.direct.is_none() {
            return Ok(());
        }
        let check = || async {
            match self.host_names.check_due(&self.settings, resolver, clock.elapsed_ms()).await {
                Some(HostNameChange::Failed(problems)) => {
                    warn!("the DNS does not confirm the EHLO name, so that large providers refuse email: {problems}");
                }
                Some(HostNameChange::Confirmed) => info!("the DNS confirmed the EHLO name again"),
                None => {}
            }
            Ok(())
        };
        every(POLL_EVERY, stop, check).await
    }

    /// Returns whether the DNS confirms all EHLO names of direct delivery; `None` before the first result.
    pub fn host_names_confirmed(&self) -> Option<bool> {
        sync::lock(&self.host_names.0).failed.as_ref().map(BTreeSet::is_empty)
    }
}

impl HostNameMonitor {
    /// Checks the names if a check is due. Returns the change of the result.
    async fn check_due(
        &self,
        settings: &DoctorSettings,
        resolver: &Resolver,
        elapsed_ms: i64,
    ) -> Option<HostNameChange> {
        if sync::lock(&self.0).next_check_ms.is_some_and(|next_ms| elapsed_ms < next_ms) {
            return None;
        }
        // A check that is too slow is a failed lookup.
        let checks = timeout(TIME_MAX, host_name::checks(settings, resolver)).await.unwrap_or_default();
        self.record(&checks, elapsed_ms)
    }

    /// Stores the result of a check that began at `elapsed_ms`. Without checks, a lookup failed.
    fn record(&self, checks: &[SetupCheck], elapsed_ms: i64) -> Option<HostNameChange> {
        let mut state = sync::lock(&self.0);
        let is_complete = !checks.is_empty() && !checks.iter().any(host_name::is_failed_lookup);
        state.next_check_ms = Some(elapsed_ms + if is_complete { CHECK_EVERY_MS } else { REPEAT_AFTER_MS });
        let problems: Vec<&SetupCheck> = checks.iter().filter(|check| check.status == CheckStatus::Failed).collect();
        let mut failed: BTreeSet<CheckKey> = problems.iter().map(|check| key(check)).collect();
        let known = state.failed.take();
        if !is_complete {
            if known.is_none() && failed.is_empty() {
                return None;
            }
            let passed: BTreeSet<CheckKey> =
                checks.iter().filter(|check| check.status == CheckStatus::Ok).map(key).collect();
            failed.extend(known.iter().flatten().filter(|known| !passed.contains(*known)).cloned());
        }
        let known = known.unwrap_or_default();
        let change = if failed.is_subset(&known) {
            (failed.is_empty() && !known.is_empty()).then_some(HostNameChange::Confirmed)
        } else {
            let problems: Vec<String> = problems.into_iter().map(sentence).collect();
            Some(HostNameChange::Failed(problems.join("; ")))
        };
        state.failed = Some(failed);
        change
    }
}

fn key(check: &SetupCheck) -> CheckKey {
    (check.check.clone(), check.subject.clone())
}

/// Formats the observation, the expectation and the next step of a failed check.
fn sentence(check: &SetupCheck) -> String {
    let SetupCheck { seen, expected, fix, .. } = check;
    let (expected, fix) = (expected.as_deref().unwrap_or_default(), fix.as_deref().unwrap_or_default());
    let text = format!("{seen}; expected: {expected}; next step: {}", fix.trim_end_matches('.'));
    printable(&text, PROBLEM_CHARS_MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dns::tests::authority::Authority;
    use crate::doctor::host_name::tests::direct_from;

    const HOST: &str = "mail.example.com";
    const SOURCE: &str = "9.9.9.9";
    const ADDRESS: &str = "mail.example.com. 300 IN A 9.9.9.9\n";
    const PTR: &str = "9.9.9.9.in-addr.arpa. 300 IN PTR mail.example.com.\n";

    async fn zone(records: &[&str]) -> Authority {
        let soa = "@ 300 IN SOA ns. hostmaster. 1 3600 600 86400 300\n";
        Authority::serving_root(&format!("{soa}{}", records.concat())).await
    }

    fn doctor(dns: &Authority) -> Doctor {
        Doctor::new(direct_from(HOST, &[SOURCE]), Resolver::with_servers(&[dns.address]).map_err(|e| e.to_string()))
    }

    /// Returns the change of a check at `elapsed_ms` with the records of `dns`, and the result.
    async fn checked(doctor: &Doctor, dns: &Authority, elapsed_ms: i64) -> (Option<HostNameChange>, Option<bool>) {
        let resolver = Resolver::with_servers(&[dns.address]).unwrap();
        let change = doctor.host_names.check_due(&doctor.settings, &resolver, elapsed_ms).await;
        (change, doctor.host_names_confirmed())
    }

    fn failed(name: &str) -> SetupCheck {
        SetupCheck::failed(name, "seen", "a thing", "Do it.").about(name)
    }

    fn passed(name: &str) -> SetupCheck {
        SetupCheck::ok(name, "seen", "a thing").about(name)
    }

    fn unknown(name: &str) -> SetupCheck {
        SetupCheck::not_checked(name, "no answer").about(name)
    }

    #[tokio::test]
    async fn a_reverse_name_that_is_removed_is_a_change_until_it_is_mended() {
        let (whole, broken) = (zone(&[ADDRESS, PTR]).await, zone(&[ADDRESS]).await);
        let doctor = doctor(&whole);
        assert_eq!(doctor.host_names_confirmed(), None);

        assert_eq!(checked(&doctor, &whole, 0).await, (None, Some(true)));
        // No check is due.
        assert_eq!(checked(&doctor, &broken, CHECK_EVERY_MS - 1).await, (None, Some(true)));
        let (change, confirmed) = checked(&doctor, &broken, CHECK_EVERY_MS).await;
        let Some(HostNameChange::Failed(problems)) = change else { panic!("{change:?}") };
        assert_eq!(
            (problems.as_str(), confirmed),
            (
                "9.9.9.9 has no name; expected: 9.9.9.9 has the name mail.example.com; next step: Set the reverse DNS of \
                 9.9.9.9 to mail.example.com in the control panel of the server's provider, or ask the provider",
                Some(false)
            )
        );
        assert_eq!(checked(&doctor, &broken, 2 * CHECK_EVERY_MS).await, (None, Some(false)));
        let mended = checked(&doctor, &whole, 3 * CHECK_EVERY_MS).await;
        assert_eq!(mended, (Some(HostNameChange::Confirmed), Some(true)));
    }

    #[tokio::test]
    async fn a_name_without_the_source_address_is_not_confirmed() {
        let other = "mail.example.com. 300 IN A 9.9.9.10\n10.9.9.9.in-addr.arpa. 300 IN PTR mail.example.com.\n";
        for (records, words) in [(other, "this machine sends from 9.9.9.9"), ("", "has no address in the DNS")] {
            let dns = zone(&[records]).await;

            let (change, confirmed) = checked(&doctor(&dns), &dns, 0).await;

            assert_eq!(confirmed, Some(false), "{records}");
            assert!(matches!(&change, Some(HostNameChange::Failed(text)) if text.contains(words)), "{change:?}");
        }
    }

    #[tokio::test]
    async fn a_failed_lookup_changes_nothing_and_is_repeated_soon() {
        let whole = zone(&[ADDRESS, PTR]).await;
        // The name servers of another domain answer REFUSED.
        let failing = Authority::serving("@ 300 IN SOA ns.example. hostmaster.example. 1 3600 600 86400 300\n").await;
        let doctor = doctor(&whole);

        assert_eq!(checked(&doctor, &failing, 0).await, (None, None));
        assert_eq!(checked(&doctor, &whole, REPEAT_AFTER_MS - 1).await, (None, None));
        assert_eq!(checked(&doctor, &whole, REPEAT_AFTER_MS).await, (None, Some(true)));
        let next_ms = REPEAT_AFTER_MS + CHECK_EVERY_MS;
        assert_eq!(checked(&doctor, &failing, next_ms).await, (None, Some(true)));
        let broken = zone(&[ADDRESS]).await;
        let (change, confirmed) = checked(&doctor, &broken, next_ms + REPEAT_AFTER_MS).await;
        assert!(matches!(change, Some(HostNameChange::Failed(_))) && confirmed == Some(false), "{change:?}");
    }

    #[test]
    fn each_problem_is_one_change() {
        let monitor = HostNameMonitor::default();
        let record = |checks: &[SetupCheck]| match monitor.record(checks, 0) {
            Some(HostNameChange::Failed(problems)) => problems.matches("next step: Do it").count(),
            Some(HostNameChange::Confirmed) => 100,
            None => 0,
        };

        for (checks, change) in [
            (vec![unknown("a"), failed("b")], 1),
            // A failed lookup of a known problem.
            (vec![failed("a"), unknown("b")], 1),
            (vec![failed("a"), failed("b")], 0),
            (vec![unknown("a"), passed("b")], 0),
            (vec![], 0),
            (vec![failed("a"), passed("b")], 0),
            (vec![failed("a"), failed("b")], 2),
            // A problem that ended beside a failed lookup.
            (vec![passed("a"), unknown("b")], 0),
            (vec![failed("a"), failed("b")], 2),
            (vec![passed("a"), passed("b")], 100),
            (vec![passed("a"), passed("b")], 0),
        ] {
            assert_eq!(record(&checks), change, "{checks:?}");
        }
    }

    #[test]
    fn a_check_without_a_subject_that_cannot_run_is_no_failed_lookup() {
        let monitor = HostNameMonitor::default();

        let change = monitor.record(&[passed("a"), SetupCheck::not_checked("hostname", "2 further names")], 0);

        assert_eq!(change, None);
        let state = sync::lock(&monitor.0);
        assert_eq!((state.next_check_ms, state.failed.clone()), (Some(CHECK_EVERY_MS), Some(BTreeSet::new())));
    }

    #[tokio::test]
    async fn without_direct_delivery_no_name_is_checked() {
        let dns = zone(&[]).await;
        let mut doctor = doctor(&dns);
        doctor.settings.delivery.direct = None;

        assert_eq!(doctor.watch_host_names(&Clock::manual(0), CancellationToken::new()).await, Ok(()));
        assert_eq!(doctor.host_names_confirmed(), None);
    }
}

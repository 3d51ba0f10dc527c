//! Effect of a DNS check on the status of a domain, and the time of the next check. Pure.
//!
//! Only answers change the status: a failed lookup neither verifies a domain nor ends its verification. A record that
//! was found must be missing in two consecutive checks. One outdated name server, or a zone that is being changed,
//! therefore does not stop sending. A wrong record counts immediately, because it has no such cause.

use super::model::{DomainStatus, RecordKind, RecordState, RecordStatus};
use super::records::ExpectedRecord;
use super::store::DomainRow;
use crate::base::clock::TimestampMs;
use crate::dns::DnsMatch;

const MINUTE_MS: i64 = 60_000;
/// Time after which a domain with a missing record fails. 72 hours as in the compatible API, which is longer than the
/// propagation of any DNS change.
const PENDING_MAX_MS: i64 = 72 * 60 * MINUTE_MS;
/// Minimum time between a check and the next one by a sweep.
const RECHECK_MIN_MS: i64 = 10 * MINUTE_MS;
/// Time after a verification request during which the domain is checked every minute, because a person is probably
/// waiting for the result.
const FAST_RECHECK_MS: i64 = 15 * MINUTE_MS;
/// Time between two checks during [`FAST_RECHECK_MS`].
const FAST_RECHECK_PAUSE_MS: i64 = MINUTE_MS;

/// Result of the check of one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordCheck {
    pub(super) record: ExpectedRecord,
    pub(super) live: DnsMatch,
    pub(super) detail: Option<String>,
    /// Published values that differ from the expected one.
    pub(super) seen: Vec<String>,
    pub(super) inherited_from: Option<String>,
    pub(super) policy: Option<String>,
}

/// Change of the status of a domain by a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DomainStatusChange {
    /// The domain became verified.
    Verified,
    /// The domain was verified and is no longer.
    Lost,
    /// The domain was not verified, and its verification failed.
    Failed,
    /// The status did not change.
    None,
}

/// Starts the verification of a domain. A verified domain stays verified, so that a request never stops sending.
pub(super) fn request_check(row: &mut DomainRow, now_ms: TimestampMs) {
    if row.assumed || row.status == DomainStatus::Verified {
        return;
    }
    row.status = DomainStatus::Pending;
    row.pending_since_ms = Some(now_ms);
    for record in &mut row.records {
        if !record.status.counts_as_found() {
            record.status = RecordStatus::Pending;
        }
    }
}

/// Applies the results of a check. `current` contains the records that the domain should publish now. A result is
/// ignored if its record changed during the check.
pub(super) fn apply(
    row: &mut DomainRow,
    current: &[ExpectedRecord],
    checks: &[RecordCheck],
    now_ms: TimestampMs,
) -> DomainStatusChange {
    let before = row.status;
    row.records = current
        .iter()
        .map(|record| {
            let check = checks.iter().find(|check| check.record == *record);
            let earlier = row.records.iter().find(|state| state.kind == record.kind);
            next_state(record.kind, check, earlier)
        })
        .collect();
    row.checked_ms = Some(now_ms);
    (row.status, row.pending_since_ms) = next_status(before, row.pending_since_ms, &row.records, now_ms);
    match (before, row.status) {
        (before, after) if before == after => DomainStatusChange::None,
        (_, DomainStatus::Verified) => DomainStatusChange::Verified,
        (DomainStatus::Verified, _) => DomainStatusChange::Lost,
        (_, DomainStatus::Failed) => DomainStatusChange::Failed,
        _ => DomainStatusChange::None,
    }
}

fn next_state(kind: RecordKind, check: Option<&RecordCheck>, earlier: Option<&RecordState>) -> RecordState {
    let Some(check) = check else {
        let unchecked = || RecordState::unchecked(kind, RecordStatus::Pending);
        return earlier.cloned().unwrap_or_else(unchecked);
    };
    let was_found = earlier.is_some_and(|state| state.status.counts_as_found());
    let was_missing = earlier.is_some_and(|state| state.live == Some(DnsMatch::Missing));
    let status = match check.live {
        DnsMatch::Found => RecordStatus::Verified,
        DnsMatch::Missing if was_found && !was_missing => RecordStatus::TemporaryFailure,
        DnsMatch::Missing => RecordStatus::NotStarted,
        DnsMatch::Mismatch => RecordStatus::Failed,
        DnsMatch::Unknown if was_found => RecordStatus::TemporaryFailure,
        DnsMatch::Unknown => RecordStatus::Pending,
    };
    // A failed lookup keeps the DMARC policy of the last answer.
    let last_known = earlier.filter(|_| check.live == DnsMatch::Unknown);
    RecordState {
        kind,
        status,
        live: Some(check.live),
        detail: check.detail.clone(),
        seen: check.seen.clone(),
        inherited_from: check.inherited_from.clone().or_else(|| last_known?.inherited_from.clone()),
        policy: check.policy.clone().or_else(|| last_known?.policy.clone()),
    }
}

fn next_status(
    before: DomainStatus,
    pending_since_ms: Option<TimestampMs>,
    records: &[RecordState],
    now_ms: TimestampMs,
) -> (DomainStatus, Option<TimestampMs>) {
    let required = || records.iter().filter(|state| state.kind.is_required());
    let is_missing = required().any(|state| state.live == Some(DnsMatch::Missing) && !state.status.counts_as_found());
    let is_wrong = required().any(|state| state.live == Some(DnsMatch::Mismatch));
    if required().all(|state| state.live == Some(DnsMatch::Found)) {
        return (DomainStatus::Verified, None);
    }
    match before {
        DomainStatus::Verified if is_missing || is_wrong => (DomainStatus::Failed, Some(now_ms)),
        DomainStatus::Verified => (DomainStatus::Verified, None),
        DomainStatus::Pending | DomainStatus::NotStarted => {
            let pending_since_ms = pending_since_ms.unwrap_or(now_ms);
            let is_expired = now_ms - pending_since_ms >= PENDING_MAX_MS;
            let status = if is_wrong || is_expired { DomainStatus::Failed } else { DomainStatus::Pending };
            (status, Some(pending_since_ms))
        }
        DomainStatus::Failed => (DomainStatus::Failed, pending_since_ms),
    }
}

/// Returns whether a sweep should check a domain. A failed domain is checked for as long as a pending one, so that it
/// becomes verified without a request if its records are corrected.
pub(super) fn is_due(row: &DomainRow, now_ms: TimestampMs) -> bool {
    // A check in the future was made before the clock was set back.
    let age_ms = row.checked_ms.map(|checked_ms| now_ms.saturating_sub(checked_ms));
    let is_old = age_ms.is_none_or(|age_ms| !(0..RECHECK_MIN_MS).contains(&age_ms));
    if row.assumed {
        return false;
    }
    match row.status {
        DomainStatus::NotStarted => false,
        DomainStatus::Verified => is_old,
        DomainStatus::Pending => row.checked_ms < row.pending_since_ms || is_old,
        DomainStatus::Failed => {
            is_old && row.pending_since_ms.is_some_and(|pending_since_ms| now_ms - pending_since_ms < PENDING_MAX_MS)
        }
    }
}

/// Returns the time of the next check of a domain that has just been checked, if it should precede the sweeps. It does
/// after a recent verification request, and after a record was missing for the first time.
pub(super) fn next_fast_recheck_ms(row: &DomainRow, now_ms: TimestampMs) -> Option<TimestampMs> {
    let is_missing_once = |state: &RecordState| state.live == Some(DnsMatch::Missing) && state.status.counts_as_found();
    if row.status == DomainStatus::Verified && !row.assumed && row.records.iter().any(is_missing_once) {
        return Some(now_ms + FAST_RECHECK_PAUSE_MS);
    }
    let is_unverified = matches!(row.status, DomainStatus::Pending | DomainStatus::Failed);
    let pending_since_ms = row.pending_since_ms.filter(|_| is_unverified && !row.assumed)?;
    (now_ms - pending_since_ms < FAST_RECHECK_MS).then_some(now_ms + FAST_RECHECK_PAUSE_MS)
}

/// Marks all records of a domain as found without a check.
pub(super) fn assume(row: &mut DomainRow, current: &[ExpectedRecord]) {
    let found = |record: &ExpectedRecord| RecordState {
        live: Some(DnsMatch::Found),
        ..RecordState::unchecked(record.kind, RecordStatus::Verified)
    };
    row.records = current.iter().map(found).collect();
    (row.status, row.pending_since_ms, row.assumed) = (DomainStatus::Verified, None, true);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domains::records::expected;
    use crate::domains::testing::{row, settings};
    use DnsMatch::{Found, Mismatch, Missing, Unknown};
    use DomainStatus as Domain;
    use RecordStatus as Record;

    const NOW_MS: i64 = 1_767_604_353_456;
    const DAY_MS: i64 = 24 * 60 * MINUTE_MS;

    /// Check results in the order of the expected records: MX, SPF, RSA, Ed25519.
    fn checks(row: &DomainRow, answers: [DnsMatch; 4]) -> Vec<RecordCheck> {
        let records = expected(row, &settings());
        records.into_iter().zip(answers).map(|(record, live)| record_check(record, live)).collect()
    }

    fn record_check(record: ExpectedRecord, live: DnsMatch) -> RecordCheck {
        let detail = (live != Found).then(|| "a line".to_owned());
        RecordCheck { record, live, detail, seen: Vec::new(), inherited_from: None, policy: None }
    }

    fn apply_checks(row: &mut DomainRow, answers: [DnsMatch; 4], now_ms: i64) -> DomainStatusChange {
        let current = expected(row, &settings());
        let checks = checks(row, answers);
        apply(row, &current, &checks, now_ms)
    }

    fn in_status(status: Domain, pending_since_ms: Option<i64>) -> DomainRow {
        let mut row = DomainRow { status, pending_since_ms, ..row("example.org") };
        if status == Domain::Verified {
            let current = expected(&row, &settings());
            assume(&mut row, &current);
            row.assumed = false;
        }
        row
    }

    #[test]
    fn only_answers_about_required_records_change_the_status() {
        let soon = Some(NOW_MS - DAY_MS);
        let late = Some(NOW_MS - 3 * DAY_MS);
        for (before, pending_since_ms, answers, after, change) in [
            (Domain::Pending, soon, [Found, Found, Found, Found], Domain::Verified, DomainStatusChange::Verified),
            // The Ed25519 key is not required.
            (Domain::Pending, soon, [Found, Found, Found, Missing], Domain::Verified, DomainStatusChange::Verified),
            (Domain::Pending, soon, [Found, Found, Missing, Found], Domain::Pending, DomainStatusChange::None),
            (Domain::Pending, soon, [Found, Missing, Found, Found], Domain::Pending, DomainStatusChange::None),
            (Domain::Pending, soon, [Missing, Found, Found, Found], Domain::Pending, DomainStatusChange::None),
            (Domain::Pending, soon, [Found, Found, Unknown, Found], Domain::Pending, DomainStatusChange::None),
            (Domain::Pending, soon, [Found, Mismatch, Found, Found], Domain::Failed, DomainStatusChange::Failed),
            (Domain::Pending, late, [Found, Found, Missing, Found], Domain::Failed, DomainStatusChange::Failed),
            (Domain::Pending, late, [Found, Found, Found, Found], Domain::Verified, DomainStatusChange::Verified),
            (Domain::NotStarted, None, [Missing, Missing, Missing, Missing], Domain::Pending, DomainStatusChange::None),
            (Domain::Verified, None, [Found, Found, Found, Mismatch], Domain::Verified, DomainStatusChange::None),
            (Domain::Verified, None, [Unknown, Unknown, Unknown, Unknown], Domain::Verified, DomainStatusChange::None),
            // A record that was found is missing for the first time.
            (Domain::Verified, None, [Unknown, Found, Missing, Found], Domain::Verified, DomainStatusChange::None),
            (Domain::Verified, None, [Found, Mismatch, Missing, Found], Domain::Failed, DomainStatusChange::Lost),
            (Domain::Verified, None, [Found, Mismatch, Found, Found], Domain::Failed, DomainStatusChange::Lost),
            (Domain::Failed, soon, [Unknown, Found, Found, Found], Domain::Failed, DomainStatusChange::None),
            (Domain::Failed, late, [Found, Found, Found, Found], Domain::Verified, DomainStatusChange::Verified),
        ] {
            let mut row = in_status(before, pending_since_ms);

            let changed = apply_checks(&mut row, answers, NOW_MS);

            assert_eq!((row.status, changed), (after, change), "{before:?} {answers:?}");
        }
    }

    #[test]
    fn the_status_of_a_record_follows_its_answers_and_survives_failed_lookups() {
        for (answers, status) in [
            (vec![Found], Record::Verified),
            (vec![Missing], Record::NotStarted),
            (vec![Mismatch], Record::Failed),
            (vec![Unknown], Record::Pending),
            (vec![Found, Unknown], Record::TemporaryFailure),
            (vec![Found, Unknown, Unknown], Record::TemporaryFailure),
            (vec![Found, Missing], Record::TemporaryFailure),
            (vec![Found, Missing, Missing], Record::NotStarted),
            (vec![Found, Missing, Found, Missing], Record::TemporaryFailure),
            (vec![Found, Unknown, Missing], Record::TemporaryFailure),
            (vec![Found, Unknown, Missing, Missing, Missing], Record::NotStarted),
            (vec![Found, Mismatch, Unknown], Record::Pending),
        ] {
            let mut row = in_status(Domain::Pending, Some(NOW_MS));
            for live in &answers {
                apply_checks(&mut row, [Found, Found, Found, *live], NOW_MS);
            }

            let ed25519 = row.records.iter().find(|state| state.kind == RecordKind::DkimEd25519).unwrap();
            assert_eq!(ed25519.status, status, "{answers:?}");
            assert_eq!(row.ed25519_published(), status.counts_as_found(), "{answers:?}");
            assert_eq!(ed25519.detail.is_some(), ed25519.live != Some(Found), "{answers:?}");
        }
    }

    #[test]
    fn a_verified_domain_fails_if_a_record_is_missing_twice_in_a_row() {
        let missing = [Found, Found, Missing, Found];
        let mut row = in_status(Domain::Verified, None);

        assert_eq!(apply_checks(&mut row, missing, NOW_MS), DomainStatusChange::None);
        assert_eq!(next_fast_recheck_ms(&row, NOW_MS), Some(NOW_MS + MINUTE_MS));
        assert_eq!(apply_checks(&mut row, [Found; 4], NOW_MS), DomainStatusChange::None);
        assert_eq!(next_fast_recheck_ms(&row, NOW_MS), None);
        assert_eq!(apply_checks(&mut row, missing, NOW_MS), DomainStatusChange::None);
        assert_eq!(apply_checks(&mut row, missing, NOW_MS), DomainStatusChange::Lost);
        assert_eq!((row.status, row.pending_since_ms), (Domain::Failed, Some(NOW_MS)));
    }

    #[test]
    fn a_result_is_ignored_if_its_record_changed_during_the_check() {
        let mut row = in_status(Domain::Pending, Some(NOW_MS));
        row.tracking_subdomain = Some("old".into());
        let checks: Vec<RecordCheck> =
            expected(&row, &settings()).into_iter().map(|record| record_check(record, Found)).collect();
        row.tracking_subdomain = Some("new".into());
        let current = expected(&row, &settings());

        apply(&mut row, &current, &checks, NOW_MS);

        let tracking = row.records.iter().find(|state| state.kind == RecordKind::Tracking).unwrap();
        assert_eq!((tracking.status, tracking.live), (Record::Pending, None));
        assert_eq!(row.status, Domain::Verified);
    }

    #[test]
    fn a_request_starts_the_verification_and_never_stops_sending() {
        for (before, after, is_pending) in [
            (Domain::NotStarted, Domain::Pending, true),
            (Domain::Pending, Domain::Pending, true),
            (Domain::Failed, Domain::Pending, true),
            (Domain::Verified, Domain::Verified, false),
        ] {
            let mut row = in_status(before, None);

            request_check(&mut row, NOW_MS);

            assert_eq!((row.status, row.pending_since_ms.is_some()), (after, is_pending), "{before:?}");
        }
    }

    #[test]
    fn a_sweep_skips_recently_checked_unrequested_and_expired_domains() {
        let minutes = |minutes: i64| Some(NOW_MS - minutes * MINUTE_MS);
        for (status, pending_since_ms, checked_ms, due) in [
            (Domain::NotStarted, None, None, false),
            (Domain::Verified, None, minutes(9), false),
            (Domain::Verified, None, minutes(10), true),
            (Domain::Pending, minutes(1), None, true),
            (Domain::Pending, minutes(1), minutes(5), true),
            (Domain::Pending, minutes(5), minutes(1), false),
            (Domain::Pending, minutes(50), minutes(10), true),
            (Domain::Failed, minutes(60), minutes(9), false),
            (Domain::Failed, minutes(60), minutes(10), true),
            (Domain::Failed, minutes(72 * 60), minutes(10), false),
            (Domain::Failed, None, minutes(10), false),
        ] {
            let row = DomainRow { checked_ms, ..in_status(status, pending_since_ms) };

            assert_eq!(is_due(&row, NOW_MS), due, "{status:?} {pending_since_ms:?} {checked_ms:?}");
            assert!(!is_due(&DomainRow { assumed: true, ..row }, NOW_MS));
        }
    }

    #[test]
    fn a_recent_request_is_rechecked_every_minute_for_a_quarter_of_an_hour() {
        for (status, pending_since_ms, next) in [
            (Domain::Pending, Some(NOW_MS), Some(NOW_MS + MINUTE_MS)),
            (Domain::Failed, Some(NOW_MS - FAST_RECHECK_MS + 1), Some(NOW_MS + MINUTE_MS)),
            (Domain::Pending, Some(NOW_MS - FAST_RECHECK_MS), None),
            (Domain::Verified, None, None),
        ] {
            assert_eq!(
                next_fast_recheck_ms(&in_status(status, pending_since_ms), NOW_MS),
                next,
                "{status:?} {pending_since_ms:?}"
            );
        }
    }

    fn any_live() -> impl Strategy<Value = DnsMatch> {
        prop_oneof![Just(Found), Just(Missing), Just(Mismatch), Just(Unknown)]
    }

    proptest! {
        #[test]
        fn a_domain_is_verified_only_with_all_required_records(
            rounds in proptest::collection::vec([any_live(), any_live(), any_live(), any_live()], 1..8),
        ) {
            let mut row = in_status(Domain::NotStarted, None);
            request_check(&mut row, NOW_MS);
            for answers in rounds {
                apply_checks(&mut row, answers, NOW_MS);
                let mut required = row.records.iter().filter(|state| state.kind.is_required());
                if row.status == Domain::Verified {
                    prop_assert!(required.all(|state| state.status.counts_as_found()));
                } else {
                    prop_assert!(required.any(|state| state.live != Some(Found)));
                }
            }
        }
    }
}

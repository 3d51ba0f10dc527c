//! What a check of the DNS does to a domain, and when the next one is due. Pure.
//!
//! Only an answer decides: a name server that does not answer never takes `verified` away and
//! never gives it. That a record which was found is missing has to be answered twice in a row: one
//! server of a zone that lags behind, or a zone in the middle of a change, stops no mail. A record
//! that is there and wrong is no slip of that kind, and counts at once.

use super::model::{DomainStatus, RecordKind, RecordState, RecordStatus};
use super::records::ExpectedRecord;
use super::store::DomainRow;
use crate::base::clock::TimestampMs;
use crate::dns::DnsMatch;

const MINUTE_MS: i64 = 60_000;
/// How long a missing record is sought: that of the compatible API, and longer than any change
/// in a zone takes to be seen everywhere.
const SOUGHT_MAX_MS: i64 = 72 * 60 * MINUTE_MS;
/// A sweep leaves alone what was looked at more recently.
const RECHECK_MIN_MS: i64 = 10 * MINUTE_MS;
/// How long after verification was asked for the records are looked for every minute: somebody
/// is likely to be waiting.
const FAST_RECHECK_MS: i64 = 15 * MINUTE_MS;
/// The pause between two looks while somebody is waiting.
const EAGER_PAUSE_MS: i64 = MINUTE_MS;

/// What the DNS said about one record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordCheck {
    pub(super) record: ExpectedRecord,
    pub(super) live: DnsMatch,
    pub(super) detail: Option<String>,
    pub(super) inherited_from: Option<String>,
    pub(super) policy: Option<String>,
}

/// How the status of a domain changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// It may be sent from.
    Verified,
    /// It may not be sent from any longer.
    Lost,
    /// Its records were wrong, or not found in time.
    Failed,
    /// Nothing.
    None,
}

/// Asks for a domain's records to be looked for. What may be sent from stays so meanwhile:
/// asking for a check never stops mail.
pub(super) fn ask(row: &mut DomainRow, now_ms: TimestampMs) {
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

/// Applies what a check found. `current` are the records the domain should publish as it stands,
/// so that a finding about a record that was changed during the check is left out.
pub(super) fn apply(
    row: &mut DomainRow,
    current: &[ExpectedRecord],
    findings: &[RecordCheck],
    now_ms: TimestampMs,
) -> Change {
    let before = row.status;
    row.records = current
        .iter()
        .map(|record| {
            let finding = findings.iter().find(|finding| finding.record == *record);
            let earlier = row.records.iter().find(|state| state.kind == record.kind);
            next_state(record.kind, finding, earlier)
        })
        .collect();
    row.checked_ms = Some(now_ms);
    (row.status, row.pending_since_ms) = next_status(before, row.pending_since_ms, &row.records, now_ms);
    match (before, row.status) {
        (before, after) if before == after => Change::None,
        (_, DomainStatus::Verified) => Change::Verified,
        (DomainStatus::Verified, _) => Change::Lost,
        (_, DomainStatus::Failed) => Change::Failed,
        _ => Change::None,
    }
}

fn next_state(kind: RecordKind, finding: Option<&RecordCheck>, earlier: Option<&RecordState>) -> RecordState {
    let Some(finding) = finding else {
        let unseen = || RecordState::unseen(kind, RecordStatus::Pending);
        return earlier.cloned().unwrap_or_else(unseen);
    };
    let was_found = earlier.is_some_and(|state| state.status.counts_as_found());
    let was_missing = earlier.is_some_and(|state| state.live == Some(DnsMatch::Missing));
    let status = match finding.live {
        DnsMatch::Found => RecordStatus::Verified,
        DnsMatch::Missing if was_found && !was_missing => RecordStatus::TemporaryFailure,
        DnsMatch::Missing => RecordStatus::NotStarted,
        DnsMatch::Mismatch => RecordStatus::Failed,
        DnsMatch::Unknown if was_found => RecordStatus::TemporaryFailure,
        DnsMatch::Unknown => RecordStatus::Pending,
    };
    // Silence says nothing about a policy that was seen before.
    let remembered = earlier.filter(|_| finding.live == DnsMatch::Unknown);
    RecordState {
        kind,
        status,
        live: Some(finding.live),
        detail: finding.detail.clone(),
        inherited_from: finding.inherited_from.clone().or_else(|| remembered?.inherited_from.clone()),
        policy: finding.policy.clone().or_else(|| remembered?.policy.clone()),
    }
}

fn next_status(
    before: DomainStatus,
    sought_ms: Option<TimestampMs>,
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
            let sought_ms = sought_ms.unwrap_or(now_ms);
            let is_late = now_ms - sought_ms >= SOUGHT_MAX_MS;
            let status = if is_wrong || is_late { DomainStatus::Failed } else { DomainStatus::Pending };
            (status, Some(sought_ms))
        }
        DomainStatus::Failed => (DomainStatus::Failed, sought_ms),
    }
}

/// Returns whether a sweep should look for the records of a domain. A failed one is looked at for
/// as long as a pending one is, so that a slip in a zone heals by itself.
pub(super) fn is_due(row: &DomainRow, now_ms: TimestampMs) -> bool {
    let age_ms = row.checked_ms.map_or(i64::MAX, |checked_ms| now_ms.saturating_sub(checked_ms));
    if row.assumed {
        return false;
    }
    match row.status {
        DomainStatus::NotStarted => false,
        DomainStatus::Verified => age_ms >= RECHECK_MIN_MS,
        DomainStatus::Pending => row.checked_ms < row.pending_since_ms || age_ms >= RECHECK_MIN_MS,
        DomainStatus::Failed => {
            age_ms >= RECHECK_MIN_MS && row.pending_since_ms.is_some_and(|sought_ms| now_ms - sought_ms < SOUGHT_MAX_MS)
        }
    }
}

/// Returns when a domain that has just been checked should be looked at again, ahead of the sweeps:
/// soon after it was asked for, and after the first miss of a record that was found.
pub(super) fn next_eager_ms(row: &DomainRow, now_ms: TimestampMs) -> Option<TimestampMs> {
    let missed_once = |state: &RecordState| state.live == Some(DnsMatch::Missing) && state.status.counts_as_found();
    if row.status == DomainStatus::Verified && !row.assumed && row.records.iter().any(missed_once) {
        return Some(now_ms + EAGER_PAUSE_MS);
    }
    let is_sought = matches!(row.status, DomainStatus::Pending | DomainStatus::Failed);
    let sought_ms = row.pending_since_ms.filter(|_| is_sought && !row.assumed)?;
    (now_ms - sought_ms < FAST_RECHECK_MS).then_some(now_ms + EAGER_PAUSE_MS)
}

/// Marks every record of a domain as found without a look.
pub(super) fn assume(row: &mut DomainRow, current: &[ExpectedRecord]) {
    let found = |record: &ExpectedRecord| RecordState {
        live: Some(DnsMatch::Found),
        ..RecordState::unseen(record.kind, RecordStatus::Verified)
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

    /// The answers in the order the records are printed: MX, SPF, RSA, Ed25519.
    fn findings(row: &DomainRow, answers: [DnsMatch; 4]) -> Vec<RecordCheck> {
        let records = expected(row, &settings());
        records.into_iter().zip(answers).map(|(record, live)| finding(record, live)).collect()
    }

    fn finding(record: ExpectedRecord, live: DnsMatch) -> RecordCheck {
        let detail = (live != Found).then(|| "a line".to_owned());
        RecordCheck { record, live, detail, inherited_from: None, policy: None }
    }

    fn check(row: &mut DomainRow, answers: [DnsMatch; 4], now_ms: i64) -> Change {
        let current = expected(row, &settings());
        let findings = findings(row, answers);
        apply(row, &current, &findings, now_ms)
    }

    fn in_status(status: Domain, sought_ms: Option<i64>) -> DomainRow {
        let mut row = DomainRow { status, pending_since_ms: sought_ms, ..row("example.org") };
        if status == Domain::Verified {
            let current = expected(&row, &settings());
            assume(&mut row, &current);
            row.assumed = false;
        }
        row
    }

    #[test]
    fn only_answers_decide_and_only_about_what_sending_needs() {
        let soon = Some(NOW_MS - DAY_MS);
        let late = Some(NOW_MS - 3 * DAY_MS);
        for (before, sought_ms, answers, after, change) in [
            (Domain::Pending, soon, [Found, Found, Found, Found], Domain::Verified, Change::Verified),
            // The Ed25519 key is an extra.
            (Domain::Pending, soon, [Found, Found, Found, Missing], Domain::Verified, Change::Verified),
            (Domain::Pending, soon, [Found, Found, Missing, Found], Domain::Pending, Change::None),
            (Domain::Pending, soon, [Found, Missing, Found, Found], Domain::Pending, Change::None),
            (Domain::Pending, soon, [Missing, Found, Found, Found], Domain::Pending, Change::None),
            (Domain::Pending, soon, [Found, Found, Unknown, Found], Domain::Pending, Change::None),
            (Domain::Pending, soon, [Found, Mismatch, Found, Found], Domain::Failed, Change::Failed),
            (Domain::Pending, late, [Found, Found, Missing, Found], Domain::Failed, Change::Failed),
            (Domain::Pending, late, [Found, Found, Found, Found], Domain::Verified, Change::Verified),
            (Domain::NotStarted, None, [Missing, Missing, Missing, Missing], Domain::Pending, Change::None),
            (Domain::Verified, None, [Found, Found, Found, Mismatch], Domain::Verified, Change::None),
            (Domain::Verified, None, [Unknown, Unknown, Unknown, Unknown], Domain::Verified, Change::None),
            // The first miss of a record that was found may be a lagging server's.
            (Domain::Verified, None, [Unknown, Found, Missing, Found], Domain::Verified, Change::None),
            (Domain::Verified, None, [Found, Mismatch, Missing, Found], Domain::Failed, Change::Lost),
            (Domain::Verified, None, [Found, Mismatch, Found, Found], Domain::Failed, Change::Lost),
            (Domain::Failed, soon, [Unknown, Found, Found, Found], Domain::Failed, Change::None),
            (Domain::Failed, late, [Found, Found, Found, Found], Domain::Verified, Change::Verified),
        ] {
            let mut row = in_status(before, sought_ms);

            let changed = check(&mut row, answers, NOW_MS);

            assert_eq!((row.status, changed), (after, change), "{before:?} {answers:?}");
        }
    }

    #[test]
    fn a_record_s_status_says_what_was_seen_and_remembers_through_silence() {
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
                check(&mut row, [Found, Found, Found, *live], NOW_MS);
            }

            let ed25519 = row.records.iter().find(|state| state.kind == RecordKind::DkimEd25519).unwrap();
            assert_eq!(ed25519.status, status, "{answers:?}");
            assert_eq!(row.ed25519_published(), status.counts_as_found(), "{answers:?}");
            assert_eq!(ed25519.detail.is_some(), ed25519.live != Some(Found), "{answers:?}");
        }
    }

    #[test]
    fn a_verified_domain_is_lost_at_the_second_miss_in_a_row_a_minute_later() {
        let missing = [Found, Found, Missing, Found];
        let mut row = in_status(Domain::Verified, None);

        assert_eq!(check(&mut row, missing, NOW_MS), Change::None);
        assert_eq!(next_eager_ms(&row, NOW_MS), Some(NOW_MS + MINUTE_MS));
        assert_eq!(check(&mut row, [Found; 4], NOW_MS), Change::None);
        assert_eq!(next_eager_ms(&row, NOW_MS), None);
        assert_eq!(check(&mut row, missing, NOW_MS), Change::None);
        assert_eq!(check(&mut row, missing, NOW_MS), Change::Lost);
        assert_eq!((row.status, row.pending_since_ms), (Domain::Failed, Some(NOW_MS)));
    }

    #[test]
    fn a_record_that_changed_during_its_check_is_not_judged() {
        let mut row = in_status(Domain::Pending, Some(NOW_MS));
        row.tracking_subdomain = Some("old".into());
        let findings: Vec<RecordCheck> =
            expected(&row, &settings()).into_iter().map(|record| finding(record, Found)).collect();
        row.tracking_subdomain = Some("new".into());
        let current = expected(&row, &settings());

        apply(&mut row, &current, &findings, NOW_MS);

        let tracking = row.records.iter().find(|state| state.kind == RecordKind::Tracking).unwrap();
        assert_eq!((tracking.status, tracking.live), (Record::Pending, None));
        assert_eq!(row.status, Domain::Verified);
    }

    #[test]
    fn asking_starts_the_search_and_never_stops_mail() {
        for (before, after, sought) in [
            (Domain::NotStarted, Domain::Pending, true),
            (Domain::Pending, Domain::Pending, true),
            (Domain::Failed, Domain::Pending, true),
            (Domain::Verified, Domain::Verified, false),
        ] {
            let mut row = in_status(before, None);

            ask(&mut row, NOW_MS);

            assert_eq!((row.status, row.pending_since_ms.is_some()), (after, sought), "{before:?}");
        }
    }

    #[test]
    fn sweeps_leave_alone_what_was_just_checked_never_asked_for_or_given_up() {
        let minutes = |minutes: i64| Some(NOW_MS - minutes * MINUTE_MS);
        for (status, sought_ms, checked_ms, due) in [
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
            let row = DomainRow { checked_ms, ..in_status(status, sought_ms) };

            assert_eq!(is_due(&row, NOW_MS), due, "{status:?} {sought_ms:?} {checked_ms:?}");
            assert!(!is_due(&DomainRow { assumed: true, ..row }, NOW_MS));
        }
    }

    #[test]
    fn a_fresh_search_looks_again_every_minute_for_a_quarter_of_an_hour() {
        for (status, sought_ms, next) in [
            (Domain::Pending, Some(NOW_MS), Some(NOW_MS + MINUTE_MS)),
            (Domain::Failed, Some(NOW_MS - FAST_RECHECK_MS + 1), Some(NOW_MS + MINUTE_MS)),
            (Domain::Pending, Some(NOW_MS - FAST_RECHECK_MS), None),
            (Domain::Verified, None, None),
        ] {
            assert_eq!(next_eager_ms(&in_status(status, sought_ms), NOW_MS), next, "{status:?} {sought_ms:?}");
        }
    }

    fn any_live() -> impl Strategy<Value = DnsMatch> {
        prop_oneof![Just(Found), Just(Missing), Just(Mismatch), Just(Unknown)]
    }

    proptest! {
        #[test]
        fn a_verified_domain_has_answered_for_every_required_record(
            rounds in proptest::collection::vec([any_live(), any_live(), any_live(), any_live()], 1..8),
        ) {
            let mut row = in_status(Domain::NotStarted, None);
            ask(&mut row, NOW_MS);
            for answers in rounds {
                check(&mut row, answers, NOW_MS);
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

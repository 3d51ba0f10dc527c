//! The complaint rates of the teams, with the limits of Gmail and Yahoo for bulk senders.

use super::report::SetupCheck;
use crate::deliverability::{COMPLAINT_DAYS, RateLimitLine, SENT_MIN, TeamComplaints, TeamDeliverability, fraction};

const NAME: &str = "complaints";
/// Number of teams in a report, those with the highest rates.
const TEAMS_MAX: usize = 20;
/// Rate below which a sender must keep.
const WARNING: RateLimitLine = RateLimitLine { per_10_000: 10, events_min: 1, window_days: COMPLAINT_DAYS };
/// Rate that a sender must never reach. One complaint about few emails does not show a rate.
const FAILURE: RateLimitLine = RateLimitLine { per_10_000: 30, events_min: 2, window_days: COMPLAINT_DAYS };

/// Reads the counts of the teams.
pub(super) async fn checks(deliverability: Option<&TeamDeliverability>) -> Vec<SetupCheck> {
    let Some(deliverability) = deliverability else {
        return vec![SetupCheck::not_checked(NAME, "there is no store yet")];
    };
    match deliverability.complaints(SENT_MIN).await {
        Ok(teams) => judge(teams),
        Err(error) => vec![SetupCheck::not_checked(NAME, error.to_string())],
    }
}

/// Judges the teams with at least [`SENT_MIN`] delivered emails.
fn judge(mut teams: Vec<TeamComplaints>) -> Vec<SetupCheck> {
    if teams.is_empty() {
        let why = format!("no team has {SENT_MIN} delivered emails of the last {COMPLAINT_DAYS} days");
        return vec![SetupCheck::not_checked(NAME, why)];
    }
    let product = |complained: u64, delivered: u64| u128::from(complained) * u128::from(delivered);
    teams.sort_by(|one, other| product(other.complained, one.delivered).cmp(&product(one.complained, other.delivered)));
    let omitted = teams.len().saturating_sub(TEAMS_MAX);
    let mut checks: Vec<SetupCheck> = teams.iter().take(TEAMS_MAX).map(judge_team).collect();
    if omitted > 0 {
        checks.push(SetupCheck::not_checked(NAME, format!("{omitted} further teams, whose rates are not higher")));
    }
    checks
}

fn judge_team(complaints: &TeamComplaints) -> SetupCheck {
    let TeamComplaints { team, delivered, complained } = complaints;
    let percent = |rate: f64| rate * 100.0;
    let seen = format!(
        "{complained} of {delivered} delivered emails of the last {COMPLAINT_DAYS} days were reported as spam: {:.2}%",
        percent(fraction(*complained, *delivered))
    );
    let expected = format!(
        "less than {:.1}% of the emails are reported, and never {:.1}%, at which large providers refuse email",
        percent(WARNING.fraction()),
        percent(FAILURE.fraction())
    );
    let failed = |expected| {
        let fix = "Find the emails that recipients report, send them only to people who asked for them, and remove \
                   contacts who do not read them.";
        SetupCheck::failed(NAME, seen.clone(), expected, fix)
    };
    let check = if FAILURE.is_crossed(*complained, *delivered) {
        failed(expected)
    } else if WARNING.is_crossed(*complained, *delivered) {
        failed(expected).into_warning()
    } else {
        SetupCheck::ok(NAME, seen, expected)
    };
    check.about(team)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::CheckStatus::{Failed, NotChecked, Ok as Passed, Warning};

    fn team(name: &str, delivered: u64, complained: u64) -> TeamComplaints {
        TeamComplaints { team: name.to_owned(), delivered, complained }
    }

    #[test]
    fn a_rate_warns_and_fails_exactly_at_the_limits_of_the_providers() {
        for (delivered, complained, status) in [
            (100, 0, Passed),
            (10_000, 9, Passed),
            (10_000, 10, Warning),
            (10_000, 29, Warning),
            (10_000, 30, Failed),
            (u64::MAX, u64::MAX, Failed),
            // One complaint about few emails.
            (100, 1, Warning),
            (100, 2, Failed),
        ] {
            let checks = judge(vec![team("Shop", delivered, complained)]);

            let [check] = &checks[..] else { panic!("{checks:?}") };
            assert!(check.status == status && check.subject.as_deref() == Some("Shop"), "{check:?}");
            assert_eq!(check.fix.is_some(), status != Passed, "{check:?}");
            assert!(check.seen.starts_with(&format!("{complained} of {delivered} delivered emails")), "{check:?}");
        }
        let check = &judge(vec![team("Shop", 10_000, 30)])[0];
        assert!(check.seen.ends_with("of the last 7 days were reported as spam: 0.30%"), "{check:?}");
        assert!(check.expected.as_deref().unwrap().starts_with("less than 0.1% of the emails"), "{check:?}");
    }

    #[test]
    fn the_teams_with_the_highest_rates_are_shown() {
        let mut teams: Vec<TeamComplaints> = (0..30).map(|at| team(&format!("Team {at}"), 1_000, at)).collect();
        // Fewer complaints, and the highest rate.
        teams.push(team("Small", 100, 10));

        let checks = judge(teams);

        let subjects: Vec<&str> = checks.iter().filter_map(|check| check.subject.as_deref()).collect();
        assert_eq!((subjects.len(), &subjects[..3]), (TEAMS_MAX, &["Small", "Team 29", "Team 28"][..]));
        let last = checks.last().unwrap();
        assert!(last.status == NotChecked && last.seen.starts_with("11 further teams"), "{last:?}");
    }

    #[tokio::test]
    async fn without_a_store_or_enough_deliveries_no_rate_is_checked() {
        for (checks, words) in [(checks(None).await, "no store"), (judge(Vec::new()), "no team has 100 delivered")] {
            let [check] = &checks[..] else { panic!("{checks:?}") };
            assert!(check.status == NotChecked && check.seen.contains(words), "{check:?}");
        }
    }
}

//! The last refusal of mail of a domain, because a server could not authenticate the sender.
//!
//! The row of the domain stores at most one refusal a day. The writer of the row notifies the owners, so that no process
//! repeats the notice, also after a restart.

use serde::{Deserialize, Serialize};

use super::store::{self, DomainRow};
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{DomainId, EmailId, TeamId};
use crate::store::{StoreError, WriteTx};
use crate::tables::DOMAINS;

/// Time between two refusals that are stored.
const STORED_EVERY_MS: i64 = DAY_MS;
/// Age of a refusal at which it is no longer shown. While refusals continue, a newer one is stored before.
const SHOWN_MS: i64 = 2 * DAY_MS;

/// Refusal of an email, because the server could not authenticate its sender.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DomainRefusal {
    pub at_ms: TimestampMs,
    pub email: EmailId,
    /// Name of the server; `None` if another system reported the refusal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
    /// Reply of the server on one line, without addresses.
    pub reply: String,
}

impl DomainRow {
    /// Returns the last refusal if it is at most two days old.
    pub(super) fn recent_refusal(&self, now_ms: TimestampMs) -> Option<DomainRefusal> {
        self.refusal.clone().filter(|refusal| now_ms - refusal.at_ms < SHOWN_MS)
    }

    /// Returns whether less than a day is between the last refusal and `at_ms`. Refusals of the same time can be stored in
    /// any order.
    fn was_refused_near(&self, at_ms: TimestampMs) -> bool {
        self.refusal.as_ref().is_some_and(|last| (at_ms - last.at_ms).abs() < STORED_EVERY_MS)
    }
}

/// Stores a refusal of mail of a domain. Returns the name of the domain if its owners must be notified; `None` if less
/// than a day is between the stored refusal and this one, or if the team has no such domain.
pub fn record_refusal(
    tx: &WriteTx<'_>,
    team: TeamId,
    id: DomainId,
    refusal: &DomainRefusal,
) -> Result<Option<String>, StoreError> {
    let row = store::find_valid(tx, team, id)?.filter(|row| !row.was_refused_near(refusal.at_ms));
    let Some(row) = row else { return Ok(None) };
    let name = row.name.clone();
    // No index contains the refusal.
    tx.put(&DOMAINS, &(team, id), &DomainRow { refusal: Some(refusal.clone()), ..row })?;
    Ok(Some(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains::testing::{context, row};

    const TEAM: TeamId = TeamId::MIN;
    const ID: DomainId = DomainId::MIN;

    fn refusal(at_ms: TimestampMs) -> DomainRefusal {
        let reply = "550 5.7.26 unauthenticated".to_owned();
        DomainRefusal { at_ms, email: EmailId::MIN, host: Some("mx.example.net".into()), reply }
    }

    #[tokio::test]
    async fn the_owners_are_notified_once_a_day_whatever_the_order_of_the_refusals() {
        let (_directory, context) = context();
        context.commit(|tx| store::put(tx, TEAM, ID, &row("shop.example"))).await;
        let record = async |at_ms| context.commit(move |tx| record_refusal(tx, TEAM, ID, &refusal(at_ms))).await;

        for (at_ms, is_due) in [
            (DAY_MS, true),
            (DAY_MS, false),
            (2 * DAY_MS - 1, false),
            (2 * DAY_MS, true),
            (2 * DAY_MS - 1, false),
            (3 * DAY_MS - 1, false),
            // The clock was set back by a day.
            (DAY_MS, true),
            (DAY_MS, false),
        ] {
            assert_eq!(record(at_ms).await, is_due.then(|| "shop.example".to_owned()), "{at_ms}");
        }
        let stored = context.read(|tx| store::find(tx, TEAM, ID)).unwrap();
        assert_eq!(stored.refusal, Some(refusal(DAY_MS)));
    }

    #[tokio::test]
    async fn a_domain_that_does_not_exist_has_no_refusal() {
        let (_directory, context) = context();

        let name = context.commit(|tx| record_refusal(tx, TEAM, ID, &refusal(0))).await;

        assert_eq!(name, None);
        assert!(context.read(|tx| store::find(tx, TEAM, ID)).is_none());
    }

    #[test]
    fn a_refusal_is_shown_for_two_days() {
        let refused = DomainRow { refusal: Some(refusal(0)), ..row("shop.example") };

        assert_eq!(refused.recent_refusal(2 * DAY_MS - 1), Some(refusal(0)));
        assert_eq!(refused.recent_refusal(2 * DAY_MS), None);
        assert_eq!(row("shop.example").recent_refusal(0), None);
    }
}

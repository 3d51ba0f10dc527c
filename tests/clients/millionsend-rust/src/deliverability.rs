//! The deliverability of the team. The type of the SDK requires every field except for the scores and the band.

use millionsend::MillionSend;

use crate::check::{Checked, Suite, same};

pub(crate) async fn run(suite: &Suite, client: &MillionSend) -> Checked {
    suite
        .check("deliverability.get", "every field, without a score of the outcome", async {
            let report = call!(suite, client, deliverability.get())?;
            same((report.object.as_str(), report.window_days, report.score_version), ("deliverability", 30, 1))?;
            same((report.guardrail_status.as_str(), report.insufficient_outcome_data), ("ok", true))?;
            same((report.outcome_score, report.complaint_rate, report.hard_bounce_rate), (None, 0.0, 0.0))
        })
        .await;
    Ok(())
}

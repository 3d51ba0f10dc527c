//! Usage and metrics, decoded with the strict types of the SDK.

use resend_rs::Resend;
use resend_rs::types::{EmailMetricsDataPoint, GetEmailMetricsOptions, Metric};

use crate::check::{Checked, Suite, same};
use crate::emails::message;

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    suite
        .check("usage.get", "every field of the strict types; an email counts when it is accepted", async {
            let before = call!(suite, client, usage.get())?;
            drop(call!(suite, client, emails.send(message("usage")))?);
            let after = call!(suite, client, usage.get())?;
            for (before, after) in
                [(&before.emails.daily, &after.emails.daily), (&before.emails.monthly, &after.emails.monthly)]
            {
                same((after.used, after.limit, after.received), (after.sent, None, 0))?;
                // The counts start at 0 if midnight is between the two responses.
                ensure!(
                    after.sent == before.sent + 1 || after.resets_at != before.resets_at,
                    "{before:?} and {after:?}"
                );
            }
            ensure!(after.domains.used >= 1, "domains {:?}", after.domains);
            ensure!(after.contacts.limit > after.contacts.used, "contacts {:?}", after.contacts);
            same((after.domains.limit, after.broadcasts.limit), (None, None))?;
            same(after.rate_limit.duration.as_str(), "1000ms")
        })
        .await;
    suite
        .check("emails.metrics", "the outcomes are counted by domain", async {
            let options = GetEmailMetricsOptions::default()
                .with_metrics([Metric::Sent, Metric::DeliveryRate])
                .with_domain_dimension();
            let report = call!(suite, client, emails.metrics(options))?;
            let sent = report.totals.get("sent").copied();
            ensure!(sent.is_some_and(|sent| sent > 0.0), "sent is {sent:?}");
            let is_home = |row: &EmailMetricsDataPoint| row.domain_name.as_deref() == Some("example.com");
            ensure!(report.data.iter().flatten().any(is_home), "no row is of example.com");
            Ok(())
        })
        .await;
    Ok(())
}

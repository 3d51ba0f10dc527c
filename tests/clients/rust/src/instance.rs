//! What the instance tells about itself: the log of requests, and usage.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{CreateTopicOptions, SubscriptionType};

use crate::check::{Checked, Suite, UNKNOWN_ID, poll, refused, same};
use crate::emails::message;

pub(crate) async fn logs(suite: &Suite, client: &Resend) -> Checked {
    let create = CreateTopicOptions::new("Rust logs", SubscriptionType::OptIn);
    let topic = call!(suite, client, topics.create(create))?.id;
    // The row is written after the answer.
    let is_written = async || {
        let page = call!(suite, client, logs.list(ListOptions::default()))?;
        let is_it = |log: &_| {
            let resend_rs::types::Log { method, endpoint, response_status, .. } = log;
            (method.as_str(), endpoint.as_str(), response_status.get()) == ("POST", "/topics", 201)
        };
        Ok(page.data.into_iter().find(is_it))
    };
    let log = poll(is_written).await?;
    suite
        .check("logs.list", "newest first without bodies, limit and cursors", async {
            ensure!(log.user_agent.is_some(), "no user agent");
            same((log.request_body.is_null(), log.response_body.is_null()), (true, true))?;
            let page = call!(suite, client, logs.list(ListOptions::default().with_limit(2)))?;
            same(page.has_more, true)?;
            let options = ListOptions::default().with_limit(1).list_after(&page[0].id);
            same(&call!(suite, client, logs.list(options))?[0].id, &page[1].id)?;
            let options = ListOptions::default().with_limit(100).list_before(&page[1].id);
            let newer = call!(suite, client, logs.list(options))?.data;
            same(newer.last().map(|row| &row.id), Some(&page[0].id))
        })
        .await;
    suite
        .check("logs.get", "with what was asked and answered; an unknown id is 404", async {
            let read = call!(suite, client, logs.get(&log.id))?;
            same((&read.id, read.endpoint.as_str()), (&log.id, "/topics"))?;
            same(read.request_body["name"].as_str(), Some("Rust logs"))?;
            same(read.response_body["id"].as_str(), Some(&*topic))?;
            refused(404, "not_found", call!(suite, client, logs.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    drop(call!(suite, client, topics.delete(&topic))?);
    Ok(())
}

pub(crate) async fn usage(suite: &Suite, client: &Resend) -> Checked {
    suite
        .check("usage.get", "every field of the strict types; an email counts when it is accepted", async {
            let before = call!(suite, client, usage.get())?;
            drop(call!(suite, client, emails.send(message("usage")))?);
            let after = call!(suite, client, usage.get())?;
            for (before, after) in
                [(&before.emails.daily, &after.emails.daily), (&before.emails.monthly, &after.emails.monthly)]
            {
                same((after.used, after.limit, after.received), (after.sent, None, 0))?;
                // A midnight between the two answers begins anew.
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
    Ok(())
}

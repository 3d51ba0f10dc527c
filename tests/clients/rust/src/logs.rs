//! The request log: list, with cursors, and one entry with both bodies.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{CreateTopicOptions, SubscriptionType};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let topic = CreateTopicOptions::new("Rust logged", SubscriptionType::OptIn);
    let topic = call!(suite, client, topics.create(topic))?.id;
    let entry = call!(suite, client, logs.list(ListOptions::default().with_limit(1)))?[0].clone();
    suite
        .check("logs.list", "newest first, every field, limit and cursors", async {
            let fields = (entry.method.as_str(), entry.endpoint.as_str(), entry.response_status.get());
            same(fields, ("POST", "/topics", 201))?;
            ensure!(entry.user_agent.is_some(), "no user agent");
            let options = ListOptions::default().with_limit(1).list_after(&entry.id);
            let older = call!(suite, client, logs.list(options))?[0].id.clone();
            let options = ListOptions::default().with_limit(1).list_before(&older);
            same(&call!(suite, client, logs.list(options))?[0].id, &entry.id)
        })
        .await;
    suite
        .check("logs.get", "with both bodies; an unknown id is 404", async {
            let read = call!(suite, client, logs.get(&entry.id))?;
            same(read.request_body["name"].as_str(), Some("Rust logged"))?;
            same(read.response_body["id"].as_str(), Some(&*topic))?;
            let unknown = refused(404, "not_found", call!(suite, client, logs.get(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Log not found")
        })
        .await;
    call!(suite, client, topics.delete(&topic))?;
    Ok(())
}

//! Webhook endpoints with given secrets and overlaps, and the usage, which cannot be decoded.

use millionsend::{
    CreateWebhookOptions, Error, ListOptions, MillionSend, RotateWebhookOptions, UpdateWebhookOptions, WebhookStatus,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

// The suite causes no open and no click, so this endpoint gets no delivery.
const ENDPOINT: &str = "https://hooks.example.com/millionsend-rust";
/// Secret with the base64 form of 24 bytes.
const SECRET: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const NEWEST: ListOptions = ListOptions { limit: Some(1), after: None, before: None };

pub(crate) async fn run(suite: &Suite, client: &MillionSend) -> Checked {
    let create = CreateWebhookOptions {
        endpoint: ENDPOINT.to_owned(),
        events: vec!["email.opened".to_owned()],
        signing_secret: Some(SECRET.to_owned()),
        inbox_ids: None,
    };
    let made = call!(suite, client, webhooks.create(&create))?;
    let id = made.id;
    suite
        .check("webhooks.create", "a given secret of 24 to 64 bytes", async {
            same(made.signing_secret.as_str(), SECRET)?;
            let short = CreateWebhookOptions { signing_secret: Some("whsec_AAAA".to_owned()), ..create.clone() };
            let message = refused(422, "validation_error", call!(suite, client, webhooks.create(&short)))?;
            same(message.as_str(), "signing_secret must be whsec_ followed by base64 of 24-64 bytes")
        })
        .await;
    suite
        .check("webhooks.get", "every field; an unknown id is 404", async {
            let read = call!(suite, client, webhooks.get(&id))?;
            same((read.endpoint.as_str(), read.status), (ENDPOINT, WebhookStatus::Enabled))?;
            same((read.events, read.signing_secret.as_deref()), (Some(create.events.clone()), Some(SECRET)))?;
            same(read.previous_secret_expires_at, None)?;
            refused(404, "not_found", call!(suite, client, webhooks.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.list", "newest first without secrets", async {
            let page = call!(suite, client, webhooks.list(Some(&NEWEST)))?;
            same((&page.data[0].id, &page.data[0].signing_secret), (&id, &None))
        })
        .await;
    suite
        .check("webhooks.update", "URL, types and status", async {
            // A type that the compatible API does not have.
            let events = vec!["contact.unsubscribed".to_owned()];
            let changes = UpdateWebhookOptions {
                endpoint: Some(format!("{ENDPOINT}/moved")),
                events: Some(events.clone()),
                status: Some(WebhookStatus::Disabled),
                inbox_ids: None,
            };
            same(&call!(suite, client, webhooks.update(&id, &changes))?.id, &id)?;
            let read = call!(suite, client, webhooks.get(&id))?;
            same((Some(read.endpoint), read.events), (changes.endpoint, Some(events)))?;
            same(read.status, WebhookStatus::Disabled)
        })
        .await;
    suite
        .check("webhooks.rotate", "with a given overlap, by default one day; more than three days are 422", async {
            for overlap_hours in [None, Some(72)] {
                let options = RotateWebhookOptions { signing_secret: None, overlap_hours };
                let response = call!(suite, client, webhooks.rotate(&id, overlap_hours.map(|_| &options)))?;
                ensure!(response.previous_secret_expires_at.is_some(), "{response:?}");
                let read = call!(suite, client, webhooks.get(&id))?;
                same(read.signing_secret.as_ref(), Some(&response.signing_secret))?;
                same(read.previous_secret_expires_at, response.previous_secret_expires_at)?;
            }
            let long = RotateWebhookOptions { signing_secret: None, overlap_hours: Some(73) };
            refused(422, "validation_error", call!(suite, client, webhooks.rotate(&id, Some(&long))))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.rotate", "without an overlap, to a given secret", async {
            let options = RotateWebhookOptions { signing_secret: Some(SECRET.to_owned()), overlap_hours: Some(0) };
            let response = call!(suite, client, webhooks.rotate(&id, Some(&options)))?;
            same((response.signing_secret.as_str(), response.previous_secret_expires_at), (SECRET, None))?;
            same(call!(suite, client, webhooks.get(&id))?.previous_secret_expires_at, None)
        })
        .await;
    suite
        .check("webhooks.delete", "deleted, then 404", async {
            let response = call!(suite, client, webhooks.delete(&id))?;
            same((response.object.as_str(), &response.id, response.deleted), ("webhook", &id, true))?;
            refused(404, "not_found", call!(suite, client, webhooks.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

/// Checks that the usage cannot be decoded. The documentation says that `limits` is null on a self-hosted instance, but
/// the type of the SDK requires an object.
pub(crate) async fn usage(suite: &Suite, client: &MillionSend) -> Checked {
    suite
        .check("usage.get", "must fail: not decoded, because the SDK cannot read null `limits`", async {
            match call!(suite, client, usage.get()) {
                Err(Error::Parse(error)) => {
                    ensure!(error.to_string().contains("expected struct UsageLimits"), "another reason: {error}");
                    Ok(())
                }
                other => Err(format!("not a failure to decode: {other:?}").into()),
            }
        })
        .await;
    Ok(())
}

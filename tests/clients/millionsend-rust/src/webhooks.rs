//! Webhook endpoints with secrets of one's own and the length of an overlap; and usage, which cannot be read.

use millionsend::{
    CreateWebhookOptions, Error, ListOptions, MillionSend, RotateWebhookOptions, UpdateWebhookOptions, WebhookStatus,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

// Nobody opens or clicks anything while the suite runs, so that nothing is delivered there.
const ENDPOINT: &str = "https://hooks.example.com/millionsend-rust";
/// The base64 of 24 bytes.
const OWN: &str = "whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYX";
const NEWEST: ListOptions = ListOptions { limit: Some(1), after: None, before: None };

pub(crate) async fn run(suite: &Suite, client: &MillionSend) -> Checked {
    let create = CreateWebhookOptions {
        endpoint: ENDPOINT.to_owned(),
        events: vec!["email.opened".to_owned()],
        signing_secret: Some(OWN.to_owned()),
        inbox_ids: None,
    };
    let made = call!(suite, client, webhooks.create(&create))?;
    let id = made.id;
    suite
        .check("webhooks.create", "a secret of one's own, of 24 to 64 bytes", async {
            same(made.signing_secret.as_str(), OWN)?;
            let short = CreateWebhookOptions { signing_secret: Some("whsec_AAAA".to_owned()), ..create.clone() };
            let message = refused(422, "validation_error", call!(suite, client, webhooks.create(&short)))?;
            same(message.as_str(), "signing_secret must be whsec_ followed by base64 of 24-64 bytes")
        })
        .await;
    suite
        .check("webhooks.get", "every field; an unknown id is 404", async {
            let read = call!(suite, client, webhooks.get(&id))?;
            same((read.endpoint.as_str(), read.status), (ENDPOINT, WebhookStatus::Enabled))?;
            same((read.events, read.signing_secret.as_deref()), (Some(create.events.clone()), Some(OWN)))?;
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
        .check("webhooks.update", "address, types and status", async {
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
        .check("webhooks.rotate", "with the overlap that is given, or a day; at most three", async {
            for overlap_hours in [None, Some(72)] {
                let options = RotateWebhookOptions { signing_secret: None, overlap_hours };
                let answer = call!(suite, client, webhooks.rotate(&id, overlap_hours.map(|_| &options)))?;
                ensure!(answer.previous_secret_expires_at.is_some(), "{answer:?}");
                let read = call!(suite, client, webhooks.get(&id))?;
                same(read.signing_secret.as_ref(), Some(&answer.signing_secret))?;
                same(read.previous_secret_expires_at, answer.previous_secret_expires_at)?;
            }
            let long = RotateWebhookOptions { signing_secret: None, overlap_hours: Some(73) };
            refused(422, "validation_error", call!(suite, client, webhooks.rotate(&id, Some(&long))))?;
            Ok(())
        })
        .await;
    suite
        .check("webhooks.rotate", "without an overlap, to a secret of one's own", async {
            let options = RotateWebhookOptions { signing_secret: Some(OWN.to_owned()), overlap_hours: Some(0) };
            let answer = call!(suite, client, webhooks.rotate(&id, Some(&options)))?;
            same((answer.signing_secret.as_str(), answer.previous_secret_expires_at), (OWN, None))?;
            same(call!(suite, client, webhooks.get(&id))?.previous_secret_expires_at, None)
        })
        .await;
    suite
        .check("webhooks.delete", "deleted, then 404", async {
            let answer = call!(suite, client, webhooks.delete(&id))?;
            same((answer.object.as_str(), &answer.id, answer.deleted), ("webhook", &id, true))?;
            refused(404, "not_found", call!(suite, client, webhooks.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

/// Of an instance of one's own the documentation says that `limits` is null; the SDK's type wants an object.
pub(crate) async fn usage(suite: &Suite, client: &MillionSend) -> Checked {
    suite
        .check("usage.get", "must fail: not decoded, because the SDK cannot read null `limits`", async {
            match call!(suite, client, usage.get()) {
                Err(Error::Parse(error)) => {
                    ensure!(error.to_string().contains("expected struct UsageLimits"), "for something else: {error}");
                    Ok(())
                }
                other => Err(format!("not a failure to decode: {other:?}").into()),
            }
        })
        .await;
    Ok(())
}

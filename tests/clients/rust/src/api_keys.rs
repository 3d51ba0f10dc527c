//! API keys: create with each permission, list, rename, delete.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    CreateApiKeyOptions, CreateDomainOptions, UpdateApiKeyOptions, UpdateEmailOptions,
};

use crate::check::{Suite, UNKNOWN_ID, in_hours, refused, same};
use crate::emails::message;

pub(crate) async fn run(suite: &Suite, client: &Resend) {
    full_access(suite, client).await;
    sending_only(suite, client).await;
    suite
        .check(
            "emails.send",
            "an unknown key is 403 invalid_api_key",
            async {
                let stranger = Resend::new("rm_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA");
                refused(
                    403,
                    "invalid_api_key",
                    call!(suite, stranger, emails.send(message("keys"))),
                )?;
                Ok(())
            },
        )
        .await;
}

async fn full_access(suite: &Suite, client: &Resend) {
    let created = call!(
        suite,
        client,
        api_keys.create(CreateApiKeyOptions::new("rust full").with_full_access())
    );
    suite
        .check("api_keys.create", "a full-access key works", async {
            let created = created.as_ref().map_err(ToString::to_string)?;
            ensure!(
                created.token.starts_with("rm_") && created.token.len() == 35,
                "the token's form"
            );
            let other = Resend::new(&created.token);
            drop(call!(
                suite,
                other,
                emails.list(ListOptions::default().with_limit(1))
            )?);
            Ok(())
        })
        .await;
    let Ok(created) = created else { return };

    suite
        .check("api_keys.list", "newest first, limit and cursors", async {
            let other = call!(
                suite,
                client,
                api_keys.create(CreateApiKeyOptions::new("rust other"))
            )?
            .id;
            let page = call!(suite, client, api_keys.list(ListOptions::default()))?;
            same([&page.data[0].id, &page.data[1].id], [&other, &created.id])?;
            same(
                (page.data[0].name.as_str(), &page.data[0].last_used_at),
                ("rust other", &None),
            )?;
            let older = call!(
                suite,
                client,
                api_keys.list(ListOptions::default().with_limit(1).list_after(&other))
            )?;
            same(&older.data[0].id, &created.id)?;
            let newer = call!(
                suite,
                client,
                api_keys.list(
                    ListOptions::default()
                        .with_limit(1)
                        .list_before(&created.id)
                )
            )?;
            same(&newer.data[0].id, &other)?;
            call!(suite, client, api_keys.delete(&other))?;
            Ok(())
        })
        .await;
    suite
        .check("api_keys.update", "renamed", async {
            let response = call!(
                suite,
                client,
                api_keys.update(&created.id, UpdateApiKeyOptions::new("rust renamed"))
            )?;
            same(&response.id, &created.id)?;
            let page = call!(
                suite,
                client,
                api_keys.list(ListOptions::default().with_limit(1))
            )?;
            same(page.data[0].name.as_str(), "rust renamed")
        })
        .await;
    suite
        .check("api_keys.delete", "the key stops working", async {
            call!(suite, client, api_keys.delete(&created.id))?;
            let other = Resend::new(&created.token);
            refused(
                403,
                "invalid_api_key",
                call!(suite, other, emails.list(ListOptions::default())),
            )?;
            let gone = refused(
                404,
                "not_found",
                call!(suite, client, api_keys.delete(UNKNOWN_ID)),
            )?;
            same(gone.as_str(), "API key not found")
        })
        .await;
}

async fn sending_only(suite: &Suite, client: &Resend) {
    suite
        .check(
            "api_keys.create",
            "a sending-only key sends, reschedules and cancels, but cannot read",
            async {
                let created = call!(
                    suite,
                    client,
                    api_keys.create(CreateApiKeyOptions::new("rust sending").with_sending_access())
                )?;
                let limited = Resend::new(&created.token);
                let sent = call!(suite, limited, emails.send(message("keys")))?;
                call!(suite, limited, batch.send(vec![message("keys")]))?;
                let later = call!(
                    suite,
                    limited,
                    emails.send(message("keys").with_scheduled_at(&in_hours(1)))
                )?;
                call!(
                    suite,
                    limited,
                    emails.update(
                        &later.id,
                        UpdateEmailOptions::new().with_scheduled_at(&in_hours(2))
                    )
                )?;
                call!(suite, limited, emails.cancel(&later.id))?;
                refused(
                    403,
                    "restricted_api_key",
                    call!(suite, limited, emails.get(&sent.id)),
                )?;
                refused(
                    403,
                    "restricted_api_key",
                    call!(suite, limited, emails.list(ListOptions::default())),
                )?;
                refused(
                    403,
                    "restricted_api_key",
                    call!(
                        suite,
                        limited,
                        emails.list_attachments(&sent.id, ListOptions::default())
                    ),
                )?;
                refused(
                    403,
                    "restricted_api_key",
                    call!(suite, limited, domains.list(ListOptions::default())),
                )?;
                refused(
                    403,
                    "restricted_api_key",
                    call!(suite, limited, api_keys.list(ListOptions::default())),
                )?;
                call!(suite, client, api_keys.delete(&created.id))?;
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "api_keys.create",
            "a key of another domain may not send from this one",
            async {
                let away = call!(
                    suite,
                    client,
                    domains.create(CreateDomainOptions::new("rust-keys.example.org"))
                )?
                .id;
                let scoped = CreateApiKeyOptions::new("rust scoped").with_domain_access(&away);
                let created = call!(suite, client, api_keys.create(scoped))?;
                let limited = Resend::new(&created.token);
                refused(
                    403,
                    "restricted_api_key",
                    call!(suite, limited, emails.send(message("keys"))),
                )?;
                call!(suite, client, api_keys.delete(&created.id))?;
                call!(suite, client, domains.delete(&away))?;
                Ok(())
            },
        )
        .await;
}

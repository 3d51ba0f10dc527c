//! Domains: create, list, get, update, verify, delete. Claims fail.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    CreateDomainClaimOptions, CreateDomainOptions, Domain, DomainCapabilityStatus, DomainChanges,
    DomainRecord, DomainStatus, Region, Tls,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const NAME: &str = "rust-client.example.org";

pub(crate) async fn run(suite: &Suite, client: &Resend) {
    let options = CreateDomainOptions::new(NAME)
        .with_region(Region::UsEast1)
        .with_custom_return_path("bounce")
        .with_open_tracking(false)
        .with_click_tracking(false)
        .with_tls(Tls::Opportunistic);
    let created = call!(suite, client, domains.create(options));
    suite
        .check("domains.create", "a new domain with its records", async {
            let domain = created.as_ref().map_err(ToString::to_string)?;
            same(domain.name.as_str(), NAME)?;
            ensure!(
                matches!(domain.status, DomainStatus::NotStarted),
                "status {:?}",
                domain.status
            );
            ensure!(
                matches!(domain.region, Region::UsEast1),
                "region {:?}",
                domain.region
            );
            ensure!(
                matches!(domain.capabilities.sending, DomainCapabilityStatus::Enabled),
                "sending is not enabled"
            );
            ensure!(
                matches!(
                    domain.capabilities.receiving,
                    DomainCapabilityStatus::Disabled
                ),
                "receiving is not disabled"
            );
            has_records(domain)
        })
        .await;
    let Ok(Domain { id, .. }) = created else {
        return;
    };

    suite
        .check(
            "domains.create",
            "a name that is already registered is 403",
            async {
                let again = refused(
                    403,
                    "validation_error",
                    call!(
                        suite,
                        client,
                        domains.create(CreateDomainOptions::new(NAME))
                    ),
                )?;
                same(
                    again.as_str(),
                    "The rust-client.example.org domain has been registered already.",
                )
            },
        )
        .await;
    suite
        .check(
            "domains.list",
            "rows without records, limit and cursors",
            async {
                let page = call!(suite, client, domains.list(ListOptions::default()))?;
                let ready = page
                    .data
                    .iter()
                    .find(|row| row.name == "example.com")
                    .ok_or("no example.com")?;
                ensure!(
                    matches!(ready.status, DomainStatus::Verified),
                    "example.com is {:?}",
                    ready.status
                );
                ensure!(
                    page.data.iter().all(|row| row.records.is_none()),
                    "a row has records"
                );
                let newest = call!(
                    suite,
                    client,
                    domains.list(ListOptions::default().with_limit(1))
                )?;
                same((newest.has_more, &newest.data[0].id), (true, &id))?;
                let older = call!(
                    suite,
                    client,
                    domains.list(ListOptions::default().with_limit(1).list_after(&id))
                )?;
                let newer = call!(
                    suite,
                    client,
                    domains.list(
                        ListOptions::default()
                            .with_limit(1)
                            .list_before(&older.data[0].id)
                    )
                )?;
                same(&newer.data[0].id, &id)
            },
        )
        .await;
    suite
        .check(
            "domains.get",
            "the domain with its records; an unknown id is 404",
            async {
                let domain = call!(suite, client, domains.get(&id))?;
                same((&domain.id, domain.name.as_str()), (&id, NAME))?;
                has_records(&domain)?;
                same(
                    refused(
                        404,
                        "not_found",
                        call!(suite, client, domains.get(UNKNOWN_ID)),
                    )?
                    .as_str(),
                    "Domain not found",
                )
            },
        )
        .await;
    suite
        .check("domains.update", "tracking on", async {
            let changes = DomainChanges::new()
                .with_open_tracking(true)
                .with_click_tracking(true)
                .with_tracking_subdomain("links");
            same(&call!(suite, client, domains.update(&id, changes))?.id, &id)?;
            let domain = call!(suite, client, domains.get(&id))?;
            same(
                (domain.open_tracking, domain.click_tracking),
                (Some(true), Some(true)),
            )?;
            has_records(&domain)
        })
        .await;
    suite
        .check("domains.verify", "starts a check", async {
            same(&call!(suite, client, domains.verify(&id))?.id, &id)?;
            let status = call!(suite, client, domains.get(&id))?.status;
            ensure!(
                !matches!(status, DomainStatus::Verified),
                "verified without any DNS"
            );
            Ok(())
        })
        .await;

    let tls = DomainChanges::new().with_tls(Tls::Enforced);
    let tls = call!(suite, client, domains.update(&id, tls));
    suite.must_fail(
        "domains.update",
        "the TLS mode is not set per domain",
        422,
        "validation_error",
        tls,
    );
    let region = CreateDomainOptions::new("eu.example.org").with_region(Region::EuWest1);
    let region = call!(suite, client, domains.create(region));
    suite.must_fail(
        "domains.create",
        "a region this server does not offer",
        422,
        "validation_error",
        region,
    );
    let claim = call!(
        suite,
        client,
        domains.claim(CreateDomainClaimOptions::new("claim.example.org"))
    );
    suite.must_fail("domains.claim", "no domain claims", 404, "not_found", claim);
    let claim = call!(suite, client, domains.get_claim(&id));
    suite.must_fail(
        "domains.get_claim",
        "no domain claims",
        404,
        "not_found",
        claim,
    );
    let claim = call!(suite, client, domains.verify_claim(&id));
    suite.must_fail(
        "domains.verify_claim",
        "no domain claims",
        404,
        "not_found",
        claim,
    );

    suite
        .check("domains.delete", "deleted, then 404", async {
            let response = call!(suite, client, domains.delete(&id))?;
            same((&response.id, response.deleted), (&id, true))?;
            refused(404, "not_found", call!(suite, client, domains.get(&id)))?;
            Ok(())
        })
        .await;
}

/// Checks the records of a domain. The SDK has decoded them with its closed list of record kinds.
fn has_records(domain: &Domain) -> Checked {
    let records = domain.records.as_deref().unwrap_or_default();
    let spf = records
        .iter()
        .filter(|row| matches!(row, DomainRecord::DomainSpfRecord(_)))
        .count();
    let dkim = records
        .iter()
        .filter(|row| matches!(row, DomainRecord::DomainDkimRecord(_)))
        .count();
    ensure!(spf == 2 && dkim >= 1, "the records are {records:?}");
    Ok(())
}

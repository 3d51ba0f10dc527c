//! Tests of adding, showing, changing and deleting domains.

use super::*;
use crate::api_keys::{NewKey, Permission};
use crate::base::patch::Patch;
use crate::domains::error::{CreateDomainError, DomainRule, UpdateDomainError};
use crate::domains::model::{DnsLabel, DomainChanges};
use crate::domains::signing::signing_keys;
use crate::domains::{exists, find_sender};
use crate::store::page::{Cursor, PageQuery};

#[tokio::test]
async fn a_new_domain_has_records_and_is_not_verified() {
    let instance = Instance::start();
    let new =
        NewDomain { return_path: DnsLabel::parse("bounce"), ..NewDomain::named(domain_name("Mail.Shop.example")) };

    let created = instance.domains.create(TEAM, new).await.unwrap();

    let shown = instance.shown(created.domain.id).await;
    assert_eq!(shown, created);
    assert_eq!((shown.domain.name.as_str(), shown.domain.status), ("mail.shop.example", DomainStatus::NotStarted));
    assert_eq!(shown.domain.region, "us-east-1");
    let row = instance.row(created.domain.id);
    let rows: Vec<String> =
        shown.records.iter().map(|row| format!("{} {} {}", row.record, row.dns_type, row.name)).collect();
    assert_eq!(
        rows,
        [
            "SPF MX bounce.mail".to_owned(),
            "SPF TXT bounce.mail".to_owned(),
            format!("DKIM TXT {}._domainkey.mail", row.rsa.selector),
            format!("DKIM TXT {}._domainkey.mail", row.ed25519.selector),
        ]
    );
    assert!(shown.records.iter().all(|row| row.status == RecordStatus::NotStarted && row.live.is_none()));
    assert_eq!(shown.recommended[0].value, "v=DMARC1; p=none;");
    let sender = instance.context.read(|tx| find_sender(tx, TEAM, "mail.shop.example")).unwrap();
    assert!(!sender.verified && !sender.tracked && !sender.ed25519);
}

#[tokio::test]
async fn a_name_is_registered_once_per_team_and_has_other_keys_in_another_team() {
    let instance = Instance::start();
    let new = || NewDomain::named(domain_name("shop.example"));
    let own = instance.add("shop.example").await;

    let again = instance.domains.create(TEAM, new()).await;
    let foreign = instance.domains.create(OTHER_TEAM, new()).await.unwrap();

    assert!(matches!(again, Err(CreateDomainError::Taken(name)) if name.as_str() == "shop.example"));
    let values = |domain: DomainWithRecords| {
        let keys = domain.records.into_iter().filter(|row| row.record == "DKIM");
        keys.map(|row| (row.name, row.value)).collect::<Vec<_>>()
    };
    let (own, foreign) = (values(instance.shown(own).await), values(foreign));
    assert!(own.iter().zip(&foreign).all(|(own, foreign)| own.0 != foreign.0 && own.1 != foreign.1));
}

#[tokio::test]
async fn a_domain_of_another_team_is_not_found() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let domains = &instance.domains;

    assert!(domains.find(OTHER_TEAM, id).await.unwrap().is_none());
    assert!(!domains.delete(OTHER_TEAM, id).await.unwrap());
    assert!(!domains.request_verification(OTHER_TEAM, id).await.unwrap());
    let update = domains.update(OTHER_TEAM, id, DomainChanges::default()).await;
    assert!(matches!(update, Err(UpdateDomainError::NotFound)));
    let query = PageQuery { limit: 10, cursor: Cursor::Newest };
    assert!(domains.list(OTHER_TEAM, query).await.unwrap().rows.is_empty());
    assert_eq!(domains.list(TEAM, query).await.unwrap().rows[0].id, id);
}

#[tokio::test]
async fn an_invalid_domain_is_refused() {
    let instance = Instance::with_settings(DomainSettings { links_allowed: false, ..settings() });
    let new = |name: &str| NewDomain::named(domain_name(name));
    let long = format!("{}.{}.{}.{}.example", "a".repeat(63), "b".repeat(63), "c".repeat(63), "d".repeat(30));
    let links = || DnsLabel::parse("links");

    for (new, refused) in [
        (NewDomain { region: Some("mars-1".into()), ..new("a.example") }, "Region([\"us-east-1\", \"eu-west-1\"])"),
        (NewDomain { open_tracking: true, ..new("a.example") }, "Rule(TrackingUnreachable)"),
        (NewDomain { click_tracking: true, ..new("a.example") }, "Rule(TrackingUnreachable)"),
        (NewDomain { return_path: links(), tracking_subdomain: links(), ..new("a.example") }, "Rule(SameLabel)"),
        (NewDomain { tracking_subdomain: DnsLabel::parse("send"), ..new("a.example") }, "Rule(SameLabel)"),
        (new(&long), "Rule(NameTooLong)"),
        (new("a.b"), "NameTooShort"),
    ] {
        let error = instance.domains.create(TEAM, new).await.unwrap_err();

        assert_eq!(format!("{error:?}"), refused);
    }
}

#[tokio::test]
async fn a_change_of_tracking_updates_the_sender_index() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let update = async |changes| instance.domains.update(TEAM, id, changes).await;
    let set = |text: &str| Patch::Set(DnsLabel::parse(text).unwrap());

    update(DomainChanges { click_tracking: Some(true), tracking_subdomain: set("links"), ..DomainChanges::default() })
        .await
        .unwrap();
    let shown = instance.shown(id).await;
    assert!(shown.domain.click_tracking && !shown.domain.open_tracking);
    assert_eq!(shown.records[4].dns_type, "CNAME");
    let sender = || instance.context.read(|tx| find_sender(tx, TEAM, "shop.example")).unwrap();
    assert!(sender().tracked);

    let same = update(DomainChanges { tracking_subdomain: set("send"), ..DomainChanges::default() }).await;
    assert!(matches!(same, Err(UpdateDomainError::Rule(DomainRule::SameLabel))));

    update(DomainChanges { click_tracking: Some(false), tracking_subdomain: Patch::Clear, ..DomainChanges::default() })
        .await
        .unwrap();
    let shown = instance.shown(id).await;
    assert_eq!((shown.domain.tracking_subdomain, shown.records.len()), (None, 4));
    assert!(!sender().tracked);
}

#[tokio::test]
async fn without_a_public_address_tracking_can_only_be_disabled() {
    let instance = Instance::with_settings(DomainSettings { links_allowed: false, ..settings() });
    let id = instance.add("shop.example").await;
    let tracked = DomainRow { open_tracking: true, ..instance.row(id) };
    instance.store_row(id, tracked).await;
    let update = async |open, click| {
        let changes = DomainChanges { open_tracking: open, click_tracking: click, ..DomainChanges::default() };
        instance.domains.update(TEAM, id, changes).await.is_ok()
    };

    assert!(!update(None, Some(true)).await);
    assert!(update(Some(true), Some(false)).await, "enabled tracking can stay enabled");
    assert!(update(Some(false), Some(false)).await);
    assert!(!update(Some(true), None).await);
}

#[tokio::test]
async fn deleting_a_domain_revokes_its_api_keys_and_deletes_its_signing_keys() {
    let instance = Instance::start();
    let (id, other) = (instance.add("shop.example").await, instance.add("other.example").await);
    let key = async |domain| {
        let new = NewKey { name: "k".into(), permission: Permission::SendingAccess, domain };
        instance.keys.create(TEAM, new).await.unwrap().1
    };
    let (scoped, to_other, unscoped) = (key(Some(id)).await, key(Some(other)).await, key(None).await);

    assert!(instance.domains.delete(TEAM, id).await.unwrap());

    assert!(instance.keys.authenticate(&scoped).is_none());
    assert!(instance.keys.authenticate(&to_other).is_some());
    assert!(instance.keys.authenticate(&unscoped).is_some());
    let reloaded = ApiKeys::load(instance.context.clone(), tokio_util::task::TaskTracker::new(), |tx, team, id| {
        crate::domains::exists(tx, team, id)
    })
    .unwrap();
    assert!(reloaded.authenticate(&scoped).is_none());
    let keyring = &instance.context.keyring;
    instance.context.read(|tx| {
        assert!(!exists(tx, TEAM, id)?);
        assert!(find_sender(tx, TEAM, "shop.example")?.is_none());
        assert!(signing_keys(tx, keyring, TEAM, id)?.is_none());
        assert!(signing_keys(tx, keyring, TEAM, other)?.is_some());
        Ok(())
    });
    assert!(!instance.domains.delete(TEAM, id).await.unwrap());
    assert_ne!(instance.add("shop.example").await, id);
}

#[tokio::test]
async fn a_domain_that_is_added_as_verified_stays_verified_with_both_keys() {
    let instance = Instance::start();

    let id = instance.domains.add_verified(TEAM, domain_name("dev.example")).await.unwrap();
    let again = instance.domains.add_verified(TEAM, domain_name("dev.example")).await.unwrap();

    assert_eq!(id, again);
    assert!(instance.domains.request_verification(TEAM, id).await.unwrap());
    instance.context.clock.advance(Duration::from_secs(24 * 3600));
    instance.domains.check_due().await.unwrap();
    let shown = instance.shown(id).await;
    assert_eq!(shown.domain.status, DomainStatus::Verified);
    assert!(shown.records.iter().chain(&shown.recommended).all(|row| row.live == Some(DnsMatch::Found)));
    let keys = instance.context.read(|tx| signing_keys(tx, &instance.context.keyring, TEAM, id));
    assert_eq!(keys.unwrap().keys.len(), 2);
}

#[tokio::test]
async fn an_existing_domain_can_be_marked_as_verified() {
    let instance = Instance::start();
    let id = instance.add("dev.example").await;

    assert_eq!(instance.domains.add_verified(TEAM, domain_name("dev.example")).await.unwrap(), id);
    assert_eq!(instance.shown(id).await.domain.status, DomainStatus::Verified);
}

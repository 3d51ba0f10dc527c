//! Tests of verification, of its loss, and of rechecks.

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::clock::DAY_MS;
use crate::domains::find_sender;
use crate::domains::signing::signing_keys;
use crate::tables::DOMAINS;

const HOUR: Duration = Duration::from_secs(3600);

async fn status(instance: &Instance, id: DomainId) -> DomainStatus {
    instance.shown(id).await.domain.status
}

/// Advances the clock and runs the due checks.
async fn check_later(instance: &Instance, domains: &Arc<Domains>, later: Duration) {
    instance.context.clock.advance(later);
    domains.check_due().await.unwrap();
}

#[tokio::test]
async fn a_domain_with_all_records_is_verified_and_signs_with_both_keys() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&instance.expected(id), "_dmarc IN TXT \"v=DMARC1; p=reject\"\n").await;
    let domains = instance.restarted(authority.address);

    assert!(domains.request_verification(TEAM, id).await.unwrap());
    assert_eq!(status(&instance, id).await, DomainStatus::Pending);
    domains.check_due().await.unwrap();

    let shown = instance.shown(id).await;
    assert_eq!(shown.domain.status, DomainStatus::Verified);
    assert!(shown.records.iter().all(|row| row.status == RecordStatus::Verified && row.detail.is_none()));
    let keys = instance.context.read(|tx| signing_keys(tx, &instance.context.keyring, TEAM, id));
    assert_eq!(keys.unwrap().keys.len(), 2);
    let sender = instance.context.read(|tx| find_sender(tx, TEAM, "shop.example")).unwrap();
    assert!(sender.verified && sender.ed25519);
}

#[tokio::test]
async fn an_inherited_dmarc_policy_is_returned_with_its_parent() {
    let instance = Instance::start();
    let id = instance.add("mail.shop.example").await;
    let authority = publish(&[], "_dmarc.shop IN TXT \"v=DMARC1; p=quarantine; sp=reject\"\n").await;
    let domains = instance.restarted(authority.address);

    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();

    let dmarc = instance.shown(id).await.recommended.remove(0);
    assert_eq!((dmarc.status, dmarc.live), (RecordStatus::Verified, Some(DnsMatch::Found)));
    assert_eq!(dmarc.policy.as_deref(), Some("reject"));
    assert_eq!(dmarc.inherited_from.as_deref(), Some("shop.example"));
    assert_eq!(dmarc.name, "_dmarc.mail");
}

#[tokio::test]
async fn a_clock_set_back_by_a_day_delays_no_check() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&instance.expected(id), "").await;
    let domains = instance.restarted(authority.address);
    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();
    assert_eq!(status(&instance, id).await, DomainStatus::Verified);

    let is_checked_now = || instance.row(id).checked_ms == Some(instance.context.now_ms());

    domains.request_verification(TEAM, id).await.unwrap();
    instance.context.clock.step(-DAY_MS);
    domains.check_due().await.unwrap();
    assert!(is_checked_now(), "the requested check");

    for step_ms in [0, -DAY_MS] {
        instance.context.clock.step(step_ms);
        check_later(&instance, &domains, HOUR / 4).await;
        assert!(is_checked_now(), "the sweep after a step of {step_ms} ms");
    }
}

#[tokio::test]
async fn a_domain_with_missing_records_fails_after_three_days() {
    let instance = Instance::start();
    let id = instance.add("mail.shop.example").await;
    let authority = publish(&[], "").await;
    let domains = instance.restarted(authority.address);

    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();
    assert_eq!(status(&instance, id).await, DomainStatus::Pending);
    let mx = instance.shown(id).await.records.remove(0);
    assert_eq!((mx.status, mx.live), (RecordStatus::NotStarted, Some(DnsMatch::Missing)));
    assert_eq!(mx.detail.as_deref(), Some("send.mail.shop.example: No MX record is published at this name."));

    check_later(&instance, &domains, 71 * HOUR).await;
    assert_eq!(status(&instance, id).await, DomainStatus::Pending);
    check_later(&instance, &domains, HOUR).await;
    assert_eq!(status(&instance, id).await, DomainStatus::Failed);

    let authority = publish(&instance.expected(id), "").await;
    let domains = instance.restarted(authority.address);
    domains.check_due().await.unwrap();
    assert_eq!(status(&instance, id).await, DomainStatus::Failed, "not checked without a request");
    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();
    assert_eq!(status(&instance, id).await, DomainStatus::Verified);
}

#[tokio::test]
async fn a_requested_check_is_repeated_after_a_minute() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&[], "").await;
    let domains = instance.restarted(authority.address);
    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();
    let first = instance.row(id).checked_ms;

    check_later(&instance, &domains, Duration::from_secs(59)).await;
    assert_eq!(instance.row(id).checked_ms, first);
    check_later(&instance, &domains, Duration::from_secs(1)).await;
    assert!(instance.row(id).checked_ms > first);
}

#[tokio::test]
async fn a_failed_lookup_keeps_a_domain_verified_and_a_record_missing_twice_fails_it() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let expected = instance.expected(id);
    let complete = publish(&expected, "").await;
    let domains = instance.restarted(complete.address);
    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();

    let unreachable = instance.restarted("127.0.0.1:9".parse().unwrap());
    check_later(&instance, &unreachable, HOUR).await;
    let shown = instance.shown(id).await;
    assert_eq!(shown.domain.status, DomainStatus::Verified);
    assert_eq!(
        (shown.records[2].status, shown.records[2].live),
        (RecordStatus::TemporaryFailure, Some(DnsMatch::Unknown))
    );
    assert!(instance.row(id).ed25519_published());

    let without_spf: Vec<ExpectedRecord> =
        expected.iter().filter(|record| record.kind != RecordKind::ReturnPathSpf).cloned().collect();
    let authority = publish(&without_spf, "").await;
    let incomplete = instance.restarted(authority.address);
    check_later(&instance, &incomplete, HOUR).await;
    let shown = instance.shown(id).await;
    assert_eq!(shown.domain.status, DomainStatus::Verified, "one server can be outdated");
    assert_eq!(
        (shown.records[1].status, shown.records[1].live),
        (RecordStatus::TemporaryFailure, Some(DnsMatch::Missing))
    );
    check_later(&instance, &incomplete, Duration::from_secs(60)).await;
    assert_eq!(status(&instance, id).await, DomainStatus::Failed);

    let healed = instance.restarted(complete.address);
    check_later(&instance, &healed, HOUR).await;
    assert_eq!(status(&instance, id).await, DomainStatus::Verified);
}

#[tokio::test]
async fn a_request_for_a_verified_domain_keeps_it_verified() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&instance.expected(id), "").await;
    let domains = instance.restarted(authority.address);
    domains.request_verification(TEAM, id).await.unwrap();
    domains.check_due().await.unwrap();
    let first = instance.row(id).checked_ms;
    instance.context.clock.advance(Duration::from_secs(1));

    domains.request_verification(TEAM, id).await.unwrap();
    assert_eq!(status(&instance, id).await, DomainStatus::Verified);
    domains.check_due().await.unwrap();
    assert!(instance.row(id).checked_ms > first, "the domain was checked anyway");
}

#[tokio::test]
async fn a_sweep_checks_the_hundred_oldest_and_the_next_one_the_rest() {
    let instance = Instance::start();
    let authority = publish(&[], "").await;
    let domains = instance.restarted(authority.address);
    let now_ms = instance.context.now_ms();
    let mut ids = Vec::new();
    for number in 0..130_i64 {
        let id = instance.context.id();
        let row = DomainRow {
            status: DomainStatus::Verified,
            checked_ms: Some(now_ms - HOUR.as_millis() as i64 + number),
            ..super::super::testing::row(&format!("d{number}.example"))
        };
        instance.store_row(id, row).await;
        ids.push(id);
    }
    let failed = |ids: &[DomainId]| ids.iter().filter(|id| instance.row(**id).status == DomainStatus::Failed).count();

    domains.check_due().await.unwrap();
    assert_eq!((failed(&ids[..100]), failed(&ids[100..])), (100, 0));
    domains.check_due().await.unwrap();
    assert_eq!(failed(&ids), 100, "the next sweep is due in a quarter of an hour");
    check_later(&instance, &domains, Duration::from_secs(15 * 60)).await;
    assert_eq!(failed(&ids), 130);
}

#[tokio::test]
async fn the_worker_runs_requested_checks_until_it_is_stopped() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&instance.expected(id), "").await;
    let domains = instance.restarted(authority.address);
    let stop = CancellationToken::new();
    let mut worker = JoinSet::new();
    worker.spawn(Arc::clone(&domains).run(stop.clone()));

    domains.request_verification(TEAM, id).await.unwrap();
    let verified = async {
        while status(&instance, id).await != DomainStatus::Verified {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), verified).await.unwrap();

    stop.cancel();
    let ended = tokio::time::timeout(Duration::from_secs(10), worker.join_all()).await.unwrap();
    assert!(ended[0].is_ok());
}

#[tokio::test]
async fn a_requested_check_runs_after_a_restart() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    instance.domains.request_verification(TEAM, id).await.unwrap();
    let authority = publish(&instance.expected(id), "").await;

    let domains = instance.restarted(authority.address);
    domains.check_due().await.unwrap();

    assert_eq!(status(&instance, id).await, DomainStatus::Verified);
}

#[tokio::test]
async fn a_corrupt_domain_is_skipped_and_the_others_are_checked() {
    let instance = Instance::start();
    let id = instance.add("shop.example").await;
    let authority = publish(&instance.expected(id), "").await;
    let domains = instance.restarted(authority.address);
    instance.context.corrupt(&DOMAINS, (TEAM, DomainId::MIN)).await;

    assert!(domains.request_verification(TEAM, id).await.unwrap());
    domains.check_due().await.unwrap();

    assert_eq!(status(&instance, id).await, DomainStatus::Verified);
}

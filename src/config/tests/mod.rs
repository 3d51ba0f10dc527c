use std::time::Duration;

use clap::Parser;
use proptest::prelude::*;

use super::surroundings::Surroundings;
use super::*;

mod relay;

#[derive(Parser, Debug)]
struct Line {
    #[command(flatten)]
    settings: Settings,
}

/// Parses a command line. The tests set no variables, because all tests share one process.
fn settings(line: &[&str]) -> Result<Settings, String> {
    let line = std::iter::once("ringmail").chain(line.iter().copied());
    Line::try_parse_from(line).map(|line| line.settings).map_err(|error| error.to_string())
}

fn config_within(line: &[&str], purpose: InstanceVerb, surroundings: Surroundings) -> Result<Config, ConfigError> {
    settings(line).unwrap().into_config_within(purpose, surroundings)
}

fn config(line: &[&str]) -> Result<Config, ConfigError> {
    config_within(line, InstanceVerb::Serve, Surroundings::default())
}

#[test]
fn without_arguments_every_setting_has_its_documented_default() {
    let config = config(&[]).unwrap();

    assert_eq!(config.listen.to_string(), "127.0.0.1:8787");
    assert_eq!(config.data_dir, PathBuf::from("./ringmail-data"));
    assert_eq!(config.master_key_file, PathBuf::from("./ringmail-data/master.key"));
    assert_eq!(config.public_url(config.listen), "http://127.0.0.1:8787");
    assert_eq!(config.delivery, DeliveryConfig::Capture);
    assert_eq!((config.smtp_port, config.required_tls.0.len()), (25, 2));
    assert_eq!(config.retries.expire_after, Duration::from_secs(48 * 3600));
    assert_eq!(config.retries.expire_broadcasts_after, Duration::from_secs(72 * 3600));
    assert_eq!(config.retries.confirm_after, Duration::from_secs(15 * 60));
    let minutes: Vec<u64> = config.retries.delays.iter().map(|delay| delay.as_secs() / 60).collect();
    assert_eq!(minutes, [1, 3, 5, 10, 20, 40, 60, 120, 240]);
    assert_eq!(config.queue, QueueConfig::Run);
    assert_eq!((config.rates.defaults.sessions_max, config.sessions_max), (10, 200));
    assert_eq!(config.rates.single_sessions_max, 20);
    let defaults = config.rates.defaults;
    assert_eq!((defaults.messages_per_second, defaults.connections_per_minute), (Some(100), Some(100)));
    assert_eq!(config.rate_limit, 100);
    assert_eq!((config.address_connections_max, config.trusted_proxies.len()), (Some(512), 0));
    assert_eq!(config.cors_origins, Vec::<String>::new());
    assert_eq!(config.regions, ["us-east-1"]);
    assert_eq!((config.cache_bytes, config.disk_reserve), (64 << 20, DiskReserve::Automatic));
    assert_eq!((config.content_retention_days, config.email_retention_days), (30, 365));
    assert_eq!((config.attachment_retention_days, config.idempotency_retention_hours), (30, 24));
    assert_eq!((config.webhook_delivery_retention_days, config.attempt_retention_days), (30, 30));
    assert_eq!((config.log_retention_days, config.request_log), (30, RequestLogging::On));
    assert_eq!(config.metrics_retention_days, 730);
    assert_eq!(config.audit_retention_days, 365);
    assert_eq!(config.attachment_bytes_max, 40 << 20);
    assert_eq!((config.body_bytes_max, config.body_budget_bytes), (56 << 20, 128 << 20));
    assert_eq!(config.ingest_secret, None);
    assert_eq!(config.system_from, None);
    assert_eq!(config.capture_smtp.to_string(), "127.0.0.1:0");
    assert_eq!(config.webhooks.dispatch.per_second, 50);
    assert!(!config.webhooks.policy.plain_http);
    assert_eq!((config.log_format, config.log_filter.as_str()), (LogFormat::Text, "info"));
}

#[test]
fn the_data_directory_is_the_flag_or_else_that_of_the_service_manager_or_the_default() {
    let managed = Surroundings { state_directory: Some("/var/lib/ringmail".into()), ..Surroundings::default() };

    let given = config_within(&["--data-dir", "there"], InstanceVerb::Serve, managed.clone()).unwrap();
    let served = config_within(&[], InstanceVerb::Serve, managed.clone()).unwrap();
    let developed = config_within(&[], InstanceVerb::Dev(DevSetup::default()), managed).unwrap();

    assert_eq!(given.data_dir, PathBuf::from("there"));
    assert_eq!(served.master_key_file, PathBuf::from("/var/lib/ringmail/master.key"));
    assert_eq!(developed.data_dir, PathBuf::from("./ringmail-dev"));
}

#[test]
fn a_machine_without_a_qualified_name_gets_the_fallback() {
    let named = |machine: &str, line: &[&str]| {
        let surroundings = Surroundings { machine_name: Some(machine.into()), ..Surroundings::default() };
        let hostname = config_within(line, InstanceVerb::Serve, surroundings).unwrap().hostname;
        (hostname.name.as_str().to_owned(), hostname.origin)
    };

    assert_eq!(named("mx.example.com\n", &[]), ("mx.example.com".into(), HostnameOrigin::Machine));
    assert_eq!(named("laptop\n", &[]), ("localhost.localdomain".into(), HostnameOrigin::Fallback));
    assert_eq!(
        named("laptop\n", &["--hostname", "MX.Example.com"]),
        ("mx.example.com".into(), HostnameOrigin::Setting)
    );
}

#[test]
fn every_way_to_mx_hosts_needs_a_name_that_other_servers_can_look_up() {
    for (line, is_refused) in [
        (&["--delivery", "direct"][..], true),
        (&["--route", "a.example=direct"], true),
        (&["--release", "direct"], true),
        (&["--delivery", "direct", "--source", "192.0.2.1=mx.example.com"], false),
        (&["--delivery", "direct", "--hostname", "mx.example.com"], false),
        (&[], false),
    ] {
        assert_eq!(config(line).unwrap().check_delivery().is_err(), is_refused, "{line:?}");
    }
}

#[test]
fn one_setting_limits_the_sessions_with_a_site_and_with_a_smarthost() {
    for (line, expected) in
        [(&["--concurrency", "7"][..], (7, 7)), (&["--sessions", "15"], (10, 15)), (&["--sessions", "300"], (10, 20))]
    {
        let rates = config(line).unwrap().rates;

        assert_eq!((rates.defaults.sessions_max, rates.single_sessions_max), expected, "{line:?}");
    }
}

#[test]
fn an_invalid_combination_of_settings_is_an_error_that_names_the_flag() {
    for (line, wanted) in [
        (&["--email-retention-days", "7"][..], "--email-retention-days (7)"),
        (&["--attachment-retention-days", "31"], "--attachment-retention-days (31)"),
        (&["--delivery", "relay"], "--relay smtp://"),
        (&["--delivery", "relay", "--relay", "smtp://user@mail.example.com"], "RINGMAIL_RELAY_PASSWORD"),
        (&["--relay", "mail.example.com"], "smtp:// or smtps://"),
        (&["--body-mb", "200"], "--body-budget-mb (128)"),
        (&["--sessions", "5"], "--sessions (5)"),
        (&["--ingest-secret", "whsec_c2hvcnQ="], "--ingest-secret (or RINGMAIL_INGEST_SECRET)"),
    ] {
        let sentence = config(line).unwrap_err().to_string();

        assert!(sentence.contains(wanted), "{line:?}: {sentence}");
    }
}

#[test]
fn an_invalid_value_is_an_error() {
    for line in [
        ["--listen", "8787"],
        ["--listen", "example.com:80"],
        ["--public-url", "example.com"],
        ["--public-url", "https://example.com/?x=1"],
        ["--rate-limit", "-1"],
        ["--rate-limit", "1000001"],
        ["--cors-origins", "https://example.com/page"],
        ["--dashboard-hosts", "mail.lan:8787"],
        ["--dashboard-hosts", "https://mail.lan"],
        ["--regions", "EU West"],
        ["--body-mb", "0"],
        ["--attachment-mb", "257"],
        ["--cache-mb", "7"],
        ["--content-retention-days", "0"],
        ["--attachment-retention-days", "0"],
        ["--idempotency-retention-hours", "0"],
        ["--idempotency-retention-hours", "721"],
        ["--log-retention-days", "0"],
        ["--audit-retention-days", "0"],
        ["--request-log", "perhaps"],
        ["--delivery", "pigeon"],
        ["--relay-records", "mx=10"],
        ["--hostname", "laptop"],
        ["--resolver", "dns.example.com"],
        ["--smtp-port", "0"],
        ["--smtp-port", "65536"],
        ["--allow-address", "10.0.0.0/33"],
        ["--retry-delays", "1m,99ms"],
        ["--retry-delays", ""],
        ["--expire-after", "6d"],
        ["--expire-after", "0s"],
        ["--expire-broadcasts-after", "121h"],
        ["--expire-broadcasts-after", "0s"],
        ["--concurrency", "0"],
        ["--sessions", "5001"],
        ["--log-format", "xml"],
    ] {
        assert!(settings(&line).is_err(), "{line:?}");
    }
}

#[test]
fn lists_are_separated_by_commas_or_repeated() {
    let config = config(&[
        "--resolver",
        "127.0.0.1:5353,9.9.9.9,2620:fe::fe,[2620:fe::fe]",
        "--allow-address",
        "127.0.0.0/8",
        "--allow-address",
        "10.0.0.0/8,fd00::/8",
        "--cors-origins",
        "https://a.example/,https://b.example:8443",
        "--dashboard-hosts",
        "Mail.lan,192.168.1.5,[::2]",
    ])
    .unwrap();

    let resolvers: Vec<String> = config.resolvers.iter().map(ToString::to_string).collect();
    assert_eq!(resolvers, ["127.0.0.1:5353", "9.9.9.9:53", "[2620:fe::fe]:53", "[2620:fe::fe]:53"]);
    assert_eq!(config.allowed_addresses.len(), 3);
    assert_eq!(config.dashboard_hosts, ["mail.lan", "192.168.1.5", "::2"]);
    assert_eq!(config.cors_origins, ["https://a.example", "https://b.example:8443"]);
}

#[test]
fn the_public_url_is_the_setting_or_else_the_local_url() {
    let default = config(&[]).unwrap();
    let given = config(&["--public-url", "https://mail.example.com/"]).unwrap();

    assert_eq!(default.public_url("0.0.0.0:80".parse().unwrap()), "http://127.0.0.1:80");
    assert_eq!(default.public_url("[::]:80".parse().unwrap()), "http://[::1]:80");
    assert_eq!(given.public_url("0.0.0.0:80".parse().unwrap()), "https://mail.example.com");
}

#[test]
fn durations_are_numbers_with_units() {
    for (text, ms) in [("90s", 90_000), ("1h30m", 5_400_000), ("250ms", 250), ("2d", 172_800_000), ("0s", 0)] {
        assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
    }
    for text in ["", "s", "5", "5x", "-5s", "1.5h", "5 s", "99999999999999999999s", "18446744073709551615d"] {
        assert!(parse_duration(text).is_err(), "{text}");
    }
}

#[test]
fn links_are_allowed_if_recipients_can_open_them() {
    for (line, allowed) in [
        (&[][..], true),
        (&["--delivery", "direct"], false),
        (&["--delivery", "direct", "--public-url", "https://mail.example.com"], true),
        (&["--delivery", "direct", "--public-url", "http://localhost:8787"], false),
        (&["--delivery", "direct", "--public-url", "http://[::1]:8787/mail"], false),
        (&["--delivery", "direct", "--listen", "0.0.0.0:8787"], false),
        (&["--delivery", "direct", "--listen", "192.0.2.1:8787"], true),
    ] {
        let config = config(line).unwrap();

        assert_eq!(config.domain_settings(config.listen).links_allowed, allowed, "{line:?}");
    }
}

#[test]
fn the_records_of_a_smarthost_are_used_only_in_relay_delivery() {
    let records = ["--relay-records", "mx=10 mx.example.com; spf=include:example.com"];
    for (mode, shown) in
        [(&["--delivery", "direct"][..], false), (&["--delivery", "relay", "--relay", "smtp://mail.example.com"], true)]
    {
        let config = config(&[mode, &records].concat()).unwrap();

        assert_eq!(config.domain_settings(config.listen).relay_records.is_some(), shown, "{mode:?}");
    }
}

#[test]
fn an_explicit_disk_reserve_is_an_amount() {
    for (mib, bytes) in [("0", 0), ("24", 24 << 20)] {
        assert_eq!(config(&["--disk-reserve-mb", mib]).unwrap().disk_reserve, DiskReserve::Bytes(bytes), "{mib}");
    }
}

#[test]
fn both_retry_periods_are_settings_of_up_to_five_days() {
    let config = config(&["--expire-after", "5d", "--expire-broadcasts-after", "5d"]).unwrap();

    let day = Duration::from_secs(24 * 3_600);
    assert_eq!((config.retries.expire_after, config.retries.expire_broadcasts_after), (5 * day, 5 * day));
}

proptest! {
    #[test]
    fn no_text_panics_a_parser(text in ".{0,60}") {
        let _ = parse_duration(&text);
        let _ = text.parse::<RelayUrl>();
        let _ = format!("smtp://{text}").parse::<RelayUrl>();
        let _ = parse_url(&text);
    }

    #[test]
    fn a_formatted_duration_parses_to_the_same_duration(ms in 0_u64..1_000_000_000_000) {
        let duration = Duration::from_millis(ms);

        prop_assert_eq!(parse_duration(&super::values::spell(duration)), Ok(duration));
    }
}

#[test]
fn webhooks_to_loopback_are_allowed_only_in_development() {
    let loopback = "127.0.0.1".parse().unwrap();
    let dev = config_within(&[], InstanceVerb::Dev(DevSetup::default()), Surroundings::default()).unwrap();
    assert!(dev.webhooks.policy.plain_http && dev.webhooks.policy.guard.permits(loopback));

    let serve = config(&["--webhook-allow-address", "10.0.0.0/8", "--webhook-rate", "0"]).unwrap();
    assert!(!serve.webhooks.policy.plain_http && !serve.webhooks.policy.guard.permits(loopback));
    assert!(serve.webhooks.policy.guard.permits("10.1.2.3".parse().unwrap()));
    assert_eq!(serve.webhooks.dispatch.per_second, 0);
}

#[test]
fn files_of_attachments_have_none_of_the_exceptions_of_webhooks() {
    let loopback = "127.0.0.1".parse().unwrap();
    let dev = config_within(
        &["--webhook-allow-address", "10.0.0.0/8"],
        InstanceVerb::Dev(DevSetup::default()),
        Surroundings::default(),
    );
    let serve = config(&["--webhook-allow-address", "10.0.0.0/8,127.0.0.0/8", "--webhook-allow-http"]).unwrap();

    let (dev, serve) = (dev.unwrap().file_policy, serve.file_policy);

    assert!(dev.plain_http && dev.local_names);
    assert!(dev.guard.permits(loopback) && dev.guard.permits("::1".parse().unwrap()));
    assert!(!serve.plain_http && !serve.local_names && !serve.guard.permits(loopback));
    for policy in [dev, serve] {
        assert!(!policy.guard.permits("10.1.2.3".parse().unwrap()) && policy.extra_roots.is_empty());
    }
}

#[test]
fn a_file_without_a_certificate_is_an_error_that_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("ca.pem");
    for text in ["", "no certificate", "-----BEGIN CERTIFICATE-----\n!\n-----END CERTIFICATE-----\n"] {
        std::fs::write(&path, text).unwrap();

        let error = config(&["--webhook-ca-file", path.to_str().unwrap()]).unwrap_err().to_string();

        assert!(error.contains("ca.pem"), "{error}");
    }
}

#[test]
fn the_sender_of_notices_is_a_mailbox() {
    let from = config(&["--system-from", "Ringmail <notices@Example.com>"]).unwrap().system_from.unwrap();
    assert_eq!(from.to_string(), "Ringmail <notices@example.com>");

    let error = settings(&["--system-from", "nobody"]).unwrap_err();
    assert!(error.contains("Name <notices@example.com>"), "{error}");
}

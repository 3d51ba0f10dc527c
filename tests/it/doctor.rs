//! `ringmail doctor`: the checks of a server, and the verb.

use std::net::UdpSocket;

use hickory_server::proto::rr::RecordType;
use ringmail::doctor::{CheckStatus, DoctorOptions, DoctorReport};
use ringmail::email_metrics::DayTotals;
use serde_json::json;

use crate::support::{MailServer, NameServer, StartTls, TestServer, retry_until_ok};

/// Returns the status of each check with this name, with its subject.
fn statuses(report: &DoctorReport, name: &str) -> Vec<(Option<String>, CheckStatus)> {
    let checks = report.checks.iter().filter(|check| check.check == name);
    checks.map(|check| (check.subject.clone(), check.status)).collect()
}

#[test]
fn a_server_checks_the_records_of_its_domains_with_its_own_settings() {
    let (mail, names) = (MailServer::start(StartTls::NotOffered), NameServer::start());
    names.add("one IN MX 10 mx.one.example.\nmx.one IN A 127.0.0.1\n");
    names.add("mail.host IN A 127.0.0.1\n");
    let (resolver, port) = (names.address(), mail.port());
    let server = TestServer::start_with(&[
        "--delivery=direct",
        "--hostname=mail.host.example",
        "--resolver",
        &resolver,
        "--smtp-port",
        &port,
        "--allow-address=127.0.0.0/8",
    ]);
    let created = server.post("/domains", &json!({ "name": "shop.example" })).ok(201);
    names.publish(&created["records"]);
    names.add("_dmarc.shop IN TXT \"v=DMARC1; p=reject;\"\n");
    let path = format!("/domains/{}", created["id"].as_str().unwrap());
    server.post(&format!("{path}/verify"), &json!({})).ok(200);
    server.poll(&path, "the verification", |domain| domain.json["status"] == "verified");
    server.count_queue();
    let options = DoctorOptions { probe: vec!["one.example".into()], time_server: None };

    let healthy = server.doctor(&options);

    let shop = || Some("shop.example".to_owned());
    for name in ["spf", "dkim", "dmarc"] {
        assert_eq!(statuses(&healthy, name), [(shop(), CheckStatus::Ok)], "{healthy:#?}");
    }
    for name in ["smtp_port", "resolver", "disk", "open_files", "permissions", "queue", "corrupt_rows"] {
        assert_eq!(statuses(&healthy, name), [(None, CheckStatus::Ok)], "{healthy:#?}");
    }
    assert_eq!(statuses(&healthy, "hostname"), [(Some("mail.host.example".into()), CheckStatus::Ok)]);

    names.remove("send.shop.example.", RecordType::TXT);
    names.remove("_dmarc.shop.example.", RecordType::TXT);
    let broken = server.doctor(&options);

    assert_eq!(statuses(&broken, "spf"), [(shop(), CheckStatus::Failed)], "{broken:#?}");
    assert_eq!(statuses(&broken, "dkim"), [(shop(), CheckStatus::Ok)], "{broken:#?}");
    assert_eq!(statuses(&broken, "dmarc"), [(shop(), CheckStatus::Warning)], "{broken:#?}");
    let spf = broken.checks.iter().find(|check| check.check == "spf").unwrap();
    assert!(spf.seen.contains("send.shop.example") && spf.fix.as_deref().unwrap().contains("domain show shop.example"));
    // The check stores nothing.
    assert_eq!(server.get(&path).ok(200)["status"], "verified");
}

#[test]
fn a_check_fails_with_what_was_seen_and_what_to_do() {
    let names = NameServer::start();
    let closed = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port().to_string();
    names.add("one IN MX 10 mx.one.example.\nmx.one IN A 127.0.0.1\n* IN A 127.0.0.80\n");
    let resolver = names.address();
    let server = TestServer::start_with(&[
        "--delivery=direct",
        "--hostname=mail.localdomain",
        "--resolver",
        &resolver,
        "--smtp-port",
        &closed,
        "--allow-address=127.0.0.0/8",
        "--public-url=http://mail.example",
        "--disk-reserve-mb=1073741824",
    ]);

    let report = server.doctor(&DoctorOptions { probe: vec!["one.example".into()], time_server: None });

    assert!(!report.ok);
    for (name, seen, fix) in [
        ("smtp_port", "no connection to mx.one.example", "port 25"),
        ("resolver", "127.0.0.80", "--resolver"),
        ("hostname", "mail.localdomain has no address", "--hostname"),
        ("public_url", "http://mail.example is not encrypted", "--public-url"),
        ("disk", "MiB are free", "enlarge the disk"),
    ] {
        let check = report.checks.iter().find(|check| check.check == name).unwrap();
        assert_eq!(check.status, CheckStatus::Failed, "{check:?}");
        assert!(check.seen.contains(seen) && check.fix.as_deref().unwrap().contains(fix), "{check:?}");
        assert!(check.expected.is_some(), "{check:?}");
    }
}

#[test]
fn a_server_checks_the_complaint_rates_of_its_teams() {
    let server = TestServer::start_with(&["--resolver", "127.0.0.1:9"]);
    let options = DoctorOptions { probe: Vec::new(), time_server: None };
    assert_eq!(statuses(&server.doctor(&options), "complaints"), [(None, CheckStatus::NotChecked)]);

    for (sent_and_complained, status) in [(0, CheckStatus::Ok), (1, CheckStatus::Warning), (3, CheckStatus::Failed)] {
        server.put_totals(DayTotals { delivered: 1_000, sent_and_complained, ..DayTotals::default() });

        let report = server.doctor(&options);

        let check = report.checks.iter().find(|check| check.check == "complaints").unwrap();
        assert_eq!(check.status, status, "{check:?}");
        assert!(
            check.subject.is_some() && check.seen.starts_with(&format!("{sent_and_complained} of 1000")),
            "{check:?}"
        );
    }
}

#[test]
fn a_relay_server_checks_its_smarthost() {
    let mail = MailServer::start(StartTls::NotOffered);
    for (port, status) in [(mail.port(), CheckStatus::Ok), ("9".to_owned(), CheckStatus::Failed)] {
        let relay = format!("smtp://127.0.0.1:{port}");
        let server = TestServer::start_with(&["--delivery", "relay", "--relay", &relay, "--resolver", "127.0.0.1:9"]);

        let report = server.doctor(&DoctorOptions { probe: vec!["one.example".into()], time_server: None });

        assert_eq!(statuses(&report, "smtp_port"), [(None, status)], "{report:#?}");
        assert_eq!(statuses(&report, "resolver"), [(None, CheckStatus::Failed)], "{report:#?}");
    }
}

#[test]
fn a_server_checks_the_smarthosts_of_its_routes_and_of_released_messages() {
    let mail = MailServer::start(StartTls::NotOffered);
    let open = format!("open=smtp://127.0.0.1:{}", mail.port());
    let closed = "closed=smtp://127.0.0.1:9";
    let smarthosts = ["--resolver", "127.0.0.1:9", "--smarthost", &open, "--smarthost", closed];
    let flags = [&smarthosts[..], &["--route", "a.example=open", "--release", "closed"]].concat();
    let server = TestServer::start_with(&flags);

    let report = server.doctor(&DoctorOptions { probe: vec!["one.example".into()], time_server: None });

    let expected = [("closed", CheckStatus::Failed), ("open", CheckStatus::Ok)];
    let expected = expected.map(|(name, status)| (Some(name.to_owned()), status));
    assert_eq!(statuses(&report, "smtp_port"), expected, "{report:#?}");
}

/// Answers one SNTP request with a time that is `ahead_s` ahead. Returns the address.
pub(crate) fn time_server(ahead_s: u32) -> String {
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = socket.local_addr().unwrap().to_string();
    std::thread::spawn(move || {
        let mut request = [0; 48];
        let (_, client) = socket.recv_from(&mut request).unwrap();
        let unix_s = ringmail::base::clock::Clock::System.now_ms() / 1_000;
        let seconds = u32::try_from((unix_s + 2_208_988_800) % (1 << 32)).unwrap().wrapping_add(ahead_s);
        let mut answer = [0; 48];
        (answer[0], answer[1]) = (0x24, 1);
        answer[24..32].copy_from_slice(&request[40..]);
        answer[32..36].copy_from_slice(&seconds.to_be_bytes());
        answer[40..44].copy_from_slice(&seconds.to_be_bytes());
        socket.send_to(&answer, client).unwrap();
    });
    address
}

#[test]
fn a_report_contains_the_difference_of_the_clock() {
    let server = TestServer::start_with(&["--resolver", "127.0.0.1:9"]);
    for (ahead_s, status) in [(0, CheckStatus::Ok), (3_600, CheckStatus::Failed)] {
        let address = time_server(ahead_s);
        let (host, port) = address.split_once(':').unwrap();
        let time_server = Some((host.to_owned(), port.parse().unwrap()));

        let report = server.doctor(&DoctorOptions { probe: Vec::new(), time_server });

        assert_eq!(statuses(&report, "clock"), [(None, status)], "{report:#?}");
    }
    retry_until_ok("the first count of the queue", || {
        let report = server.doctor(&DoctorOptions { probe: Vec::new(), time_server: None });
        let queue = statuses(&report, "queue");
        if queue == [(None, CheckStatus::Ok)] { Ok(()) } else { Err(format!("{queue:?}")) }
    });
}

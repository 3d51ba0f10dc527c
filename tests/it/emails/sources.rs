//! Source addresses, IPv6, and the addresses of this server.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::json;

use crate::support::{MailServer, NameServer, SmtpClient, StartTls, TestServer};

/// Starts a server in direct delivery with these flags, a mail server and a DNS server.
fn start(mail: &MailServer, names: &NameServer, flags: &[&str]) -> TestServer {
    let (resolver, port) = (names.address(), mail.port());
    let direct = ["--delivery", "direct", "--hostname", "mx.own.example", "--require-tls", "none"];
    let servers = ["--resolver", &resolver, "--smtp-port", &port];
    let allowed = ["--allow-address", "127.0.0.0/8,::1,192.0.2.0/24"];
    TestServer::start_with(&[&direct[..], &servers, &allowed, flags].concat())
}

#[test]
fn each_destination_has_one_source_address_with_its_name() {
    let (mail, names) = (MailServer::start(StartTls::NotOffered), NameServer::start());
    let domains: Vec<String> = (0..12).map(|number| format!("d{number}")).collect();
    for domain in &domains {
        names.add(&format!("{domain} IN MX 10 mx.{domain}.example.\nmx.{domain} IN A 127.0.0.1\n"));
    }
    let sources = ["--source", "127.0.0.2=a.own.example,127.0.0.3"];
    let mut server = start(&mail, &names, &sources);
    let mut used: BTreeMap<&str, BTreeSet<SmtpClient>> = BTreeMap::new();

    for round in 0..2 {
        for domain in &domains {
            let id = server.send(&json!({ "to": format!("ada@{domain}.example") }));
            server.wait_for(&id, "delivered");
            used.entry(domain).or_default().insert(mail.clients().pop().unwrap());
        }
        if round == 0 {
            // Ends the open sessions, so that each destination opens another one.
            let (resolver, port) = (names.address(), mail.port());
            let direct = ["--delivery", "direct", "--hostname", "mx.own.example", "--require-tls", "none"];
            let servers = ["--resolver", &resolver, "--smtp-port", &port, "--allow-address", "127.0.0.0/8"];
            server = server.restart_with(&[&direct[..], &servers, &sources].concat());
        }
    }

    let clients: BTreeSet<SmtpClient> = used.values().flatten().cloned().collect();
    let client = |name: &str, address: &str| SmtpClient { name: name.into(), address: address.parse().unwrap() };
    assert_eq!(clients, BTreeSet::from([client("a.own.example", "127.0.0.2"), client("mx.own.example", "127.0.0.3")]));
    assert!(used.values().all(|clients| clients.len() == 1), "{used:#?}");
}

#[test]
fn a_refusal_pauses_a_site_for_one_source_address_and_the_other_one_continues() {
    let (mail, names) = (MailServer::start(StartTls::NotOffered), NameServer::start());
    names.add("mx.shared IN A 127.0.0.1\n");
    let server =
        start(&mail, &names, &["--source", "127.0.0.2=a.own.example,127.0.0.3=b.own.example", "--retry-delays", "1m"]);
    let send = |domain: &str, name: &str| server.send(&json!({ "to": format!("{name}@{domain}.example") }));
    let mut domains: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for domain in (0..12).map(|number| format!("d{number}")) {
        names.add(&format!("{domain} IN MX 10 mx.shared.example.\n"));
        server.wait_for(&send(&domain, "ada"), "delivered");
        let site = server.stored_attempts().pop().unwrap().site.unwrap();
        domains.entry(site).or_default().push(domain);
    }
    let sites: Vec<&String> = domains.keys().collect();
    assert!(sites[0].ends_with(" from 127.0.0.2") && sites[1].ends_with(" from 127.0.0.3"), "{sites:?}");
    let (first, second) = (&domains[sites[0]], &domains[sites[1]]);

    mail.set_refusal(Some("421 4.3.2 Too many connections"));
    let refused = send(&first[0], "bob");
    server.wait_for(&refused, "delivery_delayed");
    mail.set_refusal(None);
    let waiting = send(&first[1], "bob");
    for name in ["bob", "cy"] {
        server.wait_for(&send(&second[0], name), "delivered");
    }

    assert_eq!(mail.received().len(), 12 + 2, "both messages from the first address wait");
    server.advance(Duration::from_secs(120));
    for id in [&refused, &waiting] {
        server.wait_for(id, "delivered");
    }
    let client = SmtpClient { name: "a.own.example".into(), address: "127.0.0.2".parse().unwrap() };
    assert_eq!(mail.clients().pop(), Some(client));
}

#[test]
fn a_smarthost_gets_the_source_address_too() {
    let mail = MailServer::start(StartTls::NotOffered);
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let server =
        TestServer::start_with(&["--delivery", "relay", "--relay", &relay, "--source", "127.0.0.4=b.own.example"]);

    let id = server.send(&json!({ "to": "ada@shop.example" }));
    server.wait_for(&id, "delivered");

    let client = SmtpClient { name: "b.own.example".into(), address: "127.0.0.4".parse().unwrap() };
    assert_eq!(mail.clients(), [client]);
}

#[test]
fn ipv6_is_used_with_a_confirmed_reverse_name_or_by_the_setting() {
    let sources = ["--source", "127.0.0.2,::1"];
    // The resolver itself knows the reverse name of loopback. Without a source address, the address that the system
    // uses for IPv6 has no reverse name in the test zone, or does not exist.
    for (flags, mode, is_used) in
        [(&sources[..], "auto", true), (&[], "auto", false), (&[], "on", true), (&sources, "off", false)]
    {
        let (mail, names) = (MailServer::start_on("[::1]", "0", StartTls::NotOffered), NameServer::start());
        names.add("shop IN MX 10 mx.shop.example.\nmx.shop IN AAAA ::1\n");
        let server = start(&mail, &names, &[flags, &["--ipv6", mode]].concat());

        let id = server.send(&json!({ "to": "ada@shop.example" }));
        let email = server.wait_for(&id, if is_used { "delivered" } else { "failed" });

        assert_eq!(mail.received().len(), usize::from(is_used), "{flags:?} {mode}");
        assert!(is_used || email["events"].to_string().contains("a family (IPv4 or IPv6)"), "{email:#}");
    }
}

#[test]
fn a_mail_host_with_an_address_of_this_server_is_unroutable() {
    let (mail, names) = (MailServer::start(StartTls::NotOffered), NameServer::start());
    names.add("loop IN MX 10 other.loop.example.\nother.loop IN A 192.0.2.5\nmx.own IN A 192.0.2.5\n");
    let server = start(&mail, &names, &[]);

    let id = server.send(&json!({ "to": "ada@loop.example" }));
    let email = server.wait_for(&id, "failed");

    let events = email["events"].to_string();
    assert!(events.contains("unroutable") && events.contains("5.4.6") && events.contains("would loop"), "{events}");
    assert_eq!(server.suppressed_addresses(), [] as [&str; 0]);
}

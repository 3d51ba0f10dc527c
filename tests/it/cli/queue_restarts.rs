//! Sites and hosts that are known after a restart of the server.

use serde_json::json;

use super::queue::{Direct, main_key, queue, queued_emails, send, wait_for_event, wait_for_state};
use crate::support::{ClosedPort, MailServer, StartTls};

#[test]
fn a_site_is_known_after_a_restart_and_a_flush_ends_its_stored_suspension() {
    let mail = MailServer::start(StartTls::NotOffered);
    let port = mail.port();
    mail.set_refusal(Some("421 4.7.0 [TSS04] Messages temporarily deferred"));
    let Direct { cli, server, names } = Direct::start(&port);
    let tried = send(&server, main_key(&server), "ada@a.example");
    wait_for_state(&cli, &tried, "retry");
    let scheduled = json!({
        "from": "a@example.com", "to": "ada@b.example", "subject": "x", "text": "x", "scheduled_at": "in 1 hour",
    });
    let (status, scheduled) = server.post("/emails", main_key(&server), &scheduled);
    assert_eq!(status, 200, "{scheduled}");
    assert_eq!(server.stop(), 0);

    // Without a server, the attempt names the site.
    let site = ["--site", "shop.example"];
    assert_eq!(queued_emails(&cli, site), std::slice::from_ref(&tried));
    // A server looks up the site of an email without an attempt, which is not due yet.
    let server = Direct::serve(&cli, &names, &port);
    let mut both = [tried.clone(), scheduled["id"].as_str().unwrap().to_owned()];
    both.sort_unstable();
    assert_eq!(queued_emails(&cli, site), both);
    assert_eq!(server.stop(), 0);

    mail.set_refusal(None);
    assert_eq!(queue(&cli, "flush", site, &[])["groups"], 1);
    let _server = Direct::serve(&cli, &names, &port);
    wait_for_event(&cli, "Main", &tried, "delivered");
}

#[test]
fn a_host_that_cannot_be_connected_to_stays_paused_after_a_restart_until_a_flush() {
    let closed = ClosedPort::bind();
    let port = closed.number().to_string();
    let Direct { cli, server, names } = Direct::start(&port);
    let tried = send(&server, main_key(&server), "ada@a.example");
    wait_for_state(&cli, &tried, "retry");
    assert_eq!(server.stop(), 0);

    let server = Direct::serve(&cli, &names, &port);
    let paused = send(&server, main_key(&server), "ada@b.example");
    let waiting = wait_for_state(&cli, &paused, "hosts_paused");
    assert_eq!(waiting["attempts"], 0, "{waiting}");
    assert_eq!(server.stop(), 0);

    // Without a server, the last attempt names the host.
    let mail = MailServer::start_on("127.0.0.1", &port, StartTls::NotOffered);
    assert_eq!(queue(&cli, "flush", ["--site", "shop.example"], &[])["groups"], 1);
    let _server = Direct::serve(&cli, &names, &port);
    for id in [tried, paused] {
        wait_for_event(&cli, "Main", &id, "delivered");
    }
    assert_eq!(mail.received().len(), 2);
}

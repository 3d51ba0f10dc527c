//! `ringmail captured`, and source addresses at the start.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use super::program::Cli;
use crate::support::{ClosedPort, MailServer, StartTls, retry_until_ok};

/// Sends a message to the built-in mailbox as another program does.
fn deliver(port: u16) {
    let mut stream = BufReader::new(TcpStream::connect(("127.0.0.1", port)).unwrap());
    let read = |stream: &mut BufReader<TcpStream>| {
        let mut line = String::new();
        while line.lines().last().is_none_or(|last| last.as_bytes().get(3) != Some(&b' ')) {
            assert!(stream.read_line(&mut line).unwrap() > 0, "{line}");
        }
    };
    read(&mut stream);
    let commands = ["EHLO test.example", "MAIL FROM:<x@test.example>", "RCPT TO:<y@test.example>", "DATA"];
    for line in commands.into_iter().chain(["Subject: Other\u{1b}[2J\r\n\r\nHi\r\n."]) {
        stream.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
        read(&mut stream);
    }
}

#[test]
fn a_captured_message_is_listed_shown_and_released_with_the_setting() {
    let (cli, mail, free) = (Cli::new(), MailServer::start(StartTls::NotOffered), ClosedPort::bind());
    let mailbox = format!("127.0.0.1:{}", free.number());
    let server = cli.serve(&["dev", "--capture-smtp", &mailbox]);
    let sent = cli.run(&["send", "--to", "ada@example.net", "--subject", "Hello Ada", "--json"]).json();
    let email = sent["id"].as_str().unwrap();
    cli.run(&["send", "--to", "bob@example.net", "--subject", "Hello Bob", "--json"]).success();

    let list = cli.run(&["captured", "list", "--json"]).json();
    let sent_to = |address: &str| {
        let is_it = |row: &&serde_json::Value| row["recipients"] == serde_json::json!([address]);
        list["data"].as_array().unwrap().iter().find(is_it).unwrap()
    };
    let (captured, to_bob) = (sent_to("ada@example.net"), sent_to("bob@example.net"));
    let id = captured["id"].as_str().unwrap();
    let shown = cli.run(&["captured", "show", id]);
    assert_eq!(captured["email_id"], email);
    for part in ["To        ada@example.net", "Released  -", "Subject: Hello Ada", "DKIM-Signature:"] {
        assert!(shown.success().contains(part), "no {part:?} in {shown:?}");
    }

    cli.run(&["captured", "release", id]).failed(1, &["--release direct", "RINGMAIL_RELEASE"]);
    cli.run(&["captured", "release", "x"]).failed(3, &["`x` is not the id of a captured message"]);
    assert_eq!(server.stop(), 0);

    let smarthost = format!("out=smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let server = cli.serve(&["dev", "--capture-smtp", &mailbox, "--smarthost", &smarthost, "--release", "out"]);
    let released = cli.run(&["captured", "release", id, "--json"]);
    assert_eq!((&released.json()["email_id"], &released.json()["transport"]), (&email.into(), &"out".into()));
    assert!(released.stderr.contains("ada@example.net through out") && released.stderr.contains(email), "{released:?}");
    cli.run(&["captured", "release", id]).failed(4, &["was released at 20"]);
    retry_until_ok("the message", || if mail.received().is_empty() { Err(String::new()) } else { Ok(()) });
    assert_eq!(mail.received()[0].recipient, "ada@example.net");
    cli.run(&["inbox", "release", to_bob["id"].as_str().unwrap()]).success();
    retry_until_ok("two messages", || if mail.received().len() < 2 { Err(String::new()) } else { Ok(()) });
    assert_eq!(mail.received()[1].recipient, "bob@example.net");

    deliver(free.number());
    let other = cli.run(&["captured", "list", "--limit", "1", "--json"]).json()["data"][0]["id"].clone();
    cli.run(&["captured", "release", other.as_str().unwrap()]).failed(4, &["another program sent"]);
    let shown = cli.run(&["captured", "show", other.as_str().unwrap()]);
    assert!(shown.success().contains("Subject: Other [2J"), "{shown:?}");
    assert_eq!(server.stop(), 0);

    // Without a server, the verb reads the store.
    assert_eq!(cli.run(&["captured", "list", "--json"]).json()["data"].as_array().unwrap().len(), 3);
}

#[test]
fn a_source_address_of_another_machine_is_refused_at_the_start() {
    let cli = Cli::new();
    let direct = ["serve", "--delivery", "direct", "--hostname", "mx.example.com", "--listen", "127.0.0.1:0"];

    let refused = cli.run(&[&direct[..], &["--source", "192.0.2.1"]].concat());

    refused.failed(1, &["cannot send from 192.0.2.1", "--source must be an address of this machine"]);
}

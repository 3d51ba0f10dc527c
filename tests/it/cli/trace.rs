//! `ringmail trace`.

use std::time::Duration;

use super::program::{Cli, poll};

#[test]
fn a_trace_has_the_events_and_the_attempts_with_their_transcripts() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let sent = cli.run(&["send", "--to", "ada@example.net", "--to", "bob@example.org", "--json"]).json();
    let id = sent["id"].as_str().unwrap();

    let text = cli.run(&["trace", id]);
    let trace = cli.run(&["trace", id, "--json"]).json();

    let text = text.success();
    for part in ["Subject  A test from Ringmail", "RECIPIENT", "attempt 1", "localhost 127.0.0.1:", "no TLS"] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    for address in ["ada@example.net", "bob@example.org"] {
        let place = |part: &str| text.find(part).unwrap_or_else(|| panic!("no {part:?} in {text}"));
        let attempt = place(&format!("attempt 1               {address}"));
        let delivered = place(&format!("email.delivered         {address}"));
        assert!(place("email.sent") < attempt && attempt < delivered, "{text}");
        assert!(text.contains(&format!("    C: RCPT TO:<{address}>")), "{text}");
    }
    assert_eq!((&trace["id"], &trace["last_event"]), (&sent["id"], &"delivered".into()));
    assert_eq!(trace["attempts"].as_array().unwrap().len(), 2);
    let first = &trace["attempts"][0];
    assert!(first["created_at"].as_str() <= trace["attempts"][1]["created_at"].as_str());
    assert!(first["transcript"].as_str().unwrap().contains("C: EHLO"), "{trace:#}");
    assert_eq!(server.stop(), 0);

    // Without a server, the verb reads the store.
    assert_eq!(cli.run(&["trace", id, "--json"]).json(), trace);
    cli.run(&["trace", "0190a6c0-0000-7000-8000-000000000001"]).failed(3, &["no email"]);
    cli.run(&["trace", "x"]).failed(3, &["`x` is not the id of an email"]);
    cli.run(&["email", "show", "x", "--team", "unknown"]).failed(3, &["`x` is not the id of an email"]);
}

#[test]
fn a_bounce_in_a_trace_says_what_to_do() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let sent = cli.run(&["send", "--to", "bounced@resend.dev", "--wait", "0s", "--json"]).json();
    let trace = || cli.run(&["trace", sent["id"].as_str().unwrap()]).success().to_owned();
    let text = poll(Duration::from_secs(60), trace, |text| text.contains("email.bounced"));

    let advice = "The mailbox does not exist. Look for a typing error in the address.";
    assert!(text.contains(&format!("\n    {advice}")), "{text}");
    assert_eq!(server.stop(), 0);
}

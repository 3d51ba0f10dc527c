//! Mail that a server could not authenticate: the notice to the owners of the domain, and its page.

use serde_json::{Value, json};

use super::captured::opened;
use crate::ingest;
use crate::support::{MailServer, StartTls, TestServer};

const SUBJECT: &str = "A mail server could not authenticate example.com";

#[test]
fn an_owner_gets_an_email_about_mail_that_a_server_could_not_authenticate() {
    let mail = MailServer::start(StartTls::NotOffered);
    mail.set_refusal(Some("550 5.7.26 Mail for ada@example.net is unauthenticated"));
    let relay = format!("smtp://127.0.0.1:{}?tls=never&final=true", mail.port());
    let server = TestServer::start_with(&[
        "--delivery",
        "relay",
        "--relay",
        &relay,
        "--system-from",
        "Ringmail <notices@example.com>",
    ]);
    server.add_owner("owner@people.example");

    let refused = [0, 1].map(|_| server.send(&json!({ "to": "ada@example.net" })));
    for id in &refused {
        let email = server.wait_for(id, "failed");
        assert_eq!(email["events"][1]["failed"]["reason"], "authentication_failed", "{email:#}");
    }

    let of_notice = |emails: &Value| -> Vec<Value> {
        let emails = emails["data"].as_array().unwrap().iter();
        emails.filter(|email| email["subject"] == SUBJECT).cloned().collect()
    };
    let listed = server.poll("/emails", "the email of the notice", |response| !of_notice(&response.json).is_empty());
    let notices = of_notice(&listed.ok(200));
    assert_eq!((notices.len(), &notices[0]["to"][0]), (1, &"owner@people.example".into()));
    // The email of the notice is refused as well, and causes no further notice.
    let id = notices[0]["id"].as_str().unwrap();
    let text = server.wait_for(id, "failed")["text"].as_str().unwrap().to_owned();
    for words in
        ["Domain: example.com", "Reply: 550 5.7.26 Mail for [address] is unauthenticated", "SPF, DKIM, and DMARC"]
    {
        assert!(text.contains(words), "no {words:?} in {text}");
    }
    assert!(refused.iter().any(|id| text.contains(&format!("Email: {id}\n"))), "{text}");
    assert_eq!(of_notice(&server.get("/emails").ok(200)).len(), 1);

    let browser = opened(&server);
    let domain = server.domain_id("example.com");
    let page = browser.api("GET", &format!("/domains/{domain}"), None).json(200);
    assert_eq!(page["refusal"]["reply"], "550 5.7.26 Mail for [address] is unauthenticated");
    let overview = browser.api("GET", "/overview", None).json(200);
    let sentence =
        overview["attention"].as_array().unwrap().iter().find(|one| one["text"].to_string().contains(SUBJECT));
    assert_eq!(sentence.unwrap()["href"], format!("/dashboard/domains/{domain}"), "{overview:#}");
}

#[test]
fn a_reported_refusal_for_authentication_notifies_the_owners_of_the_domain() {
    let server = ingest::server();
    let id = ingest::deliver(&server, "ada@example.net");

    let diagnostic = "550 5.7.26 Mail for ada@example.net is unauthenticated";
    let event = json!({ "type": "bounced", "email_id": id, "recipient": "ada@example.net", "diagnostic": diagnostic });
    assert_eq!(ingest::report(&server, &event), (1, 0));

    let page = opened(&server).api("GET", &format!("/domains/{}", server.domain_id("example.com")), None).json(200);
    assert_eq!(page["refusal"]["reply"], "550 5.7.26 Mail for [address] is unauthenticated");
    assert_eq!(page["refusal"]["email_id"], id.as_str());
}

//! Clicks on the links of a broadcast, by link and by recipient.

use std::time::Duration;

use serde_json::{Value, json};

use super::{BROWSER, messages, request, start_tracking};
use crate::support::{TestServer, retry_until_ok};

const SHOP: &str = "https://shop.example/?a=1&b=2";
const PERSONAL: &str = "https://shop.example/{{{FIRST_NAME|you}}}?to={{{EMAIL}}}";
const HTML: &str = "<p><a href=\"https://shop.example/?a=1&amp;b=2\">Shop</a> \
                    <a href=\"https://shop.example/{{{FIRST_NAME|you}}}?to={{{EMAIL}}}\">Your page</a></p>";

/// A delivered broadcast to Ada and Bob.
struct Delivered {
    server: TestServer,
    path: String,
}

impl Delivered {
    /// Sends the broadcast, waits for its delivery, and advances the clock to a time at which people read.
    fn start() -> Self {
        let server = start_tracking();
        for name in ["Ada", "Bob"] {
            let contact = json!({ "email": format!("{name}@example.org").to_lowercase(), "first_name": name });
            server.post("/contacts", &contact).ok(201);
        }
        let body = json!({ "from": "Acme <news@example.com>", "subject": "June", "html": HTML, "send": true });
        let sent = server.post("/broadcasts", &body).ok(201);
        let path = format!("/broadcasts/{}", sent["id"].as_str().unwrap());
        server.poll(&format!("{path}/recipients?type=delivered"), "the delivery", |response| {
            response.json["data"].as_array().is_some_and(|data| data.len() == 2)
        });
        server.advance(Duration::from_secs(600));
        Self { server, path }
    }

    /// Follows a link of the message to an account, 0 for the first one, and waits until the click is recorded.
    #[track_caller]
    fn click(&self, account: &str, link: usize) {
        let address = format!("{account}@example.org");
        let message = messages(&self.server).into_iter().find(|message| message.recipients == [address.as_str()]);
        let html = message.unwrap().html;
        let (at, _) = html.match_indices("/t/c/").nth(link).unwrap();
        let path = html[at..].split('"').next().unwrap();
        assert_eq!(request(&self.server, "GET", path, &[BROWSER]).status, 302);
        self.server.advance(Duration::from_secs(120));
    }

    fn links(&self, query: &str) -> Value {
        self.server.get(&format!("{}/clicked-links{query}", self.path)).ok(200)
    }

    /// Waits until the links have these clicks and recipients.
    #[track_caller]
    fn wait_for_links(&self, expected: &[(&str, u64, u64)]) {
        retry_until_ok("the links", || {
            let links = self.links("");
            let found: Vec<(&str, u64, u64)> = links["data"].as_array().unwrap().iter().map(numbers).collect();
            if found == expected { Ok(()) } else { Err(format!("{found:?}")) }
        });
    }

    /// Returns the addresses in a list of recipients.
    fn recipients(&self, kind: &str) -> Vec<String> {
        let list = self.server.get(&format!("{}/recipients?type={kind}", self.path)).ok(200);
        let data = list["data"].as_array().unwrap().iter();
        data.map(|recipient| recipient["email"].as_str().unwrap().to_owned()).collect()
    }
}

/// Returns the URL, the clicks and the recipients of a link.
fn numbers(link: &Value) -> (&str, u64, u64) {
    (link["url"].as_str().unwrap(), link["clicks"].as_u64().unwrap(), link["unique_clicks"].as_u64().unwrap())
}

fn url_and_clicks(link: &Value) -> (&str, u64) {
    (link["url"].as_str().unwrap(), link["clicks"].as_u64().unwrap())
}

#[test]
fn the_clicks_of_a_broadcast_are_counted_by_link() {
    let delivered = Delivered::start();
    assert_eq!(delivered.links(""), json!({ "object": "list", "has_more": false, "data": [] }));

    for (account, link) in [("ada", 0), ("bob", 1), ("ada", 1), ("ada", 1)] {
        delivered.click(account, link);
    }

    delivered.wait_for_links(&[(PERSONAL, 3, 2), (SHOP, 1, 1)]);
    let list = delivered.server.get(&format!("{}/recipients?type=clicked&email=ada", delivered.path)).ok(200);
    let ada = &list["data"][0];
    assert_eq!(ada["count"], 3, "{ada}");
    let links: Vec<(&str, u64)> = ada["clicked_links"].as_array().unwrap().iter().map(url_and_clicks).collect();
    assert_eq!(links, [(SHOP, 1), ("https://shop.example/Ada?to=ada@example.org", 2)]);
    let list = delivered.server.get(&format!("{}/recipients?type=opened&email=bob", delivered.path)).ok(200);
    assert_eq!((&list["data"][0]["count"], list["data"][0].get("clicked_links")), (&json!(1), None));
    let mut clicked = delivered.recipients("clicked");
    clicked.sort();
    assert_eq!(clicked, ["ada@example.org", "bob@example.org"]);
}

#[test]
fn the_clicked_links_are_paged() {
    let delivered = Delivered::start();
    delivered.click("ada", 0);
    delivered.click("ada", 1);
    delivered.wait_for_links(&[(PERSONAL, 1, 1), (SHOP, 1, 1)]);

    let first = delivered.links("?limit=1");
    let id = first["data"][0]["id"].as_str().unwrap();
    let second = delivered.links(&format!("?limit=1&after={id}"));

    assert_eq!((&first["data"][0]["url"], &first["has_more"]), (&json!(PERSONAL), &json!(true)));
    assert_eq!((&second["data"][0]["url"], &second["has_more"]), (&json!(SHOP), &json!(false)));
    let back = delivered.links(&format!("?limit=1&before={}", second["data"][0]["id"].as_str().unwrap()));
    assert_eq!(back["data"], first["data"]);
}

#[test]
fn the_links_of_an_erased_recipient_have_no_data_of_it() {
    let delivered = Delivered::start();
    delivered.click("ada", 1);
    delivered.wait_for_links(&[(PERSONAL, 1, 1)]);

    delivered.server.erase(&["ada@example.org"]);

    delivered.wait_for_links(&[(PERSONAL, 1, 1)]);
    assert!(!delivered.links("").to_string().contains("ada@"));
}

#[test]
fn only_the_recipients_of_a_list_are_listed() {
    let delivered = Delivered::start();
    assert_eq!(delivered.recipients("opened"), Vec::<String>::new());

    delivered.click("bob", 0);
    delivered.wait_for_links(&[(SHOP, 1, 1)]);

    for kind in ["opened", "clicked"] {
        assert_eq!(delivered.recipients(kind), ["bob@example.org"], "{kind}");
    }
    assert_eq!(delivered.recipients("unsubscribed"), Vec::<String>::new());
}

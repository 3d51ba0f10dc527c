//! One-click requests (RFC 8058), byte by byte over a socket. Some are documented requests of programs and providers,
//! each with its source, and the others are further forms that HTTP permits.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ringmail::events::ChangeSource;
use ringmail::topics::Subscription;

use super::{contact_events, create_topic, topic_choice, topic_path};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

/// Sends the bytes and returns the head and the body of the response.
fn exchange(server: &TestServer, bytes: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(server.base().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    let response = String::from_utf8(response).unwrap();
    // A request with `Expect: 100-continue` gets an interim response first.
    let response = response.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&response);
    let (head, body) = response.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// Body of RFC 8058 §8.1, of the documentation of Google, and of most programs.
const URLENCODED: &str = "List-Unsubscribe=One-Click";

/// Multipart body of RFC 8058 §8.3, byte for byte: 124 bytes.
const MULTIPART: &str = "---FormBoundaryjWmhtjORrn\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n\
                         One-Click\r\n---FormBoundaryjWmhtjORrn--";

/// Returns the requests with their sources. The test replaces `{path}` by the path of the link.
///
/// A request of a program or provider has the body, content type and length of its public source or
/// documentation, byte for byte. This list adds `Connection: close` to it, so that the response ends. No request
/// was recorded from traffic. Yahoo, Apple and Microsoft publish no request, so the list has none of theirs.
fn requests() -> Vec<(&'static str, String)> {
    assert_eq!((URLENCODED.len(), MULTIPART.len()), (26, 124));
    let post = |head: &str, body: &str| {
        format!("POST {{path}} HTTP/1.1\r\n{head}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}", body.len())
    };
    let with_part_type = "--8f2c\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\
                          Content-Type: text/plain; charset=utf-8\r\n\r\nOne-Click\r\n--8f2c--\r\n";
    vec![
        (
            "RFC 8058 §8.1, as printed",
            post("Host: example.com\r\nContent-Type: application/x-www-form-urlencoded", URLENCODED),
        ),
        (
            // The delimiters in the body lack the two hyphens that RFC 2046 §5.1.1 puts before the boundary.
            "RFC 8058 §8.3, as printed",
            post(
                "Host: example.com\r\nContent-Type: multipart/form-data; boundary=---FormBoundaryjWmhtjORrn",
                MULTIPART,
            ),
        ),
        (
            "RFC 8058 §8.3, with the boundary of its errata 5117 and 8927",
            post("Host: example.com\r\nContent-Type: multipart/form-data; boundary=-FormBoundaryjWmhtjORrn", MULTIPART),
        ),
        (
            "Gmail: Google, Email sender guidelines, support.google.com/a/answer/81126",
            post("Host: solarmora.com\r\nContent-Type: application/x-www-form-urlencoded", URLENCODED),
        ),
        (
            // A form with one field. Guzzle encodes it with `http_build_query`.
            "Nextcloud Mail: github.com/nextcloud/mail, lib/Controller/ListController.php",
            post("Host: example.com\r\nContent-Type: application/x-www-form-urlencoded", URLENCODED),
        ),
        (
            // `fetch()` with the value of the field as a string. The Fetch Standard defines its content type
            // (fetch.spec.whatwg.org, "extract a body"). Later versions send the content type of a form.
            "List-Unsubscribe for Thunderbird: github.com/Amunak/thunderbird-list-unsubscribe-addon, popup.js before \
             its pull request 9",
            post("Host: example.com\r\nContent-Type: text/plain;charset=UTF-8", URLENCODED),
        ),
        (
            "synthetic: a part with a type (RFC 7578 §4.4), a boundary in quotes (RFC 2046 §5.1.1)",
            post("Host: example.com\r\nContent-Type: multipart/form-data; boundary=\"8f2c\"", with_part_type),
        ),
        (
            "synthetic: a chunked body (RFC 9112 §7.1)",
            "POST {path} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
             11\r\nList-Unsubscribe=\r\n9\r\nOne-Click\r\n0\r\n\r\n"
                .to_owned(),
        ),
        (
            "synthetic: a body after 100 Continue (RFC 9110 §10.1.1)",
            post(
                "Host: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue",
                URLENCODED,
            ),
        ),
        (
            "synthetic: a line break after the body",
            post(
                "Host: example.com\r\nContent-Type: application/x-www-form-urlencoded",
                "List-Unsubscribe=One-Click\r\n",
            ),
        ),
        ("synthetic: no content type", post("Host: example.com", URLENCODED)),
        (
            "synthetic: HTTP/1.0 (RFC 1945 §8.3)",
            format!(
                "POST {{path}} HTTP/1.0\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 26\r\n\r\n{URLENCODED}"
            ),
        ),
    ]
}

#[test]
fn every_known_form_of_a_one_click_request_opts_out_with_a_200() {
    let server = TestServer::start();
    for (name, request) in requests() {
        let news = create_topic(&server, name);
        let contact = server.add_contact(&format!("{news}@example.org"), false);
        let path = topic_path(&server, news, &format!("{news}@example.org"));

        let (head, body) = exchange(&server, request.replace("{path}", &path).as_bytes());

        let status = head.lines().next().unwrap();
        assert!(status.ends_with(" 200 OK"), "{name}: {head}");
        assert_eq!(body, "OK\n", "{name}");
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("location:") && !head.contains("set-cookie"), "{name}: {head}");
        assert_eq!(topic_choice(&server, contact, news), Some(Subscription::OptOut), "{name}");
    }
    let events = contact_events(&server);
    assert_eq!(events.len(), requests().len());
    assert!(events.iter().all(|event| *event == ("contact.topic_opt_out", ChangeSource::OneClick)), "{events:?}");
}

#[test]
fn a_repeated_request_has_the_same_response_and_emits_one_event() {
    let server = TestServer::start();
    let news = create_topic(&server, "News");
    server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let (_, request) = requests().remove(0);
    let bytes = request.replace("{path}", &path);

    for _ in 0..3 {
        let (head, body) = exchange(&server, bytes.as_bytes());
        assert!(head.starts_with("HTTP/1.1 200 OK") && body == "OK\n", "{head}");
    }

    assert_eq!(contact_events(&server), [("contact.topic_opt_out", ChangeSource::OneClick)]);
}

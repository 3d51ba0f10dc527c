//! One-click requests (RFC 8058), byte by byte over a socket: those that programs and providers are
//! known to send, with where that is written down, and forms that HTTP allows beside them.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use ringmail::events::Source;
use ringmail::topics::Subscription;

use super::{choice, contact_events, topic, topic_path};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

/// Sends the bytes as they stand and returns the head and the body of the answer.
fn exchange(server: &TestServer, bytes: &[u8]) -> (String, String) {
    let mut stream = TcpStream::connect(server.base().strip_prefix("http://").unwrap()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    stream.write_all(bytes).unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).unwrap();
    let answer = String::from_utf8(answer).unwrap();
    // What asks to go on is told to go on first.
    let answer = answer.strip_prefix("HTTP/1.1 100 Continue\r\n\r\n").unwrap_or(&answer);
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head.to_owned(), body.to_owned())
}

/// The body of RFC 8058 §8.1, of what Google publishes, and of most programs.
const URLENCODED: &str = "List-Unsubscribe=One-Click";

/// The multipart body of RFC 8058 §8.3, byte for byte as it is printed: 124 bytes.
const MULTIPART: &str = "---FormBoundaryjWmhtjORrn\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n\
                         One-Click\r\n---FormBoundaryjWmhtjORrn--";

/// The requests with their provenance. `{path}` stands for the link.
///
/// Those of a program or a provider have the body, the type and the length that its public source or
/// documentation gives, byte for byte; `Connection: close` is added to each, so that the answer ends.
/// None was recorded from traffic. Yahoo, Apple and Microsoft publish no request of theirs, so that
/// none of these stands for them.
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
            // The delimiters are the boundary without the two hyphens that RFC 2046 §5.1.1 puts before it.
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
            // A form of one field through Guzzle, which encodes it with http_build_query.
            "Nextcloud Mail: github.com/nextcloud/mail, lib/Controller/ListController.php",
            post("Host: example.com\r\nContent-Type: application/x-www-form-urlencoded", URLENCODED),
        ),
        (
            // fetch() of the field's value as a string; its type is the one of the Fetch Standard for one
            // (fetch.spec.whatwg.org, "extract a body"). Later versions name the form's type.
            "List-Unsubscribe for Thunderbird: github.com/Amunak/thunderbird-list-unsubscribe-addon, popup.js before \
             its pull request 9",
            post("Host: example.com\r\nContent-Type: text/plain;charset=UTF-8", URLENCODED),
        ),
        (
            "no program: a part with a type (RFC 7578 §4.4), a boundary in quotes (RFC 2046 §5.1.1)",
            post("Host: example.com\r\nContent-Type: multipart/form-data; boundary=\"8f2c\"", with_part_type),
        ),
        (
            "no program: a body in chunks (RFC 9112 §7.1)",
            "POST {path} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
             11\r\nList-Unsubscribe=\r\n9\r\nOne-Click\r\n0\r\n\r\n"
                .to_owned(),
        ),
        (
            "no program: a body that waits to be asked for (RFC 9110 §10.1.1)",
            post(
                "Host: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue",
                URLENCODED,
            ),
        ),
        (
            "no program: the end of a line after the pair",
            post(
                "Host: example.com\r\nContent-Type: application/x-www-form-urlencoded",
                "List-Unsubscribe=One-Click\r\n",
            ),
        ),
        ("no program: no type", post("Host: example.com", URLENCODED)),
        (
            "no program: HTTP/1.0 (RFC 1945 §8.3)",
            format!(
                "POST {{path}} HTTP/1.0\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 26\r\n\r\n{URLENCODED}"
            ),
        ),
    ]
}

#[test]
fn every_known_form_of_the_request_opts_out_with_a_bare_200() {
    let server = TestServer::start();
    for (name, request) in requests() {
        let news = topic(&server, name);
        let contact = server.add_contact(&format!("{news}@example.org"), false);
        let path = topic_path(&server, news, &format!("{news}@example.org"));

        let (head, body) = exchange(&server, request.replace("{path}", &path).as_bytes());

        let status = head.lines().next().unwrap();
        assert!(status.ends_with(" 200 OK"), "{name}: {head}");
        assert_eq!(body, "OK\n", "{name}");
        let head = head.to_ascii_lowercase();
        assert!(!head.contains("location:") && !head.contains("set-cookie"), "{name}: {head}");
        assert_eq!(choice(&server, contact, news), Some(Subscription::OptOut), "{name}");
    }
    let told = contact_events(&server);
    assert_eq!(told.len(), requests().len());
    assert!(told.iter().all(|event| *event == ("contact.topic_opt_out", Source::OneClick)), "{told:?}");
}

#[test]
fn a_request_that_is_repeated_is_answered_alike_and_recorded_once() {
    let server = TestServer::start();
    let news = topic(&server, "News");
    server.add_contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let (_, request) = requests().remove(0);
    let bytes = request.replace("{path}", &path);

    for _ in 0..3 {
        let (head, body) = exchange(&server, bytes.as_bytes());
        assert!(head.starts_with("HTTP/1.1 200 OK") && body == "OK\n", "{head}");
    }

    assert_eq!(contact_events(&server), [("contact.topic_opt_out", Source::OneClick)]);
}

//! One-click requests as mail programs send them, byte by byte over a socket (RFC 8058).

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

/// Every form of the request that is known to be sent, with its name. `{path}` stands for the link.
fn requests() -> Vec<(&'static str, String)> {
    let urlencoded = "List-Unsubscribe=One-Click";
    // The bytes of the example, whose delimiters are the boundary without the two hyphens that
    // RFC 2046 §5.1.1 puts before it.
    let example = "---FormBoundaryjWmhtjORrn\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\r\n\
                   One-Click\r\n---FormBoundaryjWmhtjORrn--";
    assert_eq!(example.len(), 124);
    let multipart = "--8f2c\r\nContent-Disposition: form-data; name=\"List-Unsubscribe\"\r\n\
                     Content-Type: text/plain; charset=utf-8\r\n\r\nOne-Click\r\n--8f2c--\r\n";
    vec![
        (
            "RFC 8058 §8.1",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 26\r\nConnection: close\r\n\r\n{urlencoded}"
            ),
        ),
        (
            "RFC 8058 §8.3",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\n\
                 Content-Type: multipart/form-data; boundary=---FormBoundaryjWmhtjORrn\r\nContent-Length: 124\r\n\
                 Connection: close\r\n\r\n{example}"
            ),
        ),
        (
            "a web mail, in the encoding that RFC 8058 §3.2 allows",
            format!(
                "POST {{path}} HTTP/1.1\r\nhost: example.com\r\nuser-agent: Mozilla/5.0\r\naccept: */*\r\n\
                 accept-encoding: gzip, deflate, br\r\ncontent-type: application/x-www-form-urlencoded;charset=UTF-8\r\n\
                 content-length: 26\r\nconnection: close\r\n\r\n{urlencoded}"
            ),
        ),
        (
            "a mail program, in the encoding that RFC 8058 §3.2 prefers",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\nContent-Type: multipart/form-data; boundary=\"8f2c\"\r\n\
                 Accept: */*\r\nAccept-Language: de-DE,de;q=0.9\r\nAccept-Encoding: gzip, deflate\r\n\
                 Content-Length: {}\r\nConnection: close\r\n\r\n{multipart}",
                multipart.len()
            ),
        ),
        (
            "a body in chunks",
            "POST {path} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
             Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
             11\r\nList-Unsubscribe=\r\n9\r\nOne-Click\r\n0\r\n\r\n"
                .to_owned(),
        ),
        (
            "a body that waits to be asked for",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Expect: 100-continue\r\nContent-Length: 26\r\nConnection: close\r\n\r\n{urlencoded}"
            ),
        ),
        (
            "a body with the end of a line",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 28\r\nConnection: close\r\n\r\n{urlencoded}\r\n"
            ),
        ),
        (
            "no type",
            format!(
                "POST {{path}} HTTP/1.1\r\nHost: example.com\r\nContent-Length: 26\r\nConnection: close\r\n\r\n{urlencoded}"
            ),
        ),
        (
            "HTTP/1.0",
            format!(
                "POST {{path}} HTTP/1.0\r\nHost: example.com\r\nContent-Type: application/x-www-form-urlencoded\r\n\
                 Content-Length: 26\r\n\r\n{urlencoded}"
            ),
        ),
    ]
}

#[test]
fn every_known_form_of_the_request_opts_out_with_a_bare_200() {
    let server = TestServer::start();
    for (name, request) in requests() {
        let news = topic(&server, name);
        let contact = server.contact(&format!("{news}@example.org"), false);
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
    server.contact(ADA, false);
    let path = topic_path(&server, news, ADA);
    let (_, request) = requests().remove(0);
    let bytes = request.replace("{path}", &path);

    for _ in 0..3 {
        let (head, body) = exchange(&server, bytes.as_bytes());
        assert!(head.starts_with("HTTP/1.1 200 OK") && body == "OK\n", "{head}");
    }

    assert_eq!(contact_events(&server), [("contact.topic_opt_out", Source::OneClick)]);
}

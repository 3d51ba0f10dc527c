//! Large responses: attachments in parts, and the memory of unread responses.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ringmail::base::clock::monotonic;
use ringmail::base::random;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::{TestServer, email};

/// Sends an email with one attachment, and returns the path of the attachment.
fn attached(server: &TestServer, content: &[u8]) -> String {
    let email = server.send(&json!({ "attachments": [{ "filename": "file.bin", "content": content }] }));
    let list = server.get(&format!("/emails/{email}/attachments")).ok(200);
    format!("/emails/{email}/attachments/{}", list["data"][0]["id"].as_str().unwrap())
}

/// Returns the base64 text of bytes.
fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::new();
    for group in bytes.chunks(3) {
        let bits = group.iter().fold(0_u32, |bits, byte| bits << 8 | u32::from(*byte)) << (8 * (3 - group.len()));
        for digit in 0..4 {
            let value = (bits >> (18 - 6 * digit)) & 63;
            text.push(if digit > group.len() { '=' } else { char::from(DIGITS[value as usize]) });
        }
    }
    text
}

#[test]
fn an_attachment_of_any_size_is_read_back_unchanged() {
    let server = TestServer::start();
    const CHUNK: usize = 60 << 10;
    for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 3 * CHUNK + 2] {
        let seed: [u8; 32] = random::bytes();
        let content: Vec<u8> = (0..length).map(|index| seed[index % 32] ^ (index / 32 % 251) as u8).collect();

        let response = server.get(&attached(&server, &content));

        let rendered_bytes = response.json.to_string().len();
        assert_eq!(response.header("content-length"), Some(rendered_bytes.to_string().as_str()), "{length}");
        let attachment = response.ok(200);
        assert_eq!(attachment["size"], length, "{length}");
        assert!(attachment["content"] == base64(&content), "{length}");
    }
}

/// Sends a GET request over a connection with a small buffer. Does not read the response.
pub(crate) fn request_unread(server: &TestServer, path: &str) -> TcpStream {
    let to: SocketAddr = server.base().strip_prefix("http://").unwrap().parse().unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async move {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(1).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    let mut stream = stream;
    let request = format!("{}\r\n", server.raw_request_head("GET", path));
    stream.write_all(request.as_bytes()).unwrap();
    stream
}

/// Reads the begin of a response, up to its status, and returns the status.
pub(crate) fn status(stream: &mut TcpStream) -> u16 {
    let mut begin = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut begin).unwrap();
    std::str::from_utf8(&begin[9..]).unwrap().parse().unwrap()
}

/// Size of the HTML part of a large email. To read the email, the server needs more than a quarter of the memory of all
/// responses. The rendered email is smaller than a quarter.
const HTML_BYTES: usize = 9 << 20;

/// Returns the fields of a large email.
pub(crate) fn html() -> Value {
    json!({ "html": "x".repeat(HTML_BYTES) })
}

#[test]
fn unread_responses_use_a_bounded_memory_that_is_free_again_when_they_end() {
    let server = TestServer::start();
    let id = server.send(&html());
    let path = format!("/emails/{id}");
    let unread: Vec<TcpStream> = (0..2)
        .map(|_| {
            let mut stream = request_unread(&server, &path);
            assert_eq!(status(&mut stream), 200);
            stream
        })
        .collect();

    let refused = server.get(&path);

    let refusal = refused.refusal();
    assert!(refusal.starts_with("503 service_unavailable: The server is sending too many large"), "{refusal}");
    assert_eq!(refused.header("retry-after"), Some("1"));
    assert_eq!(server.get("/emails").ok(200)["data"][0]["id"], id);

    drop(unread);
    let whole = server.poll(&path, "free memory", |response| response.status == 200);
    assert_eq!(whole.json["html"].as_str().map(str::len), Some(HTML_BYTES));
}

#[test]
fn unread_responses_of_a_team_do_not_delay_the_large_responses_of_another() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let subject = "s".repeat(900);
    let batch: Vec<Value> =
        (0..100).map(|_| email(&json!({ "from": "hello@other.example", "subject": subject }))).collect();
    other.post("/emails/batch", &json!(batch)).ok(200);
    let theirs = format!("/emails/{}", other.send(&html()));
    let path = format!("/emails/{}", server.send(&html()));
    // All of them together need more than the memory of all responses.
    let mut unread: Vec<TcpStream> = (0..12).map(|_| request_unread(&server, &path)).collect();
    let statuses: Vec<u16> = unread.iter_mut().map(status).collect();
    assert!(statuses.contains(&200) && statuses.contains(&503), "{statuses:?}");

    // A list does not wait for memory.
    let list = other.get("/emails?limit=100");
    let started = monotonic();
    let large = other.get(&theirs);

    assert!(list.ok(200).to_string().len() > 64 << 10);
    assert_eq!(large.ok(200)["html"].as_str().map(str::len), Some(HTML_BYTES));
    assert!(started.elapsed() < Duration::from_secs(5), "the response took {:?}", started.elapsed());
}

#[test]
fn the_request_log_has_the_size_of_an_attachment_in_parts() {
    let server = TestServer::start();
    let path = attached(&server, &vec![7; 200 << 10]);
    let length = server.get(&path).header("content-length").unwrap().to_owned();

    let logged = |response: &crate::support::ApiResponse| {
        let rows = response.json["data"].as_array().cloned().unwrap_or_default();
        rows.iter().any(|row: &Value| row["endpoint"] == path.as_str())
    };
    let logs = server.poll("/logs", "the entry", logged);
    let row = logs.json["data"].as_array().unwrap().iter().find(|row| row["endpoint"] == path.as_str()).unwrap();
    let log = server.get(&format!("/logs/{}", row["id"].as_str().unwrap())).ok(200);
    assert!(log.to_string().contains(&length), "{length}: {log:#}");
}

//! Large responses: attachments in parts, and the memory of unread responses.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ringmail::base::random;
use serde_json::{Value, json};
use tokio::net::TcpSocket;

use crate::support::TestServer;

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

/// Sends a GET request over a connection with a small buffer. Reads the first byte of the response only.
fn unread(server: &TestServer, path: &str) -> TcpStream {
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
    let mut byte = [0];
    stream.read_exact(&mut byte).unwrap();
    stream
}

#[test]
fn unread_responses_use_a_bounded_memory_that_is_free_again_when_they_end() {
    const HTML_BYTES: usize = 9 << 20;
    let server = TestServer::start();
    let id = server.send(&json!({ "html": "x".repeat(HTML_BYTES) }));
    let path = format!("/emails/{id}");
    // After five of these responses, less than the memory of a sixth is left of the 64 MiB of all responses.
    let unread: Vec<TcpStream> = (0..5).map(|_| unread(&server, &path)).collect();

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

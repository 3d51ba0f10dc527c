//! Limits of connections: the size of a request head, the connections of one address, the `Host` header, the shutdown.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use ringmail::base::clock::monotonic;
use tokio::net::TcpSocket;

use crate::support::TestServer;

/// Timeout of each read.
const WITHIN: Duration = Duration::from_secs(20);

fn address(server: &TestServer) -> SocketAddr {
    server.base().strip_prefix("http://").unwrap().parse().unwrap()
}

fn connect(server: &TestServer) -> TcpStream {
    connected(TcpStream::connect(address(server)).unwrap())
}

fn connected(stream: TcpStream) -> TcpStream {
    stream.set_read_timeout(Some(WITHIN)).unwrap();
    stream
}

/// Connects from another loopback address.
fn connect_from(server: &TestServer, source: &str) -> TcpStream {
    let (to, from) = (address(server), SocketAddr::new(source.parse().unwrap(), 0));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build().unwrap();
    let stream = runtime.block_on(async move {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(from).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    });
    stream.set_nonblocking(false).unwrap();
    connected(stream)
}

/// Sends a request and returns the status line of the response, which is empty if the server closes the connection.
/// The connection stays open.
fn ask(stream: &mut TcpStream) -> String {
    let _ = stream.write_all(b"HEAD /health HTTP/1.1\r\nhost: localhost\r\n\r\n");
    let mut received = Vec::new();
    let mut byte = [0];
    while !received.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        received.push(byte[0]);
    }
    String::from_utf8(received).unwrap().lines().next().unwrap_or_default().to_owned()
}

/// Sends bytes and returns everything that the server sends until it closes the connection.
fn exchange(server: &TestServer, bytes: &[u8]) -> String {
    let mut stream = connect(server);
    // The server may close the connection before it has read all bytes.
    let _ = stream.write_all(bytes);
    let mut received = Vec::new();
    let _ = stream.read_to_end(&mut received);
    String::from_utf8(received).unwrap()
}

fn head(filler_bytes: usize) -> Vec<u8> {
    let filler = "a".repeat(filler_bytes);
    format!("GET /health HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nx-filler: {filler}\r\n\r\n").into_bytes()
}

#[test]
fn a_request_head_above_24_kib_is_answered_431() {
    let server = TestServer::start();

    assert!(exchange(&server, &head(11 << 10)).starts_with("HTTP/1.1 200 "));
    for filler_bytes in [24 << 10, 64 << 10, 400 << 10] {
        let answer = exchange(&server, &head(filler_bytes));
        assert!(answer.starts_with("HTTP/1.1 431 "), "{filler_bytes}: {answer}");
    }
}

#[test]
fn an_unfinished_head_is_refused_at_12_kib_before_it_ends() {
    let server = TestServer::start();
    let mut unfinished = head(12 << 10);
    unfinished.truncate(12 << 10);

    let answer = exchange(&server, &unfinished);

    assert!(answer.starts_with("HTTP/1.1 431 "), "{answer}");
}

#[test]
fn an_address_at_its_limit_does_not_lock_others_out() {
    let server = TestServer::start_with(&["--address-connections", "2"]);
    let mut first = connect(&server);
    let mut second = connect(&server);
    assert_eq!([ask(&mut first), ask(&mut second)], ["HTTP/1.1 200 OK"; 2]);

    assert_eq!(ask(&mut connect(&server)), "");
    assert_eq!(ask(&mut connect_from(&server, "127.0.0.2")), "HTTP/1.1 200 OK");
    assert_eq!(ask(&mut first), "HTTP/1.1 200 OK");

    drop(second);
    let started = monotonic();
    while ask(&mut connect(&server)).is_empty() {
        assert!(started.elapsed() < WITHIN, "the closed connection still counts");
    }
}

#[test]
fn a_trusted_proxy_has_no_limit_of_connections() {
    let flags = ["--address-connections", "1", "--trusted-proxies", "127.0.0.1"];
    let server = TestServer::start_with(&flags);
    let mut proxied: Vec<TcpStream> = (0..3).map(|_| connect(&server)).collect();
    let mut direct = connect_from(&server, "127.0.0.2");

    for stream in &mut proxied {
        assert_eq!(ask(stream), "HTTP/1.1 200 OK");
    }
    assert_eq!(ask(&mut direct), "HTTP/1.1 200 OK");
    assert_eq!(ask(&mut connect_from(&server, "127.0.0.2")), "");
}

#[test]
fn a_stop_does_not_wait_for_an_unfinished_head() {
    let server = TestServer::start();
    let mut unfinished = connect(&server);
    assert_eq!(ask(&mut unfinished), "HTTP/1.1 200 OK");
    unfinished.write_all(b"GET /health HTTP/1.1\r\nhost: loc").unwrap();
    // The response shows that the server has read the bytes that were sent before.
    assert_eq!(ask(&mut connect(&server)), "HTTP/1.1 200 OK");

    let started = monotonic();
    drop(server);

    assert!(started.elapsed() < Duration::from_secs(6), "the stop took {:?}", started.elapsed());
}

#[test]
fn a_request_of_http_1_1_has_exactly_one_host() {
    let server = TestServer::start();
    for (headers, problem) in [
        ("", "no `Host` header"),
        ("host: a\r\nhost: a\r\n", "more than one `Host` header"),
        ("host: a b\r\n", "an invalid `Host` header"),
        ("host: a, b\r\n", "an invalid `Host` header"),
    ] {
        let request = format!("GET /health HTTP/1.1\r\nconnection: close\r\n{headers}\r\n");
        let answer = server.send_raw(request.as_bytes());
        let refusal = answer.refusal();
        assert!(refusal.starts_with("400 validation_error: ") && refusal.contains(problem), "{headers:?}: {refusal}");
    }
    for request in ["GET /health HTTP/1.0\r\n\r\n", "GET /health HTTP/1.1\r\nconnection: close\r\nhost:\r\n\r\n"] {
        assert_eq!(server.send_raw(request.as_bytes()).status, 200, "{request:?}");
    }
}

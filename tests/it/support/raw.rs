//! Sends requests byte by byte, because no HTTP client library sends malformed or truncated ones.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{ApiResponse, TestServer};

/// Action of the client after it has sent its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum AfterSend {
    /// Keeps the connection open.
    KeepOpen,
    /// Closes the write half of the connection.
    CloseWrite,
}

impl TestServer {
    /// Sends the bytes of `request` and returns the response.
    #[track_caller]
    pub(crate) fn send_raw(&self, request: &[u8]) -> ApiResponse {
        self.exchange(request, AfterSend::KeepOpen).expect("the server responds")
    }

    /// Sends the bytes of `request`, then closes the write half of the connection. Returns `None` if the server
    /// closes the connection without a response.
    pub(crate) fn send_raw_truncated(&self, request: &[u8]) -> Option<ApiResponse> {
        self.exchange(request, AfterSend::CloseWrite)
    }

    fn exchange(&self, request: &[u8], after_send: AfterSend) -> Option<ApiResponse> {
        let address = self.base().strip_prefix("http://").expect("the base URL has the scheme http");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("the socket takes a timeout");
        // The write can fail if the server has already responded and stopped reading. The response is still read.
        let _ = stream.write_all(request);
        if after_send == AfterSend::CloseWrite {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut received = Vec::new();
        let _ = stream.read_to_end(&mut received);
        parse_response(&received)
    }

    /// Returns the request line and headers of a request with the full access key. The caller adds the framing
    /// headers (`Content-Length` or `Transfer-Encoding`), the empty line and the body.
    pub(crate) fn raw_request_head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n",
            self.key()
        )
    }
}

fn parse_response(bytes: &[u8]) -> Option<ApiResponse> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let json: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body}"));
    Some(ApiResponse { status, headers, json })
}

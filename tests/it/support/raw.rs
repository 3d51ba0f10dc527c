//! Requests byte by byte: what no well-behaved client sends.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use serde_json::Value;

use super::{Answer, TestServer};

/// What a client does once it has sent its bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Then {
    /// Waits for the answer.
    Waits,
    /// Sends no more, ever.
    BreaksOff,
}

impl TestServer {
    /// Sends `request` as it stands and returns what is answered.
    #[track_caller]
    pub(crate) fn raw(&self, request: &[u8]) -> Answer {
        self.exchange(request, Then::Waits).expect("the server answers")
    }

    /// Sends `request` and breaks off; `None` when the server has no answer to that.
    pub(crate) fn raw_cut_short(&self, request: &[u8]) -> Option<Answer> {
        self.exchange(request, Then::BreaksOff)
    }

    fn exchange(&self, request: &[u8], then: Then) -> Option<Answer> {
        let address = self.base().strip_prefix("http://").expect("the base is a plain address");
        let mut stream = TcpStream::connect(address).expect("the server listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout can be set");
        // A server that has answered already may stop reading; what it answered is read all the same.
        let _ = stream.write_all(request);
        if then == Then::BreaksOff {
            let _ = stream.shutdown(Shutdown::Write);
        }
        let mut answered = Vec::new();
        let _ = stream.read_to_end(&mut answered);
        read_answer(&answered)
    }

    /// Returns the head of a request with the key of full access, up to the framing of its body.
    pub(crate) fn raw_head(&self, method: &str, path: &str) -> String {
        format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\n",
            self.key()
        )
    }
}

fn read_answer(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let mut lines = head.lines();
    let status = lines.next()?.split(' ').nth(1)?.parse().ok()?;
    let headers = lines
        .filter_map(|line| line.split_once(':'))
        .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
        .collect();
    let json: Value = serde_json::from_str(body).unwrap_or_else(|error| panic!("{error} in {body}"));
    Some(Answer { status, headers, json })
}

//! Live streams of events (server-sent events) at `/dashboard/api/events`.

mod erasure;
mod refusals;
mod stream;

use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use serde_json::Value;

use crate::support::TestServer;

const PATH: &str = "/dashboard/api/events";

/// An open live stream. Drop closes the connection.
struct Stream(BufReader<ureq::BodyReader<'static>>);

/// One message of a stream.
#[derive(Debug)]
struct Message {
    id: String,
    event: String,
    data: Value,
}

/// Requests a stream and returns the response, with any status.
fn request_stream(server: &TestServer, path: &str, key: &str, host: Option<&str>) -> ureq::http::Response<ureq::Body> {
    let config =
        ureq::Agent::config_builder().http_status_as_error(false).timeout_global(Some(Duration::from_secs(30)));
    let mut request = ureq::Agent::new_with_config(config.build()).get(format!("{}{path}", server.base()));
    if !key.is_empty() {
        request = request.header("authorization", format!("Bearer {key}"));
    }
    if let Some(host) = host {
        request = request.header("host", host);
    }
    request.call().expect("the server responds")
}

/// Opens a stream and reads its first comment. The stream contains all events after that comment.
#[track_caller]
fn open(server: &TestServer, path: &str, key: &str) -> Stream {
    let response = request_stream(server, path, key, None);
    assert_eq!(response.status(), 200);
    for (name, value) in [
        ("content-type", "text/event-stream; charset=utf-8"),
        ("cache-control", "no-store"),
        ("x-accel-buffering", "no"),
    ] {
        assert_eq!(response.headers()[name], value);
    }
    let mut stream = Stream(BufReader::new(response.into_body().into_reader()));
    assert_eq!(stream.line().as_deref(), Some(": ringmail"));
    stream
}

impl Stream {
    /// Reads a line without the line break; `None` if the stream has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("the stream is text and ends without an error");
        (read > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    /// Reads the next message; `None` if the stream has ended.
    fn next(&mut self) -> Option<Message> {
        let (mut id, mut event, mut data) = (String::new(), String::new(), None);
        loop {
            let line = self.line()?;
            match line.split_once(": ") {
                Some(("id", value)) => id = value.to_owned(),
                Some(("event", value)) => event = value.to_owned(),
                Some(("data", value)) => data = Some(serde_json::from_str(value).expect("data is JSON on one line")),
                _ if line.is_empty() => {
                    if let Some(data) = data.take() {
                        return Some(Message { id, event, data });
                    }
                }
                _ => assert!(line.starts_with(':'), "{line}"),
            }
        }
    }

    #[track_caller]
    fn message(&mut self) -> Message {
        self.next().expect("a message before the end of the stream")
    }
}

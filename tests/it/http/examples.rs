//! The examples in `docs/API.md`, executed in their order.

use std::collections::{BTreeMap, HashMap};
use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::time::Duration;

use ringmail::base::clock::monotonic;
use serde_json::Value;

use crate::ingest;
use crate::support::TestServer;

/// Server of the examples.
const DOCUMENTED_API: &str = "http://127.0.0.1:8787";
/// Webhook endpoint of the examples.
const DOCUMENTED_ENDPOINT: &str = "https://hooks.example.com/ringmail";
/// Fields that differ from run to run.
const VARIABLE: &[&str] = &["duration_ms", "user_agent", "limit", "size"];
/// Longest wait for an email or a webhook delivery.
const DEADLINE: Duration = Duration::from_secs(20);

/// A request and its response.
#[derive(Debug)]
struct Example {
    method: String,
    path: String,
    /// Value of `webhook-id`, which a signed request has.
    webhook_id: Option<String>,
    body: Option<String>,
    status: u16,
    response: Value,
}

impl Example {
    /// Parses a block: the request line, the headers of a signed request, the body, and the response after an empty
    /// line.
    fn parse(block: &str) -> Self {
        let (request, response) = block.rsplit_once("\n\n").expect("a response follows an empty line");
        let (status, response) = response.split_once('\n').expect("a status line");
        let mut lines = request.lines().peekable();
        let (method, path) = lines.next().and_then(|line| line.split_once(' ')).expect("a request line");
        let mut webhook_id = None;
        while let Some(line) = lines.next_if(|line| line.starts_with("webhook-")) {
            webhook_id = webhook_id.or(line.strip_prefix("webhook-id: ").map(str::to_owned));
        }
        let body = lines.collect::<Vec<_>>().join("\n");
        Self {
            method: method.to_owned(),
            path: path.to_owned(),
            webhook_id,
            body: Some(body).filter(|body| !body.is_empty()),
            status: status[..3].parse().expect("a status"),
            response: serde_json::from_str(response).unwrap_or_else(|error| panic!("{error} in {response}")),
        }
    }
}

fn examples() -> Vec<Example> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/API.md");
    let text = std::fs::read_to_string(path).unwrap();
    let (_, examples) = text.split_once("\n## Examples\n").expect("the section of the examples");
    let blocks = examples.split("```http\n").skip(1).map(|block| block.split("\n```").next().unwrap());
    blocks.map(Example::parse).collect()
}

/// Real values of documented texts.
struct Real {
    ids: HashMap<String, String>,
    api: String,
    endpoint: String,
}

impl Real {
    /// Replaces the documented addresses and ids of a text by the real ones.
    fn text(&self, documented: &str) -> String {
        let text = documented.replace(DOCUMENTED_API, &self.api).replace(DOCUMENTED_ENDPOINT, &self.endpoint);
        self.ids.iter().fold(text, |text, (documented, real)| text.replace(documented, real))
    }

    /// Compares a response with the documented one, and learns the ids in it.
    ///
    /// # Errors
    /// The first difference.
    fn compare(&mut self, name: &str, documented: &Value, real: &Value) -> Result<(), String> {
        let differs = || Err(format!("{name}: documented {documented}, real {real}"));
        match (documented, real) {
            (Value::Object(documented), Value::Object(real)) => {
                let (documented, real): (BTreeMap<_, _>, BTreeMap<_, _>) =
                    (documented.iter().collect(), real.iter().collect());
                if !documented.keys().eq(real.keys()) {
                    return Err(format!("{name}: documented {:?}, real {:?}", documented.keys(), real.keys()));
                }
                documented.iter().try_for_each(|(key, value)| self.compare(key, value, real[*key]))
            }
            (Value::Array(documented), Value::Array(real)) if documented.len() == real.len() => {
                documented.iter().zip(real).try_for_each(|(documented, real)| self.compare(name, documented, real))
            }
            (Value::Number(_), Value::Number(_)) | (Value::String(_), Value::String(_)) if VARIABLE.contains(&name) => {
                Ok(())
            }
            (Value::String(documented), Value::String(real)) if is_id(documented) && is_id(real) => {
                let known = self.ids.entry(documented.clone()).or_insert_with(|| real.clone());
                if known == real { Ok(()) } else { differs() }
            }
            (Value::String(documented), Value::String(real)) if is_time(documented) && is_time(real) => Ok(()),
            (Value::String(documented), Value::String(real)) if matches(&self.text(documented), real) => Ok(()),
            (documented, real) if documented == real => Ok(()),
            _ => differs(),
        }
    }
}

fn is_id(text: &str) -> bool {
    let is_part = |(at, c): (usize, char)| if [8, 13, 18, 23].contains(&at) { c == '-' } else { c.is_ascii_hexdigit() };
    text.len() == 36 && text.chars().enumerate().all(is_part)
}

fn is_time(text: &str) -> bool {
    text.len() == 24 && text.as_bytes()[10] == b'T' && text.ends_with('Z')
}

/// Returns whether a text has the documented parts in their order. An ellipsis stands for any text.
fn matches(documented: &str, real: &str) -> bool {
    let Some((start, end)) = documented.split_once('…') else { return documented == real };
    real.len() >= start.len() + end.len() && real.starts_with(start) && real.ends_with(end)
}

/// Starts an HTTP server that answers each request with 200 and `ok`. It ends with the process. Returns its URL.
fn start_receiver() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/ringmail", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let mut received = [0; 16 << 10];
                // The requests are small: each of them is in one segment.
                while stream.read(&mut received).is_ok_and(|bytes| bytes > 0) {
                    if stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok").is_err() {
                        return;
                    }
                }
            });
        }
    });
    url
}

/// Executes an example once.
fn execute(server: &TestServer, example: &Example, real: &mut Real) -> Result<(), String> {
    let (path, body) = (real.text(&example.path), example.body.as_ref().map(|body| real.text(body)));
    let body = body.as_ref().map(String::as_bytes);
    let response = match &example.webhook_id {
        Some(id) => ingest::post(server, &path, id, body.unwrap_or_default()),
        None => server.call(&example.method, &path, server.key(), &[], body),
    };
    if response.status != example.status {
        return Err(format!("documented {}, real {}: {}", example.status, response.status, response.json));
    }
    real.compare("", &example.response, &response.json)
}

#[test]
fn the_examples_of_the_documentation_are_the_responses_of_the_server() {
    let secret = ["--ingest-secret", ingest::SECRET];
    let server = TestServer::start_with(&[&["--hostname", "mx.example.net"], &secret[..]].concat());
    let mut real = Real { ids: HashMap::new(), api: server.base().to_owned(), endpoint: start_receiver() };
    for example in examples() {
        if example.path.ends_with("/insights") {
            server.advance(Duration::from_secs(6));
        }
        let started = monotonic();
        while let Err(difference) = execute(&server, &example, &mut real) {
            // An email is delivered, and a webhook is posted, after the response.
            let may_change = example.method == "GET" && started.elapsed() < DEADLINE;
            assert!(may_change, "{} {}: {difference}", example.method, example.path);
        }
    }
}

#[test]
fn every_endpoint_has_an_example() {
    let server = TestServer::start();
    let document = server.get("/openapi.json").ok(200);
    let examples = examples();
    let is_shown = |method: &str, template: &str| {
        let template: Vec<&str> = template.split('/').collect();
        examples.iter().any(|example| {
            let path: Vec<&str> = example.path.split('?').next().unwrap().split('/').collect();
            let fits = |(part, value): (&&str, &&str)| part == value || (part.starts_with('{') && is_id(value));
            example.method.eq_ignore_ascii_case(method)
                && path.len() == template.len()
                && template.iter().zip(&path).all(fits)
        })
    };
    for (path, operations) in document["paths"].as_object().unwrap() {
        for method in operations.as_object().unwrap().keys() {
            let is_method = ["get", "post", "patch", "put", "delete"].contains(&method.as_str());
            // The response is the document itself.
            if is_method && path != "/openapi.json" {
                assert!(is_shown(method, path), "docs/API.md has no example of {method} {path}");
            }
        }
    }
    assert!(is_shown("get", "/health") && is_shown("post", "/ingest/events") && is_shown("post", "/ingest/message"));
}

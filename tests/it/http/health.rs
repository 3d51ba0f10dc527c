//! `GET /health` of an instance that fails.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use ringmail::http::ApiError;
use ringmail::store::StoreError;
use serde_json::json;

use crate::support::{NameServer, TestServer, retry_until_ok};

/// Commands that the server accepts.
const VERBS: [&str; 5] = ["EHLO", "MAIL", "RCPT", "RSET", "NOOP"];

/// A mail server that never answers the end of a message. Its threads end with the process.
struct HangingServer {
    port: String,
    /// Sessions with a message that is not answered.
    hanging: Arc<Mutex<Vec<TcpStream>>>,
}

impl HangingServer {
    fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let (port, hanging) = (listener.local_addr().unwrap().port().to_string(), Arc::<Mutex<Vec<_>>>::default());
        let shared = Arc::clone(&hanging);
        std::thread::spawn(move || {
            for mut stream in listener.incoming().flatten() {
                stream.write_all(b"220 mx.test ESMTP\r\n").unwrap();
                for line in BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok) {
                    match line.as_str() {
                        "DATA" => stream.write_all(b"354 Go on\r\n").unwrap(),
                        "." => break,
                        // Lines of the message get no answer.
                        command if VERBS.iter().any(|verb| command.starts_with(verb)) => {
                            stream.write_all(b"250 Ok\r\n").unwrap();
                        }
                        _ => {}
                    }
                }
                shared.lock().unwrap().push(stream);
            }
        });
        Self { port, hanging }
    }

    fn sessions(&self) -> usize {
        self.hanging.lock().unwrap().len()
    }

    fn close(&self) {
        for stream in self.hanging.lock().unwrap().iter() {
            let _ = stream.shutdown(Shutdown::Both);
        }
    }
}

#[test]
fn email_that_waits_for_a_working_site_is_a_health_of_503() {
    let (mail, names) = (HangingServer::start(), NameServer::start());
    names.add("slow IN MX 10 mx.slow.example.\nmx.slow IN A 127.0.0.1\n");
    let resolver = names.address();
    let server = TestServer::start_with(&[
        "--delivery=direct",
        "--hostname=mx.ringmail.test",
        "--resolver",
        &resolver,
        "--smtp-port",
        &mail.port,
        "--allow-address=127.0.0.0/8",
        "--concurrency=1",
        "--require-tls=none",
        "--queue-age-limit=1h",
    ]);
    let health = || server.call("GET", "/health", "", &[], None);
    server.send(&json!({ "to": "first@slow.example" }));
    retry_until_ok("the first message", || if mail.sessions() == 1 { Ok(()) } else { Err("none".into()) });
    server.send(&json!({ "to": "second@slow.example" }));

    server.advance(Duration::from_secs(60 * 60));
    server.count_queue();
    health().ok(200);
    server.advance(Duration::from_secs(1));
    server.count_queue();

    assert_eq!(health().ok(503), json!({ "ok": false, "status": "failing", "problems": ["queue"] }));
    mail.close();
}

#[test]
fn email_for_a_site_that_fails_and_email_on_hold_are_no_problem() {
    for flags in [&["--resolver", "127.0.0.1:9"][..], &["--hold"]] {
        let flags = [&["--delivery", "direct", "--hostname", "mx.ringmail.test"], flags].concat();
        let server = TestServer::start_with(&flags);
        server.send(&json!({ "to": "ada@gone.example" }));

        server.advance(Duration::from_secs(24 * 60 * 60));

        retry_until_ok("a healthy queue", || {
            server.count_queue();
            let health = server.call("GET", "/health", "", &[], None);
            if health.status == 200 { Ok(()) } else { Err(health.json.to_string()) }
        });
    }
}

#[test]
fn little_free_disk_space_is_a_health_of_503() {
    let server = TestServer::start_with(&["--disk-reserve-mb", "1073741824"]);

    assert_eq!(server.call("GET", "/health", "", &[], None).ok(503)["problems"], json!(["disk"]));
}

#[test]
fn a_panic_in_the_store_is_an_error_500_and_a_health_of_503() {
    let server = TestServer::start();
    let store = server.context().store.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let read = runtime.block_on(store.read::<(), StoreError>(|_| panic!("a read of the test")));

    assert_eq!(ApiError::from(read.unwrap_err()).code.status(), 500);
    let health = server.call("GET", "/health", "", &[], None).ok(503);
    assert_eq!(health, json!({ "ok": false, "status": "failing", "problems": ["store"] }));
    assert_eq!(server.get("/emails").status, 200);
}

#[test]
fn a_panic_of_a_command_is_an_error_500_and_a_health_of_503() {
    let server = TestServer::start();
    let store = server.context().store.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let written = runtime.block_on(store.write::<(), StoreError>(|_| panic!("a command of the test")));

    assert_eq!(ApiError::from(written.unwrap_err()).code.status(), 500);
    assert_eq!(server.call("GET", "/health", "", &[], None).ok(503)["problems"], json!(["store"]));
    server.send(&json!({}));
}

//! The client against receivers that follow a script, and names from a real DNS server on loopback.
//!
//! `receiver.rs` is the other side. `urls.rs` is about texts; `ranges.rs` and `rebinding.rs` about addresses;
//! `answers.rs` about what comes back, `keeping.rs` about connections that are used again, `secure.rs` about TLS.

mod answers;
mod keeping;
mod ranges;
mod rebinding;
mod receiver;
mod secure;
mod urls;

use std::io;
use std::net::{IpAddr, TcpListener};
use std::time::Duration;

use crate::base::clock::TimestampMs;
use crate::dns::tests::authority::Authority;
use crate::dns::{Guard, Resolver};

use super::{Bytes, Client, CustomerUrl, HttpResponse, HttpSession, HttpTimeouts, RequestError, UrlPolicy};

/// A day in 2001: any wall clock will do.
const NOW_MS: TimestampMs = 1_000_000_000_000;

/// The beginning of every zone.
const SOA: &str = "$TTL 300\n@ IN SOA ns.example. h.example. 1 3600 600 86400 1\n";

/// Long enough that nothing but a script that waits runs into it.
fn timings() -> HttpTimeouts {
    let seconds = Duration::from_secs;
    HttpTimeouts { connect: seconds(5), tls: seconds(5), answer: seconds(10), overall: seconds(15), idle: seconds(60) }
}

/// The limit that a script waits for.
const BRIEFLY: Duration = Duration::from_millis(100);

/// Lets these addresses be dialled and no other local one, over plain HTTP too.
fn policy(allowed: &[&str]) -> UrlPolicy {
    let allowed = allowed.iter().map(|range| range.parse().unwrap()).collect();
    UrlPolicy { guard: Guard::allowing(allowed), plain_http: true, extra_roots: Vec::new() }
}

fn client(policy: UrlPolicy, timings: HttpTimeouts) -> Client {
    // Nobody listens there, and nobody is asked: the hosts of these tests are addresses.
    let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
    Client::new(resolver, policy, timings).unwrap()
}

/// Names are looked up at the authority, and answers are remembered for no time at all.
fn client_of(authority: &Authority, policy: UrlPolicy, timings: HttpTimeouts) -> Client {
    let forgetful = crate::dns::Timings {
        timeout: Duration::from_secs(5),
        positive_ttl: Duration::ZERO..=Duration::ZERO,
        negative_ttl: Duration::ZERO..=Duration::ZERO,
        ..crate::dns::Timings::default()
    };
    let resolver = Resolver::with_timings(&[authority.address], &forgetful).unwrap();
    Client::new(resolver, policy, timings).unwrap()
}

/// A session for a receiver at 127.0.0.1.
fn session(port: u16, timings: HttpTimeouts) -> HttpSession {
    let client = client(policy(&["127.0.0.1"]), timings);
    session_at(&client, &format!("http://127.0.0.1:{port}/hook"))
}

fn session_at(client: &Client, url: &str) -> HttpSession {
    client.session(CustomerUrl::parse(url, client.policy()).unwrap())
}

async fn post(session: &mut HttpSession) -> Result<HttpResponse, RequestError> {
    session.post(&[("webhook-id", "msg_1")], Bytes::from_static(b"{}"), NOW_MS).await
}

/// A port of loopback where nobody may connect.
struct Trap(TcpListener);

impl Trap {
    fn new() -> Self {
        Self::at("127.0.0.1", 0).unwrap()
    }

    fn at(ip: &str, port: u16) -> io::Result<Self> {
        let listener = TcpListener::bind((ip.parse::<IpAddr>().unwrap(), port))?;
        listener.set_nonblocking(true)?;
        Ok(Self(listener))
    }

    fn port(&self) -> u16 {
        self.0.local_addr().unwrap().port()
    }

    /// Asserts that nobody has connected. A connection is there before whoever made it knows that it is.
    fn saw_nobody(&self) {
        assert_eq!(self.0.accept().map_err(|error| error.kind()).unwrap_err(), io::ErrorKind::WouldBlock);
    }
}

//! Tests of the client against scripted receivers and a real DNS server on loopback.
//!
//! Files, in reading order:
//! - `receiver.rs`: the scripted receiver;
//! - `urls.rs`: parsing of URLs;
//! - `ranges.rs` and `rebinding.rs`: blocked addresses, and names with changing addresses;
//! - `responses.rs`: valid and invalid responses;
//! - `reuse.rs`: reuse of connections;
//! - `fetch.rs`: fetches of files;
//! - `probe.rs`: requests for a status;
//! - `secure.rs`: TLS.

mod fetch;
mod probe;
mod ranges;
mod rebinding;
mod receiver;
mod responses;
mod reuse;
mod secure;
mod urls;

use std::io;
use std::net::{IpAddr, TcpListener};
use std::time::Duration;

use ipnet::IpNet;

use crate::base::clock::TimestampMs;
use crate::dns::tests::authority::Authority;
use crate::dns::{Guard, Resolver};

use super::{Bytes, CustomerUrl, HttpClient, HttpResponse, HttpSession, HttpTimeouts, RequestError, UrlPolicy};

/// Wall clock of the tests: 2001-09-09 01:46:40 UTC.
const NOW_MS: TimestampMs = 1_000_000_000_000;

/// First lines of every zone.
const SOA: &str = "$TTL 300\n@ IN SOA ns.example. h.example. 1 3600 600 86400 1\n";

/// Returns limits that only a script that waits on purpose exceeds.
fn timeouts() -> HttpTimeouts {
    let seconds = Duration::from_secs;
    HttpTimeouts {
        connect: seconds(5),
        tls: seconds(5),
        response: seconds(10),
        overall: seconds(15),
        idle: seconds(60),
    }
}

/// Time limit for tests that exceed it on purpose.
const SHORT_TIMEOUT: Duration = Duration::from_millis(100);

/// Returns a policy that permits `allowed`, no other local address, plain HTTP, and local names.
fn policy(allowed: &[&str]) -> UrlPolicy {
    let range = |text: &&str| text.parse().unwrap_or_else(|_| IpNet::from(text.parse::<IpAddr>().unwrap()));
    let allowed = allowed.iter().map(range).collect();
    UrlPolicy { guard: Guard::allowing(allowed), plain_http: true, local_names: true, extra_roots: Vec::new() }
}

fn client(policy: UrlPolicy, timeouts: HttpTimeouts) -> HttpClient {
    // No server listens at this address, and no query is sent to it: the hosts of these tests are addresses.
    let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
    HttpClient::new(resolver, policy, timeouts).unwrap()
}

/// Returns a client that looks names up at `authority`, without a cache.
fn client_of(authority: &Authority, policy: UrlPolicy, timeouts: HttpTimeouts) -> HttpClient {
    let without_cache = crate::dns::LookupTimings {
        timeout: Duration::from_secs(5),
        positive_ttl: Duration::ZERO..=Duration::ZERO,
        negative_ttl: Duration::ZERO..=Duration::ZERO,
        ..crate::dns::LookupTimings::default()
    };
    let resolver = Resolver::with_timings(&[authority.address], &without_cache).unwrap();
    HttpClient::new(resolver, policy, timeouts).unwrap()
}

/// Returns a session for a receiver at 127.0.0.1.
fn session(port: u16, timeouts: HttpTimeouts) -> HttpSession {
    let client = client(policy(&["127.0.0.1"]), timeouts);
    session_at(&client, &format!("http://127.0.0.1:{port}/hook"))
}

fn session_at(client: &HttpClient, url: &str) -> HttpSession {
    client.session(CustomerUrl::parse(url, client.policy()).unwrap())
}

async fn post(session: &mut HttpSession) -> Result<HttpResponse, RequestError> {
    session.post(&[("webhook-id", "msg_1")], Bytes::from_static(b"{}"), NOW_MS).await
}

/// A loopback port to which the client must not connect.
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

    /// Asserts that no client has connected. The kernel queues a connection before `connect` returns to the client.
    fn assert_no_connection(&self) {
        assert_eq!(self.0.accept().map_err(|error| error.kind()).unwrap_err(), io::ErrorKind::WouldBlock);
    }
}

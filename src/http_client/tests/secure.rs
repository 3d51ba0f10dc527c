//! TLS: whom a certificate convinces.

use crate::dns::tests::authority::Authority;

use super::receiver::Step::{self, Hear, Say, SayForever, Tls, WaitForEnd};
use super::receiver::{Receiver, root};
use super::{
    BRIEFLY, Client, HttpTimeouts, RequestError, SOA, UrlPolicy, client, client_of, policy, post, session_at, timings,
};
use crate::http_client::{RequestPhase, TlsFailure};

const OK: Step = Say("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");

/// The policy of a public server, but for the address that the receivers are at.
fn strict() -> UrlPolicy {
    UrlPolicy { plain_http: false, ..policy(&["127.0.0.1"]) }
}

fn trusting() -> UrlPolicy {
    UrlPolicy { extra_roots: vec![root()], ..strict() }
}

async fn refused(client: &Client, host: &str) -> RequestError {
    let receiver = Receiver::new([&[Tls, WaitForEnd]]);
    let mut session = session_at(client, &format!("https://{host}:{}/hook", receiver.port()));
    let failure = post(&mut session).await.unwrap_err();
    assert!(!session.is_open());
    assert!(receiver.heard().is_empty());
    failure
}

#[tokio::test]
async fn a_certificate_convinces_when_its_root_is_given_and_its_name_fits() {
    let authority = Authority::serving(&format!("{SOA}hook IN A 127.0.0.1\nother IN A 127.0.0.1\n")).await;
    let trusting = client_of(&authority, trusting(), timings());
    let strict = client_of(&authority, strict(), timings());

    let receiver = Receiver::new([&[Tls, Hear, OK, Hear, OK, WaitForEnd]]);
    let mut session = session_at(&trusting, &format!("https://hook.example:{}/hook", receiver.port()));
    for _ in 0..2 {
        assert_eq!(post(&mut session).await.unwrap().body, "ok");
        assert!(session.is_open());
    }
    drop(session);
    assert_eq!(receiver.heard().iter().map(|heard| heard.connection).collect::<Vec<_>>(), [0, 0]);

    assert_eq!(refused(&strict, "hook.example").await, RequestError::Tls(TlsFailure::UnknownIssuer));
    assert_eq!(refused(&trusting, "other.example").await, RequestError::Tls(TlsFailure::WrongHost));
}

#[tokio::test]
async fn an_address_in_a_url_is_looked_for_in_the_certificate() {
    let client = client(trusting(), timings());
    let receiver = Receiver::new([&[Tls, Hear, OK]]);

    let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));

    assert_eq!(post(&mut session).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_port_without_tls_is_no_secure_connection() {
    let client = client(strict(), timings());
    for steps in [&[Say("HTTP/1.1 400 Bad Request\r\n\r\n"), WaitForEnd] as &[Step], &[Step::Await]] {
        let receiver = Receiver::new([steps]);
        let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));
        assert_eq!(post(&mut session).await, Err(RequestError::Tls(TlsFailure::Handshake)));
    }
}

#[tokio::test]
async fn a_handshake_that_hangs_is_given_up() {
    let client = client(strict(), HttpTimeouts { tls: BRIEFLY, ..timings() });
    let receiver = Receiver::new([&[WaitForEnd]]);

    let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));

    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Tls)));
}

#[tokio::test]
async fn limits_hold_inside_tls_too() {
    let client = client(trusting(), timings());
    let receiver =
        Receiver::new([&[Tls, Hear, SayForever("HTTP/1.1 103 Early Hints\r\n\r\n")] as &[Step], &[Tls, Hear]]);
    let url = format!("https://127.0.0.1:{}/hook", receiver.port());

    assert_eq!(post(&mut session_at(&client, &url)).await, Err(RequestError::HeadersTooLarge));
    assert_eq!(post(&mut session_at(&client, &url)).await, Err(RequestError::Reset));
}

#[test]
fn a_root_that_is_no_certificate_is_refused() {
    let resolver = crate::dns::Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
    let broken = UrlPolicy { extra_roots: vec![vec![0x30, 0x00].into()], ..UrlPolicy::default() };

    assert!(Client::new(resolver, broken, timings()).is_err());
}

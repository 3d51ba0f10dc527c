//! Verification of certificates, and failures inside TLS.

use crate::dns::tests::authority::Authority;

use super::receiver::Step::{self, ReadRequest, ReadToEnd, Tls, Write, WriteForever};
use super::receiver::{Receiver, root};
use super::{
    HttpClient, HttpTimeouts, RequestError, SHORT_TIMEOUT, SOA, UrlPolicy, client, client_of, policy, post, session_at,
    timeouts,
};
use crate::http_client::{RequestPhase, TlsFailure};

const OK: Step = Write("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok");

/// Returns the policy of a public server, except that it permits the address of the receivers.
fn strict() -> UrlPolicy {
    UrlPolicy { plain_http: false, local_names: false, ..policy(&["127.0.0.1"]) }
}

fn trusting() -> UrlPolicy {
    UrlPolicy { extra_roots: vec![root()], ..strict() }
}

async fn rejection(client: &HttpClient, host: &str) -> RequestError {
    let receiver = Receiver::new([&[Tls, ReadToEnd]]);
    let mut session = session_at(client, &format!("https://{host}:{}/hook", receiver.port()));
    let error = post(&mut session).await.unwrap_err();
    assert!(!session.is_open());
    assert!(receiver.requests().is_empty());
    error
}

#[tokio::test]
async fn a_certificate_is_accepted_if_its_root_is_trusted_and_its_name_matches() {
    let authority = Authority::serving(&format!("{SOA}hook IN A 127.0.0.1\nother IN A 127.0.0.1\n")).await;
    let trusting = client_of(&authority, trusting(), timeouts());
    let strict = client_of(&authority, strict(), timeouts());

    let receiver = Receiver::new([&[Tls, ReadRequest, OK, ReadRequest, OK, ReadToEnd]]);
    let mut session = session_at(&trusting, &format!("https://hook.example:{}/hook", receiver.port()));
    for _ in 0..2 {
        assert_eq!(post(&mut session).await.unwrap().body, "ok");
        assert!(session.is_open());
    }
    drop(session);
    assert_eq!(receiver.requests().iter().map(|request| request.connection).collect::<Vec<_>>(), [0, 0]);

    assert_eq!(rejection(&strict, "hook.example").await, RequestError::Tls(TlsFailure::UnknownIssuer));
    assert_eq!(rejection(&trusting, "other.example").await, RequestError::Tls(TlsFailure::WrongHost));
}

#[tokio::test]
async fn the_address_of_a_url_must_be_in_the_certificate() {
    let client = client(trusting(), timeouts());
    let receiver = Receiver::new([&[Tls, ReadRequest, OK]]);

    let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));

    assert_eq!(post(&mut session).await.unwrap().status, 200);
}

#[tokio::test]
async fn a_port_without_tls_is_a_handshake_error() {
    let client = client(strict(), timeouts());
    for steps in [&[Write("HTTP/1.1 400 Bad Request\r\n\r\n"), ReadToEnd] as &[Step], &[Step::AwaitRequest]] {
        let receiver = Receiver::new([steps]);
        let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));
        assert_eq!(post(&mut session).await, Err(RequestError::Tls(TlsFailure::Handshake)));
    }
}

#[tokio::test]
async fn a_handshake_without_a_response_times_out() {
    let client = client(strict(), HttpTimeouts { tls: SHORT_TIMEOUT, ..timeouts() });
    let receiver = Receiver::new([&[ReadToEnd]]);

    let mut session = session_at(&client, &format!("https://127.0.0.1:{}/hook", receiver.port()));

    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Tls)));
}

#[tokio::test]
async fn limits_also_apply_inside_tls() {
    let client = client(trusting(), timeouts());
    let receiver = Receiver::new([
        &[Tls, ReadRequest, WriteForever("HTTP/1.1 103 Early Hints\r\n\r\n")] as &[Step],
        &[Tls, ReadRequest],
    ]);
    let url = format!("https://127.0.0.1:{}/hook", receiver.port());

    assert_eq!(post(&mut session_at(&client, &url)).await, Err(RequestError::HeadersTooLarge));
    assert_eq!(post(&mut session_at(&client, &url)).await, Err(RequestError::Reset));
}

#[test]
fn a_root_that_is_not_a_certificate_is_an_error() {
    let resolver = crate::dns::Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
    let broken = UrlPolicy { extra_roots: vec![vec![0x30, 0x00].into()], ..UrlPolicy::default() };

    assert!(HttpClient::new(resolver, broken, timeouts()).is_err());
}

//! Names whose addresses change between two lookups, and names without an address.

use std::time::Duration;

use hickory_resolver::proto::rr::RecordType;

use crate::dns::tests::authority::Authority;
use crate::dns::{BlockedAddress, LookupError};

use super::receiver::{Receiver, Step};
use super::{HttpTimeouts, RequestError, SHORT_TIMEOUT, SOA, Trap, client_of, policy, post, session_at, timeouts};
use crate::http_client::RequestPhase;

/// The attack: the name server returns a permitted address first and the loopback at the next lookup. 127.0.0.2 is the
/// permitted address. A trap at the same port of 127.0.0.1 is the target of the attack.
#[tokio::test]
async fn a_name_that_changes_to_loopback_is_blocked_at_the_next_connection() {
    let receiver = Receiver::at(
        "127.0.0.2",
        [&[
            Step::ReadRequest,
            Step::Write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
            Step::ReadRequest,
            Step::Write("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
        ]],
    );
    let trap = Trap::at("127.0.0.1", receiver.port()).unwrap();
    let authority = Authority::serving(&format!("{SOA}hook 0 IN A 127.0.0.2\n")).await;
    let client = client_of(&authority, policy(&["127.0.0.2"]), timeouts());
    let mut session = session_at(&client, &format!("http://hook.example:{}/", receiver.port()));

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    authority.change(&format!("{SOA}hook 0 IN A 127.0.0.1\n"));
    assert_eq!(post(&mut session).await.unwrap().status, 200, "over the open connection");
    assert_eq!(post(&mut session).await, Err(RequestError::Blocked(BlockedAddress::Loopback)), "over a new connection");

    trap.assert_no_connection();
    assert_eq!(receiver.requests().len(), 2);
    assert_eq!(authority.query_count("hook.example", RecordType::A), 2, "once for each connection");
}

/// The same attack on a client that looks a name up for the guard and again for the connection. This client sends one
/// query for each record type, so there is no second result.
#[tokio::test]
async fn a_connection_looks_a_name_up_once() {
    let receiver = Receiver::at("127.0.0.2", [&[Step::ReadRequest, Step::Write("HTTP/1.1 204 No Content\r\n\r\n")]]);
    let authority = Authority::serving(&format!("{SOA}hook 0 IN A 127.0.0.2\n")).await;
    let client = client_of(&authority, policy(&["127.0.0.2"]), timeouts());

    let mut session = session_at(&client, &format!("http://hook.example:{}/", receiver.port()));
    post(&mut session).await.unwrap();

    assert_eq!(authority.query_count("hook.example", RecordType::A), 1);
    assert_eq!(authority.query_count("hook.example", RecordType::AAAA), 1);
}

#[tokio::test]
async fn a_name_without_an_address_is_a_lookup_error() {
    let authority = Authority::serving(&format!("{SOA}empty IN TXT \"no address\"\n")).await;
    let client = client_of(&authority, policy(&[]), timeouts());
    let post = async |name: &str| post(&mut session_at(&client, &format!("https://{name}.example/"))).await;

    assert_eq!(post("absent").await, Err(RequestError::Dns(LookupError::NoSuchName)));
    assert_eq!(post("empty").await, Err(RequestError::Dns(LookupError::NoRecords)));
    let error = post("servfail").await.unwrap_err();
    assert!(matches!(&error, RequestError::Dns(LookupError::Temporary(_))), "{error:?}");
    assert!(error.to_string().starts_with("the host's address could not be looked up: "), "{error}");
}

#[tokio::test]
async fn a_lookup_without_a_response_fails_at_the_overall_limit() {
    let authority = Authority::serving(SOA).await;
    let short = HttpTimeouts { overall: SHORT_TIMEOUT, connect: Duration::from_secs(60), ..timeouts() };
    let client = client_of(&authority, policy(&[]), short);

    let mut session = session_at(&client, "https://silent.example/");

    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Dns)));
}

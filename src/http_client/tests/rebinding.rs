//! Names that change their mind between two lookups, and names that lead nowhere.

use std::time::Duration;

use hickory_resolver::proto::rr::RecordType;

use crate::dns::tests::authority::Authority;
use crate::dns::{BlockedAddress, LookupError};

use super::receiver::{Receiver, Step};
use super::{BRIEFLY, HttpTimeouts, RequestError, SOA, Trap, client_of, policy, post, session_at, timings};
use crate::http_client::RequestPhase;

/// The attack: a host answers with an address that is fine, and with loopback when it is asked again. 127.0.0.2 stands
/// for the address that is fine; a trap at the same port of 127.0.0.1 for what the attacker is after.
#[tokio::test]
async fn a_name_that_turns_to_loopback_is_refused_at_the_next_connection() {
    let receiver = Receiver::at(
        "127.0.0.2",
        [&[
            Step::Hear,
            Step::Say("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"),
            Step::Hear,
            Step::Say("HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"),
        ]],
    );
    let trap = Trap::at("127.0.0.1", receiver.port()).unwrap();
    let authority = Authority::serving(&format!("{SOA}hook 0 IN A 127.0.0.2\n")).await;
    let client = client_of(&authority, policy(&["127.0.0.2"]), timings());
    let mut session = session_at(&client, &format!("http://hook.example:{}/", receiver.port()));

    assert_eq!(post(&mut session).await.unwrap().status, 200);
    authority.change(&format!("{SOA}hook 0 IN A 127.0.0.1\n"));
    assert_eq!(post(&mut session).await.unwrap().status, 200, "over the connection that was checked");
    assert_eq!(post(&mut session).await, Err(RequestError::Refused(BlockedAddress::Loopback)), "over another one");

    trap.saw_nobody();
    assert_eq!(receiver.heard().len(), 2);
    assert_eq!(authority.query_count("hook.example", RecordType::A), 2, "once for each connection");
}

/// The same attack on a client that resolves once to check and once more to dial: the second answer must find nobody
/// who asks.
#[tokio::test]
async fn a_connection_asks_for_a_name_once() {
    let receiver = Receiver::at("127.0.0.2", [&[Step::Hear, Step::Say("HTTP/1.1 204 No Content\r\n\r\n")]]);
    let authority = Authority::serving(&format!("{SOA}hook 0 IN A 127.0.0.2\n")).await;
    let client = client_of(&authority, policy(&["127.0.0.2"]), timings());

    let mut session = session_at(&client, &format!("http://hook.example:{}/", receiver.port()));
    post(&mut session).await.unwrap();

    assert_eq!(authority.query_count("hook.example", RecordType::A), 1);
    assert_eq!(authority.query_count("hook.example", RecordType::AAAA), 1);
}

#[tokio::test]
async fn a_name_that_leads_nowhere_says_so() {
    let authority = Authority::serving(&format!("{SOA}empty IN TXT \"no address\"\n")).await;
    let client = client_of(&authority, policy(&[]), timings());
    let post = async |name: &str| post(&mut session_at(&client, &format!("https://{name}.example/"))).await;

    assert_eq!(post("absent").await, Err(RequestError::Dns(LookupError::NoSuchName)));
    assert_eq!(post("empty").await, Err(RequestError::Dns(LookupError::NoRecords)));
    let failure = post("servfail").await.unwrap_err();
    assert!(matches!(&failure, RequestError::Dns(LookupError::Temporary(_))), "{failure:?}");
    assert!(failure.to_string().starts_with("the host's address could not be looked up: "), "{failure}");
}

#[tokio::test]
async fn a_silent_name_server_ends_with_the_overall_limit() {
    let authority = Authority::serving(SOA).await;
    let brief = HttpTimeouts { overall: BRIEFLY, connect: Duration::from_secs(60), ..timings() };
    let client = client_of(&authority, policy(&[]), brief);

    let mut session = session_at(&client, "https://silent.example/");

    assert_eq!(post(&mut session).await, Err(RequestError::Timeout(RequestPhase::Dns)));
}

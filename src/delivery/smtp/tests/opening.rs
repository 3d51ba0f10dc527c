//! Greeting, EHLO, STARTTLS and AUTH.

use std::future::ready;

use tokio_rustls::rustls::pki_types::CertificateDer;

use super::peer::{PIPELINING, Peer, STARTTLS, Step, greeting};
use super::{HOST, endpoint, identity, open, short_timeouts};
use crate::delivery::smtp::{
    Credentials, FailedSession, Hello, Identity, SessionError, SmtpPhase, SmtpSession, Timeouts, TlsConfigs, TlsPolicy,
    Verification,
};

use Step::{Close, Discard, Expect, Reply, Tls, WaitForEnd};

fn trust_test_root() -> TlsConfigs {
    let root = CertificateDer::from_slice(include_bytes!("fixtures/root.der"));
    TlsConfigs::with_extra_roots([root]).unwrap()
}

async fn open_with(peer: &Peer, tls: TlsPolicy, configs: &TlsConfigs) -> Result<SmtpSession, FailedSession> {
    let endpoint = endpoint(peer.address, tls);
    SmtpSession::open(&endpoint, &identity(), &Timeouts::default(), configs).await
}

async fn open_as(peer: &Peer, credentials: Credentials, tls: TlsPolicy) -> Result<SmtpSession, FailedSession> {
    let identity = Identity { credentials: Some(credentials), ..identity() };
    let endpoint = endpoint(peer.address, tls);
    SmtpSession::open(&endpoint, &identity, &Timeouts::default(), &trust_test_root()).await
}

fn password() -> Credentials {
    Credentials::Password { username: "user".to_string(), password: "secret".to_string() }
}

fn starttls(after: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("220 go ahead\r\n"), Tls, Expect("EHLO")]);
    script.extend(after);
    script
}

const REQUIRED: TlsPolicy = TlsPolicy::Required { verify: Verification::WebPki };

#[tokio::test]
async fn a_session_opens_in_clear_text_and_ends_with_quit() {
    let mut script = greeting(PIPELINING);
    script.extend([Expect("QUIT"), Reply("221 bye\r\n"), WaitForEnd]);
    let peer = Peer::new(script);

    let session = open(peer.address).await.unwrap();

    assert!(session.is_reusable());
    assert_eq!(session.facts().host, HOST);
    assert_eq!(session.facts().hello, Hello::Ehlo);
    assert_eq!(session.facts().tls, None);
    assert!(session.facts().capabilities.pipelining());
    session.quit().await;
    assert_eq!(peer.received(), ["EHLO client.example.test", "QUIT"]);
}

#[tokio::test]
async fn a_server_that_refuses_ehlo_gets_helo_on_a_second_connection() {
    let peer = Peer::new([
        Reply("220 old\r\n"),
        Expect("EHLO"),
        Reply("502 unimplemented\r\n"),
        Close,
        Reply("220 old\r\n"),
        Expect("HELO"),
        Reply("250 old\r\n"),
    ]);

    let session = open(peer.address).await.unwrap();

    assert_eq!(session.facts().hello, Hello::Helo);
    assert!(!session.facts().capabilities.pipelining());
}

#[tokio::test]
async fn a_refused_greeting_is_reported_with_its_reply() {
    let peer = Peer::new([Reply("554-5.7.1 you are\r\n554 5.7.1 on a blocklist\r\n"), WaitForEnd]);

    let failed = open(peer.address).await.unwrap_err();

    let SessionError::Refused { phase, reply } = failed.error else {
        panic!("{:?}", failed.error);
    };
    assert_eq!((phase, reply.code), (SmtpPhase::Greeting, 554));
    assert!(failed.transcript.contains("S: 554-5.7.1 you are\n"), "{}", failed.transcript);
}

#[tokio::test]
async fn an_invalid_or_interrupted_opening_has_a_specific_error() {
    let cases = [
        (vec![Reply("HTTP/1.1 400 Bad Request\r\n")], "invalid reply at greeting"),
        (vec![Reply("220 hi\r\n"), Expect("EHLO"), Close], "connection lost at EHLO"),
        (vec![Reply("220 hi\r\n"), Expect("EHLO"), Reply("421 4.3.2 later\r\n")], "refused at EHLO: 421 4.3.2"),
        (vec![Reply("421 busy\r\n")], "refused at greeting: 421 busy"),
        (vec![Close], "connection lost at greeting"),
        (vec![Reply("250-"), WaitForEnd], "timed out at greeting"),
    ];
    for (script, expected) in cases {
        let peer = Peer::new(script);
        let endpoint = endpoint(peer.address, TlsPolicy::Opportunistic);
        let failed = SmtpSession::open(&endpoint, &identity(), &short_timeouts(), &TlsConfigs::new()).await;
        let error = failed.unwrap_err().error.to_string();

        assert!(error.starts_with(expected), "{error}");
    }
}

#[tokio::test]
async fn a_port_without_a_server_is_unreachable() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);

    let failed = open(address).await.unwrap_err();

    assert!(matches!(failed.error, SessionError::Unreachable { .. }));
}

#[tokio::test]
async fn the_source_address_is_used() {
    let peer = Peer::new(greeting(PIPELINING));
    let identity = Identity { source: Some("192.0.2.1".parse().unwrap()), ..identity() };
    let endpoint = endpoint(peer.address, TlsPolicy::Never);

    let failed = SmtpSession::open(&endpoint, &identity, &Timeouts::default(), &TlsConfigs::new()).await;

    // 192.0.2.1 is reserved for documentation, so binding to it fails.
    assert!(matches!(failed.unwrap_err().error, SessionError::Unreachable { .. }));
    let _ = std::net::TcpStream::connect(peer.address);
}

#[tokio::test]
async fn opportunistic_tls_starts_if_offered_and_ehlo_is_repeated() {
    let peer = Peer::new(starttls([Reply("250-mx\r\n250 SIZE 5\r\n")]));

    let session = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap();

    let facts = session.facts();
    let tls = facts.tls.as_ref().unwrap();
    assert_eq!((tls.version, tls.verified), ("TLSv1.3", false));
    assert!(tls.cipher.starts_with("TLS13_"), "{}", tls.cipher);
    assert!(!facts.capabilities.pipelining() && !facts.capabilities.starttls());
    assert_eq!(facts.capabilities.size_max, Some(5));
}

#[tokio::test]
async fn a_certificate_is_verified_if_the_policy_requires_it() {
    let peer = Peer::new(starttls([Reply("250 mx\r\n")]));
    let session = open_with(&peer, REQUIRED, &trust_test_root()).await.unwrap();
    assert!(session.facts().tls.as_ref().unwrap().verified);

    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("220 go ahead\r\n"), Tls, WaitForEnd]);
    let peer = Peer::new(script);
    let failed = open_with(&peer, REQUIRED, &TlsConfigs::new()).await.unwrap_err();
    assert!(matches!(failed.error, SessionError::TlsFailed { .. }), "{:?}", failed.error);
}

#[tokio::test]
async fn a_certificate_for_another_name_is_rejected() {
    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("220 go ahead\r\n"), Tls, WaitForEnd]);
    let peer = Peer::new(script);
    let mut endpoint = endpoint(peer.address, REQUIRED);
    endpoint.host = "other.example.test".to_string();

    let failed = SmtpSession::open(&endpoint, &identity(), &Timeouts::default(), &trust_test_root()).await;

    assert!(matches!(failed.unwrap_err().error, SessionError::TlsFailed { .. }));
}

#[tokio::test]
async fn implicit_tls_precedes_the_greeting() {
    let mut script = vec![Tls];
    script.extend(greeting("250 mx\r\n"));
    let peer = Peer::new(script);
    let verify = Verification::WebPki;

    let session = open_with(&peer, TlsPolicy::Implicit { verify }, &trust_test_root()).await.unwrap();

    assert!(session.facts().tls.as_ref().unwrap().verified);
}

#[tokio::test]
async fn required_tls_that_is_not_offered_is_an_error() {
    let peer = Peer::new(greeting(PIPELINING));

    let failed = open_with(&peer, REQUIRED, &TlsConfigs::new()).await.unwrap_err();

    assert_eq!(failed.error, SessionError::TlsNotOffered);
}

#[tokio::test]
async fn a_failed_starttls_or_handshake_is_a_tls_failure() {
    let cases = [
        vec![Reply("454 4.7.0 TLS not available\r\n")],
        vec![Reply("501 syntax\r\n")],
        vec![Reply("220 go\r\n"), Discard(1), Reply("this is no TLS\r\n"), WaitForEnd],
        vec![Reply("220 go\r\n"), Close],
    ];
    for after in cases {
        let mut script = greeting(STARTTLS);
        script.push(Expect("STARTTLS"));
        script.extend(after);
        let peer = Peer::new(script);

        let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await;
        let error = failed.unwrap_err().error;

        let is_refused = matches!(error, SessionError::StartTlsRefused { .. });
        assert!(is_refused || matches!(error, SessionError::TlsFailed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_421_at_starttls_is_a_refusal_and_no_tls_failure() {
    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("421 4.3.2 shutting down\r\n")]);
    let peer = Peer::new(script);

    let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap_err();

    assert!(matches!(failed.error, SessionError::Refused { phase: SmtpPhase::StartTls, .. }));
}

#[tokio::test]
async fn clear_text_after_the_reply_to_starttls_is_an_injection() {
    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("220 go ahead\r\n250-mx\r\n250 AUTH PLAIN\r\n"), WaitForEnd]);
    let peer = Peer::new(script);

    let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap_err();

    assert_eq!(failed.error, SessionError::Injected);
}

#[tokio::test]
async fn a_handshake_has_a_time_limit() {
    let mut script = greeting(STARTTLS);
    script.extend([Expect("STARTTLS"), Reply("220 go ahead\r\n"), WaitForEnd]);
    let peer = Peer::new(script);
    let endpoint = endpoint(peer.address, TlsPolicy::Opportunistic);

    let failed = SmtpSession::open(&endpoint, &identity(), &short_timeouts(), &TlsConfigs::new()).await;

    assert!(matches!(failed.unwrap_err().error, SessionError::TlsFailed { .. }));
}

#[tokio::test]
async fn a_smarthost_gets_plain_credentials_over_tls() {
    let peer = Peer::new(starttls([
        Reply("250-mx\r\n250 AUTH LOGIN PLAIN CRAM-MD5\r\n"),
        Expect("AUTH PLAIN "),
        Reply("235 2.7.0 ok\r\n"),
        Expect("MAIL"),
        Reply("550 no\r\n"),
    ]));

    let mut session = open_as(&peer, password(), REQUIRED).await.unwrap();
    let transaction = session.deliver(&super::to(&["a@x.test"]), &[], ready(true)).await;

    assert!(!transaction.transcript.contains("AHVzZXI"), "{}", transaction.transcript);
    assert!(transaction.transcript.contains("credentials"), "{}", transaction.transcript);
    assert!(peer.received().contains(&"AUTH PLAIN AHVzZXIAc2VjcmV0".to_string()));
}

#[tokio::test]
async fn login_is_used_if_plain_is_not_offered() {
    let peer = Peer::new(starttls([
        Reply("250-mx\r\n250 AUTH LOGIN\r\n"),
        Expect("AUTH LOGIN"),
        Reply("334 VXNlcm5hbWU6\r\n"),
        Expect("dXNlcg=="),
        Reply("334 UGFzc3dvcmQ6\r\n"),
        Expect("c2VjcmV0"),
        Reply("235 ok\r\n"),
    ]));

    assert!(open_as(&peer, password(), REQUIRED).await.is_ok());
}

#[tokio::test]
async fn a_token_is_sent_with_xoauth2() {
    let credentials = Credentials::Bearer { username: "user".to_string(), token: "t0ken".to_string() };
    let peer = Peer::new(starttls([
        Reply("250-mx\r\n250 AUTH PLAIN XOAUTH2\r\n"),
        Expect("AUTH XOAUTH2 "),
        Reply("235 ok\r\n"),
    ]));

    assert!(open_as(&peer, credentials, REQUIRED).await.is_ok());
}

#[tokio::test]
async fn refused_credentials_are_reported_with_the_whole_reply() {
    let peer = Peer::new(starttls([
        Reply("250-mx\r\n250 AUTH PLAIN LOGIN\r\n"),
        Expect("AUTH PLAIN "),
        Reply("535-5.7.139 Authentication unsuccessful,\r\n535 5.7.139 basic authentication is disabled.\r\n"),
    ]));

    let failed = open_as(&peer, password(), REQUIRED).await.unwrap_err();

    let SessionError::Refused { phase, reply } = failed.error else {
        panic!("{:?}", failed.error);
    };
    assert_eq!((phase, reply.code, reply.enhanced), (SmtpPhase::Auth, 535, Some((5, 7, 139))));
    assert!(reply.text.ends_with("basic authentication is disabled."));
    assert!(!failed.transcript.contains("AHVzZXI"));
}

#[tokio::test]
async fn credentials_are_not_sent_without_tls_or_a_mechanism() {
    let peer = Peer::new(greeting("250-mx\r\n250 AUTH PLAIN\r\n"));
    let failed = open_as(&peer, password(), TlsPolicy::Opportunistic).await.unwrap_err();
    assert_eq!(failed.error, SessionError::AuthInClear);

    let peer = Peer::new(starttls([Reply("250 mx\r\n")]));
    let failed = open_as(&peer, password(), REQUIRED).await.unwrap_err();
    assert_eq!(failed.error, SessionError::AuthNotOffered);
}

#[test]
fn the_debug_output_hides_credentials() {
    assert!(!format!("{:?}", password()).contains("secret\""));
    assert!(!format!("{:?}", password()).contains("user"));
}

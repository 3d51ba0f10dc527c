//! Greeting, EHLO, STARTTLS and AUTH.

use tokio_rustls::rustls::pki_types::CertificateDer;

use super::peer::{PIPELINING, Peer, STARTTLS, Step, greeting};
use super::{HOST, endpoint, identity, open, short_timeouts};
use crate::delivery::smtp::{
    Credentials, FailedSession, Hello, Identity, SessionError, SmtpPhase, SmtpSession, Timeouts, TlsConfigs, TlsPolicy,
    Verification,
};

use Step::{Close, Hear, Say, Swallow, Tls, WaitForEnd};

fn trusting() -> TlsConfigs {
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
    SmtpSession::open(&endpoint, &identity, &Timeouts::default(), &trusting()).await
}

fn password() -> Credentials {
    Credentials::Password { username: "user".to_string(), password: "secret".to_string() }
}

fn starttls(after: impl IntoIterator<Item = Step>) -> Vec<Step> {
    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("220 go ahead\r\n"), Tls, Hear("EHLO")]);
    script.extend(after);
    script
}

const REQUIRED: TlsPolicy = TlsPolicy::Required { verify: Verification::WebPki };

#[tokio::test]
async fn a_session_opens_in_clear_text_and_ends_with_quit() {
    let mut script = greeting(PIPELINING);
    script.extend([Hear("QUIT"), Say("221 bye\r\n"), WaitForEnd]);
    let peer = Peer::new(script);

    let session = open(peer.address).await.unwrap();

    assert!(session.is_reusable());
    assert_eq!(session.facts().host, HOST);
    assert_eq!(session.facts().hello, Hello::Ehlo);
    assert_eq!(session.facts().tls, None);
    assert!(session.facts().capabilities.pipelining());
    session.quit().await;
    assert_eq!(peer.heard(), ["EHLO client.example.test", "QUIT"]);
}

#[tokio::test]
async fn a_server_that_refuses_ehlo_is_called_again_with_helo() {
    let peer = Peer::new([
        Say("220 old\r\n"),
        Hear("EHLO"),
        Say("502 unimplemented\r\n"),
        Close,
        Say("220 old\r\n"),
        Hear("HELO"),
        Say("250 old\r\n"),
    ]);

    let session = open(peer.address).await.unwrap();

    assert_eq!(session.facts().hello, Hello::Helo);
    assert!(!session.facts().capabilities.pipelining());
}

#[tokio::test]
async fn a_refused_greeting_is_reported_with_its_reply() {
    let peer = Peer::new([Say("554-5.7.1 you are\r\n554 5.7.1 on a blocklist\r\n"), WaitForEnd]);

    let failed = open(peer.address).await.unwrap_err();

    let SessionError::Refused { phase, reply } = failed.error else {
        panic!("{:?}", failed.error);
    };
    assert_eq!((phase, reply.code), (SmtpPhase::Greeting, 554));
    assert!(failed.transcript.contains("S: 554-5.7.1 you are\n"), "{}", failed.transcript);
}

#[tokio::test]
async fn what_opens_a_connection_and_is_not_smtp_is_named() {
    let cases = [
        (vec![Say("HTTP/1.1 400 Bad Request\r\n")], "no SMTP at greeting"),
        (vec![Say("220 hi\r\n"), Hear("EHLO"), Close], "connection lost at EHLO"),
        (vec![Say("220 hi\r\n"), Hear("EHLO"), Say("421 4.3.2 later\r\n")], "refused at EHLO: 421 4.3.2"),
        (vec![Say("421 busy\r\n")], "refused at greeting: 421 busy"),
        (vec![Close], "connection lost at greeting"),
        (vec![Say("250-"), WaitForEnd], "timed out at greeting"),
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

    // No machine of ours has this address, so that only binding to it can fail.
    assert!(matches!(failed.unwrap_err().error, SessionError::Unreachable { .. }));
    let _ = std::net::TcpStream::connect(peer.address);
}

#[tokio::test]
async fn tls_starts_when_it_is_offered_and_capabilities_are_asked_again() {
    let peer = Peer::new(starttls([Say("250-mx\r\n250 SIZE 5\r\n")]));

    let session = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap();

    let facts = session.facts();
    let tls = facts.tls.as_ref().unwrap();
    assert_eq!((tls.version, tls.verified), ("TLSv1.3", false));
    assert!(tls.cipher.starts_with("TLS13_"), "{}", tls.cipher);
    assert!(!facts.capabilities.pipelining() && !facts.capabilities.starttls());
    assert_eq!(facts.capabilities.size_max, Some(5));
}

#[tokio::test]
async fn a_certificate_is_verified_where_the_policy_says_so() {
    let peer = Peer::new(starttls([Say("250 mx\r\n")]));
    let session = open_with(&peer, REQUIRED, &trusting()).await.unwrap();
    assert!(session.facts().tls.as_ref().unwrap().verified);

    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("220 go ahead\r\n"), Tls, WaitForEnd]);
    let peer = Peer::new(script);
    let failed = open_with(&peer, REQUIRED, &TlsConfigs::new()).await.unwrap_err();
    assert!(matches!(failed.error, SessionError::TlsFailed { .. }), "{:?}", failed.error);
}

#[tokio::test]
async fn a_certificate_for_another_name_does_not_verify() {
    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("220 go ahead\r\n"), Tls, WaitForEnd]);
    let peer = Peer::new(script);
    let mut endpoint = endpoint(peer.address, REQUIRED);
    endpoint.host = "other.example.test".to_string();

    let failed = SmtpSession::open(&endpoint, &identity(), &Timeouts::default(), &trusting()).await;

    assert!(matches!(failed.unwrap_err().error, SessionError::TlsFailed { .. }));
}

#[tokio::test]
async fn implicit_tls_comes_before_the_greeting() {
    let mut script = vec![Tls];
    script.extend(greeting("250 mx\r\n"));
    let peer = Peer::new(script);
    let verify = Verification::WebPki;

    let session = open_with(&peer, TlsPolicy::Implicit { verify }, &trusting()).await.unwrap();

    assert!(session.facts().tls.as_ref().unwrap().verified);
}

#[tokio::test]
async fn required_tls_that_is_not_offered_is_no_session() {
    let peer = Peer::new(greeting(PIPELINING));

    let failed = open_with(&peer, REQUIRED, &TlsConfigs::new()).await.unwrap_err();

    assert_eq!(failed.error, SessionError::TlsNotOffered);
}

#[tokio::test]
async fn tls_that_does_not_come_about_is_told_from_other_failures() {
    let cases = [
        vec![Say("454 4.7.0 TLS not available\r\n")],
        vec![Say("501 syntax\r\n")],
        vec![Say("220 go\r\n"), Swallow(1), Say("this is no TLS\r\n"), WaitForEnd],
        vec![Say("220 go\r\n"), Close],
    ];
    for after in cases {
        let mut script = greeting(STARTTLS);
        script.push(Hear("STARTTLS"));
        script.extend(after);
        let peer = Peer::new(script);

        let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await;
        let error = failed.unwrap_err().error;

        assert!(matches!(error, SessionError::TlsFailed { .. }), "{error:?}");
    }
}

#[tokio::test]
async fn a_server_that_closes_at_starttls_has_not_failed_at_tls() {
    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("421 4.3.2 shutting down\r\n")]);
    let peer = Peer::new(script);

    let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap_err();

    assert!(matches!(failed.error, SessionError::Refused { phase: SmtpPhase::StartTls, .. }));
}

#[tokio::test]
async fn clear_text_behind_the_reply_to_starttls_ends_the_session() {
    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("220 go ahead\r\n250-mx\r\n250 AUTH PLAIN\r\n"), WaitForEnd]);
    let peer = Peer::new(script);

    let failed = open_with(&peer, TlsPolicy::Opportunistic, &TlsConfigs::new()).await.unwrap_err();

    assert_eq!(failed.error, SessionError::Injected);
}

#[tokio::test]
async fn a_handshake_that_never_ends_is_given_up() {
    let mut script = greeting(STARTTLS);
    script.extend([Hear("STARTTLS"), Say("220 go ahead\r\n"), WaitForEnd]);
    let peer = Peer::new(script);
    let endpoint = endpoint(peer.address, TlsPolicy::Opportunistic);

    let failed = SmtpSession::open(&endpoint, &identity(), &short_timeouts(), &TlsConfigs::new()).await;

    assert!(matches!(failed.unwrap_err().error, SessionError::TlsFailed { .. }));
}

#[tokio::test]
async fn a_smarthost_gets_plain_credentials_inside_tls() {
    let peer = Peer::new(starttls([
        Say("250-mx\r\n250 AUTH LOGIN PLAIN CRAM-MD5\r\n"),
        Hear("AUTH PLAIN "),
        Say("235 2.7.0 ok\r\n"),
        Hear("MAIL"),
        Say("550 no\r\n"),
    ]));

    let mut session = open_as(&peer, password(), REQUIRED).await.unwrap();
    let transaction = session.deliver(&super::to(&["a@x.test"]), &[]).await;

    assert!(!transaction.transcript.contains("AHVzZXI"), "{}", transaction.transcript);
    assert!(transaction.transcript.contains("credentials"), "{}", transaction.transcript);
    assert!(peer.heard().contains(&"AUTH PLAIN AHVzZXIAc2VjcmV0".to_string()));
}

#[tokio::test]
async fn login_is_used_where_plain_is_not_offered() {
    let peer = Peer::new(starttls([
        Say("250-mx\r\n250 AUTH LOGIN\r\n"),
        Hear("AUTH LOGIN"),
        Say("334 VXNlcm5hbWU6\r\n"),
        Hear("dXNlcg=="),
        Say("334 UGFzc3dvcmQ6\r\n"),
        Hear("c2VjcmV0"),
        Say("235 ok\r\n"),
    ]));

    assert!(open_as(&peer, password(), REQUIRED).await.is_ok());
}

#[tokio::test]
async fn a_token_goes_by_xoauth2() {
    let credentials = Credentials::Bearer { username: "user".to_string(), token: "t0ken".to_string() };
    let peer =
        Peer::new(starttls([Say("250-mx\r\n250 AUTH PLAIN XOAUTH2\r\n"), Hear("AUTH XOAUTH2 "), Say("235 ok\r\n")]));

    assert!(open_as(&peer, credentials, REQUIRED).await.is_ok());
}

#[tokio::test]
async fn refused_credentials_come_with_the_whole_reply() {
    let peer = Peer::new(starttls([
        Say("250-mx\r\n250 AUTH PLAIN LOGIN\r\n"),
        Hear("AUTH PLAIN "),
        Say("535-5.7.139 Authentication unsuccessful,\r\n535 5.7.139 basic authentication is disabled.\r\n"),
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
async fn credentials_do_not_travel_in_clear_text_by_accident() {
    let peer = Peer::new(greeting("250-mx\r\n250 AUTH PLAIN\r\n"));
    let failed = open_as(&peer, password(), TlsPolicy::Opportunistic).await.unwrap_err();
    assert_eq!(failed.error, SessionError::AuthInClear);

    let peer = Peer::new(starttls([Say("250 mx\r\n")]));
    let failed = open_as(&peer, password(), REQUIRED).await.unwrap_err();
    assert_eq!(failed.error, SessionError::AuthNotOffered);
}

#[test]
fn credentials_do_not_print() {
    assert!(!format!("{:?}", password()).contains("secret\""));
    assert!(!format!("{:?}", password()).contains("user"));
}

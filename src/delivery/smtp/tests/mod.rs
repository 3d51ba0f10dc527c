//! Tests against scripted servers on loopback, with real sockets and real TLS.

mod delivering;
mod faults;
mod opening;
pub(in crate::delivery) mod peer;
mod verdicts;

use std::net::SocketAddr;
use std::time::Duration;

use super::{
    Endpoint, Envelope, FailedSession, Identity, RecipientResult, SmtpSession, Timeouts, TlsConfigs, TlsPolicy,
};

/// The name in the test certificate.
const HOST: &str = "mx.example.test";
const MESSAGE: &[u8] = b"Subject: hi\r\n\r\n.dot\r\nbye\r\n";
/// Bytes that the client sends after the 354 for `MESSAGE`.
const MESSAGE_ON_THE_WIRE: &str = "Subject: hi\r\n\r\n..dot\r\nbye\r\n.\r\n";

fn endpoint(address: SocketAddr, tls: TlsPolicy) -> Endpoint {
    Endpoint { address, host: HOST.to_string(), tls }
}

fn identity() -> Identity {
    Identity { ehlo_name: "client.example.test".to_string(), source: None, credentials: None }
}

/// Returns limits that are short, but sufficient for a working server on loopback.
fn short_timeouts() -> Timeouts {
    let limit = Duration::from_secs(1);
    Timeouts {
        connect: limit,
        greeting: limit,
        ehlo: limit,
        tls: limit,
        auth: limit,
        mail: limit,
        rcpt: limit,
        data: limit,
        block: limit,
        final_dot: limit,
        rset: limit,
        quit: limit,
        ..Timeouts::default()
    }
}

async fn open(address: SocketAddr) -> Result<SmtpSession, FailedSession> {
    open_with_timeouts(address, &Timeouts::default()).await
}

/// Opens a session with short time limits.
async fn open_with_short_timeouts(address: SocketAddr) -> SmtpSession {
    let opened = open_with_timeouts(address, &short_timeouts()).await;
    opened.expect("the peer completes the opening")
}

async fn open_with_timeouts(address: SocketAddr, timeouts: &Timeouts) -> Result<SmtpSession, FailedSession> {
    let endpoint = endpoint(address, TlsPolicy::Never);
    SmtpSession::open(&endpoint, &identity(), timeouts, &TlsConfigs::new()).await
}

fn to(recipients: &[&str]) -> Envelope {
    Envelope {
        sender: "b+1@bounce.example.test".to_string(),
        recipients: recipients.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the results in a short form: `accepted 250`, `refused RCPT 550`, `untried MAIL Closing 421`,
/// `ambiguous Lost`.
fn outcomes(results: &[RecipientResult]) -> Vec<String> {
    let outcome = |result: &RecipientResult| match result {
        RecipientResult::Accepted { reply } => format!("accepted {}", reply.code),
        RecipientResult::Refused { phase, reply } => format!("refused {phase} {}", reply.code),
        RecipientResult::NotTried { reason, phase, reply } => {
            let code = reply.as_ref().map_or(0, |reply| reply.code);
            format!("untried {phase} {reason:?} {code}")
        }
        RecipientResult::Ambiguous { reason } => format!("ambiguous {reason:?}"),
    };
    results.iter().map(outcome).collect()
}

//! Conversations with scripted servers on loopback: real sockets, real TLS, one fault each.

mod delivering;
mod faults;
mod opening;
mod peer;
mod verdicts;

use std::net::SocketAddr;
use std::time::Duration;

use super::{
    Endpoint, Envelope, FailedSession, Identity, RecipientResult, SmtpSession, Timeouts, TlsConfigs, TlsPolicy,
};

/// The name in the test certificate.
const HOST: &str = "mx.example.test";
const MESSAGE: &[u8] = b"Subject: hi\r\n\r\n.dot\r\nbye\r\n";
/// What follows the 354 when that message is sent.
const MESSAGE_ON_THE_WIRE: &str = "Subject: hi\r\n\r\n..dot\r\nbye\r\n.\r\n";

fn endpoint(address: SocketAddr, tls: TlsPolicy) -> Endpoint {
    Endpoint { address, host: HOST.to_string(), tls }
}

fn identity() -> Identity {
    Identity { ehlo_name: "client.example.test".to_string(), source: None, credentials: None }
}

/// Limits that a broken server reaches soon, and a working one on loopback never.
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
    open_patiently(address, &Timeouts::default()).await
}

/// Opens a session whose waiting ends soon.
async fn open_hasty(address: SocketAddr) -> SmtpSession {
    let opened = open_patiently(address, &short_timeouts()).await;
    opened.expect("the peer opens as it should")
}

async fn open_patiently(address: SocketAddr, timeouts: &Timeouts) -> Result<SmtpSession, FailedSession> {
    let endpoint = endpoint(address, TlsPolicy::Never);
    SmtpSession::open(&endpoint, &identity(), timeouts, &TlsConfigs::new()).await
}

fn to(recipients: &[&str]) -> Envelope {
    Envelope {
        sender: "b+1@bounce.example.test".to_string(),
        recipients: recipients.iter().map(ToString::to_string).collect(),
    }
}

/// Returns the results in short: `accepted 250`, `refused RCPT 550`, `untried MAIL Closing 421`, `ambiguous Lost`.
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

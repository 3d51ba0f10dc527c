//! Outgoing SMTP: connections to mail servers of large providers, and to the smarthosts.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::AsyncReadExt as _;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::report::SetupCheck;
use super::{CheckedDelivery, CheckedDirect, CheckedSmarthost, DoctorSettings, listed, now_ms};
use crate::base::printable::printable;
use crate::dns::{MailRoute, Resolver};

const NAME: &str = "smtp_port";
/// Time for a connection, and for its greeting.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
const GREETING_TIMEOUT: Duration = Duration::from_secs(5);
/// Bytes of a greeting that are read, and characters of it that are shown.
const GREETING_BYTES_MAX: usize = 512;
const SHOWN_CHARS_MAX: usize = 120;

/// A connection to one mail server.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Probe {
    /// Name, address and port.
    server: String,
    result: ProbeResult,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum ProbeResult {
    /// The server sends a greeting with code 220, or needs none.
    Greeted,
    /// The server sends this text instead.
    OtherText(String),
    NoGreeting,
    NoConnection(String),
}

/// Connects to the mail servers of direct delivery, and to each smarthost.
pub(super) async fn check(settings: &DoctorSettings, resolver: &Resolver, probe: &[String]) -> Vec<SetupCheck> {
    let CheckedDelivery { direct, smarthosts, .. } = &settings.delivery;
    let mut lookups = JoinSet::new();
    for (index, smarthost) in smarthosts.iter().cloned().enumerate() {
        let resolver = resolver.clone();
        lookups.spawn(async move { (index, of_smarthost(smarthost, &resolver).await) });
    }
    let mut checks = Vec::new();
    if let Some(direct) = direct {
        let (servers, problem) = servers_of(direct, resolver, probe).await;
        checks.push(judge(&connect_all(servers, true).await, &problem, false));
    }
    let mut of_smarthosts = lookups.join_all().await;
    of_smarthosts.sort_by_key(|(index, _)| *index);
    checks.extend(of_smarthosts.into_iter().map(|(_, check)| check));
    if checks.is_empty() {
        checks.push(SetupCheck::not_checked(NAME, "emails are captured and do not leave this machine"));
    }
    checks
}

async fn of_smarthost(smarthost: CheckedSmarthost, resolver: &Resolver) -> SetupCheck {
    let CheckedSmarthost { name, host, port, has_greeting } = smarthost;
    let (servers, problem) = match resolver.addresses(&host, now_ms()).await {
        Ok(ips) => {
            let servers = ips.iter().take(2).map(|ip| (host.clone(), SocketAddr::new(*ip, port)));
            (servers.collect(), String::new())
        }
        Err(error) => (Vec::new(), format!("{host}: {error}")),
    };
    let check = judge(&connect_all(servers, has_greeting).await, &problem, true);
    match name {
        Some(name) => check.about(name),
        None => check,
    }
}

/// Returns the first mail server of each domain, and the problem of a domain without one.
async fn servers_of(
    direct: &CheckedDirect,
    resolver: &Resolver,
    probe: &[String],
) -> (Vec<(String, SocketAddr)>, String) {
    let (mut servers, mut problem) = (Vec::new(), "no domain was given".to_owned());
    let mut routes = JoinSet::new();
    for domain in probe {
        let (resolver, policy, domain) = (resolver.clone(), direct.policy.clone(), domain.clone());
        routes.spawn(async move { (resolver.route(&domain, now_ms(), &policy).await, domain) });
    }
    for (route, domain) in routes.join_all().await {
        match route {
            MailRoute::Hosts { hosts, .. } => {
                let first = hosts.first().and_then(|host| Some((&host.name, *host.addresses.first()?)));
                servers.extend(first.map(|(name, ip)| (name.clone(), SocketAddr::new(ip, direct.port))));
            }
            route => problem = format!("{domain}: {route}"),
        }
    }
    (servers, problem)
}

/// Connects to servers at the same time. Returns the results by name.
async fn connect_all(servers: Vec<(String, SocketAddr)>, has_greeting: bool) -> Vec<Probe> {
    let mut probes = JoinSet::new();
    for (name, address) in servers {
        probes.spawn(async move {
            let result = connect(address, has_greeting).await;
            Probe { server: format!("{name} ({address})"), result }
        });
    }
    let mut probes = probes.join_all().await;
    probes.sort_by(|one, other| one.server.cmp(&other.server));
    probes
}

async fn connect(address: SocketAddr, has_greeting: bool) -> ProbeResult {
    let mut stream = match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return ProbeResult::NoConnection(error.kind().to_string()),
        Err(_) => return ProbeResult::NoConnection(format!("no answer within {} s", CONNECT_TIMEOUT.as_secs())),
    };
    if !has_greeting {
        return ProbeResult::Greeted;
    }
    let mut greeting = Vec::new();
    let read = async {
        while !greeting.contains(&b'\n') && greeting.len() < GREETING_BYTES_MAX {
            let mut bytes = [0; GREETING_BYTES_MAX];
            let count = stream.read(&mut bytes).await.unwrap_or(0);
            if count == 0 {
                break;
            }
            greeting.extend_from_slice(&bytes[..count]);
        }
    };
    // The text so far is judged.
    let _ = timeout(GREETING_TIMEOUT, read).await;
    let text = String::from_utf8_lossy(&greeting);
    match text.lines().next().map(str::trim).unwrap_or_default() {
        "" => ProbeResult::NoGreeting,
        line if line.starts_with("220") => ProbeResult::Greeted,
        line => ProbeResult::OtherText(printable(line, SHOWN_CHARS_MAX)),
    }
}

fn judge(probes: &[Probe], problem: &str, is_relay: bool) -> SetupCheck {
    if probes.is_empty() {
        return SetupCheck::not_checked(NAME, format!("no mail server was found ({problem})"));
    }
    let expected = if is_relay { "a connection to the smarthost" } else { "a connection to at least one mail server" };
    let greeted: Vec<&str> =
        probes.iter().filter(|probe| probe.result == ProbeResult::Greeted).map(|probe| probe.server.as_str()).collect();
    if !greeted.is_empty() {
        return SetupCheck::ok(NAME, format!("connected to {}", listed(&greeted)), expected);
    }
    let seen: Vec<String> = probes
        .iter()
        .map(|Probe { server, result }| match result {
            ProbeResult::Greeted => format!("connected to {server}"),
            ProbeResult::OtherText(text) => format!("{server} answers `{text}`"),
            ProbeResult::NoGreeting => format!("{server} accepts a connection and sends no greeting"),
            ProbeResult::NoConnection(why) => format!("no connection to {server}: {why}"),
        })
        .collect();
    let is_closed = probes.iter().all(|probe| matches!(probe.result, ProbeResult::NoConnection(_)));
    let fix = match (is_relay, is_closed) {
        (true, _) => "Check that the smarthost runs, and that --relay or --smarthost has its host and port.",
        (false, true) => {
            "Many providers block outgoing port 25. Ask yours to open it, or use --delivery relay with a smarthost."
        }
        (false, false) => {
            "Read the answers: the address of this server can be on a blocklist, or another program answers port 25."
        }
    };
    SetupCheck::failed(NAME, seen.join("; "), expected, fix)
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncWriteExt as _;
    use tokio::net::TcpListener;

    use super::*;
    use crate::doctor::CheckStatus;

    /// Starts a server that accepts one connection, sends `text`, and keeps the connection open.
    async fn server(text: &'static str) -> (SocketAddr, JoinSet<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut task = JoinSet::new();
        task.spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            stream.write_all(text.as_bytes()).await.unwrap();
            let _ = stream.read(&mut [0]).await;
        });
        (address, task)
    }

    #[tokio::test]
    async fn the_greeting_of_a_server_is_read() {
        for (text, expected) in [
            ("220 mx.example ESMTP\r\n", ProbeResult::Greeted),
            ("220-mx.example\r\n220 ESMTP\r\n", ProbeResult::Greeted),
            ("554 5.7.1 blocked\u{1b}[2J\r\n", ProbeResult::OtherText("554 5.7.1 blocked [2J".into())),
        ] {
            let (address, _task) = server(text).await;
            assert_eq!(connect(address, true).await, expected);
        }
        let (address, _task) = server("").await;
        assert_eq!(connect(address, false).await, ProbeResult::Greeted);
        let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
        assert_eq!(connect(closed, true).await, ProbeResult::NoConnection("connection refused".into()));
    }

    #[test]
    fn one_connection_is_enough_and_the_next_step_depends_on_the_answers() {
        let probe = |server: &str, result| Probe { server: server.to_owned(), result };
        let closed = || probe("a (192.0.2.1:25)", ProbeResult::NoConnection("timed out".into()));
        let refused = || probe("b (192.0.2.2:25)", ProbeResult::OtherText("554 no".into()));
        let open = || probe("c (192.0.2.3:25)", ProbeResult::Greeted);

        for (probes, is_relay, status, words) in [
            (vec![closed(), open()], false, CheckStatus::Ok, "connected to c (192.0.2.3:25)"),
            (vec![closed(), closed()], false, CheckStatus::Failed, "block outgoing port 25"),
            (vec![closed(), refused()], false, CheckStatus::Failed, "blocklist"),
            (vec![closed()], true, CheckStatus::Failed, "--relay"),
            (vec![], false, CheckStatus::NotChecked, "no mail server was found (example.com: no)"),
        ] {
            let check = judge(&probes, "example.com: no", is_relay);
            let text = format!("{} {}", check.seen, check.fix.clone().unwrap_or_default());
            assert!(check.status == status && text.contains(words), "{check:?}");
        }
    }
}

//! The same lookups through unbound, a recursive server of another implementation.

use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::process::{Child, Command, Stdio};

use super::{NOW_MS, policy, resolver};
use crate::dns::{DnsMatch, DnsRecord, LookupError, MailRoute};

const CONFIG: &str = include_str!("../../../tests/peers/unbound.conf.in");
const BINARIES: [&str; 3] = ["/usr/sbin/unbound", "/usr/local/sbin/unbound", "/usr/bin/unbound"];

/// A running unbound. Dropping it kills the process.
struct Unbound {
    address: SocketAddr,
    child: Child,
    _directory: tempfile::TempDir,
}

impl Unbound {
    /// Starts unbound, which `tests/run` installs.
    fn start() -> Self {
        let binary = BINARIES.iter().find(|path| std::path::Path::new(path).exists());
        let binary = binary.expect("unbound is not installed; install it, or use tests/run");
        // Another process can bind the port before unbound starts.
        (0..5).find_map(|_| Self::try_start(binary)).expect("unbound does not start")
    }

    fn try_start(binary: &str) -> Option<Self> {
        let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = udp.local_addr().unwrap();
        drop(TcpListener::bind(address).ok()?);
        drop(udp);

        let directory = tempfile::tempdir().unwrap();
        let config = CONFIG
            .replace("@PORT@", &address.port().to_string())
            .replace("@DIR@", &directory.path().display().to_string());
        let path = directory.path().join("unbound.conf");
        std::fs::write(&path, config).unwrap();
        let mut child = Command::new(binary)
            .args(["-d", "-p", "-c"])
            .arg(&path)
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = BufReader::new(child.stderr.take().unwrap());
        let mut unbound = Self { address, child, _directory: directory };
        let mut seen = Vec::new();
        for line in log.lines().map_while(Result::ok) {
            if line.contains("start of service") {
                return Some(unbound);
            }
            seen.push(line);
        }
        eprintln!("unbound ended with {:?}:\n{}", unbound.child.wait(), seen.join("\n"));
        None
    }
}

impl Drop for Unbound {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test]
async fn unbound_gives_the_same_routes() {
    let unbound = Unbound::start();
    let resolver = resolver(unbound.address);

    let route = resolver.route("ordered.example", NOW_MS, &policy()).await;
    let MailRoute::Hosts { site, hosts } = route else { panic!("{route:?}") };
    assert_eq!(site.name, "mx.example");
    let hosts: Vec<_> = hosts.iter().map(|host| (host.preference, host.name.as_str(), host.addresses.len())).collect();
    assert_eq!(hosts, [(10, "a.mx.example", 2), (20, "c.mx.example", 1)]);

    for (domain, want) in [
        ("implicit.example", None),
        ("aliased.example", None),
        ("null.example", Some("5.1.10")),
        ("absent.example", Some("5.1.2")),
        ("empty.example", Some("5.4.4")),
        ("broken.example", Some("5.4.4")),
        ("inside.example", Some("5.4.4")),
        ("refused.test", Some("4.4.3")),
        ("silent.test", Some("4.4.3")),
        ("servfail.test", Some("4.4.3")),
    ] {
        let route = resolver.route(domain, NOW_MS, &policy()).await;
        assert_eq!(route.status(), want, "{domain}: {route:?}");
    }
}

#[tokio::test]
async fn unbound_returns_the_same_records() {
    let unbound = Unbound::start();
    let resolver = resolver(unbound.address);

    let spf = DnsRecord::Txt { name: "spf.example".to_owned(), value: "v=spf1 a:Mail.example ~all".to_owned() };
    assert_eq!(resolver.check(&spf).await.live, DnsMatch::Found);
    assert_eq!(resolver.cname("track.example").await, Ok("track.host.example".to_owned()));
    assert_eq!(resolver.ptr([192, 0, 2, 1].into()).await, Ok(vec!["a.mx.example".to_owned()]));
    assert_eq!(resolver.txt("absent.example").await, Err(LookupError::NoSuchName));
    assert_eq!(resolver.txt("null.example").await, Err(LookupError::NoRecords));
}

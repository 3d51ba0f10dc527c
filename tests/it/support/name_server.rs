//! A DNS server in the test process. It serves the zones `example.` and `ip6.arpa.`; tests add and remove records.
//! `mx.yahoodns.net` is a host of a large provider, at 127.0.0.1. The reverse name of 192.0.2.1 is `mail.host.example`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hickory_server::Server;
use hickory_server::proto::rr::{LowerName, Name, RecordType, RrKey};
use hickory_server::proto::serialize::txt::Parser;
use hickory_server::store::in_memory::InMemoryZoneHandler;
use hickory_server::zone_handler::{AxfrPolicy, Catalog, ZoneType};
use serde_json::Value;
use tokio::net::{TcpListener, UdpSocket};
use tokio::runtime::Runtime;

/// Zone file of the empty zone.
const EMPTY_ZONE: &str = "$TTL 300\n@ IN SOA ns.example. hostmaster.example. 1 3600 600 86400 1800\n";

/// A running DNS server. It stops on drop.
pub(crate) struct NameServer {
    address: SocketAddr,
    zone: Arc<InMemoryZoneHandler>,
    _server: Server<Catalog>,
    runtime: Runtime,
}

impl NameServer {
    /// Starts a server with an empty zone.
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let mut catalog = Catalog::new();
        let mut zone = |origin: Name, records: &str| {
            let file = format!("{EMPTY_ZONE}{records}");
            let (_, records) = Parser::new(file, None, Some(origin.clone())).parse().expect("a zone file");
            let zone = InMemoryZoneHandler::new(origin.clone(), records, ZoneType::Primary, AxfrPolicy::Deny);
            let zone = Arc::new(zone.expect("a zone"));
            catalog.upsert(LowerName::new(&origin), vec![Arc::clone(&zone) as _]);
            zone
        };
        let name = |text: &str| Name::from_ascii(text).expect("a name");
        zone(name("yahoodns.net."), "mx IN A 127.0.0.1\n");
        zone(name("ip6.arpa."), "");
        zone(name("2.0.192.in-addr.arpa."), "1 IN PTR mail.host.example.\n");
        let zone = zone(origin(), "");
        let (address, server) = runtime.block_on(async {
            let mut server = Server::new(catalog);
            let (udp, tcp) = bind_udp_and_tcp().await;
            let address = udp.local_addr().expect("a bound socket");
            server.register_socket(udp);
            server.register_listener(tcp, Duration::from_secs(5), 4_096);
            (address, server)
        });
        Self { address, zone, _server: server, runtime }
    }

    /// Returns the address and port of the server, in the format of the flag `--resolver`.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Publishes the DNS records that the API returned for the domain `shop.example`.
    pub(crate) fn publish(&self, records: &Value) {
        for record in records.as_array().expect("records are a list") {
            let text = |field: &str| record[field].as_str().expect("a string");
            let data = match text("type") {
                "MX" => format!("{} {}.", record["priority"], text("value")),
                "CNAME" => format!("{}.", text("value")),
                _ => txt_data(text("value")),
            };
            self.add(&format!("{}.shop IN {} {data}\n", text("name"), text("type")));
        }
    }

    /// Adds the record of one line in zone file format (RFC 1035 §5).
    pub(crate) fn add(&self, line: &str) {
        let (_, sets) =
            Parser::new(format!("{EMPTY_ZONE}{line}"), None, Some(origin())).parse().expect("a line of a zone file");
        let records = sets.into_values().flat_map(|set| set.records_without_rrsigs().cloned().collect::<Vec<_>>());
        for record in records.filter(|record| record.record_type() != RecordType::SOA) {
            self.runtime.block_on(self.zone.upsert(record, 0));
        }
    }

    /// Removes every record of a name and type. Panics if none exists.
    pub(crate) fn remove(&self, name: &str, record_type: RecordType) {
        let key = RrKey::new(LowerName::new(&Name::from_ascii(name).expect("a name")), record_type);
        self.runtime.block_on(async { self.zone.records_mut().await.remove(&key) }).expect("the record is published");
    }
}

fn origin() -> Name {
    Name::from_ascii("example.").expect("a name")
}

/// Splits a text into the quoted character strings of a TXT record, at most 255 bytes each (RFC 1035 §3.3).
fn txt_data(value: &str) -> String {
    let chunks =
        value.as_bytes().chunks(255).map(|chunk| format!("{:?}", str::from_utf8(chunk).expect("records are ASCII")));
    chunks.collect::<Vec<_>>().join(" ")
}

/// Binds the same loopback port for UDP and TCP. Tries up to 20 TCP ports, because the same UDP port
/// can be in use.
async fn bind_udp_and_tcp() -> (UdpSocket, TcpListener) {
    for _ in 0..20 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().expect("a bound socket")).await {
            return (udp, tcp);
        }
    }
    panic!("found no port that is free for UDP and TCP");
}

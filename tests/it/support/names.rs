//! A name server in this process: the zone `example.`, whose records come and go by hand.

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

const START: &str = "$TTL 300\n@ IN SOA ns.example. hostmaster.example. 1 3600 600 86400 1800\n";

/// A running name server; it stops when dropped.
pub(crate) struct NameServer {
    address: SocketAddr,
    zone: Arc<InMemoryZoneHandler>,
    _server: Server<Catalog>,
    runtime: Runtime,
}

impl NameServer {
    /// Starts a server of an empty zone.
    pub(crate) fn start() -> Self {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
        let (_, records) = Parser::new(START, None, Some(origin())).parse().expect("the first records are a zone");
        let zone = InMemoryZoneHandler::new(origin(), records, ZoneType::Primary, AxfrPolicy::Deny).expect("a zone");
        let zone = Arc::new(zone);
        let mut catalog = Catalog::new();
        catalog.upsert(LowerName::new(&origin()), vec![Arc::clone(&zone) as _]);
        let (address, server) = runtime.block_on(async {
            let mut server = Server::new(catalog);
            let (udp, tcp) = one_port().await;
            let address = udp.local_addr().expect("a bound socket");
            server.register_socket(udp);
            server.register_listener(tcp, Duration::from_secs(5), 4_096);
            (address, server)
        });
        Self { address, zone, _server: server, runtime }
    }

    /// Returns the server's address as the flag `--resolver` takes it.
    pub(crate) fn address(&self) -> String {
        self.address.to_string()
    }

    /// Publishes the records that the API prints for a domain of the zone.
    pub(crate) fn publish(&self, records: &Value) {
        for record in records.as_array().expect("records are a list") {
            let text = |field: &str| record[field].as_str().expect("a text");
            let data = match text("type") {
                "MX" => format!("{} {}.", record["priority"], text("value")),
                "CNAME" => format!("{}.", text("value")),
                _ => strings(text("value")),
            };
            self.add(&format!("{}.shop IN {} {data}\n", text("name"), text("type")));
        }
    }

    /// Adds one line of a zone file.
    pub(crate) fn add(&self, line: &str) {
        let (_, sets) =
            Parser::new(format!("{START}{line}"), None, Some(origin())).parse().expect("a zone file's line");
        let records = sets.into_values().flat_map(|set| set.records_without_rrsigs().cloned().collect::<Vec<_>>());
        for record in records.filter(|record| record.record_type() != RecordType::SOA) {
            self.runtime.block_on(self.zone.upsert(record, 0));
        }
    }

    /// Takes every record of a name and type away.
    pub(crate) fn remove(&self, name: &str, record_type: RecordType) {
        let key = RrKey::new(LowerName::new(&Name::from_ascii(name).expect("a name")), record_type);
        self.runtime.block_on(async { self.zone.records_mut().await.remove(&key) }).expect("it was published");
    }
}

fn origin() -> Name {
    Name::from_ascii("example.").expect("a name")
}

/// Splits a text into the strings of a TXT record (RFC 1035 §3.3).
fn strings(value: &str) -> String {
    let chunks =
        value.as_bytes().chunks(255).map(|chunk| format!("{:?}", str::from_utf8(chunk).expect("records are ASCII")));
    chunks.collect::<Vec<_>>().join(" ")
}

/// Binds one port of loopback for both protocols. A port that is free for one of them may be taken
/// for the other, and then another one is tried.
async fn one_port() -> (UdpSocket, TcpListener) {
    for _ in 0..20 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().expect("a bound socket")).await {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both protocols");
}

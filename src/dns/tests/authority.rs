//! An authoritative DNS server on a loopback port, over UDP and TCP. It serves zones from text, counts its queries and
//! returns errors for names with certain first labels.

use std::collections::HashMap;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hickory_server::Server;
use hickory_server::net::runtime::Time;
use hickory_server::net::xfer::Protocol;
use hickory_server::proto::op::{Header, HeaderCounts, Metadata, ResponseCode};
use hickory_server::proto::rr::rdata::NS;
use hickory_server::proto::rr::{LowerName, Name, RData, Record, RecordType};
use hickory_server::proto::serialize::txt::Parser;
use hickory_server::server::{Request, RequestHandler, ResponseHandler, ResponseInfo};
use hickory_server::store::in_memory::InMemoryZoneHandler;
use hickory_server::zone_handler::{AxfrPolicy, Catalog, MessageResponseBuilder, ZoneType};
use tokio::net::{TcpListener, UdpSocket};

type QueryCounts = Arc<Mutex<HashMap<(String, RecordType, Protocol), usize>>>;

type Zones = Arc<Mutex<Arc<Catalog>>>;

/// A running server; it stops when dropped.
pub(crate) struct Authority {
    pub(crate) address: SocketAddr,
    zones: Zones,
    query_counts: QueryCounts,
    healed: Arc<Mutex<bool>>,
    _server: Server<Front>,
}

impl Authority {
    /// Serves `zone`, a zone file for `example.`.
    pub(crate) async fn serving(zone: &str) -> Self {
        Self::serving_below("example.", zone).await
    }

    /// Serves `zone`, a zone file for the root zone.
    pub(crate) async fn serving_root(zone: &str) -> Self {
        Self::serving_below(".", zone).await
    }

    async fn serving_below(origin: &str, zone: &str) -> Self {
        let zones: Zones = Arc::new(Mutex::new(Arc::new(catalog(origin, zone))));
        let query_counts = QueryCounts::default();
        let healed = Arc::default();
        let front =
            Front { zones: Arc::clone(&zones), query_counts: Arc::clone(&query_counts), healed: Arc::clone(&healed) };
        let mut server = Server::new(front);
        let (udp, tcp) = one_port().await;
        let address = udp.local_addr().unwrap();
        server.register_socket(udp);
        server.register_listener(tcp, Duration::from_secs(5), 4_096);
        Self { address, zones, query_counts, healed, _server: server }
    }

    /// Replaces the zone `example.`. The next query sees the new one.
    pub(crate) fn change(&self, zone: &str) {
        *self.zones.lock().unwrap() = Arc::new(catalog("example.", zone));
    }

    /// Returns the number of queries for `name` and `kind`, over both protocols.
    pub(crate) fn query_count(&self, name: &str, kind: RecordType) -> usize {
        self.query_count_over(name, kind, Protocol::Udp) + self.query_count_over(name, kind, Protocol::Tcp)
    }

    pub(super) fn query_count_over(&self, name: &str, kind: RecordType, protocol: Protocol) -> usize {
        self.query_counts.lock().unwrap().get(&(name.to_owned(), kind, protocol)).copied().unwrap_or(0)
    }

    /// Serves the zone for all names from now on, without errors.
    pub(super) fn heal(&self) {
        *self.healed.lock().unwrap() = true;
    }
}

fn catalog(origin: &str, zone: &str) -> Catalog {
    let origin = Name::from_ascii(origin).unwrap();
    let (_, records) = Parser::new(zone, None, Some(origin.clone())).parse().unwrap();
    let handler: InMemoryZoneHandler =
        InMemoryZoneHandler::new(origin.clone(), records, ZoneType::Primary, AxfrPolicy::Deny).unwrap();
    let mut catalog = Catalog::new();
    catalog.upsert(LowerName::new(&origin), vec![Arc::new(handler)]);
    catalog
}

/// Binds one loopback port for both protocols. If the port is free only for TCP, tries another one.
async fn one_port() -> (UdpSocket, TcpListener) {
    for _ in 0..20 {
        let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
        if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
            return (udp, tcp);
        }
    }
    panic!("no port is free for both protocols");
}

/// Handler that counts a query, then returns an error or the answer of the zone.
struct Front {
    zones: Zones,
    query_counts: QueryCounts,
    healed: Arc<Mutex<bool>>,
}

impl Front {
    async fn answer<R: ResponseHandler, T: Time>(&self, request: &Request, mut reply: R) -> ResponseInfo {
        let (name, kind) = {
            let info = request.request_info().unwrap();
            (info.query.name().to_string().trim_end_matches('.').to_owned(), info.query.query_type())
        };
        *self.query_counts.lock().unwrap().entry((name.clone(), kind, request.protocol())).or_default() += 1;

        let healed = *self.healed.lock().unwrap();
        let label = name.split('.').next().unwrap();
        let code = match label {
            _ if healed => None,
            "servfail" => Some(ResponseCode::ServFail),
            "refused" => Some(ResponseCode::Refused),
            "no-aaaa" if kind == RecordType::AAAA => Some(ResponseCode::ServFail),
            "silent" => return no_response(request),
            "referral" => {
                let referral = Record::from_rdata(
                    Name::from_ascii("example.").unwrap(),
                    300,
                    RData::NS(NS(Name::from_ascii("ns.elsewhere.test.").unwrap())),
                );
                let meta = Metadata::response_from_request(&request.metadata);
                let message =
                    MessageResponseBuilder::from_message_request(request).build(meta, [], [&referral], [], []);
                return reply.send_response(message).await.unwrap();
            }
            _ => None,
        };
        match code {
            Some(code) => {
                let message = MessageResponseBuilder::from_message_request(request).error_msg(&request.metadata, code);
                reply.send_response(message).await.unwrap()
            }
            None => {
                let catalog = Arc::clone(&*self.zones.lock().unwrap());
                catalog.handle_request::<R, T>(request, reply).await
            }
        }
    }
}

fn no_response(request: &Request) -> ResponseInfo {
    let metadata = Metadata::response_from_request(&request.metadata);
    ResponseInfo::from(Header { metadata, counts: HeaderCounts::default() })
}

// The trait is declared with an attribute macro of a crate that is not a dependency. This is the expansion of the
// macro.
impl RequestHandler for Front {
    fn handle_request<'front, 'request, 'answer, R, T>(
        &'front self,
        request: &'request Request,
        reply: R,
    ) -> Pin<Box<dyn Future<Output = ResponseInfo> + Send + 'answer>>
    where
        'front: 'answer,
        'request: 'answer,
        Self: 'answer,
        R: ResponseHandler + 'answer,
        T: Time + 'answer,
    {
        Box::pin(self.answer::<R, T>(request, reply))
    }
}

//! One DNS server: its queries and the interpretation of its responses.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as AnswerError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

use super::error::DnsError;
use super::lookup::{CacheMode, IN_FLIGHT_MAX, LookupTimings};
use crate::base::opaque::Opaque;

/// Longest chain of CNAME records. Public resolvers have similar limits; a longer chain is a mistake or an attack.
const CNAME_LINKS_MAX: usize = 8;
/// Maximum number of cached answers. Bounds the memory for hostile zones with long TTLs.
const ANSWERS_MAX: u64 = 8_192;
/// Maximum number of records that are used of one answer.
const RECORDS_MAX: usize = 100;

/// Two clients of one DNS server: one with a cache, one without.
pub(super) struct Upstream {
    cached: Opaque<TokioResolver>,
    fresh: Opaque<TokioResolver>,
    timeout: Duration,
}

/// Reason why a query returned no records.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum QueryError {
    NoSuchName,
    NoRecords,
    /// The response does not show whether the name or its records exist.
    Unusable(String),
    /// The server did not respond.
    NoResponse(String),
    /// Too many queries in flight. Depends neither on the name nor on the server.
    Overloaded,
}

impl Upstream {
    pub(super) fn new(server: NameServerConfig, timings: &LookupTimings) -> Result<Self, DnsError> {
        let zero = Duration::ZERO..=Duration::ZERO;
        Ok(Self {
            cached: Opaque::new(client(server.clone(), timings.timeout, &timings.positive_ttl, &timings.negative_ttl)?),
            fresh: Opaque::new(client(server, timings.timeout, &zero, &zero)?),
            timeout: timings.timeout,
        })
    }

    /// Sends one query over UDP, and repeats it over TCP if the response was truncated.
    pub(super) async fn query(
        &self,
        name: &Name,
        kind: RecordType,
        cache_mode: CacheMode,
    ) -> Result<Vec<RData>, QueryError> {
        let client = match cache_mode {
            CacheMode::Use { .. } => &self.cached,
            CacheMode::Bypass => &self.fresh,
        };
        // The timeout of the library applies to each message. This one applies to the whole CNAME chain.
        let lookup = tokio::time::timeout(self.timeout, client.lookup(name.clone(), kind)).await;
        match lookup {
            Ok(Ok(lookup)) => follow(name, kind, lookup.answers()),
            Ok(Err(error)) => Err(query_error(&error)),
            Err(_) => Err(QueryError::NoResponse("no answer in time".to_owned())),
        }
    }
}

/// Returns the configuration of a server with UDP and TCP on one port.
pub(super) fn server_at(address: SocketAddr) -> NameServerConfig {
    let connections = [ConnectionConfig::udp(), ConnectionConfig::tcp()]
        .map(|mut connection| {
            connection.port = address.port();
            connection
        })
        .to_vec();
    NameServerConfig::new(address.ip(), true, connections)
}

fn client(
    server: NameServerConfig,
    timeout: Duration,
    positive_ttl: &std::ops::RangeInclusive<Duration>,
    negative_ttl: &std::ops::RangeInclusive<Duration>,
) -> Result<TokioResolver, DnsError> {
    let mut options = ResolverOpts::default();
    options.timeout = timeout;
    // `Lookups` retries over all servers. The library would repeat the query only at the server that answered SERVFAIL.
    options.attempts = 0;
    options.num_concurrent_reqs = 1;
    options.max_active_requests = IN_FLIGHT_MAX;
    options.cache_size = if positive_ttl.end().is_zero() { 0 } else { ANSWERS_MAX };
    options.positive_min_ttl = Some(*positive_ttl.start());
    options.positive_max_ttl = Some(*positive_ttl.end());
    options.negative_min_ttl = Some(*negative_ttl.start());
    options.negative_max_ttl = Some(*negative_ttl.end());
    options.use_hosts_file = ResolveHosts::Never;
    TokioResolver::builder_with_config(ResolverConfig::from_name_servers(vec![server]), TokioRuntimeProvider::default())
        .with_options(options)
        .build()
        .map_err(|error| DnsError::Setup(error.to_string()))
}

/// Follows the CNAME records from `name` to the records of type `kind`.
///
/// The answer section is untrusted. Records of other owners are ignored, and the limit on CNAME records ends loops. The
/// library itself has no limit within one message.
fn follow(name: &Name, kind: RecordType, answers: &[Record]) -> Result<Vec<RData>, QueryError> {
    let mut owner = name;
    for _ in 0..=CNAME_LINKS_MAX {
        let records = owned_by(owner, kind, answers);
        if !records.is_empty() {
            return Ok(records);
        }
        let alias = answers.iter().filter(|record| record.name == *owner).find_map(|record| match &record.data {
            RData::CNAME(target) => Some(&target.0),
            _ => None,
        });
        let Some(target) = alias else {
            // The library omits the CNAME records if it had the end of the chain in its cache. The first record set of
            // the type is then the end of the chain.
            let end = answers.iter().find(|record| record.record_type() == kind).ok_or(QueryError::NoRecords)?;
            return Ok(owned_by(&end.name, kind, answers));
        };
        owner = target;
    }
    Err(QueryError::Unusable(format!("more than {CNAME_LINKS_MAX} aliases in a row")))
}

fn owned_by(owner: &Name, kind: RecordType, answers: &[Record]) -> Vec<RData> {
    let records = answers.iter().filter(|record| record.name == *owner && record.record_type() == kind);
    records.take(RECORDS_MAX).map(|record| record.data.clone()).collect()
}

/// Converts an error of the library. Only NXDOMAIN and an empty answer are conclusive.
fn query_error(error: &NetError) -> QueryError {
    match error {
        NetError::Dns(AnswerError::NoRecordsFound(empty)) => match empty.response_code {
            ResponseCode::NXDomain => QueryError::NoSuchName,
            // RFC 2308 §2.2: NS records without an SOA are a referral. A server that does not recurse sends it, and it
            // does not show whether the name exists.
            ResponseCode::NoError if empty.ns.is_some() && empty.soa.is_none() => {
                QueryError::Unusable("the DNS server answered with a referral".to_owned())
            }
            ResponseCode::NoError => QueryError::NoRecords,
            code => QueryError::Unusable(format!("the DNS server answered {code}")),
        },
        NetError::Dns(AnswerError::ResponseCode(code)) => {
            QueryError::Unusable(format!("the DNS server answered {}", mnemonic(*code)))
        }
        NetError::Busy => QueryError::Overloaded,
        NetError::Timeout => QueryError::NoResponse("no answer in time".to_owned()),
        // A closed UDP port causes an I/O error.
        NetError::Io(error) => QueryError::NoResponse(format!("the DNS server cannot be reached: {}", error.kind())),
        NetError::NoConnections => QueryError::NoResponse("the DNS server cannot be reached".to_owned()),
        other => QueryError::Unusable(format!("the answer cannot be used: {other}")),
    }
}

fn mnemonic(code: ResponseCode) -> String {
    match code {
        ResponseCode::ServFail => "SERVFAIL".to_owned(),
        ResponseCode::Refused => "REFUSED".to_owned(),
        ResponseCode::FormErr => "FORMERR".to_owned(),
        ResponseCode::NotImp => "NOTIMP".to_owned(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hickory_resolver::proto::rr::rdata::{A, CNAME};

    fn name(text: &str) -> Name {
        Name::from_ascii(text).unwrap()
    }

    fn alias(owner: &str, target: &str) -> Record {
        Record::from_rdata(name(owner), 300, RData::CNAME(CNAME(name(target))))
    }

    fn address(owner: &str, last: u8) -> Record {
        Record::from_rdata(name(owner), 300, RData::A(A::new(192, 0, 2, last)))
    }

    fn chain(links: usize) -> Vec<Record> {
        let mut answers: Vec<Record> =
            (0..links).map(|link| alias(&format!("n{link}.example."), &format!("n{}.example.", link + 1))).collect();
        answers.push(address(&format!("n{links}.example."), 1));
        answers
    }

    #[test]
    fn a_chain_of_eight_cname_records_is_followed() {
        for links in [0, 1, 8] {
            assert_eq!(follow(&name("n0.example."), RecordType::A, &chain(links)).map(|found| found.len()), Ok(1));
        }
        assert!(matches!(follow(&name("n0.example."), RecordType::A, &chain(9)), Err(QueryError::Unusable(_))));
    }

    #[test]
    fn a_loop_of_cname_records_ends() {
        let answers = [alias("a.example.", "b.example."), alias("b.example.", "a.example.")];
        assert!(matches!(follow(&name("a.example."), RecordType::A, &answers), Err(QueryError::Unusable(_))));
    }

    #[test]
    fn an_answer_without_cname_records_returns_its_first_record_set() {
        let answers = [address("end.example.", 1), address("end.example.", 2), address("other.example.", 3)];
        let found = follow(&name("a.example."), RecordType::A, &answers);
        assert_eq!(found.map(|records| records.len()), Ok(2));
    }

    #[test]
    fn records_of_other_owners_and_types_are_ignored() {
        let answers = [address("other.example.", 1), alias("A.Example.", "b.example."), address("B.example.", 2)];
        assert_eq!(
            follow(&name("a.example."), RecordType::A, &answers),
            Ok(vec![RData::A(A::new(192, 0, 2, 2))]),
            "owners are compared without case"
        );
        assert_eq!(follow(&name("b.example."), RecordType::MX, &answers), Err(QueryError::NoRecords));
        assert_eq!(follow(&name("c.example."), RecordType::A, &[]), Err(QueryError::NoRecords));
    }
}

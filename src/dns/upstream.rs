//! One DNS server: how it is asked, and what its answers mean.

use std::net::SocketAddr;
use std::time::Duration;

use hickory_resolver::TokioResolver;
use hickory_resolver::config::{ConnectionConfig, NameServerConfig, ResolveHosts, ResolverConfig, ResolverOpts};
use hickory_resolver::net::runtime::TokioRuntimeProvider;
use hickory_resolver::net::{DnsError as AnswerError, NetError};
use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::{Name, RData, Record, RecordType};

use super::error::DnsError;
use super::lookup::{CacheMode, IN_FLIGHT_MAX, Timings};

/// A longer chain is a mistake or an attack; public resolvers stop at about as many.
const CNAME_LINKS_MAX: usize = 8;
/// Answers kept; memory stays bounded under hostile zones with long TTLs.
const ANSWERS_MAX: u64 = 8_192;
/// Records taken from one answer.
const RECORDS_MAX: usize = 100;

/// One DNS server, with and without a memory.
pub(super) struct Upstream {
    cached: TokioResolver,
    fresh: TokioResolver,
    timeout: Duration,
}

/// Why a question has no records for an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Miss {
    NoSuchName,
    NoRecords,
    /// The server answered, with something no conclusion can rest on.
    Unusable(String),
    /// The server did not answer.
    Silent(String),
    /// We asked too much at once; says nothing about the name or the server.
    Overloaded,
}

impl Upstream {
    pub(super) fn new(server: NameServerConfig, timings: &Timings) -> Result<Self, DnsError> {
        let zero = Duration::ZERO..=Duration::ZERO;
        Ok(Self {
            cached: client(server.clone(), timings.timeout, &timings.positive_ttl, &timings.negative_ttl)?,
            fresh: client(server, timings.timeout, &zero, &zero)?,
            timeout: timings.timeout,
        })
    }

    /// Asks once, over UDP and again over TCP when the answer was cut.
    pub(super) async fn ask(&self, name: &Name, kind: RecordType, memory: CacheMode) -> Result<Vec<RData>, Miss> {
        let client = match memory {
            CacheMode::Use { .. } => &self.cached,
            CacheMode::Bypass => &self.fresh,
        };
        // The library's own limit is per message; this one is for the whole chain.
        let lookup = tokio::time::timeout(self.timeout, client.lookup(name.clone(), kind)).await;
        match lookup {
            Ok(Ok(lookup)) => follow(name, kind, lookup.answers()),
            Ok(Err(error)) => Err(miss(&error)),
            Err(_) => Err(Miss::Silent("no answer in time".to_owned())),
        }
    }
}

/// Describes a server reached over UDP and TCP on one port.
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
    // Tries are ours, over all servers: the library stops at the first server that answers
    // SERVFAIL, and repeats the question to that one.
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

/// Walks from `name` over its aliases to the records of type `kind`.
///
/// The answer section is hostile input: records of other owners are ignored, loops end at the
/// limit, and the library's own walk has no limit inside one message.
fn follow(name: &Name, kind: RecordType, answers: &[Record]) -> Result<Vec<RData>, Miss> {
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
            // The library leaves the links out when it had the end of the chain in its cache.
            // One set of records is then the end; where there are several, the first is.
            let end = answers.iter().find(|record| record.record_type() == kind).ok_or(Miss::NoRecords)?;
            return Ok(owned_by(&end.name, kind, answers));
        };
        owner = target;
    }
    Err(Miss::Unusable(format!("more than {CNAME_LINKS_MAX} aliases in a row")))
}

fn owned_by(owner: &Name, kind: RecordType, answers: &[Record]) -> Vec<RData> {
    let records = answers.iter().filter(|record| record.name == *owner && record.record_type() == kind);
    records.take(RECORDS_MAX).map(|record| record.data.clone()).collect()
}

/// Tells the two answers that are final from everything that is not.
fn miss(error: &NetError) -> Miss {
    match error {
        NetError::Dns(AnswerError::NoRecordsFound(empty)) => match empty.response_code {
            ResponseCode::NXDomain => Miss::NoSuchName,
            // RFC 2308 §2.2: name servers without an SOA are a referral. It comes from a server
            // that does not recurse, and says nothing about the name.
            ResponseCode::NoError if empty.ns.is_some() && empty.soa.is_none() => {
                Miss::Unusable("the DNS server answered with a referral".to_owned())
            }
            ResponseCode::NoError => Miss::NoRecords,
            code => Miss::Unusable(format!("the DNS server answered {code}")),
        },
        NetError::Dns(AnswerError::ResponseCode(code)) => {
            Miss::Unusable(format!("the DNS server answered {}", mnemonic(*code)))
        }
        NetError::Busy => Miss::Overloaded,
        NetError::Timeout => Miss::Silent("no answer in time".to_owned()),
        // A refused UDP port shows as an I/O error.
        NetError::Io(error) => Miss::Silent(format!("the DNS server cannot be reached: {}", error.kind())),
        NetError::NoConnections => Miss::Silent("the DNS server cannot be reached".to_owned()),
        other => Miss::Unusable(format!("the answer cannot be used: {other}")),
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
    fn aliases_are_followed_for_eight_links() {
        for links in [0, 1, 8] {
            assert_eq!(follow(&name("n0.example."), RecordType::A, &chain(links)).map(|found| found.len()), Ok(1));
        }
        assert!(matches!(follow(&name("n0.example."), RecordType::A, &chain(9)), Err(Miss::Unusable(_))));
    }

    #[test]
    fn a_loop_of_aliases_ends() {
        let answers = [alias("a.example.", "b.example."), alias("b.example.", "a.example.")];
        assert!(matches!(follow(&name("a.example."), RecordType::A, &answers), Err(Miss::Unusable(_))));
    }

    #[test]
    fn an_answer_without_its_links_is_taken_at_its_end() {
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
        assert_eq!(follow(&name("b.example."), RecordType::MX, &answers), Err(Miss::NoRecords));
        assert_eq!(follow(&name("c.example."), RecordType::A, &[]), Err(Miss::NoRecords));
    }
}

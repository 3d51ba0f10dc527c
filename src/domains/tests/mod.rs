//! Tests of the use cases with a real store, and of the checks with a DNS server in this process.

mod use_cases;
mod verification;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use super::model::{DomainStatus, DomainWithRecords, NewDomain, RecordKind, RecordStatus};
use super::records::{self, ExpectedRecord};
use super::service::Domains;
use super::settings::DomainSettings;
use super::store::{self, DomainRow};
use super::testing::{context, settings};
use crate::api_keys::ApiKeys;
use crate::base::address::DomainName;
use crate::context::Context;
use crate::dns::tests::authority::Authority;
use tokio_util::task::TaskTracker;

use crate::base::id::{DomainId, Id, TeamId};
use crate::dns::{DnsMatch, DnsRecord, LookupTimings, Resolver};

const TEAM: TeamId = Id::MIN;
const OTHER_TEAM: TeamId = Id::MAX;

/// A store, and domains whose checks use one DNS server.
struct Instance {
    _directory: tempfile::TempDir,
    context: Context,
    keys: Arc<ApiKeys>,
    domains: Arc<Domains>,
}

impl Instance {
    /// Returns an instance whose DNS server is unreachable.
    fn start() -> Self {
        Self::with_settings(settings())
    }

    fn with_settings(settings: DomainSettings) -> Self {
        let (directory, context) = context();
        let keys =
            ApiKeys::load(context.clone(), TaskTracker::new(), |tx, team, id| crate::domains::exists(tx, team, id))
                .unwrap();
        let domains = Domains::new(context.clone(), unreachable_resolver(), settings, Arc::clone(&keys));
        Self { _directory: directory, context, keys, domains }
    }

    /// Returns the domains of the same store after a restart, with `server` as the DNS server.
    fn restarted(&self, server: SocketAddr) -> Arc<Domains> {
        Domains::new(self.context.clone(), resolver(server), settings(), Arc::clone(&self.keys))
    }

    async fn add(&self, name: &str) -> DomainId {
        self.domains.create(TEAM, NewDomain::named(domain_name(name))).await.unwrap().domain.id
    }

    async fn shown(&self, id: DomainId) -> DomainWithRecords {
        self.domains.find(TEAM, id).await.unwrap().unwrap()
    }

    fn row(&self, id: DomainId) -> DomainRow {
        self.context.read(|tx| store::find(tx, TEAM, id)).unwrap()
    }

    /// Returns the records that a domain should publish, with their complete names.
    fn expected(&self, id: DomainId) -> Vec<ExpectedRecord> {
        records::expected(&self.row(id), &settings())
    }

    async fn store_row(&self, id: DomainId, row: DomainRow) {
        self.context.commit(move |tx| store::put(tx, TEAM, id, &row)).await;
    }
}

/// Adds a verified domain.
pub(crate) async fn add_verified(context: &Context, team: TeamId, name: &str) -> DomainId {
    let keys = ApiKeys::load(context.clone(), TaskTracker::new(), |_, _, _| Ok(true)).unwrap();
    let domains = Domains::new(context.clone(), unreachable_resolver(), settings(), keys);
    domains.add_verified(team, domain_name(name)).await.unwrap()
}

fn domain_name(text: &str) -> DomainName {
    DomainName::parse(text).unwrap()
}

/// Returns a resolver for a port that is not open.
fn unreachable_resolver() -> Resolver {
    resolver("127.0.0.1:9".parse().unwrap())
}

fn resolver(server: SocketAddr) -> Resolver {
    let timings = LookupTimings { timeout: Duration::from_millis(500), tries: 1, ..LookupTimings::default() };
    Resolver::with_timings(&[server], &timings).unwrap()
}

/// Serves these records and the lines of `more` in the zone `example.`.
async fn publish(records: &[ExpectedRecord], more: &str) -> Authority {
    let mut zone = String::from("$TTL 300\n@ IN SOA ns.example. hostmaster.example. 1 3600 600 86400 1800\n");
    for ExpectedRecord { expected, .. } in records {
        zone.push_str(&match expected {
            DnsRecord::Mx { name, priority, host } => format!("{name}. IN MX {priority} {host}.\n"),
            DnsRecord::Cname { name, target } => format!("{name}. IN CNAME {target}.\n"),
            DnsRecord::Txt { name, value } => format!("{name}. IN TXT {}\n", strings(value)),
        });
    }
    zone.push_str(more);
    Authority::serving(&zone).await
}

/// Splits a text into the strings of a TXT record (RFC 1035 §3.3).
fn strings(value: &str) -> String {
    let chunks: Vec<String> =
        value.as_bytes().chunks(255).map(|chunk| format!("{:?}", str::from_utf8(chunk).unwrap())).collect();
    chunks.join(" ")
}

//! Services that handlers take as arguments.
//!
//! The depot of each request contains the [`HttpServices`] of the instance. If a service is missing here,
//! a handler that takes it does not compile.

use std::sync::Arc;

use salvo::Depot;

use crate::api_keys::ApiKeys;
use crate::base::compat::Compat;
use crate::contact_properties::ContactProperties;
use crate::contacts::Contacts;
use crate::dashboard::Hosts;
use crate::delivery::QueueControl;
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails, RemoteFiles};
use crate::erasure::Erasures;
use crate::http::{BodyLimits, Health, Metrics, OpenApiJson, QueryParameters, RateLimiter, ResponseLimits, Service};
use crate::ingest::Ingest;
use crate::live::EventStreams;
use crate::logs::{Logs, RequestLog};
use crate::preferences::Preferences;
use crate::segments::Segments;
use crate::suppressions::Suppressions;
use crate::topics::Topics;
use crate::usage::Usage;
use crate::webhooks::Webhooks;

macro_rules! services {
    ($($field:ident: $service:ty,)+) => {
        /// Services of one instance. All requests share them.
        pub(super) struct HttpServices {
            $(pub(super) $field: Arc<$service>,)+
        }

        $(impl Service for $service {
            fn find(depot: &Depot) -> Option<&Arc<Self>> {
                let services = depot.get_typed::<Arc<HttpServices>>().ok()?;
                Some(&services.$field)
            }
        })+
    };
}

services! {
    api_keys: ApiKeys,
    body_limits: BodyLimits,
    compat: Compat,
    contact_properties: ContactProperties,
    contacts: Contacts,
    dashboard_hosts: Hosts,
    domains: Domains,
    email_limits: EmailLimits,
    emails: Emails,
    erasures: Erasures,
    event_streams: EventStreams,
    health: Health,
    ingest: Ingest,
    logs: Logs,
    metrics: Metrics,
    openapi: OpenApiJson,
    preferences: Preferences,
    query_parameters: QueryParameters,
    queue: QueueControl,
    rate_limiter: RateLimiter,
    remote_files: RemoteFiles,
    request_log: RequestLog,
    response_limits: ResponseLimits,
    segments: Segments,
    suppressions: Suppressions,
    topics: Topics,
    usage: Usage,
    webhooks: Webhooks,
}

//! Services that handlers take as arguments.
//!
//! The depot of each request contains the [`HttpServices`] of the instance. If a service is missing here,
//! a handler that takes it does not compile.

use std::sync::Arc;

use salvo::Depot;

use crate::api_keys::ApiKeys;
use crate::audit::AuditLog;
use crate::base::compat::Compat;
use crate::broadcasts::Broadcasts;
use crate::broadcasts::check::BroadcastChecks;
use crate::config::host::OwnHosts;
use crate::contact_properties::ContactProperties;
use crate::contacts::Contacts;
use crate::dashboard::{AccessSettings, DashboardAssets, DashboardInstance, HealthReports};
use crate::deliverability::TeamDeliverability;
use crate::delivery::capture::CaptureMailbox;
use crate::delivery::{Engine, QueueControl};
use crate::domains::Domains;
use crate::email_metrics::EmailMetrics;
use crate::emails::{EmailLimits, Emails, RemoteFiles};
use crate::erasure::Erasures;
use crate::http::{BodyLimits, Health, Metrics, OpenApiJson, QueryParameters, RateLimiter, ResponseLimits, Service};
use crate::ingest::Ingest;
use crate::insights::Insights;
use crate::live::EventStreams;
use crate::logs::{Logs, RequestLog};
use crate::preferences::Preferences;
use crate::segments::Segments;
use crate::suppressions::Suppressions;
use crate::templates::Templates;
use crate::topics::Topics;
use crate::tracking::api::HitRecorder;
use crate::usage::{SdkUses, Usage};
use crate::users::Accounts;
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
    access_settings: AccessSettings,
    accounts: Accounts,
    api_keys: ApiKeys,
    audit: AuditLog,
    body_limits: BodyLimits,
    broadcast_checks: BroadcastChecks,
    broadcasts: Broadcasts,
    capture: CaptureMailbox,
    compat: Compat,
    contact_properties: ContactProperties,
    contacts: Contacts,
    dashboard_assets: DashboardAssets,
    dashboard_instance: DashboardInstance,
    deliverability: TeamDeliverability,
    domains: Domains,
    email_limits: EmailLimits,
    email_metrics: EmailMetrics,
    emails: Emails,
    engine: Engine,
    erasures: Erasures,
    event_streams: EventStreams,
    health: Health,
    health_reports: HealthReports,
    hit_recorder: HitRecorder,
    ingest: Ingest,
    insights: Insights,
    logs: Logs,
    metrics: Metrics,
    openapi: OpenApiJson,
    own_hosts: OwnHosts,
    preferences: Preferences,
    query_parameters: QueryParameters,
    queue: QueueControl,
    rate_limiter: RateLimiter,
    remote_files: RemoteFiles,
    request_log: RequestLog,
    response_limits: ResponseLimits,
    sdk_uses: SdkUses,
    segments: Segments,
    suppressions: Suppressions,
    templates: Templates,
    topics: Topics,
    usage: Usage,
    webhooks: Webhooks,
}

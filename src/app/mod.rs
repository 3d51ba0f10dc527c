//! Start and shutdown of an instance: opens the store, connects the modules, serves, stops in order.
//!
//! Order of a shutdown:
//! 1. Live streams end, and the server accepts no new connections.
//! 2. Running requests finish, up to a deadline.
//! 3. Running deliveries finish, up to their deadline, and the workers end.
//! 4. The built-in mailbox and the socket of the command line stop.
//! 5. Data in memory (uses of API keys, the request log) is written.
//! 6. The store closes.
//!
//! Reading order:
//! - `router.rs`, `sections.rs`, `description.rs`, `examples.rs`: all routes, and the OpenAPI document;
//! - `services.rs`, `background.rs`, `metrics.rs`, `health.rs`: services of the handlers, workers, metrics and health;
//! - `listening.rs`, `starting.rs`: the listeners and the resolver; responses while the store opens;
//! - `serving.rs`, `stopping.rs`, `error.rs`: serving and the shutdown; the end of the requests.

mod background;
mod description;
mod error;
mod examples;
mod health;
mod listening;
mod metrics;
mod router;
mod sections;
mod services;
mod serving;
mod starting;
mod stopping;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use salvo::conn::tcp::TcpAcceptor;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

pub use description::openapi_json;
pub use error::{ServeError, StartError};

use background::RetentionDays;
use description::ApiDescription;
use health::HealthSources;
use listening::{HttpSocket, bind_http, check_sources, resolver};
use metrics::{MetricSources, MetricsListener};
use services::HttpServices;
use starting::StartingServer;

use crate::admin::{self, AdminListener};
use crate::api_keys::ApiKeys;
use crate::audit::AuditLog;
use crate::base::address::Mailbox as Sender;
use crate::base::clock::Clock;
use crate::base::wakeup::Wakeup;
use crate::broadcasts::check::BroadcastChecks;
use crate::broadcasts::{BroadcastWorker, BroadcastWorkerSettings, Broadcasts, SendEstimates, SendFigures};
use crate::config::host::OwnHosts;
use crate::config::{Config, WebhookConfig};
use crate::contact_properties::ContactProperties;
use crate::contacts::Contacts;
use crate::context::Context;
use crate::dashboard::{AccessSettings, DashboardAssets, DashboardInstance, HealthReports};
use crate::deliverability::TeamDeliverability;
use crate::delivery::capture::{CaptureListener, CaptureMailbox};
use crate::delivery::{Engine, QueueControl, QueueNotifier};
use crate::dns::Resolver;
use crate::doctor::Doctor;
use crate::domains::Domains;
use crate::email_metrics::{CountCheck, EmailMetrics};
use crate::emails::{EmailIndex, EmailLimits, Emails, Idempotency, RemoteFiles};
use crate::erasure::Erasures;
use crate::http::{
    BodyLimits, ConnectionLimits, Cors, Edge, Health, HttpCounters, Metrics, RateLimiter, ResponseLimits,
};
use crate::ingest::Ingest;
use crate::insights::{InsightWorker, Insights};
use crate::live::EventStreams;
use crate::logs::{Logs, RequestLog};
use crate::preferences::{PreferenceLinks, Preferences};
use crate::segments::Segments;
use crate::store::{OpenOptions, open_in_time};
use crate::suppressions::Suppressions;
use crate::team_removal::TeamRemovals;
use crate::templates::Templates;
use crate::topics::Topics;
use crate::tracking::api::{HitRecorder, TrackingHostGuard};
use crate::usage::{SdkUses, Usage};
use crate::users::Accounts;
use crate::webhooks::{DispatchNotifier, WebhookDispatcher, Webhooks};
use crate::workers::WorkerFailures;
use crate::{broadcast_rows, domains, emails, http_client, teams};

/// Maximum size of a request body without emails.
const OTHER_BODY_BYTES_MAX: usize = 4 << 20;
/// Time that running requests get to finish after the stop.
const REQUESTS_STOP_TIMEOUT: Duration = Duration::from_secs(10);
/// Time to write small responses after the last running request.
const RESPONSES_STOP_TIMEOUT: Duration = Duration::from_millis(500);

/// An instance with bound listeners and an open store. It does not serve yet.
pub struct App {
    http: TcpAcceptor,
    address: SocketAddr,
    metrics: Option<MetricsListener>,
    admin: AdminListener,
    capture: (CaptureListener, Arc<CaptureMailbox>),
    capture_address: SocketAddr,
    parts: Parts,
    service: salvo::Service,
}

/// Modules that work until the shutdown is complete.
struct Parts {
    context: Context,
    services: admin::AdminServices,
    idempotency: Arc<Idempotency>,
    email_index: Arc<EmailIndex>,
    health_reports: Arc<HealthReports>,
    count_check: Arc<CountCheck>,
    insights: Arc<InsightWorker>,
    broadcasts: Arc<BroadcastWorker>,
    send_figures: Arc<SendFigures>,
    engine: Arc<Engine>,
    queue_notifier: QueueNotifier,
    erasures: Arc<Erasures>,
    segments: Arc<Segments>,
    dispatcher: Arc<WebhookDispatcher>,
    webhooks: Arc<Webhooks>,
    log: Arc<RequestLog>,
    system_from: Option<Sender>,
    retention: RetentionDays,
    requests: TaskTracker,
    in_flight: TaskTracker,
    worker_failures: Arc<WorkerFailures>,
    counters: Arc<HttpCounters>,
    limits: ConnectionLimits,
    live: Arc<EventStreams>,
    work: CancellationToken,
}

impl App {
    /// Binds the listeners, opens the store and connects the modules. If the store opens slowly, requests get status 503
    /// meanwhile. After that they wait for [`App::serve`].
    ///
    /// # Errors
    /// [`StartError`]. Its message names the setting to change.
    pub async fn start(config: Config, clock: Clock) -> Result<Self, StartError> {
        check_sources(&config)?;
        // The addresses are bound first, so that an address in use does not leave a new store behind.
        let HttpSocket { address, starting, ready: http } = bind_http(config.listen, "--listen")?;
        let metrics = config.metrics_listen.map(|address| bind_http(address, "--metrics-listen")).transpose()?;
        let limits = ConnectionLimits {
            client_connections_max: config.address_connections_max,
            trusted_proxies: config.trusted_proxies.clone(),
            ..ConnectionLimits::default()
        };
        let starting = StartingServer::spawn(starting, limits.clone());
        let capture = CaptureMailbox::bind(config.capture_smtp).await.map_err(|error| StartError::Listen {
            address: config.capture_smtp,
            flag: "--capture-smtp",
            error,
        })?;
        let capture_address = capture.local_addr();
        let options = OpenOptions {
            directory: config.data_dir.clone(),
            kind: config.purpose.kind(),
            cache_bytes: config.cache_bytes,
        };
        let key_file = config.master_key_file.clone();
        let (store, keyring) = open_in_time(options, key_file).await?;
        store.set_disk_reserve(config.disk_reserve).await;
        starting.stop().await;
        let context = Context::new(store, clock, keyring);
        teams::ensure_any(&context).await?;

        let mailbox = Arc::new(CaptureMailbox::new(context.clone()));
        let admin =
            AdminListener::bind(&config.data_dir, config.runtime_dir.as_deref()).map_err(StartError::AdminSocket)?;

        let resolver = resolver(&config)?;
        let queue_notifier = QueueNotifier::default();
        let links = PreferenceLinks::new(context.keyring.clone(), config.link_settings(address));
        let settings = config.delivery_settings(&resolver, capture_address, links.clone());
        let work = CancellationToken::new();
        let engine = Engine::new(context.clone(), settings, queue_notifier.clone(), work.clone());
        let queue = Arc::new(QueueControl::new(context.clone(), queue_notifier.clone(), Some(Arc::clone(&engine))));
        let idempotency = Idempotency::new(context.clone()).with_lifetime(config.idempotency_retention_hours);
        let idempotency = Arc::new(idempotency);
        let estimates = SendEstimates::new(config.send_limits, config.content_retention_days);
        let broadcast_notifier = Arc::<Wakeup>::default();
        let dashboard_url = config.dashboard_url(address);
        let deliverability = Arc::new(TeamDeliverability::new(context.clone(), config.guardrail, &dashboard_url));
        let broadcasts = BroadcastWorkerSettings {
            estimates: estimates.clone(),
            deliver_only: config.routes.deliver_only.clone(),
            guard: deliverability.clone(),
            notifier: broadcast_notifier.clone(),
            queue_notifier: queue_notifier.clone(),
        };
        let broadcasts = Arc::new(BroadcastWorker::new(context.clone(), broadcasts));
        let send_figures = Arc::new(SendFigures::new(context.clone(), Arc::clone(&engine), estimates.clone()));
        let requests = TaskTracker::new();
        let notifier = queue_notifier.clone();
        let emails = Emails::new(context.clone(), notifier, Arc::clone(&idempotency), requests.clone(), links.clone());
        let emails = emails.delivering_only(config.routes.deliver_only.clone()).guarded_by(deliverability.clone());
        let emails = Arc::new(emails);
        let api_keys = ApiKeys::load(context.clone(), requests.clone(), |tx, team, id| domains::exists(tx, team, id))?;
        let settings = config.domain_settings(address);
        let domains = Domains::new(context.clone(), Resolver::clone(&resolver), settings, Arc::clone(&api_keys));
        let segments =
            Arc::new(Segments::new(context.clone(), |tx, team, id| broadcast_rows::uses_segment(tx, team, id)));
        let broadcast_service = Arc::new(Broadcasts::new(
            context.clone(),
            links.clone(),
            Arc::clone(&segments),
            estimates,
            deliverability.clone(),
            broadcast_notifier,
        ));
        let dispatch_notifier = DispatchNotifier::default();
        let WebhookConfig { dispatch, policy } = config.webhooks.clone();
        let webhooks = Arc::new(Webhooks::new(context.clone(), dispatch_notifier.clone(), policy.clone()));
        let client = |policy| {
            let timeouts = http_client::HttpTimeouts::default();
            http_client::HttpClient::new(Resolver::clone(&resolver), policy, timeouts).map_err(StartError::Tls)
        };
        let remote_files = RemoteFiles::new(client(config.file_policy.clone())?);
        let link_client = client(BroadcastChecks::link_policy(config.file_policy.clone()))?;
        let broadcast_checks = Arc::new(BroadcastChecks::new(context.clone(), Arc::clone(&emails), link_client));
        let client = client(policy)?;
        let dispatcher = Arc::new(WebhookDispatcher::new(context.clone(), dispatch_notifier, client, dispatch));
        let log = RequestLog::new(context.clone(), config.request_log, requests.clone());
        let erasures = Arc::new(Erasures::new(context.clone(), log.pending_entries()));
        let live = Arc::new(EventStreams::new(context.event_bus.clone(), requests.clone()));
        let email_limits = EmailLimits { attachment_bytes_max: config.attachment_bytes_max };
        let body_limits = BodyLimits::new(config.body_bytes_max, OTHER_BODY_BYTES_MAX, config.body_budget_bytes);
        let ApiDescription { openapi, query_parameters } = description::of_api();
        let logs = Arc::new(Logs::new(context.clone(), Arc::clone(&log)));
        let suppressions = Arc::new(Suppressions::new(context.clone()));
        let in_flight = TaskTracker::new();
        let counters = Arc::<HttpCounters>::default();
        let count_check = Arc::new(CountCheck::new(context.clone()));
        let proxies = config.trusted_proxies.clone();
        let hit_recorder =
            Arc::new(HitRecorder::new(context.clone(), config.prefetch_window, proxies, requests.clone()));
        let doctor = Doctor::new(config.doctor_settings(), Ok(Resolver::clone(&resolver)));
        let doctor = Arc::new(doctor.with_store(&context.store, &domains, &deliverability, Some(&engine)));
        let sources = MetricSources {
            doctor: Arc::clone(&doctor),
            hits: Arc::clone(&hit_recorder),
            store: context.store.clone(),
            engine: Arc::clone(&engine),
            dispatcher: Arc::clone(&dispatcher),
            http: Arc::clone(&counters),
            count_check: Arc::clone(&count_check),
            started_ms: context.now_ms(),
        };
        let worker_failures = Arc::new(WorkerFailures::default());
        let health = HealthSources {
            store: context.store.clone(),
            engine: Arc::clone(&engine),
            workers: Arc::clone(&worker_failures),
            queue_age_max: config.queue_age_max,
        };
        let public_url = config.public_url(address);
        let accounts = Arc::new(Accounts::new(context.clone()));
        let assets = Arc::new(DashboardAssets::new(config.ui_dir.clone()));
        let health = Arc::new(Health::new(move || health.problems()));
        let health_reports = Arc::new(HealthReports::new(context.clone(), Arc::clone(&doctor), Arc::clone(&health)));
        let instance = DashboardInstance {
            context: context.clone(),
            kind: config.purpose.kind(),
            delivery: config.delivery.as_str(),
            release: config.routes.release.clone(),
            base_url: public_url.clone(),
            first_key: admin::first_key(&config.purpose, &context.keyring),
            queue_notifier: queue_notifier.clone(),
        };
        let services = Arc::new(HttpServices {
            access_settings: Arc::new(AccessSettings::new(&config, &public_url, assets.base_path())),
            accounts: Arc::clone(&accounts),
            api_keys: Arc::clone(&api_keys),
            audit: Arc::new(AuditLog::new(context.clone())),
            body_limits: Arc::new(body_limits),
            broadcast_checks: Arc::clone(&broadcast_checks),
            broadcasts: Arc::clone(&broadcast_service),
            capture: Arc::clone(&mailbox),
            compat: Arc::new(config.compat),
            contact_properties: Arc::new(ContactProperties::new(context.clone())),
            contacts: Arc::new(Contacts::new(context.clone())),
            dashboard_assets: Arc::clone(&assets),
            dashboard_instance: Arc::new(instance),
            deliverability: Arc::clone(&deliverability),
            domains: Arc::clone(&domains),
            email_limits: Arc::new(email_limits),
            email_metrics: Arc::new(EmailMetrics::new(context.clone(), emails::METRIC_LOOKUPS)),
            emails: Arc::clone(&emails),
            engine: Arc::clone(&engine),
            erasures: Arc::clone(&erasures),
            event_streams: Arc::clone(&live),
            health_reports: Arc::clone(&health_reports),
            health,
            hit_recorder,
            ingest: Arc::new(Ingest::new(context.clone(), config.ingest_secret.clone())),
            insights: Arc::new(Insights::new(context.clone())),
            logs: Arc::clone(&logs),
            metrics: Arc::new(Metrics::new(move || sources.render(), config.trusted_proxies.clone())),
            openapi,
            own_hosts: Arc::new(OwnHosts::new(&public_url, &config.dashboard_hosts)),
            preferences: Arc::new(Preferences::new(context.clone(), links.clone(), emails::OPT_OUT_COUNTS)),
            query_parameters,
            queue: Arc::clone(&queue),
            rate_limiter: Arc::new(RateLimiter::new(config.rate_limit, context.clock.clone())),
            remote_files: Arc::new(remote_files),
            request_log: Arc::clone(&log),
            response_limits: Arc::new(ResponseLimits::new(in_flight.clone())),
            sdk_uses: SdkUses::new(context.clone(), requests.clone()),
            segments: Arc::clone(&segments),
            suppressions: Arc::clone(&suppressions),
            templates: Arc::new(Templates::new(context.clone())),
            topics: Arc::new(Topics::new(context.clone(), |tx, team, id| broadcast_rows::uses_topic(tx, team, id))),
            usage: Arc::new(Usage::new(context.clone(), dashboard_url.clone())),
            webhooks: Arc::clone(&webhooks),
        });
        let cors = Cors::parse(&config.cors_origins.join(","));
        let edge = |cors| Edge {
            services: Arc::clone(&services),
            limiter: Arc::clone(&services.rate_limiter),
            ids: context.ids.clone(),
            cors,
            counters: Arc::clone(&counters),
            in_flight: in_flight.clone(),
        };
        let hosts = TrackingHostGuard::new(context.store.clone(), Arc::clone(&services.own_hosts));
        let service = router::service(edge(cors), context.store.clone(), hosts);
        let metrics = metrics.map(|HttpSocket { address, ready: http, .. }| {
            let service = router::metrics_service(edge(Cors::Off));
            MetricsListener { http, address, service }
        });
        let team_removals = TeamRemovals::new(context.clone(), Arc::clone(&api_keys), Arc::clone(&webhooks));
        let services = admin::AdminServices {
            context: context.clone(),
            kind: config.purpose.kind(),
            api: Some(crate::config::local_url(address)),
            dashboard_url,
            accounts,
            api_keys,
            broadcasts: broadcast_service,
            broadcast_checks,
            deliverability,
            emails,
            email_limits,
            compat: config.compat,
            domains,
            suppressions,
            logs,
            webhooks: Arc::clone(&webhooks),
            team_removals: Arc::new(team_removals),
            queue_notifier: queue_notifier.clone(),
            release: config.routes.release.clone(),
            doctor,
            mailbox: Arc::clone(&mailbox),
            queue,
        };
        let parts = Parts {
            email_index: Arc::new(EmailIndex::new(context.clone())),
            health_reports,
            count_check,
            insights: Arc::new(InsightWorker::new(context.clone(), &links)),
            broadcasts,
            send_figures,
            context,
            services,
            idempotency,
            engine,
            queue_notifier,
            erasures,
            segments,
            webhooks,
            dispatcher,
            log,
            retention: RetentionDays::of(&config),
            system_from: config.system_from,
            requests,
            in_flight,
            worker_failures,
            counters,
            limits,
            live,
            work,
        };
        Ok(Self { http, address, metrics, admin, capture: (capture, mailbox), capture_address, parts, service })
    }
}

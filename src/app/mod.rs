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
//! Reading order: `router.rs` (all routes), `examples.rs` (examples of the OpenAPI document), `services.rs` (services
//! of the handlers), `listening.rs` (the listeners and the resolver), `starting.rs` (responses while the store opens),
//! `background.rs` (the workers), `metrics.rs` (the metrics), `health.rs`, `stopping.rs` (the end of the requests),
//! `error.rs`.

mod background;
mod error;
mod examples;
mod health;
mod listening;
mod metrics;
mod router;
mod services;
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
use tracing::info;

pub use error::{ServeError, StartError};
pub use router::openapi_json;

use background::{RetentionDays, start_workers};
use health::HealthSources;
use listening::{HttpSocket, bind_http, check_sources, resolver};
use metrics::{MetricSources, MetricsListener};
use services::HttpServices;
use starting::StartingServer;
use stopping::requests_finished;

use crate::admin::{self, AdminListener};
use crate::api_keys::ApiKeys;
use crate::base::address::Mailbox as Sender;
use crate::base::clock::Clock;
use crate::config::{Config, WebhookConfig};
use crate::contact_properties::ContactProperties;
use crate::contacts::Contacts;
use crate::context::Context;
use crate::dashboard::Hosts;
use crate::delivery::capture::{CaptureListener, CaptureMailbox};
use crate::delivery::{Engine, QueueControl, QueueNotifier};
use crate::dns::Resolver;
use crate::doctor::Doctor;
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails, Idempotency, RemoteFiles};
use crate::erasure::Erasures;
use crate::http::{
    BodyLimits, ConnectionLimits, Cors, Edge, Health, HttpCounters, Metrics, RateLimiter, ResponseLimits,
};
use crate::ingest::Ingest;
use crate::live::EventStreams;
use crate::logs::{Logs, RequestLog};
use crate::preferences::{Links, Preferences};
use crate::segments::Segments;
use crate::store::{OpenOptions, open_in_time};
use crate::suppressions::Suppressions;
use crate::team_removal::TeamRemovals;
use crate::topics::Topics;
use crate::usage::Usage;
use crate::webhooks::{DispatchNotifier, WebhookDispatcher, Webhooks};
use crate::workers::WorkerFailures;
use crate::{domains, http_client, teams};

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
        store.set_disk_reserve(config.disk_reserve_bytes).await;
        starting.stop().await;
        let context = Context::new(store, clock, keyring);
        teams::ensure_any(&context).await?;

        let mailbox = Arc::new(CaptureMailbox::new(context.clone()));
        let admin =
            AdminListener::bind(&config.data_dir, config.runtime_dir.as_deref()).map_err(StartError::AdminSocket)?;

        let resolver = resolver(&config)?;
        let queue_notifier = QueueNotifier::default();
        let links = Links::new(context.keyring.clone(), config.link_settings(address));
        let settings = config.delivery_settings(&resolver, capture_address, links.clone());
        let work = CancellationToken::new();
        let engine = Engine::new(context.clone(), settings, queue_notifier.clone(), work.clone());
        let queue = Arc::new(QueueControl::new(context.clone(), queue_notifier.clone(), Some(Arc::clone(&engine))));
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let requests = TaskTracker::new();
        let notifier = queue_notifier.clone();
        let emails = Emails::new(context.clone(), notifier, Arc::clone(&idempotency), requests.clone(), links.clone());
        let emails = Arc::new(emails.delivering_only(config.routes.deliver_only.clone()));
        let api_keys = ApiKeys::load(context.clone(), requests.clone(), |tx, team, id| domains::exists(tx, team, id))?;
        let settings = config.domain_settings(address);
        let domains = Domains::new(context.clone(), Resolver::clone(&resolver), settings, Arc::clone(&api_keys));
        let segments = Arc::new(Segments::new(context.clone()));
        let dispatch_notifier = DispatchNotifier::default();
        let WebhookConfig { dispatch, policy } = config.webhooks.clone();
        let webhooks = Arc::new(Webhooks::new(context.clone(), dispatch_notifier.clone(), policy.clone()));
        let client = |policy| {
            let timeouts = http_client::HttpTimeouts::default();
            http_client::Client::new(Resolver::clone(&resolver), policy, timeouts).map_err(StartError::Tls)
        };
        let remote_files = RemoteFiles::new(client(config.file_policy.clone())?);
        let client = client(policy)?;
        let dispatcher = Arc::new(WebhookDispatcher::new(context.clone(), dispatch_notifier, client, dispatch));
        let log = RequestLog::new(context.clone(), config.request_log, requests.clone());
        let erasures = Arc::new(Erasures::new(context.clone(), log.pending_entries()));
        let live = Arc::new(EventStreams::new(context.event_bus.clone(), requests.clone()));
        let email_limits = EmailLimits { attachment_bytes_max: config.attachment_bytes_max };
        let body_limits = BodyLimits::new(config.body_bytes_max, OTHER_BODY_BYTES_MAX, config.body_budget_bytes);
        let router::ApiDescription { openapi, query_parameters } = router::description();
        let logs = Arc::new(Logs::new(context.clone(), Arc::clone(&log)));
        let suppressions = Arc::new(Suppressions::new(context.clone()));
        let in_flight = TaskTracker::new();
        let counters = Arc::<HttpCounters>::default();
        let sources = MetricSources {
            store: context.store.clone(),
            engine: Arc::clone(&engine),
            dispatcher: Arc::clone(&dispatcher),
            http: Arc::clone(&counters),
            started_ms: context.now_ms(),
        };
        let worker_failures = Arc::new(WorkerFailures::default());
        let health = HealthSources {
            store: context.store.clone(),
            engine: Arc::clone(&engine),
            workers: Arc::clone(&worker_failures),
            queue_age_max: config.queue_age_max,
        };
        let services = Arc::new(HttpServices {
            api_keys: Arc::clone(&api_keys),
            body_limits: Arc::new(body_limits),
            compat: Arc::new(config.compat),
            contact_properties: Arc::new(ContactProperties::new(context.clone())),
            contacts: Arc::new(Contacts::new(context.clone())),
            dashboard_hosts: Arc::new(Hosts::new(&config.public_url(address), &config.dashboard_hosts)),
            domains: Arc::clone(&domains),
            email_limits: Arc::new(email_limits),
            emails: Arc::clone(&emails),
            erasures: Arc::clone(&erasures),
            event_streams: Arc::clone(&live),
            health: Arc::new(Health::new(move || health.problems())),
            ingest: Arc::new(Ingest::new(context.clone(), config.ingest_secret.clone())),
            logs: Arc::clone(&logs),
            metrics: Arc::new(Metrics::new(move || sources.render(), config.trusted_proxies.clone())),
            openapi,
            preferences: Arc::new(Preferences::new(context.clone(), links.clone())),
            query_parameters,
            queue: Arc::clone(&queue),
            rate_limiter: Arc::new(RateLimiter::new(config.rate_limit, context.clock.clone())),
            remote_files: Arc::new(remote_files),
            request_log: Arc::clone(&log),
            response_limits: Arc::new(ResponseLimits::new(in_flight.clone())),
            segments: Arc::clone(&segments),
            suppressions: Arc::clone(&suppressions),
            topics: Arc::new(Topics::new(context.clone())),
            usage: Arc::new(Usage::new(context.clone(), config.dashboard_url(address))),
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
        let service = router::service(edge(cors), context.store.clone());
        let metrics = metrics.map(|HttpSocket { address, ready: http, .. }| {
            let service = router::metrics_service(edge(Cors::Off));
            MetricsListener { http, address, service }
        });
        let team_removals = TeamRemovals::new(context.clone(), Arc::clone(&api_keys), Arc::clone(&webhooks));
        let doctor = Doctor {
            settings: config.doctor_settings(),
            resolver: Ok(Resolver::clone(&resolver)),
            domains: Some(Arc::clone(&domains)),
            engine: Some(Arc::clone(&engine)),
        };
        let services = admin::AdminServices {
            context: context.clone(),
            kind: config.purpose.kind(),
            api: Some(crate::config::local_url(address)),
            api_keys,
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
            doctor: Arc::new(doctor),
            queue,
        };
        let retention = RetentionDays {
            content: config.content_retention_days,
            emails: config.email_retention_days,
            attempts: config.attempt_retention_days,
            deliveries: config.webhook_delivery_retention_days,
            logs: config.log_retention_days,
        };
        let parts = Parts {
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
            system_from: config.system_from,
            retention,
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

    /// Returns the bound address of the API.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the bound address of `--metrics-listen`.
    pub fn metrics_address(&self) -> Option<SocketAddr> {
        self.metrics.as_ref().map(|listener| listener.address)
    }

    /// Returns the bound address of the built-in mailbox.
    pub fn capture_address(&self) -> SocketAddr {
        self.capture_address
    }

    /// Returns the services that execute requests of the command line.
    pub fn services(&self) -> &admin::AdminServices {
        &self.parts.services
    }

    /// Returns the notifier of the delivery queue. Tests wake the engine with it after they set the clock.
    pub fn queue_notifier(&self) -> QueueNotifier {
        self.parts.queue_notifier.clone()
    }

    /// Serves until `stop`, then shuts down.
    ///
    /// # Errors
    /// [`ServeError`] if a worker keeps failing or the store fails. The shutdown is complete in this case
    /// too.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), ServeError> {
        let Self { http, address, metrics, admin, capture, capture_address: _, parts, service } = self;
        let mut workers = start_workers(&parts);
        let listeners = CancellationToken::new();
        let tasks = TaskTracker::new();
        let (capture, mailbox) = capture;
        tasks.spawn(CaptureMailbox::serve(capture, mailbox, listeners.clone()));
        tasks.spawn(admin::serve(admin, parts.services.clone(), listeners.clone()));

        let server = parts.limits.clone().server(http, Arc::clone(&parts.counters));
        let handle = server.handle();
        let serving = tasks.spawn(server.serve(service));
        info!("serving on {address}");
        let metrics = metrics.map(|listener| listener.serve(parts.limits.clone(), Arc::clone(&parts.counters), &tasks));

        let failed = tokio::select! {
            () = stop.cancelled() => None,
            ended = workers.wait() => ended.err().map(ServeError::Worker),
            error = parts.context.store.failed() => Some(ServeError::Store(error)),
        };
        // A live stream is a request that does not end by itself.
        parts.live.stop();
        handle.stop_graceful(REQUESTS_STOP_TIMEOUT);
        if let Some(handle) = metrics {
            handle.stop_forceful();
        }
        parts.in_flight.close();
        let idle = requests_finished(&parts.in_flight, RESPONSES_STOP_TIMEOUT);
        tokio::pin!(serving);
        // The server enforces the deadline and logs a panic itself.
        tokio::select! {
            _ = &mut serving => {}
            // The connections that are left have no request, or one whose head is not complete.
            () = idle => {
                handle.stop_forceful();
                let _ = serving.await;
            }
        }
        parts.requests.close();
        parts.requests.wait().await;
        parts.work.cancel();
        let ended = workers.wait().await;
        // A worker may have left a task, such as a write of API key uses that the stop interrupted.
        parts.requests.wait().await;
        // The mailbox stops after the workers, because running deliveries may go to it.
        listeners.cancel();
        tasks.close();
        tasks.wait().await;
        if let Err(error) = parts.services.api_keys.flush_uses().await {
            info!(%error, "could not write the last uses of API keys: {error}");
        }
        parts.log.flush().await;
        parts.context.store.close().await;
        failed.map_or(ended.map_err(ServeError::Worker), Err)
    }
}

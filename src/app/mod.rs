//! The one place that wires: opens the store, joins the parts, serves, stops in order.
//!
//! A stop goes: streams end; no new connections; requests under way finish, within a deadline; deliveries under
//! way finish, within theirs; workers end; what is remembered in memory alone is written; the last
//! commit; the file is closed.
//!
//! `listening.rs` the listener and the resolver; `background.rs` the workers; `error.rs` why an
//! instance does not start or stops.

mod background;
mod error;
mod listening;
mod router;
mod services;

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
use listening::{bind_http, resolver};
use services::HttpServices;

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
use crate::delivery::{Engine, QueueNotifier};
use crate::dns::Resolver;
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails, Idempotency};
use crate::http::{BodyLimits, ConnectionLimits, Cors, OpenApiJson, QueryParameters, RateLimiter};
use crate::ingest::Ingest;
use crate::live::EventStreams;
use crate::logs::{Logs, RequestLog};
use crate::preferences::{Links, Preferences};
use crate::segments::Segments;
use crate::store::{OpenOptions, open_in_time};
use crate::suppressions::Suppressions;
use crate::topics::Topics;
use crate::usage::Usage;
use crate::webhooks::{DispatchNotifier, WebhookDispatcher, Webhooks};
use crate::{domains, http_client, teams};

/// Bytes of a request body that carries no emails.
const OTHER_BODY_BYTES_MAX: usize = 4 << 20;
/// How long requests under way may take after the stop.
const REQUESTS_END_WITHIN: Duration = Duration::from_secs(10);

/// An instance that is bound and wired, and not yet serving.
pub struct App {
    http: TcpAcceptor,
    address: SocketAddr,
    admin: AdminListener,
    capture: (CaptureListener, Arc<CaptureMailbox>),
    capture_address: SocketAddr,
    parts: Parts,
    service: salvo::Service,
}

/// What outlives the listeners.
struct Parts {
    context: Context,
    services: admin::AdminServices,
    idempotency: Arc<Idempotency>,
    engine: Arc<Engine>,
    queue_notifier: QueueNotifier,
    segments: Arc<Segments>,
    dispatcher: Arc<WebhookDispatcher>,
    webhooks: Arc<Webhooks>,
    log: Arc<RequestLog>,
    system_from: Option<Sender>,
    retention: RetentionDays,
    requests: TaskTracker,
    live: Arc<EventStreams>,
}

impl App {
    /// Binds the listeners, opens the store and joins the parts.
    ///
    /// # Errors
    /// [`StartError`], whose sentence names what would help.
    pub async fn start(config: Config, clock: Clock) -> Result<Self, StartError> {
        // The addresses come first: one that is taken leaves no new store behind.
        let (http, address) = bind_http(config.listen)?;
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
        let context = Context::new(store, clock, keyring);
        teams::ensure_any(&context).await?;

        let mailbox = Arc::new(CaptureMailbox::new(context.clone()));
        let admin =
            AdminListener::bind(&config.data_dir, config.runtime_dir.as_deref()).map_err(StartError::AdminSocket)?;

        let resolver = resolver(&config)?;
        let bell = QueueNotifier::default();
        let links = Links::new(context.keyring.clone(), config.link_settings(address));
        let settings = config.delivery_settings(&resolver, capture_address, links.clone());
        let engine = Engine::new(context.clone(), settings, bell.clone());
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let requests = TaskTracker::new();
        let emails =
            Emails::new(context.clone(), bell.clone(), Arc::clone(&idempotency), requests.clone(), links.clone());
        let emails = Arc::new(emails);
        let api_keys = ApiKeys::load(context.clone(), requests.clone(), |tx, team, id| domains::exists(tx, team, id))?;
        let settings = config.domain_settings(address);
        let domains = Domains::new(context.clone(), Resolver::clone(&resolver), settings, Arc::clone(&api_keys));
        let segments = Arc::new(Segments::new(context.clone()));
        let webhook_bell = DispatchNotifier::default();
        let WebhookConfig { dispatch, policy } = config.webhooks.clone();
        let webhooks = Arc::new(Webhooks::new(context.clone(), webhook_bell.clone(), policy.clone()));
        let client = http_client::Client::new(Resolver::clone(&resolver), policy, http_client::HttpTimeouts::default())
            .map_err(StartError::Tls)?;
        let dispatcher = Arc::new(WebhookDispatcher::new(context.clone(), webhook_bell, client, dispatch));
        let log = RequestLog::new(context.clone(), config.request_log, requests.clone());
        let live = Arc::new(EventStreams::new(context.event_bus.clone(), requests.clone()));
        let email_limits = EmailLimits { attachment_bytes_max: config.attachment_bytes_max };
        let body_limits = BodyLimits::new(config.body_bytes_max, OTHER_BODY_BYTES_MAX, config.body_budget_bytes);
        let openapi = router::openapi_document();
        let services = Arc::new(HttpServices {
            api_keys: Arc::clone(&api_keys),
            body_limits: Arc::new(body_limits),
            contact_properties: Arc::new(ContactProperties::new(context.clone())),
            contacts: Arc::new(Contacts::new(context.clone())),
            dashboard_hosts: Arc::new(Hosts::new(&config.public_url(address), &config.dashboard_hosts)),
            domains: Arc::clone(&domains),
            email_limits: Arc::new(email_limits),
            emails: Arc::clone(&emails),
            event_streams: Arc::clone(&live),
            ingest: Arc::new(Ingest::new(context.clone(), config.ingest_secret.clone())),
            logs: Arc::new(Logs::new(context.clone(), Arc::clone(&log))),
            openapi: Arc::new(OpenApiJson::new(&openapi)),
            preferences: Arc::new(Preferences::new(context.clone(), links.clone())),
            query_parameters: Arc::new(QueryParameters::of(&openapi)),
            rate_limiter: Arc::new(RateLimiter::new(config.rate_limit, context.clock.clone())),
            request_log: Arc::clone(&log),
            segments: Arc::clone(&segments),
            suppressions: Arc::new(Suppressions::new(context.clone())),
            topics: Arc::new(Topics::new(context.clone())),
            usage: Arc::new(Usage::new(context.clone(), config.dashboard_url(address))),
            webhooks: Arc::clone(&webhooks),
        });
        let cors = Cors::parse(&config.cors_origins.join(","));
        let service = router::service(services, context.ids.clone(), cors);
        let services = admin::AdminServices {
            context: context.clone(),
            kind: config.purpose.kind(),
            api: Some(crate::config::local_url(address)),
            api_keys,
            emails,
            email_limits,
            domains,
            webhooks: Arc::clone(&webhooks),
        };
        let retention = RetentionDays {
            content: config.content_retention_days,
            emails: config.email_retention_days,
            deliveries: config.webhook_delivery_retention_days,
            logs: config.log_retention_days,
        };
        let parts = Parts {
            context,
            services,
            idempotency,
            engine,
            queue_notifier: bell,
            segments,
            webhooks,
            dispatcher,
            log,
            system_from: config.system_from,
            retention,
            requests,
            live,
        };
        Ok(Self { http, address, admin, capture: (capture, mailbox), capture_address, parts, service })
    }

    /// Returns the address of the API.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Returns the address of the built-in mailbox.
    pub fn capture_address(&self) -> SocketAddr {
        self.capture_address
    }

    /// Returns what the command line's requests are answered from.
    pub fn services(&self) -> &admin::AdminServices {
        &self.parts.services
    }

    /// Returns what wakes the delivery engine after the time has been turned by hand.
    pub fn queue_notifier(&self) -> QueueNotifier {
        self.parts.queue_notifier.clone()
    }

    /// Serves until `stop`, then stops in order.
    ///
    /// # Errors
    /// [`ServeError`] when a worker keeps failing or the store has failed; everything has been stopped then too.
    pub async fn serve(self, stop: CancellationToken) -> Result<(), ServeError> {
        let Self { http, address, admin, capture, capture_address: _, parts, service } = self;
        let work = CancellationToken::new();
        let mut workers = start_workers(&parts, work.clone());
        let listeners = CancellationToken::new();
        let tasks = TaskTracker::new();
        let (capture, mailbox) = capture;
        tasks.spawn(CaptureMailbox::serve(capture, mailbox, listeners.clone()));
        tasks.spawn(admin::serve(admin, parts.services.clone(), listeners.clone()));

        let server = ConnectionLimits::default().server(http);
        let handle = server.handle();
        let serving = tasks.spawn(server.serve(service));
        info!("serving on {address}");

        let failed = tokio::select! {
            () = stop.cancelled() => None,
            ended = workers.wait() => ended.err().map(ServeError::Worker),
            error = parts.context.store.failed() => Some(ServeError::Store(error)),
        };
        // A stream is a request that would not end by itself.
        parts.live.stop();
        handle.stop_graceful(REQUESTS_END_WITHIN);
        // The deadline is the server's own; a panic in it has been logged.
        let _ = serving.await;
        parts.requests.close();
        parts.requests.wait().await;
        work.cancel();
        let ended = workers.wait().await;
        // What a worker left behind, such as a write of uses that its stop cut off.
        parts.requests.wait().await;
        // The mailbox goes last: deliveries under way may be on their way to it.
        listeners.cancel();
        tasks.close();
        tasks.wait().await;
        if let Err(error) = parts.services.api_keys.flush_uses().await {
            info!(%error, "the last uses of API keys could not be written: {error}");
        }
        parts.log.flush().await;
        parts.context.store.close().await;
        failed.map_or(ended.map_err(ServeError::Worker), Err)
    }
}

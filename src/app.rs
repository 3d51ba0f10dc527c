//! The one place that wires: opens the store, joins the parts, serves, stops in order.
//!
//! A stop goes: no new connections; requests under way finish, within a deadline; deliveries under
//! way finish, within theirs; workers end; what is remembered in memory alone is written; the last
//! commit; the file is closed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use salvo::conn::tcp::TcpAcceptor;
use tokio::net::TcpSocket;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::admin::{self, AdminListener};
use crate::api_keys::ApiKeys;
use crate::clock::{Clock, monotonic};
use crate::config::Config;
use crate::contact_properties::ContactProperties;
use crate::contacts::Contacts;
use crate::context::Context;
use crate::dashboard::Hosts;
use crate::delivery::capture::{CaptureListener, Mailbox};
use crate::delivery::{self, Engine, QueueBell};
use crate::dns::{DnsError, Resolver};
use crate::domains::Domains;
use crate::emails::{EmailLimits, Emails, Idempotency, Retention};
use crate::erasure::Erasures;
use crate::http::{self, BodyLimits, ConnectionLimits, Cors, RateLimiter};
use crate::preferences::{Links, Preferences};
use crate::segments::Segments;
use crate::store::{FILE_NAME, Keyring, OpenError, OpenOptions, Store, StoreError};
use crate::suppressions::Suppressions;
use crate::topics::Topics;
use crate::workers::{Supervisor, WorkerError, every};
use crate::{blocking, teams, usage};

/// Bytes of a request body that carries no emails.
const OTHER_BODY_BYTES_MAX: usize = 4 << 20;
/// Connections that may wait to be accepted.
const LISTEN_BACKLOG: u32 = 1_024;
/// How long requests under way may take after the stop.
const REQUESTS_END_WITHIN: Duration = Duration::from_secs(10);
/// How long a store in use is waited for.
const IN_USE_MAX: Duration = Duration::from_secs(3);
/// The pause between two attempts at it.
const IN_USE_PAUSE: Duration = Duration::from_millis(50);
/// How often uses of API keys are written down.
const KEY_USES_EVERY: Duration = Duration::from_secs(10);
/// How often retention and expired idempotency keys are looked at.
const RETENTION_EVERY: Duration = Duration::from_secs(3600);
/// How often erasures that were asked for are looked for.
const ERASURES_EVERY: Duration = Duration::from_secs(1);

/// Why an instance does not start.
#[derive(Debug)]
pub enum StartError {
    /// The store cannot be opened.
    Store(OpenError),
    /// An address cannot be listened on.
    Listen {
        /// The address.
        address: SocketAddr,
        /// The flag that names another.
        flag: &'static str,
        /// Why.
        error: std::io::Error,
    },
    /// The DNS resolver cannot be set up.
    Resolver(DnsError),
    /// The UNIX socket of the command line cannot be made.
    AdminSocket(std::io::Error),
}

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Store(error) => error.fmt(f),
            Self::Listen { address, flag, error } if error.kind() == std::io::ErrorKind::AddrInUse => {
                write!(f, "{address} is in use by another program; choose another address with {flag}")
            }
            Self::Listen { address, flag, error } => {
                write!(f, "cannot listen on {address} ({error}); choose another address with {flag}")
            }
            Self::Resolver(error) => {
                write!(f, "cannot set up DNS lookups ({error}); name a DNS server with --resolver")
            }
            Self::AdminSocket(error) => {
                write!(f, "cannot make the socket of the command line ({error}); choose another --data-dir")
            }
        }
    }
}

impl std::error::Error for StartError {}

impl From<OpenError> for StartError {
    fn from(error: OpenError) -> Self {
        Self::Store(error)
    }
}

impl From<StoreError> for StartError {
    fn from(error: StoreError) -> Self {
        Self::Store(error.into())
    }
}

/// Why an instance stopped without being asked to.
#[derive(Debug)]
pub enum ServeError {
    /// A worker keeps failing.
    Worker(WorkerError),
    /// The store refuses everything until it is opened again.
    Store(StoreError),
}

impl std::fmt::Display for ServeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Worker(error) => error.fmt(f),
            Self::Store(error) => {
                write!(f, "the store failed ({error}); look at the disk of the data directory, then start again")
            }
        }
    }
}

impl std::error::Error for ServeError {}

/// An instance that is bound and wired, and not yet serving.
pub struct App {
    http: TcpAcceptor,
    address: SocketAddr,
    admin: AdminListener,
    capture: (CaptureListener, Arc<Mailbox>),
    capture_address: SocketAddr,
    parts: Parts,
    service: salvo::Service,
}

/// What outlives the listeners.
struct Parts {
    context: Context,
    services: admin::Services,
    idempotency: Arc<Idempotency>,
    engine: Arc<Engine>,
    bell: QueueBell,
    segments: Arc<Segments>,
    retention: Retention,
    requests: TaskTracker,
}

impl App {
    /// Binds the listeners, opens the store and joins the parts.
    ///
    /// # Errors
    /// [`StartError`], whose sentence names what would help.
    pub async fn start(config: Config, clock: Clock) -> Result<Self, StartError> {
        // The addresses come first: one that is taken leaves no new store behind.
        let (http, address) = bind_http(config.listen)?;
        let capture = Mailbox::bind(config.capture_smtp).await.map_err(|error| StartError::Listen {
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

        let mailbox = Arc::new(Mailbox::new(context.clone()));
        let admin =
            AdminListener::bind(&config.data_dir, config.runtime_dir.as_deref()).map_err(StartError::AdminSocket)?;

        let resolver = resolver(&config)?;
        let bell = QueueBell::default();
        let links = Links::new(context.keyring.clone(), config.link_settings(address));
        let settings = config.delivery_settings(&resolver, capture_address, links.clone());
        let engine = Engine::new(context.clone(), settings, bell.clone());
        let idempotency = Arc::new(Idempotency::new(context.clone()));
        let requests = TaskTracker::new();
        let emails =
            Emails::new(context.clone(), bell.clone(), Arc::clone(&idempotency), requests.clone(), links.clone());
        let emails = Arc::new(emails);
        let api_keys = ApiKeys::load(context.clone(), requests.clone())?;
        let settings = config.domain_settings(address);
        let domains = Domains::new(context.clone(), Resolver::clone(&resolver), settings, Arc::clone(&api_keys));
        let segments = Arc::new(Segments::new(context.clone()));
        let email_limits = EmailLimits { attachment_bytes_max: config.attachment_bytes_max };
        let limiter = Arc::new(RateLimiter::new(config.rate_limit, context.clock.clone()));
        let body_limits = BodyLimits::new(config.body_bytes_max, OTHER_BODY_BYTES_MAX, config.body_budget_bytes);
        let services = http::Services::default()
            .with(Arc::clone(&emails))
            .with(Arc::clone(&api_keys))
            .with(Arc::clone(&domains))
            .with(Arc::new(ContactProperties::new(context.clone())))
            .with(Arc::clone(&segments))
            .with(Arc::new(Topics::new(context.clone())))
            .with(Arc::new(Contacts::new(context.clone())))
            .with(Arc::new(Preferences::new(context.clone(), links.clone())))
            .with(Arc::new(Suppressions::new(context.clone())))
            .with(Arc::new(usage::Usage::new(context.clone(), config.dashboard_url(address))))
            .with(Arc::new(email_limits))
            .with(Arc::new(Hosts::new(&config.public_url(address), &config.dashboard_hosts)))
            .with(Arc::new(body_limits));
        let cors = Cors::parse(&config.cors_origins.join(","));
        let service = http::router::service(services, limiter, context.ids.clone(), cors);
        let services = admin::Services {
            context: context.clone(),
            kind: config.purpose.kind(),
            api: Some(crate::config::local_url(address)),
            api_keys,
            emails,
            email_limits,
            domains,
        };
        let retention = Retention {
            content_days: config.content_retention_days,
            email_days: config.email_retention_days,
            delivery_days: config.webhook_delivery_retention_days,
        };
        let parts = Parts { context, services, idempotency, engine, bell, segments, retention, requests };
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
    pub fn services(&self) -> &admin::Services {
        &self.parts.services
    }

    /// Returns what wakes the delivery engine after the time has been turned by hand.
    pub fn bell(&self) -> QueueBell {
        self.parts.bell.clone()
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
        tasks.spawn(Mailbox::serve(capture, mailbox, listeners.clone()));
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
        parts.context.store.close().await;
        failed.map_or(ended.map_err(ServeError::Worker), Err)
    }
}

fn start_workers(parts: &Parts, stop: CancellationToken) -> Supervisor {
    let mut workers = Supervisor::new(stop);
    let engine = Arc::clone(&parts.engine);
    workers.start("delivery", move |stop| Arc::clone(&engine).run(stop));
    let domains = Arc::clone(&parts.services.domains);
    workers.start("domains", move |stop| Arc::clone(&domains).run(stop));
    let segments = Arc::clone(&parts.segments);
    workers.start("segments", move |stop| Arc::clone(&segments).run(stop));
    let (idempotency, retention, context) = (Arc::clone(&parts.idempotency), parts.retention, parts.context.clone());
    workers.start("retention", move |stop| {
        let (idempotency, context) = (Arc::clone(&idempotency), context.clone());
        async move {
            idempotency.load().await?;
            every(RETENTION_EVERY, stop, || async {
                idempotency.purge().await?;
                delivery::forget_old(&context).await?;
                retention.apply(&context).await
            })
            .await
        }
    });
    let erasures = Arc::new(Erasures::new(parts.context.clone()));
    workers.start("erasure", move |stop| {
        let erasures = Arc::clone(&erasures);
        async move { every(ERASURES_EVERY, stop, || erasures.advance()).await }
    });
    let keys = Arc::clone(&parts.services.api_keys);
    workers.start("api key uses", move |stop| {
        let keys = Arc::clone(&keys);
        async move { every(KEY_USES_EVERY, stop, || keys.flush_uses()).await }
    });
    workers
}

/// Opens the store and its key, and waits for a moment where the store is in use: a verb of the
/// command line holds it while no server runs.
async fn open_in_time(options: OpenOptions, key_file: PathBuf) -> Result<(Store, Keyring), OpenError> {
    let started = monotonic();
    loop {
        let (options, key_file) = (options.clone(), key_file.clone());
        match blocking::run(move || open(&options, &key_file)).await {
            Err(OpenError::InUse(_)) if started.elapsed() < IN_USE_MAX => tokio::time::sleep(IN_USE_PAUSE).await,
            opened => return opened,
        }
    }
}

/// Opens the store and its key. The key comes first, so that a start that is cut off between the
/// two leaves a key without a store, which the next start uses, and never a store without a key.
fn open(options: &OpenOptions, key_file: &Path) -> Result<(Store, Keyring), OpenError> {
    let path = options.directory.join(FILE_NAME);
    if path.is_file() {
        let keyring = Keyring::open_existing(key_file)?;
        return Ok((Store::open(options)?, keyring));
    }
    crate::store::make_directory(&options.directory)
        .map_err(|error| OpenError::Directory(options.directory.clone(), error))?;
    let keyring = Keyring::open(key_file)?;
    Ok((Store::open(options)?, keyring))
}

fn bind_http(address: SocketAddr) -> Result<(TcpAcceptor, SocketAddr), StartError> {
    let listen = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        socket.set_reuseaddr(true)?;
        // Accepted connections inherit it: an answer never waits for the acknowledgement of the last.
        socket.set_nodelay(true)?;
        socket.bind(address)?;
        let listener = socket.listen(LISTEN_BACKLOG)?;
        let bound = listener.local_addr()?;
        Ok((listener.try_into()?, bound))
    };
    listen().map_err(|error| StartError::Listen { address, flag: "--listen", error })
}

fn resolver(config: &Config) -> Result<Arc<Resolver>, StartError> {
    let resolver =
        if config.resolvers.is_empty() { Resolver::system() } else { Resolver::with_servers(&config.resolvers) };
    resolver.map(Arc::new).map_err(StartError::Resolver)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::Kind;

    #[tokio::test]
    async fn a_store_that_is_held_for_a_moment_is_waited_for() {
        let directory = tempfile::tempdir().unwrap();
        let key_file = directory.path().join("master.key");
        let options = OpenOptions { directory: directory.path().to_owned(), kind: Kind::Serve, cache_bytes: 8 << 20 };
        let (held, _) = open(&options, &key_file).unwrap();
        assert!(matches!(open(&options, &key_file), Err(OpenError::InUse(_))));

        let (opened, ()) = tokio::join!(open_in_time(options, key_file), held.close());

        opened.unwrap().0.close().await;
    }
}

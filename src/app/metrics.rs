//! The metrics of an instance. `docs/METRICS.md` describes each of them, and a test compares the two.

use std::net::SocketAddr;
use std::sync::Arc;

use salvo::Service;
use salvo::conn::tcp::TcpAcceptor;
use salvo::server::ServerHandle;
use tokio_util::task::TaskTracker;
use tracing::info;

use crate::base::clock::TimestampMs;
use crate::delivery::{ClassDepth, Engine, SiteDepth};
use crate::doctor::Doctor;
use crate::email_metrics::CountCheck;
use crate::http::{ConnectionLimits, HttpCounters};
use crate::metrics::MetricKind::{Counter, Gauge, Histogram};
use crate::metrics::{MetricsText, ProcessFacts, Samples};
use crate::store::Store;
use crate::tracking::api::HitRecorder;
use crate::webhooks::WebhookDispatcher;

/// Site label of the sites that are not shown by name.
const OTHER_SITES: &str = "other";

/// Maximum number of connections to the listener of the metrics, and of one client among them. Each can hold the text of
/// all metrics, which is some dozens of KiB.
const CONNECTIONS_MAX: usize = 128;
const CLIENT_CONNECTIONS_MAX: usize = 16;

/// The listener of `--metrics-listen`.
pub(super) struct MetricsListener {
    pub(super) http: TcpAcceptor,
    pub(super) address: SocketAddr,
    pub(super) service: Service,
}

impl MetricsListener {
    /// Serves on `tasks` until the returned handle stops it.
    pub(super) fn serve(
        self,
        limits: ConnectionLimits,
        counters: Arc<HttpCounters>,
        tasks: &TaskTracker,
    ) -> ServerHandle {
        let limits = ConnectionLimits {
            connections_max: CONNECTIONS_MAX,
            client_connections_max: Some(CLIENT_CONNECTIONS_MAX),
            trusted_proxies: Vec::new(),
            ..limits
        };
        let server = limits.server(self.http, counters);
        let handle = server.handle();
        tasks.spawn(server.serve(self.service));
        info!("serving metrics on {}", self.address);
        handle
    }
}

/// The parts of an instance that have figures.
pub(super) struct MetricSources {
    pub(super) hits: Arc<HitRecorder>,
    pub(super) store: Store,
    pub(super) engine: Arc<Engine>,
    pub(super) doctor: Arc<Doctor>,
    pub(super) dispatcher: Arc<WebhookDispatcher>,
    pub(super) http: Arc<HttpCounters>,
    pub(super) count_check: Arc<CountCheck>,
    /// Start of the instance.
    pub(super) started_ms: TimestampMs,
}

impl MetricSources {
    /// Returns the text of all metrics. Its cost does not depend on the number of queued emails. Blocks.
    pub(super) fn render(&self) -> String {
        let mut text = MetricsText::default();
        text.metric("ringmail_build_info", Gauge, "Version of the program; the value is 1.")
            .add(&[("version", env!("CARGO_PKG_VERSION"))], 1);
        self.add_queue(&mut text);
        self.add_delivery(&mut text);
        self.add_webhooks(&mut text);
        self.add_tracking(&mut text);
        self.add_http(&mut text);
        let help = "Email counts that differed from the events of their day at the nightly check.";
        text.metric("ringmail_email_count_differences", Gauge, help).add(&[], self.count_check.differences());
        self.add_store(&mut text);
        self.add_process(&mut text);
        text.into_string()
    }

    fn add_queue(&self, text: &mut MetricsText) {
        let depth = self.engine.queue_depth();
        let sites: Vec<(&str, &SiteDepth)> = depth
            .iter()
            .flat_map(|depth| {
                let named = depth.sites.iter().map(|(name, site)| (name.as_str(), site));
                named.chain([(OTHER_SITES, &depth.other)])
            })
            .collect();
        let mut groups = text.metric("ringmail_queue_groups", Gauge, "Queued recipient groups.");
        each_class(&sites, |site, class, depth| {
            for (state, count) in [("due", depth.due), ("later", depth.later)] {
                groups.add(&[("site", site), ("class", class), ("state", state)], count);
            }
        });
        let help = "Time since the oldest due recipient group became due.";
        let mut ages = text.metric("ringmail_queue_oldest_due_seconds", Gauge, help);
        each_class(&sites, |site, class, depth| {
            ages.add(&[("site", site), ("class", class)], seconds(depth.oldest_due_ms));
        });
        let help = "Time since the last count of the queue.";
        let mut age = text.metric("ringmail_queue_count_age_seconds", Gauge, help);
        if let Some(since) = self.engine.queue_depth_age() {
            age.add(&[], since.as_secs_f64());
        }
    }

    fn add_delivery(&self, text: &mut MetricsText) {
        let figures = self.engine.figures();
        text.metric("ringmail_delivery_leased_groups", Gauge, "Recipient groups that are being delivered.")
            .add(&[], figures.leased);
        let help = "SMTP attempts, counted once for each recipient.";
        let mut attempts = text.metric("ringmail_delivery_attempts_total", Counter, help);
        add_each(&mut attempts, "outcome", &figures.attempts);
        let mut openings = text.metric("ringmail_smtp_openings_total", Counter, "SMTP sessions, by their encryption.");
        add_each(&mut openings, "tls", &figures.openings);
        let mut sessions = text.metric("ringmail_smtp_sessions", Gauge, "SMTP sessions, by the state of their site.");
        add_each(&mut sessions, "kind", &figures.sessions);
        text.metric("ringmail_message_memory_bytes", Gauge, "Memory reserved for messages that are being sent.")
            .add(&[], figures.message_bytes);
        let help = "Whether the DNS confirms the EHLO names of direct delivery.";
        let mut confirmed = text.metric("ringmail_ehlo_names_confirmed", Gauge, help);
        if let Some(is_confirmed) = self.doctor.host_names_confirmed() {
            confirmed.add(&[], u8::from(is_confirmed));
        }
    }

    fn add_tracking(&self, text: &mut MetricsText) {
        let help = "Opens and clicks that were not recorded, because the store failed or was too slow.";
        text.metric("ringmail_tracking_hits_lost_total", Counter, help).add(&[], self.hits.lost());
    }

    fn add_webhooks(&self, text: &mut MetricsText) {
        let figures = self.dispatcher.figures();
        let mut attempts = text.metric("ringmail_webhook_attempts_total", Counter, "Requests to webhook endpoints.");
        add_each(&mut attempts, "outcome", &figures.attempts);
        text.metric("ringmail_webhook_requests", Gauge, "Requests to webhook endpoints in flight.")
            .add(&[], figures.requests);
        let help = "Webhook endpoints with queued deliveries at the last scan.";
        text.metric("ringmail_webhook_queues", Gauge, help).add(&[], figures.queues);
        let mut deliveries = text.metric("ringmail_webhook_deliveries", Gauge, "Queued webhook deliveries.");
        if let Some(queued) = &figures.queued {
            add_each(&mut deliveries, "state", &queued.deliveries);
        }
        let help = "Time since the oldest due webhook delivery became due.";
        let mut oldest = text.metric("ringmail_webhook_oldest_due_seconds", Gauge, help);
        if let Some(queued) = &figures.queued {
            oldest.add(&[], seconds(queued.oldest_due_ms));
        }
        let help = "Time since the last count of the webhook deliveries.";
        let mut age = text.metric("ringmail_webhook_count_age_seconds", Gauge, help);
        if let Some(queued) = &figures.queued {
            age.add(&[], seconds(queued.age_ms));
        }
    }

    fn add_http(&self, text: &mut MetricsText) {
        let mut requests = text.metric("ringmail_http_requests_total", Counter, "HTTP requests.");
        for request in self.http.requests() {
            let labels = [("method", request.method), ("route", request.route.as_str()), ("status", request.status)];
            requests.add(&labels, request.count);
        }
        text.metric("ringmail_http_request_seconds", Histogram, "Time from a request head to its response head.")
            .add_histogram(&self.http.seconds());
        text.metric("ringmail_http_connections", Gauge, "Open HTTP connections.")
            .add(&[], self.http.open_connections());
        let help = "HTTP connections that were closed because their address had too many.";
        text.metric("ringmail_http_connections_refused_total", Counter, help).add(&[], self.http.refused_connections());
    }

    fn add_store(&self, text: &mut MetricsText) {
        let figures = self.store.figures();
        text.metric("ringmail_store_file_bytes", Gauge, "Size of the store file.").add(&[], figures.file_bytes);
        let mut free = text.metric("ringmail_store_free_bytes", Gauge, "Free space of its file system.");
        if let Some(free_bytes) = figures.free_bytes {
            free.add(&[], free_bytes);
        }
        text.metric("ringmail_store_commit_seconds", Histogram, "Durations of commits.")
            .add_histogram(&figures.commits);
        let help = "Commands that wait for their commit.";
        let mut waiting = text.metric("ringmail_store_waiting_commands", Gauge, help);
        add_each(&mut waiting, "queue", &[("foreground", figures.waiting_foreground), ("bulk", figures.waiting_bulk)]);
    }

    fn add_process(&self, text: &mut MetricsText) {
        let ProcessFacts { resident_bytes, open_files, open_files_max } = ProcessFacts::read();
        let mut add = |name, help, value: Option<u64>| {
            let mut samples = text.metric(name, Gauge, help);
            if let Some(value) = value {
                samples.add(&[], value);
            }
        };
        let open_files = open_files.and_then(|count| u64::try_from(count).ok());
        add("process_resident_memory_bytes", "Memory of the process.", resident_bytes);
        add("process_open_fds", "Open file descriptors.", open_files);
        add("process_max_fds", "Maximum number of open file descriptors.", open_files_max);
        text.metric("process_start_time_seconds", Gauge, "Start of the process, since the Unix epoch.")
            .add(&[], seconds(self.started_ms));
    }
}

fn each_class(sites: &[(&str, &SiteDepth)], mut visit: impl FnMut(&str, &str, &ClassDepth)) {
    for (site, classes) in sites {
        for (class, depth) in *classes {
            visit(site, class, depth);
        }
    }
}

fn add_each(samples: &mut Samples<'_>, label: &str, values: &[(&'static str, impl std::fmt::Display)]) {
    for (name, value) in values {
        samples.add(&[(label, name)], value);
    }
}

/// Formats milliseconds as seconds.
fn seconds(ms: i64) -> f64 {
    ms as f64 / 1_000.0
}

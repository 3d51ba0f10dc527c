//! Tests of the dispatcher over real connections, with a manual clock.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use self::receiver::Reply;
use super::*;
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::dns::{Guard, Resolver};
use crate::events::{self, AudienceEvent, AudienceKind, AudienceSubject, EventTypes, SuppressionSnapshot};
use crate::http_client::{HttpClient, HttpTimeouts, UrlPolicy};
use crate::store::{Reads as _, StoreError, WriteTx};
use crate::tables::{NOTICES, WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::store::{DeliveryRow, WebhookRow, find, seal_secret};
use crate::webhooks::{DispatchNotifier, ExhaustedReason, SubscribedEvents, WebhookDeliveryState, WebhookStatus};

mod changing;
mod corrupt;
mod delivering;
mod erasing;
mod failing;
mod receiver;
mod retracting;

/// Longest wait of a test.
const DEADLINE: Duration = Duration::from_secs(60);
const TEAM: TeamId = TeamId::from_bytes([7; 16]);
const DOWN: Reply = Reply::Status(503, "");

/// A running dispatcher with its own store.
struct Running {
    _directory: tempfile::TempDir,
    context: Context,
    notifier: DispatchNotifier,
    stop: CancellationToken,
    task: JoinSet<Result<(), StoreError>>,
}

impl Running {
    fn start() -> Self {
        let (directory, context) = Context::temporary();
        Self::over(directory, context, 0)
    }

    fn over(directory: tempfile::TempDir, context: Context, per_second: u32) -> Self {
        let notifier = DispatchNotifier::default();
        let stop = CancellationToken::new();
        let dispatcher = dispatcher(&context, &notifier, per_second);
        let mut task = JoinSet::new();
        task.spawn(dispatcher.run(stop.clone()));
        Self { _directory: directory, context, notifier, stop, task }
    }

    /// Stops the dispatcher as a shutdown does.
    async fn stop(mut self) -> (tempfile::TempDir, Context) {
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap().unwrap();
        (self._directory, self.context)
    }

    /// Advances the clock.
    fn advance(&self, by: Duration) {
        self.context.clock.advance(by);
        self.notifier.rescan_all();
    }

    /// Waits until the rows of all deliveries satisfy a condition.
    async fn until(&self, wanted: impl Fn(&[DeliveryRow]) -> bool) -> Vec<DeliveryRow> {
        let wait = async {
            loop {
                let rows = deliveries(&self.context);
                if wanted(&rows) {
                    return rows;
                }
                // The other tasks run before the next read.
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, wait).await.unwrap_or_else(|_| panic!("{:?}", deliveries(&self.context)))
    }
}

fn dispatcher(context: &Context, notifier: &DispatchNotifier, per_second: u32) -> Arc<WebhookDispatcher> {
    let loopback = "127.0.0.0/8".parse().unwrap();
    let guard = Guard::allowing(vec![loopback]);
    let policy = UrlPolicy { guard, plain_http: true, local_names: true, extra_roots: Vec::new() };
    let resolver = Resolver::with_servers(&[(Ipv4Addr::LOCALHOST, 9).into()]).unwrap();
    let client = HttpClient::new(resolver, policy, HttpTimeouts::default()).unwrap();
    Arc::new(WebhookDispatcher::new(context.clone(), notifier.clone(), client, DispatchSettings { per_second }))
}

/// Creates an endpoint that subscribes to all events.
async fn endpoint(context: &Context, url: &str) -> (WebhookId, WebhookSecret) {
    let (id, secret) = (context.id(), WebhookSecret::generate());
    let row = WebhookRow {
        endpoint: url.to_owned(),
        subscription: SubscribedEvents::All,
        status: WebhookStatus::Enabled,
        activation: 0,
        secret: seal_secret(&context.keyring, id, secret.reveal()),
        previous: None,
    };
    let put = move |tx: &WriteTx<'_>| {
        tx.put(&WEBHOOKS, &(TEAM, id), &row)?;
        events::subscribe(tx, TEAM, (id, 0), EventTypes::all())
    };
    context.commit(put).await;
    (id, secret)
}

/// Records `count` events, each with its own address.
async fn record_events(context: &Context, count: usize) {
    let recording = context.clone();
    let record = move |tx: &WriteTx<'_>| {
        (0..count).try_for_each(|number| {
            let entry = SuppressionSnapshot {
                id: Id::MIN,
                email: format!("r{number}@example.net"),
                origin: "manual".into(),
                source: None,
                created_ms: 0,
            };
            let subject = AudienceSubject::Suppression(entry);
            let event = AudienceEvent { kind: AudienceKind::SuppressionAdded, at_ms: recording.now_ms(), subject };
            events::record_audience(tx, &recording, TEAM, &event)
        })
    };
    context.commit(record).await;
}

fn deliveries(context: &Context) -> Vec<DeliveryRow> {
    context.rows(&WEBHOOK_DELIVERIES).into_iter().map(|(_, row)| row).collect()
}

fn queued(context: &Context) -> Vec<(WebhookId, u64, WebhookDeliveryId)> {
    context.keys(&WEBHOOK_QUEUE)
}

fn notices(context: &Context) -> Vec<crate::notices::Notice> {
    context.rows(&NOTICES).into_iter().map(|(_, row)| row.notice).collect()
}

fn row(context: &Context, id: WebhookId) -> WebhookRow {
    context.read(|tx| find(tx, TEAM, id)).unwrap()
}

fn exhausted(row: &DeliveryRow) -> Option<ExhaustedReason> {
    match row.state {
        WebhookDeliveryState::Exhausted { at_ms: _, why } => Some(why),
        WebhookDeliveryState::Queued { .. } | WebhookDeliveryState::Delivered { .. } => None,
    }
}

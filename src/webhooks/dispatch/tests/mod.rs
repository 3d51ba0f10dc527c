//! Deliveries over real connections, with the time turned by hand.

use std::net::Ipv4Addr;
use std::sync::Arc;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::dns::{Guard, Resolver};
use crate::events::{self, AudienceEvent, AudienceKind, AudienceSubject, EventTypes, SuppressionSnapshot};
use crate::http_client::{Client, HttpTimeouts, UrlPolicy};
use crate::store::{NEXT, Order, Reads as _, StoreError, WriteTx};
use crate::tables::{NOTICES, WEBHOOK_DELIVERIES, WEBHOOK_QUEUE, WEBHOOKS};
use crate::webhooks::store::{DeliveryRow, WebhookRow, find, seal_secret};
use crate::webhooks::{DispatchNotifier, SubscribedEvents, WebhookStatus};

mod delivering;
mod erasing;
mod failing;
mod receiver;

/// What a test waits for at most.
const DEADLINE: Duration = Duration::from_secs(60);
const TEAM: TeamId = TeamId::from_bytes([7; 16]);

/// A dispatcher at work over a store of its own.
struct Running {
    _directory: tempfile::TempDir,
    context: Context,
    bell: DispatchNotifier,
    stop: CancellationToken,
    task: JoinSet<Result<(), StoreError>>,
}

impl Running {
    fn start() -> Self {
        let (directory, context) = Context::temporary();
        Self::over(directory, context, 0)
    }

    fn over(directory: tempfile::TempDir, context: Context, per_second: u32) -> Self {
        let bell = DispatchNotifier::default();
        let stop = CancellationToken::new();
        let dispatcher = dispatcher(&context, &bell, per_second);
        let mut task = JoinSet::new();
        task.spawn(dispatcher.run(stop.clone()));
        Self { _directory: directory, context, bell, stop, task }
    }

    /// Stops as the process does.
    async fn stop(mut self) -> (tempfile::TempDir, Context) {
        self.stop.cancel();
        self.task.join_next().await.unwrap().unwrap().unwrap();
        (self._directory, self.context)
    }

    fn turn(&self, by: Duration) {
        self.context.clock.advance(by);
        self.bell.rescan_all();
    }

    /// Waits until the rows of deliveries are as is wanted.
    async fn until(&self, wanted: impl Fn(&[DeliveryRow]) -> bool) -> Vec<DeliveryRow> {
        let look = async {
            loop {
                let rows = deliveries(&self.context);
                if wanted(&rows) {
                    return rows;
                }
                // Every change of a row follows a commit, and each look gives the others their turn.
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(DEADLINE, look).await.unwrap_or_else(|_| panic!("{:?}", deliveries(&self.context)))
    }
}

fn dispatcher(context: &Context, bell: &DispatchNotifier, per_second: u32) -> Arc<WebhookDispatcher> {
    let loopback = "127.0.0.0/8".parse().unwrap();
    let policy = UrlPolicy { guard: Guard::allowing(vec![loopback]), plain_http: true, extra_roots: Vec::new() };
    let resolver = Resolver::with_servers(&[(Ipv4Addr::LOCALHOST, 9).into()]).unwrap();
    let client = Client::new(resolver, policy, HttpTimeouts::default()).unwrap();
    Arc::new(WebhookDispatcher::new(context.clone(), bell.clone(), client, DispatchSettings { per_second }))
}

async fn write(context: &Context, work: impl Fn(&WriteTx<'_>) -> Result<(), StoreError> + Send + 'static) {
    context.store.write::<_, StoreError>(work).await.unwrap();
}

/// Makes an endpoint that hears of everything.
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
    write(context, move |tx| {
        tx.put(&WEBHOOKS, &(TEAM, id), &row)?;
        events::subscribe(tx, TEAM, (id, 0), EventTypes::all())
    })
    .await;
    (id, secret)
}

/// Records events that every endpoint hears of, told apart by their addresses.
async fn happen(context: &Context, count: usize) {
    let recording = context.clone();
    write(context, move |tx| {
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
    })
    .await;
}

fn deliveries(context: &Context) -> Vec<DeliveryRow> {
    let mut rows = Vec::new();
    let (from, to) = ((Id::MIN, Id::MIN, Id::MIN), (Id::MAX, Id::MAX, Id::MAX));
    let read = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&WEBHOOK_DELIVERIES, &from, &to, Order::Ascending, |_, row| {
            rows.push(row.decode()?);
            NEXT
        })
    });
    read.unwrap();
    rows
}

fn queued(context: &Context) -> Vec<(WebhookId, u64, WebhookDeliveryId)> {
    let mut keys = Vec::new();
    let (from, to) = ((Id::MIN, 0, Id::MIN), (Id::MAX, u64::MAX, Id::MAX));
    let read = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&WEBHOOK_QUEUE, &from, &to, Order::Ascending, |key, _| {
            keys.push(key);
            NEXT
        })
    });
    read.unwrap();
    keys
}

fn notices(context: &Context) -> Vec<crate::notices::Notice> {
    let mut told = Vec::new();
    let read = context.store.read_now::<_, StoreError>(|tx| {
        tx.scan(&NOTICES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, row| {
            told.push(row.decode()?.notice);
            NEXT
        })
    });
    read.unwrap();
    told
}

fn row(context: &Context, id: WebhookId) -> WebhookRow {
    context.store.read_now::<_, StoreError>(|tx| find(tx, TEAM, id)).unwrap().unwrap()
}

//! Loads the endpoint of a lane and its due deliveries, in one read.

use std::collections::HashSet;
use std::sync::Arc;

use super::settle::{DeliveryDisposition, DeliveryOutcome};
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::events::{self, Activation};
use crate::http_client::{Bytes, CustomerUrl, UrlError, UrlPolicy};
use crate::store::{NEXT, Order, Reads, STOP, ScanStep, StoreError, skip_corrupt};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::retry;
use crate::webhooks::store::{self, ExhaustedReason, WebhookDeliveryState, WebhookRow};

/// Deliveries of one load.
pub(super) const PAGE_ROWS: usize = 256;
/// Bytes of event messages of one load. The last message may exceed it.
const PAGE_BYTES: usize = 4 << 20;
/// Response text of an attempt without a request, if the row or the secret of the endpoint is corrupt.
const CORRUPT: &str = "The stored webhook is corrupt. Delete it and create it again.";

/// An enabled endpoint at the time of a load.
#[derive(Clone, Debug)]
pub(super) struct EndpointSnapshot {
    pub(super) url: CustomerUrl,
    pub(super) secret: WebhookSecret,
    /// The previous secret, and the time it stops signing.
    pub(super) previous: Option<(WebhookSecret, TimestampMs)>,
}

impl EndpointSnapshot {
    /// Returns the secrets that sign at `now_ms`, the newest first.
    pub(super) fn secrets(&self, now_ms: TimestampMs) -> impl Iterator<Item = &WebhookSecret> {
        let previous = self.previous.as_ref().filter(|(_, expires_ms)| *expires_ms > now_ms);
        [Some(&self.secret), previous.map(|(secret, _)| secret)].into_iter().flatten()
    }
}

/// A delivery that a lane holds, with the parts of its keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClaimedDelivery {
    /// [`TeamId::MIN`] if the queue row is corrupt and no team has the endpoint.
    pub(super) team: TeamId,
    pub(super) delivery: WebhookDeliveryId,
    /// Due time in the key of the queue row.
    pub(super) due_ms: TimestampMs,
}

/// A delivery that can be sent.
#[derive(Clone, Debug)]
pub(super) struct ReadyDelivery {
    pub(super) claimed: ClaimedDelivery,
    /// Start of the 24 hours after which the delivery expires.
    pub(super) queued_ms: TimestampMs,
    pub(super) body: Bytes,
    /// Erasure generation at or before the read of the body.
    pub(super) erasure_generation: u64,
}

/// The endpoint of a load.
#[derive(Debug, Default)]
pub(super) enum LoadedEndpoint {
    /// Not read: the queue contains no delivery of a known team.
    #[default]
    NotRead,
    Enabled(Arc<EndpointSnapshot>),
    /// Disabled, deleted or corrupt, or its URL is not allowed.
    Unavailable,
}

/// The result of a load.
#[derive(Debug, Default)]
pub(super) struct DueDeliveries {
    pub(super) endpoint: LoadedEndpoint,
    /// Deliveries to send, in the order of the queue.
    pub(super) ready: Vec<ReadyDelivery>,
    /// Outcomes of deliveries that cannot be sent.
    pub(super) outcomes: Vec<DeliveryOutcome>,
    /// Due time of the next delivery; `None` if no further delivery is queued or `has_more` is set.
    pub(super) next_due_ms: Option<TimestampMs>,
    /// Whether the page is full and the queue may contain more due deliveries.
    pub(super) has_more: bool,
}

/// Parameters of a load.
#[derive(Clone, Debug)]
pub(super) struct LoadRequest {
    pub(super) webhook: WebhookId,
    /// Erasure generation before the read.
    pub(super) erasure_generation: u64,
    /// Deliveries that the lane holds, which are not loaded again.
    pub(super) held: HashSet<WebhookDeliveryId>,
}

/// Loads an endpoint and up to [`PAGE_ROWS`] of its due deliveries. Deliveries of an endpoint that is not
/// enabled are loaded before they are due, and exhausted.
pub(super) fn load(
    tx: &impl Reads,
    context: &Context,
    policy: &UrlPolicy,
    request: &LoadRequest,
) -> Result<DueDeliveries, StoreError> {
    let (webhook, now_ms) = (request.webhook, context.now_ms());
    let page = DueDeliveries::default();
    let mut loader = PageLoader { tx, context, policy, request, now_ms, state: None, owner: None, page, body_bytes: 0 };
    let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
    tx.scan(&WEBHOOK_QUEUE, &from, &to, Order::Ascending, |(_, due_ms, delivery), row| {
        let due_ms = TimestampMs::try_from(due_ms).unwrap_or(TimestampMs::MAX);
        let is_held = request.held.contains(&delivery);
        if is_held && loader.state.is_some() {
            return NEXT;
        }
        let team = match row.valid() {
            Some(row) => Some(row.team),
            None => loader.owner()?,
        };
        let team = team.unwrap_or(TeamId::MIN);
        loader.read_endpoint(team)?;
        if is_held { NEXT } else { loader.add(ClaimedDelivery { team, delivery, due_ms }) }
    })?;
    Ok(loader.page)
}

/// The state of the endpoint, which decides the outcome of its deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndpointState {
    /// Enabled: deliveries of this activation are sent.
    Enabled(Activation),
    /// Disabled or deleted.
    Disabled,
    /// Enabled, but the policy of this instance does not allow the URL.
    UrlNotAllowed(Activation, UrlError),
    /// The row or a secret is corrupt.
    Corrupt,
}

struct PageLoader<'a, R> {
    tx: &'a R,
    context: &'a Context,
    policy: &'a UrlPolicy,
    request: &'a LoadRequest,
    now_ms: TimestampMs,
    /// State of the endpoint; `None` until it is read.
    state: Option<EndpointState>,
    /// Team of the endpoint, from a search of all teams; the outer `None` until that search.
    owner: Option<Option<TeamId>>,
    page: DueDeliveries,
    body_bytes: usize,
}

impl<R: Reads> PageLoader<'_, R> {
    /// Returns the team of the endpoint, for corrupt queue rows. Searches all teams, once a load.
    fn owner(&mut self) -> Result<Option<TeamId>, StoreError> {
        if self.owner.is_none() {
            self.owner = Some(store::owner(self.tx, self.request.webhook)?);
        }
        Ok(self.owner.flatten())
    }

    fn read_endpoint(&mut self, team: TeamId) -> Result<(), StoreError> {
        if self.state.is_some() || team == TeamId::MIN {
            return Ok(());
        }
        let webhook = self.request.webhook;
        let opened = store::find(self.tx, team, webhook).and_then(|row| match row {
            Some(row) if row.status == WebhookStatus::Enabled => self.open(&row),
            _ => Ok((EndpointState::Disabled, LoadedEndpoint::Unavailable)),
        });
        let opened = skip_corrupt(opened, format_args!("webhook {webhook}"))?;
        let (state, endpoint) = opened.unwrap_or((EndpointState::Corrupt, LoadedEndpoint::Unavailable));
        (self.state, self.page.endpoint) = (Some(state), endpoint);
        Ok(())
    }

    fn open(&self, row: &WebhookRow) -> Result<(EndpointState, LoadedEndpoint), StoreError> {
        let secret = |sealed: &[u8]| {
            let text = store::open_secret(&self.context.keyring, self.request.webhook, sealed)?;
            WebhookSecret::parse(&text).ok_or_else(|| StoreError::Corrupt("not a signing secret".into()))
        };
        let previous =
            row.previous.as_ref().map(|previous| Ok::<_, StoreError>((secret(&previous.secret)?, previous.expires_ms)));
        let (secret, previous) = (secret(&row.secret)?, previous.transpose()?);
        Ok(match CustomerUrl::parse(&row.endpoint, self.policy) {
            Ok(url) => {
                let endpoint = Arc::new(EndpointSnapshot { url, secret, previous });
                (EndpointState::Enabled(row.activation), LoadedEndpoint::Enabled(endpoint))
            }
            Err(error) => (EndpointState::UrlNotAllowed(row.activation, error), LoadedEndpoint::Unavailable),
        })
    }

    /// Adds a delivery to the page; stops if it is not due or the page is full.
    fn add(&mut self, claimed: ClaimedDelivery) -> ScanStep {
        let is_disabled = matches!(self.state, Some(EndpointState::Disabled) | None);
        if !is_disabled && claimed.due_ms > self.now_ms {
            self.page.next_due_ms = Some(claimed.due_ms);
            return STOP;
        }
        if self.page.ready.len() + self.page.outcomes.len() == PAGE_ROWS || self.body_bytes >= PAGE_BYTES {
            self.page.has_more = true;
            return STOP;
        }
        match self.load_delivery(claimed)? {
            Ok(ready) => self.page.ready.push(ready),
            Err(disposition) => self.page.outcomes.push(DeliveryOutcome { claimed, disposition }),
        }
        NEXT
    }

    /// Loads a delivery, or returns its disposition if it cannot be sent.
    fn load_delivery(
        &mut self,
        claimed: ClaimedDelivery,
    ) -> Result<Result<ReadyDelivery, DeliveryDisposition>, StoreError> {
        let ClaimedDelivery { team, delivery, due_ms } = claimed;
        let given_up = |why| Ok(Err(DeliveryDisposition::GivenUp(why)));
        // A corrupt row must not block the deliveries behind it.
        let row = self.tx.get_valid(&WEBHOOK_DELIVERIES, &(team, self.request.webhook, delivery))?;
        let Some(row) = row.filter(|row| row.state == (WebhookDeliveryState::Queued { due_ms })) else {
            return Ok(Err(DeliveryDisposition::Orphaned));
        };
        let message = events::valid_message(self.tx, team, row.event)?;
        // Before the other reasons, so that no delivery of a retracted event is kept as a failed one.
        if message.as_ref().is_some_and(|message| row.is_revoked(message)) {
            return Ok(Err(DeliveryDisposition::Retracted));
        }
        let is_enabled = match self.state {
            Some(EndpointState::Enabled(activation) | EndpointState::UrlNotAllowed(activation, _)) => {
                row.activation == activation
            }
            Some(EndpointState::Corrupt) => true,
            Some(EndpointState::Disabled) | None => false,
        };
        if !is_enabled {
            return given_up(ExhaustedReason::Disabled);
        }
        if retry::is_expired(row.queued_ms, self.now_ms) {
            return given_up(ExhaustedReason::Expired);
        }
        let obstacle = match self.state {
            Some(EndpointState::Corrupt) => Some(CORRUPT.to_owned()),
            Some(EndpointState::UrlNotAllowed(_, error)) => Some(error.to_string()),
            Some(EndpointState::Enabled(_) | EndpointState::Disabled) | None => None,
        };
        if let Some(reason) = obstacle {
            return Ok(Err(DeliveryDisposition::NotSent { at_ms: self.now_ms, reason }));
        }
        let Some(message) = message else { return given_up(ExhaustedReason::PayloadMissing) };
        self.body_bytes += message.body.len();
        let (body, erasure_generation) = (Bytes::from(message.body), self.request.erasure_generation);
        Ok(Ok(ReadyDelivery { claimed, queued_ms: row.queued_ms, body, erasure_generation }))
    }
}

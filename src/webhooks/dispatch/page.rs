//! What a lane takes up next: its endpoint as it stands, and the deliveries that are due.

use std::collections::HashSet;

use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::base::signature::WebhookSecret;
use crate::context::Context;
use crate::events::{self, Activation};
use crate::http_client::Bytes;
use crate::store::{NEXT, Order, Reads, STOP, StoreError, skip_corrupt};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOK_QUEUE};
use crate::webhooks::model::WebhookStatus;
use crate::webhooks::retry;
use crate::webhooks::store::{self, ExhaustedReason, QueueRow, WebhookDeliveryState, WebhookRow};

/// Deliveries read at once.
pub(super) const PAGE_ROWS: usize = 256;
/// Bytes of bodies read at once.
const PAGE_BYTES: usize = 4 << 20;

/// An endpoint as it stood when it was read.
#[derive(Clone, Debug)]
pub(super) struct EndpointSnapshot {
    pub(super) url: String,
    secret: WebhookSecret,
    previous: Option<(WebhookSecret, TimestampMs)>,
}

impl EndpointSnapshot {
    /// Returns the secrets that sign at `now_ms`, the newest first.
    pub(super) fn secrets(&self, now_ms: TimestampMs) -> impl Iterator<Item = &WebhookSecret> {
        let previous = self.previous.as_ref().filter(|(_, expires_ms)| *expires_ms > now_ms);
        [Some(&self.secret), previous.map(|(secret, _)| secret)].into_iter().flatten()
    }
}

/// A delivery in the hands of a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClaimedDelivery {
    pub(super) team: TeamId,
    pub(super) delivery: WebhookDeliveryId,
    /// Its place in the queue.
    pub(super) due_ms: TimestampMs,
}

/// A delivery to be made.
#[derive(Clone, Debug)]
pub(super) struct ReadyDelivery {
    pub(super) taken: ClaimedDelivery,
    /// When it was queued: what its 24 hours begin at.
    pub(super) queued_ms: TimestampMs,
    pub(super) body: Bytes,
    /// How often bodies had been erased when it was read, or before.
    pub(super) erasures: u64,
}

/// What is due for an endpoint.
#[derive(Debug, Default)]
pub(super) struct DueDeliveries {
    /// The endpoint, while it is enabled and reads.
    pub(super) endpoint: Option<EndpointSnapshot>,
    /// What is to be delivered, in the order of the queue.
    pub(super) work: Vec<ReadyDelivery>,
    /// What cannot be sent, because the endpoint does not read.
    pub(super) unsendable: Vec<ClaimedDelivery>,
    /// What is given up untried.
    pub(super) exhausted: Vec<(ClaimedDelivery, ExhaustedReason)>,
    /// Places in the queue that no delivery belongs to.
    pub(super) orphaned: Vec<ClaimedDelivery>,
    /// When the next of the others is due; none when there is none, or more than was read.
    pub(super) next_due_ms: Option<TimestampMs>,
    /// Whether there is more that is due.
    pub(super) is_more: bool,
}

/// Reads an endpoint and what is due for it, without what is `held` already. Bodies had been erased
/// `erasures` times before the read began.
pub(super) fn read(
    tx: &impl Reads,
    context: &Context,
    webhook: WebhookId,
    erasures: u64,
    held: &HashSet<WebhookDeliveryId>,
) -> Result<DueDeliveries, StoreError> {
    let now_ms = context.now_ms();
    let page = DueDeliveries::default();
    let mut reading = Reading { tx, context, webhook, erasures, now_ms, hearing: None, owner: None, page, bytes: 0 };
    let (from, to) = ((webhook, 0, Id::MIN), (webhook, u64::MAX, Id::MAX));
    tx.scan(&WEBHOOK_QUEUE, &from, &to, Order::Ascending, |(_, due_ms, delivery), row| {
        let due_ms = TimestampMs::try_from(due_ms).unwrap_or(TimestampMs::MAX);
        let is_held = held.contains(&delivery);
        if is_held && reading.hearing.is_some() {
            return NEXT;
        }
        let row: Option<QueueRow> = skip_corrupt(row.decode(), format_args!("the place of delivery {delivery}"))?;
        let team = match row {
            Some(row) => Some(row.team),
            None => reading.owner()?,
        };
        // A place of an endpoint that nobody has belongs to nobody, and goes.
        let team = team.unwrap_or(TeamId::MIN);
        reading.look_up(team)?;
        if is_held { NEXT } else { reading.take(ClaimedDelivery { team, delivery, due_ms }) }
    })?;
    Ok(reading.page)
}

/// What an endpoint hears of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EndpointState {
    /// What was queued in its present term.
    Enabled(Activation),
    /// Nothing: it is disabled, or gone.
    Disabled,
    /// Nobody can tell: its row or its secret does not read.
    Corrupt,
}

struct Reading<'a, R> {
    tx: &'a R,
    context: &'a Context,
    webhook: WebhookId,
    erasures: u64,
    now_ms: TimestampMs,
    /// What the endpoint hears of, once it has been looked up.
    hearing: Option<EndpointState>,
    /// Whose it is, once that had to be found out; nobody's when it is gone.
    owner: Option<Option<TeamId>>,
    page: DueDeliveries,
    bytes: usize,
}

impl<R: Reads> Reading<'_, R> {
    /// Returns whose endpoint it is, where a place does not say it; asked for once.
    fn owner(&mut self) -> Result<Option<TeamId>, StoreError> {
        if self.owner.is_none() {
            self.owner = Some(store::owner(self.tx, self.webhook)?);
        }
        Ok(self.owner.flatten())
    }

    fn look_up(&mut self, team: TeamId) -> Result<(), StoreError> {
        if self.hearing.is_some() || team == TeamId::MIN {
            return Ok(());
        }
        let row = store::find(self.tx, team, self.webhook);
        let opened = row.and_then(|row| match row {
            Some(row) if row.status == WebhookStatus::Enabled => Ok(Some((self.open(&row)?, row.activation))),
            _ => Ok(None),
        });
        self.hearing = Some(match skip_corrupt(opened, format_args!("webhook {}", self.webhook))? {
            Some(Some((endpoint, term))) => {
                self.page.endpoint = Some(endpoint);
                EndpointState::Enabled(term)
            }
            Some(None) => EndpointState::Disabled,
            None => EndpointState::Corrupt,
        });
        Ok(())
    }

    fn take(&mut self, taken: ClaimedDelivery) -> crate::store::Step {
        // What waits for an endpoint that hears of nothing is taken up at once, to be given up.
        let is_heard = matches!(self.hearing, Some(EndpointState::Enabled(_) | EndpointState::Corrupt));
        if is_heard && taken.due_ms > self.now_ms {
            self.page.next_due_ms = Some(taken.due_ms);
            return STOP;
        }
        let DueDeliveries {
            endpoint: _,
            work,
            unsendable,
            exhausted: given_up,
            orphaned: stray,
            next_due_ms: _,
            is_more: _,
        } = &self.page;
        let count = work.len() + unsendable.len() + given_up.len() + stray.len();
        if count == PAGE_ROWS || self.bytes >= PAGE_BYTES {
            self.page.is_more = true;
            return STOP;
        }
        self.sort(taken)?;
        NEXT
    }

    fn open(&self, row: &WebhookRow) -> Result<EndpointSnapshot, StoreError> {
        let secret = |sealed: &[u8]| {
            let text = store::open_secret(&self.context.keyring, self.webhook, sealed)?;
            WebhookSecret::parse(&text).ok_or_else(|| StoreError::Corrupt("a signing secret is none".into()))
        };
        let previous =
            row.previous.as_ref().map(|previous| Ok::<_, StoreError>((secret(&previous.secret)?, previous.expires_ms)));
        Ok(EndpointSnapshot {
            url: row.endpoint.clone(),
            secret: secret(&row.secret)?,
            previous: previous.transpose()?,
        })
    }

    /// Says what is to be done with a delivery.
    fn sort(&mut self, taken: ClaimedDelivery) -> Result<(), StoreError> {
        let ClaimedDelivery { team, delivery, due_ms } = taken;
        // One row that does not read must not hold up the others for good.
        let row = self.tx.get(&WEBHOOK_DELIVERIES, &(team, self.webhook, delivery));
        let row = skip_corrupt(row, format_args!("webhook delivery {delivery}"))?.flatten();
        let Some(row) = row.filter(|row| row.state == (WebhookDeliveryState::Queued { due_ms })) else {
            self.page.orphaned.push(taken);
            return Ok(());
        };
        let is_heard = match self.hearing {
            Some(EndpointState::Enabled(term)) => row.activation == term,
            Some(EndpointState::Corrupt) => true,
            Some(EndpointState::Disabled) | None => false,
        };
        if !is_heard {
            self.page.exhausted.push((taken, ExhaustedReason::Disabled));
            return Ok(());
        }
        if retry::is_expired(row.queued_ms, self.now_ms) {
            self.page.exhausted.push((taken, ExhaustedReason::Expired));
            return Ok(());
        }
        if self.hearing == Some(EndpointState::Corrupt) {
            self.page.unsendable.push(taken);
            return Ok(());
        }
        let message = events::message(self.tx, team, row.event);
        match skip_corrupt(message, format_args!("the body of webhook delivery {delivery}"))?.flatten() {
            Some(message) => {
                self.bytes += message.body.len();
                let (body, erasures) = (Bytes::from(message.body), self.erasures);
                self.page.work.push(ReadyDelivery { taken, queued_ms: row.queued_ms, body, erasures });
            }
            None => self.page.exhausted.push((taken, ExhaustedReason::PayloadMissing)),
        }
        Ok(())
    }
}

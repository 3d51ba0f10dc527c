//! Recording of a hit, in one write transaction.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use super::classify::{RequestFacts, RequestVerdict};
use super::links::{ClicksByLink, SourceLinks, clicks_by_link};
use super::plan::{HitPlan, plan};
use super::recent::RecentLinks;
use super::rules::{MachineRules, PREFETCH_WINDOW};
use super::targets::RecentTargets;
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, EventId, TeamId};
use crate::broadcast_rows::{self, EngagedBy, EngagementChange, RecipientEngagement};
use crate::context::Context;
use crate::delivery::simulated;
use crate::email_metrics::{self, CountedRecipients, EmailMetric, MetricSource};
use crate::emails::{self, EmailRow, EventRecorder, LastEvent};
use crate::events::{self, EmailEventKind, Event, EventDetail};
use crate::store::{ReadTx, Reads, StoreError, WriteTx};

/// Number of events of an email up to which a hit is planned on the writer thread without a read before. More of them would
/// delay other requests.
const DIRECT_EVENTS_MAX: usize = 64;
/// Number of write transactions of a hit at most. Another one follows if a hit between a read and a write changed the clicks.
const ATTEMPTS: usize = 3;

/// A request for the pixel or a link of a message.
#[derive(Clone, Debug)]
pub struct Hit {
    pub team: TeamId,
    pub email: EmailId,
    /// Recipient group of the message.
    pub group: u16,
    pub target: HitTarget,
    /// Address of the client; empty if it is unknown.
    pub ip_address: String,
    /// Stored as it is, so that the caller bounds it. Empty if the request has none.
    pub user_agent: String,
    /// Whether a header states that a browser loads the page ahead of time: [`is_prefetch`].
    pub is_prefetch: bool,
    /// Time of the request.
    pub at_ms: TimestampMs,
}

/// Object of a request.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum HitTarget {
    Pixel,
    /// The link with this destination.
    Link(String),
}

/// Returns whether a browser loads a page ahead of time. `header` returns the value of a header by its name in lower case.
pub fn is_prefetch<'h>(header: impl Fn(&str) -> Option<&'h str>) -> bool {
    MachineRules::embedded().is_prefetch(header)
}

/// Records opens and clicks. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engagement {
    context: Context,
    prefetch_window: Duration,
    recent: Arc<RecentLinks>,
    targets: Arc<RecentTargets>,
    links: SourceLinks,
}

impl Engagement {
    /// Returns a recorder with the default time after delivery in which no person reads.
    pub fn new(context: Context) -> Self {
        Self {
            context,
            prefetch_window: *PREFETCH_WINDOW,
            recent: Arc::default(),
            targets: Arc::default(),
            links: SourceLinks::default(),
        }
    }

    /// Sets the time after delivery in which requests are those of software. Zero disables the rule.
    #[must_use]
    pub fn with_prefetch_window(self, prefetch_window: Duration) -> Self {
        Self { prefetch_window, ..self }
    }

    /// Records a hit: an open or a click of a person, or a prefetch by software. Returns after the commit.
    ///
    /// Records nothing for an email that does not exist, is deleted or has not been sent. The same applies to an erased
    /// recipient, a repeat within a minute, and a hit above the limits of a recipient.
    ///
    /// The first request of a target goes to the writer without a read. Some hits are read first, on a thread that may
    /// block. Their target was requested recently, their email has many events, or their link must be searched in the
    /// content.
    pub async fn record(&self, hit: Hit) -> Result<(), StoreError> {
        let mut reads_first = self.targets.add(&hit);
        self.recent.add(&hit);
        let judged = Arc::new(JudgedHit::new(hit, self.prefetch_window, Arc::clone(&self.recent)));
        for attempt in 1..=ATTEMPTS {
            let links = match reads_first {
                true => match self.read_links(&judged).await? {
                    Some(links) => Some(links),
                    None => return Ok(()),
                },
                false => None,
            };
            if self.write(&judged, links, attempt == ATTEMPTS).await? == Written::Recorded {
                return Ok(());
            }
            reads_first = true;
        }
        Ok(())
    }

    /// Reads the links behind the clicks of a hit; `None` if the hit has no consequence.
    async fn read_links(&self, judged: &Arc<JudgedHit>) -> Result<Option<SourceLinks>, StoreError> {
        let (judged, context, links) = (Arc::clone(judged), self.context.clone(), self.links.clone());
        let read = move |tx: &ReadTx| {
            let Some(planned) = judged.plan(tx)? else { return Ok(None) };
            links.read(tx, &context.keyring, &planned.row, planned.plan.destinations()).map(Some)
        };
        self.context.store.read::<_, StoreError>(read).await
    }

    /// Applies the consequences of a hit in a write transaction. Without `links`, nothing was read before. In the last
    /// attempt, clicks whose link is not known are not counted by link.
    async fn write(
        &self,
        judged: &Arc<JudgedHit>,
        links: Option<SourceLinks>,
        is_last: bool,
    ) -> Result<Written, StoreError> {
        let (judged, context) = (Arc::clone(judged), self.context.clone());
        let is_direct = links.is_none();
        let links = links.unwrap_or_else(|| self.links.clone());
        let write = move |tx: &WriteTx<'_>| {
            if is_direct && events::has_more_email_events(tx, judged.hit.email, DIRECT_EVENTS_MAX)? {
                return Ok(Written::Unread);
            }
            // Another hit may have been recorded since a read.
            let Some(planned) = judged.plan(tx)? else { return Ok(Written::Recorded) };
            let (links, are_complete) = links.with_counted(tx, &planned.row, planned.plan.destinations())?;
            if !are_complete && !is_last {
                return Ok(Written::Unread);
            }
            apply(tx, &context, &judged.hit, planned, &links)?;
            Ok(Written::Recorded)
        };
        self.context.store.write::<_, StoreError>(write).await
    }
}

/// Result of a write transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    /// The consequences of the hit are recorded, or it has none.
    Recorded,
    /// Nothing is recorded: the email must be read first.
    Unread,
}

/// A hit with the verdict on its request alone.
struct JudgedHit {
    hit: Hit,
    request: RequestVerdict,
    prefetch_window: Duration,
    recent: Arc<RecentLinks>,
}

impl JudgedHit {
    fn new(hit: Hit, prefetch_window: Duration, recent: Arc<RecentLinks>) -> Self {
        let request = MachineRules::embedded().classify_request(RequestFacts {
            user_agent: &hit.user_agent,
            address: hit.ip_address.parse::<IpAddr>().ok().map(|address| address.to_canonical()),
            is_prefetch: hit.is_prefetch,
            is_link: matches!(hit.target, HitTarget::Link(_)),
        });
        Self { hit, request, prefetch_window, recent }
    }

    /// Returns the email of the hit with the consequences; `None` if it has none. A corrupt email counts as missing.
    fn plan(&self, tx: &impl Reads) -> Result<Option<PlannedHit>, StoreError> {
        let Self { hit, request, prefetch_window, recent } = self;
        let Some(row) = emails::find_valid_row(tx, hit.team, hit.email)? else { return Ok(None) };
        let timeline = events::email_events(tx, hit.email)?;
        let recent = recent.of_recipient(hit);
        let plan = plan(MachineRules::embedded(), *prefetch_window, &row, &timeline, &recent, (hit, *request));
        Ok(plan.map(|plan| PlannedHit { row, timeline, plan }))
    }
}

/// The email of a hit, its timeline, and the consequences.
struct PlannedHit {
    row: EmailRow,
    /// Oldest first.
    timeline: Vec<(EventId, Event)>,
    plan: HitPlan,
}

/// Applies the consequences of a hit.
fn apply(
    tx: &WriteTx<'_>,
    context: &Context,
    hit: &Hit,
    planned: PlannedHit,
    links: &SourceLinks,
) -> Result<(), StoreError> {
    let Hit { team, email, .. } = *hit;
    let PlannedHit { mut row, mut timeline, plan } = planned;
    let HitPlan { recipient, retracted, recorded, last_event } = plan;
    let address = row.recipients[recipient].mailbox.bare();
    let (source, is_broadcast) = (row.metric_source(team), row.broadcast.is_some());
    let counted = match simulated::outcome(&address) {
        Some(_) => CountedRecipients::Simulated(1),
        None => CountedRecipients::Real(1),
    };
    // Only a broadcast counts clicks by link.
    let clicks = |timeline: &[(EventId, Event)]| {
        if is_broadcast { clicks_by_link(timeline, &address) } else { ClicksByLink::new() }
    };
    let (before, clicks_before) = (FirstEvents::of(&timeline, &address), clicks(&timeline));
    for (id, event) in &retracted {
        events::retract(tx, team, email, *id)?;
        email_metrics::forget(tx, team, event.at_ms, *id)?;
        if let Some(metric) = EmailMetric::of_event(event) {
            email_metrics::take_back(tx, source, event.at_ms, metric, counted)?;
        }
    }
    timeline.retain(|(id, _)| !retracted.iter().any(|(gone, _)| gone == id));
    let mut after = FirstEvents::of(&timeline, &address);
    recount_first(tx, source, counted, EmailMetric::UniqueOpened, before.open, after.open)?;
    recount_first(tx, source, counted, EmailMetric::UniqueClicked, before.click, after.click)?;
    let mut recorder = EventRecorder::new(team, email);
    for event in recorded {
        let is_first = after.is_first(event.kind);
        let (id, event) = recorder.record_engagement(tx, context, &row, event, is_first)?;
        after.add(id, &event);
        timeline.push((id, event));
    }
    links.count(tx, context, &row, (&clicks_before, &clicks(&timeline)))?;
    let is_changed = set_status(&mut row, recipient, last_event);
    let mut is_flagged = false;
    if let Some(send) = &mut row.broadcast {
        let (earlier, current) = (before.engagement(), after.engagement());
        broadcast_rows::count_engagement(tx, send.id, EngagementChange::between(earlier, current))?;
        let flags = (current.open.is_by_person, current.click.is_by_person);
        is_flagged = (send.is_opened, send.is_clicked) != flags;
        (send.is_opened, send.is_clicked) = flags;
    }
    if is_changed || is_flagged {
        emails::put_row(tx, team, email, &row, context.now_ms())?;
    }
    Ok(())
}

/// Sets the status of a recipient and that of the email. Returns whether one of them changed.
fn set_status(row: &mut EmailRow, recipient: usize, last_event: LastEvent) -> bool {
    let before = (row.recipients[recipient].last_event, row.last_event);
    row.recipients[recipient].last_event = last_event;
    let highest = row.recipients.iter().map(|recipient| recipient.last_event).max().unwrap_or(last_event);
    // After a retraction, the status of the email falls to the highest that remains.
    if matches!(row.last_event, LastEvent::Opened | LastEvent::Clicked) {
        row.last_event = highest;
    } else {
        row.last_event.advance(highest);
    }
    before != (last_event, row.last_event)
}

/// The event that counts as the unique open or click of a recipient.
type FirstEvent = Option<(EventId, TimestampMs)>;

/// The first open and the first click of a recipient, in the order of recording, and whether software opened the email or
/// followed a link.
#[derive(Clone, Copy, Debug, Default)]
struct FirstEvents {
    open: FirstEvent,
    click: FirstEvent,
    is_opened_by_software: bool,
    is_clicked_by_software: bool,
}

impl FirstEvents {
    /// Returns those of a recipient in a timeline, oldest first.
    fn of(timeline: &[(EventId, Event)], address: &str) -> Self {
        let mut first = Self::default();
        for (id, event) in timeline {
            if event.recipients.iter().any(|recipient| recipient == address) {
                first.add(*id, event);
            }
        }
        first
    }

    /// Adds the next event of the recipient.
    fn add(&mut self, id: EventId, event: &Event) {
        let first = match event.kind {
            EmailEventKind::Opened => &mut self.open,
            EmailEventKind::Clicked => &mut self.click,
            EmailEventKind::Prefetched => {
                self.is_opened_by_software |= matches!(event.detail, EventDetail::Open(_));
                self.is_clicked_by_software |= matches!(event.detail, EventDetail::Click(_));
                return;
            }
            _ => return,
        };
        first.get_or_insert((id, event.at_ms));
    }

    /// Returns whether an event of this kind that is recorded now is the first open or click of the recipient.
    const fn is_first(&self, kind: EmailEventKind) -> bool {
        match kind {
            EmailEventKind::Opened => self.open.is_none(),
            EmailEventKind::Clicked => self.click.is_none(),
            _ => false,
        }
    }

    const fn engagement(&self) -> RecipientEngagement {
        RecipientEngagement {
            open: EngagedBy { is_by_person: self.open.is_some(), is_by_software: self.is_opened_by_software },
            click: EngagedBy { is_by_person: self.click.is_some(), is_by_software: self.is_clicked_by_software },
        }
    }
}

/// Counts the change of the first open or click of a recipient by a retraction.
fn recount_first(
    tx: &WriteTx<'_>,
    source: MetricSource,
    recipient: CountedRecipients,
    metric: EmailMetric,
    before: FirstEvent,
    after: FirstEvent,
) -> Result<(), StoreError> {
    if before == after {
        return Ok(());
    }
    if let Some((_, at_ms)) = before {
        email_metrics::take_back(tx, source, at_ms, metric, recipient)?;
    }
    let Some((id, at_ms)) = after else { return Ok(()) };
    email_metrics::count(tx, source, at_ms, metric, recipient)?;
    email_metrics::mark_first(tx, source.team, at_ms, id)
}

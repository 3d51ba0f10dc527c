//! The consequences of a hit: the events to record and those to retract. Pure.

use std::time::Duration;

use super::classify::{Elapsed, EmailFacts, RequestVerdict};
use super::recent::RecentLink;
use super::record::{Hit, HitTarget};
use super::rules::{MachineReason, MachineRules};
use crate::base::clock::TimestampMs;
use crate::base::id::EventId;
use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};
use crate::events::{ClickDetail, EmailEventKind, Event, EventDetail, OpenDetail};

/// Opens and clicks that are recorded for a recipient at most. Later ones are dropped, except a first open or click.
pub(super) const EVENTS_MAX: usize = 100;
/// Prefetches that are recorded for a recipient at most. Software does not use up the limit of the person.
pub(super) const PREFETCHES_MAX: usize = 50;
/// Prefetches up to which a retracted click is recorded again. It takes the place of the click.
pub(super) const RETRACTED_MAX: usize = PREFETCHES_MAX + EVENTS_MAX;
/// Time in which a repeat of an event is dropped.
pub(super) const REPEAT_MS: i64 = 60_000;
/// Reason of an open that was derived from a click.
const CLICK: &str = "click";

/// Consequences of a hit.
#[derive(Clone, Debug)]
pub(super) struct HitPlan {
    /// Position of the recipient in the email.
    pub(super) recipient: usize,
    /// Events to delete.
    pub(super) retracted: Vec<(EventId, Event)>,
    /// Events to record, in their order.
    pub(super) recorded: Vec<Event>,
    /// Status of the recipient afterwards.
    pub(super) last_event: LastEvent,
}

impl HitPlan {
    /// Returns the destinations of the clicks that are recorded or retracted.
    pub(super) fn destinations(&self) -> impl Iterator<Item = &str> {
        let events = self.retracted.iter().map(|(_, event)| event).chain(&self.recorded);
        events.filter(|event| event.kind == EmailEventKind::Clicked).filter_map(|event| match &event.detail {
            EventDetail::Click(click) => Some(click.link.as_str()),
            _ => None,
        })
    }
}

/// Returns the consequences of a hit, with the verdict on its request alone, on an email with this timeline; `None` if it has
/// none. `recent` are the last links of the recipient.
pub(super) fn plan(
    rules: &MachineRules,
    prefetch_window: Duration,
    row: &EmailRow,
    timeline: &[(EventId, Event)],
    recent: &[RecentLink],
    (hit, request): (&Hit, RequestVerdict),
) -> Option<HitPlan> {
    let (recipient, at) = recipient_of(row, hit.group)?;
    let address = at.mailbox.bare();
    let of_recipient: Vec<&(EventId, Event)> =
        timeline.iter().filter(|(_, event)| event.recipients.contains(&address)).collect();
    let engaged: Vec<&(EventId, Event)> =
        of_recipient.iter().copied().filter(|(_, event)| is_engagement(event.kind)).collect();
    let burst = burst_of(rules, &engaged, recent, hit);
    let facts = EmailFacts { elapsed: elapsed(at, &of_recipient, hit.at_ms), is_burst: burst.is_found };
    let verdict = rules.classify(request, facts, prefetch_window);
    let retracted = retracted(&engaged, &burst.events);
    let again = retracted.iter().filter_map(|(_, event)| prefetched_click(event)).collect();
    let mut new = Vec::new();
    let is_retracted = |id: EventId| retracted.iter().any(|(gone, _)| *gone == id);
    let remaining = || engaged.iter().filter(|(id, _)| !is_retracted(*id)).map(|(_, event)| event);
    let event = event_of(hit, &address, verdict);
    if !remaining().any(|other| is_repeat(other, &event)) {
        let is_opened = remaining().any(|other| other.kind == EmailEventKind::Opened);
        if event.kind == EmailEventKind::Clicked && !is_opened {
            new.push(inferred_open(hit, &address));
        }
        new.push(event);
    }
    let recorded = within_limits(remaining(), again, new);
    if recorded.is_empty() && retracted.is_empty() {
        return None;
    }
    let after = of_recipient.iter().filter(|(id, _)| !is_retracted(*id)).map(|(_, event)| event).chain(&recorded);
    let last_event = status(at, after, !retracted.is_empty());
    Some(HitPlan { recipient, retracted, recorded, last_event })
}

/// Returns the events to record that are within the limits of a recipient: first the retracted clicks that are recorded
/// `again`, then the `new` events. `remaining` are its other opens, clicks and prefetches.
fn within_limits<'e>(remaining: impl Iterator<Item = &'e Event>, again: Vec<Event>, mut new: Vec<Event>) -> Vec<Event> {
    let mut kinds: Vec<EmailEventKind> = remaining.map(|event| event.kind).collect();
    let is_software = |kind: EmailEventKind| kind == EmailEventKind::Prefetched;
    let prefetches = kinds.iter().filter(|kind| is_software(**kind)).count();
    let mut recorded = again;
    recorded.truncate(RETRACTED_MAX.saturating_sub(prefetches));
    kinds.extend(recorded.iter().map(|event| event.kind));
    new.retain(|event| {
        let events_max = if is_software(event.kind) { PREFETCHES_MAX } else { EVENTS_MAX };
        let earlier = kinds.iter().filter(|kind| is_software(**kind) == is_software(event.kind)).count();
        let is_kept = earlier < events_max || (!is_software(event.kind) && !kinds.contains(&event.kind));
        if is_kept {
            kinds.push(event.kind);
        }
        is_kept
    });
    recorded.append(&mut new);
    recorded
}

/// Returns the recipient of a group, if its opens and clicks are recorded. A group of several recipients has no link of its
/// own for each of them, and an erased recipient must leave no new trace.
fn recipient_of(row: &EmailRow, group: u16) -> Option<(usize, &RecipientRow)> {
    let mut of_group = row.recipients.iter().enumerate().filter(|(_, recipient)| recipient.group == group);
    let (index, recipient) = of_group.next()?;
    let is_sent = recipient.last_event >= LastEvent::Sent
        && !matches!(recipient.last_event, LastEvent::Suppressed | LastEvent::Canceled);
    let is_recorded = !row.hidden && is_sent && !recipient.mailbox.is_erased() && of_group.next().is_none();
    is_recorded.then_some((index, recipient))
}

/// Returns whether events of this kind are recorded here.
pub(super) const fn is_engagement(kind: EmailEventKind) -> bool {
    matches!(kind, EmailEventKind::Opened | EmailEventKind::Clicked | EmailEventKind::Prefetched)
}

/// Returns the time since the last delivery before the request: a captured message can have been released to its recipient
/// later. A recipient who is waiting or in flight has not received the message, unless a report says so.
fn elapsed(recipient: &RecipientRow, events: &[&(EventId, Event)], at_ms: TimestampMs) -> Elapsed {
    let times =
        |kind: EmailEventKind| events.iter().filter(move |(_, event)| event.kind == kind).map(|(_, event)| event.at_ms);
    let delivered = || times(EmailEventKind::Delivered);
    if let Some(delivered_ms) =
        delivered().filter(|delivered_ms| *delivered_ms <= at_ms).max().or_else(|| delivered().min())
    {
        return Elapsed::SinceDelivery(at_ms - delivered_ms);
    }
    if recipient.state != RecipientState::Settled {
        return Elapsed::NotDelivered;
    }
    times(EmailEventKind::Sent).min().map_or(Elapsed::Unknown, |sent_ms| Elapsed::SinceSend(at_ms - sent_ms))
}

/// The burst around a hit.
#[derive(Default)]
struct Burst<'e> {
    /// Whether another link of the message was requested within the time of a burst.
    is_found: bool,
    /// The recorded events of the other links.
    events: Vec<&'e (EventId, Event)>,
}

/// Returns the burst around a hit. A recent request of another link is part of it even if it was not recorded. Then a click
/// that it repeats is part of the burst too.
fn burst_of<'e>(rules: &MachineRules, engaged: &[&'e (EventId, Event)], recent: &[RecentLink], hit: &Hit) -> Burst<'e> {
    let HitTarget::Link(link) = &hit.target else { return Burst::default() };
    let is_near = |at_ms: TimestampMs| rules.is_burst(at_ms.abs_diff(hit.at_ms));
    let is_other = |other: &&RecentLink| other.link != *link && (is_near(other.first_ms) || is_near(other.last_ms));
    let others: Vec<&RecentLink> = recent.iter().filter(is_other).collect();
    let is_part = |(_, event): &&&(EventId, Event)| match &event.detail {
        EventDetail::Click(click) => {
            click.link != *link && (is_near(click.at_ms) || others.iter().any(|other| other.contains(click)))
        }
        _ => false,
    };
    let events: Vec<&(EventId, Event)> = engaged.iter().filter(is_part).copied().collect();
    Burst { is_found: !events.is_empty() || !others.is_empty(), events }
}

/// Returns the clicks of a burst that were recorded as those of a person, each with the open derived from it.
fn retracted(engaged: &[&(EventId, Event)], burst: &[&(EventId, Event)]) -> Vec<(EventId, Event)> {
    let clicks: Vec<&(EventId, Event)> =
        burst.iter().copied().filter(|(_, event)| event.kind == EmailEventKind::Clicked).collect();
    let is_derived = |(_, event): &&&(EventId, Event)| {
        let is_inferred = event.kind == EmailEventKind::Opened
            && matches!(&event.detail, EventDetail::Open(open) if open.reason.as_deref() == Some(CLICK));
        is_inferred && clicks.iter().any(|(_, click)| requested_ms(click) - 1 == requested_ms(event))
    };
    let opens = engaged.iter().filter(is_derived).copied();
    opens.chain(clicks.iter().copied()).cloned().collect()
}

/// Returns a retracted click as it is recorded again; `None` for an open.
fn prefetched_click(event: &Event) -> Option<Event> {
    let EventDetail::Click(click) = &event.detail else { return None };
    let click = ClickDetail { reason: Some(MachineReason::Burst.as_str().to_owned()), ..click.clone() };
    Some(Event { kind: EmailEventKind::Prefetched, detail: EventDetail::Click(click), ..event.clone() })
}

fn event_of(hit: &Hit, address: &str, verdict: Option<MachineReason>) -> Event {
    let reason = verdict.map(|reason| reason.as_str().to_owned());
    let (kind, detail) = match &hit.target {
        HitTarget::Pixel => (EmailEventKind::Opened, EventDetail::Open(open_detail(hit, hit.at_ms, reason))),
        HitTarget::Link(link) => {
            let click = ClickDetail {
                link: link.clone(),
                ip_address: hit.ip_address.clone(),
                user_agent: hit.user_agent.clone(),
                at_ms: hit.at_ms,
                reason,
            };
            (EmailEventKind::Clicked, EventDetail::Click(click))
        }
    };
    let kind = if verdict.is_some() { EmailEventKind::Prefetched } else { kind };
    Event { kind, at_ms: hit.at_ms, recipients: vec![address.to_owned()], detail }
}

/// Returns the open that a click proves, one millisecond before it.
fn inferred_open(hit: &Hit, address: &str) -> Event {
    let at_ms = hit.at_ms - 1;
    let detail = EventDetail::Open(open_detail(hit, at_ms, Some(CLICK.to_owned())));
    Event { kind: EmailEventKind::Opened, at_ms, recipients: vec![address.to_owned()], detail }
}

fn open_detail(hit: &Hit, at_ms: TimestampMs, reason: Option<String>) -> OpenDetail {
    OpenDetail { ip_address: hit.ip_address.clone(), user_agent: hit.user_agent.clone(), at_ms, reason }
}

/// Returns the time of the request of an open or a click, which the event itself can have been recorded after.
const fn requested_ms(event: &Event) -> TimestampMs {
    match &event.detail {
        EventDetail::Open(open) => open.at_ms,
        EventDetail::Click(click) => click.at_ms,
        _ => event.at_ms,
    }
}

/// Returns whether an event of the same kind and target was recorded shortly before or after.
fn is_repeat(recorded: &Event, event: &Event) -> bool {
    let is_same_target = match (&recorded.detail, &event.detail) {
        (EventDetail::Open(_), EventDetail::Open(_)) => true,
        (EventDetail::Click(one), EventDetail::Click(other)) => one.link == other.link,
        _ => false,
    };
    let apart_ms = requested_ms(recorded).abs_diff(requested_ms(event));
    recorded.kind == event.kind && is_same_target && apart_ms < REPEAT_MS.unsigned_abs()
}

/// Returns the status of the recipient. `events` are its events afterwards. Only a retraction lowers it, to the highest
/// status of them.
fn status<'e>(recipient: &RecipientRow, events: impl Iterator<Item = &'e Event>, is_retraction: bool) -> LastEvent {
    let mut last_event = recipient.last_event;
    let is_lowered = is_retraction && matches!(last_event, LastEvent::Opened | LastEvent::Clicked);
    if is_lowered {
        last_event = LastEvent::Sent;
    }
    let of_kind = |kind| match kind {
        EmailEventKind::Clicked => Some(LastEvent::Clicked),
        EmailEventKind::Opened => Some(LastEvent::Opened),
        EmailEventKind::Delivered if is_lowered => Some(LastEvent::Delivered),
        EmailEventKind::DeliveryDelayed if is_lowered => Some(LastEvent::DeliveryDelayed),
        _ => None,
    };
    events.filter_map(|event| of_kind(event.kind)).for_each(|event| last_event.advance(event));
    last_event
}

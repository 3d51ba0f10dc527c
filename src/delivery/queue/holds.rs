//! Holds of the operator: a site, a domain, an email, an API key, a team, or the whole queue, whose groups are not delivered.
//!
//! A claim reads the holds in its own transaction, so that they apply in every process at once. A lane of a held site,
//! domain, team or queue is not claimed. A group of a held email or key gets a later due time without an attempt, so that
//! the groups behind it are delivered.

use std::collections::BTreeSet;

use super::key::{DestinationHash, DueKey, LaneKey, destination_hash};
use super::selector::{Hold, HoldKey, HoldKind, QueueSelector};
use super::stored_rows::read_row;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, EmailId, TeamId};
use crate::context::Context;
use crate::delivery::retry::should_report_delay;
use crate::delivery::rows::{Class, DueRow, HoldRow};
use crate::emails::{self, EmailRow, LastEvent, RecipientState};
use crate::events::{EmailEventKind, Event, EventDetail};
use crate::store::{KeyOf, Order, Reads, StoreError, WriteTx};
use crate::tables::{DUE, QUEUE_HOLDS};

/// Maximum number of holds.
pub(in crate::delivery) const HOLDS_MAX: usize = 1_000;
/// Time after which a group of a held email or key is due again. The end of the hold makes it due at once.
const POSTPONED_MS: i64 = 3_600_000;
/// Reply text of the `email.delivery_delayed` events of held groups.
const DELAY_REPLY: &str = "4.3.2 the operator has paused the delivery; the email waits without an attempt";

/// Returns all holds. There are at most [`HOLDS_MAX`].
pub(in crate::delivery) fn read_holds(tx: &impl Reads) -> Result<Vec<Hold>, StoreError> {
    tx.collect(&QUEUE_HOLDS, (FIRST, LAST), Order::Ascending, |(number, _), row| {
        let kind = HoldKind::ALL.into_iter().find(|kind| kind.number() == number);
        Ok(kind.zip(row.valid()).map(|(kind, row)| Hold { kind, name: row.name, since_ms: row.since_ms }))
    })
}

const FIRST: HoldKey = (0, [0; 16]);
const LAST: HoldKey = (u8::MAX, [u8::MAX; 16]);

/// Deletes the holds of a removed team and of its emails. Returns their number.
pub(crate) fn forget_holds_of_team(tx: &WriteTx<'_>, team: TeamId) -> Result<usize, StoreError> {
    delete_holds(tx, |_, row| Ok(row.team == Some(team)))
}

/// Deletes the holds of emails that do not exist any more. Returns their number.
pub(in crate::delivery) fn forget_holds_of_deleted_emails(tx: &WriteTx<'_>) -> Result<usize, StoreError> {
    delete_holds(tx, |(kind, id), row| match row.team {
        Some(team) if kind == HoldKind::Email.number() => Ok(!emails::has_row(tx, team, EmailId::from_bytes(id))?),
        _ => Ok(false),
    })
}

fn delete_holds(
    tx: &WriteTx<'_>,
    is_deleted: impl Fn(HoldKey, &HoldRow) -> Result<bool, StoreError>,
) -> Result<usize, StoreError> {
    let found = tx.collect(&QUEUE_HOLDS, (FIRST, LAST), Order::Ascending, |key, row| match row.valid() {
        Some(row) if is_deleted(key, &row)? => Ok(Some(key)),
        _ => Ok(None),
    })?;
    for key in &found {
        tx.delete(&QUEUE_HOLDS, key)?;
    }
    Ok(found.len())
}

/// The held sites, domains and teams, for the schedule. A copy of the table: a claim reads the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(in crate::delivery) struct HeldLanes {
    sites: BTreeSet<String>,
    destinations: BTreeSet<DestinationHash>,
    teams: BTreeSet<TeamId>,
    /// Whether the whole queue is held.
    is_all: bool,
}

impl HeldLanes {
    pub(in crate::delivery) fn new(holds: &[Hold]) -> Self {
        let mut held = Self::default();
        for Hold { kind, name, .. } in holds {
            match kind {
                HoldKind::Site => held.sites.extend([name.clone()]),
                HoldKind::Domain => held.destinations.extend([destination_hash(name)]),
                HoldKind::Team => held.teams.extend(TeamId::parse(name)),
                HoldKind::Queue => held.is_all = true,
                HoldKind::Email | HoldKind::Key => {}
            }
        }
        held
    }

    pub(in crate::delivery) fn is_empty(&self) -> bool {
        self == &Self::default()
    }

    pub(in crate::delivery) fn has_site(&self, site: &str) -> bool {
        self.sites.contains(site)
    }

    /// Returns whether the domain or the team of a lane, or the whole queue, is held.
    pub(in crate::delivery) fn has_lane(&self, lane: LaneKey) -> bool {
        self.is_all
            || self.destinations.contains(&lane.destination)
            || (lane.class == Class::Transactional && self.teams.contains(&lane.stream.cast()))
    }

    pub(in crate::delivery) fn sites(&self) -> impl Iterator<Item = &String> {
        self.sites.iter()
    }
}

/// Returns whether the whole queue is held.
pub(in crate::delivery) fn is_queue_held(tx: &impl Reads) -> Result<bool, StoreError> {
    tx.contains(&QUEUE_HOLDS, &(HoldKind::Queue.number(), [0; 16]))
}

/// The kinds of which holds exist. With it, a claim without holds costs one read.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::delivery) struct HoldKinds([bool; HoldKind::ALL.len()]);

impl HoldKinds {
    pub(in crate::delivery) fn read(tx: &impl Reads) -> Result<Self, StoreError> {
        let exists = |range| Ok::<_, StoreError>(tx.first_key(&QUEUE_HOLDS, range, Order::Ascending)?.is_some());
        let mut kinds = Self::default();
        if exists((FIRST, LAST))? {
            for kind in HoldKind::ALL.map(HoldKind::number) {
                kinds.0[usize::from(kind)] = exists(KeyOf::bounds(kind))?;
            }
        }
        Ok(kinds)
    }

    fn has(self, tx: &impl Reads, kind: HoldKind, part: impl FnOnce() -> [u8; 16]) -> Result<bool, StoreError> {
        let number = kind.number();
        Ok(self.0[usize::from(number)] && tx.contains(&QUEUE_HOLDS, &(number, part()))?)
    }

    /// Returns the kind of the hold of a lane; `None` if it is not held. `site` is the site that the groups go to.
    pub(in crate::delivery) fn of_lane(
        self,
        tx: &impl Reads,
        lane: LaneKey,
        site: Option<&str>,
    ) -> Result<Option<HoldKind>, StoreError> {
        if self.has(tx, HoldKind::Queue, || [0; 16])? {
            return Ok(Some(HoldKind::Queue));
        }
        if self.has(tx, HoldKind::Domain, || lane.destination)? {
            return Ok(Some(HoldKind::Domain));
        }
        if lane.class == Class::Transactional && self.has(tx, HoldKind::Team, || *lane.stream.as_bytes())? {
            return Ok(Some(HoldKind::Team));
        }
        match site {
            Some(site) if self.has(tx, HoldKind::Site, || destination_hash(site))? => Ok(Some(HoldKind::Site)),
            _ => Ok(None),
        }
    }

    /// Returns the kind of the hold of an email; `None` if it is not held.
    pub(in crate::delivery) fn of_email(
        self,
        tx: &impl Reads,
        team: TeamId,
        email: EmailId,
        key: Option<ApiKeyId>,
    ) -> Result<Option<HoldKind>, StoreError> {
        if self.has(tx, HoldKind::Email, || *email.as_bytes())? {
            return Ok(Some(HoldKind::Email));
        }
        if let Some(key) = key
            && self.has(tx, HoldKind::Key, || *key.as_bytes())?
        {
            return Ok(Some(HoldKind::Key));
        }
        // The lane of a broadcast does not name the team.
        Ok(self.has(tx, HoldKind::Team, || *team.as_bytes())?.then_some(HoldKind::Team))
    }

    /// Requeues a group of a held email, whose queue row the caller has deleted, at a later due time. Returns whether the
    /// email is held.
    pub(super) fn postpone(
        self,
        tx: &WriteTx<'_>,
        context: &Context,
        key: DueKey,
        due: &mut DueRow,
        row: &mut EmailRow,
    ) -> Result<bool, StoreError> {
        if self.of_email(tx, due.team, key.email, row.key)?.is_none() {
            return Ok(false);
        }
        let now_ms = context.now_ms();
        report_delay(tx, context, key, due, row)?;
        (due.is_postponed, due.wait_ms) = (true, Some(POSTPONED_MS));
        move_group(tx, key, now_ms + POSTPONED_MS, due, row)?;
        emails::put_row(tx, due.team, key.email, row, now_ms)?;
        Ok(true)
    }
}

/// Stores a hold, or keeps the existing one, and returns it; `None` if there are [`HOLDS_MAX`] holds already.
pub(in crate::delivery) fn add_hold(
    tx: &WriteTx<'_>,
    selector: &QueueSelector,
    now_ms: TimestampMs,
) -> Result<Option<Hold>, StoreError> {
    let key = selector.hold_key();
    let (kind, name) = (selector.kind(), selector.name());
    if let Some(row) = tx.get_valid(&QUEUE_HOLDS, &key)? {
        return Ok(Some(Hold { kind, name, since_ms: row.since_ms }));
    }
    if read_holds(tx)?.len() >= HOLDS_MAX {
        return Ok(None);
    }
    tx.put(&QUEUE_HOLDS, &key, &HoldRow { name: name.clone(), since_ms: now_ms, team: selector.team() })?;
    Ok(Some(Hold { kind, name, since_ms: now_ms }))
}

/// Deletes a hold; returns whether there was one.
pub(in crate::delivery) fn remove_hold(tx: &WriteTx<'_>, selector: &QueueSelector) -> Result<bool, StoreError> {
    tx.delete(&QUEUE_HOLDS, &selector.hold_key())
}

/// Stores the queue row of a group under another due time, which also changes in `row`. The caller stores `row` and
/// has deleted the previous queue row. A group without waiting recipients leaves the queue.
pub(in crate::delivery) fn move_group(
    tx: &WriteTx<'_>,
    key: DueKey,
    due_ms: TimestampMs,
    due: &DueRow,
    row: &mut EmailRow,
) -> Result<DueKey, StoreError> {
    let to = DueKey { due_ms, ..key };
    let waiting = waiting_recipients(row, key);
    if !waiting.is_empty() {
        tx.put(&DUE, &to.parts(), due)?;
    }
    for index in waiting {
        row.recipients[index].state = RecipientState::Waiting { due_ms };
    }
    Ok(to)
}

/// Returns the indexes of the recipients that wait with a queued group.
pub(in crate::delivery) fn waiting_recipients(row: &EmailRow, key: DueKey) -> Vec<usize> {
    let waiting = RecipientState::Waiting { due_ms: key.due_ms };
    let recipients = row.recipients.iter().enumerate();
    let of_group = recipients.filter(|(_, recipient)| recipient.group == key.group && recipient.state == waiting);
    of_group.map(|(index, _)| index).collect()
}

/// Records the delay of groups that are held, if it is due: after four hours and after a day. They stay in the queue.
pub(in crate::delivery) fn report_held(tx: &WriteTx<'_>, context: &Context, keys: &[DueKey]) -> Result<(), StoreError> {
    for key in keys {
        let Some(mut due) = read_row(tx, *key)? else { continue };
        let Some(mut row) = emails::find_valid_row(tx, due.team, key.email)? else { continue };
        if report_delay(tx, context, *key, &mut due, &mut row)? {
            tx.put(&DUE, &key.parts(), &due)?;
            emails::put_row(tx, due.team, key.email, &row, context.now_ms())?;
        }
    }
    Ok(())
}

/// Records `email.delivery_delayed` for the waiting recipients of a held group, if it is due. Returns whether it is.
fn report_delay(
    tx: &WriteTx<'_>,
    context: &Context,
    key: DueKey,
    due: &mut DueRow,
    row: &mut EmailRow,
) -> Result<bool, StoreError> {
    // An email of a broadcast that has not been claimed can still be canceled with the broadcast.
    if row.broadcast.is_some() && row.last_event < LastEvent::Sent {
        return Ok(false);
    }
    // The first report belongs to the first attempt. A group without one reports after four hours.
    let reported = due.delays_reported.max(1);
    if !should_report_delay(reported, due, context.now_ms()) {
        return Ok(false);
    }
    due.delays_reported = reported + 1;
    let (mut first, mut delayed) = (Vec::new(), Vec::new());
    for index in waiting_recipients(row, key) {
        let recipient = &mut row.recipients[index];
        if recipient.last_event < LastEvent::Sent {
            first.push(recipient.mailbox.bare());
        }
        recipient.last_event.advance(LastEvent::DeliveryDelayed);
        delayed.push(recipient.mailbox.bare());
    }
    row.last_event.advance(LastEvent::DeliveryDelayed);
    let mut recorder = emails::EventRecorder::new(due.team, key.email);
    let reply = EventDetail::Reply { reply: DELAY_REPLY.to_owned() };
    for (kind, recipients, detail) in
        [(EmailEventKind::Sent, first, EventDetail::None), (EmailEventKind::DeliveryDelayed, delayed, reply)]
    {
        if !recipients.is_empty() {
            let event = Event { kind, at_ms: context.now_ms(), recipients, detail };
            recorder.record(tx, context, row, event)?;
        }
    }
    Ok(true)
}

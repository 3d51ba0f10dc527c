//! Recording of the events of an email.

use super::message_id;
use super::store::{EmailRow, valid_content};
use crate::base::clock::TimestampMs;
use crate::base::id::{EmailId, EventId, TeamId};
use crate::context::Context;
use crate::delivery::simulated;
use crate::email_metrics::{self, CountedEvent};
use crate::events::{self, EmailEventData, Event};
use crate::store::{StoreError, WriteTx};

/// Recorder of the events of one email. It reads the custom headers at most once.
pub(crate) struct EventRecorder {
    team: TeamId,
    id: EmailId,
    /// Custom headers; `None` until an event has a subscriber.
    headers: Option<Vec<(String, String)>>,
}

impl EventRecorder {
    /// Returns a recorder for an email of a team.
    pub(crate) fn new(team: TeamId, id: EmailId) -> Self {
        Self { team, id, headers: None }
    }

    /// Records an event and counts its recipients; returns its id. A time before the email or in the future is replaced by
    /// the nearest time between both. Reads the custom headers from the sealed content once, for the first event that
    /// has a subscriber.
    pub(crate) fn record(
        &mut self,
        tx: &WriteTx<'_>,
        context: &Context,
        row: &EmailRow,
        event: Event,
    ) -> Result<EventId, StoreError> {
        self.record_engagement(tx, context, row, event, false).map(|(id, _)| id)
    }

    /// Records an event as [`EventRecorder::record`]; returns it as stored. `is_first` is whether it is the first open
    /// or click of its recipient in the timeline, which is counted as unique too. Other kinds ignore it.
    pub(crate) fn record_engagement(
        &mut self,
        tx: &WriteTx<'_>,
        context: &Context,
        row: &EmailRow,
        mut event: Event,
        is_first: bool,
    ) -> Result<(EventId, Event), StoreError> {
        let Self { team, id, headers } = self;
        // The counts belong to this time, so that a recount and a retraction find it in the event.
        event.at_ms = event.at_ms.max(row.created_ms).min(context.now_ms());
        let source = row.metric_source(*team);
        let counted = CountedEvent::of(source, *id, &event, |address| simulated::outcome(address).is_some());
        let metric_of_send_day = counted.and_then(|counted| counted.metric_of_send_day());
        let send_times = match metric_of_send_day {
            Some(_) => send_times(tx, *id, &event)?,
            None => Vec::new(),
        };
        let event_data = || {
            let headers = match headers {
                Some(known) => known,
                None => headers.insert(read_headers(tx, context, *id, row)?),
            };
            Ok(with_headers(*id, row, headers.clone()))
        };
        let (event_id, event) = events::record(tx, context, *team, *id, event, event_data)?;
        if let Some(counted) = counted {
            email_metrics::count_event(tx, event_id, counted, is_first)?;
        }
        if let Some(metric) = metric_of_send_day {
            for sent_ms in send_times {
                email_metrics::count_of_send_day(tx, *team, sent_ms, metric, 1)?;
            }
        }
        Ok((event_id, event))
    }
}

/// Records one event of an email as [`EventRecorder::record`], in the transaction that causes it.
pub(crate) fn record(
    tx: &WriteTx<'_>,
    context: &Context,
    team: TeamId,
    id: EmailId,
    row: &EmailRow,
    event: Event,
) -> Result<EventId, StoreError> {
    EventRecorder::new(team, id).record(tx, context, row, event)
}

/// Returns the time at which the email was sent to each recipient of an event that is not simulated. An unknown time is
/// that of the event.
fn send_times(tx: &WriteTx<'_>, id: EmailId, event: &Event) -> Result<Vec<TimestampMs>, StoreError> {
    let is_real = |address: &&String| simulated::outcome(address).is_none();
    let real: Vec<&String> = event.recipients.iter().filter(is_real).collect();
    let times = events::first_sent_times(tx, id, &real)?;
    Ok(times.into_iter().map(|sent_ms| sent_ms.unwrap_or(event.at_ms)).collect())
}

fn read_headers(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    row: &EmailRow,
) -> Result<Vec<(String, String)>, StoreError> {
    // A header can contain an erased address, which the event must not store again, until the erasure has searched it.
    if !row.has_headers || row.erasure.is_some_and(|mark| !mark.is_searched) {
        return Ok(Vec::new());
    }
    // If the content is corrupt, the event is recorded without headers.
    let content = valid_content(tx, &context.keyring, id)?;
    Ok(content.map(|content| content.headers).unwrap_or_default())
}

/// Returns the event data of an email with the expected custom headers.
pub(super) fn with_headers(id: EmailId, row: &EmailRow, headers: Vec<(String, String)>) -> EmailEventData {
    EmailEventData {
        id,
        message_id: format!("<{}>", message_id(id, &row.from)),
        created_ms: row.created_ms,
        from: row.from.to_string(),
        subject: row.subject.clone(),
        tags: row.tags.clone(),
        headers,
        broadcast: row.broadcast.as_ref().map(|send| send.id),
        template: row.template,
    }
}

/// Stores content that has only custom headers.
#[cfg(test)]
pub(crate) fn put_headers(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    headers: Vec<(String, String)>,
) -> Result<(), StoreError> {
    put_content(tx, context, id, &super::model::EmailContent { headers, ..super::model::EmailContent::default() })
}

/// Stores the content of an email.
#[cfg(test)]
pub(crate) fn put_content(
    tx: &WriteTx<'_>,
    context: &Context,
    id: EmailId,
    content: &super::model::EmailContent,
) -> Result<(), StoreError> {
    super::store::seal_content(&context.keyring, id, content).put_content(tx, id)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::{ERASED, StoredMailbox};
    use crate::base::clock::DAY_MS;
    use crate::base::id::Id;
    use crate::email_metrics::{DayTotals, day_totals};
    use crate::emails::model::LastEvent;
    use crate::emails::store::{ErasureMark, RecipientRow, RecipientState};
    use crate::events::{EmailEventKind, EventDetail};
    use crate::store::Encoded;
    use crate::tables::EMAIL_BODIES;

    fn row() -> EmailRow {
        let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::Sent);
        EmailRow { has_headers: true, ..EmailRow::example(vec![recipient], LastEvent::Sent) }
    }

    async fn headers(context: &Context, id: EmailId, row: EmailRow) -> Vec<(String, String)> {
        let reading = context.clone();
        context.commit(move |tx| read_headers(tx, &reading, id, &row)).await
    }

    #[tokio::test]
    async fn events_have_custom_headers_unless_the_content_is_corrupt_or_an_erasure_has_not_searched_it() {
        let (_directory, context) = Context::temporary();
        let id: EmailId = context.id();
        let expected = vec![("X-Order".to_owned(), "42".to_owned())];
        let (writing, stored) = (context.clone(), expected.clone());
        context.commit(move |tx| put_headers(tx, &writing, id, stored.clone())).await;
        let intact = row();
        let mut searched = [row(), row(), row()];
        searched[0].recipients[0].mailbox = StoredMailbox::erased();
        ERASED.clone_into(&mut searched[1].subject);
        searched[2].erasure = Some(ErasureMark { id: context.id(), is_searched: true });
        let dropped = EmailRow { erasure: Some(ErasureMark { id: context.id(), is_searched: false }), ..row() };

        assert_eq!(headers(&context, id, intact.clone()).await, expected);
        for searched in searched {
            assert_eq!(headers(&context, id, searched).await, expected);
        }
        assert_eq!(headers(&context, id, dropped).await, []);
        context.commit(move |tx| tx.put_encoded(&EMAIL_BODIES, &(id, 0), &Encoded::blob(vec![0xff; 8]))).await;
        assert_eq!(headers(&context, id, intact).await, []);
    }

    #[tokio::test]
    async fn a_late_complaint_is_counted_on_the_day_of_the_send_too() {
        let (_directory, context) = Context::temporary();
        let (team, id): (TeamId, EmailId) = (Id::MIN, context.id());
        let row = EmailRow { created_ms: context.now_ms(), has_headers: false, ..row() };
        let record = async |kind: EmailEventKind, addresses: &[&str]| {
            let (recording, row, at_ms) = (context.clone(), row.clone(), context.now_ms());
            let recipients: Vec<String> = addresses.iter().map(|address| (*address).to_owned()).collect();
            let write = move |tx: &WriteTx<'_>| {
                let event = Event { kind, at_ms, recipients: recipients.clone(), detail: EventDetail::None };
                record(tx, &recording, team, id, &row, event)
            };
            context.commit(write).await;
        };
        let totals = |at_ms: TimestampMs| {
            let day = u32::try_from(at_ms / DAY_MS).unwrap();
            context.read(|tx| day_totals(tx, team, day..=day))
        };
        let sent_ms = context.now_ms();
        record(EmailEventKind::Sent, &["ada@example.net", "complained@resend.dev"]).await;
        context.clock.advance(std::time::Duration::from_secs(3 * 86_400));

        record(EmailEventKind::Complained, &["ada@example.net", "complained@resend.dev"]).await;

        assert_eq!(totals(sent_ms), DayTotals { sent: 1, sent_and_complained: 1, ..DayTotals::default() });
        assert_eq!(totals(context.now_ms()), DayTotals { complained: 1, ..DayTotals::default() });
    }
}

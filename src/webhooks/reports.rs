//! Deliveries with the result of their last attempt, of one endpoint or of one email.

use std::time::Duration;

use super::deliveries::delivery;
use super::error::DeliveryError;
use super::model::Delivery;
use super::service::Webhooks;
use super::store::DeliveryRow;
use crate::base::clock::monotonic;
use crate::base::id::{EmailId, Id, TeamId, WebhookDeliveryId, WebhookId};
use crate::events;
use crate::store::page::{Page, PageQuery, page_under};
use crate::store::{KeyOf, NEXT, Order, ReadTx, Reads as _, STOP, StoreError};
use crate::tables::{WEBHOOK_DELIVERIES, WEBHOOKS};

/// Maximum number of rows of one endpoint that a search for the deliveries of an email reads.
const ENDPOINT_ROWS_MAX: usize = 2_000;
/// Maximum time of such a search.
const SEARCH_MAX: Duration = Duration::from_millis(200);
/// Number of rows between two reads of the clock.
const ROWS_PER_CLOCK_READ: usize = 64;

/// A delivery with its endpoint and its last attempt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebhookDeliveryReport {
    pub webhook: WebhookId,
    /// URL of the endpoint.
    pub endpoint: String,
    pub delivery: Delivery,
    /// Number of stored attempts.
    pub attempts: usize,
    /// HTTP status of the last attempt; `None` without a response.
    pub response_status: Option<u16>,
    /// Duration of the last attempt.
    pub duration_ms: Option<u32>,
}

impl Webhooks {
    /// Returns a page of the deliveries to an endpoint with their last attempts, newest first.
    pub async fn delivery_reports(
        &self,
        team: TeamId,
        webhook: WebhookId,
        query: PageQuery<WebhookDeliveryId>,
    ) -> Result<Page<WebhookDeliveryReport>, DeliveryError> {
        let notifier = self.notifier.clone();
        let read = move |tx: &ReadTx| {
            let endpoint = tx.get(&WEBHOOKS, &(team, webhook))?.ok_or(DeliveryError::UnknownWebhook)?.endpoint;
            let page = page_under(tx, &WEBHOOK_DELIVERIES, team, webhook, query, |id, row| {
                Ok(Some(report((webhook, endpoint.as_str()), delivery(id, &row, &notifier), &row)))
            })?;
            Ok(page)
        };
        self.context.store.read::<_, DeliveryError>(read).await
    }

    /// Returns the deliveries of the events of an email, oldest first, and whether the search was complete.
    pub async fn deliveries_of_email(
        &self,
        team: TeamId,
        email: EmailId,
    ) -> Result<(Vec<WebhookDeliveryReport>, bool), StoreError> {
        let notifier = self.notifier.clone();
        let read = move |tx: &ReadTx| {
            let of_email = events::email_event_ids(tx, team, email)?;
            let Some(first_ms) = of_email.iter().map(Id::created_ms).min() else { return Ok((Vec::new(), true)) };
            let endpoints = tx.collect(&WEBHOOKS, KeyOf::bounds(team), Order::Ascending, |(_, webhook), row| {
                Ok(row.valid().map(|row| (webhook, row.endpoint)))
            })?;
            let (mut reports, mut is_complete, started) = (Vec::new(), true, monotonic());
            for (webhook, endpoint) in &endpoints {
                let (mut found, mut read) = (0, 0);
                // A delivery is created after its event.
                let from = (team, *webhook, WebhookDeliveryId::first_at(first_ms));
                tx.scan(&WEBHOOK_DELIVERIES, &from, &(team, *webhook, Id::MAX), Order::Ascending, |(.., id), row| {
                    if read == ENDPOINT_ROWS_MAX || (read % ROWS_PER_CLOCK_READ == 1 && started.elapsed() >= SEARCH_MAX)
                    {
                        is_complete = false;
                        return STOP;
                    }
                    read += 1;
                    let Some(row) = row.valid() else { return NEXT };
                    if of_email.contains(&row.event) {
                        reports.push(report((*webhook, endpoint.as_str()), delivery(id, &row, &notifier), &row));
                        found += 1;
                    }
                    // An endpoint has one delivery of each event.
                    if found == of_email.len() { STOP } else { NEXT }
                })?;
            }
            reports.sort_by_key(|report: &WebhookDeliveryReport| report.delivery.id);
            Ok((reports, is_complete))
        };
        self.context.store.read::<_, StoreError>(read).await
    }
}

fn report((webhook, endpoint): (WebhookId, &str), delivery: Delivery, row: &DeliveryRow) -> WebhookDeliveryReport {
    let last = row.attempts.last();
    WebhookDeliveryReport {
        webhook,
        endpoint: endpoint.to_owned(),
        delivery,
        attempts: row.attempts.len(),
        response_status: last.and_then(|attempt| attempt.status),
        duration_ms: last.map(|attempt| attempt.took_ms),
    }
}

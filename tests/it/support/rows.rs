//! Writes rows into the store and reads them, for data that no endpoint creates or returns.

use ringmail::audit::Actor;
use ringmail::base::address::EmailAddress;
use ringmail::base::clock::utc_day;
use ringmail::base::id::{ContactId, DomainId, EmailId, EventId, Id, TeamId, TopicId, WebhookDeliveryId, WebhookId};
use ringmail::contacts::{ContactRow, TopicChoiceRow};
use ringmail::delivery::capture::{CaptureMailbox, ReleaseError, ReleasedMessage};
use ringmail::delivery::{CapturedRow, SiteSnapshot, SmtpAttemptRow};
use ringmail::email_metrics::{self, CountedRecipients, DayTotals, EmailMetric, MetricSource};
use ringmail::erasure;
use ringmail::events::{self, ChangeSource, EventType, MessageRow};
use ringmail::notices::{self, Notice};
use ringmail::store::meta::NODES;
use ringmail::store::page::{Cursor, PageQuery};
use ringmail::store::{Key, NEXT, NodeId, Order, ReadTx, Reads as _, STOP, StoreError, Table, WriteTx};
use ringmail::suppressions::{self, SuppressionCause, SuppressionOrigin};
use ringmail::tables::{
    ATTEMPTS, AUDIENCE_EVENTS, CONTACT_ADDRESSES, CONTACTS, ContactIdRow, EMAIL_BODIES, EMAIL_COUNT_JOURNAL,
    EMAIL_DAY_TOTALS, EMAIL_SEARCH_BLOCKS, EMAILS, ERASURES, LEASES, SUPPRESSIONS, TOPIC_CHOICES, TOPICS,
    WEBHOOK_DELIVERIES,
};
use ringmail::topics::{Subscription, TopicRow, TopicVisibility};
use ringmail::users::{self, Role};
use ringmail::webhooks::{DeliveryRow, ExhaustedReason, WebhookAttemptRow, WebhookDeliveryState};
use serde_json::Value;

use super::TestServer;
use super::server::retry_until_ok;

impl TestServer {
    /// Runs `work` in a read transaction.
    pub(super) fn read<T>(&self, work: impl FnOnce(&ReadTx) -> Result<T, StoreError>) -> T {
        self.services().context.store.read_now(work).expect("the store can be read")
    }

    /// Returns the number of rows of a table whose keys are in `from..=to`.
    pub(crate) fn row_count<K: Key, V: ringmail::store::Value>(&self, table: &Table<K, V>, from: &K, to: &K) -> usize {
        self.read(|tx| {
            let mut rows = 0;
            tx.scan(table, from, to, Order::Ascending, |_, _| {
                rows += 1;
                NEXT
            })?;
            Ok(rows)
        })
    }

    /// Runs `work` in a write transaction and waits for the commit.
    fn write<T: Send + 'static>(&self, work: impl Fn(&WriteTx<'_>) -> Result<T, StoreError> + Send + 'static) -> T {
        self.block_on(self.services().context.store.write(work)).expect("the store can be written")
    }

    /// Adds an address to the suppression list of the team.
    pub(crate) fn suppress(&self, address: &str, origin: SuppressionOrigin) {
        let (team, context) = (self.team(), self.services().context.clone());
        let address = EmailAddress::parse(address).expect("an address");
        self.write(move |tx| {
            suppressions::add(tx, &context, team, &address, SuppressionCause::listed(origin, ChangeSource::Api))
        });
    }

    /// Adds an owner with this address to the team.
    pub(crate) fn add_owner(&self, address: &str) {
        let address = EmailAddress::parse(address).expect("an address");
        let added =
            users::add(&self.services().context, Actor::CommandLine.in_team(self.team()), address, Some(Role::Owner));
        self.block_on(added).expect("the owner is added");
    }

    /// Records a notice for the owners of the team.
    pub(crate) fn record_notice(&self, notice: Notice) {
        let (team, context) = (self.team(), self.services().context.clone());
        self.write(move |tx| notices::record(tx, &context, team, &notice));
    }

    /// Compares the rates of all teams with their limits now, as the server does every 10 seconds.
    pub(crate) fn run_guardrail(&self) {
        self.block_on(self.services().deliverability.run_round()).expect("the store can be written");
    }

    /// Sums the rates of all teams by region now, as the server does every 15 minutes.
    pub(crate) fn sweep_regions(&self) {
        self.block_on(self.services().deliverability.sweep_regions()).expect("the store can be written");
    }

    /// Stores the totals of the team on the current UTC day.
    pub(crate) fn put_totals(&self, totals: DayTotals) {
        self.put_totals_of(self.team(), totals);
    }

    /// Does the same as [`TestServer::put_totals`] for any team.
    pub(super) fn put_totals_of(&self, team: TeamId, totals: DayTotals) {
        let day = utc_day(self.now_ms());
        self.write(move |tx| tx.put(&EMAIL_DAY_TOTALS, &(team, day), &totals));
    }

    /// Counts simulated recipients of a domain as delivered in the current quarter hour, without an event. The totals
    /// of the day have no simulated recipients.
    pub(crate) fn miscount_deliveries(&self, domain: &str, recipients: u64) {
        let (domain, at_ms) = (DomainId::parse(domain).expect("an id"), self.now_ms());
        let source = MetricSource { team: self.team(), domain, broadcast: None };
        let recipients = CountedRecipients::Simulated(recipients);
        self.write(move |tx| email_metrics::count(tx, source, at_ms, EmailMetric::Delivered, recipients));
    }

    /// Waits until the nightly check has compared all days with events, and has deleted their journal.
    #[track_caller]
    pub(crate) fn wait_for_count_check(&self) {
        retry_until_ok("the check", || {
            match self.row_count(&EMAIL_COUNT_JOURNAL, &(Id::MIN, 0, Id::MIN), &(Id::MAX, u32::MAX, Id::MAX)) {
                0 => Ok(()),
                rows => Err(format!("{rows} events")),
            }
        });
    }

    /// Returns the addresses on the suppression list of the team, without those that are erased.
    pub(crate) fn suppressed_addresses(&self) -> Vec<String> {
        let team = self.team();
        self.read(|tx| {
            let mut listed = Vec::new();
            tx.scan(&SUPPRESSIONS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
                listed.extend(row.decode()?.email);
                NEXT
            })?;
            Ok(listed)
        })
    }

    /// Returns the SMTP attempts of all emails, oldest first.
    pub(crate) fn stored_attempts(&self) -> Vec<SmtpAttemptRow> {
        self.read(|tx| {
            let mut rows = Vec::new();
            tx.scan(&ATTEMPTS, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX), Order::Ascending, |_, row| {
                rows.push(row.decode()?);
                NEXT
            })?;
            Ok(rows)
        })
    }

    /// Returns the state of a site. It must have had an email.
    pub(crate) fn site(&self, name: &str) -> SiteSnapshot {
        let sites = self.services().doctor.engine.as_ref().expect("a server runs").sites();
        sites.into_iter().find(|site| &*site.name == name).expect("a site with this name")
    }

    /// Returns the end of each node that holds leases.
    pub(crate) fn node_expiries(&self) -> Vec<i64> {
        self.read(|tx| {
            let mut expiries = Vec::new();
            tx.scan(&NODES, &(NodeId::MIN,), &(NodeId::MAX,), Order::Ascending, |_, row| {
                expiries.push(row.decode()?.expires_ms);
                NEXT
            })?;
            Ok(expiries)
        })
    }

    /// Waits until the end of the only node that holds leases meets `condition`, and returns it.
    pub(crate) fn wait_for_node_expiry(&self, condition: impl Fn(i64) -> bool) -> i64 {
        retry_until_ok("the end of the node", || match self.node_expiries()[..] {
            [expires_ms] if condition(expires_ms) => Ok(expires_ms),
            ref expiries => Err(format!("{expiries:?}")),
        })
    }

    /// Returns the number of leases.
    pub(crate) fn leases(&self) -> usize {
        self.row_count(&LEASES, &(Id::MIN, 0), &(Id::MAX, u16::MAX))
    }

    /// Requests the erasure of addresses from all data of the team.
    pub(crate) fn request_erasure(&self, addresses: &[&str]) {
        let (team, context) = (self.team(), self.services().context.clone());
        let parsed = addresses.iter().map(|text| EmailAddress::parse(text).expect("an address"));
        let addresses: Vec<EmailAddress> = parsed.collect();
        self.write(move |tx| erasure::request(tx, &context, team, addresses.clone()));
    }

    /// Returns the number of erasures that are not complete.
    pub(crate) fn pending_erasures(&self) -> usize {
        self.row_count(&ERASURES, &(Id::MIN, Id::MIN), &(Id::MAX, Id::MAX))
    }

    /// Creates a public topic and returns its id.
    pub(crate) fn add_topic(&self, default_subscription: Subscription) -> TopicId {
        let (team, context) = (self.team(), &self.services().context);
        let id: TopicId = context.id();
        let row = TopicRow {
            name: "News".into(),
            description: None,
            default_subscription,
            visibility: TopicVisibility::Public,
            created_ms: context.now_ms(),
        };
        self.write(move |tx| tx.put(&TOPICS, &(team, id), &row));
        id
    }

    /// Creates a contact and returns its id.
    pub(crate) fn add_contact(&self, email: &str, unsubscribed: bool) -> ContactId {
        let (team, context) = (self.team(), &self.services().context);
        let id: ContactId = context.id();
        let hash = EmailAddress::parse(email).expect("an address").identity_hash();
        let unsubscribed_ms = unsubscribed.then(|| context.now_ms());
        let row = ContactRow { unsubscribed_ms, ..ContactRow::new(EmailAddress::parse(email).unwrap()) };
        self.write(move |tx| {
            tx.put(&CONTACTS, &(team, id), &row)?;
            tx.put(&CONTACT_ADDRESSES, &(team, hash), &ContactIdRow { id })
        });
        id
    }

    /// Stores the topic choice of a contact.
    pub(crate) fn put_topic_choice(&self, contact: ContactId, topic: TopicId, subscription: Subscription) {
        let team = self.team();
        self.write(move |tx| tx.put(&TOPIC_CHOICES, &(team, contact, topic), &TopicChoiceRow { subscription }));
    }

    /// Returns the number of email rows of the team, including deleted emails that are not removed yet.
    pub(crate) fn stored_emails(&self) -> usize {
        let team = self.team();
        self.row_count(&EMAILS, &(team, Id::MIN), &(team, Id::MAX))
    }

    /// Returns the number of blocks of the search index of the team.
    pub(crate) fn search_blocks(&self) -> usize {
        let team = self.team();
        self.row_count(&EMAIL_SEARCH_BLOCKS, &(team, Id::MIN), &(team, Id::MAX))
    }

    /// Returns the types of the events recorded for an email, even if the email is deleted.
    pub(crate) fn recorded_events(&self, email: &str) -> Vec<&'static str> {
        let id = EmailId::parse(email).expect("an id");
        self.read(|tx| ringmail::events::email_timeline(tx, id)).iter().map(|event| event.kind.as_str()).collect()
    }

    /// Returns the webhook payloads of the events about contacts and suppressions, oldest first.
    pub(crate) fn audience_events(&self) -> Vec<Value> {
        let team = self.team();
        self.read(|tx| {
            let mut events = Vec::new();
            tx.scan(&AUDIENCE_EVENTS, &(team, Id::MIN), &(team, Id::MAX), Order::Ascending, |_, row| {
                events.push(row.decode()?.payload(team));
                NEXT
            })?;
            Ok(events)
        })
    }

    /// Stores a delivery to a webhook endpoint of the team, exhausted after two attempts. Returns its id.
    pub(crate) fn add_webhook_delivery(&self, webhook: &str) -> String {
        self.put_webhook_delivery(self.team(), webhook)
    }

    /// Does the same as [`TestServer::add_webhook_delivery`] for any team.
    pub(super) fn put_webhook_delivery(&self, team: TeamId, webhook: &str) -> String {
        let webhook = WebhookId::parse(webhook).expect("an id");
        let context = &self.services().context;
        let (event, id): (EventId, WebhookDeliveryId) = (context.id(), context.id());
        let (event_type, at_ms) = (EventType::EmailSent, context.now_ms());
        let body = r#"{"type":"email.sent","created_at":"2026-01-05T09:00:00.000Z","data":{"to":["ada@example.net"]}}"#;
        let message = MessageRow::new(event_type, at_ms, body.to_owned());
        let attempt = |status, response: &str| WebhookAttemptRow {
            id: context.id(),
            sent_ms: at_ms,
            took_ms: 12,
            status,
            response: response.to_owned(),
        };
        let row = DeliveryRow {
            event,
            event_type,
            at_ms,
            queued_ms: at_ms,
            activation: 0,
            state: WebhookDeliveryState::Exhausted { at_ms, why: ExhaustedReason::Schedule },
            counted: 2,
            attempts: vec![attempt(Some(500), "no ada@example.net here"), attempt(None, "connection refused")],
        };
        self.write(move |tx| {
            events::put_message(tx, team, event, &message)?;
            tx.put(&WEBHOOK_DELIVERIES, &(team, webhook, id), &row)
        });
        id.to_string()
    }

    /// Takes the attempts from a delivery to a webhook endpoint of the team, and marks its event as retracted.
    pub(crate) fn retract_webhook_delivery(&self, webhook: &str, delivery: &str) {
        let team = self.team();
        let webhook = WebhookId::parse(webhook).expect("an id");
        let id = WebhookDeliveryId::parse(delivery).expect("an id");
        self.write(move |tx| {
            let row = tx.get(&WEBHOOK_DELIVERIES, &(team, webhook, id))?.expect("a delivery");
            let message = events::message(tx, team, row.event)?.expect("a message");
            events::put_message(tx, team, row.event, &MessageRow { is_retracted: true, ..message })?;
            tx.put(&WEBHOOK_DELIVERIES, &(team, webhook, id), &DeliveryRow { attempts: Vec::new(), ..row })
        });
    }

    /// Returns whether the content of an email is in the store.
    pub(crate) fn has_content(&self, email: &str) -> bool {
        let id = EmailId::parse(email).expect("an id");
        self.read(|tx| {
            let mut found = false;
            tx.scan(&EMAIL_BODIES, &(id, 0), &(id, u32::MAX), Order::Ascending, |_, _| {
                found = true;
                STOP
            })?;
            Ok(found)
        })
    }

    /// Releases the newest message in the capture mailbox, whatever the settings are.
    pub(crate) fn release_newest(&self) -> Result<ReleasedMessage, ReleaseError> {
        let mailbox = CaptureMailbox::new(self.services().context.clone());
        self.block_on(async {
            let query = PageQuery { limit: 1, cursor: Cursor::Newest };
            let page = mailbox.list(query).await.expect("the mailbox can be read");
            let (newest, _) = page.rows.first().expect("the mailbox has a message");
            mailbox.release(Actor::CommandLine, *newest, &self.services().queue_notifier).await
        })
    }

    /// Returns up to 100 messages in the capture mailbox with their envelopes, newest first.
    pub(crate) fn captured_messages(&self) -> Vec<(CapturedRow, Vec<u8>)> {
        let mailbox = CaptureMailbox::new(self.services().context.clone());
        self.block_on(async {
            let query = PageQuery { limit: 100, cursor: Cursor::Newest };
            let page = mailbox.list(query).await.expect("the mailbox can be read");
            let mut messages = Vec::new();
            for (id, _) in page.rows {
                messages.extend(mailbox.message(id).await.expect("the mailbox can be read"));
            }
            messages
        })
    }

    /// Blocks all commits of the store until the returned guard is dropped.
    pub(crate) fn block_commits(&self) -> impl Drop + use<> {
        /// On drop, closes the channel that the writer thread waits on.
        struct BlockGuard(Option<std::sync::mpsc::Sender<()>>, Option<std::thread::JoinHandle<()>>);
        impl Drop for BlockGuard {
            fn drop(&mut self) {
                self.0.take();
                if let Some(blocking) = self.1.take() {
                    assert!(blocking.join().is_ok(), "the blocking command failed");
                }
            }
        }

        let (release, released) = std::sync::mpsc::channel::<()>();
        let (started_tx, started) = std::sync::mpsc::channel();
        let (store, runtime) = (self.services().context.store.clone(), self.runtime());
        let released = std::sync::Mutex::new(released);
        let blocking = std::thread::spawn(move || {
            let command = store.write(move |_| {
                started_tx.send(()).expect("the test waits for the start");
                // `recv` returns an error when the sender is dropped.
                let _ = released.lock().expect("only this command locks the receiver").recv();
                Ok::<_, StoreError>(())
            });
            runtime.block_on(command).expect("an empty command commits");
        });
        started.recv().expect("the writer thread runs the command");
        BlockGuard(Some(release), Some(blocking))
    }
}

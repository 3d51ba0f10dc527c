//! Verifies and parses delivered events with each library that customers use.

use std::collections::BTreeSet;

use http::{HeaderMap, HeaderValue};
use resend_rs::events::{ContactEventType, EmailEventType, EventType, SuppressionEventType, try_parse_event};
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    AddSuppressionOptions, ContactChanges, CreateContactOptions, CreateEmailBaseOptions, CreateWebhookOptions, Tag,
};
use resend_rs::{Method, Resend};
use serde_json::{Value, json};

use crate::check::{Checked, Suite, in_hours, in_seconds, now_s, same};
use crate::receiver::{Delivery, Receiver};

/// Domain that the suite deletes, which fails its pending email.
const FAILING: &str = "rust.failing.example";
const PATH: &str = "/verified";
const EMAIL: &str = "rust-verify@customer.example.net";

/// Types of events that the SDK has and that the suite can cause.
const TYPES: [&str; 12] = [
    "email.scheduled",
    "email.sent",
    "email.delivered",
    "email.delivery_delayed",
    "email.bounced",
    "email.complained",
    "email.failed",
    "contact.created",
    "contact.updated",
    "contact.deleted",
    "suppression.added",
    "suppression.removed",
];

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let receiver = Receiver::start()?;
    let mut matrix = Matrix::new(suite);
    let create = CreateWebhookOptions::new(receiver.url(PATH), types());
    let made = call!(suite, client, webhooks.create(create))?;
    let first = made.signing_secret;
    cause_events(suite, client).await?;
    let deliveries = receiver
        .until(PATH, |deliveries| {
            let seen: BTreeSet<&str> = deliveries.iter().map(Delivery::event_type).collect();
            TYPES.iter().all(|name| seen.contains(name)) && deliveries.iter().any(is_opt_out)
        })
        .await?;
    parsing(suite, &deliveries).await;
    let note = format!("{} types", TYPES.len());
    matrix.column(&note, |verify| deliveries.iter().try_for_each(|delivery| accepts(verify, delivery, &first))).await;

    let second = call!(suite, client, webhooks.rotate_signing_secret(&made.id))?.signing_secret;
    let both = latest(suite, client, &receiver, "overlap").await?;
    matrix.column("old secret in the overlap", |verify| accepts(verify, &both, &first)).await;
    matrix.column("new secret in the overlap", |verify| accepts(verify, &both, &second)).await;
    // The method of the SDK has no parameters.
    let path = format!("/webhooks/{}/rotate", &*made.id);
    let options = json!({ "overlap_hours": 0 });
    let dropped = client.send_raw(Method::POST, &path, None::<()>, Some(options), None).await?;
    let third = dropped["signing_secret"].as_str().ok_or("no secret")?;
    let last = latest(suite, client, &receiver, "dropped").await?;
    matrix.column("new secret after it", |verify| accepts(verify, &last, third)).await;
    matrix
        .column("no old secret after it", |verify| {
            [&second, &first].into_iter().try_for_each(|secret| refuses(verify, &last, secret, "signature"))
        })
        .await;
    matrix
        .column("no altered body", |verify| {
            let altered = Delivery { body: last.body.replace("rust-verify", "else-verify"), ..last.clone() };
            ensure!(altered.body != last.body, "nothing was altered");
            refuses(verify, &altered, third, "signature")
        })
        .await;
    let wrong = format!("whsec_{}", "AAAA".repeat(8));
    matrix.column("no wrong secret", |verify| refuses(verify, &last, &wrong, "signature")).await;
    matrix
        .column("no stale timestamp", |verify| {
            accepts(verify, &resigned(&last, third, 0)?, third)?;
            [-600, 600]
                .into_iter()
                .try_for_each(|seconds| refuses(verify, &resigned(&last, third, seconds)?, third, "timestamp"))
        })
        .await;
    matrix.print();
    call!(suite, client, webhooks.delete(&made.id))?;
    Ok(())
}

fn types() -> Vec<EventType> {
    let emails = [
        EmailEventType::EmailScheduled,
        EmailEventType::EmailSent,
        EmailEventType::EmailDelivered,
        EmailEventType::EmailDeliveryDelayed,
        EmailEventType::EmailBounced,
        EmailEventType::EmailComplained,
        EmailEventType::EmailFailed,
    ];
    let contacts =
        [ContactEventType::ContactCreated, ContactEventType::ContactUpdated, ContactEventType::ContactDeleted];
    let suppressions = [SuppressionEventType::SuppressionAdded, SuppressionEventType::SuppressionRemoved];
    let emails = emails.map(EventType::from).into_iter();
    emails.chain(contacts.map(EventType::from)).chain(suppressions.map(EventType::from)).collect()
}

/// Causes an event of each type.
async fn cause_events(suite: &Suite, client: &Resend) -> Checked {
    let message = |from: &str, to: &str| {
        CreateEmailBaseOptions::new(from, [to], "Zoë’s “order” ✓ </script>")
            .with_text("hello")
            .with_tag(Tag::new("suite", "rust"))
    };
    for name in ["delivered", "bounced", "complained", "delayed"] {
        let email = message("sender@example.com", &format!("{name}@resend.dev"));
        drop(call!(suite, client, emails.send(email))?);
    }
    let waiting = message("sender@example.com", "one@example.net").with_scheduled_at(&in_hours(1));
    let waiting = call!(suite, client, emails.send(waiting))?.id;
    drop(call!(suite, client, emails.cancel(&waiting))?);
    let domains = call!(suite, client, domains.list(ListOptions::default().with_limit(100)))?.data;
    let failing = domains.into_iter().find(|domain| domain.name == FAILING).ok_or("no domain to delete")?.id;
    let email = message(&format!("sender@{FAILING}"), "one@example.net").with_scheduled_at(&in_seconds(1));
    drop(call!(suite, client, emails.send(email))?);
    drop(call!(suite, client, domains.delete(&failing))?);

    call!(suite, client, contacts.create(CreateContactOptions::new(EMAIL).with_first_name("Zoë")))?;
    call!(suite, client, contacts.update(EMAIL, ContactChanges::new().with_unsubscribed(true)))?;
    // The opt-out remains as a suppression after the contact is deleted.
    call!(suite, client, contacts.delete(EMAIL))?;
    drop(call!(suite, client, suppressions.remove(EMAIL))?);
    drop(call!(suite, client, suppressions.add(AddSuppressionOptions::new().with_email(EMAIL)))?);
    drop(call!(suite, client, suppressions.remove(EMAIL))?);
    Ok(())
}

fn is_opt_out(delivery: &Delivery) -> bool {
    delivery.event["data"]["origin"] == "unsubscribe"
}

/// Checks that the SDK parses the delivered events, except for values that are not in its closed lists.
async fn parsing(suite: &Suite, deliveries: &[Delivery]) {
    let (opt_outs, others): (Vec<_>, Vec<_>) = deliveries.iter().partition(|delivery| is_opt_out(delivery));
    for name in TYPES.iter().filter(|name| **name != "email.bounced") {
        suite
            .check("events::try_parse_event", name, async {
                for delivery in others.iter().filter(|delivery| delivery.event_type() == *name) {
                    let parsed = serde_json::to_value(try_parse_event(&delivery.body)?)?;
                    same(parsed["type"].as_str(), Some(*name))?;
                    holds(&parsed["data"], &delivery.event["data"])?;
                }
                Ok(())
            })
            .await;
    }
    let bounced = others.into_iter().find(|delivery| delivery.event_type() == "email.bounced");
    for (delivery, note) in [
        (bounced, "the SDK has two bounce subtypes, and this is another one"),
        (opt_outs.first().copied(), "the SDK has no origin `unsubscribe`"),
    ] {
        match delivery.map(|delivery| try_parse_event(&delivery.body)) {
            Some(Err(_)) => suite.pass(&format!("events::try_parse_event must fail: not parsed ({note})")),
            other => suite.fail("events::try_parse_event", note, &format!("not a failure to parse: {other:?}")),
        }
    }
}

/// Checks that the fields of a parsed event equal those of the sent event. Fields that the SDK lacks are ignored.
fn holds(parsed: &Value, sent: &Value) -> Checked {
    for (name, value) in parsed.as_object().ok_or("no object")? {
        // A field with a default value is missing in the request.
        let is_default = value.is_null() || value.as_object().is_some_and(serde_json::Map::is_empty);
        let sent = sent.get(name);
        ensure!(sent == Some(value) || (sent.is_none() && is_default), "`{name}`: {value} is not {sent:?}");
    }
    Ok(())
}

/// Causes another event and returns its delivery.
async fn latest(suite: &Suite, client: &Resend, receiver: &Receiver, name: &str) -> Checked<Delivery> {
    let email = format!("rust-verify-{name}@suppressed.example.net");
    let is_it = |delivery: &&Delivery| delivery.event["data"]["email"] == *email;
    drop(call!(suite, client, suppressions.add(AddSuppressionOptions::new().with_email(&email)))?);
    let all = receiver.until(PATH, |deliveries| deliveries.iter().any(|delivery| is_it(&delivery))).await?;
    drop(call!(suite, client, suppressions.remove(&email))?);
    Ok(all.iter().find(is_it).ok_or("the delivery is missing")?.clone())
}

type Verify = fn(&Delivery, &str) -> Result<(), String>;

/// Table of the results: a row for each library, a column for each property.
struct Matrix<'s> {
    suite: &'s Suite,
    columns: Vec<String>,
    rows: [(&'static str, Verify, Vec<String>); 2],
}

impl<'s> Matrix<'s> {
    fn new(suite: &'s Suite) -> Self {
        let rows = [
            ("standardwebhooks 1.0.1", with_standardwebhooks as Verify, Vec::new()),
            ("svix 1.69.0", with_svix, Vec::new()),
        ];
        Self { suite, columns: Vec::new(), rows }
    }

    async fn column(&mut self, note: &str, body: impl Fn(Verify) -> Checked) {
        self.columns.push(note.to_owned());
        for (name, verify, cells) in &mut self.rows {
            let failed = self.suite.failures();
            self.suite.check(&format!("verify with {name}"), note, async { body(*verify) }).await;
            cells.push(if self.suite.failures() == failed { "yes" } else { "NO" }.to_owned());
        }
    }

    fn print(&self) {
        println!("client rust: matrix | verifier | {} |", self.columns.join(" | "));
        for (name, _, cells) in &self.rows {
            println!("client rust: matrix | {name} | {} |", cells.join(" | "));
        }
    }
}

fn with_standardwebhooks(delivery: &Delivery, secret: &str) -> Result<(), String> {
    let webhook = standardwebhooks::Webhook::new(secret).map_err(|error| error.to_string())?;
    webhook.verify(delivery.body.as_bytes(), &only(delivery, "webhook-")).map_err(|error| error.to_string())
}

fn with_svix(delivery: &Delivery, secret: &str) -> Result<(), String> {
    let webhook = svix::webhooks::Webhook::new(secret).map_err(|error| error.to_string())?;
    webhook.verify(delivery.body.as_bytes(), &only(delivery, "svix-")).map_err(|error| error.to_string())
}

/// Returns the headers of one family.
fn only(delivery: &Delivery, family: &str) -> HeaderMap {
    let of_family = delivery.headers.iter().filter(|(name, _)| name.as_str().starts_with(family));
    of_family.map(|(name, value)| (name.clone(), value.clone())).collect()
}

fn accepts(verify: Verify, delivery: &Delivery, secret: &str) -> Checked {
    verify(delivery, secret).map_err(|error| format!("{} is refused: {error}", delivery.event_type()).into())
}

fn refuses(verify: Verify, delivery: &Delivery, secret: &str, about: &str) -> Checked {
    let Err(error) = verify(delivery, secret) else { return Err("accepted".into()) };
    ensure!(error.contains(about), "refused for another reason: {error}");
    Ok(())
}

/// Returns the delivery with a timestamp `seconds` from now and a matching signature.
fn resigned(delivery: &Delivery, secret: &str, seconds: i64) -> Checked<Delivery> {
    let at = now_s() + seconds;
    let signer = standardwebhooks::Webhook::new(secret)?;
    let signature = signer.sign(delivery.header("webhook-id"), at, delivery.body.as_bytes())?;
    let mut resigned = delivery.clone();
    for family in ["svix", "webhook"] {
        for (name, value) in [("timestamp", at.to_string()), ("signature", signature.clone())] {
            let name = http::HeaderName::try_from(format!("{family}-{name}"))?;
            resigned.headers.insert(name, HeaderValue::try_from(value)?);
        }
    }
    Ok(resigned)
}

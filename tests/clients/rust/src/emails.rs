//! Sending, reading, listing, rescheduling and canceling.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{CreateEmailBaseOptions, EmailEvent, Tag, UpdateEmailOptions};

use crate::check::{Suite, UNKNOWN_ID, in_hours, refused, same};

pub(crate) const FROM: &str = "Example Sender <sender@example.com>";
const TEXT: &str = "hello from the rust suite";

pub(crate) fn message(subject: &str) -> CreateEmailBaseOptions {
    addressed(subject, ["one@example.net".to_owned()])
}

fn addressed(subject: &str, to: impl IntoIterator<Item = String>) -> CreateEmailBaseOptions {
    CreateEmailBaseOptions::new(FROM, to, subject).with_text(TEXT)
}

fn many(count: usize) -> Vec<String> {
    (0..count)
        .map(|index| format!("to{index}@example.net"))
        .collect()
}

pub(crate) async fn run(suite: &Suite, client: &Resend) {
    sending(suite, client).await;
    idempotency(suite, client).await;
    reading(suite, client).await;
    listing(suite, client).await;
    scheduling(suite, client).await;
    refusals(suite, client).await;
}

async fn sending(suite: &Suite, client: &Resend) {
    let two = [
        "one@example.net".to_owned(),
        "Two <two@example.net>".to_owned(),
    ];
    let reply_to = ["r@example.com".to_owned(), "s@example.com".to_owned()];
    for (note, email) in [
        ("text", message("text")),
        (
            "html only",
            CreateEmailBaseOptions::new(FROM, ["one@example.net"], "html")
                .with_html("<p>hello</p>"),
        ),
        (
            "html and text, several recipients",
            addressed("both", two).with_html("<p>hello</p>"),
        ),
        (
            "cc, bcc and reply_to",
            message("copies")
                .with_cc("cc@example.net")
                .with_bcc("bcc@example.net")
                .with_reply("reply@example.com"),
        ),
        (
            "several reply_to",
            message("replies").with_reply_multiple(&reply_to),
        ),
        (
            "headers",
            message("headers")
                .with_header("X-Entity-Ref-ID", "rust-1")
                .with_header("Importance", "high"),
        ),
        ("tags", message("tags").with_tag(Tag::new("suite", "rust"))),
        (
            "an attachment as an array of integers",
            message("attachment").with_attachment(vec![0, 1, 2, 253, 254, 255]),
        ),
        ("50 recipients", addressed("fifty", many(50))),
    ] {
        suite
            .check("emails.send", note, async {
                let sent = call!(suite, client, emails.send(email))?;
                drop(
                    suite
                        .reaches(client, &sent.id, EmailEvent::Delivered)
                        .await?,
                );
                Ok(())
            })
            .await;
    }
}

async fn idempotency(suite: &Suite, client: &Resend) {
    let key = format!("rust-{}", in_hours(0));
    suite
        .check(
            "emails.send",
            "the same idempotency key and payload return the same id",
            async {
                let first = call!(
                    suite,
                    client,
                    emails.send(message("once").with_idempotency_key(&key))
                )?;
                let again = call!(
                    suite,
                    client,
                    emails.send(message("once").with_idempotency_key(&key))
                )?;
                same(again.id, first.id)
            },
        )
        .await;
    suite
        .check(
            "emails.send",
            "the same idempotency key with another payload is 409",
            async {
                let changed = call!(
                    suite,
                    client,
                    emails.send(message("changed").with_idempotency_key(&key))
                );
                refused(409, "invalid_idempotent_request", changed)?;
                Ok(())
            },
        )
        .await;
}

async fn reading(suite: &Suite, client: &Resend) {
    suite
        .check(
            "emails.get",
            "every field, and last_event reaches delivered",
            async {
                let sent = call!(
                    suite,
                    client,
                    emails.send(
                        message("fields")
                            .with_html("<p>hello</p>")
                            .with_cc("cc@example.net")
                            .with_reply("reply@example.com")
                    )
                )?;
                let email = suite
                    .reaches(client, &sent.id, EmailEvent::Delivered)
                    .await?;
                same(email.id, sent.id)?;
                same(
                    (email.from.as_str(), email.subject.as_str()),
                    (FROM, "fields"),
                )?;
                same(
                    [email.to, email.cc, email.bcc],
                    [
                        vec!["one@example.net".to_owned()],
                        vec!["cc@example.net".to_owned()],
                        vec![],
                    ],
                )?;
                same(email.reply_to, Some(vec!["reply@example.com".to_owned()]))?;
                same(
                    (email.html.as_deref(), email.text.as_deref()),
                    (Some("<p>hello</p>"), Some(TEXT)),
                )?;
                same(email.scheduled_at, None)?;
                ensure!(
                    chrono::DateTime::parse_from_rfc3339(&email.created_at).is_ok(),
                    "created_at is {}",
                    email.created_at
                );
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "emails.get",
            "an unknown id is 404, a malformed one 422",
            async {
                same(
                    refused(
                        404,
                        "not_found",
                        call!(suite, client, emails.get(UNKNOWN_ID)),
                    )?
                    .as_str(),
                    "Email not found",
                )?;
                let malformed = refused(
                    422,
                    "validation_error",
                    call!(suite, client, emails.get("not-an-id")),
                )?;
                same(malformed.as_str(), "The `id` must be a valid UUID.")
            },
        )
        .await;
    for (to, event) in [
        ("delivered@resend.dev", EmailEvent::Delivered),
        ("bounced@resend.dev", EmailEvent::Bounced),
        ("complained@resend.dev", EmailEvent::Complained),
    ] {
        suite
            .check("emails.get", &format!("{to} becomes {event:?}"), async {
                let sent = call!(
                    suite,
                    client,
                    emails.send(addressed("simulated", [to.to_owned()]))
                )?;
                drop(suite.reaches(client, &sent.id, event).await?);
                Ok(())
            })
            .await;
    }
}

async fn listing(suite: &Suite, client: &Resend) {
    suite
        .check(
            "emails.list",
            "newest first, limit, after and before",
            async {
                let mut ids = Vec::new();
                for subject in ["first", "second", "third"] {
                    ids.push(call!(suite, client, emails.send(message(subject)))?.id);
                }
                let page = call!(
                    suite,
                    client,
                    emails.list(ListOptions::default().with_limit(2))
                )?;
                ensure!(page.has_more, "has_more is false");
                same(
                    page.data.iter().map(|row| &row.id).collect::<Vec<_>>(),
                    vec![&ids[2], &ids[1]],
                )?;
                let older = call!(
                    suite,
                    client,
                    emails.list(ListOptions::default().with_limit(1).list_after(&ids[1]))
                )?;
                same(&older.data[0].id, &ids[0])?;
                let newer = call!(
                    suite,
                    client,
                    emails.list(ListOptions::default().with_limit(1).list_before(&ids[1]))
                )?;
                same(&newer.data[0].id, &ids[2])
            },
        )
        .await;
    suite
        .check(
            "emails.list",
            "at most 20 rows by default; a bad limit or cursor is 422",
            async {
                let page = call!(suite, client, emails.list(ListOptions::default()))?;
                ensure!(page.len() <= 20, "{} rows", page.len());
                refused(
                    422,
                    "validation_error",
                    call!(
                        suite,
                        client,
                        emails.list(ListOptions::default().with_limit(101))
                    ),
                )?;
                refused(
                    422,
                    "validation_error",
                    call!(
                        suite,
                        client,
                        emails.list(ListOptions::default().list_after(UNKNOWN_ID))
                    ),
                )?;
                Ok(())
            },
        )
        .await;
}

async fn scheduling(suite: &Suite, client: &Resend) {
    suite
        .check(
            "emails.update",
            "scheduled by ISO 8601, then rescheduled",
            async {
                let id = call!(
                    suite,
                    client,
                    emails.send(message("later").with_scheduled_at(&in_hours(1)))
                )?
                .id;
                let moved = in_hours(2);
                let response = call!(
                    suite,
                    client,
                    emails.update(&id, UpdateEmailOptions::new().with_scheduled_at(&moved))
                )?;
                same(&response.id, &id)?;
                let email = call!(suite, client, emails.get(&id))?;
                same(email.last_event, EmailEvent::Scheduled)?;
                same(email.scheduled_at, Some(moved))
            },
        )
        .await;
    suite
        .check(
            "emails.cancel",
            "scheduled in English, then canceled once",
            async {
                let id = call!(
                    suite,
                    client,
                    emails.send(message("later").with_scheduled_at("in 1 hour"))
                )?
                .id;
                same(&call!(suite, client, emails.cancel(&id))?.id, &id)?;
                same(
                    call!(suite, client, emails.get(&id))?.last_event,
                    EmailEvent::Canceled,
                )?;
                refused(
                    422,
                    "validation_error",
                    call!(suite, client, emails.cancel(&id)),
                )?;
                let update = UpdateEmailOptions::new().with_scheduled_at(&in_hours(1));
                refused(
                    422,
                    "validation_error",
                    call!(suite, client, emails.update(&id, update)),
                )?;
                Ok(())
            },
        )
        .await;
}

async fn refusals(suite: &Suite, client: &Resend) {
    let from = |from: &str| {
        CreateEmailBaseOptions::new(from, ["one@example.net"], "refused").with_text(TEXT)
    };
    for (note, status, name, part, email) in [
        (
            "from is not an address",
            422,
            "validation_error",
            "`from`",
            from("not an address"),
        ),
        (
            "to is not an address",
            422,
            "validation_error",
            "`to`",
            addressed("refused", ["not an address".to_owned()]),
        ),
        (
            "an unverified domain",
            403,
            "validation_error",
            "The example.org domain is not verified.",
            from("sender@example.org"),
        ),
        (
            "51 recipients",
            422,
            "validation_error",
            "50",
            addressed("refused", many(51)),
        ),
        (
            "only suppressed recipients",
            422,
            "all_recipients_suppressed",
            "All recipients are suppressed",
            addressed("refused", ["suppressed@resend.dev".to_owned()]),
        ),
    ] {
        suite
            .check(
                "emails.send",
                &format!("{note} is {status} {name}"),
                async {
                    let message = refused(status, name, call!(suite, client, emails.send(email)))?;
                    ensure!(message.contains(part), "{message:?} without {part:?}");
                    Ok(())
                },
            )
            .await;
    }
}

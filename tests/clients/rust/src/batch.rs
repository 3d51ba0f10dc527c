//! Batches: strict, permissive and idempotent.

use resend_rs::Resend;
use resend_rs::idempotent::IdempotentTrait;
use resend_rs::types::{BatchValidation, CreateEmailBaseOptions, EmailEvent};

use crate::check::{Suite, in_hours, refused, same};
use crate::emails::{FROM, message};

pub(crate) async fn run(suite: &Suite, client: &Resend) {
    let mixed = || {
        let bad = CreateEmailBaseOptions::new(FROM, ["not an address"], "bad").with_text("bad");
        vec![message("good"), bad]
    };

    suite
        .check(
            "batch.send",
            "two emails, ids in order, both delivered",
            async {
                let sent = call!(
                    suite,
                    client,
                    batch.send(vec![message("one"), message("two")])
                )?;
                same(sent.len(), 2)?;
                for (row, subject) in sent.iter().zip(["one", "two"]) {
                    let email = suite
                        .reaches(client, &row.id, EmailEvent::Delivered)
                        .await?;
                    same(email.subject.as_str(), subject)?;
                }
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "batch.send",
            "the same idempotency key returns the same ids, another payload is 409",
            async {
                let key = format!("rust-batch-{}", in_hours(0));
                let first = call!(
                    suite,
                    client,
                    batch.send(vec![message("one")].with_idempotency_key(&key))
                )?;
                let again = call!(
                    suite,
                    client,
                    batch.send(vec![message("one")].with_idempotency_key(&key))
                )?;
                same(&again[0].id, &first[0].id)?;
                let changed = call!(
                    suite,
                    client,
                    batch.send(vec![message("changed")].with_idempotency_key(&key))
                );
                refused(409, "invalid_idempotent_request", changed)?;
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "batch.send",
            "strict: one bad item refuses the batch and names it",
            async {
                let message = refused(
                    422,
                    "validation_error",
                    call!(suite, client, batch.send(mixed())),
                )?;
                ensure!(
                    message.starts_with("emails.1: "),
                    "the message is {message:?}"
                );
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "batch.send_with_batch_validation",
            "permissive: valid items are accepted, others are listed",
            async {
                let response = call!(
                    suite,
                    client,
                    batch.send_with_batch_validation(mixed(), BatchValidation::Permissive)
                )?;
                same((response.data.len(), response.errors.len()), (1, 1))?;
                same(response.errors[0].index, 1)?;
                ensure!(
                    response.errors[0].message.contains("`to`"),
                    "the message is {:?}",
                    response.errors[0].message
                );
                Ok(())
            },
        )
        .await;
    suite
        .check(
            "batch.send_with_batch_validation",
            "no emails and 101 emails are 422",
            async {
                for count in [0, 101] {
                    let emails = vec![message("many"); count];
                    let result = call!(
                        suite,
                        client,
                        batch.send_with_batch_validation(emails, BatchValidation::Strict)
                    );
                    refused(422, "validation_error", result)?;
                }
                Ok(())
            },
        )
        .await;
}

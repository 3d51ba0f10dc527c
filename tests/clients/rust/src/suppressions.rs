//! Suppressions: add, get, list, remove, both batches. Rows with the origin `unsubscribe` cannot be decoded.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    AddSuppressionOptions, BatchAddSuppressionOptions, BatchRemoveSuppressionOptions, CreateContactOptions,
    SuppressionOrigin,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const ONE: &str = "rust-one@suppressed.example.net";
const TWO: &str = "rust-two@suppressed.example.net";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let add = |email| AddSuppressionOptions::new().with_email(email);
    let id = call!(suite, client, suppressions.add(add(ONE)))?.id;
    suite
        .check("suppressions.add", "a repeat returns the same id; a bad address is 422", async {
            same(&call!(suite, client, suppressions.add(add(ONE)))?.id, &id)?;
            refused(422, "validation_error", call!(suite, client, suppressions.add(add("not an address"))))?;
            Ok(())
        })
        .await;
    suite
        .check("suppressions.get", "by id and by email; an unknown one is 404", async {
            for key in [&*id, ONE] {
                let row = call!(suite, client, suppressions.get(key))?;
                same((&row.id, row.email.as_str(), row.source_id), (&id, ONE, None))?;
                ensure!(matches!(row.origin, SuppressionOrigin::Manual), "origin {:?}", row.origin);
            }
            let unknown = refused(404, "not_found", call!(suite, client, suppressions.get(UNKNOWN_ID)))?;
            same(unknown.as_str(), "Suppression not found")
        })
        .await;
    suite
        .check("suppressions.list", "newest first, limit, cursors and origin", async {
            let other = call!(suite, client, suppressions.add(add(TWO)))?.id;
            let page = call!(suite, client, suppressions.list(ListOptions::default().with_limit(2)))?;
            same([&page[0].id, &page[1].id], [&other, &id])?;
            let options = ListOptions::default().with_limit(1).list_after(&other);
            same(&call!(suite, client, suppressions.list(options))?[0].id, &id)?;
            let options = ListOptions::default().with_limit(1).list_before(&id);
            same(&call!(suite, client, suppressions.list(options))?[0].id, &other)?;
            let options = ListOptions::default().with_limit(1).with_other("origin", "manual".into());
            same(&call!(suite, client, suppressions.list(options))?[0].id, &other)
        })
        .await;
    suite
        .check("suppressions.remove", "by id and by email, then 404", async {
            for key in [&*id, TWO] {
                same(call!(suite, client, suppressions.remove(key))?.deleted, true)?;
                refused(404, "not_found", call!(suite, client, suppressions.remove(key)))?;
            }
            Ok(())
        })
        .await;
    batches(suite, client).await;
    unsubscribed(suite, client).await
}

async fn batches(suite: &Suite, client: &Resend) {
    suite
        .check("suppressions.batch_add", "ids in the order of the request", async {
            let add = BatchAddSuppressionOptions::new().add_emails([ONE, TWO]);
            let added = call!(suite, client, suppressions.batch_add(add))?.data;
            for (row, email) in added.iter().zip([ONE, TWO]) {
                same(&call!(suite, client, suppressions.get(email))?.id, &row.id)?;
            }
            same(added.len(), 2)
        })
        .await;
    suite
        .check("suppressions.batch_remove", "by emails, then by ids; unknown ones are left out", async {
            let last = call!(suite, client, suppressions.get(TWO))?.id;
            let batch = BatchRemoveSuppressionOptions::new().add_emails([ONE, "rust-nobody@suppressed.example.net"]);
            same(call!(suite, client, suppressions.batch_remove(batch))?.data.len(), 1)?;
            let batch = BatchRemoveSuppressionOptions::new().add_ids([last.to_string(), UNKNOWN_ID.to_owned()]);
            let removed = call!(suite, client, suppressions.batch_remove(batch))?.data;
            same((removed.len(), &removed[0].id, removed[0].deleted), (1, &last, true))
        })
        .await;
}

/// Checks the suppression that remains of an opt-out. Its origin is not in the closed list of the SDK.
async fn unsubscribed(suite: &Suite, client: &Resend) -> Checked {
    let create = CreateContactOptions::new(ONE).with_unsubscribed(true);
    call!(suite, client, contacts.create(create))?;
    call!(suite, client, contacts.delete(ONE))?;
    let note = "the SDK has no origin `unsubscribe`";
    suite.must_not_decode("suppressions.get", note, call!(suite, client, suppressions.get(ONE)));
    suite.must_not_decode("suppressions.list", note, call!(suite, client, suppressions.list(ListOptions::default())));
    drop(call!(suite, client, suppressions.remove(ONE))?);
    Ok(())
}

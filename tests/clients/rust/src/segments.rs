//! Segments and explicit membership.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{CreateContactOptions, SegmentId};

use crate::check::{Checked, Suite, UNKNOWN_ID, refused, same};

const FIRST: &str = "rust-first@members.example.net";
const SECOND: &str = "rust-second@members.example.net";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let created = call!(suite, client, segments.create("Rust segment"))?;
    let id = created.id;
    suite
        .check("segments.create", "its name in the response; no name is 422", async {
            same(created.name.as_str(), "Rust segment")?;
            refused(422, "validation_error", call!(suite, client, segments.create("")))?;
            Ok(())
        })
        .await;
    suite
        .check("segments.list", "newest first, limit and cursors", async {
            let other = call!(suite, client, segments.create("Rust other"))?.id;
            let page = call!(suite, client, segments.list(ListOptions::default().with_limit(2)))?;
            same([&page[0].id, &page[1].id], [&other, &id])?;
            let options = ListOptions::default().with_limit(1).list_after(&other);
            same(&call!(suite, client, segments.list(options))?[0].id, &id)?;
            let options = ListOptions::default().with_limit(1).list_before(&id);
            same(&call!(suite, client, segments.list(options))?[0].id, &other)?;
            same(call!(suite, client, segments.delete(&other))?, true)
        })
        .await;
    suite
        .check("segments.get", "every field the SDK has; an unknown id is 404", async {
            let segment = call!(suite, client, segments.get(&id))?;
            same((&segment.id, segment.name.as_str()), (&id, "Rust segment"))?;
            refused(404, "not_found", call!(suite, client, segments.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("segments.update", "renamed", async {
            same(&call!(suite, client, segments.update(&id, "Rust renamed"))?.id, &id)?;
            same(call!(suite, client, segments.get(&id))?.name.as_str(), "Rust renamed")
        })
        .await;
    members(suite, client, &id).await?;
    suite
        .check("segments.delete", "deleted, then 404", async {
            same(call!(suite, client, segments.delete(&id))?, true)?;
            refused(404, "not_found", call!(suite, client, segments.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

async fn members(suite: &Suite, client: &Resend, segment: &SegmentId) -> Checked {
    let first = call!(suite, client, contacts.create(CreateContactOptions::new(FIRST)))?;
    let second = call!(suite, client, contacts.create(CreateContactOptions::new(SECOND)))?;
    suite
        .check("contacts.add_contact_segment", "by id and by email; unknown ids are 404", async {
            for key in [&*first, SECOND, SECOND] {
                same(&call!(suite, client, contacts.add_contact_segment(key, segment))?.id, segment)?;
            }
            refused(404, "not_found", call!(suite, client, contacts.add_contact_segment(UNKNOWN_ID, segment)))?;
            refused(404, "not_found", call!(suite, client, contacts.add_contact_segment(FIRST, UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("segments.list_contacts", "the members, newest first, limit and cursors", async {
            let page = call!(suite, client, segments.list_contacts(segment, ListOptions::default()))?;
            same([page[0].email.as_str(), page[1].email.as_str()], [SECOND, FIRST])?;
            let options = ListOptions::default().with_limit(1).list_after(&second);
            let page = call!(suite, client, segments.list_contacts(segment, options))?;
            same((page.has_more, page[0].email.as_str()), (false, FIRST))?;
            let options = ListOptions::default().with_limit(1).list_before(&first);
            same(call!(suite, client, segments.list_contacts(segment, options))?[0].email.as_str(), SECOND)
        })
        .await;
    suite
        .check("contacts.list_contact_segment", "a path with a trailing slash, by id and by email", async {
            for key in [&*first, FIRST] {
                let page = call!(suite, client, contacts.list_contact_segment(key, ListOptions::default()))?;
                same((page.len(), &page[0].id), (1, segment))?;
            }
            Ok(())
        })
        .await;
    suite
        .check("contacts.delete_contact_segment", "by id and by email; the contacts stay", async {
            for key in [&*first, SECOND] {
                let response = call!(suite, client, contacts.delete_contact_segment(key, segment))?;
                same((&response.id, response.deleted), (segment, true))?;
            }
            let page = call!(suite, client, segments.list_contacts(segment, ListOptions::default()))?;
            same(page.len(), 0)?;
            same(call!(suite, client, contacts.get(&first))?.email.as_str(), FIRST)
        })
        .await;
    for email in [FIRST, SECOND] {
        call!(suite, client, contacts.delete(email))?;
    }
    Ok(())
}

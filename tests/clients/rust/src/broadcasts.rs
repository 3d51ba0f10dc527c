//! Broadcasts: drafts, sends to the members of a segment, and their recipients.
//!
//! The SDK sends the id of the segment as `audience_id`.

use resend_rs::Resend;
use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    Broadcast, BroadcastId, BroadcastRecipientBounceType, BroadcastRecipientEventType, CreateBroadcastOptions,
    CreateContactOptions, ListRecipientsOptions, SegmentId, SendBroadcastOptions, UpdateBroadcastOptions,
};

use crate::check::{Checked, Suite, UNKNOWN_ID, in_hours, poll, refused, same};
use crate::emails::FROM;

const ADA: &str = "rust-ada@broadcast.example.net";
const BOUNCED: &str = "bounced+rust@ringmail.test";
const HTML: &str = r#"<p>Hello {{{FIRST_NAME|there}}}, <a href="{{{UNSUBSCRIBE_URL}}}">unsubscribe</a></p>"#;
const ONLY_WAITING: &str = "Only queued or scheduled broadcasts can be canceled";

pub(crate) async fn run(suite: &Suite, client: &Resend) -> Checked {
    let segment = audience(suite, client).await?;
    let id = call!(suite, client, broadcasts.create(draft(&segment)))?.id;
    reads(suite, client, &segment, &id).await;
    refusals(suite, client, &segment).await;
    sends(suite, client, &id).await;
    recipients(suite, client, &id).await;
    cancels(suite, client, &segment).await;
    suite
        .check("broadcasts.delete", "a draft, then 404", async {
            let id = call!(suite, client, broadcasts.create(draft(&segment)))?.id;
            same(call!(suite, client, broadcasts.delete(&id))?, true)?;
            refused(404, "not_found", call!(suite, client, broadcasts.get(&id)))?;
            Ok(())
        })
        .await;
    Ok(())
}

fn draft(segment: &str) -> CreateBroadcastOptions {
    CreateBroadcastOptions::new(segment, FROM, "News for {{{FIRST_NAME|you}}}")
        .with_html(HTML)
        .with_name("Rust news")
        .with_reply("reply@example.com")
}

/// Creates a segment with three contacts who receive a broadcast, and one who does not.
async fn audience(suite: &Suite, client: &Resend) -> Checked<SegmentId> {
    let segment = call!(suite, client, segments.create("Rust broadcasts"))?.id;
    for contact in [
        CreateContactOptions::new(ADA).with_first_name("Ada"),
        CreateContactOptions::new("rust-bob@broadcast.example.net"),
        CreateContactOptions::new(BOUNCED),
        CreateContactOptions::new("rust-gone@broadcast.example.net").with_unsubscribed(true),
    ] {
        let id = call!(suite, client, contacts.create(contact))?;
        call!(suite, client, contacts.add_contact_segment(&id, &segment))?;
    }
    Ok(segment)
}

async fn read(suite: &Suite, client: &Resend, id: &str) -> Checked<Broadcast> {
    Ok(call!(suite, client, broadcasts.get(id))?)
}

async fn reads(suite: &Suite, client: &Resend, segment: &SegmentId, id: &BroadcastId) {
    suite
        .check("broadcasts.get", "every field the SDK has; an unknown id is 404", async {
            let broadcast = read(suite, client, id).await?;
            same((broadcast.name.as_str(), &*broadcast.audience_id), ("Rust news", &**segment))?;
            same(broadcast.status.as_str(), "draft")?;
            same(broadcast.from.as_deref(), Some(FROM))?;
            same(broadcast.subject.as_deref(), Some("News for {{{FIRST_NAME|you}}}"))?;
            same(broadcast.reply_to, Some(vec!["reply@example.com".to_owned()]))?;
            same((broadcast.html.as_deref(), broadcast.text), (Some(HTML), None))?;
            same((broadcast.scheduled_at, broadcast.sent_at, broadcast.preview_text), (None, None, None))?;
            refused(404, "not_found", call!(suite, client, broadcasts.get(UNKNOWN_ID)))?;
            Ok(())
        })
        .await;
    suite
        .check("broadcasts.update", "changed; absent fields stay", async {
            let changes = UpdateBroadcastOptions::new().with_name("Rust letters").with_text("Hello");
            same(&*call!(suite, client, broadcasts.update(id, changes))?.id, &**id)?;
            let broadcast = read(suite, client, id).await?;
            same(broadcast.name.as_str(), "Rust letters")?;
            same((broadcast.text.as_deref(), broadcast.html.as_deref()), (Some("Hello"), Some(HTML)))
        })
        .await;
    suite
        .check("broadcasts.list", "newest first, limit and cursors", async {
            let other = call!(suite, client, broadcasts.create(draft(segment)))?.id;
            let page = call!(suite, client, broadcasts.list(ListOptions::default().with_limit(2)))?;
            same([&*page[0].id, &*page[1].id], [&*other, &**id])?;
            let options = ListOptions::default().with_limit(1).list_after(&other);
            same(&*call!(suite, client, broadcasts.list(options))?[0].id, &**id)?;
            let options = ListOptions::default().with_limit(1).list_before(id);
            same(&*call!(suite, client, broadcasts.list(options))?[0].id, &*other)?;
            same(call!(suite, client, broadcasts.delete(&other))?, true)
        })
        .await;
    suite
        .check("broadcasts.duplicate", "a draft with another name", async {
            let copy = call!(suite, client, broadcasts.duplicate(id))?.id;
            let broadcast = read(suite, client, &copy).await?;
            same((broadcast.name.as_str(), broadcast.status.as_str()), ("Rust letters (copy)", "draft"))?;
            same(broadcast.html.as_deref(), Some(HTML))?;
            same(call!(suite, client, broadcasts.delete(&copy))?, true)
        })
        .await;
}

async fn refusals(suite: &Suite, client: &Resend, segment: &str) {
    suite
        .check("broadcasts.create", "an unknown segment, a time without `send`", async {
            refused(404, "not_found", call!(suite, client, broadcasts.create(draft(UNKNOWN_ID))))?;
            let early = draft(segment).with_scheduled_at("in 1 hour");
            refused(422, "validation_error", call!(suite, client, broadcasts.create(early)))?;
            Ok(())
        })
        .await;
    suite
        .check("broadcasts.send", "an unverified sender is 403", async {
            let unverified = CreateBroadcastOptions::new(segment, "a@unverified.example", "News").with_text("Hello");
            let id = call!(suite, client, broadcasts.create(unverified))?.id;
            let send = SendBroadcastOptions::new(&id);
            refused(403, "validation_error", call!(suite, client, broadcasts.send(send)))?;
            same(call!(suite, client, broadcasts.delete(&id))?, true)
        })
        .await;
}

/// Waits until a broadcast is sent.
async fn wait_until_sent(suite: &Suite, client: &Resend, id: &str) -> Checked<Broadcast> {
    poll(async || {
        let broadcast = read(suite, client, id).await?;
        Ok((broadcast.status == "sent").then_some(broadcast))
    })
    .await
}

async fn sends(suite: &Suite, client: &Resend, id: &BroadcastId) {
    suite
        .check("broadcasts.send", "to the members who are subscribed; only once", async {
            let sent = call!(suite, client, broadcasts.send(SendBroadcastOptions::new(id)))?;
            same(&*sent.id, &**id)?;
            let broadcast = wait_until_sent(suite, client, id).await?;
            ensure!(broadcast.sent_at.is_some(), "no time of sending");
            let again = SendBroadcastOptions::new(id);
            refused(403, "validation_error", call!(suite, client, broadcasts.send(again)))?;
            let changes = UpdateBroadcastOptions::new().with_name("Rust");
            refused(403, "validation_error", call!(suite, client, broadcasts.update(id, changes)))?;
            refused(403, "validation_error", call!(suite, client, broadcasts.delete(id)))?;
            Ok(())
        })
        .await;
}

async fn recipients(suite: &Suite, client: &Resend, id: &str) {
    use BroadcastRecipientEventType as Kind;
    suite
        .check("broadcasts.recipients", "each type, an address, limit and cursors", async {
            let all = call!(suite, client, broadcasts.recipients(id, ListRecipientsOptions::new(Kind::Sent)))?;
            same(all.len(), 3)?;
            ensure!(all.data.iter().all(|row| row.contact_id.is_some()), "a recipient without its contact");
            let bounced = poll(async || {
                let options =
                    ListRecipientsOptions::new(Kind::Bounced).with_bounce_type(BroadcastRecipientBounceType::Permanent);
                let page = call!(suite, client, broadcasts.recipients(id, options))?;
                Ok(page.data.first().cloned())
            })
            .await?;
            same(bounced.email.as_str(), BOUNCED)?;
            same(bounced.bounce_type, Some(BroadcastRecipientBounceType::Permanent))?;
            let delivered = poll(async || {
                let options = ListRecipientsOptions::new(Kind::Delivered);
                let page = call!(suite, client, broadcasts.recipients(id, options))?;
                Ok((page.len() == 2).then_some(page))
            })
            .await?;
            let options = ListRecipientsOptions::new(Kind::Delivered).with_email("-ada@");
            let page = call!(suite, client, broadcasts.recipients(id, options))?;
            same((page.len(), page[0].email.as_str()), (1, ADA))?;
            let options = ListRecipientsOptions::new(Kind::Delivered).with_limit(1).list_after(&delivered[0].id);
            let page = call!(suite, client, broadcasts.recipients(id, options))?;
            same(page[0].id.as_str(), delivered[1].id.as_str())?;
            for kind in [Kind::Opened, Kind::Clicked, Kind::Complained, Kind::Unsubscribed, Kind::Suppressed] {
                let page = call!(suite, client, broadcasts.recipients(id, ListRecipientsOptions::new(kind)))?;
                same(page.len(), 0)?;
            }
            let unknown = ListRecipientsOptions::new(Kind::Sent);
            refused(404, "not_found", call!(suite, client, broadcasts.recipients(UNKNOWN_ID, unknown)))?;
            Ok(())
        })
        .await;
    suite
        .check("broadcasts.clicked_links", "empty without tracking", async {
            let page = call!(suite, client, broadcasts.clicked_links(id, ListOptions::default()))?;
            same((page.len(), page.has_more), (0, false))
        })
        .await;
}

async fn cancels(suite: &Suite, client: &Resend, segment: &str) {
    suite
        .check("broadcasts.cancel", "a scheduled one; a draft and a canceled one are refused", async {
            let id = call!(suite, client, broadcasts.create(draft(segment)))?.id;
            let cancel = call!(suite, client, broadcasts.cancel(&id));
            same(refused(403, "validation_error", cancel)?.as_str(), ONLY_WAITING)?;
            let later = SendBroadcastOptions::new(&id).with_scheduled_at(&in_hours(2));
            call!(suite, client, broadcasts.send(later))?;
            same(read(suite, client, &id).await?.status.as_str(), "scheduled")?;
            same(&*call!(suite, client, broadcasts.cancel(&id))?.id, &*id)?;
            same(read(suite, client, &id).await?.status.as_str(), "canceled")?;
            let again = call!(suite, client, broadcasts.cancel(&id));
            same(refused(403, "validation_error", again)?.as_str(), ONLY_WAITING)
        })
        .await;
    suite
        .check("broadcasts.create", "sent at once, and sent later", async {
            let now = call!(suite, client, broadcasts.create(draft(segment).with_send(true)))?.id;
            wait_until_sent(suite, client, &now).await?;
            let later = draft(segment).with_send(true).with_scheduled_at("in 3 hours");
            let later = call!(suite, client, broadcasts.create(later))?.id;
            same(read(suite, client, &later).await?.status.as_str(), "scheduled")?;
            call!(suite, client, broadcasts.cancel(&later))?;
            Ok(())
        })
        .await;
}

//! Email methods and options that the server does not support.

use resend_rs::list_opts::ListOptions;
use resend_rs::types::{
    CreateAttachment, ForwardReceivingEmail, GetInboundEmailOptions, InboundEmailId,
    ShareEmailOptions,
};
use resend_rs::{Method, Resend};

use crate::check::{Checked, Suite, UNKNOWN_ID};
use crate::emails::{FROM, message};

pub(crate) async fn run(suite: &Suite, client: &Resend) {
    attachments(suite, client).await;
    sends(suite, client).await;
    missing(suite, client).await;
}

/// Checks that attachments cannot be decoded. The SDK requires a `download_url`, and the server returns null.
async fn attachments(suite: &Suite, client: &Resend) {
    let note = "the SDK cannot read a null download_url";
    let (email, attachment) = match one_attachment(suite, client).await {
        Ok(ids) => ids,
        Err(error) => return suite.fail("emails.get_attachment", note, &error.to_string()),
    };
    let all = call!(
        suite,
        client,
        emails.list_attachments(&email, ListOptions::default())
    );
    suite.must_not_decode("emails.list_attachments", note, all);
    let one = call!(suite, client, emails.get_attachment(&email, &attachment));
    suite.must_not_decode("emails.get_attachment", note, one);
}

/// Sends an attachment. Returns the ids of the email and of the attachment, read without the type of the SDK.
async fn one_attachment(suite: &Suite, client: &Resend) -> Checked<(String, String)> {
    let email = message("attachment").with_attachment(vec![1, 2, 3]);
    let id = call!(suite, client, emails.send(email))?.id.to_string();
    let path = format!("/emails/{id}/attachments");
    let list = client
        .send_raw(Method::GET, &path, None::<()>, None::<()>, None)
        .await?;
    let attachment = list["data"][0]["id"].as_str().ok_or("no attachment")?;
    Ok((id, attachment.to_owned()))
}

async fn sends(suite: &Suite, client: &Resend) {
    let inline = CreateAttachment::from_content(vec![1])
        .with_filename("a.png")
        .with_content_id("logo");
    for (note, email) in [
        (
            "a remote attachment is never fetched",
            message("must fail")
                .with_attachment(CreateAttachment::from_path("https://example.com/a.txt")),
        ),
        (
            "inline images",
            message("must fail").with_attachment(inline),
        ),
    ] {
        suite.must_fail(
            "emails.send",
            note,
            422,
            "validation_error",
            call!(suite, client, emails.send(email)),
        );
    }
}

async fn missing(suite: &Suite, client: &Resend) {
    let page = ListOptions::default;
    let inbound = GetInboundEmailOptions::default();
    let forward =
        ForwardReceivingEmail::new(InboundEmailId::new(UNKNOWN_ID), FROM, ["one@example.net"]);
    let share = ShareEmailOptions::new().with_expires_in("10m");

    let gone = |method: &str, note: &str, result| {
        suite.must_fail::<()>(method, note, 404, "not_found", result)
    };
    gone(
        "emails.share",
        "no shared links",
        call!(suite, client, emails.share(UNKNOWN_ID, share)).map(drop),
    );
    gone(
        "receiving.list",
        "no inbound mail",
        call!(suite, client, receiving.list(page())).map(drop),
    );
    gone(
        "receiving.get",
        "no inbound mail",
        call!(suite, client, receiving.get(UNKNOWN_ID, inbound)).map(drop),
    );
    gone(
        "receiving.forward",
        "no inbound mail",
        call!(suite, client, receiving.forward(forward)).map(drop),
    );
    gone(
        "receiving.list_attachments",
        "no inbound mail",
        call!(
            suite,
            client,
            receiving.list_attachments(UNKNOWN_ID, page())
        )
        .map(drop),
    );
    gone(
        "receiving.get_attachment",
        "no inbound mail",
        call!(
            suite,
            client,
            receiving.get_attachment(UNKNOWN_ID, UNKNOWN_ID)
        )
        .map(drop),
    );
}

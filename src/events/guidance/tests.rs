use super::*;

fn event(kind: EmailEventKind, recipient: &str, detail: EventDetail) -> Event {
    Event { kind, at_ms: 0, recipients: vec![recipient.to_owned()], detail }
}

fn bounce(bounce_type: BounceType, subtype: &str, reply: &str) -> EventDetail {
    let diagnostic = if reply.is_empty() { Vec::new() } else { vec![reply.to_owned()] };
    EventDetail::Bounce(Bounce { message: String::new(), bounce_type, subtype: subtype.to_owned(), diagnostic })
}

fn title(event: &Event) -> &'static str {
    Guidance::of(event).expect("the event has guidance").title
}

/// Titles of a bounce of an address, by the reply.
#[test]
fn the_provider_precedes_the_code_and_the_code_precedes_the_type() {
    use BounceType::{Permanent, Transient, Undetermined};
    let cases = [
        (
            "ada@privaterelay.appleid.com",
            Permanent,
            "NoEmail",
            "550 5.1.1 unknown",
            "Apple's private relay refused the email",
        ),
        ("ada@iCloud.com", Permanent, "General", "554 5.7.1 [CS01] rejected", "iCloud refuses the sender"),
        ("ada@icloud.com", Permanent, "NoEmail", "550 5.1.1 unknown", "The mailbox does not exist"),
        (
            "ada@gmail.com",
            Permanent,
            "General",
            "550-5.7.26 unauthenticated",
            "Gmail could not authenticate the sender",
        ),
        ("ada@firm.example", Permanent, "General", "550 5.7.26 DMARC", "The sender could not be authenticated"),
        (
            "ada@firm.example",
            Permanent,
            "General",
            "550 5.7.26 DMARC - gsmtp",
            "Gmail could not authenticate the sender",
        ),
        ("ada@outlook.com", Transient, "General", "550 5.7.1 (S3150) blocked", "Microsoft blocks the source address"),
        ("ada@a.example", Permanent, "General", "550 5.1.1 unknown", "The mailbox does not exist"),
        ("ada@a.example", Permanent, "General", "smtp; 550 5.1.1 unknown", "The mailbox does not exist"),
        ("ada@a.example", Permanent, "General", "5.1.2 no such domain", "The domain does not exist"),
        ("ada@a.example", Permanent, "General", "550 5.2.1 disabled", "The mailbox is disabled"),
        ("ada@a.example", Transient, "General", "452 4.2.2 over quota", "The mailbox is full"),
        ("ada@a.example", Transient, "General", "552 5.3.4 too big", "The message is too large"),
        ("ada@a.example", Permanent, "General", "550 5.4.4 no route", "The domain has no mail server"),
        ("ada@a.example", Permanent, "General", "550 5.7.1 denied", "A rule of the receiver refused the email"),
        ("ada@a.example", Permanent, "NoEmail", "", "The mailbox does not exist"),
        ("ada@yandex.example", Permanent, "NoEmail", "550 5.7.1 No such user!", "The mailbox does not exist"),
        ("ada@a.example", Permanent, "NoEmail", "5.1.10 the domain accepts no mail", "The domain accepts no mail"),
        (
            "ada@a.example",
            Transient,
            "General",
            "450 4.1.1 <ada@a.example>: unverified address",
            "The server asks to try later",
        ),
        ("ada@a.example", Permanent, "OnAccountSuppressionList", "", "The relay suppresses the address"),
        ("ada@a.example", Permanent, "General", "550 no", "The address was refused permanently"),
        ("ada@a.example", Transient, "MailboxFull", "", "The mailbox is full"),
        ("ada@a.example", Transient, "MessageTooLarge", "", "The message is too large"),
        ("ada@a.example", Transient, "ContentRejected", "", "The content was rejected"),
        ("ada@a.example", Transient, "AttachmentRejected", "", "An attachment was rejected"),
        ("ada@a.example", Transient, "General", "", "The server refused the email for now"),
        ("ada@a.example", Undetermined, "Undetermined", "550 5.5.0 what", "The reason is not known"),
    ];
    for (recipient, bounce_type, subtype, reply, expected) in cases {
        let bounced = event(EmailEventKind::Bounced, recipient, bounce(bounce_type, subtype, reply));
        assert_eq!(title(&bounced), expected, "{recipient} {bounce_type:?} {subtype} {reply}");
    }
}

#[test]
fn a_failure_never_blames_the_recipient_for_another_word_of_the_reply() {
    let cases = [
        (
            "rejected",
            "550 5.1.1 mailbox unavailable - invalid DNS PTR record",
            "A rule of the receiver refused the email",
        ),
        ("content_rejected", "554 5.7.1 rejected as spam", "The content was rejected"),
        ("attachment_rejected", "554 5.7.1 .exe", "An attachment was rejected"),
        ("authentication_failed", "550 5.7.1 SPF check failed", "The sender could not be authenticated"),
        ("authentication_failed", "550 5.7.25 no PTR", "The source address has no reverse DNS"),
        ("rejected", "550 5.7.1 denied", "A rule of the receiver refused the email"),
        ("authentication_failed", "550 rejected", "The sender could not be authenticated"),
        ("expired", "451 4.7.1 greylisted", "The retries ended"),
        ("expired", "452 4.2.2 over quota", "The mailbox is full"),
        ("expired", "connection refused", "The retries ended"),
        ("message_too_large", "552 too big", "The message is too large"),
        ("unroutable", "550 5.4.6 this host", "The domain has no usable mail server"),
        ("address_not_supported", "550 5.6.7 no SMTPUTF8", "The server does not support the address"),
        ("content_removed", "", "The content was deleted"),
        ("domain_removed", "", "The domain of the sender was deleted"),
        ("invalid_message", "a header is too long", "The message cannot be composed"),
        ("dropped", "", "The operator gave up the email"),
        ("word of a relay", "", "The reason is not known"),
    ];
    for (reason, reply, expected) in cases {
        let diagnostic = vec![reply.to_owned()];
        let detail = EventDetail::Failed { reason: reason.to_owned(), diagnostic };
        assert_eq!(title(&event(EmailEventKind::Failed, "ada@a.example", detail)), expected, "{reason} {reply}");
    }
}

#[test]
fn a_delay_says_whether_the_server_answered() {
    let cases = [
        ("451 4.7.1 greylisted", "The server asks to try later"),
        ("450 4.2.1 receiving mail too quickly - gsmtp", "The server asks to try later"),
        ("451 4.3.0 try later", "The server refused the email for now"),
        ("421 4.7.0 [TSS04] Messages temporarily deferred", "The server refuses the source address"),
        ("550 blocked using a list", "The server refuses the source address"),
        ("550 5.7.606 Access denied, banned sending IP [192.0.2.1]", "Microsoft blocks the source address"),
        ("550 5.1.2 no such domain", "The domain does not exist"),
        ("4.4.1 cannot connect: connection refused", "The server could not be reached"),
        ("the connection was lost at DATA", "The server could not be reached"),
        ("4.4.3 the DNS servers did not answer", "The domain could not be looked up"),
        ("4.3.2 the operator has paused the delivery", "The email waits in the queue"),
        ("4.1.2 the domain does not exist; it is looked up again", "The domain does not exist"),
        ("4.7.4 TLS is required and not offered", "The connection cannot be encrypted"),
    ];
    for (reply, expected) in cases {
        let detail = EventDetail::Reply { reply: reply.to_owned() };
        assert_eq!(title(&event(EmailEventKind::DeliveryDelayed, "ada@a.example", detail)), expected, "{reply}");
    }
    assert_eq!(
        title(&event(EmailEventKind::DeliveryDelayed, "ada@a.example", EventDetail::None)),
        "The email waits in the queue"
    );
    let paused = EventDetail::Reply { reply: "4.3.2 the operator has paused the delivery".to_owned() };
    let paused = event(EmailEventKind::DeliveryDelayed, "ada@privaterelay.appleid.com", paused);
    assert_eq!(title(&paused), "The email waits in the queue");
}

#[test]
fn each_kind_of_complaint_has_guidance() {
    let kinds =
        [None, Some("abuse"), Some("auth-failure"), Some("fraud"), Some("not-spam"), Some("virus"), Some("other")];
    let titles = kinds.map(|kind| {
        let detail = EventDetail::Complaint { feedback_type: kind.map(ToOwned::to_owned) };
        title(&event(EmailEventKind::Complained, "ada@a.example", detail))
    });
    assert_eq!(titles[0], titles[1]);
    let distinct: std::collections::BTreeSet<&str> = titles.into_iter().collect();
    assert_eq!(distinct.len(), 6);
}

#[test]
fn an_event_without_a_problem_has_no_guidance() {
    let delivered = EventDetail::Reply { reply: "250 2.0.0 queued".to_owned() };
    for (kind, detail) in [(EmailEventKind::Delivered, delivered), (EmailEventKind::Sent, EventDetail::None)] {
        assert_eq!(Guidance::of(&event(kind, "ada@a.example", detail)), None, "{kind:?}");
    }
}

//! Emails for the tests of the checks.

use super::super::{
    DmarcFacts, InsightCheck, InsightDetail, InsightInput, InsightKind, InsightResult, InsightStatus, SenderFacts,
    evaluate,
};

/// Parts of an email that a test changes.
#[derive(Clone)]
pub(super) struct Draft {
    pub(super) html: String,
    pub(super) text: Option<&'static str>,
    pub(super) subject: &'static str,
    pub(super) from_local: &'static str,
    pub(super) has_reply_to: bool,
    pub(super) headers: Vec<(String, String)>,
    pub(super) attachments: usize,
    pub(super) kind: InsightKind,
    pub(super) has_one_click: bool,
    pub(super) domain: SenderFacts,
}

/// Returns a marketing email of `mail.example.com` that passes each check.
pub(super) fn good() -> Draft {
    let text = "A visible sentence that is repeated. ".repeat(4);
    Draft {
        html: format!(
            "<p>{text}</p><img src='https://cdn.example.com/a.png' alt=A><a href='https://example.com/'>Shop</a>\
             <a href='{{{{{{UNSUBSCRIBE_URL}}}}}}'>Unsubscribe</a>"
        ),
        text: Some("The same as text: {{{UNSUBSCRIBE_URL}}}"),
        subject: "News of this week",
        from_local: "hello",
        has_reply_to: true,
        headers: Vec::new(),
        attachments: 0,
        kind: InsightKind::Broadcast,
        has_one_click: true,
        domain: SenderFacts {
            name: "mail.example.com".to_owned(),
            organization: None,
            dmarc: DmarcFacts::Published { hours: 1, is_enforced: true },
            tracks_opens: false,
            tracks_clicks: false,
            has_tracking_host: false,
        },
    }
}

pub(super) fn with(change: impl FnOnce(&mut Draft)) -> Draft {
    let mut draft = good();
    change(&mut draft);
    draft
}

pub(super) fn html(html: &str) -> Draft {
    with(|draft| html.clone_into(&mut draft.html))
}

pub(super) fn plain(html: &str) -> Draft {
    with(|draft| {
        html.clone_into(&mut draft.html);
        draft.text = Some("A text part.");
        draft.kind = InsightKind::Plain;
    })
}

pub(super) fn results(draft: &Draft) -> Vec<InsightResult> {
    let Draft { html, text, subject, from_local, has_reply_to, headers, attachments, kind, has_one_click, domain } =
        draft;
    evaluate(InsightInput {
        html: Some(html),
        text: *text,
        subject,
        from_local,
        has_reply_to: *has_reply_to,
        headers,
        attachments: *attachments,
        kind: *kind,
        has_one_click: *has_one_click,
        public_host: Some("ringmail.example.net"),
        domain,
    })
}

pub(super) fn result(draft: &Draft, check: InsightCheck) -> (InsightStatus, InsightDetail) {
    let found = results(draft).into_iter().find(|result| result.check == check).unwrap();
    (found.status, found.detail)
}

pub(super) fn status(draft: &Draft, check: InsightCheck) -> InsightStatus {
    result(draft, check).0
}

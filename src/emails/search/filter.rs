//! The filter of a search, and the rows that it selects. Pure, except for the types of rows.

use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{ApiKeyId, EmailId};
use crate::emails::model::LastEvent;
use crate::emails::store::EmailRow;
use crate::tables::AddressHash;

/// Emails to find. An absent field selects all emails, and several fields select the emails that match each of them.
/// Texts are compared without letter case.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SearchFilter {
    /// An id or a `Message-ID`, the address of a recipient, or a part of the subject, the sender or a recipient.
    pub text: Option<String>,
    /// A recipient: a whole address, or a part of one.
    pub to: Option<String>,
    /// Part of the sender.
    pub from: Option<String>,
    /// Part of the subject.
    pub subject: Option<String>,
    /// Statuses; empty for every status.
    pub statuses: Vec<LastEvent>,
    /// Domain of the sender.
    pub domain: Option<String>,
    /// API key of the sender.
    pub key: Option<ApiKeyId>,
    pub tag: Option<SearchTag>,
    pub has_attachment: Option<bool>,
    /// Start of the time of acceptance.
    pub since_ms: Option<TimestampMs>,
    /// End of the time of acceptance, which is not included.
    pub until_ms: Option<TimestampMs>,
}

/// A tag to find.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchTag {
    pub name: String,
    /// Value; `None` for every value.
    pub value: Option<String>,
}

impl SearchTag {
    /// Parses `name` or `name:value`.
    pub fn parse(text: &str) -> Self {
        match text.split_once(':') {
            Some((name, value)) => Self { name: name.to_owned(), value: Some(value.to_owned()) },
            None => Self { name: text.to_owned(), value: None },
        }
    }
}

/// A search for one email by its id or its `Message-ID`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ExactEmail {
    pub(super) id: EmailId,
    /// Domain of the `Message-ID`; `None` if the search has only an id.
    pub(super) domain: Option<String>,
}

impl SearchFilter {
    /// Returns the filter with texts in lower case and without spaces around them. An empty text filters nothing.
    #[must_use]
    pub fn normalized(self) -> Self {
        let text = |text: Option<String>| text.map(|text| text.trim().to_lowercase()).filter(|text| !text.is_empty());
        Self {
            text: text(self.text),
            to: text(self.to),
            from: text(self.from),
            subject: text(self.subject),
            domain: text(self.domain),
            tag: self.tag.filter(|tag| !tag.name.is_empty()),
            ..self
        }
    }

    /// Returns the email that the text names; `None` if the text is no id.
    pub(super) fn exact(&self) -> Option<ExactEmail> {
        let text = self.text.as_deref()?.trim_start_matches('<').trim_end_matches('>');
        match text.split_once('@') {
            Some((id, domain)) => EmailId::parse(id).map(|id| ExactEmail { id, domain: Some(domain.to_owned()) }),
            None => EmailId::parse(text).map(|id| ExactEmail { id, domain: None }),
        }
    }

    /// Returns the hash of the recipient that the filter names; `None` if it names no whole address.
    pub(super) fn recipient(&self) -> Option<AddressHash> {
        let address = |text: &Option<String>| EmailAddress::parse(text.as_deref()?).ok();
        address(&self.to).or_else(|| address(&self.text)).map(|address| address.identity_hash())
    }

    /// Returns whether the filter selects a row. Its times are those of the id, so that they are not compared here.
    pub(super) fn matches(&self, row: &EmailRow) -> bool {
        let is_status = self.statuses.is_empty() || self.statuses.contains(&row.last_event);
        let is_key = self.key.is_none_or(|key| row.key == Some(key));
        let has_attachment = self.has_attachment.is_none_or(|wanted| wanted != row.attachments.is_empty());
        !row.hidden
            && is_status
            && is_key
            && has_attachment
            && self
                .domain
                .as_ref()
                .is_none_or(|domain| row.from.domain().is_some_and(|its| its.eq_ignore_ascii_case(domain)))
            && self.tag.as_ref().is_none_or(|tag| has_tag(row, tag))
            && self.to.as_ref().is_none_or(|to| has_recipient(row, to))
            && self.from.as_ref().is_none_or(|from| contains(&row.from.to_string(), from))
            && self.subject.as_ref().is_none_or(|subject| contains(&row.subject, subject))
            && self.text.as_ref().is_none_or(|text| self.has_text(row, text))
    }

    fn has_text(&self, row: &EmailRow, text: &str) -> bool {
        if EmailAddress::parse(text).is_ok() {
            return has_recipient(row, text);
        }
        contains(&row.subject, text) || contains(&row.from.to_string(), text) || has_recipient(row, text)
    }
}

fn has_tag(row: &EmailRow, tag: &SearchTag) -> bool {
    let is_value = |value: &str| tag.value.as_deref().is_none_or(|wanted| wanted == value);
    row.tags.iter().any(|(name, value)| *name == tag.name && is_value(value))
}

/// Returns whether a recipient has an address, or contains a part of one.
fn has_recipient(row: &EmailRow, text: &str) -> bool {
    let Ok(address) = EmailAddress::parse(text) else {
        return row.recipients.iter().any(|recipient| contains(&recipient.mailbox.to_string(), text));
    };
    let wanted = address.identity_hash();
    let is_it = |address: &EmailAddress| address.identity_hash() == wanted;
    row.recipients.iter().any(|recipient| recipient.mailbox.address().is_some_and(is_it))
}

fn contains(text: &str, part: &str) -> bool {
    text.to_lowercase().contains(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::{AttachmentId, Id};
    use crate::emails::AttachmentInfo;
    use crate::emails::store::{RecipientRow, RecipientState};

    fn row() -> EmailRow {
        let to = |mailbox| RecipientRow::example(mailbox, RecipientState::Settled, LastEvent::Delivered);
        EmailRow {
            from: "Shop <hello@example.com>".into(),
            subject: "Your Order 17".to_owned(),
            tags: vec![("kind".to_owned(), "order".to_owned())],
            key: Some(ApiKeyId::MAX),
            attachments: vec![AttachmentInfo {
                id: AttachmentId::MIN,
                filename: "a.pdf".to_owned(),
                size: 1,
                content_type: "application/pdf".to_owned(),
                content_id: None,
            }],
            ..EmailRow::example(vec![to("Ada <Ada@example.net>"), to("bob@example.org")], LastEvent::Delivered)
        }
    }

    fn text(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn each_field_selects_by_its_own_part_of_the_row() {
        let none = SearchFilter::default();
        for (filter, expected) in [
            (SearchFilter { to: text("ada@EXAMPLE.net"), ..none.clone() }, true),
            (SearchFilter { to: text("da@example.net"), ..none.clone() }, false),
            (SearchFilter { to: text("@example.org"), ..none.clone() }, true),
            (SearchFilter { to: text("carol"), ..none.clone() }, false),
            (SearchFilter { from: text("SHOP"), ..none.clone() }, true),
            (SearchFilter { from: text("ada"), ..none.clone() }, false),
            (SearchFilter { subject: text("order 1"), ..none.clone() }, true),
            (SearchFilter { subject: text("invoice"), ..none.clone() }, false),
            (SearchFilter { statuses: vec![LastEvent::Bounced, LastEvent::Delivered], ..none.clone() }, true),
            (SearchFilter { statuses: vec![LastEvent::Bounced], ..none.clone() }, false),
            (SearchFilter { domain: text("Example.com"), ..none.clone() }, true),
            (SearchFilter { domain: text("example"), ..none.clone() }, false),
            (SearchFilter { key: Some(ApiKeyId::MAX), ..none.clone() }, true),
            (SearchFilter { key: Some(Id::MIN), ..none.clone() }, false),
            (SearchFilter { tag: Some(SearchTag::parse("kind")), ..none.clone() }, true),
            (SearchFilter { tag: Some(SearchTag::parse("kind:order")), ..none.clone() }, true),
            (SearchFilter { tag: Some(SearchTag::parse("kind:other")), ..none.clone() }, false),
            (SearchFilter { has_attachment: Some(true), ..none.clone() }, true),
            (SearchFilter { has_attachment: Some(false), ..none.clone() }, false),
            (SearchFilter { text: text("order"), ..none.clone() }, true),
            (SearchFilter { text: text("hello@"), ..none.clone() }, true),
            (SearchFilter { text: text("bob@example.org"), ..none.clone() }, true),
            (SearchFilter { text: text("hello@example.com"), ..none.clone() }, false),
            (SearchFilter { text: text(" "), to: text("ada"), ..none.clone() }, true),
        ] {
            let shown = format!("{filter:?}");

            assert_eq!(filter.normalized().matches(&row()), expected, "{shown}");
        }
        assert!(!none.matches(&EmailRow { hidden: true, ..row() }));
    }

    #[test]
    fn an_id_and_a_message_id_are_exact() {
        let id = "019b8d6d-f9b0-7000-8000-000000000002";
        let exact = |given: &str| SearchFilter { text: text(given), ..SearchFilter::default() }.normalized().exact();
        let found = EmailId::parse(id).unwrap();

        assert_eq!(exact(&format!(" {id} ")), Some(ExactEmail { id: found, domain: None }));
        assert_eq!(
            exact(&format!("<{}@Example.com>", id.to_uppercase())),
            Some(ExactEmail { id: found, domain: Some("example.com".to_owned()) })
        );
        for other in ["ada@example.com", "019b8d6d", "order"] {
            assert_eq!(exact(other), None, "{other}");
        }
    }
}

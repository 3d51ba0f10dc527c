//! Parses reports in messages (RFC 6522): delivery status (RFC 3464) and feedback reports (RFC 5965). Pure.
//!
//! Files: `entity.rs` (a message or part, and its parts), `fields.rs` (groups of header fields), `delivery_status.rs`
//! and `feedback.rs` (the two kinds of report). This file collects the locators of the email.
//!
//! Messages are hostile input:
//! - Only the outermost multipart is split, into a bounded number of parts. The returned message is parsed as header
//!   fields only, so that nothing is nested.
//! - `fields.rs` parses headers in linear time. No parser of whole messages is used.

mod delivery_status;
mod entity;
mod feedback;
mod fields;

use entity::MimeEntity;
use fields::HeaderFields;

use super::model::{DeliveryReport, EmailLocator, FallbackRecipient, address};
use crate::base::id::EmailId;

/// Header fields with the recipient of the report, which may be the return path of the email.
const RECIPIENT_FIELDS: [&str; 4] = ["To", "Delivered-To", "X-Original-To", "Envelope-To"];
/// Types of the machine-readable part.
const STATUS: [&str; 2] = ["message/delivery-status", "message/global-delivery-status"];
const FEEDBACK: &str = "message/feedback-report";
/// Prefix of the return paths of this server. Other addresses are ignored.
const RETURN_PATH_TAG: &str = "b+";
/// Locators of one report.
const REFERENCES_MAX: usize = 16;

/// Parses a message; returns `None` if it is not a report or contains no finding.
pub fn parse(message: &[u8]) -> Option<DeliveryReport> {
    let report = MimeEntity::read(message);
    // RFC 6522 §3. Automatic replies and personal email have other types. OpenSMTPD writes `multipart/mixed`.
    let is_typed = report.media_type == "multipart/report";
    if !is_typed && report.media_type != "multipart/mixed" {
        return None;
    }
    let parts = report.parts();
    // RFC 6522 §3: a text part, the machine-readable part, and then the returned message.
    let is_report =
        |part: &MimeEntity<'_>| (is_typed && part.media_type == FEEDBACK) || STATUS.contains(&part.media_type.as_str());
    let at = parts.iter().position(is_report)?;
    let (part, rest) = (&parts[at], &parts[at + 1..]);
    let mut references = References::default();
    for name in RECIPIENT_FIELDS {
        report.header.all(name).for_each(|value| references.add_return_paths(value));
    }
    let findings = if part.media_type == FEEDBACK {
        let fields = HeaderFields::first(&part.text());
        fields.all("Original-Mail-From").for_each(|value| references.add_return_paths(value));
        feedback::read(&fields).into_iter().collect()
    } else {
        delivery_status::read(&part.text(), || text_part(&parts))
    };
    if findings.is_empty() {
        return None;
    }
    // `References` of the report itself (RFC 3834 §3.1.5) do not count, because personal replies have them too.
    let returned = rest.iter().find_map(returned_header).unwrap_or_default();
    returned.all("Return-Path").for_each(|value| references.add_return_paths(value));
    if let Some(id) = returned.one("Message-ID").and_then(email_of_message_id) {
        references.add(EmailLocator::Returned(id));
    }
    Some(DeliveryReport { references: references.0, findings, fallback: FallbackRecipient::OnlyRecipient })
}

/// Returns the header of the returned message, if this part contains it.
fn returned_header(part: &MimeEntity<'_>) -> Option<HeaderFields> {
    let returns = ["message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"];
    returns.contains(&part.media_type.as_str()).then(|| HeaderFields::header(&part.text()))
}

/// Returns the human-readable text of the report.
fn text_part(parts: &[MimeEntity<'_>]) -> String {
    parts.iter().find(|part| part.media_type == "text/plain").map(MimeEntity::text).unwrap_or_default()
}

#[derive(Default)]
struct References(Vec<EmailLocator>);

impl References {
    fn add(&mut self, reference: EmailLocator) {
        if self.0.len() < REFERENCES_MAX && !self.0.contains(&reference) {
            self.0.push(reference);
        }
    }

    fn add_return_paths(&mut self, value: &str) {
        for word in value.split(|char: char| char.is_whitespace() || "<>,;:\"()".contains(char)) {
            let has_tag =
                word.get(..RETURN_PATH_TAG.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(RETURN_PATH_TAG));
            if let Some(address) = address(word).filter(|_| has_tag) {
                self.add(EmailLocator::ReturnPath(address));
            }
        }
    }
}

/// Returns the email id in a `Message-ID` of this server, with or without angle brackets.
pub(super) fn email_of_message_id(text: &str) -> Option<EmailId> {
    let text = text.trim();
    let id = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let (local, _domain) = id.split_once('@')?;
    EmailId::parse(local)
}

#[cfg(test)]
mod tests;

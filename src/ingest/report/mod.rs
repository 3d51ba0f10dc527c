//! Reports read from messages (RFC 6522): delivery status (RFC 3464) and complaints (RFC 5965). Pure.
//!
//! `entity.rs` a message or a part and the parts inside it; `fields.rs` groups of header fields;
//! `delivery_status.rs` and `feedback.rs` the two kinds of report; here what names the email.
//!
//! Hostile mail: only the outermost multipart is taken apart, into a bounded number of parts, and what
//! was returned is read as header fields alone, so that nothing nests. Headers are read by `fields.rs`,
//! in time that grows with their length alone; a parser of whole messages sees none of them.

mod delivery_status;
mod entity;
mod feedback;
mod fields;

use entity::Entity;
use fields::HeaderFields;

use super::model::{DeliveryReport, EmailLocator, FallbackRecipient, address};
use crate::base::id::EmailId;

/// Header fields in which the return path of the email may stand: whom the report was written to.
const WRITTEN_TO: [&str; 4] = ["To", "Delivered-To", "X-Original-To", "Envelope-To"];
/// The parts that programs read.
const STATUS: [&str; 2] = ["message/delivery-status", "message/global-delivery-status"];
const FEEDBACK: &str = "message/feedback-report";
/// What a return path of ours begins with, so that no other address is tried.
const RETURN_PATH_TAG: &str = "b+";
/// Return paths and ids that are tried for one report.
const REFERENCES_MAX: usize = 16;

/// Reads a message; `None` when it is no report, or says nothing that concerns us.
pub fn parse(message: &[u8]) -> Option<DeliveryReport> {
    let report = Entity::read(message);
    // RFC 6522 §3: automatic replies and people's mail are of other types.
    if report.media_type != "multipart/report" {
        return None;
    }
    let parts = report.parts();
    // RFC 6522 §3: words for people, one part for programs, and then the message that it is about.
    let is_report = |part: &Entity<'_>| part.media_type == FEEDBACK || STATUS.contains(&part.media_type.as_str());
    let at = parts.iter().position(is_report)?;
    let (part, rest) = (&parts[at], &parts[at + 1..]);
    let mut references = References::default();
    for name in WRITTEN_TO {
        report.header.all(name).for_each(|value| references.add_return_paths(value));
    }
    let findings = if part.media_type == FEEDBACK {
        let fields = HeaderFields::first(&part.text());
        fields.all("Original-Mail-From").for_each(|value| references.add_return_paths(value));
        feedback::read(&fields).into_iter().collect()
    } else {
        delivery_status::read(&part.text(), || words(&parts))
    };
    if findings.is_empty() {
        return None;
    }
    // What the report itself answers to (RFC 3834 §3.1.5) names nothing: people's mail answers, too.
    let returned = rest.iter().find_map(returned_header).unwrap_or_default();
    returned.all("Return-Path").for_each(|value| references.add_return_paths(value));
    if let Some(id) = returned.one("Message-ID").and_then(of_message_id) {
        references.add(EmailLocator::Returned(id));
    }
    Some(DeliveryReport { references: references.0, findings, stand: FallbackRecipient::OnlyRecipient })
}

/// Returns the header of the message that the report is about, where this part returns it.
fn returned_header(part: &Entity<'_>) -> Option<HeaderFields> {
    let returns = ["message/rfc822", "message/global", "text/rfc822-headers", "message/global-headers"];
    returns.contains(&part.media_type.as_str()).then(|| HeaderFields::header(&part.text()))
}

/// Returns what the report says to people.
fn words(parts: &[Entity<'_>]) -> String {
    parts.iter().find(|part| part.media_type == "text/plain").map(Entity::text).unwrap_or_default()
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
            let is_ours =
                word.get(..RETURN_PATH_TAG.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(RETURN_PATH_TAG));
            if let Some(address) = address(word).filter(|_| is_ours) {
                self.add(EmailLocator::ReturnPath(address));
            }
        }
    }
}

/// Returns the email that a `Message-ID` of ours names, with or without angle brackets.
pub(super) fn of_message_id(text: &str) -> Option<EmailId> {
    let text = text.trim();
    let id = text.strip_prefix('<').and_then(|text| text.strip_suffix('>')).unwrap_or(text);
    let (local, _domain) = id.split_once('@')?;
    EmailId::parse(local)
}

#[cfg(test)]
mod tests;

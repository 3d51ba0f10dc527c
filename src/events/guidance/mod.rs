//! Meaning of a bounce, a failure, a delay or a complaint, and the next step. Pure.
//!
//! Most of it follows from the reply of the recipient's server. The first known one of these decides: a rule of the
//! provider, the enhanced status code, the bounce type or the failure reason.
//!
//! Files: `entries.rs` has the texts.

mod entries;
#[cfg(test)]
mod tests;

use entries as entry;

use super::model::{Bounce, BounceType, EmailEventKind, Event, EventDetail};
use crate::base::enhanced_code::{EnhancedCode, split_enhanced_code};
use crate::base::words::words;

words! {
    /// Cause of an undelivered, delayed or reported email.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum GuidanceCategory {
        /// The address or its domain.
        Recipient = "recipient",
        /// The message.
        Content = "content",
        /// Reputation of the sender at the receivers.
        Reputation = "reputation",
        /// A rule of the receiver, or a missing proof of the sender.
        Policy = "policy",
        /// A rule of one provider.
        Provider = "provider",
        /// A state that ends by itself.
        Transient = "transient",
        Unknown = "unknown",
    }
}

/// Explanation of an event with the next step.
#[derive(Debug, PartialEq, Eq)]
pub struct Guidance {
    pub category: GuidanceCategory,
    /// A few words without a full stop.
    pub title: &'static str,
    /// One or two sentences.
    pub explanation: &'static str,
    /// One or two sentences in the imperative.
    pub action: &'static str,
}

/// Domain of the addresses that forward to the users of Sign in with Apple.
const PRIVATE_RELAY: &str = "privaterelay.appleid.com";
/// Domains of iCloud.
const ICLOUD: [&str; 3] = ["icloud.com", "me.com", "mac.com"];
/// Domains of Gmail. Its servers of other domains are recognized by their replies.
const GMAIL: [&str; 2] = ["gmail.com", "googlemail.com"];
/// Texts in the replies of Microsoft for a source address that it blocks.
const MICROSOFT_BLOCKS: [&str; 5] = ["(S31", "S3140", "S3150", "S3115", "banned sending IP"];
/// Start of the codes in the replies of Yahoo for a source address that it blocks.
const YAHOO_BLOCK: &str = "[TSS";

impl Guidance {
    /// Returns the guidance for an event; `None` for an event that is no problem.
    pub fn of(event: &Event) -> Option<&'static Self> {
        let reply = ReplyFacts::new(event);
        match &event.detail {
            EventDetail::Bounce(bounce) => Some(of_bounce(bounce, &reply)),
            EventDetail::Failed { reason, .. } => Some(of_failure(reason, &reply)),
            EventDetail::Reply { .. } if event.kind == EmailEventKind::DeliveryDelayed => Some(of_delay(&reply)),
            EventDetail::None if event.kind == EmailEventKind::DeliveryDelayed => Some(&entry::HELD),
            EventDetail::Complaint { feedback_type } => Some(of_complaint(feedback_type.as_deref())),
            EventDetail::None | EventDetail::Reply { .. } | EventDetail::Open(_) | EventDetail::Click(_) => None,
        }
    }
}

/// The last reply of an event, with the domain of its recipient.
struct ReplyFacts<'a> {
    text: &'a str,
    /// Basic code; `None` for a text of this server, and for a report without one.
    code: Option<u16>,
    /// `None` if the reply has none.
    enhanced: Option<EnhancedCode>,
    /// In lower case; empty without a recipient.
    domain: String,
}

impl<'a> ReplyFacts<'a> {
    fn new(event: &'a Event) -> Self {
        let text = match &event.detail {
            EventDetail::Bounce(Bounce { diagnostic, .. }) | EventDetail::Failed { diagnostic, .. } => {
                diagnostic.last().map_or("", String::as_str)
            }
            EventDetail::Reply { reply } => reply,
            EventDetail::None | EventDetail::Complaint { .. } | EventDetail::Open(_) | EventDetail::Click(_) => "",
        };
        // Reporting systems name the protocol first (RFC 3464 §2.3.6).
        let text = text.strip_prefix("smtp; ").unwrap_or(text);
        let domain = event.recipients.first().and_then(|address| address.rsplit_once('@'));
        let domain = domain.map(|(_, domain)| domain.trim_end_matches('>').to_ascii_lowercase());
        let code = basic_code(text);
        let rest = if code.is_some() { text[3..].trim_start_matches([' ', '-']) } else { text };
        let enhanced = split_enhanced_code(rest.as_bytes()).map(|(enhanced, _)| enhanced);
        Self { text, code, enhanced, domain: domain.unwrap_or_default() }
    }

    fn is_permanent(&self) -> bool {
        self.code.is_some_and(|code| code >= 500)
    }

    /// Returns whether the code says only that a rule refuses the message (RFC 3463 §3.8).
    fn is_vague_policy(&self) -> bool {
        matches!(self.enhanced, Some((5, 7, 1)))
    }

    /// Returns the guidance of a rule of the provider, for a reply of its server.
    fn provider(&self) -> Option<&'static Guidance> {
        self.code?;
        let detail = self.enhanced.map(|(_, subject, detail)| (subject, detail));
        if self.domain == PRIVATE_RELAY && self.is_permanent() {
            return Some(&entry::APPLE_PRIVATE_RELAY);
        }
        if ICLOUD.contains(&self.domain.as_str()) && matches!(detail, Some((7, _))) {
            return Some(&entry::ICLOUD);
        }
        let is_google = GMAIL.contains(&self.domain.as_str()) || self.text.contains("gsmtp");
        if is_google && matches!(detail, Some((7, 26 | 27))) {
            return Some(&entry::GMAIL_AUTHENTICATION);
        }
        let is_microsoft = MICROSOFT_BLOCKS.iter().any(|known| self.text.contains(known));
        if is_microsoft || matches!(detail, Some((7, 511 | 600..=699 | 708))) {
            return Some(&entry::MICROSOFT_BLOCK);
        }
        self.text.contains(YAHOO_BLOCK).then_some(&entry::BLOCKED)
    }

    /// Returns the guidance of the enhanced code of a server. A temporary refusal does not mean that the mailbox is missing.
    fn by_code(&self) -> Option<&'static Guidance> {
        Some(match self.enhanced? {
            (4, 1 | 2, 1) | (4, 7, 0 | 1) => &entry::GREYLISTED,
            (5, 1, 0 | 1 | 3 | 6 | 10) => &entry::NO_MAILBOX,
            (_, 1, 2) => &entry::NO_DOMAIN,
            (5, 2, 1) => &entry::DISABLED,
            (_, 2, 2) => &entry::FULL,
            (_, 2, 3) | (_, 3, 4) => &entry::TOO_LARGE,
            (_, 4, 4) => &entry::NO_MAIL_SERVER,
            // RFC 7372 §3.3.
            (_, 7, 25) => &entry::REVERSE_DNS,
            (_, 7, 20..=26) => &entry::AUTHENTICATION,
            (4, 7, _) => &entry::GREYLISTED,
            _ => return None,
        })
    }

    /// Returns the guidance of a text that this server wrote without a reply. Such a text has an enhanced code only.
    fn of_own_text(&self) -> Option<&'static Guidance> {
        if self.code.is_some() {
            return None;
        }
        Some(match self.enhanced? {
            (_, 1, 2) => &entry::NO_DOMAIN,
            (_, 1, 10) => &entry::NULL_MX,
            (_, 4, 4) => &entry::NO_MAIL_SERVER,
            (4, 3, 2) => &entry::HELD,
            (4, 4, 3) => &entry::NO_LOOKUP,
            (_, 7, 4 | 5) => &entry::NO_TLS,
            _ => return None,
        })
    }
}

/// Returns the code at the start of a reply, such as `550 5.1.1 No such user`; `None` if the text has none.
fn basic_code(text: &str) -> Option<u16> {
    let (code, rest) = text.split_at_checked(3)?;
    let is_code = code.starts_with(['4', '5']) && code.bytes().all(|byte| byte.is_ascii_digit());
    if is_code && (rest.is_empty() || rest.starts_with([' ', '-'])) { code.parse().ok() } else { None }
}

fn of_bounce(bounce: &Bounce, reply: &ReplyFacts<'_>) -> &'static Guidance {
    let of_type = || match (bounce.bounce_type, bounce.subtype.as_str()) {
        (_, "General") if reply.is_vague_policy() => &entry::POLICY,
        (BounceType::Permanent, "NoEmail") => &entry::NO_MAILBOX,
        (BounceType::Permanent, "Suppressed" | "OnAccountSuppressionList") => &entry::SUPPRESSED_ELSEWHERE,
        (BounceType::Permanent, _) => &entry::PERMANENT,
        (BounceType::Transient, "MailboxFull") => &entry::FULL,
        (BounceType::Transient, "MessageTooLarge") => &entry::TOO_LARGE,
        (BounceType::Transient, "ContentRejected") => &entry::CONTENT,
        (BounceType::Transient, "AttachmentRejected") => &entry::ATTACHMENT,
        (BounceType::Transient, _) => &entry::TRANSIENT,
        (BounceType::Undetermined, _) => &entry::UNKNOWN,
    };
    let of_reply = reply.provider().or_else(|| reply.of_own_text()).or_else(|| reply.by_code());
    of_reply.unwrap_or_else(of_type)
}

fn of_failure(reason: &str, reply: &ReplyFacts<'_>) -> &'static Guidance {
    let of_reason = match reason {
        "message_too_large" => &entry::TOO_LARGE,
        "content_rejected" => &entry::CONTENT,
        "attachment_rejected" => &entry::ATTACHMENT,
        "authentication_failed" => &entry::AUTHENTICATION,
        "address_not_supported" => &entry::ADDRESS_NOT_SUPPORTED,
        "expired" => &entry::EXPIRED,
        "rejected" => &entry::POLICY,
        // The server was not asked.
        "unroutable" => return &entry::UNROUTABLE,
        "content_removed" => return &entry::CONTENT_REMOVED,
        "domain_removed" => return &entry::DOMAIN_REMOVED,
        "invalid_message" => return &entry::INVALID_MESSAGE,
        "dropped" => return &entry::DROPPED,
        _ => &entry::UNKNOWN,
    };
    if let Some(provider) = reply.provider() {
        return provider;
    }
    // Without a recipient that is at fault, another word of the reply than its code was the cause. After the last attempt,
    // a sentence about the next one is untrue.
    match reply.by_code().or_else(|| reply.of_own_text()) {
        Some(entry) if *entry == entry::FULL && reason == "expired" => entry,
        Some(entry) if matches!(entry.category, GuidanceCategory::Recipient | GuidanceCategory::Transient) => of_reason,
        Some(entry) => entry,
        None => of_reason,
    }
}

fn of_delay(reply: &ReplyFacts<'_>) -> &'static Guidance {
    if reply.code.is_none() {
        return reply.of_own_text().unwrap_or(&entry::UNREACHABLE);
    }
    let of_reply = || match reply.code {
        // A permanent refusal that is only a delay is one of this server, not of the message.
        Some(550..) => &entry::BLOCKED,
        _ => &entry::TRANSIENT,
    };
    reply.provider().or_else(|| reply.by_code()).unwrap_or_else(of_reply)
}

/// Returns the guidance for a complaint. `feedback_type` is that of RFC 5965 §7.3.
fn of_complaint(feedback_type: Option<&str>) -> &'static Guidance {
    match feedback_type {
        None | Some("abuse") => &entry::COMPLAINT_ABUSE,
        Some("auth-failure") => &entry::COMPLAINT_AUTHENTICATION,
        Some("fraud") => &entry::COMPLAINT_FRAUD,
        Some("not-spam") => &entry::COMPLAINT_NOT_SPAM,
        Some("virus") => &entry::COMPLAINT_VIRUS,
        Some(_) => &entry::COMPLAINT_OTHER,
    }
}

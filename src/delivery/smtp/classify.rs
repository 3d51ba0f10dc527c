//! Classification of refusals: from a reply to its meaning and the action that follows.
//!
//! A rule for the text of a provider precedes the general rules. Among those, the text decides if the enhanced code is
//! missing or vague, then the enhanced code, then the basic code with the phase. If the result blames the recipient,
//! the text is searched for another cause, which then wins.
//!
//! # Invariants
//!
//! - A 4xx is always retried, whatever its code and text.
//! - A 5xx before RCPT concerns the client or the site, never the recipient. The precheck is the exception.
//! - Rules that suppress an address are the last in their table.
//! - An address is suppressed only for the code of a bad mailbox, or for a text that names one. A text about the sender,
//!   its address, its DNS records, a blocklist or a policy excludes this, also beside the text of a provider.

use super::SmtpPhase;
use super::refusal_text::normalized;
use super::reply::Reply;
use super::rules::{self, SiteLimit};
use crate::base::words::words;

/// Meaning of a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalClass {
    BadMailbox,
    /// The domain or its hosts do not exist, as the server says. Permanent only if a later attempt confirms it.
    BadDomain,
    MailboxFull,
    Greylisted,
    TooLarge,
    Content,
    Attachment,
    /// SPF, DKIM, DMARC or the sender's domain. The owner of the domain must correct it.
    Authentication,
    /// The source address or its network is blocked.
    Blocked,
    /// A rule of the receiver refuses the sender, with a code that blames the recipient.
    Policy,
    RateLimited,
    TooManyRecipients,
    /// The server rejected the syntax or the order of the commands.
    Protocol,
    /// The address needs an extension that the server lacks.
    AddressUnsupported,
    Expired,
    /// The site refuses the client without a known reason.
    SiteRefused,
    /// A 4xx without a known meaning.
    Temporary,
    /// A 5xx without a known meaning.
    Unknown,
}

words! {
    /// Type of a bounce. The words are part of the API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum BounceKind {
        Permanent = "Permanent",
        Transient = "Transient",
        Undetermined = "Undetermined",
    }
}

/// Action that follows from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Bounce and suppress the address. No retry.
    Bounce,
    /// Retry after the confirmation time. If the next attempt has the same result, bounce and suppress the address.
    ConfirmBounce,
    /// Fail without a bounce. No retry.
    Fail { reason: FailReason },
    /// Retry on the schedule.
    Retry,
    /// Retry after minutes, as the server requests.
    RetryShort,
    /// Retry on the schedule, and fail after this many hours.
    RetryLimited { hours: u32 },
    /// Retry on the schedule and throttle the site: it blocks the source address, and the operator should request
    /// removal at the URL `delist`.
    HoldSite { throttle: SiteThrottle, delist: Option<&'static str> },
    /// Retry on the schedule and throttle the site.
    ThrottleSite { throttle: SiteThrottle },
    /// Retry immediately in a smaller transaction. The attempt does not count. If the recipient was the first of its
    /// transaction, no smaller one exists, and the action is [`Action::Retry`].
    SplitRecipients,
    /// Retry once with one command at a time, then fail.
    RetryWithoutPipelining,
}

/// Recommended limit for a site.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteThrottle {
    /// Half the sessions, increasing again with success.
    Halve,
    /// One connection and one message a minute, for this time.
    Trickle { minutes: u32 },
    /// No messages for this time, which doubles with each repetition, up to a day.
    Stop { minutes: u32 },
}

words! {
    /// Reason why a message failed without a bounce. The words are part of stored events and of the API.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
    pub enum FailReason {
        TooLarge = "message_too_large",
        Content = "content_rejected",
        Attachment = "attachment_rejected",
        Authentication = "authentication_failed",
        AddressUnsupported = "address_not_supported",
        /// The servers of the domain are this server, or at addresses that it does not connect to.
        Unroutable = "unroutable",
        Expired = "expired",
        /// Refused without a known reason.
        Rejected = "rejected",
    }
}

/// Result of [`classify`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: RefusalClass,
    pub kind: BounceKind,
    /// Subtype of the bounce in the API.
    pub subtype: &'static str,
    pub action: Action,
}

/// Throttle after a block: 90 minutes, the default of KumoMTA.
const TRICKLE: SiteThrottle = SiteThrottle::Trickle { minutes: 90 };
/// Retry period for a full mailbox. Recipients free space within a day or not at all.
const MAILBOX_FULL_HOURS: u32 = 24;

impl RefusalClass {
    /// Returns the verdict on a permanent refusal of this class.
    fn verdict(self) -> Verdict {
        use BounceKind::{Permanent, Transient, Undetermined};
        let fail = |reason| Action::Fail { reason };
        let (kind, subtype, action) = match self {
            Self::BadMailbox => (Permanent, "NoEmail", Action::Bounce),
            Self::BadDomain => (Permanent, "NoEmail", Action::ConfirmBounce),
            Self::MailboxFull => {
                let hours = MAILBOX_FULL_HOURS;
                (Transient, "MailboxFull", Action::RetryLimited { hours })
            }
            Self::Greylisted => (Transient, "General", Action::RetryShort),
            Self::TooLarge => (Transient, "MessageTooLarge", fail(FailReason::TooLarge)),
            Self::Content => (Transient, "ContentRejected", fail(FailReason::Content)),
            Self::Attachment => (Transient, "AttachmentRejected", fail(FailReason::Attachment)),
            Self::Authentication => (Transient, "General", fail(FailReason::Authentication)),
            Self::Blocked => {
                let (throttle, delist) = (TRICKLE, None);
                (Transient, "General", Action::HoldSite { throttle, delist })
            }
            Self::RateLimited | Self::SiteRefused => {
                let throttle = SiteThrottle::Halve;
                (Transient, "General", Action::ThrottleSite { throttle })
            }
            Self::Policy => (Transient, "General", fail(FailReason::Rejected)),
            Self::TooManyRecipients => (Transient, "General", Action::SplitRecipients),
            Self::Protocol => (Undetermined, "Undetermined", Action::RetryWithoutPipelining),
            Self::AddressUnsupported => (Undetermined, "Undetermined", fail(FailReason::AddressUnsupported)),
            Self::Expired => (Transient, "General", fail(FailReason::Expired)),
            Self::Temporary => (Transient, "General", Action::Retry),
            Self::Unknown => (Undetermined, "Undetermined", fail(FailReason::Rejected)),
        };
        Verdict { class: self, kind, subtype, action }
    }
}

/// A class, with the site limit of the rule that matched, if it has one.
#[derive(Clone, Copy)]
struct Classification {
    class: RefusalClass,
    limit: Option<SiteLimit>,
}

impl From<&rules::ReplyRule> for Classification {
    fn from(rule: &rules::ReplyRule) -> Self {
        Self { class: rule.class, limit: rule.limit }
    }
}

impl From<RefusalClass> for Classification {
    fn from(class: RefusalClass) -> Self {
        Self { class, limit: None }
    }
}

/// Classifies a 4xx or 5xx reply that `host` sent in this phase.
///
/// The verdict depends on the reply only. The caller applies limits on repetition, and checks whether a transaction
/// can be split.
pub fn classify(phase: SmtpPhase, reply: &Reply, host: &str) -> Verdict {
    let refusal = Refusal {
        phase,
        code: reply.code,
        // In `450 5.1.1` and `550 4.1.1` the two codes contradict each other. A retry is the safe choice.
        is_transient: reply.is_transient() || matches!(reply.enhanced, Some((4, _, _))),
        detail: reply.enhanced.map(|(_, subject, detail)| (subject, detail)),
        text: normalized(&reply.text),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let classification = match rules::provider(&refusal.text, refusal.code, refusal.detail, &host) {
        // The words of the rule itself do not contradict it.
        Some((rule, matched)) => refusal.unless_contradicted(&refusal.text.replace(matched, " "), rule.into()),
        None => refusal.classification(),
    };
    refusal.verdict(classification)
}

/// A refusal, normalized for matching.
struct Refusal {
    phase: SmtpPhase,
    code: u16,
    is_transient: bool,
    /// Subject and detail of the enhanced code.
    detail: Option<(u16, u16)>,
    /// [Normalized](normalized) text.
    text: String,
}

impl Refusal {
    /// Classifies by text, enhanced code and basic code, in that order.
    fn classification(&self) -> Classification {
        let by_detail = self.detail.and_then(|detail| self.by_detail(detail));
        // RFC 3463 §3: detail 0 of any subject, and 7.1, mean only "refused". The text is then more specific.
        let is_vague = self.detail.is_none_or(|detail| matches!(detail, (_, 0) | (7, 1)));
        let words = rules::words(&self.text, self.code, self.detail).filter(|_| is_vague);
        match (words, by_detail) {
            // For a temporary refusal, the retry time matters more than the reason. If the text gives only a reason,
            // the enhanced code is preferred.
            (Some(rule), class) if self.is_transient && !is_about_timing(rule.class) => {
                class.unwrap_or_else(|| self.by_code()).into()
            }
            (Some(rule), _) => self.unless_contradicted(&self.text, rule.into()),
            (None, Some(class)) => self.unless_contradicted(&self.text, class.into()),
            (None, None) => self.by_code().into(),
        }
    }

    /// Returns the classification, or that of words in `text` which contradict a permanent refusal of the recipient.
    ///
    /// Many servers send the codes of a missing mailbox, or the words `mailbox unavailable` of RFC 5321 §4.2.3, when a
    /// rule of theirs refuses the sender.
    fn unless_contradicted(&self, text: &str, classification: Classification) -> Classification {
        let blames_recipient = matches!(classification.class, RefusalClass::BadMailbox | RefusalClass::BadDomain);
        let other = rules::other_cause(text, self.code).filter(|_| blames_recipient && !self.is_transient);
        other.map_or(classification, Classification::from)
    }

    /// Returns the class of an enhanced code.
    fn by_detail(&self, detail: (u16, u16)) -> Option<RefusalClass> {
        Some(match detail {
            (1, 1) | (2, 1) if self.is_transient => RefusalClass::Greylisted,
            (1, 0 | 1 | 3 | 6 | 10) | (2, 1) => RefusalClass::BadMailbox,
            (1, 2) | (4, 4) => RefusalClass::BadDomain,
            // RFC 3463 §3.2: address and domain of the sender.
            (1, 7 | 8) => RefusalClass::Authentication,
            (2, 2) => RefusalClass::MailboxFull,
            (2, 3) | (3, 4) => RefusalClass::TooLarge,
            (4, 7) => RefusalClass::Expired,
            (5, 3) => RefusalClass::TooManyRecipients,
            (5, _) => RefusalClass::Protocol,
            (6, 7) => RefusalClass::AddressUnsupported,
            (6, _) => RefusalClass::Content,
            // RFC 7372 and RFC 7505; 509 and 515 are codes of Microsoft.
            (7, 20..=27 | 509 | 515) => RefusalClass::Authentication,
            (7, 28) => RefusalClass::RateLimited,
            (7, 650) if self.is_transient => RefusalClass::RateLimited,
            (7, 511 | 600..=699 | 708) => RefusalClass::Blocked,
            (7, 0) if self.is_transient => RefusalClass::RateLimited,
            (7, 0) if self.code == 552 => RefusalClass::Content,
            _ => return None,
        })
    }

    /// Returns the class of the basic code in this phase, for replies without another match.
    fn by_code(&self) -> RefusalClass {
        match (self.code, self.phase) {
            (421, _) => RefusalClass::RateLimited,
            // Subject 3 is the whole system, not the mailbox.
            (452, SmtpPhase::Rcpt) if !matches!(self.detail, Some((3, _))) => RefusalClass::MailboxFull,
            (500..=504, _) => RefusalClass::Protocol,
            // RFC 5321 §4.2.3: exceeded storage allocation. At RCPT the mailbox is full, later the message is too
            // large.
            (552, SmtpPhase::Rcpt) => RefusalClass::MailboxFull,
            (552, _) => RefusalClass::TooLarge,
            (554, SmtpPhase::Greeting) => RefusalClass::Blocked,
            _ if self.is_transient => RefusalClass::Temporary,
            _ => RefusalClass::Unknown,
        }
    }

    fn verdict(&self, classification: Classification) -> Verdict {
        let class = self.adjust_to_phase(classification.class);
        let mut verdict = class.verdict();
        if let Some(limit) = classification.limit
            && class == classification.class
        {
            verdict.action = limit.action(class);
        } else if class == RefusalClass::RateLimited && matches!(self.detail, Some((7, 28 | 650))) {
            verdict.action = Action::ThrottleSite { throttle: TRICKLE };
        }
        if self.is_transient {
            verdict = make_transient(verdict);
        } else if self.phase == SmtpPhase::Auth {
            // A smarthost that rejects the credentials accepts no message until the operator corrects them.
            let (throttle, delist) = (TRICKLE, None);
            verdict.action = Action::HoldSite { throttle, delist };
        }
        verdict
    }

    /// Returns the class if it is possible in this phase. Otherwise returns the class of a refusal by the site.
    fn adjust_to_phase(&self, class: RefusalClass) -> RefusalClass {
        let about_site = if self.is_transient { RefusalClass::Temporary } else { RefusalClass::SiteRefused };
        match self.phase {
            SmtpPhase::Precheck | SmtpPhase::Rcpt | SmtpPhase::Data | SmtpPhase::Body => class,
            // No message has been offered yet.
            SmtpPhase::Connect | SmtpPhase::Greeting | SmtpPhase::Ehlo | SmtpPhase::StartTls | SmtpPhase::Auth => {
                match class {
                    RefusalClass::Blocked | RefusalClass::RateLimited | RefusalClass::Greylisted => class,
                    _ => about_site,
                }
            }
            // MAIL contains the sender and the size, but no recipient.
            SmtpPhase::Mail => match class {
                RefusalClass::BadMailbox
                | RefusalClass::BadDomain
                | RefusalClass::MailboxFull
                | RefusalClass::TooManyRecipients
                | RefusalClass::AddressUnsupported
                | RefusalClass::Unknown => about_site,
                _ => class,
            },
        }
    }
}

/// Returns whether a class determines the time of the next attempt.
fn is_about_timing(class: RefusalClass) -> bool {
    matches!(
        class,
        RefusalClass::Blocked | RefusalClass::Greylisted | RefusalClass::RateLimited | RefusalClass::MailboxFull
    )
}

/// Turns the verdict on a 4xx into a retry with a transient kind.
fn make_transient(verdict: Verdict) -> Verdict {
    let action = match verdict.action {
        Action::Bounce | Action::ConfirmBounce | Action::Fail { .. } | Action::RetryWithoutPipelining => Action::Retry,
        action => action,
    };
    let subtype = match verdict.kind {
        BounceKind::Transient => verdict.subtype,
        BounceKind::Permanent | BounceKind::Undetermined => "General",
    };
    Verdict { class: verdict.class, kind: BounceKind::Transient, subtype, action }
}

//! From a reply to a verdict: what it means, and what to do.
//!
//! The order is: what a provider is known to mean by its words, then the enhanced code, then the basic code, then the
//! phase. A 4xx is always tried again, whatever it says; a 5xx before RCPT is about this side or the site, never about
//! the recipient. Conclusions that suppress an address are drawn last and from clear signs only.

use super::SmtpPhase;
use super::reply::Reply;
use super::rules::{self, SiteMeasure};

/// What a refusal means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RefusalClass {
    BadMailbox,
    BadDomain,
    MailboxFull,
    Greylisted,
    TooLarge,
    Content,
    Attachment,
    /// SPF, DKIM, DMARC or the sender's domain itself: the owner of the domain must act.
    Authentication,
    /// The sending address or its network is blocked.
    Blocked,
    RateLimited,
    TooManyRecipients,
    /// The server did not understand our command.
    Protocol,
    /// The address needs an extension that the server lacks.
    AddressUnsupported,
    Expired,
    /// The site refuses this side, for no reason that it names.
    SiteRefused,
    /// A 4xx without a clearer meaning.
    Temporary,
    /// A 5xx without a clearer meaning. The address is suppressed only when this happens twice, at least 24 hours
    /// apart.
    Unknown,
}

/// The type of a bounce, as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BounceKind {
    Permanent,
    Transient,
    Undetermined,
}

impl BounceKind {
    /// Returns the spelling of the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Permanent => "Permanent",
            Self::Transient => "Transient",
            Self::Undetermined => "Undetermined",
        }
    }
}

/// What follows from a refusal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Terminal, and a bounce.
    Bounce { suppress: bool },
    /// Terminal, and not a bounce.
    Fail { reason: FailReason },
    /// On the ordinary schedule.
    Retry,
    /// After minutes: the server asks for a second try.
    RetryShort,
    /// On the ordinary schedule, and terminal after this many hours.
    RetryLimited { hours: u32 },
    /// On the ordinary schedule; the site is suspended for this source address, and someone should look. `delist` is
    /// where to ask for removal.
    HoldSite { pace: SiteThrottle, delist: Option<&'static str> },
    /// On the ordinary schedule; the site gets less.
    ThrottleSite { pace: SiteThrottle },
    /// At once, in a smaller transaction, without counting as an attempt. When the refused recipient was the first of
    /// its transaction, no smaller one exists, and this is [`Action::Retry`].
    SplitRecipients,
    /// Once more with one command at a time, then terminal.
    RetryWithoutPipelining,
}

/// How much a site still gets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SiteThrottle {
    /// Half the sessions, growing again with success.
    Halve,
    /// One connection, one message a minute.
    Trickle { minutes: u32 },
    /// Nothing; doubling, up to a day, when it happens again.
    Stop { minutes: u32 },
}

/// Why a message failed without being a bounce.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FailReason {
    TooLarge,
    Content,
    Attachment,
    Authentication,
    AddressUnsupported,
    Expired,
    /// Refused without a reason that is understood.
    Rejected,
}

impl FailReason {
    /// Returns the spelling of records and of the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TooLarge => "message_too_large",
            Self::Content => "content_rejected",
            Self::Attachment => "attachment_rejected",
            Self::Authentication => "authentication_failed",
            Self::AddressUnsupported => "address_not_supported",
            Self::Expired => "expired",
            Self::Rejected => "rejected",
        }
    }
}

/// What a reply means and what to do about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub class: RefusalClass,
    pub kind: BounceKind,
    /// The bounce subtype, in the spelling of the wire.
    pub subtype: &'static str,
    pub action: Action,
}

/// KumoMTA's default answer to a block: an hour and a half at a trickle.
const TRICKLE: SiteThrottle = SiteThrottle::Trickle { minutes: 90 };
/// Quotas are raised or emptied within a day or not at all.
const MAILBOX_FULL_HOURS: u32 = 24;

impl RefusalClass {
    /// Returns the verdict on a permanent refusal of this class.
    fn verdict(self) -> Verdict {
        use BounceKind::{Permanent, Transient, Undetermined};
        let fail = |reason| Action::Fail { reason };
        let (kind, subtype, action) = match self {
            Self::BadMailbox | Self::BadDomain => (Permanent, "NoEmail", Action::Bounce { suppress: true }),
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
                let (pace, delist) = (TRICKLE, None);
                (Transient, "General", Action::HoldSite { pace, delist })
            }
            Self::RateLimited | Self::SiteRefused => {
                let pace = SiteThrottle::Halve;
                (Transient, "General", Action::ThrottleSite { pace })
            }
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

/// A class, and what a rule knows better than the class about the site.
#[derive(Clone, Copy)]
struct Finding {
    class: RefusalClass,
    measure: Option<SiteMeasure>,
}

impl From<RefusalClass> for Finding {
    fn from(class: RefusalClass) -> Self {
        Self { class, measure: None }
    }
}

/// Judges a refusal, a 4xx or 5xx, that `host` gave in this phase.
///
/// The verdict is about the one reply: how often it may be repeated, and whether there is anyone left to split from,
/// is for the caller to see.
pub fn classify(phase: SmtpPhase, reply: &Reply, host: &str) -> Verdict {
    let refusal = Refusal {
        phase,
        code: reply.code,
        // A 450 with 5.1.1 and a 550 with 4.1.1 contradict themselves. The milder reading loses nothing.
        is_transient: reply.is_transient() || matches!(reply.enhanced, Some((4, _, _))),
        detail: reply.enhanced.map(|(_, subject, detail)| (subject, detail)),
        text: reply.text.to_ascii_lowercase(),
    };
    let host = host.trim_end_matches('.').to_ascii_lowercase();
    let finding = match rules::provider(&refusal.text, refusal.code, refusal.detail, &host) {
        Some(rule) => Finding { class: rule.class, measure: rule.measure },
        None => refusal.find(),
    };
    refusal.verdict(finding)
}

/// A reply, prepared for being judged.
struct Refusal {
    phase: SmtpPhase,
    code: u16,
    is_transient: bool,
    /// Subject and detail of the enhanced code.
    detail: Option<(u16, u16)>,
    /// The text in lower case.
    text: String,
}

impl Refusal {
    fn find(&self) -> Finding {
        let by_detail = self.detail.and_then(|detail| self.by_detail(detail));
        // RFC 3463 §3: detail 0 of any subject, and 7.1, say no more than "refused". There the words decide.
        let is_vague = self.detail.is_none_or(|detail| matches!(detail, (_, 0) | (7, 1)));
        let words = rules::words(&self.text).filter(|_| is_vague);
        match (words, by_detail) {
            // For the moment, what matters is how soon to try again: a code that speaks of that knows better than
            // words about why.
            (Some(rule), Some(class)) if self.is_transient && !is_about_time(rule.class) => class.into(),
            (Some(rule), _) => Finding { class: rule.class, measure: rule.measure },
            (None, Some(class)) => class.into(),
            (None, None) => self.by_code().into(),
        }
    }

    /// What the enhanced code says by itself.
    fn by_detail(&self, detail: (u16, u16)) -> Option<RefusalClass> {
        Some(match detail {
            (1, 1) | (2, 1) if self.is_transient => RefusalClass::Greylisted,
            (1, 0 | 1 | 3 | 6) | (2, 1) => RefusalClass::BadMailbox,
            (1, 2 | 10) | (4, 4) => RefusalClass::BadDomain,
            // RFC 3463 §3.2: the sender's address and the sender's domain.
            (1, 7 | 8) => RefusalClass::Authentication,
            (2, 2) => RefusalClass::MailboxFull,
            (2, 3) | (3, 4) => RefusalClass::TooLarge,
            (4, 7) => RefusalClass::Expired,
            (5, 3) => RefusalClass::TooManyRecipients,
            (5, _) => RefusalClass::Protocol,
            (6, 7) => RefusalClass::AddressUnsupported,
            (6, _) => RefusalClass::Content,
            // RFC 7372 and RFC 7505; 509 and 515 are Microsoft's.
            (7, 20..=27 | 509 | 515) => RefusalClass::Authentication,
            (7, 28) => RefusalClass::RateLimited,
            (7, 650) if self.is_transient => RefusalClass::RateLimited,
            (7, 511 | 600..=699 | 708) => RefusalClass::Blocked,
            (7, 0) if self.is_transient => RefusalClass::RateLimited,
            (7, 0) if self.code == 552 => RefusalClass::Content,
            _ => return None,
        })
    }

    /// What is left when neither the enhanced code nor the words mean anything.
    fn by_code(&self) -> RefusalClass {
        match (self.code, self.phase) {
            (421, _) => RefusalClass::RateLimited,
            // Subject 3 is the whole system, not the mailbox.
            (452, SmtpPhase::Rcpt) if !matches!(self.detail, Some((3, _))) => RefusalClass::MailboxFull,
            (500..=504, _) => RefusalClass::Protocol,
            // RFC 5321 §4.2.3: exceeded storage allocation. Of the mailbox at RCPT, by the message later.
            (552, SmtpPhase::Rcpt) => RefusalClass::MailboxFull,
            (552, _) => RefusalClass::TooLarge,
            (554, SmtpPhase::Greeting) => RefusalClass::Blocked,
            _ if self.is_transient => RefusalClass::Temporary,
            _ => RefusalClass::Unknown,
        }
    }

    fn verdict(&self, finding: Finding) -> Verdict {
        let class = self.in_phase(finding.class);
        let mut verdict = class.verdict();
        if let Some(measure) = finding.measure
            && class == finding.class
        {
            verdict.action = measure.action(class);
        } else if class == RefusalClass::RateLimited && matches!(self.detail, Some((7, 28 | 650))) {
            verdict.action = Action::ThrottleSite { pace: TRICKLE };
        }
        if self.is_transient {
            verdict = soften(verdict);
        } else if self.phase == SmtpPhase::Auth {
            // A smarthost that does not know us takes no message at all until someone corrects the credentials.
            let (pace, delist) = (TRICKLE, None);
            verdict.action = Action::HoldSite { pace, delist };
        }
        verdict
    }

    /// What a class comes to in this phase.
    fn in_phase(&self, class: RefusalClass) -> RefusalClass {
        let about_site = if self.is_transient { RefusalClass::Temporary } else { RefusalClass::SiteRefused };
        match self.phase {
            SmtpPhase::Precheck | SmtpPhase::Rcpt | SmtpPhase::Data | SmtpPhase::Body => class,
            // Nothing about a message has been said yet.
            SmtpPhase::Connect | SmtpPhase::Greeting | SmtpPhase::Ehlo | SmtpPhase::StartTls | SmtpPhase::Auth => {
                match class {
                    RefusalClass::Blocked | RefusalClass::RateLimited | RefusalClass::Greylisted => class,
                    _ => about_site,
                }
            }
            // The sender and the size have been named, no recipient.
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

/// Whether a class says when to try again, more than why.
fn is_about_time(class: RefusalClass) -> bool {
    matches!(
        class,
        RefusalClass::Blocked | RefusalClass::Greylisted | RefusalClass::RateLimited | RefusalClass::MailboxFull
    )
}

/// A 4xx is tried again, whatever its class.
fn soften(verdict: Verdict) -> Verdict {
    let action = match verdict.action {
        Action::Bounce { .. } | Action::Fail { .. } | Action::RetryWithoutPipelining => Action::Retry,
        action => action,
    };
    let subtype = match verdict.kind {
        BounceKind::Transient => verdict.subtype,
        BounceKind::Permanent | BounceKind::Undetermined => "General",
    };
    Verdict { class: verdict.class, kind: BounceKind::Transient, subtype, action }
}

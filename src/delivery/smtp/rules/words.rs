//! Rules for all hosts about the time, the message and the recipient.

use super::{ReplyRule, any_host};
use crate::delivery::smtp::classify::RefusalClass;

/// Texts of greylisting.
pub(super) static GREYLISTING: &[ReplyRule] = &[any_host(
    RefusalClass::Greylisted,
    &["greylist", "graylist", "grey-list", "gray-list", "grey list", "gray list", "first attempt from this"],
)];

/// Texts that ask for a later attempt.
pub(super) static TIMING: &[ReplyRule] = &[
    any_host(
        RefusalClass::RateLimited,
        &[
            "rate limit",
            "rate-limit",
            "ratelimit",
            "throttl",
            "too many connections",
            "too many concurrent",
            "too many messages",
            "too many sessions",
            "too much mail",
            "too fast",
            "connection limit",
            "concurrent connections",
            "sending limit exceeded",
            "frequency limited",
        ],
    ),
    any_host(
        RefusalClass::MailboxFull,
        &[
            "over quota",
            "overquota",
            "quota exceeded",
            "exceeded quota",
            "exceeds quota",
            "exceeded its quota",
            "storage quota",
            "mailbox quota",
            "exceeded storage",
            "mailbox full",
            "mailbox is full",
            "inbox is full",
            "mailbox size limit",
            "out of storage space",
        ],
    ),
];

/// Texts about the message.
pub(super) static WORDS: &[ReplyRule] = &[
    any_host(RefusalClass::Attachment, &["attachment", "file type", "executable content"]),
    any_host(
        RefusalClass::Content,
        &[
            "virus",
            "malware",
            "phish",
            "spam",
            "junk mail",
            "unsolicited",
            "message content",
            "content reject",
            "content filter",
            "content policy",
            "content denied",
            "due to content",
            "bulk mail",
            "bad url",
            "bad link",
        ],
    ),
    any_host(
        RefusalClass::TooLarge,
        &[
            "message too large",
            "message too big",
            "message is too large",
            "message is too big",
            "message size exceeds",
            "exceeds size limit",
            "exceeds maximum size",
            "maximum message size",
            "message file too big",
            "message exceeds",
            "size limit exceeded",
        ],
    ),
];

/// Texts that name the domain or the mailbox of the recipient as unknown. They are searched last.
pub(super) static RECIPIENT: &[ReplyRule] = &[
    any_host(
        RefusalClass::BadDomain,
        &["no such domain", "domain does not exist", "domain not found", "unknown domain"],
    ),
    any_host(
        RefusalClass::BadMailbox,
        &[
            "user unknown",
            "unknown user",
            "no such user",
            "no such mailbox",
            "no such recipient",
            "no such address",
            "no such account",
            "no such person",
            "does not exist",
            "doesn't exist",
            "user not found",
            "mailbox not found",
            "recipient not found",
            "address not found",
            "unknown recipient",
            "recipient unknown",
            "unknown mailbox",
            "mailbox unknown",
            "address unknown",
            "unknown local part",
            "unknown address",
            "invalid recipient",
            "invalid mailbox",
            "not a valid mailbox",
            "not a valid recipient",
            "not a known user",
            "mailbox unavailable",
            "mailbox disabled",
            "mailbox is disabled",
            "account disabled",
            "account is disabled",
            "account has been disabled",
            "no mailbox here",
            "unrouteable address",
            "user doesn't have",
            "address no longer valid",
            "address is no longer valid",
            "mailbox is no longer valid",
            "account is no longer valid",
            "invalid user",
            "user is unknown",
            "not our customer",
            "unknown or illegal alias",
        ],
    ),
];

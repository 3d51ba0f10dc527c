//! Rules for all hosts about the sender: its DNS records, its address, blocklists and policies.

use super::{PERMANENT, ReplyRule, SPAMHAUS_DELIST, any_host, trickle};
use crate::delivery::smtp::classify::RefusalClass;

/// Texts that name the sender's DNS records, its domain or a blocklist. They win over every word about the message or the
/// recipient.
pub(super) static SENDER: &[ReplyRule] = &[
    // The reverse DNS of the source address. The operator can correct it, so the mail is held.
    any_host(
        RefusalClass::Blocked,
        &[" ptr", "ptr record", "ptr-record", "reverse dns", "reverse-dns", "rdns", "reverse lookup"],
    ),
    // Postfix: a 450 can have the cause that a name server did not respond.
    any_host(RefusalClass::Blocked, &["find your hostname", "find your reverse hostname"]).with_codes(PERMANENT),
    any_host(
        RefusalClass::Authentication,
        &[
            "domain of sender",
            "sender domain",
            "sender's domain",
            "sender address",
            "sender rejected",
            "sender verify",
            "sender verification",
            "sender has no",
            "sender is rejected",
            "envelope sender",
            "invalid sender",
            "sender invalid",
            "unknown sender",
            "mx or a/aaaa",
            "dns check failed",
            "badmailfrom",
            "dmarc",
            "spf check",
            "spf fail",
            "spf policy",
            "spf validation",
            "spf record",
            "not authorized to send",
            "not allowed to send from",
            "unauthenticated email",
            "unauthenticated mail",
            "dkim signature",
            "does not pass authentication",
        ],
    ),
    any_host(RefusalClass::Blocked, &["spamhaus"]).with_limit(trickle(Some(SPAMHAUS_DELIST))),
    any_host(
        RefusalClass::Blocked,
        &[
            "blocklist",
            "blacklist",
            "block list",
            "black list",
            "block-list",
            "denylist",
            "blocked using",
            "spamcop",
            "barracudacentral",
            "barracudanetworks",
            "ipcheck.proofpoint",
            "sorbs",
            "dnsbl",
            "rbldns",
            "in an rbl",
            "uceprotect",
            "bad reputation",
            "poor reputation",
            "low reputation",
            "ip reputation",
            "your ip has been",
            "your ip address has been",
            "ip address is block",
            "ip in black",
            "ip is rejected",
            "access from ip address",
            "traffic not accepted from this ip",
        ],
    ),
];

/// Texts about the reputation of this server beside 421 4.7.0, a code that many servers also use for ordinary limits. With
/// 421, the server closes the connection, so that the reply is about the client.
pub(super) static REPUTATION: &[ReplyRule] = &[
    // An ordinary limit, whatever else the reply names.
    closing(
        RefusalClass::RateLimited,
        &[
            "too many connections",
            "too many concurrent",
            "too many sessions",
            "concurrent connections",
            "connection limit",
        ],
    ),
    closing(
        RefusalClass::RateLimited,
        &[
            "temporarily rate limited",
            "temporarily rate-limited",
            "unsolicited",
            "suspicious",
            "not yet authorized",
            "not yet authorised",
            "unexpected volume",
            "user complaints",
        ],
    )
    .with_limit(trickle(None)),
    closing(
        RefusalClass::Blocked,
        &[
            "blocked",
            "banned",
            "reputation of",
            "due to reputation",
            "your reputation",
            "sender reputation",
            "domain reputation",
        ],
    )
    .with_limit(trickle(None)),
];

/// Returns a rule for 421 4.7.0.
const fn closing(class: RefusalClass, texts: &'static [&'static str]) -> ReplyRule {
    any_host(class, texts).with_codes((421, 421)).with_details(&[(7, 0)])
}

/// Texts that give a cause other than the recipient, and are too common to decide without a code that blames the
/// recipient.
pub(super) static POLICY: &[ReplyRule] = &[any_host(
    RefusalClass::Policy,
    &[
        "policy",
        "policies",
        "sender",
        "return-path",
        "return path",
        "from address",
        "mail from",
        "spammer",
        " rbl",
        " zen ",
        "our list",
        "is listed",
        "are listed",
        "been listed",
        " ip ",
        " ips ",
        " dns",
        "access denied",
        "relaying denied",
        "relay access",
        "relay denied",
        "unable to relay",
        "not permitted",
        "prohibited",
        "not authorized",
        "not authorised",
        "unauthorized",
        "not allowed",
        "reputation",
        "your ip",
        "sending ip",
        "client ip",
        "ip address",
        "client host",
        "your host",
        "your server",
        "your mail server",
        "your domain",
        "helo command",
        "invalid helo",
        "your message was blocked",
        "message blocked",
        "you are blocked",
        "blocked by",
        "blocked for",
        "blocked due",
    ],
)];

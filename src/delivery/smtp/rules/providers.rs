//! Rules for single providers.

use super::{PERMANENT, ReplyRule, SPAMHAUS_DELIST, SiteLimit, TRANSIENT, any_host, for_hosts, trickle};
use crate::delivery::smtp::classify::{RefusalClass, SiteThrottle};

const MICROSOFT: &[&str] = &["outlook.com", "hotmail.com"];
const GOOGLE: &[&str] = &["google.com", "googlemail.com"];
const YAHOO: &[&str] = &["yahoodns.net"];
const NETEASE: &[&str] = &["netease.com", "163.com", "126.com"];

const MICROSOFT_CONSUMER_DELIST: &str = "https://sendersupport.olc.protection.outlook.com/pm/";
const MICROSOFT_OFFICE_DELIST: &str = "https://sender.office.com/";
const GOOGLE_DELIST: &str = "https://support.google.com/mail/contact/gmail_bulk_sender_escalation";
const YAHOO_DELIST: &str = "https://senders.yahooinc.com/contact";

/// Rules for replies whose text contradicts their codes or is more specific.
pub(super) static PROVIDERS: &[ReplyRule] = &[
    // Microsoft.
    any_host(RefusalClass::Blocked, &["(s3140)", "(s3150)", "(s31"])
        .with_limit(trickle(Some(MICROSOFT_CONSUMER_DELIST))),
    any_host(RefusalClass::Blocked, &["banned sending ip", "delist.messaging.microsoft.com", "sender.office.com"])
        .with_codes(PERMANENT)
        .with_limit(trickle(Some(MICROSOFT_OFFICE_DELIST))),
    // Codes of the consumer service for blocked addresses and networks.
    for_hosts(
        MICROSOFT,
        RefusalClass::Blocked,
        &["sc-001", "sc-002", "sc-003", "sc-004", "dy-001", "dy-002", "ou-001", "ou-002"],
    )
    .with_codes(PERMANENT)
    .with_limit(trickle(Some(MICROSOFT_CONSUMER_DELIST))),
    // For a missing mailbox, the consumer service sends a code that means a wrong command.
    for_hosts(MICROSOFT, RefusalClass::BadMailbox, &["mailbox unavailable"])
        .with_codes((550, 550))
        .with_details(&[(5, 0)]),
    for_hosts(MICROSOFT, RefusalClass::BadMailbox, &["recipientnotfound", "recipient not found"])
        .with_codes((550, 550))
        .with_details(&[(1, 10)]),
    // Directory-based blocking at the edge of a tenant: the recipient is not in the directory.
    for_hosts(MICROSOFT, RefusalClass::BadMailbox, &["recipient address rejected: access denied"])
        .with_codes((550, 550))
        .with_details(&[(4, 1)]),
    for_hosts(MICROSOFT, RefusalClass::RateLimited, &["server busy"]).with_codes(TRANSIENT).with_details(&[(7, 500)]),
    // Yahoo and AOL. TSS04, also written TS04, follows complaints: sending must stop.
    any_host(RefusalClass::Blocked, &["tss04", "[ts04]"])
        .with_limit(SiteLimit { throttle: SiteThrottle::Stop { minutes: 120 }, delist: Some(YAHOO_DELIST) }),
    any_host(RefusalClass::Blocked, &["[ts03]", "will be permanently deferred"])
        .with_limit(trickle(Some(YAHOO_DELIST))),
    any_host(RefusalClass::RateLimited, &["[tss", "[ts01]", "[ts02]", "[iptss", "[ipts"]).with_limit(trickle(None)),
    for_hosts(YAHOO, RefusalClass::Blocked, &["[bl2", "listed on spamhaus", "ip addresses on spamhaus"])
        .with_limit(trickle(Some(SPAMHAUS_DELIST))),
    // Codes of AOL for blocked addresses, some with the enhanced code of a disabled mailbox.
    any_host(RefusalClass::Blocked, &["(con:b", "(rtr:", "(dyn:", "(rly:"]).with_limit(trickle(Some(YAHOO_DELIST))),
    for_hosts(
        YAHOO,
        RefusalClass::BadMailbox,
        &["mailbox not found", "this user doesn't have a", "this mailbox is disabled", "not a valid mailbox"],
    )
    .with_codes((552, 554)),
    for_hosts(YAHOO, RefusalClass::Content, &["for policy reasons", "[ph01]"]).with_codes(PERMANENT),
    // Google. For a mailbox that receives too much mail, it sends 5.2.1, the code of a disabled mailbox.
    for_hosts(GOOGLE, RefusalClass::Temporary, &["receiving mail at a rate", "receiving mail too quickly"])
        .with_details(&[(2, 1)]),
    any_host(RefusalClass::Blocked, &["very low reputation of the sending ip", "low reputation of the sending domain"])
        .with_limit(trickle(Some(GOOGLE_DELIST))),
    any_host(RefusalClass::RateLimited, &["unusual rate of unsolicited mail"])
        .with_codes(TRANSIENT)
        .with_limit(trickle(None)),
    any_host(RefusalClass::Attachment, &["potential security issue"]).with_codes(PERMANENT),
    any_host(RefusalClass::Content, &["likely unsolicited mail", "likely suspicious"]).with_codes(PERMANENT),
    for_hosts(GOOGLE, RefusalClass::RateLimited, &["sending limit", "sending quota"])
        .with_codes(PERMANENT)
        .with_details(&[(4, 5)]),
    // NetEase (163.com, 126.com): codes in the text, without enhanced codes.
    for_hosts(NETEASE, RefusalClass::Blocked, &["hl:rep", "hl:ifc", "hl:ipb", "dt:rbl"]).with_limit(trickle(None)),
    for_hosts(
        NETEASE,
        RefusalClass::RateLimited,
        &[
            "hl:icc", "mi:cel", "mi:dmc", "mi:ccl", "mi:sfq", "mi:stc", "rp:cel", "rp:drc", "rp:ccl", "rp:qrc",
            "rp:frl", "rp:rcl", "rp:trc",
        ],
    ),
    for_hosts(NETEASE, RefusalClass::Authentication, &["mi:spf", "mi:dma"]).with_codes(PERMANENT),
    for_hosts(NETEASE, RefusalClass::Content, &["dt:spm"]).with_codes(PERMANENT),
    // Cisco: a rate limit with the words of the next rule.
    any_host(RefusalClass::RateLimited, &["too many recipients received"]),
    // Too many recipients, also as a 5xx with another enhanced code.
    any_host(RefusalClass::TooManyRecipients, &["too many recipients", "too many rcpt"]),
    // Amazon SES as a smarthost.
    for_hosts(&["amazonaws.com"], RefusalClass::Authentication, &["email address is not verified"])
        .with_codes(PERMANENT),
    for_hosts(
        &["amazonaws.com"],
        RefusalClass::RateLimited,
        &["maximum sending rate exceeded", "daily message quota exceeded"],
    ),
];

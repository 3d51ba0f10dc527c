//! Rules for single providers.

use super::{ANY, PERMANENT, ReplyRule, SPAMHAUS_DELIST, SiteLimit, TRANSIENT, trickle};
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
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["(s3140)", "(s3150)", "(s31"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(MICROSOFT_CONSUMER_DELIST)),
    },
    ReplyRule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["banned sending ip", "delist.messaging.microsoft.com", "sender.office.com"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(MICROSOFT_OFFICE_DELIST)),
    },
    // Codes of the consumer service for blocked addresses and networks.
    ReplyRule {
        hosts: MICROSOFT,
        codes: PERMANENT,
        details: &[],
        texts: &["sc-001", "sc-002", "sc-003", "sc-004", "dy-001", "dy-002", "ou-001", "ou-002"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(MICROSOFT_CONSUMER_DELIST)),
    },
    // For a missing mailbox, the consumer service sends a code that means a wrong command.
    ReplyRule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(5, 0)],
        texts: &["mailbox unavailable"],
        class: RefusalClass::BadMailbox,
        limit: None,
    },
    ReplyRule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(1, 10)],
        texts: &["recipientnotfound", "recipient not found"],
        class: RefusalClass::BadMailbox,
        limit: None,
    },
    // Directory-based blocking at the edge of a tenant: the recipient is not in the directory.
    ReplyRule {
        hosts: MICROSOFT,
        codes: (550, 550),
        details: &[(4, 1)],
        texts: &["recipient address rejected: access denied"],
        class: RefusalClass::BadMailbox,
        limit: None,
    },
    ReplyRule {
        hosts: MICROSOFT,
        codes: TRANSIENT,
        details: &[(7, 500)],
        texts: &["server busy"],
        class: RefusalClass::RateLimited,
        limit: None,
    },
    // Yahoo and AOL. TSS04, also written TS04, follows complaints: sending must stop.
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["tss04", "[ts04]"],
        class: RefusalClass::Blocked,
        limit: Some(SiteLimit { throttle: SiteThrottle::Stop { minutes: 120 }, delist: Some(YAHOO_DELIST) }),
    },
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["[ts03]", "will be permanently deferred"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(YAHOO_DELIST)),
    },
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["[tss", "[ts01]", "[ts02]", "[iptss", "[ipts"],
        class: RefusalClass::RateLimited,
        limit: trickle(None),
    },
    ReplyRule {
        hosts: YAHOO,
        codes: ANY,
        details: &[],
        texts: &["[bl2", "listed on spamhaus", "ip addresses on spamhaus"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(SPAMHAUS_DELIST)),
    },
    // Codes of AOL for blocked addresses, some with the enhanced code of a disabled mailbox.
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["(con:b", "(rtr:", "(dyn:", "(rly:"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(YAHOO_DELIST)),
    },
    ReplyRule {
        hosts: YAHOO,
        codes: (552, 554),
        details: &[],
        texts: &["mailbox not found", "this user doesn't have a", "this mailbox is disabled", "not a valid mailbox"],
        class: RefusalClass::BadMailbox,
        limit: None,
    },
    ReplyRule {
        hosts: YAHOO,
        codes: PERMANENT,
        details: &[],
        texts: &["for policy reasons", "[ph01]"],
        class: RefusalClass::Content,
        limit: None,
    },
    // Google. For a mailbox that receives too much mail, it sends 5.2.1, the code of a disabled mailbox.
    ReplyRule {
        hosts: GOOGLE,
        codes: ANY,
        details: &[(2, 1)],
        texts: &["receiving mail at a rate", "receiving mail too quickly"],
        class: RefusalClass::Temporary,
        limit: None,
    },
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["very low reputation of the sending ip", "low reputation of the sending domain"],
        class: RefusalClass::Blocked,
        limit: trickle(Some(GOOGLE_DELIST)),
    },
    ReplyRule {
        hosts: &[],
        codes: TRANSIENT,
        details: &[],
        texts: &["unusual rate of unsolicited mail"],
        class: RefusalClass::RateLimited,
        limit: trickle(None),
    },
    ReplyRule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["potential security issue"],
        class: RefusalClass::Attachment,
        limit: None,
    },
    ReplyRule {
        hosts: &[],
        codes: PERMANENT,
        details: &[],
        texts: &["likely unsolicited mail", "likely suspicious"],
        class: RefusalClass::Content,
        limit: None,
    },
    ReplyRule {
        hosts: GOOGLE,
        codes: PERMANENT,
        details: &[(4, 5)],
        texts: &["sending limit", "sending quota"],
        class: RefusalClass::RateLimited,
        limit: None,
    },
    // NetEase (163.com, 126.com): codes in the text, without enhanced codes.
    ReplyRule {
        hosts: NETEASE,
        codes: ANY,
        details: &[],
        texts: &["hl:rep", "hl:ifc", "hl:ipb", "dt:rbl"],
        class: RefusalClass::Blocked,
        limit: trickle(None),
    },
    ReplyRule {
        hosts: NETEASE,
        codes: ANY,
        details: &[],
        texts: &[
            "hl:icc", "mi:cel", "mi:dmc", "mi:ccl", "mi:sfq", "mi:stc", "rp:cel", "rp:drc", "rp:ccl", "rp:qrc",
            "rp:frl", "rp:rcl", "rp:trc",
        ],
        class: RefusalClass::RateLimited,
        limit: None,
    },
    ReplyRule {
        hosts: NETEASE,
        codes: PERMANENT,
        details: &[],
        texts: &["mi:spf", "mi:dma"],
        class: RefusalClass::Authentication,
        limit: None,
    },
    ReplyRule {
        hosts: NETEASE,
        codes: PERMANENT,
        details: &[],
        texts: &["dt:spm"],
        class: RefusalClass::Content,
        limit: None,
    },
    // Cisco: a rate limit with the words of the next rule.
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["too many recipients received"],
        class: RefusalClass::RateLimited,
        limit: None,
    },
    // Too many recipients, also as a 5xx with another enhanced code.
    ReplyRule {
        hosts: &[],
        codes: ANY,
        details: &[],
        texts: &["too many recipients", "too many rcpt"],
        class: RefusalClass::TooManyRecipients,
        limit: None,
    },
    // Amazon SES as a smarthost.
    ReplyRule {
        hosts: &["amazonaws.com"],
        codes: PERMANENT,
        details: &[],
        texts: &["email address is not verified"],
        class: RefusalClass::Authentication,
        limit: None,
    },
    ReplyRule {
        hosts: &["amazonaws.com"],
        codes: ANY,
        details: &[],
        texts: &["maximum sending rate exceeded", "daily message quota exceeded"],
        class: RefusalClass::RateLimited,
        limit: None,
    },
];

//! The checks of an email, their weights, and the score. Pure.

use serde::{Deserialize, Serialize};

use crate::base::words::words;

/// Version of the checks and their weights.
pub const SCORE_VERSION: u8 = 1;
/// Score without a failing check, in hundredths of a point.
const SCORE_MAX_HUNDREDTHS: u32 = 1_000;
/// Most that the failing minor checks subtract together, in hundredths of a point.
const MINOR_MAX_HUNDREDTHS: u32 = 150;

words! {
    /// Severity of a check.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum InsightSeverity {
        Critical = "critical",
        Major = "major",
        Minor = "minor",
        /// Without an effect on the score.
        Info = "info",
    }
}

words! {
    /// A check. Its position in [`InsightCheck::ALL`] is stored and never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
    pub enum InsightCheck {
        DmarcRecord = "dmarc_record",
        AuthAlignment = "auth_alignment",
        ListUnsubscribe = "list_unsubscribe",
        LinkDomainsMatch = "link_domains_match",
        NoShorteners = "no_shorteners",
        BodySize = "body_size",
        PlainText = "plain_text",
        VisibleUnsubscribe = "visible_unsubscribe",
        PhishingLinks = "phishing_links",
        NoReplyFrom = "no_reply_from",
        SvgImages = "svg_images",
        AttachmentsMarketing = "attachments_marketing",
        ImageTextRatio = "image_text_ratio",
        TrackingUnbranded = "tracking_unbranded",
        RootDomainSend = "root_domain_send",
        InsecureLinks = "insecure_links",
        SubjectLint = "subject_lint",
        ImageAltText = "image_alt_text",
        ImagesOffsite = "images_offsite",
        BimiReady = "bimi_ready",
        ReplyToPresent = "reply_to_present",
    } with ALL
}

impl InsightCheck {
    /// Returns the stored number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns the check with a stored number; `None` if a later version wrote it.
    pub fn of_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// Returns the severity.
    pub const fn severity(self) -> InsightSeverity {
        match self {
            Self::DmarcRecord | Self::AuthAlignment => InsightSeverity::Critical,
            Self::ListUnsubscribe
            | Self::LinkDomainsMatch
            | Self::NoShorteners
            | Self::BodySize
            | Self::PlainText
            | Self::VisibleUnsubscribe
            | Self::PhishingLinks => InsightSeverity::Major,
            Self::NoReplyFrom
            | Self::SvgImages
            | Self::AttachmentsMarketing
            | Self::ImageTextRatio
            | Self::TrackingUnbranded
            | Self::RootDomainSend
            | Self::InsecureLinks
            | Self::SubjectLint => InsightSeverity::Minor,
            Self::ImageAltText | Self::ImagesOffsite | Self::BimiReady | Self::ReplyToPresent => InsightSeverity::Info,
        }
    }

    /// Returns the part of the score that the check subtracts if it fails, in hundredths of a point.
    pub const fn weight_hundredths(self) -> u32 {
        match self {
            Self::DmarcRecord | Self::AuthAlignment => 350,
            Self::ListUnsubscribe => 150,
            Self::LinkDomainsMatch | Self::NoShorteners => 125,
            Self::BodySize | Self::PlainText | Self::VisibleUnsubscribe | Self::PhishingLinks => 100,
            Self::NoReplyFrom | Self::SvgImages | Self::AttachmentsMarketing => 50,
            Self::ImageTextRatio | Self::TrackingUnbranded => 40,
            Self::RootDomainSend | Self::InsecureLinks | Self::SubjectLint => 25,
            Self::ImageAltText | Self::ImagesOffsite | Self::BimiReady | Self::ReplyToPresent => 0,
        }
    }

    /// Returns whether the result depends on the whole HTML part.
    pub(super) const fn needs_all_html(self) -> bool {
        matches!(
            self,
            Self::LinkDomainsMatch
                | Self::NoShorteners
                | Self::VisibleUnsubscribe
                | Self::PhishingLinks
                | Self::SvgImages
                | Self::ImageTextRatio
                | Self::InsecureLinks
                | Self::ImageAltText
                | Self::ImagesOffsite
        )
    }
}

words! {
    /// Result of a check. The position in [`InsightStatus::ALL`] is stored and never changes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum InsightStatus {
        Pass = "pass",
        Fail = "fail",
        /// The server itself makes sure that the check cannot fail.
        PassedByDesign = "passed_by_design",
        /// The email has nothing that the check looks at.
        NotApplicable = "not_applicable",
        /// The facts are missing.
        Unknown = "unknown",
    } with ALL
}

impl InsightStatus {
    /// Returns the stored number.
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// Returns [`InsightStatus::Fail`] if `fails`, else [`InsightStatus::Pass`].
    pub(super) const fn failing_if(fails: bool) -> Self {
        if fails { Self::Fail } else { Self::Pass }
    }
}

/// Facts behind a result: hosts, counts, sizes and booleans only, because they are stored longer than the content.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InsightDetail {
    /// Hosts that the check names, each once.
    #[serde(rename = "h", default, skip_serializing_if = "Vec::is_empty")]
    pub hosts: Vec<String>,
    /// Number of links, images or attachments that the check looks at.
    #[serde(rename = "n", default, skip_serializing_if = "Option::is_none")]
    pub count: Option<u32>,
    /// Number of them that fail.
    #[serde(rename = "f", default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<u32>,
    /// Size of the HTML part.
    #[serde(rename = "b", default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// Number of visible characters, or of letters of the subject.
    #[serde(rename = "c", default, skip_serializing_if = "Option::is_none")]
    pub characters: Option<u32>,
    /// Number of capital letters of the subject.
    #[serde(rename = "u", default, skip_serializing_if = "Option::is_none")]
    pub capitals: Option<u32>,
    /// Age of the last lookup, in hours.
    #[serde(rename = "a", default, skip_serializing_if = "Option::is_none")]
    pub hours: Option<u32>,
    /// Whether the email has `List-Unsubscribe`.
    #[serde(rename = "l", default, skip_serializing_if = "Option::is_none")]
    pub list_unsubscribe: Option<bool>,
    /// Whether the email has `List-Unsubscribe-Post`.
    #[serde(rename = "o", default, skip_serializing_if = "Option::is_none")]
    pub one_click: Option<bool>,
    /// Whether each link is hidden.
    #[serde(rename = "i", default, skip_serializing_if = "Option::is_none")]
    pub hidden: Option<bool>,
    /// Whether each visible link is behind the end of the part that Gmail shows.
    #[serde(rename = "p", default, skip_serializing_if = "Option::is_none")]
    pub clipped: Option<bool>,
    /// Whether opens or clicks are tracked.
    #[serde(rename = "t", default, skip_serializing_if = "Option::is_none")]
    pub tracked: Option<bool>,
    /// Whether the tracking host is a name of the sender's domain.
    #[serde(rename = "w", default, skip_serializing_if = "Option::is_none")]
    pub own_host: Option<bool>,
}

/// Result of one check of an email.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsightResult {
    pub check: InsightCheck,
    pub status: InsightStatus,
    pub detail: InsightDetail,
}

/// Parts of an email, or of a broadcast before the values of a recipient, and the facts of its sender's domain.
#[derive(Clone, Copy, Debug)]
pub struct InsightInput<'e> {
    pub html: Option<&'e str>,
    pub text: Option<&'e str>,
    pub subject: &'e str,
    /// Local part of the sender's address; empty if the address cannot be read.
    pub from_local: &'e str,
    pub has_reply_to: bool,
    /// Custom headers: names and values.
    pub headers: &'e [(String, String)],
    /// Number of attachments.
    pub attachments: usize,
    pub kind: InsightKind,
    /// Whether header fields that the server generates have one-click unsubscribe.
    pub has_one_click: bool,
    /// Host of the links that the server makes; `None` if it has no name, or recipients cannot open the links.
    pub public_host: Option<&'e str>,
    pub domain: &'e SenderFacts,
}

/// Kind of a checked message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InsightKind {
    /// An email of the API without a topic.
    Plain,
    /// An email of the API under a topic.
    Topic,
    Broadcast,
}

/// Facts of the sender's domain when the email was checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SenderFacts {
    /// Name in lower-case A-labels.
    pub name: String,
    /// Parent domain that publishes the DMARC policy: the organizational domain.
    pub organization: Option<String>,
    pub dmarc: DmarcFacts,
    pub tracks_opens: bool,
    pub tracks_clicks: bool,
    /// Whether the tracking host of the domain is set and its record was found.
    pub has_tracking_host: bool,
}

/// DMARC policy of the sender's domain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DmarcFacts {
    /// There was no lookup in the last day.
    Unknown,
    /// No policy was found, this number of hours ago.
    Missing { hours: u32 },
    /// A policy was found, this number of hours ago. `is_enforced`: quarantine or reject.
    Published { hours: u32, is_enforced: bool },
}

/// Returns the score of an email by its failing checks, in tenths of a point.
pub fn score_tenths(failing: impl IntoIterator<Item = InsightCheck>) -> u8 {
    let (mut minor, mut other) = (0, 0);
    for check in failing {
        let sum = if check.severity() == InsightSeverity::Minor { &mut minor } else { &mut other };
        *sum += check.weight_hundredths();
    }
    let left = SCORE_MAX_HUNDREDTHS.saturating_sub(other + minor.min(MINOR_MAX_HUNDREDTHS));
    u8::try_from((left + 5) / 10).unwrap_or(u8::MAX)
}

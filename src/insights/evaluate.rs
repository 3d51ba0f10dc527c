//! The checks of an email, except those of its links. Pure.

use super::hosts::{is_of_sender, registrable};
use super::html::{self, HtmlReading};
use super::links::{self, LinkFacts};
use super::model::{
    DmarcFacts, InsightCheck, InsightDetail, InsightInput, InsightKind, InsightResult, InsightStatus, SenderFacts,
};
use super::unsubscribe::has_unsubscribe_link;
use crate::broadcasts::check::HTML_BYTES_CLIPPED;
use crate::merge_fields::{self, ValueForm};
use crate::mime::text_from_html;

/// Shortest text part that counts, in characters.
const TEXT_CHARS_MIN: usize = 10;
/// Visible text below which an email with images is only an image, in characters.
const VISIBLE_CHARS_MIN: usize = 100;
/// Letters of a subject below which capitals do not count.
const SUBJECT_LETTERS_MIN: usize = 8;
/// Marks in a row of a subject.
const MARKS_MIN: usize = 3;
/// Words of a no-reply address, without separators, and the maximum number of parts of such a word.
const NO_REPLY_WORDS: [&str; 3] = ["noreply", "donotreply", "dontreply"];
const NO_REPLY_PARTS_MAX: usize = 3;
/// Maximum number of hosts in a detail.
const HOSTS_MAX: usize = 5;

/// An email whose parts have been read.
pub(super) struct ReadEmail<'e> {
    pub(super) input: InsightInput<'e>,
    pub(super) html: HtmlReading,
    pub(super) links: LinkFacts,
    /// Whether the email is a broadcast, has a topic, or has an unsubscribe link.
    pub(super) is_marketing: bool,
}

/// Result of a check with its facts.
pub(super) type InsightOutcome = (InsightStatus, InsightDetail);

/// Checks an email. Returns the result of each check, in their order.
pub fn evaluate(input: InsightInput<'_>) -> Vec<InsightResult> {
    let part = |text: Option<&'_ str>| text.is_some_and(|text| !text.trim().is_empty());
    let has_html = part(input.html);
    let input = InsightInput { html: input.html.filter(|_| has_html), ..input };
    let html = input.html.map_or_else(|| HtmlReading { is_complete: true, ..HtmlReading::default() }, html::read);
    let links = LinkFacts::of(&html, input.domain.tracks_clicks);
    let is_marketing =
        input.kind != InsightKind::Plain || links.unsubscribe.links > 0 || input.text.is_some_and(has_unsubscribe_link);
    let email = ReadEmail { input, html, links, is_marketing };
    let result = |check: InsightCheck| {
        let (mut status, detail) = email.outcome(check);
        let is_certain = status == InsightStatus::Fail || status == InsightStatus::PassedByDesign;
        if check.needs_all_html() && !email.html.is_complete && !is_certain {
            status = InsightStatus::Unknown;
        }
        InsightResult { check, status, detail }
    };
    InsightCheck::ALL.map(result).into()
}

impl ReadEmail<'_> {
    fn outcome(&self, check: InsightCheck) -> InsightOutcome {
        match check {
            InsightCheck::DmarcRecord => dmarc_record(self.input.domain.dmarc),
            // Only a verified domain sends, and the server signs with its keys and uses its return path.
            InsightCheck::AuthAlignment => only(InsightStatus::PassedByDesign),
            InsightCheck::ListUnsubscribe => self.list_unsubscribe(),
            InsightCheck::LinkDomainsMatch => links::link_domains_match(self),
            InsightCheck::NoShorteners => links::no_shorteners(self),
            InsightCheck::BodySize => self.body_size(),
            InsightCheck::PlainText => self.plain_text(),
            InsightCheck::VisibleUnsubscribe => links::visible_unsubscribe(self),
            InsightCheck::PhishingLinks => links::phishing_links(self),
            InsightCheck::NoReplyFrom => self.no_reply_from(),
            InsightCheck::SvgImages => self.svg_images(),
            InsightCheck::AttachmentsMarketing => self.attachments_marketing(),
            InsightCheck::ImageTextRatio => self.image_text_ratio(),
            InsightCheck::TrackingUnbranded => tracking_unbranded(self.input.domain),
            InsightCheck::RootDomainSend => self.root_domain_send(),
            InsightCheck::InsecureLinks => links::insecure_links(self),
            InsightCheck::SubjectLint => self.subject_lint(),
            InsightCheck::ImageAltText => self.image_alt_text(),
            InsightCheck::ImagesOffsite => self.images_offsite(),
            InsightCheck::BimiReady => bimi_ready(self.input.domain.dmarc),
            InsightCheck::ReplyToPresent => only(InsightStatus::failing_if(!self.input.has_reply_to)),
        }
    }

    fn list_unsubscribe(&self) -> InsightOutcome {
        if !self.is_marketing {
            return only(InsightStatus::NotApplicable);
        }
        let has = |name: &str| self.input.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name));
        let has_own = has("List-Unsubscribe");
        let is_generated =
            self.input.kind == InsightKind::Broadcast || (self.input.kind == InsightKind::Topic && !has_own);
        if is_generated && self.input.has_one_click {
            return only(InsightStatus::PassedByDesign);
        }
        let list_unsubscribe = is_generated || has_own;
        let one_click = !is_generated && has("List-Unsubscribe-Post");
        let detail = InsightDetail {
            list_unsubscribe: Some(list_unsubscribe),
            one_click: Some(one_click),
            ..InsightDetail::default()
        };
        (InsightStatus::failing_if(!(list_unsubscribe && one_click)), detail)
    }

    fn body_size(&self) -> InsightOutcome {
        let Some(html) = self.input.html else { return only(InsightStatus::NotApplicable) };
        let bytes = html.len() + self.links.tracking_bytes;
        let detail = InsightDetail { bytes: u64::try_from(bytes).ok(), ..InsightDetail::default() };
        (InsightStatus::failing_if(bytes > HTML_BYTES_CLIPPED), detail)
    }

    fn plain_text(&self) -> InsightOutcome {
        let Some(html) = self.input.html else { return only(InsightStatus::Pass) };
        let is_broadcast = self.input.kind == InsightKind::Broadcast;
        let text = self.input.text.filter(|text| !(is_broadcast && text.is_empty()));
        // A message without a text part of its own gets one that is derived from the HTML part, unless that is empty.
        if text.is_none() && !text_from_html(html).is_empty() {
            return only(InsightStatus::PassedByDesign);
        }
        let characters = text.unwrap_or_default().trim().chars().count();
        let detail = InsightDetail { characters: number(characters), ..InsightDetail::default() };
        (InsightStatus::failing_if(characters < TEXT_CHARS_MIN), detail)
    }

    fn no_reply_from(&self) -> InsightOutcome {
        if !self.is_marketing {
            return only(InsightStatus::NotApplicable);
        }
        only(InsightStatus::failing_if(is_no_reply(self.input.from_local)))
    }

    fn svg_images(&self) -> InsightOutcome {
        if self.html.svgs == 0 && self.html.images == 0 {
            return only(InsightStatus::NotApplicable);
        }
        let detail = InsightDetail {
            count: number(self.html.images),
            failing: number(self.html.svgs),
            ..InsightDetail::default()
        };
        (InsightStatus::failing_if(self.html.svgs > 0), detail)
    }

    fn attachments_marketing(&self) -> InsightOutcome {
        if !self.is_marketing {
            return only(InsightStatus::NotApplicable);
        }
        let attachments = self.input.attachments;
        let detail = InsightDetail { count: number(attachments), ..InsightDetail::default() };
        (InsightStatus::failing_if(attachments > 0), detail)
    }

    fn image_text_ratio(&self) -> InsightOutcome {
        if self.html.images == 0 {
            return only(InsightStatus::NotApplicable);
        }
        let detail = InsightDetail {
            count: number(self.html.images),
            characters: number(self.html.visible_chars),
            ..InsightDetail::default()
        };
        (InsightStatus::failing_if(self.html.visible_chars < VISIBLE_CHARS_MIN), detail)
    }

    fn root_domain_send(&self) -> InsightOutcome {
        if !self.is_marketing {
            return only(InsightStatus::NotApplicable);
        }
        let domain = self.input.domain;
        only(InsightStatus::failing_if(domain.organization.is_none() && registrable(&domain.name) == domain.name))
    }

    fn subject_lint(&self) -> InsightOutcome {
        let subject = match self.input.kind {
            // The names of merge fields are in capitals.
            InsightKind::Broadcast => merge_fields::fill(self.input.subject, ValueForm::Line, |_| None),
            InsightKind::Plain | InsightKind::Topic => self.input.subject.to_owned(),
        };
        let letters = subject.chars().filter(|c| c.is_alphabetic()).count();
        let capitals = subject.chars().filter(|c| c.is_uppercase()).count();
        let has_capitals = letters >= SUBJECT_LETTERS_MIN && capitals * 10 > letters * 6;
        let mut marks = 0;
        let has_marks = subject.chars().any(|c| {
            marks = if matches!(c, '!' | '?') { marks + 1 } else { 0 };
            marks == MARKS_MIN
        });
        let detail =
            InsightDetail { characters: number(letters), capitals: number(capitals), ..InsightDetail::default() };
        (InsightStatus::failing_if(has_capitals || has_marks), detail)
    }

    fn image_alt_text(&self) -> InsightOutcome {
        if self.html.images == 0 {
            return only(InsightStatus::NotApplicable);
        }
        let detail = InsightDetail {
            count: number(self.html.images),
            failing: number(self.html.images_without_alt),
            ..InsightDetail::default()
        };
        (InsightStatus::failing_if(self.html.images_without_alt > 0), detail)
    }

    fn images_offsite(&self) -> InsightOutcome {
        if self.html.images == 0 {
            return only(InsightStatus::NotApplicable);
        }
        let hosts = self.html.image_hosts.iter().map(String::as_str).filter(|host| !self.is_of_sender(host));
        let detail = InsightDetail { hosts: first_hosts(hosts), ..InsightDetail::default() };
        (InsightStatus::failing_if(!detail.hosts.is_empty()), detail)
    }

    /// Returns whether a host belongs to the registered domain of the sender.
    pub(super) fn is_of_sender(&self, host: &str) -> bool {
        is_of_sender(host, &self.input.domain.name, self.input.domain.organization.as_deref())
    }
}

fn dmarc_record(dmarc: DmarcFacts) -> InsightOutcome {
    let detail = |hours| InsightDetail { hours: Some(hours), ..InsightDetail::default() };
    match dmarc {
        DmarcFacts::Unknown => only(InsightStatus::Unknown),
        DmarcFacts::Missing { hours } => (InsightStatus::Fail, detail(hours)),
        DmarcFacts::Published { hours, .. } => (InsightStatus::Pass, detail(hours)),
    }
}

/// Mailbox providers show a logo only for a domain with an enforced policy.
fn bimi_ready(dmarc: DmarcFacts) -> InsightOutcome {
    match dmarc {
        DmarcFacts::Unknown => only(InsightStatus::Unknown),
        DmarcFacts::Missing { .. } => only(InsightStatus::Fail),
        DmarcFacts::Published { is_enforced, .. } => only(InsightStatus::failing_if(!is_enforced)),
    }
}

fn tracking_unbranded(domain: &SenderFacts) -> InsightOutcome {
    if !(domain.tracks_opens || domain.tracks_clicks) {
        return only(InsightStatus::NotApplicable);
    }
    let own_host = domain.has_tracking_host;
    let detail = InsightDetail { tracked: Some(true), own_host: Some(own_host), ..InsightDetail::default() };
    (InsightStatus::failing_if(!own_host), detail)
}

/// Returns whether a local part has a no-reply word, also with separators inside the word.
fn is_no_reply(local: &str) -> bool {
    let local = local.to_ascii_lowercase();
    let parts: Vec<&str> = local.split(|c: char| !c.is_alphabetic()).filter(|part| !part.is_empty()).collect();
    (1..=NO_REPLY_PARTS_MAX)
        .flat_map(|count| parts.windows(count))
        .any(|joined| NO_REPLY_WORDS.contains(&joined.concat().as_str()))
}

/// Returns a result without facts.
pub(super) fn only(status: InsightStatus) -> InsightOutcome {
    (status, InsightDetail::default())
}

/// Returns a count for a detail.
pub(super) fn number(count: usize) -> Option<u32> {
    Some(u32::try_from(count).unwrap_or(u32::MAX))
}

/// Returns the first [`HOSTS_MAX`] different hosts.
pub(super) fn first_hosts<'h>(hosts: impl Iterator<Item = &'h str>) -> Vec<String> {
    let mut first: Vec<String> = Vec::new();
    for host in hosts {
        if first.len() == HOSTS_MAX {
            break;
        }
        if !first.iter().any(|known| known == host) {
            first.push(host.to_owned());
        }
    }
    first
}

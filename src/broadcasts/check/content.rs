//! The findings of the subject and the content. Pure.

use std::collections::{BTreeSet, HashSet};
use std::ops::Range;

use super::findings::FirstFindings;
use super::html_tags;
use super::model::{BroadcastFinding, FindingKind, FindingPart, FindingPlace, HTML_BYTES_CLIPPED, TextPlaces};
use crate::base::printable::printable;
use crate::broadcast_rows::{EMAIL_FIELD, NAME_FIELDS};
use crate::contact_properties::PropertyDefinitions;
use crate::markdown;
use crate::merge_fields::{self, MergeField, Placeholder};

/// Characters of a URL in a sentence.
const URL_CHARS_MAX: usize = 100;

/// Texts of a broadcast, with the properties of its team.
#[derive(Clone, Copy)]
pub(super) struct CheckedTexts<'b> {
    pub(super) subject: &'b str,
    pub(super) preview_text: Option<&'b str>,
    pub(super) html: Option<&'b str>,
    pub(super) text: Option<&'b str>,
    /// Markdown that the HTML and the text are made from.
    pub(super) source: Option<&'b str>,
    pub(super) definitions: &'b PropertyDefinitions,
}

/// A link or an image that can be requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FoundLink {
    pub(super) url: String,
    pub(super) part: FindingPart,
    pub(super) place: FindingPlace,
}

/// Result of [`check`].
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct ContentReport {
    pub(super) findings: FirstFindings,
    /// Each URL once, at its first place.
    pub(super) links: Vec<FoundLink>,
    /// Names of the fields without a fallback.
    pub(super) without_fallback: BTreeSet<String>,
}

/// Checks the subject and the content.
pub(super) fn check(texts: CheckedTexts<'_>) -> ContentReport {
    let CheckedTexts { subject, preview_text, html, text, source, definitions } = texts;
    let mut report = ContentReport::default();
    if subject.trim().is_empty() {
        let finding = BroadcastFinding::new(FindingKind::SubjectEmpty, "The subject is empty.");
        report.findings.push(finding.within(FindingPart::Subject));
    }
    report.fields(FindingPart::Subject, subject, definitions);
    report.fields(FindingPart::PreviewText, preview_text.unwrap_or_default(), definitions);
    let [html, text] = [html, text].map(|part| part.filter(|part| !part.trim().is_empty()));
    if html.is_none() && text.is_none() {
        report.findings.push(BroadcastFinding::new(FindingKind::ContentMissing, "The broadcast has no content."));
        return report;
    }
    match source {
        Some(source) => {
            report.fields(FindingPart::Source, source, definitions);
            report.markdown(source);
        }
        None => {
            report.fields(FindingPart::Html, html.unwrap_or_default(), definitions);
            report.fields(FindingPart::Text, text.unwrap_or_default(), definitions);
            report.html(html.unwrap_or_default());
        }
    }
    let has_link = |part: &str| merge_fields::placeholders(part).any(|(_, it)| it == Placeholder::Unsubscribe);
    if ![html, text].into_iter().flatten().any(has_link) {
        let part = match (source, html) {
            (Some(_), _) => FindingPart::Source,
            (None, Some(_)) => FindingPart::Html,
            (None, None) => FindingPart::Text,
        };
        let message = "The content has no {{{UNSUBSCRIBE_URL}}}. Only the header has an unsubscribe link, which not \
                       every mail client shows.";
        report.findings.push(BroadcastFinding::new(FindingKind::UnsubscribeMissing, message).within(part));
    }
    let html_bytes = html.map_or(0, str::len);
    if html_bytes > HTML_BYTES_CLIPPED {
        let message = format!(
            "The HTML has {html_bytes} bytes. Gmail hides the end of a message above {HTML_BYTES_CLIPPED} bytes, \
             and the unsubscribe link with it."
        );
        let part = if source.is_some() { FindingPart::Source } else { FindingPart::Html };
        report.findings.push(BroadcastFinding::new(FindingKind::Size, message).within(part));
    }
    report
}

impl ContentReport {
    /// Checks the merge fields of a part.
    fn fields(&mut self, part: FindingPart, text: &str, definitions: &PropertyDefinitions) {
        let places = TextPlaces::new(text);
        for (range, placeholder) in merge_fields::placeholders(text) {
            let Placeholder::Field(MergeField { name, fallback }) = placeholder else { continue };
            let is_name = NAME_FIELDS.contains(&name);
            let (kind, message) = if name == EMAIL_FIELD {
                continue;
            } else if !is_name && definitions.spelling(name) != Some(name) {
                (FindingKind::FieldUnknown, unknown_field(name, definitions))
            } else if fallback.is_none() && (is_name || definitions.fallback(name).unwrap_or_default().is_empty()) {
                self.without_fallback.insert(name.to_owned());
                (FindingKind::FallbackMissing, format!("{name} has no fallback."))
            } else {
                continue;
            };
            let finding = BroadcastFinding::new(kind, message).at(part, places.place(&range));
            self.findings.push(BroadcastFinding { name: Some(name.to_owned()), ..finding });
        }
    }

    /// Checks the links and images of a Markdown source.
    fn markdown(&mut self, source: &str) {
        let places = TextPlaces::new(source);
        let mut known = HashSet::new();
        for target in markdown::outline(source) {
            let place = places.place(&target.range);
            let part = FindingPart::Source;
            if target.is_image && target.label.trim().is_empty() {
                self.findings.push(without_alt().at(part, place));
            }
            if target.is_allowed {
                self.link(&mut known, target.url, part, place);
            } else {
                let what = if target.is_image { "an image with https://" } else { "https://, http:// or mailto:" };
                let message = format!("The address `{}` is left out. Use {what}.", shown(&target.url));
                let finding = BroadcastFinding::new(FindingKind::LinkInvalid, message).at(part, place);
                self.findings.push(BroadcastFinding { url: Some(target.url), ..finding });
            }
        }
    }

    /// Checks the links and images of an HTML part.
    fn html(&mut self, html: &str) {
        let places = TextPlaces::new(html);
        let mut known = HashSet::new();
        for target in html_tags::targets(html) {
            let place = places.place(&target.range);
            let part = FindingPart::Html;
            if target.is_image && !target.has_alt {
                self.findings.push(without_alt().at(part, place));
            }
            let Some(url) = target.url else { continue };
            if is_openable(&url, target.is_image) {
                self.link(&mut known, url, part, place);
            } else {
                let message = format!("Mail clients cannot open `{}`. Use an address with https://.", shown(&url));
                let finding = BroadcastFinding::new(FindingKind::LinkInvalid, message).at(part, place);
                self.findings.push(BroadcastFinding { url: Some(url), ..finding });
            }
        }
    }

    /// Adds a URL that can be requested, once.
    fn link(&mut self, known: &mut HashSet<String>, url: String, part: FindingPart, place: FindingPlace) {
        let is_web = has_scheme(&url, "https://") || has_scheme(&url, "http://");
        if is_web && merge_fields::placeholders(&url).next().is_none() && known.insert(url.clone()) {
            self.links.push(FoundLink { url, part, place });
        }
    }
}

fn unknown_field(name: &str, definitions: &PropertyDefinitions) -> String {
    let is_name = NAME_FIELDS.iter().chain(&[EMAIL_FIELD]).find(|known| known.eq_ignore_ascii_case(name));
    match is_name.copied().or_else(|| definitions.spelling(name)) {
        Some(spelling) => format!("There is no field {name}. Do you mean {spelling}?"),
        None => format!("There is no contact property {name}. Contacts without such a value get the fallback."),
    }
}

fn without_alt() -> BroadcastFinding {
    BroadcastFinding::new(
        FindingKind::AltMissing,
        "The image has no alternative text, which is shown while images are off and read aloud.",
    )
}

fn shown(url: &str) -> String {
    printable(url, URL_CHARS_MAX)
}

/// Returns whether a mail client can open a URL of an HTML part. A URL that starts with a placeholder can be any.
fn is_openable(url: &str, is_image: bool) -> bool {
    if merge_fields::placeholders(url).next().is_some_and(|(Range { start, .. }, _)| start == 0) {
        return true;
    }
    let schemes: &[&str] = if is_image {
        &["https://", "http://", "cid:", "data:image/"]
    } else {
        &["https://", "http://", "mailto:", "tel:", "sms:", "#"]
    };
    schemes.iter().any(|scheme| has_scheme(url, scheme))
}

fn has_scheme(url: &str, scheme: &str) -> bool {
    url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact_properties::{PropertyDefinition, PropertyKind};

    fn definitions() -> PropertyDefinitions {
        let string = |fallback: Option<&str>| PropertyDefinition {
            kind: PropertyKind::String,
            fallback: fallback.map(str::to_owned),
        };
        [("company", string(None)), ("plan", string(Some("free")))]
            .map(|(key, it)| (key.to_owned(), it))
            .into_iter()
            .collect()
    }

    /// Returns each finding as `kind part@at+length:line name`, in the order of a response.
    fn found(texts: impl FnOnce(CheckedTexts<'_>) -> ContentReport) -> Vec<String> {
        let definitions = definitions();
        let texts_of = CheckedTexts {
            subject: "Hi",
            preview_text: None,
            html: None,
            text: None,
            source: None,
            definitions: &definitions,
        };
        let describe = |finding: BroadcastFinding| {
            let part = finding.part.map(|part| format!(" {}", part.as_str())).unwrap_or_default();
            let place = finding.place.map(|it| format!("@{}+{}:{}", it.at, it.length, it.line)).unwrap_or_default();
            let detail = finding.name.or(finding.url).map(|it| format!(" {it}")).unwrap_or_default();
            format!("{}{part}{place}{detail}", finding.kind.as_str())
        };
        texts(texts_of).findings.into_ordered().into_iter().map(describe).collect()
    }

    #[test]
    fn each_defect_of_a_part_is_found_at_its_place() {
        let link = "{{{UNSUBSCRIBE_URL}}}";
        for (html, expected) in [
            (String::new(), vec!["content_missing"]),
            ("<p>Hi".into(), vec!["unsubscribe_missing html"]),
            (format!("{link}{{{{{{EMAIL}}}}}} {{{{{{plan}}}}}} {{{{{{company|us}}}}}} {{{{{{LAST_NAME|}}}}}}"), vec![]),
            (format!("{link}\né{{{{{{FIRST_NAME}}}}}}"), vec!["fallback_missing html@23+16:2 FIRST_NAME"]),
            (format!("{{{{{{company}}}}}}{link}"), vec!["fallback_missing html@0+13:1 company"]),
            (format!("{link}{{{{{{Company|x}}}}}}"), vec!["field_unknown html@21+15:1 Company"]),
            (format!("{link}{{{{{{age|x}}}}}}"), vec!["field_unknown html@21+11:1 age"]),
            (format!("{link}<img src=\"cid:a\">"), vec!["alt_missing html@21+17:1"]),
            (format!("{link}<a href=\"/about\">"), vec!["link_invalid html@21+17:1 /about"]),
            (
                format!("{link}<a href='javascript:x'><a href=#top><a href='{link}'><a href=tel:1>"),
                vec!["link_invalid html@21+23:1 javascript:x"],
            ),
            (format!("{link}{}", "x".repeat(HTML_BYTES_CLIPPED)), vec!["size html"]),
        ] {
            assert_eq!(found(|texts| check(CheckedTexts { html: Some(&html), ..texts })), expected, "{html:.100}");
        }
    }

    #[test]
    fn the_text_and_the_subject_are_checked_as_well() {
        let text = "{{{UNSUBSCRIBE_URL}}} {{{age}}}";
        let expected =
            ["subject_empty subject", "fallback_missing preview_text@0+13:1 company", "field_unknown text@22+9:1 age"];
        let draft = |texts: CheckedTexts<'_>| {
            check(CheckedTexts { subject: " ", preview_text: Some("{{{company}}}"), text: Some(text), ..texts })
        };
        assert_eq!(found(draft), expected);
        assert_eq!(found(|texts| check(CheckedTexts { text: Some("x"), ..texts })), ["unsubscribe_missing text"]);
        let either = |texts: CheckedTexts<'_>| {
            check(CheckedTexts { html: Some("<p>x"), text: Some("{{{UNSUBSCRIBE_URL}}}"), ..texts })
        };
        assert_eq!(found(either), [""; 0]);
    }

    #[test]
    fn markdown_is_checked_instead_of_the_parts_that_are_made_from_it() {
        let source = "Hi {{{FIRST_NAME}}}\n\n![](https://e.example/l.png) [a](javascript:x)";
        let rendered = markdown::render(source).unwrap();
        let (html, text) = (rendered.html.as_str(), rendered.text.as_str());

        let found =
            found(|texts| check(CheckedTexts { html: Some(html), text: Some(text), source: Some(source), ..texts }));

        assert_eq!(
            found,
            [
                "unsubscribe_missing source",
                "fallback_missing source@3+16:1 FIRST_NAME",
                "alt_missing source@21+28:3",
                "link_invalid source@50+17:3 javascript:x",
            ]
        );
    }

    #[test]
    fn deeply_nested_images_of_markdown_have_their_places() {
        const DEPTH: usize = 10_000;
        let source = format!("{}{}", "![".repeat(DEPTH), "](https://e.example)".repeat(DEPTH));
        let definitions = definitions();
        let texts = CheckedTexts {
            subject: "Hi",
            preview_text: None,
            html: Some("<p>{{{UNSUBSCRIBE_URL}}}"),
            text: None,
            source: Some(&source),
            definitions: &definitions,
        };

        let ContentReport { findings, links, .. } = check(texts);

        let findings = findings.into_ordered();
        assert_eq!((links.len(), findings.is_empty()), (1, false));
        for (level, finding) in findings.into_iter().enumerate() {
            let place = FindingPlace { at: 2 * level, length: source.len() - 22 * level, line: 1 };
            assert_eq!((finding.kind, finding.place), (FindingKind::AltMissing, Some(place)));
        }
    }

    #[test]
    fn each_link_that_can_be_requested_is_listed_once() {
        let html = "<a href='https://e.example/a'><a href='HTTPS://e.example/b'><img alt='' src=http://e.example/l.png>\
                    <a href='https://e.example/a'><a href='https://e.example/{{{ID}}}'><a href='mailto:a@e.example'>";
        let definitions = PropertyDefinitions::default();
        let texts = CheckedTexts {
            subject: "",
            preview_text: None,
            html: Some(html),
            text: None,
            source: None,
            definitions: &definitions,
        };

        let report = check(texts);

        let urls: Vec<&str> = report.links.iter().map(|link| link.url.as_str()).collect();
        assert_eq!(urls, ["https://e.example/a", "HTTPS://e.example/b", "http://e.example/l.png"]);
    }
}

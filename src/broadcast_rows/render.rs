//! The message of one recipient of a broadcast. Pure.
//!
//! The unsubscribe link is filled in first, then the merge fields, so that no value of a contact is searched for a
//! placeholder.

use std::borrow::Cow;
use std::collections::BTreeSet;

use maud::html;

use super::content::BroadcastContent;
use super::rows::BroadcastRow;
use crate::merge_fields::{self, MergeField, ValueForm};
use crate::preferences::UnsubscribeLink;

/// Name of the merge field of the address, which is not stored as a value.
pub(crate) const EMAIL_FIELD: &str = "EMAIL";
/// Names of the merge fields that are no properties. They have no fallback elsewhere.
pub(crate) const NAME_FIELDS: [&str; 2] = ["FIRST_NAME", "LAST_NAME"];
/// Start of the tag of the body.
const BODY: &[u8] = b"<body";
/// Space after the preview text, so that mail clients do not show the start of the content after it.
const PADDING: &str = "&#847;&zwnj;&nbsp;";
/// Number of repeats of [`PADDING`].
const PADDING_REPEATS: usize = 40;

/// End of the name of a value without the fallback of its property. No merge field has such a name.
const WITHOUT_FALLBACK: char = '|';

/// Values of the merge fields for one recipient.
#[derive(Clone, Copy, Debug)]
pub struct MergeValues<'v> {
    /// Address of the recipient.
    pub address: &'v str,
    /// [Names](value_names) and values of the other fields. An empty value is missing.
    pub values: &'v [(String, String)],
}

impl<'v> MergeValues<'v> {
    fn get(&self, field: MergeField<'_>) -> Option<Cow<'v, str>> {
        if field.name == EMAIL_FIELD {
            return Some(self.address.into());
        }
        let name = value_name(field);
        self.values.iter().find(|(other, _)| *other == name).map(|(_, value)| value.as_str().into())
    }
}

/// Returns the name of the value of a field. A field with a fallback of its own does not use that of its property.
fn value_name(field: MergeField<'_>) -> Cow<'_, str> {
    match field.fallback {
        Some(_) if !NAME_FIELDS.contains(&field.name) => format!("{}{WITHOUT_FALLBACK}", field.name).into(),
        _ => field.name.into(),
    }
}

/// Returns the name of the field of a value, and whether the fallback of its property is a part of the value.
pub(crate) fn field_of_value(name: &str) -> (&str, bool) {
    name.strip_suffix(WITHOUT_FALLBACK).map_or((name, true), |field| (field, false))
}

/// Subject and content of a broadcast for one recipient.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RenderedBroadcast {
    pub subject: String,
    pub html: Option<String>,
    pub text: Option<String>,
}

/// Returns the names of the values that are stored for each recipient of a broadcast, in order, each once. They are the
/// names of its merge fields, with a `|` for the fields that have a fallback of their own. [`BroadcastRow::fields`]
/// stores them when the broadcast is sent.
pub fn value_names(content: &BroadcastContent, subject: &str, preview_text: Option<&str>) -> Vec<String> {
    let parts = [Some(subject), preview_text, content.html.as_deref(), content.text.as_deref()];
    let fields = parts.into_iter().flatten().flat_map(merge_fields::fields).filter(|field| field.name != EMAIL_FIELD);
    let names: BTreeSet<Cow<'_, str>> = fields.map(value_name).collect();
    names.into_iter().map(Cow::into_owned).collect()
}

/// Returns the message of one recipient. Without a link, the placeholders of the unsubscribe link stay.
pub fn render(
    content: &BroadcastContent,
    subject: &str,
    preview_text: Option<&str>,
    values: MergeValues<'_>,
    link: Option<&UnsubscribeLink>,
) -> RenderedBroadcast {
    let fill = |text: String, form| merge_fields::fill(&text, form, |field| values.get(field));
    let fill_html = |html: String| fill(link.map_or(html.clone(), |link| link.fill_html(html)), ValueForm::Html);
    let fill_text = |text: String| fill(link.map_or(text.clone(), |link| link.fill_text(text)), ValueForm::Text);
    let preview = preview_text.map(|preview| fill_html(html! { (preview) }.into_string()));
    let preview = preview.filter(|preview| !preview.trim().is_empty());
    let html = content.html.clone().map(fill_html).map(|html| match &preview {
        Some(preview) => with_preview(&html, preview),
        None => html,
    });
    RenderedBroadcast { subject: merge_subject(subject, values), html, text: content.text.clone().map(fill_text) }
}

/// Returns HTML with a hidden block at the start of its body. `preview` is HTML.
fn with_preview(html: &str, preview: &str) -> String {
    let (before, after) = html.split_at(start_of_body(html));
    let padding = PADDING.repeat(PADDING_REPEATS);
    format!("{before}<div style=\"display:none;max-height:0;overflow:hidden\">{preview}{padding}</div>{after}")
}

/// Returns the position after the tag `<body>`; 0 without such a tag.
fn start_of_body(html: &str) -> usize {
    let bytes = html.as_bytes();
    let is_tag = |at: usize| {
        let after = bytes.get(at + BODY.len());
        bytes[at..at + BODY.len()].eq_ignore_ascii_case(BODY)
            && after.is_some_and(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'/'))
    };
    let Some(tag) = (0..bytes.len().saturating_sub(BODY.len())).find(|at| is_tag(*at)) else { return 0 };
    let mut quote = None;
    for (at, byte) in bytes.iter().enumerate().skip(tag) {
        match (quote, byte) {
            (None, b'>') => return at + 1,
            (None, b'"' | b'\'') => quote = Some(*byte),
            (Some(open), byte) if *byte == open => quote = None,
            _ => {}
        }
    }
    0
}

/// Returns a part of the HTML of one recipient. The placeholders of the unsubscribe link stay.
pub fn merge_html(html: &str, values: MergeValues<'_>) -> String {
    merge_fields::fill(html, ValueForm::Html, |field| values.get(field))
}

/// Returns the subject of one recipient.
pub fn merge_subject(subject: &str, values: MergeValues<'_>) -> String {
    merge_fields::fill(subject, ValueForm::Line, |field| values.get(field))
}

impl BroadcastRow {
    /// Returns the subject of one recipient.
    pub fn subject_of(&self, address: &str, values: &[(String, String)]) -> String {
        merge_subject(&self.subject, MergeValues { address, values })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::EmailAddress;
    use crate::base::id::Id;
    use crate::context::Context;
    use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks, UnsubscribeToken};

    fn values() -> Vec<(String, String)> {
        [("FIRST_NAME", "<Ada>"), ("CITY", "Registered"), ("TRICK", "{{{FIRST_NAME}}} {{{UNSUBSCRIBE_URL}}}")]
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .to_vec()
    }

    fn rendered(html: &str, text: &str, preview: Option<&str>) -> RenderedBroadcast {
        rendered_with(html, text, preview, None)
    }

    fn rendered_with(
        html: &str,
        text: &str,
        preview: Option<&str>,
        link: Option<&UnsubscribeLink>,
    ) -> RenderedBroadcast {
        let content = BroadcastContent { html: Some(html.into()), text: Some(text.into()), source: None };
        let values = values();
        let values = MergeValues { address: "ada@example.net", values: &values };
        render(&content, "Hi {{{FIRST_NAME|you}}} in {{{CITY|town}}}", preview, values, link)
    }

    fn link() -> UnsubscribeLink {
        let (_directory, context) = Context::temporary();
        let settings =
            LinkSettings { public_url: "https://m.example.com".to_owned(), audience: LinkAudience::Delivered };
        let address = EmailAddress::parse("ada@example.net").unwrap();
        PreferenceLinks::new(context.keyring, settings).link(&UnsubscribeToken::of_topic(Id::MIN, Id::MIN, address))
    }

    #[test]
    fn a_fallback_in_the_content_precedes_that_of_the_property() {
        let text = "{{{CITY|}}}/{{{CITY|town}}}/{{{CITY}}}/{{{FIRST_NAME|you}}}";

        assert_eq!(rendered("", text, None).text.unwrap(), "/town/Registered/<Ada>");
        let content = BroadcastContent { html: None, text: Some(text.into()), source: None };
        assert_eq!(value_names(&content, "", None), ["CITY", "CITY|", "FIRST_NAME"]);
    }

    #[test]
    fn the_values_of_a_recipient_are_filled_in_once_in_the_form_of_each_part() {
        let part = "{{{FIRST_NAME}}} {{{EMAIL}}} {{{CITY|<b>town</b>}}} {{{TRICK}}}";

        let message = rendered(part, part, None);

        let trick = "{{{FIRST_NAME}}} {{{UNSUBSCRIBE_URL}}}";
        assert_eq!(message.subject, "Hi <Ada> in town");
        assert_eq!(message.html.unwrap(), format!("&lt;Ada&gt; ada@example.net <b>town</b> {trick}"));
        assert_eq!(message.text.unwrap(), format!("<Ada> ada@example.net <b>town</b> {trick}"));
    }

    #[test]
    fn placeholders_in_values_are_not_replaced_with_the_link() {
        let link = link();
        let part = "{{{UNSUBSCRIBE_URL}}} {{{TRICK}}}";

        let message = rendered_with(part, part, Some("{{{TRICK}}}"), Some(&link));

        let trick = "{{{FIRST_NAME}}} {{{UNSUBSCRIBE_URL}}}";
        assert_eq!(message.text.unwrap(), format!("{} {trick}", link.url()));
        let html = message.html.unwrap();
        assert!(html.ends_with(&format!("{} {trick}", link.url())), "{html}");
        assert_eq!((html.matches(link.url()).count(), html.matches(trick).count()), (1, 2), "{html}");
    }

    #[test]
    fn the_preview_text_is_a_hidden_block_at_the_start_of_the_body() {
        for (html, before) in [
            ("<p>x</p>", ""),
            ("<html><BODY class=\"a>b\"><p>x</p>", "<html><BODY class=\"a>b\">"),
            ("<bodyguard><body>x", "<bodyguard><body>"),
            ("<body", ""),
            ("ä<body >", "ä<body >"),
        ] {
            let message = rendered(html, "x", Some("News & {{{FIRST_NAME}}}")).html.unwrap();

            let start = format!("{before}<div style=\"display:none;max-height:0;overflow:hidden\">");
            assert!(message.starts_with(&format!("{start}News &amp; &lt;Ada&gt;&#847;")), "{message}");
            assert!(message.ends_with(&html[before.len()..]), "{message}");
        }
        assert_eq!(rendered("<p>x</p>", "x", Some("{{{CITY|}}}")).html.unwrap(), "<p>x</p>");
    }

    #[test]
    fn the_stored_names_are_those_of_all_parts_without_the_address() {
        let content =
            BroadcastContent { html: Some("{{{B}}} {{{EMAIL}}}".into()), text: Some("{{{C}}}".into()), source: None };

        assert_eq!(value_names(&content, "{{{A}}} {{{B}}}", Some("{{{D|x}}}")), ["A", "B", "C", "D|"]);
    }
}

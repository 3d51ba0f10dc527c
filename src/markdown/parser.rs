//! Events of a Markdown source, with buttons. Pure.

use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, TextMergeStream};

use super::tokens::Tokens;

/// Beginning of the label of a link that is a button.
const BUTTON: &str = "button:";
/// Maximum length of a title, in characters.
const TITLE_CHARS_MAX: usize = 200;
/// Maximum number of events of a source. A cell of a table has two events in one byte.
const EVENTS_MAX: usize = 100_000;

/// Syntax in addition to CommonMark.
pub(super) fn options() -> Options {
    Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH
}

/// A source that has been parsed.
pub(super) struct Document<'s> {
    pub(super) nodes: Vec<Node<'s>>,
}

pub(super) enum Node<'s> {
    Event(Event<'s>),
    /// Beginning of a paragraph with an unsubscribe placeholder. It ends as any paragraph.
    Footer,
    /// A paragraph that is a button.
    Button {
        label: String,
        url: CowStr<'s>,
    },
}

impl<'s> Document<'s> {
    /// Parses a source; `None` if it has more than [`EVENTS_MAX`] events.
    pub(super) fn parse(source: &'s str, tokens: &Tokens<'_>) -> Option<Self> {
        let events = TextMergeStream::new(Parser::new_ext(source, options())).take(EVENTS_MAX + 1);
        let events: Vec<Event<'s>> = events.collect();
        if events.len() > EVENTS_MAX {
            return None;
        }
        let mut nodes = Vec::with_capacity(events.len());
        let mut rest = events.as_slice();
        while let Some((first, after)) = rest.split_first() {
            if matches!(first, Event::Start(Tag::Paragraph)) {
                let end = after.iter().position(|event| matches!(event, Event::End(TagEnd::Paragraph)));
                let (inner, after_paragraph) = after.split_at(end.unwrap_or(after.len()));
                if let Some(button) = button(inner) {
                    nodes.push(button);
                    rest = after_paragraph.get(1..).unwrap_or_default();
                    continue;
                }
                if inner.iter().any(|event| has_unsubscribe(event, tokens)) {
                    nodes.push(Node::Footer);
                    rest = after;
                    continue;
                }
            }
            nodes.push(Node::Event(first.clone()));
            rest = after;
        }
        Some(Self { nodes })
    }

    /// Returns the text of the first heading of the first level; empty without one.
    pub(super) fn title(&self, tokens: &Tokens<'_>) -> String {
        let mut events = self.nodes.iter().filter_map(|node| match node {
            Node::Event(event) => Some(event),
            Node::Footer | Node::Button { .. } => None,
        });
        let is_title = |event: &&Event<'_>| matches!(event, Event::Start(Tag::Heading { level: HeadingLevel::H1, .. }));
        if !events.by_ref().any(|event| is_title(&event)) {
            return String::new();
        }
        let inner = events.take_while(|event| !matches!(event, Event::End(TagEnd::Heading(_))));
        let title: String = inner.filter_map(text_of).collect();
        let title = tokens.restore(&title);
        if title.chars().count() > TITLE_CHARS_MAX { String::new() } else { title }
    }
}

/// Returns the text of an event.
pub(super) fn text_of<'e>(event: &'e Event<'_>) -> Option<&'e str> {
    match event {
        Event::Text(text) | Event::Code(text) => Some(text),
        Event::SoftBreak | Event::HardBreak => Some(" "),
        _ => None,
    }
}

/// Returns the button of a paragraph: `[[button: Label](url)]`.
fn button<'s>(inner: &[Event<'s>]) -> Option<Node<'s>> {
    let [
        Event::Text(open),
        Event::Start(Tag::Link { dest_url, .. }),
        label @ ..,
        Event::End(TagEnd::Link),
        Event::Text(close),
    ] = inner
    else {
        return None;
    };
    let is_label = |event: &Event<'_>| !matches!(event, Event::Start(Tag::Link { .. } | Tag::Image { .. }));
    if open.trim_start() != "[" || close.trim_end() != "]" || !label.iter().all(is_label) {
        return None;
    }
    let label: String = label.iter().filter_map(text_of).collect();
    let label = label.strip_prefix(BUTTON)?.trim();
    (!label.is_empty()).then(|| Node::Button { label: label.to_owned(), url: dest_url.clone() })
}

fn has_unsubscribe(event: &Event<'_>, tokens: &Tokens<'_>) -> bool {
    match event {
        Event::Text(text) => tokens.has_unsubscribe(text),
        Event::Start(Tag::Link { dest_url, .. }) => tokens.has_unsubscribe(dest_url),
        _ => false,
    }
}

/// Returns whether the HTML may have a link to a URL. A placeholder alone is one: its value is a URL.
pub(super) fn is_link_allowed(url: &str, tokens: &Tokens<'_>) -> bool {
    has_scheme(url, &["https://", "http://", "mailto:"]) || tokens.is_one(url)
}

/// Returns whether the HTML may have an image with a URL.
pub(super) fn is_image_allowed(url: &str) -> bool {
    has_scheme(url, &["https://", "http://"])
}

fn has_scheme(url: &str, schemes: &[&str]) -> bool {
    let starts = |scheme: &&str| url.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme));
    schemes.iter().any(starts)
}

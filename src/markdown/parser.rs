//! Events of a Markdown source, with buttons and columns. Pure.

use std::collections::HashSet;

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
    /// A paragraph that is a mark of two columns.
    Column(ColumnMark),
}

/// Mark of two columns, outside of lists and quotes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ColumnMark {
    /// Beginning of the first column.
    First,
    /// Beginning of the second column.
    Second,
    End,
}

impl ColumnMark {
    /// The marks of two columns, in their order.
    const ALL: [Self; 3] = [Self::First, Self::Second, Self::End];

    const fn notation(self) -> &'static str {
        match self {
            Self::First => "[[columns]]",
            Self::Second => "[[column]]",
            Self::End => "[[end]]",
        }
    }
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
        // Number of open elements.
        let mut depth = 0_usize;
        while let Some((first, after)) = rest.split_first() {
            if matches!(first, Event::Start(Tag::Paragraph)) {
                let end = after.iter().position(|event| matches!(event, Event::End(TagEnd::Paragraph)));
                let (inner, after_paragraph) = after.split_at(end.unwrap_or(after.len()));
                let mark = || column_mark(inner).filter(|_| depth == 0).map(Node::Column);
                if let Some(block) = button(inner).or_else(mark) {
                    nodes.push(block);
                    rest = after_paragraph.get(1..).unwrap_or_default();
                    continue;
                }
                if inner.iter().any(|event| has_unsubscribe(event, tokens)) {
                    nodes.push(Node::Footer);
                    rest = after;
                    depth += 1;
                    continue;
                }
            }
            match first {
                Event::Start(_) => depth += 1,
                Event::End(_) => depth = depth.saturating_sub(1),
                _ => {}
            }
            nodes.push(Node::Event(first.clone()));
            rest = after;
        }
        Some(Self { nodes: with_whole_columns(nodes) })
    }

    /// Returns the text of the first heading of the first level; empty without one.
    pub(super) fn title(&self, tokens: &Tokens<'_>) -> String {
        let mut events = self.nodes.iter().filter_map(|node| match node {
            Node::Event(event) => Some(event),
            Node::Footer | Node::Button { .. } | Node::Column(_) => None,
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

/// Returns the mark that a paragraph is.
fn column_mark(inner: &[Event<'_>]) -> Option<ColumnMark> {
    let [Event::Text(text)] = inner else { return None };
    ColumnMark::ALL.into_iter().find(|mark| mark.notation() == text.trim())
}

/// Makes a paragraph of each mark that makes no two columns. Nested in others, only the inner columns stay.
fn with_whole_columns(nodes: Vec<Node<'_>>) -> Vec<Node<'_>> {
    let marks = nodes.iter().enumerate().filter_map(|(at, node)| match node {
        Node::Column(mark) => Some((at, *mark)),
        Node::Event(_) | Node::Footer | Node::Button { .. } => None,
    });
    let marks: Vec<(usize, ColumnMark)> = marks.collect();
    let is_whole = |some: &&[(usize, ColumnMark)]| some.iter().map(|(_, mark)| *mark).eq(ColumnMark::ALL);
    let whole = marks.windows(ColumnMark::ALL.len()).filter(is_whole);
    let whole: HashSet<usize> = whole.flatten().map(|(at, _)| *at).collect();
    let mut settled = Vec::with_capacity(nodes.len());
    for (at, node) in nodes.into_iter().enumerate() {
        match node {
            Node::Column(mark) if !whole.contains(&at) => settled.extend(paragraph(mark.notation())),
            node => settled.push(node),
        }
    }
    settled
}

fn paragraph<'s>(text: &'static str) -> [Node<'s>; 3] {
    [Event::Start(Tag::Paragraph), Event::Text(text.into()), Event::End(TagEnd::Paragraph)].map(Node::Event)
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

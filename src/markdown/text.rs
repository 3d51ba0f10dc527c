//! The text part of a document. Pure.

use pulldown_cmark::{Event, Tag, TagEnd};

use super::PART_BYTES_MAX;
use super::html::{UNSUBSCRIBE_LABEL, in_image};
use super::parser::{Document, Node, is_link_allowed, text_of};
use super::tokens::{TextPart, Tokens, push_field};

/// Levels of lists and quotes that are indented. Deeper ones are not, so that a line has a bounded size.
const LEVELS_MAX: usize = 10;

/// Returns the text of a document; `None` if it is too large.
pub(super) fn part(document: &Document<'_>, tokens: &Tokens<'_>) -> Option<String> {
    let mut writer = TextWriter { tokens, text: String::new(), levels: Vec::new(), links: Vec::new(), gap: Gap::None };
    let mut nodes = document.nodes.iter();
    while let Some(node) = nodes.next() {
        match node {
            Node::Footer | Node::Column(_) => writer.block(),
            Node::Button { label, url } => {
                writer.block();
                writer.push(label, true);
                if is_link_allowed(url, tokens) {
                    writer.raw(": ");
                    writer.push(url, true);
                }
                writer.block();
            }
            Node::Event(Event::Start(Tag::Image { .. })) => {
                let alt: String = nodes.by_ref().map_while(in_image).filter_map(text_of).collect();
                writer.push(&alt, true);
            }
            Node::Event(event) => writer.event(event),
        }
        if writer.text.len() > PART_BYTES_MAX {
            return None;
        }
    }
    let mut text = writer.text;
    if !text.is_empty() {
        text.push('\n');
    }
    Some(text)
}

/// Lines that the next text needs before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    None,
    Line,
    Paragraph,
}

/// An open list, item or quote.
enum Level {
    Quote,
    /// Number of the next item; `None` for a list without numbers.
    List(Option<u64>),
    /// Marker of the item, and whether it has been written.
    Item(String, bool),
}

struct OpenLink {
    /// The URL to show after the label; empty for none.
    url: String,
    /// Start of the label.
    at: usize,
}

struct TextWriter<'t> {
    tokens: &'t Tokens<'t>,
    text: String,
    levels: Vec<Level>,
    links: Vec<OpenLink>,
    gap: Gap,
}

impl TextWriter<'_> {
    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.push(text, !self.links.is_empty()),
            Event::Code(code) => self.push(code, true),
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.push(text, true)
            }
            Event::SoftBreak => self.raw(" "),
            Event::HardBreak => self.gap = self.gap.max(Gap::Line),
            Event::Rule => {
                self.block();
                self.raw("---");
                self.block();
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::Heading { .. } | Tag::HtmlBlock | Tag::CodeBlock(_) | Tag::Table(_) => self.block(),
            Tag::BlockQuote(_) => {
                self.block();
                self.levels.push(Level::Quote);
            }
            Tag::List(first) => {
                // A list inside of an item starts on the next line.
                match self.levels.last() {
                    Some(Level::Item(..)) => self.gap = self.gap.max(Gap::Line),
                    _ => self.block(),
                }
                self.levels.push(Level::List(*first));
            }
            Tag::Item => {
                let marker = match self.levels.last_mut() {
                    Some(Level::List(Some(number))) => {
                        let marker = format!("{number}. ");
                        *number = number.saturating_add(1);
                        marker
                    }
                    _ => "- ".to_owned(),
                };
                self.gap = self.gap.max(Gap::Line);
                self.levels.push(Level::Item(marker, false));
            }
            Tag::Link { dest_url, .. } => {
                let url =
                    if is_link_allowed(dest_url, self.tokens) { self.tokens.restore(dest_url) } else { String::new() };
                self.links.push(OpenLink { url, at: self.text.len() });
            }
            Tag::TableCell => {
                if self.gap == Gap::None && !self.text.is_empty() && !self.text.ends_with('\n') {
                    self.raw(" | ");
                }
            }
            Tag::TableHead | Tag::TableRow => self.gap = self.gap.max(Gap::Line),
            Tag::Image { .. }
            | Tag::Emphasis
            | Tag::Strong
            | Tag::Strikethrough
            | Tag::FootnoteDefinition(_)
            | Tag::DefinitionList
            | Tag::DefinitionListTitle
            | Tag::DefinitionListDefinition
            | Tag::Superscript
            | Tag::Subscript
            | Tag::MetadataBlock(_) => {}
        }
    }

    fn end(&mut self, tag: TagEnd) {
        match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock | TagEnd::CodeBlock | TagEnd::Table | TagEnd::Heading(_) => {
                self.block()
            }
            TagEnd::BlockQuote(_) => {
                self.levels.pop();
                self.block();
            }
            TagEnd::List(_) => {
                self.levels.pop();
                match self.levels.last() {
                    Some(Level::Item(..)) => self.gap = self.gap.max(Gap::Line),
                    _ => self.block(),
                }
            }
            TagEnd::Item => {
                self.levels.pop();
                self.gap = Gap::Line;
            }
            TagEnd::Link => {
                let Some(OpenLink { url, at }) = self.links.pop() else { return };
                let label = self.text.get(at..).unwrap_or_default().trim();
                let is_shown = label == url || url.strip_prefix("mailto:") == Some(label);
                if !url.is_empty() && !is_shown {
                    let shown = if label.is_empty() { url } else { format!(" ({url})") };
                    self.raw(&shown);
                }
            }
            TagEnd::TableHead | TagEnd::TableRow => self.gap = self.gap.max(Gap::Line),
            TagEnd::TableCell
            | TagEnd::Image
            | TagEnd::Emphasis
            | TagEnd::Strong
            | TagEnd::Strikethrough
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => {}
        }
    }

    /// Ends the paragraph.
    fn block(&mut self) {
        self.gap = Gap::Paragraph;
    }

    /// Writes a text with its placeholders. `is_plain`: an unsubscribe placeholder gets no label.
    fn push(&mut self, text: &str, is_plain: bool) {
        let mut restored = String::with_capacity(text.len());
        for part in self.tokens.parts(text) {
            match part {
                TextPart::Plain(plain) => restored.push_str(plain),
                TextPart::Field(field) => push_field(&mut restored, field, str::to_owned),
                TextPart::Unsubscribe(source) if is_plain => restored.push_str(source),
                TextPart::Unsubscribe(source) => restored.push_str(&format!("{UNSUBSCRIBE_LABEL}: {source}")),
            }
        }
        self.raw(&restored);
    }

    /// Writes a text. Each of its lines starts with the marks of the open levels.
    fn raw(&mut self, text: &str) {
        let mut lines = text.split('\n');
        self.line(lines.next().unwrap_or_default());
        for line in lines {
            self.gap = self.gap.max(Gap::Line);
            self.line(line);
        }
    }

    fn line(&mut self, line: &str) {
        let is_at_start = self.text.is_empty() || self.gap != Gap::None;
        if line.is_empty() || (is_at_start && line == " ") {
            return;
        }
        if is_at_start {
            if !self.text.is_empty() {
                self.text.truncate(self.text.trim_end_matches(' ').len());
                self.text.push_str(if self.gap == Gap::Paragraph { "\n\n" } else { "\n" });
            }
            self.gap = Gap::None;
            self.marks();
        }
        self.text.push_str(line);
    }

    /// Writes the marks of the open levels.
    fn marks(&mut self) {
        for level in self.levels.iter_mut().take(LEVELS_MAX) {
            match level {
                Level::Quote => self.text.push_str("> "),
                Level::List(_) => {}
                Level::Item(marker, is_written) => {
                    if *is_written {
                        self.text.push_str(&" ".repeat(marker.len()));
                    } else {
                        self.text.push_str(marker);
                    }
                    *is_written = true;
                }
            }
        }
    }
}

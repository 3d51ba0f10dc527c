//! The HTML of a document, with inline styles: many mail clients drop style sheets. Pure.

use pulldown_cmark::{Alignment, Event, HeadingLevel, Tag, TagEnd};

use super::PART_BYTES_MAX;
use super::parser::{ColumnMark, Document, Node, is_image_allowed, is_link_allowed, text_of};
use super::tokens::{TextPart, Tokens, push_field};

const PARAGRAPH: &str = "margin:0 0 16px";
const FOOTER: &str = "margin:32px 0 0;padding:16px 0 0;border-top:1px solid #e6e8ec;color:#6b717d;font-size:13px;\
                      line-height:20px";
const HEADING_1: &str = "margin:0 0 16px;color:#14161a;font-size:26px;line-height:34px";
const HEADING_2: &str = "margin:32px 0 8px;color:#14161a;font-size:20px;line-height:28px";
const HEADING_3: &str = "margin:24px 0 8px;color:#14161a;font-size:16px;line-height:24px";
const LIST: &str = "margin:0 0 16px;padding:0 0 0 24px";
const ITEM: &str = "margin:0 0 4px";
const QUOTE: &str = "margin:0 0 16px;padding:0 0 0 16px;border-left:3px solid #d5d9df;color:#5a606b";
const CODE_BLOCK: &str = "margin:0 0 16px;padding:12px 16px;background:#f4f5f7;border-radius:6px;overflow-x:auto;\
                          font:14px/20px Menlo,Consolas,monospace";
const CODE: &str = "padding:1px 4px;background:#f4f5f7;border-radius:4px;font:14px Menlo,Consolas,monospace";
const RULE: &str = "margin:24px 0;border:0;border-top:1px solid #e6e8ec";
const TABLE: &str = "margin:0 0 16px;border-collapse:collapse";
const CELL: &str = "padding:6px 12px 6px 0;border-bottom:1px solid #e6e8ec;vertical-align:top;text-align:";
const COLUMNS: &str = "margin:0;border-collapse:collapse;table-layout:fixed";
const FIRST_COLUMN: &str = "padding:0 12px 0 0;vertical-align:top";
const SECOND_COLUMN: &str = "padding:0 0 0 12px;vertical-align:top";
const IMAGE: &str = "max-width:100%;height:auto;border:0;border-radius:6px";
const LINK: &str = "color:#0f5132";
const BUTTON: &str = "display:inline-block;padding:12px 20px;border-radius:6px;background:#0f5132;color:#ffffff;\
                      font-weight:bold;text-decoration:none";

/// Table of two columns, which is read as no table.
const COLUMNS_TAG: &str = "table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"";
const COLUMN_TAG: &str = "td class=\"rm-column\" width=\"50%\"";

/// Text of the link that replaces an unsubscribe placeholder.
pub(super) const UNSUBSCRIBE_LABEL: &str = "Unsubscribe";

/// Returns the HTML of a document without its page; `None` if it is too large.
pub(super) fn body(document: &Document<'_>, tokens: &Tokens<'_>) -> Option<String> {
    let mut writer =
        HtmlWriter { tokens, html: String::new(), links: Vec::new(), columns: Vec::new(), column: 0, is_head: false };
    let mut nodes = document.nodes.iter();
    while let Some(node) = nodes.next() {
        match node {
            Node::Footer => writer.open("p class=\"rm-footer\"", FOOTER),
            Node::Button { label, url } => writer.button(label, url),
            Node::Column(mark) => writer.column_mark(*mark),
            Node::Event(Event::Start(Tag::Image { dest_url, .. })) => {
                let alt: String = nodes.by_ref().map_while(in_image).filter_map(text_of).collect();
                writer.image(dest_url, &alt);
            }
            Node::Event(event) => writer.event(event),
        }
        if writer.html.len() > PART_BYTES_MAX {
            return None;
        }
    }
    Some(writer.html)
}

/// Returns the event of a node; `None` at the end of an image.
pub(super) fn in_image<'n, 's>(node: &'n Node<'s>) -> Option<&'n Event<'s>> {
    match node {
        Node::Event(Event::End(TagEnd::Image)) | Node::Footer | Node::Button { .. } | Node::Column(_) => None,
        Node::Event(event) => Some(event),
    }
}

struct HtmlWriter<'t> {
    tokens: &'t Tokens<'t>,
    html: String,
    /// Whether each open link is shown as a link.
    links: Vec<bool>,
    /// Alignment of the columns of the open table.
    columns: Vec<Alignment>,
    column: usize,
    /// Whether the row is the head of its table.
    is_head: bool,
}

impl HtmlWriter<'_> {
    fn open(&mut self, tag: &str, style: &str) {
        self.html.push_str(&format!("<{tag} style=\"{style}\">"));
    }

    fn event(&mut self, event: &Event<'_>) {
        match event {
            Event::Start(tag) => self.start(tag),
            Event::End(tag) => self.end(*tag),
            Event::Text(text) | Event::Html(text) | Event::InlineHtml(text) => self.text(text, !self.links.is_empty()),
            Event::Code(code) => {
                self.open("code", CODE);
                self.text(code, true);
                self.html.push_str("</code>");
            }
            Event::SoftBreak => self.html.push('\n'),
            Event::HardBreak => self.html.push_str("<br>\n"),
            Event::Rule => {
                self.open("hr", RULE);
                self.html.push('\n');
            }
            // Syntax that the options do not enable.
            Event::InlineMath(text) | Event::DisplayMath(text) | Event::FootnoteReference(text) => {
                self.text(text, true)
            }
            Event::TaskListMarker(_) => {}
        }
    }

    fn start(&mut self, tag: &Tag<'_>) {
        match tag {
            Tag::Paragraph | Tag::HtmlBlock => self.open("p", PARAGRAPH),
            Tag::Heading { level, .. } => self.open(&level.to_string(), heading_style(*level)),
            Tag::BlockQuote(_) => self.open("blockquote", QUOTE),
            Tag::CodeBlock(_) => self.open("pre", CODE_BLOCK),
            Tag::List(None) => self.open("ul", LIST),
            Tag::List(Some(1)) => self.open("ol", LIST),
            Tag::List(Some(first)) => self.open(&format!("ol start=\"{first}\""), LIST),
            Tag::Item => self.open("li", ITEM),
            Tag::Table(columns) => {
                self.columns.clone_from(columns);
                self.open("table", TABLE);
            }
            Tag::TableHead => {
                (self.column, self.is_head) = (0, true);
                self.html.push_str("<tr>");
            }
            Tag::TableRow => {
                (self.column, self.is_head) = (0, false);
                self.html.push_str("<tr>");
            }
            Tag::TableCell => {
                let alignment = match self.columns.get(self.column) {
                    Some(Alignment::Center) => "center",
                    Some(Alignment::Right) => "right",
                    Some(Alignment::Left | Alignment::None) | None => "left",
                };
                self.column += 1;
                self.open(if self.is_head { "th" } else { "td" }, &format!("{CELL}{alignment}"));
            }
            Tag::Emphasis => self.html.push_str("<em>"),
            Tag::Strong => self.html.push_str("<strong>"),
            Tag::Strikethrough => self.html.push_str("<del>"),
            Tag::Link { dest_url, .. } => {
                let is_allowed = is_link_allowed(dest_url, self.tokens);
                self.links.push(is_allowed);
                if is_allowed {
                    self.link(dest_url, LINK);
                }
            }
            // The caller writes images. The options do not enable the rest.
            Tag::Image { .. }
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
        let closed = match tag {
            TagEnd::Paragraph | TagEnd::HtmlBlock => "</p>\n",
            TagEnd::Heading(level) => {
                self.html.push_str(&format!("</{level}>\n"));
                return;
            }
            TagEnd::BlockQuote(_) => "</blockquote>\n",
            TagEnd::CodeBlock => "</pre>\n",
            TagEnd::List(true) => "</ol>\n",
            TagEnd::List(false) => "</ul>\n",
            TagEnd::Item => "</li>\n",
            TagEnd::Table => "</table>\n",
            TagEnd::TableHead | TagEnd::TableRow => "</tr>\n",
            TagEnd::TableCell if self.is_head => "</th>",
            TagEnd::TableCell => "</td>",
            TagEnd::Emphasis => "</em>",
            TagEnd::Strong => "</strong>",
            TagEnd::Strikethrough => "</del>",
            TagEnd::Link if self.links.pop().unwrap_or(false) => "</a>",
            TagEnd::Link
            | TagEnd::Image
            | TagEnd::FootnoteDefinition
            | TagEnd::DefinitionList
            | TagEnd::DefinitionListTitle
            | TagEnd::DefinitionListDefinition
            | TagEnd::Superscript
            | TagEnd::Subscript
            | TagEnd::MetadataBlock(_) => "",
        };
        self.html.push_str(closed);
    }

    /// Writes a text. `is_plain`: an unsubscribe placeholder is written as it is, because no link may start here.
    fn text(&mut self, text: &str, is_plain: bool) {
        for part in self.tokens.parts(text) {
            match part {
                TextPart::Plain(plain) => self.html.push_str(&escaped(plain)),
                TextPart::Field(field) => push_field(&mut self.html, field, escaped),
                TextPart::Unsubscribe(source) if is_plain => self.html.push_str(source),
                TextPart::Unsubscribe(source) => {
                    self.html.push_str(&format!("<a href=\"{source}\" style=\"{LINK}\">{UNSUBSCRIBE_LABEL}</a>"));
                }
            }
        }
    }

    fn link(&mut self, url: &str, style: &str) {
        self.html.push_str("<a href=\"");
        self.text(url, true);
        self.html.push_str(&format!("\" style=\"{style}\">"));
    }

    fn image(&mut self, url: &str, alt: &str) {
        if !is_image_allowed(url) {
            return self.text(alt, true);
        }
        self.html.push_str("<img src=\"");
        self.text(url, true);
        self.html.push_str("\" alt=\"");
        self.text(alt, true);
        self.html.push_str(&format!("\" style=\"{IMAGE}\">"));
    }

    fn button(&mut self, label: &str, url: &str) {
        self.open("p", PARAGRAPH);
        if is_link_allowed(url, self.tokens) {
            self.html.push_str("<a class=\"rm-button\" href=\"");
            self.text(url, true);
            self.html.push_str(&format!("\" style=\"{BUTTON}\">"));
            self.text(label, true);
            self.html.push_str("</a>");
        } else {
            self.text(label, true);
        }
        self.html.push_str("</p>\n");
    }

    /// Writes the beginning or the end of two columns. On a small screen, the second one is below the first one.
    fn column_mark(&mut self, mark: ColumnMark) {
        match mark {
            ColumnMark::First => {
                self.open(COLUMNS_TAG, COLUMNS);
                self.html.push_str("<tr>");
                self.open(COLUMN_TAG, FIRST_COLUMN);
            }
            ColumnMark::Second => {
                self.html.push_str("</td>\n");
                self.open(COLUMN_TAG, SECOND_COLUMN);
            }
            ColumnMark::End => self.html.push_str("</td></tr>\n</table>\n"),
        }
    }
}

const fn heading_style(level: HeadingLevel) -> &'static str {
    match level {
        HeadingLevel::H1 => HEADING_1,
        HeadingLevel::H2 => HEADING_2,
        HeadingLevel::H3 | HeadingLevel::H4 | HeadingLevel::H5 | HeadingLevel::H6 => HEADING_3,
    }
}

/// Escapes a text for HTML and for an attribute value in quotation marks.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

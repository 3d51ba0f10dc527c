//! Tokens of HTML: tags and text. Follows the tokenizer of the HTML standard as far as email needs it.

use std::borrow::Cow;

use super::entity;

/// Elements whose content is not visible text. Everything up to the end tag is skipped, without parsing it as markup.
const SKIPPED_CONTENT: [&str; 11] =
    ["script", "style", "title", "template", "svg", "math", "iframe", "object", "select", "textarea", "xmp"];

/// Elements without an end tag.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

pub(super) enum HtmlToken<'a> {
    /// Text with its character references.
    Text(&'a str),
    Open(HtmlTag<'a>),
    /// Name of an end tag.
    Close(&'a str),
}

/// A start tag.
pub(super) struct HtmlTag<'a> {
    pub(super) name: &'a str,
    attributes: &'a str,
}

impl<'a> HtmlTag<'a> {
    pub(super) fn is(&self, name: &str) -> bool {
        self.name.eq_ignore_ascii_case(name)
    }

    pub(super) fn is_void(&self) -> bool {
        VOID.iter().any(|name| self.is(name))
    }

    /// Returns the value of an attribute, its character references decoded.
    pub(super) fn attribute(&self, name: &str) -> Option<Cow<'a, str>> {
        Attributes(self.attributes)
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, value)| entity::decode_attribute(value))
    }

    /// Returns whether the element is hidden. Senders hide the text for the preview line of an inbox in this way.
    pub(super) fn is_hidden(&self) -> bool {
        Attributes(self.attributes).any(|(name, value)| {
            name.eq_ignore_ascii_case("hidden") || name.eq_ignore_ascii_case("style") && displays_none(value)
        })
    }
}

fn displays_none(style: &str) -> bool {
    style.split(';').filter_map(|declaration| declaration.split_once(':')).any(|(name, value)| {
        name.trim().eq_ignore_ascii_case("display")
            && value
                .trim_start()
                .split(|c: char| c.is_ascii_whitespace() || c == '!')
                .next()
                .is_some_and(|value| value.eq_ignore_ascii_case("none"))
    })
}

/// Iterator over the names and values of attributes. An absent value is empty.
struct Attributes<'a>(&'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // The first character always belongs to the name, so that an equals sign there cannot stop the iteration.
        let first_bytes = first_char_bytes(rest);
        let name_end = rest[first_bytes..]
            .find(|c: char| c.is_ascii_whitespace() || c == '=' || c == '/')
            .map_or(rest.len(), |at| first_bytes + at);
        let (name, after) = rest.split_at(name_end);
        let Some(value) = after.trim_ascii_start().strip_prefix('=') else {
            self.0 = after;
            return Some((name, ""));
        };
        let value = value.trim_ascii_start();
        let (value, tail) = match value.as_bytes().first() {
            Some(quote @ (b'"' | b'\'')) => {
                let quoted = &value[1..];
                quoted.split_once(char::from(*quote)).unwrap_or((quoted, ""))
            }
            _ => {
                let end = value.find(|c: char| c.is_ascii_whitespace()).unwrap_or(value.len());
                value.split_at(end)
            }
        };
        self.0 = tail;
        Some((name, value))
    }
}

fn first_char_bytes(text: &str) -> usize {
    text.chars().next().map_or(0, char::len_utf8)
}

/// Iterator over the tokens of HTML. Each search starts at the end of the last one, and an unclosed tag or comment
/// includes all the rest. The iteration is therefore one pass.
pub(super) struct HtmlScanner<'a> {
    rest: &'a str,
}

impl<'a> HtmlScanner<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Skips the text up to and including the first `end`.
    fn skip_past(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    fn comment_or_declaration(&mut self) {
        match self.rest.strip_prefix("<!--") {
            // HTML standard §13.2.5.43: both are empty comments.
            Some(content) if content.starts_with('>') || content.starts_with("->") => {
                self.skip_past(">");
            }
            Some(content) => {
                self.rest = content;
                self.skip_past("-->");
            }
            None => self.skip_past(">"),
        }
    }

    /// Parses a tag whose name starts at offset `name_at` of the rest; `None` if the tag is not closed.
    fn tag(&mut self, name_at: usize) -> Option<HtmlTag<'a>> {
        let inside = &self.rest[name_at..];
        let Some(end) = tag_end(inside) else {
            self.rest = "";
            return None;
        };
        self.rest = &inside[end + 1..];
        let inside = &inside[..end];
        let name_end = inside.find(|c: char| c.is_ascii_whitespace() || c == '/').unwrap_or(inside.len());
        let (name, attributes) = inside.split_at(name_end);
        Some(HtmlTag { name, attributes })
    }

    /// Skips the content of an element up to its end tag.
    fn skip_content(&mut self, name: &str) {
        loop {
            self.skip_past("</");
            let Some(found) = self.rest.get(..name.len()) else {
                // The rest is shorter than the name, or the slice would split a character.
                if self.rest.len() < name.len() {
                    self.rest = "";
                    return;
                }
                continue;
            };
            let ends = self.rest[name.len()..].starts_with(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
            if found.eq_ignore_ascii_case(name) && ends {
                return self.skip_past(">");
            }
        }
    }

    fn text(&mut self) -> HtmlToken<'a> {
        // The first character is text even if it is a "<", because no tag starts here.
        let first_bytes = first_char_bytes(self.rest);
        let end = self.rest[first_bytes..].find('<').map_or(self.rest.len(), |at| first_bytes + at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        HtmlToken::Text(text)
    }
}

impl<'a> Iterator for HtmlScanner<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        loop {
            let mut bytes = self.rest.bytes();
            match (bytes.next()?, bytes.next(), bytes.next()) {
                (b'<', Some(b'!'), _) => self.comment_or_declaration(),
                (b'<', Some(b'/'), Some(b'a'..=b'z' | b'A'..=b'Z')) => {
                    return self.tag(2).map(|tag| HtmlToken::Close(tag.name));
                }
                (b'<', Some(b'/' | b'?'), _) => self.skip_past(">"),
                (b'<', Some(b'a'..=b'z' | b'A'..=b'Z'), _) => {
                    let tag = self.tag(1)?;
                    if let Some(name) = SKIPPED_CONTENT.iter().find(|name| tag.is(name)) {
                        self.skip_content(name);
                        continue;
                    }
                    return Some(HtmlToken::Open(tag));
                }
                _ => return Some(self.text()),
            }
        }
    }
}

/// Returns the offset of the `>` that closes a tag, outside quoted values. A quote starts a value only directly
/// after an
/// equals sign.
fn tag_end(inside: &str) -> Option<usize> {
    let mut quote = None;
    let mut after_equals = false;
    for (at, byte) in inside.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), _) => {
                if byte == open {
                    quote = None;
                }
            }
            (None, b'>') => return Some(at),
            (None, b'"' | b'\'') if after_equals => {
                quote = Some(byte);
                after_equals = false;
            }
            (None, b'=') => after_equals = true,
            (None, byte) if byte.is_ascii_whitespace() => {}
            (None, _) => after_equals = false,
        }
    }
    None
}

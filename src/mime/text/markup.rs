//! Html to tags and text, after the tokenizer of the HTML standard as far as mail needs it.

use std::borrow::Cow;

use super::entity;

/// Elements whose content is not text for a reader. Their end tag is searched for as is:
/// nothing inside counts as markup.
const UNREAD: [&str; 11] =
    ["script", "style", "title", "template", "svg", "math", "iframe", "object", "select", "textarea", "xmp"];

/// Elements without an end tag.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

pub(super) enum HtmlToken<'a> {
    /// As it stands, character references included.
    Text(&'a str),
    Open(HtmlTag<'a>),
    /// The name of an end tag.
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

    /// Returns whether the element is kept from view. Mail hides the text meant for the
    /// preview line of an inbox in this way.
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

/// Names and values of attributes; the value of one that has none is empty.
struct Attributes<'a>(&'a str);

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.0.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return None;
        }
        // A name may begin with an equals sign: it would otherwise never be passed.
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

/// Iterates over the tokens of html. Each search begins where the last one ended, and an
/// opening that never closes takes the rest with it, so the whole is one pass.
pub(super) struct Scanner<'a> {
    rest: &'a str,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(html: &'a str) -> Self {
        Self { rest: html }
    }

    /// Passes over everything up to and including the first `end`.
    fn pass(&mut self, end: &str) {
        self.rest = self.rest.split_once(end).map_or("", |(_, rest)| rest);
    }

    fn comment_or_declaration(&mut self) {
        match self.rest.strip_prefix("<!--") {
            // The HTML standard §13.2.5.43: both are comments that end at once.
            Some(content) if content.starts_with('>') || content.starts_with("->") => {
                self.pass(">");
            }
            Some(content) => {
                self.rest = content;
                self.pass("-->");
            }
            None => self.pass(">"),
        }
    }

    /// Takes a tag whose name begins `name_at` bytes into the rest. `None` when it never ends.
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

    /// Passes over the content of an element that is not read, up to its end tag.
    fn pass_unread(&mut self, name: &str) {
        loop {
            self.pass("</");
            let Some(found) = self.rest.get(..name.len()) else {
                // The rest is shorter than the name, or has another character there.
                if self.rest.len() < name.len() {
                    self.rest = "";
                    return;
                }
                continue;
            };
            let ends = self.rest[name.len()..].starts_with(|c: char| c.is_ascii_whitespace() || c == '/' || c == '>');
            if found.eq_ignore_ascii_case(name) && ends {
                return self.pass(">");
            }
        }
    }

    fn text(&mut self) -> HtmlToken<'a> {
        // The first character is text even when it is a "<": it begins no tag.
        let first_bytes = first_char_bytes(self.rest);
        let end = self.rest[first_bytes..].find('<').map_or(self.rest.len(), |at| first_bytes + at);
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        HtmlToken::Text(text)
    }
}

impl<'a> Iterator for Scanner<'a> {
    type Item = HtmlToken<'a>;

    fn next(&mut self) -> Option<HtmlToken<'a>> {
        loop {
            let mut bytes = self.rest.bytes();
            match (bytes.next()?, bytes.next(), bytes.next()) {
                (b'<', Some(b'!'), _) => self.comment_or_declaration(),
                (b'<', Some(b'/'), Some(b'a'..=b'z' | b'A'..=b'Z')) => {
                    return self.tag(2).map(|tag| HtmlToken::Close(tag.name));
                }
                (b'<', Some(b'/' | b'?'), _) => self.pass(">"),
                (b'<', Some(b'a'..=b'z' | b'A'..=b'Z'), _) => {
                    let tag = self.tag(1)?;
                    if let Some(name) = UNREAD.iter().find(|name| tag.is(name)) {
                        self.pass_unread(name);
                        continue;
                    }
                    return Some(HtmlToken::Open(tag));
                }
                _ => return Some(self.text()),
            }
        }
    }
}

/// Returns where the `>` of a tag is. One inside a quoted value does not count, and a quote
/// begins a value only right after an equals sign.
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

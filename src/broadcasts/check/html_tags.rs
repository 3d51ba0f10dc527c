//! The links and images of an HTML part. Pure.
//!
//! A scanner of tags and attributes, not a parser. It finds what a person wrote, and a check can miss what only a
//! browser would find.

use std::ops::Range;

/// A link or an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct HtmlTarget {
    /// Bytes of the tag.
    pub(super) range: Range<usize>,
    /// Value of `href` or `src`; `None` without one.
    pub(super) url: Option<String>,
    pub(super) is_image: bool,
    pub(super) has_alt: bool,
}

/// Elements whose content has no tags.
const RAW_TEXT: [&str; 3] = ["style", "script", "title"];

/// Returns the links and images of an HTML part, in order. Comments are skipped.
pub(super) fn targets(html: &str) -> impl Iterator<Item = HtmlTarget> {
    let mut at = 0;
    std::iter::from_fn(move || next_target(html, &mut at))
}

/// Returns the first link or image from `at`, and moves `at` behind it; `None` at the end.
fn next_target(html: &str, at: &mut usize) -> Option<HtmlTarget> {
    while let Some(open) = html[*at..].find('<').map(|offset| *at + offset) {
        let after = &html[open + 1..];
        if let Some(comment) = after.strip_prefix("!--") {
            *at = html.len() - comment.split_once("-->").map_or(0, |(_, rest)| rest.len());
            continue;
        }
        if !after.starts_with(|first: char| first.is_ascii_alphabetic()) {
            *at = open + 1;
            continue;
        }
        let mut tag = TagScanner { html, at: open + 1 };
        let name = tag.name().to_ascii_lowercase();
        let (mut url, mut has_alt) = (None, false);
        let is_image = name == "img";
        let url_attribute = if is_image { "src" } else { "href" };
        while let Some((attribute, value)) = tag.attribute() {
            if attribute.eq_ignore_ascii_case(url_attribute) && url.is_none() {
                url = Some(decoded(value));
            } else if attribute.eq_ignore_ascii_case("alt") {
                has_alt = true;
            }
        }
        *at = tag.at;
        if is_image || matches!(name.as_str(), "a" | "area") {
            return Some(HtmlTarget { range: open..*at, url, is_image, has_alt });
        }
        if RAW_TEXT.contains(&name.as_str()) {
            *at = end_of_raw_text(html, *at, &name);
        }
    }
    None
}

fn end_of_raw_text(html: &str, from: usize, name: &str) -> usize {
    let mut at = from;
    while let Some(end) = html[at..].find("</").map(|offset| at + offset) {
        at = end + 2;
        if html.get(at..at + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return end;
        }
    }
    html.len()
}

/// Replaces the references that a URL needs in HTML.
fn decoded(value: &str) -> String {
    value.trim().replace("&quot;", "\"").replace("&#39;", "'").replace("&amp;", "&")
}

/// Position in a tag.
struct TagScanner<'h> {
    html: &'h str,
    at: usize,
}

impl<'h> TagScanner<'h> {
    fn rest(&self) -> &'h str {
        &self.html[self.at..]
    }

    /// Passes the characters before the first one that `is_end` accepts, and returns them.
    fn take_until(&mut self, is_end: impl Fn(char) -> bool) -> &'h str {
        let rest = self.rest();
        let taken = &rest[..rest.find(is_end).unwrap_or(rest.len())];
        self.at += taken.len();
        taken
    }

    fn name(&mut self) -> &'h str {
        self.take_until(|c| c.is_ascii_whitespace() || matches!(c, '/' | '>'))
    }

    /// Returns the next attribute with its value; `None` after the end of the tag, which is passed.
    fn attribute(&mut self) -> Option<(&'h str, &'h str)> {
        self.take_until(|c| !c.is_ascii_whitespace() && c != '/');
        if self.rest().is_empty() {
            return None;
        }
        if self.rest().starts_with('>') {
            self.at += 1;
            return None;
        }
        let start = self.at;
        let name = self.take_until(|c| c.is_ascii_whitespace() || matches!(c, '/' | '>' | '='));
        self.take_until(|c| !c.is_ascii_whitespace());
        if !self.rest().starts_with('=') {
            return Some((name, ""));
        }
        self.at += 1;
        self.take_until(|c| !c.is_ascii_whitespace());
        let quote = self.rest().chars().next().filter(|first| matches!(first, '"' | '\''));
        let value = match quote {
            Some(quote) => {
                self.at += 1;
                let value = self.take_until(|c| c == quote);
                self.at = (self.at + 1).min(self.html.len());
                value
            }
            None => self.take_until(|c| c.is_ascii_whitespace() || c == '>'),
        };
        debug_assert!(self.at > start, "each attribute has at least one byte");
        Some((name, value))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_and_images_are_found_with_their_urls() {
        for (html, expected) in [
            ("<a href=\"https://e.example/?a=1&amp;b\">x</a>", vec![(Some("https://e.example/?a=1&b"), false, false)]),
            ("<A class=x HREF='a>b' >", vec![(Some("a>b"), false, false)]),
            ("<a name=top></a><area href=x/>", vec![(None, false, false), (Some("x/"), false, false)]),
            ("<img src=a.png><img alt src = \"b\"/>", vec![(Some("a.png"), true, false), (Some("b"), true, true)]),
            ("<!-- <a href=x> --><p title=\"<a href=y>\">1 < 2</p>", vec![]),
            ("<style>a<a href=x></style><abbr href=x><b", vec![]),
            ("<img alt=\"\" src=\"{{{LOGO}}}\"", vec![(Some("{{{LOGO}}}"), true, true)]),
        ] {
            let found: Vec<_> = targets(html).map(|it| (it.url, it.is_image, it.has_alt)).collect();
            let expected: Vec<_> =
                expected.into_iter().map(|(url, image, alt)| (url.map(str::to_owned), image, alt)).collect();

            assert_eq!(found, expected, "{html}");
        }
    }

    #[test]
    fn a_target_has_the_bytes_of_its_tag() {
        let html = "é<p><a\nhref=x>y</a><img src=z>";

        let found: Vec<&str> = targets(html).map(|target| &html[target.range]).collect();

        assert_eq!(found, ["<a\nhref=x>", "<img src=z>"]);
    }

    proptest! {
        #[test]
        fn any_text_is_scanned(html in "(<|>|a|img|style|/| |=|\"|'|href|src|!--|-->|é){0,60}") {
            for target in targets(&html) {
                prop_assert!(html[target.range].starts_with('<'));
            }
        }
    }
}

//! Derives the text part of an email that has only HTML.
//!
//! The conversion scans the markup once, in time and space linear in its length. It builds no tree, so deep
//! nesting cannot exhaust the stack, and malformed markup costs no more than valid markup. This matters because
//! customers supply the HTML, and it can be composed for many recipients.
//!
//! Links become `label (https://…)`, and lists and quotations get markers. Tables become lines without borders. Hidden
//! elements are omitted. Lines are not wrapped, because mail clients wrap them to the width of the window.
//!
//! Files in reading order:
//! - `markup.rs`: tokens of HTML;
//! - `entity.rs`: character references;
//! - `layout.rs`: lines of text;
//! - `link.rs`: targets of links.

mod entity;
mod layout;
mod link;
mod markup;

use layout::{Gap, TextLayout};
use link::TextLink;
use markup::{HtmlScanner, HtmlTag, HtmlToken};

/// Returns the visible text of HTML, without surrounding white space.
///
/// Empty if the HTML contains only images without descriptions. Longer text is truncated to 256 KiB.
pub fn text_from_html(html: &str) -> String {
    let mut extractor = TextExtractor::default();
    let mut tokens = HtmlScanner::new(html);
    while let Some(token) = tokens.next() {
        match token {
            HtmlToken::Text(text) => extractor.layout.text(text),
            HtmlToken::Open(tag) if tag.is_hidden() => skip(&mut tokens, &tag),
            HtmlToken::Open(tag) => extractor.open(&tag),
            HtmlToken::Close(name) => extractor.close(name),
        }
        if extractor.layout.is_full() {
            break;
        }
    }
    extractor.end_link();
    extractor.layout.finish()
}

/// Returns the targets of the links in HTML to web pages, in order, at most `links_max`.
pub fn links_in_html(html: &str, links_max: usize) -> Vec<String> {
    let target = |token: HtmlToken<'_>| match token {
        HtmlToken::Open(tag) if tag.is("a") => Some(tag.attribute("href")?.trim().to_owned()),
        _ => None,
    };
    let is_web = |target: &String| target.starts_with("https://") || target.starts_with("http://");
    HtmlScanner::new(html).filter_map(target).filter(is_web).take(links_max).collect()
}

/// Skips a hidden element up to its end tag.
fn skip(tokens: &mut HtmlScanner<'_>, hidden: &HtmlTag<'_>) {
    if hidden.is_void() {
        return;
    }
    // A paragraph ends at the start of the next one, so paragraphs are never nested.
    let nests = !hidden.is("p");
    let mut depth = 1_usize;
    for token in tokens {
        match token {
            HtmlToken::Open(tag) if nests && tag.is(hidden.name) => depth += 1,
            HtmlToken::Close(name) if name.eq_ignore_ascii_case(hidden.name) => {
                depth -= 1;
                if depth == 0 {
                    return;
                }
            }
            _ => {}
        }
    }
}

/// Effect of an element on the layout.
enum Role {
    Inline,
    /// Starts and ends a line.
    Line,
    /// Has an empty line before and after.
    Block,
    Cell,
    List,
    Item,
    Quote,
    Preformatted,
    Break,
    Rule,
    Anchor,
    Image,
}

fn role(name: &str) -> Role {
    let mut lower = [0; 12];
    let Some(lower) = lower.get_mut(..name.len()) else {
        return Role::Inline;
    };
    lower.copy_from_slice(name.as_bytes());
    lower.make_ascii_lowercase();
    match &*lower {
        b"a" => Role::Anchor,
        b"img" => Role::Image,
        b"br" => Role::Break,
        b"hr" => Role::Rule,
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"table" | b"dl" | b"figure" | b"fieldset" | b"form" => {
            Role::Block
        }
        b"div" | b"tr" | b"section" | b"article" | b"header" | b"footer" | b"main" | b"nav" | b"aside" | b"address"
        | b"center" | b"dt" | b"dd" | b"caption" | b"figcaption" | b"details" | b"summary" | b"legend" | b"body" => {
            Role::Line
        }
        b"td" | b"th" => Role::Cell,
        b"ul" | b"ol" => Role::List,
        b"li" => Role::Item,
        b"blockquote" => Role::Quote,
        b"pre" => Role::Preformatted,
        _ => Role::Inline,
    }
}

#[derive(Default)]
struct TextExtractor {
    layout: TextLayout,
    /// The open link. Links do not nest: a second one ends the first.
    link: Option<TextLink>,
}

impl TextExtractor {
    fn open(&mut self, tag: &HtmlTag<'_>) {
        match role(tag.name) {
            Role::Inline => {}
            Role::Line => self.layout.gap(Gap::Line),
            Role::Block => self.layout.gap(Gap::Blank),
            Role::Cell => self.layout.gap(Gap::Cell),
            Role::List => self.layout.begin_list(tag.is("ol")),
            Role::Item => self.layout.begin_item(),
            Role::Quote => self.layout.begin_quote(),
            Role::Preformatted => self.layout.begin_preformatted(),
            Role::Break => self.layout.break_line(),
            Role::Rule => {
                self.layout.gap(Gap::Blank);
                self.layout.text("----------");
                self.layout.gap(Gap::Blank);
            }
            Role::Anchor => {
                self.end_link();
                self.link = tag.attribute("href").and_then(|href| TextLink::new(&href, self.layout.written_bytes()));
            }
            Role::Image => {
                if let Some(description) = tag.attribute("alt") {
                    self.layout.decoded_text(&description);
                }
            }
        }
    }

    fn close(&mut self, name: &str) {
        match role(name) {
            Role::Inline | Role::Cell | Role::Break | Role::Rule | Role::Image => {}
            Role::Line | Role::Item => self.layout.gap(Gap::Line),
            Role::Block => self.layout.gap(Gap::Blank),
            Role::List => self.layout.end_list(),
            Role::Quote => self.layout.end_quote(),
            Role::Preformatted => self.layout.end_preformatted(),
            Role::Anchor => self.end_link(),
        }
    }

    fn end_link(&mut self) {
        let Some(link) = self.link.take() else {
            return;
        };
        let label = self.layout.written_since(link.label_start());
        if label.trim().is_empty() {
            self.layout.decoded_text(link.target());
        } else if !link.matches_label(label) {
            self.layout.append(&format!(" ({})", link.target()));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn elements_are_laid_out_as_text() {
        for (html, expected) in [
            ("", ""),
            ("plain", "plain"),
            ("  a \n b\t<b>c</b> ", "a b c"),
            ("<p>One</p><p>Two</p>", "One\n\nTwo"),
            ("<h1>Title</h1>\n<div>a</div>\n<div>b</div>", "Title\n\na\nb"),
            ("a<br>b<br><br><br>c", "a\nb\n\nc"),
            ("x &amp; y &lt;z&gt; &nbsp; &eacute;&#8364;&#x1F600;", "x & y <z> é€😀"),
            ("<ul><li>a</li><li>b<ul><li>c</ul></ul><p>d", "- a\n- b\n  - c\n\nd"),
            ("<ol><li>a<br>more<li>b</ol>", "1. a\n  more\n2. b"),
            ("<blockquote>a<br>b</blockquote>c", "> a\n> b\n\nc"),
            ("<pre>a\n  b\n</pre>c", "a\n  b\n\nc"),
            ("a<hr>b", "a\n\n----------\n\nb"),
            ("<table><tr><td>Tea</td><td>2 €</td></tr><tr><th>Sum</th><td>2 €</td></tr></table>", "Tea  2 €\nSum  2 €"),
            ("<img src=x alt='Our logo'><img src=y>", "Our logo"),
            ("3 < 4 > 2 <3", "3 < 4 > 2 <3"),
        ] {
            assert_eq!(text_from_html(html), expected, "{html}");
        }
    }

    #[test]
    fn a_link_shows_its_target_once() {
        for (html, expected) in [
            ("<a href='https://a.co/x?b=1&amp;c=2'>Go</a>!", "Go (https://a.co/x?b=1&c=2)!"),
            ("<a href=https://a.co/>a.co</a>", "a.co"),
            ("<a href=\"https://a.co\">HTTPS://A.co</a>", "HTTPS://A.co"),
            ("<a href='mailto:me@a.co?subject=x'>Write</a>", "Write (me@a.co)"),
            ("<a href='mailto:me@a.co'>me@a.co</a>", "me@a.co"),
            ("<a href='https://a.co'><img src=x></a>", "https://a.co"),
            ("<a href='https://a.co'><img alt=Logo></a>", "Logo (https://a.co)"),
            ("<a href='https://a.co'><div>Button</div></a>after", "Button (https://a.co)\nafter"),
            ("<a href='#top'>Up</a> <a href='javascript:x()'>Run</a> <a>no</a>", "Up Run no"),
            ("<a href='https://a.co'>one<a href='https://b.co'>two", "one (https://a.co)two (https://b.co)"),
            ("<a href='https://a.co/a b\"'>x</a>", "x (https://a.co/a%20b%22)"),
        ] {
            assert_eq!(text_from_html(html), expected, "{html}");
        }
    }

    #[test]
    fn hidden_content_is_omitted() {
        for (html, expected) in [
            ("<style>p{color:red}</style><script>if (a < b) {}</script><p>x", "x"),
            ("<head><title>T</title></head><body>x</body>", "x"),
            ("<!-- a > b --><!DOCTYPE html><?xml ?>x<!--[if mso]><p>y</p><![endif]-->", "x"),
            ("<div style='color:red; DISPLAY : none'>a<div>b</div>c</div>x", "x"),
            ("<span hidden>a</span><p style=\"display:none !important\">b</p>x", "x"),
            ("<img hidden alt=a>x", "x"),
            ("x&#847;&zwnj;&nbsp;&zwnj;&nbsp;&#8203;y", "x y"),
            ("<svg><text>a</text></svg>x<template><p>b</template>", "x"),
            ("<SCRIPT>a</SCRIPTX></script >x", "x"),
        ] {
            assert_eq!(text_from_html(html), expected, "{html}");
        }
    }

    #[test]
    fn malformed_markup_is_accepted() {
        for (html, expected) in [
            ("a<", "a<"),
            ("a</", "a"),
            ("a<b", "a"),
            ("a<a href='", "a"),
            ("a<!--", "a"),
            ("a<!-->b", "ab"),
            ("a</>b", "ab"),
            ("a<script>b", "a"),
            ("</ul></li></blockquote></pre>a", "a"),
            ("<a title=it's href=https://a.co>x</a>", "x (https://a.co)"),
        ] {
            assert_eq!(text_from_html(html), expected, "{html}");
        }
    }

    #[test]
    fn deep_and_long_markup_is_converted_within_the_limit() {
        for html in [
            "<div>".repeat(100_000),
            "<ul><li>x".repeat(50_000),
            "<blockquote>x".repeat(50_000),
            "<a href=https://a.co>".repeat(50_000),
            "<div hidden>".repeat(50_000),
            "<script>".repeat(50_000),
            "<!--".repeat(100_000),
            "&".repeat(500_000),
            "<".repeat(500_000),
            "<a b='".repeat(50_000),
            "x".repeat(1_000_000),
        ] {
            assert!(text_from_html(&html).len() <= layout::TEXT_BYTES_MAX);
        }
    }

    proptest! {
        #[test]
        fn any_markup_gives_trimmed_text(
            html in "(<[a-z/!]{0,3}|[a-z <>\"'=&;#-]|<li>|<pre>|<a href='https://a.co'>|\\PC|\n){0,60}"
        ) {
            let text = text_from_html(&html);
            prop_assert_eq!(text.trim(), text.as_str());
            prop_assert!(!text.chars().any(|c| c.is_ascii_control() && c != '\n' && c != '\t'));
            prop_assert!(!text.contains("\n\n\n"));
        }
    }
}

//! The links and images of a source, with their place. Pure.

use std::ops::Range;

use pulldown_cmark::{Event, Parser, Tag, TagEnd};

use super::parser::{is_image_allowed, is_link_allowed, options, text_of};
use super::tokens;

/// A link or an image of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MarkdownTarget {
    /// Bytes of the source.
    pub range: Range<usize>,
    /// The URL, with its placeholders.
    pub url: String,
    pub is_image: bool,
    /// Whether the HTML has the link or the image.
    pub is_allowed: bool,
    /// Text of the link, or alternative text of the image.
    pub label: String,
}

/// Lists the links and images of a source, in order. Their number is bounded by the size of the source.
pub fn outline(source: &str) -> Vec<MarkdownTarget> {
    let (tokens, source) = tokens::replace(source);
    let mut targets: Vec<MarkdownTarget> = Vec::new();
    // Indexes of the open links and images.
    let mut open: Vec<usize> = Vec::new();
    for (event, range) in Parser::new_ext(&source, options()).into_offset_iter() {
        let (url, is_image) = match &event {
            Event::Start(Tag::Link { dest_url, .. }) => (dest_url, false),
            Event::Start(Tag::Image { dest_url, .. }) => (dest_url, true),
            Event::End(TagEnd::Link | TagEnd::Image) => {
                open.pop();
                continue;
            }
            event => {
                if let (Some(at), Some(text)) = (open.last(), text_of(event)) {
                    targets[*at].label.push_str(&tokens.restore(text));
                }
                continue;
            }
        };
        open.push(targets.len());
        targets.push(MarkdownTarget {
            range,
            url: tokens.restore(url),
            is_image,
            is_allowed: if is_image { is_image_allowed(url) } else { is_link_allowed(url, &tokens) },
            label: String::new(),
        });
    }
    targets
}

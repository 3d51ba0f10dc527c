//! The HTML of an email for a frame. Pure.
//!
//! The policy of the response is the protection (`dashboard/policy.rs`): no script, no form, no request except for images.
//! Two elements are disarmed in addition. `link` can make a browser look up a host, which no policy forbids, and `base`
//! would change where links lead.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{DOCTYPE, PreEscaped, html};

use crate::base::percent;

/// Maximum size of all inline images of a preview.
const IMAGES_BYTES_MAX: usize = 10 << 20;
/// Beginning of the URL of an inline image.
const SCHEME: &[u8] = b"cid:";
/// Elements that are disarmed.
const DISARMED: [&str; 2] = ["link", "base"];
/// Style of the forced dark mode: the colours of the whole page are inverted, except for those of images.
const DARK_STYLE: &str = "<style>html{background:#fff!important;filter:invert(1) hue-rotate(180deg)!important}\
                          img,video,[background]{filter:invert(1) hue-rotate(180deg)!important}</style>";
/// Style of the page of an email without HTML.
const TEXT_STYLE: &str =
    "body{margin:16px;font:14px/20px ui-monospace,monospace;white-space:pre-wrap;overflow-wrap:anywhere}";

/// An inline image: content id, media type and bytes.
pub(super) type InlineImage = (String, String, Vec<u8>);

/// Colours of a preview.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PreviewColours {
    AsWritten,
    /// As mail clients that invert the colours of every email.
    ForcedDark,
}

/// Returns the page of an email.
pub(super) fn page(html: Option<&str>, text: Option<&str>, images: &[InlineImage], colours: PreviewColours) -> String {
    let page = match html {
        Some(html) => with_images(&disarmed(html), images),
        None => text_page(text.unwrap_or_default()),
    };
    match colours {
        PreviewColours::AsWritten => page,
        PreviewColours::ForcedDark => page + DARK_STYLE,
    }
}

/// Returns the page of an email without HTML.
fn text_page(text: &str) -> String {
    let page = html! {
        (DOCTYPE)
        meta charset="utf-8";
        style { (PreEscaped(TEXT_STYLE)) }
        (text)
    };
    page.into_string()
}

/// Renames the tags of the disarmed elements.
fn disarmed(html: &str) -> String {
    let mut page = String::with_capacity(html.len() + 64);
    let mut rest = html;
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at + 1);
        page.push_str(before);
        let name_at = usize::from(tag.starts_with('/'));
        let is_disarmed = DISARMED.iter().any(|name| {
            let found = tag.as_bytes().get(name_at..name_at + name.len());
            let follows = tag.as_bytes().get(name_at + name.len());
            found.is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
                && follows.is_none_or(|next| !next.is_ascii_alphanumeric() && *next != b'-')
        });
        if is_disarmed {
            page.push_str(&tag[..name_at]);
            page.push_str("x-");
        }
        rest = &tag[if is_disarmed { name_at } else { 0 }..];
    }
    page.push_str(rest);
    page
}

/// Replaces the references to inline images by their bytes (RFC 2392). An image of an opaque origin gets no cookie, so that
/// no URL of this server could show it.
fn with_images(html: &str, images: &[InlineImage]) -> String {
    let known: HashMap<&[u8], &InlineImage> =
        images.iter().filter(|image| is_image(image)).map(|image| (image.0.as_bytes(), image)).collect();
    if known.is_empty() {
        return html.to_owned();
    }
    let mut page = String::with_capacity(html.len());
    let (mut rest, mut bytes_left) = (html, IMAGES_BYTES_MAX);
    while let Some(at) = rest.as_bytes().windows(SCHEME.len()).position(|part| part.eq_ignore_ascii_case(SCHEME)) {
        let (before, reference) = rest.split_at(at);
        let end = reference.find(|c: char| c.is_whitespace() || "\"'<>()".contains(c)).unwrap_or(reference.len());
        let (reference, after) = reference.split_at(end);
        page.push_str(before);
        rest = after;
        let name = percent::decode(&reference[SCHEME.len()..]).unwrap_or_default();
        // Each place of an image has all of its bytes.
        let image = known.get(name.as_slice()).filter(|(_, _, bytes)| bytes.len() <= bytes_left);
        match image {
            Some((_, content_type, bytes)) => {
                bytes_left -= bytes.len();
                page.push_str(&format!("data:{content_type};base64,"));
                STANDARD.encode_string(bytes, &mut page);
            }
            None => page.push_str(reference),
        }
    }
    page.push_str(rest);
    page
}

/// Returns whether a part is an image whose media type can be written into a URL.
fn is_image((content_id, content_type, _): &InlineImage) -> bool {
    !content_id.is_empty()
        && content_type.starts_with("image/")
        && content_type.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/+.-".contains(&byte))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_to_other_files_and_base_addresses_are_disarmed() {
        for (html, expected) in [
            ("<LINK rel=preconnect href=//x.example>", "<x-LINK rel=preconnect href=//x.example>"),
            ("<base href=//x.example></base>", "<x-base href=//x.example></x-base>"),
            ("<link/><link", "<x-link/><x-link"),
            ("<basefont><links><a href=\"#\">link</a>", "<basefont><links><a href=\"#\">link</a>"),
            ("1 < 2 <é", "1 < 2 <é"),
        ] {
            assert_eq!(disarmed(html), expected);
        }
    }

    fn image(content_id: &str, content_type: &str, bytes: &[u8]) -> InlineImage {
        (content_id.to_owned(), content_type.to_owned(), bytes.to_vec())
    }

    fn shown(html: &str, images: &[InlineImage]) -> String {
        page(Some(html), None, images, PreviewColours::AsWritten)
    }

    #[test]
    fn an_inline_image_is_part_of_the_page() {
        let images = [
            image("logo", "image/png", b"hi"),
            image("logo2", "image/gif", b"ho"),
            image("a b@x", "image/png", b"x"),
            image("odd", "image/png;\"", b"x"),
            image("page", "text/html", b"x"),
        ];

        for (html, expected) in [
            ("<img src=\"cid:logo\">", "<img src=\"data:image/png;base64,aGk=\">"),
            ("<img src=cid:logo2><b>", "<img src=data:image/gif;base64,aG8=><b>"),
            ("url('CID:logo')", "url('data:image/png;base64,aGk=')"),
            ("<img src='cid:a%20b%40x'>", "<img src='data:image/png;base64,eA=='>"),
            ("<img src='cid:odd'><a href='cid:page'>", "<img src='cid:odd'><a href='cid:page'>"),
            ("<img src='cid:logo3'> é cid:", "<img src='cid:logo3'> é cid:"),
        ] {
            assert_eq!(shown(html, &images), expected);
        }
    }

    #[test]
    fn images_are_bounded_over_all_their_places() {
        let images = [image("a", "image/png", &vec![0; IMAGES_BYTES_MAX / 2 + 1])];

        let page = shown("<img src=cid:a><img src=cid:a>", &images);

        assert!(page.starts_with("<img src=data:image/png;base64,AAAA"), "{}", &page[..40]);
        assert!(page.ends_with("<img src=cid:a>"));
    }

    proptest! {
        #[test]
        fn no_html_keeps_a_disarmed_element(html in "(<|/|link|LINK|base|Base|cid:a|cid:|[ >a\"é]){0,40}") {
            let page = shown(&html, &[image("a", "image/png", b"x")]).to_ascii_lowercase();

            for name in DISARMED {
                for (at, _) in page.match_indices(&format!("<{name}")).chain(page.match_indices(&format!("</{name}"))) {
                    let rest = page[at..].trim_start_matches(['<', '/']);
                    let follows = rest[name.len()..].bytes().next();
                    prop_assert!(follows.is_some_and(|next| next.is_ascii_alphanumeric() || next == b'-'), "{page}");
                }
            }
        }
    }

    #[test]
    fn a_text_is_shown_as_text_and_dark_mode_is_a_style_after_the_page() {
        let text = page(None, Some("<script>alert(1)</script> & more"), &[], PreviewColours::AsWritten);
        assert!(text.starts_with("<!DOCTYPE html><meta charset=\"utf-8\"><style>body{"), "{text}");
        assert!(text.ends_with("&lt;script&gt;alert(1)&lt;/script&gt; &amp; more"), "{text}");

        let dark = page(Some("<p>Hi"), None, &[], PreviewColours::ForcedDark);
        assert_eq!(dark, format!("<p>Hi{DARK_STYLE}"));
    }
}

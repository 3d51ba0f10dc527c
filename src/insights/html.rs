//! The links, the images and the visible text of an HTML part, read in one pass. Pure.
//!
//! The reader is a streaming parser with a bound of memory. It knows the tags and their own styles, and applies no
//! style sheet. Text that only a style sheet hides counts as visible, and text of size zero that only a style sheet
//! enlarges does not.

use std::borrow::Cow;
use std::cell::RefCell;
use std::rc::Rc;

use lol_html::html_content::{Element, TextChunk, TextType};
use lol_html::{HandlerResult, HtmlRewriter, MemorySettings, Settings, doc_text, element};

use super::hosts::web_url;
use super::style::OwnStyle;
use super::unsubscribe::is_unsubscribe_url;
use crate::base::char_reference;

/// Maximum number of links. The rest of them is not checked.
pub(super) const LINKS_MAX: usize = 1_000;
/// Maximum number of further links that look like unsubscribe links, which are at the end of most emails.
const UNSUBSCRIBE_LINKS_MAX: usize = 100;
/// Bytes of an HTML part that are read.
pub(super) const HTML_BYTES_MAX: usize = 4 << 20;
/// Memory of the parser, for the open elements.
const MEMORY_MAX: usize = 1 << 20;
/// Bytes of a URL, after which it is cut.
const URL_BYTES_MAX: usize = 2_048;
/// Characters of the text of a link.
const LINK_TEXT_CHARS_MAX: usize = 200;
/// Maximum number of hosts of images.
const IMAGE_HOSTS_MAX: usize = 100;

/// The content of an HTML part.
#[derive(Debug, Default)]
pub(super) struct HtmlReading {
    /// Links in order.
    pub(super) links: Vec<HtmlLink>,
    /// Number of visible images, without those of one pixel.
    pub(super) images: usize,
    pub(super) images_without_alt: usize,
    /// Number of inline SVG elements, and of images whose file is SVG.
    pub(super) svgs: usize,
    /// Hosts of the images, each once.
    pub(super) image_hosts: Vec<String>,
    /// Number of visible characters, without spaces.
    pub(super) visible_chars: usize,
    /// Whether the part was read to its end.
    pub(super) is_complete: bool,
}

/// A link.
#[derive(Debug, Default)]
pub(super) struct HtmlLink {
    pub(super) url: String,
    /// Start of the visible text.
    pub(super) text: String,
    /// Byte of its tag in the HTML part.
    pub(super) at: usize,
    /// Whether it has visible text or a visible image.
    pub(super) is_visible: bool,
}

/// Reads an HTML part.
pub(super) fn read(html: &str) -> HtmlReading {
    let shared = Rc::new(RefCell::new(HtmlReader::default()));
    let is_read = parse(html, &shared);
    let mut reading = std::mem::take(&mut shared.borrow_mut().reading);
    reading.is_complete = is_read && html.len() <= HTML_BYTES_MAX;
    reading
}

fn parse(html: &str, shared: &Rc<RefCell<HtmlReader>>) -> bool {
    let (elements, texts) = (Rc::clone(shared), Rc::clone(shared));
    let settings = Settings::new()
        .append_element_content_handler(element!("*", move |element| HtmlReader::open(&elements, element)))
        .append_document_content_handler(doc_text!(move |chunk| {
            texts.borrow_mut().text(chunk);
            Ok(())
        }))
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(MEMORY_MAX))
        .with_strict(false);
    let mut rewriter = HtmlRewriter::new(settings, |_: &[u8]| {});
    rewriter.write(&html.as_bytes()[..html.len().min(HTML_BYTES_MAX)]).is_ok() && rewriter.end().is_ok()
}

#[derive(Debug, Default)]
struct HtmlReader {
    reading: HtmlReading,
    /// The link whose text is being read.
    open_link: Option<usize>,
    /// Whether an open element hides its content.
    is_hidden: bool,
    /// Whether the size of text is zero, for each open element that changes it. MJML has text of that size around every
    /// block, and each block sets its own size.
    font_zeros: Vec<bool>,
}

impl HtmlReader {
    fn open(shared: &Rc<RefCell<Self>>, element: &mut Element<'_, '_>) -> HandlerResult {
        let mut reader = shared.borrow_mut();
        let was_hidden = reader.is_hidden;
        let style = OwnStyle::of(element);
        let is_hidden = was_hidden || style.hides;
        let link = match element.tag_name().as_str() {
            "a" => reader.link(element, false),
            // An area has no content: its image shows it.
            "area" => {
                reader.link(element, !is_hidden);
                None
            }
            "img" if !is_hidden => {
                reader.image(element);
                None
            }
            "svg" => {
                reader.reading.svgs += 1;
                None
            }
            _ => None,
        };
        // Only a link, the outermost hidden element and a change of the size need their end, so that few handlers exist at
        // a time.
        let hides = is_hidden && !was_hidden;
        let font_zero = style.is_font_zero.filter(|is_zero| *is_zero != reader.is_font_zero());
        if (link.is_some() || hides || font_zero.is_some())
            && let Some(ends) = element.end_tag_handlers()
        {
            reader.is_hidden = is_hidden;
            reader.open_link = link.or(reader.open_link);
            let outer = reader.font_zeros.len();
            reader.font_zeros.extend(font_zero);
            let shared = Rc::clone(shared);
            ends.push(Box::new(move |_| {
                let mut reader = shared.borrow_mut();
                if hides {
                    reader.is_hidden = false;
                }
                if link.is_some() {
                    reader.open_link = None;
                }
                // One end tag can end several elements, in any order.
                reader.font_zeros.truncate(outer);
                Ok(())
            }));
        }
        Ok(())
    }

    fn is_font_zero(&self) -> bool {
        self.font_zeros.last().is_some_and(|is_zero| *is_zero)
    }

    /// Adds a link, and returns its number; `None` if it has no URL, or there are too many.
    fn link(&mut self, element: &Element<'_, '_>, is_visible: bool) -> Option<usize> {
        let url = element.get_attribute("href")?;
        let url = cut(decoded(url.trim()), URL_BYTES_MAX);
        let known = self.reading.links.len();
        let has_place = known < LINKS_MAX || (known < LINKS_MAX + UNSUBSCRIBE_LINKS_MAX && is_unsubscribe_url(&url));
        if !has_place {
            return None;
        }
        let at = element.source_location().bytes().start;
        self.reading.links.push(HtmlLink { url, at, is_visible, ..HtmlLink::default() });
        Some(known)
    }

    fn image(&mut self, element: &Element<'_, '_>) {
        let is_dot = |name| element.get_attribute(name).is_some_and(|size| matches!(size.trim(), "0" | "1" | "1px"));
        if is_dot("width") || is_dot("height") {
            return;
        }
        self.reading.images += 1;
        self.reading.images_without_alt += usize::from(!element.has_attribute("alt"));
        let src = element.get_attribute("src").unwrap_or_default();
        let src = src.trim();
        self.reading.svgs += usize::from(is_svg(src));
        if self.reading.image_hosts.len() < IMAGE_HOSTS_MAX
            && let Some(url) = web_url(&decoded(src.get(..URL_BYTES_MAX).unwrap_or(src)))
        {
            let host = url.host.name().unwrap_or_default().to_owned();
            if !host.is_empty() && !self.reading.image_hosts.contains(&host) {
                self.reading.image_hosts.push(host);
            }
        }
        if let Some(link) = self.open_link() {
            link.is_visible = true;
        }
    }

    fn text(&mut self, chunk: &TextChunk<'_>) {
        if self.is_hidden || self.is_font_zero() || chunk.text_type() != TextType::Data {
            return;
        }
        let text = decoded(chunk.as_str());
        let visible = text.chars().filter(|c| is_visible(*c)).count();
        self.reading.visible_chars += visible;
        if let Some(link) = self.open_link() {
            link.is_visible |= visible > 0;
            let left = LINK_TEXT_CHARS_MAX.saturating_sub(link.text.chars().count());
            link.text.extend(text.chars().filter(|c| c.is_whitespace() || is_visible(*c)).take(left));
        }
    }

    fn open_link(&mut self) -> Option<&mut HtmlLink> {
        self.reading.links.get_mut(self.open_link?)
    }
}

fn is_svg(src: &str) -> bool {
    let path = src.split(['?', '#']).next().unwrap_or_default();
    let ends = path.len().checked_sub(4).and_then(|at| path.get(at..));
    ends.is_some_and(|end| end.eq_ignore_ascii_case(".svg"))
        || src.get(..14).is_some_and(|start| start.eq_ignore_ascii_case("data:image/svg"))
}

/// Returns whether a character takes space on the screen. The fillers of a preview text do not.
fn is_visible(c: char) -> bool {
    let is_filler = matches!(c, '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2060}'..='\u{2064}' | '\u{feff}');
    !is_filler && !c.is_whitespace() && !c.is_control()
}

/// Replaces the character references of HTML that texts and URLs of emails use.
fn decoded(text: &str) -> Cow<'_, str> {
    char_reference::decode_all(text, char_reference::decode)
}

fn cut(text: Cow<'_, str>, bytes_max: usize) -> String {
    if text.len() <= bytes_max {
        return text.into_owned();
    }
    let end = (0..=bytes_max).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    text[..end].to_owned()
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn links_have_their_url_their_text_and_their_place() {
        let html = "<p>Hi <a href=\"https://e.example/?a&amp;b\">Read <b>more</b></a> and <A HREF=x><img src=y></A>\
                    <a name=top>z</a>";

        let reading = read(html);

        let links: Vec<_> = reading.links.iter().map(|it| (it.url.as_str(), it.text.as_str(), it.is_visible)).collect();
        assert_eq!(links, [("https://e.example/?a&b", "Read more", true), ("x", "", true)]);
        assert!(reading.links.iter().all(|link| html[link.at..].to_ascii_lowercase().starts_with("<a href")));
        assert!(reading.is_complete);
    }

    #[test]
    fn text_of_styles_scripts_comments_titles_and_hidden_elements_is_not_visible() {
        for (html, expected) in [
            ("<p>Hi you</p>", 5),
            ("<style>a{}</style><script>x</script><title>t</title><!-- c -->Hi", 2),
            ("<div style='display: NONE'>secret<b>x</b></div>Hi", 2),
            ("<div hidden>secret</div>Hi", 2),
            ("<div style='font-size:0px'>secret</div>Hi", 2),
            ("<div style='font-size:0.9em;line-height:0'>Hi</div>", 2),
            ("<div style='opacity:0'>secret</div><div style='opacity:0.5'>Hi</div>", 2),
            ("<div style='max-height:0;overflow:hidden'>secret</div>Hi", 2),
            ("&nbsp;&zwnj;&#8203;&#847;H&#105;", 2),
            ("&thinsp;&lrm;&hellip;&eacute;", 2),
            ("<div style='display:none'><div style='display:none'>a</div>b</div>Hi", 2),
        ] {
            assert_eq!(read(html).visible_chars, expected, "{html}");
        }
    }

    #[test]
    fn a_link_without_visible_content_is_not_visible() {
        for (html, expected) in [
            ("<a href=x>y</a>", true),
            ("<a href=x></a>y", false),
            ("<a href=x style='display:none'>y</a>", false),
            ("<div hidden><a href=x>y</a></div>", false),
            ("<map><area href=x></map>", true),
            ("<map hidden><area href=x></map>", false),
            ("<a href=x><img width=1 height=1 src=z></a>", false),
        ] {
            assert_eq!(read(html).links[0].is_visible, expected, "{html}");
        }
    }

    #[test]
    fn text_without_size_is_visible_in_an_element_with_a_size_of_its_own() {
        for (html, expected) in [
            ("<td style='font-size:0px'>secret<div style='font-size:15px'>Hi</div>secret</td>Hi", 4),
            ("<td style='font-size:0'><p style='font-size:1em'>secret</p></td>Hi", 2),
            ("<div style='font-size:0'><p style='font-size:9px'>Hi<p style='font-size:0'>secret</div>Hi", 4),
            ("<div style='display:none'><p style='font-size:9px'>secret</p></div>Hi", 2),
            ("<div style='font-size:0'><img style='font-size:13px' src=x>secret</div>Hi", 2),
        ] {
            assert_eq!(read(html).visible_chars, expected, "{html}");
        }
        assert_eq!(read("<td style='font-size:0'><img src=x></td>").images, 1);
    }

    #[test]
    fn the_content_of_emails_of_mjml_is_visible() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/html");
        let mut files = 0;
        for entry in fs::read_dir(&folder).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("mjml-") {
                let reading = read(&fs::read_to_string(folder.join(&name)).unwrap());
                assert!(reading.visible_chars >= 40 && reading.is_complete, "{name}: {}", reading.visible_chars);
                files += 1;
            }
        }
        assert!(files > 0);

        let newsletter = fs::read_to_string(folder.join("mjml-newsletter-plain.html")).unwrap();
        let reading = read(&newsletter.replacen("https://shop.example.com/news/First", "{{{UNSUBSCRIBE_URL}}}", 1));
        assert_eq!(reading.images, 3);
        assert!(reading.links[0].url == "{{{UNSUBSCRIBE_URL}}}" && reading.links.iter().all(|link| link.is_visible));
    }

    #[test]
    fn images_are_counted_with_their_hosts_and_formats() {
        let html = "<img src='https://a.example/1.png' alt=''><img src='https://A.example/2.svg?v=1'>\
                    <img src='data:image/svg+xml,x'><img src='cid:logo' alt=Logo><img src=https://b.example/p width=1>\
                    <svg></svg>";

        let reading = read(html);

        assert_eq!((reading.images, reading.images_without_alt, reading.svgs), (4, 2, 3));
        assert_eq!(reading.image_hosts, ["a.example"]);
    }

    #[test]
    fn a_part_of_any_size_is_read_within_its_bounds() {
        let many = "<a href=https://e.example/>x</a>".repeat(5_000) + "<a href=https://e.example/unsubscribe>x</a>";
        let reading = read(&many);
        assert_eq!((reading.links.len(), reading.is_complete), (LINKS_MAX + 1, true));

        let deep = "<div>".repeat(500_000);
        assert!(!read(&deep).is_complete);

        let large = "é".repeat(HTML_BYTES_MAX / 2 + 1);
        let reading = read(&large);
        assert_eq!((reading.visible_chars, reading.is_complete), (HTML_BYTES_MAX / 2, false));

        let long = format!("<a href='https://e.example/{}'>x</a>", "é".repeat(100_000));
        assert!(read(&long).links[0].url.len() <= URL_BYTES_MAX);
    }

    #[test]
    fn unclosed_links_and_elements_do_not_accumulate() {
        let html = "<a href=x>".repeat(100_000) + &"<p style=display:none>".repeat(100_000);

        assert_eq!(read(&html).links.len(), LINKS_MAX);
    }

    proptest! {
        #[test]
        fn any_text_is_read(html in "(<|>|</|a|img|div|style|=|\"|'|&|;|#|x|href|src|hidden|display:none| |!--|-->|é){0,60}") {
            let reading = read(&html);
            for link in &reading.links {
                prop_assert!(html[link.at..].starts_with('<'));
            }
        }
    }
}

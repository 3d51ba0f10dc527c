//! The edits of the HTML part: the URLs of its links, and the pixel.
//!
//! `lol_html` only finds the positions. The edits are made in the original text, so that all other bytes stay.

use std::cell::{Cell, RefCell};
use std::ops::Range;
use std::rc::Rc;

use lol_html::errors::RewritingError;
use lol_html::html_content::Element;
use lol_html::{HtmlRewriter, MemorySettings, Settings, element, end_tag};
use maud::html;

use super::destination;

/// Most rewritten links of an email. Further links stay as they are. A newsletter has fewer than 200.
pub(super) const LINKS_MAX: usize = 2_000;
/// Memory of the parser for open elements and unfinished tags: some thousand nested elements. The parser refuses HTML that
/// needs more.
const PARSER_BYTES_MAX: usize = 1 << 20;
/// Selector of the links.
const LINKS: &str = "a[href], area[href]";
const BODY_END: &str = "</body";

/// Returns the URL of the rewritten link to a destination; `None` if the link stays as it is.
type LinkUrl<'a> = dyn Fn(&str) -> Option<String> + 'a;

/// Edits of an email.
pub(super) struct Edits<'a> {
    /// URL of each rewritten link; `None` if no link is rewritten.
    pub(super) link: Option<&'a LinkUrl<'a>>,
    /// URL of the pixel.
    pub(super) pixel: Option<&'a str>,
}

/// Positions in an HTML part.
struct Positions {
    /// The value of `href` of each rewritten link, with its new value.
    links: Vec<(Range<usize>, String)>,
    /// Start of the last end tag of the body.
    body_end: Option<usize>,
}

/// Returns the HTML with the edits.
///
/// Costs time linear in the length of the HTML, and [`PARSER_BYTES_MAX`] of memory beside the result.
///
/// # Errors
/// [`RewritingError`] if the parser refuses the HTML.
pub(super) fn rewrite(html: &str, edits: &Edits<'_>) -> Result<String, RewritingError> {
    let Positions { links, body_end } = find_positions(html, edits.link)?;
    let pixel = edits.pixel.map(pixel_element);
    let pixel_at = body_end.or_else(|| unopened_body_end(html)).unwrap_or(html.len());
    let mut edits = links;
    if let Some(pixel) = pixel {
        let index = edits.partition_point(|(range, _)| range.start < pixel_at);
        edits.insert(index, (pixel_at..pixel_at, pixel));
    }
    let added: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut edited = String::with_capacity(html.len() + added);
    let mut copied = 0;
    for (range, text) in edits {
        // The ranges are in order and do not overlap.
        edited.push_str(html.get(copied..range.start).unwrap_or_default());
        edited.push_str(&text);
        copied = range.end;
    }
    edited.push_str(&html[copied..]);
    Ok(edited)
}

fn find_positions(html: &str, link: Option<&LinkUrl<'_>>) -> Result<Positions, RewritingError> {
    let links = RefCell::new(Vec::new());
    let body_end = Rc::new(Cell::new(None::<usize>));
    let settings = Settings::new()
        .with_strict(false)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(PARSER_BYTES_MAX))
        .append_element_content_handler(element!("body", |body| {
            let end = Rc::clone(&body_end);
            if let Some(handlers) = body.end_tag_handlers() {
                handlers.push(end_tag!(move |tag| {
                    let start = tag.source_location().bytes().start;
                    end.set(end.get().max(Some(start)));
                    Ok(())
                }));
            }
            Ok(())
        }))
        .append_element_content_handler(element!(LINKS, |element| {
            let Some(link) = link else { return Ok(()) };
            let mut links = links.borrow_mut();
            if let Some(range) = href_position(element)
                && links.len() < LINKS_MAX
                && let Some(url) = html.get(range.clone()).and_then(destination::of_href).and_then(|to| link(&to))
            {
                links.push((range, escaped(&url)));
            }
            Ok(())
        }));
    let mut parser = HtmlRewriter::new(settings, |_: &[u8]| {});
    parser.write(html.as_bytes())?;
    parser.end()?;
    Ok(Positions { links: links.into_inner(), body_end: body_end.get() })
}

/// Calls `visit` with the value of each `href` of a link, as the HTML has it.
///
/// # Errors
/// [`RewritingError`] if the parser refuses the HTML.
pub(super) fn visit_hrefs(html: &str, mut visit: impl FnMut(&str)) -> Result<(), RewritingError> {
    let settings = Settings::new()
        .with_strict(false)
        .with_memory_settings(MemorySettings::new().with_max_allowed_memory_usage(PARSER_BYTES_MAX))
        .append_element_content_handler(element!(LINKS, |element| {
            if let Some(href) = href_position(element).and_then(|range| html.get(range)) {
                visit(href);
            }
            Ok(())
        }));
    let mut parser = HtmlRewriter::new(settings, |_: &[u8]| {});
    parser.write(html.as_bytes())?;
    parser.end()
}

/// Returns the position of the value of `href`; `None` without one.
fn href_position(element: &Element<'_, '_>) -> Option<Range<usize>> {
    // HTML Standard §13.2.5.33: the first attribute of a name counts.
    let href = element.attributes().iter().find(|attribute| attribute.name() == "href")?;
    href.value_source_location().map(|location| location.bytes())
}

/// Returns the start of an end tag of the body at the end of HTML that does not open the body.
fn unopened_body_end(html: &str) -> Option<usize> {
    let is_end = |at: &usize| {
        html.as_bytes()[*at..].get(..BODY_END.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(BODY_END.as_bytes()))
    };
    let at = html.rmatch_indices("</").map(|(at, _)| at).find(is_end)?;
    let (space, tail) = html[at + BODY_END.len()..].split_once('>')?;
    let tail = tail.trim();
    (space.trim().is_empty() && (tail.is_empty() || tail.eq_ignore_ascii_case("</html>"))).then_some(at)
}

/// Returns the element of the pixel. It is out of the flow, so that it moves nothing, and is not hidden, because programs
/// do not load a hidden image. The important styles precede those that an email sets for all images.
fn pixel_element(url: &str) -> String {
    const STYLE: &str = "position:absolute!important;top:0!important;left:0!important;width:1px!important;\
                         height:1px!important;margin:0!important;padding:0!important;border:0!important;\
                         background:none!important;pointer-events:none";
    html! { img src=(url) width="1" height="1" border="0" alt="" style=(STYLE); }.into_string()
}

/// Returns HTML without the pixels that [`rewrite`] added, also to a quoted message: otherwise a preview by the team would be
/// recorded as an open. Reads the HTML once.
pub fn without_pixels(html: &str) -> String {
    let element = pixel_element("");
    let (before_url, after_url) = element.split_once("\"\"").unwrap_or((&element, ""));
    let start = format!("{before_url}\"");
    let mut kept = String::with_capacity(html.len());
    let mut rest = html;
    while let Some(at) = rest.find(&start) {
        kept.push_str(&rest[..at]);
        let url = &rest[at + start.len()..];
        let is_pixel = |(url, after): &(&str, &str)| url.contains("/t/o/") && after.starts_with(after_url);
        rest = match url.split_once('"').filter(is_pixel) {
            Some((_, after)) => &after[after_url.len()..],
            None => {
                kept.push_str(&start);
                url
            }
        };
    }
    kept.push_str(rest);
    kept
}

/// Returns a URL for an attribute value with or without quotes.
fn escaped(url: &str) -> String {
    html! { (url) }.into_string().replace('\'', "&#39;")
}

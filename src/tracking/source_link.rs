//! The link of a content with merge fields that leads to a destination. Pure.

use super::destination::{VALUE_BYTES_MAX, of_href, url_of_href};
use super::rewrite;

/// Start of a merge field.
const FIELD: &str = "{{{";

/// Returns the link that has a destination after `fill` has replaced the merge fields of its `href`. It is the URL as
/// the HTML has it, with merge fields. A link that is the destination itself precedes others, then the first one.
/// `None` if no link has the destination, or if the parser refuses the HTML. An `href` that is too long to be decoded
/// is not filled.
///
/// Costs time linear in the length of the HTML and of its filled links.
pub fn source_link(html: &str, destination: &str, fill: impl Fn(&str) -> String) -> Option<String> {
    let (mut first, mut is_exact) = (None, false);
    let visit = |href: &str| {
        if is_exact || href.len() > VALUE_BYTES_MAX {
            return;
        }
        if !href.contains(FIELD) {
            is_exact = of_href(href).as_deref() == Some(destination);
        } else if first.is_none() && of_href(&fill(href)).as_deref() == Some(destination) {
            first = url_of_href(href);
        }
    };
    rewrite::visit_hrefs(html, visit).ok()?;
    if is_exact { Some(destination.to_owned()) } else { first }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the link with a destination, for a recipient with the name `Ada & Co`.
    fn found(html: &str, destination: &str) -> Option<String> {
        source_link(html, destination, |href| href.replace("{{{NAME|x&amp;y}}}", "Ada &amp; Co"))
    }

    #[test]
    fn a_link_is_found_by_its_destination_for_a_recipient() {
        let html = "<a href='https://a.example/?n={{{NAME|x&amp;y}}}&amp;p=1'>A</a><a href=https://b.example>B</a>\
                    <map><area href=\" https://c.example/{{{NAME|x&amp;y}}} \"></map>";

        for (destination, expected) in [
            ("https://a.example/?n=Ada & Co&p=1", Some("https://a.example/?n={{{NAME|x&y}}}&p=1")),
            ("https://b.example", Some("https://b.example")),
            ("https://c.example/Ada & Co", Some("https://c.example/{{{NAME|x&y}}}")),
            ("https://a.example/?n=Bob&p=1", None),
            ("https://d.example", None),
        ] {
            assert_eq!(found(html, destination).as_deref(), expected, "{destination}");
        }
    }

    #[test]
    fn a_link_that_is_the_destination_precedes_one_with_merge_fields() {
        let html = "<a href='https://a.example/{{{NAME|x&amp;y}}}'>A</a><a href='https://a.example/Ada &amp; Co'>B</a>";

        assert_eq!(found(html, "https://a.example/Ada & Co").as_deref(), Some("https://a.example/Ada & Co"));
    }

    #[test]
    fn a_link_that_is_too_long_is_not_filled() {
        let long = format!("https://a.example/{{{{{{NAME|{}}}}}}}", "x".repeat(VALUE_BYTES_MAX));
        let html = format!("<a href='{long}'>A</a><a href='https://b.example/{{{{{{NAME|x&amp;y}}}}}}'>B</a>");
        let fill = |href: &str| {
            assert!(href.len() <= VALUE_BYTES_MAX, "{} bytes were filled", href.len());
            href.replace("{{{NAME|x&amp;y}}}", "Ada")
        };

        let found = source_link(&html, "https://b.example/Ada", fill);

        assert_eq!(found.as_deref(), Some("https://b.example/{{{NAME|x&y}}}"));
    }

    #[test]
    fn a_placeholder_without_a_value_has_no_destination() {
        let html = "<a href='https://a.example/?u={{{UNSUBSCRIBE_URL}}}'>A</a>";

        assert_eq!(found(html, "https://a.example/?u={{{UNSUBSCRIBE_URL}}}"), None);
        assert_eq!(found(html, "https://a.example/?u="), None);
    }
}

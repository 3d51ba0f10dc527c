//! Markdown to HTML, with the links and the headings of the served pages. Pure.

use std::collections::HashMap;

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html as markdown};

/// A document as HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RenderedDoc {
    pub(super) title: String,
    pub(super) body: String,
    /// Headings of the second level: id and text.
    pub(super) sections: Vec<(String, String)>,
}

/// Renders a document. A link to another document leads to its page, and one to a file of the repository is text.
pub(super) fn render(source: &str) -> RenderedDoc {
    let options = Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
    let mut events: Vec<Event<'_>> = Vec::new();
    let (mut title, mut sections) = (String::new(), Vec::new());
    let mut ids = HashMap::new();
    // Position of the heading that is being read, and its text.
    let mut heading: Option<(usize, String)> = None;
    // Whether each open link is shown as a link.
    let mut links = Vec::new();
    for event in Parser::new_ext(source, options) {
        if let (Some((_, text)), Event::Text(part) | Event::Code(part)) = (&mut heading, &event) {
            text.push_str(part);
        }
        match event {
            Event::Start(Tag::Heading { .. }) => {
                heading = Some((events.len(), String::new()));
                events.push(event);
            }
            Event::End(TagEnd::Heading(level)) => {
                if let Some((at, text)) = heading.take() {
                    let id = unique(&mut ids, slug(&text));
                    match level {
                        HeadingLevel::H1 if title.is_empty() => title.clone_from(&text),
                        HeadingLevel::H2 => sections.push((id.clone(), text)),
                        _ => {}
                    }
                    let id = Some(CowStr::from(id));
                    events[at] = Event::Start(Tag::Heading { level, id, classes: Vec::new(), attrs: Vec::new() });
                }
                events.push(Event::End(TagEnd::Heading(level)));
            }
            Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
                let target = target(&dest_url);
                links.push(target.is_some());
                if let Some(target) = target {
                    events.push(Event::Start(Tag::Link { link_type, dest_url: target.into(), title, id }));
                }
            }
            Event::End(TagEnd::Link) => {
                if links.pop().unwrap_or(false) {
                    events.push(Event::End(TagEnd::Link));
                }
            }
            Event::Html(html) | Event::InlineHtml(html) => events.push(Event::Text(html)),
            event => events.push(event),
        }
    }
    let mut body = String::with_capacity(source.len() * 2);
    markdown::push_html(&mut body, events.into_iter());
    // Wide code and wide tables scroll, also by keyboard. Text cannot contain the tags.
    let body = body.replace("<pre>", "<pre tabindex=\"0\">").replace("<table>", "<table tabindex=\"0\">");
    RenderedDoc { title, body, sections }
}

/// Returns where a link leads; `None` for a file of the repository.
fn target(link: &str) -> Option<String> {
    if link.starts_with('#') || link.starts_with("https://") || link.starts_with("http://") {
        return Some(link.to_owned());
    }
    let (path, fragment) = link.split_once('#').map_or((link, None), |(path, fragment)| (path, Some(fragment)));
    let name = path.strip_suffix(".md").filter(|name| !name.contains('/') && !name.contains(':'))?;
    Some(match fragment {
        Some(fragment) => format!("/docs/{name}#{fragment}"),
        None => format!("/docs/{name}"),
    })
}

/// Returns the id of a heading in the form of the usual viewers of repositories.
fn slug(text: &str) -> String {
    text.trim()
        .to_lowercase()
        .chars()
        .filter_map(|c| match c {
            ' ' => Some('-'),
            c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
            _ => None,
        })
        .collect()
}

/// Returns an id that no earlier heading has.
fn unique(ids: &mut HashMap<String, usize>, id: String) -> String {
    let count = ids.entry(id.clone()).or_insert(0);
    *count += 1;
    if *count == 1 { id } else { format!("{id}-{}", *count - 1) }
}

/// Returns the page of a document, or of the list of documents if `doc` is `None`.
pub(super) fn page(docs: &[(&str, &str)], current: &str, style: &str, doc: Option<&RenderedDoc>) -> String {
    let title = doc.map_or("Documentation", |doc| doc.title.as_str());
    let list = html! {
        @for (name, about) in docs {
            li { a href={ "/docs/" (name) } aria-current=[(*name == current).then_some("page")] { (about) } }
        }
    };
    let page: Markup = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta name="viewport" content="width=device-width, initial-scale=1";
                meta name="color-scheme" content="light dark";
                title { (title) " · Ringmail " (env!("CARGO_PKG_VERSION")) }
                // Without it, a browser asks for one at a path that does not exist.
                link rel="icon" href="data:,";
                link rel="stylesheet" href=(style);
            }
            body {
                nav aria-label="Documents" {
                    p { a href="/docs" { "Ringmail " (env!("CARGO_PKG_VERSION")) } }
                    ul { (list) li { a href="/docs/openapi.json" { "OpenAPI document" } } }
                    @if let Some(doc) = doc {
                        @if doc.sections.len() > 1 {
                            p { "On this page" }
                            ul { @for (id, text) in &doc.sections { li { a href={ "#" (id) } { (text) } } } }
                        }
                    }
                }
                main {
                    @match doc {
                        Some(doc) => { (PreEscaped(&doc.body)) }
                        None => {
                            h1 { "Documentation" }
                            p { "The documents of this version, as the server has them." }
                            ul { (list) }
                        }
                    }
                }
            }
        }
    };
    page.into_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_have_ids_and_sections() {
        let doc = render("# The API\n\n## Headers and `Host`\n\nText.\n\n## Limits\n\n### Limits\n");

        assert_eq!(doc.title, "The API");
        assert_eq!(
            doc.sections,
            [("headers-and-host", "Headers and Host"), ("limits", "Limits")].map(|(id, text)| (id.into(), text.into()))
        );
        assert!(doc.body.contains("<h2 id=\"headers-and-host\">Headers and <code>Host</code></h2>"), "{}", doc.body);
        assert!(doc.body.contains("<h3 id=\"limits-1\">Limits</h3>"), "{}", doc.body);
    }

    #[test]
    fn links_lead_to_served_documents_and_html_is_text() {
        let doc = render(
            "[a](API.md#headers) [b](STORAGE.md) [c](#x) [d](https://e.example) [f](../SECURITY.md) \
             [g](javascript:alert(1).md)\n\n<script>x</script>\n\nq <b>r</b>\n",
        );

        for part in [
            "<a href=\"/docs/API#headers\">a</a>",
            "<a href=\"/docs/STORAGE\">b</a>",
            "<a href=\"#x\">c</a>",
            "<a href=\"https://e.example\">d</a> f ",
            "&lt;script&gt;x&lt;/script&gt;",
            "q &lt;b&gt;r&lt;/b&gt;",
        ] {
            assert!(doc.body.contains(part), "no {part} in {}", doc.body);
        }
        assert!(!doc.body.contains("javascript"), "{}", doc.body);
    }

    #[test]
    fn tables_are_tables_without_inline_styles() {
        let doc = render("| A | B |\n|---|---|\n| 1 | `2` |\n");

        assert!(doc.body.contains("<table tabindex=\"0\">") && !doc.body.contains("style="), "{}", doc.body);
    }
}

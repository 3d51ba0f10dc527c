//! The documents of this version as the program serves them: as pages, as they are written, and as a list. Pure.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hasher as _};

use maud::{DOCTYPE, Markup, PreEscaped, html};
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html as markdown};

/// The documents: name, and title in lists.
const DOCS: [(&str, &str); 9] = [
    ("API", "API"),
    ("OPERATING", "Operating"),
    ("DASHBOARD", "Dashboard"),
    ("CLIENTS", "Clients"),
    ("IMPORT", "Import and export"),
    ("METRICS", "Metrics"),
    ("STORAGE", "Storage"),
    ("ARCHITECTURE", "Architecture"),
    ("GLOSSARY", "Glossary"),
];

/// A document as HTML.
#[derive(Clone, Debug, PartialEq, Eq)]
struct RenderedDoc {
    title: String,
    body: String,
    /// Headings of the second level: id and text.
    sections: Vec<(String, String)>,
}

/// Returns the files to embed by path: `NAME.html`, `NAME.md`, `list/index.html`, `llms.txt`, and the style sheet below its
/// hash. `read` returns a file of the repository.
///
/// # Errors
/// The errors of `read`.
pub(super) fn files<E>(read: impl Fn(&str) -> Result<String, E>) -> Result<BTreeMap<String, Vec<u8>>, E> {
    let style = read("assets/docs/docs.css")?;
    let mut hash = DefaultHasher::new();
    hash.write(style.as_bytes());
    let style_path = format!("a/{:016x}/docs.css", hash.finish());
    let style_url = format!("/docs/{style_path}");
    let mut files = BTreeMap::new();
    let mut sources = Vec::with_capacity(DOCS.len());
    for (name, about) in DOCS {
        let source = read(&format!("docs/{name}.md"))?;
        files.insert(format!("{name}.html"), page(name, &style_url, Some(&render(&source))));
        sources.push((name, about, source));
    }
    files.insert("list/index.html".to_owned(), page("", &style_url, None));
    files.insert("llms.txt".to_owned(), llms(&sources));
    files.extend(sources.into_iter().map(|(name, _, source)| (format!("{name}.md"), source)));
    files.insert(style_path, style);
    Ok(files.into_iter().map(|(path, text)| (path, text.into_bytes())).collect())
}

/// Returns the list for programs that read text, in the form of llmstxt.org.
fn llms(sources: &[(&str, &str, String)]) -> String {
    let mut text = format!(
        "# Ringmail {}\n\n> An email API with its own delivery in one self-hosted program, compatible with the API of \
         Resend.\n\nThe documents of this version:\n\n",
        env!("CARGO_PKG_VERSION")
    );
    for (name, about, source) in sources {
        let summary = source.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        text.push_str(&format!("- [{about}](/docs/{name}.md): {summary}\n"));
    }
    text.push_str("- [OpenAPI document](/docs/openapi.json): every endpoint with its fields, errors and examples.\n");
    text
}

/// Renders a document. A link to another document leads to its page, and one to a file of the repository is text.
fn render(source: &str) -> RenderedDoc {
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

/// Returns the target of a link; `None` for a file of the repository.
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
fn page(current: &str, style: &str, doc: Option<&RenderedDoc>) -> String {
    let title = doc.map_or("Documentation", |doc| doc.title.as_str());
    let list = html! {
        @for (name, about) in DOCS {
            li { a href={ "/docs/" (name) } aria-current=[(name == current).then_some("page")] { (about) } }
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
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    fn read(path: &str) -> std::io::Result<String> {
        std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path))
    }

    #[test]
    fn every_document_of_this_version_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let names = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".md")?.to_owned())
        });
        let names: BTreeSet<String> = names.collect();

        assert_eq!(names, DOCS.map(|(name, _)| name.to_owned()).into());
        let files = files(read).unwrap();
        for name in names {
            assert!(files.contains_key(&format!("{name}.md")) && files.contains_key(&format!("{name}.html")), "{name}");
        }
    }

    #[test]
    fn every_link_between_documents_has_a_heading() {
        let rendered = DOCS.map(|(name, _)| (name, render(&read(&format!("docs/{name}.md")).unwrap()).body));
        let rendered: BTreeMap<&str, String> = rendered.into();
        for (name, body) in &rendered {
            for link in body.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()) {
                let (path, fragment) = link.split_once('#').unwrap_or((link, ""));
                let target = match path.strip_prefix("/docs/") {
                    Some(target) => target,
                    None if path.is_empty() => name,
                    None => continue,
                };
                let target = rendered.get(target).unwrap_or_else(|| panic!("{name}: {link}"));
                assert!(fragment.is_empty() || target.contains(&format!("id=\"{fragment}\"")), "{name}: {link}");
            }
        }
    }

    #[test]
    fn the_list_for_programs_names_each_document() {
        let files = files(read).unwrap();
        let text = std::str::from_utf8(&files["llms.txt"]).unwrap();

        for (name, _) in DOCS {
            assert!(text.contains(&format!("(/docs/{name}.md): ")), "{text}");
        }
    }

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

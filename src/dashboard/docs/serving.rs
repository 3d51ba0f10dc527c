//! The documents of this version, and the handlers that serve them.

use std::collections::BTreeMap;
use std::sync::Arc;

use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, handler};
use sha2::{Digest as _, Sha256};
use tokio::sync::OnceCell;

use super::render::{page, render};
use crate::base::blocking;
use crate::dashboard::policy::write_page_headers;
use crate::http::StaticText;

/// The documents: name, title in lists, and source.
const DOCS: [(&str, &str, &str); 9] = [
    ("API", "API", include_str!("../../../docs/API.md")),
    ("OPERATING", "Operating", include_str!("../../../docs/OPERATING.md")),
    ("DASHBOARD", "Dashboard", include_str!("../../../docs/DASHBOARD.md")),
    ("CLIENTS", "Clients", include_str!("../../../docs/CLIENTS.md")),
    ("IMPORT", "Import and export", include_str!("../../../docs/IMPORT.md")),
    ("METRICS", "Metrics", include_str!("../../../docs/METRICS.md")),
    ("STORAGE", "Storage", include_str!("../../../docs/STORAGE.md")),
    ("ARCHITECTURE", "Architecture", include_str!("../../../docs/ARCHITECTURE.md")),
    ("GLOSSARY", "Glossary", include_str!("../../../docs/GLOSSARY.md")),
];
const STYLE: &str = include_str!("../../../assets/docs/docs.css");
/// File name of the style sheet.
const STYLE_NAME: &str = "docs.css";
/// Hexadecimal digits of the hash of the style sheet.
const HASH_CHARS: usize = 16;
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

/// The served forms of all documents.
struct DocPages {
    index: Arc<StaticText>,
    /// Page and source of each document.
    docs: BTreeMap<&'static str, (Arc<StaticText>, Arc<StaticText>)>,
    style: Arc<StaticText>,
    style_hash: String,
    llms: Arc<StaticText>,
}

static PAGES: OnceCell<DocPages> = OnceCell::const_new();

impl DocPages {
    fn render() -> Self {
        let digest = Sha256::digest(STYLE.as_bytes());
        let style_hash: String =
            digest.iter().map(|byte| format!("{byte:02x}")).collect::<String>().chars().take(HASH_CHARS).collect();
        let style_path = format!("/docs/a/{style_hash}/{STYLE_NAME}");
        let list = DOCS.map(|(name, about, _)| (name, about));
        let text = |text: String| Arc::new(StaticText::new(text.into_bytes()));
        let docs = DOCS.map(|(name, _, source)| {
            let page = page(&list, name, &style_path, Some(&render(source)));
            (name, (text(page), text(source.to_owned())))
        });
        Self {
            index: text(page(&list, "", &style_path, None)),
            docs: docs.into(),
            style: text(STYLE.to_owned()),
            style_hash,
            llms: text(llms()),
        }
    }
}

/// Returns the pages. The first call renders them on another thread.
async fn pages() -> &'static DocPages {
    PAGES.get_or_init(|| blocking::run(DocPages::render)).await
}

/// Returns the list for programs that read text, in the form of llmstxt.org.
fn llms() -> String {
    let mut text = format!(
        "# Ringmail {}\n\n> An email API with its own delivery in one self-hosted program, compatible with the API of \
         Resend.\n\nThe documents of this version:\n\n",
        env!("CARGO_PKG_VERSION")
    );
    for (name, about, source) in DOCS {
        let summary = source.lines().skip(1).find(|line| !line.trim().is_empty()).unwrap_or_default();
        text.push_str(&format!("- [{about}](/docs/{name}.md): {summary}\n"));
    }
    text.push_str("- [OpenAPI document](/docs/openapi.json): every endpoint with its fields, errors and examples.\n");
    text
}

/// Serves the list of documents, the page of one, or its source.
#[handler]
pub(crate) async fn serve_doc(req: &mut Request, res: &mut Response) {
    let name = req.params().get("name").map(String::as_str).unwrap_or_default();
    let pages = pages().await;
    if let Some(name) = name.strip_suffix(".md") {
        match pages.docs.get(name) {
            Some((_, source)) => write_text(res, MARKDOWN, source),
            None => not_found(res),
        }
        return;
    }
    let page = if name.is_empty() { Some(&pages.index) } else { pages.docs.get(name).map(|(page, _)| page) };
    let Some(page) = page else { return not_found(res) };
    write_page_headers(res.headers_mut());
    page.write(res);
}

/// Serves the style sheet of the pages.
#[handler]
pub(crate) async fn serve_docs_file(req: &mut Request, res: &mut Response) {
    let pages = pages().await;
    let is = |name: &str, value: &str| req.params().get(name).is_some_and(|given| given == value);
    if !is("hash", &pages.style_hash) || !is("file", STYLE_NAME) {
        return not_found(res);
    }
    write_text(res, "text/css; charset=utf-8", &pages.style);
    res.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
}

/// Serves `/llms.txt`.
#[handler]
pub(crate) async fn serve_llms(res: &mut Response) {
    write_text(res, TEXT, &pages().await.llms);
}

fn write_text(res: &mut Response, content_type: &'static str, text: &Arc<StaticText>) {
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    text.write(res);
}

fn not_found(res: &mut Response) {
    res.status_code(StatusCode::NOT_FOUND);
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_document_of_this_version_is_served() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
        let files = std::fs::read_dir(folder).unwrap().filter_map(|entry| {
            let name = entry.unwrap().file_name().into_string().unwrap();
            Some(name.strip_suffix(".md")?.to_owned())
        });

        assert_eq!(files.collect::<BTreeSet<_>>(), DOCS.map(|(name, ..)| name.to_owned()).into());
    }

    #[test]
    fn every_link_between_documents_has_a_heading() {
        let rendered: BTreeMap<&str, String> = DOCS.map(|(name, _, source)| (name, render(source).body)).into();
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
        let text = llms();

        for (name, ..) in DOCS {
            assert!(text.contains(&format!("(/docs/{name}.md): ")), "{text}");
        }
    }
}

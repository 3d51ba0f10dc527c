//! The handlers that serve the documents of this version.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use rust_embed::RustEmbed;
use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, handler};

use crate::dashboard::embedded::texts;
use crate::dashboard::policy::write_page_headers;
use crate::http::StaticText;

/// The documents as `build/docs.rs` has made them.
#[derive(RustEmbed)]
#[folder = "$OUT_DIR/docs/"]
struct Files;

/// The page with the list of documents.
const LIST: &str = "list/index.html";
const MARKDOWN: &str = "text/markdown; charset=utf-8";
const TEXT: &str = "text/plain; charset=utf-8";

static TEXTS: LazyLock<BTreeMap<String, Arc<StaticText>>> = LazyLock::new(texts::<Files>);

/// Serves the list of documents, the page of one, or its source.
#[handler]
pub(crate) async fn serve_doc(req: &mut Request, res: &mut Response) {
    let name = req.params().get("name").map(String::as_str).unwrap_or_default();
    if name.ends_with(".md") {
        return write_text(res, MARKDOWN, name);
    }
    let page = if name.is_empty() { TEXTS.get(LIST) } else { TEXTS.get(&format!("{name}.html")) };
    let Some(page) = page else { return not_found(res) };
    write_page_headers(res.headers_mut());
    page.write(res);
}

/// Serves the style sheet of the pages.
#[handler]
pub(crate) async fn serve_docs_file(req: &mut Request, res: &mut Response) {
    let part = |name: &str| req.params().get(name).map(String::as_str).unwrap_or_default();
    write_text(res, "text/css; charset=utf-8", &format!("a/{}/{}", part("hash"), part("file")));
    if res.status_code != Some(StatusCode::NOT_FOUND) {
        res.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("public, max-age=31536000, immutable"));
    }
}

/// Serves `/llms.txt`.
#[handler]
pub(crate) async fn serve_llms(res: &mut Response) {
    write_text(res, TEXT, "llms.txt");
}

fn write_text(res: &mut Response, content_type: &'static str, path: &str) {
    let Some(text) = TEXTS.get(path) else { return not_found(res) };
    let headers = res.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    text.write(res);
}

fn not_found(res: &mut Response) {
    res.status_code(StatusCode::NOT_FOUND);
}

//! Handlers of the shell and of the files.

use salvo::http::header::{CACHE_CONTROL, CONTENT_TYPE, LOCATION};
use salvo::http::{HeaderValue, StatusCode};
use salvo::{Request, Response, Writer as _, handler};

use super::files::{DEV_HASH, DashboardAssets};
use crate::dashboard::policy::write_page_headers;
use crate::http::State;

/// Serves the shell under every page path. Redirects other paths to `/dashboard/`, also `/dashboard`: the router treats
/// both as one path. The browser has the router of the pages, so that a page path never has a dot.
#[handler]
pub(crate) async fn serve_page(assets: State<DashboardAssets>, req: &mut Request, res: &mut Response) {
    let Some(path) = req.uri().path().strip_prefix("/dashboard/") else {
        res.status_code(StatusCode::TEMPORARY_REDIRECT);
        res.headers_mut().insert(LOCATION, HeaderValue::from_static("/dashboard/"));
        return;
    };
    let shell = if path.contains('.') { None } else { assets.shell().await };
    let Some(shell) = shell else {
        res.status_code(StatusCode::NOT_FOUND);
        return;
    };
    write_page_headers(res.headers_mut());
    shell.write(res);
}

/// Serves a file under the hash of this version. A page of another version gets no file, so that it never mixes two.
#[handler]
pub(crate) async fn serve_asset(assets: State<DashboardAssets>, req: &mut Request, res: &mut Response) {
    let hash = req.params().get("hash").map(String::as_str).unwrap_or_default();
    // The name of a wildcard parameter is that of the path without its stars.
    let prefix = format!("/dashboard/a/{hash}/");
    let path = req.uri().path().strip_prefix(&prefix).unwrap_or_default().to_owned();
    let file = if hash == assets.hash() { assets.find(&path).await } else { None };
    let Some(file) = file else {
        res.status_code(StatusCode::NOT_FOUND);
        res.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        return;
    };
    let caching = if hash == DEV_HASH { "no-store" } else { "public, max-age=31536000, immutable" };
    let headers = res.headers_mut();
    if let Ok(content_type) = HeaderValue::from_str(&file.content_type) {
        headers.insert(CONTENT_TYPE, content_type);
    }
    headers.insert(CACHE_CONTROL, HeaderValue::from_static(caching));
    headers.insert("x-content-type-options", HeaderValue::from_static("nosniff"));
    file.text.write(res);
}

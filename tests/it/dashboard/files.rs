//! The shell, the files and the served documentation.

use super::browser::Browser;
use crate::support::TestServer;

/// Returns the path of the module in the shell.
fn module_path(shell: &str) -> String {
    let (_, rest) = shell.split_once("<script type=\"module\" src=\"").expect("the shell has a module");
    rest.split('"').next().unwrap().to_owned()
}

#[test]
fn every_page_path_has_the_same_shell_and_short_paths_redirect_to_it() {
    let server = TestServer::start();
    let browser = Browser::new(&server);

    let shell = browser.get("/dashboard/");
    assert_eq!((shell.status, shell.header("content-type")), (200, "text/html; charset=utf-8"));
    assert_eq!(shell.header("cache-control"), "no-store");
    for directive in ["default-src 'none'", "script-src 'self'", "require-trusted-types-for 'script'"] {
        assert!(shell.header("content-security-policy").contains(directive), "{shell:?}");
    }
    for path in ["/dashboard/emails", "/dashboard/emails/019b8d6d-f9b0-7000-8000-000000000017", "/dashboard/a-page"] {
        assert_eq!(browser.get(path).body, shell.body, "{path}");
    }
    for path in ["/", "/dashboard"] {
        let page = browser.get(path);
        assert_eq!((page.status, page.header("location")), (307, "/dashboard/"), "{path}");
    }
    for path in ["/dashboard/index.html", "/dashboard/absent.js", "/dashboard/app.js"] {
        browser.get(path).is_error(404, "not_found");
    }
}

#[test]
fn files_are_cached_forever_under_the_hash_of_this_version() {
    let server = TestServer::start();
    let browser = Browser::new(&server);
    let path = module_path(&browser.get("/dashboard/").body);

    let module = browser.get(&path);

    assert_eq!(module.status, 200, "{path}");
    assert_eq!(module.header("content-type"), "text/javascript; charset=utf-8");
    assert_eq!(module.header("cache-control"), "public, max-age=31536000, immutable");
    let hash = path.split('/').nth(3).unwrap();
    assert_eq!(hash.len(), 16, "{path}");
    for other in [
        path.replace(hash, "0123456789abcdef"),
        path.replace(hash, "dev"),
        path.replace("app.js", "absent.js"),
        path.replace("app.js", "../../api/me"),
        path.replace("app.js", "%2e%2e/index.html"),
        path.replace("app.js", "vendor/VENDOR.md"),
    ] {
        let page = browser.get(&other);
        assert!(page.status == 404 || page.status == 401, "{other}: {page:?}");
    }
}

#[test]
fn files_are_compressed_as_the_browser_accepts() {
    let server = TestServer::start();
    let path = module_path(&Browser::new(&server).get("/dashboard/").body);
    for (accepted, coding) in [("br, gzip", "br"), ("gzip", "gzip")] {
        // The body stays compressed, because the agent decodes no brotli.
        let response = ureq::Agent::new_with_defaults()
            .get(format!("{}{path}", server.base()))
            .header("accept-encoding", accepted)
            .call()
            .unwrap();

        assert_eq!(response.headers()["content-encoding"], coding);
        assert_eq!(response.headers()["vary"], "accept-encoding");
    }
}

#[test]
fn a_directory_replaces_the_files_without_caching() {
    let directory = tempfile::tempdir().unwrap();
    std::fs::write(directory.path().join("index.html"), "<p>mine</p>").unwrap();
    std::fs::write(directory.path().join("app.js"), "export {};").unwrap();
    let server = TestServer::start_with(&["--ui-dir", directory.path().to_str().unwrap()]);
    let browser = Browser::new(&server);

    assert_eq!(browser.get("/dashboard/emails").body, "<p>mine</p>");
    let module = browser.get("/dashboard/a/dev/app.js");
    assert_eq!((module.body.as_str(), module.header("cache-control")), ("export {};", "no-store"));
    std::fs::write(directory.path().join("app.js"), "export { };").unwrap();
    assert_eq!(browser.get("/dashboard/a/dev/app.js").body, "export { };");
}

#[test]
fn an_unknown_host_gets_no_dashboard() {
    let server = TestServer::start_with(&["--public-url", "https://mail.example.com", "--dashboard-hosts", "box.lan"]);
    let status = |host: &str, path: &str| Browser::new(&server).with("host", host).get(path).status;

    for host in ["mail.example.com", "localhost:8787", "[::1]:8787", "box.lan:8787"] {
        assert_eq!(status(host, "/dashboard/"), 200, "{host}");
    }
    for path in ["/", "/dashboard", "/dashboard/", "/dashboard/emails", "/dashboard/api/me"] {
        let page = Browser::new(&server).with("host", "evil.example").get(path);
        page.is_error(404, "not_found");
    }
    assert_eq!(status("evil.example", "/health"), 200);
}

#[test]
fn the_documents_of_this_version_are_served() {
    let server = TestServer::start();
    let browser = Browser::new(&server);

    let page = browser.get("/docs/API");
    page.shows(200, "<h2 id=");
    assert!(page.header("content-security-policy").contains("script-src 'self'"), "{page:?}");
    browser.get("/docs").shows(200, "href=\"/docs/DASHBOARD\"");
    let source = browser.get("/docs/API.md");
    assert_eq!((source.status, source.header("content-type")), (200, "text/markdown; charset=utf-8"));
    browser.get("/llms.txt").shows(200, "(/docs/API.md)");
    browser.get("/docs/openapi.json").shows(200, "\"openapi\"");
    let style = page.body.split("href=\"").find(|rest| rest.starts_with("/docs/a/")).unwrap();
    let style = browser.get(style.split('"').next().unwrap());
    assert_eq!((style.status, style.header("content-type")), (200, "text/css; charset=utf-8"));
    for path in ["/docs/absent", "/docs/absent.md", "/docs/a/0/docs.css", "/docs/..%2fREADME.md"] {
        browser.get(path).is_error(404, "not_found");
    }
}

//! `ringmail setup-link` and `ringmail user link`.

use std::fs;

use super::program::{Cli, Server};
use super::terminal::{self, Killed, wait_for};

/// Opens a link and returns the status and the body.
fn open(url: &str) -> (u16, String) {
    let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
    let agent = ureq::Agent::new_with_config(config.max_redirects_will_error(false).build());
    let response = agent.get(url).call().unwrap();
    let status = response.status().as_u16();
    (status, response.into_body().read_to_string().unwrap())
}

/// Returns the URL of a link at the address of a server.
fn at(server: &Server, url: &str) -> String {
    let (_, path) = url.split_once("/dashboard/").unwrap();
    format!("{}/dashboard/{path}", server.api())
}

#[test]
fn a_link_is_printed_alone_and_is_valid_with_and_without_a_server() {
    let cli = Cli::new();
    assert_eq!(cli.serve(&["serve", "--data-dir", "data"]).stop(), 0);

    let before = cli.run(&["setup-link", "--data-dir", "data"]);
    let server = cli.serve(&["serve", "--data-dir", "data"]);
    let (status, page) = open(&at(&server, before.success()));
    assert_eq!((status, page.contains("Create the first account")), (200, true), "{page}");
    let during = cli.run(&["setup-link", "--data-dir", "data"]);

    assert!(during.success().starts_with(&format!("{}/dashboard/setup/", server.api())), "{during:?}");
    assert!(during.stderr.contains("The link works once, until "), "{during:?}");
    assert_eq!(open(&at(&server, before.success())).0, 404, "the newer link replaces it");
    let json = cli.run(&["setup-link", "--data-dir", "data", "--json"]).json();
    let fields: Vec<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(fields, ["expires_at", "url"]);
    assert_eq!(open(json["url"].as_str().unwrap()).0, 200);
}

#[test]
fn serve_prints_the_link_to_a_terminal_and_not_into_a_log() {
    let cli = Cli::new();
    let serve = |data| cli.command(&["serve", "--listen", "127.0.0.1:0", "--data-dir", data]);
    let log = fs::File::create(cli.path("log")).unwrap();
    let server = serve("one").stdout(log.try_clone().unwrap()).stderr(log).spawn().map(Killed).unwrap();
    let printed = wait_for(&cli.path("log"), "serving on");
    assert!(printed.contains("Dashboard") && !printed.contains("/dashboard/setup/"), "{printed}");
    drop(server);

    let _server = terminal::start(&cli, &serve("two"));

    let printed = wait_for(&cli.path("terminal"), "serving on");
    let (before, after) = printed.split_once("/dashboard/setup/").expect("the terminal shows the link");
    let is_secret = |symbol: &char| symbol.is_ascii_alphanumeric() || matches!(symbol, '-' | '_');
    let secret: String = after.chars().take_while(is_secret).collect();
    let (_, server) = before.rsplit_once("http://").unwrap();
    let (status, page) = open(&format!("http://{server}/dashboard/setup/{secret}"));
    assert_eq!((status, page.contains("Create the first account")), (200, true), "{page}");
}

#[test]
fn the_link_starts_with_the_public_url() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--data-dir", "data", "--public-url", "https://mail.example.com/base"]);

    let link = cli.run(&["setup-link", "--data-dir", "data"]);

    assert!(link.success().starts_with("https://mail.example.com/base/dashboard/setup/"), "{link:?}");
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_user_gets_a_link_in_any_team() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--data-dir", "data"]);
    cli.run(&["team", "create", "Other", "--data-dir", "data"]).success();
    cli.run(&["user", "create", "ada@example.com", "--team", "Other", "--data-dir", "data"]).success();

    let link = cli.run(&["user", "link", "ada@example.com", "--data-dir", "data"]);

    let (status, page) = open(link.success());
    assert_eq!((status, page.contains("ada@example.com")), (200, true), "{page}");
    cli.run(&["user", "link", "bob@example.com", "--data-dir", "data"]).failed(3, &["ringmail user create"]);
    assert_eq!(server.stop(), 0);
}

#[test]
fn the_link_of_dev_opens_its_dashboard_and_setup_link_prints_another() {
    let cli = Cli::new();
    let server = cli.serve(&["dev"]);
    let printed = server.menu["dashboard"].as_str().unwrap().to_owned();
    assert!(printed.starts_with(&format!("{}/dashboard/open/", server.api())), "{printed}");

    assert_eq!(open(&printed).0, 303);
    assert_eq!(open(&printed).0, 404);
    let another = cli.run(&["setup-link"]);

    assert_eq!(open(another.success()).0, 303);
    assert_eq!(server.stop(), 0);
}

#[test]
fn a_header_of_a_proxy_needs_trusted_proxies() {
    let cli = Cli::new();

    let output = cli.run(&["serve", "--listen", "127.0.0.1:0", "--auth-proxy-header", "X-Email"]);

    output.failed(2, &["--auth-proxy-header", "--trusted-proxies"]);
    assert!(!cli.path("ringmail-data").exists());
}

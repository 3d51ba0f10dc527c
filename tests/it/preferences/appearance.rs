//! Themes and languages of the page.

use ringmail::audit::Actor;
use ringmail::preferences::{self, ThemeTexts};

use super::{block_on, create_topic, get_page, post, request, team_id, topic_path};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

fn in_language(server: &TestServer, path: &str, language: &str) -> super::PageResponse {
    request(server, "GET", path, &[("accept-language", language)], "")
}

#[track_caller]
fn set_theme(server: &TestServer, texts: ThemeTexts) {
    let by = Actor::CommandLine.in_team(team_id(server));
    block_on(preferences::change_theme(server.context(), by, texts)).unwrap().unwrap();
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_page_has_the_language_of_the_browser() {
    let server = TestServer::start();
    let path = topic_path(&server, create_topic(&server, "News"), ADA);

    for (accept_language, tag, text) in [
        ("de-AT,de;q=0.9,en;q=0.8", "de", "abbestellen?"),
        ("fr", "fr", "Se désabonner de"),
        ("es-419", "es", "Darse de baja de"),
        ("pt-BR,pt;q=0.9", "pt", "Cancelar a inscrição em"),
        ("nl;q=0.7,ja", "nl", "Afmelden voor"),
        ("ja", "en", "Unsubscribe from"),
        ("<script>alert(1)</script>", "en", "Unsubscribe from"),
    ] {
        let page = in_language(&server, &path, accept_language);

        assert_eq!(page.header("content-language"), tag, "{accept_language}");
        assert!(page.header("vary").contains("accept-language"));
        assert!(page.body.contains(&format!("<html lang=\"{tag}\" dir=\"ltr\">")), "{accept_language}");
        assert!(page.text().contains(text), "{accept_language}: {}", page.body);
        assert!(!page.body.contains("<script"));
    }
    let unknown = in_language(&server, "/unsubscribe/x", "de");
    assert!(unknown.text().contains("Dieser Link funktioniert nicht"), "{}", unknown.body);
}

#[test]
fn repeated_accept_language_headers_are_one_list() {
    let server = TestServer::start();
    let path = topic_path(&server, create_topic(&server, "News"), ADA);

    for (lines, tag) in
        [(["ja", "de"], "de"), (["fr;q=0.5", "nl"], "nl"), (["es", "de;q=0.9"], "es"), (["\u{e9}", "pt"], "pt")]
    {
        let page = request(&server, "GET", &path, &lines.map(|line| ("accept-language", line)), "");

        assert_eq!(page.header("content-language"), tag, "{lines:?}");
    }
}

#[test]
fn an_invalid_or_too_long_accept_language_header_is_ignored() {
    let server = TestServer::start();
    let path = topic_path(&server, create_topic(&server, "News"), ADA);

    let long = format!("{}de", "x,".repeat(2_000));
    for accept_language in [&long, "d\u{e9}", ""] {
        let page = in_language(&server, &path, accept_language);

        assert_eq!((page.status, page.header("content-language")), (200, "en"));
    }
}

#[test]
fn the_theme_of_a_team_changes_the_page() {
    let server = TestServer::start();
    let path = topic_path(&server, create_topic(&server, "News"), ADA);
    set_theme(
        &server,
        ThemeTexts {
            brand: some("Acme & <Sons>"),
            message: some("We are sorry to see you go."),
            success: some("Come back soon."),
            background: some("#FFF4E0"),
            text: some("#aaaaaa"),
            accent: some("#ffcc00"),
            ..ThemeTexts::default()
        },
    );

    let page = get_page(&server, &path);

    assert!(page.text().contains("Acme &amp; &lt;Sons&gt;"), "{}", page.body);
    assert!(page.text().contains("We are sorry to see you go.") && !page.text().contains("Come back soon."));
    assert!(page.body.contains("--background:#fff4e0"), "{}", page.body);
    // In light mode, text and accent have too little contrast and are adjusted. In dark mode, the accent is unchanged.
    let (light, dark) = page.body.split_once("@media (prefers-color-scheme").unwrap();
    assert!(!light.contains("--text:#aaaaaa") && !light.contains("--accent:#ffcc00"), "{light}");
    assert!(dark.contains("--accent:#ffcc00"), "{dark}");
    let done = super::post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(done.text().contains("Come back soon.") && !done.text().contains("We are sorry"), "{}", done.body);
    // The page for an invalid link shows no brand.
    assert!(!get_page(&server, "/unsubscribe/x").body.contains("Acme"));
}

#[test]
fn an_unsubscribe_redirects_to_the_url_of_the_theme() {
    let server = TestServer::start();
    let path = topic_path(&server, create_topic(&server, "News"), ADA);
    set_theme(&server, ThemeTexts { redirect: some("https://example.com/bye?a=1&b=2"), ..ThemeTexts::default() });

    // Browsers apply the `form-action` policy of the page to the redirect after a form.
    let policy = get_page(&server, &path);
    let policy = policy.header("content-security-policy");
    assert!(policy.contains("form-action 'self' https://example.com;"), "{policy}");
    for form in ["prefs=1", "undo=1"] {
        assert!(post(&server, &path, form).header("location").starts_with('?'), "{form}");
    }
    for form in ["unsubscribe=topic", "unsubscribe=everything", ""] {
        let response = post(&server, &path, form);
        assert_eq!((response.status, response.header("location")), (303, "https://example.com/bye?a=1&b=2"), "{form}");
    }
    // RFC 8058 §3.1: the response to a one-click request is not a redirect.
    let response = post(&server, &path, super::ONE_CLICK);
    assert_eq!((response.status, response.header("location")), (200, ""));
}

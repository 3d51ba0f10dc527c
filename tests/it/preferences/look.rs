//! How the page looks, and the language it speaks.

use ringmail::preferences::{self, ThemeTexts};

use super::{post, request, show, team, topic, topic_path, wait};
use crate::support::TestServer;

const ADA: &str = "ada@example.org";

fn in_language(server: &TestServer, path: &str, language: &str) -> super::Shown {
    request(server, "GET", path, &[("accept-language", language)], "")
}

#[track_caller]
fn set_theme(server: &TestServer, texts: ThemeTexts) {
    wait(preferences::change_theme(server.context(), team(server), texts)).unwrap().unwrap();
}

fn some(text: &str) -> Option<String> {
    Some(text.to_owned())
}

#[test]
fn the_page_speaks_the_language_of_the_browser() {
    let server = TestServer::start();
    let path = topic_path(&server, topic(&server, "News"), ADA);

    for (asked, tag, says) in [
        ("de-AT,de;q=0.9,en;q=0.8", "de", "abbestellen?"),
        ("fr", "fr", "Se désabonner de"),
        ("es-419", "es", "Darse de baja de"),
        ("pt-BR,pt;q=0.9", "pt", "Cancelar a inscrição em"),
        ("nl;q=0.7,ja", "nl", "Afmelden voor"),
        ("ja", "en", "Unsubscribe from"),
        ("<script>alert(1)</script>", "en", "Unsubscribe from"),
    ] {
        let page = in_language(&server, &path, asked);

        assert_eq!(page.header("content-language"), tag, "{asked}");
        assert!(page.header("vary").contains("accept-language"));
        assert!(page.body.contains(&format!("<html lang=\"{tag}\" dir=\"ltr\">")), "{asked}");
        assert!(page.text().contains(says), "{asked}: {}", page.body);
        assert!(!page.body.contains("<script"));
    }
    let unknown = in_language(&server, "/unsubscribe/x", "de");
    assert!(unknown.text().contains("Dieser Link funktioniert nicht"), "{}", unknown.body);
}

#[test]
fn a_header_in_several_lines_is_one_list() {
    let server = TestServer::start();
    let path = topic_path(&server, topic(&server, "News"), ADA);

    for (lines, tag) in
        [(["ja", "de"], "de"), (["fr;q=0.5", "nl"], "nl"), (["es", "de;q=0.9"], "es"), (["\u{e9}", "pt"], "pt")]
    {
        let page = request(&server, "GET", &path, &lines.map(|line| ("accept-language", line)), "");

        assert_eq!(page.header("content-language"), tag, "{lines:?}");
    }
}

#[test]
fn a_header_that_is_no_text_or_has_no_end_is_passed_over() {
    let server = TestServer::start();
    let path = topic_path(&server, topic(&server, "News"), ADA);

    let long = format!("{}de", "x,".repeat(2_000));
    for asked in [&long, "d\u{e9}", ""] {
        let page = in_language(&server, &path, asked);

        assert_eq!((page.status, page.header("content-language")), (200, "en"));
    }
}

#[test]
fn a_team_makes_the_page_its_own() {
    let server = TestServer::start();
    let path = topic_path(&server, topic(&server, "News"), ADA);
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

    let page = show(&server, &path);

    assert!(page.text().contains("Acme &amp; &lt;Sons&gt;"), "{}", page.body);
    assert!(page.text().contains("We are sorry to see you go.") && !page.text().contains("Come back soon."));
    assert!(page.body.contains("--background:#fff4e0"), "{}", page.body);
    // Too pale for the ground, and moved; on a dark ground the accent is read as it is.
    let (light, dark) = page.body.split_once("@media (prefers-color-scheme").unwrap();
    assert!(!light.contains("--text:#aaaaaa") && !light.contains("--accent:#ffcc00"), "{light}");
    assert!(dark.contains("--accent:#ffcc00"), "{dark}");
    let done = super::post_and_follow(&server, &path, "unsubscribe=topic");
    assert!(done.text().contains("Come back soon.") && !done.text().contains("We are sorry"), "{}", done.body);
    // The neutral page tells nobody's name.
    assert!(!show(&server, "/unsubscribe/x").body.contains("Acme"));
}

#[test]
fn whoever_unsubscribes_is_led_where_the_team_says() {
    let server = TestServer::start();
    let path = topic_path(&server, topic(&server, "News"), ADA);
    set_theme(&server, ThemeTexts { redirect: some("https://example.com/bye?a=1&b=2"), ..ThemeTexts::default() });

    // Browsers hold the redirect that answers a form against the policy of the page.
    let policy = show(&server, &path);
    let policy = policy.header("content-security-policy");
    assert!(policy.contains("form-action 'self' https://example.com;"), "{policy}");
    for form in ["prefs=1", "undo=1"] {
        assert!(post(&server, &path, form).header("location").starts_with('?'), "{form}");
    }
    for form in ["unsubscribe=topic", "unsubscribe=everything", ""] {
        let answer = post(&server, &path, form);
        assert_eq!((answer.status, answer.header("location")), (303, "https://example.com/bye?a=1&b=2"), "{form}");
    }
    // A mail program is led nowhere (RFC 8058 §3.1).
    let answer = post(&server, &path, super::ONE_CLICK);
    assert_eq!((answer.status, answer.header("location")), (200, ""));
}

//! Tests of the tracked HTML. In the expected HTML, `[url]` stands for the tracked link to `url`, and `[pixel]` for the
//! element of the pixel.

use std::sync::LazyLock;

use proptest::prelude::*;

use super::rewrite::LINKS_MAX;
use super::{TrackedRecipient, Tracker, TrackingTokens, without_pixels};
use crate::base::id::Id;
use crate::domains::SenderTracking;
use crate::preferences::{LinkAudience, LinkSettings};
use crate::store::Keyring;

const BASE: &str = "https://mail.example.com:8443/base";
const RECIPIENT: TrackedRecipient = TrackedRecipient { team: Id::MIN, email: Id::MAX, group: 7 };
const OPENS: SenderTracking = SenderTracking { opens: true, clicks: false, host: None };
const CLICKS: SenderTracking = SenderTracking { opens: false, clicks: true, host: None };
const BOTH: SenderTracking = SenderTracking { opens: true, clicks: true, host: None };

/// Shared by the cases of the property tests, because creating a key file waits for the disk.
static KEYRING: LazyLock<Keyring> = LazyLock::new(|| {
    let directory = tempfile::tempdir().unwrap();
    Keyring::open(&directory.path().join("master.key")).unwrap()
});

fn tracker(public_url: &str, audience: LinkAudience) -> Tracker {
    Tracker::new(&KEYRING, &LinkSettings { public_url: public_url.to_owned(), audience })
}

/// Returns the tracked HTML of the recipient.
fn track(tracking: &SenderTracking, html: &str) -> Option<String> {
    tracker(BASE, LinkAudience::Delivered).track(tracking, RECIPIENT, html)
}

/// Returns tracked HTML with the marks of the module's documentation in place of the tracked URLs.
fn marked(tracked: &str, base: &str) -> String {
    let tokens = TrackingTokens::new(&KEYRING);
    let (mut marked, mut rest) = (String::new(), tracked);
    while let Some(at) = rest.find(&format!("{base}/t/")) {
        let (kind, after) = rest[at + base.len() + "/t/".len()..].split_at(2);
        let is_end = |c: char| !c.is_ascii_alphanumeric() && c != '-' && c != '_';
        let (token, after) = after.split_at(after.find(is_end).unwrap_or(after.len()));
        let opened = tokens.open(token).unwrap();
        assert_eq!(opened.recipient, RECIPIENT);
        if let Some(destination) = opened.destination {
            assert_eq!(kind, "c/");
            marked.push_str(&format!("{}[{destination}]", &rest[..at]));
            rest = after;
        } else {
            assert_eq!(kind, "o/");
            let (_, after) = after.split_once('>').unwrap();
            marked.push_str(&format!("{}[pixel]", rest[..at].strip_suffix("<img src=\"").unwrap()));
            rest = after;
        }
    }
    marked + rest
}

#[test]
fn only_web_links_and_the_pixel_change() {
    let own = format!("<a href=\"{BASE}/unsubscribe/abc\">Leave</a>");
    let own_page = format!("{own}[pixel]");
    for (html, expected) in [
        ("", "[pixel]"),
        ("Grüße 📬", "Grüße 📬[pixel]"),
        ("<a href=\"https://a.example/x\">x</a>", "<a href=\"[https://a.example/x]\">x</a>[pixel]"),
        (
            "<A  data-x=\"&amp;\"\tHREF = 'HTTP://a.example/?a=1&amp;b=2' class=c   >x</A >",
            "<A  data-x=\"&amp;\"\tHREF = '[HTTP://a.example/?a=1&b=2]' class=c   >x</A >[pixel]",
        ),
        ("<a href=https://a.example/>x</a>", "<a href=[https://a.example/]>x</a>[pixel]"),
        ("<a href=\" \nhttps://a.example/ \">x</a>", "<a href=\"[https://a.example/]\">x</a>[pixel]"),
        ("<a href=\"https://ä.example/ü\">ö</a>", "<a href=\"[https://ä.example/ü]\">ö</a>[pixel]"),
        (
            "<map><area href='https://a.example' alt=''></map>",
            "<map><area href='[https://a.example]' alt=''></map>[pixel]",
        ),
        (
            "<a href='https://a.example' href='https://b.example'>x</a>",
            "<a href='[https://a.example]' href='https://b.example'>x</a>[pixel]",
        ),
        (
            "<a href=\"mailto:a@b.example\"><a href='tel:1'><a href='#x'><a href='/x'><a href='{{{X}}}'><a href><a>",
            "<a href=\"mailto:a@b.example\"><a href='tel:1'><a href='#x'><a href='/x'><a href='{{{X}}}'><a href><a>[pixel]",
        ),
        (
            "<link href=\"https://a.example\"><img src=\"https://a.example\"><form action=\"https://a.example\"></form>",
            "<link href=\"https://a.example\"><img src=\"https://a.example\"><form action=\"https://a.example\"></form>[pixel]",
        ),
        (
            "<!-- <a href=\"https://a.example\"> --><style>a[href='https://a.example']{}</style>",
            "<!-- <a href=\"https://a.example\"> --><style>a[href='https://a.example']{}</style>[pixel]",
        ),
        ("<html><body><p>x</p></body></html>\r\n", "<html><body><p>x</p>[pixel]</body></html>\r\n"),
        ("<BODY>x<!-- </body> --></Body ></HTML>", "<BODY>x<!-- </body> -->[pixel]</Body ></HTML>"),
        ("<body>x<textarea></body></textarea></body>", "<body>x<textarea></body></textarea>[pixel]</body>"),
        ("<body><body>x</body>y</body>z", "<body><body>x</body>y[pixel]</body>z"),
        ("x</body>\n</html>\n", "x[pixel]</body>\n</html>\n"),
        ("x<!-- </body> -->", "x<!-- </body> -->[pixel]"),
        (&own, &own_page),
    ] {
        assert_eq!(marked(&track(&BOTH, html).unwrap(), BASE), expected);
    }
}

#[test]
fn each_setting_changes_its_own_part() {
    let html = "<body><a href=\"https://a.example\">x</a></body>";

    let both = marked(&track(&BOTH, html).unwrap(), BASE);
    let clicks = marked(&track(&CLICKS, html).unwrap(), BASE);
    let opens = marked(&track(&OPENS, html).unwrap(), BASE);

    assert_eq!(both, "<body><a href=\"[https://a.example]\">x</a>[pixel]</body>");
    assert_eq!(clicks, "<body><a href=\"[https://a.example]\">x</a></body>");
    assert_eq!(opens, "<body><a href=\"https://a.example\">x</a>[pixel]</body>");
    assert_eq!(track(&SenderTracking::default(), html), None);
}

#[test]
fn the_pixel_is_outside_the_flow_and_visible_to_programs() {
    let tracked = track(&OPENS, "").unwrap();

    let (start, attributes) = tracked.split_at(tracked.find("\" ").unwrap());
    assert!(start.starts_with(&format!("<img src=\"{BASE}/t/o/")), "{start}");
    assert_eq!(
        attributes,
        "\" width=\"1\" height=\"1\" border=\"0\" alt=\"\" style=\"position:absolute!important;top:0!important;\
         left:0!important;width:1px!important;height:1px!important;margin:0!important;padding:0!important;\
         border:0!important;background:none!important;pointer-events:none\">"
    );
}

#[test]
fn a_published_tracking_host_replaces_the_host_of_the_public_address() {
    let tracking = SenderTracking { host: Some("links.shop.example".to_owned()), ..BOTH };
    for (public_url, base) in [
        (BASE, "https://links.shop.example:8443"),
        ("https://mail.example.com", "https://links.shop.example"),
        ("http://[2001:db8::1]:8080", "http://links.shop.example:8080"),
        ("http://[2001:db8::1]", "http://links.shop.example"),
    ] {
        let own = format!("<a href='{public_url}/unsubscribe/x'><a href='{base}/unsubscribe/x'>");
        let html = format!("<a href='https://a.example'>{own}");

        let tracked = tracker(public_url, LinkAudience::Delivered).track(&tracking, RECIPIENT, &html).unwrap();

        assert_eq!(marked(&tracked, base), format!("<a href='[https://a.example]'>{own}[pixel]"));
    }
}

#[test]
fn a_public_address_that_recipients_cannot_open_tracks_nothing() {
    let html = "<a href='https://a.example'>x</a>";
    let loopback = "http://127.0.0.1:8787";

    assert_eq!(tracker(loopback, LinkAudience::Delivered).track(&BOTH, RECIPIENT, html), None);
    assert!(tracker(loopback, LinkAudience::Captured).track(&BOTH, RECIPIENT, html).is_some());
}

#[test]
fn a_public_address_is_escaped_in_html() {
    let base = "https://mail.example.com/a&b'c";

    let tracked = tracker(base, LinkAudience::Delivered).track(&CLICKS, RECIPIENT, "<a href='https://a.example'>x</a>");

    let tracked = tracked.unwrap();
    assert!(tracked.starts_with("<a href='https://mail.example.com/a&amp;b&#39;c/t/c/"), "{tracked}");
}

#[test]
fn every_attempt_has_the_same_html_and_every_recipient_another() {
    let html = "<a href='https://a.example'>x</a>";
    let tracker = tracker(BASE, LinkAudience::Delivered);

    let first = tracker.track(&BOTH, RECIPIENT, html);
    let other = tracker.track(&BOTH, TrackedRecipient { group: 8, ..RECIPIENT }, html);

    assert_eq!(first, tracker.track(&BOTH, RECIPIENT, html));
    assert_ne!(first, other);
}

#[test]
fn links_after_the_maximum_stay() {
    let link = "<a href='https://a.example'>x</a>";

    let tracked = track(&CLICKS, &link.repeat(LINKS_MAX + 3)).unwrap();

    assert_eq!(tracked.matches("/t/c/").count(), LINKS_MAX);
    assert!(tracked.ends_with(&link.repeat(3)));
}

#[test]
fn hostile_html_is_refused_or_tracked_in_linear_time() {
    let unclosed = "<a href=\"https://a.example".to_owned() + &"x".repeat(2 << 20);
    for (html, is_tracked) in [
        ("<div>".repeat(200_000), false),
        (unclosed, false),
        ("<a href='https://a.example'>".repeat(500), true),
        ("</b>".repeat(500_000), true),
        (format!("<a {}>", "href=x ".repeat(2_000)), true),
        (format!("<p title=\"{}\">", "x".repeat(1 << 19)), true),
    ] {
        assert_eq!(track(&BOTH, &html).is_some(), is_tracked, "{html:.40}");
    }
}

proptest! {
    #[test]
    fn html_without_tags_only_gains_the_pixel(html in "[^<]{0,200}") {
        prop_assert_eq!(marked(&track(&BOTH, &html).unwrap(), BASE), html + "[pixel]");
    }

    #[test]
    fn html_without_links_stays_without_a_pixel(pieces in proptest::collection::vec(
        "<(p|/p|body|/body|a|svg|script|/script|table)( id=\"x\")?/?>|<!--|-->|[ a-zä&<>\"']{1,8}", 0..20,
    )) {
        let html = pieces.concat();

        if let Some(tracked) = track(&CLICKS, &html) {
            prop_assert_eq!(tracked, html);
        }
    }

    #[test]
    fn tracked_html_without_the_marks_is_the_original(pieces in proptest::collection::vec(
        "<(p|/p|body|/body|/a|title|/title|!--)>|<a (id=x )?href=\"https://a\\.example/x\"( b)?>|[ a-zä&>'-]{1,8}", 0..20,
    )) {
        let html = pieces.concat();

        let marked = marked(&track(&BOTH, &html).unwrap(), BASE);

        prop_assert_eq!(marked.matches("[pixel]").count(), 1);
        prop_assert_eq!(marked.replace("[pixel]", "").replace(['[', ']'], ""), html);
    }

    #[test]
    fn no_html_panics_the_tracker(html in ".{0,200}|(<|a|href|=|\"|'|https://a\\.example|>|/|body| |&#x?){0,40}") {
        let _ = track(&BOTH, &html);
    }
}

#[test]
fn a_preview_has_the_html_without_pixels() {
    let picture = "<img src=\"https://a.example/t/o/x\" width=\"1\"><p>\u{e9}</p>";
    let tracked = track(&OPENS, picture).unwrap();
    let twice = track(&OPENS, &tracked).unwrap();

    for html in [picture, &tracked, &twice] {
        assert_eq!(without_pixels(html), picture);
    }
    assert_eq!(without_pixels("<img src=\""), "<img src=\"");
}

#[test]
fn html_that_resembles_pixels_is_read_once() {
    let pixel = track(&OPENS, "").unwrap();
    let end = &pixel[pixel.find("\" ").unwrap()..];
    let hostile = [end.repeat(20_000), "<img src=\"".repeat(400_000)].concat();

    assert_eq!(without_pixels(&hostile), hostile);
}

//! Each check with an email that passes it and one that fails it.

use super::super::html::HTML_BYTES_MAX;
use super::super::{
    DmarcFacts, InsightCheck, InsightDetail, InsightKind, InsightResult, InsightRow, InsightStatus, score_tenths,
};
use super::draft::{Draft, good, html, plain, result, results, status, with};

#[test]
fn an_email_without_a_problem_has_the_full_score() {
    let results = results(&good());

    let failing: Vec<_> = results.iter().filter(|result| result.status == InsightStatus::Fail).collect();
    assert!(failing.is_empty(), "{failing:?}");
    let checks: Vec<_> = results.iter().map(|result| result.check).collect();
    assert_eq!(checks, InsightCheck::ALL);
    assert_eq!(score_tenths([]), 100);
}

#[test]
fn the_numbers_of_the_checks_and_the_statuses_are_their_positions() {
    for (number, check) in (0..).zip(InsightCheck::ALL) {
        assert_eq!((check.number(), InsightCheck::of_number(number)), (number, Some(check)));
    }
    for (number, status) in (0..).zip(InsightStatus::ALL) {
        assert_eq!(status.number(), number);
    }
}

#[test]
fn weights_are_subtracted_with_a_limit_for_the_minor_checks_and_none_below_zero() {
    use InsightCheck::*;
    for (failing, expected) in [
        (vec![DmarcRecord], 65),
        (vec![ListUnsubscribe, PlainText], 75),
        (vec![LinkDomainsMatch], 88),
        (vec![NoReplyFrom, SvgImages, AttachmentsMarketing], 85),
        (vec![NoReplyFrom, SvgImages, AttachmentsMarketing, ImageTextRatio, TrackingUnbranded, SubjectLint], 85),
        (vec![SubjectLint], 98),
        (vec![ImageAltText, ImagesOffsite, BimiReady, ReplyToPresent], 100),
        (InsightCheck::ALL.to_vec(), 0),
    ] {
        assert_eq!(score_tenths(failing.iter().copied()), expected, "{failing:?}");
    }
}

#[test]
fn a_check_loses_no_more_than_its_part_of_the_score() {
    use InsightCheck::*;
    let lost = |failing: &[InsightCheck], check| {
        let result = |check| {
            let status = InsightStatus::failing_if(failing.contains(&check));
            InsightResult { check, status, detail: InsightDetail::default() }
        };
        InsightRow::new(InsightCheck::ALL.map(result).into(), 0).lost_tenths(check)
    };
    assert_eq!(lost(&[ListUnsubscribe, PlainText], PlainText), 10);
    // The minor checks subtract at most 1.5 together: 1.9 with this check, and 1.4 without it.
    let minor = [NoReplyFrom, SvgImages, AttachmentsMarketing, ImageTextRatio];
    assert_eq!(lost(&minor, SvgImages), 1);
    assert_eq!(lost(&[&minor[..], &[TrackingUnbranded, SubjectLint]].concat(), SubjectLint), 0);
    // No score is below 0.
    assert_eq!(lost(&InsightCheck::ALL, DmarcRecord), 0);
    assert_eq!(lost(&[DmarcRecord, AuthAlignment, ListUnsubscribe, PlainText, NoShorteners], NoShorteners), 5);
}

#[test]
fn the_weights_are_the_documented_ones() {
    let weights: Vec<String> = InsightCheck::ALL
        .iter()
        .map(|check| format!("{} {} {}", check.as_str(), check.severity().as_str(), check.weight_hundredths()))
        .collect();

    insta::assert_snapshot!(weights.join("\n"), @r"
    dmarc_record critical 350
    auth_alignment critical 350
    list_unsubscribe major 150
    link_domains_match major 125
    no_shorteners major 125
    body_size major 100
    plain_text major 100
    visible_unsubscribe major 100
    phishing_links major 100
    no_reply_from minor 50
    svg_images minor 50
    attachments_marketing minor 50
    image_text_ratio minor 40
    tracking_unbranded minor 40
    root_domain_send minor 25
    insecure_links minor 25
    subject_lint minor 25
    image_alt_text info 0
    images_offsite info 0
    bimi_ready info 0
    reply_to_present info 0
    ");
}

#[test]
fn the_domain_decides_about_its_policy_and_its_tracking() {
    use InsightStatus::*;
    let dmarc = |dmarc| with(|draft| draft.domain.dmarc = dmarc);
    let missing = dmarc(DmarcFacts::Missing { hours: 3 });
    let open = dmarc(DmarcFacts::Published { hours: 0, is_enforced: false });
    let unknown = dmarc(DmarcFacts::Unknown);
    for (draft, record, bimi) in [(&missing, Fail, Fail), (&open, Pass, Fail), (&unknown, Unknown, Unknown)] {
        assert_eq!(status(draft, InsightCheck::DmarcRecord), record);
        assert_eq!(status(draft, InsightCheck::BimiReady), bimi);
        assert_eq!(status(draft, InsightCheck::AuthAlignment), PassedByDesign);
    }
    assert_eq!(result(&missing, InsightCheck::DmarcRecord).1.hours, Some(3));

    let tracking = |clicks, host| {
        with(|draft| {
            draft.domain.tracks_opens = true;
            draft.domain.tracks_clicks = clicks;
            draft.domain.has_tracking_host = host;
        })
    };
    assert_eq!(status(&good(), InsightCheck::TrackingUnbranded), NotApplicable);
    assert_eq!(status(&tracking(false, true), InsightCheck::TrackingUnbranded), Pass);
    assert_eq!(status(&tracking(true, false), InsightCheck::TrackingUnbranded), Fail);
    assert_eq!(status(&tracking(true, true), InsightCheck::LinkDomainsMatch), PassedByDesign);
}

#[test]
fn only_a_marketing_email_needs_the_means_to_unsubscribe() {
    use InsightStatus::*;
    let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let pair = || vec![header("List-Unsubscribe", "<https://e.example/u>"), header("list-unsubscribe-post", "x")];
    let topic = |headers| {
        with(|draft| {
            draft.kind = InsightKind::Topic;
            draft.headers = headers;
        })
    };
    let own_link = |headers: Vec<(String, String)>| {
        let mut draft = plain("<a href='https://example.com/unsubscribe'>Leave</a>");
        draft.headers = headers;
        draft
    };
    let without_https = with(|draft| draft.has_one_click = false);
    for (draft, expected) in [
        (good(), PassedByDesign),
        (without_https, Fail),
        (topic(Vec::new()), PassedByDesign),
        (topic(pair()), Pass),
        (topic(pair()[..1].to_vec()), Fail),
        (own_link(pair()), Pass),
        (own_link(Vec::new()), Fail),
        (plain("<p>Your code is 1234</p>"), NotApplicable),
    ] {
        assert_eq!(status(&draft, InsightCheck::ListUnsubscribe), expected, "{:?}", draft.headers);
    }
    let receipt = with(|draft| {
        draft.kind = InsightKind::Plain;
        draft.html = "<p>Your receipt</p>".to_owned();
        draft.text = Some("Your receipt");
        draft.headers = pair();
        draft.from_local = "no-reply";
        draft.attachments = 1;
    });
    for check in [
        InsightCheck::ListUnsubscribe,
        InsightCheck::VisibleUnsubscribe,
        InsightCheck::NoReplyFrom,
        InsightCheck::AttachmentsMarketing,
        InsightCheck::RootDomainSend,
    ] {
        assert_eq!(status(&receipt, check), NotApplicable, "{}", check.as_str());
    }
}

#[test]
fn an_unsubscribe_link_is_visible_before_the_end_of_the_shown_part() {
    let link = "<a href='{{{UNSUBSCRIBE_URL}}}'>Leave</a>";
    let late = format!("<!-- {} -->{link}", "x".repeat(102_400));
    let both = format!("{link}{late}");
    for (body, expected, hidden, clipped) in [
        (link.to_owned(), InsightStatus::Pass, false, false),
        (both, InsightStatus::Pass, false, false),
        (late, InsightStatus::Fail, false, true),
        (format!("<div style='display:none'>{link}</div>"), InsightStatus::Fail, true, false),
        ("<p>Hi</p>".to_owned(), InsightStatus::Fail, false, false),
    ] {
        let (status, detail) = result(&html(&body), InsightCheck::VisibleUnsubscribe);

        assert_eq!((status, detail.hidden, detail.clipped), (expected, Some(hidden), Some(clipped)));
    }
    let text_only = |text| {
        with(|draft| {
            draft.html = String::new();
            draft.text = Some(text);
        })
    };
    assert_eq!(
        status(&text_only("Leave: {{{UNSUBSCRIBE_URL}}}"), InsightCheck::VisibleUnsubscribe),
        InsightStatus::Pass
    );
    assert_eq!(status(&text_only("Hello, you"), InsightCheck::VisibleUnsubscribe), InsightStatus::Fail);
}

#[test]
fn links_are_checked_by_their_hosts() {
    use InsightCheck::{InsecureLinks, LinkDomainsMatch, NoShorteners, PhishingLinks};
    use InsightStatus::{Fail, NotApplicable, Pass};
    for (body, own, shorteners, phishing, insecure) in [
        ("<a href='https://www.example.com/a'>Shop</a>", Pass, Pass, Pass, Pass),
        ("<a href='https://example.net/a'>Shop</a>", Fail, Pass, Pass, Pass),
        ("<a href='https://example.net/'>x</a><a href='https://a.example.com/'>y</a>", Pass, Pass, Pass, Pass),
        ("<a href='https://bit.ly/x'>Shop</a>", Fail, Fail, Pass, Pass),
        ("<a href='https://youtu.be/x'>Video</a>", Fail, Pass, Pass, Pass),
        ("<a href='http://example.com/'>Shop</a>", Pass, Pass, Pass, Fail),
        ("<a href='http://example.com/'>https://example.com</a>", Pass, Pass, Fail, Fail),
        ("<a href='https://evil.example.net/'>example.com</a>", Fail, Pass, Fail, Pass),
        ("<a href='https://www.example.com/'>example.com</a>", Pass, Pass, Pass, Pass),
        ("<a href='https://192.0.2.1/'>Shop</a>", Fail, Pass, Fail, Pass),
        ("<a href='mailto:ada@example.com'>Write</a>", NotApplicable, NotApplicable, NotApplicable, NotApplicable),
        ("<a href='{{{UNSUBSCRIBE_URL}}}'>Leave</a>", NotApplicable, NotApplicable, NotApplicable, NotApplicable),
    ] {
        let draft = plain(body);

        let found = [LinkDomainsMatch, NoShorteners, PhishingLinks, InsecureLinks].map(|check| status(&draft, check));

        assert_eq!(found, [own, shorteners, phishing, insecure], "{body}");
    }
}

#[test]
fn a_detail_names_hosts_and_never_a_path_an_address_or_a_text() {
    let body: String = (0..10).map(|n| format!("<a href='http://u{n}@h{n}.example/secret?ada@x'>Secret</a>")).collect();

    let detail = result(&plain(&body), InsightCheck::InsecureLinks).1;

    assert_eq!(detail.hosts, ["h0.example", "h1.example", "h2.example", "h3.example", "h4.example"]);
    assert_eq!((detail.count, detail.failing), (Some(10), Some(10)));
    let all = serde_json::to_string(&results(&plain(&body)).into_iter().map(|it| it.detail).collect::<Vec<_>>());
    assert!(!all.unwrap().to_ascii_lowercase().contains("secret"));
}

#[test]
fn the_content_is_checked_for_its_size_its_text_and_its_images() {
    use InsightStatus::*;
    let large = "<p>".to_owned() + &"x".repeat(102_400);
    let image = "<img src='https://cdn.example.com/a.png' alt=A>";
    let api = |change: fn(&mut Draft)| {
        with(|draft| {
            draft.kind = InsightKind::Plain;
            change(draft);
        })
    };
    for (draft, check, expected) in [
        (html(&large[..102_400]), InsightCheck::BodySize, Pass),
        (html(&large), InsightCheck::BodySize, Fail),
        (with(|draft| draft.text = None), InsightCheck::PlainText, PassedByDesign),
        (with(|draft| draft.text = Some("")), InsightCheck::PlainText, PassedByDesign),
        (api(|draft| draft.text = None), InsightCheck::PlainText, PassedByDesign),
        (api(|draft| draft.text = Some("")), InsightCheck::PlainText, Fail),
        (api(|draft| (draft.html, draft.text) = ("<img src=a.png>".into(), None)), InsightCheck::PlainText, Fail),
        (with(|draft| draft.text = Some("  123456789 ")), InsightCheck::PlainText, Fail),
        (with(|draft| draft.text = Some("1234567890")), InsightCheck::PlainText, Pass),
        (with(|draft| draft.html.clear()), InsightCheck::PlainText, Pass),
        (html("<svg></svg>"), InsightCheck::SvgImages, Fail),
        (html("<img src=a.svg>"), InsightCheck::SvgImages, Fail),
        (html(image), InsightCheck::SvgImages, Pass),
        (html("<p>Hi</p>"), InsightCheck::SvgImages, NotApplicable),
        (html(image), InsightCheck::ImageTextRatio, Fail),
        (html(&format!("{image}{}", "x".repeat(99))), InsightCheck::ImageTextRatio, Fail),
        (html(&format!("{image}{}", "x".repeat(100))), InsightCheck::ImageTextRatio, Pass),
        (html("<p>Hi</p>"), InsightCheck::ImageTextRatio, NotApplicable),
        (html("<img src=a.png>"), InsightCheck::ImageAltText, Fail),
        (html(image), InsightCheck::ImageAltText, Pass),
        (html("<img src='https://cdn.example.net/a.png' alt=A>"), InsightCheck::ImagesOffsite, Fail),
        (html(image), InsightCheck::ImagesOffsite, Pass),
        (html("<img src='cid:a' alt=A>"), InsightCheck::ImagesOffsite, Pass),
        (with(|draft| draft.attachments = 1), InsightCheck::AttachmentsMarketing, Fail),
        (good(), InsightCheck::AttachmentsMarketing, Pass),
    ] {
        assert_eq!(status(&draft, check), expected, "{} of {:.60}", check.as_str(), draft.html);
    }
}

#[test]
fn the_sender_and_the_subject_are_checked() {
    use InsightStatus::{Fail, Pass};
    let from = |local| with(|draft| draft.from_local = local);
    let subject = |subject| with(|draft| draft.subject = subject);
    let root = |organization: Option<&str>| {
        with(|draft| {
            draft.domain.name = "example.com".to_owned();
            draft.domain.organization = organization.map(str::to_owned);
        })
    };
    for (draft, check, expected) in [
        (from("no-reply"), InsightCheck::NoReplyFrom, Fail),
        (from("NoReply+7"), InsightCheck::NoReplyFrom, Fail),
        (from("do_not_reply"), InsightCheck::NoReplyFrom, Fail),
        (from("news.no.reply"), InsightCheck::NoReplyFrom, Fail),
        (from("replies"), InsightCheck::NoReplyFrom, Pass),
        (from("casino.reply"), InsightCheck::NoReplyFrom, Pass),
        (root(None), InsightCheck::RootDomainSend, Fail),
        (root(Some("com.example")), InsightCheck::RootDomainSend, Pass),
        (good(), InsightCheck::RootDomainSend, Pass),
        (subject("SALE NOW"), InsightCheck::SubjectLint, Pass),
        (subject("BIG SALES"), InsightCheck::SubjectLint, Fail),
        // 6 and 7 of 10 letters.
        (subject("ABCDEFghij"), InsightCheck::SubjectLint, Pass),
        (subject("ABCDEFGhij"), InsightCheck::SubjectLint, Fail),
        (subject("{{{FIRST_NAME|friend}}}, {{{LAST_NAME}}} a sale"), InsightCheck::SubjectLint, Pass),
        (subject("Really?!?"), InsightCheck::SubjectLint, Fail),
        (subject("Really?! Yes!"), InsightCheck::SubjectLint, Pass),
        (with(|draft| draft.has_reply_to = false), InsightCheck::ReplyToPresent, Fail),
    ] {
        assert_eq!(status(&draft, check), expected, "{} of {:?} {}", check.as_str(), draft.subject, draft.from_local);
    }
}

#[test]
fn results_are_unknown_if_the_html_cannot_be_read_to_its_end() {
    let start = "<a href='http://example.com/'>x</a>";
    let draft = plain(&format!("{start}{}", " ".repeat(HTML_BYTES_MAX)));

    assert_eq!(status(&draft, InsightCheck::NoShorteners), InsightStatus::Unknown);
    assert_eq!(status(&draft, InsightCheck::ImageTextRatio), InsightStatus::Unknown);
    // A failure is certain, and the size needs no reading.
    assert_eq!(status(&draft, InsightCheck::InsecureLinks), InsightStatus::Fail);
    assert_eq!(status(&draft, InsightCheck::BodySize), InsightStatus::Fail);
    assert_eq!(status(&draft, InsightCheck::PlainText), InsightStatus::Pass);
}

#[test]
fn tracked_clicks_change_the_size_and_the_hosts_of_the_links() {
    let tracked = |body: &str, name: &str, tracks_clicks| {
        let mut draft = plain(body);
        name.clone_into(&mut draft.domain.name);
        draft.domain.tracks_clicks = tracks_clicks;
        draft
    };
    let link = "<a href='https://example.com/'>Shop</a>";
    let many = link.repeat(900);
    let (size, detail) = result(&tracked(&many, "example.com", true), InsightCheck::BodySize);
    assert_eq!(status(&tracked(&many, "example.com", false), InsightCheck::BodySize), InsightStatus::Pass);
    assert_eq!(size, InsightStatus::Fail);
    assert!(detail.bytes.unwrap() > 2 * many.len() as u64, "{detail:?}");

    // Without a tracking host of the domain, the links lead over the host of the server.
    let (hosts, detail) = result(&tracked(link, "example.com", true), InsightCheck::LinkDomainsMatch);
    assert_eq!((hosts, detail.hosts), (InsightStatus::Fail, vec!["ringmail.example.net".to_owned()]));
    let own = tracked(link, "mail.example.net", true);
    assert_eq!(status(&own, InsightCheck::LinkDomainsMatch), InsightStatus::Pass);
}

//! The verdicts of each rule.

use std::net::IpAddr;
use std::time::Duration;

use crate::engagement::classify::{Elapsed, EmailFacts, RequestFacts};
use crate::engagement::rules::{MachineReason, MachineRules, RuleCondition};

const WINDOW: Duration = Duration::from_secs(10);
const CHROME: &str =
    "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36";

/// All facts about a request.
#[derive(Clone, Copy)]
pub(super) struct HitFacts<'a> {
    pub(super) user_agent: &'a str,
    pub(super) address: Option<IpAddr>,
    pub(super) is_prefetch: bool,
    pub(super) is_link: bool,
    pub(super) elapsed: Elapsed,
    pub(super) is_burst: bool,
}

/// Returns the verdict on a request, with a time after delivery in which no person reads.
pub(super) fn verdict_within(facts: HitFacts<'_>, prefetch_window: Duration) -> Option<MachineReason> {
    let HitFacts { user_agent, address, is_prefetch, is_link, elapsed, is_burst } = facts;
    let rules = MachineRules::embedded();
    let request = rules.classify_request(RequestFacts { user_agent, address, is_prefetch, is_link });
    rules.classify(request, EmailFacts { elapsed, is_burst }, prefetch_window)
}

fn facts(user_agent: &str) -> HitFacts<'_> {
    HitFacts {
        user_agent,
        address: Some("198.51.100.7".parse().unwrap()),
        is_prefetch: false,
        is_link: false,
        elapsed: Elapsed::SinceDelivery(3_600_000),
        is_burst: false,
    }
}

fn verdict(facts: HitFacts<'_>) -> Option<MachineReason> {
    verdict_within(facts, WINDOW)
}

#[test]
fn every_line_of_the_file_is_a_rule_with_a_source() {
    let file = include_str!("../../../assets/engagement/rules.txt");
    let lines = file.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).count();
    let rules = MachineRules::parse(file).unwrap();

    assert_eq!(rules.rules.len() + rules.devices.len(), lines);
    for (at, rule) in rules.rules.iter().enumerate() {
        assert!(!rules.rules[..at].contains(rule), "twice: {rule:?}");
    }
    for reason in MachineReason::ALL {
        assert!(rules.rules.iter().any(|rule| rule.reason == reason), "{reason:?}");
        assert_eq!(MachineReason::parse(reason.as_str()), Some(reason));
    }
    let count = |is: fn(&RuleCondition) -> bool| rules.rules.iter().filter(|rule| is(&rule.condition)).count();
    assert_eq!(count(|condition| matches!(condition, RuleCondition::Timing(_))), 1);
    assert_eq!(count(|condition| matches!(condition, RuleCondition::Burst(_))), 1);
}

#[test]
fn two_links_within_a_quarter_of_a_second_are_a_burst() {
    let rules = MachineRules::embedded();

    assert_eq!([0, 250, 251].map(|apart_ms| rules.is_burst(apart_ms)), [true, true, false]);
}

#[test]
fn each_token_is_found_in_an_agent() {
    for line in include_str!("../../../assets/engagement/rules.txt").lines() {
        let Some(rest) = line.strip_prefix("token | ") else { continue };
        let word = rest.split(" | ").next().unwrap().replace('*', "");
        let agent = format!("Mozilla/5.0 (compatible; {word}; +https://example.com/)");

        assert!(verdict(facts(&agent)).is_some(), "{agent}");
    }
}

#[test]
fn a_line_that_is_no_rule_is_an_error() {
    for line in [
        "token | curl | scanner",
        "token | curl | nothing | https://example.com/",
        "token |  | scanner | https://example.com/",
        "token | * | scanner | https://example.com/",
        "token | curl | scanner | somewhere",
        "network | 10.0.0.0/33 | scanner | https://example.com/",
        "timing | soon | timing | https://example.com/",
        "word | curl | scanner | https://example.com/",
    ] {
        assert!(MachineRules::parse(line).unwrap_err().contains(line), "{line}");
    }
}

#[test]
fn requests_of_people_are_not_software() {
    for user_agent in [
        CHROME,
        "Mozilla/5.0 (Windows NT 5.1; rv:11.0) Gecko Firefox/11.0 (via ggpht.com GoogleImageProxy)",
        "YahooMailProxy; https://help.yahoo.com/kb/yahoo-mail-proxy-SLN28749.html",
        "Mozilla/4.0 (compatible; ms-office; MSOffice 16)",
        "Microsoft Office/16.0 (Windows NT 10.0; Microsoft Outlook 16.0.17328; Pro)",
        "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)",
        "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Mobile/15E148",
        "Mozilla/5.0 (X11; Linux x86_64; rv:115.0) Gecko/20100101 Thunderbird/115.11.0",
        "hey.com/imageproxy Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/134.0.0.0 \
         Safari/537.36",
        "Mozilla/5.0 (Linux; Android 11; CUBOT) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/120.0.0.0 Mobile Safari/537.36",
        "Mozilla/5.0 (Linux; Android 10; CUBOT; KingKong) AppleWebKit/537.36 (KHTML, like Gecko) Version/4.0",
        "Mail/3774.600.62 CFNetwork/1494.0.7 Darwin/23.4.0",
        "Dalvik/2.1.0 (Linux; U; Android 13; SM-S901B)",
    ] {
        assert_eq!(verdict(facts(user_agent)), None, "{user_agent}");
        assert_eq!(verdict(HitFacts { is_link: true, ..facts(user_agent) }), None, "{user_agent}");
    }
}

#[test]
fn software_is_recognized_by_its_user_agent() {
    use MachineReason::{AppleMpp, GmailPrefetch, Scanner};
    for (user_agent, expected) in [
        ("Mozilla/5.0", AppleMpp),
        (" mozilla/5.0 ", AppleMpp),
        (
            "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/42.0.2311.135 \
             Safari/537.36 Edge/12.246 Mozilla/5.0",
            GmailPrefetch,
        ),
        ("", Scanner),
        ("  ", Scanner),
        ("Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)", Scanner),
        ("Mozilla/5.0 (compatible; SomeBot; +https://example.com)", Scanner),
        ("Mozilla/5.0 (compatible; SomeBot)", Scanner),
        ("Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko; BingPreview/1.0b) Chrome/112.0.0.0", Scanner),
        ("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) HeadlessChrome/120.0.0.0", Scanner),
        ("python-requests/2.31.0", Scanner),
        ("Python/3.11 aiohttp/3.9.1", Scanner),
        ("curl/8.5.0", Scanner),
        ("Wget/1.21.4", Scanner),
        ("Java/17.0.9", Scanner),
        ("okhttp/4.12.0", Scanner),
        ("Go-http-client/2.0", Scanner),
        ("Apache-HttpClient/4.5.14 (Java/11.0.20)", Scanner),
        ("BarracudaCentral/1.0", Scanner),
        ("Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)", Scanner),
        ("facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)", Scanner),
        ("WhatsApp/2.23.20.0 A", Scanner),
    ] {
        assert_eq!(verdict(facts(user_agent)), Some(expected), "{user_agent}");
    }
}

#[test]
fn a_word_does_not_match_inside_another_word() {
    for user_agent in ["Curling/1.0", "Rubyphone/2.0", "Abbott/3", "Bot9 Phone", "Pythagoras"] {
        assert_eq!(verdict(facts(user_agent)), None, "{user_agent}");
    }
}

#[test]
fn networks_of_gateways_are_software() {
    for (address, expected) in [
        ("40.93.1.1", Some(MachineReason::Scanner)),
        ("67.231.150.1", Some(MachineReason::Scanner)),
        ("2a01:111:f400::1", Some(MachineReason::Scanner)),
        ("40.96.0.1", None),
        ("2a01:111:f401::1", None),
    ] {
        let facts = HitFacts { address: Some(address.parse().unwrap()), ..facts(CHROME) };
        assert_eq!(verdict(facts), expected, "{address}");
    }
}

#[test]
fn headers_of_a_prefetch_are_recognized() {
    for (name, value, expected) in [
        ("sec-purpose", "prefetch", true),
        ("sec-purpose", "Prefetch;prerender", true),
        ("purpose", " prefetch", true),
        ("x-purpose", "preview", true),
        ("x-moz", "prefetch", true),
        ("x-moz", "pre", false),
        ("purpose", "navigate", false),
        ("sec-purpose", "ä", false),
        ("accept", "prefetch", false),
    ] {
        let header = |asked: &str| (asked == name).then_some(value);
        assert_eq!(crate::engagement::is_prefetch(header), expected, "{name}: {value}");
    }
    assert_eq!(verdict(HitFacts { is_prefetch: true, ..facts(CHROME) }), Some(MachineReason::Prefetch));
}

#[test]
fn time_decides_within_the_window_and_before_delivery() {
    use MachineReason::{BeforeDelivery, Timing};
    for (elapsed, expected) in [
        (Elapsed::NotDelivered, Some(BeforeDelivery)),
        (Elapsed::SinceDelivery(-1), Some(BeforeDelivery)),
        (Elapsed::SinceDelivery(0), Some(Timing)),
        (Elapsed::SinceDelivery(9_999), Some(Timing)),
        (Elapsed::SinceDelivery(10_000), None),
        (Elapsed::SinceSend(-1), Some(Timing)),
        (Elapsed::SinceSend(9_999), Some(Timing)),
        (Elapsed::SinceSend(10_000), None),
        (Elapsed::Unknown, None),
    ] {
        assert_eq!(verdict(HitFacts { elapsed, ..facts(CHROME) }), expected, "{elapsed:?}");
    }
    let at_once = HitFacts { elapsed: Elapsed::SinceDelivery(0), ..facts(CHROME) };
    assert_eq!(verdict_within(at_once, Duration::ZERO), None);
    let before = HitFacts { elapsed: Elapsed::SinceDelivery(-1), ..facts(CHROME) };
    assert_eq!(verdict_within(before, Duration::ZERO), Some(BeforeDelivery));
}

#[test]
fn a_desktop_chrome_with_a_build_number_follows_no_link() {
    let chrome = |system: &str, product: &str| {
        format!("Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{product} Safari/537.36")
    };
    let windows = "Windows NT 10.0; Win64; x64";
    for (user_agent, is_machine) in [
        (chrome(windows, "131.0.0.0"), false),
        (chrome(windows, "131.0.6778.86"), true),
        (chrome("Macintosh; Intel Mac OS X 10_15_7", "110.0.5481.100"), true),
        (chrome("X11; Linux x86_64", "120.0.6099.109"), true),
        // Before the reduction of the user agent.
        (chrome(windows, "109.0.5414.120"), false),
        (chrome(windows, "79.0.3945.88"), false),
        // Phones, and programs with a name of their own.
        (chrome("Linux; Android 13; Pixel 7", "131.0.6778.86 Mobile"), false),
        (chrome(windows, "114.0.5735.289 Electron/25.8.1"), false),
        (format!("{} Edg/120.0.2210.91", chrome(windows, "120.0.6099.109")), false),
        (chrome(windows, "none"), false),
    ] {
        let expected = is_machine.then_some(MachineReason::Browser);
        assert_eq!(verdict(HitFacts { is_link: true, ..facts(&user_agent) }), expected, "{user_agent}");
        assert_eq!(verdict(facts(&user_agent)), None, "the pixel: {user_agent}");
    }
}

#[test]
fn the_first_rule_that_matches_wins() {
    let burst = HitFacts { is_link: true, is_burst: true, ..facts(CHROME) };
    assert_eq!(verdict(burst), Some(MachineReason::Burst));
    let soon = HitFacts { elapsed: Elapsed::SinceDelivery(1), ..burst };
    assert_eq!(verdict(soon), Some(MachineReason::Timing));
    assert_eq!(verdict(HitFacts { is_prefetch: true, ..soon }), Some(MachineReason::Prefetch));
    assert_eq!(verdict(HitFacts { user_agent: "curl/8", is_prefetch: true, ..soon }), Some(MachineReason::Scanner));
    assert_eq!(verdict(HitFacts { user_agent: "Mozilla/5.0", ..soon }), Some(MachineReason::AppleMpp));
}

use clap::Parser;

use super::*;
use crate::config::relay::RelayPassword;

#[derive(Parser, Debug)]
struct Line {
    #[command(flatten)]
    settings: RouteSettings,
}

type Parsed = (DeliveryConfig, Option<RelayRecords>, RouteConfig);

/// Returns the settings of a command line, with these passwords in the environment.
fn config_with(line: &[&str], passwords: &[(&str, &str)]) -> Result<Parsed, String> {
    let line = ["ringmail"].iter().chain(line);
    let settings = Line::try_parse_from(line).map_err(|error| error.to_string())?.settings;
    let password = |(name, text): &(&str, &str)| ((*name).to_owned(), RelayPassword::new(*text));
    let surroundings = Surroundings {
        smarthost_passwords: passwords.iter().map(password).collect(),
        relay_password: None,
        ..Surroundings::default()
    };
    settings.into_config(&surroundings).map_err(|error| error.to_string())
}

fn config(line: &[&str]) -> Result<Parsed, String> {
    config_with(line, &[])
}

#[test]
fn without_settings_all_email_has_one_route() {
    let (delivery, records, routes) = config(&[]).unwrap();

    assert_eq!((delivery, records.is_some()), (DeliveryConfig::Capture, false));
    assert!(routes.rules.is_empty() && routes.smarthosts.is_empty() && routes.sources.is_empty());
    assert!(routes.deliver_only.is_empty() && !routes.delivers() && routes.release.is_none());
    assert_eq!(routes.ipv6, Ipv6Mode::Auto);
}

#[test]
fn a_route_has_a_pattern_a_class_a_target_and_a_fallback() {
    for (text, pattern, class, names) in [
        ("Example.com=direct", "example.com", None, &["direct"][..]),
        ("*.example.com,broadcast = bulk , direct", "*.example.com", Some(Class::Broadcast), &["bulk", "direct"]),
        ("*,transactional=capture", "*", Some(Class::Transactional), &["capture"]),
    ] {
        let rule = route(text).unwrap();

        assert_eq!((rule.pattern, rule.class), (pattern.parse().unwrap(), class), "{text}");
        assert_eq!(rule.targets.names().collect::<Vec<_>>(), names, "{text}");
    }
    for text in [
        "",
        "example.com",
        "=direct",
        "example.com=",
        "example.com=direct,",
        "example.com=direct,direct",
        "example.com,bulk=direct",
        "ada@example.com=direct",
        "example=direct",
    ] {
        assert!(route(text).is_err(), "{text}");
    }
}

#[test]
fn routes_are_separated_by_semicolons_and_keep_their_order() {
    let line = ["--smarthost", "bulk=smtp://bulk.example.com", "--route", "a.example=direct;*,broadcast=bulk,direct"];
    let (_, _, routes) = config(&[&line[..], &["--route", "*=bulk"]].concat()).unwrap();

    let targets: Vec<Vec<&str>> = routes.rules.iter().map(|rule| rule.targets.names().collect()).collect();
    assert_eq!(targets, [vec!["direct"], vec!["bulk", "direct"], vec!["bulk"]]);
    assert!(routes.delivers());
}

#[test]
fn a_smarthost_has_its_password_in_a_variable() {
    let line = ["--smarthost", "eu-1=smtp://user@a.example.com,plain=smtp://b.example.com?tls=never"];
    let (_, _, routes) = config_with(&line, &[("RINGMAIL_SMARTHOST_PASSWORD_EU_1", "hunter2")]).unwrap();

    let credentials = routes.smarthosts["eu-1"].credentials.clone().unwrap();
    assert_eq!((credentials.user.as_str(), credentials.password.reveal()), ("user", "hunter2"));
    assert_eq!(routes.smarthosts["plain"].credentials, None);
    assert!(!format!("{routes:?}").contains("hunter2"));
}

#[test]
fn smarthosts_have_their_passwords_in_a_file_unless_a_variable_has_them() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("passwords");
    std::fs::write(&path, "relay=one\neu-1=two\nplain=three\n").unwrap();
    let line = ["--delivery", "relay", "--relay", "smtp://user@a.example.com", "--password-file"];
    let smarthosts = "eu-1=smtp://user@b.example.com,plain=smtp://c.example.com,eu-2=smtp://user@d.example.com";
    let line = [&line[..], &[path.to_str().unwrap(), "--smarthost", smarthosts]].concat();

    let missing = config(&line).unwrap_err();
    let (_, _, routes) = config_with(&line, &[("RINGMAIL_SMARTHOST_PASSWORD_EU_2", "four")]).unwrap();

    assert!(missing.contains("eu-2=PASSWORD") && !missing.contains("two"), "{missing}");
    let password = |name: &str| routes.smarthosts[name].credentials.clone().map(|its| its.password.reveal().to_owned());
    let passwords = ["relay", "eu-1", "plain", "eu-2"].map(password);
    assert_eq!(passwords.map(Option::unwrap_or_default), ["one", "two", "", "four"]);
    let (_, _, routes) = config_with(&line[..6], &[("RINGMAIL_SMARTHOST_PASSWORD_EU_1", "other")]).unwrap();
    assert_eq!(routes.smarthosts["relay"].credentials.clone().unwrap().password.reveal(), "one");
}

#[test]
fn an_invalid_smarthost_is_an_error_without_its_password() {
    for (value, passwords, wanted) in [
        ("smtp://a.example.com", &[][..], "NAME=URL"),
        ("smtp://a.example.com?tls=never", &[], "NAME=URL"),
        ("Bulk=smtp://a.example.com", &[], "lower-case letters"),
        ("direct=smtp://a.example.com", &[], "is not direct, capture or relay"),
        ("bulk=a.example.com", &[], "--smarthost bulk is not the URL of a smarthost"),
        ("bulk=smtp://user:hunter2@a.example.com", &[], "use --password-file or set RINGMAIL_SMARTHOST_PASSWORD_BULK"),
        ("bulk=smtp://user@a.example.com", &[], "set RINGMAIL_SMARTHOST_PASSWORD_BULK, or remove the user"),
        ("bulk=smtp://a.example.com", &[("RINGMAIL_SMARTHOST_PASSWORD_BULK", "hunter2")], "has no user"),
        (
            "bulk=smtp://a.example.com",
            &[("RINGMAIL_SMARTHOST_PASSWORD_BULKS", "hunter2")],
            "no --smarthost has this name",
        ),
        ("bulk=smtp://a.example.com,bulk=smtp://b.example.com", &[], "two --smarthost have the name bulk"),
    ] {
        let error = config_with(&["--smarthost", value], passwords).unwrap_err();

        assert!(error.contains(wanted) && !error.contains("hunter2"), "{value}: {error}");
    }
}

#[test]
fn an_invalid_combination_is_an_error_with_the_next_step() {
    for (line, wanted) in [
        (&["--route", "*=bulk"][..], "add --smarthost bulk=URL"),
        (&["--route", "*=direct,relay"], "set --relay smtp://"),
        (&["--release", "backup"], "add --smarthost backup=URL"),
        (&["--release", "capture"], "--release cannot be capture"),
        (&["--release", "relay"], "set --relay smtp://"),
        (&["--deliver-only", "a.example"], "choose --delivery direct or relay, or add a --route"),
        (&["--deliver-only", "example"], "not a pattern of recipients"),
        (&["--source", "127.0.0.2,127.0.0.2=mx.example.com"], "--source names 127.0.0.2 twice"),
        (&["--source", "0.0.0.0"], "cannot be a source address"),
        (&["--source", "mx.example.com"], "not a source address"),
        (&["--source", "127.0.0.2=mx"], "not a fully qualified host name"),
        (&["--source", "::1", "--ipv6", "off"], "--ipv6 on"),
        (&["--ipv6", "yes"], "use auto, off or on"),
    ] {
        let error = config(line).unwrap_err();

        assert!(error.contains(wanted), "{line:?}: {error}");
    }
}

#[test]
fn the_smarthost_of_relay_is_a_target_in_every_mode() {
    let relay = ["--relay", "smtp://a.example.com?final=true"];
    let (delivery, _, routes) =
        config(&[&relay[..], &["--route", "a.example=relay", "--release", "relay"]].concat()).unwrap();
    assert_eq!((delivery, routes.release.as_deref()), (DeliveryConfig::Capture, Some("relay")));
    assert!(routes.smarthosts["relay"].is_final && !routes.needs_reports());

    let (delivery, _, routes) = config(&[&relay[..], &["--delivery", "relay"]].concat()).unwrap();
    assert!(matches!(delivery, DeliveryConfig::Relay(_)) && routes.smarthosts.contains_key("relay"));

    // Without a route, the password of the smarthost is not needed.
    assert!(config(&["--relay", "smtp://user@a.example.com"]).unwrap().2.smarthosts.is_empty());
}

#[test]
fn only_a_smarthost_of_a_route_needs_reports() {
    let smarthosts = ["--smarthost", "open=smtp://a.example.com,final=smtp://b.example.com?final=true"];
    for (line, needs_reports) in [
        (&[][..], false),
        (&["--route", "a.example=final"], false),
        (&["--route", "a.example=direct,open"], true),
        (&["--release", "open"], true),
        (&["--delivery", "relay", "--relay", "smtp://c.example.com"], true),
    ] {
        let (_, _, routes) = config(&[&smarthosts[..], line].concat()).unwrap();

        assert_eq!(routes.needs_reports(), needs_reports, "{line:?}");
    }
}

#[test]
fn source_addresses_have_an_optional_name() {
    let (_, _, routes) =
        config(&["--source", "192.0.2.1=MX1.example.com, 192.0.2.2,[2001:db8::1]=mx2.example.com"]).unwrap();

    let sources: Vec<(String, Option<&str>)> = routes
        .sources
        .iter()
        .map(|source| (source.address.to_string(), source.name.as_ref().map(DomainName::as_str)))
        .collect();
    let expected =
        [("192.0.2.1", Some("mx1.example.com")), ("192.0.2.2", None), ("2001:db8::1", Some("mx2.example.com"))];
    assert_eq!(sources, expected.map(|(address, name)| (address.to_owned(), name)));
}

//! The public URL of links in emails: its certificate, and its use for one-click unsubscribe.

use std::time::Duration;

use super::report::SetupCheck;
use super::{DoctorSettings, now_ms};
use crate::dns::{Guard, Resolver};
use crate::http_client::{CustomerUrl, FetchError, FetchLimits, HttpClient, HttpTimeouts, RequestError, UrlPolicy};

const NAME: &str = "public_url";
const ONE_CLICK: &str = "one_click_unsubscribe";
const CAPTURED: &str = "emails are captured, so that no recipient opens a link";
const DEPENDS: &str = "it depends on public_url: without a URL of https, emails have no List-Unsubscribe-Post";
const SET_URL: &str = "Set --public-url to the https URL of the reverse proxy in front of the server.";
const HTTPS: &str = "https://";
/// Limits of the request.
const LIMITS: FetchLimits = FetchLimits { bytes_max: 64 << 10, overall: Duration::from_secs(10) };

/// Requests the health of the server at its public URL.
pub(super) async fn check(settings: &DoctorSettings, resolver: &Resolver) -> Vec<SetupCheck> {
    if !settings.delivery.has_links {
        return vec![SetupCheck::not_checked(NAME, CAPTURED)];
    }
    let Some(url) = settings.public_url.as_deref().filter(|url| url.starts_with(HTTPS)) else {
        return vec![judge_setting(settings.public_url.as_deref())];
    };
    // The operator chose this URL, which can be in a private network.
    let everywhere = ["0.0.0.0/0", "::/0"].map(|range| range.parse().expect("a range of addresses"));
    let guard = Guard::allowing(everywhere.to_vec());
    let policy = UrlPolicy { guard, plain_http: true, local_names: true, extra_roots: Vec::new() };
    let answer = match CustomerUrl::parse(&format!("{url}/health"), &policy) {
        Err(error) => return vec![SetupCheck::not_checked(NAME, format!("{url}: {error}"))],
        Ok(health) => match HttpClient::new(resolver.clone(), policy, HttpTimeouts::default()) {
            Err(error) => return vec![SetupCheck::not_checked(NAME, error.to_string())],
            Ok(client) => client.fetch(health, LIMITS, now_ms(), &mut |_| Some(())).await,
        },
    };
    vec![judge(url, answer.map(|(file, _)| file.content))]
}

/// Judges a setting that is absent, or is not a URL of `https`.
fn judge_setting(url: Option<&str>) -> SetupCheck {
    let seen = url.map_or_else(|| "no public URL is set".to_owned(), |url| format!("{url} is not encrypted"));
    SetupCheck::failed(NAME, seen, "a URL of https that recipients can open", SET_URL)
}

/// Checks that the links of emails can have one-click unsubscribe.
pub(super) fn one_click(settings: &DoctorSettings) -> SetupCheck {
    match settings.delivery.has_links {
        true => judge_one_click(settings.public_url.as_deref()),
        false => SetupCheck::not_checked(ONE_CLICK, CAPTURED),
    }
}

fn judge_one_click(url: Option<&str>) -> SetupCheck {
    // RFC 8058 §3.1 requires an https target.
    let expected = "broadcasts and emails under a topic have List-Unsubscribe-Post with a URL of https";
    match url {
        Some(url) if url.starts_with(HTTPS) => {
            SetupCheck::ok(ONE_CLICK, format!("the one-click links are below {url}"), expected)
        }
        // The check of the public URL fails with the cause and the next step.
        _ => SetupCheck::not_checked(ONE_CLICK, DEPENDS),
    }
}

/// Judges the answer to `GET /health`.
fn judge(url: &str, answer: Result<Vec<u8>, FetchError>) -> SetupCheck {
    let expected = format!("{url}/health answers with a valid certificate");
    let failed = |seen: String, fix: &str| SetupCheck::failed(NAME, seen, expected.clone(), fix);
    match answer {
        Ok(content) if serde_json::from_slice::<serde_json::Value>(&content).is_ok_and(|it| it["ok"].is_boolean()) => {
            SetupCheck::ok(NAME, expected.clone(), expected)
        }
        // The server answers 503 if a part of it fails.
        Err(FetchError::Status(503)) => SetupCheck::ok(NAME, format!("{url}/health answers 503"), expected),
        Ok(_) => failed(
            format!("{url}/health is not the health of Ringmail"),
            "Check that the reverse proxy forwards all paths to the server.",
        ),
        Err(FetchError::Request(error @ RequestError::Tls(_))) => failed(
            format!("{url}: {error}"),
            "Give the reverse proxy a certificate for this host from an authority that browsers trust.",
        ),
        Err(FetchError::Request(error @ RequestError::Dns(_))) => {
            failed(format!("{url}: {error}"), "Publish an address of the host, or correct --public-url.")
        }
        Err(FetchError::Request(error)) => SetupCheck::not_checked(
            NAME,
            format!("{url}: {error}. This machine can be unable to reach its own public address: try from another one"),
        ),
        Err(error) => {
            failed(format!("{url}/health: {error}"), "Check that the reverse proxy forwards all paths to the server.")
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::dns::LookupError;
    use crate::doctor::CheckStatus::{Failed, NotChecked, Ok as Passed};
    use crate::http_client::TlsFailure;

    #[test]
    fn the_public_url_is_encrypted_and_leads_to_the_server() {
        let request = |error| Err(FetchError::Request(error));
        for (answer, status, words) in [
            (Ok(br#"{"ok":true,"status":"ok"}"#.to_vec()), Passed, "valid certificate"),
            (Err(FetchError::Status(503)), Passed, "503"),
            (Ok(b"<html>".to_vec()), Failed, "not the health"),
            (Err(FetchError::Status(404)), Failed, "404"),
            (request(RequestError::Tls(TlsFailure::OutOfDate)), Failed, "expired"),
            (request(RequestError::Dns(LookupError::NoSuchName)), Failed, "no such name"),
            (request(RequestError::Connect(io::ErrorKind::TimedOut)), NotChecked, "another one"),
        ] {
            let check = judge("https://mail.example.com", answer);
            assert!(check.status == status && check.seen.contains(words), "{check:?}");
            assert_eq!(check.fix.is_some(), status == Failed, "{check:?}");
        }
        assert!(judge_setting(None).seen.contains("no public URL"));
        assert!(judge_setting(Some("http://mail.example.com")).seen.contains("not encrypted"));
    }

    #[test]
    fn one_click_unsubscribe_depends_on_the_public_url_whose_check_alone_has_the_next_step() {
        let check = judge_one_click(Some("https://mail.example.com"));
        assert!(check.status == Passed && check.seen.contains("below https://mail.example.com"), "{check:?}");
        for url in [Some("http://mail.example.com"), None] {
            let (cause, dependent) = (judge_setting(url), judge_one_click(url));
            assert!(cause.status == Failed && cause.fix.is_some(), "{cause:?}");
            assert!(dependent.status == NotChecked && dependent.fix.is_none(), "{dependent:?}");
            assert!(dependent.seen.contains(&cause.check), "{dependent:?}");
        }
    }
}

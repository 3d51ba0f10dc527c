//! Requests to the links of a broadcast.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout_at};

use super::content::FoundLink;
use super::model::{BroadcastFinding, FindingKind, LinkSummary};
use crate::base::clock::TimestampMs;
use crate::http_client::{CustomerUrl, FetchError, HttpClient, UrlError};

/// Maximum number of links that a check requests.
const LINKS_MAX: usize = 100;
/// Maximum number of concurrent requests of a check.
const CONCURRENT_MAX: usize = 8;
/// Time of one request, with its redirects.
const LINK_TIME_MAX: Duration = Duration::from_secs(5);
/// Time of all requests.
const TIME_MAX: Duration = Duration::from_secs(15);

/// Requests the links, and returns a finding for each that does not work. Links after [`LINKS_MAX`], and those whose
/// turn does not come in [`TIME_MAX`], are not requested.
pub(super) async fn request(
    client: &HttpClient,
    links: Vec<FoundLink>,
    now_ms: TimestampMs,
) -> (LinkSummary, Vec<BroadcastFinding>) {
    let mut summary = LinkSummary { found: links.len(), ..LinkSummary::default() };
    let mut findings = Vec::new();
    let ends = Instant::now() + TIME_MAX;
    let mut waiting = links.into_iter().take(LINKS_MAX);
    let mut running = JoinSet::new();
    let mut start_next = |running: &mut JoinSet<_>| {
        if let Some(link) = waiting.next() {
            let client = client.clone();
            running.spawn(async move {
                let result = status(&client, &link.url, now_ms).await;
                (link, result)
            });
        }
    };
    for _ in 0..CONCURRENT_MAX {
        start_next(&mut running);
    }
    // Dropping the set at the end of the time ends the remaining requests.
    while let Ok(Some(joined)) = timeout_at(ends, running.join_next()).await {
        start_next(&mut running);
        let Ok((link, result)) = joined else { continue };
        let Some(problem) = result.map_or_else(|error| problem_of(&error), problem_of_status) else {
            summary.checked += 1;
            continue;
        };
        summary.checked += 1;
        summary.dead += 1;
        let FoundLink { url, part, place } = link;
        let finding = BroadcastFinding::new(FindingKind::LinkDead, format!("The link does not work: {problem}."));
        findings.push(BroadcastFinding { url: Some(url), ..finding.at(part, place) });
    }
    (summary, findings)
}

async fn status(client: &HttpClient, url: &str, now_ms: TimestampMs) -> Result<u16, FetchError> {
    // A fragment is for the browser.
    let url = url.split_once('#').map_or(url, |(url, _)| url);
    let url = CustomerUrl::parse(url, client.policy()).map_err(FetchError::Redirect)?;
    client.probe(url, LINK_TIME_MAX, now_ms).await
}

/// Returns the problem of a status. A page that needs a sign-in, or that refuses programs, works in a browser.
fn problem_of_status(status: u16) -> Option<String> {
    let is_dead = matches!(status, 400 | 404 | 410 | 414 | 421 | 451) || (500..=599).contains(&status);
    is_dead.then(|| format!("the response has the status {status}"))
}

/// Returns the problem of a failed request. A URL that only this server does not request is no problem.
fn problem_of(error: &FetchError) -> Option<String> {
    match error {
        FetchError::Redirect(UrlError::Blocked(reason)) => Some(format!("it leads to a {reason}")),
        FetchError::Redirect(UrlError::NotHttps | UrlError::NotHttp | UrlError::TooLong) => None,
        FetchError::Redirect(error) => Some(format!("it leads to a URL that is not allowed: {error}")),
        FetchError::Request(_)
        | FetchError::Status(_)
        | FetchError::NoLocation
        | FetchError::TooManyRedirects
        | FetchError::TooLarge
        | FetchError::Incomplete
        | FetchError::Encoded
        | FetchError::NoMemory => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;

    use super::super::BroadcastChecks;
    use super::super::model::{FindingPart, FindingPlace};
    use super::*;
    use crate::dns::{Guard, Resolver};
    use crate::http_client::{HttpTimeouts, UrlPolicy};

    const NOW_MS: TimestampMs = 1_000_000_000_000;

    fn client() -> HttpClient {
        let guard = Guard::allowing(vec!["127.0.0.1/32".parse().unwrap()]);
        client_of(UrlPolicy { guard, ..UrlPolicy::default() })
    }

    /// Returns a client for links. `files` is the policy for the files of customers.
    fn client_of(files: UrlPolicy) -> HttpClient {
        let policy = BroadcastChecks::link_policy(files);
        let resolver = Resolver::with_servers(&["127.0.0.1:9".parse().unwrap()]).unwrap();
        HttpClient::new(resolver, policy, HttpTimeouts::default()).unwrap()
    }

    fn link(url: String) -> FoundLink {
        FoundLink { url, part: FindingPart::Html, place: FindingPlace { at: 0, length: 1, line: 1 } }
    }

    #[test]
    fn only_a_page_that_no_browser_shows_is_dead() {
        for (status, is_dead) in [
            (200, false),
            (204, false),
            (401, false),
            (403, false),
            (405, false),
            (429, false),
            (404, true),
            (410, true),
            (503, true),
        ] {
            assert_eq!(problem_of_status(status).is_some(), is_dead, "{status}");
        }
    }

    #[tokio::test]
    async fn each_link_is_requested_and_a_dead_one_is_found() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = Vec::new();
                while !request.ends_with(b"\r\n\r\n") {
                    request.push(stream.read_u8().await.unwrap());
                }
                let line = String::from_utf8(request).unwrap();
                let status = if line.contains(" /gone") { "404 Not Found" } else { "200 OK" };
                stream.write_all(format!("HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n").as_bytes()).await.unwrap();
            }
        };
        let mut links: Vec<FoundLink> = (0..20).map(|page| link(format!("http://{address}/{page}#top"))).collect();
        links.push(link(format!("http://{address}/gone")));
        links.push(link("http://10.0.0.1/".into()));
        links.push(link(format!("http://user@{address}/")));

        let client = client();
        let (summary, findings) = tokio::select! {
            result = request(&client, links, NOW_MS) => result,
            () = server => unreachable!("the server does not end"),
        };

        assert_eq!(summary, LinkSummary { found: 23, checked: 23, dead: 3 });
        let mut urls: Vec<String> = findings.into_iter().filter_map(|finding| finding.url).collect();
        urls.sort();
        let expected =
            ["http://10.0.0.1/".to_owned(), format!("http://{address}/gone"), format!("http://user@{address}/")];
        assert_eq!(urls, expected);
    }

    #[tokio::test]
    async fn a_link_to_a_local_name_is_requested_in_development_only() {
        let links = ["http://localhost:9/", "http://app.localhost:9/", "http://intranet:9/", "http://[::1]:9/"];
        let links = links.map(|url| link(url.to_owned())).to_vec();

        let (summary, findings) = request(&client_of(UrlPolicy::default()), links, NOW_MS).await;

        assert_eq!(summary, LinkSummary { found: 4, checked: 4, dead: 4 });
        let mut messages: Vec<&str> = findings.iter().map(|finding| finding.message.as_str()).collect();
        messages.sort_unstable();
        let local = "The link does not work: it leads to a URL that is not allowed: the URL points at this server \
                     itself; use a host that the Internet can reach.";
        let without_dot = "The link does not work: it leads to a URL that is not allowed: the URL's host is not \
                           accepted: the domain has no dot; use a full domain name such as `example.com`.";
        let loopback = "The link does not work: it leads to a loopback address.";
        assert_eq!(messages, [local, local, without_dot, loopback]);
        let development = UrlPolicy { local_names: true, ..UrlPolicy::default() };
        for url in ["http://localhost/", "http://intranet/"] {
            assert!(CustomerUrl::parse(url, &BroadcastChecks::link_policy(development.clone())).is_ok(), "{url}");
        }
    }
}

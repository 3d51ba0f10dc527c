//! Fetches of files.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Semaphore;

use crate::dns::BlockedAddress;
use crate::dns::tests::authority::Authority;
use crate::http_client::{FetchError, FetchLimits, FetchedFile, RequestPhase, UrlError};

use super::receiver::Receiver;
use super::receiver::Step::{ReadRequest, ReadToEnd, Write, WriteForever};
use super::{
    CustomerUrl, HttpClient, NOW_MS, RequestError, SHORT_TIMEOUT, SOA, Trap, UrlPolicy, client, client_of, policy,
    timeouts,
};

const LIMITS: FetchLimits = FetchLimits { bytes_max: 10, overall: Duration::from_secs(20) };

async fn fetch(client: &HttpClient, url: &str, limits: FetchLimits) -> Result<FetchedFile, FetchError> {
    let url = CustomerUrl::parse(url, client.policy()).unwrap();
    client.fetch(url, limits, NOW_MS, &mut |_| Some(())).await.map(|(file, _)| file)
}

fn local() -> HttpClient {
    client(policy(&["127.0.0.1"]), timeouts())
}

#[tokio::test]
async fn a_file_is_requested_with_get_and_returned_with_its_name_and_type() {
    let receiver = Receiver::new([
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-type: image/png\r\ncontent-length: 10\r\n\r\n0123456789")]
            as &[_],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\n\r\nuntil the "), ReadToEnd],
    ]);
    let at = |path: &str| format!("http://127.0.0.1:{}{path}", receiver.port());
    let client = local();

    let named = fetch(&client, &at("/files/M%C3%A4rz%20%2b.png?key=1"), LIMITS).await.unwrap();
    let chunked = fetch(&client, &at("/files/"), LIMITS).await.unwrap();

    assert_eq!((named.content.as_slice(), named.content_type.as_deref()), (&b"0123456789"[..], Some("image/png")));
    assert_eq!(named.filename.as_deref(), Some("März +.png"));
    assert_eq!((chunked.content.as_slice(), chunked.content_type, chunked.filename), (&b"abc"[..], None, None));
    let half = FetchLimits { overall: SHORT_TIMEOUT, ..LIMITS };
    assert_eq!(fetch(&client, &at("/%zz"), half).await.unwrap_err(), timed_out());
    let requests = receiver.requests();
    assert!(requests[0].head.starts_with("GET /files/M%C3%A4rz%20%2b.png?key=1 HTTP/1.1\r\nhost: "), "{requests:?}");
    assert!(requests[0].head.contains("accept-encoding: identity\r\n"), "{requests:?}");
}

fn timed_out() -> FetchError {
    FetchError::Request(RequestError::Timeout(RequestPhase::Response))
}

#[tokio::test]
async fn a_file_beyond_the_limit_is_not_read() {
    let receiver = Receiver::new([
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n"), ReadToEnd] as &[_],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\n\r\n"), WriteForever("0123456789")],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n0123456789")],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n012345678")],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ncontent-length: 1\r\n\r\nx")],
        &[
            ReadRequest,
            Write(
                "HTTP/1.1 200 OK\r\ncontent-encoding: identity\r\ncontent-encoding: gzip\r\n\
                 content-length: 1\r\n\r\nx",
            ),
        ],
        &[
            ReadRequest,
            Write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"),
            WriteForever("1;x=yyyyyyyyyyyyyyyyyyyyyyyyyyyy\r\n"),
        ],
    ]);
    let url = format!("http://127.0.0.1:{}/", receiver.port());
    let client = local();

    for _ in 0..2 {
        assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::TooLarge);
    }
    let parsed = CustomerUrl::parse(&url, client.policy()).unwrap();
    let mut reserved = 0;
    let mut reserve = |bytes| {
        reserved += bytes;
        None::<()>
    };
    assert_eq!(client.fetch(parsed, LIMITS, NOW_MS, &mut reserve).await.unwrap_err(), FetchError::NoMemory);
    assert!((1..=10).contains(&reserved), "{reserved}");
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::Incomplete);
    for _ in 0..2 {
        assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::Encoded);
    }
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::Incomplete);
}

#[tokio::test]
async fn the_memory_of_a_file_is_reserved_before_it_is_allocated() {
    let receiver = Receiver::new([
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n")]
            as &[_],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nabc")],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\n\r\nabc")],
    ]);
    let url = format!("http://127.0.0.1:{}/", receiver.port());
    let client = local();
    for reserved_bytes in [10, 3, 10] {
        let mut reserved = 0;
        let mut reserve = |bytes| {
            reserved += bytes;
            Some(())
        };
        let parsed = CustomerUrl::parse(&url, client.policy()).unwrap();

        let (file, reservation) = client.fetch(parsed, LIMITS, NOW_MS, &mut reserve).await.unwrap();

        assert_eq!(reservation, Some(()));
        assert_eq!((file.content.as_slice(), file.content.capacity()), (&b"abc"[..], reserved));
        assert_eq!(reserved, reserved_bytes);
    }
}

#[tokio::test]
async fn a_file_that_moves_to_a_larger_buffer_has_memory_for_both() {
    const SMALL: usize = 16 << 10;
    const LARGE: usize = 4 * SMALL;
    let rest = "b".repeat(0x5000);
    let head = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";
    let response: &'static str = format!("{head}1\r\na\r\n5000\r\n{rest}\r\n0\r\n\r\n").leak();
    let script: &'static [_] = vec![ReadRequest, Write(response)].leak();
    let receiver = Receiver::new([script, script]);
    let url = format!("http://127.0.0.1:{}/", receiver.port());
    let (client, limits) = (local(), FetchLimits { bytes_max: 2 * LARGE, ..LIMITS });
    for (bytes, fits) in [(SMALL + LARGE, true), (SMALL + LARGE - 1, false)] {
        let memory = Arc::new(Semaphore::new(bytes));
        let mut reserve = |bytes: usize| Arc::clone(&memory).try_acquire_many_owned(u32::try_from(bytes).unwrap()).ok();
        let parsed = CustomerUrl::parse(&url, client.policy()).unwrap();

        let fetched = client.fetch(parsed, limits, NOW_MS, &mut reserve).await;

        if fits {
            let (file, reservation) = fetched.unwrap();
            assert_eq!((file.content.len(), file.content.capacity()), (1 + rest.len(), LARGE));
            assert_eq!(memory.available_permits(), SMALL, "the smaller buffer is free");
            drop(reservation);
        } else {
            assert_eq!(fetched.unwrap_err(), FetchError::NoMemory);
        }
        assert_eq!(memory.available_permits(), bytes);
    }
}

#[tokio::test]
async fn redirects_are_followed_up_to_a_bound() {
    let receiver = Receiver::new([
        &[ReadRequest, Write("HTTP/1.1 302 Found\r\nlocation: b/c?d#e\r\n\r\n"), ReadToEnd] as &[_],
        &[ReadRequest, Write("HTTP/1.1 308 Permanent Redirect\r\nlocation: ?f\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 307 Temporary Redirect\r\nlocation: /g.txt\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\n\r\nx"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 303 See Other\r\nlocation: /\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 301 Moved\r\nlocation: /\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 301 Moved\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 304 Not Modified\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 404 Not Found\r\n\r\n"), ReadToEnd],
    ]);
    let url = format!("http://127.0.0.1:{}/a/x", receiver.port());
    let client = local();

    let file = fetch(&client, &url, LIMITS).await.unwrap();

    assert_eq!((file.content.as_slice(), file.filename.as_deref()), (&b"x"[..], Some("g.txt")));
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::TooManyRedirects);
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::NoLocation);
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::Status(304));
    assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), FetchError::Status(404));
    let targets: Vec<String> =
        receiver.requests().iter().map(|request| request.head.split(' ').nth(1).unwrap().to_owned()).collect();
    assert_eq!(targets[..4], ["/a/x", "/a/b/c?d", "/a/b/c?f", "/g.txt"]);
}

#[tokio::test]
async fn a_redirect_obeys_the_guard_and_the_policy() {
    let trap = Trap::at("127.0.0.2", 0).unwrap();
    let authority = Authority::serving(&format!("{SOA}inside IN A 127.0.0.2\n")).await;
    let private = |port: u16| format!("http://127.0.0.2:{port}/");
    let named = |port: u16| format!("http://inside.example:{port}/");
    let blocked = FetchError::Redirect(UrlError::Blocked(BlockedAddress::Loopback));
    for (location, error) in [
        (private(trap.port()), blocked.clone()),
        (format!("//127.0.0.2:{}/", trap.port()), blocked),
        (named(trap.port()), FetchError::Request(RequestError::Blocked(BlockedAddress::Loopback))),
        ("ftp://example.com/".to_owned(), FetchError::Redirect(UrlError::NotHttp)),
        ("http://user@example.com/".to_owned(), FetchError::Redirect(UrlError::UserInfo)),
        ("javascript:alert(1)".to_owned(), FetchError::Redirect(UrlError::Malformed)),
    ] {
        let response: &'static str = format!("HTTP/1.1 302 Found\r\nlocation: {location}\r\n\r\n").leak();
        let script: &'static [_] = vec![ReadRequest, Write(response), ReadToEnd].leak();
        let receiver = Receiver::new([script]);
        let client = client_of(&authority, policy(&["127.0.0.1"]), timeouts());

        let url = format!("http://127.0.0.1:{}/", receiver.port());
        assert_eq!(fetch(&client, &url, LIMITS).await.unwrap_err(), error, "{location}");
    }
    trap.assert_no_connection();
}

#[tokio::test]
async fn a_redirect_from_https_to_http_is_refused() {
    let strict = UrlPolicy::default();
    let url = CustomerUrl::parse("https://example.com/a/b?c=../d", &strict).unwrap();

    assert_eq!(url.redirect("http://example.com/", &strict), Err(UrlError::NotHttps));
    for (location, target) in [
        ("/x", "https://example.com/x"),
        ("x", "https://example.com/a/x"),
        ("//other.example/x", "https://other.example/x"),
        ("?q=http://x", "https://example.com/a/b?q=http://x"),
        ("HTTPS://other.example:8443/x#y", "HTTPS://other.example:8443/x"),
        ("", "https://example.com/a/b?c=../d"),
        ("#e", "https://example.com/a/b?c=../d"),
        ("../x?y=../z", "https://example.com/x?y=../z"),
        ("./x/../y/./", "https://example.com/a/y/"),
        ("../../..", "https://example.com/"),
        ("/x/./y/..", "https://example.com/x/"),
        ("//other.example/../x", "https://other.example/x"),
        ("https://other.example:8443/a/../x?y", "https://other.example:8443/x?y"),
        ("x..y/...", "https://example.com/a/x..y/..."),
    ] {
        assert_eq!(url.redirect(location, &strict).unwrap().to_string(), target, "{location}");
    }
}

#[tokio::test]
async fn a_slow_file_ends_at_the_time_limit() {
    let receiver = Receiver::new([&[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\nabc"), ReadToEnd]]);
    let url = format!("http://127.0.0.1:{}/", receiver.port());

    let limits = FetchLimits { overall: SHORT_TIMEOUT, ..LIMITS };

    assert_eq!(fetch(&local(), &url, limits).await.unwrap_err(), timed_out());
}

//! Requests for a status.

use crate::http_client::{FetchError, UrlError};

use super::receiver::Receiver;
use super::receiver::Step::{ReadRequest, ReadToEnd, Write};
use super::{CustomerUrl, NOW_MS, SHORT_TIMEOUT, client, policy, timeouts};

#[tokio::test]
async fn a_status_is_requested_with_head_and_then_with_get() {
    let receiver = Receiver::new([
        &[ReadRequest, Write("HTTP/1.1 302 Found\r\nlocation: /b\r\n\r\n"), ReadToEnd] as &[_],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 5\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 405 Method Not Allowed\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 200 OK\r\ncontent-length: 999999999\r\n\r\n"), ReadToEnd],
        &[ReadRequest],
        &[ReadRequest, Write("HTTP/1.1 404 Not Found\r\n\r\n"), ReadToEnd],
        &[ReadRequest, Write("HTTP/1.1 301 Moved\r\nlocation: ftp://example.com/\r\n\r\n"), ReadToEnd],
    ]);
    let client = client(policy(&["127.0.0.1"]), timeouts());
    let url = CustomerUrl::parse(&format!("http://127.0.0.1:{}/a", receiver.port()), client.policy()).unwrap();

    let mut results = Vec::new();
    for _ in 0..4 {
        results.push(client.probe(url.clone(), 10 * SHORT_TIMEOUT, NOW_MS).await);
    }

    assert_eq!(results, [Ok(200), Ok(200), Ok(404), Err(FetchError::Redirect(UrlError::NotHttp))]);
    let requests = receiver.requests();
    let lines: Vec<&str> = requests.iter().map(|request| request.head.split(" HTTP").next().unwrap()).collect();
    assert_eq!(lines, ["HEAD /a", "HEAD /b", "HEAD /a", "GET /a", "HEAD /a", "GET /a", "HEAD /a"]);
}

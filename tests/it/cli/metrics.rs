//! The listener of `--metrics-listen`.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use super::program::Cli;

fn status(url: &str) -> (u16, String) {
    let agent = ureq::Agent::config_builder().http_status_as_error(false).build();
    let request = ureq::Agent::new_with_config(agent).get(url).header("x-forwarded-for", "192.0.2.1");
    let response = request.call().unwrap();
    (response.status().as_u16(), response.into_body().read_to_string().unwrap())
}

#[test]
fn the_listener_of_the_metrics_needs_no_key_and_has_no_api() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--metrics-listen", "127.0.0.1:0"]);
    let url = server.menu["metrics"].as_str().unwrap().to_owned();
    let base = url.strip_suffix("/metrics").unwrap();

    let (read, text) = status(&url);
    assert!(read == 200 && text.contains("ringmail_build_info"), "{read} {text}");
    assert_eq!(status(&format!("{base}/health")).0, 200);
    for path in ["/emails", "/dashboard/", "/docs/openapi.json"] {
        assert_eq!(status(&format!("{base}{path}")).0, 404, "{path}");
    }
    assert_eq!(status(&format!("{}/metrics", server.api())).0, 401);
    assert_eq!(server.stop(), 0);
}

#[test]
fn one_client_has_few_connections_to_the_listener_of_the_metrics() {
    let cli = Cli::new();
    let server = cli.serve(&["serve", "--metrics-listen", "127.0.0.1:0"]);
    let url = server.menu["metrics"].as_str().unwrap();
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/metrics").unwrap();
    let mut streams: Vec<TcpStream> = (0..17).map(|_| TcpStream::connect(address).unwrap()).collect();
    for stream in &streams {
        stream.set_read_timeout(Some(Duration::from_secs(20))).unwrap();
    }

    assert_eq!(streams[16].read(&mut [0]).unwrap(), 0, "the connection is closed");
    streams[0].write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\n\r\n").unwrap();
    let mut start = [0; 12];
    streams[0].read_exact(&mut start).unwrap();
    assert_eq!(&start, b"HTTP/1.1 200");
}

#[test]
fn a_server_without_the_setting_has_no_further_listener() {
    let cli = Cli::new();

    assert!(cli.serve(&["serve"]).menu.get("metrics").is_none());
}

#[test]
fn an_address_in_use_is_reported_with_the_flag_of_the_metrics() {
    let cli = Cli::new();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();

    let output = cli.run(&["serve", "--listen", "127.0.0.1:0", "--metrics-listen", &address]);

    output.failed(1, &["--metrics-listen", &address]);
    assert!(!cli.path("ringmail-data/ringmail.redb").exists());
}

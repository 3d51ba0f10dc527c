//! Leases of groups in flight.

use std::net::TcpListener;
use std::time::Duration;

use serde_json::json;

use crate::support::{NameServer, TestServer};

#[test]
fn a_process_renews_its_leases_with_one_row_while_it_holds_them() {
    // Connections to it are established, and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let names = NameServer::start();
    names.add("silent IN MX 10 mx.silent.example.\nmx.silent IN A 127.0.0.1\n");
    let server = TestServer::start_with(&[
        "--delivery",
        "direct",
        "--hostname",
        "mx.ringmail.test",
        "--resolver",
        &names.address(),
        "--smtp-port",
        &silent.local_addr().unwrap().port().to_string(),
        "--allow-address",
        "127.0.0.0/8",
    ]);
    assert_eq!(server.node_expiries(), [] as [i64; 0]);
    for to in ["one@silent.example", "two@silent.example"] {
        server.send(&json!({ "to": to }));
    }
    let leased = server.wait_for_node_expiry(|_| true);

    server.advance(Duration::from_secs(30));

    let renewed = server.wait_for_node_expiry(|expires_ms| expires_ms != leased);
    assert!((leased + 1_000..=leased + 30_000).contains(&renewed), "{leased} {renewed}");
    assert!(server.leases() > 0);
}

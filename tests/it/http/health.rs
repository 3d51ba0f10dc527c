//! `GET /health` of an instance that fails.

use ringmail::http::ApiError;
use ringmail::store::StoreError;
use serde_json::json;

use crate::support::TestServer;

#[test]
fn a_panic_in_the_store_is_an_error_500_and_a_health_of_503() {
    let server = TestServer::start();
    let store = server.context().store.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let read = runtime.block_on(store.read::<(), StoreError>(|_| panic!("a read of the test")));

    assert_eq!(ApiError::from(read.unwrap_err()).code.status(), 500);
    let health = server.call("GET", "/health", "", &[], None).ok(503);
    assert_eq!(health, json!({ "ok": false, "status": "failing", "problems": ["store"] }));
    assert_eq!(server.get("/emails").status, 200);
}

#[test]
fn a_panic_of_a_command_is_an_error_500_and_a_health_of_503() {
    let server = TestServer::start();
    let store = server.context().store.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();

    let written = runtime.block_on(store.write::<(), StoreError>(|_| panic!("a command of the test")));

    assert_eq!(ApiError::from(written.unwrap_err()).code.status(), 500);
    assert_eq!(server.call("GET", "/health", "", &[], None).ok(503)["problems"], json!(["store"]));
    server.send(&json!({}));
}

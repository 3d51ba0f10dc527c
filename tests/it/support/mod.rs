//! Runs a real server in the test process, with its own data directory and a manual clock.
//!
//! In reading order:
//!
//! - `server.rs` starts, calls, stops and restarts the server.
//! - `response.rs` checks a response.
//! - `raw.rs` sends malformed and truncated requests.
//! - `name_server.rs` is a DNS server with one zone.
//! - `mail_server.rs` is a mail server whose STARTTLS can fail.
//! - `webhook_receiver.rs` receives webhooks.
//! - `closed_port.rs` keeps a port that refuses connections.
//! - `teams.rs` creates other teams and API keys.
//! - `rows.rs` reads and writes rows that no endpoint exposes.
//! - `routes.rs` lists every route of the OpenAPI document.
//! - `documented.rs` checks every response against the operations of the OpenAPI document.
//! - `schema.rs` checks JSON against the schemas of the OpenAPI document.
//! - `snapshot.rs` compares a body with its snapshot, after replacing ids, times and secrets.

mod closed_port;
mod documented;
mod mail_server;
mod name_server;
mod raw;
mod response;
mod routes;
mod rows;
mod schema;
mod server;
mod snapshot;
mod teams;
mod webhook_receiver;

pub(crate) use closed_port::ClosedPort;
pub(crate) use mail_server::{MailServer, Received, SmtpClient, StartTls};
pub(crate) use name_server::NameServer;
pub(crate) use response::ApiResponse;
pub(crate) use routes::{Ids, Route, every_route};
pub(crate) use schema::violations;
pub(crate) use server::{TestServer, email, retry_until_ok};
pub(crate) use snapshot::{assert_body, assert_lines, in_snapshots, redacted};
pub(crate) use teams::OtherTeam;
pub(crate) use webhook_receiver::WebhookReceiver;

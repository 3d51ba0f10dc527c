//! A real server in this process, over a directory of its own, with a clock turned by hand.
//!
//! `server.rs` starts, calls, stops and starts again; `answer.rs` what was answered; `raw.rs`
//! requests that no well-behaved client makes; `names.rs` a name server; `teams.rs` other teams and other keys; `rows.rs`
//! facts that no endpoint makes yet; `routes.rs` every route by the API's own description;
//! `schema.rs` whether an answer is what the description promises; `snapshot.rs` bodies without
//! what changes from run to run.

mod answer;
mod names;
mod raw;
mod routes;
mod rows;
mod schema;
mod server;
mod snapshot;
mod teams;

pub(crate) use answer::Answer;
pub(crate) use names::NameServer;
pub(crate) use routes::{Ids, Route, every_route};
pub(crate) use schema::violations;
pub(crate) use server::{TestServer, email};
pub(crate) use snapshot::{assert_body, assert_lines, in_snapshots, redacted};
pub(crate) use teams::OtherTeam;

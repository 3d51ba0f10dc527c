//! The audit log: entries of the actions, and their lists.

mod actions;
mod lists;

use ringmail::admin::Response;
use ringmail::admin::audit::{AuditVerb, AuditView};

use crate::support::TestServer;

/// Returns the newest 100 entries of the server and of all teams, oldest first.
#[track_caller]
pub(crate) fn entries(server: &TestServer) -> Vec<AuditView> {
    let Response::Audit(rows) = server.admin(AuditVerb::List { after: None }) else { panic!("expected entries") };
    assert!(!rows.has_more, "more than one page of entries");
    rows.data.into_iter().rev().collect()
}

/// Runs `act`, and returns its entries.
#[track_caller]
pub(crate) fn recorded(server: &TestServer, act: impl FnOnce()) -> Vec<AuditView> {
    let before = entries(server).len();
    act();
    entries(server).split_off(before)
}

/// Returns the actions of entries.
pub(crate) fn actions(entries: &[AuditView]) -> Vec<&str> {
    entries.iter().map(|entry| entry.action.as_str()).collect()
}

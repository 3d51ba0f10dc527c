//! Shared fixtures of the tests of domains: a row, the settings of an instance, a store.

use super::model::DomainStatus;
use super::settings::DomainSettings;
use super::store::{DkimKeyRow, DomainRow};
use crate::context::Context;

/// Returns a row with placeholders for keys.
pub(super) fn row(name: &str) -> DomainRow {
    let key = |suffix: &str, record: &str| DkimKeyRow {
        selector: format!("one-{suffix}"),
        record: record.into(),
        sealed: Vec::new(),
    };
    DomainRow {
        name: name.into(),
        region: "us-east-1".into(),
        status: DomainStatus::NotStarted,
        return_path: "send".into(),
        open_tracking: false,
        click_tracking: false,
        tracking_subdomain: None,
        rsa: key("rsa", "v=DKIM1; k=rsa; p=AAAA"),
        ed25519: key("ed", "v=DKIM1; k=ed25519; p=BBBB"),
        records: Vec::new(),
        checked_ms: None,
        pending_since_ms: None,
        assumed: false,
        refusal: None,
        created_ms: 0,
    }
}

pub(super) fn settings() -> DomainSettings {
    DomainSettings {
        hostname: "mx.ringmail.example".into(),
        regions: vec!["us-east-1".into(), "eu-west-1".into()],
        relay_records: None,
        public_url: "https://app.ringmail.example/".into(),
        links_allowed: true,
    }
}

/// Returns a store with a manual clock. Dropping the directory deletes the store.
pub(super) fn context() -> (tempfile::TempDir, Context) {
    Context::temporary()
}

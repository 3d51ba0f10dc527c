//! The checks of `ringmail doctor`. For the operator's team only.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use salvo::writing::Json;
use salvo::{Writer as _, handler};
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::base::clock::{TimestampMs, to_iso};
use crate::base::sync;
use crate::base::wakeup::Wakeup;
use crate::context::Context;
use crate::doctor::{CheckStatus, Doctor, DoctorOptions, DoctorReport, SetupCheck, parse_time_server};
use crate::http::{ApiResult, Health, State};

/// Time server that the clock is compared with, as by `ringmail doctor`.
const TIME_SERVER: &str = "pool.ntp.org";
/// Domains whose mail servers are connected to in direct delivery, as by `ringmail doctor`.
const PROBED: [&str; 3] = ["gmail.com", "outlook.com", "yahoo.com"];
/// Age of a report up to which a further request does not run the checks again.
const FRESH_MS: i64 = 5_000;

/// The last results of the checks, in memory.
pub struct HealthReports {
    context: Context,
    doctor: Arc<Doctor>,
    health: Arc<Health>,
    /// Held during a run, so that requests at the same time share one.
    run: tokio::sync::Mutex<()>,
    last: Mutex<Option<Arc<CheckedHealth>>>,
    requested: Wakeup,
}

/// The results of the checks at one time.
pub(super) struct CheckedHealth {
    pub(super) report: DoctorReport,
    pub(super) at_ms: TimestampMs,
}

#[derive(Serialize)]
struct HealthList {
    object: &'static str,
    has_more: bool,
    status: &'static str,
    checked_at: String,
    data: Vec<CheckView>,
}

#[derive(Serialize)]
struct CheckView {
    id: String,
    title: String,
    status: CheckStatus,
    seen: String,
    expected: Option<String>,
    fix: Option<String>,
    docs: &'static str,
    checked_at: String,
}

impl HealthReports {
    /// Returns the checks of an instance, and the health of its parts.
    pub fn new(context: Context, doctor: Arc<Doctor>, health: Arc<Health>) -> Self {
        let (run, last, requested) = Default::default();
        Self { context, doctor, health, run, last, requested }
    }

    /// Returns the names of the failing parts.
    pub(super) fn problems(&self) -> Vec<String> {
        self.health.problems()
    }

    /// Returns the last results without running a check; `None` before the end of the first run.
    pub(super) fn known(&self) -> Option<Arc<CheckedHealth>> {
        sync::lock(&self.last).clone()
    }

    /// Requests a run of the worker, whose results [`Self::known`] returns later.
    pub(super) fn request(&self) {
        self.requested.notify();
    }

    /// Runs the checks when they are requested, until the stop.
    ///
    /// # Errors
    /// None.
    pub async fn run(&self, stop: CancellationToken) -> Result<(), Infallible> {
        let run = async {
            loop {
                self.requested.notified().await;
                self.within(FRESH_MS).await;
            }
        };
        stop.run_until_cancelled(run).await.unwrap_or(Ok(()))
    }

    /// Returns results of at most this age. Requests at the same time share one run.
    async fn within(&self, age_max_ms: i64) -> Arc<CheckedHealth> {
        let fresh = || self.known().filter(|known| self.context.now_ms().saturating_sub(known.at_ms) <= age_max_ms);
        if let Some(known) = fresh() {
            return known;
        }
        let _run = self.run.lock().await;
        // Another request can have ended a run meanwhile.
        if let Some(known) = fresh() {
            return known;
        }
        let options = DoctorOptions {
            probe: PROBED.map(str::to_owned).to_vec(),
            time_server: parse_time_server(TIME_SERVER).ok(),
        };
        let report = self.doctor.run(&options).await;
        let checked = Arc::new(CheckedHealth { report, at_ms: self.context.now_ms() });
        *sync::lock(&self.last) = Some(Arc::clone(&checked));
        checked
    }
}

impl CheckedHealth {
    /// Returns `ok`, `warning` or `failing`.
    pub(super) fn status(&self) -> &'static str {
        let has = |status: CheckStatus| self.report.checks.iter().any(|check| check.status == status);
        match (has(CheckStatus::Failed), has(CheckStatus::Warning)) {
            (true, _) => "failing",
            (false, true) => "warning",
            (false, false) => "ok",
        }
    }

    fn list(&self) -> HealthList {
        let checked_at = to_iso(self.at_ms);
        let data = self.report.checks.iter().map(|check| CheckView::new(check, &checked_at)).collect();
        HealthList { object: "list", has_more: false, status: self.status(), checked_at, data }
    }
}

impl CheckView {
    fn new(check: &SetupCheck, checked_at: &str) -> Self {
        let SetupCheck { check: name, subject, status, seen, expected, fix } = check;
        let id = subject.as_ref().map_or_else(|| name.clone(), |subject| format!("{name}:{subject}"));
        Self {
            id,
            title: check_title(check),
            status: *status,
            seen: seen.clone(),
            expected: expected.clone(),
            fix: fix.clone(),
            docs: "/docs/DASHBOARD#the-checks",
            checked_at: checked_at.to_owned(),
        }
    }
}

/// Returns the title of a check with its subject.
pub(super) fn check_title(check: &SetupCheck) -> String {
    let title = title(&check.check);
    check.subject.as_ref().map_or_else(|| title.clone(), |subject| format!("{title}: {subject}"))
}

/// Returns the name of a check as words.
fn title(name: &str) -> String {
    let known = match name {
        "smtp_port" => "Outgoing SMTP",
        "hostname" => "Host name",
        "reverse_dns" => "Reverse DNS",
        "resolver" => "DNS servers",
        "domains" => "Domain records",
        "public_url" => "Public URL",
        "open_files" => "Open files",
        "one_click_unsubscribe" => "One-click unsubscribe",
        "tls" => "Encryption of sessions",
        _ => "",
    };
    if !known.is_empty() {
        return known.to_owned();
    }
    let words = name.replace('_', " ");
    let mut letters = words.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// Returns the results of the checks. Runs them if no run has ended since the start of the server.
#[handler]
pub(super) async fn get_health(reports: State<HealthReports>) -> ApiResult<Json<HealthList>> {
    Ok(Json(reports.within(i64::MAX).await.list()))
}

/// Runs the checks.
#[handler]
pub(super) async fn run_health(reports: State<HealthReports>) -> ApiResult<Json<HealthList>> {
    Ok(Json(reports.within(FRESH_MS).await.list()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_without_a_known_title_has_its_words() {
        assert_eq!(title("smtp_port"), "Outgoing SMTP");
        assert_eq!(title("disk_space"), "Disk space");
        assert_eq!(title(""), "");
    }
}

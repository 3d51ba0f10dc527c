//! Opens the tokens of requests, and records hits without making the recipient wait for a failure.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use ipnet::IpNet;
use salvo::Request;
use salvo::http::header::USER_AGENT;
use tokio::sync::Semaphore;
use tokio_util::task::TaskTracker;
use tracing::warn;

use super::super::token::{TrackedRecipient, TrackingToken, TrackingTokens};
use crate::base::clock::monotonic;
use crate::base::printable::printable;
use crate::base::sync;
use crate::context::Context;
use crate::engagement::{self, Engagement, Hit, HitTarget};
use crate::http::peer;

/// Longest user agent of a hit, in bytes. A longer one is cut.
const USER_AGENT_BYTES_MAX: usize = 512;
/// Longest time that a response waits for the commit of its hit. A person who follows a link waits no longer.
const RECORD_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of hits that are recorded at the same time. Further ones wait for the end of one.
const RECORDINGS_MAX: usize = 1_024;
/// Shortest time between two log lines about lost hits.
const LOST_LOG_INTERVAL: Duration = Duration::from_secs(60);

/// Opens tokens and records the hits of an instance.
pub(crate) struct HitRecorder {
    context: Context,
    tokens: TrackingTokens,
    engagement: Engagement,
    trusted_proxies: Vec<IpNet>,
    /// Runs the recordings, which the end of a request does not stop.
    tasks: TaskTracker,
    /// [`RECORDINGS_MAX`] permits.
    recordings: Arc<Semaphore>,
    /// Number of hits that were not recorded in time.
    lost: AtomicU64,
    /// Time of the last log line about lost hits.
    lost_logged_at: Mutex<Option<Instant>>,
}

impl HitRecorder {
    /// Returns the recorder of an instance. `prefetch_window` is that of [`Engagement`]. A proxy in `trusted_proxies` may
    /// name the address of its client. The recordings run on `tasks`.
    pub(crate) fn new(
        context: Context,
        prefetch_window: Duration,
        trusted_proxies: Vec<IpNet>,
        tasks: TaskTracker,
    ) -> Self {
        Self {
            tokens: TrackingTokens::new(&context.keyring),
            engagement: Engagement::new(context.clone()).with_prefetch_window(prefetch_window),
            context,
            trusted_proxies,
            tasks,
            recordings: Arc::new(Semaphore::new(RECORDINGS_MAX)),
            lost: AtomicU64::new(0),
            lost_logged_at: Mutex::default(),
        }
    }

    /// Returns the number of hits that were not recorded in time, because the store failed or was too slow.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Returns the content of a token; `None` if this instance did not make it.
    pub(super) fn open(&self, token: &str) -> Option<TrackingToken> {
        self.tokens.open(token)
    }

    /// Records a hit, and waits for its commit. If the store fails or is too slow, the hit is counted as lost. A slow hit
    /// may be recorded later. A client that closes the connection does not stop the recording.
    pub(super) async fn record(&self, req: &Request, recipient: TrackedRecipient, target: HitTarget) {
        let TrackedRecipient { team, email, group } = recipient;
        let address = peer::peer_address(req);
        let address = address.map(|peer| peer::client_address(peer, req.headers(), &self.trusted_proxies));
        let hit = Hit {
            team,
            email,
            group,
            target,
            ip_address: address.map_or_else(String::new, |address| address.to_string()),
            user_agent: user_agent(req),
            is_prefetch: is_prefetch(req),
            at_ms: self.context.now_ms(),
        };
        let reason = match tokio::time::timeout(RECORD_TIMEOUT, self.record_on_task(hit)).await {
            Ok(Ok(())) => return,
            Ok(Err(reason)) => reason,
            Err(_) => "the store did not commit in time".to_owned(),
        };
        let lost = self.lost.fetch_add(1, Ordering::Relaxed) + 1;
        self.log_lost(lost, &reason, monotonic());
    }

    async fn record_on_task(&self, hit: Hit) -> Result<(), String> {
        let recordings = Arc::clone(&self.recordings);
        let permit = recordings.acquire_owned().await.map_err(|error| error.to_string())?;
        let engagement = self.engagement.clone();
        let recording = self.tasks.spawn(async move {
            let _permit = permit;
            engagement.record(hit).await
        });
        match recording.await {
            Ok(recorded) => recorded.map_err(|error| error.to_string()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Logs the number of lost hits, at most once in [`LOST_LOG_INTERVAL`].
    fn log_lost(&self, lost: u64, reason: &str, now: Instant) {
        let mut logged_at = sync::lock(&self.lost_logged_at);
        if logged_at.is_some_and(|at| now.duration_since(at) < LOST_LOG_INTERVAL) {
            return;
        }
        *logged_at = Some(now);
        warn!(hits = lost, "could not record opens and clicks, {lost} since the start: {reason}");
    }
}

fn user_agent(req: &Request) -> String {
    let value = req.headers().get(USER_AGENT).map(|value| String::from_utf8_lossy(value.as_bytes()));
    let mut agent = printable(value.as_deref().unwrap_or_default().trim(), usize::MAX);
    agent.truncate(agent.floor_char_boundary(USER_AGENT_BYTES_MAX));
    agent
}

/// Returns whether a header of a request states that no person made it.
fn is_prefetch(req: &Request) -> bool {
    engagement::is_prefetch(|name| req.headers().get(name).and_then(|value| value.to_str().ok()))
}

#[cfg(test)]
mod tests {
    use salvo::http::HeaderValue;
    use salvo::http::header::HeaderName;
    use tempfile::TempDir;

    use super::*;
    use crate::base::id::{EmailId, TeamId};
    use crate::emails::{EmailRow, LastEvent, RecipientRow, RecipientState};
    use crate::events::{self, EmailEventKind};
    use crate::tables::EMAILS;

    const BROWSER: &str = "Mozilla/5.0 (X11; Linux x86_64; rv:142.0) Gecko/20100101 Firefox/142.0";

    /// Returns a recorder, and the recipient of a delivered email in its store.
    async fn recorder() -> (TempDir, HitRecorder, TrackedRecipient) {
        let (directory, context) = Context::temporary();
        let (team, email): (TeamId, EmailId) = (context.id(), context.id());
        let recipient = RecipientRow::example("ada@example.net", RecipientState::Settled, LastEvent::Delivered);
        let row = EmailRow::example(vec![recipient], LastEvent::Delivered);
        context.commit(move |tx| tx.put(&EMAILS, &(team, email), &row)).await;
        let recorder = HitRecorder::new(context, Duration::ZERO, Vec::new(), TaskTracker::new());
        (directory, recorder, TrackedRecipient { team, email, group: 0 })
    }

    /// Returns the kinds of the events of an email, oldest first.
    fn kinds(recorder: &HitRecorder, email: EmailId) -> Vec<EmailEventKind> {
        let events = recorder.context.read(|tx| events::email_timeline(tx, email));
        events.into_iter().map(|event| event.kind).collect()
    }

    fn request(headers: &[(&'static str, &'static str)]) -> Request {
        let mut req = Request::new();
        for (name, value) in headers {
            req.headers_mut().append(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        req
    }

    #[test]
    fn a_prefetch_is_detected_by_its_headers() {
        for (headers, expected) in [
            (&[][..], false),
            (&[("purpose", "prefetch")], true),
            (&[("sec-purpose", "prefetch;prerender")], true),
            (&[("sec-purpose", "Prefetch")], true),
            (&[("x-moz", "prefetch")], true),
            (&[("x-purpose", "preview")], true),
            (&[("x-purpose", "prefetch")], false),
            (&[("purpose", "other")], false),
            (&[("purpose", "pre")], false),
        ] {
            assert_eq!(is_prefetch(&request(headers)), expected, "{headers:?}");
        }
    }

    #[test]
    fn a_user_agent_is_bounded_and_printable() {
        assert_eq!(user_agent(&request(&[])), "");
        assert_eq!(user_agent(&request(&[("user-agent", " Mail\t1 ")])), "Mail 1");
        for (letter, expected) in [("a", 512), ("é", 256), ("€", 170)] {
            let mut req = Request::new();
            req.headers_mut().insert(USER_AGENT, HeaderValue::from_bytes(letter.repeat(600).as_bytes()).unwrap());
            assert_eq!(user_agent(&req), letter.repeat(expected));
        }
    }

    #[tokio::test]
    async fn a_hit_is_recorded_although_the_client_closes_the_connection() {
        let (_directory, recorder, recipient) = recorder().await;
        let req = request(&[("user-agent", BROWSER)]);
        recorder.record(&req, recipient, HitTarget::Pixel).await;
        // A second hit is recorded in two steps, so that a recording without its own task would stop between them.
        recorder.context.clock.advance(Duration::from_secs(120));

        // The end of a connection drops the request. The first poll has started the recording.
        tokio::select! {
            biased;
            () = recorder.record(&req, recipient, HitTarget::Pixel) => panic!("the hit was recorded without a task"),
            () = std::future::ready(()) => {}
        }
        recorder.tasks.close();
        recorder.tasks.wait().await;

        assert_eq!(kinds(&recorder, recipient.email), [EmailEventKind::Opened, EmailEventKind::Opened]);
        assert_eq!(recorder.lost(), 0);
    }

    #[tokio::test]
    async fn each_hit_that_the_store_refuses_counts_as_lost() {
        let (_directory, recorder, recipient) = recorder().await;
        let req = request(&[("user-agent", BROWSER)]);
        recorder.record(&req, recipient, HitTarget::Pixel).await;
        assert_eq!(recorder.lost(), 0);

        recorder.context.store.close().await;
        for lost in 1..=2 {
            recorder.record(&req, recipient, HitTarget::Link("https://shop.example/".to_owned())).await;
            assert_eq!(recorder.lost(), lost);
        }
    }
}

//! Table tests of the lane machine and the pacer.

use std::time::Instant;

use super::machine::{HELD_MAX, RequestPacer};
use super::*;
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TeamId};
use crate::base::signature::WebhookSecret;
use crate::http_client::{CustomerUrl, UrlPolicy};
use crate::webhooks::ExhaustedReason;
use crate::webhooks::dispatch::page::LoadedEndpoint;
use crate::webhooks::dispatch::settle::DeliveryDisposition;
use crate::webhooks::retry::ResponseInfo;
use crate::webhooks::store::WebhookAttemptRow;

const QUEUED_MS: TimestampMs = 1_767_604_353_456;
const HOUR: Duration = Duration::from_secs(3_600);

/// A machine with a clock that the test advances.
struct Rig {
    machine: LaneMachine,
    input: LaneInput,
}

impl Rig {
    fn new(per_second: u32) -> Self {
        let generations = LoadGenerations { endpoint_version: 0, erasure_generation: 0 };
        let input = LaneInput { now_ms: QUEUED_MS, now: monotonic(), generations };
        Self { machine: LaneMachine::new(per_second), input }
    }

    /// Returns a machine that has loaded `deliveries`.
    fn loaded(per_second: u32, deliveries: usize) -> Self {
        let mut rig = Self::new(per_second);
        assert_eq!(rig.commands(), ["load"]);
        rig.machine.handle(LaneEvent::PageLoaded(Some(Box::new(page(deliveries)))), rig.input);
        rig
    }

    /// Returns the names of the commands, until the machine waits.
    fn commands(&mut self) -> Vec<String> {
        std::iter::from_fn(|| self.machine.next_command(self.input)).map(|command| name(&command)).collect()
    }

    fn after(&mut self, event: LaneEvent) -> Vec<String> {
        self.machine.handle(event, self.input);
        self.commands()
    }

    fn advance(&mut self, by: Duration) {
        self.input.now += by;
        self.input.now_ms += i64::try_from(by.as_millis()).unwrap();
    }

    /// Grants a permit for each request until the machine asks for none.
    fn send_all(&mut self) -> usize {
        let mut sent = 0;
        let mut commands = self.commands();
        while commands.iter().any(|command| command == "acquire") {
            commands = self.after(LaneEvent::PermitAcquired);
            sent += commands.iter().filter(|command| command.starts_with("send")).count();
        }
        sent
    }
}

fn name(command: &LaneCommand) -> String {
    match command {
        LaneCommand::AcquirePermit => "acquire".into(),
        LaneCommand::Send { endpoint: _, delivery } => format!("send {}", number(delivery.claimed)),
        LaneCommand::Commit(outcomes) => {
            let outcome = |outcome: &DeliveryOutcome| match outcome.disposition {
                DeliveryDisposition::Attempted { .. } | DeliveryDisposition::NotSent { .. } => {
                    number(outcome.claimed).to_string()
                }
                DeliveryDisposition::GivenUp(why) => format!("{} {why:?}", number(outcome.claimed)),
                DeliveryDisposition::Retracted => format!("{} retracted", number(outcome.claimed)),
                DeliveryDisposition::Orphaned => format!("{} orphaned", number(outcome.claimed)),
            };
            format!("commit {}", outcomes.iter().map(outcome).collect::<Vec<_>>().join(", "))
        }
        LaneCommand::Load { .. } => "load".into(),
        LaneCommand::CancelLoad => "cancel load".into(),
        LaneCommand::ReleaseIdle => "release".into(),
        LaneCommand::Finish => "finish".into(),
    }
}

fn number(claimed: ClaimedDelivery) -> u8 {
    claimed.delivery.as_bytes()[15]
}

fn claimed(number: usize) -> ClaimedDelivery {
    let mut id = [0; 16];
    id[14..].copy_from_slice(&u16::try_from(number).unwrap().to_be_bytes());
    ClaimedDelivery { team: TeamId::MIN, delivery: Id::from_bytes(id), due_ms: QUEUED_MS }
}

fn endpoint(url: &str) -> EndpointSnapshot {
    let url = CustomerUrl::parse(url, &UrlPolicy::default()).unwrap();
    EndpointSnapshot { url, secret: WebhookSecret::generate(), previous: None }
}

fn page(deliveries: usize) -> DueDeliveries {
    let ready = (0..deliveries).map(|number| ReadyDelivery {
        claimed: claimed(number),
        queued_ms: QUEUED_MS,
        body: "{}".into(),
        erasure_generation: 0,
    });
    DueDeliveries {
        endpoint: LoadedEndpoint::Enabled(Arc::new(endpoint("https://hooks.example.com/"))),
        ready: ready.collect(),
        ..DueDeliveries::default()
    }
}

fn completed(number: usize, status: u16, retry_after: Option<Duration>) -> LaneEvent {
    let attempt = WebhookAttemptRow {
        id: Id::MIN,
        sent_ms: QUEUED_MS,
        took_ms: 1,
        status: Some(status),
        response: String::new(),
    };
    let info = ResponseInfo { status: Some(status), retry_after };
    let disposition = DeliveryDisposition::Attempted { attempt, info, erasure_generation: 0 };
    LaneEvent::Completed(DeliveryOutcome { claimed: claimed(number), disposition })
}

#[test]
fn a_delivery_is_loaded_sent_and_committed() {
    let mut rig = Rig::new(0);
    let steps: [(Option<LaneEvent>, &[&str]); 5] = [
        (None, &["load"]),
        (Some(LaneEvent::PageLoaded(Some(Box::new(page(1))))), &["acquire"]),
        (Some(LaneEvent::PermitAcquired), &["send 0"]),
        (Some(completed(0, 200, None)), &["commit 0", "release"]),
        (Some(LaneEvent::Committed(Some(EndpointChange::Unchanged))), &["load", "release"]),
    ];
    for (event, expected) in steps {
        let step = format!("{event:?}");
        if let Some(event) = event {
            rig.machine.handle(event, rig.input);
        }
        assert_eq!(rig.commands(), expected, "{step}");
    }
}

#[test]
fn eight_requests_are_in_flight_in_the_order_of_the_queue() {
    let mut rig = Rig::loaded(0, 20);

    assert_eq!(rig.send_all(), 8);
    assert_eq!(rig.after(completed(3, 200, None)), ["acquire", "commit 3"]);
    assert_eq!(rig.after(LaneEvent::PermitAcquired), ["send 8"]);
}

#[test]
fn a_change_of_the_endpoint_or_an_erasure_stops_requests_until_the_next_load() {
    for (endpoint_version, erasure_generation) in [(1, 0), (0, 1)] {
        let mut rig = Rig::loaded(0, 20);
        assert_eq!(rig.send_all(), 8);
        rig.input.generations = LoadGenerations { endpoint_version, erasure_generation };

        assert_eq!(rig.after(completed(0, 200, None)), ["commit 0", "load"]);
        assert_eq!(rig.after(completed(1, 200, None)), [""; 0]);

        let mut fresh = page(20);
        fresh.ready.drain(..8);
        assert_eq!(rig.after(LaneEvent::PageLoaded(Some(Box::new(fresh)))), ["acquire"]);
        assert_eq!(rig.after(LaneEvent::PermitAcquired), ["send 8", "acquire"]);
    }
}

#[test]
fn a_cooldown_discards_the_ready_deliveries_and_ends() {
    let mut rig = Rig::loaded(0, 20);
    rig.send_all();

    assert_eq!(rig.after(completed(0, 429, Some(HOUR))), ["commit 0"]);
    assert_eq!(rig.machine.capacity(), 0);
    for number in 1..8 {
        rig.after(completed(number, 200, None));
    }
    rig.after(LaneEvent::Committed(Some(EndpointChange::Unchanged)));
    rig.after(LaneEvent::Committed(Some(EndpointChange::Unchanged)));
    assert_eq!(rig.machine.wake_in(rig.input), Duration::from_secs(60), "a lane sleeps one minute at most");
    rig.advance(HOUR);
    assert_eq!(rig.after(LaneEvent::TimedOut), ["load", "release"]);
}

#[test]
fn a_cooldown_that_another_url_asked_for_does_not_apply() {
    let mut rig = Rig::loaded(0, 8);
    rig.send_all();
    rig.input.generations.endpoint_version = 1;
    rig.commands();
    let moved = DueDeliveries {
        endpoint: LoadedEndpoint::Enabled(Arc::new(endpoint("https://other.example.com/"))),
        ..DueDeliveries::default()
    };
    rig.after(LaneEvent::PageLoaded(Some(Box::new(moved))));

    rig.after(completed(0, 429, Some(HOUR)));

    assert_eq!(rig.machine.capacity(), HELD_MAX - 8);
}

#[test]
fn a_disabled_endpoint_gets_no_request() {
    let mut rig = Rig::loaded(0, 20);
    rig.send_all();
    rig.after(completed(0, 500, None));

    let commands = rig.after(LaneEvent::Committed(Some(EndpointChange::Disabled)));

    assert_eq!(commands, ["cancel load", "load"]);
    let exhausted = |number| {
        let disposition = DeliveryDisposition::GivenUp(ExhaustedReason::Disabled);
        DeliveryOutcome { claimed: claimed(number), disposition }
    };
    let disabled = DueDeliveries {
        endpoint: LoadedEndpoint::Unavailable,
        outcomes: vec![exhausted(8), exhausted(9)],
        ..DueDeliveries::default()
    };
    assert_eq!(rig.after(LaneEvent::PageLoaded(Some(Box::new(disabled)))), ["commit 8 Disabled, 9 Disabled"]);
}

#[test]
fn a_ready_delivery_that_expires_is_not_sent() {
    let mut rig = Rig::loaded(0, 2);
    rig.advance(24 * HOUR);

    assert_eq!(rig.commands(), ["commit 0 Expired, 1 Expired", "release"]);
}

#[test]
fn outcomes_without_a_commit_stop_requests_and_loads() {
    let mut rig = Rig::loaded(0, 256);
    assert_eq!(rig.send_all(), 8);
    rig.after(completed(0, 200, None));
    let mut full = page(600);
    full.outcomes = full
        .ready
        .drain(..)
        .skip(256)
        .map(|ready| DeliveryOutcome { claimed: ready.claimed, disposition: DeliveryDisposition::Orphaned })
        .collect();
    full.outcomes.extend(
        (600..800)
            .map(|number| DeliveryOutcome { claimed: claimed(number), disposition: DeliveryDisposition::Orphaned }),
    );
    rig.after(LaneEvent::PageLoaded(Some(Box::new(full))));

    assert_eq!(rig.after(completed(1, 200, None)), [""; 0], "the first commit is in progress");
    let commands = rig.after(LaneEvent::Committed(Some(EndpointChange::Unchanged)));
    assert!(commands[0].starts_with("commit 0 orphaned"), "{commands:?}");
}

#[test]
fn a_failure_of_the_store_pauses_the_lane_and_the_pause_grows() {
    let mut rig = Rig::new(0);
    assert_eq!(rig.commands(), ["load"]);
    for pause in [1, 2, 4, 8, 16, 32, 60, 60] {
        assert_eq!(rig.after(LaneEvent::PageLoaded(None)), ["release"]);
        assert_eq!(rig.machine.wake_in(rig.input), Duration::from_secs(pause));
        rig.advance(Duration::from_secs(pause));
        assert_eq!(rig.after(LaneEvent::TimedOut), ["load", "release"], "{pause}");
    }
}

#[test]
fn deliveries_of_a_failed_commit_are_loaded_again() {
    let mut rig = Rig::loaded(0, 1);
    rig.send_all();
    rig.after(completed(0, 200, None));

    assert_eq!(rig.after(LaneEvent::Committed(None)), ["release"]);
    rig.advance(Duration::from_secs(1));
    assert_eq!(rig.after(LaneEvent::TimedOut), ["load", "release"]);
    assert_eq!(rig.after(LaneEvent::PageLoaded(Some(Box::new(page(1))))), ["acquire"]);
}

#[test]
fn a_lane_without_work_ends_after_half_a_minute_and_not_in_a_cooldown() {
    let mut rig = Rig::loaded(0, 0);
    assert_eq!(rig.commands(), ["release"]);
    assert_eq!(rig.machine.wake_in(rig.input), Duration::from_secs(30));
    rig.advance(Duration::from_secs(30));
    assert_eq!(rig.after(LaneEvent::TimedOut)[0], "finish");

    let mut cooling = Rig::loaded(0, 1);
    cooling.send_all();
    cooling.after(completed(0, 429, Some(HOUR)));
    cooling.after(LaneEvent::Committed(Some(EndpointChange::Unchanged)));
    cooling.advance(Duration::from_secs(60));
    assert!(!cooling.after(LaneEvent::TimedOut).contains(&"finish".to_owned()));
}

#[test]
fn a_permit_is_released_when_no_delivery_is_ready() {
    let mut rig = Rig::loaded(0, 1);
    assert_eq!(rig.commands(), ["acquire"]);
    rig.input.generations.erasure_generation = 1;

    assert_eq!(rig.after(LaneEvent::Notified), ["load", "release"]);
    assert_eq!(rig.after(LaneEvent::PageLoaded(Some(Box::new(page(1))))), ["acquire"]);
}

/// Starts requests as early as the pacer allows, with a check every `step`, for `span`. Returns their number.
fn started(pacer: &mut RequestPacer, start: Instant, step: Duration, span: Duration) -> u32 {
    let mut started = 0;
    let mut now = start;
    while now < start + span {
        while pacer.next_at(now).is_none() {
            pacer.start(now);
            started += 1;
        }
        now += step;
    }
    started
}

#[test]
fn fifty_a_second_are_fifty_a_second_at_any_interval_of_checks() {
    let start = monotonic();
    for step_ms in [1, 7, 33, 90] {
        let mut pacer = RequestPacer::new(50);
        let count = started(&mut pacer, start, Duration::from_millis(step_ms), Duration::from_secs(60));
        assert!((2_950..=3_001).contains(&count), "{count} with a check every {step_ms} ms");
    }
}

#[test]
fn idle_time_causes_no_burst() {
    let start = monotonic();
    let mut pacer = RequestPacer::new(50);
    pacer.start(start);
    let later = start + Duration::from_secs(60);
    pacer.discard_unused(later);

    assert_eq!(started(&mut pacer, later, Duration::from_millis(1), Duration::from_secs(1)), 50);
}

#[test]
fn a_rate_of_zero_is_no_limit() {
    let mut pacer = RequestPacer::new(0);
    let now = monotonic();
    pacer.start(now);

    assert_eq!(pacer.next_at(now), None);
}

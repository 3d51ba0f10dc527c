//! Time limits of sessions: greeting, idle time and age. The clock of the runtime is paused while a limit passes.

use std::pin::pin;

use tokio::sync::oneshot;
use tokio::task::{JoinHandle, yield_now};
use tokio::time::{advance, pause, resume};

use super::*;
use crate::delivery::session::SiteSession;
use crate::delivery::smtp::{SessionError, SmtpPhase};

const MINUTE: Duration = Duration::from_secs(60);

/// Returns the steps of a session that the client ends.
fn ended() -> [Step; 3] {
    [Step::Expect("QUIT"), Step::Reply("221 2.0.0 Bye\r\n"), Step::Close]
}

/// Returns a step that reports that the script has reached it.
fn report() -> (Step, oneshot::Receiver<()>) {
    let (reached, is_reached) = oneshot::channel();
    (Step::Call(Box::new(move || reached.send(()).expect("the test waits"))), is_reached)
}

/// A server that accepts connections and sends nothing, and its next connections.
struct SilentServer {
    servers: Servers,
    connections: std::vec::IntoIter<oneshot::Receiver<()>>,
    peer: Peer,
}

impl SilentServer {
    fn start(name: &str, connections: usize) -> Self {
        let (steps, connections): (Vec<Step>, Vec<_>) = (0..connections).map(|_| report()).unzip();
        let peer = Peer::new(steps.into_iter().flat_map(|step| [step, Step::WaitForEnd, Step::Close]));
        let host = MailHost { name: name.into(), tls: TlsPolicy::Never, addresses: vec![peer.address] };
        Self { servers: Servers::new("google".into(), vec![host]), connections: connections.into_iter(), peer }
    }

    /// Opens a session, which fails because of the missing greeting. Returns how long the client waited.
    async fn waited(&mut self, engine: &Engine, slot: &Mutex<Slot>) -> Duration {
        let connected = self.connections.next().expect("a further connection");
        let (mut open, started) = (None, Instant::now());
        let mut opening = pin!(SiteSession::open_in(&mut open, engine, slot, &self.servers));
        tokio::select! {
            _ = &mut opening => panic!("the session ended before its connection was accepted"),
            connected = connected => connected.expect("the server accepts the connection"),
        }
        pause();
        let Err(failed) = opening.await else { panic!("a session without a greeting") };
        let waited = started.elapsed();
        resume();
        assert_eq!(failed.failed.error, SessionError::TimedOut { phase: SmtpPhase::Greeting });
        waited
    }
}

#[tokio::test]
async fn only_a_host_that_was_slow_to_greet_before_gets_five_minutes_for_its_greeting() {
    let (_directory, context) = Context::temporary();
    queue_email(&context).await;
    let engine = engine(&context, &CancellationToken::new());
    let slot = Mutex::new(reserve(&engine, 1, servers(Vec::new()), &StoredSite::default()));
    let (mut slow, mut other) = (SilentServer::start("slow", 2), SilentServer::start("other", 1));

    let first = slow.waited(&engine, &slot).await;
    let of_other = other.waited(&engine, &slot).await;
    context.clock.advance(2 * MINUTE);
    let second = slow.waited(&engine, &slot).await;

    let minutes = [first, of_other, second].map(|waited| waited.as_secs() / 60);
    assert_eq!(minutes, [1, 1, 5], "{first:?} {of_other:?} {second:?}");
    slow.peer.received();
    other.peer.received();
}

/// Starts a worker for one queued group.
fn start(engine: &Arc<Engine>, slot: Slot) -> JoinHandle<()> {
    engine.tasks.spawn(run(Arc::clone(engine), slot))
}

/// Waits until the session of the worker is idle.
async fn wait_until_idle(engine: &Engine) {
    while engine.sites()[0].idle == 0 {
        yield_now().await;
    }
}

/// Moves the paused clock forward, and lets all tasks see the new time.
async fn pass(time: Duration) {
    pause();
    advance(time).await;
    for _ in 0..10 {
        yield_now().await;
    }
    resume();
}

#[tokio::test]
async fn a_session_that_is_idle_for_ten_seconds_is_closed_and_the_next_message_opens_another() {
    let (_directory, context) = Context::temporary();
    queue_email(&context).await;
    let engine = engine(&context, &CancellationToken::new());
    let mut script = Vec::new();
    for _ in 0..2 {
        script.extend(greeting(PIPELINING));
        script.extend(accepted());
        script.extend(ended());
    }
    let peer = Peer::new(script);

    let slot = reserve(&engine, 1, servers(vec![peer.address]), &StoredSite::default());
    let running = start(&engine, slot);
    wait_until_idle(&engine).await;
    pass(Duration::from_secs(5)).await;
    assert_eq!(engine.sites()[0].idle, 1, "the session stays open");
    pass(Duration::from_secs(6)).await;
    assert_eq!(engine.sites()[0].idle, 0, "the session ends");
    running.await.unwrap();
    queue_email(&context).await;
    let next = {
        let (first, mut schedule, now) = (first_due(&engine), engine.schedule(), engine.now());
        schedule.queued(&first, now);
        schedule.reserve_sessions(now).remove(0)
    };
    let running = start(&engine, next);
    wait_until_idle(&engine).await;
    engine.stop.cancel();
    running.await.unwrap();

    assert_eq!(leases(&context), 0);
    peer.received();
}

#[tokio::test]
async fn a_session_that_is_five_minutes_old_is_closed_and_the_next_message_opens_another() {
    for (age, is_closed) in [(4 * MINUTE, false), (5 * MINUTE, true)] {
        let (_directory, context) = Context::temporary();
        queue_email(&context).await;
        queue_email(&context).await;
        let engine = engine(&context, &CancellationToken::new());
        let (at_end, is_at_end) = report();
        let (release, released) = mpsc::channel();
        let [data, go, message, taken] = accepted();
        let mut script = greeting(PIPELINING);
        script.extend([data, go, message, at_end, Step::Stall(released), taken]);
        if is_closed {
            script.extend(ended());
            script.extend(greeting(PIPELINING));
        }
        script.extend(accepted());
        script.extend(ended());
        let peer = Peer::new(script);

        let slot = reserve(&engine, 1, servers(vec![peer.address]), &StoredSite::default());
        let running = start(&engine, slot);
        is_at_end.await.unwrap();
        pass(age).await;
        drop(release);
        wait_until_idle(&engine).await;
        engine.stop.cancel();
        running.await.unwrap();

        assert_eq!(leases(&context), 0);
        let received = peer.received();
        let sessions = received.iter().filter(|line| line.starts_with("EHLO")).count();
        assert_eq!(sessions, if is_closed { 2 } else { 1 }, "{age:?}: {received:?}");
    }
}

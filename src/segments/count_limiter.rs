//! Who counts when: one count a team at a time, a few in the whole instance, and one answer for all
//! who ask for the same before it begins.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use tokio::sync::{OnceCell, OwnedSemaphorePermit, Semaphore};
use tokio::time::Sleep;

use super::count_cache::RuleFingerprint;
use crate::base::id::TeamId;
use crate::store::StoreError;

/// Counts at once: each takes two of the reads that the store runs at once.
const COUNTS_MAX: usize = 3;

/// Why there is no count.
#[derive(Debug)]
pub enum CountError {
    /// Others were counting for as long as the caller waits.
    Busy,
    /// The store failed.
    Store(StoreError),
}

impl From<StoreError> for CountError {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

/// The counts that are under way or wait, and the turns they wait for.
pub(super) struct CountLimiter<V> {
    /// How long a caller waits for its count to begin.
    patience: Duration,
    /// Counts that have not begun. One that has begun is found no more: what changed since then may
    /// be missing from it.
    waiting: Mutex<Waiting<V>>,
    per_team: Mutex<HashMap<TeamId, Weak<Semaphore>>>,
    global: Arc<Semaphore>,
}

/// Where the answers of counts will be, for all who wait for them.
type Waiting<V> = HashMap<(TeamId, RuleFingerprint), Weak<OnceCell<V>>>;

/// A turn, until it is dropped.
struct CountPermit {
    _team: OwnedSemaphorePermit,
    _all: OwnedSemaphorePermit,
}

impl<V: Clone> CountLimiter<V> {
    pub(super) fn new(patience: Duration) -> Self {
        Self {
            patience,
            waiting: Mutex::default(),
            per_team: Mutex::default(),
            global: Arc::new(Semaphore::new(COUNTS_MAX)),
        }
    }

    /// Counts when it is the team's turn, or takes the answer of a count of the same that has not
    /// begun. A caller that goes away leaves its place to the next one who waits for the answer.
    ///
    /// # Errors
    /// [`CountError`].
    pub(super) async fn take<F: Future<Output = Result<V, StoreError>>>(
        &self,
        team: TeamId,
        print: RuleFingerprint,
        count: impl FnOnce() -> F,
    ) -> Result<V, CountError> {
        let patience = std::pin::pin!(tokio::time::sleep(self.patience));
        let answer = self.join(team, print);
        let counting = async {
            let _turn = self.turn(team, patience).await?;
            self.begin(team, print, &answer);
            Ok::<_, CountError>(count().await?)
        };
        answer.get_or_try_init(|| counting).await.cloned()
    }

    /// Returns where the answer will be.
    fn join(&self, team: TeamId, print: RuleFingerprint) -> Arc<OnceCell<V>> {
        let mut waiting = lock(&self.waiting);
        if let Some(answer) = waiting.get(&(team, print)).and_then(Weak::upgrade) {
            return answer;
        }
        // Whoever waited for the others has gone away.
        waiting.retain(|_, answer| answer.strong_count() > 0);
        let answer = Arc::new(OnceCell::new());
        waiting.insert((team, print), Arc::downgrade(&answer));
        answer
    }

    fn begin(&self, team: TeamId, print: RuleFingerprint, answer: &Arc<OnceCell<V>>) {
        let mut waiting = lock(&self.waiting);
        if waiting.get(&(team, print)).is_some_and(|other| std::ptr::eq(other.as_ptr(), Arc::as_ptr(answer))) {
            waiting.remove(&(team, print));
        }
    }

    async fn turn(&self, team: TeamId, patience: Pin<&mut Sleep>) -> Result<CountPermit, CountError> {
        let of_team = self.of_team(team);
        let taken = async {
            // The team's first: a team with many counts waits for itself, and not in others' way.
            let team = of_team.acquire_owned().await.ok()?;
            let all = Arc::clone(&self.global).acquire_owned().await.ok()?;
            Some(CountPermit { _team: team, _all: all })
        };
        tokio::select! {
            biased;
            turn = taken => turn.ok_or(CountError::Store(StoreError::Closed)),
            () = patience => Err(CountError::Busy),
        }
    }

    fn of_team(&self, team: TeamId) -> Arc<Semaphore> {
        let mut of_teams = lock(&self.per_team);
        if let Some(turn) = of_teams.get(&team).and_then(Weak::upgrade) {
            return turn;
        }
        of_teams.retain(|_, turn| turn.strong_count() > 0);
        let turn = Arc::new(Semaphore::new(1));
        of_teams.insert(team, Arc::downgrade(&turn));
        turn
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::sync::Notify;

    use super::*;
    use crate::base::id::Id;
    use crate::segments::resolve::SegmentRule;

    const TEAM: TeamId = Id::MIN;
    const OTHER: TeamId = Id::MAX;
    const LONG: Duration = Duration::from_secs(60);

    fn print(segment: u8) -> RuleFingerprint {
        RuleFingerprint::of(&SegmentRule { segment: Id::from_bytes([segment; 16]), filter: None })
    }

    /// Counts that end when they are told to, and say which one they were.
    #[derive(Default)]
    struct Counts {
        begun: AtomicU32,
        began: Notify,
        end: Notify,
    }

    impl Counts {
        async fn run(&self) -> Result<u32, StoreError> {
            let number = self.begun.fetch_add(1, Ordering::SeqCst);
            self.began.notify_one();
            self.end.notified().await;
            Ok(number)
        }
    }

    #[tokio::test]
    async fn whoever_asks_before_a_count_begins_takes_its_answer_and_nobody_after() {
        let (turns, counts) = (CountLimiter::new(LONG), Counts::default());
        let ask = || turns.take(TEAM, print(1), || counts.run());
        let rest = async {
            counts.began.notified().await;
            // The first is under way: these three wait for the next one, and share it.
            let end = async {
                counts.end.notify_one();
                counts.began.notified().await;
                counts.end.notify_one();
            };
            tokio::join!(ask(), ask(), ask(), end)
        };

        let (first, (second, third, fourth, ())) = tokio::join!(ask(), rest);

        let numbers = [first, second, third, fourth].map(Result::unwrap);
        assert_eq!(numbers, [0, 1, 1, 1]);
    }

    #[tokio::test]
    async fn a_team_waits_for_itself_and_others_do_not() {
        let (turns, counts, others) = (CountLimiter::new(LONG), Counts::default(), Counts::default());
        others.end.notify_one();
        let rest = async {
            counts.began.notified().await;
            assert_eq!(turns.take(OTHER, print(1), || others.run()).await.unwrap(), 0);
            counts.end.notify_one();
            counts.began.notified().await;
            counts.end.notify_one();
        };
        let one = turns.take(TEAM, print(1), || counts.run());
        let another = turns.take(TEAM, print(2), || counts.run());

        let (one, another, ()) = tokio::join!(one, another, rest);

        assert_eq!((one.unwrap(), another.unwrap()), (0, 1));
    }

    #[tokio::test]
    async fn a_count_that_does_not_begin_in_time_is_refused() {
        let (turns, counts) = (CountLimiter::new(Duration::from_millis(1)), Counts::default());
        let rest = async {
            counts.began.notified().await;
            let late = turns.take(TEAM, print(2), || counts.run()).await;
            counts.end.notify_one();
            late
        };

        let (first, late) = tokio::join!(turns.take(TEAM, print(1), || counts.run()), rest);

        assert_eq!(first.unwrap(), 0, "one that has begun is not given up");
        assert!(matches!(late, Err(CountError::Busy)), "{late:?}");
    }

    #[tokio::test]
    async fn one_who_goes_away_leaves_the_count_to_those_who_wait_for_it() {
        let (turns, counts) = (CountLimiter::new(LONG), Counts::default());
        let mut first = Box::pin(turns.take(TEAM, print(2), || counts.run()));
        let mut gone = Box::pin(turns.take(TEAM, print(1), || counts.run()));
        let mut waits = Box::pin(turns.take(TEAM, print(1), || counts.run()));
        tokio::select! {
            biased;
            _ = &mut first => panic!("it has not ended"),
            _ = &mut gone => panic!("it has not begun"),
            _ = &mut waits => panic!("it has not begun"),
            () = counts.began.notified() => {}
        }

        drop(gone);
        counts.end.notify_one();
        let rest = async {
            counts.began.notified().await;
            counts.end.notify_one();
        };
        let (first, waits, ()) = tokio::join!(first, waits, rest);

        assert_eq!((first.unwrap(), waits.unwrap()), (0, 1));
    }
}

//! Blocking work on tokio's blocking thread pool, inside the tracing span of the caller.

use std::panic::resume_unwind;

use super::boxed::{Boxed, unboxed};

/// Runs `work` on the blocking thread pool and waits for its result.
///
/// Dropping the future does not stop `work`.
///
/// # Panics
/// Panics if `work` panics, so that the supervisor of the task detects the failure.
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    unboxed(run_boxed(Box::new(move || Box::new(work()))).await)
}

#[expect(clippy::disallowed_methods, reason = "this wrapper passes the tracing span on")]
async fn run_boxed(work: Box<dyn FnOnce() -> Boxed + Send>) -> Boxed {
    let span = tracing::Span::current();
    let finished = tokio::task::spawn_blocking(move || span.in_scope(work)).await;
    match finished {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            Err(error) => panic!("blocking work was cancelled: {error}"),
        },
    }
}

/// Largest input that [`run_sized`] processes on the runtime thread. Work on more bytes takes longer than a task
/// may block that thread.
const INLINE_BYTES_MAX: usize = 128 << 10;

/// Runs `work`, which processes `bytes` bytes: inline for up to [`INLINE_BYTES_MAX`], else with [`run`].
///
/// # Panics
/// Panics if `work` panics.
pub async fn run_sized<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes > INLINE_BYTES_MAX { run(work).await } else { work() }
}

//! Work that blocks, off the runtime's threads and inside the caller's tracing span.

/// Runs `work` on a thread that may block and waits for it.
///
/// # Panics
/// Panics when `work` does, so that the supervisor of the task sees it.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper that keeps the span")]
pub async fn run<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let span = tracing::Span::current();
    let finished = tokio::task::spawn_blocking(move || span.in_scope(work)).await;
    match finished {
        Ok(result) => result,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(error) => panic!("blocking work was cancelled: {error}"),
        },
    }
}

/// Work on more bytes than this takes longer than a task may keep a runtime thread.
const INLINE_BYTES_MAX: usize = 128 << 10;

/// Runs `work` on `bytes` bytes: at once when they are few, else as [`run`].
///
/// # Panics
/// As [`run`].
pub async fn run_sized<T: Send + 'static>(bytes: usize, work: impl FnOnce() -> T + Send + 'static) -> T {
    if bytes > INLINE_BYTES_MAX { run(work).await } else { work() }
}

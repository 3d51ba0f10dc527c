//! Bounded computation of password hashes.
//!
//! A hash takes some ten milliseconds of CPU and 19 MiB. Requests from the network start them, so that their number
//! has a bound, and so has the number of requests that wait.

use std::sync::Arc;

use tokio::sync::Semaphore;

use super::password::{Password, PasswordHash};
use crate::base::blocking;

/// Maximum number of hashes that are computed at the same time.
const RUNNING_MAX: usize = 2;
/// Maximum number of requests that wait for a hash or compute one.
const REQUESTS_MAX: usize = 32;

/// Error of a hash: too many requests wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct HasherBusy;

/// Computes password hashes on the threads for blocking work.
pub(super) struct PasswordHasher {
    running: Arc<Semaphore>,
    requests: Semaphore,
}

impl Default for PasswordHasher {
    fn default() -> Self {
        Self { running: Arc::new(Semaphore::new(RUNNING_MAX)), requests: Semaphore::new(REQUESTS_MAX) }
    }
}

impl PasswordHasher {
    /// Hashes a new password.
    pub(super) async fn hash(&self, password: Password) -> Result<PasswordHash, HasherBusy> {
        self.run(move || PasswordHash::of(&password)).await
    }

    /// Returns whether a password matches a hash. Without a hash, compares with one that no user has, and returns
    /// `false` after the same time.
    pub(super) async fn matches(&self, hash: Option<PasswordHash>, password: Password) -> Result<bool, HasherBusy> {
        self.run(move || {
            // The first sign-in computes this hash, for a known user too.
            let of_unknown_user = PasswordHash::of_unknown_user();
            let is_match = hash.as_ref().unwrap_or(of_unknown_user).matches(&password);
            is_match && hash.is_some()
        })
        .await
    }

    async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, HasherBusy> {
        let _request = self.requests.try_acquire().map_err(|_| HasherBusy)?;
        let permit = Arc::clone(&self.running).acquire_owned().await.map_err(|_| HasherBusy)?;
        Ok(blocking::run(move || {
            // The thread owns the permit, because the caller may drop its future before the work ends.
            let _permit = permit;
            work()
        })
        .await)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn an_unknown_user_matches_no_password() {
        let hasher = PasswordHasher::default();
        let password = || Password::typed("correct horse battery");
        let hash = hasher.hash(password()).await.unwrap();

        assert_eq!(hasher.matches(Some(hash), password()).await, Ok(true));
        assert_eq!(hasher.matches(None, password()).await, Ok(false));
    }

    #[tokio::test]
    async fn further_requests_are_refused_while_too_many_wait() {
        let hasher = PasswordHasher::default();
        let running = Arc::clone(&hasher.running).acquire_many_owned(2).await.unwrap();
        let mut waiting = Vec::new();
        for _ in 0..REQUESTS_MAX {
            let mut request = Box::pin(hasher.run(|| ()));
            assert!(poll_once(request.as_mut()).is_none());
            waiting.push(request);
        }

        assert_eq!(hasher.run(|| ()).await, Err(HasherBusy));
        drop(running);
        for request in waiting {
            assert_eq!(request.await, Ok(()));
        }
        assert_eq!(hasher.run(|| ()).await, Ok(()));
    }

    /// Polls a future once; `None` if it waits.
    fn poll_once<F: Future + ?Sized>(future: std::pin::Pin<&mut F>) -> Option<F::Output> {
        match future.poll(&mut std::task::Context::from_waker(std::task::Waker::noop())) {
            std::task::Poll::Ready(output) => Some(output),
            std::task::Poll::Pending => None,
        }
    }
}

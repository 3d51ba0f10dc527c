//! A shared value whose fields the compiler does not examine where the value is used.
//!
//! For each async function, the compiler proves that everything in it is `Send`, down to the last field. It repeats the
//! proofs for each function. A trait object ends a proof. These proofs took 95 of the 213 seconds of a build of the library.
//! With [`Opaque`], and with errors of the engine as trait objects, they take 35.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A shared value of a type with many fields, or of another package. Cheap to clone; clones share the value.
pub struct Opaque<T: 'static>(Arc<dyn Holds<T>>);

trait Holds<T>: Send + Sync {
    fn held(&self) -> &T;
}

impl<T: Send + Sync> Holds<T> for T {
    fn held(&self) -> &T {
        self
    }
}

impl<T: Send + Sync> Opaque<T> {
    /// Wraps a value.
    pub fn new(value: T) -> Self {
        Self(Arc::new(value))
    }
}

impl<T> Clone for Opaque<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T> Deref for Opaque<T> {
    type Target = T;

    fn deref(&self) -> &T {
        (*self.0).held()
    }
}

impl<T: Default + Send + Sync> Default for Opaque<T> {
    fn default() -> Self {
        Self::new(T::default())
    }
}

impl<T: fmt::Debug> fmt::Debug for Opaque<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

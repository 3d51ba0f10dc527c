//! Results without their types. Code that passes them on is compiled once, and not for each closure and result.

use std::any::Any;

/// A value of any type.
pub type Boxed = Box<dyn Any + Send>;

/// Returns the value of a [`Boxed`].
///
/// # Panics
/// Panics if the value is of another type.
pub fn unboxed<T: 'static>(value: Boxed) -> T {
    *value.downcast().expect("the caller boxed a value of this type")
}

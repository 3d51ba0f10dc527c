//! Results without their types. Code that passes them on is compiled once, and not for each closure and result.

use std::any::Any;

/// A value of any type.
pub type Boxed = Box<dyn Any + Send>;

/// Returns the value.
///
/// # Panics
/// Panics if the value is of another type.
pub fn unboxed<T: 'static>(value: Boxed) -> T {
    *value.downcast().expect("the value is of its type")
}

//! `ringmail openapi`: the description of the API, without any store.

use super::failure::Failure;
use super::output::print_line;

/// Prints the document.
///
/// # Errors
/// When standard output does not take it.
pub(super) fn run() -> Result<(), Failure> {
    print_line(&crate::app::openapi_json())
}

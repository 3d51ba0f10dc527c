//! `ringmail openapi`: prints the OpenAPI document. Needs no store.

use super::failure::Failure;
use super::output::print_line;

/// Prints the document.
///
/// # Errors
/// Fails if standard output cannot be written.
pub(super) fn run() -> Result<(), Failure> {
    print_line(&crate::app::openapi_json())
}

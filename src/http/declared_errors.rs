//! The errors that an operation declares in the OpenAPI document.
//!
//! The extractors declare their codes with [`declare`]. The error type of a use case declares them with [`api_error`],
//! and the attribute of the handler names that type: `#[endpoint(responses(SendError))]`.
//!
//! While operations are collected, `responses` has one entry for each code, under its status and name, so that no
//! declaration replaces another. `openapi/error_responses.rs` then joins the entries of each status.

use salvo::oapi::{Components, Operation, Response, Responses};

use super::error::ErrorCode;

/// Adds codes to an operation.
pub(crate) fn declare(operation: &mut Operation, codes: &[ErrorCode]) {
    operation.responses.append(&mut responses_of(codes));
}

/// Returns an entry for each code.
pub(crate) fn responses_of(codes: &[ErrorCode]) -> Responses {
    let mut responses = Responses::new();
    for code in codes {
        responses.insert(format!("{} {}", code.status(), code.name()), Response::new(code.when().trim()));
    }
    responses
}

/// Declares the codes of an error type: those that its conversion to [`ApiError`](super::ApiError) results in. Every
/// operation declares the codes of a failed store itself.
macro_rules! declares_errors {
    ($error:ty: $($code:ident),+) => {
        impl salvo::oapi::ToResponses for $error {
            fn to_responses(_components: &mut salvo::oapi::Components) -> salvo::oapi::Responses {
                $crate::http::responses_of(&[$($crate::http::ErrorCode::$code),+])
            }
        }
    };
}
pub(crate) use declares_errors;

/// Implements the conversion of an error with a variant `Store` to [`ApiError`](super::ApiError). Also declares the
/// codes that the other variants result in. An error that no handler names in its attribute needs no codes. rustfmt does
/// not format the body.
///
/// ```text
/// api_error!(UpdateTopicError: NotFound {
///     UpdateTopicError::NotFound => not_found(),
/// });
/// ```
macro_rules! api_error {
    ($error:ident $(: $($code:ident),+)? { $($variant:pat => $value:expr,)+ }) => {
        impl From<$error> for $crate::http::ApiError {
            fn from(error: $error) -> Self {
                match error {
                    $($variant => $value,)+
                    $error::Store(error) => error.into(),
                }
            }
        }

        $($crate::http::declares_errors!($error: $($code),+);)?
    };
}
pub(crate) use api_error;

/// The error of an operation on a resource that the team may not have.
pub(crate) enum ResourceNotFound {}
declares_errors!(ResourceNotFound: NotFound);

/// Declares that every operation can fail: the schema of the error body, and the codes of a failed store.
pub(super) fn declare_failures(components: &mut Components, operation: &mut Operation) {
    use salvo::oapi::ToSchema as _;

    super::error::ErrorBody::to_schema(components);
    declare(operation, &[ErrorCode::InternalServerError, ErrorCode::ServiceUnavailable]);
}

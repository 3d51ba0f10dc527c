//! Suppression requests, and the checks that need no store.

use salvo::Request;
use salvo::oapi::{BasicType, Object, Operation, ToSchema};
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::base::address::{EmailAddress, Mailbox};
use crate::base::id::{Id, SuppressionId};
use crate::http::schema::{self, MailboxText, NonEmptyList, UuidText, words_schema};
use crate::http::{ApiError, ApiResult, AtMost, ErrorCode, FromParameters, JsonBody, declare_query, query_value};
use crate::suppressions::{BATCH_MAX, BatchTarget, SuppressionOrigin};

/// The origins in an error message.
const ORIGINS: &str = "use `bounce`, `complaint`, `manual` or `unsubscribe`";

words_schema!(
    /// The origin of a suppression.
    pub(super) OriginWord = SuppressionOrigin::ALL.map(SuppressionOrigin::as_str)
);

/// An address to add to the suppression list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateSuppressionRequest {
    /// The address. A display name is ignored.
    #[salvo(schema(required = true, value_type = MailboxText))]
    email: Option<String>,
    /// The origin; `manual` by default.
    #[salvo(schema(value_type = Option<OriginWord>))]
    origin: Option<String>,
}

impl JsonBody for CreateSuppressionRequest {}

/// Addresses to add to the suppression list.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct AddSuppressionsRequest {
    /// The addresses, 1 to 1000. Display names are ignored.
    #[salvo(schema(required = true, value_type = NonEmptyList<BATCH_MAX, MailboxText>))]
    emails: Option<AtMost<BATCH_MAX, String>>,
    /// The origin; `manual` by default.
    #[salvo(schema(value_type = Option<OriginWord>))]
    origin: Option<String>,
}

impl JsonBody for AddSuppressionsRequest {}

/// The suppressions to remove: either `emails` or `ids`.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct RemoveSuppressionsRequest {
    /// The addresses, 1 to 1000. Display names are ignored.
    #[salvo(schema(value_type = Option<NonEmptyList<BATCH_MAX, MailboxText>>))]
    emails: Option<AtMost<BATCH_MAX, String>>,
    /// The ids, 1 to 1000.
    #[salvo(schema(value_type = Option<NonEmptyList<BATCH_MAX, UuidText>>))]
    ids: Option<AtMost<BATCH_MAX, String>>,
}

impl JsonBody for RemoveSuppressionsRequest {
    fn rules() -> Map<String, Value> {
        schema::one_of_fields(&["emails", "ids"])
    }
}

impl CreateSuppressionRequest {
    /// Checks and converts the fields.
    pub(super) fn parse(self) -> ApiResult<(EmailAddress, SuppressionOrigin)> {
        let Self { email, origin } = self;
        let email = email.ok_or_else(|| ApiError::missing_field("email"))?;
        Ok((parse_address("email", &email)?, parse_origin(origin)?))
    }
}

impl AddSuppressionsRequest {
    /// Checks and converts the fields.
    pub(super) fn parse(self) -> ApiResult<(Vec<EmailAddress>, SuppressionOrigin)> {
        let Self { emails, origin } = self;
        let AtMost(emails) = emails.ok_or_else(|| ApiError::missing_field("emails"))?;
        Ok((parse_addresses(&emails)?, parse_origin(origin)?))
    }
}

impl RemoveSuppressionsRequest {
    /// Checks and converts the fields.
    pub(super) fn parse(self) -> ApiResult<BatchTarget> {
        let Self { emails, ids } = self;
        match (emails, ids) {
            (Some(AtMost(emails)), None) => Ok(BatchTarget::Emails(parse_addresses(&emails)?)),
            (None, Some(AtMost(ids))) => Ok(BatchTarget::Ids(parse_ids(&ids)?)),
            (None, None) => Err(ApiError::new(
                ErrorCode::MissingRequiredField,
                "Missing `emails` or `ids` field: give the suppressions to remove by one of them.",
            )),
            (Some(_), Some(_)) => {
                Err(ApiError::validation("Use either the `emails` field or the `ids` field, not both at once."))
            }
        }
    }
}

fn parse_addresses(emails: &[String]) -> ApiResult<Vec<EmailAddress>> {
    refuse_empty("emails", emails)?;
    let parse = |(index, text): (usize, &String)| parse_address(&format!("emails[{index}]"), text);
    emails.iter().enumerate().map(parse).collect()
}

fn parse_ids(ids: &[String]) -> ApiResult<Vec<SuppressionId>> {
    refuse_empty("ids", ids)?;
    let parse = |(index, text): (usize, &String)| {
        let invalid = || ApiError::validation(format!("Invalid `ids[{index}]` field: it must be a valid UUID."));
        Id::parse(text).ok_or_else(invalid)
    };
    ids.iter().enumerate().map(parse).collect()
}

fn refuse_empty(field: &str, items: &[String]) -> ApiResult<()> {
    if items.is_empty() {
        return Err(ApiError::validation(format!(
            "Invalid `{field}` field: the array is empty; 1 to {BATCH_MAX} items are accepted."
        )));
    }
    Ok(())
}

/// Parses an address in any form that a send accepts: clients often copy it from one.
fn parse_address(field: &str, text: &str) -> ApiResult<EmailAddress> {
    let mailbox = Mailbox::parse(text);
    mailbox
        .map(|mailbox| mailbox.address().clone())
        .map_err(|error| ApiError::validation(format!("Invalid `{field}` field: {error}.")))
}

fn parse_origin(word: Option<String>) -> ApiResult<SuppressionOrigin> {
    match word {
        None => Ok(SuppressionOrigin::Manual),
        Some(word) => SuppressionOrigin::parse(&word)
            .ok_or_else(|| ApiError::validation(format!("Invalid `origin` field: {ORIGINS}."))),
    }
}

/// The query parameter `origin`: the origin of the entries in a list.
impl FromParameters for Option<SuppressionOrigin> {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let invalid = || ApiError::validation(format!("Invalid `origin` query parameter: {ORIGINS}."));
        query_value(req, "origin")?.map(|word| SuppressionOrigin::parse(word).ok_or_else(invalid)).transpose()
    }

    fn declare(operation: &mut Operation) {
        let description = "The origin of the suppressions to list; all of them by default.";
        let origins =
            Object::with_type(BasicType::String).enum_values(SuppressionOrigin::ALL.map(SuppressionOrigin::as_str));
        declare_query(operation, "origin", description, origins);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::parse;

    fn refused<T: JsonBody, U>(body: &str, check: impl FnOnce(T) -> ApiResult<U>) -> (u16, String) {
        match parse::<T>(body.as_bytes(), &[]).and_then(check) {
            Ok(_) => panic!("{body} is accepted"),
            Err(error) => (error.code.status(), error.message),
        }
    }

    #[test]
    fn an_address_has_any_form_that_a_send_accepts_and_is_manual_by_default() {
        for (body, address, origin) in [
            (r#"{"email": "Ada@Example.com"}"#, "Ada@example.com", SuppressionOrigin::Manual),
            (
                r#"{"email": " Ada Lovelace <ada@example.com> ", "origin": null}"#,
                "ada@example.com",
                SuppressionOrigin::Manual,
            ),
            (
                r#"{"email": "\"A, B\" <ada@example.com>", "origin": "bounce"}"#,
                "ada@example.com",
                SuppressionOrigin::Bounce,
            ),
            (
                r#"{"email": "ada@example.com", "origin": "unsubscribe"}"#,
                "ada@example.com",
                SuppressionOrigin::Unsubscribe,
            ),
        ] {
            let parsed = parse::<CreateSuppressionRequest>(body.as_bytes(), &[]);
            let (parsed, parsed_origin) = parsed.and_then(CreateSuppressionRequest::parse).unwrap();
            assert_eq!((parsed.to_string().as_str(), parsed_origin), (address, origin), "{body}");
        }
    }

    #[test]
    fn every_error_names_the_field_and_the_position() {
        for (body, status, message) in [
            ("{}", 422, "Missing `email` field."),
            (r#"{"email": null}"#, 422, "Missing `email` field."),
            (r#"{"email": "ada"}"#, 422, "Invalid `email` field: there is no `@`; write `user@example.com`."),
            (
                r#"{"email": "a@example.com", "origin": "spam"}"#,
                422,
                "Invalid `origin` field: use `bounce`, `complaint`, `manual` or `unsubscribe`.",
            ),
            (
                r#"{"emails": ["a@example.com"]}"#,
                422,
                "Invalid `emails` field: unknown field `emails`, expected `email` or `origin`. Did you mean `email`?",
            ),
        ] {
            assert_eq!(refused(body, CreateSuppressionRequest::parse), (status, message.to_owned()), "{body}");
        }
        let long = format!(r#"{{"emails": [{}]}}"#, vec![r#""a@example.com""#; 1_001].join(","));
        for (body, message) in [
            ("{}", "Missing `emails` field."),
            (r#"{"emails": []}"#, "Invalid `emails` field: the array is empty; 1 to 1000 items are accepted."),
            (
                r#"{"emails": ["a@example.com", "b"]}"#,
                "Invalid `emails[1]` field: there is no `@`; write `user@example.com`.",
            ),
            (
                r#"{"emails": ["a@example.com", 7]}"#,
                "Invalid `emails[1]` field: invalid type: integer `7`, expected a string.",
            ),
            (&long, "Invalid `emails` field: more than 1000 items, and no more are accepted."),
        ] {
            assert_eq!(refused(body, AddSuppressionsRequest::parse), (422, message.to_owned()));
        }
    }

    #[test]
    fn a_removal_has_addresses_or_ids_and_not_both() {
        let id = "0190a6c0-0000-7000-8000-000000000001";
        let both = format!(r#"{{"emails": ["a@example.com"], "ids": ["{id}"]}}"#);
        for (body, message) in [
            ("{}", "Missing `emails` or `ids` field: give the suppressions to remove by one of them."),
            (both.as_str(), "Use either the `emails` field or the `ids` field, not both at once."),
            (
                r#"{"emails": [], "ids": null}"#,
                "Invalid `emails` field: the array is empty; 1 to 1000 items are accepted.",
            ),
            (r#"{"ids": []}"#, "Invalid `ids` field: the array is empty; 1 to 1000 items are accepted."),
            (r#"{"ids": ["x"]}"#, "Invalid `ids[0]` field: it must be a valid UUID."),
        ] {
            assert_eq!(refused(body, RemoveSuppressionsRequest::parse), (422, message.to_owned()), "{body}");
        }
        let ids = format!(r#"{{"ids": ["{id}"], "emails": null}}"#);
        let parsed = parse::<RemoveSuppressionsRequest>(ids.as_bytes(), &[]);
        let parsed = parsed.and_then(RemoveSuppressionsRequest::parse).unwrap();
        assert_eq!(parsed, BatchTarget::Ids(vec![Id::parse(id).unwrap()]));
    }
}

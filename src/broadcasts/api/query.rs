//! Query parameters of lists of recipients.

use salvo::Request;
use salvo::oapi::{Operation, Parameter, ParameterIn, Required};

use super::response::{BOUNCES, bounce_word};
use crate::broadcasts::{RecipientFilter, RecipientType};
use crate::http::{ApiError, ApiResult, FromParameters, declare_query, query_value, schema};

/// Maximum length of a part of an address: that of an address.
const ADDRESS_BYTES_MAX: usize = 254;

/// The parameters `type`, `email` and `bounce_type`.
impl FromParameters for RecipientFilter {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let kind = query_value(req, "type")?.and_then(RecipientType::parse).ok_or_else(|| {
            let words = RecipientType::ALL.map(RecipientType::as_str).join("`, `");
            ApiError::validation(format!("The `type` query parameter is required: use one of `{words}`."))
        })?;
        let address = query_value(req, "email")?.map(str::to_lowercase);
        if address.as_ref().is_some_and(|address| address.len() > ADDRESS_BYTES_MAX) {
            return Err(ApiError::validation(format!(
                "Invalid `email`: it may have {ADDRESS_BYTES_MAX} bytes, as an address has."
            )));
        }
        let bounce = match query_value(req, "bounce_type")? {
            None => None,
            Some(_) if kind != RecipientType::Bounced => {
                return Err(ApiError::validation("The `bounce_type` is only accepted with `type=bounced`."));
            }
            Some(text) => Some(BOUNCES.into_iter().find(|bounce| bounce_word(*bounce) == text).ok_or_else(|| {
                let words = BOUNCES.map(bounce_word).join("`, `");
                ApiError::validation(format!("Invalid `bounce_type`: use one of `{words}`."))
            })?),
        };
        Ok(Self { kind, address, bounce })
    }

    fn declare(operation: &mut Operation) {
        let kind = Parameter::new("type")
            .location(ParameterIn::Query)
            .required(Required::True)
            .description("The outcome of the recipients to list.")
            .schema(schema::text().enum_values(RecipientType::ALL.map(RecipientType::as_str)));
        operation.parameters.insert(kind);
        let part = schema::text().max_length(ADDRESS_BYTES_MAX);
        declare_query(operation, "email", "Only recipients whose address contains this text.", part);
        let bounces = schema::text().enum_values(BOUNCES.map(bounce_word));
        declare_query(operation, "bounce_type", "Only bounces of this type, with `type=bounced`.", bounces);
    }
}

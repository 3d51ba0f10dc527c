//! `POST /contacts/{id}/preferences-link`: makes a link to the preference page of a contact, for use on
//! the caller's own pages.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use serde::Serialize;

use super::super::{LinkToError, Preferences};
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::contacts::{Contacts, IncludedFields};
use crate::http::tolerance::differs_from_contact;
use crate::http::{ApiError, ApiResult, Created, NoBody, PathIdOrEmail, ResourceNotFound, State};

/// A link to the preference page of a contact.
#[derive(Debug, Serialize, ToSchema)]
#[salvo(schema(name = PreferencesLink))]
pub(crate) struct PreferencesLinkResponse {
    /// Always `preferences_link`.
    object: &'static str,
    /// The contact's id.
    contact: String,
    /// URL of the preference page. It does not expire, and a person who has it can change the choices of
    /// the contact.
    url: String,
}

/// Creates a link to the page where a contact chooses the emails it receives.
///
/// The link contains the address of the contact in encrypted form and does not expire.
#[endpoint(tags("Contacts"), responses(ResourceNotFound))]
pub async fn create_preferences_link(
    contacts: State<Contacts>,
    preferences: State<Preferences>,
    caller: Caller,
    id: PathIdOrEmail<resource::Contact>,
    body: NoBody,
) -> ApiResult<Created<PreferencesLinkResponse>> {
    let contact = contacts.find(caller.team, id.0, IncludedFields::default()).await?;
    let contact = contact.ok_or_else(|| ApiError::not_found("Contact"))?;
    if body.echoed_contact().is_some_and(|id| id != contact.id) {
        return Err(differs_from_contact("id"));
    }
    let url = preferences.link_to(caller.team, contact.email)?;
    Ok(Created(PreferencesLinkResponse { object: "preferences_link", contact: contact.id.to_string(), url }))
}

impl From<LinkToError> for ApiError {
    fn from(LinkToError(public_url): LinkToError) -> Self {
        Self::validation(format!(
            "A preferences link cannot be made: recipients cannot open {public_url}. Start the server with \
             `--public-url` (or `RINGMAIL_PUBLIC_URL`) set to the address they reach it under."
        ))
    }
}

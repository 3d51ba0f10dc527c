//! `PATCH /emails/{id}`, `POST /emails/{id}/cancel` and `DELETE /emails/{id}`.

use salvo::oapi::{ToSchema, endpoint};

use salvo::Writer;
use salvo::writing::Json;
use serde::Deserialize;

use super::request::parse_scheduled_at;
use super::response::{DeletedEmail, EmailReference};
use crate::api_keys::Caller;
use crate::base::id::resource;
use crate::emails::Emails;
use crate::emails::change::ChangeEmailError;
use crate::http::schema::ScheduleText;
use crate::http::{ApiError, ApiResult, Body, ErrorCode, JsonBody, NoBody, PathId, ResourceNotFound, State, api_error};

/// A new due time of a scheduled email.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateEmailRequest {
    /// When to send, up to 30 days ahead: ISO 8601, or words such as `in 1 hour`.
    #[salvo(schema(required = true, value_type = ScheduleText))]
    scheduled_at: Option<String>,
}

impl JsonBody for UpdateEmailRequest {}

/// Changes the due time of a scheduled email.
#[endpoint(tags("Emails"), responses(ChangeEmailError))]
pub async fn update_email(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
    update: Body<UpdateEmailRequest>,
) -> ApiResult<Json<EmailReference>> {
    let UpdateEmailRequest { scheduled_at } = update.into_inner();
    let text = scheduled_at.ok_or_else(|| ApiError::missing_field("scheduled_at"))?;
    let due_ms = parse_scheduled_at(&text, emails.now_ms())?;
    emails.reschedule(caller.into(), id.0, due_ms).await?;
    Ok(Json(EmailReference::of(id.0)))
}

/// Cancels a scheduled email.
#[endpoint(tags("Emails"), responses(ChangeEmailError))]
pub async fn cancel_email(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
    _body: NoBody,
) -> ApiResult<Json<EmailReference>> {
    emails.cancel(caller.into(), id.0).await?;
    Ok(Json(EmailReference::of(id.0)))
}

/// Deletes an email. Queued deliveries are canceled. A delivery in progress is completed.
#[endpoint(tags("Emails"), responses(ResourceNotFound))]
pub async fn delete_email(
    emails: State<Emails>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<Json<DeletedEmail>> {
    if emails.delete(caller.team, id.0).await? {
        Ok(Json(DeletedEmail::of(id.0)))
    } else {
        Err(ApiError::not_found("Email"))
    }
}

api_error!(ChangeEmailError: RestrictedApiKey, NotFound, Validation {
    ChangeEmailError::NotFound => ApiError::not_found("Email"),
    ChangeEmailError::KeyOfAnotherDomain => ApiError::new(
        ErrorCode::RestrictedApiKey,
        "This API key is restricted to another domain. Use a key of the email's domain, or one without a domain.",
    ),
    ChangeEmailError::NotScheduled(last_event) => ApiError::validation(format!(
        "The email is not scheduled: its status is `{}`. Only scheduled emails can be changed or canceled.",
        last_event.as_str()
    )),
});

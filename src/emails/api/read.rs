//! `GET /emails` and `GET /emails/{id}`.

use std::sync::Arc;

use salvo::Writer;
use salvo::oapi::endpoint;
use salvo::writing::Json;

use super::response::{EmailResponse, EmailSummary};
use crate::api_keys::Caller;
use crate::base::blocking;
use crate::base::id::resource;
use crate::emails::{BoundedEmail, Emails};
use crate::http::{
    ApiError, ApiResult, ErrorCode, List, ListQuery, MemoryHolder, PathId, RenderedJson, ResourceNotFound,
    ResponseLimits, ResponsePermit, State,
};

/// Memory of an email that needs no part of the memory of responses. Most emails need less.
const MEMORY_BYTES: usize = 64 << 10;

/// Lists emails, newest first.
#[endpoint(tags("Emails"))]
pub async fn list_emails(
    emails: State<Emails>,
    caller: Caller,
    query: ListQuery<resource::Email>,
) -> ApiResult<Json<List<EmailSummary>>> {
    let page = emails.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, |(id, row)| EmailSummary::of(id, &row))))
}

/// Returns an email with its content, recipients and timeline.
#[endpoint(tags("Emails"), responses(ResourceNotFound))]
pub async fn get_email(
    emails: State<Emails>,
    limits: State<ResponseLimits>,
    caller: Caller,
    id: PathId<resource::Email>,
) -> ApiResult<RenderedJson<EmailResponse>> {
    let holder = MemoryHolder::Team(caller.team);
    let (mut needed, mut permit) = (MEMORY_BYTES, None::<ResponsePermit>);
    loop {
        // A content larger than the memory of all oversized responses is read while no other one is in memory.
        let is_whole = permit.as_ref().is_some_and(|permit| permit.bytes() < needed);
        let memory_max = if is_whole { usize::MAX } else { needed };
        let email = emails.find_within(caller.team, id.0, memory_max).await?;
        match email.ok_or_else(|| ApiError::not_found("Email"))? {
            BoundedEmail::Needs(bytes) => {
                // A request that waits for memory must not hold any.
                drop(permit);
                (needed, permit) = (bytes, Some(limits.reserve(holder, bytes).await?));
            }
            BoundedEmail::Read(email) => {
                let render = move || serde_json::to_vec(&EmailResponse::from(*email));
                let body = blocking::run_sized(needed, render)
                    .await
                    .map_err(|_| ApiError::new(ErrorCode::InternalServerError, "The email cannot be rendered."))?;
                return Ok(RenderedJson::new(body, permit, Arc::clone(&limits)));
            }
        }
    }
}

//! `GET /emails` and `GET /emails/{id}`.

use salvo::oapi::{Operation, endpoint};
use salvo::writing::Json;
use salvo::{Request, Writer};

use super::response::{EmailResponse, EmailSummary};
use crate::api_keys::Caller;
use crate::base::id::{BroadcastId, Id, resource};
use crate::emails::{BoundedEmail, Emails};
use crate::http::{
    ApiError, ApiResult, FromParameters, List, ListQuery, MemoryHolder, Parameters, PathId, RenderedJson,
    ResourceNotFound, ResponseLimits, ResponsePermit, State, declare_query, query_value, schema,
};

/// Memory of an email that needs no part of the memory of responses. Most emails need less.
const MEMORY_BYTES: usize = 64 << 10;

/// The `broadcast_id` parameter: lists the emails of a broadcast, which are in no other list.
pub(crate) struct OfBroadcast(Option<BroadcastId>);

impl FromParameters for OfBroadcast {
    fn from_parameters(req: &Request) -> ApiResult<Self> {
        let text = query_value(req, "broadcast_id")?;
        let invalid = || ApiError::validation("The `broadcast_id` must be a valid UUID.");
        Ok(Self(text.map(|text| Id::parse(text).ok_or_else(invalid)).transpose()?))
    }

    fn declare(operation: &mut Operation) {
        let description = "Lists the emails of this broadcast instead, which are in no other list.";
        declare_query(operation, "broadcast_id", description, schema::uuid());
    }
}

/// Lists emails, newest first.
#[endpoint(tags("Emails"))]
pub async fn list_emails(
    emails: State<Emails>,
    caller: Caller,
    query: ListQuery<resource::Email>,
    broadcast: Parameters<OfBroadcast>,
) -> ApiResult<Json<List<EmailSummary>>> {
    let OfBroadcast(broadcast) = broadcast.0;
    let page = match broadcast {
        Some(broadcast) => emails.list_of_broadcast(caller.team, broadcast, query.0).await?,
        None => emails.list(caller.team, query.0).await?,
    };
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
                let make = move || EmailResponse::from(*email);
                return RenderedJson::render(&limits, permit, needed, "email", make).await;
            }
        }
    }
}

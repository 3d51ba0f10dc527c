//! The endpoints under `/logs`.

use salvo::Writer;
use salvo::oapi::schema::SchemaType;
use salvo::oapi::{Components, Object, RefOr, Schema, ToSchema, endpoint};
use salvo::writing::Json;
use serde::{Serialize, Serializer};
use serde_json::value::RawValue;

use super::service::Logs;
use super::store::{LogBodies, LogRow};
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{LogId, resource};
use crate::http::{ApiError, ApiResult, List, ListQuery, PathId, ResourceNotFound, State};

/// A request, in a list.
#[derive(Serialize, ToSchema)]
pub struct LogSummary {
    /// The id, equal to the `x-request-id` header of the response.
    id: String,
    /// Start of the request.
    created_at: String,
    /// The path without the query.
    endpoint: String,
    /// The method.
    method: String,
    /// The status of the response.
    response_status: u16,
    /// The `User-Agent` header of the request.
    #[salvo(schema(required = true))]
    user_agent: Option<String>,
    /// The API key of the request.
    api_key_id: String,
    /// Time until the response was ready, in milliseconds.
    duration_ms: u32,
}

/// A request with the copies of its bodies.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Log"))]
pub struct LogResponse {
    /// Always `log`.
    object: &'static str,
    /// The id, equal to the `x-request-id` header of the response.
    id: String,
    /// Start of the request.
    created_at: String,
    /// The path without the query.
    endpoint: String,
    /// The method.
    method: String,
    /// The status of the response.
    response_status: u16,
    /// The `User-Agent` header of the request.
    #[salvo(schema(required = true))]
    user_agent: Option<String>,
    /// The API key of the request.
    api_key_id: String,
    /// Time until the response was ready, in milliseconds.
    duration_ms: u32,
    /// The body of the request, with `[redacted]` in place of secret fields. Null if it is not JSON, and
    /// `{"truncated": true, "bytes": …}` if it is too large.
    request_body: JsonCopy,
    /// The body of the response, in the same form.
    response_body: JsonCopy,
    /// The cause of an error, if the response does not contain it: for `all_recipients_suppressed`, the recipients with
    /// their reasons. Otherwise null.
    #[salvo(schema(required = true))]
    detail: Option<String>,
}

/// Copy of a body: any JSON value, sent as it is stored.
struct JsonCopy(Option<Box<RawValue>>);

impl Serialize for JsonCopy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl ToSchema for JsonCopy {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Object::with_type(SchemaType::AnyValue).into()
    }
}

impl From<Option<String>> for JsonCopy {
    fn from(json: Option<String>) -> Self {
        // A copy that is not JSON would make the whole response invalid, and becomes null.
        Self(json.and_then(|json| RawValue::from_string(json).ok()))
    }
}

/// Lists requests, newest first.
#[endpoint(tags("Logs"))]
pub async fn list_logs(
    logs: State<Logs>,
    caller: Caller,
    query: ListQuery<resource::Log>,
) -> ApiResult<Json<List<LogSummary>>> {
    let page = logs.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, LogSummary::from)))
}

/// Returns a request with its bodies.
#[endpoint(tags("Logs"), responses(ResourceNotFound))]
pub async fn get_log(logs: State<Logs>, caller: Caller, id: PathId<resource::Log>) -> ApiResult<Json<LogResponse>> {
    let found = logs.find(caller.team, id.0).await?;
    let (row, bodies) = found.ok_or_else(|| ApiError::not_found("Log"))?;
    Ok(Json(LogResponse::of(id.0, row, bodies)))
}

impl From<(LogId, LogRow)> for LogSummary {
    fn from((id, row): (LogId, LogRow)) -> Self {
        let LogRow { method, endpoint, status, key, duration_ms, user_agent } = row;
        Self {
            id: id.to_string(),
            created_at: to_iso(id.created_ms()),
            endpoint,
            method,
            response_status: status,
            user_agent,
            api_key_id: key.to_string(),
            duration_ms,
        }
    }
}

impl LogResponse {
    pub(crate) fn of(id: LogId, row: LogRow, bodies: LogBodies) -> Self {
        let LogSummary { id, created_at, endpoint, method, response_status, user_agent, api_key_id, duration_ms } =
            (id, row).into();
        Self {
            object: "log",
            id,
            created_at,
            endpoint,
            method,
            response_status,
            user_agent,
            api_key_id,
            duration_ms,
            request_body: bodies.request.into(),
            response_body: bodies.response.into(),
            detail: bodies.detail,
        }
    }
}

//! `GET audit`: the audit log of the team.

use salvo::writing::Json;
use salvo::{Request, Writer as _, handler};
use serde::Serialize;
use serde_json::{Map, Value};

use super::query;
use crate::api_keys::Caller;
use crate::audit::{AuditActorView, AuditFilter, AuditLog, AuditTargetView, RecordedAction};
use crate::base::clock::to_iso;
use crate::base::id::resource;
use crate::http::{ApiError, ApiResult, ListQuery, State};
use crate::store::page::{Cursor, PageQuery};

/// Maximum length of a filter, in characters.
const FILTER_CHARS_MAX: usize = 64;

#[derive(Serialize)]
pub(super) struct AuditList {
    object: &'static str,
    has_more: bool,
    data: Vec<AuditEntryView>,
    /// Value of `after` for the next request; null if there is no older entry. A page with a filter can end before it has
    /// `limit` entries.
    position: Option<String>,
}

#[derive(Serialize)]
struct AuditEntryView {
    id: String,
    created_at: String,
    actor: AuditActorView,
    action: &'static str,
    target: Option<AuditTargetView>,
    detail: Map<String, Value>,
}

impl From<RecordedAction> for AuditEntryView {
    fn from(recorded: RecordedAction) -> Self {
        let RecordedAction { id, team: _, actor, actor_name, action, target, detail } = recorded;
        Self {
            id: id.to_string(),
            created_at: to_iso(id.created_ms()),
            actor: AuditActorView::new(actor, actor_name),
            action: action.as_str(),
            target: target.map(AuditTargetView::from),
            detail,
        }
    }
}

/// Lists the audit log of the team, newest first. `action` is the start of the name of an action, and `actor` the type
/// of an actor.
#[handler]
pub(super) async fn list_audit(
    audit: State<AuditLog>,
    caller: Caller,
    query: ListQuery<resource::Audit>,
    req: &mut Request,
) -> ApiResult<Json<AuditList>> {
    let filter = AuditFilter { action: filter_text(req, "action")?, actor: filter_text(req, "actor")? };
    let PageQuery { limit, cursor } = query.0;
    let after = match cursor {
        Cursor::Newest => None,
        Cursor::After(id) => Some(id),
        Cursor::Before(_) => return Err(ApiError::validation("Use `after`, not `before`.")),
    };
    let page = audit.list(caller.team, filter, after, limit).await?;
    Ok(Json(AuditList {
        object: "list",
        has_more: page.next.is_some(),
        data: page.rows.into_iter().map(AuditEntryView::from).collect(),
        position: page.next.map(|id| id.to_string()),
    }))
}

fn filter_text(req: &Request, name: &str) -> ApiResult<Option<String>> {
    let text = query::text(req, name)?;
    if text.is_some_and(|text| text.chars().count() > FILTER_CHARS_MAX) {
        return Err(ApiError::validation(format!("The `{name}` has at most {FILTER_CHARS_MAX} characters.")));
    }
    Ok(text.map(str::to_owned))
}

//! The audit log: administrative actions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use super::teams;
use crate::audit::{AuditActorView, AuditFilter, AuditLog, AuditPage, AuditTargetView, RecordedAction, TeamActor};
use crate::base::clock::to_iso;
use crate::base::id::{AuditId, TeamId};

/// Entries on one page of the list.
const PAGE_ROWS: usize = 100;

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum AuditVerb {
    /// Lists the entries of the team of the request, newest first; those of the server, all teams and removed teams
    /// without one.
    #[serde(rename = "audit_list")]
    List {
        #[serde(default, skip_serializing_if = "Option::is_none")]
        after: Option<AuditId>,
    },
}

/// An entry of the audit log.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct AuditView {
    pub id: AuditId,
    pub created_at: String,
    /// Team of the action; `None` for an action that belongs to no team.
    pub team_id: Option<TeamId>,
    pub actor: AuditActorView,
    pub action: String,
    pub target: Option<AuditTargetView>,
    pub detail: Map<String, Value>,
}

impl From<RecordedAction> for AuditView {
    fn from(recorded: RecordedAction) -> Self {
        let RecordedAction { id, team, actor, actor_name, action, target, detail } = recorded;
        Self {
            id,
            created_at: to_iso(id.created_ms()),
            team_id: (team != TeamActor::SERVER).then_some(team),
            actor: AuditActorView::new(actor, actor_name),
            action: action.as_str().to_owned(),
            target: target.map(AuditTargetView::from),
            detail,
        }
    }
}

/// `team` is the name or the id of a team. A removed team has only its id.
pub(super) async fn execute(services: &AdminServices, team: Option<String>, verb: AuditVerb) -> VerbResult {
    let AuditVerb::List { after } = verb;
    let log = AuditLog::new(services.context.clone());
    let AuditPage { rows, next } = match team {
        None => log.list_all(after, PAGE_ROWS).await?,
        Some(team) => {
            let id = find(services, &log, &team).await?;
            log.list(id, AuditFilter::default(), after, PAGE_ROWS).await?
        }
    };
    Ok(Rows { data: rows.into_iter().map(AuditView::from).collect(), has_more: next.is_some() }.into())
}

/// Returns the team with a name or an id, or the removed team with an id that has entries.
async fn find(services: &AdminServices, log: &AuditLog, text: &str) -> Result<TeamId, AdminError> {
    if let Some(id) = TeamId::parse(text)
        && log.has_entries(id).await?
    {
        return Ok(id);
    }
    Ok(teams::find(services, text).await?.id)
}

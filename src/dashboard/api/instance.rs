//! The settings of the instance that pages show, and the team of its operator.

use salvo::{FlowCtrl, Request, Response, Writer as _, handler};

use crate::api_keys::{ApiKeyToken, Caller};
use crate::base::clock::TimestampMs;
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::http::{ApiError, ApiResult, ErrorCode, State};
use crate::store::{ReadTx, StoreError, StoreKind};
use crate::teams::{self, Team};

/// Settings of the instance for its pages.
pub struct DashboardInstance {
    pub context: Context,
    pub kind: StoreKind,
    /// Delivery mode: `capture`, `direct` or `relay`.
    pub delivery: &'static str,
    /// Transport of released messages; `None` if none can be released.
    pub release: Option<String>,
    /// Public URL of the API.
    pub base_url: String,
    /// Key of a development server, which its terminal shows too.
    pub first_key: Option<ApiKeyToken>,
    pub queue_notifier: QueueNotifier,
}

impl DashboardInstance {
    pub(super) fn now_ms(&self) -> TimestampMs {
        self.context.now_ms()
    }

    /// Returns the team of a caller.
    pub(super) async fn team(&self, caller: Caller) -> ApiResult<Team> {
        let find = move |tx: &ReadTx| teams::find(tx, caller.team);
        let team = self.context.store.read::<_, StoreError>(find).await?;
        team.ok_or_else(|| ApiError::not_found("Team"))
    }

    /// Returns whether a caller belongs to the operator: the first team of the instance.
    pub(super) async fn is_operator(&self, caller: Caller) -> ApiResult<bool> {
        let oldest = |tx: &ReadTx| teams::oldest(tx, 1);
        let first = self.context.store.read::<_, StoreError>(oldest).await?;
        Ok(first.first().is_some_and(|first| first.id == caller.team))
    }

    async fn require_operator(&self, caller: Caller) -> ApiResult<()> {
        if self.is_operator(caller).await? {
            return Ok(());
        }
        let message =
            "Only the first team of the server sees its queue and its checks, because they belong to all teams.";
        Err(ApiError::new(ErrorCode::InvalidAccess, message))
    }
}

/// Refuses a caller of another team than that of the operator (403), for the requests about the whole instance.
#[handler]
pub(super) async fn operator_only(
    instance: State<DashboardInstance>,
    caller: Caller,
    req: &mut Request,
    res: &mut Response,
    ctrl: &mut FlowCtrl,
) {
    if let Err(error) = instance.require_operator(caller).await {
        error.render(req, res);
        ctrl.skip_rest();
    }
}

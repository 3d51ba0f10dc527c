//! Corrupt rows.

use tokio_util::task::TaskTracker;

use super::{ApiKeys, NewKey, Permission};
use crate::base::id::{ApiKeyId, Id, TeamId};
use crate::context::Context;
use crate::tables::{API_KEYS, TEAMS};
use crate::teams;

const TEAM: TeamId = Id::MIN;

#[tokio::test]
async fn a_corrupt_key_or_team_does_not_prevent_a_start() {
    let (_directory, context) = Context::temporary();
    let load = || ApiKeys::load(context.clone(), TaskTracker::new(), |_, _, _| Ok(true)).unwrap();
    let key = NewKey { name: "k".into(), permission: Permission::FullAccess, domain: None };
    let (_, token) = load().create(TEAM, key).await.unwrap();
    context.corrupt(&TEAMS, (TEAM,)).await;
    context.corrupt(&API_KEYS, (TEAM, ApiKeyId::MIN)).await;

    teams::ensure_any(&context).await.unwrap();

    assert!(load().authenticate(&token).is_some());
}

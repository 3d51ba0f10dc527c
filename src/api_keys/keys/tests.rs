//! Tests of the use cases.

use super::*;
use crate::api_keys::Permission;

const TEAM: TeamId = Id::MIN;

fn keys() -> (tempfile::TempDir, Arc<ApiKeys>) {
    let (directory, context) = Context::temporary();
    (directory, ApiKeys::load(context, TaskTracker::new(), |_, _, _| Ok(true)).unwrap())
}

fn new_key() -> NewKey {
    NewKey { name: "k".into(), permission: Permission::FullAccess, domain: None }
}

/// Polls a future once and drops it.
async fn poll_once(future: impl Future) {
    tokio::select! {
        biased;
        _ = future => {}
        () = std::future::ready(()) => {}
    }
}

#[test]
fn a_drawn_token_has_the_documented_form() {
    let token = draw_token();

    assert_eq!(token.reveal().len(), 35);
    assert_ne!(token, draw_token());
}

#[tokio::test]
async fn a_key_is_revoked_if_the_caller_drops_its_future() {
    let (_directory, keys) = keys();
    let (key, token) = keys.create(TEAM, new_key()).await.unwrap();
    assert!(keys.authenticate(&token).is_some());

    poll_once(keys.delete(TEAM, key.id)).await;
    keys.tasks.close();
    keys.tasks.wait().await;

    assert!(keys.authenticate(&token).is_none());
    assert!(!keys.delete(TEAM, key.id).await.unwrap());
}

#[tokio::test]
async fn a_revocation_cancels_the_tasks_of_its_key_only() {
    let (_directory, keys) = keys();
    let (key, token) = keys.create(TEAM, new_key()).await.unwrap();
    let (other, _) = keys.create(TEAM, new_key()).await.unwrap();
    let caller = keys.authenticate(&token).unwrap();
    let revoked = keys.revocation(&caller);

    assert!(keys.rename(TEAM, key.id, "another name").await.unwrap());
    assert!(keys.delete(TEAM, other.id).await.unwrap());
    assert!(!revoked.is_cancelled());

    assert!(keys.delete(TEAM, key.id).await.unwrap());
    assert!(revoked.is_cancelled());
    assert!(keys.revocation(&caller).is_cancelled());
}

#[tokio::test]
async fn a_stored_key_is_valid_if_the_caller_drops_its_future() {
    let (_directory, keys) = keys();
    let token = draw_token();

    poll_once(keys.create_with_token(TEAM, new_key(), &token)).await;
    keys.tasks.close();
    keys.tasks.wait().await;

    let reloaded = ApiKeys::load(keys.context.clone(), TaskTracker::new(), |_, _, _| Ok(true)).unwrap();
    assert!(reloaded.authenticate(&token).is_some());
    assert!(keys.authenticate(&token).is_some());
}

//! The end of long responses with their session.

use std::time::Duration;

use super::*;

/// Timeout of each wait.
const TIMEOUT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn a_watch_ends_with_its_session() {
    let (instance, token) = Instance::set_up().await;
    let PasswordResult::SignedIn(other) = instance.sign_in(EMAIL, PASSWORD).await.unwrap() else {
        panic!("the user has no second factor");
    };
    let signed_in = instance.signed_in(&token).await.unwrap();
    let watch = instance.accounts.watch(other.clone(), instance.signed_in(&other).await.unwrap());

    let end = async { assert_eq!(instance.accounts.end_other_sessions(&signed_in).await.unwrap(), 1) };
    let watched = instance.accounts.ended_within(watch, Duration::MAX);
    tokio::time::timeout(TIMEOUT, async { tokio::join!(watched, end) }).await.unwrap();

    assert!(instance.signed_in(&other).await.is_none() && instance.signed_in(&token).await.is_some());
    assert!(instance.accounts.end_session(&signed_in, signed_in.session.id).await.unwrap());
    assert!(instance.signed_in(&token).await.is_none());
}

#[tokio::test]
async fn a_watch_ends_with_a_session_that_ended_before_it_or_in_another_process() {
    let (instance, token) = Instance::set_up().await;
    // Another process has the same store and its own memory.
    let elsewhere = Accounts::new(instance.context.clone());
    let signed_in = instance.signed_in(&token).await.unwrap();
    let running = instance.accounts.watch(token.clone(), signed_in.clone());
    let late = instance.accounts.watch(token.clone(), signed_in.clone());

    let end = async { assert!(elsewhere.end_session(&signed_in, signed_in.session.id).await.unwrap()) };
    let watched = instance.accounts.ended_within(running, Duration::from_millis(1));
    tokio::time::timeout(TIMEOUT, async { tokio::join!(watched, end) }).await.unwrap();

    tokio::time::timeout(TIMEOUT, instance.accounts.ended_within(late, Duration::MAX)).await.unwrap();
}

#[tokio::test]
async fn a_watch_ends_with_another_role_and_not_with_the_change_of_another_user() {
    let (instance, first) = Instance::set_up().await;
    let (context, team) = (&instance.context, instance.team);
    add(context, team, address("bob@example.com"), Some(Role::Admin)).await.unwrap();
    let bob = instance.accounts.sign_in_by_proxy("bob@example.com", client()).await.unwrap();
    let watch =
        async |token: &SessionToken| instance.accounts.watch(token.clone(), instance.signed_in(token).await.unwrap());
    let mut of_first = Box::pin(instance.accounts.ended_within(watch(&first).await, Duration::MAX));
    let of_bob = instance.accounts.ended_within(watch(&bob).await, Duration::MAX);

    let change = async {
        change_role(context, team, address("bob@example.com"), Role::Viewer).await.unwrap();
        instance.accounts.memberships_changed();
    };
    let ended = tokio::time::timeout(TIMEOUT, async { tokio::join!(of_bob, change) });

    tokio::select! {
        biased;
        () = &mut of_first => panic!("nothing has changed for the first user"),
        ended = ended => assert!(ended.is_ok(), "the role of the other user has changed"),
    }
}

//! Removals that are stopped between their steps.

use std::future::poll_fn;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio_util::task::TaskTracker;

use super::{RemoveTeamError, TeamRemovals, UnsentEmails};
use crate::api_keys::{ApiKeyToken, ApiKeys, NewKey, Permission};
use crate::audit::Actor;
use crate::base::clock::DAY_MS;
use crate::base::id::{EmailId, Id, TeamId};
use crate::context::Context;
use crate::delivery::QueueNotifier;
use crate::domains::{SenderDomainRow, SenderTracking};
use crate::emails::{
    self, EmailRow, Emails, Idempotency, LastEvent, RecipientRow, RecipientState, SendEmail, SendError, Sender,
};
use crate::events::EventType;
use crate::http_client::{CustomerUrl, UrlPolicy};
use crate::preferences::{LinkAudience, LinkSettings, PreferenceLinks};
use crate::store::{ReadTx, Reads as _, WriteTx, name_hash};
use crate::tables::{self, EMAILS, EVENT_SUBSCRIPTIONS, SENDER_DOMAINS, WEBHOOKS};
use crate::teams;
use crate::usage::{self, Usage};
use crate::webhooks::{DispatchNotifier, NewWebhook, SubscribedEvents, WebhookStatus, Webhooks};

/// Time after which no request from before the removal is in progress.
const REQUESTS_END: Duration = Duration::from_secs(10 * 60);

fn api_keys(context: &Context) -> Arc<ApiKeys> {
    ApiKeys::load(context.clone(), TaskTracker::new(), |_, _, _| Ok(true)).unwrap()
}

fn webhooks(context: &Context) -> Webhooks {
    Webhooks::new(context.clone(), DispatchNotifier::default(), UrlPolicy::default())
}

/// Returns the removals of a process that has just started.
fn removals(context: &Context) -> TeamRemovals {
    TeamRemovals::new(context.clone(), api_keys(context), Arc::new(webhooks(context)))
}

/// Creates two teams and returns the second.
async fn second_team(context: &Context) -> TeamId {
    teams::create(context, "First").await.unwrap().unwrap();
    teams::create(context, "Second").await.unwrap().unwrap().id
}

/// Stores an email with one recipient, as its acceptance does.
async fn accept(context: &Context, team: TeamId, id: EmailId, state: RecipientState) {
    let now_ms = context.now_ms();
    let put = move |tx: &WriteTx<'_>| {
        let recipient = RecipientRow::example("ada@example.net", state, LastEvent::Queued);
        tx.put(&EMAILS, &(team, id), &EmailRow::example(vec![recipient], LastEvent::Queued))?;
        usage::count(tx, team, now_ms, 1)
    };
    context.commit(put).await;
}

async fn create_key(keys: &ApiKeys, team: TeamId) -> ApiKeyToken {
    let new = NewKey { name: "Key".into(), permission: Permission::FullAccess, domain: None };
    keys.create(team, new).await.unwrap().1
}

/// Returns whether the removal of the only removed team is complete, and checks that no row is left then.
async fn is_complete(context: &Context, team: TeamId) -> bool {
    let is_complete = move |tx: &WriteTx<'_>| {
        if teams::is_removed(tx, team)? {
            return Ok(false);
        }
        assert_eq!(tables::delete_of_team(tx, team, 1)?, 0);
        assert_eq!(emails::delete_page_of_team(tx, team, EmailId::MIN)?.found, 0);
        Ok(true)
    };
    context.commit(is_complete).await
}

#[tokio::test]
async fn an_email_that_is_accepted_after_the_scan_prevents_the_removal() {
    let (_directory, context) = Context::temporary();
    let team = second_team(&context).await;
    let removals = removals(&context);
    // The id is drawn before the email is sealed and stored.
    let id = context.id();
    let scan = removals.scan(team).await.unwrap();
    accept(&context, team, id, RecipientState::Waiting { due_ms: context.now_ms() }).await;

    let refused = removals.remove_scanned(team, UnsentEmails::Refuse, scan).await;

    assert!(matches!(refused, Err(RemoveTeamError::HasUnsentEmails)), "{refused:?}");
    removals.remove_scanned(team, UnsentEmails::Cancel, scan).await.unwrap();
}

#[tokio::test]
async fn a_removed_team_has_no_valid_key_and_sends_no_email_before_its_rows_are_deleted() {
    let (_directory, context) = Context::temporary();
    let team = second_team(&context).await;
    let token = create_key(&api_keys(&context), team).await;
    let sender_domain = SenderDomainRow {
        id: Id::MIN,
        verified: true,
        tracked: false,
        ed25519: false,
        tracking: SenderTracking::default(),
    };
    context.commit(move |tx| tx.put(&SENDER_DOMAINS, &(team, name_hash("example.com")), &sender_domain)).await;
    let link_settings = LinkSettings { public_url: "http://127.0.0.1".into(), audience: LinkAudience::Captured };
    let emails = Emails::new(
        context.clone(),
        QueueNotifier::default(),
        Arc::new(Idempotency::new(context.clone())),
        TaskTracker::new(),
        PreferenceLinks::new(context.keyring.clone(), link_settings),
    );
    let email = SendEmail::example();
    let sender = Sender { team, actor: Actor::CommandLine, key: None, domain: None };
    emails.send(sender, email.clone(), None).await.unwrap();
    assert!(api_keys(&context).authenticate(&token).is_some());

    removals(&context).remove(team, UnsentEmails::Cancel).await.unwrap();

    let refused = emails.send(sender, email, None).await;
    assert!(matches!(refused, Err(SendError::DomainNotVerified(_))), "{refused:?}");
    assert!(api_keys(&context).authenticate(&token).is_none());
}

#[tokio::test]
async fn a_removed_team_has_no_endpoint_no_subscription_and_no_usage() {
    let (_directory, context) = Context::temporary();
    let team = second_team(&context).await;
    let endpoint = CustomerUrl::parse("https://hooks.example.com/mail", &UrlPolicy::default()).unwrap();
    let subscription = SubscribedEvents::Named([EventType::EmailSent].into_iter().collect());
    let new = NewWebhook { endpoint, subscription, status: WebhookStatus::Enabled, secret: None };
    let (id, _) = webhooks(&context).create(team, new).await.unwrap();
    let usage = Usage::new(context.clone(), String::new());
    let rows =
        move |tx: &ReadTx| Ok((tx.contains(&WEBHOOKS, &(team, id))?, tx.contains(&EVENT_SUBSCRIPTIONS, &(team,))?));
    assert_eq!(context.read(rows), (true, true));
    assert!(usage.report(team, |_| Ok(())).await.unwrap().is_some());

    removals(&context).remove(team, UnsentEmails::Refuse).await.unwrap();

    assert_eq!(context.read(rows), (false, false));
    assert!(usage.report(team, |_| Ok(())).await.unwrap().is_none());
}

#[tokio::test]
async fn a_removal_that_is_stopped_at_any_commit_is_completed_by_the_next_processes() {
    let (_directory, context) = Context::temporary();
    let team = second_team(&context).await;
    create_key(&api_keys(&context), team).await;
    for _ in 0..30 {
        accept(&context, team, context.id(), RecipientState::Settled).await;
    }
    // More rows than one commit deletes.
    context.commit(move |tx| (0..1_200).try_for_each(|day| usage::count(tx, team, day * DAY_MS, 1))).await;
    removals(&context).remove(team, UnsentEmails::Refuse).await.unwrap();
    context.clock.advance(REQUESTS_END);

    let mut stopped = 0;
    // Each process is stopped after it has waited for the store once more than the one before.
    for waits_max in 0.. {
        let removals = removals(&context);
        let mut round = pin!(removals.run_round());
        let mut waits = 0;
        let has_ended = poll_fn(|task| match round.as_mut().poll(task) {
            Poll::Ready(ended) => Poll::Ready(ended.map(|()| true)),
            Poll::Pending if waits == waits_max => Poll::Ready(Ok(false)),
            Poll::Pending => {
                waits += 1;
                Poll::Pending
            }
        });
        if has_ended.await.unwrap() && is_complete(&context, team).await {
            break;
        }
        stopped += 1;
        assert!(stopped < 1_000, "the removal does not end");
    }

    assert!(stopped > 3, "{stopped}");
}

#[tokio::test]
async fn an_email_in_flight_delays_the_end_of_a_removal() {
    let (_directory, context) = Context::temporary();
    let team = second_team(&context).await;
    let id = context.id();
    accept(&context, team, id, RecipientState::InFlight).await;
    let removals = removals(&context);
    removals.remove(team, UnsentEmails::Cancel).await.unwrap();
    context.clock.advance(REQUESTS_END);

    for _ in 0..3 {
        removals.run_round().await.unwrap();
        assert!(!is_complete(&context, team).await);
    }
    let settle = move |tx: &WriteTx<'_>| {
        let mut row = tx.get(&EMAILS, &(team, id))?.expect("the email is in flight");
        assert!(row.hidden);
        row.recipients[0].state = RecipientState::Settled;
        emails::put_settled(tx, team, id, &row, 0)
    };
    context.commit(settle).await;
    removals.run_round().await.unwrap();

    assert!(is_complete(&context, team).await);
    assert!(!context.read(|tx| tx.contains(&EMAILS, &(team, id))));
}

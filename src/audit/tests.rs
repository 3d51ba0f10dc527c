//! Tests of entries, pages and retention.

use std::time::Duration;

use serde_json::json;

use super::*;
use crate::api_keys::{ApiKeys, NewKey, Permission};
use crate::base::address::EmailAddress;
use crate::base::id::{AuditId, Id, TeamId};
use crate::context::Context;
use crate::{teams, users};

const TEAM: TeamId = Id::MAX;

async fn put(context: &Context, by: TeamActor, entry: AuditEntry) {
    let audited = context.clone();
    context.commit(move |tx| record(tx, &audited, by, entry.clone())).await;
}

/// Records `count` entries of a team, with their number in the detail.
async fn put_many(context: &Context, team: TeamId, count: usize) {
    for number in 0..count {
        let entry = AuditEntry::new(AuditAction::QueuePaused).with("number", number);
        put(context, Actor::CommandLine.in_team(team), entry).await;
    }
}

/// Returns the teams and numbers of the entries of all pages of `limit` rows.
async fn numbers_of_all(context: &Context, limit: usize) -> Vec<(TeamId, u64)> {
    let (log, mut after, mut found) = (AuditLog::new(context.clone()), None, Vec::new());
    loop {
        let AuditPage { rows, next } = log.list_all(after, limit).await.unwrap();
        assert!(rows.len() <= limit);
        found.extend(rows.iter().map(|row| (row.team, row.detail["number"].as_u64().unwrap())));
        after = next;
        if next.is_none() {
            return found;
        }
    }
}

async fn list(context: &Context, filter: AuditFilter, after: Option<AuditId>, limit: usize) -> AuditPage {
    AuditLog::new(context.clone()).list(TEAM, filter, after, limit).await.unwrap()
}

#[tokio::test]
async fn an_entry_keeps_the_name_that_its_actor_had() {
    let (_directory, context) = Context::temporary();
    let team = teams::create(&context, "Shop").await.unwrap().unwrap().id;
    let address = || EmailAddress::parse("ada@example.com").unwrap();
    let user = users::add(&context, team, address(), None).await.unwrap().user.id;
    let keys = ApiKeys::load(context.clone(), tokio_util::task::TaskTracker::new(), |_, _, _| Ok(true)).unwrap();
    let new = NewKey { name: "build".into(), permission: Permission::FullAccess, domain: None };
    let (key, _) = keys.create(Actor::User(user).in_team(team), new).await.unwrap();
    keys.rename(Actor::ApiKey(key.id).in_team(team), key.id, "deploy").await.unwrap();
    keys.delete(Actor::ApiKey(key.id).in_team(team), key.id).await.unwrap();

    let page = AuditLog::new(context.clone()).list(team, AuditFilter::default(), None, 10).await.unwrap();

    let found: Vec<_> = page.rows.iter().map(|row| (row.action.as_str(), row.actor_name.as_deref())).collect();
    let expected = [
        ("api_key.deleted", Some("deploy")),
        ("api_key.updated", Some("deploy")),
        ("api_key.created", Some("ada@example.com")),
        ("member.added", None),
        ("team.created", None),
    ];
    assert_eq!(found, expected);
    let renamed = &page.rows[1];
    assert_eq!(renamed.target.as_ref().unwrap().name.as_deref(), Some("build"));
    assert_eq!(renamed.detail["name"], "deploy");
}

#[test]
fn an_entry_has_bounded_texts_and_a_bounded_number_of_fields() {
    let fields = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p", "q", "r"];
    let entry = AuditEntry::new(AuditAction::ThemeChanged).of(AuditTargetKind::Team, "€".repeat(500));
    let entry = entry.named(&"€".repeat(500));
    let entry = fields.into_iter().fold(entry, |entry, field| entry.with(field, "€".repeat(500)));

    let bytes = rmp_serde::to_vec_named(&(&entry.target, &entry.detail)).unwrap().len();

    assert_eq!(entry.detail.len(), 16);
    assert!(bytes < 16 * 700, "{bytes}");
}

#[test]
fn the_name_of_an_endpoint_is_the_host_of_its_url_only() {
    for (url, host) in [
        ("https://hooks.example/a/secret?x=1", "https://hooks.example"),
        ("https://user:pass@hooks.example:8443/x", "https://hooks.example:8443"),
        ("https://hooks.example?token=1", "https://hooks.example"),
        ("https://hooks.example#a@b", "https://hooks.example"),
        ("http://[::1]:80/@", "http://[::1]:80"),
        ("hooks.example", "hooks.example"),
    ] {
        assert_eq!(audit_host(url), host, "{url}");
    }
}

#[test]
fn each_action_has_another_name() {
    for (at, action) in AuditAction::ALL.iter().enumerate() {
        let name = action.as_str();
        assert!(name.split_once('.').is_some_and(|(noun, verb)| !noun.is_empty() && !verb.is_empty()), "{name}");
        assert!(AuditAction::ALL[..at].iter().all(|other| other.as_str() != name), "{name}");
        assert_eq!(serde_json::to_value(action).unwrap(), json!(name));
    }
}

#[tokio::test]
async fn pages_of_a_team_follow_each_other_and_a_filter_selects() {
    let (_directory, context) = Context::temporary();
    put_many(&context, TEAM, 5).await;
    put_many(&context, Id::MIN, 1).await;
    let user = Actor::User(Id::MIN).in_team(TEAM);
    put(&context, user, AuditEntry::new(AuditAction::QueueResumed).with("number", 5)).await;
    let numbers = |page: &AuditPage| page.rows.iter().map(|row| row.detail["number"].clone()).collect::<Vec<_>>();
    let all = AuditFilter::default;

    let first = list(&context, all(), None, 4).await;
    let second = list(&context, all(), first.next, 4).await;
    assert_eq!(
        (numbers(&first), numbers(&second)),
        (vec![5.into(), 4.into(), 3.into(), 2.into()], vec![1.into(), 0.into()])
    );
    assert_eq!((first.next, second.next), (Some(first.rows[3].id), None));
    assert_eq!(list(&context, all(), None, 6).await.next, None);

    for (action, actor, expected) in [
        (Some("queue."), None, 6),
        (Some("queue.paused"), None, 5),
        (Some("queue.r"), Some("user"), 1),
        (None, Some("command_line"), 5),
        (Some("team."), None, 0),
    ] {
        let filter = AuditFilter { action: action.map(Into::into), actor: actor.map(Into::into) };
        assert_eq!(list(&context, filter, None, 10).await.rows.len(), expected, "{action:?} {actor:?}");
    }
}

#[tokio::test]
async fn the_list_of_all_teams_is_in_the_order_of_time() {
    let (_directory, context) = Context::temporary();
    let other = TeamId::from_bytes([7; 16]);
    let teams = [TEAM, other, TeamActor::SERVER, other, TEAM, TEAM, other];
    let mut expected = Vec::new();
    for (number, team) in teams.into_iter().enumerate() {
        let entry = AuditEntry::new(AuditAction::QueuePaused).with("number", number);
        put(&context, Actor::CommandLine.in_team(team), entry).await;
        expected.insert(0, (team, number as u64));
    }

    for limit in [1, 2, 3, 7, 100] {
        assert_eq!(numbers_of_all(&context, limit).await, expected, "{limit}");
    }
}

#[tokio::test]
async fn retention_deletes_the_old_entries_of_every_team() {
    let (_directory, context) = Context::temporary();
    let teams = [TeamActor::SERVER, TeamId::from_bytes([7; 16]), TEAM];
    for team in teams {
        put_many(&context, team, 3).await;
    }
    context.clock.advance(Duration::from_secs(60));
    let before_ms = context.now_ms();
    put_many(&context, TEAM, 2).await;

    purge(&context, before_ms).await.unwrap();

    assert_eq!(numbers_of_all(&context, 100).await, [(TEAM, 1), (TEAM, 0)]);
}

//! Rows of sessions: creation, lookup, expiry and removal.
//!
//! The key starts with the user, so that the sessions of a user are one range. The sessions of a development server,
//! which has no accounts, are stored under the id of no user.

use serde::{Deserialize, Serialize};
use subtle::ConstantTimeEq as _;

use super::session_token::SessionToken;
use crate::base::clock::{DAY_MS, TimestampMs};
use crate::base::id::{Id, SessionId, TeamId, UserId};
use crate::context::Context;
use crate::store::{KeyOf, Order, Reads, Row, StoreError, WriteTx, match_page};
use crate::tables::SESSIONS;

/// A session ends after this time without a request.
pub const SESSION_IDLE_MS: i64 = 7 * DAY_MS;
/// A session ends after this time.
pub const SESSION_LIFETIME_MS: i64 = 30 * DAY_MS;
/// Resolution of the last use. A session in use causes at most one write in this time.
pub(super) const LAST_USED_RESOLUTION_MS: i64 = 5 * 60 * 1_000;
/// Maximum number of sessions of a user. A further one replaces the one that was not used for the longest time.
pub(super) const SESSIONS_MAX: usize = 50;
/// User of the sessions without an account.
pub(super) const NO_USER: UserId = Id::MIN;
/// Sessions that one commit examines or deletes.
const PAGE_ROWS: usize = 1_000;

/// Means by which a session began.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SignInMethod {
    /// A password, or a link of `ringmail user link` or `ringmail setup-link`.
    Password,
    /// The header of a trusted proxy. Each request needs the header again.
    Proxy,
    /// The link of a development server. Only programs on this machine can use the session.
    Open,
}

/// A session on disk.
#[derive(Clone, Serialize, Deserialize)]
pub struct SessionRow {
    #[serde(with = "serde_bytes")]
    secret_hash: [u8; 32],
    /// Team whose data the session shows.
    pub(super) team: TeamId,
    method: SignInMethod,
    created_ms: TimestampMs,
    pub(super) last_used_ms: TimestampMs,
    pub(super) ip: String,
    user_agent: String,
}
impl Row for SessionRow {}

impl std::fmt::Debug for SessionRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SessionRow(hidden)")
    }
}

/// Client of a session, for the list of sessions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SessionClient {
    pub ip: String,
    pub user_agent: String,
}

/// A session of the dashboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserSession {
    pub id: SessionId,
    /// `None` on a development server, which has no accounts.
    pub user: Option<UserId>,
    pub team: TeamId,
    pub method: SignInMethod,
    pub created_ms: TimestampMs,
    /// Time of the last use, up to five minutes early.
    pub last_used_ms: TimestampMs,
    pub client: SessionClient,
}

/// Input of a new session.
#[derive(Clone, Debug)]
pub(super) struct NewSession {
    pub(super) token: SessionToken,
    pub(super) team: TeamId,
    pub(super) method: SignInMethod,
    pub(super) client: SessionClient,
}

impl SessionRow {
    fn is_valid(&self, now_ms: TimestampMs) -> bool {
        // After a step of the clock to the past, both times are in the future. The idle time bounds this step too, so that
        // a wrong clock at the sign-in does not make a session without an end.
        (-SESSION_IDLE_MS..SESSION_LIFETIME_MS).contains(&(now_ms - self.created_ms))
            && (-SESSION_IDLE_MS..SESSION_IDLE_MS).contains(&(now_ms - self.last_used_ms))
    }

    fn session(self, user: UserId, id: SessionId) -> UserSession {
        let Self { secret_hash: _, team, method, created_ms, last_used_ms, ip, user_agent } = self;
        let user = (user != NO_USER).then_some(user);
        let client = SessionClient { ip, user_agent };
        UserSession { id, user, team, method, created_ms, last_used_ms, client }
    }
}

/// Stores a session. Deletes the expired sessions of the user, and those above [`SESSIONS_MAX`].
pub(super) fn create(tx: &WriteTx<'_>, new: &NewSession, now_ms: TimestampMs) -> Result<(), StoreError> {
    let NewSession { token, team, method, client: SessionClient { ip, user_agent } } = new;
    let user = token.user;
    let mut earlier = tx.collect(&SESSIONS, KeyOf::bounds(user), Order::Ascending, |(_, id), row| {
        // A corrupt row is replaced first.
        let last_used_ms = row.valid().filter(|row| row.is_valid(now_ms)).map(|row| row.last_used_ms);
        Ok(Some((last_used_ms, id)))
    })?;
    earlier.sort_unstable();
    let expired = earlier.iter().filter(|(last_used_ms, _)| last_used_ms.is_none()).count();
    let removed = expired.max((earlier.len() + 1).saturating_sub(SESSIONS_MAX));
    for (_, id) in &earlier[..removed] {
        tx.delete(&SESSIONS, &(user, *id))?;
    }
    let row = SessionRow {
        secret_hash: token.hash(),
        team: *team,
        method: *method,
        created_ms: now_ms,
        last_used_ms: now_ms,
        ip: ip.clone(),
        user_agent: user_agent.clone(),
    };
    tx.put(&SESSIONS, &(user, token.session), &row)
}

/// Returns the row of a token; `None` if the session does not exist or has expired, or if the secret differs.
pub(super) fn find_row(
    tx: &impl Reads,
    token: &SessionToken,
    now_ms: TimestampMs,
) -> Result<Option<SessionRow>, StoreError> {
    let row = tx.get(&SESSIONS, &(token.user, token.session))?;
    Ok(row.filter(|row| bool::from(row.secret_hash.ct_eq(&token.hash())) && row.is_valid(now_ms)))
}

/// Returns the session of a token, as [`find_row`].
pub(super) fn find(
    tx: &impl Reads,
    token: &SessionToken,
    now_ms: TimestampMs,
) -> Result<Option<UserSession>, StoreError> {
    Ok(find_row(tx, token, now_ms)?.map(|row| row.session(token.user, token.session)))
}

/// Stores a changed row.
pub(super) fn put(tx: &WriteTx<'_>, token: &SessionToken, row: &SessionRow) -> Result<(), StoreError> {
    tx.put(&SESSIONS, &(token.user, token.session), row)
}

/// Returns the valid sessions of a user, newest first: at most [`SESSIONS_MAX`].
pub(super) fn list(tx: &impl Reads, user: UserId, now_ms: TimestampMs) -> Result<Vec<UserSession>, StoreError> {
    tx.collect(&SESSIONS, KeyOf::bounds(user), Order::Descending, |(_, id), row| {
        Ok(row.valid().filter(|row| row.is_valid(now_ms)).map(|row| row.session(user, id)))
    })
}

/// Deletes a session of a user; returns whether it existed.
pub(super) fn delete(tx: &WriteTx<'_>, user: UserId, id: SessionId) -> Result<bool, StoreError> {
    tx.delete(&SESSIONS, &(user, id))
}

/// Deletes the sessions of a user except `kept`; returns their ids.
pub(super) fn delete_others(
    tx: &WriteTx<'_>,
    user: UserId,
    kept: Option<SessionId>,
) -> Result<Vec<SessionId>, StoreError> {
    delete_where(tx, user, |id, _| Some(id) != kept)
}

/// Deletes the sessions of a user that show a team.
pub(super) fn delete_of_team(tx: &WriteTx<'_>, user: UserId, team: TeamId) -> Result<(), StoreError> {
    delete_where(tx, user, |_, row| row.is_none_or(|row| row.team == team)).map(drop)
}

/// Deletes the sessions that `is_deleted` selects by id and row. The row is `None` if it is corrupt.
fn delete_where(
    tx: &WriteTx<'_>,
    user: UserId,
    is_deleted: impl Fn(SessionId, Option<&SessionRow>) -> bool,
) -> Result<Vec<SessionId>, StoreError> {
    let ids = tx.collect(&SESSIONS, KeyOf::bounds(user), Order::Ascending, |(_, id), row| {
        Ok(is_deleted(id, row.valid().as_ref()).then_some(id))
    })?;
    for id in &ids {
        tx.delete(&SESSIONS, &(user, *id))?;
    }
    Ok(ids)
}

/// Deletes the expired sessions of all users, page by page.
pub(super) async fn purge(context: &Context) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    context.store.write_pages((Id::MIN, Id::MIN), move |tx, after| purge_page(tx, after, now_ms)).await
}

/// Deletes the expired sessions of a page. Returns the key after which the next page starts; `None` at the end.
fn purge_page(
    tx: &WriteTx<'_>,
    after: (UserId, SessionId),
    now_ms: TimestampMs,
) -> Result<Option<(UserId, SessionId)>, StoreError> {
    let is_expired = |_, row: Option<SessionRow>| Ok(row.is_some_and(|row| !row.is_valid(now_ms)));
    let page = match_page(tx, &SESSIONS, after, (Id::MAX, Id::MAX), PAGE_ROWS, is_expired)?;
    for key in &page.hits {
        tx.delete(&SESSIONS, key)?;
    }
    Ok(page.next)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn start(context: &Context, user: UserId, team: TeamId) -> SessionToken {
        let token = SessionToken::draw(user, context.id());
        let client = SessionClient { ip: "192.0.2.1".into(), user_agent: "Browser".into() };
        let new = NewSession { token: token.clone(), team, method: SignInMethod::Password, client };
        let now_ms = context.now_ms();
        context.commit(move |tx| create(tx, &new, now_ms)).await;
        token
    }

    fn is_valid(context: &Context, token: &SessionToken) -> bool {
        context.read(|tx| find(tx, token, context.now_ms())).is_some()
    }

    #[tokio::test]
    async fn a_session_is_found_by_its_secret_only() {
        let (_directory, context) = Context::temporary();
        let token = start(&context, Id::MAX, Id::MIN).await;

        assert!(is_valid(&context, &token));
        assert!(!is_valid(&context, &SessionToken::draw(token.user, token.session)));
    }

    #[tokio::test]
    async fn a_session_ends_after_the_idle_time_and_after_its_lifetime() {
        let (_directory, context) = Context::temporary();
        let idle = start(&context, Id::MAX, Id::MIN).await;
        let busy = start(&context, Id::MAX, Id::MIN).await;
        let ms = |ms: i64| Duration::from_millis(ms.unsigned_abs());

        let mut passed_ms = 0;
        while passed_ms + DAY_MS < SESSION_LIFETIME_MS {
            assert_eq!(is_valid(&context, &idle), passed_ms < SESSION_IDLE_MS);
            assert!(is_valid(&context, &busy));
            let (token, now_ms) = (busy.clone(), context.now_ms());
            let touch = move |tx: &WriteTx<'_>| {
                let row = find_row(tx, &token, now_ms)?.expect("the session is valid");
                put(tx, &token, &SessionRow { last_used_ms: now_ms, ..row })
            };
            context.commit(touch).await;
            context.clock.advance(ms(DAY_MS));
            passed_ms += DAY_MS;
        }
        context.clock.advance(ms(DAY_MS));
        assert!(!is_valid(&context, &busy));
        assert_eq!(context.keys(&SESSIONS).len(), 2);
        purge(&context).await.unwrap();

        assert_eq!(context.keys(&SESSIONS).len(), 0);
    }

    #[test]
    fn a_session_of_a_clock_in_the_future_ends_with_its_correction() {
        let row = SessionRow {
            secret_hash: [0; 32],
            team: Id::MIN,
            method: SignInMethod::Password,
            created_ms: 0,
            last_used_ms: 0,
            ip: String::new(),
            user_agent: String::new(),
        };

        for (now_ms, is_valid) in
            [(0, true), (-1_000, true), (-SESSION_IDLE_MS, true), (-SESSION_IDLE_MS - 1, false), (-400 * DAY_MS, false)]
        {
            assert_eq!(row.is_valid(now_ms), is_valid, "{now_ms}");
        }
    }

    #[tokio::test]
    async fn a_user_has_a_bounded_number_of_sessions() {
        let (_directory, context) = Context::temporary();
        let first = start(&context, Id::MAX, Id::MIN).await;
        let mut latest = first.clone();
        for _ in 0..SESSIONS_MAX {
            context.clock.advance(Duration::from_secs(1));
            latest = start(&context, Id::MAX, Id::MIN).await;
        }

        assert_eq!(context.keys(&SESSIONS).len(), SESSIONS_MAX);
        assert!(!is_valid(&context, &first));
        assert!(is_valid(&context, &latest));
    }

    #[tokio::test]
    async fn the_sessions_of_a_team_or_all_but_one_are_deleted() {
        let (_directory, context) = Context::temporary();
        let here = start(&context, Id::MAX, Id::MIN).await;
        let there = start(&context, Id::MAX, Id::MAX).await;
        let again = start(&context, Id::MAX, Id::MAX).await;
        let of_other_user = start(&context, Id::MIN, Id::MIN).await;

        context.commit(|tx| delete_of_team(tx, Id::MAX, Id::MIN)).await;
        assert!(!is_valid(&context, &here) && is_valid(&context, &there));
        let kept = there.session;
        let ended = context.commit(move |tx| delete_others(tx, Id::MAX, Some(kept))).await;

        assert_eq!(ended, [again.session]);
        assert!(is_valid(&context, &there) && !is_valid(&context, &again));
        assert!(is_valid(&context, &of_other_user));
        let (now_ms, listed) = (context.now_ms(), there.session);
        let sessions = context.read(|tx| list(tx, Id::MAX, now_ms));
        assert_eq!(sessions.iter().map(|session| session.id).collect::<Vec<_>>(), [listed]);
    }
}

//! Accounts of the dashboard: the service that its pages call, and the check of each request's session.

use std::time::Duration;

use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tracing::debug;

use super::hashing::PasswordHasher;
use super::members::{role_in, teams_of};
use super::model::{Role, TeamMembership, User};
use super::session_token::SessionToken;
use super::sessions::{
    LAST_USED_RESOLUTION_MS, NO_USER, NewSession, SessionClient, SignInMethod, UserSession, create, delete,
    delete_others, find, find_row, list, put,
};
use super::store;
use super::throttle::{RecordedRefusals, SignInThrottle};
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind, TeamActor};
use crate::base::clock::TimestampMs;
use crate::base::id::{SessionId, TeamId, UserId};
use crate::base::keyed::{KeyedValues, SharedValue};
use crate::context::Context;
use crate::store::{Reads, StoreError, WriteTx};
use crate::teams;

/// Interval of checks that the session of a long response is still valid.
const RECHECK_INTERVAL: Duration = Duration::from_secs(20);

/// Accounts, sessions and one-time links of an instance. `sign_in.rs`, `setup.rs` and `second_factor.rs` have more of
/// its use cases.
pub struct Accounts {
    pub(super) context: Context,
    pub(super) hasher: PasswordHasher,
    pub(super) throttle: SignInThrottle,
    pub(super) refusals: RecordedRefusals,
    /// Sessions with a long response, such as a live stream.
    watched: KeyedValues<SessionId, CancellationToken>,
    /// Marked at each change of memberships by this process. Each watch checks its session after a change.
    membership_changes: watch::Sender<()>,
}

/// A valid session with the permissions of its user.
#[derive(Clone, Debug)]
pub struct SignedIn {
    pub session: UserSession,
    /// `None` on a development server, which has no accounts.
    pub user: Option<User>,
    /// Team whose data the session shows.
    pub team: TeamId,
    pub role: Role,
}

impl SignedIn {
    /// Returns the actor of the actions of the session.
    pub fn actor(&self) -> TeamActor {
        // A development server has no accounts.
        let id = self.session.user.unwrap_or_else(|| self.session.id.cast());
        Actor::User(id).in_team(self.team)
    }
}

/// Watch of a session during a long response.
pub struct SessionWatch {
    token: SessionToken,
    signed_in: SignedIn,
    revoked: SharedValue<SessionId, CancellationToken>,
    membership_changes: watch::Receiver<()>,
}

impl Accounts {
    /// Returns the accounts of the instance of `context`.
    pub fn new(context: Context) -> Self {
        let throttle = SignInThrottle::new(context.clock.clone());
        Self {
            context,
            hasher: PasswordHasher::default(),
            throttle,
            refusals: RecordedRefusals::default(),
            watched: KeyedValues::default(),
            membership_changes: watch::Sender::new(()),
        }
    }

    /// Returns the session of a token with the current role of its user. `None` if the session has ended, or if the
    /// user has no team. Records the use, at most once in five minutes.
    pub async fn authenticate(
        &self,
        token: &SessionToken,
        client: &SessionClient,
    ) -> Result<Option<SignedIn>, StoreError> {
        let Some(signed_in) = self.check(token).await? else { return Ok(None) };
        let is_stale = self.context.now_ms() - signed_in.session.last_used_ms >= LAST_USED_RESOLUTION_MS;
        if is_stale || signed_in.team != signed_in.session.team {
            // The response does not depend on this write.
            if let Err(error) = self.record_use(token, signed_in.team, client).await {
                debug!(%error, "could not record the use of a session: {error}");
            }
        }
        Ok(Some(signed_in))
    }

    /// Does the same as [`Accounts::authenticate`], without recording the use.
    async fn check(&self, token: &SessionToken) -> Result<Option<SignedIn>, StoreError> {
        let (token, now_ms) = (token.clone(), self.context.now_ms());
        self.context
            .store
            .read(move |tx| {
                let Some(session) = find(tx, &token, now_ms)? else { return Ok(None) };
                let Some(id) = session.user else {
                    let team = match teams::find(tx, session.team)? {
                        Some(team) => Some(team),
                        None => teams::oldest(tx, 1)?.pop(),
                    };
                    let signed_in = |team: TeamId| SignedIn { session, user: None, team, role: Role::Owner };
                    return Ok(team.map(|team| signed_in(team.id)));
                };
                let Some(user) = store::find(tx, id)? else { return Ok(None) };
                let (team, role) = match role_in(tx, session.team, id)? {
                    Some(role) => (session.team, role),
                    // The membership or the team has ended since the session began.
                    None => match teams_of(tx, id)?.into_iter().next() {
                        Some(TeamMembership { team, role, .. }) => (team, role),
                        None => return Ok(None),
                    },
                };
                Ok(Some(SignedIn { session, user: Some(user), team, role }))
            })
            .await
    }

    async fn record_use(&self, token: &SessionToken, team: TeamId, client: &SessionClient) -> Result<(), StoreError> {
        let (token, ip, now_ms) = (token.clone(), client.ip.clone(), self.context.now_ms());
        let record = move |tx: &WriteTx<'_>| {
            // The session may have ended since it was read.
            let Some(mut row) = find_row(tx, &token, now_ms)? else { return Ok(()) };
            // A page makes several requests at the same time.
            if row.team == team && now_ms - row.last_used_ms < LAST_USED_RESOLUTION_MS {
                return Ok(());
            }
            (row.last_used_ms, row.team, row.ip) = (now_ms, team, ip.clone());
            put(tx, &token, &row)
        };
        self.context.store.write(record).await
    }

    /// Returns a watch for a response that outlives its request.
    pub fn watch(&self, token: SessionToken, signed_in: SignedIn) -> SessionWatch {
        let revoked = self.watched.get_or_insert_with(signed_in.session.id, CancellationToken::new);
        SessionWatch { token, signed_in, revoked, membership_changes: self.membership_changes.subscribe() }
    }

    /// Waits until a session has ended or its team or role has changed. Another process can end it too, so that it is
    /// checked every 20 seconds. Cancel safe.
    pub async fn ended(&self, watch: SessionWatch) {
        self.ended_within(watch, RECHECK_INTERVAL).await;
    }

    /// Does the same as [`Accounts::ended`], with another interval of checks.
    pub(super) async fn ended_within(&self, watch: SessionWatch, recheck_interval: Duration) {
        let SessionWatch { token, signed_in, revoked, mut membership_changes } = watch;
        loop {
            // The first check finds a session that ended between the check of its request and the start of the watch.
            match self.check(&token).await {
                Ok(Some(current)) if current.team == signed_in.team && current.role == signed_in.role => {}
                Ok(_) | Err(StoreError::Closed) => return,
                // The store recovers, or the process ends.
                Err(_) => {}
            }
            tokio::select! {
                () = revoked.cancelled() => return,
                // The sender is in `self`, so that it is not closed.
                _ = membership_changes.changed() => {}
                () = tokio::time::sleep(recheck_interval) => {}
            }
        }
    }

    /// Ends the long responses of sessions whose team or role has changed. For a caller that has changed memberships or
    /// teams.
    pub fn memberships_changed(&self) {
        self.membership_changes.send_replace(());
    }

    /// Returns the valid sessions of the user of a session, newest first.
    pub async fn sessions_of(&self, signed_in: &SignedIn) -> Result<Vec<UserSession>, StoreError> {
        let (user, now_ms) = (signed_in.session.user.unwrap_or(NO_USER), self.context.now_ms());
        self.context.store.read(move |tx| list(tx, user, now_ms)).await
    }

    /// Ends a session of the user of `signed_in`; returns whether it existed.
    pub async fn end_session(&self, signed_in: &SignedIn, id: SessionId) -> Result<bool, StoreError> {
        let user = signed_in.session.user.unwrap_or(NO_USER);
        let (by, context) = (signed_in.actor(), self.context.clone());
        let end = move |tx: &WriteTx<'_>| {
            let existed = delete(tx, user, id)?;
            if existed {
                let entry = AuditEntry::new(AuditAction::SessionEnded).of(AuditTargetKind::Session, id);
                audit::record(tx, &context, by, entry)?;
            }
            Ok::<_, StoreError>(existed)
        };
        let existed = self.context.store.write(end).await?;
        self.revoke(&[id]);
        Ok(existed)
    }

    /// Ends all sessions of the user of `signed_in` except this one; returns their number.
    pub async fn end_other_sessions(&self, signed_in: &SignedIn) -> Result<usize, StoreError> {
        let (user, kept) = (signed_in.session.user.unwrap_or(NO_USER), signed_in.session.id);
        let (by, context) = (signed_in.actor(), self.context.clone());
        let end = move |tx: &WriteTx<'_>| {
            let ended = delete_others(tx, user, Some(kept))?;
            if !ended.is_empty() {
                audit::record(tx, &context, by, AuditEntry::new(AuditAction::SessionEnded).with("count", ended.len()))?;
            }
            Ok::<_, StoreError>(ended)
        };
        let ended = self.context.store.write(end).await?;
        self.revoke(&ended);
        Ok(ended.len())
    }

    /// Ends the long responses of sessions that were deleted.
    pub(super) fn revoke(&self, ended: &[SessionId]) {
        for id in ended {
            self.watched.get_or_insert_with(*id, CancellationToken::new).cancel();
        }
    }

    /// Returns the teams of the user of a session: on a development server all teams.
    pub async fn teams(&self, signed_in: &SignedIn) -> Result<Vec<TeamMembership>, StoreError> {
        let user = signed_in.session.user;
        self.context
            .store
            .read(move |tx| match user {
                Some(user) => teams_of(tx, user),
                None => all_teams(tx),
            })
            .await
    }

    /// Shows the data of another team in a session; `None` if the user is not a member of it.
    pub async fn choose_team(
        &self,
        token: &SessionToken,
        signed_in: &SignedIn,
        team: TeamId,
    ) -> Result<Option<TeamMembership>, StoreError> {
        let (token, user, now_ms) = (token.clone(), signed_in.session.user, self.context.now_ms());
        let choose = move |tx: &WriteTx<'_>| {
            let teams = match user {
                Some(user) => teams_of(tx, user)?,
                None => all_teams(tx)?,
            };
            let Some(chosen) = teams.into_iter().find(|membership| membership.team == team) else { return Ok(None) };
            let Some(mut row) = find_row(tx, &token, now_ms)? else { return Ok(None) };
            row.team = team;
            put(tx, &token, &row)?;
            Ok(Some(chosen))
        };
        let chosen = self.context.store.write::<_, StoreError>(choose).await?;
        self.memberships_changed();
        Ok(chosen)
    }

    /// Returns a session to store for a user.
    pub(super) fn new_session(
        &self,
        user: Option<UserId>,
        team: TeamId,
        method: SignInMethod,
        client: SessionClient,
    ) -> NewSession {
        let token = SessionToken::draw(user.unwrap_or(NO_USER), self.context.id());
        NewSession { token, team, method, client }
    }
}

/// Returns all teams, for a session without an account.
fn all_teams(tx: &impl Reads) -> Result<Vec<TeamMembership>, StoreError> {
    let teams = teams::list(tx)?.into_iter();
    Ok(teams.map(|team| TeamMembership { team: team.id, team_name: team.name, role: Role::Owner }).collect())
}

/// Stores a new session and returns its token.
pub(super) fn start_session(
    tx: &WriteTx<'_>,
    new: &NewSession,
    now_ms: TimestampMs,
) -> Result<SessionToken, StoreError> {
    create(tx, new, now_ms)?;
    Ok(new.token.clone())
}

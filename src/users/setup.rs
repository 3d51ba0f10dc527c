//! One-time links and their use: the first account, the way back in, and the dashboard of a development server.

use std::time::Duration;

use tracing::info;

use super::accounts::{Accounts, start_session};
use super::credentials;
use super::hashing::HasherBusy;
use super::links::{self, LinkPurpose, OneTimeLink, ValidLink};
use super::members::{self, AddError, MembershipError, teams_of};
use super::model::{Role, User};
use super::password::Password;
use super::secret::LinkSecret;
use super::session_token::SessionToken;
use super::sessions::{NewSession, SessionClient, SignInMethod, delete_others};
use super::store;
use crate::audit::{self, Actor, AuditAction, AuditEntry};
use crate::base::address::EmailAddress;
use crate::base::id::{SessionId, TeamId, UserId};
use crate::store::{StoreError, WriteTx, from_store_error};
use crate::teams::{self, TeamNameError};

/// Error of the use of a link.
#[derive(Debug)]
pub enum LinkUseError {
    /// The link does not exist, was used, has expired, or is for another purpose.
    Invalid,
    /// The name of the team is invalid, or another team has it.
    TeamName(TeamNameError),
    /// Too many passwords are being hashed.
    Busy,
    Store(StoreError),
}

from_store_error!(LinkUseError);

impl From<HasherBusy> for LinkUseError {
    fn from(HasherBusy: HasherBusy) -> Self {
        Self::Busy
    }
}

/// Input of the first account.
#[derive(Clone, Debug)]
pub struct FirstAccount {
    pub email: EmailAddress,
    pub password: Password,
    /// Name of the first team of the instance.
    pub team_name: String,
}

/// Change that a user makes with a link of `ringmail user link`.
#[derive(Clone, Debug)]
pub struct NewPassword {
    pub password: Password,
    /// Whether the second factor is removed, because its device and the recovery codes are lost.
    pub removes_second_factor: bool,
}

/// The user of a link of `ringmail user link`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkUser {
    pub user: User,
    pub has_second_factor: bool,
}

impl Accounts {
    /// Returns whether no user can sign in with a password, so that the first account can be created.
    pub async fn needs_setup(&self) -> Result<bool, StoreError> {
        Ok(!self.context.store.read(credentials::exist).await?)
    }

    /// Creates a link to set up the first account; `None` if an account exists.
    pub async fn issue_setup_link(&self, by: Actor) -> Result<Option<OneTimeLink>, StoreError> {
        let (secret, context, now_ms) = (LinkSecret::draw(), self.context.clone(), self.context.now_ms());
        let issue = move |tx: &WriteTx<'_>| {
            if credentials::exist(tx)? {
                return Ok(None);
            }
            audit::record(tx, &context, by.on_server(), AuditEntry::new(AuditAction::SetupLinkCreated))?;
            links::issue(tx, secret.clone(), LinkPurpose::Setup, now_ms).map(Some)
        };
        self.context.store.write(issue).await
    }

    /// Creates a link to the dashboard of a development server.
    pub async fn issue_open_link(&self) -> Result<OneTimeLink, StoreError> {
        let (secret, now_ms) = (LinkSecret::draw(), self.context.now_ms());
        self.context.store.write(move |tx| links::issue(tx, secret.clone(), LinkPurpose::Open, now_ms)).await
    }

    /// Creates a link with which a user sets a new password and signs in; `None` if no user has the address.
    pub async fn issue_user_link(&self, by: Actor, address: EmailAddress) -> Result<Option<OneTimeLink>, StoreError> {
        let (secret, context, now_ms) = (LinkSecret::draw(), self.context.clone(), self.context.now_ms());
        let issue = move |tx: &WriteTx<'_>| {
            let Some(user) = store::find_by_address(tx, &address)? else { return Ok(None) };
            let team = teams_of(tx, user.id)?.into_iter().next().map(|membership| membership.team);
            let by = team.map_or(by.on_server(), |team| by.in_team(team));
            audit::record(tx, &context, by, members::entry(AuditAction::UserLinkCreated, &user))?;
            links::issue(tx, secret.clone(), LinkPurpose::SignIn { user: user.id }, now_ms).map(Some)
        };
        self.context.store.write(issue).await
    }

    /// Returns the link with a secret; `None` if it does not exist, was used or has expired.
    pub async fn find_link(&self, secret: &LinkSecret) -> Result<Option<ValidLink>, StoreError> {
        let (secret, now_ms) = (secret.clone(), self.context.now_ms());
        self.context.store.read(move |tx| links::find(tx, &secret, now_ms)).await
    }

    /// Returns the time until a link expires.
    pub fn time_left(&self, link: ValidLink) -> Duration {
        Duration::from_millis(u64::try_from(link.expires_ms - self.context.now_ms()).unwrap_or(0))
    }

    /// Returns the user of a link of `ringmail user link`; `None` if the link is for another purpose.
    pub async fn link_user(&self, link: ValidLink) -> Result<Option<LinkUser>, StoreError> {
        let LinkPurpose::SignIn { user } = link.purpose else { return Ok(None) };
        self.context
            .store
            .read(move |tx| {
                let has_second_factor = credentials::find(tx, user)?.is_some_and(|row| row.totp.is_some());
                Ok(store::find(tx, user)?.map(|user| LinkUser { user, has_second_factor }))
            })
            .await
    }

    /// Creates the first account with a setup link: an owner of the first team, which gets the name of the input.
    ///
    /// # Errors
    /// [`LinkUseError`]; nothing is stored.
    pub async fn create_first_account(
        &self,
        secret: &LinkSecret,
        account: FirstAccount,
        client: SessionClient,
    ) -> Result<SessionToken, LinkUseError> {
        // A hash is computed only for a valid link.
        self.find_link(secret).await?.filter(|link| link.purpose == LinkPurpose::Setup).ok_or(LinkUseError::Invalid)?;
        let FirstAccount { email, password, team_name } = account;
        let hash = self.hasher.hash(password).await?;
        let (secret, context, now_ms) = (secret.clone(), self.context.clone(), self.context.now_ms());
        let session: SessionId = self.context.id();
        let create = move |tx: &WriteTx<'_>| {
            let is_valid = links::find(tx, &secret, now_ms)?.is_some_and(|link| link.purpose == LinkPurpose::Setup);
            let Some(team) = teams::oldest(tx, 1)?.pop() else { return Err(LinkUseError::Invalid) };
            if !is_valid || credentials::exist(tx)? {
                return Err(LinkUseError::Invalid);
            }
            if let Err(error) = teams::rename_in(tx, team.id, &team_name)? {
                return Err(LinkUseError::TeamName(error));
            }
            // The command line may have added the user already.
            let added = members::add_in(tx, &context.ids, team.id, &email, Some(Role::Owner), now_ms);
            let user = match added {
                Ok(member) => member.user.id,
                Err(AddError::AlreadyMember(_)) => make_owner(tx, team.id, &email)?,
                Err(AddError::TeamNotFound) => return Err(LinkUseError::Invalid),
                Err(AddError::Store(error)) => return Err(error.into()),
            };
            links::consume(tx, &secret)?;
            credentials::set_password(tx, user, hash.clone(), now_ms)?;
            let entry = AuditEntry::new(AuditAction::AccountCreated).with("team_name", team_name.trim());
            audit::record(tx, &context, Actor::User(user).in_team(team.id), entry)?;
            let token = SessionToken::draw(user, session);
            let method = SignInMethod::Password;
            let new = NewSession { token, team: team.id, method, client: client.clone() };
            Ok(start_session(tx, &new, now_ms)?)
        };
        let token = self.context.store.write(create).await?;
        info!(user.id = %token.user, "created the first account");
        Ok(token)
    }

    /// Sets a new password with a link of `ringmail user link`, ends all sessions of the user, and starts a new one.
    ///
    /// # Errors
    /// [`LinkUseError`]; nothing is stored.
    pub async fn set_password_by_link(
        &self,
        secret: &LinkSecret,
        new: NewPassword,
        client: SessionClient,
    ) -> Result<SessionToken, LinkUseError> {
        let link = self.find_link(secret).await?.ok_or(LinkUseError::Invalid)?;
        let LinkPurpose::SignIn { user } = link.purpose else { return Err(LinkUseError::Invalid) };
        let NewPassword { password, removes_second_factor } = new;
        let hash = self.hasher.hash(password).await?;
        let (secret, context, now_ms) = (secret.clone(), self.context.clone(), self.context.now_ms());
        let session: SessionId = self.context.id();
        let set = move |tx: &WriteTx<'_>| {
            if links::find(tx, &secret, now_ms)?.is_none_or(|link| link.purpose != LinkPurpose::SignIn { user }) {
                return Err(LinkUseError::Invalid);
            }
            let Some(team) = teams_of(tx, user)?.into_iter().next() else { return Err(LinkUseError::Invalid) };
            links::consume(tx, &secret)?;
            if removes_second_factor && let Some(row) = credentials::find(tx, user)? {
                credentials::set_totp(tx, user, row, None, now_ms)?;
            }
            credentials::set_password(tx, user, hash.clone(), now_ms)?;
            let entry = AuditEntry::new(AuditAction::UserPasswordSet)
                .with("method", "link")
                .with("removes_second_factor", removes_second_factor);
            audit::record(tx, &context, Actor::User(user).in_team(team.team), entry)?;
            let ended = delete_others(tx, user, None)?;
            let token = SessionToken::draw(user, session);
            let method = SignInMethod::Password;
            let new = NewSession { token, team: team.team, method, client: client.clone() };
            Ok((start_session(tx, &new, now_ms)?, ended))
        };
        let (token, ended) = self.context.store.write::<_, LinkUseError>(set).await?;
        self.revoke(&ended);
        info!(user.id = %user, "set a new password with a link");
        Ok(token)
    }

    /// Starts a session with the link of a development server.
    ///
    /// # Errors
    /// [`LinkUseError`]; nothing is stored.
    pub async fn open_by_link(&self, secret: &LinkSecret, client: SessionClient) -> Result<SessionToken, LinkUseError> {
        let (secret, context, now_ms) = (secret.clone(), self.context.clone(), self.context.now_ms());
        let team = self.context.store.read(|tx| teams::oldest(tx, 1)).await?.pop().ok_or(LinkUseError::Invalid)?;
        let new = self.new_session(None, team.id, SignInMethod::Open, client);
        let open = move |tx: &WriteTx<'_>| {
            if links::find(tx, &secret, now_ms)?.is_none_or(|link| link.purpose != LinkPurpose::Open) {
                return Err(LinkUseError::Invalid);
            }
            links::consume(tx, &secret)?;
            // A development server has no accounts.
            let by = Actor::User(new.token.session.cast()).in_team(new.team);
            let entry = AuditEntry::new(AuditAction::SignInSucceeded).with("method", "link");
            audit::record(tx, &context, by, entry)?;
            Ok(start_session(tx, &new, now_ms)?)
        };
        self.context.store.write(open).await
    }
}

/// Makes a member an owner; returns the user.
fn make_owner(tx: &WriteTx<'_>, team: TeamId, email: &EmailAddress) -> Result<UserId, LinkUseError> {
    match members::change_role_in(tx, team, email, Role::Owner) {
        Ok(member) => Ok(member.user.id),
        Err(MembershipError::Store(error)) => Err(error.into()),
        Err(MembershipError::NotMember | MembershipError::LastOwner) => Err(LinkUseError::Invalid),
    }
}

//! Sign-in: password, then the code of the second factor; or the header of a trusted proxy.
//!
//! The response to an unknown address and its time are those of a wrong password. Between the password and the code,
//! the browser keeps a sealed text that names the user. The server therefore stores nothing for a sign-in that is not
//! complete.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};
use tracing::{debug, info};

use super::accounts::{Accounts, start_session};
use super::credentials::{self, AcceptedCode};
use super::hashing::HasherBusy;
use super::members::teams_of;
use super::password::Password;
use super::session_token::SessionToken;
use super::sessions::{SessionClient, SignInMethod};
use super::store;
use super::throttle::{SignInAttempt, ThrottledAttempt};
use crate::audit::{self, Actor, AuditAction, AuditEntry, AuditTargetKind};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, TeamId, UserId};
use crate::context::Context;
use crate::store::{ReadTx, Reads, StoreError, WriteTx, from_store_error};

/// Time from the password to the code.
pub const CODE_WAIT_MS: i64 = 5 * 60 * 1_000;
/// Associated data of the sealed text between the two.
const PENDING: &[u8] = b"sign-in/code";
/// Length of that text before it is sealed: the user, the end of the wait, and the time of the last change of the
/// credentials.
const PENDING_BYTES: usize = 16 + 8 + 8;

/// Result of a password.
#[derive(Debug)]
pub enum PasswordResult {
    /// The user is signed in.
    SignedIn(SessionToken),
    /// The user has a second factor. The text continues the sign-in.
    NeedsCode(String),
}

/// Result of a code.
#[derive(Debug)]
pub struct CodeResult {
    pub token: SessionToken,
    /// Recovery codes that are left, if a recovery code was used.
    pub recovery_left: Option<usize>,
}

/// Refusal of a sign-in.
#[derive(Debug)]
pub enum SignInError {
    /// The address and the password do not match, or the code is wrong. Failed attempts that are left.
    Wrong {
        attempts_left: u32,
    },
    /// Too many failed attempts. Time until the next one.
    Throttled {
        wait_ms: i64,
    },
    /// The time for the code is over, or the credentials have changed since the password.
    Expired,
    /// The user is in no team, or the address of the proxy is that of no user.
    NoTeam,
    /// Too many sign-ins at the same time.
    Busy,
    Store(StoreError),
}

from_store_error!(SignInError);

impl From<ThrottledAttempt> for SignInError {
    fn from(ThrottledAttempt { wait_ms }: ThrottledAttempt) -> Self {
        Self::Throttled { wait_ms }
    }
}

impl From<HasherBusy> for SignInError {
    fn from(HasherBusy: HasherBusy) -> Self {
        Self::Busy
    }
}

impl Accounts {
    /// Checks an address and a password. `network` names the client for the limit of attempts.
    pub async fn sign_in(
        &self,
        email: &str,
        password: Password,
        network: &str,
        client: SessionClient,
    ) -> Result<PasswordResult, SignInError> {
        let address = EmailAddress::parse(email.trim()).ok();
        let account = match &address {
            Some(address) => address.identity_hash(),
            None => Sha256::digest(email.as_bytes()).into(),
        };
        let attempt = SignInAttempt::Password { account, client: network.to_owned() };
        let attempts_left = self.throttle.begin(&attempt)?;
        let known = address.clone();
        // An attempt that was not checked does not count.
        let checked = self.check_password(address, password).await.inspect_err(|_| self.throttle.undo(&attempt))?;
        let Some(CheckedPassword { user, team, changed_ms, has_totp }) = checked else {
            info!(client.network = network, attempts_left, "refused a sign-in");
            self.record_refusal(known, "password").await;
            return Err(SignInError::Wrong { attempts_left });
        };
        self.throttle.succeed(&attempt);
        if has_totp {
            return Ok(PasswordResult::NeedsCode(self.seal_pending(user, changed_ms)));
        }
        let team = team.ok_or(SignInError::NoTeam)?;
        let new = self.new_session(Some(user), team, SignInMethod::Password, client);
        let (audited, now_ms) = (self.context.clone(), self.context.now_ms());
        let started = self.context.store.write(move |tx| {
            // The password or the membership may have changed since it was read.
            let row = credentials::find(tx, user)?;
            if row.is_none_or(|row| row.changed_ms != changed_ms || row.totp.is_some()) {
                return Err(SignInError::Expired);
            }
            record_sign_in(tx, &audited, (user, team), "password")?;
            Ok(start_session(tx, &new, now_ms)?)
        });
        let token = started.await?;
        info!(user.id = %user, "signed in");
        Ok(PasswordResult::SignedIn(token))
    }

    /// Returns the user of an address whose password matches.
    async fn check_password(
        &self,
        address: Option<EmailAddress>,
        password: Password,
    ) -> Result<Option<CheckedPassword>, SignInError> {
        let read = self.context.store.read::<_, StoreError>(move |tx| {
            let Some(address) = address else { return Ok(None) };
            let Some(user) = store::find_by_address(tx, &address)? else { return Ok(None) };
            let team = first_team(tx, user.id)?;
            Ok(credentials::find(tx, user.id)?.map(|row| (user.id, team, row)))
        });
        let found = read.await?;
        let hash = found.as_ref().map(|(_, _, row)| row.password.clone());
        let is_match = self.hasher.matches(hash, password).await?;
        Ok(found.filter(|_| is_match).map(|(user, team, row)| CheckedPassword {
            user,
            team,
            changed_ms: row.changed_ms,
            has_totp: row.totp.is_some(),
        }))
    }

    /// Checks a code of the second factor, or a recovery code. `pending` is the text of
    /// [`PasswordResult::NeedsCode`].
    pub async fn sign_in_with_code(
        &self,
        pending: &str,
        code: &str,
        network: &str,
        client: SessionClient,
    ) -> Result<CodeResult, SignInError> {
        let (user, changed_ms) = self.open_pending(pending).ok_or(SignInError::Expired)?;
        let account = Sha256::digest(user.as_bytes()).into();
        let attempt = SignInAttempt::Code { account, client: network.to_owned() };
        let attempts_left = self.throttle.begin(&attempt)?;
        let team = self.context.store.read::<_, StoreError>(move |tx| first_team(tx, user));
        let team = team.await.inspect_err(|_| self.throttle.undo(&attempt))?.ok_or(SignInError::NoTeam)?;
        let new = self.new_session(Some(user), team, SignInMethod::Password, client);
        let (context, now_ms, code) = (self.context.clone(), self.context.now_ms(), code.to_owned());
        let accept = move |tx: &WriteTx<'_>| {
            let Some(mut row) = credentials::find(tx, user)?.filter(|row| row.changed_ms == changed_ms) else {
                return Err(SignInError::Expired);
            };
            let Some(totp) = &mut row.totp else { return Err(SignInError::Expired) };
            let Some(accepted) = totp.accept(&context.keyring, user, &code, now_ms)? else {
                return Err(SignInError::Wrong { attempts_left });
            };
            let recovery_left = (accepted == AcceptedCode::Recovery).then(|| totp.recovery_left());
            credentials::put(tx, user, &row)?;
            let method = match accepted {
                AcceptedCode::App => "code",
                AcceptedCode::Recovery => "recovery_code",
            };
            record_sign_in(tx, &context, (user, team), method)?;
            Ok(CodeResult { token: start_session(tx, &new, now_ms)?, recovery_left })
        };
        let accepted = self.context.store.write(accept).await;
        match &accepted {
            Ok(_) => {
                info!(user.id = %user, "signed in with a second factor");
                self.throttle.succeed(&attempt);
            }
            Err(SignInError::Wrong { .. }) => {
                info!(user.id = %user, client.network = network, attempts_left, "refused a code of a sign-in");
                self.record_refused(Some(user), "code").await;
            }
            Err(_) => self.throttle.undo(&attempt),
        }
        accepted
    }

    /// Signs the user with an address in, which a trusted proxy has authenticated.
    ///
    /// # Errors
    /// [`SignInError::NoTeam`] if the address is that of no user with a team.
    pub async fn sign_in_by_proxy(&self, email: &str, client: SessionClient) -> Result<SessionToken, SignInError> {
        let address = EmailAddress::parse(email.trim()).map_err(|_| SignInError::NoTeam)?;
        let read = self.context.store.read::<_, StoreError>(move |tx| {
            let Some(user) = store::find_by_address(tx, &address)? else { return Ok(None) };
            Ok(first_team(tx, user.id)?.map(|team| (user.id, team)))
        });
        let (user, team) = read.await?.ok_or(SignInError::NoTeam)?;
        let new = self.new_session(Some(user), team, SignInMethod::Proxy, client);
        let (audited, now_ms) = (self.context.clone(), self.context.now_ms());
        let start = move |tx: &WriteTx<'_>| {
            record_sign_in(tx, &audited, (user, team), "proxy")?;
            start_session(tx, &new, now_ms)
        };
        let token = self.context.store.write::<_, StoreError>(start).await?;
        info!(user.id = %user, "signed in by a proxy");
        Ok(token)
    }

    /// Records a refused sign-in with an address.
    async fn record_refusal(&self, address: Option<EmailAddress>, method: &'static str) {
        let find = move |tx: &ReadTx| match address {
            Some(address) => store::find_by_address(tx, &address),
            None => Ok(None),
        };
        match self.context.store.read::<_, StoreError>(find).await {
            Ok(found) => self.record_refused(found.map(|user| user.id), method).await,
            Err(error) => debug!(%error, "could not read the user of a refused sign-in: {error}"),
        }
    }

    /// Records a refused sign-in, up to the limit of a minute. The response does not depend on this write. If no user has
    /// the address, the entry does not name it, because it can belong to any person.
    async fn record_refused(&self, user: Option<UserId>, method: &'static str) {
        let is_recorded = self.refusals.admit(user.is_some(), self.context.now_ms());
        let context = self.context.clone();
        let write = move |tx: &WriteTx<'_>| {
            // Above a limit, the transaction is empty: the time of the response must not show whether a user has the address.
            if !is_recorded {
                return Ok(());
            }
            let mut entry = AuditEntry::new(AuditAction::SignInRefused).with("method", method);
            let mut by = Actor::Server.on_server();
            if let Some(id) = user
                && let Some(user) = store::find(tx, id)?
            {
                entry = entry.of(AuditTargetKind::User, id).named(&user.email);
                by = first_team(tx, id)?.map_or(by, |team| Actor::Server.in_team(team));
            }
            audit::record(tx, &context, by, entry)
        };
        if let Err(error) = self.context.store.write::<_, StoreError>(write).await {
            debug!(%error, "could not record a refused sign-in: {error}");
        }
    }

    fn seal_pending(&self, user: UserId, changed_ms: TimestampMs) -> String {
        let ends_ms = self.context.now_ms() + CODE_WAIT_MS;
        let plain = [user.as_bytes().as_slice(), &ends_ms.to_be_bytes(), &changed_ms.to_be_bytes()].concat();
        URL_SAFE_NO_PAD.encode(self.context.keyring.seal(PENDING, &plain))
    }

    /// Returns the user of a sign-in that waits for a code, and the time of the last change of the credentials.
    fn open_pending(&self, pending: &str) -> Option<(UserId, TimestampMs)> {
        // A longer text is not decoded.
        if pending.len() > 4 * PENDING_BYTES {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(pending).ok()?;
        let plain = self.context.keyring.open_sealed(PENDING, &sealed).ok()?;
        let plain: [u8; PENDING_BYTES] = plain.try_into().ok()?;
        let (user, times) = plain.split_at(16);
        let (ends_ms, changed_ms) = times.split_at(8);
        let ends_ms = TimestampMs::from_be_bytes(ends_ms.try_into().ok()?);
        let changed_ms = TimestampMs::from_be_bytes(changed_ms.try_into().ok()?);
        let user = Id::from_bytes(user.try_into().ok()?);
        (self.context.now_ms() < ends_ms).then_some((user, changed_ms))
    }
}

/// Records a sign-in in the team that the session shows.
pub(super) fn record_sign_in(
    tx: &WriteTx<'_>,
    context: &Context,
    (user, team): (UserId, TeamId),
    method: &'static str,
) -> Result<(), StoreError> {
    let entry = AuditEntry::new(AuditAction::SignInSucceeded).with("method", method);
    audit::record(tx, context, Actor::User(user).in_team(team), entry)
}

/// A user whose password matched.
struct CheckedPassword {
    user: UserId,
    team: Option<TeamId>,
    changed_ms: TimestampMs,
    has_totp: bool,
}

/// Returns the oldest team of a user.
pub(super) fn first_team(tx: &impl Reads, user: UserId) -> Result<Option<TeamId>, StoreError> {
    Ok(teams_of(tx, user)?.into_iter().next().map(|membership| membership.team))
}

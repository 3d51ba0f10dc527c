//! Changes that a signed-in user makes to the own account: the password and the second factor.
//!
//! A new secret is shown before it is stored. Until the user enters its first code, the form keeps the secret sealed.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::accounts::Accounts;
use super::credentials::{self, CredentialRow, TotpRow};
use super::hashing::HasherBusy;
use super::model::User;
use super::password::{Password, PasswordHash};
use super::recovery;
use super::sessions::delete_others;
use super::sign_in::first_team;
use super::throttle::{SignInAttempt, ThrottledAttempt};
use super::totp::{SECRET_BYTES, TotpSecret};
use crate::audit::{self, Actor, AuditAction, AuditEntry};
use crate::base::address::EmailAddress;
use crate::base::clock::TimestampMs;
use crate::base::id::{SessionId, UserId};
use crate::base::random;
use crate::context::Context;
use crate::store::{StoreError, WriteTx, from_store_error};

/// Time to enter the first code of a new secret.
const ENROLMENT_MS: i64 = 30 * 60 * 1_000;
/// Longest sealed secret that is decoded.
const SEALED_CHARS_MAX: usize = 256;

/// Error of a change to the own account.
#[derive(Debug)]
pub enum AccountChangeError {
    /// The current password is wrong.
    WrongPassword,
    /// The code is not that of the new secret.
    WrongCode,
    /// The form is too old, or the account has changed since it was shown.
    Expired,
    /// Too many failed attempts. Time until the next one.
    Throttled {
        wait_ms: i64,
    },
    /// Too many passwords are being hashed.
    Busy,
    Store(StoreError),
}

from_store_error!(AccountChangeError);

impl From<ThrottledAttempt> for AccountChangeError {
    fn from(ThrottledAttempt { wait_ms }: ThrottledAttempt) -> Self {
        Self::Throttled { wait_ms }
    }
}

impl From<HasherBusy> for AccountChangeError {
    fn from(HasherBusy: HasherBusy) -> Self {
        Self::Busy
    }
}

/// Credentials of a user, without their secrets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AccountStatus {
    /// Whether the user has a password. A user of a trusted proxy may have none.
    pub has_password: bool,
    /// Recovery codes that are left; `None` without a second factor.
    pub recovery_left: Option<usize>,
}

/// A secret that is not stored yet.
#[derive(Debug)]
pub struct Enrolment {
    pub secret: TotpSecret,
    /// The secret, sealed for the form.
    pub sealed: String,
}

/// Form that turns a second factor on.
#[derive(Debug)]
pub struct EnrolmentForm<'a> {
    /// Text of [`Enrolment::sealed`].
    pub sealed: &'a str,
    /// Code that the app shows.
    pub code: &'a str,
    /// Current password, so that a stolen session cannot keep the user out.
    pub password: Password,
}

impl Accounts {
    /// Returns the credentials that a user has.
    pub async fn status(&self, user: UserId) -> Result<AccountStatus, StoreError> {
        let row = self.context.store.read(move |tx| credentials::find(tx, user)).await?;
        let recovery_left = row.as_ref().and_then(|row| row.totp.as_ref()).map(TotpRow::recovery_left);
        Ok(AccountStatus { has_password: row.is_some(), recovery_left })
    }

    /// Replaces the password of a user, and ends the other sessions of the user.
    pub async fn change_password(
        &self,
        user: &User,
        session: SessionId,
        (current, new): (Password, Password),
        network: &str,
    ) -> Result<(), AccountChangeError> {
        let row = self.confirm_password(user, current, network).await?;
        let hash = self.hasher.hash(new).await?;
        let (id, context, now_ms) = (user.id, self.context.clone(), self.context.now_ms());
        let change = move |tx: &WriteTx<'_>| {
            unchanged(credentials::find(tx, id)?, row.changed_ms)?;
            credentials::set_password(tx, id, hash.clone(), now_ms)?;
            record_own(tx, &context, id, AuditAction::UserPasswordSet)?;
            Ok(delete_others(tx, id, Some(session))?)
        };
        let ended = self.context.store.write::<_, AccountChangeError>(change).await?;
        self.revoke(&ended);
        Ok(())
    }

    /// Returns a new secret for the authenticator app of a user. It is not stored.
    pub fn begin_enrolment(&self, user: UserId) -> Enrolment {
        let bytes: [u8; SECRET_BYTES] = random::bytes();
        let ends_ms = self.context.now_ms() + ENROLMENT_MS;
        let plain = [ends_ms.to_be_bytes().as_slice(), &bytes].concat();
        let sealed = URL_SAFE_NO_PAD.encode(self.context.keyring.seal(&associated_data(user), &plain));
        let secret = TotpSecret::from_bytes(&bytes).expect("the secret has the length of a secret");
        Enrolment { secret, sealed }
    }

    /// Returns the secret of a form; `None` if it is of another user or too old.
    pub fn open_enrolment(&self, user: UserId, sealed: &str) -> Option<TotpSecret> {
        if sealed.len() > SEALED_CHARS_MAX {
            return None;
        }
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let plain = self.context.keyring.open_sealed(&associated_data(user), &sealed).ok()?;
        let (ends_ms, secret) = plain.split_at_checked(8)?;
        let ends_ms = TimestampMs::from_be_bytes(ends_ms.try_into().ok()?);
        (self.context.now_ms() < ends_ms).then(|| TotpSecret::from_bytes(secret))?
    }

    /// Stores a new second factor after its first code. Returns the recovery codes, which cannot be read again. Ends
    /// the other sessions of the user, which began without it.
    pub async fn enable_second_factor(
        &self,
        user: &User,
        session: SessionId,
        form: EnrolmentForm<'_>,
        network: &str,
    ) -> Result<Vec<String>, AccountChangeError> {
        let EnrolmentForm { sealed, code, password } = form;
        let id = user.id;
        let secret = self.open_enrolment(id, sealed).ok_or(AccountChangeError::Expired)?;
        let now_ms = self.context.now_ms();
        let step = secret.matching_step(code, now_ms, None).ok_or(AccountChangeError::WrongCode)?;
        let confirmed = self.confirm_password(user, password, network).await?;
        let (context, codes) = (self.context.clone(), recovery::draw());
        let totp = TotpRow::new(&self.context.keyring, id, &secret, step, &codes);
        let enable = move |tx: &WriteTx<'_>| {
            let row = unchanged(credentials::find(tx, id)?, confirmed.changed_ms)?;
            if row.totp.is_some() {
                return Err(AccountChangeError::Expired);
            }
            credentials::set_totp(tx, id, row, Some(totp.clone()), now_ms)?;
            record_own(tx, &context, id, AuditAction::UserSecondFactorSet)?;
            Ok(delete_others(tx, id, Some(session))?)
        };
        let ended = self.context.store.write::<_, AccountChangeError>(enable).await?;
        self.revoke(&ended);
        Ok(codes)
    }

    /// Removes the second factor of a user.
    pub async fn disable_second_factor(
        &self,
        user: &User,
        password: Password,
        network: &str,
    ) -> Result<(), AccountChangeError> {
        let confirmed = self.confirm_password(user, password, network).await?;
        let (id, context, now_ms) = (user.id, self.context.clone(), self.context.now_ms());
        let disable = move |tx: &WriteTx<'_>| {
            let row = unchanged(credentials::find(tx, id)?, confirmed.changed_ms)?;
            credentials::set_totp(tx, id, row, None, now_ms)?;
            Ok(record_own(tx, &context, id, AuditAction::UserSecondFactorRemoved)?)
        };
        self.context.store.write::<_, AccountChangeError>(disable).await
    }

    /// Replaces the recovery codes of a user. Returns the new ones, which cannot be read again.
    pub async fn replace_recovery_codes(
        &self,
        user: &User,
        password: Password,
        network: &str,
    ) -> Result<Vec<String>, AccountChangeError> {
        let confirmed = self.confirm_password(user, password, network).await?;
        let (id, context, codes) = (user.id, self.context.clone(), recovery::draw());
        let stored = codes.clone();
        let replace = move |tx: &WriteTx<'_>| {
            let mut row = unchanged(credentials::find(tx, id)?, confirmed.changed_ms)?;
            row.totp.as_mut().ok_or(AccountChangeError::Expired)?.set_recovery(id, &stored);
            credentials::put(tx, id, &row)?;
            Ok(record_own(tx, &context, id, AuditAction::UserRecoveryCodesReplaced)?)
        };
        self.context.store.write::<_, AccountChangeError>(replace).await?;
        Ok(codes)
    }

    /// Checks the current password of a signed-in user. Failed attempts count like those of a sign-in.
    async fn confirm_password(
        &self,
        user: &User,
        password: Password,
        network: &str,
    ) -> Result<CredentialRow, AccountChangeError> {
        let account = EmailAddress::parse(&user.email).map_or([0; 32], |address| address.identity_hash());
        let attempt = SignInAttempt::Password { account, client: network.to_owned() };
        self.throttle.begin(&attempt)?;
        let id = user.id;
        let check = async {
            let row = self.context.store.read(move |tx| credentials::find(tx, id)).await?;
            let hash: Option<PasswordHash> = row.as_ref().map(|row| row.password.clone());
            let is_match = self.hasher.matches(hash, password).await?;
            Ok::<_, AccountChangeError>(row.filter(|_| is_match))
        };
        let row =
            check.await.inspect_err(|_| self.throttle.undo(&attempt))?.ok_or(AccountChangeError::WrongPassword)?;
        self.throttle.succeed(&attempt);
        Ok(row)
    }
}

/// Records a change of the own account. An account belongs to all teams of the user; the oldest team has the entry.
fn record_own(tx: &WriteTx<'_>, context: &Context, user: UserId, action: AuditAction) -> Result<(), StoreError> {
    let actor = Actor::User(user);
    let by = first_team(tx, user)?.map_or(actor.on_server(), |team| actor.in_team(team));
    audit::record(tx, context, by, AuditEntry::new(action))
}

/// Returns the credentials if they have not changed since `changed_ms`.
fn unchanged(row: Option<CredentialRow>, changed_ms: TimestampMs) -> Result<CredentialRow, AccountChangeError> {
    row.filter(|row| row.changed_ms == changed_ms).ok_or(AccountChangeError::Expired)
}

/// Returns the associated data of a sealed secret in a form.
fn associated_data(user: UserId) -> Vec<u8> {
    [b"sign-in/enrolment/", user.as_bytes().as_slice()].concat()
}

//! Stored credentials of a user: the hash of the password, and the second factor.

use serde::{Deserialize, Serialize};

use super::password::PasswordHash;
use super::recovery;
use super::totp::TotpSecret;
use crate::base::clock::TimestampMs;
use crate::base::id::{Id, UserId};
use crate::store::{Keyring, Order, Reads, Row, StoreError, WriteTx};
use crate::tables::CREDENTIALS;

/// Credentials of a user on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CredentialRow {
    pub(super) password: PasswordHash,
    /// Time of the last change of the password or of the second factor. A sign-in that began before it cannot continue.
    pub(super) changed_ms: TimestampMs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) totp: Option<TotpRow>,
}
impl Row for CredentialRow {}

impl CredentialRow {
    /// Returns the time to store with a change. It differs from the time of each earlier change, also after a step of
    /// the clock to the past. A sign-in in progress compares it.
    fn next_change(&self, now_ms: TimestampMs) -> TimestampMs {
        now_ms.max(self.changed_ms + 1)
    }
}

/// The second factor of a user on disk.
#[derive(Clone, Serialize, Deserialize)]
pub struct TotpRow {
    /// Secret of the authenticator app, sealed under the master key.
    #[serde(with = "serde_bytes")]
    sealed: Vec<u8>,
    /// Step of the last code that was used. Earlier codes are refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    used_step: Option<u64>,
    /// Hashes of the recovery codes that are left.
    recovery: Vec<[u8; 32]>,
}

impl std::fmt::Debug for TotpRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TotpRow(hidden)")
    }
}

/// A code that was accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AcceptedCode {
    /// The code of an app.
    App,
    /// A recovery code, which cannot be used again.
    Recovery,
}

impl TotpRow {
    /// Returns the row of a new second factor, whose first code was that of `used_step`.
    pub(super) fn new(
        keyring: &Keyring,
        user: UserId,
        secret: &TotpSecret,
        used_step: u64,
        recovery_codes: &[String],
    ) -> Self {
        let sealed = keyring.seal(&associated_data(user), secret.as_bytes());
        Self { sealed, used_step: Some(used_step), recovery: hashes(user, recovery_codes) }
    }

    /// Returns the number of recovery codes that are left.
    pub(super) fn recovery_left(&self) -> usize {
        self.recovery.len()
    }

    /// Replaces the recovery codes.
    pub(super) fn set_recovery(&mut self, user: UserId, codes: &[String]) {
        self.recovery = hashes(user, codes);
    }

    /// Uses a code up; `None` if it is wrong or was used before. The caller stores the row.
    ///
    /// # Errors
    /// [`StoreError::Corrupt`] if the secret cannot be opened.
    pub(super) fn accept(
        &mut self,
        keyring: &Keyring,
        user: UserId,
        code: &str,
        now_ms: TimestampMs,
    ) -> Result<Option<AcceptedCode>, StoreError> {
        if recovery::is_code(code) {
            let hash = recovery::hash(user, code);
            let Some(at) = self.recovery.iter().position(|left| *left == hash) else { return Ok(None) };
            self.recovery.remove(at);
            return Ok(Some(AcceptedCode::Recovery));
        }
        let opened = keyring.open_sealed(&associated_data(user), &self.sealed)?;
        let secret = TotpSecret::from_bytes(&opened)
            .ok_or_else(|| StoreError::Corrupt("the secret of an authenticator app has another length".into()))?;
        let step = secret.matching_step(code, now_ms, self.used_step);
        self.used_step = step.or(self.used_step);
        Ok(step.map(|_| AcceptedCode::App))
    }
}

fn hashes(user: UserId, codes: &[String]) -> Vec<[u8; 32]> {
    codes.iter().map(|code| recovery::hash(user, code)).collect()
}

/// Returns the associated data of a sealed secret.
fn associated_data(user: UserId) -> Vec<u8> {
    [b"totp/", user.as_bytes().as_slice()].concat()
}

/// Returns the credentials of a user; `None` if the user cannot sign in with a password.
pub(super) fn find(tx: &impl Reads, user: UserId) -> Result<Option<CredentialRow>, StoreError> {
    tx.get(&CREDENTIALS, &(user,))
}

/// Returns whether a user has credentials.
pub(super) fn exist(tx: &impl Reads) -> Result<bool, StoreError> {
    Ok(tx.first_key(&CREDENTIALS, ((Id::MIN,), (Id::MAX,)), Order::Ascending)?.is_some())
}

/// Stores credentials.
pub(super) fn put(tx: &WriteTx<'_>, user: UserId, row: &CredentialRow) -> Result<(), StoreError> {
    tx.put(&CREDENTIALS, &(user,), row)
}

/// Stores a new password. Keeps the second factor.
pub(super) fn set_password(
    tx: &WriteTx<'_>,
    user: UserId,
    password: PasswordHash,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    let row = match find(tx, user)? {
        Some(row) => CredentialRow { password, changed_ms: row.next_change(now_ms), totp: row.totp },
        None => CredentialRow { password, changed_ms: now_ms, totp: None },
    };
    put(tx, user, &row)
}

/// Stores a second factor, or its removal.
pub(super) fn set_totp(
    tx: &WriteTx<'_>,
    user: UserId,
    row: CredentialRow,
    totp: Option<TotpRow>,
    now_ms: TimestampMs,
) -> Result<(), StoreError> {
    put(tx, user, &CredentialRow { changed_ms: row.next_change(now_ms), totp, ..row })
}

/// Deletes the credentials of a user.
pub(super) fn delete(tx: &WriteTx<'_>, user: UserId) -> Result<(), StoreError> {
    tx.delete(&CREDENTIALS, &(user,)).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::users::password::Password;

    const NOW_MS: i64 = 1_767_604_353_456;

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890").unwrap()
    }

    #[test]
    fn a_recovery_code_is_accepted_once_and_only_for_its_user() {
        let (_directory, context) = Context::temporary();
        let codes = recovery::draw();
        let mut row = TotpRow::new(&context.keyring, Id::MIN, &secret(), 0, &codes);
        let mut accept = |user, code: &str| row.accept(&context.keyring, user, code, NOW_MS).unwrap();

        assert_eq!(accept(Id::MAX, &codes[3]), None);
        assert_eq!(accept(Id::MIN, &codes[3].to_uppercase()), Some(AcceptedCode::Recovery));
        assert_eq!(accept(Id::MIN, &codes[3]), None);
        assert_eq!(accept(Id::MIN, &codes[4]), Some(AcceptedCode::Recovery));
        assert_eq!(row.recovery_left(), codes.len() - 2);
    }

    #[test]
    fn a_code_of_the_app_is_accepted_once() {
        let (_directory, context) = Context::temporary();
        let mut row = TotpRow::new(&context.keyring, Id::MIN, &secret(), 0, &[]);
        let code = secret().code_at(NOW_MS);
        let mut accept = |code: &str| row.accept(&context.keyring, Id::MIN, code, NOW_MS).unwrap();

        assert_eq!(accept("000000"), None);
        assert_eq!(accept(&code), Some(AcceptedCode::App));
        assert_eq!(accept(&code), None);
        let other = TotpRow::new(&context.keyring, Id::MIN, &secret(), 0, &[]);
        assert!(other.clone().accept(&context.keyring, Id::MAX, &code, NOW_MS).is_err(), "opens for its user only");
    }

    #[tokio::test]
    async fn a_new_password_keeps_the_second_factor() {
        let (_directory, context) = Context::temporary();
        assert!(!context.read(exist));
        let password = || PasswordHash::of(&Password::typed("correct horse battery"));
        let totp = TotpRow::new(&context.keyring, Id::MIN, &secret(), 7, &recovery::draw());
        let row = CredentialRow { password: password(), changed_ms: 1, totp: Some(totp) };
        let (first, second) = (row, password());
        let change = move |tx: &WriteTx<'_>| {
            put(tx, Id::MIN, &first)?;
            set_password(tx, Id::MIN, second.clone(), 2)
        };
        context.commit(change).await;

        let stored = context.read(|tx| find(tx, Id::MIN)).unwrap();

        assert_eq!((stored.changed_ms, stored.totp.map(|totp| totp.used_step)), (2, Some(Some(7))));
        assert!(context.read(exist));
    }

    #[tokio::test]
    async fn each_change_has_another_time_also_after_a_step_of_the_clock() {
        let (_directory, context) = Context::temporary();
        let password = PasswordHash::of(&Password::typed("correct horse battery"));
        let totp = TotpRow::new(&context.keyring, Id::MIN, &secret(), 7, &[]);
        let change = move |tx: &WriteTx<'_>| {
            let mut times = Vec::new();
            for now_ms in [5, 5, 2] {
                set_password(tx, Id::MIN, password.clone(), now_ms)?;
                let row = find(tx, Id::MIN)?.expect("the row is stored");
                times.push(row.changed_ms);
                set_totp(tx, Id::MIN, row, Some(totp.clone()), now_ms)?;
                times.push(find(tx, Id::MIN)?.expect("the row is stored").changed_ms);
            }
            Ok(times)
        };

        let times = context.commit(change).await;

        assert_eq!(times, [5, 6, 7, 8, 9, 10]);
    }
}

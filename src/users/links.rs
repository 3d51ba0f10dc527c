//! One-time links: the first account, the way back in, and the dashboard of `ringmail dev`.
//!
//! The row of a link is stored under the hash of its secret. A new link for a purpose replaces the one before it. The
//! table therefore has at most one row for each user and two more.

use serde::{Deserialize, Serialize};

use super::secret::LinkSecret;
use crate::base::clock::TimestampMs;
use crate::base::id::UserId;
use crate::context::Context;
use crate::store::{Order, Reads, Row, StoreError, WriteTx};
use crate::tables::ONE_TIME_LINKS;

/// Lifetime of a link to set up the first account or to get back in.
pub const LINK_LIFETIME_MS: i64 = 30 * 60 * 1_000;
/// Lifetime of the link of a development server, which is printed when the server starts and opened later.
pub const OPEN_LINK_LIFETIME_MS: i64 = 24 * 60 * 60 * 1_000;

const FIRST: [u8; 32] = [0; 32];
const LAST: [u8; 32] = [0xff; 32];

/// Action that a link permits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LinkPurpose {
    /// To create the first account.
    Setup,
    /// To set a new password of this user, and to sign in.
    SignIn { user: UserId },
    /// To open the dashboard of a development server without an account.
    Open,
}

impl LinkPurpose {
    const fn lifetime_ms(self) -> i64 {
        match self {
            Self::Setup | Self::SignIn { .. } => LINK_LIFETIME_MS,
            Self::Open => OPEN_LINK_LIFETIME_MS,
        }
    }
}

/// A one-time link on disk.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct OneTimeLinkRow {
    pub(super) purpose: LinkPurpose,
    pub(super) expires_ms: TimestampMs,
}
impl Row for OneTimeLinkRow {}

/// A new link. Only this value has its secret.
#[derive(Clone, Debug)]
pub struct OneTimeLink {
    pub secret: LinkSecret,
    pub purpose: LinkPurpose,
    pub expires_ms: TimestampMs,
}

/// A link that has not been used and has not expired.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValidLink {
    pub purpose: LinkPurpose,
    pub expires_ms: TimestampMs,
}

/// Stores a link, and deletes the expired links and the earlier link of the purpose.
pub(super) fn issue(
    tx: &WriteTx<'_>,
    secret: LinkSecret,
    purpose: LinkPurpose,
    now_ms: TimestampMs,
) -> Result<OneTimeLink, StoreError> {
    delete_where(tx, |row| row.purpose == purpose || row.expires_ms <= now_ms)?;
    let expires_ms = now_ms + purpose.lifetime_ms();
    tx.put(&ONE_TIME_LINKS, &(secret.hash(),), &OneTimeLinkRow { purpose, expires_ms })?;
    Ok(OneTimeLink { secret, purpose, expires_ms })
}

/// Returns the link with a secret; `None` if it does not exist, was used or has expired.
pub(super) fn find(tx: &impl Reads, secret: &LinkSecret, now_ms: TimestampMs) -> Result<Option<ValidLink>, StoreError> {
    let row = tx.get(&ONE_TIME_LINKS, &(secret.hash(),))?;
    // After a step of the clock to the past, a link is not valid for longer than its lifetime.
    let valid = row.filter(|row| (now_ms + 1..=now_ms + row.purpose.lifetime_ms()).contains(&row.expires_ms));
    Ok(valid.map(|OneTimeLinkRow { purpose, expires_ms }| ValidLink { purpose, expires_ms }))
}

/// Deletes the link with a secret.
pub(super) fn consume(tx: &WriteTx<'_>, secret: &LinkSecret) -> Result<(), StoreError> {
    tx.delete(&ONE_TIME_LINKS, &(secret.hash(),)).map(drop)
}

/// Deletes the links of a user.
pub(super) fn delete_of_user(tx: &WriteTx<'_>, user: UserId) -> Result<(), StoreError> {
    delete_where(tx, |row| row.purpose == LinkPurpose::SignIn { user })
}

/// Deletes the expired links.
pub(super) async fn purge(context: &Context) -> Result<(), StoreError> {
    let now_ms = context.now_ms();
    context.store.write_bulk(move |tx| delete_where(tx, |row| row.expires_ms <= now_ms)).await
}

fn delete_where(tx: &WriteTx<'_>, is_deleted: impl Fn(&OneTimeLinkRow) -> bool) -> Result<(), StoreError> {
    let deleted = tx.collect(&ONE_TIME_LINKS, ((FIRST,), (LAST,)), Order::Ascending, |key, row| {
        Ok(row.valid().is_some_and(|row| is_deleted(&row)).then_some(key))
    })?;
    for key in &deleted {
        tx.delete(&ONE_TIME_LINKS, key)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::base::id::Id;

    async fn issue_one(context: &Context, purpose: LinkPurpose) -> LinkSecret {
        let now_ms = context.now_ms();
        context.commit(move |tx| issue(tx, LinkSecret::draw(), purpose, now_ms)).await.secret
    }

    fn purpose_of(context: &Context, secret: &LinkSecret) -> Option<LinkPurpose> {
        context.read(|tx| find(tx, secret, context.now_ms())).map(|link| link.purpose)
    }

    #[tokio::test]
    async fn a_link_is_valid_for_its_lifetime() {
        let (_directory, context) = Context::temporary();
        for purpose in [LinkPurpose::Setup, LinkPurpose::SignIn { user: Id::MIN }, LinkPurpose::Open] {
            let secret = issue_one(&context, purpose).await;
            let lifetime = Duration::from_millis(purpose.lifetime_ms().unsigned_abs());

            context.clock.advance(lifetime - Duration::from_millis(1));
            assert_eq!(purpose_of(&context, &secret), Some(purpose));
            context.clock.advance(Duration::from_millis(1));
            assert_eq!(purpose_of(&context, &secret), None);
        }
        purge(&context).await.unwrap();
        assert_eq!(context.keys(&ONE_TIME_LINKS).len(), 0);
    }

    #[tokio::test]
    async fn a_new_link_replaces_only_the_link_of_its_purpose() {
        let (_directory, context) = Context::temporary();
        let of = |user| LinkPurpose::SignIn { user };
        let first = issue_one(&context, of(Id::MIN)).await;
        let other = issue_one(&context, of(Id::MAX)).await;

        let second = issue_one(&context, of(Id::MIN)).await;

        assert_eq!(purpose_of(&context, &first), None);
        assert_eq!(purpose_of(&context, &second), Some(of(Id::MIN)));
        assert_eq!(purpose_of(&context, &other), Some(of(Id::MAX)));
    }

    #[tokio::test]
    async fn a_consumed_link_and_the_links_of_a_deleted_user_are_not_valid() {
        let (_directory, context) = Context::temporary();
        let open = issue_one(&context, LinkPurpose::Open).await;
        let sign_in = issue_one(&context, LinkPurpose::SignIn { user: Id::MIN }).await;

        let used = open.clone();
        let delete = move |tx: &WriteTx<'_>| {
            consume(tx, &used)?;
            delete_of_user(tx, Id::MIN)
        };
        context.commit(delete).await;

        assert_eq!(purpose_of(&context, &open), None);
        assert_eq!(purpose_of(&context, &sign_in), None);
    }
}

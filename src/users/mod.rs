//! Users of the dashboard, their roles in teams, and the ways to sign in.
//!
//! Reading order:
//! - `model.rs`: types;
//! - `store.rs`: rows of users and their index;
//! - `members/`: use cases of memberships;
//! - `secret.rs`, `links.rs`: one-time links;
//! - `password.rs`, `hashing.rs`: passwords;
//! - `base32.rs`, `totp.rs`, `recovery.rs`: second factor;
//! - `credentials.rs`: rows of passwords and second factors;
//! - `session_token.rs`, `sessions.rs`: sessions;
//! - `accounts.rs`: the service, and the check of a session;
//! - `throttle.rs`: limits of failed attempts;
//! - `sign_in.rs`, `setup.rs`: the sign-in, and the use of links;
//! - `second_factor.rs`: changes to the own account;
//! - `retention.rs`: deletion of expired sessions and links.
//!
//! Invariants:
//! - An address is one user, in any number of teams.
//! - The first membership creates the user, and the removal of the last one deletes it with its credentials, its
//!   sessions and its links.
//! - A team that has an owner keeps at least one owner.
//! - The store has no secret in clear text: passwords, links, sessions and recovery codes are hashed, and the secret of
//!   an authenticator app is sealed.
//! - The role of a user is read for each request, so that a change has an effect at once in every process.

mod accounts;
mod base32;
mod credentials;
mod hashing;
mod links;
mod members;
mod model;
mod password;
mod recovery;
mod retention;
mod second_factor;
mod secret;
mod session_token;
mod sessions;
mod setup;
mod sign_in;
mod store;
#[cfg(test)]
mod tests;
mod throttle;
mod totp;

pub use accounts::{Accounts, SessionWatch, SignedIn};
pub use credentials::{CredentialRow, TotpRow};
pub use links::{LINK_LIFETIME_MS, LinkPurpose, OPEN_LINK_LIFETIME_MS, OneTimeLink, OneTimeLinkRow, ValidLink};
pub(crate) use members::remove_team;
pub use members::{AddError, MembershipError, add, are_members, change_role, list, owners, remove};
pub use model::{Member, Role, TeamMembership, User};
pub use password::{PASSWORD_BYTES_MAX, PASSWORD_CHARS_MIN, Password, PasswordHash, PasswordRefusal};
pub use recovery::RECOVERY_CODES;
pub use retention::purge;
pub use second_factor::{AccountChangeError, AccountStatus, Enrolment, EnrolmentForm};
pub use secret::LinkSecret;
pub use session_token::SessionToken;
pub use sessions::{SESSION_IDLE_MS, SESSION_LIFETIME_MS, SessionClient, SessionRow, SignInMethod, UserSession};
pub use setup::{FirstAccount, LinkUseError, LinkUser, NewPassword};
pub use sign_in::{CODE_WAIT_MS, CodeResult, PasswordResult, SignInError};
pub use store::{MembershipRow, UserRow};
pub use totp::TotpSecret;

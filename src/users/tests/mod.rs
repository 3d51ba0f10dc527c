//! Tests of accounts: setup, sign-in, second factor, links and sessions.
//!
//! `watches.rs`: the end of long responses with their session.

mod watches;

use std::time::Duration;

use super::*;
use crate::audit::{Actor, AuditFilter, AuditLog};
use crate::base::address::EmailAddress;
use crate::base::id::TeamId;
use crate::context::Context;
use crate::teams;

const EMAIL: &str = "ada@example.com";
const PASSWORD: &str = "correct horse battery";
const NETWORK: &str = "192.0.2.1";

struct Instance {
    context: Context,
    accounts: Accounts,
    team: TeamId,
    _directory: tempfile::TempDir,
}

fn address(text: &str) -> EmailAddress {
    EmailAddress::parse(text).unwrap()
}

fn client() -> SessionClient {
    SessionClient { ip: "192.0.2.1".into(), user_agent: "Browser".into() }
}

fn new_password(text: &str) -> NewPassword {
    NewPassword { password: Password::typed(text), removes_second_factor: false }
}

impl Instance {
    /// Returns an instance without an account.
    async fn empty() -> Self {
        let (directory, context) = Context::temporary();
        let team = teams::ensure_any(&context).await.unwrap().id;
        Self { accounts: Accounts::new(context.clone()), context, team, _directory: directory }
    }

    /// Returns an instance with the account of [`EMAIL`], and its first session.
    async fn set_up() -> (Self, SessionToken) {
        let instance = Self::empty().await;
        let link = instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().unwrap();
        let token = instance.create_first_account(&link.secret).await.unwrap();
        (instance, token)
    }

    async fn create_first_account(&self, secret: &LinkSecret) -> Result<SessionToken, LinkUseError> {
        let account = FirstAccount {
            email: address(EMAIL),
            password: Password::new(PASSWORD, EMAIL).unwrap(),
            team_name: "Acme".into(),
        };
        self.accounts.create_first_account(secret, account, client()).await
    }

    async fn sign_in(&self, email: &str, password: &str) -> Result<PasswordResult, SignInError> {
        self.accounts.sign_in(email, Password::typed(password), NETWORK, client()).await
    }

    async fn signed_in(&self, token: &SessionToken) -> Option<SignedIn> {
        self.accounts.authenticate(token, &client()).await.unwrap()
    }

    /// Turns the second factor of the user on; returns its secret and the recovery codes.
    async fn enable_second_factor(&self, token: &SessionToken) -> (TotpSecret, Vec<String>) {
        let signed_in = self.signed_in(token).await.unwrap();
        let (user, session) = (signed_in.user.unwrap(), signed_in.session.id);
        let Enrolment { secret, sealed } = self.accounts.begin_enrolment(user.id);
        let code = secret.code_at(self.context.now_ms());
        let form = |code, password| EnrolmentForm { sealed: &sealed, code, password: Password::typed(password) };
        let enable = |code, password| self.accounts.enable_second_factor(&user, session, form(code, password), NETWORK);
        assert!(matches!(enable("12345", PASSWORD).await, Err(AccountChangeError::WrongCode)));
        assert!(matches!(enable(&code, "wrong").await, Err(AccountChangeError::WrongPassword)));
        let codes = enable(&code, PASSWORD).await.unwrap();
        // The code of the enrolment cannot be used again.
        self.context.clock.advance(Duration::from_secs(30));
        (secret, codes)
    }

    async fn pending(&self) -> String {
        match self.sign_in(EMAIL, PASSWORD).await.unwrap() {
            PasswordResult::NeedsCode(pending) => pending,
            PasswordResult::SignedIn(_) => panic!("the user has a second factor"),
        }
    }

    async fn enter(&self, pending: &str, code: &str) -> Result<CodeResult, SignInError> {
        self.accounts.sign_in_with_code(pending, code, NETWORK, client()).await
    }
}

#[tokio::test]
async fn a_setup_link_creates_one_owner_and_is_used_up() {
    let instance = Instance::empty().await;
    assert!(instance.accounts.needs_setup().await.unwrap());
    let link = instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().unwrap();

    let token = instance.create_first_account(&link.secret).await.unwrap();

    let signed_in = instance.signed_in(&token).await.unwrap();
    assert_eq!((signed_in.role, signed_in.team), (Role::Owner, instance.team));
    assert_eq!(signed_in.user.unwrap().email, EMAIL);
    let team = instance.team;
    let stored = instance.context.read(|tx| teams::find(tx, team));
    assert_eq!(stored.unwrap().name, "Acme");
    assert!(matches!(instance.create_first_account(&link.secret).await, Err(LinkUseError::Invalid)));
    assert!(!instance.accounts.needs_setup().await.unwrap());
    assert!(instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().is_none());
}

#[tokio::test]
async fn the_first_account_can_be_that_of_an_existing_member() {
    let instance = Instance::empty().await;
    let member = add(&instance.context, instance.team, address(EMAIL), Some(Role::Member)).await.unwrap();
    let link = instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().unwrap();

    let token = instance.create_first_account(&link.secret).await.unwrap();

    let signed_in = instance.signed_in(&token).await.unwrap();
    assert_eq!((signed_in.user, signed_in.role), (Some(member.user), Role::Owner));
}

#[tokio::test]
async fn an_expired_setup_link_creates_no_account() {
    let instance = Instance::empty().await;
    let link = instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().unwrap();
    instance.context.clock.advance(Duration::from_millis(LINK_LIFETIME_MS.unsigned_abs()));

    assert!(matches!(instance.create_first_account(&link.secret).await, Err(LinkUseError::Invalid)));
    assert!(instance.accounts.needs_setup().await.unwrap());
}

#[tokio::test]
async fn a_password_signs_in_in_any_case_of_the_address() {
    let (instance, _) = Instance::set_up().await;

    let PasswordResult::SignedIn(token) = instance.sign_in(" ADA@example.com ", PASSWORD).await.unwrap() else {
        panic!("the user has no second factor");
    };

    assert!(instance.signed_in(&token).await.is_some());
}

#[tokio::test]
async fn a_wrong_password_and_an_unknown_address_have_the_same_error() {
    let (instance, _) = Instance::set_up().await;
    add(&instance.context, instance.team, address("new@example.com"), None).await.unwrap();

    for (email, password) in
        [(EMAIL, "wrong"), ("nobody@example.com", PASSWORD), ("new@example.com", ""), ("not an address", PASSWORD)]
    {
        let refused = instance.sign_in(email, password).await.unwrap_err();
        assert!(matches!(refused, SignInError::Wrong { attempts_left: 4 }), "{email}: {refused:?}");
    }
}

#[tokio::test]
async fn five_wrong_passwords_lock_the_client_out_for_15_minutes() {
    let (instance, _) = Instance::set_up().await;
    for _ in 0..5 {
        assert!(matches!(instance.sign_in(EMAIL, "wrong").await, Err(SignInError::Wrong { .. })));
    }

    assert!(matches!(instance.sign_in(EMAIL, PASSWORD).await, Err(SignInError::Throttled { .. })));
    let elsewhere = instance.accounts.sign_in(EMAIL, Password::typed(PASSWORD), "198.51.100.1", client()).await;
    assert!(matches!(elsewhere, Ok(PasswordResult::SignedIn(_))));
    instance.context.clock.advance(Duration::from_secs(15 * 60));
    assert!(instance.sign_in(EMAIL, PASSWORD).await.is_ok());
}

#[tokio::test]
async fn a_second_factor_needs_a_code_that_is_valid_once() {
    let (instance, first) = Instance::set_up().await;
    let (secret, _) = instance.enable_second_factor(&first).await;
    let code = secret.code_at(instance.context.now_ms());

    let pending = instance.pending().await;
    let wrong = if code == "000000" { "000001" } else { "000000" };
    assert!(matches!(instance.enter(&pending, wrong).await, Err(SignInError::Wrong { attempts_left: 4 })));
    let entered = instance.enter(&pending, &code).await.unwrap();
    assert!(instance.signed_in(&entered.token).await.is_some() && entered.recovery_left.is_none());

    assert!(matches!(instance.enter(&pending, &code).await, Err(SignInError::Wrong { .. })), "the code is used up");
}

#[tokio::test]
async fn a_recovery_code_replaces_the_app_once() {
    let (instance, first) = Instance::set_up().await;
    let (_, codes) = instance.enable_second_factor(&first).await;
    let pending = instance.pending().await;

    assert_eq!(instance.enter(&pending, &codes[0]).await.unwrap().recovery_left, Some(RECOVERY_CODES - 1));

    assert!(matches!(instance.enter(&pending, &codes[0]).await, Err(SignInError::Wrong { .. })));
}

#[tokio::test]
async fn the_wait_for_a_code_ends_after_five_minutes_and_with_a_change_of_the_credentials() {
    let (instance, first) = Instance::set_up().await;
    let (secret, codes) = instance.enable_second_factor(&first).await;
    let pending = instance.pending().await;
    instance.context.clock.advance(Duration::from_millis(CODE_WAIT_MS.unsigned_abs()));
    let code = secret.code_at(instance.context.now_ms());
    assert!(matches!(instance.enter(&pending, &code).await, Err(SignInError::Expired)));

    let pending = instance.pending().await;
    let link = instance.accounts.issue_user_link(Actor::CommandLine, address(EMAIL)).await.unwrap().unwrap();
    let changed = instance.accounts.set_password_by_link(&link.secret, new_password("another long password"), client());
    changed.await.unwrap();

    assert!(matches!(instance.enter(&pending, &codes[0]).await, Err(SignInError::Expired)));
    for other in ["", "AAAA", &"A".repeat(82), &"A".repeat(1_000)] {
        assert!(matches!(instance.enter(other, &codes[0]).await, Err(SignInError::Expired)), "{other}");
    }
}

#[tokio::test]
async fn a_link_sets_a_password_once_and_ends_the_sessions_of_the_user() {
    let (instance, first) = Instance::set_up().await;
    instance.enable_second_factor(&first).await;
    let unknown = instance.accounts.issue_user_link(Actor::CommandLine, address("nobody@example.com")).await.unwrap();
    assert!(unknown.is_none());
    let link = instance.accounts.issue_user_link(Actor::CommandLine, address(EMAIL)).await.unwrap().unwrap();
    let found = instance.accounts.find_link(&link.secret).await.unwrap().unwrap();
    assert!(instance.accounts.link_user(found).await.unwrap().unwrap().has_second_factor);

    let new = NewPassword { removes_second_factor: true, ..new_password("another long password") };
    let token = instance.accounts.set_password_by_link(&link.secret, new.clone(), client()).await.unwrap();

    assert!(instance.signed_in(&token).await.is_some() && instance.signed_in(&first).await.is_none());
    assert!(matches!(instance.sign_in(EMAIL, PASSWORD).await, Err(SignInError::Wrong { .. })));
    let signed_in = instance.sign_in(EMAIL, "another long password").await;
    assert!(matches!(signed_in, Ok(PasswordResult::SignedIn(_))), "the second factor is removed");
    let again = instance.accounts.set_password_by_link(&link.secret, new, client()).await;
    assert!(matches!(again, Err(LinkUseError::Invalid)));
}

#[tokio::test]
async fn a_changed_password_ends_the_other_sessions() {
    let (instance, first) = Instance::set_up().await;
    let PasswordResult::SignedIn(second) = instance.sign_in(EMAIL, PASSWORD).await.unwrap() else {
        panic!("the user has no second factor");
    };
    let signed_in = instance.signed_in(&second).await.unwrap();
    let user = signed_in.user.clone().unwrap();
    let id = signed_in.session.id;
    let change = |current: &str| {
        let passwords = (Password::typed(current), Password::typed("another long password"));
        instance.accounts.change_password(&user, id, passwords, NETWORK)
    };

    assert!(matches!(change("wrong").await, Err(AccountChangeError::WrongPassword)));
    change(PASSWORD).await.unwrap();

    assert!(instance.signed_in(&first).await.is_none() && instance.signed_in(&second).await.is_some());
    assert!(matches!(instance.sign_in(EMAIL, PASSWORD).await, Err(SignInError::Wrong { .. })));
}

#[tokio::test]
async fn the_second_factor_is_removed_and_its_codes_are_replaced_only_with_the_password() {
    let (instance, first) = Instance::set_up().await;
    let (_, codes) = instance.enable_second_factor(&first).await;
    let user = instance.signed_in(&first).await.unwrap().user.unwrap();
    let accounts = &instance.accounts;
    let wrong = || Password::typed("wrong");

    let refused = accounts.replace_recovery_codes(&user, wrong(), NETWORK).await;
    assert!(matches!(refused, Err(AccountChangeError::WrongPassword)));
    let new = accounts.replace_recovery_codes(&user, Password::typed(PASSWORD), NETWORK).await.unwrap();
    let pending = instance.pending().await;
    assert!(matches!(instance.enter(&pending, &codes[1]).await, Err(SignInError::Wrong { .. })));
    instance.enter(&pending, &new[1]).await.unwrap();
    assert_eq!(accounts.status(user.id).await.unwrap().recovery_left, Some(RECOVERY_CODES - 1));

    let refused = accounts.disable_second_factor(&user, wrong(), NETWORK).await;
    assert!(matches!(refused, Err(AccountChangeError::WrongPassword)));
    accounts.disable_second_factor(&user, Password::typed(PASSWORD), NETWORK).await.unwrap();
    assert!(matches!(instance.sign_in(EMAIL, PASSWORD).await, Ok(PasswordResult::SignedIn(_))));
}

#[tokio::test]
async fn an_enrolment_is_of_its_user_and_ends() {
    let (instance, first) = Instance::set_up().await;
    let user = instance.signed_in(&first).await.unwrap().user.unwrap().id;
    let Enrolment { secret, sealed } = instance.accounts.begin_enrolment(user);

    assert_eq!(instance.accounts.open_enrolment(user, &sealed), Some(secret));
    assert_eq!(instance.accounts.open_enrolment(instance.context.id(), &sealed), None);
    assert_eq!(instance.accounts.open_enrolment(user, "x"), None);
    instance.context.clock.advance(Duration::from_secs(30 * 60));
    assert_eq!(instance.accounts.open_enrolment(user, &sealed), None);
}

#[tokio::test]
async fn a_change_of_the_role_and_the_end_of_the_membership_have_an_effect_at_once() {
    let (instance, _) = Instance::set_up().await;
    let (context, team) = (&instance.context, instance.team);
    add(context, team, address("bob@example.com"), Some(Role::Viewer)).await.unwrap();
    let token = instance.accounts.sign_in_by_proxy("bob@example.com", client()).await.unwrap();
    assert_eq!(instance.signed_in(&token).await.unwrap().role, Role::Viewer);

    change_role(context, team, address("bob@example.com"), Role::Admin).await.unwrap();
    assert_eq!(instance.signed_in(&token).await.unwrap().role, Role::Admin);
    remove(context, team, address("bob@example.com")).await.unwrap();

    assert!(instance.signed_in(&token).await.is_none());
    let gone = instance.accounts.sign_in_by_proxy("bob@example.com", client()).await;
    assert!(matches!(gone, Err(SignInError::NoTeam)));
}

#[tokio::test]
async fn a_user_who_leaves_one_of_two_teams_keeps_the_sessions_of_the_other() {
    let (instance, _) = Instance::set_up().await;
    let other = teams::create(&instance.context, "Other").await.unwrap().unwrap().id;
    add(&instance.context, instance.team, address("bob@example.com"), None).await.unwrap();
    add(&instance.context, other, address("bob@example.com"), Some(Role::Viewer)).await.unwrap();
    let here = instance.accounts.sign_in_by_proxy("bob@example.com", client()).await.unwrap();
    let there = instance.accounts.sign_in_by_proxy("bob@example.com", client()).await.unwrap();
    let signed_in = instance.signed_in(&there).await.unwrap();
    assert_eq!(signed_in.team, instance.team);
    let unknown = instance.accounts.choose_team(&there, &signed_in, TeamId::MAX).await.unwrap();
    assert!(unknown.is_none());
    instance.accounts.choose_team(&there, &signed_in, other).await.unwrap().unwrap();

    remove(&instance.context, instance.team, address("bob@example.com")).await.unwrap();

    assert!(instance.signed_in(&here).await.is_none());
    let left = instance.signed_in(&there).await.unwrap();
    assert_eq!((left.team, left.role), (other, Role::Viewer));
    assert_eq!(instance.accounts.teams(&left).await.unwrap().len(), 1);
}

#[tokio::test]
async fn the_use_of_a_session_is_recorded_at_most_every_five_minutes() {
    let (instance, token) = Instance::set_up().await;
    let started_ms = instance.context.now_ms();
    let elsewhere = SessionClient { ip: "198.51.100.7".into(), ..client() };
    let stored = async || instance.accounts.sessions_of(&instance.signed_in(&token).await.unwrap()).await.unwrap();

    instance.context.clock.advance(Duration::from_secs(299));
    instance.accounts.authenticate(&token, &elsewhere).await.unwrap();
    assert_eq!((stored().await[0].last_used_ms, stored().await[0].client.ip.as_str()), (started_ms, "192.0.2.1"));
    instance.context.clock.advance(Duration::from_secs(1));
    instance.accounts.authenticate(&token, &elsewhere).await.unwrap();

    let stored = stored().await;
    assert_eq!((stored[0].last_used_ms, stored[0].client.ip.as_str()), (started_ms + 300_000, "198.51.100.7"));
}

#[tokio::test]
async fn a_development_server_has_sessions_without_accounts() {
    let instance = Instance::empty().await;
    let link = instance.accounts.issue_open_link().await.unwrap();

    let token = instance.accounts.open_by_link(&link.secret, client()).await.unwrap();
    let filter = AuditFilter { action: Some("sign_in.succeeded".into()), ..AuditFilter::default() };
    let entries = AuditLog::new(instance.context.clone()).list(instance.team, filter, None, 10).await.unwrap();
    assert_eq!(entries.rows.len(), 1);

    let signed_in = instance.signed_in(&token).await.unwrap();
    assert_eq!((signed_in.user.is_none(), signed_in.role, signed_in.team), (true, Role::Owner, instance.team));
    let again = instance.accounts.open_by_link(&link.secret, client()).await;
    assert!(matches!(again, Err(LinkUseError::Invalid)));
    let setup = instance.accounts.issue_setup_link(Actor::CommandLine).await.unwrap().unwrap();
    let other_purpose = instance.accounts.open_by_link(&setup.secret, client()).await;
    assert!(matches!(other_purpose, Err(LinkUseError::Invalid)));
}

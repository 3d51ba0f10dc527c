//! Users and their roles.

use clap::Subcommand;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use serde::{Deserialize, Serialize};

use super::access;
use super::pages::page_after;
use super::request::{AdminServices, VerbResult};
use super::response::{AdminError, Rows};
use crate::audit::Actor;
use crate::base::address::EmailAddress;
use crate::base::clock::to_iso;
use crate::base::id::{TeamId, UserId};
use crate::users::{self, AddError, Member, MembershipError, Role, User};

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum UserVerb {
    /// Add a user to a team.
    #[serde(rename = "user_create")]
    Create {
        /// Address of the user.
        email: String,
        /// Role of the user [default: owner if the team has none, otherwise member].
        #[arg(long, value_parser = roles())]
        role: Option<Role>,
    },
    /// List the users of a team.
    #[serde(rename = "user_list")]
    List {
        #[arg(skip)]
        after: Option<UserId>,
    },
    /// Change the role of a user in a team.
    #[serde(rename = "user_role")]
    Role {
        /// Address of the user.
        email: String,
        /// New role.
        #[arg(value_parser = roles())]
        role: Role,
    },
    /// Print a link with which a user sets a new password and signs in. It works once, for 30 minutes.
    #[serde(rename = "user_link")]
    Link {
        /// Address of the user.
        email: String,
    },
    /// Remove a user from a team. Removal from the last team deletes the user.
    #[serde(rename = "user_remove")]
    Remove {
        /// Address of the user.
        email: String,
    },
}

fn roles() -> impl TypedValueParser<Value = Role> {
    let roles = [
        PossibleValue::new("owner").help("Can do everything and receives notices about problems"),
        PossibleValue::new("admin").help("Can do everything except change the team itself"),
        PossibleValue::new("member").help("Can read and send"),
        PossibleValue::new("viewer").help("Can read"),
    ];
    PossibleValuesParser::new(roles).map(|word| Role::parse(&word).expect("every value is a role"))
}

/// A user as a member of a team.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct UserView {
    pub id: UserId,
    pub email: String,
    pub role: String,
    /// Time of joining the team.
    pub since: String,
}

impl From<Member> for UserView {
    fn from(member: Member) -> Self {
        let Member { user: User { id, email, created_ms: _ }, role, since_ms } = member;
        Self { id, email, role: role.as_str().to_owned(), since: to_iso(since_ms) }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: UserVerb) -> VerbResult {
    let (context, by) = (&services.context, Actor::CommandLine.in_team(team));
    let (changed, email) = match verb {
        UserVerb::List { after } => {
            let query = page_after(after);
            let page = context.store.read(move |tx| users::list(tx, team, query)).await?;
            return Ok(Rows::of(page, UserView::from).into());
        }
        UserVerb::Create { email, role } => {
            let member = users::add(context, by, address(&email)?, role).await;
            return member.map(|member| UserView::from(member).into()).map_err(|error| add_error(error, &email));
        }
        UserVerb::Link { email } => return access::user_link(services, &email).await,
        UserVerb::Role { email, role } => (users::change_role(context, by, address(&email)?, role).await, email),
        UserVerb::Remove { email } => (users::remove(context, by, address(&email)?).await, email),
    };
    let member = changed.map_err(|error| membership_error(error, &email))?;
    services.accounts.memberships_changed();
    Ok(UserView::from(member).into())
}

pub(super) fn address(text: &str) -> Result<EmailAddress, AdminError> {
    EmailAddress::parse(text).map_err(|error| AdminError::invalid(format!("`{text}` is not an email address: {error}")))
}

fn add_error(error: AddError, email: &str) -> AdminError {
    match error {
        AddError::AlreadyMember(role) => AdminError::conflict(format!(
            "{email} is already a member of the team, as {}; change the role with `ringmail user role`",
            role.as_str()
        )),
        AddError::TeamNotFound => AdminError::not_found("the team has just been deleted"),
        AddError::Store(error) => error.into(),
    }
}

fn membership_error(error: MembershipError, email: &str) -> AdminError {
    match error {
        MembershipError::NotMember => AdminError::not_found(format!("{email} is not a member of the team")),
        MembershipError::LastOwner => AdminError::conflict(format!(
            "{email} is the team's last owner; first make another user an owner with `ringmail user role EMAIL owner`"
        )),
        MembershipError::Store(error) => error.into(),
    }
}

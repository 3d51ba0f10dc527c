//! Users and their roles.

use super::super::response::{AdminError, Response, Rows, UserView};
use super::super::services::AdminServices;
use super::{Answer, page_after, teams, time};
use crate::base::address::EmailAddress;
use crate::base::id::UserId;
use crate::users::{self, AddError, Member, MembershipError, Role, User};

pub(super) async fn create(services: &AdminServices, team: Option<String>, email: &str, role: Option<Role>) -> Answer {
    let address = address(email)?;
    let team = teams::chosen(services, team).await?;
    match users::add(&services.context, team, address, role).await {
        Ok(member) => Ok(Response::User(view(member))),
        Err(AddError::AlreadyMember(role)) => Err(AdminError::conflict(format!(
            "{email} belongs to the team already, as {}; change that with `ringmail user role`",
            role.as_str()
        ))),
        Err(AddError::TeamNotFound) => Err(AdminError::not_found("the team has just been removed")),
        Err(AddError::Store(error)) => Err(error.into()),
    }
}

pub(super) async fn list(services: &AdminServices, team: Option<String>, after: Option<UserId>) -> Answer {
    let team = teams::chosen(services, team).await?;
    let query = page_after(after);
    let page = services.context.store.read(move |tx| users::list(tx, team, query)).await?;
    Ok(Response::Users(Rows { data: page.rows.into_iter().map(view).collect(), has_more: page.has_more }))
}

pub(super) async fn change_role(services: &AdminServices, team: Option<String>, email: &str, role: Role) -> Answer {
    let address = address(email)?;
    let team = teams::chosen(services, team).await?;
    let changed = users::change_role(&services.context, team, address, role).await;
    changed.map(|member| Response::User(view(member))).map_err(|error| refusal(error, email))
}

pub(super) async fn remove(services: &AdminServices, team: Option<String>, email: &str) -> Answer {
    let address = address(email)?;
    let team = teams::chosen(services, team).await?;
    let removed = users::remove(&services.context, team, address).await;
    removed.map(|member| Response::User(view(member))).map_err(|error| refusal(error, email))
}

fn address(text: &str) -> Result<EmailAddress, AdminError> {
    EmailAddress::parse(text).map_err(|error| AdminError::invalid(format!("`{text}` is no email address: {error}")))
}

fn refusal(error: MembershipError, email: &str) -> AdminError {
    match error {
        MembershipError::NotMember => AdminError::not_found(format!("{email} does not belong to the team")),
        MembershipError::LastOwner => AdminError::conflict(format!(
            "{email} is the team's last owner; make another one first with `ringmail user role EMAIL owner`"
        )),
        MembershipError::Store(error) => error.into(),
    }
}

fn view(member: Member) -> UserView {
    let Member { user: User { id, email, created_ms: _ }, role, since_ms } = member;
    UserView { id, email, role: role.as_str().to_owned(), since: time(since_ms) }
}

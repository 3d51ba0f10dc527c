//! Pages behind one-time links: `/dashboard/setup/{token}`, `/dashboard/link/{token}` and `/dashboard/open/{token}`.
//!
//! A GET request uses a link up only on a development server, where one click must be enough. It does not if the browser
//! loads the page in advance.

use maud::html;
use salvo::http::{Method, StatusCode};
use salvo::{Request, Response, Writer as _, handler};

use super::document::{AccessPage, FormField, refusal, submit};
use super::form::PostedForm;
use super::replies::{
    HOME, busy, enter, see_other, write_failure, write_invalid_form, write_invalid_link, write_message,
};
use super::session::current;
use super::settings::AccessSettings;
use crate::base::address::EmailAddress;
use crate::http::State;
use crate::store::StoreError;
use crate::teams;
use crate::users::{
    Accounts, FirstAccount, LinkPurpose, LinkSecret, LinkUseError, LinkUser, NewPassword, PASSWORD_CHARS_MIN, Password,
    ValidLink,
};

/// Hint below the field of a new password.
pub(super) fn password_hint() -> String {
    format!("At least {PASSWORD_CHARS_MIN} characters; a sentence is fine.")
}

/// Shows the form for the first account.
#[handler]
pub(crate) async fn show_setup(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    match find(&accounts, req).await {
        Ok(Some((_, link))) if link.purpose == LinkPurpose::Setup => {
            let minutes = minutes_left(&accounts, link);
            setup_page(&settings, &SetupForm { minutes, team: "", email: "" }, &SetupErrors::default())
                .write(&settings, res);
        }
        Ok(_) => write_invalid_link(res, &settings),
        Err(error) => write_failure(res, &settings, &error),
    }
}

/// Creates the first account.
#[handler]
pub(crate) async fn set_up(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let (secret, link) = match find(&accounts, req).await {
        Ok(Some((secret, link))) if link.purpose == LinkPurpose::Setup => (secret, link),
        Ok(_) => return write_invalid_link(res, &settings),
        Err(error) => return write_failure(res, &settings, &error),
    };
    let Some(form) = PostedForm::read(req).await else { return write_invalid_form(res, &settings) };
    let (email, team) = (form.value("email").trim(), form.value("team").trim());
    let shown = SetupForm { minutes: minutes_left(&accounts, link), team, email };
    let address = EmailAddress::parse(email);
    let password = Password::new(form.value("password"), email);
    let (Ok(address), Ok(password)) = (&address, &password) else {
        let errors = SetupErrors {
            email: address.as_ref().err().map(|error| format!("This is not an email address: {error}.")),
            password: password.as_ref().err().map(|error| error.to_string()),
            ..SetupErrors::default()
        };
        let page = setup_page(&settings, &shown, &errors);
        return AccessPage { status: StatusCode::UNPROCESSABLE_ENTITY, ..page }.write(&settings, res);
    };
    let account = FirstAccount { email: address.clone(), password: password.clone(), team_name: team.to_owned() };
    let (status, errors) = match accounts.create_first_account(&secret, account, settings.client(req)).await {
        Ok(token) => return enter(req, res, &settings, &token, HOME),
        Err(LinkUseError::Invalid) => return write_invalid_link(res, &settings),
        Err(LinkUseError::Store(error)) => return write_failure(res, &settings, &error),
        Err(LinkUseError::TeamName(error)) => {
            let team = Some(sentence_of(&error.to_string()));
            (StatusCode::UNPROCESSABLE_ENTITY, SetupErrors { team, ..SetupErrors::default() })
        }
        Err(LinkUseError::Busy) => {
            let form = Some(busy(res));
            (StatusCode::SERVICE_UNAVAILABLE, SetupErrors { form, ..SetupErrors::default() })
        }
    };
    AccessPage { status, ..setup_page(&settings, &shown, &errors) }.write(&settings, res);
}

/// Shows the form for a new password.
#[handler]
pub(crate) async fn show_link(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    match find_user(&accounts, req).await {
        Ok(Some((_, user))) => password_page(&settings, &user, None).write(&settings, res),
        Ok(None) => write_invalid_link(res, &settings),
        Err(error) => write_failure(res, &settings, &error),
    }
}

/// Sets a new password, and signs the user in.
#[handler]
pub(crate) async fn use_link(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let (secret, user) = match find_user(&accounts, req).await {
        Ok(Some(found)) => found,
        Ok(None) => return write_invalid_link(res, &settings),
        Err(error) => return write_failure(res, &settings, &error),
    };
    let Some(form) = PostedForm::read(req).await else { return write_invalid_form(res, &settings) };
    let password = match Password::new(form.value("password"), &user.user.email) {
        Ok(password) => password,
        Err(refused) => {
            let page = password_page(&settings, &user, Some(&refused.to_string()));
            return AccessPage { status: StatusCode::UNPROCESSABLE_ENTITY, ..page }.write(&settings, res);
        }
    };
    let new = NewPassword { password, removes_second_factor: form.is_checked("remove_second_factor") };
    match accounts.set_password_by_link(&secret, new, settings.client(req)).await {
        Ok(token) => enter(req, res, &settings, &token, HOME),
        Err(LinkUseError::Store(error)) => write_failure(res, &settings, &error),
        Err(LinkUseError::Busy) => {
            let page = password_page(&settings, &user, Some(&busy(res)));
            AccessPage { status: StatusCode::SERVICE_UNAVAILABLE, ..page }.write(&settings, res);
        }
        Err(LinkUseError::Invalid | LinkUseError::TeamName(_)) => write_invalid_link(res, &settings),
    }
}

/// Opens the dashboard of a development server.
#[handler]
pub(crate) async fn open(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let purpose = req.headers().get("sec-purpose");
    let is_prefetch = purpose.is_some_and(|purpose| purpose.as_bytes().starts_with(b"prefetch"));
    if is_prefetch || *req.method() == Method::HEAD {
        let sentences = ["The link is used up when you open it."];
        return write_message(res, &settings, StatusCode::SERVICE_UNAVAILABLE, "Open the link", &sentences);
    }
    if !settings.is_local(req) {
        let sentences = [
            "The dashboard of a development server opens only in a browser on the same machine, and not through a proxy.",
            "For access from other machines, run `ringmail serve`.",
        ];
        return write_message(res, &settings, StatusCode::FORBIDDEN, "This link works on its machine only", &sentences);
    }
    let opened = match secret_of(req) {
        Some(secret) if settings.is_dev => accounts.open_by_link(&secret, settings.client(req)).await,
        _ => Err(LinkUseError::Invalid),
    };
    match opened {
        Ok(token) => enter(req, res, &settings, &token, HOME),
        Err(LinkUseError::Store(error)) => write_failure(res, &settings, &error),
        // The link was clicked again in the browser that has opened it.
        Err(_) => match current(req, &accounts, &settings).await {
            Ok(Some(_)) => see_other(res, HOME),
            Ok(None) => write_invalid_link(res, &settings),
            Err(error) => write_failure(res, &settings, &error),
        },
    }
}

fn secret_of(req: &Request) -> Option<LinkSecret> {
    req.params().get("token").and_then(|token| LinkSecret::parse(token))
}

async fn find(accounts: &Accounts, req: &Request) -> Result<Option<(LinkSecret, ValidLink)>, StoreError> {
    let Some(secret) = secret_of(req) else { return Ok(None) };
    Ok(accounts.find_link(&secret).await?.map(|link| (secret, link)))
}

async fn find_user(accounts: &Accounts, req: &Request) -> Result<Option<(LinkSecret, LinkUser)>, StoreError> {
    let Some((secret, link)) = find(accounts, req).await? else { return Ok(None) };
    Ok(accounts.link_user(link).await?.map(|user| (secret, user)))
}

fn minutes_left(accounts: &Accounts, link: ValidLink) -> u64 {
    accounts.time_left(link).as_secs().div_ceil(60)
}

/// Returns a message of the program as a sentence.
fn sentence_of(message: &str) -> String {
    let mut chars = message.chars();
    let first = chars.next().map(|first| first.to_uppercase().to_string()).unwrap_or_default();
    format!("{first}{}.", chars.as_str())
}

/// Values of the form for the first account.
struct SetupForm<'a> {
    minutes: u64,
    team: &'a str,
    email: &'a str,
}

/// Errors of the form for the first account.
#[derive(Default)]
struct SetupErrors {
    form: Option<String>,
    team: Option<String>,
    email: Option<String>,
    password: Option<String>,
}

fn setup_page(settings: &AccessSettings, form: &SetupForm<'_>, errors: &SetupErrors) -> AccessPage {
    let SetupForm { minutes, team, email } = form;
    let team_name = if team.is_empty() { teams::DEFAULT_NAME } else { *team };
    let hint = password_hint();
    let team = FormField {
        autocomplete: "organization",
        value: team_name,
        hint: Some("You and your colleagues see this name."),
        error: errors.team.as_deref(),
        ..FormField::new("team", "Team", "text")
    };
    let address = FormField {
        autocomplete: "username",
        value: email,
        error: errors.email.as_deref(),
        ..FormField::new("email", "Your email", "email")
    };
    let password = FormField {
        autocomplete: "new-password",
        hint: Some(&hint),
        error: errors.password.as_deref(),
        ..FormField::new("password", "Password", "password")
    };
    let fields = [address, password, team];
    let card = html! {
        form.auth-card.auth-wide method="post" {
            p.meta { "Link from your terminal, valid for " (minutes) @if *minutes == 1 { " more minute" } @else { " more minutes" } }
            h1 { "Create the first account" }
            p.body { "You become the owner of " (settings.name) "." }
            @if let Some(problem) = &errors.form { (refusal(problem)) }
            @let first = fields.iter().position(|field| field.error.is_some()).unwrap_or(0);
            @for (index, field) in fields.iter().enumerate() { (field.render(index == first)) }
            (submit("Create account"))
        }
    };
    let below = html! {
        ol.auth-next aria-label="What follows" {
            li aria-current="step" { b { "Account" } }
            li { b { "First email" } span { "captured, in a minute" } }
            li { b { "Domain" } span { "the DNS records" } }
            li { b { "Delivery" } span { "direct or a relay" } }
        }
    };
    AccessPage { below, ..AccessPage::new("Set up", card) }
}

fn password_page(settings: &AccessSettings, user: &LinkUser, problem: Option<&str>) -> AccessPage {
    let LinkUser { user, has_second_factor } = user;
    let hint = password_hint();
    let password = FormField {
        autocomplete: "new-password",
        hint: Some(&hint),
        error: problem,
        ..FormField::new("password", "New password", "password")
    };
    let card = html! {
        form.auth-card method="post" {
            h1 { "Get back in to " (settings.name) }
            p.body { "Set a new password for " b { (user.email) } ". All other sessions of this account end." }
            // Password managers store the password under this name.
            input type="hidden" name="username" autocomplete="username" value=(user.email);
            (password.render(true))
            @if *has_second_factor {
                label.check {
                    input type="checkbox" name="remove_second_factor" value="1";
                    span {
                        "Remove the authenticator app from this account"
                        small { "If you have lost the app and the recovery codes" }
                    }
                }
            }
            (submit("Set password and sign in"))
        }
    };
    AccessPage::new("Get back in", card)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_becomes_a_sentence() {
        assert_eq!(sentence_of("the name is taken"), "The name is taken.");
        assert_eq!(sentence_of(""), ".");
    }
}

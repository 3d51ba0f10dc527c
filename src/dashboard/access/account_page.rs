//! The content of `/dashboard/account` in each of its states.

use maud::{Markup, html};
use qrcodegen::{QrCode, QrCodeEcc};

use super::document::{AccessPage, FormField, refusal, submit};
use super::links::password_hint;
use super::replies::HOME;
use super::settings::AccessSettings;
use crate::users::{AccountStatus, RECOVERY_CODES, TotpSecret, User};

/// Modules of white space around a QR code (ISO/IEC 18004 §9.1).
const QUIET_ZONE: i32 = 4;

/// Message about the previous request.
#[derive(Clone, Copy, Debug)]
pub(super) enum AccountNotice<'a> {
    Done(&'static str),
    Problem(&'a str),
}

/// The account of a user.
pub(super) struct AccountPage<'a> {
    pub(super) user: &'a User,
    pub(super) account: AccountStatus,
    pub(super) notice: Option<AccountNotice<'a>>,
}

impl AccountPage<'_> {
    pub(super) fn render(&self) -> AccessPage {
        let Self { user, account, notice } = self;
        let card = html! {
            div.auth-card.auth-wide {
                h1 { "Your account" }
                p.body { (user.email) }
                @match notice {
                    Some(AccountNotice::Done(sentence)) => { div.note.note-green role="status" { p { (sentence) } } }
                    Some(AccountNotice::Problem(sentence)) => { (refusal(sentence)) }
                    None => {}
                }
                @if account.has_password {
                    (second_factor(account.recovery_left))
                    (password(user))
                } @else {
                    p.body {
                        "You sign in through the proxy in front of this server. For a password of your own, run "
                        code { "ringmail user link " (user.email) } " on the server."
                    }
                }
            }
        };
        let below = html! { p { a.link href=(HOME) { "Go to the dashboard" } } };
        AccessPage { below, ..AccessPage::new("Your account", card) }
    }
}

fn second_factor(recovery_left: Option<usize>) -> Markup {
    html! {
        section.auth-part aria-labelledby="factor" {
            h2 #factor { "Authenticator app" }
            @if let Some(left) = recovery_left {
                p { "On. Each sign-in needs a code of the app. " (left) " of " (RECOVERY_CODES) " recovery codes are left." }
                form method="post" action="/dashboard/account" {
                    (confirmation("factor-password").render(false))
                    div.auth-row {
                        button.btn type="submit" name="action" value="codes" { "Replace recovery codes" }
                        button.btn.btn-danger type="submit" name="action" value="disable" { "Remove the app" }
                    }
                }
            } @else {
                p { "Off. With an app, a stolen password is not enough to sign in." }
                form method="post" action="/dashboard/account" {
                    div.auth-row {
                        button.btn type="submit" name="action" value="begin" { "Set up an app" }
                    }
                }
            }
        }
    }
}

fn password(user: &User) -> Markup {
    let hint = password_hint();
    let new = FormField {
        autocomplete: "new-password",
        hint: Some(&hint),
        ..FormField::new("new_password", "New password", "password")
    };
    html! {
        section.auth-part aria-labelledby="change" {
            h2 #change { "Password" }
            form method="post" action="/dashboard/account" {
                // Password managers store the password under this name.
                input type="hidden" name="username" autocomplete="username" value=(user.email);
                (confirmation("current-password").render(false))
                (new.render(false))
                div.auth-row {
                    button.btn type="submit" name="action" value="password" { "Change password" }
                }
            }
        }
    }
}

/// Returns the field of the current password. The page has several, so that each has an id of its own.
fn confirmation(id: &'static str) -> FormField<'static> {
    FormField { id, autocomplete: "current-password", ..FormField::new("password", "Current password", "password") }
}

/// Errors of the form that turns a second factor on.
#[derive(Default)]
pub(super) struct EnrolmentErrors {
    pub(super) code: Option<&'static str>,
    pub(super) password: Option<&'static str>,
}

/// Returns the page with a new secret, which is stored after its first code. The secret is also sealed, for the form.
pub(super) fn enrolment_page(
    settings: &AccessSettings,
    user: &User,
    (secret, sealed): (&TotpSecret, &str),
    errors: &EnrolmentErrors,
) -> AccessPage {
    let url = secret.url(&settings.name, &user.email);
    let code = FormField {
        autocomplete: "one-time-code",
        error: errors.code,
        ..FormField::new("code", "Code that the app shows", "text")
    };
    let password = FormField { error: errors.password, ..confirmation("password") };
    let card = html! {
        form.auth-card method="post" action="/dashboard/account" {
            h1 { "Set up an app" }
            p.body { "Scan this code with an authenticator app on your phone." }
            @if let Some(image) = qr_code(&url) { (image) }
            details {
                summary { span.link { "Enter a key instead" } }
                p { code { (secret.spelled()) } }
            }
            input type="hidden" name="action" value="enable";
            input type="hidden" name="secret" value=(sealed);
            (code.render(errors.password.is_none()))
            (password.render(errors.password.is_some()))
            (submit("Turn on"))
            p { a.link href="/dashboard/account" { "Cancel" } }
        }
    };
    AccessPage::new("Set up an app", card)
}

/// Returns the page with new recovery codes, which are shown only once.
pub(super) fn codes_page(codes: &[String]) -> AccessPage {
    let card = html! {
        div.auth-card.auth-wide {
            h1 { "Save your recovery codes" }
            p.body { "Each code replaces a code of the app once. They are not shown again. Earlier ones are not valid." }
            ul.auth-codes {
                @for code in codes { li { (code) } }
            }
            p { a.btn.btn-primary.btn-lg.btn-block href="/dashboard/account" { "I have saved them" } }
        }
    };
    AccessPage::new("Save your recovery codes", card)
}

/// Returns a text as an image; `None` if it is too long for one.
fn qr_code(text: &str) -> Option<Markup> {
    let code = QrCode::encode_text(text, QrCodeEcc::Medium).ok()?;
    let (size, mut path) = (code.size(), String::new());
    for y in 0..size {
        for x in (0..size).filter(|x| code.get_module(*x, y)) {
            path.push_str(&format!("M{} {}h1v1h-1z", x + QUIET_ZONE, y + QUIET_ZONE));
        }
    }
    let side = size + 2 * QUIET_ZONE;
    Some(html! {
        svg.auth-qr viewBox=(format!("0 0 {side} {side}")) role="img" aria-label="QR code of the key"
            shape-rendering="crispEdges" {
            path d=(path) fill="#000" {}
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_qr_code_has_its_three_corners_and_a_quiet_zone() {
        let html = qr_code("otpauth://totp/a:b?secret=GEZDGNBVGY3TQOJQ").unwrap().into_string();

        // The first module of a finder pattern is in each corner except the last one.
        assert!(html.contains(&format!("d=\"M{QUIET_ZONE} {QUIET_ZONE}h1v1h-1z")), "{html}");
        assert!(qr_code(&"x".repeat(10_000)).is_none());
    }

    #[test]
    fn a_user_without_a_password_gets_no_form() {
        let user = User { id: crate::base::id::Id::MIN, email: "ada@example.com".into(), created_ms: 0 };
        let page = |has_password, recovery_left| {
            let account = AccountStatus { has_password, recovery_left };
            AccountPage { user: &user, account, notice: None }.render().card.into_string()
        };

        assert!(!page(false, None).contains("<form"));
        assert_eq!(page(true, None).matches("<form").count(), 2);
        assert!(page(true, Some(9)).contains("9 of 10 recovery codes"));
    }
}

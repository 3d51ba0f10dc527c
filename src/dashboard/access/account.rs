//! `/dashboard/account`: the password and the second factor of a signed-in user.

use salvo::http::StatusCode;
use salvo::{Request, Response, Writer as _, handler};

use super::account_page::{AccountNotice, AccountPage, EnrolmentErrors, codes_page, enrolment_page};
use super::form::PostedForm;
use super::replies::{busy, see_other, throttled, write_failure, write_invalid_form, write_message};
use super::session::{RequestSession, current};
use super::settings::AccessSettings;
use crate::http::State;
use crate::store::StoreError;
use crate::users::{AccountChangeError, Accounts, Enrolment, EnrolmentForm, Password, User};

/// Shows the account of the user.
#[handler]
pub(crate) async fn show_account(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let Some((user, _)) = signed_in_user(req, res, &accounts, &settings).await else { return };
    let notice = match req.uri().query() {
        Some("password=changed") => {
            Some(AccountNotice::Done("The password is changed. All other sessions have ended."))
        }
        Some("factor=removed") => Some(AccountNotice::Done("The authenticator app is removed.")),
        _ => None,
    };
    show(res, &accounts, &settings, &user, StatusCode::OK, notice).await;
}

/// Performs the action of a form on the page.
#[handler]
pub(crate) async fn change_account(
    accounts: State<Accounts>,
    settings: State<AccessSettings>,
    req: &mut Request,
    res: &mut Response,
) {
    let Some((user, session)) = signed_in_user(req, res, &accounts, &settings).await else { return };
    let Some(form) = PostedForm::read(req).await else { return write_invalid_form(res, &settings) };
    let action = Action { accounts: &accounts, settings: &settings, user: &user, session: &session };
    let network = settings.network(req);
    let done = match form.value("action") {
        "password" => action.change_password(&form, &network, res).await,
        "begin" => {
            action.begin(res);
            Ok(())
        }
        "enable" => action.enable(&form, &network, res).await,
        "codes" => action.replace_codes(&form, &network, res).await,
        "disable" => action.disable(&form, &network, res).await,
        _ => return write_invalid_form(res, &settings),
    };
    let (status, sentence) = match done {
        Ok(()) => return,
        Err(AccountChangeError::Store(error)) => return write_failure(res, &settings, &error),
        Err(AccountChangeError::WrongPassword) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "The current password is wrong.".to_owned())
        }
        Err(AccountChangeError::WrongCode) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "The code is wrong. Check the clock of your device.".to_owned())
        }
        Err(AccountChangeError::Expired) => {
            (StatusCode::UNPROCESSABLE_ENTITY, "The account has changed in the meantime. Repeat the action.".to_owned())
        }
        Err(AccountChangeError::Throttled { wait_ms }) => (StatusCode::TOO_MANY_REQUESTS, throttled(res, wait_ms)),
        Err(AccountChangeError::Busy) => (StatusCode::SERVICE_UNAVAILABLE, busy(res)),
    };
    show(res, &accounts, &settings, &user, status, Some(AccountNotice::Problem(&sentence))).await;
}

/// An action of a signed-in user.
struct Action<'a> {
    accounts: &'a Accounts,
    settings: &'a AccessSettings,
    user: &'a User,
    session: &'a RequestSession,
}

impl Action<'_> {
    async fn change_password(
        &self,
        form: &PostedForm,
        network: &str,
        res: &mut Response,
    ) -> Result<(), AccountChangeError> {
        let new = match Password::new(form.value("new_password"), &self.user.email) {
            Ok(new) => new,
            Err(refused) => {
                let (status, sentence) = (StatusCode::UNPROCESSABLE_ENTITY, refused.to_string());
                let notice = Some(AccountNotice::Problem(&sentence));
                show(res, self.accounts, self.settings, self.user, status, notice).await;
                return Ok(());
            }
        };
        let passwords = (Password::typed(form.value("password")), new);
        let session = self.session.signed_in.session.id;
        self.accounts.change_password(self.user, session, passwords, network).await?;
        see_other(res, "/dashboard/account?password=changed");
        Ok(())
    }

    fn begin(&self, res: &mut Response) {
        let Enrolment { secret, sealed } = self.accounts.begin_enrolment(self.user.id);
        let errors = EnrolmentErrors::default();
        enrolment_page(self.settings, self.user, (&secret, &sealed), &errors).write(self.settings, res);
    }

    async fn enable(&self, form: &PostedForm, network: &str, res: &mut Response) -> Result<(), AccountChangeError> {
        let (sealed, session) = (form.value("secret"), self.session.signed_in.session.id);
        let (code, password) = (form.value("code"), Password::typed(form.value("password")));
        let input = EnrolmentForm { sealed, code, password };
        let errors = match self.accounts.enable_second_factor(self.user, session, input, network).await {
            Ok(codes) => {
                codes_page(&codes).write(self.settings, res);
                return Ok(());
            }
            Err(AccountChangeError::WrongCode) => EnrolmentErrors {
                code: Some("The code is wrong. Check the clock of your device."),
                ..EnrolmentErrors::default()
            },
            Err(AccountChangeError::WrongPassword) => {
                EnrolmentErrors { password: Some("The current password is wrong."), ..EnrolmentErrors::default() }
            }
            Err(error) => return Err(error),
        };
        // The form keeps its secret, which the app has stored already.
        let secret = self.accounts.open_enrolment(self.user.id, sealed).ok_or(AccountChangeError::Expired)?;
        let mut page = enrolment_page(self.settings, self.user, (&secret, sealed), &errors);
        page.status = StatusCode::UNPROCESSABLE_ENTITY;
        page.write(self.settings, res);
        Ok(())
    }

    async fn replace_codes(
        &self,
        form: &PostedForm,
        network: &str,
        res: &mut Response,
    ) -> Result<(), AccountChangeError> {
        let password = Password::typed(form.value("password"));
        let codes = self.accounts.replace_recovery_codes(self.user, password, network).await?;
        codes_page(&codes).write(self.settings, res);
        Ok(())
    }

    async fn disable(&self, form: &PostedForm, network: &str, res: &mut Response) -> Result<(), AccountChangeError> {
        let password = Password::typed(form.value("password"));
        self.accounts.disable_second_factor(self.user, password, network).await?;
        see_other(res, "/dashboard/account?factor=removed");
        Ok(())
    }
}

/// Returns the user of the session of a request. Without one, writes a redirect to the sign-in page, or an error.
async fn signed_in_user(
    req: &Request,
    res: &mut Response,
    accounts: &Accounts,
    settings: &AccessSettings,
) -> Option<(User, RequestSession)> {
    match current(req, accounts, settings).await {
        Ok(Some(session)) => {
            if let Some(user) = session.signed_in.user.clone() {
                return Some((user, session));
            }
            let sentences = ["A development server has no accounts, so that there is nothing to change."];
            write_message(res, settings, StatusCode::NOT_FOUND, "There is no account", &sentences);
        }
        Ok(None) => see_other(res, "/dashboard/login?next=/dashboard/account"),
        Err(error) => write_failure(res, settings, &error),
    }
    None
}

async fn show(
    res: &mut Response,
    accounts: &Accounts,
    settings: &AccessSettings,
    user: &User,
    status: StatusCode,
    notice: Option<AccountNotice<'_>>,
) {
    let shown: Result<_, StoreError> = accounts.status(user.id).await;
    match shown {
        Ok(account) => {
            let mut page = AccountPage { user, account, notice }.render();
            page.status = status;
            page.write(settings, res);
        }
        Err(error) => write_failure(res, settings, &error),
    }
}

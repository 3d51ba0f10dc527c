//! Cookies of the dashboard. Each is `HttpOnly` and `SameSite=Strict`, so that no script reads it and no other site sends
//! it.

use salvo::http::HeaderValue;
use salvo::http::header::{COOKIE, SET_COOKIE};
use salvo::{Request, Response};

use crate::users::{CODE_WAIT_MS, SESSION_LIFETIME_MS};

/// A cookie that the server sets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AccessCookie {
    /// Token of the session.
    Session,
    /// Sealed text of a sign-in that waits for a code.
    Pending,
}

/// Whether the cookie is sent over HTTPS only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CookieTransport {
    Any,
    HttpsOnly,
}

impl AccessCookie {
    const fn name(self) -> &'static str {
        match self {
            Self::Session => "ringmail_session",
            Self::Pending => "ringmail_sign_in",
        }
    }

    const fn path(self) -> &'static str {
        match self {
            Self::Session => "/dashboard",
            Self::Pending => "/dashboard/login",
        }
    }

    const fn lifetime_s(self) -> i64 {
        match self {
            Self::Session => SESSION_LIFETIME_MS / 1_000,
            Self::Pending => CODE_WAIT_MS / 1_000,
        }
    }

    /// Returns the value in a request; `None` if it is absent.
    pub(super) fn find(self, req: &Request) -> Option<&str> {
        let lines = req.headers().get_all(COOKIE).iter().filter_map(|line| line.to_str().ok());
        let mut pairs = lines.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.find(|(name, _)| *name == self.name()).map(|(_, value)| value)
    }

    /// Sets the cookie. The value must consist of characters of URL-safe base64.
    pub(super) fn set(self, res: &mut Response, value: &str, transport: CookieTransport) {
        self.write(res, value, self.lifetime_s(), transport);
    }

    /// Deletes the cookie.
    pub(super) fn clear(self, res: &mut Response, transport: CookieTransport) {
        self.write(res, "", 0, transport);
    }

    fn write(self, res: &mut Response, value: &str, lifetime_s: i64, transport: CookieTransport) {
        let (name, path) = (self.name(), self.path());
        let secure = match transport {
            CookieTransport::Any => "",
            CookieTransport::HttpsOnly => "; Secure",
        };
        let line = format!("{name}={value}; Path={path}; Max-Age={lifetime_s}; HttpOnly; SameSite=Strict{secure}");
        let line = HeaderValue::try_from(line).expect("base64 is a header value");
        res.headers_mut().append(SET_COOKIE, line);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(cookie: AccessCookie, lines: &[&'static str]) -> Option<String> {
        let mut req = Request::new();
        for line in lines {
            req.headers_mut().append(COOKIE, HeaderValue::from_static(line));
        }
        cookie.find(&req).map(str::to_owned)
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let session = AccessCookie::Session;
        assert_eq!(find(session, &["a=b; ringmail_session=x-_=; c=d"]).as_deref(), Some("x-_="));
        assert_eq!(find(session, &["a=b", "ringmail_session=x"]).as_deref(), Some("x"));
        assert_eq!(find(session, &["ringmail_session_2=x; xringmail_session=y"]), None);
        assert_eq!(find(AccessCookie::Pending, &["ringmail_session=x"]), None);
        assert_eq!(find(session, &[]), None);
    }

    #[test]
    fn a_cookie_is_strict_and_not_readable_for_scripts() {
        let mut res = Response::new();
        AccessCookie::Session.set(&mut res, "abc", CookieTransport::HttpsOnly);
        AccessCookie::Pending.clear(&mut res, CookieTransport::Any);

        let lines: Vec<&str> = res.headers().get_all(SET_COOKIE).iter().map(|line| line.to_str().unwrap()).collect();
        assert_eq!(
            lines,
            [
                "ringmail_session=abc; Path=/dashboard; Max-Age=2592000; HttpOnly; SameSite=Strict; Secure",
                "ringmail_sign_in=; Path=/dashboard/login; Max-Age=0; HttpOnly; SameSite=Strict",
            ]
        );
    }
}

//! Settings of the sign-in to the dashboard.

use clap::Args;
use ipnet::IpNet;

use super::ConfigError;

/// Longest name of a header.
const HEADER_BYTES_MAX: usize = 64;
/// Headers that every client or every proxy sends for another purpose.
const UNFIT_HEADERS: [&str; 8] =
    ["authorization", "cookie", "forwarded", "host", "origin", "referer", "user-agent", "x-forwarded-for"];

/// Settings of the sign-in as clap parses them.
#[derive(Args, Clone, Debug)]
pub(super) struct SignInSettings {
    /// Header in which a proxy of --trusted-proxies sends the email address of a user that it has authenticated; the
    /// proxy must remove it from the requests of its clients [default: none].
    #[arg(long, env = "RINGMAIL_AUTH_PROXY_HEADER", value_name = "NAME", value_parser = header_name,
          help_heading = "Serving")]
    auth_proxy_header: Option<String>,
}

impl SignInSettings {
    /// Returns the name of the header in lower case.
    ///
    /// # Errors
    /// [`ConfigError::ProxyHeader`] without trusted proxies: then every client could name a user.
    pub(super) fn proxy_header(self, trusted_proxies: &[IpNet]) -> Result<Option<String>, ConfigError> {
        let Self { auth_proxy_header } = self;
        match auth_proxy_header {
            Some(_) if trusted_proxies.is_empty() => Err(ConfigError::ProxyHeader),
            header => Ok(header),
        }
    }
}

fn header_name(text: &str) -> Result<String, String> {
    let name = text.trim().to_ascii_lowercase();
    let is_token = (1..=HEADER_BYTES_MAX).contains(&name.len())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_');
    if !is_token {
        return Err(format!("`{text}` is not the name of a header; use a form such as X-Forwarded-Email"));
    }
    if UNFIT_HEADERS.contains(&name.as_str()) {
        return Err(format!("`{text}` has another purpose; use a header such as X-Forwarded-Email"));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_has_a_name_of_its_own() {
        let long = "x".repeat(65);
        for (text, expected) in [
            ("X-Forwarded-Email", Some("x-forwarded-email")),
            (" remote_user ", Some("remote_user")),
            ("", None),
            ("X Forwarded", None),
            ("X-Email:", None),
            ("Cookie", None),
            ("host", None),
            (long.as_str(), None),
        ] {
            assert_eq!(header_name(text).ok().as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn a_header_needs_trusted_proxies() {
        let settings = SignInSettings { auth_proxy_header: Some("x-email".into()) };
        let proxies: [IpNet; 1] = ["10.0.0.0/8".parse().unwrap()];

        assert_eq!(settings.clone().proxy_header(&proxies), Ok(Some("x-email".into())));
        assert_eq!(settings.proxy_header(&[]), Err(ConfigError::ProxyHeader));
        assert_eq!(SignInSettings { auth_proxy_header: None }.proxy_header(&[]), Ok(None));
    }
}

//! Request types of domains, and the validation that needs neither the store nor the settings.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::Deserialize;

use crate::base::address::{AddressError, DomainName};
use crate::base::patch::Patch;
use crate::domains::model::{DnsLabel, DomainChanges, LABEL_CHARS_MAX, NAME_CHARS_MAX, NAME_CHARS_MIN, NewDomain};
use crate::http::schema::{self, words_schema};
use crate::http::{ApiError, ApiResult, JsonBody};

/// Pattern of a label of a host name.
const LABEL: &str = "[A-Za-z0-9]([A-Za-z0-9-]*[A-Za-z0-9])?";

words_schema!(TlsWord = ["opportunistic"]);
words_schema!(SendingWord = ["enabled"]);
words_schema!(ReceivingWord = ["disabled"]);

/// The name of a domain.
struct DomainText;

impl ToSchema for DomainText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::formatted("domain").min_length(NAME_CHARS_MIN).max_length(NAME_CHARS_MAX).into()
    }
}

/// A label of a host name.
struct LabelText;

impl ToSchema for LabelText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::text().pattern(format!("^{LABEL}$")).max_length(LABEL_CHARS_MAX).into()
    }
}

/// A label of a host name, or an empty text.
struct LabelOrEmpty;

impl ToSchema for LabelOrEmpty {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::text().pattern(format!("^({LABEL})?$")).max_length(LABEL_CHARS_MAX).into()
    }
}

/// A domain to add.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CreateDomainRequest {
    /// Name, such as `example.com` or `mail.example.com`.
    #[salvo(schema(required = true, value_type = DomainText))]
    name: Option<String>,
    /// One of the regions that this server offers. Default: the first one.
    region: Option<String>,
    /// Label of the subdomain that receives bounces. Default: `send`.
    #[salvo(schema(value_type = Option<LabelText>))]
    custom_return_path: Option<String>,
    /// Whether opens are recorded. Default: false.
    open_tracking: Option<bool>,
    /// Whether clicks are recorded. Default: false.
    click_tracking: Option<bool>,
    /// Label of the subdomain in tracked links.
    #[salvo(schema(value_type = Option<LabelOrEmpty>))]
    tracking_subdomain: Option<String>,
    /// Only `opportunistic` is accepted.
    #[salvo(schema(value_type = Option<TlsWord>))]
    tls: Option<String>,
    /// Only sending `enabled` and receiving `disabled` are accepted.
    capabilities: Option<CapabilitiesRequest>,
}

impl JsonBody for CreateDomainRequest {}

/// Capabilities of a domain.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct CapabilitiesRequest {
    /// Only `enabled` is accepted.
    #[salvo(schema(value_type = Option<SendingWord>))]
    sending: Option<String>,
    /// Only `disabled` is accepted.
    #[salvo(schema(value_type = Option<ReceivingWord>))]
    receiving: Option<String>,
}

/// Changes to a domain.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct UpdateDomainRequest {
    /// Whether opens are recorded.
    open_tracking: Option<bool>,
    /// Whether clicks are recorded.
    click_tracking: Option<bool>,
    /// Label of the subdomain in tracked links. Null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LabelOrEmpty>))]
    tracking_subdomain: Patch<String>,
    // Decoded only for specific errors, so that they are not in the OpenAPI schema.
    #[salvo(schema(skip))]
    tls: Option<String>,
    #[salvo(schema(skip))]
    capabilities: Option<CapabilitiesRequest>,
}

impl JsonBody for UpdateDomainRequest {}

impl CreateDomainRequest {
    /// Validates the fields.
    pub(super) fn parse(self) -> ApiResult<NewDomain> {
        let Self {
            name,
            region,
            custom_return_path,
            open_tracking,
            click_tracking,
            tracking_subdomain,
            tls,
            capabilities,
        } = self;
        let name = name.ok_or_else(|| ApiError::missing_field("name"))?;
        let name = DomainName::parse(&name).map_err(|error| name_error(&name, error))?;
        let label = |field, text: Option<String>| text.map(|text| parse_label(field, &text)).transpose();
        if tls.is_some_and(|tls| tls != "opportunistic") {
            return Err(ApiError::validation(
                "Invalid `tls` field: only `opportunistic` is available. Mail is encrypted wherever the receiving \
                 server offers it.",
            ));
        }
        if let Some(CapabilitiesRequest { sending, receiving }) = capabilities {
            expect_value("capabilities.sending", sending.as_deref(), "enabled", "domains are for sending")?;
            expect_value("capabilities.receiving", receiving.as_deref(), "disabled", "this server receives no mail")?;
        }
        Ok(NewDomain {
            name,
            region,
            return_path: label("custom_return_path", custom_return_path)?,
            open_tracking: open_tracking.unwrap_or(false),
            click_tracking: click_tracking.unwrap_or(false),
            tracking_subdomain: label("tracking_subdomain", tracking_subdomain.filter(|text| !text.is_empty()))?,
        })
    }
}

impl UpdateDomainRequest {
    /// Validates the fields.
    pub(super) fn parse(self) -> ApiResult<DomainChanges> {
        let Self { open_tracking, click_tracking, tracking_subdomain, tls, capabilities } = self;
        if tls.is_some() {
            return Err(ApiError::validation(
                "The `tls` field cannot be changed: TLS is always `opportunistic`, so mail is encrypted wherever the \
                 receiving server offers it. Leave the field out.",
            ));
        }
        if capabilities.is_some() {
            return Err(ApiError::validation(
                "The `capabilities` field cannot be changed: every domain sends and none receives. \
                 Leave the field out.",
            ));
        }
        let tracking_subdomain = match tracking_subdomain {
            Patch::Keep => Patch::Keep,
            Patch::Clear => Patch::Clear,
            Patch::Set(text) if text.is_empty() => Patch::Clear,
            Patch::Set(text) => Patch::Set(parse_label("tracking_subdomain", &text)?),
        };
        Ok(DomainChanges { open_tracking, click_tracking, tracking_subdomain })
    }
}

/// Returns the error of a name. A URL or an email address gets the domain in it.
fn name_error(name: &str, error: AddressError) -> ApiError {
    let (what, rest) = match (name.split_once("://"), name.rsplit_once('@')) {
        (Some((_, rest)), _) => ("a URL", rest),
        (None, Some((_, domain))) => ("an email address", domain),
        (None, None) if name.contains('/') => ("a URL", name),
        (None, None) => return ApiError::validation(format!("Invalid `name` field: {error}.")),
    };
    // RFC 3986 §3.2: user information before the host, and the port, path, query and fragment after it.
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit('@').next().unwrap_or_default();
    let host = host.split(':').next().unwrap_or_default();
    let domain = DomainName::parse(host).map_or_else(|_| "example.com".to_owned(), |domain| domain.to_string());
    ApiError::validation(format!("Invalid `name` field: it is {what}; give only the domain, such as `{domain}`."))
}

fn parse_label(field: &str, text: &str) -> ApiResult<DnsLabel> {
    DnsLabel::parse(text).ok_or_else(|| {
        ApiError::validation(format!(
            "Invalid `{field}` field: it must be one label of a host name, 1 to 63 letters, digits and inner hyphens, \
             such as `links`."
        ))
    })
}

fn expect_value(field: &str, given: Option<&str>, expected: &str, reason: &str) -> ApiResult<()> {
    match given {
        Some(given) if given != expected => {
            Err(ApiError::validation(format!("Invalid `{field}` field: only `{expected}` is available, as {reason}.")))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::body::parse;

    fn create(body: &str) -> Result<NewDomain, (u16, String)> {
        let parsed = parse::<CreateDomainRequest>(body.as_bytes(), &[]).and_then(CreateDomainRequest::parse);
        parsed.map_err(|error| (error.code.status(), error.message))
    }

    fn update(body: &str) -> Result<DomainChanges, (u16, String)> {
        let parsed = parse::<UpdateDomainRequest>(body.as_bytes(), &["id"]).and_then(UpdateDomainRequest::parse);
        parsed.map_err(|error| (error.code.status(), error.message))
    }

    #[test]
    fn a_request_accepts_the_fields_of_the_compatible_api() {
        let name = DomainName::parse("mail.example.org").unwrap();
        let label = |text| DnsLabel::parse(text);
        for (body, expected) in [
            (r#"{"name": "Mail.Example.org."}"#, NewDomain::named(name.clone())),
            (
                r#"{"name": "mail.example.org", "region": null, "custom_return_path": null, "open_tracking": null,
                    "click_tracking": null, "tracking_subdomain": "", "tls": null, "capabilities": null}"#,
                NewDomain::named(name.clone()),
            ),
            (
                r#"{"name": "mail.example.org", "region": "eu-west-1", "custom_return_path": "Bounce",
                    "open_tracking": true, "click_tracking": true, "tracking_subdomain": "links",
                    "tls": "opportunistic", "capabilities": {"sending": "enabled", "receiving": "disabled"}}"#,
                NewDomain {
                    name,
                    region: Some("eu-west-1".into()),
                    return_path: label("bounce"),
                    open_tracking: true,
                    click_tracking: true,
                    tracking_subdomain: label("links"),
                },
            ),
        ] {
            assert_eq!(create(body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn an_error_contains_the_field_and_the_accepted_values() {
        for (body, message) in [
            ("{}", "Missing `name` field."),
            (r#"{"name": null}"#, "Missing `name` field."),
            (
                r#"{"name": "localhost"}"#,
                "Invalid `name` field: the domain has no dot; use a full domain name such as `example.com`.",
            ),
            (
                r#"{"name": "a.example", "tls": "enforced"}"#,
                "Invalid `tls` field: only `opportunistic` is available. Mail is encrypted wherever the receiving \
                 server offers it.",
            ),
            (
                r#"{"name": "a.example", "capabilities": {"receiving": "enabled"}}"#,
                "Invalid `capabilities.receiving` field: only `disabled` is available, as this server receives no mail.",
            ),
            (
                r#"{"name": "a.example", "capabilities": {"sending": "disabled"}}"#,
                "Invalid `capabilities.sending` field: only `enabled` is available, as domains are for sending.",
            ),
            (
                r#"{"name": "a.example", "custom_return_path": "a.b"}"#,
                "Invalid `custom_return_path` field: it must be one label of a host name, 1 to 63 letters, digits and \
                 inner hyphens, such as `links`.",
            ),
        ] {
            assert_eq!(create(body), Err((422, message.to_owned())), "{body}");
        }
        assert!(create(r#"{"name": "a.example", "nam": 1}"#).is_err());
    }

    #[test]
    fn an_update_distinguishes_absent_from_null() {
        let changes = DomainChanges::default();
        for (body, expected) in [
            ("{}", changes.clone()),
            (r#"{"id": "x", "tls": null, "capabilities": null, "open_tracking": null}"#, changes.clone()),
            (
                r#"{"open_tracking": false, "click_tracking": true}"#,
                DomainChanges { open_tracking: Some(false), click_tracking: Some(true), ..changes.clone() },
            ),
            (r#"{"tracking_subdomain": null}"#, DomainChanges { tracking_subdomain: Patch::Clear, ..changes.clone() }),
            (r#"{"tracking_subdomain": ""}"#, DomainChanges { tracking_subdomain: Patch::Clear, ..changes.clone() }),
            (
                r#"{"tracking_subdomain": "links"}"#,
                DomainChanges { tracking_subdomain: Patch::Set(DnsLabel::parse("links").unwrap()), ..changes },
            ),
        ] {
            assert_eq!(update(body), Ok(expected), "{body}");
        }
    }

    #[test]
    fn an_update_of_a_fixed_field_is_refused() {
        for body in [
            r#"{"tls": "opportunistic"}"#,
            r#"{"tls": "enforced"}"#,
            r#"{"capabilities": {}}"#,
            r#"{"capabilities": {"sending": "enabled", "receiving": "disabled"}}"#,
            r#"{"tracking_subdomain": "a.b"}"#,
            r#"{"region": "eu-west-1"}"#,
            r#"{"name": "other.example"}"#,
        ] {
            assert_eq!(update(body).map_err(|(status, _)| status), Err(422), "{body}");
        }
    }
}

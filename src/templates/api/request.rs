//! Template requests.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::Deserialize;

use super::AliasText;
use crate::base::patch::Patch;
use crate::http::schema::{self, LineText, NonBlankLine};
use crate::http::{ApiError, ApiResult, IgnoredJson, JsonBody};
use crate::templates::model::{
    ALIAS_CHARS_MAX, NAME_CHARS_MAX, NewTemplate, SUBJECT_CHARS_MAX, TemplateAlias, TemplateChanges, TemplateContent,
    TemplateName, is_subject,
};

/// A template to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct CreateTemplateRequest {
    /// The name, 1 to 255 characters.
    #[salvo(schema(required = true, value_type = NonBlankLine<NAME_CHARS_MAX>))]
    name: Option<String>,
    /// The alias, which paths and sends accept in place of the id: 1 to 100 letters, digits, dots, underscores and
    /// hyphens. It is no UUID. Each alias belongs to one template of the team.
    #[salvo(schema(value_type = Option<AliasText>))]
    alias: Option<String>,
    /// The subject, up to 998 characters. Without one, each send gives a subject.
    #[salvo(schema(value_type = Option<LineText<SUBJECT_CHARS_MAX>>))]
    subject: Option<String>,
    /// The HTML part. Fields have the form `{{{NAME}}}` or `{{{NAME|fallback}}}`.
    #[salvo(schema(required = true, value_type = NonEmptyText))]
    html: Option<String>,
    /// The text part. Generated from `html` if absent.
    text: Option<String>,
    // Decoded only for their specific errors, so that they are not in the OpenAPI schema.
    #[salvo(schema(skip))]
    from: Option<IgnoredJson>,
    #[salvo(schema(skip))]
    reply_to: Option<IgnoredJson>,
    #[salvo(schema(skip))]
    variables: Option<IgnoredJson>,
}

impl JsonBody for CreateTemplateRequest {}

/// Changes to a template.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct UpdateTemplateRequest {
    /// The name, 1 to 255 characters.
    #[salvo(schema(value_type = Option<NonBlankLine<NAME_CHARS_MAX>>))]
    name: Option<String>,
    /// The alias; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<AliasText>))]
    alias: Patch<String>,
    /// The subject, up to 998 characters; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<LineText<SUBJECT_CHARS_MAX>>))]
    subject: Patch<String>,
    /// The HTML part.
    #[salvo(schema(value_type = Option<NonEmptyText>))]
    html: Option<String>,
    /// The text part; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<String>))]
    text: Patch<String>,
    // Decoded only for their specific errors, so that they are not in the OpenAPI schema.
    #[salvo(schema(skip))]
    from: Option<IgnoredJson>,
    #[salvo(schema(skip))]
    reply_to: Option<IgnoredJson>,
    #[salvo(schema(skip))]
    variables: Option<IgnoredJson>,
}

impl JsonBody for UpdateTemplateRequest {}

impl CreateTemplateRequest {
    pub(super) fn parse(self) -> ApiResult<NewTemplate> {
        let Self { name, alias, subject, html, text, from, reply_to, variables } = self;
        refuse_unstored(from, reply_to, variables)?;
        let name = name.ok_or_else(|| ApiError::missing_field("name"))?;
        let html = html.ok_or_else(|| ApiError::missing_field("html"))?;
        Ok(NewTemplate {
            name: parse_name(&name)?,
            alias: alias.filter(|alias| !alias.is_empty()).as_deref().map(parse_alias).transpose()?,
            content: TemplateContent {
                subject: subject.filter(|subject| !subject.is_empty()).map(parse_subject).transpose()?,
                html: parse_html(html)?,
                text: text.filter(|text| !text.is_empty()),
                source: None,
            },
        })
    }
}

impl UpdateTemplateRequest {
    pub(crate) fn parse(self) -> ApiResult<TemplateChanges> {
        let Self { name, alias, subject, html, text, from, reply_to, variables } = self;
        refuse_unstored(from, reply_to, variables)?;
        Ok(TemplateChanges {
            name: name.as_deref().map(parse_name).transpose()?,
            alias: match unless_empty(alias) {
                Patch::Set(alias) => Patch::Set(parse_alias(&alias)?),
                Patch::Clear => Patch::Clear,
                Patch::Keep => Patch::Keep,
            },
            subject: match unless_empty(subject) {
                Patch::Set(subject) => Patch::Set(parse_subject(subject)?),
                other => other,
            },
            html: html.map(parse_html).transpose()?,
            text: unless_empty(text),
            source: Patch::Keep,
            revision: None,
        })
    }
}

/// Returns the change of a field that an empty text clears.
fn unless_empty(change: Patch<String>) -> Patch<String> {
    match change {
        Patch::Set(text) if text.is_empty() => Patch::Clear,
        other => other,
    }
}

fn parse_name(text: &str) -> ApiResult<TemplateName> {
    TemplateName::parse(text).ok_or_else(|| {
        ApiError::validation(format!(
            "Invalid `name` field: it must have 1 to {NAME_CHARS_MAX} characters and no control characters."
        ))
    })
}

fn parse_alias(text: &str) -> ApiResult<TemplateAlias> {
    TemplateAlias::parse(text).ok_or_else(|| {
        ApiError::validation(format!(
            "Invalid `alias` field: it must have 1 to {ALIAS_CHARS_MAX} letters from a to z in either case, digits, \
             dots, underscores and hyphens, start with a letter or a digit, and not be a UUID."
        ))
    })
}

fn parse_subject(text: String) -> ApiResult<String> {
    if is_subject(&text) {
        return Ok(text);
    }
    Err(ApiError::validation(format!(
        "Invalid `subject` field: it may have {SUBJECT_CHARS_MAX} characters, and no line breaks or other control \
         characters."
    )))
}

fn parse_html(text: String) -> ApiResult<String> {
    if text.is_empty() {
        return Err(ApiError::validation("Invalid `html` field: it must not be empty."));
    }
    Ok(text)
}

/// Refuses the fields of the compatible API that a template does not have, unless they are empty.
fn refuse_unstored(
    from: Option<IgnoredJson>,
    reply_to: Option<IgnoredJson>,
    variables: Option<IgnoredJson>,
) -> ApiResult<()> {
    let has_value = |field: Option<IgnoredJson>| field.is_some_and(|field| !field.is_empty);
    for (name, field) in [("from", from), ("reply_to", reply_to)] {
        if has_value(field) {
            return Err(ApiError::validation(format!(
                "Invalid `{name}` field: a template does not store it. Give `{name}` in the request that sends the \
                 template."
            )));
        }
    }
    if has_value(variables) {
        return Err(ApiError::validation(
            "Invalid `variables` field: a template has no list of variables. Write `{{{NAME}}}` or \
             `{{{NAME|fallback}}}` in its content, and give the values in the request that sends the template.",
        ));
    }
    Ok(())
}

/// OpenAPI schema of a text that is not empty.
struct NonEmptyText;

impl ToSchema for NonEmptyText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        schema::text().min_length(1).into()
    }
}

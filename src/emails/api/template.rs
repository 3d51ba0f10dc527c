//! `template` of a send: its JSON, and the content that the published version of the template renders to.
//!
//! A template is rendered after the rules of its email are checked, and before files are fetched. The emails of a
//! request share one read of each template.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use salvo::oapi::schema::SchemaType;
use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema};
use serde::de::{Error as _, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::request::{ParsedEmail, check_subject};
use crate::base::blocking;
use crate::base::id::TeamId;
use crate::emails::model::SUBJECT_CHARS_MAX;
use crate::http::{ApiError, ApiResult, BodyLimits, BudgetShare, ErrorCode, schema};
use crate::templates::api::AliasText;
use crate::templates::{
    RenderTemplateError, RenderedTemplate, TemplateAlias, TemplateContent, TemplateRef, TemplateVariables, Templates,
    UseTemplateError, VARIABLE_CHARS_MAX, VARIABLE_NAME_CHARS_MAX, VARIABLES_MAX,
};

/// Maximum size of the HTML part and the text part of one email that a template renders to, in bytes.
const RENDERED_BYTES_MAX: usize = 4 << 20;

/// A template to send: exactly one of `id` and `alias`, and the values of its variables.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct SendTemplateRequest {
    /// The id or the alias of a published template.
    #[salvo(schema(value_type = Option<AliasText>))]
    id: Option<String>,
    /// The alias of a published template, if `id` is absent.
    #[salvo(schema(value_type = Option<AliasText>))]
    alias: Option<String>,
    /// The values by the names of the variables: strings of up to 10,000 characters, or numbers. At most 100.
    variables: Option<GivenVariables>,
}

/// OpenAPI schema of [`SendTemplateRequest`] with its rule.
pub(super) struct SendTemplateSchema;

impl ToSchema for SendTemplateSchema {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        schema::with_rules::<SendTemplateRequest>(components, &schema::one_of_fields(&["id", "alias"]))
    }
}

/// The template of an email that is not rendered yet.
#[derive(Debug)]
pub struct PendingTemplate {
    reference: TemplateRef,
    variables: TemplateVariables,
    /// Whether the request gives the subject.
    has_subject: bool,
}

impl SendTemplateRequest {
    /// Checks all rules that need no store.
    ///
    /// # Errors
    /// 422 for the first broken rule.
    pub(super) fn parse(self, has_subject: bool) -> ApiResult<PendingTemplate> {
        let Self { id, alias, variables } = self;
        let reference = match (id, alias) {
            (Some(id), None) => TemplateRef::parse(&id)
                .ok_or_else(|| ApiError::validation("The `template.id` must be a valid UUID or an alias."))?,
            (None, Some(alias)) => TemplateAlias::parse(&alias)
                .map(TemplateRef::Alias)
                .ok_or_else(|| ApiError::validation("The `template.alias` must be a valid alias."))?,
            (None, None) => return Err(ApiError::missing_field("template.id")),
            (Some(_), Some(_)) => {
                return Err(ApiError::validation("Invalid `template` field: give either `id` or `alias`."));
            }
        };
        let GivenVariables(variables) = variables.unwrap_or_default();
        Ok(PendingTemplate { reference, variables: TemplateVariables(variables), has_subject })
    }
}

/// Checks that a request has content from exactly one source.
///
/// # Errors
/// 422 for none and for two.
pub(super) fn check_parts(html: Option<&str>, text: Option<&str>, has_template: bool) -> ApiResult<()> {
    let has_parts = html.is_some() || text.is_some();
    match (has_parts, has_template) {
        (false, false) => Err(ApiError::new(ErrorCode::MissingRequiredField, "Missing `html` or `text` field.")),
        (true, true) => Err(ApiError::validation(
            "Invalid `template` field: it takes the place of `html` and `text`. Leave them out.",
        )),
        _ => Ok(()),
    }
}

/// Values of variables in a request. Null equals an absent variable.
#[derive(Debug, Default)]
struct GivenVariables(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for GivenVariables {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(GivenVariablesVisitor)
    }
}

struct GivenVariablesVisitor;

impl<'de> Visitor<'de> for GivenVariablesVisitor {
    type Value = GivenVariables;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object of strings and numbers")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<GivenVariables, A::Error> {
        let mut values: BTreeMap<String, Option<String>> = BTreeMap::new();
        while let Some(name) = map.next_key::<String>()? {
            let is_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_';
            if !(1..=VARIABLE_NAME_CHARS_MAX).contains(&name.len()) || !name.bytes().all(is_name) {
                return Err(A::Error::custom(format_args!(
                    "the name of a variable must have 1 to {VARIABLE_NAME_CHARS_MAX} letters from a to z in either \
                     case, digits and underscores"
                )));
            }
            if values.contains_key(&name) {
                return Err(A::Error::custom(format_args!("duplicate variable `{name}`")));
            }
            if values.len() == VARIABLES_MAX {
                return Err(A::Error::custom(format_args!(
                    "more than {VARIABLES_MAX} variables, and no more are accepted"
                )));
            }
            let value = map.next_value::<Option<GivenValue>>()?;
            values.insert(name, value.map(|GivenValue(text)| text));
        }
        Ok(GivenVariables(values.into_iter().filter_map(|(name, value)| Some((name, value?))).collect()))
    }
}

impl ToSchema for GivenVariables {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let types = [BasicType::String, BasicType::Number, BasicType::Null];
        let value = Object::with_type(SchemaType::from_iter(types)).max_length(VARIABLE_CHARS_MAX);
        let name = schema::text().min_length(1).max_length(VARIABLE_NAME_CHARS_MAX).pattern("^[A-Za-z0-9_]+$");
        let object = Object::new().max_properties(VARIABLES_MAX).property_names(name).additional_properties(value);
        RefOr::Type(Schema::Object(Box::new(object)))
    }
}

/// Text of a string or a number.
struct GivenValue(String);

impl<'de> Deserialize<'de> for GivenValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(GivenValueVisitor)
    }
}

struct GivenValueVisitor;

impl Visitor<'_> for GivenValueVisitor {
    type Value = GivenValue;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a string or a number")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<GivenValue, E> {
        if text.len() > VARIABLE_CHARS_MAX && text.chars().count() > VARIABLE_CHARS_MAX {
            return Err(E::custom(format_args!("at most {VARIABLE_CHARS_MAX} characters are accepted")));
        }
        Ok(GivenValue(text.to_owned()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<GivenValue, E> {
        Ok(GivenValue(number.to_string()))
    }

    fn visit_u64<E>(self, number: u64) -> Result<GivenValue, E> {
        Ok(GivenValue(number.to_string()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<GivenValue, E> {
        Ok(GivenValue(number.to_string()))
    }
}

/// Renders the templates of one request. Holds the memory of the rendered content until it is dropped.
pub(super) struct RequestTemplates<'a> {
    templates: &'a Templates,
    bodies: &'a BodyLimits,
    team: TeamId,
    memory: BudgetShare,
    /// Bytes that the request can still render.
    bytes_left: usize,
}

impl<'a> RequestTemplates<'a> {
    pub(super) fn new(templates: &'a Templates, bodies: &'a BodyLimits, team: TeamId) -> Self {
        Self { templates, bodies, team, memory: bodies.empty_share(), bytes_left: bodies.email_bytes_max }
    }

    /// Renders the template of one email, if it has one.
    ///
    /// # Errors
    /// As [`RequestTemplates::render_all`].
    pub(super) async fn render_one(&mut self, email: ParsedEmail) -> ApiResult<ParsedEmail> {
        let mut emails = vec![(0, email)];
        match self.render_all(&mut emails).await?.pop() {
            Some((_, error)) => Err(error),
            None => Ok(emails.pop().expect("an email without an error stays").1),
        }
    }

    /// Renders the templates of emails that have one. Removes the emails whose template cannot be used, and returns the
    /// error of each with its index, in the order of the indexes.
    ///
    /// # Errors
    /// 503 without memory for the content; the error of the store.
    pub(super) async fn render_all(&mut self, emails: &mut Vec<(u32, ParsedEmail)>) -> ApiResult<Vec<(u32, ApiError)>> {
        let mut users: BTreeMap<TemplateRef, Vec<usize>> = BTreeMap::new();
        for (position, (_, email)) in emails.iter().enumerate() {
            if let Some(template) = &email.template {
                users.entry(template.reference.clone()).or_default().push(position);
            }
        }
        let mut failed: BTreeMap<usize, ApiError> = BTreeMap::new();
        for (reference, positions) in users {
            let (id, content) = match self.templates.published(self.team, reference).await {
                Ok((id, content)) => (id, Arc::new(content)),
                Err(UseTemplateError::Store(error)) => return Err(error.into()),
                Err(error) => {
                    failed.extend(positions.into_iter().map(|position| (position, refusal(&error))));
                    continue;
                }
            };
            for position in positions {
                let email = &mut emails[position].1;
                let Some(template) = email.template.take() else { continue };
                email.email.template = Some(id);
                match self.render(&content, template).await? {
                    Ok(rendered) => failed.extend(put(email, rendered).err().map(|error| (position, error))),
                    Err(error) => drop(failed.insert(position, error)),
                }
            }
        }
        let mut errors = Vec::with_capacity(failed.len());
        let mut position = 0;
        emails.retain(|(index, _)| {
            let error = failed.remove(&position);
            position += 1;
            let is_kept = error.is_none();
            errors.extend(error.map(|error| (*index, error)));
            is_kept
        });
        Ok(errors)
    }

    /// Renders one email. The inner error is that of the email.
    async fn render(
        &mut self,
        content: &Arc<TemplateContent>,
        template: PendingTemplate,
    ) -> ApiResult<ApiResult<RenderedTemplate>> {
        let (content, bytes_max) = (Arc::clone(content), RENDERED_BYTES_MAX.min(self.bytes_left));
        let PendingTemplate { variables, has_subject, .. } = template;
        let longest = variables.0.values().map(String::len).max().unwrap_or_default();
        let size = content.bytes() + content.count_fields() * longest;
        let work = move || content.render(&variables, has_subject, bytes_max);
        let rendered = match blocking::run_sized(size, work).await {
            Ok(rendered) => rendered,
            Err(error) => return Ok(Err(not_rendered(error, bytes_max))),
        };
        let bytes = rendered.bytes();
        self.memory.join(self.bodies.share(bytes).ok_or_else(BudgetShare::exhausted)?);
        self.bytes_left -= bytes;
        Ok(Ok(rendered))
    }
}

/// Puts rendered content into an email.
///
/// # Errors
/// 422 if the subject is missing or breaks a rule.
fn put(email: &mut ParsedEmail, rendered: RenderedTemplate) -> ApiResult<()> {
    let RenderedTemplate { subject, html, text } = rendered;
    let email = &mut email.email;
    if let Some(subject) = subject {
        email.subject = subject;
    }
    if email.subject.is_empty() {
        return Err(ApiError::new(
            ErrorCode::MissingRequiredField,
            "Missing `subject` field. The template has no subject either.",
        ));
    }
    check_subject(&email.subject)?;
    (email.html, email.text) = (Some(html), text);
    Ok(())
}

fn refusal(error: &UseTemplateError) -> ApiError {
    match error {
        UseTemplateError::NotPublished => ApiError::validation(
            "Invalid `template` field: the template is not published. Publish it with `POST /templates/{id}/publish`.",
        ),
        UseTemplateError::NotFound | UseTemplateError::Store(_) => ApiError::not_found("Template"),
    }
}

fn not_rendered(error: RenderTemplateError, bytes_max: usize) -> ApiError {
    ApiError::validation(match error {
        RenderTemplateError::MissingVariable(name) => format!(
            "Invalid `template` field: the variable `{}` has no value, and no fallback in the template. Give it in \
             `template.variables`.",
            name.chars().take(VARIABLE_NAME_CHARS_MAX).collect::<String>()
        ),
        RenderTemplateError::SubjectTooLong => {
            format!("Invalid `subject` field: at most {SUBJECT_CHARS_MAX} characters are accepted.")
        }
        RenderTemplateError::TooLarge if bytes_max < RENDERED_BYTES_MAX => {
            "Invalid `template` field: the rendered emails of the request are too large together. Send fewer in one \
             request."
                .to_owned()
        }
        RenderTemplateError::TooLarge => format!(
            "Invalid `template` field: with the given values, the template renders to more than \
             {RENDERED_BYTES_MAX} bytes."
        ),
    })
}

//! Template responses.

use salvo::oapi::{Array, Components, RefOr, Schema, ToSchema};
use serde::Serialize;

use crate::base::clock::to_iso;
use crate::base::id::TemplateId;
use crate::http::id_responses;
use crate::http::schema::{self, words_schema};
use crate::templates::model::{Template, TemplateContent, TemplateStatus};

words_schema!(
    /// The status of a template.
    pub(crate) TemplateStatusWord = TemplateStatus::ALL.map(TemplateStatus::as_str)
);

/// A template with its newest content.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Template"))]
pub(crate) struct TemplateResponse {
    /// Always `template`.
    object: &'static str,
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The alias.
    #[salvo(schema(required = true))]
    alias: Option<String>,
    /// `draft` or `published`.
    #[salvo(schema(value_type = TemplateStatusWord))]
    status: &'static str,
    /// Time of the last publication.
    #[salvo(schema(required = true))]
    published_at: Option<String>,
    /// Time of creation.
    created_at: String,
    /// Time of the last change or publication.
    updated_at: String,
    /// The id of the shown version of the content. Each change of the content makes a new one.
    current_version_id: String,
    /// Whether the shown version is not the published one.
    has_unpublished_versions: bool,
    /// Always null: the request that sends the template gives the sender.
    #[salvo(schema(required = true))]
    from: Option<String>,
    /// The subject.
    #[salvo(schema(required = true))]
    subject: Option<String>,
    /// Always null: the request that sends the template gives the addresses.
    #[salvo(schema(required = true))]
    reply_to: Option<Vec<String>>,
    /// The HTML part.
    html: String,
    /// The text part.
    #[salvo(schema(required = true))]
    text: Option<String>,
    /// Always empty: the content names its variables.
    #[salvo(schema(value_type = NoTemplateVariables))]
    variables: [&'static str; 0],
}

/// A template in a list, without its content.
#[derive(Serialize, ToSchema)]
pub(crate) struct ListedTemplate {
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The alias.
    #[salvo(schema(required = true))]
    alias: Option<String>,
    /// `draft` or `published`.
    #[salvo(schema(value_type = TemplateStatusWord))]
    status: &'static str,
    /// Time of the last publication.
    #[salvo(schema(required = true))]
    published_at: Option<String>,
    /// Time of creation.
    created_at: String,
    /// Time of the last change or publication.
    updated_at: String,
}

id_responses! {
    /// A template that was created or changed.
    pub(crate) struct ChangedTemplate(TemplateId): "template", "Always `template`.";
    /// A template that was deleted.
    pub(crate) struct DeletedTemplate(TemplateId): "template", "Always `template`.", deleted;
}

/// OpenAPI schema of an empty array.
struct NoTemplateVariables;

impl ToSchema for NoTemplateVariables {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Array::new().items(schema::text()).max_items(0).into()
    }
}

impl TemplateResponse {
    pub(crate) fn of(template: Template, content: TemplateContent) -> Self {
        let (current_version_id, has_unpublished_versions) =
            (template.version.to_string(), template.has_unpublished_version());
        let ListedTemplate { id, name, alias, status, published_at, created_at, updated_at } = template.into();
        let TemplateContent { subject, html, text, source: _ } = content;
        Self {
            object: "template",
            id,
            name,
            alias,
            status,
            published_at,
            created_at,
            updated_at,
            current_version_id,
            has_unpublished_versions,
            from: None,
            subject,
            reply_to: None,
            html,
            text,
            variables: [],
        }
    }
}

impl From<Template> for ListedTemplate {
    fn from(template: Template) -> Self {
        let status = template.status().as_str();
        let Template { id, name, alias, revision: _, version: _, published, created_ms, updated_ms } = template;
        Self {
            id: id.to_string(),
            name,
            alias,
            status,
            published_at: published.map(|(_, at_ms)| to_iso(at_ms)),
            created_at: to_iso(created_ms),
            updated_at: to_iso(updated_ms),
        }
    }
}

//! The endpoints under `/topics`.

use salvo::Writer;
use salvo::oapi::{ToSchema, endpoint};
use salvo::writing::Json;
use serde::{Deserialize, Serialize};

use super::model::{
    DESCRIPTION_CHARS_MAX, NAME_CHARS_MAX, NewTopic, Subscription, TOPICS_MAX, Topic, TopicChanges, TopicDescription,
    TopicName, TopicVisibility,
};
use super::service::{CreateTopicError, DeleteTopicError, Topics, UpdateTopicError};
use crate::api_keys::Caller;
use crate::base::clock::to_iso;
use crate::base::id::{TopicId, resource};
use crate::base::patch::Patch;
use crate::http::schema::{NonBlankLine, Paragraph, words_schema};
use crate::http::{
    ApiError, ApiResult, Body, Created, ErrorCode, JsonBody, List, ListQuery, PathId, ResourceNotFound, State,
    api_error, id_responses,
};

words_schema!(
    /// A choice of a contact about a topic.
    pub(crate) SubscriptionWord = Subscription::ALL.map(Subscription::as_str)
);
words_schema!(
    /// The visibility of a topic.
    pub(crate) VisibilityWord = TopicVisibility::ALL.map(TopicVisibility::as_str)
);

/// A topic to create.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct CreateTopicRequest {
    /// The name, 1 to 50 characters. Recipients see it.
    #[salvo(schema(required = true, value_type = NonBlankLine<NAME_CHARS_MAX>))]
    name: Option<String>,
    /// The subscription of a contact without a choice: `opt_in` or `opt_out`. It cannot be changed.
    #[salvo(schema(required = true, value_type = SubscriptionWord))]
    default_subscription: Option<String>,
    /// The text on the preference page, up to 200 characters.
    #[salvo(schema(value_type = Option<Paragraph<DESCRIPTION_CHARS_MAX>>))]
    description: Option<String>,
    /// `public` or `private`; `private` by default. The preference page lists only public topics.
    #[salvo(schema(value_type = Option<VisibilityWord>))]
    visibility: Option<String>,
}

impl JsonBody for CreateTopicRequest {}

/// Changes to a topic.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct UpdateTopicRequest {
    /// The name, 1 to 50 characters.
    #[salvo(schema(value_type = Option<NonBlankLine<NAME_CHARS_MAX>>))]
    name: Option<String>,
    /// The text on the preference page, up to 200 characters; null or an empty text removes it.
    #[serde(default)]
    #[salvo(schema(value_type = Option<Paragraph<DESCRIPTION_CHARS_MAX>>))]
    description: Patch<String>,
    /// `public` or `private`.
    #[salvo(schema(value_type = Option<VisibilityWord>))]
    visibility: Option<String>,
    // Decoded only for its specific error, so that it is not in the OpenAPI schema.
    #[salvo(schema(skip))]
    default_subscription: Option<String>,
}

impl JsonBody for UpdateTopicRequest {}

/// A topic.
#[derive(Serialize, ToSchema)]
#[salvo(schema(name = "Topic"))]
pub struct TopicResponse {
    /// Always `topic`.
    object: &'static str,
    /// The id.
    id: String,
    /// The name.
    name: String,
    /// The text on the preference page.
    #[salvo(schema(required = true))]
    description: Option<String>,
    /// The subscription of a contact without a choice: `opt_in` or `opt_out`.
    #[salvo(schema(value_type = SubscriptionWord))]
    default_subscription: &'static str,
    /// `public` or `private`.
    #[salvo(schema(value_type = VisibilityWord))]
    visibility: &'static str,
    /// Time of creation.
    created_at: String,
}

id_responses! {
    /// A topic that was deleted.
    pub struct DeletedTopic(TopicId): "topic", "Always `topic`.", deleted;
}

/// Creates a topic.
#[endpoint(tags("Topics"), responses(CreateTopicError))]
pub async fn create_topic(
    topics: State<Topics>,
    caller: Caller,
    topic: Body<CreateTopicRequest>,
) -> ApiResult<Created<TopicResponse>> {
    let new = topic.into_inner().parse()?;
    let topic = topics.create(caller.team, new).await?;
    Ok(Created(topic.into()))
}

/// Lists topics, newest first.
#[endpoint(tags("Topics"))]
pub async fn list_topics(
    topics: State<Topics>,
    caller: Caller,
    query: ListQuery<resource::Topic>,
) -> ApiResult<Json<List<TopicResponse>>> {
    let page = topics.list(caller.team, query.0).await?;
    Ok(Json(List::of(page, TopicResponse::from)))
}

/// Shows a topic.
#[endpoint(tags("Topics"), responses(ResourceNotFound))]
pub async fn get_topic(
    topics: State<Topics>,
    caller: Caller,
    id: PathId<resource::Topic>,
) -> ApiResult<Json<TopicResponse>> {
    let topic = topics.find(caller.team, id.0).await?;
    topic.map(|topic| Json(topic.into())).ok_or_else(not_found)
}

/// Changes the name, the description or the visibility of a topic.
#[endpoint(tags("Topics"), responses(UpdateTopicError))]
pub async fn update_topic(
    topics: State<Topics>,
    caller: Caller,
    id: PathId<resource::Topic>,
    changes: Body<UpdateTopicRequest>,
) -> ApiResult<Json<TopicResponse>> {
    let changes = changes.into_inner().parse()?;
    let topic = topics.update(caller.team, id.0, changes).await?;
    Ok(Json(topic.into()))
}

/// Deletes a topic. Emails already accepted under it still obey the choices of contacts.
#[endpoint(tags("Topics"), responses(DeleteTopicError))]
pub async fn delete_topic(
    topics: State<Topics>,
    caller: Caller,
    id: PathId<resource::Topic>,
) -> ApiResult<Json<DeletedTopic>> {
    topics.delete(caller.team, id.0).await?;
    Ok(Json(DeletedTopic::of(id.0)))
}

impl CreateTopicRequest {
    fn parse(self) -> ApiResult<NewTopic> {
        let Self { name, default_subscription, description, visibility } = self;
        let name = name.ok_or_else(|| ApiError::missing_field("name"))?;
        let default = default_subscription.ok_or_else(|| ApiError::missing_field("default_subscription"))?;
        Ok(NewTopic {
            name: parse_name(&name)?,
            default_subscription: Subscription::parse(&default).ok_or_else(|| {
                ApiError::validation("Invalid `default_subscription` field: use `opt_in` or `opt_out`.")
            })?,
            description: match parse_description(description.map_or(Patch::Keep, Patch::Set))? {
                Patch::Keep | Patch::Clear => None,
                Patch::Set(description) => Some(description),
            },
            visibility: parse_visibility(visibility)?.unwrap_or(TopicVisibility::Private),
        })
    }
}

impl UpdateTopicRequest {
    fn parse(self) -> ApiResult<TopicChanges> {
        let Self { name, description, visibility, default_subscription } = self;
        if default_subscription.is_some() {
            return Err(ApiError::validation(
                "The `default_subscription` field cannot be changed: it decides for everyone who never chose, and \
                 they would be subscribed or taken out without being asked. Leave the field out, or make another \
                 topic.",
            ));
        }
        Ok(TopicChanges {
            name: name.as_deref().map(parse_name).transpose()?,
            description: parse_description(description)?,
            visibility: parse_visibility(visibility)?,
        })
    }
}

fn parse_name(text: &str) -> ApiResult<TopicName> {
    TopicName::parse(text).ok_or_else(|| {
        ApiError::validation(format!(
            "Invalid `name` field: it must have 1 to {NAME_CHARS_MAX} characters and no control characters."
        ))
    })
}

/// Parses a description. An empty text removes it, because forms send one for an empty field.
fn parse_description(given: Patch<String>) -> ApiResult<Patch<TopicDescription>> {
    match given {
        Patch::Keep => Ok(Patch::Keep),
        Patch::Clear => Ok(Patch::Clear),
        Patch::Set(text) if text.trim().is_empty() => Ok(Patch::Clear),
        Patch::Set(text) => TopicDescription::parse(&text).map(Patch::Set).ok_or_else(|| {
            ApiError::validation(format!(
                "Invalid `description` field: it may have {DESCRIPTION_CHARS_MAX} characters, and no control \
                 characters but line breaks."
            ))
        }),
    }
}

fn parse_visibility(word: Option<String>) -> ApiResult<Option<TopicVisibility>> {
    let parse = |word: String| {
        TopicVisibility::parse(&word)
            .ok_or_else(|| ApiError::validation("Invalid `visibility` field: use `public` or `private`."))
    };
    word.map(parse).transpose()
}

impl From<Topic> for TopicResponse {
    fn from(topic: Topic) -> Self {
        let Topic { id, name, description, default_subscription, visibility, created_ms } = topic;
        Self {
            object: "topic",
            id: id.to_string(),
            name,
            description,
            default_subscription: default_subscription.as_str(),
            visibility: visibility.as_str(),
            created_at: to_iso(created_ms),
        }
    }
}

fn not_found() -> ApiError {
    ApiError::not_found("Topic")
}

api_error!(CreateTopicError: Validation {
    CreateTopicError::TooMany => {
        ApiError::validation(format!("A team has at most {TOPICS_MAX} topics. Delete one that is not used."))
    },
});

api_error!(UpdateTopicError: NotFound {
    UpdateTopicError::NotFound => not_found(),
});

api_error!(DeleteTopicError: NotFound, Conflict {
    DeleteTopicError::NotFound => not_found(),
    DeleteTopicError::InUse => ApiError::new(
        ErrorCode::Conflict,
        "A broadcast uses this topic. Delete the broadcast first, or take the topic out of it.",
    ),
});

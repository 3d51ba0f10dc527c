//! Attachments of an email: their JSON and their rules.
//!
//! [`AttachmentRequest`] decodes the JSON, and [`parse`] applies the rules and returns
//! [`ParsedAttachments`].
//! By default, content is always in the request. With [`CompatFeature::AttachmentPath`], an attachment can have the URL
//! of its file in `path` instead: it is a [`RemoteAttachment`] (`remote.rs`) until the file is fetched. With
//! [`CompatFeature::InlineImages`], an attachment with a `content_id` is an inline image. `content.rs` decodes the
//! three forms of content. `opt_in_text.rs` decodes the fields that are refused by default. `content_type.rs` has the
//! grammar and the table of media types. `content_id.rs` has the rules of content ids.

use std::fmt;

use salvo::oapi::schema::OneOf;
use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, SchemaFormat, ToSchema};
use serde::{Deserialize, Deserializer, de};

use super::excerpt::excerpt;
use super::model::AttachmentInfo;
use crate::base::compat::{Compat, CompatFeature};
use crate::base::media_type;
pub use content::AttachmentContent;
pub use content_id::{CONTENT_ID_BYTES_MAX, ContentId};
use content_type::canonical_type;
use opt_in_text::OptInText;
pub use remote::RemoteAttachment;

mod content;
mod content_id;
mod content_type;
mod opt_in_text;
mod remote;
#[cfg(test)]
mod tests;

/// Default limit of all attachments of one email, in decoded bytes.
pub const ATTACHMENTS_BYTES_MAX_DEFAULT: u64 = 40 * 1024 * 1024;
/// Maximum number of attachments of an email.
pub const ATTACHMENTS_MAX: usize = 100;
/// Maximum length of a file name, as in common file systems.
pub const FILENAME_CHARS_MAX: usize = 255;

/// An entry of `attachments` in a request.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct AttachmentRequest {
    /// The file: base64 text, an array of bytes, or a serialized Node.js `Buffer`.
    #[salvo(schema(required = true, value_type = AttachmentContent))]
    content: Option<AttachmentContent>,
    /// The file name. If absent, it is derived from the content type.
    #[serde(default, deserialize_with = "filename_or_false")]
    #[salvo(schema(value_type = Option<FilenameText>))]
    filename: Option<String>,
    /// The media type. If absent, it is derived from the extension of the file name.
    #[serde(alias = "contentType")]
    #[salvo(schema(value_type = Option<MediaTypeText>))]
    content_type: Option<String>,
    // Refused by default, so that they are not in the OpenAPI schema.
    #[salvo(schema(skip))]
    path: Option<OptInText>,
    #[serde(alias = "contentId")]
    #[salvo(schema(skip))]
    content_id: Option<OptInText>,
    #[serde(alias = "inlineContentId")]
    #[salvo(schema(skip))]
    inline_content_id: Option<OptInText>,
}

/// OpenAPI schema of a file name. Some SDKs send `false` for a file without a name.
struct FilenameText;

impl ToSchema for FilenameText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        // The characters that `base_name` refuses.
        let visible = r"^[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]*$";
        let none = Object::with_type(BasicType::Boolean).enum_values([false]);
        OneOf::new().item(Object::with_type(BasicType::String).pattern(visible)).item(none).into()
    }
}

/// OpenAPI schema of a media type.
struct MediaTypeText;

impl ToSchema for MediaTypeText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        Object::with_type(BasicType::String).format(SchemaFormat::Custom("media-type".to_owned())).into()
    }
}

/// A file of an email. The name has no directory and the content type is valid. Neither contains a control
/// character.
#[derive(Clone, PartialEq, Eq)]
pub struct Attachment {
    filename: String,
    content_type: String,
    content_id: Option<ContentId>,
    content: Vec<u8>,
}

impl Attachment {
    /// Returns a stored attachment. An image whose content id has been erased is a file.
    pub(in crate::emails) fn stored(info: &AttachmentInfo, content: Vec<u8>) -> Self {
        Self {
            filename: info.filename.clone(),
            content_type: info.content_type.clone(),
            content_id: info.part_content_id().and_then(ContentId::parse),
            content,
        }
    }

    pub fn filename(&self) -> &str {
        &self.filename
    }

    /// Returns the media type in lower case, with the parameters of the request.
    pub fn content_type(&self) -> &str {
        &self.content_type
    }

    pub fn content(&self) -> &[u8] {
        &self.content
    }

    /// Returns the content id of an inline image; `None` for a file.
    pub fn content_id(&self) -> Option<&ContentId> {
        self.content_id.as_ref()
    }
}

/// The attachments of an email after the rules, each list in the order of the request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ParsedAttachments {
    pub files: Vec<Attachment>,
    /// Attachments whose files are not fetched yet.
    pub remote: Vec<RemoteAttachment>,
}

/// Omits the content, which is confidential and large.
impl fmt::Debug for Attachment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attachment")
            .field("filename", &self.filename)
            .field("content_type", &self.content_type)
            .field("content_bytes", &self.content.len())
            .finish()
    }
}

/// Checks the attachments of one email. `bytes_max` bounds their decoded size together.
///
/// # Errors
/// [`AttachmentError`] of the first broken rule.
pub fn parse(
    requests: Vec<AttachmentRequest>,
    bytes_max: u64,
    compat: Compat,
) -> Result<ParsedAttachments, AttachmentError> {
    if requests.len() > ATTACHMENTS_MAX {
        return Err(AttachmentError::TooMany);
    }
    let mut bytes: u64 = 0;
    let mut parsed = ParsedAttachments::default();
    let mut content_ids = Vec::new();
    for (index, request) in requests.into_iter().enumerate() {
        let refuse = |fault| AttachmentError::Entry { index, fault };
        let AttachmentRequest { content, filename, content_type, path, content_id, inline_content_id } = request;
        let path = parse_path(path, content.is_some(), compat).map_err(refuse)?;
        let content_id = parse_content_id(content_id, inline_content_id, compat).map_err(refuse)?;
        if content_id.is_some() && content_ids.contains(&content_id) {
            return Err(refuse(EntryFault::RepeatedContentId));
        }
        content_ids.push(content_id.clone());
        if path.is_none() && content.is_none() {
            let is_remote = compat.accepts(CompatFeature::AttachmentPath);
            return Err(refuse(if is_remote { EntryFault::NoContentOrPath } else { EntryFault::NoContent }));
        }
        let size = content.as_ref().map_or(0, |content| content.0.len() as u64);
        bytes = bytes.saturating_add(size);
        if bytes > bytes_max {
            return Err(AttachmentError::TooLarge { bytes_max });
        }

        let filename = filename.as_deref().map(base_name).transpose().map_err(refuse)?.flatten();
        let content_type = match content_type.as_deref().map(str::trim) {
            None | Some("") => None,
            Some(given) => Some(canonical_type(given).ok_or_else(|| refuse(EntryFault::ContentType(excerpt(given))))?),
        };
        if let Some(path) = path {
            parsed.remote.push(RemoteAttachment { index, path, filename, content_type, content_id });
            continue;
        }
        let AttachmentContent(content) = content.unwrap_or_default();
        let by_name =
            || filename.as_deref().and_then(media_type::of_filename).unwrap_or(media_type::OCTET_STREAM).to_owned();
        let content_type = content_type.unwrap_or_else(by_name);
        let filename = filename.unwrap_or_else(|| default_name(index, &content_type));
        parsed.files.push(Attachment { filename, content_type, content_id, content });
    }
    Ok(parsed)
}

/// Returns the URL of a file that is fetched; `None` for a file in the request. Some SDKs send an empty text for none.
fn parse_path(path: Option<OptInText>, has_content: bool, compat: Compat) -> Result<Option<String>, EntryFault> {
    if path.is_some() && !compat.accepts(CompatFeature::AttachmentPath) {
        return Err(EntryFault::Path);
    }
    let path = path.map(|path| path.into_text("path")).transpose()?.filter(|path| !path.is_empty());
    if path.is_some() && has_content { Err(EntryFault::PathAndContent) } else { Ok(path) }
}

/// Returns the name of a file without one.
fn default_name(index: usize, content_type: &str) -> String {
    match media_type::extension(content_type) {
        Some(extension) => format!("attachment-{}.{extension}", index + 1),
        None => format!("attachment-{}", index + 1),
    }
}

/// Parses the content id of an attachment. SDKs have two names for it. Some of them send an empty text for none.
fn parse_content_id(
    content_id: Option<OptInText>,
    inline_content_id: Option<OptInText>,
    compat: Compat,
) -> Result<Option<ContentId>, EntryFault> {
    if content_id.is_none() && inline_content_id.is_none() {
        return Ok(None);
    }
    if !compat.accepts(CompatFeature::InlineImages) {
        return Err(EntryFault::ContentId);
    }
    let parse = |given: String| ContentId::parse(&given).ok_or_else(|| EntryFault::ContentIdForm(excerpt(&given)));
    let parse = |name: &'static str, given: Option<OptInText>| {
        let given = given.map(|given| given.into_text(name)).transpose()?;
        given.filter(|given| !given.is_empty()).map(parse).transpose()
    };
    match (parse("content_id", content_id)?, parse("inline_content_id", inline_content_id)?) {
        (Some(one), Some(other)) if one != other => Err(EntryFault::TwoContentIds),
        (one, other) => Ok(one.or(other)),
    }
}

/// Returns the last component of a name that can be a Unix or Windows path; `None` if it is empty.
fn base_name(name: &str) -> Result<Option<String>, EntryFault> {
    // Direction overrides are rejected, because they can show `exe.gpj` as `jpg.exe`.
    let is_refused = |c: char| c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
    if name.chars().any(is_refused) {
        return Err(EntryFault::FilenameCharacters);
    }
    let base = name.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    if base.chars().count() > FILENAME_CHARS_MAX {
        return Err(EntryFault::FilenameTooLong);
    }
    Ok(if matches!(base, "" | "." | "..") { None } else { Some(base.to_owned()) })
}

/// Broken rule of the attachments.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AttachmentError {
    #[error("there are more than {ATTACHMENTS_MAX} attachments")]
    TooMany,
    #[error("the attachments are larger than {bytes_max} bytes together, the most that one email takes")]
    TooLarge { bytes_max: u64 },
    #[error("entry {index} {fault}")]
    Entry { index: usize, fault: EntryFault },
}

/// Broken rule of one entry. Texts are excerpts of the request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum EntryFault {
    #[error(
        "has a `path`, and remote files are never fetched; give the file itself as base64 in `content`, or {}",
        CompatFeature::AttachmentPath.advice()
    )]
    Path,
    #[error("has a `path` and `content`; give one of them")]
    PathAndContent,
    #[error("has a `{0}` that is not a text; give it as a JSON string")]
    NotText(&'static str),
    #[error("has neither `content` nor `path`; give the file as base64, or its URL")]
    NoContentOrPath,
    #[error("has a `path` that could not be fetched: {0}")]
    NotFetched(String),
    #[error(
        "has a `content_id`, and inline images are not supported; leave it out to attach the file, link to an \
         image on the web, or {}",
        CompatFeature::InlineImages.advice()
    )]
    ContentId,
    #[error(
        "has the `content_id` `{0}`; use at most {CONTENT_ID_BYTES_MAX} ASCII letters, digits and `-_.+=`, \
         with at most one `@` between them"
    )]
    ContentIdForm(String),
    #[error("has a `content_id` and another `inline_content_id`; give one of them")]
    TwoContentIds,
    #[error("has the `content_id` of an earlier entry; give each image its own")]
    RepeatedContentId,
    #[error("has no `content`; give the file as base64")]
    NoContent,
    #[error("has a `filename` with a control or direction character; use visible characters only")]
    FilenameCharacters,
    #[error("has a `filename` longer than {FILENAME_CHARS_MAX} characters")]
    FilenameTooLong,
    #[error(
        "has the `content_type` `{0}`; give a type such as `application/pdf` or `text/calendar; method=REQUEST`, and no multipart type"
    )]
    ContentType(String),
}

/// Decodes a file name. Some SDKs send `false` for a file without a name.
fn filename_or_false<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    struct FilenameVisitor;

    impl de::Visitor<'_> for FilenameVisitor {
        type Value = Option<String>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("a file name")
        }

        fn visit_str<E: de::Error>(self, name: &str) -> Result<Option<String>, E> {
            Ok(Some(name.to_owned()))
        }

        fn visit_string<E: de::Error>(self, name: String) -> Result<Option<String>, E> {
            Ok(Some(name))
        }

        fn visit_bool<E: de::Error>(self, given: bool) -> Result<Option<String>, E> {
            if given { Err(E::invalid_type(de::Unexpected::Bool(true), &self)) } else { Ok(None) }
        }

        fn visit_unit<E: de::Error>(self) -> Result<Option<String>, E> {
            Ok(None)
        }
    }

    deserializer.deserialize_any(FilenameVisitor)
}

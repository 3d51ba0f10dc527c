//! Tags: names and values that a caller adds to an email and receives in its events.

use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema};
use serde::{Deserialize, Serialize};

use super::excerpt::excerpt;

/// Maximum number of tags of an email. Every event of the email contains them.
pub const TAGS_MAX: usize = 50;
/// Maximum length of a name or a value, in characters.
pub const TAG_CHARS_MAX: usize = 256;

/// A tag in a request.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub struct TagRequest {
    /// ASCII letters, digits, underscores and hyphens; at most 256. Each name once.
    #[salvo(schema(value_type = TagText))]
    pub name: String,
    /// ASCII letters, digits, underscores and hyphens; at most 256.
    #[salvo(schema(value_type = TagText))]
    pub value: String,
}

/// OpenAPI schema of a name or a value.
struct TagText;

impl ToSchema for TagText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let text = Object::with_type(BasicType::String);
        text.min_length(1).max_length(TAG_CHARS_MAX).pattern("^[A-Za-z0-9_-]+$").into()
    }
}

/// A tag whose name and value are 1 to 256 ASCII letters, digits, underscores and hyphens.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, ToSchema)]
#[serde(try_from = "TagRequest")]
pub struct Tag {
    name: String,
    value: String,
}

impl Tag {
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn value(&self) -> &str {
        &self.value
    }
}

impl TryFrom<TagRequest> for Tag {
    type Error = TagError;

    fn try_from(TagRequest { name, value }: TagRequest) -> Result<Self, TagError> {
        check(&name).map_err(|fault| TagError::Name(excerpt(&name), fault))?;
        check(&value).map_err(|fault| TagError::Value(excerpt(&name), fault))?;
        Ok(Self { name, value })
    }
}

/// Checks the tags of one email.
///
/// # Errors
/// [`TagError`] of the first broken rule.
pub fn parse(requests: Vec<TagRequest>) -> Result<Vec<Tag>, TagError> {
    if requests.len() > TAGS_MAX {
        return Err(TagError::TooMany);
    }
    let mut tags: Vec<Tag> = Vec::with_capacity(requests.len());
    for request in requests {
        let tag = Tag::try_from(request)?;
        // Webhooks encode tags as an object, which has one value per name.
        if tags.iter().any(|earlier| earlier.name == tag.name) {
            return Err(TagError::Duplicate(excerpt(&tag.name)));
        }
        tags.push(tag);
    }
    Ok(tags)
}

fn check(text: &str) -> Result<(), TagFault> {
    if text.is_empty() {
        return Err(TagFault::Empty);
    }
    if !text.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-') {
        return Err(TagFault::Characters);
    }
    if text.len() > TAG_CHARS_MAX {
        return Err(TagFault::TooLong);
    }
    Ok(())
}

/// Broken rule of the tags. The text is an excerpt of the name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TagError {
    #[error("there are more than {TAGS_MAX} tags")]
    TooMany,
    #[error("the name `{0}` is used twice; give each tag a name of its own")]
    Duplicate(String),
    #[error("the tag name `{0}` {1}")]
    Name(String, TagFault),
    #[error("the value of tag `{0}` {1}")]
    Value(String, TagFault),
}

/// Broken rule of a name or a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TagFault {
    #[error("is empty; 1 to {TAG_CHARS_MAX} characters are accepted")]
    Empty,
    #[error("holds a character that is not accepted; use ASCII letters, digits, underscores and hyphens")]
    Characters,
    #[error("is longer than {TAG_CHARS_MAX} characters")]
    TooLong,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn tag(name: &str, value: &str) -> TagRequest {
        TagRequest { name: name.to_owned(), value: value.to_owned() }
    }

    #[test]
    fn letters_digits_underscores_and_hyphens_are_accepted() {
        let long = "a".repeat(256);
        for (name, value) in [("category", "confirm_email"), ("A-9_z", "0"), (&*long, &*long)] {
            let tags = parse(vec![tag(name, value)]).unwrap();
            assert_eq!((tags[0].name(), tags[0].value()), (name, value));
        }
        assert_eq!(parse(Vec::new()), Ok(Vec::new()));
    }

    #[test]
    fn everything_else_is_refused() {
        let long = "a".repeat(257);
        for (text, fault) in [
            ("", TagFault::Empty),
            ("a b", TagFault::Characters),
            ("é", TagFault::Characters),
            ("a.b", TagFault::Characters),
            ("a\n", TagFault::Characters),
            (&long, TagFault::TooLong),
        ] {
            assert_eq!(parse(vec![tag(text, "v")]), Err(TagError::Name(excerpt(text), fault)), "{text:?}");
            assert_eq!(parse(vec![tag("n", text)]), Err(TagError::Value("n".to_owned(), fault)), "{text:?}");
        }
    }

    #[test]
    fn names_are_unique_and_few() {
        assert_eq!(parse(vec![tag("a", "1"), tag("a", "2")]), Err(TagError::Duplicate("a".to_owned())));
        assert!(parse(vec![tag("a", "1"), tag("A", "1")]).is_ok());

        let many = |count: usize| parse((0..count).map(|n| tag(&n.to_string(), "1")).collect());
        assert!(many(50).is_ok());
        assert_eq!(many(51), Err(TagError::TooMany));
    }

    #[test]
    fn json_has_a_name_and_a_value_and_nothing_else() {
        let tag: Tag = serde_json::from_str(r#"{"name":"a","value":"1"}"#).unwrap();
        assert_eq!(serde_json::to_string(&tag).unwrap(), r#"{"name":"a","value":"1"}"#);
        for refused in [r#"{"name":"a"}"#, r#"{"name":"a","value":"1","x":1}"#, r#"{"name":"a","value":1}"#] {
            assert!(serde_json::from_str::<TagRequest>(refused).is_err(), "{refused}");
        }
        assert!(serde_json::from_str::<Tag>(r#"{"name":"a b","value":"1"}"#).is_err());
    }

    proptest! {
        #[test]
        fn an_error_quotes_little_of_its_cause(name in any::<String>(), value in any::<String>()) {
            if let Err(error) = parse(vec![tag(&name, &value)]) {
                prop_assert!(error.to_string().chars().count() < 200);
            }
        }
    }
}

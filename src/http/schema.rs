//! Types of fields in the OpenAPI document, for `#[salvo(schema(value_type = …))]`. Their parameters are the constants
//! of the rules, so that the document cannot differ from the code.

use salvo::oapi::{Array, BasicType, Components, KnownFormat, Object, RefOr, Schema, SchemaFormat, ToSchema};
use serde_json::{Map, Value, json};

/// Pattern of a text without control characters.
const NO_CONTROL: &str = r"^[^\x00-\x1f\x7f-\x9f]*$";
/// Pattern of a text without control characters but line breaks.
const PARAGRAPH: &str = r"^[^\x00-\x09\x0b\x0c\x0e-\x1f\x7f-\x9f]*$";
/// Pattern of a text without control characters that is not blank.
const ONE_LINE: &str = r"^[^\x00-\x1f\x7f-\x9f]*[^\s\x00-\x1f\x7f-\x9f][^\x00-\x1f\x7f-\x9f]*$";

/// A text of at most `MAX` characters.
pub(crate) struct TextUpTo<const MAX: usize>;

/// A text of at most `MAX` characters without control characters.
pub(crate) struct LineText<const MAX: usize>;

/// A text of 1 to `MAX` characters without control characters.
pub(crate) struct NonEmptyLine<const MAX: usize>;

/// A text of at most `MAX` characters without control characters but line breaks.
pub(crate) struct Paragraph<const MAX: usize>;

/// A time in ISO 8601, or words such as `in 1 hour`.
pub(crate) struct ScheduleText;

/// A text of 1 to `MAX` characters without control characters that is not blank.
pub(crate) struct NonBlankLine<const MAX: usize>;

/// A UUID in its hyphenated form.
pub(crate) struct UuidText;

/// A bare email address.
pub(crate) struct AddressText;

/// An address with or without a display name.
pub(crate) struct MailboxText;

/// Returns the schema of a text.
pub(crate) fn text() -> Object {
    Object::with_type(BasicType::String)
}

/// Returns the schema of a text with a format. Formats that OpenAPI does not define are documented in the description
/// of their field.
pub(crate) fn formatted(format: &str) -> Object {
    text().format(SchemaFormat::Custom(format.to_owned()))
}

/// Returns the schema of a UUID.
pub(crate) fn uuid() -> Object {
    text().format(SchemaFormat::KnownFormat(KnownFormat::Uuid))
}

macro_rules! schema_of {
    ($([$($parameters:tt)*] $type:ty = $schema:expr;)+) => { $(
        impl<$($parameters)*> ToSchema for $type {
            fn to_schema(_components: &mut Components) -> RefOr<Schema> {
                $schema.into()
            }
        }
    )+ };
}

schema_of! {
    [const MAX: usize] TextUpTo<MAX> = text().max_length(MAX);
    [const MAX: usize] LineText<MAX> = text().max_length(MAX).pattern(NO_CONTROL);
    [const MAX: usize] NonBlankLine<MAX> = text().min_length(1).max_length(MAX).pattern(ONE_LINE);
    [const MAX: usize] NonEmptyLine<MAX> = text().min_length(1).max_length(MAX).pattern(NO_CONTROL);
    [const MAX: usize] Paragraph<MAX> = text().max_length(MAX).pattern(PARAGRAPH);
    [] ScheduleText = formatted("schedule");
    [] UuidText = uuid();
    [] AddressText = formatted("email");
    [] MailboxText = formatted("mailbox");
}

/// Declares a type whose schema is a list of words.
macro_rules! words_schema {
    ($(#[$about:meta])* $visibility:vis $name:ident = $words:expr) => {
        $(#[$about])*
        $visibility struct $name;

        impl salvo::oapi::ToSchema for $name {
            fn to_schema(_components: &mut salvo::oapi::Components) -> salvo::oapi::RefOr<salvo::oapi::Schema> {
                $crate::http::schema::text().enum_values($words).into()
            }
        }
    };
}
pub(crate) use words_schema;

/// An array of 1 to `MAX` items.
pub(crate) struct NonEmptyList<const MAX: usize, T>(std::marker::PhantomData<T>);

impl<const MAX: usize, T: ToSchema + 'static> ToSchema for NonEmptyList<MAX, T> {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        Array::new().items(T::to_schema(components)).min_items(1).max_items(MAX).into()
    }
}

/// Returns the schema of `T` and adds rules to its component: keywords of JSON Schema that concern several fields.
pub(crate) fn with_rules<T: ToSchema>(components: &mut Components, rules: &Map<String, Value>) -> RefOr<Schema> {
    let schema = T::to_schema(components);
    if let RefOr::Ref(reference) = &schema
        && let Some(name) = reference.ref_location.rsplit('/').next()
        && let Some(RefOr::Type(Schema::Object(component))) = components.schemas.get_mut(name)
    {
        component.extensions.extend(rules.iter().map(|(keyword, rule)| (keyword.clone(), rule.clone())));
    }
    schema
}

/// Returns the rule that at least one of the fields is present and not null.
pub(crate) fn any_of_fields(fields: &[&str]) -> Map<String, Value> {
    Map::from_iter([("anyOf".to_owned(), fields.iter().map(|field| with_field(field)).collect())])
}

/// Returns the rule that all fields of at least one group are present and not null.
pub(crate) fn any_of_field_groups(groups: &[&[&str]]) -> Map<String, Value> {
    Map::from_iter([("anyOf".to_owned(), groups.iter().map(|fields| with_fields(fields)).collect())])
}

/// Returns the rule that exactly one of the fields is present and not null.
pub(crate) fn one_of_fields(fields: &[&str]) -> Map<String, Value> {
    Map::from_iter([("oneOf".to_owned(), fields.iter().map(|field| with_field(field)).collect())])
}

fn with_field(field: &str) -> Value {
    with_fields(&[field])
}

fn with_fields(fields: &[&str]) -> Value {
    let not_null = |field: &&str| ((*field).to_owned(), json!({ "not": { "type": "null" } }));
    json!({ "required": fields, "properties": fields.iter().map(not_null).collect::<Map<String, Value>>() })
}

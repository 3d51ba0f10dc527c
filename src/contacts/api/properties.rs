//! Property values in requests (an object of scalars) and in responses (an object of typed values).

use std::fmt;

use salvo::oapi::schema::{OneOf, SchemaType};
use salvo::oapi::{BasicType, Components, Object, RefOr, Schema, ToSchema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::contact_properties::{PropertyKind, PropertyValue, VALUE_CHARS_MAX, VALUE_KEY_CHARS_MAX, to_text};
use crate::contacts::check::key_excerpt;
use crate::contacts::{CONTACT_PROPERTIES_MAX, PropertyChange};
use crate::http::{ApiError, ApiResult, schema};

/// Properties of a request: a flat object of strings, numbers and nulls.
#[derive(Debug)]
pub(crate) struct RequestProperties(Vec<(String, Value)>);

impl RequestProperties {
    /// Validates the keys and values as far as possible without the property definitions of the team.
    pub(super) fn parse(self) -> ApiResult<Vec<(String, PropertyChange)>> {
        let change = |(key, value): (String, Value)| match to_text(&key, &value) {
            Ok(None) => Ok((key, PropertyChange::Remove)),
            Ok(Some(text)) if value.is_number() => Ok((key, PropertyChange::SetNumber(text))),
            Ok(Some(text)) => Ok((key, PropertyChange::Set(text))),
            Err(error) => {
                Err(ApiError::validation(format!("Invalid `properties.{}` field: {error}.", key_excerpt(&key))))
            }
        };
        self.0.into_iter().map(change).collect()
    }
}

impl<'de> Deserialize<'de> for RequestProperties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Properties;

        impl<'de> Visitor<'de> for Properties {
            type Value = RequestProperties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings, numbers and nulls")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut properties: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    // Keys are compared ignoring case. This includes keys without a definition, because the
                    // team may define them later.
                    if properties.iter().any(|(earlier, _)| earlier.eq_ignore_ascii_case(&key)) {
                        return Err(de::Error::custom(format_args!("duplicate property `{}`", key_excerpt(&key))));
                    }
                    if properties.len() == CONTACT_PROPERTIES_MAX {
                        return Err(de::Error::custom(format_args!(
                            "more than {CONTACT_PROPERTIES_MAX} properties, and no more are accepted"
                        )));
                    }
                    properties.push((key, value));
                }
                Ok(RequestProperties(properties))
            }
        }

        deserializer.deserialize_map(Properties)
    }
}

impl ToSchema for RequestProperties {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let description = "Values by key: strings or numbers. Null removes the stored value.";
        let types = [BasicType::String, BasicType::Number, BasicType::Null];
        let value = Object::with_type(SchemaType::from_iter(types)).max_length(VALUE_CHARS_MAX);
        let object = Object::new()
            .description(description)
            .max_properties(CONTACT_PROPERTIES_MAX)
            .property_names(schema::text().max_length(VALUE_KEY_CHARS_MAX).pattern(r"\S"))
            .additional_properties(value);
        RefOr::Type(Schema::Object(Box::new(object)))
    }
}

/// Properties of a response: `{key: {type, value}}`.
#[derive(Debug)]
pub(crate) struct ResponseProperties(pub(super) Vec<(String, PropertyValue)>);

#[derive(serde::Serialize)]
struct ResponseProperty<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    value: &'a PropertyValue,
}

impl Serialize for ResponseProperties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, &ResponseProperty { kind: value.kind().as_str(), value })?;
        }
        map.end()
    }
}

impl ToSchema for ResponseProperties {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let value = |kind: PropertyKind, value: BasicType| {
            Object::new()
                .property("type", schema::text().enum_values([kind.as_str()]))
                .property("value", Object::with_type(value))
                .required("type")
                .required("value")
        };
        let values = OneOf::new()
            .item(value(PropertyKind::String, BasicType::String))
            .item(value(PropertyKind::Number, BasicType::Number));
        let object = Object::new().description("Values by key.").additional_properties(values);
        RefOr::Type(Schema::Object(Box::new(object)))
    }
}

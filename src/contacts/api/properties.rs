//! Property values in requests and answers: an object of scalars in, an object of typed values out.

use std::fmt;

use salvo::oapi::{Components, Object, RefOr, Schema, ToSchema};
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap as _, Serializer};
use serde_json::Value;

use crate::contact_properties::{PropertyValue, to_text};
use crate::contacts::check::shown_key;
use crate::contacts::{CONTACT_PROPERTIES_MAX, PropertyChange};
use crate::http::{ApiError, ApiResult};

/// What a request says of properties: a flat object of strings, numbers and nulls.
#[derive(Debug)]
pub(crate) struct GivenProperties(Vec<(String, Value)>);

impl GivenProperties {
    /// Checks what can be said without knowing how the team defined its properties.
    pub(super) fn parse(self) -> ApiResult<Vec<(String, PropertyChange)>> {
        let change = |(key, value): (String, Value)| match to_text(&key, &value) {
            Ok(None) => Ok((key, PropertyChange::Remove)),
            Ok(Some(text)) => Ok((key, PropertyChange::Set(text))),
            Err(error) => {
                Err(ApiError::validation(format!("Invalid `properties.{}` field: {error}.", shown_key(&key))))
            }
        };
        self.0.into_iter().map(change).collect()
    }
}

impl<'de> Deserialize<'de> for GivenProperties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Properties;

        impl<'de> Visitor<'de> for Properties {
            type Value = GivenProperties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of strings, numbers and nulls")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut properties: Vec<(String, Value)> = Vec::new();
                while let Some((key, value)) = map.next_entry::<String, Value>()? {
                    // Keys are the same in either letter case, those that are defined later as well.
                    if properties.iter().any(|(known, _)| known.eq_ignore_ascii_case(&key)) {
                        return Err(de::Error::custom(format_args!("duplicate property `{}`", shown_key(&key))));
                    }
                    if properties.len() == CONTACT_PROPERTIES_MAX {
                        return Err(de::Error::custom(format_args!(
                            "more than {CONTACT_PROPERTIES_MAX} properties, and no more are accepted"
                        )));
                    }
                    properties.push((key, value));
                }
                Ok(GivenProperties(properties))
            }
        }

        deserializer.deserialize_map(Properties)
    }
}

impl ToSchema for GivenProperties {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let about = "Values by key: strings or numbers. Null removes what is there.";
        let object = Object::new().description(about).additional_properties(Object::new().description("A value."));
        RefOr::Type(Schema::Object(Box::new(object)))
    }
}

/// Properties as a contact shows them: `{key: {type, value}}`.
#[derive(Debug)]
pub(crate) struct ShownProperties(pub(super) Vec<(String, PropertyValue)>);

#[derive(serde::Serialize)]
struct ShownProperty<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    value: &'a PropertyValue,
}

impl Serialize for ShownProperties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, &ShownProperty { kind: value.kind().as_str(), value })?;
        }
        map.end()
    }
}

impl ToSchema for ShownProperties {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let value = Object::new()
            .property("type", Object::new().description("`string` or `number`."))
            .property("value", Object::new().description("The value, of that type."));
        let object = Object::new().description("Values by key.").additional_properties(value);
        RefOr::Type(Schema::Object(Box::new(object)))
    }
}

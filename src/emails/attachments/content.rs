//! The content of an attachment, decoded while the request is parsed.

use std::fmt;

use base64::Engine as _;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use salvo::oapi::schema::{AdditionalProperties, OneOf};
use salvo::oapi::{Array, BasicType, Components, Object, RefOr, Schema, ToSchema};
use serde::{Deserialize, Deserializer, de};

/// The bytes of an attachment, decoded from one of the three forms that the SDKs send.
#[derive(Default, PartialEq, Eq)]
pub struct AttachmentContent(pub Vec<u8>);

impl fmt::Debug for AttachmentContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({} bytes)", self.0.len())
    }
}

/// Base64 decoder. Padding is optional. Trailing bits must be zero, because other bits are a sign of
/// truncated text.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Pattern of base64 without white space. The last character of an incomplete group has zero bits at its end.
const PATTERN: &str = "^([A-Za-z0-9+/]{4})*([A-Za-z0-9+/][AQgw](==)?|[A-Za-z0-9+/]{2}[AEIMQUYcgkosw048]=?)?$";

fn decode_base64(text: &str) -> Result<Vec<u8>, &'static str> {
    let decoded = if text.bytes().any(|b| b.is_ascii_whitespace()) {
        // RFC 2045 §6.8: line breaks in base64 are ignored.
        let dense: Vec<u8> = text.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
        BASE64.decode(dense)
    } else {
        BASE64.decode(text)
    };
    decoded.map_err(|_| {
        if text.starts_with("data:") {
            "content is a data URL; give only the base64 after its comma"
        } else {
            "content is not base64; give the file encoded as standard base64, or an array of bytes"
        }
    })
}

const NOT_A_BUFFER: &str = "content is an object other than a serialized Buffer; give the file encoded as standard base64, or an array of bytes";

impl<'de> Deserialize<'de> for AttachmentContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ContentVisitor)
    }
}

struct ContentVisitor;

impl<'de> de::Visitor<'de> for ContentVisitor {
    type Value = AttachmentContent;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("base64 text, an array of bytes, or a serialized Buffer")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<AttachmentContent, E> {
        decode_base64(text).map(AttachmentContent).map_err(E::custom)
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, bytes: A) -> Result<AttachmentContent, A::Error> {
        ByteArrayVisitor.visit_seq(bytes).map(|ByteArray(bytes)| AttachmentContent(bytes))
    }

    /// `{"type": "Buffer", "data": [72, 105]}`: the output of `JSON.stringify` for a Node.js `Buffer`.
    fn visit_map<A: de::MapAccess<'de>>(self, mut fields: A) -> Result<AttachmentContent, A::Error> {
        let (mut kind, mut data) = (None, None);
        while let Some(field) = fields.next_key::<String>()? {
            match field.as_str() {
                "type" if kind.is_none() => kind = Some(fields.next_value::<String>()?),
                "data" if data.is_none() => data = Some(fields.next_value::<ByteArray>()?),
                "type" => return Err(de::Error::duplicate_field("type")),
                "data" => return Err(de::Error::duplicate_field("data")),
                _ => return Err(de::Error::custom(NOT_A_BUFFER)),
            }
        }
        if kind.as_deref() != Some("Buffer") {
            return Err(de::Error::custom(NOT_A_BUFFER));
        }
        let ByteArray(bytes) = data.ok_or_else(|| de::Error::missing_field("data"))?;
        Ok(AttachmentContent(bytes))
    }
}

struct ByteArray(Vec<u8>);

impl<'de> Deserialize<'de> for ByteArray {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(ByteArrayVisitor)
    }
}

struct ByteArrayVisitor;

impl<'de> de::Visitor<'de> for ByteArrayVisitor {
    type Value = ByteArray;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of integers from 0 to 255")
    }

    fn visit_seq<A: de::SeqAccess<'de>>(self, mut sequence: A) -> Result<ByteArray, A::Error> {
        // Not preallocated. The body limit of the route bounds its size.
        let mut bytes = Vec::new();
        while let Some(Byte(byte)) = sequence.next_element()? {
            bytes.push(byte);
        }
        Ok(ByteArray(bytes))
    }
}

/// A byte whose error names the accepted numbers.
struct Byte(u8);

impl<'de> Deserialize<'de> for Byte {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_u8(ByteVisitor)
    }
}

struct ByteVisitor;

impl de::Visitor<'_> for ByteVisitor {
    type Value = Byte;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an integer from 0 to 255")
    }

    fn visit_u64<E: de::Error>(self, number: u64) -> Result<Byte, E> {
        u8::try_from(number).map(Byte).map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
    }
}

impl ToSchema for AttachmentContent {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let byte = || Object::with_type(BasicType::Integer).minimum(0.0).maximum(255.0);
        OneOf::new()
            .description("The file: base64 text, an array of bytes, or a serialized Node.js `Buffer`.")
            .item(
                Object::with_type(BasicType::String)
                    .description("Standard base64; line breaks are ignored.")
                    .content_encoding("base64")
                    .pattern(PATTERN),
            )
            .item(Array::new().items(byte()))
            .item(
                Object::new()
                    .property("type", Object::with_type(BasicType::String).enum_values(["Buffer"]))
                    .required("type")
                    .property("data", Array::new().items(byte()))
                    .required("data")
                    .additional_properties(AdditionalProperties::FreeForm(false)),
            )
            .into()
    }
}

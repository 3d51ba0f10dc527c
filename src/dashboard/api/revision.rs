//! Changes of a draft that another window can have changed too.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde::{Deserialize, Serialize};

use crate::http::{ApiResult, BodySize, FromBody, body};

/// Field of a body in addition to those of the API.
const REVISION: &str = "revision";

/// The body of a change of the API, with the revision that the change is based on.
pub(super) struct Revised<T> {
    pub(super) changes: T,
    /// Revision of the draft that the page shows; `None` to change any revision.
    pub(super) revision: Option<u32>,
}

#[derive(Deserialize)]
struct RevisionField {
    revision: Option<u32>,
}

impl<T: FromBody> FromBody for Revised<T> {
    const SIZE: BodySize = T::SIZE;

    fn from_body(raw: &[u8], tolerated: &[&str]) -> ApiResult<Self> {
        let changes = T::from_body(raw, &[tolerated, &[REVISION]].concat())?;
        let RevisionField { revision } = body::parse(raw, &[])?;
        Ok(Self { changes, revision })
    }
}

impl<T: ToSchema + 'static> ToSchema for Revised<T> {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        T::to_schema(components)
    }
}

/// A draft that was changed.
#[derive(Serialize)]
pub(super) struct ChangedDraft {
    pub(super) object: &'static str,
    pub(super) id: String,
    /// Revision that the change has made.
    pub(super) revision: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::JsonBody;

    #[derive(Debug, Deserialize, ToSchema)]
    #[serde(deny_unknown_fields)]
    struct Name {
        name: Option<String>,
    }

    impl JsonBody for Name {}

    fn parse(raw: &str) -> Result<(Option<String>, Option<u32>), u16> {
        let revised = Revised::<Name>::from_body(raw.as_bytes(), &["id"]);
        revised.map(|body| (body.changes.name, body.revision)).map_err(|error| error.code.status())
    }

    #[test]
    fn a_revision_is_an_optional_field_beside_those_of_the_api() {
        let name = || Some("June".to_owned());
        for (raw, expected) in [
            (r#"{"name": "June", "revision": 3}"#, Ok((name(), Some(3)))),
            (r#"{"revision": 0, "id": "x", "name": "June"}"#, Ok((name(), Some(0)))),
            (r#"{"name": "June"}"#, Ok((name(), None))),
            (r#"{"name": "June", "revision": null}"#, Ok((name(), None))),
            (r#"{"name": "June", "revision": "3"}"#, Err(422)),
            (r#"{"name": "June", "revision": -1}"#, Err(422)),
            (r#"{"name": "June", "revision": 3, "revision": 4}"#, Err(422)),
            (r#"{"names": "June", "revision": 3}"#, Err(422)),
            (r#"{"name": "June""#, Err(400)),
        ] {
            assert_eq!(parse(raw), expected, "{raw}");
        }
    }
}

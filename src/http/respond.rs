//! Successful responses.

use salvo::http::StatusCode;
use salvo::oapi::{Components, Content, EndpointOutRegister, Operation, RefOr, Response as ResponseDoc, ToSchema};
use salvo::writing::Json;
use salvo::{Depot, Request, Response, Writer, async_trait};
use serde::Serialize;

/// A 201 response with a JSON object.
pub struct Created<T>(pub T);

#[async_trait]
impl<T: Serialize + Send> Writer for Created<T> {
    async fn write(self, _req: &mut Request, _depot: &mut Depot, res: &mut Response) {
        res.status_code(StatusCode::CREATED);
        res.render(Json(self.0));
    }
}

impl<T: ToSchema> EndpointOutRegister for Created<T> {
    fn register(components: &mut Components, operation: &mut Operation) {
        let content = Content::new(T::to_schema(components));
        let response = ResponseDoc::new("Created").add_content("application/json", content);
        operation.responses.insert("201", RefOr::Type(response));
    }
}

/// Declares responses with the kind and the id of a resource, and with `"deleted": true` after a deletion. `of` takes
/// the id.
///
/// ```text
/// id_responses! {
///     /// A topic that was deleted.
///     pub struct DeletedTopic(TopicId): "topic", "Always `topic`.", deleted;
/// }
/// ```
macro_rules! id_responses {
    // The derive of salvo ignores a description that is not a bare literal, such as `concat!`.
    ($($(#[$about:meta])+ $vis:vis struct $name:ident($id:ty): $object:literal, $always:tt $(, $deleted:ident)?;)+) => { $(
        #[derive(serde::Serialize, salvo::oapi::ToSchema)]
        $(#[$about])+
        $vis struct $name {
            #[doc = $always]
            object: &'static str,
            /// The id.
            id: String,
            $(
                /// Always true.
                $deleted: bool,
            )?
        }

        impl $name {
            $vis fn of(id: $id) -> Self {
                Self { object: $object, id: id.to_string() $(, $deleted: true)? }
            }
        }
    )+ };
}
pub(crate) use id_responses;

//! Lists: the query parameters and the response of all lists.

use salvo::extract::Metadata;
use salvo::oapi::{BasicType, Components, EndpointArgRegister, KnownFormat, Object, Operation, SchemaFormat, ToSchema};
use salvo::{Depot, Extractible, Request};
use serde::Serialize;

use super::error::ApiError;
use super::query::{declare_query, query_value};
use crate::base::id::Id;
use crate::store::page::{Cursor, Page, PageQuery};

/// Default number of rows on a page.
pub(crate) const LIMIT_DEFAULT: usize = 20;
/// Maximum number of rows on a page.
pub(crate) const LIMIT_MAX: usize = 100;

/// Query parameters that select a page.
pub struct ListQuery<R>(pub PageQuery<Id<R>>);

impl<'ex, R: 'static> Extractible<'ex> for ListQuery<R> {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("ListQuery");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, _depot: &'ex mut Depot) -> Result<Self, ApiError> {
        let limit = match query_value(req, "limit")? {
            None => LIMIT_DEFAULT,
            Some(text) => text
                .parse()
                .ok()
                .filter(|limit| (1..=LIMIT_MAX).contains(limit))
                .ok_or_else(|| ApiError::validation("The `limit` must be a number from 1 to 100."))?,
        };
        let id = |name: &str, text: &str| {
            Id::parse(text).ok_or_else(|| ApiError::validation(format!("The `{name}` must be a valid UUID.")))
        };
        let cursor = match (query_value(req, "after")?, query_value(req, "before")?) {
            (None, None) => Cursor::Newest,
            (Some(after), None) => Cursor::After(id("after", after)?),
            (None, Some(before)) => Cursor::Before(id("before", before)?),
            (Some(_), Some(_)) => {
                return Err(ApiError::validation("Use either `after` or `before`, not both at once."));
            }
        };
        Ok(Self(PageQuery { limit, cursor }))
    }
}

impl<R> EndpointArgRegister for ListQuery<R> {
    fn register(_components: &mut Components, operation: &mut Operation, _arg: &str) {
        let limit = Object::with_type(BasicType::Integer)
            .minimum(1)
            .maximum(LIMIT_MAX as u32)
            .default_value(serde_json::Value::from(LIMIT_DEFAULT));
        let id = || Object::with_type(BasicType::String).format(SchemaFormat::KnownFormat(KnownFormat::Uuid));
        for (name, schema, about) in [
            ("limit", limit, "How many items, 1 to 100."),
            ("after", id(), "The id of the last item of the current page: answers the next, older items."),
            ("before", id(), "The id of the first item of the current page: answers the previous, newer items."),
        ] {
            declare_query(operation, name, about, schema);
        }
    }
}

/// A list on the wire.
#[derive(Serialize, ToSchema)]
pub struct List<T: ToSchema + 'static> {
    /// Always `list`.
    object: &'static str,
    /// Whether there are more items in the direction of the page.
    has_more: bool,
    /// The items, newest first.
    data: Vec<T>,
}

impl<T: ToSchema + 'static> List<T> {
    /// Converts a page; `show` converts a row.
    pub fn of<Row>(page: Page<Row>, show: impl FnMut(Row) -> T) -> Self {
        Self { object: "list", has_more: page.has_more, data: page.rows.into_iter().map(show).collect() }
    }
}

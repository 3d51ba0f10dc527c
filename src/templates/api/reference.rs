//! A template in a path: its id or its alias.

use salvo::extract::Metadata;
use salvo::oapi::schema::AnyOf;
use salvo::oapi::{
    Components, EndpointArgRegister, Operation, Parameter, ParameterIn, RefOr, Required, Schema, ToSchema,
};
use salvo::{Depot, Extractible, Request};

use crate::http::{ApiError, schema};
use crate::templates::model::{ALIAS_CHARS_MAX, TemplateRef};

/// Extractor of a template from the path. The name of the parameter is that of the handler's argument.
pub(crate) struct PathTemplate(pub(crate) TemplateRef);

impl<'ex> Extractible<'ex> for PathTemplate {
    fn metadata() -> &'static Metadata {
        static METADATA: Metadata = Metadata::new("PathTemplate");
        &METADATA
    }

    async fn extract(req: &'ex mut Request, depot: &'ex mut Depot) -> Result<Self, ApiError> {
        Self::extract_with_arg(req, depot, "id").await
    }

    async fn extract_with_arg(req: &'ex mut Request, _depot: &'ex mut Depot, arg: &str) -> Result<Self, ApiError> {
        let reference = req.params().get(arg).and_then(|text| TemplateRef::parse(text));
        let invalid =
            || ApiError::validation(format!("The `{arg}` must be a valid UUID. An alias is accepted in its place."));
        reference.map(Self).ok_or_else(invalid)
    }
}

impl EndpointArgRegister for PathTemplate {
    fn register(components: &mut Components, operation: &mut Operation, arg: &str) {
        let parameter = Parameter::new(arg)
            .location(ParameterIn::Path)
            .required(Required::True)
            .description("The id, or the alias.")
            .schema(Schema::AnyOf(AnyOf::new().item(schema::uuid()).item(AliasText::to_schema(components))));
        operation.parameters.insert(parameter);
    }
}

/// OpenAPI schema of an alias.
pub(crate) struct AliasText;

impl ToSchema for AliasText {
    fn to_schema(_components: &mut Components) -> RefOr<Schema> {
        let pattern = "^[A-Za-z0-9][A-Za-z0-9._-]*$";
        schema::text().min_length(1).max_length(ALIAS_CHARS_MAX).pattern(pattern).into()
    }
}

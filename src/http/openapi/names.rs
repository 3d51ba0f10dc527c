//! The names of the schemas and operations in the OpenAPI document.

use std::any::TypeId;

use salvo::oapi::naming::{self, NameRule, Namer};

/// The namer of schemas and operations: the type without its modules, such as `ListOfEmail` for `List<Email>`. A further type
/// with the same name gets a number.
///
/// The namer of salvo gives the same names in its short mode. It compiles a regular expression for each, which was half of the
/// time to generate the document. A forced name must not be that of a generic type.
pub(super) struct ShortNames;

impl Namer for ShortNames {
    fn assign_name(&self, type_id: TypeId, type_name: &'static str, rule: NameRule) -> String {
        let base = match rule {
            NameRule::Auto => short(&naming::resolve_generic_names(type_name)),
            NameRule::Force(name) => name.to_owned(),
        };
        let is_free = |name: &String| naming::type_info_by_name(name).is_none_or(|(other, _)| other == type_id);
        let numbered = (2..).map(|number| format!("{base}{number}"));
        let name = std::iter::once(base.clone()).chain(numbered).find(is_free).unwrap_or(base);
        naming::set_name_type_info(name.clone(), type_id, type_name);
        name
    }
}

/// Returns the name of a type without its modules. Angle brackets are invalid in the name of a schema.
fn short(type_name: &str) -> String {
    let parts = type_name.split_inclusive(['<', '>', ',', ' ']);
    let parts = parts.map(|part| part.rsplit("::").next().unwrap_or(part));
    parts.collect::<String>().replace('<', "Of").replace('>', "")
}

#[cfg(test)]
mod tests {
    use salvo::Router;

    use super::super::describe;
    use super::*;

    #[test]
    fn a_schema_is_named_after_its_type_without_modules() {
        for (type_name, expected) in [
            ("ringmail::emails::api::Email", "Email"),
            ("ringmail::http::list::List<ringmail::emails::api::Email>", "ListOfEmail"),
            ("core::option::Option<alloc::vec::Vec<a::B>>", "OptionOfVecOfB"),
        ] {
            assert_eq!(short(type_name), expected);
        }
    }

    #[test]
    fn a_further_type_with_the_same_name_gets_a_number() {
        struct First;
        struct Second;
        // The first description of a process removes all names.
        describe(&Router::new());
        let name = |type_id| ShortNames.assign_name(type_id, "a::TypeOfThisTest", NameRule::Auto);

        assert_eq!(name(TypeId::of::<First>()), "TypeOfThisTest");
        assert_eq!(name(TypeId::of::<Second>()), "TypeOfThisTest2");
        assert_eq!(name(TypeId::of::<First>()), "TypeOfThisTest");
        assert_eq!(name(TypeId::of::<Second>()), "TypeOfThisTest2");
    }
}

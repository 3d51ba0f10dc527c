//! The rules of a condition in the OpenAPI document: the operators of each field, and the value of each operator.

use salvo::oapi::{Components, RefOr, Schema, ToSchema};
use serde_json::{Map, Value, json};

use super::filter::ConditionRequest;
use crate::contact_properties::VALUE_KEY_CHARS_MAX;
use crate::http::schema::with_rules;
use crate::segments::filter::{CREATED_OPS, PROPERTY_OPS, TEXT_FIELDS, TEXT_OPS, UNSUBSCRIBED_OPS, needs_value};

/// [`ConditionRequest`] with its rules.
pub(super) struct ConditionSchema;

impl ToSchema for ConditionSchema {
    fn to_schema(components: &mut Components) -> RefOr<Schema> {
        let pattern = format!("^property:[\\s\\S]{{1,{VALUE_KEY_CHARS_MAX}}}$");
        let property = json!({ "type": "string", "pattern": pattern });
        let numbers = ["greater_than", "less_than"];
        let is_number = |op: &&str| numbers.contains(op);
        let texts: Vec<&str> = PROPERTY_OPS.iter().copied().filter(|op| !is_number(op)).collect();
        let mut forms = forms_of(&json!({ "enum": TEXT_FIELDS }), TEXT_OPS);
        forms.extend(forms_of(&property, &texts));
        forms.push(form(&property, &numbers, Some(&json!({ "type": "string", "format": "number" }))));
        forms.extend(forms_of(&json!({ "const": "unsubscribed" }), UNSUBSCRIBED_OPS));
        let date = json!({ "type": "string", "format": "date-or-time" });
        forms.push(form(&json!({ "const": "created_at" }), CREATED_OPS, Some(&date)));
        with_rules::<ConditionRequest>(components, &Map::from_iter([("oneOf".to_owned(), Value::Array(forms))]))
    }
}

/// Returns the forms of conditions on a field: one for the operators that need a text, and one for the others.
fn forms_of(field: &Value, ops: &[&str]) -> Vec<Value> {
    let (with_value, without): (Vec<&str>, Vec<&str>) = ops.iter().copied().partition(|op| needs_value(op));
    let text = json!({ "type": "string" });
    let forms = [(with_value, Some(&text)), (without, None)];
    forms.into_iter().filter(|(ops, _)| !ops.is_empty()).map(|(ops, value)| form(field, &ops, value)).collect()
}

fn form(field: &Value, ops: &[&str], value: Option<&Value>) -> Value {
    let mut properties = json!({ "field": field, "op": { "enum": ops } });
    let mut required = vec!["field", "op"];
    if let Some(value) = value {
        properties["value"] = value.clone();
        required.push("value");
    }
    json!({ "properties": properties, "required": required })
}

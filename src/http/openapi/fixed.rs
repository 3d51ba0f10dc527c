//! Fields with one value. Their description begins with it: "Always `email`.", "Always true." or "Always null".

use serde_json::{Value, json};

/// Adds the value of each such field to its schema.
pub(super) fn fix(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let value = fields.get("description").and_then(Value::as_str).and_then(fixed_value);
            if let Some(value) = value.filter(|_| fields.contains_key("type")) {
                fields.insert("const".to_owned(), value);
            }
            fields.values_mut().for_each(fix);
        }
        Value::Array(items) => items.iter_mut().for_each(fix),
        _ => {}
    }
}

/// Returns the value that a description begins with; `None` if it begins otherwise.
fn fixed_value(description: &str) -> Option<Value> {
    let value = description.strip_prefix("Always ")?;
    if let Some(text) = value.strip_prefix('`') {
        return text.split_once('`').map(|(text, _)| json!(text));
    }
    let word = value.split(['.', ':', ',', ' ']).next()?;
    ["true", "false", "null", "0"].contains(&word).then(|| serde_json::from_str(word).expect("a JSON word"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_with_one_value_has_it_in_its_schema() {
        for (description, value) in [
            ("Always `email`.", Some(json!("email"))),
            ("Always `attachment`: no other is accepted.", Some(json!("attachment"))),
            ("Always true.", Some(json!(true))),
            ("Always false: the instance is self-hosted.", Some(json!(false))),
            ("Always null", Some(json!(null))),
            ("Always 0.", Some(json!(0))),
            ("Always empty without `x`.", None),
            ("The name. Always `a`.", None),
        ] {
            let mut schema = json!({ "properties": { "field": { "type": "string", "description": description } } });

            fix(&mut schema);

            assert_eq!(schema["properties"]["field"].get("const"), value.as_ref(), "{description}");
        }
    }
}

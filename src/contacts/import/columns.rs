//! Matches the columns of a file to contact fields. Pure.

use serde::{Deserialize, Serialize};

use super::ImportProperty;
use super::mapping::{ColumnAssignment, ColumnMapping, ColumnTarget, excerpt};

/// Maximum number of column names in an error message.
const NAMES_LISTED_MAX: usize = 12;

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImportColumn {
    /// Name in the header.
    pub name: String,
    /// Field that the column sets; `None` if the column is skipped.
    pub target: Option<ColumnTarget>,
}

impl ImportColumn {
    /// Returns the name for a message: shortened, in backticks and without control characters.
    pub fn shown_name(&self) -> String {
        format!("`{}`", excerpt(&self.name))
    }
}

/// Reason why the columns of a header cannot be matched to fields.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    #[error(
        "no column is called `email`; map the column with the addresses to email; the columns are {}",
        name_list(.columns)
    )]
    NoAddress { columns: Vec<String> },
    #[error(
        "the first row contains an address instead of the names of the columns; insert a row with the \
         names before it, such as email,first_name"
    )]
    NoHeader,
    #[error("there is no column `{}`; the columns are {}", excerpt(.wanted), name_list(.columns))]
    NoColumn {
        /// Name or number of the column in the mapping.
        wanted: String,
        columns: Vec<String>,
    },
    #[error("several columns are called `{}`; select one of them by its number, such as #2", excerpt(.0))]
    SeveralColumns(String),
    #[error("two columns are mapped to {0}; map one of them to ignore")]
    TargetTwice(ColumnTarget),
    #[error("the column `{}` is mapped twice", excerpt(.0))]
    ColumnTwice(String),
    #[error("the team has no contact property `{}`; create it first, or map its column to ignore", excerpt(.0))]
    NoProperty(String),
}

impl ColumnMapping {
    /// Matches each column to a field. Mapped columns come first. Another column is matched by its name,
    /// unless a mapped column sets the same field.
    pub(super) fn columns(
        &self,
        names: &[String],
        properties: &[ImportProperty],
    ) -> Result<Vec<ImportColumn>, HeaderError> {
        let mut columns: Vec<ImportColumn> =
            names.iter().map(|name| ImportColumn { name: name.clone(), target: None }).collect();
        let mut is_mapped = vec![false; columns.len()];
        for ColumnAssignment { target, column } in &self.0 {
            let index = column_index(names, column)?;
            if std::mem::replace(&mut is_mapped[index], true) {
                return Err(HeaderError::ColumnTwice(names[index].clone()));
            }
            columns[index].target = with_defined_key(target.clone(), properties)?;
        }
        let mapped: Vec<ColumnTarget> = columns.iter().filter_map(|column| column.target.clone()).collect();
        for (column, _) in columns.iter_mut().zip(is_mapped).filter(|(_, is_mapped)| !is_mapped) {
            let by_name = with_defined_key(ColumnTarget::of_column(&column.name), properties)?;
            column.target = by_name.filter(|target| !mapped.contains(target));
        }
        let mut seen = Vec::new();
        for target in columns.iter().filter_map(|column| column.target.as_ref()) {
            if seen.contains(&target) {
                return Err(HeaderError::TargetTwice(target.clone()));
            }
            seen.push(target);
        }
        if seen.contains(&&ColumnTarget::Email) {
            return Ok(columns);
        }
        if names.iter().any(|name| name.contains('@')) {
            return Err(HeaderError::NoHeader);
        }
        Err(HeaderError::NoAddress { columns: names.to_vec() })
    }
}

/// Returns the target with its property key in the letter case that the team defined.
fn with_defined_key(
    target: Option<ColumnTarget>,
    properties: &[ImportProperty],
) -> Result<Option<ColumnTarget>, HeaderError> {
    let Some(ColumnTarget::Property(key)) = target else { return Ok(target) };
    match properties.iter().find(|property| property.key.eq_ignore_ascii_case(&key)) {
        Some(property) => Ok(Some(ColumnTarget::Property(property.key.clone()))),
        None => Err(HeaderError::NoProperty(key)),
    }
}

/// Returns the index of a column, by its exact name, or ignoring case, or by its number after a `#`.
fn column_index(names: &[String], wanted: &str) -> Result<usize, HeaderError> {
    let lowered = wanted.to_lowercase();
    let exact: Vec<usize> = (0..names.len()).filter(|&index| names[index] == wanted).collect();
    let ignoring_case: Vec<usize> = (0..names.len()).filter(|&index| names[index].to_lowercase() == lowered).collect();
    match (exact.as_slice(), ignoring_case.as_slice()) {
        (&[index], _) | (&[], &[index]) => return Ok(index),
        (&[], &[]) => {}
        _ => return Err(HeaderError::SeveralColumns(wanted.to_owned())),
    }
    wanted
        .strip_prefix('#')
        .and_then(|number| number.parse::<usize>().ok())
        .and_then(|number| number.checked_sub(1))
        .filter(|&index| index < names.len())
        .ok_or_else(|| HeaderError::NoColumn { wanted: wanted.to_owned(), columns: names.to_vec() })
}

fn name_list(names: &[String]) -> String {
    let mut listed: Vec<String> =
        names.iter().take(NAMES_LISTED_MAX).map(|name| format!("`{}`", excerpt(name))).collect();
    if names.len() > NAMES_LISTED_MAX {
        listed.push("…".to_owned());
    }
    listed.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact_properties::PropertyKind;

    fn properties() -> Vec<ImportProperty> {
        ["plan", "Age"].map(|key| ImportProperty { key: key.to_owned(), kind: PropertyKind::String }).into()
    }

    fn columns(mapping: &str, names: &[&str]) -> Result<Vec<String>, HeaderError> {
        let mapping =
            if mapping.is_empty() { ColumnMapping::default() } else { ColumnMapping::parse(mapping).unwrap() };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let columns = mapping.columns(&names, &properties())?;
        Ok(columns.iter().map(|column| column.target.as_ref().map_or("-".to_owned(), ToString::to_string)).collect())
    }

    #[test]
    fn columns_are_matched_by_mapping_or_name() {
        for (mapping, names, targets) in [
            ("", &["email"][..], &["email"][..]),
            (
                "",
                &["E-mail", "First Name", "last name", "UNSUBSCRIBED"],
                &["email", "first_name", "last_name", "unsubscribed"],
            ),
            ("", &["E-Mail Address", "FirstName", "Lastname", "plan"], &["email", "first_name", "last_name", "-"]),
            ("", &["id", "email", "property:plan", "property:AGE"], &["-", "email", "property:plan", "property:Age"]),
            ("email=Mail", &["Mail", "email"], &["email", "-"]),
            ("email=mail", &["MAIL", "x"], &["email", "-"]),
            ("email=a", &["A", "a"], &["-", "email"]),
            (
                "first_name=Vorname, property:PLAN = Plan",
                &["email", "Vorname", "Plan"],
                &["email", "first_name", "property:plan"],
            ),
            ("ignore=first name", &["email", "First Name"], &["email", "-"]),
            ("email=#2,ignore=#1", &["email", "email"], &["-", "email"]),
            ("email=#1", &["a", "#1"], &["-", "email"]),
            ("segment=List,property:plan=a=b", &["email", "List", "a=b"], &["email", "segment", "property:plan"]),
        ] {
            assert_eq!(columns(mapping, names).unwrap(), targets, "{mapping} {names:?}");
        }
    }

    #[test]
    fn an_invalid_header_is_rejected_with_the_next_step() {
        for (mapping, names, words) in [
            ("", &["Mail", "Name"][..], &["`email`", "`Mail`, `Name`"][..]),
            ("", &["a@example.com", "Ann"], &["first row", "names of the columns"]),
            ("ignore=email", &["email"], &["`email`"]),
            ("email=Post", &["Mail"], &["`Post`", "`Mail`"]),
            ("email=#3", &["a", "b"], &["`#3`"]),
            ("email=#0", &["a", "b"], &["`#0`"]),
            ("", &["email", "Email"], &["two columns", "email"]),
            ("email=a", &["a", "a"], &["several columns", "#2"]),
            ("email=A", &["a", "a"], &["several columns"]),
            ("email=a,first_name=#1", &["a"], &["mapped twice"]),
            ("email=a,email=b", &["a", "b"], &["two columns", "email"]),
            ("property:size=Size", &["email", "Size"], &["`size`", "ignore"]),
            ("", &["email", "property:size"], &["`size`"]),
        ] {
            let error = columns(mapping, names).unwrap_err().to_string();
            assert!(words.iter().all(|word| error.contains(word)), "{mapping} {names:?}: {error}");
        }
    }

    #[test]
    fn an_error_with_column_names_is_short_and_on_one_line() {
        let names: Vec<String> = (0..100).map(|number| format!("\u{1b}[2J\n{number}{}", "x".repeat(1_000))).collect();

        let error = ColumnMapping::default().columns(&names, &[]).unwrap_err().to_string();

        assert!(error.len() < 2_000, "{error}");
        assert!(!error.chars().any(char::is_control), "{error}");
    }
}

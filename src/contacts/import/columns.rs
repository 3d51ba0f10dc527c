//! Which column of a file says what. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Property;
use super::mapping::{Assignment, ColumnTarget, Mapping, shown};

/// Column names that a sentence lists.
const NAMES_LISTED_MAX: usize = 12;

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// What it says; none where it is passed over.
    pub target: Option<ColumnTarget>,
}

impl Column {
    /// Returns its name as it may stand in a sentence.
    pub fn shown_name(&self) -> String {
        format!("`{}`", shown(&self.name))
    }
}

/// Why a header does not tell what the columns say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HeaderError {
    /// Nothing says which column holds the address.
    NoAddress {
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// An address stands where the names of the columns belong.
    NoHeader,
    /// There is no column of that name.
    NoColumn {
        /// What was asked for.
        wanted: String,
        /// The names of the columns.
        columns: Vec<String>,
    },
    /// Several columns have that name.
    SeveralColumns(String),
    /// Two columns say the same.
    TargetTwice(ColumnTarget),
    /// One column is to say two things.
    ColumnTwice(String),
    /// The team has no such property.
    NoProperty(String),
}

impl fmt::Display for HeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoAddress { columns } => write!(
                f,
                "no column is called `email`; map the one that holds the address to email; the columns are {}",
                listed(columns)
            ),
            Self::NoHeader => f.write_str(
                "the first row holds an address where the names of the columns belong; put a row with the names, \
                 such as email,first_name, in front",
            ),
            Self::NoColumn { wanted, columns } => {
                write!(f, "there is no column `{}`; the columns are {}", shown(wanted), listed(columns))
            }
            Self::SeveralColumns(name) => write!(
                f,
                "several columns are called `{}`; name the one that is meant by its number, such as #2",
                shown(name)
            ),
            Self::TargetTwice(target) => write!(f, "two columns are mapped to {target}; map one of them to ignore"),
            Self::ColumnTwice(name) => write!(f, "the column `{}` is mapped twice", shown(name)),
            Self::NoProperty(key) => write!(
                f,
                "the team has no contact property `{}`; make it first, or map its column to ignore",
                shown(key)
            ),
        }
    }
}

impl std::error::Error for HeaderError {}

impl Mapping {
    /// Decides what each column says: what is mapped, and what the names of the others tell where
    /// nothing else is mapped to the same.
    ///
    /// # Errors
    /// [`HeaderError`].
    pub(super) fn columns(&self, names: &[String], properties: &[Property]) -> Result<Vec<Column>, HeaderError> {
        let mut columns: Vec<Column> = names.iter().map(|name| Column { name: name.clone(), target: None }).collect();
        let mut is_decided = vec![false; columns.len()];
        for Assignment { target, column } in &self.0 {
            let at = place(names, column)?;
            if std::mem::replace(&mut is_decided[at], true) {
                return Err(HeaderError::ColumnTwice(names[at].clone()));
            }
            columns[at].target = defined(target.clone(), properties)?;
        }
        let mapped: Vec<ColumnTarget> = columns.iter().filter_map(|column| column.target.clone()).collect();
        for (column, _) in columns.iter_mut().zip(is_decided).filter(|(_, is_decided)| !is_decided) {
            let told = defined(ColumnTarget::of_column(&column.name), properties)?;
            column.target = told.filter(|target| !mapped.contains(target));
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

/// Returns the target with its property's key as the team spells it.
fn defined(target: Option<ColumnTarget>, properties: &[Property]) -> Result<Option<ColumnTarget>, HeaderError> {
    let Some(ColumnTarget::Property(key)) = target else { return Ok(target) };
    match properties.iter().find(|property| property.key.eq_ignore_ascii_case(&key)) {
        Some(property) => Ok(Some(ColumnTarget::Property(property.key.clone()))),
        None => Err(HeaderError::NoProperty(key)),
    }
}

/// Returns where the column stands that is meant: by its name exactly, else without regard to letter
/// case, else by its number.
fn place(names: &[String], wanted: &str) -> Result<usize, HeaderError> {
    let lowered = wanted.to_lowercase();
    let exact: Vec<usize> = (0..names.len()).filter(|&at| names[at] == wanted).collect();
    let alike: Vec<usize> = (0..names.len()).filter(|&at| names[at].to_lowercase() == lowered).collect();
    match (exact.as_slice(), alike.as_slice()) {
        (&[at], _) | (&[], &[at]) => return Ok(at),
        (&[], &[]) => {}
        _ => return Err(HeaderError::SeveralColumns(wanted.to_owned())),
    }
    wanted
        .strip_prefix('#')
        .and_then(|number| number.parse::<usize>().ok())
        .and_then(|number| number.checked_sub(1))
        .filter(|&at| at < names.len())
        .ok_or_else(|| HeaderError::NoColumn { wanted: wanted.to_owned(), columns: names.to_vec() })
}

fn listed(names: &[String]) -> String {
    let mut text: Vec<String> = names.iter().take(NAMES_LISTED_MAX).map(|name| format!("`{}`", shown(name))).collect();
    if names.len() > NAMES_LISTED_MAX {
        text.push("…".to_owned());
    }
    text.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contact_properties::PropertyKind;

    fn properties() -> Vec<Property> {
        ["plan", "Age"].map(|key| Property { key: key.to_owned(), kind: PropertyKind::String }).into()
    }

    fn columns(mapping: &str, names: &[&str]) -> Result<Vec<String>, HeaderError> {
        let mapping = if mapping.is_empty() { Mapping::default() } else { Mapping::parse(mapping).unwrap() };
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let columns = mapping.columns(&names, &properties())?;
        Ok(columns.iter().map(|column| column.target.as_ref().map_or("-".to_owned(), ToString::to_string)).collect())
    }

    #[test]
    fn columns_say_what_their_names_tell_or_what_is_mapped() {
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
    fn a_header_that_does_not_tell_is_refused_with_what_would() {
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
    fn what_a_file_says_stands_in_a_sentence_short_and_on_one_line() {
        let names: Vec<String> = (0..100).map(|number| format!("\u{1b}[2J\n{number}{}", "x".repeat(1_000))).collect();

        let error = Mapping::default().columns(&names, &[]).unwrap_err().to_string();

        assert!(error.len() < 2_000, "{error}");
        assert!(!error.chars().any(char::is_control), "{error}");
    }
}

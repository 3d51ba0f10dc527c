//! Which column says what. Pure.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::Property;

/// The longest mapping of one option, in bytes.
const TEXT_BYTES_MAX: usize = 64 << 10;
/// Column names that a sentence lists.
const NAMES_LISTED_MAX: usize = 12;
/// Characters of a column's name that a sentence shows.
const NAME_CHARS_SHOWN: usize = 60;
/// What a column of our own export is called that holds a property, before its key.
pub(in crate::contacts) const PROPERTY_PREFIX: &str = "property:";

/// What a column says of a contact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Target {
    /// Its address.
    Email,
    /// Its first name.
    FirstName,
    /// Its last name.
    LastName,
    /// Whether it opted out of all marketing email.
    Unsubscribed,
    /// The ids of segments it is added to, with spaces between.
    Segment,
    /// Its value of the property with this key.
    Property(String),
}

impl Target {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "email" => Some(Self::Email),
            "first_name" => Some(Self::FirstName),
            "last_name" => Some(Self::LastName),
            "unsubscribed" => Some(Self::Unsubscribed),
            "segment" => Some(Self::Segment),
            other => match other.strip_prefix(PROPERTY_PREFIX) {
                Some(key) if !key.is_empty() => Some(Self::Property(key.to_owned())),
                _ => None,
            },
        }
    }

    /// Returns what a column of that name says by itself.
    fn of_column(name: &str) -> Option<Self> {
        let letters = name.chars().filter(|c| !matches!(c, ' ' | '_' | '-')).flat_map(char::to_lowercase);
        match letters.collect::<String>().as_str() {
            "email" | "emailaddress" => Some(Self::Email),
            "firstname" => Some(Self::FirstName),
            "lastname" => Some(Self::LastName),
            "unsubscribed" => Some(Self::Unsubscribed),
            _ => match name.strip_prefix(PROPERTY_PREFIX) {
                Some(key) if !key.is_empty() => Some(Self::Property(key.to_owned())),
                _ => None,
            },
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Email => f.write_str("email"),
            Self::FirstName => f.write_str("first_name"),
            Self::LastName => f.write_str("last_name"),
            Self::Unsubscribed => f.write_str("unsubscribed"),
            Self::Segment => f.write_str("segment"),
            Self::Property(key) => write!(f, "{PROPERTY_PREFIX}{key}"),
        }
    }
}

/// One word about a column: what it says, or that it is passed over.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Assignment {
    /// What the column says; none where it is passed over.
    target: Option<Target>,
    /// The column's name, or its number after a `#`.
    column: String,
}

/// What columns say where their names do not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mapping(Vec<Assignment>);

/// Why a text is no mapping.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MapError {
    /// It is longer than a mapping can be.
    TooLong,
    /// A part is not `TARGET=COLUMN`.
    Form(String),
    /// There is no such target.
    Target(String),
}

impl fmt::Display for MapError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => write!(f, "a mapping has at most {} KiB", TEXT_BYTES_MAX >> 10),
            Self::Form(part) => write!(f, "`{}` is not TARGET=COLUMN, such as email=E-mail", shown(part)),
            Self::Target(word) => write!(
                f,
                "`{}` is none of email, first_name, last_name, unsubscribed, segment, property:KEY and ignore",
                shown(word)
            ),
        }
    }
}

impl std::error::Error for MapError {}

impl Mapping {
    /// Reads `TARGET=COLUMN` with commas between. A column is named as in the header, or by its number
    /// after a `#`, for names that hold a comma or stand twice.
    ///
    /// # Errors
    /// [`MapError`].
    pub fn parse(text: &str) -> Result<Self, MapError> {
        if text.len() > TEXT_BYTES_MAX {
            return Err(MapError::TooLong);
        }
        text.split(',').map(assignment).collect::<Result<_, _>>().map(Self)
    }

    /// Returns what all of them say together.
    pub fn joined(mappings: impl IntoIterator<Item = Self>) -> Self {
        Self(mappings.into_iter().flat_map(|mapping| mapping.0).collect())
    }
}

fn assignment(part: &str) -> Result<Assignment, MapError> {
    let (word, column) = part.split_once('=').ok_or_else(|| MapError::Form(part.to_owned()))?;
    let (word, column) = (word.trim(), column.trim());
    if column.is_empty() {
        return Err(MapError::Form(part.to_owned()));
    }
    let target = match word {
        "ignore" => None,
        word => Some(Target::parse(word).ok_or_else(|| MapError::Target(word.to_owned()))?),
    };
    Ok(Assignment { target, column: column.to_owned() })
}

/// A column of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Column {
    /// Its name in the header.
    pub name: String,
    /// What it says; none where it is passed over.
    pub target: Option<Target>,
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
    TargetTwice(Target),
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
        let mapped: Vec<Target> = columns.iter().filter_map(|column| column.target.clone()).collect();
        for (column, _) in columns.iter_mut().zip(is_decided).filter(|(_, is_decided)| !is_decided) {
            let told = defined(Target::of_column(&column.name), properties)?;
            column.target = told.filter(|target| !mapped.contains(target));
        }
        let mut seen = Vec::new();
        for target in columns.iter().filter_map(|column| column.target.as_ref()) {
            if seen.contains(&target) {
                return Err(HeaderError::TargetTwice(target.clone()));
            }
            seen.push(target);
        }
        if seen.contains(&&Target::Email) {
            return Ok(columns);
        }
        if names.iter().any(|name| name.contains('@')) {
            return Err(HeaderError::NoHeader);
        }
        Err(HeaderError::NoAddress { columns: names.to_vec() })
    }
}

/// Returns the target with its property's key as the team spells it.
fn defined(target: Option<Target>, properties: &[Property]) -> Result<Option<Target>, HeaderError> {
    let Some(Target::Property(key)) = target else { return Ok(target) };
    match properties.iter().find(|property| property.key.eq_ignore_ascii_case(&key)) {
        Some(property) => Ok(Some(Target::Property(property.key.clone()))),
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

/// Returns what a file says as it may stand in a sentence: short, and without control characters.
pub(super) fn shown(text: &str) -> String {
    let mut shown: String = text.chars().take(NAME_CHARS_SHOWN).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(NAME_CHARS_SHOWN).is_some() {
        shown.push('…');
    }
    shown
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
    fn a_text_that_is_no_mapping_says_what_one_is() {
        for (text, word) in [
            ("", "TARGET=COLUMN"),
            ("email", "`email`"),
            ("email=", "TARGET=COLUMN"),
            ("email=a,,", "TARGET=COLUMN"),
            ("mail=a", "`mail`"),
            ("property:=a", "property:KEY"),
            ("Email=a", "`Email`"),
        ] {
            let error = Mapping::parse(text).unwrap_err().to_string();
            assert!(error.contains(word), "{text}: {error}");
        }
        assert_eq!(Mapping::parse(&"x".repeat(TEXT_BYTES_MAX + 1)), Err(MapError::TooLong));
    }

    #[test]
    fn what_a_file_says_stands_in_a_sentence_short_and_on_one_line() {
        let names: Vec<String> = (0..100).map(|number| format!("\u{1b}[2J\n{number}{}", "x".repeat(1_000))).collect();

        let error = Mapping::default().columns(&names, &[]).unwrap_err().to_string();

        assert!(error.len() < 2_000, "{error}");
        assert!(!error.chars().any(char::is_control), "{error}");
    }
}

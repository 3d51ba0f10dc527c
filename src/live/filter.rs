//! Which types of events a watcher asks for. Pure.

use std::fmt;

use crate::events::{EventType, EventTypes};

/// The longest pattern that a refusal repeats, in characters.
const SHOWN_CHARS_MAX: usize = 64;

/// The types that a watcher sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeFilter(EventTypes);

/// A pattern that no type of event fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeFilterError {
    pattern: String,
}

impl fmt::Display for TypeFilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let types: Vec<&str> = EventType::all().map(EventType::as_str).collect();
        write!(
            f,
            "no type of event is called `{}`; there are {}, and `email.*` stands for all of email",
            self.pattern,
            types.join(", ")
        )
    }
}

impl std::error::Error for TypeFilterError {}

impl TypeFilter {
    /// Returns the filter that lets everything through.
    pub fn everything() -> Self {
        Self(EventType::all().collect())
    }

    /// Reads names of types, `GROUP.*` and `*`, separated by commas. No pattern at all lets everything
    /// through.
    ///
    /// # Errors
    /// [`TypeFilterError`] of the first pattern that no type fits.
    pub fn parse(patterns: &str) -> Result<Self, TypeFilterError> {
        let mut types: Vec<EventType> = Vec::new();
        for pattern in patterns.split(',').map(str::trim).filter(|pattern| !pattern.is_empty()) {
            let before = types.len();
            types.extend(EventType::all().filter(|event_type| fits(pattern, event_type.as_str())));
            if types.len() == before {
                let printable = |c: char| if c.is_control() { ' ' } else { c };
                return Err(TypeFilterError {
                    pattern: pattern.chars().take(SHOWN_CHARS_MAX).map(printable).collect(),
                });
            }
            // A pattern that is given again and again adds nothing.
            types.sort_unstable();
            types.dedup();
        }
        if types.is_empty() { Ok(Self::everything()) } else { Ok(Self(types.into_iter().collect())) }
    }

    /// Returns whether events of that name are asked for.
    pub fn matches(self, event_type: &str) -> bool {
        EventType::parse(event_type).is_some_and(|event_type| self.0.contains(event_type))
    }
}

fn fits(pattern: &str, name: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some("") => true,
        Some(group) => group.ends_with('.') && name.starts_with(group),
        None => pattern == name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_names_a_type_or_a_group() {
        for (patterns, name, is_let_through) in [
            ("", "email.sent", true),
            ("", "email.prefetched", true),
            ("*", "quota.paused", true),
            ("email.sent", "email.sent", true),
            ("email.sent", "email.delivered", false),
            ("email.*", "email.delivered", true),
            ("email.*", "contact.created", false),
            (" email.sent , contact.* ", "contact.created", true),
            ("email.*,email.sent,", "email.sent", true),
            ("email.*", "no such type", false),
        ] {
            assert_eq!(TypeFilter::parse(patterns).unwrap().matches(name), is_let_through, "{patterns} {name}");
        }
    }

    #[test]
    fn a_pattern_that_no_type_fits_is_refused_with_those_that_there_are() {
        for pattern in ["email", "email*", "e.*", "email.sent,nothing", "EMAIL.SENT", "*.sent", "a\nb"] {
            let sentence = TypeFilter::parse(pattern).unwrap_err().to_string();
            assert!(sentence.contains("email.delivered"), "{sentence}");
            assert!(!sentence.chars().any(char::is_control), "{sentence}");
        }
    }
}

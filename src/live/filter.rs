//! The event types that a stream is filtered by. Pure.

use std::fmt;

use crate::events::{EventType, EventTypes};

/// Characters of a pattern that an error message repeats.
const SHOWN_CHARS_MAX: usize = 64;

/// The event types that a stream delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TypeFilter(EventTypes);

/// A pattern that matches no event type.
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
    /// Returns the filter that matches every type.
    pub fn everything() -> Self {
        Self(EventType::all().collect())
    }

    /// Parses names of types, `GROUP.*` and `*`, separated by commas. Text without a pattern matches every type.
    ///
    /// # Errors
    /// [`TypeFilterError`] for the first pattern that matches no type.
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
            // Repeated patterns must not grow the list.
            types.sort_unstable();
            types.dedup();
        }
        if types.is_empty() { Ok(Self::everything()) } else { Ok(Self(types.into_iter().collect())) }
    }

    /// Returns whether the filter includes the event type with this name.
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
    fn a_pattern_matches_a_type_or_a_group() {
        for (patterns, name, matches) in [
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
            assert_eq!(TypeFilter::parse(patterns).unwrap().matches(name), matches, "{patterns} {name}");
        }
    }

    #[test]
    fn a_pattern_without_a_match_is_rejected_with_the_list_of_types() {
        for pattern in ["email", "email*", "e.*", "email.sent,nothing", "EMAIL.SENT", "*.sent", "a\nb"] {
            let sentence = TypeFilter::parse(pattern).unwrap_err().to_string();
            assert!(sentence.contains("email.delivered"), "{sentence}");
            assert!(!sentence.chars().any(char::is_control), "{sentence}");
        }
    }
}

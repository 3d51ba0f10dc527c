//! The likely meaning of a misspelled name.

/// Characters of a name that is compared. A longer name has no nearest name, so that a comparison takes microseconds.
const COMPARED_CHARS_MAX: usize = 48;
/// Largest number of edits between a name and its likely meaning.
const EDITS_MAX: usize = 3;
/// Smallest number of characters of a name that is likely the beginning of another one.
const BEGINNING_CHARS_MIN: usize = 4;

/// Returns the candidate that `given` is likely a misspelling of. It has at most one edit for every four characters,
/// ignoring case, or is the shortest one that begins with `given`. `None` if no candidate is that near, or if `given`
/// is long.
pub fn nearest<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> Option<&'c str> {
    let given = comparable(given)?;
    let edits = |candidate: &'c str| {
        let name = comparable(candidate)?;
        let edits = strsim::osa_distance(&given, &name);
        let chars = given.chars().count().max(name.chars().count());
        let is_near = edits <= (chars / 4).clamp(1, EDITS_MAX) && edits < chars;
        let is_beginning = name.starts_with(&given) && given.chars().count() >= BEGINNING_CHARS_MIN;
        (is_near || is_beginning).then_some((!is_near, edits, candidate))
    };
    let near = candidates.into_iter().filter_map(edits).min_by_key(|(is_far, edits, _)| (*is_far, *edits));
    near.map(|(_, _, candidate)| candidate)
}

/// Returns the sentence that asks for the nearest candidate, with a space before it; empty if none is near.
pub fn did_you_mean<'c>(given: &str, candidates: impl IntoIterator<Item = &'c str>) -> String {
    nearest(given, candidates).map_or_else(String::new, |name| format!(" Did you mean `{name}`?"))
}

fn comparable(name: &str) -> Option<String> {
    let is_short = name.chars().nth(COMPARED_CHARS_MAX).is_none();
    is_short.then(|| name.to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let fields = ["from", "to", "cc", "bcc", "reply_to", "subject", "scheduled_at", "first_name", "html"];
        for (given, expected) in [
            ("form", Some("from")),
            ("replyTo", Some("reply_to")),
            ("reply-to", Some("reply_to")),
            ("Subject", Some("subject")),
            ("scheduledAt", Some("scheduled_at")),
            ("firstName", Some("first_name")),
            ("htm", Some("html")),
            ("sche", Some("scheduled_at")),
            ("sch", None),
            ("body", None),
            ("x", None),
            ("", None),
            ("recipients", None),
        ] {
            assert_eq!(nearest(given, fields), expected, "{given}");
        }
        assert_eq!(did_you_mean("form", fields), " Did you mean `from`?");
        assert_eq!(did_you_mean("body", fields), "");
    }

    #[test]
    fn a_long_name_is_not_compared() {
        let long = "a".repeat(COMPARED_CHARS_MAX + 1);

        assert_eq!(nearest(&long, [long.as_str()]), None);
        assert!(nearest(&long[1..], [&long[2..]]).is_some());
    }
}

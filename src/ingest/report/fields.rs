//! Groups of header fields: a header is one group, and the machine-readable part of a report has several, separated by
//! empty lines (RFC 3464 §2.1).

/// Maximum number of fields in a group.
const FIELDS_MAX: usize = 500;
/// Maximum number of groups in a part: one for the message, and one for each recipient.
const GROUPS_MAX: usize = 200;
/// Maximum bytes of an unfolded value.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// Fields of one group in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderFields {
    fields: Vec<(String, String)>,
    /// Whether a continuation line extends the last field.
    is_open: bool,
}

impl HeaderFields {
    /// Parses a header up to its first empty line. A line of white space only continues a field (RFC 5322 §4.2).
    pub(super) fn header(text: &str) -> Self {
        let mut fields = Self::default();
        text.lines().take_while(|line| !line.is_empty()).for_each(|line| fields.take(line));
        fields
    }

    /// Parses the first group.
    pub(super) fn first(text: &str) -> Self {
        Self::groups(text).next().unwrap_or_default()
    }

    /// Parses the groups, up to the maximum.
    pub(super) fn groups(text: &str) -> impl Iterator<Item = Self> {
        let mut lines = text.lines();
        let group = move || {
            let mut group = Self::default();
            let mut has_started = false;
            for line in lines.by_ref() {
                if line.trim().is_empty() {
                    if has_started {
                        break;
                    }
                    continue;
                }
                has_started = true;
                group.take(line);
            }
            has_started.then_some(group)
        };
        std::iter::from_fn(group).take(GROUPS_MAX)
    }

    fn take(&mut self, line: &str) {
        // RFC 5322 §2.2.3: a line that begins with white space continues the field before it.
        if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = self.fields.last_mut().filter(|_| self.is_open) {
                append(value, line);
            }
            return;
        }
        self.is_open = false;
        let Some((name, value)) = line.split_once(':') else { return };
        if self.fields.len() < FIELDS_MAX {
            self.is_open = true;
            self.fields.push((name.trim_end().to_owned(), String::new()));
            let (_, unfolded) = self.fields.last_mut().expect("a field was just added");
            append(unfolded, value);
        }
    }

    /// Returns the values of the fields with this name, ignoring case.
    pub(super) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let named = self.fields.iter().filter(move |(its, _)| its.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the value of the first non-empty field with this name, ignoring case.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let named = self.fields.iter().find(|(its, value)| its.eq_ignore_ascii_case(name) && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }
}

/// Appends a line to a value after a space, truncated to the maximum at a character boundary.
fn append(value: &mut String, line: &str) {
    let line = line.trim();
    let room = VALUE_BYTES_MAX.saturating_sub(value.len() + 1);
    if line.is_empty() || room == 0 {
        return;
    }
    if !value.is_empty() {
        value.push(' ');
    }
    value.push_str(&line[..line.floor_char_boundary(room)]);
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fields_are_unfolded_and_groups_are_separated() {
        let text = "\r\nReporting-MTA: dns; mx\r\n\r\n\r\nAction : failed\r\nDiagnostic-Code: smtp;\r\n\t550 5.1.1\r\n  No such user\r\nno field\r\n of its own\r\n: nameless\r\n\r\nAction:delayed";

        let groups: Vec<HeaderFields> = HeaderFields::groups(text).collect();

        assert_eq!(groups.len(), 3);
        assert_eq!(groups[0].one("reporting-mta"), Some("dns; mx"));
        assert_eq!(groups[1].one("Action"), Some("failed"));
        assert_eq!(groups[1].one("diagnostic-code"), Some("smtp; 550 5.1.1 No such user"));
        assert_eq!(groups[2].one("ACTION"), Some("delayed"));
        assert_eq!(groups[2].one("Status"), None);
    }

    #[test]
    fn a_header_ends_at_an_empty_line_and_continues_at_a_blank_line() {
        let header = HeaderFields::header("Subject: a\r\n \r\n\tb\r\nTo: c\r\n\r\nCc: d\r\n");

        assert_eq!([header.one("Subject"), header.one("To"), header.one("Cc")], [Some("a b"), Some("c"), None]);
    }

    #[test]
    fn fields_values_and_groups_are_bounded() {
        let many: String = (0..1_000).map(|number| format!("To: {number}\n")).collect();
        let long = format!("A: {}\n {}\n {}", "ä".repeat(3_000), "b".repeat(3_000), "c");

        assert_eq!(HeaderFields::first(&many).all("To").count(), FIELDS_MAX);
        assert!(HeaderFields::first(&long).one("A").unwrap().len() <= VALUE_BYTES_MAX);
        assert_eq!(HeaderFields::groups(&"a:b\n\n".repeat(1_000)).count(), GROUPS_MAX);
    }

    proptest! {
        #[test]
        fn no_text_causes_a_panic(text in "([A-Za-z-]{0,9}: ?\\PC{0,20}|[ \t]\\PC{0,9}|)(\r?\n[ \t]?\\PC{0,9}){0,20}") {
            for group in HeaderFields::groups(&text) {
                prop_assert!(group.fields.iter().all(|(_, value)| value.len() <= VALUE_BYTES_MAX));
            }
        }
    }
}

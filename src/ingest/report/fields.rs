//! Groups of header fields: what a header is, and what the machine-readable part of a report is made
//! of (RFC 3464 §2.1: fields as in a header, groups apart by empty lines).

/// Fields of one group.
const FIELDS_MAX: usize = 500;
/// Groups of one part: one for the message, one for each recipient.
const GROUPS_MAX: usize = 200;
/// Bytes of one unfolded value.
const VALUE_BYTES_MAX: usize = 4 << 10;

/// The fields of one group, in their order.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct HeaderFields {
    fields: Vec<(String, String)>,
    /// Whether the line before belongs to the last of them.
    is_open: bool,
}

impl HeaderFields {
    /// Reads a header, up to its first empty line. One of white space alone continues a field (RFC 5322
    /// §4.2).
    pub(super) fn header(text: &str) -> Self {
        let mut fields = Self::default();
        text.lines().take_while(|line| !line.is_empty()).for_each(|line| fields.take(line));
        fields
    }

    /// Reads the first group.
    pub(super) fn first(text: &str) -> Self {
        Self::groups(text).next().unwrap_or_default()
    }

    /// Reads every group.
    pub(super) fn groups(text: &str) -> impl Iterator<Item = Self> {
        let mut lines = text.lines();
        let group = move || {
            let mut group = Self::default();
            let mut begun = false;
            for line in lines.by_ref() {
                if line.trim().is_empty() {
                    if begun {
                        break;
                    }
                    continue;
                }
                begun = true;
                group.take(line);
            }
            begun.then_some(group)
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
            let (_, kept) = self.fields.last_mut().expect("a field was just added");
            append(kept, value);
        }
    }

    /// Returns the values of the fields of that name.
    pub(super) fn all<'f>(&'f self, name: &'f str) -> impl Iterator<Item = &'f str> {
        let named = self.fields.iter().filter(move |(its, _)| its.eq_ignore_ascii_case(name));
        named.map(|(_, value)| value.as_str())
    }

    /// Returns the value of the first field of that name, unless it is empty.
    pub(super) fn one(&self, name: &str) -> Option<&str> {
        let named = self.fields.iter().find(|(its, value)| its.eq_ignore_ascii_case(name) && !value.is_empty());
        named.map(|(_, value)| value.as_str())
    }
}

/// Appends a line of a value after a space, up to the cap and at a character boundary.
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
    fn fields_are_unfolded_and_groups_stand_apart() {
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
    fn a_header_ends_at_an_empty_line_and_not_at_a_blank_one() {
        let header = HeaderFields::header("Subject: a\r\n \r\n\tb\r\nTo: c\r\n\r\nCc: d\r\n");

        assert_eq!([header.one("Subject"), header.one("To"), header.one("Cc")], [Some("a b"), Some("c"), None]);
    }

    #[test]
    fn a_group_has_bounds() {
        let many: String = (0..1_000).map(|number| format!("To: {number}\n")).collect();
        let long = format!("A: {}\n {}\n {}", "ä".repeat(3_000), "b".repeat(3_000), "c");

        assert_eq!(HeaderFields::first(&many).all("To").count(), FIELDS_MAX);
        assert!(HeaderFields::first(&long).one("A").unwrap().len() <= VALUE_BYTES_MAX);
        assert_eq!(HeaderFields::groups(&"a:b\n\n".repeat(1_000)).count(), GROUPS_MAX);
    }

    proptest! {
        #[test]
        fn no_text_panics_the_reader(text in "([A-Za-z-]{0,9}: ?\\PC{0,20}|[ \t]\\PC{0,9}|)(\r?\n[ \t]?\\PC{0,9}){0,20}") {
            for group in HeaderFields::groups(&text) {
                prop_assert!(group.fields.iter().all(|(_, value)| value.len() <= VALUE_BYTES_MAX));
            }
        }
    }
}

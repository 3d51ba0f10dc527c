//! Text of a refusal in the form in which its reason is searched.

/// Returns a text in lower case with spaces around it and without addresses. Servers repeat the address of the recipient,
/// whose words are no reason of the refusal: `<policy@dnsbl.example>`.
pub(super) fn normalized(text: &str) -> String {
    let is_end = |character: char| character.is_whitespace() || "<>()[]{},;:".contains(character);
    let mut normalized = String::with_capacity(text.len() + 2);
    normalized.push(' ');
    let mut rest = text;
    while let Some(at) = rest.find('@') {
        let before = &rest[..at];
        let start = match before.strip_suffix('"') {
            // A quoted local part can have spaces (RFC 5321 §4.1.2).
            Some(quoted) => quoted.rfind('"').unwrap_or(0),
            None => before.rfind(is_end).map_or(0, |end| end + before[end..].chars().next().map_or(0, char::len_utf8)),
        };
        normalized.push_str(&before[..start]);
        let after = &rest[at + 1..];
        rest = &after[after.find(is_end).unwrap_or(after.len())..];
    }
    normalized.push_str(rest);
    normalized.push(' ');
    normalized.make_ascii_lowercase();
    normalized
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_leaves_the_text_and_its_neighbours_stay() {
        for (text, expected) in [
            ("<Policy@Example.com>: User unknown", " <>: user unknown "),
            ("Invalid recipient:<a@b>", " invalid recipient:<> "),
            ("No such user(a@b)", " no such user() "),
            ("<\"dnsbl x\"@example.com>: no", " <>: no "),
            ("é@ü \" @ x", "  \"  x "),
            ("@", "  "),
            ("\"@", "  "),
        ] {
            assert_eq!(normalized(text), expected, "{text}");
        }
    }
}

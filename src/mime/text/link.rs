//! Targets of links in a text part.

/// Longest target that is written. A longer one does not help a person, and tracking links are much shorter.
const TARGET_BYTES_MAX: usize = 2048;

/// An open link.
pub(super) struct TextLink {
    target: String,
    label_start: usize,
}

impl TextLink {
    /// Parses an `href`; `None` if its target has no meaning outside the HTML, such as an anchor.
    pub(super) fn new(href: &str, label_start: usize) -> Option<Self> {
        let href = href.trim();
        if href.len() > TARGET_BYTES_MAX {
            return None;
        }
        let (scheme, rest) = href.split_once(':')?;
        let visible = match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => href,
            "mailto" => rest.split('?').next().unwrap_or_default(),
            "tel" => rest,
            _ => return None,
        };
        let mut target = String::with_capacity(visible.len());
        for c in visible.chars() {
            // Characters at which mail clients end a link in text.
            if c.is_ascii_control() || matches!(c, ' ' | '"' | '<' | '>') {
                target.push_str(&format!("%{:02X}", u32::from(c)));
            } else {
                target.push(c);
            }
        }
        (!target.is_empty()).then_some(Self { target, label_start })
    }

    pub(super) fn target(&self) -> &str {
        &self.target
    }

    /// Returns the offset of the label in the text.
    pub(super) fn label_start(&self) -> usize {
        self.label_start
    }

    /// Returns whether the label equals the target, ignoring the scheme.
    pub(super) fn matches_label(&self, label: &str) -> bool {
        without_scheme(label).eq_ignore_ascii_case(without_scheme(&self.target))
    }
}

fn without_scheme(target: &str) -> &str {
    let target = target.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| target.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)));
    target[scheme.map_or(0, str::len)..].trim_end_matches('/')
}

//! Which targets of links are worth showing, and how.

/// A longer target is noise to a person, and tracking links stay well below.
const TARGET_BYTES_MAX: usize = 2048;

/// A link whose label is being read.
pub(super) struct Link {
    target: String,
    label_start: usize,
}

impl Link {
    /// Takes an `href`; nothing for one that leads nowhere outside the html, such as an anchor.
    pub(super) fn new(href: &str, label_start: usize) -> Option<Self> {
        let href = href.trim();
        if href.len() > TARGET_BYTES_MAX {
            return None;
        }
        let (scheme, rest) = href.split_once(':')?;
        let shown = match scheme.to_ascii_lowercase().as_str() {
            "http" | "https" => href,
            "mailto" => rest.split('?').next().unwrap_or_default(),
            "tel" => rest,
            _ => return None,
        };
        let mut target = String::with_capacity(shown.len());
        for c in shown.chars() {
            // What would end the target early for a reader that makes links of text.
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

    /// Where in the text the label begins.
    pub(super) fn label_start(&self) -> usize {
        self.label_start
    }

    /// Returns whether the label is the target already, in all but its scheme.
    pub(super) fn is_shown_by(&self, label: &str) -> bool {
        bare(label).eq_ignore_ascii_case(bare(&self.target))
    }
}

fn bare(target: &str) -> &str {
    let target = target.trim();
    let scheme = ["https://", "http://"]
        .into_iter()
        .find(|scheme| target.get(..scheme.len()).is_some_and(|s| s.eq_ignore_ascii_case(scheme)));
    target[scheme.map_or(0, str::len)..].trim_end_matches('/')
}

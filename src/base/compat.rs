//! Opt-in compatibility: forms of the compatible API that this server refuses by default.

use crate::base::words::words;

words! {
    /// A group of requests that an operator can switch on with the setting `RINGMAIL_COMPAT`. The words are the values
    /// of the setting, in the order of the documentation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum CompatFeature {
        /// Other forms of fields: empty text for an absent field, bare ids, wrapped arrays, an echoed `Reply-To`.
        Requests = "requests",
        /// Webhook event types that this server never emits.
        Events = "events",
        /// Header names that frameworks set.
        Headers = "headers",
        /// Attachments with a `content_id`.
        InlineImages = "inline-images",
        /// Attachments with a `path`.
        AttachmentPath = "attachment-path",
    } with ALL
}

impl CompatFeature {
    /// Returns the clause of an error message that names the setting.
    pub fn advice(self) -> String {
        format!("start the server with `RINGMAIL_COMPAT={}`", self.as_str())
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// The features that an instance accepts. The default accepts none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compat(u8);

impl Compat {
    /// Accepts no feature.
    pub const NONE: Self = Self(0);
    /// Accepts every feature.
    pub const ALL: Self = Self((1 << CompatFeature::ALL.len()) - 1);

    /// Returns whether the instance accepts the feature.
    pub const fn accepts(self, feature: CompatFeature) -> bool {
        self.0 & feature.bit() != 0
    }
}

impl FromIterator<CompatFeature> for Compat {
    fn from_iter<I: IntoIterator<Item = CompatFeature>>(features: I) -> Self {
        Self(features.into_iter().fold(0, |set, feature| set | feature.bit()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_set_accepts_its_features_only() {
        for feature in CompatFeature::ALL {
            let set: Compat = [feature].into_iter().collect();
            for other in CompatFeature::ALL {
                assert_eq!(set.accepts(other), other == feature, "{feature:?} {other:?}");
                assert!(Compat::ALL.accepts(other) && !Compat::NONE.accepts(other));
            }
        }
    }
}

//! Opt-in compatibility: forms of the compatible API that this server refuses by default.

/// A group of requests that an operator can switch on with the setting `RINGMAIL_COMPAT`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CompatFeature {
    /// Other forms of fields: empty text for an absent field, bare ids, wrapped arrays, an echoed `Reply-To`.
    Requests,
    /// Webhook event types that this server never emits.
    Events,
    /// Header names that frameworks set.
    Headers,
    /// Attachments with a `content_id`.
    InlineImages,
    /// Attachments with a `path`.
    AttachmentPath,
}

impl CompatFeature {
    /// Every feature, in the order of the documentation.
    pub const ALL: [Self; 5] = [Self::Requests, Self::Events, Self::Headers, Self::InlineImages, Self::AttachmentPath];

    /// Returns the value of the setting.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Events => "events",
            Self::Headers => "headers",
            Self::InlineImages => "inline-images",
            Self::AttachmentPath => "attachment-path",
        }
    }

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

//! The theme of a team's preference page: brand, two messages, redirect URL and three colours. Pure.
//!
//! The settings are stored as the team gave them. `palette.rs` derives the displayed colours.

use serde::{Deserialize, Serialize};

use super::colour::Colour;
use super::palette::{BaseColours, Palette};
use super::redirect::RedirectUrl;

/// Longest brand, in characters; the same as of a team name.
pub(super) const BRAND_CHARS_MAX: usize = 80;
/// Longest message, in characters.
pub(super) const MESSAGE_CHARS_MAX: usize = 500;

/// Theme settings of a team. A field that is `None` has the default of the page.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// Name at the top; by default the name of the team.
    pub brand: Option<String>,
    /// Text above the question of the page.
    pub message: Option<String>,
    /// Text below the confirmation of an opt-out.
    pub success: Option<String>,
    /// URL that recipients are redirected to after an opt-out; by default the page itself.
    pub redirect: Option<RedirectUrl>,
    pub background: Option<Colour>,
    pub text: Option<Colour>,
    /// Colour of buttons and links.
    pub accent: Option<Colour>,
}

/// Reason why a theme setting is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ThemeError {
    #[error("a brand has up to {BRAND_CHARS_MAX} characters and no control characters")]
    Brand,
    #[error("a message has up to {MESSAGE_CHARS_MAX} characters and no control characters but line breaks")]
    Message,
    #[error("a redirect is an http:// or https:// URL of up to 2,000 ASCII characters, without a user name")]
    Redirect,
    #[error("a colour is written #rrggbb, such as #3b5bdb")]
    Colour,
}

/// Checks a brand; `None` for an empty one.
///
/// # Errors
/// [`ThemeError::Brand`].
pub(super) fn brand(text: &str) -> Result<Option<String>, ThemeError> {
    let text = text.trim();
    if text.chars().count() > BRAND_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(ThemeError::Brand);
    }
    Ok((!text.is_empty()).then(|| text.to_owned()))
}

/// Checks a message; `None` for an empty one. Line breaks stay.
///
/// # Errors
/// [`ThemeError::Message`].
pub(super) fn message(text: &str) -> Result<Option<String>, ThemeError> {
    let text = text.trim().replace("\r\n", "\n");
    if text.chars().count() > MESSAGE_CHARS_MAX || text.chars().any(|c| c.is_control() && c != '\n') {
        return Err(ThemeError::Message);
    }
    Ok((!text.is_empty()).then_some(text))
}

/// Checks a redirect; `None` for an empty one.
///
/// # Errors
/// [`ThemeError::Redirect`].
pub(super) fn redirect(text: &str) -> Result<Option<RedirectUrl>, ThemeError> {
    if text.is_empty() {
        return Ok(None);
    }
    RedirectUrl::parse(text).map(Some).ok_or(ThemeError::Redirect)
}

/// Checks a colour; `None` for an empty one.
///
/// # Errors
/// [`ThemeError::Colour`].
pub(super) fn colour(text: &str) -> Result<Option<Colour>, ThemeError> {
    if text.is_empty() {
        return Ok(None);
    }
    Colour::parse(text).map(Some).ok_or(ThemeError::Colour)
}

/// Theme settings as text. In a change, `None` leaves the setting unchanged, and an empty text resets it to
/// the default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThemeTexts {
    /// Name at the top.
    pub brand: Option<String>,
    /// Text above the question of the page.
    pub message: Option<String>,
    /// Text below the confirmation of an opt-out.
    pub success: Option<String>,
    /// URL that recipients are redirected to after an opt-out.
    pub redirect: Option<String>,
    /// Background colour, `#rrggbb`.
    pub background: Option<String>,
    /// Text colour, `#rrggbb`.
    pub text: Option<String>,
    /// Colour of buttons and links, `#rrggbb`.
    pub accent: Option<String>,
}

impl Theme {
    /// Returns the settings as text.
    pub fn texts(&self) -> ThemeTexts {
        let Self { brand, message, success, redirect, background, text, accent } = self;
        let colour = |colour: &Option<Colour>| colour.map(|colour| colour.to_string());
        ThemeTexts {
            brand: brand.clone(),
            message: message.clone(),
            success: success.clone(),
            redirect: redirect.as_ref().map(|url| url.as_str().to_owned()),
            background: colour(background),
            text: colour(text),
            accent: colour(accent),
        }
    }

    /// Returns the theme with the settings of `texts` applied.
    ///
    /// # Errors
    /// The name of the first invalid setting, and the reason.
    pub fn with(self, texts: &ThemeTexts) -> Result<Self, (&'static str, ThemeError)> {
        fn changed<T>(
            name: &'static str,
            current: Option<T>,
            text: Option<&String>,
            rule: impl Fn(&str) -> Result<Option<T>, ThemeError>,
        ) -> Result<Option<T>, (&'static str, ThemeError)> {
            text.map_or(Ok(current), |text| rule(text).map_err(|error| (name, error)))
        }

        let ThemeTexts { brand, message, success, redirect, background, text, accent } = texts;
        Ok(Self {
            brand: changed("brand", self.brand, brand.as_ref(), self::brand)?,
            message: changed("message", self.message, message.as_ref(), self::message)?,
            success: changed("success", self.success, success.as_ref(), self::message)?,
            redirect: changed("redirect", self.redirect, redirect.as_ref(), self::redirect)?,
            background: changed("background", self.background, background.as_ref(), colour)?,
            text: changed("text", self.text, text.as_ref(), colour)?,
            accent: changed("accent", self.accent, accent.as_ref(), colour)?,
        })
    }
}

impl Theme {
    fn base(&self) -> BaseColours {
        BaseColours {
            background: self.background.unwrap_or(BaseColours::DEFAULT.background),
            text: self.text.unwrap_or(BaseColours::DEFAULT.text),
            accent: self.accent.unwrap_or(BaseColours::DEFAULT.accent),
        }
    }

    /// Returns the colours of the light scheme, which is the default.
    pub fn light(&self) -> Palette {
        Palette::of(self.base())
    }

    /// Returns the colours of the dark scheme.
    pub fn dark(&self) -> Palette {
        Palette::of(self.base().dark())
    }

    /// Returns the part of the style sheet that defines the colours.
    pub fn style(&self) -> String {
        format!(
            ":root{{{}}}\n@media (prefers-color-scheme:dark){{:root{{{}}}}}\n",
            self.light().properties(),
            self.dark().properties()
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn theme(background: &str, text: &str, accent: &str) -> Theme {
        let colour = |text: &str| Colour::parse(text);
        Theme { background: colour(background), text: colour(text), accent: colour(accent), ..Theme::default() }
    }

    #[test]
    fn readable_colours_are_unchanged() {
        for theme in [Theme::default(), theme("#ffffff", "#1a1a1a", "#3b5bdb"), theme("#0b0c0e", "#f1f2f4", "#8da2fb")]
        {
            let base = theme.base();
            let Palette { background, text, accent, .. } = theme.light();

            assert_eq!(BaseColours { background, text, accent }, base);
        }
    }

    #[test]
    fn invalid_settings_are_refused() {
        assert_eq!(brand(" Acme "), Ok(Some("Acme".into())));
        assert_eq!(brand("  "), Ok(None));
        assert_eq!(brand(&"x".repeat(81)), Err(ThemeError::Brand));
        assert_eq!(brand("a\nb"), Err(ThemeError::Brand));
        assert_eq!(message("a\r\nb"), Ok(Some("a\nb".into())));
        assert_eq!(message(&"ä".repeat(500)).map(|text| text.is_some()), Ok(true));
        assert_eq!(message(&"ä".repeat(501)), Err(ThemeError::Message));
        assert_eq!(message("a\u{0}b"), Err(ThemeError::Message));
        assert_eq!(redirect("javascript:alert(1)"), Err(ThemeError::Redirect));
        assert_eq!(redirect(""), Ok(None));
        assert_eq!(colour("#fff"), Err(ThemeError::Colour));
        assert_eq!(colour(""), Ok(None));
    }

    #[test]
    fn a_style_contains_only_colours() {
        let style = theme("#ffffff", "#000000", "#ff0000").style();

        let allowed = |c: char| c.is_ascii_alphanumeric() || " #:;-(){}@\n".contains(c);
        assert!(style.chars().all(allowed), "{style}");
        assert_eq!(style.matches("--accent:").count(), 2);
    }

    proptest! {
        #[test]
        fn no_text_panics_the_rules(text in ".{0,60}") {
            let _ = (brand(&text), message(&text), redirect(&text), colour(&text));
        }
    }
}

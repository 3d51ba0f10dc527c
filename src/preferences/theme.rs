//! How a team's preference page looks and what it says: brand, three texts, three colours. Pure.
//!
//! What the team gave is kept as it was given; `palette.rs` makes of it what is shown.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::colour::Colour;
use super::palette::{Base, Palette};
use super::redirect::RedirectUrl;

/// The longest brand, in characters: as long as a team's name.
pub(super) const BRAND_CHARS_MAX: usize = 80;
/// The longest message, in characters.
pub(super) const MESSAGE_CHARS_MAX: usize = 500;

/// What a team set. What it did not is the page's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Theme {
    /// The name at the top; the team's when none is set.
    pub brand: Option<String>,
    /// Stands above what the page asks.
    pub message: Option<String>,
    /// Stands under the news that the recipient is unsubscribed.
    pub success: Option<String>,
    /// Where a recipient is led who has unsubscribed; the page itself when none is set.
    pub redirect: Option<RedirectUrl>,
    /// The ground of the page.
    pub background: Option<Colour>,
    /// Its text.
    pub text: Option<Colour>,
    /// Its buttons and links.
    pub accent: Option<Colour>,
}

/// Why something is no part of a theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ThemeError {
    /// The brand is too long or has control characters.
    Brand,
    /// A message is too long or has control characters other than line breaks.
    Message,
    /// The redirect is no http or https URL.
    Redirect,
    /// A colour is not `#rrggbb`.
    Colour,
}

impl fmt::Display for ThemeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Brand => write!(f, "a brand has up to {BRAND_CHARS_MAX} characters and no control characters"),
            Self::Message => write!(
                f,
                "a message has up to {MESSAGE_CHARS_MAX} characters and no control characters but line breaks"
            ),
            Self::Redirect => f.write_str(
                "a redirect is an http:// or https:// URL of up to 2,000 ASCII characters, without a user name",
            ),
            Self::Colour => f.write_str("a colour is written #rrggbb, such as #3b5bdb"),
        }
    }
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

/// What is said of a theme, as text. What is not said stays; an empty text takes the page's own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ThemeTexts {
    /// The name at the top.
    pub brand: Option<String>,
    /// Stands above what the page asks.
    pub message: Option<String>,
    /// Stands under the news that the recipient is unsubscribed.
    pub success: Option<String>,
    /// Where a recipient is led who has unsubscribed.
    pub redirect: Option<String>,
    /// The ground of the page, `#rrggbb`.
    pub background: Option<String>,
    /// Its text, `#rrggbb`.
    pub text: Option<String>,
    /// Its buttons and links, `#rrggbb`.
    pub accent: Option<String>,
}

impl Theme {
    /// Returns what the team set, as text.
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

    /// Returns the theme with what is said of it.
    ///
    /// # Errors
    /// The name of the text that breaks a rule, and the rule.
    pub fn with(self, texts: &ThemeTexts) -> Result<Self, (&'static str, ThemeError)> {
        fn said<T>(
            name: &'static str,
            stays: Option<T>,
            said: Option<&String>,
            rule: impl Fn(&str) -> Result<Option<T>, ThemeError>,
        ) -> Result<Option<T>, (&'static str, ThemeError)> {
            said.map_or(Ok(stays), |text| rule(text).map_err(|error| (name, error)))
        }

        let ThemeTexts { brand, message, success, redirect, background, text, accent } = texts;
        Ok(Self {
            brand: said("brand", self.brand, brand.as_ref(), self::brand)?,
            message: said("message", self.message, message.as_ref(), self::message)?,
            success: said("success", self.success, success.as_ref(), self::message)?,
            redirect: said("redirect", self.redirect, redirect.as_ref(), self::redirect)?,
            background: said("background", self.background, background.as_ref(), colour)?,
            text: said("text", self.text, text.as_ref(), colour)?,
            accent: said("accent", self.accent, accent.as_ref(), colour)?,
        })
    }
}

impl Theme {
    fn base(&self) -> Base {
        Base {
            background: self.background.unwrap_or(Base::OWN.background),
            text: self.text.unwrap_or(Base::OWN.text),
            accent: self.accent.unwrap_or(Base::OWN.accent),
        }
    }

    /// Returns the colours as they are shown by default.
    pub fn light(&self) -> Palette {
        Palette::of(self.base())
    }

    /// Returns the colours as they are shown to whoever prefers a dark page.
    pub fn dark(&self) -> Palette {
        Palette::of(self.base().dark())
    }

    /// Returns the part of the style sheet that names the colours.
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
    fn colours_that_are_read_well_are_shown_as_given() {
        for theme in [Theme::default(), theme("#ffffff", "#1a1a1a", "#3b5bdb"), theme("#0b0c0e", "#f1f2f4", "#8da2fb")]
        {
            let base = theme.base();
            let Palette { background, text, accent, .. } = theme.light();

            assert_eq!(Base { background, text, accent }, base);
        }
    }

    #[test]
    fn what_is_no_part_of_a_theme_is_refused() {
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
    fn a_style_names_colours_and_nothing_else() {
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

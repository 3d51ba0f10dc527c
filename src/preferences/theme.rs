//! How a team's preference page looks and what it says: brand, three texts, three colours. Pure.
//!
//! A team gives three colours; everything else is derived from them, for both colour schemes, and
//! moved until it meets WCAG AA. What the team gave is kept as it was given.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::colour::{CONTROL_CONTRAST_MIN, Colour, TEXT_CONTRAST_MIN};
use super::redirect::RedirectUrl;

/// The longest brand, in characters: as long as a team's name.
pub(super) const BRAND_CHARS_MAX: usize = 80;
/// The longest message, in characters.
pub(super) const MESSAGE_CHARS_MAX: usize = 500;

/// The contrast that white text keeps on a raised surface of a dark page.
const RAISED_CONTRAST_MIN: f64 = 7.0;

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

/// The three colours that everything else follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Base {
    background: Colour,
    text: Colour,
    accent: Colour,
}

impl Base {
    /// The colours of a page nobody set: near black on near white.
    const OWN: Self = Self {
        background: Colour::new(0xfc, 0xfc, 0xfd),
        text: Colour::new(0x16, 0x18, 0x1d),
        accent: Colour::new(0x16, 0x18, 0x1d),
    };

    /// Returns the colours of the dark scheme: those of a page that is dark already, else the same
    /// hues on a dark ground.
    fn dark(self) -> Self {
        if Colour::pole_of(&[self.background]) == Colour::WHITE {
            return self;
        }
        let background = self.background.with_chroma_at_most(0.015).with_lightness(0.16);
        let text = self.text.with_chroma_at_most(0.02).with_lightness(0.96);
        // An accent too dark for the ground is mirrored: as light as it was dark.
        let accent = if self.accent.contrast(background) >= CONTROL_CONTRAST_MIN {
            self.accent
        } else {
            self.accent.with_lightness((1.15 - self.accent.lightness()).clamp(0.6, 0.96))
        };
        Self { background, text, accent }
    }
}

/// Every colour of the page in one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    /// The ground of the page.
    pub background: Colour,
    /// The ground of what stands on it.
    pub surface: Colour,
    /// Text.
    pub text: Colour,
    /// Text of less weight.
    pub muted: Colour,
    /// Links.
    pub link: Colour,
    /// Hairlines that separate and mean nothing.
    pub line: Colour,
    /// The edges of controls.
    pub border: Colour,
    /// The main button, a checked box, the ring around what has the focus.
    pub accent: Colour,
    /// Text on it.
    pub on_accent: Colour,
    /// The main button under the pointer.
    pub accent_hover: Colour,
}

impl Palette {
    fn of(base: Base) -> Self {
        let Base { background, text, accent } = base;
        let pole = Colour::pole_of(&[background]);
        let surface = if pole == Colour::BLACK {
            // Lighter than the ground, so that what is read on the ground is read here.
            background.mixed(Colour::WHITE, 0.6)
        } else {
            let raised = background.mixed(Colour::WHITE, 0.05);
            if raised.contrast(Colour::WHITE) >= RAISED_CONTRAST_MIN { raised } else { background }
        };
        let grounds = [background, surface];
        let text = text.readable_on(&grounds, TEXT_CONTRAST_MIN);
        let muted = text.mixed(background, 0.3).readable_on(&grounds, TEXT_CONTRAST_MIN);
        let line = background.mixed(text, 0.12);
        let border = background.mixed(text, 0.45).readable_on(&grounds, CONTROL_CONTRAST_MIN);
        let link = accent.readable_on(&grounds, TEXT_CONTRAST_MIN);
        let accent = accent.readable_on(&grounds, CONTROL_CONTRAST_MIN);
        let on_accent = Colour::pole_of(&[accent]);
        let away = if on_accent == Colour::WHITE { Colour::BLACK } else { Colour::WHITE };
        let hover = accent.mixed(away, 0.12);
        // A dark accent on a dark page would sink into it.
        let accent_hover = if hover.contrast_on(&grounds) >= CONTROL_CONTRAST_MIN { hover } else { accent };
        Self { background, surface, text, muted, link, line, border, accent, on_accent, accent_hover }
    }

    /// Returns the custom properties of the style sheet.
    fn properties(&self) -> String {
        let Self { background, surface, text, muted, link, line, border, accent, on_accent, accent_hover } = self;
        let scheme = if Colour::pole_of(&[*background]) == Colour::BLACK { "light" } else { "dark" };
        format!(
            "color-scheme:{scheme};--background:{background};--surface:{surface};--text:{text};--muted:{muted};\
             --link:{link};--line:{line};--border:{border};--accent:{accent};--on-accent:{on_accent};\
             --accent-hover:{accent_hover}"
        )
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

    /// Every pair of colours that stand on each other, with the contrast they need.
    fn pairs(palette: &Palette) -> Vec<(&'static str, f64, f64)> {
        let Palette { background, surface, text, muted, link, line: _, border, accent, on_accent, accent_hover } =
            *palette;
        let grounds = [background, surface];
        vec![
            ("text", text.contrast_on(&grounds), TEXT_CONTRAST_MIN),
            ("muted text", muted.contrast_on(&grounds), TEXT_CONTRAST_MIN),
            ("link", link.contrast_on(&grounds), TEXT_CONTRAST_MIN),
            ("edge of a control", border.contrast_on(&grounds), CONTROL_CONTRAST_MIN),
            ("button", accent.contrast_on(&grounds), CONTROL_CONTRAST_MIN),
            ("button under the pointer", accent_hover.contrast_on(&grounds), CONTROL_CONTRAST_MIN),
            ("text of the button", on_accent.contrast(accent), TEXT_CONTRAST_MIN),
            ("text of the button under the pointer", on_accent.contrast(accent_hover), TEXT_CONTRAST_MIN),
        ]
    }

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
    fn a_dark_page_is_the_same_in_both_schemes_and_a_light_one_turns_dark() {
        let night = theme("#101418", "#e0e0e0", "#8da2fb");
        assert_eq!(night.light(), night.dark());
        assert_eq!(night.style().matches("{color-scheme:dark").count(), 2);

        let day = theme("#fff4e0", "#33261a", "#1e3a8a").dark();

        assert_eq!(Colour::pole_of(&[day.background]), Colour::WHITE);
        assert!(day.background.contrast(Colour::WHITE) > 15.0, "{}", day.background);
        assert!(day.accent.lightness() > 0.6, "{} is no longer navy", day.accent);
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

    fn any_colour() -> impl Strategy<Value = Colour> {
        any::<[u8; 3]>().prop_map(|[red, green, blue]| Colour::new(red, green, blue))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn every_pair_meets_aa_whatever_the_team_chose(
            background in any_colour(), text in any_colour(), accent in any_colour(),
        ) {
            let (background, text, accent) = (Some(background), Some(text), Some(accent));
            let theme = Theme { background, text, accent, ..Theme::default() };

            for palette in [theme.light(), theme.dark()] {
                for (what, contrast, contrast_min) in pairs(&palette) {
                    prop_assert!(contrast >= contrast_min, "{}: {} in {:?}", what, contrast, palette);
                }
            }
        }

        #[test]
        fn the_schemes_are_as_light_and_as_dark_as_they_say(background in any_colour(), text in any_colour()) {
            let theme = Theme { background: Some(background), text: Some(text), ..Theme::default() };

            prop_assert_eq!(theme.light().background, background);
            prop_assert_eq!(Colour::pole_of(&[theme.dark().background]), Colour::WHITE);
        }

        #[test]
        fn no_text_panics_the_rules(text in ".{0,60}") {
            let _ = (brand(&text), message(&text), redirect(&text), colour(&text));
        }
    }
}

//! All colours of a page, derived from the three colours of a team. Pure.
//!
//! Each colour is derived for both colour schemes. Its lightness is changed until its contrast with every
//! background it appears on meets WCAG AA.

use super::colour::{CONTROL_CONTRAST_MIN, Colour, TEXT_CONTRAST_MIN};

/// Minimum contrast of white with a surface that is lighter than a dark page.
const RAISED_CONTRAST_MIN: f64 = 7.0;

/// The three colours that all other colours are derived from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BaseColours {
    pub(super) background: Colour,
    pub(super) text: Colour,
    pub(super) accent: Colour,
}

impl BaseColours {
    /// Colours of a page without a theme: near black on near white.
    pub(super) const DEFAULT: Self = Self {
        background: Colour::new(0xfc, 0xfc, 0xfd),
        text: Colour::new(0x16, 0x18, 0x1d),
        accent: Colour::new(0x16, 0x18, 0x1d),
    };

    /// Returns the colours of the dark scheme. Colours with a dark background are unchanged. Other colours
    /// keep their hues on a dark background.
    pub(super) fn dark(self) -> Self {
        if Colour::black_or_white_on(&[self.background]) == Colour::WHITE {
            return self;
        }
        let background = self.background.with_chroma_at_most(0.015).with_lightness(0.16);
        let text = self.text.with_chroma_at_most(0.02).with_lightness(0.96);
        // If the accent has too little contrast with the dark background, its lightness is mirrored.
        let accent = if self.accent.contrast(background) >= CONTROL_CONTRAST_MIN {
            self.accent
        } else {
            self.accent.with_lightness((1.15 - self.accent.lightness()).clamp(0.6, 0.96))
        };
        Self { background, text, accent }
    }
}

/// All colours of the page in one scheme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub background: Colour,
    /// Background of the content area.
    pub surface: Colour,
    pub text: Colour,
    /// Secondary text.
    pub muted: Colour,
    pub link: Colour,
    /// Decorative separator lines.
    pub line: Colour,
    /// Borders of controls.
    pub border: Colour,
    /// The main button, a checked box, and the outline of the focused element.
    pub accent: Colour,
    /// Text on the accent colour.
    pub on_accent: Colour,
    /// The main button under the pointer.
    pub accent_hover: Colour,
}

impl Palette {
    pub(super) fn of(base: BaseColours) -> Self {
        let BaseColours { background, text, accent } = base;
        let contrasting = Colour::black_or_white_on(&[background]);
        let surface = if contrasting == Colour::BLACK {
            // Lighter than the background, so that dark text is readable on both.
            background.mixed(Colour::WHITE, 0.6)
        } else {
            let raised = background.mixed(Colour::WHITE, 0.05);
            if raised.contrast(Colour::WHITE) >= RAISED_CONTRAST_MIN { raised } else { background }
        };
        let backgrounds = [background, surface];
        let text = text.readable_on(&backgrounds, TEXT_CONTRAST_MIN);
        let muted = text.mixed(background, 0.3).readable_on(&backgrounds, TEXT_CONTRAST_MIN);
        let line = background.mixed(text, 0.12);
        let border = background.mixed(text, 0.45).readable_on(&backgrounds, CONTROL_CONTRAST_MIN);
        let link = accent.readable_on(&backgrounds, TEXT_CONTRAST_MIN);
        let accent = accent.readable_on(&backgrounds, CONTROL_CONTRAST_MIN);
        let on_accent = Colour::black_or_white_on(&[accent]);
        let opposite = if on_accent == Colour::WHITE { Colour::BLACK } else { Colour::WHITE };
        let hover = accent.mixed(opposite, 0.12);
        // On a dark page, the hover colour of a dark accent may have too little contrast.
        let accent_hover = if hover.contrast_on(&backgrounds) >= CONTROL_CONTRAST_MIN { hover } else { accent };
        Self { background, surface, text, muted, link, line, border, accent, on_accent, accent_hover }
    }

    /// Returns the custom properties for the style sheet.
    pub(super) fn properties(&self) -> String {
        let Self { background, surface, text, muted, link, line, border, accent, on_accent, accent_hover } = self;
        let scheme = if Colour::black_or_white_on(&[*background]) == Colour::BLACK { "light" } else { "dark" };
        format!(
            "color-scheme:{scheme};--background:{background};--surface:{surface};--text:{text};--muted:{muted};\
             --link:{link};--line:{line};--border:{border};--accent:{accent};--on-accent:{on_accent};\
             --accent-hover:{accent_hover}"
        )
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Returns the contrast of each colour with its backgrounds, and the minimum contrast.
    fn pairs(palette: &Palette) -> Vec<(&'static str, f64, f64)> {
        let Palette { background, surface, text, muted, link, line: _, border, accent, on_accent, accent_hover } =
            *palette;
        let backgrounds = [background, surface];
        vec![
            ("text", text.contrast_on(&backgrounds), TEXT_CONTRAST_MIN),
            ("muted text", muted.contrast_on(&backgrounds), TEXT_CONTRAST_MIN),
            ("link", link.contrast_on(&backgrounds), TEXT_CONTRAST_MIN),
            ("edge of a control", border.contrast_on(&backgrounds), CONTROL_CONTRAST_MIN),
            ("button", accent.contrast_on(&backgrounds), CONTROL_CONTRAST_MIN),
            ("button under the pointer", accent_hover.contrast_on(&backgrounds), CONTROL_CONTRAST_MIN),
            ("text of the button", on_accent.contrast(accent), TEXT_CONTRAST_MIN),
            ("text of the button under the pointer", on_accent.contrast(accent_hover), TEXT_CONTRAST_MIN),
        ]
    }

    fn base(background: &str, text: &str, accent: &str) -> BaseColours {
        let colour = |text: &str| Colour::parse(text).unwrap();
        BaseColours { background: colour(background), text: colour(text), accent: colour(accent) }
    }

    #[test]
    fn a_dark_page_is_the_same_in_both_schemes_and_a_light_page_becomes_dark() {
        let dark_theme = base("#101418", "#e0e0e0", "#8da2fb");
        assert_eq!(dark_theme.dark(), dark_theme);
        assert!(Palette::of(dark_theme).properties().starts_with("color-scheme:dark;"));

        let light_theme = Palette::of(base("#fff4e0", "#33261a", "#1e3a8a").dark());

        assert_eq!(Colour::black_or_white_on(&[light_theme.background]), Colour::WHITE);
        assert!(light_theme.background.contrast(Colour::WHITE) > 15.0, "{}", light_theme.background);
        assert!(light_theme.accent.lightness() > 0.6, "{} is no longer navy", light_theme.accent);
    }

    fn any_colour() -> impl Strategy<Value = Colour> {
        any::<[u8; 3]>().prop_map(|[red, green, blue]| Colour::new(red, green, blue))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2_000))]
        #[test]
        fn every_palette_meets_wcag_aa(
            background in any_colour(), text in any_colour(), accent in any_colour(),
        ) {
            let base = BaseColours { background, text, accent };

            for palette in [Palette::of(base), Palette::of(base.dark())] {
                for (pair, contrast, contrast_min) in pairs(&palette) {
                    prop_assert!(contrast >= contrast_min, "{}: {} in {:?}", pair, contrast, palette);
                }
            }
        }

        #[test]
        fn the_light_scheme_keeps_the_background_and_the_dark_scheme_is_dark(
            background in any_colour(), text in any_colour(),
        ) {
            let base = BaseColours { background, text, ..BaseColours::DEFAULT };

            prop_assert_eq!(Palette::of(base).background, background);
            prop_assert_eq!(Colour::black_or_white_on(&[base.dark().background]), Colour::WHITE);
        }
    }
}

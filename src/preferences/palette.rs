//! Every colour of a page, from the three that a team gives. Pure.
//!
//! Each is derived for both colour schemes, and moved until it meets WCAG AA on whatever it stands.

use super::colour::{CONTROL_CONTRAST_MIN, Colour, TEXT_CONTRAST_MIN};

/// The contrast that white text keeps on a raised surface of a dark page.
const RAISED_CONTRAST_MIN: f64 = 7.0;

/// The three colours that everything else follows from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Base {
    pub(super) background: Colour,
    pub(super) text: Colour,
    pub(super) accent: Colour,
}

impl Base {
    /// The colours of a page nobody set: near black on near white.
    pub(super) const OWN: Self = Self {
        background: Colour::new(0xfc, 0xfc, 0xfd),
        text: Colour::new(0x16, 0x18, 0x1d),
        accent: Colour::new(0x16, 0x18, 0x1d),
    };

    /// Returns the colours of the dark scheme: those of a page that is dark already, else the same
    /// hues on a dark ground.
    pub(super) fn dark(self) -> Self {
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
    pub(super) fn of(base: Base) -> Self {
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
    pub(super) fn properties(&self) -> String {
        let Self { background, surface, text, muted, link, line, border, accent, on_accent, accent_hover } = self;
        let scheme = if Colour::pole_of(&[*background]) == Colour::BLACK { "light" } else { "dark" };
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

    fn base(background: &str, text: &str, accent: &str) -> Base {
        let colour = |text: &str| Colour::parse(text).unwrap();
        Base { background: colour(background), text: colour(text), accent: colour(accent) }
    }

    #[test]
    fn a_dark_page_is_the_same_in_both_schemes_and_a_light_one_turns_dark() {
        let night = base("#101418", "#e0e0e0", "#8da2fb");
        assert_eq!(night.dark(), night);
        assert!(Palette::of(night).properties().starts_with("color-scheme:dark;"));

        let day = Palette::of(base("#fff4e0", "#33261a", "#1e3a8a").dark());

        assert_eq!(Colour::pole_of(&[day.background]), Colour::WHITE);
        assert!(day.background.contrast(Colour::WHITE) > 15.0, "{}", day.background);
        assert!(day.accent.lightness() > 0.6, "{} is no longer navy", day.accent);
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
            let base = Base { background, text, accent };

            for palette in [Palette::of(base), Palette::of(base.dark())] {
                for (what, contrast, contrast_min) in pairs(&palette) {
                    prop_assert!(contrast >= contrast_min, "{}: {} in {:?}", what, contrast, palette);
                }
            }
        }

        #[test]
        fn the_schemes_are_as_light_and_as_dark_as_they_say(background in any_colour(), text in any_colour()) {
            let base = Base { background, text, ..Base::OWN };

            prop_assert_eq!(Palette::of(base).background, background);
            prop_assert_eq!(Colour::pole_of(&[base.dark().background]), Colour::WHITE);
        }
    }
}

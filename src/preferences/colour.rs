//! Colours and their contrast. Pure.
//!
//! Lightness and chroma are changed in OKLab, whose steps of lightness look equal and keep the hue. Contrast
//! is the contrast ratio of WCAG 2.2, from relative luminance.

use std::fmt;

/// Minimum contrast of text on its background (WCAG 2.2 §1.4.3, level AA).
pub(super) const TEXT_CONTRAST_MIN: f64 = 4.5;
/// Minimum contrast of the parts of a control with adjacent colours (WCAG 2.2 §1.4.11).
pub(super) const CONTROL_CONTRAST_MIN: f64 = 3.0;

/// Number of steps of lightness from black to white.
const LIGHTNESS_STEPS: u8 = 100;

/// An opaque sRGB colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    red: u8,
    green: u8,
    blue: u8,
}

/// A colour in OKLab: lightness from 0 to 1, and two axes of hue. The distance from the origin of the axes is
/// the chroma.
#[derive(Clone, Copy, Debug)]
struct Oklab {
    lightness: f64,
    a: f64,
    b: f64,
}

impl Colour {
    pub const BLACK: Self = Self::new(0, 0, 0);
    pub const WHITE: Self = Self::new(255, 255, 255);

    pub const fn new(red: u8, green: u8, blue: u8) -> Self {
        Self { red, green, blue }
    }

    /// Parses `#rrggbb`, ignoring case. Accepts no other form, because the colour is written into a style
    /// sheet.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        // `from_str_radix` accepts a sign.
        if digits.len() != 6 || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let part = |at: usize| u8::from_str_radix(&digits[at..at + 2], 16).ok();
        Some(Self::new(part(0)?, part(2)?, part(4)?))
    }

    /// Returns the relative luminance: 0 for black, 1 for white (WCAG 2.2, definitions).
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast ratio of two colours, from 1 to 21 (WCAG 2.2, definitions).
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    /// Returns the lowest contrast with any of the backgrounds.
    pub fn contrast_on(self, backgrounds: &[Self]) -> f64 {
        backgrounds.iter().map(|background| self.contrast(*background)).fold(f64::INFINITY, f64::min)
    }

    /// Returns black or white: the one with the higher contrast on all of the backgrounds. On a single
    /// background, its contrast is at least 4.58.
    pub fn black_or_white_on(backgrounds: &[Self]) -> Self {
        if Self::BLACK.contrast_on(backgrounds) >= Self::WHITE.contrast_on(backgrounds) {
            Self::BLACK
        } else {
            Self::WHITE
        }
    }

    /// Returns the colour if it has this contrast with every background. Otherwise returns the colour with
    /// the nearest lightness that has it, or black or white if no lightness has it.
    pub fn readable_on(self, backgrounds: &[Self], contrast_min: f64) -> Self {
        let is_readable = |colour: &Self| colour.contrast_on(backgrounds) >= contrast_min;
        if is_readable(&self) {
            return self;
        }
        let lightness = self.lightness();
        (1..=LIGHTNESS_STEPS)
            .map(|step| f64::from(step) / f64::from(LIGHTNESS_STEPS))
            .flat_map(|step| [lightness - step, lightness + step])
            .filter(|lightness| (0.0..=1.0).contains(lightness))
            .map(|lightness| self.with_lightness(lightness))
            .find(is_readable)
            .unwrap_or_else(|| Self::black_or_white_on(backgrounds))
    }

    /// Returns a mix of two colours. A `share` of 0 returns `self`, a `share` of 1 returns `other`.
    pub fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |one: u8, two: u8| to_byte(f64::from(one) * (1.0 - share) + f64::from(two) * share);
        Self::new(mix(self.red, other.red), mix(self.green, other.green), mix(self.blue, other.blue))
    }

    /// Returns the OKLab lightness, from 0 to 1.
    pub fn lightness(self) -> f64 {
        self.to_oklab().lightness
    }

    /// Returns the colour of the same hue with this OKLab lightness. Reduces the chroma if sRGB has no such
    /// colour.
    pub fn with_lightness(self, lightness: f64) -> Self {
        let Oklab { lightness: _, a, b } = self.to_oklab();
        let at = |share: f64| Oklab { lightness, a: a * share, b: b * share };
        if let Some(colour) = at(1.0).to_colour() {
            return colour;
        }
        let (mut inside, mut outside) = (0.0, 1.0);
        for _ in 0..12 {
            let middle = f64::midpoint(inside, outside);
            if at(middle).to_colour().is_some() {
                inside = middle;
            } else {
                outside = middle;
            }
        }
        at(inside).to_colour().unwrap_or(if lightness < 0.5 { Self::BLACK } else { Self::WHITE })
    }

    /// Returns the colour with at most this chroma: 0 is grey, and the most saturated colours have 0.3.
    pub fn with_chroma_at_most(self, chroma_max: f64) -> Self {
        let Oklab { lightness, a, b } = self.to_oklab();
        let chroma = a.hypot(b);
        if chroma <= chroma_max {
            return self;
        }
        let share = chroma_max / chroma;
        Oklab { lightness, a: a * share, b: b * share }.to_colour().unwrap_or(self)
    }

    fn linear(self) -> [f64; 3] {
        [self.red, self.green, self.blue].map(|byte| {
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Converts sRGB to OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
    fn to_oklab(self) -> Oklab {
        let [red, green, blue] = self.linear();
        let long = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
        let medium = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
        let short = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
        Oklab {
            lightness: 0.210_454_255_3 * long + 0.793_617_785_0 * medium - 0.004_072_046_8 * short,
            a: 1.977_998_495_1 * long - 2.428_592_205_0 * medium + 0.450_593_709_9 * short,
            b: 0.025_904_037_1 * long + 0.782_771_766_2 * medium - 0.808_675_766_0 * short,
        }
    }
}

impl Oklab {
    /// Returns the sRGB colour; `None` if the colour is outside sRGB.
    fn to_colour(self) -> Option<Colour> {
        /// Tolerance of the sRGB range: half the step of one byte, which rounds to the limit.
        const EDGE: f64 = 0.002;

        let Self { lightness, a, b } = self;
        let long = (lightness + 0.396_337_777_4 * a + 0.215_803_757_3 * b).powi(3);
        let medium = (lightness - 0.105_561_345_8 * a - 0.063_854_172_8 * b).powi(3);
        let short = (lightness - 0.089_484_177_5 * a - 1.291_485_548_0 * b).powi(3);
        let linear = [
            4.076_741_662_1 * long - 3.307_711_591_3 * medium + 0.230_969_929_2 * short,
            -1.268_438_004_6 * long + 2.609_757_401_1 * medium - 0.341_319_396_5 * short,
            -0.004_196_086_3 * long - 0.703_418_614_7 * medium + 1.707_614_701_0 * short,
        ];
        if linear.iter().any(|part| !(-EDGE..=1.0 + EDGE).contains(part)) {
            return None;
        }
        let [red, green, blue] = linear.map(|part| {
            let part = part.clamp(0.0, 1.0);
            let share = if part <= 0.003_130_8 { part * 12.92 } else { 1.055 * part.powf(1.0 / 2.4) - 0.055 };
            to_byte(share * 255.0)
        });
        Some(Colour::new(red, green, blue))
    }
}

fn to_byte(value: f64) -> u8 {
    // A cast from float to integer saturates.
    value.round() as u8
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { red, green, blue } = self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn colour(text: &str) -> Colour {
        Colour::parse(text).unwrap()
    }

    #[test]
    fn only_a_hash_and_six_digits_are_a_colour() {
        assert_eq!(Colour::parse("#0aF1c3"), Some(Colour::new(10, 241, 195)));
        for text in [
            "",
            "#",
            "0af1c3",
            "#0af",
            "#0af1c",
            "#0af1c3f",
            "#0af1c3ff",
            "#+af1c3",
            "# 0af1c3",
            "#0af1c3 ",
            "#0af1cg",
            "#ääa",
            "red",
            "rgb(0,0,0)",
            "#000;}",
            "#\u{ff10}0000",
        ] {
            assert_eq!(Colour::parse(text), None, "{text:?}");
        }
    }

    #[test]
    fn contrast_equals_published_ratios() {
        for (one, two, ratio) in [
            ("#000000", "#ffffff", 21.0),
            ("#777777", "#ffffff", 4.48),
            ("#767676", "#ffffff", 4.54),
            ("#0000ff", "#ffffff", 8.59),
            ("#ff0000", "#ffffff", 4.00),
            ("#123456", "#123456", 1.0),
        ] {
            let contrast = colour(one).contrast(colour(two));
            assert!((contrast - ratio).abs() < 0.005, "{one} on {two}: {contrast}");
        }
    }

    #[test]
    fn a_readable_colour_is_unchanged_and_another_keeps_its_hue() {
        let white = [Colour::WHITE];
        let blue = colour("#3b5bdb");
        assert_eq!(blue.readable_on(&white, TEXT_CONTRAST_MIN), blue);

        let yellow = colour("#ffd400").readable_on(&white, CONTROL_CONTRAST_MIN);

        assert!(yellow.red > yellow.green && yellow.green > yellow.blue, "{yellow}");
        assert!(yellow.contrast(Colour::WHITE) < 3.3, "{yellow} is darker than necessary");
    }

    proptest! {
        #[test]
        fn every_displayed_colour_is_parsed(red: u8, green: u8, blue: u8) {
            let colour = Colour::new(red, green, blue);

            prop_assert_eq!(Colour::parse(&colour.to_string()), Some(colour));
        }

        #[test]
        fn a_colour_at_its_own_lightness_is_unchanged(red: u8, green: u8, blue: u8) {
            let colour = Colour::new(red, green, blue);

            let again = colour.with_lightness(colour.lightness());

            for (one, two) in [(colour.red, again.red), (colour.green, again.green), (colour.blue, again.blue)] {
                prop_assert!(one.abs_diff(two) <= 1, "{} became {}", colour, again);
            }
        }

        #[test]
        fn black_or_white_is_readable_on_every_background(red: u8, green: u8, blue: u8) {
            let background = [Colour::new(red, green, blue)];

            prop_assert!(Colour::black_or_white_on(&background).contrast_on(&background) >= TEXT_CONTRAST_MIN);
        }

        #[test]
        fn every_colour_is_made_readable_on_one_background(red: u8, green: u8, blue: u8, background: [u8; 3]) {
            let background = [Colour::new(background[0], background[1], background[2])];

            let text = Colour::new(red, green, blue).readable_on(&background, TEXT_CONTRAST_MIN);

            prop_assert!(text.contrast_on(&background) >= TEXT_CONTRAST_MIN, "{} on {}", text, background[0]);
        }

        #[test]
        fn no_text_panics_the_parser(text in ".{0,12}|#.{0,8}") {
            let _ = Colour::parse(&text);
        }
    }
}

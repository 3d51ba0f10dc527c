//! Colours and how well one is read on another. Pure.
//!
//! A colour is moved in OKLCH, where a step of lightness looks like one and the hue stays what it
//! was; contrast is the one of WCAG 2.2, from relative luminance.

use std::fmt;

/// WCAG 2.2 §1.4.3, level AA: text on its ground.
pub(super) const TEXT_CONTRAST_MIN: f64 = 4.5;
/// WCAG 2.2 §1.4.11: the parts of a control on what is next to them.
pub(super) const CONTROL_CONTRAST_MIN: f64 = 3.0;

/// Lightness is moved by a hundredth at a time.
const LIGHTNESS_STEPS: u8 = 100;

/// A colour of sRGB, without transparency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Colour {
    red: u8,
    green: u8,
    blue: u8,
}

/// A colour by what the eye tells apart: lightness 0 to 1, and two axes of hue whose distance from
/// the middle is the chroma.
#[derive(Clone, Copy, Debug)]
struct Perceived {
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

    /// Reads `#rrggbb` in either case, and nothing else: what is read is written into a style sheet.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.strip_prefix('#')?;
        // `from_str_radix` would take a sign.
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

    /// Returns the lowest contrast with any of the grounds.
    pub fn contrast_on(self, grounds: &[Self]) -> f64 {
        grounds.iter().map(|ground| self.contrast(*ground)).fold(f64::INFINITY, f64::min)
    }

    /// Returns black or white, whichever is read better on every one of the grounds. On a single
    /// ground the better one always has a contrast of 4.58 or more.
    pub fn pole_of(grounds: &[Self]) -> Self {
        if Self::BLACK.contrast_on(grounds) >= Self::WHITE.contrast_on(grounds) { Self::BLACK } else { Self::WHITE }
    }

    /// Returns the colour itself where it has that contrast with every ground; else the nearest in
    /// lightness that does; else black or white.
    pub fn readable_on(self, grounds: &[Self], contrast_min: f64) -> Self {
        let is_readable = |colour: &Self| colour.contrast_on(grounds) >= contrast_min;
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
            .unwrap_or_else(|| Self::pole_of(grounds))
    }

    /// Returns the colour with `share` of another in it: 0 none, 1 nothing else.
    pub fn mixed(self, other: Self, share: f64) -> Self {
        let mix = |one: u8, two: u8| to_byte(f64::from(one) * (1.0 - share) + f64::from(two) * share);
        Self::new(mix(self.red, other.red), mix(self.green, other.green), mix(self.blue, other.blue))
    }

    /// Returns how light the colour looks, 0 to 1.
    pub fn lightness(self) -> f64 {
        self.perceived().lightness
    }

    /// Returns the colour of the same hue that looks that light. Chroma is given up where sRGB has
    /// no such colour.
    pub fn with_lightness(self, lightness: f64) -> Self {
        let Perceived { lightness: _, a, b } = self.perceived();
        let at = |share: f64| Perceived { lightness, a: a * share, b: b * share };
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

    /// Returns the colour with at most that chroma (0 is grey, the strongest colours have 0.3).
    pub fn with_chroma_at_most(self, chroma_max: f64) -> Self {
        let Perceived { lightness, a, b } = self.perceived();
        let chroma = a.hypot(b);
        if chroma <= chroma_max {
            return self;
        }
        let share = chroma_max / chroma;
        Perceived { lightness, a: a * share, b: b * share }.to_colour().unwrap_or(self)
    }

    fn linear(self) -> [f64; 3] {
        [self.red, self.green, self.blue].map(|byte| {
            let share = f64::from(byte) / 255.0;
            if share <= 0.040_45 { share / 12.92 } else { ((share + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// From sRGB to OKLab (B. Ottosson, "A perceptual color space for image processing", 2020).
    fn perceived(self) -> Perceived {
        let [red, green, blue] = self.linear();
        let long = (0.412_221_470_8 * red + 0.536_332_536_3 * green + 0.051_445_992_9 * blue).cbrt();
        let medium = (0.211_903_498_2 * red + 0.680_699_545_1 * green + 0.107_396_956_6 * blue).cbrt();
        let short = (0.088_302_461_9 * red + 0.281_718_837_6 * green + 0.629_978_700_5 * blue).cbrt();
        Perceived {
            lightness: 0.210_454_255_3 * long + 0.793_617_785_0 * medium - 0.004_072_046_8 * short,
            a: 1.977_998_495_1 * long - 2.428_592_205_0 * medium + 0.450_593_709_9 * short,
            b: 0.025_904_037_1 * long + 0.782_771_766_2 * medium - 0.808_675_766_0 * short,
        }
    }
}

impl Perceived {
    /// Returns the colour of sRGB; `None` where there is none.
    fn to_colour(self) -> Option<Colour> {
        /// Half a byte's step beyond the edge still rounds to the edge.
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
    // A cast of a float saturates.
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
    fn only_six_digits_after_a_hash_are_a_colour() {
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
    fn contrast_is_what_others_compute() {
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
    fn a_colour_that_is_read_well_stays_and_another_keeps_its_hue() {
        let white = [Colour::WHITE];
        let blue = colour("#3b5bdb");
        assert_eq!(blue.readable_on(&white, TEXT_CONTRAST_MIN), blue);

        let yellow = colour("#ffd400").readable_on(&white, CONTROL_CONTRAST_MIN);

        assert!(yellow.red > yellow.green && yellow.green > yellow.blue, "{yellow}");
        assert!(yellow.contrast(Colour::WHITE) < 3.3, "{yellow} is no darker than it has to be");
    }

    proptest! {
        #[test]
        fn every_colour_reads_back(red: u8, green: u8, blue: u8) {
            let colour = Colour::new(red, green, blue);

            prop_assert_eq!(Colour::parse(&colour.to_string()), Some(colour));
        }

        #[test]
        fn a_colour_at_its_own_lightness_is_itself(red: u8, green: u8, blue: u8) {
            let colour = Colour::new(red, green, blue);

            let again = colour.with_lightness(colour.lightness());

            for (one, two) in [(colour.red, again.red), (colour.green, again.green), (colour.blue, again.blue)] {
                prop_assert!(one.abs_diff(two) <= 1, "{} became {}", colour, again);
            }
        }

        #[test]
        fn black_or_white_is_text_on_every_ground(red: u8, green: u8, blue: u8) {
            let ground = [Colour::new(red, green, blue)];

            prop_assert!(Colour::pole_of(&ground).contrast_on(&ground) >= TEXT_CONTRAST_MIN);
        }

        #[test]
        fn what_is_made_readable_on_one_ground_is(red: u8, green: u8, blue: u8, ground: [u8; 3]) {
            let ground = [Colour::new(ground[0], ground[1], ground[2])];

            let text = Colour::new(red, green, blue).readable_on(&ground, TEXT_CONTRAST_MIN);

            prop_assert!(text.contrast_on(&ground) >= TEXT_CONTRAST_MIN, "{} on {}", text, ground[0]);
        }

        #[test]
        fn no_text_panics_the_reader(text in ".{0,12}|#.{0,8}") {
            let _ = Colour::parse(&text);
        }
    }
}

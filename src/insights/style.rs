//! The own styles of an element that decide whether its content is visible. Pure.

use lol_html::html_content::Element;

/// Units of a size that does not depend on the size of the parent. A number without a unit has pixels in some clients.
const UNITS: [&str; 13] = ["", "px", "pt", "rem", "pc", "cm", "mm", "in", "q", "vw", "vh", "vmin", "vmax"];
/// Words of such a size.
const SIZE_WORDS: [&str; 9] =
    ["xx-small", "x-small", "small", "medium", "large", "x-large", "xx-large", "xxx-large", "initial"];

/// Own styles of an element that decide whether its content is visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct OwnStyle {
    /// Whether the element hides all of its content.
    pub(super) hides: bool,
    /// Whether the size of its text is zero; `None` if the size is that of the parent, or relative to it. An element inside
    /// can set another size, and the size of the text does not hide an image.
    pub(super) is_font_zero: Option<bool>,
}

impl OwnStyle {
    /// Returns the own styles of an element, by its attributes.
    pub(super) fn of(element: &Element<'_, '_>) -> Self {
        let own = element.get_attribute("style").map(|style| Self::parse(&style)).unwrap_or_default();
        Self { hides: own.hides || element.has_attribute("hidden"), ..own }
    }

    fn parse(style: &str) -> Self {
        let style = style.to_ascii_lowercase();
        let mut own = Self::default();
        for (property, value) in style.split(';').filter_map(|rule| rule.split_once(':')) {
            let value = value.trim();
            match property.trim() {
                "display" => own.hides |= value.starts_with("none"),
                "visibility" => own.hides |= value.starts_with("hidden"),
                "opacity" | "max-height" => own.hides |= is_zero(value),
                "font-size" => own.is_font_zero = is_font_zero(value),
                "font" => {
                    own.is_font_zero = value.split_whitespace().filter(|it| !is_weight(it)).find_map(is_font_zero)
                }
                _ => {}
            }
        }
        own
    }
}

/// Returns whether a value of a style is zero in any unit.
fn is_zero(value: &str) -> bool {
    number_of(value).parse::<f32>().is_ok_and(|number| number == 0.0)
}

/// Returns whether a size of text is zero; `None` if it is no size, or depends on the parent.
fn is_font_zero(value: &str) -> Option<bool> {
    if is_zero(value) {
        return Some(true);
    }
    let size = value.split([' ', '/', '!']).next().unwrap_or_default();
    let number = number_of(size);
    let is_absolute = !number.is_empty() && UNITS.contains(&&size[number.len()..]);
    (is_absolute || SIZE_WORDS.contains(&size)).then_some(false)
}

/// Returns whether a part of a `font` is a weight, such as `700`.
fn is_weight(part: &str) -> bool {
    part.parse::<u16>().is_ok_and(|weight| weight > 0)
}

/// Returns the number at the start of a value.
fn number_of(value: &str) -> &str {
    let digits = value.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b'.').count();
    &value[..digits]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_can_hide_an_element() {
        for (style, expected) in [
            ("display: NONE", true),
            ("color:red ; display : none !important", true),
            ("visibility:hidden", true),
            ("opacity:0", true),
            ("opacity:0.5", false),
            ("max-height:0px;overflow:hidden", true),
            ("line-height:0", false),
            ("font-size:0", false),
            ("display:block", false),
            ("", false),
        ] {
            assert_eq!(OwnStyle::parse(style).hides, expected, "{style}");
        }
    }

    #[test]
    fn only_an_absolute_size_of_text_replaces_that_of_the_parent() {
        for (style, expected) in [
            ("font-size:0", Some(true)),
            ("FONT-SIZE: 0.0px !important", Some(true)),
            ("font-size:13px", Some(false)),
            ("font-size:.5rem", Some(false)),
            ("font-size: 15 ", Some(false)),
            ("font-size:small", Some(false)),
            ("font-size:0;font-size:16px!important", Some(false)),
            ("font-size:0.9em", None),
            ("font-size:120%", None),
            ("font-size:smaller", None),
            ("font-size:inherit", None),
            ("font-size:é", None),
            ("line-height:0", None),
            ("font:0/0 a", Some(true)),
            ("font:bold 16px/1.5 Arial", Some(false)),
            ("font:700 1em Arial", None),
        ] {
            assert_eq!(OwnStyle::parse(style).is_font_zero, expected, "{style}");
        }
    }
}

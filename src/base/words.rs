//! Enums whose values have words.

/// Declares an enum whose values have words, with the function `as_str`.
///
/// `with ALL` adds the list of all values, and `with ALL, parse` also a function that parses a word. The last word is the
/// name of this function. With `serde` before `ALL`, the words are in JSON and in rows too. The list and the functions
/// have the visibility of the enum. rustfmt does not format the body.
///
/// ```text
/// words! {
///     /// Consent of a recipient to emails under a topic.
///     #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
///     #[serde(rename_all = "snake_case")]
///     pub enum Subscription {
///         /// The recipient gets these emails.
///         OptIn = "opt_in",
///         /// The recipient does not get them.
///         OptOut = "opt_out",
///     } with ALL, parse
/// }
/// ```
macro_rules! words {
    ($(#[$attribute:meta])* $vis:vis enum $type:ident {
        $($(#[$value_attribute:meta])* $value:ident = $word:literal,)+
    }) => {
        $(#[$attribute])*
        $vis enum $type {
            $($(#[$value_attribute])* $value,)+
        }

        impl $type {
            /// Returns the word of the value, which is part of the API unless the comment of the enum says
            /// otherwise.
            $vis const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$value => $word,)+
                }
            }
        }
    };

    ($(#[$attribute:meta])* $vis:vis enum $type:ident {
        $($(#[$value_attribute:meta])* $value:ident = $word:literal,)+
    } with ALL $(, $parse:ident)?) => {
        $crate::base::words::words! {
            $(#[$attribute])*
            $vis enum $type {
                $($(#[$value_attribute])* $value = $word,)+
            }
        }

        impl $type {
            /// Every value, in the order of the declaration.
            $vis const ALL: [Self; [$($word),+].len()] = [$(Self::$value),+];

            $(
                /// Parses a word; `None` if no value has it.
                $vis fn $parse(word: &str) -> Option<Self> {
                    Self::ALL.into_iter().find(|value| value.as_str() == word)
                }
            )?
        }
    };

    ($(#[$attribute:meta])* $vis:vis enum $type:ident {
        $($(#[$value_attribute:meta])* $value:ident = $word:literal,)+
    } with serde, $($part:ident),+) => {
        $crate::base::words::words! {
            $(#[$attribute])*
            $vis enum $type {
                $($(#[$value_attribute])* #[serde(rename = $word)] $value = $word,)+
            } with $($part),+
        }
    };
}
pub(crate) use words;

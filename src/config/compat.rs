//! Setting of the opt-in compatibility.

use std::ffi::OsStr;

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Arg, Args, Command};

use crate::base::compat::{Compat, CompatFeature};

/// Value for every feature.
const ALL: &str = "all";

/// Setting of the opt-in compatibility as clap parses it.
#[derive(Args, Clone, Debug)]
pub(super) struct CompatSettings {
    /// Forms of the compatible API to accept in addition, separated by commas [default: none].
    #[arg(long, env = "RINGMAIL_COMPAT", value_name = "FEATURE", value_delimiter = ',', value_parser = FeatureParser,
          help_heading = "Serving")]
    compat: Vec<&'static [CompatFeature]>,
}

impl From<CompatSettings> for Compat {
    fn from(settings: CompatSettings) -> Self {
        settings.compat.into_iter().flatten().copied().collect()
    }
}

/// Parser of one value. Ignores spaces around it. The error for an unknown value names the nearest one.
#[derive(Clone)]
struct FeatureParser;

/// Returns every accepted value.
fn values() -> impl Iterator<Item = PossibleValue> {
    CompatFeature::ALL.map(CompatFeature::as_str).into_iter().chain([ALL]).map(PossibleValue::new)
}

impl TypedValueParser for FeatureParser {
    type Value = &'static [CompatFeature];

    fn parse_ref(&self, command: &Command, arg: Option<&Arg>, value: &OsStr) -> Result<Self::Value, clap::Error> {
        let value = value.to_str().map_or(value, |text| OsStr::new(text.trim()));
        let name = PossibleValuesParser::new(values()).parse_ref(command, arg, value)?;
        let features: &'static [CompatFeature] = &CompatFeature::ALL;
        Ok(features.iter().position(|feature| feature.as_str() == name).map_or(features, |at| &features[at..=at]))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(values()))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser, Debug)]
    struct Line {
        #[command(flatten)]
        settings: CompatSettings,
    }

    /// Parses the flag. The tests set no variable, because all tests share one process.
    fn compat(values: &[&str]) -> Result<Compat, String> {
        let line = ["ringmail"].into_iter().chain(values.iter().flat_map(|value| ["--compat", value]));
        Line::try_parse_from(line).map(|line| line.settings.into()).map_err(|error| error.to_string())
    }

    #[test]
    fn values_are_separated_by_commas_and_all_is_every_feature() {
        use CompatFeature::{Events, Headers, Requests};

        for (values, features) in [
            (&[] as &[&str], &[] as &[CompatFeature]),
            (&["requests"], &[Requests]),
            (&["headers,events"], &[Events, Headers]),
            (&[" headers , events "], &[Events, Headers]),
            (&["headers", "requests"], &[Requests, Headers]),
            (&["all"], &CompatFeature::ALL),
            (&["events,all"], &CompatFeature::ALL),
        ] {
            assert_eq!(compat(values), Ok(features.iter().copied().collect()), "{values:?}");
        }
        for feature in CompatFeature::ALL {
            assert_eq!(compat(&[feature.as_str()]), Ok([feature].into_iter().collect()));
        }
    }

    #[test]
    fn an_unknown_value_is_refused_with_the_nearest_one() {
        for (value, nearest) in
            [("inline-image", "inline-images"), ("header", "headers"), ("attachment-paths", "attachment-path")]
        {
            let error = compat(&[value]).unwrap_err();

            assert!(error.contains(&format!("'{value}'")), "{error}");
            assert!(error.contains(&format!("a similar value exists: '{nearest}'")), "{error}");
        }
        for value in ["", "everything", "requests,", "REQUESTS"] {
            let error = compat(&[value]).unwrap_err();
            assert!(error.contains("attachment-path"), "{value}: {error}");
        }
    }
}

//! Themes of preference pages.

use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::AdminError;
use crate::audit::Actor;
use crate::base::id::TeamId;
use crate::preferences::{self, Palette, Theme, ThemeTexts};

#[derive(Clone, Debug, Subcommand, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum ThemeVerb {
    /// Show the theme and the displayed colours.
    #[serde(rename = "theme_show")]
    Show,
    /// Change the given parts of the theme. An empty text restores the default.
    #[serde(rename = "theme_set")]
    Set(ThemeArgs),
    /// Restore the default theme.
    #[serde(rename = "theme_reset")]
    Reset,
}

// The parts of a theme to change. A doc comment would replace the description of the verb.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ThemeArgs {
    /// Name at the top of the page [default: the name of the team].
    #[arg(long, value_name = "NAME")]
    pub brand: Option<String>,

    /// Text above the form, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    pub message: Option<String>,

    /// Text after an unsubscribe, up to 500 characters.
    #[arg(long, value_name = "TEXT")]
    pub success: Option<String>,

    /// Page to show after an unsubscribe: an http or https URL that does not redirect.
    ///
    /// The security policy of the preference page allows only the host of this URL, and browsers apply
    /// it to every redirect after a form. If the URL redirects to another host, such as from example.com
    /// to www.example.com, or from http to https, the browser may block the navigation. Use the final
    /// URL.
    #[arg(long, value_name = "URL")]
    pub redirect: Option<String>,

    /// Background colour of the page.
    #[arg(long, value_name = "#RRGGBB")]
    pub background: Option<String>,

    /// Colour of the text.
    #[arg(long, value_name = "#RRGGBB")]
    pub text: Option<String>,

    /// Colour of buttons and links.
    #[arg(long, value_name = "#RRGGBB")]
    pub accent: Option<String>,
}

/// Theme of a team's preference page.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ThemeView {
    /// Settings of the team; `None` selects the default of the page.
    #[serde(flatten)]
    pub texts: ThemeTexts,
    /// Displayed colours of the light scheme.
    pub light: ColoursView,
    /// Displayed colours of the dark scheme.
    pub dark: ColoursView,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ColoursView {
    pub background: String,
    pub text: String,
    pub accent: String,
}

impl From<&Theme> for ThemeView {
    fn from(theme: &Theme) -> Self {
        Self { texts: theme.texts(), light: theme.light().into(), dark: theme.dark().into() }
    }
}

impl From<Palette> for ColoursView {
    fn from(palette: Palette) -> Self {
        let Palette { background, text, accent, .. } = palette;
        Self { background: background.to_string(), text: text.to_string(), accent: accent.to_string() }
    }
}

pub(super) async fn execute(services: &AdminServices, team: TeamId, verb: ThemeVerb) -> VerbResult {
    let (context, by) = (&services.context, Actor::CommandLine.in_team(team));
    let theme = match verb {
        ThemeVerb::Show => context.store.read(move |tx| preferences::theme_of(tx, team)).await?,
        ThemeVerb::Set(ThemeArgs { brand, message, success, redirect, background, text, accent }) => {
            let texts = ThemeTexts { brand, message, success, redirect, background, text, accent };
            let changed = preferences::change_theme(context, by, texts).await?;
            changed.map_err(|(name, error)| AdminError::invalid(format!("--{name}: {error}")))?
        }
        ThemeVerb::Reset => {
            preferences::reset_theme(context, by).await?;
            Theme::default()
        }
    };
    Ok(ThemeView::from(&theme).into())
}

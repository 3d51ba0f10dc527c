//! Themes of preference pages.

use serde::{Deserialize, Serialize};

use super::request::{AdminServices, VerbResult};
use super::response::AdminError;
use crate::audit::Actor;
use crate::base::id::TeamId;
use crate::preferences::{self, Palette, Theme, ThemeTexts};

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(tag = "verb", deny_unknown_fields)]
pub enum ThemeVerb {
    #[serde(rename = "theme_show")]
    Show,
    #[serde(rename = "theme_set")]
    Set(ThemeTexts),
    #[serde(rename = "theme_reset")]
    Reset,
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
        ThemeVerb::Set(texts) => preferences::change_theme(context, by, texts)
            .await?
            .map_err(|(name, error)| AdminError::invalid(format!("--{name}: {error}")))?,
        ThemeVerb::Reset => {
            preferences::reset_theme(context, by).await?;
            Theme::default()
        }
    };
    Ok(ThemeView::from(&theme).into())
}

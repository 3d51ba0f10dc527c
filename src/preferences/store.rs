//! Theme rows. Each field is validated again when it is read, because it is written into a page.

use serde::{Deserialize, Serialize};

use super::theme::{self, Theme, ThemeError, ThemeTexts};
use crate::audit::{self, AuditAction, AuditEntry, TeamActor};
use crate::base::id::TeamId;
use crate::context::Context;
use crate::store::{Reads, Row, StoreError, WriteTx};
use crate::tables::PREFERENCE_THEMES;

/// Stored theme of a team, as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThemeRow {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    brand: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    message: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    success: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    redirect: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    background: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    accent: Option<String>,
}
impl Row for ThemeRow {}

impl From<&Theme> for ThemeRow {
    fn from(theme: &Theme) -> Self {
        let ThemeTexts { brand, message, success, redirect, background, text, accent } = theme.texts();
        Self { brand, message, success, redirect, background, text, accent }
    }
}

impl From<ThemeRow> for Theme {
    /// Leaves out each field that breaks a current rule.
    fn from(row: ThemeRow) -> Self {
        fn validated<T>(stored: Option<String>, rule: impl Fn(&str) -> Result<Option<T>, ThemeError>) -> Option<T> {
            rule(&stored?).ok().flatten()
        }

        let ThemeRow { brand, message, success, redirect, background, text, accent } = row;
        Self {
            brand: validated(brand, theme::brand),
            message: validated(message, theme::message),
            success: validated(success, theme::message),
            redirect: validated(redirect, theme::redirect),
            background: validated(background, theme::colour),
            text: validated(text, theme::colour),
            accent: validated(accent, theme::colour),
        }
    }
}

/// Returns the theme of a team; the default theme if the team has none.
pub fn theme_of(tx: &impl Reads, team: TeamId) -> Result<Theme, StoreError> {
    Ok(tx.get(&PREFERENCE_THEMES, &(team,))?.map_or_else(Theme::default, Theme::from))
}

/// Applies `texts` to the theme of a team, and returns the new theme.
///
/// # Errors
/// The inner error is that of [`Theme::with`]; the theme is then unchanged. The outer error is
/// [`StoreError`].
pub async fn change_theme(
    context: &Context,
    by: impl Into<TeamActor>,
    texts: ThemeTexts,
) -> Result<Result<Theme, (&'static str, ThemeError)>, StoreError> {
    let (by, audited) = (by.into(), context.clone());
    let team = by.team;
    let write = move |tx: &WriteTx<'_>| {
        let changed = theme_of(tx, team)?.with(&texts);
        if let Ok(theme) = &changed {
            put_theme(tx, team, theme)?;
            audit::record(tx, &audited, by, AuditEntry::new(AuditAction::ThemeChanged))?;
        }
        Ok(changed)
    };
    context.store.write(write).await
}

/// Resets the theme of a team to the default theme.
pub async fn reset_theme(context: &Context, by: impl Into<TeamActor>) -> Result<(), StoreError> {
    let (by, audited) = (by.into(), context.clone());
    let reset = move |tx: &WriteTx<'_>| {
        put_theme(tx, by.team, &Theme::default())?;
        audit::record(tx, &audited, by, AuditEntry::new(AuditAction::ThemeReset))
    };
    context.store.write(reset).await
}

/// Stores the theme of a team. The default theme has no row.
fn put_theme(tx: &WriteTx<'_>, team: TeamId, theme: &Theme) -> Result<(), StoreError> {
    if *theme == Theme::default() {
        tx.delete(&PREFERENCE_THEMES, &(team,))?;
        return Ok(());
    }
    tx.put(&PREFERENCE_THEMES, &(team,), &ThemeRow::from(theme))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::id::Id;
    use crate::preferences::colour::Colour;
    use crate::preferences::redirect::RedirectUrl;

    const TEAM: TeamId = Id::MIN;

    #[tokio::test]
    async fn a_theme_is_stored_and_the_default_theme_has_no_row() {
        let (_directory, context) = Context::temporary();
        let theme = Theme {
            brand: Some("Acme".into()),
            message: Some("a\nb".into()),
            success: Some("Bye".into()),
            redirect: RedirectUrl::parse("https://example.com/bye"),
            background: Colour::parse("#ffffff"),
            text: Colour::parse("#101010"),
            accent: Colour::parse("#3b5bdb"),
        };
        let apply = move |tx: &WriteTx<'_>| {
            assert_eq!(theme_of(tx, TEAM)?, Theme::default());
            put_theme(tx, TEAM, &theme)?;
            assert_eq!(theme_of(tx, TEAM)?, theme);
            assert_eq!(theme_of(tx, Id::MAX)?, Theme::default());
            put_theme(tx, TEAM, &Theme::default())?;
            assert!(!tx.contains(&PREFERENCE_THEMES, &(TEAM,))?);
            Ok(())
        };

        context.commit(apply).await;
    }

    #[test]
    fn a_field_that_breaks_a_rule_is_left_out() {
        let row = ThemeRow {
            brand: Some("Acme".into()),
            message: Some("x".repeat(501)),
            redirect: Some("javascript:alert(1)".into()),
            background: Some("red;}body{display:none".into()),
            ..ThemeRow::default()
        };

        assert_eq!(Theme::from(row), Theme { brand: Some("Acme".into()), ..Theme::default() });
    }
}

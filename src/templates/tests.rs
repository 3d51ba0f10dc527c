//! Versions, aliases and limits of templates in the store.

use super::model::CONTENT_BYTES_MAX;
use super::*;
use crate::base::id::{Id, TeamId, TemplateId, TemplateVersionId};
use crate::base::patch::Patch;
use crate::context::Context;
use crate::store::read_chunks;
use crate::tables::{TEMPLATE_ALIASES, TEMPLATE_BODIES, TEMPLATES};

const TEAM: TeamId = Id::MIN;
const OTHER: TeamId = Id::MAX;

fn content(html: &str) -> TemplateContent {
    TemplateContent { html: html.to_owned(), ..TemplateContent::default() }
}

fn alias(text: &str) -> TemplateAlias {
    TemplateAlias::parse(text).unwrap()
}

fn new_template(name: &str, alias: Option<&str>) -> NewTemplate {
    NewTemplate {
        name: TemplateName::parse(name).unwrap(),
        alias: alias.map(self::alias),
        content: content(&format!("<p>{name}</p>")),
    }
}

fn with_html(html: &str) -> TemplateChanges {
    TemplateChanges { html: Some(html.to_owned()), ..TemplateChanges::default() }
}

/// Returns the number of aliases and of versions with content.
fn stored(context: &Context, team: TeamId) -> (usize, usize) {
    let aliases = context.keys(&TEMPLATE_ALIASES).into_iter().filter(|(of, _)| *of == team).count();
    let bodies = context.keys(&TEMPLATE_BODIES).into_iter().filter(|(of, ..)| *of == team);
    let mut versions: Vec<_> = bodies.map(|(_, version, _)| version).collect();
    versions.dedup();
    (aliases, versions.len())
}

#[tokio::test]
async fn sends_use_the_published_version_until_the_next_publication() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    let created = templates.create(TEAM, new_template("One", Some("one"))).await.unwrap();
    let reference = TemplateRef::Id(created.id);
    let published = async || Ok(templates.published(TEAM, TemplateRef::Alias(alias("one"))).await?.1);
    assert!(matches!(published().await, Err(UseTemplateError::NotPublished)));
    assert_eq!((created.status(), created.has_unpublished_version()), (TemplateStatus::Draft, true));

    let first = templates.publish(TEAM, reference.clone()).await.unwrap();
    let draft = templates.update(TEAM, reference.clone(), with_html("<p>Two</p>")).await.unwrap();

    assert_eq!((first.status(), first.has_unpublished_version()), (TemplateStatus::Published, false));
    assert_eq!((draft.status(), draft.has_unpublished_version()), (TemplateStatus::Published, true));
    assert_ne!(draft.version, first.version);
    assert_eq!(published().await.unwrap(), content("<p>One</p>"));
    let (_, newest) = templates.find(TEAM, reference.clone()).await.unwrap().unwrap();
    assert_eq!(newest, content("<p>Two</p>"));
    assert_eq!(stored(&context, TEAM), (1, 2));

    templates.update(TEAM, reference.clone(), with_html("<p>Three</p>")).await.unwrap();
    assert_eq!(stored(&context, TEAM), (1, 2), "the replaced draft is deleted");
    templates.publish(TEAM, reference.clone()).await.unwrap();
    assert_eq!(published().await.unwrap(), content("<p>Three</p>"));
    assert_eq!(stored(&context, TEAM), (1, 1), "the replaced published version is deleted");
    assert_eq!(templates.delete(TEAM, reference.clone()).await.unwrap(), Some(created.id));
    assert_eq!(stored(&context, TEAM), (0, 0));
    assert_eq!(templates.delete(TEAM, reference).await.unwrap(), None);
}

#[tokio::test]
async fn a_change_without_effect_makes_no_version() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    let created = templates.create(TEAM, new_template("One", Some("one"))).await.unwrap();
    let reference = TemplateRef::Id(created.id);
    context.clock.advance(std::time::Duration::from_secs(1));

    let same = TemplateChanges {
        name: TemplateName::parse("One"),
        alias: Patch::Set(alias("one")),
        subject: Patch::Clear,
        ..with_html("<p>One</p>")
    };
    assert_eq!(templates.update(TEAM, reference.clone(), same).await.unwrap(), created);
    let published = templates.publish(TEAM, reference.clone()).await.unwrap();
    context.clock.advance(std::time::Duration::from_secs(1));
    assert_eq!(templates.publish(TEAM, reference.clone()).await.unwrap(), published);
    let renamed = TemplateChanges { name: TemplateName::parse("New"), ..TemplateChanges::default() };
    let renamed = templates.update(TEAM, reference, renamed).await.unwrap();
    assert_eq!((renamed.version, renamed.published), (published.version, published.published));
    assert!(renamed.updated_ms > published.updated_ms);
}

#[tokio::test]
async fn an_alias_belongs_to_one_template_of_a_team() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    let first = templates.create(TEAM, new_template("One", Some("one"))).await.unwrap();
    let second = templates.create(TEAM, new_template("Two", Some("One"))).await.unwrap();
    let theirs = templates.create(OTHER, new_template("Theirs", Some("one"))).await.unwrap();
    let set = |text: &str| TemplateChanges { alias: Patch::Set(alias(text)), ..TemplateChanges::default() };
    let find = async |team, text: &str| {
        templates.find(team, TemplateRef::Alias(alias(text))).await.unwrap().map(|(template, _)| template.id)
    };
    assert_eq!((find(TEAM, "one").await, find(OTHER, "one").await), (Some(first.id), Some(theirs.id)));

    let refused = templates.create(TEAM, new_template("Three", Some("one"))).await;
    assert!(matches!(&refused, Err(CreateTemplateError::AliasTaken(taken)) if taken == "one"), "{refused:?}");
    let refused = templates.update(TEAM, TemplateRef::Id(second.id), set("one")).await;
    assert!(matches!(&refused, Err(UpdateTemplateError::AliasTaken(taken)) if taken == "one"), "{refused:?}");
    assert_eq!(stored(&context, TEAM), (2, 2));

    templates.update(TEAM, TemplateRef::Id(first.id), set("first")).await.unwrap();
    templates.update(TEAM, TemplateRef::Id(second.id), set("one")).await.unwrap();
    assert_eq!((find(TEAM, "first").await, find(TEAM, "one").await), (Some(first.id), Some(second.id)));
    assert_eq!(find(TEAM, "One").await, None);
    let cleared = TemplateChanges { alias: Patch::Clear, ..TemplateChanges::default() };
    templates.update(TEAM, TemplateRef::Alias(alias("first")), cleared).await.unwrap();
    assert_eq!(find(TEAM, "first").await, None);
    templates.delete(TEAM, TemplateRef::Alias(alias("one"))).await.unwrap();
    templates.create(TEAM, new_template("Three", Some("one"))).await.unwrap();
    assert_eq!(find(OTHER, "one").await, Some(theirs.id));
}

#[tokio::test]
async fn a_copy_has_the_newest_content_and_no_alias() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context);
    let created = templates.create(TEAM, new_template("One", Some("one"))).await.unwrap();
    let reference = TemplateRef::Id(created.id);
    templates.publish(TEAM, reference.clone()).await.unwrap();
    templates.update(TEAM, reference.clone(), with_html("<p>Two</p>")).await.unwrap();

    let copy = templates.duplicate(TEAM, reference.clone()).await.unwrap();

    assert_eq!((copy.name.as_str(), copy.alias.as_ref(), copy.status()), ("One (copy)", None, TemplateStatus::Draft));
    templates.delete(TEAM, reference.clone()).await.unwrap();
    let (_, content_of_copy) = templates.find(TEAM, TemplateRef::Id(copy.id)).await.unwrap().unwrap();
    assert_eq!(content_of_copy, content("<p>Two</p>"));
    assert!(matches!(templates.duplicate(TEAM, reference).await, Err(CreateTemplateError::NotFound)));
}

#[tokio::test]
async fn concurrent_changes_of_different_parts_are_all_kept() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    let created = templates.create(TEAM, new_template("One", None)).await.unwrap();
    let change = |changes| templates.update(TEAM, TemplateRef::Id(created.id), changes);
    let text = TemplateChanges { text: Patch::Set("Text".into()), ..TemplateChanges::default() };
    let subject = TemplateChanges { subject: Patch::Set("Subject".into()), ..TemplateChanges::default() };

    let (html, text, subject) = tokio::join!(change(with_html("<p>Two</p>")), change(text), change(subject));

    assert!(html.is_ok() && text.is_ok() && subject.is_ok());
    let (_, newest) = templates.find(TEAM, TemplateRef::Id(created.id)).await.unwrap().unwrap();
    let expected =
        TemplateContent { subject: Some("Subject".into()), text: Some("Text".into()), ..content("<p>Two</p>") };
    assert_eq!(newest, expected);
    assert_eq!(stored(&context, TEAM), (0, 1));
}

#[tokio::test]
async fn of_two_changes_of_the_same_revision_one_is_stored() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context);
    let created = templates.create(TEAM, new_template("One", None)).await.unwrap();
    let change = |changes| templates.update(TEAM, TemplateRef::Id(created.id), changes);
    let on_first = TemplateChanges { revision: Some(0), ..TemplateChanges::default() };
    let html = TemplateChanges { html: Some("<p>Two</p>".into()), ..on_first.clone() };
    let name = TemplateChanges { name: TemplateName::parse("Two"), ..on_first };

    let (html, name) = tokio::join!(change(html), change(name));

    let (template, newest) = templates.find(TEAM, TemplateRef::Id(created.id)).await.unwrap().unwrap();
    assert_eq!(template.revision, 1);
    let is_html = newest == content("<p>Two</p>");
    assert_eq!(is_html, template.name == "One");
    let (stored, refused) = if is_html { (html, name) } else { (name, html) };
    assert_eq!(stored.unwrap(), template);
    assert!(matches!(refused, Err(UpdateTemplateError::StaleRevision)), "{refused:?}");
}

#[tokio::test]
async fn content_is_sealed_and_bounded() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    // Text that does not compress has several chunks.
    let html: String = (0..CONTENT_BYTES_MAX / 36).map(|_| context.id::<()>().to_string()).collect();
    let largest = NewTemplate { content: content(&html), ..new_template("Largest", None) };
    let created = templates.create(TEAM, largest).await.unwrap();
    let (_, read) = templates.find(TEAM, TemplateRef::Id(created.id)).await.unwrap().unwrap();
    assert_eq!(read.html, html);
    let version: TemplateVersionId = created.version;
    let on_disk = context.read(|tx| read_chunks(tx, &TEMPLATE_BODIES, |chunk| (TEAM, version, chunk))).unwrap();
    assert!(!on_disk.windows(36).any(|bytes| bytes == &html.as_bytes()[..36]));

    let too_large = NewTemplate { content: content(&"a".repeat(CONTENT_BYTES_MAX + 1)), ..new_template("Too", None) };
    let refused = templates.create(TEAM, too_large).await;
    assert!(matches!(refused, Err(CreateTemplateError::TooLarge)), "{refused:?}");
    let text = TemplateChanges { text: Patch::Set("a".repeat(100)), ..TemplateChanges::default() };
    let refused = templates.update(TEAM, TemplateRef::Id(created.id), text).await;
    assert!(matches!(refused, Err(UpdateTemplateError::TooLarge)), "{refused:?}");
}

#[tokio::test]
async fn a_team_has_at_most_1000_templates() {
    let (_directory, context) = Context::temporary();
    let templates = Templates::new(context.clone());
    let last = templates.create(TEAM, new_template("Last", None)).await.unwrap();
    let row = TemplateRow {
        name: "Filler".into(),
        alias: None,
        revision: 0,
        version: Id::MIN,
        published: None,
        created_ms: 1,
        updated_ms: 1,
    };
    let ids: Vec<TemplateId> = (1..TEMPLATES_MAX).map(|_| context.id()).collect();
    context.commit(move |tx| ids.iter().try_for_each(|id| tx.put(&TEMPLATES, &(TEAM, *id), &row))).await;

    let refused = templates.create(TEAM, new_template("One more", None)).await;
    assert!(matches!(refused, Err(CreateTemplateError::TooMany)), "{refused:?}");
    templates.create(OTHER, new_template("Theirs", None)).await.unwrap();
    templates.delete(TEAM, TemplateRef::Id(last.id)).await.unwrap();
    templates.create(TEAM, new_template("One more", None)).await.unwrap();
}

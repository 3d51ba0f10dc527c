//! The content of the preference page in each of its states. `document.rs` adds the HTML around it.

use maud::{Markup, html};

use super::document::{HtmlPage, document};
use super::strings::{PageStrings, PlaceholderValues};
use super::undo::OptOutScope;
use super::view::{ConsentState, ListedTopic, PageView, ScopeView, masked};
use crate::topics::Subscription;

/// Confirmation of the previous request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageNotice {
    /// The choices were saved.
    Saved,
    /// An opt-out was undone.
    SubscribedAgain,
}

/// Returns the page of a link: a question, or a confirmation if the recipient has opted out.
pub(super) fn render(view: &PageView, notice: Option<PageNotice>, strings: &'static PageStrings) -> HtmlPage {
    let address = masked(&view.address);
    let topic = match &view.scope {
        ScopeView::Topic { name, .. } => name.as_deref().unwrap_or_default(),
        ScopeView::Everything => "",
    };
    let body = Body { view, strings, values: PlaceholderValues { address: &address, topic, brand: &view.brand } };
    let opted_out = view.everything == ConsentState::OptedOut;
    let (title, content) = match (&view.undoable, &view.scope) {
        (Some(opt_out), _) => body.unsubscribed(opt_out.scope, Some(&opt_out.undo)),
        (None, _) if opted_out => body.unsubscribed(OptOutScope::Everything, None),
        (None, ScopeView::Topic { consent: ConsentState::OptedOut, .. }) => body.unsubscribed(OptOutScope::Topic, None),
        (None, ScopeView::Topic { consent: ConsentState::Receives, .. }) => body.ask_topic(),
        (None, ScopeView::Everything) if view.topics.is_empty() => body.ask_everything(),
        (None, ScopeView::Everything) => body.choose(),
    };
    let notice = match notice {
        Some(PageNotice::Saved) => Some(strings.saved),
        // The recipient may have opted out again since the undo.
        Some(PageNotice::SubscribedAgain) if !opted_out && view.undoable.is_none() => Some(strings.subscribed_again),
        Some(PageNotice::SubscribedAgain) | None => None,
    };
    let asks_recipient = view.undoable.is_none() && !matches!(view.consent_state(), ConsentState::OptedOut);
    let main = html! {
        @if let Some(notice) = notice {
            p.notice role="status" { (notice) }
        }
        @if let Some(message) = view.theme.message.as_ref().filter(|_| asks_recipient) {
            p.message dir="auto" { (message) }
        }
        h1 { (body.values.html(title)) }
        (content)
    };
    document(strings, &body.values.text(title), Some(&view.brand), &view.theme, &main)
}

/// Writes the content below the heading. The method of each state returns the heading and the content.
struct Body<'a> {
    view: &'a PageView,
    strings: &'static PageStrings,
    values: PlaceholderValues<'a>,
}

impl Body<'_> {
    fn ask_topic(&self) -> (&'static str, Markup) {
        let TopicSentences { ask, receives, unsubscribe, unsubscribed: _ } = self.topic_sentences();
        let content = html! {
            (self.sentence(receives))
            (self.button(ButtonStyle::Main, "unsubscribe", "topic", unsubscribe))
            @if self.view.topics.is_empty() {
                p.note { (self.strings.nothing_yet) }
            }
            (self.choices(ButtonStyle::Plain))
        };
        (ask, content)
    }

    fn ask_everything(&self) -> (&'static str, Markup) {
        let PageStrings { ask_everything, receives_everything, unsubscribe_everything, nothing_yet, .. } = self.strings;
        let content = html! {
            (self.sentence(receives_everything))
            (self.button(ButtonStyle::Main, "unsubscribe", "everything", unsubscribe_everything))
            p.note { (nothing_yet) }
        };
        (ask_everything, content)
    }

    fn choose(&self) -> (&'static str, Markup) {
        let PageStrings { preferences, choose, .. } = self.strings;
        (preferences, html! { (self.sentence(choose)) (self.choices(ButtonStyle::Main)) })
    }

    /// Returns the confirmation of an opt-out. With `undo`, the page has an undo button: the opt-out is
    /// less than an hour old. Without it, the recipient can only opt in to topics.
    fn unsubscribed(&self, scope: OptOutScope, undo: Option<&str>) -> (&'static str, Markup) {
        let PageStrings { unsubscribed, unsubscribed_everything, preferences, .. } = self.strings;
        let sentence = match scope {
            OptOutScope::Topic => self.topic_sentences().unsubscribed,
            OptOutScope::Everything => unsubscribed_everything,
        };
        let content = html! {
            (self.sentence(sentence))
            @if let Some(success) = &self.view.theme.success {
                p.message dir="auto" { (success) }
            }
            @if let Some(undo) = undo {
                div.row {
                    (self.button(ButtonStyle::Plain, "undo", undo, self.strings.undo))
                    @if scope == OptOutScope::Topic && !self.view.topics.is_empty() {
                        a href="?" { (preferences) }
                    }
                }
            } @else if scope == OptOutScope::Topic {
                (self.choices(ButtonStyle::Plain))
            }
        };
        (unsubscribed, content)
    }

    /// Returns the topics with their boxes, and the button that unsubscribes from everything. Returns no
    /// markup if the page lists no topics.
    fn choices(&self, style: ButtonStyle) -> Markup {
        let PageStrings { topics, save, unsubscribe_everything, everything_note, .. } = self.strings;
        html! {
            @if !self.view.topics.is_empty() {
                section {
                    form method="post" {
                        input type="hidden" name="prefs" value="1";
                        // A topic that becomes public before the form is posted is not listed, and its choice stays.
                        @for topic in &self.view.topics {
                            input type="hidden" name="shown" value=(topic.id);
                        }
                        fieldset {
                            legend { (topics) }
                            @for (number, topic) in self.view.topics.iter().enumerate() {
                                (topic_row(number, topic))
                            }
                        }
                        button type="submit" class=[style.class()] { (save) }
                    }
                }
                section {
                    p.note { (self.values.html(everything_note)) }
                    (self.button(ButtonStyle::Plain, "unsubscribe", "everything", unsubscribe_everything))
                }
            }
        }
    }

    /// Returns the sentences about the link's own topic. They have no topic name if the topic is deleted.
    fn topic_sentences(&self) -> TopicSentences {
        let strings = self.strings;
        match &self.view.scope {
            ScopeView::Topic { name: None, .. } => TopicSentences {
                ask: strings.ask_these,
                receives: strings.receives_everything,
                unsubscribe: strings.unsubscribe_these,
                unsubscribed: strings.unsubscribed_these,
            },
            ScopeView::Topic { name: Some(_), .. } | ScopeView::Everything => TopicSentences {
                ask: strings.ask_topic,
                receives: strings.receives_topic,
                unsubscribe: strings.unsubscribe_topic,
                unsubscribed: strings.unsubscribed_topic,
            },
        }
    }

    fn sentence(&self, sentence: &str) -> Markup {
        html! { p { (self.values.html(sentence)) } }
    }

    /// Returns a form with one button. The form has no `action`, so that it posts to the URL of the page
    /// under any path of a proxy.
    fn button(&self, style: ButtonStyle, name: &str, value: &str, label: &str) -> Markup {
        html! {
            form method="post" {
                button type="submit" class=[style.class()] name=(name) value=(value) { (self.values.html(label)) }
            }
        }
    }
}

/// The sentences about the link's own topic.
struct TopicSentences {
    ask: &'static str,
    receives: &'static str,
    unsubscribe: &'static str,
    unsubscribed: &'static str,
}

/// Emphasis of a button. A page has at most one main button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ButtonStyle {
    Main,
    Plain,
}

impl ButtonStyle {
    fn class(self) -> Option<&'static str> {
        (self == Self::Main).then_some("main")
    }
}

/// Returns a topic with its box.
fn topic_row(number: usize, topic: &ListedTopic) -> Markup {
    let ListedTopic { id, name, description, subscription } = topic;
    let described_by = description.as_ref().map(|_| format!("about-{number}"));
    let box_id = format!("topic-{number}");
    html! {
        div.topic {
            input type="checkbox" id=(box_id) name="topic" value=(id)
                checked[*subscription == Subscription::OptIn] aria-describedby=[&described_by];
            div {
                label for=(box_id) { bdi { (name) } }
                @if let Some(text) = description {
                    p.about id=[&described_by] dir="auto" { (text) }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::address::EmailAddress;
    use crate::base::id::{Id, TopicId};
    use crate::preferences::strings::{ENGLISH, GERMAN, LANGUAGES};
    use crate::preferences::theme::Theme;
    use crate::preferences::view::UndoableOptOut;

    const HOSTILE: &str = "<script>\"&'</script>{brand}";

    fn topic(name: &str, subscription: Subscription) -> ListedTopic {
        ListedTopic { id: Id::MIN, name: name.into(), description: Some(format!("About {name}")), subscription }
    }

    /// Returns the page of a topic link, with two listed topics.
    fn view() -> PageView {
        PageView {
            address: EmailAddress::parse("o'neil&co@example.com").unwrap(),
            brand: "Acme".into(),
            theme: Theme::default(),
            scope: ScopeView::Topic { name: Some("News".into()), consent: ConsentState::Receives },
            everything: ConsentState::Receives,
            topics: vec![topic("News", Subscription::OptIn), topic("Offers", Subscription::OptOut)],
            undoable: None,
        }
    }

    fn undoable(scope: OptOutScope) -> Option<UndoableOptOut> {
        Some(UndoableOptOut { scope, undo: "sealed-token".into() })
    }

    /// Returns every state of the page.
    fn states() -> Vec<PageView> {
        let news = |consent| ScopeView::Topic { name: Some("News".into()), consent };
        let deleted_topic = |consent| ScopeView::Topic { name: None, consent };
        vec![
            view(),
            PageView { topics: vec![], ..view() },
            PageView { scope: news(ConsentState::OptedOut), ..view() },
            PageView { scope: news(ConsentState::OptedOut), topics: vec![], ..view() },
            PageView { scope: deleted_topic(ConsentState::Receives), ..view() },
            PageView { scope: deleted_topic(ConsentState::Receives), topics: vec![], ..view() },
            PageView { scope: deleted_topic(ConsentState::OptedOut), ..view() },
            PageView { scope: deleted_topic(ConsentState::OptedOut), undoable: undoable(OptOutScope::Topic), ..view() },
            PageView { everything: ConsentState::OptedOut, ..view() },
            PageView { undoable: undoable(OptOutScope::Topic), ..view() },
            PageView { undoable: undoable(OptOutScope::Everything), everything: ConsentState::OptedOut, ..view() },
            PageView { scope: ScopeView::Everything, ..view() },
            PageView { scope: ScopeView::Everything, topics: vec![], ..view() },
            PageView { scope: ScopeView::Everything, everything: ConsentState::OptedOut, ..view() },
        ]
    }

    #[test]
    fn texts_of_the_team_are_escaped() {
        for state in states() {
            let hostile = || Some(HOSTILE.to_owned());
            let theme = Theme { message: hostile(), success: hostile(), ..Theme::default() };
            let scope = match state.scope {
                ScopeView::Topic { name, consent } => ScopeView::Topic { name: name.map(|_| HOSTILE.into()), consent },
                ScopeView::Everything => ScopeView::Everything,
            };
            let view = PageView {
                scope,
                theme,
                brand: HOSTILE.into(),
                topics: state.topics.iter().map(|_| topic(HOSTILE, Subscription::OptIn)).collect(),
                ..state
            };

            let html = render(&view, None, &ENGLISH).html;

            assert!(!html.contains("<script"), "{html}");
            assert!(html.contains("&lt;script&gt;&quot;&amp;'&lt;/script&gt;{brand}"), "{html}");
        }
    }

    #[test]
    fn every_state_is_complete_in_every_language() {
        for strings in LANGUAGES {
            for view in states() {
                for notice in [None, Some(PageNotice::Saved), Some(PageNotice::SubscribedAgain)] {
                    let html = render(&view, notice, strings).html;

                    assert!(html.contains(&format!("<html lang=\"{}\" dir=\"ltr\">", strings.tag)));
                    for element in ["form", "fieldset", "section", "p", "div", "button", "main", "bdi", "label"] {
                        let opened = html.matches(&format!("<{element}>")).count()
                            + html.matches(&format!("<{element} ")).count();
                        assert_eq!(opened, html.matches(&format!("</{element}>")).count(), "{element} in {html}");
                    }
                    // A sentence without a value does not contain the element of one.
                    assert!(!html.contains("<bdi></bdi>"), "{html}");
                    let (_, body) = html.split_once("<body>").unwrap();
                    assert!(!body.contains(['{', '}']), "{body}");
                    assert_eq!(html.matches("<h1>").count(), 1);
                    assert!(html.matches("class=\"main\"").count() <= 1, "{html}");
                    assert!(!html.contains("neil"), "{html}");
                }
            }
        }
    }

    #[test]
    fn the_unsubscribe_button_is_replaced_by_an_undo_button() {
        let button = "<button type=\"submit\" class=\"main\" name=\"unsubscribe\" value=\"topic\">";
        let before = render(&view(), None, &ENGLISH).html;
        let after = render(&PageView { undoable: undoable(OptOutScope::Topic), ..view() }, None, &ENGLISH).html;

        assert!(before.contains(button) && before.contains("Unsubscribe from <bdi>News</bdi>"), "{before}");
        assert!(!after.contains("unsubscribe\"") && after.contains("You are unsubscribed"), "{after}");
        assert!(after.contains("name=\"undo\" value=\"sealed-token\""), "{after}");
    }

    #[test]
    fn an_earlier_opt_out_is_confirmed_without_an_undo_button() {
        let theme = Theme { message: Some("Before".into()), success: Some("After".into()), ..Theme::default() };
        let opted_out = PageView { everything: ConsentState::OptedOut, theme: theme.clone(), ..view() };
        let news = ScopeView::Topic { name: Some("News".into()), consent: ConsentState::OptedOut };
        for (view, buttons) in [
            (opted_out, 0),
            (PageView { scope: news.clone(), theme: theme.clone(), topics: vec![], ..view() }, 0),
            (PageView { scope: news, theme, ..view() }, 2),
        ] {
            let html = render(&view, None, &ENGLISH).html;

            assert!(html.contains("You are unsubscribed") && html.contains("After"), "{html}");
            assert!(!html.contains("Before"), "{html}");
            assert_eq!(html.matches("<button").count(), buttons, "{html}");
        }
    }

    #[test]
    fn boxes_have_labels_and_are_checked_for_received_topics() {
        let html = render(&view(), None, &GERMAN).html;

        let id = TopicId::MIN;
        assert!(html.contains(&format!(
            "<input type=\"checkbox\" id=\"topic-0\" name=\"topic\" value=\"{id}\" checked aria-describedby=\"about-0\">"
        )));
        assert!(html.contains(&format!("id=\"topic-1\" name=\"topic\" value=\"{id}\" aria-describedby")));
        assert!(html.contains("<label for=\"topic-1\"><bdi>Offers</bdi></label>"));
        assert!(html.contains("Auswahl speichern"));
    }

    #[test]
    fn a_page_without_topics_has_only_one_button() {
        let topic_link = |name| ScopeView::Topic { name, consent: ConsentState::Receives };
        for scope in [ScopeView::Everything, topic_link(Some("News".into())), topic_link(None)] {
            let html = render(&PageView { scope, topics: vec![], ..view() }, None, &ENGLISH).html;

            assert_eq!(html.matches("<button").count(), 1, "{html}");
            assert!(!html.contains("checkbox"));
        }
    }

    #[test]
    fn an_undo_is_not_confirmed_after_another_opt_out() {
        let notice = Some(PageNotice::SubscribedAgain);
        let is_confirmed = |view: &PageView| render(view, notice, &ENGLISH).html.contains(ENGLISH.subscribed_again);

        assert!(is_confirmed(&view()));
        assert!(!is_confirmed(&PageView { everything: ConsentState::OptedOut, ..view() }));
    }
}

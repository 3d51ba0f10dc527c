//! The content of the preference page in each of its states. `document.rs` adds the HTML around it.

use std::fmt::Write as _;

use super::document::{HtmlPage, document};
use super::links::escape_html;
use super::strings::{Strings, Values};
use super::undo::OptOutScope;
use super::view::{ConsentState, ListedTopic, PageView, ScopeView};
use crate::base::address::EmailAddress;
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
pub(super) fn render(view: &PageView, notice: Option<PageNotice>, strings: &'static Strings) -> HtmlPage {
    let address = masked(&view.address);
    let topic = match &view.scope {
        ScopeView::Topic { name, .. } => name.as_deref().unwrap_or_default(),
        ScopeView::Everything => "",
    };
    let body = Body { view, strings, values: Values { address: &address, topic, brand: &view.brand } };
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
    let mut main = String::with_capacity(content.len() + 1_024);
    if let Some(notice) = notice {
        let _ = writeln!(main, "<p class=\"notice\" role=\"status\">{}</p>", escape_html(notice));
    }
    let asks_recipient = view.undoable.is_none() && !matches!(view.consent_state(), ConsentState::OptedOut);
    if let Some(message) = view.theme.message.as_ref().filter(|_| asks_recipient) {
        let _ = writeln!(main, "<p class=\"message\" dir=\"auto\">{}</p>", escape_html(message));
    }
    let _ = writeln!(main, "<h1>{}</h1>", body.values.html(title));
    main.push_str(&content);
    document(strings, &body.values.text(title), Some(&view.brand), &view.theme, &main)
}

/// Writes the content below the heading. The method of each state returns the heading and the HTML.
struct Body<'a> {
    view: &'a PageView,
    strings: &'static Strings,
    values: Values<'a>,
}

impl Body<'_> {
    fn ask_topic(&self) -> (&'static str, String) {
        let TopicSentences { ask, receives, unsubscribe, unsubscribed: _ } = self.topic_sentences();
        let mut html = self.sentence(receives);
        html.push_str(&self.button(ButtonStyle::Main, "unsubscribe", "topic", unsubscribe));
        if self.view.topics.is_empty() {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape_html(self.strings.nothing_yet));
        }
        html.push_str(&self.choices(ButtonStyle::Plain));
        (ask, html)
    }

    fn ask_everything(&self) -> (&'static str, String) {
        let Strings { ask_everything, receives_everything, unsubscribe_everything, nothing_yet, .. } = self.strings;
        let mut html = self.sentence(receives_everything);
        html.push_str(&self.button(ButtonStyle::Main, "unsubscribe", "everything", unsubscribe_everything));
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape_html(nothing_yet));
        (ask_everything, html)
    }

    fn choose(&self) -> (&'static str, String) {
        let Strings { preferences, choose, .. } = self.strings;
        (preferences, self.sentence(choose) + &self.choices(ButtonStyle::Main))
    }

    /// Returns the confirmation of an opt-out. With `undo`, the page has an undo button: the opt-out is
    /// less than an hour old. Without it, the recipient can only opt in to topics.
    fn unsubscribed(&self, scope: OptOutScope, undo: Option<&str>) -> (&'static str, String) {
        let Strings { unsubscribed, unsubscribed_everything, preferences, .. } = self.strings;
        let mut html = self.sentence(match scope {
            OptOutScope::Topic => self.topic_sentences().unsubscribed,
            OptOutScope::Everything => unsubscribed_everything,
        });
        if let Some(success) = &self.view.theme.success {
            let _ = writeln!(html, "<p class=\"message\" dir=\"auto\">{}</p>", escape_html(success));
        }
        match (undo, scope) {
            (Some(undo), _) => {
                html.push_str("<div class=\"row\">\n");
                html.push_str(&self.button(ButtonStyle::Plain, "undo", undo, self.strings.undo));
                if scope == OptOutScope::Topic && !self.view.topics.is_empty() {
                    let _ = writeln!(html, "<a href=\"?\">{}</a>", escape_html(preferences));
                }
                html.push_str("</div>\n");
            }
            (None, OptOutScope::Topic) => html.push_str(&self.choices(ButtonStyle::Plain)),
            (None, OptOutScope::Everything) => {}
        }
        (unsubscribed, html)
    }

    /// Returns the topics with their boxes, and the button that unsubscribes from everything. Returns an
    /// empty string if the page lists no topics.
    fn choices(&self, style: ButtonStyle) -> String {
        let Strings { topics, save, unsubscribe_everything, everything_note, .. } = self.strings;
        if self.view.topics.is_empty() {
            return String::new();
        }
        let mut html =
            String::from("<section>\n<form method=\"post\">\n<input type=\"hidden\" name=\"prefs\" value=\"1\">\n");
        // A topic that becomes public before the form is posted is not listed, and its choice stays.
        for topic in &self.view.topics {
            let _ = writeln!(html, "<input type=\"hidden\" name=\"shown\" value=\"{}\">", topic.id);
        }
        let _ = writeln!(html, "<fieldset>\n<legend>{}</legend>", escape_html(topics));
        for (number, topic) in self.view.topics.iter().enumerate() {
            html.push_str(&topic_row(number, topic));
        }
        let _ = writeln!(html, "</fieldset>\n{}\n</form>\n</section>", button(style, "", &escape_html(save)));
        let _ = writeln!(html, "<section>\n<p class=\"note\">{}</p>", self.values.html(everything_note));
        html.push_str(&self.button(ButtonStyle::Plain, "unsubscribe", "everything", unsubscribe_everything));
        html.push_str("</section>\n");
        html
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

    fn sentence(&self, sentence: &str) -> String {
        format!("<p>{}</p>\n", self.values.html(sentence))
    }

    /// Returns a form with one button. The form has no `action`, so that it posts to the URL of the page
    /// under any path of a proxy.
    fn button(&self, style: ButtonStyle, name: &str, value: &str, label: &str) -> String {
        let field = format!(" name=\"{name}\" value=\"{}\"", escape_html(value));
        format!("<form method=\"post\">{}</form>\n", button(style, &field, &self.values.html(label)))
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

fn button(style: ButtonStyle, field: &str, label: &str) -> String {
    let class = match style {
        ButtonStyle::Main => " class=\"main\"",
        ButtonStyle::Plain => "",
    };
    format!("<button type=\"submit\"{class}{field}>{label}</button>")
}

/// Returns a topic with its box.
fn topic_row(number: usize, topic: &ListedTopic) -> String {
    let ListedTopic { id, name, description, subscription } = topic;
    let checked = if *subscription == Subscription::OptIn { " checked" } else { "" };
    let (described_by, description) = match description {
        None => (String::new(), String::new()),
        Some(text) => (
            format!(" aria-describedby=\"about-{number}\""),
            format!("<p class=\"about\" id=\"about-{number}\" dir=\"auto\">{}</p>", escape_html(text)),
        ),
    };
    format!(
        "<div class=\"topic\"><input type=\"checkbox\" id=\"topic-{number}\" name=\"topic\" \
         value=\"{id}\"{checked}{described_by}><div><label for=\"topic-{number}\"><bdi>{}</bdi></label>{description}</div></div>\n",
        escape_html(name)
    )
}

/// Returns the first letter and the domain of an address. A person who gets the link in a forwarded email
/// must not learn the address.
fn masked(address: &EmailAddress) -> String {
    let local = address.local().trim_start_matches('"');
    let first = local.chars().next().filter(|_| local.chars().count() > 1);
    let first = first.map_or_else(String::new, String::from);
    format!("{first}•••@{}", address.domain())
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn an_address_shows_its_first_letter_and_its_domain() {
        for (address, shown) in [
            ("ada@example.com", "a•••@example.com"),
            ("øre@example.com", "ø•••@example.com"),
            ("a@example.com", "•••@example.com"),
            ("\"a b\"@example.com", "a•••@example.com"),
        ] {
            assert_eq!(masked(&EmailAddress::parse(address).unwrap()), shown);
        }
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
            assert!(html.contains("&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;{brand}"), "{html}");
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

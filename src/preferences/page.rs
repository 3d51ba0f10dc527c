//! What the page behind a link says, in each of its states. `document.rs` puts the html around it.

use std::fmt::Write as _;

use super::document::{HtmlPage, document};
use super::links::escape_html;
use super::strings::{Strings, Values};
use super::undo::Subject;
use super::view::{About, ConsentState, ListedTopic, View};
use crate::base::address::EmailAddress;
use crate::topics::Subscription;

/// What the request before this one did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PageNotice {
    /// The choices are written down.
    Saved,
    /// An opt-out is taken back.
    SubscribedAgain,
}

/// Returns the page of a link: what it asks, or what has been answered.
pub(super) fn of_view(view: &View, notice: Option<PageNotice>, strings: &'static Strings) -> HtmlPage {
    let address = masked(&view.address);
    let topic = match &view.about {
        About::Topic { name, .. } => name.as_deref().unwrap_or_default(),
        About::Everything => "",
    };
    let body = Body { view, strings, values: Values { address: &address, topic, brand: &view.brand } };
    let opted_out = view.everything == ConsentState::OptedOut;
    let (title, content) = match (&view.done, &view.about) {
        (Some(done), _) => body.done(done.subject, Some(&done.undo)),
        (None, _) if opted_out => body.done(Subject::Everything, None),
        (None, About::Topic { standing: ConsentState::OptedOut, .. }) => body.done(Subject::Topic, None),
        (None, About::Topic { standing: ConsentState::Receives, .. }) => body.ask_topic(),
        (None, About::Everything) if view.topics.is_empty() => body.ask_everything(),
        (None, About::Everything) => body.choose(),
    };
    let notice = match notice {
        Some(PageNotice::Saved) => Some(strings.saved),
        // An opt-out made since then is not talked over.
        Some(PageNotice::SubscribedAgain) if !opted_out && view.done.is_none() => Some(strings.subscribed_again),
        Some(PageNotice::SubscribedAgain) | None => None,
    };
    let mut main = String::with_capacity(content.len() + 1_024);
    if let Some(notice) = notice {
        let _ = writeln!(main, "<p class=\"notice\" role=\"status\">{}</p>", escape_html(notice));
    }
    let asks = view.done.is_none() && !matches!(view.consent_state(), ConsentState::OptedOut);
    if let Some(message) = view.theme.message.as_ref().filter(|_| asks) {
        let _ = writeln!(main, "<p class=\"message\" dir=\"auto\">{}</p>", escape_html(message));
    }
    let _ = writeln!(main, "<h1>{}</h1>", body.values.html(title));
    main.push_str(&content);
    document(strings, &body.values.text(title), Some(&view.brand), &view.theme, &main)
}

/// What stands under the heading, in each state. Every one returns its heading and its html.
struct Body<'a> {
    view: &'a View,
    strings: &'static Strings,
    values: Values<'a>,
}

impl Body<'_> {
    fn ask_topic(&self) -> (&'static str, String) {
        let OfTopic { ask, receives, unsubscribe, unsubscribed: _ } = self.of_topic();
        let mut html = self.sentence(receives);
        html.push_str(&self.button(Weight::Main, "unsubscribe", "topic", unsubscribe));
        if self.view.topics.is_empty() {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape_html(self.strings.nothing_yet));
        }
        html.push_str(&self.choices(Weight::Plain));
        (ask, html)
    }

    fn ask_everything(&self) -> (&'static str, String) {
        let Strings { ask_everything, receives_everything, unsubscribe_everything, nothing_yet, .. } = self.strings;
        let mut html = self.sentence(receives_everything);
        html.push_str(&self.button(Weight::Main, "unsubscribe", "everything", unsubscribe_everything));
        let _ = writeln!(html, "<p class=\"note\">{}</p>", escape_html(nothing_yet));
        (ask_everything, html)
    }

    fn choose(&self) -> (&'static str, String) {
        let Strings { preferences, choose, .. } = self.strings;
        (preferences, self.sentence(choose) + &self.choices(Weight::Main))
    }

    /// What has been opted out of, within this visit or before it. Only this visit can take it back; a
    /// topic can be chosen again like any other.
    fn done(&self, subject: Subject, undo: Option<&str>) -> (&'static str, String) {
        let Strings { unsubscribed, unsubscribed_everything, preferences, .. } = self.strings;
        let mut html = self.sentence(match subject {
            Subject::Topic => self.of_topic().unsubscribed,
            Subject::Everything => unsubscribed_everything,
        });
        if let Some(success) = &self.view.theme.success {
            let _ = writeln!(html, "<p class=\"message\" dir=\"auto\">{}</p>", escape_html(success));
        }
        match (undo, subject) {
            (Some(undo), _) => {
                html.push_str("<div class=\"row\">\n");
                html.push_str(&self.button(Weight::Plain, "undo", undo, self.strings.undo));
                if subject == Subject::Topic && !self.view.topics.is_empty() {
                    let _ = writeln!(html, "<a href=\"?\">{}</a>", escape_html(preferences));
                }
                html.push_str("</div>\n");
            }
            (None, Subject::Topic) => html.push_str(&self.choices(Weight::Plain)),
            (None, Subject::Everything) => {}
        }
        (unsubscribed, html)
    }

    /// The topics with their boxes, and the way out of everything; nothing where there is nothing to
    /// choose from.
    fn choices(&self, weight: Weight) -> String {
        let Strings { topics, save, unsubscribe_everything, everything_note, .. } = self.strings;
        if self.view.topics.is_empty() {
            return String::new();
        }
        let mut html =
            String::from("<section>\n<form method=\"post\">\n<input type=\"hidden\" name=\"prefs\" value=\"1\">\n");
        // What is decided about: a topic that is made public meanwhile is not.
        for topic in &self.view.topics {
            let _ = writeln!(html, "<input type=\"hidden\" name=\"shown\" value=\"{}\">", topic.id);
        }
        let _ = writeln!(html, "<fieldset>\n<legend>{}</legend>", escape_html(topics));
        for (number, topic) in self.view.topics.iter().enumerate() {
            html.push_str(&row(number, topic));
        }
        let _ = writeln!(html, "</fieldset>\n{}\n</form>\n</section>", button(weight, "", &escape_html(save)));
        let _ = writeln!(html, "<section>\n<p class=\"note\">{}</p>", self.values.html(everything_note));
        html.push_str(&self.button(Weight::Plain, "unsubscribe", "everything", unsubscribe_everything));
        html.push_str("</section>\n");
        html
    }

    /// What is said of the link's own topic, without its name once it has been deleted.
    fn of_topic(&self) -> OfTopic {
        let strings = self.strings;
        match &self.view.about {
            About::Topic { name: None, .. } => OfTopic {
                ask: strings.ask_these,
                receives: strings.receives_everything,
                unsubscribe: strings.unsubscribe_these,
                unsubscribed: strings.unsubscribed_these,
            },
            About::Topic { name: Some(_), .. } | About::Everything => OfTopic {
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

    /// A form of one button. Without an action it goes back to where the page came from, below any
    /// path.
    fn button(&self, weight: Weight, name: &str, value: &str, label: &str) -> String {
        let field = format!(" name=\"{name}\" value=\"{}\"", escape_html(value));
        format!("<form method=\"post\">{}</form>\n", button(weight, &field, &self.values.html(label)))
    }
}

/// The sentences about the link's own topic.
struct OfTopic {
    ask: &'static str,
    receives: &'static str,
    unsubscribe: &'static str,
    unsubscribed: &'static str,
}

/// How much a button weighs: a page has one main one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Main,
    Plain,
}

fn button(weight: Weight, field: &str, label: &str) -> String {
    let class = match weight {
        Weight::Main => " class=\"main\"",
        Weight::Plain => "",
    };
    format!("<button type=\"submit\"{class}{field}>{label}</button>")
}

/// A topic with its box.
fn row(number: usize, topic: &ListedTopic) -> String {
    let ListedTopic { id, name, description, subscription } = topic;
    let checked = if *subscription == Subscription::OptIn { " checked" } else { "" };
    let (described, about) = match description {
        None => (String::new(), String::new()),
        Some(text) => (
            format!(" aria-describedby=\"about-{number}\""),
            format!("<p class=\"about\" id=\"about-{number}\" dir=\"auto\">{}</p>", escape_html(text)),
        ),
    };
    format!(
        "<div class=\"topic\"><input type=\"checkbox\" id=\"topic-{number}\" name=\"topic\" \
         value=\"{id}\"{checked}{described}><div><label for=\"topic-{number}\"><bdi>{}</bdi></label>{about}</div></div>\n",
        escape_html(name)
    )
}

/// Returns an address that its owner recognises and nobody else learns: the first letter and the
/// domain. An email that is passed on takes its link along.
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
    use crate::preferences::view::Done;

    const HOSTILE: &str = "<script>\"&'</script>{brand}";

    fn topic(name: &str, subscription: Subscription) -> ListedTopic {
        ListedTopic { id: Id::MIN, name: name.into(), description: Some(format!("About {name}")), subscription }
    }

    /// A page about a topic that lists two.
    fn view() -> View {
        View {
            address: EmailAddress::parse("o'neil&co@example.com").unwrap(),
            brand: "Acme".into(),
            theme: Theme::default(),
            about: About::Topic { name: Some("News".into()), standing: ConsentState::Receives },
            everything: ConsentState::Receives,
            topics: vec![topic("News", Subscription::OptIn), topic("Offers", Subscription::OptOut)],
            done: None,
        }
    }

    fn done(subject: Subject) -> Option<Done> {
        Some(Done { subject, undo: "sealed-token".into() })
    }

    /// Every state of the page.
    fn states() -> Vec<View> {
        let of_topic = |standing| About::Topic { name: Some("News".into()), standing };
        let of_deleted = |standing| About::Topic { name: None, standing };
        vec![
            view(),
            View { topics: vec![], ..view() },
            View { about: of_topic(ConsentState::OptedOut), ..view() },
            View { about: of_topic(ConsentState::OptedOut), topics: vec![], ..view() },
            View { about: of_deleted(ConsentState::Receives), ..view() },
            View { about: of_deleted(ConsentState::Receives), topics: vec![], ..view() },
            View { about: of_deleted(ConsentState::OptedOut), ..view() },
            View { about: of_deleted(ConsentState::OptedOut), done: done(Subject::Topic), ..view() },
            View { everything: ConsentState::OptedOut, ..view() },
            View { done: done(Subject::Topic), ..view() },
            View { done: done(Subject::Everything), everything: ConsentState::OptedOut, ..view() },
            View { about: About::Everything, ..view() },
            View { about: About::Everything, topics: vec![], ..view() },
            View { about: About::Everything, everything: ConsentState::OptedOut, ..view() },
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
    fn what_the_team_wrote_is_text_and_never_markup() {
        for state in states() {
            let hostile = || Some(HOSTILE.to_owned());
            let theme = Theme { message: hostile(), success: hostile(), ..Theme::default() };
            let about = match state.about {
                About::Topic { name, standing } => About::Topic { name: name.map(|_| HOSTILE.into()), standing },
                About::Everything => About::Everything,
            };
            let view = View {
                about,
                theme,
                brand: HOSTILE.into(),
                topics: state.topics.iter().map(|_| topic(HOSTILE, Subscription::OptIn)).collect(),
                ..state
            };

            let html = of_view(&view, None, &ENGLISH).html;

            assert!(!html.contains("<script"), "{html}");
            assert!(html.contains("&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;{brand}"), "{html}");
        }
    }

    #[test]
    fn every_state_is_whole_in_every_language() {
        for strings in LANGUAGES {
            for view in states() {
                for notice in [None, Some(PageNotice::Saved), Some(PageNotice::SubscribedAgain)] {
                    let html = of_view(&view, notice, strings).html;

                    assert!(html.contains(&format!("<html lang=\"{}\" dir=\"ltr\">", strings.tag)));
                    for element in ["form", "fieldset", "section", "p", "div", "button", "main", "bdi", "label"] {
                        let opened = html.matches(&format!("<{element}>")).count()
                            + html.matches(&format!("<{element} ")).count();
                        assert_eq!(opened, html.matches(&format!("</{element}>")).count(), "{element} in {html}");
                    }
                    // No name is put where there is none.
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
    fn the_button_is_there_until_it_has_been_pressed() {
        let button = "<button type=\"submit\" class=\"main\" name=\"unsubscribe\" value=\"topic\">";
        let asked = of_view(&view(), None, &ENGLISH).html;
        let done = of_view(&View { done: done(Subject::Topic), ..view() }, None, &ENGLISH).html;

        assert!(asked.contains(button) && asked.contains("Unsubscribe from <bdi>News</bdi>"), "{asked}");
        assert!(!done.contains("unsubscribe\"") && done.contains("You are unsubscribed"), "{done}");
        assert!(done.contains("name=\"undo\" value=\"sealed-token\""), "{done}");
    }

    #[test]
    fn whoever_has_opted_out_before_is_told_so_without_a_way_back() {
        let theme = Theme { message: Some("Before".into()), success: Some("After".into()), ..Theme::default() };
        let opted_out = View { everything: ConsentState::OptedOut, theme: theme.clone(), ..view() };
        let of_topic = About::Topic { name: Some("News".into()), standing: ConsentState::OptedOut };
        for (view, buttons) in [
            (opted_out, 0),
            (View { about: of_topic.clone(), theme: theme.clone(), topics: vec![], ..view() }, 0),
            (View { about: of_topic, theme, ..view() }, 2),
        ] {
            let html = of_view(&view, None, &ENGLISH).html;

            assert!(html.contains("You are unsubscribed") && html.contains("After"), "{html}");
            assert!(!html.contains("Before"), "{html}");
            assert_eq!(html.matches("<button").count(), buttons, "{html}");
        }
    }

    #[test]
    fn boxes_are_checked_for_what_is_received_and_labelled() {
        let html = of_view(&view(), None, &GERMAN).html;

        let id = TopicId::MIN;
        assert!(html.contains(&format!(
            "<input type=\"checkbox\" id=\"topic-0\" name=\"topic\" value=\"{id}\" checked aria-describedby=\"about-0\">"
        )));
        assert!(html.contains(&format!("id=\"topic-1\" name=\"topic\" value=\"{id}\" aria-describedby")));
        assert!(html.contains("<label for=\"topic-1\"><bdi>Offers</bdi></label>"));
        assert!(html.contains("Auswahl speichern"));
    }

    #[test]
    fn a_page_without_topics_has_its_one_button_alone() {
        let of_topic = |name| About::Topic { name, standing: ConsentState::Receives };
        for about in [About::Everything, of_topic(Some("News".into())), of_topic(None)] {
            let html = of_view(&View { about, topics: vec![], ..view() }, None, &ENGLISH).html;

            assert_eq!(html.matches("<button").count(), 1, "{html}");
            assert!(!html.contains("checkbox"));
        }
    }

    #[test]
    fn what_is_undone_is_not_told_to_someone_who_has_opted_out_again() {
        let notice = Some(PageNotice::SubscribedAgain);
        let told = |view: &View| of_view(view, notice, &ENGLISH).html.contains(ENGLISH.subscribed_again);

        assert!(told(&view()));
        assert!(!told(&View { everything: ConsentState::OptedOut, ..view() }));
    }
}

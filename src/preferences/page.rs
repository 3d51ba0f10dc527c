//! The page behind a link: html made here, without JavaScript and without a request to anywhere.
//!
//! The style stands inside the page, allowed by its hash: nothing else has to be served, and the page
//! works below any path that a proxy puts it under.

use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::links::escape_html;
use super::opt_out::{Choice, Standing};
use crate::address::EmailAddress;

const STYLE: &str = include_str!("../../assets/preferences/page.css");

/// What the browser may do with the page: show it with its style, and post its form back.
pub(super) static POLICY: LazyLock<String> = LazyLock::new(|| {
    let hash = STANDARD.encode(Sha256::digest(STYLE.as_bytes()));
    format!(
        "default-src 'none'; style-src 'sha256-{hash}'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    )
});

/// Returns the page of a link: the question, or that it has been answered.
pub(super) fn of_choice(choice: &Choice) -> String {
    let address = masked(&choice.address);
    let (address, topic) = (escape_html(&address), escape_html(&choice.topic));
    match choice.standing {
        // A form without an action goes back to where the page came from, below any path.
        Standing::Receives => page(
            "Unsubscribe",
            &format!(
                "<p><b>{address}</b> receives emails about <b dir=\"auto\">{topic}</b>.</p>\n\
                 <form method=\"post\"><button type=\"submit\">Unsubscribe</button></form>\n\
                 <p class=\"note\">Nothing changes until you press the button.</p>"
            ),
        ),
        Standing::OptedOut => page(
            "You are unsubscribed",
            &format!("<p><b>{address}</b> receives no more emails about <b dir=\"auto\">{topic}</b>.</p>"),
        ),
    }
}

/// Returns the page of every link that leads nowhere, whatever the reason.
pub(super) fn unknown() -> String {
    page(
        "This link does not work",
        "<p>It may be incomplete, or what it was about may be gone. Nothing has been changed.</p>\n\
         <p>Follow the link in the email once more, or write to its sender.</p>",
    )
}

/// Returns the page of a failure on our side.
pub(super) fn failed() -> String {
    page("Something went wrong", "<p>Nothing has been changed. Please try again in a moment.</p>")
}

fn page(title: &str, content: &str) -> String {
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"robots\" content=\"noindex, nofollow\">\n\
         <title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n<h1>{title}</h1>\n{content}\n\
         </main>\n</body>\n</html>\n"
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

    fn choice(address: &str, topic: &str, standing: Standing) -> Choice {
        Choice { address: EmailAddress::parse(address).unwrap(), topic: topic.to_owned(), standing }
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
        for standing in [Standing::Receives, Standing::OptedOut] {
            let page = of_choice(&choice("o'neil&co@example.com", "<script>\"&'</script>", standing));

            assert!(!page.contains("<script"), "{page}");
            assert!(page.contains("&lt;script&gt;&quot;&amp;&#39;&lt;/script&gt;"), "{page}");
        }
    }

    #[test]
    fn the_button_is_there_until_it_has_been_pressed() {
        let asked = of_choice(&choice("ada@example.com", "News", Standing::Receives));
        let done = of_choice(&choice("ada@example.com", "News", Standing::OptedOut));

        assert!(asked.contains("<form method=\"post\">") && asked.contains("News"));
        assert!(!done.contains("<form") && done.contains("You are unsubscribed"));
    }

    #[test]
    fn the_policy_allows_the_style_of_the_page_alone() {
        let page = unknown();
        let (_, style) = page.split_once("<style>").unwrap();
        let (style, _) = style.split_once("</style>").unwrap();

        let hash = STANDARD.encode(Sha256::digest(style.as_bytes()));

        assert!(POLICY.contains(&format!("style-src 'sha256-{hash}';")));
        // A browser reads CR LF as LF before it hashes.
        assert!(!style.contains('\r'));
    }
}

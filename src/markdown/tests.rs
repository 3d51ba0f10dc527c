//! Tests of the conversion.

use proptest::prelude::*;

use super::*;

/// Returns the HTML inside of the layout, without its styles.
fn body(source: &str) -> String {
    let html = render(source).unwrap().html;
    let (_, body) = html.split_once("<div class=\"rm\"").unwrap();
    let (_, body) = body.split_once(">\n").unwrap();
    let (body, _) = body.rsplit_once("</div>").unwrap();
    let mut plain = String::new();
    let mut rest = body;
    while let Some(at) = rest.find(" style=\"") {
        plain.push_str(&rest[..at]);
        let after = &rest[at + 8..];
        rest = &after[after.find('"').unwrap() + 1..];
    }
    plain.push_str(rest);
    plain.trim_end().to_owned()
}

#[test]
fn each_construct_has_an_html_and_a_text_form() {
    for (source, html, text) in [
        (
            "# Hi\n\nA *b* **c** ~~d~~",
            "<h1>Hi</h1>\n<p>A <em>b</em> <strong>c</strong> <del>d</del></p>",
            "Hi\n\nA b c d\n",
        ),
        ("a\nb\\\nc", "<p>a\nb<br>\nc</p>", "a b\nc\n"),
        (
            "- a\n- b\n  1. c\n  2. d",
            "<ul><li>a</li>\n<li>b<ol><li>c</li>\n<li>d</li>\n</ol>\n</li>\n</ul>",
            "- a\n- b\n  1. c\n  2. d\n",
        ),
        ("3. a\n\n   b", "<ol start=\"3\"><li><p>a</p>\n<p>b</p>\n</li>\n</ol>", "3. a\n\n   b\n"),
        ("> a\n>\n> b", "<blockquote><p>a</p>\n<p>b</p>\n</blockquote>", "> a\n\n> b\n"),
        ("a\n\n---\n\nb", "<p>a</p>\n<hr>\n<p>b</p>", "a\n\n---\n\nb\n"),
        ("```\nx < y\n```\n`z`", "<pre>x &lt; y\n</pre>\n<p><code>z</code></p>", "x < y\n\nz\n"),
        (
            "[a](https://e.example/?b=1&c)",
            "<p><a href=\"https://e.example/?b=1&amp;c\">a</a></p>",
            "a (https://e.example/?b=1&c)\n",
        ),
        ("<https://e.example>", "<p><a href=\"https://e.example\">https://e.example</a></p>", "https://e.example\n"),
        ("![Logo](https://e.example/l.png)", "<p><img src=\"https://e.example/l.png\" alt=\"Logo\"></p>", "Logo\n"),
        (
            "[[button: Go \"now\"](https://e.example)]",
            "<p><a class=\"rm-button\" href=\"https://e.example\">Go &quot;now&quot;</a></p>",
            "Go \"now\": https://e.example\n",
        ),
        (
            "|a|b|\n|-|:-:|\n|1|2|",
            "<table><tr><th>a</th><th>b</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>",
            "a | b\n1 | 2\n",
        ),
    ] {
        assert_eq!(body(source), html, "{source}");
        assert_eq!(render(source).unwrap().text, text, "{source}");
    }
}

#[test]
fn placeholders_stay_and_the_unsubscribe_placeholder_becomes_a_link() {
    for (source, html, text) in [
        ("Hi {{{_FIRST_|a & b}}}", "<p>Hi {{{_FIRST_|a &amp; b}}}</p>", "Hi {{{_FIRST_|a & b}}}\n"),
        (
            "[a](https://e.example/{{{ID|x y}}})",
            "<p><a href=\"https://e.example/{{{ID|x y}}}\">a</a></p>",
            "a (https://e.example/{{{ID|x y}}})\n",
        ),
        ("[a]({{{LINK}}})", "<p><a href=\"{{{LINK}}}\">a</a></p>", "a ({{{LINK}}})\n"),
        (
            "{{{UNSUBSCRIBE_URL}}}",
            "<p class=\"rm-footer\"><a href=\"{{{UNSUBSCRIBE_URL}}}\">Unsubscribe</a></p>",
            "Unsubscribe: {{{UNSUBSCRIBE_URL}}}\n",
        ),
        (
            "[Leave]({{{RESEND_UNSUBSCRIBE_URL}}})",
            "<p class=\"rm-footer\"><a href=\"{{{RESEND_UNSUBSCRIBE_URL}}}\">Leave</a></p>",
            "Leave ({{{RESEND_UNSUBSCRIBE_URL}}})\n",
        ),
    ] {
        assert_eq!(body(source), html, "{source}");
        assert_eq!(render(source).unwrap().text, text, "{source}");
    }
}

#[test]
fn html_and_other_schemes_are_no_markup() {
    for (source, html) in [
        ("<script>alert(1)</script>", "<p>&lt;script&gt;alert(1)&lt;/script&gt;</p>"),
        ("a <b onclick=x>b</b>", "<p>a &lt;b onclick=x&gt;b&lt;/b&gt;</p>"),
        ("[a](javascript:alert(1))", "<p>a</p>"),
        ("[a](data:text/html,x) [b](/x) [c](JavaScript:x)", "<p>a b c</p>"),
        ("![a](data:image/png,x)", "<p>a</p>"),
        ("[a](https://e.example/\"onclick=x)", "<p><a href=\"https://e.example/&quot;onclick=x\">a</a></p>"),
        ("[[button: a](javascript:x)]", "<p>a</p>"),
        ("{{{A|<b>\"}}}", "<p>{{{A|&lt;b&gt;&quot;}}}</p>"),
    ] {
        assert_eq!(body(source), html, "{source}");
    }
}

/// HTML of two columns, without its styles.
fn two_columns(first: &str, second: &str) -> String {
    let column = "<td class=\"rm-column\" width=\"50%\">";
    format!(
        "<table role=\"presentation\" width=\"100%\" cellpadding=\"0\" cellspacing=\"0\" border=\"0\"><tr>\
         {column}{first}</td>\n{column}{second}</td></tr>\n</table>"
    )
}

#[test]
fn two_columns_are_beside_each_other_in_html_and_one_after_the_other_in_text() {
    let source = "a\n\n[[columns]]\n\n## b\n\n- c\n\n  [[column]]\n\n [[column]] \n\n\
                  [[button: d](https://e.example)]\n\n{{{UNSUBSCRIBE_URL}}}\n\n[[end]]\n\ne";

    let html = body(source);

    let first = "<h2>b</h2>\n<ul><li><p>c</p>\n<p>[[column]]</p>\n</li>\n</ul>\n";
    let second = "<p><a class=\"rm-button\" href=\"https://e.example\">d</a></p>\n\
                  <p class=\"rm-footer\"><a href=\"{{{UNSUBSCRIBE_URL}}}\">Unsubscribe</a></p>\n";
    assert_eq!(html, format!("<p>a</p>\n{}\n<p>e</p>", two_columns(first, second)));
    let text = "a\n\nb\n\n- c\n\n  [[column]]\n\nd: https://e.example\n\nUnsubscribe: {{{UNSUBSCRIBE_URL}}}\n\ne\n";
    assert_eq!(render(source).unwrap().text, text);
    assert_eq!(body("[[columns]]\n\n[[column]]\n\n[[end]]"), two_columns("", ""));
}

#[test]
fn marks_that_make_no_two_columns_are_text() {
    for (source, html) in [
        ("[[columns]]\n\na\n\n[[column]]\n\nb", "<p>[[columns]]</p>\n<p>a</p>\n<p>[[column]]</p>\n<p>b</p>"),
        ("[[columns]]\n\na\n\n[[end]]", "<p>[[columns]]</p>\n<p>a</p>\n<p>[[end]]</p>"),
        ("[[column]]\n\n[[end]]\n\n[[columns]]", "<p>[[column]]</p>\n<p>[[end]]</p>\n<p>[[columns]]</p>"),
        ("[[columns]]\na\n[[column]]\nb\n[[end]]", "<p>[[columns]]\na\n[[column]]\nb\n[[end]]</p>"),
        ("`[[columns]]`\n\n[[column]] a", "<p><code>[[columns]]</code></p>\n<p>[[column]] a</p>"),
        (
            "> [[columns]]\n>\n> [[column]]\n\n[[end]]",
            "<blockquote><p>[[columns]]</p>\n<p>[[column]]</p>\n</blockquote>\n<p>[[end]]</p>",
        ),
    ] {
        assert_eq!(body(source), html, "{source}");
    }
    let [first, next, end] = ["[[columns]]\n\n", "[[column]]\n\n", "[[end]]\n\n"];
    let three = format!("{first}{next}{next}{end}");
    assert_eq!(body(&three), "<p>[[columns]]</p>\n<p>[[column]]</p>\n<p>[[column]]</p>\n<p>[[end]]</p>");
    let nested = format!("{first}a\n\n{first}b\n\n{next}c\n\n{end}{next}d\n\n{end}");
    let inner = two_columns("<p>b</p>\n", "<p>c</p>\n");
    let expected = format!("<p>[[columns]]</p>\n<p>a</p>\n{inner}\n<p>[[column]]</p>\n<p>d</p>\n<p>[[end]]</p>");
    assert_eq!(body(&nested), expected);
    assert_eq!(render(&nested).unwrap().text, "[[columns]]\n\na\n\nb\n\nc\n\n[[column]]\n\nd\n\n[[end]]\n");
}

#[test]
fn the_page_has_the_first_heading_as_its_title() {
    let html = render("Text\n\n# Now & {{{NAME|you}}}\n\n# Other").unwrap().html;

    assert!(html.contains("<title>Now &amp; {{{NAME|you}}}</title>"), "{html}");
}

#[test]
fn the_sizes_are_bounded() {
    assert_eq!(render(&"a".repeat(MARKDOWN_BYTES_MAX + 1)), Err(MarkdownTooLarge));
    assert_eq!(render(&"`a` ".repeat(MARKDOWN_BYTES_MAX / 4)), Err(MarkdownTooLarge));
    let cells = format!("{}\n{}|\n", "|".repeat(60_001), "|-".repeat(60_000));
    assert_eq!(render(&cells), Err(MarkdownTooLarge));
    let quoted = format!("{}a\n{}", "> ".repeat(1_000), "b\n".repeat(10_000));
    assert!(render(&quoted).unwrap().text.len() < PART_BYTES_MAX);
    assert_eq!(render(" \n").unwrap().html, "");
}

#[test]
fn the_text_of_an_image_in_the_text_of_an_image_is_kept() {
    let source = "![a ![b](https://e.example/b.png) c](https://e.example/a.png) d";

    let found: Vec<_> = outline(source).into_iter().map(|target| (target.range, target.url, target.label)).collect();

    assert_eq!(body(source), "<p><img src=\"https://e.example/a.png\" alt=\"a b\"> c d</p>");
    assert_eq!(render(source).unwrap().text, "a b c d\n");
    let expected = [(0..61, "https://e.example/a.png", "a  c"), (4..33, "https://e.example/b.png", "b")];
    assert_eq!(found, expected.map(|(range, url, label)| (range, url.to_owned(), label.to_owned())));
}

#[test]
fn deeply_nested_images_are_converted_and_listed() {
    const DEPTH: usize = 10_000;
    let source = format!("{}{}", "![".repeat(DEPTH), "](https://e.example)".repeat(DEPTH));

    let ranges: Vec<_> = outline(&source).into_iter().map(|target| target.range).collect();

    assert_eq!(body(&source), "<p><img src=\"https://e.example\" alt=\"\"></p>");
    let nested: Vec<_> = (0..DEPTH).map(|level| 2 * level..source.len() - 20 * level).collect();
    assert!(ranges == nested, "{:?}", &ranges[..3]);
}

#[test]
fn links_and_images_have_their_place() {
    let source =
        "Hi {{{NAME|you}}} [a]({{{UNSUBSCRIBE_URL}}})\n\n![](/x.png)[![L](https://e.example/l.png)](https://e.example)";

    let found: Vec<_> = outline(source)
        .into_iter()
        .map(|target| (source[target.range].to_owned(), target.url, target.is_image, target.is_allowed, target.label))
        .collect();

    let expected = [
        ("[a]({{{UNSUBSCRIBE_URL}}})", "{{{UNSUBSCRIBE_URL}}}", false, true, "a"),
        ("![](/x.png)", "/x.png", true, false, ""),
        ("[![L](https://e.example/l.png)](https://e.example)", "https://e.example", false, true, ""),
        ("![L](https://e.example/l.png)", "https://e.example/l.png", true, true, "L"),
    ]
    .map(|(text, url, is_image, is_allowed, label)| {
        (text.to_owned(), url.to_owned(), is_image, is_allowed, label.to_owned())
    });
    assert_eq!(found, expected);
}

proptest! {
    #[test]
    fn no_source_becomes_markup_of_its_own(
        source in "(\\[\\[button: |\\[|\\]|\\(|\\)|!|javascript:x|https://e|<script|\
                   <img onerror=x|>|\"|'|\\{\\{\\{A\\|\\}\\}\\}|\
                   \\{\\{\\{UNSUBSCRIBE_URL\\}\\}\\}|[*_#|`\n -]|\
                   \n\n\\[\\[(columns|column|end)\\]\\]\n\n|</td>|<table>){0,40}"
    ) {
        prop_assume!(!source.trim().is_empty());

        let html = body(&source);

        prop_assert!(!html.contains("<script") && !html.contains("<img onerror"), "{html}");
        for (at, _) in html.match_indices("href=\"").chain(html.match_indices("src=\"")) {
            let url = html[at..].split_once('"').map_or("", |(_, url)| url);
            prop_assert!(url.starts_with("https://") || url.starts_with("{{{"), "{html}");
        }
        for (start, end) in [("<table", "</table>"), ("<tr", "</tr>"), ("<td", "</td>")] {
            prop_assert!(html.matches(start).count() == html.matches(end).count(), "{start} in {html}");
        }
    }
}

//! Tests of the structure of composed messages.

use super::samples::samples;
use crate::mime::{AddressForm, ComposeError, Message, MessageField, MimeAttachment, MimeMailbox, compose};
use mail_parser::{MessageParser, MimeHeaders as _, PartType};
use proptest::prelude::*;

const BASE: Message<'_> = Message {
    from: MimeMailbox { name: Some("Sender"), address: "sender@example.com" },
    to: &[MimeMailbox { name: None, address: "to@example.net" }],
    cc: &[],
    reply_to: &[],
    address_form: AddressForm::Unicode,
    subject: "Hello",
    date_ms: 1_767_225_600_000,
    message_id: "id@example.com",
    headers: &[],
    text: None,
    html: None,
    attachments: &[],
};

fn composed(message: &Message<'_>) -> String {
    String::from_utf8(compose(message, 7).unwrap()).unwrap()
}

/// Returns the names of the fields in the header section.
fn field_names(section: &str) -> Vec<&str> {
    section
        .split("\r\n")
        .take_while(|line| !line.is_empty())
        .filter(|line| !line.starts_with(' '))
        .map(|line| line.split(':').next().unwrap())
        .collect()
}

#[test]
fn text_alone_is_a_single_part() {
    let message = Message {
        text: Some("Hi\n"),
        cc: &[MimeMailbox { name: None, address: "cc@example.net" }],
        reply_to: &[MimeMailbox { name: None, address: "reply@example.net" }],
        headers: &[("X-Ref", "1")],
        ..BASE
    };
    assert_eq!(
        composed(&message),
        "Date: Thu, 01 Jan 2026 00:00:00 +0000\r\n\
         From: Sender <sender@example.com>\r\n\
         To: to@example.net\r\n\
         Cc: cc@example.net\r\n\
         Reply-To: reply@example.net\r\n\
         Subject: Hello\r\n\
         Message-ID: <id@example.com>\r\n\
         MIME-Version: 1.0\r\n\
         X-Ref: 1\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         Hi\r\n"
    );
}

#[test]
fn attachments_and_alternatives_are_parts_of_one_multipart_mixed() {
    let message = Message {
        text: Some("Hi"),
        html: Some("<p>Hi</p>"),
        attachments: &[MimeAttachment {
            filename: Some("a.csv"),
            content_type: "text/csv",
            content_id: None,
            content: b"a,b\n",
        }],
        ..BASE
    };
    let raw = composed(&message);
    let (_, body) = raw.split_once("MIME-Version: 1.0\r\n").unwrap();
    assert_eq!(
        body,
        "Content-Type: multipart/mixed; boundary=\"=_0000000000000007.0\"\r\n\
         \r\n\
         --=_0000000000000007.0\r\n\
         Content-Type: multipart/alternative; boundary=\"=_0000000000000007.1\"\r\n\
         \r\n\
         --=_0000000000000007.1\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         Hi\r\n\
         --=_0000000000000007.1\r\n\
         Content-Type: text/html; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         <p>Hi</p>\r\n\
         --=_0000000000000007.1--\r\n\
         --=_0000000000000007.0\r\n\
         Content-Type: text/csv; name=a.csv\r\n\
         Content-Disposition: attachment; filename=a.csv\r\n\
         Content-Transfer-Encoding: base64\r\n\
         \r\n\
         YSxiCg==\r\n\
         --=_0000000000000007.0--\r\n"
    );
}

#[test]
fn the_images_of_the_html_part_are_related_to_it() {
    let message = Message {
        text: Some("Hi"),
        html: Some("<img src=\"cid:logo\">"),
        attachments: &[
            MimeAttachment { filename: Some("a.csv"), content_type: "text/csv", content_id: None, content: b"a,b\n" },
            MimeAttachment {
                filename: Some("logo.png"),
                content_type: "image/png",
                content_id: Some("logo"),
                content: b"PNG",
            },
        ],
        ..BASE
    };
    let raw = composed(&message);
    let (_, body) = raw.split_once("MIME-Version: 1.0\r\n").unwrap();
    assert_eq!(
        body,
        "Content-Type: multipart/mixed; boundary=\"=_0000000000000007.0\"\r\n\
         \r\n\
         --=_0000000000000007.0\r\n\
         Content-Type: multipart/alternative; boundary=\"=_0000000000000007.1\"\r\n\
         \r\n\
         --=_0000000000000007.1\r\n\
         Content-Type: text/plain; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         Hi\r\n\
         --=_0000000000000007.1\r\n\
         Content-Type: multipart/related; type=\"text/html\";\r\n boundary=\"=_0000000000000007.2\"\r\n\
         \r\n\
         --=_0000000000000007.2\r\n\
         Content-Type: text/html; charset=utf-8\r\n\
         Content-Transfer-Encoding: quoted-printable\r\n\
         \r\n\
         <img src=3D\"cid:logo\">\r\n\
         --=_0000000000000007.2\r\n\
         Content-Type: image/png; name=logo.png\r\n\
         Content-Disposition: inline; filename=logo.png\r\n\
         Content-ID: <logo>\r\n\
         Content-Transfer-Encoding: base64\r\n\
         \r\n\
         UE5H\r\n\
         --=_0000000000000007.2--\r\n\
         --=_0000000000000007.1--\r\n\
         --=_0000000000000007.0\r\n\
         Content-Type: text/csv; name=a.csv\r\n\
         Content-Disposition: attachment; filename=a.csv\r\n\
         Content-Transfer-Encoding: base64\r\n\
         \r\n\
         YSxiCg==\r\n\
         --=_0000000000000007.0--\r\n"
    );
}

#[test]
fn an_image_without_an_html_part_is_a_part_of_the_message() {
    let image = MimeAttachment { filename: None, content_type: "image/png", content_id: Some("a"), content: b"x" };
    for (text, html, expected) in [
        (Some("Hi"), None, &["multipart/mixed", "text/plain", "image/png"][..]),
        (None, Some("<img src=cid:a>"), &["multipart/related", "text/html", "image/png"]),
        (
            None,
            Some("<p>Hi</p>"),
            &["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"],
        ),
    ] {
        let raw = composed(&Message { text, html, attachments: &[image], ..BASE });
        let types: Vec<&str> =
            raw.split("Content-Type: ").skip(1).map(|rest| rest.split([';', '\r']).next().unwrap()).collect();

        assert_eq!(types, expected, "{raw}");
        let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
        let part = parsed.attachment(0).unwrap();
        assert_eq!((part.content_id(), part.contents()), (Some("a"), &b"x"[..]));
        assert!(part.content_disposition().is_some_and(|disposition| disposition.is_inline()));
    }
}

#[test]
fn a_malformed_content_id_is_refused() {
    for (content_id, error) in [
        ("", ComposeError::Malformed(MessageField::ContentId)),
        ("a b", ComposeError::Malformed(MessageField::ContentId)),
        ("<a>", ComposeError::Malformed(MessageField::ContentId)),
        ("\u{e9}", ComposeError::Malformed(MessageField::ContentId)),
        (&"a".repeat(996), ComposeError::TooLong(MessageField::ContentId)),
    ] {
        let image =
            MimeAttachment { filename: None, content_type: "image/png", content_id: Some(content_id), content: b"" };
        let message = Message { html: Some("x"), attachments: &[image], ..BASE };
        assert_eq!(compose(&message, 0), Err(error), "{content_id:?}");
    }
}

#[test]
fn a_message_with_only_html_gets_a_text_part_unless_the_text_is_empty() {
    for (text, html, parts) in [
        (None, "<p>Hi <a href='https://a.co'>you</a></p>", vec!["multipart/alternative", "text/plain", "text/html"]),
        (Some(""), "<p>Hi</p>", vec!["text/html"]),
        (None, "<img src=x>", vec!["text/html"]),
        (Some("Hi"), "", vec!["multipart/alternative", "text/plain", "text/html"]),
    ] {
        let raw = composed(&Message { text, html: Some(html), ..BASE });
        let types: Vec<&str> = raw
            .lines()
            .filter_map(|line| line.strip_prefix("Content-Type: "))
            .map(|line| line.split(';').next().unwrap())
            .collect();
        assert_eq!(types, parts, "{html}");
        if html.contains("https://a.co") {
            assert!(raw.contains("Hi you (https://a.co)\r\n"), "{raw}");
        }
    }
}

#[test]
fn a_mail_parser_reads_every_sample() {
    for sample in samples() {
        let raw = sample.with_message(|message| compose(message, 1).unwrap());
        let parsed = MessageParser::new().parse(&raw).expect(sample.name);
        assert_eq!(parsed.subject().unwrap_or_default(), sample.subject, "{}", sample.name);
        assert_eq!(parsed.from().unwrap().first().unwrap().name(), sample.from_name);
        if let Some(text) = &sample.text {
            let expected = text.trim_end().replace('\n', "\r\n");
            let found = parsed.body_text(0).unwrap_or_default();
            assert_eq!(found.trim_end(), expected, "{}", sample.name);
        }
        if let Some(html) = &sample.html {
            assert_eq!(parsed.body_html(0).unwrap(), html.as_str(), "{}", sample.name);
        }
        assert_eq!(parsed.attachment_count(), sample.attachments.len(), "{}", sample.name);
        for (part, file) in parsed.attachments().zip(&sample.attachments) {
            assert_eq!(part.attachment_name(), file.filename);
            assert_eq!(part.content_id(), file.content_id);
            let found = match &part.body {
                PartType::Text(text) => text.as_bytes(),
                PartType::Binary(bytes) => bytes,
                other => panic!("{other:?}"),
            };
            assert_eq!(found, file.content);
        }
    }
}

#[test]
fn control_characters_are_refused_in_every_field() {
    fn mailbox<'a>(name: &'a str, address: &'a str) -> MimeMailbox<'a> {
        MimeMailbox { name: Some(name), address }
    }
    fn file(filename: &str) -> MimeAttachment<'_> {
        MimeAttachment { filename: Some(filename), content_type: "text/plain", content_id: None, content: b"" }
    }
    fn image(content_id: &str) -> MimeAttachment<'_> {
        MimeAttachment { filename: None, content_type: "image/png", content_id: Some(content_id), content: b"" }
    }
    for bad in ["x\r\nBcc: a@b.co", "x\nBcc: a@b.co", "x\rBcc: a@b.co", "x\0", "x\u{1}"] {
        let address = format!("{bad}@example.com");
        for (message, field) in [
            (Message { subject: bad, ..BASE }, MessageField::Subject),
            (Message { from: mailbox(bad, "a@b.co"), ..BASE }, MessageField::DisplayName),
            (Message { to: &[mailbox(bad, "a@b.co")], ..BASE }, MessageField::DisplayName),
            (Message { cc: &[mailbox("x", &address)], ..BASE }, MessageField::Address),
            (Message { reply_to: &[mailbox("x", &address)], ..BASE }, MessageField::Address),
            (Message { message_id: &address, ..BASE }, MessageField::MessageId),
            (Message { headers: &[("X-A", bad)], ..BASE }, MessageField::HeaderValue),
            (Message { headers: &[(bad, "x")], ..BASE }, MessageField::HeaderName),
            (Message { attachments: &[file(bad)], ..BASE }, MessageField::Filename),
            (Message { attachments: &[image(bad)], ..BASE }, MessageField::ContentId),
            (Message { html: Some("x"), attachments: &[image(bad)], ..BASE }, MessageField::ContentId),
        ] {
            assert_eq!(compose(&message, 0), Err(ComposeError::ControlCharacter(field)));
        }
    }
}

#[test]
fn only_a_non_ascii_local_part_needs_smtputf8() {
    let to = |address| [MimeMailbox { name: Some("Zoë"), address }];
    assert!(!Message { to: &to("zoe@example.net"), ..BASE }.needs_smtputf8());
    let message = Message { to: &to("zoë@example.net"), text: Some("é"), ..BASE };
    assert!(message.needs_smtputf8());
    assert!(composed(&message).contains("<zoë@example.net>\r\n"));
}

#[test]
fn the_ascii_form_of_a_recipient_is_an_empty_group_with_its_address_as_the_name() {
    let to = [
        MimeMailbox { name: Some("Zoë"), address: "zoë@example.net" },
        MimeMailbox { name: None, address: "ann@example.net" },
    ];
    let message = Message { to: &to, cc: &to[..1], text: Some("x"), address_form: AddressForm::Ascii, ..BASE };

    let raw = composed(&message);

    assert!(!message.needs_smtputf8());
    assert_invariants(raw.as_bytes());
    let parsed = MessageParser::new().parse(raw.as_bytes()).unwrap();
    let mail_parser::Address::Group(groups) = parsed.to().unwrap() else { panic!("no group: {raw}") };
    assert_eq!(groups[0].name.as_deref(), Some("Zoë zoë@example.net"), "{raw}");
    assert!(groups[0].addresses.is_empty(), "{raw}");
    let addresses: Vec<_> = parsed.to().unwrap().iter().filter_map(|address| address.address()).collect();
    assert_eq!(addresses, ["ann@example.net"]);
    assert!(raw.contains("?= :;\r\nSubject"), "{raw}");
    for message in [Message { from: to[0], ..message }, Message { reply_to: &to[..1], ..message }] {
        assert!(message.needs_smtputf8());
        assert!(!composed(&message).is_ascii());
    }
}

fn assert_invariants(raw: &[u8]) {
    assert!(raw.is_ascii());
    let text = std::str::from_utf8(raw).unwrap();
    assert!(text.ends_with("\r\n"));
    for line in text.strip_suffix("\r\n").unwrap().split("\r\n") {
        assert!(!line.contains(['\r', '\n', '\0']), "{line:?}");
        assert!(line.len() <= 998, "{line:?}");
        assert!(line.is_empty() || !line.trim().is_empty(), "{line:?}");
    }
    assert!(!text.to_ascii_lowercase().contains("\r\nbcc:"));
}

#[test]
fn the_invariants_hold_for_every_sample() {
    for sample in samples() {
        let raw = sample.with_message(|message| compose(message, 1).unwrap());
        assert_invariants(&raw);
        assert_eq!(raw, sample.with_message(|message| compose(message, 1).unwrap()));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn no_value_changes_the_structure_of_a_message(
        name in "\\PC{0,80}|[a-z\r\n:]{0,10}",
        subject in "\\PC{0,300}|(Bcc: x|\r|\n|\t| |x){0,10}",
        value in "\\PC{0,1200}|(Bcc: x|\r|\n|\t| |x){0,10}",
        filename in "\\PC{0,200}|(Bcc: x|\r|\n|\"|;|x){0,10}",
        content_type in "(text/plain|[a-z/;=\"\r\n ]{0,30}|\\PC{0,20})",
        text in prop::option::of("(?s)(.|\r\n|\n\\.\n| \n|--=_0000000000000007\\.0){0,200}"),
        html in prop::option::of("(?s)(.|<p>|\r| \n){0,200}"),
        content in prop::collection::vec(any::<u8>(), 0..300),
    ) {
        let message = Message {
            to: &[MimeMailbox { name: Some(&name), address: "to@example.net" }],
            subject: &subject,
            headers: &[("X-Value", &value)],
            text: text.as_deref(),
            html: html.as_deref(),
            attachments: &[MimeAttachment {
                filename: Some(&filename),
                content_type: &content_type,
                content_id: None,
                content: &content,
            }],
            ..BASE
        };
        let Ok(raw) = compose(&message, 7) else {
            return Ok(());
        };
        assert_invariants(&raw);
        let section = std::str::from_utf8(&raw).unwrap();
        prop_assert_eq!(
            field_names(section),
            ["Date", "From", "To", "Subject", "Message-ID", "MIME-Version", "X-Value", "Content-Type"]
        );

        let parsed = MessageParser::new().parse(&raw).unwrap();
        prop_assert_eq!(parsed.attachment_count(), 1);
        let part = parsed.attachment(0).unwrap();
        if !filename.is_empty() {
            prop_assert_eq!(part.attachment_name(), Some(filename.as_str()));
        }
        prop_assert_eq!(part.raw_len() as usize > 0, true);
        if let PartType::Binary(bytes) = &part.body {
            prop_assert_eq!(bytes.as_ref(), content.as_slice());
        }
    }
}

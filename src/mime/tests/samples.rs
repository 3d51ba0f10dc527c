//! Sample messages for all parsers and verifiers.

use crate::mime::{AddressForm, Message, MimeAttachment, MimeMailbox};

/// A message without the fields that all samples share.
#[derive(Default)]
pub(super) struct Sample {
    pub(super) name: &'static str,
    pub(super) from_name: Option<&'static str>,
    pub(super) to: Vec<(Option<String>, String)>,
    pub(super) subject: String,
    pub(super) headers: Vec<(&'static str, String)>,
    pub(super) text: Option<String>,
    pub(super) html: Option<String>,
    pub(super) attachments: Vec<SampleFile>,
}

/// An attachment of a sample.
pub(super) struct SampleFile {
    pub(super) filename: Option<&'static str>,
    pub(super) content_type: &'static str,
    pub(super) content_id: Option<&'static str>,
    pub(super) content: Vec<u8>,
}

fn file(filename: &'static str, content_type: &'static str, content: &[u8]) -> SampleFile {
    SampleFile { filename: Some(filename), content_type, content_id: None, content: content.to_vec() }
}

/// Domain that sends and signs the samples.
pub(super) const DOMAIN: &str = "mail.example.com";
pub(super) const DATE_MS: i64 = 1_767_225_600_000;

impl Sample {
    fn new(name: &'static str) -> Self {
        Self {
            name,
            to: vec![(None, "someone@example.net".to_owned())],
            subject: "A subject".to_owned(),
            ..Self::default()
        }
    }

    fn text(mut self, text: impl Into<String>) -> Self {
        self.text = Some(text.into());
        self
    }

    fn html(mut self, html: impl Into<String>) -> Self {
        self.html = Some(html.into());
        self
    }

    /// Calls `read` with the sample as a message.
    pub(super) fn with_message<T>(&self, read: impl FnOnce(&Message<'_>) -> T) -> T {
        let to: Vec<MimeMailbox<'_>> =
            self.to.iter().map(|(name, address)| MimeMailbox { name: name.as_deref(), address }).collect();
        let headers: Vec<(&str, &str)> = self.headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let attachments: Vec<MimeAttachment<'_>> = self
            .attachments
            .iter()
            .map(|SampleFile { filename, content_type, content_id, content }| MimeAttachment {
                filename: *filename,
                content_type,
                content_id: *content_id,
                content,
            })
            .collect();
        read(&Message {
            from: MimeMailbox { name: self.from_name, address: "sender@mail.example.com" },
            to: &to,
            cc: &[],
            reply_to: &[],
            address_form: AddressForm::Unicode,
            subject: &self.subject,
            date_ms: DATE_MS,
            message_id: "0199b0a1-7c00-7000-8000-000000000001@mail.example.com",
            headers: &headers,
            text: self.text.as_deref(),
            html: self.html.as_deref(),
            attachments: &attachments,
        })
    }
}

pub(super) fn samples() -> Vec<Sample> {
    let bytes: Vec<u8> = (0..=255).cycle().take(5000).collect();
    vec![
        Sample::new("plain").text("Hello.\n\nA second paragraph.\n"),
        Sample::new("multipart").text("Hello").html("<p>Hello <b>you</b></p>"),
        Sample::new("html-alone").html("<p>Hello</p><p><a href=\"https://example.com/\">Go</a></p>"),
        Sample {
            attachments: vec![
                file("bytes.bin", "application/octet-stream", &bytes),
                file("Bericht für März – 報告.pdf", "application/pdf", b"%PDF"),
                file("empty.txt", "text/plain", b""),
                SampleFile { filename: None, ..file("", "text/calendar; method=REQUEST", b"BEGIN:VCALENDAR\r\n") },
            ],
            ..Sample::new("attachments").text("See below").html("<p>See below</p>")
        },
        Sample {
            attachments: vec![
                SampleFile { content_id: Some("logo"), ..file("logo.png", "image/png", b"\x89PNG") },
                SampleFile {
                    filename: None,
                    content_id: Some("dot@mail.example.com"),
                    ..file("", "image/gif", b"GIF89a")
                },
                file("terms.pdf", "application/pdf", b"%PDF"),
            ],
            ..Sample::new("inline-images")
                .text("See below")
                .html("<img src=\"cid:logo\"><img src='cid:dot@mail.example.com'>")
        },
        Sample {
            attachments: vec![SampleFile { content_id: Some("logo"), ..file("logo.png", "image/png", b"\x89PNG") }],
            ..Sample::new("inline-image-alone").html("<img src=\"cid:logo\">")
        },
        Sample::new("long-lines").text("x".repeat(5000)).html(format!(
            "<p>{}</p><p>{}</p>",
            "word ".repeat(2000),
            "y".repeat(3000)
        )),
        Sample::new("whitespace-tail").text("Hello\n   \n \t \n  "),
        Sample::new("whitespace-inside").text("a  b\t c \n\n\n   \nd \t\n e"),
        Sample::new("blank-tail").text("Hello\n\n\n\n"),
        Sample::new("empty").text(""),
        Sample::new("spaces-alone").text("  \n \t "),
        Sample::new("dots").text(".\n..\n.hidden\nFrom here\n."),
        Sample {
            from_name: Some("Grüße, \"Köln\""),
            to: vec![
                (Some("Zoë".to_owned()), "zoe@example.net".to_owned()),
                (Some("山田太郎".to_owned()), "yamada@example.net".to_owned()),
            ],
            subject: "🎉 שלום — 您的订单已发货，感谢您的惠顾，欢迎再次光临我们的商店 🎉".to_owned(),
            ..Sample::new("utf-8").text("Grüße\n日本語\n🎉").html("<p>Grüße 日本語 🎉</p>")
        },
        Sample {
            to: (0..50).map(|n| (Some(format!("Recipient {n}")), format!("r{n}@department{n}.example.net"))).collect(),
            ..Sample::new("fifty-recipients").text("All")
        },
        Sample {
            subject: "A list of things".to_owned(),
            headers: vec![
                ("List-Unsubscribe", format!("<https://example.com/u/{}>, <mailto:u@example.com>", "t".repeat(120))),
                ("List-Unsubscribe-Post", "List-Unsubscribe=One-Click".to_owned()),
                ("List-Id", "Nouveautés <news.mail.example.com>".to_owned()),
                ("Feedback-ID", "b1:t1:broadcast:ringmail".to_owned()),
                ("X-Long", "word ".repeat(300)),
                ("X-Note", "señal".to_owned()),
                ("References", "<a@example.com> ".repeat(30)),
                ("In-Reply-To", "<a@example.com>".to_owned()),
            ],
            ..Sample::new("list").text("News").html("<p>News</p>")
        },
        Sample { subject: String::new(), ..Sample::new("no-subject").text("x") },
        Sample { to: Vec::new(), ..Sample::new("no-recipient").text("x") },
    ]
}

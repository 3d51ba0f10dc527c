//! Composition of a message: the header section in a fixed order, then the body parts.

use super::body::{base64_bytes, write_base64, write_quoted_printable};
use super::header::{
    Folder, refuse_controls, write_addresses, write_content_id, write_custom, write_date, write_message_id,
    write_parameter, write_text,
};
use super::media_type;
use super::message::{AddressForm, ComposeError, Message, MessageField, MimeAttachment};
use super::text::text_from_html;

/// Longest subject word that is written plainly. Longer words become encoded words, which can be folded.
const SUBJECT_WORD_BYTES_MAX: usize = 75;

/// The displayed content: the text, the HTML, or both as alternatives.
enum Content<'a> {
    Text(&'a str),
    Html(&'a str),
    Both { text: std::borrow::Cow<'a, str>, html: &'a str },
}

/// Composes a message.
///
/// The same message and seed give the same bytes. The seed makes the boundaries differ from those of a message quoted
/// inside; any number works.
///
/// Cost: linear in the size of the parts, plus [`text_from_html`] if there is only HTML.
///
/// # Errors
/// Returns [`ComposeError`] for values that the API should have refused: control characters, malformed addresses,
/// reserved header names.
pub fn compose(message: &Message<'_>, boundary_seed: u64) -> Result<Vec<u8>, ComposeError> {
    let content = content(message);
    let mut out = Vec::with_capacity(estimated_bytes(message, &content));
    write_header_section(&mut out, message)?;

    // RFC 2045 §6.7 and §6.8: neither encoding produces "=_", so no leaf part contains a boundary.
    let [mixed, alternative, related] = [0, 1, 2].map(|number| format!("=_{boundary_seed:016x}.{number}"));
    // Only an HTML part can display an image by its content id.
    let has_html = !matches!(content, Content::Text(_));
    let is_related = |attachment: &&MimeAttachment<'_>| has_html && attachment.content_id.is_some();
    let (images, files): (Vec<_>, Vec<_>) = message.attachments.iter().partition(is_related);
    let body = Body { content, images, alternative, related };
    if files.is_empty() {
        body.write(&mut out)?;
        return Ok(out);
    }

    write_multipart_type(&mut out, "multipart/mixed", &[("boundary", &mixed)]);
    write_delimiter(&mut out, &mixed);
    body.write(&mut out)?;
    for file in files {
        write_delimiter(&mut out, &mixed);
        write_attachment(&mut out, file)?;
    }
    write_close_delimiter(&mut out, &mixed);
    Ok(out)
}

/// The displayed content with the images of its HTML part.
struct Body<'a> {
    content: Content<'a>,
    images: Vec<&'a MimeAttachment<'a>>,
    /// Boundary of the alternatives.
    alternative: String,
    /// Boundary of the HTML part and its images.
    related: String,
}

impl Body<'_> {
    /// Writes the content with its content fields.
    fn write(&self, out: &mut Vec<u8>) -> Result<(), ComposeError> {
        match &self.content {
            Content::Text(text) => write_leaf(out, "text/plain", text),
            Content::Html(html) => self.write_html(out, html)?,
            Content::Both { text, html } => {
                // RFC 2046 §5.1.4: the alternatives are in increasing order of preference.
                write_multipart_type(out, "multipart/alternative", &[("boundary", &self.alternative)]);
                write_delimiter(out, &self.alternative);
                write_leaf(out, "text/plain", text);
                write_delimiter(out, &self.alternative);
                self.write_html(out, html)?;
                write_close_delimiter(out, &self.alternative);
            }
        }
        Ok(())
    }

    /// Writes the HTML part, with its images as related parts (RFC 2387).
    fn write_html(&self, out: &mut Vec<u8>, html: &str) -> Result<(), ComposeError> {
        if self.images.is_empty() {
            write_leaf(out, "text/html", html);
            return Ok(());
        }
        // RFC 2387 §3.1: the type of the root part, which is the first one, is required.
        let parameters = [("type", "text/html"), ("boundary", &self.related)];
        write_multipart_type(out, "multipart/related", &parameters);
        write_delimiter(out, &self.related);
        write_leaf(out, "text/html", html);
        for image in &self.images {
            write_delimiter(out, &self.related);
            write_attachment(out, image)?;
        }
        write_close_delimiter(out, &self.related);
        Ok(())
    }
}

fn content<'a>(message: &Message<'a>) -> Content<'a> {
    match (message.text, message.html) {
        (Some(text), Some(html)) if !text.is_empty() => Content::Both { text: text.into(), html },
        (Some(_), Some(html)) => Content::Html(html),
        (None, Some(html)) => match text_from_html(html) {
            // A mail client that prefers text would display an empty text part.
            text if text.is_empty() => Content::Html(html),
            text => Content::Both { text: text.into(), html },
        },
        (text, None) => Content::Text(text.unwrap_or_default()),
    }
}

/// Returns a size estimate that is sufficient for most messages, so that the buffer grows at most once.
fn estimated_bytes(message: &Message<'_>, content: &Content<'_>) -> usize {
    let leaves = match content {
        Content::Text(leaf) | Content::Html(leaf) => leaf.len(),
        Content::Both { text, html } => text.len() + html.len(),
    };
    let attachments: usize =
        message.attachments.iter().map(|attachment| base64_bytes(attachment.content.len()) + 512).sum();
    leaves + leaves / 8 + attachments + 4096
}

fn write_header_section(out: &mut Vec<u8>, message: &Message<'_>) -> Result<(), ComposeError> {
    write_date(out, message.date_ms)?;
    write_addresses(out, "From", &[message.from], AddressForm::Unicode)?;
    if message.to.is_empty() && message.cc.is_empty() {
        // RFC 5322 §3.6.3: To is optional, but filters of receivers expect it.
        out.extend_from_slice(b"To: undisclosed-recipients:;\r\n");
    }
    for (name, mailboxes, form) in [
        ("To", message.to, message.address_form),
        ("Cc", message.cc, message.address_form),
        ("Reply-To", message.reply_to, AddressForm::Unicode),
    ] {
        if !mailboxes.is_empty() {
            write_addresses(out, name, mailboxes, form)?;
        }
    }
    let mut folder = Folder::start(out, "Subject");
    write_text(&mut folder, message.subject, SUBJECT_WORD_BYTES_MAX, MessageField::Subject)?;
    folder.end();
    write_message_id(out, message.message_id)?;
    out.extend_from_slice(b"MIME-Version: 1.0\r\n");
    for (name, value) in message.headers {
        write_custom(out, name, value)?;
    }
    Ok(())
}

fn write_leaf(out: &mut Vec<u8>, essence: &str, text: &str) {
    out.extend_from_slice(b"Content-Type: ");
    out.extend_from_slice(essence.as_bytes());
    out.extend_from_slice(b"; charset=utf-8\r\n");
    out.extend_from_slice(b"Content-Transfer-Encoding: quoted-printable\r\n\r\n");
    write_quoted_printable(out, text);
}

fn write_attachment(out: &mut Vec<u8>, attachment: &MimeAttachment<'_>) -> Result<(), ComposeError> {
    let filename = attachment.filename.filter(|name| !name.is_empty());
    if let Some(filename) = filename {
        refuse_controls(filename, MessageField::Filename)?;
    }
    let media_type = media_type::of_attachment(attachment.content_type);

    let mut folder = Folder::start(out, "Content-Type");
    folder.word(media_type.essence.as_bytes());
    for (attribute, value) in &media_type.parameters {
        write_parameter(&mut folder, attribute, value);
    }
    if let Some(filename) = filename {
        // Older mail clients read the name only from this parameter.
        write_parameter(&mut folder, "name", filename);
    }
    folder.end();

    let mut folder = Folder::start(out, "Content-Disposition");
    folder.word(if attachment.content_id.is_some() { b"inline" } else { b"attachment" });
    if let Some(filename) = filename {
        write_parameter(&mut folder, "filename", filename);
    }
    folder.end();

    if let Some(id) = attachment.content_id {
        write_content_id(out, id)?;
    }
    out.extend_from_slice(b"Content-Transfer-Encoding: base64\r\n\r\n");
    write_base64(out, attachment.content);
    Ok(())
}

fn write_multipart_type(out: &mut Vec<u8>, essence: &str, parameters: &[(&str, &str)]) {
    let mut folder = Folder::start(out, "Content-Type");
    folder.word(essence.as_bytes());
    for (attribute, value) in parameters {
        write_parameter(&mut folder, attribute, value);
    }
    folder.end();
    out.extend_from_slice(b"\r\n");
}

/// Writes a delimiter line. The preceding leaf part or multipart header already ends with CRLF.
fn write_delimiter(out: &mut Vec<u8>, boundary: &str) {
    out.extend_from_slice(b"--");
    out.extend_from_slice(boundary.as_bytes());
    out.extend_from_slice(b"\r\n");
}

fn write_close_delimiter(out: &mut Vec<u8>, boundary: &str) {
    out.extend_from_slice(b"--");
    out.extend_from_slice(boundary.as_bytes());
    out.extend_from_slice(b"--\r\n");
}

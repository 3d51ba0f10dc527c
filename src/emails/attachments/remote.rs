//! Attachments whose files are fetched.

use super::content_type::canonical_type;
use super::{Attachment, ContentId, base_name, default_name};
use crate::base::media_type;
use crate::http_client::FetchedFile;

/// An attachment with a `path`, before its file is fetched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteAttachment {
    /// Index in the request.
    pub(super) index: usize,
    pub(super) path: String,
    pub(super) filename: Option<String>,
    /// Content type of the request, in canonical form.
    pub(super) content_type: Option<String>,
    pub(super) content_id: Option<ContentId>,
}

impl RemoteAttachment {
    /// Returns the index in the request.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns the `path` of the request.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// Returns the attachment with its file. Without a name in the request, the URL gives the name. Without a type in
    /// the request, the name gives the type, or else the response.
    pub fn complete(self, file: FetchedFile) -> Attachment {
        let FetchedFile { content, filename: url_name, content_type: response_type } = file;
        let Self { index, path: _, filename, content_type, content_id } = self;
        let url_name = || url_name.as_deref().and_then(|name| base_name(name).ok()).flatten();
        let filename = filename.or_else(url_name);
        let by_name = || filename.as_deref().and_then(media_type::of_filename).map(ToOwned::to_owned);
        let content_type = content_type
            .or_else(by_name)
            .or_else(|| response_type.as_deref().and_then(canonical_type))
            .unwrap_or_else(|| media_type::OCTET_STREAM.to_owned());
        let filename = filename.unwrap_or_else(|| default_name(index, &content_type));
        Attachment { filename, content_type, content_id, content }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn completed(
        filename: Option<&str>,
        content_type: Option<&str>,
        url: Option<&str>,
        response: Option<&str>,
    ) -> (String, String) {
        let owned = |text: Option<&str>| text.map(ToOwned::to_owned);
        let remote = RemoteAttachment {
            index: 2,
            path: "https://example.com/".to_owned(),
            filename: owned(filename),
            content_type: owned(content_type),
            content_id: None,
        };
        let file = FetchedFile { content: vec![1], filename: owned(url), content_type: owned(response) };
        let attachment = remote.complete(file);
        (attachment.filename().to_owned(), attachment.content_type().to_owned())
    }

    #[test]
    fn names_and_types_come_from_the_request_the_url_and_the_response() {
        let unknown = "application/octet-stream";
        for (filename, content_type, url, response, expected) in [
            (Some("a.csv"), Some("text/x"), Some("b.pdf"), Some("image/png"), ("a.csv", "text/x")),
            (Some("a.csv"), None, Some("b.pdf"), Some("image/png"), ("a.csv", "text/csv")),
            (None, None, Some("b.pdf"), Some("image/png"), ("b.pdf", "application/pdf")),
            (None, None, Some("b"), Some("Image/PNG; x=y"), ("b", "image/png; x=y")),
            (None, None, Some("b"), Some("multipart/mixed"), ("b", unknown)),
            (None, None, Some("b"), Some("no type"), ("b", unknown)),
            (None, None, None, Some("image/png"), ("attachment-3.png", "image/png")),
            (None, None, Some("a\u{202e}fdp.exe"), None, ("attachment-3", unknown)),
            (None, None, Some("a\r\nb"), None, ("attachment-3", unknown)),
            (None, None, Some("../x\\y.txt"), None, ("y.txt", "text/plain")),
            (None, None, Some(&"x".repeat(256)), None, ("attachment-3", unknown)),
        ] {
            let (name, kind) = completed(filename, content_type, url, response);
            assert_eq!((name.as_str(), kind.as_str()), expected);
        }
    }
}

//! Compression of JSON and pages with brotli or gzip, as the client accepts (RFC 9110 §12.5.3).
//!
//! Only complete bodies are compressed: event streams and attachments in parts are sent as they are. Encoders have their
//! own memory budget, and a large result reserves memory of `response_limits/`. If either is used up, the response is
//! sent without compression. A [`StaticText`] is compressed once.

use std::io::Write as _;
use std::sync::Arc;

use brotli::enc::BrotliEncoderParams;
use flate2::write::GzEncoder;
use salvo::http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, VARY};
use salvo::http::{HeaderMap, HeaderValue, Method, ResBody};
use salvo::hyper::body::Bytes;
use salvo::{Depot, FlowCtrl, Request, Response, handler};
use tokio::sync::OnceCell;

use super::response_limits::{BodyIsBudgeted, ResponseLimits, connection_of};
use super::response_memory::MemoryHolder;
use super::state::service;
use super::whole_body::whole_body;
use crate::base::blocking;

/// Size of the smallest body that is compressed. Smaller ones fit into one packet.
const BODY_BYTES_MIN: usize = 1 << 10;
/// Size of the largest body that is compressed. Larger ones would use the CPU for too long. The memory of one team has
/// room for the body and the result.
const BODY_BYTES_MAX: usize = 7 << 20;
/// Memory of an encoder, approximately.
const ENCODER_BYTES: usize = 1 << 20;
/// Quality of brotli: higher ones take several times as long for text that is generated for each response.
const BROTLI_QUALITY: i32 = 4;
/// Window of brotli, as a power of two: 256 KiB.
const BROTLI_WINDOW_BITS: i32 = 18;
/// Level of gzip, for the same reason.
const GZIP_LEVEL: u32 = 5;
/// Brotli quality of the text of [`StaticText::new`], which the first response compresses.
const STATIC_BROTLI_QUALITY: i32 = 9;
/// Gzip level of text that is compressed once.
const STATIC_GZIP_LEVEL: u32 = 9;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Coding {
    Brotli,
    Gzip,
}

/// Number of times that a text is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Effort {
    /// For each response.
    EachTime,
    Once,
}

impl Coding {
    const fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the compressed bytes; `None` if they are not fewer.
    fn encode(self, body: &[u8], effort: Effort) -> Option<Vec<u8>> {
        let mut encoded = Vec::with_capacity(body.len() / 4);
        let (quality, level) = match effort {
            Effort::EachTime => (BROTLI_QUALITY, GZIP_LEVEL),
            Effort::Once => (STATIC_BROTLI_QUALITY, STATIC_GZIP_LEVEL),
        };
        match self {
            Self::Brotli => {
                let params = BrotliEncoderParams {
                    quality,
                    lgwin: BROTLI_WINDOW_BITS,
                    size_hint: body.len(),
                    ..BrotliEncoderParams::default()
                };
                brotli::BrotliCompress(&mut &body[..], &mut encoded, &params).ok()?;
            }
            Self::Gzip => {
                let mut encoder = GzEncoder::new(&mut encoded, flate2::Compression::new(level));
                encoder.write_all(body).ok()?;
                encoder.finish().ok()?;
            }
        }
        (encoded.len() < body.len()).then_some(encoded)
    }

    /// Returns the coding that the client prefers; `None` if it accepts neither. Brotli wins a tie.
    fn accepted(headers: &HeaderMap) -> Option<Self> {
        let lists = headers.get_all(ACCEPT_ENCODING).iter().filter_map(|value| value.to_str().ok());
        let (mut brotli, mut gzip, mut others) = (None, None, None);
        for entry in lists.flat_map(|list| list.split(',')) {
            let (name, parameters) = entry.split_once(';').unwrap_or((entry, ""));
            let parameters = parameters.trim();
            // RFC 9110 §12.4.2: the name of the weight is case-insensitive.
            let weight = parameters.strip_prefix("q=").or_else(|| parameters.strip_prefix("Q="));
            let weight = weight.map_or(Some(1.0), |weight| weight.parse::<f32>().ok());
            match name.trim().to_ascii_lowercase().as_str() {
                "br" => brotli = weight,
                "gzip" | "x-gzip" => gzip = weight,
                "*" => others = weight,
                _ => {}
            }
        }
        let brotli = brotli.or(others).filter(|weight| *weight > 0.0);
        let gzip = gzip.or(others).filter(|weight| *weight > 0.0);
        match (brotli, gzip) {
            (Some(brotli), Some(gzip)) if gzip > brotli => Some(Self::Gzip),
            (Some(_), _) => Some(Self::Brotli),
            (None, Some(_)) => Some(Self::Gzip),
            (None, None) => None,
        }
    }
}

/// Compresses the body of a response.
#[handler]
pub(crate) async fn compress(req: &mut Request, depot: &mut Depot, res: &mut Response, ctrl: &mut FlowCtrl) {
    ctrl.call_next(req, depot, res).await;
    if !is_text(res) || res.headers().contains_key(CONTENT_ENCODING) {
        return;
    }
    res.headers_mut().append(VARY, HeaderValue::from_static("accept-encoding"));
    let Some(body) = whole_body(res).cloned() else { return };
    // The body of a HEAD request is removed later.
    if !(BODY_BYTES_MIN..=BODY_BYTES_MAX).contains(&body.len()) || req.method() == Method::HEAD {
        return;
    }
    let Some(coding) = Coding::accepted(req.headers()) else { return };
    let encoded = match res.extensions.get::<Arc<StaticText>>().cloned() {
        Some(text) => text.encoded(coding).await,
        None => encode(coding, body, req, depot).await,
    };
    let Some(encoded) = encoded else { return };
    res.body = ResBody::Once(encoded);
    let headers = res.headers_mut();
    headers.remove(CONTENT_LENGTH);
    headers.insert(CONTENT_ENCODING, HeaderValue::from_static(coding.name()));
}

/// Compresses a body within the memory of encoders. `None` if it does not become smaller, or if there is no memory for
/// the encoder or the result.
async fn encode(coding: Coding, body: Bytes, req: &Request, depot: &Depot) -> Option<Bytes> {
    let limits = service::<ResponseLimits>(depot).ok()?;
    let encoder = limits.try_reserve_encoder(ENCODER_BYTES + body.len())?;
    let encoded = blocking::run_sized(body.len(), move || {
        // If the request ends early, the encoder holds its memory until it ends.
        let _encoder = encoder;
        coding.encode(&body, Effort::EachTime)
    });
    limits.try_budget(MemoryHolder::of(req, depot), encoded.await?.into(), connection_of(req)).await
}

/// Text that never changes. All responses share its bytes and those of its compressed forms.
pub(crate) struct StaticText {
    plain: Bytes,
    brotli: OnceCell<Option<Bytes>>,
    gzip: OnceCell<Option<Bytes>>,
}

impl StaticText {
    pub(crate) fn new(plain: Vec<u8>) -> Self {
        Self { plain: plain.into(), brotli: OnceCell::new(), gzip: OnceCell::new() }
    }

    /// Returns a text whose compressed forms are known. A form that is `None` is not smaller than the text.
    pub(crate) fn with_forms(plain: Bytes, brotli: Option<Bytes>, gzip: Option<Bytes>) -> Self {
        Self { plain, brotli: OnceCell::new_with(Some(brotli)), gzip: OnceCell::new_with(Some(gzip)) }
    }

    /// Makes the text the body of a response. [`compress`] replaces it by the form that the client accepts.
    pub(crate) fn write(self: &Arc<Self>, res: &mut Response) {
        res.body(self.plain.clone());
        res.extensions.insert(Arc::clone(self));
        // All responses share the bytes.
        res.extensions.insert(BodyIsBudgeted);
    }

    /// Returns the text, without the bytes that are not UTF-8.
    #[cfg(test)]
    pub(crate) fn plain(&self) -> String {
        String::from_utf8_lossy(&self.plain).into_owned()
    }

    /// Returns the compressed bytes; `None` if they are not fewer. The first call for a coding compresses.
    async fn encoded(&self, coding: Coding) -> Option<Bytes> {
        let form = match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        };
        let plain = self.plain.clone();
        let encode = || blocking::run_sized(plain.len(), move || coding.encode(&plain, Effort::Once).map(Bytes::from));
        form.get_or_init(encode).await.clone()
    }
}

/// Returns whether the body is text, which compresses well.
fn is_text(res: &Response) -> bool {
    let content_type = res.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    matches!(essence, "application/json" | "image/svg+xml")
        || (essence.starts_with("text/") && essence != "text/event-stream")
}

#[cfg(test)]
mod tests {
    use salvo::http::HeaderMap;

    use super::*;

    #[test]
    fn the_coding_with_the_highest_weight_is_used() {
        for (accepted, expected) in [
            ("gzip, deflate, br, zstd", Some(Coding::Brotli)),
            ("gzip", Some(Coding::Gzip)),
            ("GZIP;q=1.0, br;q=0.5", Some(Coding::Gzip)),
            ("br;q=0, gzip;q=0.1", Some(Coding::Gzip)),
            ("*", Some(Coding::Brotli)),
            ("*;q=0.5, br;q=0", Some(Coding::Gzip)),
            ("br;Q=0, gzip", Some(Coding::Gzip)),
            ("gzip;Q=0", None),
            ("identity", None),
            ("gzip;q=0", None),
            ("gzip;q=high", None),
            ("", None),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT_ENCODING, HeaderValue::from_str(accepted).unwrap());
            assert_eq!(Coding::accepted(&headers), expected, "{accepted}");
        }
        assert_eq!(Coding::accepted(&HeaderMap::new()), None);
    }

    #[test]
    fn a_body_that_does_not_become_smaller_is_not_replaced() {
        let random: Vec<u8> = crate::base::random::bytes::<64>().into();

        assert_eq!(Coding::Gzip.encode(&random, Effort::EachTime), None);
        assert!(Coding::Gzip.encode(&[b'a'; 5_000], Effort::EachTime).is_some_and(|encoded| encoded.len() < 100));
        assert!(Coding::Brotli.encode(&[b'a'; 5_000], Effort::EachTime).is_some_and(|encoded| encoded.len() < 100));
    }

    #[tokio::test]
    async fn a_static_text_is_compressed_once() {
        let text = Arc::new(StaticText::new(vec![b'a'; 5_000]));
        for coding in [Coding::Brotli, Coding::Gzip] {
            let first = text.encoded(coding).await.unwrap();
            let second = text.encoded(coding).await.unwrap();

            assert_eq!(Some(&first[..]), coding.encode(&text.plain, Effort::Once).as_deref());
            assert_eq!(first.as_ptr(), second.as_ptr(), "both responses share the bytes");
        }
        let mut res = Response::new();
        text.write(&mut res);
        let ResBody::Once(body) = &res.body else { panic!("the body is complete") };
        assert_eq!(body.as_ptr(), text.plain.as_ptr());
    }
}

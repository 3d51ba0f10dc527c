//! The redacted copy of a JSON body, up to a size limit.
//!
//! Every request is redacted, and a body can contain an email with its attachments. Therefore the redactor
//! reads the bytes once, copies pieces of the original, skips the values to redact, and builds no tree. It
//! stops when the copy exceeds its limit.
//!
//! The redactor checks all bytes, also redacted ones, against the grammar of RFC 8259 and the limits of the decoder for
//! requests. The limits are nesting, finite numbers, and complete surrogate pairs. Every JSON decoder accepts the copy.

/// Names of the fields to redact, at any depth.
const SECRET_FIELDS: &[&str] = &["html", "text", "content", "attachments", "token", "signing_secret"];
/// Bytes of the longest name in [`SECRET_FIELDS`] or in the names that an endpoint adds.
const SECRET_FIELD_BYTES_MAX: usize = 14;
/// Bytes of the longest escape: `\u0041`.
const ESCAPE_BYTES: usize = 6;
/// Replacement of a redacted value.
const REDACTED: &[u8] = b"\"[redacted]\"";
/// Levels of nested objects and arrays, as in requests.
const DEPTH_MAX: u32 = 127;
/// Bytes up to which a number without an exponent is certainly finite (an `f64` has at most 309 digits).
const FINITE_BYTES_MAX: usize = 300;
/// Bytes of a string that one step of the search compares.
const SCAN_STEP_BYTES: usize = 32;

/// Redacted copy of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyCopy {
    /// The JSON without secret values and white space.
    Json(String),
    /// The copy would exceed its limit.
    TooLarge {
        /// Size of the body.
        bytes: usize,
    },
    /// The body is not JSON and is not stored.
    NotJson,
}

impl BodyCopy {
    /// Returns the JSON to store: a marker if the body was too large, `None` if it is not JSON.
    pub fn into_json(self) -> Option<String> {
        match self {
            Self::Json(json) => Some(json),
            Self::TooLarge { bytes } => Some(format!("{{\"truncated\":true,\"bytes\":{bytes}}}")),
            Self::NotJson => None,
        }
    }
}

/// Copies a JSON text, up to `bytes_max` bytes. Replaces the value of each secret field by
/// `"[redacted]"`. Names are compared after their escapes are decoded, ignoring case.
pub fn redact(json: &[u8], bytes_max: usize) -> BodyCopy {
    redact_also(json, bytes_max, &[])
}

/// Copies a JSON text as [`redact`] does, and also redacts the fields in `also`.
pub(super) fn redact_also(json: &[u8], bytes_max: usize, also: &'static [&'static str]) -> BodyCopy {
    let mut redactor = Redactor { json, at: 0, copy: Vec::new(), bytes_max, also };
    match redactor.whole() {
        Ok(()) => String::from_utf8(redactor.copy).map_or(BodyCopy::NotJson, BodyCopy::Json),
        Err(CopyError::TooLarge) => BodyCopy::TooLarge { bytes: json.len() },
        Err(CopyError::NotJson) => BodyCopy::NotJson,
    }
}

/// Returns whether fields of this name are always redacted.
pub(crate) fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Cause of an incomplete copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyError {
    NotJson,
    TooLarge,
}

/// Whether the current value is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CopyMode {
    Copy,
    Skip,
}

struct Redactor<'a> {
    json: &'a [u8],
    at: usize,
    copy: Vec<u8>,
    bytes_max: usize,
    /// Names to redact in addition to [`SECRET_FIELDS`].
    also: &'static [&'static str],
}

impl<'a> Redactor<'a> {
    fn whole(&mut self) -> Result<(), CopyError> {
        self.value(CopyMode::Copy, DEPTH_MAX)?;
        match self.skip_space() {
            None => Ok(()),
            Some(_) => Err(CopyError::NotJson),
        }
    }

    fn value(&mut self, mode: CopyMode, depth_left: u32) -> Result<(), CopyError> {
        let piece = match self.next()? {
            b'{' => return self.object(mode, depth_left),
            b'[' => return self.array(mode, depth_left),
            b'"' => self.string()?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => self.number()?,
        };
        self.put(mode, piece)
    }

    fn object(&mut self, mode: CopyMode, depth_left: u32) -> Result<(), CopyError> {
        let depth_left = depth_left.checked_sub(1).ok_or(CopyError::NotJson)?;
        self.step(mode, b"{")?;
        if self.next()? == b'}' {
            return self.step(mode, b"}");
        }
        loop {
            if self.next()? != b'"' {
                return Err(CopyError::NotJson);
            }
            let name = self.string()?;
            self.put(mode, name)?;
            if self.next()? != b':' {
                return Err(CopyError::NotJson);
            }
            self.step(mode, b":")?;
            if is_secret(name, self.also) {
                self.put(mode, REDACTED)?;
                self.value(CopyMode::Skip, depth_left)?;
            } else {
                self.value(mode, depth_left)?;
            }
            match self.next()? {
                b',' => self.step(mode, b",")?,
                b'}' => return self.step(mode, b"}"),
                _ => return Err(CopyError::NotJson),
            }
        }
    }

    fn array(&mut self, mode: CopyMode, depth_left: u32) -> Result<(), CopyError> {
        let depth_left = depth_left.checked_sub(1).ok_or(CopyError::NotJson)?;
        self.step(mode, b"[")?;
        if self.next()? == b']' {
            return self.step(mode, b"]");
        }
        loop {
            self.value(mode, depth_left)?;
            match self.next()? {
                b',' => self.step(mode, b",")?,
                b']' => return self.step(mode, b"]"),
                _ => return Err(CopyError::NotJson),
            }
        }
    }

    /// Reads a string and returns it with its quotes.
    fn string(&mut self) -> Result<&'a [u8], CopyError> {
        let json = self.json;
        let start = self.at;
        let mut at = start + 1;
        let mut is_ascii = true;
        loop {
            at = plain_until(json, at);
            match json.get(at).ok_or(CopyError::NotJson)? {
                b'"' => break,
                b'\\' => at = after_escape(json, at)?,
                byte if byte.is_ascii() => return Err(CopyError::NotJson),
                _ => {
                    is_ascii = false;
                    while json.get(at).is_some_and(|byte| !byte.is_ascii()) {
                        at += 1;
                    }
                }
            }
        }
        self.at = at + 1;
        let piece = &json[start..self.at];
        if !is_ascii && std::str::from_utf8(piece).is_err() {
            return Err(CopyError::NotJson);
        }
        Ok(piece)
    }

    /// Reads a number (RFC 8259 §6).
    fn number(&mut self) -> Result<&'a [u8], CopyError> {
        let start = self.at;
        if self.peek() == Some(b'-') {
            self.at += 1;
        }
        match self.peek() {
            Some(b'0') => self.at += 1,
            _ => self.digits()?,
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        let has_exponent = matches!(self.peek(), Some(b'e' | b'E'));
        if has_exponent {
            self.at += 1;
            if matches!(self.peek(), Some(b'+' | b'-')) {
                self.at += 1;
            }
            self.digits()?;
        }
        let piece = &self.json[start..self.at];
        if has_exponent || piece.len() > FINITE_BYTES_MAX {
            let number: Option<f64> = std::str::from_utf8(piece).ok().and_then(|text| text.parse().ok());
            if !number.is_some_and(f64::is_finite) {
                return Err(CopyError::NotJson);
            }
        }
        Ok(piece)
    }

    /// Reads one or more digits.
    fn digits(&mut self) -> Result<(), CopyError> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(CopyError::NotJson) }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<&'a [u8], CopyError> {
        let piece =
            self.json.get(self.at..self.at + word.len()).filter(|piece| *piece == word).ok_or(CopyError::NotJson)?;
        self.at += word.len();
        Ok(piece)
    }

    fn peek(&self) -> Option<u8> {
        self.json.get(self.at).copied()
    }

    fn skip_space(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.at += 1;
        }
        self.peek()
    }

    /// Returns the next byte that is not white space and stays before it.
    fn next(&mut self) -> Result<u8, CopyError> {
        self.skip_space().ok_or(CopyError::NotJson)
    }

    /// Reads one byte and copies `piece`.
    fn step(&mut self, mode: CopyMode, piece: &[u8]) -> Result<(), CopyError> {
        self.at += 1;
        self.put(mode, piece)
    }

    fn put(&mut self, mode: CopyMode, piece: &[u8]) -> Result<(), CopyError> {
        if mode == CopyMode::Skip {
            return Ok(());
        }
        if self.copy.len() + piece.len() > self.bytes_max {
            return Err(CopyError::TooLarge);
        }
        self.copy.extend_from_slice(piece);
        Ok(())
    }
}

/// Returns whether a name, given with its quotes, is a secret field or one of `also`.
fn is_secret(name: &[u8], also: &[&str]) -> bool {
    let inner = &name[1..name.len() - 1];
    if inner.len() > SECRET_FIELD_BYTES_MAX * ESCAPE_BYTES {
        return false;
    }
    let is_match = |name: &str| is_secret_field(name) || also.iter().any(|field| field.eq_ignore_ascii_case(name));
    if inner.contains(&b'\\') {
        return serde_json::from_slice::<String>(name).is_ok_and(|name| is_match(&name));
    }
    std::str::from_utf8(inner).is_ok_and(is_match)
}

/// Returns the index of the next quote, backslash, control character or byte outside ASCII.
fn plain_until(json: &[u8], at: usize) -> usize {
    let rest = json.get(at..).unwrap_or_default();
    let (chunks, _) = rest.as_chunks::<SCAN_STEP_BYTES>();
    // Without a branch inside, so that the compiler compares a whole chunk at once.
    let is_plain = |chunk: &&[u8; SCAN_STEP_BYTES]| !chunk.iter().fold(false, |found, byte| found | ends_plain(*byte));
    let skipped = chunks.iter().take_while(is_plain).count() * SCAN_STEP_BYTES;
    let rest = &rest[skipped..];
    at + skipped + rest.iter().position(|byte| ends_plain(*byte)).unwrap_or(rest.len())
}

fn ends_plain(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\') | (byte >= 0x80)
}

/// Returns the index after the escape at `at` (RFC 8259 §7).
fn after_escape(json: &[u8], at: usize) -> Result<usize, CopyError> {
    match json.get(at + 1).ok_or(CopyError::NotJson)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => match code_unit(json, at)? {
            // A high surrogate requires a low one after it.
            0xd800..=0xdbff => match code_unit(json, at + ESCAPE_BYTES)? {
                0xdc00..=0xdfff => Ok(at + 2 * ESCAPE_BYTES),
                _ => Err(CopyError::NotJson),
            },
            0xdc00..=0xdfff => Err(CopyError::NotJson),
            _ => Ok(at + ESCAPE_BYTES),
        },
        _ => Err(CopyError::NotJson),
    }
}

/// Decodes `\uXXXX`.
fn code_unit(json: &[u8], at: usize) -> Result<u32, CopyError> {
    let escape = json.get(at..at + ESCAPE_BYTES).ok_or(CopyError::NotJson)?;
    let Some(digits) = escape.strip_prefix(b"\\u") else { return Err(CopyError::NotJson) };
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(CopyError::NotJson)?;
        Ok((unit << 4) | digit)
    })
}

#[cfg(test)]
mod tests;

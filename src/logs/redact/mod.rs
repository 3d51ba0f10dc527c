//! The copy of a body that may be kept: JSON without what is secret, and no larger than its bound.
//!
//! It runs for every request, and a body may be as large as an email with its attachments. So the
//! bytes are gone through once, no tree is made of them, and what is not shown is stepped over: the
//! copy is made of pieces of the original. A copy that passes its bound ends the walk there and then.
//!
//! Everything is held to the grammar of RFC 8259, shown or not, and to the bounds of the reader that
//! requests meet (nesting, finite numbers, whole surrogate pairs): a copy reads back everywhere.

/// The fields whose values are never kept, at any depth.
const SECRET_FIELDS: &[&str] = &["html", "text", "content", "attachments", "token", "signing_secret"];
/// The longest of them, and of those that a route adds.
const SECRET_FIELD_BYTES_MAX: usize = 14;
/// Bytes of the longest escape: `\u0041`.
const ESCAPE_BYTES: usize = 6;
/// What stands in place of a value that is not kept.
const REDACTED: &[u8] = b"\"[redacted]\"";
/// Objects and arrays inside one another, as many as requests may have.
const DEPTH_MAX: u32 = 127;
/// Digits up to which a number without an exponent is finite, with room to spare.
const FINITE_BYTES_MAX: usize = 300;
/// Bytes of a string that are looked at in one step.
const SCAN_STEP_BYTES: usize = 32;

/// What is kept of a body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BodyCopy {
    /// The JSON, without what is secret and without white space.
    Json(String),
    /// More than the bound: how large the body was.
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// It is no JSON, and nothing of it is kept.
    NotJson,
}

impl BodyCopy {
    /// Returns the JSON that is stored; a marker when the body was too large.
    pub fn into_json(self) -> Option<String> {
        match self {
            Self::Json(json) => Some(json),
            Self::TooLarge { bytes } => Some(format!("{{\"truncated\":true,\"bytes\":{bytes}}}")),
            Self::NotJson => None,
        }
    }
}

/// Copies a JSON text, up to `bytes_max` bytes of it, with `"[redacted]"` in place of every value
/// under a secret name. Names are compared as they read, whatever their escapes and letter case.
pub fn redact(json: &[u8], bytes_max: usize) -> BodyCopy {
    redact_also(json, bytes_max, &[])
}

/// As [`redact`], with further names that are secret in this text.
pub(super) fn redact_also(json: &[u8], bytes_max: usize, also: &'static [&'static str]) -> BodyCopy {
    let mut walk = Walk { json, at: 0, copy: Vec::new(), bytes_max, also };
    match walk.whole() {
        Ok(()) => String::from_utf8(walk.copy).map_or(BodyCopy::NotJson, BodyCopy::Json),
        Err(End::TooLarge) => BodyCopy::TooLarge { bytes: json.len() },
        Err(End::NotJson) => BodyCopy::NotJson,
    }
}

/// Returns whether values under a name are never kept.
pub(crate) fn is_secret_field(name: &str) -> bool {
    SECRET_FIELDS.iter().any(|field| field.eq_ignore_ascii_case(name))
}

/// Why a walk ends early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    NotJson,
    TooLarge,
}

/// Whether what is walked over is copied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    Yes,
    No,
}

struct Walk<'a> {
    json: &'a [u8],
    at: usize,
    copy: Vec<u8>,
    bytes_max: usize,
    /// Names that are secret beside [`SECRET_FIELDS`].
    also: &'static [&'static str],
}

impl<'a> Walk<'a> {
    fn whole(&mut self) -> Result<(), End> {
        self.value(Shown::Yes, DEPTH_MAX)?;
        match self.skip_space() {
            None => Ok(()),
            Some(_) => Err(End::NotJson),
        }
    }

    fn value(&mut self, shown: Shown, depth_left: u32) -> Result<(), End> {
        let piece = match self.next()? {
            b'{' => return self.object(shown, depth_left),
            b'[' => return self.array(shown, depth_left),
            b'"' => self.string()?,
            b't' => self.word(b"true")?,
            b'f' => self.word(b"false")?,
            b'n' => self.word(b"null")?,
            _ => self.number()?,
        };
        self.put(shown, piece)
    }

    fn object(&mut self, shown: Shown, depth_left: u32) -> Result<(), End> {
        let depth_left = depth_left.checked_sub(1).ok_or(End::NotJson)?;
        self.step(shown, b"{")?;
        if self.next()? == b'}' {
            return self.step(shown, b"}");
        }
        loop {
            if self.next()? != b'"' {
                return Err(End::NotJson);
            }
            let name = self.string()?;
            self.put(shown, name)?;
            if self.next()? != b':' {
                return Err(End::NotJson);
            }
            self.step(shown, b":")?;
            if is_secret(name, self.also) {
                self.put(shown, REDACTED)?;
                self.value(Shown::No, depth_left)?;
            } else {
                self.value(shown, depth_left)?;
            }
            match self.next()? {
                b',' => self.step(shown, b",")?,
                b'}' => return self.step(shown, b"}"),
                _ => return Err(End::NotJson),
            }
        }
    }

    fn array(&mut self, shown: Shown, depth_left: u32) -> Result<(), End> {
        let depth_left = depth_left.checked_sub(1).ok_or(End::NotJson)?;
        self.step(shown, b"[")?;
        if self.next()? == b']' {
            return self.step(shown, b"]");
        }
        loop {
            self.value(shown, depth_left)?;
            match self.next()? {
                b',' => self.step(shown, b",")?,
                b']' => return self.step(shown, b"]"),
                _ => return Err(End::NotJson),
            }
        }
    }

    /// Steps over a string and returns it with its quotes.
    fn string(&mut self) -> Result<&'a [u8], End> {
        let json = self.json;
        let start = self.at;
        let mut at = start + 1;
        let mut is_ascii = true;
        loop {
            at = plain_until(json, at);
            match json.get(at).ok_or(End::NotJson)? {
                b'"' => break,
                b'\\' => at = after_escape(json, at)?,
                byte if byte.is_ascii() => return Err(End::NotJson),
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
            return Err(End::NotJson);
        }
        Ok(piece)
    }

    /// Steps over a number (RFC 8259 §6).
    fn number(&mut self) -> Result<&'a [u8], End> {
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
                return Err(End::NotJson);
            }
        }
        Ok(piece)
    }

    /// Steps over one digit at least.
    fn digits(&mut self) -> Result<(), End> {
        let start = self.at;
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        if self.at > start { Ok(()) } else { Err(End::NotJson) }
    }

    fn word(&mut self, word: &'static [u8]) -> Result<&'a [u8], End> {
        let piece = self.json.get(self.at..self.at + word.len()).filter(|piece| *piece == word).ok_or(End::NotJson)?;
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

    /// Returns the next byte that is no white space, without stepping over it.
    fn next(&mut self) -> Result<u8, End> {
        self.skip_space().ok_or(End::NotJson)
    }

    /// Steps over one byte and copies it.
    fn step(&mut self, shown: Shown, piece: &[u8]) -> Result<(), End> {
        self.at += 1;
        self.put(shown, piece)
    }

    fn put(&mut self, shown: Shown, piece: &[u8]) -> Result<(), End> {
        if shown == Shown::No {
            return Ok(());
        }
        if self.copy.len() + piece.len() > self.bytes_max {
            return Err(End::TooLarge);
        }
        self.copy.extend_from_slice(piece);
        Ok(())
    }
}

/// Returns whether a name, with its quotes, is that of a secret field, or one of `also`.
fn is_secret(name: &[u8], also: &[&str]) -> bool {
    let inner = &name[1..name.len() - 1];
    if inner.len() > SECRET_FIELD_BYTES_MAX * ESCAPE_BYTES {
        return false;
    }
    let is_meant = |read: &str| is_secret_field(read) || also.iter().any(|field| field.eq_ignore_ascii_case(read));
    if inner.contains(&b'\\') {
        return serde_json::from_slice::<String>(name).is_ok_and(|read| is_meant(&read));
    }
    std::str::from_utf8(inner).is_ok_and(is_meant)
}

/// Returns where the next byte is that cannot stand in a string as it is, or ends it, or is not ASCII.
fn plain_until(json: &[u8], at: usize) -> usize {
    let rest = json.get(at..).unwrap_or_default();
    let (strides, _) = rest.as_chunks::<SCAN_STEP_BYTES>();
    // Without a branch inside, so that the compiler looks at a stride at once.
    let is_plain =
        |stride: &&[u8; SCAN_STEP_BYTES]| !stride.iter().fold(false, |found, byte| found | ends_plain(*byte));
    let skipped = strides.iter().take_while(is_plain).count() * SCAN_STEP_BYTES;
    let rest = &rest[skipped..];
    at + skipped + rest.iter().position(|byte| ends_plain(*byte)).unwrap_or(rest.len())
}

fn ends_plain(byte: u8) -> bool {
    (byte < b' ') | (byte == b'"') | (byte == b'\\') | (byte >= 0x80)
}

/// Steps over the escape that begins at `at` (RFC 8259 §7).
fn after_escape(json: &[u8], at: usize) -> Result<usize, End> {
    match json.get(at + 1).ok_or(End::NotJson)? {
        b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => Ok(at + 2),
        b'u' => match code_unit(json, at)? {
            // A high surrogate is nothing without the low one behind it.
            0xd800..=0xdbff => match code_unit(json, at + ESCAPE_BYTES)? {
                0xdc00..=0xdfff => Ok(at + 2 * ESCAPE_BYTES),
                _ => Err(End::NotJson),
            },
            0xdc00..=0xdfff => Err(End::NotJson),
            _ => Ok(at + ESCAPE_BYTES),
        },
        _ => Err(End::NotJson),
    }
}

/// Reads `\uXXXX`.
fn code_unit(json: &[u8], at: usize) -> Result<u32, End> {
    let escape = json.get(at..at + ESCAPE_BYTES).ok_or(End::NotJson)?;
    let Some(digits) = escape.strip_prefix(b"\\u") else { return Err(End::NotJson) };
    digits.iter().try_fold(0, |unit, digit| {
        let digit = char::from(*digit).to_digit(16).ok_or(End::NotJson)?;
        Ok((unit << 4) | digit)
    })
}

#[cfg(test)]
mod tests;

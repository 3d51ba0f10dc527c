//! One-time codes of an authenticator app: TOTP (RFC 6238) with SHA-1, six digits and steps of 30 seconds, which every
//! app supports. Pure.

use aws_lc_rs::hmac;
use subtle::ConstantTimeEq as _;

use super::base32;
use crate::base::clock::TimestampMs;

/// Length of a secret in bytes (RFC 4226 §4).
pub(super) const SECRET_BYTES: usize = 20;
const DIGITS: u32 = 6;
const STEP_MS: i64 = 30_000;
/// Steps before and after the current one whose codes are accepted, for clocks that differ.
const SKEW_STEPS: u64 = 1;

/// Secret that an authenticator app shares with the server. `Debug` prints a placeholder.
#[derive(Clone, PartialEq, Eq)]
pub struct TotpSecret([u8; SECRET_BYTES]);

impl TotpSecret {
    /// Wraps the bytes of a secret; `None` if there are not [`SECRET_BYTES`].
    pub(super) fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    pub(super) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    /// Returns the secret in groups of four characters, for a user who types it.
    pub fn spelled(&self) -> String {
        let text = base32::encode(&self.0);
        let groups: Vec<&str> = (0..text.len()).step_by(4).map(|at| &text[at..(at + 4).min(text.len())]).collect();
        groups.join(" ")
    }

    /// Returns the URL that authenticator apps read from a QR code. `issuer` and `account` are shown in the app.
    pub fn url(&self, issuer: &str, account: &str) -> String {
        let (issuer, account) = (escaped(issuer), escaped(account));
        let secret = base32::encode(&self.0);
        format!("otpauth://totp/{issuer}:{account}?secret={secret}&issuer={issuer}")
    }

    /// Returns the step whose code is `code`; `None` if the code is wrong. A code at or before the step `used` is
    /// refused, because each code is valid once (RFC 6238 §5.2).
    pub(super) fn matching_step(&self, code: &str, now_ms: TimestampMs, used: Option<u64>) -> Option<u64> {
        let digits: String = code.chars().filter(|character| !character.is_whitespace()).collect();
        if digits.len() != DIGITS as usize || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let now = step_of(now_ms);
        let mut found = None;
        for step in now.saturating_sub(SKEW_STEPS)..=now + SKEW_STEPS {
            let is_match: bool = format_code(hotp(&self.0, step), DIGITS).as_bytes().ct_eq(digits.as_bytes()).into();
            if is_match && used.is_none_or(|used| step > used) {
                found = Some(step);
            }
        }
        found
    }

    /// Returns the code of a time.
    #[cfg(test)]
    pub(super) fn code_at(&self, now_ms: TimestampMs) -> String {
        format_code(hotp(&self.0, step_of(now_ms)), DIGITS)
    }
}

impl std::fmt::Debug for TotpSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TotpSecret(hidden)")
    }
}

fn step_of(now_ms: TimestampMs) -> u64 {
    u64::try_from(now_ms.div_euclid(STEP_MS)).unwrap_or(0)
}

/// Returns the truncated HMAC of a counter (RFC 4226 §5.3).
fn hotp(secret: &[u8], counter: u64) -> u32 {
    let key = hmac::Key::new(hmac::HMAC_SHA1_FOR_LEGACY_USE_ONLY, secret);
    let tag = hmac::sign(&key, &counter.to_be_bytes());
    let tag = tag.as_ref();
    let offset = usize::from(tag[tag.len() - 1] & 0x0f);
    let mut bytes = [0; 4];
    bytes.copy_from_slice(&tag[offset..offset + 4]);
    u32::from_be_bytes(bytes) & 0x7fff_ffff
}

fn format_code(value: u32, digits: u32) -> String {
    format!("{:0width$}", value % 10_u32.pow(digits), width = digits as usize)
}

/// Escapes a text for the path or the query of a URL.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~') {
            escaped.push(char::from(byte));
        } else {
            escaped.push_str(&format!("%{byte:02X}"));
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secret() -> TotpSecret {
        TotpSecret::from_bytes(b"12345678901234567890").unwrap()
    }

    // RFC 6238, appendix B, the rows of SHA-1.
    #[test]
    fn the_vectors_of_rfc_6238_have_their_codes() {
        for (seconds, code) in [
            (59_i64, "94287082"),
            (1_111_111_109, "07081804"),
            (1_111_111_111, "14050471"),
            (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"),
            (20_000_000_000, "65353130"),
        ] {
            assert_eq!(format_code(hotp(&secret().0, step_of(seconds * 1_000)), 8), code, "{seconds}");
            assert_eq!(secret().code_at(seconds * 1_000), code[2..], "{seconds}");
        }
    }

    // RFC 4226, appendix D.
    #[test]
    fn the_vectors_of_rfc_4226_have_their_codes() {
        for (counter, code) in (0..).zip(["755224", "287082", "359152", "969429", "338314", "254676"]) {
            assert_eq!(format_code(hotp(&secret().0, counter), 6), code, "{counter}");
        }
    }

    #[test]
    fn a_code_is_valid_for_its_step_and_its_neighbours_and_only_once() {
        let (secret, now_ms) = (secret(), 1_767_604_353_456);
        let code = secret.code_at(now_ms);
        let step = step_of(now_ms);

        assert_eq!(secret.matching_step(&code, now_ms, None), Some(step));
        assert_eq!(secret.matching_step(&code, now_ms + STEP_MS, None), Some(step));
        assert_eq!(secret.matching_step(&code, now_ms - STEP_MS, None), Some(step));
        assert_eq!(secret.matching_step(&code, now_ms + 2 * STEP_MS, None), None);
        assert_eq!(secret.matching_step(&code, now_ms, Some(step)), None);
        assert_eq!(secret.matching_step(&code, now_ms, Some(step - 1)), Some(step));
        let spaced = format!(" {} {}", &code[..3], &code[3..]);
        assert_eq!(secret.matching_step(&spaced, now_ms, None), Some(step));
    }

    #[test]
    fn other_texts_are_no_codes() {
        let now_ms = 1_767_604_353_456;
        let code = secret().code_at(now_ms);
        for text in ["", "12345", &format!("{code}0"), &code[1..], "١٢٣٤٥٦", "12345a"] {
            assert_eq!(secret().matching_step(text, now_ms, None), None, "{text}");
        }
    }

    #[test]
    fn the_secret_has_the_forms_that_apps_read() {
        assert_eq!(secret().spelled(), "GEZD GNBV GY3T QOJQ GEZD GNBV GY3T QOJQ");
        assert_eq!(
            secret().url("mail.example.com", "ada+x@example.com"),
            "otpauth://totp/mail.example.com:ada%2Bx%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ\
             &issuer=mail.example.com"
        );
        assert_eq!(TotpSecret::from_bytes(b"short"), None);
    }
}

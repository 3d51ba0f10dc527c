//! Signatures of the Standard Webhooks scheme, for webhooks that this server sends and for reports that it receives.
//!
//! The signed content is `{id}.{timestamp}.{raw body}` and the MAC is HMAC-SHA256 (RFC 2104). The signature
//! header contains one or more `v1,<base64>` separated by spaces, so that two secrets can be valid during a
//! rotation. <https://github.com/standard-webhooks/standard-webhooks>

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::base::clock::TimestampMs;
use crate::base::random;

const PREFIX: &str = "whsec_";
/// Accepted key lengths: from 192 bits to the block size of SHA-256.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
const GENERATED_BYTES: usize = 24;
/// The only version of the scheme with a shared secret.
const VERSION: &str = "v1";

/// Largest accepted difference between the timestamp and the local clock, in either direction, in seconds.
pub const TOLERANCE_S: i64 = 300;

/// Number of signatures of one request that are checked. A sender writes one for each valid secret.
const CANDIDATES_MAX: usize = 16;

/// A shared secret: `whsec_` and the base64 of 24 to 64 bytes. Equality takes constant time, and `Debug` does
/// not print the secret.
#[derive(Clone)]
pub struct WebhookSecret {
    text: String,
    mac: Hmac<Sha256>,
}

impl WebhookSecret {
    /// Parses a secret; `None` unless it is `whsec_` and the canonical base64 of 24 to 64 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(PREFIX)?;
        let key = STANDARD.decode(encoded).ok()?;
        // With a second spelling of the same key, two equal secrets would look different.
        let canonical = STANDARD.encode(&key) == encoded;
        (canonical && SECRET_BYTES.contains(&key.len())).then(|| Self::from_key(&key, text.to_owned()))
    }

    /// Generates a random secret of 192 bits.
    pub fn generate() -> Self {
        let key = random::bytes::<GENERATED_BYTES>();
        Self::from_key(&key, format!("{PREFIX}{}", STANDARD.encode(key)))
    }

    /// Returns the secret as text, for the response that shows it to the customer and for sealed storage.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    fn from_key(key: &[u8], text: String) -> Self {
        Self { text, mac: Hmac::new_from_slice(key).expect("HMAC accepts keys of any length") }
    }

    fn mac(&self, id: &str, timestamp: &str, body: &[u8]) -> [u8; 32] {
        let mut mac = self.mac.clone();
        for part in [id.as_bytes(), b".", timestamp.as_bytes(), b".", body] {
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }
}

impl fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("WebhookSecret(…)")
    }
}

impl PartialEq for WebhookSecret {
    fn eq(&self, other: &Self) -> bool {
        self.text.as_bytes().ct_eq(other.text.as_bytes()).into()
    }
}

impl Eq for WebhookSecret {}

/// Returns the signature of a message: `v1,<base64>`. `timestamp_s` is the value of the `webhook-timestamp`
/// header, in seconds since the Unix epoch.
pub fn sign(secret: &WebhookSecret, id: &str, timestamp_s: i64, body: &[u8]) -> String {
    format!("{VERSION},{}", STANDARD.encode(secret.mac(id, &timestamp_s.to_string(), body)))
}

/// The signature headers of a received message, not verified yet.
#[derive(Clone, Copy, Debug)]
pub struct SignatureHeaders<'a> {
    /// `webhook-id`.
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since the Unix epoch.
    pub timestamp: &'a str,
    /// `webhook-signature`: candidates separated by spaces.
    pub signatures: &'a str,
}

/// Reason why the verification of a message failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureError {
    /// The timestamp is not a whole number of seconds.
    Timestamp,
    /// The timestamp differs from the local clock by more than [`TOLERANCE_S`].
    Stale,
    /// No signature matches the secret.
    Signature,
}

/// Checks that a message is signed with the secret and that its timestamp is within [`TOLERANCE_S`].
///
/// # Errors
/// Returns the first check that fails, the timestamp first.
pub fn verify(
    secret: &WebhookSecret,
    headers: SignatureHeaders<'_>,
    body: &[u8],
    now_ms: TimestampMs,
) -> Result<(), SignatureError> {
    verify_time(headers.timestamp, now_ms)?;
    let expected = secret.mac(headers.id, headers.timestamp, body);
    let valid = headers.signatures.split(' ').take(CANDIDATES_MAX).any(|candidate| matches_mac(candidate, &expected));
    if valid { Ok(()) } else { Err(SignatureError::Signature) }
}

/// Checks the timestamp of a message, which needs no body.
///
/// # Errors
/// Returns [`SignatureError::Timestamp`] or [`SignatureError::Stale`].
pub fn verify_time(timestamp: &str, now_ms: TimestampMs) -> Result<(), SignatureError> {
    // Only the canonical number is accepted. The MAC covers the text of the header, and no sender writes "+1" or
    // "01".
    let timestamp_s: i64 = timestamp.parse().map_err(|_| SignatureError::Timestamp)?;
    if timestamp_s.to_string() != timestamp {
        return Err(SignatureError::Timestamp);
    }
    if timestamp_s.abs_diff(now_ms.div_euclid(1_000)) > TOLERANCE_S.unsigned_abs() {
        return Err(SignatureError::Stale);
    }
    Ok(())
}

/// Compares one candidate with the expected MAC in constant time.
fn matches_mac(candidate: &str, expected: &[u8; 32]) -> bool {
    let Some((VERSION, encoded)) = candidate.split_once(',') else { return false };
    STANDARD.decode(encoded).is_ok_and(|signature| signature.ct_eq(expected).into())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
    const ID: &str = "msg_p5jXN8AQM9LWM0D4loKWxJek";
    const TIMESTAMP_S: i64 = 1_614_265_330;
    const BODY: &[u8] = b"{\"test\": 2432232314}";
    const SIGNATURE: &str = "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=";

    fn headers(signatures: &str) -> SignatureHeaders<'_> {
        SignatureHeaders { id: ID, timestamp: "1614265330", signatures }
    }

    fn verified(headers: SignatureHeaders<'_>, body: &[u8], now_s: i64) -> Result<(), SignatureError> {
        verify(&WebhookSecret::parse(SECRET).unwrap(), headers, body, now_s * 1_000)
    }

    #[test]
    fn signatures_match_the_published_test_vectors() {
        for (secret, id, timestamp_s, body, signature) in [
            (SECRET, ID, TIMESTAMP_S, BODY, SIGNATURE),
            (
                "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
                "msg_27UH4WbU6Z5A5EzD8u03UvzRbpk",
                1_649_367_553,
                br#"{"email":"test@example.com","username":"test_user"}"#.as_slice(),
                "v1,tZ1I4/hDygAJgO5TYxiSd6Sd0kDW6hPenDe+bTa3Kkw=",
            ),
        ] {
            assert_eq!(sign(&WebhookSecret::parse(secret).unwrap(), id, timestamp_s, body), signature);
        }
    }

    #[test]
    fn one_valid_signature_of_several_is_sufficient() {
        for signatures in [
            SIGNATURE.to_owned(),
            format!("v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,abc {SIGNATURE}"),
            format!("{SIGNATURE} v1,"),
            format!(
                "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== {SIGNATURE}"
            ),
        ] {
            assert_eq!(verified(headers(&signatures), BODY, TIMESTAMP_S), Ok(()), "{signatures}");
        }
    }

    #[test]
    fn a_message_without_a_valid_signature_is_refused() {
        let bare = SIGNATURE.strip_prefix("v1,").unwrap();
        for signatures in [
            "",
            " ",
            "v1,",
            bare,
            &format!("v2,{bare}"),
            &format!("v1{bare}"),
            &format!("V1,{bare}"),
            &SIGNATURE.replace('g', "h"),
            &SIGNATURE.replace('=', ""),
            &format!("{}{SIGNATURE}", "v1,AA== ".repeat(CANDIDATES_MAX)),
        ] {
            assert_eq!(
                verified(headers(signatures), BODY, TIMESTAMP_S),
                Err(SignatureError::Signature),
                "{signatures}"
            );
        }
        assert_eq!(
            verified(headers(SIGNATURE), b"{\"test\": 2432232315}", TIMESTAMP_S),
            Err(SignatureError::Signature)
        );
        let other = SignatureHeaders { id: "msg_other", ..headers(SIGNATURE) };
        assert_eq!(verified(other, BODY, TIMESTAMP_S), Err(SignatureError::Signature));
        let later = SignatureHeaders { timestamp: "1614265331", ..headers(SIGNATURE) };
        assert_eq!(verified(later, BODY, TIMESTAMP_S), Err(SignatureError::Signature));
    }

    #[test]
    fn a_clock_difference_of_five_minutes_is_accepted() {
        for (difference_s, expected) in [
            (300, Ok(())),
            (-300, Ok(())),
            (301, Err(SignatureError::Stale)),
            (-301, Err(SignatureError::Stale)),
            (i64::from(i32::MAX), Err(SignatureError::Stale)),
        ] {
            assert_eq!(verified(headers(SIGNATURE), BODY, TIMESTAMP_S + difference_s), expected, "{difference_s}");
        }
    }

    #[test]
    fn a_timestamp_is_a_canonical_number_of_seconds() {
        for timestamp in
            ["", "now", "1614265330.5", "+1614265330", "01614265330", " 1614265330", "1e9", "99999999999999999999"]
        {
            let headers = SignatureHeaders { timestamp, ..headers(SIGNATURE) };
            assert_eq!(verified(headers, BODY, TIMESTAMP_S), Err(SignatureError::Timestamp), "{timestamp:?}");
        }
        for timestamp in ["-9223372036854775808", "9223372036854775807", "-1"] {
            let headers = SignatureHeaders { timestamp, ..headers(SIGNATURE) };
            assert_eq!(verified(headers, BODY, TIMESTAMP_S), Err(SignatureError::Stale), "{timestamp:?}");
        }
    }

    #[test]
    fn a_secret_is_the_canonical_base64_of_24_to_64_bytes() {
        for bytes in [24, 25, 26, 32, 64] {
            let text = format!("{PREFIX}{}", STANDARD.encode(vec![7; bytes]));
            assert_eq!(WebhookSecret::parse(&text).unwrap().reveal(), text);
        }
        for text in [
            String::new(),
            PREFIX.to_owned(),
            SECRET.replace(PREFIX, ""),
            SECRET.to_uppercase(),
            format!(" {SECRET}"),
            format!("{SECRET}\n"),
            format!("{SECRET}="),
            format!("{PREFIX}{}", STANDARD.encode([7; 23])),
            format!("{PREFIX}{}", STANDARD.encode([7; 65])),
            // 25 bytes without padding, in the URL-safe alphabet, and with non-zero trailing bits.
            format!("{PREFIX}{}", STANDARD.encode([7; 25]).replace('=', "")),
            format!("{PREFIX}{}", STANDARD.encode([0xff; 25]).replace('/', "_")),
            format!("{PREFIX}{}", STANDARD.encode([0; 25]).replace("A==", "B==")),
        ] {
            assert!(WebhookSecret::parse(&text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_generated_secret_parses_and_debug_does_not_print_it() {
        let (one, other) = (WebhookSecret::generate(), WebhookSecret::generate());

        assert_eq!(WebhookSecret::parse(one.reveal()).unwrap(), one);
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "WebhookSecret(…)");
    }

    proptest! {
        #[test]
        fn a_signed_message_is_valid_until_it_changes(id in "[!-~]{1,40}", at_s in 0_i64..4_000_000_000, body: Vec<u8>) {
            let secret = WebhookSecret::generate();
            let signature = sign(&secret, &id, at_s, &body);
            let headers = SignatureHeaders { id: &id, timestamp: &at_s.to_string(), signatures: &signature };
            let mut changed = body.clone();
            changed.push(0);

            prop_assert_eq!(verify(&secret, headers, &body, at_s * 1_000), Ok(()));
            prop_assert_eq!(verify(&secret, headers, &changed, at_s * 1_000), Err(SignatureError::Signature));
            let other = WebhookSecret::generate();
            prop_assert_eq!(verify(&other, headers, &body, at_s * 1_000), Err(SignatureError::Signature));
        }

        #[test]
        fn verifying_never_panics(id: String, timestamp: String, signatures: String) {
            let headers = SignatureHeaders { id: &id, timestamp: &timestamp, signatures: &signatures };
            prop_assert!(verify(&WebhookSecret::generate(), headers, b"", 0).is_err());
        }
    }
}

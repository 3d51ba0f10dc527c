//! The Standard Webhooks scheme, for what this server sends and for what is sent to it.
//!
//! The signed content is `{id}.{timestamp}.{raw body}`, the MAC is HMAC-SHA256 (RFC 2104), and the
//! signature header holds one or more `v1,<base64>` separated by spaces, so that a secret can be
//! replaced without a gap. <https://github.com/standard-webhooks/standard-webhooks>

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use subtle::ConstantTimeEq as _;

use crate::base::clock::TimestampMs;
use crate::base::random;

const PREFIX: &str = "whsec_";
/// A secret is at least as hard to guess as 192 bits, and no longer than the block of the hash.
const SECRET_BYTES: std::ops::RangeInclusive<usize> = 24..=64;
const GENERATED_BYTES: usize = 24;
/// The only version there is with a shared secret.
const VERSION: &str = "v1";

/// How far the sender's clock and ours may be apart, either way.
pub const TOLERANCE_S: i64 = 300;

/// How many signatures of one request are looked at. A sender writes one per secret in force.
const CANDIDATES_MAX: usize = 16;

/// A secret both sides hold: `whsec_` and the base64 of 24 to 64 bytes, kept as it was written.
#[derive(Clone)]
pub struct WebhookSecret {
    text: String,
    mac: Hmac<Sha256>,
}

impl WebhookSecret {
    /// Reads a secret; `None` unless it is `whsec_` and the one base64 form of 24 to 64 bytes.
    pub fn parse(text: &str) -> Option<Self> {
        let encoded = text.strip_prefix(PREFIX)?;
        let key = STANDARD.decode(encoded).ok()?;
        // A second spelling of one key would make two secrets that look different and are not.
        let canonical = STANDARD.encode(&key) == encoded;
        (canonical && SECRET_BYTES.contains(&key.len())).then(|| Self::from_key(&key, text.to_owned()))
    }

    /// Returns a secret nobody can guess.
    pub fn generate() -> Self {
        let key = random::bytes::<GENERATED_BYTES>();
        Self::from_key(&key, format!("{PREFIX}{}", STANDARD.encode(key)))
    }

    /// Returns the secret's text, for the one who is to hold it too.
    pub fn reveal(&self) -> &str {
        &self.text
    }

    fn from_key(key: &[u8], text: String) -> Self {
        Self { text, mac: Hmac::new_from_slice(key).expect("HMAC takes a key of any length") }
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

/// Returns the signature of a message, `v1,<base64>`. `timestamp_s` is when it is sent, in seconds
/// since the Unix epoch, as the header beside it says.
pub fn sign(secret: &WebhookSecret, id: &str, timestamp_s: i64, body: &[u8]) -> String {
    format!("{VERSION},{}", STANDARD.encode(secret.mac(id, &timestamp_s.to_string(), body)))
}

/// What a message says about itself in its headers, as it came.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// `webhook-id`
    pub id: &'a str,
    /// `webhook-timestamp`: seconds since the Unix epoch.
    pub timestamp: &'a str,
    /// `webhook-signature`: candidates separated by spaces.
    pub signatures: &'a str,
}

/// Why a message is not believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unverified {
    /// The timestamp is no number of seconds.
    Timestamp,
    /// The timestamp is further than [`TOLERANCE_S`] from our clock.
    Stale,
    /// No signature was made with the secret.
    Signature,
}

/// Checks that a message was signed with the secret, and lately.
///
/// # Errors
/// Says why the message is not believed.
pub fn verify(secret: &WebhookSecret, claim: Claim<'_>, body: &[u8], now_ms: TimestampMs) -> Result<(), Unverified> {
    verify_time(claim.timestamp, now_ms)?;
    let expected = secret.mac(claim.id, claim.timestamp, body);
    let believed = claim.signatures.split(' ').take(CANDIDATES_MAX).any(|candidate| made_of(candidate, &expected));
    if believed { Ok(()) } else { Err(Unverified::Signature) }
}

/// Checks that a message says of itself that it was sent lately: what can be known before its body is
/// read.
///
/// # Errors
/// [`Unverified::Timestamp`] and [`Unverified::Stale`].
pub fn verify_time(timestamp: &str, now_ms: TimestampMs) -> Result<(), Unverified> {
    // Digits alone: what is signed is the header's text, and "+1" and "01" are other texts of one
    // number that no sender writes.
    let written: i64 = timestamp.parse().map_err(|_| Unverified::Timestamp)?;
    if written.to_string() != timestamp {
        return Err(Unverified::Timestamp);
    }
    if written.abs_diff(now_ms.div_euclid(1_000)) > TOLERANCE_S.unsigned_abs() {
        return Err(Unverified::Stale);
    }
    Ok(())
}

fn made_of(candidate: &str, expected: &[u8; 32]) -> bool {
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

    fn claim(signatures: &str) -> Claim<'_> {
        Claim { id: ID, timestamp: "1614265330", signatures }
    }

    fn verified(claim: Claim<'_>, body: &[u8], now_s: i64) -> Result<(), Unverified> {
        verify(&WebhookSecret::parse(SECRET).unwrap(), claim, body, now_s * 1_000)
    }

    #[test]
    fn signatures_are_those_the_scheme_publishes() {
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
    fn one_good_signature_among_several_is_enough() {
        for signatures in [
            SIGNATURE.to_owned(),
            format!("v1,Ceo5qEr07ixe2NLpvHk3FH9bwy/WavXrAFQ/9tdO6mc= v2,abc {SIGNATURE}"),
            format!("{SIGNATURE} v1,"),
            format!(
                "v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg== {SIGNATURE}"
            ),
        ] {
            assert_eq!(verified(claim(&signatures), BODY, TIMESTAMP_S), Ok(()), "{signatures}");
        }
    }

    #[test]
    fn what_was_not_signed_with_the_secret_is_not_believed() {
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
            assert_eq!(verified(claim(signatures), BODY, TIMESTAMP_S), Err(Unverified::Signature), "{signatures}");
        }
        assert_eq!(verified(claim(SIGNATURE), b"{\"test\": 2432232315}", TIMESTAMP_S), Err(Unverified::Signature));
        let other = Claim { id: "msg_other", ..claim(SIGNATURE) };
        assert_eq!(verified(other, BODY, TIMESTAMP_S), Err(Unverified::Signature));
        let later = Claim { timestamp: "1614265331", ..claim(SIGNATURE) };
        assert_eq!(verified(later, BODY, TIMESTAMP_S), Err(Unverified::Signature));
    }

    #[test]
    fn five_minutes_either_way_are_let_pass() {
        for (apart_s, expected) in [
            (300, Ok(())),
            (-300, Ok(())),
            (301, Err(Unverified::Stale)),
            (-301, Err(Unverified::Stale)),
            (i64::from(i32::MAX), Err(Unverified::Stale)),
        ] {
            assert_eq!(verified(claim(SIGNATURE), BODY, TIMESTAMP_S + apart_s), expected, "{apart_s}");
        }
    }

    #[test]
    fn a_timestamp_is_a_number_of_seconds() {
        for timestamp in
            ["", "now", "1614265330.5", "+1614265330", "01614265330", " 1614265330", "1e9", "99999999999999999999"]
        {
            let claim = Claim { timestamp, ..claim(SIGNATURE) };
            assert_eq!(verified(claim, BODY, TIMESTAMP_S), Err(Unverified::Timestamp), "{timestamp:?}");
        }
        for timestamp in ["-9223372036854775808", "9223372036854775807", "-1"] {
            let claim = Claim { timestamp, ..claim(SIGNATURE) };
            assert_eq!(verified(claim, BODY, TIMESTAMP_S), Err(Unverified::Stale), "{timestamp:?}");
        }
    }

    #[test]
    fn a_secret_is_the_one_base64_form_of_24_to_64_bytes() {
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
            // 25 bytes without the padding, in the URL-safe alphabet, and with bits that mean nothing.
            format!("{PREFIX}{}", STANDARD.encode([7; 25]).replace('=', "")),
            format!("{PREFIX}{}", STANDARD.encode([0xff; 25]).replace('/', "_")),
            format!("{PREFIX}{}", STANDARD.encode([0; 25]).replace("A==", "B==")),
        ] {
            assert!(WebhookSecret::parse(&text).is_none(), "{text:?}");
        }
    }

    #[test]
    fn a_generated_secret_reads_back_and_is_never_printed() {
        let (one, other) = (WebhookSecret::generate(), WebhookSecret::generate());

        assert_eq!(WebhookSecret::parse(one.reveal()).unwrap(), one);
        assert_ne!(one, other);
        assert_eq!(format!("{one:?}"), "WebhookSecret(…)");
    }

    proptest! {
        #[test]
        fn what_is_signed_is_believed_until_it_is_changed(id in "[!-~]{1,40}", at_s in 0_i64..4_000_000_000, body: Vec<u8>) {
            let secret = WebhookSecret::generate();
            let signature = sign(&secret, &id, at_s, &body);
            let claim = Claim { id: &id, timestamp: &at_s.to_string(), signatures: &signature };
            let mut changed = body.clone();
            changed.push(0);

            prop_assert_eq!(verify(&secret, claim, &body, at_s * 1_000), Ok(()));
            prop_assert_eq!(verify(&secret, claim, &changed, at_s * 1_000), Err(Unverified::Signature));
            prop_assert_eq!(verify(&WebhookSecret::generate(), claim, &body, at_s * 1_000), Err(Unverified::Signature));
        }

        #[test]
        fn no_header_panics_the_verifier(id: String, timestamp: String, signatures: String) {
            let claim = Claim { id: &id, timestamp: &timestamp, signatures: &signatures };
            prop_assert!(verify(&WebhookSecret::generate(), claim, b"", 0).is_err());
        }
    }
}

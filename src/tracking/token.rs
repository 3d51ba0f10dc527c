//! The tokens of the pixel and of the links: team, email and recipient group, and the destination of a link, sealed.
//!
//! Sealing hides the destination from people who see the link, and proves that this instance made the token. A token
//! does not expire: a link works as long as the recipient keeps the email.

use std::sync::Arc;

use aws_lc_rs::aead::{AES_256_GCM_SIV, Aad, LessSafeKey, Nonce, UnboundKey};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::destination::OPENED_DESTINATION_BYTES_MAX;
use crate::base::id::{EmailId, TeamId};
use crate::store::Keyring;

/// Associated data of the sealed token.
const ASSOCIATED_DATA: &[u8] = b"tracking token";
/// First byte of the plain text of the token of a pixel. It must never change, because sent emails contain it. A token
/// with another layout has another first byte.
const PIXEL_V1: u8 = 1;
/// First byte of the plain text of the token of a link. It must never change.
const LINK_V1: u8 = 2;
const ID_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
/// Bytes of the email id that are not in the nonce.
const ID_REST_BYTES: usize = ID_BYTES - NONCE_BYTES;
/// Plain bytes before the destination: version, rest of the email id, team, group.
const HEAD_BYTES: usize = 1 + ID_REST_BYTES + ID_BYTES + 2;
/// Length of the longest token that is opened, in base64.
const CHARS_MAX: usize = (NONCE_BYTES + HEAD_BYTES + OPENED_DESTINATION_BYTES_MAX + TAG_BYTES).div_ceil(3) * 4;

/// Recipient of a tracked email: its recipient group, which has no other recipient.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TrackedRecipient {
    pub team: TeamId,
    pub email: EmailId,
    pub group: u16,
}

/// Content of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackingToken {
    pub recipient: TrackedRecipient,
    /// Destination of a link; `None` in the token of a pixel.
    pub destination: Option<String>,
}

/// Makes and opens the tokens of the instance. Cheap to clone.
///
/// The cipher is AES-256-GCM-SIV (RFC 8452), whose nonce may repeat, and the nonce is the first part of the email id.
/// A broadcast has millions of tokens. Random nonces of 96 bits would reach the limit of their key after 2^32 of them.
/// Here the limit applies to the tokens of one email. The nonce also makes the tokens of all attempts equal. The only
/// thing that a repeated nonce reveals is that two tokens of one email have the same content.
#[derive(Clone)]
pub struct TrackingTokens(Arc<LessSafeKey>);

impl std::fmt::Debug for TrackingTokens {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("TrackingTokens(hidden)")
    }
}

impl TrackingTokens {
    /// Returns the tokens of an instance with this master key.
    pub fn new(keyring: &Keyring) -> Self {
        let key = keyring.derive(b"tracking tokens");
        let key = UnboundKey::new(&AES_256_GCM_SIV, &key).expect("the key has AES-256's length");
        Self(Arc::new(LessSafeKey::new(key)))
    }

    /// Returns the token of the pixel in URL-safe base64, 68 characters. The text is the same at every call.
    pub fn seal_pixel(&self, recipient: TrackedRecipient) -> String {
        self.seal(PIXEL_V1, recipient, "")
    }

    /// Returns the token of a link in URL-safe base64. The text is the same at every call.
    pub fn seal_link(&self, recipient: TrackedRecipient, destination: &str) -> String {
        self.seal(LINK_V1, recipient, destination)
    }

    fn seal(&self, version: u8, recipient: TrackedRecipient, destination: &str) -> String {
        let TrackedRecipient { team, email, group } = recipient;
        let mut sealed = Vec::with_capacity(NONCE_BYTES + HEAD_BYTES + destination.len() + TAG_BYTES);
        let (nonce, id_rest) = email.as_bytes().split_at(NONCE_BYTES);
        sealed.extend_from_slice(nonce);
        sealed.push(version);
        sealed.extend_from_slice(id_rest);
        sealed.extend_from_slice(team.as_bytes());
        sealed.extend_from_slice(&group.to_be_bytes());
        sealed.extend_from_slice(destination.as_bytes());
        let nonce = Nonce::try_assume_unique_for_key(&sealed[..NONCE_BYTES]).expect("the nonce has 12 bytes");
        let tag = self
            .0
            .seal_in_place_separate_tag(nonce, Aad::from(ASSOCIATED_DATA), &mut sealed[NONCE_BYTES..])
            .expect("a token is far shorter than the limit of AES-GCM-SIV");
        sealed.extend_from_slice(tag.as_ref());
        URL_SAFE_NO_PAD.encode(sealed)
    }

    /// Opens a token that this instance made; `None` for any other text.
    ///
    /// The cost is bounded by the longest token and does not depend on the length of `text`.
    pub fn open(&self, text: &str) -> Option<TrackingToken> {
        if text.len() > CHARS_MAX {
            return None;
        }
        let mut sealed = URL_SAFE_NO_PAD.decode(text).ok()?;
        let (nonce_bytes, sealed) = sealed.split_first_chunk_mut::<NONCE_BYTES>()?;
        let nonce = Nonce::assume_unique_for_key(*nonce_bytes);
        let plain = self.0.open_in_place(nonce, Aad::from(ASSOCIATED_DATA), sealed).ok()?;
        let (version, rest) = plain.split_first()?;
        let (id_rest, rest) = rest.split_first_chunk::<ID_REST_BYTES>()?;
        let (team, rest) = rest.split_first_chunk::<ID_BYTES>()?;
        let (group, destination) = rest.split_first_chunk::<2>()?;
        let destination = match *version {
            PIXEL_V1 if destination.is_empty() => None,
            LINK_V1 => Some(str::from_utf8(destination).ok()?.to_owned()),
            _ => return None,
        };
        let mut email = [0; ID_BYTES];
        email[..NONCE_BYTES].copy_from_slice(nonce_bytes);
        email[NONCE_BYTES..].copy_from_slice(id_rest);
        let recipient = TrackedRecipient {
            team: TeamId::from_bytes(*team),
            email: EmailId::from_bytes(email),
            group: u16::from_be_bytes(*group),
        };
        Some(TrackingToken { recipient, destination })
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;
    use crate::base::id::Id;
    use crate::tracking::destination::DESTINATION_BYTES_MAX;

    /// Shared by the cases of the property tests, because creating a key file waits for the disk.
    static TOKENS: LazyLock<TrackingTokens> = LazyLock::new(tokens);

    fn tokens() -> TrackingTokens {
        let directory = tempfile::tempdir().unwrap();
        TrackingTokens::new(&Keyring::open(&directory.path().join("master.key")).unwrap())
    }

    fn recipient(group: u16) -> TrackedRecipient {
        TrackedRecipient { team: Id::MIN, email: Id::MAX, group }
    }

    #[test]
    fn a_token_fits_a_path_and_hides_the_destination() {
        let url = "https://shop.example/?customer=ada@example.com";

        let link = TOKENS.seal_link(recipient(3), url);
        let pixel = TOKENS.seal_pixel(recipient(3));

        assert_eq!((link.len(), pixel.len()), (130, 68));
        for token in [&link, &pixel] {
            assert!(token.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte)), "{token}");
        }
        let bytes = URL_SAFE_NO_PAD.decode(&link).unwrap();
        assert!(!bytes.windows(3).any(|window| window == b"ada" || window == b"sho"));
    }

    #[test]
    fn the_same_content_has_the_same_token_and_another_content_another_one() {
        let seal = |group, url| TOKENS.seal_link(recipient(group), url);

        assert_eq!(seal(0, "https://a.example"), seal(0, "https://a.example"));
        let others = [
            seal(0, "https://a.example"),
            seal(1, "https://a.example"),
            seal(0, "https://b.example"),
            TOKENS.seal_link(recipient(0), ""),
            TOKENS.seal_pixel(recipient(0)),
            TOKENS.seal_pixel(recipient(1)),
        ];
        for (index, token) in others.iter().enumerate() {
            assert!(!others[..index].contains(token), "{index}");
        }
    }

    #[test]
    fn the_longest_destination_has_a_token() {
        let longest = "h".repeat(OPENED_DESTINATION_BYTES_MAX);

        let sealed = TOKENS.seal_link(recipient(u16::MAX), &longest);

        assert!(sealed.len() <= CHARS_MAX);
        let opened = TOKENS.open(&sealed);
        assert_eq!(opened, Some(TrackingToken { recipient: recipient(u16::MAX), destination: Some(longest) }));
    }

    #[test]
    fn the_longest_tracked_url_is_below_the_limit_of_mail_clients() {
        let base = format!("https://{}/t/c/", "h".repeat(80));

        let token = TOKENS.seal_link(recipient(u16::MAX), &"h".repeat(DESTINATION_BYTES_MAX));

        assert!(base.len() + token.len() <= 2_083, "{}", base.len() + token.len());
    }

    #[test]
    fn a_token_of_other_keys_or_with_another_content_does_not_open() {
        let plain = |version, destination| TOKENS.seal(version, recipient(0), destination);

        assert!(TOKENS.open(&plain(PIXEL_V1, "")).is_some());
        assert!(TOKENS.open(&plain(LINK_V1, "https://a.example")).is_some());
        for other in [
            tokens().seal_pixel(recipient(0)),
            plain(PIXEL_V1, "https://a.example"),
            plain(3, "https://a.example"),
            format!("{}=", TOKENS.seal_pixel(recipient(0))),
            TOKENS.seal_pixel(recipient(0))[..60].to_owned(),
            "A".repeat(16),
            "A".repeat(10_000_000),
            String::new(),
        ] {
            assert_eq!(TOKENS.open(&other), None, "{other:.60}");
        }
    }

    proptest! {
        #[test]
        fn every_token_opens(team: [u8; 16], email: [u8; 16], group: u16, url in ".{0,500}") {
            let recipient = TrackedRecipient { team: Id::from_bytes(team), email: Id::from_bytes(email), group };

            let link = TOKENS.open(&TOKENS.seal_link(recipient, &url));
            let pixel = TOKENS.open(&TOKENS.seal_pixel(recipient));

            prop_assert_eq!(link, Some(TrackingToken { recipient, destination: Some(url) }));
            prop_assert_eq!(pixel, Some(TrackingToken { recipient, destination: None }));
        }

        #[test]
        fn a_token_with_a_changed_letter_does_not_open(at in 0_usize..68, letter in "[A-Za-z0-9_-]") {
            let sealed = TOKENS.seal_pixel(recipient(7));
            let mut forged = sealed.clone();
            forged.replace_range(at..=at, &letter);

            prop_assert_eq!(TOKENS.open(&forged).is_some(), forged == sealed);
        }

        #[test]
        fn no_text_panics_the_reader(text in ".{0,200}|[A-Za-z0-9_-]{0,200}") {
            prop_assert_eq!(TOKENS.open(&text), None);
        }
    }
}

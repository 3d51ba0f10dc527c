//! The `DKIM-Signature` field: the signed header fields and its format.

use aws_lc_rs::digest::{Context, Digest, SHA256};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::canon::{RawField, feed_relaxed_body, push_relaxed_field, split};
use super::key::{KeyError, SigningKey};
use crate::mime::header::Folder;

/// Fields that `h=` lists once more than they occur, so that a field added in transit breaks the signature
/// (RFC 6376 §8.15). Each of them changes the display of the message or the interpretation of its body.
const OVERSIGNED: [&str; 12] = [
    "From",
    "To",
    "Cc",
    "Subject",
    "Date",
    "Message-ID",
    "Reply-To",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
    "In-Reply-To",
    "References",
];

/// Fields that `h=` lists as often as they occur. RFC 8058 §4 requires this for the unsubscribe pair, and RFC 6376
/// §5.4.1 recommends it for the other fields of lists. Feedback loops of receivers require it for `Feedback-ID`. A
/// mailing list can add such a field to a message without one. Lists replace `Precedence`, so that it is not signed.
const SIGNED_WHEN_PRESENT: [&str; 5] =
    ["List-Unsubscribe", "List-Unsubscribe-Post", "List-Id", "List-Help", "Feedback-ID"];

/// Number of characters of the `b=` value on each line.
const SIGNATURE_LINE_BYTES: usize = 72;

/// Parameters of one signature.
#[derive(Debug, Clone, Copy)]
pub struct DkimParameters<'a> {
    /// Signing domain in A-labels (`d=`).
    pub domain: &'a str,
    /// Selector: the name of the record below `_domainkey` of the domain (`s=`).
    pub selector: &'a str,
    pub key: &'a SigningKey,
}

/// Reason why a message cannot be signed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SignError {
    /// The bytes are not a message with CRLF line ends.
    #[error("message is malformed")]
    Malformed,
    /// The message has no `From` field, which must be signed (RFC 6376 §5.4).
    #[error("message has no From field")]
    NoFrom,
    #[error("signing domain or selector is not a DNS name")]
    InvalidName,
    #[error("{0}")]
    Key(KeyError),
}

/// A message and its signatures.
#[derive(Debug, Clone, Copy)]
pub struct SignRequest<'a> {
    pub message: &'a [u8],
    /// Parameters of each signature, in the order of the fields. The RSA signature should be first, because old verifiers
    /// check only one signature.
    pub signatures: &'a [DkimParameters<'a>],
    pub time_s: u64,
}

/// Signs messages. Returns the `DKIM-Signature` fields to prepend to each.
///
/// Cost: one scan of each body, and about 0.25 ms for each RSA key, or a third of that with seven other messages. An
/// Ed25519 key takes a twentieth.
pub fn sign(requests: &[SignRequest<'_>]) -> Vec<Result<Vec<u8>, SignError>> {
    let unsigned: Vec<_> = requests.iter().map(unsigned_fields).collect();
    let digests: Vec<_> = unsigned.iter().flatten().flatten().map(|field| (field.key, field.digest)).collect();
    let mut values = SigningKey::sign_digests(&digests).into_iter();
    let signed = |fields: Result<Vec<UnsignedField<'_>>, SignError>| {
        let fields = fields?;
        // Takes the values of all fields of the message, also after an error.
        let values: Vec<_> = values.by_ref().take(fields.len()).collect();
        let mut out = Vec::with_capacity(fields.len() * 1024);
        for (field, value) in fields.iter().zip(values) {
            field.write(&mut out, &value.map_err(SignError::Key)?);
        }
        Ok(out)
    };
    unsigned.into_iter().map(signed).collect()
}

/// Returns the fields of a message without their values.
fn unsigned_fields<'a>(request: &SignRequest<'a>) -> Result<Vec<UnsignedField<'a>>, SignError> {
    let (fields, body) = split(request.message).ok_or(SignError::Malformed)?;
    let signed_fields = SignedFields::of(&fields)?;
    let body_hash = STANDARD.encode(body_digest(body));
    let parameters = request.signatures.iter();
    parameters.map(|one| UnsignedField::new(one, &signed_fields, &body_hash, request.time_s)).collect()
}

fn body_digest(body: &[u8]) -> Digest {
    let mut context = Context::new(&SHA256);
    feed_relaxed_body(body, |slice| context.update(slice));
    context.finish()
}

/// The header fields that every signature of a message covers.
struct SignedFields {
    /// Names in the value of `h=`.
    names: Vec<&'static str>,
    /// Hash of the fields in the order of the names. Each signature adds its own field.
    context: Context,
}

impl SignedFields {
    fn of(fields: &[RawField<'_>]) -> Result<Self, SignError> {
        let mut names = Vec::with_capacity(32);
        let mut canonical = Vec::with_capacity(2048);
        let groups = [(&OVERSIGNED[..], 1), (&SIGNED_WHEN_PRESENT[..], 0)];
        for (group, extra) in groups {
            for name in group {
                // RFC 6376 §5.4.2: of repeated fields, the last one is signed first.
                let occurring = fields.iter().rev().filter(|f| f.name.eq_ignore_ascii_case(name.as_bytes()));
                let mut occurrences = 0;
                for field in occurring {
                    push_relaxed_field(&mut canonical, field);
                    canonical.extend_from_slice(b"\r\n");
                    occurrences += 1;
                }
                if *name == "From" && occurrences == 0 {
                    return Err(SignError::NoFrom);
                }
                names.extend(std::iter::repeat_n(*name, occurrences + extra));
            }
        }
        let mut context = Context::new(&SHA256);
        context.update(&canonical);
        Ok(Self { names, context })
    }
}

/// A `DKIM-Signature` field without the value of `b=`.
struct UnsignedField<'a> {
    field: Vec<u8>,
    digest: Digest,
    key: &'a SigningKey,
}

impl<'a> UnsignedField<'a> {
    fn new(
        parameters: &DkimParameters<'a>,
        signed_fields: &SignedFields,
        body_hash: &str,
        time_s: u64,
    ) -> Result<Self, SignError> {
        let DkimParameters { domain, selector, key } = parameters;
        if !is_dns_name(domain) || !is_dns_name(selector) {
            return Err(SignError::InvalidName);
        }

        let mut field = Vec::with_capacity(1024);
        let mut folder = Folder::start(&mut field, "DKIM-Signature");
        for tag in [
            "v=1;".to_owned(),
            format!("a={};", key.algorithm().tag()),
            "c=relaxed/relaxed;".to_owned(),
            format!("d={domain};"),
            format!("s={selector};"),
            format!("t={time_s};"),
        ] {
            folder.word(tag.as_bytes());
        }
        folder.word(b"h=");
        for (index, name) in signed_fields.names.iter().enumerate() {
            let separator = if index + 1 < signed_fields.names.len() { ':' } else { ';' };
            folder.piece(format!("{name}{separator}").as_bytes());
        }
        folder.word(format!("bh={body_hash};").as_bytes());
        folder.word(b"b=");

        // RFC 6376 §3.7: the field is hashed with an empty value of b= and without its final CRLF.
        let digest = signed_digest(signed_fields.context.clone(), &field);
        Ok(Self { field, digest, key })
    }

    /// Appends the field with its value.
    fn write(&self, out: &mut Vec<u8>, value: &[u8]) {
        out.extend_from_slice(&self.field);
        for line in STANDARD.encode(value).as_bytes().chunks(SIGNATURE_LINE_BYTES) {
            out.extend_from_slice(b"\r\n ");
            out.extend_from_slice(line);
        }
        out.extend_from_slice(b"\r\n");
    }
}

/// Adds the `DKIM-Signature` field itself to the hash of the signed fields.
fn signed_digest(mut context: Context, own_field: &[u8]) -> Digest {
    let colon = own_field.iter().position(|&byte| byte == b':').expect("the field starts with its name and a colon");
    let field = RawField { name: &own_field[..colon], value: &own_field[colon + 1..] };
    let mut canonical = Vec::with_capacity(own_field.len());
    push_relaxed_field(&mut canonical, &field);
    context.update(&canonical);
    context.finish()
}

/// Returns whether a name contains only letters, digits, hyphens and underscores between dots. No such name can end the
/// tag or the line.
fn is_dns_name(name: &str) -> bool {
    name.len() <= 253
        && name.split('.').all(|label| {
            (1..=63).contains(&label.len())
                && label.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_'))
        })
}

#[cfg(test)]
mod tests {
    use super::super::key::Algorithm;
    use super::*;

    /// The signed part of the field (RFC 8463 appendix A.2 and A.3).
    const RFC_8463_FIELD: &str = "DKIM-Signature: v=1; a=ed25519-sha256; c=relaxed/relaxed;\r\n \
        d=football.example.com; i=@football.example.com;\r\n \
        q=dns/txt; s=brisbane; t=1528637909; h=from : to :\r\n \
        subject : date : message-id : from : subject : date;\r\n \
        bh=2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=;\r\n b=";
    const RFC_8463_SIGNATURE: &str =
        "/gCrinpcQOoIfuHNQIbq4pgh9kyIK3AQUdt9OdqQehSwhEIug4D11BusFa3bT3FY5OsU7ZbnKELq+eXdp1Q1Dw==";
    const RFC_8463_MESSAGE: &str = "From: Joe SixPack <joe@football.example.com>\r\n\
        To: Suzie Q <suzie@shopping.example.net>\r\n\
        Subject: Is dinner ready?\r\n\
        Date: Fri, 11 Jul 2003 21:00:37 -0700 (PDT)\r\n\
        Message-ID: <20030712040037.46341.5F8J@football.example.com>\r\n\
        \r\n\
        Hi.\r\n\
        \r\n\
        We lost the game.  Are you hungry yet?\r\n\
        \r\n\
        Joe.\r\n";

    fn sign_one(message: &str, signatures: &[DkimParameters<'_>], time_s: u64) -> Result<Vec<u8>, SignError> {
        let request = SignRequest { message: message.as_bytes(), signatures, time_s };
        sign(&[request]).pop().unwrap()
    }

    /// Returns the key of RFC 8463 appendix A.1, parsed from its PKCS#8 form (RFC 8410 §7).
    fn rfc_8463_key() -> SigningKey {
        let seed = STANDARD.decode("nWGxne/9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A=").unwrap();
        let mut pkcs8 =
            vec![0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
        pkcs8.extend_from_slice(&seed);
        SigningKey::from_pkcs8(Algorithm::Ed25519Sha256, &pkcs8).unwrap()
    }

    #[test]
    fn the_example_of_rfc_8463_is_reproduced() {
        let key = rfc_8463_key();
        assert_eq!(key.public_record(), "v=DKIM1; k=ed25519; p=11qYAYKxCrfVS/7TyWQHOg7hcvPapiMlrwIaaPcHURo=");

        let (fields, body) = split(RFC_8463_MESSAGE.as_bytes()).unwrap();
        assert_eq!(STANDARD.encode(body_digest(body)), "2jUSOH9NhtVGCQWNr9BrIAPreKQjO6Sn7XIkfJVOzv8=");

        // The h= tag lists From, Subject and Date a second time. The message has no such fields.
        let mut canonical = Vec::new();
        for name in ["from", "to", "subject", "date", "message-id"] {
            let field = fields.iter().find(|field| field.name.eq_ignore_ascii_case(name.as_bytes()));
            push_relaxed_field(&mut canonical, field.unwrap());
            canonical.extend_from_slice(b"\r\n");
        }
        let mut context = Context::new(&SHA256);
        context.update(&canonical);
        let digest = signed_digest(context, RFC_8463_FIELD.as_bytes());
        assert_eq!(STANDARD.encode(key.sign_digest(&digest).unwrap()), RFC_8463_SIGNATURE);
    }

    #[test]
    fn the_field_lists_the_signed_fields() {
        let key = rfc_8463_key();
        let message = "From: a@b.co\r\nTo: c@d.co\r\nFeedback-ID: x\r\nX-Other: y\r\n\r\nbody\r\n";
        let signature = DkimParameters { domain: "b.co", selector: "k1", key: &key };

        let field = String::from_utf8(sign_one(message, &[signature, signature], 1_700_000_000).unwrap()).unwrap();

        assert_eq!(field.matches("DKIM-Signature: v=1;").count(), 2);
        assert!(field.lines().all(|line| line.len() <= 76), "{field}");
        let unfolded = field.replace("\r\n ", "");
        for tag in [
            "a=ed25519-sha256;",
            "c=relaxed/relaxed;",
            "d=b.co;",
            "s=k1;",
            "t=1700000000;",
            "h=From:From:To:To:Cc:Subject:Date:Message-ID:Reply-To:MIME-Version:Content-Type:\
             Content-Transfer-Encoding:In-Reply-To:References:Feedback-ID;",
        ] {
            assert!(unfolded.contains(tag), "{tag} in {unfolded}");
        }
        assert!(!unfolded.contains("l="), "{unfolded}");
    }

    #[test]
    fn each_message_of_a_call_gets_its_own_fields_or_error() {
        let key = rfc_8463_key();
        let rsa = SigningKey::generate(Algorithm::RsaSha256).unwrap();
        let rsa = SigningKey::from_pkcs8(Algorithm::RsaSha256, &rsa.to_pkcs8().unwrap()).unwrap();
        let one = |key| DkimParameters { domain: "b.co", selector: "k1", key };
        let (both, alone, none, invalid) =
            ([one(&rsa), one(&key)], [one(&rsa)], [], [DkimParameters { selector: "", ..one(&key) }]);
        let request =
            |message: &'static str, signatures| SignRequest { message: message.as_bytes(), signatures, time_s: 5 };
        let requests = [
            request("From: a@b.co\r\n\r\n1", &both[..]),
            request("To: a@b.co\r\n\r\n", &both),
            request("From: a@b.co\r\n\r\n2", &none),
            request("From: a@b.co\r\n\r\n3", &alone),
            request("From: a@b.co\r\n\r\n4", &invalid),
            request("From: a@b.co\r\n\r\n5", &both),
        ];

        let together = sign(&requests);

        let each: Vec<_> = requests.iter().map(|request| sign(&[*request]).remove(0)).collect();
        assert_eq!(together, each);
        let fields = together
            .iter()
            .map(|fields| fields.as_ref().map(|fields| fields.windows(3).filter(|at| at == b" b=").count()));
        let expected = [Ok(2), Err(&SignError::NoFrom), Ok(0), Ok(1), Err(&SignError::InvalidName), Ok(2)];
        assert_eq!(fields.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_name_cannot_add_a_tag() {
        let key = rfc_8463_key();
        for (domain, selector) in
            [("b.co; l=0", "k1"), ("b.co", "k1\r\nX: y"), ("", "k1"), ("b.co", ""), ("b..co", "k1")]
        {
            assert_eq!(
                sign_one("From: a@b.co\r\n\r\n", &[DkimParameters { domain, selector, key: &key }], 0),
                Err(SignError::InvalidName),
                "{domain:?} {selector:?}"
            );
        }
    }

    #[test]
    fn an_invalid_message_is_not_signed() {
        let key = rfc_8463_key();
        let signature = DkimParameters { domain: "b.co", selector: "k1", key: &key };
        for (message, expected) in [
            ("To: a@b.co\r\n\r\n", SignError::NoFrom),
            ("", SignError::NoFrom),
            ("From: a@b.co\r\nbroken\r\n\r\n", SignError::Malformed),
        ] {
            assert_eq!(sign_one(message, &[signature], 0), Err(expected), "{message:?}");
        }
    }
}

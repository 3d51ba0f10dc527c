//! Tests of signatures, with verifiers that share no code with the signer.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::hash::Hash;
use std::path::Path;
use std::time::Instant;

use mail_auth::common::parse::TxtRecordParser as _;
use mail_auth::common::verify::DomainKey;
use mail_auth::hickory_resolver::config::{ResolverConfig, ResolverOpts};
use mail_auth::{AuthenticatedMessage, DkimResult, MessageAuthenticator, Parameters, ResolverCache, Txt};
use proptest::prelude::*;

use super::samples::{DATE_MS, DOMAIN, samples};
use crate::mime::dkim::{Algorithm, DkimParameters, SignRequest, SigningKey, sign};
use crate::mime::{AddressForm, Message, MimeMailbox, compose};

const TIME_S: u64 = DATE_MS.unsigned_abs() / 1000;

/// Keys of the domain of the samples, with their DNS records.
struct Domain {
    rsa: SigningKey,
    ed25519: SigningKey,
}

impl Domain {
    fn new() -> Self {
        Self {
            rsa: SigningKey::generate(Algorithm::RsaSha256).unwrap(),
            ed25519: SigningKey::generate(Algorithm::Ed25519Sha256).unwrap(),
        }
    }

    fn records(&self) -> BTreeMap<String, String> {
        [("r1", &self.rsa), ("e1", &self.ed25519)]
            .map(|(selector, key)| (format!("{selector}._domainkey.{DOMAIN}"), key.public_record()))
            .into()
    }

    fn signed(&self, message: &[u8]) -> Vec<u8> {
        let signatures = [
            DkimParameters { domain: DOMAIN, selector: "r1", key: &self.rsa },
            DkimParameters { domain: DOMAIN, selector: "e1", key: &self.ed25519 },
        ];
        signed(message, &signatures)
    }
}

fn signed(message: &[u8], signatures: &[DkimParameters<'_>]) -> Vec<u8> {
    let mut signed = sign(&[SignRequest { message, signatures, time_s: TIME_S }]).pop().unwrap().unwrap();
    signed.extend_from_slice(message);
    signed
}

/// Cache of DNS records for the verifier, so that it sends no queries.
struct Records(BTreeMap<String, String>);

impl ResolverCache<Box<str>, Txt> for Records {
    fn get<Q>(&self, name: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        self.0.iter().find_map(|(known, record)| {
            let fqdn = format!("{known}.").into_boxed_str();
            (fqdn.borrow() == name).then(|| Txt::DomainKey(DomainKey::parse(record.as_bytes()).unwrap().into()))
        })
    }

    fn remove<Q>(&self, _: &Q) -> Option<Txt>
    where
        Box<str>: Borrow<Q>,
        Q: Hash + Eq + ?Sized,
    {
        None
    }

    fn insert(&self, _: Box<str>, _: Txt, _: Instant) {}
}

/// Returns the result of each signature of a message.
fn verdicts(records: &Records, message: &[u8]) -> Vec<DkimResult> {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let verifier = MessageAuthenticator::new(ResolverConfig::default(), ResolverOpts::default()).unwrap();
        let parsed = AuthenticatedMessage::parse(message).unwrap();
        let outputs = verifier.verify_dkim(Parameters::new(&parsed).with_txt_cache(records)).await;
        outputs.iter().map(|output| output.result().clone()).collect()
    })
}

/// If `RINGMAIL_DKIM_OUT` is set to a directory, writes the messages (`*.eml`) and the DNS records (`records.json`)
/// there for external verifiers.
#[test]
fn both_signatures_of_every_sample_verify() {
    let domain = Domain::new();
    let records = Records(domain.records());
    let output = std::env::var_os("RINGMAIL_DKIM_OUT");
    let scratch = tempfile::tempdir().unwrap();
    let directory = output.as_deref().map_or(scratch.path(), Path::new);
    std::fs::create_dir_all(directory).unwrap();
    std::fs::write(directory.join("records.json"), serde_json::to_vec_pretty(&domain.records()).unwrap()).unwrap();

    for sample in samples() {
        let message = sample.with_message(|message| compose(message, 1).unwrap());
        let path = directory.join(format!("{}.eml", sample.name));
        std::fs::write(&path, domain.signed(&message)).unwrap();

        let signed = std::fs::read(&path).unwrap();
        assert_eq!(verdicts(&records, &signed), [DkimResult::Pass, DkimResult::Pass], "{}", sample.name);
    }
}

#[test]
fn a_change_in_transit_breaks_both_signatures() {
    let domain = Domain::new();
    let records = Records(domain.records());
    let sample = samples().into_iter().find(|sample| sample.name == "list").unwrap();
    let message = sample.with_message(|message| compose(message, 1).unwrap());
    let signed = String::from_utf8(domain.signed(&message)).unwrap();

    for (what, changed) in [
        ("body", signed.replace("News\r\n", "Old news\r\n")),
        ("subject", signed.replace("Subject: A list", "Subject: The list")),
        ("second subject", format!("Subject: Another\r\n{signed}")),
        ("second from", format!("From: x@example.org\r\n{signed}")),
        ("first cc", format!("Cc: x@example.org\r\n{signed}")),
        ("feedback id", signed.replace("Feedback-ID: b1", "Feedback-ID: b2")),
        ("one click", signed.replace("=One-Click", "=Two-Clicks")),
    ] {
        assert_ne!(changed, signed, "{what}");
        for verdict in verdicts(&records, changed.as_bytes()) {
            assert_ne!(verdict, DkimResult::Pass, "{what}");
        }
    }
    for (what, changed) in [
        ("folding", signed.replace("Subject: A list", "subject:\r\n  A  list")),
        ("trace", format!("Received: from a by b; x\r\n{signed}")),
        ("trailing lines", format!("{signed}\r\n\r\n")),
    ] {
        assert_ne!(changed, signed, "{what}");
        assert_eq!(verdicts(&records, changed.as_bytes()), [DkimResult::Pass, DkimResult::Pass], "{what}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn any_composed_message_verifies(
        name in "\\PC{0,60}",
        subject in "\\PC{0,200}",
        text in "(?s)(.|\r\n|\n| \n|\t| {3}){0,200}",
        html in prop::option::of("(?s)(.|\n| \n){0,100}"),
    ) {
        let key = SigningKey::generate(Algorithm::Ed25519Sha256).unwrap();
        let records = Records([(format!("e1._domainkey.{DOMAIN}"), key.public_record())].into());
        let message = compose(
            &Message {
                from: MimeMailbox { name: Some(&name), address: "sender@mail.example.com" },
                to: &[],
                cc: &[],
                reply_to: &[],
                address_form: AddressForm::Unicode,
                subject: &subject,
                date_ms: DATE_MS,
                message_id: "id@mail.example.com",
                headers: &[],
                text: Some(&text),
                html: html.as_deref(),
                attachments: &[],
            },
            9,
        )
        .unwrap();
        let signature = DkimParameters { domain: DOMAIN, selector: "e1", key: &key };
        let signed = signed(&message, &[signature]);
        prop_assert_eq!(verdicts(&records, &signed), [DkimResult::Pass]);
    }
}

//! Parses and classifies arbitrary bytes as an SMTP reply.

use ringmail::delivery::smtp::{SmtpPhase, classify, parse_reply};

pub(crate) fn check(bytes: &[u8]) {
    let Ok((reply, used)) = parse_reply(bytes) else { return };

    assert!(used <= bytes.len());
    for phase in
        [SmtpPhase::Greeting, SmtpPhase::Ehlo, SmtpPhase::Mail, SmtpPhase::Rcpt, SmtpPhase::Data, SmtpPhase::Body]
    {
        let _ = classify(phase, &reply, "mx.example.net");
    }
}

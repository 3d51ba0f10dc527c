//! SMTP replies, from a server that may send anything.

#![no_main]

use libfuzzer_sys::fuzz_target;
use ringmail::delivery::smtp::{Phase, classify, parse_reply};

fuzz_target!(|bytes: &[u8]| {
    let Ok((reply, used)) = parse_reply(bytes) else { return };

    assert!(used <= bytes.len());
    for phase in [Phase::Greeting, Phase::Ehlo, Phase::Mail, Phase::Rcpt, Phase::Data, Phase::Body] {
        let _ = classify(phase, &reply, "mx.example.net");
    }
});

//! Parser of the extensions announced in the reply to EHLO.
//!
//! smtp-proto parses the keywords, one line at a time, because it rejects the whole reply if one line is invalid. This
//! module parses SIZE and LIMITS (RFC 9422), which smtp-proto does not support in full.

use smtp_proto::{
    AUTH_LOGIN, AUTH_PLAIN, AUTH_XOAUTH2, EXT_8BIT_MIME, EXT_PIPELINING, EXT_SIZE, EXT_SMTP_UTF8, EXT_START_TLS,
    EhloResponse,
};

use super::reply::Line;

/// The announced extensions. The default is the state after HELO: no extension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Capabilities {
    extensions: u32,
    auth_mechanisms: u64,
    /// Maximum message size in bytes (RFC 1870); `None` if not announced or unlimited.
    pub size_max: Option<u64>,
    /// Maximum number of recipients in one transaction (RCPTMAX, RFC 9422).
    pub rcpt_max: Option<u32>,
    /// Maximum number of transactions in one session (MAILMAX, RFC 9422).
    pub mail_max: Option<u32>,
}

impl Capabilities {
    /// Parses the raw lines of a reply to EHLO. Ignores invalid lines.
    pub fn parse(raw: &[u8]) -> Self {
        let mut capabilities = Self::default();
        // RFC 5321 §4.1.1.1: the first line is the greeting, each other line is one keyword with its parameters.
        for line in raw.split_inclusive(|&byte| byte == b'\n').skip(1) {
            if let Ok(line) = Line::parse(line) {
                capabilities.add(&String::from_utf8_lossy(line.text));
            }
        }
        capabilities
    }

    fn add(&mut self, line: &str) {
        // `AUTH=` is the form before RFC 2554. Some servers still send it.
        let line = match line.get(..5) {
            Some(start) if start.eq_ignore_ascii_case("AUTH=") => {
                format!("AUTH {}", &line[5..])
            }
            _ => line.trim().to_string(),
        };
        let announced = EhloResponse::parse(&mut format!("250-x\r\n250 {line}\r\n").as_bytes().iter());
        if let Ok(announced) = announced {
            self.extensions |= announced.capabilities;
            self.auth_mechanisms |= announced.auth_mechanisms;
        }
        let mut words = line.split_ascii_whitespace();
        let keyword = words.next().unwrap_or_default();
        if keyword.eq_ignore_ascii_case("SIZE") {
            self.extensions |= EXT_SIZE;
            // RFC 1870 §4: zero means no fixed maximum.
            self.size_max = words.next().and_then(|size| size.parse().ok()).filter(|&size| size > 0);
        } else if keyword.eq_ignore_ascii_case("LIMITS") {
            for limit in words {
                self.add_limit(limit);
            }
        }
    }

    fn add_limit(&mut self, limit: &str) {
        let Some((name, value)) = limit.split_once('=') else {
            return;
        };
        // RFC 9422 §4: values have at most six digits. A limit of zero would allow nothing, so it is ignored.
        let value = value.parse().ok().filter(|&value| value > 0);
        if name.eq_ignore_ascii_case("RCPTMAX") {
            self.rcpt_max = value;
        } else if name.eq_ignore_ascii_case("MAILMAX") {
            self.mail_max = value;
        }
    }

    /// Returns whether commands may be sent without waiting for replies (RFC 2920).
    pub fn pipelining(&self) -> bool {
        self.has(EXT_PIPELINING)
    }

    /// Returns whether STARTTLS is offered (RFC 3207).
    pub fn starttls(&self) -> bool {
        self.has(EXT_START_TLS)
    }

    /// Returns whether MAIL accepts `SIZE=` (RFC 1870).
    pub fn size(&self) -> bool {
        self.has(EXT_SIZE)
    }

    /// Returns whether addresses may be UTF-8 (RFC 6531).
    pub fn smtputf8(&self) -> bool {
        self.has(EXT_SMTP_UTF8)
    }

    /// Returns whether the header of a message may be UTF-8 (RFC 6531 §3.1 requires 8BITMIME with SMTPUTF8).
    pub fn utf8_headers(&self) -> bool {
        self.smtputf8() && self.eight_bit_mime()
    }

    /// Returns whether MAIL accepts `BODY=8BITMIME` (RFC 6152).
    pub fn eight_bit_mime(&self) -> bool {
        self.has(EXT_8BIT_MIME)
    }

    /// Returns the SASL mechanisms that both sides support, as the argument for mail-send.
    pub(super) fn sasl(&self) -> EhloResponse<String> {
        EhloResponse {
            auth_mechanisms: self.auth_mechanisms & (AUTH_PLAIN | AUTH_LOGIN | AUTH_XOAUTH2),
            ..EhloResponse::default()
        }
    }

    fn has(&self, extension: u32) -> bool {
        self.extensions & extension != 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn each_line_announces_one_extension() {
        let raw = b"250-mx.example.com at your service\r\n250-SIZE 157286400\r\n250-8bitmime\r\n\
            250-STARTTLS\r\n250-ENHANCEDSTATUSCODES\r\n250-PIPELINING\r\n250-CHUNKING\r\n\
            250-AUTH LOGIN PLAIN XOAUTH2 CRAM-MD5\r\n250-LIMITS RCPTMAX=20 MAILMAX=5 X=y\r\n250 SMTPUTF8\r\n";

        let announced = Capabilities::parse(raw);

        assert!(announced.pipelining() && announced.starttls() && announced.smtputf8());
        assert!(announced.eight_bit_mime() && announced.size());
        assert_eq!(announced.size_max, Some(157_286_400));
        assert_eq!(announced.rcpt_max, Some(20));
        assert_eq!(announced.mail_max, Some(5));
        assert_eq!(announced.sasl().auth_mechanisms, AUTH_PLAIN | AUTH_LOGIN | AUTH_XOAUTH2);
    }

    #[test]
    fn an_invalid_line_does_not_affect_the_others() {
        let raw = b"250-mx\n250-SIZE many\n250-\n250-LIMITS RCPTMAX= MAILMAX=0 RCPTMAX\n250-AUTH=PLAIN\n\
            250-\xff\xfe\n250-MT-PRIORITY NONSENSE\n250-FUTURERELEASE x y\n250 PIPELINING\n";

        let announced = Capabilities::parse(raw);

        assert!(announced.pipelining() && announced.size());
        assert_eq!(announced.size_max, None);
        assert_eq!((announced.rcpt_max, announced.mail_max), (None, None));
        assert_eq!(announced.sasl().auth_mechanisms, AUTH_PLAIN);
    }

    #[test]
    fn the_first_line_announces_nothing() {
        assert_eq!(Capabilities::parse(b"250 PIPELINING\r\n"), Capabilities::default());
    }

    #[test]
    fn a_size_of_zero_is_no_limit() {
        let announced = Capabilities::parse(b"250-mx\r\n250 SIZE 0\r\n");

        assert!(announced.size());
        assert_eq!(announced.size_max, None);
    }

    proptest! {
        #[test]
        fn no_announcement_makes_the_parser_panic(raw in proptest::collection::vec(any::<u8>(), 0..300)) {
            Capabilities::parse(&raw);
            Capabilities::parse(&[b"250-x\r\n250-".as_slice(), &raw, b"\r\n"].concat());
        }

        #[test]
        fn no_keyword_makes_the_parser_panic(
            word in "(SIZE|LIMITS|AUTH|AUTH=|FUTURERELEASE|DELIVERBY|MT-PRIORITY|NO-SOLICITING)[ =]?[ -~]{0,40}",
        ) {
            Capabilities::parse(format!("250-x\r\n250 {word}\r\n").as_bytes());
        }
    }
}

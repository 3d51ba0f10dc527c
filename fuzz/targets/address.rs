//! Parses arbitrary text as a domain, an address and a mailbox. No parser panics. Accepted values contain no control
//! characters, and their text form parses to the same value.

use ringmail::base::address::{DomainName, EmailAddress, Mailbox};

pub(crate) fn check(text: &str) {
    if let Ok(domain) = DomainName::parse(text) {
        assert!(domain.as_str().bytes().all(|b| b.is_ascii_graphic()));
        assert!(domain.as_str().len() <= 253);
        assert_eq!(DomainName::parse(domain.as_str()), Ok(domain));
    }
    if let Ok(address) = EmailAddress::parse(text) {
        let printed = address.to_string();
        assert!(printed.len() <= 254 && !printed.chars().any(char::is_control));
        assert!(!address.identity().chars().any(char::is_control));
        assert_eq!(EmailAddress::parse(&printed), Ok(address));
    }
    if let Ok(mailbox) = Mailbox::parse(text) {
        let printed = mailbox.to_string();
        assert!(!printed.chars().any(char::is_control));
        assert!(!mailbox.name().unwrap_or_default().contains('@'));
        assert_eq!(Mailbox::from_stored(&printed).as_ref(), Some(&mailbox));
        assert_eq!(Mailbox::parse(&printed), Ok(mailbox));
    }
}

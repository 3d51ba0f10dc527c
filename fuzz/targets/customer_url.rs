//! Parses arbitrary text as a customer URL. The parser does not panic. The text form of an accepted URL is the
//! input, and its host contains only printable ASCII.

use ringmail::http_client::{CustomerUrl, UrlPolicy};

pub(crate) fn check(text: &str) {
    for (plain_http, local_names) in [(false, false), (true, false), (true, true)] {
        let policy = UrlPolicy { plain_http, local_names, ..UrlPolicy::default() };
        let Ok(url) = CustomerUrl::parse(text, &policy) else { continue };
        assert_eq!(url.to_string(), text);
        assert_eq!(CustomerUrl::parse(&url.to_string(), &policy), Ok(url.clone()));
        assert!(url.port() > 0);
        assert!(url.host().to_string().bytes().all(|byte| byte.is_ascii_graphic()));
        let scheme = text.split_once("://").expect("an accepted URL has a scheme").0;
        assert!(plain_http || scheme.eq_ignore_ascii_case("https"));
    }
}

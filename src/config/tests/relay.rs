//! The URL of a smarthost, and its password.

use super::*;

#[test]
fn a_relay_url_has_host_port_and_tls_mode() {
    for (text, host, port, tls) in [
        ("smtp://mail.example.com", "mail.example.com", 587, RelayTls::Required),
        ("smtp://mail.example.com:2525/", "mail.example.com", 2525, RelayTls::Required),
        ("smtps://MAIL.example.com", "mail.example.com", 465, RelayTls::Implicit),
        ("smtp://127.0.0.1:25", "127.0.0.1", 25, RelayTls::Opportunistic),
        ("smtp://[::1]:25", "::1", 25, RelayTls::Opportunistic),
        ("smtp://localhost:25", "localhost", 25, RelayTls::Opportunistic),
        ("smtp://localhost:25?tls=opportunistic", "localhost", 25, RelayTls::Opportunistic),
        ("smtp://localhost:25?tls=required", "localhost", 25, RelayTls::Required),
        ("smtp://10.0.0.1:25?tls=never", "10.0.0.1", 25, RelayTls::Never),
        ("smtp://postfix:25?tls=opportunistic", "postfix", 25, RelayTls::Opportunistic),
    ] {
        let relay: RelayUrl = text.parse().unwrap();

        assert_eq!((relay.host.as_str(), relay.port, relay.tls, relay.credentials), (host, port, tls, None), "{text}");
    }
}

#[test]
fn final_true_in_a_relay_url_makes_the_smarthost_final() {
    for (text, tls, is_final) in [
        ("smtp://mail.example.com", RelayTls::Required, false),
        ("smtp://mail.example.com?final=true", RelayTls::Required, true),
        ("smtp://10.0.0.1?tls=never&final=true", RelayTls::Never, true),
        ("smtp://10.0.0.1?final=true&tls=opportunistic", RelayTls::Opportunistic, true),
        ("smtps://mail.example.com?final=true", RelayTls::Implicit, true),
    ] {
        let relay: RelayUrl = text.parse().unwrap();

        assert_eq!((relay.tls, relay.is_final), (tls, is_final), "{text}");
    }
}

#[test]
fn a_login_on_loopback_uses_no_tls_by_default() {
    for (text, tls) in [
        ("smtp://user:secret@127.0.0.1:25", RelayTls::Never),
        ("smtp://user@localhost:25", RelayTls::Never),
        ("smtp://user:secret@localhost:25?tls=required", RelayTls::Required),
        ("smtp://user:secret@localhost:25?tls=opportunistic", RelayTls::Opportunistic),
        ("smtp://user:secret@mail.example.com", RelayTls::Required),
    ] {
        assert_eq!(text.parse::<RelayUrl>().unwrap().tls, tls, "{text}");
    }
}

#[test]
fn an_invalid_relay_url_is_an_error() {
    for text in [
        "",
        "mail.example.com",
        "http://mail.example.com",
        "smtp://",
        "smtp://:25",
        "smtp://host:0",
        "smtp://host:+25",
        "smtp://host:65536",
        "smtp://::1:25",
        "smtp://[10.0.0.1]:25",
        "smtp://[::1",
        "smtp://[::1]25",
        "smtp://host/x",
        "smtp://host#x",
        "smtp://host?x=1",
        "smtp://host?tls=",
        "smtp://host?tls=required&x",
        "smtp://host?tls=required&tls=required",
        "smtp://host?final=true&final=true",
        "smtp://host?final=false",
        "smtps://host?tls=never",
        "smtp://@host",
        "smtp://:password@host",
        "smtp://user:%zz@host",
        "smtp://user:%0d%0a@host",
        "smtp://user:%@host",
        "smtp://user:password@mail.example.com?tls=never",
        "smtp://user@mail.example.com?tls=opportunistic",
        "smtp://ho st",
        "smtp://1234",
    ] {
        assert!(text.parse::<RelayUrl>().is_err(), "{text}");
    }
}

#[test]
fn credentials_are_decoded_and_never_printed() {
    let relay: RelayUrl = "smtp://user%40example.com:pa%3Ass@mail.example.com".parse().unwrap();

    let credentials = relay.credentials.clone().unwrap();
    assert_eq!((credentials.user.as_str(), credentials.password.reveal()), ("user@example.com", "pa:ss"));
    assert!(!format!("{relay:?} {relay}").contains("pa:ss"));
    let line = ["--delivery", "relay", "--relay", "smtp://u:hunter2@mail.example.com"];
    assert!(!format!("{:?} {:?}", settings(&line).unwrap(), config(&line).unwrap()).contains("hunter2"));
}

#[test]
fn a_user_without_a_password_gets_the_password_of_the_environment() {
    let password_for = |url: &str| {
        let surroundings =
            Surroundings { relay_password: Some(RelayPassword::new("from-env")), ..Surroundings::default() };
        match config_within(&["--delivery", "relay", "--relay", url], InstanceVerb::Serve, surroundings)?.delivery {
            DeliveryConfig::Relay(relay) => Ok(relay.credentials.unwrap().password.reveal().to_owned()),
            other => panic!("{other:?}"),
        }
    };

    assert_eq!(password_for("smtp://user@mail.example.com"), Ok("from-env".to_owned()));
    assert_eq!(password_for("smtp://user:own@mail.example.com"), Ok("own".to_owned()));
    assert_eq!(password_for("smtp://mail.example.com"), Err(ConfigError::PasswordWithoutUser));
}

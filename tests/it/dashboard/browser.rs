//! A client of the dashboard with cookies. It follows no redirects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::time::Duration;

use ringmail::admin::Response;
use ringmail::admin::access::{AccessVerb, LinkView};
use ringmail::admin::users::UserVerb;
use ringmail::users::Role;
use serde_json::Value;

use crate::support::TestServer;

/// Address and password of the first account.
pub(crate) const EMAIL: &str = "ada@example.com";
pub(crate) const PASSWORD: &str = "correct horse battery";

/// A browser: cookies, and headers that it sends with each request.
pub(crate) struct Browser<'s> {
    /// URL of the server, without a slash at the end.
    base: &'s str,
    agent: ureq::Agent,
    cookies: RefCell<BTreeMap<String, String>>,
    headers: Vec<(String, String)>,
}

/// The live stream of events of a session. Drop closes it.
pub(crate) struct LiveStream(BufReader<ureq::BodyReader<'static>>);

/// A response.
#[derive(Debug)]
pub(crate) struct Page {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl<'s> Browser<'s> {
    pub(crate) fn new(server: &'s TestServer) -> Self {
        Self::at(server.base())
    }

    /// Returns a browser of the server with a URL.
    pub(crate) fn at(base: &'s str) -> Self {
        let config = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .timeout_global(Some(Duration::from_secs(60)))
            .build();
        let agent = ureq::Agent::new_with_config(config);
        Self { base, agent, cookies: RefCell::default(), headers: Vec::new() }
    }

    /// Returns a browser that sends a header with each request.
    pub(crate) fn with(mut self, name: &str, value: &str) -> Self {
        self.headers.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Returns a browser with the same cookies that sends a header with each request.
    pub(super) fn copy_with(&self, name: &str, value: &str) -> Self {
        let copy = Self::at(self.base).with(name, value);
        copy.cookies.borrow_mut().clone_from(&self.cookies.borrow());
        copy
    }

    pub(crate) fn has_session(&self) -> bool {
        self.cookies.borrow().contains_key("ringmail_session")
    }

    /// Returns the cookies as the value of a header.
    pub(crate) fn cookie(&self) -> String {
        self.cookies.borrow().iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
    }

    pub(crate) fn get(&self, path: &str) -> Page {
        self.request("GET", path, &[], None)
    }

    /// Posts a form as a page of the server does.
    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Page {
        let encode = |text: &str| {
            text.bytes().fold(String::new(), |mut encoded, byte| {
                match byte {
                    b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => encoded.push(char::from(byte)),
                    b' ' => encoded.push('+'),
                    byte => encoded.push_str(&format!("%{byte:02X}")),
                }
                encoded
            })
        };
        let pairs: Vec<String> =
            fields.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
        let content_type = [("content-type", "application/x-www-form-urlencoded")];
        self.request("POST", path, &content_type, Some(&pairs.join("&")))
    }

    /// Requests a route below `/dashboard/api` as a page of the dashboard does.
    pub(crate) fn api(&self, method: &str, path: &str, body: Option<&Value>) -> Page {
        let headers = [("x-ringmail-dashboard", "1"), ("content-type", "application/json")];
        let body = body.map(Value::to_string);
        self.request(method, &format!("/dashboard/api{path}"), &headers, body.as_deref())
    }

    /// Opens the live stream of events.
    pub(crate) fn events(&self) -> LiveStream {
        let response = self.send("GET", "/dashboard/api/events", &[], None);
        assert_eq!(response.status(), 200, "the stream is refused");
        let mut stream = LiveStream(BufReader::new(response.into_body().into_reader()));
        assert_eq!(stream.line().as_deref(), Some(": ringmail"));
        stream
    }

    /// Sends a request with exactly these headers and those of the browser, and reads the response.
    pub(crate) fn request(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&str>) -> Page {
        let response = self.send(method, path, headers, body);
        let page = Page {
            status: response.status().as_u16(),
            headers: response
                .headers()
                .iter()
                .map(|(name, value)| (name.to_string(), value.to_str().expect("a header is text").to_owned()))
                .collect(),
            body: response.into_body().read_to_string().expect("the body is text"),
        };
        for (_, line) in page.headers.iter().filter(|(name, _)| name == "set-cookie") {
            let (name, value) = line.split(';').next().and_then(|pair| pair.split_once('=')).expect("a cookie");
            if value.is_empty() {
                self.cookies.borrow_mut().remove(name);
            } else {
                self.cookies.borrow_mut().insert(name.to_owned(), value.to_owned());
            }
        }
        page
    }

    fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&str>,
    ) -> ureq::http::Response<ureq::Body> {
        let uri = format!("{}{path}", self.base);
        let mut request = ureq::http::Request::builder().method(method).uri(uri);
        let own = self.headers.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in headers.iter().copied().chain(own) {
            request = request.header(name, value);
        }
        let cookie = self.cookie();
        if !cookie.is_empty() {
            request = request.header("cookie", cookie);
        }
        let result = match body {
            Some(body) => self.agent.run(request.body(body.to_owned()).expect("a valid request")),
            None => self.agent.run(request.body(()).expect("a valid request")),
        };
        result.expect("the server responds")
    }

    /// Signs in with a password.
    pub(crate) fn sign_in(&self, email: &str, password: &str) -> Page {
        self.post("/dashboard/login", &[("email", email), ("password", password)])
    }
}

impl LiveStream {
    /// Reads a line without the line break; `None` if the stream has ended.
    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        let read = self.0.read_line(&mut line).expect("the stream is text and ends without an error");
        (read > 0).then(|| line.trim_end_matches('\n').to_owned())
    }

    /// Waits for an event and returns its body; `None` if the stream has ended.
    pub(super) fn next_event(&mut self) -> Option<Value> {
        loop {
            if let Some(body) = self.line()?.strip_prefix("data: ") {
                return Some(serde_json::from_str(body).expect("data is JSON on one line"));
            }
        }
    }

    /// Waits for an event and returns its type; `None` if the stream has ended.
    pub(crate) fn next_type(&mut self) -> Option<String> {
        loop {
            if let Some(name) = self.line()?.strip_prefix("event: ") {
                return Some(name.to_owned());
            }
        }
    }
}

impl Page {
    pub(crate) fn status(&self) -> u16 {
        self.status
    }

    /// Returns the value of a header; the empty text if it is absent.
    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.iter().find(|(other, _)| other == name).map_or("", |(_, value)| value)
    }

    /// Checks that the response is a redirect to a path.
    #[track_caller]
    pub(crate) fn leads_to(&self, path: &str) {
        assert_eq!((self.status, self.header("location")), (303, path), "{}", self.body);
    }

    /// Checks the status and that the page contains a text.
    #[track_caller]
    pub(crate) fn shows(&self, status: u16, text: &str) {
        assert_eq!(self.status, status, "{}", self.body);
        assert!(self.body.contains(text), "no {text:?} in {}", self.body);
    }

    /// Returns the JSON of the body.
    #[track_caller]
    pub(crate) fn json(&self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.body);
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }

    /// Checks that the response is an error of the API with a status and a name.
    #[track_caller]
    pub(crate) fn is_error(&self, status: u16, name: &str) {
        let json = self.json(status);
        assert_eq!((&json["statusCode"], json["name"].as_str()), (&Value::from(status), Some(name)));
        assert!(json["message"].is_string() && json.as_object().unwrap().len() == 3, "{json}");
    }

    /// Returns the value of a hidden field.
    #[track_caller]
    pub(super) fn hidden(&self, name: &str) -> String {
        let start = format!("name=\"{name}\" value=\"");
        let (_, rest) = self.body.split_once(&start).unwrap_or_else(|| panic!("no field {name} in {}", self.body));
        rest.split('"').next().unwrap().to_owned()
    }
}

/// Returns the path of a link that the command line prints.
#[track_caller]
fn path_of(response: Response) -> String {
    let Response::Link(LinkView { url, .. }) = response else { panic!("expected a link, got {response:?}") };
    let (_, path) = url.split_once("/dashboard/").unwrap();
    format!("/dashboard/{path}")
}

/// Returns the path of the link of `ringmail setup-link`.
#[track_caller]
pub(super) fn setup_link(server: &TestServer) -> String {
    path_of(server.admin(AccessVerb::SetupLink {}))
}

/// Returns the path of the link of `ringmail user link`.
#[track_caller]
pub(super) fn user_link(server: &TestServer, email: &str) -> String {
    path_of(server.admin(UserVerb::Link { email: email.to_owned() }))
}

/// Creates the first account, and returns the browser with its session.
#[track_caller]
pub(crate) fn set_up(server: &TestServer) -> Browser<'_> {
    let browser = Browser::new(server);
    let fields = [("email", EMAIL), ("password", PASSWORD), ("team", "Acme")];
    browser.post(&setup_link(server), &fields).leads_to("/dashboard/");
    assert!(browser.has_session());
    browser
}

/// Adds a user with a role and the password [`PASSWORD`], and returns the browser with the session of the user.
#[track_caller]
pub(crate) fn add_user<'s>(server: &'s TestServer, email: &str, role: Role) -> Browser<'s> {
    let added = server.admin(UserVerb::Create { email: email.to_owned(), role: Some(role) });
    assert!(matches!(added, Response::User(_)), "{added:?}");
    let browser = Browser::new(server);
    browser.post(&user_link(server, email), &[("password", PASSWORD)]).leads_to("/dashboard/");
    browser
}

//! Responses of the API and checks of them.

use serde_json::Value;

/// Response of the API.
#[derive(Debug)]
pub(crate) struct ApiResponse {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) json: Value,
}

impl ApiResponse {
    /// Reads the body of a response and decodes it. Panics unless the body is a JSON object.
    pub(crate) fn read(response: ureq::http::Response<ureq::Body>) -> Self {
        let status = response.status().as_u16();
        let headers = response
            .headers()
            .iter()
            .map(|(name, value)| (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        let text = response.into_body().read_to_string().expect("the body is text");
        let json: Value = serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error} in {text}"));
        assert!(json.is_object(), "the body is not an object: {text}");
        Self { status, headers, json }
    }

    /// Returns the value of a header; `name` is lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(other, _)| other == name).map(|(_, value)| value.as_str())
    }

    /// Checks that the response has the status `status`, and returns its JSON.
    #[track_caller]
    pub(crate) fn ok(self, status: u16) -> Value {
        assert_eq!(self.status, status, "{}", self.json);
        self.json
    }

    /// Checks that the response is an error with this status, name and message, and no other field.
    #[track_caller]
    pub(crate) fn refused(self, status: u16, name: &str, message: &str) {
        let expected = serde_json::json!({ "statusCode": status, "name": name, "message": message });
        assert_eq!(self.json, expected);
        assert_eq!(self.status, status);
        assert_eq!(self.header("content-type"), Some("application/json; charset=utf-8"));
    }

    /// Checks that the response is a well-formed error, and returns it as one line.
    #[track_caller]
    pub(crate) fn refusal(&self) -> String {
        let fields: Vec<&str> = self.json.as_object().expect("an object").keys().map(String::as_str).collect();
        assert_eq!(fields, ["message", "name", "statusCode"], "{}", self.json);
        assert_eq!(self.json["statusCode"], self.status, "{}", self.json);
        assert!(self.status >= 400, "{}", self.json);
        assert_eq!(self.header("content-type"), Some("application/json; charset=utf-8"));
        format!("{} {}: {}", self.status, text(&self.json["name"]), text(&self.json["message"]))
    }
}

fn text(value: &Value) -> &str {
    value.as_str().expect("a string")
}

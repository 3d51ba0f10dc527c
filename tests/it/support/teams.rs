//! Other teams and other keys.

use ringmail::address::DomainName;
use ringmail::api_keys::{NewKey, Permission};
use ringmail::id::TeamId;
use ringmail::teams;
use serde_json::{Value, json};

use super::server::await_truth;
use super::{Answer, TestServer, email};

/// A second team of the instance, with a key of full access and a domain it may send from.
pub(crate) struct OtherTeam<'s> {
    server: &'s TestServer,
    team: TeamId,
    key: String,
    domain: String,
}

impl TestServer {
    /// Makes a team that may send from `domain`.
    pub(crate) fn other_team(&self, name: &str, domain: &str) -> OtherTeam<'_> {
        let services = self.services();
        let name_of_domain = DomainName::parse(domain).expect("the domain is a name");
        let (team, key) = self.block_on(async {
            let made = teams::create(&services.context, name).await.expect("the store answers");
            let team = made.expect("the name is free");
            services.domains.add_verified(team.id, name_of_domain).await.expect("the domain is added");
            let new = NewKey { name: name.to_owned(), permission: Permission::FullAccess, domain: None };
            let (_, token) = services.api_keys.create(team.id, new).await.expect("the key is made");
            (team.id, token.reveal().to_owned())
        });
        OtherTeam { server: self, team, key, domain: domain.to_owned() }
    }

    /// Returns the team that the instance began with.
    pub(super) fn team(&self) -> TeamId {
        self.read(teams::list).first().expect("every instance has a team").id
    }

    /// Makes a key that may do no more than send.
    pub(crate) fn sending_key(&self) -> String {
        self.make_key(&json!({ "name": "Sending", "permission": "sending_access" }))
    }

    /// Makes a key through the API and returns its token.
    #[track_caller]
    pub(crate) fn make_key(&self, request: &Value) -> String {
        let made = self.post("/api-keys", request).ok(201);
        made["token"].as_str().expect("a token").to_owned()
    }

    /// Returns the id of a domain of the team.
    #[track_caller]
    pub(crate) fn domain_id(&self, name: &str) -> String {
        let domains = self.get("/domains?limit=100").ok(200);
        let domains = domains["data"].as_array().expect("a list");
        let found = domains.iter().find(|domain| domain["name"] == name).expect("the team has the domain");
        found["id"].as_str().expect("an id").to_owned()
    }
}

impl OtherTeam<'_> {
    pub(crate) fn key(&self) -> &str {
        &self.key
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        self.server.call("GET", path, &self.key, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> Answer {
        self.server.call("POST", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    /// Writes down a delivery to one of the team's endpoints and returns its id.
    pub(crate) fn webhook_delivery(&self, webhook: &str) -> String {
        self.server.put_webhook_delivery(self.team, webhook)
    }

    /// Sends an email from the team's domain and returns its id.
    #[track_caller]
    pub(crate) fn send(&self, fields: &Value) -> String {
        let mut email = email(fields);
        email["from"] = format!("hello@{}", self.domain).into();
        let sent = self.post("/emails", &email).ok(200);
        sent["id"].as_str().expect("an id").to_owned()
    }

    /// Waits until the email's status is `last_event`.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, last_event: &str) {
        await_truth(last_event, || match &self.get(&format!("/emails/{id}")).ok(200)["last_event"] {
            reached if reached == last_event => Ok(()),
            other => Err(other.to_string()),
        });
    }
}

//! Creates other teams and API keys.

use ringmail::api_keys::{NewKey, Permission};
use ringmail::audit::Actor;
use ringmail::base::address::{DomainName, EmailAddress};
use ringmail::base::id::TeamId;
use ringmail::email_metrics::DayTotals;
use ringmail::team_removal::{RemoveTeamError, UnsentEmails};
use ringmail::teams;
use ringmail::users::{self, Role};
use serde_json::{Value, json};

use super::server::retry_until_ok;
use super::{ApiResponse, TestServer, email};

/// A second team of the instance, with a full access key and a verified domain.
pub(crate) struct OtherTeam<'s> {
    server: &'s TestServer,
    pub(crate) team: TeamId,
    key: String,
    domain: String,
}

impl TestServer {
    /// Creates a team with a full access key and the verified domain `domain`.
    pub(crate) fn other_team(&self, name: &str, domain: &str) -> OtherTeam<'_> {
        let services = self.services();
        let domain_name = DomainName::parse(domain).expect("a domain name");
        let (team, key) = self.block_on(async {
            let created = teams::create(&services.context, name).await.expect("the store commits");
            let team = created.expect("the name is free");
            services
                .domains
                .add_verified(Actor::CommandLine.in_team(team.id), domain_name)
                .await
                .expect("the domain is added");
            let new = NewKey { name: name.to_owned(), permission: Permission::FullAccess, domain: None };
            let (_, token) =
                services.api_keys.create(Actor::CommandLine.in_team(team.id), new).await.expect("the key is created");
            (team.id, token.reveal().to_owned())
        });
        OtherTeam { server: self, team, key, domain: domain.to_owned() }
    }

    /// Returns the first team of the instance.
    pub(super) fn team(&self) -> TeamId {
        self.read(teams::list).first().expect("every instance has a team").id
    }

    /// Creates a key with the permission `sending_access` and returns its token.
    pub(crate) fn create_sending_key(&self) -> String {
        self.create_key(&json!({ "name": "Sending", "permission": "sending_access" }))
    }

    /// Creates a key through the API and returns its token.
    #[track_caller]
    pub(crate) fn create_key(&self, request: &Value) -> String {
        let created = self.post("/api-keys", request).ok(201);
        created["token"].as_str().expect("a token").to_owned()
    }

    /// Removes the first team of the instance.
    pub(crate) fn remove_first_team(&self) -> Result<(), RemoveTeamError> {
        self.remove_team(self.team(), UnsentEmails::Cancel)
    }

    fn remove_team(&self, team: TeamId, unsent: UnsentEmails) -> Result<(), RemoveTeamError> {
        self.block_on(self.services().team_removals.remove(team, unsent))
    }

    /// Marks the team's domain `name` as verified, without a check.
    pub(crate) fn assume_verified(&self, name: &str) {
        let name = DomainName::parse(name).expect("a domain name");
        let assumed = self.services().domains.add_verified(Actor::CommandLine.in_team(self.team()), name);
        self.block_on(assumed).expect("the team has the domain");
    }

    /// Returns the id of the team's domain `name`.
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

    pub(crate) fn get(&self, path: &str) -> ApiResponse {
        self.server.call("GET", path, &self.key, &[], None)
    }

    pub(crate) fn post(&self, path: &str, body: &Value) -> ApiResponse {
        self.server.call("POST", path, &self.key, &[], Some(body.to_string().as_bytes()))
    }

    /// Removes the team.
    pub(crate) fn remove(&self, unsent: UnsentEmails) -> Result<(), RemoveTeamError> {
        self.server.remove_team(self.team, unsent)
    }

    /// Adds an owner with this address to the team.
    pub(crate) fn add_owner(&self, address: &str) {
        let address = EmailAddress::parse(address).expect("an address");
        let added = users::add(
            &self.server.services().context,
            Actor::CommandLine.in_team(self.team),
            address,
            Some(Role::Owner),
        );
        self.server.block_on(added).expect("the owner is added");
    }

    /// Stores the totals of the current UTC day: `sent` recipients, with `bounced` permanent bounces.
    pub(crate) fn put_bounces(&self, sent: u64, bounced: u64) {
        let totals = DayTotals { sent, sent_and_bounced: bounced, ..DayTotals::default() };
        self.server.put_totals_of(self.team, totals);
    }

    /// Stores an exhausted delivery to a webhook endpoint of the team and returns its id.
    pub(crate) fn add_webhook_delivery(&self, webhook: &str) -> String {
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

    /// Waits until the email has the last event `last_event`.
    #[track_caller]
    pub(crate) fn wait_for(&self, id: &str, last_event: &str) {
        retry_until_ok(last_event, || match &self.get(&format!("/emails/{id}")).ok(200)["last_event"] {
            reached if reached == last_event => Ok(()),
            other => Err(other.to_string()),
        });
    }
}

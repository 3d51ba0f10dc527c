//! Two teams on one instance: no team can read, change or reference resources of the other team.

use serde_json::{Value, json};

use crate::support::{Ids, OtherTeam, TestServer, email, every_route};

/// Ids of one resource of each kind that a team owns.
struct TeamResources {
    email: String,
    captured: String,
    attachment: String,
    domain: String,
    api_key: String,
    broadcast: String,
    suppression: String,
    template: String,
    topic: String,
    contact: String,
    contact_property: String,
    segment: String,
    log: String,
    webhook: String,
    webhook_event: String,
}

impl TeamResources {
    /// Creates the resources for `team`.
    fn create(team: &OtherTeam<'_>) -> Self {
        let email = team.send(&json!({
            "scheduled_at": "in 1 hour", "attachments": [{ "filename": "a.txt", "content": "YQ==" }],
        }));
        let read = team.get(&format!("/emails/{email}")).ok(200);
        let listed = team.post("/suppressions", &json!({ "email": "listed@example.net" })).ok(201);
        let first = |path: &str| team.get(path).ok(200)["data"][0]["id"].as_str().unwrap().to_owned();
        let log = team.get("/domains");
        let create = |path: &str, body: Value| team.post(path, &body).ok(201)["id"].as_str().unwrap().to_owned();
        let webhook = json!({ "endpoint": "https://hooks.example/theirs", "events": ["email.opened"] });
        let webhook = create("/webhooks", webhook);
        team.send(&json!({ "to": "captured@example.net" }));
        let captured = team.get("/captured?to=captured%40example.net&wait=20s").ok(200)["data"][0]["id"].clone();
        Self {
            captured: captured.as_str().expect("a captured message").to_owned(),
            webhook_event: team.add_webhook_delivery(&webhook),
            webhook,
            broadcast: create("/broadcasts", json!({ "from": "hello@other.example", "subject": "Theirs" })),
            template: create("/templates", json!({ "name": "Theirs", "alias": "theirs", "html": "<p>Hi</p>" })),
            topic: create("/topics", json!({ "name": "Theirs", "default_subscription": "opt_out" })),
            contact: create("/contacts", json!({ "email": "theirs@example.net" })),
            segment: create("/segments", json!({ "name": "Theirs" })),
            contact_property: create("/contact-properties", json!({ "key": "theirs", "type": "string" })),
            attachment: read["attachments"][0]["id"].as_str().unwrap().to_owned(),
            email,
            domain: first("/domains"),
            api_key: first("/api-keys"),
            suppression: listed["id"].as_str().unwrap().to_owned(),
            log: log.header("x-request-id").unwrap().to_owned(),
        }
    }

    fn ids(&self) -> Ids<'_> {
        let Self { email, captured, attachment, domain, api_key, contact, contact_property, segment, .. } = self;
        let Self { broadcast, suppression, template, topic, log, webhook, webhook_event, .. } = self;
        Ids {
            email,
            captured,
            attachment,
            domain,
            api_key,
            broadcast,
            contact,
            contact_property,
            segment,
            suppression,
            template,
            topic,
            log,
            webhook,
            webhook_event,
        }
    }

    /// Returns the responses to `team` for every resource.
    fn read_as(&self, team: &OtherTeam<'_>) -> Vec<Value> {
        let Self { email, attachment, domain, api_key: _, contact, contact_property, segment, .. } = self;
        let Self { suppression, template, topic, log, webhook, webhook_event, .. } = self;
        let paths = [
            format!("/webhooks/{webhook}"),
            format!("/webhooks/{webhook}/events"),
            format!("/webhooks/{webhook}/events/{webhook_event}"),
            format!("/webhooks/{webhook}/events/{webhook_event}/attempts"),
            format!("/captured/{}", self.captured),
            "/captured".to_owned(),
            format!("/emails/{email}"),
            format!("/emails/{email}/attachments/{attachment}"),
            format!("/domains/{domain}"),
            format!("/contacts/{contact}"),
            format!("/segments/{segment}"),
            format!("/segments/{segment}/contacts"),
            format!("/templates/{template}"),
            format!("/topics/{topic}"),
            format!("/broadcasts/{}", self.broadcast),
            format!("/contact-properties/{contact_property}"),
            format!("/logs/{log}"),
            "/api-keys".to_owned(),
            "/emails".to_owned(),
            format!("/suppressions/{suppression}"),
            "/suppressions?origin=manual".to_owned(),
        ];
        paths.iter().map(|path| team.get(path).ok(200)).collect()
    }
}

/// Routes that return 200 for the id of a resource that does not exist, as the compatible API does.
const OK_FOR_UNKNOWN_ID: &[(&str, &str)] =
    &[("DELETE", "/segments/{id}"), ("DELETE", "/audiences/{id}"), ("DELETE", "/audiences/{id}/contacts/{contact_id}")];

#[test]
fn a_resource_of_another_team_is_not_found_on_any_route() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = TeamResources::create(&other);
    let before = theirs.read_as(&other);
    let routes = every_route(&server);
    for route in routes.iter().filter(|route| route.has_parameters()) {
        let body = route.body().map(|body| body.to_string());
        let call = |ids| {
            let path = route.path_with(ids) + route.required_query();
            server.call(&route.method, &path, server.key(), &[], body.as_deref().map(str::as_bytes))
        };

        let (foreign, unknown) = (call(theirs.ids()), call(Ids::UNKNOWN));

        let is_ok = OK_FOR_UNKNOWN_ID.contains(&(route.method.as_str(), route.path.as_str()));
        assert_eq!(foreign.status, if is_ok { 200 } else { 404 }, "{route}: {}", foreign.json);
        let without_id = |ids: Ids<'_>, body: &Value| {
            [route.id_from(&ids).as_str(), ids.contact].iter().fold(body.to_string(), |text, id| text.replace(id, ""))
        };
        assert_eq!(
            without_id(theirs.ids(), &foreign.json),
            without_id(Ids::UNKNOWN, &unknown.json),
            "{route}: the response to an id of another team differs from the response to an unknown id"
        );
    }
    assert_eq!(theirs.read_as(&other), before, "a request changed a resource of the other team");
}

/// Routes that return 200 although the resource of the named parameter does not exist.
const OK_FOR_UNKNOWN_PARAMETER: &[(&str, &str, &str)] = &[
    ("DELETE", "/audiences/{id}/contacts/{contact_id}", "id"),
    ("DELETE", "/audiences/{id}/contacts/{contact_id}", "contact_id"),
];

#[test]
fn a_path_that_mixes_ids_of_two_teams_is_not_found() {
    let server = TestServer::start();
    let (team, other) = (server.other_team("Own", "own.example"), server.other_team("Other", "other.example"));
    let (own, theirs) = (TeamResources::create(&team), TeamResources::create(&other));
    // The routes below combine a resource of one team with a resource of the other team.
    for (team, resources) in [(&team, &own), (&other, &theirs)] {
        team.post(&format!("/contacts/{}/segments/{}", resources.contact, resources.segment), &json!(null)).ok(200);
    }
    let before = (own.read_as(&team), theirs.read_as(&other));
    let mut tried = 0;
    for route in every_route(&server).iter().filter(|route| route.parameters().len() > 1) {
        let body = route.body().map(|body| body.to_string());
        for parameter in route.parameters() {
            let call = |ids| {
                let path = route.path_with_other_id(own.ids(), ids, parameter);
                server.call(&route.method, &path, team.key(), &[], body.as_deref().map(str::as_bytes))
            };

            let (foreign, unknown) = (call(theirs.ids()), call(Ids::UNKNOWN));

            let is_ok = OK_FOR_UNKNOWN_PARAMETER.contains(&(route.method.as_str(), route.path.as_str(), parameter));
            assert_eq!(foreign.status, if is_ok { 200 } else { 404 }, "{route} {parameter}: {}", foreign.json);
            let without_ids = |ids: Ids<'_>, body: &Value| {
                let named = [route.id_from(&ids).as_str(), ids.attachment, ids.segment, ids.contact].map(str::to_owned);
                named.iter().fold(body.to_string(), |text, id| text.replace(id, ""))
            };
            assert_eq!(
                without_ids(theirs.ids(), &foreign.json),
                without_ids(Ids::UNKNOWN, &unknown.json),
                "{route} {parameter}: the response to an id of another team differs from the response to an unknown id"
            );
            tried += 1;
        }
    }
    assert!(tried >= 10, "too few routes with two ids: {tried}");
    assert_eq!((own.read_as(&team), theirs.read_as(&other)), before, "a request changed a resource");
}

#[test]
fn a_list_omits_other_teams_and_refuses_their_ids_as_cursors() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = TeamResources::create(&other);
    for (path, id) in [
        ("/emails?", &theirs.email),
        ("/domains?", &theirs.domain),
        ("/api-keys?", &theirs.api_key),
        ("/contacts?", &theirs.contact),
        ("/contact-properties?", &theirs.contact_property),
        ("/segments?", &theirs.segment),
        ("/suppressions?", &theirs.suppression),
        ("/suppressions?origin=manual&", &theirs.suppression),
        ("/templates?", &theirs.template),
        ("/topics?", &theirs.topic),
        ("/broadcasts?", &theirs.broadcast),
        ("/webhooks?", &theirs.webhook),
    ] {
        let list = server.get(path.trim_end_matches(['?', '&'])).ok(200).to_string();
        assert!(!list.contains(id.as_str()), "{path}");

        for cursor in ["after", "before"] {
            let refused = server.get(&format!("{path}{cursor}={id}")).refusal();
            assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{path} {cursor}: {refused}");
        }
    }
}

#[test]
fn an_id_of_another_team_in_a_body_is_not_found() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = TeamResources::create(&other);
    let topic = server.add_topic(ringmail::topics::Subscription::OptIn).to_string();

    let key = json!({ "name": "Key", "domain_id": theirs.domain });
    server.post("/api-keys", &key).refused(404, "not_found", "Domain not found");
    let removal = json!({ "ids": [theirs.suppression] });
    assert_eq!(server.post("/suppressions/batch/remove", &removal).ok(200), json!({ "data": [] }));
    other.get(&format!("/suppressions/{}", theirs.suppression)).ok(200);
    for (field, item, message) in [
        ("segments", json!({ "id": theirs.segment }), "Segment not found"),
        ("topics", json!({ "id": theirs.topic, "subscription": "opt_in" }), "Topic not found"),
    ] {
        let contact = json!({ "email": "ada@example.net", field: [item] });
        server.post("/contacts", &contact).refused(404, "not_found", message);
        let prefixed = format!("contacts.0: {message}");
        server.post("/contacts/batch", &json!([contact])).refused(404, "not_found", &prefixed);
    }
    let named = json!({ "contacts": [{ "id": theirs.contact }, { "email": "theirs@example.net" }] });
    assert_eq!(server.post("/contacts/batch/get", &named).ok(200)["data"], json!([]));
    let removal = json!({ "ids": [theirs.contact] });
    assert_eq!(server.post("/contacts/batch/remove", &removal).ok(200), json!({ "data": [] }));
    other.get(&format!("/contacts/{}", theirs.contact)).ok(200);
    for (field, id, refusal) in [
        ("segment_id", &theirs.segment, "Segment not found"),
        ("audience_id", &theirs.segment, "Segment not found"),
        ("topic_id", &theirs.topic, "Topic not found"),
    ] {
        let broadcast = json!({ "from": "hello@example.com", "subject": "June", field: id });
        server.post("/broadcasts", &broadcast).refused(404, "not_found", refusal);
    }
    other.post(&format!("/templates/{}/publish", theirs.template), &json!({})).ok(200);
    for template in [theirs.template.as_str(), "theirs"] {
        let body = json!({ "from": "a@example.com", "to": "b@example.net", "template": { "id": template } });
        server.post("/emails", &body).refused(404, "not_found", "Template not found");
        server.get(&format!("/templates/{template}")).refused(404, "not_found", "Template not found");
    }
    let under_topic = json!({ "from": "hello@other.example", "topic_id": topic });
    other.post("/emails", &email(&under_topic)).refused(404, "not_found", "Topic not found");
}

#[test]
fn an_attachment_of_another_team_is_not_found_under_an_own_email() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = TeamResources::create(&other);
    let own = server.send(&json!({ "attachments": [{ "filename": "b.txt", "content": "Yg==" }] }));

    let response = server.get(&format!("/emails/{own}/attachments/{}", theirs.attachment));

    response.refused(404, "not_found", "Attachment not found");
}

#[test]
fn a_delivery_of_another_team_is_not_found_under_an_own_endpoint() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");
    let theirs = TeamResources::create(&other);
    let webhook = json!({ "endpoint": "https://hooks.example/mail", "events": ["email.opened"] });
    let own = server.post("/webhooks", &webhook).ok(201)["id"].as_str().unwrap().to_owned();
    let path = format!("/webhooks/{own}/events/{}", theirs.webhook_event);

    for response in
        [server.get(&path), server.get(&format!("{path}/attempts")), server.post(&format!("{path}/replay"), &json!({}))]
    {
        response.refused(404, "not_found", "Webhook event not found");
    }
    let cursor = server.get(&format!("/webhooks/{own}/events?after={}", theirs.webhook_event)).refusal();
    assert!(cursor.starts_with("422 validation_error: Invalid cursor."), "{cursor}");
}

#[test]
fn a_team_cannot_send_from_the_domain_of_another_team() {
    let server = TestServer::start();
    let other = server.other_team("Other", "other.example");

    let own = server.post("/emails", &email(&json!({ "from": "hello@other.example" }))).refusal();
    let theirs = other.post("/emails", &email(&json!({}))).refusal();

    assert!(own.starts_with("403 validation_error: The other.example domain is not verified."), "{own}");
    assert!(theirs.starts_with("403 validation_error: The example.com domain is not verified."), "{theirs}");
}

#[test]
fn two_teams_can_have_a_domain_with_the_same_name() {
    let server = TestServer::start();
    let other = server.other_team("Other", "example.com");

    let own = server.send(&json!({}));
    let theirs = other.send(&json!({}));

    server.wait_for(&own, "delivered");
    server.get(&format!("/emails/{theirs}")).refused(404, "not_found", "Email not found");
    other.get(&format!("/emails/{own}")).refused(404, "not_found", "Email not found");
}

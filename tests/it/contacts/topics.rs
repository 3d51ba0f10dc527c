//! `GET` and `PATCH /contacts/{id or email}/topics`.

use serde_json::{Value, json};

use super::{UNKNOWN_ID, audience_state, create, create_topic, event_types_since, id, topic_choices};
use crate::support::{TestServer, assert_body};

const PATH: &str = "/contacts/ada@example.net/topics";

fn choice(topic: &str, subscription: &str) -> Value {
    json!({ "id": topic, "subscription": subscription })
}

#[test]
fn every_topic_is_listed_with_the_current_subscription() {
    let server = TestServer::start();
    create_topic(&server, "News", "opt_in");
    let fields = json!({
        "name": "Offers", "default_subscription": "opt_out", "description": "Now and then.", "visibility": "public",
    });
    let offers = server.post("/topics", &fields).ok(201);
    create(&server, "ada@example.net", &json!({ "topics": [choice(id(&offers), "opt_in")] }));

    let list = server.get(PATH).ok(200);

    assert_body!(list);
}

#[test]
fn the_topics_of_a_contact_are_paged() {
    let server = TestServer::start();
    let topics: Vec<String> = (0..3).map(|number| create_topic(&server, &format!("{number}"), "opt_in")).collect();
    create(&server, "ada@example.net", &json!({}));
    let ids = |query: &str| -> Vec<String> {
        let list = server.get(&format!("{PATH}?{query}")).ok(200);
        list["data"].as_array().unwrap().iter().map(|row| id(row).to_owned()).collect()
    };

    assert_eq!(ids("limit=2"), [topics[2].clone(), topics[1].clone()]);
    assert_eq!(ids(&format!("after={}", topics[1])), [topics[0].clone()]);
    assert_eq!(ids(&format!("before={}", topics[1])), [topics[2].clone()]);
    let refused = server.get(&format!("{PATH}?after={UNKNOWN_ID}")).refusal();
    assert!(refused.starts_with("422 validation_error: Invalid cursor."), "{refused}");
}

#[test]
fn a_choice_replaces_the_earlier_choice_on_every_route() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    let contact = |subscription| json!({ "email": "ada@example.net", "topics": [choice(&news, subscription)] });
    create(&server, "ada@example.net", &json!({ "unsubscribed": true, "topics": [choice(&news, "opt_in")] }));
    let opt_out = || server.patch(PATH, &json!([choice(&news, "opt_out")])).ok(200);
    let opt_ins: [&dyn Fn(); 3] = [
        &|| drop(server.patch(PATH, &json!([choice(&news, "opt_in")])).ok(200)),
        &|| drop(server.post("/contacts", &contact("opt_in")).ok(201)),
        &|| {
            drop(
                server
                    .post("/contacts/batch?on_conflict=upsert", &json!([contact("opt_out"), contact("opt_in")]))
                    .ok(200),
            )
        },
    ];
    for opt_in in opt_ins {
        opt_out();

        opt_in();

        assert_eq!(topic_choices(&server, "ada@example.net"), [(news.clone(), "opt_in".to_owned(), true)]);
        let ada = server.get("/contacts/ada@example.net").ok(200);
        assert_eq!(ada["unsubscribed"], json!(true), "the opt-out of all email is independent of the topic choice");
    }
}

#[test]
fn choices_are_sent_as_an_array_and_returned_in_an_object() {
    let server = TestServer::start();
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_out"));
    let created = create(&server, "ada@example.net", &json!({}));

    let response = server.patch(PATH, &json!([choice(&news, "opt_out"), choice(&offers, "opt_in")])).ok(200);

    assert_eq!((&response["id"], &response["contact_id"]), (&created["id"], &created["id"]));
    assert_eq!(response["topics"], server.get(PATH).ok(200)["data"]);
    let (out, into) = ("opt_out".to_owned(), "opt_in".to_owned());
    assert_eq!(topic_choices(&server, id(&created)), [(offers.clone(), into, true), (news.clone(), out, true)]);
    let events = server.audience_events();
    for (event, kind, topic, name) in
        [(&events[1], "contact.topic_opt_out", &news, "News"), (&events[2], "contact.topic_opt_in", &offers, "Offers")]
    {
        let data = &event["data"];
        assert_eq!(event["type"], kind);
        assert_eq!((&data["topic_id"], &data["topic_name"]), (&json!(topic), &json!(name)));
        assert_eq!((&data["id"], &data["source"]), (&created["id"], &json!("api")));
    }
    assert_body!(json!({ "answer": response, "event": events[1] }));
}

#[test]
fn a_choice_emits_an_event_only_if_it_changes_the_subscription() {
    let server = TestServer::start();
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_out"));
    create(&server, "ada@example.net", &json!({}));
    let steps: [(Value, &[&str]); 7] = [
        (json!([]), &[]),
        // An explicit choice of the default.
        (json!([choice(&news, "opt_in")]), &[]),
        (json!([choice(&news, "opt_in")]), &[]),
        (json!([choice(&news, "opt_out"), choice(&offers, "opt_out")]), &["contact.topic_opt_out"]),
        (json!([choice(&news, "opt_out")]), &[]),
        // If a request has two choices about one topic, the later choice applies.
        (json!([choice(&news, "opt_in"), choice(&news, "opt_out")]), &[]),
        (
            json!([choice(&news, "opt_in"), choice(&offers, "opt_in")]),
            &["contact.topic_opt_in", "contact.topic_opt_in"],
        ),
    ];
    for (choices, events) in steps {
        let before = server.audience_events().len();

        server.patch(PATH, &choices).ok(200);

        assert_eq!(event_types_since(&server, before), events, "{choices}");
    }
    assert!(topic_choices(&server, "ada@example.net").iter().all(|(_, _, explicit)| *explicit));
}

#[test]
fn a_topic_choice_does_not_resubscribe_an_unsubscribed_contact() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({ "unsubscribed": true }));

    server.patch(PATH, &json!([choice(&news, "opt_in")])).ok(200);

    assert_eq!(server.get("/contacts/ada@example.net").ok(200)["unsubscribed"], json!(true));
}

#[test]
fn a_deleted_topic_is_not_listed_for_a_contact() {
    let server = TestServer::start();
    let (news, offers) = (create_topic(&server, "News", "opt_in"), create_topic(&server, "Offers", "opt_in"));
    create(&server, "ada@example.net", &json!({ "topics": [choice(&news, "opt_out"), choice(&offers, "opt_out")] }));

    server.delete(&format!("/topics/{news}")).ok(200);

    assert_eq!(topic_choices(&server, "ada@example.net"), [(offers, "opt_out".to_owned(), true)]);
    server.patch(PATH, &json!([choice(&news, "opt_in")])).refused(404, "not_found", "Topic not found");
}

#[test]
fn an_invalid_choice_is_reported_with_its_index_and_nothing_is_stored() {
    let server = TestServer::start();
    let news = create_topic(&server, "News", "opt_in");
    create(&server, "ada@example.net", &json!({}));
    let theirs = server.other_team("Other", "other.example");
    let foreign = theirs.post("/topics", &json!({ "name": "Theirs", "default_subscription": "opt_in" })).ok(201);
    let before = audience_state(&server);
    let out = choice(&news, "opt_out");
    for (body, refusal) in [
        (json!([out, choice(UNKNOWN_ID, "opt_out")]), "404 not_found: Topic not found"),
        (json!([out, choice(id(&foreign), "opt_out")]), "404 not_found: Topic not found"),
        (json!({ "topics": [out] }), "422 validation_error: Invalid request body: invalid type: map"),
        (json!({}), "422 validation_error: Invalid request body: invalid type: map"),
        (json!(null), "422 validation_error: Invalid request body: invalid type: null"),
        (json!([out, news]), "422 validation_error: Invalid `[1]` field: invalid type: string"),
        (json!([[news, "opt_out"]]), "422 validation_error: Invalid `[0]` field: invalid type: sequence"),
        (json!([out, {}]), "422 missing_required_field: Missing `1.id` field."),
        (json!([out, { "id": news }]), "422 missing_required_field: Missing `1.subscription` field."),
        (json!([out, choice("x", "opt_out")]), "422 validation_error: The `1.id` must be a valid UUID."),
        (json!([out, choice(&news, "out")]), "422 validation_error: Invalid `1.subscription` field: use `opt_in` or"),
        (json!([{ "topic_id": news }]), "422 validation_error: Invalid `[0].topic_id` field: unknown field"),
        (vec![out.clone(); 501].into(), "422 validation_error: Invalid request body: more than 500 items"),
    ] {
        let refused = server.patch(PATH, &body).refusal();

        assert!(refused.starts_with(refusal), "{body}: {refused}");
    }
    assert_eq!(audience_state(&server), before);
}

//! The owner of each table: the one module that reads and writes its rows.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::{root, sources};

/// Tables that further modules name, with the reason.
const SHARED: &[(&str, &[&str], &str)] = &[
    ("EMAILS", &["emails", "erasure"], "a page of an erasure is a range of this table"),
    ("DUE", &["delivery", "emails"], "accepting an email queues its groups in the same transaction"),
    ("ATTEMPTS", &["delivery", "emails"], "the attempts of an email are listed and deleted with the email"),
    ("EMAIL_INSIGHTS", &["emails", "insights"], "they are deleted with the email, and insights uses emails"),
    ("PENDING_BROADCAST_INSIGHTS", &["broadcast_rows", "insights"], "the start of a broadcast requests its check"),
    ("API_KEYS", &["api_keys", "audit"], "an entry has the name of its actor, and api_keys uses audit"),
    ("USERS", &["audit", "users"], "an entry has the address of its actor, and users uses audit"),
    ("CONTACTS", &["contacts", "segments"], "a filter is evaluated on the fields of a contact"),
];

#[test]
fn each_table_has_one_owner() {
    let schema = fs::read_to_string(root().join("src/tables/mod.rs")).unwrap();
    let declared = schema.lines().filter_map(|line| line.strip_prefix("pub const ")?.split_once(": Table<"));
    let mut users: BTreeMap<&str, BTreeSet<String>> = declared.map(|(table, _)| (table, BTreeSet::new())).collect();
    for file in sources() {
        let module = file.path.trim_end_matches(".rs").split('/').next().unwrap_or_default().to_owned();
        if module == "tables" {
            continue;
        }
        for (_, name) in &file.names {
            let table = name.strip_prefix("crate::tables::").unwrap_or_default();
            if let Some(users) = users.get_mut(table) {
                users.insert(module.clone());
            }
        }
    }

    let is_shared = |table: &str, users: &BTreeSet<String>| {
        SHARED.iter().any(|(shared, modules, reason)| {
            *shared == table && !reason.is_empty() && users.iter().eq(modules.iter().copied())
        })
    };
    let wrong: Vec<_> = users.iter().filter(|(table, users)| users.len() != 1 && !is_shared(table, users)).collect();
    assert!(users.len() > 40, "the tables in src/tables/mod.rs were not found");
    assert!(wrong.is_empty(), "tables without exactly one owner: {wrong:#?}");
    for (table, ..) in SHARED {
        assert!(users.get(table).is_some_and(|users| users.len() > 1), "{table} has one owner and needs no exception");
    }
}

/// Tables whose rows other code deletes with their team, with the reason.
const DELETED_ELSEWHERE: &[(&str, &str)] = &[
    ("TEAMS", "the removal of a team deletes its row first"),
    ("REMOVED_TEAMS", "the record of the removal is deleted last"),
    ("AUDIT_LOG", "the entries of a team stay for their retention period"),
    ("BROADCASTS", "the content and the counts of a broadcast are deleted with its row"),
    ("EMAILS", "an email in flight is deleted when its delivery ends"),
    ("BROADCAST_EMAILS", "an email in flight is deleted when its delivery ends"),
    ("MEMBERSHIPS", "a user without another team is deleted with its membership"),
];

#[test]
fn each_table_of_a_team_is_deleted_with_the_team() {
    let schema = fs::read_to_string(root().join("src/tables/mod.rs")).unwrap();
    let of_team = schema.lines().filter_map(|line| line.strip_prefix("pub const ")?.split_once(": Table<(TeamId,"));
    let of_team: Vec<&str> = of_team.map(|(table, _)| table).collect();
    let (_, list) = schema.split_once("\nof_team! {\n").unwrap();
    let list: BTreeSet<&str> =
        list.lines().take_while(|line| *line != "}").map(|line| line.trim_matches([' ', ','])).collect();

    assert!(of_team.len() > 25, "the tables of teams were not found");
    for table in of_team {
        let elsewhere = DELETED_ELSEWHERE.iter().any(|(other, reason)| *other == table && !reason.is_empty());
        assert!(
            list.contains(table) != elsewhere,
            "{table} must be in the list of src/tables/mod.rs or in the list here"
        );
    }
}

//! Converts contacts to CSV lines. Pure.

use std::borrow::Cow;

use super::super::csv::{escape_formula, push_line};
use super::super::import::PROPERTY_PREFIX;
use super::page::ExportedContact;
use crate::base::id::Id;

/// Columns of an export that precede the columns of the properties.
const COLUMNS: [&str; 10] = [
    "id",
    "email",
    "first_name",
    "last_name",
    "unsubscribed",
    "segment_ids",
    "topic_opt_in_ids",
    "topic_opt_out_ids",
    "created_at",
    "updated_at",
];

/// Column layout of one export.
#[derive(Clone, Debug)]
pub struct ExportColumns {
    /// Keys of the team's properties.
    keys: Vec<String>,
}

impl ExportColumns {
    /// Returns the layout for a team with these property keys.
    pub fn new(keys: Vec<String>) -> Self {
        Self { keys }
    }

    /// Returns the header line.
    pub fn header(&self) -> String {
        let properties: Vec<String> = self.keys.iter().map(|key| format!("{PROPERTY_PREFIX}{key}")).collect();
        let mut line = String::new();
        push_line(&mut line, COLUMNS.into_iter().chain(properties.iter().map(String::as_str)));
        line
    }

    /// Returns the line of a contact.
    pub fn line(&self, contact: &ExportedContact) -> String {
        let ExportedContact {
            id,
            email,
            first_name,
            last_name,
            unsubscribed,
            segments,
            opt_ins,
            opt_outs,
            created_at,
            updated_at,
            properties,
        } = contact;
        let (id, unsubscribed) = (id.to_string(), unsubscribed.to_string());
        let name = |name: &'_ Option<String>| name.clone().unwrap_or_default();
        let (first_name, last_name) = (name(first_name), name(last_name));
        let (segments, opt_ins, opt_outs) = (join_ids(segments), join_ids(opt_ins), join_ids(opt_outs));
        let value = |key: &String| {
            let exact = properties.get(key);
            let ignoring_case =
                || properties.iter().find(|(other, _)| other.eq_ignore_ascii_case(key)).map(|(_, text)| text);
            exact.or_else(ignoring_case).map_or("", String::as_str)
        };
        let cells = [
            &id,
            email,
            &first_name,
            &last_name,
            &unsubscribed,
            &segments,
            &opt_ins,
            &opt_outs,
            created_at,
            updated_at,
        ];
        let cells = cells.into_iter().map(String::as_str).chain(self.keys.iter().map(value));
        let cells: Vec<Cow<'_, str>> = cells.map(escape_formula).collect();
        let mut line = String::new();
        push_line(&mut line, cells.iter().map(AsRef::as_ref));
        line
    }
}

/// Returns the ids separated by spaces, as the import reads them.
fn join_ids<R>(ids: &[Id<R>]) -> String {
    ids.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::contact_properties::PropertyKind;
    use crate::contacts::import::{
        ColumnMapping, ContactImport, ExistingContacts, ImportItem, ImportOptions, ImportProperty, RunMode,
    };

    fn contact(email: &str) -> ExportedContact {
        ExportedContact {
            id: Id::MIN,
            email: email.to_owned(),
            first_name: None,
            last_name: None,
            unsubscribed: false,
            segments: Vec::new(),
            opt_ins: Vec::new(),
            opt_outs: Vec::new(),
            created_at: "2026-01-05T09:12:33.456Z".to_owned(),
            updated_at: "2026-01-05T09:12:34.456Z".to_owned(),
            properties: BTreeMap::new(),
        }
    }

    #[test]
    fn a_line_of_a_contact_contains_no_formula() {
        let sheet = ExportColumns::new(vec!["plan".to_owned(), "Seats".to_owned()]);
        let contact = ExportedContact {
            first_name: Some("=HYPERLINK(\"http://example.net\";\"click\")".to_owned()),
            last_name: Some("O'Hara, Jr".to_owned()),
            unsubscribed: true,
            segments: vec![Id::MAX],
            opt_outs: vec![Id::MIN, Id::MAX],
            properties: [("plan", "@SUM(A1)"), ("seats", "-5"), ("old", "x")].map(|(k, v)| (k.into(), v.into())).into(),
            ..contact("+a@example.com")
        };

        assert_eq!(
            sheet.header(),
            "id,email,first_name,last_name,unsubscribed,segment_ids,topic_opt_in_ids,topic_opt_out_ids,\
             created_at,updated_at,property:plan,property:Seats\r\n"
        );
        assert_eq!(
            sheet.line(&contact),
            "00000000-0000-0000-0000-000000000000,'+a@example.com,\
             \"'=HYPERLINK(\"\"http://example.net\"\";\"\"click\"\")\",\"O'Hara, Jr\",true,\
             ffffffff-ffff-ffff-ffff-ffffffffffff,,\
             00000000-0000-0000-0000-000000000000 ffffffff-ffff-ffff-ffff-ffffffffffff,\
             2026-01-05T09:12:33.456Z,2026-01-05T09:12:34.456Z,'@SUM(A1),'-5\r\n"
        );
    }

    /// Returns the items that an import reads from a file.
    fn import_items(file: &str, keys: &[String]) -> Vec<ImportItem> {
        let properties =
            keys.iter().map(|key| ImportProperty { key: key.clone(), kind: PropertyKind::String }).collect();
        let options = ImportOptions {
            mapping: ColumnMapping::default(),
            properties,
            existing: ExistingContacts::Upsert,
            run: RunMode::Write,
        };
        let mut import = ContactImport::new(options);
        import.feed(file.as_bytes()).unwrap();
        import.finish().unwrap();
        assert_eq!(import.take_errors(), []);
        std::iter::from_fn(|| import.next_batch()).flat_map(|batch| batch.items).collect()
    }

    fn name() -> impl Strategy<Value = Option<String>> {
        prop::option::of(prop_oneof!["[a-z\"',;=+@ -]{1,8}", "\\PC{1,12}"])
    }

    fn text() -> impl Strategy<Value = Option<String>> {
        prop::option::of(prop_oneof!["[a-z\"',;=+@\t\r\n -]{1,8}", "\\PC{1,12}"])
    }

    proptest! {
        #[test]
        fn an_import_reads_the_exported_contacts(
            contacts in prop::collection::vec(("[a-z'+=-]{1,8}", name(), name(), any::<bool>(), text(), text()), 1..8),
            segments in prop::collection::vec(prop_oneof![Just(Id::MIN), Just(Id::MAX)], 0..3),
            topic_ids in prop::array::uniform2(prop::collection::vec(prop_oneof![Just(Id::MIN), Just(Id::MAX)], 0..3)),
        ) {
            let keys = ["plan".to_owned(), "Seats".to_owned()];
            let [opt_ins, opt_outs] = topic_ids;
            let contacts: Vec<ExportedContact> = contacts
                .into_iter()
                .map(|(local, first_name, last_name, unsubscribed, plan, seats)| {
                    let values = keys.iter().cloned().zip([plan, seats]);
                    ExportedContact {
                        first_name,
                        last_name,
                        unsubscribed,
                        segments: segments.clone(),
                        opt_ins: opt_ins.clone(),
                        opt_outs: opt_outs.clone(),
                        properties: values.filter_map(|(key, value)| value.map(|value| (key, value))).collect(),
                        ..contact(&format!("{local}@example.com"))
                    }
                })
                .collect();
            let sheet = ExportColumns::new(keys.to_vec());
            let lines: String = contacts.iter().map(|contact| sheet.line(contact)).collect();

            let items = import_items(&(sheet.header() + &lines), &keys);

            let expected: Vec<ImportItem> = contacts
                .into_iter()
                .map(|contact| ImportItem {
                    email: contact.email.parse().unwrap(),
                    first_name: contact.first_name,
                    last_name: contact.last_name,
                    unsubscribed: Some(contact.unsubscribed),
                    properties: contact.properties,
                    segments: contact.segments,
                    opt_ins: contact.opt_ins,
                    opt_outs: contact.opt_outs,
                })
                .collect();
            prop_assert_eq!(items, expected);
        }
    }
}

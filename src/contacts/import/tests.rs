//! Tests of whole files, passed to the import in chunks.

use proptest::prelude::*;

use super::super::csv::{escape_formula, push_line};
use super::*;

fn options() -> ImportOptions {
    let property = |key: &str, kind| ImportProperty { key: key.to_owned(), kind };
    ImportOptions {
        mapping: ColumnMapping::default(),
        properties: vec![property("plan", PropertyKind::String), property("seats", PropertyKind::Number)],
        existing: ExistingContacts::Upsert,
        run: RunMode::Write,
    }
}

/// An import after the whole file, with its batches.
struct FinishedImport {
    batches: Vec<ImportBatch>,
    import: ContactImport,
}

/// Imports a file in chunks of `step` bytes.
fn run_import(file: &[u8], step: usize, options: ImportOptions) -> Result<FinishedImport, FileError> {
    let mut import = ContactImport::new(options);
    let mut batches = Vec::new();
    for chunk in file.chunks(step) {
        import.feed(chunk)?;
        batches.extend(std::iter::from_fn(|| import.next_batch()));
    }
    import.finish()?;
    batches.extend(std::iter::from_fn(|| import.next_batch()));
    Ok(FinishedImport { batches, import })
}

fn items(file: &str) -> Vec<ImportItem> {
    run_import(file.as_bytes(), 1_000, options()).unwrap().batches.into_iter().flat_map(|batch| batch.items).collect()
}

/// Returns the errors of a file as `line sentence`.
fn errors(file: &[u8]) -> Vec<String> {
    let FinishedImport { batches, mut import } = run_import(file, 1_000, options()).unwrap();
    for batch in batches {
        let outcomes = vec![ImportOutcome::Created; batch.items.len()];
        import.settle(batch, outcomes);
    }
    import.take_errors().iter().map(|error| format!("{} {}", error.line, error.sentence())).collect()
}

#[test]
fn cells_set_fields_and_empty_cells_and_rows_are_ignored() {
    let file = "\u{feff}email;first_name;last_name;unsubscribed;property:plan;property:seats;Notes\r\n\
                Ada@Example.com;Ada;\"Love;lace\";YES;pro; 12.5 ;=SUM(A1)\r\n\
                ;;;;;;\r\n\
                b@example.com;;;0;;;\r\n\
                '=c@example.com;'-C;' D;;'+1;'-2;x";

    let items = items(file);

    assert_eq!(items.len(), 3);
    assert_eq!(items[0].email.to_string(), "Ada@example.com");
    assert_eq!((items[0].first_name.as_deref(), items[0].last_name.as_deref()), (Some("Ada"), Some("Love;lace")));
    assert_eq!((items[0].unsubscribed, items[1].unsubscribed, items[2].unsubscribed), (Some(true), Some(false), None));
    assert_eq!(items[0].properties, [("plan", "pro"), ("seats", "12.5")].map(|(k, v)| (k.into(), v.into())).into());
    assert_eq!((&items[1].first_name, items[1].properties.len()), (&None, 0));
    assert_eq!(items[2].email.to_string(), "=c@example.com");
    assert_eq!((items[2].first_name.as_deref(), items[2].last_name.as_deref()), (Some("-C"), Some("' D")));
    assert_eq!(items[2].properties, [("plan", "+1"), ("seats", "-2")].map(|(k, v)| (k.into(), v.into())).into());
}

#[test]
fn the_delimiter_with_the_best_match_is_selected() {
    for (header, row) in [
        ("email,first_name", "a@example.com,A"),
        ("email;first_name", "a@example.com;A"),
        ("email\tfirst_name", "a@example.com\tA"),
        ("\"email\";\"first_name\"", "\"a@example.com\";A"),
        ("email;first_name;\"last, first, middle\"", "a@example.com;A;"),
        ("a,b,c;email;first_name;d", "x;a@example.com;A;"),
        ("email,first_name;,x", "a@example.com,A,"),
    ] {
        let items = items(&format!("{header}\n{row}\n"));

        assert_eq!(items.len(), 1, "{header}");
        assert_eq!(items[0].email.to_string(), "a@example.com", "{header}");
    }
    assert_eq!(items("email\na@example.com\nb@example.com")[1].email.to_string(), "b@example.com");
}

#[test]
fn an_invalid_row_is_reported_and_the_others_are_read() {
    for (rows, expected) in [
        ("a@example.com,x,no\nnobody,x,no\n", &["3 `email`: there is no `@`; write `user@example.com`"][..]),
        (",x,no\n", &["2 `email`: there is no address"]),
        ("Ann <a@example.com>,x,no\n", &["2 `email`: a display name"]),
        ("a@example.com,x\nb@example.com,x,no,y\n", &["2 the row has 2 cells", "3 the row has 4 cells"]),
        ("a@example.com,x,maybe\n", &["2 `Unsubscribed`: `maybe` is not yes, true"]),
        ("a@example.com,\"x\"y,no\nb@example.com,x,no\n", &["2 text follows a closing quote"]),
        ("a@example.com,x,no\n\"b@example.com,x,no\n", &["3 a quote is opened and never closed"]),
        ("a@example.com,x,no\n", &[]),
        ("\"a\n\nb\"@example.com,x,no\nc,x,no\n", &["2 text follows", "5 `email`: there is no `@`"]),
    ] {
        let found = errors(format!("email,plan,Unsubscribed\n{rows}").as_bytes());

        assert_eq!(found.len(), expected.len(), "{rows}: {found:?}");
        for (found, expected) in found.iter().zip(expected) {
            assert!(found.starts_with(expected), "{rows}: {found}");
        }
    }
    let long = format!("email,first_name,last_name\na@example.com,{},\nb@example.com,,\"B\nC\"\n", "x".repeat(501));
    let found = errors(long.as_bytes());
    assert_eq!(found.len(), 2, "{found:?}");
    assert!(found[1].starts_with("3 `last_name`: it may have 500 characters"), "{found:?}");
    let found = errors(b"email,property:seats,notes\na@example.com,many,\nb@example.com,NaN,\nc@example.com,1,\xff\n\xe4@example.com,1,\n");
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("`property:seats`: `many` is not a number"), "{found:?}");
    assert!(found[2].starts_with("5 `email`: it is not UTF-8"), "{found:?}");
}

#[test]
fn segments_are_given_by_their_ids() {
    let (one, two) = ("019b8d6d-f9b0-7000-8000-000000000001", "019b8d6d-f9b0-7000-8000-000000000002");
    let mapping = ColumnMapping::parse("segment=Lists").unwrap();
    let file = format!("email,Lists\na@example.com,{one} {two}\nb@example.com,News\n");
    let FinishedImport { batches, mut import } =
        run_import(file.as_bytes(), 9, ImportOptions { mapping, ..options() }).unwrap();

    assert_eq!(batches[0].items[0].segments, [one, two].map(|id| crate::base::id::SegmentId::parse(id).unwrap()));
    import.settle(batches.into_iter().next().unwrap(), vec![ImportOutcome::Updated]);
    assert!(import.take_errors()[0].sentence().contains("`Lists`: `News` is not the id of a segment"));
}

#[test]
fn the_id_columns_of_an_export_need_no_mapping() {
    let (one, two) = ("019b8d6d-f9b0-7000-8000-000000000001", "019b8d6d-f9b0-7000-8000-000000000002");
    let file = format!(
        "email,segment_ids,topic_opt_in_ids,topic_opt_out_ids,segment,topic_opt_out\n\
         a@example.com,{two},{one},{one} {two},News,News\n\
         b@example.com,,x,,,\n"
    );
    let FinishedImport { batches, mut import } = run_import(file.as_bytes(), 9, options()).unwrap();

    let item = &batches[0].items[0];
    let id = |text| crate::base::id::TopicId::parse(text).unwrap();
    assert_eq!(item.segments, [crate::base::id::SegmentId::parse(two).unwrap()]);
    assert_eq!((&item.opt_ins[..], &item.opt_outs[..]), (&[id(one)][..], &[id(one), id(two)][..]));
    import.settle(batches.into_iter().next().unwrap(), vec![ImportOutcome::Created]);
    assert_eq!(import.take_errors()[0].sentence(), "`topic_opt_in_ids`: `x` is not the id of a topic");
}

/// Regression: with many blank lines before it, the first row did not fit into the buffer, and its start
/// was read as the whole row.
#[test]
fn a_part_of_the_first_row_is_never_read_as_the_whole() {
    let row = "email,first_name,unsubscribed\r\na@example.com,Ada,yes\r\n";
    for blank in 0..40 {
        let file = format!("{}{row}", "\n".repeat(file_header::BYTES_MAX - blank));
        for step in [1_000, file_header::BYTES_MAX, 1 << 20] {
            match run_import(file.as_bytes(), step, options()) {
                Ok(finished) => assert_eq!(finished.import.columns().len(), 3, "{blank} {step}"),
                Err(error) => assert_eq!(error, FileError::LateFirstRow, "{blank} {step}"),
            }
        }
    }
    let few = format!("{}{row}", "\r\n".repeat(1_000));
    let FinishedImport { batches, .. } = run_import(few.as_bytes(), 1_000, options()).unwrap();
    assert_eq!((batches[0].items[0].unsubscribed, batches[0].lines[0]), (Some(true), 1_002));
}

/// The row has the form of an export.
#[test]
fn the_row_of_the_largest_contact_is_accepted_and_a_larger_row_is_rejected() {
    let keys: Vec<String> = (0..99).map(|number| format!("property:p{number}")).collect();
    let property =
        |key: &String| ImportProperty { key: key["property:".len()..].to_owned(), kind: PropertyKind::String };
    let options = ImportOptions { properties: keys.iter().map(property).collect(), ..options() };
    let id = "019b8d6d-f9b0-7000-8000-000000000001 ";
    let row = |value: &str| {
        let cells = [id.repeat(1_000), id.repeat(500), id.repeat(500)].join(",");
        format!("a@example.com,{cells}{}\n", format!(",{value}").repeat(keys.len()))
    };
    let header = format!("email,segment_ids,topic_opt_in_ids,topic_opt_out_ids,{}\n", keys.join(","));
    let large = format!("\"{}\"", "\"\"".repeat(655));

    let FinishedImport { batches, mut import } =
        run_import((header.clone() + &row(&large)).as_bytes(), 1_000, options.clone()).unwrap();
    assert_eq!(import.take_errors(), []);
    assert!(serde_json::to_string(&batches[0].items).unwrap().len() <= BATCH_JSON_BYTES_MAX);

    let larger = format!("\"{}\"", "\"\"".repeat(665));
    let FinishedImport { mut import, .. } = run_import((header + &row(&larger)).as_bytes(), 1_000, options).unwrap();
    assert_eq!(import.take_errors()[0].sentence(), "its properties have more than 64 KiB together");
}

#[test]
fn an_invalid_file_is_rejected_with_the_reason() {
    let utf16: Vec<u8> = "email,x\n".encode_utf16().flat_map(u16::to_le_bytes).collect();
    let long = format!("email,{}\n", "x".repeat(70_000));
    let open = format!("\"email\n{}", "a@example.com\n".repeat(10_000));
    for (file, words) in [
        (&b""[..], "empty"),
        (b"\xEF\xBB\xBF", "empty"),
        (b"\n\r\n", "empty"),
        (b"\xFF\xFEe\0", "CSV UTF-8"),
        (b"\xFE\xFF\0e", "CSV UTF-8"),
        (&utf16, "CSV UTF-8"),
        (b"e\xffmail\n", "CSV UTF-8"),
        (b"Name\nAnn\n", "`email`"),
        (b"a@example.com,Ann\n", "names of the columns"),
        (b"\"email", "never closed"),
        (long.as_bytes(), "within the first 64 KiB"),
        (open.as_bytes(), "within the first 64 KiB"),
    ] {
        for step in [1, 1 << 20] {
            let error = run_import(file, step, options()).err().unwrap().to_string();
            assert!(error.contains(words), "{error}");
        }
    }
}

#[test]
fn batches_have_at_most_a_thousand_items_and_are_in_the_order_of_the_file() {
    let rows: String = (0..2_500).map(|number| format!("{number}@example.com\n")).collect();
    let FinishedImport { batches, .. } = run_import(format!("email\n{rows}").as_bytes(), 10_000, options()).unwrap();

    assert_eq!(batches.iter().map(|batch| batch.items.len()).collect::<Vec<_>>(), [1_000, 1_000, 500]);
    let locals: Vec<&str> = batches.iter().flat_map(|batch| &batch.items).map(|item| item.email.local()).collect();
    assert_eq!(locals[2_499], "2499");
    assert_eq!(batches[1].lines[0], 1_002);

    let keys: Vec<String> = (0..32).map(|number| format!("property:p{number}")).collect();
    let property =
        |key: &String| ImportProperty { key: key["property:".len()..].to_owned(), kind: PropertyKind::String };
    let options = ImportOptions { properties: keys.iter().map(property).collect(), ..options() };
    // JSON encodes each of these characters in six bytes.
    let row = format!("@example.com{}\n", format!(",\"{}\"", "\u{1}".repeat(2_000)).repeat(keys.len()));
    let rows: String = (0..20).map(|number| format!("{number}{row}")).collect();
    let FinishedImport { batches, .. } =
        run_import(format!("email,{}\n{rows}", keys.join(",")).as_bytes(), 10_000, options).unwrap();
    assert_eq!(batches.iter().map(|batch| batch.items.len()).sum::<usize>(), 20);
    for batch in batches {
        assert!(serde_json::to_string(&batch.items).unwrap().len() <= BATCH_JSON_BYTES_MAX);
    }
}

/// The file has one valid row. The errors of all other rows wait for its outcome.
#[test]
fn many_errors_close_a_batch_that_is_not_full() {
    let mut import = ContactImport::new(options());
    import.feed(format!("email\n{}", " \n".repeat(file_header::BYTES_MAX)).as_bytes()).unwrap();
    import.feed(b"a@example.com\n").unwrap();
    let mut returned = 0;
    for _ in 0..100 {
        import.feed("bad\n".repeat(500).as_bytes()).unwrap();
        while let Some(batch) = import.next_batch() {
            import.settle(batch, vec![ImportOutcome::Created]);
        }
        returned += import.take_errors().len();

        assert!(import.errors.len() <= ERRORS_WAITING_MAX, "{} errors wait", import.errors.len());
    }

    assert_eq!((returned as u64, import.progress().created), (import.progress().failed, 1));
}

#[test]
fn rows_are_counted_by_outcome() {
    let file = b"email\na@example.com\nb@example.com\nbad\nc@example.com\nd@example.com\ne@example.com\n";
    let FinishedImport { mut batches, mut import } = run_import(file, 1_000, options()).unwrap();

    assert!(import.take_errors().is_empty(), "the rows before the error have no outcome yet");
    let failed = ImportOutcome::Failed("the row is rejected".to_owned());
    let outcomes = vec![ImportOutcome::Created, failed, ImportOutcome::Updated, ImportOutcome::Skipped];
    import.settle(batches.remove(0), outcomes);

    let ImportProgress { rows, created, updated, skipped, failed, bytes } = import.progress();
    assert_eq!((rows, created, updated, skipped, failed), (6, 1, 1, 1, 3));
    assert_eq!(bytes, file.len() as u64);
    let errors = import.take_errors();
    assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), [3, 4, 7]);
    assert_eq!(errors[0].csv_line(), "3,b@example.com,the row is rejected\r\n");
    assert!(import.take_errors().is_empty());
}

#[test]
fn a_check_counts_a_repeated_address_as_created_once() {
    let file = b"email\na@example.com\nA@Example.com\nb@example.com\n";
    for (existing, updated, skipped) in [(ExistingContacts::Upsert, 1, 0), (ExistingContacts::Skip, 0, 1)] {
        let options = ImportOptions { run: RunMode::Check, existing, ..options() };
        let FinishedImport { batches, mut import } = run_import(file, 1_000, options).unwrap();
        for batch in batches {
            let outcomes = vec![ImportOutcome::Created; batch.items.len()];
            import.settle(batch, outcomes);
        }

        let progress = import.progress();
        assert_eq!((progress.created, progress.updated, progress.skipped), (2, updated, skipped));
    }
}

#[test]
fn a_line_of_the_error_file_contains_no_formula() {
    let file = b"email\n=HYPERLINK(\"http://example.com\")\n\"x\ny\"\n";
    let FinishedImport { mut import, .. } = run_import(file, 1_000, options()).unwrap();

    let lines: Vec<String> = import.take_errors().iter().map(RowError::csv_line).collect();

    assert!(lines[0].starts_with("2,\"'=HYPERLINK(\"\"http://example.com\"\")\",\"`email`: "), "{lines:?}");
    assert!(lines[1].starts_with("3,x y,"), "{lines:?}");
}

#[test]
fn a_column_without_a_field_is_skipped() {
    let FinishedImport { import, .. } = run_import(b"email,Notes,first name\n", 3, options()).unwrap();

    let skipped: Vec<&str> =
        import.columns().iter().filter(|column| column.target.is_none()).map(|column| column.name.as_str()).collect();
    assert_eq!(skipped, ["Notes"]);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\"',;=+@\t\r\n -]{1,8}", "\\PC{1,12}"]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\"',;=+@ -]{1,8}", "\\PC{1,12}"]
}

proptest! {
    #[test]
    fn the_items_of_a_written_file_are_read(
        rows in prop::collection::vec(("[a-z'+=-]{1,8}", name(), name(), any::<bool>(), text()), 1..8),
        step in 1_usize..100,
    ) {
        let mut file = String::new();
        push_line(&mut file, ["email", "first_name", "last_name", "unsubscribed", "property:plan"]);
        for (local, first, last, unsubscribed, plan) in &rows {
            let unsubscribed = unsubscribed.to_string();
            let email = format!("{local}@example.com");
            let cells = [&email, first, last, &unsubscribed, plan];
            push_line(&mut file, cells.map(|cell| escape_formula(cell)).iter().map(AsRef::as_ref));
        }

        let FinishedImport { batches, mut import } = run_import(file.as_bytes(), step, options()).unwrap();

        prop_assert!(import.take_errors().is_empty());
        let items: Vec<&ImportItem> = batches.iter().flat_map(|batch| &batch.items).collect();
        prop_assert_eq!(items.len(), rows.len());
        for (item, (local, first, last, unsubscribed, plan)) in items.into_iter().zip(&rows) {
            prop_assert_eq!(item.email.local(), local);
            prop_assert_eq!(item.first_name.as_ref(), Some(first));
            prop_assert_eq!(item.last_name.as_ref(), Some(last));
            prop_assert_eq!(item.unsubscribed, Some(*unsubscribed));
            prop_assert_eq!(item.properties.get("plan"), Some(plan));
        }
    }

    #[test]
    fn no_file_causes_a_panic_and_every_row_has_an_outcome(
        rows in prop::collection::vec(prop_oneof![any::<u8>(), Just(b','), Just(b'\n'), Just(b'"'), Just(b'@'), Just(b'.')], 0..200),
        step in 1_usize..50,
    ) {
        let file = [b"email,first_name\n", rows.as_slice()].concat();
        let FinishedImport { batches, mut import } = run_import(&file, step, options()).unwrap();
        for batch in batches {
            let outcomes = vec![ImportOutcome::Created; batch.items.len()];
            import.settle(batch, outcomes);
        }

        let ImportProgress { rows, created, failed, .. } = import.progress();
        prop_assert_eq!(rows, created + failed);
        prop_assert_eq!(import.take_errors().len() as u64, failed);
    }
}

//! Imports arbitrary files. The import does not panic, each row has one result, and batches stay within their limits.
//! The results do not depend on the sizes of the chunks in which the file arrives.

use ringmail::contact_properties::PropertyKind;
use ringmail::contacts::BATCH_MAX;
use ringmail::contacts::import::{
    ColumnMapping, ContactImport, ExistingContacts, ImportItem, ImportOptions, ImportOutcome, ImportProperty, RowError,
    RunMode,
};

// The first line is the mapping if it can be parsed as one.
pub(crate) fn check(input: &[u8]) {
    let line = input.iter().position(|byte| *byte == b'\n').unwrap_or_default();
    let (mapping, file) = match std::str::from_utf8(&input[..line]).map(ColumnMapping::parse) {
        Ok(Ok(mapping)) => (mapping, &input[line + 1..]),
        _ => (ColumnMapping::default(), input),
    };

    let whole = imported(mapping.clone(), file, file.len().max(1));
    let parts = imported(mapping, file, file.len() % 7 + 1);

    assert_eq!(whole, parts);
}

fn imported(mapping: ColumnMapping, file: &[u8], step: usize) -> Result<(Vec<ImportItem>, Vec<RowError>), String> {
    let properties = [("plan", PropertyKind::String), ("seats", PropertyKind::Number)]
        .map(|(key, kind)| ImportProperty { key: key.to_owned(), kind });
    let options = ImportOptions {
        mapping,
        properties: properties.into(),
        existing: ExistingContacts::Upsert,
        run: RunMode::Check,
    };
    let mut import = ContactImport::new(options);
    let mut items = Vec::new();
    let mut errors = Vec::new();
    let mut take = |import: &mut ContactImport| {
        while let Some(batch) = import.next_batch() {
            assert!(!batch.items.is_empty() && batch.items.len() <= BATCH_MAX);
            items.extend(batch.items.iter().cloned());
            let outcomes = vec![ImportOutcome::Created; batch.items.len()];
            import.settle(batch, outcomes);
        }
        errors.extend(import.take_errors());
    };
    for part in file.chunks(step) {
        import.feed(part).map_err(|error| error.to_string())?;
        take(&mut import);
    }
    import.finish().map_err(|error| error.to_string())?;
    take(&mut import);

    let progress = import.progress();
    assert_eq!(progress.bytes, file.len() as u64);
    assert_eq!(progress.created + progress.updated, items.len() as u64);
    assert_eq!(progress.failed, errors.len() as u64);
    assert_eq!(progress.rows, progress.created + progress.updated + progress.failed);
    assert!(errors.is_sorted_by_key(|error| error.line));
    for error in &errors {
        assert!(!error.sentence().chars().any(char::is_control));
        assert!(error.csv_line().len() < 4_000);
    }
    Ok((items, errors))
}

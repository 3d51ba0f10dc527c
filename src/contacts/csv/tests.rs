//! Tests of cells, records and lines.

use proptest::prelude::*;

use super::reader::{COLUMNS_MAX, CsvFault, RECORD_BYTES_MAX};
use super::*;

/// The line, cells and syntax error of a record.
type Read = (u64, Vec<String>, Option<CsvFault>);

/// Reads a file in chunks of `step` bytes.
fn read(bytes: &[u8], delimiter: CsvDelimiter, step: usize) -> Vec<Read> {
    let mut reader = CsvReader::new(delimiter);
    let mut records = Vec::new();
    for mut chunk in bytes.chunks(step) {
        while let Some(record) = reader.next(&mut chunk) {
            records.push(record);
        }
        assert!(chunk.is_empty());
    }
    records.extend(reader.end());
    assert!(reader.end().is_none());
    let cells = |record: &CsvRecord| record.cells().map(|cell| cell.unwrap_or("NOT UTF-8").to_owned()).collect();
    records.iter().map(|record| (record.line, cells(record), record.fault)).collect()
}

fn valid(line: u64, cells: &[&str]) -> Read {
    (line, cells.iter().map(|cell| (*cell).to_owned()).collect(), None)
}

#[test]
fn records_are_read_with_every_line_end_and_chunk_size() {
    for (file, records) in [
        ("", vec![]),
        ("a", vec![valid(1, &["a"])]),
        ("a,b\r\nc,d\r\n", vec![valid(1, &["a", "b"]), valid(2, &["c", "d"])]),
        ("a,b\nc,d", vec![valid(1, &["a", "b"]), valid(2, &["c", "d"])]),
        ("a\rb\rc", vec![valid(1, &["a"]), valid(2, &["b"]), valid(3, &["c"])]),
        ("\n\r\n\ra\n\n\nb\n", vec![valid(4, &["a"]), valid(7, &["b"])]),
        (",\n,,", vec![valid(1, &["", ""]), valid(2, &["", "", ""])]),
        (" a , b c \n", vec![valid(1, &["a", "b c"])]),
        ("\" a \",\"\"\n", vec![valid(1, &[" a ", ""])]),
        ("\"a,b\",\"say \"\"hi\"\"\"\n", vec![valid(1, &["a,b", "say \"hi\""])]),
        ("\"one\ntwo\r\nthree\rfour\",x\ny", vec![valid(1, &["one\ntwo\r\nthree\rfour", "x"]), valid(5, &["y"])]),
        ("5\" pipe,a\"b\"\n", vec![valid(1, &["5\" pipe", "a\"b\""])]),
        ("\"\"\"\"", vec![valid(1, &["\""])]),
        ("a;b\tc\n", vec![valid(1, &["a;b\tc"])]),
    ] {
        for step in [1, 2, 3, 1_000] {
            assert_eq!(read(file.as_bytes(), CsvDelimiter::Comma, step), records, "{file:?} in chunks of {step}");
        }
    }
}

#[test]
fn every_delimiter_separates_cells() {
    for (delimiter, file) in
        [(CsvDelimiter::Comma, "a,\"b\",c"), (CsvDelimiter::Semicolon, "a;\"b\";c"), (CsvDelimiter::Tab, "a\t\"b\"\tc")]
    {
        assert_eq!(read(file.as_bytes(), delimiter, 7), [valid(1, &["a", "b", "c"])]);
    }
}

#[test]
fn a_syntax_error_in_a_record_does_not_affect_the_next() {
    let long = "x".repeat(RECORD_BYTES_MAX + 1);
    let wide = ",".repeat(COLUMNS_MAX);
    for (first, fault) in [
        ("\"a\"b,c", CsvFault::TextAfterQuote),
        ("\"a\" ,c", CsvFault::TextAfterQuote),
        (&long, CsvFault::TooLong),
        (&format!("a,\"{long}\""), CsvFault::TooLong),
        (&format!("\"{}\"", "\"\"".repeat(RECORD_BYTES_MAX)), CsvFault::TooLong),
        (&wide, CsvFault::TooManyCells),
    ] {
        for step in [5, 1 << 20] {
            let records = read(format!("{first}\nd,e").as_bytes(), CsvDelimiter::Comma, step);

            assert_eq!(records[0].2, Some(fault), "{first:.20}");
            assert_eq!(records[1..], [valid(2, &["d", "e"])], "{first:.20}");
        }
    }
}

#[test]
fn the_longest_and_the_widest_record_are_valid() {
    let long = "x".repeat(RECORD_BYTES_MAX);
    let wide = ",".repeat(COLUMNS_MAX - 1);

    assert_eq!(read(long.as_bytes(), CsvDelimiter::Comma, 1_000), [valid(1, &[&long])]);
    assert_eq!(read(wide.as_bytes(), CsvDelimiter::Comma, 1_000), [valid(1, &[""; COLUMNS_MAX])]);
}

#[test]
fn an_open_quote_is_reported_wherever_the_file_ends() {
    let long = format!("a,\"{}", "x\n".repeat(RECORD_BYTES_MAX));
    for file in ["\"", "a,\"b", "a,\"b\nc,d\n", &long] {
        let records = read(file.as_bytes(), CsvDelimiter::Comma, 100);

        assert_eq!(records.len(), 1);
        assert_eq!((records[0].0, records[0].2), (1, Some(CsvFault::OpenQuote)), "{file:.20}");
    }
}

#[test]
fn a_cell_that_is_not_utf_8_does_not_affect_the_others() {
    assert_eq!(read(b"a,\xe4,b", CsvDelimiter::Comma, 1), [valid(1, &["a", "NOT UTF-8", "b"])]);
}

#[test]
fn a_formula_is_escaped_and_unescaped() {
    for (text, cell) in [
        ("", ""),
        ("plain", "plain"),
        ("a=b", "a=b"),
        ("it's", "it's"),
        ("'quoted'", "'quoted'"),
        ("=1+1", "'=1+1"),
        ("+49 30", "'+49 30"),
        ("-5", "'-5"),
        ("@SUM(A1)", "'@SUM(A1)"),
        ("\t=1", "'\t=1"),
        ("\tx", "'\tx"),
        ("\rx", "'\rx"),
        ("\nx", "'\nx"),
        (" =1", "' =1"),
        ("＝1", "'＝1"),
        ("＋1", "'＋1"),
        ("－1", "'－1"),
        ("＠x", "'＠x"),
        ("'=1", "''=1"),
        ("''=1", "'''=1"),
        ("=HYPERLINK(\"http://example.com\")", "'=HYPERLINK(\"http://example.com\")"),
    ] {
        assert_eq!(escape_formula(text), cell);
        assert_eq!(unescape_formula(cell), text);
    }
}

#[test]
fn cells_are_quoted_if_necessary() {
    let mut line = String::new();

    push_line(&mut line, ["a", "b c", "d,e", "f;g", "\th", "i\"j", "k\nl", " m", "n ", ""]);

    assert_eq!(line, "a,b c,\"d,e\",\"f;g\",\"\th\",\"i\"\"j\",\"k\nl\",\" m\",\"n \",\r\n");
}

/// Generates cells with many characters that are special in CSV.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\"',;=+@\t\r\n -]{0,8}", "\\PC{0,12}", any::<String>()]
}

proptest! {
    #[test]
    fn written_rows_are_read_back(rows in prop::collection::vec(prop::collection::vec(cell(), 2..6), 0..6), step in 1_usize..50) {
        let mut file = String::new();
        for row in &rows {
            let cells: Vec<_> = row.iter().map(|cell| escape_formula(cell)).collect();
            push_line(&mut file, cells.iter().map(AsRef::as_ref));
        }

        let records = read(file.as_bytes(), CsvDelimiter::Comma, step);

        let texts: Vec<Vec<&str>> =
            records.iter().map(|(_, cells, _)| cells.iter().map(|cell| unescape_formula(cell)).collect()).collect();
        prop_assert_eq!(texts, rows);
        prop_assert!(records.iter().all(|(_, _, fault)| fault.is_none()));
    }

    #[test]
    fn no_escaped_cell_is_a_formula(text in cell()) {
        let cell = escape_formula(&text);

        prop_assert!(!cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']));
        prop_assert!(!cell.starts_with(['\t', '\r', '\n']));
        prop_assert_eq!(unescape_formula(&cell), text.as_str());
    }

    #[test]
    fn the_chunk_size_does_not_change_the_records(
        bytes in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), Just(b'\r'), Just(b'\n'), any::<u8>()], 0..80),
        step in 1_usize..10,
    ) {
        let records = read(&bytes, CsvDelimiter::Comma, bytes.len().max(1));

        prop_assert_eq!(&read(&bytes, CsvDelimiter::Comma, step), &records);
        prop_assert!(records.iter().all(|(line, ..)| *line >= 1));
    }
}

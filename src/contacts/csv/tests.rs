//! Cells, records and lines.

use proptest::prelude::*;

use super::reader::{COLUMNS_MAX, Fault, RECORD_BYTES_MAX};
use super::*;

/// What is read of a record: its line, its cells, what is wrong.
type Read = (u64, Vec<String>, Option<Fault>);

/// Reads a file in parts of `step` bytes.
fn read(bytes: &[u8], delimiter: Delimiter, step: usize) -> Vec<Read> {
    let mut reader = Reader::new(delimiter);
    let mut records = Vec::new();
    for mut part in bytes.chunks(step) {
        while let Some(record) = reader.next(&mut part) {
            records.push(record);
        }
        assert!(part.is_empty());
    }
    records.extend(reader.end());
    assert!(reader.end().is_none());
    let cells = |record: &Record| record.cells().map(|cell| cell.unwrap_or("NOT UTF-8").to_owned()).collect();
    records.iter().map(|record| (record.line, cells(record), record.fault)).collect()
}

fn whole(line: u64, cells: &[&str]) -> Read {
    (line, cells.iter().map(|cell| (*cell).to_owned()).collect(), None)
}

#[test]
fn records_are_read_however_their_lines_end() {
    for (file, records) in [
        ("", vec![]),
        ("a", vec![whole(1, &["a"])]),
        ("a,b\r\nc,d\r\n", vec![whole(1, &["a", "b"]), whole(2, &["c", "d"])]),
        ("a,b\nc,d", vec![whole(1, &["a", "b"]), whole(2, &["c", "d"])]),
        ("a\rb\rc", vec![whole(1, &["a"]), whole(2, &["b"]), whole(3, &["c"])]),
        ("\n\r\n\ra\n\n\nb\n", vec![whole(4, &["a"]), whole(7, &["b"])]),
        (",\n,,", vec![whole(1, &["", ""]), whole(2, &["", "", ""])]),
        (" a , b c \n", vec![whole(1, &["a", "b c"])]),
        ("\" a \",\"\"\n", vec![whole(1, &[" a ", ""])]),
        ("\"a,b\",\"say \"\"hi\"\"\"\n", vec![whole(1, &["a,b", "say \"hi\""])]),
        ("\"one\ntwo\r\nthree\rfour\",x\ny", vec![whole(1, &["one\ntwo\r\nthree\rfour", "x"]), whole(5, &["y"])]),
        ("5\" pipe,a\"b\"\n", vec![whole(1, &["5\" pipe", "a\"b\""])]),
        ("\"\"\"\"", vec![whole(1, &["\""])]),
        ("a;b\tc\n", vec![whole(1, &["a;b\tc"])]),
    ] {
        for step in [1, 2, 3, 1_000] {
            assert_eq!(read(file.as_bytes(), Delimiter::Comma, step), records, "{file:?} in parts of {step}");
        }
    }
}

#[test]
fn every_delimiter_divides_cells() {
    for (delimiter, file) in
        [(Delimiter::Comma, "a,\"b\",c"), (Delimiter::Semicolon, "a;\"b\";c"), (Delimiter::Tab, "a\t\"b\"\tc")]
    {
        assert_eq!(read(file.as_bytes(), delimiter, 7), [whole(1, &["a", "b", "c"])]);
    }
}

#[test]
fn what_is_wrong_with_a_record_does_not_touch_the_next() {
    let long = "x".repeat(RECORD_BYTES_MAX + 1);
    let wide = ",".repeat(COLUMNS_MAX);
    for (first, fault) in [
        ("\"a\"b,c", Fault::TextAfterQuote),
        ("\"a\" ,c", Fault::TextAfterQuote),
        (&long, Fault::TooLong),
        (&format!("a,\"{long}\""), Fault::TooLong),
        (&format!("\"{}\"", "\"\"".repeat(RECORD_BYTES_MAX)), Fault::TooLong),
        (&wide, Fault::TooManyCells),
    ] {
        for step in [5, 1 << 20] {
            let records = read(format!("{first}\nd,e").as_bytes(), Delimiter::Comma, step);

            assert_eq!(records[0].2, Some(fault), "{first:.20}");
            assert_eq!(records[1..], [whole(2, &["d", "e"])], "{first:.20}");
        }
    }
}

#[test]
fn the_longest_and_the_widest_record_are_whole() {
    let long = "x".repeat(RECORD_BYTES_MAX);
    let wide = ",".repeat(COLUMNS_MAX - 1);

    assert_eq!(read(long.as_bytes(), Delimiter::Comma, 1_000), [whole(1, &[&long])]);
    assert_eq!(read(wide.as_bytes(), Delimiter::Comma, 1_000), [whole(1, &[""; COLUMNS_MAX])]);
}

#[test]
fn a_quote_that_is_never_closed_is_said_so_wherever_the_file_ends() {
    let long = format!("a,\"{}", "x\n".repeat(RECORD_BYTES_MAX));
    for file in ["\"", "a,\"b", "a,\"b\nc,d\n", &long] {
        let records = read(file.as_bytes(), Delimiter::Comma, 100);

        assert_eq!(records.len(), 1);
        assert_eq!((records[0].0, records[0].2), (1, Some(Fault::OpenQuote)), "{file:.20}");
    }
}

#[test]
fn a_cell_that_is_not_utf_8_is_known_by_itself() {
    assert_eq!(read(b"a,\xe4,b", Delimiter::Comma, 1), [whole(1, &["a", "NOT UTF-8", "b"])]);
}

#[test]
fn what_a_spreadsheet_would_run_is_made_text_and_restored() {
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
        assert_eq!(harmless(text), cell);
        assert_eq!(restored(cell), text);
    }
}

#[test]
fn cells_are_quoted_where_they_need_it() {
    let mut line = String::new();

    push_line(&mut line, ["a", "b c", "d,e", "f;g", "\th", "i\"j", "k\nl", " m", "n ", ""]);

    assert_eq!(line, "a,b c,\"d,e\",\"f;g\",\"\th\",\"i\"\"j\",\"k\nl\",\" m\",\"n \",\r\n");
}

/// Cells with what matters to CSV in most places.
fn cell() -> impl Strategy<Value = String> {
    prop_oneof!["[a-z\"',;=+@\t\r\n -]{0,8}", "\\PC{0,12}", any::<String>()]
}

proptest! {
    #[test]
    fn what_is_written_reads_back(rows in prop::collection::vec(prop::collection::vec(cell(), 2..6), 0..6), step in 1_usize..50) {
        let mut file = String::new();
        for row in &rows {
            let cells: Vec<_> = row.iter().map(|cell| harmless(cell)).collect();
            push_line(&mut file, cells.iter().map(AsRef::as_ref));
        }

        let records = read(file.as_bytes(), Delimiter::Comma, step);

        let texts: Vec<Vec<&str>> =
            records.iter().map(|(_, cells, _)| cells.iter().map(|cell| restored(cell)).collect()).collect();
        prop_assert_eq!(texts, rows);
        prop_assert!(records.iter().all(|(_, _, fault)| fault.is_none()));
    }

    #[test]
    fn no_cell_that_is_written_is_run(text in cell()) {
        let cell = harmless(&text);

        prop_assert!(!cell.trim_start().starts_with(['=', '+', '-', '@', '＝', '＋', '－', '＠']));
        prop_assert!(!cell.starts_with(['\t', '\r', '\n']));
        prop_assert_eq!(restored(&cell), text.as_str());
    }

    #[test]
    fn how_a_file_is_cut_makes_no_difference(
        bytes in prop::collection::vec(prop_oneof![Just(b','), Just(b'"'), Just(b'\r'), Just(b'\n'), any::<u8>()], 0..80),
        step in 1_usize..10,
    ) {
        let records = read(&bytes, Delimiter::Comma, bytes.len().max(1));

        prop_assert_eq!(&read(&bytes, Delimiter::Comma, step), &records);
        prop_assert!(records.iter().all(|(line, ..)| *line >= 1));
    }
}

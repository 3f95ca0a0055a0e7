//! A quote that is left open in rows to predict.

use super::*;

#[test]
fn a_quote_that_is_left_open_costs_no_row_before_it() {
    let (_folder, result) = read(&[("a.csv", rows_and("1,u,0").as_bytes())], |_, _| {});
    let preprocessing = result.unwrap().preprocessing;
    for (last, told) in [
        ("3,\"u\n1,u\n", "a quote that opens in this row is never closed"),
        (
            "3,\"u\n1,\"u\n2,v\n1,u\n",
            "the quote that opens a cell here is closed in line 5, in front",
        ),
    ] {
        let text = format!("x,word\n1,u\n2,v\n{last}");
        let rows = read_rows(text.as_bytes(), "stdin", &preprocessing).unwrap();
        let [RefusedRow { line, error, .. }] = &rows.refused[..] else {
            panic!("{:?}", rows.refused)
        };
        assert_eq!((&rows.lines[..], *line), (&[2, 3][..], 4), "{text}");
        assert!(error.to_string().starts_with(&format!("stdin:4: {told}")), "{error}");
        assert!(rows.notes.concat().contains("the rows below line 4 are lost"), "{:?}", rows.notes);
    }
    let text = &b"x,word\n1,u\n2,\0\n3,v\n"[..];
    let mut reader = RowReader::new(text, "stdin", &preprocessing).unwrap();
    assert_eq!(reader.next_rows(9).unwrap().unwrap().lines, [2]);
    let error = reader.next_rows(9).unwrap_err();
    assert_eq!(error.to_string(), "stdin:3: the text has a zero byte");
    assert!(reader.next_rows(9).unwrap().is_none());
}

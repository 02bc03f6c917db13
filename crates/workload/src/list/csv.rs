//! Flow lists in CSV. Lines that begin with `#` are comments; fields hold no commas.

use super::waits::{ROWS, row_numbers};
use super::{COLUMNS, ListError, Place, Placed, Row, locate};
use crate::text;

/// The rows of a list.
pub(super) fn rows(text: &str, file: &str) -> Result<Vec<Placed>, ListError> {
    let mut lines = text::rows(text);
    let (line, header) = lines.next().ok_or_else(|| ListError::Empty { file: file.to_owned() })?;
    if let [only] = header[..]
        && let Some(found) = only.chars().find(|c| [';', '\t', '|'].contains(c))
    {
        return Err(ListError::Separator { place: Place::Line(line).of(file), found });
    }
    let positions = locate(header.iter().copied(), &Place::Line(line).of(file))?;
    lines.map(|(line, fields)| row(file, line, &fields, header.len(), &positions)).collect()
}

fn row(
    file: &str,
    line: u64,
    fields: &[&str],
    expected: usize,
    positions: &[Option<usize>; COLUMNS.len()],
) -> Result<Placed, ListError> {
    let place = Place::Line(line);
    if fields.len() != expected {
        return Err(ListError::Fields { place: place.of(file), found: fields.len(), expected });
    }
    let field = |column: usize| positions[column].map_or("", |i| fields[i]);
    let bad = |column: usize, expected| ListError::Value {
        place: place.of(file),
        column: COLUMNS[column],
        found: text::shown(field(column)),
        expected,
    };
    let number = |column| {
        field(column).parse::<u64>().map_err(|_| bad(column, "a whole number, not negative and below 2^64"))
    };
    let numbers = |column| row_numbers(field(column)).ok_or_else(|| bad(column, ROWS));
    let text = |column: usize| (!field(column).is_empty()).then(|| field(column).to_owned());
    let row = Row {
        src: number(0)?,
        dst: number(1)?,
        size_bytes: number(2)?,
        start_ns: number(3)?,
        tag: text(4),
        after: numbers(5)?,
        after_delivered: numbers(6)?,
        barrier: text(7),
        queue: text(8),
    };
    Ok((place, row))
}

#[cfg(test)]
mod tests {
    use crate::list::parse_csv;
    use crate::{Sites, list::read};
    use farspan_units::Time;
    use std::path::Path;

    #[test]
    fn another_separator_is_named() {
        for (header, separator) in
            [("src;dst;size_bytes;start_ns", "';'"), ("src\tdst\tsize_bytes\tstart_ns", "'\\t'")]
        {
            let error = parse_csv("f.csv", &format!("{header}\n"), &sites(), 0, "").unwrap_err().to_string();
            assert!(error.starts_with(&format!("f.csv:1: {separator} separates the columns")), "{error}");
        }
    }

    fn sites() -> Sites {
        Sites::new(vec![0..8, 8..16]).unwrap()
    }

    #[test]
    fn columns_may_stand_in_any_order_and_the_optional_ones_may_be_empty() {
        let text = "# made by hand\ntag,start_ns,src,dst,size_bytes,after\n\
                    a,5,0,1,10,\n,7,2,9,20,0\nb,0,3,4,30,1\n";
        let part = parse_csv("f.csv", text, &sites(), 3, "list").unwrap();
        assert_eq!(part.tags, ["a", "list", "b"]);
        let seen: Vec<_> = part.flows.iter().map(|f| (f.src.0, f.dst.0, f.size.get(), f.tag)).collect();
        assert_eq!(seen, [(0, 1, 10, 0), (2, 9, 20, 1), (3, 4, 30, 2)]);
        let waits: Vec<_> = part.triggers.iter().map(|t| (&t.finished[..], &t.targets[..])).collect();
        assert_eq!(waits, [(&[0][..], &[1][..]), (&[1], &[2])]);
        assert_eq!(part.flows[1].start, Time::from_ps(7000));
        assert!(part.flows.iter().all(|f| f.part == 3 && f.measured));
    }

    #[test]
    fn bad_lists_are_refused_with_place_and_cure() {
        const H: &str = "src,dst,size_bytes,start_ns\n";
        let with = |rows: &str| format!("{H}{rows}");
        let cases: Vec<(String, &str)> = vec![
            (String::new(), "f.csv: has no flows"),
            (H.into(), "f.csv: has no flows"),
            (with("0,1,10\n"), "f.csv:2: 3 fields, but the header has 4; give the row 4, or remove it"),
            (with("0,1,10,0\n0,1,10,0,5\n"), "f.csv:3: 5 fields"),
            (
                "src,dst,size_byte,start_ns\n".into(),
                "f.csv:1: column \"size_byte\" is not known; did you mean \"size_bytes\"?",
            ),
            (
                "src,dst,size_bytes,start_ns,qqq\n".into(),
                "f.csv:1: column \"qqq\" is not known; a flow list has",
            ),
            ("src,dst,size_bytes\n".into(), "f.csv:1: column \"start_ns\" is missing"),
            ("src,src,dst,size_bytes,start_ns\n".into(), "f.csv:1: column \"src\" appears twice"),
            (
                with("0,16,10,0\n"),
                "f.csv:2: dst is host 16, which does not exist; hosts are numbered 0 to 15",
            ),
            (with("99999999999,1,10,0\n"), "f.csv:2: src is host 99999999999"),
            (with("3,3,10,0\n"), "f.csv:2: the flow goes from host 3 to itself"),
            (with("0,1,-10,0\n"), "f.csv:2: size_bytes is \"-10\"; expected a whole number, not negative"),
            (with("0,1,0,0\n"), "f.csv:2: size_bytes is \"0\"; expected at least 1"),
            (with("0,1,1,-5\n"), "f.csv:2: start_ns is \"-5\""),
            (
                with("0,1,1,99999999999999999\n"),
                "f.csv:2: start_ns is \"99999999999999999\"; expected at most 213 days",
            ),
            (with("0,1,4KB,0\n"), "f.csv:2: size_bytes is \"4KB\""),
            (with("0,,1,0\n"), "f.csv:2: dst is \"\""),
        ];
        for (text, message) in cases {
            let error = parse_csv("f.csv", &text, &sites(), 0, "t").expect_err(&text).to_string();
            assert!(error.starts_with(message), "{text:?}: {error}");
        }
    }

    #[test]
    fn dependencies_on_no_row_on_itself_or_in_a_circle_are_refused() {
        let list = |waits: [&str; 3]| {
            let row = |w: &str| format!("0,1,1,0,{w}\n");
            let head = "src,dst,size_bytes,start_ns,after,after_delivered,barrier,queue\n";
            let text = format!("{head}{}{}{}", row(waits[0]), row(waits[1]), row(waits[2]));
            parse_csv("f.csv", &text, &sites(), 0, "t").map_err(|e| e.to_string())
        };
        for good in [["2,,,", ",,,", "1,,,"], [",,,", "0,0,,q", ",,,q"], [",,,", "0,,b,", ",,b,"]] {
            assert!(list(good).is_ok(), "{good:?}: {:?}", list(good));
        }
        let cases: &[([&str; 3], &str)] = &[
            (["3,,,", ",,,", ",,,"], "f.csv:2: after names row 3; it must be another row, 0 to 2"),
            ([",,,", ",1,,", ",,,"], "f.csv:3: after_delivered names row 1"),
            (["1 2 x,,,", ",,,", ",,,"], "f.csv:2: after is \"1 2 x\"; expected row numbers"),
            (
                ["1,,,", "2,,,", "0,,,"],
                "f.csv:2: rows 0, 1, 2 wait for each other in a cycle; remove one of these",
            ),
            (["1,,,", "2,,,", "1,,,"], "f.csv:3: rows 1, 2 wait for each other"),
            ([",,,", "0,,b,q", ",,,"], "f.csv:3: the row has a barrier and a queue"),
            ([",,,", ",,b,", ",,b,"], "f.csv:3: the row would never start: it is number 1 of its barrier"),
            ([",,,", "0,,,q", ",,,q"], "f.csv:4: the row would never start: it is number 2 of its queue"),
            ([",,,", "1,,,q", ",,,"], "f.csv:3: row 1 waits for itself"),
        ];
        for (waits, message) in cases {
            let error = list(*waits).expect_err(message);
            assert!(error.starts_with(message), "{waits:?}: {error}");
        }
    }

    #[test]
    fn a_missing_or_binary_file_is_named() {
        let error = read(Path::new("/no/such.csv"), &sites(), 0, "t").unwrap_err().to_string();
        assert!(error.starts_with("/no/such.csv: cannot be read"), "{error}");
        let path = std::env::temp_dir().join(format!("farspan-list-{}.csv", std::process::id()));
        std::fs::write(&path, b"src,dst,size_bytes,start_ns\n0,1,1,0\n0,\xff,1,0\n").unwrap();
        let error = read(&path, &sites(), 0, "t").unwrap_err().to_string();
        std::fs::remove_file(&path).unwrap();
        assert!(error.contains(":3: not UTF-8; save the list as UTF-8"), "{error}");
    }

    #[test]
    fn a_byte_order_mark_and_windows_line_ends_are_no_obstacle() {
        let path = std::env::temp_dir().join(format!("farspan-bom-{}.csv", std::process::id()));
        std::fs::write(&path, "\u{feff}src,dst,size_bytes,start_ns\r\n0,1,1,0\r\n").unwrap();
        let part = read(&path, &sites(), 0, "t");
        std::fs::remove_file(&path).unwrap();
        assert_eq!(part.unwrap().flows.len(), 1);
    }
}

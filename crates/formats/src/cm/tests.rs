//! Tests of the input that is read and of the input that is an error.

use super::*;
use farspan_workload::list::{parse_csv, to_csv};
use farspan_workload::{Rule, Sites};
use proptest::prelude::*;

/// A barrier of two, from 16 hosts.
const EXAMPLE: &str = "Nodes 16\nConnections 3\nTriggers 1\n\
    0->5 id 1 start 0 size 2000000 send_done_trigger 1\n\
    1->5 id 2 start 0 size 2000000 send_done_trigger 1\n\
    5->9 id 3 trigger 1 size 4000000\n\
    trigger id 1 barrier count 2\n";

fn read_us(text: &str) -> Matrix {
    parse("f.cm", text, TimeUnit::Us, None).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A file of these connections and triggers.
fn with(connections: &[&str], triggers: &[&str]) -> String {
    let counts = format!("Nodes 16\nConnections {}\nTriggers {}\n", connections.len(), triggers.len());
    counts + &[connections, triggers].concat().join("\n")
}

#[test]
fn a_barrier_becomes_rows_to_wait_for() {
    let matrix = read_us(EXAMPLE);
    assert_eq!((matrix.hosts, matrix.triggers, matrix.warnings.len()), (Some(16), 1, 0));
    assert_eq!(
        to_csv(&matrix.rows),
        "src,dst,size_bytes,start_ns,tag,after\n0,5,2000000,0,,\n1,5,2000000,0,,\n5,9,4000000,0,,0 1\n"
    );
}

#[test]
fn every_trigger_has_its_columns() {
    let matrix = read_us(&with(
        &[
            "0->1 id 1 start 1 size 1 send_done_trigger 7 recv_done_trigger 8",
            "2->1 id 2 start 2.5 size 1 send_done_trigger 8 recv_done_trigger 9",
            "3->1 id 3 trigger 7 size 1",
            "3->2 id 4 trigger 7 size 1",
            "4->1 id 5 trigger 8 size 1 send_done_trigger 9",
            "4->2 id 6 trigger 8 size 1",
            "5->1 id 7 trigger 9 size 1",
            "5->2 id 8 trigger 9 size 5000000000",
        ],
        &["trigger id 7 oneshot", "trigger id 8 barrier count 2", "trigger id 9 multishot"],
    ));
    let expected = "src,dst,size_bytes,start_ns,tag,after,after_delivered,barrier,queue\n\
        0,1,1,1000,,,,,\n2,1,1,2500,,,,,\n3,1,1,0,,0,,,\n3,2,1,0,,0,,,\n4,1,1,0,,1,0,8,\n4,2,1,0,,,,8,\n\
        5,1,1,0,,4,1,,9\n5,2,5000000000,0,,,,,9\n";
    assert_eq!(to_csv(&matrix.rows), expected);
    let part = parse_csv("f.csv", expected, &Sites::new(vec![0..8, 8..16]).unwrap(), 0, "t").unwrap();
    let rules: Vec<_> = part.triggers.iter().map(|t| (t.rule, t.targets.clone())).collect();
    let all = |targets: &[u32]| (Rule::All, targets.to_vec());
    assert_eq!(rules, [all(&[2]), all(&[3]), all(&[4, 5]), (Rule::Next, vec![6, 7])]);
}

#[test]
fn a_queue_may_feed_itself_and_have_activations_to_spare() {
    // Two flows at a time out of one host.
    let lines: Vec<_> = (1..=5)
        .map(|i| {
            let begin = if i < 3 { "start 0" } else { "trigger 1" };
            format!("0->{i} id {i} {begin} size 9 send_done_trigger 1")
        })
        .collect();
    let lines: Vec<_> = lines.iter().map(String::as_str).collect();
    let matrix = read_us(&with(&lines, &["trigger id 1 multishot"]));
    assert_eq!(matrix.rows[2].after, [0, 1, 2, 3, 4]);
    assert!(matrix.rows[2..].iter().all(|row| row.queue.as_deref() == Some("1")));
}

#[test]
fn the_quirks_of_the_format_are_those_of_htsim() {
    // Comments and unknown keywords in the header, empty lines, spaces and Windows line ends, keys in any order, the last
    // of repeated keys, triggers before their definition and without flows.
    let text = "# made by hand\nNodes 4\r\nnodes 9\nConnections 2 \n\nTriggers 2\nFailures 0\n\
        trigger id 3 multishot count 4\n\
        0->1 size 5 start 7 size 6 prio 1 start 8 id 2 id 4 recv_done_trigger 3 \n\n\
        1->0 trigger 9 id 3 size 1\n";
    let text = text.replace("trigger 9", "trigger 3") + "trigger id 5 oneshot\n";
    let matrix = read_us(&text);
    assert_eq!((matrix.rows[0].size_bytes, matrix.rows[0].start_ns), (6, 8000));
    assert_eq!(matrix.rows[1].after_delivered, [0]);
    let expected = [
        "f.cm:3: \"nodes\" is not a keyword of the header (case-sensitive): ignored; did you mean \"Nodes\"?",
        "f.cm:8: count has a meaning only for a barrier: ignored",
        "f.cm:9: prio, given by 1 flows, is ignored",
    ];
    assert_eq!(matrix.warnings, expected);
}

#[test]
fn units_are_told_apart_and_suspicious_starts_named() {
    let text = with(&["0->1 start 0 size 1", "1->2 start 2000500 size 1"], &[]);
    let us = read_us(&text);
    assert_eq!(us.rows[1].start_ns, 2_000_500_000);
    assert_eq!(us.warnings.len(), 1);
    assert!(us.warnings[0].starts_with("f.cm:5: the largest start is 2.0005 s; "), "{:?}", us.warnings);
    assert!(us.warnings[0].ends_with("give --time-unit ps"), "{:?}", us.warnings);
    let ps = parse("f.cm", &text, TimeUnit::Ps, None).unwrap();
    assert_eq!((ps.rows[1].start_ns, ps.warnings.len()), (2001, 1));
    assert!(ps.warnings[0].contains("f.cm:5: the start is not a whole number of ns"), "{:?}", ps.warnings);
    let cut =
        read_us(&with(&["0->1 start 1.5 size 1", "0->1 start 999999 size 1", "0->1 start 0.1 size 1"], &[]));
    assert_eq!(cut.warnings.len(), 1, "{:?}", cut.warnings);
    assert!(cut.warnings[0].ends_with("would cut the fraction off (and 1 more)"), "{:?}", cut.warnings);
}

/// Connections, triggers and what is said about them.
const REFUSED: &[(&[&str], &[&str], &str)] = &[
    (&["0->16 start 0 size 1"], &[], "f.cm:4: host 16 does not exist: Nodes is 16, so hosts are 0 to 15"),
    (&["3->3 start 0 size 1"], &[], "f.cm:4: the flow goes from host 3 to itself"),
    (&["0->x start 0 size 1"], &[], "f.cm:4: \"0->x\": expected <src>-><dst>, two whole numbers; write it"),
    (&["0->\t1 start 0 size 1"], &[], "f.cm:4: \"0->\\t1\": expected <src>-><dst>"),
    (&["0->+1 start 0 size 1"], &[], "f.cm:4: \"0->+1\": expected"),
    (&["0-> 1 start 0 size 1"], &[], "f.cm:4: \"0->\": expected <src>-><dst>"),
    (
        &["0->1 start 0 size 1", "0 ->1 start 0 size 1"],
        &[],
        "f.cm:5: \"0\": expected <src>-><dst>, `trigger` or",
    ),
    (&["0->1  start 0 size 1"], &[], "f.cm:4: two spaces in a row"),
    (&["0->1 start  0 size 1"], &[], "f.cm:4: two spaces in a row"),
    (&["0->1 start 0 size 1  "], &[], "f.cm:4: two spaces in a row"),
    (&["0->1 start 0 size 1", " "], &[], "f.cm:5: two spaces in a row"),
    (
        &["0->1 start 0 Size 1"],
        &[],
        "f.cm:4: \"Size\" is not a keyword of a connection; did you mean \"size\"?",
    ),
    (
        &["0->1 start 0\tsize 1"],
        &[],
        "f.cm:4: \"0\\tsize\": expected a time as a decimal number, from 0 to 213 days; write tokens",
    ),
    (
        &["0->1 start 0 size 1\t"],
        &[],
        "f.cm:4: \"1\\t\": expected a size in bytes, at least 1; write tokens between",
    ),
    (
        &["0->1 start 0 size"],
        &[],
        "f.cm:4: \"size\" is the last token, but a size in bytes, at least 1 must follow",
    ),
    (&["0->1 start 0"], &[], "f.cm:4: size is missing"),
    (&["0->1 start 0 size 0"], &[], "f.cm:4: \"size 0\": expected at least 1 byte"),
    (&["0->1 start 0 size -1"], &[], "f.cm:4: \"-1\": expected a size in bytes"),
    (
        &["0->1 start 0 size 2MB"],
        &[],
        "f.cm:4: \"2MB\": expected a size in bytes, at least 1; write digits only",
    ),
    (&["0->1 start 0 size 18446744073709551616"], &[], "f.cm:4: \"18446744073709551616\": expected a size"),
    (&["0->1 size 1"], &[], "f.cm:4: start or trigger is missing; give start TIME, or trigger ID"),
    (&["0->1 start -1 size 1"], &[], "f.cm:4: \"-1\": expected a time as a decimal number"),
    (&["0->1 start 1us size 1"], &[], "f.cm:4: \"1us\": expected a time"),
    (
        &["0->1 id 1 start 0 trigger 1 size 1"],
        &["trigger id 1 oneshot"],
        "f.cm:4: the flow has a start and a trigger",
    ),
    (
        &["0->1 trigger 1 size 1"],
        &["trigger id 1 oneshot"],
        "f.cm:4: id is missing; give every flow with a trigger",
    ),
    (&["0->1 id 0 start 0 size 1"], &[], "f.cm:4: \"id 0\": expected a whole number, at least 1"),
    (&["0->1 id 4 start 0 size 1", "0->1 id 4 start 0 size 1"], &[], "f.cm:5: id 4 was given on line 4"),
    (
        &["0->1 start 0 size 1 msg 1"],
        &[],
        "f.cm:4: a message on a shared connection (`msg`) is not supported yet",
    ),
    (&["0->1 start 0 size 1 addon"], &[], "f.cm:4: `addon` is not supported yet"),
    (&["0->1 start 0 size 1 prio high"], &[], "f.cm:4: \"high\": expected a whole number"),
    (&["0->1 start 0 size 1", "# more"], &[], "f.cm:5: a comment after the first connection"),
    (
        &["0->1 start 0 size 1", "Nodes 4"],
        &[],
        "f.cm:5: \"Nodes\": expected a connection, `trigger` or `failure`; move",
    ),
    (
        &["0->1 start 0 size 1", "Trigger id 1 oneshot"],
        &[],
        "f.cm:5: \"Trigger\": expected <src>-><dst>, `trigger`",
    ),
    (&["0->1 start 0 size 1"], &["trigger oneshot"], "f.cm:5: id is missing; write trigger id NUMBER"),
    (&["0->1 start 0 size 1"], &["trigger id 1"], "f.cm:5: the kind of the trigger is missing"),
    (
        &["0->1 start 0 size 1"],
        &["trigger id 1 oneshot barrier"],
        "f.cm:5: \"barrier\": expected one of oneshot",
    ),
    (&["0->1 start 0 size 1"], &["trigger id 1 barrier"], "f.cm:5: count is missing"),
    (
        &["0->1 start 0 size 1"],
        &["trigger id 1 barrier count 0"],
        "f.cm:5: \"count 0\": expected a whole number",
    ),
    (
        &["0->1 start 0 size 1"],
        &["trigger id 1 one_shot"],
        "f.cm:5: \"one_shot\" is not a keyword of a trigger; did you mean \"oneshot\"",
    ),
    (
        &["0->1 start 0 size 1"],
        &["trigger id 1 oneshot", "trigger id 1 oneshot"],
        "f.cm:6: trigger 1 was given on line 5",
    ),
    (&["0->1 id 1 trigger 2 size 1"], &[], "f.cm:4: trigger names trigger 2, which no line defines"),
    (&["0->1 start 0 size 1 send_done_trigger 2"], &[], "f.cm:4: send_done_trigger names trigger 2"),
    (&["0->1 start 0 size 1 recv_done_trigger 2"], &[], "f.cm:4: recv_done_trigger names trigger 2"),
    (
        &["0->1 start 0 size 1 send_done_trigger 1 recv_done_trigger 1"],
        &["trigger id 1 oneshot"],
        "f.cm:5: trigger 1 (oneshot) takes 1 activations, but 2 flow ends activate it, where htsim aborts; make it",
    ),
    (
        &["0->1 start 0 size 1 send_done_trigger 1", "0->1 id 2 trigger 1 size 1"],
        &["trigger id 1 barrier count 2"],
        "f.cm:5: the flow would never start: trigger 1 needs 2 activations for it, but 1 flow ends activate it",
    ),
    (
        &["0->1 start 0 size 1", "0->1 id 2 trigger 1 size 1"],
        &["trigger id 1 oneshot"],
        "f.cm:5: the flow would never start: trigger 1 needs 1 activations for it, but 0 flow ends",
    ),
    (
        &[
            "0->1 start 0 size 1 send_done_trigger 1",
            "0->1 id 2 trigger 1 size 1",
            "0->1 id 3 trigger 1 size 1",
        ],
        &["trigger id 1 multishot"],
        "f.cm:6: the flow would never start: trigger 1 needs 2 activations for it, but 1 flow ends",
    ),
    (
        &["0->1 id 1 trigger 1 size 1 send_done_trigger 2", "0->1 id 2 trigger 2 size 1 send_done_trigger 1"],
        &["trigger id 1 oneshot", "trigger id 2 oneshot"],
        "f.cm:4: the flow would never start: it waits for itself through the triggers of lines 4, 5; break",
    ),
];

#[test]
fn wrong_bodies_are_refused_with_line_token_and_cure() {
    for (connections, triggers, message) in REFUSED {
        let text = with(connections, triggers);
        let error = parse("f.cm", &text, TimeUnit::Us, None).expect_err(&text).to_string();
        assert!(error.starts_with(message), "{text}\n  gave {error}\n  expected {message}");
        assert!(error.contains("; "), "no cure: {error}");
    }
}

#[test]
fn wrong_headers_are_refused() {
    let flow = "0->1 start 0 size 1\n";
    for (text, message) in [
        (String::new(), "f.cm: has no connections"),
        ("Connections 0\n".to_owned(), "f.cm: has no connections"),
        ("Connections 2\n".to_owned(), "f.cm:1: Connections says 2, but the file has 0 such lines"),
        (flow.to_owned(), "f.cm: Connections says 0, but the file has 1 such lines"),
        (
            format!("Nodes 2\nConnections 2\n{flow}"),
            "f.cm:2: Connections says 2, but the file has 1 such lines",
        ),
        (format!("Connections 1\nTriggers 1\n{flow}"), "f.cm:2: Triggers says 1, but the file has 0"),
        (format!("Connections 1\n{flow}trigger id 1 oneshot\n"), "f.cm: Triggers says 0, but the file has 1"),
        (format!("Connections 1\nFailures 1\n{flow}"), "f.cm:2: Failures says 1, but the file has 0"),
        (
            format!("Connections 1\nFailures 1\n{flow}failure switch_type AGG switch_id 0 link_id 0\n"),
            "f.cm:4: a failed link (`failure`) is not supported yet; remove the line",
        ),
        ("Connections x\n".to_owned(), "f.cm:1: \"x\": expected a whole number below 2^32"),
        ("Connections 4294967296\n".to_owned(), "f.cm:1: \"4294967296\": expected"),
        ("Connections\n".to_owned(), "f.cm:1: \"Connections\" is the last token, but a whole number"),
        ("Nodes 2 3\n".to_owned(), "f.cm:1: \"3\": expected the end of the line"),
        ("Nodes 0\n".to_owned(), "f.cm:1: \"0\": expected at least 1"),
        (
            "Connections 1\n0 -> 1 start 0 size 1\n".to_owned(),
            "f.cm:2: \"0\": expected <src>-><dst>; write no spaces",
        ),
    ] {
        let error = parse("f.cm", &text, TimeUnit::Us, None).expect_err(&text).to_string();
        assert!(error.starts_with(message), "{text}\n  gave {error}\n  expected {message}");
    }
    let error = read(Path::new("/no/such.cm"), TimeUnit::Us, None).unwrap_err().to_string();
    assert!(error.starts_with("/no/such.cm: cannot be read"), "{error}");
}

/// Lines that are nearly right, so that random texts get far.
fn line() -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec![
        "Nodes",
        "Connections",
        "Triggers",
        "Failures",
        "0->1",
        "1->0",
        "2->2",
        "->",
        "id",
        "size",
        "start",
        "trigger",
        "send_done_trigger",
        "recv_done_trigger",
        "prio",
        "msg",
        "oneshot",
        "multishot",
        "barrier",
        "count",
        "failure",
        "0",
        "1",
        "2",
        "3",
        "4294967296",
        "99999999999999999999",
        "1e9",
        "-1",
        "",
        "#",
        "\t",
        "\r",
        "é",
    ]);
    prop::collection::vec(token, 0..9).prop_map(|tokens| tokens.join(" "))
}

/// A file that is right but for its dependencies.
fn dependent() -> impl Strategy<Value = String> {
    let flow = (0_u8..4, 0_u8..4, 0_u8..4);
    (prop::collection::vec(flow, 1..12), prop::collection::vec(0_u8..4, 3)).prop_map(|(flows, kinds)| {
        let kind =
            |kind: &u8| ["oneshot", "multishot", "barrier count 1", "barrier count 2"][usize::from(*kind)];
        let triggers: Vec<_> =
            (1..).zip(&kinds).map(|(id, k)| format!("trigger id {id} {}", kind(k))).collect();
        let key = |name: &str, id: u8| if id == 0 { String::new() } else { format!(" {name} {id}") };
        let line = |(id, (by, sent, received)): (usize, &(u8, u8, u8))| {
            let begin = if *by == 0 { " start 0".to_owned() } else { key("trigger", *by) };
            let ends = key("send_done_trigger", *sent) + &key("recv_done_trigger", *received);
            format!("0->1 id {id}{begin} size 5{ends}")
        };
        let flows: Vec<_> = (1..).zip(&flows).map(line).collect();
        with(
            &flows.iter().map(String::as_str).collect::<Vec<_>>(),
            &triggers.iter().map(String::as_str).collect::<Vec<_>>(),
        )
    })
}

proptest! {
    #[test]
    fn no_text_panics(text in any::<String>(), lines in prop::collection::vec(line(), 0..8)) {
        let sites = Sites::new(vec![0..8, 8..16]).unwrap();
        for text in [text, lines.join("\n")] {
            match parse("f.cm", &text, TimeUnit::Us, None) {
                Err(error) => prop_assert!(error.to_string().starts_with("f.cm:"), "{}", error),
                Ok(matrix) => {
                    let list = parse_csv("f.csv", &to_csv(&matrix.rows), &sites, 0, "t");
                    prop_assert!(list.is_ok(), "{:?}", list);
                }
            }
        }
    }

    /// An imported matrix can be read back as a list with the same dependencies: as many ends for as many flows.
    #[test]
    fn what_is_imported_is_a_list_that_waits_for_the_same(text in dependent()) {
        let sites = Sites::new(vec![0..8, 8..16]).unwrap();
        if let Ok(matrix) = parse("f.cm", &text, TimeUnit::Ps, None) {
            let part = parse_csv("f.csv", &to_csv(&matrix.rows), &sites, 0, "t");
            let part = part.map_err(|error| TestCaseError::fail(format!("{error}\n{text}")))?;
            let started: usize = part.triggers.iter().map(|trigger| trigger.targets.len()).sum();
            prop_assert_eq!(started, text.matches(" trigger ").count());
        }
    }
}

#[test]
fn a_wrong_number_of_hosts_can_be_overridden() {
    let text = "Nodes 32\nConnections 2\n0->240 start 0 size 1\r\n255->7 start 0 size 1\n";
    let error = parse("f.cm", text, TimeUnit::Us, None).unwrap_err().to_string();
    assert_eq!(
        error,
        "f.cm:3: host 240 does not exist: Nodes is 32, so hosts are 0 to 31, and the largest in the file is 255; correct one of \
         them, or give --nodes 256 or more"
    );
    let matrix = parse("f.cm", text, TimeUnit::Us, Some(256)).unwrap();
    assert_eq!(matrix.hosts, Some(256));
    assert_eq!(matrix.warnings, ["f.cm:1: Nodes says 32, but --nodes says 256: --nodes is used"]);
    assert_eq!(
        parse("f.cm", &text.replace("Nodes 32\n", ""), TimeUnit::Us, Some(256)).unwrap().hosts,
        Some(256)
    );
    let error = parse("f.cm", text, TimeUnit::Us, Some(240)).unwrap_err().to_string();
    assert!(error.contains("f.cm:3: host 240 does not exist"), "{error}");
}

use super::*;
use crate::figure::Figure;
use farspan_metrics::FlowRow;

/// A flow of a tag with 1,000 B per 1 of slowdown.
fn flow(id: u64, tag: &str, start_us: i64, delivered_us: Option<i64>) -> FlowRow {
    FlowRow {
        flow_id: id,
        src: 0,
        dst: 1,
        class: "intra".into(),
        tag: tag.into(),
        measured: true,
        size_bytes: 1000 * (id + 1),
        start_ns: Some(start_us * 1000),
        fct_ns: delivered_us.map(|end| (end - start_us) * 1000),
        delivered_ns: delivered_us.map(|end| end * 1000),
        ideal_fct_ns: 1000,
        slowdown: delivered_us.map(|end| (end - start_us) as f64),
        sent_bytes: 0,
        parity_bytes: 0,
        retransmitted_bytes: 0,
        marked_packets: 0,
        trimmed_packets: 0,
        dropped_packets: 0,
        timeouts: 0,
        nacks: 0,
        blocks_undecodable: 0,
    }
}

/// A long flow 0 and two short ones, 1 and 2, samples every 10 us, and a port.
fn tables() -> Tables {
    let mut tables = Tables {
        flows: vec![flow(0, "long", 0, None), flow(1, "short", 20, Some(40)), flow(2, "short", 20, Some(50))],
        bottleneck: Some("a->b#0".to_owned()),
        ..Tables::default()
    };
    let long = [100e9, 100e9, 40e9, 20e9, 50e9, 80e9, 95e9, 80e9, 95e9, 100e9];
    let shorts = [(30, 1, 30e9), (40, 1, 40e9), (30, 2, 30e9), (40, 2, 40e9), (50, 2, 50e9)];
    let queue = [0.0, 0.0, 5e3, 15e3, 25e3, 35e3, 20e3, 10e3, 10e3, 10e3];
    for (i, (rate, queue)) in long.into_iter().zip(queue).enumerate() {
        let t = 10_000 * (i as i64 + 1);
        tables.put("rate", "0", (t, rate));
        tables.put("queue", "a->b#0", (t, queue));
        tables.put("rtt", "0", (t, 12_500.0));
        tables.put("signal", "0", (t, -0.1 * i as f64));
    }
    for (t, id, rate) in shorts {
        tables.put("rate", &format!("{id}"), (t * 1000, rate));
    }
    tables
}

/// The number of a measure that `what` describes in `claims.toml`, of these tables.
fn number(what: &str) -> Option<f64> {
    let text = format!(
        r#"
        title = "A figure"
        place = "Section 1"
        scenario = "uno/incast-mixed"
        size = {{ smoke = {{ seeds = "1" }}, small = {{ seeds = "1" }}, full = {{ seeds = "1" }} }}
        arm = [{{ name = "uno" }}]
        measure = [{{ name = "it", {what} }}]
        check = [{{ id = "it", text = "it", measure = "it", of = ["uno"], rule = "band", low = 0 }}]
        "#
    );
    let figure = Figure::parse("x/fig1", &text, "").unwrap_or_else(|error| panic!("{error}"));
    let computed = figure.measures[0].computed.clone().expect("it is computed");
    computed.number(&tables()).map(|number| number.value)
}

fn long(rest: &str) -> Option<f64> {
    number(&format!("series = {{ probe = \"rate\", of = \"tag=long\", {rest} }}"))
}

#[test]
fn a_period_begins_after_its_first_moment_and_ends_with_its_last() {
    assert_eq!(long("from = \"20us\", to = \"40us\", take = \"mean\""), Some(30e9));
    assert_eq!(long("to = \"20us\", take = \"min\""), Some(100e9));
    assert_eq!(long("from = \"90us\", take = \"max\""), Some(100e9));
    assert_eq!(long("from = \"100us\", take = \"max\""), None, "there is no sample");
}

#[test]
fn a_moment_can_be_that_of_an_event() {
    assert_eq!(long("from = \"start of short\", to = \"end of short\", take = \"max\""), Some(50e9));
    assert_eq!(long("from = \"end of short + 10us\", take = \"min\""), Some(80e9));
    assert_eq!(long("from = \"end of short - 20us\", to = \"end of short\", take = \"mean\""), Some(35e9));
    assert_eq!(long("from = \"50% of short\", to = \"90% of short\", take = \"min\""), Some(20e9));
    assert_eq!(long("from = \"0% of long\", take = \"min\""), Some(20e9));
    assert_eq!(long("from = \"end of nobody\", take = \"mean\""), None);
    assert_eq!(long("from = \"end of long\", take = \"mean\""), Some(f64::INFINITY), "it never ends");
}

#[test]
fn times_count_from_the_beginning_of_the_period() {
    let after = |rest: &str| long(&format!("from = \"end of short\", {rest}"));
    assert_eq!(after("take = \"first_above\", level = \"90Gbps\""), Some(20.0));
    assert_eq!(after("take = \"last_below\", level = \"90Gbps\""), Some(30.0));
    assert_eq!(after("take = \"first_above\", level = \"100Gbps\""), Some(f64::INFINITY));
    assert_eq!(after("take = \"last_below\", level = \"10Gbps\""), Some(0.0), "it is above at once");
    assert_eq!(
        after("to = \"80us\", take = \"last_below\", level = \"90Gbps\""),
        Some(f64::INFINITY),
        "it is below at the end"
    );
    assert_eq!(after("take = \"first_below\", level = \"81Gbps\""), Some(10.0));
    assert_eq!(after("to = \"80us\", take = \"last_above\", level = \"90Gbps\""), Some(20.0));
}

#[test]
fn a_level_can_be_a_part_of_what_was_before() {
    let rest = "from = \"end of short\", take = \"last_below\", level = 0.9, reference = [\"0us\", \"20us\"]";
    assert_eq!(long(rest), Some(30.0));
}

#[test]
fn several_flows_become_one_value_a_sample() {
    let short = |rest: &str| {
        number(&format!("series = {{ probe = \"rate\", of = \"tag=short\", to = \"40us\", {rest} }}"))
    };
    assert_eq!(short("take = \"max\""), Some(80e9));
    assert_eq!(short("combine = \"mean\", take = \"max\""), Some(40e9));
    assert_eq!(short("combine = \"jain\", take = \"min\""), Some(1.0));
    let per = number(
        "series = { probe = \"rate\", of = \"flow=0\", per = \"flow=1\", from = \"20us\", to = \"40us\", take = \"mean\" }",
    );
    assert_eq!(per, Some(30.0 / 35.0));
}

#[test]
fn shares_shortfalls_deviations_and_slopes() {
    let queue =
        |rest: &str| number(&format!("series = {{ probe = \"queue\", of = \"bottleneck\", {rest} }}"));
    assert_eq!(queue("take = \"share_above\", level = \"0B\""), Some(0.8));
    assert_eq!(queue("from = \"70us\", take = \"shortfall\", level = \"15KB\""), Some(5e3));
    assert_eq!(queue("from = \"70us\", take = \"deviation\""), Some(0.0));
    // 10 KB in 10 us.
    let slope = queue("from = \"20us\", to = \"60us\", take = \"slope\"").expect("there are samples");
    assert!((slope / 1e9 - 1.0).abs() < 1e-9, "{slope}");
    assert_eq!(queue("from = \"20us\", to = \"30us\", take = \"slope\""), None, "of one sample");
    assert_eq!(number("series = { probe = \"rtt\", of = \"flow=0\", take = \"mean\" }"), Some(12.5));
    let signal = "series = { probe = \"signal\", of = \"flow=0\", take = \"first_below\", level = -0.45 }";
    assert_eq!(number(signal), Some(60.0));
}

#[test]
fn flows_are_chosen_by_tag_and_size_and_those_that_do_not_end_are_infinite() {
    assert_eq!(number("flows = { tag = \"short\", take = \"slowdown_mean\" }"), Some(25.0));
    assert_eq!(number("flows = { take = \"fct_mean\" }"), Some(f64::INFINITY));
    assert_eq!(number("flows = { above = \"1KB\", up_to = \"2KB\", take = \"fct_mean\" }"), Some(20.0));
    assert_eq!(number("flows = { above = \"1KB\", take = \"fct_p99\" }"), Some(30.0));
    assert_eq!(number("flows = { above = \"9KB\", take = \"fct_mean\" }"), None);
}

//! NACKs of trimmed packets and the windows that they lower, from text to results.

use farspan_scenario::Request;
use farspan_transport::congestion::{CongestionConfig, NAMES, NackRule};
use farspan_world::{EngineKind, World};

fn request(scheme: &str, set: &[&str]) -> Request {
    let set = set.iter().map(|set| (*set).to_owned()).collect();
    Request { scheme: Some(scheme.to_owned()), set, ..Request::new("proxy/degree") }
}

#[test]
fn no_control_without_a_rule_of_its_own_sends_more_than_five_times_its_bytes() {
    let senders = format!("workload.senders={:?}", (0..62).collect::<Vec<_>>());
    let set = [
        senders.as_str(),
        "workload.flow_size=4838710B",
        "scheme.proxy.kind=streamlined",
        "scheme.ports.overflow=trim",
    ];
    let unsaid = |name: &&&str| CongestionConfig::by_name(name).unwrap().needs().nacks == NackRule::Unsaid;
    for control in NAMES.iter().filter(unsaid) {
        let resolved = request(&format!("{control}+rps"), &set).resolve().unwrap();
        let outcome =
            farspan_sim::run(&World::build(&resolved).unwrap().spec, EngineKind::Windowed, &mut |_| true);
        assert!(outcome.flows.iter().all(|flow| flow.finish.is_some()), "{control}");
        let sent: u64 = outcome.flows.iter().map(|flow| flow.sender.sent_bytes.get()).sum();
        let size: u64 = outcome.flows.iter().map(|flow| flow.size.get()).sum();
        println!("{control}: {:.2} times its bytes", sent as f64 / size as f64);
        assert!(sent <= 5 * size, "{control}: {sent} B for {size} B");
    }
}

#[test]
fn the_answer_to_a_nack_is_spelled_out_for_every_control() {
    for (scheme, set, answer) in [
        ("oscar", &[][..], "before"),
        ("timely", &[], "before"),
        ("smartt", &[], "published"),
        ("ndp", &[], "published"),
        ("fixed_window", &[], "published"),
        (
            "oscar",
            &["scheme.inter.congestion.on_nack=in_flight", "scheme.intra.congestion.on_nack=in_flight"],
            "in_flight",
        ),
        ("uno", &["scheme.inter.congestion.on_nack=none", "scheme.intra.congestion.on_nack=none"], "none"),
    ] {
        let text = request(scheme, set).resolve().unwrap().to_toml();
        assert_eq!(text.matches(&format!("on_nack = {answer:?}")).count(), 2, "{scheme}: {text}");
        let again = Request { text: Some(text.clone()), ..Request::new("again") }.resolve().unwrap();
        assert_eq!(again.to_toml(), text, "{scheme}");
    }
}

#[test]
fn an_answer_that_a_control_cannot_give_is_refused_with_its_cure() {
    for (scheme, answer, words) in [
        ("oscar", "published", ["its source says nothing", "\"before\""]),
        ("ndp", "before", ["no window and no rate", "\"published\""]),
        ("fixed_window", "in_flight", ["no window and no rate", "\"none\""]),
        ("uno", "befor", ["not a known word", "did you mean \"before\""]),
    ] {
        let set = format!("scheme.inter.congestion.on_nack={answer}");
        let error = request(scheme, &[&set]).resolve().unwrap_err().to_string();
        assert!(error.contains("scheme.inter.congestion.on_nack"), "{error}");
        assert!(words.iter().all(|word| error.contains(word)), "{error}");
    }
}

//! Controls that are installed, tuned, replaced and removed.

use super::{Lab, code, eventually};
use crate::common::{Folder, by_nobody, stderr};
use serde_json::Value;
use std::process::{Child, Stdio};

#[test]
fn every_control_is_installed_shown_and_removed_without_a_trace() {
    let Some(lab) = Lab::new() else { return };
    for (control, setting) in [("gemini", "beta=0.25"), ("unocc", "alpha=0.002"), ("fixed", "window=64")] {
        let before = lab.default("a");
        let text = lab.kernel(&["install", control, "--as", &lab.name, "--set", setting]);
        assert!(text.contains(setting) && text.contains("congctl") && text.contains("tcp_ecn=1"), "{text}");
        assert!(lab.is_registered());
        assert_eq!(lab.default("a"), before, "it is nobody's default");
        let status = lab.status();
        assert_eq!(status["control"], control);
        assert_eq!(status["installed"], true);
        assert_eq!(status["programs"][0]["in_force"], true);
        let settings = status["programs"][0]["settings"].as_array().unwrap();
        assert!(settings.contains(&Value::from(setting)), "{settings:?}");
        let again = lab.farspan(&["install", control, "--as", &lab.name]);
        assert_eq!(code(&again), 2);
        assert!(stderr(&again).contains("tune"), "{}", stderr(&again));
        let text = lab.kernel(&["remove", &lab.name]);
        assert!(text.contains("not in force any more"), "{text}");
        lab.assert_clear();
    }
    let again = lab.farspan(&["remove", &lab.name]);
    assert_eq!(code(&again), 2);
    assert!(stderr(&again).contains("is not installed"), "{}", stderr(&again));
}

#[test]
fn namespaces_get_a_control_and_have_what_they_had_again() {
    let Some(lab) = Lab::new() else { return };
    lab.run(&["ip", "netns", "exec", "b", "sysctl", "-w", "net.ipv4.tcp_congestion_control=reno"]);
    let before = ["a", "b", "c"].map(|host| (lab.default(host), lab.setting(host, "net.ipv4.tcp_ecn")));
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    assert_eq!([lab.default("a"), lab.default("b")], [lab.name.as_str(), lab.name.as_str()]);
    assert_eq!(lab.setting("a", "net.ipv4.tcp_ecn"), "1");
    assert_eq!(lab.default("c"), before[2].0);
    assert_eq!(lab.status()["defaults"], serde_json::json!(["a", "b"]));
    let one = lab.kernel(&["remove", &lab.name, "--netns", "a"]);
    assert!(one.contains("a: new connections get") && lab.is_registered(), "{one}");
    assert_eq!(lab.status()["defaults"], serde_json::json!(["b"]));
    lab.kernel(&["remove", &lab.name]);
    let after = ["a", "b", "c"].map(|host| (lab.default(host), lab.setting(host, "net.ipv4.tcp_ecn")));
    assert_eq!(after, before);
    lab.assert_clear();
    let nowhere = lab.farspan(&["install", "fixed", "--as", &lab.name, "--netns", "nowhere"]);
    assert_eq!(code(&nowhere), 2);
    assert!(stderr(&nowhere).contains("nowhere") && !lab.is_registered(), "{}", stderr(&nowhere));
}

#[test]
fn a_program_is_replaced_under_a_live_connection_which_keeps_its_own() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "a", "--set", "window=50"]);
    let flow = lab.flow();
    for round in 0..3 {
        let window = format!("window={}", 20 + round);
        let before = lab.delivered();
        let text = lab.kernel(&["tune", &lab.name, "--set", &window]);
        assert!(text.contains("until they close") && text.contains(&window), "{text}");
        assert!(eventually(|| lab.delivered() > before), "the connection stands still");
        let status = lab.status();
        let in_force: Vec<_> = status["programs"]
            .as_array()
            .unwrap()
            .iter()
            .filter(|program| program["in_force"] == true)
            .collect();
        assert_eq!(in_force.len(), 1, "{status}");
        assert_eq!(in_force[0]["settings"], serde_json::json!([window]));
        let sockets = status["sockets"].as_array().unwrap();
        assert!(sockets.iter().any(|socket| socket["cwnd"] == 50), "{sockets:?}");
    }
    drop(flow);
    // The default has moved to the new program: a new connection has its window, and nothing holds the old ones.
    let flow = lab.flow();
    let has = |cwnd: u64| lab.status()["sockets"].as_array().unwrap().iter().any(|s| s["cwnd"] == cwnd);
    assert!(eventually(|| has(22)), "{}", lab.status());
    assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
    // The program alone has its own parameters.
    let text = lab.kernel(&["replace", &lab.name]);
    assert!(text.contains("window=32"), "{text}");
    drop(flow);
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}

#[test]
fn a_control_is_removed_under_a_live_connection_which_goes_on() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.default("a");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    let flow = lab.flow();
    let text = lab.kernel(&["remove", &lab.name]);
    assert!(text.contains("10.9.0.2:7000") && text.contains("still in the kernel"), "{text}");
    assert_eq!(lab.default("a"), before);
    assert!(!lab.is_registered());
    let delivered = lab.delivered();
    assert!(eventually(|| lab.delivered() > delivered), "the connection stands still");
    let status = lab.status();
    assert_eq!((&status["installed"], &status["registered"]), (&false.into(), &false.into()));
    assert_eq!(status["programs"].as_array().unwrap().len(), 1, "{status}");
    // Another of the name can come meanwhile, and go. Each program says which control it is.
    lab.kernel(&["install", "unocc", "--as", &lab.name]);
    let status = lab.status();
    let programs = status["programs"].as_array().unwrap().iter();
    let mut of: Vec<_> = programs.map(|program| (program["in_force"] == true, &program["control"])).collect();
    of.sort_by_key(|(in_force, _)| *in_force);
    assert_eq!(
        (of, &status["control"]),
        (vec![(false, &"gemini".into()), (true, &"unocc".into())], &"unocc".into())
    );
    let text = lab.kernel(&["status", &lab.name]);
    assert!(text.contains("(gemini): left over") && text.contains("installed (unocc)"), "{text}");
    lab.kernel(&["remove", &lab.name]);
    drop(flow);
    lab.assert_clear();
}

#[test]
fn two_controls_in_turn_leave_what_the_namespace_had_before_both() {
    let Some(lab) = Lab::new() else { return };
    lab.set("a", "net.ipv4.tcp_congestion_control=reno");
    let (before, other) = (lab.tcp("a"), format!("{}b", lab.name));
    for first_goes_first in [true, false] {
        lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
        lab.kernel(&["install", "unocc", "--as", &other, "--netns", "a"]);
        assert_eq!(lab.tcp("a"), [other.as_str(), "1"]);
        let order = if first_goes_first { [&lab.name, &other] } else { [&other, &lab.name] };
        for name in order {
            lab.kernel(&["remove", name]);
        }
        assert_eq!(lab.tcp("a"), before, "the first goes first: {first_goes_first}");
        lab.assert_clear();
    }
}

#[test]
fn a_default_that_somebody_else_changed_stays_and_ecn_goes_back() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.tcp("a");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    lab.set("a", "net.ipv4.tcp_congestion_control=reno");
    lab.kernel(&["remove", &lab.name]);
    assert_eq!(lab.tcp("a"), ["reno", before[1].as_str()]);
    // What it had when it was taken again counts, and not what it had at first.
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    lab.set("b", "net.ipv4.tcp_congestion_control=reno");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "b"]);
    lab.kernel(&["remove", &lab.name]);
    assert_eq!(lab.tcp("b"), ["reno", before[1].as_str()]);
    lab.assert_clear();
}

#[test]
fn a_namespace_has_nothing_of_a_deleted_one() {
    let Some(lab) = Lab::new() else { return };
    lab.set("c", "net.ipv4.tcp_congestion_control=reno");
    lab.set("c", "net.ipv4.tcp_ecn=0");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "c"]);
    lab.run(&["ip", "netns", "del", "c"]);
    // Linux gives the next one the same inode, unless another comes in between.
    lab.run(&["ip", "netns", "add", "d"]);
    let before = lab.tcp("d");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "d"]);
    lab.kernel(&["remove", &lab.name]);
    assert_eq!(lab.tcp("d"), before);
    lab.assert_clear();
}

#[test]
fn a_control_whose_pins_are_gone_is_removed_from_the_namespaces_that_still_have_it() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.tcp("a");
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    lab.run(&["rm", "-r", &format!("/sys/fs/bpf/farspan/tcp/{}", lab.name)]);
    assert!(eventually(|| !lab.is_registered()));
    assert_eq!(lab.default("a"), lab.name, "the namespace holds the program");
    assert_eq!(lab.status()["defaults"], serde_json::json!(["a"]));
    let text = lab.kernel(&["remove", &lab.name]);
    assert!(text.contains("a: new connections get"), "{text}");
    assert_eq!(lab.tcp("a"), before);
    lab.assert_clear();
}

#[test]
fn tune_keeps_the_other_parameters_of_every_control() {
    let Some(lab) = Lab::new() else { return };
    for (control, first, second) in
        [("gemini", "beta=0.25", "gain=0.125"), ("unocc", "alpha=0.002", "intra_rtt=20us")]
    {
        lab.kernel(&["install", control, "--as", &lab.name, "--set", first]);
        let before = lab.settings();
        lab.kernel(&["tune", &lab.name, "--set", second]);
        let after = lab.settings();
        let changed: Vec<_> = after.iter().filter(|setting| !before.contains(setting)).collect();
        assert_eq!(changed, [second], "{control}");
        lab.kernel(&["replace", &lab.name]);
        assert!(!lab.settings().contains(&first.to_owned()), "the program's own");
        lab.kernel(&["remove", &lab.name]);
    }
    lab.assert_clear();
}

#[test]
fn commands_that_come_at_once_wait_for_each_other() {
    let Some(lab) = Lab::new() else { return };
    let farspan = |words: &[&str]| {
        let words = [&[env!("CARGO_BIN_EXE_farspan"), "kernel"], words].concat();
        lab.command(&words).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
    };
    let codes = |mut children: Vec<Child>| {
        let mut codes: Vec<_> =
            children.iter_mut().map(|child| child.wait().unwrap().code().unwrap()).collect();
        codes.sort_unstable();
        codes
    };
    for _ in 0..3 {
        let install = || farspan(&["install", "fixed", "--as", &lab.name]);
        assert_eq!(codes((0..4).map(|_| install()).collect()), [0, 2, 2, 2]);
        assert_eq!(lab.status()["installed"], true);
        let tune = |window: u32| farspan(&["tune", &lab.name, "--set", &format!("window={window}")]);
        assert_eq!(codes((50..54).map(tune).collect()), [0; 4]);
        assert!(eventually(|| lab.status()["programs"].as_array().unwrap().len() == 1), "{}", lab.status());
        assert_eq!(codes((0..4).map(|_| farspan(&["remove", &lab.name])).collect()), [0, 2, 2, 2]);
        lab.assert_clear();
    }
}

#[test]
fn a_destination_has_a_control_of_its_own() {
    let Some(lab) = Lab::new() else { return };
    let before = lab.default("a");
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--set", "window=40"]);
    let route = ["ip", "-n", "a", "route", "replace", "10.9.0.2/32", "dev", "va", "congctl", &lab.name];
    lab.run(&route);
    let has = |cwnd: u64| lab.status()["sockets"].as_array().unwrap().iter().any(|s| s["cwnd"] == cwnd);
    let flow = lab.flow();
    assert!(eventually(|| has(40)), "{}", lab.status());
    assert_eq!(lab.default("a"), before);
    drop(flow);
    // A route keeps the name, and not the program.
    lab.kernel(&["tune", &lab.name, "--set", "window=41"]);
    let flow = lab.flow();
    assert!(eventually(|| has(41)), "{}", lab.status());
    drop(flow);
    lab.kernel(&["remove", &lab.name]);
    let flow = lab.flow();
    assert_eq!(lab.status()["sockets"], serde_json::json!([]), "the namespace's default");
    drop(flow);
    lab.assert_clear();
}

#[test]
fn a_namespace_is_deleted_under_its_connections() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "a"]);
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--netns", "c"]);
    let flow = lab.flow();
    lab.run(&["ip", "netns", "del", "a"]);
    lab.run(&["ip", "netns", "del", "c"]);
    // Its processes still hold it.
    let status = lab.status();
    assert!(status["defaults"][0].as_str().unwrap().contains("that of"), "{status}");
    lab.kernel(&["tune", &lab.name, "--set", "window=9"]);
    drop(flow);
    assert!(eventually(|| lab.status()["defaults"].as_array().unwrap().is_empty()), "{}", lab.status());
    lab.kernel(&["tune", &lab.name, "--set", "window=10"]);
    lab.kernel(&["remove", &lab.name]);
    lab.assert_clear();
}

#[test]
fn bad_parameters_load_nothing() {
    let Some(lab) = Lab::new() else { return };
    for (words, expected) in [
        (&["gemini", "--set", "bta=0.2"][..], "no parameter `bta`"),
        (&["gemini", "--set", "beta"], "KEY=VALUE"),
        (&["gemini", "--set", "beta=0.6"], "out of bounds: 0 to 0.5"),
        (&["gemini", "--set", "delay_threshold=5"], "a time with a unit"),
        (&["gemini", "--set", "k=1Mbps"], "bytes with a unit"),
        (&["unocc", "--set", "alpha=0"], "out of bounds"),
        (&["cubic"], "gemini, unocc, fixed"),
        (&["fixed", "--as", "too-long-or-odd"], "lower-case letters"),
        (&["fixed", "--as", "reno"], "a Linux control"),
        (&["gemini", "--set", "h_min=6"], "h_min=6 is above h_max=5"),
        (&["unocc", "--set", "max_cwnd=20", "--set", "start_cwnd=21"], "start_cwnd=21 is above max_cwnd=20"),
    ] {
        let name = ["--as", lab.name.as_str()];
        let name: &[&str] = if words.contains(&"--as") { &[] } else { &name };
        let output = lab.farspan(&[&["install"], words, name].concat());
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains(expected), "{words:?}: {}", stderr(&output));
        lab.assert_clear();
    }
    lab.kernel(&["install", "fixed", "--as", &lab.name, "--set", "window=7"]);
    for words in [&["--set", "window=0"][..], &["--set", "windw=8"], &[]] {
        let output = lab.farspan(&[&["tune", lab.name.as_str()], words].concat());
        assert_eq!(code(&output), 2, "{words:?}");
    }
    assert_eq!(lab.settings(), ["window=7"]);
    lab.kernel(&["remove", &lab.name]);
    // What goes together with what is held.
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--set", "h_max=2"]);
    let output = lab.farspan(&["tune", &lab.name, "--set", "h_min=3"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("h_min=3 is above h_max=2"), "{}", stderr(&output));
    lab.kernel(&["remove", &lab.name]);
}

#[test]
fn what_a_machine_lacks_is_said() {
    let folder = Folder::new("kernel-lacks");
    for words in [
        &["install", "gemini"][..],
        &["tune", "gemini", "--set", "beta=0.3"],
        &["replace", "gemini"],
        &["remove", "gemini"],
        &["status"],
        &["mark", "--dev", "lo", "--rate", "1Gbps"],
    ] {
        let output = by_nobody(&folder).arg("kernel").args(words).output().unwrap();
        assert_eq!(code(&output), 2, "{words:?}: {}", stderr(&output));
        assert!(stderr(&output).contains("only root can load"), "{words:?}: {}", stderr(&output));
    }
    let Some(lab) = Lab::new() else { return };
    // The machine's own may lie below that of the test.
    lab.run(&["sh", "-c", "while mountpoint -q /sys/fs/bpf; do umount /sys/fs/bpf; done"]);
    let output = lab.farspan(&["install", "gemini", "--as", &lab.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("mount -t bpf bpf /sys/fs/bpf"), "{}", stderr(&output));
    lab.run(&["sh", "-c", "mount -t tmpfs tmpfs /sys/kernel"]);
    let output = lab.farspan(&["install", "gemini", "--as", &lab.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("CONFIG_DEBUG_INFO_BTF"), "{}", stderr(&output));
}

#[test]
fn what_is_not_kept_any_more_goes_back_to_what_the_machine_has() {
    let Some(lab) = Lab::new() else { return };
    lab.kernel(&["install", "gemini", "--as", &lab.name, "--netns", "a"]);
    lab.run(&["rm", "-r", "/sys/fs/bpf/farspan"]);
    assert!(eventually(|| !lab.is_registered()));
    let text = lab.kernel(&["remove", &lab.name]);
    assert!(text.contains("a: tcp_ecn stays 1, because its old value is not known"), "{text}");
    assert_ne!(lab.default("a"), lab.name);
    lab.assert_clear();
}

#[test]
fn what_somebody_else_registered_is_left_alone() {
    let (Some(lab), Some(other)) = (Lab::new(), Lab::new()) else { return };
    // The other lab has a BPF file system of its own: here nobody knows of its pin.
    other.kernel(&["install", "gemini", "--as", &other.name]);
    lab.run(&[
        "ip",
        "netns",
        "exec",
        "a",
        "sysctl",
        "-q",
        "-w",
        &format!("net.ipv4.tcp_congestion_control={}", other.name),
    ]);
    let output = lab.farspan(&["remove", &other.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("farspan did not install it"), "{}", stderr(&output));
    assert_eq!(lab.default("a"), other.name);
    let output = lab.farspan(&["install", "gemini", "--as", &other.name]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("did not install"), "{}", stderr(&output));
    lab.set("a", "net.ipv4.tcp_congestion_control=reno");
    other.kernel(&["remove", &other.name]);
}

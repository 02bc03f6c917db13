//! The comparison sees every constant: with one of them changed, the languages differ.

use crate::{compiled_from, page};
use farspan_languages::{Distance, Name, Program, Setting, random_events, simulated_windows};
use std::fs;

/// A piece of the source, and what it is changed to.
type Change = (&'static str, &'static str);

const GEMINI: &[Change] = &[
    (".line_rate_bytes_per_s = 125000000", ".line_rate_bytes_per_s = 135000000"),
    (".k_bytes = 75000", ".k_bytes = 85000"),
    (".min_cwnd_pkts = 2", ".min_cwnd_pkts = 8"),
    ("bdp_bytes(rtt_base_us) * 8", "bdp_bytes(rtt_base_us) * 9"),
    ("(__u64)g->alpha_q31 << 1), HALF_Q32)", "(__u64)g->alpha_q31 << 1), HALF_Q32 / 2)"),
    ("max_u64(g->cwnd_q32 / 2, 2 * ONE_Q32)", "max_u64(g->cwnd_q32 / 2, 20 * ONE_Q32)"),
    ("params.start_pkts : 10)", "params.start_pkts : 30)"),
    ("(idle - 1) / rto", "(idle - 1) / rto / 2"),
    (".beta_ppm = 200000", ".beta_ppm = 202000"),
    (".gain_ppm = 62500", ".gain_ppm = 64500"),
    (".alpha_start_ppm = 1000000", ".alpha_start_ppm = 900000"),
    (".cut_per_rtt_min = 1", ".cut_per_rtt_min = 0"),
    (".delay_threshold_us = 5000", ".delay_threshold_us = 5600"),
    (".h_bits_per_pkt = 8333333", ".h_bits_per_pkt = 8000000"),
    (".h_min_millipkts = 100", ".h_min_millipkts = 110"),
    (".h_max_millipkts = 5000", ".h_max_millipkts = 5100"),
    ("(4 * params.k_bytes << 32)", "(3 * params.k_bytes << 32)"),
    (
        "ack.now_us - g->reduced_at_us > cut_interval_us(g)",
        "ack.now_us - g->reduced_at_us > 2 * cut_interval_us(g)",
    ),
    ("cut(g, HALF_Q32, now_us)", "cut(g, HALF_Q32 / 8 * 7, now_us)"),
    ("max_u64(g->cwnd_q32 / 2, 2 * ONE_Q32)", "max_u64(g->cwnd_q32 / 3, 2 * ONE_Q32)"),
    ("g->cwnd_q32 / 4 * 3", "g->cwnd_q32 / 4 * 4"),
    ("ack->sent_at_us < g->round_began_us", "ack->sent_at_us <= g->round_began_us + 1000"),
    ("(__u64)params.min_cwnd_pkts << 32", "(__u64)params.min_cwnd_pkts << 34"),
];

const UNOCC: &[Change] = &[
    (".line_rate_bytes_per_s = 125000000", ".line_rate_bytes_per_s = 135000000"),
    (".intra_rtt_us = 14", ".intra_rtt_us = 16"),
    (".tolerance_us = 72", ".tolerance_us = 80"),
    ("learn_base(u, tp, tp->srtt_us >> 3)", "learn_base(u, tp, tp->srtt_us >> 4)"),
    (".alpha_ppm = 1000", ".alpha_ppm = 1100"),
    (".beta_ppm = 500000", ".beta_ppm = 550000"),
    (".gain_ppm = 500000", ".gain_ppm = 520000"),
    (".md_scale_ppm = 300000", ".md_scale_ppm = 350000"),
    (".qa_factor_ppm = 1000000", ".qa_factor_ppm = 960000"),
    ("bytes_in(params.intra_rtt_us) / 7", "bytes_in(params.intra_rtt_us) / 8"),
    ("(4 * k_bytes() << 32)", "(3 * k_bytes() << 32)"),
    ("u->epoch_us + params.intra_rtt_us", "u->epoch_us + 2 * params.intra_rtt_us"),
    ("min_u64(cut_q32, HALF_Q32)", "min_u64(cut_q32, HALF_Q32 / 2)"),
    ("u->qa_us = now_us + 1;", "u->qa_us = 0;"),
    ("max_u64(u->bdp_q32, least_q32)", "max_u64(2 * u->bdp_q32, least_q32)"),
];

/// Lines with numbers that the comparison cannot see, and why.
const UNSEEN: &[(&str, &str)] = &[
    ("_Static_assert", "of the compiler"),
    ("#define NEVER", "no number of the algorithm"),
    ("#define NO_RTT", "no number of the algorithm"),
    ("#define MOST_BDP_BYTES", "a bound of 64 bits: 34 GB"),
    ("10 * MILLION", "a bound of 64 bits: round trips of 10 s"),
    ("1ULL << 29", "a bound of 64 bits: K of 512 MB"),
    (".max_cwnd_pkts", "the simulator's window ends with its BDP; a test of the C program has it"),
    (
        ".min_cwnd_pkts = 2,",
        "UnoCC's in the simulator is one packet, which every path says; Gemini's is changed",
    ),
    ("set_pacing_rate(sk, u->cwnd_q32", "the simulator paces elsewhere"),
    (
        "if (params.base_rtt_us || tp->srtt_us >> 3)",
        "whether the handshake had a round trip: it has one here",
    ),
    (
        "max_u64(ack->rtt_us, tp->srtt_us >> 3)",
        "the unit of smoothed round trips, which the simulator does not have; a test of the C program has them",
    ),
    (".base_rtt_floor_us", "where base round trips are measured; the simulator knows them"),
    ("min_u64((idle - 1) / rto, 63)", "a bound of 64 bits: the change beside it is seen"),
    ("params.min_cwnd_pkts << 32", "a fixed point, which the change of the parameter shows"),
];

/// The lines of a source that hold numbers other than 0, 1 and the 32 bits of a fraction, without comments.
fn lines_with_numbers(source: &str) -> Vec<String> {
    let mut code = String::new();
    let mut rest = source;
    while let Some((before, after)) = rest.split_once("/*") {
        code += before;
        rest = after.split_once("*/").expect("comments end").1;
    }
    code += rest;
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let has_number = |line: &&str| {
        let mut words = line.split(|c: char| !is_part(c));
        words.any(|word| word.starts_with(|c: char| c.is_ascii_digit()) && !["0", "1", "32"].contains(&word))
    };
    let code = code.lines().filter(|line| !line.trim_start().starts_with("//"));
    code.filter(has_number).map(|line| line.trim().to_owned()).collect()
}

#[test]
fn the_page_has_the_number_of_changes() {
    let said = format!("the C files are then changed, {} of them", GEMINI.len() + UNOCC.len());
    assert!(page().contains(&said), "kernel-tcp.md does not say: {said}");
}

#[test]
fn every_number_of_the_sources_is_changed_or_named() {
    for (name, changes) in [(Name::Gemini, GEMINI), (Name::Unocc, UNOCC)] {
        let source = fs::read_to_string(Program::sources().join(format!("{}.bpf.c", name.text()))).unwrap();
        let is_known = |line: &String| {
            changes.iter().any(|(now, _)| line.contains(now) || now.contains(line.trim_end_matches(',')))
                || UNSEEN.iter().any(|(part, _)| line.contains(part))
        };
        let lines: Vec<_> = lines_with_numbers(&source).into_iter().filter(|line| !is_known(line)).collect();
        assert_eq!(lines, Vec::<String>::new(), "{name:?}: change these, or say why nothing shows it");
    }
}

/// Paths on which each constant counts.
fn settings(name: Name) -> Vec<Setting> {
    let paths: &[(u64, u64)] = match name {
        Name::Gemini => {
            &[(1_000_000_000, 8_000), (1_000_000_000, 200), (100_000_000_000, 2_000), (1_000_000_000, 20_000)]
        }
        Name::Unocc => &[(100_000_000_000, 14), (100_000_000_000, 200), (1_000_000_000, 2_000)],
    };
    paths
        .iter()
        .map(|&(rate_bps, base_rtt_us)| {
            let setting = Setting::new(name, rate_bps, base_rtt_us);
            // UnoCC has no slow start: it begins where its window lies.
            let start_pkts = if name == Name::Unocc { setting.bdp_pkts() as u64 } else { setting.start_pkts };
            Setting { start_pkts, ..setting }
        })
        .collect()
}

fn every_change_shows(name: Name, changes: &[Change]) {
    let flows: Vec<_> = settings(name)
        .into_iter()
        .enumerate()
        .map(|(seed, setting)| {
            let events = random_events(&setting, seed as u64, 200_000);
            let simulated = simulated_windows(&setting, &events);
            (setting, events, simulated)
        })
        .collect();
    let file = format!("{}.bpf.c", name.text());
    let source = fs::read_to_string(Program::sources().join(&file)).unwrap();
    let mut unseen = Vec::new();
    for &(now, changed) in changes {
        assert!(source.contains(now), "{file} has no {now:?} any more: name what stands there");
        let folder = tempfile::tempdir().unwrap();
        for entry in fs::read_dir(Program::sources()).unwrap() {
            let entry = entry.unwrap();
            fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
        }
        fs::write(folder.path().join(&file), source.replacen(now, changed, 1)).unwrap();
        let Some(program) = compiled_from(name, folder.path(), folder.path()) else { return };
        let shows = flows.iter().any(|(setting, events, simulated)| {
            let (windows, _) = program.windows(setting, events).unwrap();
            !Distance::between(&windows, simulated).is_small()
        });
        if !shows {
            unseen.push(now);
        }
    }
    assert_eq!(unseen, Vec::<&str>::new(), "the comparison does not see them");
}

#[test]
fn a_constant_of_gemini_that_is_changed_in_c_fails_the_comparison() {
    every_change_shows(Name::Gemini, GEMINI);
}

#[test]
fn a_constant_of_unocc_that_is_changed_in_c_fails_the_comparison() {
    every_change_shows(Name::Unocc, UNOCC);
}

//! The targets that cargo-fuzz builds, each as the fuzzer would call it: their files take a nightly compiler, their bodies
//! here any. The macro of `libfuzzer-sys` is stood in for by one that makes a function.

use super::corpus::corpus;
use farspan_fuzz::TARGETS;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

macro_rules! fuzz_target {
    (|$data:ident: &[u8]| $body:expr) => {
        pub fn fuzz($data: &[u8]) {
            $body;
        }
    };
}
pub(crate) use fuzz_target;

macro_rules! targets {
    ($($name:ident $path:literal;)*) => {
        $(
            #[allow(unused_attributes, reason = "an attribute of the root of a crate, which the file is for cargo-fuzz")]
            #[path = $path]
            mod $name;
        )*

        /// The targets by file.
        const FILES: &[(&str, fn(&[u8]))] = &[$((stringify!($name), $name::fuzz)),*];
    };
}

targets! {
    bundle "../../../../fuzz/fuzz_targets/bundle.rs";
    cm "../../../../fuzz/fuzz_targets/cm.rs";
    coding "../../../../fuzz/fuzz_targets/coding.rs";
    driver "../../../../fuzz/fuzz_targets/driver.rs";
    endpoint "../../../../fuzz/fuzz_targets/endpoint.rs";
    hpcc "../../../../fuzz/fuzz_targets/hpcc.rs";
    list "../../../../fuzz/fuzz_targets/list.rs";
    parquet "../../../../fuzz/fuzz_targets/parquet.rs";
    proxy "../../../../fuzz/fuzz_targets/proxy.rs";
    scenario "../../../../fuzz/fuzz_targets/scenario.rs";
    sizes "../../../../fuzz/fuzz_targets/sizes.rs";
    sweep "../../../../fuzz/fuzz_targets/sweep.rs";
    topo "../../../../fuzz/fuzz_targets/topo.rs";
    topology "../../../../fuzz/fuzz_targets/topology.rs";
    wire "../../../../fuzz/fuzz_targets/wire.rs";
}

#[test]
fn every_body_has_a_file_that_cargo_fuzz_builds() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let files = fs::read_dir(folder.join("fuzz_targets")).unwrap();
    let files: BTreeSet<String> =
        files.map(|file| file.unwrap().file_name().into_string().unwrap()).collect();
    let bodies: BTreeSet<String> = TARGETS.iter().map(|(name, _)| format!("{name}.rs")).collect();
    assert_eq!(files, bodies);
    assert_eq!(FILES.iter().map(|(name, _)| format!("{name}.rs")).collect::<BTreeSet<_>>(), bodies);
    let manifest: toml::Table = fs::read_to_string(folder.join("Cargo.toml")).unwrap().parse().unwrap();
    let binaries = manifest["bin"].as_array().unwrap().iter();
    let paths = binaries.map(|bin| bin["path"].as_str().unwrap().replace("fuzz_targets/", ""));
    assert_eq!(paths.collect::<BTreeSet<_>>(), bodies);
}

#[test]
fn each_file_takes_its_own_corpus() {
    for (name, fuzz) in FILES {
        corpus(name).iter().for_each(|input| fuzz(input));
    }
}

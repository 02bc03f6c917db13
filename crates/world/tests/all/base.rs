//! A scenario over a base: the same results once it is resolved, and where errors of its world stand.

use crate::bad_input::{Folder, message};
use farspan_scenario::{Request, Resolved};
use farspan_world::{EngineKind, World, run};

#[test]
fn the_resolved_scenario_gives_the_same_results() {
    let folder = Folder::new("base");
    let text =
        "base = 'uno/websearch'\n[scheme]\nprofile = 'artifact'\n[topology]\nk = 4\n[workload]\nflows = 50\n";
    let digest = |resolved: &Resolved| {
        let world = World::build(resolved).unwrap();
        run(resolved, &world, EngineKind::Windowed, &mut |_| true).summary.digest
    };
    let first = Request::new(&folder.write("mine.toml", text)).resolve().unwrap();
    let again = Request::new(&folder.write("alone.toml", &first.to_toml())).resolve().unwrap();
    assert_eq!(digest(&again), digest(&first));
}

#[test]
fn flows_are_read_beside_the_base_that_names_them() {
    let folder = Folder::new("base-files");
    folder.write("below.csv", "src,dst,size_bytes,start_ns\n0,1,1000,0\n");
    let below =
        "base = 'uno/permutation'\n[topology]\nk = 4\n[[workload]]\nkind = 'flows'\nfile = 'below.csv'\n";
    folder.write("below.toml", below);
    let file = folder.write("mine.toml", "base = 'below.toml'\nseed = 3\n");
    let resolved = Request::new(&file).resolve().unwrap();
    assert_eq!(World::build(&resolved).unwrap().spec.flows.len(), 1);
}

#[test]
fn errors_of_a_world_name_the_line_and_the_column_over_a_base() {
    let folder = Folder::new("base-errors");
    for (text, said) in [
        ("base = 'uno/permutation'\n[topology]\nk = 7", "wrong.toml:3:5: topology.k: "),
        ("base = 'uno/websearch'\n[workload]\nload = -1", "wrong.toml:3:8: workload[0].load: a load of -1"),
        (
            "base = 'uno/websearch'\n[[workload]]\nkind = 'flows'\nfile = 'no.csv'",
            "wrong.toml:4:8: workload[0].file: ",
        ),
    ] {
        let error = message(&Request::new(&folder.write("wrong.toml", text)));
        assert!(error.contains(said), "{text}\n  gave {error}\n  expected {said}");
    }
}

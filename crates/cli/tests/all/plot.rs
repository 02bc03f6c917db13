//! A number over an axis, from the folder of a sweep to a figure.

use std::path::Path;
use std::process::{Command, Output};

const BINARY: &str = env!("CARGO_BIN_EXE_farspan");
const SWEEP: &str = "scenario = 'uno/incast-intra'\nscheme = ['uno', 'gemini']\nseeds = '1,2'\n[grid]\n\
                     'workload.flow_size' = ['16KiB', '32KiB']\n'topology.buffer' = ['512KiB', '1MiB']\n";

fn farspan(folder: &Path, args: &[&str]) -> Output {
    Command::new(BINARY).current_dir(folder).args(args).output().unwrap()
}

#[test]
fn a_sweep_becomes_a_figure_and_what_is_unclear_is_refused_with_its_cure() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("s.toml"), SWEEP).unwrap();
    assert!(farspan(folder.path(), &["sweep", "s.toml", "--quiet"]).status.success());
    let plot = |more: &[&str]| {
        let y: &[&str] = if more.contains(&"--y") { &[] } else { &["--y", "fct.all.mean_us"] };
        farspan(folder.path(), &[&["plot", "s", "--x", "workload.flow_size"], y, more].concat())
    };
    let figures = || {
        let all =
            [folder.path().to_owned(), folder.path().join("s")].map(|path| std::fs::read_dir(path).unwrap());
        let names = all.into_iter().flatten().map(|entry| entry.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.ends_with(".svg") || name.ends_with(".pdf")).count()
    };
    let refused = |more: &[&str], said: &str| {
        let output = plot(more);
        let text = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{more:?}: {text}");
        assert!(text.contains(said), "{text}");
        assert_eq!(figures(), 0, "a refusal writes nothing");
    };
    refused(&[], "topology.buffer (512KiB, 1MiB); choose: --where topology.buffer=512KiB");
    refused(&["--where", "topology.bufer=1MiB"], "did you mean topology.buffer");
    refused(&["--where", "topology.buffer=1MiB", "-o", "f.png"], "write FILE.svg or FILE.pdf");
    refused(&["--where", "topology.buffer=1MiB", "--log", "z"], "'z'");
    refused(
        &["--where", "topology.buffer=1MiB", "--log", "x,y", "--linear", "y"],
        "--log y --linear y: an axis is either",
    );
    refused(
        &["--where", "topology.buffer=1MiB", "--y", "packets.trimmed", "--log", "y"],
        "--log y: no value of packets.trimmed is above 0",
    );
    refused(&["--where", "topology.buffer=1MiB", "--title", &"m".repeat(201)], "give at most 200");
    refused(&["--where", "topology.buffer=1MiB", "--width", "0"], "give inches from 2 to 20");

    let drawn = plot(&["--where", "topology.buffer=1MiB"]);
    assert_eq!(
        String::from_utf8(drawn.stdout).unwrap(),
        "wrote s/plot-fct.all.mean_us-over-workload.flow_size.svg\n"
    );
    let path = folder.path().join("s/plot-fct.all.mean_us-over-workload.flow_size.svg");
    let svg = std::fs::read_to_string(path).unwrap();
    for text in [
        "workload.flow_size (KiB)",
        "fct.all.mean (",
        ">uno<",
        ">gemini<",
        ">16<",
        ">32<",
        "median over 2 seeds",
    ] {
        assert!(svg.contains(text), "{text}: {svg}");
    }
    // The sweep's order of schemes is the legend's.
    assert!(svg.find(">uno<") < svg.find(">gemini<"));
    let pdf = plot(&["--where", "topology.buffer=1MiB", "--width", "7", "-o", "f.pdf"]);
    assert!(pdf.status.success());
    assert!(std::fs::read(folder.path().join("f.pdf")).unwrap().starts_with(b"%PDF"));
    let each = plot(&["--where", "topology.buffer=1MiB", "--log", "x", "--linear", "y", "-o", "each.svg"]);
    assert!(each.status.success(), "{each:?}");
    let named = ["--title", "A <b> of 2", "--x-label", "size of a flow", "--y-label", ""];
    let named = plot(&[&["--where", "topology.buffer=1MiB", "-o", "named.svg"][..], &named].concat());
    assert!(named.status.success(), "{named:?}");
    let svg = std::fs::read_to_string(folder.path().join("named.svg")).unwrap();
    assert!(
        svg.contains("<title>A &lt;b&gt; of 2</title>") && svg.contains(">size of a flow</text>"),
        "{svg}"
    );
    assert!(!svg.contains("workload.flow_size (") && !svg.contains("fct.all"), "{svg}");
    // Another key may have the lines.
    let by = plot(&["--where", "scheme=uno", "--by", "topology.buffer", "-o", "by.svg"]);
    assert!(by.status.success(), "{by:?}");
    assert!(std::fs::read_to_string(folder.path().join("by.svg")).unwrap().contains(">512KiB<"));
}

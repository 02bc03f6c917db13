//! The text of `run`, `check`, `compare` and `sweep` on faults, drops, sites and warnings.

use crate::common::{Folder, document, farspan, stderr, stdout};

const FILE: &str = "site = [{ name = 'west' }, { name = 'north' }, { name = 'east' }]
node = [
  { name = 'w[0..1]', kind = 'host', site = 'west' },
  { name = 'n[0..1]', kind = 'host', site = 'north' },
  { name = 'e[0..1]', kind = 'host', site = 'east' },
  { name = 'west-border', kind = 'switch', site = 'west' },
  { name = 'north-border', kind = 'switch', site = 'north' },
  { name = 'east-border', kind = 'switch', site = 'east' },
]
link = [
  { a = 'w[0..1]', b = 'west-border' },
  { a = 'n[0..1]', b = 'north-border' },
  { a = 'e[0..1]', b = 'east-border' },
  { a = 'west-border', b = 'east-border', delay = '100us' },
  { a = 'west-border', b = 'north-border', delay = '50us' },
  { a = 'north-border', b = 'east-border', delay = '50us' },
]
";
const SCENARIO: &str = "name = 'mine'\n[topology]\nkind = 'from_file'\nfile = 'net.toml'\nbuffer = '64KiB'\n[scheme]\nname = 'dctcp'\n\
                        [[workload]]\nkind = 'flows'\nfile = 'flows.csv'\n\
                        [[fault]]\nkind = 'link_down'\nlink = 'west-border->east-border#0'\nat = '1ms'\nuntil = '2ms'\n\
                        both_directions = true\n";

/// A folder with three sites, two of which send to another, and a link between two that fails.
fn folder(name: &str) -> (Folder, String) {
    let folder = Folder::new(name);
    std::fs::write(folder.path("net.toml"), FILE).unwrap();
    let flows: String =
        (0..20).map(|i| format!("0,4,1000000,{0}\n1,5,1000000,{0}\n2,4,100000,{0}\n", i * 200_000)).collect();
    std::fs::write(folder.path("flows.csv"), format!("src,dst,size_bytes,start_ns\n{flows}")).unwrap();
    std::fs::write(folder.path("mine.toml"), SCENARIO).unwrap();
    let scenario = folder.path("mine.toml");
    (folder, scenario)
}

fn line<'a>(text: &'a str, start: &str) -> &'a str {
    text.lines().find(|line| line.starts_with(start)).unwrap_or_else(|| panic!("no {start} in\n{text}"))
}

const LATE: [&str; 4] = ["--set", "fault[0].at=300ms", "--set", "fault[0].until=301ms"];

#[test]
fn a_run_tells_its_faults_and_what_they_lost() {
    let (_folder, scenario) = folder("told-faults");
    let run = ["run", &scenario, "--quiet"];
    let lost = document(&[&run[..], &["--json"]].concat())["ports"]["all"]["lost"].as_u64().unwrap();
    assert!(lost > 0);
    let text = stdout(&farspan(&run));
    let links = "east-border->west-border#0, west-border->east-border#0 link_down";
    assert_eq!(line(&text, "faults"), format!("faults        {links} 1ms to 2ms: {lost} packets lost"));
    let several = stdout(&farspan(&[&run[..], &["--seeds", "1..2"]].concat()));
    assert!(line(&several, "faults (all seeds together): ").ends_with(" packets lost"), "{several}");
    let late = stdout(&farspan(&[&run[..], &LATE].concat()));
    assert_eq!(line(&late, "faults"), format!("faults        {links} 300ms to 301ms: no packet met it"));
}

#[test]
fn comparisons_and_sweeps_say_that_a_fault_lost_nothing() {
    let (folder, scenario) = folder("told-idle");
    let out = folder.path("two");
    let two = farspan(
        &[&["run", &scenario, "--quiet", "--scheme", "dctcp,bbr", "--out", &out], &LATE[..]].concat(),
    );
    let table = stdout(&two);
    let said = "fault: east-border->west-border#0, west-border->east-border#0 link_down 300ms to 301ms: no packet met it";
    assert!(table.contains(&format!("\nnote: {said}\n")), "{table}{}", stderr(&two));
    assert!(stdout(&farspan(&["compare", &out])).contains(said));
    let page = std::fs::read_to_string(folder.path("two/report.html")).unwrap();
    assert!(page.contains(&said.replace('<', "\\u003c")), "the page has the note, too");
    let out = folder.path("one");
    let grid = ["--grid", "transport.start=iw10,bdp", "--out", &out];
    let one = farspan(&[&["sweep", &scenario, "--quiet"], &grid[..], &LATE].concat());
    let note = "farspan: note: no fault lost a packet in 2 of 2 runs with faults\n";
    assert!(stderr(&one).contains(note), "{}", stderr(&one));
}

#[test]
fn drops_add_up_by_tier_and_kind() {
    let (_folder, scenario) = folder("told-drops");
    let run = ["run", &scenario, "--quiet"];
    let found = document(&[&run[..], &["--json"]].concat());
    let count = |path: &str| found.pointer(path).and_then(serde_json::Value::as_u64).unwrap();
    let (all, control) = (count("/ports/all/dropped"), count("/packets/control_dropped"));
    assert!(control > 0 && all == control + count("/packets/dropped"), "{found}");
    let text = stdout(&farspan(&run));
    let drops = line(&text, "drops");
    assert!(drops.starts_with(&format!("drops         {all}: ")), "{drops}");
    assert!(drops.ends_with(&format!("; {control} of them control packets")), "{drops}");
}

#[test]
fn sites_have_their_names() {
    let (_folder, scenario) = folder("told-sites");
    let text = stdout(&farspan(&["check", &scenario]));
    assert!(text.contains("# pair between west and east: 3 links"), "{text}");
    let load = line(&text, "# offered load: ");
    assert!(load.contains("wan west to east ") && load.contains("wan north to east "), "{load}");
    assert!(load.ends_with(", others 0%") && !load.contains("wan east"), "{load}");
    let run = stdout(&farspan(&["run", &scenario, "--quiet"]));
    let same = load.strip_prefix("# offered load: ").unwrap();
    assert_eq!(line(&run, "offered load"), format!("offered load  {same}"));
    let coded = ["--quiet", "--set", "transport.coding=mds(8,2)"];
    let run = stdout(&farspan(&[&["run", &scenario], &coded[..]].concat()));
    assert!(line(&run, "offered load").contains(", others 0% (parity included)"), "{run}");
    let check = stdout(&farspan(&["check", &scenario, "--set", "transport.coding=mds(8,2)"]));
    assert!(line(&check, "# offered load").ends_with("(parity included)"), "{check}");
}

#[test]
fn a_brief_check_has_the_facts_alone() {
    let (_folder, scenario) = folder("told-brief");
    let whole = stdout(&farspan(&["check", &scenario]));
    let brief = stdout(&farspan(&["check", &scenario, "--brief"]));
    assert!(brief.starts_with("farthest pair inside a site: 2 links"), "{brief}");
    for word in ["offered load: host", "work: about", "memory: about", "warning: transport.start"] {
        assert!(
            brief.contains(&format!("\n{word}")) && whole.contains(&format!("\n# {word}")),
            "{word}: {brief}"
        );
    }
    assert!(!brief.contains("[topology]") && !brief.contains("\n\n"), "{brief}");
}

#[test]
fn a_sweep_is_checked_as_a_whole() {
    let (folder, _) = folder("told-sweep");
    let file = folder.path("study.toml");
    let sweep = |text: &str| {
        std::fs::write(&file, format!("scenario = 'mine.toml'\nscheme = ['dctcp', 'bbr']\n{text}")).unwrap();
        farspan(&["check", &file, "--brief"])
    };
    let text = stdout(&sweep("seeds = '1..3'\n[grid]\n'topology.buffer' = ['32KiB', '64KiB']\n"));
    assert!(
        text.starts_with(
            "sweep: 12 runs of 4 points (seeds not counted)\ntried: every point, one seed each\nwork: about "
        ),
        "{text}"
    );
    assert!(text.contains(" of CPU time here") && text.contains("\nmemory: about "), "{text}");
    let warning = line(&text, "warning: transport.start");
    assert!(warning.ends_with("(4 of 4 runs; numbers differ in 2)"), "{warning}");
    let buffers: Vec<_> = (1..=10).map(|i| format!("'{i}6KiB'")).collect();
    let text = stdout(&sweep(&format!("[grid]\n'topology.buffer' = [{}]\n", buffers.join(", "))));
    assert!(
        text.contains("sweep: 20 runs of 20 points")
            && text.contains("\ntried: 8 of the 20 points, equally many per scheme"),
        "{text}"
    );
    let output = farspan(&["check", &file, "--set", "topology.buffer=1MiB"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("--set: ") && stderr(&output).contains("is a sweep"),
        "{}",
        stderr(&output)
    );
    let output = sweep("[grid]\n'fault[0].link' = ['no-such-link']\n");
    assert_eq!(output.status.code(), Some(2));
    assert!(stderr(&output).contains("no link is named \"no-such-link\""), "{}", stderr(&output));
    let some = stdout(&sweep("[grid]\n'fault[0].link' = ['no-such-link', '*']\n"));
    assert!(line(&some, "warning: 2 of the tried points cannot be built").contains("no-such-link"), "{some}");
}

#[test]
fn warnings_that_differ_in_numbers_are_said_once() {
    let (folder, scenario) = folder("told-warnings");
    let out = folder.path("out");
    let grid = ["--quiet", "--grid", "topology.buffer=16KiB,32KiB,64KiB", "--out", &out];
    let said = stderr(&farspan(&[&["sweep", &scenario][..], &grid].concat()));
    assert_eq!(
        said.matches("warning: transport.start: the first window of inter flows").count(),
        1,
        "{said}"
    );
    let warning = line(&said, "farspan: warning: transport.start");
    assert!(warning.ends_with("(3 of 3 runs; numbers differ in 2)"), "{warning}");
}

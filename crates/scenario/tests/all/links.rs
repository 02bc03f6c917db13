//! Parameters of topology files and changes of links by pattern: what a scenario may say, and where its errors stand.

use farspan_scenario::model::{LinkChange, Shape};
use farspan_scenario::value::Parameter;
use farspan_scenario::{Request, Resolved};
use std::fs;
use std::path::PathBuf;

/// Two sites of two hosts; both links between them take one parameter.
const FILE: &str = "parameters = { wan_delay = '500us', wan_links = 2, wan_buffer = '4MiB' }
site = [{ name = 'west' }, { name = 'east' }]
node = [
  { name = 'host[0..1]', kind = 'host', site = 'west' },
  { name = 'host[2..3]', kind = 'host', site = 'east' },
  { name = 'west-switch', kind = 'switch', site = 'west' },
  { name = 'east-switch', kind = 'switch', site = 'east' },
]
link = [
  { a = 'host[0..1]', b = 'west-switch' },
  { a = 'host[2..3]', b = 'east-switch' },
  { a = 'west-switch', b = 'east-switch', count = '$wan_links', delay = '$wan_delay', buffer = ['$wan_buffer', '1MiB'] },
]
";

const SCENARIO: &str = "[topology]\nkind = 'from_file'\nfile = 'net.toml'\n[[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";

/// A folder of the test's own with a topology file, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, topology: &str) -> Self {
        let path = std::env::temp_dir().join(format!("farspan-links-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("net.toml"), topology).unwrap();
        Self(path)
    }

    fn resolve(&self, text: &str, set: &[&str]) -> Result<Resolved, String> {
        let file = self.0.join("run.toml");
        fs::write(&file, text).unwrap();
        let set = set.iter().map(|&text| text.to_owned()).collect();
        let request = Request { set, ..Request::new(&file.display().to_string()) };
        request.resolve().map_err(|error| error.to_string())
    }

    fn error(&self, text: &str, set: &[&str]) -> String {
        self.resolve(text, set).map(|_| ()).unwrap_err().replace(&self.0.display().to_string(), "DIR")
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn parameters(resolved: &Resolved) -> Vec<(String, Parameter)> {
    match &resolved.scenario().topology.shape {
        Shape::FromFile { parameters, .. } => parameters.clone().into_iter().collect(),
        other => panic!("{other:?}"),
    }
}

fn patterns(resolved: &Resolved) -> Vec<String> {
    let say = |(pattern, change): &(String, LinkChange)| {
        let keys = [change.delay.map(|delay| delay.to_string()), change.rate.map(|rate| rate.to_string())];
        format!("{pattern} {}", keys.into_iter().flatten().collect::<Vec<_>>().join(" "))
    };
    resolved.scenario().topology.link.0.iter().map(say).collect()
}

#[test]
fn a_scenario_spells_every_parameter_out_and_reads_back_the_same() {
    let folder = Folder::new("spelled", FILE);
    let resolved = folder
        .resolve(SCENARIO, &["topology.parameters.wan_delay=3ms", "topology.link['*->east-*'].rate=1Gbps"])
        .unwrap();
    let of = |name: &str, value: Parameter| (name.to_owned(), value);
    let text = |text: &str| Parameter::Text(text.to_owned());
    assert_eq!(
        parameters(&resolved),
        [of("wan_buffer", text("4MiB")), of("wan_delay", text("3ms")), of("wan_links", Parameter::Whole(2))]
    );
    let again = folder.resolve(&resolved.to_toml(), &[]).unwrap();
    assert_eq!(again.scenario(), resolved.scenario());
    let table = format!("{SCENARIO}[topology.parameters]\nwan_links = 3\n");
    assert!(
        parameters(&folder.resolve(&table, &[]).unwrap()).contains(&of("wan_links", Parameter::Whole(3)))
    );
}

#[test]
fn a_parameter_may_be_called_name_over_a_base_too() {
    let folder = Folder::new("name", &FILE.replace("wan_delay", "name"));
    let base = format!("{SCENARIO}[topology.parameters]\nwan_links = 3\n");
    fs::write(folder.0.join("base.toml"), base).unwrap();
    let resolved = folder.resolve("base = 'base.toml'\n[topology.parameters]\nname = '2ms'\n", &[]).unwrap();
    let parameters = parameters(&resolved);
    assert!(parameters.contains(&("wan_links".to_owned(), Parameter::Whole(3))), "{parameters:?}");
    assert!(parameters.contains(&("name".to_owned(), Parameter::Text("2ms".to_owned()))), "{parameters:?}");
}

#[test]
fn patterns_keep_their_order_and_what_is_set_comes_last() {
    let folder = Folder::new("order", FILE);
    let text =
        format!("{SCENARIO}[topology.link.'west-*']\ndelay = '1ms'\n[topology.link.'*']\nrate = '2Gbps'\n");
    let of = |set: &[&str]| patterns(&folder.resolve(&text, set).unwrap());
    assert_eq!(of(&[]), ["west-* 1ms", "* 2Gbps"]);
    assert_eq!(of(&["topology.link['west-*'].rate=3Gbps"]), ["* 2Gbps", "west-* 1ms 3Gbps"]);
    assert_eq!(of(&["topology.link[\"host*\"].delay=1us"]), ["west-* 1ms", "* 2Gbps", "host* 1us"]);
    fs::write(folder.0.join("base.toml"), &text).unwrap();
    let over = "base = 'base.toml'\n[topology.link]\n'*'.rate = '4Gbps'\n'west-*'.delay = '5ms'\n";
    assert_eq!(patterns(&folder.resolve(over, &[]).unwrap()), ["* 4Gbps", "west-* 5ms"]);
}

#[test]
fn an_rtt_takes_the_place_of_the_delay_that_it_is_set_over_but_not_of_one_beside_it() {
    let folder = Folder::new("rtt", FILE);
    let of = |text: &str, set: &[&str]| {
        let resolved = folder.resolve(text, set).unwrap();
        let links = resolved.scenario().topology.link.0.clone();
        let [(_, change)] = links.as_slice() else { panic!("{links:?}") };
        let said = [change.delay, change.rtt].map(|time| time.map(|time| time.to_string()));
        (said, resolved.dropped().to_vec())
    };
    let table =
        |key: &str| format!("{SCENARIO}[topology.link.'a.b*']\n{key} = '1ms'\n").replace("a.b", "west-");
    let (rtt, delay) = ("topology.link['west-*'].rtt=4ms", "topology.link['west-*'].delay=4ms");
    let (said, told) = of(&table("delay"), &[rtt]);
    assert_eq!(said, [None, Some("4ms".to_owned())]);
    assert_eq!(told, [format!("--set {rtt} takes the place of topology.link[\"west-*\"].delay")]);
    assert_eq!(of(&table("rtt"), &[delay]).0, [Some("4ms".to_owned()), None]);
    let error = folder.error(SCENARIO, &[rtt, delay]);
    assert!(error.contains("both rtt = \"4ms\" and delay = \"4ms\" are given"), "{error}");
    let both = table("delay").replace("delay", "rtt = '2ms'\ndelay");
    let error = folder.error(&both, &[]);
    assert!(error.starts_with("DIR/run.toml:8:7: topology.link[\"west-*\"].rtt: both rtt"), "{error}");
}

#[test]
fn another_kind_takes_the_place_of_what_only_a_file_has() {
    let folder = Folder::new("kind", FILE);
    let text =
        format!("{SCENARIO}[topology.parameters]\nwan_links = 3\n[topology.link.'*']\nrate = '2Gbps'\n");
    let star = folder.resolve(&text, &["topology.kind=star"]).unwrap();
    assert_eq!(patterns(&star), ["* 2Gbps"], "patterns are for every kind");
    assert!(star.dropped()[0].contains("topology.parameters"), "{:?}", star.dropped());
    let star = "[topology]\nkind = 'star'\n[[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";
    let error = folder.error(star, &["topology.parameters.wan_delay=3ms"]);
    assert!(error.contains("star has no \"parameters\""), "{error}");
}

#[test]
fn wrong_parameters_and_patterns_are_told_where_they_stand() {
    let folder = Folder::new("wrong", FILE);
    for (set, start, words) in [
        (
            "topology.parameters.wan_dely=3ms",
            "topology.parameters.wan_dely: \"wan_dely\" is not a known parameter of DIR/net.toml; did you mean \"wan_delay\"?",
            "available: wan_buffer, wan_delay, wan_links",
        ),
        (
            "topology.parameters.wan_delay=10Gbps",
            "topology.parameters.wan_delay: DIR/net.toml:12:73: link[2].delay: $wan_delay: \"10Gbps\" is not a time",
            "such as \"14us\"",
        ),
        (
            "topology.parameters.wan_links=0",
            "topology.parameters.wan_links: DIR/net.toml:12:51: link[2].count: $wan_links: 0 is out of range",
            "from 1",
        ),
        (
            "topology.parameters.wan_links=0.5",
            "topology.parameters.wan_links: 0.5 does not fit here",
            "or a whole number",
        ),
        ("topology.wan.rtt=3ms", "topology.wan: from_file has no \"wan\"", "topology.parameters.wan_rtt"),
        (
            "topology.wan.rtt=4ms",
            "topology.wan: from_file has no \"wan\"",
            "topology.link[\"west-*->east-*\"].rtt",
        ),
        (
            "topology.link['wst-switch*->*'].delay=3ms",
            "topology.link[\"wst-switch*->*\"]: no link fits \"wst-switch*->*\"; did you mean \"west-switch\"?",
            "nodes are: east-switch, host0..3",
        ),
        (
            "topology.link['*'].dely=3ms",
            "topology.link['*'].dely: unknown key \"dely\"; did you mean \"delay\"?",
            "buffer, delay, rate, rtt",
        ),
        ("topology.link['*'].delay=3", "topology.link['*'].delay: 3 does not fit", "text"),
        ("topology.link['*'].delay=11s", "topology.link[\"*\"].delay: 11s is out of range", "to 10s"),
        ("topology.link['*'].rtt=21s", "topology.link[\"*\"].rtt: 21s is out of range", "to 20s"),
        (
            "topology.link['*']={delay='1ms',rtt='2ms'}",
            "topology.link[\"*\"].rtt: both rtt = \"2ms\" and delay = \"1ms\" are given",
            "give one of them",
        ),
        ("topology.link['*'].rate=1bps", "topology.link[\"*\"].rate: 1bps is out of range", "from 1Mbps"),
        ("topology.link['*'].buffer=0B", "topology.link[\"*\"].buffer: 0B is out of range", "from 1B"),
        ("topology.link['*']={}", "topology.link[\"*\"]: missing", "delay = \"2ms\""),
        ("topology.link=3", "topology.link: 3 does not fit here", "a table of patterns"),
        (
            "topology.link['*].rate=1Gbps",
            "topology.link['*].rate: not a path",
            "topology.link[\"west-*->east-*\"]",
        ),
    ] {
        let error = folder.error(SCENARIO, &[set]);
        let start = format!("--set {set}: {start}");
        assert!(
            error.starts_with(&start) && error.contains(words),
            "{set}\n  gave {error}\n  expected {start} {words}"
        );
    }
    let table = format!(
        "{SCENARIO}[topology.link.'*']\nbuffer = '1MiB'\n[topology.link.\"no->where\"]\ndelay = '1ms'\n"
    );
    let error = folder.error(&table, &[]);
    assert!(error.starts_with("DIR/run.toml:9:1: topology.link[\"no->where\"]: no link fits"), "{error}");
    let plain = FILE.replace("'$wan_links'", "2").replace("$wan_delay", "1ms").replace("$wan_buffer", "1MiB");
    let without = Folder::new("without", &plain.lines().skip(1).collect::<Vec<_>>().join("\n"));
    let without = without.error(SCENARIO, &["topology.parameters.x=1"]);
    assert!(without.contains("is not a known parameter: "), "{without}");
}

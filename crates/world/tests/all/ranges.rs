//! One notation of ranges: hosts of workloads, links of faults, ports and flows of probes.

use farspan_scenario::Request;
use farspan_world::World;

const TREE: &str = "[topology]\nkind = 'fat_tree'\nk = 4\n";

fn world(text: &str) -> World {
    let request = Request { text: Some(text.to_owned()), ..Request::new("ranges") };
    World::build(&request.resolve().unwrap_or_else(|error| panic!("{error}\n{text}"))).unwrap()
}

/// Senders and receivers of a workload of one part.
fn pairs(part: &str) -> Vec<(u32, u32)> {
    let world = world(&format!("{TREE}[[workload]]\n{part}\n"));
    world.workload.flows.iter().map(|flow| (flow.src.0, flow.dst.0)).collect()
}

#[test]
fn hosts_of_workloads_are_numbers_ranges_names_or_all() {
    let incast = |senders: &str| {
        pairs(&format!("kind = 'incast'\nreceiver = 9\nflow_size = '4KiB'\nsenders = {senders}"))
    };
    let listed = incast("[0, 1, 2, 3]");
    for same in ["'0..3'", "['0..3']", "['0..1', 2, 3]", "'host[0..3]'", "'0-3'", "'host[0,1],2..3'"] {
        assert_eq!(incast(same), listed, "{same}");
    }
    assert_eq!(incast("'all'").len(), 15, "all but the receiver");
    let ranks = |keys: &str| pairs(&format!("kind = 'allreduce'\nflow_size = '64KiB'\n{keys}"));
    assert_eq!(ranks("ranks = '0..3'"), ranks("ranks = [0, 1, 2, 3]"));
    assert_eq!(ranks("ranks = 'all'"), ranks("ranks = ['0..15']"));
    assert_eq!(ranks("ranks = '0..12 step 4'"), ranks("ranks = [0, 4, 8, 12]"));
    assert_eq!(ranks("groups = ['0..3', ['host[4..6]', 7]]"), ranks("groups = [[0, 1, 2, 3], [4, 5, 6, 7]]"));
    let poisson = |receivers: &str| {
        pairs(&format!(
            "kind = 'poisson'\nclass = 'intra'\nsizes = 'google-rpc'\nload = 0.1\nflows = 50\nreceivers = {receivers}"
        ))
    };
    assert_eq!(poisson("'4..7'"), poisson("[4, 5, 6, 7]"));
    assert_ne!(poisson("'4..7'"), poisson("'all'"));
}

#[test]
fn a_declared_incast_takes_ranges_whose_number_it_knows() {
    let text =
        |senders: &str| format!("{TREE}[[incast]]\nreceiver = 9\nbytes = '1MB'\nsenders = {senders}\n");
    let sizes: Vec<_> = world(&text("'0..3'")).workload.flows.iter().map(|flow| flow.size.get()).collect();
    assert_eq!(sizes, [250_000; 4]);
    let request = Request { text: Some(text("'all'")), ..Request::new("ranges") };
    let error = request.resolve().unwrap_err().to_string();
    assert!(
        error.contains("incast[0].senders: ") && error.contains("give numbers, ranges or names"),
        "{error}"
    );
}

#[test]
fn faults_and_probes_take_ranges_in_names_of_links_and_ports() {
    let flows = "[[workload]]\nkind = 'permutation'\nflow_size = '4KiB'\n";
    let faults = |link: &str| {
        let world = world(&format!("{TREE}{flows}[[fault]]\nkind = 'link_down'\nlink = '{link}'\n"));
        let network = &world.spec.network;
        world.spec.faults[0].links.iter().map(|port| network.port_name(*port)).collect::<Vec<_>>()
    };
    assert_eq!(faults("host[2..3]->*"), ["host2->tor1#0", "host3->tor1#0"]);
    assert_eq!(faults("*->host[0,15]#0"), ["tor0->host0#0", "tor7->host15#0"]);
    let ports = |ports: &str| {
        world(&format!("{TREE}{flows}[probes]\nqueue_interval = '1us'\nports = {ports}\n"))
            .spec
            .probes
            .queue_ports
            .len()
    };
    assert_eq!((ports("'tor[0..1]->host*'"), ports("['tor[0..7]->host[0..15]#0']")), (4, 16));
    let sampled = |chosen: &str| {
        let probes = format!("[probes]\nrate_interval = '50us'\nflows = '{chosen}'\n");
        world(&format!("{TREE}{flows}{probes}")).spec.probes.rate_flows.len()
    };
    assert_eq!((sampled("flow=1,4..7"), sampled("flow=0..8 step 4"), sampled("flow=all")), (5, 3, 16));
}

#[test]
fn a_resolved_scenario_keeps_the_ranges_that_were_written() {
    let text = format!("{TREE}[[workload]]\nkind = 'allreduce'\nflow_size = '64KiB'\nranks = '0..15'\n");
    let request = Request { text: Some(text), ..Request::new("ranges") };
    let written = request.resolve().unwrap().to_toml();
    assert!(written.contains("ranks = \"0..15\""), "{written}");
}

//! Networks of random worlds.

use super::*;

#[expect(clippy::too_many_lines, reason = "an arm for each kind of network")]
pub(super) fn network(draw: &mut Draw) -> Network {
    let (link_rate, link_delay) = (draw.rate(), draw.delay());
    let delays = [Duration::ZERO, Duration::ZERO, Duration::from_ns(100), draw.delay() / 3];
    let switch_delay = draw.pick(&delays);
    let oversubscription = [draw.pick(&[1, 1, 2]), draw.pick(&[1, 1, 2])];
    let site = FatTree { switch_delay, oversubscription, ..FatTree::new(4, link_rate, link_delay) };
    let wan_delay = match draw.below(3) {
        0 => link_delay,
        1 => draw.time(Duration::from_us(1), Duration::from_us(60)),
        _ => draw.time(Duration::from_us(100), Duration::from_ms(3)),
    };
    let network = match draw.below(11) {
        6 => return graph(draw, [link_delay, wan_delay, switch_delay]),
        0 => site.build(),
        1 | 2 => {
            let (core_border_links, wan_links) = (1 + draw.below(2) as u32, 1 + draw.below(3) as u32);
            DualFatTree { site, core_border_links, wan_links, wan_rate: draw.rate(), wan_delay }.build()
        }
        3 => {
            let two_sites = draw.one_in(2);
            Dumbbell {
                hosts_per_side: 1 + draw.below(8) as u32,
                link_rate,
                link_delay,
                switch_delay,
                bottleneck_rate: draw.rate(),
                bottleneck_delay: if two_sites { wan_delay } else { link_delay },
                two_sites,
            }
            .build()
        }
        4 => {
            let (leaves, spines, hosts_per_leaf) =
                (1 + draw.below(4) as u32, 1 + draw.below(4) as u32, 2 + draw.below(4) as u32);
            let uplink_rate = if draw.one_in(2) { link_rate } else { draw.rate() };
            let site = LeafSpine {
                leaves,
                spines,
                hosts_per_leaf,
                link_rate,
                uplink_rate,
                link_delay,
                switch_delay,
            };
            let (spine_border_links, wan_links) = (1 + draw.below(2) as u32, 1 + draw.below(3) as u32);
            match draw.one_in(2) {
                true => site.build(),
                false => {
                    let wan_rate = draw.rate();
                    DualLeafSpine { site, spine_border_links, wan_links, wan_rate, wan_delay }.build()
                }
            }
        }
        5 => {
            let (bottlenecks, hosts_per_switch) = (1 + draw.below(5) as u32, 1 + draw.below(3) as u32);
            let (bottleneck_rate, bottleneck_delay) = (draw.rate(), draw.delay());
            ParkingLot {
                bottlenecks,
                hosts_per_switch,
                link_rate,
                link_delay,
                switch_delay,
                bottleneck_rate,
                bottleneck_delay,
            }
            .build()
        }
        _ => {
            let hosts = match draw.below(3) {
                0 => draw.spread(64, 100),
                1 => draw.spread(2, 16),
                _ => draw.spread(17, 40),
            };
            Star { switch_delay, hosts: vec![(link_rate, link_delay); hosts as usize] }.build()
        }
    };
    let mut network = network.expect("the parameters are valid");
    if draw.one_in(3) {
        let (rates, delays) = (draw.one_in(2), draw.one_in(2));
        for link in &mut network.links {
            link.rate = if rates { draw.rate() } else { link.rate };
            link.delay += if delays { Duration::from_ps(draw.below(1_000_000)) } else { Duration::ZERO };
        }
    }
    network
}

/// A few sites of a few switches, linked at random; in one of three some ports are named.
fn graph(draw: &mut Draw, [link_delay, wan_delay, switch_delay]: [Duration; 3]) -> Network {
    let mut graph = Graph { sites: 1 + draw.below(4) as u32, ..Graph::default() };
    let add = |graph: &mut Graph, is_host, site| {
        let (n, switch_delay) = (graph.nodes.len(), if is_host { Duration::ZERO } else { switch_delay });
        let name = format!("{}{n}", if is_host { "h" } else { "s" });
        graph.nodes.push(GraphNode { name, is_host, site, switch_delay });
        n
    };
    let link_rate = draw.rate();
    let uneven = draw.one_in(2);
    let link = |graph: &mut Graph, draw: &mut Draw, a: usize, b: usize| {
        let between = graph.nodes[a].site != graph.nodes[b].site;
        let near = if uneven { draw.delay() } else { link_delay };
        let delay = if between { wan_delay } else { near };
        let rate = if uneven { draw.rate() } else { link_rate };
        graph.links.push(GraphLink { ends: [a, b], rate, delay, buffers: [None; 2] });
    };
    let (mut leaves, mut switches): (Vec<usize>, Vec<usize>) = Default::default();
    for site in 0..graph.sites {
        for n in 0..1 + draw.below(3) {
            let switch = add(&mut graph, false, site);
            if let Some(&other) = switches.last().filter(|_| n > 0 || site > 0) {
                let other = if n > 0 { other } else { draw.pick(&switches) };
                (0..1 + draw.below(2)).for_each(|_| link(&mut graph, draw, switch, other));
            }
            switches.push(switch);
            let hosts = if n == 0 { 2 } else { 0 } + draw.below(3);
            (0..hosts).for_each(|_| {
                let host = add(&mut graph, true, site);
                link(&mut graph, draw, host, switch);
            });
            leaves.extend((hosts > 0).then_some(switch));
        }
    }
    for _ in 0..draw.below(4) {
        let (a, b) = (draw.pick(&switches), draw.pick(&switches));
        if a != b {
            link(&mut graph, draw, a, b);
        }
    }
    let plain = graph.build().expect("a connected graph");
    if !draw.one_in(3) {
        return plain;
    }
    let beside = |node: usize| {
        let ends = graph.links.iter().flat_map(|link| [link.ends, [link.ends[1], link.ends[0]]]);
        let ends = ends.filter(|[from, to]| *from == node && !graph.nodes[*to].is_host);
        ends.map(|[_, to]| (to, None)).collect::<Vec<_>>()
    };
    let switch = draw.pick(&switches);
    let via: Vec<_> = beside(switch).into_iter().filter(|_| !draw.one_in(3)).collect();
    let leaves = vec![draw.pick(&leaves)];
    graph.groups = vec![GraphGroup { switch, leaves, via }];
    // Ports that form a routing loop are rejected.
    graph.build().unwrap_or(plain)
}

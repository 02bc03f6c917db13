//! Files of rows: flow lists, distributions of sizes, htsim's files.

use super::pick;
use farspan_units::Random;

const NO_NUMBERS: [&str; 8] = ["x", "-1", "1.5", "", "0x1", "18446744073709551616", "1e3", "\u{661}"];

/// One of these changes to a text: a piece of it, and what stands there instead. `{n}` is any number of some digits.
fn changed(text: &str, changes: &[(&str, &str)], random: &mut Random) -> (String, String) {
    let (old, new) = changes[random.below(changes.len() as u64) as usize];
    let new = new.replace("{n}", &(100 + random.below(1 << 20)).to_string());
    debug_assert!(text.contains(old), "{old}");
    (format!("{old:?} -> {new:?}"), text.replacen(old, &new, 1))
}

const LIST: &str = "src,dst,size_bytes,start_ns,tag,after,after_delivered,barrier,queue\n\
    0,5,2000000,0,a,,,,\n1,5,2000001,7,,,,,\n5,9,4000000,0,,0 1,,,\n2,8,1000000,0,,,0 1,phase2,\n\
    3,8,1000002,0,,,,phase2,\n4,6,1000003,0,,0 1 2,,,next\n4,7,1000004,0,,,,,next\n";
const LIST_CHANGES: [(&str, &str); 22] = [
    ("1,5,2000001,7", "{n},5,2000001,7"),
    ("1,5,2000001,7", "1,{n},2000001,7"),
    ("1,5,2000001,7", "1,1,2000001,7"),
    ("1,5,2000001,7", "1,5,0,7"),
    ("1,5,2000001,7", "1,5,2000001"),
    ("1,5,2000001,7", "1;5;2000001;7"),
    ("1,5,2000001,7,,,,,", "1,5,2000001,7,,,,,,"),
    ("1,5,2000001,7", "1 5 2000001 7"),
    ("1,5,2000001,7", "1,5,99999999999999999999{n},7"),
    ("1,5,2000001,7", "1,5,2000001,-{n}"),
    ("0,5,2000000,0,a,,", "0,5,2000000,0,a,2,"),
    (",,0 1,,,\n", ",,2,,,\n"),
    (",,0 1,,,\n", ",,{n},,,\n"),
    (",,0 1,,,\n", ",,one,,,\n"),
    (",0 1,phase2,", ",3,phase2,"),
    (",0 1,phase2,", ",0 {n},phase2,"),
    ("src,", "scr,"),
    ("src,", "dst,"),
    ("size_bytes,", "bytes{n},"),
    (",queue\n", ",queue,queue{n}\n"),
    ("src,dst,size_bytes,start_ns,tag,after,after_delivered,barrier,queue\n", ""),
    ("src,dst,size_bytes,start_ns,", "src;dst;size_bytes;start_ns;"),
];

/// A flow list with a flaw.
pub(super) fn list(random: &mut Random) -> (String, String) {
    if random.below(3) > 0 {
        return changed(LIST, &LIST_CHANGES, random);
    }
    let (column, value) = (random.below(4) as usize, pick(&NO_NUMBERS, random));
    let at = random.below(7) as usize + 1;
    let mut lines: Vec<String> = LIST.lines().map(str::to_owned).collect();
    let mut fields: Vec<&str> = lines[at].split(',').collect();
    fields[column] = value;
    lines[at] = fields.join(",");
    (format!("row {at}, column {column}: {value:?}"), lines.join("\n"))
}

const SIZES: &str = "size_bytes,cdf\n1000,0\n20000,0.25\n300000,0.5\n4000000,1\n";
const SIZES_CHANGES: [(&str, &str); 14] = [
    ("size_bytes,cdf\n", ""),
    ("size_bytes", "bytes{n}"),
    ("20000,0.25", "20000"),
    ("20000,0.25", "20000,0.25,{n}"),
    ("20000,0.25", "20000,{n}"),
    ("20000,0.25", "20000,-0.{n}"),
    ("20000,0.25", "20000,nan"),
    ("20000,0.25", "20000,0.6{n}"),
    ("20000,0.25", "-{n},0.25"),
    ("20000,0.25", "{n}000000,0.25"),
    ("20000,0.25", "x{n},0.25"),
    ("20000,0.25", "20000;0.25"),
    ("4000000,1\n", "4000000,0.9{n}\n"),
    ("4000000,1\n", ""),
];

/// A distribution of sizes with a flaw.
pub(super) fn sizes(random: &mut Random) -> (String, String) {
    changed(SIZES, &SIZES_CHANGES, random)
}

const MATRIX: &str = "Nodes 16\nConnections 3\nTriggers 1\n\
    0->5 id 1 start 0 size 2000000 send_done_trigger 1\n\
    1->5 id 2 start 7 size 2000001 send_done_trigger 1\n\
    5->9 id 3 trigger 1 size 4000000\n\
    trigger id 1 barrier count 2\n";
const MATRIX_CHANGES: [(&str, &str); 34] = [
    ("Nodes 16", "Nodes 0"),
    ("Nodes 16", "Nodes x{n}"),
    ("Nodes 16", "Nodes -{n}"),
    ("Nodes 16", "Nodes 16 {n}"),
    ("Nodes 16", "Nodes"),
    ("Nodes 16", "Nodes 9"),
    ("Nodes 16\n", "0->1 start 0 size {n}\nNodes 16\n"),
    ("Connections 3", "Connections {n}"),
    ("Connections 3\n", ""),
    ("Triggers 1", "Triggers {n}"),
    ("Triggers 1", "Triggers 1\nFailures {n}"),
    ("1->5", "{n}->5"),
    ("1->5", "1->{n}"),
    ("1->5", "5->5"),
    ("1->5", "1 -> 5"),
    ("1->5", "1->"),
    ("1->5", "->5"),
    ("1->5", "a{n}->5"),
    ("1->5 id", "1->5  id"),
    ("id 2", "id 1"),
    ("id 2", "id 0"),
    ("id 2", "idd 2"),
    ("start 7", "start -{n}"),
    ("start 7", "start x{n}"),
    ("start 7", "trigger 1 start 7"),
    ("start 7 ", ""),
    ("size 2000001", "size 0"),
    ("size 2000001", "size 2e{n}"),
    (" size 2000001", ""),
    ("size 2000001 send_done_trigger 1", "size"),
    ("trigger id 1 barrier", "trigger id {n} barrier"),
    ("trigger id 1 barrier count 2", "trigger id 1 barrier"),
    ("count 2", "count {n}"),
    ("trigger id 1 barrier", "failure {n}\ntrigger id 1 barrier"),
];

/// A connection matrix with a flaw.
pub(super) fn matrix(random: &mut Random) -> (String, String) {
    changed(MATRIX, &MATRIX_CHANGES, random)
}

const TREE: &str = "Nodes 128\nTiers 3\nPodsize 16\n\
    Tier 0\nDownlink_speed_Gbps 100\nRadix_Up 1\nRadix_Down 4\nDownlink_Latency_ns 1000\nOversubscribed 4\n\
    Tier 1\nDownlink_speed_Gbps 100\nRadix_Up 2\nRadix_Down 4\nDownlink_Latency_ns 1000\nOversubscribed 2\n\
    Tier 2\nDownlink_speed_Gbps 100\nRadix_Down 8\nDownlink_Latency_ns 1000\n";
const TREE_CHANGES: [(&str, &str); 22] = [
    ("Nodes 128", "Nodes {n}1"),
    ("Nodes 128\n", ""),
    ("Tiers 3", "Tiers {n}"),
    ("Tiers 3", "Tiers 1"),
    ("Tiers 3\n", ""),
    ("Podsize 16", "Podsize {n}1"),
    ("Podsize 16", "Podsize 7"),
    ("Podsize 16\n", ""),
    ("Tier 0", "Tier {n}"),
    ("Tier 1\n", "Tier 0\n"),
    ("Tier 2\n", ""),
    ("Radix_Up 1", "Radix_Up {n}"),
    ("Radix_Up 2", "Radix_Up 3"),
    ("Radix_Down 8", "Radix_Down 7"),
    ("Radix_Down 4", "Radix {n}"),
    ("Downlink_speed_Gbps 100\nRadix_Up 1", "Downlink_speed_Gbps 100\nDownlink_speed_Gbps {n}\nRadix_Up 1"),
    ("Downlink_speed_Gbps 100\n", "Downlink_speed_Gbps 0\n"),
    ("Downlink_Latency_ns 1000", "Downlink_Latency_ns 1000 {n}"),
    ("Downlink_Latency_ns 1000", "Downlink_Latency_ns"),
    ("Oversubscribed 4", "Oversubscribed 3"),
    ("Oversubscribed 2\n", "Oversubscribed 2\nTier 3\nRadix_Down {n}\n"),
    ("Oversubscribed 4", "Oversubscribed 4\nNodes {n}"),
];

/// A topology of htsim with a flaw.
pub(super) fn tree(random: &mut Random) -> (String, String) {
    if random.below(3) > 0 {
        return changed(TREE, &TREE_CHANGES, random);
    }
    let lines: Vec<&str> = TREE.lines().collect();
    let at = random.below(lines.len() as u64) as usize;
    let value = pick(&["x", "-1", "1.5", "1e3", "99999999999999999999999", "1 2"], random);
    let line = lines[at].split(' ').next().unwrap_or_default().to_owned() + " " + value;
    let mut new = lines.clone();
    new[at] = &line;
    (format!("{} -> {line}", lines[at]), new.join("\n"))
}

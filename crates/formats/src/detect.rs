//! Detects the format of a file by its first lines: for a message about one that is not what it was given for.

use std::fmt;

/// The most bytes of a file that are looked at.
const LOOKED_AT: usize = 1 << 14;
/// The most lines of it.
const LINES: usize = 40;

/// A format that its first lines give away.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Format {
    /// htsim's `.cm`.
    ConnectionMatrix,
    /// htsim's `.topo`.
    HtsimTopology,
    /// `topology.txt` of HPCC's simulator and its forks.
    HpccTopology,
    /// `flow.txt` of the same.
    HpccFlows,
    /// `config.txt` of the same.
    HpccConfig,
    /// farspan's list of flows, as CSV.
    FlowList,
    /// farspan's scenarios and topologies, and other TOML.
    Toml,
    /// Parquet.
    Parquet,
    /// A schedule for LogGOPSim.
    Goal,
    /// A workload of SimAI or ASTRA-sim as text.
    Workload,
    /// JSON.
    Json,
    /// XML.
    Xml,
    /// No text, as Chakra's traces.
    Binary,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ConnectionMatrix => "a connection matrix of htsim, which `farspan import cm` reads",
            Self::HtsimTopology => "a topology of htsim, which `farspan import topo` reads",
            Self::HpccTopology => {
                "a topology of HPCC's simulator, which `farspan import hpcc` reads as its first file"
            }
            Self::HpccFlows => {
                "a list of flows of HPCC's simulator, which `farspan import hpcc` reads as its second file"
            }
            Self::HpccConfig => {
                "a configuration of HPCC's simulator, which `farspan import hpcc` reads with --config"
            }
            Self::FlowList => "a list of flows of farspan, which a workload of kind = \"flows\" names",
            Self::Toml => "TOML, like farspan's own scenarios and topologies, which `farspan check` reads",
            Self::Parquet => "Parquet; a workload of kind = \"flows\" can name a list of flows in it",
            Self::Goal => "a GOAL schedule, which farspan cannot read",
            Self::Workload => "a workload of SimAI or ASTRA-sim, which farspan cannot read",
            Self::Json => "JSON, which farspan cannot read",
            Self::Xml => "XML, which farspan cannot read",
            Self::Binary => {
                "not text: perhaps a Chakra trace or a compressed file, which farspan cannot read"
            }
        })
    }
}

impl Format {
    /// The format that a file with these first bytes seems to have, if any.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Option<Self> {
        if bytes.starts_with(b"PAR1") {
            return Some(Self::Parquet);
        }
        let bytes = &bytes[..bytes.len().min(LOOKED_AT)];
        let text = match std::str::from_utf8(bytes) {
            // The end may cut a character in two.
            Err(error) if error.error_len().is_some() => return Some(Self::Binary),
            Err(error) => std::str::from_utf8(&bytes[..error.valid_up_to()]).unwrap_or_default(),
            Ok(text) => text,
        };
        if text.contains('\0') {
            return Some(Self::Binary);
        }
        let rows: Vec<Vec<&str>> = text
            .trim_start_matches('\u{feff}')
            .lines()
            .map(|line| line.split_whitespace().collect())
            .filter(|words: &Vec<&str>| words.first().is_some_and(|word| !word.starts_with('#')))
            .take(LINES)
            .collect();
        Self::of_words(&rows).or_else(|| Self::of_numbers(&rows))
    }

    /// The format by words.
    fn of_words(rows: &[Vec<&str>]) -> Option<Self> {
        let [first, ..] = rows else { return None };
        let begins = |keys: &[&str]| {
            rows.iter().any(|words| keys.iter().any(|key| words[0].eq_ignore_ascii_case(key)))
        };
        let is_table =
            |word: &str| word.starts_with('[') && word.ends_with(']') && !word.contains(['"', ',', '{']);
        match first[0] {
            word if word.starts_with('<') => Some(Self::Xml),
            word if is_table(word) || first.get(1) == Some(&"=") => Some(Self::Toml),
            word if word.starts_with(['{', '[']) => Some(Self::Json),
            word if word.starts_with("src,dst,") => Some(Self::FlowList),
            "num_ranks" => Some(Self::Goal),
            word if word.starts_with("HYBRID_") || first.contains(&"model_parallel_NPU_group:") => {
                Some(Self::Workload)
            }
            _ if begins(&["Connections"]) => Some(Self::ConnectionMatrix),
            _ if begins(&["Tiers", "Podsize"]) => Some(Self::HtsimTopology),
            _ if begins(&["CC_MODE", "ENABLE_QCN", "SIMULATOR_STOP_TIME", "PACKET_PAYLOAD_SIZE"]) => {
                Some(Self::HpccConfig)
            }
            _ => None,
        }
    }

    /// The format by counts, and by how many words follow them.
    fn of_numbers(rows: &[Vec<&str>]) -> Option<Self> {
        let is_number = |word: &&str| word.parse::<f64>().is_ok();
        match rows {
            [head, second, ..] if head.len() == 1 && second.len() == 6 && second.iter().all(is_number) => {
                head.iter().all(is_number).then_some(Self::HpccFlows)
            }
            [head, switches, rest @ ..]
                if matches!(head.len(), 3 | 4 | 6)
                    && head[..head.len() - 1].iter().all(is_number)
                    && switches.iter().all(is_number) =>
            {
                rest.last().is_some_and(|link| link.len() == 5).then_some(Self::HpccTopology)
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_lines_give_formats_away() {
        let expected: [(&[u8], Option<Format>); 16] = [
            (b"Nodes 16\nConnections 1\n0->5 id 1 start 0 size 9\n", Some(Format::ConnectionMatrix)),
            (b"# a tree\nNodes 128\nTiers 3\nPodsize 16\n", Some(Format::HtsimTopology)),
            (b"5 1 4\n0\n0 1 100Gbps 0.001ms 0\n", Some(Format::HpccTopology)),
            (b"7 2 1 2 7 A100\n4 5 6\n0 4 2880Gbps 0.000025ms 0\n", Some(Format::HpccTopology)),
            (b"1\n2 1 3 100 200000 2.0\n", Some(Format::HpccFlows)),
            (b"ENABLE_QCN 1 {0: disable}\nCC_MODE 3\n", Some(Format::HpccConfig)),
            (b"src,dst,size_bytes,start_ns\n0,1,5,0\n", Some(Format::FlowList)),
            (b"[topology]\nkind = \"fat_tree\"\n", Some(Format::Toml)),
            (b"base = \"uno/permutation\"\n", Some(Format::Toml)),
            (b"num_ranks 4\n\nrank 0 {\n", Some(Format::Goal)),
            (b"HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8\n", Some(Format::Workload)),
            (b"[{\"a\": 1}]", Some(Format::Json)),
            (b"<system>", Some(Format::Xml)),
            (b"PAR1\x15\x04", Some(Format::Parquet)),
            (b"\x0a\x05\x00\x01", Some(Format::Binary)),
            (b"a letter to a friend\n", None),
        ];
        for (bytes, format) in expected {
            assert_eq!(Format::of(bytes), format, "{:?}", String::from_utf8_lossy(bytes));
        }
        assert_eq!((Format::of(b""), Format::of(b"\xff\xfe")), (None, Some(Format::Binary)));
    }

    #[test]
    fn a_character_that_the_limit_cuts_in_two_is_still_text() {
        let text = "x".repeat(LOOKED_AT - 1) + "\u{e9}";
        assert_eq!(Format::of(text.as_bytes()), None);
    }
}

//! Parts of the workload: which keys each kind needs, and their defaults.

use super::{Context, need};
use crate::error::ValueError;
use crate::model::{
    Classes, Collective, CollectiveKeys, CollectiveKind, DrawnHosts, FlowCount, FlowSizes, FlowsKeys, Incast,
    IncastHosts, IncastKeys, Members, PairsKeys, PermutationKeys, Poisson, PoissonKeys, Traffic, Workload,
    WorkloadCommon, WorkloadText,
};
use crate::value::{
    ClassSizes, CollectiveAlgorithm, Hosts, LoadReference, LoadUnit, Mix, MixUnit, Part, Sizes, TriggerDelay,
};
use farspan_transport::Class;
use farspan_units::Duration;

impl Context<'_> {
    pub(super) fn workload(
        &self,
        written: Vec<WorkloadText>,
        several_sites: bool,
    ) -> Result<Vec<Workload>, ValueError> {
        if written.is_empty() && !self.source.is_idle {
            let cure = "add a [[workload]] with a kind, such as \"incast\" (see `farspan new`)";
            return Err(ValueError::rule("workload", "nothing to send", cure));
        }
        (0..)
            .zip(written)
            .map(|(i, part)| self.part(&format!("workload[{i}]"), part, several_sites))
            .collect()
    }

    fn part(&self, path: &str, written: WorkloadText, several_sites: bool) -> Result<Workload, ValueError> {
        let kind = written.kind();
        self.only(path, kind.name(), kind.keys(), "")?;
        let WorkloadCommon { tag, balance, start } = written.common();
        let own = |own: Part| self.own_balance(&format!("{path}.balance"), own);
        Ok(Workload {
            tag: tag.unwrap_or_else(|| kind.name().to_owned()),
            start: start.unwrap_or(Duration::ZERO),
            balance: balance.map(own).transpose()?,
            traffic: self.traffic(path, written, several_sites)?,
        })
    }

    fn traffic(&self, path: &str, written: WorkloadText, several_sites: bool) -> Result<Traffic, ValueError> {
        Ok(match written {
            WorkloadText::Incast(keys) => Traffic::Incast(incast(path, keys)?),
            WorkloadText::Permutation(PermutationKeys { flow_size, class, .. }) => {
                let flow_size = key(path, "flow_size", "a size, such as \"1MB\"", flow_size)?;
                if class == Some(Class::Inter) {
                    let cure = "give \"intra\", or leave class out for a permutation of all hosts";
                    let problem = "a permutation between the sites";
                    return Err(ValueError::rule(format!("{path}.class"), problem, cure));
                }
                Traffic::Permutation { flow_size, inside_sites: class.is_some() }
            }
            WorkloadText::Pairs(keys) => self.pairs(path, keys)?,
            WorkloadText::Flows(FlowsKeys { file, trigger_delay, .. }) => {
                let what = "a CSV or Parquet file with src,dst,size_bytes,start_ns";
                let file = key(path, "file", what, file)?;
                Traffic::Flows {
                    file: self.absolute(&format!("{path}.file"), &file),
                    trigger_delay: trigger_delay.unwrap_or(TriggerDelay::Lookahead),
                }
            }
            WorkloadText::Poisson(keys) => Traffic::Poisson(self.poisson(path, keys, several_sites)?),
            WorkloadText::Allreduce(keys) => collective(path, CollectiveKind::Allreduce, keys)?,
            WorkloadText::ReduceScatter(keys) => collective(path, CollectiveKind::ReduceScatter, keys)?,
            WorkloadText::AllGather(keys) => collective(path, CollectiveKind::AllGather, keys)?,
            WorkloadText::AllToAll(keys) => collective(path, CollectiveKind::AllToAll, keys)?,
        })
    }

    fn pairs(&self, path: &str, written: PairsKeys) -> Result<Traffic, ValueError> {
        let pairs = key(path, "pairs", "senders and receivers, such as [[0, 129]]", written.pairs)?;
        let flow_size = self.or_constant(written.flow_size, "pairs", "flow_size")?;
        let flow_size = key(path, "flow_size", "a size, such as \"5MiB\"", flow_size)?;
        let pair = |(n, pair): (usize, Vec<u32>)| {
            pair.try_into().map_err(|_| {
                let cure = "give a sender and a receiver, such as [0, 129]";
                ValueError::rule(format!("{path}.pairs[{n}]"), "not two hosts", cure)
            })
        };
        let pairs: Vec<_> = pairs.into_iter().enumerate().map(pair).collect::<Result<_, _>>()?;
        // What every pair gets anyway is left out: it follows the pairs still when these are changed.
        if written.flows == Some(0) {
            let cure = "give at least 1, or leave it out: one for each pair";
            return Err(ValueError::rule(format!("{path}.flows"), "pairs without a flow", cure));
        }
        let flows = written.flows.filter(|flows| *flows != pairs.len() as u64);
        Ok(Traffic::Pairs { pairs, flow_size, gap: written.gap.unwrap_or(Duration::ZERO), flows })
    }

    fn poisson(&self, path: &str, part: PoissonKeys, several_sites: bool) -> Result<Poisson, ValueError> {
        let load = key(path, "load", "a share of load_reference, such as 0.4", part.load)?;
        if !(load > 0.0 && load.is_finite()) {
            let cure = "give a share of capacity above 0, such as 0.4 for 40%";
            return Err(ValueError::rule(format!("{path}.load"), format!("a load of {load}"), cure));
        }
        let arrivals = match (part.flows, part.duration) {
            (Some(flows), None) => FlowCount::Flows(flows),
            (None, Some(duration)) => FlowCount::For(duration),
            _ => {
                let problem = "either flows or duration says how many flows arrive";
                let cure = "give one of the two, such as flows = 5000";
                return Err(ValueError::rule(format!("{path}.flows"), problem, cure));
            }
        };
        let classes = self.classes(path, &part, several_sites)?;
        let reference = match (&part.receivers, part.class) {
            (Some(_), _) => LoadReference::Receivers,
            (None, Some(Class::Inter)) => LoadReference::Wan,
            (None, _) => LoadReference::Host,
        };
        if part.receivers.as_ref().is_some_and(Hosts::is_empty) {
            let cure = "list hosts, such as [240], or leave receivers out for all";
            return Err(ValueError::rule(format!("{path}.receivers"), "nobody receives", cure));
        }
        if part.receivers.is_some() && part.class.is_none() {
            let cure = "say whether their flows come from the same site: class = \"intra\" or \"inter\"";
            return Err(ValueError::rule(format!("{path}.receivers"), "receivers without a class", cure));
        }
        let granularity = self.or_constant(part.start_granularity, "poisson", "start_granularity")?;
        Ok(Poisson {
            receivers: part.receivers,
            classes,
            large: part.large,
            load,
            load_reference: part.load_reference.unwrap_or(reference),
            load_unit: part.load_unit.unwrap_or(LoadUnit::Payload),
            arrivals,
            start_granularity: granularity.unwrap_or(Duration::ZERO),
        })
    }

    /// A file named at `path`, so that the resolved scenario finds it from anywhere.
    pub(super) fn absolute(&self, path: &str, file: &str) -> String {
        let file = self.source.file(path, file);
        std::path::absolute(&file).unwrap_or(file).display().to_string()
    }

    /// Built-in names as they are; anything else is a file.
    fn sizes_with_places(&self, path: &str, sizes: Sizes) -> Sizes {
        let place = |key: &str, name: String| {
            let file = name.ends_with(".csv");
            if file { self.absolute(&format!("{path}.{key}"), &name) } else { name }
        };
        match sizes {
            Sizes::Both(name) => Sizes::Both(place("sizes", name)),
            Sizes::PerClass(ClassSizes { intra, inter }) => Sizes::PerClass(ClassSizes {
                intra: place("sizes.intra", intra),
                inter: place("sizes.inter", inter),
            }),
        }
    }

    /// Classes and sizes, which must agree with each other and with the sites.
    fn classes(&self, path: &str, part: &PoissonKeys, several_sites: bool) -> Result<Classes, ValueError> {
        let error =
            |key: &str, problem: &str, cure: &str| ValueError::rule(format!("{path}.{key}"), problem, cure);
        let unit = part.mix_unit.unwrap_or(MixUnit::Flows);
        let own = || {
            let what = "a distribution, such as \"websearch\", or a CSV file";
            let sizes = key(path, "sizes", what, part.sizes.clone())?;
            Ok(self.sizes_with_places(path, sizes))
        };
        let classes = match (part.mix, part.class) {
            (Some(Mix::Named(_)), _) if part.sizes.is_some() => {
                let problem = "a named mix brings its sizes";
                let cure = "remove sizes, or write the mix as intra : inter, such as \"4:1\"";
                return Err(error("sizes", problem, cure));
            }
            (Some(Mix::Named(mix)), Some(class)) => Classes::One { class, sizes: FlowSizes::OfMix(mix) },
            (Some(Mix::Named(mix)), None) => Classes::Named { mix, unit },
            (Some(Mix::Ratio(..)), Some(_)) => {
                let problem = "flows of one class cannot have a mix";
                return Err(error("mix", problem, "remove class or mix"));
            }
            (None, Some(class)) => Classes::One { class, sizes: FlowSizes::Own(own()?) },
            (Some(Mix::Ratio(intra, inter)), None) => {
                Classes::Ratio { parts: [intra, inter], unit, sizes: own()? }
            }
            (None, None) => {
                let parts = if several_sites { [4.0, 1.0] } else { [1.0, 0.0] };
                Classes::Ratio { parts, unit, sizes: own()? }
            }
        };
        let [_, inter] = classes.parts();
        if inter > 0.0 && !several_sites {
            let key = if part.class.is_some() { "class" } else { "mix" };
            let cure = "take a topology with two sites, or mix = \"1:0\"";
            return Err(error(key, "inter-DC flows need two sites", cure));
        }
        Ok(classes)
    }
}

/// An incast: who takes part, and whether there are many.
fn incast(path: &str, part: IncastKeys) -> Result<Incast, ValueError> {
    let rule = |key: &str, problem, cure| Err(ValueError::rule(format!("{path}.{key}"), problem, cure));
    let flow_size = key(path, "flow_size", "a size, such as \"1GiB\"", part.flow_size)?;
    let receiver = |receiver| key(path, "receiver", "a host, such as 240", receiver);
    let hosts = match (part.degree, part.senders) {
        (Some(_), Some(_)) => {
            return rule("degree", "senders are both listed and drawn", "give one of the two");
        }
        (Some(degree), None) => {
            let arrivals = part.load.zip(part.duration);
            if part.load.is_some() != part.duration.is_some() {
                let cure = "give both or neither, such as load = 0.2 and duration = \"2ms\"";
                return rule("load", "repeated incasts need both a load and a duration", cure);
            }
            if arrivals.is_none() {
                receiver(part.receiver)?;
            }
            IncastHosts::Drawn(DrawnHosts { degree, receiver: part.receiver, arrivals })
        }
        (None, senders) => {
            let senders = key(path, "senders", "hosts, such as [0, 10, 20], or a degree", senders)?;
            let several = if part.load.is_some() { Some("load") } else { part.duration.map(|_| "duration") };
            if let Some(key) = several {
                return rule(
                    key,
                    "an incast with listed senders cannot repeat",
                    "give a degree in place of senders",
                );
            }
            IncastHosts::Listed { senders, receiver: receiver(part.receiver)? }
        }
    };
    Ok(Incast { hosts, flow_size, spread: part.spread.unwrap_or(Duration::ZERO) })
}

/// A collective: who takes part, and the defaults.
fn collective(path: &str, operation: CollectiveKind, part: CollectiveKeys) -> Result<Traffic, ValueError> {
    let members = match (part.ranks, part.groups) {
        (Some(ranks), None) => Members::Ranks(ranks),
        (None, Some(groups)) => Members::Groups(groups),
        _ => {
            let problem = "either ranks or groups says who takes part";
            let cure = "give one of the two, such as ranks = \"0..3\" or groups = [[0, 128], [1, 129]]";
            return Err(ValueError::rule(format!("{path}.ranks"), problem, cure));
        }
    };
    let flow_size = key(path, "flow_size", "a size, such as \"64MiB\"", part.flow_size)?;
    let algorithm = match operation {
        CollectiveKind::AllToAll => CollectiveAlgorithm::Direct,
        CollectiveKind::Allreduce | CollectiveKind::ReduceScatter | CollectiveKind::AllGather => {
            CollectiveAlgorithm::Ring
        }
    };
    let iterations = part.iterations.unwrap_or(1);
    Ok(Traffic::Collective(Collective {
        operation,
        members,
        flow_size,
        algorithm: part.algorithm.unwrap_or(algorithm),
        iterations,
        compute_time: part.compute_time.unwrap_or(Duration::ZERO),
        barrier: part.barrier.unwrap_or(iterations > 1),
        trigger_delay: part.trigger_delay.unwrap_or(TriggerDelay::Lookahead),
    }))
}

/// The value of a key without which the part at `path` says nothing.
fn key<T>(path: &str, key: &str, what: &str, value: Option<T>) -> Result<T, ValueError> {
    need(|| format!("{path}.{key}"), what, value)
}

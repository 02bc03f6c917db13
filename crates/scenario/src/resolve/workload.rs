//! Parts of the workload: which keys each kind needs, and their defaults.

use super::Context;
use crate::error::ValueError;
use crate::model::Workload;
use crate::text::source::knobs;
use crate::value::{
    ClassSizes, CollectiveAlgorithm, LoadReference, LoadUnit, Mix, MixUnit, Sizes, TriggerDelay, WorkloadKind,
};
use farspan_transport::Class;
use farspan_units::Duration;

impl Context<'_> {
    pub(super) fn workload(
        &self,
        written: Vec<Workload>,
        several_sites: bool,
    ) -> Result<Vec<Workload>, ValueError> {
        if written.is_empty() {
            let cure = "add a [[workload]] with a kind, such as \"incast\" (see `farspan new`)";
            return Err(ValueError::rule("workload", "nothing to send", cure));
        }
        (0..)
            .zip(written)
            .map(|(i, part)| self.part(&format!("workload[{i}]"), part, several_sites))
            .collect()
    }

    fn part(&self, path: &str, written: Workload, several_sites: bool) -> Result<Workload, ValueError> {
        let kind = written.kind.ok_or_else(|| {
            ValueError::missing(format!("{path}.kind"), format!("one of {}", WorkloadKind::NAMES.join(", ")))
        })?;
        self.only(path, kind.name(), knobs(kind), "")?;
        let part = Workload {
            kind: Some(kind),
            tag: Some(written.tag.clone().unwrap_or_else(|| kind.name().to_owned())),
            start: Some(written.start.unwrap_or(Duration::ZERO)),
            balance: written
                .balance
                .map(|own| self.own_balance(&format!("{path}.balance"), own))
                .transpose()?,
            ..written
        };
        match kind {
            WorkloadKind::Incast => incast(path, part),
            WorkloadKind::Permutation => {
                need(path, "flow_size", "a size, such as \"1MB\"", part.flow_size.is_some())?;
                if part.class == Some(Class::Inter) {
                    let cure = "give \"intra\", or leave class out for a permutation of all hosts";
                    return Err(ValueError::rule(
                        format!("{path}.class"),
                        "a permutation between the sites",
                        cure,
                    ));
                }
                Ok(part)
            }
            WorkloadKind::Pairs => {
                let part = Workload {
                    flow_size: part.flow_size.or_else(|| self.constant("pairs", "flow_size")),
                    gap: Some(part.gap.unwrap_or(Duration::ZERO)),
                    ..part
                };
                need(path, "pairs", "senders and receivers, such as [[0, 129]]", part.pairs.is_some())?;
                need(path, "flow_size", "a size, such as \"5MiB\"", part.flow_size.is_some())?;
                let odd = part.pairs.iter().flatten().position(|pair| pair.len() != 2);
                if let Some(odd) = odd {
                    let cure = "give a sender and a receiver, such as [0, 129]";
                    return Err(ValueError::rule(format!("{path}.pairs[{odd}]"), "not two hosts", cure));
                }
                Ok(part)
            }
            WorkloadKind::Flows => {
                let file = part.file.as_deref();
                need(path, "file", "a CSV or Parquet file with src,dst,size_bytes,start_ns", file.is_some())?;
                Ok(Workload {
                    file: file.map(|file| self.absolute(&format!("{path}.file"), file)),
                    trigger_delay: Some(part.trigger_delay.unwrap_or(TriggerDelay::Lookahead)),
                    ..part
                })
            }
            WorkloadKind::Poisson => self.poisson(path, part, several_sites),
            WorkloadKind::Allreduce
            | WorkloadKind::ReduceScatter
            | WorkloadKind::AllGather
            | WorkloadKind::AllToAll => collective(path, part),
        }
    }

    fn poisson(&self, path: &str, part: Workload, several_sites: bool) -> Result<Workload, ValueError> {
        let load = part.load.unwrap_or_default();
        need(path, "load", "a share of load_reference, such as 0.4", part.load.is_some())?;
        if !(load > 0.0 && load.is_finite()) {
            let cure = "give a share of capacity above 0, such as 0.4 for 40%";
            return Err(ValueError::rule(format!("{path}.load"), format!("a load of {load}"), cure));
        }
        if part.flows.is_some() == part.duration.is_some() {
            let problem = "either flows or duration says how many flows arrive";
            return Err(ValueError::rule(
                format!("{path}.flows"),
                problem,
                "give one of the two, such as flows = 5000",
            ));
        }
        let mix = self.mix(path, &part, several_sites)?;
        let sizes = part.sizes.map(|sizes| self.sizes_with_places(path, sizes));
        let granularity = self.constant("poisson", "start_granularity").unwrap_or(Duration::ZERO);
        let reference = match (&part.receivers, part.class) {
            (Some(_), _) => LoadReference::Receivers,
            (None, Some(Class::Inter)) => LoadReference::Wan,
            (None, _) => LoadReference::Host,
        };
        if part.receivers.as_ref().is_some_and(Vec::is_empty) {
            let cure = "list hosts, such as [240], or leave receivers out for all";
            return Err(ValueError::rule(format!("{path}.receivers"), "nobody receives", cure));
        }
        if part.receivers.is_some() && part.class.is_none() {
            let cure = "say whether their flows come from the same site: class = \"intra\" or \"inter\"";
            return Err(ValueError::rule(format!("{path}.receivers"), "receivers without a class", cure));
        }
        Ok(Workload {
            sizes,
            mix,
            mix_unit: part.class.is_none().then(|| part.mix_unit.unwrap_or(MixUnit::Flows)),
            load_reference: Some(part.load_reference.unwrap_or(reference)),
            load_unit: Some(part.load_unit.unwrap_or(LoadUnit::Payload)),
            start_granularity: Some(part.start_granularity.unwrap_or(granularity)),
            ..part
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

    /// The mix, which must agree with sizes, class and sites.
    fn mix(&self, path: &str, part: &Workload, several_sites: bool) -> Result<Option<Mix>, ValueError> {
        let error =
            |key: &str, problem: &str, cure: &str| ValueError::rule(format!("{path}.{key}"), problem, cure);
        let named = part.mix.is_some_and(|mix| mix.sizes().is_some());
        if named && part.sizes.is_some() {
            let problem = "a named mix brings its sizes";
            return Err(error(
                "sizes",
                problem,
                "remove sizes, or write the mix as intra : inter, such as \"4:1\"",
            ));
        }
        if !named {
            need(
                path,
                "sizes",
                "a distribution, such as \"websearch\", or a CSV file",
                part.sizes.is_some(),
            )?;
        }
        if part.class.is_some() && part.mix.is_some() && !named {
            let problem = "flows of one class have no mix of two";
            return Err(error("mix", problem, "remove class or mix"));
        }
        let inter = match (part.class, part.mix) {
            (Some(class), _) => class == Class::Inter,
            (None, Some(mix)) => mix.ratio().1 > 0.0,
            (None, None) => several_sites,
        };
        if inter && !several_sites {
            let key = if part.class.is_some() { "class" } else { "mix" };
            return Err(error(
                key,
                "inter-DC flows need two sites",
                "take a topology with two sites, or mix = \"1:0\"",
            ));
        }
        let default = if several_sites { Mix::Ratio(4.0, 1.0) } else { Mix::Ratio(1.0, 0.0) };
        Ok(part.mix.or((part.class.is_none()).then_some(default)))
    }
}

/// An incast: who takes part, and whether there are many.
fn incast(path: &str, part: Workload) -> Result<Workload, ValueError> {
    let rule = |key: &str, problem, cure| Err(ValueError::rule(format!("{path}.{key}"), problem, cure));
    need(path, "flow_size", "a size, such as \"1GiB\"", part.flow_size.is_some())?;
    let drawn = part.degree.is_some();
    if drawn && part.senders.is_some() {
        return rule("degree", "senders are listed, and would be drawn", "give one of the two");
    }
    if !drawn {
        need(path, "senders", "hosts, such as [0, 10, 20], or a degree", part.senders.is_some())?;
        let several = if part.load.is_some() { Some("load") } else { part.duration.map(|_| "duration") };
        if let Some(key) = several {
            return rule(key, "one incast comes once", "give a degree in place of senders");
        }
    }
    if part.load.is_some() != part.duration.is_some() {
        let cure = "give both or neither, such as load = 0.2 and duration = \"2ms\"";
        return rule("load", "incasts come for a duration with a load", cure);
    }
    let receives = part.receiver.is_some() || part.load.is_some();
    need(path, "receiver", "a host, such as 240", receives)?;
    Ok(Workload { spread: Some(part.spread.unwrap_or(Duration::ZERO)), ..part })
}

/// A collective: who takes part, and the defaults.
fn collective(path: &str, part: Workload) -> Result<Workload, ValueError> {
    if part.ranks.is_some() == part.groups.is_some() {
        let problem = "either ranks or groups says who takes part";
        let cure = "give one of the two, such as ranks = [0, 1, 2, 3] or groups = [[0, 128], [1, 129]]";
        return Err(ValueError::rule(format!("{path}.ranks"), problem, cure));
    }
    need(path, "flow_size", "a size, such as \"64MiB\"", part.flow_size.is_some())?;
    let all_to_all = part.kind == Some(WorkloadKind::AllToAll);
    let algorithm = if all_to_all { CollectiveAlgorithm::Direct } else { CollectiveAlgorithm::Ring };
    Ok(Workload {
        algorithm: Some(part.algorithm.unwrap_or(algorithm)),
        iterations: Some(part.iterations.unwrap_or(1)),
        compute_time: Some(part.compute_time.unwrap_or(Duration::ZERO)),
        barrier: Some(part.barrier.unwrap_or(part.iterations.unwrap_or(1) > 1)),
        trigger_delay: Some(part.trigger_delay.unwrap_or(TriggerDelay::Lookahead)),
        ..part
    })
}

fn need(path: &str, key: &str, what: &str, given: bool) -> Result<(), ValueError> {
    if given {
        return Ok(());
    }
    Err(ValueError::missing(format!("{path}.{key}"), what))
}

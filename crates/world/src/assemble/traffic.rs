//! Traffic: the parts of a workload to flows.

use super::given;
use crate::memory;
use farspan_scenario::Resolved;
use farspan_scenario::ValueError;
use farspan_scenario::model::{Scenario, Workload as Part};
use farspan_scenario::value::{
    CollectiveAlgorithm, LoadReference, LoadUnit, Mix, MixUnit, Sizes, WorkloadKind,
};
use farspan_transport::Class;
use farspan_transport::coding::Shape;
use farspan_units::{Duration, HostId, Time};
use farspan_workload::{
    self as workload, Algorithm, Arrivals, AssembleError, Capacity, Collective, CollectiveError,
    DrawnIncasts, Expected, Flow, IncastArrivals, IncastsError, ListError, Load, Operation, PatternError,
    Poisson, PoissonError, Sites, SizeDistribution, SizesError, Workload,
};

/// Draws all flows of a scenario.
pub(super) fn flows(resolved: &Resolved, sites: &Sites, capacity: &Capacity) -> Result<Workload, ValueError> {
    let scenario = resolved.scenario();
    let draw = Draw { resolved, scenario, sites, capacity };
    let parts = (0..).zip(&scenario.workload).map(|(number, part)| draw.part(number, part));
    let parts = parts.collect::<Result<Vec<_>, _>>()?;
    let mut all =
        workload::assemble(parts).map_err(|error: AssembleError| ValueError::new("workload", error))?;
    all.exclude_warmup(Time::ZERO + given(scenario.measure.warmup));
    all.leave_out_after(Time::ZERO + given(scenario.stop.time));
    if all.flows.is_empty() {
        return Err(ValueError::rule(
            "workload",
            "no flow starts before stop.time",
            "raise stop.time, load or flows",
        ));
    }
    Ok(all)
}

/// Expected flows and bytes of the parts with random arrivals.
pub(super) fn expected(
    resolved: &Resolved,
    sites: &Sites,
    capacity: &Capacity,
) -> Result<Expected, ValueError> {
    let scenario = resolved.scenario();
    let draw = Draw { resolved, scenario, sites, capacity };
    let mut all = Expected { flows: 0.0, bytes: 0.0 };
    for (number, part) in (0..).zip(&scenario.workload) {
        if given(part.kind) == WorkloadKind::Poisson {
            let path = format!("workload[{number}]");
            let poisson = draw.poisson(&path, number, part, Time::ZERO + given(part.start))?;
            let Expected { flows, bytes } =
                Expected::of(&poisson, sites, capacity).map_err(|error| poisson_error(&path, error))?;
            all = Expected { flows: all.flows + flows, bytes: all.bytes + bytes };
        }
        if let Some(drawn) = drawn_incasts(number, part, Time::ZERO).filter(|_| part.load.is_some()) {
            let path = format!("workload[{number}]");
            let flows = drawn.expected_flows(sites, capacity).map_err(|error| drawn_error(&path, error))?;
            let bytes = flows * drawn.flow_size.as_f64();
            all = Expected { flows: all.flows + flows, bytes: all.bytes + bytes };
        }
    }
    Ok(all)
}

/// Packets of a message, parity included, are numbered with 32 bits; `shape`: what the blocks of a coded flow are made of.
pub(super) fn too_large(
    all: &Workload,
    scenario: &Scenario,
    shape: impl Fn(&Flow) -> Option<Shape>,
) -> Result<(), ValueError> {
    let payload = given(scenario.transport.payload);
    let most = |flow: &Flow| {
        let most = u64::from(u32::MAX - 1);
        let segments = |shape: Shape| most / u64::from(shape.packets()) * u64::from(shape.data());
        payload * shape(flow).map_or(most, segments)
    };
    let large = all.flows.iter().find(|flow| flow.size > most(flow));
    large.map_or(Ok(()), |flow| {
        let most = most(flow);
        let problem = format!("a flow of {} from host {} is too large", flow.size, flow.src);
        let key = match given(scenario.workload[flow.part as usize].kind) {
            WorkloadKind::Poisson => "sizes",
            WorkloadKind::Flows => "file",
            _ => "flow_size",
        };
        Err(ValueError::rule(
            format!("workload[{}].{key}", flow.part),
            problem,
            format!("give at most {most} a flow"),
        ))
    })
}

struct Draw<'a> {
    resolved: &'a Resolved,
    scenario: &'a Scenario,
    sites: &'a Sites,
    capacity: &'a Capacity,
}

impl Draw<'_> {
    fn part(&self, number: u32, part: &Part) -> Result<workload::Part, ValueError> {
        let path = format!("workload[{number}]");
        let tag = part.tag.clone().unwrap_or_default();
        let start = Time::ZERO + given(part.start);
        let seed = self.resolved.seed();
        let flows = match given(part.kind) {
            WorkloadKind::Incast => {
                let mut flows = self.incast(&path, number, part, start)?;
                workload::spread(&mut flows, given(part.spread), number, seed);
                flows
            }
            WorkloadKind::Permutation => {
                let pattern =
                    if part.class.is_some() { workload::site_permutations } else { workload::permutation };
                pattern(self.sites, given(part.flow_size), start, number, seed)
                    .map_err(|error| pattern_error(&path, "flow_size", error))?
            }
            WorkloadKind::Pairs => {
                let pair = |pair: &Vec<u32>| [pair[0], pair[1]].map(HostId);
                let pairs: Vec<_> = given(part.pairs.as_ref()).iter().map(pair).collect();
                let gap = given(part.gap);
                workload::pairs(self.sites, &pairs, given(part.flow_size), start, gap).map_err(|error| {
                    let key = if error == PatternError::ZeroSize { "flow_size" } else { "pairs" };
                    pattern_error(&path, key, error)
                })?
            }
            WorkloadKind::Poisson => {
                let poisson = self.poisson(&path, number, part, start)?;
                self.fits(&path, part, &poisson)?;
                workload::poisson(&poisson, self.sites, self.capacity, seed)
                    .map_err(|error| poisson_error(&path, error))?
            }
            WorkloadKind::Flows => return self.list(&path, number, part, &tag, start),
            WorkloadKind::Allreduce
            | WorkloadKind::ReduceScatter
            | WorkloadKind::AllGather
            | WorkloadKind::AllToAll => {
                return collective(part)
                    .part(&tag, number, start, self.sites)
                    .map_err(|error| collective_error(&path, part, error));
            }
        };
        Ok(by_size(part, workload::Part::new(tag, flows)))
    }

    /// One incast or many, of hosts that are given or drawn.
    fn incast(&self, path: &str, number: u32, part: &Part, start: Time) -> Result<Vec<Flow>, ValueError> {
        if let Some(drawn) = drawn_incasts(number, part, start) {
            let expected = drawn.expected_flows(self.sites, self.capacity);
            let flows = expected.map_err(|error| drawn_error(path, error))?;
            let cure = "ask for fewer senders, a shorter time, or a lower load";
            memory::fits(&format!("{path}.degree"), (flows, "flows", memory::OF_FLOW), cure)?;
            return workload::drawn_incasts(&drawn, self.sites, self.capacity, self.resolved.seed())
                .map_err(|error| drawn_error(path, error));
        }
        let senders = hosts(given(part.senders.as_deref()));
        let receiver = HostId(given(part.receiver));
        workload::incast(self.sites, receiver, &senders, given(part.flow_size), start)
            .map_err(|error| incast_error(path, receiver, error))
    }

    /// Refuses more random arrivals than there is memory for.
    fn fits(&self, path: &str, part: &Part, poisson: &Poisson) -> Result<(), ValueError> {
        let expected = Expected::of(poisson, self.sites, self.capacity);
        let Expected { flows, .. } = expected.map_err(|error| poisson_error(path, error))?;
        let (key, cure) = match part.flows {
            Some(_) => ("flows", "ask for fewer flows"),
            None => ("duration", "ask for a shorter time, or a lower load"),
        };
        memory::fits(&format!("{path}.{key}"), (flows, "flows", memory::OF_FLOW), cure)
    }

    fn list(
        &self,
        path: &str,
        number: u32,
        part: &Part,
        tag: &str,
        start: Time,
    ) -> Result<workload::Part, ValueError> {
        let key = format!("{path}.file");
        let file = self.resolved.file(&key, given(part.file.as_deref()));
        let invalid = |error: ListError| ValueError::new(key.clone(), error);
        let mut list = workload::list::read(&file, self.sites, number, tag).map_err(invalid)?;
        for flow in &mut list.flows {
            flow.start = flow.start.saturating_add(start - Time::ZERO);
        }
        Ok(list)
    }

    fn poisson(&self, path: &str, number: u32, part: &Part, start: Time) -> Result<Poisson, ValueError> {
        let (intra, inter) = self.distributions(path, part)?;
        let warmup = given(self.scenario.measure.warmup);
        // With a warm-up, arrivals go on until the last measured flow has ended.
        let tail = if warmup.is_zero() { Duration::ZERO } else { given(self.scenario.stop.time) };
        Ok(Poisson {
            part: number,
            receivers: hosts(part.receivers.as_deref().unwrap_or_default()),
            intra,
            inter,
            load: load(part),
            load_unit: match given(part.load_unit) {
                LoadUnit::Payload => workload::LoadUnit::Payload,
                LoadUnit::Wire => workload::LoadUnit::Wire,
            },
            arrivals: arrivals(path, part)?,
            start,
            warmup: Time::ZERO + warmup,
            tail,
            start_granularity: given(part.start_granularity),
        })
    }

    fn distributions(
        &self,
        path: &str,
        part: &Part,
    ) -> Result<(SizeDistribution, SizeDistribution), ValueError> {
        let key = format!("{path}.sizes");
        let (intra, inter) = match (&part.sizes, part.mix.and_then(Mix::sizes)) {
            (Some(Sizes::Both(name)), _) => ((key.clone(), name.as_str()), (key, name.as_str())),
            (Some(Sizes::PerClass(sizes)), _) => (
                (format!("{key}.intra"), sizes.intra.as_str()),
                (format!("{key}.inter"), sizes.inter.as_str()),
            ),
            (None, Some((intra, inter))) => ((key.clone(), intra), (key, inter)),
            (None, None) => {
                return Err(ValueError::missing(key, "a distribution, such as \"websearch\""));
            }
        };
        Ok((self.distribution(intra)?, self.distribution(inter)?))
    }

    /// A built-in distribution, or a CSV file.
    fn distribution(&self, (path, name): (String, &str)) -> Result<SizeDistribution, ValueError> {
        let distribution = if name.ends_with(".csv") {
            SizeDistribution::from_csv(&self.resolved.file(&path, name))
        } else {
            SizeDistribution::built_in(name)
        };
        distribution.map_err(|error: SizesError| ValueError::new(path, error))
    }
}

fn load(part: &Part) -> Load {
    let (intra, inter) = match part.class {
        Some(Class::Intra) => (1.0, 0.0),
        Some(Class::Inter) => (0.0, 1.0),
        None => given(part.mix).ratio(),
    };
    let unit = match part.mix_unit {
        Some(MixUnit::Bytes) => workload::MixUnit::Bytes,
        Some(MixUnit::Flows) | None => workload::MixUnit::Flows,
    };
    Load::Mixed {
        load: given(part.load),
        reference: match given(part.load_reference) {
            LoadReference::Host => workload::LoadReference::Host,
            LoadReference::Wan => workload::LoadReference::Wan,
            LoadReference::Bisection => workload::LoadReference::Bisection,
            LoadReference::Receivers => workload::LoadReference::Receivers,
        },
        mix: workload::Mix { intra, inter, unit },
    }
}

fn arrivals(path: &str, part: &Part) -> Result<Arrivals, ValueError> {
    match (part.flows, part.duration) {
        (Some(flows), _) => u32::try_from(flows).map(Arrivals::Flows).map_err(|_| {
            let problem = format!("{flows} flows, but flow ids end at {}", u32::MAX);
            ValueError::rule(format!("{path}.flows"), problem, "ask for fewer")
        }),
        (None, duration) => Ok(Arrivals::For(given(duration))),
    }
}

/// Gives large flows a tag of their own.
fn by_size(part: &Part, mut all: workload::Part) -> workload::Part {
    if let Some(large) = part.large {
        all.tags.push(format!("{}-large", all.tags[0]));
        all.flows.iter_mut().for_each(|flow| flow.tag = u32::from(flow.size >= large));
    }
    all
}

fn hosts(numbers: &[u32]) -> Vec<HostId> {
    numbers.iter().copied().map(HostId).collect()
}

/// The collective of a part that is one.
pub(super) fn collective(part: &Part) -> Collective {
    let groups = match (&part.ranks, &part.groups) {
        (Some(ranks), _) => vec![hosts(ranks)],
        (None, groups) => given(groups.as_ref()).iter().map(|group| hosts(group)).collect(),
    };
    Collective {
        operation: match given(part.kind) {
            WorkloadKind::ReduceScatter => Operation::ReduceScatter,
            WorkloadKind::AllGather => Operation::AllGather,
            WorkloadKind::AllToAll => Operation::AllToAll,
            _ => Operation::Allreduce,
        },
        algorithm: match given(part.algorithm) {
            CollectiveAlgorithm::Ring => Algorithm::Ring,
            CollectiveAlgorithm::Direct => Algorithm::Direct,
            CollectiveAlgorithm::Pipeline => Algorithm::Pipeline,
            CollectiveAlgorithm::Hierarchical => Algorithm::Hierarchical,
        },
        groups,
        size: given(part.flow_size),
        iterations: given(part.iterations),
        compute_time: given(part.compute_time),
        barrier: given(part.barrier),
    }
}

fn collective_error(path: &str, part: &Part, error: CollectiveError) -> ValueError {
    let key = match error {
        CollectiveError::TooSmall { .. } => "flow_size",
        CollectiveError::NoIterations | CollectiveError::TooMany { .. } => "iterations",
        CollectiveError::NotHierarchical
        | CollectiveError::NothingToPassOn
        | CollectiveError::Uneven { .. } => "algorithm",
        _ if part.ranks.is_some() => "ranks",
        _ => "groups",
    };
    ValueError::new(format!("{path}.{key}"), error)
}

/// The incasts of a part whose hosts are drawn.
fn drawn_incasts(number: u32, part: &Part, start: Time) -> Option<DrawnIncasts> {
    let degree = part.degree?;
    let arrivals = match (part.load, part.duration) {
        (Some(load), Some(duration)) => IncastArrivals::Poisson { load, duration },
        _ => IncastArrivals::Once,
    };
    let (receiver, flow_size) = (part.receiver.map(HostId), given(part.flow_size));
    Some(DrawnIncasts { part: number, degree, receiver, flow_size, start, arrivals })
}

fn drawn_error(path: &str, error: IncastsError) -> ValueError {
    let key = match error {
        IncastsError::ZeroSize => "flow_size",
        IncastsError::NoSuchHost { .. } => "receiver",
        IncastsError::NoTime => "duration",
        IncastsError::Load { .. } | IncastsError::TooMany { .. } => "load",
        _ => "degree",
    };
    ValueError::new(format!("{path}.{key}"), error)
}

fn incast_error(path: &str, receiver: HostId, error: PatternError) -> ValueError {
    let key = match error {
        PatternError::NoSuchHost { host, .. } if host == receiver => "receiver",
        PatternError::ZeroSize => "flow_size",
        _ => "senders",
    };
    pattern_error(path, key, error)
}

fn pattern_error(path: &str, key: &str, error: PatternError) -> ValueError {
    ValueError::new(format!("{path}.{key}"), error)
}

fn poisson_error(path: &str, error: PoissonError) -> ValueError {
    let key = match error {
        PoissonError::NoReference { .. } | PoissonError::NoneCounted { .. } => "load_reference",
        PoissonError::Nothing { what: "duration" } => "duration",
        PoissonError::Nothing { .. } | PoissonError::TooMany { .. } => "flows",
        PoissonError::Mix { .. } | PoissonError::Alone { .. } => "mix",
        PoissonError::NoSuchHost { .. } | PoissonError::NoReceiver => "receivers",
        _ => "load",
    };
    ValueError::new(format!("{path}.{key}"), error)
}

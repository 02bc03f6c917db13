//! Traffic: the parts of a workload to flows.

use super::EmptyNetwork;
use crate::memory;
use farspan_scenario::Resolved;
use farspan_scenario::ValueError;
use farspan_scenario::model::{
    self, Classes, CollectiveKind, DrawnHosts, FlowCount, Incast, IncastHosts, Members, Scenario, Traffic,
    Workload as Part,
};
use farspan_scenario::value::{
    CollectiveAlgorithm, Hosts, LoadReference, LoadUnit, MixUnit, NamedMix, Sizes,
};
use farspan_transport::coding::Shape;
use farspan_units::{Bytes, Duration, HostId, Time};
use farspan_workload::{
    self as workload, Algorithm, Arrivals, AssembleError, Capacity, Collective, CollectiveError,
    DrawnIncasts, Expected, Flow, IncastArrivals, IncastsError, ListError, Load, Operation, PatternError,
    Poisson, PoissonError, Sites, SizeDistribution, SizesError, Workload,
};

/// Packets of a message, parity included, are numbered with 32 bits; `shape`: what the blocks of a coded flow are made of.
pub(super) fn too_large(
    all: &Workload,
    scenario: &Scenario,
    shape: impl Fn(&Flow) -> Option<Shape>,
) -> Result<(), ValueError> {
    let payload = scenario.transport.payload;
    let most = |flow: &Flow| {
        let most = u64::from(u32::MAX - 1);
        let segments = |shape: Shape| most / u64::from(shape.packets()) * u64::from(shape.data());
        payload * shape(flow).map_or(most, segments)
    };
    let large = all.flows.iter().find(|flow| flow.size > most(flow));
    large.map_or(Ok(()), |flow| {
        let most = most(flow);
        let problem = format!("a flow of {} from host {} is too large", flow.size, flow.src);
        let key = match scenario.workload[flow.part as usize].traffic {
            Traffic::Poisson(_) => "sizes",
            Traffic::Flows { .. } => "file",
            _ => "flow_size",
        };
        Err(ValueError::rule(
            format!("workload[{}].{key}", flow.part),
            problem,
            format!("give at most {most} a flow"),
        ))
    })
}

/// How flows of this kind come to offer less; `None` of bursts, whose flows start at once or when others have ended.
pub(super) const fn steady_cure(traffic: &Traffic) -> Option<&'static str> {
    match traffic {
        Traffic::Poisson(_) => {
            Some("lower workload.load (with load_reference = \"tightest\", a load below 1 overloads nothing)")
        }
        Traffic::Incast(Incast { hosts: IncastHosts::Drawn(hosts), .. }) if hosts.arrivals.is_some() => {
            Some("lower the load of the incasts")
        }
        Traffic::Flows { .. } => Some("let the flows of workload.file start later, or send less"),
        Traffic::Pairs { gap, .. } if !gap.is_zero() => Some("raise workload.gap"),
        Traffic::Incast(_) | Traffic::Pairs { .. } | Traffic::Permutation { .. } | Traffic::Collective(_) => {
            None
        }
    }
}

/// The workload of a scenario, for a network.
pub(super) struct Draw<'a> {
    resolved: &'a Resolved,
    pub(super) scenario: &'a Scenario,
    sites: &'a Sites,
    capacity: &'a Capacity,
    /// The names of hosts, by their numbers.
    names: Vec<&'a str>,
}

impl<'a> Draw<'a> {
    pub(super) fn of(resolved: &'a Resolved, empty: &'a EmptyNetwork) -> Self {
        let EmptyNetwork { network, sites, capacity, .. } = empty;
        let hosts = &network.nodes[..network.hosts as usize];
        let names = hosts.iter().map(|host| host.name.as_str()).collect();
        Self { resolved, scenario: resolved.scenario(), sites, capacity, names }
    }

    /// Draws all flows of the scenario.
    pub(super) fn flows(&self) -> Result<Workload, ValueError> {
        let scenario = self.scenario;
        let parts = (0..).zip(&scenario.workload).map(|(number, part)| self.part(number, part));
        let parts = parts.collect::<Result<Vec<_>, _>>()?;
        let mut all =
            workload::assemble(parts).map_err(|error: AssembleError| ValueError::new("workload", error))?;
        all.exclude_warmup(Time::ZERO + scenario.measure.warmup);
        all.leave_out_after(Time::ZERO + scenario.stop.time);
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
    pub(super) fn expected(&self) -> Result<Expected, ValueError> {
        let Self { sites, capacity, .. } = self;
        let mut all = Expected { flows: 0.0, bytes: 0.0 };
        for (number, part) in (0..).zip(&self.scenario.workload) {
            let path = format!("workload[{number}]");
            let Expected { flows, bytes } = match &part.traffic {
                Traffic::Poisson(poisson) => {
                    let poisson = self.poisson(&path, number, poisson, Time::ZERO + part.start)?;
                    Expected::of(&poisson, sites, capacity).map_err(|error| poisson_error(&path, error))?
                }
                Traffic::Incast(Incast { hosts: IncastHosts::Drawn(hosts), flow_size, .. })
                    if part.is_random() =>
                {
                    let drawn = drawn_incasts(number, hosts, *flow_size, Time::ZERO);
                    let flows =
                        drawn.expected_flows(sites, capacity).map_err(|error| drawn_error(&path, error))?;
                    Expected { flows, bytes: flows * flow_size.as_f64() }
                }
                _ => continue,
            };
            all = Expected { flows: all.flows + flows, bytes: all.bytes + bytes };
        }
        Ok(all)
    }

    /// The flows of the parts without random arrivals; of a list as many as its file has room for.
    pub(super) fn fixed(&self) -> Result<u64, ValueError> {
        let parts = (0..).zip(&self.scenario.workload);
        let counts = parts.map(|(number, part)| self.fixed_of(number, part));
        counts.collect::<Result<Vec<_>, _>>().map(|counts| counts.into_iter().fold(0, u64::saturating_add))
    }

    fn fixed_of(&self, number: u32, part: &Part) -> Result<u64, ValueError> {
        /// The shortest row of a list: `0,1,1,0` and its end.
        const OF_ROW: u64 = 8;
        Ok(match &part.traffic {
            Traffic::Incast(Incast { hosts: IncastHosts::Listed { senders, .. }, .. }) => {
                senders.count().unwrap_or(self.sites.hosts().into())
            }
            Traffic::Incast(Incast { hosts: IncastHosts::Drawn(drawn), .. }) => {
                if drawn.arrivals.is_some() {
                    0
                } else {
                    drawn.degree.into()
                }
            }
            Traffic::Permutation { .. } => self.sites.hosts().into(),
            Traffic::Pairs { pairs, flows, .. } => flows.unwrap_or(pairs.len() as u64),
            Traffic::Collective(written) => self.collective(number, written)?.messages(self.sites),
            Traffic::Flows { file, .. } => {
                self.resolved.file("", file).metadata().map_or(0, |metadata| metadata.len() / OF_ROW)
            }
            Traffic::Poisson(_) => 0,
        })
    }

    /// The numbers of hosts that are listed at `path`.
    fn hosts(&self, path: &str, hosts: &Hosts) -> Result<Vec<HostId>, ValueError> {
        let numbers = hosts.numbers(&self.names).map_err(|problem| ValueError::new(path, problem))?;
        Ok(numbers.into_iter().map(HostId).collect())
    }

    fn part(&self, number: u32, part: &Part) -> Result<workload::Part, ValueError> {
        let path = format!("workload[{number}]");
        let tag = part.tag.clone();
        let start = Time::ZERO + part.start;
        let seed = self.resolved.seed();
        let flows = match &part.traffic {
            Traffic::Incast(incast) => {
                let mut flows = self.incast(&path, number, incast, start)?;
                workload::spread(&mut flows, incast.spread, number, seed);
                flows
            }
            Traffic::Permutation { flow_size, inside_sites } => {
                let pattern = if *inside_sites { workload::site_permutations } else { workload::permutation };
                pattern(self.sites, *flow_size, start, number, seed)
                    .map_err(|error| pattern_error(&path, "flow_size", error))?
            }
            Traffic::Pairs { pairs, flow_size, gap, flows } => {
                let pairs: Vec<_> = pairs.iter().map(|pair| pair.map(HostId)).collect();
                let flows = flows.unwrap_or(pairs.len() as u64) as usize;
                let in_turn: Vec<_> = pairs.iter().copied().cycle().take(flows).collect();
                workload::pairs(self.sites, &in_turn, *flow_size, start, *gap).map_err(|error| {
                    let key = if error == PatternError::ZeroSize { "flow_size" } else { "pairs" };
                    pattern_error(&path, key, error)
                })?
            }
            Traffic::Poisson(written) => {
                let poisson = self.poisson(&path, number, written, start)?;
                self.fits(&path, written, &poisson)?;
                let flows = workload::poisson(&poisson, self.sites, self.capacity, seed)
                    .map_err(|error| poisson_error(&path, error))?;
                return Ok(by_size(written.large, workload::Part::new(tag, flows)));
            }
            Traffic::Flows { file, .. } => return self.list(&path, number, file, &tag, start),
            Traffic::Collective(written) => {
                return self
                    .collective(number, written)?
                    .part(&tag, number, start, self.sites)
                    .map_err(|error| collective_error(&path, written, error));
            }
        };
        Ok(workload::Part::new(tag, flows))
    }

    /// One incast or many, of hosts that are given or drawn.
    fn incast(&self, path: &str, number: u32, part: &Incast, start: Time) -> Result<Vec<Flow>, ValueError> {
        match &part.hosts {
            IncastHosts::Listed { senders, receiver } => {
                let receiver = HostId(*receiver);
                let is_all = senders.is_all();
                let mut senders = self.hosts(&format!("{path}.senders"), senders)?;
                senders.retain(|sender| !(is_all && *sender == receiver));
                workload::incast(self.sites, receiver, &senders, part.flow_size, start)
                    .map_err(|error| incast_error(path, receiver, error))
            }
            IncastHosts::Drawn(hosts) => {
                let drawn = drawn_incasts(number, hosts, part.flow_size, start);
                let expected = drawn.expected_flows(self.sites, self.capacity);
                let flows = expected.map_err(|error| drawn_error(path, error))?;
                let cure = "ask for fewer senders, a shorter time, or a lower load";
                memory::fits(&format!("{path}.degree"), (flows, "flows", memory::OF_FLOW), cure)?;
                workload::drawn_incasts(&drawn, self.sites, self.capacity, self.resolved.seed())
                    .map_err(|error| drawn_error(path, error))
            }
        }
    }

    /// Refuses more random arrivals than there is memory for.
    fn fits(&self, path: &str, part: &model::Poisson, poisson: &Poisson) -> Result<(), ValueError> {
        let expected = Expected::of(poisson, self.sites, self.capacity);
        let Expected { flows, .. } = expected.map_err(|error| poisson_error(path, error))?;
        let (key, cure) = match part.arrivals {
            FlowCount::Flows(_) => ("flows", "ask for fewer flows"),
            FlowCount::For(_) => ("duration", "ask for a shorter time, or a lower load"),
        };
        memory::fits(&format!("{path}.{key}"), (flows, "flows", memory::OF_FLOW), cure)
    }

    fn list(
        &self,
        path: &str,
        number: u32,
        file: &str,
        tag: &str,
        start: Time,
    ) -> Result<workload::Part, ValueError> {
        let key = format!("{path}.file");
        let file = self.resolved.file(&key, file);
        let invalid = |error: ListError| ValueError::new(key.clone(), error);
        let mut list = workload::list::read(&file, self.sites, number, tag).map_err(invalid)?;
        for flow in &mut list.flows {
            flow.start = flow.start.saturating_add(start - Time::ZERO);
        }
        Ok(list)
    }

    fn poisson(
        &self,
        path: &str,
        number: u32,
        part: &model::Poisson,
        start: Time,
    ) -> Result<Poisson, ValueError> {
        let (intra, inter) = self.distributions(path, &part.classes)?;
        let warmup = self.scenario.measure.warmup;
        // With a warm-up, arrivals go on until the last measured flow has ended.
        let tail = if warmup.is_zero() { Duration::ZERO } else { self.scenario.stop.time };
        Ok(Poisson {
            part: number,
            receivers: part
                .receivers
                .as_ref()
                .map_or_else(|| Ok(Vec::new()), |hosts| self.hosts(&format!("{path}.receivers"), hosts))?,
            intra,
            inter,
            load: load(part),
            load_unit: match part.load_unit {
                LoadUnit::Payload => workload::LoadUnit::Payload,
                LoadUnit::Wire => workload::LoadUnit::Wire,
            },
            arrivals: arrivals(path, part.arrivals)?,
            start,
            warmup: Time::ZERO + warmup,
            tail,
            start_granularity: part.start_granularity,
        })
    }

    /// A collective of part `number`, as the workload has it.
    pub(super) fn collective(&self, number: u32, part: &model::Collective) -> Result<Collective, ValueError> {
        let path = format!("workload[{number}]");
        Ok(Collective {
            operation: match part.operation {
                CollectiveKind::Allreduce => Operation::Allreduce,
                CollectiveKind::ReduceScatter => Operation::ReduceScatter,
                CollectiveKind::AllGather => Operation::AllGather,
                CollectiveKind::AllToAll => Operation::AllToAll,
            },
            algorithm: match part.algorithm {
                CollectiveAlgorithm::Ring => Algorithm::Ring,
                CollectiveAlgorithm::Direct => Algorithm::Direct,
                CollectiveAlgorithm::Pipeline => Algorithm::Pipeline,
                CollectiveAlgorithm::Hierarchical => Algorithm::Hierarchical,
            },
            groups: match &part.members {
                Members::Ranks(ranks) => vec![self.hosts(&format!("{path}.ranks"), ranks)?],
                Members::Groups(groups) => {
                    let group = |(n, group)| self.hosts(&format!("{path}.groups[{n}]"), group);
                    groups.iter().enumerate().map(group).collect::<Result<_, _>>()?
                }
            },
            size: part.flow_size,
            iterations: part.iterations,
            compute_time: part.compute_time,
            barrier: part.barrier,
        })
    }

    fn distributions(
        &self,
        path: &str,
        classes: &Classes,
    ) -> Result<(SizeDistribution, SizeDistribution), ValueError> {
        let key = format!("{path}.sizes");
        let (intra, inter) = match classes.sizes().map_err(NamedMix::sizes) {
            Ok(Sizes::Both(name)) => ((key.clone(), name.as_str()), (key, name.as_str())),
            Ok(Sizes::PerClass(sizes)) => (
                (format!("{key}.intra"), sizes.intra.as_str()),
                (format!("{key}.inter"), sizes.inter.as_str()),
            ),
            Err([intra, inter]) => ((key.clone(), intra), (key, inter)),
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

fn load(part: &model::Poisson) -> Load {
    let [intra, inter] = part.classes.parts();
    let unit = match part.classes.unit() {
        MixUnit::Bytes => workload::MixUnit::Bytes,
        MixUnit::Flows => workload::MixUnit::Flows,
    };
    Load::Mixed {
        load: part.load,
        reference: match part.load_reference {
            LoadReference::Host => workload::LoadReference::Host,
            LoadReference::Wan => workload::LoadReference::Wan,
            LoadReference::Bisection => workload::LoadReference::Bisection,
            LoadReference::Receivers => workload::LoadReference::Receivers,
            LoadReference::Tightest => workload::LoadReference::Tightest,
        },
        mix: workload::Mix { intra, inter, unit },
    }
}

fn arrivals(path: &str, count: FlowCount) -> Result<Arrivals, ValueError> {
    match count {
        FlowCount::Flows(flows) => u32::try_from(flows).map(Arrivals::Flows).map_err(|_| {
            let problem = format!("{flows} flows, but flow ids end at {}", u32::MAX);
            ValueError::rule(format!("{path}.flows"), problem, "ask for fewer")
        }),
        FlowCount::For(duration) => Ok(Arrivals::For(duration)),
    }
}

/// Gives large flows a tag of their own.
fn by_size(large: Option<Bytes>, mut all: workload::Part) -> workload::Part {
    if let Some(large) = large {
        all.tags.push(format!("{}-large", all.tags[0]));
        all.flows.iter_mut().for_each(|flow| flow.tag = u32::from(flow.size >= large));
    }
    all
}

fn collective_error(path: &str, part: &model::Collective, error: CollectiveError) -> ValueError {
    let key = match error {
        CollectiveError::TooSmall { .. } => "flow_size",
        CollectiveError::NoIterations | CollectiveError::TooMany { .. } => "iterations",
        CollectiveError::NotHierarchical
        | CollectiveError::NothingToPassOn
        | CollectiveError::Uneven { .. } => "algorithm",
        _ => match part.members {
            Members::Ranks(_) => "ranks",
            Members::Groups(_) => "groups",
        },
    };
    ValueError::new(format!("{path}.{key}"), error)
}

/// The incasts of a part whose hosts are drawn.
fn drawn_incasts(part: u32, hosts: &DrawnHosts, flow_size: Bytes, start: Time) -> DrawnIncasts {
    let arrivals = match hosts.arrivals {
        Some((load, duration)) => IncastArrivals::Poisson { load, duration },
        None => IncastArrivals::Once,
    };
    let receiver = hosts.receiver.map(HostId);
    DrawnIncasts { part, degree: hosts.degree, receiver, flow_size, start, arrivals }
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

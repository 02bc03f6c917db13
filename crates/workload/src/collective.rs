//! Collectives: operations of several hosts (ranks) whose steps wait for one another.
//!
//! One iteration is a list of [`Move`]s in stages. The rule of all dependencies: **a rank sends what belongs to a stage when
//! it has received everything that it was to receive in the stage before** (last byte at the receiver) and has begun the
//! iteration itself. Its own earlier sends need not be acknowledged: they wait in the same NIC. Between iterations a rank
//! waits until it has received everything *and* its own sends are acknowledged, so that its buffers are free again, and then
//! computes; what others send it of the next iteration meanwhile stays with it until then.
//!
//! All of that happens on the rank itself, so it takes no time to learn of it and is exact under every engine; only a
//! barrier needs notifications between hosts.

use crate::{Flow, Part, Rule, Sites, Trigger};
use farspan_units::{Bytes, Duration, HostId, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A collective operation, by the data that the ranks have when it is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Operation {
    /// Everyone the sum of all buffers: a reduce-scatter, then an all-gather.
    Allreduce,
    /// Everyone the sum of one chunk.
    ReduceScatter,
    /// Everyone the chunks of all.
    AllGather,
    /// Everyone a block from each of the others.
    AllToAll,
}

/// In what steps.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum Algorithm {
    /// n - 1 stages (an allreduce 2(n - 1)), in each of which a rank sends to one other: to its successor in the list, or,
    /// all to all, in stage s to the s-th after it (Thakur, Rabenseifner, Gropp, IJHPCA 2005, sections 4.1 and 4.3).
    Ring,
    /// One stage (an allreduce two), in which a rank sends to all others at once. In a group of two the same as `Ring`.
    Direct,
    /// A ring of chunks so small that all stages run at once: one stage, in which a rank sends its successor as one message what
    /// it sends in all stages of `Ring` (as published code of OSCAR draws a ring).
    Pipeline,
    /// An allreduce in three parts: a ring reduce-scatter inside each site, a direct allreduce of each chunk among the
    /// ranks of the same place in their sites, a ring all-gather inside each site.
    Hierarchical,
}

/// A collective, run once or several times, by one group of ranks or by several beside each other.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Collective {
    /// The operation.
    pub operation: Operation,
    /// How.
    pub algorithm: Algorithm,
    /// The ranks of each group, in order. A host may belong to several groups.
    pub groups: Vec<Vec<HostId>>,
    /// The buffer of each rank, cut into a chunk for every rank of its group; of [`Operation::AllToAll`] what each rank sends
    /// to each other.
    pub size: Bytes,
    /// How often.
    pub iterations: u32,
    /// Time on a rank between the end of an iteration and its first send of the next.
    pub compute_time: Duration,
    /// Whether an iteration begins only when all ranks of all groups have ended the one before.
    pub barrier: bool,
}

/// A message of one iteration.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Move {
    /// Its group, from 0.
    pub group: u32,
    /// Its stage, from 0.
    pub stage: u32,
    /// The sending rank's host.
    pub src: HostId,
    /// The receiving rank's host.
    pub dst: HostId,
    /// Where in the buffer its bytes stand.
    pub offset: Bytes,
    /// How many they are.
    pub size: Bytes,
    /// The moves, by position, that `src` must have received: one list for all that it sends in the stage.
    pub after: Arc<[u32]>,
}

/// Why there is no such collective.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CollectiveError {
    /// No group, or one of less than two ranks.
    #[error("a group of {ranks} ranks; give at least 2")]
    TooFew {
        /// How many there are.
        ranks: usize,
    },
    /// A host that does not exist.
    #[error("host {host} does not exist; hosts are numbered 0 to {last}: give one of them")]
    NoSuchHost {
        /// The host asked for.
        host: HostId,
        /// The last host.
        last: u32,
    },
    /// A host is listed twice in a group.
    #[error("host {host} is listed twice in a group; list every rank once")]
    Twice {
        /// The host.
        host: HostId,
    },
    /// The buffer cannot be cut.
    #[error("{size} cannot be cut into {chunks} chunks; give at least {chunks} B")]
    TooSmall {
        /// The buffer.
        size: Bytes,
        /// Into how many.
        chunks: u64,
    },
    /// Nothing to do.
    #[error("0 iterations; give at least 1")]
    NoIterations,
    /// Only an allreduce has this algorithm.
    #[error("only an allreduce can be hierarchical; use \"ring\" or \"direct\"")]
    NotHierarchical,
    /// All to all passes nothing on.
    #[error("all_to_all does not forward data from host to host; use \"ring\" or \"direct\"")]
    NothingToPassOn,
    /// The sites do not have as many ranks each.
    #[error(
        "a hierarchical allreduce needs at least two sites with equally many ranks, but a group has {ranks:?} per site; \
         list equally many hosts per site, or use \"ring\""
    )]
    Uneven {
        /// How many ranks each site has.
        ranks: Vec<usize>,
    },
    /// More messages than a run has memory for.
    #[error("{flows} messages, more than {MOST_MESSAGES}; ask for fewer iterations, or list fewer ranks")]
    TooMany {
        /// How many there would be.
        flows: u64,
    },
}

/// Every message is a flow, which takes some hundred bytes before the run begins: 4,194,304, of 1,448 ranks that all send
/// to all others twice.
const MOST_MESSAGES: u64 = 1 << 22;

impl Collective {
    /// The moves of one iteration, group by group, stage by stage.
    ///
    /// # Errors
    /// If a group or the buffer does not fit the algorithm.
    pub fn round(&self, sites: &Sites) -> Result<Vec<Move>, CollectiveError> {
        if self.groups.is_empty() {
            return Err(CollectiveError::TooFew { ranks: 0 });
        }
        if self.algorithm == Algorithm::Hierarchical && self.operation != Operation::Allreduce {
            return Err(CollectiveError::NotHierarchical);
        }
        if self.algorithm == Algorithm::Pipeline && self.operation == Operation::AllToAll {
            return Err(CollectiveError::NothingToPassOn);
        }
        let mut moves = Vec::new();
        for (group, ranks) in (0..).zip(&self.groups) {
            check(ranks, sites)?;
            let mut schedule = Schedule::new(group, ranks, &mut moves);
            let all: Vec<usize> = (0..ranks.len()).collect();
            match (self.operation, self.algorithm) {
                (Operation::Allreduce, Algorithm::Hierarchical) => schedule.hierarchical(self.size, sites)?,
                (Operation::AllToAll, algorithm) => schedule.all_to_all(self.size, algorithm)?,
                (operation, Algorithm::Pipeline) => schedule.pipeline(self.size, operation)?,
                (operation, algorithm) => {
                    let chunks = cut(Chunk { offset: Bytes::ZERO, size: self.size }, ranks.len())?;
                    if operation != Operation::AllGather {
                        schedule.reduce_scatter(&[(all.clone(), chunks.clone())], algorithm);
                    }
                    if operation != Operation::ReduceScatter {
                        schedule.all_gather(&[(all, chunks)], algorithm);
                    }
                }
            }
        }
        Ok(moves)
    }

    /// How many messages all iterations have, for groups that [`Self::round`] does not refuse.
    #[must_use]
    pub fn messages(&self, sites: &Sites) -> u64 {
        let pairs = |n: usize| n as u64 * (n as u64).saturating_sub(1);
        let of_group = |ranks: &Vec<HostId>| match (self.operation, self.algorithm) {
            (Operation::Allreduce, Algorithm::Hierarchical) => {
                let here: BTreeSet<usize> = ranks.iter().map(|host| sites.site_of(*host)).collect();
                let local = ranks.len() / here.len().max(1);
                2 * (here.len() as u64 * pairs(local) + local as u64 * pairs(here.len()))
            }
            (_, Algorithm::Pipeline) => ranks.len() as u64,
            (Operation::Allreduce, _) => 2 * pairs(ranks.len()),
            _ => pairs(ranks.len()),
        };
        self.groups.iter().map(of_group).sum::<u64>().saturating_mul(self.iterations.into())
    }

    /// All iterations as a part of a workload: in the order of iterations, and within one in that of [`Self::round`].
    ///
    /// # Errors
    /// As [`Self::round`], or if there are no iterations or too many.
    pub fn part(&self, tag: &str, number: u32, start: Time, sites: &Sites) -> Result<Part, CollectiveError> {
        if self.iterations == 0 {
            return Err(CollectiveError::NoIterations);
        }
        for ranks in &self.groups {
            check(ranks, sites)?;
        }
        let flows = self.messages(sites);
        if flows > MOST_MESSAGES {
            return Err(CollectiveError::TooMany { flows });
        }
        let moves = self.round(sites)?;
        let flow = |each: &Move| Flow {
            src: each.src,
            dst: each.dst,
            size: each.size,
            start,
            part: number,
            tag: 0,
            measured: true,
        };
        let once: Vec<Flow> = moves.iter().map(flow).collect();
        let mut part = Part::new(tag, once.repeat(self.iterations as usize));
        let (inside, between) = (within(&moves, number), self.between(&moves, number));
        for iteration in 0..self.iterations {
            let base = iteration * moves.len() as u32;
            part.triggers.extend(inside.iter().map(|trigger| trigger.renamed(|flow| base + flow)));
            if iteration > 0 {
                // What is waited for stands in the iteration before.
                let before = base - moves.len() as u32;
                part.triggers.extend(between.iter().map(|trigger| trigger.renamed(|flow| before + flow)));
            }
        }
        Ok(part)
    }

    /// The triggers that start an iteration: its flows are numbered from that of the one before on.
    fn between(&self, moves: &[Move], part: u32) -> Vec<Trigger> {
        let empty = || Trigger {
            part,
            rule: Rule::All,
            started: Vec::new(),
            finished: Vec::new(),
            delivered: Vec::new(),
            targets: Vec::new(),
            pause: self.compute_time,
        };
        let mut of_rank: BTreeMap<(u32, HostId), Trigger> = BTreeMap::new();
        let key = |group, host| if self.barrier { (0, HostId(0)) } else { (group, host) };
        for (position, each) in (0..).zip(moves) {
            let receiver = of_rank.entry(key(each.group, each.dst)).or_insert_with(empty);
            receiver.delivered.push(position);
            let sender = of_rank.entry(key(each.group, each.src)).or_insert_with(empty);
            sender.finished.push(position);
            if each.after.is_empty() {
                sender.targets.push(moves.len() as u32 + position);
            }
        }
        of_rank.into_values().collect()
    }
}

/// The triggers of an iteration's later stages: one for all that a rank sends in a stage. The rank's first message,
/// if it waits for none, says that it has begun: what else waits for none starts with it.
fn within(moves: &[Move], part: u32) -> Vec<Trigger> {
    let mut begun: BTreeMap<(u32, HostId), u32> = BTreeMap::new();
    for (position, each) in (0..).zip(moves).filter(|(_, each)| each.after.is_empty()) {
        begun.entry((each.group, each.src)).or_insert(position);
    }
    let mut of_stage: BTreeMap<(u32, u32, HostId), Trigger> = BTreeMap::new();
    for (position, each) in (0..).zip(moves).filter(|(_, each)| !each.after.is_empty()) {
        let trigger = of_stage.entry((each.group, each.stage, each.src)).or_insert_with(|| Trigger {
            part,
            rule: Rule::All,
            started: begun.get(&(each.group, each.src)).copied().into_iter().collect(),
            finished: Vec::new(),
            delivered: each.after.to_vec(),
            targets: Vec::new(),
            pause: Duration::ZERO,
        });
        trigger.targets.push(position);
    }
    of_stage.into_values().collect()
}

fn check(ranks: &[HostId], sites: &Sites) -> Result<(), CollectiveError> {
    if ranks.len() < 2 {
        return Err(CollectiveError::TooFew { ranks: ranks.len() });
    }
    let mut seen = BTreeSet::new();
    for &host in ranks {
        if host.0 >= sites.hosts() {
            return Err(CollectiveError::NoSuchHost { host, last: sites.hosts() - 1 });
        }
        if !seen.insert(host) {
            return Err(CollectiveError::Twice { host });
        }
    }
    Ok(())
}

/// Bytes of a buffer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Chunk {
    offset: Bytes,
    size: Bytes,
}

/// Cuts bytes into `n` chunks that differ by a byte at most.
fn cut(whole: Chunk, n: usize) -> Result<Vec<Chunk>, CollectiveError> {
    let (n, size) = (n as u64, whole.size.get());
    if size < n {
        return Err(CollectiveError::TooSmall { size: whole.size, chunks: n });
    }
    let begin = |i: u64| size / n * i + (size % n).min(i);
    let chunk =
        |i| Chunk { offset: whole.offset + Bytes::new(begin(i)), size: Bytes::new(begin(i + 1) - begin(i)) };
    Ok((0..n).map(chunk).collect())
}

/// Some ranks of a group, by their places in it, and the chunk of each.
type Team = (Vec<usize>, Vec<Chunk>);

/// The moves of a group, stage by stage.
struct Schedule<'a> {
    group: u32,
    stage: u32,
    ranks: &'a [HostId],
    /// The moves that each rank received in the last stage in which it received any.
    received: Vec<Arc<[u32]>>,
    moves: &'a mut Vec<Move>,
}

impl<'a> Schedule<'a> {
    fn new(group: u32, ranks: &'a [HostId], moves: &'a mut Vec<Move>) -> Self {
        Self { group, stage: 0, ranks, received: vec![Arc::default(); ranks.len()], moves }
    }

    /// Adds a stage: sends from rank to rank.
    fn stage(&mut self, sends: impl IntoIterator<Item = (usize, usize, Chunk)>) {
        let mut received = BTreeMap::<usize, Vec<u32>>::new();
        for (from, to, Chunk { offset, size }) in sends {
            received.entry(to).or_default().push(self.moves.len() as u32);
            let after = Arc::clone(&self.received[from]);
            let (src, dst) = (self.ranks[from], self.ranks[to]);
            let (group, stage) = (self.group, self.stage);
            self.moves.push(Move { group, stage, src, dst, offset, size, after });
        }
        for (rank, moves) in received {
            self.received[rank] = moves.into();
        }
        self.stage += 1;
    }

    /// Teams of equal size, side by side. In the end the rank at place p has chunk p + 1 (ring) or p (direct).
    fn reduce_scatter(&mut self, teams: &[Team], algorithm: Algorithm) {
        self.exchange(teams, algorithm, |n, place, step| match algorithm {
            Algorithm::Direct => (place + step) % n,
            _ => (place + n + 1 - step) % n,
        });
    }

    /// Appends an all-gather that begins where a reduce-scatter ends.
    fn all_gather(&mut self, teams: &[Team], algorithm: Algorithm) {
        self.exchange(teams, algorithm, |n, place, step| match algorithm {
            Algorithm::Direct => place,
            _ => (place + n + 2 - step) % n,
        });
    }

    /// n - 1 steps, from 1: each rank sends the chunk `which(n, place, step)` to its successor in a stage of its own, or to
    /// the `step`-th after it in the only stage.
    fn exchange(
        &mut self,
        teams: &[Team],
        algorithm: Algorithm,
        which: impl Fn(usize, usize, usize) -> usize,
    ) {
        let n = teams[0].0.len();
        let sends = |step: usize| {
            let hop = if algorithm == Algorithm::Direct { step } else { 1 };
            let all = teams.iter().flat_map(|team| (0..n).map(move |place| (team, place)));
            let send = |((ranks, chunks), place): (&Team, usize)| {
                (ranks[place], ranks[(place + hop) % n], chunks[which(n, place, step)])
            };
            all.map(send).collect::<Vec<_>>()
        };
        if algorithm == Algorithm::Direct {
            self.stage((1..n).flat_map(sends));
        } else {
            (1..n).for_each(|step| self.stage(sends(step)));
        }
    }

    /// A block from everyone to everyone. Each begins with its successor, so that they do not aim at one rank together.
    fn all_to_all(&mut self, size: Bytes, algorithm: Algorithm) -> Result<(), CollectiveError> {
        if size.is_zero() {
            return Err(CollectiveError::TooSmall { size, chunks: 1 });
        }
        let n = self.ranks.len();
        let send = |place: usize, hop: usize| {
            let to = (place + hop) % n;
            (place, to, Chunk { offset: size * to as u64, size })
        };
        let sends = |hop: usize| (0..n).map(move |place| send(place, hop));
        if algorithm == Algorithm::Direct {
            self.stage((1..n).flat_map(sends));
        } else {
            (1..n).for_each(|hop| self.stage(sends(hop)));
        }
        Ok(())
    }

    /// Everyone to its successor: of n chunks of the buffer n - 1, of an allreduce twice.
    fn pipeline(&mut self, size: Bytes, operation: Operation) -> Result<(), CollectiveError> {
        let n = self.ranks.len();
        let chunks = cut(Chunk { offset: Bytes::ZERO, size }, n)?;
        let passes = if operation == Operation::Allreduce { 2 } else { 1 };
        let send = |place: usize| {
            let others = chunks.iter().enumerate().filter(|(chunk, _)| *chunk != place);
            let sum: u64 = others.map(|(_, chunk)| chunk.size.get()).sum();
            (place, (place + 1) % n, Chunk { offset: Bytes::ZERO, size: Bytes::new(passes * sum) })
        };
        self.stage((0..n).map(send));
        Ok(())
    }

    fn hierarchical(&mut self, size: Bytes, sites: &Sites) -> Result<(), CollectiveError> {
        let mut by_site: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (rank, host) in self.ranks.iter().enumerate() {
            by_site.entry(sites.site_of(*host)).or_default().push(rank);
        }
        let locals: Vec<Vec<usize>> = by_site.into_values().collect();
        let n = locals[0].len();
        if locals.len() < 2 || locals.iter().any(|local| local.len() != n) {
            return Err(CollectiveError::Uneven { ranks: locals.iter().map(Vec::len).collect() });
        }
        let chunks = cut(Chunk { offset: Bytes::ZERO, size }, n)?;
        let teams: Vec<Team> = locals.iter().map(|local| (local.clone(), chunks.clone())).collect();
        let across = |place: usize| {
            let ranks: Vec<usize> = locals.iter().map(|local| local[place]).collect();
            cut(chunks[(place + 1) % n], ranks.len()).map(|chunks| (ranks, chunks))
        };
        let across = (0..n).map(across).collect::<Result<Vec<Team>, _>>()?;
        self.reduce_scatter(&teams, Algorithm::Ring);
        self.reduce_scatter(&across, Algorithm::Direct);
        self.all_gather(&across, Algorithm::Direct);
        self.all_gather(&teams, Algorithm::Ring);
        Ok(())
    }
}

#[cfg(test)]
mod tests;

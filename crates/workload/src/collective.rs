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
    #[error("only an allreduce is hierarchical; take \"ring\" or \"direct\"")]
    NotHierarchical,
    /// The sites do not have as many ranks each.
    #[error(
        "a hierarchical allreduce needs two sites or more with as many ranks each, but a group has {ranks:?} by site; \
         list as many hosts of each site, or take \"ring\""
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
        let mut moves = Vec::new();
        for (group, ranks) in (0..).zip(&self.groups) {
            check(ranks, sites)?;
            let mut schedule = Schedule::new(group, ranks, &mut moves);
            let all: Vec<usize> = (0..ranks.len()).collect();
            match (self.operation, self.algorithm) {
                (Operation::Allreduce, Algorithm::Hierarchical) => schedule.hierarchical(self.size, sites)?,
                (Operation::AllToAll, algorithm) => schedule.all_to_all(self.size, algorithm)?,
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
    /// By rank: what it received in the last stage in which it received anything.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    const ALL: [Operation; 4] =
        [Operation::Allreduce, Operation::ReduceScatter, Operation::AllGather, Operation::AllToAll];

    /// Two sites of eight hosts.
    fn sites() -> Sites {
        Sites::new(vec![0..8, 8..16]).unwrap()
    }

    fn collective(operation: Operation, algorithm: Algorithm, groups: &[&[u32]], size: u64) -> Collective {
        let hosts = |group: &&[u32]| group.iter().copied().map(HostId).collect();
        Collective {
            operation,
            algorithm,
            groups: groups.iter().map(hosts).collect(),
            size: Bytes::new(size),
            iterations: 1,
            compute_time: Duration::ZERO,
            barrier: false,
        }
    }

    fn ring(operation: Operation, ranks: &[u32]) -> Collective {
        collective(operation, Algorithm::Ring, &[ranks], 1000)
    }

    #[test]
    fn in_a_ring_a_rank_passes_on_what_it_received_a_stage_before() {
        let ranks = [1, 9, 3, 11];
        let moves = ring(Operation::Allreduce, &ranks).round(&sites()).unwrap();
        assert_eq!(moves.len(), 4 * 2 * 3);
        assert_eq!(moves.iter().map(|each| each.size.get()).sum::<u64>(), 2 * 3 * 1000);
        for each in &moves {
            let place = ranks.iter().position(|host| *host == each.src.0).unwrap();
            assert_eq!(each.dst.0, ranks[(place + 1) % 4], "to the successor");
            let waits: Vec<_> = each.after.iter().map(|id| &moves[*id as usize]).collect();
            assert_eq!(waits.len(), usize::from(each.stage > 0));
            for before in waits {
                let expected = (each.src, each.stage - 1, each.offset);
                assert_eq!((before.dst, before.stage, before.offset), expected, "the same chunk goes on");
            }
        }
    }

    #[test]
    fn at_once_a_rank_sends_to_all_others_and_waits_for_all_of_them() {
        let direct = collective(Operation::Allreduce, Algorithm::Direct, &[&[0, 1, 8]], 10);
        let moves = direct.round(&sites()).unwrap();
        assert_eq!(
            moves.iter().map(|each| each.stage).collect::<Vec<_>>(),
            [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]
        );
        for each in &moves[6..] {
            let mut from: Vec<_> = each.after.iter().map(|id| moves[*id as usize].src).collect();
            from.extend([each.src]);
            from.sort_unstable();
            assert_eq!(from, [0, 1, 8].map(HostId));
        }
    }

    #[test]
    fn two_ranks_exchange_alike_under_both_algorithms() {
        for operation in ALL {
            let moves = |algorithm| {
                let moves = collective(operation, algorithm, &[&[3, 12]], 70).round(&sites()).unwrap();
                moves
                    .into_iter()
                    .map(|each| (each.stage, each.src, each.size, each.after))
                    .collect::<Vec<_>>()
            };
            assert_eq!(moves(Algorithm::Ring), moves(Algorithm::Direct));
        }
    }

    #[test]
    fn all_to_all_has_every_ordered_pair_once_and_all_bytes() {
        for (algorithm, stages) in [(Algorithm::Ring, 3), (Algorithm::Direct, 1)] {
            let moves =
                collective(Operation::AllToAll, algorithm, &[&[3, 5, 8, 9]], 100).round(&sites()).unwrap();
            let pairs: BTreeSet<_> = moves.iter().map(|each| (each.src, each.dst)).collect();
            assert_eq!((pairs.len(), moves.len(), moves.last().unwrap().stage + 1), (12, 12, stages));
            assert!(moves.iter().all(|each| each.size == Bytes::new(100)));
        }
    }

    #[test]
    fn only_the_middle_of_a_hierarchical_allreduce_crosses_sites() {
        let moves = collective(Operation::Allreduce, Algorithm::Hierarchical, &[&[0, 8, 1, 9, 2, 10]], 600)
            .round(&sites());
        let moves = moves.unwrap();
        let crosses = |each: &Move| sites().site_of(each.src) != sites().site_of(each.dst);
        let stages: BTreeSet<u32> =
            moves.iter().filter(|each| crosses(each)).map(|each| each.stage).collect();
        assert_eq!(Vec::from_iter(stages), [2, 3]);
        let bytes = moves.iter().filter(|each| crosses(each)).map(|each| each.size.get()).sum::<u64>();
        assert_eq!(bytes, 2 * 600, "each direction carries the buffer once");
        assert!(moves.iter().all(|each| crosses(each) || [0, 1, 4, 5].contains(&each.stage)));
    }

    /// The starts that a part waits for: (waiting flow, finished, delivered, pause).
    fn waits(part: &Part) -> BTreeMap<u32, (Vec<u32>, Vec<u32>, Duration)> {
        let each = |t: &Trigger| (t.finished.clone(), t.delivered.clone(), t.pause);
        part.triggers.iter().flat_map(|t| t.targets.iter().map(move |flow| (*flow, each(t)))).collect()
    }

    #[test]
    fn an_iteration_begins_on_a_rank_when_it_has_everything_and_its_buffers_are_free() {
        let mut twice = ring(Operation::ReduceScatter, &[0, 1, 2]);
        (twice.iterations, twice.compute_time) = (2, Duration::from_us(5));
        let part = twice.part("c", 3, Time::ZERO, &sites()).unwrap();
        assert_eq!(part.flows.len(), 12);
        let waits = waits(&part);
        assert_eq!(waits.keys().copied().collect::<Vec<_>>(), (3..12).collect::<Vec<_>>());
        for first in 6..9 {
            let rank = part.flows[first].src;
            let (finished, delivered, pause) = &waits[&(first as u32)];
            let own =
                |of: fn(&Flow) -> HostId| (0..6).filter(|i| of(&part.flows[*i as usize]) == rank).collect();
            let (sent, received): (Vec<u32>, Vec<u32>) = (own(|flow| flow.src), own(|flow| flow.dst));
            assert_eq!((finished, delivered, *pause), (&sent, &received, Duration::from_us(5)));
        }
        assert_eq!(waits[&9].2, Duration::ZERO, "within an iteration nobody computes");
        assert_eq!(waits[&9].1.len(), 1);
    }

    #[test]
    fn a_barrier_waits_for_all_groups() {
        let mut twice = collective(Operation::Allreduce, Algorithm::Direct, &[&[0, 8], &[1, 9]], 100);
        (twice.iterations, twice.barrier) = (2, true);
        let part = twice.part("c", 0, Time::ZERO, &sites()).unwrap();
        let waits = waits(&part);
        let all: Vec<u32> = (0..8).collect();
        for first in [8, 9, 12, 13] {
            assert_eq!(waits[&first], (all.clone(), all.clone(), Duration::ZERO));
        }
        assert_eq!(waits[&10].1.len(), 1);
    }

    #[test]
    fn what_cannot_be_done_says_why() {
        let message = |c: Collective| c.part("c", 0, Time::ZERO, &sites()).unwrap_err().to_string();
        assert!(message(ring(Operation::Allreduce, &[1])).contains("a group of 1 ranks; give at least 2"));
        assert!(message(ring(Operation::Allreduce, &[1, 16])).contains("numbered 0 to 15"));
        assert!(message(ring(Operation::Allreduce, &[1, 1])).contains("host 1 is listed twice"));
        let few = collective(Operation::AllGather, Algorithm::Ring, &[&[0, 1, 2]], 2);
        assert!(message(few).contains("give at least 3 B"));
        let none = collective(Operation::AllToAll, Algorithm::Ring, &[&[0, 1, 2]], 0);
        assert!(message(none).contains("give at least 1 B"));
        assert!(message(collective(Operation::AllToAll, Algorithm::Ring, &[], 1)).contains("0 ranks"));
        let uneven = collective(Operation::Allreduce, Algorithm::Hierarchical, &[&[0, 1, 8]], 100);
        assert!(message(uneven).contains("[2, 1] by site"));
        let gather = collective(Operation::AllGather, Algorithm::Hierarchical, &[&[0, 8]], 100);
        assert!(message(gather).contains("only an allreduce"));
        let mut idle = ring(Operation::Allreduce, &[0, 1]);
        idle.iterations = 0;
        assert!(message(idle.clone()).contains("0 iterations"));
        idle.iterations = u32::MAX;
        assert!(message(idle).contains("more than 4194304; ask for fewer iterations, or list fewer ranks"));
    }

    #[test]
    fn messages_are_counted_before_they_are_laid_out() {
        for operation in ALL {
            for algorithm in [Algorithm::Ring, Algorithm::Direct, Algorithm::Hierarchical] {
                let mut twice = collective(operation, algorithm, &[&[0, 8, 1, 9, 2, 10], &[3, 11]], 600);
                twice.iterations = 2;
                if let Ok(moves) = twice.round(&sites()) {
                    assert_eq!(
                        twice.messages(&sites()),
                        2 * moves.len() as u64,
                        "{operation:?} {algorithm:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_rank_s_sends_of_a_stage_share_one_list() {
        let ranks = Vec::from_iter(0..256);
        let sites = Sites::new(std::iter::once(0..256).collect()).unwrap();
        let moves =
            collective(Operation::Allreduce, Algorithm::Direct, &[&ranks], 1 << 20).round(&sites).unwrap();
        let lists: BTreeSet<_> = moves.iter().map(|each| each.after.as_ptr()).collect();
        assert_eq!((moves.len(), lists.len()), (2 * 256 * 255, 1 + 256));
    }

    /// Which ranks' contributions each byte of each rank's buffer holds (a bit for each rank).
    fn carried_out(moves: &[Move], ranks: &[u32], mut buffers: Vec<Vec<u16>>) -> Vec<Vec<u16>> {
        let rank = |host: HostId| ranks.iter().position(|r| *r == host.0).unwrap();
        let last = moves.iter().map(|each| each.stage).max().unwrap();
        for stage in 0..=last {
            let before = buffers.clone();
            for each in moves.iter().filter(|each| each.stage == stage) {
                let range = each.offset.get() as usize..(each.offset + each.size).get() as usize;
                for byte in range {
                    buffers[rank(each.dst)][byte] |= before[rank(each.src)][byte];
                }
            }
        }
        buffers
    }

    proptest! {
        #[test]
        fn everyone_ends_up_with_the_sum_of_everything(
            local in 1_usize..=5, extra in 0_u64..50, algorithm in 0_usize..3,
        ) {
            let algorithm = [Algorithm::Ring, Algorithm::Direct, Algorithm::Hierarchical][algorithm];
            let ranks: Vec<u32> = (0..local as u32).flat_map(|i| [i, 8 + i]).collect();
            let n = ranks.len();
            let size = 2 * n as u64 + extra;
            let moves = collective(Operation::Allreduce, algorithm, &[&ranks], size).round(&sites()).unwrap();
            let own = (0..n).map(|rank| vec![1 << rank; size as usize]).collect();
            for buffer in carried_out(&moves, &ranks, own) {
                prop_assert!(buffer.iter().all(|byte| *byte == (1 << n) - 1));
            }
            let bytes: u64 = moves.iter().map(|each| each.size.get()).sum();
            if algorithm != Algorithm::Hierarchical {
                prop_assert_eq!(bytes, 2 * (n as u64 - 1) * size);
            }
        }

        #[test]
        fn halves_of_an_allreduce_give_and_take_a_chunk_each(n in 2_usize..=8, direct in any::<bool>()) {
            let algorithm = if direct { Algorithm::Direct } else { Algorithm::Ring };
            let (ranks, size) = (Vec::from_iter(0..n as u32), 3 * n + 1);
            let of = |operation| collective(operation, algorithm, &[&ranks], size as u64).round(&sites()).unwrap();
            let own = (0..n).map(|rank| vec![1 << rank; size]).collect();
            let scattered = carried_out(&of(Operation::ReduceScatter), &ranks, own);
            let whole = |buffer: &Vec<u16>| buffer.iter().map(|byte| u16::from(*byte == (1 << n) - 1)).collect();
            let whole: Vec<Vec<u16>> = scattered.iter().map(whole).collect();
            for byte in 0..size {
                prop_assert_eq!(whole.iter().map(|buffer| buffer[byte]).sum::<u16>(), 1, "each byte at one rank");
            }
            let gathered = carried_out(&of(Operation::AllGather), &ranks, whole);
            prop_assert!(gathered.iter().flatten().all(|byte| *byte == 1));
        }

        #[test]
        fn no_iteration_waits_for_itself(
            n in 2_usize..=8, iterations in 1_u32..4, barrier in any::<bool>(), operation in 0_usize..4,
        ) {
            let ranks = Vec::from_iter(0..n as u32);
            let mut c = collective(ALL[operation], Algorithm::Ring, &[&ranks, &[9, 3]], 100);
            (c.iterations, c.barrier) = (iterations, barrier);
            let part = c.part("c", 0, Time::ZERO, &sites()).unwrap();
            prop_assert_eq!(crate::trigger::stuck(part.flows.len(), &part.triggers), None);
            let mut targets: Vec<u32> = part.triggers.iter().flat_map(|t| t.targets.clone()).collect();
            targets.sort_unstable();
            prop_assert!(targets.windows(2).all(|pair| pair[0] < pair[1]), "one trigger starts a flow");
            prop_assert!(part.triggers.iter().all(|t| t.finished.is_sorted() && t.delivered.is_sorted()));
        }
    }
}

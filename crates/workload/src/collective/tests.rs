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
fn in_a_pipeline_a_rank_sends_its_successor_what_it_sends_in_a_ring() {
    let ranks = [1, 9, 3, 11];
    for operation in [Operation::Allreduce, Operation::ReduceScatter, Operation::AllGather] {
        let ring = ring(operation, &ranks).round(&sites()).unwrap();
        let pipeline = collective(operation, Algorithm::Pipeline, &[&ranks], 1000);
        let moves = pipeline.round(&sites()).unwrap();
        assert_eq!((moves.len() as u64, pipeline.messages(&sites())), (4, 4));
        for each in &moves {
            let same = ring.iter().filter(|other| (other.src, other.dst) == (each.src, each.dst));
            assert_eq!(each.size.get(), same.map(|other| other.size.get()).sum::<u64>(), "{operation:?}");
            assert!(each.after.is_empty());
        }
    }
    let error = collective(Operation::AllToAll, Algorithm::Pipeline, &[&ranks], 1000).round(&sites());
    assert_eq!(error, Err(CollectiveError::NothingToPassOn));
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
    assert_eq!(moves.iter().map(|each| each.stage).collect::<Vec<_>>(), [0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1]);
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
            moves.into_iter().map(|each| (each.stage, each.src, each.size, each.after)).collect::<Vec<_>>()
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
    let stages: BTreeSet<u32> = moves.iter().filter(|each| crosses(each)).map(|each| each.stage).collect();
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
        let own = |of: fn(&Flow) -> HostId| (0..6).filter(|i| of(&part.flows[*i as usize]) == rank).collect();
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
    assert!(message(uneven).contains("[2, 1] per site"));
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
                assert_eq!(twice.messages(&sites()), 2 * moves.len() as u64, "{operation:?} {algorithm:?}");
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

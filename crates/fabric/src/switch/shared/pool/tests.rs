use super::super::pause::LosslessLinks;
use super::*;
use alloc::string::ToString;
use alloc::vec;
use alloc::vec::Vec;
use proptest::prelude::*;

const MTU: Bytes = Bytes::new(1000);

fn ingress(tier: Tier) -> Ingress {
    let (rate, delay) = (Rate::from_gbps(100), Duration::from_ns(80));
    Ingress { tier, rate, delay, back_rate: rate, back_delay: delay, jitter: Duration::ZERO, mtu: MTU }
}

fn pause(headroom: u64) -> PauseConfig {
    PauseConfig {
        links: LosslessLinks::InsideSites,
        resume_offset: MTU,
        headroom: Some(Bytes::new(headroom)),
    }
}

fn config(size: u64, alpha: f64, reserve: u64, pause: Option<PauseConfig>) -> PoolConfig {
    PoolConfig {
        size: Bytes::new(size),
        alpha,
        reserve: Bytes::new(reserve),
        accounts: Accounts::Ingress,
        switches: Pooled::All,
        pause,
    }
}

/// How many packets an account takes before one is refused.
fn fill(pool: &mut Pool, account: usize) -> usize {
    (0..).take_while(|_| pool.admit(account, MTU) != Verdict::Refused).count()
}

#[test]
fn an_account_takes_its_reserve_then_alpha_times_what_is_free() {
    // Two accounts with 2,000 B of their own share 12,000 B.
    let mut pool = Pool::new(&config(16_000, 1.0, 2000, None), &[ingress(Tier::Fabric); 2]).unwrap();
    // 2 in reserve, and k in the shared part while k <= 12 - (k - 1).
    assert_eq!(fill(&mut pool, 0), 2 + 6);
    // The other: 2, and k while k <= 6 - (k - 1).
    assert_eq!(fill(&mut pool, 1), 2 + 3);
    pool.release(0, MTU);
    // Five and three of twelve are taken: one more each.
    assert_eq!(fill(&mut pool, 1), 1);
}

#[test]
fn alpha_is_a_factor_and_never_takes_more_than_there_is() {
    let taken = |alpha| {
        let mut pool = Pool::new(&config(12_000, alpha, 0, None), &[ingress(Tier::Fabric)]).unwrap();
        fill(&mut pool, 0)
    };
    // k <= alpha (12 - (k - 1)).
    assert_eq!([0.25, 0.5, 1.0, 2.0, 64.0].map(taken), [2, 4, 6, 8, 12]);
}

#[test]
fn headroom_takes_what_comes_above_the_threshold_and_only_over_lossless_links() {
    let links = [ingress(Tier::Fabric), ingress(Tier::Wan)];
    let mut pool = Pool::new(&config(15_000, 1.0, 0, Some(pause(3000))), &links).unwrap();
    // 12 shared; the link between sites is lossy, and has no headroom.
    assert_eq!(fill(&mut pool, 0), 6 + 3);
    assert_eq!(fill(&mut pool, 1), 3);
    assert_eq!(pool.held(), MTU * 12);
}

#[test]
fn a_neighbour_is_paused_once_at_its_threshold_and_goes_on_below_it_by_the_offset() {
    let mut pool =
        Pool::new(&config(13_000, 1.0, 1000, Some(pause(2000))), &[ingress(Tier::Fabric)]).unwrap();
    let paused: Vec<_> = (0..8).map(|_| pool.admit(0, MTU) == Verdict::Pauses).collect();
    // 10 shared: with five of them taken, five are the threshold. One more was in reserve.
    assert_eq!(paused.iter().position(|paused| *paused), Some(5));
    assert_eq!(paused.iter().filter(|paused| **paused).count(), 1, "once");
    assert!(pool.has_paused(0));
    let resumed: Vec<_> = (0..4).map(|_| (pool.release(0, MTU), pool.resumes(0)).1).collect();
    // Two leave the headroom; then 5 taken of 10, then 4 + 1 <= 6.
    assert_eq!(resumed, [false, false, true, false]);
    assert!(!pool.has_paused(0));
}

#[test]
fn a_neighbour_with_nothing_in_the_shared_part_goes_on_however_full_that_is() {
    let links = [ingress(Tier::Fabric); 2];
    let mut pool = Pool::new(&config(10_000, 64.0, 1000, Some(pause(2000))), &links).unwrap();
    // All of the shared part, and headroom.
    assert_eq!(fill(&mut pool, 0), 1 + 4 + 2);
    assert_eq!(pool.admit(1, MTU), Verdict::Admitted, "its reserve is its own");
    assert_eq!(pool.admit(1, MTU), Verdict::Pauses, "this one is in headroom");
    pool.release(1, MTU);
    assert!(pool.resumes(1), "one is left, in reserve");
}

#[test]
fn a_lossy_link_is_never_paused() {
    let mut pool = Pool::new(&config(4000, 1.0, 0, Some(pause(3000))), &[ingress(Tier::Wan)]).unwrap();
    let verdicts: Vec<_> = (0..4).map(|_| pool.admit(0, MTU)).collect();
    assert_eq!(verdicts, [Verdict::Admitted, Verdict::Admitted, Verdict::Refused, Verdict::Refused]);
}

#[test]
fn headroom_holds_a_round_of_the_link_and_three_packets_and_two_frames() {
    // 80 ns at 100 Gb/s are a packet of 1,000 B.
    let link = ingress(Tier::Fabric);
    assert_eq!(link.headroom(), Bytes::new(2 * 1000 + 3 * 1000 + 128));
    let jitter = Duration::from_ns(40);
    assert_eq!(Ingress { jitter, ..link }.headroom(), Bytes::new(5628));
    let slow_back = Ingress { back_rate: Rate::from_gbps(10), ..link };
    assert_eq!(slow_back.headroom(), Bytes::new(2 * 1000 + 2 * 1000 + 10 * 1128));
    let delay = Duration::from_us(8);
    assert_eq!(
        Ingress { delay, back_delay: delay, ..link }.headroom(),
        Bytes::new(300_000),
        "three times the way"
    );
}

#[test]
fn a_pool_that_its_links_leave_nothing_of_is_refused_with_a_cure() {
    let of = |config: PoolConfig, links: usize| config.shared(&vec![ingress(Tier::Fabric); links]);
    assert_eq!(of(config(10_000, 1.0, 1000, Some(pause(2000))), 3), Ok(Bytes::new(1000)));
    let error = of(config(9_000, 1.0, 1000, Some(pause(2000))), 3).unwrap_err();
    assert!(
        error.to_string().contains("6000B of headroom and 3000B in reserve for 3 links leave 0B to share"),
        "{error}"
    );
    assert!(of(config(10_000, 0.01, 0, None), 1).is_err(), "an account could take no packet");
}

/// An event at a pool: a packet over a link, or the departure of one of those that are there.
#[derive(Clone, Copy, Debug)]
enum Step {
    Arrive(usize, u64),
    Leave(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let arrive = (0..4_usize, 1..=1000_u64).prop_map(|(account, size)| Step::Arrive(account, size));
    let leave = (0..1000_usize).prop_map(Step::Leave);
    prop::collection::vec(prop_oneof![3 => arrive, 2 => leave], 0..400)
}

proptest! {
    #[test]
    fn a_pool_holds_what_was_admitted_and_has_not_left_and_no_part_of_it_overflows(
        steps in steps(),
        (size, alpha, reserve) in (16_000..60_000_u64, 0.1..8.0, 0..2000_u64),
        headroom in 0..2000_u64,
    ) {
        let links = [Tier::Fabric, Tier::HostUp, Tier::Border, Tier::Wan].map(ingress);
        let config = config(size, alpha, reserve.max(1000), Some(pause(headroom)));
        let Ok(mut pool) = Pool::new(&config, &links) else { return Ok(()) };
        let (mut here, mut paused): (Vec<(usize, u64)>, _) = (Vec::new(), [false; 4]);
        for step in steps {
            match step {
                Step::Arrive(account, size) => {
                    let verdict = pool.admit(account, Bytes::new(size));
                    if verdict != Verdict::Refused {
                        here.push((account, size));
                    }
                    let pauses = verdict == Verdict::Pauses;
                    prop_assert!(!(pauses && paused[account]), "a pause comes once");
                    paused[account] |= pauses;
                }
                Step::Leave(n) if !here.is_empty() => {
                    let (account, size) = here.swap_remove(n % here.len());
                    pool.release(account, Bytes::new(size));
                    let resumes = pool.resumes(account);
                    prop_assert!(!resumes || paused[account], "what is not paused does not go on");
                    paused[account] &= !resumes;
                }
                Step::Leave(_) => {}
            }
            prop_assert_eq!(pool.held().get(), here.iter().map(|(_, size)| size).sum::<u64>());
            let taken = |account: &Account| account.held.saturating_sub(pool.reserve);
            prop_assert_eq!(pool.used, pool.accounts.iter().map(taken).sum::<u64>());
            prop_assert!(pool.used <= pool.shared && pool.held() <= config.size);
            for (account, paused) in pool.accounts.iter().zip(paused) {
                prop_assert!(account.in_headroom <= account.headroom);
                prop_assert!(account.in_headroom == 0 || paused, "headroom is for what comes after a pause");
                prop_assert!(!paused || account.is_lossless, "lossy links are never paused");
            }
        }
        for (account, size) in here.drain(..) {
            pool.release(account, Bytes::new(size));
            let resumes = pool.resumes(account);
            paused[account] &= !resumes;
        }
        prop_assert_eq!((pool.held(), pool.used, paused), (Bytes::ZERO, 0, [false; 4]), "every pause ends");
    }
}

#[test]
fn accounts_that_fill_one_after_another_take_the_most_that_they_can() {
    for alpha in [0.125, 1.0, 8.0] {
        let config = config(400_000, alpha, 2000, None);
        let mut pool = Pool::new(&config, &[ingress(Tier::Fabric); 4]).unwrap();
        for account in 0..4 {
            fill(&mut pool, account);
        }
        let most = config.most_held(4, MTU);
        assert!(pool.held() <= most && pool.held() + MTU * 8 >= most, "{alpha}: {} of {most}", pool.held());
    }
    assert_eq!(config(400_000, 1.0, 0, Some(pause(3000))).most_held(1, MTU), Bytes::new(400_000));
}

proptest! {
    #[test]
    fn accounts_hold_no_more_than_the_most(
        alpha in 0.01..8.0_f64,
        moves in proptest::collection::vec((0..3_usize, any::<bool>(), 1..40_usize), 1..60),
    ) {
        let config = config(100_000, alpha, 1500, None);
        let mut pool = Pool::new(&config, &[ingress(Tier::Fabric); 3]).unwrap();
        let mut held = [0; 3];
        for (account, takes, count) in moves {
            for _ in 0..count {
                if takes {
                    held[account] += usize::from(pool.admit(account, MTU) != Verdict::Refused);
                } else if held[account] > 0 {
                    held[account] -= 1;
                    pool.release(account, MTU);
                }
            }
            prop_assert!(pool.held() <= config.most_held(3, MTU));
        }
    }
}

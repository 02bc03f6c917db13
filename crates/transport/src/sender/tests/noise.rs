//! RTT samples with something on top.

use super::*;

/// The round trip of the path.
const RTT: Duration = Duration::from_us(20);
/// The largest extra.
const NOISE: Duration = Duration::from_us(40);

/// The samples that the control saw, one packet after the other, and the bench.
fn samples(setup: Setup, packets: u32) -> (Vec<Duration>, Bench) {
    let mut bench = Bench::new(Setup { size: mss(u64::from(packets) + 1), cwnd: mss(1), ..setup });
    let mut now = us(0);
    let samples = (0..packets).map(|seq| {
        bench.send(now);
        let sent_at = now;
        now += RTT;
        bench.ack_up_to(now, seq, sent_at, seq + 1);
        bench.last_ack().rtt
    });
    (samples.collect(), bench)
}

#[test]
fn samples_have_half_of_the_noise_on_top_in_the_mean_and_all_of_it_at_most() {
    let (samples, _) = samples(Setup { rtt_noise: NOISE, ..Setup::default() }, 10_000);
    assert!(samples.iter().all(|&rtt| rtt >= RTT && rtt <= RTT + NOISE));
    let mean = samples.iter().map(|rtt| rtt.as_secs_f64()).sum::<f64>() / samples.len() as f64;
    // The mean of 10,000 uniform draws of 40 us deviates by 0.12 us.
    assert!((mean - (RTT + NOISE / 2).as_secs_f64()).abs() < 0.6e-6, "{mean} s");
    let (least, most) = (samples.iter().min().unwrap(), samples.iter().max().unwrap());
    assert!(*least < RTT + Duration::from_ns(100) && *most > RTT + NOISE - Duration::from_ns(100));
}

#[test]
fn without_noise_samples_are_round_trips_and_nothing_is_kept_for_it() {
    let (samples, bench) = samples(Setup::default(), 100);
    assert!(samples.iter().all(|&rtt| rtt == RTT));
    assert!(bench.sender.cold.is_none());
}

#[test]
fn the_nth_sample_is_the_same_whatever_the_scheme_and_the_round_trip() {
    let noisy = |setup| samples(Setup { rtt_noise: NOISE, ..setup }, 50).0;
    let plain = noisy(Setup::default());
    assert_eq!(plain, noisy(Setup { policy: RecoveryPolicy::Rack, send_record: true, ..Setup::default() }));
    let draws = Random::new(1, Purpose::RttNoise, 1);
    let extra = |n| (u128::from(draws.at(n)) * u128::from(NOISE.as_ps() + 1)) >> 64;
    let expected: Vec<_> = (0..50).map(|n| RTT + Duration::from_ps(extra(n) as u64)).collect();
    assert_eq!(plain, expected);
}

#[test]
fn the_smoothed_round_trip_and_the_time_out_follow_the_samples() {
    let rto = Rto::Rfc6298 { initial: RTO, variance_floor: Duration::from_ps(1), min: Duration::from_us(1) };
    let after = |rtt_noise| {
        let (samples, bench) = samples(Setup { rtt_noise, rto, ..Setup::default() }, 200);
        let mut estimate = crate::recovery::RttEstimate::default();
        samples.iter().for_each(|&rtt| estimate.update(rtt));
        assert_eq!(bench.sender.srtt.get(), estimate.srtt());
        let time_out = bench.sender.rto_policy().rto;
        assert_eq!(time_out, estimate.rto(Duration::from_ps(1), Duration::from_us(1)));
        time_out
    };
    assert!(after(NOISE) > after(Duration::ZERO) + NOISE / 2);
}

#[test]
fn rack_waits_as_long_as_the_sample_says() {
    for rtt_noise in [Duration::ZERO, NOISE] {
        let policy = RecoveryPolicy::Rack;
        let mut bench =
            Bench::new(Setup { rtt_noise, policy, rto: Rto::Fixed(RTO * 10), ..Setup::default() });
        for at in 0..2 {
            bench.sender.send(us(at));
        }
        bench.ack(us(21), 1, us(1));
        let rtt = bench.last_ack().rtt;
        assert_eq!(rtt == RTT, rtt_noise.is_zero());
        // Packet 0 is lost a round trip after it left, and a quarter of the smallest.
        assert_eq!(bench.sender.deadline(us(21)), us(0) + rtt + rtt / 4);
    }
}

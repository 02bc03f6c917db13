//! Counter-based randomness.
//!
//! A draw is a pure function of (seed, purpose, entity, counter): no stream is shared, so one more draw somewhere
//! changes nothing elsewhere, whatever order things happen in. Purposes keep the draws of one seed apart: workload,
//! hash and loss draws never depend on the scheme, so that runs of two schemes with one seed are paired.

/// The purpose of a draw. The numbers are frozen: changing one changes every result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
#[repr(u64)]
pub enum Purpose {
    /// Times between arrivals; entity: (workload part, source host).
    Arrival = 1,
    /// Flow sizes; entity: (workload part, source host).
    Size = 2,
    /// Destinations and intra or inter choices; entity: (workload part, source host).
    Destination = 3,
    /// Permutations and other one-off choices of a pattern; entity: workload part.
    Pattern = 4,
    /// ECMP salts; entity: the hash of the switch's name.
    Ecmp = 5,
    /// Marking decisions; entity: port.
    Mark = 6,
    /// Send jitter; entity: host.
    Jitter = 7,
    /// Path selection; entity: flow.
    Balance = 8,
    /// Congestion control; entity: flow.
    Congestion = 9,
    /// Loss processes; entity: link.
    Loss = 10,
    /// Coin of a trimming queue; entity: port.
    Trim = 11,
    /// Resampling in statistics; entity: statistic.
    Bootstrap = 12,
    /// Entropies of ACKs and other control packets; entity: flow.
    Control = 13,
    /// Test inputs.
    Test = 14,
    /// Random points of a sweep; entity: the key that is drawn.
    Sweep = 15,
    /// Links that have a fault; entity: the fault's number.
    Fault = 16,
    /// How long a proxy takes over a packet; entity: host. Which hosts are proxies, if that is drawn; entity: incast.
    Proxy = 17,
    /// Extras of RTT samples; entity: flow.
    RttNoise = 18,
}

/// One round of a 64-bit finaliser (David Stafford's variant 13 of MurmurHash3's, as in SplitMix64).
#[must_use]
pub const fn mix(mut x: u64) -> u64 {
    x = (x ^ (x >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ (x >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ (x >> 31)
}

/// The golden-ratio increment of SplitMix64: successive counters land far apart.
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

/// Hashes a name into an entity number (FNV-1a, then [`mix`]).
#[must_use]
pub const fn entity(name: &str) -> u64 {
    let bytes = name.as_bytes();
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut i = 0;
    while i < bytes.len() {
        hash = (hash ^ bytes[i] as u64).wrapping_mul(0x0000_0100_0000_01b3);
        i += 1;
    }
    mix(hash)
}

/// The draws of one (seed, purpose, entity), numbered by its own counter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Random {
    key: u64,
    counter: u64,
}

impl Random {
    /// The draws of `entity` for `purpose` under `seed`.
    #[must_use]
    pub const fn new(seed: u64, purpose: Purpose, entity: u64) -> Self {
        let key = mix(mix(mix(seed.wrapping_add(GOLDEN)) ^ (purpose as u64).wrapping_mul(GOLDEN))
            ^ entity.wrapping_mul(GOLDEN));
        Self { key, counter: 0 }
    }

    /// The draw with a given number, whatever was drawn before.
    #[must_use]
    pub const fn at(&self, counter: u64) -> u64 {
        mix(self.key.wrapping_add(counter.wrapping_mul(GOLDEN)))
    }

    /// The next 64 bits.
    pub const fn bits(&mut self) -> u64 {
        let x = self.at(self.counter);
        self.counter += 1;
        x
    }

    /// Uniform in `0..n` (0 if `n` is 0), by multiplication: the bias is below n / 2^64.
    pub const fn below(&mut self, n: u64) -> u64 {
        ((self.bits() as u128 * n as u128) >> 64) as u64
    }

    /// Uniform in [0, 1), a multiple of 2^-53.
    pub const fn uniform(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1_u64 << 53) as f64)
    }

    /// Exponentially distributed with mean 1, by inversion.
    pub fn exponential(&mut self) -> f64 {
        -libm::log1p(-self.uniform())
    }

    /// A uniformly random order of `items` (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            let j = self.below(i as u64 + 1) as usize;
            items.swap(i, j);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn stream(entity: u64) -> Random {
        Random::new(7, Purpose::Test, entity)
    }

    #[test]
    fn draws_are_frozen() {
        let mut r = Random::new(1, Purpose::Arrival, 0);
        let first: Vec<u64> = (0..3).map(|_| r.bits()).collect();
        assert_eq!(
            first,
            [0xe138d2250316cdcf, 0x0b76709ead0826f0, 0x4f7fabd7ed2f82ad],
            "results of every release depend on these numbers"
        );
    }

    #[test]
    fn seeds_purposes_and_entities_are_kept_apart() {
        let base = Random::new(1, Purpose::Arrival, 0).at(0);
        assert_ne!(base, Random::new(2, Purpose::Arrival, 0).at(0));
        assert_ne!(base, Random::new(1, Purpose::Size, 0).at(0));
        assert_ne!(base, Random::new(1, Purpose::Arrival, 1).at(0));
        assert_ne!(base, Random::new(1, Purpose::Arrival, 0).at(1));
    }

    #[test]
    fn uniform_draws_have_the_moments_of_a_uniform_distribution() {
        let mut r = stream(0);
        let n = 200_000;
        let draws: Vec<f64> = (0..n).map(|_| r.uniform()).collect();
        let mean = draws.iter().sum::<f64>() / f64::from(n);
        let variance = draws.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / f64::from(n);
        assert!((mean - 0.5).abs() < 3.0 * (1.0 / 12.0_f64 / f64::from(n)).sqrt(), "{mean}");
        assert!((variance - 1.0 / 12.0).abs() < 0.001, "{variance}");
    }

    #[test]
    fn exponential_draws_have_mean_one() {
        let mut r = stream(1);
        let n = 200_000;
        let mean = (0..n).map(|_| r.exponential()).sum::<f64>() / f64::from(n);
        assert!((mean - 1.0).abs() < 3.0 / f64::from(n).sqrt(), "{mean}");
    }

    #[test]
    fn below_is_even_over_a_range_that_is_not_a_power_of_two() {
        let mut r = stream(2);
        let mut counts = [0_u32; 10];
        for _ in 0..100_000 {
            counts[r.below(10) as usize] += 1;
        }
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 27.9, "chi-squared {chi2} with 9 degrees of freedom: p < 0.001");
    }

    #[test]
    fn a_shuffle_keeps_every_item() {
        let mut items: Vec<u32> = (0..100).collect();
        stream(3).shuffle(&mut items);
        assert_ne!(items, (0..100).collect::<Vec<_>>());
        items.sort_unstable();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }
}

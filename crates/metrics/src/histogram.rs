//! A histogram of integers in buckets of about 3%.

use crate::Quantile;

/// Bits of a value that tell buckets of one octave apart: 32 buckets an octave, each at most 1/32 wide.
const BITS: u32 = 5;
/// Buckets in an octave.
const STEPS: u64 = 1 << BITS;

/// Weights of values in logarithmic buckets: exact below 32, then 32 buckets an octave (3.1%). Integers only, so that
/// merging in any order gives the same histogram. Weights are counts, or picoseconds for time-weighted quantiles.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct LogHistogram {
    weights: Vec<u64>,
    total: u64,
}

impl LogHistogram {
    /// An empty histogram.
    #[must_use]
    pub const fn new() -> Self {
        Self { weights: Vec::new(), total: 0 }
    }

    /// Adds `weight` to the bucket of `value`.
    pub fn record(&mut self, value: u64, weight: u64) {
        let bucket = bucket(value);
        if bucket >= self.weights.len() {
            self.weights.resize(bucket + 1, 0);
        }
        self.weights[bucket] += weight;
        self.total += weight;
    }

    /// Adds all weights of another histogram.
    pub fn merge(&mut self, other: &Self) {
        if other.weights.len() > self.weights.len() {
            self.weights.resize(other.weights.len(), 0);
        }
        for (mine, theirs) in self.weights.iter_mut().zip(&other.weights) {
            *mine += theirs;
        }
        self.total += other.total;
    }

    /// The sum of all weights.
    #[must_use]
    pub const fn total(&self) -> u64 {
        self.total
    }

    /// The quantile by nearest rank over the weights: the largest value of its bucket, at most 1/32 too large. `None`
    /// if nothing was recorded.
    #[must_use]
    pub fn quantile(&self, q: Quantile) -> Option<u64> {
        let rank = q.rank(self.total);
        let mut below = 0;
        let found = self.weights.iter().position(|weight| {
            below += weight;
            below >= rank
        });
        found.map(largest)
    }
}

/// The bucket of a value.
fn bucket(value: u64) -> usize {
    if value < STEPS {
        return value as usize;
    }
    let octave = value.ilog2() - BITS;
    let step = (value >> octave) - STEPS;
    ((u64::from(octave) + 1) * STEPS + step) as usize
}

/// The largest value of a bucket.
fn largest(bucket: usize) -> u64 {
    let bucket = bucket as u64;
    if bucket < STEPS {
        return bucket;
    }
    let (octave, step) = (bucket / STEPS - 1, bucket % STEPS);
    let next = u128::from(STEPS + step + 1) << octave;
    u64::try_from(next - 1).expect("the last bucket ends at the largest integer")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_values_are_exact() {
        let mut h = LogHistogram::new();
        (0..32).for_each(|v| h.record(v, 1));
        assert_eq!(h.quantile(Quantile::P50), Some(15));
        assert_eq!(h.quantile(Quantile::P99), Some(31));
        assert_eq!(LogHistogram::new().quantile(Quantile::P50), None);
    }

    #[test]
    fn quantiles_are_by_weight() {
        let mut h = LogHistogram::new();
        h.record(3, 989);
        h.record(1_000_000, 11);
        assert_eq!(h.quantile(Quantile::P50), Some(3));
        let p99 = h.quantile(Quantile::P99).unwrap();
        assert!((1_000_000..1_032_000).contains(&p99), "{p99}");
    }

    proptest! {
        #[test]
        fn a_value_lies_in_its_bucket_and_at_most_a_32nd_below_its_end(value in any::<u64>(), shift in 0_u32..64) {
            let value = value >> shift;
            let end = largest(bucket(value));
            prop_assert!(end >= value && end - value <= value / 32, "{value} {end}");
            prop_assert!(bucket(value) == 0 || largest(bucket(value) - 1) < value);
        }

        #[test]
        fn merging_is_recording_together(
            a in prop::collection::vec((any::<u64>(), 0_u64..100), 0..30),
            b in prop::collection::vec((any::<u64>(), 0_u64..100), 0..30),
        ) {
            let of = |values: &[(u64, u64)]| {
                let mut h = LogHistogram::new();
                values.iter().for_each(|(v, w)| h.record(*v, *w));
                h
            };
            let mut merged = of(&a);
            merged.merge(&of(&b));
            prop_assert_eq!(merged, of(&[a, b].concat()));
        }
    }
}

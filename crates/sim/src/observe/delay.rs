//! A histogram of delays: logarithmic buckets of about 3%.

use crate::outcome::Rtt;
use farspan_units::Duration;

/// Sub-buckets of each power of two, as a power of two.
const SUB_BITS: u32 = 5;

/// Counts of delays in nanoseconds.
#[derive(Clone, Debug, Default)]
pub struct DelayHistogram {
    counts: Vec<u64>,
}

impl DelayHistogram {
    #[inline]
    fn bucket(ns: u64) -> usize {
        if ns < 1 << SUB_BITS {
            return ns as usize;
        }
        let exponent = 63 - ns.leading_zeros() - SUB_BITS;
        ((exponent as usize + 1) << SUB_BITS) + ((ns >> exponent) as usize & ((1 << SUB_BITS) - 1))
    }

    /// The largest delay that falls into a bucket.
    fn top(bucket: usize) -> u64 {
        if bucket < 1 << SUB_BITS {
            return bucket as u64;
        }
        let exponent = (bucket >> SUB_BITS) - 1;
        let sub = (bucket & ((1 << SUB_BITS) - 1)) as u64 + (1 << SUB_BITS);
        ((sub + 1) << exponent) - 1
    }

    /// Counts a delay.
    #[inline]
    pub fn add(&mut self, delay: Duration) {
        let bucket = Self::bucket(delay.as_ns());
        match self.counts.get_mut(bucket) {
            Some(count) => *count += 1,
            None => self.grow(bucket),
        }
    }

    /// Makes room for the first count of a bucket.
    #[cold]
    fn grow(&mut self, bucket: usize) {
        self.counts.resize(bucket + 1, 0);
        self.counts[bucket] = 1;
    }

    /// The counts of all.
    pub(crate) fn sum<'a>(parts: impl IntoIterator<Item = &'a Self>) -> Self {
        parts.into_iter().fold(Self::default(), |mut sum, part| {
            sum.merge(part);
            sum
        })
    }

    /// Round trips, if any was counted.
    pub(crate) fn rtt(&self) -> Option<Rtt> {
        Some(Rtt { p50: self.quantile(0.5)?, p99: self.quantile(0.99)?, max: self.quantile(1.0)? })
    }

    fn merge(&mut self, other: &Self) {
        if other.counts.len() > self.counts.len() {
            self.counts.resize(other.counts.len(), 0);
        }
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
    }

    /// The nearest-rank quantile, as the top of its bucket; `None` without counts.
    #[must_use]
    pub fn quantile(&self, q: f64) -> Option<Duration> {
        let total: u64 = self.counts.iter().sum();
        let rank = ((total as f64 * q).ceil() as u64).max(1);
        let mut seen = 0;
        let bucket = self.counts.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Duration::from_ns(Self::top(bucket)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_within_a_bucket_of_the_exact_ones() {
        let mut h = DelayHistogram::default();
        for ns in 1..=100_000 {
            h.add(Duration::from_ns(ns));
        }
        for q in [0.01, 0.5, 0.9, 0.99] {
            let (got, exact) = (h.quantile(q).unwrap().as_ns() as f64, q * 1e5);
            assert!(got >= exact && got <= exact * 1.035, "{q}: {got} against {exact}");
        }
        assert_eq!(DelayHistogram::default().quantile(0.5), None);
    }

    #[test]
    fn buckets_are_contiguous() {
        for ns in 0..10_000 {
            let b = DelayHistogram::bucket(ns);
            assert!(ns <= DelayHistogram::top(b) && (b == 0 || ns > DelayHistogram::top(b - 1)), "{ns}");
        }
    }

    #[test]
    fn merging_adds_counts() {
        let (mut a, mut b) = (DelayHistogram::default(), DelayHistogram::default());
        a.add(Duration::from_ns(1));
        b.add(Duration::from_us(1));
        a.merge(&b);
        assert_eq!(a.quantile(0.5), Some(Duration::from_ns(1)));
        assert!(a.quantile(1.0) >= Some(Duration::from_us(1)));
    }
}

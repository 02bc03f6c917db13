//! The constants of a phantom queue on a port of Linux, as the program reads them.

use farspan_units::{Bytes, Duration, Rate};

/// A phantom queue: a counter that fills with what leaves and drains at a fraction of the link's rate, and RED on it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PhantomQueue {
    rate: Rate,
    drain: Rate,
    size: Bytes,
    k_min: Bytes,
    k_max: Bytes,
}

/// Why numbers make no phantom queue.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum PhantomError {
    /// The drain is no fraction of the rate.
    #[error("--drain {drain}: expected a fraction of the rate, above 0 and at most 1, such as 0.9")]
    Drain {
        /// The fraction that was asked for.
        drain: f64,
    },
    /// The drain rate is out of the program's range.
    #[error("--rate {rate}, drained at {drain} bit/s: expected 100 kbit/s to 10 Tbit/s", rate = rate.as_bps(), drain = drain.as_bps())]
    Rate {
        /// The link's rate.
        rate: Rate,
        /// The rate at which the counter would drain.
        drain: Rate,
    },
    /// The thresholds are not in order.
    #[error(
        "--k-min {} and --k-max {}: expected k-min below or at k-max, and k-max above 0", k_min.get(), k_max.get()
    )]
    Thresholds {
        /// Up to here no packet is marked.
        k_min: Bytes,
        /// Above here each one is.
        k_max: Bytes,
    },
    /// One threshold is given without the other.
    #[error("--k-min and --k-max come together: give both, or neither")]
    OneThreshold,
    /// The counter would take too long to drain.
    #[error("a counter of {} bytes takes more than an hour to drain: choose a smaller --k-max", size.get())]
    TooLarge {
        /// Where the counter saturates.
        size: Bytes,
    },
}

impl PhantomQueue {
    /// Uno drains at this fraction of the link (Uno section 5.1).
    pub const DRAIN: f64 = 0.9;
    /// Uno's thresholds are these fractions of the counter (Uno section 5.1).
    const THRESHOLDS: (f64, f64) = (0.25, 0.75);
    /// Without thresholds, the counter holds what the link sends in Uno's RTT between datacenters.
    const RTT: Duration = Duration::from_ms(2);

    /// The phantom queue of a link of this rate. The counter saturates at 4/3 of `k_max`, as Uno's does; without thresholds it holds what the link
    /// sends in 2 ms.
    ///
    /// # Errors
    /// If the numbers make no phantom queue.
    pub fn new(rate: Rate, drain: f64, thresholds: Option<(Bytes, Bytes)>) -> Result<Self, PhantomError> {
        if !(drain > 0.0 && drain <= 1.0) {
            return Err(PhantomError::Drain { drain });
        }
        let drain = rate.mul_f64(drain);
        if !(100_000..=10_000_000_000_000).contains(&drain.as_bps()) {
            return Err(PhantomError::Rate { rate, drain });
        }
        let (low, high) = Self::THRESHOLDS;
        let by_default = rate.bytes_in(Self::RTT);
        let (k_min, k_max) =
            thresholds.unwrap_or_else(|| (by_default.mul_f64(low), by_default.mul_f64(high)));
        if k_min > k_max || k_max.is_zero() {
            return Err(PhantomError::Thresholds { k_min, k_max });
        }
        let size = if thresholds.is_some() { k_max.mul_f64(1.0 / high) } else { by_default };
        let queue = Self { rate, drain, size, k_min, k_max };
        if u128::from(size.get()) * 8 > u128::from(queue.drain.as_bps()) * 3600 {
            return Err(PhantomError::TooLarge { size });
        }
        Ok(queue)
    }

    /// The link's rate.
    #[must_use]
    pub const fn rate(&self) -> Rate {
        self.rate
    }

    /// The rate at which the counter drains.
    #[must_use]
    pub const fn drain(&self) -> Rate {
        self.drain
    }

    /// Where the counter saturates.
    #[must_use]
    pub const fn size(&self) -> Bytes {
        self.size
    }

    /// Up to here no packet is marked.
    #[must_use]
    pub const fn k_min(&self) -> Bytes {
        self.k_min
    }

    /// Above here each packet is marked.
    #[must_use]
    pub const fn k_max(&self) -> Bytes {
        self.k_max
    }

    /// The program's variables and their values.
    #[must_use]
    pub fn variables(&self) -> [(&'static str, u64); 12] {
        // As the simulator's ports have it: a byte's time in 2^-32 ps.
        let byte_time = (8_000_000_000_000_u128 << 32) / u128::from(self.drain.as_bps().max(1));
        let time = |bytes: Bytes| self.drain.transmission(bytes).as_ps();
        let (low, high) = (time(self.k_min), time(self.k_max));
        let width = high - low;
        let shift = u64::BITS.saturating_sub(width.leading_zeros()).saturating_sub(u32::BITS);
        [
            ("byte_time_ps", (byte_time >> 32) as u64),
            ("byte_time_fraction", byte_time as u64 & u64::from(u32::MAX)),
            ("full_ps", time(self.size)),
            ("min_ps", low),
            ("max_ps", high),
            ("ramp_width", width >> shift),
            ("ramp_shift", u64::from(shift)),
            ("rate_bps", self.rate.as_bps()),
            ("drain_bps", self.drain.as_bps()),
            ("size_bytes", self.size.get()),
            ("min_bytes", self.k_min.get()),
            ("max_bytes", self.k_max.get()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue(rate: &str, drain: f64, k: Option<(u64, u64)>) -> Result<PhantomQueue, PhantomError> {
        let thresholds = k.map(|(low, high)| (Bytes::new(low), Bytes::new(high)));
        PhantomQueue::new(rate.parse().unwrap(), drain, thresholds)
    }

    #[test]
    fn without_thresholds_the_counter_is_unos() {
        let queue = queue("1Gbps", 0.9, None).unwrap();
        let numbers = [queue.size(), queue.k_min(), queue.k_max()].map(Bytes::get);
        assert_eq!(numbers, [250_000, 62_500, 187_500]);
        assert_eq!(queue.drain(), Rate::from_bps(900_000_000));
    }

    #[test]
    fn numbers_that_make_no_phantom_queue_are_refused() {
        let text = |rate, drain, k| queue(rate, drain, k).unwrap_err().to_string();
        for drain in [0.0, -1.0, 1.01, f64::NAN] {
            assert!(text("1Gbps", drain, None).contains("--drain"));
        }
        assert!(text("1Kbps", 0.9, None).contains("100 kbit/s to 10 Tbit/s"));
        assert!(text("1Gbps", 0.9, Some((2, 1))).contains("--k-min 2 and --k-max 1"));
        assert!(text("1Gbps", 0.9, Some((0, 0))).contains("k-max above 0"));
        assert!(text("1Mbps", 0.9, Some((0, 1 << 40))).contains("hour"));
    }

    #[test]
    fn the_slope_fits_the_programs_arithmetic() {
        for (rate, k) in [("100Gbps", None), ("1Mbps", Some((1, 300_000_000))), ("1Gbps", Some((500, 500)))] {
            let variables = queue(rate, 0.9, k).unwrap().variables();
            let get = |key| variables.iter().find(|(name, _)| *name == key).unwrap().1;
            let width = get("max_ps") - get("min_ps");
            assert!(u32::try_from(get("ramp_width")).is_ok());
            assert_eq!(get("ramp_width"), width >> get("ramp_shift"));
            // The largest packet and the fullest counter stay far below 2^64.
            assert!(u128::from(get("byte_time_ps")) * (1 << 20) < 1 << 62 && get("full_ps") < 1 << 62);
        }
    }
}

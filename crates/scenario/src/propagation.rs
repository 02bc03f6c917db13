//! How long a link is: its delay, one way, or its RTT, there and back.

use crate::error::ValueError;
use crate::limits::{LONGEST_DELAY, each_within};
use farspan_units::Duration;

/// Propagation of a link, as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Propagation {
    /// One way.
    pub delay: Option<Duration>,
    /// There and back over this link alone.
    pub rtt: Option<Duration>,
}

impl Propagation {
    /// Checks the values; `path` is that of a key of the link.
    ///
    /// # Errors
    /// If one is out of range, or both are given.
    pub fn check(self, path: impl Fn(&str) -> String) -> Result<(), ValueError> {
        each_within(&path("delay"), self.delay, Duration::ZERO, LONGEST_DELAY)?;
        each_within(&path("rtt"), self.rtt, Duration::ZERO, LONGEST_DELAY * 2)?;
        let (Some(delay), Some(rtt)) = (self.delay, self.rtt) else { return Ok(()) };
        let problem = format!("both rtt = \"{rtt}\" and delay = \"{delay}\" are given");
        Err(ValueError::rule(
            path("rtt"),
            problem,
            "give one of them: the delay of a link is half of its rtt",
        ))
    }

    /// One way, if it is given: half of the RTT, rounded down to a picosecond.
    pub fn one_way(self) -> Option<Duration> {
        self.delay.or_else(|| self.rtt.map(|rtt| rtt / 2))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn problem(delay: Option<u64>, rtt: Option<u64>) -> Option<String> {
        let [delay, rtt] = [delay, rtt].map(|ps| ps.map(Duration::from_ps));
        let error = Propagation { delay, rtt }.check(|key| format!("link[0].{key}")).err()?;
        Some(format!("{}: {}", error.path, error.problem))
    }

    #[test]
    fn a_link_has_a_delay_or_an_rtt() {
        assert_eq!(problem(Some(3), None), None);
        assert_eq!(problem(None, Some(4)), None);
        assert_eq!(problem(None, Some(20_000_000_000_000)), None);
        for (delay, rtt, words) in [
            (Some(2), Some(4), "link[0].rtt: both rtt = \"4ps\" and delay = \"2ps\" are given"),
            (None, Some(20_000_000_000_001), "link[0].rtt: 20.000000000001s is out of range"),
            (Some(10_000_000_000_001), None, "link[0].delay: 10.000000000001s is out of range"),
        ] {
            let problem = problem(delay, rtt).unwrap();
            assert!(problem.starts_with(words), "{problem}");
        }
    }

    proptest! {
        #[test]
        fn the_delay_of_an_rtt_is_half_of_it_rounded_down(rtt in 0_u64..=20_000_000_000_000) {
            let link = Propagation { delay: None, rtt: Some(Duration::from_ps(rtt)) };
            prop_assert!(link.check(str::to_owned).is_ok());
            let twice = link.one_way().unwrap().as_ps() * 2;
            prop_assert!(twice <= rtt && rtt - twice <= 1);
        }
    }
}

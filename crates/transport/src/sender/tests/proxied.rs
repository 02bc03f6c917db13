//! Messages through a streamlined proxy: what its NACKs do.

use super::*;
use crate::wire::Place;

#[test]
fn the_nack_of_a_gap_names_its_cause_and_obeys_the_rule_of_trimmed_packets() {
    for (on_nack, seen) in [(OnNack::Published, 1), (OnNack::Before, 0), (OnNack::None, 0)] {
        let numbers = Some(Numbering::PerFlow);
        let mut bench = Bench::new(Setup { on_nack: Some(on_nack), numbers, ..Setup::default() });
        bench.send(us(5));
        let first = Place { lane: 0, number: 1 };
        bench.dispatch_ack(us(20), 0, 0, Fate::Gap { first, count: 2 });
        let gap =
            Nack { now: us(20), bytes: mss(2), sent_at: us(5), in_flight: mss(2), cause: NackCause::Gap };
        assert_eq!(bench.log.lock().unwrap().nacks, [gap][..seen], "{on_nack:?}");
        assert_eq!(bench.send(us(20)), [1, 2], "whatever the window does");
    }
}

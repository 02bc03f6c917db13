//! Headers that come back.

use super::*;

#[test]
fn a_packet_whose_header_came_back_leaves_the_window_at_once_and_goes_first() {
    let mut bench = Bench::new(Setup::default());
    assert_eq!(bench.send(us(5)), [0, 1, 2, 3]);
    // A packet never sent, a transmission that never left, and one to come.
    for (seq, sent_at) in [(4, us(5)), (2, us(4)), (2, us(26))] {
        bench.sender.on_returned(us(25), seq, sent_at);
    }
    assert_eq!((bench.nacks_seen(), bench.sender.view().in_flight), (0, mss(4)));
    bench.sender.on_returned(us(25), 2, us(5));
    bench.sender.on_returned(us(25), 2, us(5));
    let expected =
        Nack { now: us(25), bytes: mss(1), sent_at: us(5), in_flight: mss(3), cause: NackCause::Returned };
    assert_eq!(bench.log.lock().unwrap().nacks, [expected], "once");
    assert_eq!(bench.log.lock().unwrap().entropies_nacked, [102]);
    let counters = bench.sender.view().counters;
    assert_eq!(
        (counters.nacks, counters.losses, counters.timeouts),
        (0, 0, 0),
        "it is no NACK of a receiver"
    );
    let (again, deadline) = bench.sender.send(us(25));
    assert!(again.retransmission);
    assert_eq!((again.header.seq, deadline), (2, us(125)), "no time-out has run out");
}

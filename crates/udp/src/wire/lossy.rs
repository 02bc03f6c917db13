//! A wrapper that loses, holds back and marks datagrams, by a seed.

use super::{Datagram, EcnCodepoint, OnDatagram, Sending, Wire};
use farspan_units::{Purpose, Random};
use std::io;
use std::net::SocketAddr;

/// Probabilities of what happens to datagrams on their way out.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Losses {
    /// It is lost.
    pub loss: f64,
    /// It is held back until up to eight later ones have gone.
    pub reordering: f64,
    /// It is marked (CE), if it is ECN-capable.
    pub marking: f64,
}

/// A wire that loses, reorders and marks what is sent: each datagram by draws of its own.
#[derive(Debug)]
pub struct Lossy<W> {
    wire: W,
    losses: Losses,
    random: Random,
    /// Datagrams held back, and how many are to go before each.
    held: Vec<(u64, Datagram)>,
    /// Datagrams lost so far.
    lost: u64,
}

impl<W: Wire> Lossy<W> {
    /// Wraps `wire`; `entity` distinguishes two wires of one seed.
    pub fn new(wire: W, losses: Losses, seed: u64, entity: u64) -> Self {
        Self { wire, losses, random: Random::new(seed, Purpose::Loss, entity), held: Vec::new(), lost: 0 }
    }

    /// Datagrams lost so far.
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Sends those held back that have waited for enough others, or all.
    fn release(&mut self, all: bool) -> io::Result<()> {
        while let Some(at) = self.held.iter().position(|(left, _)| all || *left == 0) {
            // What there is no room for is lost: that is what this wire is for.
            let (_, datagram) = self.held.swap_remove(at);
            let _ = self.wire.send(&datagram)?;
        }
        Ok(())
    }
}

impl<W: Wire> Wire for Lossy<W> {
    fn send(&mut self, datagram: &Datagram) -> io::Result<Sending> {
        let before = self.random;
        let [is_lost, is_held, is_marked] = [self.losses.loss, self.losses.reordering, self.losses.marking]
            .map(|probability| self.random.uniform() < probability);
        let wait = self.random.below(8);
        if is_lost {
            self.lost += 1;
        } else {
            let is_marked = is_marked && datagram.ecn.is_some();
            let ecn = if is_marked { Some(EcnCodepoint::Ce) } else { datagram.ecn };
            let datagram = Datagram { ecn, ..datagram.clone() };
            if is_held {
                self.held.push((wait + 1, datagram));
            } else {
                match self.wire.send(&datagram)? {
                    Sending::Sent => {}
                    Sending::NoRoom => {
                        // It will be tried again, and is to have the same fate.
                        self.random = before;
                        return Ok(Sending::NoRoom);
                    }
                    Sending::Refused(error) => return Ok(Sending::Refused(error)),
                }
            }
        }
        self.held.iter_mut().for_each(|(left, _)| *left = left.saturating_sub(1));
        self.release(false)?;
        Ok(Sending::Sent)
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        let received = self.wire.receive(take)?;
        if received == 0 {
            // Nothing moves: what is held back would wait for ever.
            self.release(true)?;
        }
        Ok(received)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        self.wire.address()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A wire that keeps what it is sent, while there is room.
    #[derive(Default)]
    struct Kept {
        sent: Vec<Datagram>,
        is_full: bool,
    }

    impl Wire for Kept {
        fn send(&mut self, datagram: &Datagram) -> io::Result<Sending> {
            if self.is_full {
                return Ok(Sending::NoRoom);
            }
            self.sent.push(datagram.clone());
            Ok(Sending::Sent)
        }

        fn receive(&mut self, _: &mut OnDatagram<'_>) -> io::Result<usize> {
            Ok(0)
        }

        fn address(&self) -> io::Result<SocketAddr> {
            Ok(SocketAddr::from(([127, 0, 0, 1], 1)))
        }
    }

    fn datagram(number: u16) -> Datagram {
        let to = SocketAddr::from(([127, 0, 0, 1], 2));
        Datagram { to, ecn: Some(EcnCodepoint::Ect0), bytes: number.to_be_bytes().to_vec() }
    }

    /// The datagrams of a thousand that come through, in order of arrival, and the number lost.
    fn through(losses: Losses, seed: u64) -> (Vec<Datagram>, u64) {
        let mut wire = Lossy::new(Kept::default(), losses, seed, 0);
        for number in 0..1000 {
            assert_eq!(wire.send(&datagram(number)).unwrap(), Sending::Sent);
        }
        wire.receive(&mut |_, _, _| ()).unwrap();
        (wire.wire.sent, wire.lost)
    }

    #[test]
    fn without_losses_everything_comes_through_in_order() {
        let (sent, lost) = through(Losses::default(), 1);
        assert!(sent.into_iter().eq((0..1000).map(datagram)) && lost == 0);
    }

    #[test]
    fn what_is_lost_depends_on_the_seed_alone() {
        let losses = Losses { loss: 0.1, ..Losses::default() };
        let (sent, lost) = through(losses, 1);
        assert_eq!(sent.len() as u64 + lost, 1000);
        assert!((70..130).contains(&lost), "{lost}");
        assert_eq!(through(losses, 1), (sent.clone(), lost));
        assert_ne!(through(losses, 2).0, sent);
    }

    #[test]
    fn what_is_held_back_comes_late_and_comes() {
        let (sent, lost) = through(Losses { reordering: 0.2, ..Losses::default() }, 1);
        assert_eq!((sent.len(), lost), (1000, 0));
        let late = sent.windows(2).filter(|pair| pair[0].bytes > pair[1].bytes).count();
        assert!((50..250).contains(&late), "{late}");
    }

    #[test]
    fn marks_go_on_capable_datagrams_only() {
        let losses = Losses { marking: 1.0, ..Losses::default() };
        assert!(through(losses, 1).0.iter().all(|datagram| datagram.ecn == Some(EcnCodepoint::Ce)));
        let mut wire = Lossy::new(Kept::default(), losses, 1, 0);
        let sent = wire.send(&Datagram { ecn: None, ..datagram(0) }).unwrap();
        assert_eq!(sent, Sending::Sent);
        assert_eq!(wire.wire.sent[0].ecn, None);
    }

    #[test]
    fn a_datagram_without_room_has_the_same_fate_when_it_is_tried_again() {
        let losses = Losses { loss: 0.3, ..Losses::default() };
        let mut wire = Lossy::new(Kept::default(), losses, 1, 0);
        for number in 0..1000 {
            wire.wire.is_full = true;
            if wire.send(&datagram(number)).unwrap() == Sending::NoRoom {
                wire.wire.is_full = false;
                assert_eq!(wire.send(&datagram(number)).unwrap(), Sending::Sent);
            }
        }
        assert_eq!((wire.wire.sent, wire.lost), through(losses, 1));
    }
}

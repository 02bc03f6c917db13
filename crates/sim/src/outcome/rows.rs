//! Rows of numbers in as few bytes as they need: what is kept of each of millions of flows until the run ends.

/// A list of rows of `K` numbers, and of `N` more that are mostly zero. It grows at its end and is read from
/// its start. A number takes a byte for each seven of its bits; of the `N`, those that are zero take a bit.
#[derive(Default)]
pub(crate) struct Rows<const K: usize, const N: usize = 0> {
    bytes: Vec<u8>,
}

impl<const K: usize, const N: usize> Rows<K, N> {
    /// The most bytes that a row takes: ten a number, and a number that says which of the `N` are there.
    const LONGEST: usize = 10 * (K + N + 1);

    /// Adds a row.
    pub(crate) fn push(&mut self, row: [u64; K], sparse: [u64; N]) {
        const { assert!(N <= 64, "a bit for each") };
        if self.bytes.capacity() - self.bytes.len() < Self::LONGEST {
            // An eighth more is enough room: twice as much would be most of the cost.
            self.bytes.reserve_exact(Self::LONGEST + self.bytes.len() / 8);
        }
        row.into_iter().for_each(|number| self.push_number(number));
        if N > 0 {
            let present = (0..N).filter(|&place| sparse[place] != 0).fold(0, |bits, place| bits | 1 << place);
            self.push_number(present);
            sparse.into_iter().filter(|&number| number != 0).for_each(|number| self.push_number(number));
        }
    }

    fn push_number(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }

    /// The rows, in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ([u64; K], [u64; N])> {
        let mut bytes = self.bytes.iter();
        let mut number = move || {
            let (mut number, mut shift) = (0, 0);
            loop {
                let byte = *bytes.next()?;
                number |= u64::from(byte & 0x7f) << shift;
                if byte < 0x80 {
                    return Some(number);
                }
                shift += 7;
            }
        };
        std::iter::from_fn(move || {
            let (mut row, mut sparse) = ([0; K], [0; N]);
            for place in &mut row {
                *place = number()?;
            }
            let present = if N > 0 { number()? } else { 0 };
            for (bit, place) in sparse.iter_mut().enumerate() {
                if present >> bit & 1 == 1 {
                    *place = number()?;
                }
            }
            Some((row, sparse))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::SenderCounters;
    use farspan_units::Bytes;
    use proptest::prelude::*;

    fn number() -> impl Strategy<Value = u64> {
        (any::<u64>(), 0_u32..=64).prop_map(|(x, s)| x.checked_shr(s).unwrap_or(0))
    }

    proptest! {
        #[test]
        fn rows_come_back_as_they_went_in(
            rows in prop::collection::vec((prop::array::uniform3(number()), prop::array::uniform9(number())), 0..40),
        ) {
            let mut list = Rows::<3, 9>::default();
            rows.iter().for_each(|&(row, sparse)| list.push(row, sparse));
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), rows);
        }
    }

    #[test]
    fn what_a_host_keeps_of_a_flow_fits_24_bytes() {
        // Flow a million and one, after a second; a thousand packets, ten of them sent again.
        let mut counters = SenderCounters::default();
        (counters.sent_packets, counters.retransmitted_packets) = (1010, 10);
        (counters.retransmitted_bytes, counters.timeouts) = (Bytes::new(40_960), 10);
        let (mut sent, mut received) =
            (Rows::<2, { SenderCounters::COUNT }>::default(), Rows::<2>::default());
        sent.push([1_000_001, 1_000_000_000_000], counters.to_row());
        received.push([1_000_001, 1_000_000_000_000], []);
        assert!(sent.bytes.len() + received.bytes.len() <= 24 + 2);
    }

    #[test]
    fn small_numbers_take_a_byte_and_zeros_a_bit() {
        let mut list = Rows::<4>::default();
        list.push([0, 1, 127, 128], []);
        assert_eq!(list.bytes.len(), 5);
        let mut list = Rows::<0, 7>::default();
        list.push([], [0, 0, 5, 0, 0, 0, 0]);
        assert_eq!(list.bytes.len(), 2);
    }
}

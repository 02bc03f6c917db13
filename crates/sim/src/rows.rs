//! Rows of numbers in as few bytes as they need: what is kept of each of millions of flows until the run ends.

/// A list of rows of `N` numbers that grows at its end and is read from its start. A number takes a byte for each seven
/// of its bits.
#[derive(Default)]
pub(crate) struct Rows<const N: usize> {
    bytes: Vec<u8>,
}

impl<const N: usize> Rows<N> {
    /// Adds a row.
    pub(crate) fn push(&mut self, row: [u64; N]) {
        if self.bytes.capacity() - self.bytes.len() < 10 * N {
            // An eighth more is enough room: twice as much would be most of the cost.
            self.bytes.reserve_exact(10 * N + self.bytes.len() / 8);
        }
        for mut number in row {
            while number >= 0x80 {
                self.bytes.push(number as u8 | 0x80);
                number >>= 7;
            }
            self.bytes.push(number as u8);
        }
    }

    /// The rows, in the order in which they came.
    pub(crate) fn iter(&self) -> impl Iterator<Item = [u64; N]> {
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
            let mut row = [0; N];
            for place in &mut row {
                *place = number()?;
            }
            Some(row)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn rows_come_back_as_they_went_in(
            rows in prop::collection::vec(prop::array::uniform3((any::<u64>(), 0_u32..64).prop_map(|(x, s)| x >> s)), 0..40),
        ) {
            let mut list = Rows::<3>::default();
            rows.iter().for_each(|&row| list.push(row));
            prop_assert_eq!(list.iter().collect::<Vec<_>>(), rows);
        }
    }

    #[test]
    fn what_a_host_keeps_of_a_flow_fits_24_bytes() {
        // Flow a million and one, after a second; a thousand packets, ten of them sent again.
        let (mut sent, mut received) = (Rows::<6>::default(), Rows::<2>::default());
        sent.push([1_000_001, 1_000_000_000_000, 1010, 40_960, 10, 0]);
        received.push([1_000_001, 1_000_000_000_000]);
        assert!(sent.bytes.len() + received.bytes.len() <= 24 + 2);
    }

    #[test]
    fn small_numbers_take_a_byte() {
        let mut list = Rows::<4>::default();
        list.push([0, 1, 127, 128]);
        assert_eq!(list.bytes.len(), 5);
    }
}

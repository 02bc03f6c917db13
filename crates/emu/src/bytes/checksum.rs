//! The Internet checksum (RFC 1071), and how it follows a field that changes (RFC 1624).

use super::{TCP, half};

/// The sum of 16-bit words, with carries folded in; an odd byte at the end counts as the high one of a word.
fn sum(bytes: &[u8], start: u32) -> u32 {
    let mut words = bytes.chunks_exact(2);
    let whole = words.by_ref().map(|word| u32::from(half(word, 0))).fold(start, |sum, word| fold(sum + word));
    match words.remainder() {
        [last] => fold(whole + (u32::from(*last) << 8)),
        _ => whole,
    }
}

const fn fold(sum: u32) -> u32 {
    (sum & 0xffff) + (sum >> 16)
}

/// The checksum of a header whose own field is zero, or zero for one whose field is right.
pub(crate) fn of(bytes: &[u8]) -> u16 {
    !(fold(sum(bytes, 0)) as u16)
}

/// The checksum after a word has changed (RFC 1624, equation 3).
pub(super) const fn updated(checksum: u16, before: u16, after: u16) -> u16 {
    let sum = !checksum as u32 + !before as u32 + after as u32;
    !(fold(fold(sum)) as u16)
}

/// The checksum of a TCP or UDP segment whose own field is zero, under the pseudo header of these addresses.
pub(super) fn of_segment(addresses: &[u8], protocol: u8, segment: &[u8]) -> u16 {
    let pseudo = fold(sum(addresses, 0) + u32::from(protocol));
    let length = segment.len() as u32;
    let checksum = !(fold(sum(segment, fold(pseudo + (length >> 16) + (length & 0xffff)))) as u16);
    // UDP's zero says that there is none (RFC 768).
    if checksum == 0 && protocol != TCP { 0xffff } else { checksum }
}

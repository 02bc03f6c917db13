//! The one system call that no safe crate has: to put another program in the place of one that a link holds.
#![allow(unsafe_code, reason = "bpf_link_update with the descriptor of a map")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// Puts the operations of a map in the place of those of a link, both of one type.
///
/// libbpf's own call takes the link as the object of the process that made it; this one may come from a pin.
pub(super) fn update_link(link: BorrowedFd<'_>, map: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both descriptors are open while they are borrowed, and the call reads nothing else: no options are given.
    match unsafe { libbpf_sys::bpf_link_update(link.as_raw_fd(), map.as_raw_fd(), std::ptr::null()) } {
        0 => Ok(()),
        // It gives the negative error.
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::os::fd::AsFd as _;

    #[test]
    fn what_is_no_link_is_refused() {
        let file = File::open("/dev/null").unwrap();
        assert!(update_link(file.as_fd(), file.as_fd()).is_err());
    }
}

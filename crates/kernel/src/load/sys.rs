//! The system calls that no safe crate has.
#![allow(unsafe_code, reason = "bpf_link_update with the descriptor of a map, and SO_NETNS_COOKIE")]

use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd};

/// The option of `asm-generic/socket.h`, since Linux 5.14.
const SO_NETNS_COOKIE: libc::c_int = 71;

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

/// The number of the network namespace in which a socket was made.
pub(super) fn namespace_cookie(socket: BorrowedFd<'_>) -> io::Result<u64> {
    let (mut cookie, mut size) = (0_u64, size_of::<u64>() as libc::socklen_t);
    let to = (&raw mut cookie).cast();
    // SAFETY: the descriptor is open while it is borrowed; the kernel writes at most `size` bytes, which `cookie` has.
    let result =
        unsafe { libc::getsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, SO_NETNS_COOKIE, to, &raw mut size) };
    if result == 0 { Ok(cookie) } else { Err(io::Error::last_os_error()) }
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
        assert!(namespace_cookie(file.as_fd()).is_err(), "no socket");
    }
}

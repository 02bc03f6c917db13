//! The system calls that no safe crate has: to name a TUN device, to send past a device's queue, to run under SCHED_FIFO, and TCP_INFO.
#![allow(
    unsafe_code,
    reason = "an ioctl with a structure, sched_setscheduler, and socket options and addresses with structures"
)]

use rustix::net::netdevice::name_to_index;
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::fs::File;
use std::io;
use std::os::fd::{AsRawFd as _, BorrowedFd, OwnedFd};

/// Makes of an open `/dev/net/tun` a device that hands over plain IP packets: no header before them, so that the kernel cuts and
/// sums them itself.
pub(super) fn attach_tun(file: &File, name: &str) -> io::Result<()> {
    // SAFETY: all zeros is a value of this structure of integers, arrays and unions of them.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The last byte stays zero: the name ends there.
    for (to, from) in request.ifr_name.iter_mut().take(libc::IFNAMSIZ - 1).zip(name.bytes()) {
        *to = from as libc::c_char;
    }
    request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
    // SAFETY: the descriptor is open while `file` lives, and TUNSETIFF reads and writes one `ifreq`, which `request` is.
    match unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF, &raw mut request) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// A socket for packets as they are (packet(7)). It hears of no protocol, so that it is handed nothing that the device receives.
pub(super) fn packet_socket() -> io::Result<OwnedFd> {
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    Ok(socket_with(AddressFamily::PACKET, SocketType::RAW, flags, None)?)
}

/// A socket whose packets go to a device at once, whatever waits before it (PACKET_QDISC_BYPASS).
pub(super) fn send_past_queue(device: &str) -> io::Result<OwnedFd> {
    let socket = packet_socket()?;
    let index = name_to_index(&socket, device)?;
    // SAFETY: all zeros is a value of this structure of integers and an array of them.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    (address.sll_family, address.sll_ifindex) = (libc::AF_PACKET as libc::c_ushort, index as libc::c_int);
    let (is_on, raw) = (1 as libc::c_int, socket.as_raw_fd());
    // SAFETY: the descriptor is open while `socket` lives, and the calls read an integer and a `sockaddr_ll` of the lengths given.
    let is_done = unsafe {
        libc::setsockopt(
            raw,
            libc::SOL_PACKET,
            libc::PACKET_QDISC_BYPASS,
            (&raw const is_on).cast(),
            size_of_val(&is_on) as libc::socklen_t,
        ) == 0
            && libc::bind(raw, (&raw const address).cast(), size_of_val(&address) as libc::socklen_t) == 0
    };
    if is_done { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

/// Runs this thread under SCHED_FIFO at this priority from now on: it waits for no thread of lower priority. The emulator has 50. A
/// program that measures delays in an emulation should have less, and be no ordinary one: else it measures how late it is itself.
///
/// # Errors
/// If the system refuses, such as without root.
pub fn run_in_real_time(priority: i32) -> io::Result<()> {
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: 0 is the calling thread, and the call reads one `sched_param`, which outlives it.
    match unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// TCP_INFO of a socket: `struct tcp_info` (linux/tcp.h), zeros where the kernel's ends before.
pub(super) fn tcp_info(socket: BorrowedFd<'_>) -> io::Result<[u8; 256]> {
    let (mut raw, mut length) = ([0; 256], 256);
    // SAFETY: the descriptor is open while `socket` lives, and the call writes at most `length` bytes, which `raw` has.
    match unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_INFO,
            raw.as_mut_ptr().cast(),
            &raw mut length,
        )
    } {
        0 => Ok(raw),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_tun_is_refused() {
        let error = attach_tun(&File::open("/dev/null").unwrap(), "eth0").unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::ENOTTY));
    }

    #[test]
    fn a_priority_out_of_range_is_refused() {
        assert_eq!(run_in_real_time(1000).unwrap_err().raw_os_error(), Some(libc::EINVAL));
    }
}

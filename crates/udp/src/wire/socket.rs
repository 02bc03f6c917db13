//! A UDP socket.
#![allow(clippy::disallowed_types, reason = "the one place that has a socket")]

use super::{Datagram, OnDatagram, Sending, Wire};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::iter;
use std::net::{SocketAddr, UdpSocket};

/// Bytes that a receive buffer needs: the kernel may hand over several datagrams of one sender as one.
const RECEIVE_BUFFER: usize = 65_535;
/// Size of the socket buffer that the kernel is asked for in either direction; it may grant less.
const SOCKET_BUFFER: usize = 4 << 20;

/// A UDP socket that does not block, and that reads and writes ECN codepoints.
#[derive(Debug)]
pub struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<Vec<u8>>,
}

impl Socket {
    /// Binds a socket; port 0: the system chooses one.
    ///
    /// # Errors
    /// The error of the system.
    pub fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Best effort: what is lost for lack of room is sent again.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        Ok(Self { socket, state, buffers: vec![vec![0; RECEIVE_BUFFER]; BATCH_SIZE] })
    }
}

#[cfg(unix)]
impl std::os::fd::AsFd for Socket {
    fn as_fd(&self) -> std::os::fd::BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Wire for Socket {
    fn send(&mut self, datagram: &Datagram) -> io::Result<Sending> {
        let transmit = Transmit {
            destination: datagram.to,
            ecn: datagram.ecn,
            contents: &datagram.bytes,
            segment_size: None,
            src_ip: None,
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Ok(()) => Ok(Sending::Sent),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(Sending::NoRoom),
            Err(error) if concerns_socket(&error) => Err(error),
            Err(error) => Ok(Sending::Refused(error.kind())),
        }
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<_> = self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let filled = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(filled) => filled,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            // Some systems report here that a peer has no such port.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut datagrams = 0;
        for (buffer, meta) in self.buffers.iter().zip(&metas[..filled]) {
            let length = if meta.stride == 0 { meta.len } else { meta.stride.min(meta.len) };
            let (first, rest) = buffer[..meta.len].split_at(length);
            // The first may be empty. The kernel may join datagrams of one sender and length.
            for bytes in iter::once(first).chain(rest.chunks(length.max(1))) {
                take(meta.addr, meta.ecn, bytes);
                datagrams += 1;
            }
        }
        Ok(datagrams)
    }

    fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }
}

/// Whether an error of sending would meet a datagram to anybody. Of the others (send(2): no route, a firewall, port 0, a
/// datagram that is too long) some may in fact concern all, but then each peer says so.
#[cfg(unix)]
fn concerns_socket(error: &io::Error) -> bool {
    use rustix::io::Errno;
    const OF_SOCKET: [Errno; 5] = [Errno::BADF, Errno::NOTSOCK, Errno::FAULT, Errno::PIPE, Errno::NOTCONN];
    Errno::from_io_error(error).is_some_and(|errno| OF_SOCKET.contains(&errno))
}

#[cfg(not(unix))]
fn concerns_socket(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::BrokenPipe | io::ErrorKind::NotConnected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn datagram(to: SocketAddr) -> Datagram {
        Datagram { to, ecn: None, bytes: vec![1] }
    }

    #[test]
    fn a_datagram_that_cannot_be_sent_concerns_no_other() {
        let mut socket = Socket::bind(SocketAddr::from((Ipv4Addr::LOCALHOST, 0))).unwrap();
        let own = socket.address().unwrap();
        let nowhere = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        assert_eq!(
            socket.send(&datagram(nowhere)).unwrap(),
            Sending::Refused(io::ErrorKind::InvalidInput),
            "port 0"
        );
        let too_long = Datagram { bytes: vec![1; 65_530], ..datagram(own) };
        assert!(
            matches!(socket.send(&too_long).unwrap(), Sending::Refused(_)),
            "longer than a datagram can be"
        );
        assert_eq!(socket.send(&datagram(own)).unwrap(), Sending::Sent);
    }

    #[test]
    fn an_empty_datagram_is_one() {
        let local = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let (mut from, mut to) = (Socket::bind(local).unwrap(), Socket::bind(local).unwrap());
        let address = to.address().unwrap();
        let lengths = [0, 1, 0, 0, 700, 700, 5];
        for length in lengths {
            let datagram = Datagram { bytes: vec![7; length], ..datagram(address) };
            assert_eq!(from.send(&datagram).unwrap(), Sending::Sent);
        }
        let (mut seen, mut tries) = (Vec::new(), 0);
        while seen.len() < lengths.len() && tries < 200 {
            let came = to.receive(&mut |_, _, bytes| seen.push(bytes.len())).unwrap();
            tries += 1;
            if came == 0 {
                std::thread::park_timeout(std::time::Duration::from_millis(5));
            }
        }
        assert_eq!(seen, lengths);
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn an_error_of_the_socket_itself_is_one() {
        for (errno, is_fatal) in [(9, true), (88, true), (22, false), (101, false), (113, false), (1, false)]
        {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(concerns_socket(&error), is_fatal, "{error}");
        }
    }
}

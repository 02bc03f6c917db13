//! The UDP sockets of a relay, which read and write ECN codepoints.
#![allow(clippy::disallowed_types, reason = "a relay stands between real sockets")]

use quinn_udp::{BATCH_SIZE, EcnCodepoint, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, IoSliceMut};
use std::iter;
use std::net::{SocketAddr, UdpSocket};
use std::os::fd::{AsFd, BorrowedFd};

/// Bytes that a receive buffer needs: the kernel may hand over several datagrams of one sender as one.
const RECEIVE_BUFFER: usize = 65_535;
/// Size of the socket buffer that the kernel is asked for in either direction; it may grant less.
const SOCKET_BUFFER: usize = 4 << 20;

/// A UDP socket that does not block.
#[derive(Debug)]
pub(super) struct Socket {
    socket: UdpSocket,
    state: UdpSocketState,
    buffers: Vec<Vec<u8>>,
}

impl Socket {
    /// Binds a socket; port 0: the system chooses one.
    pub(super) fn bind(address: SocketAddr) -> io::Result<Self> {
        let socket = UdpSocket::bind(address)?;
        let state = UdpSocketState::new((&socket).into())?;
        // Best effort: a smaller buffer loses more of a burst.
        let _ = state.set_recv_buffer_size((&socket).into(), SOCKET_BUFFER);
        let _ = state.set_send_buffer_size((&socket).into(), SOCKET_BUFFER);
        Ok(Self { socket, state, buffers: vec![vec![0; RECEIVE_BUFFER]; BATCH_SIZE] })
    }

    /// The address that it has.
    pub(super) fn address(&self) -> io::Result<SocketAddr> {
        self.socket.local_addr()
    }

    /// Sends a datagram; gives whether the system took it.
    pub(super) fn send(&self, to: SocketAddr, ecn: Option<EcnCodepoint>, bytes: &[u8]) -> bool {
        let transmit = Transmit { destination: to, ecn, contents: bytes, segment_size: None, src_ip: None };
        self.state.try_send((&self.socket).into(), &transmit).is_ok()
    }

    /// Hands over the datagrams that have come, with sender and ECN codepoint; gives their number.
    pub(super) fn receive(
        &mut self,
        mut take: impl FnMut(SocketAddr, Option<EcnCodepoint>, &[u8]),
    ) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<_> = self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let filled = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(filled) => filled,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
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
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

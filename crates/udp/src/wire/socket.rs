//! A UDP socket.
#![allow(clippy::disallowed_types, reason = "the one place that has a socket")]

use super::{Datagram, OnDatagram, Wire};
use quinn_udp::{BATCH_SIZE, RecvMeta, Transmit, UdpSocketState};
use std::io::{self, IoSliceMut};
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

impl Wire for Socket {
    fn send(&mut self, datagram: &Datagram) -> io::Result<bool> {
        let transmit = Transmit {
            destination: datagram.to,
            ecn: datagram.ecn,
            contents: &datagram.bytes,
            segment_size: None,
            src_ip: None,
        };
        match self.state.try_send((&self.socket).into(), &transmit) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn receive(&mut self, take: &mut OnDatagram<'_>) -> io::Result<usize> {
        let mut metas = [RecvMeta::default(); BATCH_SIZE];
        let mut slices: Vec<_> = self.buffers.iter_mut().map(|buffer| IoSliceMut::new(buffer)).collect();
        let filled = match self.state.recv((&self.socket).into(), &mut slices, &mut metas) {
            Ok(filled) => filled,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(0),
            Err(error) => return Err(error),
        };
        let mut datagrams = 0;
        for (buffer, meta) in self.buffers.iter().zip(&metas[..filled]) {
            // The kernel may join datagrams of one sender and length.
            for bytes in buffer[..meta.len].chunks(meta.stride.max(1)) {
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

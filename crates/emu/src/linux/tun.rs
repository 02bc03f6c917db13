//! A TUN device: what a host sends is read here, and what reaches it is written here.

use super::sys::attach_tun;
use rustix::fs::{Mode, OFlags, open};
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, BorrowedFd};

/// The device of every host.
pub(super) const DEVICE: &str = "eth0";

const CLONE: &str = "/dev/net/tun";

/// The end of a host's device that the emulator holds. The device goes when it is dropped, or its process ends.
#[derive(Debug)]
pub(super) struct Tun {
    file: File,
}

impl Tun {
    /// Whether devices can be made here.
    pub(super) fn check() -> io::Result<()> {
        open_clone().map(drop)
    }

    /// A device in the network namespace of the calling thread.
    pub(super) fn create() -> io::Result<Self> {
        let file = open_clone()?;
        attach_tun(&file, DEVICE)?;
        Ok(Self { file })
    }

    /// To wait at for packets.
    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }

    /// The next packet that the host sent, if one waits.
    pub(super) fn read(&self, buffer: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.file).read(buffer) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands a packet to the host; `false`: its kernel refuses it.
    pub(super) fn write(&self, bytes: &[u8]) -> bool {
        (&self.file).write(bytes).is_ok_and(|written| written == bytes.len())
    }
}

fn open_clone() -> io::Result<File> {
    let flags = OFlags::RDWR | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(open(CLONE, flags, Mode::empty())?))
}

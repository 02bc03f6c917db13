//! The pins of a control in the BPF file system: a folder with the link that keeps it registered, and a map of the defaults that
//! it took the place of.

use crate::Name;
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType};
use rustix::fs::{FlockOperation, flock};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::{fs, mem};

/// Where the BPF file system stands.
pub(super) const BPFFS: &str = "/sys/fs/bpf";

/// The pins of a control.
#[derive(Clone, Debug)]
pub(super) struct Pins {
    folder: PathBuf,
}

/// The settings of a namespace before a control became its default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Before {
    /// Its default congestion control.
    pub(super) default: String,
    /// Its `tcp_ecn`.
    pub(super) ecn: u32,
}

/// The length of a name of a control in the map, as in the kernel.
const NAME: usize = 16;

impl Before {
    fn bytes(&self) -> [u8; NAME + 4] {
        let mut bytes = [0; NAME + 4];
        bytes.iter_mut().zip(self.default.bytes().take(NAME - 1)).for_each(|(to, from)| *to = from);
        bytes[NAME..].copy_from_slice(&self.ecn.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (name, ecn) = bytes.split_at_checked(NAME)?;
        let name = name.split(|byte| *byte == 0).next()?;
        let ecn = u32::from_ne_bytes(ecn.try_into().ok()?);
        Some(Self { default: String::from_utf8_lossy(name).into_owned(), ecn })
    }
}

/// Waits until no other command changes what is installed; that lasts as long as the file is open, and no longer than its process.
pub(super) fn lock() -> io::Result<File> {
    let folder = File::open(BPFFS)?;
    flock(&folder, FlockOperation::LockExclusive)?;
    Ok(folder)
}

impl Pins {
    fn root() -> PathBuf {
        Path::new(BPFFS).join("farspan/tcp")
    }

    pub(super) fn of(name: &Name) -> Self {
        Self { folder: Self::root().join(name.as_str()) }
    }

    /// The controls that have pins.
    pub(super) fn names() -> Vec<Name> {
        let entries = fs::read_dir(Self::root()).into_iter().flatten().flatten();
        let mut names: Vec<_> =
            entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
        names.sort();
        names
    }

    /// The link: a control is installed where it is there.
    pub(super) fn link(&self) -> PathBuf {
        self.folder.join("link")
    }

    /// Whether anything of it is there.
    pub(super) fn is_there(&self) -> bool {
        self.folder.exists()
    }

    fn before(&self) -> PathBuf {
        self.folder.join("before")
    }

    /// Makes the folder; what a killed loader left of it goes.
    pub(super) fn create(&self) -> io::Result<()> {
        self.remove()?;
        fs::create_dir_all(&self.folder)
    }

    /// Removes all of it.
    pub(super) fn remove(&self) -> io::Result<()> {
        for path in [self.link(), self.before()] {
            gone(fs::remove_file(path))?;
        }
        gone(fs::remove_dir(&self.folder))?;
        // The last control takes the folders above with it; where others are, they stay.
        let _ = fs::remove_dir(Self::root());
        let _ = fs::remove_dir(Path::new(BPFFS).join("farspan"));
        Ok(())
    }

    /// Keeps what a namespace had, unless that is kept already.
    pub(super) fn keep(&self, namespace: [u64; 2], before: &Before) -> libbpf_rs::Result<()> {
        let path = self.before();
        let map = if path.exists() { MapHandle::from_pinned_path(&path)? } else { create(&path)? };
        match map.update(&key(namespace), &before.bytes(), MapFlags::NO_EXIST) {
            Err(error) if error.kind() == libbpf_rs::ErrorKind::AlreadyExists => Ok(()),
            kept => kept,
        }
    }

    /// The settings that a namespace had, if they are kept.
    pub(super) fn kept(&self, namespace: [u64; 2]) -> Option<Before> {
        let map = MapHandle::from_pinned_path(self.before()).ok()?;
        let bytes = map.lookup(&key(namespace), MapFlags::ANY).ok()??;
        Before::from_bytes(&bytes)
    }

    /// Forgets what a namespace had.
    pub(super) fn forget(&self, namespace: [u64; 2]) {
        if let Ok(map) = MapHandle::from_pinned_path(self.before()) {
            // What is not there is forgotten.
            let _ = map.delete(&key(namespace));
        }
    }
}

/// Nothing to remove is no error.
fn gone(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

fn key([device, inode]: [u64; 2]) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&device.to_ne_bytes());
    key[8..].copy_from_slice(&inode.to_ne_bytes());
    key
}

fn create(path: &Path) -> libbpf_rs::Result<MapHandle> {
    let options = libbpf_sys::bpf_map_create_opts {
        sz: mem::size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        ..Default::default()
    };
    let value = (NAME + 4) as u32;
    let mut map = MapHandle::create(MapType::Hash, Some("farspan_before"), 16, value, 1024, &options)?;
    map.pin(path)?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_namespace_had_reads_back() {
        let before = Before { default: "cubic".to_owned(), ecn: 2 };
        assert_eq!(Before::from_bytes(&before.bytes()), Some(before));
        assert_eq!(Before::from_bytes(&[0; 3]), None);
    }
}

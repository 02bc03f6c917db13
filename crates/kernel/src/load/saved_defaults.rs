//! The settings that namespaces had before a control of farspan's became their default: one map for all controls, for they may take
//! each other's place.

use super::pin::{folder, gone};
use libbpf_rs::{MapCore as _, MapFlags, MapHandle, MapType};
use std::path::{Path, PathBuf};
use std::{fs, io, mem};

/// The settings of a namespace before a control of farspan's became its default.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Before {
    /// Its default congestion control.
    pub(super) default: String,
    /// Its `tcp_ecn`.
    pub(super) ecn: u32,
    /// The control of farspan's that became its default last.
    pub(super) taker: String,
}

/// The most namespaces.
const MOST: u32 = 1 << 16;
/// The length of a name of a control in the map, as in the kernel.
const NAME: usize = 16;

/// Two names and a number.
const SIZE: usize = 2 * NAME + 4;

impl Before {
    fn bytes(&self) -> [u8; SIZE] {
        let mut bytes = [0; SIZE];
        for (field, name) in bytes.chunks_exact_mut(NAME).zip([&self.default, &self.taker]) {
            field.iter_mut().zip(name.bytes().take(NAME - 1)).for_each(|(to, from)| *to = from);
        }
        bytes[2 * NAME..].copy_from_slice(&self.ecn.to_ne_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; SIZE] = bytes.try_into().ok()?;
        let name = |field: &[u8]| {
            let name = field.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(name).into_owned()
        };
        let ecn = u32::from_ne_bytes(bytes[2 * NAME..].try_into().ok()?);
        Some(Self { default: name(&bytes[..NAME]), ecn, taker: name(&bytes[NAME..2 * NAME]) })
    }
}

fn path() -> PathBuf {
    folder().join("before")
}

/// Keeps what a namespace had; what was kept of it before goes.
pub(super) fn keep(cookie: u64, before: &Before) -> libbpf_rs::Result<()> {
    let path = path();
    let map = if path.exists() { MapHandle::from_pinned_path(&path)? } else { create(&path)? };
    map.update(&cookie.to_ne_bytes(), &before.bytes(), MapFlags::ANY)
}

/// The settings that a namespace had, if they are kept.
pub(super) fn kept(cookie: u64) -> Option<Before> {
    let map = MapHandle::from_pinned_path(path()).ok()?;
    let bytes = map.lookup(&cookie.to_ne_bytes(), MapFlags::ANY).ok()??;
    Before::from_bytes(&bytes)
}

/// Forgets what a namespace had.
pub(super) fn forget(cookie: u64) {
    if let Ok(map) = MapHandle::from_pinned_path(path()) {
        // What is not there is forgotten.
        let _ = map.delete(&cookie.to_ne_bytes());
    }
}

/// Forgets all: no control is left that a namespace could go back from.
pub(super) fn forget_all() -> io::Result<()> {
    gone(fs::remove_file(path()))?;
    // Where controls are, it stays.
    let _ = fs::remove_dir(folder());
    Ok(())
}

fn create(path: &Path) -> libbpf_rs::Result<MapHandle> {
    fs::create_dir_all(folder())?;
    let options = libbpf_sys::bpf_map_create_opts {
        sz: mem::size_of::<libbpf_sys::bpf_map_create_opts>() as libbpf_sys::size_t,
        map_flags: libbpf_sys::BPF_F_NO_PREALLOC,
        ..Default::default()
    };
    let (key, value) = (mem::size_of::<u64>() as u32, SIZE as u32);
    let mut map = MapHandle::create(MapType::Hash, Some("farspan_before"), key, value, MOST, &options)?;
    map.pin(path)?;
    Ok(map)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_namespace_had_reads_back() {
        let before = Before { default: "cubic".to_owned(), ecn: 2, taker: "gemini".to_owned() };
        assert_eq!(Before::from_bytes(&before.bytes()), Some(before));
        assert_eq!(Before::from_bytes(&[0; 3]), None);
    }
}

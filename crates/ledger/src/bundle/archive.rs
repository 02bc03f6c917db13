//! The archive of a bundle: tar in zstd. Equal files give equal bytes.

use super::BundleError;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::path::{Component, Path};

/// Files by their path, with `/` between its parts.
pub(super) type Files = BTreeMap<String, Vec<u8>>;

/// Bytes of all files of a bundle, the tar's own included: more is refused before it fills the memory.
pub(super) const MOST_BYTES: u64 = 256 << 20;

/// Bytes that tar adds to a file at most: a header, one for a long name with the name, and room up to whole blocks.
pub(super) const MOST_OVERHEAD: u64 = 4 * 512;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// The level of zstd: about as small as it gets without minutes of packing.
const LEVEL: i32 = 10;

/// The time of every file: 1 January 1980. GNU tar warns of the year 1970.
const TIME: u64 = 315_532_800;

/// Writes files under a folder of their own, in the order of their paths, with one time, owner and mode.
pub(super) fn pack(folder: &str, files: &Files, to: impl Write) -> io::Result<()> {
    let mut encoder = zstd::Encoder::new(to, LEVEL)?;
    encoder.include_checksum(true)?;
    let mut builder = tar::Builder::new(encoder);
    for (path, bytes) in files {
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Regular);
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        header.set_mtime(TIME);
        header.set_uid(0);
        header.set_gid(0);
        builder.append_data(&mut header, format!("{folder}/{path}"), bytes.as_slice())?;
    }
    builder.into_inner()?.finish()?.flush()
}

/// Reads the files of an archive, whoever packed it. Nothing is written: a path that would leave a folder is refused here.
pub(super) fn unpack(mut from: impl Read) -> Result<Files, BundleError> {
    let (mut head, mut bytes) = (Vec::new(), Vec::new());
    from.by_ref().take(MAGIC.len() as u64).read_to_end(&mut head).map_err(BundleError::Io)?;
    if head.as_slice() != MAGIC {
        return Err(BundleError::Foreign);
    }
    let decoder = zstd::Decoder::new(head.as_slice().chain(from)).map_err(BundleError::Io)?;
    decoder.take(MOST_BYTES + 1).read_to_end(&mut bytes).map_err(|error| match error.kind() {
        // zstd's own errors are of these two kinds.
        io::ErrorKind::Other | io::ErrorKind::UnexpectedEof => BundleError::Damaged(error.to_string()),
        _ => BundleError::Io(error),
    })?;
    if bytes.len() as u64 > MOST_BYTES {
        return Err(BundleError::TooLarge);
    }
    let damaged = |error: io::Error| BundleError::Damaged(error.to_string());
    let mut files = Files::new();
    for entry in tar::Archive::new(bytes.as_slice()).entries().map_err(damaged)? {
        let mut entry = entry.map_err(damaged)?;
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let path = plain(&name).ok_or_else(|| BundleError::Unsafe(name.clone()))?;
        match entry.header().entry_type() {
            tar::EntryType::Directory => continue,
            tar::EntryType::Regular if !path.is_empty() => {}
            _ => return Err(BundleError::Unsafe(name)),
        }
        let mut content = Vec::new();
        entry.read_to_end(&mut content).map_err(damaged)?;
        if content.len() as u64 != entry.size() {
            return Err(BundleError::Damaged(format!("{name} is cut short")));
        }
        if files.insert(path, content).is_some() {
            return Err(BundleError::Damaged(format!("{name} is there twice")));
        }
    }
    let folders =
        |path: &str| path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>();
    match files.keys().flat_map(|path| folders(path)).find(|folder| files.contains_key(folder)) {
        Some(both) => Err(BundleError::Damaged(format!("{both} is a file and a folder"))),
        None => Ok(files),
    }
}

/// A path that stays where it is unpacked, without its dots; `None` of one that does not.
fn plain(name: &str) -> Option<String> {
    let mut parts = Vec::new();
    for part in Path::new(name).components() {
        match part {
            Component::Normal(part) => parts.push(part.to_str().filter(|part| !part.contains(['\\', ':']))?),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files() -> Files {
        [("a.txt", "one"), ("runs/x/y.json", "{}")]
            .map(|(path, text)| (path.to_owned(), text.as_bytes().to_vec()))
            .into()
    }

    fn packed() -> Vec<u8> {
        let mut bytes = Vec::new();
        pack("top", &files(), &mut bytes).unwrap();
        bytes
    }

    /// An archive with one entry whose name is written as it is.
    fn hostile(name: &str, kind: tar::EntryType) -> Vec<u8> {
        let mut header = tar::Header::new_gnu();
        header.as_old_mut().name[..name.len()].copy_from_slice(name.as_bytes());
        header.set_entry_type(kind);
        header.set_size(1);
        header.set_cksum();
        let mut builder = tar::Builder::new(Vec::new());
        builder.append(&header, &b"x"[..]).unwrap();
        zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap()
    }

    #[test]
    fn files_come_out_as_they_went_in_and_equal_ones_give_equal_bytes() {
        let bytes = packed();
        assert_eq!(bytes, packed());
        let named = files().into_iter().map(|(path, content)| (format!("top/{path}"), content)).collect();
        assert_eq!(unpack(bytes.as_slice()).unwrap(), named);
    }

    #[test]
    fn a_path_that_leaves_its_folder_is_refused_and_so_is_a_link() {
        for name in ["../x", "/etc/x", "a/../../x", "a\\x", "c:x"] {
            let error = unpack(hostile(name, tar::EntryType::Regular).as_slice()).unwrap_err();
            assert!(matches!(&error, BundleError::Unsafe(found) if found == name), "{name}: {error}");
        }
        for kind in [tar::EntryType::Symlink, tar::EntryType::Link, tar::EntryType::Fifo] {
            let error = unpack(hostile("x", kind).as_slice()).unwrap_err();
            assert!(matches!(error, BundleError::Unsafe(_)), "{kind:?}: {error}");
        }
        assert_eq!(unpack(hostile("./a/x", tar::EntryType::Regular).as_slice()).unwrap()["a/x"], b"x");
    }

    #[test]
    fn what_is_cut_short_or_no_archive_is_refused() {
        let bytes = packed();
        for length in [bytes.len() - 1, bytes.len() / 2] {
            let error = unpack(&bytes[..length]).unwrap_err();
            assert!(matches!(error, BundleError::Damaged(_)), "{length}: {error}");
        }
        for foreign in [&b"a text that is no archive"[..], &b""[..], &bytes[..3]] {
            assert!(matches!(unpack(foreign), Err(BundleError::Foreign)));
        }
        let mut flipped = bytes;
        let last = flipped.len() - 1;
        flipped[last] ^= 1;
        assert!(matches!(unpack(flipped.as_slice()), Err(BundleError::Damaged(_))), "the checksum is wrong");
    }

    #[test]
    fn a_file_that_is_there_twice_is_refused() {
        let mut builder = tar::Builder::new(Vec::new());
        for _ in 0..2 {
            let mut header = tar::Header::new_gnu();
            header.set_size(1);
            builder.append_data(&mut header, "a", &b"x"[..]).unwrap();
        }
        let bytes = zstd::encode_all(builder.into_inner().unwrap().as_slice(), 1).unwrap();
        assert!(matches!(unpack(bytes.as_slice()), Err(BundleError::Damaged(_))));
    }

    #[test]
    fn an_archive_that_would_fill_the_memory_is_refused() {
        let zeros = io::repeat(0).take(MOST_BYTES + 1);
        let bytes = zstd::encode_all(zeros, 1).unwrap();
        assert!(bytes.len() < 1 << 20, "a bomb is small");
        assert!(matches!(unpack(bytes.as_slice()), Err(BundleError::TooLarge)));
    }
}

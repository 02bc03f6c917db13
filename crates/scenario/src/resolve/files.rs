//! The files that a scenario reads: their digests distinguish scenarios that name the same files with other contents.

use crate::catalog::builtin::BuiltInTopology;
use crate::error::ValueError;
use crate::model::{Shape, Topology, Traffic, Workload};
use crate::table::join;
use crate::value::{ClassSizes, Sizes};
use farspan_units::random;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// The digest of every file, by its path. What is no file or cannot be read has none: whoever reads it says so.
///
/// # Errors
/// If a file has another digest than `written` says, or if nothing reads it: unless `others`, which says that the files of
/// the text gave way to others.
pub(super) fn digests(
    topology: &Topology,
    workload: &[Workload],
    written: &BTreeMap<String, String>,
    others: bool,
) -> Result<BTreeMap<String, String>, ValueError> {
    let network = match &topology.shape {
        Shape::FromFile { file, .. } => {
            Some(file.as_str()).filter(|file| BuiltInTopology::named(file).is_none())
        }
        _ => None,
    };
    let of_parts = workload.iter().flat_map(of_part);
    let files: BTreeSet<&str> = network.into_iter().chain(of_parts).collect();
    if let Some(unread) = written.keys().find(|file| !others && !files.contains(file.as_str())) {
        let read = files.iter().copied().collect::<Vec<_>>().join(", ");
        let read = if read.is_empty() { "no file".to_owned() } else { format!("{read}, by these names") };
        let cure = format!("remove this line; the scenario reads {read}");
        return Err(ValueError::rule(join("files", unread), "nothing reads this file", cure));
    }
    let mut digests = BTreeMap::new();
    for file in files {
        let Ok(digest) = digest(Path::new(file)) else { continue };
        if let Some(before) = written.get(file).filter(|before| **before != digest) {
            let problem = format!("the file has changed: its digest is {digest}, and was {before}");
            let cure = "remove this line (or --set files={}) to take the file as it is now, or bring back the one that it was";
            return Err(ValueError::rule(join("files", file), problem, cure));
        }
        digests.insert(file.to_owned(), digest);
    }
    Ok(digests)
}

/// The files of a part: a list of flows, or distributions of sizes.
fn of_part(part: &Workload) -> impl Iterator<Item = &str> {
    let is_file = |name: &&String| name.ends_with(".csv");
    let files = match &part.traffic {
        Traffic::Flows { file, .. } => [Some(file), None],
        Traffic::Poisson(poisson) => match poisson.classes.sizes() {
            Err(_) => [None, None],
            Ok(Sizes::Both(name)) => [Some(name).filter(is_file), None],
            Ok(Sizes::PerClass(ClassSizes { intra, inter })) => {
                [intra, inter].map(|name| Some(name).filter(is_file))
            }
        },
        _ => [None, None],
    };
    files.into_iter().flatten().map(String::as_str)
}

/// 64 bits over the bytes of a file, in hex: FNV-1a over its words of 8 bytes (the last one filled up with zeros) and its
/// length, then mixed. It finds edits; it does not withstand deliberate collisions.
///
/// # Errors
/// If it is not a file that can be read.
pub fn digest(file: &Path) -> io::Result<String> {
    // A pipe can be read only once.
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::ErrorKind::Unsupported.into());
    }
    let mut file = File::open(file)?;
    let mut block = vec![0; 1 << 16];
    let (mut hash, mut length) = (0xcbf2_9ce4_8422_2325_u64, 0_u64);
    let add = |hash: u64, word: u64| (hash ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(29);
    loop {
        let read = fill(&mut file, &mut block)?;
        block[read..].fill(0);
        let words = block.chunks_exact(8).take(read.div_ceil(8));
        hash = words.fold(hash, |hash, word| {
            add(hash, u64::from_le_bytes(word.try_into().expect("chunks of eight bytes")))
        });
        length += read as u64;
        if read < block.len() {
            return Ok(format!("{:016x}", random::mix(add(hash, length))));
        }
    }
}

/// Reads until the block is full or the file ends.
fn fill(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

//! The archive of a figure.

use crate::text::is_said;
use farspan_ledger::Bundle;

/// The first bytes of a zstd frame (RFC 8878, section 3.1.1).
const MAGIC: [u8; 4] = 0xfd2f_b528_u32.to_le_bytes();

/// A bundle, or the tar in one: few changes of a frame of zstd get past its checksum. What is accepted is the same once it was
/// written, finds no difference in the numbers of its own runs, and gives up its runs and claims.
pub fn bundle(data: &[u8]) {
    let packed = if data.starts_with(&MAGIC) {
        data.to_vec()
    } else {
        zstd::bulk::compress(data, 1).expect("memory can be written to")
    };
    let Some(read) = is_said(Bundle::read(packed.as_slice()).map_err(|error| format!("x: {error}")), "x")
    else {
        return;
    };
    let mut written = Vec::new();
    read.write(&mut written).expect("memory can be written to");
    assert_eq!(Bundle::read(written.as_slice()).as_ref().ok(), Some(&read), "written, it is another bundle");
    let check = read.compare(None, &read);
    assert!(check.digests_equal, "{:?}", check.runs);
    let of_numbers = check.differences.iter().find(|difference| !difference.place.contains("SHA-256"));
    assert_eq!(of_numbers, None, "it differs from itself");
    assert_eq!(read.runs().len(), read.manifest().runs.len());
    drop(read.record());
    read.runs().iter().for_each(|run| drop(run.document()));
}

//! reed-solomon-erasure under the conditions of `farspan-lab bench coding`: the same codes, segment size, working sets, batches and
//! medians. Prints one JSON document of the same form. The crate keeps inverted matrices in a cache of its own. Compiled and
//! run by run.py.

use reed_solomon_erasure::galois_8::ReedSolomon;
use std::hint::black_box;
use std::time::Instant;

const CODES: [(usize, usize); 4] = [(8, 2), (4, 1), (10, 4), (20, 4)];
const SHARD: usize = 4096;
const BATCH: usize = 64;
const COLD: usize = 256 << 20;
const SECONDS: f64 = 0.05;

fn rate<B>(x: usize, blocks: &mut [B], mut work: impl FnMut(&mut B)) -> f64 {
    blocks.iter_mut().for_each(&mut work);
    let passes = (BATCH / blocks.len()).max(1);
    let (began, mut rates) = (Instant::now(), Vec::new());
    while began.elapsed().as_secs_f64() < SECONDS {
        for batch in blocks.chunks_mut(BATCH) {
            let batch_began = Instant::now();
            (0..passes).for_each(|_| batch.iter_mut().for_each(&mut work));
            rates.push((passes * batch.len() * x * SHARD) as f64 / batch_began.elapsed().as_secs_f64());
        }
    }
    rates.sort_by(f64::total_cmp);
    rates[(rates.len() - 1) / 2]
}

fn main() {
    let mut memory = vec![0; COLD + 64];
    let mut draw = 1_u64;
    for byte in &mut memory {
        draw = draw.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        *byte = (draw >> 56) as u8;
    }
    let start = memory.as_ptr().align_offset(64);
    let mut rows = Vec::new();
    for (x, y) in CODES {
        let (code, losses, block) = (ReedSolomon::new(x, y).unwrap(), y.min(2), (x + y) * SHARD);
        for (count, suffix) in [(1, ""), (COLD / block, "_cold")] {
            let memory = &mut memory[start..][..count * block];
            let mut blocks: Vec<(Vec<&[u8]>, Vec<&mut [u8]>)> = memory
                .chunks_exact_mut(block)
                .map(|block| {
                    let (data, parity) = block.split_at_mut(x * SHARD);
                    (data.chunks(SHARD).collect(), parity.chunks_mut(SHARD).collect())
                })
                .collect();
            let encoded = rate(x, &mut blocks, |(data, parity)| {
                code.encode_sep(black_box(data), parity).unwrap();
                black_box(parity);
            });
            let lost = memory[..losses * SHARD].to_vec();
            memory[..losses * SHARD].fill(0);
            let mut blocks: Vec<Vec<(&mut [u8], bool)>> = memory
                .chunks_exact_mut(block)
                .map(|block| block.chunks_mut(SHARD).map(|segment| (segment, true)).collect())
                .collect();
            let decoded = rate(x, &mut blocks, |segments| {
                segments[..losses].iter_mut().for_each(|(_, is_there)| *is_there = false);
                code.reconstruct_data(black_box(segments)).unwrap();
            });
            assert!(memory[..losses * SHARD] == lost);
            rows.push(format!(
                "{{\"name\": \"mds_{x}_{y}{suffix}\", \"encode_bytes_per_s\": {encoded:.0}, \"decode_bytes_per_s\": null, \
                 \"decode_planned_bytes_per_s\": {decoded:.0}}}"
            ));
        }
    }
    println!("{{\"benchmarks\": [\n {}\n]}}", rows.join(",\n "));
}

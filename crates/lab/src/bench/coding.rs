//! `farspan-lab bench coding`: bytes of data a second that one core makes parity for, and that it decodes lost segments of,
//! by every kernel that the CPU has.

use crate::failure::Failure;
use clap::Args;
use farspan_scenario::unknown_name;
use farspan_terminal::format::{Table, bytes};
use farspan_terminal::output;
use farspan_terminal::rounds::{load, rounds};
use farspan_transport::coding::{Code, gf256::Kernel};
use farspan_units::{Purpose, Random};
use farspan_world::clock::now;
use serde::Serialize;
use std::hint::black_box;
use std::time::Duration;

/// Data and parity segments of the codes that are measured.
const CODES: [(usize, usize); 4] = [(8, 2), (4, 1), (10, 4), (20, 4)];
/// Bytes of a segment.
const SHARD: usize = 4096;
/// Working set in bytes where data is to come from memory: more than caches hold.
const COLD: usize = 256 << 20;
/// How long one number is measured, at least.
const TIME: Duration = Duration::from_millis(50);
/// Blocks of a batch, which is timed.
const BATCH: usize = 64;
/// Segments start at cache lines.
const ALIGNMENT: usize = 64;

/// Arguments of `bench coding`.
#[derive(Args, Debug)]
pub struct BenchCodingArgs {
    /// Measure only this kernel; can be given several times
    #[arg(long, value_name = "NAME")]
    kernel: Vec<String>,
    /// Number of rounds. The median of each number counts
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Print one JSON document instead of a table
    #[arg(long)]
    json: bool,
}

/// One code on one kernel in numbers.
#[derive(Serialize)]
struct CodingMeasured {
    name: String,
    kernel: &'static str,
    data: usize,
    parity: usize,
    shard_bytes: usize,
    /// Number of lost data segments that decoding restores.
    losses: usize,
    /// Bytes of all blocks, parity included.
    working_set_bytes: usize,
    /// Data bytes a second.
    encode_bytes_per_s: f64,
    /// Data bytes a second of the blocks that lost segments, with a decoding plan for each block.
    decode_bytes_per_s: f64,
    /// Data bytes a second of the blocks that lost segments, with one decoding plan for all blocks.
    decode_planned_bytes_per_s: f64,
}

/// All benchmarks, and how busy the machine was.
#[derive(Serialize)]
struct CodingDocument {
    benchmarks: Vec<CodingMeasured>,
    load_average: Vec<f64>,
    repeat: u32,
}

/// A benchmark: a code, on a kernel, over a number of blocks.
struct CodingBenchmark {
    code: Code,
    kernel: Kernel,
    /// Number of lost data segments that decoding restores.
    losses: usize,
    blocks: usize,
    suffix: &'static str,
}

impl CodingBenchmark {
    fn block(&self) -> usize {
        (self.code.data() + self.code.parity()) * SHARD
    }

    fn name(&self) -> String {
        format!("mds_{}_{}{}", self.code.data(), self.code.parity(), self.suffix)
    }
}

/// Runs the benchmarks round by round, and gives the median rates of each.
pub fn coding(args: &BenchCodingArgs) -> Result<(), Failure> {
    let benchmarks = chosen(args)?;
    let mut load_average: Vec<_> = load().into_iter().collect();
    let mut memory = memory(benchmarks.iter().map(|b| b.blocks * b.block()).max().unwrap_or(0));
    let start = memory.as_ptr().align_offset(ALIGNMENT);
    let memory = &mut memory[start..];
    let mut rates: Vec<[Vec<f64>; 3]> = benchmarks.iter().map(|_| Default::default()).collect();
    for _ in 0..args.repeat {
        for (benchmark, rates) in benchmarks.iter().zip(&mut rates) {
            let memory = &mut memory[..benchmark.blocks * benchmark.block()];
            let encoded = encode(benchmark, memory);
            let [decoded, planned] = decode(benchmark, memory);
            rates.iter_mut().zip([encoded, decoded, planned]).for_each(|(rates, rate)| rates.push(rate));
        }
    }
    load_average.extend(load());
    let benchmarks = benchmarks.iter().zip(rates).map(|(benchmark, rates)| {
        let [encode_bytes_per_s, decode_bytes_per_s, decode_planned_bytes_per_s] = rates.map(median);
        CodingMeasured {
            name: benchmark.name(),
            kernel: benchmark.kernel.name(),
            data: benchmark.code.data(),
            parity: benchmark.code.parity(),
            shard_bytes: SHARD,
            losses: benchmark.losses,
            working_set_bytes: benchmark.blocks * benchmark.block(),
            encode_bytes_per_s,
            decode_bytes_per_s,
            decode_planned_bytes_per_s,
        }
    });
    let document = CodingDocument { benchmarks: benchmarks.collect(), load_average, repeat: args.repeat };
    if args.json {
        output::json(&document);
    } else {
        output::text(&table(&document));
    }
    Ok(())
}

/// Every code on every kernel asked for, in the cache and out of it.
fn chosen(args: &BenchCodingArgs) -> Result<Vec<CodingBenchmark>, Failure> {
    let here: Vec<_> = Kernel::available().collect();
    let names: Vec<_> = here.iter().map(|kernel| kernel.name()).collect();
    if let Some(stray) = args.kernel.iter().find(|name| !names.contains(&name.as_str())) {
        let problem = unknown_name("kernel of this CPU", stray, &names, &[]);
        return Err(Failure::BadInput(format!("--kernel {stray}: {problem}")));
    }
    let wanted = |kernel: &&Kernel| args.kernel.is_empty() || args.kernel.iter().any(|n| n == kernel.name());
    let mut chosen = Vec::new();
    for (data, parity) in CODES {
        for &kernel in here.iter().filter(wanted) {
            let code = Code::new(data, parity).expect("the codes measured are good").on(kernel);
            let losses = parity.min(2);
            let cold = COLD / ((data + parity) * SHARD);
            for (blocks, suffix) in [(1, ""), (cold, "_cold")] {
                chosen.push(CodingBenchmark { code: code.clone(), kernel, losses, blocks, suffix });
            }
        }
    }
    Ok(chosen)
}

/// Random bytes, and a little more for the alignment.
fn memory(len: usize) -> Vec<u8> {
    let mut random = Random::new(1, Purpose::Test, 0);
    let mut bytes = vec![0; (len + ALIGNMENT).next_multiple_of(8)];
    bytes.chunks_exact_mut(8).for_each(|word| word.copy_from_slice(&random.bits().to_ne_bytes()));
    bytes
}

/// Data bytes a second that parity is made for.
fn encode(benchmark: &CodingBenchmark, memory: &mut [u8]) -> f64 {
    let code = &benchmark.code;
    let mut blocks: Vec<Whole> =
        memory.chunks_exact_mut(benchmark.block()).map(|block| Whole::new(block, code.data())).collect();
    rate(benchmark, &mut blocks, |block| {
        code.encode(black_box(&block.data), &mut block.parity).expect("the segments are those of the code");
        black_box(&mut block.parity);
    })
}

/// Data bytes a second of decoding blocks' first segments: with a plan for each block, and with one for all. The
/// parity must be right.
fn decode(benchmark: &CodingBenchmark, memory: &mut [u8]) -> [f64; 2] {
    let (code, losses) = (&benchmark.code, benchmark.losses);
    let sent = memory[..losses * SHARD].to_vec();
    memory[..losses * SHARD].fill(0);
    let mut blocks: Vec<Lossy> =
        memory.chunks_exact_mut(benchmark.block()).map(|block| Lossy::new(block, losses)).collect();
    let planning = rate(benchmark, &mut blocks, |block| {
        code.reconstruct(black_box(&block.segments), &mut block.lost).expect("enough segments are there");
        black_box(&mut block.lost);
    });
    let plan = code.plan(|index| index >= losses).expect("enough segments are there");
    let planned = rate(benchmark, &mut blocks, |block| {
        let read = &block.there[..code.data()];
        plan.reconstruct(black_box(read), &mut block.lost).expect("these are the segments to read");
        black_box(&mut block.lost);
    });
    assert!(memory[..losses * SHARD] == sent, "{}: the code gave other bytes", benchmark.name());
    [planning, planned]
}

/// A block of which everything is there.
struct Whole<'a> {
    data: Vec<&'a [u8]>,
    parity: Vec<&'a mut [u8]>,
}

impl<'a> Whole<'a> {
    fn new(block: &'a mut [u8], data: usize) -> Self {
        let (data, parity) = block.split_at_mut(data * SHARD);
        Self { data: data.chunks(SHARD).collect(), parity: parity.chunks_mut(SHARD).collect() }
    }
}

/// A block whose first segments are lost.
struct Lossy<'a> {
    /// All segments, the lost ones as `None`.
    segments: Vec<Option<&'a [u8]>>,
    /// Those that are not lost.
    there: Vec<&'a [u8]>,
    /// Where the lost ones are made.
    lost: Vec<&'a mut [u8]>,
}

impl<'a> Lossy<'a> {
    fn new(block: &'a mut [u8], losses: usize) -> Self {
        let (lost, there) = block.split_at_mut(losses * SHARD);
        let there: Vec<&[u8]> = there.chunks(SHARD).collect();
        let segments = (0..losses).map(|_| None).chain(there.iter().copied().map(Some)).collect();
        Self { segments, there, lost: lost.chunks_mut(SHARD).collect() }
    }
}

/// Data bytes a second of `work` on all blocks, from the median batch: a batch is short, so that
/// those in which something else had the core do not count.
fn rate<B>(benchmark: &CodingBenchmark, blocks: &mut [B], mut work: impl FnMut(&mut B)) -> f64 {
    blocks.iter_mut().for_each(&mut work);
    let passes = (BATCH / blocks.len()).max(1);
    let began = now();
    let mut rates = Vec::new();
    while began.elapsed() < TIME {
        for batch in blocks.chunks_mut(BATCH) {
            let batch_began = now();
            (0..passes).for_each(|_| batch.iter_mut().for_each(&mut work));
            let bytes = passes * batch.len() * benchmark.code.data() * SHARD;
            rates.push(bytes as f64 / batch_began.elapsed().as_secs_f64());
        }
    }
    median(rates)
}

/// The rate in the middle; of an even number, the lower of the two.
fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[(rates.len() - 1) / 2]
}

fn per_second(bytes_per_s: f64) -> String {
    bytes(Some(bytes_per_s)) + "/s"
}

fn table(document: &CodingDocument) -> String {
    let mut table =
        Table::new(["benchmark", "kernel", "working set", "losses", "encode", "decode", "decode, one plan"]);
    for b in &document.benchmarks {
        table.row([
            b.name.clone(),
            b.kernel.to_owned(),
            bytes(Some(b.working_set_bytes as f64)),
            b.losses.to_string(),
            per_second(b.encode_bytes_per_s),
            per_second(b.decode_bytes_per_s),
            per_second(b.decode_planned_bytes_per_s),
        ]);
    }
    let CodingDocument { repeat, load_average, .. } = document;
    format!("{}\ndata bytes a second on one core; {}\n", table.render(&[1]), rounds(*repeat, load_average))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rate_in_the_middle_counts() {
        assert_eq!(median(vec![3.0, 1.0, 2.0]), 2.0);
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), 2.0);
    }

    #[test]
    fn every_kernel_of_the_cpu_is_measured_in_the_cache_and_out_of_it() {
        let args = BenchCodingArgs { kernel: Vec::new(), repeat: 1, json: false };
        let all = chosen(&args).unwrap();
        assert_eq!(all.len(), CODES.len() * Kernel::available().count() * 2);
        assert!(all.iter().all(|b| if b.suffix.is_empty() { b.blocks == 1 } else { b.blocks > 1000 }));
        let portable = chosen(&BenchCodingArgs { kernel: vec!["portable".to_owned()], ..args }).unwrap();
        assert!(portable.iter().all(|b| b.kernel.name() == "portable") && portable.len() == CODES.len() * 2);
    }
}

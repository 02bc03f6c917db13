//! Sends a message between two loopback sockets of this process, through wires that lose and reorder by a seed: without
//! a code, and with blocks of eight data packets and two of parity.
//!
//! ```sh
//! cargo run --release -p farspan-udp --example loopback -- size=64MiB loss=0.01 reordering=0.01 marking=0 seed=1 congestion=fixed_window
//! ```

mod transfer;

use farspan_transport::coding::{self, CodingConfig, blocks};
use farspan_units::{Bytes, Duration};
use std::process::ExitCode;
use std::str::FromStr;
use transfer::{Report, Transfer, TransferError};

fn main() -> ExitCode {
    let transfers = match std::env::args().skip(1).try_fold(defaults(), |transfer, word| set(transfer, &word))
    {
        Ok(transfer) => [
            CodingConfig::None(coding::none::NoneConfig::default()),
            CodingConfig::Mds(blocks::MdsConfig::default()),
        ]
        .map(|coding| Transfer { coding, ..transfer.clone() }),
        Err(problem) => {
            eprintln!("loopback: {problem}");
            return ExitCode::from(2);
        }
    };
    for transfer in transfers {
        match transfer::run(&transfer) {
            Ok(report) if report.hashes[0] == report.hashes[1] => print(&transfer, &report),
            Ok(report) => {
                eprintln!("loopback: other bytes arrived: {:x?}", report.hashes);
                return ExitCode::from(3);
            }
            Err(error) => {
                eprintln!("loopback: {error}");
                return ExitCode::from(if matches!(error, TransferError::Scheme(_)) { 2 } else { 1 });
            }
        }
    }
    ExitCode::SUCCESS
}

fn defaults() -> Transfer {
    Transfer {
        size: Bytes::new(64 << 20),
        losses: farspan_udp::Losses { loss: 0.01, reordering: 0.01, marking: 0.0 },
        seed: 1,
        congestion: "fixed_window".to_owned(),
        coding: CodingConfig::None(coding::none::NoneConfig::default()),
        limit: Duration::from_ms(60_000),
    }
}

/// Takes one word of the command line.
fn set(mut transfer: Transfer, word: &str) -> Result<Transfer, String> {
    fn parse<T: FromStr<Err: ToString>>(word: &str, value: &str) -> Result<T, String> {
        value.parse().map_err(|error: T::Err| format!("{word}: {}", error.to_string()))
    }
    let probability = || {
        let is_one = |p: &f64| (0.0..=1.0).contains(p);
        let (_, value) = word.split_once('=').unwrap_or_default();
        value.parse().ok().filter(is_one).ok_or_else(|| format!("{word}: write a probability, such as 0.01"))
    };
    let (key, value) = word.split_once('=').unwrap_or((word, ""));
    match key {
        "size" => transfer.size = parse(word, value)?,
        "loss" => transfer.losses.loss = probability()?,
        "reordering" => transfer.losses.reordering = probability()?,
        "marking" => transfer.losses.marking = probability()?,
        "seed" => transfer.seed = parse(word, value)?,
        "limit" => transfer.limit = parse(word, value)?,
        "congestion" => value.clone_into(&mut transfer.congestion),
        _ => {
            return Err(format!(
                "{word}: write KEY=VALUE with size, loss, reordering, marking, seed, limit or congestion"
            ));
        }
    }
    if transfer.size.is_zero() {
        return Err(format!("{word}: a message has at least one byte"));
    }
    Ok(transfer)
}

fn print(transfer: &Transfer, report: &Report) {
    let Report { fct, counters, lost, marked, blocks_repaired, hashes } = report;
    let goodput = transfer.size.as_f64() / fct.as_secs_f64();
    println!(
        "coding {:<5} {:.2} s, goodput {:.1} MB/s; datagrams lost {} data, {} ACKs; sent again {} packets ({} time-outs, {} spurious); \
         marked {marked}; blocks {}, repaired {blocks_repaired}; bytes equal, hash {:016x}",
        transfer.coding.name(),
        fct.as_secs_f64(),
        goodput / 1e6,
        lost[0],
        lost[1],
        counters.retransmitted_packets,
        counters.timeouts,
        counters.spurious,
        counters.blocks,
        hashes[0],
    );
}

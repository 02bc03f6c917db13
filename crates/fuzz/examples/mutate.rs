//! Draws inputs near those of the corpora, on any compiler: `cargo run --release -p farspan-fuzz --example mutate -- 60 driver`
//! for 60 seconds of one target; of all, one after the other, without a name. An input that breaks its target is left in
//! `fuzz/artifacts`.

use farspan_fuzz::{TARGETS, Target, mutate};
use farspan_units::{Purpose, Random};
use std::panic::catch_unwind;
use std::path::Path;
use std::time::{Duration, Instant};

fn main() -> std::io::Result<()> {
    let mut words = std::env::args().skip(1);
    let seconds = words.next().and_then(|word| word.parse().ok()).unwrap_or(10);
    let wanted = words.next();
    for (name, target) in
        TARGETS.iter().filter(|(name, _)| wanted.as_ref().is_none_or(|wanted| wanted == name))
    {
        search(name, *target, Duration::from_secs(seconds))?;
    }
    Ok(())
}

/// Tries one target for so long.
#[expect(clippy::disallowed_methods, reason = "a search ends when its time has run out")]
fn search(name: &str, target: Target, time: Duration) -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let mut inputs = Vec::new();
    for entry in std::fs::read_dir(folder.join("corpus").join(name))? {
        inputs.push(std::fs::read(entry?.path())?);
    }
    let mut random = Random::new(std::process::id().into(), Purpose::Test, 0);
    let (began, mut count, mut longest) = (Instant::now(), 0_u64, Duration::ZERO);
    while began.elapsed() < time {
        let mut input = inputs[random.below(inputs.len() as u64) as usize].clone();
        for _ in 0..=random.below(4) {
            input = mutate(&input, &mut random);
        }
        let tried = Instant::now();
        if catch_unwind(|| target(&input)).is_err() {
            let file = folder.join("artifacts").join(format!("{name}-{count}"));
            std::fs::create_dir_all(folder.join("artifacts"))?;
            std::fs::write(&file, &input)?;
            return Err(std::io::Error::other(format!("{} breaks {name}", file.display())));
        }
        (count, longest) = (count + 1, longest.max(tried.elapsed()));
        if inputs.len() < 10_000 && count.is_multiple_of(100) {
            inputs.push(input);
        }
    }
    println!("{name}: {count} inputs, the slowest {:.1} ms", longest.as_secs_f64() * 1e3);
    Ok(())
}

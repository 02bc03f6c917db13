//! drive
#![allow(missing_docs, unused_crate_dependencies, clippy::all)]
use farspan_cli::{Itself, main_with_args};
use farspan_ledger::{Size, figures};
use farspan_sweep::{Options, Point, Program, Store, Watch, execute};
use std::path::Path;
struct Quiet;
impl Watch for Quiet {}
fn main() -> std::process::ExitCode {
    let exe = std::path::PathBuf::from("/tmp/fs-led");
    let args: Vec<String> = std::env::args().collect();
    if args.get(1).map(String::as_str) != Some("runs") {
        let itself = Itself { words: &[exe.clone().into_os_string()], code: &exe };
        return std::process::ExitCode::from(main_with_args(std::env::args_os(), &itself));
    }
    // drive runs OUT FIG/CASES/ARMS/MAXSEED ...
    let all = figures().unwrap();
    let program = Program::new(vec![exe.clone().into_os_string()], &[Path::new("/tmp/fs-led")]).unwrap();
    let store = Store::open(Path::new(&args[2]), &program).unwrap();
    for spec in &args[3..] {
        let parts: Vec<&str> = spec.split('/').collect();
        let figure = all.iter().find(|f| f.name == format!("oscar/{}", parts[0])).expect("figure");
        let has = |list: &str, name: &str| list == "*" || list.split(',').any(|n| n == name);
        let most: u64 = parts[3].parse().unwrap();
        let mut runs: Vec<_> = figure.plan(Size::Small).into_iter().filter(|run| {
            has(parts[1], &figure.cases[run.case].name) && has(parts[2], &figure.arms[run.arm].name) && run.seed <= most
        }).collect();
        runs.sort_by_key(|run| run.seed);
        if std::env::var_os("REVERSE").is_some() { runs.reverse(); }
        let began = std::time::Instant::now();
        let (mut fresh, mut wall, total) = (0, 0.0, runs.len());
        for run in runs {
            let point = Point::new(run.request.clone(), Vec::new()).unwrap();
            for done in execute(&[point], &store, &Options { jobs: 1, resume: true }, &Quiet).unwrap() {
                if !done.reused {
                    fresh += 1;
                    match &done.result {
                        Ok(d) => wall += d["wall_time_s"].as_f64().unwrap_or(0.0),
                        Err(e) => println!("FAILED {spec} {} {} s{}: {e}", figure.cases[run.case].name, figure.arms[run.arm].name, run.seed),
                    }
                }
            }
        }
        println!("{spec}: {total} runs, {fresh} fresh, {wall:.0} s in runs, {:.0} s in all", began.elapsed().as_secs_f64());
    }
    std::process::ExitCode::SUCCESS
}

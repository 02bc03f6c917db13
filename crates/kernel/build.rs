//! Compiles the eBPF programs of `bpf/` by clang, where the feature `load` asks for it.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs, without `.bpf.c`.
const PROGRAMS: [&str; 4] = ["tcp/gemini", "tcp/unocc", "tcp/fixed", "tc/mark"];

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    let asked = |name: &str| std::env::var_os(name);
    if asked("CARGO_FEATURE_LOAD").is_none()
        || asked("CARGO_CFG_TARGET_OS").is_none_or(|system| system != "linux")
    {
        return;
    }
    let folder = |name: &str| PathBuf::from(asked(name).expect("cargo sets it"));
    let sources = folder("CARGO_MANIFEST_DIR").join("../../bpf");
    println!("cargo:rerun-if-changed={}", sources.display());
    for program in PROGRAMS {
        let name = Path::new(program).file_name().expect("a program has a name");
        let object = folder("OUT_DIR").join(name).with_extension("bpf.o");
        compile(&sources.join(format!("{program}.bpf.c")), &object);
    }
}

/// Compiles a program; warnings are errors.
fn compile(source: &Path, object: &Path) {
    let target = std::env::var_os("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    // As libbpf's headers name architectures.
    let architecture = match target.to_str() {
        Some("x86_64") => "x86",
        Some("aarch64") => "arm64",
        Some("riscv64") => "riscv",
        _ => panic!(
            "the programs have not been tried on {}: build without the feature `kernel`",
            target.display()
        ),
    };
    let mut command = Command::new("clang");
    command.args(["-target", "bpf", "-O2", "-g", "-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter"]);
    command.arg(format!("-D__TARGET_ARCH_{architecture}"));
    // libbpf's headers, of the release that is linked.
    if let Some(headers) = std::env::var_os("DEP_BPF_INCLUDE") {
        command.arg("-I").arg(headers);
    }
    // Debian keeps the kernel's `asm` beside those of one machine.
    let machine = format!("/usr/include/{}-linux-gnu", target.to_string_lossy());
    command.args(["-idirafter", &machine, "-c"]).arg(source).arg("-o").arg(object);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => panic!("{}: clang refuses it ({status})", source.display()),
        Err(error) => panic!(
            "clang cannot be started ({error}): apt-get install clang libelf-dev zlib1g-dev, or build without the feature `kernel`"
        ),
    }
}

//! The controls as the kernel loads them.

use farspan_languages::Program;
use std::io::ErrorKind;
use std::path::Path;
use std::process::Command;

/// Compiles a control for the kernel, with every warning an error.
fn compile(control: &str, folder: &Path, defines: &[&str]) {
    let output = Command::new("clang")
        .args(["-O2", "-g", "-target", "bpf", "-Wall", "-Wextra", "-Werror", "-c"])
        .args(defines)
        .arg(Program::sources().join(format!("{control}.bpf.c")))
        .arg("-o")
        .arg(folder.join(format!("{control}.o")))
        .output();
    match output {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            farspan_skip::skip("clang", "no control was compiled for the kernel: apt install clang");
        }
        Err(error) => panic!("clang: {error}"),
        Ok(output) => {
            let said = String::from_utf8_lossy(&output.stderr);
            if said.contains("bpf/bpf_helpers.h' file not found") {
                farspan_skip::skip(
                    "libbpf-dev",
                    "no control was compiled for the kernel: apt install libbpf-dev",
                );
                return;
            }
            assert!(output.status.success() && said.is_empty(), "{control}: {said}");
        }
    }
}

#[test]
fn the_controls_compile_for_the_kernel_without_a_warning() {
    let folder = tempfile::tempdir().unwrap();
    for control in ["gemini", "unocc", "fixed"] {
        compile(control, folder.path(), &[]);
        compile(control, folder.path(), &["-DFARSPAN_WITHOUT_LINK"]);
    }
}

//! Whether a machine can have congestion controls and queues as eBPF programs; if not, what is missing.

use super::object::listened;
use super::pin::BPFFS;
use libbpf_rs::btf::types::{FuncProto, Ptr, Struct};
use libbpf_rs::btf::{Btf, ReferencesType as _};
use std::fs;
use std::path::Path;

/// The magic number of the BPF file system (`linux/magic.h`).
const BPF_FS_MAGIC: i64 = 0xcafe_4a11;
/// The kernel's own types.
const BTF: &str = "/sys/kernel/btf/vmlinux";
/// The type that the kernel gives to congestion controls by eBPF, and that of their links.
const NEEDED: [&[u8]; 2] = [b"\0bpf_struct_ops_tcp_congestion_ops\0", b"\0bpf_struct_ops_link\0"];

/// The arguments of `cong_control` since Linux 6.10: the socket, the ACK's number, its flags, the rate sample.
const ARGUMENTS: usize = 4;

/// Why this machine cannot, and the cure.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Missing {
    /// The process is not root's.
    #[error("only root can load programs into the kernel: run it with sudo")]
    Root,
    /// The kernel does not describe its own types.
    #[error(
        "the kernel has no {BTF}, which programs need to find its structures: boot a kernel with CONFIG_DEBUG_INFO_BTF"
    )]
    Btf,
    /// The kernel takes no congestion controls by eBPF.
    #[error(
        "this kernel cannot replace congestion controls in eBPF (struct_ops links): boot Linux 6.10 or later with \
         CONFIG_BPF_SYSCALL, CONFIG_BPF_JIT and CONFIG_DEBUG_INFO_BTF"
    )]
    StructOps,
    /// Its congestion controls get other arguments than farspan's read.
    #[error(
        "this kernel calls cong_control with {} arguments, but farspan's controls need {ARGUMENTS}: boot Linux 6.10 or later",
        found.map_or_else(|| "unknown".to_owned(), |found| found.to_string())
    )]
    Arguments {
        /// How many it gives, if its types say.
        found: Option<usize>,
    },
    /// The BPF file system is not there.
    #[error(
        "{BPFFS} is not a BPF file system, and installed programs need one: run mount -t bpf bpf {BPFFS}"
    )]
    BpfFs,
}

/// Whether this machine can install congestion controls.
///
/// # Errors
/// The first thing that is missing.
pub fn check() -> Result<(), Missing> {
    root()?;
    types(Path::new(BTF))?;
    arguments(arguments_of_cong_control())?;
    bpf_fs(Path::new(BPFFS))
}

/// Whether this process is root's. All that is done begins here: the library that loads speaks to nobody from now on.
pub(super) fn root() -> Result<(), Missing> {
    listened(|| ());
    if rustix::process::geteuid().is_root() { Ok(()) } else { Err(Missing::Root) }
}

fn types(path: &Path) -> Result<(), Missing> {
    let types = fs::read(path).map_err(|_| Missing::Btf)?;
    let has = |name: &&[u8]| types.windows(name.len()).any(|window| window == *name);
    if NEEDED.iter().all(has) { Ok(()) } else { Err(Missing::StructOps) }
}

fn arguments(found: Option<usize>) -> Result<(), Missing> {
    if found == Some(ARGUMENTS) { Ok(()) } else { Err(Missing::Arguments { found }) }
}

fn arguments_of_cong_control() -> Option<usize> {
    let types = Btf::from_vmlinux().ok()?;
    let operations: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
    let member = operations.iter().find(|member| member.name.is_some_and(|name| name == "cong_control"))?;
    let pointer: Ptr<'_> = types.type_by_id(member.ty)?;
    let function = FuncProto::try_from(pointer.referenced_type()).ok()?;
    Some(function.iter().count())
}

fn bpf_fs(path: &Path) -> Result<(), Missing> {
    let kind = rustix::fs::statfs(path).map_err(|_| Missing::BpfFs)?.f_type;
    if kind as i64 == BPF_FS_MAGIC { Ok(()) } else { Err(Missing::BpfFs) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_its_cure() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("vmlinux");
        assert_eq!(types(&path), Err(Missing::Btf));
        fs::write(&path, b"\0tcp_congestion_ops\0").unwrap();
        assert_eq!(types(&path), Err(Missing::StructOps));
        fs::write(&path, NEEDED.concat()).unwrap();
        assert_eq!(types(&path), Ok(()));
        assert_eq!(arguments(Some(2)), Err(Missing::Arguments { found: Some(2) }));
        assert_eq!(arguments(Some(4)), Ok(()));
        assert_eq!(bpf_fs(folder.path()), Err(Missing::BpfFs));
        assert_eq!(bpf_fs(&path.join("none")), Err(Missing::BpfFs));
        for (missing, cure) in [
            (Missing::Root, "sudo"),
            (Missing::Btf, "CONFIG_DEBUG_INFO_BTF"),
            (Missing::StructOps, "Linux 6.10"),
            (Missing::Arguments { found: Some(2) }, "with 2 arguments, but farspan's controls need 4"),
            (Missing::Arguments { found: None }, "Linux 6.10"),
            (Missing::BpfFs, "mount -t bpf bpf /sys/fs/bpf"),
        ] {
            assert!(missing.to_string().contains(cure), "{missing}");
        }
    }
}

//! Input files, and the memory that their contents may take: looked at before either is spent.

use std::io::{self, Read as _};
use std::path::Path;

/// The longest file of traffic that is read whole: 1 GiB, some 30 million flows.
pub const LONGEST_LIST: u64 = 1 << 30;
/// The longest topology that is read: 64 MiB, a million links by name.
pub const LONGEST_TOPOLOGY: u64 = 64 << 20;
/// The longest scenario or sweep that is read: 3 MiB, which take below 1 GB as tables of values. Longer lists of flows
/// are files of their own.
pub const LONGEST_SCENARIO: u64 = 3 << 20;

/// Reads a file of at most so many bytes, or a pipe that is open already, as a shell hands one over (`/dev/fd/63`).
///
/// # Errors
/// If it is a device or a pipe with a name, which may never end, if it is longer, or if the system refuses.
pub fn read_file(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let file = farspan_files::open(path)?;
    let mut bytes = Vec::new();
    bytes.try_reserve(file.metadata()?.len().min(most) as usize)?;
    file.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("it is longer than {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

/// A file does not hold UTF-8.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("line {line} is not UTF-8 text")]
pub struct NotUtf8 {
    /// The line, from 1, with the first byte that is not.
    pub line: usize,
}

/// The text of a file.
///
/// # Errors
/// If it is not UTF-8.
pub fn utf8(bytes: Vec<u8>) -> Result<String, NotUtf8> {
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        NotUtf8 { line: 1 + valid.iter().filter(|byte| **byte == b'\n').count() }
    })
}

/// Bytes of memory that are free: what the system has, or what this process's control groups (version 2) are still allowed,
/// whichever is less. `None` where neither can be read.
///
/// The kernel gives back what a group only caches (`inactive_file`): it counts as free.
#[must_use]
pub fn free_memory() -> Option<u64> {
    let system = read("/proc/meminfo").and_then(|text| available(&text));
    let own = read("/proc/self/cgroup").and_then(|text| own_group(&text).map(str::to_owned));
    let groups = own.iter().flat_map(|own| Path::new(own).ancestors()).filter_map(|group| {
        let folder = Path::new("/sys/fs/cgroup").join(group.strip_prefix("/").ok()?);
        let [most, used, stat] =
            ["max", "current", "stat"].map(|file| read(folder.join(format!("memory.{file}"))));
        allowed(&most?, &used?, &stat?)
    });
    system.into_iter().chain(groups).min()
}

fn read(path: impl AsRef<Path>) -> Option<String> {
    std::fs::read_to_string(path).ok()
}

/// `MemAvailable` of /proc/meminfo, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10)
}

/// The group of version 2 that /proc/self/cgroup names.
fn own_group(cgroup: &str) -> Option<&str> {
    cgroup.lines().find_map(|line| line.strip_prefix("0::"))
}

/// Bytes that a group may still take, by its memory.max, memory.current and memory.stat; `None` if it is not limited.
fn allowed(most: &str, used: &str, stat: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let cached = stat.lines().find_map(|line| line.strip_prefix("inactive_file ")).and_then(number);
    Some(number(most)?.saturating_sub(number(used)?.saturating_sub(cached.unwrap_or(0))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_up_to_its_bound_and_no_further() {
        let path = std::env::temp_dir().join(format!("farspan-input-{}", std::process::id()));
        std::fs::write(&path, [7; 100]).unwrap();
        assert_eq!(read_file(&path, 100).unwrap(), [7; 100]);
        assert_eq!(read_file(&path, 99).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(read_file(&path, 100).unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn what_is_no_text_is_said_with_its_line() {
        assert_eq!(utf8(b"one\ntwo".to_vec()).unwrap(), "one\ntwo");
        assert_eq!(utf8(b"one\ntwo \xff\n\xfe".to_vec()), Err(NotUtf8 { line: 2 }));
    }

    #[test]
    fn the_memory_that_is_free_is_what_the_kernel_calls_available() {
        let text = "MemTotal:       24000000 kB\nMemFree:  1 kB\nMemAvailable:   20000000 kB\n";
        assert_eq!(available(text), Some(20_000_000 << 10));
        assert_eq!(available("MemTotal: 3 kB\n"), None);
    }

    #[test]
    fn what_a_control_group_caches_is_free() {
        let stat = "anon 300\nfile 600\ninactive_anon 7\ninactive_file 500\nactive_file 100\n";
        assert_eq!(allowed("1000\n", "900\n", stat), Some(600));
        assert_eq!(allowed("1000\n", "900\n", ""), Some(100));
        assert_eq!(allowed("1000\n", "1700\n", stat), Some(0), "a limit that was lowered");
        assert_eq!(allowed("max\n", "900\n", stat), None);
        assert_eq!(allowed("1000\n", "", stat), None);
    }

    #[test]
    fn the_own_control_group_is_the_one_of_version_2() {
        assert_eq!(
            own_group("12:memory:/a\n1:name=systemd:/b\n0::/user.slice/run-1.scope\n"),
            Some("/user.slice/run-1.scope")
        );
        assert_eq!(own_group("0::/\n"), Some("/"));
        assert_eq!(own_group("3:memory:/docker/1\n"), None);
    }

    #[test]
    fn some_memory_is_free() {
        #[cfg(target_os = "linux")]
        assert!(free_memory().is_some_and(|bytes| bytes > 1 << 20));
    }
}

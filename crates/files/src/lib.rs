//! Writes files atomically: a file is written under a random name in the same folder, and renamed when it is complete. Until then
//! the old file stays. Writing never follows a link and never overwrites another user's file. This crate also opens files to
//! read, and refuses those that never end, such as pipes.
//!
//! ```
//! let path = std::env::temp_dir().join(format!("farspan-files-{}.txt", std::process::id()));
//! farspan_files::write(&path, b"all of it")?;
//! assert_eq!(std::fs::read(&path)?, b"all of it");
//! std::fs::remove_file(path)?;
//! # Ok::<(), std::io::Error>(())
//! ```
#![forbid(unsafe_code)]

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use tempfile::NamedTempFile;

/// The end of the name of a file that is not complete: `flows.parquet.x7Kd2Q.farspan-partial`.
const PARTIAL: &str = ".farspan-partial";

/// A file on its way to its place. Dropped before [`Self::finish`], it leaves nothing behind.
#[derive(Debug)]
pub struct NewFile {
    place: PathBuf,
    file: Written,
}

/// The open file.
#[derive(Debug)]
enum Written {
    /// Under a name of its own.
    Beside(NamedTempFile),
    /// A device or a pipe, which is written to as it is: a rename would take its place.
    Straight(File),
}

impl NewFile {
    /// A file that is to stand at `place`.
    ///
    /// # Errors
    /// If no file can be made in that folder.
    pub fn at(place: &Path) -> io::Result<Self> {
        let place = place.to_owned();
        // Opening a pipe by its name waits for a reader, for ever if need be.
        if is_named_pipe(&place) {
            return Err(io::Error::new(io::ErrorKind::Unsupported, "it is a named pipe"));
        }
        if is_special(&place) {
            let file = OpenOptions::new().write(true).open(&place)?;
            return Ok(Self { place, file: Written::Straight(file) });
        }
        let name = place.file_name().ok_or(io::ErrorKind::InvalidInput)?;
        let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
        let mut prefix = name.to_owned();
        prefix.push(".");
        let mut builder = tempfile::Builder::new();
        builder.prefix(&prefix).suffix(PARTIAL);
        #[cfg(unix)]
        let builder = {
            use std::os::unix::fs::PermissionsExt as _;
            // As any new file: the mask of the process takes its part.
            builder.permissions(std::fs::Permissions::from_mode(0o666))
        };
        let file = builder.tempfile_in(folder.unwrap_or(Path::new("."))).map_err(|error| plain(&error))?;
        Ok(Self { place, file: Written::Beside(file) })
    }

    /// The file is complete and gets its name.
    ///
    /// # Errors
    /// If it cannot be renamed; it is gone then.
    pub fn finish(mut self) -> io::Result<()> {
        self.flush()?;
        match self.file {
            Written::Beside(file) => file.persist(&self.place).map(drop).map_err(|error| error.error),
            Written::Straight(_) => Ok(()),
        }
    }
}

/// An error of the system without the name that nobody knows.
fn plain(error: &io::Error) -> io::Error {
    let text = error.to_string();
    let said = text.split_once(" at path ").map_or(&text[..], |(said, _)| said);
    io::Error::new(error.kind(), said)
}

impl Write for NewFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.file {
            Written::Beside(file) => file.write(bytes),
            Written::Straight(file) => file.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.file {
            Written::Beside(file) => file.flush(),
            Written::Straight(file) => file.flush(),
        }
    }
}

/// Writes a whole file.
///
/// # Errors
/// If it cannot be written; what stood there before stands there still.
pub fn write(place: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = NewFile::at(place)?;
    file.write_all(bytes)?;
    file.finish()
}

/// Writes a whole file where there is none.
///
/// # Errors
/// If something stands there ([`io::ErrorKind::AlreadyExists`]), or it cannot be written: there is none then.
pub fn create(place: &Path, bytes: &[u8]) -> io::Result<()> {
    if place.symlink_metadata().is_ok() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let mut file = NewFile::at(place)?;
    file.write_all(bytes)?;
    file.flush()?;
    match file.file {
        Written::Beside(file) => file.persist_noclobber(place).map(drop).map_err(|error| error.error),
        Written::Straight(_) => Ok(()),
    }
}

/// Opens a file to be read, or a pipe that is open already, as a shell hands one over (`/dev/fd/63`).
///
/// # Errors
/// If it is a device or a pipe with a name, which may never end, or if the system refuses.
pub fn open(path: &Path) -> io::Result<File> {
    let never_ends = |what: &str| Err(io::Error::new(io::ErrorKind::Unsupported, format!("it is a {what}")));
    // Opening a pipe by its name waits for a writer, for ever if need be.
    if is_named_pipe(path) {
        return never_ends("named pipe");
    }
    let file = File::open(path)?;
    if is_device(&file.metadata()?) { never_ends("device") } else { Ok(file) }
}

#[cfg(unix)]
fn is_named_pipe(path: &Path) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    let is_open = ["/dev/fd", "/dev/stdin", "/proc"].iter().any(|folder| path.starts_with(folder));
    !is_open && path.metadata().is_ok_and(|metadata| metadata.file_type().is_fifo())
}

#[cfg(not(unix))]
const fn is_named_pipe(_: &Path) -> bool {
    false
}

#[cfg(unix)]
fn is_device(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::FileTypeExt as _;
    metadata.file_type().is_char_device() || metadata.file_type().is_block_device()
}

#[cfg(not(unix))]
const fn is_device(_: &std::fs::Metadata) -> bool {
    false
}

/// Whether something stands there that is neither a file nor a folder, such as a device or a pipe.
#[must_use]
pub fn is_special(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir())
}

/// Removes what writers of `place` have left behind that were killed.
///
/// # Errors
/// If such a file cannot be removed.
pub fn remove_partial(place: &Path) -> io::Result<()> {
    let (Some(folder), Some(name)) = (place.parent(), place.file_name().and_then(|name| name.to_str()))
    else {
        return Ok(());
    };
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_left = entry.file_name().to_str().is_some_and(|other| is_partial_of(other, name));
        if is_left && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            std::fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

/// Whether a name is one under which a file of this name is written.
fn is_partial_of(other: &str, name: &str) -> bool {
    let middle = other.strip_prefix(name).and_then(|rest| rest.strip_prefix('.')?.strip_suffix(PARTIAL));
    middle.is_some_and(|middle| middle.len() == 6 && middle.bytes().all(|byte| byte.is_ascii_alphanumeric()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("farspan-files-{name}-{}", std::process::id()));
            fs::create_dir_all(&path).unwrap();
            Self(path)
        }

        fn names(&self) -> Vec<String> {
            let name = |entry: io::Result<fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
            let mut names: Vec<_> = fs::read_dir(&self.0).unwrap().map(name).collect();
            names.sort();
            names
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn a_file_is_created_once() {
        let folder = Folder::new("created");
        let place = folder.0.join("x.toml");
        create(&place, b"first").unwrap();
        assert_eq!(create(&place, b"second").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&place).unwrap(), b"first");
        assert_eq!(folder.names(), ["x.toml"]);
    }

    #[test]
    fn a_file_has_its_name_once_it_is_complete_and_leaves_nothing_otherwise() {
        let folder = Folder::new("whole");
        let place = folder.0.join("a.txt");
        fs::write(&place, "before").unwrap();
        let mut file = NewFile::at(&place).unwrap();
        file.write_all(b"after").unwrap();
        assert_eq!((fs::read_to_string(&place).unwrap(), folder.names().len()), ("before".to_owned(), 2));
        drop(file);
        assert_eq!(folder.names(), ["a.txt"]);
        write(&place, b"after").unwrap();
        assert_eq!(
            (fs::read_to_string(&place).unwrap(), folder.names()),
            ("after".to_owned(), vec!["a.txt".to_owned()])
        );
        assert!(write(&folder.0.join("no/such"), b"").is_err());
    }

    #[cfg(unix)]
    #[test]
    fn links_and_files_of_others_beside_it_stay_as_they_are() {
        use std::os::unix::fs::{PermissionsExt as _, symlink};
        let folder = Folder::new("links");
        let (place, victim) = (folder.0.join("a.txt"), folder.0.join("victim"));
        fs::write(&victim, "mine").unwrap();
        symlink(&victim, folder.0.join("a.txt.partial")).unwrap();
        symlink(&victim, &place).unwrap();
        write(&place, b"new").unwrap();
        assert_eq!(fs::read_to_string(&victim).unwrap(), "mine");
        assert!(!place.is_symlink() && folder.0.join("a.txt.partial").is_symlink());
        fs::write(folder.0.join("usual"), "").unwrap();
        let mode = |name: &str| fs::metadata(folder.0.join(name)).unwrap().permissions().mode();
        assert_eq!(mode("a.txt"), mode("usual"));
    }

    #[test]
    fn what_a_killed_writer_left_goes_and_nothing_else() {
        let folder = Folder::new("left");
        let others = [
            "a.txt",
            "a.txt.partial",
            "a.txt.mine.partial",
            "b.txt.x7Kd2Q.farspan-partial",
            "a.txt.backup.partial",
        ];
        for name in others.into_iter().chain(["a.txt.x7Kd2Q.farspan-partial"]) {
            fs::write(folder.0.join(name), "").unwrap();
        }
        remove_partial(&folder.0.join("a.txt")).unwrap();
        let mut left = others.map(str::to_owned);
        left.sort();
        assert_eq!(folder.names(), left);
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_with_a_name_is_not_written_to() {
        let folder = Folder::new("fifo");
        let place = folder.0.join("ff");
        let made = std::process::Command::new("mkfifo").arg(&place).status().unwrap();
        assert!(made.success());
        assert_eq!(write(&place, b"x").unwrap_err().to_string(), "it is a named pipe");
        assert_eq!(create(&place, b"x").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(create(Path::new("/dev/null"), b"x").unwrap_err().kind(), io::ErrorKind::AlreadyExists);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_written_to() {
        write(Path::new("/dev/null"), b"gone").unwrap();
        assert!(is_special(Path::new("/dev/null")) && !is_special(&std::env::temp_dir()));
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_not_read() {
        for device in ["/dev/zero", "/dev/null"] {
            let error = open(Path::new(device)).unwrap_err();
            assert_eq!(error.to_string(), "it is a device");
            assert!(is_special(Path::new(device)));
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_pipe_with_a_name_is_not_waited_for() {
        let path = std::env::temp_dir().join(format!("farspan-pipe-{}", std::process::id()));
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        if made.is_ok_and(|status| status.success()) {
            assert_eq!(open(&path).unwrap_err().to_string(), "it is a named pipe");
            fs::remove_file(&path).unwrap();
        }
    }
}

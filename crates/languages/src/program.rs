//! A C control as a plain program.

use crate::{Event, MSS, Name, Setting};
use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A compiled control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Program {
    /// The control.
    name: Name,
    /// Where the program is.
    executable: PathBuf,
}

/// The window of the C control after an event.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Replayed {
    /// Whole packets, as the kernel gets it.
    pub snd_cwnd: u32,
    /// With its fraction.
    pub cwnd: f64,
}

/// No windows of the C control.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// There is no C compiler.
    #[error("there is no C compiler `cc`: apt-get install gcc")]
    NoCompiler,
    /// The compiler refuses the source, with this to say.
    #[error("the compiler refuses the control: {0}")]
    Refused(String),
    /// The program failed, with this to say.
    #[error("the control failed: {0}")]
    Failed(String),
    /// A file or a process failed.
    #[error("a file or a process failed: {0}")]
    Io(#[from] io::Error),
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

impl Program {
    /// The folder of the C sources.
    #[must_use]
    pub fn sources() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf/tcp")
    }

    /// Compiles a control's source of the folder `sources` into `folder`.
    ///
    /// # Errors
    /// There is no compiler, or it refuses the source.
    pub fn compile(name: Name, sources: &Path, folder: &Path) -> Result<Self, ReplayError> {
        let text = name.text();
        let executable = folder.join(text);
        let output = Command::new("cc")
            .args(["-O2", "-Wall", "-Wextra", "-Werror", "-DFARSPAN_USER"])
            .arg(format!("-DCONTROL={text}"))
            .arg(format!("-DCONTROL_FILE=\"{text}.bpf.c\""))
            .arg(format!("-DREPLAY_{}", text.to_uppercase()))
            .arg("-I")
            .arg(sources)
            .arg(sources.join("replay.c"))
            .arg("-o")
            .arg(&executable)
            .output();
        match output {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Err(ReplayError::NoCompiler),
            Err(error) => Err(error.into()),
            Ok(output) if !output.status.success() => Err(ReplayError::Refused(said(&output))),
            Ok(_) => Ok(Self { name, executable }),
        }
    }

    /// The window after each event, and, of UnoCC, how many epochs and Quick Adapts there were.
    ///
    /// # Errors
    /// The program failed.
    pub fn windows(
        &self,
        setting: &Setting,
        events: &[Event],
    ) -> Result<(Vec<Replayed>, [u64; 2]), ReplayError> {
        assert_eq!(self.name, setting.name, "the setting is another control's");
        let mut text = format!("s {} {MSS} {}\n", setting.base_rtt_us, setting.start_pkts);
        for event in events {
            writeln!(text, "{event}").expect("memory takes all");
        }
        let (pairs, counts) = self.replay(&setting.arguments(), &text)?;
        let windows = pairs[1..].iter().map(|&[whole, cwnd]| Replayed {
            snd_cwnd: u32::try_from(whole).unwrap_or(u32::MAX),
            cwnd: cwnd as f64 / (1_u64 << 32) as f64,
        });
        Ok((windows.collect(), counts))
    }

    /// The two numbers that `bpf/tcp/replay.c` prints for each line of `text`, with these parameters; and the two that it ends with.
    ///
    /// # Errors
    /// The program failed.
    pub fn replay(&self, arguments: &[String], text: &str) -> Result<(Vec<[u64; 2]>, [u64; 2]), ReplayError> {
        let file = self.executable.with_extension("events");
        fs::write(&file, text)?;
        let output = Command::new(&self.executable)
            .args(arguments)
            .stdin(Stdio::from(fs::File::open(&file)?))
            .output()?;
        if !output.status.success() {
            return Err(ReplayError::Failed(said(&output)));
        }
        let text = String::from_utf8_lossy(&output.stdout);
        let mut counts = [0; 2];
        let mut pairs = Vec::with_capacity(text.len() / 8);
        for line in text.lines() {
            let failed = || ReplayError::Failed(line.to_owned());
            match line.strip_prefix("# ") {
                Some(line) => counts = pair(line).ok_or_else(failed)?,
                None => pairs.push(pair(line).ok_or_else(failed)?),
            }
        }
        Ok((pairs, counts))
    }
}

fn pair(line: &str) -> Option<[u64; 2]> {
    let (first, second) = line.split_once(' ')?;
    Some([first.parse().ok()?, second.parse().ok()?])
}

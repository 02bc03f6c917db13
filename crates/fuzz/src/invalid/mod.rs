//! Inputs that must be refused, made from valid ones by a seed: each has one flaw. What refuses them must say where it is and
//! what to do, soon and with little memory: see [`flaw`].

mod arguments;
mod rows;
mod toml_text;

use crate::error_message::flaw;
use farspan_formats::{cm as matrix, htsim};
use farspan_scenario::Request;
use farspan_sweep::Sweep;
use farspan_units::{Purpose, Random};
use farspan_world::World;
use std::fs;
use std::io;
use std::path::Path;

/// Kind of an input.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum InvalidKind {
    /// A scenario.
    Scenario,
    /// An assignment of `--set`.
    Assignment,
    /// A scheme's name with a coding.
    Scheme,
    /// A sweep.
    Sweep,
    /// A topology file.
    Topology,
    /// A flow list in CSV.
    List,
    /// A distribution of flow sizes.
    Sizes,
    /// A connection matrix of htsim.
    Matrix,
    /// A topology of htsim.
    Tree,
}

impl InvalidKind {
    /// All of them; a scenario comes twice as often as another.
    const ALL: [Self; 10] = [
        Self::Scenario,
        Self::Assignment,
        Self::Scheme,
        Self::Sweep,
        Self::Topology,
        Self::Scenario,
        Self::List,
        Self::Sizes,
        Self::Matrix,
        Self::Tree,
    ];

    /// The file in which it stands; `None`: it is an argument.
    const fn file(self) -> Option<&'static str> {
        match self {
            Self::Scenario => Some("invalid.toml"),
            Self::Assignment | Self::Scheme => None,
            Self::Sweep => Some("sweep.toml"),
            Self::Topology => Some("topology.toml"),
            Self::List => Some("list.csv"),
            Self::Sizes => Some("sizes.csv"),
            Self::Matrix => Some("matrix.cm"),
            Self::Tree => Some("tree.topo"),
        }
    }
}

/// An input that must be refused.
#[derive(Clone, Debug)]
pub struct Invalid {
    /// Its kind.
    pub kind: InvalidKind,
    /// How it was made.
    pub how: String,
    /// Its text: of a file, or of an argument.
    pub text: String,
}

/// Gives `count` inputs, always the same ones, kind by kind in turn.
pub fn invalid(count: usize) -> impl Iterator<Item = Invalid> {
    let documents = toml_text::Documents::new();
    let mut random = Random::new(7, Purpose::Test, 0);
    let kinds = InvalidKind::ALL.into_iter().cycle().take(count);
    kinds.map(move |kind| {
        let (how, text) = match kind {
            InvalidKind::Scenario => toml_text::one_of(&documents.scenarios, &mut random),
            InvalidKind::Sweep => toml_text::one_of(&documents.sweeps, &mut random),
            InvalidKind::Topology => toml_text::one_of(&documents.topologies, &mut random),
            InvalidKind::Assignment => arguments::assignment(&mut random),
            InvalidKind::Scheme => arguments::scheme(&mut random),
            InvalidKind::List => rows::list(&mut random),
            InvalidKind::Sizes => rows::sizes(&mut random),
            InvalidKind::Matrix => rows::matrix(&mut random),
            InvalidKind::Tree => rows::tree(&mut random),
        };
        Invalid { kind, how, text }
    })
}

const NETWORK: &str = "[topology]\nkind = 'star'\nhosts = 16\n";

impl Invalid {
    /// The flaw of a message that refuses it; `None`: it says where and what to do. Of TOML it names the line.
    #[must_use]
    pub fn flaw_of(&self, message: &str) -> Option<String> {
        let place = match self.kind {
            InvalidKind::Assignment => format!("--set {}", self.text),
            InvalidKind::Scheme => format!("--scheme {}", self.text),
            kind => kind.file().unwrap_or_default().to_owned(),
        };
        let is_toml = matches!(self.kind, InvalidKind::Scenario | InvalidKind::Sweep | InvalidKind::Topology);
        let has_line =
            message.split(&format!("{place}:")).any(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
        if is_toml && !has_line {
            return Some(format!("no line: {message}"));
        }
        flaw(message, &place)
    }

    /// Writes the files that it takes into a folder. Gives the words of a command that must refuse it there.
    ///
    /// # Errors
    /// If a file cannot be written.
    pub fn write(&self, folder: &Path) -> io::Result<Vec<String>> {
        if let Some(file) = self.kind.file() {
            fs::write(folder.join(file), &self.text)?;
        }
        let around = |text: &str| fs::write(folder.join("around.toml"), text);
        let words: &[&str] = match self.kind {
            InvalidKind::Scenario => &["check", "invalid.toml"],
            InvalidKind::Assignment => &["check", "uno/incast-mixed", "--set", &self.text],
            InvalidKind::Scheme => &["check", "uno/incast-mixed", "--scheme", &self.text],
            InvalidKind::Sweep => &["sweep", "sweep.toml", "--out", "results"],
            InvalidKind::Matrix => &["import", "cm", "matrix.cm", "--time-unit", "us"],
            InvalidKind::Tree => &["import", "topo", "tree.topo"],
            InvalidKind::Topology | InvalidKind::List | InvalidKind::Sizes => &["check", "around.toml"],
        };
        match self.kind {
            InvalidKind::Topology => around(
                "[topology]\nkind = 'from_file'\nfile = 'topology.toml'\n\
                 [[workload]]\nkind = 'permutation'\nflow_size = '1MiB'\n",
            )?,
            InvalidKind::List => {
                around(&format!("{NETWORK}[[workload]]\nkind = 'flows'\nfile = 'list.csv'\n"))?;
            }
            InvalidKind::Sizes => around(&format!(
                "{NETWORK}[[workload]]\nkind = 'poisson'\nsizes = 'sizes.csv'\nload = 0.1\nflows = 10\n"
            ))?,
            _ => {}
        }
        Ok(words.iter().map(|word| (*word).to_owned()).collect())
    }

    /// Takes it as the command does, but in this process. Gives the error message; `None`: it is accepted.
    ///
    /// # Errors
    /// If its files cannot be written.
    pub fn error(&self, folder: &Path) -> io::Result<Option<String>> {
        self.write(folder)?;
        let path = |name: &str| folder.join(name).display().to_string();
        let build = |request: &Request| {
            let built = request.resolve().and_then(|resolved| World::build(&resolved));
            built.err().map(|error| error.to_string())
        };
        let built_in = || Request::new("uno/incast-mixed");
        Ok(match self.kind {
            InvalidKind::Scenario => build(&Request::new(&path("invalid.toml"))),
            InvalidKind::Assignment => build(&Request { set: vec![self.text.clone()], ..built_in() }),
            InvalidKind::Scheme => build(&Request { scheme: Some(self.text.clone()), ..built_in() }),
            InvalidKind::Sweep => {
                Sweep::parse("sweep.toml", &self.text, None).err().map(|error| error.to_string())
            }
            InvalidKind::Matrix => {
                let read = matrix::read(&folder.join("matrix.cm"), matrix::TimeUnit::Us, None);
                read.err().map(|error| error.to_string())
            }
            InvalidKind::Tree => {
                htsim::read(&folder.join("tree.topo"), None).err().map(|error| error.to_string())
            }
            InvalidKind::Topology | InvalidKind::List | InvalidKind::Sizes => {
                build(&Request::new(&path("around.toml")))
            }
        })
    }
}

/// One of these.
fn pick<'a>(words: &[&'a str], random: &mut Random) -> &'a str {
    words[random.below(words.len() as u64) as usize]
}

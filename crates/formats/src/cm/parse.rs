//! Lines and tokens.

use super::number::{self, Start};
use super::{CmError, Problem, TimeUnit};
use farspan_workload::text;
use std::collections::BTreeMap;

/// Keywords of the header.
const HEADER: [&str; 4] = ["Nodes", "Connections", "Triggers", "Failures"];
/// Keywords of a connection.
const CONNECTION: [&str; 9] =
    ["id", "size", "start", "trigger", "send_done_trigger", "recv_done_trigger", "prio", "msg", "addon"];
/// Keywords of a trigger.
const TRIGGER: [&str; 5] = ["id", "oneshot", "multishot", "barrier", "count"];

const SPACES: &str = "write tokens between single spaces";
const WHOLE: &str = "write digits only";

/// A flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Connection {
    pub(super) line: u64,
    pub(super) src: u32,
    pub(super) dst: u32,
    pub(super) size: u64,
    /// `None` if a trigger starts it.
    pub(super) start: Option<Start>,
    pub(super) trigger: Option<u64>,
    pub(super) send_done: Option<u64>,
    pub(super) recv_done: Option<u64>,
}

/// The keys of a connection, the last of each.
#[derive(Default)]
struct Keys {
    id: Option<u64>,
    size: Option<u64>,
    start: Option<Start>,
    trigger: Option<u64>,
    send_done: Option<u64>,
    recv_done: Option<u64>,
}

/// Kind of a trigger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    Oneshot,
    Multishot,
    /// With its count.
    Barrier(u64),
}

/// Everything in a file.
#[derive(Default, Debug)]
pub(super) struct Parsed {
    pub(super) nodes: Option<u32>,
    /// Whether `nodes` comes from elsewhere.
    overridden: bool,
    pub(super) connections: Vec<Connection>,
    /// Triggers by id, with the line.
    pub(super) triggers: BTreeMap<u64, (u64, Kind)>,
    /// Warnings, with their lines.
    pub(super) odd: Vec<(u64, String)>,
    /// The numbers of the header, in the order of [`HEADER`], with the line.
    said: [Option<(u64, u32)>; HEADER.len()],
    /// Lines of flow ids.
    ids: BTreeMap<u64, u64>,
    /// The first line with a priority, and how many there are.
    prio: Option<(u64, u64)>,
    in_body: bool,
}

/// `nodes` holds whatever the header says.
pub(super) fn parse(file: &str, text: &str, unit: TimeUnit, nodes: Option<u32>) -> Result<Parsed, CmError> {
    let mut parsed = Parsed { nodes, overridden: nodes.is_some(), ..Parsed::default() };
    for (number, line) in (1..).zip(text.lines()) {
        let line = line.strip_suffix('\r').unwrap_or(line);
        if !line.is_empty() {
            let read = parsed.line(number, line, unit);
            read.map_err(|problem| with_largest(problem, text).at(file, Some(number)))?;
        }
    }
    parsed.check_counts().map_err(|(line, problem)| problem.at(file, line))?;
    if let Some((line, count)) = parsed.prio {
        parsed.odd.push((line, format!("prio, given by {count} flows, is ignored")));
    }
    Ok(parsed)
}

/// Names the largest host in a problem with a host, so that one corrected count mends them all.
fn with_largest(problem: Problem, text: &str) -> Problem {
    let Problem::NoSuchHost { host, nodes, .. } = problem else { return problem };
    let hosts = text.lines().filter_map(|line| line.split(' ').next()?.split_once("->"));
    let numbers = hosts.flat_map(|(src, dst)| [src, dst]).filter_map(whole::<u32>);
    Problem::NoSuchHost { host, largest: numbers.max().unwrap_or(host), nodes }
}

impl Parsed {
    fn line(&mut self, number: u64, line: &str, unit: TimeUnit) -> Result<(), Problem> {
        let mut tokens = Tokens::new(line);
        let first = tokens.next().unwrap_or_default();
        self.in_body |= first.contains("->") || first == "trigger" || first == "failure";
        match first {
            _ if !self.in_body => self.header(number, line, first, &mut tokens),
            "trigger" => self.trigger(number, &mut tokens),
            "failure" => Err(Problem::NotSupported {
                what: "a failed link (`failure`)",
                cure: "remove the line, and lower `Failures` by one",
            }),
            _ if first.contains("->") => self.connection(number, first, &mut tokens, unit),
            _ if first.starts_with('#') => Err(Problem::Comment),
            "" => Err(Problem::EmptyToken),
            _ if HEADER.contains(&first) => Err(Problem::Token {
                token: first.to_owned(),
                expected: "a connection, `trigger` or `failure`",
                cure: "move the line of the header above the first of them",
            }),
            _ => Err(Problem::Token {
                token: first.to_owned(),
                expected: "<src>-><dst>, `trigger` or `failure`",
                cure: "write no spaces around ->, and keywords in small letters",
            }),
        }
    }

    fn header(
        &mut self,
        number: u64,
        line: &str,
        first: &str,
        tokens: &mut Tokens<'_>,
    ) -> Result<(), Problem> {
        if first.starts_with('#') {
            return Ok(());
        }
        let Some(keyword) = HEADER.iter().position(|keyword| *keyword == first) else {
            if line.contains("->") {
                let token = first.to_owned();
                return Err(Problem::Token {
                    token,
                    expected: "<src>-><dst>",
                    cure: "write no spaces around ->",
                });
            }
            let hint = text::hint(text::nearest(first, &HEADER));
            self.odd.push((
                number,
                format!("{first:?} is not a keyword of the header (case-sensitive): ignored{hint}"),
            ));
            return Ok(());
        };
        let said = tokens.number(first, "a whole number below 2^32", WHOLE)?;
        if let Some(token) = tokens.next() {
            return Err(Problem::Token {
                token: token.to_owned(),
                expected: "the end of the line",
                cure: "remove it",
            });
        }
        if keyword == 0 && said == 0 {
            return Err(Problem::Token {
                token: "0".to_owned(),
                expected: "at least 1",
                cure: "give the number of hosts",
            });
        }
        self.said[keyword] = Some((number, said));
        if keyword == 0 {
            let holds = self.nodes.filter(|_| self.overridden);
            if let Some(nodes) = holds.filter(|nodes| *nodes != said) {
                self.odd
                    .push((number, format!("Nodes says {said}, but --nodes says {nodes}: --nodes is used")));
            }
            self.nodes = Some(holds.unwrap_or(said));
        }
        Ok(())
    }

    fn connection(
        &mut self,
        line: u64,
        first: &str,
        tokens: &mut Tokens<'_>,
        unit: TimeUnit,
    ) -> Result<(), Problem> {
        let (src, dst) = self.hosts(first)?;
        let Keys { id, size, start, trigger, send_done, recv_done } = self.keys(line, tokens, unit)?;
        let missing = |missing, cure| Err(Problem::Missing { missing, cure });
        let size = match size {
            None => return missing("size", "give the flow a size in bytes"),
            Some(0) => {
                let (token, cure) =
                    ("size 0".to_owned(), "give a size: flows without an end are not supported");
                return Err(Problem::Token { token, expected: "at least 1 byte", cure });
            }
            Some(size) => size,
        };
        match (start, trigger, id) {
            (None, None, _) => return missing("start or trigger", "give start TIME, or trigger ID"),
            (Some(_), Some(_), _) => return Err(Problem::StartAndTrigger),
            (None, Some(_), None) => {
                return missing("id", "give every flow with a trigger an id, at least 1");
            }
            _ => {}
        }
        if let Some(id) = id
            && let Some(first) = self.ids.insert(id, line)
        {
            return Err(Problem::Twice { what: "id", id, first });
        }
        self.connections.push(Connection { line, src, dst, size, start, trigger, send_done, recv_done });
        Ok(())
    }

    /// Reads the keys that follow the hosts of a connection.
    fn keys(&mut self, line: u64, tokens: &mut Tokens<'_>, unit: TimeUnit) -> Result<Keys, Problem> {
        let mut keys = Keys::default();
        while let Some(key) = tokens.next() {
            match key {
                "id" => keys.id = Some(tokens.positive(key)?),
                "size" => keys.size = Some(tokens.number(key, "a size in bytes, at least 1", WHOLE)?),
                "start" => keys.start = Some(tokens.start(unit)?),
                "trigger" => keys.trigger = Some(tokens.positive(key)?),
                "send_done_trigger" => keys.send_done = Some(tokens.positive(key)?),
                "recv_done_trigger" => keys.recv_done = Some(tokens.positive(key)?),
                "prio" => {
                    tokens.number::<i64>(key, "a whole number", WHOLE)?;
                    self.prio = Some(self.prio.map_or((line, 1), |(first, count)| (first, count + 1)));
                }
                "msg" => return Err(not_supported("a message on a shared connection (`msg`)")),
                "addon" => return Err(not_supported("`addon`")),
                _ => return Err(unknown(key, "a connection", &CONNECTION)),
            }
        }
        Ok(keys)
    }

    /// The hosts of `src->dst`.
    fn hosts(&self, token: &str) -> Result<(u32, u32), Problem> {
        let wrong = || Problem::Token {
            token: token.to_owned(),
            expected: "<src>-><dst>, two whole numbers",
            cure: "write it as 0->5, and one space behind it",
        };
        let (src, dst) = token.split_once("->").ok_or_else(wrong)?;
        let host = |text: &str| whole::<u32>(text).ok_or_else(wrong);
        let (src, dst) = (host(src)?, host(dst)?);
        if let Some(nodes) = self.nodes
            && let Some(host) = [src, dst].into_iter().find(|host| *host >= nodes)
        {
            return Err(Problem::NoSuchHost { host, largest: host, nodes });
        }
        if src == dst { Err(Problem::ToItself { host: src }) } else { Ok((src, dst)) }
    }

    fn trigger(&mut self, line: u64, tokens: &mut Tokens<'_>) -> Result<(), Problem> {
        let (mut id, mut count) = (None, None);
        let mut kind = None;
        while let Some(key) = tokens.next() {
            match key {
                "id" => id = Some(tokens.positive(key)?),
                "count" => count = Some(tokens.positive(key)?),
                "oneshot" | "multishot" | "barrier" if kind.is_some() => {
                    return Err(Problem::Token {
                        token: key.to_owned(),
                        expected: "one of oneshot, multishot, barrier, once",
                        cure: "keep one of them",
                    });
                }
                "oneshot" => kind = Some(Kind::Oneshot),
                "multishot" => kind = Some(Kind::Multishot),
                "barrier" => kind = Some(Kind::Barrier(0)),
                _ => return Err(unknown(key, "a trigger", &TRIGGER)),
            }
        }
        let missing = |missing, cure| Problem::Missing { missing, cure };
        let id = id.ok_or_else(|| missing("id", "write trigger id NUMBER, at least 1"))?;
        let kind = match (kind, count) {
            (None, _) => {
                return Err(missing("the kind of the trigger", "give oneshot, multishot or barrier"));
            }
            (Some(Kind::Barrier(_)), None) => {
                return Err(missing("count", "say how many activations the barrier needs"));
            }
            (Some(Kind::Barrier(_)), Some(count)) => Kind::Barrier(count),
            (Some(kind), Some(_)) => {
                self.odd.push((line, "count has a meaning only for a barrier: ignored".to_owned()));
                kind
            }
            (Some(kind), None) => kind,
        };
        match self.triggers.insert(id, (line, kind)) {
            Some((first, _)) => Err(Problem::Twice { what: "trigger", id, first }),
            None => Ok(()),
        }
    }

    /// Checks the counts of the header against the body.
    fn check_counts(&self) -> Result<(), (Option<u64>, Problem)> {
        let found = [self.connections.len() as u64, self.triggers.len() as u64, 0];
        if self.connections.is_empty() && self.said[1].is_none_or(|(_, said)| said == 0) {
            return Err((None, Problem::Empty));
        }
        for ((keyword, said), found) in HEADER.into_iter().zip(self.said).skip(1).zip(found) {
            let (line, said) = said.map_or((None, 0), |(line, said)| (Some(line), u64::from(said)));
            if said != found {
                return Err((line, Problem::Count { keyword, said, found }));
            }
        }
        Ok(())
    }
}

fn not_supported(what: &'static str) -> Problem {
    Problem::NotSupported { what, cure: "give every flow a connection of its own, and remove the keyword" }
}

fn unknown(token: &str, place: &'static str, known: &[&'static str]) -> Problem {
    if token.is_empty() {
        return Problem::EmptyToken;
    }
    let near = text::nearest(token, known);
    Problem::Keyword { token: token.to_owned(), place, known: known.join(", "), near }
}

/// Digits only, where the standard library would take a sign as well.
fn whole<T: std::str::FromStr>(text: &str) -> Option<T> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    digits.bytes().all(|b| b.is_ascii_digit()).then(|| text.parse().ok()).flatten()
}

/// The tokens of a line: what stands between single spaces. A space at the end is harmless.
struct Tokens<'a> {
    split: std::str::Split<'a, char>,
}

impl<'a> Tokens<'a> {
    fn new(line: &'a str) -> Self {
        Self { split: line.strip_suffix(' ').unwrap_or(line).split(' ') }
    }

    fn next(&mut self) -> Option<&'a str> {
        self.split.next()
    }

    /// The token behind `key`.
    fn value(&mut self, key: &str, expected: &'static str) -> Result<&'a str, Problem> {
        match self.next() {
            None => Err(Problem::LineEnds { after: key.to_owned(), expected }),
            Some("") => Err(Problem::EmptyToken),
            Some(token) => Ok(token),
        }
    }

    fn number<T: std::str::FromStr>(
        &mut self,
        key: &str,
        expected: &'static str,
        cure: &'static str,
    ) -> Result<T, Problem> {
        let token = self.value(key, expected)?;
        whole(token).ok_or_else(|| {
            let cure = if token.contains('\t') { SPACES } else { cure };
            Problem::Token { token: token.to_owned(), expected, cure }
        })
    }

    fn positive(&mut self, key: &str) -> Result<u64, Problem> {
        const EXPECTED: &str = "a whole number, at least 1";
        let number = self.number(key, EXPECTED, WHOLE)?;
        if number == 0 {
            let cure = "write a number from 1 on: 0 means nothing to htsim";
            return Err(Problem::Token { token: format!("{key} 0"), expected: EXPECTED, cure });
        }
        Ok(number)
    }

    fn start(&mut self, unit: TimeUnit) -> Result<Start, Problem> {
        const EXPECTED: &str = "a time as a decimal number, from 0 to 213 days";
        let token = self.value("start", EXPECTED)?;
        number::start(token, unit).ok_or_else(|| {
            let cure = match unit {
                _ if token.contains('\t') => SPACES,
                TimeUnit::Us => "write digits, such as 1500 or 0.5; --time-unit us says that they are us",
                TimeUnit::Ps => "write digits, such as 1500000; --time-unit ps says that they are ps",
            };
            Problem::Token { token: token.to_owned(), expected: EXPECTED, cure }
        })
    }
}

//! The sockets of a congestion control, as `ss` of iproute2 shows them.

use super::netns::Namespace;
use crate::Name;
use serde::Serialize;
use std::io;
use std::process::{Command, Stdio};

/// A TCP socket.
#[derive(Clone, PartialEq, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Socket {
    /// Where it is.
    pub namespace: String,
    /// `ESTAB`, `LISTEN`, ...
    pub state: String,
    /// Its own address and port.
    pub local: String,
    /// Those of its peer.
    pub peer: String,
    /// Congestion window, packets.
    pub cwnd: Option<u64>,
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: Option<f64>,
    /// Packets that were acknowledged.
    pub delivered: Option<u64>,
    /// Those of them that came marked, by the echo.
    pub delivered_ce: Option<u64>,
    /// The program and its process, if they are known.
    pub process: Option<String>,
}

/// Why sockets cannot be listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SocketsError {
    /// The namespace cannot be entered.
    #[error("{namespace}: its sockets are not shown, because the namespace cannot be entered ({source})")]
    NoEntry {
        /// The namespace.
        namespace: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// There is no `ss`, or it cannot be started.
    #[error("{namespace}: `ss` cannot be started ({source}): install iproute2")]
    NoProgram {
        /// Where it was to run.
        namespace: String,
        /// The error of the operating system.
        source: io::Error,
    },
    /// `ss` refuses.
    #[error("{namespace}: `ss` could not list sockets: {message}")]
    Refused {
        /// Where it ran.
        namespace: String,
        /// Its answer.
        message: String,
    },
}

impl Socket {
    /// Those in a namespace that have a control.
    pub(super) fn of(name: &Name, namespace: &Namespace) -> Result<Vec<Self>, SocketsError> {
        let list = || Command::new("ss").args(["-taniOHp"]).stdin(Stdio::null()).output();
        let label = namespace.to_string();
        let output = match namespace.inside(list) {
            Ok(output) => output,
            Err(source) => return Err(SocketsError::NoEntry { namespace: label, source }),
        };
        let output = output.map_err(|source| SocketsError::NoProgram { namespace: label.clone(), source })?;
        if !output.status.success() {
            let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            return Err(SocketsError::Refused { namespace: label, message });
        }
        let text = String::from_utf8_lossy(&output.stdout);
        Ok(text.lines().filter_map(|line| Self::read(line, name, &label)).collect())
    }

    /// A line, if it has the control.
    fn read(line: &str, name: &Name, namespace: &str) -> Option<Self> {
        let mut fields = line.split_ascii_whitespace();
        let state = fields.next()?.to_owned();
        let (_receive, _send) = (fields.next()?, fields.next()?);
        let (local, peer) = (fields.next()?.to_owned(), fields.next()?.to_owned());
        let mut socket = Self { namespace: namespace.to_owned(), state, local, peer, ..Self::default() };
        // Processes have any name, with blanks in it: theirs come first, and count apart.
        let rest = line.split_once(socket.peer.as_str()).map_or("", |(_, rest)| rest);
        let (users, rest) = match rest.split_once("users:((").and_then(|(_, rest)| rest.split_once("))")) {
            Some((users, rest)) => (Some(users), rest),
            None => (None, rest),
        };
        socket.process = users.and_then(process);
        let mut is_of = false;
        for field in rest.split_ascii_whitespace() {
            let Some((key, value)) = field.split_once(':') else {
                is_of |= field == name.as_str();
                continue;
            };
            match key {
                "cwnd" => socket.cwnd = value.parse().ok(),
                "rtt" => {
                    let ms = value.split('/').next().and_then(|ms| ms.parse::<f64>().ok());
                    socket.rtt_us = ms.map(|ms| ms * 1000.0);
                }
                "delivered" => socket.delivered = value.parse().ok(),
                "delivered_ce" => socket.delivered_ce = value.parse().ok(),
                _ => {}
            }
        }
        is_of.then_some(socket)
    }
}

/// `"iperf3",pid=12,fd=3` is `iperf3 (12)`.
fn process(users: &str) -> Option<String> {
    let name = users.split('"').nth(1)?;
    let pid = users.split("pid=").nth(1)?.split(',').next()?;
    Some(format!("{name} ({pid})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &str = "ESTAB 0      0          10.9.0.1:40404     10.9.0.2:5201  users:((\"iperf3\",pid=12,fd=5)) ecn ecnseen gemini \
                        wscale:7,7 rto:204 rtt:0.062/0.031 mss:1448 cwnd:10 bytes_sent:38 delivered:2 delivered_ce:1 app_limited busy:4ms";

    #[test]
    fn a_line_of_ss_is_read() {
        let name: Name = "gemini".parse().unwrap();
        let socket = Socket::read(LINE, &name, "lab").unwrap();
        assert_eq!((socket.cwnd, socket.delivered, socket.delivered_ce), (Some(10), Some(2), Some(1)));
        assert_eq!((socket.rtt_us, socket.state.as_str()), (Some(62.0), "ESTAB"));
        assert_eq!((socket.local.as_str(), socket.peer.as_str()), ("10.9.0.1:40404", "10.9.0.2:5201"));
        assert_eq!((socket.process.as_deref(), socket.namespace.as_str()), (Some("iperf3 (12)"), "lab"));
    }

    #[test]
    fn sockets_of_others_are_left_out() {
        for name in ["unocc", "gemin", "ecnsee"] {
            assert_eq!(Socket::read(LINE, &name.parse().unwrap(), "lab"), None);
        }
        let line = LINE.replace("\"iperf3\"", "\"an unocc (2)\"");
        assert_eq!(Socket::read(&line, &"unocc".parse().unwrap(), "lab"), None, "a process has the name");
        let socket = Socket::read(&line, &"gemini".parse().unwrap(), "lab").unwrap();
        assert_eq!(socket.process.as_deref(), Some("an unocc (2) (12)"));
        assert_eq!(Socket::read("", &"gemini".parse().unwrap(), "lab"), None);
    }
}

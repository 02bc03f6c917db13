//! Emulations on Linux: a network namespace and a TUN device for each host, and one thread that moves the packets.

mod clock;
mod commands;
mod host_queue;
mod name;
mod namespace;
mod probe;
mod processor;
mod recorder;
mod relay;
mod session;
mod socket;
mod state;
mod sys;
mod tcp;
mod tun;
mod tun_loop;

pub use commands::{ChoiceError, DownError, ExecError, State, Status, choose, down, exec, settle, status};
pub use host_queue::PASS_BY;
pub use name::{Name, NameError};
pub use namespace::NamespaceError;
pub use relay::{Relay, RelayError, RelaySummary};
pub use session::{Finished, MOST_HOSTS, Session, UpError, check, fits};
pub use state::{Facts, HostFacts, Verdict};
pub use sys::run_in_real_time;
pub use tcp::{Flows, FlowsFound, Messages, MessagesFound, prepare_host, send_flows, send_messages, sink};

/// This process has a session of its own from now on: it outlives the terminal and the command that started it.
pub fn detach() {
    // One that leads its session already needs none.
    let _ = rustix::process::setsid();
}

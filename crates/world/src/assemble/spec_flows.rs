//! The flows and triggers of a workload as the simulator takes them.

use super::shortest_link;
use farspan_fabric::Network;
use farspan_scenario::model::Scenario;
use farspan_scenario::value::TriggerDelay;
use farspan_sim::{Flow, Rule, Trigger};
use farspan_units::FlowId;
use farspan_workload::Workload;

pub(super) fn spec_flow(flow: &farspan_workload::Flow) -> Flow {
    Flow { src: flow.src, dst: flow.dst, size: flow.size, start: flow.start, measured: flow.measured }
}

pub(super) fn triggers(scenario: &Scenario, network: &Network, workload: &Workload) -> Vec<Trigger> {
    let shortest = shortest_link(network);
    let trigger = |trigger: &farspan_workload::Trigger| {
        let ids = |flows: &[u32]| flows.iter().copied().map(FlowId).collect();
        Trigger {
            rule: match trigger.rule {
                farspan_workload::Rule::All => Rule::All,
                farspan_workload::Rule::Next => Rule::Next,
            },
            started: ids(&trigger.started),
            finished: ids(&trigger.finished),
            delivered: ids(&trigger.delivered),
            targets: ids(&trigger.targets),
            pause: trigger.pause,
            delay: match scenario.workload[trigger.part as usize].trigger_delay() {
                Some(TriggerDelay::Value(delay)) => delay,
                Some(TriggerDelay::Lookahead) | None => shortest,
            },
        }
    };
    workload.triggers.iter().map(trigger).collect()
}

//! qlog, as JSON text sequences (draft-ietf-quic-qlog-main-schema-13).
//!
//! It has the events of draft-ietf-quic-qlog-quic-events-12 where they fit, and a namespace of ours for what QUIC has not.
//!
//! | ours | qlog |
//! |---|---|
//! | sender, receiver | vantage points `client`, `server`: one file each, with one `group_id` |
//! | time | ms from simulated 0, clock `monotonic` |
//! | number of a packet | `packet_number`: a retransmitted packet keeps its number |
//! | segment of the message | a `stream` frame; stream 0 |
//! | entropy | the event's `tuple`, a number as text |
//! | parity, NACKs, blocks, what proxies say | frames and events `farspan:...` |

use crate::event::{End, FlowEvent, Metrics, Reason, What};
use farspan_transport::coding::{Layout, Payload};
use farspan_transport::wire::{Data, Fate, Feedback, Header, Place, mapped};
use farspan_units::{Bytes, Duration, FlowId, Time};
use serde::Serialize;
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// The schema of a file.
pub const FILE_SCHEMA: &str = "urn:ietf:params:qlog:file:sequential";
/// How it is written.
pub const SERIALIZATION: &str = "application/qlog+json-seq";
/// The schemas of its events; the last is ours.
pub const EVENT_SCHEMAS: [&str; 2] =
    ["urn:ietf:params:qlog:events:quic-12", "urn:farspan:qlog:events:farspan-1"];
/// The byte that begins a record (RFC 7464); a line feed ends it.
pub const RECORD_SEPARATOR: u8 = 0x1e;

/// The head of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Head<'a> {
    /// The flow.
    pub flow: FlowId,
    /// Which end of it.
    pub end: End,
    /// The run: scenario, scheme, seed.
    pub description: &'a str,
    /// Whether the run was interrupted.
    pub partial: bool,
}

/// An event, in the order in which its fields are read.
#[derive(Serialize)]
struct Record {
    time: f64,
    name: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    tuple: Option<String>,
    data: Value,
}

/// Writes events of one end of a flow, in the order given, which is that of time.
pub struct QlogWriter<W> {
    out: W,
    mss: Bytes,
    /// How the packets of the flow make blocks, if it is coded.
    layout: Option<Layout>,
    /// The metrics that were written last.
    last: Map<String, Value>,
}

impl<W: Write> QlogWriter<W> {
    /// Writes the head of a file; `mss`: payload of a full packet, `layout`: of a coded flow.
    ///
    /// # Errors
    /// If `out` cannot be written.
    pub fn new(out: W, head: &Head<'_>, mss: Bytes, layout: Option<Layout>) -> io::Result<Self> {
        let mut writer = Self { out, mss, layout, last: Map::new() };
        let (kind, name) = match head.end {
            End::Sender => ("client", "sender"),
            End::Receiver => ("server", "receiver"),
        };
        let mut trace = json!({
            "common_fields": {
                "group_id": format!("flow-{}", head.flow),
                "time_format": "relative_to_epoch",
                "reference_time": { "clock_type": "monotonic", "epoch": "unknown" },
            },
            "vantage_point": { "name": name, "type": kind },
            "event_schemas": EVENT_SCHEMAS,
        });
        if head.partial {
            trace["common_fields"]["partial"] = true.into();
        }
        writer.record(&json!({
            "file_schema": FILE_SCHEMA,
            "serialization_format": SERIALIZATION,
            "title": format!("farspan: flow {}, {name}", head.flow),
            "description": head.description,
            "trace": trace,
        }))?;
        Ok(writer)
    }

    fn record(&mut self, value: &impl Serialize) -> io::Result<()> {
        self.out.write_all(&[RECORD_SEPARATOR])?;
        serde_json::to_writer(&mut self.out, value)?;
        self.out.write_all(b"\n")
    }

    /// Writes an event.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn event(&mut self, event: &FlowEvent) -> io::Result<()> {
        let (name, data) = self.name_and_data(&event.what);
        let tuple = match event.what {
            What::Sent { entropy, .. } | What::Arrived { entropy, .. } => Some(entropy.to_string()),
            _ => None,
        };
        self.record(&Record { time: ms_since_start(event.at), name, tuple, data })
    }

    /// Ends the file.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn name_and_data(&mut self, what: &What) -> (&'static str, Value) {
        match what {
            What::Started { local, remote, size } => {
                let end = |host: &farspan_units::HostId| json!({ "ip_v4": crate::frame::address(*host), "port_v4": crate::UDP_PORT });
                let mut data = json!({ "local": end(local), "remote": end(remote) });
                if let Some(size) = size {
                    data["size"] = size.get().into();
                }
                ("quic:connection_started", data)
            }
            What::PathUsed { entropy } => ("farspan:path_used", json!({ "entropy": entropy })),
            What::Sent { header, size, again, .. } => {
                let mut data = self.packet(header, *size, false);
                if let Some(reason) = again {
                    data["trigger"] = match reason {
                        Reason::Timeout => "retransmit_timeout",
                        Reason::Probe => "pto_probe",
                        _ => "retransmit_reordered",
                    }
                    .into();
                    data["retransmission"] = true.into();
                }
                ("quic:packet_sent", data)
            }
            What::Arrived { header, size, ecn_ce, trimmed, .. } => {
                let mut data = self.packet(header, *size, *trimmed);
                if header.data().is_some() {
                    data["ecn"] = if *ecn_ce { "CE" } else { "ECT(0)" }.into();
                }
                ("quic:packet_received", data)
            }
            What::Acked { packets } => ("quic:packets_acked", json!({ "packet_numbers": packets })),
            What::Lost { packet, reason } => ("quic:packet_lost", lost(*packet, *reason)),
            What::Metrics(metrics) => ("quic:recovery_metrics_updated", self.metrics(metrics)),
            What::State { old, new } => {
                let mut data = json!({ "new": new });
                if let Some(old) = old {
                    data["old"] = (*old).into();
                }
                ("quic:congestion_state_updated", data)
            }
            What::BlockCompleted { block, decoded } => {
                ("farspan:block_completed", json!({ "block": block, "decoded": decoded }))
            }
            What::BlockRequested { block, missing } => {
                ("farspan:block_requested", json!({ "block": block, "missing": missing }))
            }
            What::Ended => {
                ("quic:connection_closed", json!({ "initiator": "local", "trigger": "application" }))
            }
        }
    }

    /// A packet as `packet_sent` and `packet_received` show it. ACKs and NACKs have no number.
    fn packet(&self, header: &Header, size: Bytes, trimmed: bool) -> Value {
        let mut frames = Vec::new();
        let mut front = json!({ "packet_type": "1RTT" });
        let is_mark = header.is_mark();
        if let Some(data) = header.data().filter(|_| !is_mark) {
            front["packet_number"] = data.seq.into();
            frames.push(self.segment(data));
        }
        if let Some(Place { lane, number }) = header.place() {
            let kind = if is_mark { "farspan:burst_end" } else { "farspan:numbered" };
            frames.push(json!({ "frame_type": kind, "lane": lane, "number": number }));
        }
        if let Header::Handshake(open) = header {
            front["packet_type"] = "initial".into();
            frames.push(json!({ "frame_type": "farspan:open", "packets": open.packets }));
        }
        frames.extend(header.feedback().map(feedback_frame));
        let mut data = json!({ "header": front, "frames": frames, "raw": { "length": size.get() } });
        if trimmed {
            data["trimmed"] = true.into();
        }
        data
    }

    /// The segment in a data packet.
    fn segment(&self, data: &Data) -> Value {
        let raw = json!({ "length": data.len });
        let payload = self.layout.as_ref().map(|layout| layout.payload(data.seq));
        match payload {
            Some(Payload::Parity { block, index }) => {
                json!({ "frame_type": "farspan:parity", "block": block.number, "index": index, "raw": raw })
            }
            Some(Payload::Source(range)) => {
                json!({ "frame_type": "stream", "stream_id": 0, "offset": range.start, "raw": raw })
            }
            None => {
                let offset = self.mss.get() * u64::from(data.seq);
                json!({ "frame_type": "stream", "stream_id": 0, "offset": offset, "raw": raw })
            }
        }
    }

    /// The metrics that have changed since they were written last.
    fn metrics(&mut self, metrics: &Metrics) -> Value {
        let Metrics { cwnd, in_flight, srtt, latest_rtt, min_rtt, pacing_rate } = *metrics;
        let values = [
            ("min_rtt", min_rtt.map(|rtt| ms(rtt).into())),
            ("smoothed_rtt", srtt.map(|rtt| ms(rtt).into())),
            ("latest_rtt", latest_rtt.map(|rtt| ms(rtt).into())),
            ("congestion_window", Some(Value::from(cwnd.get()))),
            ("bytes_in_flight", Some(in_flight.get().into())),
            ("pacing_rate", pacing_rate.map(|rate| rate.as_bps().into())),
        ];
        let mut changed = Map::new();
        for (name, value) in values {
            let Some(value) = value else { continue };
            if self.last.get(name) != Some(&value) {
                self.last.insert(name.to_owned(), value.clone());
                changed.insert(name.to_owned(), value);
            }
        }
        changed.into()
    }
}

fn lost(packet: u32, reason: Reason) -> Value {
    let trigger = match reason {
        Reason::Timeout | Reason::Probe => Some("pto_expired"),
        Reason::Reordering => Some("time_threshold"),
        Reason::Trimmed | Reason::Gap | Reason::Block | Reason::Returned => None,
    };
    let mut data = json!({ "header": { "packet_type": "1RTT", "packet_number": packet } });
    match (trigger, reason) {
        (Some(trigger), _) => data["trigger"] = trigger.into(),
        (None, Reason::Trimmed) => data["farspan_trigger"] = "trimmed".into(),
        (None, Reason::Gap) => data["farspan_trigger"] = "gap".into(),
        (None, Reason::Returned) => data["farspan_trigger"] = "returned".into(),
        (None, _) => data["farspan_trigger"] = "block_requested".into(),
    }
    data
}

/// The frame for the feedback of a receiver or a proxy.
fn feedback_frame(feedback: &Feedback) -> Value {
    let Feedback { seq, cumulative, fate, .. } = *feedback;
    match fate {
        Fate::Arrived { ecn_ce, block_complete, map, .. } => {
            acknowledgement((seq, cumulative, map), ecn_ce, block_complete)
        }
        Fate::Trimmed { .. } => {
            json!({ "frame_type": "farspan:nack", "trimmed": seq, "cumulative": cumulative })
        }
        Fate::Missing { packets } => {
            let missing: Vec<_> =
                (0..32).filter(|bit| packets >> bit & 1 == 1).map(|bit| seq + bit).collect();
            json!({ "frame_type": "farspan:block_nack", "missing": missing, "cumulative": cumulative })
        }
        Fate::Pull { count } => {
            json!({ "frame_type": "farspan:pull", "count": count, "cumulative": cumulative })
        }
        Fate::Cnp => json!({ "frame_type": "farspan:cnp", "cumulative": cumulative }),
        Fate::Taken { ecn_ce, limit, .. } => {
            let mut frame = acknowledgement((seq, cumulative, 0), ecn_ce, false);
            frame["frame_type"] = "farspan:taken".into();
            frame["limit"] = limit.into();
            frame
        }
        Fate::PassedOn { limit } => {
            json!({ "frame_type": "farspan:passed_on", "cumulative": cumulative, "limit": limit })
        }
        Fate::Gap { first: Place { lane, number }, count } => {
            json!({ "frame_type": "farspan:gap", "lane": lane, "first": number, "count": count })
        }
        fate => unreachable!("no frame has a place for {fate:?}"),
    }
}

/// An ACK: the packet that it is for, all below the cumulative number, and those of its map.
fn acknowledgement((seq, cumulative, map): (u32, u32, u64), ecn_ce: bool, block_complete: bool) -> Value {
    let mut ranges = Vec::new();
    match cumulative {
        0 => {}
        1 => ranges.push(json!([0])),
        cumulative => ranges.push(json!([0, cumulative - 1])),
    }
    let above: BTreeSet<u32> = mapped(cumulative, map).chain((seq >= cumulative).then_some(seq)).collect();
    ranges.extend(above.into_iter().map(|seq| json!([seq])));
    let mut frame = json!({ "frame_type": "ack", "acked_ranges": ranges });
    if ecn_ce {
        frame["ce"] = 1.into();
    }
    if block_complete {
        frame["block_complete"] = true.into();
    }
    frame
}

fn ms(duration: Duration) -> f64 {
    duration.as_ps() as f64 / 1e9
}

fn ms_since_start(time: Time) -> f64 {
    ms(time.since(Time::ZERO))
}

#[cfg(test)]
mod tests {
    use super::*;
    use farspan_transport::coding::Shape;
    use farspan_transport::wire::{Coded, Echo, Numbered};
    use farspan_units::{HostId, Rate};

    const MSS: Bytes = Bytes::new(4096);

    fn event(us: u64, what: What) -> FlowEvent {
        FlowEvent { at: Time::ZERO + Duration::from_us(us), flow: FlowId(17), end: End::Sender, what }
    }

    /// The text of a log, record by record; the separators are checked.
    fn log(layout: Option<Layout>, events: &[FlowEvent]) -> Vec<String> {
        let head = Head { flow: FlowId(17), end: End::Sender, description: "a run", partial: true };
        let mut writer = QlogWriter::new(Vec::new(), &head, MSS, layout).expect("memory");
        events.iter().for_each(|event| writer.event(event).expect("memory"));
        let text = String::from_utf8(writer.finish().expect("memory")).expect("JSON is UTF-8");
        let mut records = text.split('\u{1e}').map(|record| record.trim_end_matches('\n').to_owned());
        assert_eq!(records.next().as_deref(), Some(""), "the separator begins a record");
        records.collect()
    }

    fn data(seq: u32) -> Data {
        Data {
            flow: FlowId(17),
            seq,
            packets: 10,
            len: 4096,
            sent_at: Time::ZERO,
            entropy: 7,
            profile: 0,
            ask: false,
        }
    }

    fn sent(header: Header, again: Option<Reason>) -> What {
        What::Sent { header, size: Bytes::new(4160), entropy: 7, again }
    }

    #[test]
    fn the_head_names_schemas_clock_and_vantage_point() {
        let head: Value = serde_json::from_str(&log(None, &[])[0]).expect("JSON");
        assert_eq!(head["file_schema"], FILE_SCHEMA);
        assert_eq!(head["trace"]["vantage_point"], json!({ "name": "sender", "type": "client" }));
        assert_eq!(
            head["trace"]["common_fields"]["reference_time"],
            json!({ "clock_type": "monotonic", "epoch": "unknown" })
        );
        assert_eq!(head["trace"]["common_fields"]["partial"], true);
    }

    #[test]
    fn a_packet_has_its_time_in_ms_its_path_and_its_place_in_the_message() {
        let events = [
            event(1500, sent(Header::Data(data(2)), None)),
            event(1501, sent(Header::Data(data(2)), Some(Reason::Timeout))),
        ];
        let log = log(None, &events);
        assert_eq!(
            log[1],
            concat!(
                r#"{"time":1.5,"name":"quic:packet_sent","tuple":"7","data":{"frames":[{"frame_type":"stream","offset":8192,"#,
                r#""raw":{"length":4096},"stream_id":0}],"header":{"packet_number":2,"packet_type":"1RTT"},"raw":{"length":4160}}}"#
            )
        );
        assert!(log[2].contains(r#""retransmission":true,"trigger":"retransmit_timeout""#), "{}", log[2]);
    }

    #[test]
    fn parity_is_a_frame_of_ours() {
        let shape = Shape::new(8, 2).expect("a code");
        let layout = Layout::of_message(MSS * 8, MSS, shape).expect("a message");
        let coded = |seq| Header::Coded(Coded { data: data(seq), shape, last_len: 4096, block_wait_ns: 5 });
        let log = log(Some(layout), &[event(0, sent(coded(7), None)), event(0, sent(coded(9), None))]);
        assert!(log[1].contains(r#""frame_type":"stream","offset":28672"#), "{}", log[1]);
        assert!(
            log[2].contains(r#"{"block":0,"frame_type":"farspan:parity","index":1,"raw":{"length":4096}}"#),
            "{}",
            log[2]
        );
    }

    #[test]
    fn an_ack_says_what_is_acknowledged() {
        let mapped = |seq, cumulative, map| {
            acknowledgement((seq, cumulative, map), false, false)["acked_ranges"].clone()
        };
        let ack = |seq, cumulative| mapped(seq, cumulative, 0);
        assert_eq!(ack(0, 0), json!([[0]]));
        assert_eq!(ack(0, 1), json!([[0]]));
        assert_eq!(ack(5, 3), json!([[0, 2], [5]]));
        assert_eq!(mapped(5, 3, 0b1010), json!([[0, 2], [5], [7]]));
    }

    #[test]
    fn what_a_proxy_says_are_frames_of_ours_and_a_number_is_one_beside_the_segment() {
        let place = Place { lane: 3, number: 65_535 };
        let numbered = Header::Numbered(Numbered { data: data(2), place });
        let echo = Echo { sent_at: Time::ZERO, entropy: 7 };
        let fates = [
            Fate::Taken { echo, ecn_ce: true, limit: 9 },
            Fate::PassedOn { limit: 9 },
            Fate::Gap { first: place, count: 2 },
        ];
        let feedback = |fate| Header::Feedback(Feedback { flow: FlowId(17), seq: 4, cumulative: 2, fate });
        let end = Data { len: 0, seq: data(2).packets, ..data(2) };
        let mark = Header::Numbered(Numbered { data: end, place });
        let headers = [numbered, mark].into_iter().chain(fates.map(feedback));
        let lost = What::Lost { packet: 2, reason: Reason::Gap };
        let events: Vec<_> =
            headers.map(|header| event(0, sent(header, None))).chain([event(1, lost)]).collect();
        let log = log(None, &events);
        let expected = [
            r#"{"frame_type":"farspan:numbered","lane":3,"number":65535}],"header":{"packet_number":2,"#,
            r#"{"frames":[{"frame_type":"farspan:burst_end","lane":3,"number":65535}],"header":{"packet_type":"1RTT"}"#,
            r#"{"acked_ranges":[[0,1],[4]],"ce":1,"frame_type":"farspan:taken","limit":9}"#,
            r#"{"cumulative":2,"frame_type":"farspan:passed_on","limit":9}"#,
            r#"{"count":2,"first":65535,"frame_type":"farspan:gap","lane":3}"#,
            r#""farspan_trigger":"gap""#,
        ];
        for (record, expected) in log[1..].iter().zip(expected) {
            assert!(record.contains(expected), "{expected} in {record}");
        }
    }

    #[test]
    fn only_what_has_changed_of_the_metrics_is_written() {
        let first = Metrics {
            cwnd: Bytes::new(8192),
            in_flight: Bytes::ZERO,
            srtt: None,
            latest_rtt: None,
            min_rtt: None,
            pacing_rate: Some(Rate::from_gbps(1)),
        };
        let second = Metrics { in_flight: MSS, srtt: Some(Duration::from_us(12)), ..first };
        let log = log(None, &[event(0, What::Metrics(first)), event(1, What::Metrics(second))]);
        assert!(
            log[1].ends_with(
                r#""data":{"bytes_in_flight":0,"congestion_window":8192,"pacing_rate":1000000000}}"#
            )
        );
        assert!(log[2].ends_with(r#""data":{"bytes_in_flight":4096,"smoothed_rtt":0.012}}"#), "{}", log[2]);
    }

    #[test]
    fn every_kind_of_event_has_a_name_with_a_namespace() {
        let whats = [
            What::Started { local: HostId(0), remote: HostId(1), size: Some(MSS) },
            What::PathUsed { entropy: 7 },
            What::Acked { packets: vec![1] },
            What::Lost { packet: 1, reason: Reason::Trimmed },
            What::State { old: None, new: "slow_start" },
            What::BlockCompleted { block: 0, decoded: true },
            What::BlockRequested { block: 0, missing: vec![3] },
            What::Ended,
        ];
        for record in &log(None, &whats.map(|what| event(0, what)))[1..] {
            let record: Value = serde_json::from_str(record).expect("JSON");
            let name = record["name"].as_str().unwrap_or_default();
            assert!(name.starts_with("quic:") || name.starts_with("farspan:"), "{record}");
        }
    }
}

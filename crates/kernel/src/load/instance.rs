//! Congestion controls by eBPF that are in the kernel, by the ids of their maps: also those that are not registered any more and
//! live on because something holds them.

use super::object::{held, member};
use crate::{Control, Name, Parameter, Settings};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Struct;
use libbpf_rs::query::{LinkTypeInfo, MapInfoIter, ProgInfoIter, ProgInfoQueryOptions};
use libbpf_rs::{Link, MapCore as _, MapFlags, MapHandle, MapType, ProgramType};
use std::path::Path;

/// A map that holds the operations of a control.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Instance {
    /// The map's id.
    pub(super) map: u32,
    /// The control that it was made from, if it is one of ours.
    pub(super) control: Option<Control>,
    /// How much holds it, at about: the link, sockets, namespaces' defaults.
    pub(super) holders: u32,
    /// Its parameters; `None`: they cannot be read.
    pub(super) settings: Option<Settings>,
}

/// Where the kernel keeps what is looked for in the value of such a map.
struct Layout {
    value: u32,
    holders: usize,
    name: usize,
    program: usize,
}

impl Layout {
    fn read() -> Option<Self> {
        let types = Btf::from_vmlinux().ok()?;
        let value: Struct<'_> = types.type_by_name("bpf_struct_ops_tcp_congestion_ops")?;
        let operations: Struct<'_> = types.type_by_name("tcp_congestion_ops")?;
        let data = member(&value, "data")?;
        Some(Self {
            value: value.type_id().into(),
            // The first field of `common`, which is the first member.
            holders: member(&value, "common")?,
            name: data + member(&operations, "name")?,
            // Each control has this operation.
            program: data + member(&operations, "ssthresh")?,
        })
    }
}

fn word(value: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_ne_bytes(value.get(at..at + 4)?.try_into().ok()?))
}

impl Instance {
    /// Those of a name.
    pub(super) fn of(name: &Name) -> Vec<Self> {
        Self::all().into_iter().filter(|(found, _)| found == name).map(|(_, instance)| instance).collect()
    }

    /// All of them, by the id of the map.
    pub(super) fn all() -> Vec<(Name, Self)> {
        let Some(layout) = Layout::read() else { return Vec::new() };
        let is_ours = |info: &libbpf_rs::query::MapInfo| {
            info.ty == MapType::StructOps && info.btf_vmlinux_value_type_id == layout.value
        };
        let maps = MapInfoIter::default().filter(is_ours);
        maps.filter_map(|info| Self::read(&layout, info.id, &info.name.to_string_lossy())).collect()
    }

    /// That of a map, unless it is gone meanwhile.
    fn read(layout: &Layout, map: u32, symbol: &str) -> Option<(Name, Self)> {
        let value = MapHandle::from_map_id(map).ok()?.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??;
        let name = value.get(layout.name..layout.name + 16)?.split(|byte| *byte == 0).next()?;
        let name: Name = std::str::from_utf8(name).ok()?.parse().ok()?;
        let control = symbol.parse::<Control>().ok();
        let settings = control.and_then(|control| settings(control, word(&value, layout.program)?));
        Some((name, Self { map, control, holders: word(&value, layout.holders)?, settings }))
    }
}

/// The parameters that a program of a control reads: all of them, or none.
fn settings(control: Control, program: u32) -> Option<Settings> {
    let variables = constants(program)?;
    let get = |parameter: &Parameter| {
        variables.iter().find(|(name, _)| name == parameter.variable).map(|(_, raw)| *raw)
    };
    let settings = Settings::default().or(control, get);
    (settings.iter().count() == control.parameters().len()).then_some(settings)
}

/// The variables that a program only reads, with their values.
pub(super) fn constants(program: u32) -> Option<Vec<(String, u64)>> {
    let maps = maps_of(program)?;
    let constants = maps.into_iter().filter_map(|id| MapHandle::from_map_id(id).ok());
    // The kernel keeps 15 letters: `gemini.b.rodata`, `.rodata`.
    let constants = constants.into_iter().find(|map| map.name().to_string_lossy().ends_with(".rodata"))?;
    let data = constants.lookup(&0_u32.to_ne_bytes(), MapFlags::ANY).ok()??;
    Some(held(program, &data))
}

/// The ids of the maps of a program.
pub(super) fn maps_of(program: u32) -> Option<Vec<u32>> {
    let query = ProgInfoQueryOptions::default().include_map_ids(true);
    let mut programs = ProgInfoIter::with_query_opts(query);
    let found = programs.find(|info| info.id == program)?;
    matches!(found.ty, ProgramType::StructOps | ProgramType::SchedCls).then_some(found.map_ids)
}

/// The map of the link that a pin holds.
pub(super) fn linked(pin: &Path) -> Option<u32> {
    let link = Link::open(pin).ok()?;
    match link.info().ok()?.info {
        LinkTypeInfo::StructOps(info) => Some(info.map_id),
        _ => None,
    }
}

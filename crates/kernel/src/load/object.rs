//! Objects that clang made: their variables are set, and the kernel checks them.

use libbpf_rs::btf::types::{DataSec, MemberAttr, Struct, Var};
use libbpf_rs::btf::{Btf, HasSize as _, ReferencesType as _};
use libbpf_rs::{MapType, Object, ObjectBuilder, OpenObject, PrintLevel, set_print};
use std::ffi::OsStr;
use std::sync::{Mutex, PoisonError};

/// Why a program is not in the kernel.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LoadError {
    /// The kernel refuses it.
    #[error("the kernel refuses the program {program}: {source}{}\n{}", hint(&source.to_string()), log.trim_end())]
    Refused {
        /// The program.
        program: &'static str,
        /// The error of the operating system.
        source: libbpf_rs::Error,
        /// The words of the kernel's verifier, and of the library that loads.
        log: String,
    },
    /// The object and this crate do not fit.
    #[error(
        "the program {program} has no variable `{variable}` that holds {value}: this build of farspan is broken, so build it again"
    )]
    NoVariable {
        /// The program.
        program: &'static str,
        /// The variable.
        variable: &'static str,
        /// The value.
        value: u64,
    },
}

/// The usual cause of an error, where the kernel's own words say little.
fn hint(said: &str) -> &'static str {
    // EPERM: the verifier refuses with EACCES, which is of the same kind.
    if said.contains("os error 1)") {
        " (it takes CAP_BPF and CAP_NET_ADMIN in the machine's first user namespace, and a kernel that is not locked down)"
    } else if said.contains("os error 524)") {
        // ENOTSUPP, which has no words of its own.
        " (usually the kernel's compiler of such programs is off: sysctl net.core.bpf_jit_enable=1, in a kernel with CONFIG_BPF_JIT)"
    } else {
        ""
    }
}

/// The words of the library that loads, in the load that is under way.
static SAID: Mutex<String> = Mutex::new(String::new());

#[expect(clippy::needless_pass_by_value, reason = "the library's type of a listener")]
fn listen(_: PrintLevel, text: String) {
    SAID.lock().unwrap_or_else(PoisonError::into_inner).push_str(&text);
}

/// Runs `task`; gives what the library said meanwhile beside its result. The library speaks to nobody else.
pub(super) fn listened<T>(task: impl FnOnce() -> T) -> (T, String) {
    set_print(Some((PrintLevel::Warn, listen)));
    std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner));
    let result = task();
    (result, std::mem::take(&mut *SAID.lock().unwrap_or_else(PoisonError::into_inner)))
}

/// An object that is not in the kernel yet.
pub(super) struct Opened {
    program: &'static str,
    bytes: &'static [u8],
    object: OpenObject,
}

impl Opened {
    /// Reads an object.
    pub(super) fn new(program: &'static str, bytes: &'static [u8]) -> Result<Self, LoadError> {
        let (object, log) = listened(|| ObjectBuilder::default().open_memory(bytes));
        let object = object.map_err(|source| LoadError::Refused { program, source, log })?;
        Ok(Self { program, bytes, object })
    }

    /// Sets variables of the program that it only reads.
    pub(super) fn set(
        &mut self,
        values: impl IntoIterator<Item = (&'static str, u64)>,
    ) -> Result<(), LoadError> {
        let (program, bytes) = (self.program, self.bytes);
        let variables = variables(bytes);
        let mut maps = self.object.maps_mut();
        let mut constants =
            maps.find(|map| map.name().to_str().is_some_and(|name| name.ends_with(".rodata")));
        let data = constants.as_mut().and_then(|map| map.initial_value_mut()).unwrap_or_default();
        for (variable, value) in values {
            let place = variables.iter().find(|place| place.name == variable);
            let set = place.is_some_and(|place| place.write(data, value));
            if !set {
                return Err(LoadError::NoVariable { program, variable, value });
            }
        }
        Ok(())
    }

    /// The value that a variable has now.
    pub(super) fn value(&self, variable: &str) -> Option<u64> {
        let mut maps = self.object.maps();
        let constants = maps.find(|map| map.name().to_str().is_some_and(|name| name.ends_with(".rodata")))?;
        let variables = variables(self.bytes);
        variables.iter().find(|place| place.name == variable)?.read(constants.initial_value()?)
    }

    /// Gives the control in it another name in the kernel.
    pub(super) fn rename(&mut self, name: &str) -> Result<(), LoadError> {
        let error = LoadError::NoVariable { program: self.program, variable: "name", value: 16 };
        let Ok(Some(types)) = Btf::from_raw("object", self.bytes) else { return Err(error) };
        let operations = types.type_by_name::<Struct<'_>>("tcp_congestion_ops");
        let Some(at) = operations.and_then(|operations| member(&operations, "name")) else {
            return Err(error);
        };
        let mut maps = self.object.maps_mut();
        let mut map = maps.find(|map| map.map_type() == MapType::StructOps);
        let value = map.as_mut().and_then(|map| map.initial_value_mut());
        let Some(field) = value.and_then(|value| value.get_mut(at..at + 16)) else { return Err(error) };
        field.fill(0);
        field.iter_mut().take(15).zip(name.bytes()).for_each(|(to, from)| *to = from);
        Ok(())
    }

    /// Brings it into the kernel.
    pub(super) fn load(self) -> Result<Object, LoadError> {
        let program = self.program;
        let (object, log) = listened(|| self.object.load());
        object.map_err(|source| LoadError::Refused { program, source, log })
    }
}

/// Where the kernel, or an object, keeps a variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Variable {
    name: String,
    offset: usize,
    size: usize,
}

impl Variable {
    /// Whether the value was written: it has to fit.
    fn write(&self, data: &mut [u8], value: u64) -> bool {
        let bytes = value.to_le_bytes();
        let Some((low, high)) = bytes.split_at_checked(self.size) else { return false };
        let Some(place) = data.get_mut(self.offset..self.offset + self.size) else { return false };
        if high.iter().any(|byte| *byte != 0) {
            return false;
        }
        place.copy_from_slice(low);
        if cfg!(target_endian = "big") {
            place.reverse();
        }
        true
    }

    fn read(&self, data: &[u8]) -> Option<u64> {
        let place = data.get(self.offset..self.offset + self.size)?;
        let mut bytes = [0; 8];
        bytes.get_mut(..self.size)?.copy_from_slice(place);
        if cfg!(target_endian = "big") {
            bytes[..self.size].reverse();
        }
        Some(u64::from_le_bytes(bytes))
    }
}

/// The variables that an object's programs only read; the members of structures are variables too.
fn variables(bytes: &'static [u8]) -> Vec<Variable> {
    // It reads the object as for a load: offsets in files are not final.
    let types = Btf::from_raw("object", bytes).ok().flatten();
    types.as_ref().map(variables_of).unwrap_or_default()
}

fn variables_of(types: &Btf<'_>) -> Vec<Variable> {
    let Some(section) = types.type_by_name::<DataSec<'_>>(".rodata") else { return Vec::new() };
    let mut found = Vec::new();
    for place in section.iter() {
        let Some(variable) = types.type_by_id::<Var<'_>>(place.ty) else { continue };
        let offset = place.offset as usize;
        match Struct::try_from(variable.referenced_type().skip_mods_and_typedefs()) {
            Ok(structure) => found.extend(members(&structure, offset)),
            Err(_) => found.extend(named(variable.name(), offset, place.size)),
        }
    }
    found
}

/// The members of a structure, each as a variable.
fn members(structure: &Struct<'_>, offset: usize) -> Vec<Variable> {
    let ends = structure.iter().skip(1).map(|next| start(next.attr)).chain([structure.size()]);
    let members = structure.iter().zip(ends);
    // All of ours are integers in a row, without gaps: the next begins where one ends.
    let variable = |(member, end): (libbpf_rs::btf::types::StructMember<'_>, usize)| {
        named(member.name, offset + start(member.attr), end - start(member.attr))
    };
    members.filter_map(variable).collect()
}

fn named(name: Option<&OsStr>, offset: usize, size: usize) -> Option<Variable> {
    Some(Variable { name: name?.to_str()?.to_owned(), offset, size })
}

/// Where a member begins, in bytes.
fn start(attributes: MemberAttr) -> usize {
    match attributes {
        MemberAttr::Normal { offset } | MemberAttr::BitField { offset, .. } => offset as usize / 8,
    }
}

/// The variables of a program in the kernel, with what they hold in `data`.
pub(super) fn held(program: u32, data: &[u8]) -> Vec<(String, u64)> {
    let Ok(types) = Btf::from_prog_id(program) else { return Vec::new() };
    let read = |variable: Variable| {
        let value = variable.read(data)?;
        Some((variable.name, value))
    };
    variables_of(&types).into_iter().filter_map(read).collect()
}

/// Where a member stands in a structure, in bytes.
pub(super) fn member(structure: &Struct<'_>, name: &str) -> Option<usize> {
    let found = structure.iter().find(|member| member.name.is_some_and(|found| found == name))?;
    Some(start(found.attr))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_says_in_numbers_is_explained() {
        assert!(hint("Operation not permitted (os error 1)").contains("CAP_BPF"));
        assert!(hint("Unknown error 524 (os error 524)").contains("bpf_jit_enable"));
        assert_eq!(hint("Permission denied (os error 13)"), "");
    }

    #[test]
    fn values_are_written_where_they_fit_and_read_back() {
        let (mut data, variable) = ([0; 8], |offset, size| Variable { name: String::new(), offset, size });
        assert!(variable(2, 4).write(&mut data, 0x0102_0304));
        assert_eq!(variable(2, 4).read(&data), Some(0x0102_0304));
        assert_eq!(variable(0, 8).read(&data), Some(0x0102_0304_0000));
        assert!(!variable(2, 2).write(&mut data, 65_536), "too large for two bytes");
        assert!(!variable(6, 4).write(&mut data, 1), "past the end");
        assert_eq!(variable(6, 4).read(&data), None);
    }

    /// Reads where nothing is.
    const BAD: &str =
        "__attribute__((section(\"tc\"), used)) int bad(void *packet) { return *(volatile int *)0x10; }
        char _license[] __attribute__((section(\"license\"))) = \"GPL\";";

    #[test]
    fn the_verifiers_words_are_shown_where_the_kernel_refuses() {
        if super::super::requirements::root().is_err() {
            farspan_skip::skip("kernel", "only root can load a program that the kernel refuses");
            return;
        }
        let folder = tempfile::tempdir().unwrap();
        let (source, made) = (folder.path().join("bad.c"), folder.path().join("bad.o"));
        std::fs::write(&source, BAD).unwrap();
        let mut clang = std::process::Command::new("clang");
        let status =
            clang.args(["-target", "bpf", "-O2", "-g", "-c"]).arg(&source).arg("-o").arg(&made).status();
        assert!(status.unwrap().success());
        let bytes = std::fs::read(&made).unwrap().leak();
        let error = Opened::new("bad", bytes).unwrap().load().unwrap_err().to_string();
        assert!(error.contains("the kernel refuses the program bad"), "{error}");
        assert!(error.contains("invalid mem access") && error.contains("processed"), "{error}");
    }
}

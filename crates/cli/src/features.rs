//! Parts of the program that a build can leave out.

/// A part, and the commands that come with it.
struct Feature {
    name: &'static str,
    commands: &'static [&'static str],
    is_built_in: bool,
}

const fn feature(name: &'static str, commands: &'static [&'static str], is_built_in: bool) -> Feature {
    Feature { name, commands, is_built_in }
}

/// All of them, by name.
const FEATURES: [Feature; 4] = [
    feature("emu", &["emu"], cfg!(all(target_os = "linux", feature = "emu"))),
    feature("import", &["import", "export"], cfg!(feature = "import")),
    feature("kernel", &["kernel"], cfg!(all(target_os = "linux", feature = "kernel"))),
    feature("ledger", &["reproduce", "bundle"], cfg!(feature = "ledger")),
];

/// The names of the features that are built in, or of those that are not.
pub fn features(built_in: bool) -> impl Iterator<Item = &'static str> {
    FEATURES.into_iter().filter(move |feature| feature.is_built_in == built_in).map(|feature| feature.name)
}

/// The message for a command that this build was made without, and that another build has on this system.
pub fn absent(command: &str) -> Option<String> {
    let feature = FEATURES.iter().find(|feature| feature.commands.contains(&command))?;
    let is_linux = cfg!(target_os = "linux");
    match feature.name {
        _ if feature.is_built_in => None,
        "emu" | "kernel" if !is_linux => None,
        "kernel" => Some(
            "this farspan was built without its eBPF programs. They take clang, libelf-dev and zlib1g-dev to build:\n  \
             apt-get install clang libelf-dev zlib1g-dev\n  make release"
                .to_owned(),
        ),
        _ => Some(format!("farspan {command} is not in this build: run `make release` in a checkout of farspan")),
    }
}

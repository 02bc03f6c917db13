//! Built-in schemes with a name of their own.

/// A built-in scheme whose name is not that of its parts.
pub(super) struct Alias {
    /// Its name.
    pub name: &'static str,
    /// Its parts for flows inside a site.
    pub intra: &'static str,
    /// Its parts for flows between sites.
    pub inter: &'static str,
}

const fn alias(name: &'static str, intra: &'static str, inter: &'static str) -> Alias {
    Alias { name, intra, inter }
}

/// Built-in schemes with a name of their own; every other control's name is a scheme as well (with ECMP).
pub(super) const ALIASES: &[Alias] = &[
    alias("uno", "unocc+unolb", "unocc+unolb+mds(8,2)"),
    alias("uno-noec", "unocc+unolb", "unocc+unolb"),
    alias("uno-ecmp", "unocc+ecmp", "unocc+ecmp"),
    alias("uno-ecmp-ec", "unocc+ecmp", "unocc+ecmp+mds(8,2)"),
    alias("uno-rps", "unocc+rps", "unocc+rps"),
    alias("uno-rps-ec", "unocc+rps", "unocc+rps+mds(8,2)"),
    alias("uno-plb", "unocc+plb", "unocc+plb"),
    alias("uno-plb-ec", "unocc+plb", "unocc+plb+mds(8,2)"),
    alias("mprdma-bbr", "mprdma+ecmp", "bbr+ecmp"),
    alias("ndp", "ndp+spray", "ndp+spray"),
    alias("hpcc-star", "hpcc+ecmp", "hpcc+ecmp"),
    alias("vegas-10", "vegas+ecmp", "vegas+ecmp"),
    alias("oscar-owd", "oscar+ecmp", "oscar+ecmp"),
];

/// Whether a built-in scheme has this name of its own.
pub(crate) fn is_alias(name: &str) -> bool {
    ALIASES.iter().any(|alias| alias.name == name)
}

//! The macros that declare the tables of a scenario: `tables` for those whose keys all apply, `tagged` for those whose kind says
//! which do.

// What `tagged` expands to: a file with such tables imports all of this.
pub(super) use crate::names::{self, UnknownName};
pub(super) use crate::reader::BY_KIND;
pub(super) use crate::value::{as_text, words};
pub(super) use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
pub(super) use serde::de::{EnumAccess, Error as _, VariantAccess, Visitor};
pub(super) use serde::{Deserialize, Deserializer, Serialize, Serializer};
pub(super) use std::borrow::Cow;
pub(super) use std::fmt;
pub(super) use std::str::FromStr;

/// Declares tables from one list of keys: `Table`, resolved, has a value for each key, or for an `optional` one perhaps none;
/// `TableText`, as it is written, has none that must be there.
macro_rules! tables {
    (@type $type:ty) => { $type };
    (@type $type:ty, optional) => { Option<$type> };
    (@text $value:expr) => { Some($value) };
    (@text $value:expr, optional) => { $value };
    ($(
        $(#[doc = $doc:literal])*
        $table:ident, $text:ident as $name:literal {
            $(
                $(#[doc = $key_doc:literal])*
                $(#[schemars($($schema:tt)*)])?
                $key:ident $([$optional:ident])?: $type:ty,
            )*
        }
    )*) => {$(
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        #[schemars(rename = $name)]
        pub struct $text {
            $(
                $(#[doc = $key_doc])*
                $(#[schemars($($schema)*)])?
                pub $key: Option<$type>,
            )*
        }

        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug)]
        pub struct $table {
            $(
                $(#[doc = $key_doc])*
                pub $key: tables!(@type $type $(, $optional)?),
            )*
        }

        impl From<&$table> for $text {
            fn from(table: &$table) -> Self {
                Self { $($key: tables!(@text table.$key.clone() $(, $optional)?),)* }
            }
        }
    )*};
}

/// Declares a table whose `kind` says which keys it has: the table as it is written, an enum with one variant a kind; the enum of the
/// kinds; the keys that all kinds have; and one struct a kind, or for several kinds, with its keys in the order in which they
/// are written. The common keys stand in groups, and each `..` in a struct stands for the next group.
macro_rules! tagged {
    (
        $(#[doc = $doc:literal])*
        $text:ident as $name:literal {
            $(#[doc = $kind_doc:literal])*
            kind: $kind:ident is $what:literal $(or $default:ident)?;
            $(#[doc = $common_doc:literal])*
            $common:ident $groups:tt;
            $($($variant:ident = $word:literal: $summary:literal),+ => $keys:ident { $($key:tt)* })*
        }
    ) => {
        words! {
            $(#[doc = $kind_doc])*
            $kind is $what {
                $($(#[doc = $summary] $variant = $word,)+)*
            } planned []
        }

        impl $kind {
            /// Every kind.
            pub const ALL: &[Self] = &[$($(Self::$variant),+),*];

            /// A summary in one line.
            #[must_use]
            pub const fn summary(self) -> &'static str {
                match self {
                    $($(Self::$variant => $summary,)+)*
                }
            }

            /// The keys that it has beside `kind`.
            #[must_use]
            pub const fn keys(self) -> &'static [&'static str] {
                match self {
                    $($(Self::$variant => $keys::KEYS,)+)*
                }
            }
        }

        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug, Serialize)]
        #[serde(tag = "kind")]
        pub enum $text {
            $($(#[doc = $summary] #[serde(rename = $word)] $variant($keys),)+)*
        }

        impl $text {
            /// The kind.
            #[must_use]
            pub const fn kind(&self) -> $kind {
                match self {
                    $($(Self::$variant(_) => $kind::$variant,)+)*
                }
            }

            /// The keys that all kinds have.
            pub(crate) fn common(&self) -> $common {
                match self {
                    $($(Self::$variant(keys) => keys.common(),)+)*
                }
            }

            /// The table with these values of the keys that all kinds have.
            fn with(mut self, common: $common) -> Self {
                match &mut self {
                    $($(Self::$variant(keys) => keys.set(common),)+)*
                }
                self
            }
        }

        impl<'de> Deserialize<'de> for $text {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct ByKind;
                impl<'de> Visitor<'de> for ByKind {
                    type Value = $text;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("a table with a kind")
                    }
                    fn visit_enum<A: EnumAccess<'de>>(self, table: A) -> Result<$text, A::Error> {
                        let (kind, keys) = tagged!(@kind table, $kind $(, $default)?);
                        match kind {
                            $($($kind::$variant => keys.newtype_variant().map($text::$variant),)+)*
                        }
                    }
                }
                deserializer.deserialize_enum(BY_KIND, $kind::NAMES, ByKind)
            }
        }

        impl JsonSchema for $text {
            fn schema_name() -> Cow<'static, str> {
                $name.into()
            }
            fn json_schema(generator: &mut SchemaGenerator) -> Schema {
                let tables = [$($(($kind::$variant.name(), $summary, $keys::json_schema(generator)),)+)*];
                let about = [concat!($($doc, "\n"),*), concat!($($kind_doc, "\n"),*)];
                tagged_schema(about, tagged!(@default $($kind::$default)?), tables)
            }
        }

        tagged!(@common $(#[doc = $common_doc])* $common $groups);
        $(tagged!(@keys $keys [$($word),+], $common, $groups, $groups, [] $($key)*);)*
        $(
            impl Default for $text {
                fn default() -> Self {
                    Self::$default(Default::default())
                }
            }
        )?
    };
    (@kind $table:ident, $kind:ident) => { $table.variant::<$kind>()? };
    (@kind $table:ident, $kind:ident, $default:ident) => {{
        let (kind, keys) = $table.variant::<Option<$kind>>()?;
        (kind.unwrap_or($kind::$default), keys)
    }};
    (@default) => { None };
    (@default $kind:ident::$default:ident) => { Some($kind::$default.name()) };
    (@common $(#[doc = $doc:literal])* $common:ident [$({
        $($(#[$attribute:meta])* $key:ident: $type:ty,)*
    })*]) => {
        $(#[doc = $doc])*
        #[derive(Clone, PartialEq, Debug, Default)]
        pub(crate) struct $common {
            $($(#[doc = stringify!($key)] pub $key: Option<$type>,)*)*
        }
    };
    (@keys $keys:ident $words:tt, $common:ident, $all:tt, [{ $($first:tt)* } $($group:tt)*], [$($done:tt)*] .., $($rest:tt)*) => {
        tagged!(@keys $keys $words, $common, $all, [$($group)*], [$($done)* $($first)*] $($rest)*);
    };
    (
        @keys $keys:ident $words:tt, $common:ident, $all:tt, $group:tt, [$($done:tt)*]
        $(#[$attribute:meta])* $key:ident: $type:ty, $($rest:tt)*
    ) => {
        tagged!(@keys $keys $words, $common, $all, $group, [$($done)* $(#[$attribute])* $key: $type,] $($rest)*);
    };
    (@keys $keys:ident [$($word:literal),+], $common:ident, $all:tt, $left:tt, [$($(#[$attribute:meta])* $key:ident: $type:ty,)*]) => {
        #[doc = concat!("The keys of a table whose kind is", $(" `", $word, "`"),+, ".")]
        #[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct $keys {
            $($(#[$attribute])* pub $key: Option<$type>,)*
        }

        impl $keys {
            /// The names of all keys.
            const KEYS: &[&str] = &[$(stringify!($key)),*];
        }

        tagged!(@access $keys, $common, $all, $left);
    };
    // A kind with the common keys has no group left; one without them has all.
    (@access $keys:ident, $common:ident, [$({
        $($(#[$attribute:meta])* $key:ident: $type:ty,)*
    })*], []) => {
        impl $keys {
            fn common(&self) -> $common {
                $common { $($($key: self.$key.clone(),)*)* }
            }

            fn set(&mut self, common: $common) {
                $($(self.$key = common.$key;)*)*
            }
        }
    };
    (@access $keys:ident, $common:ident, $all:tt, $left:tt) => {
        impl $keys {
            fn common(&self) -> $common {
                $common::default()
            }

            fn set(&mut self, _: $common) {}
        }
    };
}
pub(super) use {tables, tagged};

/// A table with a kind: the descriptions of the table and of `kind`, the kind of a table that names none, and for each kind its word, its
/// summary, and the schema of its keys.
pub(super) fn tagged_schema<const KINDS: usize>(
    [about, about_kind]: [&str; 2],
    default: Option<&str>,
    tables: [(&str, &str, Schema); KINDS],
) -> Schema {
    let line = |text: &str| text.lines().map(str::trim).collect::<Vec<_>>().join("\n").trim().to_owned();
    let kinds: Vec<_> = tables.iter().map(|(kind, ..)| *kind).collect();
    let summaries =
        tables.iter().map(|(kind, summary, _)| format!(" {kind:?}: {summary}.")).collect::<String>();
    let alternatives = tables.map(|(kind, summary, mut table)| {
        table.insert("description".to_owned(), summary.into());
        let required = if default == Some(kind) { &[][..] } else { &["kind"] };
        table.insert("required".to_owned(), required.into());
        let properties = table.get_mut("properties").and_then(|keys| keys.as_object_mut());
        let own = json_schema!({ "const": kind });
        properties.expect("a table has keys").insert("kind".to_owned(), own.to_value());
        table
    });
    let kind =
        json_schema!({ "type": "string", "enum": kinds, "description": line(about_kind) + &summaries });
    json_schema!({
        "description": line(about),
        "type": "object",
        "properties": { "kind": kind },
        "oneOf": alternatives.as_slice(),
    })
}

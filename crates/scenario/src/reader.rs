//! Values of Rust types from values of TOML.
//!
//! [`Reader`] is the one `serde::Deserializer` of the language. Its error is a [`ValueError`]: it names the path from the
//! outermost table, and what the type asked for is known from the call, not from a message.

use crate::error::{Problem, ValueError};
use crate::names;
use crate::table::join;
use farspan_transport::ByName;
use serde::de::value::{BorrowedStrDeserializer, StrDeserializer, UnitDeserializer};
use serde::de::{self, DeserializeSeed, Expected, Unexpected, Visitor};
use serde::{Deserialize, Deserializer, forward_to_deserialize_any};
use std::fmt;
use toml::value::{Array, Table};
use toml::{Value, map};

const WHOLE: &str = "a whole number that is not negative, such as 8";
pub(crate) const SIGNED: &str = "a whole number, such as 8";
const NUMBER: &str = "a number, such as 0.5";
const TRUTH: &str = "true or false";
const TEXT: &str = "text in quotes";
const WORD: &str = "one of the words for this key, as text in quotes";
const LIST: &str = "a list in brackets, such as [0, 1]";
const TABLE: &str = "a table, such as { key = \"value\" }";

/// A value of a type from the table at `path`.
///
/// # Errors
/// The first value that does not fit.
pub(crate) fn read<'a, T: Deserialize<'a>>(path: &str, table: &'a Table) -> Result<T, ValueError> {
    T::deserialize(TableReader { table, which: Which::All }).map_err(|error| error.below(path))
}

/// A value of a type from a value alone.
///
/// # Errors
/// The first value in it that does not fit.
pub(crate) fn read_value<'a, T: Deserialize<'a>>(value: &'a Value) -> Result<T, ValueError> {
    T::deserialize(Reader(value))
}

/// A component (a control, a path selector, a coding, an ACK policy) from its table at `path`.
///
/// # Errors
/// The first parameter that does not fit.
pub fn component<T: ByName>(path: &str, table: &Table) -> Result<T, ValueError> {
    let name = table.get("name").ok_or_else(|| <ValueError as de::Error>::missing_field("name"));
    let name = name.and_then(|name| String::deserialize(Reader(name)).map_err(|error| error.below("name")));
    name.and_then(|name| T::deserialize_named(&name, TableReader { table, which: Which::Without("name") }))
        .map_err(|error| error.below(path))
}

impl ValueError {
    /// Puts the key or the position `step`, under which its value stands, before the path of an error.
    pub(crate) fn below(self, step: &str) -> Self {
        let path = match &self.path {
            inner if inner.is_empty() => step.to_owned(),
            inner if inner.starts_with('[') => format!("{step}{inner}"),
            inner if step.is_empty() => inner.clone(),
            inner => format!("{step}.{inner}"),
        };
        Self { path, ..self }
    }

    pub(crate) fn wrong_type(path: &str, found: String, expected: &str) -> Self {
        Self::new(path, Problem::WrongType { found, expected: expected.to_owned() })
    }
}

/// Errors of types, at the value that is being read.
impl de::Error for ValueError {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self::new("", Problem::Unreadable { message: message.to_string() })
    }

    fn invalid_type(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::wrong_type("", said(found), &expected.to_string())
    }

    fn invalid_value(found: Unexpected<'_>, expected: &dyn Expected) -> Self {
        Self::invalid_type(found, expected)
    }

    fn invalid_length(length: usize, expected: &dyn Expected) -> Self {
        Self::wrong_type("", list_of(length), &expected.to_string())
    }

    fn unknown_variant(word: &str, known: &'static [&'static str]) -> Self {
        Self::new("", Problem::UnknownName(names::unknown("word for this key", word, known, &[])))
    }

    fn unknown_field(key: &str, known: &'static [&'static str]) -> Self {
        let known = known.iter().map(|key| (*key).to_owned()).collect();
        Self::new("", Problem::UnknownKey { key: key.to_owned(), known })
    }

    fn missing_field(key: &'static str) -> Self {
        Self::rule("", format!("{key} is missing"), format!("add {key} = ... to it"))
    }
}

/// A value in an error message.
fn said(found: Unexpected<'_>) -> String {
    match found {
        Unexpected::Bool(value) => value.to_string(),
        Unexpected::Unsigned(value) => value.to_string(),
        Unexpected::Signed(value) => value.to_string(),
        Unexpected::Float(value) => format!("{value:?}"),
        Unexpected::Char(value) => format!("{value:?}"),
        Unexpected::Str(value) => format!("{value:?}"),
        Unexpected::Other(value) => value.to_owned(),
        Unexpected::Seq => "a list".to_owned(),
        Unexpected::Map => "a table".to_owned(),
        kind => format!("a {kind}"),
    }
}

/// A value, to be read as whatever a type asks for.
#[derive(Clone, Copy)]
struct Reader<'a>(&'a Value);

impl<'a> Reader<'a> {
    fn wrong(self, expected: &str) -> ValueError {
        let found = match self.0 {
            Value::String(text) => said(Unexpected::Str(text)),
            Value::Integer(number) => said(Unexpected::Signed(*number)),
            Value::Float(number) => said(Unexpected::Float(*number)),
            Value::Boolean(truth) => said(Unexpected::Bool(*truth)),
            Value::Datetime(date) => said(Unexpected::Str(&date.to_string())),
            Value::Array(_) => said(Unexpected::Seq),
            Value::Table(_) => said(Unexpected::Map),
        };
        ValueError::wrong_type("", found, expected)
    }

    /// Lets a type visit the items of a list, and checks that it took them all.
    fn list<V: Visitor<'a>>(items: &'a Array, visitor: V) -> Result<V::Value, ValueError> {
        let mut left = Items { items, next: 0 };
        let value = visitor.visit_seq(&mut left)?;
        if left.next < items.len() {
            return Err(de::Error::invalid_length(items.len(), &list_of(left.next).as_str()));
        }
        Ok(value)
    }
}

/// A list of some length, in a message.
fn list_of(length: usize) -> String {
    format!("a list of {length}")
}

/// The name by which [`Reader`] knows [`AsIs`].
const AS_IS: &str = "AsIs";

/// A value for a type that is known later, or that looks at its shape itself. A date, which no key of the language is, becomes
/// text: the type says then what to give.
#[derive(Deserialize)]
pub(crate) struct AsIs(pub Value);

/// Whole numbers of each width.
macro_rules! whole {
    ($($method:ident, $visit:ident, $type:ty, $expected:expr;)*) => {$(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
            match self.0.as_integer().and_then(|number| <$type>::try_from(number).ok()) {
                Some(number) => visitor.$visit(number),
                None => Err(self.wrong($expected)),
            }
        }
    )*};
}

impl<'de> Deserializer<'de> for Reader<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::String(text) => visitor.visit_borrowed_str(text),
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            Value::Boolean(truth) => visitor.visit_bool(*truth),
            // No key of the language is a date.
            Value::Datetime(_) => Err(self.wrong(&(&visitor as &dyn Expected).to_string())),
            Value::Array(items) => Self::list(items, visitor),
            Value::Table(table) => visitor.visit_map(Entries::of(table, Which::All)),
        }
    }

    whole! {
        deserialize_u8, visit_u8, u8, WHOLE;
        deserialize_u16, visit_u16, u16, WHOLE;
        deserialize_u32, visit_u32, u32, WHOLE;
        deserialize_u64, visit_u64, u64, WHOLE;
        deserialize_i8, visit_i8, i8, SIGNED;
        deserialize_i16, visit_i16, i16, SIGNED;
        deserialize_i32, visit_i32, i32, SIGNED;
        deserialize_i64, visit_i64, i64, SIGNED;
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Integer(number) => visitor.visit_i64(*number),
            Value::Float(number) => visitor.visit_f64(*number),
            _ => Err(self.wrong(NUMBER)),
        }
    }

    fn deserialize_f32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.deserialize_f64(visitor)
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.0.as_bool().map_or_else(|| Err(self.wrong(TRUTH)), |truth| visitor.visit_bool(truth))
    }

    /// Text; quantities, which say themselves what they are, ask for `str`.
    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        self.0.as_str().map_or_else(|| Err(self.wrong(TEXT)), |text| visitor.visit_borrowed_str(text))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_some(self)
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match name {
            AS_IS => visitor.visit_newtype_struct(self.0.clone()).map_err(de::Error::custom),
            _ => visitor.visit_newtype_struct(self),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Array(_) => self.deserialize_any(visitor),
            _ => Err(self.wrong(LIST)),
        }
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Array(items) if items.len() == length => Self::list(items, visitor),
            Value::Array(items) => Err(de::Error::invalid_length(items.len(), &list_of(length).as_str())),
            _ => Err(self.wrong(LIST)),
        }
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Table(_) => self.deserialize_any(visitor),
            _ => Err(self.wrong(TABLE)),
        }
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        _fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        match self.0 {
            Value::Table(table) if name == BY_KIND => {
                visitor.visit_enum(KindReader { table, kinds: variants })
            }
            _ if name == BY_KIND => Err(self.wrong(TABLE)),
            Value::String(word) => visitor.visit_enum(StrDeserializer::new(word)),
            _ => Err(self.wrong(WORD)),
        }
    }

    forward_to_deserialize_any! {
        i128 u128 char str bytes byte_buf unit unit_struct tuple_struct identifier ignored_any
    }
}

/// The name by which [`Reader`] knows an enum of tables: its variants are the words for their `kind`.
pub(crate) const BY_KIND: &str = "ByKind";

/// A table whose kind says which of its keys are read: those that its kind lacks are left to who knows where they stand.
#[derive(Clone, Copy)]
struct KindReader<'a> {
    table: &'a Table,
    kinds: &'static [&'static str],
}

impl<'de> de::EnumAccess<'de> for KindReader<'de> {
    type Error = ValueError;
    type Variant = Self;

    fn variant_seed<K: DeserializeSeed<'de>>(self, seed: K) -> Result<(K::Value, Self), ValueError> {
        let missing = |_: ValueError| ValueError::missing("", format!("one of {}", self.kinds.join(", ")));
        let kind = match self.table.get("kind") {
            Some(kind) => seed.deserialize(Reader(kind)),
            // A table whose kind has a default asks for an option.
            None => seed.deserialize(UnitDeserializer::new()).map_err(missing),
        };
        kind.map(|kind| (kind, self)).map_err(|error| error.below("kind"))
    }
}

impl<'de> de::VariantAccess<'de> for KindReader<'de> {
    type Error = ValueError;

    fn newtype_variant_seed<T: DeserializeSeed<'de>>(self, seed: T) -> Result<T::Value, ValueError> {
        seed.deserialize(TableReader { table: self.table, which: Which::Only(&[]) })
    }

    fn unit_variant(self) -> Result<(), ValueError> {
        Ok(())
    }

    fn tuple_variant<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, ValueError> {
        self.struct_variant(&[], visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        visitor.visit_map(Entries::of(self.table, Which::Only(keys)))
    }
}

/// The keys of a table that are read.
#[derive(Clone, Copy)]
enum Which {
    /// Every one.
    All,
    /// All but one.
    Without(&'static str),
    /// Only these: the ones that a type has.
    Only(&'static [&'static str]),
}

impl Which {
    fn has(self, key: &str) -> bool {
        match self {
            Self::All => true,
            Self::Without(other) => key != other,
            Self::Only(keys) => keys.contains(&key),
        }
    }
}

/// A table, perhaps without the key that says of what it is.
#[derive(Clone, Copy)]
struct TableReader<'a> {
    table: &'a Table,
    which: Which,
}

impl<'de> Deserializer<'de> for TableReader<'de> {
    type Error = ValueError;

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, ValueError> {
        visitor.visit_map(Entries::of(self.table, self.which))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        keys: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, ValueError> {
        let which = if matches!(self.which, Which::Only(_)) { Which::Only(keys) } else { self.which };
        visitor.visit_map(Entries::of(self.table, which))
    }

    forward_to_deserialize_any! {
        bool u8 u16 u32 u64 u128 i8 i16 i32 i64 i128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

struct Entries<'a> {
    entries: map::Iter<'a, String, Value>,
    which: Which,
    /// The entry whose key has been read.
    current: Option<(&'a str, &'a Value)>,
}

impl<'a> Entries<'a> {
    fn of(table: &'a Table, which: Which) -> Self {
        Self { entries: table.iter(), which, current: None }
    }
}

impl<'de> de::MapAccess<'de> for Entries<'de> {
    type Error = ValueError;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, ValueError> {
        let which = self.which;
        let next = self.entries.find(|(key, _)| which.has(key));
        self.current = next.map(|(key, value)| (key.as_str(), value));
        let Some((key, _)) = self.current else { return Ok(None) };
        seed.deserialize(BorrowedStrDeserializer::new(key))
            .map(Some)
            .map_err(|error: ValueError| error.below(&join("", key)))
    }

    fn next_value_seed<T: DeserializeSeed<'de>>(&mut self, seed: T) -> Result<T::Value, ValueError> {
        let (key, value) = self.current.take().expect("serde asks for a value after its key");
        seed.deserialize(Reader(value)).map_err(|error| error.below(&join("", key)))
    }
}

struct Items<'a> {
    items: &'a Array,
    next: usize,
}

impl<'de> de::SeqAccess<'de> for Items<'de> {
    type Error = ValueError;

    fn next_element_seed<T: DeserializeSeed<'de>>(
        &mut self,
        seed: T,
    ) -> Result<Option<T::Value>, ValueError> {
        let Some(item) = self.items.get(self.next) else { return Ok(None) };
        let step = self.next;
        self.next += 1;
        seed.deserialize(Reader(item)).map(Some).map_err(|error| error.below(&format!("[{step}]")))
    }

    fn size_hint(&self) -> Option<usize> {
        Some(self.items.len() - self.next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::value::{Part, ProxyHost};
    use farspan_transport::balance::BalanceConfig;
    use farspan_transport::coding::CodingConfig;
    use farspan_transport::congestion::CongestionConfig;

    fn said<T: ByName>(text: &str) -> String {
        component::<T>("here", &text.parse().unwrap()).map(|_| ()).unwrap_err().to_string()
    }

    #[test]
    fn the_parameter_and_what_to_give_are_named() {
        assert_eq!(
            said::<CodingConfig>("name = 'mds'\ntimer = 5\ndata = 8"),
            "here.timer: 5 does not fit here; give a time as text, such as \"14us\""
        );
        assert_eq!(
            said::<BalanceConfig>("name = 'plb'\nbusy_rounds = -1"),
            "here.busy_rounds: -1 does not fit here; give a whole number that is not negative, such as 8"
        );
        let word = said::<CongestionConfig>("name = 'unocc'\nqa = { factor = 1.0, pause = 'first' }");
        assert!(
            word.starts_with(
                "here.qa.pause: \"first\" is not a known word for this key; did you mean \"first_ack\"?"
            ),
            "{word}"
        );
        assert_eq!(said::<BalanceConfig>("busy_rounds = 1"), "here: name is missing; add name = ... to it");
        let key = said::<BalanceConfig>("name = 'plb'\nbusy = 1");
        assert!(key.starts_with("here.busy: unknown key \"busy\"; did you mean \"busy_rounds\"?"), "{key}");
    }

    #[derive(Debug, Deserialize)]
    #[serde(default, deny_unknown_fields)]
    #[derive(Default)]
    struct Every {
        truth: bool,
        text: String,
        list: Vec<u8>,
        pair: (f64, f64),
        number: f32,
        signed: i16,
        inner: Vec<Every>,
    }

    #[test]
    fn types_have_words() {
        for (text, expected) in [
            ("truth = 1", "truth: 1 does not fit here; give true or false"),
            ("text = { a = 1 }", "text: a table does not fit here; give text in quotes"),
            ("text = 1979-05-27", "text: \"1979-05-27\" does not fit here; give text in quotes"),
            ("list = 'a'", "list: \"a\" does not fit here; give a list in brackets, such as [0, 1]"),
            (
                "list = [1, 256]",
                "list[1]: 256 does not fit here; give a whole number that is not negative, such as 8",
            ),
            ("pair = [0.5]", "pair: a list of 1 does not fit here; give a list of 2"),
            ("pair = [0, 0.5, 1]", "pair: a list of 3 does not fit here; give a list of 2"),
            ("number = [0.5]", "number: a list does not fit here; give a number, such as 0.5"),
            ("signed = 0.5", "signed: 0.5 does not fit here; give a whole number, such as 8"),
            (
                "inner = [{}, { inner = [{ truth = 'no' }] }]",
                "inner[1].inner[0].truth: \"no\" does not fit here; give true or false",
            ),
            ("inner = [1]", "inner[0]: 1 does not fit here; give a table, such as { key = \"value\" }"),
        ] {
            let table = text.parse().unwrap();
            let error = read::<Every>("", &table).unwrap_err();
            assert_eq!(error.to_string(), expected, "{text}");
        }
    }

    #[test]
    fn a_date_keeps_the_parameter_and_what_to_give() {
        let part: Part =
            read_value(&Value::Table("name = 'unocc'\nbeta = 1979-05-27".parse().unwrap())).unwrap();
        assert_eq!(
            component::<CongestionConfig>("here", &part.0).unwrap_err().to_string(),
            "here.beta: \"1979-05-27\" does not fit here; give a number, such as 0.5"
        );
        let date = Value::Datetime("1979-05-27".parse().unwrap());
        assert_eq!(
            read_value::<Part>(&date).unwrap_err().to_string(),
            "\"1979-05-27\" does not fit here; give a name, or a table such as { name = \"unocc\", beta = 0.5 }"
        );
        let error = read_value::<ProxyHost>(&date).unwrap_err().to_string();
        assert!(error.contains("give a host's number, such as 63"), "{error}");
    }

    /// A type of a list that takes its first item alone.
    #[test]
    fn no_item_of_a_list_is_dropped() {
        #[derive(Debug)]
        struct First;
        impl<'de> Deserialize<'de> for First {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Taking;
                impl<'de> Visitor<'de> for Taking {
                    type Value = First;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str("one")
                    }
                    fn visit_seq<A: de::SeqAccess<'de>>(self, mut items: A) -> Result<First, A::Error> {
                        items.next_element::<u8>().map(|_| First)
                    }
                }
                deserializer.deserialize_any(Taking)
            }
        }
        let list: Value = vec![1, 2, 3].into();
        let error = read_value::<First>(&list).unwrap_err();
        assert_eq!(error.to_string(), "a list of 3 does not fit here; give a list of 1");
        read_value::<First>(&vec![1].into()).unwrap();
    }

    #[test]
    fn what_fits_is_read() {
        let table =
            "truth = true\ntext = 'a'\nlist = [1]\npair = [0, 0.5]\nnumber = 2\nsigned = -3\ninner = [{}]"
                .parse();
        let every: Every = read("", &table.unwrap()).unwrap();
        let Every { truth, text, list, pair, number, signed, inner } = every;
        assert_eq!((truth, text.as_str(), list, pair), (true, "a", vec![1], (0.0, 0.5)));
        assert_eq!((number, signed, inner.len()), (2.0, -3, 1));
    }
}

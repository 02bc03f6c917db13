//! Columns: a name, a unit, and what a row says there. A table's schema and its arrays both follow from one list of them.

use arrow_array::{
    ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, UInt32Array, UInt64Array,
};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use farspan_units::{Duration, Time};
use std::borrow::Cow;
use std::sync::Arc;

/// A row of a table.
pub trait Record: Sized + 'static {
    /// The columns, in the order of the file.
    const COLUMNS: &'static [Column<Self>];

    /// Names, types and units of the columns.
    #[must_use]
    fn schema() -> SchemaRef {
        Arc::new(Schema::new(Self::COLUMNS.iter().map(Column::field).collect::<Vec<_>>()))
    }

    /// Rows as an Arrow batch.
    #[must_use]
    fn batch(records: &[Self]) -> RecordBatch {
        let arrays = Self::COLUMNS.iter().map(|column| column.array(records)).collect();
        RecordBatch::try_new(Self::schema(), arrays)
            .expect("arrays have the types of their columns and the length of the records")
    }
}

/// A column of rows of type `R`.
pub struct Column<R> {
    name: &'static str,
    unit: &'static str,
    values: Values<R>,
}

/// The type of a column, and a row's value. Times are whole nanoseconds, rounded down.
enum Values<R> {
    Text(fn(&R) -> Cow<'_, str>),
    Flag(fn(&R) -> bool),
    Number(fn(&R) -> u32),
    Count(fn(&R) -> u64),
    Float(fn(&R) -> f64),
    OptionalFloat(fn(&R) -> Option<f64>),
    Span(fn(&R) -> Duration),
    OptionalSpan(fn(&R) -> Option<Duration>),
    Instant(fn(&R) -> Time),
    OptionalInstant(fn(&R) -> Option<Time>),
}

/// Makes a constructor of [`Column`] for each type of values.
macro_rules! constructors {
    ($($(#[$doc:meta])* $function:ident, $variant:ident($value:ty);)*) => {
        impl<R> Column<R> {
            $(
                $(#[$doc])*
                pub(crate) const fn $function(
                    name: &'static str,
                    unit: &'static str,
                    value: fn(&R) -> $value,
                ) -> Self {
                    Self { name, unit, values: Values::$variant(value) }
                }
            )*
        }
    };
}

constructors! {
    text, Text(Cow<'_, str>);
    flag, Flag(bool);
    number, Number(u32);
    count, Count(u64);
    float, Float(f64);
    optional_float, OptionalFloat(Option<f64>);
    span, Span(Duration);
    optional_span, OptionalSpan(Option<Duration>);
    instant, Instant(Time);
    optional_instant, OptionalInstant(Option<Time>);
}

/// A number of picoseconds over 1000 always fits.
fn ns(d: Duration) -> i64 {
    i64::try_from(d.as_ns()).expect("2^64 / 1000 is below 2^63")
}

fn since_zero(t: Time) -> i64 {
    ns(t.since(Time::ZERO))
}

impl<R> Column<R> {
    /// An empty unit means none.
    fn field(&self) -> Field {
        let (kind, nullable) = match self.values {
            Values::Text(_) => (DataType::Utf8, false),
            Values::Flag(_) => (DataType::Boolean, false),
            Values::Number(_) => (DataType::UInt32, false),
            Values::Count(_) => (DataType::UInt64, false),
            Values::Float(_) => (DataType::Float64, false),
            Values::OptionalFloat(_) => (DataType::Float64, true),
            Values::Span(_) | Values::Instant(_) => (DataType::Int64, false),
            Values::OptionalSpan(_) | Values::OptionalInstant(_) => (DataType::Int64, true),
        };
        let field = Field::new(self.name, kind, nullable);
        match self.unit {
            "" => field,
            unit => field.with_metadata([("unit".to_owned(), unit.to_owned())]),
        }
    }

    fn array(&self, rows: &[R]) -> ArrayRef {
        match self.values {
            Values::Text(of) => Arc::new(StringArray::from_iter_values(rows.iter().map(of))),
            Values::Flag(of) => Arc::new(rows.iter().map(|row| Some(of(row))).collect::<BooleanArray>()),
            Values::Number(of) => Arc::new(UInt32Array::from_iter_values(rows.iter().map(of))),
            Values::Count(of) => Arc::new(UInt64Array::from_iter_values(rows.iter().map(of))),
            Values::Float(of) => Arc::new(Float64Array::from_iter_values(rows.iter().map(of))),
            Values::OptionalFloat(of) => Arc::new(rows.iter().map(of).collect::<Float64Array>()),
            Values::Span(of) => Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| ns(of(row))))),
            Values::OptionalSpan(of) => {
                Arc::new(rows.iter().map(|row| of(row).map(ns)).collect::<Int64Array>())
            }
            Values::Instant(of) => {
                Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| since_zero(of(row)))))
            }
            Values::OptionalInstant(of) => {
                Arc::new(rows.iter().map(|row| of(row).map(since_zero)).collect::<Int64Array>())
            }
        }
    }
}

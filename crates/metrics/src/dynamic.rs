//! Tables whose columns are known only when they are written.

use crate::table::{TableError, Writer, properties};
use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::errors::ParquetError;
use std::path::Path;
use std::sync::Arc;

/// A column with its values, row by row.
#[derive(Clone, PartialEq, Debug)]
pub struct DynamicColumn {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: DynamicValues,
}

/// The values of a column; `None` is null.
#[derive(Clone, PartialEq, Debug)]
pub enum DynamicValues {
    /// Texts.
    Text(Vec<Option<String>>),
    /// Truth values.
    Flag(Vec<Option<bool>>),
    /// Whole numbers.
    Whole(Vec<Option<i64>>),
    /// Numbers.
    Real(Vec<Option<f64>>),
}

impl DynamicValues {
    fn data_type(&self) -> DataType {
        match self {
            Self::Text(_) => DataType::Utf8,
            Self::Flag(_) => DataType::Boolean,
            Self::Whole(_) => DataType::Int64,
            Self::Real(_) => DataType::Float64,
        }
    }

    fn array(&self) -> ArrayRef {
        match self {
            Self::Text(values) => Arc::new(values.iter().map(Option::as_deref).collect::<StringArray>()),
            Self::Flag(values) => Arc::new(values.iter().copied().collect::<BooleanArray>()),
            Self::Whole(values) => Arc::new(values.iter().copied().collect::<Int64Array>()),
            Self::Real(values) => Arc::new(values.iter().copied().collect::<Float64Array>()),
        }
    }
}

/// Writes a Parquet table of columns that are equally long.
///
/// # Errors
/// If the file cannot be written.
///
/// # Panics
/// If the columns differ in length.
pub fn save_columns(path: &Path, columns: &[DynamicColumn]) -> Result<(), TableError> {
    let batch = batch(columns);
    let mut writer = Writer::create(path, batch.schema())?;
    writer.write(&batch)?;
    writer.finish()
}

/// A Parquet table of columns that are equally long, in memory. Equal columns give equal bytes.
///
/// # Panics
/// If the columns differ in length.
#[must_use]
pub fn encode_columns(columns: &[DynamicColumn]) -> Vec<u8> {
    let batch = batch(columns);
    let encode = || -> Result<Vec<u8>, ParquetError> {
        let mut writer = ArrowWriter::try_new(Vec::new(), batch.schema(), Some(properties()))?;
        writer.write(&batch)?;
        writer.into_inner()
    };
    encode().expect("memory takes what is written, and every type of column has a form in Parquet")
}

/// Columns as rows.
///
/// # Panics
/// If they differ in length.
fn batch(columns: &[DynamicColumn]) -> RecordBatch {
    let field = |column: &DynamicColumn| Field::new(&column.name, column.values.data_type(), true);
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let arrays = columns.iter().map(|column| column.values.array()).collect();
    RecordBatch::try_new(schema, arrays).expect("columns are equally long")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_table;
    use arrow_array::Array;
    use arrow_array::cast::AsArray;
    use arrow_array::types::{Float64Type, Int64Type};

    #[test]
    fn columns_come_back_as_they_went_in() {
        let path = std::env::temp_dir().join(format!("farspan-dynamic-{}.parquet", std::process::id()));
        let column = |name: &str, values| DynamicColumn { name: name.to_owned(), values };
        let columns = [
            column("a.b", DynamicValues::Text(vec![Some("x".to_owned()), None])),
            column("flag", DynamicValues::Flag(vec![None, Some(true)])),
            column("whole", DynamicValues::Whole(vec![Some(-3), None])),
            column("real", DynamicValues::Real(vec![None, Some(0.5)])),
        ];
        save_columns(&path, &columns).unwrap();
        let (schema, batches) = read_table(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
        assert_eq!((names.as_slice(), batches.len()), (["a.b", "flag", "whole", "real"].as_slice(), 1));
        let batch = &batches[0];
        assert_eq!(batch.column(0).as_string::<i32>().value(0), "x");
        assert!(
            batch.column(0).is_null(1) && batch.column(1).is_null(0) && batch.column(1).as_boolean().value(1)
        );
        assert_eq!(batch.column(2).as_primitive::<Int64Type>().value(0), -3);
        assert_eq!(batch.column(3).as_primitive::<Float64Type>().value(1), 0.5);
    }
}

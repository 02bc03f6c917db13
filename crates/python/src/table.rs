//! A table that Arrow libraries take without copies (the Arrow PyCapsule interface).

use arrow_array::cast::AsArray;
use arrow_array::ffi_stream::FFI_ArrowArrayStream;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type, UInt64Type};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchIterator, StringArray};
use arrow_schema::{DataType, SchemaRef, ffi::FFI_ArrowSchema};
use arrow_select::filter::filter_record_batch;
use farspan_metrics::Record;
use pyo3::exceptions::{PyImportError, PyKeyError, PyTypeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList};
use std::collections::BTreeMap;

/// Rows of a batch: names of up to 500 bytes then fit into one batch's 32-bit offsets.
const BATCH: usize = 1 << 22;

/// Rows in columns. `python/farspan/_farspan.pyi` documents it.
#[pyclass(frozen, module = "farspan")]
pub struct Table {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

impl Table {
    /// A table of batches that have this schema.
    pub const fn new(schema: SchemaRef, batches: Vec<RecordBatch>) -> Self {
        Self { schema, batches }
    }

    /// A table of records.
    pub fn of<R: Record>(records: &[R]) -> Self {
        Self::new(R::schema(), records.chunks(BATCH).map(R::batch).collect())
    }

    fn index(&self, name: &str) -> PyResult<usize> {
        self.schema.index_of(name).map_err(|_| {
            PyKeyError::new_err(format!("no column {name:?}; the table has: {}", self.columns().join(", ")))
        })
    }
}

#[pymethods]
impl Table {
    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        // The interface leaves it to the producer whether it casts.
        let _ = requested_schema;
        let batches: Vec<_> = self.batches.iter().cloned().map(Ok).collect();
        let reader = RecordBatchIterator::new(batches, self.schema.clone());
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        let schema = FFI_ArrowSchema::try_from(&*self.schema)
            .map_err(|error| PyTypeError::new_err(error.to_string()))?;
        PyCapsule::new_with_value(py, schema, c"arrow_schema")
    }

    fn __len__(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    fn __repr__(&self) -> String {
        format!("<farspan.Table of {} rows: {}>", self.__len__(), self.columns().join(", "))
    }

    #[getter]
    fn columns(&self) -> Vec<String> {
        self.schema.fields().iter().map(|field| field.name().clone()).collect()
    }

    #[getter]
    fn units(&self) -> BTreeMap<String, String> {
        let unit = |field: &arrow_schema::FieldRef| {
            field.metadata().get("unit").map(|unit| (field.name().clone(), unit.clone()))
        };
        self.schema.fields().iter().filter_map(unit).collect()
    }

    fn column<'py>(&self, py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyList>> {
        let index = self.index(name)?;
        let list = PyList::empty(py);
        for batch in &self.batches {
            append(&list, batch.column(index))?;
        }
        Ok(list)
    }

    fn to_pandas<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let frame = library(slf.py(), "pandas")?.getattr("DataFrame")?;
        if frame.hasattr("from_arrow")? {
            return frame.call_method1("from_arrow", (slf,));
        }
        // Older ones leave it to pyarrow.
        library(slf.py(), "pyarrow")?.call_method1("table", (slf,))?.call_method0("to_pandas")
    }

    fn to_polars<'py>(slf: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        library(slf.py(), "polars")?.call_method1("DataFrame", (slf,))
    }

    fn filter(&self, py: Python<'_>, name: &str, value: &str) -> PyResult<Self> {
        let index = self.index(name)?;
        if self.schema.field(index).data_type() != &DataType::Utf8 {
            return Err(PyTypeError::new_err(format!(
                "column {name:?} is not text; filter it in a data frame"
            )));
        }
        let keep = |batch: &RecordBatch| {
            let texts: &StringArray = batch.column(index).as_string();
            let mask = texts.iter().map(|text| Some(text == Some(value))).collect();
            filter_record_batch(batch, &mask)
        };
        let batches = py.detach(|| self.batches.iter().map(keep).collect::<Result<Vec<_>, _>>());
        let batches = batches.map_err(|error| PyTypeError::new_err(error.to_string()))?;
        Ok(Self::new(self.schema.clone(), batches.into_iter().filter(|batch| batch.num_rows() > 0).collect()))
    }
}

/// A library of data frames; it is asked for when a table becomes one of its own.
fn library<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyModule>> {
    py.import(name).map_err(|cause| {
        let error = PyImportError::new_err(format!("a data frame of {name} needs it: pip install {name}"));
        error.set_cause(py, Some(cause));
        error
    })
}

/// Appends the values of a column to a list; null is `None`.
fn append(list: &Bound<'_, PyList>, column: &ArrayRef) -> PyResult<()> {
    match column.data_type() {
        DataType::Utf8 => column.as_string::<i32>().iter().try_for_each(|value| list.append(value)),
        DataType::Boolean => column.as_boolean().iter().try_for_each(|value| list.append(value)),
        DataType::UInt32 => {
            column.as_primitive::<UInt32Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::UInt64 => {
            column.as_primitive::<UInt64Type>().iter().try_for_each(|value| list.append(value))
        }
        DataType::Int64 => column.as_primitive::<Int64Type>().iter().try_for_each(|value| list.append(value)),
        DataType::Float64 => {
            column.as_primitive::<Float64Type>().iter().try_for_each(|value| list.append(value))
        }
        other => {
            Err(PyTypeError::new_err(format!("no list of {other}: take the table with an Arrow library")))
        }
    }
}

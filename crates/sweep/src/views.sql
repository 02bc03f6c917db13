-- The runs of a sweep as views for DuckDB. From this folder: duckdb -init views.sql
-- From elsewhere: first SET file_search_path = 'THIS/FOLDER';
CREATE OR REPLACE VIEW runs AS SELECT * FROM read_parquet('runs.parquet');
CREATE OR REPLACE VIEW flows AS
  SELECT parse_path(filename)[-2] AS run, * EXCLUDE (filename)
  FROM read_parquet('*/flows.parquet', filename = true)
  WHERE parse_path(filename)[-2] IN (SELECT run FROM runs WHERE status = 'done');
CREATE OR REPLACE VIEW ports AS
  SELECT parse_path(filename)[-2] AS run, * EXCLUDE (filename)
  FROM read_parquet('*/ports.parquet', filename = true)
  WHERE parse_path(filename)[-2] IN (SELECT run FROM runs WHERE status = 'done');
CREATE OR REPLACE VIEW series AS
  SELECT parse_path(filename)[-2] AS run, * EXCLUDE (filename)
  FROM read_parquet('*/series.parquet', filename = true)
  WHERE parse_path(filename)[-2] IN (SELECT run FROM runs WHERE status = 'done');

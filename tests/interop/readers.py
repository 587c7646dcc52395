"""delta-rs and DuckDB as readers: path → a pyarrow table."""
import functools
import pathlib

import pytest

duckdb = pytest.importorskip("duckdb")
deltalake = pytest.importorskip("deltalake")
extension = pytest.importorskip("duckdb_extension_delta")
pyarrow = pytest.importorskip("pyarrow")


def read_delta_rs(path, condition="true"):
    table = deltalake.DeltaTable(str(path))
    return pyarrow.table(deltalake.QueryBuilder().register("t", table).execute(f"SELECT * FROM t WHERE {condition}").read_all())


def read_delta_rs_feed(path):
    """Without the time of the commit: delta-rs takes commitInfo's, Spark and Sluice the file's."""
    return pyarrow.table(deltalake.DeltaTable(str(path)).load_cdf(starting_version=0)).drop_columns("_commit_timestamp")


@functools.lru_cache
def duckdb_connection():
    connection = duckdb.connect()
    extension_file = next(pathlib.Path(extension.__file__).parent.rglob("*.duckdb_extension"))
    connection.execute(f"LOAD '{extension_file}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def read_duckdb(path, condition="true"):
    return duckdb_connection().sql(f"SELECT * FROM delta_scan('{path}') WHERE {condition}").to_arrow_table()


READERS = {"delta-rs": read_delta_rs, "duckdb": read_duckdb}

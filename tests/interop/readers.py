"""The command under test, and the other engines' ways to read a table."""
import datetime as dt
import decimal
import functools
import json
import math
import os
import pathlib
import subprocess

import pytest

duckdb = pytest.importorskip("duckdb")
deltalake = pytest.importorskip("deltalake")
extension = pytest.importorskip("duckdb_extension_delta")

BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", "build"))
UTC = dt.timezone.utc


def sluice(warehouse, sql, output="json"):
    done = subprocess.run(
        [BUILD / "sluice", "sql", "--warehouse", warehouse, "--output", output, sql], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{sql}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def delete(table, condition):
    subprocess.run([os.environ.get("SLUICE_DELETE_ROWS", BUILD / "tests/interop/delete-rows"), table, condition], check=True)


def read_delta_rs(path):
    table = deltalake.DeltaTable(str(path))
    batches = deltalake.QueryBuilder().register("t", table).execute("SELECT * FROM t").read_all()
    import pyarrow

    return pyarrow.table(batches).to_pylist()


@functools.lru_cache
def duckdb_connection():
    connection = duckdb.connect()
    extension_file = next(pathlib.Path(extension.__file__).parent.rglob("*.duckdb_extension"))
    connection.execute(f"LOAD '{extension_file}'")
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def read_duckdb(path):
    return duckdb_connection().sql(f"SELECT * FROM delta_scan('{path}')").to_arrow_table().to_pylist()


def canon(value):
    """One spelling for equal values of different readers: maps as sorted pairs, numbers as text, times in UTC."""
    if isinstance(value, dict):
        return {key: canon(inner) for key, inner in value.items()}
    if isinstance(value, list):
        if value and all(isinstance(item, tuple) and len(item) == 2 for item in value):
            return sorted([repr(canon(key)), canon(inner)] for key, inner in value)
        return [canon(inner) for inner in value]
    if isinstance(value, float):
        return "nan" if math.isnan(value) else repr(value)
    if isinstance(value, dt.datetime):
        return (value.astimezone(UTC) if value.tzinfo else value).isoformat()
    if isinstance(value, (dt.date, decimal.Decimal)):
        return str(value)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value).hex()
    return value


def rows_of(rows):
    return sorted((json.dumps(canon(row), sort_keys=True, default=str) for row in rows))


READERS = {"delta-rs": read_delta_rs, "duckdb": read_duckdb}

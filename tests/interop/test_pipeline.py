"""Other engines read the tables that a pipeline keeps: AUTO CDC targets of both types, with deletion vectors and by copy on write, with
the feed, and a column that comes later."""
import json
import subprocess

import pytest
from readers import BUILD, READERS, deltalake, rows_of

SPEC = """name: interop
storage: file://{dir}/storage
libraries:
  - glob:
      include: definitions/**
configuration:
  spark.sql.warehouse.dir: {dir}/warehouse
"""
FLOW = """
CREATE STREAMING TABLE {table} TBLPROPERTIES ('delta.enableChangeDataFeed' = '{feed}', 'delta.enableDeletionVectors' = '{vectors}');
CREATE FLOW {table}_flow AS AUTO CDC INTO {table} FROM STREAM(raw) KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY seq
  COLUMNS * EXCEPT (op, seq, _rescued_data) STORED AS SCD TYPE {type};
"""
TABLES = {
    f"scd{type_}_{'vectors' if vectors == 'true' else 'rewrite'}": dict(type=type_, vectors=vectors, feed="true")
    for type_ in (1, 2)
    for vectors in ("true", "false")
}
DROPS = [
    [dict(id=1, name="a", seq=1, op="U"), dict(id=2, name="b", seq=1, op="U"), dict(id=3, name="c", seq=1, op="U")],
    [dict(id=1, name="a2", seq=2, op="U"), dict(id=2, seq=2, op="D"), dict(id=4, name="d", seq=1, op="U")],
]
ROWS = {
    1: [dict(id=1, name="a2"), dict(id=3, name="c"), dict(id=4, name="d")],
    2: [
        dict(id=1, name="a", __START_AT=1, __END_AT=2),
        dict(id=1, name="a2", __START_AT=2, __END_AT=None),
        dict(id=2, name="b", __START_AT=1, __END_AT=2),
        dict(id=3, name="c", __START_AT=1, __END_AT=None),
        dict(id=4, name="d", __START_AT=1, __END_AT=None),
    ],
}
FEED = [
    (1, "a", "insert"),
    (2, "b", "insert"),
    (3, "c", "insert"),
    (1, "a", "update_preimage"),
    (1, "a2", "update_postimage"),
    (2, "b", "delete"),
    (4, "d", "insert"),
]


@pytest.fixture(scope="module")
def warehouse(tmp_path_factory):
    root = tmp_path_factory.mktemp("pipeline")
    (root / "in").mkdir()
    (root / "definitions").mkdir()
    (root / "spark-pipeline.yml").write_text(SPEC.format(dir=root))
    raw = f"CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('{root}/in', format => 'json', inferColumnTypes => 'true');"
    flows = "".join(FLOW.format(table=table, **facts) for table, facts in TABLES.items())
    (root / "definitions" / "tables.sql").write_text(raw + flows)
    for number, drop in enumerate(DROPS):
        (root / "in" / f"{number}.json").write_text("".join(json.dumps(event) + "\n" for event in drop))
        done = subprocess.run([BUILD / "sluice", "run"], cwd=root, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return root / "warehouse"


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("table", TABLES)
def test_reader_gives_the_target(warehouse, table, reader):
    assert rows_of(READERS[reader](warehouse / table)) == rows_of(ROWS[TABLES[table]["type"]])


@pytest.mark.parametrize("table", [table for table in TABLES if TABLES[table]["type"] == 1])
def test_delta_rs_gives_the_feed(warehouse, table):
    import pyarrow

    rows = pyarrow.table(deltalake.DeltaTable(str(warehouse / table)).load_cdf(starting_version=0)).to_pylist()
    assert sorted((row["id"], row["name"], row["_change_type"]) for row in rows) == sorted(FEED)

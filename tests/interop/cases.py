"""The tables that other engines read: one per feature combination, and those of the pipelines. See README.md."""
import datetime as dt
import decimal
import functools
import json
import os
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "pipeline"))
import project

BUILD = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
UTC = dt.timezone.utc
D = decimal.Decimal


def sluice(warehouse, sql):
    """Rows of all statements of @sql."""
    done = subprocess.run(
        [BUILD / "sluice", "sql", "--warehouse", warehouse, "--output", "json", sql], capture_output=True, text=True
    )
    assert done.returncode == 0, f"{sql}\n{done.stderr}"
    return [json.loads(line) for line in done.stdout.splitlines()]


def delete(table, condition):
    subprocess.run([os.environ.get("SLUICE_DELETE_ROWS", BUILD / "tests/interop/delete-rows"), table, condition], check=True)


ALL_TYPES = """id BIGINT, b BOOLEAN, ti TINYINT, si SMALLINT, i INT, f FLOAT, d DOUBLE, dec DECIMAL(20,3), s STRING,
 bin BINARY, dat DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ"""
ONE_OF_ALL = dict(
    id=1, b=True, ti=-7, si=300, i=70000, f=1.5, d=-0.25, dec=D("12345.678"), s="žluťoučký \"kůň\"\n\t\\",
    bin=b"\x00\xff", dat=dt.date(2024, 2, 29), ts=dt.datetime(2024, 2, 29, 12, 30, 15, 123456, UTC),
    ntz=dt.datetime(2024, 2, 29, 12, 30, 15, 123456),
)
ONE_OF_ALL_SQL = """SELECT 1L id, true b, -7Y ti, 300S si, 70000 i, 1.5F f, -0.25D d, 12345.678BD dec,
 'žluťoučký "kůň"\\n\\t\\\\' s, X'00FF' bin, DATE'2024-02-29' dat, TIMESTAMP'2024-02-29 12:30:15.123456Z' ts,
 TIMESTAMP_NTZ'2024-02-29 12:30:15.123456' ntz"""


class Case:
    """A table made by SQL. @rows: what it holds, as Python values. @deletes: conditions for delete-rows, over columns c0, c1, ….
    @row_ids: it has row tracking. @feed: it has a legacy feed from version 0 on. @forget: the log before the last checkpoint is removed. @filters: conditions that every
    engine knows, against statistics that lie. @by_spark: statements for Spark on table {t}, after all reading.
    @cannot: reader → piece of its error. @wrong: reader → why its rows are not the table's. The readers: delta-rs, delta-rs-feed, duckdb,
    spark, spark-feed."""

    table, kept_by_flow = "t", False

    def __init__(self, name, statements, rows, deletes=(), feed=False, forget=False, filters=(), by_spark=(), row_ids=False, cannot=None, wrong=None):
        self.name, self.statements, self.rows, self.source = name, statements, rows, self
        self.filters, self.statements_by_spark, self.row_ids = filters, by_spark, row_ids
        self.deletes, self.feed, self.forget, self.cannot, self.wrong = deletes, feed, forget, cannot or {}, wrong or {}

    def make(self, directory):
        """→ the warehouse in @directory"""
        sluice(directory, "; ".join(self.statements))
        for condition in self.deletes:
            delete(directory / "t", condition)
        if self.forget:
            log = directory / "t/_delta_log"
            last = json.loads((log / "_last_checkpoint").read_text())["version"]
            for commit in log.glob("*.json"):
                if int(commit.name.split(".")[0]) < last:
                    commit.unlink()
        return directory


MAPPED_PARTITIONS = "partition columns of a mapped table other than its first columns: NULL or another's values"  # delta extension 1.5.5
MAPPED_FEED = "Column mapping is not supported for read operation 'CHANGE DATA FEED scans' yet"  # delta-rs 1.6.6


def partitioned(name, type_, literals, values):
    selects = " UNION ALL ".join(f"SELECT {i} v, {literal} p" for i, literal in enumerate(literals))
    return Case(
        f"partition-{name}",
        [f"CREATE TABLE t (v INT, p {type_}) USING delta PARTITIONED BY (p)", f"INSERT INTO t {selects}"],
        [dict(v=i, p=value) for i, value in enumerate(values)],
    )


TEN = "SELECT CAST(id AS INT) id, concat('n', id) name FROM range(10)"
TEN_ROWS = [dict(id=i, name=f"n{i}") for i in range(10)]
CASES = [
    Case("all-types", [f"CREATE TABLE t ({ALL_TYPES})", f"INSERT INTO t {ONE_OF_ALL_SQL}"], [ONE_OF_ALL]),
    Case(
        "nulls",
        [f"CREATE TABLE t ({ALL_TYPES})", "INSERT INTO t (id) VALUES (1)"],
        [{key: 1 if key == "id" else None for key in ONE_OF_ALL}],
    ),
    Case(
        "nested",
        [
            "CREATE TABLE t (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING>>, l ARRAY<STRUCT<x: INT>>, m MAP<STRING, INT>)",
            """INSERT INTO t SELECT 1, named_struct('a', 1, 'b', named_struct('c', 'x')), array(named_struct('x', 5), NULL),
               map('k', 1)
               UNION ALL SELECT 2, NULL, NULL, NULL
               UNION ALL SELECT 3, named_struct('a', CAST(NULL AS INT), 'b', NULL), array(), map()""",
        ],
        [
            dict(id=1, s=dict(a=1, b=dict(c="x")), l=[dict(x=5), None], m=[("k", 1)]),
            dict(id=2, s=None, l=None, m=None),
            dict(id=3, s=dict(a=None, b=None), l=[], m=[]),
        ],
    ),
    Case("ctas", [f"CREATE TABLE t USING delta AS {TEN}"], TEN_ROWS),
    Case("overwrite", [f"CREATE TABLE t AS {TEN}", f"INSERT OVERWRITE t {TEN} WHERE id < 3"], TEN_ROWS[:3]),
    Case(
        "column-mapping",
        [
            "CREATE TABLE t (`a b` INT, `c;d` STRUCT<`e f`: STRING>) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO t SELECT 1, named_struct('e f', 'x') UNION ALL SELECT 2, NULL",
        ],
        [{"a b": 1, "c;d": {"e f": "x"}}, {"a b": 2, "c;d": None}],
    ),
    Case(
        "column-mapping-partitioned",
        [
            "CREATE TABLE t (`p q` STRING, id INT) PARTITIONED BY (`p q`) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO t VALUES ('a/b', 1), (NULL, 2)",
        ],
        [{"id": 1, "p q": "a/b"}, {"id": 2, "p q": None}],
    ),
    Case(
        "column-mapping-id",
        [
            "CREATE TABLE t (`a b` INT, s STRUCT<`e f`: STRING, l: ARRAY<STRUCT<x: INT>>>) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
            "INSERT INTO t SELECT 1, named_struct('e f', 'x', 'l', array(named_struct('x', 1))) UNION ALL SELECT 2, NULL",
        ],
        [{"a b": 1, "s": {"e f": "x", "l": [{"x": 1}]}}, {"a b": 2, "s": None}],
        by_spark=["INSERT INTO {t} SELECT 3, named_struct('e f', 'y', 'l', array())", "ALTER TABLE {t} RENAME COLUMN `a b` TO c"],
    ),
    Case(
        "column-mapping-partition-behind",
        [
            "CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO t VALUES (1, 'a')",
        ],
        [{"id": 1, "p": "a"}],
        wrong={"duckdb": MAPPED_PARTITIONS},
    ),
    Case(
        "row-tracking",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableRowTracking' = 'true')", f"INSERT INTO t {TEN}"],
        TEN_ROWS,
        row_ids=True,
        by_spark=["INSERT INTO {t} VALUES (10, 'new')", "UPDATE {t} SET name = 'odd' WHERE id % 2 = 1"],
    ),
    Case(
        "vectors",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", f"INSERT INTO t {TEN}"],
        TEN_ROWS[5:],
        deletes=["c0 < 3", "c0 BETWEEN 2 AND 4"],
        by_spark=["DELETE FROM {t} WHERE id = 7", "UPDATE {t} SET name = 'x' WHERE id = 8"],
    ),
    Case(
        "vectors-in-a-file",
        ["CREATE TABLE t AS SELECT CAST(id AS INT) id FROM range(100000)"],
        [dict(id=i) for i in range(0, 100000, 1000)],
        deletes=["c0 % 1000 <> 0"],
    ),
    Case(
        "copy-on-write",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'false')", f"INSERT INTO t {TEN}"],
        TEN_ROWS[5:],
        deletes=["c0 < 3", "c0 BETWEEN 2 AND 4"],
    ),
    Case(
        "vectors-row-tracking-partitions",
        [
            """CREATE TABLE t (id INT, name STRING) PARTITIONED BY (name)
               TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true')""",
            "INSERT INTO t SELECT CAST(id AS INT), concat('n', id % 2) FROM range(10)",
        ],
        [dict(id=i, name=f"n{i % 2}") for i in (0, 2, 4, 6, 7, 8, 9)],
        deletes=["c0 IN (1, 3, 5)"],
        row_ids=True,
    ),
    Case(
        "change-feed",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", f"INSERT INTO t {TEN}",
         f"INSERT OVERWRITE t {TEN} WHERE id < 4"],
        TEN_ROWS[:4],
        feed=True,
        by_spark=["UPDATE {t} SET name = 'x' WHERE id = 3"],
    ),
    Case(
        "change-feed-vectors",
        [
            """CREATE TABLE t (id INT, `p/q` STRING) PARTITIONED BY (`p/q`)
               TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'true')""",
            "INSERT INTO t SELECT CAST(id AS INT), concat('n %', id % 3) FROM range(10)",
            "INSERT INTO t VALUES (10, NULL)",
        ],
        [{"id": i, "p/q": f"n %{i % 3}"} for i in range(5, 10)] + [{"id": 10, "p/q": None}],
        deletes=["c0 < 3", "c0 BETWEEN 2 AND 4"],
        feed=True,
        cannot={"delta-rs-feed": "Failed to fetch metadata for file p%252Fq"},  # it does not decode paths
    ),
    Case(
        "change-feed-mapped",
        [
            """CREATE TABLE t (`p q` STRING, `a b` INT) PARTITIONED BY (`p q`)
               TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.columnMapping.mode' = 'name')""",
            "INSERT INTO t SELECT 'x', CAST(id AS INT) FROM range(4)",
        ],
        [{"p q": "x", "a b": i} for i in (0, 2)],
        deletes=["c1 % 2 = 1"],
        feed=True,
        cannot={"delta-rs-feed": MAPPED_FEED},
    ),
    Case(
        "constraints",
        ["CREATE TABLE t (id INT NOT NULL, name STRING, CONSTRAINT small CHECK (id < 100))", f"INSERT INTO t {TEN}"],
        TEN_ROWS,
        by_spark=["INSERT INTO {t} VALUES (99, 'last')"],
    ),
    Case(
        "generated",
        [
            "CREATE TABLE t (id INT, seen TIMESTAMP, day DATE GENERATED ALWAYS AS (CAST(seen AS DATE)), s STRING DEFAULT 'none') PARTITIONED BY (day)",
            "INSERT INTO t (id, seen) VALUES (1, TIMESTAMP'2024-02-29 12:00:00Z'), (2, NULL)",
        ],
        [dict(id=1, seen=dt.datetime(2024, 2, 29, 12, tzinfo=UTC), day=dt.date(2024, 2, 29), s="none"), dict(id=2, seen=None, day=None, s="none")],
        filters=["seen >= TIMESTAMP '2024-02-29 12:00:00+00:00'", "day = DATE '2024-02-29'"],
        by_spark=["INSERT INTO {t} (id, seen) VALUES (3, TIMESTAMP'2024-03-01 12:00:00Z')"],
    ),
    Case(
        "checkpoint",
        [
            f"CREATE TABLE t ({ALL_TYPES}) PARTITIONED BY (s, ts) TBLPROPERTIES ('delta.checkpointInterval' = '1')",
            f"INSERT INTO t {ONE_OF_ALL_SQL}",
            "INSERT INTO t (id) VALUES (2)",
            "INSERT INTO t (id) VALUES (3)",
        ],
        [ONE_OF_ALL] + [{key: id if key == "id" else None for key in ONE_OF_ALL} for id in (2, 3)],
        forget=True,
        filters=["id = 2", "s IS NOT NULL", "i = 70000"],
    ),
    Case(
        "checkpoint-vectors-mapped-tracked",
        [
            """CREATE TABLE t (`i d` INT, n STRUCT<`x y`: INT>) TBLPROPERTIES ('delta.checkpointInterval' = '1',
               'delta.enableDeletionVectors' = 'true', 'delta.enableRowTracking' = 'true', 'delta.columnMapping.mode' = 'name')""",
            "INSERT INTO t SELECT CAST(id AS INT), named_struct('x y', CAST(id AS INT)) FROM range(6)",
        ],
        [{"i d": i, "n": {"x y": i}} for i in (1, 3, 5)],
        deletes=["c0 = 0", "c0 = 2", "c0 = 4"],
        row_ids=True,
        forget=True,
    ),
    Case(
        "statistics",
        [
            "CREATE TABLE t (id INT, d DOUBLE, s STRING, ts TIMESTAMP, ntz TIMESTAMP_NTZ, dec DECIMAL(38,18), n STRUCT<a: INT>)",
            f"""INSERT INTO t SELECT 1, CAST('NaN' AS DOUBLE), concat(repeat('a', 40), '\U0010FFFF'), TIMESTAMP'2024-01-01 00:00:00.123456Z',
                TIMESTAMP_NTZ'2024-01-01 00:00:00.999999', 0.000000000000000001BD, named_struct('a', 1)""",
            "INSERT INTO t SELECT 2, -0.0D, repeat('é', 50), TIMESTAMP'9999-12-31 23:59:59.999999Z', NULL, 12345678901234567890.5BD, NULL",
            "INSERT INTO t SELECT 3, CAST('-Infinity' AS DOUBLE), '', TIMESTAMP'1500-01-01 00:00:00Z', NULL, -1BD, named_struct('a', NULL)",
        ],
        [
            dict(id=1, d=float("nan"), s="a" * 40 + "\U0010FFFF", ts=dt.datetime(2024, 1, 1, 0, 0, 0, 123456, UTC),
                 ntz=dt.datetime(2024, 1, 1, 0, 0, 0, 999999), dec=D("0.000000000000000001"), n=dict(a=1)),
            dict(id=2, d=-0.0, s="é" * 50, ts=dt.datetime(9999, 12, 31, 23, 59, 59, 999999, UTC), ntz=None,
                 dec=D("12345678901234567890.500000000000000000"), n=None),
            dict(id=3, d=float("-inf"), s="", ts=dt.datetime(1500, 1, 1, tzinfo=UTC), ntz=None, dec=D("-1.000000000000000000"), n=dict(a=None)),
        ],
        filters=[
            "d > 0", "d = 0", "s > 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa'", "s = ''", "s >= 'é'", "n.a = 1", "n IS NULL",
            "ts >= TIMESTAMP '2024-01-01 00:00:00.123456+00:00'", "ts < TIMESTAMP '1700-01-01 00:00:00+00:00'", "dec < 0.5 AND dec > 0",
        ],
    ),
    Case(
        "old-dates",
        [
            "CREATE TABLE t (d DATE, ts TIMESTAMP, ntz TIMESTAMP_NTZ)",
            "INSERT INTO t SELECT DATE'0001-01-01', TIMESTAMP'0001-01-03 00:00:00Z', TIMESTAMP_NTZ'0001-01-03 00:00:00'",
            "INSERT INTO t SELECT DATE'1582-10-10', TIMESTAMP'1582-10-10 01:02:03Z', TIMESTAMP_NTZ'1582-10-10 01:02:03'",
        ],
        [
            dict(d=dt.date(1, 1, 1), ts=dt.datetime(1, 1, 3, tzinfo=UTC), ntz=dt.datetime(1, 1, 3)),
            dict(d=dt.date(1582, 10, 10), ts=dt.datetime(1582, 10, 10, 1, 2, 3, tzinfo=UTC), ntz=dt.datetime(1582, 10, 10, 1, 2, 3)),
        ],
        filters=["d < DATE '1582-10-04'"],
    ),
    Case(
        "time-zone",
        [
            "SET TIME ZONE 'America/New_York'",
            "CREATE TABLE t (id INT, ts TIMESTAMP) PARTITIONED BY (ts)",
            "INSERT INTO t VALUES (1, TIMESTAMP'2024-07-01 20:00:00'), (2, TIMESTAMP'2024-11-03 01:30:00.5')",
        ],
        [dict(id=1, ts=dt.datetime(2024, 7, 2, tzinfo=UTC)), dict(id=2, ts=dt.datetime(2024, 11, 3, 5, 30, 0, 500000, UTC))],
        filters=["ts < TIMESTAMP '2024-07-02 01:00:00+00:00'"],
    ),
    Case(
        "names",
        ["CREATE TABLE t (`größe` INT, `a.b` STRUCT<`c-d`: INT>, SELECT STRING)", "INSERT INTO t SELECT 1, named_struct('c-d', 2), 'x'"],
        [{"größe": 1, "a.b": {"c-d": 2}, "SELECT": "x"}],
    ),
    Case(
        "altered",
        [
            "CREATE TABLE t (id INT, s STRUCT<a: INT>, name VARCHAR(3), n INT) PARTITIONED BY (n)",
            "INSERT INTO t VALUES (1, named_struct('a', 1), 'x', 1), (2, NULL, 'y', 2)",
            "ALTER TABLE t ADD COLUMNS (c INT COMMENT 'new' AFTER id, s.b STRING FIRST)",
            "ALTER TABLE t ALTER COLUMN name TYPE VARCHAR(5)",
            "ALTER TABLE t ALTER COLUMN name FIRST",
            "ALTER TABLE t ALTER COLUMN id SET NOT NULL",
            "ALTER TABLE t ADD CONSTRAINT small CHECK (id < 100)",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.feature.allowColumnDefaults' = 'supported', 'mine' = 'x')",
            "ALTER TABLE t ALTER COLUMN c SET DEFAULT 7",
            "INSERT INTO t (name, id, s, n) VALUES ('abcde', 3, named_struct('b', 'q', 'a', 5), 1)",
            "COMMENT ON COLUMN t.id IS 'key'",
        ],
        [
            dict(name="x", id=1, c=None, s=dict(b=None, a=1), n=1),
            dict(name="y", id=2, c=None, s=None, n=2),
            dict(name="abcde", id=3, c=7, s=dict(b="q", a=5), n=1),
        ],
        filters=["c = 7", "c IS NULL", "id >= 2 AND n = 1"],
        by_spark=["INSERT INTO {t} (name, id, n) VALUES ('z', 99, 3)", "ALTER TABLE {t} DROP CONSTRAINT small", "INSERT INTO {t} (id, n) VALUES (100, 3)"],
    ),
    Case(
        "altered-mapped",
        [
            "CREATE TABLE t (p STRING, id INT, name STRING, s STRUCT<a: INT, b: INT>) PARTITIONED BY (p)",
            "INSERT INTO t VALUES ('x', 1, 'a', named_struct('a', 1, 'b', 2)), ('y', 2, 'b', NULL)",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "ALTER TABLE t RENAME COLUMN p TO `part =`",
            "ALTER TABLE t RENAME COLUMN s.b TO bb",
            "ALTER TABLE t DROP COLUMNS (name, s.a)",
            "ALTER TABLE t ADD COLUMNS (name INT, s.a STRING)",
            "INSERT INTO t VALUES ('x', 3, named_struct('bb', 5, 'a', 'q'), 7)",
        ],
        [
            {"part =": "x", "id": 1, "s": {"bb": 2, "a": None}, "name": None},
            {"part =": "y", "id": 2, "s": None, "name": None},
            {"part =": "x", "id": 3, "s": {"bb": 5, "a": "q"}, "name": 7},
        ],
        filters=["name = 7", "name IS NULL", "id = 1"],
        by_spark=["ALTER TABLE {t} RENAME COLUMN name TO number", "INSERT INTO {t} VALUES ('z', 4, NULL, 8)", "ALTER TABLE {t} DROP COLUMN s"],
    ),
    Case(
        "altered-widened",
        [
            "CREATE TABLE t (id INT, a TINYINT, d DECIMAL(4,1), f FLOAT, day DATE, l ARRAY<INT>)",
            "INSERT INTO t VALUES (1, 2, 3.5, 0.5, DATE'2024-02-03', array(5))",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.enableTypeWidening' = 'true', 'delta.feature.timestampNtz' = 'supported')",
            "ALTER TABLE t ALTER COLUMN a TYPE BIGINT",
            "ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(8,3)",
            "ALTER TABLE t ALTER COLUMN f TYPE DOUBLE",
            "ALTER TABLE t ALTER COLUMN day TYPE TIMESTAMP_NTZ",
            "ALTER TABLE t ALTER COLUMN l.element TYPE BIGINT",
            "INSERT INTO t VALUES (2, 3000000000, 12345.125, 0.1, TIMESTAMP_NTZ'2024-02-03 04:05:06', array(3000000000))",
        ],
        [
            dict(id=1, a=2, d=D("3.500"), f=0.5, day=dt.datetime(2024, 2, 3), l=[5]),
            dict(id=2, a=3000000000, d=D("12345.125"), f=0.1, day=dt.datetime(2024, 2, 3, 4, 5, 6), l=[3000000000]),
        ],
        by_spark=["ALTER TABLE {t} ALTER COLUMN id TYPE BIGINT", "INSERT INTO {t} (id) VALUES (3000000000)"],
        cannot={"delta-rs": "TypeWidening"},
    ),
    Case(
        "altered-row-tracking",
        [
            "CREATE TABLE t (id INT, name STRING)",
            f"INSERT INTO t {TEN} WHERE id < 5",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')",
            f"INSERT INTO t {TEN} WHERE id >= 5",
        ],
        TEN_ROWS,
        row_ids=True,
        by_spark=["UPDATE {t} SET name = 'odd' WHERE id % 2 = 1"],
    ),
    Case(
        "altered-features-dropped",
        [
            "CREATE TABLE t (id INT, name STRING, CONSTRAINT small CHECK (id < 100)) TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.enableInCommitTimestamps' = 'true')",
            f"INSERT INTO t {TEN}",
            "ALTER TABLE t DROP CONSTRAINT small",
            "ALTER TABLE t DROP FEATURE checkConstraints",
            "ALTER TABLE t DROP FEATURE rowTracking",
            "ALTER TABLE t DROP FEATURE domainMetadata",
            "ALTER TABLE t DROP FEATURE inCommitTimestamp",
            "INSERT INTO t VALUES (10, 'new')",
        ],
        TEN_ROWS + [dict(id=10, name="new")],
        by_spark=["INSERT INTO {t} VALUES (101, 'new')"],
    ),
    Case(
        "altered-vectors",
        [
            "CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true', 'delta.enableChangeDataFeed' = 'true')",
            f"INSERT INTO t {TEN}",
            "DELETE FROM t WHERE id < 5",
            "ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true', 'delta.columnMapping.mode' = 'name')",
            "ALTER TABLE t RENAME COLUMN name TO nm",
            "DELETE FROM t WHERE id = 7",
        ],
        [dict(id=row["id"], nm=row["name"]) for row in TEN_ROWS[5:] if row["id"] != 7],
        by_spark=["DELETE FROM {t} WHERE id = 8"],
    ),
    Case(
        "replaced",
        [
            "CREATE TABLE t (id INT, name STRING) CLUSTER BY (id) TBLPROPERTIES ('delta.columnMapping.mode' = 'name', 'delta.enableRowTracking' = 'true')",
            f"INSERT INTO t {TEN}",
            "CREATE OR REPLACE TABLE t (name INT, `i d` STRING) TBLPROPERTIES ('delta.columnMapping.mode' = 'id')",
            "INSERT INTO t VALUES (1, 'x')",
        ],
        [{"name": 1, "i d": "x"}],
        by_spark=["INSERT INTO {t} VALUES (2, 'y')"],
    ),
    Case(
        "checkpoint-v2",
        [
            """CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('delta.checkpointInterval' = '1',
               'delta.checkpointPolicy' = 'v2', 'delta.enableInCommitTimestamps' = 'true')""",
            "INSERT INTO t VALUES (1, 'a'), (2, NULL)",
            "INSERT INTO t VALUES (3, 'c')",
            "DELETE FROM t WHERE id = 1",
            "INSERT INTO t VALUES (4, 'd')",
        ],
        [{"id": 2, "p": None}, {"id": 3, "p": "c"}, {"id": 4, "p": "d"}],
        forget=True,
        by_spark=["INSERT INTO {t} VALUES (5, 'e')"],
    ),
    Case(
        "widened",
        [
            """CREATE TABLE t (b TINYINT, i INT, f FLOAT, d DECIMAL(6,2), n INT, s STRUCT<x: INT>, l ARRAY<INT>)
               TBLPROPERTIES ('delta.enableTypeWidening' = 'true')""",
            "INSERT INTO t VALUES (127, 2147483647, 0.7, 1234.56, 5, named_struct('x', 1), array(1, NULL))",
            "ALTER TABLE t ALTER COLUMN b TYPE BIGINT",
            "ALTER TABLE t ALTER COLUMN i TYPE BIGINT",
            "ALTER TABLE t ALTER COLUMN f TYPE DOUBLE",
            "ALTER TABLE t ALTER COLUMN d TYPE DECIMAL(12,4)",
            "ALTER TABLE t ALTER COLUMN n TYPE DOUBLE",
            "ALTER TABLE t ALTER COLUMN s.x TYPE BIGINT",
            "ALTER TABLE t ALTER COLUMN l.element TYPE BIGINT",
            "INSERT INTO t VALUES (3000000000, 3000000000, 0.1D, 12345678.1234, 1.5, named_struct('x', 3000000000), array(3000000000))",
        ],
        [
            dict(b=127, i=2147483647, f=0.699999988079071, d=D("1234.5600"), n=5.0, s={"x": 1}, l=[1, None]),
            dict(b=3000000000, i=3000000000, f=0.1, d=D("12345678.1234"), n=1.5, s={"x": 3000000000}, l=[3000000000]),
        ],
        cannot={"delta-rs": "TypeWidening"},
    ),
    Case(
        "clustered",
        [
            "CREATE TABLE t (id INT NOT NULL, k STRING) CLUSTER BY (k) TBLPROPERTIES ('delta.dataSkippingNumIndexedCols' = '1')",
            "INSERT INTO t VALUES (1, 'x'), (2, 'y')",
            "UPDATE t SET id = 3 WHERE k = 'y'",
        ],
        [{"id": 1, "k": "x"}, {"id": 3, "k": "y"}],
        filters=["k = 'x'", "k > 'x'"],
        by_spark=["INSERT INTO {t} VALUES (4, 'z')", "OPTIMIZE {t}"],
    ),
    Case("empty", [f"CREATE TABLE t ({ALL_TYPES})"], []),
    Case(
        "two-partition-columns",
        [
            "CREATE TABLE t (v INT, `p=q` STRING, day DATE) PARTITIONED BY (day, `p=q`) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO t VALUES (1, 'a=b&c', DATE'2024-01-01'), (2, ' ', NULL), (3, 'é:\\\\', DATE'1999-12-31')",
        ],
        [{"v": 1, "p=q": "a=b&c", "day": dt.date(2024, 1, 1)}, {"v": 2, "p=q": " ", "day": None}, {"v": 3, "p=q": "é:\\", "day": dt.date(1999, 12, 31)}],
        wrong={"duckdb": MAPPED_PARTITIONS},
    ),
    partitioned("boolean", "BOOLEAN", ["true", "false", "NULL"], [True, False, None]),
    partitioned("int", "INT", ["-1", "NULL"], [-1, None]),
    partitioned("tinyint", "TINYINT", ["-128Y", "NULL"], [-128, None]),
    partitioned("smallint", "SMALLINT", ["300S", "NULL"], [300, None]),
    partitioned("bigint", "BIGINT", ["9223372036854775807L", "NULL"], [9223372036854775807, None]),
    partitioned("float", "FLOAT", ["1.5F", "-2e10F"], [1.5, -2e10]),
    partitioned("binary", "BINARY", ["X'4142'", "NULL"], [b"AB", None]),
    partitioned("empty-string", "STRING", ["''", "'x'"], [None, "x"]),
    partitioned("double", "DOUBLE", ["1.5D", "-2e10D"], [1.5, -2e10]),
    partitioned("decimal", "DECIMAL(10,2)", ["1.20BD", "NULL"], [D("1.20"), None]),
    partitioned(
        "string", "STRING", ["'a b'", "'x/y=z'", "'50%'", "'ä#?'", "'{[*]}'", "NULL"], ["a b", "x/y=z", "50%", "ä#?", "{[*]}", None]
    ),
    partitioned("date", "DATE", ["DATE'2024-02-29'", "DATE'0001-01-01'"], [dt.date(2024, 2, 29), dt.date(1, 1, 1)]),
    partitioned(
        "timestamp", "TIMESTAMP", ["TIMESTAMP'2024-02-29 12:30:15.5Z'", "NULL"], [dt.datetime(2024, 2, 29, 12, 30, 15, 500000, UTC), None]
    ),
    partitioned(
        "timestamp-ntz", "TIMESTAMP_NTZ", ["TIMESTAMP_NTZ'2024-02-29 12:30:15'"], [dt.datetime(2024, 2, 29, 12, 30, 15)]
    ),
]


# Pipelines ------------------------------------------------------------------------------------------------------------


class Pipeline:
    """@drops: rows of the JSON files; an update after each."""

    def __init__(self, name, sql, drops):
        self.name, self.sql, self.drops = name, sql, drops

    def make(self, directory):
        one = project.Project(self.sql, directory=directory)
        for rows in self.drops:
            one.add_file(rows)
            one.update()
        return one.root / "warehouse"


class Demo:
    """examples/customers with 1,000 customers: three updates."""

    name = "demo"

    def make(self, directory):
        work = directory / "demo"
        done = subprocess.run(
            [ROOT / "examples/customers/demo", "--small"], capture_output=True, text=True,
            env={**os.environ, "SLUICE": str(BUILD / "sluice"), "SLUICE_DEMO_DIR": str(work)},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return work / "warehouse"


class PipelineTable:
    """@kept_by_flow: an AUTO CDC target, which others must not write. @rows: as those of Case; None: what Sluice reads."""

    filters = statements_by_spark = ()
    forget = False

    def __init__(self, source, table, rows=None, kept_by_flow=False, feed=False, row_ids=False, cannot=None, wrong=None):
        self.name, self.source, self.table, self.rows = f"{source.name}-{table}", source, table, rows
        self.kept_by_flow, self.feed, self.row_ids, self.cannot, self.wrong = kept_by_flow, feed, row_ids, cannot or {}, wrong or {}


def target(table, type_, properties="", columns=""):
    return f"""
CREATE OR REFRESH STREAMING TABLE {table} {columns} TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true'{properties});
CREATE FLOW {table}_flow AS AUTO CDC INTO {table} FROM STREAM(events) KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY seq
  COLUMNS * EXCEPT (op, seq, _rescued_data) STORED AS SCD TYPE {type_};"""


VECTORS = ", 'delta.enableDeletionVectors' = 'true'"
REWRITE = ", 'delta.enableDeletionVectors' = 'false'"
TRACKED = VECTORS + ", 'delta.enableRowTracking' = 'true'"
MAPPED = VECTORS + ", 'delta.columnMapping.mode' = 'name'"
TARGETS = {
    f"scd{type_}_{name}": (type_, properties)
    for type_ in (1, 2)
    for name, properties in (("vectors", VECTORS), ("rewrite", REWRITE), ("tracked", TRACKED), ("mapped", MAPPED))
}
TARGETS_PIPELINE = Pipeline(
    "targets",
    """CREATE OR REFRESH STREAMING TABLE events
       AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', inferColumnTypes => 'true');"""
    + "".join(target(name, *facts) for name, facts in TARGETS.items()),
    [
        [dict(id=i, name=name, seq=1, op="U") for i, name in ((1, "a"), (2, "b"), (3, "c"))],
        [dict(id=1, name="a2", seq=2, op="U"), dict(id=2, seq=2, op="D"), dict(id=4, name="d", seq=1, op="U")],
        [dict(id=1, name="late", seq=0, op="U"), dict(id=3, seq=3, op="D"), dict(id=3, name="c3", seq=4, op="U", more=1.5)],
    ],
)
TARGET_ROWS = {
    1: [dict(id=1, name="a2", more=None), dict(id=3, name="c3", more=1.5), dict(id=4, name="d", more=None)],
    2: [
        dict(id=1, name="late", __START_AT=0, __END_AT=1, more=None),
        dict(id=1, name="a", __START_AT=1, __END_AT=2, more=None),
        dict(id=1, name="a2", __START_AT=2, __END_AT=None, more=None),
        dict(id=2, name="b", __START_AT=1, __END_AT=2, more=None),
        dict(id=3, name="c", __START_AT=1, __END_AT=3, more=None),
        dict(id=3, name="c3", __START_AT=4, __END_AT=None, more=1.5),
        dict(id=4, name="d", __START_AT=1, __END_AT=None, more=None),
    ],
}
CUSTOMERS = Pipeline("customers", project.CUSTOMERS_SQL, [project.CUSTOMERS_1, project.CUSTOMERS_2, []])
TUTORIAL = Pipeline("tutorial", project.TUTORIAL_SQL, [project.TUTORIAL_1, project.TUTORIAL_2])
DEMO = Demo()
SILVER = [dict(zip(("id", "name", "email", "address", "phone"), row)) for row in project.SILVER_2]
PIPELINE_TABLES = [
    *(
        PipelineTable(
            TARGETS_PIPELINE, table, TARGET_ROWS[type_], kept_by_flow=True, feed=True, row_ids=properties == TRACKED,
            cannot={"delta-rs-feed": MAPPED_FEED} if properties == MAPPED else {},
        )
        for table, (type_, properties) in TARGETS.items()
    ),
    PipelineTable(CUSTOMERS, "customer_bronze"),
    PipelineTable(CUSTOMERS, "customer_silver", SILVER, kept_by_flow=True),
    PipelineTable(TUTORIAL, "customers_cdc_bronze"),
    PipelineTable(TUTORIAL, "customers_cdc_clean"),
    PipelineTable(TUTORIAL, "customers", kept_by_flow=True),
    PipelineTable(TUTORIAL, "customers_history", kept_by_flow=True),
    PipelineTable(TUTORIAL, "customers_history_agg"),
    PipelineTable(DEMO, "customers_bronze"),
    PipelineTable(DEMO, "customers_clean"),
    PipelineTable(DEMO, "customers", kept_by_flow=True, feed=True),
    PipelineTable(DEMO, "customers_history", kept_by_flow=True, feed=True),
    PipelineTable(DEMO, "customers_by_city"),
]
TABLES = CASES + PIPELINE_TABLES


class Made:
    """Every table, made when first asked for, and what Sluice says about it."""

    def __init__(self, directory):
        self.directory, self.warehouses, self.readings = directory, {}, {}

    def warehouse(self, case):
        if case.source.name not in self.warehouses:
            directory = self.directory / case.source.name
            directory.mkdir()
            self.warehouses[case.source.name] = case.source.make(directory)
        return self.warehouses[case.source.name]

    def path(self, case):
        return self.warehouse(case) / case.table

    def reading(self, case):
        """→ (rows, [[column, type]], feed or None, versions from the newest)"""
        if case.name not in self.readings:
            statements = [f"SELECT * FROM {case.table}", f"DESCRIBE TABLE {case.table}", f"DESCRIBE HISTORY {case.table}"]
            if case.feed:
                statements.append(f"SELECT * FROM table_changes('{case.table}', 0)")
            parts = [[]]
            for row in sluice(self.warehouse(case), "; SELECT 'between' AS here; ".join(statements)):
                if row == {"here": "between"}:
                    parts.append([])
                else:
                    parts[-1].append(row)
            columns = []
            for row in parts[1]:
                if not row["col_name"] or row["col_name"].startswith("#"):  # what follows repeats the partition columns
                    break
                columns.append([row["col_name"], row["data_type"]])
            self.readings[case.name] = (parts[0], columns, parts[3] if case.feed else None, [row["version"] for row in parts[2]])
        return self.readings[case.name]

    def versions(self, case):
        return self.reading(case)[3]

    @functools.cache
    def filtered(self, case, condition):
        return sluice(self.warehouse(case), f"SELECT * FROM {case.table} WHERE {condition}")

    def now(self, case):
        """Rows as they are now, when others may have written; with row ids if there are any."""
        ids = ", _metadata.row_id, _metadata.row_commit_version" if case.row_ids else ""
        return sluice(self.warehouse(case), f"SELECT *{ids} FROM {case.table}")

    def history(self, case):
        return sluice(self.warehouse(case), f"DESCRIBE HISTORY {case.table}")

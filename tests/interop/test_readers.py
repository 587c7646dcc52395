"""Other engines read the tables that Sluice's SQL makes. See README.md."""
import datetime as dt
import decimal

import pytest
from readers import READERS, UTC, delete, deltalake, rows_of, sluice

D = decimal.Decimal

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
    """@cannot: reader → piece of its error. @wrong: reader → why its rows are not the table's."""

    def __init__(self, name, statements, rows, deletes=(), cannot=None, wrong=None):
        self.name, self.statements, self.rows = name, statements, rows
        self.deletes, self.cannot, self.wrong = deletes, cannot or {}, wrong or {}


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
        "column-mapping-partition-behind",
        [
            "CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p) TBLPROPERTIES ('delta.columnMapping.mode' = 'name')",
            "INSERT INTO t VALUES (1, 'a')",
        ],
        [{"id": 1, "p": "a"}],
        wrong={"duckdb": "NULL for a partition column that stands behind a data column of a mapped table"},
    ),
    Case(
        "row-tracking",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableRowTracking' = 'true')", f"INSERT INTO t {TEN}"],
        TEN_ROWS,
    ),
    Case(
        "vectors",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableDeletionVectors' = 'true')", f"INSERT INTO t {TEN}"],
        TEN_ROWS[5:],
        deletes=["c0 < 3", "c0 BETWEEN 2 AND 4"],
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
    ),
    Case(
        "change-feed",
        ["CREATE TABLE t (id INT, name STRING) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')", f"INSERT INTO t {TEN}"],
        TEN_ROWS,
    ),
    Case(
        "constraints",
        ["CREATE TABLE t (id INT NOT NULL, name STRING, CONSTRAINT small CHECK (id < 100))", f"INSERT INTO t {TEN}"],
        TEN_ROWS,
    ),
    partitioned("boolean", "BOOLEAN", ["true", "false", "NULL"], [True, False, None]),
    partitioned("int", "INT", ["-1", "NULL"], [-1, None]),
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


class Tables:
    """Every case's table, made when first asked for."""

    def __init__(self, factory):
        self.factory, self.made = factory, {}

    def warehouse(self, case):
        if case.name not in self.made:
            warehouse = self.factory.mktemp(case.name)
            sluice(warehouse, "; ".join(case.statements))
            for condition in case.deletes:
                delete(warehouse / "t", condition)
            self.made[case.name] = warehouse
        return self.made[case.name]


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return Tables(tmp_path_factory)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_reader_gives_the_rows(tables, case, reader):
    path = tables.warehouse(case) / "t"
    expected = rows_of(case.rows)
    if reader in case.cannot:
        with pytest.raises(Exception, match=case.cannot[reader]):
            READERS[reader](path)
        return
    found = rows_of(READERS[reader](path))
    if reader in case.wrong:
        assert found != expected, f"{reader} reads this table now: remove the exception ({case.wrong[reader]})"
    else:
        assert found == expected


@pytest.mark.parametrize("case", [case for case in CASES if case.deletes], ids=lambda case: case.name)
def test_sluice_counts_the_same(tables, case):
    assert sluice(tables.warehouse(case), "SELECT count(*) AS n FROM t") == [dict(n=len(case.rows))]


def test_feed_is_what_delta_rs_reads(tables):
    case = next(case for case in CASES if case.name == "change-feed")
    table = deltalake.DeltaTable(str(tables.warehouse(case) / "t"))
    import pyarrow

    rows = pyarrow.table(table.load_cdf(starting_version=1)).to_pylist()
    assert sorted((row["id"], row["_change_type"], row["_commit_version"]) for row in rows) == [(i, "insert", 1) for i in range(10)]

#!/usr/bin/env python3
"""Sources whose schemas change under AUTO CDC: autocdc.md §5.9."""
import itertools
import json
import unittest

from project import Project

STORAGES = ("SCD TYPE 1", "SCD TYPE 2")
WIDENING = "TBLPROPERTIES (delta.enableTypeWidening = true)"


def flow(columns, storage, declared="", more=""):
    return (f"CREATE TEMPORARY VIEW s AS SELECT * FROM STREAM read_files('${{source}}/src', format => 'json', schema => '{columns}');\n"
            f"CREATE STREAMING TABLE t {declared};\nCREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (id) APPLY AS DELETE WHEN op = 'D' "
            f"SEQUENCE BY n COLUMNS * EXCEPT (op, n) STORED AS {storage} {more};")


def shown(p):
    return p.rows("SELECT * FROM t")


def schema(p):
    return [(row["col_name"], row["data_type"]) for row in p.query("DESCRIBE t")]


def upserted(p):
    return p.last_update_metrics()["f"]["metrics"]["num_upserted_rows"]


class Leaves(unittest.TestCase):
    """Names of leaves with braces were taken for places in the engine's own texts, and ids of a mapped source's leaves became the target's."""

    MAPPED = "TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"

    def test_names_with_braces(self):
        for storage in ("SCD TYPE 1", "SCD TYPE 2", "SYSTEM SEQUENCE BY n STORED AS BITEMPORAL"):
            for ignore in ("", "IGNORE NULL UPDATES"):
                stored = storage if "BITEMPORAL" in storage else "STORED AS " + storage
                with self.subTest(storage, ignore=ignore), Project(
                        f"CREATE STREAMING TABLE t {self.MAPPED}; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (k) {ignore} SEQUENCE BY n "
                        f"COLUMNS * EXCEPT (n) {stored}") as p:
                    p.query(f"CREATE TABLE src (k INT, s STRUCT<`{{K}}`: INT, `it's \"{{`: INT>, n STRUCT<`{{O}}`: INT>) {self.MAPPED}")
                    p.query("INSERT INTO src SELECT 1, struct(1, 1), struct(1)")
                    p.update()
                    p.query("ALTER TABLE src ADD COLUMNS (z INT)")  # events of two sets of fields
                    p.query("INSERT INTO src SELECT 1, struct(2, 5), struct(2), 7 UNION ALL SELECT 1, struct(3, 4), struct(2), 7")
                    p.query("INSERT INTO src SELECT 1, struct(9, 9), struct(0), 6")
                    p.update()
                    current = "" if storage == "SCD TYPE 1" else "WHERE __END_AT IS NULL" + (" AND __SYSTEM_END_AT IS NULL" if "BITEMPORAL" in storage else "")
                    second = 5 if ignore else 4
                    self.assertEqual(p.rows(f"SELECT k, s.`{{K}}`, s.`it's \"{{`, z FROM t {current}"), [(1, 3, second, 7)])

    def test_numbers_in_maps(self):
        """Their zeros lose the sign entry by entry, and the entries were taken for the columns that came first in the source."""
        kinds = ["MAP<STRING, DOUBLE>", "ARRAY<MAP<STRING, FLOAT>>", "STRUCT<m: MAP<STRING, DOUBLE>>", "MAP<STRING, MAP<STRING, DOUBLE>>"]
        values = ["map('key', {0})", "array(map('key', float({0})))", "named_struct('m', map('key', {0}))", "map('key', map('value', {0}))"]
        wanted = ([["key", 0.0]], [[["key", 0.0]]], {"m": [["key", 0.0]]}, [["key", [["value", 0.0]]]])
        for order, storage in itertools.product(range(len(kinds)), STORAGES):
            turned = [(kinds + kinds)[order + i] for i in range(len(kinds))]
            columns = ", ".join(f"v{i} {kind}" for i, kind in enumerate(turned))
            with self.subTest(columns, storage=storage), Project(
                    f"CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (k) SEQUENCE BY n COLUMNS * EXCEPT (n) STORED AS {storage}") as p:
                p.query(f"CREATE TABLE src ({columns}, k INT, n INT)")
                for n, zero in ((1, "-0.0D"), (2, "0.0D")):
                    row = ", ".join((values + values)[order + i].format(zero) for i in range(len(values)))
                    p.query(f"INSERT INTO src SELECT {row}, 1, {n}")
                    p.update()
                    shown_ = p.query("SELECT v0, v1, v2, v3 FROM t")
                    self.assertEqual([json.dumps(row) for row in shown_], [json.dumps({f"v{i}": (wanted + wanted)[order + i] for i in range(4)})])
                self.assertEqual(upserted(p), 0)

    def test_a_target_has_ids_of_its_own(self):
        with Project(f"CREATE STREAMING TABLE a {self.MAPPED} AS SELECT * FROM STREAM src; CREATE STREAMING TABLE plain;"
                     f"CREATE STREAMING TABLE t {self.MAPPED}; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (k) SEQUENCE BY n STORED AS SCD TYPE 2;"
                     "CREATE FLOW g AS AUTO CDC INTO plain FROM STREAM src KEYS (k) SEQUENCE BY n;") as p:
            p.query(f"CREATE TABLE src (k INT, more INT, n STRUCT<x: INT, y: INT>) {self.MAPPED}; INSERT INTO src VALUES (1, 2, struct(3, 4))")
            p.update()

            def ids(fields):
                for field in fields:
                    yield field["metadata"].get("delta.columnMapping.id")
                    yield from ids(field["type"]["fields"]) if isinstance(field["type"], dict) else ()
            for table, n in (("a", 5), ("t", 11), ("plain", 0)):
                log = (p.root / "warehouse" / table / "_delta_log" / f"{0:020}.json").read_text().splitlines()
                schema = [json.loads(json.loads(line)["metaData"]["schemaString"]) for line in log if "metaData" in line][0]
                found = [i for i in ids(schema["fields"]) if i is not None]
                self.assertEqual(sorted(found), list(range(1, n + 1)), table)
            self.assertEqual(p.rows("SELECT k, more, n.x, __START_AT.y FROM t"), [(1, 2, 3, 4)])


class Widening(unittest.TestCase):
    """The target follows, and what was remembered of narrower values still counts."""

    # The narrow type, the wide one, values of the narrow one, a value of the wide one.
    TYPES = [
        ("TINYINT", "SMALLINT", (1, 2, 3), 300), ("SMALLINT", "BIGINT", (1, 2, 3), 1 << 40), ("INT", "BIGINT", (1, 2, 3), 1 << 40),
        ("FLOAT", "DOUBLE", (0.5, 0.25, 1.5), 0.1), ("INT", "DOUBLE", (1, 2, 3), 0.1), ("INT", "DECIMAL(12, 1)", (1, 2, 3), 4.5),
        ("DECIMAL(5, 2)", "DECIMAL(9, 3)", (1.25, 2.5, 3.75), 4.125), ("DATE", "TIMESTAMP_NTZ", ("2024-01-01", "2024-01-02", "2024-01-03"), "2024-01-04T10:00:00"),
        ("ARRAY<INT>", "ARRAY<BIGINT>", ([1], [2, None], []), [1 << 40]), ("MAP<STRING, INT>", "MAP<STRING, BIGINT>", ({"a": 1}, {"b": 2}, {}), {"c": 1 << 40}),
        ("STRUCT<p: INT, q: ARRAY<STRUCT<r: FLOAT>>>", "STRUCT<p: BIGINT, q: ARRAY<STRUCT<r: DOUBLE>>>",
         ({"p": 1, "q": [{"r": 0.5}]}, {"p": None, "q": []}, {"p": 3, "q": [{"r": 1.5}]}), {"p": 1 << 40, "q": [{"r": 0.1}]}),
    ]

    def events(self, values, wide):
        """Before and after the change: runs whose members are in state files, deletes, late events, an equal value again."""
        a, b, c = values
        before = [{"id": 1, "v": a, "n": 10}, {"id": 1, "v": a, "n": 20}, {"id": 1, "v": a, "n": 30}, {"id": 1, "v": b, "n": 40}, {"id": 2, "v": c, "n": 10},
                  {"id": 3, "v": a, "n": 10}, {"id": 3, "n": 20, "op": "D"}, {"id": 4, "v": b, "n": 10}, {"id": 5, "n": 50, "op": "D"}]
        after = [{"id": 1, "v": wide, "n": 15}, {"id": 1, "v": b, "n": 50}, {"id": 2, "v": wide, "n": 20}, {"id": 3, "v": wide, "n": 15},
                 {"id": 5, "v": wide, "n": 40}, {"id": 6, "v": wide, "n": 1}]
        return before, after

    def test_a_widened_target_is_that_of_wide_events(self):
        for (narrow, wide, values, value), storage in itertools.product(self.TYPES, STORAGES):
            before, after = self.events(values, value)
            columns = "id INT, v {}, n INT, op STRING"
            with self.subTest(f"{narrow} to {wide}", storage=storage):
                with Project(flow(columns.format(wide), storage)) as p:
                    for rows in (before, after):
                        p.add_file(rows, "src")
                    p.update()
                    expected, types = shown(p), schema(p)
                with Project(flow(columns.format(narrow), storage, WIDENING)) as p:
                    p.add_file(before, "src")
                    p.update()
                    p.sql(flow(columns.format(wide), storage, WIDENING))
                    p.add_file(after, "src")
                    p.update()
                    self.assertEqual((shown(p), schema(p)), (expected, types))
                    # All of it again: nothing changes. Equal values at newer sequences: memory alone.
                    p.add_file(before + after, "src")
                    p.update()
                    self.assertEqual((shown(p), upserted(p)), (expected, 0))
                    p.add_file([{"id": 4, "v": values[1], "n": 20}], "src")
                    p.update()
                    self.assertEqual((shown(p), upserted(p)), (expected, 0))

    def test_property_comes_with_the_wider_source(self):
        """The declaration's property counts in the update that sets it; the way back is a narrower source, which fits."""
        for storage in STORAGES:
            with self.subTest(storage), Project(flow("id INT, v INT, n INT, op STRING", storage)) as p:
                p.add_file([{"id": 1, "v": 1, "n": 1}], "src")
                p.update()
                p.sql(flow("id INT, v BIGINT, n INT, op STRING", storage))
                result = p.run()
                self.assertEqual(result.returncode, 2)
                self.assertIn("[AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT]", result.stderr)
                self.assertIn("delta.enableTypeWidening", result.stderr)
                p.sql(flow("id INT, v BIGINT, n INT, op STRING", storage, WIDENING))
                p.update()
                self.assertEqual(schema(p)[1], ("v", "int"), "a table is changed by the first batch that has events")
                p.add_file([{"id": 2, "v": 1 << 40, "n": 1}], "src")
                p.update()
                self.assertEqual(schema(p)[1], ("v", "bigint"))
                p.sql(flow("id INT, v SMALLINT, n INT, op STRING", storage, WIDENING))
                p.add_file([{"id": 3, "v": 7, "n": 1}], "src")
                p.update()
                self.assertEqual(p.rows("SELECT id, v FROM t"), [(1, 1), (2, 1 << 40), (3, 7)])
                self.assertEqual(schema(p)[1], ("v", "bigint"))

    def test_a_delta_source_widened_before_its_rows_were_read(self):
        """The hints are followed, one after the other."""
        sql = f"CREATE STREAMING TABLE t {WIDENING}; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src{{}} KEYS (id) SEQUENCE BY n COLUMNS id, v;"
        with Project(sql.format("")) as p:
            p.query("CREATE TABLE src (id INT, v INT, n INT) TBLPROPERTIES ('delta.enableTypeWidening' = 'true')")
            p.update()
            p.query("INSERT INTO src VALUES (1, 2, 3), (2, 2, 3)")
            p.query("ALTER TABLE src ALTER COLUMN v TYPE BIGINT; INSERT INTO src VALUES (1, 2000000000000, 4)")
            self.assertIn("hint: STREAM default.src WITH (schemaTrackingLocation = '_schemas')", p.run().stderr)
            p.sql(sql.format(" WITH (schemaTrackingLocation = '_schemas')"))
            self.assertIn("in WITH (…): allowSourceColumnTypeChange = '2'", p.run().stderr)
            p.sql(sql.format(" WITH (schemaTrackingLocation = '_schemas', allowSourceColumnTypeChange = '2')"))
            p.update()
            self.assertEqual(p.rows("SELECT id, v FROM t"), [(1, 2000000000000), (2, 2)])

    def test_the_log_has_what_the_protocol_asks_for(self):
        with Project(flow("id INT, v ARRAY<INT>, n INT, op STRING", "SCD TYPE 1", WIDENING)) as p:
            p.add_file([{"id": 1, "v": [1], "n": 1}], "src")
            p.update()
            p.sql(flow("id INT, v ARRAY<BIGINT>, n INT, op STRING", "SCD TYPE 1", WIDENING))
            p.add_file([{"id": 2, "v": [2], "n": 1}], "src")
            p.update()
            actions = [json.loads(line) for file in sorted((p.root / "warehouse" / "t" / "_delta_log").glob("*.json")) for line in file.read_text().splitlines()]
            metadata = [a["metaData"] for a in actions if "metaData" in a][-1]
            field = json.loads(metadata["schemaString"])["fields"][1]
            self.assertEqual(field["metadata"]["delta.typeChanges"], [{"fromType": "integer", "toType": "long", "fieldPath": "element"}])
            features = [a["protocol"] for a in actions if "protocol" in a][-1]
            self.assertIn("typeWidening", features["readerFeatures"])

    def test_keys_and_sequences_stay(self):
        for changed in ("id BIGINT, v INT, n INT, op STRING", "id INT, v INT, n BIGINT, op STRING"):
            with self.subTest(changed), Project(flow("id INT, v INT, n INT, op STRING", "SCD TYPE 2", WIDENING)) as p:
                p.add_file([{"id": 1, "v": 1, "n": 1}], "src")
                p.update()
                p.sql(flow(changed, "SCD TYPE 2", WIDENING))
                self.assertRegex(p.run().stderr, r"\[AUTOCDC_INVALID_STATE\.(KEY_SCHEMA|SEQUENCING_TYPE)_DRIFT\]")

    def test_partition_columns_and_statements_after_it(self):
        with Project(flow("id INT, v INT, n INT, op STRING", "SCD TYPE 1", "PARTITIONED BY (v) " + WIDENING)) as p:
            p.add_file([{"id": 1, "v": 1, "n": 1}, {"id": 2, "v": 2, "n": 1}], "src")
            p.update()
            p.sql(flow("id INT, v BIGINT, n INT, op STRING", "SCD TYPE 1", "PARTITIONED BY (v) " + WIDENING))
            p.add_file([{"id": 1, "v": 1 << 40, "n": 2}, {"id": 2, "v": 2, "n": 2}], "src")
            p.update()
            self.assertEqual(shown(p), [(1, 1 << 40), (2, 2)])
            p.query("UPDATE t SET v = v + 1 WHERE id = 2; OPTIMIZE t; REORG TABLE t APPLY (PURGE)")
            p.add_file([{"id": 2, "v": 9, "n": 1}, {"id": 3, "v": 3, "n": 1}], "src")
            p.update()
            self.assertEqual(shown(p), [(1, 1 << 40), (2, 3), (3, 3)])


class Columns(unittest.TestCase):
    """Columns that come, go, and come back; an event writes what its source had when it arrived (R-AUTH a)."""

    def steps(self, storage, *steps, more=""):
        with Project("CREATE TEMPORARY VIEW nothing AS SELECT 1 AS a;") as p:
            for columns, rows in steps:
                p.sql(flow(columns, storage, more=more))
                p.add_file(rows, "src")
                p.update()
            return shown(p), schema(p)

    OLD, NEW = "id INT, a STRING, n INT, op STRING", "id INT, a STRING, b STRING, n INT, op STRING"

    def test_a_new_column_is_null_before_and_not_written_by_older_sources(self):
        old, new = [{"id": 1, "a": "x", "n": 2}, {"id": 2, "a": "y", "n": 2}], [{"id": 1, "a": "z", "b": "B", "n": 1}, {"id": 2, "a": "y", "b": "C", "n": 3}]
        rows, columns = self.steps("SCD TYPE 1", (self.OLD, old), (self.NEW, new))
        self.assertEqual(rows, [(1, "x", "B"), (2, "y", "C")])
        self.assertEqual(columns, [("id", "int"), ("a", "string"), ("b", "string")])
        rows, columns = self.steps("SCD TYPE 2", (self.OLD, old), (self.NEW, new))
        self.assertEqual(rows, [(1, "x", "B", 2, None), (1, "z", "B", 1, 2), (2, "y", "C", 3, None), (2, "y", None, 2, 3)])
        self.assertEqual([c for c, _ in columns], ["id", "a", "b", "__START_AT", "__END_AT"])

    def test_a_column_that_goes_keeps_its_values(self):
        new, old = [{"id": 1, "a": "x", "b": "B", "n": 1}], [{"id": 1, "a": "y", "n": 2}, {"id": 2, "a": "z", "n": 1}]
        self.assertEqual(self.steps("SCD TYPE 1", (self.NEW, new), (self.OLD, old))[0], [(1, "y", "B"), (2, "z", None)])
        self.assertEqual(self.steps("SCD TYPE 2", (self.NEW, new), (self.OLD, old))[0],
                         [(1, "x", "B", 1, 2), (1, "y", "B", 2, None), (2, "z", None, 1, None)])
        again = [{"id": 1, "a": "w", "b": None, "n": 3}]
        self.assertEqual(self.steps("SCD TYPE 1", (self.NEW, new), (self.OLD, old), (self.NEW, again))[0], [(1, "w", None), (2, "z", None)])

    def test_a_new_tracked_column_splits_no_row(self):
        old, new = [{"id": 1, "a": "x", "n": 1}], [{"id": 1, "a": "x", "b": None, "n": 2}, {"id": 1, "a": "x", "b": "B", "n": 3}]
        self.assertEqual(self.steps("SCD TYPE 2", (self.OLD, old), (self.NEW, new))[0], [(1, "x", "B", 3, None), (1, "x", None, 1, 3)])
        self.assertEqual(self.steps("SCD TYPE 2", (self.OLD, old), (self.NEW, new), more="TRACK HISTORY ON a")[0], [(1, "x", "B", 1, None)])

    def test_what_repeats_a_row_from_before_a_new_column_changes_nothing(self):
        for storage, ignore in itertools.product(STORAGES, ("", "IGNORE NULL UPDATES ")):
            with self.subTest(storage, ignore=ignore), Project("CREATE TEMPORARY VIEW nothing AS SELECT 1 AS a;") as p:
                for n, columns in enumerate((self.OLD, self.NEW, self.NEW)):
                    p.sql(flow(columns, storage).replace("SEQUENCE BY", ignore + "SEQUENCE BY"))
                    p.add_file([{"id": i, "a": "x", "n": n} for i in range(3)], "src")
                    p.update()
                    self.assertEqual(upserted(p), 3 if n == 0 else 0)
                p.add_file([{"id": 1, "a": "x", "b": "B", "n": 3}, {"id": 2, "a": "x", "n": 3}], "src")
                p.update()
                self.assertEqual(upserted(p), 2 if storage == "SCD TYPE 2" else 1)  # type 2: the row that ends, too

    def test_names_that_differ_in_case_are_one_column(self):
        first, second = [{"id": 1, "a": "x", "n": 1}], [{"ID": 1, "A": "y", "n": 2, "id": 1}]
        for storage, rows in (("SCD TYPE 1", [(1, "y")]), ("SCD TYPE 2", [(1, "x", 1, 2), (1, "y", 2, None)])):
            got, columns = self.steps(storage, (self.OLD, first), ("ID INT, A STRING, n INT, op STRING", second))
            self.assertEqual((got, [c for c, _ in columns][:2]), (rows, ["id", "a"]))
        with Project(flow(self.OLD, "SCD TYPE 1").replace("SELECT * FROM", "SELECT *, a AS B, a AS b FROM")) as p:
            p.add_file(first, "src")
            self.assertIn("[COLUMN_ALREADY_EXISTS]", p.run().stderr)

    def test_a_new_leaf_of_a_struct(self):
        old, new = "id INT, s STRUCT<p: INT>, n INT, op STRING", "id INT, s STRUCT<q: STRING, P: INT>, n INT, op STRING"
        first, second = [{"id": 1, "s": {"p": 1}, "n": 1}, {"id": 2, "s": {"p": 2}, "n": 1}], [{"id": 1, "s": {"p": 3, "P": 3, "q": "Q"}, "n": 2}]
        with Project(flow(old, "SCD TYPE 1")) as p:
            p.add_file(first, "src")
            p.update()
            p.sql(flow(new, "SCD TYPE 1"))
            p.add_file(second, "src")
            p.update()
            self.assertEqual(p.rows("SELECT id, s.p, s.q FROM t"), [(1, 3, "Q"), (2, 2, None)])
            self.assertEqual(schema(p)[1], ("s", "struct<p:int,q:string>"))
            # A redelivery after it changes nothing.
            p.add_file([{"id": 2, "s": {"p": 2, "P": 2}, "n": 1}, {"id": 2, "s": {"p": 2, "P": 2}, "n": 2}], "src")
            p.update()
            self.assertEqual(upserted(p), 0)


class Generated(unittest.TestCase):
    """§4.3: a declared generated column is filled by the table, not by the flow."""

    COLUMNS = "id INT, a STRING, n INT, op STRING"
    ONE = "(up STRING GENERATED ALWAYS AS (upper(a)), id INT, a STRING, nine INT GENERATED ALWAYS AS (id * 9) COMMENT 'c')"
    TWO = "(id INT, a STRING, `__START_AT` INT, `__END_AT` INT, open BOOLEAN GENERATED ALWAYS AS (`__END_AT` IS NULL), up STRING GENERATED ALWAYS AS (upper(a)))"
    ROWS = [{"id": 1, "a": "x", "n": 1}, {"id": 1, "a": "y", "n": 5}, {"id": 2, "a": None, "n": 1}, {"id": 3, "a": "z", "n": 1}, {"id": 3, "n": 4, "op": "D"}]
    LATE = [{"id": 1, "a": "w", "n": 3}, {"id": 2, "a": "q", "n": 2}, {"id": 4, "a": "v", "n": 1}]
    EXPECTED_ONE = [("Q", 2, "q", 18), ("V", 4, "v", 36), ("Y", 1, "y", 9)]
    EXPECTED_TWO = [(1, "w", 3, 5, False, "W"), (1, "x", 1, 3, False, "X"), (1, "y", 5, None, True, "Y"), (2, "q", 2, None, True, "Q"),
                    (2, None, 1, 2, False, None), (3, "z", 1, 4, False, "Z"), (4, "v", 1, None, True, "V")]

    def test_the_table_computes_them(self):
        """With row tracking, with the recorded feed, partitioned, and without vectors; statements and a full refresh too."""
        more = ["", "TBLPROPERTIES (delta.enableChangeDataFeed = true)", "PARTITIONED BY (up)",
                "TBLPROPERTIES (delta.enableDeletionVectors = false, delta.enableChangeDataFeed = true, delta.enableRowTracking = false)"]
        for clause, (storage, columns, expected) in itertools.product(more, (("SCD TYPE 1", self.ONE, self.EXPECTED_ONE), ("SCD TYPE 2", self.TWO, self.EXPECTED_TWO))):
            with self.subTest(storage, clause=clause), Project(flow(self.COLUMNS, storage, columns + " " + clause)) as p:
                for rows in (self.ROWS, self.LATE):
                    p.add_file(rows, "src")
                    p.update()
                self.assertEqual(shown(p), expected)
                if "ChangeDataFeed" in clause:
                    changes = p.rows("SELECT up, a FROM table_changes('t', 0) WHERE up IS DISTINCT FROM upper(a)")
                    self.assertEqual(changes, [])
                    self.assertIn(("update_preimage",), p.rows("SELECT DISTINCT _change_type FROM table_changes('t', 0)"))
                p.query("UPDATE t SET a = 'edited' WHERE id = 4")
                self.assertEqual(p.rows("SELECT up FROM t WHERE id = 4"), [("EDITED",)])
                p.add_file([{"id": 4, "a": "last", "n": 9}], "src")
                p.update()
                self.assertIn(("LAST",), p.rows("SELECT up FROM t WHERE id = 4"))
                p.update("--full-refresh", "t")
                self.assertEqual(len(shown(p)), len(expected) + (storage == "SCD TYPE 2"))
                self.assertEqual(p.rows("SELECT count(*) FROM t WHERE up IS DISTINCT FROM upper(a)"), [(0,)])

    def test_several_flows_and_new_columns(self):
        body = "KEYS (id) SEQUENCE BY n COLUMNS * EXCEPT (n)"
        sql = "".join(f"CREATE TEMPORARY VIEW {v} AS SELECT * FROM STREAM read_files('${{source}}/{v}', format => 'json', schema => 'id INT, {c}, n INT'); "
                      f"CREATE FLOW f{v} AS AUTO CDC INTO t FROM STREAM({v}) {body};\n" for v, c in (("x", "a STRING"), ("y", "b STRING")))
        with Project("CREATE STREAMING TABLE t (id INT, a STRING, both STRING GENERATED ALWAYS AS (concat_ws('-', a, b)), b STRING);\n" + sql) as p:
            p.add_file([{"id": 1, "a": "A", "n": 1}], "x")
            p.add_file([{"id": 1, "b": "B", "n": 2}, {"id": 2, "b": "C", "n": 2}], "y")
            p.update()
            self.assertEqual(shown(p), [(1, "A", "A-B", "B"), (2, None, "C", "C")])

    def test_other_tables_of_pipelines(self):
        with Project("CREATE STREAMING TABLE t (id INT, twice INT GENERATED ALWAYS AS (id * 2)) AS SELECT id FROM STREAM read_files('${source}/src', format => 'json', schema => 'id INT');") as p:
            p.add_file([{"id": 1}, {"id": 5}], "src")
            p.update()
            self.assertEqual(shown(p), [(1, 2), (5, 10)])
        with Project("CREATE MATERIALIZED VIEW m (id INT, next INT GENERATED ALWAYS AS (id + 1)) AS SELECT 1 AS id;") as p:
            self.assertIn("[UNSUPPORTED_FEATURE]", p.run().stderr)

    def test_what_is_refused(self):
        cases = [
            ("USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE", "(id INT, a STRING GENERATED ALWAYS AS (CAST(id AS STRING)))"),
            ("UNSUPPORTED_EXPRESSION_GENERATED_COLUMN", "(id INT, a STRING, g DOUBLE GENERATED ALWAYS AS (rand()))"),
            ("UNSUPPORTED_EXPRESSION_GENERATED_COLUMN", "(id INT, a STRING, g INT GENERATED ALWAYS AS (id + 1), h INT GENERATED ALWAYS AS (g + 1))"),
            ("DELTA_GENERATED_COLUMNS_EXPR_TYPE_MISMATCH", "(id INT, a STRING, g DATE GENERATED ALWAYS AS (id + 1))"),
            ("UNRESOLVED_COLUMN", "(id INT, a STRING, g INT GENERATED ALWAYS AS (idd + 1))"),
            ("UNSUPPORTED_FEATURE", "(id INT, a STRING, g BIGINT GENERATED ALWAYS AS IDENTITY)"),
            ("UNSUPPORTED_FEATURE", "(id INT, a STRING DEFAULT 'x')"),
            ("UNSUPPORTED_FEATURE", "(id, a, g INT GENERATED ALWAYS AS (id + 1))"),
        ]
        for condition, columns in cases:
            with self.subTest(columns), Project(flow(self.COLUMNS, "SCD TYPE 1", columns)) as p:
                p.add_file(self.ROWS, "src")
                result = p.run()
                self.assertEqual(result.returncode, 2)
                self.assertIn(f"[{condition}", result.stderr)
        with Project(flow(self.COLUMNS, "SCD TYPE 1", "(id INT, a STRING)")) as p:
            p.add_file(self.ROWS, "src")
            p.update()
            p.sql(flow(self.COLUMNS, "SCD TYPE 1", self.ONE))
            result = p.run()
            self.assertIn("[USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE]", result.stderr)
            self.assertIn("full refresh of t", result.stderr)
            p.update("--full-refresh", "t")
            self.assertIn("Y", [r["up"] for r in p.query("SELECT up FROM t")])


if __name__ == "__main__":
    unittest.main()

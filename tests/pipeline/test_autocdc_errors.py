#!/usr/bin/env python3
"""Every error of AUTO CDC by its name, through a whole pipeline: autocdc.md §2.1, §2.3, §5.1, §5.9 (report R34), §7.3."""
import json
import re
import unittest

from project import Project

# A source with columns of many types, and a target; a case adds flows and more.
SOURCE = """CREATE STREAMING TABLE src AS SELECT id, name, city, op, n, m, tags FROM STREAM read_files('${source}/src', format => 'json',
  schema => 'id INT, name STRING, city STRING, op STRING, n INT, m MAP<STRING, INT>, tags ARRAY<STRING>');
"""
TARGET = "CREATE STREAMING TABLE t;\n"
ROWS = [{"id": 1, "name": "a", "city": "x", "op": "U", "n": 1}, {"id": 2, "name": "b", "city": "y", "op": "U", "n": 2},
        {"id": 1, "name": "c", "city": "x", "op": "U", "n": 3}]


def flow(clauses, name="f", source="STREAM(src)", keys="KEYS (id)", verb="AUTO CDC"):
    return f"CREATE FLOW {name} AS {verb} INTO t FROM {source} {keys} {clauses};\n"


def renamed(column, to):
    """A view that has a column of the source under another name."""
    return f"CREATE TEMPORARY VIEW w AS SELECT * EXCEPT ({column}), {column} AS `{to}` FROM STREAM(src);\n"


STRUCTS = ("CREATE TEMPORARY VIEW p AS SELECT id, n, struct(name AS p) AS s FROM STREAM(src);\n"
           "CREATE TEMPORARY VIEW pq AS SELECT id, n, struct(name AS p, city AS q) AS s FROM STREAM(src);\n")
SECOND = "SEQUENCE BY n COLUMNS * EXCEPT (op, m)"
TWO = SECOND + " STORED AS SCD TYPE 2"

# Their messages say what to write.
SAID = {"AUTOCDC_EMPTY_KEYS", "AUTOCDC_MISSING_SOURCE", "AUTOCDC_NON_COLUMN_IDENTIFIER", "AUTOCDC_MULTIPART_COLUMN_IDENTIFIER",
        "AUTOCDC_MIXED_FLOWS_TO_TARGET", "AUTOCDC_TARGET_NOT_STREAMING_TABLE"}
# Condition, what stands behind the source (TARGET where it has no streaming table of its own), what the message names.
ILLEGAL = [
    ("AUTOCDC_EMPTY_KEYS", flow("SEQUENCE BY n", keys="KEYS ()"), "KEYS"),
    ("AUTOCDC_EMPTY_KEYS", flow("SEQUENCE BY n", keys=""), "KEYS"),
    ("AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA", flow("SEQUENCE BY n", keys="KEYS (id, nokey)"), "nokey"),
    ("AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA", flow("SEQUENCE BY n COLUMNS * EXCEPT (id, m)"), "id"),
    ("AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA", flow("SEQUENCE BY n COLUMNS (name, city)"), "id"),
    ("AUTOCDC_MISSING_SEQUENCE_BY", flow("COLUMNS * EXCEPT (m)"), "SEQUENCE BY"),
    ("AUTOCDC_MISSING_SOURCE", "CREATE FLOW f AS AUTO CDC INTO t KEYS (id) SEQUENCE BY n;\n", "FROM"),
    ("PARSE_SYNTAX_ERROR", flow("SEQUENCE BY n COLUMNS (id, name) COLUMNS * EXCEPT (op)"), "COLUMNS is written twice"),
    ("PARSE_SYNTAX_ERROR", flow("SEQUENCE BY n STORED AS SCD TYPE 2 TRACK HISTORY ON name TRACK HISTORY ON * EXCEPT (city)"),
     "TRACK HISTORY ON is written twice"),
    ("PARSE_SYNTAX_ERROR", flow("SEQUENCE BY n IGNORE NULL UPDATES IGNORE NULL UPDATES ON (name)"), "IGNORE NULL UPDATES is written twice"),
    ("AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2", flow("SEQUENCE BY n TRACK HISTORY ON name"), "SCD TYPE 2"),
    ("AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2", flow("SEQUENCE BY n STORED AS SCD TYPE 1 TRACK HISTORY ON * EXCEPT (name)"), "SCD TYPE 2"),
    ("AUTOCDC_TRACK_HISTORY_REQUIRES_SCD2",
     flow("SEQUENCE BY n SYSTEM SEQUENCE BY n STORED AS BITEMPORAL TRACK HISTORY ON name"), "SCD TYPE 2"),
    ("AUTOCDC_TRUNCATE_REQUIRES_SCD1", flow("APPLY AS TRUNCATE WHEN op = 'T' SEQUENCE BY n STORED AS SCD TYPE 2"), "SCD TYPE 1"),
    ("AUTOCDC_TRUNCATE_REQUIRES_SCD1",
     flow("APPLY AS TRUNCATE WHEN op = 'T' SEQUENCE BY n SYSTEM SEQUENCE BY n STORED AS BITEMPORAL"), "SCD TYPE 1"),
    ("AUTOCDC_IGNORE_NULL_EMPTY_COLUMN_LIST", flow("IGNORE NULL UPDATES ON () SEQUENCE BY n"), "list"),
    ("AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT", flow("IGNORE NULL UPDATES SEQUENCE BY n COLUMNS TO UPDATE tags"), "IGNORE NULL UPDATES"),
    ("AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT", flow("IGNORE NULL UPDATES ON (name) SEQUENCE BY n COLUMNS TO UPDATE tags"), "IGNORE NULL UPDATES"),
    ("AUTOCDC_COLUMNS_TO_UPDATE_CONFLICT", flow("SEQUENCE BY n SYSTEM SEQUENCE BY n STORED AS BITEMPORAL COLUMNS TO UPDATE tags"), "BITEMPORAL"),
    ("AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY", flow("SEQUENCE BY n SYSTEM SEQUENCE BY n"), "BITEMPORAL"),
    ("AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY", flow("SEQUENCE BY n SYSTEM SEQUENCE BY n STORED AS SCD TYPE 2"), "BITEMPORAL"),
    ("AUTOCDC_SYSTEM_SEQUENCE_BY_BITEMPORAL_ONLY", flow("SEQUENCE BY n STORED AS BITEMPORAL"), "BITEMPORAL"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("SEQUENCE BY n COLUMNS (id, nam, citty)"), "`nam`, `citty`, which is not among the columns `id`, `name`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("SEQUENCE BY n COLUMNS * EXCEPT (nothing)"), "`nothing`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow(TWO + " TRACK HISTORY ON op"), "`op`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow(TWO + " TRACK HISTORY ON * EXCEPT (nothing)"), "`nothing`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("IGNORE NULL UPDATES ON (name, nothing) SEQUENCE BY n"), "`nothing`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("IGNORE NULL UPDATES ON * EXCEPT (op) " + SECOND), "`op`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow(SECOND + " COLUMNS TO UPDATE nothing"), "`nothing`"),
    ("DATATYPE_MISMATCH.UNEXPECTED_INPUT_TYPE", flow(SECOND + " COLUMNS TO UPDATE name"), "ARRAY<STRING>"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("IGNORE NULL UPDATES ON (name, nothing) " + SECOND), "`nothing`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow("IGNORE NULL UPDATES ON * EXCEPT (nothing) " + SECOND), "`nothing`"),
    ("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA", flow(SECOND + " COLUMNS TO UPDATE nothing"), "`nothing`"),
    ("DATATYPE_MISMATCH", flow(SECOND + " COLUMNS TO UPDATE name"), "name"),
    ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", flow("APPLY AS TRUNCATE WHEN name " + SECOND), "string"),
    ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", flow("WHERE name " + SECOND, verb="APPLY CHANGES"), "string"),
    ("AUTOCDC_FLOWS_DISAGREE", flow("IGNORE NULL UPDATES " + SECOND) + flow(SECOND, "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow("IGNORE NULL UPDATES ON (name) " + SECOND) + flow("IGNORE NULL UPDATES ON (city) " + SECOND, "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow(SECOND + " COLUMNS TO UPDATE tags") + flow(SECOND, "g"), "f and g"),
    ("UNSUPPORTED_STREAMING_OPERATION", flow("SEQUENCE BY row_number() OVER (ORDER BY n)"), "window functions"),
    ("UNSUPPORTED_STREAMING_OPERATION", flow("APPLY AS DELETE WHEN rank() OVER (ORDER BY n) > 1 " + SECOND), "window functions"),
    ("AUTOCDC_NON_COLUMN_IDENTIFIER", flow("SEQUENCE BY n", keys="KEYS (upper(id))"), "not an expression"),
    ("AUTOCDC_NON_COLUMN_IDENTIFIER", flow("SEQUENCE BY n COLUMNS (id, 1)"), "not an expression"),
    ("AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", flow("SEQUENCE BY n", keys="KEYS (src.id)"), "backticks"),
    ("AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", flow("SEQUENCE BY n COLUMNS * EXCEPT (a.b)"), "backticks"),
    ("AUTOCDC_MULTIPART_COLUMN_IDENTIFIER", flow("SEQUENCE BY n IGNORE NULL UPDATES ON * EXCEPT (a.b)"), "backticks"),
    ("AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT", renamed("city", "__START_AT") + flow(TWO, source="STREAM(w)"), "__START_AT"),
    ("AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT", renamed("city", "__end_at") + flow(TWO, source="STREAM(w)"), "__end_at"),
    ("AUTOCDC_RESERVED_COLUMN_NAME_PREFIX_CONFLICT", renamed("city", "__autocdc_x") + flow(SECOND, source="STREAM(w)"), "__autocdc_x"),
    ("AUTOCDC_RESERVED_COLUMN_NAME_PREFIX_CONFLICT", renamed("city", "__AutoCdc_x") + flow(TWO, source="STREAM(w)"), "__AutoCdc_x"),
    ("AUTOCDC_MICROBATCH_VALIDATION.NON_ORDERABLE_SEQUENCE", flow("SEQUENCE BY m"), "map<string,int>"),
    ("AUTOCDC_MICROBATCH_VALIDATION.NON_ORDERABLE_SEQUENCE", "CREATE TEMPORARY VIEW w AS SELECT *, CAST(NULL AS VARIANT) AS v FROM STREAM(src);\n" + flow("SEQUENCE BY v", source="STREAM(w)"), "variant"),
    ("AUTOCDC_MICROBATCH_VALIDATION.NON_ORDERABLE_SEQUENCE", flow("SEQUENCE BY STRUCT(n, m)"), "map<string,int>"),
    ("AUTOCDC_MIXED_FLOWS_TO_TARGET", flow(SECOND) + "CREATE FLOW g AS INSERT INTO t BY NAME SELECT id FROM STREAM(src);\n", "`t`"),
    ("AUTOCDC_MIXED_FLOWS_TO_TARGET", flow(SECOND) + "CREATE FLOW g AS INSERT INTO ONCE t BY NAME SELECT 1 AS id;\n", "`t`"),
    ("AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT", flow(SECOND) + flow(SECOND, "g", keys="KEYS (id, name)"), "f and g"),
    ("AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT",
     "CREATE TEMPORARY VIEW w AS SELECT * EXCEPT (id), CAST(id AS BIGINT) AS id FROM STREAM(src);\n" + flow(SECOND) + flow(SECOND, "g", "STREAM(w)"), "f and g"),
    ("AUTOCDC_INVALID_STATE.SCD_TYPE_DRIFT", flow(SECOND) + flow(TWO, "g"), "f and g"),
    ("AUTOCDC_INVALID_STATE.SEQUENCING_TYPE_DRIFT", flow(SECOND) + flow(SECOND.replace("BY n", "BY CAST(n AS BIGINT)"), "g"), "f and g"),
    ("AUTOCDC_INVALID_STATE.TRACK_HISTORY_DRIFT", flow(TWO) + flow(TWO + " TRACK HISTORY ON name", "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow(SECOND) + flow("SEQUENCE BY n COLUMNS * EXCEPT (m)", "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow(SECOND) + flow("SEQUENCE BY n COLUMNS (id, name)", "g"), "f and g .*: city"),
    ("AUTOCDC_FLOWS_DISAGREE", flow(SECOND) + flow("IGNORE NULL UPDATES " + SECOND, "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow("IGNORE NULL UPDATES ON name " + SECOND) + flow("IGNORE NULL UPDATES ON city " + SECOND, "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", flow(SECOND) + flow(SECOND + " COLUMNS TO UPDATE tags", "g"), "f and g"),
    ("AUTOCDC_FLOWS_DISAGREE", "CREATE TEMPORARY VIEW w AS SELECT * EXCEPT (city), tags AS city FROM STREAM(src);\n" + flow(SECOND) + flow(SECOND, "g", "STREAM(w)"), "city"),
    ("AUTOCDC_FLOWS_DISAGREE", STRUCTS + flow("SEQUENCE BY n", "g", "STREAM(p)") + flow("SEQUENCE BY n", "h", "STREAM(pq)"), "column s"),
    ("AUTOCDC_FLOWS_DISAGREE", STRUCTS + flow("SEQUENCE BY n", "g", "STREAM(pq)") + flow("SEQUENCE BY n", "h", "STREAM(p)"), "column s"),
    ("AUTOCDC_MIXED_FLOWS_TO_TARGET", flow(SECOND) + flow("COLUMNS * EXCEPT (op, m)", "g", "SNAPSHOT src"), "`t`"),
    ("AUTOCDC_MIXED_FLOWS_TO_TARGET", flow("", "g", "SNAPSHOT src") + flow("", "h", "SNAPSHOT src"), "`t`"),
    ("PIPELINE_DUPLICATE_IDENTIFIERS.FLOW", flow(SECOND) + flow(SECOND), "`f`"),
    ("MULTIPART_FLOW_NAME_NOT_SUPPORTED", flow(SECOND, "a.f"), "one part"),
    ("INVALID_FLOW_QUERY_TYPE.AUTOCDC_RELATION_FOR_TEMPORARY_VIEW", "CREATE TEMPORARY VIEW t AS SELECT 1 AS id;\n" + flow(SECOND), "`t`"),
    ("INVALID_FLOW_QUERY_TYPE.AUTOCDC_RELATION_FOR_TEMPORARY_VIEW", "CREATE VIEW t AS SELECT 1 AS id;\n" + flow(SECOND), "`t`"),
    ("AUTOCDC_TARGET_NOT_STREAMING_TABLE", "CREATE MATERIALIZED VIEW t AS SELECT 1 AS id;\n" + flow(SECOND), "`t`"),
    ("PIPELINE_FLOW_TARGET_NOT_FOUND", flow(SECOND).replace("INTO t", "INTO nowhere"), "nowhere"),
    ("PIPELINE_DATASET_WITHOUT_FLOW", "", "`t`"),
    ("INCOMPATIBLE_BATCH_VIEW_READ", "CREATE TEMPORARY VIEW w AS SELECT 1 AS id, 2 AS n;\n" + flow("SEQUENCE BY n", source="STREAM(w)"), "`w`"),
    ("CIRCULAR_DEPENDENCY", flow(SECOND, source="STREAM(t)"), "`t`"),
    ("TABLE_OR_VIEW_NOT_FOUND", flow(SECOND, source="STREAM(nothing)"), "nothing"),
    ("UNRESOLVED_COLUMN.WITH_SUGGESTION", flow("SEQUENCE BY nn COLUMNS * EXCEPT (m)"), "`nn`"),
    ("UNRESOLVED_COLUMN.WITH_SUGGESTION", flow("APPLY AS DELETE WHEN opp = 'D' " + SECOND), "`opp`"),
    ("DATATYPE_MISMATCH.FILTER_NOT_BOOLEAN", flow("APPLY AS DELETE WHEN name " + SECOND), "string"),
    ("USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE",
     "CREATE STREAMING TABLE t (id INT, name STRING);\n" + flow(SECOND), "`t`|t does not declare"),
    ("USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE",
     "CREATE STREAMING TABLE t (id INT, name STRING);\n" + flow("SEQUENCE BY n COLUMNS (id, name) STORED AS SCD TYPE 2"), "__START_AT"),
    ("USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE",
     "CREATE STREAMING TABLE t (id INT, name STRING, __START_AT INT, __END_AT BIGINT);\n"
     + flow("SEQUENCE BY n COLUMNS (id, name) STORED AS SCD TYPE 2"), "__END_AT"),
]


def written(p):
    return sorted(str(f.relative_to(p.root)) for f in (p.root / "warehouse").rglob("*") if f.is_file() and ".sluice" not in f.parts)


class Illegal(unittest.TestCase):
    """§2.3: found at graph validation, before anything is written."""

    def test_every_row_by_its_name(self):
        for number, (condition, sql, named) in enumerate(ILLEGAL):
            target = "" if " t AS" in sql or "TABLE t (" in sql else TARGET
            with self.subTest(condition, sql=sql), Project(SOURCE + target + sql) as p:
                p.add_file(ROWS, "src")
                for command in ("dry-run", "run") if number % 5 == 0 else ("run",):
                    result = p.run(command=command)
                    self.assertEqual(result.returncode, 2, result.stdout + result.stderr)
                    self.assertRegex(result.stderr, rf"\[{re.escape(condition)}[.\]]")
                    self.assertRegex(result.stderr, named)
                    self.assertRegex(result.stderr, r"pipeline\.sql:\d+:\d+")
                    if re.match(r"AUTOCDC_|DATATYPE_|USER_", condition) and condition not in SAID:
                        self.assertIn("hint: ", result.stderr)
                    self.assertEqual([f for f in written(p) if "event" not in f], [])


def one(columns="id INT, name STRING, city STRING, n INT, op STRING", keys="id", sequence="n", storage="SCD TYPE 2", more="", declared=""):
    """One flow over files with a schema."""
    return (f"CREATE TEMPORARY VIEW s AS SELECT * FROM STREAM read_files('${{source}}/src', format => 'json', schema => '{columns}');\n"
            f"CREATE STREAMING TABLE t {declared};\nCREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS ({keys}) APPLY AS DELETE WHEN op = 'D' "
            f"SEQUENCE BY {sequence} COLUMNS * EXCEPT (op) STORED AS {storage} {more};")


def log_of(p, table="t"):
    return sorted(f.name for f in (p.root / "warehouse" / table / "_delta_log").glob("*.json"))


class Mistakes(unittest.TestCase):
    """A misspelt clause was also told as a table without a flow; a source that is not there stood at line 1 of a query nobody wrote;
    the hint about events without key named a way that does not help a batch that failed already."""

    def test_a_misspelt_clause_is_one_problem(self):
        with Project(SOURCE + TARGET + flow("SEQUENCED BY n")) as p:
            p.add_file(ROWS, "src")
            result = p.run(command="dry-run")
        self.assertIn("1 problem;", result.stderr)
        self.assertRegex(result.stderr, r"hint: the clauses are .*\bSEQUENCE BY\b")

    def test_a_misspelt_target_is_one_problem(self):
        with Project(SOURCE + TARGET.replace("STREAMING", "STREMING") + flow(SECOND)) as p:
            p.add_file(ROWS, "src")
            result = p.run(command="dry-run")
        self.assertIn("[PARSE_SYNTAX_ERROR]", result.stderr)
        self.assertIn("1 problem;", result.stderr)

    def test_a_source_is_named_where_it_stands(self):
        for source in ("STREAM(nothing)", "STREAM read_files('${source}/src', fromat => 'json')", "SNAPSHOT (SELECT nothing FROM src)"):
            clauses = "" if source.startswith("SNAPSHOT") else SECOND
            with self.subTest(source), Project(SOURCE + TARGET + flow(clauses, source=source)) as p:
                p.add_file(ROWS, "src")
                line = SOURCE.count("\n") + TARGET.count("\n") + 1
                self.assertRegex(p.run(command="dry-run").stderr, rf"pipeline\.sql:{line}:\d+\n +{line} \| CREATE FLOW f")

    def test_a_clause_is_pointed_at(self):
        """Every one of them stood at the first word of the flow."""
        for clauses, at in (("KEYS (nokey) SEQUENCE BY n", "nokey"), ("KEYS (id) SEQUENCE BY n COLUMNS * EXCEPT (m, none)", "none"),
                            ("KEYS (id) SEQUENCE BY n STORED AS SCD TYPE 2 TRACK HISTORY ON name, none", "none"),
                            ("KEYS (id) IGNORE NULL UPDATES ON none SEQUENCE BY n", "none"),
                            ("KEYS (id) SEQUENCE BY n COLUMNS TO UPDATE none", "none"),
                            ("KEYS (id) SEQUENCE BY m", "m"), ("KEYS (id) SEQUENCE BY rand()", "rand"),
                            ("KEYS (id) APPLY AS DELETE WHEN name SEQUENCE BY n", "name"),
                            ("KEYS (id) APPLY AS DELETE WHEN rand() > 0.5 SEQUENCE BY n", "rand"),
                            ("KEYS (id) APPLY AS TRUNCATE WHEN uuid() = name SEQUENCE BY n", "uuid")):
            sql = SOURCE + TARGET + f"CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src)\n  {clauses};\n"
            with self.subTest(clauses), Project(sql) as p:
                p.add_file(ROWS, "src")
                error = p.run(command="dry-run").stderr
                line, column = map(int, re.search(r"pipeline\.sql:(\d+):(\d+)", error).groups())
                self.assertTrue(sql.splitlines()[line - 1][column - 1:].startswith(at), error)

    def test_an_expectation_on_the_target_lets_a_failed_batch_go_on(self):
        for column in ("id", "n"):
            with self.subTest(column), Project(one()) as p:
                p.add_file([{"id": 1, "name": "a", "n": 1, "op": "U"}, {"id": 2, "name": "b", "n": 2, "op": "U"} | {column: None}], "src")
                self.assertRegex(p.run().stderr, "hint: an expectation on the target")
                p.sql(one(declared=f"(CONSTRAINT c EXPECT ({column} IS NOT NULL) ON VIOLATION DROP ROW)"))
                p.update()
                self.assertEqual(p.rows("SELECT id, name FROM t"), [(1, "a")])


class Retention(unittest.TestCase):
    """§5.8: how long deletes are remembered; the table's own property wins over the configuration."""

    KEY = "pipelines.cdc.tombstoneGCThresholdInSeconds"

    def test_it_is_a_number(self):
        for value in ("two days", "1.5", "-2", ""):
            with self.subTest(value), Project(one() + f"CREATE STREAMING TABLE u TBLPROPERTIES ('{self.KEY}' = '{value}')"
                                              " AS SELECT * FROM STREAM s;") as p:
                result = p.run()
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("[INVALID_CONF_VALUE]", result.stderr)

    def test_late_events_meet_what_is_remembered(self):
        flows = [("own", f" TBLPROPERTIES ('{self.KEY}' = '0')"), ("plain", ""), ("ever", f" TBLPROPERTIES ('{self.KEY}' = '-1')")]
        body = "KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n COLUMNS * EXCEPT (op)"
        sql = "CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/src', format => 'json', schema => 'id INT, n INT, op STRING');"
        for name, properties in flows:
            sql += f"CREATE STREAMING TABLE {name}{properties}; CREATE FLOW {name}_f AS AUTO CDC INTO {name} FROM STREAM s {body};"
        for configuration, plain in (("", []), (f"  {self.KEY}: '0'\n", [(1, 3)])):
            with self.subTest(configuration), Project(sql, configuration=configuration) as p:
                for rows in ([{"id": 1, "n": 5, "op": "D"}], [{"id": 2, "n": 1, "op": "U"}], [{"id": 1, "n": 3, "op": "U"}]):
                    p.add_file(rows, "src")
                    p.update()
                got = {name: p.rows(f"SELECT * FROM {name} WHERE id = 1") for name, _ in flows}
                self.assertEqual(got, {"own": [(1, 3)], "plain": plain, "ever": []})


class Inner(unittest.TestCase):
    """§5.8: of a history that says the same again and again what lies between the first and the last word is forgotten."""

    def test_also_after_statements(self):
        sql = ("CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/src', format => 'json', schema => 'id INT, v STRING, n INT', maxFilesPerTrigger => 1);"
               f"CREATE STREAMING TABLE t TBLPROPERTIES ('{Retention.KEY}' = '0'); CREATE FLOW f AS AUTO CDC INTO t"
               " FROM STREAM s WITH (maxFilesPerTrigger = 1) KEYS (id) SEQUENCE BY n COLUMNS * EXCEPT (n) STORED AS SCD TYPE 2;")

        def state_rows(p):
            return [int(value) for item, value in map(tuple, (r.values() for r in p.query("DESCRIBE AUTO CDC t"))) if item == "facts in state files"][0]

        for statement in (None, "UPDATE t SET v = 'c' WHERE id = 2", "UPDATE t SET v = 'a' WHERE id = 1", "DELETE FROM t WHERE id = 1"):
            with self.subTest(statement), Project(sql) as p:
                p.add_file([{"id": 1, "v": "a", "n": 1}, {"id": 2, "v": "b", "n": 1}], "src")
                p.update()
                if statement:
                    p.query(statement)
                for n in range(2, 19):
                    p.add_file([{"id": 1, "v": "a", "n": n}], "src")
                p.update()
                self.assertLess(state_rows(p), 12)
                first = 2 if statement and "DELETE" in statement else 1
                self.assertEqual(p.rows("SELECT v, __START_AT, __END_AT FROM t WHERE id = 1"), [("a", first, None)])
                p.add_file([{"id": 1, "v": "z", "n": 30}], "src")
                p.update()
                self.assertEqual(p.rows("SELECT v, __START_AT, __END_AT FROM t WHERE id = 1"), [("a", first, 30), ("z", 30, None)])


class Partitions(unittest.TestCase):
    """'' is NULL in a partition column: as a key it made a second row with every event, and equal events changed rows again."""

    def test_an_empty_key_is_none(self):
        for type, empty, full in (("STRING", "''", "'a'"), ("BINARY", "X''", "X'41'")):
            for storage, start in (("SCD TYPE 1", ""), ("SCD TYPE 2", ", 1, NULL")):
                with self.subTest(type, storage=storage), Project(
                        "CREATE STREAMING TABLE t PARTITIONED BY (k); CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (k, id) SEQUENCE BY n "
                        f"COLUMNS k, id STORED AS {storage}") as p:
                    p.query(f"CREATE TABLE src (k {type}, id INT, n INT); INSERT INTO src VALUES ({full}, 1, 1)")
                    p.update()
                    with self.assertRaisesRegex(AssertionError, "NULL_KEY(.|\n)*an empty one is NULL in a partition column"):
                        p.query(f"INSERT INTO t VALUES ({empty}, 2{start})")
                    p.query(f"INSERT INTO src VALUES ({empty}, 1, 1), ({full}, 1, 2)")
                    result = p.run()
                    self.assertIn("[AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY] flow f into t: 1 events of batch 1 have an empty key k", result.stderr)
                    self.assertIn("hint: partition the target by another column", result.stderr)
                    self.assertEqual(len(p.rows("SELECT * FROM t")), 1)

    def test_an_empty_value_is_null(self):
        for type, empty, full in (("STRING", "''", "'a'"), ("BINARY", "X''", "X'41'")):
            for storage in ("SCD TYPE 1", "SCD TYPE 2"):
                with self.subTest(type, storage=storage), Project(
                        "CREATE STREAMING TABLE t PARTITIONED BY (v); CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (id) SEQUENCE BY n "
                        f"COLUMNS id, v STORED AS {storage}") as p:
                    p.query(f"CREATE TABLE src (id INT, v {type}, n INT); INSERT INTO src VALUES (1, {empty}, 1), (2, NULL, 1), (3, {full}, 1)")
                    p.update()
                    p.query(f"INSERT INTO src VALUES (1, {empty}, 1), (1, NULL, 2), (2, {empty}, 2), (3, {full}, 1)")
                    p.update()
                    self.assertEqual(p.last_update_metrics()["f"]["metrics"]["num_upserted_rows"], 0)
                    self.assertEqual(p.rows("SELECT id FROM t WHERE v IS NULL"), [(1,), (2,)])
                    self.assertEqual(len(p.rows("SELECT * FROM t")), 3)


class Reserved(unittest.TestCase):
    """Names that the target has for itself: a source may have them where they stay out of the target."""

    def test_they_may_be_left_out(self):
        for storage, more in (("SCD TYPE 2", ""), ("BITEMPORAL", "SYSTEM SEQUENCE BY `__SYSTEM_START_AT`")):
            for choice in ("COLUMNS id, v", "COLUMNS * EXCEPT (`__START_AT`, `__end_at`, `__SYSTEM_START_AT`, `__autocdc_x`)"):
                with self.subTest(storage, choice=choice), Project(
                        "CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (id) SEQUENCE BY `__START_AT` "
                        f"{more} {choice} STORED AS {storage}") as p:
                    p.query("CREATE TABLE src (id INT, v INT, `__START_AT` INT, `__end_at` INT, `__SYSTEM_START_AT` INT, `__autocdc_x` INT)")
                    p.query("INSERT INTO src VALUES (1, 5, 3, 4, 2, 0), (1, 6, 7, 9, 2, 0)")
                    p.update()
                    self.assertEqual(p.rows("SELECT id, v, __START_AT, __END_AT FROM t"), [(1, 5, 3, 7), (1, 6, 7, None)])


class Batches(unittest.TestCase):
    """§5.1: a batch that is wrong fails its flow, writes nothing, and comes again."""

    GOOD = {"id": 1, "name": "a", "city": "x", "n": 1, "op": "U"}
    BAD = {
        "NULL_KEY": (dict(keys="id, name"), [{"id": None, "n": 2}, {"name": "b", "n": 3}, {"id": 3, "n": 1, "op": "D"}], "id: 2, name: 2"),
        "UNKNOWN_COLUMN_TO_UPDATE": (dict(columns="id INT, name STRING, city STRING, n INT, op STRING, cu ARRAY<STRING>", more="COLUMNS TO UPDATE cu"),
                                     [{"id": 2, "n": 2, "cu": ["name", "town"]}, {"id": 3, "n": 2, "cu": ["CITY", "op"]}], "town"),
        "NULL_SEQUENCE": ({}, [{"id": 2, "name": "b"}, {"id": 3, "n": None, "op": "D"}], "2 events"),
    }

    def test_nothing_is_written_and_the_batch_comes_again(self):
        for (condition, (flow_of, rows, counts)), storage in [(c, s) for c in self.BAD.items() for s in ("SCD TYPE 1", "SCD TYPE 2")]:
            with self.subTest(condition, storage=storage), Project(one(storage=storage, **flow_of)) as p:
                p.add_file([self.GOOD], "src")
                p.update()
                before, log = p.rows("SELECT * FROM t"), log_of(p)
                p.add_file([{**self.GOOD, "name": "new", "n": 9}, *rows], "src")
                for _ in range(2):
                    result = p.run()
                    self.assertEqual(result.returncode, 1)
                    self.assertIn(f"[AUTOCDC_MICROBATCH_VALIDATION.{condition}]", result.stderr)
                    self.assertIn(counts, result.stderr)
                    self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (before, log))
                restarts = [e for e in p.events() if "is restarted" in e["message"]]
                self.assertEqual(restarts, [], "a data error is not tried again")
                # Expectations on the target are the way to let the others through.
                p.sql(one(storage=storage, **flow_of, declared="(CONSTRAINT k EXPECT (id IS NOT NULL AND n IS NOT NULL AND (name IS NOT NULL OR op = 'D')) ON VIOLATION DROP ROW)"))
                if condition == "NULL_SEQUENCE":
                    p.update()
                    self.assertIn("new", [r["name"] for r in p.query("SELECT name FROM t")])

    def test_where_is_a_promise(self):
        """§2.4: it does not filter; what is not true of it fails the batch, NULL as well."""
        for storage in ("SCD TYPE 1", "SCD TYPE 2"):
            sql = one(storage=storage).replace("CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (id)",
                                               "APPLY CHANGES INTO LIVE.t FROM STREAM(LIVE.s) KEYS (id) WHERE city IN (\"x\", \"y\")")
            with self.subTest(storage), Project(sql) as p:
                p.add_file([self.GOOD], "src")
                p.update()
                before, log = p.rows("SELECT * FROM t"), log_of(p)
                p.add_file([{**self.GOOD, "n": 2, "city": "y"}, {**self.GOOD, "n": 3, "city": "z"}, {"id": 1, "n": 4, "op": "D"}], "src")
                result = p.run()
                self.assertEqual(result.returncode, 1)
                self.assertIn("[AUTOCDC_MICROBATCH_VALIDATION.WHERE_NOT_SATISFIED]", result.stderr)
                self.assertIn("2 events", result.stderr)
                self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (before, log))

    def test_columns_to_update_names_columns(self):
        sql = one(columns="id INT, a STRING, cu ARRAY<STRING>, n INT, op STRING", storage="SCD TYPE 1", more="COLUMNS TO UPDATE cu")
        with Project(sql) as p:
            p.add_file([{"id": 1, "a": "x", "cu": ["A"], "n": 1}, {"id": 2, "a": "y", "cu": [], "n": 1}], "src")
            p.update()
            before, log = p.rows("SELECT * FROM t"), log_of(p)
            self.assertEqual(before, [(1, "x", None), (2, None, None)])
            p.add_file([{"id": 1, "a": "z", "cu": ["a", "nothing"], "n": 2}], "src")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("[AUTOCDC_MICROBATCH_VALIDATION.UNKNOWN_COLUMN_TO_UPDATE]", result.stderr)
            self.assertIn("hint: the array names columns", result.stderr)
            self.assertIn("nothing", result.stderr)
            self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (before, log))

    def test_where_of_apply_changes_is_a_promise(self):
        """§2.4: it does not filter; events and touched rows that break it fail the batch."""
        sql = """CREATE STREAMING TABLE src AS SELECT * FROM STREAM read_files('${source}/src', format => 'json', schema => 'id INT, n INT');
            CREATE STREAMING TABLE t; APPLY CHANGES INTO t FROM STREAM src KEYS (id) WHERE id < 10 AND n >= 0 SEQUENCE BY n;"""
        with Project(sql) as p:
            p.add_file([{"id": 1, "n": 1}, {"id": 2, "n": 1}], "src")
            p.update()
            p.query("UPDATE t SET n = -7 WHERE id = 2")
            p.add_file([{"id": 1, "n": 2}], "src")
            p.update()
            p.add_file([{"id": 1, "n": 3}, {"id": 2, "n": 3}], "src")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("[AUTOCDC_MICROBATCH_VALIDATION.WHERE_NOT_SATISFIED]", result.stderr)
            self.assertIn("1 rows of the target", result.stderr)
            p.query("UPDATE t SET n = 7 WHERE id = 2")
            p.add_file([{"id": 11, "n": 3}, {"id": 12, "n": 3}, {"id": 3, "n": None}], "src")
            self.assertEqual(p.run().returncode, 1)
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, 3), (2, 3)])  # the batch before came again

    def test_a_struct_sequence_is_null_only_as_a_whole(self):
        with Project(one(sequence="STRUCT(n, op)")) as p:
            p.add_file([{"id": 1, "name": "a", "n": None, "op": "U"}, {"id": 1, "name": "b", "n": 1, "op": None}], "src")
            p.update()
            self.assertEqual(p.rows("SELECT name FROM t WHERE __END_AT IS NULL"), [("b",)])
        with Project(one(sequence="CASE WHEN n > 0 THEN STRUCT(n, op) END")) as p:
            p.add_file([{"id": 1, "name": "a", "n": -1, "op": "U"}], "src")
            self.assertIn("[AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE]", p.run().stderr)

    def test_a_source_that_is_not_append_only(self):
        """§2.1 rule 10: it needs skipChangeCommits or its feed."""
        body = "KEYS (id) SEQUENCE BY n;"
        with Project(f"CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM src {body}") as p:
            p.query("CREATE TABLE src (id INT, n INT); INSERT INTO src VALUES (1, 1), (2, 1)")
            p.update()
            self.assertEqual([e["message"] for e in p.events() if e["level"] == "WARN"], ["AUTO CDC reads src as a stream; write STREAM(src) to say so."])
            p.query("UPDATE src SET n = 5 WHERE id = 1")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("[DELTA_SOURCE_TABLE_IGNORE_CHANGES]", result.stderr)
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, 1), (2, 1)])
            p.sql(f"CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src WITH (skipChangeCommits = true) {body}")
            p.query("INSERT INTO src VALUES (3, 1)")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, 1), (2, 1), (3, 1)])


class Drift(unittest.TestCase):
    """§5.9, report R34: run, then change each. A full refresh is the way back."""

    ROWS = [{"id": 1, "name": "a", "city": "x", "n": 1, "op": "U"}, {"id": 1, "name": "b", "city": "y", "n": 2, "op": "U"}]
    COLUMNS = "id INT, name STRING, city STRING, n INT, op STRING"
    CASES = {
        "another key": ("KEY_SCHEMA_DRIFT", dict(keys="name")),
        "one key more": ("KEY_SCHEMA_DRIFT", dict(keys="id, name")),
        "wider key": ("KEY_SCHEMA_DRIFT", dict(columns=COLUMNS.replace("id INT", "id BIGINT"))),
        "other type of the key": ("KEY_SCHEMA_DRIFT", dict(columns=COLUMNS.replace("id INT", "id STRING"))),
        "wider sequence": ("SEQUENCING_TYPE_DRIFT", dict(sequence="CAST(n AS BIGINT)")),
        "struct for a sequence": ("SEQUENCING_TYPE_DRIFT", dict(sequence="STRUCT(n, op)")),
        "type 1": ("SCD_TYPE_DRIFT", dict(storage="SCD TYPE 1", more="")),
        "fewer tracked columns": ("TRACK_HISTORY_DRIFT", dict(more="TRACK HISTORY ON name")),
        "other tracked columns": ("TRACK_HISTORY_DRIFT", dict(more="TRACK HISTORY ON * EXCEPT (city)")),
        "NULL is ignored": ("IGNORE_NULL_DRIFT", dict(more="IGNORE NULL UPDATES")),
        "NULL is ignored in one column": ("IGNORE_NULL_DRIFT", dict(more="IGNORE NULL UPDATES ON (city)")),
        "columns to update": ("COLUMNS_TO_UPDATE_DRIFT", dict(columns=COLUMNS + ", cu ARRAY<STRING>", more="COLUMNS TO UPDATE cu")),
        "other type of a column": ("COLUMN_TYPE_DRIFT", dict(columns=COLUMNS.replace("city STRING", "city DATE"))),
        "wider column, not allowed": ("COLUMN_TYPE_DRIFT", dict(columns=COLUMNS.replace("n INT", "n BIGINT"), sequence="CAST(n AS INT)")),
        "narrower text": ("COLUMN_TYPE_DRIFT", dict(columns=COLUMNS.replace("city STRING", "city INT"))),
        "a struct for a column": ("COLUMN_TYPE_DRIFT", dict(columns=COLUMNS.replace("city STRING", "city STRUCT<a: STRING>"))),
    }
    NO_DRIFT = {
        "another expression of the same type": dict(sequence="n + 0"),
        "the same keys in another case": dict(keys="ID"),
        "columns in another order and case": dict(columns="n INT, CITY STRING, op STRING, Name STRING, id INT"),
        "the same tracking in other words": dict(more="TRACK HISTORY ON name, city, n"),
        "narrower column": dict(columns=COLUMNS.replace("n INT", "n SMALLINT"), sequence="CAST(n AS INT)"),
        "a column that is gone": dict(columns=COLUMNS.replace("city STRING, ", "")),
        "a new column": dict(columns=COLUMNS + ", zip STRING"),
    }

    def test_r34_each_change_by_its_name(self):
        for title, (condition, changes) in self.CASES.items():
            with self.subTest(title), Project(one()) as p:
                p.add_file(self.ROWS, "src")
                p.update()
                before, log = p.rows("SELECT * FROM t"), log_of(p)
                p.sql(one(**changes))
                result = p.run()
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"[AUTOCDC_INVALID_STATE.{condition}]", result.stderr)
                self.assertRegex(result.stderr, "full refresh of t|refresh t fully|column city")
                self.assertRegex(result.stderr, r"pipeline\.sql:\d+:\d+")
                self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (before, log))
                p.update("--full-refresh", "t")
                self.assertGreater(len(p.rows("SELECT * FROM t")), 0)

    def test_what_is_no_drift(self):
        for title, changes in self.NO_DRIFT.items():
            with self.subTest(title), Project(one()) as p:
                p.add_file(self.ROWS, "src")
                p.update()
                p.sql(one(**changes))
                p.add_file([{"id": 1, "name": "c", "Name": "c", "city": "z", "CITY": "z", "n": 3, "op": "U", "zip": "0"}], "src")
                p.update()
                city = None if "gone" in title else "z"
                # A field that an event does not author keeps the value of the run before it (R-AUTH a).
                self.assertEqual(p.rows("SELECT id, name, city, n, __START_AT, __END_AT FROM t"),
                                 [(1, "a", "x", 1, 1, 2), (1, "b", "y", 2, 2, 3), (1, "c", city or "y", 3, 3, None)])
                names = [r["col_name"] for r in p.query("DESCRIBE t")]
                self.assertEqual(names, ["id", "name", "city", "n"] + (["zip"] if "new" in title else []) + ["__START_AT", "__END_AT"])

    def test_a_broken_memory_is_named(self):
        with Project(one()) as p:
            p.add_file(self.ROWS, "src")
            p.update()
            p.query("ALTER TABLE t DROP FEATURE `sluice.autoCdc`")
            result = p.run()
            self.assertIn("[AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MISSING]", result.stderr)
            p.update("--full-refresh", "t")
            self.assertEqual(len(p.rows("SELECT * FROM t")), 2)


class FullRefresh(unittest.TestCase):
    """§7.3."""

    def test_rows_and_memory_go_in_one_commit_and_the_table_stays(self):
        for storage in ("SCD TYPE 1", "SCD TYPE 2"):
            with self.subTest(storage), Project(one(storage=storage)) as p:
                p.add_file([*Drift.ROWS, {"id": 2, "n": 7, "op": "D"}, {"id": 1, "name": "late", "city": "q", "n": 0, "op": "U"}], "src")
                p.update()
                rows, log, identity = p.rows("SELECT * FROM t"), log_of(p), p.query("DESCRIBE DETAIL t")[0]["id"]
                p.update("--full-refresh", "t")
                self.assertEqual(p.rows("SELECT * FROM t"), rows)
                self.assertEqual(p.query("DESCRIBE DETAIL t")[0]["id"], identity)
                new = [f for f in log_of(p) if f not in log]
                actions = [json.loads(line) for line in (p.root / "warehouse" / "t" / "_delta_log" / new[0]).read_text().splitlines()]
                self.assertEqual([a["commitInfo"]["operation"] for a in actions if "commitInfo" in a], ["FULL REFRESH"])
                self.assertTrue(any("remove" in a for a in actions))
                self.assertFalse(any("add" in a for a in actions))
                domains = {a["domainMetadata"]["domain"]: a["domainMetadata"] for a in actions if "domainMetadata" in a}
                memory = json.loads(domains["sluice.autoCdc"]["configuration"])
                self.assertEqual((domains["sluice.autoCdc"]["removed"], memory["files"], memory["gen"]), (False, [], 0))
                self.assertEqual([d for d, action in domains.items() if d.startswith("sluice.flow.") and not action["removed"]], [])
                self.assertEqual([a["txn"]["version"] for a in actions if "txn" in a], [-1])
                # The delete of key 2 is known anew, and what comes is judged by it.
                p.add_file([{"id": 2, "name": "old", "city": "q", "n": 6, "op": "U"}], "src")
                p.update()
                self.assertEqual(p.rows("SELECT name FROM t WHERE id = 2"), [] if storage == "SCD TYPE 1" else [("old",)])

    def test_what_statements_did_is_discarded(self):
        with Project(one(storage="SCD TYPE 1")) as p:
            p.add_file(Drift.ROWS, "src")
            p.update()
            p.query("UPDATE t SET name = 'edited'; INSERT INTO t VALUES (9, 'mine', 'z', 1)")
            p.update("--full-refresh", "t")
            self.assertEqual(p.rows("SELECT id, name FROM t"), [(1, "b")])

    def test_a_source_that_lost_rows_loses_them(self):
        with Project(one(storage="SCD TYPE 1")) as p:
            p.add_file(Drift.ROWS, "src")
            p.add_file([{"id": 2, "name": "kept", "city": "x", "n": 1, "op": "U"}], "src")
            p.update()
            min((p.root / "in" / "src").iterdir()).unlink()
            p.update()
            self.assertEqual(p.rows("SELECT id FROM t"), [(1,), (2,)])
            p.update("--full-refresh-all")
            self.assertEqual(p.rows("SELECT id FROM t"), [(2,)])

    def test_a_protected_target_is_not_reset(self):
        with Project(one(declared="TBLPROPERTIES (pipelines.reset.allowed = false)")) as p:
            p.add_file(Drift.ROWS, "src")
            p.update()
            rows, log = p.rows("SELECT * FROM t"), log_of(p)
            result = p.run("--full-refresh", "t")
            self.assertEqual(result.returncode, 2)
            self.assertIn("[PIPELINE_FULL_REFRESH_NOT_ALLOWED]", result.stderr)
            self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (rows, log))
            p.update("--full-refresh-all")
            self.assertEqual((p.rows("SELECT * FROM t"), log_of(p)), (rows, log))
            self.assertEqual(len([e for e in p.events() if e["level"] == "WARN" and "keeps its rows" in e["message"]]), 1)


if __name__ == "__main__":
    unittest.main()

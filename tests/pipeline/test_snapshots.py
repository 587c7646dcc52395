#!/usr/bin/env python3
"""AUTO CDC FROM SNAPSHOT through the command line (autocdc.md §8): the stated examples O6 and D58 to D61, the recorded cases
doc_snapshot_*, reports R36, R37 and R39, versions of every kind, what is refused, statements on targets, full refresh."""
import json
import os
import pathlib
import unittest

from project import Project

# A table s of (v, id, x, y); each snapshot is the rows of one v. The version query asks for the least v above the last.
NAMED = """
CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'v INT, id INT, x STRING, y INT');
"""
NEXT = "WITH VERSION (SELECT v FROM s WHERE v > coalesce((SELECT v FROM last_snapshot_version()), -1) ORDER BY v LIMIT 1)"
ROWS = "(SELECT id, x, y FROM s WHERE v = (SELECT v FROM current_snapshot_version()) AND id IS NOT NULL)"


def named(target="t", scd=2, clauses="", source=ROWS, version=NEXT):
    return (f"CREATE STREAMING TABLE {target};\nCREATE FLOW {target}_flow AS AUTO CDC INTO {target} FROM SNAPSHOT {source} {version} "
            f"KEYS (id) STORED AS SCD TYPE {scd} {clauses};\n")


def snapshot(v, *rows):
    """An empty one still has a row that names it."""
    return [{"v": v, "id": id, "x": x, "y": y} for id, x, y in rows] or [{"v": v, "id": None}]


# A source that is replaced whole: a materialized view over whatever files are there.
WHOLE = """
CREATE MATERIALIZED VIEW src AS SELECT id, x, y FROM read_files('${source}/customers/*.json', format => 'json',
  schema => 'id INT, x STRING, y INT');
"""
PLACES = "CREATE STREAMING TABLE t;\nCREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT src KEYS (id) STORED AS SCD TYPE {scd} {clauses};\n"


def replace(p, *rows):
    for path in (p.root / "in" / "customers").iterdir():
        path.unlink()
    p.add_file([{"id": id, "x": x, "y": y} for id, x, y in rows] or [{}])


def places(scd=2, clauses="", where="WHERE id IS NOT NULL"):
    return WHOLE.replace("'id INT, x STRING, y INT');", f"'id INT, x STRING, y INT') {where};") + PLACES.format(scd=scd, clauses=clauses)


def operations(p):
    """(level, version, status) of every snapshot of the whole log."""
    found = []
    for event in p.events():
        if event["event_type"] == "operation_progress":
            details = json.loads(event["details"])["operation_progress"]
            assert details["type"] == "CDC_SNAPSHOT"
            found.append((event["level"], details["snapshot_version"], details["status"]))
    return found


class Places(unittest.TestCase):
    """Pattern A: the table's name, a snapshot an update."""

    def test_O6a_O6b_R36_R37_versions_are_places(self):
        with Project(places()) as p:
            replace(p, (123, "Isabel", 1), (124, "Raul", 2))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(123, "Isabel", 1, 0, None), (124, "Raul", 2, 0, None)])
            replace(p, (124, "Raul", 3), (126, "Lily", 4))
            p.update()
            second = [(123, "Isabel", 1, 0, 1), (124, "Raul", 2, 0, 1), (124, "Raul", 3, 1, None), (126, "Lily", 4, 1, None)]
            self.assertEqual(p.rows("SELECT * FROM t"), second)
            flow = p.last_update_metrics()["f"]
            self.assertEqual(flow["metrics"], {"num_upserted_rows": 4, "num_deleted_rows": 0, "num_source_events": 2})
            # Unchanged: no commit, no version.
            version = p.query("DESCRIBE HISTORY t")[0]["version"]
            p.update()
            self.assertEqual(p.query("DESCRIBE HISTORY t")[0]["version"], version)
            self.assertEqual(p.last_update_metrics()["f"]["metrics"]["num_upserted_rows"], 0)
            # 123 comes back as it was.
            replace(p, (123, "Isabel", 1), (124, "Raul", 3), (126, "Lily", 4))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), sorted(second + [(123, "Isabel", 1, 2, None)], key=str))
            self.assertEqual(operations(p), [("INFO", v, "COMPLETED") for v in "012"])
            history = p.query("DESCRIBE HISTORY t")[0]
            self.assertEqual(history["operation"], "AUTO CDC FROM SNAPSHOT")
            self.assertIn(["snapshotVersion", "2"], history["operationParameters"])

    def test_times_as_versions(self):
        for how in ("property", "setting"):
            with self.subTest(how):
                sql = places()
                if how == "property":
                    sql = sql.replace("TABLE t;", "TABLE t TBLPROPERTIES ('pipelines.cdc.snapshot.version' = 'timestamp');")
                configuration = "  pipelines.cdc.snapshot.version: timestamp\n" if how == "setting" else ""
                with Project(sql, configuration=configuration) as p:
                    replace(p, (1, "a", 1))
                    p.update()
                    replace(p, (1, "b", 1))
                    p.update()
                    types = {row["col_name"]: row["data_type"] for row in p.query("DESCRIBE t")}
                    self.assertEqual(types["__START_AT"], "timestamp")
                    self.assertEqual(p.rows("SELECT x, __END_AT IS NULL, __START_AT > TIMESTAMP '2020-01-01 00:00:00' FROM t"),
                                     [("a", False, True), ("b", True, True)])
                    times = [json.loads(e["details"])["operation_progress"] for e in p.events() if e["event_type"] == "operation_progress"]
                    self.assertEqual(len(times), 2)
                    self.assertEqual(times[0]["snapshot_version"][:19], times[0]["ingestion_time"][:19].replace("T", " "))

    def test_kinds_of_versions_do_not_mix(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1))
            p.update()
            p.sql(places().replace("TABLE t;", "TABLE t TBLPROPERTIES ('pipelines.cdc.snapshot.version' = 'timestamp');"))
            self.assertIn("INVALID_SNAPSHOT_VERSION_TYPE", p.run().stderr)
            p.sql(places().replace("TABLE t;", "TABLE t TBLPROPERTIES ('pipelines.cdc.snapshot.version' = 'moon');"))
            self.assertIn("INVALID_CONF_VALUE", p.run().stderr)

    def test_every_source_that_can_be_read_as_a_batch(self):
        sql = """
        CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT, x STRING');
        CREATE MATERIALIZED VIEW mv AS SELECT * FROM raw;
        CREATE TEMPORARY VIEW tv AS SELECT * FROM raw;
        CREATE VIEW pv AS SELECT * FROM raw;
        """
        sources = {"a": "raw", "b": "mv", "c": "tv", "d": "pv", "e": "LIVE.raw", "g": "main.raw", "h": "(SELECT id, x FROM tv)",
                   "i": "(raw)", "j": "(WITH c AS (SELECT * FROM raw) SELECT * FROM c UNION ALL SELECT 7, 'q')",
                   "k": "(SELECT * FROM read_files('${source}/customers', format => 'json', schema => 'id INT, x STRING'))",
                   "l": "main.outside"}
        for name, source in sources.items():
            sql += f"CREATE STREAMING TABLE {name} FLOW AUTO CDC FROM SNAPSHOT {source} KEYS (id);\n"
        with Project(sql.replace("main.", "default.")) as p:
            p.query("CREATE TABLE outside AS SELECT 1 AS id, 'a' AS x")
            p.add_file([{"id": 1, "x": "a"}])
            p.update()
            for name in sources:
                self.assertEqual(p.rows(f"SELECT * FROM {name}"), [(1, "a"), (7, "q")] if name == "j" else [(1, "a")], name)

    def test_expectations_drop_rows_from_the_snapshot(self):
        sql = places(scd=1).replace("TABLE t;", "TABLE t (CONSTRAINT good EXPECT (y > 0) ON VIOLATION DROP ROW);")
        with Project(sql) as p:
            replace(p, (1, "a", 1), (2, "b", 0))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1)])
            flow = p.last_update_metrics()["f"]
            self.assertEqual((flow["expectations"], flow["dropped"]), ({"good": (1, 1)}, 1))
            replace(p, (1, "a", -1), (2, "b", 1))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(2, "b", 1)])

    def test_R39_a_key_twice(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1))
            p.update()
            replace(p, (1, "b", 1), (1, "c", 1))
            result = p.run()
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("APPLY_CHANGES_FROM_SNAPSHOT_ERROR.DUPLICATE_KEY_VIOLATION", result.stderr)
            self.assertIn("(id) = (1)", result.stderr)
            replace(p, (1, "b", 1))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1, 0, 1), (1, "b", 1, 1, None)])

    def test_a_null_key(self):
        with Project(places(where="")) as p:
            replace(p)
            self.assertIn("AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY", p.run().stderr)

    def test_once(self):
        with Project(places().replace("AUTO CDC INTO", "AUTO CDC ONCE INTO")) as p:
            replace(p, (1, "a", 1))
            p.update()
            replace(p, (1, "b", 1))
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1, 0, None)])
            self.assertEqual(p.last_update_metrics()["f"]["status"], "EXCLUDED")
            p.update("--full-refresh", "t")
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "b", 1, 0, None)])


class Named(unittest.TestCase):
    """Pattern B: WITH VERSION."""

    def check(self, scd, clauses, snapshots, rows, versions):
        """All snapshots in one update."""
        with Project(NAMED + named(scd=scd, clauses=clauses)) as p:
            p.add_file([row for one in snapshots for row in one])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), rows)
            self.assertEqual([v for _, v, _ in operations(p)], versions)

    def test_O6d_only_what_was_snapshotted(self):
        self.check(2, "", [snapshot(1, (1, "A", 0)), snapshot(2, (1, "C", 0))], [(1, "A", 0, 1, 2), (1, "C", 0, 2, None)], ["1", "2"])

    def test_D58_an_empty_snapshot_deletes_all(self):
        self.check(2, "", [snapshot(1, (1, "x", 1), (2, "y", 1)), snapshot(2), snapshot(3, (1, "x", 1))],
                   [(1, "x", 1, 1, 2), (1, "x", 1, 3, None), (2, "y", 1, 1, 2)], ["1", "2", "3"])

    def test_D60_numbers_may_be_left_out(self):
        self.check(1, "", [snapshot(1, (1, "x", 1), (2, "y", 1)), snapshot(5, (2, "z", 1), (3, "w", 0))], [(2, "z", 1), (3, "w", 0)],
                   ["1", "5"])

    def test_D61_untracked_changes_overwrite(self):
        self.check(2, "TRACK HISTORY ON * EXCEPT (y)", [snapshot(1, (1, "x", 1)), snapshot(2, (1, "x", 2)), snapshot(3, (1, "y", 3))],
                   [(1, "x", 2, 1, 3), (1, "y", 3, 3, None)], ["1", "2", "3"])

    def test_O6c_D59_a_version_that_is_not_above_the_last_is_skipped(self):
        # A version query without a look at the last one.
        latest = "WITH VERSION (SELECT v FROM latest)"
        sql = """CREATE MATERIALIZED VIEW latest AS SELECT v FROM read_files('${source}/customers/*.json', format => 'json', schema => 'v INT');
        CREATE MATERIALIZED VIEW rows AS SELECT * FROM read_files('${source}/rows/*.json', format => 'json', schema => 'id INT, x STRING');
        """ + named(source="rows", version=latest)
        with Project(sql) as p:
            def give(v, *rows):
                for directory in ("customers", "rows"):
                    for path in (p.root / "in" / directory).glob("*.json"):
                        path.unlink()
                p.add_file([{"v": v}])
                p.add_file([{"id": id, "x": x} for id, x in rows], "rows")
                p.update()

            give(1, (1, "x"))
            give(4, (1, "x"))  # unchanged, and yet the last version from now on
            give(3, (1, "q"))
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "x", 1, None)])
            give(5, (1, "z"))
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "x", 1, 5), (1, "z", 5, None)])
            # After each the same version is offered again and ends the update.
            self.assertEqual(operations(p), [
                ("INFO", "1", "COMPLETED"), ("WARN", "1", "SKIPPED"), ("INFO", "4", "COMPLETED"), ("WARN", "4", "SKIPPED"),
                ("WARN", "3", "SKIPPED"), ("INFO", "5", "COMPLETED"), ("WARN", "5", "SKIPPED")])

    def test_no_first_version(self):
        with Project(NAMED + named()) as p:
            p.add_file([{"v": None}])
            refused = p.run().stderr
            self.assertIn("APPLY_CHANGES_FROM_SNAPSHOT_ERROR.FIRST_SNAPSHOT_EMPTY", refused)
            self.assertIn("hint: the version query of the first call", refused)
            p.add_file(snapshot(1, (1, "a", 1)))
            p.update()
            p.update()  # no row of the version query ends the flow
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1, 1, None)])

    def test_answers_that_are_no_version(self):
        cases = {
            "WITH VERSION (SELECT CAST(NULL AS INT) AS v)": "INVALID_TUPLE_NULL_SNAPSHOT_VERSION",
            "WITH VERSION (SELECT v FROM s)": "INVALID_SNAPSHOT_VERSION",
            "WITH VERSION (SELECT v, v AS w FROM s)": "INVALID_SNAPSHOT_VERSION",
            "WITH VERSION (SELECT true AS v)": "INVALID_SNAPSHOT_VERSION_TYPE",
            "WITH VERSION (SELECT array(1) AS v)": "INVALID_SNAPSHOT_VERSION_TYPE",
            "WITH VERSION (SELECT NULL AS v)": "INVALID_SNAPSHOT_VERSION_TYPE",
            "WITH VERSION (SELECT v FROM STREAM s)": "UNSUPPORTED_STREAMING_OPERATION",
        }
        for version, condition in cases.items():
            with self.subTest(version), Project(NAMED + named(version=version)) as p:
                p.add_file(snapshot(1, (1, "a", 1), (2, "b", 1)))
                self.assertIn(condition, p.run().stderr)

    def test_the_type_stays(self):
        text = "WITH VERSION (SELECT CAST(max(v) AS STRING) AS v FROM s)"
        with Project(NAMED + named()) as p:
            p.add_file(snapshot(1, (1, "a", 1)))
            p.update()
            p.sql(NAMED + named(version=text, source=ROWS.replace("v =", "CAST(v AS STRING) =")))
            self.assertIn("INVALID_SNAPSHOT_VERSION_TYPE", p.run().stderr)
            p.update("--full-refresh", "t")
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1, "1", None)])

    def test_versions_made_from_the_last_one(self):
        made = {
            "(SELECT coalesce((SELECT max(version) FROM last_snapshot_version()), 0) + 1 AS version WHERE "
            "coalesce((SELECT version FROM last_snapshot_version()), 0) < 3)": "int",
            "(WITH last AS (SELECT * FROM last_snapshot_version()) SELECT v FROM s WHERE NOT EXISTS (SELECT 1 FROM last) "
            "OR v > (SELECT v FROM last) ORDER BY v LIMIT 1)": "int",
            "(SELECT struct(v, x) AS at FROM s WHERE NOT EXISTS (SELECT 1 FROM last_snapshot_version()) "
            "OR struct(v, x) > (SELECT at FROM last_snapshot_version()) ORDER BY v, x LIMIT 1)": "struct<v:int,x:string>",
            "(SELECT struct(v, x) AS at FROM s WHERE v > coalesce((SELECT at.v FROM last_snapshot_version()), 0) ORDER BY v, x LIMIT 1)":
                "struct<v:int,x:string>",
            "(SELECT v FROM s WHERE v > 0 EXCEPT SELECT v FROM s WHERE v <= coalesce((SELECT v FROM last_snapshot_version()), 0) "
            "ORDER BY 1 LIMIT 1)": "int",
        }
        for query, type_ in made.items():
            with self.subTest(query), Project(NAMED + named(source="(SELECT id, x, y FROM s)", version="WITH VERSION " + query)) as p:
                p.add_file([{"v": v, "id": v, "x": "a", "y": 0} for v in (1, 2, 3)])
                p.update()
                self.assertEqual([status for _, _, status in operations(p)], ["COMPLETED"] * 3)
                types = {row["col_name"]: row["data_type"] for row in p.query("DESCRIBE t")}
                self.assertEqual(types["__START_AT"], type_)
                p.update()
                self.assertEqual(len(operations(p)), 3)

    def test_functions_elsewhere(self):
        cases = [
            named(source="(SELECT * FROM s WHERE v = (SELECT * FROM last_snapshot_version()))"),
            named(version="WITH VERSION (SELECT max(v) FROM s WHERE v > (SELECT * FROM current_snapshot_version()))"),
            named(source="(SELECT * FROM s WHERE v = (SELECT * FROM current_snapshot_version()))", version=""),
            "CREATE MATERIALIZED VIEW m AS SELECT * FROM last_snapshot_version();",
            "CREATE MATERIALIZED VIEW m AS SELECT * FROM current_snapshot_version();",
            "CREATE TEMPORARY VIEW tv AS SELECT * FROM s WHERE v = (SELECT v FROM current_snapshot_version());" + named(source="tv"),
        ]
        for sql in cases:
            with self.subTest(sql), Project(NAMED + sql) as p:
                self.assertIn("UNRESOLVABLE_TABLE_VALUED_FUNCTION", p.run().stderr)
        with Project(NAMED + named(source="(SELECT * FROM s WHERE v = (SELECT * FROM current_snapshot_version(1)))")) as p:
            self.assertIn("INCORRECT_NUMBER_OF_ARGUMENTS", p.run().stderr)
            with self.assertRaisesRegex(AssertionError, "UNRESOLVABLE_TABLE_VALUED_FUNCTION"):
                p.query("SELECT * FROM last_snapshot_version()")

    def test_full_refresh_begins_with_the_first_version(self):
        with Project(NAMED + named()) as p:
            p.add_file(snapshot(1, (1, "a", 1)) + snapshot(2, (1, "b", 1)))
            p.update()
            rows = p.rows("SELECT * FROM t")
            p.query("DELETE FROM t")
            p.update("--full-refresh", "t")
            self.assertEqual(p.rows("SELECT * FROM t"), rows)
            self.assertEqual([v for _, v, _ in operations(p)], ["1", "2", "1", "2"])


class Recorded(unittest.TestCase):
    def test_golden(self):
        shared = os.environ.get("SLUICE_SHARED")
        if not shared:
            self.skipTest("SLUICE_SHARED is not set")
        cases = sorted(pathlib.Path(shared, "golden", "autocdc").glob("doc_snapshot_*.json"))
        self.assertGreaterEqual(len(cases), 3)
        for path in cases:
            with self.subTest(path.stem):
                self.run_case(json.loads(path.read_text()))

    def run_case(self, case):
        flow = case["flow"]
        columns = ", ".join(f"{c['name']} {c['type']}" for c in case["source_columns"])
        names = ", ".join(c["name"] for c in case["source_columns"])
        track = f"TRACK HISTORY ON {', '.join(flow['track_history_columns'])}" if flow["track_history_columns"] else ""
        # The snapshot that is offered is that of the newest version file.
        sql = f"""
        CREATE MATERIALIZED VIEW s AS SELECT * FROM read_files('${{source}}/customers/*.json', format => 'json', schema => 'v BIGINT, {columns}');
        CREATE STREAMING TABLE t;
        CREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT (SELECT {names} FROM s) WITH VERSION (SELECT DISTINCT v FROM s)
          KEYS ({', '.join(flow['keys'])}) STORED AS SCD TYPE {flow['stored_as_scd_type']} {track};"""
        with Project(sql) as p:
            for rows, version, expected in zip(case["batches"], case["snapshot_versions"], case["expected_after_each_batch"]):
                for old in (p.root / "in" / "customers").iterdir():
                    old.unlink()
                p.add_file([{"v": version, **row} for row in rows])
                p.update()
                got = p.query(f"SELECT * FROM t ORDER BY {', '.join(flow['keys'])}" +
                              (", __START_AT" if flow["stored_as_scd_type"] == 2 else ""))
                self.assertEqual(got, expected)


class Graph(unittest.TestCase):
    def test_clauses_of_events_are_refused(self):
        for clause in ("SEQUENCE BY y", "APPLY AS DELETE WHEN y = 1", "APPLY AS TRUNCATE WHEN y = 1", "IGNORE NULL UPDATES",
                       "COLUMNS TO UPDATE y", "STORED AS BITEMPORAL SYSTEM SEQUENCE BY y"):
            sql = WHOLE + f"CREATE STREAMING TABLE t;\nCREATE FLOW f AS AUTO CDC INTO t FROM SNAPSHOT src KEYS (id) {clause};"
            with self.subTest(clause), Project(sql) as p:
                self.assertIn("AUTOCDC_SNAPSHOT_CLAUSE_CONFLICT", p.run(command="dry-run").stderr)

    def test_other_flows_into_the_target(self):
        others = ["CREATE FLOW g AS AUTO CDC INTO t FROM SNAPSHOT src KEYS (id);", "CREATE FLOW g AS INSERT INTO t BY NAME SELECT * FROM STREAM src;",
                  "CREATE FLOW g AS AUTO CDC INTO t FROM STREAM(src) KEYS (id) SEQUENCE BY y;"]
        for other in others:
            with self.subTest(other), Project(places() + other) as p:
                self.assertIn("AUTOCDC_MIXED_FLOWS_TO_TARGET", p.run(command="dry-run").stderr)

    def test_what_does_not_fit(self):
        cases = {
            places(clauses="TRACK HISTORY ON (zz)"): "AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA",
            places().replace("KEYS (id)", "KEYS (zz)"): "AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA",
            places().replace("SNAPSHOT src", "SNAPSHOT nowhere"): "TABLE_OR_VIEW_NOT_FOUND",
            places().replace("SNAPSHOT src", "SNAPSHOT t"): "CIRCULAR_DEPENDENCY",
            places().replace("SNAPSHOT src", "SNAPSHOT (SELECT id, x, y AS __START_AT FROM src)"): "AUTOCDC_RESERVED_COLUMN_NAME_CONFLICT",
            NAMED + PLACES.format(scd=2, clauses="").replace("SNAPSHOT src", "SNAPSHOT STREAM s"): "UNSUPPORTED_STREAMING_OPERATION",
        }
        for sql, condition in cases.items():
            with self.subTest(condition), Project(sql) as p:
                self.assertIn(condition, p.run(command="dry-run").stderr)

    def test_events_and_snapshots_do_not_follow_each_other(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1))
            p.update()
            p.sql(NAMED.replace("v INT, ", "") + "CREATE STREAMING TABLE t;\nCREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (id) "
                  "SEQUENCE BY CAST(y AS BIGINT) STORED AS SCD TYPE 2;")
            self.assertIn("AUTOCDC_INVALID_STATE.SEQUENCING_TYPE_DRIFT", p.run().stderr)

    def test_the_graph_knows_what_is_read(self):
        with Project(NAMED + named()) as p:
            p.add_file(snapshot(1, (1, "a", 1)))
            p.update()
            definition = [json.loads(e["details"])["flow_definition"] for e in p.events()
                          if e["event_type"] == "flow_definition" and e["origin"]["flow_name"] == "t_flow"][0]
            self.assertEqual((definition["flow_type"], set(definition["input_datasets"])), ("SNAPSHOT_CHANGE", {"s"}))
            self.assertIn("no streaming flow", p.run("--reset-checkpoint", "t_flow").stderr)


class Statements(unittest.TestCase):
    """§9.1: the open rows are the snapshot before, whoever wrote them."""

    def test_type_one_becomes_the_next_snapshot(self):
        with Project(places(scd=1)) as p:
            replace(p, (1, "a", 1), (2, "b", 2), (3, "c", 3))
            p.update()
            p.query("UPDATE t SET x = '!' WHERE id = 1")
            p.query("DELETE FROM t WHERE id = 2")
            p.query("INSERT INTO t VALUES (3, 'again', 3), (9, 'new', 9)")
            p.query("MERGE INTO t USING (SELECT 8 AS id) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT (id, x) VALUES (8, 'm')")
            p.update()  # the source has not changed
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1), (2, "b", 2), (3, "c", 3)])

    def test_type_two_closes_what_statements_left(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1), (2, "b", 2), (3, "c", 3))
            p.update()
            p.query("UPDATE t SET x = '!' WHERE id = 1")
            p.query("DELETE FROM t WHERE id = 2")
            p.query("INSERT INTO t VALUES (9, 'new', 9, 0, NULL), (8, 'closed', 8, 0, 0)")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"),
                             [(1, "!", 1, 0, 1), (1, "a", 1, 1, None), (2, "b", 2, 1, None), (3, "c", 3, 0, None), (8, "closed", 8, 0, 0),
                              (9, "new", 9, 0, 1)])

    def test_several_open_rows_become_one(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1), (2, "b", 2))
            p.update()
            p.query("INSERT INTO t VALUES (1, 'a', 1, 0, NULL), (2, 'x', 2, -5, NULL), (2, 'future', 2, 50, NULL)")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a", 1, 0, None), (2, "b", 2, 0, None), (2, "x", 2, -5, 0)])
            p.update()
            self.assertEqual(len(operations(p)), 2)

    def test_rows_without_key_or_start(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1))
            p.update()
            with self.assertRaisesRegex(AssertionError, "NULL_KEY"):
                p.query("INSERT INTO t VALUES (NULL, 'a', 1, 0, NULL)")
            with self.assertRaisesRegex(AssertionError, "NULL_SEQUENCE"):
                p.query("INSERT INTO t VALUES (2, 'a', 1, NULL, NULL)")

    def test_what_a_target_tells(self):
        with Project(places()) as p:
            replace(p, (1, "a", 1))
            p.update()
            facts = {row["name"]: row["value"] for row in p.query("DESCRIBE AUTO CDC t")}
            self.assertEqual([facts[name] for name in ("newest snapshot", "batches in the log", "rows upserted")], ["0", "1", "1"])

    def test_maintenance_and_feed(self):
        with Project(places().replace("TABLE t;", "TABLE t TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true');")) as p:
            replace(p, (1, "a", 1), (2, "b", 2))
            p.update()
            replace(p, (1, "A", 1), (3, "c", 3))
            p.update()
            version = p.query("DESCRIBE HISTORY t")[0]["version"]
            changes = p.rows(f"SELECT _change_type, id, x, __START_AT, __END_AT FROM table_changes('t', {version}, {version})")
            self.assertEqual(changes, [
                ("insert", 1, "A", 1, None), ("insert", 3, "c", 1, None), ("update_postimage", 1, "a", 0, 1), ("update_postimage", 2, "b", 0, 1),
                ("update_preimage", 1, "a", 0, None), ("update_preimage", 2, "b", 0, None)])
            p.query("OPTIMIZE t")
            p.query("REORG TABLE t APPLY (PURGE)")
            replace(p, (3, "c", 3))
            p.update()
            self.assertEqual(p.rows("SELECT id, __START_AT, __END_AT FROM t"), [(1, 0, 1), (1, 1, 2), (2, 0, 1), (3, 1, None)])


if __name__ == "__main__":
    unittest.main()

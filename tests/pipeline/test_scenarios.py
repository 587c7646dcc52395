#!/usr/bin/env python3
"""Acceptance scenarios of pipelines.md §17, through the command line."""
import json
import unittest

import project
from project import Project


class Customers(unittest.TestCase):
    """§17.1, the story of source document 002 in its legacy spelling."""

    def test_three_updates_give_the_listed_tables_and_counts(self):
        with Project(project.CUSTOMERS_SQL) as p:
            p.add_file(project.CUSTOMERS_1)
            p.update()
            silver = "SELECT id, name, email, address FROM customer_silver"
            self.assertEqual(p.rows(silver), project.SILVER_1)
            self.assertEqual(p.rows("SELECT count(*) FROM customer_bronze"), [(5,)])
            flows = p.last_update_metrics()
            self.assertEqual(flows["customer_clean"]["expectations"],
                             {"valid_id": (4, 1), "valid_address": (4, 1), "valid_operation": (4, 1)})
            self.assertEqual(flows["customer_clean"]["dropped"], 2)
            self.assertEqual(flows["customer_silver"]["metrics"]["num_upserted_rows"], 2)
            self.assertEqual(flows["customer_silver"]["metrics"]["num_deleted_rows"], 0)

            p.add_file(project.CUSTOMERS_2)
            p.update()
            self.assertEqual(p.rows("SELECT id, name, email, address, phone FROM customer_silver"), project.SILVER_2)
            self.assertEqual(p.rows("SELECT count(*) FROM customer_bronze"), [(9,)])
            flows = p.last_update_metrics()
            self.assertEqual(flows["customer_clean"]["expectations"],
                             {"valid_id": (4, 0), "valid_address": (3, 1), "valid_operation": (4, 0)})
            self.assertEqual(flows["customer_clean"]["dropped"], 0)
            self.assertEqual(flows["customer_silver"]["metrics"]["num_upserted_rows"], 2)
            self.assertEqual(flows["customer_silver"]["metrics"]["num_deleted_rows"], 1)
            restarts = [e for e in p.events() if e["event_type"] == "flow_progress" and e["level"] == "WARN"
                        and e["origin"]["flow_name"] is None and "customer_bronze" in e["message"]]
            self.assertEqual(len(restarts), 1, "the bronze flow restarts once for the new column")

            versions = len(list((p.root / "warehouse" / "customer_silver" / "_delta_log").glob("*.json")))
            p.update()
            self.assertEqual(len(list((p.root / "warehouse" / "customer_silver" / "_delta_log").glob("*.json"))), versions)
            self.assertEqual(p.rows("SELECT id, name, email, address, phone FROM customer_silver"), project.SILVER_2)
            flows = p.last_update_metrics()
            self.assertEqual(flows["customer_clean"]["expectations"], {})
            self.assertEqual(flows["customer_silver"]["metrics"], {})

    def test_private_table_is_not_visible_outside(self):
        with Project(project.CUSTOMERS_SQL) as p:
            p.add_file(project.CUSTOMERS_1)
            p.update()
            with self.assertRaisesRegex(AssertionError, "TABLE_OR_VIEW_NOT_FOUND"):
                p.query("SELECT * FROM customer_clean")

    def test_target_must_be_declared(self):
        with Project(project.CUSTOMERS_SQL.replace("CREATE OR REFRESH STREAMING LIVE TABLE customer_silver;", "")) as p:
            p.add_file(project.CUSTOMERS_1)
            result = p.run()
            self.assertEqual(result.returncode, 2)
            self.assertIn("PIPELINE_FLOW_TARGET_NOT_FOUND", result.stderr)
            self.assertFalse((p.root / "warehouse" / "customer_bronze").exists())

    def test_lineage_has_the_edges(self):
        with Project(project.CUSTOMERS_SQL) as p:
            p.add_file(project.CUSTOMERS_1)
            p.update()
            edges = set()
            for event in p.events():
                if event["event_type"] == "flow_definition":
                    flow = json.loads(event["details"])["flow_definition"]
                    edges |= {(i, flow["output_dataset"]) for i in flow["input_datasets"]}
            self.assertIn(("customer_bronze", "customer_clean"), edges)
            self.assertIn(("customer_clean", "customer_silver"), edges)


class Tutorial(unittest.TestCase):
    """§17.4, the medallion tutorial of source document 004."""

    def test_two_files_give_the_listed_tables(self):
        history = "SELECT id, firstname, lastname, email, address, substr(CAST(`__START_AT` AS STRING), 15), substr(CAST(`__END_AT` AS STRING), 15) FROM customers_history"
        with Project(project.TUTORIAL_SQL) as p:
            p.add_file(project.TUTORIAL_1)
            p.update()
            self.assertEqual(p.rows("SELECT id, firstname, lastname, email, address FROM customers"), [(1, "Ann", "Lee", "ann@x", "A2")])
            self.assertEqual(p.rows(history), [
                (1, "Ann", "Lee", "ann@x", "A1", "00:10", "00:30"), (1, "Ann", "Lee", "ann@x", "A2", "00:30", None),
                (2, "Bob", "Ray", "bob@x", "B1", "00:20", "00:50")])
            self.assertEqual(p.rows("SELECT * FROM customers_history_agg"), [(1, 2, 1, 1, 1), (2, 1, 1, 1, 1)])
            clean = p.last_update_metrics()["customers_cdc_clean_flow"]
            self.assertEqual(clean["expectations"], {"no_rescued_data": (6, 0), "valid_id": (5, 1), "valid_operation": (5, 1)})
            self.assertEqual(clean["dropped"], 2)

            p.add_file(project.TUTORIAL_2)
            p.update()
            self.assertEqual(p.rows("SELECT id, firstname, lastname, email, address FROM customers"), [(1, "Ann", "Kim", "ann@x", "A2")])
            self.assertEqual(p.rows(history), sorted([
                (1, "Ann", "Lee", "ann@x", "A1", "00:10", "00:25"), (1, "Ann", "Lee", "ann@old", "A1", "00:25", "00:30"),
                (1, "Ann", "Lee", "ann@x", "A2", "00:30", "01:00"), (1, "Ann", "Kim", "ann@x", "A2", "01:00", None),
                (2, "Bob", "Ray", "bob@x", "B1", "00:20", "00:50")], key=lambda row: [(v is None, str(v)) for v in row]))
            self.assertEqual(p.rows("SELECT * FROM customers_history_agg"), [(1, 2, 2, 1, 2), (2, 1, 1, 1, 1)])
            clean = p.last_update_metrics()["customers_cdc_clean_flow"]
            self.assertEqual(clean["expectations"], {"no_rescued_data": (2, 1), "valid_id": (3, 0), "valid_operation": (3, 0)})
            self.assertEqual(clean["dropped"], 1)

    def test_view_is_recomputed_then_left_alone(self):
        with Project(project.TUTORIAL_SQL) as p:
            p.add_file(project.TUTORIAL_1)
            p.update()
            p.update()
            techniques = [json.loads(e["details"])["planning_information"]["technique_information"][0]["maintenance_type"]
                          for e in p.events() if e["event_type"] == "planning_information"]
            self.assertEqual(techniques, ["MAINTENANCE_TYPE_COMPLETE_RECOMPUTE", "MAINTENANCE_TYPE_NO_OP"])

    def test_full_refresh_gives_the_same_tables(self):
        with Project(project.TUTORIAL_SQL) as p:
            p.add_file(project.TUTORIAL_1)
            p.update()
            p.add_file(project.TUTORIAL_2)
            p.update()
            tables = ["customers", "customers_history", "customers_history_agg", "customers_cdc_bronze"]
            before = [p.rows(f"SELECT * FROM {t}") for t in tables]
            p.update("--full-refresh-all")
            self.assertEqual([p.rows(f"SELECT * FROM {t}") for t in tables], before)
            p.update("--full-refresh", "customers")
            self.assertEqual([p.rows(f"SELECT * FROM {t}") for t in tables], before)


class Graph(unittest.TestCase):
    """§17.6: what is refused before anything is written."""

    CASES = {
        "CIRCULAR_DEPENDENCY": "CREATE TEMPORARY VIEW a AS SELECT * FROM b; CREATE TEMPORARY VIEW b AS SELECT * FROM a; "
                               "CREATE MATERIALIZED VIEW m AS SELECT * FROM a;",
        "TABLE_OR_VIEW_NOT_FOUND": "CREATE MATERIALIZED VIEW m AS SELECT * FROM custmers;",
        "PIPELINE_DUPLICATE_IDENTIFIERS.OUTPUT": "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; CREATE TEMPORARY VIEW m AS SELECT 2 AS a;",
        "PIPELINE_DATASET_WITHOUT_FLOW": "CREATE STREAMING TABLE t;",
        "INVALID_FLOW_QUERY_TYPE.BATCH_RELATION_FOR_STREAMING_TABLE": "CREATE STREAMING TABLE t AS SELECT 1 AS a;",
        "INCOMPATIBLE_BATCH_VIEW_READ": "CREATE TEMPORARY VIEW v AS SELECT 1 AS a; CREATE STREAMING TABLE t AS SELECT * FROM STREAM(v);",
        "INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_MATERIALIZED_VIEW":
            "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'a INT'); "
            "CREATE MATERIALIZED VIEW m AS SELECT * FROM STREAM(t);",
        "RUN_EMPTY_PIPELINE": "CREATE TEMPORARY VIEW v AS SELECT 1 AS a;",
        "UNSUPPORTED_PIPELINE_SPARK_SQL_COMMAND": "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; DROP TABLE m;",
        "PIPELINE_UNDEFINED_CONFIGURATION_VARIABLE": "CREATE MATERIALIZED VIEW m AS SELECT '${nothing}' AS a;",
        "DUPLICATE_EXPECTATION_NAME": "CREATE MATERIALIZED VIEW m (CONSTRAINT c EXPECT (a > 0), CONSTRAINT c EXPECT (a > 1)) AS SELECT 1 AS a;",
        "STREAM_FROM_MATERIALIZED_VIEW": "CREATE MATERIALIZED VIEW m AS SELECT 1 AS a; CREATE STREAMING TABLE t AS SELECT * FROM STREAM(m);",
        "INVALID_TEMP_OBJ_REFERENCE": "CREATE TEMPORARY VIEW v AS SELECT 1 AS a; CREATE VIEW p AS SELECT * FROM v;",
        "PARSE_SYNTAX_ERROR": "CREATE MATERIALIZED VIEW m AS SELEC 1;",
        "AUTOCDC_MIXED_FLOWS_TO_TARGET":
            "CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT, q INT'); "
            "CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (id) SEQUENCE BY q; "
            "CREATE FLOW g AS INSERT INTO t BY NAME SELECT * FROM STREAM(s);",
        "AUTOCDC_KEY_NOT_IN_SELECTED_SCHEMA":
            "CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT, q INT'); "
            "CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(s) KEYS (nokey) SEQUENCE BY q;",
    }

    def test_bad_graphs_are_refused_by_name_and_write_nothing(self):
        for condition, sql in self.CASES.items():
            with self.subTest(condition), Project(sql) as p:
                result = p.run()
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"[{condition}]", result.stderr)
                self.assertRegex(result.stderr, r"pipeline\.sql:\d+|spark-pipeline\.yml")
                self.assertEqual([d for d in ("m", "t", "s") if (p.root / "warehouse" / d).exists()], [])

    def test_reads_that_cannot_be_are_refused_before_anything_is_written(self):
        raw = "CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'a INT'); "
        cases = {
            "SELECT a FROM STREAM(raw) UNION ALL SELECT 1": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT 1 AS a UNION ALL SELECT a FROM STREAM(raw)": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT a FROM STREAM(raw) UNION SELECT a FROM STREAM(raw)": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT a FROM STREAM(raw) ORDER BY a": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT a FROM STREAM(raw) LIMIT 1": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT a FROM STREAM(raw) x JOIN STREAM(raw) y USING (a)": "UNSUPPORTED_STREAMING_OPERATION",
            "SELECT a, count(*) AS n FROM STREAM(raw) GROUP BY a": "STREAMING_OUTPUT_MODE.UNSUPPORTED_OPERATION",
            "SELECT a FROM STREAM(raw) WITH (skipChangeCommit = true)": "INVALID_OPTION",
            "SELECT a FROM STREAM(raw) WITH (startingVersion = -1)": "DELTA_ILLEGAL_OPTION",
            "SELECT a FROM STREAM raw VERSION AS OF 1": "UNSUPPORTED_FEATURE",
            "SELECT a FROM STREAM(raw FOR SYSTEM_TIME AS OF '2020-01-01')": "UNSUPPORTED_FEATURE",
            "SELECT a FROM STREAM raw@v0": "UNSUPPORTED_FEATURE",
            "SELECT a FROM STREAM raw WITH (versionAsOf = 0)": "INVALID_OPTION",
            "SELECT a FROM STREAM(raw) WITH (readChangeFeed = true, wibble = 1)": "INVALID_OPTION",
        }
        batch = {
            "SELECT a FROM raw WITH (wibble = 1)": "INVALID_OPTION",
            "SELECT a FROM raw WITH (readChangeFeed = true, startingVersion = 'x')": "DELTA_VERSION_INVALID",
            "SELECT a FROM raw WITH (readChangeFeed = true, startingVersion = 0, wibble = 1)": "INVALID_OPTION",
            "SELECT a FROM raw WITH (versionAsOf = 'x')": "DELTA_VERSION_INVALID",
        }
        all_cases = [(f"CREATE STREAMING TABLE t AS {q};", c) for q, c in cases.items()]
        all_cases += [(f"CREATE MATERIALIZED VIEW t AS {q};", c) for q, c in batch.items()]
        for query, condition in all_cases:
            with self.subTest(query), Project(raw + query) as p:
                result = p.run()
                self.assertEqual(result.returncode, 2, result.stderr)
                self.assertIn(f"[{condition}]", result.stderr)
                self.assertRegex(result.stderr, r"pipeline\.sql:1:\d+")
                self.assertFalse((p.root / "warehouse").exists() and (p.root / "warehouse" / "raw").exists())
        with Project("") as p:
            p.query("CREATE TABLE src AS SELECT 1 AS a")
            for source in ("src VERSION AS OF 0", f"delta.`{p.root}/warehouse/src@v0`"):
                p.sql(f"CREATE STREAMING TABLE t AS SELECT a FROM STREAM {source}")
                self.assertIn("[UNSUPPORTED_FEATURE] STREAM with time travel", p.run().stderr, source)
        with Project(raw + "CREATE STREAMING TABLE t AS SELECT a FROM STREAM(raw) UNION ALL SELECT a + 10 FROM STREAM(raw);") as p:
            p.add_file([{"a": 1}])
            p.update()
            p.add_file([{"a": 2}])
            p.update()
            self.assertEqual(p.rows("SELECT a FROM t"), [(1,), (11,), (12,), (2,)])

    def test_tables_that_cannot_be_made_are_refused_before_anything_is_written(self):
        raw = "CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'a INT, b INT');\n"
        cases = {
            "CREATE STREAMING TABLE t PARTITIONED BY (zz) AS SELECT a FROM STREAM raw": "DELTA_INVALID_PARTITION_COLUMN",
            "CREATE STREAMING TABLE t PARTITIONED BY (a) AS SELECT a FROM STREAM raw": "DELTA_CANNOT_USE_ALL_COLUMNS_FOR_PARTITION",
            "CREATE STREAMING TABLE t TBLPROPERTIES ('delta.enableChangeDataFeed' = 'maybe') AS SELECT a FROM STREAM raw": "DELTA_ILLEGAL_OPTION",
            "CREATE STREAMING TABLE t TBLPROPERTIES ('delta.wibble' = '1') AS SELECT a FROM STREAM raw": "DELTA_UNKNOWN_CONFIGURATION",
            "CREATE STREAMING TABLE `t t` AS SELECT a FROM STREAM raw": "INVALID_SCHEMA_OR_RELATION_NAME",
            "CREATE VIEW `v/v` AS SELECT a FROM raw": "INVALID_SCHEMA_OR_RELATION_NAME",
            "CREATE MATERIALIZED VIEW t AS SELECT a AS `a b` FROM raw": "DELTA_INVALID_CHARACTERS_IN_COLUMN_NAMES",
            "CREATE MATERIALIZED VIEW t AS SELECT INTERVAL 1 DAY AS i FROM raw": "DELTA_UNSUPPORTED_DATA_TYPES",
        }
        for sql, condition in cases.items():
            with self.subTest(sql), Project(raw + sql + ";") as p:
                for command in ("dry-run", "run"):
                    result = p.run(command=command)
                    self.assertEqual(result.returncode, 2, result.stderr)
                    self.assertIn(f"[{condition}]", result.stderr)
                    self.assertRegex(result.stderr, r"pipeline\.sql:2:1")
                self.assertFalse((p.root / "warehouse" / "raw").exists())

    def test_clusters_as_declared(self):
        """Columns of CLUSTER BY reach the table, also one that is there, with the name of a column; NONE takes them back, AUTO and no clause leave them."""
        def check(p, table, columns, query):
            p.sql(f"{table}{query}")
            p.query("INSERT INTO src VALUES (1, 2)")
            p.update()
            self.assertEqual(p.query("DESCRIBE DETAIL t")[0]["clusteringColumns"], columns, table)

        flow = "; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src KEYS (a) SEQUENCE BY b"
        for kind, query in (("STREAMING TABLE", " AS SELECT * FROM STREAM src"), ("MATERIALIZED VIEW", " AS SELECT a, max(b) AS b FROM src GROUP BY a"),
                            ("STREAMING TABLE", flow), ("STREAMING TABLE", flow + " STORED AS SCD TYPE 2")):
            for mapped in ("", " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"):
                with self.subTest(kind, query=query, mapped=mapped), Project("") as p:
                    p.query("CREATE TABLE src (a INT, b INT)")
                    for clause, columns in (("(A)", ["a"]), ("(b, a)", ["b", "a"]), ("AUTO", ["b", "a"]), (None, ["b", "a"]), ("NONE", []), ("NONE", [])):
                        check(p, f"CREATE {kind} t {'CLUSTER BY ' + clause if clause else ''}{mapped}", columns, query)
                    self.assertEqual([row["operation"] for row in p.query("DESCRIBE HISTORY t")].count("CLUSTER BY"), 2)
                    p.sql(f"CREATE {kind} t CLUSTER BY (c){mapped}{query}")
                    self.assertIn("[UNRESOLVED_COLUMN.WITHOUT_SUGGESTION] CLUSTER BY names `c`", p.run().stderr)
        with Project("") as p:  # a column that the table gets with the first batch
            p.query("CREATE TABLE src (a INT, b INT)")
            for source, columns in (("*", ["a"]), ("*, 1 AS c", ["a"]), ("*, 1 AS c", ["c"])):
                check(p, f"CREATE STREAMING TABLE t CLUSTER BY ({'c' if 'c' in source else 'a'})", columns, f" AS SELECT {source} FROM STREAM src")

    def test_lengths_of_texts(self):
        with Project("CREATE STREAMING TABLE t (a CHAR(3), b VARCHAR(2)) AS SELECT * FROM STREAM src") as p:
            p.query("CREATE TABLE src (a STRING, b STRING); INSERT INTO src VALUES ('x', 'yy ')")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [("x  ", "yy")])
            p.query("INSERT INTO src VALUES ('x', 'yyy')")
            self.assertIn("[EXCEED_LIMIT_LENGTH]", p.run().stderr)
            p.sql("CREATE MATERIALIZED VIEW m (b VARCHAR(2)) AS SELECT b FROM src")
            self.assertIn("[EXCEED_LIMIT_LENGTH]", p.run().stderr)
            p.sql("CREATE STREAMING TABLE u (a STRING, b VARCHAR(2)); CREATE FLOW f AS AUTO CDC INTO u FROM STREAM src KEYS (a) SEQUENCE BY b")
            self.assertRegex(p.run().stderr, r"\[UNSUPPORTED_FEATURE\] A CHAR or VARCHAR column(.|\n)*pipeline\.sql:1:37")

    def test_flows_insert_by_place_or_by_name(self):
        raw = "CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'a INT, b INT');\n"
        by_place = "CREATE FLOW f AS INSERT INTO t SELECT b, a FROM STREAM raw; CREATE FLOW g AS INSERT INTO t SELECT a + 10, b + 10 FROM STREAM raw;"
        for declared in ("CREATE STREAMING TABLE t (x INT, y INT); ", "CREATE STREAMING TABLE t; "):
            with self.subTest(declared), Project(raw + declared + by_place) as p:
                for n in (1, 2):
                    p.add_file([{"a": n, "b": -n}])
                    p.update()
                self.assertEqual(p.rows("SELECT * FROM t"), [(-1, 1), (-2, 2), (11, 9), (12, 8)])
        with Project(raw + "CREATE STREAMING TABLE t (x INT, y INT); CREATE FLOW f AS INSERT INTO t SELECT a FROM STREAM raw;") as p:
            result = p.run()
            self.assertEqual(result.returncode, 2)
            self.assertIn("[USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE]", result.stderr)

    def test_misspelt_pipeline_property_is_a_warning(self):
        with Project("CREATE MATERIALIZED VIEW m TBLPROPERTIES ('pipelines.reset.alowed' = 'false', 'mine' = '1') AS SELECT 1 AS a;") as p:
            result = p.update()
            self.assertIn("did you mean `pipelines.reset.allowed`?", result.stdout)
            warnings = [e["message"] for e in p.events() if e["level"] == "WARN"]
            self.assertEqual(len(warnings), 1)

    def test_misspelt_settings(self):
        with Project("CREATE MATERIALIZED VIEW m AS SELECT '${mine}' AS a;") as p:
            given = ("--set", "pipelines.maxFlowRetryAttempt=1", "--set", "mine=1")
            self.assertIn('"pipelines.maxFlowRetryAttempt": it has no effect; did you mean `pipelines.maxFlowRetryAttempts`', p.update(*given).stdout)
            self.assertEqual([e["level"] for e in p.events()].count("WARN"), 1)
            result = p.run(*given, "--set", "engine.thread=1")
            self.assertEqual(result.returncode, 2, result.stderr)
            self.assertIn("[CONFIG_NOT_AVAILABLE]", result.stderr)
            self.assertIn("`engine.threads`", result.stderr)

    def test_all_problems_are_reported_together(self):
        with Project("CREATE MATERIALIZED VIEW a AS SELECT * FROM nothing; CREATE MATERIALIZED VIEW b AS SELECT x FROM (SELECT 1 AS y); "
                     "CREATE MATERIALIZED VIEW c AS SELECT * FROM a;") as p:
            result = p.run(command="dry-run")
            self.assertEqual(result.returncode, 2)
            self.assertIn("TABLE_OR_VIEW_NOT_FOUND", result.stderr)
            self.assertIn("UNRESOLVED_COLUMN", result.stderr)

    def test_refresh_options_conflict(self):
        with Project("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a;") as p:
            result = p.run("--full-refresh-all", "--refresh", "m")
            self.assertEqual(result.returncode, 2)
            self.assertIn("CONFLICTING_PIPELINE_REFRESH_OPTIONS", result.stderr)

    def test_protected_table_is_not_reset(self):
        sql = ("CREATE STREAMING TABLE s TBLPROPERTIES ('pipelines.reset.allowed' = 'false') AS "
               "SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT');")
        with Project(sql) as p:
            p.add_file([{"id": 1}])
            p.update()
            result = p.run("--full-refresh", "s")
            self.assertEqual(result.returncode, 2)
            self.assertIn("PIPELINE_FULL_REFRESH_NOT_ALLOWED", result.stderr)
            p.update("--full-refresh-all")
            self.assertEqual(p.rows("SELECT id FROM s"), [(1,)])


class Names(unittest.TestCase):
    FEED_SQL = ("CREATE STREAMING TABLE s TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true') AS "
                "SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT'); "
                "CREATE MATERIALIZED VIEW m AS SELECT _change_type, count(*) AS n FROM table_changes('s', 0) GROUP BY _change_type; ")

    def test_view_over_the_feed_of_a_table_of_the_same_pipeline(self):
        """The feed's table does not exist when the graph is first analysed, and must be written before the view."""
        with Project(self.FEED_SQL) as p:
            p.add_file([{"id": 1}, {"id": 2}])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM m"), [("insert", 2)])
            p.add_file([{"id": 3}])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM m"), [("insert", 3)])

    def test_names_follow_use_schema(self):
        with Project("USE SCHEMA other; " + self.FEED_SQL + "CREATE VIEW v AS SELECT id FROM s;") as p:
            p.add_file([{"id": 1}, {"id": 2}])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM other.m"), [("insert", 2)])
            self.assertEqual(p.rows("SELECT * FROM other.v"), [(1,), (2,)])
            self.assertTrue((p.root / "warehouse" / "other.db" / "s").is_dir())


class Altered(unittest.TestCase):
    """ALTER TABLE on the targets of AUTO CDC flows (autocdc.md 9.1)."""

    def refused(self, p, sql, condition):
        with self.assertRaises(AssertionError) as caught:
            p.query(sql)
        self.assertIn(f"[{condition}]", str(caught.exception), sql)

    def test_schema_stays_properties_may_change(self):
        with Project(project.TUTORIAL_SQL) as p:
            p.add_file(project.TUTORIAL_1)
            p.update()
            for target in ("customers", "customers_history"):
                for change in ("RENAME COLUMN email TO mail", "DROP COLUMN email", "ADD COLUMN x INT", "ALTER COLUMN id SET NOT NULL",
                               "ALTER COLUMN id FIRST", "RENAME TO x", "SET TBLPROPERTIES ('delta.enableRowTracking' = 'false')"):
                    self.refused(p, f"ALTER TABLE {target} {change}", "UNSUPPORTED_FEATURE")
                self.refused(p, f"ALTER TABLE {target} DROP FEATURE rowTracking", "DELTA_FEATURE_DROP_DEPENDENT_FEATURE")
                p.query(f"ALTER TABLE {target} ALTER COLUMN email COMMENT 'mail'")
                p.query(f"ALTER TABLE {target} SET TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.columnMapping.mode' = 'name')")
                p.query(f"ALTER TABLE {target} ADD CONSTRAINT small CHECK (id < 100)")
            p.add_file(project.TUTORIAL_2)
            p.update()
            with Project(project.TUTORIAL_SQL) as plain:
                plain.add_file(project.TUTORIAL_1)
                plain.update()
                plain.add_file(project.TUTORIAL_2)
                plain.update()
                for target in ("customers", "customers_history"):
                    self.assertEqual(p.rows(f"SELECT * FROM {target}"), plain.rows(f"SELECT * FROM {target}"))
            changes = p.rows("SELECT id, lastname, _change_type FROM table_changes('customers', 5)")
            self.assertEqual(changes, [(1, "Kim", "update_postimage"), (1, "Lee", "update_preimage")])
            p.add_file([{**project.TUTORIAL_2[0], "id": 100, "operation_date": "2026-01-02 00:00:00"}])
            self.assertNotEqual(p.run().returncode, 0)

    def test_full_refresh_leads_back_from_a_plain_table(self):
        with Project(project.TUTORIAL_SQL) as p:
            p.add_file(project.TUTORIAL_1)
            p.update()
            before = p.rows("SELECT * FROM customers")
            p.query("ALTER TABLE customers DROP FEATURE `sluice.autoCdc`")
            p.query("INSERT INTO customers (id) VALUES (77)")
            self.assertEqual(len(p.rows("SELECT * FROM customers")), len(before) + 1)
            self.assertIn("AUTOCDC_INVALID_STATE.AUXILIARY_TABLE_PROPERTY_MISSING", p.run().stderr)
            p.update("--full-refresh=customers")
            self.assertEqual(p.rows("SELECT * FROM customers"), before)


class Failures(unittest.TestCase):
    def test_failed_expectation_leaves_its_target_and_others_go_on(self):
        sql = ("CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT'); "
               "CREATE STREAMING TABLE checked (CONSTRAINT positive EXPECT (id > 0) ON VIOLATION FAIL UPDATE) AS SELECT * FROM STREAM(raw); "
               "CREATE MATERIALIZED VIEW below AS SELECT count(*) AS n FROM checked; "
               "CREATE MATERIALIZED VIEW beside AS SELECT count(*) AS n FROM raw;")
        with Project(sql) as p:
            p.add_file([{"id": 1}])
            p.update()
            p.add_file([{"id": -5}])
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("EXPECTATION", result.stderr)
            self.assertEqual(p.rows("SELECT id FROM checked"), [(1,)])
            self.assertEqual(p.rows("SELECT n FROM beside"), [(2,)])
            self.assertEqual(p.rows("SELECT n FROM below"), [(1,)])
            flows = p.last_update_metrics()
            self.assertEqual({k: v["status"] for k, v in flows.items() if k is not None},
                             {"raw": "COMPLETED", "checked": "FAILED", "below": "SKIPPED", "beside": "COMPLETED"})

    def test_second_update_is_refused_while_one_runs(self):
        import fcntl
        with Project("CREATE MATERIALIZED VIEW m AS SELECT 1 AS a;") as p:
            p.update()
            lock = p.root / "storage" / "system" / "update.lock"
            self.assertTrue(lock.exists(), "the lock is where another process finds it")
            with open(lock, "r+b") as held:
                F_OFD_SETLK = 37
                import struct
                fcntl.fcntl(held, F_OFD_SETLK, struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0))
                result = p.run()
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("ACTIVE_UPDATE_EXISTS", result.stderr)

    def test_table_that_is_gone_is_filled_anew(self):
        """A dropped table, or one lost with its directory, takes its flow's progress with it: no event is missing afterwards."""
        import shutil
        sql = ("CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT, n INT'); "
               "CREATE STREAMING TABLE latest; "
               "CREATE FLOW latest_flow AS AUTO CDC INTO latest FROM STREAM(raw) KEYS (id) SEQUENCE BY n; "
               "CREATE MATERIALIZED VIEW total AS SELECT count(*) AS c FROM latest;")
        for lose in (lambda p: p.query("DROP TABLE latest"), lambda p: shutil.rmtree(p.root / "warehouse" / "latest")):
            with Project(sql) as p:
                p.add_file([{"id": 1, "n": 1}, {"id": 1, "n": 2}])
                p.update()
                lose(p)
                p.add_file([{"id": 2, "n": 1}])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM latest"), [(1, 2), (2, 1)])
                self.assertEqual(p.rows("SELECT c FROM total"), [(2,)])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM latest"), [(1, 2), (2, 1)])
        with Project(sql) as p:
            p.add_file([{"id": 1, "n": 1}])
            p.update()
            p.query("DROP TABLE raw")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", result.stderr)
            self.assertEqual(p.rows("SELECT * FROM raw"), [(1, 1)])

    def test_storage_of_another_copy_is_noticed(self):
        import shutil
        with Project(project.CUSTOMERS_SQL) as p:
            p.add_file(project.CUSTOMERS_1)
            p.update()
            shutil.copytree(p.root / "storage", p.root / "backup")
            p.add_file(project.CUSTOMERS_2)
            p.update()
            shutil.rmtree(p.root / "storage")
            shutil.copytree(p.root / "backup", p.root / "storage")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("FLOW_CHECKPOINT_CORRUPT", result.stderr)


if __name__ == "__main__":
    unittest.main()

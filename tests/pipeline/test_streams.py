#!/usr/bin/env python3
"""Streams of Delta tables in pipelines: a feed into AUTO CDC (cdf.md §12.3 and §12.4), the options of STREAM t WITH (…), schema changes."""
import itertools
import json
import unittest

from project import Project

PROPAGATION = """
CREATE TEMPORARY VIEW changes AS
  SELECT * FROM STREAM src WITH (readChangeFeed = true) WHERE _change_type <> 'update_preimage';
CREATE OR REFRESH STREAMING TABLE copy;
CREATE FLOW copy_flow AS AUTO CDC INTO copy FROM STREAM(changes) KEYS (id) APPLY AS DELETE WHEN _change_type = 'delete'
  SEQUENCE BY _commit_version COLUMNS * EXCEPT (_change_type, _commit_version, _commit_timestamp) STORED AS SCD TYPE 1;
CREATE OR REFRESH STREAMING TABLE history;
CREATE FLOW history_flow AS AUTO CDC INTO history FROM STREAM(changes) KEYS (id) APPLY AS DELETE WHEN _change_type = 'delete'
  SEQUENCE BY _commit_version COLUMNS * EXCEPT (_change_type, _commit_version, _commit_timestamp) STORED AS SCD TYPE 2;
"""

SOURCES = {"legacy": "delta.enableChangeDataFeed = true", "automatic": "delta.enableRowTracking = true"}


class Propagation(unittest.TestCase):
    def test_a_feed_into_auto_cdc_keeps_a_copy_and_a_history(self):
        for mode, properties in SOURCES.items():
            with self.subTest(mode), Project(PROPAGATION) as p:
                p.query(f"CREATE TABLE src (id INT, name STRING) TBLPROPERTIES ({properties}); INSERT INTO src VALUES (1, 'a'), (2, 'b'), (3, 'c')")
                p.update()
                self.assertEqual(p.rows("SELECT * FROM copy"), [(1, "a"), (2, "b"), (3, "c")])
                p.query("UPDATE src SET name = 'B' WHERE id = 2; DELETE FROM src WHERE id = 3; INSERT INTO src VALUES (4, 'd')")
                p.query("UPDATE src SET name = 'A' WHERE id = 1; INSERT INTO src VALUES (5, 'e')")
                p.update()
                self.assertEqual(p.rows("SELECT * FROM copy"), p.rows("SELECT * FROM src"))
                self.assertEqual(p.rows("SELECT id, name, __START_AT, __END_AT FROM history"), [
                    (1, "A", 5, None), (1, "a", 1, 5), (2, "B", 2, None), (2, "b", 1, 2), (3, "c", 1, 3), (4, "d", 4, None), (5, "e", 6, None)])
                p.update()
                self.assertEqual(p.rows("SELECT count(*) FROM history"), [(7,)])


class Options(unittest.TestCase):
    def test_options_are_those_of_readstream(self):
        sql = """
        CREATE STREAMING TABLE plain AS SELECT * FROM STREAM src WITH (startingVersion = 2, maxFilesPerTrigger = 1, skipChangeCommits = true);
        CREATE STREAMING TABLE feed AS SELECT id, _change_type AS kind, _commit_version AS v FROM STREAM src WITH (readChangeFeed = true, startingVersion = 2);
        CREATE STREAMING TABLE later AS SELECT id FROM STREAM table_changes('src', 3);
        """
        with Project(sql) as p:
            p.query("CREATE TABLE src (id INT) TBLPROPERTIES (delta.enableChangeDataFeed = true); INSERT INTO src VALUES (1); INSERT INTO src VALUES (2);"
                    "INSERT INTO src VALUES (3); DELETE FROM src WHERE id = 2")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM plain"), [(2,), (3,)])
            self.assertEqual(p.last_update_metrics()["plain"]["metrics"]["num_skipped_commits"], 1)
            self.assertEqual(p.rows("SELECT * FROM feed"), [(2, "delete", 4), (2, "insert", 2), (3, "insert", 3)])
            self.assertEqual(p.rows("SELECT * FROM later"), [(2,), (3,)])

    def test_progress_of_a_flow_is_a_checkpoint_of_spark(self):
        with Project("CREATE STREAMING TABLE copy AS SELECT * FROM STREAM src") as p:
            p.query("CREATE TABLE src (id INT); INSERT INTO src VALUES (1)")
            p.update()
            flow = p.root / "storage/flows/copy"
            run = (flow / "current").read_text().strip()
            self.assertEqual(json.loads((flow / run / "metadata").read_text())["id"], run)
            lines = (flow / run / "offsets/0").read_text().split("\n")
            self.assertEqual(lines[0], "v1")
            self.assertEqual(json.loads(lines[2])["reservoirVersion"], 2)
            self.assertTrue((flow / run / "commits/0").read_text().startswith("v1\n"))

    def test_reset_source_stops_its_readers(self):
        """cdf.md §11.3: a full refresh of the source is not a deletion of its rows."""
        with Project("CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT')",
                     name="first") as p:
            p.add_file([{"id": 1}])
            p.update()
            p.sql("CREATE STREAMING TABLE copy AS SELECT * FROM STREAM raw; "
                  "CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT')")
            p.update()
            p.run("--full-refresh", "raw")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", result.stderr)
            p.update("--full-refresh", "copy")
            self.assertEqual(p.rows("SELECT * FROM copy"), [(1,)])


class Replaced(unittest.TestCase):
    def test_a_planned_batch_reads_no_other_table(self):
        """A batch that failed is planned for versions of a table; another one at that place may have such versions too."""
        for n_rows, feed in itertools.product((1, 4), ("", " WITH (readChangeFeed = 'true')")):
            with self.subTest(n_rows, feed=feed), Project(
                    f"CREATE STREAMING TABLE t; CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src{feed} KEYS (id) SEQUENCE BY n COLUMNS (id, n);") as p:
                table = "CREATE TABLE src (id INT, n INT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true'); "
                p.query(table + "INSERT INTO src VALUES (1, 1)")
                p.update()
                p.query("INSERT INTO src VALUES (NULL, 2)")
                self.assertIn("NULL_KEY", p.run().stderr)
                p.query("DROP TABLE src; " + table + "; ".join(f"INSERT INTO src VALUES ({i}, {i})" for i in range(10, 10 + n_rows)))
                result = p.run()
                self.assertEqual(result.returncode, 1)
                self.assertIn("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", result.stderr)
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, 1)])
                p.update("--reset-checkpoint", "f")
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, 1)] + [(i, i) for i in range(10, 10 + n_rows)])

    def test_reset_of_a_position_keeps_the_target(self):
        """R26: a source that was dropped and made again is refused with both ids; one command resets only that flow's position."""
        sql = ("CREATE STREAMING TABLE copy; CREATE FLOW from_src AS INSERT INTO copy BY NAME SELECT * FROM STREAM src; "
               "CREATE FLOW from_other AS INSERT INTO copy BY NAME SELECT * FROM STREAM other;")
        with Project(sql) as p:
            p.query("CREATE TABLE src (id INT); INSERT INTO src VALUES (1); CREATE TABLE other (id INT); INSERT INTO other VALUES (100)")
            p.update()
            p.query("DROP TABLE src; CREATE TABLE src (id INT); INSERT INTO src VALUES (2)")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("DIFFERENT_DELTA_TABLE_READ_BY_STREAMING_SOURCE", result.stderr)
            self.assertIn("--reset-checkpoint", result.stderr)
            self.assertNotEqual(p.run("--reset-checkpoint", "from_nothing").returncode, 0)
            p.update("--reset-checkpoint", "from_src")
            self.assertEqual(p.rows("SELECT * FROM copy"), [(1,), (100,), (2,)])
            p.query("INSERT INTO src VALUES (3)")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM copy"), [(1,), (100,), (2,), (3,)])


class Schemas(unittest.TestCase):
    def change(self, p, version, edit):
        log = p.root / "warehouse/src/_delta_log"
        metadata = None
        for file in sorted(log.glob("*.json")):
            for line in file.read_text().splitlines():
                metadata = json.loads(line).get("metaData", metadata)
        schema = json.loads(metadata["schemaString"])
        edit(schema["fields"])
        metadata["schemaString"] = json.dumps(schema)
        (log / f"{version:020}.json").write_text(json.dumps({"commitInfo": {"operation": "CHANGE COLUMN"}}) + "\n" + json.dumps({"metaData": metadata}) + "\n")

    def test_tracked_schemas_are_followed_in_one_update(self):
        """An update goes on by itself after a change that it may follow, and names one that it may not."""
        sql = ("CREATE STREAMING TABLE copy; CREATE FLOW copy_flow AS INSERT INTO copy BY NAME "
               "SELECT * FROM STREAM src WITH (schemaTrackingLocation = '_schemas'{0})")
        with Project(sql.format("")) as p:
            p.query("CREATE TABLE src (id INT, name STRING) TBLPROPERTIES (delta.columnMapping.mode = 'name'); INSERT INTO src VALUES (1, 'a')")
            p.update()
            p.query("INSERT INTO src VALUES (2, 'b')")
            self.change(p, 3, lambda fields: fields[1].update(name="label"))
            p.query("INSERT INTO src VALUES (3, 'c')")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("DELTA_STREAMING_CANNOT_CONTINUE_PROCESSING_POST_SCHEMA_EVOLUTION", result.stderr)
            self.assertEqual(p.rows("SELECT id, name FROM copy"), [(1, "a"), (2, "b")])
            p.sql(sql.format(", allowSourceColumnRename = 'always'"))
            p.update()
            self.assertEqual(p.rows("SELECT id, name, label FROM copy"), [(1, "a", None), (2, "b", None), (3, None, "c")])


class BatchSides(unittest.TestCase):
    """What a stream is joined with is read as it is when a batch begins. Here it is the target, which every batch changes; each read what had been
    there when the update began."""

    FLOWS = {
        "append": "CREATE FLOW {name} AS INSERT INTO sink BY NAME SELECT s.k, (SELECT count(*) FROM {side}) AS n FROM {source} s",
        "AUTO CDC": "CREATE TEMPORARY VIEW v AS SELECT s.k, s.t, coalesce(o.n, 0) + 1 AS n FROM {source} s LEFT JOIN {side} o ON o.k = s.k;"
                    "CREATE FLOW {name} AS AUTO CDC INTO sink FROM STREAM v KEYS (k) SEQUENCE BY t COLUMNS k, n"}

    def rows(self, kind, side):
        sql = "CREATE STREAMING TABLE sink; " + self.FLOWS[kind]
        with Project(sql.format(name="first", source="STREAM src", side="empty")) as p:
            p.query("CREATE TABLE empty (k INT, n BIGINT); CREATE TABLE src (k INT, t INT); INSERT INTO src VALUES (1, 0)")
            p.update()
            p.query("INSERT INTO src VALUES (1, 1); INSERT INTO src VALUES (1, 2); INSERT INTO src VALUES (1, 3)")
            p.sql(sql.format(name="second", side=side.format(p.root / "warehouse" / "sink"),
                             source="STREAM src WITH (startingVersion = 2, maxFilesPerTrigger = 1)"))
            p.update()
            return p.rows("SELECT k, n FROM sink")

    def test_every_batch_reads_the_newest_version(self):
        self.assertEqual(self.rows("append", "delta.`{0}`"), [(1, n) for n in range(4)])
        self.assertEqual(self.rows("AUTO CDC", "delta.`{0}`"), [(1, 4)])

    def test_a_version_that_is_said_stays(self):
        for side in ("delta.`{0}@v1`", "delta.`{0}` VERSION AS OF 1"):
            with self.subTest(side):
                self.assertEqual(self.rows("append", side), [(1, 0)] + [(1, 1)] * 3)
                self.assertEqual(self.rows("AUTO CDC", side), [(1, 2)])


if __name__ == "__main__":
    unittest.main()

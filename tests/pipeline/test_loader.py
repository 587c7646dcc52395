#!/usr/bin/env python3
"""Auto Loader (pipelines.md §13) through the command line: files as users have them."""
import gzip
import json
import unittest

from project import Project


class Packed(unittest.TestCase):
    SQL = "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => '%s');"

    def put(self, p, name, content):
        (p.root / "in" / "customers" / name).write_bytes(content)

    def test_packed_json_with_a_broken_record_loses_no_other(self):
        lines = b"".join(b'{"id":%d}\n' % i for i in range(50_000))
        with Project(self.SQL % "json") as p:
            self.put(p, "a.json.gz", gzip.compress(lines) + gzip.compress(b'bad{\n{"id":-1}\n'))
            self.put(p, "b.json.gz", gzip.compress(b'[{"id":-2},{"id":-3}]\n'))
            self.put(p, "c.json.gz", b"")
            p.update()
            self.assertEqual(p.rows("SELECT count(*), count(DISTINCT id), count(_rescued_data) FROM t"), [(50_004, 50_003, 1)])

    def test_packed_text(self):
        with Project(self.SQL % "text") as p:
            self.put(p, "a.txt.gz", gzip.compress(b"one\r\ntwo"))
            self.put(p, "b.txt", b"\xef\xbb\xbfthree\nfo\xffur\n")
            p.update()
            self.assertEqual(p.rows("SELECT value FROM t"), [("fo\ufffdur",), ("one",), ("three",), ("two",)])

    def test_cut_file_is_refused_and_read_when_it_is_whole(self):
        whole = gzip.compress(b"".join(b'{"id":%d}\n' % i for i in range(1000)))
        with Project("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => 'id INT');") as p:
            self.put(p, "a.json.gz", whole[:-100])
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("[FAILED_READ_FILE]", result.stderr)
            self.assertIn("a.json.gz", result.stderr)
            self.assertEqual(p.rows("SELECT count(*) FROM t"), [(0,)])
            self.put(p, "a.json.gz", whole)
            p.update()
            self.assertEqual(p.rows("SELECT count(*) FROM t"), [(1000,)])


class Backlog(unittest.TestCase):
    def test_batches_say_what_waits_behind_them(self):
        with Project("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', maxFilesPerTrigger => 2);") as p:
            for i in range(5):
                p.add_file([{"id": i}])
            p.update()
            rows = p.query("SELECT details:flow_progress.metrics.backlog_files::INT AS files, details:flow_progress.metrics.backlog_bytes::INT AS bytes "
                           "FROM event_log(TABLE(t)) WHERE event_type = 'flow_progress' AND details:flow_progress.metrics IS NOT NULL ORDER BY timestamp")
            self.assertEqual([(r["files"], r["bytes"]) for r in rows], [(3, 30), (1, 10), (0, 0)])
            states = [json.loads(e["details"])["flow_progress"]["status"] for e in p.events() if e["event_type"] == "flow_progress"]
            self.assertEqual(states, ["QUEUED", "STARTING", "RUNNING", "RUNNING", "RUNNING", "RUNNING", "COMPLETED"])


class Csv(unittest.TestCase):
    def test_given_schema_names_columns_by_place_without_a_header_and_by_name_with_one(self):
        sql = ("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'csv', "
               "schema => 'id INT, name STRING, more STRING', header => %s);")
        with Project(sql % "false") as p:
            (p.root / "in" / "customers" / "a.csv").write_text("1,x\n2,y,z\n")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "x", None), (2, "y", "z")])
        with Project(sql % "true") as p:
            (p.root / "in" / "customers" / "a.csv").write_text("name,id\nx,1\n")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "x", None)])


    def test_records_may_span_lines_inside_quotes(self):
        with Project("CREATE STREAMING TABLE t AS SELECT id, name FROM STREAM read_files('${source}/customers', format => 'csv', header => true);") as p:
            (p.root / "in" / "customers" / "a.csv").write_text('id,name\n1,"two\nlines"\n2,"q\n\nq"\n3\n')
            p.update()
            self.assertEqual(p.rows("SELECT id, name FROM t"), [(1, "two\nlines"), (2, "q\n\nq"), (3, None)])


class Evolution(unittest.TestCase):
    def test_edited_schema_and_hints_count_from_the_next_update_on(self):
        sql = "CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', %s);"
        with Project(sql % "schema => 'a INT'") as p:
            p.add_file([{"a": 1, "b": "x"}])
            p.update()
            p.sql(sql % "schema => 'a INT, b STRING'")
            p.add_file([{"a": 2, "b": "y"}])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, None), (2, "y")])
        with Project(sql % "schemaEvolutionMode => 'failOnNewColumns'") as p:
            p.add_file([{"a": 1}])
            p.update()
            p.add_file([{"a": 2, "b": 7}])
            self.assertIn("UNKNOWN_FIELD_EXCEPTION", p.run().stderr)
            p.sql(sql % "schemaEvolutionMode => 'failOnNewColumns', schemaHints => 'b INT'")
            p.update()
            self.assertEqual(p.rows("SELECT a, b FROM t"), [(1, None), (2, 7)])

    def test_new_columns_that_differ_only_in_case_are_one(self):
        with Project("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json');") as p:
            p.add_file([{"a": 1}])
            p.update()
            p.add_file([{"a": 2, "New": 1, "new": 2}, {"a": 3, "new": 3}])
            p.update()
            self.assertEqual(p.rows("SELECT a, New, _rescued_data IS NOT NULL FROM t"), [(1, None, False), (2, 1, True), (3, None, True)])
            p.add_file([{"a": 4, "New": 4}])
            p.update()
            self.assertEqual(p.rows("SELECT count(*) FROM t"), [(4,)])


if __name__ == "__main__":
    unittest.main()

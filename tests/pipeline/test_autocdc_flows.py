#!/usr/bin/env python3
"""AUTO CDC flows beside each other and once: autocdc.md §7, pipelines.md §17.5 "once"."""
import itertools
import json
import os
import re
import shutil
import unittest

from project import Project

# Two feeds of customers whose tables have different columns, and a target of each type.
FEEDS = """
CREATE TEMPORARY VIEW eu AS SELECT * FROM STREAM read_files('${source}/eu', format => 'json',
  schema => 'id INT, name STRING, city STRING, op STRING, n INT');
CREATE TEMPORARY VIEW us AS SELECT * FROM STREAM read_files('${source}/us', format => 'json',
  schema => 'id INT, state STRING, name STRING, op STRING, n INT');
"""


def feeds(storage, first="eu", second="us", more=""):
    body = f"KEYS (id) APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n COLUMNS * EXCEPT (op, n) STORED AS {storage} {more}"
    return FEEDS + f"""
CREATE STREAMING TABLE t;
CREATE FLOW {first}_flow AS AUTO CDC INTO t FROM STREAM({first}) {body};
CREATE FLOW {second}_flow AS AUTO CDC INTO t FROM STREAM({second}) {body};
"""


def eu(id, n, name, city, op="U"):
    return {"id": id, "name": name, "city": city, "op": op, "n": n}


def us(id, n, name, state, op="U"):
    return {"id": id, "name": name, "state": state, "op": op, "n": n}


EU = [eu(1, 1, "Ann", "Oslo"), eu(2, 1, "Bob", "Rome"), eu(1, 5, "Anna", "Bonn"), eu(3, 2, "Cy", "Kiel")]
US = [us(1, 3, "Anne", "TX"), us(2, 4, None, None, "D"), us(4, 1, "Dee", "NY"), us(3, 2, "Cyd", "MA")]
# id, name, city, state: a flow writes what its source has; at one sequence the fields of both count (R-TIE).
ONE = [(1, "Anna", "Bonn", "TX"), (3, "Cyd", "Kiel", "MA"), (4, "Dee", None, "NY")]
TWO = [(1, "Ann", "Oslo", None, 1, 3), (1, "Anna", "Bonn", "TX", 5, None), (1, "Anne", "Oslo", "TX", 3, 5), (2, "Bob", "Rome", None, 1, 4),
       (3, "Cyd", "Kiel", "MA", 2, None), (4, "Dee", None, "NY", 1, None)]
SELECT = {"SCD TYPE 1": "SELECT id, name, city, state FROM t", "SCD TYPE 2": "SELECT id, name, city, state, __START_AT, __END_AT FROM t"}
EXPECTED = {"SCD TYPE 1": ONE, "SCD TYPE 2": TWO}


def project(sql):
    p = Project(sql)
    for name in ("eu", "us", "past", "feed"):
        (p.root / "in" / name).mkdir()
    return p


def warnings(p, text):
    return [e["message"] for e in p.events() if e["level"] == "WARN" and text in e["message"]]


class Union(unittest.TestCase):
    """§7.1: the target is the reference function of the union of the flows' events."""

    def test_order_of_flows_and_of_updates_does_not_matter(self):
        for storage, (first, second) in itertools.product(SELECT, itertools.permutations(("eu", "us"))):
            for by_flow in (True, False):
                with self.subTest(f"{storage}, {first} before {second}, {by_flow}"), project(feeds(storage, first, second)) as p:
                    rows = {"eu": EU, "us": US}
                    if by_flow:
                        for name in (first, second):
                            p.add_file(rows[name], name)
                            p.update()
                    else:
                        for cut in (slice(2, 4), slice(0, 2)):
                            for name in rows:
                                p.add_file(rows[name][cut], name)
                            p.update()
                    self.assertEqual(p.rows(SELECT[storage]), EXPECTED[storage])
                    versions = len(p.query("DESCRIBE HISTORY t"))
                    p.update()
                    self.assertEqual(len(p.query("DESCRIBE HISTORY t")), versions)

    def test_each_flow_has_its_own_progress(self):
        with project(feeds("SCD TYPE 1")) as p:
            p.add_file(EU, "eu")
            p.add_file(US, "us")
            p.update()
            flows = p.last_update_metrics()
            self.assertEqual({f: m["metrics"]["num_source_events"] for f, m in flows.items()}, {"eu_flow": 4, "us_flow": 4})
            ids = {e["origin"]["flow_id"] for e in p.events() if e["event_type"] == "flow_progress" and e["origin"]["flow_id"]}
            self.assertEqual(len(ids), 2)
            # The position of one flow is reset: its events come again and change nothing.
            p.update("--reset-checkpoint", "eu_flow")
            flows = p.last_update_metrics()
            self.assertEqual((flows["eu_flow"]["metrics"]["num_source_events"], flows["us_flow"]["metrics"]), (4, {}))
            self.assertEqual(p.rows(SELECT["SCD TYPE 1"]), ONE)

    def test_a_flow_that_joins_later_or_leaves(self):
        alone = FEEDS + ("CREATE STREAMING TABLE t; CREATE FLOW eu_flow AS AUTO CDC INTO t FROM STREAM(eu) KEYS (id) "
                         "APPLY AS DELETE WHEN op = 'D' SEQUENCE BY n COLUMNS * EXCEPT (op, n) STORED AS SCD TYPE 2;")
        with project(alone) as p:
            p.add_file(EU, "eu")
            p.update()
            p.sql(feeds("SCD TYPE 2"))
            p.add_file(US, "us")
            p.update()
            self.assertEqual(p.rows(SELECT["SCD TYPE 2"]), TWO)
            p.sql(alone)
            p.add_file([eu(1, 4, "Late", "Graz")], "eu")
            p.update()
            self.assertEqual(p.rows(SELECT["SCD TYPE 2"] + " WHERE id = 1"),
                             [(1, "Ann", "Oslo", None, 1, 3), (1, "Anna", "Bonn", "TX", 5, None), (1, "Anne", "Oslo", "TX", 3, 4),
                              (1, "Late", "Graz", "TX", 4, 5)])

    def test_a_failed_flow_leaves_the_other(self):
        with project(feeds("SCD TYPE 1")) as p:
            p.add_file([eu(None, 1, "X", "Y")], "eu")
            p.add_file(US, "us")
            result = p.run()
            self.assertEqual(result.returncode, 1)
            self.assertIn("AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY", result.stderr)
            self.assertEqual(p.rows(SELECT["SCD TYPE 1"]), [(1, "Anne", None, "TX"), (3, "Cyd", None, "MA"), (4, "Dee", None, "NY")])

    def test_a_truncate_of_one_flow_clears_the_rows_of_the_other(self):
        sql = feeds("SCD TYPE 1").replace("SEQUENCE BY", "APPLY AS TRUNCATE WHEN op = 'T' SEQUENCE BY")
        for first, second in itertools.permutations(("eu", "us")):
            with self.subTest(first), project(sql) as p:
                rows = {"eu": EU + [{"op": "T", "n": 3}], "us": US}
                for name in (first, second):
                    p.add_file(rows[name], name)
                    p.update()
                self.assertEqual(p.rows(SELECT["SCD TYPE 1"]), [(1, "Anna", "Bonn", "TX")])
                p.add_file([us(4, 2, "Old", "NY"), us(5, 4, "Eve", "WA")], "us")
                p.update()
                self.assertEqual(p.rows(SELECT["SCD TYPE 1"]), [(1, "Anna", "Bonn", "TX"), (5, "Eve", None, "WA")])

    def test_columns_that_both_have_take_the_wider_type(self):
        sql = FEEDS.replace("id INT, state STRING", "id INT, v BIGINT, state STRING").replace("id INT, name STRING, city", "id INT, v INT, name STRING, city")
        body = "KEYS (id) SEQUENCE BY n COLUMNS (id, v)"
        flows = "CREATE STREAMING TABLE t; " + "".join(
            f"CREATE FLOW {f}_flow AS AUTO CDC INTO t FROM STREAM({f}) {body};" for f in ("eu", "us"))
        with project(sql + flows) as p:
            p.add_file([{"id": 1, "v": 1, "n": 1}], "eu")
            p.add_file([{"id": 2, "v": 1 << 40, "n": 1}], "us")
            p.update()
            self.assertEqual(p.rows("SELECT id, v, typeof(v) FROM t"), [(1, 1, "bigint"), (2, 1 << 40, "bigint")])
        with project(sql.replace("v BIGINT", "v STRING") + flows) as p:
            result = p.run()
            self.assertEqual(result.returncode, 2)
            self.assertIn("AUTOCDC_FLOWS_DISAGREE", result.stderr)

    def test_columns_of_one_source_alone_are_no_choice(self):
        feeds = "".join(f"CREATE TEMPORARY VIEW {v} AS SELECT * FROM STREAM read_files('${{source}}/{v}', format => 'json', "
                        f"schema => 'id INT, v INT, n INT, op_{v} STRING');\n" for v in ("eu", "us")) + "CREATE STREAMING TABLE t;\n"
        flows = "".join(f"CREATE FLOW {v}_flow AS AUTO CDC INTO t FROM STREAM({v}) KEYS (id) APPLY AS DELETE WHEN op_{v} = 'D' SEQUENCE BY n "
                        f"COLUMNS * EXCEPT (n, op_{v});\n" for v in ("eu", "us"))
        for one in (flows, flows.replace("* EXCEPT (n, op_us)", "id, v")):
            with self.subTest(one), project(feeds + one) as p:
                p.add_file([{"id": 1, "v": 1, "n": 1}, {"id": 2, "n": 3, "op_eu": "D"}], "eu")
                p.add_file([{"id": 1, "v": 2, "n": 2}, {"id": 2, "v": 2, "n": 2}], "us")
                p.update()
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, 2)])
        with project(feeds + flows.replace("EXCEPT (n, op_us)", "EXCEPT (op_us)")) as p:
            refused = p.run().stderr
            self.assertIn("[AUTOCDC_FLOWS_DISAGREE] flows eu_flow and us_flow into t differ in their choice of columns: n.", refused)
            self.assertIn("pipeline.sql:5:1", refused)
            self.assertIn("hint: flows into one table have the same clauses", refused)

    def test_leaves_of_structs_are_united_where_they_are_fields(self):
        sql = "".join(f"CREATE TEMPORARY VIEW {v} AS SELECT * FROM STREAM read_files('${{source}}/{v}', format => 'json', schema => 'id INT, s STRUCT<{s}>, n INT');\n"
                      f"CREATE FLOW {v}_flow AS AUTO CDC INTO t FROM STREAM({v}) KEYS (id) IGNORE NULL UPDATES SEQUENCE BY n COLUMNS * EXCEPT (n);\n"
                      for v, s in (("eu", "p: INT, q: INT"), ("us", "r: STRING, p: BIGINT"))) + "CREATE STREAMING TABLE t;"
        for first, second in itertools.permutations(("eu", "us")):
            with self.subTest(first), project(sql) as p:
                rows = {"eu": [{"id": 1, "s": {"p": 1, "q": 2}, "n": 2}, {"id": 2, "s": {"q": 5}, "n": 1}], "us": [{"id": 1, "s": {"p": 1 << 40, "r": "x"}, "n": 1}]}
                for name in (first, second):
                    p.add_file(rows[name], name)
                    p.update()
                self.assertEqual(p.rows("SELECT id, s.p, s.q, s.r FROM t"), [(1, 1, 2, "x"), (2, None, 5, None)])

    def test_a_declared_schema_is_that_of_the_union(self):
        columns = "(id INT, state STRING COMMENT 'where', city STRING, name STRING)"
        with project(feeds("SCD TYPE 1").replace("TABLE t;", f"TABLE t {columns};")) as p:
            p.add_file(US, "us")
            p.add_file(EU, "eu")
            p.update()
            self.assertEqual(p.rows(SELECT["SCD TYPE 1"]), ONE)
            self.assertEqual([r["col_name"] for r in p.query("DESCRIBE t")][:4], ["id", "state", "city", "name"])
        with project(feeds("SCD TYPE 1").replace("TABLE t;", "TABLE t (id INT, name STRING, city STRING);")) as p:
            result = p.run()
            self.assertEqual(result.returncode, 2)
            self.assertIn("USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE", result.stderr)


def hydrated(order, storage="SCD TYPE 1", inline=False):
    body = f"KEYS (id) SEQUENCE BY n COLUMNS * EXCEPT (n) STORED AS {storage}"
    views = "".join(f"CREATE TEMPORARY VIEW {v} AS SELECT * FROM STREAM read_files('${{source}}/{v}', format => 'json', "
                    "schema => 'id INT, name STRING, n INT'); " for v in ("past", "feed"))
    past = f"CREATE FLOW past_flow AS AUTO CDC ONCE INTO t FROM STREAM(past) {body}; "
    feed = f"CREATE FLOW feed_flow AS AUTO CDC INTO t FROM STREAM(feed) {body}; "
    table = "CREATE STREAMING TABLE t; "
    if inline:
        table, past = f"CREATE OR REFRESH STREAMING TABLE t FLOW AUTO CDC ONCE FROM STREAM(past) {body}; ", ""
    return views + table + (past + feed if order == "past first" else feed + past)


PAST = [{"id": 1, "name": "one", "n": 1}, {"id": 2, "name": "two", "n": 1}]
FEED = [{"id": 2, "name": "zwei", "n": 5}, {"id": 3, "name": "three", "n": 4}]
JOINED = [(1, "one"), (2, "zwei"), (3, "three")]


class Once(unittest.TestCase):
    """§7.2."""

    def status(self, p):
        return {f: m["status"] for f, m in p.last_update_metrics().items()}

    def test_hydration_before_during_and_after_the_feed(self):
        for order, inline in itertools.product(("past first", "feed first"), (False, True)):
            once = "t" if inline else "past_flow"
            with self.subTest(f"{order}, {inline}"), project(hydrated(order, inline=inline)) as p:
                p.add_file(PAST, "past")
                p.add_file(FEED, "feed")
                p.update()
                self.assertEqual(p.rows("SELECT id, name FROM t"), JOINED)
                self.assertEqual(self.status(p), {once: "COMPLETED", "feed_flow": "COMPLETED"})
                # Complete is complete, whatever comes to its source.
                p.add_file([{"id": 9, "name": "nine", "n": 9}], "past")
                p.add_file([{"id": 1, "name": "uno", "n": 2}], "feed")
                result = p.update()
                self.assertIn("EXCLUDED", result.stdout)
                self.assertEqual(self.status(p), {once: "EXCLUDED", "feed_flow": "COMPLETED"})
                self.assertEqual(p.rows("SELECT id, name FROM t"), [(1, "uno"), (2, "zwei"), (3, "three")])
                self.assertEqual(warnings(p, "once flow"), [])
        feed_alone = hydrated("feed first").replace("CREATE FLOW past_flow", "CREATE TEMPORARY VIEW unused AS SELECT 1 AS a; -- ")
        with project(feed_alone) as p:
            p.add_file(FEED, "feed")
            p.update()
            p.add_file(PAST, "past")
            p.sql(hydrated("feed first"))
            p.update()
            self.assertEqual(p.rows("SELECT id, name FROM t"), JOINED)

    def test_full_refresh_runs_it_again_and_warns(self):
        with project(hydrated("past first", "SCD TYPE 2")) as p:
            p.add_file(PAST, "past")
            p.add_file(FEED, "feed")
            p.update()
            rows = p.rows("SELECT * FROM t")
            self.assertEqual(len(rows), 4)
            p.update("--full-refresh", "t")
            self.assertEqual(p.rows("SELECT * FROM t"), rows)
            self.assertEqual(self.status(p), {"past_flow": "COMPLETED", "feed_flow": "COMPLETED"})
            self.assertEqual(len(warnings(p, "'past_flow' is a once flow and runs again")), 1)
            p.update("--reset-checkpoint", "past_flow")
            self.assertEqual(p.rows("SELECT * FROM t"), rows)
            self.assertEqual(len(warnings(p, "'past_flow' is a once flow and runs again")), 2)
            p.update()
            self.assertEqual(self.status(p), {"past_flow": "EXCLUDED", "feed_flow": "COMPLETED"})
            p.query("DROP TABLE t")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), rows)
            self.assertEqual(len(warnings(p, "'past_flow' is a once flow and runs again")), 3)

    def test_a_complete_flow_does_not_need_its_source(self):
        for storage in ("SCD TYPE 1", "SCD TYPE 2"):
            files = "STREAM read_files('${source}/past', format => 'json', schema => 'id INT, name STRING, n INT')"
            sql = hydrated("past first", storage).replace("STREAM(past)", files).replace(f"SELECT * FROM {files}", "SELECT 1 AS a")
            with self.subTest(storage), project(sql) as p:
                p.add_file(PAST, "past")
                p.add_file(FEED, "feed")
                p.update()
                rows = p.rows("SELECT * FROM t")
                shutil.rmtree(p.root / "in" / "past")
                p.add_file([{"id": 4, "name": "four", "n": 4}], "feed")
                p.update()
                self.assertEqual(self.status(p), {"past_flow": "EXCLUDED", "feed_flow": "COMPLETED"})
                self.assertEqual(len(p.rows("SELECT * FROM t")), len(rows) + 1)
                result = p.run("--full-refresh", "t")
                self.assertEqual(result.returncode, 2)
                self.assertIn("[PATH_NOT_FOUND]", result.stderr)
                self.assertEqual(len(p.rows("SELECT * FROM t")), len(rows) + 1)
        appended = APPENDED.replace("VALUES (1, 'one'), (2, 'zwei') AS v(id, name)", "old")
        with project(appended) as p:
            p.query("CREATE TABLE old AS SELECT * FROM VALUES (1, 'one'), (2, 'zwei') AS v(id, name)")
            p.add_file(FEED, "feed")
            p.update()
            p.query("DROP TABLE old")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), JOINED)
            self.assertIn("[TABLE_OR_VIEW_NOT_FOUND]", p.run("--full-refresh", "t").stderr)

    def test_a_source_without_rows_completes_too(self):
        with project(hydrated("past first")) as p:
            p.add_file(FEED, "feed")
            p.update()
            p.add_file(PAST, "past")
            p.update()
            self.assertEqual(self.status(p)["past_flow"], "EXCLUDED")
            self.assertEqual(p.rows("SELECT id, name FROM t"), [(2, "zwei"), (3, "three")])

    def test_a_flow_that_fails_is_not_complete(self):
        with project(hydrated("past first")) as p:
            p.add_file([{"id": None, "name": "nobody", "n": 1}], "past")
            p.add_file(FEED, "feed")
            self.assertEqual(p.run().returncode, 1)
            for file in (p.root / "in" / "past").iterdir():
                file.write_text("".join(json.dumps(row) + "\n" for row in PAST))
            p.update()
            self.assertEqual(p.rows("SELECT id, name FROM t"), JOINED)
            self.assertEqual(self.status(p)["past_flow"], "COMPLETED")

    def test_killed_at_every_operation(self):
        for sql, name in ((hydrated("past first"), "autocdc"), (APPENDED, "append")):
            with project(sql) as p:
                p.add_file(PAST, "past")
                p.add_file(FEED, "feed")
                counted = p.update(env={"SLUICE_FAULT_COUNT": "1"})
            n = int(re.search(r"storage operations: (\d+)", counted.stderr)[1])
            step = int(os.environ.get("SLUICE_KILL_STEP", "9"))
            for at in range(1 + int.from_bytes(os.urandom(1), "big") % step, n + 1, step):
                with self.subTest(f"{name}, killed at {at}"), project(sql) as p:
                    p.add_file(PAST, "past")
                    p.add_file(FEED, "feed")
                    p.run(env={"SLUICE_FAULT": f"n={at},mode=kill"})
                    p.update()
                    self.assertEqual(p.rows("SELECT id, name FROM t"), JOINED)
                    p.update()
                    self.assertEqual(self.status(p)["past_flow"], "EXCLUDED")


# pipelines.md §5: a batch query appended once, beside a stream.
APPENDED = """
CREATE STREAMING TABLE t;
CREATE FLOW past_flow AS INSERT INTO ONCE t BY NAME
  SELECT * FROM VALUES (1, 'one'), (2, 'zwei') AS v(id, name);
CREATE FLOW feed_flow AS INSERT INTO t BY NAME
  SELECT id, name FROM STREAM read_files('${source}/feed', format => 'json', schema => 'id INT, name STRING, n INT') WHERE id = 3;
"""


class AppendOnce(unittest.TestCase):
    def test_a_query_is_appended_once_and_again_after_a_full_refresh(self):
        with project(APPENDED) as p:
            p.add_file(FEED, "feed")
            for options in ((), (), ("--full-refresh", "t"), ()):
                p.update(*options)
                self.assertEqual(p.rows("SELECT * FROM t"), JOINED)
            self.assertEqual(len(warnings(p, "'past_flow' is a once flow and runs again")), 1)

    def test_its_query_is_no_stream(self):
        with project(APPENDED.replace("INSERT INTO t BY", "INSERT INTO ONCE t BY")) as p:
            p.add_file(FEED, "feed")
            result = p.run()
            self.assertEqual(result.returncode, 2)
            self.assertIn("INVALID_FLOW_QUERY_TYPE.STREAMING_RELATION_FOR_ONCE_FLOW", result.stderr)


class Spellings(unittest.TestCase):
    """§2.1: every way to write one flow gives the same target."""

    SOURCE = ("CREATE STREAMING TABLE src AS SELECT * FROM STREAM read_files('${source}/eu', format => 'json', "
              "schema => 'id INT, name STRING, city STRING, op STRING, n INT');\n")
    BODY = 'KEYS (id) APPLY AS DELETE WHEN op = "D" SEQUENCE BY n COLUMNS * EXCEPT (op, n)'
    TARGET = "CREATE OR REFRESH STREAMING TABLE t;\n"
    # The flow's name, the definitions by file.
    CASES = {
        "a flow": ("f", TARGET + f"CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src) {BODY}"),
        "a flow before its target, with a comment": ("f", f"CREATE FLOW F COMMENT 'c' AS AUTO CDC INTO t FROM STREAM src {BODY};\n{TARGET}"),
        "clauses in another order": ("f", TARGET + "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src) KEYS (id) STORED AS SCD TYPE 1 COLUMNS * EXCEPT (op, n) "
                                          "SEQUENCE BY n APPLY AS DELETE WHEN op = 'D'"),
        "columns without parentheses": ("f", TARGET + "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM(src) KEYS (id) COLUMNS id, name, city SEQUENCE BY n "
                                             "APPLY AS DELETE WHEN op = 'D'"),
        "the legacy verb": ("f", TARGET + f"CREATE FLOW f AS APPLY CHANGES INTO t FROM STREAM(src) {BODY}"),
        "the legacy statement": ("t", TARGET + f"APPLY CHANGES INTO t FROM STREAM(src) {BODY}"),
        "LIVE": ("t", f"CREATE OR REFRESH STREAMING LIVE TABLE t;\nAPPLY CHANGES INTO LIVE.t FROM STREAM(LIVE.src) {BODY}"),
        "with the schema": ("t", TARGET + f"APPLY CHANGES INTO default.t FROM STREAM(default.src) {BODY}"),
        "a promise": ("t", TARGET + f"APPLY CHANGES INTO t FROM STREAM(src) {BODY.replace('APPLY', 'WHERE id > 0 APPLY')}"),
        "inline": ("t", f"CREATE OR REFRESH STREAMING TABLE t FLOW AUTO CDC FROM STREAM(src) {BODY}"),
        "inline with clauses": ("t", "CREATE STREAMING TABLE IF NOT EXISTS t (id INT, name STRING, city STRING COMMENT 'c', CONSTRAINT i EXPECT (id > 0)) COMMENT 'x' "
                                     f"TBLPROPERTIES (a = 'b') FLOW AUTO CDC FROM STREAM src {BODY} STORED AS SCD TYPE 1"),
        "without STREAM": ("f", TARGET + f"CREATE FLOW f AS AUTO CDC INTO t FROM src {BODY}"),
        "inline without STREAM": ("t", f"CREATE OR REFRESH STREAMING TABLE t FLOW AUTO CDC FROM LIVE.src {BODY}"),
        "from files": ("f", TARGET + "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM read_files('${source}/eu', format => 'json', "
                            f"schema => 'id INT, name STRING, city STRING, op STRING, n INT') {BODY}"),
        "with options": ("f", TARGET + f"CREATE FLOW f AS AUTO CDC INTO t FROM STREAM src WITH (maxFilesPerTrigger = 1) {BODY}"),
    }

    def test_each_gives_the_same_target(self):
        for title, (name, sql) in self.CASES.items():
            with self.subTest(title), project(self.SOURCE) as p:
                p.sql(sql + ";", "a-flow.sql")
                p.add_file([*EU, eu(9, 1, "Gone", "Rome"), eu(9, 2, None, None, "D")], "eu")
                p.update()
                self.assertEqual(p.rows("SELECT id, name, city FROM t"), [(1, "Anna", "Bonn"), (2, "Bob", "Rome"), (3, "Cy", "Kiel")])
                self.assertIn(name, p.last_update_metrics())
                bare = warnings(p, "as a stream; write STREAM(")
                self.assertEqual(len(bare), 1 if "without STREAM" in title else 0, bare)

    def test_private_targets_are_seen_inside_only(self):
        with project(self.SOURCE) as p:
            p.sql(f"CREATE OR REFRESH PRIVATE STREAMING TABLE t FLOW AUTO CDC FROM STREAM(src) {self.BODY}; CREATE MATERIALIZED VIEW m AS SELECT * FROM t;", "b.sql")
            p.add_file(EU, "eu")
            p.update()
            self.assertEqual(p.rows("SELECT count(*) FROM m"), [(3,)])
            with self.assertRaisesRegex(AssertionError, "TABLE_OR_VIEW_NOT_FOUND"):
                p.query("SELECT * FROM t")

    def test_keywords_are_columns(self):
        """A source whose columns are named by words of the grammar."""
        words = ["keys", "sequence", "columns", "apply", "stored", "track", "history", "system", "once", "ignore", "updates", "type", "scd"]
        columns = ", ".join(f"{w} INT" for w in words)
        for storage, more in (("SCD TYPE 1", ""), ("SCD TYPE 2", "TRACK HISTORY ON history, track, columns, apply")):
            sql = (f"CREATE TEMPORARY VIEW auto AS SELECT * FROM STREAM read_files('${{source}}/eu', format => 'json', schema => '{columns}');\n"
                   f"CREATE STREAMING TABLE cdc; CREATE FLOW flow AS AUTO CDC INTO cdc FROM STREAM auto KEYS (keys, type) SEQUENCE BY sequence "
                   f"APPLY AS DELETE WHEN stored = 1 COLUMNS * EXCEPT (scd, stored, system) STORED AS {storage} {more};")
            with self.subTest(storage), project(sql) as p:
                row = {w: i for i, w in enumerate(words)}
                p.add_file([row, {**row, "sequence": 5, "once": 9}, {**row, "keys": 7, "stored": 1, "sequence": 9}], "eu")
                p.update()
                self.assertEqual(p.rows("SELECT keys, sequence, once, updates FROM cdc"), [(0, 5, 9, 10)])


# An update with a batch for every file: each is read while the one before it is written.
ONE_BY_ONE = """
CREATE STREAMING TABLE t;
CREATE TEMPORARY VIEW good (CONSTRAINT known EXPECT (name <> 'unknown') ON VIOLATION DROP ROW, CONSTRAINT named EXPECT (name IS NOT NULL) ON VIOLATION FAIL UPDATE)
  AS SELECT * FROM STREAM read_files('${source}/feed', format => 'json', schema => 'id INT, name STRING, n INT', maxFilesPerTrigger => 1);
CREATE FLOW f AS AUTO CDC INTO t FROM STREAM good KEYS (id) SEQUENCE BY n COLUMNS * EXCEPT (n) STORED AS SCD TYPE 1;
"""
STEPS = [[(1, "a", 1), (2, "unknown", 1)], [(2, "b", 2)], [(1, "c", 3), (3, "unknown", 3), (4, "unknown", 3)], [(2, "d", 4)]]


class OneByOne(unittest.TestCase):
    def add(self, p, steps):
        for step in steps:
            p.add_file([{"id": id, "name": name, "n": n} for id, name, n in step], "feed")

    def batches(self, p):
        """Of every batch: rows upserted and dropped."""
        progress = [json.loads(e["details"])["flow_progress"] for e in p.events() if e["event_type"] == "flow_progress"]
        return [(of["metrics"]["num_upserted_rows"], of["data_quality"]["dropped_records"]) for of in progress
                if of["status"] == "RUNNING" and "num_upserted_rows" in of.get("metrics", {})]

    def test_each_batch_counts_its_own_rows(self):
        with project(ONE_BY_ONE) as p:
            self.add(p, STEPS)
            p.update()
            self.assertEqual(p.rows("SELECT * FROM t"), [(1, "c"), (2, "d")])
            self.assertEqual(self.batches(p), [(1, 1), (1, 0), (1, 2), (1, 0)])

    def test_a_fault_of_a_later_batch_ends_the_update_there(self):
        for fault, condition in (((9, None, 9), "EXPECTATION_FAILED"), ((None, "nobody", 9), "NULL_KEY")):
            with self.subTest(condition), project(ONE_BY_ONE) as p:
                self.add(p, STEPS[:2] + [STEPS[2] + [fault]] + STEPS[3:])
                result = p.run()
                self.assertEqual(result.returncode, 1)
                self.assertIn(condition, result.stdout + result.stderr)
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, "a"), (2, "b")])
                broken = sorted((p.root / "in" / "feed").iterdir())[2]
                broken.write_text("".join(json.dumps({"id": i, "name": name, "n": n}) + "\n" for i, name, n in STEPS[2]))
                p.update()
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, "c"), (2, "d")])
                self.assertEqual(self.batches(p), [(1, 1), (1, 0), (1, 2), (1, 0)])

    def test_killed_at_every_operation(self):
        with project(ONE_BY_ONE) as p:
            self.add(p, STEPS)
            counted = p.update(env={"SLUICE_FAULT_COUNT": "1"})
        n = int(re.search(r"storage operations: (\d+)", counted.stderr)[1])
        step = int(os.environ.get("SLUICE_KILL_STEP", "9"))
        for at in range(1 + int.from_bytes(os.urandom(1), "big") % step, n + 1, step):
            with self.subTest(f"killed at {at}"), project(ONE_BY_ONE) as p:
                self.add(p, STEPS)
                p.run(env={"SLUICE_FAULT": f"n={at},mode=kill"})
                p.update()
                self.assertEqual(p.rows("SELECT * FROM t"), [(1, "c"), (2, "d")])
                versions = [h["operation"] for h in p.query("DESCRIBE HISTORY t")]
                self.assertEqual(versions.count("AUTO CDC"), 4)


if __name__ == "__main__":
    unittest.main()

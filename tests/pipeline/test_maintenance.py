#!/usr/bin/env python3
"""What updates do with small and half-dead files, and that statements of maintenance keep the memory of AUTO CDC."""
import unittest

from project import TARGETS_SQL, Project, event

LOAD = """CREATE STREAMING TABLE t {properties} AS SELECT * FROM STREAM read_files('${{source}}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT', maxFilesPerTrigger => 1);
"""
TARGETS = "CREATE STREAMING TABLE copy AS SELECT id, time FROM STREAM t;" + TARGETS_SQL


def operations(p, table):
    return [row["operation"] for row in p.query(f"DESCRIBE HISTORY {table}")]


def n_files(p, table):
    return p.query(f"DESCRIBE DETAIL {table}")[0]["numFiles"]


class Compaction(unittest.TestCase):
    def test_many_batches_leave_few_files(self):
        """R62: steady small commits are packed, and nobody downstream sees it."""
        with Project(LOAD.format(properties="") + TARGETS) as p:
            for i in range(70):
                p.add_file([event(i, f"n{i}", i)])
            p.update()
            self.assertEqual(p.rows("SELECT count(*), count(DISTINCT id), sum(time) FROM t"), [(70, 70, 2415)])
            self.assertEqual(p.rows("SELECT count(*), count(DISTINCT id), sum(time) FROM copy"), [(70, 70, 2415)])
            self.assertEqual(p.rows("SELECT count(*), count(DISTINCT id) FROM one"), [(70, 70)])
            self.assertLess(n_files(p, "t"), 12)
            self.assertIn("OPTIMIZE", operations(p, "t"))
            # More of them, one an update: downstream reads each row once, whatever was packed meanwhile.
            for i in range(70, 80):
                p.add_file([event(i, f"n{i}", i)])
                p.update()
            self.assertEqual(p.rows("SELECT count(*), count(DISTINCT id), sum(time) FROM copy"), [(80, 80, 3160)])
            self.assertLess(n_files(p, "t"), 12)
            self.assertLess(n_files(p, "one"), 12)
            self.assertEqual(p.rows("SELECT count(*) FROM t VERSION AS OF 5"), [(5,)])

    def test_a_property_switches_it_off(self):
        with Project(LOAD.format(properties="TBLPROPERTIES ('pipelines.autoOptimize.managed' = 'false')")) as p:
            for i in range(20):
                p.add_file([event(i, f"n{i}", i)])
            p.update()
            self.assertEqual(n_files(p, "t"), 20)
            self.assertNotIn("OPTIMIZE", operations(p, "t"))


class Memory(unittest.TestCase):
    """Late events are judged by what rows and state files remember: it must survive every statement of maintenance."""

    def start(self, p):
        p.add_file([event(1, "a", 10), event(2, "b", 10), event(3, "c", 10)])
        p.update()
        p.add_file([event(1, "a20", 20), event(2, None, 20, "D")])
        p.update()

    def late(self, p):
        p.add_file([event(1, "late", 15), event(2, "late", 15), event(3, "late", 5), event(4, "d", 1)])
        p.update()

    def check(self, p):
        self.assertEqual(sorted(p.rows("SELECT id, name FROM one")), [(1, "a20"), (3, "c"), (4, "d")])
        self.assertEqual(sorted(p.rows("SELECT id, name, __START_AT, coalesce(__END_AT, -1) FROM two")),
                         [(1, "a", 10, 15), (1, "a20", 20, -1), (1, "late", 15, 20), (2, "b", 10, 15), (2, "late", 15, 20),
                          (3, "c", 10, -1), (3, "late", 5, 10), (4, "d", 1, -1)])

    def test_late_events_after(self):
        vacuum = "SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM {t} RETAIN 0 HOURS"
        for statements in [[], ["OPTIMIZE {t}"], ["REORG TABLE {t} APPLY (PURGE)"], [vacuum], ["OPTIMIZE {t}", vacuum],
                           ["REORG TABLE {t} APPLY (PURGE)", "OPTIMIZE {t}", vacuum, vacuum]]:
            with self.subTest(statements), Project(LOAD.format(properties="") + TARGETS) as p:
                self.start(p)
                for statement in statements:
                    for table in ("one", "two"):
                        p.query(statement.format(t=table))
                self.late(p)
                self.check(p)

    def test_restore_brings_rows_and_memory_back_together(self):
        with Project(LOAD.format(properties="") + TARGETS) as p:
            self.start(p)
            versions = {t: p.query(f"DESCRIBE HISTORY {t} LIMIT 1")[0]["version"] for t in ("one", "two")}
            p.add_file([event(1, "a30", 30), event(3, None, 30, "D"), event(9, "gone", 30)])
            p.update()
            for table, version in versions.items():
                p.query(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
            self.late(p)
            self.check(p)


if __name__ == "__main__":
    unittest.main()

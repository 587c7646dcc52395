#!/usr/bin/env python3
"""Statements on the targets of AUTO CDC flows: what later events make of them, and what is refused."""
import subprocess
import threading
import unittest

from project import SLUICE, TARGETS_SQL, Project, event

SQL = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT');
""" + TARGETS_SQL


class TypeOne(unittest.TestCase):
    def test_what_a_statement_left_wins_ties_and_loses_to_newer_events(self):
        with Project(SQL) as p:
            first = [event(1, "a", 5), event(2, "b", 5), event(3, "c", 5), event(4, "d", 5)]
            p.add_file(first)
            p.update()
            p.query("UPDATE one SET name = '!' WHERE id = 1")  # less than 'a': a plain tie would lose
            p.query("DELETE FROM one WHERE id = 2")
            p.query("DELETE FROM one WHERE id = 3")
            p.query("INSERT INTO one VALUES (3, 'again'), (9, 'new')")
            p.add_file(first + [event(2, "late", 4), event(9, "first event", 1)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "!"), (3, "again"), (4, "d"), (9, "first event")])
            p.add_file([event(i, "newer", 6) for i in (1, 2, 3)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "newer"), (2, "newer"), (3, "newer"), (4, "d"), (9, "first event")])

    def test_one_of_two_rows_of_a_key_may_go(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5)])
            p.update()
            p.query("INSERT INTO one VALUES (1, 'b')")
            p.query("DELETE FROM one WHERE name = 'b'")
            p.add_file([event(1, "late", 4)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a")])
            p.query("INSERT INTO one VALUES (1, 'b')")
            p.add_file([event(1, "late", 4)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "b")])


# Rows by hand before the first event were taken for those of a target that had lost its memory, and the flow stopped.
class BeforeTheFirstEvent(unittest.TestCase):
    def statements(self, p):
        p.query("INSERT INTO one VALUES (1, 'hand'), (2, 'hand'), (3, 'hand')")
        p.query("INSERT INTO two VALUES (1, 'hand', 1, NULL), (2, 'hand', 1, 3), (3, 'hand', 1, NULL)")
        for table in ("one", "two"):
            p.query(f"UPDATE {table} SET name = '!' WHERE id = 2; DELETE FROM {table} WHERE id = 3")

    def test_statements_are_remembered(self):
        with Project(SQL) as p:
            p.update()
            for _ in range(2):  # after the table was made, and after it was emptied
                self.assertIn({"name": "keys", "value": "id int"}, p.query("DESCRIBE AUTO CDC one"))
                self.statements(p)
                p.add_file([event(1, "a", 5), event(2, "b", 2), event(3, "c", 0)])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "b"), (3, "c")])
                self.assertEqual(p.rows("SELECT * FROM two"),
                                 [(1, "a", 5, None), (1, "hand", 1, 5), (2, "!", 1, 2), (2, "b", 2, 3), (3, "c", 0, None)])
                for path in (p.root / "in" / "customers").iterdir():
                    path.unlink()
                p.update("--full-refresh-all")
                self.assertEqual(p.rows("SELECT * FROM one") + p.rows("SELECT * FROM two"), [])

    def test_bitemporal_targets_refuse_rows_and_snapshots_are_compared_with_them(self):
        snapshots = "CREATE STREAMING TABLE s{n}; CREATE FLOW f{n} AS AUTO CDC INTO s{n} FROM SNAPSHOT e KEYS (id) STORED AS SCD TYPE {n};"
        flows = "CREATE STREAMING TABLE b; CREATE FLOW g AS AUTO CDC INTO b FROM STREAM t KEYS (id) SEQUENCE BY time SYSTEM SEQUENCE BY time " \
                "COLUMNS id, name STORED AS BITEMPORAL;"
        with Project(SQL.split("CREATE STREAMING TABLE one")[0] + flows + snapshots.format(n=1) + snapshots.format(n=2)) as p:
            p.query("CREATE TABLE e (id INT, name STRING)")
            p.update()
            refused = subprocess.run([str(SLUICE), "sql", "--warehouse", str(p.root / "warehouse"), "INSERT INTO b VALUES (1, 'a', 1, NULL, 1, NULL)"],
                                     capture_output=True, text=True)
            self.assertIn("AUTOCDC_BITEMPORAL_STATEMENT", refused.stderr)
            p.query("INSERT INTO s1 VALUES (1, 'hand'), (9, 'hand'); INSERT INTO s2 VALUES (1, 'a', -1, NULL), (9, 'hand', -1, NULL)")
            p.query("INSERT INTO e VALUES (1, 'a'), (2, 'b')")
            p.update()
            self.assertEqual(p.rows("SELECT * FROM s1"), [(1, "a"), (2, "b")])
            version = p.rows("SELECT __START_AT FROM s2 WHERE id = 2")[0][0]
            self.assertEqual(p.rows("SELECT * FROM s2"), [(1, "a", -1, None), (2, "b", version, None), (9, "hand", -1, version)])

    def test_clauses_may_change(self):
        one = SQL.split("CREATE STREAMING TABLE two")[0]
        with Project(one) as p:
            p.update()
            p.query("INSERT INTO one VALUES (1, 'a'); DELETE FROM one")  # leaves nothing to remember
            p.sql(one.replace("KEYS (id)", "KEYS (name)").replace("SEQUENCE BY time", "SEQUENCE BY CAST(time AS BIGINT)").replace("TYPE 1", "TYPE 2"))
            p.update()
            p.add_file([event(1, "a", 5), event(2, "a", 6)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a", 5, 6), (2, "a", 6, None)])
        with Project(one) as p:
            p.update()
            p.query("INSERT INTO one VALUES (1, 'a')")
            p.sql(one.replace("KEYS (id)", "KEYS (name)"))
            self.assertIn("AUTOCDC_INVALID_STATE.KEY_SCHEMA_DRIFT", p.run().stderr)
            p.update("--full-refresh", "one")

    def test_restore_to_the_empty_target_forgets_the_events(self):
        with Project(SQL) as p:
            p.update()
            p.add_file([event(1, "a", 5)])
            p.update()
            p.query("RESTORE TABLE one TO VERSION AS OF 0")
            p.add_file([event(1, "b", 4)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "b")])


TRUNCATED_SQL = SQL.replace("APPLY AS DELETE WHEN operation = 'D' SEQUENCE", "APPLY AS DELETE WHEN operation = 'D'"
                             " APPLY AS TRUNCATE WHEN operation = 'T' SEQUENCE", 1)
TRUNCATED_SQL = TRUNCATED_SQL[:TRUNCATED_SQL.index("CREATE STREAMING TABLE two")]


class Truncates(unittest.TestCase):
    def test_rows_of_statements_are_below_later_truncates_and_above_earlier_ones(self):
        with Project(TRUNCATED_SQL) as p:
            p.add_file([event(1, "a", 5), event(2, "b", 5), event(3, "c", 9)])
            p.update()
            p.query("INSERT INTO one VALUES (7, 'first')")  # nothing is known of it: below every event
            p.query("UPDATE one SET name = '!' WHERE id IN (2, 3)")
            p.add_file([event(None, None, 6, "T"), event(2, "late", 5)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(3, "!")])
            p.query("INSERT INTO one VALUES (8, 'after')")  # the truncate is known of it
            p.add_file([event(8, "late", 5), event(9, "late", 5), event(6, "x", 7)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(3, "!"), (6, "x"), (8, "after")])
            p.query("DELETE FROM one WHERE id = 6")
            p.add_file([event(None, None, 7, "T"), event(6, "late", 7)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(3, "!")])
            p.add_file([event(6, "back", 8), event(8, "back", 7)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(3, "!"), (6, "back"), (8, "back")])

    def test_the_example_of_the_documentation(self):
        events = [event(124, "Raul", 1), event(123, "Isabel", 1), event(125, "Mercedes", 2), event(126, "Lily", 2), event(None, None, 3, "T"),
                  event(123, None, 6, "D"), event(125, "Mercedes", 6), event(125, "Mercedes", 5), event(123, "Isabel", 5)]
        for properties in ("", " TBLPROPERTIES (delta.enableChangeDataFeed = true)", " TBLPROPERTIES (delta.enableRowTracking = true)"):
            with Project(TRUNCATED_SQL.replace("TABLE one;", f"TABLE one{properties};")) as p:
                for part in (events[:4], events[4:5], events[5:]):
                    p.add_file(part)
                    p.update()
                self.assertEqual(p.rows("SELECT id, name FROM one"), [(125, "Mercedes")])
                if properties:
                    changes = sorted(p.rows("SELECT _change_type, id FROM table_changes('one', 0)"))
                    self.assertEqual(changes, [("delete", i) for i in (123, 124, 125, 126)] +
                                     [("insert", i) for i in (123, 124, 125, 125, 126)])


PARTS_SQL = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, s STRUCT<p: STRING, q: STRING>, n INT, operation STRING, time INT');
""" + TARGETS_SQL.replace("SEQUENCE BY", "IGNORE NULL UPDATES SEQUENCE BY").replace(
    "TABLE one;", "TABLE one TBLPROPERTIES (delta.enableChangeDataFeed = true);")


def part(id, time, p=None, q=None, n=None, operation="U"):
    return {"id": id, "s": {"p": p, "q": q}, "n": n, "operation": operation, "time": time}


class Parts(unittest.TestCase):
    """Targets whose events say a part: a statement says the whole row, NULL included."""

    def test_a_statement_says_every_leaf(self):
        with Project(PARTS_SQL) as p:
            first = [part(1, 5, "a", "b", 1), part(2, 5, "a", "b", 1), part(3, 5, "a", "b"), part(4, 5, "a")]
            p.add_file(first)
            p.update()
            p.query("UPDATE one SET s = NULL WHERE id = 1")
            p.query("UPDATE one SET s = named_struct('p', '!', 'q', NULL) WHERE id = 2")
            p.query("DELETE FROM one WHERE id = 3")
            p.query("MERGE INTO one USING (SELECT 4 AS id, named_struct('p', 'm', 'q', 'm') AS s, 9 AS n UNION ALL SELECT 9, NULL, 9) x"
                    " ON one.id = x.id WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *")
            p.add_file(first + [part(i, 4, "late", "late", 7) for i in (1, 2, 3, 4)])
            p.update()
            rows = "SELECT id, s IS NULL, s.p, s.q, n FROM one"
            self.assertEqual(p.rows(rows), [(1, True, None, None, 1), (2, False, "!", None, 1), (4, False, "m", "m", 9),
                                            (9, True, None, None, 9)])
            p.add_file([part(1, 6, q="c"), part(2, 6, n=2), part(3, 6, q="c"), part(4, 6, "c"), part(9, 0, "first")])
            p.update()
            self.assertEqual(p.rows(rows), [(1, False, None, "c", 1), (2, False, "!", None, 2), (3, False, None, "c", None),
                                            (4, False, "c", "m", 9), (9, False, "first", None, 9)])
            last = p.query("DESCRIBE HISTORY one")[0]["version"]
            self.assertEqual(  # what was there before is told as it was
                p.rows(f"SELECT _change_type, s IS NULL FROM table_changes('one', {last}, {last}) WHERE id IN (1, 9)"),
                [("update_postimage", False)] * 2 + [("update_preimage", True)] * 2)

    def test_a_second_row_that_goes_takes_what_it_said(self):
        """Also when a purge asked in between what of the memory is needed: the fact of 4 is in a state file, that of 5 in the row."""
        goes = ["DELETE FROM one WHERE n = 9 AND id = {}", "UPDATE one SET id = 100 + id WHERE n = 9 AND id = {}"]
        with Project(PARTS_SQL) as p:
            keys = range(1, 5)
            p.add_file([part(i, 4, "a") for i in keys] + [part(i, 5, q="b", n=1) for i in keys])
            p.update()
            for i in keys:
                p.query(f"INSERT INTO one VALUES ({i}, named_struct('p', 'x', 'q', NULL), 9);"
                        f"{'REORG TABLE one APPLY (PURGE);' if i > 2 else ''} {goes[i % 2].format(i)}")
            p.add_file([part(i, 5, q="b", n=1) for i in keys])
            p.update()
            self.assertEqual(p.rows("SELECT id, s.p, s.q, n FROM one WHERE id < 100"), [(i, "a", "b", 1) for i in keys])
            p.add_file([part(i, 6, q="c") for i in keys])
            p.update()
            self.assertEqual(p.rows("SELECT id, s.p, s.q, n FROM one WHERE id < 100"), [(i, "a", "c", 1) for i in keys])

    def test_every_form_of_the_clauses(self):
        """D13, D18, D19 and D21 of autocdc.md §11, each in both orders."""
        events = [part(1, 1, "a", "b", 1), part(1, 2, q="z")]
        for clause, want in [("", (None, "z", None)), ("IGNORE NULL UPDATES", ("a", "z", 1)), ("IGNORE NULL UPDATES ON (n)", (None, "z", 1)),
                             ("IGNORE NULL UPDATES ON s", ("a", "z", None)), ("IGNORE NULL UPDATES ON * EXCEPT (n)", ("a", "z", None)),
                             ("COLUMNS TO UPDATE says", (None, "z", 1))]:
            for storage, at in [("SCD TYPE 1", ""), ("SCD TYPE 2", " WHERE __END_AT IS NULL")]:
                sql = ("CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json', schema => "
                       "'id INT, s STRUCT<p: STRING, q: STRING>, n INT, operation STRING, time INT, says ARRAY<STRING>');\n"
                       f"CREATE STREAMING TABLE one;\nCREATE FLOW f AS AUTO CDC INTO one FROM STREAM t KEYS (id) {clause} SEQUENCE BY time "
                       f"COLUMNS * EXCEPT (operation, time, says) STORED AS {storage};")
                for order in (events, events[::-1]):
                    with self.subTest(clause, storage=storage), Project(sql) as p:
                        for e in order:
                            p.add_file([e | {"says": ["s"] if e["time"] == 2 else None}])
                            p.update()
                        self.assertEqual(p.rows(f"SELECT s.p, s.q, n FROM one{at}"), [want])

    def test_a_touched_history_begins_with_whole_rows(self):
        with Project(PARTS_SQL) as p:
            first = [part(1, 2, "a", "b"), part(1, 4, q="c"), part(1, 6, n=1)]
            p.add_file(first)
            p.update()
            p.query("UPDATE two SET s = NULL, n = 7 WHERE `__START_AT` = 4")
            p.add_file([first[0], first[2], part(1, 5, "z")])
            p.update()
            self.assertEqual(p.rows("SELECT s.p, s.q, n, `__START_AT`, `__END_AT` FROM two"),
                             [("a", "b", None, 2, 4), ("a", "c", 1, 6, None), ("z", None, 7, 5, 6), (None, None, 7, 4, 5)])
            p.add_file([part(1, 9, operation="D"), part(1, 8, n=2)])
            p.update()
            self.assertEqual(p.rows("SELECT s.p, s.q, n, `__START_AT`, `__END_AT` FROM two WHERE `__START_AT` > 5"),
                             [("a", "c", 1, 6, 8), ("a", "c", 2, 8, 9)])

    def test_purge_keeps_what_fields_need(self):
        with Project(PARTS_SQL) as p:
            p.add_file([part(1, 1, "gone", "b"), part(1, 3, "c")])
            p.update()
            p.add_file([part(1, 3, q="d"), part(1, 5, n=1), part(1, 2, "gone")])
            p.update()
            p.query("REORG TABLE one APPLY (PURGE)")
            p.query("REORG TABLE two APPLY (PURGE)")
            p.add_file([part(1, 2, "late", "late", 7), part(1, 3, "b", "e"), part(1, 4, operation="D")])
            p.update()
            self.assertEqual(p.rows("SELECT id, s.p, s.q, n FROM one"), [(1, None, None, 1)])
            self.assertEqual(p.rows("SELECT s.p, s.q, n, `__START_AT`, `__END_AT` FROM two"),
                             [("c", "e", 7, 3, 4), ("gone", "b", None, 1, 2), ("late", "late", 7, 2, 3), (None, None, 1, 5, None)])


class TypeTwo(unittest.TestCase):
    def test_a_touched_key_begins_anew(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 1), event(1, "b", 5), event(2, "x", 1)])
            p.update()
            p.query("DELETE FROM two WHERE id = 1 AND name = 'b'")
            p.query("INSERT INTO two VALUES (3, 'n', 5, NULL), (4, 'm', 1, 3)")
            p.add_file([event(1, "c", 3), event(3, "o", 7), event(4, "q", 8)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM two"),
                             [(1, "a", 1, 3), (1, "c", 3, 5), (2, "x", 1, None), (3, "n", 5, 7), (3, "o", 7, None), (4, "m", 1, 3),
                              (4, "q", 8, None)])


BITEMPORAL = """
CREATE STREAMING TABLE s AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT, known TIMESTAMP');
CREATE STREAMING TABLE beliefs TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = '{vectors}');
CREATE FLOW beliefs_flow AS AUTO CDC INTO beliefs FROM STREAM s KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time
  SYSTEM SEQUENCE BY known COLUMNS * EXCEPT (operation, time, known) STORED AS BITEMPORAL;
"""
SEEN = "SELECT id, name, __START_AT, __END_AT, day(__SYSTEM_START_AT), day(__SYSTEM_END_AT) FROM beliefs"


def known(id, name, time, day, operation="U"):
    return event(id, name, time, operation) | {"known": f"2026-01-{day:02d}T00:00:00Z"}


class Bitemporal(unittest.TestCase):
    def test_a_key_may_be_deleted_whole_and_nothing_else(self):
        for vectors in ("true", "false"):
            with Project(BITEMPORAL.replace("{vectors}", vectors)) as p:
                p.add_file([known(1, "a", 10, 1), known(1, "b", 20, 2), known(2, "x", 10, 1)])
                p.update()
                one = [(1, "a", 10, 20, 2, None), (1, "a", 10, None, 1, 2), (1, "b", 20, None, 2, None)]
                self.assertEqual(p.rows(SEEN), one + [(2, "x", 10, None, 1, None)])
                for text in ("DELETE FROM beliefs WHERE name = 'b'", "DELETE FROM beliefs WHERE __SYSTEM_END_AT IS NOT NULL",
                             "UPDATE beliefs SET name = 'c'", "INSERT INTO beliefs SELECT 9, 'n', 1, NULL, TIMESTAMP '2026-01-01', NULL",
                             "INSERT OVERWRITE beliefs SELECT * FROM beliefs",
                             "MERGE INTO beliefs t USING (SELECT 1 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = 'c'"):
                    with self.assertRaises(AssertionError) as caught:
                        p.query(text)
                    self.assertIn("AUTOCDC_BITEMPORAL_STATEMENT", str(caught.exception), text)
                self.assertEqual(p.query("DESCRIBE HISTORY beliefs")[0]["operation"], "AUTO CDC")
                p.query("UPDATE beliefs SET name = 'c' WHERE id = 7")
                p.query("DELETE FROM beliefs WHERE id = 1")
                self.assertEqual(p.rows(SEEN), [(2, "x", 10, None, 1, None)])
                # The key begins anew, others remember.
                p.add_file([known(1, "c", 15, 3), known(2, "y", 10, 2)])
                p.update()
                rest = [(1, "c", 15, None, 3, None), (2, "x", 10, None, 1, 2), (2, "y", 10, None, 2, None)]
                self.assertEqual(p.rows(SEEN), rest)
                p.add_file([known(1, "d", 15, 4), known(1, "c", 15, 3)])
                p.update()
                rest = [(1, "c", 15, None, 3, 4), (1, "d", 15, None, 4, None)] + rest[1:]
                self.assertEqual(p.rows(SEEN), rest)
                # The feed tells the same.
                feed = p.rows("SELECT _change_type, count(*) FROM table_changes('beliefs', 0) GROUP BY _change_type")
                self.assertEqual(feed, [("delete", 3), ("insert", 7), ("update_postimage", 2), ("update_preimage", 2)])

    def test_purge_forgets_deleted_keys_and_nothing_else(self):
        with Project(BITEMPORAL.replace("{vectors}", "true")) as p:
            p.add_file([known(1, "secret", 10, 1), known(2, "kept", 10, 1), known(2, "kept", 20, 2)])
            p.update()
            p.add_file([known(1, "other", 10, 2)])
            p.update()
            p.query("DELETE FROM beliefs WHERE id = 1")
            p.query("REORG TABLE beliefs APPLY (PURGE)")
            p.query("SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM beliefs RETAIN 0 HOURS")
            self.assertEqual(holding(p, "beliefs", "secret"), [])
            self.assertNotEqual(holding(p, "beliefs", "kept"), [])
            version = p.query("DESCRIBE HISTORY beliefs")[0]["version"]
            p.query("REORG TABLE beliefs APPLY (PURGE)")
            self.assertEqual(p.query("DESCRIBE HISTORY beliefs")[0]["version"], version, "nothing is left to purge")
            p.add_file([known(2, "new", 15, 3), known(1, "again", 1, 1)])
            p.update()
            self.assertEqual(p.rows(SEEN), [(1, "again", 1, None, 1, None), (2, "kept", 10, 15, 3, None), (2, "kept", 10, None, 1, 3),
                                            (2, "kept", 20, None, 3, None), (2, "new", 15, 20, 3, None)])


def holding(p, table, value):
    """Files of the table that hold the text, the log's aside. Parquet is read for it, whatever its compression."""
    found = []
    for path in sorted((p.root / "warehouse").rglob("*.parquet")):
        if table in path.parts and "_delta_log" not in path.parts:
            text = p.query(f"SELECT count(*) AS n FROM read_files('{path}', format => 'parquet') t WHERE to_json(struct(*)) LIKE '%{value}%'")
            if text[0]["n"] > 0 or value.encode() in path.read_bytes():
                found.append(path.parent.name)
    return found


class Erasure(unittest.TestCase):
    def test_purge_and_vacuum_leave_no_value(self):
        with Project(SQL) as p:
            # Facts that only state files hold: an upsert that changed nothing (type 1), inner members of a run (type 2).
            p.add_file([event(1, "secret", 1), event(1, "secret", 3), event(2, "kept", 1), event(3, "secret", 1)])
            p.update()
            p.add_file([event(1, "secret", 2), event(1, "secret", 5), event(2, "kept", 4), event(3, "gone", 4, "D")])
            p.update()
            p.add_file([event(1, "other", 4), event(3, "secret", 3)])
            p.update()
            for table in ("one", "two"):
                self.assertNotEqual(holding(p, table, "secret"), [], table)
                p.query(f"UPDATE {table} SET name = 'erased' WHERE id = 3")
                p.query(f"DELETE FROM {table} WHERE id = 1")
                if table == "two":
                    p.query("DELETE FROM two WHERE id = 3")
                p.query(f"REORG TABLE {table} APPLY (PURGE)")
                p.query(f"SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM {table} RETAIN 0 HOURS")
                self.assertEqual(holding(p, table, "secret"), [], table)
                self.assertNotEqual(holding(p, table, "kept"), [], table)
                version = p.query(f"DESCRIBE HISTORY {table}")[0]["version"]
                p.query(f"REORG TABLE {table} APPLY (PURGE)")
                self.assertEqual(p.query(f"DESCRIBE HISTORY {table}")[0]["version"], version, "nothing is left to purge")
            # What is needed is still known.
            p.add_file([event(1, "late", 4), event(2, "older", 3), event(2, "newest", 9)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(2, "newest")])
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "late", 4, None), (2, "kept", 1, 3), (2, "kept", 4, 9),
                                                           (2, "newest", 9, None), (2, "older", 3, 4)])


    def test_keys_go_with_their_tombstones(self):
        sql = SQL.replace("id INT", "id STRING")
        for seconds, kept in ((0, False), (-1, True), (172800, True)):
            with Project(sql.replace("CREATE STREAMING TABLE one", "CREATE STREAMING TABLE one TBLPROPERTIES "
                                     f"('pipelines.cdc.tombstoneGCThresholdInSeconds' = '{seconds}')")) as p:
                p.add_file([event("erased", "a", 1), event("erased", "b", 3), event("stays", "c", 1)])
                p.update()
                p.add_file([event("stays", "d", 5), event("erased", "late", 2)])
                p.update()
                for table in ("one", "two"):
                    p.query(f"DELETE FROM {table} WHERE id = 'erased'")
                    p.query(f"REORG TABLE {table} APPLY (PURGE)")
                    p.query(f"SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM {table} RETAIN 0 HOURS")
                # Type 1 must remember the delete as long as late events count, type 2 has nothing more to say of the key.
                self.assertEqual(holding(p, "one", "erased"), ["_autocdc"] if kept else [], seconds)
                self.assertEqual(holding(p, "two", "erased"), [], seconds)
                p.add_file([event("erased", "again", 2), event("stays", "e", 3)])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [("stays", "d")] if kept else [("erased", "again"), ("stays", "d")])
                self.assertEqual(p.rows("SELECT * FROM two"), [("erased", "again", 2, None), ("stays", "c", 1, 3), ("stays", "d", 5, None),
                                                               ("stays", "e", 3, 5)])


class OtherStatements(unittest.TestCase):
    def test_restore_brings_memory_back_and_keeps_progress(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5), event(2, "b", 5)])
            p.update()
            before = {t: p.query(f"DESCRIBE HISTORY {t}")[0]["version"] for t in ("one", "two")}
            for table in before:
                p.query(f"DELETE FROM {table} WHERE id = 1")
            p.add_file([event(2, "c", 7)])
            p.update()
            for table, version in before.items():
                p.query(f"RESTORE TABLE {table} TO VERSION AS OF {version}")
            p.add_file([event(1, "late", 4), event(2, "late", 4)])
            p.update()
            # The delete is forgotten with its statement, the event of 7 is not read again.
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "b")])
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "a", 5, None), (1, "late", 4, 5), (2, "b", 5, None), (2, "late", 4, 5)])

    def test_restore_warns_of_what_was_read_since(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5)])
            p.update()
            version = p.query("DESCRIBE HISTORY two")[0]["version"]
            p.add_file([event(1, "b", 6)])
            p.update()
            result = subprocess.run([str(SLUICE), "sql", "--warehouse", str(p.root / "warehouse"),
                                     f"RESTORE TABLE two TO VERSION AS OF {version}"], capture_output=True, text=True, timeout=60)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("what they have read since is not applied again", result.stderr)
            # Memory is that of the version: hidden columns, state files and gen.
            facts = {row["name"]: row["value"] for row in p.query(f"DESCRIBE AUTO CDC two")}
            self.assertEqual((facts["facts in state files"], facts["data files"]), ("0", "1"))
            p.add_file([event(1, "c", 7)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "a", 5, 7), (1, "c", 7, None)])

    def test_restore_needs_the_state_files_of_its_version(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5), event(1, "b", 6, "D")])
            p.update()
            version = p.query("DESCRIBE HISTORY one")[0]["version"]
            p.add_file([event(1, "c", 7)])
            p.update()
            for path in (p.root / "warehouse" / "one" / "_autocdc").iterdir():
                path.unlink()
            with self.assertRaises(AssertionError) as caught:
                p.query(f"RESTORE TABLE one TO VERSION AS OF {version}")
            self.assertIn("DELTA_FILE_NOT_FOUND", str(caught.exception))

    def test_without_the_feature_it_is_a_plain_table(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5), event(2, "b", 5, "D")])
            p.update()
            for table in ("one", "two"):
                p.query(f"ALTER TABLE {table} DROP FEATURE `sluice.autoCdc`")
                detail = p.query(f"DESCRIBE DETAIL {table}")[0]
                self.assertNotIn("sluice.autoCdc", detail["tableFeatures"])
                with self.assertRaises(AssertionError) as caught:
                    p.query(f"DESCRIBE AUTO CDC {table}")
                self.assertIn("AUTOCDC_NOT_A_TARGET", str(caught.exception))
                p.query(f"ALTER TABLE {table} ADD COLUMN more INT")
            p.query("INSERT INTO one VALUES (3, 'c', 1), (NULL, 'no key', 2)")
            p.add_file([event(1, "late", 4)])
            result = p.run()
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("AUXILIARY_TABLE_PROPERTY_MISSING", result.stdout + result.stderr)
            p.update("--full-refresh-all")
            self.assertEqual(p.rows("SELECT id, name FROM one"), [(1, "a")])
            self.assertEqual(p.rows("SELECT id, name, __START_AT, __END_AT FROM two"), [(1, "a", 5, None), (1, "late", 4, 5)])

    def test_copies_are_plain_tables(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5), event(2, "b", 5, "D")])
            p.update()
            for table in ("one", "two"):
                p.query(f"CREATE TABLE {table}_as AS SELECT * FROM {table}; CREATE TABLE {table}_like LIKE {table}")
                for copy in (f"{table}_as", f"{table}_like"):
                    self.assertNotIn("sluice.autoCdc", p.query(f"DESCRIBE DETAIL {copy}")[0]["tableFeatures"])
                    with self.assertRaises(AssertionError) as caught:
                        p.query(f"DESCRIBE AUTO CDC {copy}")
                    self.assertIn("AUTOCDC_NOT_A_TARGET", str(caught.exception))
                    p.query(f"ALTER TABLE {copy} ADD COLUMN more INT")

    def test_a_replaced_target_wants_a_full_refresh(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5)])
            p.update()
            location = p.query("DESCRIBE DETAIL one")[0]["location"].removeprefix("file:")
            p.query(f"CREATE OR REPLACE TABLE delta.`{location}` (id INT, name STRING)")
            p.add_file([event(2, "b", 5)])
            result = p.run()
            self.assertNotEqual(result.returncode, 0)
            self.assertIn("AUXILIARY_TABLE_PROPERTY_MISSING", result.stdout + result.stderr)
            p.update("--full-refresh", "one")
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "b")])


NESTED = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${{source}}/customers', format => 'json',
  schema => 'region STRING, id INT, name STRING, operation STRING, time INT, n INT');
CREATE STREAMING TABLE one PARTITIONED BY (region) TBLPROPERTIES ({properties});
CREATE FLOW one_flow AS AUTO CDC INTO one FROM STREAM t KEYS ({keys}) APPLY AS DELETE WHEN operation = 'D'
  SEQUENCE BY struct(time, n) COLUMNS * EXCEPT (operation, time, n) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE two PARTITIONED BY (region) TBLPROPERTIES ({properties});
CREATE FLOW two_flow AS AUTO CDC INTO two FROM STREAM t KEYS ({keys}) APPLY AS DELETE WHEN operation = 'D'
  SEQUENCE BY struct(time, n) COLUMNS * EXCEPT (operation, time, n) STORED AS SCD TYPE 2;
"""


class Layouts(unittest.TestCase):
    def test_two_keys_partitions_and_a_struct_as_sequence(self):
        def part(region, id, name, time, n, operation="U"):
            return event(id, name, time, operation) | {"region": region, "n": n}
        for properties in ("'delta.columnMapping.mode' = 'name'", "'delta.enableDeletionVectors' = 'false', 'delta.enableChangeDataFeed' = 'true'"):
            with Project(NESTED.format(properties=properties, keys="region, id")) as p:
                events = [part("e", 1, "a", 1, 1), part("e", 1, "b", 1, None), part("w", 1, "c", 2, 1), part("w", 2, "d", 2, 1)]
                p.add_file(events)
                p.update()
                p.query("UPDATE one SET name = '!' WHERE region = 'e'")
                p.query("DELETE FROM one WHERE region = 'w' AND id = 1")
                p.query("DELETE FROM two WHERE region = 'e'")
                p.query("UPDATE two SET region = 'n' WHERE id = 2")
                p.query("INSERT INTO two SELECT 'e', 1, 'by hand', struct(1, 0), NULL")
                # The keys in another order are the same keys.
                p.sql(NESTED.format(properties=properties, keys="id, region"))
                p.add_file(events + [part("n", 2, "e", 2, 2), part("e", 3, "f", 1, 1)])
                p.update()
                self.assertEqual(p.rows("SELECT region, id, name FROM one"),
                                 [("e", 1, "!"), ("e", 3, "f"), ("n", 2, "e"), ("w", 2, "d")])
                self.assertEqual(p.rows("SELECT region, id, name, __START_AT.n AS s, __END_AT.n AS e FROM two"),
                                 [("e", 1, "a", 1, None), ("e", 1, "b", None, 0), ("e", 1, "by hand", 0, 1), ("e", 3, "f", 1, None),
                                  ("n", 2, "d", 1, 2), ("n", 2, "e", 2, None), ("w", 1, "c", 1, None), ("w", 2, "d", 1, None)])


class AtOnce(unittest.TestCase):
    def test_statements_during_an_update_are_not_lost(self):
        """Conflicts make the flow's batch, or the statement, begin again."""
        with Project(SQL.replace("time INT')", "time INT', maxFilesPerTrigger => 1)")) as p:
            p.add_file([event(id, "first", 0) for id in range(1, 5)])
            p.update()
            for number in range(25):
                p.add_file([event(id, f"n{number}", number) for id in range(1, 5)])
            update = threading.Thread(target=p.update)
            update.start()
            done = 0
            while update.is_alive() and done < 40:
                done += 1
                for table, rest in (("one", ""), ("two", ", 1, NULL")):
                    p.query(f"INSERT INTO {table} VALUES ({100 + done}, 'by hand'{rest})")
                    p.query(f"UPDATE {table} SET name = 'touched' WHERE id = 1")
            update.join()
            for table in ("one", "two"):
                hands = p.rows(f"SELECT count(*), count(DISTINCT id) FROM {table} WHERE id > 100")[0]
                statements = sum(h["operation"] == "WRITE" for h in p.query(f"DESCRIBE HISTORY {table}"))
                self.assertEqual((hands, statements), ((done, done), done))
                self.assertEqual(p.rows(f"SELECT id, name FROM {table} WHERE id BETWEEN 2 AND 4"
                                        + (" AND __END_AT IS NULL" if table == "two" else "")), [(i, "n24") for i in (2, 3, 4)])


class Describe(unittest.TestCase):
    def facts(self, p, table):
        return {row["name"]: row["value"] for row in p.query(f"DESCRIBE AUTO CDC {table}")}

    def test_clauses_memory_files_and_history(self):
        with Project(SQL.replace("TYPE 2", "TYPE 2 TRACK HISTORY ON * EXCEPT (name)")) as p:
            p.add_file([event(1, "a", 1), event(1, "b", 5), event(1, "b", 7), event(2, "x", 1), event(2, None, 3, "D")])
            p.update()
            p.add_file([event(1, "late", 3), event(1, "tie", 7), event(3, "new", 1)])
            p.update()
            one, two = self.facts(p, "one"), self.facts(p, "two")
            self.assertEqual({name: one.get(name) for name in (
                "stored as", "keys", "sequence type", "tracked columns", "fields", "state files", "facts in state files", "tombstones",
                "resets", "statements that changed rows", "batches in the log", "events read", "rows upserted", "rows deleted",
                "late events ignored", "ties of the sequence")}, {
                "stored as": "SCD TYPE 1", "keys": "id int", "sequence type": "int", "tracked columns": None, "fields": "name",
                "state files": "1", "facts in state files": "1", "tombstones": "1", "resets": "0", "statements that changed rows": "0",
                "batches in the log": "2", "events read": "8", "rows upserted": "3", "rows deleted": "0", "late events ignored": "1",
                "ties of the sequence": "1"})
            self.assertEqual({name: two[name] for name in ("stored as", "tracked columns", "resets", "ties of the sequence")}, {
                "stored as": "SCD TYPE 2", "tracked columns": "all but name", "resets": "0", "ties of the sequence": "1"})
            files = p.query("DESCRIBE DETAIL one")[0]
            self.assertEqual((one["data files"], one["bytes of data files"]), (str(files["numFiles"]), str(files["sizeInBytes"])))
            p.query("DELETE FROM two WHERE id = 2")
            p.query("DELETE FROM one WHERE id = 3")
            one, two = self.facts(p, "one"), self.facts(p, "two")
            self.assertEqual((two["resets"], two["statements that changed rows"], one["tombstones"]), ("1", "1", "2"))
            memory = sum(path.stat().st_size for path in (p.root / "warehouse").rglob("_autocdc/*.parquet") if "one" in path.parts)
            self.assertEqual(int(one["bytes of state files"]), memory)


class DescribeTruncates(unittest.TestCase):
    def test_the_newest_truncate_is_shown_as_a_value(self):
        sql = SQL.split("CREATE STREAMING TABLE one")[0] + (
            "CREATE STREAMING TABLE one; CREATE FLOW one_flow AS AUTO CDC INTO one FROM STREAM t KEYS (id) IGNORE NULL UPDATES ON (name) "
            "APPLY AS TRUNCATE WHEN operation = 'T' SEQUENCE BY @ COLUMNS id, name;")
        for sequence, shown in [("time", "7"), ("STRUCT(date_add(DATE '2026-01-01', time) AS day, time)", "{'day': 2026-01-08, 'time': 7}"),
                                ("'n' || time", "n7")]:
            with Project(sql.replace("@", sequence)) as p:
                p.add_file([event(1, "a", 8), event(None, None, 7, "T"), event(None, None, 5, "T")])
                p.update()
                facts = {row["name"]: row["value"] for row in p.query("DESCRIBE AUTO CDC one")}
                self.assertEqual((facts["newest truncate"], facts["ignore null updates"]), (shown, "name"))


class DescribeSnapshots(unittest.TestCase):
    def test_the_last_snapshot_is_all_that_is_remembered(self):
        with Project("CREATE STREAMING TABLE s; CREATE FLOW f AS AUTO CDC INTO s FROM SNAPSHOT e KEYS (id) STORED AS SCD TYPE 2;") as p:
            p.query("CREATE TABLE e (id INT, v INT); INSERT INTO e VALUES (1, 1), (2, 2)")
            p.update()
            p.query("INSERT OVERWRITE e VALUES (1, 3)")
            p.update()
            facts = {row["name"]: row["value"] for row in p.query("DESCRIBE AUTO CDC s")}
            self.assertEqual({name: facts.get(name) for name in ("stored as", "newest snapshot", "rows in it", "tombstones",
                                                                 "batches in the log", "rows upserted")},
                             {"stored as": "SCD TYPE 2", "newest snapshot": "1", "rows in it": "1", "tombstones": None,
                              "batches in the log": "2", "rows upserted": "5"})


class Bitemporal(unittest.TestCase):
    SQL = SQL.split("CREATE STREAMING TABLE one")[0] + (
        "CREATE STREAMING TABLE b TBLPROPERTIES ('pipelines.cdc.tombstoneGCThresholdInSeconds' = '0'); CREATE FLOW f AS AUTO CDC INTO b "
        "FROM STREAM t KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time SYSTEM SEQUENCE BY known COLUMNS id, name "
        "STORED AS BITEMPORAL;")

    def test_described_and_erased(self):
        with Project(self.SQL.replace("time INT'", "time INT, known INT'").replace("id INT", "id STRING")) as p:
            p.add_file([event("erased", "a", 1) | {"known": 10}, event("erased", "b", 3) | {"known": 20}, event("stays", "c", 1) | {"known": 10},
                        event("stays", None, 5, "D") | {"known": 30}])
            p.update()
            facts = {row["name"]: row["value"] for row in p.query("DESCRIBE AUTO CDC b")}
            self.assertEqual({name: facts[name] for name in ("stored as", "sequence type", "system sequence type", "facts in state files",
                                                             "tombstones are kept")},
                             {"stored as": "BITEMPORAL", "sequence type": "int", "system sequence type": "int", "facts in state files": "4",
                              "tombstones are kept": "for ever"})
            p.query("DELETE FROM b WHERE id = 'erased'")
            p.query("REORG TABLE b APPLY (PURGE)")
            p.query("SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM b RETAIN 0 HOURS")
            self.assertEqual(holding(p, "b", "erased"), [])
            p.add_file([event("stays", "d", 3) | {"known": 40}, event("erased", "again", 1) | {"known": 5}])
            p.update()
            self.assertEqual(p.rows("SELECT id, name, __START_AT, __END_AT FROM b WHERE __SYSTEM_END_AT IS NULL"),
                             [("erased", "again", 1, None), ("stays", "c", 1, 3), ("stays", "d", 3, 5)])


class Metrics(unittest.TestCase):
    def test_target_rows_are_counted_after_the_smallest_difference(self):
        names = {"num_upserted_rows", "num_deleted_rows", "num_source_events", "num_late_events_ignored", "num_sequence_ties", "state_rows",
                 "tombstones_removed"}
        with Project(SQL.replace("CREATE STREAMING TABLE one", "CREATE STREAMING TABLE one TBLPROPERTIES "
                                 "('pipelines.cdc.tombstoneGCThresholdInSeconds' = '0')")) as p:
            for events, one, two in [
                # upserted, deleted, late of type 1; upserted, deleted of type 2
                ([event(1, "a", 1), event(2, "b", 10)], (2, 0, 0), (2, 0)),
                ([event(1, "c", 5)], (1, 0, 0), (2, 0)),                       # an update: the closed row and the new one
                ([event(1, None, 7, "D")], (0, 1, 0), (1, 0)),                 # a delete: the closed row
                ([event(1, "late", 3)], (0, 0, 1), (2, 0)),                    # splits a row
                ([event(2, "b", 5)], (0, 0, 1), (1, 1)),                       # moves a start back: another row
                ([event(2, "b", 10), event(2, "b", 5)], (0, 0, 1), (0, 0)),    # known already
            ]:
                p.add_file(events)
                p.update()
                metrics = {flow: p.last_update_metrics()[flow]["metrics"] for flow in ("one_flow", "two_flow")}
                for flow in metrics:
                    self.assertEqual({name for name in metrics[flow] if not name.startswith("backlog_")}, names)
                    self.assertEqual(metrics[flow]["num_source_events"], len(events))
                self.assertEqual(tuple(metrics["one_flow"][name] for name in (
                    "num_upserted_rows", "num_deleted_rows", "num_late_events_ignored")), one, events)
                self.assertEqual(tuple(metrics["two_flow"][name] for name in ("num_upserted_rows", "num_deleted_rows")), two, events)
                self.assertEqual(metrics["two_flow"]["state_rows"],
                                 int({f["name"]: f["value"] for f in p.query("DESCRIBE AUTO CDC two")}["facts in state files"]))


class Refused(unittest.TestCase):
    def test_by_name(self):
        with Project(SQL) as p:
            p.add_file([event(1, "a", 5)])
            p.update()
            for text, name in [
                ("INSERT INTO one VALUES (NULL, 'a')", "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY"),
                ("UPDATE two SET id = NULL", "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY"),
                ("INSERT INTO two VALUES (1, 'a', NULL, 4)", "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE"),
                ("MERGE WITH SCHEMA EVOLUTION INTO one t USING (SELECT 1 AS id, 'b' AS name, 2 AS more) s ON t.id = s.id "
                 "WHEN MATCHED THEN UPDATE SET *", "UNSUPPORTED_FEATURE"),
                ("ALTER TABLE one ADD COLUMN more INT", "UNSUPPORTED_FEATURE"),
            ]:
                with self.assertRaises(AssertionError) as caught:
                    p.query(text)
                self.assertIn(name, str(caught.exception), text)
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a")])
            self.assertEqual(p.query("DESCRIBE HISTORY one")[0]["operation"], "AUTO CDC")
            # Evolution that adds nothing is a plain MERGE.
            p.query("MERGE WITH SCHEMA EVOLUTION INTO one t USING (SELECT 1 AS id, 'b' AS name) s ON t.id = s.id "
                    "WHEN MATCHED THEN UPDATE SET *")
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "b")])


if __name__ == "__main__":
    unittest.main()

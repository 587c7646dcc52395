#!/usr/bin/env python3
"""Statements on the targets of AUTO CDC flows: what later events make of them, and what is refused."""
import unittest

from project import Project

SQL = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT');
CREATE STREAMING TABLE one;
CREATE FLOW one_flow AS AUTO CDC INTO one FROM STREAM t KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time
  COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE two;
CREATE FLOW two_flow AS AUTO CDC INTO two FROM STREAM t KEYS (id) APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY time
  COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 2;
"""


def event(id, name, time, operation="U"):
    return {"id": id, "name": name, "operation": operation, "time": time}


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

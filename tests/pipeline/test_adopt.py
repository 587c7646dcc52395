#!/usr/bin/env python3
"""ALTER STREAMING TABLE … ADOPT: plain tables with rows become targets of AUTO CDC flows, and targets that are none any more again."""
import unittest

from project import TARGETS_SQL, Project, event

SOURCE = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT');
"""
SQL = SOURCE + TARGETS_SQL
# More columns than the flow of TARGETS_SQL has, NULLs that say nothing, truncates.
WIDE = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, city STRING, operation STRING, time INT');
CREATE STREAMING TABLE one;
CREATE FLOW one_flow AS AUTO CDC INTO one FROM STREAM t KEYS (id) IGNORE NULL UPDATES APPLY AS DELETE WHEN operation = 'D'
  APPLY AS TRUNCATE WHEN operation = 'T' SEQUENCE BY time COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 1;
CREATE STREAMING TABLE two;
CREATE FLOW two_flow AS AUTO CDC INTO two FROM STREAM t KEYS (id) IGNORE NULL UPDATES APPLY AS DELETE WHEN operation = 'D'
  SEQUENCE BY time COLUMNS * EXCEPT (operation, time) STORED AS SCD TYPE 2;
"""


def make(p, rows_one, rows_two, one="id INT, name STRING", adopt=("one", "two")):
    p.query(f"CREATE TABLE one ({one}); CREATE TABLE two ({one}, __START_AT INT, __END_AT INT)")
    p.query(f"INSERT INTO one VALUES {rows_one}")
    p.query(f"INSERT INTO two VALUES {rows_two}")
    for table in adopt:
        p.query(f"ALTER STREAMING TABLE {table} ADOPT")


ROWS = "(1, 'a'), (2, 'b'), (3, 'c'), (4, 'd')", "(1, 'a', 1, NULL), (2, 'b', 1, 4), (2, 'bb', 4, NULL), (3, 'c', 1, 3), (4, 'd', 2, NULL)"


class Adopt(unittest.TestCase):
    def test_rows_become_the_history(self):
        for properties in ("", "'delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true'"):
            with Project(SQL) as p:
                make(p, *ROWS, adopt=())
                if properties:
                    p.query(f"ALTER TABLE one SET TBLPROPERTIES ({properties}); ALTER TABLE two SET TBLPROPERTIES ({properties})")
                p.query("ALTER STREAMING TABLE one ADOPT; ALTER STREAMING TABLE two ADOPT")
                version = p.query("DESCRIBE HISTORY one")[0]["version"]
                # An equal row is none of the changes, older than all events and yet there.
                p.add_file([event(1, "a", 1), event(2, "B", 3), event(3, None, 5, "D")])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "B"), (4, "d")])
                self.assertEqual(p.rows("SELECT * FROM two"), [(1, "a", 1, None), (2, "B", 3, 4), (2, "b", 1, 3), (2, "bb", 4, None),
                                                               (3, "c", 1, 3), (4, "d", 2, None)])
                if properties:
                    self.assertEqual(p.rows(f"SELECT id, name, _change_type FROM table_changes('one', {version + 1})"),
                                     [(2, "B", "update_postimage"), (2, "b", "update_preimage"), (3, "c", "delete")])
                p.add_file([event(1, "x", 9), event(2, None, 2, "D"), event(4, "d", 1), event(3, "late", 4), event(1, "older", 0)])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "x"), (2, "B"), (4, "d")])
                self.assertEqual(p.rows("SELECT * FROM two"),
                                 [(1, "a", 1, 9), (1, "older", 0, 1), (1, "x", 9, None), (2, "B", 3, 4), (2, "b", 1, 2),
                                  (2, "bb", 4, None), (3, "c", 1, 3), (3, "late", 4, 5), (4, "d", 1, None)])
                self.assertEqual([row["data_type"] for row in p.query("DESCRIBE EXTENDED one") if row["col_name"] == "Type"],
                                 ["STREAMING_TABLE"])

    def test_untouched_fields_keep_their_values_and_a_truncate_clears_all(self):
        def wide(id, name, city, time, operation="U"):
            return event(id, name, time, operation) | {"city": city}
        with Project(WIDE) as p:
            make(p, "(1, 'a', 'x'), (2, 'b', 'y')", "(1, 'a', 'x', 1, NULL), (2, 'b', 'y', 1, NULL)", "id INT, name STRING, more STRING")
            p.add_file([wide(1, None, "Kyoto", 5), wide(2, "B", None, 3)])
            p.update()
            self.assertEqual(p.rows("SELECT id, name, more, city FROM one"), [(1, "a", "x", "Kyoto"), (2, "B", "y", None)])
            self.assertEqual(p.rows("SELECT id, name, more, city, __START_AT, __END_AT FROM two"),
                             [(1, "a", "x", "Kyoto", 5, None), (1, "a", "x", None, 1, 5), (2, "B", "y", None, 3, None), (2, "b", "y", None, 1, 3)])
        with Project(WIDE.split("CREATE STREAMING TABLE two")[0]) as p:
            p.query("CREATE TABLE one (id INT, name STRING, city STRING)")
            p.query("INSERT INTO one VALUES (1, 'a', 'x'), (2, 'b', 'y'), (3, 'c', 'z'); ALTER STREAMING TABLE one ADOPT")
            p.add_file([wide(1, "n", None, 7), wide(None, None, None, 5, "T"), wide(2, "late", None, 4)])
            p.update()
            self.assertEqual(p.rows("SELECT id, name, city FROM one"), [(1, "n", None)])

    def test_generated_columns_are_filled_by_the_table(self):
        with Project(SOURCE + TARGETS_SQL.split("CREATE STREAMING TABLE two")[0]) as p:
            p.query("CREATE TABLE one (id INT, name STRING, loud STRING GENERATED ALWAYS AS (upper(name)))")
            p.query("INSERT INTO one (id, name) VALUES (1, 'a'), (2, 'b'); ALTER STREAMING TABLE one ADOPT")
            p.add_file([event(1, "x", 1), event(3, "c", 1), event(2, "b", 1)])
            p.update()
            self.assertEqual(p.rows("SELECT id, name, loud FROM one"), [(1, "x", "X"), (2, "b", "B"), (3, "c", "C")])

    def test_statements_and_maintenance_after_it(self):
        with Project(SQL) as p:
            make(p, *ROWS)
            p.query("UPDATE one SET name = 'before the first batch' WHERE id = 4")
            p.add_file([event(9, "n", 1)])
            p.update()
            for table in ("one", "two"):
                p.query(f"DELETE FROM {table} WHERE id = 1")
                p.query(f"UPDATE {table} SET name = 'hand' WHERE id = 2")
                p.query(f"OPTIMIZE {table}; REORG TABLE {table} APPLY (PURGE)")
            p.add_file([event(1, "new", 1), event(2, "late", 0), event(3, "z", 2), event(4, "e", 3)])
            p.update()
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "new"), (2, "late"), (3, "z"), (4, "e"), (9, "n")])
            self.assertEqual(p.rows("SELECT * FROM two"),
                             [(1, "new", 1, None), (2, "hand", 1, None), (2, "late", 0, 1), (3, "c", 1, 2), (3, "z", 2, 3),
                              (4, "d", 2, 3), (4, "e", 3, None), (9, "n", 1, None)])

    def test_restore_goes_behind_it_and_comes_back(self):
        with Project(SQL) as p:
            make(p, *ROWS)
            marked = p.query("DESCRIBE HISTORY one")[0]["version"]
            p.add_file([event(1, "x", 5)])
            p.update()
            p.query(f"RESTORE TABLE one TO VERSION AS OF {marked}")
            p.add_file([event(2, "y", 6)])
            p.update()
            # The event of 5 is not read again; the rows are adopted again.
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "y"), (3, "c"), (4, "d")])

    def test_a_target_that_lost_its_memory_goes_on_without_a_full_refresh(self):
        for loss in ("ALTER TABLE {t} DROP FEATURE `sluice.autoCdc`",
                     "CREATE OR REPLACE TABLE delta.`{l}` AS SELECT * FROM {t}"):
            with Project(SQL) as p:
                p.add_file([event(1, "a", 5), event(2, "b", 5), event(3, None, 5, "D")])
                p.update()
                for table in ("one", "two"):
                    location = p.query(f"DESCRIBE DETAIL {table}")[0]["location"].removeprefix("file:")
                    p.query(loss.format(t=table, l=location))
                p.add_file([event(1, "late", 4), event(2, "c", 7)])
                result = p.run()
                self.assertIn("ADOPT takes its rows as history", result.stdout + result.stderr)
                for table in ("one", "two"):
                    p.query(f"ALTER STREAMING TABLE {table} ADOPT")
                p.update()
                # Sequences of type 1 are forgotten, so that the late event is the newest known.
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "late"), (2, "c")])
                self.assertEqual(p.rows("SELECT * FROM two"), [(1, "a", 5, None), (1, "late", 4, 5), (2, "b", 5, 7), (2, "c", 7, None)])
                p.update("--full-refresh-all")
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "a"), (2, "c")])

    def test_a_full_refresh_discards_what_was_adopted(self):
        for when in ("before", "after"):
            with Project(SQL) as p:
                make(p, *ROWS)
                p.add_file([event(1, "x", 5)])
                if when == "after":
                    p.update()
                p.update("--full-refresh-all")
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "x")], when)
                self.assertEqual(p.rows("SELECT * FROM two"), [(1, "x", 5, None)], when)
                p.add_file([event(1, "y", 6)])
                p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "y")], when)


class Refused(unittest.TestCase):
    def refuse(self, p, condition, text):
        result = p.run()
        self.assertNotEqual(result.returncode, 0)
        self.assertIn(condition, result.stdout + result.stderr)
        self.assertIn(text, result.stdout + result.stderr)

    def test_tables_that_do_not_fit(self):
        fit = "USER_SPECIFIED_AND_INFERRED_SCHEMA_NOT_COMPATIBLE"
        for create, type, condition, text in [
            ("one (name STRING)", 1, fit, "has no column id of type int"),
            ("one (id BIGINT, name STRING)", 1, fit, "has no column id of type int"),
            ("one (id INT, name STRING)", 2, fit, "has no column __START_AT of type int"),
            ("one (id INT, name STRING, __START_AT INT, __END_AT TIMESTAMP)", 2, fit, "has no column __END_AT of type int"),
            ("one (id INT, name INT)", 1, "AUTOCDC_INVALID_STATE.COLUMN_TYPE_DRIFT", "column name is of type string"),
        ]:
            flow = TARGETS_SQL.split("CREATE STREAMING TABLE two")[0].replace("TYPE 1", f"TYPE {type}")
            with Project(SOURCE + flow) as p:
                p.query(f"CREATE TABLE {create}; ALTER STREAMING TABLE one ADOPT")
                p.add_file([event(1, "a", 1)])
                self.refuse(p, condition, text)
                self.assertEqual(p.query("DESCRIBE HISTORY one")[0]["operation"], "ADOPT")

    def test_rows_without_key_or_start(self):
        for table, row, condition in [("one", "(NULL, 'x')", "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY"),
                                      ("two", "(NULL, 'x', 1, 2)", "AUTOCDC_MICROBATCH_VALIDATION.NULL_KEY"),
                                      ("two", "(5, 'x', NULL, 2)", "AUTOCDC_MICROBATCH_VALIDATION.NULL_SEQUENCE")]:
            with Project(SQL) as p:
                make(p, *ROWS)
                p.query(f"INSERT INTO {table} VALUES {row}")
                p.add_file([event(1, "a", 1)])
                self.refuse(p, condition, "1 of its rows have no value in")

    def test_others(self):
        with Project(SQL) as p:
            make(p, *ROWS, adopt=("one",))
            p.add_file([event(1, "a", 1)])
            self.refuse(p, "TABLE_ALREADY_EXISTS", "ALTER STREAMING TABLE two ADOPT lets the flow take its rows as history")
            p.query("ALTER STREAMING TABLE two ADOPT")
            p.update()
            with self.assertRaises(AssertionError) as caught:
                p.query("ALTER STREAMING TABLE one ADOPT")
            self.assertIn("AUTOCDC_CANNOT_ADOPT", str(caught.exception))
        with Project(SOURCE + "CREATE STREAMING TABLE one; CREATE FLOW f AS AUTO CDC INTO one FROM SNAPSHOT e KEYS (id);") as p:
            p.query("CREATE TABLE e (id INT); CREATE TABLE one (id INT); INSERT INTO one VALUES (1); ALTER STREAMING TABLE one ADOPT")
            self.refuse(p, "AUTOCDC_CANNOT_ADOPT", "reads snapshots")
        with Project(SOURCE + "CREATE STREAMING TABLE one; CREATE FLOW f AS AUTO CDC INTO one FROM STREAM t KEYS (id) SEQUENCE BY time "
                     "SYSTEM SEQUENCE BY time COLUMNS id, name STORED AS BITEMPORAL;") as p:
            p.query("CREATE TABLE one (id INT, name STRING, __START_AT INT, __END_AT INT, __SYSTEM_START_AT INT, __SYSTEM_END_AT INT)")
            p.query("INSERT INTO one VALUES (1, 'a', 1, NULL, 1, NULL); ALTER STREAMING TABLE one ADOPT")
            self.refuse(p, "AUTOCDC_CANNOT_ADOPT", "which is BITEMPORAL")
        # A mark is for AUTO CDC alone.
        with Project(SOURCE + "CREATE STREAMING TABLE one AS SELECT * FROM STREAM t;") as p:
            p.query("CREATE TABLE one (id INT); ALTER STREAMING TABLE one ADOPT")
            p.add_file([event(1, "a", 1)])
            self.refuse(p, "TABLE_ALREADY_EXISTS", "belongs to no pipeline")


if __name__ == "__main__":
    unittest.main()

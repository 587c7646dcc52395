#!/usr/bin/env python3
"""Faults that users of other systems met with change events (group B of the reports), by their numbers, with what is right."""
import itertools
import unittest

from project import Project, event

SOURCE = """
CREATE STREAMING TABLE t AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'id INT, name STRING, operation STRING, time INT');
"""


def flow(target, type, sequence="time", columns="* EXCEPT (operation, time)", source="t"):
    return (f"CREATE STREAMING TABLE {target}; CREATE FLOW {target}_flow AS AUTO CDC INTO {target} FROM STREAM {source} KEYS (id) "
            f"APPLY AS DELETE WHEN operation = 'D' SEQUENCE BY {sequence} COLUMNS {columns} STORED AS SCD TYPE {type};\n")


BOTH = SOURCE + flow("one", 1) + flow("two", 2)


def metrics(p, flow="one_flow"):
    return p.last_update_metrics()[flow]["metrics"]


def warnings(p):
    newest = [e["origin"]["update_id"] for e in p.events() if e["event_type"] == "create_update"][-1]
    return [e["message"] for e in p.events() if e["level"] == "WARN" and e["origin"]["update_id"] == newest]


def orders(events):
    """The events in every order, each in one batch and one by one."""
    for order in itertools.permutations(events):
        yield [list(order)]
        yield [[one] for one in order]


class Order(unittest.TestCase):
    def every_order(self, events, wanted):
        for batches in orders(events):
            with Project(BOTH) as p:
                for batch in batches:
                    p.add_file(batch)
                    p.update()
                for table, rows in wanted.items():
                    self.assertEqual(p.rows(f"SELECT * FROM {table}"), rows, (table, batches))

    def test_a_delete_that_comes_before_its_older_upsert_wins(self):
        """R28"""
        with Project(BOTH) as p:
            seen = []
            for batch in (event(1, None, 5, "D"), event(1, "old", 3), event(1, "new", 7)):
                p.add_file([batch])
                p.update()
                seen.append(p.rows("SELECT * FROM one"))
            self.assertEqual(seen, [[], [], [(1, "new")]])
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "new", 7, None), (1, "old", 3, 5)])
        self.every_order([event(1, None, 5, "D"), event(1, "old", 3)], {"one": [], "two": [(1, "old", 3, 5)]})

    def test_a_late_event_splits_an_interval_and_a_late_delete_shortens_one(self):
        """R30"""
        with Project(BOTH) as p:
            for batch in ([event(1, "a", 1), event(1, "c", 5)], [event(1, "b", 3)], [event(1, None, 4, "D")]):
                p.add_file(batch)
                p.update()
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "a", 1, 3), (1, "b", 3, 4), (1, "c", 5, None)])
            self.assertEqual(p.rows("SELECT * FROM one"), [(1, "c")])


class Ties(unittest.TestCase):
    def test_null_keys_and_null_sequences_are_refused_with_their_counts(self):
        """R31"""
        for events, counted in [([event(None, "x", 1), event(None, "y", 2), event(3, "z", 1)], "NULL key in batch 0 (events by column: id: 2)"),
                                ([event(4, "y", None), event(5, "y", 1)], "1 events with a NULL sequence in batch 0")]:
            with Project(BOTH) as p:
                p.add_file(events)
                result = p.run()
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(counted, result.stdout + result.stderr)
                self.assertEqual(p.rows("SELECT * FROM one"), [])
                self.assertEqual(p.rows("SELECT * FROM two"), [])

    def test_equal_sequences_have_one_winner_and_are_counted(self):
        """R31"""
        events = [event(2, "first", 7), event(2, "second", 7), event(3, "a", 1), event(3, "a", 1)]
        for batches in ([events], [events[::-1]], [[one] for one in events], [[one] for one in events[::-1]]):
            with Project(BOTH) as p:
                seen = {"one_flow": 0, "two_flow": 0}
                for batch in batches:
                    p.add_file(batch)
                    p.update()
                    ties = {name: metrics(p, name).get("num_sequence_ties", 0) for name in seen}
                    self.assertEqual(sum("same sequence value, 1 times" in w for w in warnings(p)), sum(n > 0 for n in ties.values()))
                    seen = {name: n + ties[name] for name, n in seen.items()}
                self.assertEqual(seen, {"one_flow": 1, "two_flow": 1}, batches)
                self.assertEqual(p.rows("SELECT * FROM one"), [(2, "second"), (3, "a")])
                self.assertEqual(p.rows("SELECT * FROM two"), [(2, "second", 7, None), (3, "a", 1, None)])

    def test_upsert_and_delete_at_one_sequence(self):
        """R32"""
        events = [event(1, "before", 1), event(1, "at", 4), event(1, None, 4, "D")]
        for batches in ([events], [events[::-1]], [[one] for one in events], [[one] for one in events[::-1]],
                        [[events[2]], events[:2]], [events[:1], events[1:]]):
            with Project(BOTH) as p:
                seen = {"one_flow": 0, "two_flow": 0}
                for batch in batches:
                    p.add_file(batch)
                    p.update()
                    seen = {name: n + metrics(p, name).get("num_sequence_ties", 0) for name, n in seen.items()}
                # Type 1 keeps the upsert, type 2 the delete (autocdc.md 5.3).
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "at")], batches)
                self.assertEqual(p.rows("SELECT * FROM two"), [(1, "before", 1, 4)], batches)
                self.assertEqual(seen, {"one_flow": 1, "two_flow": 1}, batches)

    def test_a_repeated_event_is_no_tie(self):
        with Project(BOTH) as p:
            events = [event(1, "a", 1), event(1, "b", 2), event(2, None, 3, "D")]
            for _ in range(2):
                p.add_file(events)
                p.update()
                for name in ("one_flow", "two_flow"):
                    self.assertEqual(metrics(p, name)["num_sequence_ties"], 0)
            self.assertEqual(warnings(p), [])


class Clock(unittest.TestCase):
    def test_history_begins_at_the_sequence(self):
        """R33"""
        with Project(SOURCE + flow("two", 2)) as p:
            p.add_file([event(1, "ordered", 20190301), event(1, "shipped", 20190307)])
            result = p.update()
            self.assertNotIn("clock", result.stdout + result.stderr)
            self.assertEqual(p.rows("SELECT * FROM two"), [(1, "ordered", 20190301, 20190307), (1, "shipped", 20190307, None)])

    def test_a_system_sequence_from_the_clock_is_warned_of(self):
        for sequence, warned in (("now()", True), ("time", False)):
            flow = f"SEQUENCE BY time SYSTEM SEQUENCE BY {sequence} COLUMNS id, name STORED AS BITEMPORAL"
            with Project(SOURCE + f"CREATE STREAMING TABLE b; CREATE FLOW f AS AUTO CDC INTO b FROM STREAM t KEYS (id) {flow};") as p:
                checked = p.run(command="dry-run")
                self.assertEqual("warning: SYSTEM SEQUENCE BY of flow 'f' comes from the clock" in checked.stderr, warned, sequence)

    def test_a_sequence_from_the_clock_is_warned_of(self):
        """R33"""
        view = SOURCE + "CREATE TEMPORARY VIEW seen AS SELECT *, CAST(now() AS DATE) AS day, time + 1 AS next FROM STREAM t;\n"
        for sequence, warned in [
            ("current_timestamp()", True), ("now()", True), ("current_date", True), ("localtimestamp()", True), ("CAST(now() AS STRING)", True),
            ("STRUCT(time, current_timestamp())", True), ("coalesce(time, unix_timestamp(now()))", True), ("day", True),
            ("STRUCT(day, id)", True), ("next", False), ("STRUCT(time, id)", False), ("make_date(2019, 1, time)", False),
        ]:
            with Project(view + flow("two", 2, sequence, "id, name", source="seen")) as p:
                p.add_file([event(1, "a", 1)])
                checked = p.run(command="dry-run")
                self.assertEqual(checked.returncode, 0, checked.stderr)
                self.assertEqual("warning: SEQUENCE BY of flow 'two_flow' comes from the clock" in checked.stderr, warned, sequence)
                shown = p.update().stdout
                self.assertEqual("comes from the clock" in shown, warned, sequence)
                self.assertEqual(sum("comes from the clock" in w for w in warnings(p)), int(warned), sequence)


class Again(unittest.TestCase):
    """History told anew, and events that come again under other positions."""

    FEBRUARY = 200

    def restated(self, p):
        """What was known from February on goes; each key begins anew from what January's rows say."""
        p.query(f"DELETE FROM two WHERE __START_AT >= {self.FEBRUARY}")
        p.query(f"UPDATE two SET __END_AT = CASE WHEN __END_AT < {self.FEBRUARY} THEN __END_AT END")

    def test_history_restated_from_a_date_on_equals_a_rebuild(self):
        """R41"""
        january = [event(1, "a", 101), event(2, "x", 102), event(3, "m", 103), event(4, "k", 110), event(4, None, 120, "D")]
        wrong = [event(1, "B", 201), event(2, None, 202, "D"), event(3, "m", 203), event(5, "stray", 204), event(4, "back", 205)]
        right = [event(1, "b", 201), event(2, "y", 202), event(3, "M", 203), event(6, "new", 206)]
        march = [event(1, "c", 301), event(2, "z", 302), event(3, None, 303, "D"), event(6, "new", 306)]
        with Project(SOURCE + flow("two", 2)) as p:
            for batch in (january, right, march):
                p.add_file(batch)
            p.update()
            rebuilt = p.rows("SELECT * FROM two")
        with Project(SOURCE + flow("two", 2)) as p:
            for batch in (january, wrong, march):
                p.add_file(batch)
                p.update()
            self.assertNotEqual(p.rows("SELECT * FROM two"), rebuilt)
            self.restated(p)
            for batch in (march, right):
                p.add_file(batch)
                p.update()
            self.assertEqual(p.rows("SELECT * FROM two"), rebuilt)
        # With the source itself put right, a full refresh is the whole of it.
        with Project(SOURCE + flow("two", 2)) as p:
            for batch in (january, wrong, march):
                p.add_file(batch)
            p.update()
            (p.root / "in" / "customers" / "file-0002.json").unlink()
            p.add_file(right)
            p.update("--full-refresh-all")
            self.assertEqual(p.rows("SELECT * FROM two"), rebuilt)

    def test_a_snapshot_in_the_middle_of_the_stream_doubles_nothing(self):
        """R43"""
        source = """
CREATE STREAMING TABLE raw AS SELECT * FROM STREAM read_files('${source}/customers', format => 'json',
  schema => 'op STRING, before STRUCT<id: INT, name: STRING>, after STRUCT<id: INT, name: STRING>, source STRUCT<lsn: BIGINT, row: INT>');
CREATE TEMPORARY VIEW t AS SELECT coalesce(after.id, before.id) AS id, after.name AS name, CASE WHEN op = 'd' THEN 'D' END AS operation,
  source.lsn AS lsn, source.row AS row FROM STREAM raw;
"""
        columns, sequence = "* EXCEPT (operation, lsn, row)", "STRUCT(lsn, row)"

        def change(op, id, name, lsn, row=0):
            key = {"id": id, "name": name}
            return {"op": op, "before": key if op == "d" else None, "after": None if op == "d" else key, "source": {"lsn": lsn, "row": row}}
        first = [change("r", 1, "a", 10, 1), change("r", 2, "b", 10, 2), change("c", 3, "c", 11), change("u", 1, "A", 12),
                 change("d", 2, "b", 13)]
        for name, again in {"at its own position": [change("r", 1, "A", 14, 1), change("r", 3, "c", 14, 2)],
                            "everything once more": first}.items():
            with Project(source + flow("one", 1, sequence, columns) + flow("two", 2, sequence, columns)) as p:
                for batch in (first, again, [change("u", 3, "C", 20)]):
                    p.add_file(batch)
                    p.update()
                self.assertEqual(p.rows("SELECT * FROM one"), [(1, "A"), (3, "C")], name)
                self.assertEqual(p.rows("SELECT id, name, __START_AT.lsn AS s, __END_AT.lsn AS e FROM two"),
                                 [(1, "A", 12, None), (1, "a", 10, 12), (2, "b", 10, 13), (3, "C", 20, None), (3, "c", 11, 20)], name)
                self.assertEqual(warnings(p), [])


if __name__ == "__main__":
    unittest.main()

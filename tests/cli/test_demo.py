"""The example with 1,000 customers: it runs to its end, and its tables are what a model in Python says."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SLUICE = str(pathlib.Path(os.environ.get("SLUICE", "build/sluice")).resolve())
EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "customers"
COLUMNS = ["id", "name", "email", "city", "address", "phone"]


def is_good(event):
    return event["id"] is not None and event["operation"] in ("APPEND", "UPDATE", "DELETE") and not isinstance(event.get("address"), dict)


def states(events):
    """Per customer, in the order of time: (time, row or None)."""
    found = {}
    for event in events:
        if is_good(event):
            row = None if event["operation"] == "DELETE" else tuple(event.get(name) for name in COLUMNS)
            found.setdefault(event["id"], {})[event["operation_date"]] = row
    return {number: sorted(times.items()) for number, times in found.items()}


class Demo(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-demo-"))
        cls.addClassCleanup(shutil.rmtree, cls.root, ignore_errors=True)
        cls.work = cls.root / "demo"
        env = dict(os.environ, SLUICE=SLUICE, SLUICE_DEMO_DIR=str(cls.work))
        cls.done = subprocess.run([str(EXAMPLE / "demo"), "--small"], env=env, capture_output=True, text=True, timeout=240)
        cls.again = subprocess.run([str(EXAMPLE / "demo"), "--small"], env=env, capture_output=True, text=True, timeout=240)
        cls.events = [json.loads(line) for path in sorted(cls.work.glob("drops/*.json")) for line in path.read_text().splitlines()]

    def rows(self, sql):
        done = subprocess.run([SLUICE, "sql", "-o", "json", "-w", str(self.work / "warehouse"), sql], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        return [tuple(json.loads(line).values()) for line in done.stdout.splitlines()]

    def test_it_runs_to_its_end_twice(self):
        for done in (self.done, self.again):
            self.assertEqual(done.returncode, 0, done.stdout[-3000:] + done.stderr)
            self.assertEqual(done.stderr, "")
            self.assertEqual(done.stdout.count("COMPLETED in "), 3)
            self.assertIn("next, try:", done.stdout)

    def test_customers_are_the_newest_states(self):
        wanted = sorted(times[-1][1] for times in states(self.events).values() if times[-1][1] is not None)
        self.assertGreater(len(wanted), 900)
        self.assertEqual(self.rows(f"SELECT {', '.join(COLUMNS)} FROM customers ORDER BY id"), wanted)

    def test_history_is_every_state(self):
        wanted = []
        for times in states(self.events).values():
            open_row = None
            for time, row in times:
                if open_row is not None and row != open_row[1]:
                    wanted.append((*open_row[1], open_row[0], time))
                    open_row = None
                if row is not None and open_row is None:
                    open_row = (time, row)
            if open_row is not None:
                wanted.append((*open_row[1], open_row[0], None))
        found = self.rows(
            f"SELECT {', '.join(COLUMNS)}, date_format(__START_AT, \"yyyy-MM-dd'T'HH:mm:ss'Z'\"), "
            "date_format(__END_AT, \"yyyy-MM-dd'T'HH:mm:ss'Z'\") FROM customers_history ORDER BY id, __START_AT"
        )
        self.assertEqual(found, sorted(wanted, key=lambda row: (row[0], row[6])))

    def test_every_event_is_somewhere(self):
        good = sum(is_good(event) for event in self.events)
        self.assertLess(good, len(self.events))
        self.assertEqual(self.rows("SELECT count(*) FROM customers_bronze"), [(len(self.events),)])
        self.assertEqual(self.rows("SELECT count(*) FROM customers_clean"), [(good,)])

    def test_the_report_is_the_query(self):
        self.assertEqual(
            self.rows("SELECT city, customers FROM customers_by_city ORDER BY city"),
            self.rows("SELECT city, count(*) FROM customers GROUP BY city ORDER BY city"),
        )

    def test_the_feed_from_the_beginning_adds_up_to_the_table(self):
        feed = "SELECT sum(CASE _change_type WHEN 'insert' THEN 1 WHEN 'delete' THEN -1 ELSE 0 END) FROM table_changes('customers', 0)"
        self.assertEqual(self.rows(feed), self.rows("SELECT count(*) FROM customers"))


if __name__ == "__main__":
    unittest.main()

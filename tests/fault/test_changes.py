#!/usr/bin/env python3
"""Processes change one table at once: each its own partition, and all of them one counter.

A statement on rows of its own must succeed whatever the others do; one on the counter may fail by the name of a conflict, and then has
done nothing. In the end the counter says how many succeeded, every partition is as its owner left it, and the change feed of all versions
adds up to the table (R59).

usage: test_changes.py [PROCESSES] [ROUNDS]
"""
import collections
import sys
import tempfile
import threading

from cases import CONFLICTS, Engine, run_writers

COUNTER = 1000


class Writer(threading.Thread):
    """One process with one partition; @self.expected is what must be in it."""

    def __init__(self, directory, number, n_rounds):
        super().__init__()
        self.engine, self.number, self.n_rounds = Engine(directory), number, n_rounds
        self.expected, self.n_counted, self.failure = {}, 0, None

    def own(self, sql, edit):
        answer = self.engine.run(sql)
        if "rows" not in answer:
            raise AssertionError(f"{sql}\n{answer}")
        edit()

    def one_round(self, n):
        p, own = self.number, self.expected
        self.own(f"MERGE INTO t USING (SELECT {p} AS p, id, {n} AS n FROM (VALUES ({n}), ({n // 2})) v(id)) s ON t.p = {p} AND t.p = s.p "
                 f"AND t.id = s.id WHEN MATCHED THEN UPDATE SET n = t.n + s.n WHEN NOT MATCHED THEN INSERT *",
                 lambda: own.update({i: own[i] + n if i in own else n for i in {n, n // 2}}))
        answer = self.engine.run(f"UPDATE t SET n = n + 1 WHERE p = {COUNTER}")
        if "rows" in answer:
            self.n_counted += 1
        elif answer["condition"] not in CONFLICTS:
            raise AssertionError(answer)
        self.own(f"UPDATE t SET n = -n WHERE p = {p} AND id = {n // 3}",
                 lambda: own.update({i: -own[i] for i in own if i == n // 3}))
        self.own(f"DELETE FROM t WHERE p = {p} AND id % 5 = 4", lambda: [own.pop(i) for i in list(own) if i % 5 == 4])

    def run(self):
        try:
            for n in range(self.n_rounds):
                self.one_round(n)
        except Exception as failure:
            self.failure = failure
        finally:
            self.engine.close()


def check_table(engine, writers):
    counter = engine.rows(f"SELECT n FROM t WHERE p = {COUNTER}")
    wanted = sum(w.n_counted for w in writers)
    if counter != [{"n": wanted}]:
        raise AssertionError(f"the counter is {counter}, {wanted} statements said that they counted")
    for writer in writers:
        found = {r["id"]: r["n"] for r in engine.rows(f"SELECT id, n FROM t WHERE p = {writer.number}")}
        if found != writer.expected:
            raise AssertionError(f"partition {writer.number} is {found} instead of {writer.expected}")


def check_feed(engine):
    rows = collections.Counter()
    for r in engine.rows("SELECT p, id, n, _change_type AS c FROM table_changes('t', 0)"):
        rows[r["p"], r["id"], r["n"]] += 1 if r["c"] in ("insert", "update_postimage") else -1
    table = collections.Counter((r["p"], r["id"], r["n"]) for r in engine.rows("SELECT * FROM t"))
    if {k: n for k, n in rows.items() if n} != dict(table):
        raise AssertionError("the change feed does not add up to the table")


def run(root, name, properties, n_processes, n_rounds):
    directory = f"{root}/{name}"
    engine = Engine(directory)
    engine.rows(f"CREATE TABLE t (p INT, id INT, n INT) PARTITIONED BY (p) TBLPROPERTIES ({properties})")
    engine.rows(f"INSERT INTO t VALUES ({COUNTER}, 0, 0)")
    writers = [Writer(directory, number, n_rounds) for number in range(n_processes)]
    run_writers(writers)
    check_table(engine, writers)
    check_feed(engine)
    engine.close()
    n_counted = sum(w.n_counted for w in writers)
    print(f"{name}: {n_processes} processes, {n_counted} of {n_processes * n_rounds} contended statements succeeded")


def main():
    n_processes = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    n_rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 12
    tables = {
        "vectors": "'delta.enableChangeDataFeed' = 'true'",
        "copies": "'delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = 'false'",
        "tracked": "'delta.enableRowTracking' = 'true'",
    }
    with tempfile.TemporaryDirectory(prefix="sluice-changes-") as root:
        for name, properties in tables.items():
            run(root, name, properties, n_processes, n_rounds)
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""What a foreign writer of test_mixed_writers.py does, in the Python that has the engine: mixed_writers.py ENGINE JOB (JSON).

JOB: {"table": directory, "lock": directory, "number", "seed", "end": epoch seconds, "jars", "scratch"}. Prints one line per statement:
{"id", "kind", "values", "outcome": "done" or the error}; the commit records the same id.
"""
import fcntl
import json
import pathlib
import random
import sys
import time

KINDS = {"append": 5, "count": 3, "delete": 1, "merge": 3, "compact": 1}
N_SHARED = 20  # rows that everybody counts up and merges into; ids from 1,000 on are rows of one append


class Turn:
    """Shared by all writers whose commits are safe beside each other; alone for those whose are not. Nobody waits for ever: who wants
    in stands in one queue."""

    def __init__(self, directory, alone):
        self.queue, self.room = open(f"{directory}/queue", "w"), open(f"{directory}/room", "w")
        self.mode = fcntl.LOCK_EX if alone else fcntl.LOCK_SH

    def __enter__(self):
        fcntl.flock(self.queue, fcntl.LOCK_EX)
        fcntl.flock(self.room, self.mode)
        fcntl.flock(self.queue, fcntl.LOCK_UN)

    def __exit__(self, *_):
        fcntl.flock(self.room, fcntl.LOCK_UN)


class Draw:
    """The statements of one writer: an id, a kind, and its values, drawn from a seed."""

    def __init__(self, number, seed):
        self.number, self.random, self.n = number, random.Random(f"{seed}.{number}"), 0

    def next(self):
        self.n += 1
        kind = self.random.choices(list(KINDS), KINDS.values())[0]
        every = self.random.randint(2, 5)
        first = 1000 + (self.n * 10 + self.number) * 10
        values = {
            "append": lambda: list(range(first, first + self.random.randint(1, 4))),
            "count": lambda: [every, self.random.randrange(every)],  # n of all rows whose id leaves this remainder
            "delete": lambda: [self.random.randint(40, 60), self.random.randint(0, 20)],  # rows from 1,000 on, likewise
            "merge": lambda: sorted(self.random.sample(range(N_SHARED), 3)) + [first],
            "compact": lambda: [],
        }[kind]()
        return {"id": f"{self.number}.{self.n}", "kind": kind, "values": values}


def statement(step, table):
    """The SQL of Sluice and Spark."""
    values = step["values"]
    if step["kind"] == "append":
        return f"INSERT INTO {table} VALUES " + ", ".join(f"({i}, 0)" for i in values)
    if step["kind"] == "count":
        return f"UPDATE {table} SET n = n + 1 WHERE id % {values[0]} = {values[1]}"
    if step["kind"] == "delete":
        return f"DELETE FROM {table} WHERE id >= 1000 AND id % {values[0]} = {values[1]}"
    if step["kind"] == "merge":
        return (f"MERGE INTO {table} AS t USING (SELECT id FROM VALUES {', '.join(f'({i})' for i in values)} AS v(id)) AS s ON t.id = s.id "
                f"WHEN MATCHED THEN UPDATE SET n = (t.n * 2 + 1) % 1009 WHEN NOT MATCHED THEN INSERT (id, n) VALUES (s.id, 7)")
    return f"OPTIMIZE {table}"


def apply(step, rows):
    """The same on a dict id → n."""
    values = step["values"]
    if step["kind"] == "append":
        return {**rows, **{i: 0 for i in values}}
    if step["kind"] == "count":
        return {i: n + (i % values[0] == values[1]) for i, n in rows.items()}
    if step["kind"] == "delete":
        return {i: n for i, n in rows.items() if i < 1000 or i % values[0] != values[1]}
    if step["kind"] == "merge":
        return {**rows, **{i: (rows[i] * 2 + 1) % 1009 if i in rows else 7 for i in values}}
    return rows


class DeltaRs:
    ALONE = {"compact"}  # it does not notice that another compaction removed the files that it packs: two of its own double the rows

    def __init__(self, job):
        import deltalake
        import pyarrow
        self.path, self.lake, self.arrow = job["table"], deltalake, pyarrow

    def rows(self, ids):
        return self.arrow.table({"id": self.arrow.array(ids, self.arrow.int32()), "n": self.arrow.array([0] * len(ids), self.arrow.int64())})

    def run(self, step):
        values, table = step["values"], self.lake.DeltaTable(self.path)
        commit = {"commit_properties": self.lake.CommitProperties(custom_metadata={"userMetadata": step["id"]})}
        if step["kind"] == "append":
            self.lake.write_deltalake(table, self.rows(values), mode="append", **commit)
        elif step["kind"] == "count":
            table.update(updates={"n": "n + 1"}, predicate=f"id % {values[0]} = {values[1]}", **commit)
        elif step["kind"] == "delete":
            table.delete(f"id >= 1000 AND id % {values[0]} = {values[1]}", **commit)
        elif step["kind"] == "merge":
            merge = table.merge(self.rows(values), "t.id = s.id", source_alias="s", target_alias="t", **commit)
            merge.when_matched_update({"n": "(t.n * 2 + 1) % 1009"}).when_not_matched_insert({"id": "s.id", "n": "7"}).execute()
        else:
            table.optimize.compact(**commit)


class Spark:
    ALONE = set(KINDS)  # its commits to a local directory are only safe among the threads of one process

    def __init__(self, job):
        sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "interop"))
        from spark_session import spark_session
        self.spark = spark_session(job)
        self.path = job["table"]

    def run(self, step):
        self.spark.conf.set("spark.databricks.delta.commitInfo.userMetadata", step["id"])
        self.spark.sql(statement(step, f"delta.`{self.path}`"))


def main(engine, job):
    writer = {"delta-rs": DeltaRs, "spark": Spark}[engine](job)
    turns, draw = [Turn(job["lock"], alone) for alone in (False, True)], Draw(job["number"], job["seed"])
    print("ready", flush=True)
    end = float(sys.stdin.readline())
    while time.time() < end:
        step = draw.next()
        with turns[step["kind"] in writer.ALONE]:
            try:
                writer.run(step)
                step["outcome"] = "done"
            except Exception as error:
                step["outcome"] = f"{type(error).__name__}: {' '.join(str(error).split())[:600]}"
        print(json.dumps(step), flush=True)
        if writer.ALONE == set(KINDS):
            time.sleep(0.3)


if __name__ == "__main__":
    main(sys.argv[1], json.loads(sys.argv[2]))

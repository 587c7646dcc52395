#!/usr/bin/env python3
"""Two processes of Sluice, delta-rs and Apache Spark append to, update, merge into, delete from and pack one table at once (R59, R60).

Spark takes turns with the others, as its commits to a local directory are only safe within its process; so do the compactions of
delta-rs, which do not notice each other. Every statement is drawn with an
id, and its commit records it. In the end the statements are replayed in the order of the log: the table at every version must be what
they say (the isolation level is Serializable), the change feed must be the difference, a statement that said it succeeded is there once,
one that said it failed is not there and named a conflict.

usage: test_mixed_writers.py [SECONDS [quick]]    quick: without Spark
"""
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

from cases import CONFLICTS, Engine, run_writers
from mixed_writers import N_SHARED, Draw, Turn, apply, statement

ROOT = pathlib.Path(os.environ.get("SLUICE_SOURCE", pathlib.Path(__file__).resolve().parents[2]))
DEPS = ROOT / ".deps"
# pieces of errors that name a conflict
NAMED = {"delta-rs": {"CommitFailedError"}, "spark": {"DELTA_CONCURRENT"}}


class SluiceWriter(threading.Thread):
    named = CONFLICTS

    def __init__(self, root, number, seed):
        super().__init__()
        self.name, self.failure, self.steps, self.end = f"sluice-{number}", None, [], 0
        self.engine, self.turn, self.draw = Engine(root / "w"), Turn(root, alone=False), Draw(number, seed)

    def one(self):
        step = self.draw.next()
        self.engine.rows(f"SET spark.databricks.delta.commitInfo.userMetadata = {step['id']}")
        with self.turn:
            answer = self.engine.run(statement(step, "t"))
        self.steps.append({**step, "outcome": "done" if "rows" in answer else f"{answer['condition']}: {answer['message']}"})

    def run(self):
        try:
            while time.time() < self.end:
                self.one()
        except Exception as failure:
            self.failure = failure
        finally:
            self.engine.close()


class ForeignWriter(threading.Thread):
    def __init__(self, root, engine, python, number, seed):
        super().__init__()
        job = {"table": str(root / "w/t"), "lock": str(root), "number": number, "seed": seed, "jars": str(DEPS / "spark-jars"), "scratch": str(root)}
        self.name, self.named, self.failure, self.steps, self.end = engine, NAMED[engine], None, [], 0
        self.log = root / f"{engine}.log"
        script = pathlib.Path(__file__).with_name("mixed_writers.py")
        self.process = subprocess.Popen([python, script, engine, json.dumps(job)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=open(self.log, "w"), env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"})
        if self.process.stdout.readline() != "ready\n":
            raise AssertionError(self.log.read_text()[-4000:])

    def run(self):
        try:
            out, _ = self.process.communicate(f"{self.end}\n")
            self.steps = [json.loads(line) for line in out.splitlines()]
            assert self.process.returncode == 0, self.log.read_text()[-4000:]
        except Exception as failure:
            self.failure = failure


def foreign_writers(root, seed, quick):
    found = []
    delta_rs = DEPS / "venv/bin/python"
    if delta_rs.exists() and subprocess.run([delta_rs, "-c", "import deltalake, pyarrow"], capture_output=True).returncode == 0:
        found.append(ForeignWriter(root, "delta-rs", delta_rs, 2, seed))
    else:
        print("without delta-rs: its Python package is not there")
    if not quick and (DEPS / "spark-jars/.installed").exists():
        found.append(ForeignWriter(root, "spark", DEPS / "venv-spark/bin/python", 3, seed))
    elif not quick:
        print("without Apache Spark: tools/setup-spark installs it")
    return found


def commits(table):
    """version → the id that it records, in order."""
    ids = {}
    for version in range(2, len(list((table / "_delta_log").glob("*.json")))):
        lines = (table / "_delta_log" / f"{version:020}.json").read_text().splitlines()
        info = next(action["commitInfo"] for action in map(json.loads, lines) if "commitInfo" in action)
        ids[version] = info["userMetadata"]
    return ids


def check_outcomes(writers, ids):
    assert len(ids) == len(set(ids)), f"committed twice: {[i for i, n in collections.Counter(ids).items() if n > 1]}"
    for writer in writers:
        for step in writer.steps:
            if step["outcome"] != "done":
                assert any(name in step["outcome"] for name in writer.named), f"{writer.name}: not a named conflict: {step}"
                assert step["id"] not in ids, f"{writer.name}: said that it failed, but is there: {step}"
            elif step["kind"] not in ("delete", "compact"):  # which may have found nothing to do
                assert step["id"] in ids, f"{writer.name}: said that it succeeded, and is lost: {step}"


def check_history(engine, ids, steps):
    """Replays the statements in the order of the log, and compares every version and its feed."""
    feed = collections.defaultdict(collections.Counter)
    for row in engine.rows("SELECT * FROM table_changes('t', 1)"):
        feed[row["_commit_version"]][row["id"], row["n"]] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
    rows = {i: 0 for i in range(N_SHARED)}
    for version, step_id in ids.items():
        before, rows = rows, apply(steps[step_id], rows)
        found = engine.rows(f"SELECT id, n FROM t VERSION AS OF {version}")
        assert sorted((r["id"], r["n"]) for r in found) == sorted(rows.items()), (
            f"version {version} is not version {version - 1} and {steps[step_id]}: {sorted(set(rows.items()) ^ {(r['id'], r['n']) for r in found})}")
        difference = collections.Counter(rows.items())
        difference.subtract(before.items())
        assert ({k: v for k, v in feed[version].items() if v} == {k: v for k, v in difference.items() if v}), (
            f"the feed of version {version}, {steps[step_id]}: {feed[version]}")


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 120
    seed = int(time.time())
    with tempfile.TemporaryDirectory(prefix="sluice-mixed-") as directory:
        root = pathlib.Path(directory)
        engine = Engine(root / "w")
        engine.rows("CREATE TABLE t (id INT, n BIGINT) TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableDeletionVectors' = "
                    "'false', 'delta.isolationLevel' = 'Serializable')")
        engine.rows("INSERT INTO t VALUES " + ", ".join(f"({i}, 0)" for i in range(N_SHARED)))
        writers = [SluiceWriter(root, 0, seed), SluiceWriter(root, 1, seed)] + foreign_writers(root, seed, "quick" in sys.argv)
        for writer in writers:
            writer.end = time.time() + seconds
        run_writers(writers)
        ids = commits(root / "w/t")
        check_outcomes(writers, list(ids.values()))
        check_history(engine, ids, {step["id"]: step for writer in writers for step in writer.steps})
        engine.close()
    for writer in writers:
        kinds = collections.Counter(step["kind"] for step in writer.steps)
        failed = collections.Counter(step["kind"] for step in writer.steps if step["outcome"] != "done")
        print(f"{writer.name}: " + ", ".join(f"{kind} {n}" + (f" ({failed[kind]} conflicts)" if failed[kind] else "") for kind, n in kinds.items()))
    print(f"seed {seed}: {len(ids)} versions replayed in {seconds:.0f} s")


if __name__ == "__main__":
    main()

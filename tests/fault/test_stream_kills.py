#!/usr/bin/env python3
"""Streams killed with SIGKILL at random points: the sink holds what an uninterrupted run gives, under every set of options.

A source table of many commits is followed with one commit or file a batch. The run is
killed over and over, after a random time or before a random storage operation, or its storage fails, loses an answer or tears as in a power cut, until one run
reaches the end.

usage: test_stream_kills.py [--commits N] [--kills K] [--sets a,b,…] [--seed S]
"""
import argparse
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

SLUICE = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice"

# name: (source, arguments). "changes" and "rows" (whose feed is derived) also have deletes, updates and compactions; "appends" has none.
SETS = {
    "feed-from-start": ("changes", ["--changes", "-O", "startingVersion=0", "-O", "maxFilesPerTrigger=1"]),
    "appends": ("appends", ["-O", "maxFilesPerTrigger=1"]),
    "feed-snapshot": ("appends", ["--changes", "-O", "maxFilesPerTrigger=1"]),
    "feed-bytes": ("changes", ["--changes", "-O", "startingVersion=3", "-O", "maxBytesPerTrigger=1b"]),
    "skip-changes": ("changes", ["-O", "startingVersion=1", "-O", "skipChangeCommits=true", "-O", "maxFilesPerTrigger=1"]),
    "ignore-changes": ("changes", ["-O", "startingVersion=1", "-O", "ignoreChanges=true", "-O", "maxFilesPerTrigger=2"]),
    "excluded": ("appends", ["-O", "excludeRegex=p=1/", "-O", "maxFilesPerTrigger=1", "-O", "startingVersion=0"]),
    "query": ("appends", ["-q", "SELECT id * 2 AS twice, p FROM STREAM appends WITH (maxFilesPerTrigger = 1) WHERE id % 3 > 0"]),
    "once": ("changes", ["--changes", "--trigger", "once", "-O", "startingVersion=0"]),
    "automatic": ("rows", ["--changes", "-O", "startingVersion=1", "-O", "maxFilesPerTrigger=1"]),
    "tracked": ("appends", ["-O", "maxFilesPerTrigger=1", "-O", "startingVersion=0", "-O", "schemaTrackingLocation=_schemas"]),
}


class Case:
    def __init__(self, root):
        self.root = root
        self.env = {**os.environ, "SLUICE_WAREHOUSE": str(root / "wh")}

    def sql(self, text, *options):
        result = subprocess.run([SLUICE, "sql", *options, "-f", "-"], input=text, capture_output=True, text=True, env=self.env, timeout=300)
        if result.returncode != 0:
            raise AssertionError(result.stderr)
        return result.stdout

    def stream(self, arguments, sink, fault=None):
        source = [] if arguments[0] == "-q" else [arguments[-1]]
        options = arguments if arguments[0] == "-q" else arguments[:-1]
        env = {**self.env, **({"SLUICE_FAULT": fault} if fault else {})}
        return subprocess.Popen([SLUICE, "stream", *options, "-c", str(self.root / f"cp-{sink}"), *source, sink], env=env,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def make_sources(self, n_commits):
        statements = ["CREATE TABLE changes (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES (delta.enableChangeDataFeed = true)",
                      "CREATE TABLE rows (id INT, p INT) TBLPROPERTIES (delta.enableRowTracking = true)",
                      "CREATE TABLE appends (id INT, p INT) PARTITIONED BY (p) TBLPROPERTIES (delta.enableChangeDataFeed = true)"]
        for i in range(1, n_commits + 1):
            statements.append(f"INSERT INTO appends VALUES ({i}, {i % 3})")
            for table in ("changes", "rows"):
                statements.append(f"DELETE FROM {table} WHERE id = {i - 3}" if i % 5 == 0
                                  else f"UPDATE {table} SET id = -id WHERE id = {i - 2}" if i % 7 == 0
                                  else f"OPTIMIZE {table}" if i % 11 == 0
                                  else f"INSERT INTO {table} VALUES ({i}, {i % 2})")
        self.sql(";\n".join(statements))

    def committed_batches(self, table):
        batches = []
        for file in sorted((self.root / "wh" / table / "_delta_log").glob("*.json")):
            batches += [int(n) for n in re.findall(r'"txn":\{"appId":"[^"]*","version":(\d+)', file.read_text())]
        return batches

    def contents(self, table):
        lines = self.sql(f"SELECT * FROM {table}", "-o", "json").splitlines()
        return sorted(lines)


def run_to_the_end(process, what):
    out, errors = process.communicate(timeout=300)
    if process.returncode != 0:
        raise AssertionError(f"{what} failed ({process.returncode}): {errors}")
    return out


def check(case, name, n_kills, rng):
    source, arguments = SETS[name]
    arguments = arguments if arguments[0] == "-q" else [*arguments, source]
    began = time.monotonic()
    out = run_to_the_end(case.stream(arguments, f"whole_{name.replace('-', '_')}"), "the uninterrupted run")
    duration = time.monotonic() - began
    n_batches = len(out.splitlines()) - 1
    sink = f"cut_{name.replace('-', '_')}"
    n_dead = 0
    for i in range(n_kills):
        # The first one falls for certain: a run that gets to its end leaves the others nothing to be killed at.
        by_operation = i == 0 or rng.random() < 0.6
        mode = "kill" if i == 0 else rng.choice(("kill", "kill", "fail", "lost", "torn"))
        last = 12 if i == 0 else 12 + 40 * n_batches // n_kills
        fault = f"n={rng.randint(1, last)},mode={mode}" if by_operation else None
        process = case.stream(arguments, sink, fault)
        if not by_operation:
            try:
                process.wait(timeout=rng.random() * min(duration, 0.15 + 3 * duration / n_kills))
            except subprocess.TimeoutExpired:
                process.kill()
        _, errors = process.communicate(timeout=300)
        broke = by_operation and mode != "kill" and process.returncode == 1
        if process.returncode not in (0, -9) and not broke:
            raise AssertionError(f"run {i} after a kill failed ({process.returncode}): {errors}")
        n_dead += process.returncode != 0
    run_to_the_end(case.stream(arguments, sink), "the last run")
    expected, got = case.contents(f"whole_{name.replace('-', '_')}"), case.contents(sink)
    assert expected == got, f"{name}: {len(got)} rows instead of {len(expected)}: {[r for r in got if r not in expected][:5]} {[r for r in expected if r not in got][:5]}"
    assert len(got) > 0, f"{name}: nothing was read"
    batches = case.committed_batches(sink)
    assert batches == sorted(set(batches)), f"{name}: batches of the sink's commits: {batches}"
    assert n_dead > 0, f"{name}: no run was killed"
    print(f"ok {name}: {n_batches} batches, {len(got)} rows, {n_dead} kills", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--sets", default=",".join(SETS))
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    rng = random.Random(options.seed)
    root = pathlib.Path(tempfile.mkdtemp(prefix="sluice-kills-"))
    failed = 0
    print(f"seed {options.seed}", flush=True)
    try:
        case = Case(root)
        case.make_sources(options.commits)
        for name in options.sets.split(","):
            try:
                check(case, name, options.kills, rng)
            except Exception as error:  # every kind of failure is a finding
                failed += 1
                print(f"FAIL {name}: {error}", flush=True)
    finally:
        shutil.rmtree(root, ignore_errors=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

#!/usr/bin/env python3
"""Apache Spark reads what random programs left: contents and row ids of versions, recorded feeds. See README.md.

usage: test_spark_programs.py [--programs N] [--seed S]
"""
import argparse
import collections
import os
import pathlib
import random
import sys
import tempfile
import time

import test_programs as programs

sys.path.append(str(programs.HERE.parent / "interop"))
from spark_job import DEPS, ask_spark  # noqa: E402


def run_programs(engine, seed, n_programs):
    """The runs that are right, and how many are not."""
    runs, n_failed = [], 0
    for number in range(n_programs):
        failure, run = programs.run_program(engine, programs.Program(f"{seed}.{number}"), f"t{number}", keep_table=True)
        if failure is None:
            runs.append(run)
        else:
            n_failed += 1
            print(f"FAIL program {seed}.{number}: {failure}")
    return runs, n_failed


def choose_range(rnd, table, kind):
    """A range of versions that can be read so; () if none was found. Spark 4.2 with Delta 4.4 derives changes of tables without partitions
    (it gives NULL for their values) and without column mapping (DELTA_CANNOT_RESOLVE_COLUMN) alone; it does not leave out equal rows of
    commits that kept no ids (cdf.md §5.3), nor sees deletion vectors where the first version had none; and it takes the partition columns
    of a replacing table for those of the files that it removes."""
    mode = "legacy" if kind == "legacy" else "automatic"
    if mode == "automatic" and any(version.partition is not None or version.properties.mapped for version in table.versions):
        return ()
    for _ in range(10):
        start = rnd.randint(table.first, table.version)
        end = rnd.randint(start, table.version)
        among = table.versions[start:end + 1]
        is_on = all(version.properties.legacy if kind == "legacy" else version.properties.tracked for version in among)
        if mode == "automatic" and (any(version.hides_equal for version in among) or len({version.properties.vectors for version in among}) > 1):
            continue
        if len({version.partition and version.partition.id for version in table.versions[max(start - 1, 0):end + 1]}) > 1:
            continue
        if is_on and table.feed_is_certain(start) and table.feed_schema_is_additive(start, end, mode):
            return start, end
    return ()


def choose(run):
    """What Spark is asked: up to four versions, the newest among them, and up to two feeds of each kind: recorded, by row ids, net changes."""
    table, rnd = run.table, random.Random(f"Spark reads {run.program.seed}")
    versions = [version for version in range(table.version) if table.is_certain(version)]
    versions = sorted(rnd.sample(versions, min(3, len(versions)))) + [table.version]
    feeds = []
    for kind in ("legacy", "automatic", "net"):
        wanted = [[kind, *choose_range(rnd, table, kind)] for _ in range(2)]
        feeds += [one for number, one in enumerate(wanted) if len(one) == 3 and one not in wanted[:number]]
    return {"name": run.name, "path": str(run.path), "contents": versions, "feeds": feeds,
            "tracked": [version for version in versions if table.versions[version].properties.tracked]}


def wanted_contents(run, version):
    table = run.table
    found = table.versions[version]
    rows = table.contents(version)
    if found.properties.tracked:
        ids = run.row_ids[found.properties.epoch]
        rows = {uid: row | {"+id": ids[uid, found.rows[uid].life], "+at": found.rows[uid].changed_at} for uid, row in rows.items()}
    return sorted(rows.values(), key=repr_of)


def repr_of(row):
    return repr(sorted(row.items()))


def compare(run, job, found, counts):
    """Failures as texts."""
    if found["error"] is not None:
        return [f"Spark says {found['error']}"]
    failures = []
    for version, rows in zip(job["contents"], found["contents"]):
        got, wanted = sorted(rows, key=repr_of), wanted_contents(run, version)
        counts["contents compared"] += 1
        if sorted(map(repr_of, got)) != sorted(map(repr_of, wanted)):
            failures.append(f"other contents of version {version}\n{programs.difference(got, wanted)}")
    for (kind, start, end), rows in zip(job["feeds"], found["feeds"]):
        got = [(row.pop("_commit_version"), row.pop("_change_type"), row["uid"], row) for row in rows]
        wanted = list(run.table.net_changes(start, end)) if kind == "net" else run.table.feed(start, end)
        mode = "legacy" if kind == "legacy" else "automatic"
        if mode == "automatic":  # in the columns of the end: cdf.md §16, 6
            names = {column.name for column in run.table.versions[end].columns}
            wanted = [(*one, {name: value for name, value in values.items() if name in names}) for *one, values in wanted]
        got, wanted = ([(*one, dict(sorted(values.items()))) for *one, values in changes] for changes in (got, wanted))
        got, wanted = (run.table.normalized_feed(changes, start, end, mode) for changes in (got, wanted))
        counts[f"{kind} feeds compared"] += 1
        if got != wanted:
            failures.append(f"another {kind} feed from {start} to {end}\n{programs.difference(got, wanted)}")
    return failures


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    if not (DEPS / "spark-jars/.installed").exists():
        print("Apache Spark is not there (tools/setup-spark installs it); nothing was tested")
        return 1 if os.environ.get("SLUICE_REQUIRE_INTEROP") == "1" else 77
    print(f"seed {options.seed}", flush=True)
    counts, n_failed, started = collections.Counter(), 0, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="sluice-spark-programs-") as directory:
        scratch = pathlib.Path(directory)
        engine = programs.Engine(scratch / "warehouse")
        runs, n_failed = run_programs(engine, options.seed, options.programs)
        engine.stop()
        jobs = [choose(run) for run in runs]
        found = ask_spark(programs.HERE / "spark_programs.py", scratch, tables=jobs)
        for run, job in zip(runs, jobs):
            failures = compare(run, job, found[run.name], counts)
            n_failed += bool(failures)
            if failures:
                print(f"FAIL program {run.program.seed}: " + "\n".join(failures))
                print("\n".join(f"    {line}" for line in run.log), flush=True)
    for name, count in sorted(counts.items()):
        print(f"{count:8} {name}")
    print(f"{options.programs} programs, {n_failed} failures, {time.monotonic() - started:.1f} s")
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())

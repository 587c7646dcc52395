#!/usr/bin/env python3
"""Statements of maintenance, killed or failed at every storage operation (CI: every 8th): the old version or the new one.

Each case runs one statement on a copy of the same table with SLUICE_FAULT="n=N,mode=M", looks at the table, runs the statement
again without a fault, and looks once more. Every version that can be named before must give the same rows afterwards.

usage: test_maintenance.py [--step K] [--offset N] [--modes kill,fail,torn,lost] [--jobs J]
"""
import pathlib
import re
import shutil
import sys
import tempfile

from cases import answer, options, run, sluice

NO_CHECK = "SET spark.databricks.delta.retentionDurationCheck.enabled = false; "

SETUP = """
CREATE TABLE t (id INT, p STRING) PARTITIONED BY (p)
  TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true', 'delta.enableRowTracking' = 'true', 'delta.checkpointInterval' = '3');
INSERT INTO t VALUES (1, 'a'), (2, 'b'), (3, 'a');
INSERT INTO t VALUES (4, 'a'), (5, 'b');
INSERT INTO t VALUES (6, 'a'), (7, 'b');
DELETE FROM t WHERE id = 3;
INSERT INTO t VALUES (8, NULL);
INSERT OVERWRITE t VALUES (1, 'a'), (2, 'b');
INSERT INTO t VALUES (9, 'a'), (10, 'b');
"""
NOW = [(1, "a"), (2, "b"), (9, "a"), (10, "b")]
OLD = [(1, "a"), (2, "b"), (4, "a"), (5, "b"), (6, "a"), (7, "b"), (8, None)]

# statement, rows after it, whether older versions stay
STATEMENTS = {
    "OPTIMIZE": ("OPTIMIZE t", NOW, True),
    "OPTIMIZE WHERE": ("OPTIMIZE t WHERE p = 'a'", NOW, True),
    "REORG": ("DELETE FROM t WHERE id = 9; REORG TABLE t APPLY (PURGE)", [r for r in NOW if r[0] != 9], True),
    "RESTORE": ("RESTORE TABLE t TO VERSION AS OF 5", OLD, True),
    "VACUUM": ("VACUUM t", NOW, True),
    "VACUUM RETAIN 0": (NO_CHECK + "VACUUM t RETAIN 0 HOURS", NOW, False),
}


def rows(root, sql):
    return sorted((tuple(row.values()) for row in answer(root, sql)), key=lambda r: (r[0], str(r[1])))


def versions(root):
    """Rows of every version, those that cannot be read left out."""
    newest = max(int(f.stem) for f in (root / "t" / "_delta_log").glob("*.json") if f.stem.isdigit())
    found = {}
    for version in range(newest + 1):
        result = sluice(root, f"SELECT id, p FROM t VERSION AS OF {version}")
        if result.returncode == 0:
            found[version] = sorted(result.stdout.splitlines())
    return found


def run_case(template, before, name, n, mode):
    statement, after, keeps = STATEMENTS[name]
    with tempfile.TemporaryDirectory(prefix="sluice-statement-") as directory:
        root = pathlib.Path(directory) / "w"
        shutil.copytree(template, root)
        sluice(root, statement, SLUICE_FAULT=f"n={n},mode={mode}")
        now = rows(root, "SELECT id, p FROM t")
        assert now in (NOW, after) or name == "REORG", f"neither old nor new: {now}"
        result = sluice(root, statement)
        # A RESTORE that was done is done: the version asked for is still older than the newest.
        assert result.returncode == 0, f"the next one fails: {result.stderr}"
        now = rows(root, "SELECT id, p FROM t")
        assert now == after, f"rows: {now}"
        later = versions(root) if keeps else {}
        for version, lines in before.items() if keeps else []:
            assert later.get(version) == lines, f"version {version} changed its answer"


def count(template, name):
    with tempfile.TemporaryDirectory(prefix="sluice-statement-") as directory:
        root = pathlib.Path(directory) / "w"
        shutil.copytree(template, root)
        result = sluice(root, STATEMENTS[name][0], SLUICE_FAULT_COUNT="1")
        assert result.returncode == 0, result.stderr
        return int(re.search(r"storage operations: (\d+)", result.stderr)[1])


def main():
    given = options()
    with tempfile.TemporaryDirectory(prefix="sluice-statement-") as directory:
        template = pathlib.Path(directory) / "w"
        result = sluice(template, SETUP)
        assert result.returncode == 0, result.stderr
        counts = {name: count(template, name) for name in STATEMENTS}
        before = versions(template)
        cases = [(template, before, name, n, mode) for name in STATEMENTS for n in range(1 + given.offset, counts[name] + 1, given.step) for mode in given.modes]
        print(f"storage operations: {counts}; every {given.step}th from offset {given.offset}: {len(cases)} cases", flush=True)
        n_failed = run(run_case, lambda _template, _before, name, n, mode: f"{name}, operation {n}, mode {mode}", cases, given.jobs)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())

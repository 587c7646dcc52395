#!/usr/bin/env python3
"""A two-update run of pipelines.md §17.1, killed or failed at every storage operation (CI: every 20th).

Each case: update 1 and update 2 run with SLUICE_FAULT="n=N,mode=M" in one of them; then updates run without a fault until both inputs
are in. The tables must be as listed: no row twice, none lost, and every version of every table must be readable.

usage: test_crashes.py [--step K] [--offset N] [--modes kill,fail,torn,lost] [--jobs J]
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pipeline"))
import project  # noqa: E402
from project import Project  # noqa: E402


def count_operations():
    """Storage operations of the two updates, each."""
    counts = []
    with Project(project.CUSTOMERS_SQL) as p:
        for rows in (project.CUSTOMERS_1, project.CUSTOMERS_2):
            p.add_file(rows)
            result = p.update(env={"SLUICE_FAULT_COUNT": "1"})
            counts.append(int(re.search(r"storage operations: (\d+)", result.stderr)[1]))
    return counts


def check(p):
    got = p.rows("SELECT id, name, email, address, phone FROM customer_silver")
    assert got == project.SILVER_2, f"silver: {got}"
    bronze = p.rows("SELECT count(*), count(DISTINCT struct(id, name, email, operation)) FROM customer_bronze")
    assert bronze == [(9, 9)], f"bronze: {bronze}"
    for table in ("customer_bronze", "customer_silver"):
        log = p.root / "warehouse" / table / "_delta_log"
        newest = max(int(f.stem) for f in log.glob("*.json") if f.stem.isdigit())
        p.query(f"SELECT count(*) FROM {table} VERSION AS OF {newest}")


def run_case(update, n, mode):
    """Fault at operation @n of update @update (0 or 1)."""
    with Project(project.CUSTOMERS_SQL) as p:
        for number, rows in enumerate((project.CUSTOMERS_1, project.CUSTOMERS_2)):
            p.add_file(rows)
            if number == update:
                p.run(env={"SLUICE_FAULT": f"n={n},mode={mode}"})
            result = p.run()
            assert result.returncode == 0, f"the next update fails:\n{result.stdout}\n{result.stderr}"
        check(p)


def attempt(case):
    try:
        run_case(*case)
        return None
    except Exception as error:  # every kind of failure is a finding
        return f"update {case[0] + 1}, operation {case[1]}, mode {case[2]}: {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--offset", type=int, default=-1)
    parser.add_argument("--modes", default="kill,fail,torn,lost")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    options = parser.parse_args()
    offset = options.offset if options.offset >= 0 else int(time.time()) % options.step
    counts = count_operations()
    cases = [(u, n, m) for u in (0, 1) for n in range(1 + offset, counts[u] + 1, options.step) for m in options.modes.split(",")]
    print(f"storage operations: {counts}; every {options.step}th from offset {offset}: {len(cases)} cases", flush=True)
    findings = []
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for done, finding in enumerate(pool.map(attempt, cases), 1):
            if finding:
                findings.append(finding)
                print("FAIL", finding, flush=True)
            if done % 50 == 0:
                print(f"{done} of {len(cases)} done", flush=True)
    print(f"{len(cases) - len(findings)} passed, {len(findings)} failed")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

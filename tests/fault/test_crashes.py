#!/usr/bin/env python3
"""A two-update run of pipelines.md §17.1, killed or failed at every storage operation (CI: every 20th).

Each case: update 1 and update 2 run with SLUICE_FAULT="n=N,mode=M" in one of them; then updates run without a fault until both inputs
are in. The tables must be as listed: no row twice, none lost, and every version of every table must be readable.

usage: test_crashes.py [--step K] [--offset N] [--modes kill,fail,torn,lost] [--jobs J]
"""
import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "pipeline"))
import project  # noqa: E402
from cases import options, run  # noqa: E402
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


def main():
    given = options()
    counts = count_operations()
    cases = [(u, n, m) for u in (0, 1) for n in range(1 + given.offset, counts[u] + 1, given.step) for m in given.modes]
    print(f"storage operations: {counts}; every {given.step}th from offset {given.offset}: {len(cases)} cases", flush=True)
    return 1 if run(run_case, lambda update, n, mode: f"update {update + 1}, operation {n}, mode {mode}", cases, given.jobs) else 0


if __name__ == "__main__":
    sys.exit(main())

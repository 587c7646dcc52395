#!/usr/bin/env python3
"""Eight processes append 100 commits each to one table: every version and every row must be there (R60).

usage: test_writers.py [PROCESSES] [COMMITS]
"""
import pathlib
import subprocess
import sys
import tempfile

from cases import SLUICE, answer


def main():
    n_processes = int(sys.argv[1]) if len(sys.argv) > 1 else 8
    n_commits = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    with tempfile.TemporaryDirectory(prefix="sluice-writers-") as root:
        warehouse = f"{root}/w"
        answer(warehouse, "CREATE TABLE t (writer INT, n INT)")
        scripts = []
        for writer in range(n_processes):
            script = pathlib.Path(root) / f"{writer}.sql"
            script.write_text("".join(f"INSERT INTO t VALUES ({writer}, {n});\n" for n in range(n_commits)))
            scripts.append(script)
        running = [subprocess.Popen([SLUICE, "sql", "--warehouse", warehouse, "-f", s], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
                   for s in scripts]
        for process in running:
            _, stderr = process.communicate()
            if process.returncode != 0:
                print(stderr)
                return 1
        counts, = answer(warehouse, "SELECT count(*) AS n, count(DISTINCT struct(writer, n)) AS d FROM t")
        versions = sorted(int(f.stem) for f in pathlib.Path(f"{root}/w/t/_delta_log").glob("*.json") if f.stem.isdigit())
        wanted = n_processes * n_commits
        good = counts == {"n": wanted, "d": wanted} and versions == list(range(wanted + 1))
        print(f"{wanted} commits by {n_processes} processes: {counts}, versions 0…{versions[-1]} ({len(versions)})")
        return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())

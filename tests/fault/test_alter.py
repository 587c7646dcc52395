#!/usr/bin/env python3
"""Processes that alter one table while others append to it: every change and every row must be there, and every row have an id."""
import pathlib
import subprocess
import sys
import tempfile

from cases import SLUICE, answer

SCRIPTS = (
    [[f"ALTER TABLE t ADD COLUMN c{writer}_{i} INT" for i in range(6)] for writer in range(2)]
    + [[f"INSERT INTO t (id) VALUES ({100 * writer + i})" for i in range(15)] for writer in range(2)]
    + [["ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')", "ALTER TABLE t ADD CONSTRAINT small CHECK (id < 1000)",
        "ALTER TABLE t ALTER COLUMN id SET NOT NULL", "ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"]]
)


def main():
    with tempfile.TemporaryDirectory(prefix="sluice-alter-") as root:
        warehouse = f"{root}/w"
        answer(warehouse, "CREATE TABLE t (id INT)")
        running = []
        for number, statements in enumerate(SCRIPTS):
            script = pathlib.Path(root) / f"{number}.sql"
            script.write_text(";\n".join(statements))
            running.append(subprocess.Popen([SLUICE, "sql", "--warehouse", warehouse, "-f", script], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True))
        failures = [stderr for process in running for _, stderr in [process.communicate()] if process.returncode != 0]
        if failures:
            print("\n".join(failures))
            return 1
        rows = answer(warehouse, "SELECT count(*) AS n, count(DISTINCT id) AS d, count(DISTINCT _metadata.row_id) AS ids FROM t")[0]
        columns = [row["col_name"] for row in answer(warehouse, "SHOW COLUMNS IN t")]
        properties = {row["key"] for row in answer(warehouse, "SHOW TBLPROPERTIES t")}
        print(rows, len(columns), "columns")
        good = rows == {"n": 30, "d": 30, "ids": 30} and len(columns) == len(set(columns)) == 13
        return 0 if good and {"delta.constraints.small", "delta.enableRowTracking", "delta.columnMapping.mode"} <= properties else 1


if __name__ == "__main__":
    sys.exit(main())

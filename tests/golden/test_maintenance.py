#!/usr/bin/env python3
"""Every golden table that this engine reads, copied: OPTIMIZE, REORG … APPLY (PURGE) and VACUUM RETAIN 0 HOURS leave its rows as they are, or are
refused because the table cannot be written."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SLUICE = pathlib.Path(os.environ.get("SLUICE_BUILD", "build")).resolve() / "sluice"
SHARED = pathlib.Path(os.environ.get("SLUICE_SHARED") or pathlib.Path(os.environ.get("SLUICE_SOURCE", ".")) / ".." / "shared")
REFUSALS = ("DELTA_UNSUPPORTED_FEATURES_FOR_WRITE", "DELTA_ROW_ID_ASSIGNMENT_WITHOUT_STATS")


def sluice(root, sql):
    return subprocess.run([str(SLUICE), "sql", "--warehouse", str(root / "w"), "--output", "json", sql], capture_output=True, text=True,
                          timeout=120)


def rows(root, table):
    result = sluice(root, f"SELECT * FROM delta.`{table}`")
    return sorted(result.stdout.splitlines()) if result.returncode == 0 else None


def findings_of(root, table):
    before = rows(root, table)
    if before is None:
        return None
    findings = []
    for statement in (f"OPTIMIZE delta.`{table}`", f"REORG TABLE delta.`{table}` APPLY (PURGE)",
                      f"SET spark.databricks.delta.retentionDurationCheck.enabled = false; VACUUM delta.`{table}` RETAIN 0 HOURS"):
        result = sluice(root, statement)
        if result.returncode != 0 and not any(name in result.stderr for name in REFUSALS):
            findings.append(f"{statement}: {result.stderr}")
        if rows(root, table) != before:
            findings.append(f"{statement}: other rows than before")
    return findings


def main():
    tables = SHARED / "golden" / "delta" / "tables"
    if not tables.is_dir():
        print("the shared pages are not there")
        sys.exit(1 if os.environ.get("SLUICE_REQUIRE_SHARED") == "1" else 77)
    n = failed = 0
    with tempfile.TemporaryDirectory(prefix="sluice-golden-") as directory:
        root = pathlib.Path(directory)
        for log in sorted(tables.glob("**/_delta_log")):
            copy = root / str(n)
            shutil.copytree(log.parent, copy)
            findings = findings_of(root, copy)
            n += 1 if findings is not None else 0
            for finding in findings or []:
                failed += 1
                print(f"FAIL {log.parent.relative_to(tables)}: {finding}", flush=True)
            shutil.rmtree(copy)
    print(f"{n} tables, {failed} failures")
    sys.exit(1 if failed or n < 50 else 0)


if __name__ == "__main__":
    main()

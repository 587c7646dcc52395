#!/usr/bin/env python3
"""Every statement that changes a table, killed or failed at every storage operation: the table is the old one or the new one, nothing
between, and the statement can be run again.

usage: test_statements.py [--step K] [--offset N] [--modes kill,fail] [--only WORD] [--jobs J]
"""
import json
import pathlib
import re
import shutil
import sys
import tempfile

from cases import answer, options, run, sluice

PLAIN = ["CREATE TABLE t (id INT, name STRING, p INT) PARTITIONED BY (p)", "INSERT INTO t VALUES (1, 'a', 1), (2, 'b', 1), (3, 'c', 2)",
         "INSERT INTO t VALUES (4, 'd', 2)"]
MAPPED = PLAIN + ["ALTER TABLE t SET TBLPROPERTIES ('delta.columnMapping.mode' = 'name')"]
TRACKED = [PLAIN[0] + " TBLPROPERTIES ('delta.enableRowTracking' = 'true')"] + PLAIN[1:]
FEED = [PLAIN[0] + " TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true')"] + PLAIN[1:]
CHECKED = PLAIN + ["ALTER TABLE t ADD CONSTRAINT small CHECK (id < 100)", "ALTER TABLE t ALTER COLUMN id SET NOT NULL"]
WIDENING = [PLAIN[0] + " TBLPROPERTIES ('delta.enableTypeWidening' = 'true')"] + PLAIN[1:]
REWRITE = [PLAIN[0] + " TBLPROPERTIES ('delta.enableDeletionVectors' = 'false', 'delta.enableChangeDataFeed' = 'true')"] + PLAIN[1:]

MERGE = ("MERGE INTO t USING (VALUES (1, 'm'), (9, 'n')) s(id, name) ON t.id = s.id WHEN MATCHED THEN UPDATE SET name = s.name "
         "WHEN NOT MATCHED THEN INSERT (id, name) VALUES (s.id, s.name) WHEN NOT MATCHED BY SOURCE AND t.id = 3 THEN DELETE")
# Row tracking comes in three commits (cdf.md §15, example 18), of which the first adds these.
STEPWISE = {"rowTracking", "domainMetadata"}
DYNAMIC = "SET spark.sql.sources.partitionOverwriteMode = dynamic; "

# what is there before, and the statement
CASES = [
    *[(setup, statement) for setup in (FEED, REWRITE, TRACKED, MAPPED) for statement in (
        "INSERT INTO t VALUES (9, 'z', 3)",
        "INSERT OVERWRITE t VALUES (9, 'z', 3)",
        DYNAMIC + "INSERT OVERWRITE t VALUES (9, 'z', 1)",
        "INSERT INTO t REPLACE WHERE id > 1 VALUES (9, 'z', 3)",
        "INSERT INTO t REPLACE USING (p) VALUES (9, 'z', 1)",
        "DELETE FROM t WHERE id IN (1, 3)",
        "UPDATE t SET name = 'x' WHERE id IN (1, 3)",
        MERGE,
        "TRUNCATE TABLE t",
        "RESTORE TABLE t TO VERSION AS OF 1",
        "OPTIMIZE t",
    )],
    (PLAIN, "ALTER TABLE t SET TBLPROPERTIES ('delta.enableRowTracking' = 'true')"),
    (PLAIN, "ALTER TABLE t SET TBLPROPERTIES ('delta.appendOnly' = 'true')"),
    (FEED, "ALTER TABLE t UNSET TBLPROPERTIES ('delta.enableChangeDataFeed')"),
    (PLAIN, "ALTER TABLE t ADD COLUMN c INT AFTER id"),
    (PLAIN, "ALTER TABLE t ADD CONSTRAINT small CHECK (id < 10)"),
    (CHECKED, "ALTER TABLE t DROP CONSTRAINT small"),
    (PLAIN, "ALTER TABLE t ALTER COLUMN id SET NOT NULL"),
    (CHECKED, "ALTER TABLE t ALTER COLUMN id DROP NOT NULL"),
    (PLAIN, "ALTER TABLE t ALTER COLUMN id COMMENT 'which'"),
    (WIDENING, "ALTER TABLE t ALTER COLUMN id TYPE BIGINT"),
    (MAPPED, "ALTER TABLE t RENAME COLUMN name TO nm"),
    (MAPPED, "ALTER TABLE t DROP COLUMN name"),
    (PLAIN, "ALTER TABLE t ADD FEATURE columnMapping"),
    (["CREATE TABLE t (id INT) CLUSTER BY (id)"], "ALTER TABLE t CLUSTER BY NONE"),
    (TRACKED, "ALTER TABLE t DROP FEATURE rowTracking"),
    (PLAIN, "ALTER TABLE t RENAME TO u"),
    (PLAIN, "COMMENT ON TABLE t IS 'a table'"),
    (PLAIN, "CREATE TABLE u (a INT) TBLPROPERTIES ('k' = 'v')"),
    (PLAIN, "CREATE TABLE u AS SELECT * FROM t"),
    (PLAIN, "CREATE OR REPLACE TABLE t AS SELECT 5 AS five"),
    (PLAIN, "REPLACE TABLE t (six INT)"),
    (PLAIN, "DROP TABLE t"),
]


def tables(warehouse):
    return [row["tableName"] for row in answer(warehouse, "SHOW TABLES")]


def state(warehouse):
    """What a user sees of the tables: columns, comment, rows, properties of their own."""
    seen = {}
    for table in tables(warehouse):
        lines = answer(warehouse, f"DESCRIBE {table}; SHOW TBLPROPERTIES {table}; SELECT * FROM {table}; DESCRIBE DETAIL {table}")
        detail = lines.pop()
        own = sorted(json.dumps(line) for line in lines if not re.search("min(Reader|Writer)|materialized", str(line.get("key"))))
        features = sorted(set(detail["tableFeatures"]) - STEPWISE)
        seen[table] = [own, detail["description"], detail["partitionColumns"], features]
    return json.dumps(seen, sort_keys=True)


def versions(warehouse):
    return max((int(file.stem) for file in (warehouse / "t/_delta_log").glob("*.json") if file.stem.isdigit()), default=-1)


class Prepared:
    """A statement on what its setup leaves, which is made once for all statements behind it."""
    made = {}  # text of the setup: (the warehouse, what a user sees of it)

    def __init__(self, root, setup, statement):
        self.statement = statement
        self.before, self.old = self.made.get("; ".join(setup)) or self.make(root / "before", "; ".join(setup))
        after = root / "after"
        shutil.copytree(self.before, after)
        done = sluice(after, statement, SLUICE_FAULT_COUNT="1")
        assert done.returncode == 0, f"{statement}: {done.stderr}"
        self.n_operations = int(re.search(r"storage operations: (\d+)", done.stderr)[1])
        self.new = state(after)

    def make(self, warehouse, setup):
        answer(warehouse, setup)
        self.made[setup] = warehouse, state(warehouse)
        return self.made[setup]


def run_case(prepared, n, mode):
    with tempfile.TemporaryDirectory(prefix="sluice-statement-") as root:
        warehouse = pathlib.Path(root) / "w"
        shutil.copytree(prepared.before, warehouse)
        n_before = versions(warehouse)
        sluice(warehouse, prepared.statement, SLUICE_FAULT=f"n={n},mode={mode}")
        now = state(warehouse)
        assert now in (prepared.old, prepared.new), f"neither old nor new:\n{now}\n{prepared.old}\n{prepared.new}"
        if "t" in tables(warehouse):
            for version in range(n_before, versions(warehouse) + 1):
                answer(warehouse, f"SELECT count(*) FROM t VERSION AS OF {version}")
        if now == prepared.old:
            answer(warehouse, prepared.statement)
            assert state(warehouse) == prepared.new, f"the second run gives:\n{state(warehouse)}\n{prepared.new}"


def main():
    given = options(modes="kill,fail", only="")
    with tempfile.TemporaryDirectory(prefix="sluice-statements-") as root:
        prepared = [Prepared(pathlib.Path(root) / str(i), setup, statement) for i, (setup, statement) in enumerate(CASES) if given.only in statement]
        cases = [(one, n, mode) for one in prepared for mode in given.modes for n in range(1, one.n_operations + 1)]
        cases = cases[given.offset :: given.step]
        print(f"{len(cases)} cases of {len(prepared)} statements (step {given.step}, offset {given.offset})", flush=True)
        n_failed = run(run_case, lambda one, n, mode: f"{one.statement}, operation {n}, mode {mode}", cases, given.jobs)
    return 1 if n_failed else 0


if __name__ == "__main__":
    sys.exit(main())

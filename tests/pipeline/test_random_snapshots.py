#!/usr/bin/env python3
"""Random series of snapshots through the command line, against tests/model/snapshot_model.py (autocdc.md §12.7).

Three kinds of sources: a view replaced whole and read by its name; the same with a version of its own, which is offered whatever it is; rows of
many versions that wait in a table. Statements change some targets between updates. --cases N --seed S"""
import json
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import snapshot_model as model  # noqa: E402
from project import Project  # noqa: E402
from random_cases import arguments, run_cases  # noqa: E402

CASES_PER_PROJECT = 8
N_UPDATES = 5
TYPES = {"id": "INT", "k": "STRING", "x": "STRING", "y": "INT", "s": "STRUCT<p: INT, q: STRING>", "z": "STRING"}


def reference():
    shared = os.environ.get("SLUICE_SHARED")
    if not shared or not pathlib.Path(shared, "oracle", "autocdc_model.py").exists():
        return None
    sys.path.insert(0, str(pathlib.Path(shared, "oracle")))
    import autocdc_model
    return autocdc_model


class Case:
    def __init__(self, number, rnd):
        self.name, self.rnd = f"c{number}", rnd
        self.kind = rnd.choice(["places", "offered", "waiting"])
        self.scd = rnd.choice([1, 2, 2])
        self.keys = rnd.choice([["id"], ["id", "k"]])
        self.track = rnd.choice([None, None, ["x"], ["x", "s"]]) if self.scd == 2 else None
        self.track_except = ["y"] if self.scd == 2 and self.track is None and rnd.random() < 0.4 else None
        self.properties = {"delta.enableDeletionVectors": str(rnd.random() < 0.7).lower(),
                           "delta.enableChangeDataFeed": str(rnd.random() < 0.5).lower()}
        self.columns = ["id", "k", "x", "y", "s"]
        # From this update on a column is gone from the snapshots, or one is new.
        self.loses = (rnd.randint(2, N_UPDATES), rnd.choice(["y", "s"])) if rnd.random() < 0.3 and self.track != ["x", "s"] else None
        self.gains = rnd.randint(2, N_UPDATES) if rnd.random() < 0.3 else None
        self.has_statements = rnd.random() < 0.3
        self.target = model.Target(self.keys, self.scd, self.tracks, self.kind == "places")
        self.series, self.place, self.content = [], 0, []

    def tracks(self, column):
        return column in self.track if self.track else column not in (self.track_except or [])

    def shown(self, update):
        columns = [c for c in self.columns if not (self.loses and update >= self.loses[0] and c == self.loses[1])]
        return columns + (["z"] if self.gains and update >= self.gains else [])

    # --- snapshots

    def draw_row(self):
        rnd = self.rnd
        return {"id": rnd.randint(1, 4), "k": rnd.choice(["a", "b"]), "x": rnd.choice(["p", "q", None]), "y": rnd.choice([1, 2, None]),
                "s": rnd.choice([{"p": 1, "q": "u"}, {"p": 1, "q": None}, {"p": None, "q": None}]), "z": rnd.choice(["z", None])}

    def draw_content(self):
        """A few changes to the content of before; sometimes none, sometimes nothing is left."""
        rnd = self.rnd
        kind = rnd.random()
        if kind < 0.1:
            self.content = []
        elif kind > 0.2:
            rows = {self.target.key(row): row for row in self.content}
            for _ in range(rnd.randint(1, 4)):
                row = self.draw_row()
                if rnd.random() < 0.3:
                    rows.pop(self.target.key(row), None)
                else:
                    rows[self.target.key(row)] = row
            self.content = list(rows.values())
        return self.content

    def next_snapshots(self, update):
        """[(version, rows)] for one update, and what the model makes of them: (upserted, deleted)."""
        rnd, given, counts = self.rnd, [], [0, 0]
        for _ in range(rnd.randint(1, 3) if self.kind == "waiting" else 1):
            columns = self.shown(update)
            rows = [{c: row[c] for c in columns} for row in self.draw_content()]
            if self.kind == "places":
                version = self.place
            elif self.kind == "offered":
                version = max(1, (self.target.last or 0) + rnd.choice([-1, 0, 1, 1, 2, 5]))
            else:
                version = (self.target.last or 0) + rnd.randint(1, 3)
            outcome, upserted, deleted = self.target.snapshot(version, rows, columns)
            self.place += self.kind == "places" and outcome == "processed"
            counts = [counts[0] + upserted, counts[1] + deleted]
            given.append((version, rows))
        self.series += given
        return given, tuple(counts)

    # --- SQL

    def sql(self, update):
        columns = self.shown(update)
        listed = ", ".join(columns)
        every = ", ".join(f"{c} {t}" for c, t in TYPES.items())
        clauses = f"KEYS ({', '.join(self.keys)}) STORED AS SCD TYPE {self.scd}"
        if self.track:
            clauses += f" TRACK HISTORY ON {', '.join(self.track)}"
        if self.track_except:
            clauses += f" TRACK HISTORY ON * EXCEPT ({', '.join(self.track_except)})"
        properties = ", ".join(f"'{k}' = '{v}'" for k, v in self.properties.items())
        files = f"read_files('${{source}}/{self.name}{'' if self.kind == 'waiting' else '/*.json'}', format => 'json', schema => 'v INT, {every}')"
        if self.kind == "waiting":
            source = f"CREATE STREAMING TABLE {self.name}_s AS SELECT * FROM STREAM {files};\n"
        else:
            source = f"CREATE MATERIALIZED VIEW {self.name}_s AS SELECT * FROM {files};\n"
        if self.kind == "places":
            source += f"CREATE TEMPORARY VIEW {self.name}_v AS SELECT {listed} FROM {self.name}_s WHERE id IS NOT NULL;\n"
            what = f"{self.name}_v"
        elif self.kind == "offered":
            what = f"(SELECT {listed} FROM {self.name}_s WHERE id IS NOT NULL) WITH VERSION (SELECT DISTINCT v FROM {self.name}_s)"
        else:
            what = (f"(SELECT {listed} FROM {self.name}_s WHERE id IS NOT NULL AND v = (SELECT v FROM current_snapshot_version())) "
                    f"WITH VERSION (SELECT v FROM {self.name}_s WHERE v > coalesce((SELECT v FROM last_snapshot_version()), 0) ORDER BY v LIMIT 1)")
        return source + (f"CREATE STREAMING TABLE {self.name} TBLPROPERTIES ({properties});\n"
                         f"CREATE FLOW {self.name}_flow AS AUTO CDC INTO {self.name} FROM SNAPSHOT {what} {clauses};\n")

    def write(self, project, given):
        directory = project.root / "in" / self.name
        directory.mkdir(exist_ok=True)
        if self.kind != "waiting":
            for path in directory.iterdir():
                path.unlink()
        project.add_file([{"v": version, **row} for version, rows in given for row in rows or [{"id": None}]], self.name)

    # --- statements

    def statement(self, project):
        """One on the target and on the model's rows."""
        rnd, target = self.rnd, self.target
        open_rows = target.open_rows()
        of_open = "" if self.scd == 1 else " AND __END_AT IS NULL"
        if not self.has_statements or target.last is None or rnd.random() < 0.4:
            return
        if open_rows and rnd.random() < 0.7:
            row = rnd.choice(open_rows)
            where = " AND ".join(f"{k} = {literal(row[k])}" for k in self.keys) + of_open
            if rnd.random() < 0.5:
                project.query(f"DELETE FROM {self.name} WHERE {where}")
                target.rows = [r for r in target.rows if r is not row]
            else:
                project.query(f"UPDATE {self.name} SET x = 'hand' WHERE {where}")
                row["x"] = "hand"
            return
        row = {"id": 9, "k": "h", "x": "new"}
        if target.key(row) in [target.key(r) for r in target.rows]:
            return
        start = f", {target.last}" if self.scd == 2 else ""
        project.query(f"INSERT INTO {self.name} (id, k, x{', __START_AT' if self.scd == 2 else ''}) VALUES (9, 'h', 'new'{start})")
        target.rows.append(target.made(row, target.last))


def literal(value):
    return f"'{value}'" if isinstance(value, str) else str(value)


def canonical(rows, columns):
    return sorted(json.dumps([row.get(c) for c in columns], sort_keys=True) for row in rows)


def check(project, case, update, counts, flow):
    columns = case.target.columns + (["__START_AT", "__END_AT"] if case.scd == 2 else [])
    got = canonical(project.query(f"SELECT {', '.join(columns)} FROM {case.name}"), columns)
    wanted = canonical(case.target.rows, columns)
    metrics = (flow["metrics"].get("num_upserted_rows", 0), flow["metrics"].get("num_deleted_rows", 0))
    if got == wanted and metrics == counts:
        return None
    return (f"{case.name} after update {update}: {case.sql(update)}  series {case.series}\n  got {got} {metrics}\n"
            f"  wanted {wanted} {counts}")


def run_project(cases, other):
    findings = []
    with Project("".join(case.sql(1) for case in cases)) as p:
        for update in range(1, N_UPDATES + 1):
            p.sql("".join(case.sql(update) for case in cases))
            counts = {}
            for case in cases:
                case.statement(p) if update > 1 else None
                given, counts[case.name] = case.next_snapshots(update)
                case.write(p, given)
            p.update()
            flows = p.last_update_metrics()
            findings += [f for f in (check(p, case, update, counts[case.name], flows[f"{case.name}_flow"]) for case in cases) if f]
            if findings:
                return findings
        for case in cases:
            if other and not case.has_statements:
                series = [(v, rows) for v, rows in case.series]
                if case.kind == "places":  # every read has a place, and those without changes take none
                    continue
                model.check_reference(other, case.keys, case.scd, case.track, case.track_except, series, case.target)
    return findings


def main():
    other = reference()
    return run_cases(arguments().parse_args(), Case, lambda cases: run_project(cases, other), CASES_PER_PROJECT)


if __name__ == "__main__":
    sys.exit(main())

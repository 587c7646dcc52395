#!/usr/bin/env python3
"""Random AUTO CDC cases through `sluice run`: ten targets a project, files cut into several updates, against the project's own model.

usage: test_random_autocdc.py [--cases N] [--seed S]
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import autocdc_model as model  # noqa: E402
from project import Project  # noqa: E402
from random_cases import arguments, canonical, run_cases  # noqa: E402

CASES_PER_PROJECT = 10
N_UPDATES = 3


class Case:
    """A target: clauses, the flows into it with the columns that their sources lack, and the events of each update for each flow. The column
    z joins a source in the last update, for some. A once flow has events in the first update; what comes later is not read."""

    def __init__(self, number, rnd):
        self.name = f"c{number}"
        self.scd = rnd.choice([1, 2])
        self.track = rnd.choice([None, None, ["x"], ["y"]]) if self.scd == 2 else None
        self.track_except = ["y"] if self.scd == 2 and self.track is None and rnd.random() < 0.3 else None
        self.deletes = rnd.random() < 0.8
        self.vectors = rnd.random() < 0.7
        self.one_by_one = rnd.random() < 0.6  # an update has a batch for every file, read while the one before it is applied
        self.lacks = []
        for flow in range(rnd.choice([1, 1, 2, 3])):
            free = [c for c in ("x", "y") if c not in (self.track or []) + (self.track_except or [])]
            self.lacks.append(rnd.choice(free) if flow > 0 and free and rnd.random() < 0.5 else None)
        self.once = [flow > 0 and rnd.random() < 0.3 for flow in range(len(self.lacks))]
        grows = [rnd.random() < 0.4 for _ in self.lacks]
        self.updates = [[[self.draw(rnd, lacks, grows[f] and u == N_UPDATES - 1) for _ in range(rnd.randint(1, 8))]
                         for f, lacks in enumerate(self.lacks)] for u in range(N_UPDATES)]
        for f in range(len(self.lacks)):
            if rnd.random() < 0.5 and not grows[f]:  # events come again
                self.updates[-1][f] += rnd.sample(self.updates[0][f], min(2, len(self.updates[0][f])))
        self.order = rnd.sample(range(len(self.lacks)), len(self.lacks))

    @staticmethod
    def draw(rnd, lacks, with_z):
        event = {"id": rnd.randint(1, 4), "x": rnd.choice(["a", "b", None]), "y": rnd.choice([1, 2, None]),
                 "op": rnd.choice(["U", "U", "U", "D"]), "s": rnd.randint(1, 9)}
        if with_z:
            event["z"] = rnd.choice(["p", "q", None])
        event.pop(lacks, None)
        return event

    def seen(self, n_updates):
        return [event for u, update in enumerate(self.updates[:n_updates]) for f, events in enumerate(update) for event in events
                if u == 0 or not self.once[f]]

    def sql(self):
        clauses = ["KEYS (id)"]
        if self.deletes:
            clauses.append("APPLY AS DELETE WHEN op = 'D'")
        clauses += ["SEQUENCE BY s", "COLUMNS * EXCEPT (op, s, _rescued_data)", f"STORED AS SCD TYPE {self.scd}"]
        if self.track:
            clauses.append(f"TRACK HISTORY ON {', '.join(self.track)}")
        if self.track_except:
            clauses.append(f"TRACK HISTORY ON * EXCEPT ({', '.join(self.track_except)})")
        properties = f"TBLPROPERTIES ('delta.enableDeletionVectors' = '{str(self.vectors).lower()}')"
        sql = [f"CREATE STREAMING TABLE {self.name} {properties};\n"]
        for f in self.order:
            hints = "".join(f", {c} {t}" for c, t in (("x", "STRING"), ("y", "INT")) if c != self.lacks[f])
            sql.append(f"CREATE STREAMING TABLE {self.name}_events{f} AS SELECT * FROM STREAM read_files('${{source}}/{self.name}_{f}', format => 'json', "
                       f"schemaHints => 'id INT{hints}, op STRING, s INT'{', maxFilesPerTrigger => 1' if self.one_by_one else ''});\n")
            source = f"STREAM {self.name}_events{f} WITH (maxFilesPerTrigger = 1)" if self.one_by_one else f"STREAM({self.name}_events{f})"
            sql.append(f"CREATE FLOW {self.name}_flow{f} AS AUTO CDC {'ONCE ' if self.once[f] else ''}INTO {self.name} FROM {source} "
                       f"{' '.join(clauses)};\n")
        return "".join(sql)

    def expected(self, n_updates):
        flow = model.Flow(["id"], "s", self.scd, op="op" if self.deletes else None, except_columns=["op", "s"], track=self.track,
                          track_except=self.track_except)
        return model.rows(flow, self.seen(n_updates))


def check(project, case, n_updates):
    columns = ["id", "x", "y"] + (["z"] if any("z" in e for e in case.seen(n_updates)) else [])
    columns += ["__START_AT", "__END_AT"] if case.scd == 2 else []
    got = canonical(project.query(f"SELECT {', '.join(f'`{c}`' for c in columns)} FROM {case.name}"), columns)
    wanted = canonical(case.expected(n_updates), columns)
    if got == wanted:
        return None
    return f"{case.name} after update {n_updates}:\n  flow {case.sql()}  events {case.updates[:n_updates]}\n  got {got}\n  wanted {wanted}"


def run_project(cases):
    findings = []
    with Project("".join(case.sql() for case in cases)) as p:
        for update in range(N_UPDATES):
            for case in cases:
                for flow, events in enumerate(case.updates[update]):
                    step = 3 if case.one_by_one else len(events)
                    for first in range(0, len(events), step):
                        p.add_file(events[first:first + step], f"{case.name}_{flow}")
            p.update()
            findings += [f for f in (check(p, case, update + 1) for case in cases) if f]
    return findings


def main():
    return run_cases(arguments().parse_args(), Case, run_project, CASES_PER_PROJECT)


if __name__ == "__main__":
    sys.exit(main())

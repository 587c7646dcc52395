#!/usr/bin/env python3
"""Random AUTO CDC cases through `sluice run`: ten flows a project, files cut into several updates, against the project's own model.

usage: test_random_autocdc.py [--cases N] [--seed S]
"""
import argparse
import json
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import autocdc_model as model  # noqa: E402
from project import Project  # noqa: E402

CASES_PER_PROJECT = 10
N_UPDATES = 3


class Case:
    """One flow: its clauses, and the events of each update. The column z joins the source in the last update, for some."""

    def __init__(self, number, rnd):
        self.name = f"c{number}"
        self.scd = rnd.choice([1, 2])
        self.track = rnd.choice([None, None, ["x"], ["y"]]) if self.scd == 2 else None
        self.track_except = ["y"] if self.scd == 2 and self.track is None and rnd.random() < 0.3 else None
        self.deletes = rnd.random() < 0.8
        self.vectors = rnd.random() < 0.7
        grows = rnd.random() < 0.4
        self.updates = [[self.draw(rnd, grows and u == N_UPDATES - 1) for _ in range(rnd.randint(1, 8))] for u in range(N_UPDATES)]
        if rnd.random() < 0.5 and not grows:  # events come again
            self.updates[-1] += rnd.sample(self.updates[0], min(2, len(self.updates[0])))

    @staticmethod
    def draw(rnd, with_z):
        event = {"id": rnd.randint(1, 4), "x": rnd.choice(["a", "b", None]), "y": rnd.choice([1, 2, None]),
                 "op": rnd.choice(["U", "U", "U", "D"]), "s": rnd.randint(1, 9)}
        if with_z:
            event["z"] = rnd.choice(["p", "q", None])
        return event

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
        return (f"CREATE STREAMING TABLE {self.name}_events AS SELECT * FROM STREAM read_files('${{source}}/{self.name}', format => 'json', "
                f"schemaHints => 'id INT, x STRING, y INT, op STRING, s INT');\n"
                f"CREATE STREAMING TABLE {self.name} {properties};\n"
                f"CREATE FLOW {self.name}_flow AS AUTO CDC INTO {self.name} FROM STREAM({self.name}_events) {' '.join(clauses)};\n")

    def expected(self, n_updates):
        events = [event for update in self.updates[:n_updates] for event in update]
        flow = model.Flow(["id"], "s", self.scd, op="op" if self.deletes else None, except_columns=["op", "s"], track=self.track,
                          track_except=self.track_except)
        return model.rows(flow, events)


def canonical(rows, columns):
    return sorted(json.dumps([row.get(c) for c in columns]) for row in rows)


def check(project, case, n_updates):
    columns = ["id", "x", "y"] + (["z"] if any("z" in e for u in case.updates[:n_updates] for e in u) else [])
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
                p.add_file(case.updates[update], case.name)
            p.update()
            findings += [f for f in (check(p, case, update + 1) for case in cases) if f]
    return findings


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=100)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    rnd = random.Random(options.seed)
    print(f"seed {options.seed}", flush=True)
    cases = [Case(number, rnd) for number in range(options.cases)]
    findings = []
    for first in range(0, len(cases), CASES_PER_PROJECT):
        findings += run_project(cases[first:first + CASES_PER_PROJECT])
    for finding in findings:
        print("FAIL", finding)
    print(f"{options.cases} cases, {len(findings)} differences")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())

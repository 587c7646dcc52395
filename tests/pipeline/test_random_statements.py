#!/usr/bin/env python3
"""Random batches of events with random statements on the targets in between, RESTORE and maintenance among them, against the project's model:
rows after every step, the feed of every commit, and what delta-rs reads. Some updates are killed first. Some targets are adopted tables.

usage: test_random_statements.py [--cases N] [--seed S] [--updates N]
"""
import collections
import copy
import json
import pathlib
import random
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import autocdc_model as model  # noqa: E402
from project import Project  # noqa: E402
from random_cases import arguments, canonical, run_cases  # noqa: E402

try:
    import deltalake
except ImportError:
    deltalake = None

CASES_PER_PROJECT = 10
SHAPE = {"p": None, "q": None}
NO_RETENTION = "SET spark.databricks.delta.retentionDurationCheck.enabled = false; "


def literal(value):
    if isinstance(value, dict):
        return f"named_struct({', '.join(f'{literal(n)}, CAST({literal(v)} AS STRING)' for n, v in value.items())})"
    return "NULL" if value is None else f"'{value}'" if isinstance(value, str) else str(value)


def values(rows, columns):
    return ", ".join("(" + ", ".join(literal(row[c]) for c in columns) + ")" for row in rows)


class Case:
    """A target of one flow, which finds it empty, with rows of statements (early) or as a plain table to adopt. saved: what it was at versions
    to which it may be restored; feed_whole: whether the feed can be read from the start, without a VACUUM or a column that went."""

    def __init__(self, number, rnd):
        self.name, self.rnd, self.scd = f"c{number}", rnd, rnd.choice([1, 1, 2, 2, model.BITEMPORAL])
        self.properties = {"delta.enableDeletionVectors": rnd.choice(["true", "false"])}
        self.properties |= rnd.choice([{"delta.enableChangeDataFeed": "true"}, {"delta.enableRowTracking": "true"}, {}])
        self.payload = ["x", "y"] + rnd.choice([[], ["w"]])
        self.partition = rnd.choice(["id", "x"]) if rnd.random() < 0.15 else None
        self.track = rnd.choice([None, None, ["x"]]) if self.scd == 2 else None
        self.truncates = self.scd == 1 and rnd.random() < 0.3
        self.ignore_null = rnd.choice([None, None, True, ["x"], self.payload[1:]])
        self.lists = self.ignore_null is None and self.scd != model.BITEMPORAL and rnd.random() < 0.2
        excepted = ["op", "s"] + ["known"] * (self.scd == model.BITEMPORAL)
        self.flow = model.Flow(["id"], "s", self.scd, op="op", except_columns=excepted, track=self.track, truncates=self.truncates,
                               system="known" if self.scd == model.BITEMPORAL else None, ignore_null=self.ignore_null,
                               to_update="cu" if self.lists else None, shapes={"w": SHAPE})
        self.target = model.Target(self.flow)
        self.adopts = self.scd != model.BITEMPORAL and not self.partition and rnd.random() < 0.15
        self.early = self.adopts or rnd.random() < 0.4
        self.grows = not self.early and rnd.random() < 0.3
        if self.early:
            self.target.columns = list(self.payload)
        self.saved, self.feed_whole = {}, True
        self.sent, self.steps, self.updates = [], [], 0

    def types(self):
        return "id INT, " + ", ".join(f"{c} {({'x': 'STRING', 'y': 'INT', 'w': 'STRUCT<p: STRING, q: STRING>'})[c]}" for c in self.payload)

    def sql(self):
        more = ["op", "s"] + ["known"] * (self.flow.system is not None) + ["cu"] * self.lists
        source = self.types() + ", op STRING, s INT" + ", known INT" * (self.flow.system is not None) + ", cu ARRAY<STRING>" * self.lists
        excepted = more + ["_rescued_data"] * (not self.early)
        clauses = ["KEYS (id)"]
        if self.ignore_null:
            clauses.append("IGNORE NULL UPDATES" + ("" if self.ignore_null is True else f" ON {', '.join(self.ignore_null)}"))
        clauses += ["COLUMNS TO UPDATE cu"] * self.lists + ["APPLY AS DELETE WHEN op = 'D'"]
        clauses += ["APPLY AS TRUNCATE WHEN op = 'T'"] * self.truncates + ["SEQUENCE BY s"]
        clauses += ["SYSTEM SEQUENCE BY known"] * (self.flow.system is not None) + [f"COLUMNS * EXCEPT ({', '.join(excepted)})"]
        clauses.append("STORED AS BITEMPORAL" if self.scd == model.BITEMPORAL else f"STORED AS SCD TYPE {self.scd}")
        clauses += [f"TRACK HISTORY ON {', '.join(self.track)}"] if self.track else []
        partition = f"PARTITIONED BY ({self.partition}) " if self.partition else ""
        return (f"CREATE STREAMING TABLE {self.name}_events AS SELECT * FROM STREAM read_files('${{source}}/{self.name}', format => 'json', "
                f"{'schema' if self.early else 'schemaHints'} => '{source}');\n"
                f"CREATE STREAMING TABLE {self.name} {partition}{self.table_properties()};\n"
                f"CREATE FLOW {self.name}_flow AS AUTO CDC INTO {self.name} FROM STREAM({self.name}_events) {' '.join(clauses)};\n")

    def table_properties(self):
        return f"TBLPROPERTIES ({', '.join(f'{k!r} = {v!r}' for k, v in self.properties.items())})"

    def adopted(self):
        """The statements that make the plain table."""
        if not self.adopts:
            return []
        rows = [self.whole(self.new_row(key)) for key in self.rnd.sample(range(1, 6), self.rnd.randint(0, 3))]
        interval = ", __START_AT INT, __END_AT INT" * (self.scd == 2)
        texts = [f"CREATE TABLE {self.name} ({self.types()}{interval}) USING delta {self.table_properties()}"]
        texts += [f"INSERT INTO {self.name} VALUES {values(rows, self.columns())}"] if rows else []
        texts.append(f"ALTER STREAMING TABLE {self.name} ADOPT")
        self.target.statement([], rows)
        self.steps += [("statement", text) for text in texts]
        return texts

    def columns(self):
        return ["id"] + self.target.columns + model.INTERVALS[self.scd]

    def draw_part(self, values_):
        return self.rnd.choice([None, {"p": self.rnd.choice(values_), "q": self.rnd.choice(values_)}])

    def event(self):
        rnd = self.rnd
        event = {"id": rnd.randint(1, 4), "x": rnd.choice(["a", "b", None]), "y": rnd.choice([1, 2, None]),
                 "op": rnd.choice(["U", "U", "U", "D"]), "s": rnd.randint(1, 9)}
        if self.truncates and rnd.random() < 0.15:
            event |= {"op": "T", "id": rnd.choice([None, 1])}
        if "w" in self.payload:
            event["w"] = self.draw_part(["a", "b", None])
        if self.flow.system:
            event["known"] = rnd.randint(1, 6)
        if self.grows and self.updates >= 2:
            event["z"] = rnd.choice(["p", None])
        if self.lists:
            event["cu"] = rnd.choice([None, rnd.sample(self.payload, rnd.randint(0, len(self.payload)))])
        return event

    def batch(self):
        rnd, events = self.rnd, []
        for _ in range(rnd.randint(1, 6)):
            again = self.sent and rnd.random() < 0.25 and not self.grows
            events.append(rnd.choice(self.sent) if again else self.event())
        self.sent += events
        self.steps.append(("batch", events))
        self.updates += 1
        self.target.batch(events)
        return events

    # --- statements: SQL, and the rows that go and come

    def new_row(self, key=None):
        rnd = self.rnd
        row = {"id": key or rnd.randint(1, 5), "x": rnd.choice(["c", "d", None]), "y": rnd.choice([3, None])}
        if "w" in self.payload:
            row["w"] = self.draw_part(["c", None])
        if self.scd == 2:
            start = rnd.randint(1, 9)
            row |= {"__START_AT": start, "__END_AT": rnd.choice([None, start + rnd.randint(1, 4)])}
        return row

    def condition(self):
        key, x = self.rnd.randint(1, 5), self.rnd.choice(["a", "b", "c"])
        choices = [(f"id = {key}", lambda r: r["id"] == key)]
        if self.scd == model.BITEMPORAL:
            return choices[0]
        choices += [(f"x = '{x}'", lambda r: r["x"] == x), ("y IS NULL", lambda r: r["y"] is None)]
        if self.scd == 2:
            choices.append(("__END_AT IS NULL", lambda r: r["__END_AT"] is None))
        return self.rnd.choice(choices)

    def delete(self):
        text, holds = self.condition()
        return f"DELETE FROM {self.name} WHERE {text}", [r for r in self.target.visible if holds(r)], []

    def truncate(self):
        return self.rnd.choice(["TRUNCATE TABLE ", "DELETE FROM "]) + self.name, list(self.target.visible), []

    def update(self):
        text, holds = self.condition()
        sets = [("x = 'u'", lambda r: {"x": "u"}), ("y = y + 10", lambda r: {"y": None if r["y"] is None else r["y"] + 10}),
                ("y = y", lambda r: {})]
        sets += [] if self.truncates else [("id = id + 1", lambda r: {"id": r["id"] + 1})]
        if "w" in self.payload:
            sets += [("w = NULL", lambda r: {"w": None}), ("w.p = 'u'", lambda r: {"w": {"p": "u", "q": (r.get("w") or SHAPE)["q"]}})]
        if self.scd == 2:
            sets.append(("__END_AT = __START_AT + 2", lambda r: {"__END_AT": r["__START_AT"] + 2}))
        change, new = self.rnd.choice(sets)
        if self.rnd.random() < 0.2:
            old = list(self.target.visible)
            return f"UPDATE {self.name} SET {change}", old, [r | new(r) for r in old]
        old = [r for r in self.target.visible if holds(r)]
        return f"UPDATE {self.name} SET {change} WHERE {text}", old, [r | new(r) for r in old]

    def insert(self):
        free = range(1, 6)
        if self.truncates:  # a truncate need not meet a key, so that it has no two rows
            free = sorted({1, 2, 3, 4, 5} - {row["id"] for row in self.target.visible})
        rows = [self.new_row(key) for key in self.rnd.sample(free, min(len(free), self.rnd.randint(1, 2)))]
        if not rows:
            return self.maintain()
        rows += [self.new_row(rows[0]["id"])] if not self.truncates and self.rnd.random() < 0.2 else []
        columns = list(rows[0])
        text = f"INSERT INTO {self.name} ({', '.join(columns)}) VALUES {values(rows, columns)}"
        return text, [], [self.whole(r) for r in rows]

    def whole(self, row):
        return {c: row.get(c) for c in self.columns()}

    def overwrite(self):
        rows = [self.whole(self.new_row(key)) for key in self.rnd.sample(range(1, 6), self.rnd.randint(0, 3))]
        body = f"VALUES {values(rows, self.columns())}" if rows else f"SELECT * FROM {self.name} WHERE false"
        return f"INSERT OVERWRITE {self.name} {body}", list(self.target.visible), rows

    def replace(self):
        rows, key = [self.whole(self.new_row())], self.rnd.randint(1, 5)
        rows[0]["id"] = key
        text = f"INSERT INTO {self.name} REPLACE WHERE id = {key} VALUES {values(rows, self.columns())}"
        return text, [r for r in self.target.visible if r["id"] == key], rows

    def merge(self):
        source = {row["id"]: row for row in (self.new_row() for _ in range(3))}
        columns = list(next(iter(source.values())))
        deletes = self.rnd.random() < 0.5
        by_source = self.rnd.random() < 0.3
        text = (f"MERGE INTO {self.name} t USING (VALUES {values(source.values(), columns)}) AS s({', '.join(columns)}) ON t.id = s.id "
                + ("WHEN MATCHED AND s.x IS NULL THEN DELETE " if deletes else "")
                + "WHEN MATCHED THEN UPDATE SET x = s.x "
                + f"WHEN NOT MATCHED THEN INSERT ({', '.join(columns)}) VALUES ({', '.join('s.' + c for c in columns)})"
                + (" WHEN NOT MATCHED BY SOURCE AND t.y IS NULL THEN DELETE" if by_source else ""))
        removed, added = [], []
        for row in self.target.visible:
            match = source.get(row["id"])
            if match is None:
                removed += [row] if by_source and row["y"] is None else []
                continue
            removed.append(row)
            if not (deletes and match["x"] is None):
                added.append(row | {"x": match["x"]})
        present = {row["id"] for row in self.target.visible}
        return text, removed, added + [self.whole(r) for key, r in source.items() if key not in present]

    def maintain(self):
        text = self.rnd.choice([f"REORG TABLE {self.name} APPLY (PURGE)", f"OPTIMIZE {self.name}", f"{NO_RETENTION}VACUUM {self.name} RETAIN 0 HOURS"])
        if "VACUUM" in text:
            self.saved, self.feed_whole = {}, False
        return text, [], []

    def save(self, version):
        self.saved[version] = copy.deepcopy(self.target)

    def restore(self):
        if not self.saved:
            return self.maintain()
        version = self.rnd.choice(list(self.saved))
        self.feed_whole = self.feed_whole and self.saved[version].columns == self.target.columns
        self.target = copy.deepcopy(self.saved[version])
        self.saved = {v: target for v, target in self.saved.items() if v <= version}
        return f"COMMENT ON TABLE {self.name} IS 'older'; RESTORE TABLE {self.name} TO VERSION AS OF {version}", [], []

    def statement(self):
        makers = [self.delete, self.delete, self.truncate, self.maintain, self.maintain, self.restore, self.restore]
        if self.scd != model.BITEMPORAL:
            makers += [self.delete, self.update, self.update, self.update, self.insert, self.insert, self.insert, self.merge, self.merge,
                       self.merge, self.overwrite, self.replace]
        text, removed, added = self.rnd.choice(makers)()
        self.steps.append(("statement", text))
        if removed or added:
            self.target.statement(removed, added)
        return text


def plain(value):
    """A struct without values is one with fields that were not given: as fields, both are the same."""
    return None if isinstance(value, dict) and all(v is None for v in value.values()) else value


def check(project, case, what):
    columns = case.columns()
    got = canonical(project.query(f"SELECT {', '.join(f'`{c}`' for c in columns)} FROM {case.name}"), columns, plain)
    wanted = canonical(case.target.visible, columns, plain)
    if got == wanted:
        return None
    steps = "\n    ".join(str(step) for step in case.steps)
    return f"{case.name} after {what}:\n  flow {case.sql()}  steps\n    {steps}\n  got {got}\n  wanted {wanted}"


def check_feed(project, case):
    """Replayed from the start, the feed gives the rows."""
    columns, net = case.columns(), collections.Counter()
    for row in project.query(f"SELECT * FROM table_changes('{case.name}', 0)"):
        net[json.dumps([plain(row.get(c)) for c in columns])] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
    got = sorted(row for row, n in net.items() for _ in range(n))
    if got == canonical(case.target.visible, columns, plain) and min(net.values(), default=0) >= 0:
        return None
    return f"{case.name}: the feed gives {net}, the rows are {case.target.visible}; steps {case.steps}"


def check_foreign(project, case):
    location = project.query(f"DESCRIBE DETAIL {case.name}")[0]["location"].removeprefix("file:")
    rows = deltalake.QueryBuilder().register("t", deltalake.DeltaTable(location)).execute("SELECT * FROM t").read_all()
    columns = case.columns()
    names = list(rows.schema.names) if hasattr(rows.schema, "names") else [field.name for field in rows.schema]
    if sorted(names) != sorted(columns):
        return f"{case.name}: delta-rs sees the columns {names}"
    got = canonical([dict(zip(names, row)) for row in zip(*(rows.column(n).to_pylist() for n in names))], columns, plain)
    return None if got == canonical(case.target.visible, columns, plain) else f"{case.name}: delta-rs reads {got}; steps {case.steps}"


def run_project(cases, n_updates):
    findings, rnd = [], cases[0].rnd
    with Project("".join(case.sql() for case in cases)) as p:
        for text in [text for case in cases for text in case.adopted()]:
            p.query(text)
        for update in range(n_updates):
            for case in cases:
                (p.root / "in" / case.name).mkdir(exist_ok=True)
                if update > 0 or not case.early or case.adopts:
                    p.add_file(case.batch(), case.name)
            if rnd.random() < 0.4:
                p.run(env={"SLUICE_FAULT": f"n={rnd.randint(1, 600)},mode=kill"})
            p.update()
            findings += [f for f in (check(p, case, f"update {update + 1}") for case in cases) if f]
            if findings or update == n_updates - 1:
                break
            for case in cases:
                if case.rnd.random() < 0.5:
                    case.save(p.query(f"DESCRIBE HISTORY {case.name}")[0]["version"])
                for _ in range(case.rnd.randint(0, 3)):
                    text = case.statement()
                    p.query(text)
                    finding = check(p, case, text)
                    if finding:
                        return findings + [finding]
        for case in cases:
            if not findings and len(case.properties) > 1 and case.feed_whole:
                findings += [f for f in [check_feed(p, case)] if f]
            if not findings and deltalake:
                findings += [f for f in [check_foreign(p, case)] if f]
    return findings


def main():
    parser = arguments()
    parser.add_argument("--updates", type=int, default=4, help="with many of them state files are merged")
    options = parser.parse_args()
    return run_cases(options, lambda number, rnd: Case(number, random.Random(rnd.random())), lambda cases: run_project(cases, options.updates),
                     CASES_PER_PROJECT, "" if deltalake else " (delta-rs not asked)")


if __name__ == "__main__":
    sys.exit(main())

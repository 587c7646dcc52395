#!/usr/bin/env python3
"""Writes AUTO CDC cases, one JSON object a line, for the harness tests/autocdc.

  autocdc_cases.py --seed 7 --count 60          random cases
  autocdc_cases.py --stated                     the examples of autocdc.md §10 and §11, in one batch, every split in two, shuffled
  autocdc_cases.py --check 5000 [--seed 7]      no cases: random events, this model against a second one, and the properties of §12

A case: {name, flow, properties, partition, retention, batches}. `flow` has the clauses as SQL: keys, sequence, system, delete, truncate, columns,
except, scd (3 = bitemporal), track, track_except, ignore_null (true or a list), ignore_null_except, to_update, snapshot.
A step of `batches` is
  a batch        {schema, events, clock, run, rows, facts, fields, columns, upserted, deleted}: `schema` is Spark's JSON of the source;
                 events, rows and facts are SELECTs in DuckDB's SQL; the clock is in seconds; `run` numbers the flows into the target.
                 Of a snapshot flow events are the snapshot, and `version` is SQL of its version, a `version_type`. Facts have the columns k0…, s, y (bitemporal),
                 d, for each field (a path) a<i>, v<i>: whether it is authored, and its value; and `needed`: whether it must still be known. With partial
                 updates every field of an upsert is a row of its own, and one row says that the upsert is there.
                 `fault` {n, mode}: the store fails so at its n-th operation, then the batch comes again. `beside`: a maintenance, or the
                 batch of another flow, at the batch's first write into the log.
  maintenance    {maintain: "optimize" …}: rows and memory stay as they are, also when it fails by a `fault`
Every case is checked against a second model when one is given by SLUICE_SHARED.
"""
import argparse
import json
import os
import random
import sys

import autocdc_model as model
from autocdc_second import cross_check, second_model
from autocdc_types import (BINARY, BOOLEAN, DATE, DECIMAL, DOUBLE, FLOAT, INTEGER, LONG, STRING, TIMESTAMP, array, draw, leaf_of, listed,
                           map_of, schema, select, shape_of, struct)

# Clauses that the engine refuses by name.
NOT_YET = set()


class Case:
    """types: {column: Type}; sequence: SQL of the sequence over the event's columns, its value is event[flow.seq]."""

    def __init__(self, name, flow, types, properties, retention=-1, sequence="q"):
        self.name, self.flow, self.types, self.properties = name, flow, types, properties
        self.retention, self.sequence, self.partition = retention, sequence, []
        self.batches, self.events, self.fields, self.before = [], [], [], []
        self.first = {}  # {place of a part of a fact: the clock of its first batch}
        self.set_types({})

    def set_types(self, types):
        """types: the source's where they are not the target's; they become the target's."""
        self.types |= types
        self.flow.shapes = {c: shape_of(t) for c, t in self.types.items() if shape_of(t)}

    def add(self, columns, events, clock=None, spelled=None, **more):
        """columns: the source's columns at this time, in order; spelled: {column: as the source spells it}."""
        flow, clock = self.flow, len(self.batches) if clock is None else clock
        self.fields += [c for c in columns if flow.targets(c) and c not in self.fields]
        self.events += events
        for event in events:
            for part in [] if flow.is_truncate(event) else model.parts(flow, model.fact_of(flow, event)):
                self.first.setdefault(self.place(part), clock)
        source = [((spelled or {}).get(c, c), self.types[c]) for c in columns]
        self.step(source, select(source, [{(spelled or {}).get(c, c): v for c, v in e.items()} for e in events]), clock, **more)

    def step(self, source, text, clock, **more):
        flow = self.flow
        rows = model.rows(flow, self.events)
        for row in rows + self.before:  # both with the columns and leaves of now
            for c in self.fields:
                row |= model.shown(flow, c, row.get(c))
        upserted, deleted = model.metrics(flow, self.before, rows)
        self.before = rows
        self.batches.append({
            "schema": schema(source), "events": text, "rows": listed(self.target(), rows),
            "facts": None if "version" in more else self.facts(clock), "fields": [list(p) for p in self.paths()],
            "columns": [c for c, _ in self.target()], "upserted": upserted, "deleted": deleted, "clock": clock} | more)

    def target(self):
        """[(name, Type)] of the target's columns."""
        flow = self.flow
        interval = zip(model.INTERVALS[flow.scd], [flow.seq, flow.seq, flow.system, flow.system])
        return [(c, self.types[c]) for c in flow.keys + self.fields] + [(c, self.types[of]) for c, of in interval]

    def paths(self):
        return [p for c in self.fields for p in self.flow.paths(c)]

    @staticmethod
    def place(part):
        return model.frozen([part.key, part.s, part.y]), part.kind, frozenset(part.payload)

    def facts(self, clock):
        flow = self.flow
        columns = [(f"k{i}", self.types[k]) for i, k in enumerate(flow.keys)] + [("s", self.types[flow.seq])]
        columns += ([("y", self.types[flow.system])] if flow.system else []) + [("d", BOOLEAN)]
        for i, path in enumerate(self.paths()):
            columns += [(f"a{i}", BOOLEAN), (f"v{i}", leaf_of(self.types[path[0]], path[1:]))]

        def expired(part):
            return self.retention >= 0 and self.first[self.place(part)] <= clock - self.retention

        known = self.fact_rows(model.known(flow, self.events))
        needed = self.fact_rows(model.needed(flow, self.events, expired))
        assert needed.keys() <= known.keys(), self.name
        return listed(columns + [("needed", BOOLEAN)], [row | {"needed": key in needed} for key, row in known.items()])

    def fact_rows(self, facts):
        """{what makes a fact the same: its row}"""
        rows = {}
        for fact in facts:
            row = {f"k{i}": v for i, v in enumerate(fact.key)} | {"s": fact.s, "y": fact.y, "d": fact.kind == "D"}
            for i, path in enumerate(self.paths()):
                row |= {f"a{i}": path in fact.payload, f"v{i}": fact.payload.get(path)}
            rows[model.frozen(row)] = row
        return rows

    def text(self):
        flow = self.flow
        clauses = {
            "keys": flow.keys, "sequence": None if self.is_snapshot() else self.sequence, "system": flow.system,
            "scd": 3 if flow.scd == model.BITEMPORAL else flow.scd,
            "delete": f"{flow.op} = 'D'" if flow.op and not self.is_snapshot() else None,
            "truncate": f"{flow.op} = 'T'" if flow.truncates else None, "track": flow.track,
            "except": None if self.is_snapshot() else sorted(flow.except_columns),
            "track_except": flow.track_except, "ignore_null": flow.ignore_null, "ignore_null_except": flow.ignore_null_except,
            "to_update": flow.to_update, "snapshot": self.is_snapshot()}
        return json.dumps({"name": self.name, "properties": self.properties, "retention": self.retention, "flow": clauses,
                           "partition": self.partition, "batches": self.batches}, ensure_ascii=False)

    def is_snapshot(self):
        return False


class SnapshotCase(Case):
    def __init__(self, *args):
        super().__init__(*args)
        self.snapshots, self.given = model.Snapshots(self.flow), []

    def snapshot(self, columns, version, rows, **more):
        self.given.append((version, rows))
        if self.snapshots.add(version, rows):
            self.fields += [c for c in columns if self.flow.targets(c) and c not in self.fields]
        self.events = self.snapshots.events
        source = [(c, self.types[c]) for c in columns]
        type_ = self.types[self.flow.seq]
        self.step(source, select(source, rows), len(self.batches), version=type_.sql(version), version_type=type_.spark, **more)

    def is_snapshot(self):
        return True


# --- random cases -----------------------------------------------------------------------------------------------------------

ORDERED = [LONG, LONG, STRING, TIMESTAMP, DOUBLE, DECIMAL, DATE, struct(a=LONG, b=LONG), struct(a=LONG, b=LONG), struct(a=STRING, b=DOUBLE),
           array(LONG)]
STRUCTS = [struct(p=LONG, q=STRING), struct(p=LONG, q=struct(r=STRING, u=DOUBLE))]
PAYLOADS = [STRING, STRING, LONG, INTEGER, DOUBLE, FLOAT, DECIMAL, DATE, TIMESTAMP, BOOLEAN, BINARY, *STRUCTS, array(LONG), array(STRUCTS[0]),
            map_of(STRING, LONG)]
MAINTENANCE = ["optimize", "compact", "vacuum", "checkpoint", "cleanup", "purge"]
FAULTS = ["crash", "crash", "fail", "lost", "torn"]


def draw_properties(rnd):
    out = {"delta.enableDeletionVectors": rnd.choice(["true", "false"])}
    if rnd.random() < 0.4:
        out["delta.enableChangeDataFeed"] = "true"
    if rnd.random() < 0.5:
        out["delta.enableRowTracking"] = "true"
    if rnd.random() < 0.15:
        out["delta.columnMapping.mode"] = "name"
    if rnd.random() < 0.1:
        out["delta.enableInCommitTimestamps"] = "true"
    if rnd.random() < 0.1:
        out["delta.checkpointInterval"] = "2"
    return out


def grown(rnd, type_):
    """Types that a source's column has one after the other; the last is @type_."""
    if hasattr(type_, "fields") and rnd.random() < 0.7:
        names = list(type_.fields)
        return [struct(**{n: type_.fields[n] for n in names[:1]}), type_]
    narrower = {LONG: INTEGER, DOUBLE: FLOAT}.get(type_)
    return [narrower, type_] if narrower and rnd.random() < 0.5 else [type_]


class Draw:
    """One random case. skip: clauses that are not drawn."""

    def __init__(self, seed, skip):
        self.rnd = rnd = random.Random(seed)
        self.skip = skip
        scd = rnd.choice([1, 1, 2, 2, model.BITEMPORAL] if "bitemporal" not in skip else [1, 2])
        self.keys = ["id", "part"][: rnd.choice([1, 1, 2])]
        self.pool = ["x", "V", "z"][: rnd.randint(1, 3)]
        self.types = {"id": rnd.choice([LONG, LONG, STRING, DATE, DOUBLE, BINARY]), "part": rnd.choice([STRING, INTEGER, TIMESTAMP]),
                      "op": STRING, "q": rnd.choice(ORDERED), "known": rnd.choice([LONG, LONG, TIMESTAMP, STRING, struct(a=LONG, b=LONG)]),
                      "cu": array(STRING)}
        clauses = self.draw_clauses(scd)
        structs = 4 if clauses.get("ignore_null") or "ignore_null_except" in clauses else 0
        self.types |= {c: rnd.choice(PAYLOADS + STRUCTS * structs) for c in self.pool}
        self.n_runs = 2 if rnd.random() < 0.15 else 1
        self.stages = {c: grown(rnd, self.types[c]) if self.n_runs == 1 and rnd.random() < 0.5 else [self.types[c]] for c in self.pool}
        self.types |= {c: stages[0] for c, stages in self.stages.items()}
        self.few = {c: [draw(rnd, self.types[c], 0) for _ in range(2)] for c in self.pool}
        self.deletes = rnd.choice([0, 0.2, 0.4])
        self.truncates = rnd.choice([0.1, 0.3]) if clauses.get("truncates") else 0
        excepted = (["q"] if rnd.random() < 0.9 else []) + ["op"] + (["known"] if scd == model.BITEMPORAL else [])
        self.flow = model.Flow(self.keys, "q", scd, op="op" if self.deletes or self.truncates else None, except_columns=excepted, **clauses)
        self.ids = [draw(rnd, self.types["id"], 0) for _ in range(rnd.choice([1, 2, 4]))]
        self.parts = [draw(rnd, self.types["part"], 0) for _ in range(2)]
        self.times = [draw(rnd, self.types["known"], 0) for _ in range(4)]
        self.retention = rnd.choice([0, 20, 60]) if scd != model.BITEMPORAL and rnd.random() < 0.2 else -1
        self.case = Case(f"seed {seed}", self.flow, self.types, draw_properties(rnd), self.retention)
        self.written, self.clock = [], 0
        if any(len(stages) > 1 for stages in self.stages.values()):
            self.case.properties["delta.enableTypeWidening"] = "true"
        self.careless = "maintenance" not in skip and rnd.random() < 0.5
        self.spells = rnd.random() < 0.15
        self.distinct = rnd.random() < 0.2 and self.types["q"] is LONG

    def may(self, clause, chance):
        return clause not in self.skip and self.rnd.random() < chance

    def draw_clauses(self, scd):
        rnd, out = self.rnd, {}
        if scd == 2 and rnd.random() < 0.5:
            named = rnd.sample(self.pool, rnd.randint(1, len(self.pool)))
            out[rnd.choice(["track", "track_except"])] = named
        if scd == 1 and self.may("truncate", 0.3):
            out["truncates"] = True
        if scd == model.BITEMPORAL:
            out["system"] = "known"
        if self.may("ignore null", 0.4):
            named = rnd.sample(self.pool, rnd.randint(1, len(self.pool)))
            out |= rnd.choice([{"ignore_null": True}, {"ignore_null": named}, {"ignore_null_except": named}])
        elif scd != model.BITEMPORAL and self.may("columns to update", 0.25):
            out["to_update"] = "cu"
        return out

    def columns(self, old):
        """The payload columns of a source at this time. Columns that a list of the flow names are always there."""
        flow, rnd = self.flow, self.rnd
        named = set(flow.track or []) | set(flow.track_except or []) | set(flow.ignore_null_except or [])
        named |= set(flow.ignore_null) if isinstance(flow.ignore_null, list) else set()
        if old and (not self.evolves or rnd.random() < 0.5):
            return old
        return [c for c in self.pool if c in named or not self.evolves or rnd.random() < 0.6] or self.pool[:1]

    def value(self, column):
        if self.rnd.random() < 0.5:
            return self.rnd.choice(self.few[column])
        return draw(self.rnd, self.types[column], 0.4 if self.flow.partial else 0.15)

    def event(self, columns):
        rnd = self.rnd
        event = {k: rnd.choice(self.ids if k == "id" else self.parts) for k in self.keys}
        event["q"] = 1 + len(self.written) if self.distinct else draw(rnd, self.types["q"], 0)
        draw_op = rnd.random()
        event["op"] = "D" if draw_op < self.deletes else "T" if draw_op < self.deletes + self.truncates else rnd.choice(["U", "U", None])
        if self.flow.system:
            event["known"] = rnd.choice(self.times)
        if event["op"] == "T" and rnd.random() < 0.7:
            event |= {k: None for k in self.keys}
        if self.flow.to_update:
            event["cu"] = None if rnd.random() < 0.2 else rnd.sample(columns, rnd.randint(0, len(columns)))
        return event | {c: self.value(c) for c in columns}

    def in_time(self, event):
        """Whether every event of its key at its sequence or above was written within the retention."""
        if self.retention < 0:
            return True
        whole = self.flow.is_truncate(event)
        above = [(e, w) for e, w in self.written if model.rank(e["q"]) >= model.rank(event["q"]) and not self.flow.is_truncate(e)]
        return all(w > self.clock - self.retention for e, w in above
                   if whole or all(model.rank(e[k]) == model.rank(event[k]) for k in self.keys))

    def batch(self, columns, most):
        """Events in the given columns; now and then one comes again."""
        rnd, events, fresh = self.rnd, [], []
        for _ in range(rnd.randint(1, most)):
            again = rnd.choice(self.written)[0] if self.written and not self.distinct and rnd.random() < 0.2 else None
            event = again if again and [c for c in self.pool if c in again] == columns else self.event(columns)
            if not self.in_time(event):
                continue
            events.append(event)
            fresh += [(event, self.clock)] if event is not again else []
        self.written += fresh
        return events

    def grow(self, columns):
        """Now and then a type of the source grows."""
        for c in columns:
            if len(self.stages[c]) > 1 and self.rnd.random() < 0.5:
                self.stages[c].pop(0)
                self.case.set_types({c: self.stages[c][0]})

    def spelled(self, columns):
        """The target's columns in another case; the first spelling is the target's."""
        seen = self.keys + self.case.fields
        return {c: c.swapcase() for c in columns if self.spells and c in seen and self.rnd.random() < 0.3}

    def partitions(self, columns):
        """Columns to partition the target by. Empty texts and NaN are no partition values."""
        fit = [c for c in self.keys + columns if self.types[c] in (LONG, INTEGER, DATE, DECIMAL, BOOLEAN, TIMESTAMP) and len(
            self.stages.get(c, [0])) == 1]
        return self.rnd.sample(fit, 1) if fit and len(self.keys + columns) > 1 and self.rnd.random() < 0.15 else []

    def fault(self):
        return {"fault": {"n": self.rnd.randint(1, 16), "mode": self.rnd.choice(FAULTS)}} if self.careless and self.rnd.random() < 0.3 else {}

    def beside(self, columns):
        """What another process does at the same time; columns: of the sources."""
        rnd, case = self.rnd, self.case
        if not self.careless or rnd.random() > (0.5 if len(columns) > 1 else 0.2) or not case.batches:
            return {}
        run = len(columns) - 1
        events = self.batch(columns[run], 4) if run > 0 and rnd.random() < 0.7 else []
        if not events:
            return {"beside": rnd.choice(["optimize", "purge", "compact", "checkpoint"])}
        case.add(self.source(columns[run]), events, self.clock, run=run)
        return {"beside": case.batches.pop()}

    def source(self, columns):
        return self.keys + ["q", "op"] + [c for c in (self.flow.system, self.flow.to_update) if c] + columns

    def draw(self):
        rnd, case = self.rnd, self.case
        self.evolves = rnd.random() < 0.5
        columns = [self.columns(None) for _ in range(self.n_runs)]
        many = rnd.random() < 0.06  # many small batches, so that state files are merged
        for _ in range(rnd.randint(10, 22) if many else rnd.randint(1, 5)):
            run = rnd.randrange(self.n_runs)
            columns[run] = self.columns(columns[run])
            self.clock += rnd.choice([1, 1, 15, 70])
            before = dict(self.types), {c: list(stages) for c, stages in self.stages.items()}
            if self.written:
                self.grow(columns[run])
            events = self.batch(columns[run], 2 if many else 8)
            if not events:
                self.stages = before[1]
                case.set_types(before[0])
                continue
            if not case.batches and self.n_runs == 1:
                case.partition = self.partitions(columns[run])
            more = self.fault() or self.beside(columns if run == 0 else [])
            case.add(self.source(columns[run]), events, self.clock, self.spelled(self.keys + columns[run]), run=run, **more)
            while self.careless and rnd.random() < 0.35:
                case.batches.append({"maintain": rnd.choice(MAINTENANCE), "clock": self.clock} | self.fault())
        return case


def draw_snapshots(seed):
    rnd = random.Random(seed)
    scd, keys, pool = rnd.choice([1, 2]), ["id", "part"][: rnd.choice([1, 1, 2])], ["x", "Y", "z"][: rnd.randint(1, 3)]
    types = {"id": rnd.choice([LONG, STRING, DATE]), "part": STRING, "v": rnd.choice([LONG, LONG, TIMESTAMP, STRING]), "op": STRING}
    types |= {c: rnd.choice(PAYLOADS) for c in pool}
    track = {rnd.choice(["track", "track_except"]): rnd.sample(pool, 1)} if scd == 2 and rnd.random() < 0.4 else {}
    flow = model.Flow(keys, "v", scd, op="op", except_columns=("v", "op"), **track)
    case = SnapshotCase(f"snapshot seed {seed}", flow, types, draw_properties(rnd))
    few = {c: [draw(rnd, types[c], 0.1) for _ in range(2)] for c in pool}
    parts, careless = types["part"].values[:2], rnd.random() < 0.5
    versions = sorted((draw(rnd, types["v"], 0) for _ in range(rnd.randint(1, 6))), key=model.rank)
    for i in range(1, len(versions)):
        if rnd.random() < 0.2:
            versions[i - 1], versions[i] = versions[i], versions[i - 1]
    for version in versions:
        columns = pool if track or rnd.random() < 0.8 else sorted(rnd.sample(pool, rnd.randint(1, len(pool))))
        rows = {}
        for _ in range(rnd.choice([0, 1, 2, 4, 6])):
            key = {k: rnd.choice(types["id"].values[:4] if k == "id" else parts) for k in keys}
            rows[model.frozen(key)] = key | {c: rnd.choice(few[c]) for c in columns}
        fault = {"fault": {"n": rnd.randint(1, 16), "mode": rnd.choice(FAULTS)}} if careless and rnd.random() < 0.3 else {}
        case.snapshot(keys + columns, version, list(rows.values()), **fault)
        while careless and rnd.random() < 0.35:
            case.batches.append({"maintain": rnd.choice(MAINTENANCE), "clock": len(case.batches)})
    return case


def draw_case(seed, skip=frozenset(NOT_YET)):
    if "snapshot" not in skip and random.Random(seed).random() < 0.08:
        return draw_snapshots(seed)
    return Draw(seed, skip).draw()


# --- the stated examples ----------------------------------------------------------------------------------------------------

USERS = [(124, "Raul", "Oaxaca", "INSERT", 1), (123, "Isabel", "Monterrey", "INSERT", 1), (125, "Mercedes", "Tijuana", "INSERT", 2),
         (126, "Lily", "Cancun", "INSERT", 2), (123, None, None, "DELETE", 6), (125, "Mercedes", "Guadalajara", "UPDATE", 6),
         (125, "Mercedes", "Mexicali", "UPDATE", 5), (123, "Isabel", "Chihuahua", "UPDATE", 5)]
# Rows in the notation `1=a,b[start,end)`, `*` = no end, `-` = NULL.
STATED = [
    ("O1", dict(scd=1), "users", "124=Raul,Oaxaca; 125=Mercedes,Guadalajara; 126=Lily,Cancun"),
    ("O3", dict(scd=2), "users", "123=Isabel,Monterrey[1,5); 123=Isabel,Chihuahua[5,6); 124=Raul,Oaxaca[1,*); 125=Mercedes,Tijuana[2,5);"
     " 125=Mercedes,Mexicali[5,6); 125=Mercedes,Guadalajara[6,*); 126=Lily,Cancun[2,*)"),
    ("O4", dict(scd=2, track_except=["city"]), "users", "123=Isabel,Chihuahua[1,6); 124=Raul,Oaxaca[1,*); 125=Mercedes,Guadalajara[2,*);"
     " 126=Lily,Cancun[2,*)"),
    ("O2", dict(scd=1, truncates=True), "users and a truncate", "125=Mercedes,Guadalajara"),
    ("O5", dict(scd="bitemporal"), "1:U x10,y10@10/100; 1:U x20,y20@20/200",
     "1=x10,y10[10,*)/[100,200); 1=x10,y10[10,20)/[200,*); 1=x20,y20[20,*)/[200,*)"),
    ("P1", dict(scd=1), "1:U alice@1; 2:U bob@1; 1:U alicia@2; 2:D@2; 3:U carol@1; 1:U alice@1", "1=alicia; 3=carol"),
    ("D01", dict(scd=1), "1:U a@2; 1:U b@1", "1=a"),
    ("D02", dict(scd=1), "1:U a@5; 1:D@3", "1=a"),
    ("D03", dict(scd=1), "1:D@5; 1:U a@3", ""),
    ("D04", dict(scd=1), "1:U a@1; 1:D@2; 1:U b@3", "1=b"),
    ("D05", dict(scd=1), "1:U a@1; 1:U a@1; 1:U a@1", "1=a"),
    ("D06", dict(scd=1), "1:U b@1; 1:U a@1", "1=b"),
    ("D07", dict(scd=1), "1:U a@4; 1:D@4", "1=a"),
    ("D08", dict(scd=1), "1:D@1", ""),
    ("D22", dict(scd=1), "1:U a@<10;2>; 1:U b@<10;1>", "1=a"),
    ("D23", dict(scd=1), "1:U a@<10;->; 1:U b@<10;0>", "1=b"),
    ("D24", dict(scd=1), "1:U a,b@1; 1:U c,.@2", "1=c,b"),
    ("D25", dict(scd=1), "1:U b,c@2; 1:U a,.@1", "1=b,c"),
    ("D26", dict(scd=2), "1:U a@1; 1:U c@10; 1:U b@5", "1=a[1,5); 1=b[5,10); 1=c[10,*)"),
    ("D27", dict(scd=2), "1:U a@1; 1:U b@10; 1:U a@5", "1=a[1,10); 1=b[10,*)"),
    ("D28", dict(scd=2), "1:U a@1; 1:U b@10; 1:U b@5", "1=a[1,5); 1=b[5,*)"),
    ("D29", dict(scd=2), "1:U A@5; 1:U A@10; 1:U A@15; 1:U C@20; 1:U B@12", "1=A[5,12); 1=B[12,15); 1=A[15,20); 1=C[20,*)"),
    ("D30", dict(scd=2), "1:D@5; 1:U a@3", "1=a[3,5)"),
    ("D31", dict(scd=2), "1:U a@1; 1:U b@10; 1:D@5", "1=a[1,5); 1=b[10,*)"),
    ("D32", dict(scd=2), "1:U a@1; 1:D@10; 1:U b@5", "1=a[1,5); 1=b[5,10)"),
    ("D33", dict(scd=2), "1:U a@1; 1:D@5; 1:U a@8", "1=a[1,5); 1=a[8,*)"),
    ("D34", dict(scd=2), "1:U a@1; 1:D@5; 1:D@7", "1=a[1,5)"),
    ("D35", dict(scd=2), "1:U a@1; 1:D@5; 1:D@7; 1:U b@6", "1=a[1,5); 1=b[6,7)"),
    ("D36", dict(scd=2), "1:U a@1; 1:U b@4; 1:D@4", "1=a[1,4)"),
    ("D37", dict(scd=2), "1:D@4; 1:U a@4", ""),
    ("D38", dict(scd=2), "1:U a@1; 1:U c@4; 1:U b@4", "1=a[1,4); 1=c[4,*)"),
    ("D39", dict(scd=2), "1:U a@1; 1:U b@2; 1:D@3; 1:D@3; 1:U b@2; 1:U a@1", "1=a[1,2); 1=b[2,3)"),
    ("D40", dict(scd=2, track=["x"]), "1:U a,1@1; 1:U a,2@2; 1:U b,2@3; 1:U b,9@4", "1=a,2[1,3); 1=b,9[3,*)"),
    ("D41", dict(scd=2, track=["x"]), "1:U a,1@1; 1:U a,2@5; 1:U a,7@3", "1=a,2[1,*)"),
    ("D42", dict(scd=2, track=["x"]), "1:U a,1@1; 1:U a,2@5; 1:D@9; 1:U a,8@7", "1=a,8[1,9)"),
    ("D43", dict(scd=2, track_except=["x", "y"]), "1:U a,1@1; 1:U b,2@5", "1=b,2[1,*)"),
    ("D48", dict(scd=2), "1:U -@1; 1:U -@2; 1:U a@3", "1=-[1,3); 1=a[3,*)"),
    # A column that came later and says NULL goes on with the run.
    ("E01", dict(scd=2), "1:U a,.@1; 1:U a,-@2", "1=a,-[1,*)"),
    ("E02", dict(scd=2), "1:U a,.@1; 1:U a,b@2; 1:U a,.@3", "1=a,-[1,2); 1=a,b[2,*)"),
    ("D09", dict(scd=1, truncates=True), "1:U a@3; 2:U b@2; T@3", "1=a"),
    ("D10", dict(scd=1, truncates=True), "1:U a@1; 2:U b@5; T@3; 1:U c@2", "2=b"),
    ("D11", dict(scd=1, truncates=True), "T@6; 1:U a@4; 2:U b@7; T@3", "2=b"),
    ("D12", dict(scd=1, truncates=True), "T@3; 1:D@5; 1:U a@4; 2:U c@4", "2=c"),
    ("D13", dict(scd=1, ignore_null=True), "1:U a,b@1; 1:U -,c@2", "1=a,c"),
    ("D14", dict(scd=1, ignore_null=True), "1:U -,c@2; 1:U a,b@1", "1=a,c"),
    ("D15", dict(scd=1, ignore_null=True), "1:U a,b@1; 1:U z,-@3; 1:U y,w@2", "1=z,w"),
    ("D16", dict(scd=1, ignore_null=True), "1:U a,b@1; 1:D@2; 1:U -,c@3", "1=-,c"),
    ("D17", dict(scd=1, ignore_null=True), "1:U -,c@3; 1:D@2; 1:U a,b@1", "1=-,c"),
    ("D18", dict(scd=1, ignore_null=["x"]), "1:U a,b@1; 1:U -,-@2", "1=a,-"),
    ("D19", dict(scd=1, ignore_null_except=["x"]), "1:U a,b@1; 1:U -,-@2", "1=-,b"),
    ("D20", dict(scd=1, ignore_null=True), "1:U -,-@1", "1=-,-"),
    ("D21", dict(scd=1, to_update="cu"), "1:U a,b!x+y@1; 1:U -,z!x@2", "1=-,b"),
    ("D44", dict(scd=2, ignore_null=True), "1:U a,b@1; 1:U -,c@3; 1:U z,-@2", "1=a,b[1,2); 1=z,b[2,3); 1=z,c[3,*)"),
    ("D45", dict(scd=2, ignore_null=True), "1:U a,b@1; 1:D@2; 1:U -,c@3", "1=a,b[1,2); 1=-,c[3,*)"),
    ("D46", dict(scd=2, ignore_null=True), "1:U a,b@1; 1:U -,-@2", "1=a,b[1,*)"),
    ("D47", dict(scd=2, ignore_null=True), "1:U -,c@3; 1:U a,b@5; 1:U q,-@1", "1=q,-[1,3); 1=q,c[3,5); 1=a,b[5,*)"),
    ("D49", dict(scd="bitemporal"), "1:U v1@1/10; 1:U v2@3/20; 1:U v3@2/30; 1:D@4/40",
     "1=v1[1,*)/[10,20); 1=v1[1,3)/[20,30); 1=v1[1,2)/[30,*); 1=v3[2,3)/[30,*); 1=v2[3,*)/[20,40); 1=v2[3,4)/[40,*)"),
    ("D50", dict(scd="bitemporal"), "1:U a@10/100; 1:U z@10/200", "1=a[10,*)/[100,200); 1=z[10,*)/[200,*)"),
    ("D51", dict(scd="bitemporal"), "1:U b@20/300; 1:U a@10/100", "1=a[10,*)/[100,300); 1=a[10,20)/[300,*); 1=b[20,*)/[300,*)"),
    ("D52", dict(scd="bitemporal"), "1:U a@10/100; 1:D@20/200; 1:U b@20/300",
     "1=a[10,*)/[100,200); 1=a[10,20)/[200,*); 1=b[20,*)/[300,*)"),
    ("D53", dict(scd="bitemporal"), "1:D@20/100; 1:U a@10/200", "1=a[10,20)/[200,*)"),
    ("D54", dict(scd="bitemporal"), "1:U a@10/100; 1:U a@20/200", "1=a[10,*)/[100,*)"),
    ("D55", dict(scd="bitemporal"), "1:U a@10/100; 1:U b@20/100", "1=a[10,20)/[100,*); 1=b[20,*)/[100,*)"),
    ("P2", dict(scd="bitemporal"), "1:U PENDING@0/60; 1:U ACTIVE@120/180; 1:U SUSPENDED@240/300",
     "1=PENDING[0,*)/[60,180); 1=PENDING[0,120)/[180,*); 1=ACTIVE[120,*)/[180,300); 1=ACTIVE[120,240)/[300,*); 1=SUSPENDED[240,*)/[300,*)"),
    ("P3 tracked", dict(scd=2), "; ".join(f"1:U a,{i}@{i}" for i in range(1, 52)),
     "; ".join(f"1=a,{i}[{i},{i + 1 if i < 51 else '*'})" for i in range(1, 52))),
    ("P3 excepted", dict(scd=2, track_except=["y"]), "; ".join(f"1:U a,{i}@{i}" for i in range(1, 52)), "1=a,51[1,*)"),
    # What users of other systems met: a delete before its older upsert; a late event inside a closed interval, then a late delete.
    ("R28", dict(scd=1), "1:D@5; 1:U a@3; 1:U b@7", "1=b"),
    ("R30", dict(scd=2), "1:U a@1; 1:U c@5; 1:U b@3; 1:D@4", "1=a[1,3); 1=b[3,4); 1=c[5,*)"),
    # A tombstone under a newer upsert still judges what arrives late.
    ("tombstone kept", dict(scd=1), "1:D@2; 1:U x,.@3; 1:U x,z@1", "1=x,-"),
]

# Examples that this notation cannot say: events {column: value}, rows {column: value}.
LEAVES = [
    ("D56", dict(scd=1, ignore_null=True), {"s": struct(p=LONG, q=LONG)}, [dict(q=1, s=dict(p=1, q=2)), dict(q=2, s=dict(p=None, q=3)),
                                                                         dict(q=3, s=None)], dict(s=dict(p=1, q=3))),
    ("D57", dict(scd=1, ignore_null=True), {"a": array(LONG)}, [dict(q=1, a=[1, 2]), dict(q=2, a=[None])], dict(a=[None])),
]
# Snapshots: (version, rows in the notation above without intervals); a version that is not taken is among them.
SNAPSHOTS = [
    ("O6", dict(scd=2), [(0, "123=Isabel,Monterrey; 124=Raul,Oaxaca"), (1, "124=Raul,Mexicali; 126=Lily,Cancun")],
     "123=Isabel,Monterrey[0,1); 124=Raul,Oaxaca[0,1); 124=Raul,Mexicali[1,*); 126=Lily,Cancun[1,*)"),
    ("O6c", dict(scd=2), [(1, "1=a,a"), (4, "1=b,b"), (3, "1=c,c")], "1=a,a[1,4); 1=b,b[4,*)"),
    ("O6d", dict(scd=2), [(1, "1=A,x"), (2, "1=C,x")], "1=A,x[1,2); 1=C,x[2,*)"),
    ("D58", dict(scd=2), [(1, "1=x,1; 2=y,1"), (2, ""), (3, "1=x,1")], "1=x,1[1,2); 1=x,1[3,*); 2=y,1[1,2)"),
    ("D59", dict(scd=2), [(1, "1=x,1"), (1, "1=q,1"), (2, "1=x,1")], "1=x,1[1,*)"),
    ("D60", dict(scd=1), [(1, "1=x,1; 2=y,1"), (5, "2=z,1; 3=w,0")], "2=z,1; 3=w,0"),
    ("D61", dict(scd=2, track_except=["y"]), [(1, "1=x,1"), (2, "1=x,2"), (3, "1=y,3")], "1=x,2[1,3); 1=y,3[3,*)"),
]


def parse_value(value):
    return None if value == "-" else value


def parse_event(item, names):
    head, s = item.rsplit("@", 1)
    key, _, body = head.rpartition(":")
    payload, _, listed_ = body[2:].partition("!")
    event = {"id": int(key) if key else None, "op": body[0]}
    if s.startswith("<"):
        event["q"] = {n: None if v == "-" else int(v) for n, v in zip("ab", s[1:-1].split(";"))}
    else:
        event |= zip("qt", map(int, s.split("/")))
    if listed_:
        event["cu"] = listed_.split("+")
    values = payload.split(",") if body[0] == "U" else ["-"] * len(names)
    return event | {n: parse_value(v) for n, v in zip(names, values) if v != "."}


def parse_rows(text_, flow, names):
    out = []
    for item in filter(None, (i.strip() for i in text_.split(";"))):
        key, rest = item.split("=")
        values, *intervals = rest.replace("/[", "[").replace(")", "").split("[")
        ends = [None if v == "*" else int(v) for interval in intervals for v in interval.split(",")]
        out.append({"id": int(key)} | dict(zip(names, map(parse_value, values.split(",")))) | dict(zip(model.INTERVALS[flow.scd], ends)))
    return out


def canon(rows):
    return sorted(sorted((c, model.frozen(v)) for c, v in r.items()) for r in rows)


def stated_orders(name, events):
    """Orders and cuts: as written, every split in two, shuffled with redeliveries in random cuts."""
    yield [events]
    for cut in range(1, len(events)):
        yield [events[:cut], events[cut:]]
    rnd = random.Random(name)
    for _ in range(3):
        mixed = events + rnd.sample(events, rnd.randint(0, len(events)))
        rnd.shuffle(mixed)
        cuts = sorted(rnd.sample(range(len(mixed) + 1), min(2, len(mixed))))
        yield [b for b in (mixed[: cuts[0]], mixed[cuts[0]: cuts[-1]], mixed[cuts[-1]:]) if b]


def users():
    return [{"id": i, "q": s, "op": "D" if op == "DELETE" else "U", "name": n, "city": c} for i, n, c, op, s in USERS]


def stated_examples():
    """(name, clauses, {column: Type} of the payload, events, rows)"""
    for name, choice, items, want in STATED:
        names = ["name", "city"] if items.startswith("users") else ["x", "y"] if "," in items else ["x"]
        events = users() if items.startswith("users") else [parse_event(i.strip(), names) for i in items.replace("; ", "|").split("|")]
        if items == "users and a truncate":
            events.append({"id": None, "q": 3, "op": "T", "name": None, "city": None})
        yield name, choice, {n: STRING for n in names}, events, want
    for name, choice, payload, events, want in LEAVES:
        yield name, choice, payload, [{"id": 1, "op": "U"} | e for e in events], [{"id": 1} | want]


def is_run(choice):
    """Whether the engine runs such a flow."""
    clauses = {"truncate": choice.get("truncates"), "bitemporal": choice["scd"] == model.BITEMPORAL,
               "columns to update": choice.get("to_update"), "ignore null": choice.get("ignore_null") or choice.get("ignore_null_except")}
    return not any(used and clause in NOT_YET for clause, used in clauses.items())


def stated_cases():
    """With AUTOCDC_STATED_EVERY=N only every N-th order of the derived examples (the sources' own examples always run whole)."""
    every = int(os.environ.get("AUTOCDC_STATED_EVERY", "1"))
    offset = random.randrange(every)
    print(f"orders of derived examples: every {every} from {offset}", file=sys.stderr)
    for name, choice, payload, events, want in stated_examples():
        if not is_run(choice):
            continue
        nested = any(isinstance(e["q"], dict) for e in events)
        types = {"id": LONG, "op": STRING, "q": struct(a=LONG, b=LONG) if nested else LONG, "t": LONG, "cu": array(STRING)} | payload
        system = ["t"] if choice["scd"] == model.BITEMPORAL else []
        flow = model.Flow(["id"], "q", op="op", except_columns=["q", "op"] + system, system="t" if system else None, **choice)
        extra = system + (["cu"] if flow.to_update else [])
        for number, batches in enumerate(stated_orders(name, events)):
            if name[0] != "O" and (number + offset) % every != 0:
                continue
            case = Case(f"{name}, order {number}", flow, types, {"delta.enableDeletionVectors": "true" if number % 2 else "false"})
            for batch in batches:
                # Events of one batch have one source schema: a batch is cut where it changes.
                for columns, part in cut_by_columns(batch, list(payload)):
                    case.add(["id", "q", "op"] + extra + columns, part)
            yield told(case, want, list(payload))
    if "snapshot" not in NOT_YET:
        yield from stated_snapshots()


def stated_snapshots():
    for name, choice, snapshots, want in SNAPSHOTS:
        flow = model.Flow(["id"], "v", op="op", except_columns=["v", "op"], **choice)
        case = SnapshotCase(name, flow, {"id": LONG, "v": LONG, "op": STRING, "x": STRING, "y": STRING}, {})
        for version, rows in snapshots:
            case.snapshot(["id", "x", "y"], version, parse_rows(rows, model.Flow(["id"], "v", 1), ["x", "y"]))
        yield told(case, want, ["x", "y"])


def told(case, want, names):
    """The case, when its rows are those that the specification states."""
    got = [{c: r.get(c) for c in ["id"] + names + model.INTERVALS[case.flow.scd]} for r in case.before]
    assert canon(got) == canon(parse_rows(want, case.flow, names) if isinstance(want, str) else want), (case.name, got)
    return case


def cut_by_columns(batch, names):
    parts = []
    for event in batch:
        columns = [n for n in names if n in event]
        if event["op"] != "U":
            columns = parts[-1][0] if parts else names
        if not parts or parts[-1][0] != columns:
            parts.append((columns, []))
        parts[-1][1].append(event)
    return parts


# --- the command ------------------------------------------------------------------------------------------------------------


def check(seed, count, other):
    for number in range(seed, seed + count):
        case = draw_case(number, frozenset({"maintenance"}))
        cross_check(other, case)
        check_properties(case)
    print(f"{count} cases from seed {seed}: no difference")


def check_properties(case):
    """Properties 2, 3, 4, 7 and 8 of §12 of the model itself."""
    flow, events = case.flow, case.events
    if case.is_snapshot():
        last = list(case.snapshots.before.values())
        if flow.scd == 1:
            assert canon([{c: r.get(c) for c in flow.keys + case.fields} for r in last]) == canon(case.before), case.name
        return
    check_intervals(case)
    of = vars(flow) | {"scd": 2, "system": None, "truncates": False}
    second = model.Flow.__new__(model.Flow)
    second.__dict__.update(of)
    if flow.scd == 1 and not flow.truncates and not ties(flow, events):
        open_rows = [{c: r[c] for c in r if c not in model.INTERVALS[2]} for r in model.rows(second, events) if r["__END_AT"] is None]
        assert canon(open_rows) == canon(model.rows(flow, events)), case.name
    if flow.scd == model.BITEMPORAL and not ties(flow, events):
        for t in {model.frozen(e[flow.system]): e[flow.system] for e in events}.values():
            known = [e for e in events if model.rank(e[flow.system]) <= model.rank(t)]
            now = [r for r in case.before if model.rank(r["__SYSTEM_START_AT"]) <= model.rank(t) and (
                r["__SYSTEM_END_AT"] is None or model.rank(r["__SYSTEM_END_AT"]) > model.rank(t))]
            as_of = [{c: v for c, v in r.items() if not c.startswith("__SYSTEM")} for r in now]
            want = [r | {c: v for c in case.fields if c not in r for v in model.rebuilt(flow, {}, [c]).values()} for r in model.rows(second, known)]
            assert canon(as_of) == canon(want), case.name


def ties(flow, events):
    seen = {}
    for e in events:
        if not flow.is_truncate(e):
            place = model.frozen([[e[k] for k in flow.keys], e[flow.seq]])
            if seen.setdefault(place, e) is not e:
                return True
    return False


def check_intervals(case):
    """Of a key (at a system instant): not empty, in order, disjoint, one open at most."""
    if case.flow.scd == 1:
        return
    instants = [None] if case.flow.scd == 2 else [r["__SYSTEM_START_AT"] for r in case.before]
    for t in instants:
        groups = {}
        for r in case.before:
            if t is None or (model.rank(r["__SYSTEM_START_AT"]) <= model.rank(t) and (
                    r["__SYSTEM_END_AT"] is None or model.rank(r["__SYSTEM_END_AT"]) > model.rank(t))):
                groups.setdefault(model.frozen([r[k] for k in case.flow.keys]), []).append(r)
        for rows in groups.values():
            rows.sort(key=lambda r: model.rank(r["__START_AT"]))
            for a, b in zip(rows, rows[1:] + [None]):
                assert a["__END_AT"] is None or model.rank(a["__START_AT"]) < model.rank(a["__END_AT"]), case.name
                assert b is None or (a["__END_AT"] is not None and model.rank(a["__END_AT"]) <= model.rank(b["__START_AT"])), case.name


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=random.randrange(1, 10**8), help="default: a drawn one")
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--stated", action="store_true")
    options.add_argument("--check", type=int)
    args = options.parse_args()
    other = second_model()
    if args.check:
        return check(args.seed, args.check, other)
    cases = stated_cases() if args.stated else (draw_case(s) for s in range(args.seed, args.seed + args.count))
    for case in cases:
        cross_check(other, case)
        print(case.text())
    return None


if __name__ == "__main__":
    main()

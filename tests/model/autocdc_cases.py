#!/usr/bin/env python3
"""Writes AUTO CDC cases, one JSON object a line, for the harness tests/autocdc.

  autocdc_cases.py --seed 7 --count 60          random cases
  autocdc_cases.py --stated                     the examples of autocdc.md §10 and §11, in one batch, every split in two, shuffled

A case: {name, flow: {keys, sequence, delete, except, scd, track, track_except}, properties, retention,
batches: [{schema, events, rows, facts, upserted, deleted}]}. `schema` is Spark's JSON of the source; events, rows and
facts are SELECTs in DuckDB's SQL. Facts have the columns k0…, s, d, for each field name of the case a<i>, v<i>: whether it is authored,
and its value; and `needed`: whether the fact must still be known. Every case is checked against a second model when one is
given by SLUICE_SHARED.
"""
import argparse
import json
import os
import random
import sys

import autocdc_model as model

# --- types: Spark's JSON, DuckDB's type, a drawn value, a literal -----------------------------------------------------------


class Type:
    """literal: SQL of a value; plain: the value in the text of a list of structs (listed()), literal's twin."""

    def __init__(self, spark, duck, values, literal, plain=str):
        self.spark, self.duck, self.values, self.literal, self.plain = spark, duck, values, literal, plain

    def sql(self, value):
        return f"NULL::{self.duck}" if value is None else self.literal(value)

    def inner(self, value):
        return "NULL" if value is None else self.plain(value)


def number(duck):
    return lambda v: f"{v}::{duck}"


def double(v):
    return f"'{'NaN' if v != v else v}'::DOUBLE"


def text(v):
    return "'" + v.replace("'", "''") + "'"


def quoted(v):
    return '"' + v.replace("\\", "\\\\").replace('"', '\\"') + '"'


LONG = Type("long", "BIGINT", list(range(1, 9)), number("BIGINT"))
INTEGER = Type("integer", "INTEGER", list(range(1, 5)), number("INTEGER"))
STRING = Type("string", "VARCHAR", ["a", "b", "B", "ä", "", "o'"], text, quoted)
DOUBLE = Type("double", "DOUBLE", [0.0, -0.0, 1.5, -2.0, float("nan")], double)
DECIMAL = Type("decimal(12,2)", "DECIMAL(12,2)", [1.25, 2.5, -1.0], number("DECIMAL(12,2)"))
DATE = Type("date", "DATE", [1, 2, 3], lambda v: f"DATE '2024-01-{v:02d}'", lambda v: f"2024-01-{v:02d}")
TIMESTAMP = Type("timestamp", "TIMESTAMP WITH TIME ZONE", list(range(1, 9)), lambda v: f"TIMESTAMPTZ '2024-01-01 00:00:{v:02d}.5+00'",
                 lambda v: quoted(f"2024-01-01 00:00:{v:02d}.5+00"))
BOOLEAN = Type("boolean", "BOOLEAN", [False, True], lambda v: str(v).lower())
BINARY = Type("binary", "BLOB", ["00", "FF", "41"], lambda v: f"'\\x{v}'::BLOB", lambda v: quoted(f"\\x{v}"))


def struct(**fields):
    spark = {"type": "struct", "fields": [{"name": n, "type": t.spark, "nullable": True, "metadata": {}} for n, t in fields.items()]}
    duck = "STRUCT(" + ", ".join(f'"{n}" {t.duck}' for n, t in fields.items()) + ")"
    values = [None]

    def literal(v):
        return "{" + ", ".join(f"'{n}': {t.sql(v[n])}" for n, t in fields.items()) + f"}}::{duck}"

    def plain(v):
        return "{" + ", ".join(f"{quoted(n)}: {t.inner(v[n])}" for n, t in fields.items()) + "}"

    made = Type(spark, duck, values, literal, plain)
    made.fields = fields
    return made


def array(element):
    spark = {"type": "array", "elementType": element.spark, "containsNull": True}
    made = Type(spark, element.duck + "[]", [None], lambda v: f"[{', '.join(element.sql(x) for x in v)}]::{element.duck}[]",
                lambda v: f"[{', '.join(element.inner(x) for x in v)}]")
    made.element = element
    return made


def draw(rnd, type_, nulls=0.15):
    """A random value."""
    if nulls and rnd.random() < nulls:
        return None
    if hasattr(type_, "fields"):
        return {n: draw(rnd, t, 0.25) for n, t in type_.fields.items()}
    if hasattr(type_, "element"):
        return [draw(rnd, type_.element, 0.2) for _ in range(rnd.randint(0, 2))]
    return rnd.choice(type_.values)


def select(columns, rows):
    """A SELECT of literals. columns: [(name, Type)]."""
    if not rows:
        return "SELECT " + ", ".join(f'NULL::{t.duck} AS "{n}"' for n, t in columns) + " WHERE false"
    body = ", ".join("(" + ", ".join(t.sql(r.get(n)) for n, t in columns) + ")" for r in rows)
    return f"SELECT * FROM (VALUES {body}) t(" + ", ".join(f'"{n}"' for n, _ in columns) + ")"


def listed(columns, rows):
    """The same SELECT from one literal, which DuckDB reads in a fraction of the time."""
    if not rows:
        return select(columns, rows)
    row = struct(**dict(columns))
    return f"SELECT r.* FROM (SELECT unnest({text(array(row).plain(rows))}::{row.duck}[]) r)"


def schema(columns):
    return {"type": "struct", "fields": [{"name": n, "type": t.spark, "nullable": True, "metadata": {}} for n, t in columns]}


# --- a case -----------------------------------------------------------------------------------------------------------------


class Case:
    """types: {column: Type}; sequence: SQL of the sequence over the event's columns, its value is event["q"]."""

    def __init__(self, name, flow, types, properties, retention=-1, sequence="q"):
        self.name, self.flow, self.types, self.properties = name, flow, types, properties
        self.retention, self.sequence = retention, sequence
        self.batches, self.events, self.fields, self.before = [], [], [], []

    def add(self, columns, events):
        """columns: the source's columns at this time, in order."""
        flow = self.flow
        for c in columns:
            if c not in flow.keys and c not in flow.except_columns and c not in self.fields:
                self.fields.append(c)
        self.events += events
        rows = model.rows(flow, self.events)
        for row in rows:
            for c in self.fields:
                row.setdefault(c, None)
        upserted, deleted = model.metrics(flow, self.before, rows)
        self.before = rows
        target = [(c, self.types[c]) for c in flow.keys + self.fields]
        if flow.scd == 2:
            target += [("__START_AT", self.types[flow.seq]), ("__END_AT", self.types[flow.seq])]
        source = [(c, self.types[c]) for c in columns]
        self.batches.append({
            "schema": schema(source), "events": select(source, events), "rows": listed(target, rows), "facts": self.facts(),
            "fields": list(self.fields), "columns": [c for c, _ in target], "upserted": upserted, "deleted": deleted})

    def all_facts(self):
        flow, out = self.flow, []
        for e in self.events:
            key = tuple(e[k] for k in flow.keys)
            out.append((key, e[flow.seq], "D", {}) if flow.is_delete(e) else (key, e[flow.seq], "U", flow.payload(e)))
        return out

    def facts(self):
        flow = self.flow
        columns = [(f"k{i}", self.types[k]) for i, k in enumerate(flow.keys)] + [("s", self.types[flow.seq]), ("d", BOOLEAN)]
        for i, c in enumerate(self.fields):
            columns += [(f"a{i}", BOOLEAN), (f"v{i}", self.types[c])]
        known = self.fact_rows(self.all_facts())
        needed = self.fact_rows(model.needed(flow, self.events))
        assert needed.keys() <= known.keys(), self.name
        return listed(columns + [("needed", BOOLEAN)], [row | {"needed": key in needed} for key, row in known.items()])

    def fact_rows(self, facts):
        """{what makes a fact the same: its row}"""
        rows = {}
        for key, s, kind, payload in facts:
            row = {f"k{i}": v for i, v in enumerate(key)} | {"s": s, "d": kind == "D"}
            for i, c in enumerate(self.fields):
                row |= {f"a{i}": c in payload, f"v{i}": payload.get(c)}
            rows[model.frozen(row)] = row
        return rows

    def text(self):
        flow = self.flow
        return json.dumps({
            "name": self.name, "properties": self.properties, "retention": self.retention,
            "flow": {"keys": flow.keys, "sequence": self.sequence, "delete": f"{flow.op} = 'D'" if flow.op else None,
                     "except": sorted(flow.except_columns), "scd": flow.scd, "track": flow.track,
                     "track_except": flow.track_except},
            "batches": self.batches}, ensure_ascii=False)


def draw_properties(rnd):
    out = {"delta.enableDeletionVectors": rnd.choice(["true", "false"])}
    if rnd.random() < 0.4:
        out["delta.enableChangeDataFeed"] = "true"
    if rnd.random() < 0.5:
        out["delta.enableRowTracking"] = "true"
    return out


SEQUENCES = [LONG, LONG, STRING, TIMESTAMP, DOUBLE, DECIMAL, struct(a=LONG, b=LONG), struct(a=LONG, b=LONG), struct(a=STRING, b=DOUBLE)]
PAYLOADS = [STRING, STRING, LONG, INTEGER, DOUBLE, DECIMAL, DATE, TIMESTAMP, BOOLEAN, BINARY, struct(p=LONG, q=STRING), array(LONG)]


def draw_case(seed):
    rnd = random.Random(seed)
    scd, keys = rnd.choice([1, 2]), ["id", "part"][: rnd.choice([1, 1, 2])]
    types = {"id": rnd.choice([LONG, LONG, STRING, DATE]), "part": rnd.choice([STRING, INTEGER]), "op": STRING,
             "q": rnd.choice(SEQUENCES)}
    pool = ["x", "Y", "z"][: rnd.randint(1, 3)]
    types |= {c: rnd.choice(PAYLOADS) for c in pool}
    narrow = {c: rnd.sample([v for v in types[c].values], min(2, len(types[c].values))) for c in pool}
    track = track_except = None
    if scd == 2 and rnd.random() < 0.5:
        named = rnd.sample(pool, rnd.randint(1, len(pool)))
        track, track_except = (named, None) if rnd.random() < 0.5 else (None, named)
    evolve = rnd.random() < 0.55 and track is None and track_except is None
    deletes = rnd.choice([0, 0.2, 0.4])
    flow = model.Flow(keys, "q", scd, op="op" if deletes else None, except_columns=("q", "op"), track=track, track_except=track_except)
    case = Case(f"seed {seed}", flow, types, draw_properties(rnd))
    ids = rnd.sample(types["id"].values, min(rnd.choice([1, 2, 4]), len(types["id"].values)))
    parts = types["part"].values[:2]
    distinct_seqs = rnd.random() < 0.2
    columns = list(pool) if not evolve else sorted(rnd.sample(pool, rnd.randint(1, len(pool))))
    sent = []
    # Now and then many small batches, so that state files are merged.
    many = rnd.random() < 0.06
    for number in range(rnd.randint(10, 22) if many else rnd.randint(1, 5)):
        if evolve and rnd.random() < 0.5:
            columns = sorted(rnd.sample(pool, rnd.randint(1, len(pool))))
        events = []
        for _ in range(rnd.randint(1, 2 if many else 8)):
            again = rnd.choice(sent) if sent and rnd.random() < 0.2 and not distinct_seqs else None
            if again and [c for c in again if c in pool] == columns:
                events.append(again)
                continue
            event = {k: rnd.choice(ids if k == "id" else parts) for k in keys}
            event["q"] = draw(rnd, types["q"], 0)
            event["op"] = "D" if rnd.random() < deletes else "U"
            for c in columns:
                value = rnd.choice(narrow[c]) if rnd.random() < 0.6 else draw(rnd, types[c])
                event[c] = draw(rnd, types[c]) if value is None and rnd.random() < 0.7 else value
            events.append(event)
        if distinct_seqs and types["q"] is LONG:
            for event in events:
                event["q"] = 1 + len(sent) + events.index(event)
        sent += events
        case.add(keys + ["q", "op"] + columns, events)
    return case


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
    # What users of other systems met: a delete before its older upsert; a late event inside a closed interval, then a late delete.
    ("R28", dict(scd=1), "1:D@5; 1:U a@3; 1:U b@7", "1=b"),
    ("R30", dict(scd=2), "1:U a@1; 1:U c@5; 1:U b@3; 1:D@4", "1=a[1,3); 1=b[3,4); 1=c[5,*)"),
    # A tombstone under a newer upsert still judges what arrives late.
    ("tombstone kept", dict(scd=1), "1:D@2; 1:U x,.@3; 1:U x,z@1", "1=x,-"),
]


def parse_event(item, names):
    key, rest = item.split(":")
    body, s = rest.rsplit("@", 1)
    if s.startswith("<"):
        s = {n: None if v == "-" else int(v) for n, v in zip("ab", s[1:-1].split(";"))}
    event = {"id": int(key), "q": s if isinstance(s, dict) else int(s), "op": body[0]}
    values = body[2:].split(",") if body[0] == "U" else ["-"] * len(names)
    return event | {n: None if v == "-" else v for n, v in zip(names, values) if v != "."}


def parse_rows(text_, flow, names):
    out = []
    for item in filter(None, (i.strip() for i in text_.split(";"))):
        key, rest = item.split("=")
        row = {"id": int(key)}
        if flow.scd == 2:
            rest, interval = rest[:-1].split("[")
            start, end = interval.split(",")
            row |= {"__START_AT": int(start), "__END_AT": None if end == "*" else int(end)}
        out.append(row | {n: None if v == "-" else v for n, v in zip(names, rest.split(","))})
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


def stated_cases():
    """With AUTOCDC_STATED_EVERY=N only every N-th order of the derived examples (the sources' own examples always run whole)."""
    every = int(os.environ.get("AUTOCDC_STATED_EVERY", "1"))
    offset = random.randrange(every)
    print(f"orders of derived examples: every {every} from {offset}", file=sys.stderr)
    for name, choice, items, want in STATED:
        users = items == "users"
        names = ["name", "city"] if users else ["x", "y"] if "," in items else ["x"]
        if users:
            events = [{"id": i, "q": s, "op": "D" if op == "DELETE" else "U", "name": n, "city": c} for i, n, c, op, s in USERS]
        else:
            events = [parse_event(i.strip(), names) for i in items.replace("; ", "|").split("|")]
        flow = model.Flow(["id"], "q", choice["scd"], op="op", except_columns=("q", "op"), track=choice.get("track"),
                          track_except=choice.get("track_except"))
        nested = any(isinstance(e["q"], dict) for e in events)
        types = {"id": LONG, "op": STRING, "q": struct(a=LONG, b=LONG) if nested else LONG} | {n: STRING for n in names}
        for number, batches in enumerate(stated_orders(name, events)):
            if name[0] not in "OP" and (number + offset) % every != 0:
                continue
            case = Case(f"{name}, order {number}", flow, types, {"delta.enableDeletionVectors": "true" if number % 2 else "false"})
            for batch in batches:
                # Events of one batch have one source schema: a batch is cut where it changes.
                for columns, part in cut_by_columns(batch, names):
                    case.add(["id", "q", "op"] + columns, part)
            got = [{c: r.get(c) for c in ["id"] + names + (["__START_AT", "__END_AT"] if flow.scd == 2 else [])} for r in case.before]
            assert canon(got) == canon(parse_rows(want, flow, names)), (name, number, got)
            yield case


def cut_by_columns(batch, names):
    parts = []
    for event in batch:
        columns = [n for n in names if n in event]
        if event["op"] == "D":
            columns = parts[-1][0] if parts else names
        if not parts or parts[-1][0] != columns:
            parts.append((columns, []))
        parts[-1][1].append(event)
    return parts


# --- the second model -------------------------------------------------------------------------------------------------------


def second_model():
    path = os.path.join(os.environ.get("SLUICE_SHARED", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared")), "oracle")
    if not os.path.exists(os.path.join(path, "autocdc_model.py")):
        return None
    import importlib.util
    spec = importlib.util.spec_from_file_location("second_autocdc_model", os.path.join(path, "autocdc_model.py"))
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    return other


def cross_check(other, case):
    flow = case.flow
    spec = other.Spec(flow.keys, flow.seq, scd=flow.scd, delete=flow.is_delete, except_columns=list(flow.except_columns),
                      track=flow.track, track_except=flow.track_except)
    columns = flow.keys + case.fields + (["__START_AT", "__END_AT"] if flow.scd == 2 else [])
    want = [{c: r.get(c) for c in columns} for r in other.apply(spec, without_nan(case.events))]
    got = without_nan(case.before)
    assert canon(got) == canon(want), (case.name, got, want)


def without_nan(value):
    """The second model knows no NaN: a number above all others stands for it."""
    if isinstance(value, dict):
        return {k: without_nan(v) for k, v in value.items()}
    if isinstance(value, list):
        return [without_nan(v) for v in value]
    return 1e308 if isinstance(value, float) and value != value else value


def main():
    options = argparse.ArgumentParser()
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--count", type=int, default=60)
    options.add_argument("--stated", action="store_true")
    args = options.parse_args()
    other = second_model()
    cases = stated_cases() if args.stated else (draw_case(s) for s in range(args.seed, args.seed + args.count))
    for case in cases:
        if other:
            cross_check(other, case)
        print(case.text())
    if not other:
        print("no second model to check against", file=sys.stderr)


if __name__ == "__main__":
    main()

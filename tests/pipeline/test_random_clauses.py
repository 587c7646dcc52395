#!/usr/bin/env python3
"""Random spellings of AUTO CDC through `sluice run`: sequences that are expressions, keys and payload of every type, odd names, conditions with
functions, lists of columns, views, joins and feeds as sources, partitions and properties of the target, against the project's own model.

The model sees a value as its place in the order of its type's values (VALUES), and a sequence as what the places of its columns make (Sequence.place);
what they look like is asked from the source tables. Some updates are killed first; at the end some targets are refreshed fully. A mirror is a
target that is kept by the feed of the case's target.

usage: test_random_clauses.py [--cases N] [--seed S]
"""
import collections
import json
import pathlib
import random
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "model"))
import autocdc_model as model  # noqa: E402
from project import Project  # noqa: E402
from random_cases import arguments, run_cases  # noqa: E402

CASES_PER_PROJECT = 10
N_UPDATES = 3

# Of each type values in their order, each with the literals that mean it.
VALUES = {
    "INT": [["-3"], ["0", "-0"], ["7"], ["2147483647"]],
    "SMALLINT": [["-32768"], ["0"], ["7"]],
    "BIGINT": [["-9223372036854775807"], ["4"], ["4294967296"], ["9007199254740993"]],
    "DECIMAL(10,2)": [["-1.5", "-1.50"], ["0"], ["0.01"], ["10"], ["99999999.99"]],
    "DECIMAL(38,10)": [["-1e20"], ["0.0000000001"], ["1e27"]],
    "DOUBLE": [["double('-Infinity')"], ["-1.5"], ["0.0D", "-0.0D"], ["1e300D"], ["double('Infinity')"], ["double('NaN')"]],
    "FLOAT": [["-1.5"], ["0.0F", "-0.0F"], ["0.1F"], ["float('NaN')"]],
    "BOOLEAN": [["false"], ["true"]],
    "STRING": [["' '"], ["'%3D'"], ["'/a=b'"], ["'A'"], ["'NULL'"], ["'a'"], ["'a '"], ["'a''b'"], ["'{E} {k0}'"], ["'é'"], ["'\U0001F600'"]],
    "BINARY": [["X''"], ["X'00'"], ["X'0001'"], ["X'7f'"], ["X'ff'"], ["X'ff00'"]],
    "DATE": [["DATE '0001-01-01'"], ["DATE '1969-12-31'"], ["DATE '2024-02-29'"], ["DATE '9999-12-31'"]],
    "TIMESTAMP": [["TIMESTAMP '1900-01-01 00:00:00Z'"], ["TIMESTAMP '1969-12-31 23:59:59.999999Z'"],
                  ["TIMESTAMP '2024-01-01 00:00:00Z'", "TIMESTAMP '2024-01-01 02:00:00+02:00'"], ["TIMESTAMP '2024-01-01 00:00:00.000001Z'"]],
    "TIMESTAMP_NTZ": [["TIMESTAMP_NTZ '1969-12-31 23:59:59.5'"], ["TIMESTAMP_NTZ '2024-01-01 00:00:00'"], ["TIMESTAMP_NTZ '2024-03-31 02:30:00'"]],
    "ARRAY<INT>": [["array()"], ["array(NULL)"], ["array(1)"], ["array(1, NULL)"], ["array(1, 2)"], ["array(2)"]],
    "ARRAY<DOUBLE>": [["array(NULL)"], ["array(0.0D)", "array(-0.0D)"], ["array(0.0D, NULL)", "array(-0.0D, NULL)"], ["array(double('NaN'))"]],
    "MAP<STRING, INT>": [["map()"], ["map('a', NULL)"], ["map('a', 1)"], ["map('a', 1, 'b', 2)", "map('b', 2, 'a', 1)"],
                         ["map('a', 1, 'c', NULL)", "map('c', NULL, 'a', 1)"], ["map('b', 1)"]],
    "STRUCT<p: INT, `q-r`: STRING>": [["named_struct('p', NULL, 'q-r', NULL)"], ["named_struct('p', NULL, 'q-r', 'a')"],
                                       ["named_struct('p', 1, 'q-r', NULL)"], ["named_struct('p', 1, 'q-r', 'a')"], ["named_struct('p', 2, 'q-r', NULL)"]],
    "STRUCT<m: MAP<INT, DOUBLE>, l: ARRAY<STRUCT<x: BINARY>>>": [
        ["named_struct('m', NULL, 'l', array())"], ["named_struct('m', map(), 'l', NULL)"],
        ["named_struct('m', map(1, 0.0D, 2, NULL), 'l', array(NULL))", "named_struct('m', map(2, NULL, 1, -0.0D), 'l', array(NULL))"],
        ["named_struct('m', map(1, double('NaN')), 'l', array(named_struct('x', X'ff')))"]],
}
SCALARS = [t for t in VALUES if not t.startswith(("ARRAY", "MAP", "STRUCT"))]
ORDERED = [t for t in VALUES if "MAP" not in t]
NAMES = ["id", "x", "y", "first name", "a.b", "größe", "K0", "k0", "c0", "v0", "s", "o", "ho", "hs", "hash", "d", "n", "set", "gen", "written", "kind", "_rowid",
         "it's", 'say "hi"', "back`tick", "{E}", "events", "sequence", "key", "keys", "columns", "stored", "select", "from", "where", "row_number",
         "file_row_number", "rn", "op", "_metadata", "system", "b", "t", "f", "src", "merge", "with;semi", "com,ma", "pa(ren", "a=b", "per%cent",
         "x:y", "日本", "__START", "p", "q", "count", "struct", "%s", "$1", "${v}"[1:], "#", "  lead", "_change_kind", "version", "rows", "facts", "state"]

# Helper columns of sequences: values in the order in which the expression has them.
SPECIAL = {
    "NUMERAL": ("STRING", ["'-2'", "' 3'", "'10'", "'200'"]),
    "DAY": ("STRING", ["'31-12-2023'", "'01-02-2024'", "'02-01-2025'"]),
    "META": ("STRUCT<seq: INT, note: STRING>", ["named_struct('seq', 1, 'note', 'z')", "named_struct('seq', 2, 'note', NULL)", "named_struct('seq', 9, 'note', 'a')"]),
    "MAPPED": ("MAP<STRING, INT>", ["map('n', 1, 'm', 9)", "map('m', 0, 'n', 5)", "map('n', 6)"]),
    "SMALL": ("INT", ["0", "1", "2", "3", "4"]),
}


def quoted(name):
    return "`" + name.replace("`", "``") + "`"


def literal(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def spelled(rnd, name):
    """In some case, with backquotes where it needs them and sometimes where not."""
    name = rnd.choice([name, name, name.upper(), name.lower(), name.swapcase()]) if name.isascii() else name
    return name if re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) and rnd.random() < 0.5 and name.lower() not in RESERVED else quoted(name)


RESERVED = {"select", "from", "where", "with"}


class Column:
    def __init__(self, name, kind):
        self.name, self.kind = name, kind
        self.type = SPECIAL[kind][0] if kind in SPECIAL else kind

    def literals(self, place):
        return [SPECIAL[self.kind][1][place]] if self.kind in SPECIAL else VALUES[self.kind][place]

    def n(self):
        return len(SPECIAL[self.kind][1] if self.kind in SPECIAL else VALUES[self.kind])

    def draw(self, rnd, most=4, null=0.0):
        return None if rnd.random() < null else rnd.randrange(min(self.n(), most) if most else self.n())

    def sql(self, rnd, place):
        return f"CAST({'NULL' if place is None else rnd.choice(self.literals(place))} AS {self.type})"


class Sequence:
    """columns: those it is made of; nulls: how often one of them is NULL; sql(names): the expression; place(event): the model's value of it."""

    def __init__(self, rnd, name, other):
        self.nulls = {}
        kinds = ["plain"] * 4 + ["struct", "named", "cast", "coalesce", "sum", "minus", "date", "nested", "mapped", "case", "decimal", "array", "structs", "concat"]
        self.kind = rnd.choice(kinds)
        a, b = Column(name, "SMALL"), Column(other, "SMALL")
        self.columns = [a]
        if self.kind in ("plain", "decimal", "concat"):
            a = Column(name, {"decimal": "SMALL", "concat": "STRING"}.get(self.kind) or rnd.choice(ORDERED))
            self.columns = [a]
            self.text = {"plain": "{0}", "decimal": "CAST({0} AS DECIMAL(20, 3)) / 7", "concat": "concat({0}, '')"}[self.kind]
            self.place = lambda e: e[a.name]
        elif self.kind in ("struct", "named", "structs", "array"):
            b = b if self.kind == "array" else Column(other, rnd.choice(["STRING", "DOUBLE", "DATE", "SMALL"]))
            self.columns, self.nulls = [a, b], {a.name: 0.15, b.name: 0.3}
            self.text = {"struct": "struct({0}, {1})", "named": "named_struct('hi', {0}, 'lo', {1})", "array": "array({0}, {1})",
                         "structs": "struct({0} AS x, struct({1} AS y, 1) AS z)"}[self.kind]
            self.place = lambda e: [e[a.name], e[b.name]]
        elif self.kind in ("coalesce", "sum", "case"):
            self.columns = [a, b]
            self.nulls = {a.name: 0.4} if self.kind != "sum" else {}
            self.text = {"coalesce": "coalesce({0}, {1})", "sum": "{0} * 10 + {1}", "case": "CASE WHEN {0} IS NULL THEN {1} * 2L ELSE {0} END"}[self.kind]
            self.place = {"coalesce": lambda e: e[b.name] if e[a.name] is None else e[a.name], "sum": lambda e: e[a.name] * 10 + e[b.name],
                          "case": lambda e: e[b.name] * 2 if e[a.name] is None else e[a.name]}[self.kind]
        else:
            a = Column(name, {"cast": "NUMERAL", "minus": "SMALL", "date": "DAY", "nested": "META", "mapped": "MAPPED"}[self.kind])
            self.columns = [a]
            self.text = {"cast": "CAST(trim({0}) AS INT)", "minus": "-{0}", "date": rnd.choice(["to_timestamp({0}, 'dd-MM-yyyy')", "to_date({0}, 'dd-MM-yyyy')"]),
                         "nested": rnd.choice(["{0}.seq", "{0}.SEQ"]), "mapped": "{0}['n']"}[self.kind]
            self.place = (lambda e: -e[a.name]) if self.kind == "minus" else (lambda e: e[a.name])

    def spelled(self, rnd):
        """struct() names its fields as they are spelled, and flows agree on their names."""
        return self.sql([quoted(c.name) if self.kind == "struct" else spelled(rnd, c.name) for c in self.columns])

    def sql(self, names):
        return self.text.replace("{0}", names[0]).replace("{1}", names[-1])


DELETES = ["{op} = 'D'", "upper({op}) = 'D'", "{op} IN ('D', NULL)", "{op} LIKE 'D%'", "CASE WHEN {op} = 'D' THEN true END", "{op} <=> 'D'", '{op} = "D"',
           "array_contains(array('D', 'E'), {op})", "NOT ({op} <> 'D')", "coalesce({op}, 'x') = 'D'", "if({op} = 'D', true, NULL)", "{op} rlike '^D'",
           "({op} = 'D' AND NULL IS NULL) OR ({op} = 'D' AND NULL)"]


class Case:
    def __init__(self, number, seed):
        self.rnd = rnd = random.Random(seed)
        self.name, self.seed = f"c{number}", seed
        self.scd = rnd.choice([1, 1, 2, 2, model.BITEMPORAL])
        names = self.draw_names(13)
        mapped = any(re.search(r"[ ,;{}()\n\t=]", n) for n in names) or rnd.random() < 0.1
        self.sequence = Sequence(rnd, names.pop(), names.pop())
        self.system = Sequence(rnd, names.pop(), names.pop()) if self.scd == model.BITEMPORAL else None
        self.keys = [Column(names.pop(), rnd.choice(SCALARS + ["ARRAY<INT>", "STRUCT<p: INT, `q-r`: STRING>"] if rnd.random() < 0.3 else SCALARS))
                     for _ in range(rnd.choice([1, 1, 2]))]
        self.payload = [Column(names.pop(), rnd.choice(list(VALUES))) for _ in range(rnd.randint(1, 3))]
        self.op, self.rn = Column(names.pop(), "STRING"), Column(names.pop(), "BIGINT")
        self.grown = Column(names.pop(), rnd.choice(list(VALUES))) if rnd.random() < 0.25 else None
        self.columns = self.keys + self.payload + self.sequence.columns + (self.system.columns if self.system else []) + [self.op, self.rn]
        rnd.shuffle(self.columns)
        self.truncates = self.scd == 1 and rnd.random() < 0.3
        self.deletes = rnd.choice(DELETES) if rnd.random() < 0.85 else None
        helpers = [c for c in self.columns if c not in self.keys + self.payload]
        kept = [c for c in helpers if c.kind in VALUES and c not in (self.op, self.rn) and rnd.random() < 0.2]
        self.excepted = [c for c in helpers if c not in kept]
        self.shown = [c for c in self.columns if c not in self.excepted]
        self.listed = not self.grown and rnd.random() < 0.4
        others = [c for c in self.shown if c not in self.keys]
        self.track = [c for c in others if rnd.random() < 0.5] or None if self.scd == 2 and rnd.random() < 0.4 else None
        self.track_but = self.track is not None and rnd.random() < 0.5
        whole = [c for c in others if not c.type.startswith("STRUCT")]
        self.ignored = [c for c in whole if rnd.random() < 0.6] or None if rnd.random() < 0.3 else None
        self.lists = Column(names.pop(), "ARRAY<STRING>") if self.scd != model.BITEMPORAL and not self.ignored and rnd.random() < 0.2 else None
        if self.lists:
            self.columns.insert(rnd.randrange(len(self.columns)), self.lists)
        self.mirrors = not self.grown and rnd.random() < 0.3  # what grows without a change of rows is not in the feed
        self.flow = model.Flow([c.name for c in self.keys], "__seq", self.scd, op="__op", truncates=self.truncates, system="__sys" if self.system else None,
                               except_columns=[c.name for c in self.excepted] + ["__seq", "__sys", "__op", "__rn"],
                               track=[c.name for c in self.track] if self.track and not self.track_but else None,
                               track_except=[c.name for c in others if c not in self.track] if self.track and self.track_but else None,
                               ignore_null=[c.name for c in self.ignored] if self.ignored else None,
                               to_update=self.lists.name if self.lists else None)
        if self.grown and self.track and not self.track_but:
            self.grown = None
        self.properties = {"delta.enableDeletionVectors": rnd.choice(["true", "false"])}
        self.properties |= rnd.choice([{"delta.enableChangeDataFeed": "true"}, {"delta.enableRowTracking": "true"}, {}])
        self.properties |= {"delta.columnMapping.mode": rnd.choice(["name", "id"])} if mapped else {}
        self.mapped = mapped
        routes = [c for c in self.shown if c.type in SCALARS and c.type not in ("BINARY",)]
        self.partition = rnd.sample(routes, min(len(routes) - (len(routes) == len(self.shown)), rnd.randint(1, 2))) if routes and rnd.random() < 0.3 else []
        self.cluster = rnd.sample(routes, 1) if routes and not self.partition and rnd.random() < 0.15 else []
        self.n_sources = rnd.choice([1, 1, 2])
        kinds = ["table", "table", "view", "stream", "halves"] + ["join", "feed"] * (not self.grown)
        self.kinds = [rnd.choice(kinds) for _ in range(self.n_sources)]
        if self.n_sources == 1 and self.kinds[0] == "table" and rnd.random() < 0.5:
            self.kinds[0] = rnd.choice(["inline", "apply"])
        self.guard = rnd.random() < 0.2 and not self.truncates
        self.renames = rnd.random() < 0.2 and not self.grown
        self.refreshes = rnd.random() < 0.2
        self.events, self.sent, self.updates, self.texts = [], 0, [], collections.defaultdict(dict)

    def draw_names(self, n):
        rnd, out, seen = self.rnd, [], set()
        odd = rnd.random() < 0.7
        for name in rnd.sample(NAMES, len(NAMES)) if odd else [f"n{i}" for i in range(n)]:
            if name.lower() not in seen:
                seen.add(name.lower())
                out.append(name)
        return out[:n]

    # --- events

    def draw(self):
        rnd, event = self.rnd, {}
        for c in self.keys:
            event[c.name] = c.draw(rnd, 3)
        for c in self.payload + ([self.grown] if self.grown and self.updates else []):
            event[c.name] = c.draw(rnd, None, 0.25)
        for s in [self.sequence] + ([self.system] if self.system else []):
            for c in s.columns:
                event[c.name] = c.draw(rnd, None, s.nulls.get(c.name, 0))
        if self.lists:
            others = [c.name for c in self.shown if c not in self.keys]
            event[self.lists.name] = rnd.choice([None, rnd.sample(others, rnd.randint(0, len(others)))])
        event["__seq"] = self.sequence.place(event)
        event["__sys"] = self.system.place(event) if self.system else None
        event["__op"] = "D" if self.deletes and rnd.random() < 0.25 else "T" if self.truncates and rnd.random() < 0.1 else "U"
        if event["__op"] == "T" and rnd.random() < 0.7:
            event |= {c.name: None for c in self.keys}
        elif self.guard and rnd.random() < 0.2:
            event[rnd.choice(self.keys).name] = None
        return event

    def names_array(self, names):
        texts = [literal(self.rnd.choice([name, name.upper()]) if name.isascii() else name) for name in names or []]
        return "NULL" if names is None else f"array({', '.join(texts)})"

    def insert(self, update):
        """The statements that bring an update's events."""
        self.rnd, texts = random.Random(f"{self.seed} {update}"), []
        if self.grown and update == 1:
            if self.grown.kind == "TIMESTAMP_NTZ":
                texts += [f"ALTER TABLE {self.name}_src{i} SET TBLPROPERTIES ('delta.feature.timestampNtz' = 'supported')" for i in range(self.n_sources)]
            texts += [f"ALTER TABLE {self.name}_src{i} ADD COLUMNS ({quoted(self.grown.name)} {self.grown.type})" for i in range(self.n_sources)]
        for i in range(self.n_sources):
            events = [self.draw() for _ in range(self.rnd.randint(1, 7))]
            if self.events and self.rnd.random() < 0.4 and not self.grown:
                events += [dict(self.rnd.choice(self.events))]
            columns = self.columns + ([self.grown] if self.grown and update >= 1 else [])
            rows = []
            for event in events:
                self.sent += 1
                event["__rn"] = self.sent
                place = {self.lists.name: self.names_array(event[self.lists.name])} if self.lists else {}
                place |= {self.op.name: "'D'" if event["__op"] == "D" else "'T'" if event["__op"] == "T" else self.rnd.choice(["'U'", "NULL", "'u'"]),
                         self.rn.name: str(self.sent)}
                rows.append("SELECT " + ", ".join(f"CAST({place[c.name]} AS {c.type})" if c.name in place else c.sql(self.rnd, event[c.name]) for c in columns))
            self.events += events
            texts.append(f"INSERT INTO {self.name}_src{i} " + " UNION ALL ".join(rows))
        self.updates.append(texts)
        return texts

    def applied(self):
        return [e for e in self.events if not self.guard or all(e[c.name] is not None for c in self.keys)]

    def expected(self, refreshed):
        events = self.applied()
        if refreshed and self.refreshes and self.grown:
            events = [{self.grown.name: None} | e for e in events]
        return model.rows(self.flow, events)

    # --- SQL

    def tables(self):
        columns = ", ".join(f"{quoted(c.name)} {c.type}" for c in self.columns)
        mapping = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if self.mapped else ""
        dimension = f"CREATE TABLE {self.name}_dim (n BIGINT); INSERT INTO {self.name}_dim SELECT id FROM range(1, 400)"
        return [f"CREATE TABLE {self.name}_src{i} ({columns}){mapping}" for i in range(self.n_sources)] + [dimension]

    def names(self, columns, rnd):
        return ", ".join(spelled(rnd, c.name) for c in rnd.sample(columns, len(columns)))

    def clauses(self, extra=()):
        rnd, op = self.rnd, spelled(self.rnd, self.op.name)
        keys = f"KEYS ({self.names(self.keys, rnd)})"
        out = ["SEQUENCE BY " + self.sequence.spelled(rnd)]
        out += ["SYSTEM SEQUENCE BY " + self.system.spelled(rnd)] if self.system else []
        out += ["COLUMNS TO UPDATE " + spelled(rnd, self.lists.name)] if self.lists else []
        out += ["APPLY AS DELETE WHEN " + self.deletes.replace("{op}", op)] if self.deletes else []
        out += ["APPLY AS TRUNCATE WHEN " + rnd.choice(["{op} = 'T'", "lower({op}) = 't'"]).replace("{op}", op)] if self.truncates else []
        if self.listed:
            names = self.names(self.shown, rnd)
            out.append(f"COLUMNS ({names})" if rnd.random() < 0.5 else f"COLUMNS {names}")
        else:
            out.append("COLUMNS * EXCEPT (" + ", ".join([self.names(self.excepted, rnd)] + list(extra)) + ")")
        out.append("STORED AS BITEMPORAL" if self.scd == model.BITEMPORAL else f"STORED AS SCD TYPE {self.scd}")
        if self.track:
            others = [c for c in self.shown if c not in self.keys and c not in self.track]
            if not self.track_but:
                out.append(f"TRACK HISTORY ON {self.names(self.track, rnd)}")
            elif others:
                out.append(f"TRACK HISTORY ON * EXCEPT ({self.names(others, rnd)})")
        if self.ignored:
            out.append(f"IGNORE NULL UPDATES ON {self.names(self.ignored, rnd)}")
        if self.scd == 1:
            out = [c for c in out if "SCD TYPE 1" not in c or rnd.random() < 0.5]
        rnd.shuffle(out)
        return " ".join([keys] + out)

    def source(self, i):
        """[(statements, the flow's source, columns that it has more)]"""
        rnd, base, kind = self.rnd, f"{self.name}_src{i}", self.kinds[i]
        table = f"STREAM({base})" if rnd.random() < 0.5 else f"STREAM {base} WITH (maxFilesPerTrigger = 1)"
        if kind in ("table", "inline", "apply"):
            return [("", table, [])]
        if kind == "view":
            return [(f"CREATE TEMPORARY VIEW {base}_v AS SELECT * FROM {table} WHERE true;\n", f"STREAM({base}_v)", [])]
        if kind == "stream":
            mapping = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if self.mapped else ""
            return [(f"CREATE STREAMING TABLE {base}_t{mapping} AS SELECT * FROM STREAM {base};\n", f"STREAM {base}_t", [])]
        if kind == "halves":
            number = quoted(self.rn.name)
            return [(f"CREATE TEMPORARY VIEW {base}_{h} AS SELECT * FROM STREAM {base} WHERE {number} % 3 {test};\n", f"STREAM({base}_{h})", [])
                    for h, test in (("a", "= 0"), ("b", "<> 0"))]
        if kind == "join":
            columns = ", ".join(f"e.{quoted(c.name)}" for c in rnd.sample(self.columns, len(self.columns)))
            return [(f"CREATE TEMPORARY VIEW {base}_j AS SELECT {columns} FROM STREAM {base} e JOIN {self.name}_dim d ON d.n = e.{quoted(self.rn.name)};\n",
                     f"STREAM({base}_j)", [])]
        number = quoted(self.rn.name)
        mapping = ", 'delta.columnMapping.mode' = 'name'" if self.mapped else ""
        return [(f"CREATE STREAMING TABLE {base}_up TBLPROPERTIES ('delta.enableChangeDataFeed' = 'true'{mapping});\n"
                 f"CREATE FLOW {base}_uf AS AUTO CDC INTO {base}_up FROM {table} KEYS ({number}) SEQUENCE BY {number};\n",
                 f"STREAM {base}_up WITH (readChangeFeed = true)", ["_change_type", "_commit_version", "_commit_timestamp"])]

    def sql(self, update):
        """The same each time, but for names of flows that change."""
        rnd = self.rnd = random.Random(f"{self.seed} sql")
        tag = update if self.renames else 0
        parts = ([f"PARTITIONED BY ({self.names(self.partition, rnd)})"] if self.partition else [])
        parts += [f"CLUSTER BY ({self.names(self.cluster, rnd)})"] if self.cluster else []
        parts.append("TBLPROPERTIES (" + ", ".join(f"'{k}' = '{v}'" for k, v in self.properties.items()) + ")")
        guard = "(" + ", ".join(f"CONSTRAINT g{n} EXPECT ({quoted(c.name)} IS NOT NULL) ON VIOLATION DROP ROW" for n, c in enumerate(self.keys)) + ") "
        head = f"CREATE STREAMING TABLE {self.name} {guard if self.guard else ''}{' '.join(parts)}"
        sources, flows = [], []
        for i in range(self.n_sources):
            for n, (statements, source, extra) in enumerate(self.source(i)):
                sources.append(statements)
                body = f"FROM {source} {self.clauses(extra)};\n"
                if self.kinds[i] == "inline":
                    flows.append(f"{head} FLOW AUTO CDC {body}")
                elif self.kinds[i] == "apply":
                    flows.append(f"{head};\nAPPLY CHANGES INTO LIVE.{self.name} {body}")
                else:
                    flows.append(f"CREATE FLOW {self.name}_flow{i}_{n}_{tag} AS {rnd.choice(['AUTO CDC', 'APPLY CHANGES'])} INTO {self.name} {body}")
        text = [] if any(k in ("inline", "apply") for k in self.kinds) else [head + ";\n"]
        text = rnd.sample(text + flows, len(text + flows))
        if self.mirrors:
            mapping = " TBLPROPERTIES ('delta.columnMapping.mode' = 'name')" if self.mapped else ""
            keys = ", ".join([quoted(c.name) for c in self.keys] + model.INTERVALS[self.scd][::2])
            text.append(f"CREATE TEMPORARY VIEW {self.name}_mv AS SELECT *, struct(_commit_version, _change_type <> 'delete') AS __place "
                        f"FROM STREAM {self.name} WITH (readChangeFeed = true) WHERE _change_type <> 'update_preimage';\n"
                        f"CREATE STREAMING TABLE {self.name}_m{mapping};\nCREATE FLOW {self.name}_mf AS AUTO CDC INTO {self.name}_m FROM STREAM({self.name}_mv) "
                        f"KEYS ({keys}) APPLY AS DELETE WHEN _change_type = 'delete' SEQUENCE BY __place "
                        f"COLUMNS * EXCEPT (_change_type, _commit_version, _commit_timestamp, __place);\n")
        return "".join(sources + text)

    def target_columns(self):
        grown = [self.grown] if self.grown and len(self.updates) > 1 else []
        return self.shown + grown

    # --- what the places look like

    def look(self, source):
        """The query that shows every event of a source."""
        self.looked = self.columns + ([self.grown] if self.grown and len(self.updates) > 1 else [])
        expressions = [f"{quoted(c.name)} AS c{n}" for n, c in enumerate(self.looked)]
        for name, s in (("seq", self.sequence), ("sys", self.system)):
            expressions += [f"{s.sql([quoted(c.name) for c in s.columns])} AS {name}"] if s else []
        return f"SELECT {quoted(self.rn.name)} AS number, {', '.join(expressions)} FROM {self.name}_src{source}"

    def learn(self, rows):
        by_number = {event["__rn"]: event for event in self.events}
        for row in rows:
            event = by_number[int(row["number"])]
            for n, c in enumerate(self.looked):
                if c not in (self.op, self.rn, self.lists):
                    self.texts[c.name].setdefault(event.get(c.name), canonical(c.type, row[f"c{n}"]))
            self.texts["__seq"].setdefault(model.frozen(event["__seq"]), canonical("", row["seq"]))
            if self.system:
                self.texts["__sys"].setdefault(model.frozen(event["__sys"]), canonical("", row["sys"]))

    def wanted(self, refreshed):
        out = []
        for row in self.expected(refreshed):
            texts = [None if row.get(c.name) is None else self.texts[c.name][row[c.name]] for c in self.target_columns()]
            for name in model.INTERVALS[self.scd]:
                at = row[name]
                texts.append(None if at is None else self.texts["__sys" if "SYSTEM" in name else "__seq"][model.frozen(at)])
            out.append(json.dumps(texts))
        return sorted(out)

    def selected(self, present):
        """present: the columns of the table; a new one comes with the first batch that makes a difference."""
        columns = [quoted(c.name) if c != self.grown or c.name in present else "NULL" for c in self.target_columns()]
        return ", ".join([f"{column} AS c{n}" for n, column in enumerate(columns)] +
                         [f"{name} AS i{n}" for n, name in enumerate(model.INTERVALS[self.scd])])

    def got(self, rows):
        out = []
        for row in rows:
            texts = [None if row[f"c{n}"] is None else canonical(c.type, row[f"c{n}"]) for n, c in enumerate(self.target_columns())]
            texts += [None if row[f"i{n}"] is None else canonical("", row[f"i{n}"]) for n in range(len(model.INTERVALS[self.scd]))]
            out.append(json.dumps(texts))
        return sorted(out)

    def story(self):
        updates = "\n    ".join(text for update in self.updates for text in update)
        return f"seed {self.seed}\n    {'; '.join(self.tables())}\n    {updates}\n  flow {self.sql(0)}"


def canonical(kind, value):
    """A value's text: zero without a sign, maps by their keys."""
    def plain(v):
        if isinstance(v, float) and v == 0:
            return 0.0
        if isinstance(v, list):
            items = [plain(x) for x in v]
            pairs = "MAP" in kind and items and all(isinstance(x, list) and len(x) == 2 for x in items)
            return sorted(items, key=json.dumps) if pairs else items
        if isinstance(v, dict):
            return {k.lower(): plain(x) for k, x in v.items()}
        return v
    return json.dumps(plain(value))


def check(project, case, zone, refreshed):
    """Rows, those of the mirror, and at the end what the feed comes to. zone: of the pipeline, in which its sequences are computed."""
    for source in range(case.n_sources):
        case.learn(project.query(f"SET TIME ZONE '{zone}'; {case.look(source)}")[1:])
    selected = case.selected([row["col_name"] for row in project.query(f"DESCRIBE {case.name}")])
    got, wanted = case.got(project.query(f"SELECT {selected} FROM {case.name}")), case.wanted(refreshed)
    if got != wanted:
        return f"{case.name} after update {len(case.updates)}: got {lines(got)}\n  wanted {lines(wanted)}\n  {case.story()}"
    if case.mirrors and case.got(project.query(f"SELECT {selected} FROM {case.name}_m")) != wanted:
        return f"{case.name} after update {len(case.updates)}: a target of its feed is not the same\n  {case.story()}"
    if not refreshed or len(case.properties) == 1 + case.mapped:
        return None
    net = collections.Counter()
    for row in project.query(f"SELECT _change_type, {selected} FROM table_changes('{case.name}', 0)"):
        net[case.got([row])[0]] += 1 if row["_change_type"] in ("insert", "update_postimage") else -1
    if min(net.values(), default=0) >= 0 and sorted(net.elements()) == wanted:
        return None
    return f"{case.name}: the feed comes to {lines(str(item) for item in net.items())}\n  wanted {lines(wanted)}\n  {case.story()}"


def lines(rows):
    return "".join(f"\n    {row}" for row in rows)


def update(project, rnd, *options):
    """One, sometimes killed before. Returns what it failed with."""
    if rnd.random() < 0.4:
        project.run(*options, env={"SLUICE_FAULT": f"n={rnd.randint(1, 900)},mode=kill"})
    result = project.run(*options)
    return result.stderr if result.returncode != 0 else None


def run_project(cases):
    rnd = random.Random(f"{cases[0].seed} project")
    zone = rnd.choice(["UTC", "Asia/Kolkata", "America/New_York"])
    with Project("", configuration=f'  spark.sql.session.timeZone: "{zone}"\n') as p:
        p.query("; ".join(text for case in cases for text in case.tables()))
        again = [name for case in cases if case.refreshes for name in [case.name, f"{case.name}_m"][:1 + case.mirrors]]
        for number in range(N_UPDATES + 1):
            last = number == N_UPDATES  # brings nothing new
            if not last:
                p.query("; ".join(text for case in cases for text in case.insert(number)))
            p.sql("".join(case.sql(number) for case in cases))
            failure = (update(p, rnd, "--full-refresh", ",".join(again)) if last and again else None) or update(p, rnd)
            if failure:
                return [f"update {number + 1} fails: {failure}\n" + "\n".join(case.story() for case in cases if case.name in failure)]
            findings = [f for f in (check(p, case, zone, last) for case in cases) if f]
            if findings:
                return findings
    return []


def main():
    return run_cases(arguments().parse_args(), lambda number, rnd: Case(number, rnd.randrange(1 << 30)), run_project, CASES_PER_PROJECT)


if __name__ == "__main__":
    sys.exit(main())

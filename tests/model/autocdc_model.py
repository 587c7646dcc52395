#!/usr/bin/env python3
"""Brute-force model of AUTO CDC: the set of all events so far -> target rows and needed facts.

Written from the specification, without a look at how the engine does it. An event is a dict {column: value}; a column that is
missing from the dict did not exist in the source when the event arrived. A STRUCT is a dict, an ARRAY a list, a MAP a Map, NULL is None.
`Flow` holds the clauses; `rows` is the reference function; `needed` gives the facts that an engine must still remember, which
is what the harness compares with the facts found in rows and state files.

A field is what is reconciled as one, named by its path: ("x",), or ("s", "p") for a leaf of a struct under IGNORE NULL UPDATES.
"""
import collections

BITEMPORAL = "bitemporal"
INTERVALS = {1: [], 2: ["__START_AT", "__END_AT"],
             BITEMPORAL: ["__START_AT", "__END_AT", "__SYSTEM_START_AT", "__SYSTEM_END_AT"]}


class Map(list):
    """Pairs [key, value]."""


WHOLE = "__row"  # in an upsert that a statement left, its row: the upsert authors every field, NULL too


class Flow:
    """op: the column that says 'D' for a delete and, with truncates, 'T' for a truncate. ignore_null: True or a list of columns.
    to_update: the column of COLUMNS TO UPDATE. shapes: {column: {leaf: shape}} of struct columns, a leaf's shape is None."""

    def __init__(self, keys, seq, scd, op=None, except_columns=(), track=None, track_except=None, system=None, truncates=False,
                 ignore_null=None, ignore_null_except=None, to_update=None, shapes=None):
        self.keys, self.seq, self.scd, self.op, self.system, self.truncates = list(keys), seq, scd, op, system, truncates
        self.except_columns, self.track, self.track_except = set(except_columns), track, track_except
        self.ignore_null, self.ignore_null_except, self.to_update = ignore_null, ignore_null_except, to_update
        self.shapes = shapes or {}
        self.partial = bool(ignore_null) or ignore_null_except is not None or to_update is not None

    def is_delete(self, event):
        return self.op is not None and event.get(self.op) == "D"

    def is_truncate(self, event):
        return self.truncates and event.get(self.op) == "T"

    def tracks(self, column):
        if self.track is not None:
            return column in self.track
        return column not in (self.track_except or ())

    def ignores_null(self, column):
        if self.ignore_null_except is not None:
            return column not in self.ignore_null_except
        return self.ignore_null is True or column in (self.ignore_null or ())

    def targets(self, column):
        """Whether it is a column of the target that is not a key."""
        return column not in self.except_columns and column not in self.keys and column not in (self.to_update, WHOLE)

    def paths(self, column):
        shape = self.shapes.get(column)
        return list(leaves(shape, (column,))) if shape and self.ignores_null(column) else [(column,)]

    def payload(self, event):
        """{field: value} of the fields an upsert authors."""
        listed = event.get(self.to_update) if self.to_update else None
        out = {}
        for column, value in event.items():
            if not self.targets(column) or (listed is not None and column not in listed):
                continue
            for path in self.paths(column):
                part = padded(value, self.shapes.get(column)) if len(path) == 1 else at(value, path[1:])
                if part is not None or not self.ignores_null(column) or event.get(WHOLE):
                    out[path] = part
        return out


def leaves(shape, path):
    for name, inner in shape.items():
        if inner:
            yield from leaves(inner, path + (name,))
        else:
            yield path + (name,)


def at(value, path):
    for name in path:
        value = value.get(name) if value is not None else None
    return value


def padded(value, shape):
    """A struct as its column shows it: with leaves that it came without."""
    if value is None or not shape:
        return value
    return {name: padded(value.get(name), inner) for name, inner in shape.items()}


def columns_of(flow, events):
    """The target's columns beside keys and intervals: those that any event has had."""
    columns = {}
    for event in events:
        columns |= {c: None for c in event if flow.targets(c)}
    return list(columns)


def rebuilt(flow, state, columns):
    """The columns of a row from its fields."""
    row = {}
    for column in columns:
        for path in flow.paths(column):
            node = row
            for name in path[:-1]:
                node = node.setdefault(name, {})
            node[path[-1]] = state.get(path)
    return row


def shown(flow, column, value):
    """{column: value} as a row shows it that was written before the column had all its leaves, or before it was there."""
    if flow.paths(column) == [(column,)]:
        return {column: padded(value, flow.shapes.get(column))}
    return rebuilt(flow, {path: at(value, path[1:]) for path in flow.paths(column)}, [column])


# --- the order of values ----------------------------------------------------------------------------------------------------


def rank(value):
    """The total order of values: NULL lowest, NaN highest, structs and arrays element by element, maps by their sorted entries."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, (1, 0.0)) if value != value else (1, (0, value + 0.0))
    if isinstance(value, dict):
        return (1, [rank(v) for v in value.values()])
    if isinstance(value, Map):
        return (1, sorted((1, [rank(k), rank(v)]) for k, v in value))
    if isinstance(value, (list, tuple)):
        return (1, [rank(v) for v in value])
    return (1, value)


def frozen(value):
    """A hashable stand-in for a value."""
    return repr(rank(value))


# --- facts ------------------------------------------------------------------------------------------------------------------

# kind: "D" or "U"; y: the system sequence, None where there is none; payload: {field: value}, empty for a delete.
Fact = collections.namedtuple("Fact", "key s y kind payload")


def fact_of(flow, event):
    """The event as it came, a truncate is none."""
    kind = "D" if flow.is_delete(event) else "U"
    return Fact(tuple(event[k] for k in flow.keys), event[flow.seq], event[flow.system] if flow.system else None, kind,
                {} if kind == "D" else flow.payload(event))


def identity_of_fact(flow, fact):
    """With partial updates all upserts of one place are one fact, else those that author the same fields."""
    return frozen(fact.key), frozen(fact.s), frozen(fact.y), fact.kind, None if flow.partial else frozenset(fact.payload)


def joined(flow, a, b):
    """The fact that stands for two of one identity: the greater row as a whole, or field by field the greater value."""
    if flow.partial:
        return a._replace(payload=merged([a.payload, b.payload]))
    names = sorted(a.payload, key=lambda path: ".".join(path).lower().encode())
    return max(a, b, key=lambda fact: [rank(fact.payload[n]) for n in names])


def merged(payloads):
    """Field by field the greatest value."""
    out = {}
    for payload in payloads:
        for field, value in payload.items():
            if field not in out or rank(value) > rank(out[field]):
                out[field] = value
    return out


def normalised(flow, events):
    """{identity: fact}"""
    out = {}
    for event in events:
        if not flow.is_truncate(event):
            fact = fact_of(flow, event)
            ident = identity_of_fact(flow, fact)
            out[ident] = joined(flow, out[ident], fact) if ident in out else fact
    return out


def parts(flow, fact):
    """A fact as memory is asked for it: with partial updates that it is there, and each field by itself."""
    if not flow.partial or fact.kind == "D":
        return [fact]
    return [fact._replace(payload={})] + [fact._replace(payload={f: v}) for f, v in fact.payload.items()]


def known(flow, events):
    """Parts of all facts."""
    return [part for event in events if not flow.is_truncate(event) for part in parts(flow, fact_of(flow, event))]


def by_key(facts):
    """The facts of each key."""
    groups = {}
    for fact in facts:
        groups.setdefault(frozen(fact.key), []).append(fact)
    return groups.values()


def newest(values):
    return max(values, key=rank, default=None)


def newest_truncate(flow, events):
    return newest([event[flow.seq] for event in events if flow.is_truncate(event)])


def at_each(facts, attribute):
    """[(value of the attribute, facts)] in its order."""
    groups = {}
    for fact in facts:
        groups.setdefault(frozen(getattr(fact, attribute)), (getattr(fact, attribute), []))[1].append(fact)
    return sorted(groups.values(), key=lambda group: rank(group[0]))


# --- the reference functions ------------------------------------------------------------------------------------------------


def standing(facts, wipe):
    """SCD 1: the upserts at or above the newest delete or truncate."""
    low = newest([f.s for f in facts if f.kind == "D"] + ([] if wipe is None else [wipe]))
    return [f for f in facts if f.kind == "U" and (low is None or rank(f.s) >= rank(low))]


def scd1_of_key(flow, facts, columns, wipe=None):
    alive = standing(facts, wipe)
    state = {}
    for _, group in at_each(alive, "s"):
        state |= merged([f.payload for f in group])
    return [rebuilt(flow, state, columns)] if alive else []


Run = collections.namedtuple("Run", "state start end first last authors")


def timeline(flow, steps, columns):
    """steps: [(sequence, payload or None for a delete)] in order. authors: {field: sequence of the step its value is from}."""
    tracked = [p for c in columns if flow.tracks(c) for p in flow.paths(c)]
    runs, run = [], None
    for s, payload in steps:
        if payload is None:
            runs += [run._replace(end=s)] if run else []
            run = None
            continue
        state = {**(run.state if run else {}), **payload}
        authors = {**(run.authors if run else {}), **{f: s for f in payload}}
        if run and all(rank(state.get(p)) == rank(run.state.get(p)) for p in tracked):
            run = run._replace(state=state, last=s, authors=authors)
            continue
        runs += [run._replace(end=s)] if run else []
        run = Run(state, s, None, s, s, authors)
    return runs + ([run] if run else [])


def history(flow, facts, columns):
    """SCD 2: a delete wins over upserts at its sequence."""
    steps = [(s, None if any(f.kind == "D" for f in group) else merged([f.payload for f in group])) for s, group in at_each(facts, "s")]
    return timeline(flow, steps, columns)


def scd2_of_key(flow, facts, columns):
    return [rebuilt(flow, run.state, columns) | {"__START_AT": run.start, "__END_AT": run.end} for run in history(flow, facts, columns)]


def folded(flow, facts):
    """What is believed of one business instant: what was known latest, a delete included; with partial updates field by field."""
    step = None
    for _, group in at_each(facts, "y"):
        if any(f.kind == "D" for f in group):
            step = None
        else:
            step = {**(step if step and flow.partial else {}), **merged([f.payload for f in group])}
    return step


def belief(flow, facts, columns):
    steps = [(s, folded(flow, group)) for s, group in at_each(facts, "s")]
    rows = [rebuilt(flow, run.state, columns) | {"__START_AT": run.start, "__END_AT": run.end} for run in timeline(flow, steps, columns)]
    return {frozen(row): row for row in rows}


def bitemporal_of_key(flow, facts, columns):
    out, open_rows, known_facts = [], {}, []
    for y, group in at_each(facts, "y"):
        known_facts += group
        now = belief(flow, known_facts, columns)
        out += [row | {"__SYSTEM_END_AT": y} for ident, row in open_rows.items() if ident not in now]
        open_rows = {ident: open_rows.get(ident, row | {"__SYSTEM_START_AT": y, "__SYSTEM_END_AT": None}) for ident, row in now.items()}
    return out + list(open_rows.values())


def rows_of_key(flow, facts, columns, wipe=None):
    if flow.scd == 1:
        return scd1_of_key(flow, facts, columns, wipe)
    return (scd2_of_key if flow.scd == 2 else bitemporal_of_key)(flow, facts, columns)


def rows(flow, events):
    """The target's rows, in no particular order."""
    columns, wipe = columns_of(flow, events), newest_truncate(flow, events)
    out = []
    for facts in by_key(normalised(flow, events).values()):
        out += [dict(zip(flow.keys, facts[0].key)) | row for row in rows_of_key(flow, facts, columns, wipe)]
    return out


# --- memory -----------------------------------------------------------------------------------------------------------------


def needed_of_scd1(flow, facts, wipe):
    """The newest delete unless a truncate does the same; of the upserts that stand those at the newest sequence of one of their fields,
    or at the newest of all."""
    deletes = [f for f in facts if f.kind == "D"]
    low, alive = newest([f.s for f in deletes]), standing(facts, wipe)
    out = [f for f in deletes if frozen(f.s) == frozen(low) and (wipe is None or rank(low) > rank(wipe))]
    authored, last = {}, None
    for s, group in at_each(alive, "s"):
        authored |= {field: frozen(s) for f in group for field in f.payload}
        last = frozen(s)
    for fact in alive:
        out += [p for p in parts(flow, fact) if any(authored[field] == frozen(p.s) for field in p.payload) or
                (frozen(p.s) == last and not (flow.partial and p.payload))]
    return out


def needed(flow, events, expired=lambda fact: False):
    """Parts of the facts that decide what any future event does. SCD 2 and bitemporal: all, but no upsert where there is a delete.

    expired: whether a part is so old that it may be forgotten, if it is of a kind that may: deletes, and members inside a run of SCD 2
    that author nothing that is shown."""
    out, columns, wipe = [], columns_of(flow, events), newest_truncate(flow, events)
    for facts in by_key(normalised(flow, events).values()):
        if flow.scd == 1:
            out += [f for f in needed_of_scd1(flow, facts, wipe) if f.kind == "U" or not expired(f)]
            continue
        gone = {(frozen(f.s), frozen(f.y)) for f in facts if f.kind == "D"}
        lasting = set()
        if flow.scd == 2:
            lasting = {frozen(s) for run in history(flow, facts, columns) for s in [run.first, run.last, *run.authors.values()]}
        for fact in facts:
            if fact.kind == "D" or (frozen(fact.s), frozen(fact.y)) not in gone:
                lasts = flow.scd != 2 or (fact.kind == "U" and frozen(fact.s) in lasting)
                out += [part for part in parts(flow, fact) if lasts or not expired(part)]
    return out


# --- changes ----------------------------------------------------------------------------------------------------------------


def identity(flow, row):
    """What makes a target row the same row before and after a change."""
    return tuple(frozen(row[c]) for c in flow.keys + INTERVALS[flow.scd][::2])


def metrics(flow, before, after):
    """(rows inserted or updated, rows removed) of the smallest change from one set of rows to the other."""
    old = {identity(flow, r): r for r in before}
    new = {identity(flow, r): r for r in after}
    changed = [i for i in new if i not in old or any(rank(new[i].get(c)) != rank(old[i].get(c)) for c in new[i])]
    return len(changed), len([i for i in old if i not in new])


# --- snapshots --------------------------------------------------------------------------------------------------------------


class Snapshots:
    """Snapshots as the events that they stand for. flow: its sequence is the version, its op says 'D'."""

    def __init__(self, flow):
        self.flow, self.before, self.version, self.columns, self.events = flow, {}, None, [], []

    def add(self, version, rows_):
        """Returns whether the snapshot was taken: a version that is not above the last one is not."""
        if self.version is not None and rank(version) <= rank(self.version):
            return False
        self.version = version
        self.columns += [c for c in columns_of(self.flow, rows_) if c not in self.columns]
        now = {}
        for row in rows_:
            key = tuple(row[k] for k in self.flow.keys)
            assert frozen(key) not in now
            now[frozen(key)] = {k: row[k] for k in self.flow.keys} | {c: padded(row.get(c), self.flow.shapes.get(c)) for c in self.columns}
        stamp = {self.flow.seq: version}
        for ident, row in now.items():
            old = self.before.get(ident)
            if old is None or any(rank(row[c]) != rank(padded(old.get(c), self.flow.shapes.get(c))) for c in self.columns):
                self.events.append(row | stamp | {self.flow.op: "U"})
        for ident, row in self.before.items():
            if ident not in now:
                self.events.append({k: row[k] for k in self.flow.keys} | stamp | {self.flow.op: "D"})
        self.before = now
        return True


# --- statements -------------------------------------------------------------------------------------------------------------


class Target:
    """A target that statements change between batches. `visible` are its rows: right after a statement those that it left, after a
    batch those of the reference function, for the keys that the batch has.

    SCD 1: what a statement leaves has the key's newest known sequence (None, below all others, when there is none) and wins ties,
    which a second number after the sequence says; a truncate is known of every key. A row that goes takes with it what it says, when its
    key has another row. SCD 2: a touched key begins anew, its rows are upserts at their start, and an end at which no row begins is a
    delete. Bitemporal: a key goes whole, and begins anew."""

    def __init__(self, flow):
        self.flow, self.facts, self.visible, self.columns, self.statements, self.wipe = flow, {}, [], [], 0, None

    def key(self, row):
        return tuple(row[k] for k in self.flow.keys)

    def batch(self, events):
        flow, seq = self.flow, self.flow.seq
        for event in events:
            self.columns += [c for c in columns_of(flow, [event]) if c not in self.columns]
            fact = event | {seq: [event[seq], 0]} if flow.scd == 1 else event
            if flow.is_truncate(event):
                self.wipe = newest([self.wipe, fact[seq]])
            else:
                self.facts.setdefault(self.key(event), []).append(fact)
        met = set(self.facts) if any(flow.is_truncate(event) for event in events) else {self.key(event) for event in events}
        self.visible = [row for row in self.visible if self.key(row) not in met]
        for key in met:
            facts = list(normalised(flow, self.facts[key]).values())
            self.visible += [dict(zip(flow.keys, key)) | row for row in rows_of_key(flow, facts, self.columns, self.wipe)]

    def statement(self, removed, added):
        """removed: rows of `visible` themselves; added: new rows."""
        self.visible = [row for row in self.visible if not any(row is r for r in removed)] + added
        self.statements += 1
        for key in {self.key(row) for row in removed + added}:
            if self.flow.scd == 1:
                self.remember_scd1(key, removed, [row for row in added if self.key(row) == key])
            else:
                self.facts[key] = self.history(key) if self.flow.scd == 2 else []

    def upsert(self, row, s):
        return {k: row[k] for k in self.flow.keys} | {c: row.get(c) for c in self.columns} | {self.flow.seq: s, self.flow.op: "U", WHOLE: row}

    def remember_scd1(self, key, removed, added):
        seq, known = self.flow.seq, self.facts.get(key, [])
        place = [newest([fact[seq][0] for fact in known] + [self.wipe[0] if self.wipe else None]), self.statements]
        facts = self.facts[key] = [fact for fact in known if not any(fact.get(WHOLE) is row for row in removed)]
        if added:
            facts += [self.upsert(row, place) for row in added]
        elif not any(self.key(row) == key for row in self.visible):
            facts.append(dict(zip(self.flow.keys, key)) | {seq: place, self.flow.op: "D"})

    def history(self, key):
        rows_ = [row for row in self.visible if self.key(row) == key]
        starts = {frozen(row["__START_AT"]) for row in rows_}
        ends = [row["__END_AT"] for row in rows_ if row["__END_AT"] is not None and frozen(row["__END_AT"]) not in starts]
        return [self.upsert(row, row["__START_AT"]) for row in rows_] + \
            [dict(zip(self.flow.keys, key)) | {self.flow.seq: end, self.flow.op: "D"} for end in ends]

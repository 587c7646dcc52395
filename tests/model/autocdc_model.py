#!/usr/bin/env python3
"""Brute-force model of AUTO CDC, SCD types 1 and 2: the set of all events so far -> target rows and needed facts.

Written from the specification, without a look at how the engine does it. An event is a dict {column: value}; a column that is
missing from the dict did not exist in the source when the event arrived. A STRUCT is a dict, an ARRAY a list, NULL is None.
`Flow` holds the clauses; `rows` is the reference function; `needed` gives the facts that an engine must still remember, which
is what the harness compares with the facts found in rows and state files.
"""


class Flow:
    def __init__(self, keys, seq, scd, op=None, except_columns=(), track=None, track_except=None):
        self.keys, self.seq, self.scd, self.op = list(keys), seq, scd, op
        self.except_columns, self.track, self.track_except = set(except_columns), track, track_except

    def is_delete(self, event):
        return self.op is not None and event.get(self.op) == "D"

    def tracks(self, column):
        if self.track is not None:
            return column in self.track
        return column not in (self.track_except or ())

    def payload(self, event):
        """{column: value} of the columns an upsert authors."""
        return {c: v for c, v in event.items() if c not in self.except_columns and c not in self.keys}


def rank(value):
    """The total order of values: NULL lowest, NaN highest, structs and arrays element by element."""
    if value is None:
        return (0,)
    if isinstance(value, float):
        return (1, (1, 0.0)) if value != value else (1, (0, value + 0.0))
    if isinstance(value, dict):
        return (1, [rank(v) for v in value.values()])
    if isinstance(value, list):
        return (1, [rank(v) for v in value])
    return (1, value)


def frozen(value):
    """A hashable stand-in for a value."""
    return repr(rank(value))


def by_name(payload):
    return sorted(payload, key=lambda c: c.lower().encode())


def by_key(flow, events):
    groups = {}
    for event in events:
        groups.setdefault(tuple(event[k] for k in flow.keys), []).append(event)
    return groups


def facts_of_key(flow, events):
    """Normalised facts of one key: (deletes, upserts); deletes = [sequence], upserts = [(sequence, payload)], one per
    (sequence, set of columns): the greatest row wins whole."""
    deletes, upserts = {}, {}
    for event in events:
        s = event[flow.seq]
        if flow.is_delete(event):
            deletes[frozen(s)] = s
            continue
        payload = flow.payload(event)
        ident = (frozen(s), tuple(by_name(payload)))
        row = [rank(payload[c]) for c in by_name(payload)]
        if ident not in upserts or row > upserts[ident][0]:
            upserts[ident] = (row, s, payload)
    order = lambda s: rank(s)
    return sorted(deletes.values(), key=order), sorted(((s, p) for _, s, p in upserts.values()), key=lambda x: order(x[0]))


def merged(payloads):
    """Upserts of one sequence with different sets: field by field the greatest value."""
    out = {}
    for payload in payloads:
        for column, value in payload.items():
            if column not in out or rank(value) > rank(out[column]):
                out[column] = value
    return out


def steps_of(upserts):
    """[(sequence, merged payload)] in order."""
    out = []
    for s, payload in upserts:
        if out and rank(out[-1][0]) == rank(s):
            out[-1][1].append(payload)
        else:
            out.append((s, [payload]))
    return [(s, merged(ps)) for s, ps in out]


def standing(deletes, upserts):
    """SCD 1: the upserts at or above the newest delete."""
    return [(s, p) for s, p in upserts if not deletes or rank(s) >= rank(deletes[-1])]


def rows_of_key_scd1(flow, events, columns):
    deletes, upserts = facts_of_key(flow, events)
    alive = standing(deletes, upserts)
    if not alive:
        return []
    state = {}
    for _, payload in steps_of(alive):
        state.update(payload)
    return [{c: state.get(c) for c in columns}]


def rows_of_key_scd2(flow, events, columns):
    deletes, upserts = facts_of_key(flow, events)
    gone = {frozen(s) for s in deletes}
    steps = [(s, None) for s in deletes] + [(s, p) for s, p in steps_of(upserts) if frozen(s) not in gone]
    rows, current, start = [], None, None
    for s, payload in sorted(steps, key=lambda step: rank(step[0])):
        if payload is None:
            if current is not None:
                rows.append((current, start, s))
            current = None
            continue
        new = {**(current or {c: None for c in columns}), **payload}
        if current is not None:
            if all(rank(new[c]) == rank(current[c]) for c in columns if flow.tracks(c)):
                current = new
                continue
            rows.append((current, start, s))
        current, start = new, s
    if current is not None:
        rows.append((current, start, None))
    return [{**row, "__START_AT": a, "__END_AT": b} for row, a, b in rows]


def rows(flow, events):
    """The target's rows, in no particular order. The target's columns are those any event has had."""
    columns = []
    for event in events:
        columns += [c for c in flow.payload(event) if c not in columns]
    of_key = rows_of_key_scd1 if flow.scd == 1 else rows_of_key_scd2
    return [{**dict(zip(flow.keys, key)), **row}
            for key, group in by_key(flow, events).items() for row in of_key(flow, group, columns)]


def needed(flow, events):
    """Facts that decide what any future event does: [(key, sequence, 'D' or 'U', payload)].

    SCD 1: the newest delete; of the upserts at or above it those that are at the newest sequence of one of their columns (or
    at the newest of all). SCD 2: every delete, and every upsert at whose sequence there is no delete."""
    out = []
    for key, group in by_key(flow, events).items():
        deletes, upserts = facts_of_key(flow, group)
        if flow.scd == 1:
            alive = standing(deletes, upserts)
            newest = {}
            for s, payload in alive:
                for c in payload:
                    newest[c] = frozen(s)
            last = frozen(alive[-1][0]) if alive else None
            out += [(key, deletes[-1], "D", {})] if deletes else []
            out += [(key, s, "U", p) for s, p in alive if frozen(s) == last or any(newest[c] == frozen(s) for c in p)]
        else:
            gone = {frozen(s) for s in deletes}
            out += [(key, s, "D", {}) for s in deletes]
            out += [(key, s, "U", p) for s, p in upserts if frozen(s) not in gone]
    return out


def identity(flow, row):
    """What makes a target row the same row before and after a change."""
    ident = tuple(frozen(row[k]) for k in flow.keys)
    return ident + (frozen(row["__START_AT"]),) if flow.scd == 2 else ident


def metrics(flow, before, after):
    """(rows inserted or updated, rows removed) of the smallest change from one set of rows to the other."""
    old = {identity(flow, r): r for r in before}
    new = {identity(flow, r): r for r in after}
    changed = [i for i in new if i not in old or any(rank(new[i].get(c)) != rank(old[i].get(c)) for c in new[i])]
    return len(changed), len([i for i in old if i not in new])


class Target:
    """A target that statements change between batches. `visible` are its rows: right after a statement those that it left, after a
    batch those of the reference function, for the keys that the batch has.

    SCD 1: what a statement leaves has the key's newest known sequence (None, below all others, when there is none) and wins ties,
    which a second number after the sequence says. SCD 2: a touched key begins anew, its rows are upserts at their start, and an end
    at which no row begins is a delete."""

    def __init__(self, flow):
        self.flow, self.facts, self.visible, self.columns, self.statements = flow, {}, [], [], 0

    def key(self, row):
        return tuple(row[k] for k in self.flow.keys)

    def batch(self, events):
        seq = self.flow.seq
        for event in events:
            self.columns += [c for c in self.flow.payload(event) if c not in self.columns]
            fact = event | {seq: [event[seq], 0]} if self.flow.scd == 1 else event
            self.facts.setdefault(self.key(event), []).append(fact)
        met = {self.key(event) for event in events}
        self.visible = [row for row in self.visible if self.key(row) not in met]
        of_key = rows_of_key_scd1 if self.flow.scd == 1 else rows_of_key_scd2
        for key in met:
            self.visible += [dict(zip(self.flow.keys, key)) | row for row in of_key(self.flow, self.facts[key], self.columns)]

    def statement(self, removed, added):
        """removed: rows of `visible` themselves; added: new rows."""
        self.visible = [row for row in self.visible if not any(row is r for r in removed)] + added
        self.statements += 1
        for key in {self.key(row) for row in removed + added}:
            if self.flow.scd == 1:
                self.remember_scd1(key, [row for row in added if self.key(row) == key])
            else:
                self.facts[key] = self.history(key)

    def upsert(self, row, s):
        return {k: row[k] for k in self.flow.keys} | {c: row.get(c) for c in self.columns} | {self.flow.seq: s, self.flow.op: "U"}

    def remember_scd1(self, key, added):
        seq, facts = self.flow.seq, self.facts.setdefault(key, [])
        newest = max((fact[seq][0] for fact in facts), key=rank, default=None)
        place = [newest, self.statements]
        if added:
            facts += [self.upsert(row, place) for row in added]
        elif not any(self.key(row) == key for row in self.visible):
            facts.append(dict(zip(self.flow.keys, key)) | {seq: place, self.flow.op: "D"})

    def history(self, key):
        rows = [row for row in self.visible if self.key(row) == key]
        starts = {frozen(row["__START_AT"]) for row in rows}
        ends = [row["__END_AT"] for row in rows if row["__END_AT"] is not None and frozen(row["__END_AT"]) not in starts]
        return [self.upsert(row, row["__START_AT"]) for row in rows] + \
            [dict(zip(self.flow.keys, key)) | {self.flow.seq: end, self.flow.op: "D"} for end in ends]

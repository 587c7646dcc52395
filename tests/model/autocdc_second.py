"""A second model of AUTO CDC to check the cases against, when SLUICE_SHARED has one."""
import importlib.util
import os
import sys

import autocdc_model as model


def second_model():
    path = os.path.join(os.environ.get("SLUICE_SHARED", os.path.join(os.path.dirname(__file__), "..", "..", "..", "shared")), "oracle",
                        "autocdc_model.py")
    if not os.path.exists(path):
        print("no second model to check against", file=sys.stderr)
        return None
    spec = importlib.util.spec_from_file_location("second_autocdc_model", path)
    other = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(other)
    return other


class Struct(dict):
    def __hash__(self):
        return hash(repr(self))


def plain(value):
    """As the second model wants it: values have hashes, it knows no NaN (a number above all others stands for it) and no maps."""
    if isinstance(value, dict):
        return Struct((k, plain(v)) for k, v in value.items())
    if isinstance(value, model.Map):
        return tuple((plain(k), plain(v)) for k, v in sorted(value, key=lambda entry: model.rank(entry[0])))
    if isinstance(value, list):
        return tuple(plain(v) for v in value)
    return 1e308 if isinstance(value, float) and value != value else value + 0.0 if isinstance(value, float) else value


def whole(flow, event):
    """It finds leaves in values: structs get the leaves they lack, and where leaves are fields a NULL struct becomes one of NULLs, which
    authors the same."""
    def fill(value, shape):
        return {n: fill(value.get(n) if value else None, inner) for n, inner in shape.items()} if shape else value

    return {c: fill(v, flow.shapes.get(c)) if flow.targets(c) and flow.ignores_null(c) else model.padded(v, flow.shapes.get(c))
            for c, v in event.items()}


def cross_check(other, case):
    if other is None:
        return
    flow = case.flow
    ignore = {"ignore_null": flow.ignore_null is True, "ignore_null_except": flow.ignore_null_except,
              "ignore_null_columns": flow.ignore_null if isinstance(flow.ignore_null, list) else None}
    spec = other.Spec(flow.keys, flow.seq, scd=flow.scd, sys_seq=flow.system, delete=flow.is_delete,
                      truncate=flow.is_truncate if flow.truncates else None, except_columns=list(flow.except_columns), track=flow.track,
                      track_except=flow.track_except, columns_to_update=flow.to_update, **ignore)
    columns = flow.keys + case.fields + model.INTERVALS[flow.scd]
    if case.is_snapshot():
        given = [(plain(v), [{c: plain(model.padded(r.get(c), flow.shapes.get(c))) for c in flow.keys + case.fields} for r in rows])
                 for v, rows in case.given]
        want = other.snapshot_flow(flow.keys, given, flow.scd, flow.track, flow.track_except)[0]
        assert canon(want) == canon([{c: r.get(c) for c in columns} for r in map(plain, case.before)]), case.name
        return
    events = [dict(plain(whole(flow, e))) for e in case.events]
    want = [{c: r.get(c) for c in columns} for r in other.apply(spec, events)]
    got = [{c: r.get(c) for c in columns} for r in map(plain, case.before)]
    assert canon(got) == canon(want), (case.name, got, want)


def canon(rows):
    return sorted(sorted((c, model.frozen(v)) for c, v in r.items()) for r in rows)
